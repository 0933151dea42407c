//! Rows in memory of other libraries, and the order with their streams, without copies.
#![allow(unsafe_code)]

use std::any::Any;
use std::ffi::c_void;

use gpuint_catalogue::Shape;

use crate::backend::cuda::Cuda;
use crate::backend::host;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};

impl Device {
    /// The GPU behind this device.
    fn as_cuda(&self) -> Result<&Cuda> {
        self.memory().check_process()?;
        self.memory().as_any().and_then(<dyn Any>::downcast_ref).ok_or(Error::NoDevice)
    }

    /// The CUDA stream (`CUstream`, `cudaStream_t`) of this queue; `None` if the device is not a
    /// GPU.
    ///
    /// It is a stream of the primary context of the GPU, and lives as long as the last clone of
    /// this handle. Work that another library queues on it runs after the earlier operations and
    /// before the later ones. Other queues that share a batch are not ordered with that work: order
    /// them by [`wait_for`](Self::wait_for).
    #[must_use]
    pub fn stream(&self) -> Option<*mut c_void> {
        self.as_cuda().ok().map(Cuda::stream)
    }

    /// Makes later work wait for the work queued so far on `stream`, a `CUstream` of another
    /// library; null is the default stream. The call itself does not wait.
    ///
    /// # Safety
    /// `stream` is a stream of this process that was not destroyed, or null.
    ///
    /// # Errors
    /// [`NoDevice`](Error::NoDevice) if the device is not a GPU, [`Driver`](Error::Driver).
    pub unsafe fn wait_for_stream(&self, stream: *mut c_void) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { self.as_cuda()?.wait_for_stream(stream) }
    }

    /// Makes later work on `stream` wait for the work queued so far on this queue. The call itself
    /// does not wait.
    ///
    /// # Safety
    /// As [`wait_for_stream`](Self::wait_for_stream).
    ///
    /// # Errors
    /// As [`wait_for_stream`](Self::wait_for_stream).
    pub unsafe fn hold_stream(&self, stream: *mut c_void) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { self.as_cuda()?.hold_stream(stream) }
    }
}

/// # Memory of other libraries
impl DynBatch {
    /// Makes a batch of `rows` rows at `address` of the GPU, one row after another, each row's
    /// least significant byte first. Copies nothing.
    ///
    /// `owner` keeps the memory: a `CudaSlice` of cudarc, a tensor, or `()` where something else
    /// does. Dropping the batch waits for its work and then drops `owner`. The allocation is
    /// checked to be on this GPU and to hold the rows, and the address to be a multiple of 16.
    ///
    /// ```no_run
    /// use cudarc::driver::{CudaContext, DevicePtr};
    /// use gpuint::{Device, DynBatch, narrowest};
    ///
    /// let theirs = CudaContext::new(0)?.new_stream()?;
    /// let rows = theirs.clone_htod(&vec![7u64; 1000 * 32])?;
    /// let address = rows.device_ptr(&theirs).0;
    ///
    /// let device = Device::cuda(0)?;
    /// let shape = narrowest(2048).unwrap();
    /// // SAFETY: the stream is there.
    /// unsafe { device.wait_for_stream(theirs.cu_stream().cast()) }?;
    /// // SAFETY: `rows` has the memory, and nothing else uses it.
    /// let batch = unsafe { DynBatch::from_device_ptr(&device, shape, 1000, address, rows) }?;
    /// let squares = batch.wrapping_square()?;
    /// // SAFETY: the stream is there.
    /// unsafe { device.hold_stream(theirs.cu_stream().cast()) }?;
    /// // Work on the stream may read `squares.device_ptr()?` now.
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Safety
    /// - The memory is allocated on this GPU until `owner` is dropped.
    /// - Whatever else writes the memory, or reads it while an operation writes the batch, is put
    ///   in order with the operations on it: by [`Device::wait_for_stream`] before and
    ///   [`Device::hold_stream`] after them, or by waiting on the host.
    /// - No other batch is over the same bytes.
    ///
    /// # Errors
    /// [`DevicePointer`](Error::DevicePointer), [`ShapeMissing`](Error::ShapeMissing),
    /// [`NoDevice`](Error::NoDevice) where the device is no GPU, [`Driver`](Error::Driver).
    pub unsafe fn from_device_ptr(
        device: &Device,
        shape: Shape,
        rows: usize,
        address: u64,
        owner: impl Any + Send + Sync,
    ) -> Result<Self> {
        device.check_shape(shape)?;
        let bytes = (rows as u64).checked_mul(shape.bytes() as u64);
        let bytes = bytes.ok_or(Error::OutOfMemory { bytes: u64::MAX })?;
        // SAFETY: the caller's.
        let buffer = unsafe { device.as_cuda()?.foreign(address, bytes, Box::new(owner)) }?;
        Ok(Self::over(device, shape, rows, buffer))
    }

    /// Returns the address of the rows on the GPU, one row after another, each row's least
    /// significant byte first.
    ///
    /// The memory belongs to the batch. Work of other libraries on it goes on the
    /// [`stream`](Device::stream) of the batch's device, or between [`Device::hold_stream`] and
    /// [`Device::wait_for_stream`]; this call makes that queue wait for what others do with the
    /// batch.
    ///
    /// # Errors
    /// [`NoDevice`](Error::NoDevice) if the device is not a GPU, [`Driver`](Error::Driver).
    pub fn device_ptr(&self) -> Result<u64> {
        self.device().as_cuda()?.address(self.buffer())
    }

    /// Returns the bytes of the rows where they are, one row after another, each row's least
    /// significant byte first; `None` if the device is a GPU.
    ///
    /// ```
    /// use gpuint::{Device, DynBatch, narrowest};
    ///
    /// let ones = DynBatch::splat(&Device::cpu(), narrowest(256).unwrap(), 1, 3)?;
    /// assert_eq!(ones.host_bytes(), Some(&*ones.to_le_bytes()?));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    #[must_use]
    pub fn host_bytes(&self) -> Option<&[u8]> {
        host::bytes(self.buffer()).ok()
    }
}
