// Squares modulo generalized Fermat numbers N = b^q + 1, in digits to base b that stay in shared
// memory; q = BITS / 16, b even.
//
// A residue is q signed digits x_j, its square modulo N the negacyclic convolution of its digits,
// with carries: no quotient is necessary. t^q + 1 = (t^(q/2) - i) (t^(q/2) + i), so points j of
// half as many have digits j and j + q / 2 (R. Crandall and B. Fagin, "Discrete weighted transforms
// and large-integer arithmetic", Math. Comp. 62, 1994: the right-angle convolution). A square takes
// half of the transforms of one modulo k 2^n + c of as many bits (special_digits.cuh). The carry of
// the last digit is subtracted from digit 0. Digits are not reduced below N: the host does so.
//
// Digits. |d| <= b / 2 + 1, where 4 <= b <= 65532, so that digits have 16 bits with a sign. Columns
// c are integers, |c| <= q (b / 2 + 1)^2 by Cauchy and Schwarz, and m c <= M = m q (b / 2 + 1)^2
// for a factor m. The bound of `takes_fermat_digits` (src/special.rs) is
//     M b / (b - 1) + b < 2^51,   m <= 2^12.
//
// Chunks. A thread computes the digits of two chunks of 16 columns. A division of s = m c + carry
// by b leaves the digit (digit_rows.cuh), and the quotient is the next carry: |carry| <= M / (b -
// 1) + 1, so that |s| < 2^51.
//
// Carries. The chunk above adds the carry E, |E| < m q (b / 2 + 1)^2 / (b - 1) + 1, to its digits,
// one after the other, until the carry is at most 1; the next digit keeps it, and is at most b / 2
// + 1. A carry e becomes |e'| <= (|e| + b / 2) / b + 1/2 = |e| / b + 1: at most 1 if |e| < b. After
// j digits it is less than |E| / b^j + b / (b - 1). For b = 4, |E| < 2^12 2^14 3 + 1 < 4^14, and
// 16 digits suffice; for larger b, (b / 2 + 1)^2 / (b - 1) < b grows slower than b^14.
//
// Exactness. |a| |b| <= q (b / 2 + 1)^2 < 2^30 q. PARTS parts of complex points have as many terms
// in a sum over pieces as 2 PARTS parts of real ones (transform/fft/passes.cuh).
#pragma once
#include "core/abi.cuh"
#include "modular/fft/digit_rows.cuh"
#include "modular/special.cuh"
#include "transform/fft/columns.cuh"
#include "transform/fft/lengths.cuh"
#include "transform/fft/passes.cuh"
#include "tuning/transform.cuh"

namespace gpuint {

template <class S>
struct FermatDigits {
  static constexpr u32 DIGITS = S::BITS / 16, P = min_of(fft::POINTS, DIGITS / 2);
  static constexpr u32 PARTS = DIGITS / (2 * P), PART_THREADS = P / fft::RADIX;
  static constexpr u32 THREADS = PARTS * PART_THREADS;
  static constexpr u32 CHUNK = 16, CHUNKS = DIGITS / CHUNK;
  static_assert(PARTS <= 2 && CHUNKS == 2 * THREADS, "a thread has two chunks");
  static constexpr double WORST_ERROR = (1 << 30) * double{DIGITS} * fft::relative_error(2 * PARTS);
  static_assert(WORST_ERROR < 0.5, "columns round to the right integers");

  // Memory of a block: the base; a word that is 0; points, or digits, or columns; carries. It is
  // device memory where shared memory has no room.
  static constexpr u32 POINTS = 128;
  static constexpr u32 CARRIES_AT = POINTS + CHUNKS * (CHUNK + 1) * u32{sizeof(double)};
  static constexpr u32 BYTES = round_up(CARRIES_AT + CHUNKS * u32{sizeof(double)}, 128);
  static constexpr bool IS_SHARED = BYTES <= 1024 * BLOCK_KIB;
  static constexpr u32 SHARED = IS_SHARED ? BYTES : 0, SCRATCH = IS_SHARED ? 0 : BYTES;

  unsigned char* const bytes;

  GPUINT_DEVICE FermatDigits(const Operands& o, unsigned char* shared)
      : bytes(IS_SHARED ? shared : o.scratch + u64(ptx::rematerialize(blockIdx.x)) * BYTES) {
    if (ptx::rematerialize(threadIdx.x) == 0) *fft::Exchange<P>::zero(bytes + POINTS) = 0;
  }

  GPUINT_DEVICE void read(const u32* row, const SpecialModulus& modulus) const {
    read_digits<DIGITS, THREADS>(row, [&](u32 j, i32 value) { digit(j) = value; });
    if (threadIdx.x == 0) base() = DigitBase::of(modulus.base);
    __syncthreads();
  }

