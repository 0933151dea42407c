// Squares modulo special moduli N = k 2^n + c, in digits of a transform that stay in shared memory.
//
// With t = 2^16, n + f = 16 q, 0 <= f < 16, N' = 2^f N = k t^q + c 2^f and x^2 = hi t^q + lo,
//     y = m k lo - m c 2^f hi
// is congruent to m k x^2 modulo N' (special.cuh, where f is 0), and so modulo N. Digits are
// signed. A pass from columns of x^2 to digits of y - Q N' has one exchange between neighbours, and
// resolves no carries of the row. Rows are reduced modulo N when they are written.
//
// Bounds: 16 q and the bits of k are at most BITS, m k |c| 2^f <= 2^42, |c| 2^f <= 2^19.
//
// Chunks. Thread i has the 16 digits of chunk i; chunks end at digit q, so that the lowest one
// begins 0 .. 15 digits below digit 0. Three chains run over the columns of a chunk: the digits 0
// .. t - 1 of lo and hi, of which carries L and H are left, and the digits -t / 2 .. t / 2 of y, of
// which a carry E is left. The chunk above adds
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
// for one only, and two elsewhere; the highest one is at most 0.6 t.
//
// Exactness. The highest digit is at most t + 1. So the squares of the digits add up to less than
// 2^30 (D + 5), D of BITS, and columns are near integers, as those of product.cuh.
#pragma once
#include "core/abi.cuh"
#include "core/carry.cuh"
#include "core/group.cuh"
#include "core/rows.cuh"
#include "modular/special.cuh"
#include "transform/fft/passes.cuh"

namespace gpuint {

template <class S>
struct SpecialDigits {
  static constexpr u32 P = min_of(fft::POINTS, S::BITS / 16), DIGITS = S::BITS / 16;
  static constexpr u32 CHUNK = fft::RADIX, THREADS = DIGITS / CHUNK;
  static_assert((1 << 30) * (DIGITS + 5.0) * fft::relative_error(1) < 0.5, "columns round");
  using G = Group<THREADS>;

  // A modulus, the same for all threads, in shared memory.
  struct Modulus {
    double ratio;  // c 2^f / k
    u32 k;
    i32 term;  // c 2^f
    u32 top;   // q
    u32 unused;
  };

  // Shared memory: words, of which the last is 0; points or columns, with zeros below; digits, with
  // room below; carries; the modulus.
  static constexpr u32 POINTS = round_up(G::SCRATCH_BYTES + (CHUNK + 2) * u32{sizeof(i64)}, 128);
  static constexpr u32 COLUMN_BYTES = 2 * DIGITS / 16 * 17 * sizeof(i64);
  static constexpr u32 DIGITS_AT = POINTS + COLUMN_BYTES + (CHUNK + 1) * sizeof(u32);
  static constexpr u32 CARRIES_AT = round_up(DIGITS_AT + DIGITS / 32 * 33 * sizeof(u32), 8);
  static constexpr u32 MODULUS_AT = CARRIES_AT + THREADS * sizeof(i64);
  static constexpr u32 SHARED = MODULUS_AT + sizeof(Modulus);

  unsigned char* const shared;

  GPUINT_DEVICE explicit SpecialDigits(unsigned char* bytes) : shared(bytes) {
    // The word below the points, and columns below the first.
    const u32 thread = ptx::rematerialize(threadIdx.x);
    if (thread <= CHUNK) columns()[-1 - static_cast<i32>(thread)] = 0;
  }

