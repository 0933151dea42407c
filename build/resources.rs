//! The reader of `kernels/resources.toml`: the shared memory of kernels.

use std::fs;

use gpuint_catalogue::Architecture;
use gpuint_catalogue::architecture::BASELINES;

use crate::Result;

const FILE: &str = "kernels/resources.toml";

/// The resources of the kernels of the default catalogue, as nvcc compiled them last.
pub(crate) struct Resources(toml::Table);

impl Resources {
    pub(crate) fn read() -> Result<Self> {
        let text = fs::read_to_string(FILE).map_err(|error| format!("{FILE}: {error}"))?;
        text.parse().map(Self).map_err(|error: toml::de::Error| format!("{FILE}: {error}"))
    }

    /// Shared memory of a block in bytes, by baseline; 0 where the kernel is not recorded.
    pub(crate) fn shared_bytes(&self, kernel: &str) -> [u32; BASELINES] {
        Architecture::BASELINES.map(|baseline| {
            let entry = self.0.get(baseline.code).and_then(|kernels| kernels.get(kernel));
            let bytes = entry.and_then(|entry| entry.get("shared")?.as_integer());
            bytes.and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(0)
        })
    }
}
