//! Launches of kernels on the bytes of their operands, for tests that run cases of kernels.

use gpuint_catalogue::{Algorithm, Op, Operand, Shape};

use crate::backend::{Buffer, NO_ROW, Operands};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::kernel::KernelId;

pub use crate::backend::Params;

/// Operands of a launch; empty bytes for absent ones.
#[derive(Debug)]
pub struct Launch<'a> {
    /// Inputs.
    pub ins: [&'a [u8]; 3],
    /// Factors of the products of a sum.
    pub pairs: &'a [[Vec<u8>; 2]],
    /// Initial bytes of the results.
    pub outs: [&'a [u8]; 2],
    /// Number of rows.
    pub rows: usize,
    /// True if the mask is wanted.
    pub has_mask: bool,
    /// True if the lowest failed row is wanted.
    pub has_status: bool,
    /// The parameters.
    pub params: Params,
}

/// Results of a launch.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The results.
    pub outputs: [Vec<u8>; 2],
    /// One bit a row; empty if no mask was wanted.
    pub mask: Vec<u8>,
    /// The lowest failed row; all ones if no row failed.
    pub status: u64,
}

impl Outcome {
    /// Returns the bit of a row; false if no mask was wanted.
    #[must_use]
    pub fn is_marked(&self, row: usize) -> bool {
        self.mask.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1)
    }
}

/// Runs the kernel of an operation by an algorithm on a device, without checks of its results on a
/// verified handle. Prepared operands are those of the library.
///
/// # Errors
/// An absent kernel, operands of other lengths than those of the operation, indexed operands, and
/// the errors of the device.
pub fn launch(
    device: &Device,
    (op, algorithm, shape): (Op, Algorithm, Shape),
    given: &Launch<'_>,
) -> Result<Outcome> {
    let is_indexed = op.signature().inputs.contains(&Some(Operand::Indexed));
    let kernel = KernelId::find(op, algorithm, shape).filter(|_| !is_indexed);
    let kernel = kernel
        .ok_or_else(|| Error::Driver(format!("{op} by {algorithm:?} at {shape} has no launch")))?;
    let memory = device.memory();
    let buffer = |bytes: &[u8]| -> Result<Option<Buffer>> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let mut buffer = memory.alloc(bytes.len() as u64)?;
        memory.upload(&mut buffer, 0, bytes)?;
        Ok(Some(buffer))
    };
    let [a, b, c] = given.ins.map(buffer);
    let ins = [a?, b?, c?];
    let factors = given.pairs.as_flattened().iter().map(|factor| buffer(factor));
    let factors: Vec<_> = factors.collect::<Result<_>>()?;
    let factors: Vec<&Buffer> = factors.iter().flatten().collect();
    let (pairs, _) = factors.as_chunks();
    let [first, second] = given.outs.map(buffer);
    let mut outs = [first?, second?];
    let mask_bytes = if given.has_mask { 4 * given.rows.div_ceil(32) } else { 0 };
    let mut mask = buffer(&vec![0; mask_bytes])?;
    let status_bytes = if given.has_status { NO_ROW.to_le_bytes().to_vec() } else { Vec::new() };
    let mut status = buffer(&status_bytes)?;
    let operands = Operands {
        ins: ins.each_ref().map(Option::as_ref),
        pairs,
        outs: outs.each_mut().map(Option::as_mut),
        rows: given.rows,
        mask: mask.as_mut(),
        status: status.as_mut(),
        params: Params { pairs: pairs.len(), ..given.params },
    };
    if given.rows > 0 {
        device.launch_unharmed(kernel, operands)?;
    }
    let bytes = |buffer: &Option<Buffer>| -> Result<Vec<u8>> {
        let Some(buffer) = buffer else { return Ok(Vec::new()) };
        let mut bytes = vec![0; buffer.bytes() as usize];
        memory.download(buffer, 0, &mut bytes)?;
        Ok(bytes)
    };
    let [first, second] = outs.each_ref().map(bytes);
    let status = bytes(&status)?.first_chunk().map_or(NO_ROW, |bytes| u64::from_le_bytes(*bytes));
    Ok(Outcome { outputs: [first?, second?], mask: bytes(&mask)?, status })
}
