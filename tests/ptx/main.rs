//! Every kernel as nvcc compiles it, run by the PTX interpreter with all its checks: races and
//! unwritten words of shared memory, lane masks, divergent barriers, carry chains, bounds.
//!
//! The other suites run the kernels' source; this one runs what the GPU would be given, on
//! structured rows, in two orders of the warps. Needs nvcc, no GPU; where there is none, the tests
//! say so and pass.

#[path = "../../src/codegen.rs"]
#[allow(dead_code)]
mod codegen;
#[allow(dead_code)]
mod compiled;
#[path = "../suite/operands.rs"]
#[allow(dead_code)]
mod operands;
#[path = "../suite/oracle.rs"]
#[allow(dead_code)]
mod oracle;

use std::cmp::Ordering;
use std::fmt::Debug;

use codegen::Entry;
use compiled::{How, Operands, Outcome, bytes_of};
use gpuint::num_bigint::BigUint;
use num_traits::Zero;
use operands::{DIVISIONS, INVERSES, PRODUCTS, Row, SUMS, Sizes, rows};
use ptxi::{Checks, Module};

const SEED: u64 = 0x7074_7869;
/// 0 is the order in which warps are listed.
const SCHEDULES: [u64; 2] = [0, 0x5eed];
/// Few blocks, so that each has several rounds of rows.
const MAX_GRID: u32 = 2;
/// The bounds that the kernels' headers prove are looked at: a false one is a `trap`.
const CHECKED: &[&str] = &["-DGPUINT_CHECKED"];

/// The kernels of one shape.
struct Kernels {
    sizes: Sizes,
    /// Rows of each launch.
    count: usize,
    entries: Vec<Entry<'static>>,
    module: Module,
    rows: usize,
    wrong: Vec<String>,
}

