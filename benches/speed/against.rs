//! Measurements by operation, operands and width, their file, and their comparison.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::fs;
use std::path::Path;

use crate::Result;
use gpuint_benches::machine::Machine;

/// Minimum ratio to the earlier time at which an operation counts as slower.
const SLOWER: f64 = 1.03;
const HEADING: &str = "operation,operands,bits,algorithm,ms";

/// Operation, operands, width.
type Key = (String, String, usize);

/// An algorithm and its time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Time {
    pub(crate) algorithm: String,
    /// Milliseconds for a batch of 2^32 bits.
    pub(crate) ms: f64,
}

/// Times of one run of one commit.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// The commit, device and date of a file that was read.
    pub(crate) source: String,
    pub(crate) times: BTreeMap<Key, Time>,
}

impl Measured {
    pub(crate) fn add(&mut self, operation: &str, operands: &str, bits: usize, time: Time) {
        self.times.insert((operation.to_owned(), operands.to_owned(), bits), time);
    }

    /// Reads a file written by [`csv`](Self::csv).
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        Self::parse(&text).map_err(|reason| format!("{}: {reason}", file.display()).into())
    }

    /// Reads a file that must be of this commit and device.
    pub(crate) fn of_machine(file: &Path, machine: &Machine) -> Result<Self> {
        let measured = Self::read(file)?;
        let source = source(machine);
        match measured.source.starts_with(&source) {
            true => Ok(measured),
            false => {
                Err(format!("{} is of {}, not {source}", file.display(), measured.source).into())
            }
        }
    }

    pub(crate) fn has(&self, bits: usize) -> bool {
        self.times.keys().any(|key| key.2 == bits)
    }

    fn parse(text: &str) -> Result<Self> {
        let mut measured = Self::default();
        for line in text.lines().filter(|line| *line != HEADING) {
            if let Some(words) = line.strip_prefix("# ") {
                words.clone_into(&mut measured.source);
                continue;
            }
            let cells: Vec<&str> = line.split(',').collect();
            let [operation, operands, bits, algorithm, ms] = cells[..] else {
                return Err(format!("not five cells: {line}").into());
            };
            let time = Time { algorithm: algorithm.to_owned(), ms: ms.parse()? };
            measured.add(operation, operands, bits.parse()?, time);
        }
        Ok(measured)
    }

    pub(crate) fn csv(&self, machine: &Machine) -> String {
        let mut text = format!("# {}; {}\n{HEADING}\n", source(machine), machine.date);
        for ((operation, operands, bits), Time { algorithm, ms }) in &self.times {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{operation},{operands},{bits},{algorithm},{ms:.4}");
        }
        text
    }
}

fn source(machine: &Machine) -> String {
    format!("commit {}; {}", machine.commit, machine.device)
}

/// Operations that became slower, and operations that are no longer measured.
#[derive(Debug)]
pub(crate) struct Comparison {
    before: String,
    compared: usize,
    /// With the earlier and the new time.
    slower: Vec<(Key, Time, Time)>,
    missing: Vec<Key>,
}

impl Comparison {
    /// Compares at the operations and widths for which `now` has times.
    pub(crate) fn of(before: &Measured, now: &Measured) -> Self {
        let is_asked = |(operation, _, bits): &Key| {
            now.times.keys().any(|key| key.0 == *operation)
                && now.times.keys().any(|key| key.2 == *bits)
        };
        let mut comparison = Self {
            before: before.source.clone(),
            compared: 0,
            slower: Vec::new(),
            missing: Vec::new(),
        };
        for (key, old) in before.times.iter().filter(|(key, _)| is_asked(key)) {
            match now.times.get(key) {
                None => comparison.missing.push(key.clone()),
                Some(new) => {
                    comparison.compared += 1;
                    if new.ms > old.ms * SLOWER {
                        comparison.slower.push((key.clone(), old.clone(), new.clone()));
                    }
                }
            }
        }
        comparison
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nCompared with: {}", self.before)?;
        for ((operation, operands, bits), old, new) in &self.slower {
            writeln!(
                f,
                "slower: {operation} {operands} at {bits} bits: {:.4} -> {:.4} ms, {:.2} times \
                 ({} -> {})",
                old.ms,
                new.ms,
                new.ms / old.ms,
                old.algorithm,
                new.algorithm
            )?;
        }
        for (operation, operands, bits) in &self.missing {
            writeln!(f, "missing: {operation} {operands} at {bits} bits")?;
        }
        writeln!(
            f,
            "{} times compared, {} more than 3 % slower, {} missing",
            self.compared,
            self.slower.len(),
            self.missing.len()
        )
    }
}
