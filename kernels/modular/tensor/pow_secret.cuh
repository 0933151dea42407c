// PowSecret: a^e mod n for odd n, where e and n are secret: neither branches nor addresses nor the
// number of instructions depend on them or on a. tests/ptx compares the traces of pairs of secrets.
//
// A row has a record of two integers, made on the host: n and 2^(2 BITS) mod n. The length of all
// exponents in bits is params.exponent_bits, which is public; bits above it are zero.
//
// Left to right by windows of k bits (modular/pow_mod.cuh), all of them: a digit 0 multiplies by
// the power 0, and leading zeros are squared. The table has the powers 0 .. 2^k - 1. A power is
// read by a scan of the whole table: the sum of all powers times 0 or 1.
//
// Products are Montgomery's (montgomery.cuh) with two changes. Carries are rippled through all
// tiles, where other kernels return if no tile has one. The modulus, or 0 in its place, is
// subtracted always.
//
// There are no divisions. No other instruction of the kernel is known to take a time that depends
// on values.
//
// A warp overwrites its table and its shared memory before it ends.
#pragma once
#include "core/abi.cuh"
#include "core/rows.cuh"
#include "fused/frame.cuh"
#include "modular/pow_mod.cuh"
#include "modular/tensor/montgomery.cuh"
#include "tuning/fused_modular.cuh"

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
    GPUINT_UNROLL(33)
    for (u32 tile = 0; tile < TILES; ++tile) {
      const u64 v = value(tile);
      const u32 turned = __shfl_sync(~0u, static_cast<u32>(v >> 32), (this->lane + 31) % 32);
      const u32 below = this->lane == 0 ? carry : turned;
      carry = turned;
      limbs[tile] = static_cast<u32>(v) + below;
      g[tile] = __ballot_sync(~0u, limbs[tile] < below);
      p[tile] = __ballot_sync(~0u, limbs[tile] == ~0u);
    }
    const u32 out = look_ahead(g, p);
    GPUINT_UNROLL(33)
    for (u32 tile = 0; tile < TILES; ++tile) limbs[tile] += p[tile] >> this->lane & 1;
    return carry + out;
  }

  // x <- x - z in turned order, where z stands in A-form, if `count` is 1; x if it is 0.
  GPUINT_DEVICE void subtract_multiple(Limbs& x, const u32* z, u32 count) const {
    const u32 mask = ptx::rematerialize(0 - count);
    Limbs g, p;
    GPUINT_UNROLL(33)
    for (u32 tile = 0; tile < TILES; ++tile) {
      const u32 subtrahend = z[2 * this->template index<Order::Turned>(tile) + 1] & mask;
      // The top limb is lane 0's of tile 0: it takes no part in the borrows of that tile.
      const u32 parts = tile == 0 ? ~1u : ~0u;
      g[tile] = __ballot_sync(~0u, x[tile] < subtrahend) & parts;
      x[tile] -= subtrahend;
      p[tile] = __ballot_sync(~0u, x[tile] == 0) & parts;
    }
    const u32 out = look_ahead(g, p);
    GPUINT_UNROLL(33)
    for (u32 tile = 0; tile < TILES; ++tile) {
      const u32 borrow = p[tile] >> this->lane & 1;
      x[tile] -= tile == 0 && this->lane == 0 ? out : borrow;
    }
  }

 private:
  // Makes p the carries into all limbs, and returns the one out of them (core/lookahead.cuh). The
  // sums of all tiles are one number, whose carry is in the flag: no carry goes into a tile by
  // itself.
  GPUINT_DEVICE static u32 look_ahead(const Limbs& g, Limbs& p) {
    u32 out = 0;
    Limbs sum;
    GPUINT_UNROLL(33)
    for (u32 tile = 0; tile < TILES; ++tile) sum[tile] = g[tile] | p[tile];
    GPUINT_UNROLL(33)
    for (u32 tile = 0; tile < TILES; ++tile) {
      if (tile == 0)
        ptx::add_cc(sum[tile], g[tile]);
      else
        ptx::addc_cc(sum[tile], g[tile]);
    }
    ptx::addc(out, 0);
    GPUINT_UNROLL(33)
    for (u32 tile = 0; tile < TILES; ++tile) p[tile] ^= sum[tile];
    return out;
  }
};

