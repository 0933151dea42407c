//! Small prime factors of numbers, and numbers without small factors.

use gpuint::num_bigint::BigUint;
use gpuint::sieve::{self, Constellation, Exponents, Progression};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use crate::buffer::Elements;
use crate::device::Device;
use crate::error::detached;
use crate::mask::Mask;
use crate::methods::bytes_of;
use crate::number::{Number, Numbers, Signed};

/// A number of the package's class `Family` for each index.
#[derive(FromPyObject)]
pub(crate) enum Family {
    /// k, base, first exponent and c.
    Powers(u64, u64, u64, Signed),
    /// First number and step.
    Terms(Signed, Signed),
}

impl From<Family> for sieve::Family {
    fn from(family: Family) -> Self {
        match family {
            Family::Powers(k, base, first, c) => Self::powers(k, base, first, c.0),
            Family::Terms(first, step) => Self::terms(first.0, step.0),
        }
    }
}

/// The number a of a progression.
#[derive(FromPyObject)]
pub(crate) enum Factor {
    /// Base and exponent.
    Power(u64, u64),
    Number(Number),
}

/// Returns the smallest factors of k a + c for each k of `terms`.
#[pyfunction]
pub(crate) fn progression_factors<'py>(
    py: Python<'py>,
    a: Factor,
    c: Signed,
    terms: Elements<u64>,
    limit: u64,
) -> PyResult<Bound<'py, PyByteArray>> {
    let numbers = match a {
        Factor::Power(base, exponent) => Progression::of_power(base, exponent, c.0),
        Factor::Number(a) => Progression::new(a.0, c.0),
    };
    words(py, || numbers.smallest_factors(terms.as_slice(), limit))
}

/// Returns the smallest factors of k b^n + c for each n of `exponents`.
#[pyfunction]
pub(crate) fn power_factors<'py>(
    py: Python<'py>,
    k: u64,
    base: u64,
    c: Signed,
    exponents: Elements<u64>,
    limit: u64,
) -> PyResult<Bound<'py, PyByteArray>> {
    let numbers = Exponents::new(k, base, c.0);
    words(py, || numbers.smallest_factors(exponents.as_slice(), limit))
}

/// Returns the primes of a range.
#[pyfunction]
pub(crate) fn primes(py: Python<'_>, start: u64, stop: u64) -> PyResult<Bound<'_, PyByteArray>> {
    words(py, || Ok(sieve::primes(start..stop).collect()))
}

/// Returns the smallest factors of numbers.
#[pyfunction]
pub(crate) fn smallest_factors<'py>(
    py: Python<'py>,
    numbers: Numbers,
    limit: u32,
) -> PyResult<Bound<'py, PyByteArray>> {
    let numbers: Vec<BigUint> = numbers.0;
    words(py, || sieve::smallest_factors(&numbers, limit))
}

/// Returns a mask of the indices at which no number of any family has a small factor.
#[pyfunction]
pub(crate) fn survivors(
    py: Python<'_>,
    device: &Device,
    families: Vec<Family>,
    len: usize,
    limit: u64,
) -> PyResult<Mask> {
    let device = &device.device;
    let constellation = Constellation::new(families.into_iter().map(Into::into));
    detached(py, || constellation.survivors(device, len, limit)).map(Mask)
}

/// Returns words of 64 bits.
fn words<'py>(
    py: Python<'py>,
    find: impl FnOnce() -> gpuint::Result<Vec<u64>> + Send,
) -> PyResult<Bound<'py, PyByteArray>> {
    let words = detached(py, find)?;
    bytes_of(py, &words, u64::to_ne_bytes)
}