/// A row of a result; `None` where the result was not wanted.
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
    /// Those of a shape that `wanted` says yes to.
    fn new(
        (bits, q, digit, word): (usize, usize, &'static str, usize),
        count: usize,
        wanted: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        let nvcc = match compiled::nvcc() {
            Ok(nvcc) => nvcc,
            Err(reason) => {
                eprintln!("skipped: {reason}");
                return None;
            }
        };
        let tasks = compiled::tasks().expect("the catalogue");
        let entries: Vec<_> = tasks
            .into_iter()
            .filter(|task| task.is_offered(bits, digit) && wanted(task.name))
            .map(|task| Entry { task, bits, q, digit, block: 128 })
            .collect();
        let compiled =
            compiled::compile(&nvcc, &entries, CHECKED).unwrap_or_else(|error| panic!("{error}"));
        let sizes = Sizes { bits, word, q };
        let module = compiled.module;
        Some(Self { sizes, count, entries, module, rows: 0, wrong: Vec::new() })
    }

    fn name(&self, task: &str) -> String {
        let entry = self.entries.iter().find(|entry| entry.task.name == task);
        entry.expect("tasks are those of the entries").name()
    }

    fn rows(&self, families: &[operands::Family], turn: usize) -> Vec<Row> {
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

    /// Runs a kernel in both orders; `check` says what is wrong with a row.
    fn run(
        &mut self,
        task: &str,
        rows: &[Row],
        given: &Operands,
        check: impl Fn(&Outcome, usize, &Row) -> Option<String>,
    ) {
        for seed in SCHEDULES {
            let how = How { max_grid: MAX_GRID, seed, checks: Checks::default() };
            let name = self.name(task);
            let outcome = match compiled::run(&self.module, &name, given, how) {
                Ok(outcome) => outcome,
                Err(fault) => {
                    self.wrong.push(format!("{fault} (schedule {seed}, scalar {})", given.scalar));
                    continue;
                }
            };
            self.rows += rows.len();
            let wrong = rows.iter().enumerate().filter_map(|(index, row)| {
                let what = check(&outcome, index, row)?;
                Some(format!(
                    "{name} (schedule {seed}, scalar {}), row {} of {}: {what}\n  a {:x}\n  b {:x}",
                    given.scalar,
                    row.index,
                    row.family(),
                    row.a,
                    row.b
                ))
            });
            self.wrong.extend(wrong.take(3));
        }
    }

    /// Runs a kernel that gives one row of full width to each row.
    fn run_to_value(
        &mut self,
        task: &str,
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

    fn sums(&mut self, task: &str, oracle: fn(&BigUint, &BigUint, usize) -> (BigUint, bool)) {
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

    fn wide_product(&mut self, task: &str) {
        let rows = self.rows(PRODUCTS, 1);
        let bits = self.sizes.bits;
        let expected: Vec<_> = rows.iter().map(|row| oracle::mul(&row.a, &row.b, bits)).collect();
        let given = self.given(&rows, 2, 2);
        self.run(task, &rows, &given, |outcome, index, _| {
            let got = [0, 1].map(|half| value_of(&outcome.outputs[half], index, bits));
            let (low, high) = &expected[index];
            differ(&got.each_ref().map(Option::as_ref), &[Some(low), Some(high)])
        });
        let mut given = Operands { scalar: 1, ..self.given(&rows, 2, 1) };
        given.outputs[0] *= 2;
        self.run(task, &rows, &given, |outcome, index, _| {
            let got = value_of(&outcome.outputs[0], index, 2 * bits);
            let (low, high) = &expected[index];
            differ(&got, &Some(low + (high << bits)))
        });
    }

    /// Quotients and remainders; then each of them alone.
    fn division(&mut self, task: &str) {
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

    /// What a kernel that prepares the divisors of some rows is given.
    fn preparing(&self, rows: &[Row]) -> Operands {
        let bits = self.sizes.bits;
        let mut given = Operands { rows: rows.len(), ..Operands::default() };
        given.inputs[0] = bytes_of(second(rows), bits);
        // `Record` of kernels/div/prepare.cuh, for widths of whole 32-bit limbs.
        given.outputs[0] = rows.len() * (2 * bits.div_ceil(128) + 4) * 16;
        given
    }

    /// The divisors of some rows, prepared.
    fn prepared(&mut self, rows: &[Row]) -> Vec<u8> {
        let how = How { max_grid: MAX_GRID, seed: 0, checks: Checks::default() };
        let name = self.name("prepare_classical");
        match compiled::run(&self.module, &name, &self.preparing(rows), how) {
            Ok(outcome) => outcome.outputs[0].clone(),
            Err(fault) => panic!("{fault}"),
        }
    }

    /// Rows without divisors of zero, and what a kernel that divides by them is given.
    fn given_prepared(&mut self, turn: usize, results: usize) -> (Vec<Row>, Operands) {
        let mut rows = self.rows(DIVISIONS, turn);
        rows.retain(|row| !row.b.is_zero());
        let mut given = self.given(&rows, 1, results);
        given.inputs[2] = self.prepared(&rows);
        (rows, given)
    }

    /// Quotients and remainders by prepared divisors; then each of them alone.
    fn division_by(&mut self, task: &str) {
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

    /// Results modulo prepared divisors; the second operand is that of a product, or an exponent of
    /// a few bits.
    fn modular(
        &mut self,
        task: &str,
        operands: usize,
        oracle: fn(&BigUint, &BigUint, &BigUint) -> BigUint,
    ) {
        let bits = self.sizes.bits;
        let (rows, mut given) = self.given_prepared(4, 1);
        let mut second: Vec<BigUint> =
            self.rows(PRODUCTS, 3).into_iter().map(|row| row.b).take(rows.len()).collect();
        if task.starts_with("pow_mod_") {
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

    fn digit(&mut self, task: &str) {
        let rows = self.rows(SUMS, 4);
        let Sizes { bits, word, .. } = self.sizes;
        for digit in [1, 3, u64::MAX >> (64 - word), 1 << (word - 1), (1 << (word - 1)) + 1] {
            let mut given = self.given(&rows, 1, 1);
            given.outputs[1] = 8 * rows.len();
            given.scalar = digit.cast_signed();
            self.run(task, &rows, &given, |outcome, index, row| {
                let got = value_of(&outcome.outputs[0], index, bits);
                let remainder = value_of(&outcome.outputs[1], index, 64);
                let (q, r) = oracle::div_rem(&row.a, &BigUint::from(digit));
                differ(&(got, remainder), &(Some(q), Some(r)))
            });
        }
    }

    fn inverse(&mut self, task: &str) {
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
            let given = Operands { scalar: exponent as i64, ..self.given(&rows, 1, 1) };
            self.run(task, &rows, &given, |outcome, index, _| {
                let got = value_of(&outcome.outputs[0], index, bits);
                // A row that fails may hold anything.
                let want = expected[index].as_ref().or(got.as_ref());
                let status = failed.map_or(u64::MAX, |row| row as u64);
                differ(&(got.as_ref(), outcome.status), &(want, status))
            });
        }
    }

    fn shift(&mut self, task: &str, oracle: impl Fn(&BigUint, usize) -> BigUint) {
        let rows = self.rows(SUMS, 1);
        let Sizes { bits, word, .. } = self.sizes;
        for distance in [0, 1, word - 1, word, word + 1, bits / 2 + 3, bits - 1, bits, 3 * bits] {
            let given = Operands { scalar: distance as i64, ..self.given(&rows, 1, 1) };
            self.run_to_value(task, &rows, &given, |row| oracle(&row.a, distance));
        }
    }

    /// One bit a row.
    fn test(&mut self, task: &str, operands: usize, oracle: fn(&Row) -> bool) {
        let rows = self.rows(SUMS, 2);
        let given = Operands { mask: true, ..self.given(&rows, operands, 0) };
        self.run(task, &rows, &given, |outcome, index, row| {
            differ(&outcome.is_marked(index), &oracle(row))
        });
    }

    fn task(&mut self, task: &str) {
        let bits = self.sizes.bits;
        match task {
            "add" => self.sums(task, oracle::add),
            "sub" => self.sums(task, oracle::sub),
            "shl" => self.shift(task, |a, distance| oracle::shl(a, distance, bits)),
            "shr" => self.shift(task, oracle::shr),
            "eq_mask" => self.test(task, 2, |row| oracle::cmp(&row.a, &row.b).is_eq()),
            "lt_mask" => self.test(task, 2, |row| oracle::cmp(&row.a, &row.b).is_lt()),
            "is_zero" => self.test(task, 1, |row| row.a.is_zero()),
            "cmp" => {
                let rows = self.rows(SUMS, 3);
                let mut given = self.given(&rows, 2, 0);
                given.outputs[0] = rows.len();
                self.run(task, &rows, &given, |outcome, index, row| {
                    let got = (outcome.outputs[0][index] as i8).cmp(&0);
                    differ::<Ordering>(&got, &oracle::cmp(&row.a, &row.b))
                });
            }
            "bit_len" => {
                let rows = self.rows(SUMS, 3);
                let mut given = self.given(&rows, 1, 0);
                given.outputs[0] = 4 * rows.len();
                self.run(task, &rows, &given, |outcome, index, row| {
                    let got = outcome.outputs[0][4 * index..].first_chunk().copied();
                    differ(&got.map(u32::from_le_bytes), &Some(oracle::bits(&row.a) as u32))
                });
            }
            _ if task.starts_with("mul_lo_") => {
                let rows = self.rows(PRODUCTS, 0);
                let given = self.given(&rows, 2, 1);
                self.run_to_value(task, &rows, &given, |row| oracle::mul(&row.a, &row.b, bits).0);
            }
            _ if task.starts_with("mul_wide_") => self.wide_product(task),
            _ if task.starts_with("sqr_lo_") => {
                let rows = self.rows(PRODUCTS, 2);
                let given = self.given(&rows, 1, 1);
                self.run_to_value(task, &rows, &given, |row| oracle::square(&row.a, bits));
            }
            "div_rem_digit" => self.digit(task),
            _ if task.starts_with("prepare_") => {
                let rows = self.rows(DIVISIONS, 3);
                let zero = rows.iter().position(|row| row.b.is_zero());
                let given = self.preparing(&rows);
                self.run(task, &rows, &given, |outcome, _, _| {
                    differ(&outcome.status, &zero.map_or(u64::MAX, |row| row as u64))
                });
            }
            _ if task.starts_with("div_rem_by_") => self.division_by(task),
            _ if task.starts_with("mul_mod_") => {
                self.modular(task, 2, oracle::mul_mod);
            }
            _ if task.starts_with("sqr_mod_") => {
                self.modular(task, 1, |a, _, v| oracle::mul_mod(a, a, v));
            }
            _ if task.starts_with("pow_mod_") => self.modular(task, 2, oracle::pow_mod),
            _ if task.starts_with("div_rem_") => self.division(task),
            _ if task.starts_with("shinv_") => self.inverse(task),
            _ => self.wrong.push(format!("{task}: no expected results are known for it")),
        }
    }
}

/// What is unexpected about a value.
fn differ<V: PartialEq + Debug>(got: &V, expected: &V) -> Option<String> {
    (got != expected).then(|| format!("{got:?} instead of {expected:?}"))
}

/// Runs all kernels of the catalogue at one shape.
fn every_kernel(bits: usize, q: usize, digit: &'static str, word: usize, count: usize) {
    kernels((bits, q, digit, word), count, |_| true);
}

/// Runs the kernels of the catalogue that `wanted` says yes to at one shape.
fn kernels(
    shape: (usize, usize, &'static str, usize),
    count: usize,
    wanted: impl Fn(&str) -> bool,
) {
    let Some(mut kernels) = Kernels::new(shape, count, wanted) else { return };
    let (bits, q, digit, _) = shape;
    let tasks: Vec<_> = kernels.entries.iter().map(|entry| entry.task.name).collect();
    for task in &tasks {
        kernels.task(task);
    }
    let Kernels { rows, wrong, .. } = kernels;
    eprintln!("{bits} bits, Q = {q}, {digit}: {} kernels, {rows} rows", tasks.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn u64_q4_1024() {
    every_kernel(1024, 4, "u64", 64, 330);
}

#[test]
fn u64_q4_2048() {
    every_kernel(2048, 4, "u64", 64, 150);
}

#[test]
fn u32_q2_1024() {
    every_kernel(1024, 2, "u32", 32, 170);
}

#[test]
fn u16_q1_1024() {
    every_kernel(1024, 1, "u16", 16, 90);
}

#[test]
fn u16_q4_1024() {
    every_kernel(1024, 4, "u16", 16, 170);
}

/// A row takes a whole block.
#[test]
fn u64_q4_16384() {
    every_kernel(16384, 4, "u64", 64, 47);
}

/// Products by transforms, of one part and of two.
#[test]
fn fft() {
    for (bits, count) in [(65536, 9), (131_072, 9)] {
        kernels((bits, 4, "u64", 64), count, |task| task.ends_with("_fft"));
    }
}

/// Products by number-theoretic transforms: columns of 4 points in the first pass.
#[test]
fn ntt() {
    kernels((131_072, 4, "u64", 64), 9, |task| task.ends_with("_ntt"));
}

/// Products by the tensor cores: tiles in one group, of 4, 8 and 12; in two groups; and in four,
/// shared by two warps.
#[test]
fn tensor() {
    for (bits, count) in [(4096, 66), (8192, 45), (12288, 33), (32768, 9), (65536, 9)] {
        kernels((bits, 4, "u64", 64), count, |task| {
            task.ends_with("_tensor") && !is_prepared(task)
        });
    }
}

/// Prepared divisors by the tensor cores: one warp to a row, whose products have few tiles at a time
/// or many.
#[test]
fn tensor_prepared() {
    for (bits, count) in [(8192, 9), (16384, 5)] {
        kernels((bits, 4, "u64", 64), count, |task| {
            task == "prepare_classical" || (task.ends_with("_tensor") && is_prepared(task))
        });
    }
}

/// Whether a kernel takes prepared divisors.
fn is_prepared(task: &str) -> bool {
    task.starts_with("div_rem_by_") || task.contains("_mod_")
}
