//! Operations without kernels of long rows: the CPU computes them on copies of the rows.

use gpuint_catalogue::Op;

use super::has_kernels;
use crate::backend::cpu::Cpu;
use crate::backend::{Backend, BackendKind, Buffer, Call, Operands, host};
use crate::error::Result;

/// Returns true if a device runs a call by [`run`].
pub(crate) fn is_for_cpu(device: &dyn Backend, call: &Call<'_>) -> bool {
    let (op, shape) = (call.kernel.op(), call.kernel.shape());
    let has_no_kernel = match shape.is_long() {
        true => !has_kernels(op, shape.bits),
        false => call.kernel.is_long() && is_above_kernels(op),
    };
    device.kind() != BackendKind::Cpu && has_no_kernel
}

/// Returns true for an operation that the CPU computes where rows exceed its widest kernel, short
/// of long rows, too.
pub(crate) const fn is_above_kernels(op: Op) -> bool {
    matches!(op, Op::Jacobi | Op::Rational)
}

/// Runs a call on the CPU: waits for the operands, and writes the results back.
///
/// # Errors
/// [`OutOfMemory`](crate::Error::OutOfMemory) of the host, before anything is computed.
pub(crate) fn run(device: &dyn Backend, mut call: Call<'_>) -> Result<()> {
    let copy = |buffer: &Buffer| -> Result<Buffer> {
        let mut copy = Cpu.alloc(buffer.bytes())?;
        device.download(buffer, 0, host::bytes_mut(&mut copy)?)?;
        Ok(copy)
    };
    let Operands { ins, pairs, outs, rows, mask, status, params } = call.operands.reborrow();
    let mut copied_ins = [const { None }; 3];
    for (copied, input) in copied_ins.iter_mut().zip(ins) {
        *copied = input.map(copy).transpose()?;
    }
    let factors = pairs.iter().map(|[a, b]| Ok([copy(a)?, copy(b)?]));
    let factors = factors.collect::<Result<Vec<[Buffer; 2]>>>()?;
    let factors: Vec<_> = factors.iter().map(<[Buffer; 2]>::each_ref).collect();
    // Results may keep the contents of some rows.
    let [out, second] = outs;
    let mut results = [out, second, mask, status];
    let mut copies = [const { None }; 4];
    for (copied, result) in copies.iter_mut().zip(&results) {
        *copied = result.as_deref().map(copy).transpose()?;
    }
    let [out, second, mask, status] = copies.each_mut().map(Option::as_mut);
    let operands = Operands {
        ins: copied_ins.each_ref().map(Option::as_ref),
        pairs: &factors,
        outs: [out, second],
        rows,
        mask,
        status,
        params,
    };
    Cpu.launch(Call { kernel: call.kernel, operands })?;
    for (result, copied) in results.iter_mut().zip(&copies) {
        if let (Some(result), Some(copied)) = (result, copied) {
            device.upload(result, 0, host::bytes(copied)?)?;
        }
    }
    Ok(())
}
