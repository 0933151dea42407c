//! The CUDA driver, found when it is first needed, never linked.
//!
//! cudarc has the types, the constants and the library; the functions are called through pointers
//! of this module, so that a driver without one of them is an error in words, not a panic, and a
//! code that cudarc's `CUresult` does not list is still a number. The layer keeps no state: an
//! error is returned to the call that caused it, and the caller's context is restored.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt;
use std::ptr;
use std::sync::{Mutex, OnceLock};

use cudarc::driver::sys::{
    self, CUdevice_attribute as Attribute, CUevent_flags as EventFlags,
    CUfunction_attribute as FunctionAttribute, CUlaunchAttributeID as AttributeId,
    CUmemPool_attribute as PoolAttribute, CUpointer_attribute as PointerAttribute,
    CUresult as Known, CUstream_flags as StreamFlags,
};

use crate::backend::library::{functions, in_words};
use crate::error::Error;
use crate::process::{Owner, PerProcess};

use cudarc::driver::sys::CUdevice as DeviceId;
pub(super) use cudarc::driver::sys::{
    CUcontext as ContextHandle, CUdeviceptr as Address, CUevent as EventHandle,
    CUfunction as FunctionHandle, CUlaunchAttribute as LaunchAttribute,
    CUlaunchConfig as LaunchConfig, CUmemoryPool as PoolHandle, CUmodule as ModuleHandle,
    CUstream as StreamHandle,
};
/// `CUresult`, with codes of newer drivers.
pub(super) type Code = c_int;
/// Function that the driver calls on a thread of its own; it calls no function of the driver.
pub(super) type StreamCallback = unsafe extern "C" fn(StreamHandle, Code, *mut c_void);

