// Divisions with Karatsuba's products.
#pragma once
#include "dispatch/operations.cuh"
#include "div/div.cuh"
#include "div/shifted_inverse.cuh"
#include "mul/karatsuba.cuh"

namespace gpuint {

template <class S>
struct DivRem<S, ByShiftedInverse<Karatsuba>>
    : GroupDivision<typename ByShiftedInverse<Karatsuba>::Kernel<S>> {};
template <class S>
struct DivRem<S, Blocked<Karatsuba>> : GroupDivision<typename Blocked<Karatsuba>::Kernel<S>> {};
template <class S>
struct ShiftedInverse<S, Karatsuba> : GroupInverse<InversePolicy<S, Karatsuba>> {};

}  // namespace gpuint
