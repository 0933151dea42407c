// Barrett's reduction by transforms, with the spectra of the modulus and of its reciprocal kept.
//
// Let R = 2^m, m = BITS = 16 n, V = v 2^s in [R / 2, R), nu = V / R, t = 2^16. X = 2^(m + 16) / nu
// - e with 0 < e < 2 is the reciprocal of the record, cut. For T < R^2:
//     Z = X floor(T / 2^(m - 16)) / 2^(m + 32), without the columns below n,
//     Q = max(0, floor(Z - (n + 1) / 2^18)),   r = T - Q V
// THEOREM. 0 <= r < (1 + (n + 1) / 2^17 + 2^-14) V, which is less than 9/8 V + 2^-11 V.
// Proof. X floor(T / 2^(m - 16)) / 2^(m + 32) is T / V less e T / 2^(2m + 16), below 2^-15, less
// the fraction of T, which costs at most X / 2^(m + 32) <= 2^-15. Column j of a product of balanced
// digits is at most 2^30 (j + 1). So the columns below n add up to less than n 2^14 (1 + 2^-15) t^n
// <= (n + 1) 2^14 t^n, of either sign: (n + 1) / 2^18 in units of Q, whose digits begin at t^(n+2).
// So Q <= T / V, and the floor takes less than 1. Where Q is 0 because it would be less, T / V is
// less than the other terms. QED.
//
// Residues are numbers below R, not V: a product of two is below R^2. r is one, unless r >= R > V,
// and then r - V is. The last remainder is reduced below V (div/fft/reduce.cuh).
//
// Arithmetic is modulo V, a multiple of v. u 2^s mod V is 2^s (u mod v), so the last T is shifted
// by s, and the result is shifted back. Q < 2 R.
//
// Transforms. T takes products modulo t^n - i, whose real and imaginary parts are the low and high
// columns (transform/fft/product.cuh); Z takes the high ones. r is T - Q V modulo R + 1 = t^n + 1
// and modulo 2^32, as in div/fft/divide.cuh: t^n + 1 = (t^(n/2) - i) (t^(n/2) + i), so points j of
// half as many have digits j and j + n / 2. The three products take 3 + 2 + 1 transforms of n
// points, and a square one less.
//
// Parts. Both rings are split into parts of P points (transform/fft/product.cuh): CHUNKS of them
// modulo t^n - i, half as many modulo t^(n/2) - i. In part k, t^P is e(theta_k), so the CHUNKS
// pieces of P digits are added with the weights e(c theta_k) in both rings, where t^n is i or -1.
// So a block of P / 16 threads takes both. Points of all parts, and numbers, are in device memory,
// from where a block reads them through the L2 cache.
//
// Digits are balanced, with a coefficient of t^n above them (div/fft/digits.cuh). The product of
// both coefficients, at t^2n = -1 modulo t^n - i, is added.
#pragma once
#include "core/abi.cuh"
#include "core/limbs.cuh"
#include "core/rows.cuh"
#include "div/fft/convolution.cuh"
#include "div/fft/reduce.cuh"
#include "div/fft/resolve.cuh"
#include "div/prepare.cuh"
#include "modular/fft/lengths.cuh"

namespace gpuint::fft_modular {

using fft_division::digit_of;
using fft_division::limb_at;
using fft_division::Shifted;

// Steps of a row: spectra of the reciprocal and of V; T, Q and r.
enum Step : u32 { RECIPROCAL, MODULUS, PRODUCT, QUOTIENT, REMAINDER, READY, DONE };

// Work of a block on a row. MORE_SCRATCH bytes of device memory follow its own.
template <class S, u32 MORE_SCRATCH = 0>
struct Barrett : Lengths<S> {
  using Base = Lengths<S>;
  using Base::CHUNKS, Base::DIGITS, Base::LIMBS, Base::P, Base::THREADS;
  using F = fft_division::Transform<P>;
  using R = fft_division::Resolve<THREADS, 16>;
  using Reduce = fft_division::Reduce<THREADS, 16>;
  static_assert(worst_error<S>() < 0.5, "columns round to the right integers");
  static_assert(DIGITS + 1 <= 1 << 15, "the sum of the columns below n");

  static constexpr u32 ROWS = 1, MIN_BLOCKS = 512 / THREADS, PERSISTENT = 1;

