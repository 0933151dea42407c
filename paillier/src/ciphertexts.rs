//! Columns of ciphertexts, and the arithmetic of their plaintexts modulo `n`.
//!
//! A product of ciphertexts modulo `n^2` encrypts the sum of the plaintexts, and a power encrypts
//! the plaintext times the exponent.

use std::sync::Arc;

use gpuint::{Device, DynBatch};
use num_bigint::BigUint;
use num_integer::Integer;

use crate::error::{Error, Result, check_lengths};
use crate::groups;
use crate::key::PublicKey;
use crate::prepared::PreparedKey;

/// A column of ciphertexts on a device, one a row.
///
/// Sums and products are not randomized: whoever knows the operands recognizes them. Call
/// [`rerandomize`](crate::Encryptor::rerandomize) before they are given away.
#[derive(Debug)]
pub struct Ciphertexts {
    rows: DynBatch,
    key: Arc<PreparedKey>,
}

impl Ciphertexts {
    pub(crate) fn new(rows: DynBatch, key: Arc<PreparedKey>) -> Self {
        Self { rows, key }
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Device of the rows.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.rows.device()
    }

    /// The key of the ciphertexts.
    #[must_use]
    pub fn key(&self) -> &PublicKey {
        &self.key.key
    }

    /// The ciphertexts as rows, in `[1, n^2)`.
    #[must_use]
    pub fn rows(&self) -> &DynBatch {
        &self.rows
    }

    /// Returns the ciphertexts as integers.
    ///
    /// # Errors
    /// The errors of any operation.
    pub fn to_biguints(&self) -> Result<Vec<BigUint>> {
        Ok(self.rows.to_biguints()?)
    }

    pub(crate) fn check_key(&self, key: &PublicKey) -> Result<()> {
        if self.key() == key { Ok(()) } else { Err(Error::KeyMismatch) }
    }

    fn with(&self, rows: DynBatch) -> Self {
        Self { rows, key: self.key.clone() }
    }

    /// Adds the plaintexts, row by row.
    ///
    /// # Errors
    /// [`KeyMismatch`](Error::KeyMismatch), [`LengthMismatch`](Error::LengthMismatch), and what any
    /// operation may return.
    pub fn add(&self, other: &Self) -> Result<Self> {
        other.check_key(self.key())?;
        check_lengths(self.len(), other.len())?;
        Ok(self.with(self.rows.mul_mod(&other.rows, &self.key.divisor)?))
    }

    /// Subtracts the plaintexts of `other`, row by row.
    ///
    /// # Errors
    /// As [`add`](Self::add) and [`neg`](Self::neg).
    pub fn sub(&self, other: &Self) -> Result<Self> {
        self.add(&other.neg()?)
    }

    /// Negates the plaintexts, by inverses modulo `n^2`.
    ///
    /// # Errors
    /// [`NotACiphertext`](Error::NotACiphertext) for a row that is no unit, and what any operation
    /// may return.
    pub fn neg(&self) -> Result<Self> {
        let (inverses, without) = self.rows.inverse_mod_all(&self.key.square)?;
        match without.indices()?.first() {
            Some(&row) => Err(Error::NotACiphertext { row }),
            None => Ok(self.with(inverses)),
        }
    }

    /// Adds plaintexts in `[0, n)`, row by row.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch), [`PlaintextRange`](Error::PlaintextRange), and
    /// what any operation may return.
    pub fn add_plain(&self, plaintexts: &[BigUint]) -> Result<Self> {
        check_lengths(self.len(), plaintexts.len())?;
        let bare = self.key.bare(plaintexts)?;
        Ok(self.with(self.rows.mul_mod(&bare, &self.key.divisor)?))
    }

    /// Multiplies the plaintexts by `factors` in `[0, n)`, row by row. A factor `f` above `n / 2`
    /// takes the power `n - f` of the inverse, so that small negative factors are fast.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch), [`PlaintextRange`](Error::PlaintextRange),
    /// [`NotACiphertext`](Error::NotACiphertext) for a row that is no unit and has a negative
    /// factor, and what any operation may return.
    pub fn mul_plain(&self, factors: &[BigUint]) -> Result<Self> {
        check_lengths(self.len(), factors.len())?;
        let n = self.key().modulus();
        if let Some(row) = factors.iter().position(|factor| factor >= n) {
            return Err(Error::PlaintextRange { row });
        }
        let half = n.div_floor(&BigUint::from(2u32));
        let negative: Vec<usize> = (0..factors.len()).filter(|&row| factors[row] > half).collect();
        let power = |bases: &DynBatch, exponents: &[BigUint]| {
            Ok::<_, Error>(self.with(bases.pow_mod_rows(exponents, &self.key.divisor)?))
        };
        if negative.is_empty() {
            return power(&self.rows, factors);
        }
        let mut exponents = factors.to_vec();
        for &row in &negative {
            exponents[row] = n - &factors[row];
        }
        let inverses = self.gather(&negative)?.neg().map_err(|error| match error {
            Error::NotACiphertext { row } => Error::NotACiphertext { row: negative[row] },
            other => other,
        })?;
        let mut bases = self.rows.try_clone()?;
        inverses.rows.scatter_into(&negative, &mut bases)?;
        power(&bases, &exponents)
    }

    /// Adds the plaintexts of all rows. The sum of no rows is 0.
    ///
    /// # Errors
    /// The errors of any operation.
    pub fn sum(&self) -> Result<Self> {
        self.sum_by(&vec![0; self.len()], 1)
    }

    /// Adds the plaintexts of the rows of each group: row `g` of the result is the sum of the rows
    /// whose number in `group` is `g`. The sum of no rows is 0, in the ciphertext 1.
    ///
    /// It takes one product for each row, in as many steps as the largest group has bits.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch), [`NoSuchGroup`](Error::NoSuchGroup), and what any
    /// operation may return.
    pub fn sum_by(&self, group: &[usize], groups: usize) -> Result<Self> {
        check_lengths(self.len(), group.len())?;
        Ok(self.with(groups::products(&self.rows, group, groups, &self.key.divisor)?))
    }

    /// Returns the rows with these indices, in this order; indices may repeat.
    ///
    /// # Errors
    /// [`NoSuchRow`](gpuint::Error::NoSuchRow), and what any operation may return.
    pub fn gather(&self, rows: &[usize]) -> Result<Self> {
        Ok(self.with(self.rows.gather(rows)?))
    }

    /// Returns the rows of both columns, these first.
    ///
    /// # Errors
    /// [`KeyMismatch`](Error::KeyMismatch), and what any operation may return.
    pub fn concat(&self, other: &Self) -> Result<Self> {
        other.check_key(self.key())?;
        Ok(self.with(DynBatch::concat(&[&self.rows, &other.rows])?))
    }

    /// Replaces the rows with these indices.
    pub(crate) fn scattered(&self, part: &Self, rows: &[usize]) -> Result<Self> {
        let mut all = self.rows.try_clone()?;
        part.rows.scatter_into(rows, &mut all)?;
        Ok(self.with(all))
    }
}
