//! Errors of Parquet tables.

use std::io;
use std::path::PathBuf;

use arrow_schema::{ArrowError, DataType};

/// Reason why a Parquet table is not read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ParquetError {
    #[error("cannot read the Parquet table: {0}")]
    Read(parquet::errors::ParquetError),
    #[error("cannot read the Parquet table: {0}")]
    Batch(ArrowError),
    #[error("cannot read the Parquet table: the file is damaged")]
    Damaged,
    #[error("cannot open the Parquet table: {0}")]
    Open(io::Error),
    #[error("cannot write the Parquet table: {0}")]
    Write(parquet::errors::ParquetError),
    #[error("a Parquet table is read from a file, not from a pipe or standard input")]
    NoFile,
    #[error("results of a Parquet table are written to a file: --output FILE")]
    NoOutput,
    #[error("{} has content of another job: remove it, or --resume that job", .0.display())]
    Assembled(PathBuf),
    #[error("the table has no column {0:?}")]
    NoColumn(String),
    #[error("the column {column:?} has the type {found}: expected {expected}")]
    ColumnType { column: String, found: DataType, expected: &'static str },
    #[error("the table has numbers of another key")]
    OtherKey,
    #[error("the key in the metadata of the table: {0}")]
    Key(gpuint_paillier::Error),
    #[error("the table has changed since its rows were read")]
    Changed,
}
