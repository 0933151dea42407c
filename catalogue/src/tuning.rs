//! Tuning tables: the fastest strategies and block sizes on a GPU.
//!
//! The build script derives the choices of `Auto` and the block sizes of kernels from a table, and
//! `benches/autotune` writes tables. A table (`tuning/*.toml`) has
//! - `gpu`, `capability`, `multiprocessors`: the GPU that was measured;
//! - `choices`: the strategy for an operation at widths `bits = [from, to]`, and with `rows` only
//!   for batches of at most `rows` rows;
//! - `blocks`: kernels that aim at another number of threads per block than in the catalogue;
//! - `rows`: the measurements from which the two above follow.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;

use crate::kernel;
use crate::{Algorithm, DigitKind, MAX_BITS, Op, Row as KernelRow, Shape};

/// Maximum number of threads of a block.
const MAX_BLOCK: u32 = 1024;

/// A tuning table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// GPU or model that was measured.
    pub gpu: String,
    /// Its compute capability: 90 is 9.0.
    pub capability: u32,
    /// Its multiprocessors.
    pub multiprocessors: u32,
    /// The algorithms that `Auto` chooses.
    pub choices: Vec<Choice>,
    /// Block sizes other than the catalogue's.
    #[serde(default)]
    pub blocks: Vec<Block>,
    /// The measurements from which the choices and blocks follow.
    #[serde(default)]
    pub rows: Vec<Row>,
}

/// Algorithm of an operation at a range of widths.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// `mul_lo`.
    pub op: String,
    /// The narrowest and the widest.
    pub bits: [usize; 2],
    /// `classical`, `blocked_tensor`.
    pub strategy: String,
    /// Maximum number of rows of a batch; `None` for all batches.
    pub rows: Option<usize>,
}

/// The threads per block that a kernel aims at.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Operation and strategy, as in the catalogue: `mul_lo_classical`.
    pub kernel: String,
    /// Digit of the shape.
    pub digit: String,
    /// Digits per thread.
    pub q: usize,
    /// Width.
    pub bits: usize,
    /// Threads per block.
    pub block: u32,
}

/// One measurement, or one prediction of a model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Operation and strategy, as in the catalogue.
    pub kernel: String,
    /// Width.
    pub bits: usize,
    /// Digit of the shape; like `q` and `block`, `None` for kernels that serve all shapes of a
    /// width.
    pub digit: Option<String>,
    /// Digits per thread.
    pub q: Option<usize>,
    /// Threads per block.
    pub block: Option<u32>,
    /// Rows of the batch; `None` for a batch of 2^32 bits.
    pub rows: Option<usize>,
    /// Milliseconds for the batch; divisors of uniform length.
    pub ms: f64,
    /// The GPU that was measured.
    pub gpu: String,
    /// Day of the measurement, YYYY-MM-DD.
    pub date: String,
}

impl Choice {
    /// The operation and the algorithm.
    fn kernel(&self) -> Option<(Op, Algorithm)> {
        Some((Op::parse(&self.op)?, Algorithm::parse(&self.strategy)?))
    }
}

