//! Every kernel, as nvcc compiles it, in the PTX interpreter with all its checks: races and
//! unwritten words of shared memory, lane masks, divergent barriers, carry chains, bounds.
//!
//! The other suites run the kernels' source. This one runs the compiled kernels on structured rows,
//! in two orders of the warps. It needs nvcc but no GPU; without nvcc the tests are skipped.

use std::cmp::Ordering;
use std::fmt::Debug;

use gpuint::num_bigint::BigUint;
use gpuint::{Algorithm, DigitKind, Op, Product, Shape, SpecialModulus};
use gpuint_catalogue::{BLOCK, Kernel};
use gpuint_testkit::operands::{
    self, DIVISIONS, EUCLID, EXACT, FRACTIONS, Family, INVERSES, PRODUCTS, ROOTS, Row, SUMS, Sizes,
    rows,
};
use gpuint_testkit::ptx::{self, How, Operands, Outcome, Params, bytes_of};
use gpuint_testkit::skip::skip;
use gpuint_testkit::{oracle, primes};
use num_traits::{One, Zero};
use ptxi::{Checks, Module};

/// An operation by an algorithm.
type Task = (Op, Algorithm);

const SEED: u64 = 0x7074_7869;
/// Seed of the order of warps; 0 is ascending order.
const SCHEDULES: [u64; 2] = [0, 0x5eed];
/// Few blocks, so that each processes several rounds of rows.
const MAX_GRID: u32 = 2;
/// Checks the bounds that the kernels' headers prove: a violated bound is a `trap`.
const CHECKED: &[&str] = &["-DGPUINT_CHECKED"];

/// The kernels of one shape.
struct Kernels {
    sizes: Sizes,
    /// Rows of each launch.
    count: usize,
    kernels: Vec<Kernel<'static>>,
    module: Module,
    rows: usize,
    wrong: Vec<String>,
}

/// Row of a result; `None` if the result was not wanted.
fn value_of(bytes: &[u8], index: usize, bits: usize) -> Option<BigUint> {
    bytes.chunks_exact(bits / 8).nth(index).map(BigUint::from_bytes_le)
}

fn first(rows: &[Row]) -> impl Iterator<Item = &BigUint> {
    rows.iter().map(|row| &row.a)
}

fn second(rows: &[Row]) -> impl Iterator<Item = &BigUint> {
    rows.iter().map(|row| &row.b)
}

impl Kernels {
    /// The kernels of a shape that `wanted` returns true for.
    fn new(shape: Shape, count: usize, wanted: impl Fn(Task) -> bool) -> Option<Self> {
        Self::with(shape, count, CHECKED, wanted)
    }

    /// The same, compiled with some flags of nvcc.
    fn with(
        shape: Shape,
        count: usize,
        flags: &[&str],
        wanted: impl Fn(Task) -> bool,
    ) -> Option<Self> {
        let nvcc = match ptx::nvcc() {
            Ok(nvcc) => nvcc,
            Err(reason) => {
                skip("nvcc", reason);
                return None;
            }
        };
        let rows = ptx::catalogue().expect("the catalogue").rows();
        let kernels: Vec<_> = rows
            .filter(|row| row.is_offered(shape) && wanted((row.op, row.algorithm)))
            // The interpreter only rounds to nearest, and these kernels round toward zero.
            .filter(|row| row.algorithm != Algorithm::By(Product::Fp64))
            .map(|row| Kernel { row, shape, block: BLOCK })
            .collect();
        let compiled =
            ptx::compile(&nvcc, &kernels, flags).unwrap_or_else(|error| panic!("{error}"));
        let module = compiled.module;
        Some(Self { sizes: shape.into(), count, kernels, module, rows: 0, wrong: Vec::new() })
    }

    fn name(&self, task: Task) -> String {
        let mut kernels = self.kernels.iter();
        let kernel = kernels.find(|kernel| (kernel.row.op, kernel.row.algorithm) == task);
        kernel.expect("tasks are those of the kernels").name()
    }

    fn rows(&self, families: &[Family], turn: usize) -> Vec<Row> {
        rows(SEED, families, self.sizes, turn * self.count..(turn + 1) * self.count)
    }

    /// The operands of some rows with full rows as results; `results` of them.
    fn given(&self, rows: &[Row], operands: usize, results: usize) -> Operands {
        let bits = self.sizes.bits;
        let mut given = Operands { rows: rows.len(), ..Operands::default() };
        given.inputs[0] = bytes_of(first(rows), bits);
        if operands > 1 {
            given.inputs[1] = bytes_of(second(rows), bits);
        }
        for output in &mut given.outputs[..results] {
            *output = rows.len() * bits / 8;
        }
        given
    }

    /// Runs a kernel in both orders; `check` returns the error of a row.
    fn run(
        &mut self,
        task: Task,
        rows: &[Row],
        given: &Operands,
        check: impl Fn(&Outcome, usize, &Row) -> Option<String>,
    ) {
        for seed in SCHEDULES {
            let how = How { max_grid: MAX_GRID, seed, checks: Checks::default() };
            let name = self.name(task);
            let outcome = match ptx::run(&self.module, &name, given, how) {
                Ok(outcome) => outcome,
                Err(fault) => {
                    self.wrong.push(format!("{fault} (schedule {seed}, {:?})", given.params));
                    continue;
                }
            };
            self.rows += rows.len();
            let wrong = rows.iter().enumerate().filter_map(|(index, row)| {
                let what = check(&outcome, index, row)?;
                Some(format!(
                    "{name} (schedule {seed}, {:?}), row {} of {}: {what}\n  a {:x}\n  b {:x}",
                    given.params,
                    row.index,
                    row.family(),
                    row.a,
                    row.b
                ))
            });
            self.wrong.extend(wrong.take(3));
        }
    }

    /// Runs a kernel that computes one row of full width for each row.
    fn run_to_value(
        &mut self,
        task: Task,
        rows: &[Row],
        given: &Operands,
        expected: impl Fn(&Row) -> BigUint,
    ) {
        let bits = self.sizes.bits;
        let expected: Vec<_> = rows.iter().map(expected).collect();
        self.run(task, rows, given, |outcome, index, _| {
            let got = value_of(&outcome.outputs[0], index, bits);
            differ(&got.as_ref(), &Some(&expected[index]))
        });
    }

    fn sums(&mut self, task: Task, oracle: fn(&BigUint, &BigUint, usize) -> (BigUint, bool)) {
        let rows = self.rows(SUMS, 0);
        let bits = self.sizes.bits;
        let expected: Vec<_> = rows.iter().map(|row| oracle(&row.a, &row.b, bits)).collect();
        for mask in [false, true] {
            let given = Operands { mask, ..self.given(&rows, 2, 1) };
            self.run(task, &rows, &given, |outcome, index, _| {
                let got = value_of(&outcome.outputs[0], index, bits);
                let (sum, carry) = &expected[index];
                differ(&(got.as_ref(), outcome.is_marked(index)), &(Some(sum), mask && *carry))
            });
        }
    }

