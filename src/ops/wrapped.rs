//! Sums and differences modulo `2^BITS - 1`, of parts of products that wrap (`cyclic.rs`).

use gpuint_catalogue::Shape;

use crate::backend::BackendKind;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::Result;

/// Returns true if products modulo `2^BITS - 1` are faster than those modulo `2^BITS`.
pub(super) fn is_wrapped(device: &Device, shape: Shape) -> bool {
    shape.is_long() || device.backend() == BackendKind::Cpu
}

/// Computes differences modulo `2^BITS - 1`.
pub(super) fn wrapped_difference(a: &DynBatch, b: &DynBatch) -> Result<DynBatch> {
    let (difference, borrow) = a.overflowing_sub(b)?;
    // 2^BITS is 1 more than the modulus.
    difference.wrapping_sub_all(1)?.select(&borrow, &difference)
}

/// Computes sums modulo `2^BITS - 1`. A sum is 0 only where both numbers are 0.
pub(super) fn wrapped_sum(a: &DynBatch, b: &DynBatch) -> Result<DynBatch> {
    let (sum, carry) = a.overflowing_add(b)?;
    sum.wrapping_add_all(1)?.select(&carry, &sum)
}
