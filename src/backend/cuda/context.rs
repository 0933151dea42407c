//! State that all handles to one GPU share: its context and its kernels.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::Arc;

use crate::backend::cuda::cache::Cache;
use crate::backend::cuda::driver::{self, Fault, GpuHandle, PoolHandle};
use crate::backend::cuda::info::Info;
use crate::backend::cuda::module::{Function, Module};
use crate::backend::cuda::nvrtc::Nvrtc;
use crate::backend::cuda::pinned::Chunks;
use crate::backend::cuda::runtime::{self, Origin, Use};
use crate::backend::host::PART_BYTES;
use crate::backend::images;
use crate::backend::once::OnceMap;
use crate::error::{Error, Result};
use crate::kernel::Instance;
use crate::process::PerProcess;

/// The contexts that were opened, by the number of the GPU. They stay for as long as the process,
/// as those of the CUDA runtime do: opening one takes tenths of a second.
static CONTEXTS: PerProcess<OnceMap<usize, Arc<Context>>> = PerProcess::new();

/// Longest copy for which little pinned memory is enough: pinning 4 MiB takes a millisecond.
const SHORT_BYTES: usize = 1 << 16;

/// The memory that freed buffers go back to, for the buffers that come next.
#[derive(Debug, Clone, Copy)]
struct Pool(PoolHandle);

// SAFETY: a handle of the driver, which takes it from any thread.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

/// A GPU as this process uses it.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) info: Info,
    functions: OnceMap<Instance, Arc<Function>>,
    /// Fatbins hold many kernels each; the key is the address of the fatbin.
    modules: OnceMap<usize, Arc<Module>>,
    cache: Cache,
    /// `None` where the GPU only allocates out of order.
    pool: Option<Pool>,
    /// Pinned memory for short copies and for the parts of long ones.
    short_chunks: Chunks,
    long_chunks: Chunks,
    pub(super) gpu: Arc<GpuHandle>,
}

impl Context {
    /// The context of the GPU of that number.
    pub(super) fn get(ordinal: usize) -> Result<Arc<Self>> {
        CONTEXTS.get().get_or_try_init(ordinal, || Self::open(ordinal).map(Arc::new))
    }

    fn open(ordinal: usize) -> Result<Self> {
        let gpu = GpuHandle::open(ordinal)?;
        let info = Info::read(&gpu).map_err(Fault::about(format_args!("GPU {ordinal}")))?;
        let pool = Pool::of(&gpu).map_err(Fault::about("the memory pool"))?;
        tracing::debug!(ordinal, %info, "opened a GPU");
        Ok(Self {
            info,
            functions: OnceMap::default(),
            modules: OnceMap::default(),
            cache: Cache::from_env(),
            pool,
            short_chunks: Chunks::new(SHORT_BYTES, 64),
            long_chunks: Chunks::new(PART_BYTES, 16),
            gpu: Arc::new(gpu),
        })
    }

    /// Returns true if memory is allocated and freed in the order of a stream.
    pub(super) fn has_pool(&self) -> bool {
        self.pool.is_some()
    }

    /// Returns the chunks for a copy of `bytes` bytes.
    pub(super) fn chunks(&self, bytes: usize) -> &Chunks {
        if bytes <= SHORT_BYTES { &self.short_chunks } else { &self.long_chunks }
    }

    /// Gives pinned memory that no copy has taken back to the system.
    pub(super) fn release_chunks(&self) {
        self.short_chunks.clear();
        self.long_chunks.clear();
    }

    /// Gives the memory that no buffer uses back to the system.
    pub(super) fn trim(&self) -> Result<(), Fault> {
        let Some(Pool(pool)) = self.pool else { return Ok(()) };
        // SAFETY: the pool is the device's own.
        Fault::check(unsafe { (self.gpu.functions.pool_trim)(pool, 0) })
    }

    /// The function of a kernel, ready to be launched.
    pub(super) fn function(&self, kernel: Instance) -> Result<Arc<Function>> {
        self.functions.get_or_try_init(kernel, || self.load(kernel).map(Arc::new))
    }

