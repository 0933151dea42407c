// Barrett's reduction by transforms, with the spectra of the modulus and of its reciprocal kept.
//
// Let R = 2^m, m = BITS = 16 n, V = v 2^s in [R / 2, R), nu = V / R, t = 2^16. X = 2^(m + 16) / nu
// - e with 0 < e < 2 is the reciprocal of the record, cut. For T < 1.3 R^2, rounded to T' t^(n -
// 1):
//     Z = X T' / 2^(m + 32), without the columns below n,
//     Q = max(0, floor(Z - (n + 8) / 2^18)),   r = T - Q V
// THEOREM. 0 <= r < (1 + (n + 9) / 2^17 + 2^-14) V, which is below 1.13 V.
// Proof. X T / 2^(2m + 16) is T / V less e T / 2^(2m + 16), which is below 2^-15. |T / t^(n - 1) -
// T'| < 1/2 + 2^-16 costs at most 2^-15 / 2 + 2^-31 either way, as X <= 2^(m + 17). Column j of a
// product of balanced digits is at most 2^30 (j + 1). So the columns below n add up to less than n
// 2^14 (1 + 2^-15) t^n <= (n + 1) 2^14 t^n, of either sign: (n + 1) / 2^18 in units of Q, whose
// digits begin at t^(n+2). So Q <= T / V, and the floor takes less than 1. Where Q is 0 because it
// would be less, T / V is less than the other terms. QED.
//
// A residue is any such r, or a number below R: the product of two is below 1.13^2 R^2. Nothing is
// compared between products. The last remainder is reduced below V (div/fft/reduce.cuh).
//
// Arithmetic is modulo V, a multiple of v. u 2^s mod V is 2^s (u mod v), so the last T is shifted
// by s, and the result is shifted back. Q < 3 R.
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
// So a block of P / 16 threads takes both. Each thread keeps its points of the last part in
// registers, those of the others in shared memory as far as there is room, and in device memory.
// Columns take the same places.
//
// Digits. x + h (1 + t + .. + t^(n-1)), h = 2^15, has the digits d + h for the balanced digits d of
// x, -h <= d < h, and above them the coefficient of t^n, the top. Numbers are kept in this form:
// the limbs of h (1 + t) are added where carries are resolved anyway. In T, with 2 n digits and a
// top c, they add a multiple of 1 + R, so T mod R + 1 is that of its halves: low - high + c. The
// operand of the next transform is left in shared memory. The product of both tops, at t^2n = -1
// modulo t^n
// - i, is added.
#pragma once
#include "core/abi.cuh"
#include "core/limbs.cuh"
#include "core/rows.cuh"
#include "div/fft/convolution.cuh"
#include "div/fft/reduce.cuh"
#include "div/fft/resolve.cuh"
#include "core/record.cuh"
#include "transform/fft/columns.cuh"
#include "transform/fft/lengths.cuh"
#include "tuning/transform.cuh"

namespace gpuint::fft_modular {

using fft_division::limb_at;
using fft_division::Shifted;

// Steps of a row, in this order: spectra of the reciprocal, of V and of a factor; T, Q and r. A row
// begins with RECIPROCAL, or with READY if the spectra of its divisor are there. READY follows
// MODULUS and REMAINDER: the operation then sets FACTOR, PRODUCT (of a square) or QUOTIENT (of a
// dividend that it has written) for the next remainder, or DONE.
enum Step : u32 { RECIPROCAL, MODULUS, FACTOR, PRODUCT, QUOTIENT, REMAINDER, READY, DONE };

constexpr u32 HALF_DIGITS = 0x80008000;  // h (1 + t)

// Work of a block on a row. MORE_SCRATCH bytes of device memory follow its own. KEEPS_QUOTIENT if
// the last quotient is wanted.
template <class S, u32 MORE_SCRATCH = 0, bool KEEPS_QUOTIENT = false>
struct Barrett : Lengths<S> {
  using Base = Lengths<S>;
  using Base::CHUNKS, Base::DIGITS, Base::LIMBS, Base::P, Base::THREADS;
  using F = fft_division::Transform<P>;
  using R = fft_division::Resolve<THREADS, 16>;
  using Reduce = fft_division::Reduce<THREADS, 16>;
  static_assert(worst_error<S>() < 0.5, "columns round to the right integers");
  static_assert(DIGITS + 1 <= 1 << 15, "the sum of the columns below n");

