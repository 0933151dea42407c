//! The measurements so far, on disk, so that an interrupted run can be continued.
//!
//! Each line is a measurement, as an inline table of TOML, appended when it is complete. Its `key`
//! is the hash of the text of the kernel, so that a changed kernel is measured again.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use gpuint_catalogue::tuning::Row;
use gpuint_testkit::ptx::Result;
use serde::Deserialize;

#[derive(Debug)]
pub(crate) struct State {
    rows: HashMap<String, Row>,
    file: File,
}

/// A line, as the value of a key of its own.
#[derive(Deserialize)]
struct Document {
    line: Line,
}

#[derive(Deserialize)]
struct Line {
    key: String,
    row: Row,
}

impl State {
    /// Opens the state in a file, which may not exist.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let text =
            if path.is_file() { fs::read_to_string(path).map_err(failed)? } else { String::new() };
        // An interrupted run may leave part of a line.
        let known = text.lines().filter_map(|line| toml::from_str(&format!("line = {line}")).ok());
        let rows = known.map(|Document { line: Line { key, row } }| (key, row)).collect();
        let mut file = File::options().create(true).append(true).open(path).map_err(failed)?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n").map_err(failed)?;
        }
        Ok(Self { rows, file })
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Row> {
        self.rows.get(key)
    }

    /// Stores a measurement.
    pub(crate) fn add(&mut self, key: String, row: Row) -> Result<()> {
        let line = format!("{{ key = \"{key}\", row = {row} }}\n");
        self.file.write_all(line.as_bytes()).map_err(|error| format!("the state: {error}"))?;
        self.rows.insert(key, row);
        Ok(())
    }
}
