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

// Adds 1 at limb k of a row in global memory, if it is wanted. One thread calls it: it is needed if
// v divides u and otherwise very rarely, and almost never carries beyond the first limb.
template <class S>
GPUINT_DEVICE void increment(typename S::Limb* row, u32 k) {
  if (row == nullptr) return;
  for (; k < S::N; ++k) {
    if (++row[k] != 0) return;
    GPUINT_RARE(IncrementBeyondLimb);
  }
  GPUINT_ASSERT(false, "no quotient is beyond its row");
}

}  // namespace gpuint
