// BinaryGcd: the greatest common divisor of two rows that fit the registers of a thread.
//
// Binary steps on approximations of one word (T. Pornin, "Optimized binary GCD for modular
// inversion", IACR ePrint 2020/972). After the common power of two is taken out, one number b is
// odd and stays so. A step on (a, b) is
//     if a is odd: (a, b) = (|a - b|, min(a, b));    a = a / 2.
// All lanes of a warp do k = 15 steps in a pass, without branches, on the words
//     A = (a mod 2^k) + 2^k floor(a / 2^(n - t)),    t = 17,
// and B, with n > 32 the length of the longer number in bits; the numbers themselves if n <= 32.
// The steps find (a', b') = M (a, b) / 2^k, and the pass computes these from the numbers.
//
// Entries: the first i steps have a row of M for a and one for b, with |u| + |v| <= 2^i in each.
// The entries of a row have opposite signs, + in a column in one row and - in the other, so a step
// that subtracts adds magnitudes: both of a row are in one word, 2^16 u + v. A step that exchanges
// the numbers negates the determinant, which is +-2^k: its sign says whether x or y is odd.
//
// Parity: the low k bits of the words are right, so each step is one of (a, b) for all but the
// comparison, and every step keeps the greatest common divisor, whichever number is subtracted. A
// wrong comparison may make a' or b' negative, and the magnitude is taken. Because |u| + |v| <= 2^k
// with opposite signs, neither a' nor b' is longer than n bits.
//
// The loop ends: let S be the sum of both lengths, l(.) a length in bits. For n <= 32 a pass is k
// steps of the numbers, each of which makes S smaller until a = 0. For n > 32 a word times
// 2^(n - t - k) differs by less than 2^(n - t) from its number, and so do the results of the steps,
// whose entries are divided by 2^k. Hence with A', B' the words after the steps
//     l(a') <= 1 + n - t + max(l(A') - k, 0),    the same for b'.
// If A is even in all steps, a' = a / 2^k and b' = b. Otherwise let i < k steps precede the first
// one with A odd; then B' <= min(A, B).
// - The shorter number has n - t bits or less, so its word has k or less. If that is b, the steps
//   exchange nothing, as A >= 2^t - 2^k > B whenever they compare: b' = b, l(a') <= n + 1 - k. If
//   it is a, they exchange the first odd A and nothing later: b' = a / 2^i, l(a') <= n + 1 + i - k.
//   So S falls by k - 1 or more.
// - It has more. Then S = l(A) + l(B) + 2 (n - t - k), one of l(A), l(B) is k + t, and both are
//   above k. Each step makes l(A) + l(B) smaller and none makes B longer.
//   - A' and B' have more than k bits: S falls by k - 2 or more.
//   - A' has k or less: l(a') + l(b') <= 2 (n - t) + 2 + min(l(A), l(B)) - k. S falls by t - 2.
//   - Only B' has k or less. Let step j make it so, by an exchange. From there on B < 2^k <= A, so
//     A is halved in the k - j steps left, and was less than half of the B before: l(A') < l(B) -
//     (k - j). So l(a') + l(b') <= 2 (n - t - k) + 1 + l(B) + j, which is less than S unless j = k
//     and l(A) = k + 1 < l(B). Then it is the first exchange, as after another one B has k + 1 bits
//     and A' has k. So A was even before, b' = a / 2^(k - 1), and l(a') <= n.
//
// Two rounds of k steps share a pass: the words of the first are those of 64 bits X, Y of the
// numbers, the lowest 31 and the leading 33, with |a - s X| < 2^31 s for s = 2^(n - 64). The first
// round maps X, Y to X', Y', for which the same holds. The second one takes its words A, B from
// them, if they have n' >= 49 bits in the longer, are not negative, and A, B >= 2^(k + 5). With c =
// s 2^(n' - 32) then |a - c A| < 1.5 c 2^k, and X' >= 2^37 is at least twice its error, so
//     l(a') <= log2 c + 2 + max(l(A') - k, 0) + k,    l(a) >= log2 c + l(A) - 1.
// As above S falls: by k - 6 if A' and B' have more than k bits, by t - 6 if A' has k or less, and
// by l(A) - 5 - j >= 1 if only B' has. Numbers of 64 bits are X, Y themselves, and both rounds are
// as above.
#pragma once
#include "core/abi.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/ptx.cuh"
#include "core/thread_rows.cuh"
#include "tuning/euclid.cuh"

