// Newton's step (newton.cuh) from P + 1 digits and a bit to 2 P + 1, for P = 8192, in two parts of
// 4096 points. A block holds one part at a time, in 100 KiB of shared memory. The transforms of
// convolution.cuh hold both parts together, in 200 KiB, which most GPUs do not have.
//
// t^P - i is split into parts of 4096 points (transform/fft/product.cuh). In part k, t^4096 is
// e(theta_k), so chunk c of 4096 digits is added with the weight e(c theta_k). A top above P
// digits, at t^P = i, is added to the imaginary part of point 0. A top above 2 P digits, at t^2P =
// -1, is subtracted from its real part.
//
// The theorem of newton.cuh holds, where columns below P add up to 2^43 / 2^48 = 2^-5 at most: 4 +
// 0.001 + 2^-15 + 1 + 2^-5 + 2 is less than 7.1, and 2 - 2^-P - 2^-5 more than 1.
//
// The factors of a product have P digits and a top below 2^21, and P or 2 P digits and a top of
// 2^16: |a| |b| <= 2^30 (1.5 P + 2^11 + 9), which is below the bound of transform/fft/lengths.cuh.
#pragma once
#include "div/fft/convolution.cuh"
#include "div/fft/resolve.cuh"
#include "transform/fft/columns.cuh"

namespace gpuint::fft_division {

template <class Plan>
struct NewtonInParts {
  using S = typename Plan::S;
  static constexpr u32 POINTS = S::N, P = fft::POINTS, PARTS = POINTS / P;
  static_assert(PARTS == 2 && S::N % P == 0, "E's upper half is one resolution");
  static_assert((1 << 30) * (1.5 * POINTS + 2048 + 9) * fft::relative_error(PARTS) <
                    fft_modular::worst_error<S>(),
                "columns round to the right integers");
  using F = Transform<P>;
  using R = Resolve<F::THREADS, 16>;
  static constexpr u32 THREADS = F::THREADS, ROWS = 1, MIN_BLOCKS = 512 / THREADS;
  static constexpr u32 PERSISTENT = 1, ROW_BYTES = Plan::ROW_BYTES;

  // Words, the last one 0; points and columns; X, then D, then E and the result.
  static constexpr u32 CARRY = 24, ROW = 25, LEAD = 26, LOWEST = 27;
  static constexpr u32 EXCHANGE = 128, OPERAND = EXCHANGE + P * sizeof(Complex);
  static constexpr u32 SHARED = OPERAND + limbs_bytes(POINTS);
  // Device memory: the spectrum of X, and the product's points of all parts but the last.
  static constexpr u32 SCRATCH = (2 * PARTS - 1) * P * sizeof(Complex);

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    NewtonInParts block(o, shared);
    if (threadIdx.x == 0) *F::Exchange::zero(shared + EXCHANGE) = 0;
    GPUINT_UNROLL(1)
    for (u32 index = blockIdx.x; index < block.plan.rows_from(0); index += gridDim.x) {
      F::sync();
      if (threadIdx.x == 0) block.state()[ROW] = block.plan.row_from_top(index);
      F::sync();
      block.refine();
    }
  }

 private:
  const Plan plan;
  unsigned char* const shared;

  GPUINT_DEVICE NewtonInParts(const Operands& o, unsigned char* bytes) : plan(o), shared(bytes) {}

  GPUINT_DEVICE u32 thread() const { return F{shared + EXCHANGE}.thread(); }
  GPUINT_DEVICE u32* words() const { return reinterpret_cast<u32*>(shared); }
  GPUINT_DEVICE volatile u32* state() const { return words(); }
  GPUINT_DEVICE u32* operand() const { return reinterpret_cast<u32*>(shared + OPERAND); }
  GPUINT_DEVICE i64* columns() const { return reinterpret_cast<i64*>(shared + EXCHANGE); }
  // This thread's points of X's spectrum in part k, and of the product.
  GPUINT_DEVICE Complex* spectrum(u32 k) const {
    return reinterpret_cast<Complex*>(
               plan.o.scratch + u64(F{shared + EXCHANGE}.rematerialize(blockIdx.x)) * SCRATCH) +
           k * P + thread();
  }
  GPUINT_DEVICE Complex* product(u32 k) const { return spectrum(PARTS + k); }
  // X, of POINTS / 2 + 1 limbs.
  GPUINT_DEVICE u32* inverse() const { return plan.inverse(state()[ROW], POINTS / 2); }

