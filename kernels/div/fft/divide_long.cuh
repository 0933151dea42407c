// Division by divisors longer than the largest class, and of rows without blocks.
//
// V = v 2^s has h pieces of t = 16 P bits, P the largest class's points. A block of quotient is one
// piece. It is estimated as in divide.cuh, from the top two pieces of V and of R. The theorem there
// holds here too: Q is between W / V - 1.1 and W / V or 0. Piece k of Q V is computed from Q and
// the window of pieces k - 1 and k of V, of 2 P digits. Columns P and up of their product modulo
// t^P - i are those of Q V, and the part that wraps around is added below them (overlap-save: Q has
// P digits and a top). Only the spectra of these windows, of X and of Q are kept: 1 + h + (3 + h)
// transforms per block.
//
// R is computed modulo 2^(h t), piece by piece from below. The part above follows from the
// estimate. Let f be the fraction that Q leaves out, plus P / 2^17, minus 1 if the number before
// the floor is negative. R / V is f within 0.04, R / 2^(h t) is f nu, and the part above is the
// integer nearest to f nu minus R's known fraction.
#pragma once
#include "div/fft/divide.cuh"

namespace gpuint::fft_division {

template <class S, bool PREPARED = false>
struct DivideLong {
  using Plan = fft_division::Plan<S, PREPARED>;
  static constexpr u32 P = Plan::LARGEST, PIECE = Plan::PIECE;
  using F = Transform<P>;
  using R = Resolve<F::THREADS, 8>;
  static constexpr i64 MARGIN = Divide<S, P, PREPARED>::MARGIN;
  static constexpr u32 THREADS = F::THREADS, ROWS = 1, MIN_BLOCKS = 512 / THREADS;
  static constexpr u32 PERSISTENT = 1, ROW_BYTES = Plan::ROW_BYTES;

  // Words, of which the last is 0; points and columns; a block of quotient, from limb 1 on, with
  // limbs above; two pieces of the old R; the dividend's next limbs.
  static constexpr u32 POINTS = 256, BLOCK = POINTS + P * sizeof(Complex);
  static constexpr u32 OLD = BLOCK + limbs_bytes(PIECE), NEXT = OLD + 2 * limbs_bytes(PIECE);
  static constexpr u32 SHARED = round_up(NEXT + limbs_bytes(PIECE), 128);
  // Spectra of X, of Q and of the windows; R, in device memory.
  static constexpr u32 SPECTRA = (Plan::MAX_PIECES + 2) * P * sizeof(Complex);
  static constexpr u32 SCRATCH = SPECTRA + round_up(4 * (S::N + MAX_STEPS + 1), 16);

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    DivideLong(o, shared).divide_rows();
  }

 private:
  struct State {
    u32 row, distance, blocks, steps, pieces;
    u32 block;     // the one above that which is next
    u32 next;      // index of the row after it
    u32 top_limb;  // of V
    u32 lead;      // what stands above the reciprocal's digits
    u32 fraction;  // of an estimate, and 1 if its integer part is negative
    u32 negative;
    u32 word;
  };
  static constexpr u32 STATE = round_up(Reduce<THREADS, 8>::FOUND + 1, 8);  // a word
  static_assert(4 * STATE + sizeof(State) < POINTS && Reduce<THREADS, 8>::FOUND < STATE, "");

  const Plan plan;
  unsigned char* const shared;

  GPUINT_DEVICE DivideLong(const Operands& o, unsigned char* bytes) : plan(o), shared(bytes) {}

