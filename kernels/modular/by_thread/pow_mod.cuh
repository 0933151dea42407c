// PowMod and PowProductMod with one thread per row, in digits of any kind: a^e mod v for every a, e
// < 2^BITS, and products of such powers. 0^0 is 1, and everything mod 1 is 0.
//
// Rows with odd v go by Montgomery's products, the others by Barrett's reduction. A warp that has
// both kinds makes two passes; each row stores the result of its own.
//
// Windows as in modular/pow_mod.cuh, by the longest exponent of the warp, since its threads do the
// same at the same time: a digit of a shorter exponent is 0 there, and multiplies by the power 0.
// A digit that is 0 in all rows has no product, and the table ends with the largest digit of
// all rows: one exponent 65537 costs 17 products.
//
// A power is digits in device memory, a table for each thread in flight.
//
// PowProductMod walks over the digits of all bases of a row (modular/pow_product.cuh). The power 0
// of all bases is one entry of the table.
#pragma once
#include "core/occupancy.cuh"
#include "core/record.cuh"
#include "modular/by_thread/stage.cuh"
#include "modular/pow_mod.cuh"
#include "modular/pow_product.cuh"

namespace gpuint::by_thread {

// A thread's row, and its digits in device memory: BEFORE digits for the engine, then the table of
// powers, LENGTH digits each. Addresses are computed where they are needed, since the products have
// no registers to keep them in. MANY_ if a row has several bases.
template <class S_, class Digit, u32 LENGTH, u32 BEFORE, bool MANY_>
struct PowerRow {
  using S = S_;
  static constexpr bool MANY = MANY_;
  // Of a base, but for the power 0.
  static constexpr u32 POWERS = (1 << window_bits(S::BITS)) - 1;
  static constexpr u32 DIGITS = BEFORE + (1 + POWERS) * LENGTH;
  static constexpr u32 THREADS = 4 * WARP;
  static constexpr u32 SCRATCH = THREADS * DIGITS * sizeof(Digit);
  const Operands& o;
  u32 turn;  // of the block: which rows it is at

  // The first row of the block in a turn.
  GPUINT_DEVICE static u64 first_of_block(u32 turn) {
    return (u64(turn) * gridDim.x + blockIdx.x) * THREADS;
  }
  GPUINT_DEVICE bool is_there() const {
    return first_of_block(ptx::rematerialize(turn)) + ptx::thread() < o.rows;
  }
  // Threads without a row repeat the last one.
  GPUINT_DEVICE u64 index() const {
    const u64 row = first_of_block(ptx::rematerialize(turn)) + ptx::thread();
    return row < o.rows ? row : o.rows - 1;
  }
  GPUINT_DEVICE Prepared<S> record() const { return Prepared<S>(o, index()); }
  GPUINT_DEVICE u32 bases() const { return MANY ? bases_of(o) : 1; }
  GPUINT_DEVICE const u32* base(u32 i) const {
    return input_row<S>(o, 0, MANY ? index() * bases() + i : index());
  }
  GPUINT_DEVICE const u32* exponent(u32 i) const {
    if constexpr (MANY)
      return input_row<S>(o, 1, index() * bases() + i);
    else
      return input_row<S>(o, 1, o.params.broadcast_exponent != 0 ? 0 : index());
  }
  GPUINT_DEVICE bool is_odd() const { return (__ldg(record().v()) & 1) != 0; }

  // The thread's digits in device memory.
  GPUINT_DEVICE Digit* digits() const {
    const u64 count = MANY ? u64(DIGITS) * bases() : DIGITS;
    return reinterpret_cast<Digit*>(o.scratch) +
           (u64(blockIdx.x) * THREADS + ptx::thread()) * count;
  }
  // Power e of base i; the power 0 is the same of all.
  GPUINT_DEVICE Digit* power(u32 i, u32 e) const {
    return digits() + BEFORE + ((MANY && e != 0 ? i * POWERS : 0) + e) * LENGTH;
  }
};

// The digits of a warp's exponents in base 2^k.
template <class Row>
struct Windows {
  using S = typename Row::S;
  u32 k;
  u32 count;    // digits of the longest exponent; at least 1
  u32 largest;  // digit of all rows

