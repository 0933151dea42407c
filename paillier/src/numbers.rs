//! Columns of encrypted fixed-point numbers.

use num_bigint::BigUint;

use crate::ciphertexts::Ciphertexts;
use crate::error::{Error, Result, check_lengths};
use crate::number::{DIGIT_BITS, Number, residues};

/// A column of encrypted numbers `mantissa * 16^exponent`. Exponents are not encrypted.
///
/// Sums of numbers with different exponents take the lower one: mantissas of the others are
/// multiplied by powers of 16 first. Sums and products are not randomized, as those of
/// [`Ciphertexts`].
#[derive(Debug)]
pub struct EncryptedNumbers {
    ciphertexts: Ciphertexts,
    exponents: Vec<i32>,
}

impl EncryptedNumbers {
    /// Makes a column of the ciphertexts of mantissas and of their exponents.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch).
    pub fn new(ciphertexts: Ciphertexts, exponents: Vec<i32>) -> Result<Self> {
        check_lengths(ciphertexts.len(), exponents.len())?;
        Ok(Self { ciphertexts, exponents })
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.exponents.len()
    }

    /// Returns true if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.exponents.is_empty()
    }

    /// The ciphertexts of the mantissas.
    #[must_use]
    pub fn ciphertexts(&self) -> &Ciphertexts {
        &self.ciphertexts
    }

    /// The exponents of 16.
    #[must_use]
    pub fn exponents(&self) -> &[i32] {
        &self.exponents
    }

    /// Returns the same numbers with exponents that are not above `exponents`; `None` if theirs are
    /// not.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch), [`ExponentRange`](Error::ExponentRange) if a
    /// factor would not be below the modulus, and what any operation may return.
    fn lowered(&self, exponents: &[i32]) -> Result<Option<Self>> {
        check_lengths(self.len(), exponents.len())?;
        if self.exponents.iter().zip(exponents).all(|(old, new)| old <= new) {
            return Ok(None);
        }
        let bits = self.ciphertexts.key().modulus().bits();
        let (mut rows, mut factors) = (Vec::new(), Vec::new());
        let mut lowered = self.exponents.clone();
        for (row, (old, &new)) in lowered.iter_mut().zip(exponents).enumerate() {
            if *old <= new {
                continue;
            }
            let shift = u64::from(old.abs_diff(new)) * u64::from(DIGIT_BITS);
            if shift >= bits - 1 {
                return Err(Error::ExponentRange { row });
            }
            rows.push(row);
            factors.push(BigUint::from(1u32) << shift);
            *old = new;
        }
        let part = self.ciphertexts.gather(&rows)?.mul_plain(&factors)?;
        Self::new(self.ciphertexts.scattered(&part, &rows)?, lowered).map(Some)
    }

    /// Adds the numbers, row by row.
    ///
    /// # Errors
    /// [`KeyMismatch`](Error::KeyMismatch), [`LengthMismatch`](Error::LengthMismatch),
    /// [`ExponentRange`](Error::ExponentRange) if exponents are too far apart for the key, and what
    /// any operation may return.
    pub fn add(&self, other: &Self) -> Result<Self> {
        let (left, right) = (self.lowered(&other.exponents)?, other.lowered(&self.exponents)?);
        let (left, right) = (left.as_ref().unwrap_or(self), right.as_ref().unwrap_or(other));
        // The exponents are copied while a GPU computes.
        let sums = left.ciphertexts.add(&right.ciphertexts)?;
        Self::new(sums, left.exponents.clone())
    }

    /// Subtracts the numbers of `other`, row by row.
    ///
    /// # Errors
    /// As [`add`](Self::add), [`NotACiphertext`](Error::NotACiphertext).
    pub fn sub(&self, other: &Self) -> Result<Self> {
        self.add(&Self::new(other.ciphertexts.neg()?, other.exponents.clone())?)
    }

    /// Adds numbers that are not encrypted, row by row.
    ///
    /// # Errors
    /// [`PlaintextRange`](Error::PlaintextRange), and as [`add`](Self::add).
    pub fn add_plain(&self, numbers: &[Number]) -> Result<Self> {
        let exponents: Vec<i32> = numbers.iter().map(Number::exponent).collect();
        let left = self.lowered(&exponents)?;
        let left = left.as_ref().unwrap_or(self);
        let bits = self.ciphertexts.key().modulus().bits();
        let aligned =
            numbers.iter().zip(&left.exponents).enumerate().map(|(row, (number, &new))| {
                let shift = u64::from(number.exponent().abs_diff(new)) * u64::from(DIGIT_BITS);
                if shift >= bits {
                    return Err(Error::ExponentRange { row });
                }
                Ok(Number::new(number.mantissa() << shift, new))
            });
        let aligned = aligned.collect::<Result<Vec<_>>>()?;
        let plaintexts = residues(self.ciphertexts.key(), &aligned)?;
        Self::new(left.ciphertexts.add_plain(&plaintexts)?, left.exponents.clone())
    }

    /// Multiplies by numbers that are not encrypted, row by row. Exponents are added.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch), [`PlaintextRange`](Error::PlaintextRange),
    /// [`ExponentRange`](Error::ExponentRange) if a sum of exponents leaves 32 bits, and what any
    /// operation may return.
    pub fn mul_plain(&self, numbers: &[Number]) -> Result<Self> {
        check_lengths(self.len(), numbers.len())?;
        let sums = self.exponents.iter().zip(numbers).enumerate().map(|(row, (&old, number))| {
            old.checked_add(number.exponent()).ok_or(Error::ExponentRange { row })
        });
        let exponents = sums.collect::<Result<Vec<_>>>()?;
        let factors = residues(self.ciphertexts.key(), numbers)?;
        Self::new(self.ciphertexts.mul_plain(&factors)?, exponents)
    }

    /// Adds the numbers of the rows of each group; see [`Ciphertexts::sum_by`]. All sums have the
    /// lowest exponent of the column, 0 if it has no rows.
    ///
    /// # Errors
    /// As [`add`](Self::add), [`NoSuchGroup`](Error::NoSuchGroup).
    pub fn sum_by(&self, group: &[usize], groups: usize) -> Result<Self> {
        let lowest = self.exponents.iter().copied().min().unwrap_or(0);
        let lowered = self.lowered(&vec![lowest; self.len()])?;
        let sums = lowered.as_ref().unwrap_or(self).ciphertexts.sum_by(group, groups)?;
        Self::new(sums, vec![lowest; groups])
    }

    /// Adds all numbers.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn sum(&self) -> Result<Self> {
        self.sum_by(&vec![0; self.len()], 1)
    }

    /// Returns the rows with these indices, in this order; indices may repeat.
    ///
    /// # Errors
    /// [`NoSuchRow`](gpuint::Error::NoSuchRow), and what any operation may return.
    pub fn gather(&self, rows: &[usize]) -> Result<Self> {
        let ciphertexts = self.ciphertexts.gather(rows)?;
        Self::new(ciphertexts, rows.iter().map(|&row| self.exponents[row]).collect())
    }

    /// Returns the rows of both columns, these first.
    ///
    /// # Errors
    /// As [`Ciphertexts::concat`].
    pub fn concat(&self, other: &Self) -> Result<Self> {
        let exponents = [self.exponents(), other.exponents()].concat();
        Self::new(self.ciphertexts.concat(&other.ciphertexts)?, exponents)
    }
}

