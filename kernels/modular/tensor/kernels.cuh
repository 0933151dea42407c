// MulMod, SquareMod, PowMod and products of residues by the tensor cores at whole tiles of 1024
// bits: one warp per row, residues in registers from product to product (fused/barrett.cuh,
// montgomery.cuh).
// Products modulo v of longer rows, and their powers, are taken in phases (phases.cuh, powers.cuh).
//
// A product of two operands of any length is one of Barrett's: b is shifted up with v, and T = a b
// 2^s < R^2 leaves T mod V = 2^s (a b mod v). If neither operand fits the length of v, b stays as
// it is, and a second product by 2^s follows. Moduli nearly as long as a row are not shifted.
//
// Powers of odd moduli are Montgomery's: Barrett's reduction of a R gives the first residue, and
// the product by 1 the result. Those of even moduli are taken modulo V, and a product by 2^s
// reduces them modulo v. Windows slide (pow_mod.cuh).
//
// One tile has half of its products with zeros, so modular/fp64 is faster at 1024 bits where rows
// fill the GPU. Batches of few rows take the lower latency of a warp per row (tuning/h200.toml),
// and so do powers of rows of no whole tiles (PaddedPower).
#pragma once
#include "core/rows.cuh"
#include "core/late_bits.cuh"
#include "modular/modular.cuh"
#include "modular/odd_modulus.cuh"
#include "modular/pow_mod.cuh"
#include "fused/barrett.cuh"
#include "fused/frame.cuh"
#include "modular/tensor/montgomery.cuh"
#include "modular/tensor/phases.cuh"
#include "modular/tensor/powers.cuh"
#include "fused/prepare.cuh"
#include "tuning/fused_modular.cuh"

namespace gpuint {

// in[0] .. in[FACTORS - 1] = factors, in[2] = records, out[0] = their product mod v, or the square
// of the only one.
template <class S, u32 FACTORS, class Policy = FusedProductPolicy<S::BITS / (8 * TILE_DIGITS)>>
struct FusedProductMod : FusedFrame<S, Policy> {
  using Base = FusedFrame<S, Policy>;
  using Limbs = typename Base::Limbs;
  static constexpr u32 PERSISTENT = 1;
  static constexpr u32 SCRATCH = 0;

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    bool is_set = false;
    Barrett<typename Base::Products> mod(Base::products(shared));
    GPUINT_UNROLL(1)
    for (u64 row = Base::first_row(); row < o.rows; row += Base::row_stride()) {
      const FullDivisor<S> divisor(Prepared<S>(o, row));
      const u32* x_row = input_row<S>(o, 0, row);
      const u32* y_row = input_row<S>(o, FACTORS - 1, row);
      mod.late = late_bits<MAX_LATE>(divisor.shift);
      mod.shift = divisor.shift - mod.late;
      // All reads begin before any is waited for.
      Limbs x, y, v, reciprocal;
      if (!is_set) {
        mod.read(divisor.v, divisor.shift / 32, v);
        mod.read(divisor.y(), 0, reciprocal);
      }
      mod.read(y_row, divisor.shift / 32, y);
      mod.read(x_row, 0, x);
      if (Policy::PREFETCHES && row + Base::row_stride() < o.rows)
        prefetch(o, row + Base::row_stride(), mod.lane);
      mod.sync();  // the rows of the row before are done with
      if (!is_set) mod.set_divisor(divisor, v, reciprocal);
      is_set = o.params.broadcast_divisor != 0;
      bool is_shifted = !mod.normalize(y_row, mod.shift, y);
      if (FACTORS == 2 && !is_shifted) {
        mod.read(x_row, divisor.shift / 32, y);
        is_shifted = !mod.normalize(x_row, mod.shift, y);
        if (is_shifted) mod.read(y_row, 0, x);
      }
      if (!is_shifted) mod.read(y_row, 0, y);
      GPUINT_UNROLL(1)
      for (;; is_shifted = true) {
        mod.set_factor(y);
        mod.multiply(x);
        if (is_shifted) break;
        if (mod.lane == 0) GPUINT_RARE(FusedLongOperands);
        mod.set_one(y);
      }
      mod.store(x, output_row<S>(o, 0, row));
    }
  }