    fn load(&self, kernel: Instance) -> Result<Function> {
        let name = kernel.to_string();
        let span = tracing::debug_span!("load", kernel = name);
        let _entered = span.enter();
        // Embedded images have the kernels' own blocks.
        if kernel.is_as_built()
            && let Some(module) = self.embedded(&name)?
        {
            return Function::new(module, name, &self.info);
        }
        self.compiled(kernel, &name)
    }

    /// The module of the image that was built with the crate; `None` where there is none for this
    /// GPU.
    fn embedded(&self, name: &str) -> Result<Option<Arc<Module>>> {
        let Some(image) = images::embedded(name) else { return Ok(None) };
        let made = self.modules.get_or_try_init(image.as_ptr().addr(), || {
            Module::load(&self.gpu, image).map(Arc::new)
        });
        match made {
            Ok(module) => Ok(Some(module)),
            Err(fault) if fault.is_for_others() => {
                tracing::info!(name, %fault, "the embedded image is not for this GPU");
                Ok(None)
            }
            Err(fault) => Err(Fault::about(format_args!("the embedded image of {name}"))(fault)),
        }
    }

    /// The function in an image that was made at run time, by this process or an earlier one.
    ///
    /// An image of the cache that the driver refuses, or that lacks the kernel, is made anew: it
    /// would otherwise stop the operation for as long as the file exists.
    fn compiled(&self, kernel: Instance, name: &str) -> Result<Function> {
        let make = |cache: Use| {
            let (image, origin) =
                runtime::image(kernel, self.info.capability, Nvrtc::get(), &self.cache, cache)?;
            let load = || {
                let module = Module::load(&self.gpu, &image)
                    .map_err(Fault::about(format_args!("the image of {name} that NVRTC made")))?;
                Function::new(Arc::new(module), name.to_owned(), &self.info)
            };
            Ok((load(), origin))
        };
        match make(Use::Read)? {
            (Err(error @ Error::Driver(_)), Origin::Cache) => {
                tracing::warn!(name, %error, "a cached kernel is refused: it is made anew");
                make(Use::Replace)?.0
            }
            (function, _) => function,
        }
    }
}

impl Pool {
    /// The pool that allocations of this GPU come from. Where nobody has said how much it keeps, it
    /// keeps all: taking memory from the system again after each synchronisation costs more than
    /// most operations.
    fn of(gpu: &GpuHandle) -> Result<Option<Self>, Fault> {
        let Some(pool) = gpu.pool()? else { return Ok(None) };
        let (get, set) = (gpu.functions.pool_get, gpu.functions.pool_set);
        let mut kept = 0u64;
        let value = (&raw mut kept).cast();
        // SAFETY: the value of this attribute is a u64.
        Fault::check(unsafe { get(pool, driver::POOL_RELEASE_THRESHOLD, value) })?;
        if kept == 0 {
            kept = u64::MAX;
            let value = (&raw mut kept).cast();
            // SAFETY: as above.
            Fault::check(unsafe { set(pool, driver::POOL_RELEASE_THRESHOLD, value) })?;
        }
        // A failure comes again with the next allocation, and is that one's.
        let _ = Self::set_up(gpu);
        Ok(Some(Self(pool)))
    }

    /// Allocates and frees memory: the driver sets the pool up at its first allocation, which took
    /// 7 to 12 ms on an H200 (2026-11-22), and belongs to opening the GPU.
    fn set_up(gpu: &GpuHandle) -> Result<(), Fault> {
        let _bound = gpu.bind()?;
        let (alloc, free) = (gpu.functions.alloc_async, gpu.functions.free_async);
        let (mut address, stream) = (0, ptr::null_mut());
        // SAFETY: the pointer is valid for a write; null is the default stream of the context.
        Fault::check(unsafe { alloc(&raw mut address, 1, stream) })?;
        // SAFETY: the memory was allocated on this stream, and nothing uses it.
        Fault::check(unsafe { free(address, stream) })
    }
}
