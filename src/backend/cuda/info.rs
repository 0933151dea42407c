//! Properties of a GPU.

use std::fmt;

use crate::backend::cuda::driver::{self, Fault, GpuHandle};

/// Properties of a GPU.
#[derive(Debug)]
pub(super) struct Info {
    pub(super) name: String,
    /// The compute capability: 90 is 9.0.
    pub(super) capability: u32,
    pub(super) total_memory: u64,
    /// The CUDA version of the driver: 13000 is 13.0.
    pub(super) driver: i32,
    /// The most shared memory that a block can have.
    pub(super) shared_memory: u32,
    pub(super) multiprocessors: u32,
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, capability, total_memory, driver, .. } = self;
        let (major, minor) = (driver / 1000, driver % 1000 / 10);
        // Gibibytes with one digit.
        let tenths = ((total_memory >> 20) * 10) >> 10;
        let (whole, tenth) = (tenths / 10, tenths % 10);
        write!(f, "{name}, sm_{capability}, {whole}.{tenth} GiB, driver for CUDA {major}.{minor}")
    }
}

impl Info {
    pub(super) fn read(gpu: &GpuHandle) -> Result<Self, Fault> {
        let number = |attribute| Ok(u32::try_from(gpu.attribute(attribute)?).unwrap_or_default());
        let (major, minor) = (number(driver::CAPABILITY_MAJOR)?, number(driver::CAPABILITY_MINOR)?);
        Ok(Self {
            name: gpu.name()?,
            capability: 10 * major + minor,
            total_memory: gpu.total_memory()?,
            driver: gpu.driver_version()?,
            shared_memory: number(driver::SHARED_MEMORY_PER_BLOCK)?,
            multiprocessors: number(driver::MULTIPROCESSOR_COUNT)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_described_in_words() {
        let info = Info {
            name: "A GPU".to_owned(),
            capability: 90,
            total_memory: (3 << 30) + (1 << 29),
            driver: 12080,
            shared_memory: 0,
            multiprocessors: 0,
        };
        assert_eq!(info.to_string(), "A GPU, sm_90, 3.5 GiB, driver for CUDA 12.8");
    }
}
