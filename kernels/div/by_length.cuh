// Divisions by tensor cores in phases: lanes divide the rows with short divisors, and groups of
// threads with products by tensor cores the others.
//
// 1. Lengths, and lists of rows (classify.cuh).
// 2. Rows with divisors of at most MOST_LIMBS limbs, by lanes (short.cuh), if the batch has enough
//    of them.
// 3. The other rows, one or two warps a row (div.cuh, by_prepared.cuh).
#pragma once
#include "core/abi.cuh"
#include "div/by_prepared.cuh"
#include "div/classify.cuh"
#include "div/div.cuh"
#include "div/row_lists.cuh"
#include "div/short.cuh"
#include "tuning/division.cuh"

namespace gpuint {

template <class S, bool PREPARED>
struct TensorPlan : RowLists<S, PREPARED, 2> {
  static constexpr u32 LONG = 0, SHORT = 1;
  using ShortPolicy = ShortRowPolicy<S, TensorCore, PREPARED>;
  using RowLists<S, PREPARED, 2>::RowLists;

  GPUINT_DEVICE static u32 list_of(u32 v, u32) {
    return v <= 32 * ShortPolicy::MOST_LIMBS ? SHORT : LONG;
  }
};

template <class S, class Kernel = Blocked<TensorCore>::Kernel<S>,
          bool = DIVIDES_SHORT_FIRST<S, false>>
struct TensorDivision : GroupDivision<Kernel> {};
template <class S, class Kernel>
struct TensorDivision<S, Kernel, true>
    : Sequence<Classify<TensorPlan<S, false>>, DivideShort<TensorPlan<S, false>>,
               GroupDivision<Kernel, TensorPlan<S, false>>> {};

template <class S>
struct DivRem<S, Blocked<TensorCore>> : TensorDivision<S> {};

template <class S, class Policy = PreparedDivisionPolicy<S, TensorCore>,
          bool = DIVIDES_SHORT_FIRST<S, true>>
struct TensorDivisionBy : GroupDivRemBy<Policy> {};
template <class S, class Policy>
struct TensorDivisionBy<S, Policy, true>
    : Sequence<Classify<TensorPlan<S, true>>, DivideShort<TensorPlan<S, true>>,
               GroupDivRemBy<Policy, TensorPlan<S, true>>> {};

// in[0] = u, in[2] = records; out[0] = q, out[1] = r, either may be null.
template <class S>
struct DivRemBy<S, TensorCore, false> : TensorDivisionBy<S> {};

}  // namespace gpuint