/// Converts `f64` to numbers with one exponent, or exactly if there is none.
///
/// # Errors
/// [`NotFinite`](Error::NotFinite), [`PlaintextRange`](Error::PlaintextRange) if a mantissa would
/// have more than 2^20 bits.
pub fn numbers(values: &[f64], exponent: Option<i32>) -> Result<Vec<Number>> {
    let number = |(row, &value): (usize, &f64)| {
        let number = match exponent {
            Some(exponent) => Number::rounded(value, exponent),
            None => Number::exact(value),
        };
        number.ok_or(if value.is_finite() {
            Error::PlaintextRange { row }
        } else {
            Error::NotFinite { row }
        })
    };
    values.iter().enumerate().map(number).collect()
}

/// Converts numbers to `i64`.
///
/// # Errors
/// [`NotAnInteger`](Error::NotAnInteger).
pub fn to_i64(numbers: &[Number]) -> Result<Vec<i64>> {
    let value =
        |(row, number): (usize, &Number)| number.to_i64().ok_or(Error::NotAnInteger { row });
    numbers.iter().enumerate().map(value).collect()
}

/// Converts numbers to the nearest `f64`.
///
/// # Errors
/// [`Overflow`](Error::Overflow).
pub fn to_f64(numbers: &[Number]) -> Result<Vec<f64>> {
    let value = |(row, number): (usize, &Number)| number.to_f64().ok_or(Error::Overflow { row });
    numbers.iter().enumerate().map(value).collect()
}
