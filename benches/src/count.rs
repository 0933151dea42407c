//! Counts the instructions of kernels that nvcc compiles and the PTX interpreter runs on a
//! workload.

use std::path::Path;

use gpuint::num_bigint::BigUint;
use gpuint::{Algorithm, Op, Product, Shape};
use gpuint_catalogue as catalogue;
use ptxi::Checks;

use crate::operation::is_right;
use crate::roofline::Load;
use crate::sass::{self, Expansion, Pipes};
use crate::workload::Workload;
use gpuint_testkit::launch::{Operands, Outcome, Params, bytes_of};
use gpuint_testkit::oracle;
use gpuint_testkit::ptx::{self, Compiled, How, LaunchBounds, Result, Run};

/// Bits that the kernels of a shape multiply at a time.
fn limb_bits(shape: Shape) -> usize {
    shape.digit.bits().min(32)
}

/// A compiled shape.
pub struct Unit {
    shape: Shape,
    compiled: Compiled,
    pub kernels: Vec<Kernel>,
}

pub struct Kernel {
    pub row: catalogue::Row<'static>,
    name: String,
    bounds: LaunchBounds,
    expansion: Expansion,
}

/// Compiles some kernels of one shape.
pub fn unit(
    nvcc: &Path,
    disassembler: Option<&Path>,
    kernels: &[catalogue::Kernel<'static>],
    shape: Shape,
) -> Result<Unit> {
    let newest = catalogue::Architecture::NEWEST.capability;
    let compiled = ptx::compile(nvcc, newest, kernels.iter().copied(), &[])?;
    let names: Vec<_> = kernels.iter().map(catalogue::Kernel::name).collect();
    let expansions = sass::expansions(nvcc, disassembler, &compiled, &names)?;
    let kernel =
        |((kernel, name), expansion): ((&catalogue::Kernel<'static>, String), Expansion)| {
            let bounds = LaunchBounds::read(&compiled.module, &name)?;
            Ok(Kernel { row: kernel.row, name, bounds, expansion })
        };
    let kernels = kernels.iter().zip(names).zip(expansions).map(kernel).collect::<Result<_>>()?;
    Ok(Unit { shape, compiled, kernels })
}

/// One line of the table.
pub struct Work {
    pub shape: Shape,
    pub op: Op,
    pub algorithm: Algorithm,
    pub workload: Workload,
    pub rows: usize,
    pub full_mults: f64,
    pub steps: f64,
    pub barriers: f64,
    pub pipes: Pipes,
    pub wavefronts: f64,
    pub sectors: f64,
    /// Sectors of the operands and results.
    pub row_sectors: f64,
}

/// Rows of a multiprocessor in a batch of 2^32 bits.
const MULTIPROCESSOR_BITS: usize = 1 << 25;

/// Number of rows that fill the warps of a block and suffice for a mean.
fn row_count(op: Op, workload: Workload, kernel: &Kernel, bits: usize) -> usize {
    let block = kernel.bounds.rows_per_block as usize;
    match op {
        Op::DivRem | Op::ShiftedInverse => {
            if by_lanes(kernel, bits) {
                // If there are enough rows, the rows of a warp have equal length.
                return (MULTIPROCESSOR_BITS / bits).next_multiple_of(block);
            }
            // Groups within a warp take four times as many rows at a time, sorted by length.
            let batch = if block > 1 { 4 * block } else { block };
            let few = matches!(workload, Workload::Half | Workload::Square);
            let wanted = (1usize << 20).div_ceil(bits).min(64).div_ceil(if few { 2 } else { 1 });
            wanted.next_multiple_of(batch)
        }
        _ => block,
    }
}

/// Returns true if a few lanes divide a row: `LANE_DIVISION_BITS` of kernels/tuning/division.cuh.
fn by_lanes(kernel: &Kernel, bits: usize) -> bool {
    let row = (kernel.row.op, kernel.row.algorithm);
    row == (Op::DivRem, Algorithm::Blocked(Product::Classical))
        && bits <= 32768
        && bits.is_multiple_of(256)
}

/// Dependent products of a division, for the blocks of kernels/div/div.cuh and
/// kernels/div/lanes/division.cuh.
fn division_steps(kernel: &Kernel, shape: Shape, u_bits: usize, v_bits: usize) -> usize {
    let blocked = matches!(kernel.row.algorithm, Algorithm::Blocked(_));
    // Blocked division works on 32-bit limbs for all digits; lengths are in words of 4 limbs.
    let by_lanes = by_lanes(kernel, shape.bits);
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
    let max_blocks =
        if kernel.row.algorithm.product() == Some(Product::TensorCore) && shape.bits < 1 << 17 {
            4
        } else {
            8
        };
    let most = if blocked { (shape.bits.div_ceil(unit) / max_blocks).max(2) } else { length };
    let blocks = length.div_ceil(most);
    let doublings = length.div_ceil(blocks).next_power_of_two().trailing_zeros() as usize;
    2 * doublings + 2 * blocks
}

/// Runs a kernel on a workload.
pub fn count(unit: &Unit, kernel: &Kernel, workload: Workload) -> Result<Work> {
    let shape = unit.shape;
    let bits = shape.bits;
    let catalogue::Row { op, algorithm, .. } = kernel.row;
    let rows = row_count(op, workload, kernel, bits);
    let mut pairs = match op {
        Op::DivRem | Op::DivExact | Op::ShiftedInverse => workload.divisions(bits, rows),
        _ => workload.pairs(bits, rows),
    };
    for [u, v] in &mut pairs {
        match op {
            Op::DivExact => *u -= oracle::div_rem(u, v).1,
            Op::InverseModPow2 => v.set_bit(0, true),
            _ => {}
        }
    }
    let [a, b] = [0, 1].map(|side| bytes_of(pairs.iter().map(|pair| &pair[side]), bits));
    let row_bytes = rows * bits / 8;
    let none = Params::default();
    let (inputs, outputs, params) = match op {
        Op::Add | Op::MulLo => ([a, b], [row_bytes, 0], none),
        Op::MulWide => ([a, b], [2 * row_bytes, 0], Params { joined: true, ..none }),
        Op::SquareLo => ([a, Vec::new()], [row_bytes, 0], none),
        Op::DivRem => ([a, b], [row_bytes; 2], none),
        Op::DivExact => ([a, b], [row_bytes, 0], none),
        Op::InverseModPow2 => ([b, Vec::new()], [row_bytes, 0], none),
        // The exponent of B^M, as for the quotient of a full dividend.
        Op::ShiftedInverse => {
            ([b, Vec::new()], [row_bytes, 0], Params { exponent: bits as u32, ..none })
        }
        _ => return Err(format!("{}: not counted", kernel.name)),
    };
    let [first, second] = inputs;
    let inputs = [first, second, Vec::new()];
    let row_sectors =
        (inputs.iter().map(Vec::len).sum::<usize>() + outputs.iter().sum::<usize>()) / 32 / rows;
    let mask = op == Op::DivRem;
    let given = Operands { inputs, outputs, rows, mask, params, ..Operands::default() };
    // Blocks of divisions by lanes take all rows of their multiprocessor in order of length.
    let max_grid = if by_lanes(kernel, bits) { 1 } else { u32::MAX };
    let how = How { max_grid, seed: 0, checks: Checks::NONE, traced: false };
    let Run { outcome: Outcome { status, outputs, .. }, counts, .. } =
        ptx::run(&unit.compiled.module, &kernel.name, &given, how)?;
    if status != u64::MAX {
        return Err(format!("{}: row {status} failed", kernel.name));
    }
    for row in [0, rows / 2, rows - 1] {
        let results = given.outputs.map(|bytes| bytes / rows);
        let result = |side: usize| {
            let bytes = results[side];
            BigUint::from_bytes_le(&outputs[side][row * bytes..(row + 1) * bytes])
        };
        if !is_right(op, bits, &pairs[row], &[result(0), result(1)]) {
            return Err(format!("{}: row {row} is wrong", kernel.name));
        }
    }
    let steps = match op {
        Op::MulLo | Op::MulWide | Op::SquareLo => rows,
        Op::DivRem | Op::ShiftedInverse => pairs
            .iter()
            .map(|[u, v]| {
                let u_bits = if op == Op::DivRem { u.bits() as usize } else { bits + 1 };
                division_steps(kernel, shape, u_bits, v.bits() as usize)
            })
            .sum(),
        _ => 0,
    };
    let mean = |sum: u64| sum as f64 / rows as f64;
    Ok(Work {
        shape,
        op,
        algorithm,
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
    pub fn load(&self) -> Load {
        Load {
            bits: self.shape.bits,
            pipes: self.pipes,
            wavefronts: self.wavefronts,
            sectors: self.sectors,
            row_sectors: self.row_sectors,
        }
    }
}
