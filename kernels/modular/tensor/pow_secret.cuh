// PowSecret by tensor cores, a warp to a row: a^e mod n for odd n, where e and n are secret
// (neither branches nor addresses nor the number of instructions depend on them or on a).
//
// Left to right by windows of k bits (modular/pow_mod.cuh), all of them: a digit 0 multiplies by
// the power 0, and leading zeros are squared. The table has the powers 0 .. 2^k - 1. A power is
// read by a scan of the whole table: the sum of all powers times 0 or 1.
//
// Products are those of regular.cuh.
//
// There are no divisions. No other instruction of the kernel is known to take a time that depends
// on values.
//
// A warp overwrites its table and its shared memory before it ends.
#pragma once
#include "core/abi.cuh"
#include "core/rows.cuh"
#include "modular/pow_mod.cuh"
#include "modular/tensor/regular.cuh"
#include "tuning/fused_modular.cuh"

namespace gpuint {

// As `window_bits` from 16 bits up to 1076. Wider windows would save no more than the scans of
// their tables cost; powers are read by fours.
__host__ __device__ constexpr u32 secret_window_bits(u32 exponent_bits) {
  return min_of(max_of(window_bits(exponent_bits), 2), MAX_WINDOW - 1);
}

template <class S, class Policy = FusedPowerPolicy<S::BITS / (8 * TILE_DIGITS)>>
struct SecretPower : RegularFrame<S, Policy> {
  using Base = RegularFrame<S, Policy>;
  using Record = SecretModulus<S, 2>;
  using Products = typename Base::Products;
  using Limbs = typename Base::Limbs;
  static constexpr u32 TILES = Base::TILES;
  static constexpr u32 LIMBS = Products::LIMBS;
  static constexpr u32 PERSISTENT = 0;
  static constexpr u32 TABLE = (1u << secret_window_bits(S::BITS)) * LIMBS;  // limbs of a warp
  static constexpr u32 SCRATCH = Base::ROWS * TABLE * sizeof(u32);
  // Limbs of a power that a lane reads at a time.
  static constexpr u32 VECTOR = TILES % 4 == 0 ? 4 : TILES % 2 == 0 ? 2 : 1;

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    const Products products = Base::products(shared);
    const u32 k = secret_window_bits(o.params.exponent_bits);
    GPUINT_UNROLL(1)
    for (u64 row = Base::first_row(); row < o.rows; row += Base::row_stride()) {
      products.sync();  // the rows of the row before are done with
      Montgomery<Products> montgomery(products, Record(o, row).n());
      Limbs x;
      raise(montgomery, x, o, row, k);
      montgomery.store(x, output_row<S>(o, 0, row));
    }
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
    Base::read(montgomery, Record(o, row).square(), x);
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
            Base::read(montgomery, Record(o, row).square(), y);
            Base::read(montgomery, input_row<S>(o, 0, row), x);
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
