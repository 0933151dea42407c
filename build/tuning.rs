//! Tuning tables: which strategy and which block size were fastest on a GPU.
//!
//! `build.rs` turns one of them into what `Auto` takes and into the block sizes of kernels;
//! `benches/autotune` writes them. A table (`tuning/*.toml`) has
//! - `gpu`: what was tuned for;
//! - `choices`: the strategy that is taken for an operation at widths `bits = [from, to]`;
//! - `blocks`: kernels that aim at another number of threads per block than the catalogue says;
//! - `rows`: what the two above were concluded from.

use std::fmt::Write;

use serde::Deserialize;

/// Operations that have strategies: the first part of the names of their kernels, and the variant of
/// `Op`.
const OPERATIONS: [(&str, &str); 10] = [
    ("mul_lo", "MulLow"),
    ("mul_wide", "MulWide"),
    ("sqr_lo", "SquareLow"),
    ("div_rem", "DivRem"),
    ("shinv", "ShiftedInverse"),
    ("prepare", "Prepare"),
    ("div_rem_by", "DivRemBy"),
    ("mul_mod", "MulMod"),
    ("sqr_mod", "SquareMod"),
    ("pow_mod", "PowMod"),
];
/// Far beyond what a thread block can hold; products of two widths fit in 64 bits.
const MAX_BITS: usize = 1 << 30;
/// Threads of a block, at most.
const MAX_BLOCK: u32 = 1024;

/// A tuning table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    /// What was tuned for; a model is named as such.
    pub(crate) gpu: String,
    pub(crate) choices: Vec<Choice>,
    #[serde(default)]
    pub(crate) blocks: Vec<Block>,
    #[serde(default)]
    pub(crate) rows: Vec<Row>,
}

/// What is taken for an operation at some widths.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Choice {
    /// `mul_lo`.
    pub(crate) op: String,
    /// The narrowest and the widest.
    pub(crate) bits: [usize; 2],
    /// `classical`, `blocked_tensor`.
    pub(crate) strategy: String,
}

/// The threads per block that a kernel aims at.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Block {
    /// Operation and strategy, as in the catalogue: `mul_lo_classical`.
    pub(crate) kernel: String,
    pub(crate) digit: String,
    pub(crate) q: usize,
    pub(crate) bits: usize,
    pub(crate) block: u32,
}

/// One measurement, or one prediction of a model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// Operation and strategy, as in the catalogue.
    pub(crate) kernel: String,
    pub(crate) bits: usize,
    /// Shape and block; nothing for kernels that serve all shapes of a width.
    pub(crate) digit: Option<String>,
    pub(crate) q: Option<usize>,
    pub(crate) block: Option<u32>,
    /// Milliseconds for a batch of 2^32 bits; divisors of uniform length.
    pub(crate) ms: f64,
    pub(crate) gpu: String,
    pub(crate) date: String,
}

impl Table {
    /// Reads a table; `kernels` are those of the catalogue. Errors are words for the user.
    pub(crate) fn parse(text: &str, kernels: &[&str]) -> Result<Self, String> {
        let table: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        for Choice { op, bits: [from, to], strategy } in &table.choices {
            if !OPERATIONS.iter().any(|known| known.0 == op) {
                let known = OPERATIONS.map(|known| known.0).join(", ");
                return Err(format!("\"{op}\" is no operation with strategies: {known}"));
            }
            let known = strategies(op, kernels);
            if !known.contains(&strategy.as_str()) {
                let known = known.join(", ");
                return Err(format!("{op} has no strategy \"{strategy}\": it has {known}"));
            }
            if from > to || *to > MAX_BITS {
                return Err(format!("{op}: the widths {from} to {to} are none"));
            }
        }
        for (op, _) in OPERATIONS {
            for pair in table.sorted(op).windows(2) {
                let ([a, b], [c, d]) = (pair[0].bits, pair[1].bits);
                if b >= c {
                    return Err(format!("{op}: the widths {a} to {b} and {c} to {d} overlap"));
                }
            }
        }
        let known = |kernel: &str| match kernels.contains(&kernel) {
            true => Ok(()),
            false => Err(format!("\"{kernel}\" is no kernel of the catalogue")),
        };
        for (index, Block { kernel, digit, q, bits, block }) in table.blocks.iter().enumerate() {
            known(kernel)?;
            let same = |other: &Block| {
                (&other.kernel, &other.digit, other.q, other.bits) == (kernel, digit, *q, *bits)
            };
            if table.blocks[..index].iter().any(same) {
                return Err(format!("{kernel} at {bits}:{q}:{digit} has two blocks"));
            }
            if !block.is_multiple_of(32) || !(32..=MAX_BLOCK).contains(block) {
                return Err(format!(
                    "{kernel} at {bits}:{q}:{digit}: a block of {block} threads is not whole warps, at most {MAX_BLOCK} threads"
                ));
            }
        }
        for Row { kernel, bits, ms, gpu, date, digit, q, block } in &table.rows {
            known(kernel)?;
            let shape = [digit.is_some(), q.is_some(), block.is_some()];
            let whole = shape == [true; 3] || shape == [false; 3];
            if !ms.is_finite() || *ms <= 0.0 || gpu.is_empty() || date.is_empty() || !whole {
                return Err(format!(
                    "a row of {kernel} at {bits} bits has no time, GPU or date, or only a part of its digit, q and block"
                ));
            }
        }
        Ok(table)
    }