functions! {
    error_name = c"cuGetErrorName": unsafe extern "C" fn(Code, *mut *const c_char) -> Code;
    error_string = c"cuGetErrorString": unsafe extern "C" fn(Code, *mut *const c_char) -> Code;
    init = c"cuInit": unsafe extern "C" fn(c_uint) -> Code;
    driver_version = c"cuDriverGetVersion": unsafe extern "C" fn(*mut c_int) -> Code;

    device_count = c"cuDeviceGetCount": unsafe extern "C" fn(*mut c_int) -> Code;
    device_get = c"cuDeviceGet": unsafe extern "C" fn(*mut DeviceId, c_int) -> Code;
    device_name = c"cuDeviceGetName": unsafe extern "C" fn(*mut c_char, c_int, DeviceId) -> Code;
    device_memory = c"cuDeviceTotalMem_v2": unsafe extern "C" fn(*mut usize, DeviceId) -> Code;
    device_attribute = c"cuDeviceGetAttribute":
        unsafe extern "C" fn(*mut c_int, c_int, DeviceId) -> Code;
    device_pool = c"cuDeviceGetMemPool": unsafe extern "C" fn(*mut PoolHandle, DeviceId) -> Code;

    primary_context = c"cuDevicePrimaryCtxRetain":
        unsafe extern "C" fn(*mut ContextHandle, DeviceId) -> Code;
    push_context = c"cuCtxPushCurrent_v2": unsafe extern "C" fn(ContextHandle) -> Code;
    pop_context = c"cuCtxPopCurrent_v2": unsafe extern "C" fn(*mut ContextHandle) -> Code;

    stream_create = c"cuStreamCreate": unsafe extern "C" fn(*mut StreamHandle, c_uint) -> Code;
    stream_synchronize = c"cuStreamSynchronize": unsafe extern "C" fn(StreamHandle) -> Code;
    stream_query = c"cuStreamQuery": unsafe extern "C" fn(StreamHandle) -> Code;
    stream_wait_event = c"cuStreamWaitEvent":
        unsafe extern "C" fn(StreamHandle, EventHandle, c_uint) -> Code;
    stream_callback = c"cuStreamAddCallback":
        unsafe extern "C" fn(StreamHandle, StreamCallback, *mut c_void, c_uint) -> Code;
    stream_destroy = c"cuStreamDestroy_v2": unsafe extern "C" fn(StreamHandle) -> Code;

    event_create = c"cuEventCreate": unsafe extern "C" fn(*mut EventHandle, c_uint) -> Code;
    event_record = c"cuEventRecord": unsafe extern "C" fn(EventHandle, StreamHandle) -> Code;
    event_query = c"cuEventQuery": unsafe extern "C" fn(EventHandle) -> Code;
    event_synchronize = c"cuEventSynchronize": unsafe extern "C" fn(EventHandle) -> Code;
    event_elapsed = c"cuEventElapsedTime_v2" or c"cuEventElapsedTime":
        unsafe extern "C" fn(*mut f32, EventHandle, EventHandle) -> Code;
    event_destroy = c"cuEventDestroy_v2": unsafe extern "C" fn(EventHandle) -> Code;

    alloc = c"cuMemAlloc_v2": unsafe extern "C" fn(*mut Address, usize) -> Code;
    alloc_async = c"cuMemAllocAsync":
        unsafe extern "C" fn(*mut Address, usize, StreamHandle) -> Code;
    free = c"cuMemFree_v2": unsafe extern "C" fn(Address) -> Code;
    free_async = c"cuMemFreeAsync": unsafe extern "C" fn(Address, StreamHandle) -> Code;
    alloc_host = c"cuMemHostAlloc": unsafe extern "C" fn(*mut *mut c_void, usize, c_uint) -> Code;
    free_host = c"cuMemFreeHost": unsafe extern "C" fn(*mut c_void) -> Code;
    pointer_attribute = c"cuPointerGetAttribute":
        unsafe extern "C" fn(*mut c_void, c_int, Address) -> Code;
    fill_async = c"cuMemsetD8Async":
        unsafe extern "C" fn(Address, u8, usize, StreamHandle) -> Code;
    upload_async = c"cuMemcpyHtoDAsync_v2":
        unsafe extern "C" fn(Address, *const c_void, usize, StreamHandle) -> Code;
    download_async = c"cuMemcpyDtoHAsync_v2":
        unsafe extern "C" fn(*mut c_void, Address, usize, StreamHandle) -> Code;
    copy_async = c"cuMemcpyDtoDAsync_v2":
        unsafe extern "C" fn(Address, Address, usize, StreamHandle) -> Code;
    download = c"cuMemcpyDtoH_v2": unsafe extern "C" fn(*mut c_void, Address, usize) -> Code;
    pool_get = c"cuMemPoolGetAttribute":
        unsafe extern "C" fn(PoolHandle, c_int, *mut c_void) -> Code;
    pool_set = c"cuMemPoolSetAttribute":
        unsafe extern "C" fn(PoolHandle, c_int, *mut c_void) -> Code;
    pool_trim = c"cuMemPoolTrimTo": unsafe extern "C" fn(PoolHandle, usize) -> Code;

    module_load = c"cuModuleLoadData":
        unsafe extern "C" fn(*mut ModuleHandle, *const c_void) -> Code;
    module_unload = c"cuModuleUnload": unsafe extern "C" fn(ModuleHandle) -> Code;
    module_function = c"cuModuleGetFunction":
        unsafe extern "C" fn(*mut FunctionHandle, ModuleHandle, *const c_char) -> Code;
    module_global = c"cuModuleGetGlobal_v2":
        unsafe extern "C" fn(*mut Address, *mut usize, ModuleHandle, *const c_char) -> Code;
    function_attribute = c"cuFuncSetAttribute":
        unsafe extern "C" fn(FunctionHandle, c_int, c_int) -> Code;
    occupancy = c"cuOccupancyMaxActiveBlocksPerMultiprocessor":
        unsafe extern "C" fn(*mut c_int, FunctionHandle, c_int, usize) -> Code;
    launch = c"cuLaunchKernelEx": unsafe extern "C" fn(
        *const LaunchConfig,
        FunctionHandle,
        *mut *mut c_void,
        *mut *mut c_void,
    ) -> Code;
}

pub(super) const MULTIPROCESSOR_COUNT: c_int =
    Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as c_int;
pub(super) const CAPABILITY_MAJOR: c_int =
    Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as c_int;
pub(super) const CAPABILITY_MINOR: c_int =
    Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as c_int;
pub(super) const SHARED_MEMORY_PER_BLOCK: c_int =
    Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN as c_int;
const MEMORY_POOLS_SUPPORTED: c_int =
    Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED as c_int;
/// A `u64`.
pub(super) const POOL_RELEASE_THRESHOLD: c_int =
    PoolAttribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD as c_int;
pub(super) const MAX_DYNAMIC_SHARED_BYTES: c_int =
    FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as c_int;