// As `window_bits` from 16 bits up to 1076. Wider windows would save no more than the scans of
// their tables cost; powers are read by fours.
__host__ __device__ constexpr u32 secret_window_bits(u32 exponent_bits) {
  return min_of(max_of(window_bits(exponent_bits), 2), MAX_WINDOW - 1);
}

// Records of secret odd moduli.
template <class S>
struct SecretModulus {
  static constexpr u32 LIMBS = 2 * S::N;
  const u32* record;

  GPUINT_DEVICE SecretModulus(const Operands& o, u64 row)
      : record(static_cast<const u32*>(o.in[2]) +
               (o.params.broadcast_divisor != 0 ? 0 : row * LIMBS)) {}

  GPUINT_DEVICE const u32* n() const { return record; }
  // 2^(2 BITS) mod n.
  GPUINT_DEVICE const u32* square() const { return record + S::N; }
};

// in[0] = a, in[1] = e, in[2] = records, out[0] = a^e mod n.
template <class S, class Policy = FusedPowerPolicy<S::BITS / (8 * TILE_DIGITS)>>
struct PowSecret
    : FusedFrame<S, Policy,
                 RegularProducts<S::BITS / (8 * TILE_DIGITS), Policy::SHARED_WIDE, Policy::KEPT>> {
  using Base =
      FusedFrame<S, Policy,
                 RegularProducts<S::BITS / (8 * TILE_DIGITS), Policy::SHARED_WIDE, Policy::KEPT>>;
  using Products = typename Base::Products;
  using Limbs = typename Base::Limbs;
  static constexpr u32 TILES = Base::TILES;
  static constexpr u32 LIMBS = Products::LIMBS;
  static constexpr u32 PERSISTENT = 0;
  static constexpr u32 TABLE = (1u << secret_window_bits(S::BITS)) * LIMBS;  // limbs of a warp
  static constexpr u32 SCRATCH = Base::ROWS * TABLE * sizeof(u32);
  // Limbs of a power that a lane reads at a time.
  static constexpr u32 VECTOR = TILES % 4 == 0 ? 4 : TILES % 2 == 0 ? 2 : 1;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const Products products = Base::products(shared);
    const u32 k = secret_window_bits(o.params.exponent_bits);
    Base::each_row(o, [&](u64 row) {
      products.sync();  // the rows of the row before are done with
      Montgomery<Products> montgomery(products, SecretModulus<S>(o, row).n());
      Limbs x;
      raise(montgomery, x, o, row, k);
      montgomery.store(x, output_row<S>(o, 0, row));
    });
    const Limbs zero = {};
    GPUINT_UNROLL(1)
    for (u32 e = 0; e < 1u << k; ++e) save(zero, o, e);
    products.sync();
    products.clear();
  }

 private:
  static constexpr u32 LAST = ~0u;

  // Digits of exponents; without a division, so that the kernel has none.
  GPUINT_DEVICE static u32 positions(u32 bits, u32 k) {
    u32 count = 0;
    GPUINT_UNROLL(1)
    for (u32 from = 0; from < bits; from += k) ++count;
    return count;
  }
  // This lane's limbs of a power, side by side.
  GPUINT_DEVICE static u32* power(const Operands& o, u32 e) {
    return reinterpret_cast<u32*>(o.scratch + u64(blockIdx.x) * SCRATCH) +
           (ptx::thread() / 32 * TABLE + e * LIMBS + ptx::thread() % 32 * TILES);
  }
  // Calls visit(tile, limb) for the limbs at `from`, which are read by loads of VECTOR limbs.
  template <class Visit>
  GPUINT_DEVICE static void visit_power(const u32* from, Visit visit) {
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < TILES; tile += VECTOR) {
      if constexpr (VECTOR == 4) {
        const uint4 limbs = *reinterpret_cast<const uint4*>(from + tile);
        visit(tile, limbs.x), visit(tile + 1, limbs.y);
        visit(tile + 2, limbs.z), visit(tile + 3, limbs.w);
      } else if constexpr (VECTOR == 2) {
        const uint2 limbs = *reinterpret_cast<const uint2*>(from + tile);
        visit(tile, limbs.x), visit(tile + 1, limbs.y);
      } else {
        visit(tile, from[tile]);
      }
    }
  }
  GPUINT_DEVICE static void save(const Limbs& x, const Operands& o, u32 e) {
    u32* const to = power(o, e);
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < TILES; ++tile) to[tile] = x[tile];
  }
  // Reads all powers, and adds that of the digit, once.
  GPUINT_DEVICE static void look_up(u32 digit, u32 k, const Operands& o, Limbs& x) {
    const u32* from = power(o, 0);
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < TILES; ++tile) x[tile] = 0;
    GPUINT_UNROLL(1)
    for (u32 e = 0; e < 1u << k; e += 4) {
      GPUINT_UNROLL(4)
      for (u32 i = 0; i < 4; ++i) {
        const u32 count = ptx::rematerialize(digit - e == i ? 1 : 0);
        visit_power(from + (e + i) * LIMBS, [&](u32 tile, u32 limb) { x[tile] += limb * count; });
      }
    }
  }
  GPUINT_DEVICE static void read(const Products& products, const u32* row, Limbs& x) {
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < TILES; ++tile)
      x[tile] = __ldg(row + products.template index<Order::Turned>(tile));
  }

  GPUINT_DEVICE static void raise(Montgomery<Products>& montgomery, Limbs& x, const Operands& o,
                                  u64 row, u32 k) {
    // Asked where it is needed: an address kept from product to product would cost registers.
    const auto exponent = [&] {
      return input_row<S>(o, 1, o.params.broadcast_exponent != 0 ? 0 : row);
    };
    u32 made = 0;                                             // powers in the table
    u32 position = positions(o.params.exponent_bits, k) - 1;  // of the lowest digit begun
    u32 left = 0;  // products of this digit: squarings, then one by its power; LAST at the end
    Limbs y;
    // The power 0 is 2^(2 BITS) times 1, the power 1 is a times 2^(2 BITS).
    read(montgomery, SecretModulus<S>(o, row).square(), x);
    montgomery.set_one(y);
    montgomery.set_factor(y);
    // One loop, so that there is one copy of the product.
    GPUINT_UNROLL(1)
    for (;;) {
      montgomery.multiply(x);
      if (made < 1u << k) {
        save(x, o, made++);
        if (made <= 2) {
          GPUINT_UNROLL(16)
          for (u32 tile = 0; tile < TILES; ++tile) y[tile] = x[tile];
          if (made == 1) {
            read(montgomery, SecretModulus<S>(o, row).square(), y);
            read(montgomery, input_row<S>(o, 0, row), x);
          }
          montgomery.set_factor(y);
        }
        if (made < 1u << k) continue;
        look_up(exponent_digit<S>(exponent(), position, k), k, o, x);
      }
      GPUINT_UNROLL(16)
      for (u32 tile = 0; tile < TILES; ++tile) y[tile] = x[tile];
      if (left == 0) {
        if (position == 0) {
          montgomery.set_one(y);
          left = LAST;
        } else {
          --position;
          left = k;
        }
      } else if (left == LAST) {
        return;
      } else if (--left == 0) {
        look_up(exponent_digit<S>(exponent(), position, k), k, o, y);
      }
      montgomery.set_factor(y);
    }
  }
};

}  // namespace gpuint
