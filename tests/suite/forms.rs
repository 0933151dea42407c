//! Every form of every operation of the catalogue, on cases of `gpuint_testkit::cases`.
//!
//! Forms that share a kernel must agree on few rows, for row counts from none to more than one
//! grid. On many rows the forms of an operation take turns.

use gpuint::num_bigint::BigUint;
use gpuint::{BackendKind, Device, DynBatch, DynDivisor, Op, Result, Shape};
use gpuint_testkit::cases::{self, Draws};
use gpuint_testkit::forms::{Arg, Call, Columns, Form, Pick, Untyped, untyped};
use gpuint_testkit::launch::Operands;
use gpuint_testkit::random::Random;

use crate::setting::{
    self, Check, Context, Rows, Setting, Tally, doubled, is_thorough, of_operations,
    on_every_backend, seed,
};

/// Operands of a launch, as batches on a device.
pub(crate) struct Launch<'a> {
    op: Op,
    shape: Shape,
    device: &'a Device,
    operands: Operands,
    a: DynBatch,
    b: DynBatch,
    divisor: Option<DynDivisor>,
    /// Rows of the second operand.
    second: Vec<BigUint>,
    /// The divisor of all rows.
    all: Option<BigUint>,
}

fn values(bytes: &[u8], row_bytes: usize) -> Vec<BigUint> {
    bytes.chunks_exact(row_bytes).map(BigUint::from_bytes_le).collect()
}

impl<'a> Launch<'a> {
    /// Draws the operands of some rows.
    fn draw(op: Op, shape: Shape, device: &'a Device, rows: usize, turn: usize) -> Result<Self> {
        let place = (turn * Op::COUNT + op as usize) as u64;
        let mut random = Random::new(seed() ^ place << 32 ^ (shape.bits * shape.q) as u64);
        let is_slow = device.backend() == BackendKind::Simt;
        let first = setting::turn() + shape.bits.ilog2() as usize;
        let variant = (first + turn) % cases::variants(op, shape, is_slow);
        let random = &mut random;
        let mut draws = Draws { op, shape, count: rows.max(1), variant, is_slow, random };
        let mut operands = cases::operands(&mut draws);
        operands.mask = true;
        if op == Op::DivRem {
            let divisors = operands.inputs[1].chunks_exact_mut(shape.bytes());
            divisors.filter(|row| row.iter().all(|&byte| byte == 0)).for_each(|row| row[0] = 1);
        }
        if rows == 0 {
            operands.rows = 0;
            operands.inputs = Default::default();
        }
        Self::new(op, shape, device, operands)
    }

    pub(crate) fn new(
        op: Op,
        shape: Shape,
        device: &'a Device,
        operands: Operands,
    ) -> Result<Self> {
        let Operands { inputs, divisors, rows, params, .. } = &operands;
        let is_one = params.broadcast_rhs || params.broadcast_exponent;
        let mut second = match op {
            Op::ShlRows | Op::ShrRows => values(&inputs[1], 4),
            _ => values(&inputs[1], shape.bytes()),
        };
        if is_one {
            second = second.into_iter().cycle().take(*rows).collect();
        }
        let b = match second.len() {
            0 => DynBatch::zeros(device, shape, *rows)?,
            _ => DynBatch::from_biguints(device, shape, &second)?,
        };
        let mut divisors = values(divisors, shape.bytes());
        let all = params.broadcast_divisor.then(|| divisors.remove(0));
        let divisor = match &all {
            Some(divisor) => Some(DynDivisor::splat(device, shape, divisor)?),
            None if divisors.is_empty() => None,
            None => {
                divisors.truncate(*rows);
                let rows = DynBatch::from_biguints(device, shape, &divisors)?;
                Some(DynDivisor::of_rows(&rows)?)
            }
        };
        let a = DynBatch::from_le_bytes(device, shape, &inputs[0])?;
        Ok(Self { op, shape, device, operands, a, b, divisor, second, all })
    }

    /// Returns true if one second operand serves all rows.
    fn is_one(&self) -> bool {
        let params = &self.operands.params;
        params.broadcast_rhs || params.broadcast_exponent
    }

    /// The distance or the divisor of one digit that a form takes.
    fn n(&self, form: &Form<Untyped>) -> u64 {
        let params = &self.operands.params;
        match form {
            _ if form.takes(Arg::Digit) => params.digit,
            _ if form.takes(Arg::Digits) => params.distance as u64 / self.shape.digit.bits() as u64,
            _ => params.distance.into(),
        }
    }

