// Blocks of quotient: divides the rows of a class with the stored spectra of divisor and
// reciprocal.
//
// V = v 2^s has exactly m = 32 P bits, u is shifted likewise when it is read, and t = m / 2. For a
// block of quotient, let R be the rest of u so far, x its next t bits and W = R 2^t + x:
//     Q = max(0, floor(X floor(R / 2^(t - 16)) / 2^(t + 32) - P / 2^17)),   R <- W - Q V
// THEOREM. If 0 <= R < 32 V and P <= 2^13, then 0 <= W - Q V < 1.1 V.
// Proof. X = 2^(t + 16) / nu - e, V = nu 2^m, 0 < e < 7.1 (newton.cuh, plan.cuh). X R / 2^(2t + 16)
// is R 2^t / V - e R / 2^(m + 16), which takes off less than 7.1 * 32 / 2^16 < 0.004. Rounding R
// down costs at most X / 2^(t + 32) <= 2^-15, the floor less than 1, and x / V < 2^(1 - t) comes on
// top. The columns that are left out (below P), of at most 2^30 P each, are less than P / 2^17.9
// either way. So Q is between W / V - 1.1 and W / V - P / 2^22, or it is 0 where that is less than
// 0. QED.
//
// The first R is the part of u above the blocks, below 2^(m + 4) < 32 V. So a quotient takes
// ceil((bits(u) - bits(v) - 4) / t) blocks, or a block less and a few limbs, one by one
// (reduce.cuh). After the last block, R is V or more only if the quotient's fraction is below 0.1.
// Then V is subtracted.
//
// R is computed modulo 2^m + 1 and modulo 2^32 (resolve.cuh): its top limb, above m bits, is below
// 32. A block costs two forward and two inverse transforms.
#pragma once
#include "div/fft/block.cuh"
#include "div/fft/convolution.cuh"
#include "div/fft/reduce.cuh"

namespace gpuint::fft_division {

// Lengths of a division: blocks of t bits, and limbs above them that are divided one by one.
struct Lengths {
  u32 blocks, steps;
  GPUINT_DEVICE Lengths(uint2 bits, u32 block_bits) {
    const u32 more = bits.y > bits.x ? bits.y - bits.x : 0, rest = more % block_bits;
    blocks = more / block_bits;
    steps = rest <= 4 ? 0 : ceil_div(rest, 32);
    if (steps > MAX_STEPS) ++blocks, steps = 0;
  }
};

template <class S, u32 P, bool PREPARED = false>
struct Divide {
  using Plan = fft_division::Plan<S, PREPARED>;
  using F = Transform<P>;
  static constexpr u32 THREADS = F::THREADS, ROWS = 1, MIN_BLOCKS = 512 / THREADS;
  static constexpr u32 PERSISTENT = 1, ROW_BYTES = Plan::ROW_BYTES;
  static constexpr u32 CLASS = Plan::FIRST + log2_of(P / Plan::SMALLEST);
  static constexpr u32 HALF = P / 2;      // limbs of a block
  static constexpr i64 MARGIN = P << 15;  // P / 2^17 in the limb below an estimate
  static_assert(P <= 1 << 13, "");
  static_assert(THREADS >= 32, "a row takes whole warps");

  // Words, of which the last is 0; points and columns; R, with limbs above and below; a block of
  // quotient, from limb 1 on, with limbs above; the dividend's next limbs.
  static constexpr u32 POINTS = 256, REST = POINTS + P * sizeof(Complex);
  static constexpr u32 BLOCK = REST + limbs_bytes(P + MAX_STEPS), NEXT = BLOCK + limbs_bytes(HALF);
  static constexpr u32 SHARED = round_up(NEXT + limbs_bytes(HALF), 128);
  static constexpr u32 SCRATCH = 2 * P * sizeof(Complex);

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    Divide(o, shared).divide_rows();
  }

