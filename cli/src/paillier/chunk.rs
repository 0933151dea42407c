//! Rows of a table, and the results of a job on them.

use gpuint_paillier::{EncryptedNumbers, Encryptor, Error};
#[cfg(feature = "parquet")]
use num_bigint::BigUint;

use super::errors::AppError;
use super::place::Place;

/// Fields of a column.
#[derive(Debug)]
pub(super) enum Cells {
    Texts(Vec<String>),
    /// Encrypted numbers as a Parquet file has them.
    #[cfg(feature = "parquet")]
    Numbers {
        ciphertexts: Vec<BigUint>,
        exponents: Vec<i32>,
    },
}

/// Consecutive rows of a table; none at the end.
#[derive(Debug)]
pub(super) struct Chunk {
    /// The column of the job.
    pub(super) cells: Cells,
    /// The groups of the rows; empty if the job has no column of groups.
    pub(super) groups: Vec<String>,
    pub(super) places: Vec<Place>,
}

impl Chunk {
    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the fields as text.
    ///
    /// # Errors
    /// [`AppError::Encrypted`].
    pub(super) fn texts(&self) -> Result<&[String], AppError> {
        match &self.cells {
            Cells::Texts(texts) => Ok(texts),
            #[cfg(feature = "parquet")]
            Cells::Numbers { .. } => Err(AppError::Encrypted),
        }
    }

    /// Reads the fields as encrypted numbers.
    ///
    /// # Errors
    /// [`AppError::Field`] with the place of a field that is none, and what any operation returns.
    pub(super) fn encrypted(&self, encryptor: &Encryptor) -> Result<EncryptedNumbers, AppError> {
        self.placed(match &self.cells {
            Cells::Texts(texts) => encryptor.numbers_from_json(texts),
            #[cfg(feature = "parquet")]
            Cells::Numbers { ciphertexts, exponents } => {
                let ciphertexts = encryptor.ciphertexts(ciphertexts);
                ciphertexts.and_then(|rows| EncryptedNumbers::new(rows, exponents.clone()))
            }
        })
    }

    /// Makes the error of a row.
    pub(super) fn error(&self, row: usize, reason: impl Into<String>) -> AppError {
        AppError::Field { place: self.places[row], reason: reason.into() }
    }

    /// Names the place of the row of an error.
    pub(super) fn placed<T>(&self, result: gpuint_paillier::Result<T>) -> Result<T, AppError> {
        result.map_err(|error| {
            let not_encrypted: String;
            let (row, reason) = match &error {
                Error::PlaintextRange { row } => (*row, "the number is out of the key's range"),
                Error::NotFinite { row } => (*row, "the number is not finite"),
                Error::Overflow { row } => (*row, "the number has overflowed"),
                Error::ExponentRange { row } => (*row, "the exponent is out of the key's range"),
                Error::NotACiphertext { row } => (*row, "not a ciphertext of the key"),
                Error::NotANumber { row, reason } => {
                    not_encrypted = format!("not an encrypted number: {reason}");
                    (*row, not_encrypted.as_str())
                }
                _ => return error.into(),
            };
            // Rows beyond are sums of former chunks.
            if row < self.len() { self.error(row, reason) } else { error.into() }
        })
    }
}

/// Results of the rows of a chunk.
#[derive(Debug)]
pub(super) enum Results {
    Numbers(EncryptedNumbers),
    Texts(Vec<String>),
}

impl Results {
    /// Returns the results as text; encrypted numbers as the JSON of `phe`.
    pub(super) fn texts(self) -> Result<Vec<String>, AppError> {
        match self {
            Self::Numbers(numbers) => Ok(numbers.to_json()?),
            Self::Texts(texts) => Ok(texts),
        }
    }
}