  GPUINT_DEVICE F transform() const { return {shared + POINTS}; }
  GPUINT_DEVICE i64* columns() const { return reinterpret_cast<i64*>(shared + POINTS); }
  GPUINT_DEVICE u32* staged() const { return reinterpret_cast<u32*>(shared + POINTS); }
  GPUINT_DEVICE u32* block() const { return reinterpret_cast<u32*>(shared + BLOCK); }
  GPUINT_DEVICE u32* old(u32 piece) const {
    return reinterpret_cast<u32*>(shared + OLD + piece % 2 * limbs_bytes(PIECE));
  }
  GPUINT_DEVICE u32* next() const { return reinterpret_cast<u32*>(shared + NEXT); }
  GPUINT_DEVICE u32* words() const { return reinterpret_cast<u32*>(shared); }
  GPUINT_DEVICE volatile State& state() const {
    return *reinterpret_cast<volatile State*>(words() + STATE);
  }
  GPUINT_DEVICE u32 thread() const { return transform().thread(); }
  GPUINT_DEVICE static void sync(GPUINT_SITE) { F::sync(GPUINT_PASS_SITE); }

  GPUINT_DEVICE Shifted dividend() const {
    return Shifted(plan.dividend(state().row), S::N, state().distance);
  }
  GPUINT_DEVICE Shifted divisor() const {
    return Shifted(plan.divisor(state().row), S::N, state().distance);
  }
  GPUINT_DEVICE unsigned char* scratch() const {
    return plan.o.scratch + u64(transform().rematerialize(blockIdx.x)) * SCRATCH;
  }
  GPUINT_DEVICE u32* rest() const { return reinterpret_cast<u32*>(scratch() + SPECTRA); }
  // 0: of X, 1: of Q, 2 + k: of window k.
  GPUINT_DEVICE Complex* spectrum(u32 index) const {
    return reinterpret_cast<Complex*>(scratch()) + index * P + thread();
  }

  GPUINT_DEVICE void divide_rows() {
    if (threadIdx.x == 0) *F::Exchange::zero(shared + POINTS) = 0;
    GPUINT_UNROLL(1)
    for (u32 index = blockIdx.x; index < plan.count(Plan::LONG) + plan.count(Plan::DIRECT);
         index = state().next) {
      sync();
      if (threadIdx.x == 0) {
        const u32 longs = plan.count(Plan::LONG);
        const u32 row =
            index < longs ? plan.list(Plan::LONG)[index] : plan.list(Plan::DIRECT)[index - longs];
        const uint2 bits = plan.lengths()[row];
        const Lengths lengths(bits, 32 * PIECE);
        volatile State& s = state();
        s.row = row;
        s.pieces = ceil_div(bits.x, 32 * PIECE);
        s.distance = 32 * PIECE * s.pieces - bits.x;
        s.blocks = lengths.blocks, s.block = lengths.blocks, s.steps = lengths.steps;
      }
      sync();
      if (threadIdx.x == 0) state().next = gridDim.x + atomicAdd(plan.taken(Plan::LONG), 1);
      begin();
      if (state().steps > 0) divide_by_limbs();
      if (state().blocks > 0) {
        transform_divisor();
        GPUINT_UNROLL(1)
        while (state().block != 0) {
          take();
          if (threadIdx.x == 0) state().block -= 1;
          sync();
        }
      }
      sync();
      finish();
    }
  }

  // The part of u above the blocks, and zeros in the quotient there.
  GPUINT_DEVICE void begin() const {
    const Shifted u = dividend(), v = divisor();
    const u32 from = state().blocks * PIECE, length = state().pieces * PIECE, own = thread();
    u32* const to = rest();
    for (u32 first = 0; first < length; first += PIECE)
      copy<8, THREADS>(
          own, [&](u32 l) { return u[from + first + l]; },
          [&](u32 l, u32 limb) { to[first + l] = limb; });
    if (own <= state().steps) to[length + own] = u[from + length + own];
    if (own == 0) state().top_limb = v[length - 1];
    u32* const q = plan.quotient(state().row);
    if (q != nullptr) {
      const u32 zero[WORD] = {};
      for (u32 l = from + WORD * own; l < S::N; l += WORD * THREADS) store_word(q + l, zero);
    }
    sync();
  }

