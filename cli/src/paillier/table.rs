//! A table of either format, of which a job reads or replaces a column.

use gpuint_paillier::{EncryptedNumbers, PublicKey};

use super::chunk::{Chunk, Results};
use super::errors::AppError;
use super::options::Source;
use crate::job::column::Column;
use crate::job::output::{OutputFile, Position};

/// A table that is read in order.
pub(super) trait Table {
    /// Reads at most `rows` rows; none at the end.
    fn chunk(&mut self, rows: usize) -> Result<Chunk, AppError>;

    /// Place after the last row that was read.
    fn position(&self) -> Position;

    /// Reads the rows before a position; returns true if they are those of the position.
    fn skip(&mut self, position: &Position) -> Result<bool, AppError>;

    /// Bytes of the table, if they are known.
    fn size(&self) -> Option<u64>;

    /// Bytes of the rows that were read.
    fn passed(&self) -> u64;

    /// Notes the rows of the latest chunk that begin groups. [`sums`](Self::sums) writes the
    /// groups with the types of these rows.
    fn begin_groups(&mut self, _rows: &[usize]) -> Result<(), AppError> {
        Ok(())
    }

    /// Returns the results that precede those of the first row.
    fn head(&self) -> Result<Vec<u8>, AppError>;

    /// Returns the results of the latest chunk.
    fn written(&self, results: Results) -> Result<Vec<u8>, AppError>;

    /// Returns a table of the groups and their sums.
    fn sums(&mut self, groups: &[String], totals: EncryptedNumbers) -> Result<Vec<u8>, AppError>;

    /// Completes an output that has the results of all rows.
    fn finish(&mut self, output: &mut OutputFile) -> Result<(), AppError>;
}

/// Results of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Numbers,
    Texts,
    Sums,
}

/// A job on a table.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(
    not(feature = "parquet"),
    expect(dead_code, reason = "Parquet tables have keys and types of columns")
)]
pub(super) struct Request<'a> {
    pub(super) source: &'a Source,
    /// Column of groups.
    pub(super) by: Option<&'a Column>,
    pub(super) key: &'a PublicKey,
    pub(super) kind: Kind,
    pub(super) resume: bool,
}
