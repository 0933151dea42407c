// PowMod by digits of 52 bits, a row to a thread: a^e mod v for every a, e < 2^BITS. 0^0 is 1, and
// everything mod 1 is 0.
//
// Rows with odd v go by Montgomery's products, the others by Barrett's reduction. A warp that has
// both kinds makes two passes; each row stores the result of its own.
//
// Windows as in modular/pow_mod.cuh, by the longest exponent of the warp, since its threads do the
// same at the same time: a digit of a shorter exponent is 0 there, and multiplies by the power 0.
// Where it is 0 in all rows the product is left out, and the table ends with the largest digit of
// all rows: one exponent 65537 costs 17 products.
//
// A power is D integers of 8 bytes in device memory, a table for each thread in flight.
//
// PowProductMod walks over the digits of all bases of a row (modular/pow_product.cuh). The power 0
// of all bases is one entry of the table.
#pragma once
#include "modular/fp64/barrett.cuh"
#include "modular/fp64/montgomery.cuh"
#include "modular/fp64/stage.cuh"
#include "modular/pow_mod.cuh"
#include "modular/pow_product.cuh"

namespace gpuint::fp64 {

template <u32 D>
GPUINT_DEVICE void read_digits(const u64* power, double (&x)[D]) {
  GPUINT_UNROLL()
  for (u32 j = 0; j < D; j += 2) {
    const ulonglong2 pair = *reinterpret_cast<const ulonglong2*>(power + j);
    x[j] = to_digit(pair.x), x[j + 1] = to_digit(pair.y);
  }
}
template <u32 D>
GPUINT_DEVICE void copy_digits(const u64* power, const Place& to) {
  GPUINT_UNROLL()
  for (u32 j = 0; j < D; j += 2) {
    const ulonglong2 pair = *reinterpret_cast<const ulonglong2*>(power + j);
    to[j] = pair.x, to[j + 1] = pair.y;
  }
}
template <u32 D>
GPUINT_DEVICE void write_digits(const double (&x)[D], u64* power) {
  GPUINT_UNROLL()
  for (u32 j = 0; j < D; j += 2)
    *reinterpret_cast<ulonglong2*>(power + j) =
        make_ulonglong2(to_integer(x[j]), to_integer(x[j + 1]));
}

// A thread's row, and what a power keeps of it in device memory: V, M and the table of powers, D
// digits each. Addresses are worked out where they are needed, since the products have no registers
// to keep them in. MANY if a row has several bases.
template <class S_, bool MANY = false>
struct PowerRow {
  using S = S_;
  using B = Barrett<S>;
  static constexpr u32 D = B::D;
  // Of a base, but for the power 0.
  static constexpr u32 POWERS = (1 << window_bits(S::BITS)) - 1;
  static constexpr u32 DIGITS = (3 + POWERS) * D;
  static constexpr u32 THREADS = 4 * WARP;
  const Operands& o;
  u32 turn;  // of the block: which rows it is at
  B barrett;

  GPUINT_DEVICE PowerRow(const Operands& o_, u32 turn_)
      : o(o_), turn(turn_), barrett(Prepared<S>(o_, index()).bits()) {
    const u32 *const v = record().v(), *const y = record().y_end() - B::RECIPROCAL_LIMBS;
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < D; ++j) {
      modulus()[j] = digit_at(v, S::N, static_cast<i32>(DIGIT_BITS * j - barrett.zeros));
      reciprocal()[j] = digit_at(y, B::RECIPROCAL_LIMBS,
                                 static_cast<i32>(DIGIT_BITS * j + barrett.reciprocal_from()));
    }
  }