impl Table {
    /// Parses a table and checks it against the rows of the catalogue.
    ///
    /// # Errors
    /// A description of the entry that is wrong.
    pub fn parse(text: &str, kernels: &[KernelRow<'_>]) -> Result<Self, String> {
        let table: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        table.check_choices(kernels)?;
        let known = |name: &str| match kernel::parse(name) {
            Some((op, Algorithm::Long)) if kernel::is_product_of_few(op) => Ok(()),
            Some(key) if kernels.iter().any(|row| (row.op, row.algorithm) == key) => Ok(()),
            _ => Err(format!("unknown kernel \"{name}\"; see kernels/catalogue.toml")),
        };
        for (index, Block { kernel, digit, q, bits, block }) in table.blocks.iter().enumerate() {
            known(kernel)?;
            if DigitKind::parse(digit).is_none() {
                return Err(format!("{kernel} at {bits} bits: unknown digit \"{digit}\""));
            }
            let same = |other: &Block| {
                (&other.kernel, &other.digit, other.q, other.bits) == (kernel, digit, *q, *bits)
            };
            if table.blocks[..index].iter().any(same) {
                return Err(format!("{kernel} at {bits}:{q}:{digit} has two blocks"));
            }
            if !block.is_multiple_of(32) || !(32..=MAX_BLOCK).contains(block) {
                return Err(format!(
                    "{kernel} at {bits}:{q}:{digit}: {block} threads; a block has whole warps and \
                     at most {MAX_BLOCK} threads"
                ));
            }
        }
        for Row { kernel, bits, ms, gpu, date, digit, q, block, rows } in &table.rows {
            known(kernel)?;
            if *rows == Some(0) {
                return Err(format!("{kernel} at {bits} bits: a time of 0 rows"));
            }
            let shape = [digit.is_some(), q.is_some(), block.is_some()];
            let whole = shape == [true; 3] || shape == [false; 3];
            if !ms.is_finite() || *ms <= 0.0 || gpu.is_empty() || date.is_empty() || !whole {
                return Err(format!(
                    "a row of {kernel} at {bits} bits lacks its time, GPU or date, or has only a \
                     part of its digit, q and block"
                ));
            }
        }
        Ok(table)
    }

    fn check_choices(&self, kernels: &[KernelRow<'_>]) -> Result<(), String> {
        for choice in &self.choices {
            let Choice { op, bits: [from, to], strategy, rows } = choice;
            let mut known: Vec<_> = kernels
                .iter()
                .filter(|row| row.op.name() == op && row.algorithm != Algorithm::Only)
                .map(|row| row.algorithm.to_string())
                .collect();
            if rows.is_some() && Op::parse(op).is_some_and(kernel::is_product_of_few) {
                known.push(Algorithm::Long.to_string());
            }
            if known.is_empty() {
                return Err(format!("\"{op}\" is not an operation with a choice of algorithms"));
            }
            if !known.contains(strategy) {
                let known = known.join(", ");
                return Err(format!("{op}: unknown strategy \"{strategy}\"; it has {known}"));
            }
            if from > to || *to > MAX_BITS {
                return Err(format!("{op}: invalid widths {from} to {to}"));
            }
        }
        if let Some(choice) = self.choices.iter().find(|choice| choice.rows == Some(0)) {
            return Err(format!("{}: a choice for at most 0 rows", choice.op));
        }
        for &op in Op::ALL {
            for pair in self.sorted(op).windows(2) {
                let ([a, b], [c, d]) = (pair[0].bits, pair[1].bits);
                if b >= c {
                    return Err(format!("{op}: the widths {a} to {b} and {c} to {d} overlap"));
                }
            }
        }
        Ok(())
    }

    /// Checks that the table has a choice for every operation with more than one algorithm at a
    /// shape of the build.
    ///
    /// # Errors
    /// The operation and the narrowest width that lack a choice.
    pub fn check_coverage(
        &self,
        kernels: &[KernelRow<'_>],
        shapes: &[Shape],
    ) -> Result<(), String> {
        let mut shapes = shapes.to_vec();
        shapes.sort_by_key(|shape| shape.bits);
        for &op in Op::ALL {
            if !self.sorted(op.tuned_as()).is_empty() {
                continue;
            }
            let offers = |shape: &Shape| {
                kernels.iter().filter(|row| row.op == op && row.is_offered(*shape)).count()
            };
            let lacking = shapes.iter().map(|shape| (shape.bits, offers(shape)));
            if let Some((bits, count)) = lacking.into_iter().find(|lack| lack.1 > 1) {
                return Err(format!(
                    "no choice for {op}, which has {count} algorithms at {bits} bits; \
                     docs/tuning.md describes how to measure them"
                ));
            }
        }
        Ok(())
    }

    /// Returns the choices for an operation that apply to all batches, from narrow to wide.
    fn sorted(&self, op: Op) -> Vec<&Choice> {
        let is_general = |choice: &&Choice| choice.op == op.name() && choice.rows.is_none();
        let mut choices: Vec<_> = self.choices.iter().filter(is_general).collect();
        choices.sort_by_key(|choice| choice.bits);
        choices
    }

    /// Returns the algorithms of an operation over all widths, each with the last width at which it
    /// is chosen. Between two ranges of the table the nearer one applies, by ratio; beyond all of
    /// them, the nearest.
    #[must_use]
    pub fn everywhere(&self, op: Op) -> Vec<(usize, Algorithm)> {
        let sorted = self.sorted(op.tuned_as());
        let mut ranges = Vec::new();
        for (index, choice) in sorted.iter().enumerate() {
            let to = match sorted.get(index + 1) {
                Some(next) if next.bits[0] == choice.bits[1] + 1 => choice.bits[1],
                Some(next) => (choice.bits[1] * next.bits[0]).isqrt(),
                None => usize::MAX,
            };
            ranges.extend(choice.kernel().map(|(_, algorithm)| (to, algorithm)));
        }
        ranges
    }

    /// Returns the choices for batches of few rows: operation, widths, maximum number of rows,
    /// algorithm.
    pub fn few_rows(&self) -> impl Iterator<Item = (Op, [usize; 2], usize, Algorithm)> {
        self.choices.iter().flat_map(|choice| {
            let measured = choice.kernel().zip(choice.rows);
            measured.into_iter().flat_map(move |((op, algorithm), rows)| {
                // Tests of primes and powers of secrets have the grids of other powers.
                let like_powers = [Op::PowSecret, Op::StrongBase2, Op::StrongLucas];
                let others = like_powers.into_iter().filter(move |_| op == Op::PowMod);
                let ops = std::iter::once(op).chain(others);
                ops.map(move |op| (op, choice.bits, rows, algorithm))
            })
        })
    }

    /// Returns the shapes at which a kernel aims at another number of threads per block.
    pub fn blocks_of(&self, kernel: &str) -> impl Iterator<Item = (Shape, u32)> {
        self.blocks.iter().filter(move |entry| entry.kernel == kernel).filter_map(|entry| {
            let digit = DigitKind::parse(&entry.digit)?;
            Some((Shape { bits: entry.bits, q: entry.q, digit }, entry.block))
        })
    }
}

/// Formats the row as an inline table.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, bits, digit, q, block, rows, ms, gpu, date } = self;
        write!(f, "{{ kernel = \"{kernel}\", bits = {bits}, ")?;
        if let (Some(digit), Some(q), Some(block)) = (digit, q, block) {
            write!(f, "digit = \"{digit}\", q = {q}, block = {block}, ")?;
        }
        if let Some(rows) = rows {
            write!(f, "rows = {rows}, ")?;
        }
        write!(f, "ms = {ms:?}, gpu = \"{gpu}\", date = \"{date}\" }}")
    }
}

/// Formats the table as a file.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { gpu, capability, multiprocessors, choices, blocks, rows } = self;
        let sources: BTreeSet<_> = rows.iter().map(|row| row.gpu.as_str()).collect();
        let sources: Vec<_> = sources.into_iter().collect();
        write!(
            f,
            "# Fastest algorithms on: {gpu} (docs/tuning.md). Read by the build script, \
             written by\n\
             # benches/autotune. Rows are of: {}.\n\n\
             gpu = \"{gpu}\"\ncapability = {capability}\nmultiprocessors = {multiprocessors}\n\n\
             # Algorithms of Auto at widths [from, to]. Between two ranges the nearer one \
             applies, by ratio.\n\
             choices = [\n",
            sources.join("; ")
        )?;
        for Choice { op, bits: [from, to], strategy, rows } in choices {
            let rows = rows.map_or_else(String::new, |rows| format!("rows = {rows}, "));
            writeln!(
                f,
                "  {{ op = \"{op}\", bits = [{from}, {to}], {rows}strategy = \"{strategy}\" }},"
            )?;
        }
        f.write_str(
            "]\n\n# Kernels that aim at another number of threads per block than the catalogue \
             says.\nblocks = [\n",
        )?;
        for Block { kernel, digit, q, bits, block } in blocks {
            writeln!(
                f,
                "  {{ kernel = \"{kernel}\", digit = \"{digit}\", q = {q}, bits = {bits}, block = \
                 {block} }},"
            )?;
        }
        f.write_str(
            "]\n\n# Milliseconds for a batch of `rows` rows, or of 2^32 bits; \
             divisors of uniform length.\nrows = [\n",
        )?;
        for row in rows {
            writeln!(f, "  {row},")?;
        }
        f.write_str("]\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernels() -> Vec<KernelRow<'static>> {
        let names = [
            "add",
            "mul_lo_classical",
            "mul_lo_tensor",
            "square_lo_classical",
            "div_rem_blocked_classical",
            "div_rem_shifted_inverse_classical",
            "div_rem_digit",
        ];
        let row = |name| {
            let (op, algorithm) = kernel::parse(name).unwrap();
            KernelRow {
                op,
                algorithm,
                header: "",
                template: "",
                per_width: false,
                limbs: 0,
                to_bits: 0,
                step: 1,
                powers_of_two: false,
                blocks: &[],
            }
        };
        names.map(row).into()
    }

