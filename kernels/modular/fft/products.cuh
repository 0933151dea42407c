// Products modulo v by Fourier transforms, phase after phase: Barrett's reduction with the
// reciprocal of a record.
//
// Let R = 2^m, m = BITS, V = v 2^s in [R / 2, R), and Y = R^2 / (2 V) - e the top m bits of the
// recorded reciprocal, 0 < e < 1 + 2^-60. Let l = s if s <= MAX_LATE, else 0, and w = 2^(l + 1) v.
// For T < R^2 / 2^(s - l):
//     H = floor(T 2^(s - l) / R),   Q = floor(H Y / R),   r = T - Q w.
// THEOREM. H, Q < R, w < 2 R, and 0 <= r < (3 + 2^-60) w.
// Proof. T 2^(s - l) < R^2, so H < R. With T 2^(s - l) = (H + f) R, 0 <= f < 1, the quotient T / w
// = T 2^(s - l) / (2 V) is (H + f) (Y + e) / R, which is at most R, and exceeds H Y / R by (f (Y +
// e)
// + H e) / R, which is positive and less than 1 + 1 + 2^-60, as Y + e = R^2 / (2 V) <= R. The floor
// takes less than 1. So Q < R, and T / w - Q is at least 0 and less than 3 + 2^-60. w is 2 V if l =
// s, and at most V / 2^MAX_LATE otherwise. QED.
//
// So r < 7 R, and r / v < 6.01 2^MAX_LATE is less than 10^6: one ratio of doubles gives the
// quotient (div/fft/reduce.cuh).
//
// Phases. T = a b and H Y are products of rows (transform/fft/product.cuh), of which the second
// writes the high half, Q. The last phase computes r and reduces it below v. For moduli nearly as
// long as a row, s <= MAX_LATE, H is the high half of T.
//
// Long factors. T = a b < R^2 / 2^s if a or b is no longer than v; if s <= MAX_LATE, any T is
// short enough. The first phase marks the other rows. There, b mod v, the same reduction of T = b <
// R, replaces b. If no row is marked, its phases end at once.
//
// The last product. r is known modulo R + 1, from a product modulo t^n + 1, n = m / 16 digits of 16
// bits, and modulo 2^32, from the lowest limbs, so it is known (div/fft/resolve.cuh). t^n + 1 =
// (t^(n/2) - i) (t^(n/2) + i), so points j of half as many have digits j and j + n / 2, and the
// digit above them, the top, is -top at t^0. It takes half of the transforms of a product. So a
// product modulo v takes 3 + 3 + 3/2 transforms of n points, a square one less. The columns are
// those of Q w / 2, doubled: if l is 0, w / 2 is v, whose words are copied asynchronously.
//
// The factors' digits are balanced, tops are at most 1: |a| |b| <= 2^30 (n + 4), which is within
// the bound of transform/fft/lengths.cuh.
#pragma once
#include "core/abi.cuh"
#include "core/group.cuh"
#include "core/limbs.cuh"
#include "core/rows.cuh"
#include "div/fft/convolution.cuh"
#include "div/fft/reduce.cuh"
#include "div/fft/resolve.cuh"
#include "core/record.cuh"
#include "transform/fft/columns.cuh"
#include "transform/fft/lengths.cuh"
#include "core/late_bits.cuh"
#include "transform/fft/product.cuh"
#include "tuning/transform.cuh"

namespace gpuint::fft_modular {

constexpr u32 MAX_LATE = 16;

// l of a row.
template <class S, u32 MAX_SHIFT>
GPUINT_DEVICE u32 late_bits(const Operands& o, u64 row) {
  return gpuint::late_bits<MAX_SHIFT>(S::BITS - Prepared<S>(o, row).bits());
}

// The workspace: T, a word for limbs of Q below its lowest, and Q of each row, then a word of each
// row that is 1 if both factors are longer than v. Q has the place of b mod v, which is used
// before.
template <class S>
struct Workspace {
  static constexpr u32 LIMBS = S::N;
  static constexpr u32 QUOTIENT = 2 * LIMBS + WORD, ROW_LIMBS = QUOTIENT + LIMBS;
  static constexpr u32 ROW_BYTES = (ROW_LIMBS + WORD) * sizeof(u32);

