// Newton's iteration: reciprocals from P + 1 digits of 16 bits and a bit to 2 P + 1.
//
// Let p = 16 P, nu = V / 2^n in [1/2, 1) and X = 2^(p + 16) / nu - e. With D = floor(V / 2^(n - 2p
// - 16)) + 1, that is D = (nu + d) 2^(2p + 16), 0 < d <= 2^-(2p + 16):
//     E = 2^(3p + 32) - D X = (nu + d) e 2^(2p + 16) - d 2^(3p + 32) / nu
//     X' = X 2^p + floor(X floor(E / 2^p) / 2^(p + 32)) - 2
// THEOREM. If 1 <= e < 7.1, then 0 < E < 2^(2p + 19), and X' = 2^(2p + 16) / nu - e' with 1 <= e' <
// 7.1.
// Proof. d 2^(3p + 32) / nu <= 2^(p + 17) < nu 2^(2p + 16). X E / 2^(2p + 32) = e 2^p (1 + d / nu)
// - d 2^(2p + 16) / nu^2 - e E / 2^(2p + 32): the second term is at most 4, the third below 7.1^2 /
// 2^16 < 0.001, and d e 2^p / nu below 2^-p. The floor of E costs X / 2^(p + 32) <= 2^-15, the
// other less than 1, and columns below P, which are left out, at most 2^-6 either way (below). QED.
//
// E is found modulo 2^(2p) + 1, where 2^(3p + 32) is -2^(p + 32), and modulo 2^32 (resolve.cuh): it
// is below 2^19 of the modulus. A product's columns are at most 2^30 P <= 2^42 each: those below P
// sum up to 2^26 in units of 2^p, of which a result's unit is 2^32.
//
// X's spectrum is used twice, so that a step takes five transforms.
#pragma once
#include "div/fft/convolution.cuh"
#include "div/fft/resolve.cuh"

namespace gpuint::fft_division {

template <class Plan, u32 P>
struct Newton {
  using S = typename Plan::S;
  using F = Transform<P>;
  // Rows of a warp, for rows that need fewer threads.
  static constexpr u32 ROWS = F::THREADS < 32 ? 32 / F::THREADS : 1;
  static constexpr u32 THREADS = F::THREADS * ROWS, MIN_BLOCKS = 512 / THREADS;

  // Of a row: words, of which the last is 0; points and columns; limbs of the divisor, then of E
  // and of the result; the reciprocal.
  static constexpr u32 CARRY = 24, FIRST = 25, ROW = 26, WANTED = 27, LEAD = 28, NEXT = 29;
  static constexpr u32 ZERO = 31;
  static constexpr u32 POINTS = 4 * (ZERO + 1), DIVISOR = POINTS + P * sizeof(Complex);
  static constexpr u32 INVERSE = DIVISOR + limbs_bytes(P), END = INVERSE + limbs_bytes(P / 2);
  // Rows of a warp are stored in different banks.
  static constexpr u32 STRIDE = round_up(END, 128) + (ROWS > 1 ? 64 : 0);
  static constexpr u32 SHARED = ROWS * STRIDE, SCRATCH = ROWS * P * sizeof(Complex);
  static constexpr u32 PERSISTENT = 1, ROW_BYTES = Plan::ROW_BYTES;

  // The least class that has more digits.
  static constexpr u32 MIN_CLASS =
      Plan::FIRST + (2 * P < Plan::SMALLEST ? 0 : log2_of(2 * P / Plan::SMALLEST));

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    const Plan plan(o);
    unsigned char* const own = shared + threadIdx.x / F::THREADS * STRIDE;
    // Values that are the same for all threads of a row take no registers.
    volatile u32* const state = reinterpret_cast<u32*>(own);
    const bool chooses = threadIdx.x % F::THREADS == 0;
    if (chooses) state[ZERO] = 0, state[FIRST] = blockIdx.x * ROWS;
    GPUINT_UNROLL(1)
    while (true) {
      F::sync();
      if (chooses) choose(plan, state);
      F::sync();
      if (state[ROW] == NONE) break;
      prefetch(plan, state[NEXT]);
      refine(plan, own);
    }
  }

 private:
  static constexpr u32 NONE = ~0u;

  // The row that is refined, and the one after it. A warp may have fewer rows than it has room for;
  // it then repeats the last one without writing it.
  GPUINT_DEVICE static void choose(const Plan& plan, volatile u32* state) {
    const u32 first = state[FIRST], total = plan.rows_from(MIN_CLASS);
    if (first >= total) {
      state[ROW] = NONE;
      return;
    }
    const u32 index = first + threadIdx.x / F::THREADS;
    state[FIRST] = first + gridDim.x * ROWS;
    state[ROW] = plan.row_from_top(min_of(index, total - 1));
    state[NEXT] = plan.row_from_top(min_of(index + gridDim.x * ROWS, total - 1));
    state[WANTED] = index < total ? 1 : 0;
  }

  GPUINT_DEVICE static void prefetch(const Plan& plan, u32 row) {
    const u32 from = plan.divisor_bits(row) / 32;
    const u32 *const v = plan.divisor(row), *const x = plan.inverse(row, P / 2);
    // Computed here: registers have no room for it beside 16 points.
    const u32 first = 32 * (ptx::thread() % F::THREADS);
    for (u32 l = first; l < P; l += 32 * F::THREADS)
      if (l < from) ptx::prefetch(v + from - l);
    for (u32 l = first; l < P / 2; l += 32 * F::THREADS) ptx::prefetch(x + l);
  }