    fn table(body: &str) -> Result<Table, String> {
        let head = "gpu = \"A GPU\"\ncapability = 90\nmultiprocessors = 132";
        Table::parse(&format!("{head}\n{body}"), &kernels())
    }

    fn choices(choices: &[(&str, usize, usize, &str)]) -> Result<Table, String> {
        let choice = |&(op, from, to, strategy): &(&str, usize, usize, &str)| {
            format!("{{ op = \"{op}\", bits = [{from}, {to}], strategy = \"{strategy}\" }}, ")
        };
        table(&format!("choices = [{}]", choices.iter().map(choice).collect::<String>()))
    }

    #[test]
    fn choices_cover_every_width() {
        let table = choices(&[
            ("mul_lo", 4096, 8192, "tensor"),
            ("mul_lo", 1024, 2048, "classical"),
            ("div_rem", 1024, 1024, "blocked_classical"),
            ("div_rem", 1025, 2048, "shifted_inverse_classical"),
        ])
        .unwrap();
        let names = |op| -> Vec<(usize, String)> {
            let ranges = table.everywhere(op).into_iter();
            ranges.map(|(to, algorithm)| (to, algorithm.to_string())).collect()
        };
        let range = |to, algorithm: &str| (to, algorithm.to_owned());
        assert_eq!(names(Op::MulLo), [range(2896, "classical"), range(usize::MAX, "tensor")]);
        assert_eq!(names(Op::SquareLo), []);
        assert_eq!(
            names(Op::DivRem),
            [range(1024, "blocked_classical"), range(usize::MAX, "shifted_inverse_classical"),]
        );
    }