    fn wide_product(&mut self, task: Task) {
        let rows = self.rows(PRODUCTS, 1);
        let bits = self.sizes.bits;
        let expected: Vec<_> = rows.iter().map(|row| oracle::mul(&row.a, &row.b, bits)).collect();
        let given = self.given(&rows, 2, 2);
        self.run(task, &rows, &given, |outcome, index, _| {
            let got = [0, 1].map(|half| value_of(&outcome.outputs[half], index, bits));
            let (low, high) = &expected[index];
            differ(&got.each_ref().map(Option::as_ref), &[Some(low), Some(high)])
        });
        let mut given = Operands {
            params: Params { joined: 1, ..Params::default() },
            ..self.given(&rows, 2, 1)
        };
        given.outputs[0] *= 2;
        self.run(task, &rows, &given, |outcome, index, _| {
            let got = value_of(&outcome.outputs[0], index, 2 * bits);
            let (low, high) = &expected[index];
            differ(&got, &Some(low + (high << bits)))
        });
    }

    /// Checks sums of one product to four, modulo the power `halves` of `2^BITS`.
    fn sums_of_products(&mut self, task: Task, halves: usize) {
        let rows = self.rows(PRODUCTS, 1);
        let bits = halves * self.sizes.bits;
        let a = bytes_of(first(&rows), self.sizes.bits);
        let b = bytes_of(second(&rows), self.sizes.bits);
        let pairs = [[&a, &b], [&b, &b], [&b, &a], [&a, &a]];
        for count in [1, 2, pairs.len()] {
            let given = Operands {
                pairs: pairs[..count].iter().map(|pair| pair.map(Vec::clone)).collect(),
                outputs: [rows.len() * bits / 8, 0],
                rows: rows.len(),
                mask: halves == 2,
                ..Operands::default()
            };
            self.run(task, &rows, &given, |outcome, index, row| {
                let pairs =
                    [[&row.a, &row.b], [&row.b, &row.b], [&row.b, &row.a], [&row.a, &row.a]];
                let sum: BigUint = pairs[..count].iter().map(|[a, b]| *a * *b).sum();
                let expected =
                    (Some(oracle::shl(&sum, 0, bits)), halves == 2 && sum.bits() > bits as u64);
                differ(
                    &(value_of(&outcome.outputs[0], index, bits), outcome.is_marked(index)),
                    &expected,
                )
            });
        }
    }

    /// Checks quotients and remainders together, then each of them alone.
    fn division(&mut self, task: Task) {
        let bits = self.sizes.bits;
        for (turn, wanted) in [[true, true], [true, false], [false, true]].into_iter().enumerate() {
            let rows = self.rows(DIVISIONS, turn);
            let expected: Vec<_> =
                rows.iter().map(|row| oracle::div_rem_masked(&row.a, &row.b, bits)).collect();
            let zero = rows.iter().position(|row| row.b.is_zero());
            let mut given = Operands { mask: true, ..self.given(&rows, 2, 2) };
            for (output, wanted) in given.outputs.iter_mut().zip(wanted) {
                *output *= usize::from(wanted);
            }
            self.run(task, &rows, &given, |outcome, index, row| {
                let (q, r, undefined) = &expected[index];
                let got = [0, 1].map(|i| value_of(&outcome.outputs[i], index, bits));
                let want = [wanted[0].then(|| q.clone()), wanted[1].then(|| r.clone())];
                let both = match &got {
                    [Some(q), Some(r)] if !undefined => oracle::is_division(&row.a, &row.b, q, r),
                    _ => true,
                };
                let status = zero.map_or(u64::MAX, |row| row as u64);
                differ(
                    &(got, outcome.is_marked(index), outcome.status, both),
                    &(want, *undefined, status, true),
                )
            });
        }
    }

    /// Operands of a kernel that prepares the divisors of some rows.
    fn preparing(&self, rows: &[Row]) -> Operands {
        let bits = self.sizes.bits;
        let mut given = Operands { rows: rows.len(), ..Operands::default() };
        given.inputs[0] = bytes_of(second(rows), bits);
        // Size of `Record` in kernels/div/prepare.cuh, for widths of whole 32-bit limbs.
        given.outputs[0] = rows.len() * (2 * bits.div_ceil(128) + 4) * 16;
        given
    }

    /// Prepared divisors of some rows.
    fn prepared(&mut self, rows: &[Row]) -> Vec<u8> {
        let how = How { max_grid: MAX_GRID, seed: 0, checks: Checks::default() };
        let name = self.name((Op::Prepare, Algorithm::By(Product::Classical)));
        match ptx::run(&self.module, &name, &self.preparing(rows), how) {
            Ok(outcome) => outcome.outputs[0].clone(),
            Err(fault) => panic!("{fault}"),
        }
    }

    /// Rows without zero divisors, and the operands of a kernel that divides by them.
    fn given_prepared(&mut self, turn: usize, results: usize) -> (Vec<Row>, Operands) {
        let mut rows = self.rows(DIVISIONS, turn);
        rows.retain(|row| !row.b.is_zero());
        let mut given = self.given(&rows, 1, results);
        given.inputs[2] = self.prepared(&rows);
        (rows, given)
    }

    /// Checks reductions modulo special moduli, with a factor where a bit of a row is set.
    fn fold(&mut self, task: Task) {
        let bits = self.sizes.bits;
        let mut rows = self.rows(PRODUCTS, 7);
        let moduli: Vec<_> = (0..rows.len())
            .map(|index| {
                let (k, c) = [(1, -1), (1, 1), (3, 1), (0x1555_5555, -2729)][index % 4];
                SpecialModulus::new(k, (bits - 32 - index % 90) as u32, c)
            })
            .collect();
        let values: Vec<_> = moduli.iter().filter_map(|modulus| modulus.value()).collect();
        for (index, (row, n)) in rows.iter_mut().zip(&values).enumerate() {
            // Products of residues, and the ends of the range of a fold.
            row.a = match index % 9 {
                7 => (n - 1u32) * (n - 1u32),
                8 => n - 1u32,
                _ => (&row.a % n) * (&row.b % n),
            };
        }
        let words = |modulus: &SpecialModulus| {
            [modulus.k(), modulus.n(), modulus.c() as u32, 0].map(u32::to_le_bytes).concat()
        };
        let mut given = self.given(&rows, 2, 1);
        given.inputs[0] = bytes_of(first(&rows), 2 * bits);
        given.inputs[2] = moduli.iter().flat_map(words).collect();
        given.params.digit = 3;
        given.params.distance = 37;
        let expected: Vec<_> = rows
            .iter()
            .zip(&values)
            .zip(&moduli)
            .map(|((row, n), modulus)| {
                let factor = if row.b.bit(37) { 3u32 } else { 1 };
                &row.a * modulus.k() * factor % n
            })
            .collect();
        self.run(task, &rows, &given, |outcome, index, _| {
            let got = value_of(&outcome.outputs[0], index, bits);
            differ(&got.as_ref(), &Some(&expected[index]))
        });
    }

    /// Checks quotients and remainders by prepared divisors, then each of them alone.
    fn division_by(&mut self, task: Task) {
        let bits = self.sizes.bits;
        for (turn, wanted) in [[true, true], [true, false], [false, true]].into_iter().enumerate() {
            let (rows, mut given) = self.given_prepared(turn, 2);
            for (output, wanted) in given.outputs.iter_mut().zip(wanted) {
                *output *= usize::from(wanted);
            }
            self.run(task, &rows, &given, |outcome, index, row| {
                let (q, r) = oracle::div_rem(&row.a, &row.b);
                let got = [0, 1].map(|i| value_of(&outcome.outputs[i], index, bits));
                differ(&got, &[wanted[0].then_some(q), wanted[1].then_some(r)])
            });
        }
    }

