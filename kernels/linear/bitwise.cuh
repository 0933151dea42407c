// Bitwise functions of two rows, by their truth table: bit 2a + b of `table` is f(a, b). Every
// function is limited by memory, so one kernel computes all of them.
#pragma once
#include "core/abi.cuh"
#include "core/digits.cuh"
#include "core/frame.cuh"
#include "core/rows.cuh"

namespace gpuint {

// out[0] = f(in[0], in[1]), bit by bit.
template <class S>
struct Bitwise : Frame<S, 0> {
  using Limb = typename S::Limb;
  using G = typename Frame<S, 0>::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    // f(a, b) = ((a ? f(1, 1) : f(0, 1)) where b, (a ? f(1, 0) : f(0, 0)) elsewhere
    u32 value[4];
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < 4; ++i) value[i] = 0u - (o.params.table >> i & 1);
    Frame<S, 0>::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      const Limb* const a = input_row<S>(o, 0, row);
      const Limb* const b = rhs_row<S>(o, row);
      Limb* const c = output_row<S>(o, 0, row);
      for (u32 k = group.rank * WORD; k < S::WORDS * WORD; k += G::THREADS * WORD) {
        Limb x[WORD], y[WORD];
        read_word<S>(a, k, x);
        read_word<S>(b, k, y);
        GPUINT_UNROLL(4)
        for (u32 i = 0; i < WORD; ++i) {
          const u32 with_b = (x[i] & value[3]) | (~x[i] & value[1]);
          const u32 without_b = (x[i] & value[2]) | (~x[i] & value[0]);
          x[i] = static_cast<Limb>((with_b & y[i]) | (without_b & ~y[i]));
        }
        write_word<S>(c, k, x);
      }
    });
  }
};

}  // namespace gpuint