  // Shared memory: words, of which the last is 0; points, columns or a staged operand.
  static constexpr u32 POINTS = 512, SHARED = POINTS + P * sizeof(Complex);
  static_assert(fft_division::limbs_bytes(LIMBS) <= P * sizeof(Complex), "an operand fits");

  // Device memory of a block: spectra of the reciprocal, of V, and of a part of a factor; points of
  // all parts of a product; T, the quotient from limb 1 on, and r, with limbs above.
  static constexpr u32 SLOT = LIMBS + WORD;
  static constexpr u32 SPECTRUM_OF_V = DIGITS * sizeof(Complex);
  static constexpr u32 SPECTRUM_OF_FACTOR = SPECTRUM_OF_V + DIGITS / 2 * sizeof(Complex);
  static constexpr u32 PARTS_AT = SPECTRUM_OF_FACTOR + P * sizeof(Complex);
  static constexpr u32 DIVIDEND = PARTS_AT + DIGITS * sizeof(Complex);
  static constexpr u32 QUOTIENT_AT = DIVIDEND + 2 * LIMBS * sizeof(u32);
  static constexpr u32 RESIDUE = QUOTIENT_AT + SLOT * sizeof(u32);
  static constexpr u32 MORE = RESIDUE + SLOT * sizeof(u32);
  static constexpr u32 SCRATCH = MORE + MORE_SCRATCH;

  // Values that are the same for all threads: registers have no room for them beside 16 points.
  struct State {
    const u32* factor[2];  // factors of the next product
    u32* result;           // place of r
    const u32* current;    // last residue of a power
    u64 row;
    u32 shift;         // s
    u32 factor_shift;  // of the second factor
    u32 is_square, is_last;
    u32 top[2];    // coefficients of t^n of the factors
    u32 lead;      // that of the reciprocal
    u32 lowest;    // limb of V
    u32 multiple;  // of R + 1 that is added to columns
    u32 times;     // that V is subtracted from the last remainder
    u32 step, bits;
    u32 is_set;  // the spectra are there for the next row
    u32 made, largest, window, position, squarings, digit;  // of a power
    u32 word;
  };
  static constexpr u32 STATE = 24;  // a word
  static_assert(4 * STATE + sizeof(State) < POINTS && Reduce::FOUND < STATE && STATE % 2 == 0, "");

  const Operands& o;
  unsigned char* const shared;

  GPUINT_DEVICE Barrett(const Operands& operands, unsigned char* bytes)
      : o(operands), shared(bytes) {
    if (threadIdx.x == 0) *F::Exchange::zero(shared + POINTS) = 0;
    sync();
  }

  GPUINT_DEVICE static void sync(GPUINT_SITE) { F::sync(GPUINT_PASS_SITE); }
  GPUINT_DEVICE u32 thread() const { return F{shared + POINTS}.thread(); }
  GPUINT_DEVICE u32* words() const { return reinterpret_cast<u32*>(shared); }
  GPUINT_DEVICE volatile State& state() const {
    return *reinterpret_cast<volatile State*>(words() + STATE);
  }
  GPUINT_DEVICE Prepared<S> prepared() const { return Prepared<S>(o, state().row); }

  // A place in this block's device memory.
  GPUINT_DEVICE unsigned char* scratch(u32 at) const {
    return o.scratch + u64(F{shared + POINTS}.anew(blockIdx.x)) * SCRATCH + at;
  }
  GPUINT_DEVICE u32* number(u32 at) const { return reinterpret_cast<u32*>(scratch(at)); }

