// Bit counts of each row: its length (1 + the index of the highest one, 0 for zero), its ones, its
// trailing zeros (BITS for zero); and one bit of each row.
#pragma once
#include "core/abi.cuh"
#include "core/digits.cuh"
#include "core/frame.cuh"
#include "core/math.cuh"
#include "core/rows.cuh"

namespace gpuint {

template <class S>
struct BitLengths : Frame<S, 0> {
  using G = typename Frame<S, 0>::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Frame<S, 0>::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      const typename S::Limb* const a = input_row<S>(o, 0, row);
      u32 bits = bits_of_top(group, a);
      if (bits == 0) bits = group.max(bits_seen<S>(group, a));
      if (group.rank == 0) static_cast<u32*>(o.out[0])[row] = bits;
    });
  }

 private:
  // Length by the highest words, which every warp of a group reads by itself; 0 if they are zero.
  GPUINT_DEVICE static u32 bits_of_top(const G& group, const typename S::Limb* a) {
    if constexpr (G::IN_WARP || S::WORDS < 32) return 0;
    const u32 k = (S::WORDS - 1 - group.lane) * WORD;
    typename S::Limb word[WORD];
    read_word<S>(a, k, word);
    return __reduce_max_sync(~0u, bits_of_word(word, k));
  }
};

template <class S>
struct CountOnes : Frame<S, 0> {
  using G = typename Frame<S, 0>::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Frame<S, 0>::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      const typename S::Limb* const a = input_row<S>(o, 0, row);
      u32 ones = 0;
      for (u32 k = group.rank * WORD; k < S::WORDS * WORD; k += G::THREADS * WORD) {
        typename S::Limb word[WORD];
        read_word<S>(a, k, word);
        GPUINT_UNROLL(4)
        for (u32 i = 0; i < WORD; ++i) ones += static_cast<u32>(__popc(word[i]));
      }
      ones = group.sum(ones);
      if (group.rank == 0) static_cast<u32*>(o.out[0])[row] = ones;
    });
  }
};

template <class S>
struct TrailingZeros : Frame<S, 0> {
  using G = typename Frame<S, 0>::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Frame<S, 0>::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      const typename S::Limb* const a = input_row<S>(o, 0, row);
      u32 above = 0;  // bits from the lowest one of this thread to the top
      for (u32 k = group.rank * WORD; k < S::WORDS * WORD; k += G::THREADS * WORD) {
        typename S::Limb word[WORD];
        read_word<S>(a, k, word);
        GPUINT_UNROLL(4)
        for (u32 i = 0; i < WORD; ++i) {
          const u32 lowest = static_cast<u32>(__ffs(static_cast<int>(word[i])));
          if (lowest != 0) above = max_of(above, S::BITS + 1 - (k + i) * S::LIMB_BITS - lowest);
        }
      }
      const u32 zeros = S::BITS - group.max(above);
      if (group.rank == 0) static_cast<u32*>(o.out[0])[row] = zeros;
    });
  }
};

// mask: bit `distance` of in[0], which is below BITS.
template <class S>
struct BitMask : Frame<S, 0> {
  using G = typename Frame<S, 0>::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const u32 limb = o.params.distance / S::LIMB_BITS, bit = o.params.distance % S::LIMB_BITS;
    Frame<S, 0>::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      if (group.rank == 0 && (__ldg(input_row<S>(o, 0, row) + limb) >> bit & 1) != 0)
        set_mask(o.mask, row);
    });
  }
};

}  // namespace gpuint
