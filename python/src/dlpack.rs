//! Rows as DLPack tensors, without a copy: a matrix of 64-bit limbs, least significant first.
//!
//! The structures are those of `dlpack.h`, versions 0 and 1. A capsule owns a managed tensor until
//! a consumer renames it; whoever owns the tensor calls its deleter once.
#![expect(unsafe_code, reason = "structures and capsules of C")]

use std::ffi::{CStr, c_void};
use std::ptr::{self, NonNull};

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::batch::Batch;
use crate::error::detached;

const CPU: i32 = 1;
const CUDA: i32 = 2;
const UNSIGNED: u8 = 1;
const VERSION: Version = Version { major: 1, minor: 0 };
const IS_READ_ONLY: u64 = 1;
const IS_COPY: u64 = 2;

/// `cudaStreamLegacy` and `cudaStreamPerThread`, which always exist.
const DEFAULT_STREAMS: [usize; 2] = [1, 2];

#[repr(C)]
struct RawTensor {
    data: *mut c_void,
    device: Location,
    dimensions: i32,
    element: Element,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Location {
    kind: i32,
    number: i32,
}

#[repr(C)]
struct Element {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct Version {
    major: u32,
    minor: u32,
}

type Deleter<M> = Option<unsafe extern "C" fn(*mut M)>;

/// `DLManagedTensor`, before version 1.
#[repr(C)]
struct Unversioned {
    tensor: RawTensor,
    manager: *mut c_void,
    deleter: Deleter<Self>,
}

/// `DLManagedTensorVersioned`. Later minor versions add nothing to it.
#[repr(C)]
struct Versioned {
    version: Version,
    manager: *mut c_void,
    deleter: Deleter<Self>,
    flags: u64,
    tensor: RawTensor,
}

/// A managed tensor of a version.
trait Managed: Sized {
    /// Names of its capsules before and after a consumer has taken the tensor.
    const NAME: &CStr;
    const USED: &CStr;

    fn new(tensor: RawTensor, deleter: Deleter<Self>, flags: u64) -> Self;
    fn tensor(&mut self) -> &mut RawTensor;
    fn deleter(&self) -> Deleter<Self>;
}

impl Managed for Unversioned {
    const NAME: &CStr = c"dltensor";
    const USED: &CStr = c"used_dltensor";

    fn new(tensor: RawTensor, deleter: Deleter<Self>, _: u64) -> Self {
        Self { tensor, manager: ptr::null_mut(), deleter }
    }

    fn tensor(&mut self) -> &mut RawTensor {
        &mut self.tensor
    }

    fn deleter(&self) -> Deleter<Self> {
        self.deleter
    }
}

impl Managed for Versioned {
    const NAME: &CStr = c"dltensor_versioned";
    const USED: &CStr = c"used_dltensor_versioned";

    fn new(tensor: RawTensor, deleter: Deleter<Self>, flags: u64) -> Self {
        Self { version: VERSION, manager: ptr::null_mut(), deleter, flags, tensor }
    }

    fn tensor(&mut self) -> &mut RawTensor {
        &mut self.tensor
    }

    fn deleter(&self) -> Deleter<Self> {
        self.deleter
    }
}

/// A batch that a tensor shows.
struct Shown {
    batch: Py<Batch>,
    /// A stream that always exists, on which the consumer may still work.
    stream: Option<usize>,
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Some(stream) = self.stream {
            let device = self.batch.get().0.device();
            // The memory is used again only behind the consumer's work. A device that is lost has
            // no order to keep.
            // SAFETY: the default streams always exist.
            let _ = unsafe { device.wait_for_stream(ptr::without_provenance_mut(stream)) };
        }
    }
}

/// A managed tensor and what it points to.
#[repr(C)]
struct Export<M> {
    managed: M,
    shape: [i64; 2],
    strides: [i64; 2],
    shown: Shown,
}

impl<M: Managed> Export<M> {
    /// Makes a capsule of a tensor.
    fn capsule(
        py: Python<'_>,
        tensor: RawTensor,
        [rows, limbs]: [i64; 2],
        shown: Shown,
        flags: u64,
    ) -> PyResult<Bound<'_, PyAny>> {
        let managed = M::new(tensor, Some(Self::delete), flags);
        let mut export =
            Box::new(Self { managed, shape: [rows, limbs], strides: [limbs, 1], shown });
        let (shape, strides) = (export.shape.as_mut_ptr(), export.strides.as_mut_ptr());
        let tensor = export.managed.tensor();
        (tensor.shape, tensor.strides) = (shape, strides);
        let export: *mut Self = Box::into_raw(export);
        // SAFETY: the pointer is not null, the name is static, and the destructor is that of
        // capsules of this name.
        let capsule =
            unsafe { ffi::PyCapsule_New(export.cast(), M::NAME.as_ptr(), Some(Self::destroy)) };
        // SAFETY: the function returns a new reference, or null with an exception.
        unsafe { Bound::from_owned_ptr_or_err(py, capsule) }.inspect_err(|_| {
            // SAFETY: nothing else has the tensor.
            drop(unsafe { Box::from_raw(export) });
        })
    }

