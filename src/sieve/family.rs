//! Families of numbers, one for each index.

use num_bigint::BigInt;

use super::exponents::Exponents;

/// Numbers for the indices i = 0, 1, 2, ...
///
/// ```
/// use gpuint::Device;
/// use gpuint::sieve::Family;
/// use num_bigint::BigInt;
///
/// // 10^100 + 1 + 2 i: the sieve by the primes below 1000 leaves 13 of 100 numbers.
/// let odd = Family::terms(BigInt::from(10).pow(100) + 1, 2);
/// let left = odd.survivors(&Device::cpu(), 100, 1000)?;
/// assert_eq!(left.indices()?[..3], [4, 18, 19]);
/// assert_eq!(left.count()?, 13);
/// # Ok::<(), gpuint::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Family(pub(super) Kind);

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Terms(Terms),
    Powers { numbers: Exponents, first: u64 },
}

/// The numbers first + i step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Terms {
    pub(super) first: BigInt,
    pub(super) step: BigInt,
}

impl Family {
    /// Numbers `first + i step`: terms of an arithmetic progression, k b^n + c with different k,
    /// offsets around a multiple of a primorial. Both may be negative, and the step zero.
    #[must_use]
    pub fn terms(first: impl Into<BigInt>, step: impl Into<BigInt>) -> Self {
        Self(Kind::Terms(Terms { first: first.into(), step: step.into() }))
    }

    /// Numbers k b^n + c for the exponents n = `first` + i. Exponents above 2^64 - 1 have no
    /// number, and their index survives.
    #[must_use]
    pub fn powers(k: u64, base: u64, first: u64, c: impl Into<BigInt>) -> Self {
        Self(Kind::Powers { numbers: Exponents::new(k, base, c), first })
    }

    /// Returns the family of the numbers at a distance from these.
    #[must_use]
    pub fn shifted(&self, distance: impl Into<BigInt>) -> Self {
        let distance = distance.into();
        Self(match &self.0 {
            Kind::Terms(Terms { first, step }) => {
                Kind::Terms(Terms { first: first + distance, step: step.clone() })
            }
            Kind::Powers { numbers, first } => {
                Kind::Powers { numbers: numbers.shifted(distance), first: *first }
            }
        })
    }
}
