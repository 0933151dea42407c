//! Images in the memory of a GPU, and the functions in them.
#![allow(unsafe_code)]

use std::ffi::{CString, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use bytemuck::Zeroable;

use crate::backend::cuda::driver::{
    self, Fault, FunctionHandle, GpuHandle, LaunchConfig, MAX_DYNAMIC_SHARED_BYTES, ModuleHandle,
    StreamHandle,
};
use crate::backend::cuda::info::Info;
use crate::backend::launch::{COUNTERS_BYTES, LaunchBounds, MAX_WORKSPACE_BYTES, RawOperands};
use crate::error::{Error, Result};

/// The most blocks of a launch.
const MAX_GRID: u32 = (1 << 31) - 1;
/// The most shared memory that a block has without asking.
const COMMON_SHARED_MEMORY: u32 = 48 << 10;
/// The most threads of a block, on every GPU so far.
const MAX_THREADS: u32 = 1024;
/// The most blocks of a cluster, on every GPU that has clusters.
const MAX_CLUSTER: u32 = 8;

/// An image that was loaded; dropping it unloads it.
#[derive(Debug)]
pub(super) struct Module {
    handle: ModuleHandle,
    gpu: Arc<GpuHandle>,
}

// SAFETY: a handle of the driver, which takes it from any thread that has bound its context.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    /// Loads a cubin, a fatbin, or PTX with a null byte at its end.
    pub(super) fn load(gpu: &Arc<GpuHandle>, image: &[u8]) -> Result<Self, Fault> {
        let _bound = gpu.bind()?;
        let image = Aligned::new(image);
        let mut handle = ptr::null_mut();
        // SAFETY: the pointer is valid for a write; the image is one of nvcc or NVRTC, whole, and
        // the driver makes its own copy.
        Fault::check(unsafe { (gpu.functions.module_load)(&raw mut handle, image.as_ptr()) })?;
        Ok(Self { handle, gpu: Arc::clone(gpu) })
    }

    /// Reads an array of the image. The context is bound.
    fn global<T: bytemuck::Pod>(&self, name: &str) -> Result<Vec<T>> {
        let failed = || Fault::about(name);
        let symbol = c_name(name)?;
        let (mut address, mut bytes) = (0, 0);
        let find = self.gpu.functions.module_global;
        // SAFETY: the pointers are valid for a write, and the module is loaded.
        Fault::check(unsafe {
            find(&raw mut address, &raw mut bytes, self.handle, symbol.as_ptr())
        })
        .map_err(failed())?;
        if bytes == 0 || !bytes.is_multiple_of(size_of::<T>()) {
            return Err(Error::Driver(format!(
                "{name} has {bytes} bytes instead of a multiple of {}",
                size_of::<T>()
            )));
        }
        let mut values = vec![T::zeroed(); bytes / size_of::<T>()];
        let download = self.gpu.functions.download;
        // SAFETY: the variable has that size, any bytes are values of the type, and the call
        // returns when they are there.
        Fault::check(unsafe { download(values.as_mut_ptr().cast(), address, bytes) })
            .map_err(failed())?;
        Ok(values)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let unload = || {
            let _bound = self.gpu.bind()?;
            // SAFETY: the handle is not used again: functions keep their module.
            Fault::check(unsafe { (self.gpu.functions.module_unload)(self.handle) })
        };
        Fault::log(unload(), "a module is not unloaded");
    }
}

/// A kernel, ready to be launched.
#[derive(Debug)]
pub(super) struct Function {
    name: String,
    handle: FunctionHandle,
    /// The launches of a call, in order.
    phases: Vec<Phase>,
    /// The handle is part of it.
    module: Arc<Module>,
}

/// A launch of a kernel.
#[derive(Debug)]
struct Phase {
    bounds: LaunchBounds,
    /// The most blocks that a launch has use for: as many as the GPU runs at a time, where blocks
    /// have scratch or stride over many rows.
    max_grid: u32,
    /// Rows that the GPU runs at a time; 0 if the kernel has no workspace.
    resident_rows: u64,
}

