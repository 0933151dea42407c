// Products modulo any divisor in plain order: a warp's wide product and two short ones.
//
// R = 2^32 LIMBS, G = R / 2^32 the weight of the guard limb, n = 4 LIMBS the bytes of a number.
//
// Barrett's reduction (P. Barrett, CRYPTO '86) for every divisor v. V = v 2^s is normalized, R / 2
// <= V < R, and Y a strict underestimate of R^2 / (2V) (prepare.cuh). For T = h R + l < R^2:
//     S = floor(h Y / G)           high tiles, base 4: the guard limb and LIMBS limbs
//     q = floor(2 S / 2^32)        mod R; f / 2^32 is the fraction that the floor drops
//     r = l - q V mod R            low tiles
// S also gets the two products of guard limbs that reach it: of Y below its LIMBS limbs with the
// top of h, and of the top of l with the top of Y.
//   Theorem. f <= 2^32 (T / V - q) < f + DELTA, DELTA = 2 (255 n + 8).
//   Proof. T / V = 2 (R^2 / 2V) (T / R) / R, and every truncation goes down. In units of G, of
//   (R^2 / 2V) (T / R) are lost: less than 255 n for the columns below the guard limb; less than 2
//   each for the two products with guard limbs, of which the high half and the top limb are taken;
//   less than 1 each for what stands below these guard limbs; and less than 2^-90 for the
//   reciprocal, which is less than 3 units of its last place too small. Twice that is the bound.
//   QED.
// So T - q V is in [f, f + DELTA) V / 2^32. If f < 2^32 - DELTA, it is below V and r. Otherwise it
// is within V / 4 of V, and T - q V >= V exactly if r - V mod R, which is near 0, has its top bit
// clear.
//
// Late bits. If l = s is at most MAX_LATE, the product may be reduced modulo v itself, whose
// reciprocal is that of V: T / v is 2^l T / V, so that q, the fraction and DELTA are 2^l times as
// large. Then no factor needs to fit the length of v.
#pragma once
#include "core/record.cuh"
#include "core/late_bits.cuh"
#include "fused/products.cuh"

namespace gpuint {

constexpr u32 MAX_LATE = 8;

// A prepared divisor, normalized to the whole width.
template <class S>
struct FullDivisor {
  const u32* v;      // row of the record
  const u32* y_end;  // of its reciprocal
  u32 shift;         // s

  GPUINT_DEVICE explicit FullDivisor(const Prepared<S>& prepared)
      : v(prepared.v()), y_end(prepared.y_end()), shift(S::BITS - prepared.bits()) {
    static_assert(Record<S>::RECIPROCAL_IS_WHOLE, "N limbs of Y and one below, for every v");
  }
  GPUINT_DEVICE const u32* y() const { return y_end - S::N; }
};

// Arithmetic modulo V in plain order, of any numbers below R.
template <class P>
struct Barrett : P {
  using Limbs = typename P::Limbs;
  using Sums = typename P::Sums;
  static constexpr u32 TILES = P::LIMBS / TILE_LIMBS;
  static constexpr u32 DELTA = 2 * (255 * 4 * P::LIMBS + 8);
  static_assert(DELTA <= 1u << (30 - MAX_LATE), "T - q V is within V / 4 of where f puts it");

  u32 shift = 0, late = 0;
  u32 y_top = 0, y_guard = 0;

  GPUINT_DEVICE explicit Barrett(const P& products) : P(products) {
    this->template begin_factors<Order::Plain>();
  }

  // x shifted down to a row of COUNT limbs in global memory; x = 0 mod 2^shift.
  template <u32 COUNT = P::LIMBS>
  GPUINT_DEVICE void store(const Limbs& x, u32* row) const {
    const u32 limbs = shift / 32;
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < TILES; ++tile) {
      const u32 k = tile * TILE_LIMBS + this->lane;
      const u32 next =
          tile + 1 < TILES ? __shfl_sync(~0u, x[tile + 1 < TILES ? tile + 1 : 0], 0) : 0;
      const u32 turned = __shfl_sync(~0u, x[tile], (this->lane + 1) % 32);
      const u32 limb = __funnelshift_r(x[tile], this->lane == 31 ? next : turned, shift % 32);
      const u32 to = k >= limbs ? k - limbs : P::LIMBS - limbs + k;
      if (COUNT == P::LIMBS || to < COUNT) row[to] = k >= limbs ? limb : 0;
    }
  }