  // Rows dealt to blocks. begin() sets the operands of a row and returns false if nothing remains
  // to be done for it, next() sets those of the next product and its first step, and end() writes
  // the row. The first INPUTS operands are prefetched.
  template <u32 INPUTS, class Begin, class Next, class End>
  GPUINT_DEVICE void each_row(Begin begin, Next next, End end) const {
    if (threadIdx.x == 0) state().row = blockIdx.x, state().is_set = 0;
    while (true) {
      sync();
      if (state().row >= o.rows) break;
      if (threadIdx.x == 0) {
        volatile State& s = state();
        s.shift = S::BITS - prepared().bits();
        s.factor_shift = s.is_square = s.is_last = s.made = 0;
        s.result = number(RESIDUE);
        s.step = s.is_set != 0 ? READY : RECIPROCAL;
      }
      sync();
      prefetch<INPUTS>(state().row + gridDim.x);
      if (begin()) {
        sync();
        // One divisor for all rows is transformed once.
        if (threadIdx.x == 0) state().is_set = o.params.broadcast_divisor;
        GPUINT_UNROLL(1)
        while (true) {
          if (state().step == READY) next();
          if (state().step == DONE) break;
          const bool is_half = state().step == MODULUS || state().step == REMAINDER;
          if (is_half)
            pass<CHUNKS / 2>();
          else
            pass<CHUNKS>();
          sync();
          if (threadIdx.x == 0) state().step = is_half ? u32{READY} : state().step + 1;
          sync();
        }
        end();
      }
      sync();
      if (threadIdx.x == 0) state().row = state().row + gridDim.x;
    }
  }

  // Sets T to x << shift, by all threads. x has LIMBS limbs.
  GPUINT_DEVICE void set_dividend(const u32* x) const {
    const Shifted from(x, LIMBS, state().shift);
    u32* const to = number(DIVIDEND);
    fft_division::copy<16 * CHUNKS, THREADS>(
        thread(), [&](u32 l) { return from[l]; }, [&](u32 l, u32 limb) { to[l] = limb; });
  }

  // Bit length of a row, in all threads.
  GPUINT_DEVICE u32 bits(const u32* row) const {
    sync();
    if (threadIdx.x == 0) state().bits = 0;
    sync();
    u32 most = 0;
    for (u32 k = WORD * thread(); k < LIMBS; k += WORD * THREADS) {
      u32 word[WORD];
      read_word<S>(row, k, word);
      most = max_of(most, bits_of_word(word, k));
    }
    if (most != 0) atomicMax(const_cast<u32*>(&state().bits), most);
    sync();
    return state().bits;
  }

  // Writes the last remainder, shifted back.
  GPUINT_DEVICE void write_remainder(u32* row) const {
    if (row == nullptr) return;
    const u32* const r = number(RESIDUE);
    const u32 limbs = state().shift / 32, bits = state().shift % 32;
    for (u32 l = WORD * thread(); l < LIMBS; l += WORD * THREADS) {
      u32 word[WORD];
      GPUINT_UNROLL(4)
      for (u32 i = 0; i < WORD; ++i) {
        const u32 at = l + i + limbs;
        word[i] = __funnelshift_r(at < LIMBS ? r[at] : 0, at + 1 < LIMBS ? r[at + 1] : 0, bits);
      }
      store_word(row + l, word);
    }
  }

  // Writes the quotient of the last dividend.
  GPUINT_DEVICE void write_quotient(u32* row) const {
    if (row == nullptr) return;
    const u32* const q = number(QUOTIENT_AT);
    fft_division::copy<8 * CHUNKS, THREADS>(
        thread(), [&](u32 l) { return q[l + 1]; }, [&](u32 l, u32 limb) { row[l] = limb; });
    sync();
    if (state().times != 0)
      fft_division::add_at<THREADS>(row, 0, LIMBS, state().times, const_cast<u32*>(&state().word),
                                    thread(), [](u32 l) { return l; });
  }

 private:
  GPUINT_DEVICE u32* staged() const { return reinterpret_cast<u32*>(shared + POINTS); }
  GPUINT_DEVICE i64* columns() const { return reinterpret_cast<i64*>(shared + POINTS); }
  // This thread's points of part k.
  GPUINT_DEVICE Complex* points(u32 at, u32 k = 0) const {
    return reinterpret_cast<Complex*>(scratch(at)) + k * P + thread();
  }
  GPUINT_DEVICE Shifted modulus() const { return Shifted(prepared().v(), LIMBS, state().shift); }

  template <u32 INPUTS>
  GPUINT_DEVICE void prefetch(u64 row) const {
    if (row >= o.rows) return;
    const Prepared<S> divisor(o, row);
    for (u32 l = 32 * thread(); l < LIMBS; l += 32 * THREADS) {
      GPUINT_UNROLL(2)
      for (u32 i = 0; i != INPUTS; ++i) ptx::prefetch(input_row<S>(o, i, row) + l);
      if (o.params.broadcast_divisor != 0) continue;
      ptx::prefetch(divisor.v() + l);
      ptx::prefetch(divisor.y_end() - LIMBS + l);
    }
  }