    /// The choices for an operation, from narrow to wide.
    fn sorted(&self, op: &str) -> Vec<&Choice> {
        let mut choices: Vec<_> = self.choices.iter().filter(|choice| choice.op == op).collect();
        choices.sort_by_key(|choice| choice.bits);
        choices
    }

    /// What is taken for an operation at every width: the last width of each strategy. Between two
    /// ranges of the table it is what the nearer one says, by ratio, and beyond all of them what the
    /// nearest says.
    pub(crate) fn everywhere(&self, op: &str) -> Vec<(usize, &str)> {
        let sorted = self.sorted(op);
        let mut ranges: Vec<(usize, &str)> = Vec::new();
        for (index, choice) in sorted.iter().enumerate() {
            let to = match sorted.get(index + 1) {
                Some(next) if next.bits[0] == choice.bits[1] + 1 => choice.bits[1],
                Some(next) => (choice.bits[1] * next.bits[0]).isqrt(),
                None => usize::MAX,
            };
            ranges.push((to, &choice.strategy));
        }
        ranges
    }

    /// The threads per block that a kernel aims at, where the table says so.
    pub(crate) fn block(&self, kernel: &str, digit: &str, q: usize, bits: usize) -> Option<u32> {
        let is_asked = |entry: &&Block| {
            (entry.kernel.as_str(), entry.digit.as_str(), entry.q, entry.bits)
                == (kernel, digit, q, bits)
        };
        self.blocks.iter().find(is_asked).map(|entry| entry.block)
    }

    /// `OUT_DIR/tuning.rs`, included by `src/strategy.rs`.
    pub(crate) fn rust(&self) -> String {
        let mut text = String::from("// Written by build.rs.\n");
        // Writing to a string does not fail.
        let _ = writeln!(text, "/// What was fastest; nothing for operations that were not tuned.");
        let _ = writeln!(text, "pub(super) const fn tuned(op: Op, bits: usize) -> Strategy {{");
        let _ = writeln!(text, "    match (op, bits) {{");
        for (op, variant) in OPERATIONS {
            let mut from = 0;
            for (to, strategy) in self.everywhere(op) {
                let end = if to == usize::MAX { String::new() } else { format!("={to}") };
                // `parse` has seen that it is one.
                let value = expression(strategy).unwrap_or_default();
                let _ = writeln!(text, "        (Op::{variant}, {from}..{end}) => {value},");
                from = to.saturating_add(1);
            }
        }
        let _ = writeln!(text, "        _ => Strategy::None,\n    }}\n}}");
        text
    }
}

/// The operation and the strategy of a kernel; `None` where there is nothing to choose.
pub(crate) fn split(kernel: &str) -> Option<(&'static str, &str)> {
    OPERATIONS.iter().find_map(|&(op, _)| {
        let strategy = kernel.strip_prefix(op)?.strip_prefix('_')?;
        expression(strategy).map(|_| (op, strategy))
    })
}

/// The strategies of an operation that the catalogue has kernels of.
fn strategies<'a>(op: &str, kernels: &[&'a str]) -> Vec<&'a str> {
    let kernels = kernels.iter().filter_map(|kernel| split(kernel));
    kernels.filter(|kernel| kernel.0 == op).map(|kernel| kernel.1).collect()
}

