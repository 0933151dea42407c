//! The processor: `num-bigint` inside, one task per row.

use std::error::Error as _;
use std::sync::LazyLock;

use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::{One, Zero};
use rayon::prelude::*;

use gpuint_catalogue::{Op, PREPARED};

use crate::backend::host::{self, host_memory_methods, read_integer, reserved_vec, write_integer};
use crate::backend::{Backend, BackendKind, Buffer, Call, Params};
use crate::error::Result;

/// The processor.
#[derive(Debug)]
pub(crate) struct Cpu;

/// Rows that are under way at a time, a multiple of the bits in a word of a mask: what a row needs
/// besides its integers does not grow with the batch.
const BLOCK: usize = 1 << 14;

/// True if rayon has its threads. Where none can be started, rayon panics at every use, so the
/// calling thread does the work.
static HAS_THREADS: LazyLock<bool> = LazyLock::new(|| {
    match rayon::ThreadPoolBuilder::new().build_global() {
        Ok(()) => true,
        // Without a cause, the threads are there already.
        Err(error) if error.source().is_none() => true,
        Err(error) => {
            tracing::warn!(%error, "rows run one after the other");
            false
        }
    }
});

/// One row of a call.
struct Row<'a> {
    ins: [&'a [u8]; 3],
    outs: [Option<&'a mut [u8]>; 2],
    bits: usize,
    params: Params,
}

/// What a row says besides its outputs.
#[derive(Default)]
struct Outcome {
    /// Its bit of the mask.
    flag: bool,
    /// Counts for the status.
    failed: bool,
}

impl From<bool> for Outcome {
    fn from(flag: bool) -> Self {
        Self { flag, failed: false }
    }
}

impl Row<'_> {
    fn operand(&self, index: usize) -> BigUint {
        read_integer(self.ins[index])
    }

    fn result(&mut self, index: usize, value: &BigUint) {
        if let Some(row) = &mut self.outs[index] {
            write_integer(value, row);
        }
    }

    /// A prepared divisor: here it is the divisor itself, and zeros.
    fn divisor(&self) -> BigUint {
        read_integer(self.ins[PREPARED])
    }
}

/// The function of a row that does what the kernel does.
fn row_function(op: Op) -> fn(&mut Row<'_>) -> Outcome {
    match op {
        Op::Add => add,
        Op::Sub => sub,
        Op::MulLo => mul_low,
        Op::MulWide => mul_wide,
        Op::SquareLo => square_low,
        Op::DivRem => div_rem,
        Op::ShiftedInverse => shifted_inverse,
        Op::Prepare => prepare,
        Op::DivRemBy => div_rem_by,
        Op::MulMod => mul_mod,
        Op::SquareMod => square_mod,
        Op::PowMod => pow_mod,
        Op::DivRemDigit => div_rem_digit,
        Op::Shl => shift_left,
        Op::Shr => shift_right,
        Op::Cmp => compare,
        Op::EqMask => |row| (row.ins[0] == row.ins[1]).into(),
        Op::LtMask => |row| (row.operand(0) < row.operand(1)).into(),
        Op::IsZeroMask => |row| row.ins[0].iter().all(|&byte| byte == 0).into(),
        Op::BitLengths => bit_length,
    }
}

fn add(row: &mut Row<'_>) -> Outcome {
    let sum = row.operand(0) + row.operand(1);
    row.result(0, &sum);
    (sum.bits() > row.bits as u64).into()
}

fn sub(row: &mut Row<'_>) -> Outcome {
    let (a, b) = (row.operand(0), row.operand(1));
    let borrow = a < b;
    let difference = if borrow { (BigUint::one() << row.bits) + a - b } else { a - b };
    row.result(0, &difference);
    borrow.into()
}

fn mul_low(row: &mut Row<'_>) -> Outcome {
    let product = row.operand(0) * row.operand(1);
    row.result(0, &product);
    Outcome::default()
}

fn mul_wide(row: &mut Row<'_>) -> Outcome {
    let product = row.operand(0) * row.operand(1);
    row.result(0, &product);
    if !row.params.joined {
        row.result(1, &(product >> row.bits));
    }
    Outcome::default()
}

fn square_low(row: &mut Row<'_>) -> Outcome {
    let square = row.operand(0).pow(2);
    row.result(0, &square);
    Outcome::default()
}

fn div_rem(row: &mut Row<'_>) -> Outcome {
    let (u, v) = (row.operand(0), row.operand(1));
    let failed = v.is_zero();
    let (q, r) = if failed { ((BigUint::one() << row.bits) - 1u32, u) } else { u.div_rem(&v) };
    row.result(0, &q);
    row.result(1, &r);
    Outcome { flag: failed, failed }
}

fn shifted_inverse(row: &mut Row<'_>) -> Outcome {
    let v = row.operand(0);
    let inverse = if v.is_zero() { v } else { (BigUint::one() << row.params.exponent) / v };
    row.result(0, &inverse);
    let failed = row.ins[0].iter().all(|&byte| byte == 0) || inverse.bits() > row.bits as u64;
    Outcome { flag: false, failed }
}

fn prepare(row: &mut Row<'_>) -> Outcome {
    let v = row.operand(0);
    row.result(0, &v);
    Outcome { flag: false, failed: v.is_zero() }
}

