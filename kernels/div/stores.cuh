// Stores of every division outside the blocks of quotient: rows with a divisor of zero, zeros,
// corrections.
#pragma once
#include "core/abi.cuh"
#include "core/digits.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/rows.cuh"

namespace gpuint {

// Divisors that are the second operand.
template <class S>
struct SecondOperand {
  GPUINT_DEVICE static const u32* at(const Operands& o, u64 row) { return input_row<S>(o, 1, row); }
};

// Flags a row whose divisor is zero; its quotient is all ones and its remainder u.
template <class S, class G>
GPUINT_DEVICE void write_undefined(const G& group, const Operands& o, u64 row) {
  using Limb = typename S::Limb;
  const Limb ones[WORD] = {Limb(~Limb(0)), Limb(~Limb(0)), Limb(~Limb(0)), Limb(~Limb(0))};
  for (u32 k = group.rank * WORD; k < S::WORDS * WORD; k += G::THREADS * WORD) {
    Limb word[WORD];
    read_word<S>(input_row<S>(o, 0, row), k, word);
    if (o.out[0] != nullptr) write_word<S>(output_row<S>(o, 0, row), k, ones);
    if (o.out[1] != nullptr) write_word<S>(output_row<S>(o, 1, row), k, word);
  }
  if (group.rank != 0) return;
  if (o.mask != nullptr) set_mask(o.mask, row);
  if (o.status != nullptr) set_status(o.status, row);
}

// Writes words from .. to of a row: those of `limbs`, or zeros. Writes nothing if the row is not
// wanted.
template <class S, class G>
GPUINT_DEVICE void write_quotient(const G& group, typename S::Limb* q, u32 from, u32 to,
                                  const typename S::Limb* limbs) {
  if (q == nullptr) return;
  for (u32 k = (from + group.rank) * WORD; k < min_of(to, S::WORDS) * WORD;
       k += G::THREADS * WORD) {
    typename S::Limb word[WORD] = {};
    if (limbs != nullptr) load_word(limbs + (k - from * WORD), word);
    write_word<S>(q, k, word);
  }
}

// Adds 1 at limb k of a row in global memory, if it is wanted: by one thread. It is needed if v
// divides u, where it may carry over the whole quotient, and otherwise very rarely.
template <class S>
GPUINT_DEVICE void increment(typename S::Limb* row, u32 k) {
  if (row == nullptr) return;
  for (; k < S::N; ++k) {
    if (++row[k] != 0) return;
    GPUINT_RARE(IncrementBeyondLimb);
  }
  GPUINT_ASSERT(false, "no quotient is beyond its row");
}

// The same for all threads of a group, of which those of the first warp add to that many limbs at a
// time.
template <class S, class G>
GPUINT_DEVICE void increment(const G& group, typename S::Limb* row, u32 k) {
  using Limb = typename S::Limb;
  constexpr u32 LANES = min_of(G::THREADS, 32);
  if (row == nullptr || group.rank >= LANES) return;
  GPUINT_UNROLL(1)
  for (u32 ends = 0; ends == 0; k += LANES) {
    const u32 at = k + group.rank;
    const Limb limb = at < S::N ? row[at] : Limb(0);
    ends = group.vote(limb != Limb(~Limb(0)));
    const u32 below = (1u << group.rank) - 1;
    if (at < S::N && (ends & below) == 0) row[at] = Limb(limb + 1);
    if (group.rank == 0 && (ends & 1) == 0) GPUINT_RARE(IncrementBeyondLimb);
    GPUINT_ASSERT(at < S::N || (ends & below) != 0, "no quotient is beyond its row");
  }
}

}  // namespace gpuint