  // Computed again for each use: registers have no room for an address beside 16 points. (2^32 rows
  // of 2^15 bits are 16 TiB.)
  GPUINT_DEVICE static u32* dividend(const Operands& o, u64 row) {
    return reinterpret_cast<u32*>(o.workspace) +
           u64(ptx::rematerialize(static_cast<u32>(row))) * ROW_LIMBS;
  }
  GPUINT_DEVICE static u32* quotient(const Operands& o, u64 row) {
    return dividend(o, row) + QUOTIENT;
  }
  GPUINT_DEVICE static u32* has_long_factors(const Operands& o, u64 row) {
    return dividend(o, o.rows) + row;
  }
  // Counters: rows with long factors, and rows whose remainders were begun.
  GPUINT_DEVICE static u32* long_factors(const Operands& o) { return o.counters; }
  GPUINT_DEVICE static u32* taken(const Operands& o) { return o.counters + 1; }
};

// First phase: marks the rows whose factors are both longer than v, while v is shorter than a row
// by more than MAX_SHIFT bits, and counts them. A warp reads a row.
template <class S, u32 FACTORS, u32 MAX_SHIFT>
struct FindLongFactors {
  static constexpr u32 THREADS = 128, ROWS = THREADS / 32, SHARED = 0, SCRATCH = 0;
  static constexpr u32 MIN_BLOCKS = 3, PERSISTENT = 0, ROW_BYTES = Workspace<S>::ROW_BYTES;

  GPUINT_DEVICE static void run(const Operands& o, unsigned char*) {
    for (u64 row = u64(blockIdx.x) * ROWS + threadIdx.x / 32; row < o.rows;
         row += u64(gridDim.x) * ROWS) {
      const u32 bits = Prepared<S>(o, row).bits();
      bool are_long = bits + MAX_SHIFT < S::BITS;
      for (u32 i = 0; i < FACTORS; ++i)
        are_long = are_long && is_longer(input_row<S>(o, i, row), bits);
      if (threadIdx.x % 32 != 0) continue;
      if (are_long) {
        GPUINT_RARE(FftLongFactors);
        atomicAdd(Workspace<S>::long_factors(o), 1u);
      }
      *Workspace<S>::has_long_factors(o, row) = are_long ? 1 : 0;
    }
  }

 private:
  GPUINT_DEVICE static bool is_longer(const u32* x, u32 bits) {
    constexpr u32 CHUNK = 32 * WORD;
    static_assert(S::N % CHUNK == 0, "");
    GPUINT_UNROLL(1)
    for (u32 end = S::N; 32 * end > bits; end -= CHUNK) {
      const u32 at = end - CHUNK + WORD * (threadIdx.x % 32);
      u32 word[WORD];
      read_word<S>(x, at, word);
      if (__ballot_sync(~0u, bits_of_word(word, at) > bits) != 0) return true;
    }
    return false;
  }
};

// A phase of b mod v, of few rows at most.
template <class Phase>
struct OfLongFactors : Phase {
  static constexpr u32 PERSISTENT = 1;
};

// Rows of T = a b.
template <class S, u32 FACTORS>
struct FactorRows {
  static constexpr u32 ROW_BYTES = Workspace<S>::ROW_BYTES, SCRATCH = 0;
  static constexpr bool IS_FIRST_SHIFTED = false;

  GPUINT_DEVICE static bool is_skipped(const Operands&, u64) { return false; }
  GPUINT_DEVICE static const u32* factor(const Operands& o, u32 i, u64 row) {
    return i == FACTORS - 1 && *Workspace<S>::has_long_factors(o, row) != 0
               ? Workspace<S>::quotient(o, row)
               : input_row<S>(o, i, ptx::rematerialize(static_cast<u32>(row)));
  }
  GPUINT_DEVICE static u32* half(const Operands& o, u64 row, u32 half) {
    return Workspace<S>::dividend(o, row) + half * S::N;
  }
};

// The dividend of a phase: b before T is there, in rows with long factors only, and then T.
template <class S, u32 FACTORS>
struct Dividend {
  static constexpr u32 PRODUCT_PHASE = 3, ROW_BYTES = Workspace<S>::ROW_BYTES;

