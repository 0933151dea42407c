//! Exit statuses of jobs.

use std::process::ExitCode;

/// Exit status of a job that ended early: interrupted, or nobody reads its results.
pub const STOPPED: u8 = 3;

/// End of a job over rows that did not stop with an error (exit status 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Every row has a result.
    Done,
    /// Some rows have no result, or some lines give no row.
    RowsRejected,
    /// The job was interrupted, or its reader closed the pipe.
    Stopped,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Done => Self::SUCCESS,
            Status::RowsRejected => Self::from(1),
            Status::Stopped => Self::from(STOPPED),
        }
    }
}
