//! Options of the devices on which a job computes.

use std::fmt;

use clap::ValueEnum;
use gpuint::{Device, Pool, Share};

/// Requested devices.
#[derive(Debug, Clone, clap::Args)]
pub struct DeviceOptions {
    /// Kind of the devices that compute. auto: all GPUs, or the CPU if there is none
    #[arg(short, long, value_enum, default_value_t = BackendChoice::Auto)]
    pub backend: BackendChoice,

    /// Numbers of the GPUs, with --backend cuda [default: all]
    #[arg(short, long, value_name = "N,...", value_delimiter = ',')]
    pub devices: Vec<usize>,

    /// Check every row on the device that computes it, modulo 2^61 - 1: for GPUs that may be
    /// faulty. The other devices compute the rows of one that fails twice
    #[arg(long)]
    pub verified: bool,
}

/// Reason why there is no device.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    #[error("cannot use --backend {backend}: {source}")]
    Open { backend: BackendChoice, source: gpuint::Error },
    #[error("--devices are numbers of GPUs: they need --backend cuda")]
    Number,
}

impl DeviceOptions {
    /// Opens the requested devices.
    pub fn open(&self) -> Result<Pool, DeviceError> {
        let backend = self.backend;
        let numbers = &self.devices;
        if !numbers.is_empty() && backend != BackendChoice::Cuda {
            return Err(DeviceError::Number);
        }
        let of = |device: gpuint::Result<Device>| Pool::of([device?]);
        match backend {
            BackendChoice::Auto => Pool::new(),
            // Without a GPU, not the CPU.
            BackendChoice::Cuda if numbers.is_empty() => Device::cuda(0).and_then(|_| Pool::new()),
            BackendChoice::Cuda => {
                let devices: gpuint::Result<Vec<_>> =
                    numbers.iter().copied().map(Device::cuda).collect();
                devices.and_then(Pool::of)
            }
            BackendChoice::Cpu => of(Ok(Device::cpu())),
            #[cfg(feature = "simt")]
            BackendChoice::Simt => of(Ok(Device::simt())),
        }
        .and_then(|pool| if self.verified { verified(&pool) } else { Ok(pool) })
        .map_err(|source| DeviceError::Open { backend, source })
    }
}

/// Returns the pool of the same devices, whose results are checked.
fn verified(pool: &Pool) -> gpuint::Result<Pool> {
    Pool::of(pool.devices().iter().map(Device::verified))
}

/// Names of the devices of a pool.
pub fn names(pool: &Pool) -> String {
    match pool.devices() {
        [device] => device.to_string(),
        devices => format!("{} devices, the first {},", devices.len(), devices[0]),
    }
}

/// Returns the devices that failed, with their errors.
pub fn failures(shares: Vec<Share>) -> impl Iterator<Item = String> {
    let failure = |share: Share| Some(format!("{}: {}", share.device, share.error?));
    shares.into_iter().filter_map(failure)
}

/// The backends by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BackendChoice {
    /// All GPUs, or the CPU where there is none.
    Auto,
    /// NVIDIA GPUs.
    Cuda,
    /// The CPU, on all cores.
    Cpu,
    /// The CUDA kernels on the CPU: slow, for checks.
    #[cfg(feature = "simt")]
    Simt,
}

impl fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Cuda => "cuda",
            Self::Cpu => "cpu",
            #[cfg(feature = "simt")]
            Self::Simt => "simt",
        })
    }
}