/// The value of a strategy in Rust.
fn expression(strategy: &str) -> Option<String> {
    let product = |name| match name {
        "classical" => Some("Product::Classical"),
        "karatsuba" => Some("Product::Karatsuba"),
        "tensor" => Some("Product::TensorCore"),
        "fft" => Some("Product::Fft"),
        "ntt" => Some("Product::Ntt"),
        _ => None,
    };
    for (prefix, quotient) in [("blocked_", "Blocked"), ("shinv_", "ShiftedInverse")] {
        if let Some(name) = strategy.strip_prefix(prefix) {
            return product(name)
                .map(|product| format!("Strategy::Quotient(Quotient::{quotient}({product}))"));
        }
    }
    product(strategy).map(|product| format!("Strategy::Product({product})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNELS: &[&str] = &[
        "add",
        "mul_lo_classical",
        "mul_lo_tensor",
        "sqr_lo_classical",
        "div_rem_blocked_classical",
        "div_rem_shinv_classical",
        "div_rem_digit",
    ];

    fn table(body: &str) -> Result<Table, String> {
        Table::parse(&format!("gpu = \"A GPU\"\n{body}"), KERNELS)
    }

    fn choices(choices: &[(&str, usize, usize, &str)]) -> Result<Table, String> {
        let choice = |&(op, from, to, strategy): &(&str, usize, usize, &str)| {
            format!("{{ op = \"{op}\", bits = [{from}, {to}], strategy = \"{strategy}\" }}, ")
        };
        table(&format!("choices = [{}]", choices.iter().map(choice).collect::<String>()))
    }

    #[test]
    fn a_table_says_what_is_taken_at_every_width() {
        let table = choices(&[
            ("mul_lo", 4096, 8192, "tensor"),
            ("mul_lo", 1024, 2048, "classical"),
            ("div_rem", 1024, 1024, "blocked_classical"),
            ("div_rem", 1025, 2048, "shinv_classical"),
        ])
        .unwrap();
        assert_eq!(table.everywhere("mul_lo"), [(2896, "classical"), (usize::MAX, "tensor")]);
        assert_eq!(table.everywhere("sqr_lo"), []);
        assert_eq!(
            table.everywhere("div_rem"),
            [(1024, "blocked_classical"), (usize::MAX, "shinv_classical")]
        );
        let text = table.rust();
        for line in [
            "(Op::MulLow, 0..=2896) => Strategy::Product(Product::Classical),",
            "(Op::MulLow, 2897..) => Strategy::Product(Product::TensorCore),",
            "(Op::DivRem, 1025..) => Strategy::Quotient(Quotient::ShiftedInverse(Product::Classical)),",
            "_ => Strategy::None,",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert!(!text.contains("SquareLow"), "{text}");
    }

    #[test]
    fn another_table_says_something_else() {
        let table = choices(&[("mul_lo", 1024, 1024, "classical")]).unwrap();
        assert!(
            table.rust().contains("(Op::MulLow, 0..) => Strategy::Product(Product::Classical),")
        );
    }

    #[test]
    fn blocks_are_those_of_their_kernels_only() {
        let table = table(
            "choices = []\nblocks = [{ kernel = \"add\", digit = \"u64\", q = 4, bits = 1024, block = 64 }]",
        )
        .unwrap();
        assert_eq!(table.block("add", "u64", 4, 1024), Some(64));
        assert_eq!(table.block("add", "u64", 4, 2048), None);
        assert_eq!(table.block("add", "u32", 4, 1024), None);
        assert_eq!(table.block("mul_lo_classical", "u64", 4, 1024), None);
    }

    #[test]
    fn what_is_wrong_in_a_table_is_said_in_words() {
        let wrong = |table: Result<Table, String>, words: &str| match table {
            Err(error) => assert!(error.contains(words), "{error}"),
            Ok(table) => panic!("{table:?}"),
        };
        wrong(
            choices(&[("mul_lo", 1, 2, "ntt")]),
            "mul_lo has no strategy \"ntt\": it has classical, tensor",
        );
        wrong(choices(&[("sqr_lo", 1, 2, "tensor")]), "it has classical");
        wrong(choices(&[("div_rem", 1, 2, "digit")]), "it has blocked_classical, shinv_classical");
        wrong(choices(&[("add", 1, 2, "classical")]), "\"add\" is no operation with strategies");
        wrong(choices(&[("mul_lo", 2, 1, "tensor")]), "the widths 2 to 1 are none");
        wrong(choices(&[("mul_lo", 2, 1 << 40, "tensor")]), "to 1099511627776 are none");
        wrong(
            choices(&[("mul_lo", 4096, 8192, "tensor"), ("mul_lo", 1024, 4096, "classical")]),
            "mul_lo: the widths 1024 to 4096 and 4096 to 8192 overlap",
        );
        let block = |kernel, block| {
            table(&format!(
                "choices = []\nblocks = [{{ kernel = \"{kernel}\", digit = \"u64\", q = 4, bits = 1024, block = {block} }}]"
            ))
        };
        wrong(block("adds", 64), "\"adds\" is no kernel");
        let one = "{ kernel = \"add\", digit = \"u64\", q = 4, bits = 1024, block = 64 }";
        wrong(
            table(&format!("choices = []\nblocks = [{one}, {one}]")),
            "add at 1024:4:u64 has two blocks",
        );
        wrong(block("add", 48), "a block of 48 threads");
        wrong(block("add", 2048), "a block of 2048 threads");
        let row = |rest| {
            table(&format!("choices = []\nrows = [{{ kernel = \"add\", bits = 1024, {rest} }}]"))
        };
        wrong(row("ms = 0.0, gpu = \"A GPU\", date = \"2026-11-20\""), "no time, GPU or date");
        wrong(row("ms = 1.0, gpu = \"\", date = \"2026-11-20\""), "no time, GPU or date");
        wrong(row("ms = 1.0, q = 4, gpu = \"A GPU\", date = \"2026-11-20\""), "only a part");
        wrong(row("ms = 1.0, gpu = \"A GPU\""), "missing field `date`");
        wrong(table("choices = []\nchoice = 1"), "unknown field `choice`");
    }
}
