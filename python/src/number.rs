//! Python integers.

use gpuint::num_bigint::{BigInt, BigUint};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyInt};

/// An integer that is not negative.
pub(crate) struct Number(pub(crate) BigUint);

impl<'a, 'py> FromPyObject<'a, 'py> for Number {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let integer = object.cast::<PyInt>()?;
        let bits: usize = integer.call_method0(intern!(py, "bit_length"))?.extract()?;
        let bytes = integer
            .call_method1(intern!(py, "to_bytes"), (bits.div_ceil(8), intern!(py, "little")))?;
        Ok(Self(BigUint::from_bytes_le(bytes.cast::<PyBytes>()?.as_bytes())))
    }
}

/// Integers that are not negative.
pub(crate) struct Numbers(pub(crate) Vec<BigUint>);

impl<'a, 'py> FromPyObject<'a, 'py> for Numbers {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let numbers: Vec<Number> = object.extract()?;
        Ok(Self(numbers.into_iter().map(|Number(number)| number).collect()))
    }
}

/// An integer of either sign.
pub(crate) struct Signed(pub(crate) BigInt);

impl<'a, 'py> FromPyObject<'a, 'py> for Signed {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let integer = object.cast::<PyInt>()?;
        let bits: usize = integer.call_method0(intern!(py, "bit_length"))?.extract()?;
        let signed = [(intern!(py, "signed"), true)].into_py_dict(py)?;
        // A bit more, for the sign.
        let arguments = (bits / 8 + 1, intern!(py, "little"));
        let bytes = integer.call_method(intern!(py, "to_bytes"), arguments, Some(&signed))?;
        Ok(Self(BigInt::from_signed_bytes_le(bytes.cast::<PyBytes>()?.as_bytes())))
    }
}

impl<'py> IntoPyObject<'py> for Signed {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let signed = [(intern!(py, "signed"), true)].into_py_dict(py)?;
        let arguments = (PyBytes::new(py, &self.0.to_signed_bytes_le()), intern!(py, "little"));
        py.get_type::<PyInt>().call_method(intern!(py, "from_bytes"), arguments, Some(&signed))
    }
}

impl<'py> IntoPyObject<'py> for Number {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let bytes = PyBytes::new(py, &self.0.to_bytes_le());
        py.get_type::<PyInt>()
            .call_method1(intern!(py, "from_bytes"), (bytes, intern!(py, "little")))
    }
}
