// MulAddSecret: a f + c mod n for odd n, where all four are secret: neither branches nor addresses
// nor the number of instructions depend on them.
//
// With R = 2^BITS, a row has a record of three integers, made on the host: n, R^2 mod n and
// f R^2 mod n. There are four of the products of regular.cuh:
//     a f R^2 / R        = a f R
//     a f R / R + c      = a f + c, a residue below R
//     (a f + c) R^2 / R  = (a f + c) R
//     (a f + c) R / R    = a f + c, at most n
//
// A warp overwrites its shared memory before it ends.
#pragma once
#include "core/abi.cuh"
#include "core/rows.cuh"
#include "modular/tensor/regular.cuh"
#include "tuning/fused_modular.cuh"

namespace gpuint {

// in[0] = a, in[1] = c, in[2] = records of three integers, out[0] = a f + c mod n.
template <class S, class Policy = FusedResiduePolicy<S::BITS / (8 * TILE_DIGITS)>>
struct MulAddSecret : RegularFrame<S, Policy> {
  using Base = RegularFrame<S, Policy>;
  using Products = typename Base::Products;
  using Limbs = typename Base::Limbs;
  static constexpr u32 PERSISTENT = 0;
  static constexpr u32 SCRATCH = 0;

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    const Products products = Base::products(shared);
    GPUINT_UNROLL(1)
    for (u64 row = Base::first_row(); row < o.rows; row += Base::row_stride()) {
      products.sync();  // the rows of the row before are done with
      const SecretModulus<S, 3> record(o, row);
      Montgomery<Products> montgomery(products, record.n());
      Limbs x;
      Base::read(products, input_row<S>(o, 0, row), x);
      multiply_add(montgomery, x, record, rhs_row<S>(o, row));
      montgomery.store(x, output_row<S>(o, 0, row));
    }
    products.sync();
    products.clear();
  }

 private:
  GPUINT_DEVICE static void multiply_add(Montgomery<Products>& montgomery, Limbs& x,
                                         const SecretModulus<S, 3>& record, const u32* c) {
    // One loop, so that there is one copy of the product.
    GPUINT_UNROLL(1)
    for (u32 step = 0; step < 4; ++step) {
      Limbs y;
      if (step % 2 == 0)
        Base::read(montgomery, step == 0 ? record.factor() : record.square(), y);
      else
        montgomery.set_one(y);
      montgomery.set_factor(y);
      montgomery.multiply_add(x, [&](u32 tile) {
        return step == 1 ? __ldg(c + montgomery.template index<Order::Turned>(tile)) : 0u;
      });
    }
  }
};

}  // namespace gpuint
