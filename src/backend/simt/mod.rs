//! The CUDA kernels on the CPU: the shim of `kernels/simt` through its C interface.
//!
//! Shim and kernels are compiled by the host's C++ compiler at their first use, unit by unit.
#![allow(unsafe_code)]

mod abi;
mod compiler;
mod units;

use std::ffi::{CStr, c_int};

pub use units::{Upset, plan_upset, rare_paths};

use crate::backend::host::{self, HostMemory, host_memory_methods};
use crate::backend::launch::{self, LaunchBounds, RawOperands};
use crate::backend::long::{self, Grids, KeptProducts, TableCache, Transforms};
use crate::backend::sieve::{self, Divisions, Strikes, Windows};
use crate::backend::{Backend, BackendKind, Buffer, Call};
use crate::error::{Error, Result};
use crate::kernel::{Instance, LongKernelId};
use abi::{RawOptions, Stats};

#[cfg(not(all(unix, any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!(
    "feature simt: kernels on the host need x86-64 or aarch64 with mmap (Linux or another Unix): \
     build \
     without the feature"
);

/// Schedule of threads and blocks of [`Device::simt_with`](crate::Device::simt_with).
///
/// One fiber runs per CUDA thread; at every barrier and every exchange within a warp another one
/// may continue. A schedule is a function of the seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SimtOptions {
    /// Seed of the schedule; 0 runs threads in order.
    pub seed: u64,
    /// Maximum number of blocks of a launch; 0 sets no limit.
    pub max_grid: u32,
    /// Number of host threads that run blocks; 0 selects the number of cores.
    pub host_threads: u32,
    /// Maximum number of rows of a launch of a kernel with a workspace; 0 selects 25, so that small
    /// batches have several parts.
    pub max_part: usize,
}

const OK: c_int = 0;

/// [`SimtOptions::max_part`] by default.
const MAX_PART: usize = 25;

/// The shim.
#[derive(Debug)]
pub(crate) struct Simt {
    options: SimtOptions,
    tables: TableCache<HostMemory>,
}

impl Simt {
    pub(crate) fn new(options: SimtOptions) -> Self {
        Self { options, tables: TableCache::default() }
    }

    fn raw_options(&self) -> RawOptions {
        let SimtOptions { seed, max_grid, host_threads, .. } = self.options;
        RawOptions { seed, max_grid, host_threads }
    }

    fn max_part(&self) -> usize {
        if self.options.max_part == 0 { MAX_PART } else { self.options.max_part }
    }

    /// Launches a kernel: `launch` calls the shim with the options, and with space for what it
    /// reports.
    fn reported(
        &self,
        kernel: &CStr,
        launch: impl FnOnce(*const RawOptions, *mut Stats, &mut [u8]) -> c_int,
    ) -> Result<()> {
        let mut stats = Stats::default();
        let mut message = [0u8; 1 << 12];
        let options = self.raw_options();
        let code = launch(&raw const options, &raw mut stats, &mut message);
        tracing::trace!(?kernel, ?stats, "simt");
        match code {
            OK => Ok(()),
            _ => {
                let message = CStr::from_bytes_until_nul(&message).unwrap_or_default();
                Err(Error::Driver(message.to_string_lossy().into_owned()))
            }
        }
    }
}

/// The bounds of a kernel's first phase.
fn launch_bounds_of(shim: &units::Shim, kernel: &CStr) -> Result<LaunchBounds> {
    let mut bounds = LaunchBounds::default();
    // SAFETY: the pointers are valid for the call.
    match unsafe { (shim.functions.launch_bounds)(kernel.as_ptr(), &raw mut bounds) } {
        OK => Ok(bounds),
        _ => Err(Error::Driver(format!("{} is not loaded", kernel.to_string_lossy()))),
    }
}

impl Grids for Simt {
    type Memory = HostMemory;

    fn allocate(&self, bytes: u64) -> Result<HostMemory> {
        HostMemory::unspecified(bytes)
    }

    fn allocate_copy(&self, bytes: &[u8]) -> Result<HostMemory> {
        let mut memory = HostMemory::unspecified(bytes.len() as u64)?;
        memory.as_bytes_mut().copy_from_slice(bytes);
        Ok(memory)
    }

    fn clear(&self, memory: &mut HostMemory) -> Result<()> {
        memory.as_bytes_mut().fill(0);
        Ok(())
    }

    fn address(&self, memory: &mut HostMemory) -> Result<u64> {
        Ok(memory.as_bytes_mut().as_mut_ptr().expose_provenance() as u64)
    }

    fn max_rows(&self) -> usize {
        self.max_part()
    }

    fn tables(&self) -> &TableCache<HostMemory> {
        &self.tables
    }

    fn launch_bounds(&self, kernel: LongKernelId) -> Result<LaunchBounds> {
        let (shim, kernel) = units::load(Instance::Long(kernel))?;
        launch_bounds_of(shim, &kernel)
    }

