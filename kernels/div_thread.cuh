// Block division with one thread per instance: the fastest form for short instances, since nothing is exchanged between
// threads and every lane multiplies all the time.
//
// The algorithm is that of quotient.cuh with base B = 2^32, blocks of t = 8 limbs and a reciprocal of 9:
//     Y  = floor(B^19 / 2 / (D + 1)),  D the top 10 limbs of V = v 2^s            schoolbook, 9 quotient limbs
//     Rh = floor(R 2^(s+1) / B^(n-1)),                                            10 limbs, the top one at most 3
//     Q  = floor(Rh Y / B^10) from columns >= 8,   R <- (R - Q v) B^8 + next 8 limbs of u.
//
// Theorem. 0 < B^9 B^n / (2V) - Y < 1 + 2/B, and for 0 <= R < 2 v B^8: 0 <= R - Q v < (1 + 16/B) v.
// Proof. V < (D + 1) B^(n-10), so Y is a strict underestimate; B^19 / 2 (1/D - 1/(D+1)) <= 2/B and the floor costs less
// than 1. R / v = (R 2^(s+1) / B^n) y with y <= 1: the fraction of Rh costs less than 1/B, the reciprocal against
// R 2^(s+1) / B^n < 4 B^8 less than 4 (1 + 2/B) / B, the dropped columns less than 9/B, the floor less than 1. QED.
// So no block needs a correction, and one subtraction at most remains at the end, as in quotient.cuh.
//
// Memory. A thread's remainder is a column of 16-byte words in shared memory, lane beside lane, so that every access of a warp
// is free of conflicts. So is its divisor where rows are short; where they are long, shared memory is worth more as room for
// further warps, and the divisor is read from global memory, a chunk ahead. Rows come sorted by length (sorted.cuh): the 32
// rows of a warp take about the same number of words. A warp owns room for divisors of half the width on all lanes; longer
// ones run on half the lanes at a time, or a quarter, so any divisor fits.
#pragma once
#include "bounds.cuh"
#include "division_rows.cuh"
#include "ptx.cuh"
#include "sorted.cuh"

namespace gpuint {

// A number of 32-bit limbs, one thread's column of words in shared memory.
struct Column {
  uint4* words;
  u32 stride;  // words between two of the same column: the lanes that share the memory

  GPUINT_DEVICE uint4& word(u32 i) const { return words[i * stride]; }
  GPUINT_DEVICE u32 limb(i32 i) const {
    return i >= 0 ? reinterpret_cast<const u32*>(words + static_cast<u32>(i) / WORD * stride)[static_cast<u32>(i) % WORD] : 0;
  }
  GPUINT_DEVICE void load(u32 i, u32 (&limbs)[8]) const {
    load_word(reinterpret_cast<const u32*>(&word(i)), limbs);
    load_word(reinterpret_cast<const u32*>(&word(i + 1)), limbs + WORD);
  }
  GPUINT_DEVICE void store(u32 i, const u32 (&limbs)[8]) const {
    store_word(reinterpret_cast<u32*>(&word(i)), limbs);
    store_word(reinterpret_cast<u32*>(&word(i + 1)), limbs + WORD);
  }
};

// The same of a row in global memory, with zeros above it.
template <class S>
struct RowInGlobal {
  const u32* row;