    /// Checks results modulo prepared divisors; the second operand is a factor, or an exponent of a
    /// few bits.
    fn modular(
        &mut self,
        task: Task,
        operands: usize,
        oracle: fn(&BigUint, &BigUint, &BigUint) -> BigUint,
    ) {
        let bits = self.sizes.bits;
        let (rows, mut given) = self.given_prepared(4, 1);
        let mut second: Vec<BigUint> =
            self.rows(PRODUCTS, 3).into_iter().map(|row| row.b).take(rows.len()).collect();
        if task.0 == Op::PowMod {
            for (index, exponent) in second.iter_mut().enumerate() {
                *exponent = operands::low(std::mem::take(exponent), 3 * index % 55);
            }
        }
        if operands > 1 {
            given.inputs[1] = bytes_of(second.iter(), bits);
        }
        let expected: Vec<_> =
            rows.iter().zip(&second).map(|(row, second)| oracle(&row.a, second, &row.b)).collect();
        self.run(task, &rows, &given, |outcome, index, _| {
            let got = value_of(&outcome.outputs[0], index, bits);
            differ(&got.as_ref(), &Some(&expected[index]))
        });
    }

    /// Checks products of the powers of two bases, which are the rows in both orders, by exponents
    /// of a few bits.
    fn power_products(&mut self, task: Task) {
        let bits = self.sizes.bits;
        let (rows, mut given) = self.given_prepared(4, 1);
        let terms = |index: usize| {
            let term = |base: &BigUint, salt: usize| {
                let exponent = (index * index + salt) % (1 << (3 * index % 13));
                (base.clone(), BigUint::from(exponent))
            };
            [term(&rows[index].a, 5), term(&rows[rows.len() - 1 - index].a, 17)]
        };
        let (bases, exponents): (Vec<_>, Vec<_>) = (0..rows.len()).flat_map(terms).unzip();
        given.params.bases = 2;
        given.inputs[0] = bytes_of(bases.iter(), bits);
        given.inputs[1] = bytes_of(exponents.iter(), bits);
        let product = |(index, row): (usize, &Row)| {
            let [first, second] = terms(index).map(|(a, e)| oracle::pow_mod(&a, &e, &row.b));
            oracle::mul_mod(&first, &second, &row.b)
        };
        let expected: Vec<_> = rows.iter().enumerate().map(product).collect();
        self.run(task, &rows, &given, |outcome, index, _| {
            let got = value_of(&outcome.outputs[0], index, bits);
            differ(&got.as_ref(), &Some(&expected[index]))
        });
    }

    /// Products of residues modulo odd numbers: the second operand is below the modulus.
    fn residues(&mut self, task: Task, operands: usize) {
        let bits = self.sizes.bits;
        let mut rows = self.rows(DIVISIONS, 5);
        rows.iter_mut().for_each(|row| row.b.set_bit(0, true));
        let residue = |row: &Row| oracle::div_rem(&row.a, &row.b).1;
        if operands == 1 {
            rows.iter_mut().for_each(|row| row.a = residue(row));
        }
        let moduli = self.preparing_odd(&rows);
        let mut given = self.given(&rows, 1, 1);
        let factors: Vec<_> = rows.iter().map(residue).collect();
        if operands > 1 {
            given.inputs[1] = bytes_of(factors.iter(), bits);
        }
        let how = How { max_grid: MAX_GRID, seed: 0, checks: Checks::default() };
        let name = self.name((Op::PrepareOdd, task.1));
        given.inputs[2] = match ptx::run(&self.module, &name, &moduli, how) {
            Ok(outcome) => outcome.outputs[0].clone(),
            Err(fault) => panic!("{fault}"),
        };
        self.run(task, &rows, &given, |outcome, index, row| {
            let got = value_of(&outcome.outputs[0], index, bits).unwrap_or_default();
            let product = oracle::mul_mod(&row.a, &factors[index], &row.b);
            let shifted = oracle::mul_mod(&got, &operands::power(bits), &row.b);
            differ(&(got < row.b, shifted), &(true, product))
        });
    }

    /// The operands of a kernel that prepares odd moduli.
    fn preparing_odd(&self, rows: &[Row]) -> Operands {
        let bits = self.sizes.bits;
        let mut given = Operands { rows: rows.len(), ..Operands::default() };
        given.inputs[0] = bytes_of(second(rows), bits);
        given.outputs[0] = rows.len() * 2 * bits / 8;
        given
    }

    /// Checks that a check of results passes the right ones, and reports the lowest of two rows
    /// with a flipped bit.
    fn harmed(&mut self, task: Task, rows: &[Row], given: &Operands, results: &[[BigUint; 2]]) {
        let bits = self.sizes.bits;
        let count = given.outputs.iter().filter(|&&bytes| bytes > 0).count();
        for (output, first) in
            [None, Some(0), Some(1)].into_iter().take(count + 1).zip([0, rows.len() / 3, 1])
        {
            let mut results = results.to_vec();
            if let Some(output) = output {
                for row in [first, rows.len() - 1] {
                    let (bit, result) = ((31 * row % bits) as u64, &mut results[row][output]);
                    result.set_bit(bit, !result.bit(bit));
                }
            }
            let mut given = given.clone();
            for output in 0..count {
                given.updated[output] = bytes_of(results.iter().map(|row| &row[output]), bits);
            }
            let status = output.map_or(u64::MAX, |_| first as u64);
            self.run(task, rows, &given, |outcome, _, _| differ(&outcome.status, &status));
        }
    }

    /// Checks the equations of all operations.
    fn equations(&mut self, task: Task) {
        use gpuint_catalogue::Equation::*;
        const DIGIT: u64 = 0xfedc_ba98_7654_3211;
        let bits = self.sizes.bits;
        for (equation, families) in [
            (Sum, SUMS),
            (Difference, SUMS),
            (Product, PRODUCTS),
            (Quotient, DIVISIONS),
            (MaskedQuotient, DIVISIONS),
            (Root, ROOTS),
            (DigitQuotient, DIVISIONS),
        ] {
            let rows = self.rows(families, 0);
            let none = BigUint::ZERO;
            let mut marks = vec![0; 4 * rows.len().div_ceil(32)];
            let mut words = Vec::new();
            let mut results = Vec::new();
            for (index, Row { a, b, .. }) in rows.iter().enumerate() {
                let (c, d, is_marked) = match equation {
                    Sum | Difference => {
                        let oracle = if equation == Sum { oracle::add } else { oracle::sub };
                        let (sum, carry) = oracle(a, b, bits);
                        (sum, none.clone(), carry)
                    }
                    Product => {
                        let (low, high) = oracle::mul(a, b, bits);
                        (low, high, false)
                    }
                    Quotient | MaskedQuotient => oracle::div_rem_masked(a, b, bits),
                    Root => {
                        let root = oracle::isqrt(a);
                        let rest = a - &root * &root;
                        (root, rest, false)
                    }
                    DigitQuotient => {
                        let (q, r) = oracle::div_rem(a, &BigUint::from(DIGIT));
                        words.extend(r.iter_u64_digits().next().unwrap_or(0).to_le_bytes());
                        (q, none.clone(), false)
                    }
                };
                marks[index / 8] |= u8::from(is_marked) << (index % 8);
                results.push([c, d]);
            }
            let has_two = matches!(equation, Product | Quotient | MaskedQuotient | Root);
            let mut given = self.given(&rows, 2, if has_two { 2 } else { 1 });
            given.inputs[2] = if equation == DigitQuotient { words } else { marks };
            given.params.equation = equation as u32;
            let zero = rows.iter().position(|row| row.b.is_zero());
            given.params.digit = match equation {
                DigitQuotient => DIGIT,
                Quotient => zero.map_or(u64::MAX, |row| row as u64),
                _ => 0,
            };
            self.harmed(task, &rows, &given, &results);
        }
    }

