// Squares modulo special moduli N = k 2^n + c, in digits of a transform that stay in shared memory.
//
// With t = 2^16, n + f = 16 q, 0 <= f < 16, N' = 2^f N = k t^q + c 2^f and x^2 = hi t^q + lo,
//     y = m k lo - m c 2^f hi
// is congruent to m k x^2 modulo N' (special.cuh, where f is 0), and so modulo N. Digits are
// signed. A pass from columns of x^2 to digits of y - Q N' has one exchange between neighbours, and
// resolves no carries of the row. Rows are reduced modulo N when they are written.
//
// Bounds (`fits_digits` of src/special.rs): 16 q < BITS, 16 q and the bits of k are at most BITS +
// 4, m k |c| 2^f <= 2^42, |c| 2^f <= 2^19.
//
// Chains over a chunk (digit_squares.cuh): the digits 0 .. t - 1 of lo and hi, of which carries L
// and H are left, and the digits -t / 2 .. t / 2 of y, of which a carry E is left. The chunk above
// adds
//     E - m c 2^f H + m k L,
// where |E| < 2^32, |H|, |L| < 2^30: less than 2^62. Four digits take it; the fifth one gets a
// carry of -1 .. 1 and keeps it. So digits are from -2^15 - 1 to 2^15 + 1.
//
// Quotient. y / N' = m lo / t^q - (m c 2^f / k) hi / t^q but for 2^-64. The sums of four columns
// below t^q, and of seven around t^(2q), have relative errors below 2^-80. Their partial sums are
// at most 10 times as large as x^2 (of a row whose top digit is 1, the others can be half of it). A
// dozen roundings of 10 m k |c| 2^f are below 1/16. So for Q, the nearest integer,
//     |y - Q N'| < (1/2 + 1/16 + 2^-30) N'.
//
// Top. y - Q N' is TOP t^q and the digits below; |TOP| < 0.6 k + 1. It is computed modulo 2^64: the
// carry of the highest chunk, three columns of hi, and -Q k. It has one digit where there is place
// for one only, and two elsewhere; the highest one is at most 0.6 2^20.
#pragma once
#include "core/carry.cuh"
#include "modular/fft/digit_squares.cuh"
#include "modular/special.cuh"

namespace gpuint {

struct SpecialFormat {
  struct Modulus {
    double ratio;  // c 2^f / k
    u32 k;
    i32 term;  // c 2^f
    u32 top;   // q
    u32 unused;
  };
  using Column = i64;
  using Carry = i64;
  static constexpr u32 ABOVE = 3;
};

template <class S>
struct SpecialDigits : DigitSquares<S, SpecialFormat> {
  using Squares = DigitSquares<S, SpecialFormat>;
  using Squares::ABOVE;
  using Squares::carries;
  using Squares::CHUNK;
  using Squares::column;
  using Squares::column_above;
  using Squares::column_of_hi;
  using Squares::digit;
  using Squares::DIGITS;
  using Squares::first_digit;
  using Squares::nearest;
  using Squares::set_digit;
  using Squares::shared;
  using Squares::THREADS;
  using typename Squares::G;
  using typename Squares::Modulus;
  using typename Squares::Quotient;

  GPUINT_DEVICE SpecialDigits(const Operands& o, unsigned char* bytes) : Squares(o, bytes) {}

  // Reads a row below N, and its modulus.
  GPUINT_DEVICE void read(const u32* row, const SpecialModulus& modulus) const {
    const u16* const halves = reinterpret_cast<const u16*>(row);
    for (u32 j = ptx::rematerialize(threadIdx.x); j < DIGITS; j += THREADS) {
      const u32 half = __ldg(halves + j), below = j == 0 ? 0 : __ldg(halves + j - 1);
      const bool is_negative = half >> 15 != 0 && j + 1 < DIGITS;
      set_digit(static_cast<i32>(j),
                static_cast<i32>(half + (below >> 15)) - (is_negative ? 0x10000 : 0));
    }
    if (threadIdx.x == 0) {
      const u32 top = ceil_div(modulus.n, 16);
      const i32 term = modulus.c * (1 << (16 * top - modulus.n));
      Squares::modulus() = {static_cast<double>(term) / modulus.k, modulus.k, term, top, 0};
    }
    __syncthreads();
  }

