// Conditions for GPUINT_ASSERT: the bounds that the headers prove, by plain arithmetic of one
// thread. Code for GPUs contains them only with GPUINT_CHECKED.
//
// Numbers are functions of the limb index: a(i) returns limb i. All lengths are in limbs.
#pragma once
#include "core/digits.cuh"
#include "core/limbs.cuh"

namespace gpuint {

// Maximum number of limb products of a check that costs much relative to the checked work.
constexpr u32 CHECKED_PRODUCTS = 1 << 14;

// Returns true if the word is at most `most`.
template <class Limb>
GPUINT_DEVICE bool is_carry(const Limb* word, u32 most = 1) {
  return word[0] <= most && (word[1] | word[2] | word[3]) == 0;
}

// a < b.
template <class Limb, class A, class B>
GPUINT_DEVICE bool is_less(A a, B b, u32 count) {
  bool less = false;
  for (u32 i = 0; i < count; ++i) {
    const Limb x = a(i), y = b(i);
    if (x != y) less = x < y;
  }
  return less;
}

// r < 2^bits v, where v(i) is defined for i < 0, too.
template <class Limb, class R, class V>
GPUINT_DEVICE bool is_below_multiple(R r, V v, u32 count, u32 bits) {
  return is_less<Limb>(
      r, [&](u32 i) { return shifted_limb<Limb>(v, static_cast<i32>(i), Distance<Limb>(bits)); },
      count);
}

// r <= v / 2^bits: the bound of a remainder when v is subtracted from a number below (1 + 2^-bits)
// v. Both have `count` limbs.
template <class Limb, class R, class V>
GPUINT_DEVICE bool is_small_part(R r, V v, u32 count, u32 bits) {
  const auto limb = [&](i32 i) { return i >= 0 && i < static_cast<i32>(count) ? r(i) : Limb(0); };
  return !is_less<Limb>(
      [&](u32 i) { return i < count ? v(static_cast<i32>(i)) : Limb(0); },
      [&](u32 i) { return shifted_limb<Limb>(limb, static_cast<i32>(i), Distance<Limb>(bits)); },
      count + bits / LimbTraits<Limb>::BITS + 1);
}

// 0 < beta^(p + n) - 2V y < most * 2V, with beta the base of a limb: y is below beta^p beta^n /
// (2V), by less than `most`. `doubled(i)` is limb i of 2V < 2 beta^n without its leading 1, which
// is at limb n; y has p limbs.
template <class Limb, class Y, class Doubled>
GPUINT_DEVICE bool strictly_below_reciprocal(Y y, u32 p, Doubled doubled, u32 n, u32 most) {
  constexpr u32 BITS = LimbTraits<Limb>::BITS;
  const auto two_v = [&](u32 i) { return i < n ? doubled(i) : static_cast<Limb>(i == n); };
  u64 carry = 0;  // of the product's columns
  u64 bound = 0;  // of most * 2V
  u32 borrow = 0;
  bool zero = true, less = false;
  for (u32 k = 0; k < p + n + 1; ++k) {
    u64 low = carry, high = 0;
    for (u32 i = k > n ? k - n : 0; i < p && i <= k; ++i) {
      const u64 product = u64(y(i)) * two_v(k - i);
      low += static_cast<Limb>(product);
      high += product >> BITS;
    }
    carry = high + (low >> BITS);
    bound += u64(two_v(k)) * most;
    const Limb expected = static_cast<Limb>(bound);
    bound >>= BITS;
    const Limb minuend = k == p + n ? Limb(1) : Limb(0);
    const Limb left = sub_borrow(minuend, static_cast<Limb>(low), borrow);
    zero = zero && left == 0;
    if (left != expected) less = left < expected;
  }
  return !zero && borrow == 0 && carry == 0 && less;
}

}  // namespace gpuint
