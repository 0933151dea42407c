// Order of two rows (the paper's less-than), and of a row against zero.
//
// Each thread compares its own limbs, and the highest difference decides. Let bit i of L (of M) be
// set if chunk i of a is less (more) than that of b. Then a < b exactly when L > M as binary
// numbers: first in each warp, then over the warps.
#pragma once
#include "core/abi.cuh"
#include "core/joint_frame.cuh"
#include "core/rows.cuh"

namespace gpuint {

// Returns -1, 0 or 1 for a < b, a = b, a > b to all threads, from each thread's own comparison.
template <class G>
GPUINT_DEVICE i32 compare_group(G& group, bool less, bool more) {
  u32 l = group.vote(less);
  u32 m = group.vote(more);
  if constexpr (!G::IN_WARP) {
    const u32 word = group.gather((l > m ? 1u : 0u) | (m > l ? 2u : 0u));
    l = __ballot_sync(~0u, word & 1);
    m = __ballot_sync(~0u, word & 2);
  }
  return l > m ? -1 : m > l ? 1 : 0;
}

// Order of rows a and b of the shape; b null stands for zero.
template <class S, class G>
GPUINT_DEVICE i32 compare_rows(G& group, const typename S::Limb* a, const typename S::Limb* b) {
  bool less = false, more = false;
  if (group.rank < S::OWNERS) {
    typename S::Limb x[S::K], y[S::K] = {};
    read_limbs<S>(a, group.rank * S::K, x);
    if (b != nullptr) read_limbs<S>(b, group.rank * S::K, y);
    GPUINT_UNROLL(S::K)
    for (u32 i = 0; i < S::K; ++i) {
      if (x[i] < y[i]) less = true, more = false;
      if (x[i] > y[i]) more = true, less = false;
    }
  }
  return compare_group(group, less, more);
}

enum class Relation { Order, Equal, Less, Zero };

template <class S, Relation R>
struct Comparison : JointFrame<S> {
  using G = typename JointFrame<S>::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    JointFrame<S>::run(o, shared, [&](G& group, u64 row, bool is_row) {
      const i32 order = compare_rows<S>(group, input_row<S>(o, 0, row),
                                        R == Relation::Zero ? nullptr : rhs_row<S>(o, row));
      if constexpr (R == Relation::Order) {
        if (group.rank == 0 && is_row) static_cast<i8*>(o.out[0])[row] = static_cast<i8>(order);
      } else {
        mark(group, o.mask, row, is_row && (R == Relation::Less ? order < 0 : order == 0));
      }
    });
  }

 private:
  // Marks the row of a group in a mask. The rows of a warp have their bits in one word.
  GPUINT_DEVICE static void mark(const G& group, u32* mask, u64 row, bool is_marked) {
    if constexpr (S::THREADS >= 32) {
      if (group.rank != 0) return;
      if (is_marked) set_mask(mask, row);
    } else {
      const bool is_set = group.rank == 0 && is_marked;
      const u32 bits = __reduce_add_sync(~0u, is_set ? 1u << (row % 32) : 0);
      if (group.lane == 0 && bits != 0) atomicOr(mask + row / 32, bits);
    }
  }
};

template <class S>
using Cmp = Comparison<S, Relation::Order>;
template <class S>
using EqMask = Comparison<S, Relation::Equal>;
template <class S>
using LtMask = Comparison<S, Relation::Less>;
template <class S>
using IsZeroMask = Comparison<S, Relation::Zero>;

}  // namespace gpuint
