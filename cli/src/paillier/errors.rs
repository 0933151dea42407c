//! Errors of the jobs.

use std::io;
use std::path::PathBuf;

use super::place::Place;
use crate::job::devices::DeviceError;
use crate::job::input::InputError;
use crate::job::output::OutputError;

/// Reason why a job has no results.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Paillier(#[from] gpuint_paillier::Error),
    #[error("cannot write {}: {source}", path.display())]
    WriteKey { path: PathBuf, source: io::Error },
    #[error("cannot read {}: {source}", path.display())]
    ReadKey { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    Key { path: PathBuf, source: gpuint_paillier::Error },
    #[error("the table has no column {0:?} in its first row")]
    NoColumn(String),
    #[error("{place}: {reason}")]
    Field { place: Place, reason: String },
    #[cfg(not(feature = "parquet"))]
    #[error(
        "the table is a Parquet file, and this build reads none: build with --features parquet"
    )]
    NoParquet,
    #[cfg(feature = "parquet")]
    #[error("the column is encrypted already")]
    Encrypted,
    #[cfg(feature = "parquet")]
    #[error(transparent)]
    Parquet(#[from] super::parquet::errors::ParquetError),
    #[error("cannot read the table: {source}")]
    Read { source: io::Error },
    #[error("cannot write the results: {source}")]
    Write { source: io::Error },
}
