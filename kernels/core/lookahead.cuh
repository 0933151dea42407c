// Carry lookahead over up to 32 chunks of a number by one addition.
//
// Let bit i of G be set if chunk i generates a carry, and bit i of P if it is all ones and so
// propagates one (never both). With A = G | P,
//     carries into the chunks = P ^ (A + G + carry in),
// because at bit i the sum A + G adds 1 + 1 where a carry is generated, 1 + 0 where one is
// propagated and 0 + 0 where it stops: the binary form of the paper's carry operator and scan.
// Borrows are the same with "all zero" for P.
#pragma once
#include "core/platform.cuh"

namespace gpuint {

struct CarryLookahead {
  u64 sum;
  u32 propagate;

  GPUINT_DEVICE CarryLookahead(u32 generate, u32 propagate_, u32 carry_in = 0)
      : sum(u64(generate | propagate_) + generate + carry_in), propagate(propagate_) {}

  // Bit i: carry into chunk i.
  GPUINT_DEVICE u64 into() const { return sum ^ propagate; }

  // Carry into chunk i, 0 or 1.
  GPUINT_DEVICE u32 into(u32 i) const { return static_cast<u32>(into()) >> i & 1; }

  // Carry out of the lowest `chunks` chunks, 0 or 1. No chunk above generates or propagates one.
  GPUINT_DEVICE u32 out_of(u32 chunks) const { return static_cast<u32>(sum >> chunks); }
};

}  // namespace gpuint
