// Powers modulo special moduli k 2^n + c, in digits of 16 bits.
#pragma once
#include "modular/fft/powers_in_digits.cuh"
#include "modular/fft/special_digits.cuh"

namespace gpuint {

// The factors of squares are those of their folds (special.cuh).
template <class S>
struct PowSpecial : PowersInDigits<S, SpecialDigits<S>> {};

}  // namespace gpuint