 private:
  // A line of 32 limbs to a lane.
  GPUINT_DEVICE static void prefetch(const Operands& o, u64 row, u32 lane) {
    if (lane >= Base::TILES) return;
    GPUINT_UNROLL(2)
    for (u32 i = 0; i < FACTORS; ++i) ptx::prefetch(input_row<S>(o, i, row) + lane * TILE_LIMBS);
    if (o.params.broadcast_divisor != 0) return;
    const Prepared<S> prepared(o, row);
    ptx::prefetch(prepared.v() + lane * TILE_LIMBS);
    ptx::prefetch(prepared.y_end() - S::N + lane * TILE_LIMBS);
    if (lane == 0) ptx::prefetch(prepared.record);
  }
};

// in[0] = n, out[0] = records (odd_modulus.cuh).
template <class S, class Policy = FusedPreparePolicy<S::BITS / (8 * TILE_DIGITS)>>
struct FusedPrepareOdd
    : FusedFrame<S, Policy, FusedProducts<S::BITS / (8 * TILE_DIGITS), false, false>> {
  using Base = FusedFrame<S, Policy, FusedProducts<S::BITS / (8 * TILE_DIGITS), false, false>>;
  using Products = typename Base::Products;
  static constexpr u32 PERSISTENT = 1;
  static constexpr u32 SCRATCH = 0;

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    const Products products = Base::products(shared);
    GPUINT_UNROLL(1)
    for (u64 row = Base::first_row(); row < o.rows; row += Base::row_stride()) {
      if (!is_odd_modulus<S>(o, row, products.lane == 0)) continue;
      typename Base::Limbs z;
      NegativeInverse<Products, true>(products).find(input_row<S>(o, 0, row), z);
      u32* const record = static_cast<u32*>(o.out[0]) + row * OddModulus<S>::LIMBS;
      GPUINT_UNROLL(16)
      for (u32 tile = 0; tile < Base::TILES; ++tile) {
        const u32 k = tile * TILE_LIMBS + products.lane;
        record[k] = __ldg(input_row<S>(o, 0, row) + k);
        record[S::N + k] = z[tile];
      }
    }
  }
};

// in[0] .. in[FACTORS - 1] = factors, in[2] = records (odd_modulus.cuh), out[0] = their product
// divided by 2^BITS mod n, or the square of the only one: one of Montgomery's products from memory
// to memory, for x y < n 2^BITS. The number that it leaves is then below 2 n, and `store` puts it
// below n.
template <class S, u32 FACTORS, class Policy = FusedResiduePolicy<S::BITS / (8 * TILE_DIGITS)>>
struct FusedResidueProduct : FusedFrame<S, Policy> {
  using Base = FusedFrame<S, Policy>;
  using Limbs = typename Base::Limbs;
  static constexpr u32 PERSISTENT = 1;
  static constexpr u32 SCRATCH = 0;

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    Montgomery<typename Base::Products> montgomery(Base::products(shared));
    bool is_set = false;
    GPUINT_UNROLL(1)
    for (u64 row = Base::first_row(); row < o.rows; row += Base::row_stride()) {
      const OddModulus<S> modulus(o, row);
      // All reads begin before any is waited for.
      Limbs x, y, v, inverse;
      GPUINT_UNROLL(16)
      for (u32 tile = 0; tile < Base::TILES; ++tile) {
        const u32 turned = montgomery.template index<Order::Turned>(tile);
        if (!is_set) v[tile] = __ldg(modulus.n() + turned);
        if (!is_set) inverse[tile] = __ldg(modulus.inverse() + tile * TILE_LIMBS + montgomery.lane);
        x[tile] = __ldg(input_row<S>(o, 0, row) + turned);
        y[tile] = FACTORS == 1 ? x[tile] : __ldg(rhs_row<S>(o, row) + turned);
      }
      if (Policy::PREFETCHES && row + Base::row_stride() < o.rows)
        prefetch(o, row + Base::row_stride(), montgomery.lane);
      montgomery.sync();  // the rows of the row before are done with
      if (!is_set) montgomery.set_modulus(v, inverse);
      is_set = o.params.broadcast_divisor != 0;
      montgomery.set_factor(y);
      montgomery.multiply(x);
      montgomery.store(x, output_row<S>(o, 0, row));
    }
  }

 private:
  // A line of 32 limbs to a lane.
  GPUINT_DEVICE static void prefetch(const Operands& o, u64 row, u32 lane) {
    if (lane >= Base::TILES) return;
    ptx::prefetch(input_row<S>(o, 0, row) + lane * TILE_LIMBS);
    if (FACTORS == 2) ptx::prefetch(rhs_row<S>(o, row) + lane * TILE_LIMBS);
    if (o.params.broadcast_divisor != 0) return;
    const OddModulus<S> modulus(o, row);
    ptx::prefetch(modulus.n() + lane * TILE_LIMBS);
    ptx::prefetch(modulus.inverse() + lane * TILE_LIMBS);
  }
};