  // The first row of the block in a turn.
  GPUINT_DEVICE static u64 first_of_block(u32 turn) {
    return (u64(turn) * gridDim.x + blockIdx.x) * THREADS;
  }
  GPUINT_DEVICE bool is_there() const {
    return first_of_block(ptx::recomputed(turn)) + ptx::thread() < o.rows;
  }
  // Threads without a row repeat the last one.
  GPUINT_DEVICE u64 index() const {
    const u64 row = first_of_block(ptx::recomputed(turn)) + ptx::thread();
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

  GPUINT_DEVICE u64* modulus() const {
    const u64 digits = MANY ? u64(DIGITS) * bases() : DIGITS;
    return reinterpret_cast<u64*>(o.scratch) + (u64(blockIdx.x) * THREADS + ptx::thread()) * digits;
  }
  GPUINT_DEVICE u64* reciprocal() const { return modulus() + D; }
  // Power e of base i; the power 0 is the same of all.
  GPUINT_DEVICE u64* power(u32 i, u32 e) const {
    return modulus() + (2 + (MANY && e != 0 ? i * POWERS : 0) + e) * D;
  }

  // Leaves R for T in the place of its low digits.
  GPUINT_DEVICE void reduce(const double (&u)[D], const Place& low) const {
    double v[D];
    B::reduce(
        u, low, [&](double(&m)[D]) { read_digits(reciprocal(), m); },
        [&](double(&digits_of_v)[D]) { read_digits(modulus(), digits_of_v); }, v);
  }

  // The powers 0 and 1 of the bases, or R and base R modulo v, to the table: lazy residues. T = x
  // 2^z for x = 1 or a base; then twice T = R beta^(D/2), as R < 2 V.
  GPUINT_DEVICE void first_powers(bool is_montgomery, const Place& low, const Place& high) const {
    const u32 last = is_montgomery ? 2 : 0;
    GPUINT_UNROLL(1)
    for (u32 e = 0, step = 0; e <= bases();) {
      GPUINT_UNROLL(1)
      for (u32 j = 0; j < D; ++j) {
        const i32 from = static_cast<i32>(DIGIT_BITS * j - barrett.zeros);
        const i32 above = from + static_cast<i32>(B::LENGTH);
        if (step == 0) {
          low[j] = e == 0 ? digit_of_one(from) : digit_at(base(e - 1), S::N, from);
          high[j] = e == 0 ? digit_of_one(above) : digit_at(base(e - 1), S::N, above);
        } else if (j < D / 2) {
          high[j] = low[j + D / 2], high[j + D / 2] = 0;
          low[j + D / 2] = low[j], low[j] = 0;
        }
      }
      double u[D];
      load_digits(high, u);
      reduce(u, low);
      if (step == last) {
        shift_down(low, barrett.zeros, u);
        write_digits(u, MANY && e != 0 ? power(e - 1, 1) : power(0, e));
        ++e, step = 0;
      } else {
        ++step;
      }
    }
  }

 private:
  // The digit at bit `from` of the number 1.
  GPUINT_DEVICE static u64 digit_of_one(i32 from) {
    return from <= 0 && from + static_cast<i32>(DIGIT_BITS) > 0 ? 1ull << -from : 0;
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

// Stores a result below BITS as a row.
template <class S>
GPUINT_DEVICE void store_digits(const Place& x, u32* row) {
  GPUINT_UNROLL(1)
  for (u32 i = 0; i < S::N; ++i) {
    const u32 j = 32 * i / DIGIT_BITS, shift = 32 * i % DIGIT_BITS;
    const u64 above = shift > DIGIT_BITS - 32 ? x[j + 1] << (DIGIT_BITS - shift) : 0;
    row[i] = static_cast<u32>(x[j] >> shift | above);
  }
}

// The residue of a row with odd modulus while its power is computed: x R modulo v.
template <class Row>
struct OddPower {
  using S = typename Row::S;
  static constexpr u32 D = Row::D;
  Montgomery<D> montgomery;
  double x[D];

  GPUINT_DEVICE OddPower(const Row& row, const Place& modulus) {
    // The threads of even moduli compute modulo v + 1, and drop the result.
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < D; ++j)
      modulus[j] = digit_at(row.record().v(), S::N, static_cast<i32>(DIGIT_BITS * j)) | u32(j == 0);
    montgomery = {modulus, negative_inverse(modulus[0])};
  }
  GPUINT_DEVICE void load(const Row&, const Place&, const u64* power) { read_digits(power, x); }
  GPUINT_DEVICE void save(const Row&, const Place&, u64* power) const { write_digits(x, power); }
  GPUINT_DEVICE void step(const Row&, const Place& place, bool is_square, const u64* power) {
    if (is_square) {
      montgomery.square(x, place);
    } else {
      copy_digits<D>(power, place);
      montgomery.multiply(x, place);
    }
  }
  // Leaves the power in the place.
  GPUINT_DEVICE void finish(const Row&, const Place& place) {
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < D; ++j) place[j] = j == 0;
    montgomery.multiply(x, place);
    u64 result[D];
    GPUINT_UNROLL()
    for (u32 j = 0; j < D; ++j) result[j] = to_integer(x[j]);
    double n[D];
    load_digits(montgomery.modulus, n);
    subtract_once(result, n);
    GPUINT_UNROLL()
    for (u32 j = 0; j < D; ++j) place[j] = result[j];
  }
};

// The residue of a row with any modulus: x 2^z, in the place.
template <class Row>
struct AnyPower {
  static constexpr u32 D = Row::D;

