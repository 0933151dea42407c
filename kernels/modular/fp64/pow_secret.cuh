// PowSecret by digits of 52 bits, a thread to a row: a^e mod n for odd n, where e and n are secret
// (neither branches nor addresses nor the number of instructions depend on them or on a).
//
// Products are those of montgomery.cuh, which compare nothing. With R = 2^L and the record's
// s = 2^(2 BITS) mod n,
//     s s / R = 2^(4 BITS - L)     and     2^(4 BITS - L) 2^(4 L - 4 BITS) / R = R^2.
// A factor below 2^BITS leaves a lazy residue: 2 n 2^BITS / R + n < 2 n.
//
// Left to right by windows of 4 bits, all of them: a digit 0 multiplies by the power 0. A power is
// read by a scan of the whole table. The scan moves 16 powers from device memory for 4 squares and
// a product: wider windows would move more than they save.
//
// The digits of a table stand in pairs, those of neighbouring threads side by side.
//
// A warp overwrites its table and its shared memory before it ends.
#pragma once
#include "core/abi.cuh"
#include "core/occupancy.cuh"
#include "modular/fp64/montgomery.cuh"
#include "modular/fp64/pow_mod.cuh"
#include "modular/secret.cuh"

namespace gpuint::fp64 {

template <class S>
struct SecretPower : ThreadRows {
  static constexpr u32 D = digits_of(S::BITS);
  static constexpr u32 WINDOW = 4, POWERS = 1 << WINDOW;
  static constexpr u32 PLACE_BYTES = D * WARP * sizeof(u64);
  // For each warp: factor or columns, and modulus.
  static constexpr u32 SHARED = 2 * WARPS * PLACE_BYTES;
  static constexpr u32 TABLE_BYTES = POWERS * PLACE_BYTES;  // of a warp
  static constexpr u32 SCRATCH = WARPS * TABLE_BYTES;
  // x, n and the columns of two registers a digit.
  static constexpr u32 REGISTERS = 6 * D + 48;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(min_of(REGISTERS, 255), THREADS);
  using Record = SecretModulus<S, 2>;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const u32 lane = ptx::thread() % WARP;
    u64* const own = reinterpret_cast<u64*>(shared + ptx::thread() / WARP * 2 * PLACE_BYTES) + lane;
    const Place place = {own}, modulus = {own + D * WARP};
    GPUINT_UNROLL(1)
    for (u64 first = first_row(); first < o.rows; first += step()) {
      // Threads without a row repeat the last one.
      const u64 row = first + lane < o.rows ? first + lane : o.rows - 1;
      raise(o, row, place, modulus);
      if (first + lane < o.rows) store_digits<S>(place, output_row<S>(o, 0, row));
    }
    GPUINT_UNROLL(1)
    for (u32 i = 0; i < POWERS * D / 2; ++i) *pair(o, 0, i) = make_ulonglong2(0, 0);
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < D; ++j) place[j] = 0, modulus[j] = 0;
  }

 private:
  // Products before the table has its powers 0 and 1, and all of the table.
  static constexpr u32 SQUARE = 0, SQUARE_OF_RADIX = 1, POWER_0 = 2, POWER_1 = 3;
  static constexpr u32 TABLE = POWER_1 + POWERS - 1;
  // 2^(4 L - 4 BITS), which enters the radix.
  static constexpr u32 LIFT = 4 * (DIGIT_BITS * D - S::BITS);
  static_assert(LIFT < DIGIT_BITS * D, "a factor below R");

  // Digits 2 j and 2 j + 1 of a power of this thread.
  GPUINT_DEVICE static ulonglong2* pair(const Operands& o, u32 e, u32 j) {
    const u32 thread = ptx::thread();
    return reinterpret_cast<ulonglong2*>(o.scratch + u64(blockIdx.x) * SCRATCH +
                                         thread / WARP * TABLE_BYTES) +
           ((e * (D / 2) + j) * WARP + thread % WARP);
  }
  GPUINT_DEVICE static void save(const double (&x)[D], const Operands& o, u32 e) {
    GPUINT_UNROLL()
    for (u32 j = 0; j < D; j += 2)
      *pair(o, e, j / 2) = make_ulonglong2(to_integer(x[j]), to_integer(x[j + 1]));
  }
  GPUINT_DEVICE static void copy(const Operands& o, u32 e, const Place& to) {
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < D; j += 2) {
      const ulonglong2 digits = *pair(o, e, j / 2);
      to[j] = digits.x, to[j + 1] = digits.y;
    }
  }
  // Reads all powers, and leaves that of the digit in the place: some pairs of digits at a time.
  GPUINT_DEVICE static void look_up(const Operands& o, u32 digit, const Place& to) {
    constexpr u32 PART = 5;
    static_assert(D / 2 % PART == 0, "whole parts");
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < D / 2; j += PART) {
      // Asked once: the digits of the other powers are at fixed distances.
      const ulonglong2* const from = pair(o, 0, j);
      u64 digits[2 * PART] = {};
      GPUINT_UNROLL(4)
      for (u32 e = 0; e < POWERS; ++e) {
        const u32 half = ptx::rematerialize(digit == e ? ~0u : 0);
        const u64 mask = u64(half) << 32 | half;
        GPUINT_UNROLL()
        for (u32 i = 0; i < PART; ++i) {
          const ulonglong2 read = from[(e * (D / 2) + i) * WARP];
          digits[2 * i] |= read.x & mask, digits[2 * i + 1] |= read.y & mask;
        }
      }
      GPUINT_UNROLL()
      for (u32 i = 0; i < 2 * PART; ++i) to[2 * j + i] = digits[i];
    }
  }
  // Digits of a row, or of the number 2^bit.
  GPUINT_DEVICE static void read(const u32* row, const Place& to) {
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < D; ++j) to[j] = digit_at(row, S::N, static_cast<i32>(DIGIT_BITS * j));
  }
  GPUINT_DEVICE static void set_power_of_two(u32 bit, const Place& to) {
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < D; ++j) to[j] = j == bit / DIGIT_BITS ? 1ull << bit % DIGIT_BITS : 0;
  }

  // Leaves the power in the place.
  GPUINT_DEVICE static void raise(const Operands& o, u64 row, const Place& place,
                                  const Place& modulus) {
    read(Record(o, row).n(), modulus);
    const Montgomery<D> montgomery = {modulus, negative_inverse(modulus[0])};
    const auto digit = [&](u32 position) {
      const u32* const e = input_row<S>(o, 1, o.params.broadcast_exponent != 0 ? 0 : row);
      return exponent_digit<S>(e, position, WINDOW);
    };
    u32 position = (o.params.exponent_bits + WINDOW - 1) / WINDOW - 1;
    double x[D];
    read(Record(o, row).square(), place);
    load_digits(place, x);
    // One loop, so that there is one copy of each kind of product.
    GPUINT_UNROLL(1)
    for (u32 product = SQUARE;; ++product) {
      if (product == SQUARE_OF_RADIX) {
        set_power_of_two(LIFT, place);
      } else if (product == POWER_0) {
        set_power_of_two(0, place);
      } else if (product == POWER_1) {
        copy(o, 1, place);
        load_digits(place, x);
        read(input_row<S>(o, 0, row), place);
      } else if (product > POWER_1 && product < TABLE) {
        copy(o, 1, place);
      } else if (product >= TABLE) {
        if (product == TABLE) {
          look_up(o, digit(position), place);
          load_digits(place, x);
        }
        if (position == 0) break;
        --position;
        GPUINT_UNROLL(1)
        for (u32 i = 0; i < WINDOW; ++i) montgomery.square(x, place);
        look_up(o, digit(position), place);
      }
      montgomery.multiply(x, place);
      // R^2 stands in the place of the power 1.
      if (product == SQUARE_OF_RADIX) save(x, o, 1);
      if (product >= POWER_0 && product < TABLE) save(x, o, product - POWER_0);
    }
    montgomery.take_radix_out(x, place);
  }
};

}  // namespace gpuint::fp64
