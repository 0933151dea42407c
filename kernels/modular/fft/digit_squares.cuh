// Squares of rows of D signed digits, D = BITS / 16, that stay in shared memory: the transforms and
// columns of modulus forms k t^q + c, whose FORMAT says how columns become digits. A square has all
// 2 D columns: x^2 = hi t^q + lo.
//
// Parts (transform/fft/product.cuh). A block has the threads of one part or, where its shared
// memory has room, of two. It transforms more parts one after the other, and keeps all points in
// device memory. A window has as many digits as the block takes at a time, 16 a thread.
//
// Chunks. A thread has the 16 digits of a chunk; chunks end at digit q, so that the lowest one
// begins 0 .. 15 digits below digit 0. Chains of carries run over the columns of a chunk. After a
// barrier, the chunk above adds the last carries: the carries of a row are not resolved.
//
// Exactness. The squares of the digits add up to less than 2^30 (D + 400): columns are near
// integers, as those of product.cuh.
#pragma once
#include "core/abi.cuh"
#include "core/group.cuh"
#include "core/rows.cuh"
#include "transform/fft/columns.cuh"
#include "transform/fft/passes.cuh"
#include "tuning/transform.cuh"

namespace gpuint {

// FORMAT has the types Modulus, the same for all threads, with q as `top`; Column, i64 or double;
// Carry, between chunks; and ABOVE, the number of columns above hi, at most 16.
template <class S, class FORMAT>
struct DigitSquares {
  using Modulus = typename FORMAT::Modulus;
  using Column = typename FORMAT::Column;
  using Carry = typename FORMAT::Carry;
  static constexpr u32 P = min_of(fft::POINTS, S::BITS / 16), DIGITS = S::BITS / 16;
  static constexpr u32 PARTS = DIGITS / P;
  static constexpr bool IS_ROOMY = SpecialDigitsPolicy::IS_ROOMY;
  static constexpr u32 BLOCK_PARTS = IS_ROOMY ? min_of(PARTS, 2) : 1;
  static constexpr u32 CHUNK = 16, PART_THREADS = P / fft::RADIX;
  static constexpr u32 THREADS = BLOCK_PARTS * PART_THREADS, WINDOW = CHUNK * THREADS;
  static constexpr u32 ABOVE = FORMAT::ABOVE;
  static constexpr double WORST_ERROR = (1 << 30) * (DIGITS + 400.0) * fft::relative_error(PARTS);
  static_assert(WORST_ERROR < 0.5 && PARTS <= 4, "columns round to the right integers");
  static_assert(ABOVE <= CHUNK && sizeof(Column) == 8, "columns have room");
  using G = Group<THREADS>;

  // Shared memory: words, of which the last is 0; points, or columns of lo and hi; carries; the
  // modulus; digits, with room below, where there is room for them.
  static constexpr u32 POINTS = round_up(G::SCRATCH_BYTES + u32{sizeof(u32)}, 128);
  // Columns of lo and hi: of a window, or all of a row of at least half the digits.
  static constexpr bool HAS_ALL_COLUMNS = IS_ROOMY && PARTS == BLOCK_PARTS;
  static constexpr u32 COLUMNS = 2 * WINDOW + (HAS_ALL_COLUMNS ? WINDOW / 2 : 0) + CHUNK;
  static constexpr u32 CARRIES_AT = POINTS + COLUMNS / CHUNK * (CHUNK + 1) * u32{sizeof(Column)};
  static constexpr u32 MODULUS_AT = CARRIES_AT + DIGITS / CHUNK * u32{sizeof(Carry)};
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

  GPUINT_DEVICE DigitSquares(const Operands& operands, unsigned char* bytes)
      : o(operands), shared(bytes) {
    if (ptx::rematerialize(threadIdx.x) == 0) *fft::Exchange<P>::zero(shared + POINTS) = 0;
  }

  struct Quotient {
    i64 value;  // Q
    i64 top;    // the number at digit q, without the carry of the highest chunk
  };

  // Replaces the row x by m k x^2 modulo k t^q + c, for the factor m. `reduction` has the members
  // divide(modulus, q in the window, m), a Quotient; add_columns(modulus, first chunk, chunks, m,
  // Q), the digits from columns of a window; add_carries(modulus, chunks, m, top), the carries
  // between chunks.
  template <class Reduction>
  GPUINT_DEVICE void square_by(const Reduction& reduction, u32 factor) const {
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
        quotient = reduction.divide(n, chunks * CHUNK - window * WINDOW, factor);
      reduction.add_columns(n, window * THREADS, chunks, factor, quotient.value);
      __syncthreads();
    }
    reduction.add_carries(n, chunks, factor, quotient.top);
    __syncthreads();
  }

  // Columns of a window, where 16 threads that access each 16th column, or neighbouring ones, reach
  // all banks.
  GPUINT_DEVICE Column& column(u32 u) const {
    return reinterpret_cast<Column*>(shared + POINTS)[u + u / CHUNK];
  }
  GPUINT_DEVICE Column& column_of_hi(u32 u) const { return column(WINDOW + u); }
  // Column i above hi; q is digit `top` of the window.
  GPUINT_DEVICE Column column_above(const Modulus& n, u32 top, u32 i) const {
    return 2 * n.top + i < 2 * DIGITS ? column_of_hi(top + i) : Column{0};
  }
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
  GPUINT_DEVICE Carry* carries() const { return reinterpret_cast<Carry*>(shared + CARRIES_AT); }
  GPUINT_DEVICE Modulus& modulus() const {
    return *reinterpret_cast<Modulus*>(shared + MODULUS_AT);
  }
  // First digit of a chunk.
  GPUINT_DEVICE static i32 first_digit(const Modulus& n, u32 index, u32 chunks) {
    return static_cast<i32>(index * CHUNK - (chunks * CHUNK - n.top));
  }

  GPUINT_DEVICE static i64 nearest(double x) {
    return __double_as_longlong(x + fft_modular::ROUNDER) - 0x4338000000000000;
  }

 private:
  // This thread's part of the block.
  GPUINT_DEVICE static u32 part() {
    return BLOCK_PARTS == 1 ? 0 : ptx::rematerialize(threadIdx.x) / PART_THREADS;
  }
  // Device memory of this block, and its points.
  GPUINT_DEVICE unsigned char* scratch() const {
    return o.scratch + u64(ptx::rematerialize(blockIdx.x)) * SCRATCH;
  }
  GPUINT_DEVICE Complex* points() const { return reinterpret_cast<Complex*>(scratch()); }

  GPUINT_DEVICE static void set_nearest(i64& column, double x) { column = nearest(x); }
  GPUINT_DEVICE static void set_nearest(double& column, double x) {
    column = x + fft_modular::ROUNDER - fft_modular::ROUNDER;
  }

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
  GPUINT_DEVICE static Column column_of(u32 s, const Complex (&y)[PARTS]) {
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
    Column column;
    set_nearest(column, sum);
    return column;
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
};

}  // namespace gpuint