fn div_rem_by(row: &mut Row<'_>) -> Outcome {
    let (q, r) = row.operand(0).div_rem(&row.divisor());
    row.result(0, &q);
    row.result(1, &r);
    Outcome::default()
}

fn mul_mod(row: &mut Row<'_>) -> Outcome {
    let product = row.operand(0) * row.operand(1) % row.divisor();
    row.result(0, &product);
    Outcome::default()
}

fn square_mod(row: &mut Row<'_>) -> Outcome {
    let square = row.operand(0).pow(2) % row.divisor();
    row.result(0, &square);
    Outcome::default()
}

fn pow_mod(row: &mut Row<'_>) -> Outcome {
    let power = row.operand(0).modpow(&row.operand(1), &row.divisor());
    row.result(0, &power);
    Outcome::default()
}

fn div_rem_digit(row: &mut Row<'_>) -> Outcome {
    let (q, r) = row.operand(0).div_rem(&BigUint::from(row.params.digit));
    row.result(0, &q);
    row.result(1, &r);
    Outcome::default()
}

fn shift_left(row: &mut Row<'_>) -> Outcome {
    let shifted = row.operand(0) << row.params.distance;
    row.result(0, &shifted);
    Outcome::default()
}

fn shift_right(row: &mut Row<'_>) -> Outcome {
    let shifted = row.operand(0) >> row.params.distance;
    row.result(0, &shifted);
    Outcome::default()
}

fn compare(row: &mut Row<'_>) -> Outcome {
    let order = row.operand(0).cmp(&row.operand(1)) as i8;
    if let Some(out) = &mut row.outs[0] {
        out.copy_from_slice(&order.to_le_bytes());
    }
    Outcome::default()
}

fn bit_length(row: &mut Row<'_>) -> Outcome {
    // build.rs admits no shape of 2^32 bits.
    let bits = row.operand(0).bits() as u32;
    if let Some(out) = &mut row.outs[0] {
        out.copy_from_slice(&bits.to_le_bytes());
    }
    Outcome::default()
}

impl Backend for Cpu {
    fn kind(&self) -> BackendKind {
        BackendKind::Cpu
    }

    fn describe(&self) -> String {
        match if *HAS_THREADS { rayon::current_num_threads() } else { 1 } {
            1 => "1 thread".to_owned(),
            threads => format!("{threads} threads"),
        }
    }

    host_memory_methods!();

    fn launch(&self, call: Call<'_>) -> Result<()> {
        let function = row_function(call.kernel.op());
        let bits = call.kernel.shape().bits;
        let mut ins = [Input::default(); 3];
        for (index, input) in ins.iter_mut().enumerate() {
            let bytes = call.operands.ins[index].map_or(Ok(&[][..]), host::bytes)?;
            let is_broadcast = call.is_broadcast(index);
            *input = Input { bytes, row_bytes: call.in_row_bytes(index), is_broadcast };
        }
        let out_row_bytes = [call.out_row_bytes(0), call.out_row_bytes(1)];
        let operands = call.operands;
        let params = operands.params;
        let [c, d] = operands.outs.map(|buffer| buffer.map(host::bytes_mut).transpose());
        let mut outs = [
            c?.map(|bytes| bytes.chunks_exact_mut(out_row_bytes[0].max(1))),
            d?.map(|bytes| bytes.chunks_exact_mut(out_row_bytes[1].max(1))),
        ];

        let mut mask = operands.mask.map(host::bytes_mut).transpose()?;
        let mut status = operands.status.map(host::bytes_mut).transpose()?;
        let mut rows = reserved_vec(operands.rows.min(BLOCK))?;
        let mut outcomes = reserved_vec(operands.rows.min(BLOCK))?;
        for first in (0..operands.rows).step_by(BLOCK) {
            let block = first..operands.rows.min(first + BLOCK);
            rows.extend(block.map(|row| Row {
                ins: ins.map(|input| input.row(row)),
                outs: outs.each_mut().map(|rows| rows.as_mut()?.next()),
                bits,
                params,
            }));
            if *HAS_THREADS {
                rows.par_drain(..)
                    .map(|mut row| function(&mut row))
                    .collect_into_vec(&mut outcomes);
            } else {
                outcomes.clear();
                outcomes.extend(rows.drain(..).map(|mut row| function(&mut row)));
            }
            if let Some(mask) = &mut mask {
                let words: &mut [u32] = bytemuck::cast_slice_mut(mask);
                let words = words[first / 32..].iter_mut();
                for (word, outcomes) in words.zip(outcomes.chunks(32)) {
                    for (bit, outcome) in outcomes.iter().enumerate() {
                        *word |= u32::from(outcome.flag) << bit;
                    }
                }
            }
            if let (Some(status), Some(row)) =
                (&mut status, outcomes.iter().position(|outcome| outcome.failed))
            {
                let status: &mut [u64] = bytemuck::cast_slice_mut(status);
                status[0] = status[0].min((first + row) as u64);
            }
        }
        Ok(())
    }
}

/// An operand; without bytes where it is unused.
#[derive(Clone, Copy, Default)]
struct Input<'a> {
    bytes: &'a [u8],
    row_bytes: usize,
    is_broadcast: bool,
}

impl<'a> Input<'a> {
    fn row(self, row: usize) -> &'a [u8] {
        let row = if self.is_broadcast { 0 } else { row };
        self.bytes.get(row * self.row_bytes..(row + 1) * self.row_bytes).unwrap_or_default()
    }
}
