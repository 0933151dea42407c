//! What the examples and the benches share: where to run, and the log.

use std::env;
use std::error::Error;
use std::io;

use clap::ValueEnum;
use gpuint::Device;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{self, format::FmtSpan};
use tracing_subscriber::layer::SubscriberExt;

/// Where to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// The first NVIDIA GPU.
    Cuda,
    /// num-bigint on all cores.
    Cpu,
    /// The CUDA kernels themselves, run on the processor: slow.
    Simt,
}

/// The device of that kind; the first GPU or else the processor where nothing is said.
pub fn open(backend: Option<Backend>) -> gpuint::Result<Device> {
    match backend {
        None => Device::new(),
        Some(Backend::Cuda) => Device::cuda(0),
        Some(Backend::Cpu) => Ok(Device::cpu()),
        Some(Backend::Simt) => Ok(Device::simt()),
    }
}

/// What the log shows, as `Targets` of the crate `tracing-subscriber` reads it:
/// `GPUINT_LOG=gpuint=trace` has every copy and launch with its time, `info` what is compiled.
const VARIABLE: &str = "GPUINT_LOG";

/// Starts a log of what the library does, on standard error, where one is asked for.
///
/// # Errors
/// Where `GPUINT_LOG` is not a filter, or another log was started before.
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
