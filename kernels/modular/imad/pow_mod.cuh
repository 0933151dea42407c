// PowMod and PowProductMod by limbs of 32 bits: the engine of modular/by_thread/pow_mod.cuh.
#pragma once
#include "modular/by_thread/pow_mod.cuh"
#include "modular/imad/barrett.cuh"
#include "modular/imad/montgomery.cuh"

namespace gpuint::imad {

// Limbs of a power in device memory: whole words.
template <u32 N>
constexpr u32 POWER_LIMBS = round_up(N, WORD);

// Calls visit(i, limb) for the limbs at `words`, an aligned address.
template <u32 N, class Visit>
GPUINT_DEVICE void visit_limbs(const u32* words, Visit visit) {
  GPUINT_UNROLL()
  for (u32 k = 0; k < N; k += WORD) {
    u32 word[WORD];
    load_word(words + k, word);
    GPUINT_UNROLL()
    for (u32 i = 0; i < WORD; ++i)
      if (k + i < N) visit(k + i, word[i]);
  }
}
template <u32 N>
GPUINT_DEVICE void write_power(const u32 (&x)[N], u32* power) {
  GPUINT_UNROLL()
  for (u32 k = 0; k < N; k += WORD) {
    u32 word[WORD];
    GPUINT_UNROLL()
    for (u32 i = 0; i < WORD; ++i) word[i] = k + i < N ? x[k + i] : 0;
    store_word(power + k, word);
  }
}

template <class S, bool MANY>
struct Row : by_thread::PowerRow<S, u32, POWER_LIMBS<S::N>, 0, MANY> {
  using Base = by_thread::PowerRow<S, u32, POWER_LIMBS<S::N>, 0, MANY>;
  using Base::base;
  using Base::bases;
  using Base::power;
  using Base::record;
  using B = Barrett<S>;
  static constexpr u32 N = S::N;
  u32 zeros;

  GPUINT_DEVICE Row(const Operands& o, u32 turn)
      : Base{o, turn}, zeros(S::BITS - Prepared<S>(o, Base::index()).bits()) {}

  // The residue of T to x: below B^N. V is at `modulus`.
  GPUINT_DEVICE void reduce(const Place& low, const u32 (&high)[N], const Place& modulus,
                            u32 (&x)[N]) const {
    u32 v[N];
    const u32 above = B::reduce(
        low, high, [&](u32(&m)[N + 1]) { load_reciprocal(m); },
        [&](u32(&to)[N]) { load_limbs(modulus, to); }, v, x);
    if (above != 0) subtract(x, v);
  }

  // The powers 0 and 1 of the bases, or R and base R modulo v, to the table. T = x 2^z for x = 1 or
  // a base, then R times its residue. V to `modulus`.
  GPUINT_DEVICE void first_powers(bool is_montgomery, const Place& low,
                                  const Place& modulus) const {
    const u32* const v = record().v();
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < N; ++j)
      modulus[j] = shifted_up([&](u32 i) { return __ldg(v + i); }, N, zeros, j);
    GPUINT_UNROLL(1)
    for (u32 e = 0; e <= bases(); ++e) {
      const u32* const x = base(e == 0 ? 0 : e - 1);
      const auto limb = [&](u32 i) { return e == 0 ? u32(i == 0) : __ldg(x + i); };
      u32 high[N], residue[N];
      const u32 distance = ptx::rematerialize(zeros);
      GPUINT_UNROLL()
      for (u32 j = 0; j < N; ++j) high[j] = shifted_up(limb, N, distance, N + j);
      GPUINT_UNROLL(1)
      for (u32 j = 0; j < N; ++j) low[j] = shifted_up(limb, N, zeros, j);
      GPUINT_UNROLL(1)
      for (bool is_last = !is_montgomery;; is_last = true) {
        reduce(low, high, modulus, residue);
        if (is_last) break;
        GPUINT_UNROLL()
        for (u32 j = 0; j < N; ++j) high[j] = residue[j], low[j] = 0;
      }
      store_limbs(residue, low);
      shift_down(low, zeros, residue);
      write_power(residue, MANY && e != 0 ? power(e - 1, 1) : power(0, e));
    }
  }

 private:
  // The record's words from its last one down to that of M's lowest limb.
  GPUINT_DEVICE void load_reciprocal(u32 (&m)[N + 1]) const {
    constexpr u32 LIMBS = round_up(N + 1, WORD), BELOW = LIMBS - (N + 1);
    visit_limbs<LIMBS>(record().y_end() - LIMBS, [&](u32 i, u32 limb) {
      if (i >= BELOW) m[i - BELOW] = limb;
    });
  }
};

