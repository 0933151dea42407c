//! Times of this library.

use std::time::{Duration, Instant, SystemTime};

use gpuint::{BackendKind, Device, DynBatch, HostBatch, Result, Shape};

use super::operation::Operation;

/// Times and results of one program.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// Rows that were computed: the first ones of the batch.
    pub(crate) rows: usize,
    /// Seconds of a run in device memory; `None` on the CPU.
    pub(crate) device: Option<f64>,
    /// Seconds of a run from host memory to host memory.
    pub(crate) host: f64,
    /// Results, one after the other.
    pub(crate) results: Vec<u8>,
    /// Start and end of the runs in device memory, for the power.
    pub(crate) span: Option<(SystemTime, SystemTime)>,
}

/// Times an operation on operands of `rows` rows, in about `limit`.
///
/// # Errors
/// Those of the device.
pub(crate) fn measure(
    device: &Device,
    operation: Operation,
    shape: Shape,
    operands: &[Vec<u8>],
    rows: usize,
    limit: Duration,
) -> Result<Measured> {
    let bytes = shape.bits / 8 * rows;
    let load = |bytes: &[u8]| DynBatch::from_le_bytes(device, shape, bytes);
    let zeros = || (0..operation.results()).map(|_| DynBatch::zeros(device, shape, rows));
    let mut batches: Vec<DynBatch> =
        operands.iter().map(|operand| load(&operand[..bytes])).collect::<Result<_>>()?;
    let mut outputs: Vec<DynBatch> = zeros().collect::<Result<_>>()?;

    // The first run loads the kernels.
    operation.compute(&batches, &mut outputs)?;
    let mut results = Vec::with_capacity(bytes * outputs.len());
    for output in &outputs {
        results.extend(output.to_le_bytes()?);
    }
    if device.backend() != BackendKind::Cuda {
        let host =
            fastest(limit, || Ok(device.time(|| operation.compute(&batches, &mut outputs))?.1))?;
        return Ok(Measured { rows, host, results, ..Measured::default() });
    }

    let begin = SystemTime::now();
    let seconds =
        fastest(limit / 2, || Ok(device.time(|| operation.compute(&batches, &mut outputs))?.1))?;
    let span = Some((begin, SystemTime::now()));

    let pinned = || HostBatch::new(device, shape, rows);
    let mut sources: Vec<HostBatch> = operands
        .iter()
        .map(|operand| {
            let mut host = pinned()?;
            host.as_bytes_mut()?.copy_from_slice(&operand[..bytes]);
            Ok(host)
        })
        .collect::<Result<_>>()?;
    let mut sinks: Vec<HostBatch> = outputs.iter().map(|_| pinned()).collect::<Result<_>>()?;
    let host = fastest(limit / 2, || {
        let start = Instant::now();
        for (batch, source) in batches.iter_mut().zip(&mut sources) {
            batch.upload(0, source)?;
        }
        operation.compute(&batches, &mut outputs)?;
        for (output, sink) in outputs.iter().zip(&mut sinks) {
            output.download(0, sink)?;
        }
        device.synchronize()?;
        Ok(start.elapsed())
    })?;
    Ok(Measured { rows, device: Some(seconds), host, results, span })
}

/// Seconds of the fastest of the runs that start within `limit`.
fn fastest(limit: Duration, mut run: impl FnMut() -> Result<Duration>) -> Result<f64> {
    let start = Instant::now();
    let mut best = run()?;
    while start.elapsed() < limit {
        best = best.min(run()?);
    }
    Ok(best.as_secs_f64().max(1e-9))
}
