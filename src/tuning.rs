//! Internals for `benches/autotune` and the program `gpuint`, outside the public interface: kernels
//! with other block sizes, and the contents of the build.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use crate::backend::cuda;
use crate::backend::images::{self, HEADERS};
use crate::device::Device;
use crate::error::Result;
use crate::kernel::{ROWS, all_kernels};
use gpuint_catalogue::cache::Cache;
use gpuint_catalogue::{Shape, kernel};

/// Opens the CUDA GPU with this number, with kernels that aim at `block` threads per block. NVRTC
/// compiles them at first use.
///
/// # Errors
/// As [`Device::cuda`]. Operations return [`KernelMissing`](crate::Error::KernelMissing) if there
/// is no NVRTC, and [`Driver`](crate::Error::Driver) if no block can have this number of threads.
pub fn device_with_block(ordinal: usize, block: u32) -> Result<Device> {
    Device::cuda_with_block(ordinal, block)
}

/// Threads per block that a kernel of the catalogue aims at in this build; `None` if the catalogue
/// has no such row.
#[must_use]
pub fn block(name: &str, shape: Shape) -> Option<u32> {
    let key = kernel::parse(name)?;
    let row = ROWS.iter().find(|row| (row.op, row.algorithm) == key)?;
    Some(row.at(shape).block)
}

/// Returns true if the image of the kernel with this name is built into the crate.
#[must_use]
pub fn is_embedded(kernel: &str) -> bool {
    images::embedded(kernel).is_some()
}

/// Number of kernels of the built shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelCount {
    /// Kernels whose images are built into the crate.
    pub embedded: usize,
    /// Kernels that the run-time compiler compiles at their first use.
    pub at_first_use: usize,
}

/// Counts the kernels of the built shapes.
#[must_use]
pub fn kernels() -> KernelCount {
    let names: BTreeSet<String> = all_kernels().map(|kernel| kernel.to_string()).collect();
    let embedded = names.iter().filter(|name| is_embedded(name)).count();
    KernelCount { embedded, at_first_use: names.len() - embedded }
}

/// Returns the name and version of the compiler of kernels that are not built into the crate.
///
/// # Errors
/// Reason why there is none.
pub fn run_time_compiler() -> std::result::Result<String, &'static str> {
    cuda::compiler()
}

/// Returns the folder of kernels that were compiled at run time; `None` without a cache.
#[must_use]
pub fn cache_folder() -> Option<PathBuf> {
    Cache::from_env(|name| env::var_os(name)).folder().map(Path::to_path_buf)
}

/// Names and texts of the headers of all kernels.
#[must_use]
pub fn headers() -> &'static [(&'static str, &'static str)] {
    HEADERS
}