  GPUINT_DEVICE static bool is_product(const Operands& o) { return o.phase > PRODUCT_PHASE; }
  GPUINT_DEVICE static bool is_skipped(const Operands& o, u64 row) {
    return !is_product(o) && *Workspace<S>::has_long_factors(o, row) == 0;
  }
  GPUINT_DEVICE static u32 limbs(const Operands& o) { return is_product(o) ? 2 * S::N : S::N; }
  GPUINT_DEVICE static const u32* at(const Operands& o, u64 row) {
    return is_product(o) ? Workspace<S>::dividend(o, row) : input_row<S>(o, FACTORS - 1, row);
  }
  // Place of the remainder.
  GPUINT_DEVICE static u32* result(const Operands& o, u64 row) {
    return is_product(o) ? output_row<S>(o, 0, row) : Workspace<S>::quotient(o, row);
  }
};

// x >> distance, x of `count` limbs in global memory, limb by limb.
struct ShiftedDown {
  const u32* x;
  u32 count, limbs, bits;
  GPUINT_DEVICE ShiftedDown(const u32* row, u32 row_limbs, u32 distance)
      : x(row), count(row_limbs), limbs(distance / 32), bits(distance % 32) {}
  GPUINT_DEVICE u32 operator[](u32 l) const {
    const u32 at = l + limbs;
    return __funnelshift_r(at < count ? x[at] : 0, at + 1 < count ? x[at + 1] : 0, bits);
  }
};

// Rows of Q = floor(H Y / R), for l <= MAX_SHIFT.
template <class S, class Dividend, u32 MAX_SHIFT>
struct QuotientRows {
  static constexpr u32 ROW_BYTES = Dividend::ROW_BYTES, SCRATCH = 0;
  static constexpr bool IS_FIRST_SHIFTED = true;

  GPUINT_DEVICE static bool is_skipped(const Operands& o, u64 row) {
    return Dividend::is_skipped(o, row);
  }
  GPUINT_DEVICE static const u32* factor(const Operands& o, u32 i, u64 row) {
    return i == 0 ? Dividend::at(o, row) + (Dividend::limbs(o) - S::N)
                  : Prepared<S>(o, ptx::rematerialize(static_cast<u32>(row))).y_end() - S::N;
  }
  // H = T >> (BITS - s + l).
  GPUINT_DEVICE static ShiftedDown first_limbs(const Operands& o, u64 row) {
    return {Dividend::at(o, row), Dividend::limbs(o), distance(o, row)};
  }
  // H is the high half of T.
  GPUINT_DEVICE static bool is_unshifted(const Operands& o, u64 row) {
    return Dividend::is_product(o) && distance(o, row) == S::BITS;
  }
  GPUINT_DEVICE static u32* half(const Operands& o, u64 row, u32 half) {
    return half == 0 ? nullptr : Workspace<S>::quotient(o, row);
  }

 private:
  GPUINT_DEVICE static u32 distance(const Operands& o, u64 row) {
    const u32 bits = Prepared<S>(o, ptx::rematerialize(static_cast<u32>(row))).bits();
    return bits + gpuint::late_bits<MAX_SHIFT>(S::BITS - bits);
  }
};

// r = T - Q w, reduced below v. A block to a row.
template <class S, class Dividend>
struct Remainder : Lengths<S> {
  using Base = Lengths<S>;
  using Base::CHUNKS, Base::DIGITS, Base::LIMBS, Base::P, Base::THREADS;
  using Workspace = fft_modular::Workspace<S>;
  using F = fft_division::Transform<P>;
  using R = fft_division::Resolve<THREADS, 16>;
  using Reduce = fft_division::Reduce<THREADS, 16>;
  static constexpr u32 PARTS = CHUNKS / 2;
  static_assert(worst_error<S>() < 0.5, "columns round to the right integers");