    fn digit(&mut self, task: Task) {
        let rows = self.rows(SUMS, 4);
        let Sizes { bits, word, .. } = self.sizes;
        for digit in [1, 3, u64::MAX >> (64 - word), 1 << (word - 1), (1 << (word - 1)) + 1] {
            let mut given = self.given(&rows, 1, 1);
            given.outputs[1] = 8 * rows.len();
            given.params.digit = digit;
            self.run(task, &rows, &given, |outcome, index, row| {
                let got = value_of(&outcome.outputs[0], index, bits);
                let remainder = value_of(&outcome.outputs[1], index, 64);
                let (q, r) = oracle::div_rem(&row.a, &BigUint::from(digit));
                differ(&(got, remainder), &(Some(q), Some(r)))
            });
        }
    }

    /// Checks a kernel of the levels of square roots. Numbers have twice the bits of a level, and
    /// the level twice those of the kernel's rows.
    fn root_level(&mut self, task: Task) {
        let bits = self.sizes.bits;
        let rows = self.rows(ROOTS, 0);
        let levels: Vec<_> =
            rows.iter().enumerate().map(|(index, row)| Level::new(row, index, bits)).collect();
        let column =
            |value: fn(&Level) -> &BigUint, bits: usize| bytes_of(levels.iter().map(value), bits);
        let words = |value: fn(&Level) -> u32| -> Vec<u8> {
            levels.iter().flat_map(|level| value(level).to_le_bytes()).collect()
        };
        let numbers = column(|level| &level.a, 4 * bits);
        let params = Params {
            source_bits: 4 * bits as u32,
            part_bits: bits as u32 / 2,
            ..Params::default()
        };
        let mut given = Operands { rows: rows.len(), params, ..Operands::default() };
        match task.0 {
            Op::RootDividend => {
                given.params.distance = bits as u32;
                let remainders = column(|level| &level.upper_remainder, bits);
                given.inputs = [remainders, numbers, words(|level| level.length)];
                given.outputs[0] = rows.len() * bits / 8;
                self.run(task, &rows, &given, |outcome, index, _| {
                    let got = value_of(&outcome.outputs[0], index, bits);
                    differ(&got.as_ref(), &Some(&levels[index].dividend))
                });
            }
            Op::RootRemainder => {
                let square = column(|level| &level.square, bits);
                given.inputs = [column(|level| &level.rest, bits), square, numbers];
                // A flag of the level before is replaced.
                given.updated[1] = words(|level| level.length | 1);
                for has_next in [true, false] {
                    given.params.target_bits = if has_next { 2 * bits as u32 } else { 0 };
                    given.outputs = [rows.len() * bits / 4 * usize::from(has_next), 4 * rows.len()];
                    self.run(task, &rows, &given, |outcome, index, _| {
                        let level = &levels[index];
                        let length = level.length + u32::from(level.is_negative);
                        let want = (has_next.then(|| level.half.clone()), Some(length.into()));
                        let next = value_of(&outcome.outputs[0], index, 2 * bits);
                        differ(&(next, value_of(&outcome.outputs[1], index, 32)), &want)
                    });
                }
            }
            _ => {
                let lengths = words(|level| level.length + u32::from(level.is_negative));
                let roots = column(|level| &level.upper_root, bits);
                given.inputs = [column(|level| &level.quotient, bits), roots, lengths];
                given.params.target_bits = 2 * bits as u32;
                given.outputs = [rows.len() * bits / 4; 2];
                given.updated[1] = column(|level| &level.half, 2 * bits);
                self.run(task, &rows, &given, |outcome, index, _| {
                    let level = &levels[index];
                    let got = [0, 1].map(|i| value_of(&outcome.outputs[i], index, 2 * bits));
                    let want = [&level.root, &level.next];
                    differ(&got.each_ref().map(Option::as_ref), &want.map(Some))
                });
                // As the last level: rows whose level has a few zeros below them.
                given.params.distance = 2 * bits as u32;
                let zeros = |level: &Level| (bits - 1 - level.root.bits() as usize % 31) % 31;
                let lengths = levels.iter().flat_map(|level| {
                    let length = 2 * (bits - zeros(level)) as u32;
                    (length + u32::from(level.is_negative)).to_le_bytes()
                });
                given.inputs[2] = lengths.collect();
                self.run(task, &rows, &given, |outcome, index, _| {
                    let level = &levels[index];
                    let got = [0, 1].map(|i| value_of(&outcome.outputs[i], index, 2 * bits));
                    let root = &level.root >> zeros(level);
                    let scaled = &root << zeros(level);
                    let number = &level.root * &level.root + &level.remainder;
                    let remainder = (number - &scaled * scaled.clone()) >> (2 * zeros(level));
                    differ(&got, &[Some(root), Some(remainder)])
                });
            }
        }
    }

    fn inverse(&mut self, task: Task) {
        let rows = self.rows(INVERSES, 0);
        let Sizes { bits, word, .. } = self.sizes;
        let digits = bits / word;
        for h in [0, 1, digits / 2, digits - 1, digits, digits + digits / 2, 2 * digits - 1] {
            let exponent = h * word;
            let expected: Vec<_> = rows
                .iter()
                .map(|row| (!row.a.is_zero()).then(|| oracle::inverse(&row.a, exponent)))
                .map(|inverse| inverse.filter(|inverse| inverse.bits() <= bits as u64))
                .collect();
            let failed = expected.iter().position(Option::is_none);
            let params = Params { exponent: exponent as u32, ..Params::default() };
            let given = Operands { params, ..self.given(&rows, 1, 1) };
            self.run(task, &rows, &given, |outcome, index, _| {
                let got = value_of(&outcome.outputs[0], index, bits);
                // A failed row may hold anything.
                let want = expected[index].as_ref().or(got.as_ref());
                let status = failed.map_or(u64::MAX, |row| row as u64);
                differ(&(got.as_ref(), outcome.status), &(want, status))
            });
        }
    }

    fn shift(&mut self, task: Task, oracle: impl Fn(&BigUint, usize) -> BigUint) {
        let rows = self.rows(SUMS, 1);
        let Sizes { bits, word, .. } = self.sizes;
        for distance in [0, 1, word - 1, word, word + 1, bits / 2 + 3, bits - 1, bits, 3 * bits] {
            let params = Params { distance: distance as u32, ..Params::default() };
            let given = Operands { params, ..self.given(&rows, 1, 1) };
            self.run_to_value(task, &rows, &given, |row| oracle(&row.a, distance));
        }
    }

    /// Shifts by a distance for each row.
    fn shift_rows(&mut self, task: Task, oracle: impl Fn(&BigUint, usize) -> BigUint) {
        let rows = self.rows(SUMS, 1);
        let bits = self.sizes.bits;
        let distance = |index: usize| (37 * index + 5) % (bits + 2);
        let mut given = self.given(&rows, 1, 1);
        let distances = (0..rows.len()).flat_map(|index| (distance(index) as u32).to_le_bytes());
        given.inputs[1] = distances.collect();
        let expected: Vec<_> =
            rows.iter().enumerate().map(|(index, row)| oracle(&row.a, distance(index))).collect();
        self.run(task, &rows, &given, |outcome, index, _| {
            let got = value_of(&outcome.outputs[0], index, bits);
            differ(&got.as_ref(), &Some(&expected[index]))
        });
    }

