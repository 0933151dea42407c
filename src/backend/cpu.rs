//! The processor: `num-bigint` inside, one task per row.

use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::{One, Zero};
use rayon::prelude::*;

use gpuint_catalogue::{Op, Operand, PREPARED};

use crate::backend::host::{
    self, HAS_THREADS, host_memory_methods, read_integer, reserved_vec, write_integer,
};
use crate::backend::{Backend, BackendKind, Buffer, Call, Params, SKIPPED_ROW};
use crate::error::Result;

/// The processor.
#[derive(Debug)]
pub(crate) struct Cpu;

/// Rows that are under way at a time, a multiple of the bits in a word of a mask: what a row needs
/// besides its integers does not grow with the batch.
const BLOCK: usize = 1 << 14;

/// One row of a call.
struct Row<'a> {
    ins: [&'a [u8]; 3],
    outs: [Option<&'a mut [u8]>; 2],
    bits: usize,
    params: Params,
    index: usize,
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

    /// Writes a `u32`. build.rs admits no shape of 2^32 bits.
    fn length(&mut self, length: u64) -> Outcome {
        if let Some(out) = &mut self.outs[0] {
            out.copy_from_slice(&(length as u32).to_le_bytes());
        }
        Outcome::default()
    }

    /// Writes an `i8`.
    fn sign(&mut self, sign: i8) -> Outcome {
        if let Some(out) = &mut self.outs[0] {
            out.copy_from_slice(&sign.to_le_bytes());
        }
        Outcome::default()
    }

    /// Copies bytes to the row of the first output.
    fn copy(&mut self, source: &[u8]) {
        if let Some(out) = &mut self.outs[0] {
            out.copy_from_slice(source);
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
        Op::AddMod => add_mod,
        Op::SubMod => sub_mod,
        Op::NegMod => neg_mod,
        Op::HalveMod => halve_mod,
        Op::PrepareOdd => prepare_odd,
        Op::MulResidues => |row| mul_residues(row, row.operand(1)),
        Op::SquareResidues => |row| mul_residues(row, row.operand(0)),
        Op::DivRemDigit => div_rem_digit,
        Op::Shl => shift_left,
        Op::Shr => shift_right,
        Op::Cmp => compare,
        Op::EqMask => |row| (row.ins[0] == row.ins[1]).into(),
        Op::LtMask => |row| (row.operand(0) < row.operand(1)).into(),
        Op::IsZeroMask => |row| row.ins[0].iter().all(|&byte| byte == 0).into(),
        Op::BitLengths => bit_length,
        Op::CountOnes => |row| row.length(row.operand(0).count_ones()),
        Op::TrailingZeros => {
            |row| row.length(row.operand(0).trailing_zeros().unwrap_or(row.bits as u64))
        }
        Op::BitMask => |row| row.operand(0).bit(row.params.distance.into()).into(),
        Op::Bitwise => bitwise,
        Op::ShlRows => shift_left_by_row,
        Op::ShrRows => shift_right_by_row,
        Op::Gather => gather,
        Op::Lookup => lookup,
        Op::Select => select,
        Op::Resize => resize,
        Op::Gcd => gcd,
        Op::InverseMod => inverse_mod,
        Op::Jacobi => jacobi,
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

fn add_mod(row: &mut Row<'_>) -> Outcome {
    let sum = (row.operand(0) + row.operand(1)) % row.divisor();
    row.result(0, &sum);
    Outcome::default()
}

fn sub_mod(row: &mut Row<'_>) -> Outcome {
    let v = row.divisor();
    let difference = (row.operand(0) % &v + &v - row.operand(1) % &v) % v;
    row.result(0, &difference);
    Outcome::default()
}

fn neg_mod(row: &mut Row<'_>) -> Outcome {
    let v = row.divisor();
    let negative = (&v - row.operand(0) % &v) % v;
    row.result(0, &negative);
    Outcome::default()
}

fn halve_mod(row: &mut Row<'_>) -> Outcome {
    let a = row.operand(0);
    let half = if a.is_odd() { (a + row.divisor()) >> 1 } else { a >> 1 };
    row.result(0, &half);
    Outcome::default()
}

/// The record is as `kernels/modular/odd_modulus.cuh` has it: `n` and `-1 / n mod 2^BITS`.
fn prepare_odd(row: &mut Row<'_>) -> Outcome {
    let n = row.operand(0);
    let power = BigUint::one() << row.bits;
    let Some(inverse) = n.modinv(&power) else { return Outcome { flag: false, failed: true } };
    row.result(0, &(n + ((&power - inverse) << row.bits)));
    Outcome::default()
}

/// Montgomery's reduction ("Modular multiplication without trial division", Math. Comp. 44, 1985).
fn mul_residues(row: &mut Row<'_>, rhs: BigUint) -> Outcome {
    let (n, inverse) = row.ins[PREPARED].split_at(row.bits / 8);
    let n = read_integer(n);
    let mask = (BigUint::one() << row.bits) - 1u32;
    let product = row.operand(0) * rhs;
    let multiple = (&product & &mask) * read_integer(inverse) & mask;
    let sum = (product + multiple * &n) >> row.bits;
    row.result(0, &(if sum >= n { sum - n } else { sum }));
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
    row.sign(row.operand(0).cmp(&row.operand(1)) as i8)
}

fn bit_length(row: &mut Row<'_>) -> Outcome {
    row.length(row.operand(0).bits())
}

fn bitwise(row: &mut Row<'_>) -> Outcome {
    let [a, b, _] = row.ins;
    let table = row.params.table;
    let ones = |bit: u32| if table >> bit & 1 == 1 { 0xff } else { 0u8 };
    let values = [ones(0), ones(1), ones(2), ones(3)];
    if let Some(out) = &mut row.outs[0] {
        for ((c, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *c = (a & b & values[3])
                | (a & !b & values[2])
                | (!a & b & values[1])
                | (!a & !b & values[0]);
        }
    }
    Outcome::default()
}

/// The distance of a row's own shift, at most the width.
fn distance(row: &Row<'_>) -> u32 {
    let distance = row.ins[1].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    distance.min(row.bits as u32)
}

fn shift_left_by_row(row: &mut Row<'_>) -> Outcome {
    let shifted = row.operand(0) << distance(row);
    row.result(0, &shifted);
    Outcome::default()
}

fn shift_right_by_row(row: &mut Row<'_>) -> Outcome {
    let shifted = row.operand(0) >> distance(row);
    row.result(0, &shifted);
    Outcome::default()
}

fn gather(row: &mut Row<'_>) -> Outcome {
    let [rows, index, _] = row.ins;
    let index = index.first_chunk().map_or(SKIPPED_ROW, |bytes| u64::from_le_bytes(*bytes));
    if index != SKIPPED_ROW {
        let bytes = row.bits / 8;
        row.copy(&rows[index as usize * bytes..][..bytes]);
    }
    Outcome::default()
}

fn lookup(row: &mut Row<'_>) -> Outcome {
    let [table, number, _] = row.ins;
    let byte = row.params.distance as usize / 8;
    let bytes = row.bits / 8;
    row.copy(&table[(256 * byte + usize::from(number[byte])) * bytes..][..bytes]);
    Outcome::default()
}

fn select(row: &mut Row<'_>) -> Outcome {
    let [a, b, mask] = row.ins;
    let is_set = mask[row.index / 8] >> (row.index % 8) & 1 == 1;
    row.copy(if is_set { a } else { b });
    Outcome::default()
}

fn resize(row: &mut Row<'_>) -> Outcome {
    let value = row.operand(0);
    row.result(0, &value);
    Outcome { flag: false, failed: value.bits() > u64::from(row.params.target_bits) }
}

fn gcd(row: &mut Row<'_>) -> Outcome {
    let divisor = row.operand(0).gcd(&row.operand(1));
    row.result(0, &divisor);
    Outcome::default()
}

fn inverse_mod(row: &mut Row<'_>) -> Outcome {
    let (v, n) = (row.operand(0), row.operand(1));
    let inverse = match n.is_zero() {
        true => None,
        false if n.is_one() => Some(BigUint::zero()),
        false => v.modinv(&n),
    };
    row.result(0, &inverse.clone().unwrap_or_default());
    inverse.is_none().into()
}

/// The Jacobi symbol, Kronecker's for even `n`: `n = 2^k m` gives `(a | n) = (2 | a)^k (a | m)`, and
/// then `(a | m) = (a mod m | m)` and reciprocity reduce the pair as Euclid's algorithm does.
fn jacobi(row: &mut Row<'_>) -> Outcome {
    let (mut a, mut n) = (row.operand(0), row.operand(1));
    if n.is_zero() {
        return row.sign(i8::from(a.is_one()));
    }
    if a.is_even() && n.is_even() {
        return row.sign(0);
    }
    let low = |value: &BigUint| value.iter_u32_digits().next().unwrap_or(0);
    // (2 | a) for odd a.
    let two = |a: &BigUint| matches!(low(a) % 8, 3 | 5);
    let mut negative = false;
    let twos = n.trailing_zeros().unwrap_or(0);
    negative ^= twos % 2 == 1 && two(&a);
    n >>= twos;
    loop {
        a %= &n;
        let Some(twos) = a.trailing_zeros() else { break };
        negative ^= twos % 2 == 1 && two(&n);
        a >>= twos;
        negative ^= low(&a) % 4 == 3 && low(&n) % 4 == 3;
        std::mem::swap(&mut a, &mut n);
    }
    let sign = if negative { -1 } else { 1 };
    row.sign(if n.is_one() { sign } else { 0 })
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
            let share = match call.kernel.op().signature().inputs[index] {
                Some(Operand::Indexed | Operand::Bits) => Share::All,
                _ if call.is_broadcast(index) => Share::First,
                _ => Share::Own,
            };
            *input = Input { bytes, row_bytes: call.in_row_bytes(index), share };
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
                index: row,
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
    share: Share,
}

/// The bytes of an operand that a row reads.
#[derive(Clone, Copy, Default)]
enum Share {
    /// Those of the same row.
    #[default]
    Own,
    /// Those of the first row: the operand is broadcast.
    First,
    /// All of them.
    All,
}

impl<'a> Input<'a> {
    fn row(self, row: usize) -> &'a [u8] {
        let row = match self.share {
            Share::Own => row,
            Share::First => 0,
            Share::All => return self.bytes,
        };
        self.bytes.get(row * self.row_bytes..(row + 1) * self.row_bytes).unwrap_or_default()
    }
}