// The records of PowMod.
template <class S>
struct PowerRows {
  using Shape = S;
  GPUINT_DEVICE static Prepared<S> record(const Operands& o, u64 row) {
    return Prepared<S>(o, row);
  }
};

// in[0] = a, in[1] = e, in[2] = records, out[0] = a^e mod v, for rows of Rows::Shape.
template <class S, class Policy = FusedPowerPolicy<S::BITS / (8 * TILE_DIGITS)>,
          class Rows = PowerRows<S>>
struct FusedPowerMod : FusedFrame<S, Policy> {
  using Base = FusedFrame<S, Policy>;
  using Products = typename Base::Products;
  using InMemory = typename Rows::Shape;
  using Limbs = typename Base::Limbs;
  static constexpr u32 TILES = Base::TILES;
  static constexpr u32 LIMBS = Products::LIMBS;
  static constexpr u32 PERSISTENT = 0;
  static constexpr u32 TABLE = odd_powers(S::BITS) * LIMBS;  // limbs of a warp
  static constexpr u32 SCRATCH = Base::ROWS * TABLE * sizeof(u32);

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    const Products products = Base::products(shared);
    GPUINT_UNROLL(1)
    for (u64 row = Base::first_row(); row < o.rows; row += Base::row_stride()) {
      // Asked where it is needed: an address kept from product to product would cost registers.
      const auto exponent = [&] {
        return input_row<InMemory>(o, 1, o.params.broadcast_exponent != 0 ? 0 : row);
      };
      Group<32> group(nullptr);
      const u32 bits = group.max(bits_seen<InMemory>(group, exponent()));
      const Prepared<S> prepared = Rows::record(o, row);
      if (bits == 0) {
        GPUINT_UNROLL(16)
        for (u32 tile = 0; tile < TILES; ++tile) {
          const u32 k = tile * TILE_LIMBS + products.lane;
          if (k < InMemory::N) output_row<InMemory>(o, 0, row)[k] = k == 0 && prepared.bits() > 1;
        }
        continue;
      }
      const u32 largest = group.max(largest_window<InMemory>(
          exponent(), bits, sliding_window_bits(bits), group.rank, group.THREADS));
      products.sync();  // the rows of the row before are done with
      Barrett<Products> barrett(products);
      const FullDivisor<S> divisor(prepared);
      barrett.shift = divisor.shift;
      Limbs x, v, reciprocal;
      barrett.read(divisor.v, divisor.shift / 32, v);
      barrett.read(divisor.y(), 0, reciprocal);
      barrett.template read<InMemory::N>(input_row<InMemory>(o, 0, row), 0, x);
      barrett.set_divisor(divisor, v, reciprocal);
      if (__ldg(divisor.v) % 2 != 0) {
        const Limbs zero = {};
        barrett.reduce(zero, x);
        Montgomery<Products> montgomery(products, divisor.v);
        montgomery.turn(x);
        raise(montgomery, x, exponent, bits, largest, o);
        montgomery.template store<InMemory::N>(x, output_row<InMemory>(o, 0, row));
      } else {
        raise(barrett, x, exponent, bits, largest, o);
        barrett.template store<InMemory::N>(x, output_row<InMemory>(o, 0, row));
      }
    }
  }

 private:
  // x^e by windows, times what `set_one` says.
  template <class Residues, class Exponent>
  GPUINT_DEVICE static void raise(Residues& residues, Limbs& x, Exponent exponent, u32 bits,
                                  u32 largest, const Operands& o) {
    const u32 k = sliding_window_bits(bits);
    // This lane's limbs of an odd power.
    const auto power = [&](u32 e) {
      return reinterpret_cast<u32*>(o.scratch + u64(blockIdx.x) * SCRATCH) +
             (ptx::thread() / 32 * TABLE + e / 2 * LIMBS + ptx::thread() % 32);
    };
    const auto restore = [&](u32 e, Limbs& to) {
      const u32* const from = power(e);
      GPUINT_UNROLL(16)
      for (u32 tile = 0; tile < TILES; ++tile) to[tile] = from[tile * TILE_LIMBS];
    };
    // One loop, so that there is one copy of the product. First it makes the powers; x is power
    // `made`: 1, 2, 3, 5, ..
    u32 made = 1;
    u32 end = bits;     // of the exponent below the windows whose squarings have begun
    u32 squarings = 0;  // still to do for the last of them
    u32 digit = 0;      // to multiply by after them, if not zero
    bool is_table = true, is_last = false;
    GPUINT_UNROLL(1)
    for (;;) {
      if (is_table) {
        if (made == 2) {
          // The factor of all odd powers.
          residues.set_factor(x);
          restore(1, x);
          made = 3;
        } else {
          u32* const to = power(made);
          GPUINT_UNROLL(16)
          for (u32 tile = 0; tile < TILES; ++tile) to[tile * TILE_LIMBS] = x[tile];
          if (made == largest) {
            // The walk over the windows starts with the power of the top one.
            const SlidingWindow top = window_below<InMemory>(exponent(), end, k);
            is_table = false;
            end -= top.squarings;
            restore(top.digit, x);
          } else if (made == 1) {
            residues.set_factor(x);
            made = 2;
          } else {
            made += 2;
          }
        }
      }
      if (!is_table) {
        Limbs y;
        GPUINT_UNROLL(16)
        for (u32 tile = 0; tile < TILES; ++tile) y[tile] = x[tile];
        if (squarings > 0) {
          --squarings;
        } else if (digit != 0) {
          restore(digit, y);
          digit = 0;
        } else if (is_last) {
          break;
        } else if (end > 0) {
          const SlidingWindow next = window_below<InMemory>(exponent(), end, k);
          end -= next.squarings;
          squarings = next.squarings - 1;
          digit = next.digit;
        } else {
          residues.set_one(y);
          is_last = true;
        }
        residues.set_factor(y);
      }
      if (ptx::thread() % 32 == 0 && !is_last) GPUINT_RARE(PowerProduct);
      residues.multiply(x);
    }
  }
};