    /// Returns true if a form takes these operands.
    fn fits(&self, form: &Form<Untyped>) -> bool {
        let params = &self.operands.params;
        let word = self.shape.digit.bits();
        let fits = |arg: &Arg| match arg {
            Arg::All => self.is_one(),
            Arg::AllDivisor => self.all.is_some(),
            Arg::Digits => (params.distance as usize).is_multiple_of(word),
            Arg::Digit => u64::BITS - params.digit.leading_zeros() <= word as u32,
            _ => true,
        };
        let is_single = self.op != Op::PowProductMod || params.bases == 1;
        let has_results = !form.results.contains(&Pick::Joined) || doubled(self.shape).is_some();
        // Strategies of wide rows take the shim long, which runs their kernels in `algorithms`.
        let is_long = self.device.backend() == BackendKind::Simt && self.shape.bits > 16384;
        let is_other = |by: &str| !by.contains("Classical");
        let is_left = is_long && form.name.split_once(" by ").is_some_and(|(_, by)| is_other(by));
        form.op == self.op && !is_left && is_single && has_results && form.args.iter().all(fits)
    }

    /// Calls a form.
    fn call(&self, form: &Form<Untyped>) -> Result<Columns<Untyped>> {
        let all = if form.takes(Arg::AllDivisor) { self.all.as_ref() } else { self.second.first() };
        (form.call)(Call {
            divisor: self.divisor.as_ref(),
            all: all.cloned().unwrap_or_default(),
            each: self.second.clone(),
            distances: self.second.iter().map(|d| d.try_into().unwrap_or(usize::MAX)).collect(),
            ..Call::new(&self.a, &self.b, self.n(form))?
        })
    }

    /// Compares the results of forms that return the same with the expected ones.
    fn check(&self, forms: &[&Form<Untyped>], tally: &mut Tally) {
        let Some(first) = forms.first() else { return };
        let mut operands = self.operands.clone();
        first.select(&mut operands.params);
        let expected = cases::expected(self.op, self.shape, &operands);
        let expected = first.columns(&expected);
        forms.iter().for_each(|form| self.compare(form, &expected, tally));
    }

    /// Checks one of the forms that return the same, in turn, and those by an operand of all rows
    /// or by prepared factors, which have kernels of their own.
    pub(crate) fn check_in_turn(&self, forms: &[Form<Untyped>], turn: usize, tally: &mut Tally) {
        let fits = |form: &&Form<_>| self.fits(form) && !form.name.contains(" by ");
        let fitting: Vec<_> = forms.iter().filter(fits).collect();
        for same in fitting.chunk_by(|one, other| one.results == other.results) {
            let in_turn = same[turn % same.len()];
            let is_apart = |form: &&Form<_>| {
                form.name != in_turn.name && (form.takes(Arg::All) || form.name.ends_with("_by"))
            };
            let apart = same.iter().copied().filter(is_apart);
            self.check(&[in_turn].into_iter().chain(apart).collect::<Vec<_>>(), tally);
        }
    }

    fn compare(&self, form: &Form<Untyped>, expected: &[Vec<BigUint>], tally: &mut Tally) {
        let what = Context::new(self.shape, form.name, self.device);
        tally.attempt(&what, self.operands.rows, |tally| {
            let columns = self.call(form)?;
            for (column, wanted) in columns.iter().zip(expected) {
                let is_whole = column.values.len() == wanted.len();
                tally.row(is_whole, || format!("{what}: {} rows", column.values.len()));
                for (row, (got, wanted)) in column.values.iter().zip(wanted).enumerate() {
                    tally.row(got == wanted, || {
                        let seed = seed();
                        let a = self.a.row(row).unwrap_or_default();
                        let b = self.b.row(row).unwrap_or_default();
                        format!(
                            "{what}: seed {seed}, row {row}\n  operands {a:#x}\n           \
                             {b:#x}\n  result   {got:#x}\n  expected {wanted:#x}"
                        )
                    });
                }
            }
            Ok(())
        });
    }
}

/// Row counts: none, one, and an odd number greater than a small grid processes at a time.
pub(crate) fn counts(shape: Shape) -> [usize; 5] {
    let at_a_time = 3 * 128usize.div_ceil(shape.threads());
    [0, 1, 2, 3, at_a_time + 1 + at_a_time % 2 + 1]
}