    #[test]
    fn block_applies_to_its_kernel_and_shape_only() {
        let table = table(
            "choices = []\nblocks = [{ kernel = \"add\", digit = \"u64\", q = 4, bits = 1024, \
             block = 64 }]",
        )
        .unwrap();
        let shape = Shape { bits: 1024, q: 4, digit: DigitKind::U64 };
        assert_eq!(table.blocks_of("add").collect::<Vec<_>>(), [(shape, 64)]);
        assert_eq!(table.blocks_of("mul_lo_classical").count(), 0);
    }

    #[test]
    fn invalid_table_is_rejected_with_reason() {
        let wrong = |table: Result<Table, String>, words: &str| match table {
            Err(error) => assert!(error.contains(words), "{error}"),
            Ok(table) => panic!("{table:?}"),
        };
        wrong(
            choices(&[("mul_lo", 1, 2, "ntt")]),
            "mul_lo: unknown strategy \"ntt\"; it has classical, tensor",
        );
        wrong(choices(&[("square_lo", 1, 2, "tensor")]), "it has classical");
        wrong(
            choices(&[("div_rem", 1, 2, "digit")]),
            "it has blocked_classical, shifted_inverse_classical",
        );
        wrong(choices(&[("add", 1, 2, "classical")]), "\"add\" is not an operation with a choice");
        wrong(choices(&[("mul_lo", 2, 1, "tensor")]), "invalid widths 2 to 1");
        wrong(choices(&[("mul_lo", 2, 1 << 40, "tensor")]), "to 1099511627776");
        wrong(
            choices(&[("mul_lo", 4096, 8192, "tensor"), ("mul_lo", 1024, 4096, "classical")]),
            "mul_lo: the widths 1024 to 4096 and 4096 to 8192 overlap",
        );
        let block = |kernel, block| {
            table(&format!(
                "choices = []\nblocks = [{{ kernel = \"{kernel}\", digit = \"u64\", q = 4, bits = \
                 1024, block = {block} }}]"
            ))
        };
        wrong(block("adds", 64), "unknown kernel \"adds\"");
        let one = "{ kernel = \"add\", digit = \"u64\", q = 4, bits = 1024, block = 64 }";
        wrong(
            table(&format!("choices = []\nblocks = [{one}, {one}]")),
            "add at 1024:4:u64 has two blocks",
        );
        wrong(
            table(&format!("choices = []\nblocks = [{}]", one.replace("u64", "i64"))),
            "unknown digit \"i64\"",
        );
        wrong(block("add", 48), "48 threads");
        wrong(block("add", 2048), "2048 threads");
        let row = |rest| {
            table(&format!("choices = []\nrows = [{{ kernel = \"add\", bits = 1024, {rest} }}]"))
        };
        wrong(
            row("ms = 0.0, gpu = \"A GPU\", date = \"2026-11-20\""),
            "lacks its time, GPU or date",
        );
        wrong(row("ms = 1.0, gpu = \"\", date = \"2026-11-20\""), "lacks its time, GPU or date");
        wrong(row("ms = 1.0, q = 4, gpu = \"A GPU\", date = \"2026-11-20\""), "only a part");
        wrong(row("ms = 1.0, gpu = \"A GPU\""), "missing field `date`");
        wrong(table("choices = []\nchoice = 1"), "unknown field `choice`");
    }
}
