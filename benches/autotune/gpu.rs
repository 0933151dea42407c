//! Device times by events in its queue: operands are on the device before, and results stay there.

use std::collections::HashMap;

use gpuint::{BackendKind, Device, Error, tuning};
use gpuint_benches::batches::{Batches, Operands, Times, ways};
use gpuint_testkit::ptx::Result;

use crate::Timing;
use crate::space::Variant;

/// Maximum number of measurements of a variant.
const RUNS: u32 = 25;
/// Approximate seconds for a variant after the third measurement.
const SECONDS: f64 = 0.25;
/// Bits of the batch for which times are stated.
const BATCH: f64 = 4_294_967_296.0;
/// Number of checked rows.
const CHECKED: usize = 4;

/// Measures times on a GPU.
pub(crate) struct GpuTimer {
    device: Device,
    /// The same GPU with kernels of other block sizes.
    by_block: HashMap<u32, Device>,
    /// Reason why there are none; it is the same for all variants.
    no_other_blocks: Option<String>,
    operands: Operands,
}

impl GpuTimer {
    /// Operands for batches of `2^batch` bits.
    pub(crate) fn new(device: Device, batch: u32) -> Self {
        let operands = Operands::new(1 << batch);
        Self { device, by_block: HashMap::new(), no_other_blocks: None, operands }
    }

    pub(crate) fn name(&self) -> String {
        self.device.name()
    }

    pub(crate) fn device(&self) -> Device {
        self.device.clone()
    }

    pub(crate) fn properties(&self) -> Option<gpuint::Gpu> {
        self.device.gpu()
    }

    pub(crate) fn is_cuda(&self) -> bool {
        self.device.backend() == BackendKind::Cuda
    }

    /// Measures the time of a variant.
    pub(crate) fn time(&mut self, variant: &Variant) -> Result<Timing> {
        let device = match self.device_of(variant)? {
            Ok(device) => device,
            Err(reason) => return Ok(Timing::Skipped(reason)),
        };
        let mut few = variant.few_rows.map(|rows| Operands::new(rows * variant.shape.bits));
        let operands = few.as_mut().unwrap_or(&mut self.operands);
        let measurement = Measurement { variant, device, operands };
        match measurement.run() {
            Ok(ms) => Ok(Timing::Ms(ms)),
            Err(Trouble::Device(Error::KernelMissing { remedy, .. })) => {
                if !variant.is_own_block {
                    self.no_other_blocks = Some(remedy.clone());
                }
                Ok(Timing::Skipped(remedy))
            }
            Err(Trouble::Device(error @ (Error::SharedMemory { .. } | Error::Compile { .. }))) => {
                Ok(Timing::Skipped(error.to_string()))
            }
            Err(Trouble::Device(error)) => Err(format!("{variant}: {error}")),
            Err(Trouble::Wrong(row)) => Err(format!("{variant}: row {row} is wrong")),
        }
    }

    /// Returns the device that has the variant's kernel with its block size, or the reason why
    /// there is none.
    fn device_of(&mut self, variant: &Variant) -> Result<std::result::Result<Device, String>> {
        if variant.is_own_block {
            return Ok(Ok(self.device.clone()));
        }
        if !self.is_cuda() {
            let backend = self.device.backend();
            return Ok(Err(format!("{backend} has the blocks that it was built with")));
        }
        if let Some(reason) = &self.no_other_blocks {
            return Ok(Err(reason.clone()));
        }
        if let Some(device) = self.by_block.get(&variant.block) {
            return Ok(Ok(device.clone()));
        }
        let device =
            tuning::device_with_block(0, variant.block).map_err(|error| error.to_string())?;
        self.by_block.insert(variant.block, device.clone());
        Ok(Ok(device))
    }
}

enum Trouble {
    Device(Error),
    /// A row has a wrong result.
    Wrong(usize),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Device(error)
    }
}

struct Measurement<'a> {
    variant: &'a Variant,
    device: Device,
    operands: &'a mut Operands,
}

impl Measurement<'_> {
    /// Milliseconds for the variant's few rows, or for a batch of 2^32 bits.
    fn run(self) -> std::result::Result<f64, Trouble> {
        let Self { variant, device, operands } = self;
        let (op, shape) = (variant.row.op, variant.shape);
        let mut batches = Batches::of(op, shape, &device, operands)?;
        let mut ways = ways(shape, batches.u.len(), &device, op).into_iter();
        let Some(way) = ways.find(|way| way.name == variant.row.algorithm.to_string()) else {
            let kernel = variant.kernel().name();
            let remedy = "the operations offer no such strategy".to_owned();
            return Err(Error::KernelMissing { kernel, remedy }.into());
        };
        let times =
            Times::of(RUNS, SECONDS, || Ok::<_, Error>(device.time(|| way.run(&mut batches))?.1))?;
        let rows = batches.u.len();
        for row in (0..rows).step_by(rows.div_ceil(CHECKED).max(1)) {
            if !batches.is_right(op, row)? {
                return Err(Trouble::Wrong(row));
            }
        }
        let ms = times.median().as_secs_f64() * 1e3;
        Ok(match variant.few_rows {
            Some(_) => ms,
            None => ms * BATCH / (rows * shape.bits) as f64,
        })
    }
}