  GPUINT_DEVICE u32 limb(i32 i) const { return i >= 0 ? __ldg(row + i) : 0; }
  GPUINT_DEVICE void load(u32 i, u32 (&limbs)[8]) const {
    if (i * WORD < S::N) {
      read_word<S>(row, i * WORD, limbs);
      read_word<S>(row, (i + 1) * WORD, limbs + WORD);
    } else {
      GPUINT_UNROLL(8)
      for (u32 j = 0; j < 8; ++j) limbs[j] = 0;
    }
  }
};

// floor((high B + low) / d) for high < d, d >= B/2, with inverse = floor((B^2 - 1) / d) - B (Moeller and Granlund, "Improved
// division by invariant integers", Algorithm 4).
GPUINT_DEVICE u32 divide_limbs(u32 high, u32 low, u32 d, u32 inverse) {
  const u64 product = u64(inverse) * high + (u64(high) << 32 | low);
  u32 q = static_cast<u32>(product >> 32) + 1;
  u32 r = low - q * d;
  if (r > static_cast<u32>(product)) --q, r += d;
  if (r >= d) GPUINT_RARE(LimbSecondCorrection);
  return r >= d ? q + 1 : q;
}

// Where the divisor of a row stands.
template <class S>
struct SecondOperand {
  GPUINT_DEVICE static const u32* at(const Operands& o, u64 row) { return input_row<S>(o, 1, row); }
};

template <class S, class Divisors = SecondOperand<S>>
struct ThreadDivision {
  static constexpr u32 BLOCK_LIMBS = 8;
  static constexpr u32 N = S::N;
  static_assert(S::LIMB_BITS == 32 && N % BLOCK_LIMBS == 0, "rows of whole blocks");

  static constexpr u32 THREADS = 64;
  static constexpr u32 BATCH = 4 * THREADS;
  static constexpr u32 ROWS = BATCH;
  static constexpr u32 KEYS = N / BLOCK_LIMBS + 2;
  using Sorted = SortedBatch<THREADS, BATCH, KEYS>;
  // The threads that look for the top of a divisor together: one word of the row each.
  using Scanner = Group<min_of(32, power_of_two_at_least(S::WORDS))>;

  static constexpr bool DIVISOR_IN_SHARED = S::BITS <= 2048;
  using Divisor = typename Either<DIVISOR_IN_SHARED, Column, RowInGlobal<S>>::Type;

  // Words of a lane's columns, with `chunks` blocks of divisor: 8 limbs come in below the remainder.
  __host__ __device__ static constexpr u32 column_words(u32 chunks) { return 2 + (DIVISOR_IN_SHARED ? 4 : 2) * chunks; }
  __host__ __device__ static constexpr u32 chunks_of(u32 limbs) { return limbs / BLOCK_LIMBS + 1; }
  static constexpr u32 LANE_WORDS = column_words(chunks_of(N / 2));
  static constexpr u32 WARP_BYTES = 32 * LANE_WORDS * 16;
  static constexpr u32 SHARED = THREADS / 32 * WARP_BYTES + Sorted::BYTES;
  static constexpr u32 SCRATCH = 0;
  // At most as many blocks as shared memory holds: more would only cost registers.
  static constexpr u32 MIN_BLOCKS = min_of(blocks_with_registers(160, THREADS), max_of(1, 227 * 1024 / SHARED));
  static constexpr u32 PERSISTENT = 0;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    uint4* const warp_words = reinterpret_cast<uint4*>(shared + threadIdx.x / 32 * WARP_BYTES);
    Sorted sorted(shared + THREADS / 32 * WARP_BYTES);
    const u32 lane = threadIdx.x % 32;
    Scanner scanner(nullptr);
    for (u64 first = u64(blockIdx.x) * BATCH; first < o.rows; first += u64(gridDim.x) * BATCH) {
      const u32 count = o.rows - first < BATCH ? static_cast<u32>(o.rows - first) : BATCH;
      sorted.clear();
      GPUINT_UNROLL(2)
      for (u32 i = Scanner::index(); i < count; i += THREADS / Scanner::THREADS) {
        const u32 words = words_from_top<S>(scanner, Divisors::at(o, first + i));
        if (scanner.rank == 0) sorted.set(i, words == 0 ? 0 : chunks_of(words * WORD));
      }
      sorted.sort(count);
      for (u32 slot; (slot = sorted.take(32)) < count;) {
        const u32 index = slot + lane < count ? sorted.order[slot + lane] : BATCH;
        const u32 longest = sorted.keys[sorted.order[slot]];
        u32 lanes = 32;
        while (lanes * column_words(longest) > 32 * LANE_WORDS) lanes /= 2;
        for (u32 from = 0; from < 32; from += lanes) {
          if (index < count && lane >= from && lane < from + lanes) {
            const Column remainder{warp_words + (lane - from), lanes};
            const u32 chunks = sorted.keys[index];
            const u32* const divisor = Divisors::at(o, first + index);
            if constexpr (DIVISOR_IN_SHARED) {
              const Column copy{&remainder.word(2 + 2 * longest), lanes};
              fetch(divisor, 0, copy, 0, 2 * chunks);
              divide(o, first + index, chunks, remainder, copy);
            } else {
              divide(o, first + index, chunks, remainder, Divisor{divisor});
            }
          }
          __syncwarp();
        }
      }
      __syncthreads();
    }
  }

