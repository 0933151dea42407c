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
// Parts (transform/fft/product.cuh). A block has the threads of one part or, where its shared
// memory has room, of two. It transforms more parts one after the other, and keeps all points in
// device memory. A window has as many digits as the block takes at a time, 16 a thread.
//
// Chunks. A thread has the 16 digits of a chunk; chunks end at digit q, so that the lowest one
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
// for one only, and two elsewhere; the highest one is at most 0.6 2^20.
//
// Exactness. The squares of the digits add up to less than 2^30 (D + 400), D of BITS: columns are
// near integers, as those of product.cuh.
#pragma once
#include "core/abi.cuh"
#include "core/carry.cuh"
#include "core/group.cuh"
#include "core/rows.cuh"
#include "modular/special.cuh"
#include "transform/fft/columns.cuh"
#include "transform/fft/passes.cuh"
#include "tuning/transform.cuh"

namespace gpuint {

template <class S>
struct SpecialDigits {
  static constexpr u32 P = min_of(fft::POINTS, S::BITS / 16), DIGITS = S::BITS / 16;
  static constexpr u32 PARTS = DIGITS / P;
  static constexpr bool IS_ROOMY = SpecialDigitsPolicy::IS_ROOMY;
  static constexpr u32 BLOCK_PARTS = IS_ROOMY ? min_of(PARTS, 2) : 1;
  static constexpr u32 CHUNK = 16, PART_THREADS = P / fft::RADIX;
  static constexpr u32 THREADS = BLOCK_PARTS * PART_THREADS, WINDOW = CHUNK * THREADS;
  static constexpr double WORST_ERROR = (1 << 30) * (DIGITS + 400.0) * fft::relative_error(PARTS);
  static_assert(WORST_ERROR < 0.5 && PARTS <= 4, "columns round to the right integers");
  using G = Group<THREADS>;

  // A modulus, the same for all threads, in shared memory.
  struct Modulus {
    double ratio;  // c 2^f / k
    u32 k;
    i32 term;  // c 2^f
    u32 top;   // q
    u32 unused;
  };

  // Shared memory: words, of which the last is 0; points, or columns of lo and hi; carries; the
  // modulus; digits, with room below, where there is room for them.
  static constexpr u32 POINTS = round_up(G::SCRATCH_BYTES + u32{sizeof(u32)}, 128);
  static constexpr u32 ABOVE = 3;  // columns above hi
  // Columns of lo and hi: of a window, or all of a row of at least half the digits.
  static constexpr bool HAS_ALL_COLUMNS = IS_ROOMY && PARTS == BLOCK_PARTS;
  static constexpr u32 COLUMNS = 2 * WINDOW + (HAS_ALL_COLUMNS ? WINDOW / 2 : 0) + CHUNK;
  static constexpr u32 CARRIES_AT = POINTS + COLUMNS / CHUNK * (CHUNK + 1) * u32{sizeof(i64)};
  static constexpr u32 MODULUS_AT = CARRIES_AT + DIGITS / CHUNK * u32{sizeof(i64)};
  static constexpr u32 ROOM = 32;  // words below the digits
  static constexpr u32 DIGITS_BYTES = (ROOM + DIGITS / 32 * 33) * u32{sizeof(u32)};
  static constexpr u32 DIGITS_AT = MODULUS_AT + u32{sizeof(Modulus)};
  static constexpr u32 SHARED = DIGITS_AT + (IS_ROOMY ? DIGITS_BYTES : 0);
  // Device memory of a block: points; digits.
  static constexpr bool KEEPS_POINTS = PARTS == BLOCK_PARTS;
  static constexpr u32 POINTS_BYTES = KEEPS_POINTS ? 0 : DIGITS * u32{sizeof(Complex)};
  static constexpr u32 SCRATCH = POINTS_BYTES + (IS_ROOMY ? 0 : DIGITS_BYTES);

  const Operands& o;
  unsigned char* const shared;