  GPUINT_DEVICE explicit Windows(const Row& row) {
    u32 bits = 0;
    GPUINT_UNROLL(1)
    for (u32 base = 0; base < row.bases(); ++base) {
      const u32* const exponent = row.exponent(base);
      GPUINT_UNROLL(1)
      for (u32 i = 0; i < S::N; ++i) {
        const u32 limb = __ldg(exponent + i);
        if (limb != 0) bits = max_of(bits, 32 * (i + 1) - leading_zeros(limb));
      }
    }
    bits = __reduce_max_sync(ALL_LANES, bits);
    k = window_bits(bits);
    count = max_of(ceil_div(bits, k), 1);
    u32 most = 0;
    GPUINT_UNROLL(1)
    for (u32 base = 0; base < row.bases(); ++base) {
      GPUINT_UNROLL(1)
      for (u32 i = 0; i < count; ++i) most = max_of(most, digit(row, base, i));
    }
    largest = __reduce_max_sync(ALL_LANES, most);
  }
  GPUINT_DEVICE u32 digit(const Row& row, u32 base, u32 i) const {
    return exponent_digit<S>(row.exponent(base), i, k);
  }
};

// The operation. An engine has the types
//   Row       a PowerRow, constructed from operands and turn, with first_powers(is_montgomery,
//   places),
//             store(place, row) and REGISTERS of a thread
//   Place     a thread's digits in shared memory, PLACE_BYTES for a warp
//   OddPower  the residue of a row with odd modulus while its power is computed
//   AnyPower  the same for any modulus.
template <class Engine>
struct Power {
  using Row = typename Engine::Row;
  using Place = typename Engine::Place;
  using S = typename Row::S;
  static constexpr u32 THREADS = Row::THREADS;
  static constexpr u32 ROWS = THREADS;
  static constexpr u32 WARPS = THREADS / WARP;
  // For each warp: factor or columns, and modulus.
  static constexpr u32 SHARED = 2 * WARPS * Engine::PLACE_BYTES;
  static constexpr u32 SCRATCH = Row::SCRATCH;
  static constexpr u32 PERSISTENT = 1;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(min_of(Engine::REGISTERS, 255), THREADS);

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const u32 lane = ptx::thread() % WARP, warp = ptx::thread() / WARP;
    unsigned char* const own = shared + warp * 2 * Engine::PLACE_BYTES;
    const Place place = Engine::place(own, lane);
    const Place modulus = Engine::place(own + Engine::PLACE_BYTES, lane);
    GPUINT_UNROLL(1)
    for (u32 turn = 0; Row::first_of_block(turn) + ptx::thread() / WARP * WARP < o.rows; ++turn) {
      const Row row(o, turn);
      const Windows<Row> windows(row);
      GPUINT_UNROLL(1)
      for (u32 pass = 0; pass < 2; ++pass) {
        const bool is_montgomery = pass == 0;
        if (!__any_sync(ALL_LANES, row.is_odd() == is_montgomery)) continue;
        row.first_powers(is_montgomery, place, modulus);
        if (is_montgomery)
          raise(typename Engine::OddPower(row, modulus), row, windows, place);
        else
          raise(typename Engine::AnyPower(modulus), row, windows, place);
        if (row.is_odd() == is_montgomery && row.is_there())
          Engine::store(place, output_row<S>(o, 0, row.index()));
      }
    }
  }

 private:
  template <class Residue>
  GPUINT_DEVICE static void raise(Residue residue, const Row& row, const Windows<Row>& windows,
                                  const Place& place) {
    if constexpr (Row::MANY)
      raise_all(residue, row, windows, place);
    else
      raise_one(residue, row, windows, place);
  }

  template <class Residue>
  GPUINT_DEVICE static void raise_one(Residue residue, const Row& row, const Windows<Row>& windows,
                                      const Place& place) {
    // One loop, so that there is one copy of each kind of product. First it makes the powers;
    // `made` is the highest.
    u32 made = 1, position = windows.count - 1;
    residue.load(row, place,
                 row.power(0, windows.largest > 1 ? 1 : windows.digit(row, 0, position)));
    GPUINT_UNROLL(1)
    while (made < windows.largest || position > 0) {
      const bool is_table = made < windows.largest;
      u32 squares = 0, factor = 1;
      if (!is_table) {
        --position;
        squares = windows.k;
        factor = windows.digit(row, 0, position);
      }
      const u32 products = squares + (__any_sync(ALL_LANES, factor != 0) != 0 ? 1 : 0);
      GPUINT_UNROLL(1)
      for (u32 i = 0; i < products; ++i) {
        if (row.is_there()) GPUINT_RARE(PowerProduct);
        residue.step(row, place, i < squares, row.power(0, factor));
      }
      if (!is_table) continue;
      residue.save(row, place, row.power(0, ++made));
      if (made == windows.largest)
        residue.load(row, place, row.power(0, windows.digit(row, 0, position)));
    }
    residue.finish(row, place);
  }

  // Straus's walk (modular/pow_product.cuh), in one loop likewise.
  template <class Residue>
  GPUINT_DEVICE static void raise_all(Residue residue, const Row& row, const Windows<Row>& windows,
                                      const Place& place) {
    u32 base = windows.largest > 1 ? 0 : row.bases();  // whose powers are made
    u32 made = 1, squares = 0;
    u32 position = windows.count - 1;
    u32 next = 1;  // base to multiply by
    const auto first_power = [&] {
      return base < row.bases() ? row.power(base, 1)
                                : row.power(0, windows.digit(row, 0, position));
    };
    residue.load(row, place, first_power());
    GPUINT_UNROLL(1)
    while (true) {
      const bool is_table = base < row.bases(), is_square = !is_table && squares > 0;
      u32 own = base, factor = 1;
      if (is_square) {
        --squares;
      } else if (!is_table) {
        if (next == row.bases()) {
          if (position == 0) break;
          --position;
          squares = windows.k;
          next = 0;
          continue;
        }
        own = next++;
        factor = windows.digit(row, own, position);
        if (__any_sync(ALL_LANES, factor != 0) == 0) continue;
      }
      if (row.is_there()) GPUINT_RARE(PowerProduct);
      residue.step(row, place, is_square, row.power(own, factor));
      if (!is_table) continue;
      residue.save(row, place, row.power(base, ++made));
      if (made < windows.largest) continue;
      made = 1;
      ++base;
      residue.load(row, place, first_power());
    }
    residue.finish(row, place);
  }
};

}  // namespace gpuint::by_thread
