//! `gpuint info`: the devices and kernels of the program.

use std::error::Error;
use std::io::Write;

use gpuint::Device;

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
    let embedded = gpuint::tuning::embedded_kernels();
    writeln!(out, "kernels: {embedded} embedded; NVRTC compiles others at first use")?;
    Ok(out.flush()?)
}