  static constexpr u32 ROWS = 1, MIN_BLOCKS = 512 / THREADS, PERSISTENT = 1;

  // Shared memory: words, of which the last is 0; points or columns; the operand of a transform,
  // with a limb below or above; SHARED_POINTS points of a thread.
  static constexpr u32 POINTS = 512, OPERAND = POINTS + P * sizeof(Complex);
  static constexpr u32 ASIDE = OPERAND + fft_division::limbs_bytes(LIMBS);
  using Policy = FftModularPolicy<P, CHUNKS>;
  static constexpr u32 SHARED_POINTS = Policy::SHARED_POINTS;
  static constexpr u32 SHARED = ASIDE + SHARED_POINTS * THREADS * sizeof(Complex);
  static_assert(SHARED_POINTS == 0 || CHUNKS == 2, "of one part");

  // Device memory of a block: spectra of the reciprocal, of V, and of a factor; points of all parts
  // of a product; T; the quotient from limb 1 on, and r, with a limb above.
  static constexpr u32 SLOT = LIMBS + WORD;
  static constexpr u32 SPECTRUM_OF_V = DIGITS * sizeof(Complex);
  static constexpr u32 SPECTRUM_OF_FACTOR = SPECTRUM_OF_V + DIGITS / 2 * sizeof(Complex);
  static constexpr u32 PARTS_AT = SPECTRUM_OF_FACTOR + DIGITS * sizeof(Complex);
  static constexpr u32 DIVIDEND = PARTS_AT + DIGITS * sizeof(Complex);
  static constexpr u32 QUOTIENT_AT = DIVIDEND + 2 * LIMBS * sizeof(u32);
  static constexpr u32 RESIDUE = QUOTIENT_AT + SLOT * sizeof(u32);
  static constexpr u32 MORE = RESIDUE + SLOT * sizeof(u32);
  static constexpr u32 SCRATCH = MORE + MORE_SCRATCH;

  // Block-uniform state, in shared memory because 16 points fill the registers. One
  // thread writes a field between two barriers, but for the maxima `bit_length` and
  // `largest_digit`. Tops are coefficients of t^n (digits, above).
  struct State {
    // Of the row.
    const u32* factor[2];      // of the next product: transformed, and multiplied by its spectrum
    const u32* staged_number;  // number in the operand's place, or null
    u32* remainder_place;      // of r, SLOT limbs
    const u32* current_power;  // the power as far as the digits were read; null before the first
    u64 row;
    u32 shift;      // s
    u32 is_row[2];  // the factor is a row, not in the form of digits
    u32 is_square;  // the next product is the square of factor[1]
    u32 is_last;    // the next remainder is the result, reduced below V
    // Of a product.
    i32 operand_top;
    i32 factor_top;  // of factor[0]
    i32 reciprocal_top;
    i32 product_of_tops;    // of both factors
    u32 dividend_top;       // of T
    u32 modulus_limb;       // lowest limb of V
    i32 ring_multiple;      // of R + 1, added to the columns of r
    u32 last_subtractions;  // of V from the last remainder
    // Of the walk over steps.
    u32 step;         // a Step
    u32 bit_length;   // result of bits()
    u32 has_spectra;  // spectra of the divisor are those of the next row
    // Of a power by windows (kernels.cuh).
    u32 highest_power;   // of the table
    u32 largest_digit;   // of the exponent: the table ends with this power
    u32 window;          // maximum bits of a window
    u32 window_end;      // of the exponent below the windows whose squarings have begun
    u32 squarings_left;  // of the last of them
    u32 next_digit;      // to multiply by after them; 0 for none
  };
  static constexpr u32 STATE = 24;  // a word
  static_assert(4 * STATE + sizeof(State) < POINTS && Reduce::FOUND < STATE && STATE % 2 == 0,
                "the state lies between the words of Reduce and the points");

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
    return o.scratch + u64(F{shared + POINTS}.rematerialize(blockIdx.x)) * SCRATCH + at;
  }
  GPUINT_DEVICE u32* number(u32 at) const { return reinterpret_cast<u32*>(scratch(at)); }