 private:
  // Block-uniform state, in shared memory because 16 points fill the registers.
  struct State {
    u32 row, distance, blocks, steps;  // of the row; bits that v is shifted
    u32 next;                          // index of the row after it
    u32 lowest, highest;               // limbs of V
    u32 lead;                          // what stands above the reciprocal's digits
    u32 word;
    u32 grid;  // blocks
  };
  static constexpr u32 STATE = round_up(Reduce<THREADS, 16>::FOUND + 1, 8);  // a word
  static_assert(4 * STATE + sizeof(State) < POINTS && Reduce<THREADS, 16>::FOUND < STATE, "");

  const Plan plan;
  unsigned char* const shared;

  GPUINT_DEVICE Divide(const Operands& o, unsigned char* bytes) : plan(o), shared(bytes) {}

  GPUINT_DEVICE F transform() const { return {shared + POINTS}; }
  GPUINT_DEVICE i64* columns() const { return reinterpret_cast<i64*>(shared + POINTS); }
  GPUINT_DEVICE u32* staged() const { return reinterpret_cast<u32*>(shared + POINTS); }
  GPUINT_DEVICE u32* rest() const { return reinterpret_cast<u32*>(shared + REST); }
  GPUINT_DEVICE u32* block() const { return reinterpret_cast<u32*>(shared + BLOCK); }
  GPUINT_DEVICE u32* next() const { return reinterpret_cast<u32*>(shared + NEXT); }
  GPUINT_DEVICE u32* words() const { return reinterpret_cast<u32*>(shared); }
  GPUINT_DEVICE volatile State& state() const {
    return *reinterpret_cast<volatile State*>(words() + STATE);
  }
  GPUINT_DEVICE u32 thread() const { return transform().thread(); }

  // Limbs of the dividend and of the divisor, shifted.
  GPUINT_DEVICE Shifted dividend() const {
    return Shifted(plan.dividend(state().row), S::N, state().distance);
  }
  GPUINT_DEVICE Shifted divisor() const {
    return Shifted(plan.divisor(state().row), S::N, state().distance);
  }
  GPUINT_DEVICE Complex* spectrum(u32 index) const {
    return reinterpret_cast<Complex*>(plan.o.scratch +
                                      u64(transform().rematerialize(blockIdx.x)) * SCRATCH) +
           index * P + thread();
  }

  GPUINT_DEVICE void divide_rows() {
    if (threadIdx.x == 0) *F::Exchange::zero(shared + POINTS) = 0, state().grid = gridDim.x;
    GPUINT_UNROLL(1)
    for (u32 index = blockIdx.x; index < plan.rows(CLASS); index = state().next) {
      F::sync();
      if (threadIdx.x == 0) {
        const u32 row = plan.list(CLASS)[index];
        const uint2 bits = plan.lengths()[row];
        const Lengths lengths(bits, 16 * P);
        volatile State& s = state();
        s.row = row, s.distance = 32 * P - bits.x;
        s.blocks = lengths.blocks, s.steps = lengths.steps;
      }
      F::sync();
      // A block that is finished takes the next row.
      if (threadIdx.x == 0) state().next = state().grid + atomicAdd(plan.taken(CLASS), 1);
      begin();
      if (state().steps > 0) {
        stage_divisor();
        divide_by_limbs();
      }
      F::sync();
      if (state().next < plan.rows(CLASS)) prefetch(plan.list(CLASS)[state().next]);
      GPUINT_UNROLL(1)
      for (u32 step = 0; step < 2 + 2 * state().blocks; ++step) take(step);
      finish();
    }
  }

  // The part of u above the blocks, and zeros in the quotient there.
  GPUINT_DEVICE void begin() const {
    const Shifted u = dividend();
    const u32 from = state().blocks * HALF, own = thread();
    copy<16, THREADS>(
        own, [&](u32 l) { return u[from + l]; },
        [&](u32 l, u32 limb) { rest()[limb_at(l)] = limb; });
    if (own <= state().steps) rest()[limb_at(P + own)] = u[from + P + own];
    u32* const q = plan.quotient(state().row);
    if (q == nullptr) return;
    const u32 zero[WORD] = {};
    for (u32 l = from + WORD * own; l < S::N; l += WORD * THREADS) store_word(q + l, zero);
  }

