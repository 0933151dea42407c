//! Kernels of the catalogue, compiled by nvcc, run by the PTX interpreter on a workload, and counted.

use std::path::Path;

use gpuint::Shape;
use gpuint::num_bigint::BigUint;
use ptxi::Checks;

use crate::codegen::Entry;
use crate::compiled::{self, Compiled, Facts, How, Operands, Outcome, Result, bytes_of};
use crate::operation::Operation;
use crate::roofline::Load;
use crate::sass::{self, Expansion, Pipes};
use crate::workload::Workload;

/// Bits that the kernels of a shape multiply at a time.
fn limb_bits(shape: Shape) -> usize {
    shape.digit.bits().min(32)
}

/// A compiled shape.
pub(crate) struct Unit {
    shape: Shape,
    compiled: Compiled,
    pub(crate) kernels: Vec<Kernel>,
}

pub(crate) struct Kernel {
    pub(crate) task: &'static str,
    name: String,
    facts: Facts,
    expansion: Expansion,
}

/// Compiles some kernels of one shape.
pub(crate) fn unit(
    nvcc: &Path,
    disassembler: Option<&Path>,
    entries: &[Entry<'static>],
    shape: Shape,
) -> Result<Unit> {
    let compiled = compiled::compile(nvcc, entries, &[])?;
    let names: Vec<_> = entries.iter().map(Entry::name).collect();
    let expansions = sass::expansions(nvcc, disassembler, &compiled, &names)?;
    let kernel = |((entry, name), expansion): ((&Entry<'static>, String), Expansion)| {
        let facts = Facts::read(&compiled.module, &name)?;
        Ok(Kernel { task: entry.task.name, name, facts, expansion })
    };
    let kernels = entries.iter().zip(names).zip(expansions).map(kernel).collect::<Result<_>>()?;
    Ok(Unit { shape, compiled, kernels })
}

/// One line of the table.
pub(crate) struct Work {
    pub(crate) shape: Shape,
    pub(crate) op: Operation,
    pub(crate) strategy: String,
    pub(crate) workload: Workload,
    pub(crate) rows: usize,
    pub(crate) full_mults: f64,
    pub(crate) steps: f64,
    pub(crate) barriers: f64,
    pub(crate) pipes: Pipes,
    pub(crate) wavefronts: f64,
    pub(crate) sectors: f64,
    /// Of the operands and results.
    pub(crate) row_sectors: f64,
}

/// What a multiprocessor gets of a batch of 2^32 bits.
const MULTIPROCESSOR_BITS: usize = 1 << 25;

/// Rows that fill the warps of a block, and are enough for a mean.
fn row_count(op: Operation, workload: Workload, kernel: &Kernel, bits: usize) -> usize {
    let block = kernel.facts.rows_per_block as usize;
    match op {
        Operation::DivRem | Operation::ShiftedInverse => {
            if by_lanes(kernel.task, bits) {
                // A warp's rows are of equal length where there are many to choose from.
                return (MULTIPROCESSOR_BITS / bits).next_multiple_of(block);
            }
            // Groups within a warp take four times as many rows at a time, by length.
            let batch = if block > 1 { 4 * block } else { block };
            let few = matches!(workload, Workload::Half | Workload::Square);
            let wanted = (1usize << 20).div_ceil(bits).min(64).div_ceil(if few { 2 } else { 1 });
            wanted.next_multiple_of(batch)
        }
        _ => block,
    }
}

/// Whether a few lanes divide a row: `LANE_DIVISION_BITS` of kernels/tuning/division.cuh.
fn by_lanes(task: &str, bits: usize) -> bool {
    task == "div_rem_blocked_classical" && bits <= 32768 && bits.is_multiple_of(256)
}

/// Dependent products of a division, as kernels/div/div.cuh and kernels/div/lanes/division.cuh cut it.
fn division_steps(kernel: &Kernel, shape: Shape, u_bits: usize, v_bits: usize) -> usize {
    let blocked = kernel.task.contains("blocked");
    // Blocked division works on 32-bit limbs, whatever the digit; lengths are in words of 4 limbs.
    let by_lanes = by_lanes(kernel.task, shape.bits);
    let unit = match (by_lanes, blocked) {
        (true, _) => 32,
        (false, true) => 128,
        (false, false) => 4 * limb_bits(shape),
    };
    let n = v_bits.div_ceil(unit);
    let length = (u_bits + n * unit - v_bits).div_ceil(unit).saturating_sub(n);
    if length == 0 {
        return 0;
    }
    if by_lanes {
        return 2 * length.div_ceil(8);
    }
    let most_blocks = if kernel.task.contains("tensor") && shape.bits < 1 << 17 { 4 } else { 8 };
    let most = if blocked { (shape.bits.div_ceil(unit) / most_blocks).max(2) } else { length };
    let blocks = length.div_ceil(most);
    let doublings = length.div_ceil(blocks).next_power_of_two().trailing_zeros() as usize;
    2 * doublings + 2 * blocks
}

/// Runs a kernel on a workload.
pub(crate) fn count(unit: &Unit, kernel: &Kernel, workload: Workload) -> Result<Work> {
    let shape = unit.shape;
    let bits = shape.bits;
    let (op, strategy) = Operation::of(kernel.task).ok_or("not counted")?;
    let rows = row_count(op, workload, kernel, bits);
    let pairs = match op {
        Operation::DivRem | Operation::ShiftedInverse => workload.divisions(bits, rows),
        _ => workload.pairs(bits, rows),
    };
    let [a, b] = [0, 1].map(|side| bytes_of(pairs.iter().map(|pair| &pair[side]), bits));
    let row_bytes = rows * bits / 8;
    let (inputs, outputs, scalar) = match op {
        Operation::Add | Operation::MulLow => ([a, b], [row_bytes, 0], 0),
        Operation::MulWide => ([a, b], [2 * row_bytes, 0], 1),
        Operation::Square => ([a, Vec::new()], [row_bytes, 0], 0),
        Operation::DivRem => ([a, b], [row_bytes; 2], 0),
        // Of B^M, as the quotient of a full dividend needs it.
        Operation::ShiftedInverse => ([b, Vec::new()], [row_bytes, 0], bits as i64),
    };
    let [first, second] = inputs;
    let inputs = [first, second, Vec::new()];
    let row_sectors =
        (inputs.iter().map(Vec::len).sum::<usize>() + outputs.iter().sum::<usize>()) / 32 / rows;
    let given = Operands { inputs, outputs, rows, mask: op == Operation::DivRem, scalar };
    // Blocks of divisions by lanes take all rows of their multiprocessor in order of length.
    let max_grid = if by_lanes(kernel.task, bits) { 1 } else { u32::MAX };
    let how = How { max_grid, seed: 0, checks: Checks::NONE };
    let Outcome { counts, status, outputs, .. } =
        compiled::run(&unit.compiled.module, &kernel.name, &given, how)?;
    if status != u64::MAX {
        return Err(format!("{}: row {status} failed", kernel.name));
    }
    for row in [0, rows / 2, rows - 1] {
        let results = given.outputs.map(|bytes| bytes / rows);
        let result = |side: usize| {
            let bytes = results[side];
            BigUint::from_bytes_le(&outputs[side][row * bytes..(row + 1) * bytes])
        };
        if !op.is_right(bits, &pairs[row], &[result(0), result(1)]) {
            return Err(format!("{}: row {row} is wrong", kernel.name));
        }
    }
    let steps = match op {
        Operation::Add => 0,
        Operation::MulLow | Operation::MulWide | Operation::Square => rows,
        Operation::DivRem | Operation::ShiftedInverse => pairs
            .iter()
            .map(|[u, v]| {
                let u_bits = if op == Operation::DivRem { u.bits() as usize } else { bits + 1 };
                division_steps(kernel, shape, u_bits, v.bits() as usize)
            })
            .sum(),
    };
    let mean = |sum: u64| sum as f64 / rows as f64;
    Ok(Work {
        shape,
        op,
        strategy: strategy.to_owned(),
        workload,
        rows,
        full_mults: mean(sass::product_bits(&counts, limb_bits(shape))) / (bits * bits / 2) as f64,
        steps: steps as f64 / rows as f64,
        barriers: mean(counts.barriers),
        pipes: kernel.expansion.executed(&counts) * (1.0 / rows as f64),
        wavefronts: mean(counts.shared.load_wavefronts + counts.shared.store_wavefronts),
        sectors: mean(counts.global.sectors_read + counts.global.sectors_written),
        row_sectors: row_sectors as f64,
    })
}

impl Work {
    pub(crate) fn load(&self) -> Load {
        Load {
            bits: self.shape.bits,
            pipes: self.pipes,
            wavefronts: self.wavefronts,
            sectors: self.sectors,
            row_sectors: self.row_sectors,
        }
    }
}