/// The device of an address, an `int`.
const POINTER_DEVICE: c_int = PointerAttribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL as c_int;
/// The first address of the allocation that has an address.
const POINTER_START: c_int = PointerAttribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR as c_int;
/// The size of the allocation that has an address, a `size_t`.
const POINTER_SIZE: c_int = PointerAttribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE as c_int;
/// Does not wait for the default stream.
const NON_BLOCKING: c_uint = StreamFlags::CU_STREAM_NON_BLOCKING as c_uint;
pub(super) const EVENT_DEFAULT: c_uint = EventFlags::CU_EVENT_DEFAULT as c_uint;
pub(super) const EVENT_WITHOUT_TIME: c_uint = EventFlags::CU_EVENT_DISABLE_TIMING as c_uint;

/// Launch attribute: clusters of `blocks` blocks.
pub(super) fn cluster(blocks: u32) -> LaunchAttribute {
    let dimension = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x: blocks, y: 1, z: 1 };
    LaunchAttribute {
        id: AttributeId::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
        pad: [0; 4],
        value: sys::CUlaunchAttributeValue { clusterDim: dimension },
    }
}

/// Launch attribute: load balancing, so the blocks of a cluster need not have a multiprocessor
/// each.
pub(super) fn balanced_clusters() -> LaunchAttribute {
    let policy = sys::CUclusterSchedulingPolicy::CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
    LaunchAttribute {
        id: AttributeId::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
        pad: [0; 4],
        value: sys::CUlaunchAttributeValue { clusterSchedulingPolicyPreference: policy },
    }
}

/// A `CUresult` other than success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault(Code);

impl Fault {
    pub(super) const OUT_OF_MEMORY: Self = Self(Known::CUDA_ERROR_OUT_OF_MEMORY as Code);
    /// No code of the driver: this process is a fork of the one that started it.
    pub(super) const FORKED: Self = Self(-1);
    pub(super) const NOT_READY: Self = Self(Known::CUDA_ERROR_NOT_READY as Code);
    /// The stub that toolkits bring stands in for a driver only while linking.
    const STUB_LIBRARY: Self = Self(Known::CUDA_ERROR_STUB_LIBRARY as Code);
    const NO_DEVICE: Self = Self(Known::CUDA_ERROR_NO_DEVICE as Code);

    /// Returns the fault of a code that is not success.
    pub(super) fn check(code: Code) -> Result<(), Self> {
        if code == 0 { Ok(()) } else { Err(Self(code)) }
    }

    /// Returns false for the code of work that has not ended.
    pub(super) fn has_ended(code: Code) -> Result<bool, Self> {
        match Self::check(code) {
            Err(Self::NOT_READY) => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// Returns true for images that are right, but not for this GPU or driver:
    /// `NO_BINARY_FOR_GPU`, `JIT_COMPILER_NOT_FOUND`, `UNSUPPORTED_PTX_VERSION`.
    pub(super) fn is_for_others(self) -> bool {
        matches!(self.0, 209 | 221 | 222)
    }

    /// Returns true for faults after which every call of the process on this GPU fails: of a
    /// kernel (`ILLEGAL_ADDRESS`, `LAUNCH_TIMEOUT`, `ASSERT`, `HARDWARE_STACK_ERROR` to
    /// `LAUNCH_FAILED`, `TENSOR_MEMORY_LEAK`), of the hardware (`ECC_UNCORRECTABLE`,
    /// `NVLINK_UNCORRECTABLE`, `CONTAINED`), or of the context (`CONTEXT_IS_DESTROYED`).
    fn is_sticky(self) -> bool {
        matches!(self.0, 214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 721)
    }

    /// The error of the crate, with what it is about.
    pub(super) fn about(about: impl fmt::Display) -> impl FnOnce(Self) -> Error {
        move |fault| {
            if fault == Self::FORKED {
                return Error::Forked;
            }
            let message = format!("{about}: {fault}");
            if fault.is_sticky() { Error::DeviceLost(message) } else { Error::Driver(message) }
        }
    }

    /// Logs a fault where none can be returned. A sticky one returns with the next call, and a fork
    /// releases nothing of its parent.
    pub(super) fn log(result: Result<(), Self>, about: &str) {
        match result {
            Ok(()) | Err(Self::FORKED) => {}
            Err(fault) => tracing::warn!(%fault, "{about}"),
        }
    }
}

/// The words and the name of the driver.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words =
            |read: fn(&Functions) -> unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
                let mut words = ptr::null();
                let read = read(driver().ok()??);
                // SAFETY: the pointer is valid for a write, and the function takes any code.
                Fault::check(unsafe { read(self.0, &raw mut words) }).ok()?;
                // SAFETY: after success it points to a string that is part of the driver.
                (!words.is_null()).then(|| unsafe { CStr::from_ptr(words) }.to_string_lossy())
            };
        let description = words(|functions| functions.error_string);
        let name = words(|functions| functions.error_name);
        write!(f, "{} (", description.as_deref().unwrap_or("no description"))?;
        match name {
            Some(name) => write!(f, "{name})"),
            None => write!(f, "error {})", self.0),
        }
    }
}