    unsafe fn launch_grid(
        &self,
        kernel: LongKernelId,
        arguments: &[u8],
        blocks: u32,
    ) -> Result<()> {
        let (shim, kernel) = units::load(Instance::Long(kernel))?;
        self.reported(&kernel, |options, stats, message| {
            // SAFETY: the pointers are valid for the call; the rest is the caller's.
            unsafe {
                (shim.functions.launch_grid)(
                    kernel.as_ptr(),
                    arguments.as_ptr().cast(),
                    blocks,
                    options,
                    stats,
                    message.as_mut_ptr().cast(),
                    message.len(),
                )
            }
        })
    }
}

impl Backend for Simt {
    fn kind(&self) -> BackendKind {
        BackendKind::Simt
    }

    fn describe(&self) -> String {
        match self.options.seed {
            0 => "CUDA kernels on the host, threads in order".to_owned(),
            seed => format!("CUDA kernels on the host, schedule {seed}"),
        }
    }

    host_memory_methods!();

    fn has_long_rows(&self) -> bool {
        true
    }

    fn has_transforms(&self) -> bool {
        true
    }

    fn transform(&self, transforms: Transforms<'_>) -> Result<()> {
        let addresses = [
            host::bytes(transforms.rows)?.as_ptr().expose_provenance() as u64,
            host::bytes_mut(transforms.out)?.as_mut_ptr().expose_provenance() as u64,
        ];
        // SAFETY: the buffers are borrowed by the call, and no other thread uses the result.
        unsafe { long::transform(self, &transforms, addresses) }
    }

    fn multiply(&self, mut products: KeptProducts<'_>) -> Result<()> {
        let address =
            |buffer: &Buffer| Ok(host::bytes(buffer)?.as_ptr().expose_provenance() as u64);
        let mut addresses = [address(products.rows)?, address(products.transforms)?, 0, 0];
        for (out, to) in products.outs.iter_mut().zip(&mut addresses[2..]) {
            if let Some(out) = out {
                *to = host::bytes_mut(out)?.as_mut_ptr().expose_provenance() as u64;
            }
        }
        // SAFETY: the buffers are borrowed by the call, and no other thread uses the results.
        unsafe { long::multiply(self, &products, addresses) }
    }

    fn has_sieves(&self) -> bool {
        true
    }

    fn strike(&self, strikes: Strikes<'_>) -> Result<()> {
        let address = |buffer: &mut Buffer| {
            Ok(host::bytes_mut(buffer)?.as_mut_ptr().expose_provenance() as u64)
        };
        let addresses = [address(strikes.words)?, address(strikes.common)?];
        // SAFETY: the buffers are borrowed by the call, and no other thread uses them.
        unsafe { sieve::run(self, &strikes, addresses) }
    }

    fn divide_by_primes(&self, divisions: Divisions<'_>) -> Result<()> {
        let addresses = [
            host::bytes(divisions.rows)?.as_ptr().expose_provenance() as u64,
            host::bytes_mut(divisions.mask)?.as_mut_ptr().expose_provenance() as u64,
        ];
        // SAFETY: as above; the rows are only read.
        unsafe { sieve::divide(self, &divisions, addresses) }
    }

    fn sieve_windows(&self, windows: Windows<'_>) -> Result<()> {
        let addresses = [
            host::bytes(windows.rows)?.as_ptr().expose_provenance() as u64,
            host::bytes_mut(windows.words)?.as_mut_ptr().expose_provenance() as u64,
        ];
        // SAFETY: as above; the rows are only read.
        unsafe { sieve::search(self, &windows, addresses) }
    }

    fn launch(&self, call: Call<'_>) -> Result<()> {
        let kernel = call.kernel;
        let strides = call.strides();
        let rows = call.operands.rows;
        let address =
            |buffer: &Buffer| Ok(host::bytes(buffer)?.as_ptr().expose_provenance() as u64);
        let pairs = call.operands.pairs.as_flattened();
        let factors = pairs.iter().map(|buffer| address(buffer)).collect::<Result<Vec<u64>>>()?;
        let mut operands = RawOperands::new(call.operands, address, |buffer| {
            Ok(host::bytes_mut(buffer)?.as_mut_ptr().expose_provenance() as u64)
        })?;
        if !factors.is_empty() {
            operands.ins[0] = factors.as_ptr().expose_provenance() as u64;
        }
        if kernel.is_long() {
            // SAFETY: the buffers behind the operands are borrowed by the call, `Call::check` found
            // them long enough, and no other thread uses the outputs.
            return unsafe { long::run(self, kernel, &operands) };
        }
        let (shim, kernel) = units::load(kernel.into())?;
        let launch = |operands: RawOperands| {
            self.reported(&kernel, |options, stats, message| {
                // SAFETY: as above, and the pointers are valid for the call.
                unsafe {
                    (shim.functions.launch)(
                        kernel.as_ptr(),
                        &raw const operands,
                        options,
                        stats,
                        message.as_mut_ptr().cast(),
                        message.len(),
                    )
                }
            })
        };
        match strides {
            Some(strides) if launch_bounds_of(shim, &kernel)?.row_bytes != 0 => {
                launch::parts(rows, self.max_part())
                    .try_for_each(|part| launch(operands.part(strides, part)))
            }
            _ => launch(operands),
        }
    }
}