  // Replaces the row x by m k x^2 modulo N', from -0.6 N' to 0.6 N', for the factor m.
  GPUINT_DEVICE void square(u32 factor) const { Squares::square_by(*this, factor); }

  // Writes the row, reduced to 0 .. N.
  GPUINT_DEVICE void write(u32* row, const SpecialModulus& modulus) const {
    if (threadIdx.x == 0) reduce(modulus);
    __syncthreads();
    G group(shared);
    constexpr u32 K = 8;
    // Limbs k .. k + K before carries, plus 2 B^(k + K) and minus 2 B^k, so that carries are 0 ..
    // 3.
    const auto chunk = [&](u32 k, u32(&limb)[K]) {
      i64 carry = k == 0 ? 0 : -2;
      GPUINT_UNROLL(K)
      for (u32 i = 0; i < K; ++i) {
        const u32 j = 2 * (k + i);
        if (j < DIGITS) carry += digit(j) + digit(j + 1) * i64{0x10000};
        limb[i] = static_cast<u32>(carry);
        carry >>= 32;
      }
      return static_cast<u32>(carry + 2);
    };
    bool is_negative = false;
    resolve<Sign::Plus, LocalCarry::Small, u32, K>(group, S::N + 1, chunk,
                                                   [&](u32 k, u32(&limb)[K]) {
                                                     if (k == S::N)
                                                       is_negative = limb[0] >> 31 != 0;
                                                   });
    if (group.max(is_negative ? 1u : 0u) != 0) {
      __syncthreads();
      if (threadIdx.x == 0) add_multiple(modulus, 1);
      __syncthreads();
    }
    resolve<Sign::Plus, LocalCarry::Small, u32, K>(group, S::N, chunk, [&](u32 k, u32(&limb)[K]) {
      store_word(row + k, limb);
      store_word(row + k + WORD, limb + WORD);
    });
    __syncthreads();  // nobody reads digits any more
  }

  // Q and TOP; q is digit `top` of the window.
  GPUINT_DEVICE Quotient divide(const Modulus& n, u32 top, u32 factor) const {
    constexpr double T = 65536;
    const auto above = [&](u32 i) { return column_above(n, top, i); };
    double lo = 0, hi = 0;
    GPUINT_UNROLL(4)
    for (u32 i = 4; i > 0; --i) lo = (lo + static_cast<double>(column(top - i))) / T;
    u64 sum = 0;
    GPUINT_UNROLL(3)
    for (u32 i = ABOVE; i-- > 0;) {
      hi = fma(hi, T, static_cast<double>(above(i)));
      sum = (sum << 16) + static_cast<u64>(above(i));
    }
    GPUINT_UNROLL(4)
    for (u32 i = 1; i <= 4; ++i) hi = fma(hi, T, static_cast<double>(column_of_hi(top - i)));
    hi /= T * T * T * T;
    const i64 quotient = nearest(factor * fma(-n.ratio, hi, lo));
    const i64 mc = i64{n.term} * factor;
    return {quotient, -quotient * n.k - mc * static_cast<i64>(sum)};
  }