    /// The deleter, which a consumer calls, on any thread.
    unsafe extern "C" fn delete(managed: *mut M) {
        if !managed.is_null() {
            // SAFETY: the managed tensor is the first field of a box that `capsule` gave away, and
            // its owner calls this once.
            let export = unsafe { Box::from_raw(managed.cast::<Self>()) };
            // With the interpreter's lock the rows are freed now, and not in the next call. Where
            // the interpreter has ended, nothing is left to be freed.
            Python::try_attach(|_| drop(export));
        }
    }

    /// Deletes the tensor of a capsule that no consumer has taken.
    unsafe extern "C" fn destroy(capsule: *mut ffi::PyObject) {
        // SAFETY: the interpreter calls this with the capsule.
        let is_unused = unsafe { ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) } == 1;
        if is_unused {
            // SAFETY: the capsule has this name.
            let managed = unsafe { ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr()) };
            // SAFETY: the capsule owns the tensor.
            unsafe { Self::delete(managed.cast()) };
        }
    }
}

#[pymethods]
impl Batch {
    /// Returns a capsule with the rows on the GPU of that number, or in memory of the host.
    ///
    /// Later work on `stream`, a CUDA stream, waits for the work queued so far.
    fn to_dlpack<'py>(
        slf: Bound<'py, Self>,
        ordinal: Option<i32>,
        stream: Option<usize>,
        is_versioned: bool,
        is_copy: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let batch = &slf.get().0;
        let limbs = batch.shape().bits / 64;
        if !batch.shape().bits.is_multiple_of(64) {
            return Err(PyBufferError::new_err("the rows are not whole 64-bit limbs"));
        }
        let shape = [batch.len(), limbs].map(|size| i64::try_from(size).unwrap_or(i64::MAX));
        let address = match ordinal {
            _ if batch.is_empty() => 0,
            Some(_) => detached(py, || batch.device_ptr())? as usize,
            None => {
                let bytes = batch.host_bytes();
                let bytes = bytes.ok_or_else(|| PyBufferError::new_err("the rows are on a GPU"))?;
                bytes.as_ptr().expose_provenance()
            }
        };
        let device = Location {
            kind: if ordinal.is_some() { CUDA } else { CPU },
            number: ordinal.unwrap_or(0),
        };
        if let Some(stream) = stream {
            detached(py, || {
                let stream = ptr::without_provenance_mut(stream);
                // SAFETY: the protocol requires that the stream exists.
                unsafe { batch.device().hold_stream(stream) }
            })?;
        }
        let tensor = RawTensor {
            data: ptr::with_exposed_provenance_mut(address),
            device,
            dimensions: 2,
            element: Element { code: UNSIGNED, bits: 64, lanes: 1 },
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        let flags = if is_copy { IS_COPY } else { IS_READ_ONLY };
        let stream = stream.filter(|stream| DEFAULT_STREAMS.contains(stream));
        let shown = Shown { batch: slf.clone().unbind(), stream };
        if is_versioned {
            Export::<Versioned>::capsule(py, tensor, shape, shown, flags)
        } else {
            Export::<Unversioned>::capsule(py, tensor, shape, shown, flags)
        }
    }
}

/// A managed tensor that was taken from a capsule.
enum Taken {
    Unversioned(NonNull<Unversioned>),
    Versioned(NonNull<Versioned>),
}