  // Step 0 transforms X, step 1 makes E from D, and step 2 the new limbs.
  GPUINT_DEVICE void refine() const {
    u32 top = 0;
    GPUINT_UNROLL(1)
    for (u32 step = 0; step < 3; ++step) {
      if (step < 2) top = stage(step);
      Complex x[fft::RADIX];
      GPUINT_UNROLL(1)
      for (u32 k = 0; k < PARTS; ++k) {
        read(x, k, step == 1, top);
        const auto first = [](Complex(&y)[fft::RADIX], const fft::FirstPass& by) {
          fft::split<0, 0, 1>(y, by);
        };
        const fft::Last last = fft::transform<P, PARTS>(x, k, shared + EXCHANGE, first, [] {});
        const Complex* const of_x = spectrum(k);
        if (step == 0) {
          F::store(spectrum(k), x);
          continue;
        }
        fft::multiply<0>(x, last, [&](u32 i) { return F::load(of_x + i * THREADS); });
        fft::inverse<P, PARTS>(x, shared + EXCHANGE);
        fft::weigh<P, PARTS>(k, thread(), x);
        if (k + 1 < PARTS) F::store(product(k), x);
      }
      if (step == 1)
        top = complement(x);
      else if (step == 2)
        write(x, top);
    }
  }

  // Puts X or D into the operand's place; returns the part above the digits.
  GPUINT_DEVICE u32 stage(u32 step) const {
    F::sync();  // the previous contents have been read
    u32* const to = operand();
    if (step == 0) {
      const u32* const x = inverse();
      copy<POINTS / 2 / THREADS, THREADS>(
          thread(), [&](u32 l) { return x[l]; }, [&](u32 l, u32 limb) { to[limb_at(l)] = limb; });
      if (threadIdx.x == 0) to[limb_at(POINTS / 2)] = x[POINTS / 2], state()[LOWEST] = x[0];
      F::sync();
      const u32 top = with_carry(to[limb_at(POINTS / 2)], digit_of(to, POINTS - 1));
      if (threadIdx.x == 0) state()[LEAD] = top;
      return top;
    }
    const Shifted v(plan.divisor(state()[ROW]), S::N, 32 * S::N - plan.divisor_bits(state()[ROW]));
    copy<POINTS / THREADS, THREADS>(
        thread(), [&](u32 l) { return v[l - 1]; }, [&](u32 l, u32 limb) { to[limb_at(l)] = limb; });
    if (threadIdx.x == 0) to[limb_at(POINTS)] = v[POINTS - 1];
    F::sync();
    return with_carry(digit_of(to, 2 * POINTS + 1), digit_of(to, 2 * POINTS)) - 1;
  }

