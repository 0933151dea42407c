//! For `benches/autotune` and the program, and no part of the interface: kernels with other blocks than
//! their own, and what was built.

use crate::backend::images::HEADERS;
use crate::device::Device;
use crate::error::Result;
use crate::kernel::block_of;
use crate::shape::ROWS;
use gpuint_catalogue::{Shape, kernel};

/// The CUDA GPU of that number, with a stream of its own, whose kernels aim at so many threads per
/// block: NVRTC makes them when they are first used.
///
/// # Errors
/// As [`Device::cuda`]; operations may return what any operation may where there is no NVRTC, and
/// [`Driver`](crate::Error::Driver) where no block can have so many threads.
pub fn device_with_block(ordinal: usize, block: u32) -> Result<Device> {
    Device::cuda_with_block(ordinal, block)
}

/// The threads per block that a kernel of the catalogue aims at, as it was built; `None` where the
/// catalogue has no such row.
#[must_use]
pub fn block(name: &str, shape: Shape) -> Option<u32> {
    let key = kernel::parse(name)?;
    let row = ROWS.iter().position(|row| (row.op, row.algorithm) == key)?;
    Some(block_of(row, shape))
}

/// The number of kernels whose images were built with the crate.
#[must_use]
pub fn embedded_kernels() -> usize {
    crate::backend::images::embedded_kernels()
}

/// The names and texts of the headers that kernels are made of.
#[must_use]
pub fn headers() -> &'static [(&'static str, &'static str)] {
    HEADERS
}
