// Products modulo odd divisors in turned order: a warp's two low products and the high tiles of
// both in the same sums.
//
// R = 2^32 LIMBS, n = 4 LIMBS the bytes of a number.
//
// Montgomery's product (P. L. Montgomery, Math. Comp. 44, 1985) for odd divisors v < R, short ones
// too, with v' = -1 / v mod R:
//     t = x y mod R           low tiles, base 4
//     m = t v' mod R          low tiles
//     r = (x y + m v) / R     high tiles of both products in the same sums, base 4
// x y + m v is 0 mod R, and what its columns below the guard limb add to it is less than 2 n 256 <
// 2^32 (two products); so r = ceil(S / 2^32), S being the sum of the columns from the guard limb
// on. r < R + v, and v is taken off only if r >= R: residues are any numbers below R. Multiplied by
// 1 a residue becomes at most v.
#pragma once
#include "fused/products.cuh"

namespace gpuint {

// z = -1 / v mod R in plain order, for v in global memory. Newton's iteration: if v z = -1 + e,
// then z (v z + 2) is -1 / v times 1 - e^2. It begins with a limb and stays in the lowest tile as
// long as that holds the digits.
template <class P, bool STAGED>
struct NegativeInverse : P {
  using Limbs = typename P::Limbs;
  using Sums = typename P::Sums;
  static constexpr u32 TILES = P::Forms::LIMBS / TILE_LIMBS;

  GPUINT_DEVICE explicit NegativeInverse(const P& products) : P(products) {}

  // Overwrites the forms.
  GPUINT_DEVICE void find(const u32* row, Limbs& z) const {
    const u32 v = __ldg(row);
    u32 inverse = v;  // right for 3 bits, then 6, 12, 24, 48
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < 4; ++i) inverse *= 2 - v * inverse;
    Limbs x;
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < TILES; ++tile) {
      x[tile] = __ldg(row + tile * TILE_LIMBS + this->lane);
      z[tile] = tile == 0 && this->lane == 0 ? 0 - inverse : 0;
    }
    u32* const a = this->template factor<Order::Plain>();
    this->template put_a<Order::Plain>(a, x);
    GPUINT_UNROLL(1)
    for (u32 limbs = 1; limbs < (STAGED ? TILE_LIMBS : P::LIMBS); limbs *= 2) {
      if (limbs < TILE_LIMBS)
        improve<1>(a, z);
      else
        improve<TILES>(a, z);
    }
    if constexpr (STAGED) improve_from<1>(a, z);
    this->sync();
  }

 private:
  // Improves z from COUNT correct tiles to all tiles.
  template <u32 COUNT>
  GPUINT_DEVICE void improve_from(const u32* a, Limbs& z) const {
    if constexpr (COUNT < TILES) {
      constexpr u32 NEXT = min_of(2 * COUNT, TILES);
      improve<NEXT>(a, z);
      improve_from<NEXT>(a, z);
    }
  }
  // Doubles the number of correct limbs of z, in products of COUNT tiles.
  template <u32 COUNT>
  GPUINT_DEVICE void improve(const u32* a, Limbs& z) const {
    this->sync();
    this->template put_b<Order::Plain>(z);
    this->sync();
    Limbs t;
    {
      Sums sums;
      P::clear(sums);
      this->template add_low<COUNT>(this->template rows<Order::Plain>(a), sums);
      this->resolve(
          [&](u32 tile) {
            return value_of_columns(sums[tile]) + (tile == 0 && this->lane == 0 ? 2 : 0);
          },
          0, t);
    }
    this->template put_a<Order::Plain>(this->for_low(), t);
    this->sync();
    Sums sums;
    P::clear(sums);
    this->template add_low<COUNT>(this->low_rows(), sums);
    this->resolve([&](u32 tile) { return value_of_columns(sums[tile]); }, 0, z);
    GPUINT_UNROLL(16)
    for (u32 tile = COUNT; tile < TILES; ++tile) z[tile] = 0;
  }
};

// Residues times R modulo odd v, in turned order.
template <class P>
struct Montgomery : P {
  using Limbs = typename P::Limbs;
  using Sums = typename P::Sums;
  static constexpr u32 TILES = P::Forms::LIMBS / TILE_LIMBS;
  static_assert(2 * 4 * P::LIMBS * 256 < u64(1) << 32, "the guard limb takes what is below it");

  // Rows of v and -1 / v for every product.
  using High = typename P::template Fixed<0, TILES>;
  using Low = typename P::template Fixed<0, TILES - 1>;
  High high;
  Low low;
  u32 v_top;
  u32 factor_top = 0;

  GPUINT_DEVICE Montgomery(const P& products, const u32* v)
      : P(products), high(find_modulus(v)), low(this->low_rows()) {
    v_top = __ldg(v + P::LIMBS - 1);
  }
  // Of moduli that `set_modulus` puts into shared memory.
  GPUINT_DEVICE explicit Montgomery(const P& products)
      : P(products), high(this->high_rows()), low(this->low_rows()), v_top(0) {
    static_assert(!P::IS_KEPT, "rows of the modulus are read where they are used");
  }
  // v in turned order, -1 / v mod R in plain order.
  GPUINT_DEVICE void set_modulus(const Limbs& v, const Limbs& inverse) {
    put_modulus(v, inverse);
    v_top = __shfl_sync(~0u, v[0], 0);
  }

