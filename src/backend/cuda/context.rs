//! What all handles to one GPU share: its context, what is known about it, and its kernels.
#![allow(unsafe_code)]

use std::fmt;
use std::sync::{Arc, LazyLock};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::{CudaContext, sys};

use crate::backend::cuda::cache::Cache;
use crate::backend::cuda::module::{Function, Module};
use crate::backend::cuda::nvrtc::Nvrtc;
use crate::backend::cuda::once::OnceMap;
use crate::backend::cuda::runtime;
use crate::backend::images;
use crate::error::{Error, Result};
use crate::kernel::KernelId;

/// The contexts that were opened, by the number of the GPU. They stay for as long as the process,
/// as those of the CUDA runtime do: opening one takes tenths of a second.
static CONTEXTS: LazyLock<OnceMap<usize, Arc<Context>>> = LazyLock::new(OnceMap::default);

/// An error of the driver in words, with what it was about.
pub(super) fn driver(about: impl fmt::Display) -> impl FnOnce(DriverError) -> Error {
    move |error| {
        let words = error.error_string().map(|words| words.to_string_lossy().into_owned());
        let words = words.unwrap_or_else(|_| "no description".to_owned());
        Error::Driver(format!("{about}: {words} ({:?})", error.0))
    }
}

/// What is known about a GPU.
#[derive(Debug)]
pub(super) struct Info {
    pub(super) name: String,
    /// The compute capability: 90 is 9.0.
    pub(super) capability: u32,
    pub(super) total_memory: u64,
    /// The CUDA version of the driver: 13000 is 13.0.
    pub(super) driver: i32,
    /// The most shared memory that a block can have.
    pub(super) shared_memory: u32,
    pub(super) multiprocessors: u32,
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, capability, total_memory, driver, .. } = self;
        let (major, minor) = (driver / 1000, driver % 1000 / 10);
        // Gibibytes with one digit.
        let tenths = ((total_memory >> 20) * 10) >> 10;
        let (whole, tenth) = (tenths / 10, tenths % 10);
        write!(f, "{name}, sm_{capability}, {whole}.{tenth} GiB, driver for CUDA {major}.{minor}")
    }
}

/// The memory that freed buffers go back to, for the buffers that come next.
#[derive(Debug, Clone, Copy)]
struct Pool(sys::CUmemoryPool);

// SAFETY: a handle of the driver, which takes it from any thread.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

/// A GPU as this process uses it.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) info: Info,
    /// By kernel and, where it is not its own, block.
    functions: OnceMap<(KernelId, Option<u32>), Arc<Function>>,
    /// Fatbins hold many kernels each; the key is the address of the fatbin.
    modules: OnceMap<usize, Arc<Module>>,
    cache: Cache,
    /// `None` where the GPU only allocates out of order.
    pool: Option<Pool>,
    pub(super) cuda: Arc<CudaContext>,
}

impl Context {
    /// The context of the GPU of that number.
    pub(super) fn get(ordinal: usize) -> Result<Arc<Self>> {
        CONTEXTS.get_or_try_init(ordinal, || Self::open(ordinal).map(Arc::new))
    }

    fn open(ordinal: usize) -> Result<Self> {
        // SAFETY: this runs the initialisers of the driver, which have no preconditions.
        if !unsafe { sys::is_culib_present() } {
            return Err(Error::NoDevice);
        }
        let count = CudaContext::device_count().map_err(|error| match error.0 {
            // The stub that toolkits bring stands in for a driver only while linking.
            sys::CUresult::CUDA_ERROR_NO_DEVICE | sys::CUresult::CUDA_ERROR_STUB_LIBRARY => {
                Error::NoDevice
            }
            _ => driver("the CUDA driver does not start")(error),
        })?;
        if usize::try_from(count).is_ok_and(|count| ordinal >= count) {
            return Err(Error::NoDevice);
        }
        let cuda = CudaContext::new(ordinal)
            .map_err(driver(format_args!("GPU {ordinal} does not open")))?;
        let info = Info::read(&cuda).map_err(driver(format_args!("GPU {ordinal}")))?;
        let pool = cuda.has_async_alloc().then(|| Pool::of(&cuda)).transpose();
        let pool = pool.map_err(driver("the memory pool"))?;
        tracing::debug!(ordinal, %info, "opened a GPU");
        Ok(Self {
            info,
            functions: OnceMap::default(),
            modules: OnceMap::default(),
            cache: Cache::from_env(),
            pool,
            cuda,
        })
    }

    /// Makes this the context of the calling thread, which all calls of the driver need.
    pub(super) fn bind(&self) -> Result<()> {
        self.cuda.bind_to_thread().map_err(driver("the context"))
    }