  // The operand's lowest digit in what `stage` has staged.
  GPUINT_DEVICE u32 lowest_digit() const {
    const u32 step = state().step;
    return step == QUOTIENT ? 2 * WORD - 1 : step == REMAINDER ? 2 : 0;
  }

  // Stages the operand of a step, with limbs above it: of a quotient floor(T / 2^(m - 16)), with
  // limbs below it, of a remainder Q.
  GPUINT_DEVICE void stage(u32 factor) const {
    const u32 step = state().step;
    const u32* x;
    u32 count = LIMBS, distance = 0, offset = 0;
    if (step == RECIPROCAL) {
      // 15 bits of the lowest limb are below X.
      x = prepared().y_end() - (LIMBS + 1);
      count = LIMBS + 1, distance = 17, offset = 1;
    } else if (step == MODULUS) {
      x = prepared().v();
      distance = state().shift;
    } else if (step == PRODUCT) {
      x = state().factor[factor];
      if (factor == 1) distance = state().factor_shift;
    } else if (step == QUOTIENT) {
      x = number(DIVIDEND);
      count = 2 * LIMBS, offset = LIMBS - WORD;
    } else {
      x = number(QUOTIENT_AT);
      count = LIMBS + 2;
    }
    const Shifted from(x, count, distance);
    const u32 own = thread();
    sync();  // nobody reads any more what was there
    if (distance == 0) {
      GPUINT_UNROLL(1)
      for (u32 first = WORD * own; first < LIMBS; first += 4 * WORD * THREADS) {
        u32 word[4][WORD];
        GPUINT_UNROLL(4)
        for (u32 j = 0; j < 4; ++j) load_word(x + offset + first + j * WORD * THREADS, word[j]);
        GPUINT_UNROLL(4)
        for (u32 j = 0; j < 4; ++j)
          store_word(staged() + limb_at(first + j * WORD * THREADS), word[j]);
      }
    } else {
      fft_division::copy<8 * CHUNKS, THREADS>(
          own, [&](u32 l) { return from[l + offset]; },
          [&](u32 l, u32 limb) { staged()[limb_at(l)] = limb; });
    }
    if (own <= WORD) staged()[limb_at(LIMBS + own)] = from[LIMBS + own + offset];
    sync();
  }

  // Reads the points of part k from what is staged.
  template <u32 PARTS>
  GPUINT_DEVICE void read(Complex (&x)[fft::RADIX], u32 k, u32 lowest, u32 top) const {
    const u32 own = thread();
    fft_division::read_digits<P>(staged(), lowest, true, own,
                                 [&](u32 i, double value) { x[i] = {value, 0}; });
    if constexpr (PARTS == 1) {
      fft_division::read_digits<P>(staged(), lowest + P, false, own,
                                   [&](u32 i, double value) { x[i].im = value; });
    } else {
      GPUINT_UNROLL(1)
      for (u32 c = 1; c < CHUNKS; ++c) {
        const Complex turn = fft::CONSTANTS<PARTS>.part[k].turns[c];
        fft_division::read_digits<P>(
            staged(), lowest + c * P, false, own, [&](u32 i, double value) {
              x[i] = {fma(value, turn.re, x[i].re), fma(value, turn.im, x[i].im)};
            });
      }
    }
    if (threadIdx.x != 0) return;
    if constexpr (PARTS == CHUNKS)
      x[0].im += top;
    else
      x[0].re -= top;
  }

  GPUINT_DEVICE bool has_two_factors() const {
    return state().step == PRODUCT && state().is_square == 0;
  }

