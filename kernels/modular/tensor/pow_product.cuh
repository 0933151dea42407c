// PowProductMod by the tensor cores: FusedPowerMod's walk over the digits of all bases of a row
// (modular/pow_product.cuh).
#pragma once
#include "core/rows.cuh"
#include "modular/pow_product.cuh"
#include "modular/tensor/kernels.cuh"

namespace gpuint {

template <class S, class Policy = FusedPowerPolicy<S::BITS / (8 * TILE_DIGITS)>>
struct FusedPowerProduct : FusedFrame<S, Policy> {
  using Base = FusedFrame<S, Policy>;
  using Products = typename Base::Products;
  using Limbs = typename Base::Limbs;
  static constexpr u32 TILES = Base::TILES;
  static constexpr u32 LIMBS = Products::LIMBS;
  static constexpr u32 PERSISTENT = 0;
  static constexpr u32 TABLE = FusedPowerMod<S, Policy>::TABLE;  // limbs of a warp and a base
  static constexpr u32 SCRATCH = FusedPowerMod<S, Policy>::SCRATCH;

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    const Products products = Base::products(shared);
    GPUINT_UNROLL(1)
    for (u64 row = Base::first_row(); row < o.rows; row += Base::row_stride()) {
      const Walk walk(o, row);
      const Prepared<S> prepared(o, row);
      if (walk.largest == 0) {
        GPUINT_UNROLL(16)
        for (u32 tile = 0; tile < TILES; ++tile)
          output_row<S>(o, 0, row)[tile * TILE_LIMBS + products.lane] =
              tile == 0 && products.lane == 0 && prepared.bits() > 1;
        continue;
      }
      products.sync();  // the rows of the row before are done with
      Barrett<Products> barrett(products);
      const FullDivisor<S> divisor(prepared);
      barrett.shift = divisor.shift;
      Limbs x, v, reciprocal;
      barrett.read(divisor.v, divisor.shift / 32, v);
      barrett.read(divisor.y(), 0, reciprocal);
      barrett.set_divisor(divisor, v, reciprocal);
      const bool is_odd = __ldg(divisor.v) % 2 != 0;
      // The first powers are residues in Barrett's order.
      GPUINT_UNROLL(1)
      for (u32 i = 0; i < walk.bases(); ++i) {
        barrett.read(input_row<S>(o, 0, row * walk.bases() + i), 0, x);
        if (is_odd) {
          const Limbs zero = {};
          barrett.reduce(zero, x);
        }
        walk.save(x, i, 1);
      }
      if (is_odd) {
        Montgomery<Products> montgomery(products, divisor.v);
        GPUINT_UNROLL(1)
        for (u32 i = 0; i < walk.bases(); ++i) {
          walk.restore(i, 1, x);
          montgomery.turn(x);
          walk.save(x, i, 1);
        }
        raise(montgomery, x, walk);
        montgomery.store(x, output_row<S>(o, 0, row));
      } else {
        raise(barrett, x, walk);
        barrett.store(x, output_row<S>(o, 0, row));
      }
    }
  }

 private:
  // The exponents of a row in base 2^k, and its tables.
  struct Walk {
    const Operands& o;
    u64 row;
    u32 k, largest;  // digit of all exponents
    u32 top, lead;   // the highest position of a digit that is not 0, and a base that has it

    GPUINT_DEVICE Walk(const Operands& o_, u64 row_) : o(o_), row(row_), largest(0), lead(0) {
      Group<32> group(nullptr);
      u32 most = 0;
      GPUINT_UNROLL(1)
      for (u32 i = 0; i < bases(); ++i) {
        const u32 bits = group.max(bits_seen<S>(group, exponent(i)));
        if (bits > most) most = bits, lead = i;
      }
      k = window_bits(most);
      top = most == 0 ? 0 : ceil_div(most, k) - 1;
      GPUINT_UNROLL(1)
      for (u32 i = 0; i < bases(); ++i)
        largest = max_of(largest, largest_digit<S>(group, exponent(i), most, k));
    }
    GPUINT_DEVICE u32 bases() const { return bases_of(o); }
    GPUINT_DEVICE const u32* exponent(u32 i) const { return input_row<S>(o, 1, row * bases() + i); }
    GPUINT_DEVICE u32 digit(u32 i, u32 position) const {
      return exponent_digit<S>(exponent(i), position, k);
    }
    // This lane's limbs of a power.
    GPUINT_DEVICE u32* power(u32 i, u32 e) const {
      return reinterpret_cast<u32*>(o.scratch + u64(blockIdx.x) * SCRATCH * bases()) +
             ((ptx::thread() / 32 * bases() + i) * TABLE + (e - 1) * LIMBS + ptx::thread() % 32);
    }
    GPUINT_DEVICE void save(const Limbs& x, u32 i, u32 e) const {
      u32* const to = power(i, e);
      GPUINT_UNROLL(16)
      for (u32 tile = 0; tile < TILES; ++tile) to[tile * TILE_LIMBS] = x[tile];
    }
    GPUINT_DEVICE void restore(u32 i, u32 e, Limbs& to) const {
      const u32* const from = power(i, e);
      GPUINT_UNROLL(16)
      for (u32 tile = 0; tile < TILES; ++tile) to[tile] = from[tile * TILE_LIMBS];
    }
  };

  // The product of powers, times what `set_one` says. One loop, so that there is one copy of the
  // product. First it makes the powers of one base after the other.
  template <class Residues>
  GPUINT_DEVICE static void raise(Residues& residues, Limbs& x, const Walk& walk) {
    bool is_table = true, is_last = false;
    u32 base = 0;             // whose powers are made, or to multiply by next
    u32 count = 1;            // the highest power of it, or squarings still to do
    u32 position = walk.top;  // of the lowest digits whose squarings have begun
    u32 skipped = walk.lead;  // base that the walk starts with
    GPUINT_UNROLL(1)
    for (;;) {
      if (is_table) {
        if (count == 1) {
          walk.restore(base, 1, x);
          residues.set_factor(x);
        }
        if (count == walk.largest) {
          count = 1;
          if (++base < walk.bases()) continue;
          is_table = false;
          base = count = 0;
          walk.restore(skipped, walk.digit(skipped, position), x);
          continue;
        }
      } else {
        Limbs y;
        GPUINT_UNROLL(16)
        for (u32 tile = 0; tile < TILES; ++tile) y[tile] = x[tile];
        if (count > 0) {
          --count;
        } else if (base < walk.bases()) {
          const u32 own = base++, digit = own == skipped ? 0 : walk.digit(own, position);
          if (digit == 0) continue;
          walk.restore(own, digit, y);
        } else if (is_last) {
          break;
        } else if (position > 0) {
          --position;
          count = walk.k - 1;
          base = 0;
          skipped = walk.bases();
        } else {
          residues.set_one(y);
          is_last = true;
        }
        residues.set_factor(y);
      }
      if (ptx::thread() % 32 == 0 && !is_last) GPUINT_RARE(PowerProduct);
      residues.multiply(x);
      if (is_table) walk.save(x, base, ++count);
    }
  }
};

}  // namespace gpuint
