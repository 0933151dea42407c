//! Launch arguments: Rust mirrors of the structs in `kernels/core/abi.cuh`.

use std::ops::Range;

use crate::backend::{Buffer, Operands, Params, Strides};
use crate::error::Result;

#[cfg(not(all(target_endian = "little", target_pointer_width = "64")))]
compile_error!("gpuint needs a little-endian 64-bit host: its memory is shared with the GPU's");

/// The parameters of a call, the same for all rows: `Params` of `kernels/core/abi.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct RawParams {
    pub(crate) digit: u64,
    pub(crate) distance: u32,
    pub(crate) exponent: u32,
    pub(crate) joined: u32,
    pub(crate) broadcast_divisor: u32,
    pub(crate) broadcast_exponent: u32,
    pub(crate) broadcast_rhs: u32,
    pub(crate) table: u32,
    pub(crate) target_bits: u32,
    pub(crate) bases: u32,
    pub(crate) pairs: u32,
    pub(crate) source_bits: u32,
    pub(crate) part_bits: u32,
    pub(crate) equation: u32,
    pub(crate) exponent_bits: u32,
}

impl From<Params> for RawParams {
    fn from(params: Params) -> Self {
        let Params {
            digit,
            distance,
            exponent,
            joined,
            broadcast_divisor,
            broadcast_exponent,
            broadcast_rhs,
            table,
            target_bits,
            bases,
            pairs,
            source_bits,
            part_bits,
            equation,
            exponent_bits,
        } = params;
        Self {
            digit,
            distance,
            exponent,
            joined: joined.into(),
            broadcast_divisor: broadcast_divisor.into(),
            broadcast_exponent: broadcast_exponent.into(),
            broadcast_rhs: broadcast_rhs.into(),
            table,
            target_bits,
            // Callers bound both.
            bases: bases as u32,
            pairs: pairs as u32,
            source_bits,
            part_bits,
            equation: equation as u32,
            exponent_bits,
        }
    }
}

impl Params {
    /// The bytes of the parameters as kernels read them.
    #[must_use]
    pub fn to_bytes(self) -> [u8; size_of::<RawParams>()] {
        bytemuck::cast(RawParams::from(self))
    }
}

/// The one argument of every kernel, by value. Addresses are 0 where an operand is unused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct RawOperands {
    pub(crate) ins: [u64; 3],
    pub(crate) outs: [u64; 2],
    pub(crate) rows: u64,
    pub(crate) mask: u64,
    pub(crate) status: u64,
    pub(crate) params: RawParams,
    /// Written where the kernel is launched, like the rest: the sizes are known there.
    pub(crate) scratch: u64,
    pub(crate) workspace: u64,
    pub(crate) counters: u64,
    /// Index of the phase that is launched.
    pub(crate) phase: u64,
    /// Index of the step, in phases that are repeated.
    pub(crate) step: u64,
}

impl RawOperands {
    /// The operands with each buffer replaced by its address. The addresses of the factors of pairs
    /// stand in memory of the device, which the backend makes.
    pub(crate) fn new<'a>(
        operands: Operands<'a>,
        address: impl Fn(&'a Buffer) -> Result<u64>,
        address_mut: impl Fn(&'a mut Buffer) -> Result<u64>,
    ) -> Result<Self> {
        let reading = |buffer: Option<&'a Buffer>| buffer.map_or(Ok(0), &address);
        let writing = |buffer: Option<&'a mut Buffer>| buffer.map_or(Ok(0), &address_mut);
        let Operands { ins, pairs: _, outs: [c, d], rows, mask, status, params } = operands;
        Ok(Self {
            ins: [reading(ins[0])?, reading(ins[1])?, reading(ins[2])?],
            outs: [writing(c)?, writing(d)?],
            rows: rows as u64,
            mask: writing(mask)?,
            status: writing(status)?,
            params: params.into(),
            scratch: 0,
            workspace: 0,
            counters: 0,
            phase: 0,
            step: 0,
        })
    }

    /// Operands of a part of the rows, which are `strides` apart.
    pub(crate) fn part(&self, strides: Strides, rows: Range<usize>) -> Self {
        let mut part = *self;
        let first = rows.start as u64;
        for (address, stride) in part.ins.iter_mut().zip(strides.ins) {
            *address += first * stride as u64;
        }
        for (address, stride) in part.outs.iter_mut().zip(strides.outs) {
            // An unwanted result stays null.
            if *address != 0 {
                *address += first * stride as u64;
            }
        }
        part.rows = rows.len() as u64;
        part
    }
}

/// Cuts `rows` rows into parts of at most `most` rows; there is one part at least.
pub(crate) fn parts(rows: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let most = most.max(1);
    (0..rows.max(1)).step_by(most).map(move |first| first..rows.min(first.saturating_add(most)))
}

/// Bytes of the counters of a kernel with several phases, zeroed before the first one.
pub(crate) const COUNTERS_BYTES: u64 = 256;

/// Most bytes of a workspace, unless the rows that a GPU runs at a time need more. A batch that
/// needs more is processed in parts. Powers at 32768 bits take 520 KB a row, and are faster with
/// more rows at a time.
pub(crate) const MAX_WORKSPACE_BYTES: u64 = 3 << 30;

/// Launch configuration of a phase of a kernel; each kernel carries its own, one for each phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct LaunchBounds {
    /// Threads per block.
    pub(crate) threads: u32,
    /// Dynamic shared memory per block.
    pub(crate) shared_bytes: u32,
    /// Rows that a block, or a cluster of blocks, works on at a time.
    pub(crate) rows_per_block: u32,
    /// Memory of the device that a block needs besides its operands, for each base of a product of
    /// powers.
    pub(crate) scratch_bytes: u32,
    /// 1: faster where each block strides over many rows; 0: no difference.
    pub(crate) persistent: u32,
    /// Blocks of a cluster; 1: blocks work alone.
    pub(crate) cluster: u32,
    /// Bytes of the workspace for each row, the same in all phases.
    pub(crate) row_bytes: u32,
    /// 1: the phase is one of a step, 0: it is launched once.
    pub(crate) repeated: u32,
}

impl LaunchBounds {
    /// Blocks for a number of rows: kernels stride over their rows, so any number of whole clusters
    /// is right.
    pub(crate) fn grid(&self, rows: usize, max_grid: u32) -> u32 {
        let cluster = self.cluster.max(1);
        let clusters = (rows as u64).div_ceil(u64::from(self.rows_per_block.max(1)));
        let most = (max_grid / cluster).max(1);
        u32::try_from(clusters).unwrap_or(u32::MAX).clamp(1, most).saturating_mul(cluster)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_rows_once() {
        let ends = |rows, most| -> Vec<_> {
            parts(rows, most).map(|part| (part.start, part.end)).collect()
        };
        assert_eq!(ends(10, 4), [(0, 4), (4, 8), (8, 10)]);
        assert_eq!(ends(8, 4), [(0, 4), (4, 8)]);
        assert_eq!(ends(3, usize::MAX), [(0, 3)]);
        assert_eq!(ends(2, 0), [(0, 1), (1, 2)]);
    }

    #[test]
    fn operands_of_part_begin_at_its_rows() {
        let mut all: RawOperands = bytemuck::Zeroable::zeroed();
        (all.ins, all.outs, all.rows) = ([1000, 2000, 3000], [4000, 0], 20);
        let part = all.part(Strides { ins: [16, 0, 48], outs: [16, 16] }, 5..12);
        assert_eq!((part.ins, part.outs), ([1080, 2000, 3240], [4080, 0]));
        assert_eq!(part.rows, 7);
    }
}
