// Sizes of a division by transforms, its workspace, and the lists of rows by class.
#pragma once
#include "core/abi.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/shape.cuh"
#include "div/div.cuh"
#include "div/fused_classes.cuh"
#include "core/record.cuh"
#include "div/row_lists.cuh"
#include "transform/fft/product.cuh"
#include "transform/fft/twiddles.cuh"
#include "tuning/division.cuh"

namespace gpuint::fft_division {

// Maximum limbs of a quotient that is divided limb by limb, without a reciprocal. So are the limbs
// of a longer quotient above its blocks.
constexpr u32 MAX_STEPS = 8;

// x << (32 limbs + bits), x of `count` limbs in global memory, limb by limb.
struct Shifted {
  const u32* x;
  u32 count, limbs, bits;
  GPUINT_DEVICE Shifted(const u32* row, u32 row_limbs, u32 distance)
      : x(row), count(row_limbs), limbs(distance / 32), bits(distance % 32) {}
  GPUINT_DEVICE u32 operator[](u32 l) const {
    const u32 at = l - limbs;
    const u32 high = at < count ? x[at] : 0, low = at - 1 < count ? x[at - 1] : 0;
    return __funnelshift_l(low, high, bits);
  }
};

// The reciprocal of p limbs and 17 bits in a record, limb by limb. With t = 32 p, the top p + 1
// limbs of the record's are Y = 2^(t + 32) / (2 nu) - eta, 0 < eta < 1 + 2^-60, and X = floor(Y /
// 2^15) is 2^(t + 16) / nu - e, 0 < e < 1 + 2^-14.
struct RecordedReciprocal {
  const Shifted y;
  GPUINT_DEVICE RecordedReciprocal(const u32* top, u32 p) : y(top, p + 1, 17) {}
  GPUINT_DEVICE u32 operator[](u32 l) const { return y[l + 1]; }
};

// Classes of divisors that fused products divide by, in rows that have any; points of the smallest
// class that transforms divide by, and of the largest one.
template <class S>
using FusedClassesOfRows = typename Conditional<(S::N < MIN_FUSED_LIMBS), FusedClasses<>,
                                                typename FusedClassesOf<S::N>::Type>::Type;
template <class S>
constexpr u32 SMALLEST_CLASS = S::N < MIN_FUSED_LIMBS ? 512 : 2048;
template <class S>
constexpr u32 LARGEST_CLASS = min_of(MAX_DIVISION_POINTS, S::N / 2);
template <class S>
constexpr u32 LISTS_OF =
    FusedClassesOfRows<S>::COUNT + log2_of(LARGEST_CLASS<S> / SMALLEST_CLASS<S>) + 4;

// Limbs of a reciprocal in the workspace, whose top limb is the last of its slot; 0 if a record has
// it.
template <class S, bool PREPARED>
constexpr u32 INVERSE_LIMBS = PREPARED ? 0 : LARGEST_CLASS<S> / 2 + 1;

// State of a batch that the phases share.
template <class S, bool PREPARED = false>
struct Plan : RowLists<S, PREPARED, LISTS_OF<S>, INVERSE_LIMBS<S, PREPARED>> {
  using Base = RowLists<S, PREPARED, LISTS_OF<S>, INVERSE_LIMBS<S, PREPARED>>;
  using Base::count, Base::rows, Base::list, Base::o;
  // The lists of fused products are first. List FIRST + c has P = SMALLEST << c points and divisors
  // of at most 32 P bits.
  using Fused = FusedClassesOfRows<S>;
  static constexpr u32 FIRST = Fused::COUNT;
  static constexpr u32 LIMBS = S::N, SMALLEST = SMALLEST_CLASS<S>, LARGEST = LARGEST_CLASS<S>;
  // Longer divisors, in pieces of 16 LARGEST bits; rows without reciprocals; divisors of at most
  // MAX_LIMBS limbs, which lanes divide if there are enough of them (div/short_divisors.cuh).
  static constexpr u32 LONG = Base::LISTS - 3, DIRECT = LONG + 1, SHORT = LONG + 2;
  static constexpr u32 PIECE = LARGEST / 2, MAX_PIECES = LIMBS / PIECE;
  static_assert(LIMBS >= 2 * SMALLEST && LIMBS % PIECE == 0, "rows of two pieces or more");
  static constexpr u32 INVERSE = INVERSE_LIMBS<S, PREPARED>;
  using ShortPolicy =
      ShortRowPolicy<S, typename Conditional<FIRST == 0, Fft, gpuint::Fused>::Type, PREPARED>;

