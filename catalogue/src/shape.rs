//! Shapes: the width of an integer, and the threads that share it.

use std::cmp::Reverse;
use std::fmt;

use crate::DigitKind;

/// Maximum number of threads that work on one integer: a thread block.
pub const MAX_GROUP: usize = 1024;

/// Maximum width of an integer in bits.
pub const MAX_BITS: usize = 1 << 20;

/// Maximum width of a long integer in bits: [`Shape::is_long`].
pub const MAX_LONG_BITS: usize = 1 << 31;

/// Digits per thread of a long shape, on which nothing depends.
const LONG_Q: usize = 4;

/// Maximum number of digits per thread: [`MAX_GROUP`] threads of this many digits of 16 bits hold
/// [`MAX_BITS`] bits.
pub const MAX_Q: usize = MAX_BITS / 16 / MAX_GROUP;

/// A shape as a value: integers of `bits` bits in digits of one kind, `q` digits a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape {
    /// Width of an integer in bits.
    pub bits: usize,
    /// Digits per thread.
    pub q: usize,
    /// The machine word.
    pub digit: DigitKind,
}

impl Shape {
    /// Returns the narrowest long shape for integers of `bits` bits; `None` above
    /// [`MAX_LONG_BITS`].
    #[must_use]
    pub const fn long(bits: usize) -> Option<Self> {
        let digit = DigitKind::U64;
        if bits > MAX_LONG_BITS {
            return None;
        }
        let bits = if bits <= MAX_BITS { MAX_BITS + 1 } else { bits };
        Some(Self { bits: bits.next_multiple_of(digit.bits()), q: LONG_Q, digit })
    }

    /// Returns true if the integers are wider than [`MAX_BITS`]: many thread blocks share one. Long
    /// shapes have 64-bit digits, any whole number of them up to [`MAX_LONG_BITS`], and `q = 4`.
    /// They are not built: every device has all of them.
    #[must_use]
    pub const fn is_long(self) -> bool {
        self.bits > MAX_BITS
    }

    /// Digits per integer (`M`).
    #[must_use]
    pub const fn digits(self) -> usize {
        self.bits / self.digit.bits()
    }

    /// Bytes per integer.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.bits / 8
    }

    /// Bytes of a prepared divisor: `Record` in `kernels/div/prepare.cuh`. The record of the cpu
    /// backend fits, too.
    #[must_use]
    pub const fn prepared_bytes(self) -> usize {
        let limb = if self.bits.is_multiple_of(32) { 4 } else { 2 };
        let word = 4 * limb;
        (2 * self.bytes().div_ceil(word) + 4) * word
    }

    /// Threads that work on one integer (`M / Q`).
    #[must_use]
    pub const fn threads(self) -> usize {
        self.digits() / self.q
    }

    /// Returns true if each thread has whole digits and one thread block can hold an integer, or if
    /// the shape is long.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        if self.is_long() {
            return self.q == LONG_Q
                && matches!(self.digit, DigitKind::U64)
                && self.bits.is_multiple_of(self.digit.bits())
                && self.bits <= MAX_LONG_BITS;
        }
        self.q > 0
            && self.bits > 0
            && self.bits.is_multiple_of(self.q * self.digit.bits())
            && self.threads() <= MAX_GROUP
    }

    /// Returns the shape among `shapes` that this one selects: itself, or, if its groups would
    /// exceed [`MAX_GROUP`] threads, the one of the same width and digits with the fewest digits
    /// per thread.
    #[must_use]
    pub fn select(self, shapes: impl Iterator<Item = Self>) -> Option<Self> {
        let same = shapes.filter(|shape| shape.bits == self.bits && shape.digit == self.digit);
        same.filter(|&shape| shape == self || self.threads() > MAX_GROUP)
            .min_by_key(|shape| shape.q)
    }

    /// Returns the shape of the narrowest width of at least `bits` bits among `shapes`: with the
    /// widest digits, and of them with the `q` nearest to 4.
    #[must_use]
    pub fn narrowest(bits: usize, shapes: impl Iterator<Item = Self>) -> Option<Self> {
        let wide_enough = shapes.filter(|shape| shape.bits >= bits);
        wide_enough
            .min_by_key(|shape| (shape.bits, Reverse(shape.digit.bits()), shape.q.abs_diff(4)))
    }

    /// Returns the shape, or the reason why it cannot be built.
    ///
    /// # Errors
    /// A description of the bound that the shape exceeds.
    pub fn checked(self) -> Result<Self, String> {
        let Self { bits, q, digit } = self;
        let invalid = |reason: &str| Err(format!("invalid shape {bits}:{q}:{digit}: {reason}"));
        if bits > MAX_BITS {
            return invalid(&format!("BITS is at most {MAX_BITS}"));
        }
        if q > MAX_Q {
            return invalid(&format!("Q is at most {MAX_Q}"));
        }
        let per_thread = q.saturating_mul(digit.bits());
        if per_thread == 0 || bits == 0 || !bits.is_multiple_of(per_thread) {
            return invalid("BITS must be a positive multiple of Q times the bits of a digit");
        }
        if self.threads() > MAX_GROUP {
            return invalid(&format!(
                "it needs {} threads (BITS / digit bits / Q), at most {MAX_GROUP} can work on one \
                 integer",
                self.threads()
            ));
        }
        Ok(self)
    }

    /// Parses `BITS:Q:DIGIT`.
    ///
    /// # Errors
    /// The expected form, or the bound that the shape exceeds.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':').map(str::trim);
        let shape = (|| {
            let bits = parts.next()?.parse().ok()?;
            let q = parts.next()?.parse().ok()?;
            let digit = DigitKind::parse(parts.next()?)?;
            parts.next().is_none().then_some(Self { bits, q, digit })
        })();
        shape
            .ok_or_else(|| format!("\"{text}\" is not BITS:Q:DIGIT, for example 12288:4:u64"))?
            .checked()
    }
}