// SAFETY: a managed tensor does not change, and its deleter may be called on any thread.
unsafe impl Send for Taken {}
// SAFETY: as above.
unsafe impl Sync for Taken {}

impl Drop for Taken {
    fn drop(&mut self) {
        fn delete<M: Managed>(managed: NonNull<M>) {
            // SAFETY: the tensor lives until its deleter is called.
            if let Some(deleter) = unsafe { managed.as_ref() }.deleter() {
                // SAFETY: the owner calls it once.
                unsafe { deleter(managed.as_ptr()) };
            }
        }
        match *self {
            Self::Unversioned(managed) => delete(managed),
            Self::Versioned(managed) => delete(managed),
        }
    }
}

/// Takes the tensor of a capsule, if it has the name.
fn take<M: Managed>(capsule: &Bound<'_, PyAny>) -> PyResult<Option<NonNull<M>>> {
    let pointer = capsule.as_ptr();
    // SAFETY: the object lives; it need not be a capsule.
    if unsafe { ffi::PyCapsule_IsValid(pointer, M::NAME.as_ptr()) } == 0 {
        return Ok(None);
    }
    // SAFETY: it is a capsule of this name.
    let managed = unsafe { ffi::PyCapsule_GetPointer(pointer, M::NAME.as_ptr()) };
    // SAFETY: it is a capsule, and the name is static.
    if unsafe { ffi::PyCapsule_SetName(pointer, M::USED.as_ptr()) } != 0 {
        return Err(PyErr::fetch(capsule.py()));
    }
    Ok(NonNull::new(managed.cast()))
}

/// A tensor of another library, which lives until this object is dropped.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct Tensor {
    taken: Taken,
}

impl Tensor {
    fn raw(&self) -> &RawTensor {
        match &self.taken {
            // SAFETY: the tensor lives until its deleter is called.
            Taken::Unversioned(managed) => &unsafe { managed.as_ref() }.tensor,
            // SAFETY: as above.
            Taken::Versioned(managed) => &unsafe { managed.as_ref() }.tensor,
        }
    }

    /// A number for each dimension.
    fn numbers(&self, numbers: *const i64) -> Vec<i64> {
        let dimensions = usize::try_from(self.raw().dimensions).unwrap_or(0);
        if dimensions == 0 || numbers.is_null() {
            return Vec::new();
        }
        // SAFETY: shapes and strides have a number for each dimension.
        unsafe { std::slice::from_raw_parts(numbers, dimensions) }.to_vec()
    }
}

#[pymethods]
impl Tensor {
    /// Takes the tensor of a capsule.
    #[new]
    fn new(capsule: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Some(managed) = take::<Versioned>(capsule)? {
            let taken = Taken::Versioned(managed);
            // SAFETY: the tensor lives until its deleter is called. The version and the deleter are
            // first in every major version.
            let version = &unsafe { managed.as_ref() }.version;
            if version.major != VERSION.major {
                let text = format!("DLPack {}.{} is unknown", version.major, version.minor);
                return Err(PyBufferError::new_err(text));
            }
            return Ok(Self { taken });
        }
        let managed = take::<Unversioned>(capsule)?;
        let managed = managed.ok_or_else(|| {
            PyTypeError::new_err("the object is no DLPack capsule, or its tensor was taken before")
        })?;
        Ok(Self { taken: Taken::Unversioned(managed) })
    }

    /// The kind and number of the device: kind 1 is the CPU, 2 a GPU.
    #[getter]
    fn device(&self) -> (i32, i32) {
        let Location { kind, number } = self.raw().device;
        (kind, number)
    }

    /// Kind, bits and lanes of an element: kind 0 is a signed, 1 an unsigned integer.
    #[getter]
    fn element(&self) -> (u8, u8, u16) {
        let Element { code, bits, lanes } = self.raw().element;
        (code, bits, lanes)
    }

    #[getter]
    fn shape(&self) -> Vec<i64> {
        self.numbers(self.raw().shape)
    }

    /// Distances in elements; `None` if contiguous.
    #[getter]
    fn strides(&self) -> Option<Vec<i64>> {
        let strides = self.raw().strides;
        (!strides.is_null()).then(|| self.numbers(strides))
    }

    #[getter]
    fn address(&self) -> u64 {
        (self.raw().data.addr() as u64).wrapping_add(self.raw().byte_offset)
    }
}
