// Division by prepared divisors and arithmetic modulo them by the tensor cores: the kernels of
// by_prepared.cuh, modular.cuh and pow_mod.cuh over the products of mul/tensor/columns.cuh, with
// zeros around both factors.
//
// One warp to a row of up to 2^15 bits, and above one to each 2^15: what stands between the
// products is short then, and has no barriers. The tiles and registers are what was fastest on an
// H200: short products waste less with few tiles at a time, long ones read less with many; and so
// many registers that nothing is spilled around the call of a product.
#pragma once
#include "core/platform.cuh"
#include "div/by_prepared.cuh"
#include "div/tensor.cuh"
#include "modular/modular.cuh"
#include "modular/pow_mod.cuh"
#include "mul/tensor/columns.cuh"
#include "mul/tensor/product.cuh"

namespace gpuint {

template <u32 NT, u32 REGISTERS>
using PaddedColumns = TensorColumns<NT, 32, 8, 0, REGISTERS, true>;

template <class S>
struct Prepare<S, TensorCore> : Prepare<TensorRows<S>, InverseProducts> {};

template <class S>
using QuotientProducts = PaddedColumns<(S::N < 1024   ? 2
                                        : S::N < 4096 ? 3
                                                      : 4),
                                       (S::N < 1024   ? 104
                                        : S::N < 4096 ? 128
                                                      : 168)>;

template <class S>
struct DivRemBy<S, TensorCore, false> : GroupDivRemBy<TensorRows<S>, QuotientProducts<S>> {};

template <class S>
using ModularProducts = PaddedColumns<(S::N < 512 ? 3 : 6), (S::N <= 256 ? 128 : 168)>;

template <class S>
struct MulMod<S, TensorCore> : ProductMod<TensorRows<S>, ModularProducts<S>, 2> {};
template <class S>
struct SquareMod<S, TensorCore> : ProductMod<TensorRows<S>, ModularProducts<S>, 1> {};
template <class S>
struct PowMod<S, TensorCore> : PowerMod<TensorRows<S>, PaddedColumns<4, 168>> {};

}  // namespace gpuint