  // Points of part k of the operand, from digit 1 on if it is D, and `top` above it.
  GPUINT_DEVICE void read(Complex (&x)[fft::RADIX], u32 k, bool is_divisor, u32 top) const {
    const u32 chunks = is_divisor ? 2 * PARTS : PARTS;
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < fft::RADIX; ++i) x[i] = {0, 0};
    GPUINT_UNROLL(1)
    for (u32 c = 0; c < chunks; ++c) {
      double value[fft::RADIX];
      read_digits<P>(value, operand(), c * P + (is_divisor ? 1 : 0), c == 0, thread());
      const Complex turn = fft::CONSTANTS<PARTS>.part[k].turns[c];
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < fft::RADIX; ++i)
        x[i] = {fma(value[i], turn.re, x[i].re), fma(value[i], turn.im, x[i].im)};
    }
    if (threadIdx.x != 0) return;
    if (is_divisor)
      x[0].re -= top;
    else
      x[0].im += top;
  }

  // Columns of pieces `piece` and `piece` + 1 of the product, whose last part is x.
  template <bool NEGATED>
  GPUINT_DEVICE void put_columns(u32 piece, const Complex (&x)[fft::RADIX]) const {
    F::sync();  // the previous contents have been read
    const Complex* const stored = product(0);
    const u32 own = thread();
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < fft::RADIX; ++i) {
      const Complex y[PARTS] = {F::load(stored + i * THREADS), x[i]};
      const i64 low = fft_modular::column_of<S>(piece, y),
                high = fft_modular::column_of<S>(piece + 1, y);
      columns()[R::place(own + i * THREADS)] = NEGATED ? -low : low;
      columns()[R::place(P + own + i * THREADS)] = NEGATED ? -high : high;
    }
    F::sync();
  }

  // Stores the upper half of E in place of the operand; returns the part above it.
  GPUINT_DEVICE u32 complement(const Complex (&x)[fft::RADIX]) const {
    i64 above = 0;
    GPUINT_UNROLL(1)
    for (u32 piece = 0; piece < 2 * PARTS; piece += 2) {
      put_columns<true>(piece, x);
      const u32 own = thread();
      u32 limb[16];
      if (piece == 0) {
        const u32 lowest = (digit_of(operand(), 1) | digit_of(operand(), 2) << 16) + 1;
        above = R::template run<true>(columns(), own, words(), limb, 0 - lowest * state()[LOWEST],
                                      [](u32) { return i64(0); });
        // The multiple of the modulus belongs to the top.
        above -= static_cast<i32>(words()[R::MULTIPLE]);
      } else {
        above = R::template run<false>(columns(), own, words(), limb, 0, [&](u32 i) {
          return own != 0 ? i64(0) : i == 0 ? above : i == 1 ? i64(-1) : i64(0);
        });
        above += static_cast<i32>(words()[R::MULTIPLE]);
        GPUINT_UNROLL(4)
        for (u32 i = 0; i < 16; i += WORD) store_word(operand() + limb_at(16 * own + i), limb + i);
      }
    }
    GPUINT_ASSERT(above >= 0 && above < 1 << 19, "E is positive and below 2^(2p + 19)");
    F::sync();
    return with_carry(static_cast<u32>(above), digit_of(operand(), POINTS - 1));
  }

  // X' from the high columns of X E.
  GPUINT_DEVICE void write(const Complex (&x)[fft::RADIX], u32 top) const {
    put_columns<false>(PARTS, x);
    const u32 own = thread();
    u32 limb[16];
    const i64 high =
        R::template run<false>(columns(), own, words(), limb, 0,
                               [&](u32 i) { return i == 1 && own == 0 ? i64(-2) : i64(0); }) +
        i64(top) * state()[LEAD];
    GPUINT_ASSERT(high >= 0, "the correction is positive");
    // Limb 0 is below the result, the upper half of `high` above its POINTS / 2 limbs.
    u32* const result = operand();
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < 16; i += WORD) store_word(result + limb_at(16 * own + i), limb + i);
    if (own == 0) result[limb_at(POINTS / 2)] = static_cast<u32>(high);
    F::sync();
    u32* const to = inverse();
    copy<POINTS / 2 / THREADS, THREADS>(
        own, [&](u32 l) { return result[limb_at(l + 1)]; },
        [&](u32 l, u32 limb) { (to - POINTS / 2)[l] = limb; });
    add_at<THREADS>(to, 0, POINTS / 2 + 1, static_cast<u32>(high >> 32), words() + CARRY, own,
                    [](u32 l) { return l; });
  }
};

}  // namespace gpuint::fft_division
