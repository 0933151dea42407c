//! Exit statuses of jobs.

/// Exit status of a job that ended early: interrupted, or nobody reads its results.
pub(crate) const STOPPED: u8 = 3;
