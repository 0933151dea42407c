//! Numbers as text, one a row, in memory that conversions reuse.
//!
//! A row has a place of the maximum number of digits, so that all rows are written at once, and its
//! text is the end of the place: no text is moved, and none is allocated by itself.

use std::fmt;
use std::ops::Range;

use rayon::prelude::*;

use crate::backend::host::zeroed_pages;
use crate::error::{Error, Result};

/// Numbers as text, one a row, in one piece of memory:
/// [`to_decimal_into`](crate::Batch::to_decimal_into).
///
/// Texts that are written again keep their memory.
#[derive(Clone, Default)]
pub struct Texts {
    /// Digits of all places.
    digits: Vec<u8>,
    /// Length of a place.
    len: usize,
    /// Start of the text in the place of each row.
    starts: Vec<u32>,
}

/// Formats the texts as a list.
impl fmt::Debug for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Texts {
    /// Makes a list without texts; it allocates when it is written.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns true if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Returns the text of a row; `None` if there is no such row.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&str> {
        let start = *self.starts.get(row)?;
        let place = &self.digits[row * self.len..][..self.len];
        // Digits are ASCII.
        Some(std::str::from_utf8(&place[start as usize..]).unwrap_or_default())
    }

    /// Iterates over the texts, in order of the rows.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + DoubleEndedIterator {
        (0..self.len()).map(|row| self.get(row).unwrap_or_default())
    }

    /// Removes all rows and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.starts.clear();
    }

    /// Makes places of `len` digits for `rows` rows, uninitialized.
    pub(crate) fn set_places(&mut self, rows: usize, len: usize) -> Result<()> {
        let bytes = (rows as u64).saturating_mul(len as u64);
        let out_of_memory = Error::OutOfMemory { bytes };
        let Ok(bytes) = usize::try_from(bytes) else { return Err(out_of_memory) };
        self.starts.clear();
        if bytes > self.digits.len() {
            // Places need not keep their digits.
            self.digits = Vec::new();
            self.digits = zeroed_pages(bytes)?;
        }
        self.starts.try_reserve_exact(rows).map_err(|_| out_of_memory)?;
        self.starts.resize(rows, 0);
        self.len = len;
        Ok(())
    }

    /// Returns the places of a range of rows, each with the start of its text.
    pub(crate) fn places(
        &mut self,
        rows: Range<usize>,
    ) -> impl IndexedParallelIterator<Item = (&mut [u8], &mut u32)> {
        let digits = &mut self.digits[rows.start * self.len..rows.end * self.len];
        digits.par_chunks_exact_mut(self.len).zip(&mut self.starts[rows])
    }
}