  static constexpr u32 ROWS = 1, MIN_BLOCKS = FftPolicy::BLOCKS * fft::THREADS / THREADS;
  static constexpr u32 PERSISTENT = PARTS == 1 ? 0 : 1, ROW_BYTES = Dividend::ROW_BYTES;

  static constexpr u32 RUNNING_BLOCKS = FftPolicy::RUNNING_BLOCKS * fft::THREADS / THREADS;

  // Shared memory: words, one of them the next row, of which the last is 0; an operand, points or
  // columns, then v; values of the first operand that registers do not hold, then r with a limb
  // above.
  static constexpr u32 KEPT = FftPolicy::values_in_registers(P), STORED = fft::RADIX - KEPT;
  static constexpr u32 POINTS = 256, VALUES = POINTS + P * sizeof(Complex);
  static constexpr u32 SHARED = VALUES + STORED * THREADS * sizeof(Complex);
  static constexpr u32 NEXT = Reduce::FOUND + 1;
  static_assert((NEXT + 1) * sizeof(u32) < POINTS, "");
  static_assert(fft_division::limbs_bytes(LIMBS) <= STORED * THREADS * sizeof(Complex), "");
  // Device memory: the points of all parts but the last.
  static constexpr u32 SCRATCH = (PARTS - 1) * P * sizeof(Complex);

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    const Remainder block(o, shared);
    if (threadIdx.x == 0) *F::Exchange::zero(shared + POINTS) = 0;
    F::sync();
    GPUINT_UNROLL(1)
    for (u32 row = blockIdx.x; row < o.rows; row = block.next(row)) {
      if (Dividend::is_skipped(o, row)) continue;
      block.prefetch_dividend(row);
      if (PERSISTENT == 0) block.prefetch_factors(row + RUNNING_BLOCKS);
      Complex x[fft::RADIX];
      GPUINT_UNROLL(1)
      for (u32 k = 0; k < PARTS; ++k) {
        block.multiply_part(row, k, x);
        if (k + 1 == PARTS) break;
        F::store(block.points(k), x);
        if (k == 0) block.prefetch_factors(block.next(row));
      }
      block.finish(row, x);
    }
  }

 private:
  const Operands& o;
  unsigned char* const shared;

  GPUINT_DEVICE Remainder(const Operands& operands, unsigned char* bytes)
      : o(operands), shared(bytes) {}

  GPUINT_DEVICE u32 thread() const { return F{shared + POINTS}.thread(); }
  GPUINT_DEVICE u32* words() const { return reinterpret_cast<u32*>(shared); }
  GPUINT_DEVICE u32* operand() const { return reinterpret_cast<u32*>(shared + POINTS); }
  GPUINT_DEVICE i64* columns() const { return reinterpret_cast<i64*>(shared + POINTS); }
  GPUINT_DEVICE u32* rest() const { return reinterpret_cast<u32*>(shared + VALUES); }
  GPUINT_DEVICE Complex* points(u32 k) const {
    return reinterpret_cast<Complex*>(o.scratch + u64(blockIdx.x) * SCRATCH) + k * P + thread();
  }

  GPUINT_DEVICE const u32* modulus(u32 row) const {
    return Prepared<S>(o, ptx::rematerialize(row)).v();
  }

  // Blocks that keep points in device memory are as many as run at a time, and some are slower than
  // others: one that finishes a row takes the next one. Rows of b mod v, few of which are computed,
  // are shared out.
  GPUINT_DEVICE bool takes_rows() const { return PERSISTENT == 1 && Dividend::is_product(o); }
  GPUINT_DEVICE void take_row() const {
    if (takes_rows() && threadIdx.x == 0)
      words()[NEXT] = gridDim.x + atomicAdd(Workspace::taken(o), 1);
  }
  GPUINT_DEVICE u32 next(u32 row) const { return takes_rows() ? words()[NEXT] : row + gridDim.x; }