    /// A number of bits for each row.
    fn lengths(&mut self, task: Task, oracle: impl Fn(&BigUint) -> u64) {
        let rows = self.rows(SUMS, 3);
        let mut given = self.given(&rows, 1, 0);
        given.outputs[0] = 4 * rows.len();
        self.run(task, &rows, &given, |outcome, index, row| {
            let got = outcome.outputs[0][4 * index..].first_chunk().copied();
            differ(&got.map(u32::from_le_bytes), &Some(oracle(&row.a) as u32))
        });
    }

    /// One bit a row.
    fn test(&mut self, task: Task, operands: usize, oracle: fn(&Row) -> bool) {
        let rows = self.rows(SUMS, 2);
        let given = Operands { mask: true, ..self.given(&rows, operands, 0) };
        self.run(task, &rows, &given, |outcome, index, row| {
            differ(&outcome.is_marked(index), &oracle(row))
        });
    }

    /// Rows for tests of primes: short, since the interpreter walks over all their bits, with
    /// primes, products of two and squares among them.
    fn prime_rows(&self) -> Vec<Row> {
        let mut rows = self.rows(SUMS, 2);
        let known = primes::known_primes(64);
        for (index, row) in rows.iter_mut().enumerate() {
            let prime = &known[index % known.len()];
            row.a = match index % 4 {
                0 => prime.clone(),
                1 => prime * &known[index / 4 % known.len()],
                2 => operands::low(row.a.clone(), 40),
                _ => operands::low(row.a.clone(), 70) | BigUint::from(1u32),
            };
        }
        rows
    }

