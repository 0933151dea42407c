//! Times by the roofline of `benches/work.rs`, where there is no GPU: the kernels, as nvcc compiles them,
//! run in the PTX interpreter, and what is busy longest tells. Nothing waits for anything, so that it
//! says little about blocks.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::Timing;
use crate::codegen::{Entry, Task};
use crate::compiled::{self, Result};
use crate::count::{self, Unit};
use crate::operation::Operation;
use crate::roofline::H200;
use crate::sass;
use crate::space::Variant;
use crate::support::workload::Workload;

pub(crate) struct Model {
    nvcc: PathBuf,
    disassembler: Option<PathBuf>,
    tasks: Vec<Task<'static>>,
    /// By shape and block: all kernels of a shape are compiled together.
    units: HashMap<(gpuint::Shape, u32), Unit>,
}

impl Model {
    pub(crate) const NAME: &'static str = "H200 (roofline model)";

    /// The model; an error says what it lacks.
    pub(crate) fn new() -> Result<Self> {
        let nvcc = compiled::nvcc()?;
        let disassembler = sass::disassembler(&nvcc);
        Ok(Self { disassembler, nvcc, tasks: compiled::tasks()?, units: HashMap::new() })
    }

    /// The time of a variant.
    pub(crate) fn time(&mut self, variant: &Variant) -> Result<Timing> {
        let key = (variant.shape, variant.block);
        if !self.units.contains_key(&key) {
            let unit = self.unit(variant)?;
            self.units.insert(key, unit);
        }
        let unit = &self.units[&key];
        let kernel = unit.kernels.iter().find(|kernel| kernel.task == variant.task.name);
        let kernel = kernel.ok_or_else(|| format!("{variant} is not compiled"))?;
        let work = count::count(unit, kernel, Workload::Uniform)?;
        Ok(Timing::Ms(H200.time(&work.load()).0))
    }

    /// The kernels of a variant's shape, all with its block; those of the width only once.
    fn unit(&self, variant: &Variant) -> Result<Unit> {
        let own = variant.entry();
        let is_counted = |task: &&Task<'static>| {
            let is_known = task.per_width && !variant.is_own_block;
            Operation::of(task.name).is_some() && task.is_offered(own.bits, own.digit) && !is_known
        };
        let tasks = self.tasks.iter().filter(is_counted);
        let entries: Vec<_> = tasks.map(|&task| Entry { task, ..own }).collect();
        count::unit(&self.nvcc, self.disassembler.as_deref(), &entries, variant.shape)
    }
}
