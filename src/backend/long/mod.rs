//! Operations on long rows, of more than 2^20 bits, by the kernels of `kernels/long`.
//!
//! The cuda and simt backends share this launcher: a [`Grids`] allocates memory and launches grids.
//! A row belongs to many blocks. An operation allocates its workspace before its first launch, and
//! processes a batch in parts where the workspace of all rows does not fit.

mod arguments;
mod fold;
mod movement;
pub(crate) mod on_cpu;
mod plan;
mod product;
mod reduction;
mod sum;

use std::sync::Arc;

use bytemuck::{Pod, bytes_of};
use gpuint_catalogue::Op;

use crate::backend::launch::{Facts, MOST_WORKSPACE_BYTES, RawOperands};
use crate::backend::once::OnceMap;
use crate::error::{Error, Result};
use crate::kernel::{KernelId, LongKernelId};
use arguments::Tables;
use plan::{MOST_LOG_POINTS, Plan};
use product::Product;
use sum::Sum;

/// A queue of a device that launches kernels of long rows.
pub(crate) trait Grids {
    /// Memory of the device, freed in the order of the queue.
    type Memory;

    /// Allocates `bytes` bytes, uninitialized.
    fn allocate(&self, bytes: u64) -> Result<Self::Memory>;

    /// Allocates a copy of `bytes`.
    fn allocate_copy(&self, bytes: &[u8]) -> Result<Self::Memory>;

    /// Sets all bytes of memory to zero.
    fn clear(&self, memory: &mut Self::Memory) -> Result<()>;

    /// Address of memory for work that is queued next.
    fn address(&self, memory: &mut Self::Memory) -> Result<u64>;

    /// Maximum number of rows of a launch.
    fn most_rows(&self) -> usize {
        usize::MAX
    }

    /// Tables of plans on this device.
    fn tables(&self) -> &TableCache<Self::Memory>;

    /// Launch configuration of a kernel.
    fn facts(&self, kernel: LongKernelId) -> Result<Facts>;

    /// Queues `blocks` blocks of a kernel.
    ///
    /// # Safety
    /// The arguments are those of the kernel. Their addresses are those of memory of this queue, as
    /// much of it as the kernel uses; memory that it writes is not used otherwise.
    #[allow(unsafe_code)]
    unsafe fn launch_grid(&self, kernel: LongKernelId, arguments: &[u8], blocks: u32)
    -> Result<()>;
}

/// Tables of plans, computed at the first use of a plan.
#[derive(Debug)]
pub(crate) struct TableCache<M>(OnceMap<Plan, Arc<PlanTables<M>>>);

impl<M> Default for TableCache<M> {
    fn default() -> Self {
        Self(OnceMap::default())
    }
}

/// Tables of a plan in memory of the device.
#[derive(Debug)]
struct PlanTables<M> {
    tables: [Tables; 3],
    _memory: M,
}

/// Returns true if [`run`] has kernels for an operation on rows of `bits` bits.
pub(crate) const fn has_kernels(op: Op, bits: usize) -> bool {
    match op {
        Op::MulLo | Op::SquareLo | Op::MulWide => bits <= WIDEST_FACTOR,
        Op::MulCyclic => bits <= WIDEST_FACTOR || bits.is_power_of_two(),
        Op::Add
        | Op::Sub
        | Op::Shl
        | Op::Shr
        | Op::ShlRows
        | Op::ShrRows
        | Op::Gather
        | Op::Select
        | Op::Bitwise
        | Op::Resize
        | Op::Cmp
        | Op::EqMask
        | Op::LtMask
        | Op::IsZeroMask
        | Op::BitLengths
        | Op::CountOnes
        | Op::TrailingZeros
        | Op::BitMask => true,
        _ => false,
    }
}

/// Widest rows, in bits, of products that do not wrap: a result has the points of the longest plan.
pub(crate) const WIDEST_FACTOR: usize = 32 << (MOST_LOG_POINTS - 1);

