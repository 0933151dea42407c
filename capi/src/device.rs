//! Devices and widths.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_void};

use gpuint::Error;

use crate::call::functions;
use crate::handle::{Device, remove};

functions! {
    /// Stores the narrowest width that is built and holds `bits` bits. A batch made for `bits`
    /// bits has this width. The widths are those of `1`, of the first width plus 1, and so on.
    fn gpuint_width(bits: usize; width: *mut usize) =
        |bits| gpuint::Device::cpu().shape_for(bits).map(|shape| shape.bits);

    /// Opens the first GPU, or the CPU where there is no GPU.
    ///
    /// After a fork, a child process computes on the CPU, also with batches of its parent. GPUs do
    /// not survive a fork: calls on those of the parent return `GPUINT_STATUS_FORKED`, and so does
    /// opening one if the parent has opened one.
    fn gpuint_device_first(; out: *mut *mut Device) = gpuint::Device::new;

    /// Opens the GPU of a number, with a queue of work of its own.
    fn gpuint_device_cuda(ordinal: usize; out: *mut *mut Device) = gpuint::Device::cuda;

    /// Opens the CPU: operations run on all its cores, and end before the call returns.
    fn gpuint_device_cpu(; out: *mut *mut Device) = || Ok::<_, Error>(gpuint::Device::cpu());

    /// Opens another queue of the same GPU. Batches of both may be operands of one operation, which
    /// is queued where its first operand is.
    fn gpuint_device_queue(device: *const Device; out: *mut *mut Device) = gpuint::Device::queue;

    /// Makes a handle to the same device and queue for widths that are not built: a batch made on
    /// it for `bits` bits has the narrowest multiple of 256 bits (above 262144 bits some are left
    /// out). For a GPU, kernels of such a width are loaded from the disk, or compiled at their
    /// first use by NVRTC in seconds. The CPU needs no kernels. Results of operations on its
    /// batches are on handles of this kind, too.
    fn gpuint_device_with_jit(device: *const Device; out: *mut *mut Device) =
        |device: &gpuint::Device| Ok::<_, Error>(device.with_jit());

    /// Makes a handle to the same device and queue whose results are checked on the device: sums,
    /// products, quotients and square roots by an equation of each row modulo 2^61 - 1, an eighth
    /// of the rows of modular powers and all other results by a second computation. A row that
    /// fails twice gives `GPUINT_STATUS_FAULTY_DEVICE`. Results of operations on its batches are on
    /// handles of this kind, too.
    fn gpuint_device_verified(device: *const Device; out: *mut *mut Device) =
        |device: &gpuint::Device| Ok::<_, Error>(device.verified());

    /// Stores the name of the GPU, or `cpu`.
    fn gpuint_device_name(
        device: *const Device; text: *mut c_char, size: usize, length: *mut usize
    ) = |device: &gpuint::Device| Ok::<_, Error>(device.name());

    /// Stores the kind of the device: `cuda` or `cpu`.
    fn gpuint_device_kind(
        device: *const Device; text: *mut c_char, size: usize, length: *mut usize
    ) = |device: &gpuint::Device| Ok::<_, Error>(device.backend().name().to_owned());

    /// Waits for all work queued on the device.
    fn gpuint_device_synchronize(device: *const Device) = gpuint::Device::synchronize;

    /// Waits for all work, and gives memory of the device that no batch uses back to the system.
    fn gpuint_device_trim(device: *const Device) = gpuint::Device::trim;

    /// Stores the CUDA stream (`cudaStream_t`, `CUstream`) of the device's queue, which lives as
    /// long as the handle. Work that the caller queues there runs after earlier calls and before
    /// later ones.
    fn gpuint_device_stream(device: *const Device; stream: *mut *mut c_void) =
        |device: &gpuint::Device| device.stream().ok_or(Error::NoDevice);

    /// Makes later work of the device wait for the work queued so far on a CUDA stream that exists.
    /// NULL is the default stream. The call does not wait.
    fn gpuint_device_wait_for_stream(device: *const Device, stream: *mut c_void) =
        |device: &gpuint::Device, stream| {
            // SAFETY: the header requires that the stream exists.
            unsafe { device.wait_for_stream(stream) }
        };

    /// Makes later work on a CUDA stream that exists wait for the work queued so far on the device.
    /// NULL is the default stream. The call does not wait.
    fn gpuint_device_hold_stream(device: *const Device, stream: *mut c_void) =
        |device: &gpuint::Device, stream| {
            // SAFETY: the header requires that the stream exists.
            unsafe { device.hold_stream(stream) }
        };

    /// Frees the handle. NULL is allowed. Its batches stay valid.
    fn gpuint_device_free(device: *mut Device) = |device| remove(device, "device");
}
