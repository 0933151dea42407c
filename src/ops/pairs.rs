//! Rows in pairs: products in the narrowest shape, and the two halves of a level of a tree.

use gpuint_catalogue::Shape;

use crate::backend::host::collected;
use crate::dyn_batch::DynBatch;
use crate::error::Result;

/// Computes products that fit in rows of a shape.
pub(super) fn product(a: &DynBatch, b: &DynBatch, shape: Shape) -> Result<DynBatch> {
    if shape == (Shape { bits: 2 * a.shape().bits, ..a.shape() }) {
        return a.widening_mul(b);
    }
    a.resized(shape)?.wrapping_mul(&b.resized(shape)?)
}

/// Returns the even and the odd rows of a level. The last row of an odd level has no partner: it
/// gets the value `missing`.
pub(super) fn halves(level: &DynBatch, missing: u64) -> Result<(DynBatch, DynBatch)> {
    let above = level.len().div_ceil(2);
    let padded = if level.len().is_multiple_of(2) {
        level.try_clone()?
    } else {
        let last = DynBatch::splat(level.device(), level.shape(), missing, 1)?;
        DynBatch::concat(&[level, &last])?
    };
    let side = |side: usize| padded.gather(&collected((0..above).map(|row| 2 * row + side))?);
    Ok((side(0)?, side(1)?))
}
