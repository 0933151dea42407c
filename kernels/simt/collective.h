// Barriers, shuffles, votes and reductions: operations of several threads.
//
// All of them use two functions of the block's scheduler. `barrier` waits for all threads of the
// block. `rendezvous` waits for the lanes of a mask; the last one to arrive computes every lane's
// result. Several rendezvous of one warp, with different masks, may be in progress at the same
// time.
#pragma once
#include "thread.h"

#include <cstring>
#include <type_traits>

namespace gpuint::simt {

enum class BarrierOp : u8 { Sync, Count, And, Or, Cluster };
enum class WarpOp : u8 {
  Sync,
  Shuffle,
  ShuffleUp,
  ShuffleDown,
  ShuffleXor,
  Ballot,
  Any,
  All,
  Add,
  Min,
  Max,
  SignedMin,
  SignedMax,
  And,
  Or,
  Xor,
  MultiplyBytes
};

// Number of threads of the block (for a cluster's barrier, of all its blocks) with a true
// predicate.
u32 barrier(BarrierOp op, bool predicate, Site site);

// Address in the shared memory of the cluster's block `rank` that corresponds to the given one of
// the caller's block.
unsigned char* of_block(const void* shared, u32 rank);

// `value` is this lane's contribution; `source` is the lane to read in a shuffle.
u64 rendezvous(WarpOp op, u32 mask, u64 value, u32 source, Site site);

[[noreturn]] void fail_width(Site site);

// The lane that a shuffle reads, as PTX defines shfl.sync; the lane itself if that is out of range
// of its segment of `width` lanes.
inline u32 shuffle_source(WarpOp op, int distance, int width, Site site) {
  if (width < 1 || width > 32 || (width & (width - 1)) != 0) fail_width(site);
  const u32 lane = self->index.x % 32;
  const u32 first = lane & ~static_cast<u32>(width - 1);
  const u32 last = first + static_cast<u32>(width) - 1;
  const u32 b = static_cast<u32>(distance) & 31;
  switch (op) {
    case WarpOp::ShuffleUp:
      return lane >= first + b ? lane - b : lane;
    case WarpOp::ShuffleDown:
      return lane + b <= last ? lane + b : lane;
    case WarpOp::ShuffleXor:
      return (lane ^ b) <= last ? lane ^ b : lane;
    default:
      return first | (b & static_cast<u32>(width - 1));
  }
}

template <class T>
T shuffle(WarpOp op, u32 mask, T value, int distance, int width, Site site) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(u64),
                "CUDA shuffles values of up to 8 bytes");
  u64 bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = rendezvous(op, mask, bits, shuffle_source(op, distance, width, site), site);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline u32 vote(WarpOp op, u32 mask, u32 value, Site site) {
  return static_cast<u32>(rendezvous(op, mask, value, 0, site));
}

// A lane's part of a product of matrices.
struct Fragments {
  const u32* a;
  const u32* b;
  u32* c;
};

// c += a * b for a 16 x 32 and b 32 x 8 matrices of unsigned bytes, modulo 2^32, with the fragments
// of PTX's mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32. It needs the whole warp.
inline void multiply_bytes(u32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2], GPUINT_SITE) {
  const Fragments mine{a, b, c};
  rendezvous(WarpOp::MultiplyBytes, ~0u, reinterpret_cast<u64>(&mine), 0, site);
}

}  // namespace gpuint::simt

inline void __syncthreads(GPUINT_SITE) {
  gpuint::simt::barrier(gpuint::simt::BarrierOp::Sync, false, site);
}
inline int __syncthreads_count(int predicate, GPUINT_SITE) {
  return static_cast<int>(
      gpuint::simt::barrier(gpuint::simt::BarrierOp::Count, predicate != 0, site));
}
inline int __syncthreads_or(int predicate, GPUINT_SITE) {
  return gpuint::simt::barrier(gpuint::simt::BarrierOp::Or, predicate != 0, site) != 0;
}
inline int __syncthreads_and(int predicate, GPUINT_SITE) {
  return gpuint::simt::barrier(gpuint::simt::BarrierOp::And, predicate == 0, site) == 0;
}
inline void __syncwarp(unsigned mask = 0xffffffffu, GPUINT_SITE) {
  gpuint::simt::rendezvous(gpuint::simt::WarpOp::Sync, mask, 0, 0, site);
}

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32, GPUINT_SITE) {
  return gpuint::simt::shuffle(gpuint::simt::WarpOp::Shuffle, mask, value, lane, width, site);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32, GPUINT_SITE) {
  return gpuint::simt::shuffle(gpuint::simt::WarpOp::ShuffleUp, mask, value,
                               static_cast<int>(distance), width, site);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32, GPUINT_SITE) {
  return gpuint::simt::shuffle(gpuint::simt::WarpOp::ShuffleDown, mask, value,
                               static_cast<int>(distance), width, site);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, GPUINT_SITE) {
  return gpuint::simt::shuffle(gpuint::simt::WarpOp::ShuffleXor, mask, value, lanes, width, site);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, GPUINT_SITE) {
  return gpuint::simt::vote(gpuint::simt::WarpOp::Ballot, mask, predicate != 0, site);
}
inline int __any_sync(unsigned mask, int predicate, GPUINT_SITE) {
  return gpuint::simt::vote(gpuint::simt::WarpOp::Any, mask, predicate != 0, site) != 0;
}
inline int __all_sync(unsigned mask, int predicate, GPUINT_SITE) {
  return gpuint::simt::vote(gpuint::simt::WarpOp::All, mask, predicate != 0, site) != 0;
}

inline unsigned __reduce_add_sync(unsigned mask, unsigned value, GPUINT_SITE) {
  return gpuint::simt::vote(gpuint::simt::WarpOp::Add, mask, value, site);
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value, GPUINT_SITE) {
  return gpuint::simt::vote(gpuint::simt::WarpOp::Min, mask, value, site);
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value, GPUINT_SITE) {
  return gpuint::simt::vote(gpuint::simt::WarpOp::Max, mask, value, site);
}
inline int __reduce_min_sync(unsigned mask, int value, GPUINT_SITE) {
  return static_cast<int>(gpuint::simt::vote(gpuint::simt::WarpOp::SignedMin, mask,
                                             static_cast<unsigned>(value), site));
}
inline int __reduce_max_sync(unsigned mask, int value, GPUINT_SITE) {
  return static_cast<int>(gpuint::simt::vote(gpuint::simt::WarpOp::SignedMax, mask,
                                             static_cast<unsigned>(value), site));
}
inline int __reduce_add_sync(unsigned mask, int value, GPUINT_SITE) {
  return static_cast<int>(
      gpuint::simt::vote(gpuint::simt::WarpOp::Add, mask, static_cast<unsigned>(value), site));
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value, GPUINT_SITE) {
  return gpuint::simt::vote(gpuint::simt::WarpOp::And, mask, value, site);
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value, GPUINT_SITE) {
  return gpuint::simt::vote(gpuint::simt::WarpOp::Or, mask, value, site);
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value, GPUINT_SITE) {
  return gpuint::simt::vote(gpuint::simt::WarpOp::Xor, mask, value, site);
}