// SAFETY: a handle of the driver, which takes it from any thread that has bound its context.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Function {
    /// The function of that name.
    pub(super) fn new(module: Arc<Module>, name: String, info: &Info) -> Result<Self> {
        let gpu = &module.gpu;
        let _bound = gpu.bind().map_err(Fault::about(&name))?;
        let symbol = c_name(&name)?;
        let mut handle = ptr::null_mut();
        let find = gpu.functions.module_function;
        // SAFETY: the pointer is valid for a write, and the module is loaded.
        Fault::check(unsafe { find(&raw mut handle, module.handle, symbol.as_ptr()) })
            .map_err(Fault::about(&name))?;
        let bounds: Vec<LaunchBounds> = module.global(&format!("{name}_launch_bounds"))?;
        let mut shared_bytes = 0;
        for &bounds in &bounds {
            check(&name, bounds, info.shared_memory)?;
            shared_bytes = shared_bytes.max(bounds.shared_bytes);
        }
        if shared_bytes > COMMON_SHARED_MEMORY {
            // No more than the GPU has, which the driver gave as an i32.
            let bytes = shared_bytes as i32;
            let set = gpu.functions.function_attribute;
            // SAFETY: the function is there, and its context is bound.
            Fault::check(unsafe { set(handle, MAX_DYNAMIC_SHARED_BYTES, bytes) })
                .map_err(Fault::about(&name))?;
        }
        let phase = |bounds: LaunchBounds| {
            let (mut max_grid, mut resident_rows) = (MAX_GRID, 0);
            if bounds.scratch_bytes != 0 || bounds.persistent != 0 || bounds.row_bytes != 0 {
                let blocks =
                    resident_blocks(gpu, handle, bounds, info).map_err(Fault::about(&name))?;
                if bounds.scratch_bytes != 0 || bounds.persistent != 0 {
                    max_grid = blocks;
                }
                if bounds.row_bytes != 0 {
                    resident_rows = u64::from((blocks / bounds.cluster).max(1))
                        * u64::from(bounds.rows_per_block);
                }
            }
            tracing::debug!(?bounds, max_grid, "loaded");
            Ok(Phase { bounds, max_grid, resident_rows })
        };
        let phases = bounds.into_iter().map(phase).collect::<Result<_>>()?;
        Ok(Self { name, handle, phases, module })
    }

    /// Bytes of scratch for `rows` rows, of `bases` bases in products of powers: the most that a
    /// phase uses.
    pub(super) fn scratch_bytes(&self, rows: usize, bases: u64) -> u64 {
        let bytes =
            |phase: &Phase| u64::from(phase.grid(rows)) * u64::from(phase.bounds.scratch_bytes);
        self.phases.iter().map(bytes).max().unwrap_or(0).saturating_mul(bases.max(1))
    }

    /// Bytes of the workspace for `rows` rows.
    pub(super) fn workspace_bytes(&self, rows: usize) -> u64 {
        let row_bytes = self.phases.first().map_or(0, |phase| phase.bounds.row_bytes);
        (rows as u64).saturating_mul(u64::from(row_bytes))
    }

    /// Rows that the GPU runs at a time, in the phase that has the fewest; 0 if the kernel has no
    /// workspace.
    pub(super) fn resident_rows(&self) -> usize {
        let fewest = self.phases.iter().map(|phase| phase.resident_rows).min();
        usize::try_from(fewest.unwrap_or(0)).unwrap_or(usize::MAX)
    }

    /// Most rows of a part of a batch: a multiple of the resident rows.
    pub(super) fn rows_of_part(&self) -> usize {
        match self.resident_rows() {
            0 => usize::MAX,
            resident => {
                let times = MAX_WORKSPACE_BYTES / self.workspace_bytes(resident).max(1);
                usize::try_from(times.max(1)).unwrap_or(usize::MAX).saturating_mul(resident)
            }
        }
    }

    /// Launch configuration of the first phase.
    pub(super) fn launch_bounds(&self) -> LaunchBounds {
        self.phases.first().map_or_else(LaunchBounds::default, |phase| phase.bounds)
    }

    /// Queues `blocks` blocks of a kernel of one phase with arguments of its own. The context is
    /// bound to the calling thread.
    ///
    /// # Safety
    /// As [`launch`](Self::launch); the kernel takes the arguments by value.
    pub(super) unsafe fn launch_grid(
        &self,
        stream: StreamHandle,
        arguments: &[u8],
        blocks: u32,
    ) -> Result<()> {
        let Some(phase) = self.phases.first() else { return Ok(()) };
        // SAFETY: the caller's.
        unsafe { self.launch_phase(stream, phase, blocks, arguments.as_ptr().cast()) }
    }

    /// Bytes of counters, which are zero when a call begins.
    pub(super) fn counters_bytes(&self) -> u64 {
        if self.phases.len() > 1 { COUNTERS_BYTES } else { 0 }
    }

    /// Queues the phases of the kernel. The context is bound to the calling thread. If the last
    /// phases are repeated, `steps` reads their number after the others.
    ///
    /// # Safety
    /// The addresses of the operands are those of memory of this stream, as much of it as the
    /// kernel uses for its rows; memory that it writes is not used otherwise.
    pub(super) unsafe fn launch(
        &self,
        stream: StreamHandle,
        mut operands: RawOperands,
        steps: impl FnOnce() -> Result<u32>,
    ) -> Result<()> {
        let rows = usize::try_from(operands.rows).unwrap_or(usize::MAX);
        let mut queue = |phases: Range<usize>, step| {
            for index in phases {
                (operands.phase, operands.step) = (index as u64, step);
                let phase = &self.phases[index];
                let arguments = (&raw const operands).cast();
                // SAFETY: the caller's, for every phase; its argument is one `Operands`.
                unsafe { self.launch_phase(stream, phase, phase.grid(rows), arguments) }?;
            }
            Ok(())
        };
        let all = self.phases.len();
        let once = self.phases.partition_point(|phase| phase.bounds.repeated == 0);
        queue(0..once, 0)?;
        if once == all {
            return Ok(());
        }
        (0..steps()?).try_for_each(|step| queue(once..all, step.into()))
    }

    /// Queues a phase of the kernel.
    ///
    /// # Safety
    /// As [`launch`](Self::launch), for `grid` blocks; `arguments` points to the kernel's argument.
    unsafe fn launch_phase(
        &self,
        stream: StreamHandle,
        phase: &Phase,
        grid: u32,
        arguments: *const c_void,
    ) -> Result<()> {
        let LaunchBounds { threads, shared_bytes, cluster, .. } = phase.bounds;
        // Measured: 5 % faster with clusters of four whose blocks are spread.
        let mut attributes = [driver::cluster(cluster), driver::balanced_clusters()];
        let config = LaunchConfig {
            gridDimX: grid,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: shared_bytes,
            hStream: stream,
            attrs: attributes.as_mut_ptr(),
            numAttrs: if cluster == 1 { 0 } else { attributes.len() as u32 },
        };
        let mut arguments = [arguments.cast_mut()];
        // SAFETY: the configuration outlives the call; the kernel takes one argument by value,
        // which the driver copies before it returns; the rest is the caller's.
        Fault::check(unsafe {
            (self.module.gpu.functions.launch)(
                &raw const config,
                self.handle,
                arguments.as_mut_ptr(),
                ptr::null_mut(),
            )
        })
        .map_err(Fault::about(format_args!("launch of {}", self.name)))
    }
}

