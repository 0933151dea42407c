//! The numbers in the README's sentences, computed from the tables that they come from.

#[expect(dead_code, reason = "the benches print when the times were measured")]
#[path = "../paper/peers.rs"]
mod peers;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use gpuint_benches::workload::Workload;
use gpuint_testkit::ptx::ROOT;
use peers::{BATCH, DIVISORS, PEERS, nanoseconds};

/// Committed times of the H200, by operation, operands and width: milliseconds for a batch of 2^32
/// bits.
struct Speed(HashMap<(String, String, usize), f64>);

impl Speed {
    fn read() -> Self {
        let text = read("benches/results/h200/speed.csv");
        let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1).map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let [operation, operands, bits, _, ms] = cells[..] else { panic!("{line}") };
            let key = (operation.to_owned(), operands.to_owned(), bits.parse().expect("bits"));
            (key, ms.parse().expect("milliseconds"))
        });
        Self(rows.collect())
    }

    fn ms(&self, operation: &str, operands: &str, bits: usize) -> f64 {
        self.0[&(operation.to_owned(), operands.to_owned(), bits)]
    }

    /// Powers per second by odd moduli.
    fn powers(&self, bits: usize) -> f64 {
        BATCH as f64 / bits as f64 / self.ms("pow_mod", "odd", bits) * 1e3
    }
}

/// Reads a file of the repository.
fn read(name: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(name)).expect("a file of the repository")
}

/// The README without line breaks.
fn readme() -> String {
    let text = read("README.md");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn assert_contains(sentence: &str) {
    assert!(readme().contains(sentence), "the tables say: {sentence}");
}

/// Two significant digits, without trailing zeros of a fraction.
fn rounded(number: f64) -> String {
    if number < 9.95 { format!("{number:.1}") } else { format!("{number:.0}") }
}

/// Range of the ratios of the fastest other code's time to this library's.
fn range(ratios: impl IntoIterator<Item = f64>) -> String {
    let ratios: Vec<f64> = ratios.into_iter().collect();
    let (least, most) = ratios
        .iter()
        .fold((f64::INFINITY, 0f64), |(least, most), &ratio| (least.min(ratio), most.max(ratio)));
    format!("{} to {}", rounded(least), rounded(most))
}

#[test]
fn products_beside_other_code_are_those_of_the_tables() {
    let speed = Speed::read();
    let ratios = PEERS.iter().filter_map(|row| {
        let fastest = [row.paper_mul, row.prior_mul, row.cgbn_mul].into_iter().flatten();
        let fastest = fastest.min_by(f64::total_cmp)?;
        Some(fastest / speed.ms("mul_lo", "", row.bits))
    });
    assert_contains(&format!(
        "products modulo 2^bits are {} times faster than the fastest published GPU code",
        range(ratios)
    ));
}

#[test]
fn divisions_beside_other_code_are_those_of_the_tables() {
    let speed = Speed::read();
    let uniform = DIVISORS.iter().position(|&kind| kind == Workload::Uniform).expect("its column");
    let ratios = PEERS.iter().filter(|row| row.bits <= 1 << 16).map(|row| {
        let fastest = [row.paper_div, row.cgbn_div].into_iter().flatten();
        let fastest = fastest.map(|times| times[uniform]).min_by(f64::total_cmp).expect("a time");
        fastest / speed.ms("div_rem", "uniform", row.bits)
    });
    assert_contains(&format!(
        "by divisors of uniform length, are {} times faster (1024 to 65536 bits)",
        range(ratios)
    ));
}

#[test]
fn nanoseconds_and_powers_are_those_of_the_tables() {
    let speed = Speed::read();
    let ns = |operation, operands| nanoseconds(speed.ms(operation, operands, 8192), 8192);
    assert_contains(&format!(
        "a product of two integers of 8192 bits takes {:.1} ns, and a division {:.1} ns",
        ns("mul_lo", ""),
        ns("div_rem", "uniform")
    ));
    assert_contains(&format!(
        "{:.0} million powers a second at 256 bits, {:.2} million at 1024, {:.0} thousand at 2048 \
         and {:.0} thousand at 4096",
        speed.powers(256) / 1e6,
        speed.powers(1024) / 1e6,
        speed.powers(2048) / 1e3,
        speed.powers(4096) / 1e3
    ));
}

#[test]
fn time_of_few_powers_is_that_of_the_table() {
    let results = read("benches/RESULTS.md");
    let table = results.split("### Powers of few rows").nth(1).expect("the table");
    let row = table.lines().find(|line| line.starts_with("| 1024 |")).expect("its row");
    let cell = row.split('|').nth(3).expect("its column").trim();
    let ms = cell.strip_suffix(" (256)").expect("256 rows");
    assert_contains(&format!("256 powers of 1024 bits take {ms} ms"));
}

#[test]
fn times_of_batch_gcds_are_those_of_the_table() {
    let results = read("benches/RESULTS.md");
    let table =
        results.split("| keys | 2,500 | 10,000 | 100,000 | 1,000,000 |").nth(1).expect("the table");
    let row = table.lines().find(|line| line.starts_with("| all |")).expect("its row");
    let ms: Vec<String> = row
        .split('|')
        .skip(3)
        .take(3)
        .map(|cell| format!("{:.0}", cell.trim().parse::<f64>().expect("a time")))
        .collect();
    assert_contains(&format!(
        "a batch GCD of 10,000, 100,000 and 1,000,000 RSA moduli of 2048 bits takes {}, {} and {} \
         ms",
        ms[0], ms[1], ms[2]
    ));
}