  GPUINT_DEVICE void prefetch_dividend(u32 row) const {
    const u32* const t = Dividend::at(o, row);
    const bool is_product = Dividend::is_product(o);
    for (u32 l = 32 * thread(); l < LIMBS; l += 32 * THREADS) {
      ptx::prefetch(t + l);
      if (is_product) ptx::prefetch(t + LIMBS + l);
    }
  }
  // Of the next row of this block, or of the next block.
  GPUINT_DEVICE void prefetch_factors(u32 row) const {
    if (row >= o.rows) return;
    for (u32 l = 32 * thread(); l < LIMBS; l += 32 * THREADS) {
      ptx::prefetch(Workspace::quotient(o, row) + l);
      ptx::prefetch(Prepared<S>(o, row).v() + l);
    }
  }

  // Begins to copy a number to the operand's place, which nobody reads any more.
  GPUINT_DEVICE void fetch(const u32* x) const {
    const u32 own = thread();
    GPUINT_UNROLL(4)
    for (u32 l = WORD * own; l < LIMBS; l += WORD * THREADS)
      ptx::copy_async(x + l, operand() + fft_division::limb_at(l));
  }

  // Puts x << shift into that place, shift < 32, without the part above.
  GPUINT_DEVICE void stage_shifted(const u32* x, u32 shift) const {
    constexpr u32 BATCH = 4;
    static_assert(LIMBS % (BATCH * WORD * THREADS) == 0, "");
    GPUINT_UNROLL(1)
    for (u32 first = WORD * thread(); first < LIMBS; first += BATCH * WORD * THREADS) {
      u32 word[BATCH][WORD], below[BATCH];
      GPUINT_UNROLL(4)
      for (u32 k = 0; k < BATCH; ++k) {
        const u32 l = first + k * WORD * THREADS;
        load_word(x + l, word[k]);
        below[k] = l == 0 ? 0 : x[l - 1];
      }
      GPUINT_UNROLL(4)
      for (u32 k = 0; k < BATCH; ++k) {
        u32 shifted[WORD];
        GPUINT_UNROLL(4)
        for (u32 i = 0; i < WORD; ++i)
          shifted[i] = __funnelshift_l(i == 0 ? below[k] : word[k][i - 1], word[k][i], shift);
        store_word(operand() + fft_division::limb_at(first + k * WORD * THREADS), shifted);
      }
    }
  }

  // Puts limbs into that place.
  template <class Limb>
  GPUINT_DEVICE void stage(const Limb& limb) const {
    fft_division::copy<LIMBS / THREADS, THREADS>(
        thread(), limb, [&](u32 l, u32 value) { operand()[fft_division::limb_at(l)] = value; });
  }

