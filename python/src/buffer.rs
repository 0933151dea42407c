//! Bytes of Python objects without a copy.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

/// The bytes of an object that exports its memory: `bytes`, `memoryview`, a numpy array of bytes.
pub(crate) struct Bytes(PyBuffer<u8>);

impl<'a, 'py> FromPyObject<'a, 'py> for Bytes {
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

impl Bytes {
    /// The bytes. Python code that writes to them at the same time changes what is read.
    pub(crate) fn as_slice(&self) -> &[u8] {
        let bytes = self.0.len_bytes();
        if bytes == 0 {
            return &[];
        }
        // SAFETY: the buffer is contiguous and exports `bytes` bytes, and the exporter neither
        // moves nor frees them before `self` is dropped. As with every reader of Python buffers
        // that releases the lock, another thread must not write meanwhile: the package documents
        // it.
        #[expect(unsafe_code, reason = "the interpreter owns the memory")]
        unsafe {
            std::slice::from_raw_parts(self.0.buf_ptr().cast(), bytes)
        }
    }
}

/// Writable bytes of an object that exports its memory: a numpy array of bytes.
pub(crate) struct BytesMut(PyBuffer<u8>);

impl<'a, 'py> FromPyObject<'a, 'py> for BytesMut {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let Bytes(buffer) = object.extract()?;
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
