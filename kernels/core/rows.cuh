// Limbs of a row between global memory, shared memory and registers.
//
// Global memory is accessed a word (8 or 16 bytes) at a time, with neighbouring threads on
// neighbouring words, if the row length allows it.
#pragma once
#include "core/abi.cuh"
#include "core/digits.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/ptx.cuh"

namespace gpuint {

// Address of a row of an input, and of an output or null if it is unwanted.
template <class S>
GPUINT_DEVICE const typename S::Limb* input_row(const Operands& o, u32 i, u64 row) {
  return static_cast<const typename S::Limb*>(o.in[i]) + row * S::N;
}
template <class S>
GPUINT_DEVICE typename S::Limb* output_row(const Operands& o, u32 i, u64 row) {
  return o.out[i] == nullptr ? nullptr : static_cast<typename S::Limb*>(o.out[i]) + row * S::N;
}

// The second operand; one row may serve all rows.
template <class S>
GPUINT_DEVICE const typename S::Limb* rhs_row(const Operands& o, u64 row) {
  return input_row<S>(o, 1, o.params.broadcast_rhs != 0 ? 0 : row);
}

// True for rows of whole words, to which vector accesses are aligned.
template <class S>
constexpr bool ROW_OF_WORDS = S::N % WORD == 0;

// Reads limbs k .. k + WORD of a row in global memory, zeros from `N` on. k is a multiple of WORD.
template <class S>
GPUINT_DEVICE void read_word(const typename S::Limb* row, u32 k, typename S::Limb* word) {
  if constexpr (ROW_OF_WORDS<S>) {
    using Vector = typename WordVector<typename S::Limb>::Type;
    const Vector v = __ldg(reinterpret_cast<const Vector*>(row + k));
    word[0] = v.x, word[1] = v.y, word[2] = v.z, word[3] = v.w;
  } else {
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < WORD; ++i) word[i] = k + i < S::N ? row[k + i] : 0;
  }
}

// Reads limb i of a row in global memory, zero outside of the row.
template <class S>
GPUINT_DEVICE typename S::Limb limb_or_zero(const typename S::Limb* row, i32 i) {
  return i >= 0 && i < static_cast<i32>(S::N) ? __ldg(row + i) : typename S::Limb(0);
}

// Reads limb k of a row as 32-bit limbs, and writes it; the top one may have 16 bits.
template <class S>
GPUINT_DEVICE u32 limb_of_32(const typename S::Limb* row, u32 k) {
  if constexpr (S::LIMB_BITS == 32) {
    return __ldg(row + k);
  } else {
    const u32 low = __ldg(row + 2 * k);
    return 2 * k + 1 < S::N ? low | u32(__ldg(row + 2 * k + 1)) << 16 : low;
  }
}
template <class S>
GPUINT_DEVICE void write_limb_of_32(typename S::Limb* row, u32 k, u32 limb) {
  if constexpr (S::LIMB_BITS == 32) {
    row[k] = limb;
  } else {
    row[2 * k] = static_cast<u16>(limb);
    if (2 * k + 1 < S::N) row[2 * k + 1] = static_cast<u16>(limb >> 16);
  }
}

template <class S>
GPUINT_DEVICE void write_word(typename S::Limb* row, u32 k, const typename S::Limb* word) {
  if constexpr (ROW_OF_WORDS<S>) {
    store_word(row + k, word);
  } else {
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < WORD; ++i)
      if (k + i < S::N) row[k + i] = word[i];
  }
}

// Reads limbs k .. k + K of a row. k is a multiple of K.
template <class S, u32 K>
GPUINT_DEVICE void read_limbs(const typename S::Limb* row, u32 k, typename S::Limb (&x)[K]) {
  if constexpr (K % WORD == 0 && ROW_OF_WORDS<S>) {
    GPUINT_UNROLL(K)
    for (u32 i = 0; i < K; i += WORD) read_word<S>(row, k + i, x + i);
  } else {
    GPUINT_UNROLL(K)
    for (u32 i = 0; i < K; ++i) x[i] = __ldg(row + k + i);
  }
}

template <class S, u32 K>
GPUINT_DEVICE void write_limbs(typename S::Limb* row, u32 k, const typename S::Limb (&x)[K]) {
  if constexpr (K % WORD == 0 && ROW_OF_WORDS<S>) {
    GPUINT_UNROLL(K)
    for (u32 i = 0; i < K; i += WORD) write_word<S>(row, k + i, x + i);
  } else {
    GPUINT_UNROLL(K)
    for (u32 i = 0; i < K; ++i) row[k + i] = x[i];
  }
}

