// Divisions by tensor cores in phases: lanes divide the rows with short divisors, and groups of
// threads with products by tensor cores the others.
//
// 1. Lengths, and lists of rows (classify.cuh).
// 2. Rows with divisors of at most MAX_LIMBS limbs, by lanes (short_divisors.cuh), if the batch
//    has enough of them.
// 3. The other rows, one or two warps a row (div.cuh, by_prepared.cuh).
#pragma once
#include "core/abi.cuh"
#include "div/by_prepared.cuh"
#include "div/classify.cuh"
#include "div/div.cuh"
#include "div/row_lists.cuh"
#include "div/short_divisors.cuh"
#include "tuning/division.cuh"

namespace gpuint {

template <class S, bool PREPARED>
struct TensorPlan : RowLists<S, PREPARED, 2> {
  static constexpr u32 LONG = 0, SHORT = 1;
  using ShortPolicy = ShortRowPolicy<S, TensorCore, PREPARED>;
  using RowLists<S, PREPARED, 2>::RowLists;

  // Records hold lengths, too.
  static constexpr u32 LONG_LIMBS = PREPARED ? ShortPolicy::MAX_LIMBS : 0;
  GPUINT_DEVICE static u32 list_of(u32 v, u32) {
    return v <= 32 * ShortPolicy::MAX_LIMBS ? SHORT : LONG;
  }
};

// Groups::Of<Plan> divides all rows if Plan is void, else the rows in list 0.
template <class S, bool PREPARED, class Groups, bool = DIVIDES_SHORT_FIRST<S, PREPARED>>
struct DivisionByLength : Groups::template Of<void> {};
template <class S, bool PREPARED, class Groups>
struct DivisionByLength<S, PREPARED, Groups, true>
    : Sequence<Classify<TensorPlan<S, PREPARED>>, DivideShort<TensorPlan<S, PREPARED>>,
               typename Groups::template Of<TensorPlan<S, PREPARED>>> {};

template <class S>
struct TensorDivision {
  template <class Plan>
  using Of = GroupDivision<Blocked<TensorCore>::Kernel<S>, Plan>;
};

template <class S>
struct TensorDivisionBy {
  template <class Plan>
  using Of = GroupDivRemBy<PreparedDivisionPolicy<S, TensorCore>, Plan>;
};
}  // namespace gpuint