impl Phase {
    /// Blocks of the launch for `rows` rows.
    fn grid(&self, rows: usize) -> u32 {
        self.bounds.grid(rows, self.max_grid)
    }
}

/// The blocks of a kernel that a GPU runs at a time; at least one. The context is bound.
fn resident_blocks(
    gpu: &GpuHandle,
    handle: FunctionHandle,
    bounds: LaunchBounds,
    info: &Info,
) -> Result<u32, Fault> {
    // Both are no more than what `check` found the GPU to have.
    let (threads, shared_bytes) = (bounds.threads as i32, bounds.shared_bytes as usize);
    let mut blocks = 0;
    // SAFETY: the pointer is valid for a write, and the function is there.
    Fault::check(unsafe {
        (gpu.functions.occupancy)(&raw mut blocks, handle, threads, shared_bytes)
    })?;
    Ok(u32::try_from(blocks).unwrap_or(0).saturating_mul(info.multiprocessors).max(1))
}

/// Validates launch bounds of a kernel against the limits of the GPU.
fn check(kernel: &str, bounds: LaunchBounds, available: u32) -> Result<()> {
    let LaunchBounds { threads, shared_bytes: needed, rows_per_block, scratch_bytes, .. } = bounds;
    let LaunchBounds { persistent, cluster, repeated, .. } = bounds;
    if !(1..=MAX_THREADS).contains(&threads)
        || rows_per_block == 0
        || scratch_bytes % 16 != 0
        || persistent > 1
        || repeated > 1
        || !(1..=MAX_CLUSTER).contains(&cluster)
    {
        return Err(Error::Driver(format!(
            "{kernel}: its image is not one of this crate: {bounds:?}"
        )));
    }
    if needed > available {
        return Err(Error::SharedMemory { kernel: kernel.to_owned(), needed, available });
    }
    Ok(())
}