  // From plain to turned order.
  GPUINT_DEVICE void turn(Limbs& x) const {
    this->template each_limb<Order::Plain>(x, this->top_of_tile(x[TILES - 1]),
                                           [&](u32 tile, u32, u32, u32 below) { x[tile] = below; });
  }

  GPUINT_DEVICE void set_factor(const Limbs& y) {
    this->template put_a<Order::Turned>(this->template factor<Order::Turned>(), y);
    factor_top = y[0];
  }

  // 1, which takes R out of a residue.
  GPUINT_DEVICE void set_one(Limbs& x) const {
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < TILES; ++tile) x[tile] = tile == 0 && this->lane == 1;
  }

  // x <- x y / R mod v.
  GPUINT_DEVICE void multiply(Limbs& x) const {
    const u32 above = product(x, [](u32) { return 0u; });
    if constexpr (P::IS_REGULAR) {
      this->subtract_multiple(x, this->for_high(), above);
    } else {
      if (above != 0) this->template subtract<Order::Turned>(x, this->for_high(), x);
    }
  }
  // x <- x y / R + c mod v, for c <= v, whose limb index<Turned>(tile) is summand(tile). The sum is
  // below R + 2 v < 3 R. Of regular products y is 1 or c is 0, for any c: the sum is below R + v.
  template <class Summand>
  GPUINT_DEVICE void multiply_add(Limbs& x, Summand summand) const {
    u32 above = product(x, summand);
    if constexpr (P::IS_REGULAR) {
      this->subtract_multiple(x, this->for_high(), above);
    } else {
      GPUINT_UNROLL(1)
      while (above != 0)
        if (this->template subtract<Order::Turned>(x, this->for_high(), x)) --above;
    }
  }

  // Writes the residue below v of x, a product by 1 and so at most v, to a row of COUNT limbs in
  // global memory.
  template <u32 COUNT = P::LIMBS>
  GPUINT_DEVICE void store(const Limbs& x, u32* row) const {
    Limbs d;
    const bool less = this->template subtract<Order::Turned>(x, this->for_high(), d);
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < TILES; ++tile) {
      const u32 to = this->template index<Order::Turned>(tile);
      if (COUNT == P::LIMBS || to < COUNT) row[to] = less ? x[tile] : d[tile];
    }
  }

 private:
  // x <- x y / R + c modulo R, for any c < R; returns what is above R.
  template <class Summand>
  GPUINT_DEVICE u32 product(Limbs& x, Summand summand) const {
    this->sync();  // the factor is there, and nobody reads the columns any more
    this->template put_b<Order::Turned>(x);
    this->sync();
    const auto rows = this->template rows<Order::Turned>(this->template factor<Order::Turned>());
    u64 above = P::top_columns(factor_top, x[0]);  // of lane 0, as all that goes there
    Sums upper;
    P::clear(upper);
    {
      Sums lower;
      P::clear(lower);
      u32 carry;
      if constexpr (P::SHARED_WIDE) {
        this->add_wide(rows, lower, upper);
        carry = resolve_sums(lower, x);
      } else {
        this->add_low(rows, lower);
        carry = resolve_sums(lower, x);
        this->add_high(rows, upper);
      }
      if (this->lane == 0) x[0] = static_cast<u32>(value_of_columns(upper[0])) + carry;
    }
    this->sync();
    this->template put_b<Order::Turned>(x);
    this->sync();
    {
      Sums lower;
      P::clear(lower);
      this->add_low(low, lower);
      resolve_sums(lower, x);
    }
    this->sync();
    this->template put_b<Order::Plain>(x);
    above += P::top_columns(v_top, this->top_of_tile(x[TILES - 1]));
    this->sync();
    this->add_high(high, upper);
    above += this->resolve(
        [&](u32 tile) {
          const u64 value = value_of_columns(upper[tile]);
          return tile == 0 && this->lane == 0 ? value + ~0u : value + summand(tile);
        },
        0, x);
    above += summand(0);
    if (this->lane == 0) x[0] = static_cast<u32>(above);
    return __shfl_sync(~0u, static_cast<u32>(above >> 32), 0);
  }
  GPUINT_DEVICE u32 resolve_sums(const Sums& sums, Limbs& x) const {
    return this->resolve([&](u32 tile) { return value_of_columns(sums[tile]); }, 0, x);
  }

  // Puts v and -1 / v mod R in A-form.
  GPUINT_DEVICE void put_modulus(const Limbs& v, const Limbs& inverse) const {
    this->template put_a<Order::Plain>(this->for_low(), inverse);
    this->template put_a<Order::Turned>(this->for_high(), v);
    this->template begin_factors<Order::Turned>();
    this->sync();
  }
  GPUINT_DEVICE typename P::SharedRows find_modulus(const u32* row) const {
    Limbs x, z;
    NegativeInverse<P, false>(*this).find(row, z);
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < TILES; ++tile)
      x[tile] = __ldg(row + this->template index<Order::Turned>(tile));
    put_modulus(x, z);
    return this->high_rows();
  }
};

}  // namespace gpuint
