// Prepare by the tensor cores: the reciprocals that the kernels of this folder take, a warp to a
// row, by Newton's iteration in registers.
//
// A stage of C tiles takes the top C tiles V of the divisor, normalized to R = 2^(1024 C), where a
// fraction of V below them may be left out, and an underestimate Y of R^2 / (2V) by eta > 0:
//     H = floor(V Y / R) or one less   high tiles, base 4
//     E = max(0, R / 2 - 4 - H)        limb by limb ~(H + 3), but for the top bit
//     D = floor(2 E Y / R) or less     high tiles
//     Y <- Y + D
//   Theorem. Y stays an underestimate, and eta becomes less than 2 eta^2 / R + 16.
//   Proof. Let W be the top tiles of V, W <= V < W + 1, and e = R^2 / 2 - W Y. As R^2 / 2 - V Y = V
//   eta and 1 / V = 2 (Y + eta) / R^2,
//       eta = 2 (Y + eta) (e - (V - W) Y) / R^2,   so
//       2 e Y / R^2 = eta - 2 eta e / R^2 + 2 (Y + eta) Y (V - W) / R^2 < eta + 2 Y / R.
//   H loses less than 1 + 255 n / 2^32 (products.cuh), so where E is not 0 it is in [e / R - 4, e /
//   R - 2]. Therefore D <= 2 e Y / R^2 - 4 Y / R < eta. And D >= 2 e Y / R^2 - 10 with its floors,
//   where 2 eta e / R^2 < 2 eta^2 / R + 2, since e = V eta + (V - W) Y < R eta + R. Where E is 0, e
//   / R <= 4, and eta <= 8 already. QED.
// So an underestimate to p bits, eta < R / 2^p, becomes one to min(2 p - 2, 1024 C - 5). It begins
// with a limb, floor(2^63 / (v + 1)) for the top limb v of V, to 30 bits. Lengths are chosen from
// the end: each stage has the fewest tiles that hold what the next one needs.
//
// The last stage has a tile more than the row, so that the N + 4 limbs of the record are cut off
// an underestimate to 32 N + 128 bits: too small by more than 0 and less than 2 of their units,
// which is the contract of refine.cuh.
#pragma once
#include "core/group.cuh"
#include "core/rows.cuh"
#include "div/prepare.cuh"
#include "modular/tensor/frame.cuh"
#include "modular/tensor/products.cuh"
#include "tuning/fused_modular.cuh"

namespace gpuint {

// A stage of so many tiles, in memory for CAPACITY of them.
template <u32 TILES, u32 CAPACITY>
struct ReciprocalStage : FusedProducts<TILES, false, false, CAPACITY> {
  using Base = FusedProducts<TILES, false, false, CAPACITY>;
  using Limbs = typename Base::Limbs;
  using Sums = typename Base::Sums;
  u32 v_top;

  // `v` in plain order.
  GPUINT_DEVICE ReciprocalStage(u32* arena, u32 lane, const Limbs& v) : Base(arena, lane) {
    this->sync();  // the stage before is done with
    this->clear_above();
    this->template put_a<Order::Plain>(this->for_high(), v);
    v_top = this->top_of_tile(v[TILES - 1]);
  }

