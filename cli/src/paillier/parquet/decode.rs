//! Decoding of files that may be damaged.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::RecordBatch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};

use super::errors::ParquetError;

/// Reads the metadata of a file.
pub(super) fn metadata(file: &File) -> Result<ArrowReaderMetadata, ParquetError> {
    let load = || ArrowReaderMetadata::load(file, ArrowReaderOptions::new());
    guarded(|| load().map_err(ParquetError::Read))
}

/// Some columns of a file in batches.
pub(super) struct Batches(ParquetRecordBatchReader);

impl Batches {
    /// Starts to read batches of at most `rows` rows.
    pub(super) fn new(
        file: &File,
        metadata: &ArrowReaderMetadata,
        columns: &[usize],
        rows: usize,
    ) -> Result<Self, ParquetError> {
        let file = file.try_clone().map_err(ParquetError::Open)?;
        let mask = ProjectionMask::roots(metadata.parquet_schema(), columns.iter().copied());
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone());
        let builder = builder.with_batch_size(rows).with_projection(mask);
        guarded(|| builder.build().map(Self).map_err(ParquetError::Read))
    }

    /// Reads a batch; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>, ParquetError> {
        guarded(|| self.0.next().transpose().map_err(ParquetError::Batch))
    }
}

/// Decodes a part of a file. The decoders assert some properties of a file: a panic is the error of
/// a damaged one, and the job ends.
fn guarded<T>(decode: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or(Err(ParquetError::Damaged))
}

#[test]
fn panic_of_a_decoder_is_an_error() {
    let damaged = guarded(|| -> Result<(), _> { panic!("slice must not be empty") });
    assert!(matches!(damaged, Err(ParquetError::Damaged)));
}
