//! Memory of Python objects without a copy.

use std::borrow::Cow;

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use crate::error::{exception, exception_of, reserved};

/// The elements of an object that exports its memory, such as a numpy array.
pub(crate) struct Elements<T>(PyBuffer<T>);

/// The bytes of `bytes`, a `memoryview` or a numpy array of bytes.
pub(crate) type Bytes = Elements<u8>;

/// The elements of a numpy array of `int64`.
pub(crate) type Integers = Elements<i64>;

impl<'a, 'py, T: Element> FromPyObject<'a, 'py> for Elements<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let buffer = PyBuffer::get(&object)?;
        if buffer.is_c_contiguous() {
            Ok(Self(buffer))
        } else {
            Err(PyBufferError::new_err("the buffer is not contiguous"))
        }
    }
}

impl<T: Element> Elements<T> {
    /// The elements. Python code that writes to them at the same time changes what is read.
    pub(crate) fn as_slice(&self) -> &[T] {
        let elements = self.0.item_count();
        if elements == 0 {
            return &[];
        }
        // SAFETY: the buffer is contiguous and exports this number of elements of `T`, which is
        // checked and aligned, and the exporter neither moves nor frees them before `self` is
        // dropped. As with every reader of Python buffers that releases the lock, another thread
        // must not write meanwhile: the package documents it.
        #[expect(unsafe_code, reason = "the interpreter owns the memory")]
        unsafe {
            std::slice::from_raw_parts(self.0.buf_ptr().cast(), elements)
        }
    }
}

/// Writable bytes of an object that exports its memory: a numpy array of bytes.
pub(crate) struct BytesMut(PyBuffer<u8>);

impl<'a, 'py> FromPyObject<'a, 'py> for BytesMut {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let Elements(buffer) = object.extract::<Bytes>()?;
        if buffer.readonly() {
            return Err(PyBufferError::new_err("the buffer is read-only"));
        }
        Ok(Self(buffer))
    }
}

impl BytesMut {
    /// The bytes. Python code must not use them at the same time.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        let bytes = self.0.len_bytes();
        if bytes == 0 {
            return &mut [];
        }
        // SAFETY: as in `Bytes::as_slice`, and the exporter admits writing. The package gives
        // memory that no other code has yet.
        #[expect(unsafe_code, reason = "the interpreter owns the memory")]
        unsafe {
            std::slice::from_raw_parts_mut(self.0.buf_ptr().cast(), bytes)
        }
    }
}

/// Row numbers, of which negative ones count from the end.
pub(crate) struct RowNumbers(Integers);

impl<'a, 'py> FromPyObject<'a, 'py> for RowNumbers {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        object.extract().map(Self)
    }
}

impl RowNumbers {
    /// Returns the numbers counted from the start: those of the buffer if none counts from the end.
    ///
    /// # Errors
    /// `RowError` with the first number that is not a row of `rows`.
    pub(crate) fn among(&self, py: Python<'_>, rows: usize) -> PyResult<Cow<'_, [usize]>> {
        let numbers = self.0.as_slice();
        let count = i64::try_from(rows).unwrap_or(i64::MAX);
        if numbers.iter().all(|row| (0..count).contains(row)) {
            return Ok(Cow::Borrowed(bytemuck::cast_slice(numbers)));
        }
        let mut found = reserved(numbers.len()).map_err(|error| exception(py, &error))?;
        for &row in numbers {
            let from_start = if row < 0 { row.saturating_add(count) } else { row };
            let number = usize::try_from(from_start).ok().filter(|&number| number < rows);
            found.push(number.ok_or_else(|| {
                let message = format!("row {row} does not exist in an array of {rows} rows");
                exception_of(py, "RowError", &message, Some(row))
            })?);
        }
        Ok(Cow::Owned(found))
    }
}

/// Distances of shifts, one a row, none of them negative.
pub(crate) struct Distances(Integers);

impl<'a, 'py> FromPyObject<'a, 'py> for Distances {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let distances = object.extract::<Integers>()?;
        if let Some(row) = distances.as_slice().iter().position(|&distance| distance < 0) {
            let message = format!("negative shift count in row {row}");
            return Err(exception_of(object.py(), "RangeError", &message, Some(row as i64)));
        }
        Ok(Self(distances))
    }
}

impl Distances {
    /// The distances. One that is negative by a write of another thread is a large distance.
    pub(crate) fn as_slice(&self) -> &[usize] {
        bytemuck::cast_slice(self.0.as_slice())
    }
}