  // Rows assigned to blocks. begin() sets the operands of a row and returns false if nothing
  // remains to be done for it, next() sets those of the next product and its first step, and end()
  // writes the row. The first INPUTS operands are prefetched.
  template <u32 INPUTS, class Begin, class Next, class End>
  GPUINT_DEVICE void each_row(Begin begin, Next next, End end) const {
    if (threadIdx.x == 0) state().row = blockIdx.x, state().has_spectra = 0;
    while (true) {
      sync();
      if (state().row >= o.rows) break;
      if (threadIdx.x == 0) begin_row();
      sync();
      prefetch<INPUTS>(state().row + gridDim.x);
      if (begin()) {
        sync();
        // One divisor for all rows is transformed once.
        if (threadIdx.x == 0) state().has_spectra = o.params.broadcast_divisor;
        run_steps(next);
        end();
      }
      sync();
      if (threadIdx.x == 0) state().row = state().row + gridDim.x;
    }
  }

  // Sets T to x << shift, by all threads. x is a row.
  GPUINT_DEVICE void set_dividend(const u32* x) const { set_dividend(x, LIMBS); }

  // The same of a residue, which it takes out of the form of digits.
  GPUINT_DEVICE void set_dividend_of_residue(u32* x) const {
    const u32 carry = add_to_limbs(
        LIMBS, ~HALF_DIGITS, 1, [&](u32 l) { return x[l]; },
        [&](u32 first, const u32(&limb)[16], u32) { store(x + first, limb); });
    if (threadIdx.x == 0) x[LIMBS] += carry - 1;
    sync();
    set_dividend(x, LIMBS + 1);
  }

  // Bit length of a row, in all threads.
  GPUINT_DEVICE u32 bits(const u32* row) const {
    sync();
    if (threadIdx.x == 0) state().bit_length = 0;
    sync();
    u32 most = 0;
    for (u32 k = WORD * thread(); k < LIMBS; k += WORD * THREADS) {
      u32 word[WORD];
      read_word<S>(row, k, word);
      most = max_of(most, bits_of_word(word, k));
    }
    if (most != 0) atomicMax(const_cast<u32*>(&state().bit_length), most);
    sync();
    return state().bit_length;
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

  // Writes the quotient of the last dividend, and adds what the last remainder was reduced by.
  GPUINT_DEVICE void write_quotient(u32* row) const {
    if (row == nullptr) return;
    const u32* const q = number(QUOTIENT_AT);
    add_to_limbs(
        LIMBS, ~HALF_DIGITS, 1 + state().last_subtractions, [&](u32 l) { return q[l + 1]; },
        [&](u32 first, const u32(&limb)[16], u32) { store(row + first, limb); });
  }

 private:
  // The state at the first step of a row.
  GPUINT_DEVICE void begin_row() const {
    volatile State& s = state();
    s.shift = S::BITS - prepared().bits();
    s.is_square = s.is_last = s.highest_power = 0;
    s.is_row[0] = s.is_row[1] = 1;
    s.staged_number = nullptr;
    s.remainder_place = number(RESIDUE);
    s.step = s.has_spectra != 0 ? READY : RECIPROCAL;
  }

  // The steps of a row.
  template <class Next>
  GPUINT_DEVICE void run_steps(Next next) const {
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
  }

  GPUINT_DEVICE void set_dividend(const u32* x, u32 count) const {
    const Shifted from(x, count, state().shift);
    add_to_limbs(
        2 * LIMBS, HALF_DIGITS, 0, [&](u32 l) { return from[l]; },
        [&](u32 first, const u32(&limb)[16], u32 above) { store_dividend(first, limb, above); });
  }

  GPUINT_DEVICE u32* operand() const { return reinterpret_cast<u32*>(shared + OPERAND); }
  GPUINT_DEVICE i64* columns() const { return reinterpret_cast<i64*>(shared + POINTS); }
  // This thread's points of part k.
  GPUINT_DEVICE Complex* points(u32 at, u32 k = 0) const {
    return reinterpret_cast<Complex*>(scratch(at)) + k * P + thread();
  }

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

  // Adds `addend` to each limb of a number and `carry` to the first one; returns the carry. Limb l
  // is read(l), and write(first, limb, carry) takes 16 limbs. They are read by neighbouring
  // threads, P at a time, and summed by threads with 16 consecutive ones each.
  template <class Read, class Write>
  GPUINT_DEVICE u32 add_to_limbs(u32 limbs, u32 addend, u32 carry, Read read, Write write) const {
    u32* const buffer = reinterpret_cast<u32*>(shared + POINTS);
    GPUINT_UNROLL(1)
    for (u32 from = 0; from < limbs; from += P) {
      const u32 own = thread();
      sync();  // nobody reads any more what was there
      fft_division::copy<16, THREADS>(
          own, [&](u32 l) { return read(from + l); },
          [&](u32 l, u32 limb) { buffer[limb_at(l)] = limb; });
      sync();
      u32 limb[16], handed = own == 0 ? carry : 0;
      GPUINT_UNROLL(4)
      for (u32 i = 0; i < 16; i += WORD) load_word(buffer + limb_at(16 * own + i), limb + i);
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < 16; ++i) limb[i] = add_carry<u32>(limb[i], addend, handed);
      carry = static_cast<u32>(R::resolve_carries(own, words(), limb, handed));
      write(from + 16 * own, limb, carry);
    }
    return carry;
  }

