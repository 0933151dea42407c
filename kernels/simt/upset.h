// Upsets, for tests of the checks of results (verify): one bit of the shared memory of a block
// flips at a barrier or a rendezvous, or one bit of a register that a thread shuffles to others.
#pragma once
#include "types.h"

namespace gpuint::simt {

enum class Upset : u32 { None, SharedMemory, Register };

// The next upset of the process. Accessed by all host threads.
struct UpsetPlan {
  u32 kind;    // an Upset
  u64 after;   // events of the kind before the upset
  u64 seed;    // of the bit
  u64 events;  // so far
  u64 flips;
};

extern UpsetPlan upset_plan;

// Counts an event; returns true if the bit flips at this one.
inline bool is_upset(Upset kind) {
  if (__atomic_load_n(&upset_plan.kind, __ATOMIC_RELAXED) != static_cast<u32>(kind)) return false;
  if (__atomic_fetch_add(&upset_plan.events, 1, __ATOMIC_RELAXED) != upset_plan.after) return false;
  __atomic_fetch_add(&upset_plan.flips, 1, __ATOMIC_RELAXED);
  return true;
}

}  // namespace gpuint::simt