    fn task(&mut self, task: Task) {
        let bits = self.sizes.bits;
        match task.0 {
            Op::Add => self.sums(task, oracle::add),
            Op::Sub => self.sums(task, oracle::sub),
            Op::Shl => self.shift(task, |a, distance| oracle::shl(a, distance, bits)),
            Op::Shr => self.shift(task, oracle::shr),
            Op::EqMask => self.test(task, 2, |row| oracle::cmp(&row.a, &row.b).is_eq()),
            Op::LtMask => self.test(task, 2, |row| oracle::cmp(&row.a, &row.b).is_lt()),
            Op::IsZeroMask => self.test(task, 1, |row| row.a.is_zero()),
            Op::Cmp => {
                let rows = self.rows(SUMS, 3);
                let mut given = self.given(&rows, 2, 0);
                given.outputs[0] = rows.len();
                self.run(task, &rows, &given, |outcome, index, row| {
                    let got = (outcome.outputs[0][index] as i8).cmp(&0);
                    differ::<Ordering>(&got, &oracle::cmp(&row.a, &row.b))
                });
            }
            Op::StrongBase2 => {
                let rows = self.prime_rows();
                let given = Operands { mask: true, ..self.given(&rows, 1, 0) };
                self.run(task, &rows, &given, |outcome, index, row| {
                    differ(&outcome.is_marked(index), &primes::is_strong(&row.a, &2u32.into()))
                });
            }
            Op::StrongTerms | Op::ExtraStrongTerms => {
                let rows = self.prime_rows();
                let mut given = self.given(&rows, 1, 0);
                given.outputs[0] = rows.len() * size_of::<u64>();
                let is_extra = task.0 == Op::ExtraStrongTerms;
                let is_square = |a: &BigUint| {
                    let root = oracle::isqrt(a);
                    a.bit(0) && *a > BigUint::from(64u32) && &root * &root == *a
                };
                let square = rows.iter().position(|row| is_square(&row.a));
                self.run(task, &rows, &given, |outcome, index, row| {
                    let bytes = &outcome.outputs[0][index * size_of::<u64>()..];
                    let word = bytes
                        .iter()
                        .take(8)
                        .rev()
                        .fold(0, |word, &byte| word << 8 | u64::from(byte));
                    let expected = match (is_square(&row.a), is_extra) {
                        (true, _) => u64::MAX,
                        (false, true) => primes::extra_strong_term(&row.a),
                        (false, false) => primes::strong_term(&row.a),
                    };
                    let status = square.map_or(u64::MAX, |row| row as u64);
                    differ(&(word, outcome.status), &(expected, status))
                });
            }
            Op::StrongLucas => {
                let rows = self.prime_rows();
                let term = |index: usize| [(-3i32, 1u32), (4, 1), (5, 2), (-7, 4)][index % 4];
                let word = |(numerator, denominator)| {
                    u64::from(numerator as u32) << 32 | u64::from(denominator)
                };
                let mut given = Operands { mask: true, ..self.given(&rows, 1, 0) };
                given.inputs[1] =
                    (0..rows.len()).flat_map(|index| word(term(index)).to_le_bytes()).collect();
                self.run(task, &rows, &given, |outcome, index, row| {
                    let (numerator, denominator) = term(index);
                    let is_odd = row.a.bit(0) && row.a.bits() > 1;
                    // The kernel concludes u_d = 0 from v_d and v_(d+1): T^2 - 4 must be a unit.
                    let square = |x: i64| x * x;
                    let d = square(numerator.into()) - 4 * square(denominator.into());
                    let is_unit = oracle::gcd(&d.unsigned_abs().into(), &row.a).is_one();
                    let expected = is_odd && primes::is_lucas(&row.a, numerator, denominator);
                    differ(&(outcome.is_marked(index) && is_unit), &(expected && is_unit))
                });
            }
            Op::BitLengths => self.lengths(task, oracle::bits),
            Op::CountOnes => self.lengths(task, oracle::count_ones),
            Op::TrailingZeros => {
                self.lengths(task, |a| oracle::trailing_zeros(a).unwrap_or(bits as u64));
            }
            Op::BitMask => {
                let rows = self.rows(SUMS, 2);
                let params = Params { distance: bits as u32 / 2 + 1, ..Params::default() };
                let given = Operands { mask: true, params, ..self.given(&rows, 1, 0) };
                self.run(task, &rows, &given, |outcome, index, row| {
                    differ(&outcome.is_marked(index), &row.a.bit(params.distance.into()))
                });
            }
            Op::Bitwise => {
                let rows = self.rows(SUMS, 0);
                for (index, table) in [0b1000, 0b1110, 0b0110].into_iter().enumerate() {
                    let params = Params { table, ..Params::default() };
                    let given = Operands { params, ..self.given(&rows, 2, 1) };
                    let expected = |row: &Row| oracle::bitwise(&row.a, &row.b)[index].clone();
                    self.run_to_value(task, &rows, &given, expected);
                }
            }
            Op::ShlRows => self.shift_rows(task, |a, distance| oracle::shl(a, distance, bits)),
            Op::ShrRows => self.shift_rows(task, oracle::shr),
            Op::Lookup => {
                let rows = self.rows(SUMS, 1);
                let table: Vec<BigUint> = (0..512u32).map(BigUint::from).collect();
                let mut given = self.given(&rows, 2, 1);
                given.inputs[0] = bytes_of(table.iter(), bits);
                given.params.distance = 8;
                self.run_to_value(task, &rows, &given, |row| {
                    operands::low(&row.b >> 8, 8) + 256u32
                });
            }
            Op::Gather => {
                let rows = self.rows(SUMS, 1);
                let mut given = self.given(&rows, 1, 1);
                let from = |index: usize| (7 * index + 3) % rows.len();
                given.inputs[1] =
                    (0..rows.len()).flat_map(|index| (from(index) as u64).to_le_bytes()).collect();
                self.run(task, &rows, &given, |outcome, index, _| {
                    let got = value_of(&outcome.outputs[0], index, bits);
                    differ(&got.as_ref(), &Some(&rows[from(index)].a))
                });
            }
            Op::Select => {
                let rows = self.rows(SUMS, 2);
                let mut given = self.given(&rows, 2, 1);
                given.inputs[2] = vec![0b0110_1001; 4 * rows.len().div_ceil(32)];
                self.run(task, &rows, &given, |outcome, index, row| {
                    let got = value_of(&outcome.outputs[0], index, bits);
                    let is_set = 0b0110_1001 >> (index % 8) & 1 == 1;
                    differ(&got.as_ref(), &Some(if is_set { &row.a } else { &row.b }))
                });
            }
            Op::Resize => {
                let rows = self.rows(SUMS, 3);
                for target in [bits / 2, 2 * bits] {
                    let params = Params { target_bits: target as u32, ..Params::default() };
                    let mut given = Operands { params, ..self.given(&rows, 1, 1) };
                    given.outputs[0] = rows.len() * target / 8;
                    let wide = rows.iter().position(|row| row.a.bits() > target as u64);
                    self.run(task, &rows, &given, |outcome, index, row| {
                        let got = value_of(&outcome.outputs[0], index, target);
                        let expected = oracle::shl(&row.a, 0, target);
                        let status = wide.map_or(u64::MAX, |row| row as u64);
                        differ(&(got, outcome.status), &(Some(expected), status))
                    });
                }
            }
            Op::DivExact => {
                for mask in [false, true] {
                    let rows = self.rows(EXACT, usize::from(mask));
                    let zero = rows.iter().position(|row| row.b.is_zero());
                    let given = Operands { mask, ..self.given(&rows, 2, 1) };
                    self.run(task, &rows, &given, |outcome, index, row| {
                        let expected = oracle::div_exact(&row.a, &row.b);
                        let got = value_of(&outcome.outputs[0], index, bits);
                        // Without a mask, the other rows may hold anything.
                        let want = match mask {
                            true => Some(expected.clone().unwrap_or_default()),
                            false => expected.clone().or(got.clone()),
                        };
                        let status = zero.map_or(u64::MAX, |row| row as u64);
                        differ(
                            &(got, outcome.is_marked(index), outcome.status),
                            &(want, mask && expected.is_none(), status),
                        )
                    });
                }
            }
            Op::InverseModPow2 => {
                let rows = self.rows(EXACT, 2);
                let mut given = Operands { mask: true, ..self.given(&rows, 1, 1) };
                given.inputs[0] = bytes_of(second(&rows), bits);
                self.run(task, &rows, &given, |outcome, index, row| {
                    let expected = oracle::inverse_mod(&row.b, &operands::power(bits));
                    let got =
                        (value_of(&outcome.outputs[0], index, bits), outcome.is_marked(index));
                    let none = expected.is_none();
                    differ(&got, &(Some(expected.unwrap_or_default()), none))
                });
            }
            Op::Gcd => {
                let rows = self.rows(EUCLID, 0);
                let given = self.given(&rows, 2, 1);
                self.run_to_value(task, &rows, &given, |row| oracle::gcd(&row.a, &row.b));
            }
            Op::HalfGcd => {
                let rows = self.rows(EUCLID, 0);
                let given = self.given(&rows, 2, 2);
                self.run(task, &rows, &given, |outcome, index, row| {
                    let got = |output: usize| value_of(&outcome.outputs[output], index, bits);
                    let (Some(first), Some(second)) = (got(0), got(1)) else {
                        return differ(&false, &true);
                    };
                    differ(&oracle::is_half_gcd(&row.a, &row.b, &first, &second, bits), &true)
                });
            }
            Op::InverseMod => {
                let rows = self.rows(EUCLID, 1);
                let given = Operands { mask: true, ..self.given(&rows, 2, 1) };
                self.run(task, &rows, &given, |outcome, index, row| {
                    let expected = oracle::inverse_mod(&row.a, &row.b);
                    let got =
                        (value_of(&outcome.outputs[0], index, bits), outcome.is_marked(index));
                    let none = expected.is_none();
                    differ(&got, &(Some(expected.unwrap_or_default()), none))
                });
            }
            Op::Jacobi => {
                let rows = self.rows(EUCLID, 2);
                let mut given = self.given(&rows, 2, 0);
                given.outputs[0] = rows.len();
                self.run(task, &rows, &given, |outcome, index, row| {
                    let got = outcome.outputs[0][index] as i8;
                    differ(&got, &oracle::kronecker(&row.a, &row.b))
                });
            }
            Op::Rational => {
                let mut rows = self.rows(FRACTIONS, 0);
                rows.retain(|row| row.a < row.b);
                let mut given = Operands { mask: true, ..self.given(&rows, 2, 2) };
                let bounds: Vec<_> = rows.iter().map(|row| oracle::isqrt(&(&row.b >> 1))).collect();
                given.inputs[2] = bytes_of(bounds.iter(), bits);
                self.run(task, &rows, &given, |outcome, index, row| {
                    let got = |output: usize| value_of(&outcome.outputs[output], index, bits);
                    let got = (got(0), got(1), outcome.is_marked(index));
                    let (n, d, is) = oracle::remainder_of(&row.a, &row.b, &bounds[index]);
                    differ(&got, &(Some(n), Some(d), is))
                });
            }
            Op::Isqrt => {
                let rows = self.rows(ROOTS, 0);
                let given = self.given(&rows, 1, 2);
                self.run(task, &rows, &given, |outcome, index, row| {
                    let root = oracle::isqrt(&row.a);
                    let rest = &row.a - &root * &root;
                    let got = |output: usize| value_of(&outcome.outputs[output], index, bits);
                    differ(&(got(0), got(1)), &(Some(root), Some(rest)))
                });
            }
            Op::RootDividend | Op::RootRemainder | Op::RootCorrect => self.root_level(task),
            Op::CheckEquation => self.equations(task),
            Op::CheckDivRemBy => {
                let (rows, given) = self.given_prepared(0, 2);
                let results: Vec<_> = rows
                    .iter()
                    .map(|row| oracle::div_rem(&row.a, &row.b))
                    .map(|(q, r)| [q, r])
                    .collect();
                self.harmed(task, &rows, &given, &results);
            }
            Op::CheckEqual => {
                let rows = self.rows(SUMS, 0);
                let bytes = bytes_of(first(&rows), bits);
                for (row_bits, harmed) in [(bits, 3), (8, 5), (8, bytes.len() - 1)] {
                    let mut given =
                        Operands { rows: 8 * bytes.len() / row_bits, ..Operands::default() };
                    given.params.source_bits = row_bits as u32;
                    given.inputs = [bytes.clone(), bytes.clone(), Vec::new()];
                    for status in [u64::MAX, (8 * harmed / row_bits) as u64] {
                        self.run(task, &rows, &given, |outcome, _, _| {
                            differ(&outcome.status, &status)
                        });
                        given.inputs[1][harmed] ^= 16;
                    }
                }
            }
            Op::MulLo => {
                let rows = self.rows(PRODUCTS, 0);
                let given = self.given(&rows, 2, 1);
                self.run_to_value(task, &rows, &given, |row| oracle::mul(&row.a, &row.b, bits).0);
            }
            Op::MulWide => self.wide_product(task),
            Op::MulCyclic => unreachable!("the catalogue has no kernel for it"),
            Op::SumOfProducts => self.sums_of_products(task, 1),
            Op::WideSumOfProducts => self.sums_of_products(task, 2),
            Op::SquareLo => {
                let rows = self.rows(PRODUCTS, 2);
                let given = self.given(&rows, 1, 1);
                self.run_to_value(task, &rows, &given, |row| oracle::square(&row.a, bits));
            }
            Op::DivRemDigit => self.digit(task),
            Op::Prepare => {
                let rows = self.rows(DIVISIONS, 3);
                let zero = rows.iter().position(|row| row.b.is_zero());
                let given = self.preparing(&rows);
                self.run(task, &rows, &given, |outcome, _, _| {
                    differ(&outcome.status, &zero.map_or(u64::MAX, |row| row as u64))
                });
            }
            Op::DivRemBy => self.division_by(task),
            Op::MulMod => {
                self.modular(task, 2, oracle::mul_mod);
            }
            Op::SquareMod => {
                self.modular(task, 1, |a, _, v| oracle::mul_mod(a, a, v));
            }
            Op::PowMod => self.modular(task, 2, oracle::pow_mod),
            Op::PowProductMod => self.power_products(task),
            Op::AddMod => self.modular(task, 2, oracle::add_mod),
            Op::SubMod => self.modular(task, 2, oracle::sub_mod),
            Op::NegMod => self.modular(task, 1, |a, _, v| oracle::sub_mod(&BigUint::ZERO, a, v)),
            Op::HalveMod => {
                let (mut rows, _) = self.given_prepared(6, 1);
                rows.iter_mut().for_each(|row| row.b.set_bit(0, true));
                rows.iter_mut().for_each(|row| row.a = oracle::div_rem(&row.a, &row.b).1);
                let mut given = self.given(&rows, 1, 1);
                given.inputs[2] = self.prepared(&rows);
                self.run(task, &rows, &given, |outcome, index, row| {
                    let got = value_of(&outcome.outputs[0], index, bits).unwrap_or_default();
                    differ(
                        &(got < row.b, oracle::add_mod(&got, &got, &row.b)),
                        &(true, row.a.clone()),
                    )
                });
            }
            Op::PrepareOdd => {
                let rows = self.rows(DIVISIONS, 3);
                let even = rows.iter().position(|row| !row.b.bit(0));
                let given = self.preparing_odd(&rows);
                self.run(task, &rows, &given, |outcome, _, _| {
                    differ(&outcome.status, &even.map_or(u64::MAX, |row| row as u64))
                });
            }
            Op::MulResidues => self.residues(task, 2),
            Op::SquareResidues => self.residues(task, 1),
            Op::Fold => self.fold(task),
            Op::DivRem => self.division(task),
            Op::ShiftedInverse => self.inverse(task),
        }
    }
}