  // Digits of y - Q N' from the columns of a window that begins with a chunk, except for carries
  // between chunks.
  GPUINT_DEVICE void add_columns(const Modulus& n, u32 begin, u32 chunks, u32 factor,
                                 i64 quotient) const {
    constexpr i64 HALF = 0x8000;
    const u32 thread = ptx::rematerialize(threadIdx.x), index = begin + thread;
    if (index >= chunks) return;
    const u32 mk = n.k * factor;
    const i32 mc = n.term * static_cast<i32>(factor);
    const i32 first = first_digit(n, index, chunks);
    i64 lo = 0, hi = 0, sum = HALF;
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < CHUNK; ++i) {
      const i32 j = first + static_cast<i32>(i);
      if (j == 0) sum -= quotient * n.term;
      lo += column(CHUNK * thread + i);
      hi += column_of_hi(CHUNK * thread + i);
      sum += static_cast<i64>(u64(mk) * static_cast<u16>(lo)) - i64{mc} * static_cast<u16>(hi);
      lo >>= 16, hi >>= 16;
      set_digit(j, static_cast<i32>(static_cast<u16>(sum)) - 0x8000);
      sum = (sum >> 16) + HALF;
    }
    carries()[index] = sum - HALF - mc * hi + mk * lo;
  }

  // Adds the carries between chunks, and sets the digits from q on.
  GPUINT_DEVICE void add_carries(const Modulus& n, u32 chunks, u32, i64 top) const {
    constexpr u32 TAKERS = 5;  // digits
    const u32 thread = ptx::rematerialize(threadIdx.x);
    GPUINT_UNROLL(1)
    for (u32 index = thread == 0 ? THREADS : thread; index < chunks; index += THREADS) {
      const i32 first = first_digit(n, index, chunks);
      i64 sum = carries()[index - 1];
      GPUINT_UNROLL(5)
      for (u32 i = 0; i < TAKERS; ++i) {
        const i32 j = first + static_cast<i32>(i);
        sum += digit(j);
        const i32 low = i + 1 < TAKERS ? balanced(sum) : static_cast<i32>(sum);
        GPUINT_ASSERT(low >= -0x8001 && low <= 0x8001, "the last digit takes a small carry");
        set_digit(j, low);
        sum = (sum - low) >> 16;
      }
    }
    if (thread == 0) set_top(n, top + carries()[chunks - 1]);
  }

 private:
  // Lowest 16 bits, as a number of -2^15 .. 2^15 - 1.
  GPUINT_DEVICE static i32 balanced(i64 x) { return static_cast<i16>(x); }

  GPUINT_DEVICE void set_top(const Modulus& n, i64 top) const {
    GPUINT_ASSERT(fabs(static_cast<double>(top)) < 0.6 * n.k + 1, "the nearest quotient");
    const i32 at = static_cast<i32>(n.top);
    const bool has_two = n.top + 1 < DIGITS;
    const i32 low = has_two ? balanced(top) : static_cast<i32>(top);
    set_digit(at, low);
    if (has_two) set_digit(at + 1, static_cast<i32>((top - low) >> 16));
  }

  // Subtracts the multiple of N that leaves -N / 32 .. N, without carries.
  GPUINT_DEVICE void reduce(const SpecialModulus& modulus) const {
    constexpr double T = 65536;
    const u32 top = ceil_div(modulus.n, 16);
    double x = 0;
    for (u32 j = top + 2; j-- > top - 4;) x = x * T + (j < DIGITS ? digit(j) : 0);
    x /= T * T * T * T;
    const double scale = static_cast<double>(1u << (16 * top - modulus.n));
    // A half less is rounded: the quotient is rounded down.
    add_multiple(modulus, -nearest(x * scale / modulus.k + (1.0 / 64 - 0.5)));
  }

  // Adds a multiple of N, of up to 2^17, to the digits, without carries.
  GPUINT_DEVICE void add_multiple(const SpecialModulus& modulus, i64 count) const {
    add(0, count * modulus.c);
    add(modulus.n / 16, count * modulus.k * (i64{1} << modulus.n % 16));
  }
  GPUINT_DEVICE void add(u32 j, i64 number) const {
    for (; j < DIGITS && number != 0; ++j) {
      const i32 low = j + 1 < DIGITS ? balanced(number) : static_cast<i32>(number);
      set_digit(static_cast<i32>(j), digit(j) + low);
      number = (number - low) >> 16;
    }
  }
};

}  // namespace gpuint