struct EveryForm;

impl Check for EveryForm {
    const NAME: &str = "forms of operations";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let (devices, forms) = (setting.devices(), untyped());
        let is_simt = setting.backend == BackendKind::Simt;
        for (turn, count) in counts(shape).into_iter().enumerate() {
            for (schedule, device) in devices.iter().enumerate() {
                // Wide rows take long, so each count has one schedule, and in an ordinary run all
                // rows do.
                let is_shared = shape.bits > 2048 || !is_thorough();
                if is_simt && is_shared && schedule != turn % devices.len() {
                    continue;
                }
                if is_simt && shape.bits > 65536 && count > 1 {
                    continue;
                }
                every_form(&forms, shape, device, turn, count, tally);
            }
        }
    }
}

/// Operations that take tens of times as long as a product, on few and narrow rows here.
fn is_long(op: Op) -> bool {
    matches!(
        op,
        Op::Gcd
            | Op::InverseMod
            | Op::InverseModPow2
            | Op::Jacobi
            | Op::Isqrt
            | Op::PowMod
            | Op::PowProductMod
    )
}

fn every_form(
    forms: &[Form<Untyped>],
    shape: Shape,
    device: &Device,
    turn: usize,
    count: usize,
    tally: &mut Tally,
) {
    let mut ops: Vec<Op> = forms.iter().map(|form| form.op).collect();
    ops.dedup();
    ops.retain(|&op| !is_long(op) || count <= 3 && shape.bits <= 4096);
    for op in ops {
        let what = Context::new(shape, op.name(), device);
        tally.attempt(&what, count, |tally| {
            let launch = Launch::draw(op, shape, device, count, turn)?;
            let fitting: Vec<_> = forms.iter().filter(|form| launch.fits(form)).collect();
            for same in fitting.chunk_by(|one, other| one.results == other.results) {
                // Forms of wide rows take turns at the counts, and by days, in an ordinary run.
                let is_shared = shape.bits > 16384 && !is_thorough();
                let first = (setting::turn() + turn) % same.len();
                let same = if is_shared { &same[first..][..1] } else { same };
                launch.check(same, tally);
            }
            Ok(())
        });
    }
}

/// Checks operations on many rows: their forms take turns at parts of the rows.
fn on_many_rows(ops: &[Op], rows: Rows, shape: Shape, setting: &Setting, tally: &mut Tally) {
    let devices = setting.devices();
    let is_slow = setting.backend == BackendKind::Simt;
    let count = setting.count(rows, shape);
    let forms = untyped();
    for &op in ops {
        // Each part has another variant.
        let parts = cases::variants(op, shape, is_slow).max(devices.len());
        let part = (count.div_ceil(parts) | 1).min(1023);
        for (turn, start) in (0..count).step_by(part).enumerate() {
            let device = &devices[turn % devices.len()];
            let what = Context::new(shape, op.name(), device);
            let rows = part.min(count - start);
            tally.attempt(&what, rows, |tally| {
                let launch = Launch::draw(op, shape, device, rows, turn)?;
                launch.check_in_turn(&forms, turn, tally);
                Ok(())
            });
        }
    }
}

of_operations! {
    on_many_rows;
    Sums = "sums and differences" [Op::Add, Op::Sub], 160_000, 156, true;
    Bits = "functions of bits, numbers of bits" [
        Op::Bitwise, Op::BitMask, Op::CountOnes, Op::TrailingZeros, Op::ShlRows, Op::ShrRows
    ], 40_000, 39, true;
    Comparisons = "comparisons and bit lengths" [
        Op::Cmp, Op::EqMask, Op::LtMask, Op::IsZeroMask, Op::BitLengths
    ], 100_000, 156, true;
    Exact = "exact quotients and inverses" [Op::DivExact, Op::InverseModPow2], 120_000, 24, true;
    Digits = "quotients by a digit" [Op::DivRemDigit], 60_000, 21, true;
    ModularSums = "modular sums" [Op::AddMod, Op::SubMod, Op::NegMod], 50_000, 15, false;
    Divisors = "divisors, inverses, symbols" [
        Op::Gcd, Op::InverseMod, Op::Jacobi
    ], 60_000, 26, false;
}

on_every_backend! {
    every_form: EveryForm, sums: Sums, bits: Bits, comparisons: Comparisons, exact: Exact,
    digits: Digits, modular_sums: ModularSums, divisors: Divisors,
}