 private:
  // Bits of a row up to the highest that is set, read from the top.
  GPUINT_DEVICE static u32 bit_length(const u32* row) {
    for (u32 k = N; k > 0; k -= WORD) {
      u32 word[WORD];
      read_word<S>(row, k - WORD, word);
      const u32 bits = bits_of_word(word, k - WORD);
      if (bits != 0) return bits;
    }
    return 0;
  }

  // Words of a row from limb k on to a column; zeros beyond the row.
  GPUINT_DEVICE static void fetch(const u32* row, u32 k, const Column& to, u32 at, u32 words) {
    GPUINT_UNROLL(8)
    for (u32 i = 0; i < words; ++i) {
      u32 word[WORD] = {};
      if (k + i * WORD < N) read_word<S>(row, k + i * WORD, word);
      store_word(reinterpret_cast<u32*>(&to.word(at + i)), word);
    }
  }

  GPUINT_DEVICE static void read_block(const u32* row, u32 block, u32 (&limbs)[BLOCK_LIMBS]) {
    read_word<S>(row, BLOCK_LIMBS * block, limbs);
    read_word<S>(row, BLOCK_LIMBS * block + WORD, limbs + WORD);
  }

  // Y, from the divisor's top limbs.
  GPUINT_DEVICE static void reciprocal(const Divisor& v, u32 n, u32 s, u32 (&y)[9]) {
    u32 e[10], r[11];
    u32 carry = 1;
    u32 below = v.limb(static_cast<i32>(n) - 11);
    GPUINT_UNROLL(10)
    for (u32 i = 0; i < 10; ++i) {
      const u32 limb = v.limb(static_cast<i32>(n + i) - 10);
      e[i] = add_carry(__funnelshift_l(below, limb, s), 0u, carry);
      below = limb;
    }
    GPUINT_UNROLL(9)
    for (u32 i = 0; i < 9; ++i) y[i] = i == 8 ? 1u << 31 : 0;
    if (carry != 0) GPUINT_RARE(ThreadSeedOfOnes);
    if (carry != 0) return;  // D + 1 = B^10
    GPUINT_UNROLL(11)
    for (u32 i = 0; i < 11; ++i) r[i] = i == 9 ? 1u << 31 : 0;
    const u32 d = e[9];
    const u32 inverse = static_cast<u32>(~u64(0) / d);
    GPUINT_UNROLL(1)
    for (u32 digit = 0; digit < 9; ++digit) {
      GPUINT_UNROLL(10)
      for (u32 i = 10; i > 0; --i) r[i] = r[i - 1];
      r[0] = 0;
      u32 q = r[10] >= d ? ~0u : divide_limbs(r[10], r[9], d, inverse);
      if (r[10] >= d) GPUINT_RARE(ThreadSeedDigitOfOnes);
      [[maybe_unused]] const u32 estimated = q;
      u64 product = 0;
      u32 borrow = 0;
      GPUINT_UNROLL(10)
      for (u32 i = 0; i < 10; ++i) {
        product += u64(q) * e[i];
        r[i] = sub_borrow(r[i], static_cast<u32>(product), borrow);
        product >>= 32;
      }
      r[10] = sub_borrow(r[10], static_cast<u32>(product), borrow);
      while (borrow != 0) {  // at most twice
        --q;
        u32 back = 0;
        GPUINT_UNROLL(10)
        for (u32 i = 0; i < 10; ++i) r[i] = add_carry(r[i], e[i], back);
        r[10] = add_carry(r[10], 0u, back);
        borrow -= back;
      }
      GPUINT_ASSERT(estimated - q <= 2, "an estimated digit is too large by 2 at most");
      if (estimated - q == 2) GPUINT_RARE(ThreadSeedSecondAddBack);
      GPUINT_UNROLL(8)
      for (u32 i = 8; i > 0; --i) y[i] = y[i - 1];
      y[0] = q;
    }
  }

