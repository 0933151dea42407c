// Frame of tests with one thread per row: the row's field, and places for numbers of the warp.
//
// A field is an arithmetic modulo one odd number (modular/fp64/field.cuh, modular/imad/field.cuh).
// Rows that no test takes, even ones and 1, are computed modulo 3, and their results are dropped.
#pragma once
#include "core/occupancy.cuh"
#include "modular/by_thread/stage.cuh"
#include "prime/numbers.cuh"

namespace gpuint::prime {

using by_thread::ALL_LANES;
using by_thread::WARP;

// Lengths of a row n and of the zeros or ones at its end.
struct Lengths {
  u32 bits = 0;
  u32 zeros_of_previous;  // zeros at the end of n - 1, for odd n
  u32 zeros_of_next;      // and of n + 1
};

// Values that few steps of a walk read, in shared memory: they would take registers from products.
template <class Field>
struct Kept {
  typename Field::Digit lowest;  // of the number that residues are compared with
  u32 bits;                      // of n
  u32 zeros;                     // s
  u32 kind;                      // 0: does not pass, 1: passes, 2: as the walk finds
};

// SHARED_PLACES: numbers of a thread in shared memory, the modulus first; OTHER_PLACES: in device
// memory, for constants and rare steps; Kept_: values of a row that few steps read.
template <class Field_, u32 SHARED_PLACES, u32 OTHER_PLACES, class Kept_ = Kept<Field_>>
struct Rows {
  using Field = Field_;
  using S = typename Field::S;
  using Place = typename Field::Place;
  static constexpr u32 THREADS = 4 * WARP;
  static constexpr u32 ROWS = THREADS;
  static constexpr u32 WARPS = THREADS / WARP;
  static constexpr u32 PLACES = SHARED_PLACES * WARPS * Field::PLACE_BYTES;
  static constexpr u32 SHARED = PLACES + THREADS * sizeof(Kept_);
  static constexpr u32 SCRATCH = OTHER_PLACES * WARPS * Field::PLACE_BYTES;
  static constexpr u32 PERSISTENT = 1;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(min_of(Field::REGISTERS, 255), THREADS);
  static_assert(WARPS * Field::PLACE_BYTES % 16 == 0, "what follows the places is aligned");

  // The first place of a thread in shared memory, and the next ones: an address serves all.
  GPUINT_DEVICE static Place first_place(unsigned char* shared) {
    return Field::place(shared + ptx::thread() / WARP * SHARED_PLACES * Field::PLACE_BYTES,
                        ptx::thread() % WARP);
  }
  GPUINT_DEVICE static Place next_place(const Place& place, u32 count) {
    return {place.at + count * (Field::PLACE_BYTES / sizeof(typename Field::Digit))};
  }
  GPUINT_DEVICE static Place other_place(const Operands& o, u32 index) {
    const u64 warp = u64(blockIdx.x) * WARPS + ptx::thread() / WARP;
    return Field::place(o.scratch + (warp * OTHER_PLACES + index) * Field::PLACE_BYTES,
                        ptx::thread() % WARP);
  }

  GPUINT_DEVICE static Kept_& kept(unsigned char* shared) {
    return reinterpret_cast<Kept_*>(shared + PLACES)[ptx::thread()];
  }

  // Calls test(row) for the rows of the warp's threads, and marks the rows for which it returns
  // true. row() is computed where it is needed; a thread without a row repeats the last one.
  template <class Test>
  GPUINT_DEVICE static void each(const Operands& o, Test test) {
    GPUINT_UNROLL(1)
    for (u32 turn = 0; first_of_block(turn) + ptx::thread() / WARP * WARP < o.rows; ++turn) {
      const auto row = [&] { return first_of_block(ptx::rematerialize(turn)) + ptx::thread(); };
      const bool passes = test([&] { return row() < o.rows ? row() : o.rows - 1; });
      if (passes && row() < o.rows) set_mask(o.mask, row());
      __syncwarp();
    }
  }

