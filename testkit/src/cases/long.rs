//! Kernels of long rows, by the launches that the library makes of them for an operation.

use gpuint::recorded::{Call, Recorder, Transforms, record};
use gpuint::{Op, Shape};

use super::machine::Machine;
use super::rows;
use crate::launch::{Grid, Grids, Memory, Operands, Outcome};

/// Transforms of products, of fewer points than those of the library.
pub(super) type Plan = Transforms;

/// Limbs of the tiles of rows with carries (`kernels/long/tiles.cuh`), and of moved rows.
const TILE_BITS: usize = 2048 * 32;
/// Rows of two tiles and a few limbs.
const FEW_TILES: usize = 2 * TILE_BITS + 128;
/// Rows of more tiles than a warp looks back at.
const MANY_TILES: usize = 34 * TILE_BITS + 128;
/// Rows whose products wrap by the transforms of fewest points.
const WRAPPED: usize = 1 << 21;

/// Plans with few points for each kernel of a pass. Second passes take 2^21 points and more, and
/// have none: the suite runs them (`tests/suite/long_kernels.rs`).
const PLANS: [Plan; 8] = [
    small(&[7, 7]),
    small(&[8, 8]),
    small(&[9, 7]),
    small(&[7, 9]),
    small(&[10, 7]),
    small(&[7, 10]),
    large(&[8, 8]),
    large(&[9, 8]),
];

const fn small(levels: &'static [u32]) -> Plan {
    Plan { is_large: false, levels }
}

const fn large(levels: &'static [u32]) -> Plan {
    Plan { is_large: true, levels }
}

/// Returns the operations that launch a kernel, with their widths and the plans of products; none
/// for an unknown kernel. A slow machine has fewer products.
pub(super) fn tasks(kernel: &str, is_slow: bool) -> Vec<(Op, usize, Option<Plan>)> {
    let name = kernel.strip_prefix("gpuint_long_").unwrap_or_default();
    let few = |ops: &[Op]| ops.iter().map(|&op| (op, FEW_TILES, None)).collect();
    match name {
        "sums" => few(&[Op::Add, Op::Sub]),
        "carries" => {
            let many = [Op::Add, Op::Sub].map(|op| (op, MANY_TILES, None));
            many.into_iter().chain([(Op::MulCyclic, WRAPPED, None)]).collect()
        }
        "shifts_left" => few(&[Op::Shl, Op::ShlRows]),
        "shifts_right" => few(&[Op::Shr, Op::ShrRows]),
        "resizes" | "too_long" => few(&[Op::Resize]),
        "gathers" => few(&[Op::Gather]),
        "selects" => few(&[Op::Select]),
        "bit_functions" => few(&[Op::Bitwise]),
        "differences" => few(&[Op::Cmp, Op::EqMask]),
        "order_of_row" => few(&[Op::Cmp]),
        "is_less" => few(&[Op::LtMask]),
        "no_word" => few(&[Op::EqMask, Op::IsZeroMask]),
        "lengths" => few(&[Op::BitLengths, Op::IsZeroMask]),
        "ones" => few(&[Op::CountOnes]),
        "word_of_row" => few(&[Op::BitLengths, Op::CountOnes]),
        "bits_from_lowest" | "zeros_below" => few(&[Op::TrailingZeros]),
        "bit_of_row" => few(&[Op::BitMask]),
        "folds" => few(&[Op::Fold]),
        _ => products(name, is_slow),
    }
}

/// Products by the first plan that launches a kernel of transforms.
fn products(name: &str, is_slow: bool) -> Vec<(Op, usize, Option<Plan>)> {
    let launches = |plan: &&Plan| {
        let primes = if plan.is_large { "large" } else { "small" };
        let Some((last, strided)) = plan.levels.split_last() else { return false };
        let passes = strided.iter().flat_map(|levels| {
            ["forward", "inverse"].map(|way| format!("first_{way}_{primes}_{levels}"))
        });
        let others = [format!("products_{primes}_{last}"), format!("remainders_{primes}")];
        passes.chain(others).any(|launched| launched == name)
    };
    let Some(&plan) = PLANS.iter().find(launches) else { return Vec::new() };
    // The limbs of a product are the points.
    let bits = 16 << plan.levels.iter().sum::<u32>();
    let ops: &[Op] = if is_slow { &[Op::MulLo] } else { &[Op::MulWide, Op::SquareLo] };
    ops.iter().map(|&op| (op, bits, Some(plan))).collect()
}

