//! Reductions of products modulo special moduli.
#![allow(unsafe_code)]

use bytemuck::Zeroable;

use crate::backend::launch::{self, RawOperands};
use crate::backend::long::arguments::{Carrying, EDGE_BYTES, Folding, Parts};
use crate::backend::long::grids::{Grids, kernel, launch as launch_kernel, workspace};
use crate::error::Result;

/// Limbs above a row that have the sign.
const SIGN_LIMBS: u64 = 2;

/// Bytes of a special modulus.
const MODULUS_BYTES: u64 = 16;

/// Queues the folds of rows of `limbs` limbs.
///
/// # Safety
/// That of [`run`](super::run).
pub(super) unsafe fn queue<G: Grids>(grids: &G, limbs: u64, operands: &RawOperands) -> Result<()> {
    let (folds, carries) = (kernel("folds")?, kernel("carries")?);
    let tile = u64::from(grids.launch_bounds(folds)?.rows_per_block);
    let tiles = (limbs + SIGN_LIMBS).div_ceil(tile);
    let rows = usize::try_from(operands.rows).unwrap_or(usize::MAX);
    let row_bytes = tiles * EDGE_BYTES + 4 * SIGN_LIMBS;
    let (mut memory, most) = workspace(grids, row_bytes, rows)?;
    let edges = grids.address(&mut memory)?;
    let signs = edges + tiles * EDGE_BYTES * most as u64;
    let [products, exponents, moduli] = operands.ins;
    for part in launch::parts(rows, most) {
        let first = part.start as u64;
        let broadcast = operands.params.broadcast_divisor;
        let carrying = Carrying {
            ins: [products + first * 8 * limbs, 0],
            out: Parts {
                rows: [operands.outs[0] + first * 4 * limbs, signs],
                limbs: [limbs, SIGN_LIMBS],
            },
            edges,
            limbs: limbs + SIGN_LIMBS,
            rows: part.len() as u32,
            tiles: tiles as u32,
            broadcast,
            ..Carrying::zeroed()
        };
        let work = tiles * tile * part.len() as u64;
        for again in [0, 1] {
            let folding = Folding {
                carrying,
                moduli: if broadcast == 0 { moduli + first * MODULUS_BYTES } else { moduli },
                exponents: exponents + first * 4 * limbs,
                digit: operands.params.digit as u32,
                distance: operands.params.distance,
                again,
                padding: 0,
            };
            // SAFETY: the workspace has the edges and signs of the part; the operands are the
            // caller's.
            unsafe { launch_kernel(grids, folds, &folding, work) }?;
            // SAFETY: as above.
            unsafe { launch_kernel(grids, carries, &carrying, work) }?;
        }
    }
    Ok(())
}