namespace gpuint {

// out[0] = gcd(in[0], in[1]).
template <class S>
struct BinaryGcd : ThreadRows<S, GcdPolicy::THREADS, GcdPolicy::registers(S::BITS)> {
  using Rows = ThreadRows<S, GcdPolicy::THREADS, GcdPolicy::registers(S::BITS)>;
  static constexpr u32 LIMBS = Rows::LIMBS;

  static __device__ void run(const Operands& o, unsigned char*) {
    Rows::each(o, [&](u64 row) {
      Pair pair;
      Rows::read(input_row<S>(o, 0, row), pair.x);
      Rows::read(input_row<S>(o, 1, row), pair.y);
      const u32 zeros = pair.take_zeros();
      while (pair.pass()) {
      }
      pair.put_zeros(zeros);
      Rows::write(output_row<S>(o, 0, row), pair.x);
    });
  }

 private:
  static constexpr u32 STEPS = 15;
  static constexpr u32 CHUNK = 2;  // limbs between two looks at the length
  // Bounds of the second round: of the highest limb after the first, and of both words.
  static constexpr u32 MIN_TOP = 1u << 16, MIN_WORD = 1u << (STEPS + 5);
  static constexpr u32 MAX_LENGTH = round_up(LIMBS, CHUNK);

  // Entries of x and y in a row of a matrix, of opposite signs.
  struct Row {
    u32 x, y;
  };
  // x' = u x - v y, y' = v' y - u' x.
  struct Matrix {
    Row of_x, of_y;
  };

  // Two numbers of N limbs.
  template <u32 N>
  struct Numbers {
    u32 x[N], y[N];

    // Applies a matrix to the lowest `limbs` limbs, whole chunks, and divides by 2^shift. Returns 1
    // if x' is negative, plus 2 if y' is. Subtraction adds the complement: with m limbs of y,
    // v (2^(32 m) - 1 - y) + v is v 2^(32 m) above -v y.
    GPUINT_DEVICE u32 transform(const Matrix& m, u32 shift, u32 limbs) {
      u32 x_carry = m.of_x.y, y_carry = m.of_y.x, x_below = 0, y_below = 0;
      GPUINT_UNROLL(N)
      for (u32 i = 0; i < N; ++i) {
        if (i % CHUNK == 0 && i >= limbs) break;
        const u32 x_limb = x[i], y_limb = y[i];
        const u32 x_sum = sum_of_products(m.of_x.x, x_limb, m.of_x.y, ~y_limb, x_carry);
        const u32 y_sum = sum_of_products(m.of_y.y, y_limb, m.of_y.x, ~x_limb, y_carry);
        if (i > 0) {
          x[i - 1] = __funnelshift_r(x_below, x_sum, shift);
          y[i - 1] = __funnelshift_r(y_below, y_sum, shift);
        }
        x_below = x_sum, y_below = y_sum;
        if (i % CHUNK == CHUNK - 1 || i + 1 == N) {
          x[i] = __funnelshift_r(x_sum, x_carry - m.of_x.y, shift);
          y[i] = __funnelshift_r(y_sum, y_carry - m.of_y.x, shift);
        }
      }
      return (x_carry - m.of_x.y) >> 31 | (y_carry - m.of_y.x) >> 31 << 1;
    }
  };

  // 64 bits of both numbers: the numbers themselves, or their leading 33 bits and lowest 31.
  struct Leading : Numbers<CHUNK> {
    using Numbers<CHUNK>::x;
    using Numbers<CHUNK>::y;

