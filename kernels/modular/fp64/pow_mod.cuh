// PowMod and PowProductMod by digits of 52 bits: the engine of modular/by_thread/pow_mod.cuh. A
// power is D integers of 8 bytes.
#pragma once
#include "modular/by_thread/pow_mod.cuh"
#include "modular/fp64/barrett.cuh"
#include "modular/fp64/montgomery.cuh"

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

// A row; V and M stand before its powers.
template <class S, bool MANY>
struct Row : by_thread::PowerRow<S, u64, digits_of(S::BITS), 2 * digits_of(S::BITS), MANY> {
  using B = Barrett<S>;
  using Base = by_thread::PowerRow<S, u64, B::D, 2 * B::D, MANY>;
  using Base::base;
  using Base::bases;
  using Base::power;
  using Base::record;
  static constexpr u32 D = B::D;
  B barrett;

  GPUINT_DEVICE Row(const Operands& o, u32 turn)
      : Base{o, turn}, barrett(Prepared<S>(o, Base::index()).bits()) {
    const u32 *const v = record().v(), *const y = record().y_end() - B::RECIPROCAL_LIMBS;
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < D; ++j) {
      modulus()[j] = digit_at(v, S::N, static_cast<i32>(DIGIT_BITS * j - barrett.zeros));
      reciprocal()[j] = digit_at(y, B::RECIPROCAL_LIMBS,
                                 static_cast<i32>(DIGIT_BITS * j + barrett.reciprocal_from()));
    }
  }

  GPUINT_DEVICE u64* modulus() const { return Base::digits(); }
  GPUINT_DEVICE u64* reciprocal() const { return modulus() + D; }

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
  GPUINT_DEVICE void finish(const Row&, const Place& place) { montgomery.take_radix_out(x, place); }
};

// The residue of a row with any modulus: x 2^z, in the place.
template <class Row>
struct AnyPower {
  static constexpr u32 D = Row::D;

  GPUINT_DEVICE explicit AnyPower(const Place&) {}

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
    load_integers(place, result);
    double v[D];
    read_digits(row.modulus(), v);
    subtract_once(result, v);
    store_integers(result, place);
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < D; ++j) place[j] = shifted_down<D>(place, row.barrett.zeros, j);
  }
};

template <class S, bool MANY>
struct PowerEngine {
  using Row = fp64::Row<S, MANY>;
  using Place = fp64::Place;
  using OddPower = fp64::OddPower<Row>;
  using AnyPower = fp64::AnyPower<Row>;
  static constexpr u32 D = Row::D;
  static constexpr u32 PLACE_BYTES = D * WARP * sizeof(u64);
  // x, n and the columns of two registers a digit; addresses weigh more where digits are few.
  static constexpr u32 REGISTERS = 6 * D + (D < 18 ? 64 : 48);

  GPUINT_DEVICE static Place place(unsigned char* shared, u32 lane) {
    return {reinterpret_cast<u64*>(shared) + lane};
  }
  GPUINT_DEVICE static void store(const Place& x, u32* row) { store_digits<S>(x, row); }
};

template <class S, bool MANY = false>
struct Power : by_thread::Power<PowerEngine<S, MANY>> {};

}  // namespace gpuint::fp64
