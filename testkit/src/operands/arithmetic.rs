//! Powers of two and bounded numbers.

use gpuint::num_bigint::BigUint;
use num_traits::{One, Zero};

/// `2^exponent`.
pub fn power(exponent: usize) -> BigUint {
    BigUint::one() << exponent
}

/// `2^bits - 1`.
pub fn ones(bits: usize) -> BigUint {
    power(bits) - 1u32
}

/// Lowest bits of a number.
pub fn low(value: BigUint, bits: usize) -> BigUint {
    if value.bits() <= bits as u64 { value } else { value & ones(bits) }
}

/// `a - b`, or 0 if that is negative.
pub(super) fn minus(a: &BigUint, b: &BigUint) -> BigUint {
    if a > b { a - b } else { BigUint::zero() }
}
