//! Times by the roofline of `benches/work.rs`, for machines without a GPU. The PTX interpreter runs
//! the kernels as nvcc compiles them, and the time is that of the busiest pipe. The model has no
//! latencies, so it says little about block sizes.

use std::collections::HashMap;
use std::path::PathBuf;

use gpuint_benches::count::{self, Unit};
use gpuint_benches::operation::OPERATIONS;
use gpuint_benches::roofline::H200;
use gpuint_benches::sass;
use gpuint_benches::workload::Workload;
use gpuint_catalogue::Kernel;
use gpuint_testkit::ptx::{self, Result};

use crate::Timing;
use crate::space::Variant;

pub(crate) struct Model {
    nvcc: PathBuf,
    disassembler: Option<PathBuf>,
    /// By shape and block: all kernels of a shape are compiled together.
    units: HashMap<(gpuint::Shape, u32), Unit>,
}

impl Model {
    pub(crate) const NAME: &'static str = "H200 (roofline model)";

    /// Makes the model; an error names the missing tool.
    pub(crate) fn new() -> Result<Self> {
        let nvcc = ptx::nvcc()?;
        let disassembler = sass::disassembler(&nvcc);
        Ok(Self { disassembler, nvcc, units: HashMap::new() })
    }

    /// Predicts the time of a variant.
    pub(crate) fn time(&mut self, variant: &Variant) -> Result<Timing> {
        let key = (variant.shape, variant.block);
        if !self.units.contains_key(&key) {
            let unit = self.unit(variant)?;
            self.units.insert(key, unit);
        }
        let unit = &self.units[&key];
        let kernel = unit.kernels.iter().find(|kernel| kernel.row == variant.row);
        let kernel = kernel.ok_or_else(|| format!("{variant} is not compiled"))?;
        let work = count::count(unit, kernel, Workload::Uniform)?;
        Ok(Timing::Ms(H200.time(&work.load()).0))
    }

    /// The kernels of a variant's shape, all with its block size; those of the width only once.
    fn unit(&self, variant: &Variant) -> Result<Unit> {
        let own = variant.kernel();
        let rows = ptx::catalogue()?.rows().filter(|row| {
            let is_known = row.per_width && !variant.is_own_block;
            OPERATIONS.contains(&row.op) && row.is_offered(own.shape) && !is_known
        });
        let kernels: Vec<_> = rows.map(|row| Kernel { row, ..own }).collect();
        count::unit(&self.nvcc, self.disassembler.as_deref(), &kernels, variant.shape)
    }
}