  GPUINT_DEVICE void prefetch(u32 row) const {
    const u32 *const u = plan.dividend(row), *const v = plan.divisor(row);
    const u32* const x = plan.reciprocal_at(row, HALF);
    for (u32 l = 32 * thread(); l < S::N; l += 32 * THREADS) ptx::prefetch(u + l);
    for (u32 l = 32 * thread(); l < P && l < S::N; l += 32 * THREADS) ptx::prefetch(v + l);
    for (u32 l = 32 * thread(); l < HALF; l += 32 * THREADS) ptx::prefetch(x + l);
  }

  GPUINT_DEVICE void stage_divisor() const {
    F::sync();
    const Shifted v = divisor();
    copy<16, THREADS>(
        thread(), [&](u32 l) { return v[l]; },
        [&](u32 l, u32 limb) { staged()[limb_at(l)] = limb; });
    F::sync();
  }

  GPUINT_DEVICE u32 reduce(u32 offset) const {
    return Reduce<THREADS, 16>::run(
        thread(), words(), P, [&](u32 l) -> u32& { return rest()[limb_at(offset + l)]; },
        [&](u32 l) { return staged()[limb_at(l)]; });
  }

  GPUINT_DEVICE void add_to_quotient(u32 at, u32 value) const {
    u32* const q = plan.quotient(state().row);
    if (value == 0 || q == nullptr) return;
    add_at<THREADS>(q, at, S::N, value, const_cast<u32*>(&state().word), thread(),
                    [](u32 l) { return l; });
  }

  GPUINT_DEVICE void divide_by_limbs() const {
    GPUINT_UNROLL(1)
    for (i32 i = static_cast<i32>(state().steps); i >= 0; --i)
      add_to_quotient(state().blocks * HALF + i, reduce(i));
  }

  // Steps 0 and 1 transform the reciprocal and the divisor; then even steps estimate a block of
  // quotient, odd ones update R.
  GPUINT_DEVICE void take(u32 step) const {
    F::sync();
    // The reciprocal uses the place of blocks of quotient, the divisor that of columns.
    if (step == 0) {
      const auto x = plan.reciprocal(state().row, HALF);
      copy<8, THREADS>(
          thread(), [&](u32 l) { return x[l]; },
          [&](u32 l, u32 limb) { block()[limb_at(l)] = limb; });
      if (threadIdx.x == 0) block()[limb_at(HALF)] = x[HALF];
      F::sync();
    } else if (step == 1) {
      stage_divisor();
      if (threadIdx.x == 0)
        state().lowest = staged()[0], state().highest = staged()[limb_at(P - 1)];
    } else if (step % 2 == 0) {
      const Shifted u = dividend();
      const u32 from = (state().blocks - step / 2) * HALF;
      copy<8, THREADS>(
          thread(), [&](u32 l) { return u[from + l]; },
          [&](u32 l, u32 limb) { next()[limb_at(l)] = limb; });
    }
    const bool updates = step % 2 != 0;
    const u32 top = top_of(step);
    if (step == 0 && threadIdx.x == 0) state().lead = top;
    Complex x[fft::RADIX];
    const u32* const limbs = step == 1 ? staged() : step == 0 || updates ? block() : rest();
    const u32 lowest = step < 2 ? 0 : updates ? 2 : P - 1;
    const fft::Last last = transform().forward(x, limbs, lowest, step == 1, top);
    if (step < 2) return F::store(spectrum(step), x);
    transform().convolve(x, last, spectrum(updates ? 1 : 0));
    if (updates)
      update(x, state().blocks - step / 2);
    else
      estimate(x, top);
  }