    // Computes the words A and B. Returns the highest limb of both.
    GPUINT_DEVICE u32 words(bool is_x_odd, u32& a, u32& b) const {
      const u32 top = x[1] | y[1];
      const u32 shift =
          static_cast<u32>(__clz(static_cast<int>(top)));  // 32: the low limb is the word
      constexpr u32 LOW = (1u << STEPS) - 1;
      const u32 of_x = (__funnelshift_lc(x[0], x[1], shift) & ~LOW) | (x[0] & LOW);
      const u32 of_y = (__funnelshift_lc(y[0], y[1], shift) & ~LOW) | (y[0] & LOW);
      a = is_x_odd ? of_y : of_x;
      b = is_x_odd ? of_x : of_y;
      return top;
    }
  };

  struct Pair : Numbers<LIMBS> {
    using Numbers<LIMBS>::x;
    using Numbers<LIMBS>::y;
    u32 length;     // a bound of the limbs of both, whole chunks
    bool is_x_odd;  // the odd number b is x

    // Divides both by the highest common power of two and returns its exponent, so that one is odd
    // or both are zero.
    GPUINT_DEVICE u32 take_zeros() {
      u32 any = 0;
      GPUINT_UNROLL(LIMBS)
      for (u32 i = 0; i < LIMBS; ++i) any |= x[i] | y[i];
      length = MAX_LENGTH;
      u32 zeros = 0;
      if (any != 0) {
        GPUINT_UNROLL(1)
        for (; (x[0] | y[0]) == 0; zeros += 32) {
          GPUINT_UNROLL(LIMBS)
          for (u32 i = 0; i < LIMBS; ++i) {
            x[i] = i + 1 < LIMBS ? x[i + 1] : 0;
            y[i] = i + 1 < LIMBS ? y[i + 1] : 0;
          }
        }
        const u32 bits = static_cast<u32>(__ffs(static_cast<int>(x[0] | y[0]))) - 1;
        GPUINT_UNROLL(LIMBS)
        for (u32 i = 0; i < LIMBS; ++i) {
          x[i] = __funnelshift_r(x[i], i + 1 < LIMBS ? x[i + 1] : 0, bits);
          y[i] = __funnelshift_r(y[i], i + 1 < LIMBS ? y[i + 1] : 0, bits);
        }
        zeros += bits;
      }
      is_x_odd = (y[0] & 1) == 0;
      return zeros;
    }

    // x = b 2^zeros.
    GPUINT_DEVICE void put_zeros(u32 zeros) {
      GPUINT_UNROLL(LIMBS)
      for (u32 i = LIMBS; i-- > 0;) {
        if (!is_x_odd) x[i] = y[i];
      }
      GPUINT_UNROLL(1)
      for (; zeros >= 32; zeros -= 32) {
        GPUINT_UNROLL(LIMBS)
        for (u32 i = LIMBS; i-- > 0;) x[i] = i > 0 ? x[i - 1] : 0;
      }
      GPUINT_UNROLL(LIMBS)
      for (u32 i = LIMBS; i-- > 0;) x[i] = __funnelshift_l(i > 0 ? x[i - 1] : 0, x[i], zeros);
    }

    // Does a pass of one or two rounds. Returns false if a is zero.
    GPUINT_DEVICE bool pass() {
      Leading t = leading<MAX_LENGTH>();
      const bool is_exact = length == CHUNK;
      u32 a, b;
      t.words(is_x_odd, a, b);
      if (a == 0 && is_zero()) return false;
      Matrix m = steps(a, b);
      u32 shift = STEPS;
      const bool is_right = t.transform(m, STEPS, CHUNK) == 0;
      const u32 top = t.words(is_x_odd, a, b);
      if (is_right && (is_exact || (top >= MIN_TOP && min_of(a, b) >= MIN_WORD))) {
        const Matrix n = steps(a, b);
        m = {
            {n.of_x.x * m.of_x.x + n.of_x.y * m.of_y.x, n.of_x.x * m.of_x.y + n.of_x.y * m.of_y.y},
            {n.of_y.y * m.of_y.x + n.of_y.x * m.of_x.x, n.of_y.y * m.of_y.y + n.of_y.x * m.of_x.y}};
        shift = 2 * STEPS;
      }
      const u32 negative = Numbers<LIMBS>::transform(m, shift, length);
      if (negative != 0) {
        GPUINT_RARE(WrongComparison);
        if ((negative & 1) != 0) negate(x);
        if ((negative & 2) != 0) negate(y);
      }
      return true;
    }

