//! Launches of kernels of long rows, and the memory that they take.

use std::sync::Arc;

use bytemuck::{Pod, bytes_of};

use crate::backend::launch::{LaunchBounds, MAX_WORKSPACE_BYTES};
use crate::backend::long::arguments::Tables;
use crate::backend::long::plan::Plan;
use crate::backend::once::OnceMap;
use crate::error::{Error, Result};
use crate::kernel::LongKernelId;

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
    fn max_rows(&self) -> usize {
        usize::MAX
    }

    /// Tables of plans on this device.
    fn tables(&self) -> &TableCache<Self::Memory>;

    /// Plan of products of at most `limbs` limbs; `None` if there are too many.
    fn plan(&self, limbs: u64) -> Option<Plan> {
        Plan::of_limbs(limbs)
    }

    /// Launch configuration of a kernel.
    fn launch_bounds(&self, kernel: LongKernelId) -> Result<LaunchBounds>;

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
pub(crate) struct TableCache<M>(pub(super) OnceMap<Plan, Arc<PlanTables<M>>>);

impl<M> Default for TableCache<M> {
    fn default() -> Self {
        Self(OnceMap::default())
    }
}

/// Tables of a plan in memory of the device.
#[derive(Debug)]
pub(super) struct PlanTables<M> {
    pub(super) tables: [Tables; 3],
    pub(super) _memory: M,
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
    let bounds = grids.launch_bounds(kernel)?;
    let blocks = work.div_ceil(u64::from(bounds.rows_per_block.max(1)));
    let blocks = u32::try_from(blocks).ok().filter(|&blocks| blocks <= i32::MAX as u32);
    let blocks = blocks.ok_or_else(|| Error::Driver(format!("a grid for {work} limbs")))?;
    // SAFETY: the caller's.
    unsafe { grids.launch_grid(kernel, bytes_of(arguments), blocks) }
}

/// Returns the part of a block and the parts of a row, of a kernel that processes rows of `limbs`
/// limbs by blocks.
pub(super) fn tiles<G: Grids>(grids: &G, kernel: LongKernelId, limbs: u64) -> Result<(u64, u32)> {
    let tile = u64::from(grids.launch_bounds(kernel)?.rows_per_block.max(1));
    // Below 2^27: rows have at most 2^31 bits.
    Ok((tile, limbs.div_ceil(tile) as u32))
}

/// Most rows of a launch for rows of `tiles` blocks.
pub(super) fn rows_of_grid(tiles: u32) -> usize {
    (i32::MAX as u32 / tiles.max(1)).max(1) as usize
}

/// Returns the kernel with this name.
pub(in crate::backend) fn kernel(name: &str) -> Result<LongKernelId> {
    LongKernelId::find(name).ok_or_else(|| Error::Driver(format!("unknown long kernel \"{name}\"")))
}

/// Allocates the workspace of as many rows as memory allows, at most `rows`; returns it with the
/// number of rows.
pub(super) fn workspace<G: Grids>(
    grids: &G,
    row_bytes: u64,
    rows: usize,
) -> Result<(G::Memory, usize)> {
    let wanted = usize::try_from(MAX_WORKSPACE_BYTES / row_bytes.max(1)).unwrap_or(usize::MAX);
    let mut part = wanted.min(grids.max_rows()).clamp(1, rows.max(1));
    loop {
        match grids.allocate(row_bytes.saturating_mul(part as u64)) {
            Err(Error::OutOfMemory { .. }) if part > 1 => part = part.div_ceil(2),
            memory => return Ok((memory?, part)),
        }
    }
}