/// A level of a square root (`root/level.cuh`).
struct Level {
    a: BigUint,
    /// Bits of `a`, rounded up to even.
    length: u32,
    upper_root: BigUint,
    upper_remainder: BigUint,
    dividend: BigUint,
    quotient: BigUint,
    rest: BigUint,
    square: BigUint,
    is_negative: bool,
    /// Half the next dividend, before and after a correction.
    half: BigUint,
    next: BigUint,
    root: BigUint,
    remainder: BigUint,
}

impl Level {
    /// The level of `2 bits` bits at the top of a number of up to `4 bits` bits.
    fn new(row: &Row, index: usize, bits: usize) -> Self {
        let k = bits / 2;
        let low = |value: &BigUint, bits: usize| oracle::shl(value, 0, bits);
        let mut root = low(&row.b, bits);
        root.set_bit(bits as u64 - 1, true);
        let mut a = match index % 4 {
            // The quotient is 2^k.
            0 => {
                let upper = (&root >> k) * (&root >> k) - 1u32;
                (upper << bits) + &row.a
            }
            1 => &root * &root - (index % 3) as u32,
            2 => low(&(&root * &root + &row.a), 2 * bits),
            _ => (&row.a << bits) + &row.b,
        };
        a = (((a << bits) + &row.b) << bits) + &row.a;
        if index % 5 < 2 {
            a >>= 37 * index % (3 * bits);
        }
        a.set_bit(1, true);
        let length = a.bits().next_multiple_of(2);
        let lead = (&a << (4 * bits) >> length as usize) >> (2 * bits);
        let part = |from: usize, bits: usize| oracle::shl(&(&lead >> from), 0, bits);
        let upper = &lead >> bits;
        let upper_root = oracle::isqrt(&upper);
        let upper_remainder = upper - &upper_root * &upper_root;
        let dividend = ((&upper_remainder << k) + part(k, k)) >> 1;
        let (quotient, rest) = oracle::div_rem(&dividend, &upper_root);
        let square = low(&(&quotient * &quotient), bits);
        let x = (((&rest << 1) + part(k, 1)) << k) + part(0, k);
        let is_negative = x < square;
        // Half of x - square, and their lowest bit, above half the next part.
        let following = (&a << (6 * bits) >> length as usize) >> (3 * bits);
        let following = low(&following, bits);
        let dividend_of = |r: &BigUint| low(&((r << bits | &following) >> 1), 2 * bits);
        let modulus = BigUint::from(1u32) << (2 * bits);
        let half = dividend_of(&low(&(&modulus + x - &square), bits + 1));
        let root = oracle::isqrt(&lead);
        let remainder = lead - &root * &root;
        let next = dividend_of(&remainder);
        let length = length as u32;
        Self {
            a,
            length,
            upper_root,
            upper_remainder,
            dividend,
            quotient,
            rest,
            square,
            is_negative,
            half,
            next,
            root,
            remainder,
        }
    }
}

/// Returns the error of an unexpected value.
fn differ<V: PartialEq + Debug>(got: &V, expected: &V) -> Option<String> {
    (got != expected).then(|| format!("{got:?} instead of {expected:?}"))
}

/// Runs the kernels of the catalogue at one shape that depend on its digits or Q: the others are
/// those of [`plain`].
fn kernels_of_shape(bits: usize, q: usize, digit: DigitKind, count: usize) {
    let catalogue = ptx::catalogue().expect("the catalogue");
    let is_of_width =
        |task| catalogue.rows().any(|row| row.per_width && (row.op, row.algorithm) == task);
    kernels(Shape { bits, q, digit }, count, |task| !is_of_width(task));
}

/// A shape of 64-bit digits, four to a thread.
fn plain(bits: usize) -> Shape {
    Shape { bits, q: 4, digit: DigitKind::U64 }
}

