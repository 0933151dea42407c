// Powers modulo special moduli k t^q + c, in digits to base t. Rows are such digits, too.
#pragma once
#include "modular/fft/base_digits.cuh"
#include "modular/fft/powers_in_digits.cuh"

namespace gpuint {

// Squares have the factors of PowSpecial.
template <class S>
struct PowSpecialBase : PowersInDigits<S, BaseDigits<S>> {};

}  // namespace gpuint