  // All threads of a block; nothing is written where the row is not wanted.
  GPUINT_DEVICE static void refine(const Plan& plan, unsigned char* own) {
    const F transform{own + POINTS};
    u32* const words = reinterpret_cast<u32*>(own);
    i64* const columns = reinterpret_cast<i64*>(own + POINTS);
    u32* const divisor = reinterpret_cast<u32*>(own + DIVISOR);
    u32* const inverse = reinterpret_cast<u32*>(own + INVERSE);
    volatile u32* const state = words;
    u32 thread = transform.thread();
    {
      const u32 row = state[ROW];
      const Shifted v(plan.divisor(row), S::N, 32 * S::N - plan.divisor_bits(row));
      const u32* const x = plan.inverse(row, P / 2);
      copy<16, F::THREADS>(
          thread, [&](u32 l) { return v[S::N - P - 1 + l]; },
          [&](u32 l, u32 limb) { divisor[limb_at(l)] = limb; });
      copy<8, F::THREADS>(
          thread, [&](u32 l) { return x[l]; },
          [&](u32 l, u32 limb) { inverse[limb_at(l)] = limb; });
      if (thread == 0) divisor[limb_at(P)] = v[S::N - 1], inverse[limb_at(P / 2)] = x[P / 2];
    }
    F::sync();
    // The parts above the digits: of X, of D, and of E.
    u32 top = 0;
    // Step 0 transforms X, step 1 makes E from D, and step 2 the new limbs.
    GPUINT_UNROLL(1)
    for (u32 step = 0; step < 3; ++step) {
      if (step == 0) {
        top = with_carry(inverse[limb_at(P / 2)], digit_of(inverse, P - 1));
        if (threadIdx.x % F::THREADS == 0) state[LEAD] = top;
      } else if (step == 1)
        top = with_carry(digit_of(divisor, 2 * P + 1), digit_of(divisor, 2 * P)) - 1;
      Complex x[fft::RADIX];
      const fft::Last last =
          transform.forward(x, step == 0 ? inverse : divisor, step == 1 ? 1 : 0, step == 1, top);
      Complex* const spectrum =
          reinterpret_cast<Complex*>(plan.o.scratch +
                                     u64(transform.rematerialize(blockIdx.x)) * SCRATCH) +
          threadIdx.x / F::THREADS * P + transform.thread();
      if (step == 0) {
        F::store(spectrum, x);
        continue;
      }
      transform.convolve(x, last, spectrum);
      thread = transform.thread();
      if (step == 1) {
        using R = Resolve<F::THREADS, 16>;
        GPUINT_UNROLL(16)
        for (u32 i = 0; i < fft::RADIX; ++i) {
          columns[R::place(thread + i * F::THREADS)] = -rounded<P>(x[i].re);
          columns[R::place(P + thread + i * F::THREADS)] = -rounded<P>(x[i].im);
        }
        const u32 low = 0 - ((digit_of(divisor, 1) | digit_of(divisor, 2) << 16) + 1) * inverse[0];
        F::sync();
        u32 limb[16];
        const i64 above = R::template run<true>(columns, thread, words, limb, low, [&](u32 i) {
          return 16 * thread + i == P / 2 + 1 ? i64(-1) : i64(0);
        });
        GPUINT_ASSERT(above >= 0 && above < 1 << 19, "E is positive and below 2^(2p + 19)");
        if (thread >= F::THREADS / 2) {
          GPUINT_UNROLL(4)
          for (u32 i = 0; i < 16; i += WORD)
            store_word(divisor + limb_at(16 * thread - P / 2 + i), limb + i);
        }
        F::sync();
        top = with_carry(static_cast<u32>(above), digit_of(divisor, P - 1));
      } else {
        using R = Resolve<F::THREADS, 8>;
        GPUINT_UNROLL(16)
        for (u32 i = 0; i < fft::RADIX; ++i)
          columns[R::place(thread + i * F::THREADS)] = rounded<P>(x[i].im);
        F::sync();
        u32 limb[8];
        const i64 high = R::template run<false>(
                             columns, thread, words, limb, 0,
                             [&](u32 i) { return i == 1 && thread == 0 ? i64(-2) : i64(0); }) +
                         i64(top) * state[LEAD];
        GPUINT_ASSERT(high >= 0, "the correction is positive");
        // Limb 0 is below the result, the upper half of `high` above its P / 2 limbs.
        GPUINT_UNROLL(2)
        for (u32 i = 0; i < 8; i += WORD) store_word(divisor + limb_at(8 * thread + i), limb + i);
        if (thread == 0) divisor[limb_at(P / 2)] = static_cast<u32>(high);
        const u32 more = static_cast<u32>(high >> 32);
        add_at<F::THREADS>(inverse, 0, P / 2 + 1, more, words + CARRY, thread, limb_at);
        u32* const to = plan.inverse(state[ROW], P / 2);
        if (state[WANTED] != 0) {
          for (u32 l = thread; l < P / 2; l += F::THREADS)
            (to - P / 2)[l] = divisor[limb_at(l + 1)];
          if (more != 0)
            for (u32 l = thread; l <= P / 2; l += F::THREADS) to[l] = inverse[limb_at(l)];
        }
      }
    }
  }
};

}  // namespace gpuint::fft_division
