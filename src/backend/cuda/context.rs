//! What all handles to one GPU share: its context, what is known about it, and its kernels.
#![allow(unsafe_code)]

use std::fmt;
use std::sync::{Arc, LazyLock};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::{CudaContext, sys};

use crate::backend::Kernel;
use crate::backend::cuda::cache::{Cache, Key};
use crate::backend::cuda::module::{Function, Module};
use crate::backend::cuda::nvrtc::{self, Nvrtc};
use crate::backend::cuda::once::OnceMap;
use crate::backend::images::{self, HEADERS};
use crate::error::{Error, Result};

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
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, capability, total_memory, driver, .. } = self;
        let (major, minor) = (driver / 1000, driver % 1000 / 10);
        // Gibibytes with one digit.
        let tenths = (total_memory >> 20) * 10 >> 10;
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
    functions: OnceMap<Kernel, Arc<Function>>,
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

    /// The function of a kernel, ready to be launched.
    pub(super) fn function(&self, kernel: &Kernel) -> Result<Arc<Function>> {
        self.functions.get_or_try_init(*kernel, || self.load(kernel).map(Arc::new))
    }

    fn load(&self, kernel: &Kernel) -> Result<Function> {
        let name = kernel.to_string();
        let span = tracing::debug_span!("load", kernel = name);
        let _entered = span.enter();
        let module = match self.embedded(&name)? {
            Some(module) => module,
            None => Arc::new(self.compiled(kernel, &name)?),
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
    fn compiled(&self, kernel: &Kernel, name: &str) -> Result<Module> {
        let missing = |remedy: String| Error::KernelMissing { kernel: name.to_owned(), remedy };
        let source = images::source(kernel).ok_or_else(|| {
            missing("kernels/catalogue.toml does not say how it is computed".to_owned())
        })?;
        let capability = self.info.capability;
        let nvrtc = Nvrtc::get().map_err(|reason| {
            missing(format!(
                "no image for sm_{capability} was built with the crate, and there is no NVRTC to make one ({reason}); \
                 build where nvcc is found (PATH, CUDA_HOME or GPUINT_NVCC; GPUINT_ARCHS says for which GPUs), \
                 or install NVRTC, for example \"pip install nvidia-cuda-nvrtc\", and set {} to its libnvrtc",
                nvrtc::VARIABLE
            ))
        })?;
        let target = nvrtc.target(capability).ok_or_else(|| {
            missing(format!(
                "{} does not compile for sm_{capability}: set {} to a version that does",
                nvrtc.describe(),
                nvrtc::VARIABLE
            ))
        })?;
        let key = key(name, &source, &nvrtc.describe(), &target.options());
        let image = match self.cache.read(&key) {
            Some(image) => image,
            None => {
                let span = tracing::info_span!("compile", kernel = name, ?target);
                let image = span.in_scope(|| nvrtc.compile(&source, HEADERS, target))?;
                self.cache.write(&key, &image);
                image
            }
        };
        Module::load(&self.cuda, &image)
            .map_err(driver(format_args!("the image of {name} by {}", nvrtc.describe())))
    }
}

/// The key of a kernel's image: everything that the image depends on.
fn key(name: &str, source: &str, compiler: &str, options: &[String]) -> Key {
    let headers = HEADERS.iter().flat_map(|&(name, text)| [name, text]);
    let texts = [source, compiler].into_iter().chain(options.iter().map(String::as_str));
    Key::new(name, texts.chain(headers))
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
        let mut driver = 0;
        // SAFETY: the pointer is valid for a write.
        unsafe { sys::cuDriverGetVersion(&raw mut driver) }.result()?;
        Ok(Self {
            name: cuda.name()?,
            capability: u32::try_from(10 * major + minor).unwrap_or_default(),
            total_memory: cuda.total_mem()? as u64,
            driver,
            shared_memory: u32::try_from(shared).unwrap_or_default(),
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
