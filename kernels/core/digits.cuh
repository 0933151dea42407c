// Digits, limbs and words.
//
// A digit is the caller's unit (base of the shifted inverse, unit of Q). A limb is the hardware's
// unit of multiplication: 16 bits for 16-bit digits, 32 bits for 32- and 64-bit digits, since a GPU
// builds a 64-bit product from four 32-bit ones anyway. Memory is little-endian, so a row of digits
// has the same bytes as a row of limbs.
//
// A word is four limbs: the unit of alignment and of every length in the product and division
// kernels. Each operand offset is then a multiple of one vector load, and the base of a word (2^64
// or 2^128) gives guard digits far more room than any bound needs.
#pragma once
#include "core/platform.cuh"

namespace gpuint {

template <class Digit>
struct DigitTraits;
template <>
struct DigitTraits<u16> {
  using Limb = u16;
  static constexpr u32 LIMBS = 1;
};
template <>
struct DigitTraits<u32> {
  using Limb = u32;
  static constexpr u32 LIMBS = 1;
};
template <>
struct DigitTraits<u64> {
  using Limb = u32;
  static constexpr u32 LIMBS = 2;
};

template <class Limb>
struct LimbTraits;
template <>
struct LimbTraits<u16> {
  using Wide = u32;
  static constexpr u32 BITS = 16;
};
template <>
struct LimbTraits<u32> {
  using Wide = u64;
  static constexpr u32 BITS = 32;
};

constexpr u32 WORD = 4;  // limbs in a word

}  // namespace gpuint
