//! Checks kernels on the SIMT shim in another process, which a sanitizer may instrument.
//!
//! Usage: `cases ROUNDS thread|plain PROGRAM [ARGUMENT]..`. Standard input has the names of the
//! kernels, one a line. The program is that of `tests/sanitize/main.cpp`, whose header has the
//! protocol. Each round has operands and a schedule of its own: three blocks to the rows of a
//! kernel, then one for all, in turn.

use std::process::ExitCode;
use std::{env, io};

use gpuint_testkit::cases::{self, Machine, Task};
use gpuint_testkit::random::Random;
use gpuint_testkit::shim::Shim;

/// Rows of a check of the arithmetic.
const ROWS: usize = 24;

/// Checks a kernel in some rounds; returns the number of rows.
fn check(
    shim: &mut Shim,
    kernel: &str,
    rounds: usize,
    under_tsan: bool,
) -> Result<usize, Vec<String>> {
    let wrong = |words: &str| vec![format!("{kernel}: {words}")];
    if kernel.starts_with("gpuint_long_") {
        let random = &mut Random::new(7);
        return cases::check_grids(shim, kernel, 0..rounds, under_tsan, random);
    }
    let task = Task::parse(kernel).ok_or_else(|| wrong("is not the name of a kernel"))?;
    let rows_per_block = match shim.rows_per_block(kernel) {
        Some(rows) => rows,
        None => return Err(wrong("was not built")),
    };
    // Blocks that are not full, and with three blocks at most a second round. Operands of more rows
    // are for the arithmetic, not for races: ThreadSanitizer, under which most of the time is that
    // of long powers and of wide rows, has them at 1024 bits and for divisions, whose operands
    // choose the way.
    let bits = task.shape.bits;
    let is_division = kernel.starts_with("gpuint_div_rem");
    let has_few = bits >= 262_144 || (under_tsan && bits > 1024 && !is_division);
    let most = (3 * rows_per_block + 2).max(if has_few { 1 } else { ROWS });
    let mut checked = 0;
    for rows in [1, most] {
        for round in 0..rounds {
            let seed = (7 * round + bits + task.shape.digit.bits()) as u64;
            let random = &mut Random::new(seed);
            checked += cases::check(shim, &task, |_| rows, round..round + 1, under_tsan, random)?;
        }
    }
    Ok(checked)
}

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [rounds, mode, command @ ..] = &arguments[..] else {
        eprintln!("usage: cases ROUNDS thread|plain PROGRAM [ARGUMENT]..");
        return ExitCode::from(2);
    };
    let rounds = rounds.parse().unwrap_or(2);
    let mut shim = match Shim::start(command) {
        Ok(shim) => shim,
        Err(error) => {
            eprintln!("{command:?}: {error}");
            return ExitCode::from(2);
        }
    };
    let (mut kernels, mut rows) = (0, 0);
    for kernel in io::stdin().lines().map_while(Result::ok) {
        match check(&mut shim, &kernel, rounds, mode == "thread") {
            Ok(checked) => rows += checked,
            Err(errors) => {
                println!("{}", errors.join("\n"));
                return ExitCode::FAILURE;
            }
        }
        kernels += 1;
    }
    for path in shim.rare_paths().unwrap_or_default().lines() {
        println!("rare path: {path}");
    }
    let is_success = shim.is_successful_end();
    println!("{kernels} kernels, {rows} rows");
    if is_success && kernels > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
