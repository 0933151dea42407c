// Divisions with Karatsuba's products.
#pragma once
#include "dispatch/operations.cuh"
#include "div/div.cuh"
#include "div/shinv.cuh"
#include "mul/karatsuba.cuh"

namespace gpuint {

template <class S>
struct DivRem<S, ShiftedInverse<Karatsuba>>
    : GroupDivision<typename ShiftedInverse<Karatsuba>::Kernel<S>> {};
template <class S>
struct DivRem<S, Blocked<Karatsuba>> : GroupDivision<typename Blocked<Karatsuba>::Kernel<S>> {};
template <class S>
struct Shinv<S, Karatsuba> : GroupInverse<InversePolicy<S, Karatsuba>> {};

}  // namespace gpuint