// Copies a row of WORDS words to shared memory; returns the bit length up to this thread's highest
// nonzero limb. The maximum over the group is the row's bit length.
template <class S, class G>
GPUINT_DEVICE u32 copy_in(const G& group, const typename S::Limb* row, typename S::Limb* to) {
  u32 bits = 0;
  for (u32 k = group.rank * WORD; k < S::WORDS * WORD; k += G::THREADS * WORD) {
    typename S::Limb word[WORD];
    read_word<S>(row, k, word);
    store_word(to + k, word);
    bits = max_of(bits, bits_of_word(word, k));
  }
  return bits;
}

// Returns the same length without copying.
template <class S, class G>
GPUINT_DEVICE u32 bits_seen(const G& group, const typename S::Limb* row) {
  u32 bits = 0;
  for (u32 k = group.rank * WORD; k < S::WORDS * WORD; k += G::THREADS * WORD) {
    typename S::Limb word[WORD];
    read_word<S>(row, k, word);
    bits = max_of(bits, bits_of_word(word, k));
  }
  return bits;
}

// Returns the number of words up to the highest nonzero one to all threads of the group; reads
// words from the top until it finds one.
template <class S, class G>
GPUINT_DEVICE u32 words_from_top(G& group, const typename S::Limb* row) {
  for (u32 top = S::WORDS; top > 0;) {
    typename S::Limb word[WORD] = {};
    if (group.rank < top) read_word<S>(row, (top - 1 - group.rank) * WORD, word);
    const u32 found = group.vote((word[0] | word[1] | word[2] | word[3]) != 0);
    if (found != 0) return top - (static_cast<u32>(__ffs(static_cast<int>(found))) - 1);
    top = top > G::THREADS ? top - G::THREADS : 0;
  }
  return 0;
}

// Writes limbs 0 .. count of `from`, then zeros, to a row in global memory unless it is null.
// `from` is aligned to a word and count a whole word.
template <class S, class G>
GPUINT_DEVICE void copy_out(const G& group, const typename S::Limb* from, u32 count,
                            typename S::Limb* row) {
  if (row == nullptr) return;
  for (u32 k = group.rank * WORD; k < S::WORDS * WORD; k += G::THREADS * WORD) {
    typename S::Limb word[WORD] = {};
    if (k < count) load_word(from + k, word);
    write_word<S>(row, k, word);
  }
}

// Copies the first words of a row in global memory, which the same threads may have written by
// copy_out, and two words of zeros. It bypasses the read-only cache, which is not coherent with the
// kernel's own stores.
template <class S, class G>
GPUINT_DEVICE void reread(const G& group, const typename S::Limb* row, u32 words,
                          typename S::Limb* to) {
  for (u32 k = group.rank * WORD; k < (words + 2) * WORD; k += G::THREADS * WORD) {
    typename S::Limb word[WORD] = {};
    if (k < words * WORD) {
      if constexpr (ROW_OF_WORDS<S>) {
        load_word(row + k, word);
      } else {
        GPUINT_UNROLL(4)
        for (u32 i = 0; i < WORD; ++i)
          if (k + i < S::N) word[i] = row[k + i];
      }
    }
    store_word(to + k, word);
  }
}

// Copies whole words between shared memory, workspace and records.
template <class Limb, class G>
GPUINT_DEVICE void copy_words(const G& group, const Limb* from, u32 words, Limb* to) {
  for (u32 k = group.rank * WORD; k < words * WORD; k += G::THREADS * WORD) {
    Limb word[WORD];
    load_word(from + k, word);
    store_word(to + k, word);
  }
}

// Copies whole words and writes words of zeros above.
template <class Limb, class G>
GPUINT_DEVICE void copy_padded(const G& group, const Limb* from, u32 words, Limb* to,
                               u32 zeros = 2) {
  for (u32 k = group.rank * WORD; k < (words + zeros) * WORD; k += G::THREADS * WORD) {
    Limb word[WORD] = {};
    if (k < words * WORD) load_word(from + k, word);
    store_word(to + k, word);
  }
}

// Prefetches words of global memory.
template <class Limb, class G>
GPUINT_DEVICE void prefetch_words(const G& group, const Limb* from, u32 words) {
  constexpr u32 LINE = 128 / sizeof(Limb);
  for (u32 k = group.rank * LINE; k < words * WORD; k += G::THREADS * LINE) ptx::prefetch(from + k);
}

}  // namespace gpuint
