// Products modulo secret odd moduli: neither branches nor addresses nor the number of instructions
// depend on the factors and the modulus. tests/ptx compares the traces of pairs of secrets.
//
// They are Montgomery's (montgomery.cuh) with two changes. Carries are rippled through all tiles,
// where other kernels return if no tile has one. The modulus, or 0 in its place, is subtracted
// always.
#pragma once
#include "core/abi.cuh"
#include "core/unroll.cuh"
#include "fused/frame.cuh"
#include "modular/secret.cuh"
#include "modular/tensor/montgomery.cuh"

namespace gpuint {

// A warp's products whose instructions do not depend on values.
template <u32 TILES, bool SHARED_WIDE, bool KEPT>
struct RegularProducts : FusedProducts<TILES, SHARED_WIDE, KEPT> {
  using Base = FusedProducts<TILES, SHARED_WIDE, KEPT>;
  using Limbs = typename Base::Limbs;
  static constexpr bool IS_REGULAR = true;

  using Base::Base;

  // As `FusedProducts::resolve`, through all tiles.
  template <class Value>
  GPUINT_DEVICE u32 resolve(Value value, u32 carry, Limbs& limbs) const {
    Limbs g, p;
    repeat<0, TILES>([&](u32 tile) {
      const u64 v = value(tile);
      const u32 turned = __shfl_sync(~0u, static_cast<u32>(v >> 32), (this->lane + 31) % 32);
      const u32 below = this->lane == 0 ? carry : turned;
      carry = turned;
      limbs[tile] = static_cast<u32>(v) + below;
      g[tile] = __ballot_sync(~0u, limbs[tile] < below);
      p[tile] = __ballot_sync(~0u, limbs[tile] == ~0u);
    });
    const u32 out = look_ahead(g, p);
    repeat<0, TILES>([&](u32 tile) { limbs[tile] += p[tile] >> this->lane & 1; });
    return carry + out;
  }

  // x <- x - z in turned order, where z stands in A-form, if `count` is 1; x if it is 0.
  GPUINT_DEVICE void subtract_multiple(Limbs& x, const u32* z, u32 count) const {
    const u32 mask = ptx::rematerialize(0 - count);
    Limbs g, p;
    repeat<0, TILES>([&](u32 tile) {
      const u32 subtrahend = z[2 * this->template index<Order::Turned>(tile) + 1] & mask;
      // The top limb is lane 0's of tile 0: it takes no part in the borrows of that tile.
      const u32 parts = tile == 0 ? ~1u : ~0u;
      g[tile] = __ballot_sync(~0u, x[tile] < subtrahend) & parts;
      x[tile] -= subtrahend;
      p[tile] = __ballot_sync(~0u, x[tile] == 0) & parts;
    });
    const u32 out = look_ahead(g, p);
    repeat<0, TILES>([&](u32 tile) {
      const u32 borrow = p[tile] >> this->lane & 1;
      x[tile] -= tile == 0 && this->lane == 0 ? out : borrow;
    });
  }

 private:
  // Makes p the carries into all limbs, and returns the one out of them (core/lookahead.cuh). The
  // sums of all tiles are one number, whose carry is in the flag: no carry goes into a tile by
  // itself.
  GPUINT_DEVICE static u32 look_ahead(const Limbs& g, Limbs& p) {
    u32 out = 0;
    Limbs sum;
    repeat<0, TILES>([&](u32 tile) { sum[tile] = g[tile] | p[tile]; });
    repeat<0, TILES>([&](u32 tile) {
      if (tile == 0)
        ptx::add_cc(sum[tile], g[tile]);
      else
        ptx::addc_cc(sum[tile], g[tile]);
    });
    ptx::addc(out, 0);
    repeat<0, TILES>([&](u32 tile) { p[tile] ^= sum[tile]; });
    return out;
  }
};

// Rows of regular products, a warp to a row.
template <class S, class Policy,
          class P = RegularProducts<S::BITS / (8 * TILE_DIGITS), Policy::SHARED_WIDE, Policy::KEPT>>
struct RegularFrame : FusedFrame<S, Policy, P> {
  using Base = FusedFrame<S, Policy, P>;

 protected:
  // Reads a row in turned order.
  GPUINT_DEVICE static void read(const P& products, const u32* row, typename P::Limbs& x) {
    repeat<0, Base::TILES>(
        [&](u32 tile) { x[tile] = __ldg(row + products.template index<Order::Turned>(tile)); });
  }
};

}  // namespace gpuint