// PowMod of rows that fill no whole tiles, as rows of W, which do. Their reciprocals are longer
// than the recorded ones, so a first phase makes records of W in the workspace.
template <class S>
struct PaddedPower {
  static constexpr u32 TILES = ceil_div(S::BITS, 8 * TILE_DIGITS);
  using W = Width<TILES * 8 * TILE_DIGITS>;
  // Both phases are one kernel.
  struct PreparePolicy : FusedPreparePolicy<TILES> {
    static constexpr u32 RESIDENT_WARPS = FusedPowerPolicy<TILES>::RESIDENT_WARPS;
  };
  static_assert(Record<S>::V + W::N <= Record<S>::LIMBS, "`normalize` reads W::N limbs");

  struct Rows {
    using Shape = S;
    static constexpr u32 N = S::N;
    GPUINT_DEVICE static u64 rows(const Operands& o) {
      return o.params.broadcast_divisor != 0 ? 1 : o.rows;
    }
    GPUINT_DEVICE static const u32* divisor(const Operands& o, u64 row) {
      return Prepared<S>(o, row).v();
    }
    GPUINT_DEVICE static u32* record(const Operands& o, u64 row) {
      return reinterpret_cast<u32*>(o.workspace) +
             (o.params.broadcast_divisor != 0 ? 0 : row) * Record<W>::LIMBS;
    }
  };
  struct Records : Rows {
    GPUINT_DEVICE static Prepared<W> record(const Operands& o, u64 row) {
      return Prepared<W>(Rows::record(o, row));
    }
  };
  struct Preparation : FusedPrepare<W, PreparePolicy, Rows> {
    static constexpr u32 ROW_BYTES = Record<W>::LIMBS * sizeof(u32);
  };
  struct Powers : FusedPowerMod<W, FusedPowerPolicy<TILES>, Records> {
    static constexpr u32 ROW_BYTES = Preparation::ROW_BYTES;
  };
  using Phases = Sequence<Preparation, Powers>;
};

// Widths of PaddedPower.
__host__ __device__ constexpr bool is_padded_width(u32 bits) {
  return bits >= 512 && bits < 16384 && !is_fused_width(bits);
}

}  // namespace gpuint