  // Q, 8 limbs and a carry, from the remainder with the next limbs of the dividend below it.
  GPUINT_DEVICE static void estimate(const Column& r, u32 n, u32 s, const u32 (&y)[9], u32 (&q)[9]) {
    u32 rh[10];
    u32 below = r.limb(static_cast<i32>(n) - 2);
    GPUINT_UNROLL(10)
    for (u32 i = 0; i < 10; ++i) {
      const u32 limb = r.limb(static_cast<i32>(n + i) - 1);
      rh[i] = __funnelshift_r(below, limb, 31 - s);
      below = limb;
    }
    GPUINT_ASSERT(rh[9] <= 3, "R < 2 v B^8");
    // Columns 8 .. 20 of rh * y, even ones and odd ones apart; a chain's carry goes to the column after its last, which holds
    // nothing but carries until a later row reaches it.
    u32 even[13] = {}, odd[13] = {};
    GPUINT_UNROLL(9)
    for (u32 i = 0; i < 9; ++i) {
      GPUINT_UNROLL(2)
      for (u32 parity = 0; parity < 2; ++parity) {
        u32* const sum = parity == 0 ? even : odd;
        bool chained = false;
        u32 last = 0;
        GPUINT_UNROLL(10)
        for (u32 j = 0; j < 10; ++j) {
          if (i + j < 8 || (i + j) % 2 != parity) continue;
          const u32 column = i + j - 8;
          if (chained)
            ptx::madc_lo_cc(sum[column], y[i], rh[j]);
          else
            ptx::mad_lo_cc(sum[column], y[i], rh[j]);
          ptx::madc_hi_cc(sum[column + 1], y[i], rh[j]);
          chained = true;
          last = column + 2;
        }
        if (chained) ptx::addc(sum[last], 0);
      }
    }
    ptx::add_cc(even[0], odd[0]);
    GPUINT_UNROLL(12)
    for (u32 i = 1; i < 11; ++i) ptx::addc_cc(even[i], odd[i]);
    GPUINT_UNROLL(9)
    for (u32 i = 0; i < 9; ++i) q[i] = even[i + 2];
    GPUINT_ASSERT(q[8] <= 1, "Q < 2 B^8");
  }

