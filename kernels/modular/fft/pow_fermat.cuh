// Powers modulo generalized Fermat numbers b^q + 1, in digits to base b. Rows are such digits, too.
#pragma once
#include "modular/fft/fermat_digits.cuh"
#include "modular/fft/powers_in_digits.cuh"

namespace gpuint {

template <class S>
struct PowFermat : PowersInDigits<S, FermatDigits<S>> {};

}  // namespace gpuint
