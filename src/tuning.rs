//! Internals for `benches/autotune` and the program `gpuint`, outside the public interface: kernels
//! with other block sizes, and the contents of the build.

use std::env;
use std::path::{Path, PathBuf};

use crate::backend::cuda;
use crate::backend::images::HEADERS;
use crate::device::Device;
use crate::error::Result;
use crate::kernel::block_of;
use crate::shape::ROWS;
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
    let row = ROWS.iter().position(|row| (row.op, row.algorithm) == key)?;
    Some(block_of(row, shape))
}

/// Number of kernels whose images are built into the crate.
#[must_use]
pub fn embedded_kernels() -> usize {
    crate::backend::images::embedded_kernels()
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
