//! The measurements as Markdown: a row a width, a column an operation.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::against::Measured;
use gpuint_benches::machine::Machine;

/// Headings of the tables and the operations in each.
const TABLES: [(&str, &[&str]); 8] = [
    (
        "Sums, shifts, comparisons, division by a digit",
        &["add", "sub", "shl", "shr", "eq_mask", "lt_mask", "is_zero_mask", "div_rem_digit"],
    ),
    ("Products", &["mul_lo", "mul_wide", "square_lo", "sum_of_products", "wide_sum_of_products"]),
    ("Divisions", &["div_rem", "shifted_inverse"]),
    (
        "Prepared divisors and modular arithmetic",
        &[
            "prepare",
            "div_rem_by",
            "mul_mod",
            "square_mod",
            "mul_residues",
            "pow_mod",
            "pow_product_mod",
        ],
    ),
    ("Secret operands", &["pow_secret", "mul_add_secret"]),
    ("Tests for probable primes", &["strong_base2", "strong_lucas", "is_probable_prime"]),
    (
        "Exact divisions, roots, common divisors, inverses and fractions",
        &["div_exact", "inverse_mod_pow2", "isqrt", "gcd", "inverse_mod", "rational"],
    ),
    ("Decimal text, with the time of the host", &["to_decimal", "to_decimal_into", "from_decimal"]),
];

/// Operations whose rows a second are stated.
const RATES: [&str; 5] =
    ["pow_mod", "pow_secret", "strong_base2", "strong_lucas", "is_probable_prime"];

pub(crate) fn markdown(measured: &Measured, machine: &Machine) -> String {
    let Machine { device, driver, processor, date, commit, .. } = machine;
    let mut text = format!(
        "# Every operation by Auto\n\n{device}; NVIDIA driver {driver}; {processor}; {date}; \
         commit {commit}.\n\
         Milliseconds for a batch of 2^32 bits, medians, and the algorithm where there are \
         several; powers and \
         tests a second after their times.\n"
    );
    let widths: BTreeSet<usize> = measured.times.keys().map(|key| key.2).collect();
    for (heading, operations) in TABLES {
        let columns: Vec<(&str, &str)> = operations
            .iter()
            .flat_map(|&operation| {
                let of = measured.times.keys().filter(move |key| key.0 == operation);
                let operands: BTreeSet<&str> = of.map(|key| key.1.as_str()).collect();
                operands.into_iter().map(move |operands| (operation, operands))
            })
            .collect();
        if columns.is_empty() {
            continue;
        }
        // Writing to a string does not fail.
        let _ = write!(text, "\n## {heading}\n\n| bits |");
        for (operation, operands) in &columns {
            let _ = match *operands {
                "" => write!(text, " {operation} |"),
                operands => write!(text, " {operation}, {operands} |"),
            };
        }
        let _ = writeln!(text, "\n|{}", "---|".repeat(1 + columns.len()));
        for &bits in &widths {
            let _ = write!(text, "| {bits} |");
            for (operation, operands) in &columns {
                let key = ((*operation).to_owned(), (*operands).to_owned(), bits);
                let Some(time) = measured.times.get(&key) else {
                    text.push_str("  |");
                    continue;
                };
                let _ = write!(text, " {}", decimal(time.ms));
                if !time.algorithm.is_empty() {
                    let _ = write!(text, " {}", time.algorithm);
                }
                if RATES.contains(operation) {
                    let rows = (1u64 << 32) as f64 / bits as f64;
                    let _ = write!(text, ", {}", decimal(rows / (time.ms * 1e-3)));
                }
                text.push_str(" |");
            }
            text.push('\n');
        }
    }
    text
}

/// Four significant digits.
fn decimal(value: f64) -> String {
    match value {
        v if v >= 1000.0 => format!("{v:.0}"),
        v if v >= 100.0 => format!("{v:.1}"),
        v if v >= 10.0 => format!("{v:.2}"),
        v if v >= 1.0 => format!("{v:.3}"),
        v => format!("{v:.4}"),
    }
}
