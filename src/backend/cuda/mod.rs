//! NVIDIA GPUs, through the driver.
//!
//! - `context`: what all handles to one GPU share: its kernels, from wherever they come
//! - `driver`, `nvrtc`: the functions of the two libraries
//! - `info`: the properties of a GPU
//! - `memory`: a stream and the memory that is used on it
//! - `module`: images in the memory of the GPU, and launches
//! - `runtime`: images that are made at run time, by NVRTC, and kept in `cache`
//! - `once`: what is made once for all threads
//!
//! The libraries are found at run time: nothing is linked, and where there is no driver, there is
//! no device.

mod cache;
mod context;
mod driver;
mod info;
mod library;
mod memory;
mod module;
mod nvrtc;
mod once;
mod runtime;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use crate::auto::Gpu;
use crate::backend::launch::RawOperands;
use crate::backend::{Backend, BackendKind, Buffer, Call};
use crate::error::Result;
use context::Context;
use info::Info;
use memory::{DeviceMemory, Queue};

/// A GPU with a stream of its own.
#[derive(Debug)]
pub(crate) struct Cuda {
    queue: Arc<Queue>,
    /// The threads per block that kernels aim at; `None`: what each was built with.
    block: Option<u32>,
}

/// Opens the GPU of that number with a stream of its own, for kernels with their own blocks or others.
pub(crate) fn open(ordinal: usize, block: Option<u32>) -> Result<Box<dyn Backend>> {
    let queue = Arc::new(Queue::new(Context::get(ordinal)?)?);
    Ok(Box::new(Cuda { queue, block }))
}

impl Cuda {
    /// A buffer of this queue.
    fn memory<'a>(&self, buffer: &'a Buffer) -> Result<&'a DeviceMemory> {
        let memory = buffer.memory::<DeviceMemory>()?;
        memory.address(&self.queue)?;
        Ok(memory)
    }

    /// A buffer of this queue.
    fn memory_mut<'a>(&self, buffer: &'a mut Buffer) -> Result<&'a mut DeviceMemory> {
        let memory = buffer.memory_mut::<DeviceMemory>()?;
        memory.address(&self.queue)?;
        Ok(memory)
    }
}

impl Backend for Cuda {
    fn kind(&self) -> BackendKind {
        BackendKind::Cuda
    }

    fn name(&self) -> String {
        self.queue.context.info.name.clone()
    }

    fn gpu(&self) -> Option<Gpu> {
        let Info { name, capability, shared_memory, multiprocessors, .. } =
            &self.queue.context.info;
        Some(Gpu {
            name: name.clone(),
            capability: *capability,
            shared_memory: *shared_memory,
            multiprocessors: *multiprocessors,
        })
    }

    fn describe(&self) -> String {
        self.queue.context.info.to_string()
    }

    fn alloc(&self, bytes: u64) -> Result<Buffer> {
        DeviceMemory::new(&self.queue, bytes).map(Buffer::new)
    }

    fn alloc_zeroed(&self, bytes: u64) -> Result<Buffer> {
        let mut memory = DeviceMemory::new(&self.queue, bytes)?;
        memory.fill(0)?;
        Ok(Buffer::new(memory))
    }

    fn fill(&self, target: &mut Buffer, byte: u8) -> Result<()> {
        self.memory_mut(target)?.fill(byte)
    }

    fn upload(&self, target: &mut Buffer, offset: u64, source: &[u8]) -> Result<()> {
        self.memory_mut(target)?.upload(offset, source)
    }

    fn download(&self, source: &Buffer, offset: u64, target: &mut [u8]) -> Result<()> {
        self.memory(source)?.download(offset, target)
    }

    fn copy(
        &self,
        target: &mut Buffer,
        to: u64,
        source: &Buffer,
        from: u64,
        bytes: u64,
    ) -> Result<()> {
        self.memory_mut(target)?.copy(to, self.memory(source)?, from, bytes)
    }

    #[allow(unsafe_code)]
    fn launch(&self, call: Call<'_>) -> Result<()> {
        let function = self.queue.context.function(call.kernel, self.block)?;
        let rows = call.operands.rows;
        let mut operands = RawOperands::new(
            call.operands,
            |buffer| buffer.memory::<DeviceMemory>()?.address(&self.queue),
            |buffer| buffer.memory_mut::<DeviceMemory>()?.address(&self.queue),
        )?;
        let _bound = self.queue.bind()?;
        // Freed in the order of the stream: after the kernel.
        let scratch = DeviceMemory::new(&self.queue, function.scratch_bytes(rows))?;
        let workspace = DeviceMemory::new(&self.queue, function.workspace_bytes(rows))?;
        let mut counters = DeviceMemory::new(&self.queue, function.counters_bytes())?;
        counters.fill(0)?;
        operands.scratch = scratch.address(&self.queue)?;
        operands.workspace = workspace.address(&self.queue)?;
        operands.counters = counters.address(&self.queue)?;
        // SAFETY: the buffers belong to the stream and were borrowed by the call, those that are
        // written mutably; `Call::check` found them long enough; and what comes to them later, a
        // free included, is queued after the kernel.
        unsafe { function.launch(self.queue.stream, rows, operands) }
    }

    fn synchronize(&self) -> Result<()> {
        self.queue.synchronize()
    }

    fn trim(&self) -> Result<()> {
        self.queue.trim()
    }

    fn time(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
        let start = self.queue.mark()?;
        work()?;
        let end = self.queue.mark()?;
        self.queue.elapsed(&start, &end)
    }
}
