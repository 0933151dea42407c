//! The work of a device as spans of `tracing`, the same for every backend.
//! `docs/gpu.md` lists them. The first launch of a kernel on a GPU has a span `load` inside, and that
//! a `compile` where the kernel is made at run time; [`Device::time`](crate::Device::time) says how
//! long a GPU works, which no span on the host does.

use std::time::Duration;

use tracing::trace_span;

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

    fn copy(&self, target: &mut Buffer, source: &Buffer) -> Result<()> {
        trace_span!("copy", from = "device", to = "device", bytes = source.bytes())
            .in_scope(|| self.0.copy(target, source))
    }

    fn launch(&self, call: Call<'_>) -> Result<()> {
        let rows = call.operands.rows;
        trace_span!("launch", backend = %self.kind(), kernel = %call.kernel, rows)
            .in_scope(|| self.0.launch(call))
    }

    fn synchronize(&self) -> Result<()> {
        trace_span!("synchronize").in_scope(|| self.0.synchronize())
    }

    fn time(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
        self.0.time(work)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex, PoisonError};

    use num_bigint::BigUint;
    use tracing::Level;
    use tracing_subscriber::fmt::format::FmtSpan;

    use crate::{Batch, Classical, Device, GpuUint};

    /// A log in memory.
    #[derive(Debug, Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Log {
        fn bytes(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.bytes().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines that a subscriber writes of all that `work` does.
    fn traced(work: impl FnOnce()) -> String {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(Level::TRACE)
            .with_span_events(FmtSpan::NEW | FmtSpan::CLOSE)
            .without_time()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, work);
        String::from_utf8(log.bytes().clone()).unwrap()
    }

    #[test]
    fn work_is_spans_with_sizes() {
        let work = || {
            let values = [3u32, 5, 7].map(BigUint::from);
            let device = Device::cpu();
            let a = Batch::<GpuUint<1024>>::from_biguints(&device, &values).unwrap();
            let squares = a.wrapping_mul_with::<Classical>(&a.try_clone().unwrap()).unwrap();
            device.synchronize().unwrap();
            assert_eq!(squares.to_biguints().unwrap(), [9u32, 25, 49].map(BigUint::from));
        };
        let log = traced(work);
        for span in [
            "alloc{bytes=384}",
            "copy{from=\"host\" to=\"device\" bytes=384}",
            "copy{from=\"device\" to=\"device\" bytes=384}",
            "launch{backend=cpu kernel=gpuint_mul_lo_classical_b1024_q4_u64 rows=3}",
            "copy{from=\"device\" to=\"host\" bytes=384}",
            "synchronize",
        ] {
            for event in ["new", "close"] {
                let is_there = |line: &str| line.contains(span) && line.contains(event);
                assert!(log.lines().any(is_there), "{span} {event} is not in\n{log}");
            }
        }
    }
}
