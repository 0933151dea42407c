//! Products and differences of nodes, by the modulus that is fastest.

use gpuint_catalogue::Op;

use crate::backend::{BackendKind, Operands};
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::kernel::KernelId;
use crate::ops::wrapped::{is_wrapped, wrapped_difference};

/// Computes differences of products of [`times`] and of sums of such products, that are below
/// `2^BITS - 1`.
pub(super) fn difference(a: &DynBatch, b: &DynBatch) -> Result<DynBatch> {
    if is_wrapped(a.device(), a.shape()) { wrapped_difference(a, b) } else { a.wrapping_sub(b) }
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