// The residue of a row with odd modulus while its power is computed: x R modulo v, below R.
template <class Row>
struct OddPower {
  static constexpr u32 N = Row::N;
  Montgomery<N> montgomery;
  u32 x[N];

  GPUINT_DEVICE OddPower(const Row& row, const Place& modulus) {
    // The threads of even moduli compute modulo v + 1, and drop the result.
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < N; ++j) modulus[j] = __ldg(row.record().v() + j) | u32(j == 0);
    montgomery = {modulus, negative_inverse(modulus[0])};
  }
  GPUINT_DEVICE void load(const Row&, const Place&, const u32* power) {
    visit_limbs<N>(power, [&](u32 i, u32 limb) { x[i] = limb; });
  }
  GPUINT_DEVICE void save(const Row&, const Place&, u32* power) const { write_power(x, power); }
  GPUINT_DEVICE void step(const Row&, const Place& place, bool is_square, const u32* power) {
    u32 n[N];
    u32 above;
    if (is_square) {
      above = Montgomery<N>::square_wide(x, place, n, montgomery.inverse,
                                         [&](u32(&to)[N]) { load_limbs(montgomery.modulus, to); });
    } else {
      visit_limbs<N>(power, [&](u32 i, u32 limb) { place[i] = limb; });
      load_limbs(montgomery.modulus, n);
      above = Montgomery<N>::multiply_wide(x, place, n, montgomery.inverse);
    }
    if (above != 0) subtract(x, n);
  }
  // Leaves the power in the place.
  GPUINT_DEVICE void finish(const Row&, const Place& place) { montgomery.take_radix_out(x, place); }
};

// The residue of a row with any modulus: x 2^z, below B^N, in the place.
template <class Row>
struct AnyPower {
  static constexpr u32 N = Row::N;
  Place modulus;

  GPUINT_DEVICE explicit AnyPower(const Place& modulus_) : modulus(modulus_) {}

  GPUINT_DEVICE void load(const Row& row, const Place& place, const u32* power) {
    GPUINT_UNROLL(1)
    for (u32 j = 0; j < N; ++j)
      place[j] = shifted_up([&](u32 i) { return power[i]; }, N, row.zeros, j);
  }
  GPUINT_DEVICE void save(const Row& row, const Place& place, u32* power) const {
    u32 x[N];
    shift_down(place, row.zeros, x);
    write_power(x, power);
  }
  GPUINT_DEVICE void step(const Row& row, const Place& place, bool is_square, const u32* power) {
    u32 x[N], high[N];
    load_limbs(place, x);
    if (is_square) {
      shift_down(place, row.zeros, high);
      store_limbs(high, place);
    } else {
      visit_limbs<N>(power, [&](u32 i, u32 limb) { place[i] = limb; });
    }
    multiply_wide(x, place, high);
    row.reduce(place, high, modulus, x);
    store_limbs(x, place);
  }
  GPUINT_DEVICE void finish(const Row& row, const Place& place) {
    u32 x[N], v[N];
    load_limbs(place, x);
    load_limbs(modulus, v);
    subtract_once(x, v, 0);
    store_limbs(x, place);
    shift_down(place, row.zeros, x);
    store_limbs(x, place);
  }
};

template <class S, bool MANY>
struct PowerEngine {
  using Row = imad::Row<S, MANY>;
  using Place = imad::Place;
  using OddPower = imad::OddPower<Row>;
  using AnyPower = imad::AnyPower<Row>;
  static constexpr u32 N = S::N;
  static constexpr u32 PLACE_BYTES = N * STAGE_STRIDE * sizeof(u32);
  static constexpr u32 REGISTERS = ImadPolicy<N>::POWERS;

  GPUINT_DEVICE static Place place(unsigned char* shared, u32 lane) {
    return {reinterpret_cast<u32*>(shared) + lane};
  }
  GPUINT_DEVICE static void store(const Place& x, u32* row) {
    GPUINT_UNROLL(1)
    for (u32 i = 0; i < N; ++i) row[i] = x[i];
  }
};

template <class S, bool MANY = false>
struct Power : by_thread::Power<PowerEngine<S, MANY>> {};

}  // namespace gpuint::imad
