//! Products of rows and factors whose transforms are kept.
//!
//! A product of two rows reads or writes the points of a row 16 times: 4 times in the passes before
//! the last one for each factor, 3 times in the last one, 4 times back, and once for its carries. A
//! factor with a kept transform leaves 12, and a square 11.
#![allow(unsafe_code)]

use gpuint_catalogue::Op;

use crate::backend::Buffer;
use crate::backend::long::grids::Grids;
use crate::backend::long::product::{Kept, Product, kept_bytes, queue_transforms};
use crate::error::{Error, Result};

/// Transforms of rows, which products take in the place of their second factors.
#[derive(Debug)]
pub(crate) struct Transforms<'a> {
    pub(crate) rows: &'a Buffer,
    /// Number of rows, below 2^32.
    pub(crate) count: usize,
    /// Limbs of a row.
    pub(crate) limbs: u64,
    /// For products modulo 2^(32 `limbs`) - 1; for both halves otherwise.
    pub(crate) is_cyclic: bool,
    pub(crate) out: &'a mut Buffer,
}

/// Products of rows and factors with [transforms](Transforms).
#[derive(Debug)]
pub(crate) struct KeptProducts<'a> {
    pub(crate) rows: &'a Buffer,
    pub(crate) count: usize,
    pub(crate) limbs: u64,
    pub(crate) is_cyclic: bool,
    pub(crate) transforms: &'a Buffer,
    /// Number of factors: one for each row, or one for all.
    pub(crate) factors: usize,
    /// Low and high halves, or the low half or the cyclic product and nothing.
    pub(crate) outs: [Option<&'a mut Buffer>; 2],
}

/// Returns the bytes of the transforms of `count` rows of `limbs` limbs; `None` if products of the
/// kind have no transforms of their own.
pub(crate) fn transform_bytes(limbs: u64, is_cyclic: bool, count: usize) -> Option<u64> {
    kept_bytes(limbs, is_cyclic)?.checked_mul(count as u64)
}

/// Returns true if a buffer holds rows.
fn holds(buffer: &Buffer, limbs: u64, count: usize) -> bool {
    (4 * limbs).checked_mul(count as u64).is_some_and(|bytes| bytes <= buffer.bytes())
}

impl Transforms<'_> {
    /// Returns true if the buffers have the lengths that the kernels rely on.
    fn is_whole(&self) -> bool {
        let bytes = transform_bytes(self.limbs, self.is_cyclic, self.count);
        u32::try_from(self.count).is_ok()
            && holds(self.rows, self.limbs, self.count)
            && bytes.is_some_and(|bytes| bytes <= self.out.bytes())
    }
}

impl KeptProducts<'_> {
    /// Returns true if the buffers have the lengths that the kernels rely on.
    fn is_whole(&self) -> bool {
        let bytes = transform_bytes(self.limbs, self.is_cyclic, self.factors);
        let mut outs = self.outs.iter().flatten();
        u32::try_from(self.factors).is_ok()
            && (self.factors == 1 || self.factors == self.count)
            && !(self.is_cyclic && self.outs[1].is_some())
            && holds(self.rows, self.limbs, self.count)
            && outs.all(|out| holds(out, self.limbs, self.count))
            && bytes.is_some_and(|bytes| bytes <= self.transforms.bytes())
    }
}

/// Queues transforms; `addresses` are those of the rows and of the result.
///
/// # Safety
/// The addresses are those of the buffers of `transforms`, for work that is queued next.
pub(crate) unsafe fn transform<G: Grids>(
    grids: &G,
    transforms: &Transforms<'_>,
    [rows, out]: [u64; 2],
) -> Result<()> {
    let Transforms { count, limbs, is_cyclic, .. } = *transforms;
    let points = if is_cyclic { limbs } else { 2 * limbs };
    let plan = grids.plan(points).filter(|_| transforms.is_whole()).ok_or_else(operands_differ)?;
    // SAFETY: `is_whole` checked the lengths; the addresses are the caller's.
    unsafe { queue_transforms(grids, &plan, rows, limbs, out, count as u32) }
}

/// Queues products; `addresses` are those of the rows, of the transforms and of both results, 0 for
/// an absent one.
///
/// # Errors
/// [`OutOfMemory`](Error::OutOfMemory) before anything is queued.
///
/// # Safety
/// The addresses are those of the buffers of `products`, for work that is queued next.
pub(crate) unsafe fn multiply<G: Grids>(
    grids: &G,
    products: &KeptProducts<'_>,
    [rows, transforms, low, high]: [u64; 4],
) -> Result<()> {
    if !products.is_whole() {
        return Err(operands_differ());
    }
    let KeptProducts { count, limbs, is_cyclic, factors, .. } = *products;
    let kept = Some(Kept { address: transforms, rows: factors as u64 });
    let parts = [(low, limbs), (high, limbs)];
    let op = if is_cyclic { Op::MulCyclic } else { Op::MulWide };
    let product = Product { factors: [rows, 0], limbs, parts, is_cyclic, kept };
    // SAFETY: `is_whole` checked the lengths; the addresses are the caller's.
    unsafe { product.queue(grids, op, count) }
}

pub(crate) fn missing() -> Error {
    Error::Driver("the device keeps no transforms".to_owned())
}

fn operands_differ() -> Error {
    Error::Driver("the operands of a product do not fit each other".to_owned())
}