 private:
  GPUINT_DEVICE static u64 first_of_block(u32 turn) {
    return (u64(turn) * gridDim.x + blockIdx.x) * ROWS;
  }
};

template <class S>
GPUINT_DEVICE Lengths lengths(const u32* n) {
  Lengths lengths;
  lengths.zeros_of_previous = lengths.zeros_of_next = S::BITS;
  GPUINT_UNROLL(4)
  for (u32 i = S::N; i-- > 0;) {
    const u32 limb = __ldg(n + i), previous = i == 0 ? limb & ~1u : limb, next = ~limb;
    const auto zeros = [&](u32 x) {
      return 32 * i + static_cast<u32>(__ffs(static_cast<int>(x))) - 1;
    };
    if (limb != 0) lengths.bits = max_of(lengths.bits, 32 * (i + 1) - leading_zeros(limb));
    if (previous != 0) lengths.zeros_of_previous = zeros(previous);
    if (next != 0) lengths.zeros_of_next = zeros(next);
  }
  return lengths;
}

// Numbers below n in places. They take few registers, and few steps of a row.

// x <- x + y mod n; y may be x.
template <class Field>
GPUINT_DEVICE void add_modulo(const Field& field, const typename Field::Place& x,
                              const typename Field::Place& y) {
  using Digit = typename Field::Digit;
  u64 carry = 0;
  i64 borrow = 0;
  GPUINT_UNROLL(1)
  for (u32 j = 0; j < Field::COUNT; ++j) {
    carry += u64(x[j]) + y[j];
    const Digit digit = Field::wrapped(static_cast<Digit>(carry));
    x[j] = digit;
    carry >>= Field::DIGIT_BITS;
    borrow += static_cast<i64>(u64(digit)) - static_cast<i64>(u64(field.modulus[j]));
    borrow >>= Field::DIGIT_BITS;
  }
  if (carry == 0 && borrow != 0) return;
  borrow = 0;
  GPUINT_UNROLL(1)
  for (u32 j = 0; j < Field::COUNT; ++j) {
    borrow += static_cast<i64>(u64(x[j])) - static_cast<i64>(u64(field.modulus[j]));
    x[j] = Field::wrapped(static_cast<Digit>(static_cast<u64>(borrow)));
    borrow >>= Field::DIGIT_BITS;
  }
}
// x <- n - x.
template <class Field>
GPUINT_DEVICE void negate(const Field& field, const typename Field::Place& x) {
  using Digit = typename Field::Digit;
  i64 borrow = 0;
  GPUINT_UNROLL(1)
  for (u32 j = 0; j < Field::COUNT; ++j) {
    borrow += static_cast<i64>(u64(field.modulus[j])) - static_cast<i64>(u64(x[j]));
    x[j] = Field::wrapped(static_cast<Digit>(static_cast<u64>(borrow)));
    borrow >>= Field::DIGIT_BITS;
  }
}
// x <- 2^exponent mod n, n of `bits` bits: the highest power below n, doubled.
template <class Field>
GPUINT_DEVICE void set_power_of_two(const Field& field, u32 exponent, u32 bits,
                                    const typename Field::Place& x) {
  const u32 first = min_of(exponent, bits - 1);
  GPUINT_UNROLL(1)
  for (u32 j = 0; j < Field::COUNT; ++j)
    x[j] = first / Field::DIGIT_BITS == j
               ? static_cast<typename Field::Digit>(u64(1) << first % Field::DIGIT_BITS)
               : 0;
  GPUINT_UNROLL(1)
  for (u32 i = first; i < exponent; ++i) add_modulo(field, x, x);
}

// True if a residue may be `value` or its negative, by the lowest digits of both: a residue is
// below 4 n, or it has many multiples of n.
template <class Field>
GPUINT_DEVICE bool may_be_either(const Field& field, u32 bits, typename Field::Digit lowest,
                                 typename Field::Digit value) {
  if (!Field::has_few_multiples(bits)) return true;
  bool may_be = false;
  typename Field::Digit multiple = 0;
  GPUINT_UNROLL(5)
  for (u32 k = 0; k <= 4; ++k) {
    may_be |= Field::wrapped(multiple + value) == lowest;
    may_be |= Field::wrapped(multiple - value) == lowest;
    multiple += field.modulus[0];
  }
  return may_be;
}

// True if a sum or difference of residues may be a multiple of n, by its lowest digit: a residue
// has at most 64 multiples, or it has many.
template <class Field>
GPUINT_DEVICE bool may_be_multiple(const Field& field, u32 bits, typename Field::Digit lowest) {
  if (!Field::has_few_multiples(bits)) return true;
  return Field::wrapped(lowest * field.inverse_digit() + 128) <= 256;
}

// Compares a number below n with another one, whose digit j is other(j).
template <class Field, class Other>
GPUINT_DEVICE Signs compare_signs(const Field& field, const typename Field::Place& x, Other other) {
  return compare_signs<Field::DIGIT_BITS>(
      Field::COUNT, [&](u32 j) { return x[j]; }, other, [&](u32 j) { return field.modulus[j]; });
}

}  // namespace gpuint::prime