/// The process that started the driver. In its forks no function of the driver is called.
static OWNER: Owner = Owner::nobody();

/// Checks that this process started the driver.
///
/// # Errors
/// [`Fault::FORKED`].
pub(super) fn check_process() -> Result<(), Fault> {
    if OWNER.is_this_process() { Ok(()) } else { Err(Fault::FORKED) }
}

/// The functions of the driver; `None` where none is installed.
fn driver() -> Result<Option<&'static Functions>, Error> {
    static DRIVER: PerProcess<OnceLock<Result<Option<Functions>, Error>>> = PerProcess::new();
    let found = DRIVER.get().get_or_init(|| {
        // `culib` panics without a library.
        // SAFETY: this runs the initialisers of the driver, which have no preconditions.
        if !unsafe { sys::is_culib_present() } {
            return Ok(None);
        }
        OWNER.claim()?;
        // SAFETY: as above.
        let library = unsafe { sys::culib() };
        // SAFETY: the types are those of cuda.h.
        let functions = unsafe { Functions::read(library) };
        functions.map(Some).map_err(|error| {
            let words = in_words(&error);
            Error::Driver(format!("the CUDA driver is older than CUDA 11.8: {words}"))
        })
    });
    found.as_ref().map(Option::as_ref).map_err(Error::clone)
}

/// Starts the driver, and returns its functions and the number of GPUs.
fn start() -> Result<(&'static Functions, c_int), Error> {
    let functions = driver()?.ok_or(Error::NoDevice)?;
    OWNER.claim()?;
    // SAFETY: the function has no preconditions.
    Fault::check(unsafe { (functions.init)(0) }).map_err(|fault| match fault {
        Fault::NO_DEVICE | Fault::STUB_LIBRARY => {
            // Nothing started: a fork finds no device either.
            OWNER.release();
            Error::NoDevice
        }
        fault => Fault::about("the CUDA driver does not start")(fault),
    })?;
    let mut count = 0;
    // SAFETY: the pointer is valid for a write.
    Fault::check(unsafe { (functions.device_count)(&raw mut count) })
        .map_err(Fault::about("the number of GPUs"))?;
    Ok((functions, count))
}

/// Number of GPUs; 0 without a driver.
pub(super) fn count() -> Result<usize, Error> {
    match start() {
        Ok((_, count)) => Ok(usize::try_from(count).unwrap_or(0)),
        Err(Error::NoDevice) => Ok(0),
        Err(error) => Err(error),
    }
}

/// A GPU with the context that all libraries of a process share, its primary one. It is never
/// released: opening one takes tenths of a second.
#[derive(Debug)]
pub(super) struct GpuHandle {
    pub(super) functions: &'static Functions,
    device: DeviceId,
    context: ContextHandle,
    /// Streams that wake tasks, without work at the moment.
    pub(super) wakers: Mutex<Vec<WakingStream>>,
}

/// A stream on which tasks are woken.
#[derive(Debug)]
pub(super) struct WakingStream(pub(super) StreamHandle);

// SAFETY: a handle of the driver, which takes it from any thread.
unsafe impl Send for WakingStream {}

// SAFETY: handles of the driver, which takes them from any thread.
unsafe impl Send for GpuHandle {}
// SAFETY: as above.
unsafe impl Sync for GpuHandle {}

impl GpuHandle {
    /// Opens the GPU of that number.
    ///
    /// # Errors
    /// [`Error::NoDevice`] without a driver or a GPU of that number, [`Error::Driver`].
    pub(super) fn open(ordinal: usize) -> Result<Self, Error> {
        let (functions, count) = start()?;
        let number = c_int::try_from(ordinal).ok().filter(|&number| number < count);
        let number = number.ok_or(Error::NoDevice)?;
        let open = || {
            let wakers = Mutex::default();
            let mut gpu = Self { functions, device: 0, context: ptr::null_mut(), wakers };
            // SAFETY: the pointer is valid for a write.
            Fault::check(unsafe { (functions.device_get)(&raw mut gpu.device, number) })?;
            let context = &raw mut gpu.context;
            // SAFETY: the device is there, and the pointer is valid for a write.
            Fault::check(unsafe { (functions.primary_context)(context, gpu.device) })?;
            Ok(gpu)
        };
        open().map_err(Fault::about(format_args!("GPU {ordinal} does not open")))
    }

