//! Operations with one number or one bit for each row: comparisons and bit counts.
#![allow(unsafe_code)]

use bytemuck::Zeroable;
use gpuint_catalogue::Op;

use crate::backend::launch::RawOperands;
use crate::backend::long::arguments::Reducing;
use crate::backend::long::grids::{Grids, kernel, launch as launch_kernel, rows_of_grid, tiles};
use crate::error::{Error, Result};

/// Queues an operation with one result for each row of `limbs` limbs; `None` if the operation is
/// another one.
///
/// # Safety
/// That of [`run`](super::run).
pub(super) unsafe fn queue<G: Grids>(
    grids: &G,
    op: Op,
    limbs: u64,
    operands: &RawOperands,
) -> Option<Result<()>> {
    let (reduction, result) = match op {
        Op::Cmp => ("differences", "order_of_row"),
        Op::EqMask => ("differences", "no_word"),
        Op::LtMask => ("differences", "is_less"),
        Op::IsZeroMask => ("lengths", "no_word"),
        Op::BitLengths => ("lengths", "word_of_row"),
        Op::CountOnes => ("ones", "word_of_row"),
        Op::TrailingZeros => ("bits_from_lowest", "zeros_below"),
        Op::BitMask => ("", "bit_of_row"),
        _ => return None,
    };
    let [a, b, _] = operands.ins;
    let reducing = Reducing {
        ins: [a, b],
        out: operands.outs[0],
        mask: operands.mask,
        limbs,
        broadcast: operands.params.broadcast_rhs,
        distance: operands.params.distance,
        ..Reducing::zeroed()
    };
    // SAFETY: the caller's.
    Some(unsafe { queue_kernels(grids, [reduction, result], reducing, operands.rows) })
}

/// Fails the rows of `limbs` limbs that have more than `most` bits.
///
/// # Safety
/// That of [`run`](super::run).
pub(super) unsafe fn check_lengths<G: Grids>(
    grids: &G,
    limbs: u64,
    most: u32,
    operands: &RawOperands,
) -> Result<()> {
    let reducing = Reducing {
        ins: [operands.ins[0], 0],
        status: operands.status,
        limbs,
        distance: most,
        ..Reducing::zeroed()
    };
    // SAFETY: the caller's.
    unsafe { queue_kernels(grids, ["lengths", "too_long"], reducing, operands.rows) }
}

/// Queues two kernels of `kernels/long/reductions.cuh`: a reduction, none if its name is empty, and
/// the results.
///
/// # Safety
/// That of [`run`](super::run).
unsafe fn queue_kernels<G: Grids>(
    grids: &G,
    [reduction, result]: [&str; 2],
    reducing: Reducing,
    rows: u64,
) -> Result<()> {
    let count = u32::try_from(rows).ok();
    let out_of_memory = Error::OutOfMemory { bytes: rows.saturating_mul(4 * reducing.limbs) };
    let mut words = grids.allocate(rows.saturating_mul(4))?;
    grids.clear(&mut words)?;
    let reducing = Reducing {
        words: grids.address(&mut words)?,
        // 2^32 long rows have 512 TiB.
        rows: count.ok_or(out_of_memory)?,
        ..reducing
    };
    if !reduction.is_empty() {
        let kernel = kernel(reduction)?;
        let (tile, tiles) = tiles(grids, kernel, reducing.limbs)?;
        let most = rows_of_grid(tiles) as u64;
        for first in (0..rows).step_by(most as usize) {
            let rows = most.min(rows - first);
            let skip = |address: u64| address + first * 4 * reducing.limbs;
            let [a, b] = reducing.ins;
            let part = Reducing {
                ins: [skip(a), if reducing.broadcast != 0 { b } else { skip(b) }],
                words: reducing.words + 4 * first,
                rows: rows as u32,
                tiles,
                ..reducing
            };
            // SAFETY: there is a word for each row; the operands are the caller's.
            unsafe { launch_kernel(grids, kernel, &part, tile * u64::from(tiles) * rows) }?;
        }
    }
    // SAFETY: as above.
    unsafe { launch_kernel(grids, kernel(result)?, &reducing, rows) }
}