  GPUINT_DEVICE u32 reduce(u32 offset) const {
    u32* const window = rest() + offset;
    const Shifted v = divisor();
    return Reduce<THREADS, 8>::run(
        thread(), words(), state().pieces * PIECE, [&](u32 l) -> u32& { return window[l]; },
        [&](u32 l) { return v[l]; });
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
      add_to_quotient(state().blocks * PIECE + i, reduce(i));
  }

  // The spectra of the reciprocal, step 0, and of the windows.
  GPUINT_DEVICE void transform_divisor() const {
    GPUINT_UNROLL(1)
    for (u32 step = 0; step <= state().pieces; ++step) {
      sync();
      u32 top = 0;
      if (step == 0) {
        const auto x = plan.reciprocal(state().row, PIECE);
        copy<8, THREADS>(
            thread(), [&](u32 l) { return x[l]; },
            [&](u32 l, u32 limb) { block()[limb_at(l)] = limb; });
        if (threadIdx.x == 0) block()[limb_at(PIECE)] = x[PIECE];
        sync();
        top = with_carry(block()[limb_at(PIECE)], digit_of(block(), P - 1));
        if (threadIdx.x == 0) state().lead = top;
      } else {
        // From the limb below the window on, whose sign bit carries into the lowest digit.
        const Shifted v = divisor();
        const u32 from = (step - 2) * PIECE - 1;
        copy<16, THREADS>(
            thread(), [&](u32 l) { return limb_of(v, from + l); },
            [&](u32 l, u32 limb) { staged()[limb_at(l)] = limb; });
        if (threadIdx.x == 0) staged()[limb_at(P)] = limb_of(v, from + P);
        sync();
      }
      Complex x[fft::RADIX];
      transform().forward(x, step == 0 ? block() : staged(), step == 0 ? 0 : 2, step != 0, top,
                          step == 0);
      F::store(spectrum(step == 0 ? 0 : step + 1), x);
    }
  }
  // Limb l of the divisor; l may be negative.
  GPUINT_DEVICE static u32 limb_of(const Shifted& v, u32 l) {
    return static_cast<i32>(l) < 0 ? 0 : v[l];
  }

