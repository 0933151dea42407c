//! Families of rows, and the families of several operations.

use gpuint::num_bigint::BigUint;

use super::draw::Draw;

/// Two operands below `2^BITS`, with the family's name.
pub type Family = (&'static str, fn(&mut Draw) -> [BigUint; 2]);

/// Two values of all kinds and lengths.
pub(super) const DRAWN: Family = ("a and b drawn", |draw| {
    let (a, b) = draw.lengths();
    [draw.value(a), draw.value(b)]
});

/// Two values of all kinds and full width.
pub const FULL_WIDTH: Family = ("full width", |draw| {
    let bits = draw.sizes.bits;
    [draw.value(bits), draw.value(bits)]
});