  // Puts V and Y, given v as `read` and the reciprocal, in A-form.
  template <class S>
  GPUINT_DEVICE void set_divisor(const FullDivisor<S>& divisor, Limbs& v, const Limbs& y) {
    this->normalize(divisor.v, shift, v);
    this->template put_a<Order::Plain>(this->for_low(), v);
    this->template put_a<Order::Plain>(this->for_high(), y);
    y_top = this->top_of_tile(y[TILES - 1]);
    y_guard = __ldg(divisor.y() - 1);
    this->sync();
  }

  GPUINT_DEVICE void set_factor(const Limbs& y) const {
    this->template put_a<Order::Plain>(this->template factor<Order::Plain>(), y);
  }

  // 2^s, the normalized 1.
  GPUINT_DEVICE void set_one(Limbs& x) const {
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < TILES; ++tile)
      x[tile] = tile * TILE_LIMBS + this->lane == shift / 32 ? 1u << shift % 32 : 0;
  }

  // x <- x y mod V.
  GPUINT_DEVICE void multiply(Limbs& x) const {
    this->sync();  // the factor is there, and nobody reads the columns any more
    this->template put_b<Order::Plain>(x);
    this->sync();
    const auto rows = this->template rows<Order::Plain>(this->template factor<Order::Plain>());
    Limbs low;
    Sums upper;
    P::clear(upper);
    u32 carry;
    if constexpr (P::SHARED_WIDE) {
      Sums lower;
      P::clear(lower);
      this->add_wide(rows, lower, upper);
      carry = resolve_sums(lower, 0, low);
    } else {
      Sums lower;
      P::clear(lower);
      this->add_low(rows, lower);
      carry = resolve_sums(lower, 0, low);
      this->add_high(rows, upper);
    }
    resolve_sums(upper, carry, x);
    reduce(low, x);
  }

  // x <- x R + low mod V.
  GPUINT_DEVICE void reduce(const Limbs& low, Limbs& x) const {
    const u32 beneath = estimate(x, this->top_of_tile(low[TILES - 1]));
    this->sync();
    this->put_doubled(x, beneath & 1u << 31, [](u32, u32) {});
    this->sync();
    Sums sums;
    P::clear(sums);
    this->add_low(this->low_rows(), sums);
    // l - q V = ~(~l + q V).
    this->resolve(
        [&](u32 tile) { return value_of_columns(sums[tile]) + static_cast<u32>(~low[tile]); }, 0,
        x);
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < TILES; ++tile) x[tile] = ~x[tile];
    if (is_in_doubt(beneath)) {
      if (this->lane == 0) GPUINT_RARE(FusedQuotientInDoubt);
      Limbs d;
      this->template subtract<Order::Plain>(x, this->for_low(), d);
      if (static_cast<i32>(this->top_of_tile(d[TILES - 1])) >= 0) P::copy(d, x);
    }
    GPUINT_ASSERT(is_below(x), "r < V");
  }

  // Makes S of h = x, in turned order, where `guard` is the limb below; returns its guard limb.
  GPUINT_DEVICE u32 estimate(Limbs& x, u32 guard) const {
    const u32 top = this->top_of_tile(x[TILES - 1]);
    this->sync();
    this->template put_b<Order::Plain>(x);
    this->sync();
    Sums sums;
    P::clear(sums);
    this->add_high(this->high_rows(), sums);
    const u64 from_guards = u64(__umulhi(y_guard, top)) + __umulhi(guard, y_top);
    const u32 carry = this->resolve(
        [&](u32 tile) {
          const u64 value = value_of_columns(sums[tile]);
          return tile == 0 && this->lane == 0 ? value + from_guards : value;
        },
        0, x);
    u32 beneath = __shfl_sync(~0u, x[0], 0);
    u32 highest = static_cast<u32>(P::top_columns(y_top, top) + carry);
    if (late != 0) {
      highest = __funnelshift_l(this->shift_up(x, 0, late), highest, late);
      beneath <<= late;
    }
    if (this->lane == 0) x[0] = highest;
    return beneath;
  }
  // True if the quotient may be one more.
  GPUINT_DEVICE bool is_in_doubt(u32 beneath) const { return beneath << 1 >= 0u - (DELTA << late); }

 private:
  GPUINT_DEVICE bool is_below(const Limbs& x) const {
    Limbs d;
    return this->template subtract<Order::Plain>(x, this->for_low(), d);
  }
  GPUINT_DEVICE u32 resolve_sums(const Sums& sums, u32 carry, Limbs& x) const {
    return this->resolve([&](u32 tile) { return value_of_columns(sums[tile]); }, carry, x);
  }
};

}  // namespace gpuint
