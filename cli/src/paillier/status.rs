//! The end of a job.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use super::errors::AppError;
use crate::job::status::STOPPED;

/// End of a job that did not stop with an [`AppError`] (exit status 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Done,
    /// The job was interrupted, or its reader closed the pipe.
    Stopped,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Done => Self::SUCCESS,
            Status::Stopped => Self::from(STOPPED),
        }
    }
}

/// Result of a job that stopped early: its status, or the error.
pub(super) fn stopped(
    error: AppError,
    stop: &AtomicBool,
    stderr: &mut dyn Write,
) -> Result<Status, AppError> {
    let reason = match error {
        AppError::Write { source } if source.kind() == io::ErrorKind::BrokenPipe => {
            "nobody reads the results"
        }
        AppError::Read { .. } if stop.load(Ordering::Relaxed) => "interrupted",
        error => return Err(error),
    };
    let _ = writeln!(stderr, "paillier: {reason}");
    Ok(Status::Stopped)
}
