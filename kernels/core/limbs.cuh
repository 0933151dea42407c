// Limb arithmetic for every limb width: vector access to words, sums with carry, and limbs of a
// shifted number, computed when they are read.
#pragma once
#include "core/digits.cuh"
#include "core/ptx.cuh"

namespace gpuint {

template <class Limb>
struct WordVector;
template <>
struct WordVector<u16> {
  using Type = ushort4;
};
template <>
struct WordVector<u32> {
  using Type = uint4;
};

// A word moves as one vector of 8 or 16 bytes; `at` is aligned to it.
template <class Limb>
GPUINT_DEVICE void load_word(const Limb* at, Limb* word) {
  const auto v = *reinterpret_cast<const typename WordVector<Limb>::Type*>(at);
  word[0] = v.x, word[1] = v.y, word[2] = v.z, word[3] = v.w;
}

template <class Limb>
GPUINT_DEVICE void store_word(Limb* at, const Limb* word) {
  typename WordVector<Limb>::Type v;
  v.x = word[0], v.y = word[1], v.z = word[2], v.w = word[3];
  *reinterpret_cast<typename WordVector<Limb>::Type*>(at) = v;
}

template <class Limb>
GPUINT_DEVICE void clear_word(Limb* at) {
  const Limb zero[WORD] = {};
  store_word(at, zero);
}

// Sign of the second term of a sum.
enum class Sign { Plus, Minus };

// a + b + carry; carry becomes the carry out (0 or 1).
template <class Limb>
GPUINT_DEVICE Limb add_carry(Limb a, Limb b, u32& carry) {
  using Wide = typename LimbTraits<Limb>::Wide;
  const Wide sum = Wide(a) + b + carry;
  carry = static_cast<u32>(sum >> LimbTraits<Limb>::BITS);
  return static_cast<Limb>(sum);
}

// a - b - borrow; borrow becomes the borrow out (0 or 1).
template <class Limb>
GPUINT_DEVICE Limb sub_borrow(Limb a, Limb b, u32& borrow) {
  using Wide = typename LimbTraits<Limb>::Wide;
  const Wide difference = Wide(a) - b - borrow;
  borrow = static_cast<u32>(difference >> LimbTraits<Limb>::BITS) & 1;
  return static_cast<Limb>(difference);
}

// u x + v y + carry: its low limb; carry becomes its high limb. u + v <= 2^32 - 1.
GPUINT_DEVICE u32 sum_of_products(u32 u, u32 x, u32 v, u32 y, u32& carry) {
  // The sum of the products does not wait for the carry.
  u32 low = 0, high = 0;
  ptx::mad_lo_cc(low, u, x);
  ptx::madc_hi_cc(high, u, x);
  ptx::mad_lo_cc(low, v, y);
  ptx::madc_hi_cc(high, v, y);
  ptx::add_cc(low, carry);
  ptx::addc(high, 0);
  carry = high;
  return low;
}

template <class Limb>
GPUINT_DEVICE u32 leading_zeros(Limb limb) {
  return static_cast<u32>(__clz(static_cast<int>(limb))) - (32 - LimbTraits<Limb>::BITS);
}

// Bit length of a number whose highest nonzero word is at limb k; 0 if the word is zero.
template <class Limb>
GPUINT_DEVICE u32 bits_of_word(const Limb* word, u32 k) {
  u32 bits = 0;
  GPUINT_UNROLL(4)
  for (u32 i = 0; i < WORD; ++i)
    if (word[i] != 0) bits = (k + i + 1) * LimbTraits<Limb>::BITS - leading_zeros(word[i]);
  return bits;
}

// Shift distance of a left shift, split into whole limbs and bits.
template <class Limb>
struct Distance {
  u32 limbs, bits;
  GPUINT_DEVICE explicit Distance(u32 total)
      : limbs(total / LimbTraits<Limb>::BITS), bits(total % LimbTraits<Limb>::BITS) {}
};

// Returns limb j of x << distance, where limb(i) returns limb i of x, and zero for i < 0.
template <class Limb, class Read>
GPUINT_DEVICE Limb shifted_limb(Read limb, i32 j, Distance<Limb> distance) {
  using Wide = typename LimbTraits<Limb>::Wide;
  const i32 i = j - static_cast<i32>(distance.limbs);
  const Wide pair = Wide(limb(i)) << LimbTraits<Limb>::BITS | limb(i - 1);
  return static_cast<Limb>(pair << distance.bits >> LimbTraits<Limb>::BITS);
}

}  // namespace gpuint
