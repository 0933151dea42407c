// Modular arithmetic with classical products.
#pragma once
#include "dispatch/operations.cuh"
#include "modular/modular.cuh"
#include "modular/pow_mod.cuh"
#include "mul/columns.cuh"

namespace gpuint {

template <class S>
struct MulMod<S, Classical> : ProductMod<ModularPolicy<S, Classical>, 2> {};
template <class S>
struct SquareMod<S, Classical> : ProductMod<ModularPolicy<S, Classical>, 1> {};
template <class S>
struct PowMod<S, Classical> : PowerMod<PowerPolicy<S, Classical>> {};

}  // namespace gpuint
