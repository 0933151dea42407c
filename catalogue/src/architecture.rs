//! Architectures of GPUs: limits, rates and spellings, from `architectures.toml`.

/// Architecture of NVIDIA GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Architecture {
    /// Compute capability: 90 is 9.0.
    pub capability: u32,
    /// Name of its code for nvcc and NVRTC: `sm_90a`.
    pub code: &'static str,
    /// Maximum number of warps on a multiprocessor.
    pub warps: u32,
    /// Maximum number of blocks on a multiprocessor.
    pub blocks: u32,
    /// Number of registers of a multiprocessor.
    pub registers: u32,
    /// Shared memory of a multiprocessor, in KiB.
    pub shared_kib: u32,
    /// Maximum shared memory of a block, in KiB.
    pub block_kib: u32,
    /// True if double precision has a quarter of the rate of single precision or more.
    pub has_fast_doubles: bool,
    /// True if matrix products of bytes are faster than integer multiply-adds.
    pub has_fast_bytes: bool,
    /// True if warpgroups have matrix instructions.
    pub has_wgmma: bool,
    /// Compute capability whose measured policies its kernels have.
    pub policies: u32,
    /// True if `tuning/` has a table of a GPU.
    pub is_measured: bool,
    /// True if all kernels are compiled for it in checks.
    pub is_checked: bool,
}

/// Peak rates of a GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuRates {
    /// Name of the product.
    pub name: &'static str,
    /// Compute capability: 90 is 9.0.
    pub capability: u32,
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Cycles per second.
    pub clock: f64,
    /// Bytes per second of the device memory.
    pub bandwidth: f64,
    /// Cycles of a multiprocessor for a product of 16 x 32 and 32 x 8 bytes by `mma.sync`.
    pub tensor_cycles: f64,
    /// Cycles of a multiprocessor for a double precision instruction of a warp.
    pub double_cycles: f64,
}

include!(concat!(env!("OUT_DIR"), "/architectures.rs"));

/// Number of architectures for which all kernels are compiled in checks.
const CHECKED: usize = {
    let (mut count, mut index) = (0, 0);
    while index < ARCHITECTURES.len() {
        count += ARCHITECTURES[index].is_checked as usize;
        index += 1;
    }
    count
};

/// Number of architectures with a baseline.
pub const BASELINES: usize = {
    let (mut count, mut index) = (0, 0);
    while index < ARCHITECTURES.len() {
        count += ARCHITECTURES[index].has_baseline() as usize;
        index += 1;
    }
    count
};

impl Architecture {
    /// Architectures of the table, in ascending order of the compute capability.
    pub const ALL: &'static [Self] = &ARCHITECTURES;

    /// Compute capabilities for which all kernels are compiled in checks.
    pub(crate) const CHECKED: [u32; CHECKED] = {
        let (mut checked, mut count, mut index) = ([0; CHECKED], 0, 0);
        while index < ARCHITECTURES.len() {
            if ARCHITECTURES[index].is_checked {
                checked[count] = ARCHITECTURES[index].capability;
                count += 1;
            }
            index += 1;
        }
        checked
    };

    /// Architectures with policies of their own, for which `kernels/resources.toml` has a baseline.
    /// The build compiles code for them, and PTX of the last one for newer GPUs.
    pub const BASELINES: [&'static Self; BASELINES] = {
        let (mut baselines, mut count, mut index) = ([&Self::ALL[0]; BASELINES], 0, 0);
        while index < ARCHITECTURES.len() {
            if ARCHITECTURES[index].has_baseline() {
                baselines[count] = &Self::ALL[index];
                count += 1;
            }
            index += 1;
        }
        baselines
    };

    /// The newest architecture with policies of its own.
    pub const NEWEST: &'static Self = Self::BASELINES[BASELINES - 1];

    /// Returns the architecture of GPUs of a compute capability: the newest of the table that is
    /// not newer. `None` before the first.
    #[must_use]
    pub const fn find(capability: u32) -> Option<&'static Self> {
        let mut index = ARCHITECTURES.len();
        while index > 0 {
            index -= 1;
            if ARCHITECTURES[index].capability <= capability {
                return Some(&Self::ALL[index]);
            }
        }
        None
    }

    /// Returns true if the architecture has policies of its own.
    #[must_use]
    pub const fn has_baseline(&self) -> bool {
        self.policies == self.capability
    }

    /// Returns the name of code for a compute capability.
    #[must_use]
    pub fn code_of(capability: u32) -> String {
        match Self::ALL.iter().find(|it| it.capability == capability) {
            Some(known) => known.code.to_owned(),
            None => format!("sm_{capability}"),
        }
    }

    /// Returns the name of PTX for GPUs from a compute capability on.
    #[must_use]
    pub fn ptx_of(capability: u32) -> String {
        format!("compute_{capability}")
    }

    /// Returns true if code for a compute capability runs on no other one.
    #[must_use]
    pub fn is_specific(capability: u32) -> bool {
        Self::code_of(capability).ends_with(|last: char| last.is_ascii_lowercase())
    }
}

impl GpuRates {
    /// GPUs of the table.
    pub const ALL: &'static [Self] = &GPUS;

    /// The GPU on which the policies of the kernels were measured.
    pub const MEASURED: &'static Self = &GPUS[0];

    /// Returns the first GPU of a compute capability.
    ///
    /// # Panics
    /// If the table has none.
    #[must_use]
    pub const fn of_capability(capability: u32) -> &'static Self {
        let mut index = 0;
        while GPUS[index].capability != capability {
            index += 1;
        }
        &Self::ALL[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_ascend() {
        assert!(Architecture::ALL.is_sorted_by(|a, b| a.capability < b.capability));
    }

    #[test]
    fn policies_are_of_an_architecture_with_a_baseline() {
        for architecture in Architecture::ALL {
            let of = |it: &&Architecture| it.capability == architecture.policies;
            let measured = Architecture::BASELINES.into_iter().find(of).unwrap();
            assert!(measured.capability <= architecture.capability, "{architecture:?}");
        }
    }

    #[test]
    fn unlisted_capability_has_the_limits_of_the_row_before_it() {
        let capability = |of| Architecture::find(of).map(|found| found.capability);
        assert_eq!(capability(79), None);
        assert_eq!(capability(80), Some(80));
        assert_eq!(capability(88), Some(87));
        assert_eq!(capability(121), Some(120));
    }

    #[test]
    fn code_is_spelled_for_compilers() {
        assert_eq!(Architecture::code_of(80), "sm_80");
        assert_eq!(Architecture::code_of(90), "sm_90a");
        assert_eq!(Architecture::code_of(75), "sm_75");
        assert_eq!(Architecture::ptx_of(90), "compute_90");
        assert!(Architecture::is_specific(90) && !Architecture::is_specific(75));
    }
}