  // Doubles the bits of y, in turned order.
  GPUINT_DEVICE void improve(Limbs& y) const {
    this->sync();
    this->template put_b<Order::Turned>(y);
    this->sync();
    Limbs e;
    {
      Sums sums;
      Base::clear(sums);
      this->add_high(this->high_rows(), sums);
      const u32 carry = this->resolve(
          [&](u32 tile) {
            return value_of_columns(sums[tile]) + (tile == 0 && this->lane == 1 ? 3 : 0);
          },
          0, e);
      if (this->lane == 0)
        e[0] = static_cast<u32>(Base::top_columns(v_top, y[0]) + carry) ^ 1u << 31;
    }
    const u32 top = __shfl_sync(~0u, ~e[0], 0);
    if (top >> 31 != 0 && this->lane == 0) GPUINT_RARE(ReciprocalAtEnd);
    GPUINT_UNROLL(17)
    for (u32 tile = 0; tile < TILES; ++tile) e[tile] = top >> 31 != 0 ? 0 : ~e[tile];
    u32* const a = this->template factor<Order::Turned>();
    this->template put_a<Order::Turned>(a, e);
    this->sync();
    Limbs d;
    {
      Sums sums;
      Base::clear(sums);
      this->add_high(this->template rows<Order::Turned>(a), sums);
      const u32 carry = this->resolve([&](u32 tile) { return value_of_columns(sums[tile]); }, 0, d);
      const u32 guard = __shfl_sync(~0u, d[0], 0);
      if (this->lane == 0) d[0] = static_cast<u32>(Base::top_columns(e[0], y[0]) + carry);
      Limbs doubled;
      this->template each_limb<Order::Turned>(d, guard, [&](u32 tile, u32, u32 limb, u32 below) {
        doubled[tile] = __funnelshift_l(below, limb, 1);
      });
      Base::copy(doubled, d);
    }
    // The top limb stands where limb -1 would be.
    const u32 y_top = y[0] + d[0];
    const u32 carry = this->resolve(
        [&](u32 tile) { return tile == 0 && this->lane == 0 ? 0 : u64(y[tile]) + d[tile]; }, 0, y);
    if (this->lane == 0) y[0] = y_top + carry;
  }
};

// Products of a row's tiles, with room for a reciprocal that is a tile longer.
template <u32 TILES>
using ReciprocalProducts = FusedProducts<TILES, false, false, TILES + 1>;

// in[0] = v, out[0] = records (prepare.cuh).
template <class S, class Policy = FusedPreparePolicy<S::BITS / (8 * TILE_DIGITS)>>
struct FusedPrepare : FusedFrame<S, Policy, ReciprocalProducts<S::BITS / (8 * TILE_DIGITS)>> {
  using Base = FusedFrame<S, Policy, ReciprocalProducts<S::BITS / (8 * TILE_DIGITS)>>;
  using Row = typename Base::Products;
  static constexpr u32 TILES = Base::TILES;
  static constexpr u32 CAPACITY = TILES + 1;
  static constexpr u32 PERSISTENT = 1;
  static constexpr u32 SCRATCH = 0;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const Row whole = Base::products(shared);
    Base::each_row(o, [&](u64 row) {
      const u32* const from = input_row<S>(o, 0, row);
      typename Row::Limbs v;
      whole.read(from, 0, v);
      u32 bits = 0;
      GPUINT_UNROLL(16)
      for (u32 tile = 0; tile < TILES; ++tile)
        if (v[tile] != 0) bits = 32 * (tile * TILE_LIMBS + whole.lane + 1) - leading_zeros(v[tile]);
      bits = __reduce_max_sync(~0u, bits);
      if (bits == 0) {
        if (whole.lane == 0) set_status(o.status, row);
        return;
      }
      u32* const record = static_cast<u32*>(o.out[0]) + row * Record<S>::LIMBS;
      if (whole.lane < Record<S>::V) record[whole.lane] = whole.lane == 0 ? bits : 0;
      if (whole.lane < WORD) record[Record<S>::V + S::N + whole.lane] = 0;
      GPUINT_UNROLL(16)
      for (u32 tile = 0; tile < TILES; ++tile)
        record[Record<S>::V + tile * TILE_LIMBS + whole.lane] = v[tile];
      if (bits <= S::BITS - 32) whole.read(from, (S::BITS - bits) / 32, v);
      whole.normalize(from, S::BITS - bits, v);

      constexpr u32 BELOW = CAPACITY * TILE_LIMBS - (S::N + WORD);  // limbs cut off
      typename ReciprocalStage<CAPACITY, CAPACITY>::Limbs y;
      reciprocal<S::BITS + 32 * WORD>(whole, v, y);
      u32* const to = record + Record<S>::Y_END - CAPACITY * TILE_LIMBS;
      const ReciprocalOrder order(whole.arena, whole.lane);
      GPUINT_UNROLL(17)
      for (u32 tile = 0; tile < CAPACITY; ++tile) {
        const u32 k = order.template index<Order::Turned>(tile);
        if (k >= BELOW) to[k] = y[tile];
      }
    });
  }

 private:
  using ReciprocalOrder = FusedProducts<CAPACITY, false, false>;

  __host__ __device__ static constexpr u32 tiles_for(u32 bits) { return ceil_div(bits + 5, 1024); }

  // y, of tiles_for(NEED) tiles in turned order, to NEED bits.
  template <u32 NEED, u32 C>
  GPUINT_DEVICE static void reciprocal(const Row& whole, const typename Row::Limbs& v,
                                       u32 (&y)[C]) {
    static_assert(C == tiles_for(NEED), "the fewest tiles");
    u32 top[C];
    GPUINT_UNROLL(17)
    for (u32 tile = 0; tile < C; ++tile)
      top[tile] = tile + TILES >= C ? v[tile + TILES >= C ? tile + TILES - C : 0] : 0;
    if constexpr (C == 1) {
      const ReciprocalStage<C, CAPACITY> stage(whole.arena, whole.lane, top);
      y[0] = whole.lane == 0 ? static_cast<u32>((u64(1) << 63) / (u64(stage.v_top) + 1)) : 0;
      GPUINT_UNROLL(1)
      for (u32 bits = 30; bits < NEED; bits = 2 * bits - 2) stage.improve(y);
    } else {
      constexpr u32 BEFORE = ceil_div(NEED, 2) + 1;
      constexpr u32 FEWER = C - tiles_for(BEFORE);
      u32 before[C - FEWER];
      reciprocal<BEFORE>(whole, v, before);
      GPUINT_UNROLL(17)
      for (u32 tile = 0; tile < C; ++tile)
        y[tile] = tile >= FEWER ? before[tile >= FEWER ? tile - FEWER : 0] : 0;
      // Only the top limb stands in the lowest tile.
      if (FEWER > 0 && whole.lane == 0) y[0] = before[0], y[FEWER] = 0;
      const ReciprocalStage<C, CAPACITY> stage(whole.arena, whole.lane, top);
      stage.improve(y);
    }
  }
};

}  // namespace gpuint
