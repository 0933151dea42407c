//! Factors of many products: their transforms are kept on devices with kernels of long rows.
//!
//! A product of both halves takes 12 passes over the points of a row instead of 16, and a cyclic
//! one 6 instead of 8 (`backend/long/kept.rs`). The transform of a row has six times its memory
//! for products of both halves, and three times for cyclic ones.

use crate::backend::Buffer;
use crate::backend::long::{self, KeptProducts, Transforms};
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};

/// Kept transforms of factors: one for each row of a batch, or one for all rows.
pub(crate) struct Transform {
    transforms: Buffer,
    factors: usize,
    is_cyclic: bool,
}

impl Transform {
    /// Computes transforms for products of both halves, of at most `most` bytes; `None` if the
    /// device keeps none or has no memory for them.
    pub(crate) fn wide(rows: &DynBatch, most: u64) -> Result<Option<Self>> {
        Self::new(rows, false, most)
    }

    /// Computes transforms for cyclic products; otherwise as [`wide`](Self::wide).
    pub(crate) fn cyclic(rows: &DynBatch, most: u64) -> Result<Option<Self>> {
        Self::new(rows, true, most)
    }

    fn new(rows: &DynBatch, is_cyclic: bool, most: u64) -> Result<Option<Self>> {
        let (device, factors) = (rows.device(), rows.len());
        if !rows.shape().is_long() || !device.has_transforms() || factors == 0 {
            return Ok(None);
        }
        let limbs = limbs(rows);
        let bytes = long::transform_bytes(limbs, is_cyclic, factors);
        let Some(bytes) = bytes.filter(|&bytes| bytes <= most) else { return Ok(None) };
        let mut transforms = match device.memory().alloc(bytes) {
            Err(Error::OutOfMemory { .. }) => return Ok(None),
            transforms => transforms?,
        };
        let (rows, out) = (rows.buffer(), &mut transforms);
        let work = Transforms { rows, count: factors, limbs, is_cyclic, out };
        device.memory().transform(work)?;
        Ok(Some(Self { transforms, factors, is_cyclic }))
    }

    /// Computes both halves of products of rows and the factors.
    pub(crate) fn mul_lo_hi(&self, rows: &DynBatch) -> Result<(DynBatch, DynBatch)> {
        rows.view().produce_two(|low, high| self.mul_lo_hi_into(rows, low, high))
    }

    /// Computes [`mul_lo_hi`](Self::mul_lo_hi) into batches like the rows.
    pub(crate) fn mul_lo_hi_into(
        &self,
        rows: &DynBatch,
        low: &mut DynBatch,
        high: &mut DynBatch,
    ) -> Result<()> {
        self.multiply(rows, [Some(low.buffer_mut()), Some(high.buffer_mut())])
    }

    /// Computes the low halves of products of rows and the factors into a batch like the rows.
    pub(crate) fn wrapping_mul_into(&self, rows: &DynBatch, out: &mut DynBatch) -> Result<()> {
        self.multiply(rows, [Some(out.buffer_mut()), None])
    }

    /// Computes products of rows and the factors modulo `2^BITS - 1`.
    pub(crate) fn cyclic_mul(&self, rows: &DynBatch) -> Result<DynBatch> {
        rows.view().produce(|out| self.cyclic_mul_into(rows, out))
    }

    /// Computes [`cyclic_mul`](Self::cyclic_mul) into a batch like the rows.
    pub(crate) fn cyclic_mul_into(&self, rows: &DynBatch, out: &mut DynBatch) -> Result<()> {
        self.multiply(rows, [Some(out.buffer_mut()), None])
    }

    fn multiply(&self, rows: &DynBatch, outs: [Option<&mut Buffer>; 2]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let Self { ref transforms, factors, is_cyclic } = *self;
        let (limbs, count) = (limbs(rows), rows.len());
        let rows_of = rows.buffer();
        let products =
            KeptProducts { rows: rows_of, count, limbs, is_cyclic, transforms, factors, outs };
        rows.device().memory().multiply(products)
    }
}

fn limbs(rows: &DynBatch) -> u64 {
    rows.shape().bits as u64 / 32
}

#[cfg(all(test, feature = "simt"))]
mod tests {
    use num_bigint::BigUint;
    use num_traits::One;

    use super::*;
    use crate::device::Device;

    /// One factor of all rows and one for each row, of ones and of sparse rows.
    #[test]
    fn products_by_kept_transforms_are_those_of_rows() {
        let device = Device::simt();
        let shape = device.shape_for(1 << 21).unwrap();
        let ones = (BigUint::one() << shape.bits) - 1u32;
        let sparse = (BigUint::one() << (shape.bits - 1)) + 5u32;
        let batch = |values: &[&BigUint]| {
            DynBatch::from_biguints(&device, shape, values.iter().copied()).unwrap()
        };
        let rows = batch(&[&ones, &sparse]);
        for factors in [batch(&[&sparse, &ones]), batch(&[&ones])] {
            let all = match factors.len() {
                1 => batch(&[&ones, &ones]),
                _ => factors.try_clone().unwrap(),
            };
            let wide = Transform::wide(&factors, u64::MAX).unwrap().unwrap();
            let (low, high) = wide.mul_lo_hi(&rows).unwrap();
            let expected = rows.mul_lo_hi(&all).unwrap();
            assert_eq!(low.to_biguints().unwrap(), expected.0.to_biguints().unwrap());
            assert_eq!(high.to_biguints().unwrap(), expected.1.to_biguints().unwrap());
            let mut only_low = DynBatch::splat(&device, shape, 5, rows.len()).unwrap();
            wide.wrapping_mul_into(&rows, &mut only_low).unwrap();
            assert!(only_low.is_equal(&low).unwrap());
            let cyclic = Transform::cyclic(&factors, u64::MAX).unwrap().unwrap();
            let products = cyclic.cyclic_mul(&rows).unwrap();
            let expected = rows.cyclic_mul(&all).unwrap();
            assert_eq!(products.to_biguints().unwrap(), expected.to_biguints().unwrap());
        }
        assert!(Transform::wide(&rows, 1).unwrap().is_none());
        assert!(Transform::cyclic(&batch(&[]), u64::MAX).unwrap().is_none());
    }
}