  GPUINT_DEVICE SpecialDigits(const Operands& operands, unsigned char* bytes)
      : o(operands), shared(bytes) {
    if (ptx::rematerialize(threadIdx.x) == 0) *fft::Exchange<P>::zero(shared + POINTS) = 0;
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
    Complex x[fft::RADIX];
    GPUINT_UNROLL(1)
    for (u32 first = 0; first < ptx::rematerialize(PARTS); first += BLOCK_PARTS) {
      const u32 k = first + part();
      load(k, x);
      square_part(k, x);
      if constexpr (!KEEPS_POINTS) {
        const u32 thread = ptx::rematerialize(threadIdx.x) % PART_THREADS;
        GPUINT_UNROLL(16)
        for (u32 i = 0; i < fft::RADIX; ++i) points()[k * P + thread + PART_THREADS * i] = x[i];
      }
      __syncthreads();  // nobody reads points any more
    }
    if constexpr (PARTS == 2 && KEEPS_POINTS)
      fft::exchange_halves<P>(x, reinterpret_cast<Complex*>(shared + POINTS));
    const Modulus n = modulus();
    const u32 chunks = ceil_div(n.top, CHUNK);
    Quotient quotient{0, 0};
    GPUINT_UNROLL(1)
    for (u32 window = ceil_div(chunks, THREADS); window-- > 0;) {
      const i32 begin = static_cast<i32>(window * WINDOW - (chunks * CHUNK - n.top));
      if (HAS_ALL_COLUMNS && 2 * n.top >= DIGITS)
        write_columns<true>(n, begin, x);
      else
        write_columns<false>(n, begin, x);
      __syncthreads();
      if (threadIdx.x == 0 && (window + 1) * THREADS >= chunks)
        quotient = divide(n, chunks * CHUNK - window * WINDOW, factor);
      add_columns(n, window * THREADS, chunks, factor, quotient.value);
      __syncthreads();
    }
    add_carries(n, chunks, quotient.top);
    __syncthreads();
  }

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

 private:
  struct Quotient {
    i64 value;  // Q
    i64 top;    // TOP, without the carry of the highest chunk
  };

  // This thread's part of the block.
  GPUINT_DEVICE static u32 part() {
    return BLOCK_PARTS == 1 ? 0 : ptx::rematerialize(threadIdx.x) / PART_THREADS;
  }
  // Columns of a window, where 16 threads that access each 16th column, or neighbouring ones, reach
  // all banks.
  GPUINT_DEVICE i64& column(u32 u) const {
    return reinterpret_cast<i64*>(shared + POINTS)[u + u / CHUNK];
  }
  GPUINT_DEVICE i64& column_of_hi(u32 u) const { return column(WINDOW + u); }
  // Digits are stored with 2^31 added. 32 threads that access each 16th digit, or neighbouring
  // ones, reach all banks.
  GPUINT_DEVICE u32* digits() const {
    if constexpr (IS_ROOMY)
      return reinterpret_cast<u32*>(shared + DIGITS_AT) + ROOM;
    else
      return reinterpret_cast<u32*>(scratch() + POINTS_BYTES) + ROOM;
  }
  GPUINT_DEVICE static i32 place(i32 j) { return j + (j >> 5); }
  GPUINT_DEVICE i32 digit(i32 j) const { return static_cast<i32>(digits()[place(j)] ^ 0x80000000); }
  GPUINT_DEVICE i32 digit(u32 j) const { return digit(static_cast<i32>(j)); }
  GPUINT_DEVICE void set_digit(i32 j, i32 digit) const {
    digits()[place(j)] = static_cast<u32>(digit) ^ 0x80000000;
  }
  // Device memory of this block, and its points.
  GPUINT_DEVICE unsigned char* scratch() const {
    return o.scratch + u64(ptx::rematerialize(blockIdx.x)) * SCRATCH;
  }
  GPUINT_DEVICE Complex* points() const { return reinterpret_cast<Complex*>(scratch()); }
  GPUINT_DEVICE i64* carries() const { return reinterpret_cast<i64*>(shared + CARRIES_AT); }
  GPUINT_DEVICE Modulus& modulus() const {
    return *reinterpret_cast<Modulus*>(shared + MODULUS_AT);
  }

  GPUINT_DEVICE static i64 nearest(double x) {
    constexpr double ROUNDER = 6755399441055744.0;  // 1.5 * 2^52: at its size doubles are integers
    return __double_as_longlong(x + ROUNDER) - 0x4338000000000000;
  }
  // Lowest 16 bits, as a number of -2^15 .. 2^15 - 1.
  GPUINT_DEVICE static i32 balanced(i64 x) { return static_cast<i16>(x); }