  // Returns true if squares modulo the modulus, with this factor, are within the bounds.
  GPUINT_DEVICE static bool has(const SpecialModulus& modulus, u32 factor) {
    const u32 digits = ceil_div(modulus.n, 16);
    const u64 c = u64(modulus.c < 0 ? -modulus.c : modulus.c) << (16 * digits - modulus.n);
    return 16 * digits + bits_of(modulus.k) <= S::BITS && c <= 1 << 19 &&
           factor * c <= (u64(1) << 42) / modulus.k;
  }

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
      this->modulus() = {static_cast<double>(term) / modulus.k, modulus.k, term, top, 0};
    }
    __syncthreads();
  }

  // Replaces the row x by m k x^2 modulo N', from -0.6 N' to 0.6 N', for the factor m.
  GPUINT_DEVICE void square(u32 factor) const {
    static_assert(DIGITS == P, "a transform has one part");
    Complex x[fft::RADIX];
    unsigned char* const points = shared + POINTS;
    const fft::Exchange<P> exchange(points);
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < fft::RADIX; ++i)
      // 2^52 + 2^31 + digit, minus the added constant.
      x[i] = {__hiloint2double(0x43300000, digits()[place(exchange.thread + THREADS * i)]) -
                  4503601774854144.0,
              0};
    const fft::Last last = fft::transform<P, 1>(
        x, 0, points,
        [](Complex(&y)[fft::RADIX], const fft::FirstPass& turn) { fft::split_real(y, turn); },
        [] {});
    fft::multiply<0>(x, last, [&](u32 i) { return x[i]; });
    fft::inverse<P, 1>(x, points);
    fft::weigh<P, 1>(0, ptx::rematerialize(threadIdx.x), x);
    __syncthreads();  // nobody reads points any more
    const u32 thread = ptx::rematerialize(threadIdx.x);
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < fft::RADIX; ++i) {
      column(thread + THREADS * i) = rounded(x[i].re);
      column(DIGITS + thread + THREADS * i) = rounded(x[i].im);
    }
    __syncthreads();
    fold(factor);
    __syncthreads();
  }

  // Writes the row, reduced to 0 .. N.
  GPUINT_DEVICE void write(u32* row, const SpecialModulus& modulus) const {
    if (threadIdx.x == 0) reduce(modulus);
    __syncthreads();
    G group(shared);
    constexpr u32 K = 8;
    // Limbs k .. k + K before carries, plus 2 B^(k + K) and minus 2 B^k, so that carries are 0
    // .. 3.
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

 private:
  GPUINT_DEVICE i64* columns() const { return reinterpret_cast<i64*>(shared + POINTS); }
  // Column j, where 16 threads that access each 16th column, or neighbouring ones, reach all banks.
  GPUINT_DEVICE i64& column(i32 j) const { return columns()[j + (j >> 4)]; }
  GPUINT_DEVICE i64 column_or_zero(i32 j) const {
    return j < static_cast<i32>(2 * DIGITS) ? column(j) : 0;
  }
  // Digits are stored with 2^31 added. 32 threads that access each 16th digit, or neighbouring
  // ones, reach all banks.
  GPUINT_DEVICE u32* digits() const { return reinterpret_cast<u32*>(shared + DIGITS_AT); }
  GPUINT_DEVICE static i32 place(i32 j) { return j + (j >> 5); }
  GPUINT_DEVICE i32 digit(u32 j) const {
    return static_cast<i32>(digits()[place(static_cast<i32>(j))] ^ 0x80000000);
  }
  GPUINT_DEVICE void set_digit(i32 j, i32 digit) const {
    digits()[place(j)] = static_cast<u32>(digit) ^ 0x80000000;
  }
  GPUINT_DEVICE i64* carries() const { return reinterpret_cast<i64*>(shared + CARRIES_AT); }
  GPUINT_DEVICE Modulus& modulus() const {
    return *reinterpret_cast<Modulus*>(shared + MODULUS_AT);
  }

  GPUINT_DEVICE static i64 nearest(double x) {
    constexpr double ROUNDER = 6755399441055744.0;  // 1.5 * 2^52: at its size doubles are integers
    return __double_as_longlong(x + ROUNDER) - 0x4338000000000000;
  }
  GPUINT_DEVICE static i64 rounded(double x) {
    GPUINT_ASSERT(fabs(x - static_cast<double>(nearest(x))) <= fft::worst_error(1),
                  "columns are near integers");
    return nearest(x);
  }

  // Lowest 16 bits, as a number of -2^15 .. 2^15 - 1.
  GPUINT_DEVICE static i32 balanced(i64 x) { return static_cast<i16>(x); }
  GPUINT_DEVICE static u32 bits_of(u32 x) { return 32 - leading_zeros(x); }

  // Digits of y - Q N' from the columns.
  GPUINT_DEVICE void fold(u32 factor) const {
    const u32 thread = ptx::rematerialize(threadIdx.x);
    const Modulus n = modulus();
    const u32 chunks = ceil_div(n.top, CHUNK);
    const i32 below = static_cast<i32>(chunks * CHUNK - n.top);  // digits of the lowest chunk
    const i32 first = static_cast<i32>(thread * CHUNK) - below;
    const u32 mk = n.k * factor;
    const i32 mc = n.term * static_cast<i32>(factor);
    i64 quotient = 0, top = 0;
    if (thread == 0) {
      quotient = estimate(n, factor);
      top = -quotient * n.k - mc * above(n.top);
    }
    constexpr u32 TAKERS = 5;  // of a carry
    i32 lowest[TAKERS];
    if (thread < chunks) {
      constexpr i64 HALF = 0x8000;
      i64 lo = 0, hi = 0, sum = HALF;
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < CHUNK; ++i) {
        const i32 j = first + static_cast<i32>(i);
        if (j == 0) hi = 0, sum = HALF - quotient * n.term;
        lo += column(j);
        hi += column(static_cast<i32>(n.top) + j);
        sum += static_cast<i64>(u64(mk) * static_cast<u16>(lo)) - i64{mc} * static_cast<u16>(hi);
        lo >>= 16, hi >>= 16;
        const i32 digit = static_cast<i32>(static_cast<u16>(sum)) - 0x8000;
        sum = (sum >> 16) + HALF;
        if (i < TAKERS)
          lowest[i] = digit;
        else
          set_digit(j, digit);
      }
      carries()[thread] = sum - HALF - mc * hi + mk * lo;
    }
    __syncthreads();
    if (thread < chunks) {
      // The lowest chunk has nothing below.
      i64 sum = thread == 0 ? 0 : carries()[thread - 1];
      GPUINT_UNROLL(5)
      for (u32 i = 0; i < TAKERS; ++i) {
        sum += lowest[i];
        const i32 digit = i + 1 < TAKERS ? balanced(sum) : static_cast<i32>(sum);
        GPUINT_ASSERT(digit >= -0x8001 && digit <= 0x8001, "the last digit takes a small carry");
        set_digit(first + static_cast<i32>(i), digit);
        sum = (sum - digit) >> 16;
      }
    }
    if (thread == 0) set_top(n, top + carries()[chunks - 1]);
  }

  // Q.
  GPUINT_DEVICE i64 estimate(const Modulus& n, u32 factor) const {
    constexpr double T = 65536;
    const i32 top = static_cast<i32>(n.top);
    double lo = 0, hi = 0;
    GPUINT_UNROLL(4)
    for (i32 i = 4; i > 0; --i) lo = (lo + static_cast<double>(column(top - i))) / T;
    GPUINT_UNROLL(7)
    for (i32 i = 2; i >= -4; --i) hi = fma(hi, T, static_cast<double>(column_or_zero(2 * top + i)));
    hi /= T * T * T * T;
    return nearest(factor * fma(-n.ratio, hi, lo));
  }

  // hi / t^q modulo 2^64.
  GPUINT_DEVICE i64 above(u32 top) const {
    u64 sum = 0;
    GPUINT_UNROLL(3)
    for (u32 i = 0; i < 3; ++i)
      sum += static_cast<u64>(column_or_zero(static_cast<i32>(2 * top + i))) << 16 * i;
    return static_cast<i64>(sum);
  }

  GPUINT_DEVICE void set_top(const Modulus& n, i64 top) const {
    GPUINT_ASSERT(fabs(static_cast<double>(top)) < 0.6 * n.k + 1, "the nearest quotient");
    const bool has_two = n.top + 1 < DIGITS;
    const i32 digit = has_two ? balanced(top) : static_cast<i32>(top);
    set_digit(static_cast<i32>(n.top), digit);
    if (has_two) set_digit(static_cast<i32>(n.top) + 1, static_cast<i32>((top - digit) >> 16));
  }

  // Subtracts the multiple of N that leaves -N / 32 .. N, without carries.
  GPUINT_DEVICE void reduce(const SpecialModulus& modulus) const {
    constexpr double T = 65536;
    const i32 top = static_cast<i32>(ceil_div(modulus.n, 16));
    double x = 0;
    for (i32 j = top + 1; j >= top - 4; --j)
      x = x * T + (j < static_cast<i32>(DIGITS) ? digit(static_cast<u32>(j)) : 0);
    x /= T * T * T * T;
    const double scale = static_cast<double>(1u << (16 * static_cast<u32>(top) - modulus.n));
    // Half less is rounded: the quotient is rounded down.
    add_multiple(modulus, -nearest(x * scale / modulus.k + (1.0 / 64 - 0.5)));
  }

  // Adds a multiple of N, of up to 2^17, to the digits, without carries.
  GPUINT_DEVICE void add_multiple(const SpecialModulus& modulus, i64 count) const {
    add(0, count * modulus.c);
    add(modulus.n / 16, (count * modulus.k) * (i64{1} << modulus.n % 16));
  }
  GPUINT_DEVICE void add(u32 j, i64 number) const {
    for (; j < DIGITS && number != 0; ++j) {
      const i32 low = balanced(number);
      set_digit(static_cast<i32>(j), digit(j) + low);
      number = (number - low) >> 16;
    }
  }
};

}  // namespace gpuint
