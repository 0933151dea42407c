//! Product trees and Chinese remaindering.

use gpuint::{DynBatch, DynCrt, DynProductTree};
use pyo3::prelude::*;

use crate::batch::Batch;
use crate::error::detached;
use crate::methods::methods;
use crate::number::Number;

/// A product tree over the rows of a batch.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct ProductTree(DynProductTree);

#[pymethods]
impl ProductTree {
    /// Computes the tree.
    #[staticmethod]
    fn of_rows(py: Python<'_>, rows: &Batch) -> PyResult<Self> {
        let rows = &rows.0;
        detached(py, || DynProductTree::new(rows)).map(Self)
    }

    /// Returns the product of all rows.
    fn root(&self) -> Number {
        Number(self.0.root())
    }
}

methods! {
    ProductTree;

    fn remainders(value: Number) -> DynBatch;
    fn cofactors() -> DynBatch;
}

/// Moduli for Chinese remaindering.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct Crt(DynCrt);

#[pymethods]
impl Crt {
    /// Prepares the rows of a batch as moduli.
    #[staticmethod]
    fn of_rows(py: Python<'_>, moduli: &Batch) -> PyResult<Self> {
        let moduli = &moduli.0;
        detached(py, || DynCrt::new(moduli)).map(Self)
    }

    /// Returns the product of the moduli.
    fn product(&self) -> Number {
        Number(self.0.product())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[getter]
    fn bits(&self) -> usize {
        self.0.shape().bits
    }
}

methods! {
    Crt;

    fn residues(numbers: &Batch) -> DynBatch;
    fn combine(residues: &Batch) -> DynBatch;
}
