//! The log of the crate's work on standard error.

use std::io;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{self, format::FmtSpan};
use tracing_subscriber::layer::SubscriberExt;

/// Starts the log of what a filter selects, as `Targets` of the crate `tracing-subscriber` reads
/// it, such as `gpuint=debug`. A log that the process has already stays.
#[pyfunction]
pub(crate) fn start_log(filter: &str) -> PyResult<()> {
    let filter: Targets =
        filter.parse().map_err(|error| PyValueError::new_err(format!("{error}")))?;
    let lines =
        fmt::layer().with_span_events(FmtSpan::CLOSE).with_writer(io::stderr).with_ansi(false);
    let log = tracing_subscriber::registry().with(filter).with(lines);
    // Fails where the module was loaded twice in one process.
    let _ = tracing::subscriber::set_global_default(log);
    Ok(())
}