   private:
    // Does STEPS steps on the words A and B. Returns their matrix, and sets `is_x_odd`.
    GPUINT_DEVICE Matrix steps(u32 a, u32 b) {
      // Entries of x in the high half, of y in the low half.
      u32 of_a = is_x_odd ? 1 : 1u << 16, of_b = is_x_odd ? 1u << 16 : 1;
      GPUINT_UNROLL(STEPS)
      for (u32 i = 0; i < STEPS; ++i) {
        const u32 odd = a & 1, subtrahend = ptx::mad_lo(odd, b, 0);
        const bool is_less = a < subtrahend;
        const u32 kept = is_less ? of_a : of_b;
        b = is_less ? a : b;
        a = (is_less ? subtrahend - a : a - subtrahend) >> 1;
        of_a = ptx::mad_lo(odd, of_b, of_a);
        of_b = 2 * kept;
      }
      const Row a_row = unpack(of_a), b_row = unpack(of_b);
      is_x_odd = static_cast<i32>(a_row.x * b_row.y - a_row.y * b_row.x) < 0;
      return {unpack(is_x_odd ? of_b : of_a), unpack(is_x_odd ? of_a : of_b)};
    }
    GPUINT_DEVICE static Row unpack(u32 packed) { return {packed >> 16, packed & 0xffff}; }

    // Returns 64 bits of both numbers, from the highest chunk that is not zero, of limbs END - 2
    // and END - 1 or below; shrinks `length`.
    template <u32 END>
    GPUINT_DEVICE Leading leading() {
      Leading t;
      if constexpr (END == CHUNK) {
        t.x[0] = x[0], t.y[0] = y[0];
        t.x[1] = 0, t.y[1] = 0;
        if constexpr (LIMBS > 1) t.x[1] = x[1], t.y[1] = y[1];
      } else {
        constexpr u32 LOWER = END - 2, UPPER = END - 1;
        u32 x_upper = 0, y_upper = 0;
        if constexpr (UPPER < LIMBS) x_upper = x[UPPER], y_upper = y[UPPER];
        const bool is_upper = (x_upper | y_upper) != 0;
        if (END > length || (!is_upper && (x[LOWER] | y[LOWER]) == 0)) return leading<LOWER>();
        const u32 x_high = is_upper ? x_upper : x[LOWER],
                  x_next = is_upper ? x[LOWER] : x[LOWER - 1];
        const u32 y_high = is_upper ? y_upper : y[LOWER],
                  y_next = is_upper ? y[LOWER] : y[LOWER - 1];
        const u32 shift = static_cast<u32>(__clz(static_cast<int>(x_high | y_high)));
        constexpr u32 LOW = ~0u >> 1;
        t.x[1] = __funnelshift_l(x_next, x_high, shift),
        t.x[0] = (x_next << shift & ~LOW) | (x[0] & LOW);
        t.y[1] = __funnelshift_l(y_next, y_high, shift),
        t.y[0] = (y_next << shift & ~LOW) | (y[0] & LOW);
      }
      length = END;
      return t;
    }

    // Returns true if the number a is zero.
    GPUINT_DEVICE bool is_zero() const {
      u32 any = 0;
      GPUINT_UNROLL(LIMBS)
      for (u32 i = 0; i < LIMBS; ++i) any |= is_x_odd ? y[i] : x[i];
      return any == 0;
    }

    GPUINT_DEVICE void negate(u32 (&z)[LIMBS]) const {
      u32 carry = 1;
      GPUINT_UNROLL(LIMBS)
      for (u32 i = 0; i < LIMBS; ++i) {
        if (i % CHUNK == 0 && i >= length) break;
        z[i] = ~z[i] + carry;
        carry = z[i] < carry ? 1 : 0;
      }
    }
  };
};

}  // namespace gpuint