/// Runs the kernels of the catalogue at one shape for which `wanted` returns true.
fn kernels(shape: Shape, count: usize, wanted: impl Fn(Task) -> bool) {
    let Some(mut kernels) = Kernels::new(shape, count, wanted) else { return };
    let tasks: Vec<Task> =
        kernels.kernels.iter().map(|kernel| (kernel.row.op, kernel.row.algorithm)).collect();
    for &task in &tasks {
        kernels.task(task);
    }
    let Kernels { rows, wrong, .. } = kernels;
    eprintln!("{shape}: {} kernels, {rows} rows", tasks.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn u64_q4_1024() {
    kernels(plain(1024), 330, |_| true);
}

#[test]
fn u64_q4_2048() {
    kernels(plain(2048), 93, |_| true);
}

#[test]
fn u32_q2_1024() {
    kernels_of_shape(1024, 2, DigitKind::U32, 170);
}

#[test]
fn u16_q1_1024() {
    kernels_of_shape(1024, 1, DigitKind::U16, 90);
}

#[test]
fn u16_q4_1024() {
    kernels_of_shape(1024, 4, DigitKind::U16, 170);
}

/// The levels of square roots: rows of a part of a warp.
#[test]
fn levels_of_roots() {
    kernels(plain(4096), 60, |(op, _)| {
        matches!(op, Op::RootDividend | Op::RootRemainder | Op::RootCorrect)
    });
}

/// A row takes a whole block.
#[test]
fn u64_q4_16384() {
    kernels(plain(16384), 31, |task| !prepares(task) && !has_prepared(task));
}

#[test]
fn u64_q4_16384_prepared() {
    kernels(plain(16384), 31, |task| prepares(task) || has_prepared(task));
}

/// Products by transforms, of one part and of two.
#[test]
fn fft() {
    for (bits, count) in [(65536, 9), (131_072, 9)] {
        kernels(plain(bits), count, |task| {
            task.1 == Algorithm::By(Product::Fft) && !has_prepared(task)
        });
    }
}

/// Modular arithmetic and divisions by transforms.
#[test]
fn fft_prepared() {
    kernels(plain(32768), 5, |task| {
        prepares(task) || (task.1.product() == Some(Product::Fft) && has_prepared(task))
    });
}

/// Products by number-theoretic transforms: columns of 4 points in the first pass.
#[test]
fn ntt() {
    kernels(plain(131_072), 9, |task| task.1 == Algorithm::By(Product::Ntt));
}

/// Products by the tensor cores: tiles in one group, of 4, 8 and 12; in two groups; and in four,
/// shared by two warps.
#[test]
fn tensor() {
    for (bits, count) in [(4096, 66), (8192, 45), (12288, 33), (32768, 9), (65536, 9)] {
        kernels(plain(bits), count, |task| is_by_tensor_cores(task) && !has_prepared(task));
    }
}

/// Prepared divisors by the tensor cores: one warp to a row, whose products have few tiles at a
/// time; at 16384 bits they have many.
#[test]
fn tensor_prepared() {
    kernels(plain(8192), 9, |task| {
        prepares(task) || (is_by_tensor_cores(task) && has_prepared(task))
    });
}

fn is_by_tensor_cores(task: Task) -> bool {
    task.1.product() == Some(Product::TensorCore)
}

/// Returns true for the kernels whose results are operands of those with prepared divisors.
fn prepares(task: Task) -> bool {
    task == (Op::Prepare, Algorithm::By(Product::Classical)) || task.0 == Op::PrepareOdd
}

/// Returns true if an operation has prepared divisors as an operand.
fn has_prepared(task: Task) -> bool {
    task.0.signature().inputs[gpuint_catalogue::PREPARED].is_some()
}

/// Pairs of about `bits` bits that are hard for Euclid's algorithm, by name: quotients of one
/// length throughout, from those of Fibonacci's sequence to ones that no leading bits determine,
/// and runs of equal bits.
fn hostile_pairs(bits: usize) -> Vec<(String, [BigUint; 2])> {
    let (ones, top) = (operands::ones(bits), operands::power(bits - 1));
    let random = rows(SEED, &[operands::FULL_WIDTH], plain(bits).into(), 0..2);
    let random: Vec<_> = random.into_iter().map(|row| row.a).collect();
    let mut pairs = vec![
        ("all ones".to_owned(), [random[0].clone(), ones.clone()]),
        ("a power of two and all ones".to_owned(), [top.clone() + 1u32, ones]),
        ("neighbours".to_owned(), [random[0].clone(), &random[0] - 1u32]),
        ("half the length".to_owned(), [random[1].clone(), &random[0] >> (bits / 2)]),
    ];
    for length in [1, 2, 15, 16, 17, 31, 32, 33, 62, 63, 64, 65, 100] {
        let quotient = if length == 1 { operands::ones(1) } else { operands::power(length) - 3u32 };
        let (mut x, mut y) = (BigUint::from(1u32), BigUint::zero());
        loop {
            let next = &x * &quotient + &y;
            if next.bits() > bits as u64 {
                break;
            }
            (x, y) = (next, x);
        }
        pairs.push((format!("quotients of {length} bits"), [x, y]));
    }
    pairs
}

/// Compares the warp instructions of the kernels of Euclid's algorithm for hostile pairs, each kind
/// alone and all together, with those for as many random ones. Other operations of the kind are
/// composed of these and of divisions. Half-gcds make a pass for each quotient that the leading
/// bits do not determine.
fn check_hostile_rows(bits: usize) {
    let euclid = |op| matches!(op, Op::Gcd | Op::InverseMod | Op::Jacobi | Op::HalfGcd);
    let Some(kernels) = Kernels::with(plain(bits), 0, &[], |(op, _)| euclid(op)) else {
        return;
    };
    assert!(kernels.kernels.len() >= 3);
    for kernel in &kernels.kernels {
        let name = kernel.name();
        let op = kernel.row.op;
        let count = |pairs: &[[BigUint; 2]]| {
            let column = |side: usize| bytes_of(pairs.iter().map(|pair| &pair[side]), bits);
            let bytes = pairs.len() * if op == Op::Jacobi { 1 } else { bits / 8 };
            let given = Operands {
                inputs: [column(0), column(1), Vec::new()],
                outputs: [bytes, if op == Op::HalfGcd { bytes } else { 0 }],
                mask: op == Op::InverseMod,
                rows: pairs.len(),
                ..Operands::default()
            };
            let how = How { max_grid: u32::MAX, seed: 0, checks: Checks::NONE };
            ptx::run(&kernels.module, &name, &given, how).unwrap().counts.total.warp as f64
        };
        let hostile = hostile_pairs(bits);
        let random = rows(SEED, &[operands::FULL_WIDTH], plain(bits).into(), 0..hostile.len());
        let usual = count(&random.into_iter().map(|row| [row.a, row.b]).collect::<Vec<_>>());
        let mixed = hostile.iter().map(|(_, pair)| pair.clone()).collect();
        let batches =
            hostile.iter().map(|(kind, pair)| (&**kind, vec![pair.clone(); hostile.len()]));
        for (kind, pairs) in batches.chain([("all of them", mixed)]) {
            let ratio = count(&pairs) / usual;
            println!("{name}: {kind}: {ratio:.2} times the instructions of random rows");
            let most = if op == Op::HalfGcd { 3.0 } else { 2.3 };
            assert!(ratio <= most, "{name}, {kind}: {ratio:.2} times random rows");
        }
    }
}

#[test]
fn hostile_rows_of_narrow_euclid_cost_little_more_than_random_ones() {
    check_hostile_rows(1024);
}

#[test]
fn hostile_rows_of_wider_euclid_cost_little_more_than_random_ones() {
    check_hostile_rows(4096);
}