/// Queues an operation on long rows.
///
/// # Errors
/// [`OutOfMemory`](Error::OutOfMemory) before anything is queued, and
/// [`WidthMissing`](Error::WidthMissing) for products that exceed the longest transform, and for an
/// operation without [kernels](has_kernels).
///
/// # Safety
/// `operands` are those of the operation: addresses of memory of this queue, as much of it as the
/// operation uses for its rows; memory that it writes is not used otherwise.
#[allow(unsafe_code)]
pub(crate) unsafe fn run<G: Grids>(
    grids: &G,
    kernel: KernelId,
    operands: &RawOperands,
) -> Result<()> {
    let op = kernel.op();
    let limbs = kernel.shape().bits as u64 / 32;
    let rows = usize::try_from(operands.rows).unwrap_or(usize::MAX);
    let [a, b, _] = operands.ins;
    let [out, high] = operands.outs;
    let product = |factors: [u64; 2], parts: [(u64, u64); 2]| {
        // SAFETY: the caller's.
        unsafe { Product { factors, limbs, parts, is_cyclic: false }.queue(grids, op, rows) }
    };
    match op {
        Op::MulLo => product([a, b], [(out, limbs), (0, 0)]),
        Op::SquareLo => product([a, a], [(out, limbs), (0, 0)]),
        Op::MulWide if operands.params.joined != 0 => product([a, b], [(out, 2 * limbs), (0, 0)]),
        Op::MulWide => product([a, b], [(out, limbs), (high, limbs)]),
        Op::MulCyclic => {
            // SAFETY: the caller's.
            unsafe { product::queue_cyclic(grids, [a, b], limbs, out, rows) }
        }
        // SAFETY: the caller's.
        Op::Fold => unsafe { fold::queue(grids, limbs, operands) },
        Op::Add | Op::Sub => {
            let is_difference = op == Op::Sub;
            let broadcast = operands.params.broadcast_rhs != 0;
            let sum =
                Sum { is_difference, broadcast, mask: operands.mask, ..Sum::of(a, b, out, limbs) };
            // SAFETY: the caller's.
            unsafe { sum.queue(grids, rows) }
        }
        // SAFETY: the caller's.
        _ => match unsafe { movement::queue(grids, op, limbs, operands) } {
            // SAFETY: the caller's.
            None => unsafe { reduction::queue(grids, op, limbs, operands) },
            queued => queued,
        }
        .unwrap_or_else(|| kernel.check_catalogue()),
    }
}

/// Queues a kernel for an amount of work.
///
/// # Safety
/// That of [`Grids::launch_grid`].
#[allow(unsafe_code)]
pub(in crate::backend) unsafe fn launch<G: Grids>(
    grids: &G,
    kernel: LongKernelId,
    arguments: &impl Pod,
    work: u64,
) -> Result<()> {
    let facts = grids.facts(kernel)?;
    let blocks = work.div_ceil(u64::from(facts.rows_per_block.max(1)));
    let blocks = u32::try_from(blocks).ok().filter(|&blocks| blocks <= i32::MAX as u32);
    let blocks = blocks.ok_or_else(|| Error::Driver(format!("a grid for {work} limbs")))?;
    // SAFETY: the caller's.
    unsafe { grids.launch_grid(kernel, bytes_of(arguments), blocks) }
}

/// Returns the part of a block and the parts of a row, of a kernel that processes rows of `limbs`
/// limbs by blocks.
fn tiles<G: Grids>(grids: &G, kernel: LongKernelId, limbs: u64) -> Result<(u64, u32)> {
    let tile = u64::from(grids.facts(kernel)?.rows_per_block.max(1));
    // Below 2^27: rows have at most 2^31 bits.
    Ok((tile, limbs.div_ceil(tile) as u32))
}

/// Most rows of a launch for rows of `tiles` blocks.
fn rows_of_grid(tiles: u32) -> usize {
    (i32::MAX as u32 / tiles.max(1)).max(1) as usize
}

/// Returns the kernel with this name.
pub(in crate::backend) fn kernel(name: &str) -> Result<LongKernelId> {
    LongKernelId::find(name).ok_or_else(|| Error::Driver(format!("unknown long kernel \"{name}\"")))
}

/// Allocates the workspace of as many rows as memory allows, at most `rows`; returns it with the
/// number of rows.
fn workspace<G: Grids>(grids: &G, row_bytes: u64, rows: usize) -> Result<(G::Memory, usize)> {
    let wanted = usize::try_from(MOST_WORKSPACE_BYTES / row_bytes.max(1)).unwrap_or(usize::MAX);
    let mut part = wanted.min(grids.most_rows()).clamp(1, rows.max(1));
    loop {
        match grids.allocate(row_bytes.saturating_mul(part as u64)) {
            Err(Error::OutOfMemory { .. }) if part > 1 => part = part.div_ceil(2),
            memory => return Ok((memory?, part)),
        }
    }
}