  // Points of part k of the operand and `top` above it.
  GPUINT_DEVICE void read(Complex (&x)[fft::RADIX], u32 k, u32 top) const {
    const auto digits = [&](double(&value)[fft::RADIX], u32 c) {
      fft_division::read_digits<P>(value, operand(), c * P, c == 0, thread());
    };
    {
      double value[fft::RADIX];
      digits(value, 0);
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < fft::RADIX; ++i) x[i] = {value[i], 0};
    }
    GPUINT_UNROLL(1)
    for (u32 c = 1; c < CHUNKS; ++c) {
      double value[fft::RADIX];
      digits(value, c);
      const Complex turn = fft::CONSTANTS<PARTS>.part[k].turns[c];
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < fft::RADIX; ++i) {
        if constexpr (PARTS == 1)
          x[i].im = value[i];
        else
          x[i] = {fma(value[i], turn.re, x[i].re), fma(value[i], turn.im, x[i].im)};
      }
    }
    if (threadIdx.x == 0)
      x[0].re -= fft_division::with_carry(top, fft_division::digit_of(operand(), DIGITS - 1));
  }

  template <class Then>
  GPUINT_DEVICE fft::Last transform(Complex (&x)[fft::RADIX], u32 k, Then then) const {
    const auto first = [](Complex(&y)[fft::RADIX], const fft::FirstPass& by) {
      fft::split<0, 0, 1>(y, by);
    };
    return fft::transform<P, PARTS>(x, k, shared + POINTS, first, then);
  }

  // l, read again for each part: registers have no room for it beside 16 points.
  GPUINT_DEVICE u32 late_bits(u32 row) const {
    return fft_modular::late_bits<S, MAX_LATE>(o, F{shared + POINTS}.rematerialize(row));
  }

  // Q w / 2 in part k.
  GPUINT_DEVICE void multiply_part(u32 row, u32 k, Complex (&x)[fft::RADIX]) const {
    const u32* const v = modulus(row);
    F::sync();  // nobody reads any more what was there
    if (k == 0) take_row();
    const u32 shift = late_bits(row);
    if (shift == 0)
      fetch(v);
    else
      stage_shifted(v, shift);
    ptx::await_copies();
    F::sync();
    read(x, k, __funnelshift_l(v[LIMBS - 1], 0, shift));
    transform(x, k, [&] {
      F::sync();  // nobody reads points any more
      fetch(Workspace::quotient(o, row));
    });
    Complex* const stored = reinterpret_cast<Complex*>(shared + VALUES) + thread();
    GPUINT_UNROLL(16)
    for (u32 i = KEPT; i < fft::RADIX; ++i) stored[(i - KEPT) * THREADS] = x[i];
    Complex kept[KEPT];
    GPUINT_UNROLL(8)
    for (u32 i = 0; i < KEPT; ++i) kept[i] = x[i];
    ptx::await_copies();
    F::sync();
    read(x, k, 0);
    const fft::Last last = transform(x, k, [] {});
    const Complex* const aside = reinterpret_cast<const Complex*>(shared + VALUES) + thread();
    fft::multiply<0>(x, last, [&](u32 i) {
      return i < KEPT ? kept[i < KEPT ? i : 0] : aside[(i - KEPT) * THREADS];
    });
    fft::inverse<P, PARTS>(x, shared + POINTS);
    fft::weigh<P, PARTS>(k, thread(), x);
  }

  GPUINT_DEVICE void finish(u32 row, const Complex (&x)[fft::RADIX]) const {
    // Points that a thread loads at once: no load is moved across a store.
    constexpr u32 BATCH = PARTS == 1 ? 1 : 8;
    i64 above = 0;
    GPUINT_UNROLL(1)
    for (u32 pair = 0; pair < PARTS; ++pair) {
      F::sync();  // nobody reads any more what was there
      const u32 own = thread();
      const Complex* const stored = points(0);
      GPUINT_UNROLL(16)
      for (u32 first = 0; first < fft::RADIX; first += BATCH) {
        Complex y[BATCH][PARTS];
        GPUINT_UNROLL(16)
        for (u32 i = 0; i < BATCH; ++i) GPUINT_UNROLL(2)
        for (u32 k = 0; k < PARTS; ++k)
          y[i][k] = k == PARTS - 1 ? x[first + i] : F::load(stored + k * P + (first + i) * THREADS);
        GPUINT_UNROLL(16)
        for (u32 i = 0; i < BATCH; ++i) {
          const u32 at = own + (first + i) * THREADS;
          columns()[R::place(at)] = -2 * column_of<S>(2 * pair, y[i]);
          columns()[R::place(P + at)] = -2 * column_of<S>(2 * pair + 1, y[i]);
        }
      }
      F::sync();
      above = subtract_columns(row, pair, above);
    }
    const u32* const v = modulus(row);
    const u32 own = thread(), shift = limbs_shifted(row);
    for (u32 l = own; l < shift; l += THREADS) rest()[fft_division::limb_at(l)] = 0;
    if (own == 0 && shift == 0) rest()[fft_division::limb_at(LIMBS)] = static_cast<u32>(above);
    // v takes the place of the columns.
    if (shift == 0)
      fetch(v);
    else
      stage([&](u32 l) { return l < shift ? 0 : v[l - shift]; });
    ptx::await_copies();
    const u32 times = Reduce::run(
        own, words(), LIMBS, [&](u32 l) -> u32& { return rest()[fft_division::limb_at(l)]; },
        [&](u32 l) { return operand()[fft_division::limb_at(l)]; });
    GPUINT_ASSERT(times <= 6u << late_bits(row), "the remainder is below (3 + 2^-60) w");
    u32* const to = Dividend::result(o, ptx::rematerialize(row));
    for (u32 l = own; l < LIMBS; l += THREADS)
      to[l] = l + shift < LIMBS ? rest()[fft_division::limb_at(l + shift)] : 0;
    F::sync();
  }

  // r and v are shifted up by whole limbs, so that v has a top limb.
  GPUINT_DEVICE u32 limbs_shifted(u32 row) const {
    return (S::BITS - Prepared<S>(o, ptx::rematerialize(row)).bits()) / 32;
  }

  // P limbs of r; returns the part above.
  GPUINT_DEVICE i64 subtract_columns(u32 row, u32 pair, i64 carry) const {
    const u32* const t = Dividend::at(o, ptx::rematerialize(row));
    const u32 own = thread(), first = pair * P + 16 * own;
    const bool is_product = Dividend::is_product(o);
    u32 limb[16], word[WORD], less[WORD] = {};
    const auto add = [&](u32 i) {
      if (i % WORD == 0) {
        load_word(t + first + i, word);
        if (is_product) load_word(t + LIMBS + first + i, less);
      }
      return i64(word[i % WORD]) - i64(less[i % WORD]) + (i == 0 && own == 0 ? carry : i64(0));
    };
    i64 above;
    if (pair == 0) {
      const u32 low =
          own == 0 ? t[0] - (*Workspace::quotient(o, row) * *modulus(row) << (late_bits(row) + 1))
                   : 0;
      above = R::template run<true>(columns(), own, words(), limb, low, add);
      // The multiple of R + 1 belongs to the top.
      if (PARTS > 1) above -= static_cast<i32>(words()[R::MULTIPLE]);
    } else {
      above = R::template run<false>(columns(), own, words(), limb, 0, add) +
              static_cast<i32>(words()[R::MULTIPLE]);
    }
    const u32 shift = limbs_shifted(row);
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < 16; ++i) {
      const u32 l = first + i + shift;
      if (l <= LIMBS) rest()[fft_division::limb_at(l)] = limb[i];
    }
    return above;
  }
};

