//! The printed comparison: a table for each operation and width.

use std::io::{self, Write};

use super::operation::Operation;
use super::ours::Measured;

/// Dollars for an hour of a machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prices {
    pub(crate) gpu: Option<f64>,
    pub(crate) cpu: Option<f64>,
}

/// One program on one number of rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) rows: usize,
    pub(crate) name: &'a str,
    pub(crate) measured: &'a Measured,
    pub(crate) ours: &'a Measured,
    pub(crate) watts: Option<f64>,
}

/// Writes the heads of the columns.
///
/// # Errors
/// Those of `out`.
pub(crate) fn write_header(
    out: &mut dyn Write,
    operation: Operation,
    bits: usize,
) -> io::Result<()> {
    writeln!(out, "\n{}, {bits} bits; rows a second from memory of", operation.name())?;
    writeln!(
        out,
        "{:>8} {:>12} {:>12} {:>8} {:>6} {:>10} {:>12}  program",
        "rows", "the GPU", "the host", "ours by", "watts", "uJ a row", "$ for 10^9"
    )
}

/// Writes a line. The column "ours by" is the factor by which this library is faster, from memory
/// of the GPU for peers that use it, from memory of the host for the others.
///
/// # Errors
/// Those of `out`.
pub(crate) fn write_line(out: &mut dyn Write, line: &Line<'_>, prices: &Prices) -> io::Result<()> {
    let Line { rows, name, measured, ours, watts } = *line;
    let row = |measured: &Measured, seconds: f64| seconds / measured.rows.max(1) as f64;
    let device = measured.device.map(|seconds| row(measured, seconds));
    let host = row(measured, measured.host);
    let factor = match (device, ours.device) {
        (Some(theirs), Some(seconds)) => theirs / row(ours, seconds),
        _ => host / row(ours, ours.host),
    };
    let price = if measured.device.is_some() { prices.gpu } else { prices.cpu };
    let seconds = device.unwrap_or(host);
    let dollars = price.map(|price| price / 3600.0 * seconds * 1e9);
    let energy = watts.map(|watts| watts * seconds * 1e6);
    writeln!(
        out,
        "{rows:>8} {:>12} {:>12} {factor:>8.2} {:>6} {:>10} {:>12}  {name}",
        cell(device.map(f64::recip), rate),
        rate(host.recip()),
        cell(watts, |watts| format!("{watts:.0}")),
        cell(energy, |energy| format!("{energy:.3}")),
        cell(dollars, |dollars| format!("{dollars:.4}")),
    )
}

/// Empty for a value that is not known.
fn cell(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map(text).unwrap_or_default()
}

fn rate(rate: f64) -> String {
    if rate < 100.0 { format!("{rate:.2}") } else { format!("{rate:.0}") }
}
