//! Signed integers.

use std::cmp::Ordering;

use gpuint::DynSignedBatch;
use pyo3::prelude::*;

use crate::batch::Batch;
use crate::error::detached;
use crate::mask::Mask;
use crate::methods::methods;

/// Signed integers of one width on a device, one a row.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct SignedBatch(pub(crate) DynSignedBatch);

#[pymethods]
impl SignedBatch {
    /// Makes a batch of magnitudes and a mask of the rows that are negative.
    #[staticmethod]
    fn of_parts(py: Python<'_>, magnitude: &Batch, negative: &Mask) -> PyResult<Self> {
        let (magnitude, negative) = (&magnitude.0, &negative.0);
        detached(py, || DynSignedBatch::from_parts(magnitude.try_clone()?, negative)).map(Self)
    }

    /// Returns the magnitudes.
    fn magnitude(&self, py: Python<'_>) -> PyResult<Batch> {
        detached(py, || self.0.magnitude().try_clone()).map(Batch)
    }

    /// Returns a mask of the rows that are negative.
    fn negative(&self, py: Python<'_>) -> PyResult<Mask> {
        let negative = self.0.negative();
        detached(py, || negative.or(negative)).map(Mask)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[getter]
    fn bits(&self) -> usize {
        self.0.shape().bits
    }
}

type Pair = (DynSignedBatch, DynSignedBatch);
type Masked = (DynSignedBatch, gpuint::Mask);

methods! {
    SignedBatch;

    fn overflowing_add(rhs: &SignedBatch) -> Masked;
    fn overflowing_sub(rhs: &SignedBatch) -> Masked;
    fn overflowing_mul(rhs: &SignedBatch) -> Masked;
    fn widening_mul(rhs: &SignedBatch) -> DynSignedBatch;
    fn neg() -> DynSignedBatch;
    fn div_rem(rhs: &SignedBatch) -> Pair;
    fn div_rem_floor(rhs: &SignedBatch) -> Pair;
    fn div_rem_euclid(rhs: &SignedBatch) -> Pair;
    fn cmp(rhs: &SignedBatch) -> Vec<Ordering>;
    fn eq_mask(rhs: &SignedBatch) -> gpuint::Mask;
    fn lt_mask(rhs: &SignedBatch) -> gpuint::Mask;
}