/// Suffix of the names of the shape's kernels: `b8192_q4_u64`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bits, q, digit } = self;
        write!(f, "b{bits}_q{q}_{digit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_shape_is_parsed() {
        let shape = Shape { bits: 12288, q: 4, digit: DigitKind::U64 };
        assert_eq!(Shape::parse("12288:4: u64"), Ok(shape));
        assert_eq!(shape.to_string(), "b12288_q4_u64");
        for (text, words) in [
            ("12288:4", "is not BITS:Q:DIGIT"),
            ("12288:4:u64:1", "is not BITS:Q:DIGIT"),
            ("1000:4:u64", "positive multiple"),
            ("0:4:u64", "positive multiple"),
            ("1024:0:u64", "positive multiple"),
            ("65536:1:u16", "needs 4096 threads"),
            ("2097152:32:u64", "at most 1048576"),
        ] {
            let error = Shape::parse(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn long_shape_has_whole_digits() {
        let bits = |bits| Shape::long(bits).map(|shape| shape.bits);
        assert_eq!(bits(1), Some(MAX_BITS + 64));
        assert_eq!(bits(MAX_BITS + 65), Some(MAX_BITS + 128));
        assert_eq!(bits(MAX_LONG_BITS), Some(MAX_LONG_BITS));
        assert_eq!(bits(MAX_LONG_BITS + 1), None);
        let long = Shape { bits: 1 << 24, q: 4, digit: DigitKind::U64 };
        assert!(long.is_valid() && long.is_long() && long.checked().is_err());
        for invalid in [
            Shape { bits: (1 << 24) + 32, ..long },
            Shape { q: 16, ..long },
            Shape { digit: DigitKind::U32, ..long },
            Shape { bits: 2 * MAX_LONG_BITS, ..long },
        ] {
            assert!(!invalid.is_valid(), "{invalid}");
        }
    }

    #[test]
    fn shape_with_too_many_threads_selects_more_digits_per_thread() {
        let shape = |bits, q| Shape { bits, q, digit: DigitKind::U64 };
        let built = [shape(1024, 4), shape(524288, 32), shape(524288, 16)];
        let select = |bits, q| shape(bits, q).select(built.into_iter());
        assert_eq!(select(1024, 4), Some(shape(1024, 4)));
        assert_eq!(select(1024, 2), None);
        assert_eq!(select(524288, 4), Some(shape(524288, 16)));
        assert_eq!(select(524288, 32), Some(shape(524288, 32)));
        assert_eq!(select(1048576, 4), None);
    }
}