  // Puts the operand of the step in its place, unless it is there.
  GPUINT_DEVICE void stage() const {
    const u32 step = state().step;
    if (step >= QUOTIENT) return;
    const u32* x = nullptr;
    u32 count = LIMBS, distance = 0, offset = 0;
    bool is_row = true;
    if (step == RECIPROCAL) {
      // 15 bits of the lowest limb are below X.
      x = prepared().y_end() - (LIMBS + 1);
      count = LIMBS + 1, distance = 17, offset = 1;
    } else if (step == MODULUS) {
      x = prepared().v();
      distance = state().shift;
    } else {
      const u32 factor = step == PRODUCT ? 1 : 0;
      x = state().factor[factor];
      is_row = state().is_row[factor] != 0;
      if (state().staged_number == x) return;
    }
    if (is_row) {
      const Shifted from(x, count, distance);
      const u32 carry = add_to_limbs(
          LIMBS, HALF_DIGITS, 0, [&](u32 l) { return from[l + offset]; },
          [&](u32 first, const u32(&limb)[16], u32) { store_operand(first, limb); });
      if (threadIdx.x == 0) state().operand_top = static_cast<i32>(from[LIMBS + offset] + carry);
    } else {
      stage_digits(x);
    }
    if (threadIdx.x == 0) {
      if (step == RECIPROCAL) state().reciprocal_top = state().operand_top;
      if (step == MODULUS) state().modulus_limb = operand()[0] - HALF_DIGITS;
      state().staged_number = step >= FACTOR ? x : nullptr;
    }
  }
  // A number in the form of digits, with its top in limb LIMBS.
  GPUINT_DEVICE void stage_digits(const u32* x) const {
    sync();  // nobody reads any more what was there
    GPUINT_UNROLL(1)
    for (u32 l = WORD * thread(); l < LIMBS; l += 4 * WORD * THREADS) {
      u32 word[4][WORD];
      GPUINT_UNROLL(4)
      for (u32 j = 0; j < 4; ++j) load_word(x + l + j * WORD * THREADS, word[j]);
      GPUINT_UNROLL(4)
      for (u32 j = 0; j < 4; ++j) store_word(operand() + limb_at(l + j * WORD * THREADS), word[j]);
    }
    if (threadIdx.x == 0) state().operand_top = static_cast<i32>(x[LIMBS]);
  }

  // The operand's lowest digit in its place.
  GPUINT_DEVICE u32 lowest_digit() const {
    return state().step == QUOTIENT ? 1 : state().step == REMAINDER ? 2 : 0;
  }