    /// Makes this the context of the calling thread where errors cannot be returned; the context
    /// keeps them for the next call that can.
    pub(super) fn bind_to_drop(&self) {
        // `bind_to_thread` would return the error that the context keeps instead of binding.
        // SAFETY: the context is there for as long as `self`.
        self.cuda.record_err(unsafe { result::ctx::set_current(self.cuda.cu_ctx()) });
    }

    /// Gives the memory that no buffer uses back to the system.
    pub(super) fn trim(&self) -> Result<(), DriverError> {
        match self.pool {
            // SAFETY: the pool is the device's own.
            Some(Pool(pool)) => unsafe { result::mem_pool::trim_to(pool, 0) },
            None => Ok(()),
        }
    }

    /// The function of a kernel, with its own block or another, ready to be launched.
    pub(super) fn function(&self, kernel: KernelId, block: Option<u32>) -> Result<Arc<Function>> {
        self.functions.get_or_try_init((kernel, block), || self.load(kernel, block).map(Arc::new))
    }

    fn load(&self, kernel: KernelId, block: Option<u32>) -> Result<Function> {
        let name = kernel.to_string();
        let span = tracing::debug_span!("load", kernel = name);
        let _entered = span.enter();
        // Embedded images have the kernels' own blocks.
        let embedded = if block.is_none() { self.embedded(&name)? } else { None };
        let module = match embedded {
            Some(module) => module,
            None => Arc::new(self.compiled(kernel, block)?),
        };
        Function::new(module, name, &self.info)
    }

    /// The module of the image that was built with the crate; `None` where there is none for this
    /// GPU.
    fn embedded(&self, name: &str) -> Result<Option<Arc<Module>>> {
        let Some(image) = images::embedded(name) else { return Ok(None) };
        let made = self.modules.get_or_try_init(image.as_ptr().addr(), || {
            Module::load(&self.cuda, image).map(Arc::new)
        });
        match made {
            Ok(module) => Ok(Some(module)),
            Err(error) if is_for_others(error) => {
                tracing::info!(name, reason = ?error.0, "the embedded image is not for this GPU");
                Ok(None)
            }
            Err(error) => Err(driver(format_args!("the embedded image of {name}"))(error)),
        }
    }

    /// The module of an image that was made at run time, by this process or an earlier one.
    fn compiled(&self, kernel: KernelId, block: Option<u32>) -> Result<Module> {
        let image = runtime::image(kernel, block, self.info.capability, Nvrtc::get(), &self.cache)?;
        Module::load(&self.cuda, &image)
            .map_err(driver(format_args!("the image of {kernel} that NVRTC made")))
    }
}

/// Whether an image is right, but not for this GPU or driver.
fn is_for_others(error: DriverError) -> bool {
    use sys::CUresult as Code;
    matches!(
        error.0,
        Code::CUDA_ERROR_NO_BINARY_FOR_GPU
            | Code::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
            | Code::CUDA_ERROR_JIT_COMPILER_NOT_FOUND
    )
}

impl Info {
    fn read(cuda: &Arc<CudaContext>) -> Result<Self, DriverError> {
        use sys::CUdevice_attribute as Attribute;
        let (major, minor) = cuda.compute_capability()?;
        let shared =
            cuda.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let multiprocessors =
            cuda.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let mut driver = 0;
        // SAFETY: the pointer is valid for a write.
        unsafe { sys::cuDriverGetVersion(&raw mut driver) }.result()?;
        Ok(Self {
            name: cuda.name()?,
            capability: u32::try_from(10 * major + minor).unwrap_or_default(),
            total_memory: cuda.total_mem()? as u64,
            driver,
            shared_memory: u32::try_from(shared).unwrap_or_default(),
            multiprocessors: u32::try_from(multiprocessors).unwrap_or_default(),
        })
    }
}

impl Pool {
    /// The pool that allocations of this GPU come from. Where nobody has said how much it keeps, it
    /// keeps all: taking memory from the system again after each synchronisation costs more than
    /// most operations.
    fn of(cuda: &CudaContext) -> Result<Self, DriverError> {
        use sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD as THRESHOLD;
        // SAFETY: the device is there.
        let pool = unsafe { result::device::get_mem_pool(cuda.cu_device()) }?;
        let mut kept = 0u64;
        // SAFETY: the value of this attribute is a u64.
        unsafe { result::mem_pool::get_attribute(pool, THRESHOLD, (&raw mut kept).cast()) }?;
        if kept == 0 {
            kept = u64::MAX;
            // SAFETY: as above.
            unsafe { result::mem_pool::set_attribute(pool, THRESHOLD, (&raw mut kept).cast()) }?;
        }
        Ok(Self(pool))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_described_in_words() {
        let info = Info {
            name: "A GPU".to_owned(),
            capability: 90,
            total_memory: (3 << 30) + (1 << 29),
            driver: 12080,
            shared_memory: 0,
            multiprocessors: 0,
        };
        assert_eq!(info.to_string(), "A GPU, sm_90, 3.5 GiB, driver for CUDA 12.8");
    }
}
