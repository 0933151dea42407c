//! The work of a device as spans of `tracing`, the same for every backend.
//! `docs/gpu.md` lists them. The first launch of a kernel on a GPU has a span `load` inside, and that
//! a `compile` where the kernel is made at run time; [`Device::time`](crate::Device::time) says how
//! long a GPU works, which no span on the host does.

use std::time::Duration;

use tracing::trace_span;

use crate::auto::Gpu;
use crate::backend::{Backend, BackendKind, Buffer, Call};
use crate::error::Result;

/// A backend whose work is traced.
#[derive(Debug)]
pub(crate) struct Traced(pub(crate) Box<dyn Backend>);

impl Backend for Traced {
    fn kind(&self) -> BackendKind {
        self.0.kind()
    }

    fn name(&self) -> String {
        self.0.name()
    }

    fn gpu(&self) -> Option<Gpu> {
        self.0.gpu()
    }

    fn describe(&self) -> String {
        self.0.describe()
    }

    fn alloc(&self, bytes: u64) -> Result<Buffer> {
        trace_span!("alloc", bytes).in_scope(|| self.0.alloc(bytes))
    }

    fn alloc_zeroed(&self, bytes: u64) -> Result<Buffer> {
        trace_span!("alloc", bytes).in_scope(|| self.0.alloc_zeroed(bytes))
    }

    fn fill(&self, target: &mut Buffer, byte: u8) -> Result<()> {
        self.0.fill(target, byte)
    }

    fn upload(&self, target: &mut Buffer, offset: u64, source: &[u8]) -> Result<()> {
        trace_span!("copy", from = "host", to = "device", bytes = source.len())
            .in_scope(|| self.0.upload(target, offset, source))
    }

    fn download(&self, source: &Buffer, offset: u64, target: &mut [u8]) -> Result<()> {
        trace_span!("copy", from = "device", to = "host", bytes = target.len())
            .in_scope(|| self.0.download(source, offset, target))
    }

    fn copy(
        &self,
        target: &mut Buffer,
        to: u64,
        source: &Buffer,
        from: u64,
        bytes: u64,
    ) -> Result<()> {
        trace_span!("copy", from = "device", to = "device", bytes)
            .in_scope(|| self.0.copy(target, to, source, from, bytes))
    }

    fn launch(&self, call: Call<'_>) -> Result<()> {
        let rows = call.operands.rows;
        trace_span!("launch", backend = %self.kind(), kernel = %call.kernel, rows)
            .in_scope(|| self.0.launch(call))
    }

    fn synchronize(&self) -> Result<()> {
        trace_span!("synchronize").in_scope(|| self.0.synchronize())
    }

    fn trim(&self) -> Result<()> {
        self.0.trim()
    }

    fn time(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
        self.0.time(work)
    }
}