  // A block of quotient: its estimate, its spectrum, and R piece by piece.
  GPUINT_DEVICE void take() const {
    sync();
    {
      const u32* const from = rest() + (state().pieces - 1) * PIECE - 1;
      const Shifted u = dividend();
      const u32 next_limbs = (state().block - 1) * PIECE;
      copy<8, THREADS>(
          thread(), [&](u32 l) { return from[l]; },
          [&](u32 l, u32 limb) { old(1)[limb_at(l)] = limb; });
      if (threadIdx.x == 0) old(1)[limb_at(PIECE)] = from[PIECE];
      copy<8, THREADS>(
          thread(), [&](u32 l) { return u[next_limbs + l]; },
          [&](u32 l, u32 limb) { next()[limb_at(l)] = limb; });
    }
    sync();
    i64 carry = 0;
    // Phase 0 estimates Q, phase 1 transforms it, phase 2 + k updates piece k.
    GPUINT_UNROLL(1)
    for (u32 phase = 0; phase < 2 + state().pieces; ++phase) {
      Complex x[fft::RADIX];
      u32 top = 0;
      if (phase < 2) {
        const u32* const operand = phase == 0 ? old(1) : block();
        top = phase == 0
                  ? with_carry(digit_of(operand, P + 1) + (rest()[state().pieces * PIECE] << 16),
                               digit_of(operand, P))
                  : with_carry(operand[limb_at(PIECE + 1)], digit_of(operand, P + 1));
        const fft::Last last = transform().forward(x, operand, phase == 0 ? 1 : 2, false, top);
        if (phase == 1) {
          F::store(spectrum(1), x);
          write_quotient(state().block - 1);
          continue;
        }
        transform().convolve(x, last, spectrum(0));
      } else {
        const u32 piece = phase - 2;
        const Complex* const from = spectrum(1);
        GPUINT_UNROLL(16)
        for (u32 i = 0; i < fft::RADIX; ++i) x[i] = F::load(from + i * THREADS);
        const u32* const limbs = rest() + piece * PIECE;
        copy<8, THREADS>(
            thread(), [&](u32 l) { return limbs[l]; },
            [&](u32 l, u32 limb) { old(piece)[limb_at(l)] = limb; });
        transform().convolve(x, transform().last(), spectrum(phase));
      }
      const u32 own = thread();
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < fft::RADIX; ++i) {
        const i64 column = rounded<P>(x[i].im);
        columns()[R::place(own + i * THREADS)] = phase == 0 ? column : -column;
      }
      sync();
      if (phase == 0)
        estimate(top);
      else
        carry = update(phase - 2, carry);
      sync();
    }
  }

  GPUINT_DEVICE void estimate(u32 top) const {
    const u32 own = thread();
    u32 limb[8];
    i64 high = R::template run<false>(columns(), own, words(), limb, 0,
                                      [&](u32 i) { return i == 0 && own == 0 ? -MARGIN : i64(0); });
    high += i64(top) * state().lead;
    if (own == 0) state().fraction = limb[0], state().negative = high < 0 ? 1 : 0;
    store_estimate<PIECE>(block(), own, high, limb);
  }

  GPUINT_DEVICE void write_quotient(u32 b) const {
    u32* const q = plan.quotient(state().row);
    if (q == nullptr) return;
    copy<8, THREADS>(
        thread(), [&](u32 l) { return block()[limb_at(l + 1)]; },
        [&](u32 l, u32 limb) { q[b * PIECE + l] = limb; });
    const u32 more = block()[limb_at(PIECE + 1)];
    GPUINT_ASSERT(more == 0 || (b + 1) * PIECE < S::N, "a quotient is no longer than its row");
    add_to_quotient((b + 1) * PIECE, more);
  }

  // Piece k of W - Q V, given the carry from the pieces below; returns the carry to the next.
  GPUINT_DEVICE i64 update(u32 k, i64 carry) const {
    const u32 own = thread();
    const u32* const added = (k == 0 ? next() : old(k + 1)) + limb_at(8 * own);
    u32 limb[8], word[WORD];
    const i64 high = R::template run<false>(columns(), own, words(), limb, 0, [&](u32 i) {
      if (i % WORD == 0) load_word(added + i, word);
      return i64(word[i % WORD]) + (i == 0 && own == 0 ? carry : i64(0));
    });
    u32* const to = rest() + k * PIECE;
    GPUINT_UNROLL(2)
    for (u32 i = 0; i < 8; i += WORD) store_word(to + 8 * own + i, limb + i);
    if (k + 1 == state().pieces && own == THREADS - 1) {
      constexpr double BASE = 4294967296.0;
      const double left = (state().fraction + double(MARGIN)) / BASE - state().negative;
      const double above = left * (state().top_limb / BASE) - limb[7] / BASE;
      GPUINT_ASSERT(above > -0.1 && above < 1.2, "the remainder is below 1.1 V");
      to[PIECE] = static_cast<u32>(above + 0.5);
    }
    return high;
  }

  // Subtracts the remaining multiples of V, and writes the remainder.
  GPUINT_DEVICE void finish() const {
    {
      const u32* const top = rest() + state().pieces * PIECE;
      if (top[0] != 0 || top[-1] >= state().top_limb) add_to_quotient(0, reduce(0));
    }
    u32* const r = plan.remainder(state().row);
    if (r == nullptr) return;
    const u32 length = state().pieces * PIECE;
    const u32* const left = rest();
    write_shifted<S::N, THREADS>(r, thread(), state().distance, length,
                                 [&](u32 l) { return left[l]; });
  }
};

}  // namespace gpuint::fft_division
