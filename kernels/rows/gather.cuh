// Gather: rows by index, in any order and any number of times; Lookup: by bytes of numbers.
#pragma once
#include "core/abi.cuh"
#include "core/digits.cuh"
#include "core/frame.cuh"
#include "core/rows.cuh"

namespace gpuint {

constexpr u64 SKIPPED_ROW = ~0ull;

template <class S, class G>
GPUINT_DEVICE void copy_row(const G& group, const typename S::Limb* from, typename S::Limb* to) {
  for (u32 k = group.rank * WORD; k < S::WORDS * WORD; k += G::THREADS * WORD) {
    typename S::Limb word[WORD];
    read_word<S>(from, k, word);
    write_word<S>(to, k, word);
  }
}

// in[0]: rows, in[1]: a u64 a row; out[0] = the rows with these indices. An index of SKIPPED_ROW
// leaves a row unchanged. The host has checked the indices.
template <class S>
struct Gather : Frame<S, 0> {
  using G = typename Frame<S, 0>::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Frame<S, 0>::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      const u64 from = __ldg(static_cast<const u64*>(o.in[1]) + row);
      if (from != SKIPPED_ROW)
        copy_row<S>(group, input_row<S>(o, 0, from), output_row<S>(o, 0, row));
    });
  }
};

// in[0]: a table with 256 rows for each byte of a number, in[1]: numbers; out[0] = the rows of
// their bytes at bit `distance`, a multiple of 8 below BITS.
template <class S>
struct Lookup : Frame<S, 0> {
  using G = typename Frame<S, 0>::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const u32 limb = o.params.distance / S::LIMB_BITS, bit = o.params.distance % S::LIMB_BITS;
    Frame<S, 0>::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      const u64 byte = __ldg(input_row<S>(o, 1, row) + limb) >> bit & 255;
      copy_row<S>(group, input_row<S>(o, 0, u64(o.params.distance) * 32 + byte),
                  output_row<S>(o, 0, row));
    });
  }
};

// in[2]: one bit a row; out[0] = the row of in[0] where the bit is set, of in[1] elsewhere.
template <class S>
struct Select : Frame<S, 0> {
  using G = typename Frame<S, 0>::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Frame<S, 0>::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      const u32 word = __ldg(static_cast<const u32*>(o.in[2]) + row / 32);
      const u32 which = (word >> (row % 32) & 1) != 0 ? 0 : 1;
      copy_row<S>(group, input_row<S>(o, which, row), output_row<S>(o, 0, row));
    });
  }
};

}  // namespace gpuint