  // Reads the points of part k.
  template <u32 PARTS>
  GPUINT_DEVICE void read(Complex (&x)[fft::RADIX], u32 k) const {
    const u16* const digits =
        reinterpret_cast<const u16*>(operand()) + fft_division::digit_at(lowest_digit() + thread());
    const auto digit = [&](u32 c, u32 i) {
      const u32 at = fft_division::digit_at(THREADS * i) + c * fft_division::digit_at(P);
      return __hiloint2double(0x43300000, digits[at]) - 4503599627403264.0;  // 2^52 + 2^15
    };
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < fft::RADIX; ++i) x[i] = {digit(0, i), 0};
    if constexpr (PARTS == 1) {
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < fft::RADIX; ++i) x[i].im = digit(1, i);
    } else {
      GPUINT_UNROLL(1)
      for (u32 c = 1; c < CHUNKS; ++c) {
        const Complex turn = fft::CONSTANTS<PARTS>.part[k].turns[c];
        GPUINT_UNROLL(16)
        for (u32 i = 0; i < fft::RADIX; ++i) {
          const double value = digit(c, i);
          x[i] = {fma(value, turn.re, x[i].re), fma(value, turn.im, x[i].im)};
        }
      }
    }
    if (threadIdx.x != 0) return;
    if constexpr (PARTS == CHUNKS)
      x[0].im += state().operand_top;
    else
      x[0].re -= state().operand_top;
  }

  // A step, part by part.
  template <u32 PARTS>
  GPUINT_DEVICE void pass() const {
    stage();
    sync();
    GPUINT_UNROLL(1)
    for (u32 k = 0; k < PARTS; ++k) {
      Complex x[fft::RADIX];
      read<PARTS>(x, k);
      const auto first = [](Complex(&y)[fft::RADIX], const fft::FirstPass& by) {
        fft::split<0, 0, 1>(y, by);
      };
      const fft::Last last = fft::transform<P, PARTS>(x, k, shared + POINTS, first, [] {});
      if (state().step <= FACTOR) {
        F::store(spectrum(k), x);
        continue;
      }
      const bool is_square = state().step == PRODUCT && state().is_square != 0;
      const Complex* const other = spectrum(k);
      fft::multiply<0>(x, last, [&](u32 i) {
        return is_square ? x[i]
                         : F::load((Policy::KEEPS_ADDRESS ? other : spectrum(k)) + i * THREADS);
      });
      fft::inverse<P, PARTS>(x, shared + POINTS);
      fft::weigh<P, PARTS>(k, thread(), x);
      if (PARTS > 2 || k + 1 < PARTS) {
        GPUINT_UNROLL(16)
        for (u32 i = 0; i < fft::RADIX; ++i) put_aside(k, i, x[i]);
      }
      if (k + 1 == PARTS) finish<PARTS>(x);
    }
    if (threadIdx.x == 0 && state().step == FACTOR) state().factor_top = state().operand_top;
  }
  // The spectrum that a step makes or takes.
  GPUINT_DEVICE Complex* spectrum(u32 k) const {
    const u32 step = state().step;
    return points(step == RECIPROCAL || step == QUOTIENT ? 0
                  : step == FACTOR || step == PRODUCT    ? SPECTRUM_OF_FACTOR
                                                         : SPECTRUM_OF_V,
                  k);
  }

  // 16 bytes for point i of part k, or for two columns.
  GPUINT_DEVICE Complex* shared_place(u32 i) const {
    return reinterpret_cast<Complex*>(shared + ASIDE) + i * THREADS + thread();
  }
  GPUINT_DEVICE void put_aside(u32 k, u32 i, Complex z) const {
    if (static_cast<i32>(i) < static_cast<i32>(SHARED_POINTS))
      *shared_place(i) = z;
    else
      __stcg(reinterpret_cast<double2*>(points(PARTS_AT, k) + i * THREADS), double2{z.re, z.im});
  }
  GPUINT_DEVICE Complex aside(u32 k, u32 i) const {
    return static_cast<i32>(i) < static_cast<i32>(SHARED_POINTS)
               ? *shared_place(i)
               : F::load(points(PARTS_AT, k) + i * THREADS);
  }

  // A column of piece c, of a product that is subtracted negated.
  template <u32 PARTS>
  GPUINT_DEVICE static i64 column(u32 c, const Complex (&y)[PARTS]) {
    const i64 value = column_of<S>(c, y);
    return PARTS < CHUNKS ? -value : value;
  }

  // Makes a number of the columns of a product, two pieces at a time.
  template <u32 PARTS>
  GPUINT_DEVICE void finish(const Complex (&x)[fft::RADIX]) const {
    constexpr bool IS_REMAINDER = PARTS < CHUNKS;
    const u32 first_piece = state().step == QUOTIENT ? CHUNKS : 0;
    const u32 pairs = IS_REMAINDER || state().step == QUOTIENT ? CHUNKS / 2 : CHUNKS;
    sync();  // nobody reads points any more
    write_columns<PARTS>(x, first_piece, pairs);
    sync();
    i64 high = 0;
    GPUINT_UNROLL(1)
    for (u32 pair = 0; pair < pairs; ++pair) {
      if (pair > 0) {
        restore_columns(pair);
        sync();
      }
      if constexpr (IS_REMAINDER)
        high = resolve_remainder(pair * P, high);
      else
        high = resolve_product(pair * P, high);
    }
    if constexpr (IS_REMAINDER)
      finish_remainder(static_cast<u32>(high + state().ring_multiple));
    else if (state().step == QUOTIENT)
      finish_quotient(high);
  }

  // Writes the columns of the first pair of pieces, and puts those of the other pairs aside.
  template <u32 PARTS>
  GPUINT_DEVICE void write_columns(const Complex (&x)[fft::RADIX], u32 first_piece,
                                   u32 pairs) const {
    // Points of a part that a thread loads at once: no load is moved across a store.
    constexpr u32 BATCH = PARTS == 1 ? 1 : PARTS == 2 ? 8 : 2;
    // Registers hold the points of the last part besides half of those of one other.
    GPUINT_UNROLL(PARTS <= 2 ? 16 : 1)
    for (u32 first = 0; first < fft::RADIX; first += BATCH) {
      Complex y[BATCH][PARTS];
      GPUINT_UNROLL(8)
      for (u32 j = 0; j < BATCH; ++j) GPUINT_UNROLL(4)
      for (u32 k = 0; k < PARTS; ++k)
        y[j][k] = PARTS > 2 || k + 1 < PARTS ? aside(k, first + j) : x[first + j];
      const u32 own = thread();
      GPUINT_UNROLL(8)
      for (u32 j = 0; j < BATCH; ++j) {
        const u32 i = first + j;
        columns()[R::place(own + i * THREADS)] = column<PARTS>(first_piece, y[j]);
        columns()[R::place(P + own + i * THREADS)] = column<PARTS>(first_piece + 1, y[j]);
        GPUINT_UNROLL(4)
        for (u32 pair = 1; pair < PARTS; ++pair)
          if (pair < pairs)
            put_aside(pair - 1, i,
                      {__longlong_as_double(column<PARTS>(first_piece + 2 * pair, y[j])),
                       __longlong_as_double(column<PARTS>(first_piece + 2 * pair + 1, y[j]))});
      }
    }
  }

  // Writes the columns of a pair of pieces that were put aside.
  GPUINT_DEVICE void restore_columns(u32 pair) const {
    const u32 own = thread();
    GPUINT_UNROLL(2)
    for (u32 first = 0; first < fft::RADIX; first += 8) {
      Complex both[8];
      GPUINT_UNROLL(8)
      for (u32 i = 0; i < 8; ++i) both[i] = aside(pair - 1, first + i);
      GPUINT_UNROLL(8)
      for (u32 i = 0; i < 8; ++i) {
        const u32 at = own + (first + i) * THREADS;
        columns()[R::place(at)] = __double_as_longlong(both[i].re);
        columns()[R::place(P + at)] = __double_as_longlong(both[i].im);
      }
    }
  }

  // P limbs of T or of the quotient; returns the part above.
  GPUINT_DEVICE i64 resolve_product(u32 from, i64 carry) const {
    const u32 own = thread(), first = from + 16 * own;
    const bool is_quotient = state().step == QUOTIENT;
    if (from == 0 && own == 0) {
      // Limb 0 of a quotient is below it. The column of both tops is above T.
      const i32 tops = is_quotient
                           ? 0
                           : state().operand_top * (state().is_square != 0 ? state().operand_top
                                                                           : state().factor_top);
      state().product_of_tops = tops;
      carry = is_quotient ? -(i64(DIGITS + 8) << 14) - HALF_DIGITS : i64(tops);
    }
    u32 limb[16];
    const i64 high = R::template run<false>(columns(), own, words(), limb, 0, [&](u32 i) {
      return (i == 0 && own == 0 ? carry : i64(0)) + HALF_DIGITS;
    });
    if (is_quotient) {
      store_operand(first, limb);
      if (KEEPS_QUOTIENT) store(number(QUOTIENT_AT) + first, limb);
    } else {
      store_dividend(first, limb, static_cast<u32>(high + state().product_of_tops));
    }
    return high;
  }

  // 16 limbs of T, and its top. From limb LIMBS - 1 on they are the operand of a quotient.
  GPUINT_DEVICE void store_dividend(u32 first, const u32 (&limb)[16], u32 above) const {
    store(number(DIVIDEND) + first, limb);
    if (first + 16 == LIMBS) operand()[0] = limb[15];
    if (first < LIMBS) return;
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < 16; ++i) operand()[limb_at(first - LIMBS + i + 1)] = limb[i];
    if (first + 16 != 2 * LIMBS) return;
    state().dividend_top = above;
    state().operand_top = static_cast<i32>((limb[15] >> 16) + (above << 16)) - 0x8000;
  }

  // The column beyond the transform is that of both tops.
  GPUINT_DEVICE void finish_quotient(i64 high) const {
    if (thread() != 0) return;
    const u64 above =
        static_cast<u64>(high + i64(state().operand_top) * state().reciprocal_top + HALF_DIGITS);
    operand()[limb_at(LIMBS)] = static_cast<u32>(above);
    if (KEEPS_QUOTIENT) number(QUOTIENT_AT)[LIMBS] = static_cast<u32>(above);
    state().operand_top = static_cast<i32>(above >> 32);
  }

  // P limbs of T - Q V modulo R + 1, of the last remainder not in the form of digits.
  GPUINT_DEVICE i64 resolve_remainder(u32 from, i64 carry) const {
    const u32 own = thread(), first = from + 16 * own;
    const u32* const t = number(DIVIDEND) + first;
    if (from == 0 && own == 0) {
      // The multiple of R + 1 that gives the lowest limb.
      const i64 sum = columns()[R::place(0)] + columns()[R::place(1)] * 65536 +
                      state().dividend_top + t[0] - t[LIMBS];
      const u32 low =
          t[0] - HALF_DIGITS - (operand()[limb_at(1)] - HALF_DIGITS) * state().modulus_limb;
      const i32 k = static_cast<i32>(low - static_cast<u32>(sum));
      state().ring_multiple = k;
      carry = i64(k) + state().dividend_top;
    }
    const u32 half_digits = state().is_last != 0 ? 0 : HALF_DIGITS;
    u32 limb[16], word[WORD], less[WORD];
    const i64 high = R::template run<false>(columns(), own, words(), limb, 0, [&](u32 i) {
      if (i % WORD == 0) {
        load_word(t + i, word);
        load_word(t + LIMBS + i, less);
      }
      return i64(word[i % WORD]) - i64(less[i % WORD]) + half_digits +
             (i == 0 && own == 0 ? carry : i64(0));
    });
    store_operand(first, limb);
    store(state().remainder_place + first, limb);
    return high;
  }

  GPUINT_DEVICE void finish_remainder(u32 above) const {
    u32* const r = state().remainder_place;
    if (thread() == 0) {
      r[LIMBS] = above;
      state().operand_top = static_cast<i32>(above);
      state().staged_number = r;
    }
    if (state().is_last == 0) return;
    const Shifted v(prepared().v(), LIMBS, state().shift);
    const u32 times = Reduce::run(
        thread(), words(), LIMBS, [&](u32 l) -> u32& { return r[l]; }, [&](u32 l) { return v[l]; });
    GPUINT_ASSERT(times <= 1, "the remainder is below 2 V");
    if (thread() == 0) {
      state().last_subtractions = times;
      if (above != 0) GPUINT_RARE(FftLongResidue);
      if (times != 0) GPUINT_RARE(FftLastSubtraction);
    }
    sync();
  }

  GPUINT_DEVICE void store_operand(u32 first, const u32 (&limb)[16]) const {
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < 16; i += WORD) store_word(operand() + limb_at(first + i), limb + i);
  }
  GPUINT_DEVICE static void store(u32* to, const u32 (&limb)[16]) {
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < 16; i += WORD) store_word(to + i, limb + i);
  }
};

}  // namespace gpuint::fft_modular
