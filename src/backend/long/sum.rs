//! Sums and differences.
#![allow(unsafe_code)]

use bytemuck::Zeroable;

use crate::backend::launch;
use crate::backend::long::arguments::{Carrying, EDGE_BYTES, Parts};
use crate::backend::long::grids::{Grids, kernel, launch as launch_kernel, workspace};
use crate::error::Result;

/// Sums or differences of rows, modulo 2^(32 `limbs`), and the mask of their carries or borrows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sum {
    pub(super) a: u64,
    pub(super) b: u64,
    pub(super) out: u64,
    /// 0 if it is unwanted.
    pub(super) mask: u64,
    pub(super) limbs: u64,
    pub(super) is_difference: bool,
    /// One row of `b` for all rows.
    pub(super) broadcast: bool,
    /// The carry out of a row enters it at the bottom: sums are modulo 2^(32 `limbs`) - 1.
    pub(super) is_cyclic: bool,
}

impl Sum {
    /// The sums `a + b`.
    pub(super) fn of(a: u64, b: u64, out: u64, limbs: u64) -> Self {
        let (is_difference, broadcast, is_cyclic) = (false, false, false);
        Self { a, b, out, mask: 0, limbs, is_difference, broadcast, is_cyclic }
    }

    /// Queues the sums of `rows` rows.
    ///
    /// # Safety
    /// That of [`run`](super::run).
    pub(super) unsafe fn queue<G: Grids>(&self, grids: &G, rows: usize) -> Result<()> {
        let (sums, carries) = (kernel("sums")?, kernel("carries")?);
        let tile = u64::from(grids.launch_bounds(sums)?.rows_per_block);
        let tiles = self.limbs.div_ceil(tile);
        let (mut memory, most) = workspace(grids, tiles * EDGE_BYTES, rows)?;
        let edges = grids.address(&mut memory)?;
        for part in launch::parts(rows, most) {
            let skip = |address: u64| address + part.start as u64 * 4 * self.limbs;
            let is_difference = u32::from(self.is_difference);
            let carrying = Carrying {
                ins: [skip(self.a), if self.broadcast { self.b } else { skip(self.b) }],
                out: Parts { rows: [skip(self.out), 0], limbs: [self.limbs, 0] },
                edges,
                mask: self.mask,
                limbs: self.limbs,
                first_row: part.start as u64,
                rows: part.len() as u32,
                tiles: tiles as u32,
                is_cyclic: self.is_cyclic.into(),
                carry_in: is_difference,
                complement: is_difference,
                broadcast: self.broadcast.into(),
                ..Carrying::zeroed()
            };
            let work = tiles * tile * part.len() as u64;
            for kernel in [sums, carries] {
                // SAFETY: the workspace has the edges of the part; the operands are the caller's.
                unsafe { launch_kernel(grids, kernel, &carrying, work) }?;
            }
        }
        Ok(())
    }
}