  GPUINT_DEVICE void load(const Row& row, const Place& place, const u64* power) {
    const u32 distance = row.barrett.zeros, digits = distance / DIGIT_BITS,
              shift = distance % DIGIT_BITS;
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < D; ++j) {
      const u64 high = j >= digits ? power[j - digits] : 0;
      const u64 low = j >= digits + 1 ? power[j - digits - 1] : 0;
      place[j] = (high << shift | low >> (DIGIT_BITS - shift)) & DIGIT_MASK;
    }
  }
  GPUINT_DEVICE void save(const Row& row, const Place& place, u64* power) const {
    double x[D];
    shift_down(place, row.barrett.zeros, x);
    write_digits(x, power);
  }
  GPUINT_DEVICE void step(const Row& row, const Place& place, bool is_square, const u64* power) {
    double x[D], u[D];
    shift_down(place, is_square ? row.barrett.zeros / 2 : 0, x);
    if (is_square) {
      square_wide(x, place, u);
    } else {
      copy_digits<D>(power, place);
      multiply_wide(x, place, u);
    }
    row.reduce(u, place);
  }
  GPUINT_DEVICE void finish(const Row& row, const Place& place) {
    u64 result[D];
    GPUINT_UNROLL()
    for (u32 j = 0; j < D; ++j) result[j] = place[j];
    double v[D];
    read_digits(row.modulus(), v);
    subtract_once(result, v);
    GPUINT_UNROLL()
    for (u32 j = 0; j < D; ++j) place[j] = result[j];
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < D; ++j) place[j] = shifted_down<D>(place, row.barrett.zeros, j);
  }
};

template <class S, bool MANY = false>
struct Power {
  using Row = PowerRow<S, MANY>;
  static constexpr u32 D = Row::D;
  static constexpr u32 THREADS = Row::THREADS;
  static constexpr u32 ROWS = THREADS;
  static constexpr u32 SHARED = 2 * THREADS * D * sizeof(u64);  // factor or columns, and modulus
  static constexpr u32 SCRATCH = THREADS * Row::DIGITS * sizeof(u64);
  static constexpr u32 PERSISTENT = 1;
  // x, n and the columns of two registers a digit; addresses weigh more where digits are few.
  static constexpr u32 OTHERS = D < 18 ? 64 : 48;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(min_of(6 * D + OTHERS, 255), THREADS);

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const u32 lane = ptx::thread() % WARP, warp = ptx::thread() / WARP;
    const Place place{reinterpret_cast<u64*>(shared) + warp * 2 * D * WARP + lane};
    const Place modulus{place.at + D * WARP};
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
          raise(OddPower<Row>(row, modulus), row, windows, place);
        else
          raise(AnyPower<Row>(), row, windows, place);
        if (row.is_odd() == is_montgomery && row.is_there())
          store_digits<S>(place, output_row<S>(o, 0, row.index()));
      }
    }
  }

 private:
  template <class Residue>
  GPUINT_DEVICE static void raise(Residue residue, const Row& row, const Windows<Row>& windows,
                                  const Place& place) {
    if constexpr (MANY)
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

}  // namespace gpuint::fp64