  // Replaces the row x by m x^2 modulo N, for the factor m.
  GPUINT_DEVICE void square(u32 factor) const {
    Complex x[fft::RADIX];
    load(x);
    const auto first = [](Complex(&y)[fft::RADIX], const fft::FirstPass& turn) {
      fft::split<0, 0, 1>(y, turn);
    };
    const fft::Last last = fft::transform<P, PARTS, PARTS>(x, part(), bytes + POINTS, first, [] {});
    fft::multiply<0>(x, last, [&](u32 i) { return x[i]; });
    fft::inverse<P, PARTS, PARTS>(x, bytes + POINTS);
    fft::weigh<P, PARTS>(part(), part_thread(), x);
    __syncthreads();  // nobody reads points any more
    if constexpr (PARTS == 2)
      fft::exchange_halves<P>(x, reinterpret_cast<Complex*>(bytes + POINTS));
    write_columns(x);
    __syncthreads();
    carry_columns(factor);
    __syncthreads();
    add_carries();
    __syncthreads();
  }

  GPUINT_DEVICE void write(u32* row, const SpecialModulus&) const {
    write_digits<DIGITS, THREADS>(row, [&](u32 j) { return static_cast<i32>(digit(j)); });
    __syncthreads();  // nobody reads digits any more
  }

 private:
  GPUINT_DEVICE static u32 part() {
    return PARTS == 1 ? 0 : ptx::rematerialize(threadIdx.x) / PART_THREADS;
  }
  GPUINT_DEVICE static u32 part_thread() { return ptx::rematerialize(threadIdx.x) % PART_THREADS; }
  // A digit or column, where 16 threads that access each 16th one, or neighbouring ones, reach all
  // banks.
  GPUINT_DEVICE double& digit(u32 j) const {
    return reinterpret_cast<double*>(bytes + POINTS)[j + j / CHUNK];
  }
  GPUINT_DEVICE double* carries() const { return reinterpret_cast<double*>(bytes + CARRIES_AT); }
  GPUINT_DEVICE DigitBase& base() const { return *reinterpret_cast<DigitBase*>(bytes); }

  // Points of this thread's part, of the digits in 2 PARTS pieces.
  GPUINT_DEVICE void load(Complex (&x)[fft::RADIX]) const {
    const u32 thread = part_thread();
    const auto value = [&](u32 s, u32 i) { return digit(P * s + thread + PART_THREADS * i); };
    if constexpr (PARTS == 1) {
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < fft::RADIX; ++i) x[i] = {value(0, i), value(1, i)};
    } else {
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < fft::RADIX; ++i) x[i] = {value(0, i), 0};
      GPUINT_UNROLL(1)
      for (u32 s = 1; s < ptx::rematerialize(2 * PARTS); ++s) {
        const Complex turn = fft::CONSTANTS<PARTS>.part[part()].turns[s];
        GPUINT_UNROLL(16)
        for (u32 i = 0; i < fft::RADIX; ++i) {
          const double y = value(s, i);
          x[i] = {fma(y, turn.re, x[i].re), fma(y, turn.im, x[i].im)};
        }
      }
    }
  }

  GPUINT_DEVICE void write_columns(const Complex (&x)[fft::RADIX]) const {
    constexpr u32 COUNT = fft::RADIX / PARTS;
    const u32 thread = ptx::rematerialize(threadIdx.x);
    GPUINT_UNROLL(COUNT)
    for (u32 i = 0; i < COUNT; ++i) {
      Complex y[PARTS];
      GPUINT_UNROLL(2)
      for (u32 k = 0; k < PARTS; ++k) y[k] = x[i + k * COUNT];
      GPUINT_UNROLL(4)
      for (u32 s = 0; s < 2 * PARTS; ++s)
        digit(P * s + thread + THREADS * i) =
            fft_modular::rounded_column<PARTS>(s, y, WORST_ERROR) - fft_modular::ROUNDER;
    }
  }

  // Digits from columns, except for carries between chunks. The two chunks of a thread are
  // independent.
  GPUINT_DEVICE void carry_columns(u32 factor) const {
    const u32 thread = ptx::rematerialize(threadIdx.x);
    const DigitBase by = base();
    const double m = factor;
    double carry[2] = {0, 0};
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < CHUNK; ++i) {
      GPUINT_UNROLL(2)
      for (u32 h = 0; h < 2; ++h) {
        double& place = digit(CHUNK * (thread + THREADS * h) + i);
        double sum = fma(m, place, carry[h]);
        carry[h] = by.divide(sum);
        place = sum;
      }
    }
    GPUINT_UNROLL(2)
    for (u32 h = 0; h < 2; ++h) carries()[thread + THREADS * h] = carry[h];
  }

  // Adds the carries between chunks; that of the last one is negated.
  GPUINT_DEVICE void add_carries() const {
    const DigitBase by = base();
    GPUINT_UNROLL(1)
    for (u32 chunk = ptx::rematerialize(threadIdx.x); chunk < CHUNKS; chunk += THREADS) {
      double carry = chunk == 0 ? -carries()[CHUNKS - 1] : carries()[chunk - 1];
      u32 j = CHUNK * chunk;
      GPUINT_UNROLL(1)
      for (; fabs(carry) > 1; ++j) {
        GPUINT_ASSERT(j + 1 < CHUNK * (chunk + 1), "the last digit takes a small carry");
        double sum = digit(j) + carry;
        carry = by.divide(sum);
        digit(j) = sum;
      }
      digit(j) += carry;
    }
  }
};

}  // namespace gpuint