  // A step, part by part. The spectrum of a product's first factor precedes that of the second.
  template <u32 PARTS>
  GPUINT_DEVICE void pass() const {
    GPUINT_UNROLL(1)
    for (u32 turn = has_two_factors() ? 0 : 1; turn < 2 * PARTS;
         turn += has_two_factors() ? 1 : 2) {
      const u32 k = turn / 2, factor = turn % 2;
      stage(factor);
      const u32 lowest = lowest_digit(), above = lowest + DIGITS;
      const u32 top = fft_division::with_carry(
          digit_of(staged(), above) + (digit_of(staged(), above + 1) << 16),
          digit_of(staged(), above - 1));
      if (threadIdx.x == 0) {
        state().top[factor] = top;
        if (state().step == RECIPROCAL) state().lead = top;
        if (state().step == MODULUS) state().lowest = staged()[0];
      }
      Complex x[fft::RADIX];
      read<PARTS>(x, k, lowest, top);
      const auto first = [](Complex(&y)[fft::RADIX], const fft::FirstPass& by) {
        fft::split<0, 0, 1>(y, by);
      };
      const fft::Last last = fft::transform<P, PARTS>(x, k, shared + POINTS, first, [] {});
      if (factor == 0 || state().step == RECIPROCAL || state().step == MODULUS) {
        F::store(factor == 0 ? points(SPECTRUM_OF_FACTOR) : stored_spectrum(k), x);
        continue;
      }
      const bool is_square = state().step == PRODUCT && state().is_square != 0;
      const Complex* const other =
          state().step == PRODUCT ? points(SPECTRUM_OF_FACTOR) : stored_spectrum(k);
      fft::multiply<0>(x, last,
                       [&](u32 i) { return is_square ? x[i] : F::load(other + i * THREADS); });
      fft::inverse<P, PARTS>(x, shared + POINTS);
      fft::weigh<P, PARTS>(k, thread(), x);
      if constexpr (PARTS > 1) F::store(points(PARTS_AT, k), x);
      if (k + 1 == PARTS) finish<PARTS>(x);
    }
  }
  // That of the reciprocal, or of V.
  GPUINT_DEVICE Complex* stored_spectrum(u32 k) const {
    return points(state().step == RECIPROCAL || state().step == QUOTIENT ? 0 : SPECTRUM_OF_V, k);
  }

  // Columns of piece c, given the points of all parts.
  template <u32 PARTS>
  GPUINT_DEVICE static i64 column(u32 c, const Complex (&y)[PARTS]) {
    constexpr double ROUNDER = 6755399441055744.0;  // 1.5 * 2^52: at its size doubles are integers
    double sum = 0;
    if constexpr (PARTS == 1) {
      sum = c == 0 ? y[0].re : y[0].im;
    } else {
      GPUINT_UNROLL(4)
      for (u32 k = 0; k < PARTS; ++k) {
        const Complex turn = fft::CONSTANTS<PARTS>.part[k].turns[c];
        sum = fma(turn.im, y[k].im, fma(turn.re, y[k].re, sum));
      }
    }
    const double r = fma(sum, 1.0 / PARTS, ROUNDER);
    GPUINT_ASSERT(fabs(fma(sum, 1.0 / PARTS, ROUNDER - r)) <= worst_error<S>(),
                  "columns are near integers");
    return __double_as_longlong(r) - 0x4338000000000000;
  }

  // Makes a number of the columns of a product, two pieces at a time.
  template <u32 PARTS>
  GPUINT_DEVICE void finish(const Complex (&x)[fft::RADIX]) const {
    constexpr bool IS_REMAINDER = PARTS < CHUNKS;
    const u32 begin = state().step == QUOTIENT ? CHUNKS : 0;
    constexpr u32 END = IS_REMAINDER ? CHUNKS : 2 * CHUNKS;
    i64 high = 0;
    GPUINT_UNROLL(1)
    for (u32 c = begin; c < END; c += 2) {
      sync();  // nobody reads any more what was there
      const u32 own = thread();
      const auto put = [&](u32 i, const Complex(&y)[PARTS]) {
        const i64 low = column<PARTS>(c, y), upper = column<PARTS>(c + 1, y);
        columns()[R::place(own + i * THREADS)] = IS_REMAINDER ? -low : low;
        columns()[R::place(P + own + i * THREADS)] = IS_REMAINDER ? -upper : upper;
      };
      if constexpr (PARTS == 1) {
        GPUINT_UNROLL(16)
        for (u32 i = 0; i < fft::RADIX; ++i) put(i, {x[i]});
      } else {
        GPUINT_UNROLL(2)
        for (u32 i = 0; i < fft::RADIX; ++i) {
          Complex y[PARTS];
          GPUINT_UNROLL(4)
          for (u32 k = 0; k < PARTS; ++k) y[k] = F::load(points(PARTS_AT, k) + i * THREADS);
          put(i, y);
        }
      }
      sync();
      const u32 from = (c - begin) / 2 * P;
      if constexpr (IS_REMAINDER)
        high = resolve_remainder(from, high);
      else
        high = resolve_product(from, high);
    }
    if constexpr (IS_REMAINDER)
      finish_remainder(static_cast<u32>(high + static_cast<i32>(state().multiple)));
    else if (state().step == QUOTIENT)
      finish_quotient(high);
  }