    /// Makes this the context of the calling thread, until the guard is dropped.
    ///
    /// # Errors
    /// [`Fault::FORKED`] in a fork: every function of the driver on this GPU comes after this one.
    pub(super) fn bind(&self) -> Result<Bound, Fault> {
        check_process()?;
        // SAFETY: the context is there.
        Fault::check(unsafe { (self.functions.push_context)(self.context) })?;
        Ok(Bound(self.functions))
    }

    /// A new stream, which waits for no other. The context is bound.
    pub(super) fn stream(&self) -> Result<StreamHandle, Fault> {
        let mut stream = ptr::null_mut();
        // SAFETY: the pointer is valid for a write.
        Fault::check(unsafe { (self.functions.stream_create)(&raw mut stream, NON_BLOCKING) })?;
        Ok(stream)
    }

    pub(super) fn attribute(&self, attribute: c_int) -> Result<c_int, Fault> {
        let mut value = 0;
        let read = self.functions.device_attribute;
        // SAFETY: the device is there, and the pointer is valid for a write.
        Fault::check(unsafe { read(&raw mut value, attribute, self.device) })?;
        Ok(value)
    }

    /// The bytes from `address` to the end of its allocation on this GPU; `None` for an address of
    /// another GPU. The context is bound.
    pub(super) fn bytes_from(&self, address: Address) -> Result<Option<u64>, Fault> {
        let read = |attribute: c_int, value: *mut c_void| {
            // SAFETY: the pointer is valid for a write of the attribute's type, and the function
            // takes any address.
            Fault::check(unsafe { (self.functions.pointer_attribute)(value, attribute, address) })
        };
        let (mut device, mut start, mut size) = (-1 as DeviceId, 0 as Address, 0usize);
        read(POINTER_DEVICE, (&raw mut device).cast())?;
        read(POINTER_START, (&raw mut start).cast())?;
        read(POINTER_SIZE, (&raw mut size).cast())?;
        let end = start.saturating_add(size as u64);
        Ok((device == self.device).then_some(end.saturating_sub(address)))
    }

    pub(super) fn name(&self) -> Result<String, Fault> {
        let mut name = [0u8; 256];
        let (start, length) = (name.as_mut_ptr().cast(), name.len() as c_int);
        // SAFETY: the device is there, and the pointer is valid for `length` bytes.
        Fault::check(unsafe { (self.functions.device_name)(start, length, self.device) })?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    pub(super) fn total_memory(&self) -> Result<u64, Fault> {
        let mut bytes = 0;
        // SAFETY: the device is there, and the pointer is valid for a write.
        Fault::check(unsafe { (self.functions.device_memory)(&raw mut bytes, self.device) })?;
        Ok(bytes as u64)
    }

    /// The CUDA version of the driver: 13000 is 13.0.
    pub(super) fn driver_version(&self) -> Result<c_int, Fault> {
        let mut version = 0;
        // SAFETY: the pointer is valid for a write.
        Fault::check(unsafe { (self.functions.driver_version)(&raw mut version) })?;
        Ok(version)
    }

    /// The pool that ordered allocations come from; `None` where the GPU has none.
    pub(super) fn pool(&self) -> Result<Option<PoolHandle>, Fault> {
        if self.attribute(MEMORY_POOLS_SUPPORTED)? == 0 {
            return Ok(None);
        }
        let mut pool = ptr::null_mut();
        // SAFETY: the device is there, and the pointer is valid for a write.
        Fault::check(unsafe { (self.functions.device_pool)(&raw mut pool, self.device) })?;
        Ok(Some(pool))
    }
}

/// The calling thread's context is that of a [`GpuHandle`]; dropping this restores the one before.
#[derive(Debug)]
#[must_use]
pub(super) struct Bound(&'static Functions);

impl Drop for Bound {
    fn drop(&mut self) {
        let mut popped = ptr::null_mut();
        // SAFETY: the pointer is valid for a write, and `bind` pushed what this pops.
        let result = Fault::check(unsafe { (self.0.pop_context)(&raw mut popped) });
        Fault::log(result, "the thread's context");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_of_a_kernel_loses_the_device() {
        for code in [700, 716, 719] {
            let error = Fault::about("queued work")(Fault(code));
            assert!(matches!(error, Error::DeviceLost(_)), "{error}");
        }
        for code in [1, 2, 209, 701, 713, 720] {
            let error = Fault::about("a launch")(Fault(code));
            assert!(matches!(error, Error::Driver(_)), "{error}");
        }
    }
}