fn c_name(name: &str) -> Result<CString> {
    CString::new(name).map_err(|error| Error::Driver(error.to_string()))
}

/// A copy of an image at a 16-byte boundary, where the driver's reads of wide fields are aligned.
struct Aligned(Vec<Block>);

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(16))]
struct Block([u8; 16]);

impl Aligned {
    fn new(image: &[u8]) -> Self {
        let mut blocks = vec![Block::zeroed(); image.len().div_ceil(size_of::<Block>())];
        bytemuck::cast_slice_mut(&mut blocks)[..image.len()].copy_from_slice(image);
        Self(blocks)
    }

    fn as_ptr(&self) -> *const c_void {
        self.0.as_ptr().cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: LaunchBounds = LaunchBounds {
        threads: 128,
        shared_bytes: 65536,
        rows_per_block: 4,
        scratch_bytes: 32,
        persistent: 0,
        cluster: 1,
        row_bytes: 8,
        repeated: 0,
    };

    #[test]
    fn launch_structs_match_their_twins() {
        let words: [u8; 32] = bytemuck::cast([128u32, 65536, 4, 32, 0, 1, 8, 0]);
        assert_eq!(bytemuck::pod_read_unaligned::<LaunchBounds>(&words), BOUNDS);
        assert_eq!(size_of::<RawOperands>(), 168);
    }

    #[test]
    fn unsupported_kernel_is_rejected_with_its_name() {
        assert_eq!(check("k", BOUNDS, 65536), Ok(()));
        assert_eq!(
            check("k", BOUNDS, 65535),
            Err(Error::SharedMemory { kernel: "k".to_owned(), needed: 65536, available: 65535 })
        );
        for wrong in [
            LaunchBounds { threads: 0, ..BOUNDS },
            LaunchBounds { threads: 1025, ..BOUNDS },
            LaunchBounds { rows_per_block: 0, ..BOUNDS },
            LaunchBounds { scratch_bytes: 8, ..BOUNDS },
            LaunchBounds { persistent: 2, ..BOUNDS },
            LaunchBounds { cluster: 0, ..BOUNDS },
            LaunchBounds { cluster: 9, ..BOUNDS },
        ] {
            assert!(matches!(check("k", wrong, 65536), Err(Error::Driver(_))), "{wrong:?}");
        }
    }

    #[test]
    fn grids_cover_all_rows_and_no_more_than_there_can_be() {
        assert_eq!(BOUNDS.grid(1, MAX_GRID), 1);
        assert_eq!(BOUNDS.grid(4, MAX_GRID), 1);
        assert_eq!(BOUNDS.grid(5, MAX_GRID), 2);
        assert_eq!(BOUNDS.grid(usize::MAX, MAX_GRID), MAX_GRID);
        let clusters = LaunchBounds { cluster: 4, rows_per_block: 1, ..BOUNDS };
        assert_eq!(clusters.grid(1, MAX_GRID), 4);
        assert_eq!(clusters.grid(5, MAX_GRID), 20);
        assert_eq!(clusters.grid(5, 11), 8);
        assert_eq!(clusters.grid(usize::MAX, MAX_GRID), MAX_GRID - 3);
    }

    #[test]
    fn images_are_aligned() {
        for length in [0, 1, 15, 16, 17] {
            let image: Vec<u8> = (0..length).collect();
            let aligned = Aligned::new(&image);
            assert!(aligned.as_ptr().addr().is_multiple_of(16));
            assert_eq!(bytemuck::cast_slice::<_, u8>(&aligned.0)[..image.len()], image);
        }
    }
}