  // Points of part k.
  GPUINT_DEVICE void load(u32 k, Complex (&x)[fft::RADIX]) const {
    const u32 thread = ptx::rematerialize(threadIdx.x) % PART_THREADS;
    const auto value = [&](u32 j) {
      // 2^52 + 2^31 + digit, minus the added constant.
      return __hiloint2double(0x43300000, static_cast<int>(digits()[place(static_cast<i32>(j))])) -
             4503601774854144.0;
    };
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < fft::RADIX; ++i) x[i] = {value(thread + PART_THREADS * i), 0};
    GPUINT_UNROLL(1)
    for (u32 s = 1; s < ptx::rematerialize(PARTS); ++s) {
      const Complex turn = fft::CONSTANTS<PARTS>.part[k].turns[s];
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < fft::RADIX; ++i) {
        const double y = value(s * P + thread + PART_THREADS * i);
        x[i] = {fma(y, turn.re, x[i].re), fma(y, turn.im, x[i].im)};
      }
    }
  }

  GPUINT_DEVICE void square_part(u32 k, Complex (&x)[fft::RADIX]) const {
    unsigned char* const points = shared + POINTS;
    const auto first = [](Complex(&y)[fft::RADIX], const fft::FirstPass& turn) {
      if constexpr (PARTS == 1)
        fft::split_real(y, turn);
      else
        fft::split<0, 0, 1>(y, turn);
    };
    const fft::Last last = fft::transform<P, PARTS, BLOCK_PARTS>(x, k, points, first, [] {});
    fft::multiply<0>(x, last, [&](u32 i) { return x[i]; });
    fft::inverse<P, PARTS, BLOCK_PARTS>(x, points);
    fft::weigh<P, PARTS>(k, ptx::rematerialize(threadIdx.x) % PART_THREADS, x);
  }

  // Column of piece s, from its points of all parts.
  GPUINT_DEVICE static i64 column_of(u32 s, const Complex (&y)[PARTS]) {
    double sum = 0;
    if constexpr (PARTS == 1) {
      sum = s == 0 ? y[0].re : y[0].im;
    } else {
      GPUINT_UNROLL(4)
      for (u32 k = 0; k < PARTS; ++k) {
        const Complex turn = fft::CONSTANTS<PARTS>.part[k].turns[s];
        sum = fma(turn.im, y[k].im, fma(turn.re, y[k].re, sum));
      }
      sum *= 1.0 / PARTS;
    }
    GPUINT_ASSERT(fabs(sum - static_cast<double>(nearest(sum))) <= WORST_ERROR,
                  "columns are near integers");
    return nearest(sum);
  }

  // Writes the columns of a window that begins with this digit, or all columns, whose stores are
  // unconditional.
  template <bool ALL>
  GPUINT_DEVICE void write_columns(const Modulus& n, i32 begin,
                                   const Complex (&x)[fft::RADIX]) const {
    constexpr u32 COUNT = P / THREADS;
    const u32 thread = ptx::rematerialize(threadIdx.x);
    GPUINT_UNROLL(COUNT)
    for (u32 i = 0; i < COUNT; ++i) {
      Complex y[PARTS];
      GPUINT_UNROLL(4)
      for (u32 k = 0; k < PARTS; ++k)
        y[k] = KEEPS_POINTS ? x[i + k * COUNT] : points()[k * P + thread + THREADS * i];
      GPUINT_UNROLL(8)
      for (u32 s = 0; s < 2 * PARTS; ++s) {
        // Columns of hi follow those of lo.
        const u32 j = thread + THREADS * i + P * s;
        const bool is_lo = j < n.top;
        const u32 u = j - static_cast<u32>(begin) + (is_lo ? 0 : WINDOW - n.top);
        if (ALL || (is_lo ? u < WINDOW : u - WINDOW < WINDOW + ABOVE)) column(u) = column_of(s, y);
      }
    }
    // Digits below digit 0.
    if (begin < 0 && thread < static_cast<u32>(-begin)) column(thread) = column_of_hi(thread) = 0;
  }

  // Q and TOP; q is digit `top` of the window.
  GPUINT_DEVICE Quotient divide(const Modulus& n, u32 top, u32 factor) const {
    constexpr double T = 65536;
    const auto above = [&](u32 i) {
      return 2 * n.top + i < 2 * DIGITS ? column_of_hi(top + i) : i64{0};
    };
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
    const i32 first = static_cast<i32>(index * CHUNK - (chunks * CHUNK - n.top));
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
  GPUINT_DEVICE void add_carries(const Modulus& n, u32 chunks, i64 top) const {
    constexpr u32 TAKERS = 5;  // digits
    const u32 thread = ptx::rematerialize(threadIdx.x);
    GPUINT_UNROLL(1)
    for (u32 index = thread == 0 ? THREADS : thread; index < chunks; index += THREADS) {
      const i32 first = static_cast<i32>(index * CHUNK - (chunks * CHUNK - n.top));
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
