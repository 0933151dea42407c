//! The work of a device as spans of `tracing`, the same for every backend.
//! `docs/gpu.md` lists them. The first launch of a kernel on a GPU has a span `load` inside, and
//! that a `compile` if the kernel is made at run time. Spans measure the host;
//! [`Device::time`](crate::Device::time) measures the GPU.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use gpuint_catalogue::auto::Gpu;
use tracing::trace_span;

use crate::backend::long::{KeptProducts, Transforms};
use crate::backend::sieve::{Divisions, Strikes, Windows};
use crate::backend::{Backend, BackendKind, Buffer, Call, HostBuffer, Mark, Span};
use crate::error::Result;
use crate::interrupt;

/// A backend whose work is traced.
#[derive(Debug)]
pub(crate) struct Traced(pub(crate) Box<dyn Backend>);

impl Traced {
    /// The backend, in a process in which it works: elsewhere its locks may be held forever.
    fn here(&self) -> Result<&dyn Backend> {
        self.0.check_process()?;
        Ok(&*self.0)
    }
}

impl Backend for Traced {
    fn check_process(&self) -> Result<()> {
        self.0.check_process()
    }

    fn kind(&self) -> BackendKind {
        self.0.kind()
    }

    fn as_any(&self) -> Option<&dyn Any> {
        self.0.as_any()
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
        trace_span!("alloc", bytes).in_scope(|| self.here()?.alloc(bytes))
    }

    fn alloc_zeroed(&self, bytes: u64) -> Result<Buffer> {
        trace_span!("alloc", bytes).in_scope(|| self.here()?.alloc_zeroed(bytes))
    }

    fn fill(&self, target: &mut Buffer, byte: u8) -> Result<()> {
        self.here()?.fill(target, byte)
    }

    fn upload_parts(
        &self,
        target: &mut Buffer,
        span: Span,
        fill: &mut dyn FnMut(usize, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        trace_span!("copy", from = "host", to = "device", bytes = span.bytes).in_scope(|| {
            self.here()?.upload_parts(target, span, &mut |start, part| {
                interrupt::check()?;
                fill(start, part)
            })
        })
    }

    fn download_parts(
        &self,
        source: &Buffer,
        span: Span,
        read: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        trace_span!("copy", from = "device", to = "host", bytes = span.bytes).in_scope(|| {
            self.here()?.download_parts(source, span, &mut |start, part| {
                interrupt::check()?;
                read(start, part)
            })
        })
    }

    fn alloc_host(&self, bytes: usize) -> Result<Box<dyn HostBuffer>> {
        trace_span!("alloc_host", bytes).in_scope(|| self.here()?.alloc_host(bytes))
    }

    fn upload_from(
        &self,
        target: &mut Buffer,
        offset: u64,
        source: &mut dyn HostBuffer,
        part: Range<usize>,
    ) -> Result<()> {
        trace_span!("copy", from = "pinned", to = "device", bytes = part.len())
            .in_scope(|| self.here()?.upload_from(target, offset, source, part))
    }

    fn download_to(
        &self,
        source: &Buffer,
        offset: u64,
        target: &mut dyn HostBuffer,
        part: Range<usize>,
    ) -> Result<()> {
        trace_span!("copy", from = "device", to = "pinned", bytes = part.len())
            .in_scope(|| self.here()?.download_to(source, offset, target, part))
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
            .in_scope(|| self.here()?.copy(target, to, source, from, bytes))
    }

    fn launch(&self, call: Call<'_>) -> Result<()> {
        interrupt::check()?;
        let rows = call.operands.rows;
        trace_span!("launch", backend = %self.kind(), kernel = %call.kernel, rows)
            .in_scope(|| self.here()?.launch(call))
    }

    fn has_long_rows(&self) -> bool {
        self.0.has_long_rows()
    }

    fn has_transforms(&self) -> bool {
        self.0.has_transforms()
    }

    fn transform(&self, transforms: Transforms<'_>) -> Result<()> {
        interrupt::check()?;
        let (rows, is_cyclic) = (transforms.count, transforms.is_cyclic);
        trace_span!("transform", backend = %self.kind(), rows, is_cyclic)
            .in_scope(|| self.here()?.transform(transforms))
    }

    fn multiply(&self, products: KeptProducts<'_>) -> Result<()> {
        interrupt::check()?;
        let (rows, is_cyclic) = (products.count, products.is_cyclic);
        trace_span!("multiply", backend = %self.kind(), rows, is_cyclic)
            .in_scope(|| self.here()?.multiply(products))
    }

    fn has_sieves(&self) -> bool {
        self.0.has_sieves()
    }

    fn strike(&self, strikes: Strikes<'_>) -> Result<()> {
        interrupt::check()?;
        let (bits, primes) = (strikes.bits, strikes.primes.len());
        trace_span!("strike", backend = %self.kind(), bits, primes)
            .in_scope(|| self.here()?.strike(strikes))
    }

    fn divide_by_primes(&self, divisions: Divisions<'_>) -> Result<()> {
        interrupt::check()?;
        let (rows, primes) = (divisions.count, divisions.products.primes.len());
        trace_span!("divide_by_primes", backend = %self.kind(), rows, primes)
            .in_scope(|| self.here()?.divide_by_primes(divisions))
    }

    fn sieve_windows(&self, windows: Windows<'_>) -> Result<()> {
        interrupt::check()?;
        let (rows, primes) = (windows.count, windows.products.primes.len());
        trace_span!("sieve_windows", backend = %self.kind(), rows, primes)
            .in_scope(|| self.here()?.sieve_windows(windows))
    }

    fn record(&self) -> Result<Arc<dyn Mark>> {
        self.here()?.record()
    }

    fn wait_for(&self, mark: &dyn Mark) -> Result<()> {
        self.here()?.wait_for(mark)
    }

    fn queue(&self) -> Result<Option<Box<dyn Backend>>> {
        self.here()?.queue()
    }

    fn memory_id(&self) -> Option<usize> {
        self.0.memory_id()
    }

    fn synchronize(&self) -> Result<()> {
        trace_span!("synchronize").in_scope(|| self.here()?.synchronize())
    }

    fn trim(&self) -> Result<()> {
        self.here()?.trim()
    }

    fn time(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
        self.here()?.time(work)
    }
}
