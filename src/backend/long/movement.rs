//! Shifts, changes of width, rows by index or by a mask, bitwise functions.
#![allow(unsafe_code)]

use bytemuck::Zeroable;
use gpuint_catalogue::Op;

use crate::backend::launch::{self, RawOperands};
use crate::backend::long::arguments::Moving;
use crate::backend::long::grids::{Grids, kernel, launch as launch_kernel, rows_of_grid, tiles};
use crate::backend::long::reduction;
use crate::error::Result;

/// Queues an operation that moves rows of `limbs` limbs; `None` if the operation is another one.
///
/// # Safety
/// That of [`run`](super::run).
pub(super) unsafe fn queue<G: Grids>(
    grids: &G,
    op: Op,
    limbs: u64,
    operands: &RawOperands,
) -> Option<Result<()>> {
    let [a, b, bits] = operands.ins;
    let params = operands.params;
    let all = Moving {
        ins: [a, b],
        out: operands.outs[0],
        source_limbs: limbs,
        limbs,
        distance: params.distance,
        table: params.table,
        broadcast: params.broadcast_rhs,
        ..Moving::zeroed()
    };
    // The bytes of `by_row` for a row.
    let (name, moving, row_bytes) = match op {
        Op::Shl => ("shifts_left", all, 0),
        Op::Shr => ("shifts_right", all, 0),
        Op::ShlRows => ("shifts_left", Moving { by_row: b, ..all }, 4),
        Op::ShrRows => ("shifts_right", Moving { by_row: b, ..all }, 4),
        Op::Gather => ("gathers", Moving { by_row: b, ..all }, 8),
        Op::Select => ("selects", Moving { by_row: bits, ..all }, 0),
        Op::Bitwise => ("bit_functions", all, 0),
        Op::Resize => {
            // SAFETY: the caller's.
            return Some(unsafe { resize(grids, all, operands) });
        }
        _ => return None,
    };
    // SAFETY: the caller's.
    Some(unsafe { queue_moves(grids, name, moving, row_bytes, operands.rows) })
}

/// Queues changes of width.
///
/// # Safety
/// That of [`run`](super::run).
unsafe fn resize<G: Grids>(grids: &G, all: Moving, operands: &RawOperands) -> Result<()> {
    let target = operands.params.target_bits;
    if operands.status != 0 && u64::from(target) < 32 * all.limbs {
        // SAFETY: the caller's.
        unsafe { reduction::check_lengths(grids, all.limbs, target, operands) }?;
    }
    let moving = Moving { limbs: u64::from(target) / 32, ..all };
    // SAFETY: the caller's.
    unsafe { queue_moves(grids, "resizes", moving, 0, operands.rows) }
}

/// Queues a kernel of `kernels/long/moves.cuh` for `rows` rows, with `row_bytes` bytes of `by_row`
/// for each row.
///
/// # Safety
/// That of [`run`](super::run).
unsafe fn queue_moves<G: Grids>(
    grids: &G,
    name: &str,
    moving: Moving,
    row_bytes: u64,
    rows: u64,
) -> Result<()> {
    let kernel = kernel(name)?;
    let (tile, tiles) = tiles(grids, kernel, moving.limbs)?;
    // Rows of a mask stay in whole words of it.
    let most = (rows_of_grid(tiles) / 32 * 32).max(32);
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    launch::parts(rows, most).try_for_each(|part| {
        let first = part.start as u64;
        let skip = |address: u64, limbs: u64| match address {
            0 => 0,
            _ => address + first * 4 * limbs,
        };
        let is_indexed = name == "gathers";
        let [a, b] = moving.ins;
        let moving = Moving {
            ins: [
                if is_indexed { a } else { skip(a, moving.source_limbs) },
                if moving.broadcast != 0 { b } else { skip(b, moving.limbs) },
            ],
            out: skip(moving.out, moving.limbs),
            by_row: match name {
                "selects" => moving.by_row + first / 8,
                _ if moving.by_row == 0 => 0,
                _ => moving.by_row + first * row_bytes,
            },
            tiles,
            ..moving
        };
        // SAFETY: the caller's.
        unsafe {
            launch_kernel(grids, kernel, &moving, tile * u64::from(tiles) * part.len() as u64)
        }
    })
}