  GPUINT_DEVICE explicit Plan(const Operands& operands) : Base(operands) {}

  // The list of a row with a divisor of v bits and a dividend of u bits.
  GPUINT_DEVICE static u32 list_of(u32 v, u32 u) {
    u32 list = Fused::class_of(v);
    if (list == FIRST && u <= v + 32 * MAX_STEPS) return DIRECT;
    if (v <= 32 * ShortPolicy::MAX_LIMBS) return SHORT;
    if (list != FIRST) return list;
    while (list < LONG && 32 * (SMALLEST << (list - FIRST)) < v) ++list;
    return list;
  }

  GPUINT_DEVICE u32 divisor_bits(u32 row) const { return this->lengths()[row].x; }

  // The top p + 1 limbs of a row's reciprocal.
  GPUINT_DEVICE u32* inverse(u32 row, u32 p) const {
    return list(Base::LISTS) + u64(row) * INVERSE + (LARGEST / 2 - p);
  }
  // The same to be read: where its limbs begin, and limb by limb.
  GPUINT_DEVICE const u32* reciprocal_at(u32 row, u32 p) const {
    if constexpr (PREPARED)
      return Prepared<S>(o, row).y_end() - (p + 1);
    else
      return inverse(row, p);
  }
  GPUINT_DEVICE auto reciprocal(u32 row, u32 p) const {
    if constexpr (PREPARED)
      return RecordedReciprocal(reciprocal_at(row, p), p);
    else
      return reciprocal_at(row, p);
  }
  GPUINT_DEVICE u32* quotient(u32 row) const { return output(0, row); }
  GPUINT_DEVICE u32* remainder(u32 row) const { return output(1, row); }

  // Rows that need a reciprocal of a class or longer, those with the longest divisors first.
  GPUINT_DEVICE u32 rows_from(u32 min_class) const {
    u32 total = 0;
    for (u32 c = min_class; c <= LONG; ++c) total += rows(c);
    return total;
  }
  GPUINT_DEVICE u32 row_from_top(u32 index) const {
    u32 c = LONG;
    while (index >= rows(c)) index -= rows(c), --c;
    return list(c)[index];
  }

 private:
  GPUINT_DEVICE u32* output(u32 i, u32 row) const {
    return o.out[i] == nullptr ? nullptr : static_cast<u32*>(o.out[i]) + u64(row) * LIMBS;
  }
};

// Copies COUNT * THREADS limbs, neighbouring ones by neighbouring threads, with up to 8 loads of a
// thread in flight: the compiler does not move a load across a store.
template <u32 COUNT, u32 THREADS, class From, class To>
GPUINT_DEVICE void copy(u32 thread, const From& from, const To& to) {
  constexpr u32 BATCH = min_of(COUNT, 8);
  static_assert(COUNT % BATCH == 0, "");
  GPUINT_UNROLL(1)
  for (u32 first = thread; first < thread + COUNT * THREADS; first += BATCH * THREADS) {
    u32 limb[BATCH];
    GPUINT_UNROLL(8)
    for (u32 k = 0; k < BATCH; ++k) limb[k] = from(first + k * THREADS);
    GPUINT_UNROLL(8)
    for (u32 k = 0; k < BATCH; ++k) to(first + k * THREADS, limb[k]);
  }
}

// Place of a limb in shared memory: four are left out after every 32, so that threads with 8 or 16
// consecutive limbs each reach all banks. Place of a digit, likewise.
__host__ __device__ constexpr u32 limb_at(u32 l) { return l + l / 32 * 4; }
__host__ __device__ constexpr u32 digit_at(u32 j) { return j + j / 64 * 8; }
__host__ __device__ constexpr u32 limbs_bytes(u32 count) { return 4 * limb_at(count + 8); }

GPUINT_DEVICE u32 digit_of(const u32* limbs, u32 j) {
  return reinterpret_cast<const u16*>(limbs)[digit_at(j)];
}

}  // namespace gpuint::fft_division
