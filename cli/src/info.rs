//! `gpuint info`: the devices and kernels of the program.

use std::error::Error;
use std::io::Write;

use gpuint::tuning::KernelCount;
use gpuint::{Device, tuning};

/// Shows the devices of this machine, their tuning tables, and the widths and kernels of this
/// build.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {}

pub(crate) fn run(_: &Options, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    writeln!(out, "gpuint {}", env!("CARGO_PKG_VERSION"))?;
    let mut gpus = 0;
    loop {
        match Device::cuda(gpus) {
            Ok(device) => writeln!(out, "GPU {gpus}: {device}; {}", device.tuning())?,
            Err(error @ gpuint::Error::NoDevice) => {
                if gpus == 0 {
                    writeln!(out, "GPUs: none ({error})")?;
                }
                break;
            }
            // A GPU that cannot be opened has its error, and the others follow.
            Err(error) => writeln!(out, "GPU {gpus}: {error}")?,
        }
        gpus += 1;
    }
    writeln!(out, "CPU: {}", Device::cpu())?;
    let widths: Vec<String> = gpuint::widths().map(|shape| shape.bits.to_string()).collect();
    writeln!(out, "widths: {} bits", widths.join(", "))?;
    let KernelCount { embedded, at_first_use } = tuning::kernels();
    writeln!(out, "kernels: {embedded} embedded, {at_first_use} compiled at first use")?;
    match tuning::run_time_compiler() {
        Ok(compiler) => writeln!(out, "run-time compiler: {compiler}")?,
        Err(reason) => writeln!(out, "run-time compiler: none ({reason})")?,
    }
    match tuning::cache_folder() {
        Some(folder) => writeln!(out, "cache of kernels: {}", folder.display())?,
        None => writeln!(out, "cache of kernels: none")?,
    }
    let features = [
        ("simt", cfg!(feature = "simt")),
        ("mpi", cfg!(feature = "mpi")),
        ("parquet", cfg!(feature = "parquet")),
    ];
    let names: Vec<&str> = features.iter().filter(|it| it.1).map(|it| it.0).collect();
    writeln!(out, "features: {}", if names.is_empty() { "none".into() } else { names.join(", ") })?;
    Ok(out.flush()?)
}