  // r <- (r - q v): block j of the difference goes to block j + 1 of the column, making room for the next limbs below.
  GPUINT_DEVICE static void update(const Column& r, const Divisor& v, u32 chunks, const u32 (&q)[9]) {
    u32 even[17] = {}, odd[17] = {};
    u32 difference[8], limbs[8], ahead[8];
    u32 borrow_even = 0, borrow_odd = 0;
    r.load(0, difference);
    v.load(0, ahead);
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < chunks; ++j) {
      GPUINT_UNROLL(8)
      for (u32 i = 0; i < 8; ++i) limbs[i] = ahead[i];
      if (j + 1 < chunks) v.load(2 * j + 2, ahead);
      GPUINT_UNROLL(8)
      for (u32 i = 0; i < 8; ++i) {
        u32* const same = i % 2 == 0 ? even : odd;   // columns i, i + 2, ..
        u32* const other = i % 2 == 0 ? odd : even;  // columns i + 1, i + 3, ..
        ptx::mad_lo_cc(same[i], limbs[0], q[i]);
        ptx::madc_hi_cc(same[i + 1], limbs[0], q[i]);
        GPUINT_UNROLL(4)
        for (u32 k = 2; k < 8; k += 2) {
          ptx::madc_lo_cc(same[i + k], limbs[k], q[i]);
          ptx::madc_hi_cc(same[i + k + 1], limbs[k], q[i]);
        }
        ptx::addc(same[i + 8], 0);
        ptx::mad_lo_cc(other[i + 1], limbs[1], q[i]);
        ptx::madc_hi_cc(other[i + 2], limbs[1], q[i]);
        GPUINT_UNROLL(4)
        for (u32 k = 3; k < 8; k += 2) {
          ptx::madc_lo_cc(other[i + k], limbs[k], q[i]);
          ptx::madc_hi_cc(other[i + k + 1], limbs[k], q[i]);
        }
        if (i < 7) ptx::addc(other[i + 9], 0);
      }
      borrow_even = subtract(difference, even, borrow_even);
      borrow_odd = subtract(difference, odd, borrow_odd);
      r.load(2 * j + 2, limbs);
      r.store(2 * j + 2, difference);
      GPUINT_UNROLL(8)
      for (u32 i = 0; i < 8; ++i) {
        difference[i] = limbs[i];
        even[i] = even[i + 8];
        odd[i] = odd[i + 8];
        even[i + 8] = odd[i + 8] = 0;
      }
      even[16] = odd[16] = 0;
    }
  }

  // x -= the low 8 limbs of y and the borrow; both borrows are masks.
  GPUINT_DEVICE static u32 subtract(u32 (&x)[8], const u32* y, u32 borrow) {
    ptx::set_borrow(borrow);
    GPUINT_UNROLL(8)
    for (u32 i = 0; i < 8; ++i) ptx::subc_cc(x[i], y[i]);
    return ptx::borrow_mask();
  }

  // The quotient carry of a rare remainder: r -= v B^8, the remainder already standing at word 2.
  GPUINT_DEVICE static void subtract_shifted(const Column& r, const Divisor& v, u32 chunks) {
    u32 borrow = 0;
    for (u32 j = 1; j < chunks; ++j) {
      u32 x[8], y[8];
      r.load(2 * j + 2, x);
      v.load(2 * j - 2, y);
      borrow = subtract(x, y, borrow);
      r.store(2 * j + 2, x);
    }
  }

  // Whether r >= v, and if so r -= v.
  GPUINT_DEVICE static bool correct(const Column& r, const Divisor& v, u32 chunks) {
    u32 borrow = 0;
    for (u32 j = 0; j < chunks; ++j) {
      u32 x[8], y[8];
      r.load(2 * j + 2, x);
      v.load(2 * j, y);
      borrow = subtract(x, y, borrow);
    }
    if (borrow != 0) return false;
    GPUINT_RARE(ThreadLastSubtraction);
    for (u32 j = 0; j < chunks; ++j) {
      u32 x[8], y[8];
      r.load(2 * j + 2, x);
      v.load(2 * j, y);
      borrow = subtract(x, y, borrow);
      r.store(2 * j + 2, x);
    }
    return true;
  }

  // What is proven, for assertions: limb 8 of the column is the lowest of the remainder after a block.
  GPUINT_DEVICE static bool is_reciprocal(const u32 (&y)[9], const Divisor& v, u32 n, u32 s) {
    const auto limb = [&](i32 i) { return i >= 0 ? v.limb(i) : 0; };
    return strictly_below_reciprocal<u32>(
        [&](u32 i) { return y[i]; }, 9,
        [&](u32 i) { return shifted_limb<u32>(limb, static_cast<i32>(i), Distance<u32>(s + 1)); }, n, 2);
  }
  GPUINT_DEVICE static bool in_block(const Column& r, const Divisor& v, u32 n) {
    return is_below_double<u32>([&](u32 i) { return r.limb(static_cast<i32>(i + 8)); },
                                [&](i32 i) { return i < static_cast<i32>(n) ? v.limb(i) : 0; }, n + 1);
  }
  GPUINT_DEVICE static bool was_reduced(const Column& r, const Divisor& v, u32 chunks, u32 bits) {
    return is_small_part<u32>([&](i32 i) { return r.limb(i + 8); },
                              [&](i32 i) { return i < static_cast<i32>(N) ? v.limb(i) : 0; }, 8 * chunks, bits);
  }

  // The row's divisor has at most `most` chunks; 0 stands for a divisor of zero.
  GPUINT_DEVICE static void divide(const Operands& o, u64 row, u32 most, const Column& r, const Divisor& v) {
    const u32* const dividend = input_row<S>(o, 0, row);
    const Group<1> alone(nullptr);
    if (most == 0) return write_undefined<S>(alone, o, row);
    u32 v_bits = 0;
    for (u32 chunk = most; v_bits == 0; --chunk) {
      u32 limbs[8];
      v.load(2 * chunk - 2, limbs);
      v_bits = max_of(bits_of_word(limbs, (chunk - 1) * 8), bits_of_word(limbs + WORD, (chunk - 1) * 8 + WORD));
    }
    const u32 n = ceil_div(v_bits, 32);
    const u32 s = n * 32 - v_bits;
    const u32 chunks = chunks_of(n);
    const u32 words = ceil_div(bit_length(dividend) + s, 32);
    const u32 blocks = words > n ? ceil_div(words - n, BLOCK_LIMBS) : 0;
    u32* const quotient = output_row<S>(o, 0, row);
    write_quotient<S>(alone, quotient, 2 * blocks, S::WORDS, nullptr);
    fetch(dividend, BLOCK_LIMBS * blocks, r, 2, 2 * chunks);
    if (blocks > 0) {
      u32 y[9];
      reciprocal(v, n, s, y);
      GPUINT_ASSERT(is_reciprocal(y, v, n, s), "Y is a strict underestimate by less than 2");
      u32 below[BLOCK_LIMBS];  // the next limbs of the dividend, on their way from global memory
      read_block(dividend, blocks - 1, below);
      GPUINT_UNROLL(1)
      for (u32 block = blocks; block-- > 0;) {
        r.store(0, below);
        if (block > 0) read_block(dividend, block - 1, below);
        GPUINT_ASSERT(in_block(r, v, n), "R < 2 v B^8");
        u32 q[9];
        estimate(r, n, s, y, q);
        if (quotient != nullptr) {
          write_word<S>(quotient, BLOCK_LIMBS * block, q);
          write_word<S>(quotient, BLOCK_LIMBS * block + WORD, q + WORD);
        }
        update(r, v, chunks, q);
        if (q[8] != 0) {
          GPUINT_RARE(ThreadQuotientCarry);
          subtract_shifted(r, v, chunks);
          increment<S>(quotient, BLOCK_LIMBS * (block + 1));
        }
      }
    }
    if (correct(r, v, chunks)) {
      GPUINT_ASSERT(was_reduced(r, v, chunks, blocks > 0 ? 28 : 0), "R < (1 + 16/B) v after a block");
      increment<S>(quotient, 0);
    }
    u32* const result = output_row<S>(o, 1, row);
    if (result == nullptr) return;
    for (u32 k = 0; k < N; k += WORD) {
      u32 word[WORD] = {};
      if (k < n) load_word(reinterpret_cast<const u32*>(&r.word(2 + k / WORD)), word);
      write_word<S>(result, k, word);
    }
  }
};

}  // namespace gpuint