  // The part of a step's operand above its digits.
  GPUINT_DEVICE u32 top_of(u32 step) const {
    if (step == 0) return with_carry(block()[limb_at(HALF)], digit_of(block(), P - 1));
    if (step == 1) return with_carry(0, digit_of(staged(), 2 * P - 1));
    if (step % 2 != 0) return with_carry(block()[limb_at(HALF + 1)], digit_of(block(), P + 1));
    return with_carry(digit_of(rest(), 2 * P - 1) + (rest()[limb_at(P)] << 16),
                      digit_of(rest(), 2 * P - 2));
  }

  GPUINT_DEVICE void estimate(const Complex (&x)[fft::RADIX], u32 top) const {
    using R = Resolve<THREADS, 8>;
    const u32 own = thread();
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < fft::RADIX; ++i)
      columns()[R::place(own + i * THREADS)] = rounded<P>(x[i].im);
    F::sync();
    u32 limb[8];
    i64 high = R::template run<false>(columns(), own, words(), limb, 0,
                                      [&](u32 i) { return i == 0 && own == 0 ? -MARGIN : i64(0); });
    // The one column beyond the transform: the tops of both factors.
    high += i64(top) * state().lead;
    store_estimate<HALF>(block(), own, high, limb);
  }

  // R 2^t + x - Q V modulo 2^m + 1: the upper half of R is added below, negated.
  GPUINT_DEVICE void update(const Complex (&x)[fft::RADIX], u32 b) const {
    using R = Resolve<THREADS, 16>;
    const u32 own = thread();
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < fft::RADIX; ++i) {
      columns()[R::place(own + i * THREADS)] = -rounded<P>(x[i].re);
      columns()[R::place(P + own + i * THREADS)] = -rounded<P>(x[i].im);
    }
    u32* const q = plan.quotient(state().row);
    if (q != nullptr)
      copy<8, THREADS>(
          own, [&](u32 l) { return block()[limb_at(l + 1)]; },
          [&](u32 l, u32 limb) { q[b * HALF + l] = limb; });
    F::sync();
    u32 limb[16];
    {
      const bool lower = own < THREADS / 2;
      const u32* const added = (lower ? next() : rest()) + limb_at(16 * own % HALF);
      const u32* const taken = rest() + limb_at(HALF + 16 * own % HALF);
      const u32 low = next()[0] - block()[1] * state().lowest;
      u32 word[WORD], less[WORD];
      const i64 high = R::template run<true>(columns(), own, words(), limb, low, [&](u32 i) {
        if (i % WORD == 0) {
          load_word(added + i, word);
          load_word(taken + i, less);
        }
        return i64(word[i % WORD]) - (lower                  ? i64(less[i % WORD])
                                      : 16 * own + i == HALF ? i64(rest()[limb_at(P)])
                                                             : i64(0));
      });
      GPUINT_ASSERT(high >= 0 && high < 2, "the remainder is below 1.1 V");
      // With several warps, R was read before their carries.
      if constexpr (THREADS == 32) F::sync();
      if (own == 0) rest()[limb_at(P)] = static_cast<u32>(high);
    }
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < 16; i += WORD) store_word(rest() + limb_at(16 * own + i), limb + i);
    const u32 carry = block()[limb_at(HALF + 1)];
    GPUINT_ASSERT(carry == 0 || (b + 1) * HALF < S::N, "a quotient is no longer than its row");
    add_to_quotient((b + 1) * HALF, carry);
  }

  // Subtracts V if the last block of quotient was too small, and writes the remainder.
  GPUINT_DEVICE void finish() const {
    F::sync();
    if (rest()[limb_at(P)] != 0 || rest()[limb_at(P - 1)] >= state().highest) {
      if (threadIdx.x == 0) GPUINT_RARE(FftFinalSubtraction);
      stage_divisor();
      add_to_quotient(0, reduce(0));
    }
    u32* const r = plan.remainder(state().row);
    if (r == nullptr) return;
    write_shifted<S::N, THREADS>(r, thread(), state().distance, P,
                                 [&](u32 l) { return rest()[limb_at(l)]; });
  }
};

}  // namespace gpuint::fft_division