// Phases of a product of FACTORS rows, or of the square of one: long factors, b mod v in their
// rows, T, and T mod v. The two reductions are the same code.
template <class S, u32 FACTORS, u32 MAX_SHIFT, class Product, class Quotient, class Remainder>
struct PhasesOfProduct : Sequence<FindLongFactors<S, FACTORS, MAX_SHIFT>, OfLongFactors<Quotient>,
                                  OfLongFactors<Remainder>, Product, Quotient, Remainder> {
  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    const u32 phase = static_cast<u32>(o.phase);
    constexpr u32 PRODUCT_PHASE = Dividend<S, FACTORS>::PRODUCT_PHASE;
    if (phase == 0)
      FindLongFactors<S, FACTORS, MAX_SHIFT>::run(o, shared);
    else if (phase == PRODUCT_PHASE)
      Product::run(o, shared);
    else if (phase < PRODUCT_PHASE && *Workspace<S>::long_factors(o) == 0)
      return;
    else if (phase % 3 == 1)
      Quotient::run(o, shared);
    else
      Remainder::run(o, shared);
  }
};

template <class S, u32 FACTORS, class Dividend = fft_modular::Dividend<S, FACTORS>>
struct ProductPhases
    : PhasesOfProduct<S, FACTORS, MAX_LATE,
                      FftProduct<S, Extent::Wide, FACTORS, FactorRows<S, FACTORS>>,
                      FftProduct<S, Extent::Wide, 2, QuotientRows<S, Dividend, MAX_LATE>>,
                      Remainder<S, Dividend>> {};

}  // namespace gpuint::fft_modular
