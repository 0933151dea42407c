//! Launches of the kernels of long rows as data, for tests that run them on other machines.
#![allow(unsafe_code)]

use std::cell::RefCell;

use gpuint_catalogue::{Op, Shape};

use crate::backend::Params;
use crate::backend::launch::{LaunchBounds, RawOperands};
use crate::backend::long::grids::{Grids, TableCache};
use crate::backend::long::plan::{Plan, Primes};
use crate::error::{Error, Result};
use crate::kernel::{Instance, KernelId, LongKernelId};

/// Records launches, and the memory that they use.
pub trait Recorder {
    /// Adds memory and returns its address; `content` is empty for uninitialized memory.
    fn allocate(&mut self, bytes: u64, content: &[u8]) -> u64;

    /// Sets the bytes of memory to zero.
    fn clear(&mut self, address: u64);

    /// Part of the work that a block of a kernel does; `None` for an unknown kernel.
    fn rows_per_block(&mut self, kernel: &str) -> Option<u32>;

    /// Adds a launch.
    fn launch(&mut self, kernel: String, arguments: &[u8], blocks: u32);
}

/// Operands of an operation, by their addresses; 0 for absent ones.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// The operation.
    pub op: Op,
    /// Shape of the rows.
    pub shape: Shape,
    /// Number of rows.
    pub rows: usize,
    /// Inputs.
    pub ins: [u64; 3],
    /// Results.
    pub outs: [u64; 2],
    /// Mask, of zeros.
    pub mask: u64,
    /// Lowest failed row, all ones.
    pub status: u64,
    /// The parameters.
    pub params: Params,
}

/// Transforms of products.
#[derive(Debug, Clone, Copy)]
pub struct Transforms {
    /// True for the larger primes.
    pub is_large: bool,
    /// Levels of each pass.
    pub levels: &'static [u32],
}

/// Records the launches of an operation on long rows. The transforms of its products are those of
/// the library, or others with points for all limbs.
///
/// # Errors
/// Those of the operation.
pub fn record(
    recorder: &mut impl Recorder,
    call: Call,
    transforms: Option<Transforms>,
) -> Result<()> {
    let plan = transforms.map(|Transforms { is_large, levels }| {
        let primes = if is_large { Primes::Large } else { Primes::Small };
        Plan { primes, levels }
    });
    let recording =
        Recording { recorder: RefCell::new(recorder), tables: TableCache::default(), plan };
    let Call { op, shape, rows, ins, outs, mask, status, params } = call;
    let params = params.into();
    let (rows, none) = (rows as u64, bytemuck::Zeroable::zeroed());
    let operands = RawOperands { ins, outs, rows, mask, status, params, ..none };
    // SAFETY: the recording launches nothing.
    unsafe { super::run(&recording, KernelId::long(op, shape), &operands) }
}

/// A queue that passes launches to a recorder.
struct Recording<'a, R> {
    recorder: RefCell<&'a mut R>,
    tables: TableCache<u64>,
    plan: Option<Plan>,
}

impl<R: Recorder> Grids for Recording<'_, R> {
    type Memory = u64;

    fn allocate(&self, bytes: u64) -> Result<u64> {
        Ok(self.recorder.borrow_mut().allocate(bytes, &[]))
    }

    fn allocate_copy(&self, bytes: &[u8]) -> Result<u64> {
        Ok(self.recorder.borrow_mut().allocate(bytes.len() as u64, bytes))
    }

    fn clear(&self, memory: &mut u64) -> Result<()> {
        self.recorder.borrow_mut().clear(*memory);
        Ok(())
    }

    fn address(&self, memory: &mut u64) -> Result<u64> {
        Ok(*memory)
    }

    fn tables(&self) -> &TableCache<u64> {
        &self.tables
    }

    fn plan(&self, limbs: u64) -> Option<Plan> {
        self.plan.or_else(|| Plan::of_limbs(limbs))
    }

    fn launch_bounds(&self, kernel: LongKernelId) -> Result<LaunchBounds> {
        let name = Instance::Long(kernel).to_string();
        let rows_per_block = self.recorder.borrow_mut().rows_per_block(&name);
        let missing = || Error::Driver(format!("unknown kernel \"{name}\""));
        let rows_per_block = rows_per_block.ok_or_else(missing)?;
        Ok(LaunchBounds { rows_per_block, ..LaunchBounds::default() })
    }

    unsafe fn launch_grid(
        &self,
        kernel: LongKernelId,
        arguments: &[u8],
        blocks: u32,
    ) -> Result<()> {
        let name = Instance::Long(kernel).to_string();
        self.recorder.borrow_mut().launch(name, arguments, blocks);
        Ok(())
    }
}
