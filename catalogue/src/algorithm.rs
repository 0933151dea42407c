//! Algorithms of operations, as values.

use std::fmt;

/// A multiplication algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Product {
    /// Digit by digit.
    Classical,
    /// Three half-length products instead of four.
    Karatsuba,
    /// Matrix units, byte by byte.
    TensorCore,
    /// Fourier transforms in double precision.
    Fft,
    /// Number-theoretic transforms.
    Ntt,
    /// Digits of 52 bits in double precision.
    Fp64,
    /// Limbs of 32 bits by the integer multipliers, a row to a thread.
    Imad,
    /// Matrix units, byte by byte, a row to a warp that keeps it in registers.
    Fused,
}

impl Product {
    /// Every multiplication algorithm.
    pub const ALL: [Self; 8] = [
        Self::Classical,
        Self::Karatsuba,
        Self::TensorCore,
        Self::Fft,
        Self::Ntt,
        Self::Fp64,
        Self::Imad,
        Self::Fused,
    ];

    /// Part of a kernel's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classical => "classical",
            Self::Karatsuba => "karatsuba",
            Self::TensorCore => "tensor",
            Self::Fft => "fft",
            Self::Ntt => "ntt",
            Self::Fp64 => "fp64",
            Self::Imad => "imad",
            Self::Fused => "fused",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|product| product.name() == name)
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An algorithm of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// The only algorithm of the operation.
    Only,
    /// Products of this kind.
    By(Product),
    /// Division by the whole shifted inverse of the divisor, with products of this kind.
    ShiftedInverse(Product),
    /// Division block by block of quotient digits, with products of this kind.
    Blocked(Product),
    /// The algorithm of long shapes, and of products of few wide rows, with many thread blocks for
    /// an integer.
    Long,
}

/// Part of the name of a kernel of a long shape.
const LONG: &str = "long";

impl Algorithm {
    /// Number of algorithms, and exclusive bound of [`index`](Self::index).
    pub const COUNT: usize = 2 + 3 * Product::ALL.len();

    /// Returns the number of the algorithm.
    #[must_use]
    pub const fn index(self) -> usize {
        let products = Product::ALL.len();
        match self {
            Self::Only => 0,
            Self::By(product) => 1 + product as usize,
            Self::ShiftedInverse(product) => 1 + products + product as usize,
            Self::Blocked(product) => 1 + 2 * products + product as usize,
            Self::Long => 1 + 3 * products,
        }
    }

    /// Products inside the algorithm, if it has any.
    #[must_use]
    pub const fn product(self) -> Option<Product> {
        match self {
            Self::Only | Self::Long => None,
            Self::By(product) | Self::ShiftedInverse(product) | Self::Blocked(product) => {
                Some(product)
            }
        }
    }

    /// Returns the same algorithm with other products inside.
    #[must_use]
    pub const fn with_product(self, product: Product) -> Self {
        match self {
            Self::Only | Self::Long => self,
            Self::By(_) => Self::By(product),
            Self::ShiftedInverse(_) => Self::ShiftedInverse(product),
            Self::Blocked(_) => Self::Blocked(product),
        }
    }

    /// Parses the algorithm's part of a kernel name: `classical`, `blocked_tensor`, or empty for
    /// the only algorithm of an operation.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        if name.is_empty() {
            return Some(Self::Only);
        }
        if name == LONG {
            return Some(Self::Long);
        }
        if let Some(product) = name.strip_prefix("shifted_inverse_") {
            return Product::parse(product).map(Self::ShiftedInverse);
        }
        if let Some(product) = name.strip_prefix("blocked_") {
            return Product::parse(product).map(Self::Blocked);
        }
        Product::parse(name).map(Self::By)
    }
}

/// The algorithm's part of a kernel name; empty for the only algorithm of an operation.
impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Only => Ok(()),
            Self::Long => f.pad(LONG),
            Self::By(product) => product.fmt(f),
            Self::ShiftedInverse(product) => write!(f, "shifted_inverse_{product}"),
            Self::Blocked(product) => write!(f, "blocked_{product}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_identify_algorithms() {
        let mut seen = [false; Algorithm::COUNT];
        let each = |product| {
            [
                Algorithm::By(product),
                Algorithm::ShiftedInverse(product),
                Algorithm::Blocked(product),
            ]
        };
        let all = Product::ALL.into_iter().flat_map(each).chain([Algorithm::Only, Algorithm::Long]);
        for algorithm in all {
            assert_eq!(Algorithm::parse(&algorithm.to_string()), Some(algorithm));
            assert!(!std::mem::replace(&mut seen[algorithm.index()], true), "{algorithm}");
        }
        assert_eq!(seen, [true; Algorithm::COUNT]);
        assert_eq!(Algorithm::parse("by_classical"), None);
    }
}
