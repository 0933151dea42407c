//! Operations on long rows, of more than 2^20 bits, by the kernels of `kernels/long`.
//!
//! The cuda and simt backends share this launcher: a [`Grids`] allocates memory and launches grids.
//! A row belongs to many blocks. An operation allocates its workspace before its first launch, and
//! processes a batch in parts where the workspace of all rows does not fit.

mod arguments;
mod fold;
mod grids;
mod kept;
mod movement;
pub(crate) mod on_cpu;
mod plan;
mod product;
#[cfg(feature = "simt")]
pub mod recorded;
mod reduction;
mod sum;

use gpuint_catalogue::Op;

use crate::backend::launch::RawOperands;
use crate::error::Result;
use crate::kernel::KernelId;
use product::Product;
use sum::Sum;

pub(crate) use grids::{Grids, TableCache};
pub(in crate::backend) use grids::{kernel, launch};
pub(crate) use kept::{KeptProducts, Transforms, missing, multiply, transform, transform_bytes};
pub(crate) use plan::WIDEST_FACTOR;

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

/// Queues an operation on long rows.
///
/// # Errors
/// [`OutOfMemory`](crate::Error::OutOfMemory) before anything is queued, and
/// [`WidthMissing`](crate::Error::WidthMissing) for products that exceed the longest transform, and
/// for an operation without [kernels](has_kernels).
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
        unsafe {
            Product { factors, limbs, parts, is_cyclic: false, kept: None }.queue(grids, op, rows)
        }
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
        .unwrap_or_else(|| Err(kernel.width_missing())),
    }
}
