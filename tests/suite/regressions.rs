//! Known hard rows: `tests/regressions.txt` on every shape that can hold them.

use gpuint::num_bigint::BigUint;
use gpuint::{Op, Shape};

use crate::algorithms::distinct;
use crate::division::divide;
use crate::setting::{Check, Setting, Tally, on_every_backend};
use gpuint_testkit::operands::{Row, row};

const FILE: &str = include_str!("../regressions.txt");

fn number(text: &str) -> BigUint {
    let digits = text.strip_prefix("0x").unwrap_or_else(|| panic!("\"{text}\" is not hex"));
    BigUint::parse_bytes(digits.as_bytes(), 16).unwrap_or_else(|| panic!("\"{text}\" is not hex"))
}

/// Rows of the file: `u v`, and the comment line above them.
fn known() -> Vec<Row> {
    let mut rows = Vec::new();
    for (index, line) in FILE.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (u, v) = line.split_once(' ').unwrap_or_else(|| panic!("line {}: u v", index + 1));
        rows.push(row("regressions.txt, by line", index + 1, number(u), number(v.trim())));
    }
    rows
}

struct Known;

impl Check for Known {
    const NAME: &str = "div_rem of known hard rows";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let mut rows = known();
        rows.retain(|row| row.a.bits().max(row.b.bits()) <= shape.bits as u64);
        // Wide shapes do not run them under every schedule.
        let schedules = if shape.bits > 4096 { 1 } else { setting.devices().len() };
        for device in &setting.devices()[..schedules] {
            for algorithm in distinct(device, Op::DivRem, shape) {
                divide(Op::DivRem, algorithm, shape, device, &rows, tally);
            }
        }
    }
}

on_every_backend! { known: Known, }
