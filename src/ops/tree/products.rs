//! Products and differences of nodes, by the modulus that is fastest.

use gpuint_catalogue::{Op, Shape};

use crate::backend::{BackendKind, Operands};
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::kernel::KernelId;

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

/// Computes differences of products of [`times`] and of sums of such products, that are below
/// `2^BITS - 1`.
pub(super) fn difference(a: &DynBatch, b: &DynBatch) -> Result<DynBatch> {
    if is_wrapped(a.device(), a.shape()) { wrapped_difference(a, b) } else { a.wrapping_sub(b) }
}

/// Computes sums modulo `2^BITS - 1`. A sum is 0 only where both numbers are 0.
pub(super) fn wrapped_sum(a: &DynBatch, b: &DynBatch) -> Result<DynBatch> {
    let (sum, carry) = a.overflowing_add(b)?;
    sum.wrapping_add_all(1)?.select(&carry, &sum)
}

/// Computes products modulo `2^BITS - 1` or `2^BITS`.
pub(super) fn times(a: &DynBatch, b: &DynBatch) -> Result<DynBatch> {
    if is_wrapped(a.device(), a.shape()) { a.cyclic_mul(b) } else { a.wrapping_mul(b) }
}

/// Computes both halves of products, on the CPU at every width.
pub(super) fn halves(a: &DynBatch, b: &DynBatch) -> Result<(DynBatch, DynBatch)> {
    if a.device().backend() != BackendKind::Cpu {
        return a.mul_lo_hi(b);
    }
    let view = a.view();
    let kernel = KernelId::long(Op::MulWide, a.shape());
    view.produce_two(|low, high| {
        let outs = [Some(low.buffer_mut()), Some(high.buffer_mut())];
        a.device().launch(kernel, Operands { outs, ..view.operands_with(b)? })
    })
}