  // P limbs of T or of the quotient; returns the part above.
  GPUINT_DEVICE i64 resolve_product(u32 from, i64 carry) const {
    const u32 own = thread(), step = state().step;
    if (from == 0) carry = step == QUOTIENT ? -(i64(DIGITS + 1) << 14) : i64(u64(tops()));
    u32 limb[16];
    const i64 high = R::template run<false>(columns(), own, words(), limb, 0, [&](u32 i) {
      return i == 0 && own == 0 ? carry : i64(0);
    });
    store(number(step == QUOTIENT ? QUOTIENT_AT : DIVIDEND) + from + 16 * own, limb);
    return high;
  }
  // Column 2n of a product of two factors, which is in column 0 with the other sign.
  GPUINT_DEVICE u32 tops() const {
    return state().top[1] * (state().is_square != 0 ? state().top[1] : state().top[0]);
  }

  // The column beyond the transform is that of both tops.
  GPUINT_DEVICE void finish_quotient(i64 high) const {
    high += i64(state().top[1]) * state().lead;
    const u32 own = thread();
    u32* const q = number(QUOTIENT_AT);
    if (high < 0) {
      if (own == 0) GPUINT_RARE(FftNoQuotient);
      const u32 zero[16] = {};
      for (u32 from = 0; from < LIMBS; from += P) store(q + from + 16 * own, zero);
      high = 0;
    }
    if (own == 0) q[LIMBS] = static_cast<u32>(high), q[LIMBS + 1] = static_cast<u32>(high >> 32);
  }

  // P limbs of T - Q V modulo R + 1: the upper half of T is subtracted.
  GPUINT_DEVICE i64 resolve_remainder(u32 from, i64 carry) const {
    const u32 own = thread();
    const u32* const t = number(DIVIDEND) + from + 16 * own;
    if (from == 0 && own == 0) {
      // The multiple of R + 1 that gives the lowest limb.
      const i64 sum = columns()[R::place(0)] + columns()[R::place(1)] * 65536;
      const u32 low = t[0] - number(QUOTIENT_AT)[1] * state().lowest;
      const i32 k = static_cast<i32>(low - (static_cast<u32>(sum) + t[0] - t[LIMBS]));
      state().multiple = static_cast<u32>(k);
      carry = k;
    }
    u32 limb[16], word[WORD], less[WORD];
    const i64 high = R::template run<false>(columns(), own, words(), limb, 0, [&](u32 i) {
      if (i % WORD == 0) {
        load_word(t + i, word);
        load_word(t + LIMBS + i, less);
      }
      return i64(word[i % WORD]) - i64(less[i % WORD]) + (i == 0 && own == 0 ? carry : i64(0));
    });
    store(state().result + from + 16 * own, limb);
    return high;
  }

  GPUINT_DEVICE void finish_remainder(u32 above) const {
    GPUINT_ASSERT(above <= 1, "the remainder is below 9/8 V");
    u32* const r = state().result;
    if (thread() == 0) r[LIMBS] = above;
    if (above == 0 && state().is_last == 0) return;
    if (above != 0 && thread() == 0) GPUINT_RARE(FftLongResidue);
    const Shifted v = modulus();
    const u32 times = Reduce::run(
        thread(), words(), LIMBS, [&](u32 l) -> u32& { return r[l]; }, [&](u32 l) { return v[l]; });
    GPUINT_ASSERT(times <= 1, "the remainder is below 2 V");
    if (thread() == 0) {
      state().times = times;
      if (times != 0) GPUINT_RARE(FftLastSubtraction);
    }
    sync();
  }

  GPUINT_DEVICE static void store(u32* to, const u32 (&limb)[16]) {
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < 16; i += WORD) store_word(to + i, limb + i);
  }
};

}  // namespace gpuint::fft_modular
