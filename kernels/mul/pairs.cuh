// Operands of sums of products: pairs of factors, and the rows of the sum.
#pragma once
#include "core/abi.cuh"
#include "core/strategies.cuh"
#include "tuning/mul.cuh"

namespace gpuint {

// A row of a factor (0 or 1) of a pair.
template <class S>
GPUINT_DEVICE const typename S::Limb* factor_row(const Operands& o, u32 pair, u32 factor, u64 row) {
  const auto* const factors = static_cast<const typename S::Limb* const*>(o.in[0]);
  return factors[2 * pair + factor] + row * S::N;
}

// Number of pairs, at most ProductSumPolicy::MAX_PAIRS.
GPUINT_DEVICE u32 pairs_of(const Operands& o) {
  GPUINT_ASSERT(o.params.pairs >= 1 && o.params.pairs <= ProductSumPolicy::MAX_PAIRS,
                "columns are exact for few pairs");
  return o.params.pairs;
}

template <Extent E>
constexpr u32 HALVES = E == Extent::Wide ? 2 : 1;

// A row of the result.
template <class S, Extent E>
GPUINT_DEVICE typename S::Limb* sum_row(const Operands& o, u64 row) {
  return static_cast<typename S::Limb*>(o.out[0]) + row * (HALVES<E> * S::N);
}

}  // namespace gpuint
