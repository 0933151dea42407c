// Records of prepared divisors, which divisions and modular arithmetic read.
//
// A record holds the divisor v, its bit length, and the reciprocal Y ~ beta^p * beta^n / (2V) of
// div/refine.cuh (div/divisor.cuh defines the base and the bounds). The top words of a reciprocal
// are a shorter one: cut to t + 1 words it is still a strict underestimate, by less than 3 units of
// its last place, as div/quotient.cuh requires. So one reciprocal, as long as the longest block of
// quotient needs it, serves all blocks.
//
// Length of a block. With a stored reciprocal, a block of t words costs t^2 / 2 word products for
// the estimate. The remainder costs t n - t^2 / 2 for t <= n (only columns 0 .. n) and n^2 / 2 for
// t > n. For t <= n the sum is t n for every t: one block costs as much as many, and takes the
// fewest steps. For t > n it is t n + (t - n)^2 / 2: with t = 3n / 2 an eighth of n^2 on 3/2 n^2,
// beyond which a further block is better. Divisors of a few words use blocks of PREPARED_BLOCK
// words, since a step costs about as much as that many products. No quotient by v is longer than W
// - n + 1 words (W words of dividend), and the product of two residues has a quotient of n words
// (modular/modular.cuh):
//
//     longest block = max(n, min(max(3n / 2, PREPARED_BLOCK), W - n + 1)),
//     reciprocal    = one word more.
//
// Record, in words:  bit length | 0 | v (W) | 0 | Y (W + 1, the top ones in use).
#pragma once
#include "core/abi.cuh"
#include "core/digits.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/rows.cuh"

namespace gpuint {

constexpr u32 PREPARED_BLOCK = 16;

// Widths of the modular kernels of modular/tensor.
__host__ __device__ constexpr bool is_fused_width(u32 bits) {
  return bits % 1024 == 0 && bits <= 16384;
}

// Widths of the modular kernels of modular/fft.
__host__ __device__ constexpr bool is_transform_width(u32 bits) {
  return bits >= 32768 && bits <= 262144 && (bits & (bits - 1)) == 0;
}

template <class S>
struct Record {
  using Limb = typename S::Limb;
  static constexpr u32 V = 2 * WORD;
  static constexpr u32 Y_END = V + (2 * S::WORDS + 2) * WORD;
  static constexpr u32 LIMBS = Y_END;

  // Words of the longest block of quotient by a divisor of n words.
  GPUINT_DEVICE static u32 longest_block(u32 n) {
    return max_of(n, min_of(max_of(n + n / 2, PREPARED_BLOCK), S::WORDS - n + 1));
  }
  // Words of the reciprocal of a divisor of n words. The kernels of modular/tensor, modular/fp64,
  // modular/imad and modular/fft use the whole width for every n.
  static constexpr bool RECIPROCAL_IS_WHOLE =
      is_fused_width(S::BITS) || is_transform_width(S::BITS) || S::WORDS <= PREPARED_BLOCK;
  GPUINT_DEVICE static u32 reciprocal_words(u32 n) {
    return (RECIPROCAL_IS_WHOLE ? S::WORDS : longest_block(n)) + 1;
  }
  // Longest block of a dividend of W words for every n: 3n / 2 and W - n + 1 meet at n = 2 (W +
  // 1) / 5.
  static constexpr u32 LONGEST_BLOCK =
      min_of(S::WORDS, max_of(PREPARED_BLOCK, ceil_div(3 * (S::WORDS + 1), 5)));
};

// A record in device memory, as a kernel reads it.
template <class S>
struct Prepared {
  using Limb = typename S::Limb;
  const Limb* record;

  GPUINT_DEVICE explicit Prepared(const Limb* record_) : record(record_) {}
  GPUINT_DEVICE Prepared(const Operands& o, u64 row)
      : record(static_cast<const Limb*>(o.in[2]) +
               (o.params.broadcast_divisor != 0 ? 0 : row * Record<S>::LIMBS)) {}

  GPUINT_DEVICE u32 bits() const { return __ldg(reinterpret_cast<const u32*>(record)); }
  GPUINT_DEVICE const Limb* v() const { return record + Record<S>::V; }
  GPUINT_DEVICE const Limb* y_end() const { return record + Record<S>::Y_END; }

  // Prefetches most of the words that a block of quotient by a divisor of n words reads.
  template <class G>
  GPUINT_DEVICE void prefetch(const G& group, u32 n) const {
    prefetch_words(group, v(), n);
    prefetch_words(group, y_end() - (n + 1) * WORD, n + 1);
  }
  // v, and zeros above.
  template <class G>
  GPUINT_DEVICE void copy_divisor(const G& group, u32 n, Limb* to, u32 zeros = 2) const {
    copy_padded(group, v(), n, to, zeros);
  }
  // The top p words of the reciprocal, to the place below `to_end`, and a word of zeros below.
  template <class G>
  GPUINT_DEVICE void copy_reciprocal(const G& group, u32 p, Limb* to_end) const {
    copy_words(group, y_end() - p * WORD, p, to_end - p * WORD);
    if (group.rank == 0) clear_word(to_end - (p + 1) * WORD);
  }
};

}  // namespace gpuint
