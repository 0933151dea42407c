//! Devices and logs of the examples and of the benches.

pub mod tour;

use std::env;
use std::error::Error;
use std::io;

use clap::ValueEnum;
use gpuint::Device;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{self, format::FmtSpan};
use tracing_subscriber::layer::SubscriberExt;

/// Kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// The first NVIDIA GPU.
    Cuda,
    /// The CPU, on all cores.
    Cpu,
    /// The CUDA kernels on the CPU: slow.
    #[cfg(feature = "simt")]
    Simt,
}

/// Opens a device of this kind, by default the first GPU, else the CPU.
///
/// # Errors
/// As [`Device::new`] and [`Device::cuda`].
pub fn open(backend: Option<Backend>) -> gpuint::Result<Device> {
    match backend {
        None => Device::new(),
        Some(Backend::Cuda) => Device::cuda(0),
        Some(Backend::Cpu) => Ok(Device::cpu()),
        #[cfg(feature = "simt")]
        Some(Backend::Simt) => Ok(Device::simt()),
    }
}

/// Variable with the filter of the log, in the syntax of `Targets` of the crate
/// `tracing-subscriber`: `GPUINT_LOG=gpuint=trace` shows every copy and launch with its time,
/// `info` shows compilations.
const VARIABLE: &str = "GPUINT_LOG";

/// Starts a log of the library's work on standard error, if `GPUINT_LOG` is set.
///
/// # Errors
/// `GPUINT_LOG` is not a filter, or another log was started before.
pub fn start_log() -> Result<(), Box<dyn Error>> {
    let Some(filter) = env::var_os(VARIABLE) else { return Ok(()) };
    let filter = filter.to_str().ok_or_else(|| format!("{VARIABLE} is not text"))?;
    let filter: Targets =
        filter.parse().map_err(|error| format!("{VARIABLE} is not a filter: {error}"))?;
    let lines =
        fmt::layer().with_span_events(FmtSpan::CLOSE).with_writer(io::stderr).with_ansi(false);
    let log = tracing_subscriber::registry().with(filter).with(lines);
    Ok(tracing::subscriber::set_global_default(log)?)
}