/// Rows of a launch.
pub(super) fn rows(op: Op, bits: usize, is_slow: bool) -> usize {
    match op {
        Op::MulLo | Op::MulCyclic if is_slow => 1,
        Op::MulWide | Op::SquareLo | Op::MulCyclic => 2,
        _ if bits == MANY_TILES => 2,
        // Few quotients are one too large.
        Op::Fold => 24,
        _ => 5,
    }
}

/// Returns true if long rows have a variant: their widths are multiples of 64 bits.
pub(super) fn has_variant(op: Op, shape: Shape, variant: usize) -> bool {
    op != Op::Resize || rows::targets(shape)[variant].is_multiple_of(64)
}

/// Memory and launches of an operation; a machine has the bounds of its kernels.
struct Recording<'a, M> {
    grids: Grids,
    machine: &'a mut M,
}

impl<M: Machine> Recorder for Recording<'_, M> {
    fn allocate(&mut self, bytes: u64, content: &[u8]) -> u64 {
        let (bytes, content) = (bytes as usize, content.to_vec());
        self.grids.add(Memory { bytes, content, is_result: false })
    }

    fn clear(&mut self, address: u64) {
        let of_address = |&block: &usize| crate::launch::address(block) == address;
        let block = (0..self.grids.memory.len()).find(of_address).expect("a block begins there");
        let memory = &mut self.grids.memory[block];
        memory.content = vec![0; memory.bytes];
    }

    fn rows_per_block(&mut self, kernel: &str) -> Option<u32> {
        self.machine.rows_per_block(kernel).map(|rows| rows as u32)
    }

    fn launch(&mut self, kernel: String, arguments: &[u8], blocks: u32) {
        self.grids.launches.push(Grid { kernel, arguments: arguments.to_vec(), blocks });
    }
}

/// Returns the launches of an operation.
pub(super) fn grids(
    machine: &mut impl Machine,
    op: Op,
    shape: Shape,
    plan: Option<Plan>,
    given: &Operands,
) -> Result<Grids, String> {
    let mut grids = Grids::default();
    let ins = given.inputs.each_ref().map(|input| grids.add(Memory::of(input)));
    let mut outs = [0; 2];
    for (out, (&bytes, updated)) in outs.iter_mut().zip(given.outputs.iter().zip(&given.updated)) {
        *out = grids.add(Memory { bytes, content: updated.clone(), is_result: true });
    }
    let mask = if given.mask { 4 * given.rows.div_ceil(32) } else { 0 };
    let mask = grids.add(Memory::result_of(&vec![0; mask]));
    let status = if given.without_status { 0 } else { grids.add(Memory::result_of(&[0xff; 8])) };
    let params = given.params;
    let call = Call { op, shape, rows: given.rows, ins, outs, mask, status, params };
    let mut recording = Recording { grids, machine };
    record(&mut recording, call, plan).map_err(|error| error.to_string())?;
    Ok(recording.grids)
}

/// Runs the launches of an operation.
pub(super) fn launch(
    machine: &mut impl Machine,
    grids: &Grids,
    given: &Operands,
    turn: usize,
) -> Result<Outcome, String> {
    let mut results = machine.launch_grids(grids, turn)?.into_iter();
    let mut next = |is_wanted: bool| match is_wanted {
        true => results.next().unwrap_or_default(),
        false => Vec::new(),
    };
    let outputs = given.outputs.map(|bytes| next(bytes > 0));
    let mask = next(given.mask);
    let status = next(!given.without_status);
    let status = status.first_chunk().map_or(u64::MAX, |bytes| u64::from_le_bytes(*bytes));
    Ok(Outcome { outputs, mask, status })
}
