//! The tuning tables of the build.
//!
//! - `GPUINT_TUNING`: the table whose blocks the kernels have, `tuning/h200.toml` by default
//!   (docs/tuning.md)

use std::fs;
use std::path::{Path, PathBuf};

use gpuint_catalogue::{Catalogue, tuning::Table};

use crate::Result;

/// The folder of the tables.
const FOLDER: &str = "tuning";
/// The table of the only GPU that was measured.
const DEFAULT: &str = "tuning/h200.toml";

/// A table, by the name of its file.
pub(crate) struct Tuning {
    pub(crate) name: String,
    pub(crate) table: Table,
}

/// Reads every table, the one of the build first.
pub(crate) fn load(catalogue: &Catalogue) -> Result<Vec<Tuning>> {
    println!("cargo::rerun-if-changed={FOLDER}");
    let first = PathBuf::from(crate::path_variable("GPUINT_TUNING").unwrap_or(DEFAULT.into()));
    println!("cargo::rerun-if-changed={}", first.display());
    let mut files = vec![first];
    let unreadable = |error: std::io::Error| format!("{FOLDER}: {error}");
    let mut others = Vec::new();
    for file in fs::read_dir(FOLDER).map_err(unreadable)? {
        let path = file.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") && path != files[0] {
            others.push(path);
        }
    }
    others.sort();
    files.append(&mut others);
    files.iter().map(|file| read(file, catalogue)).collect()
}

fn read(file: &Path, catalogue: &Catalogue) -> Result<Tuning> {
    let wrong = |error: &dyn std::fmt::Display| format!("tuning table {}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(|error| wrong(&error))?;
    let rows: Vec<_> = catalogue.rows().collect();
    let table = Table::parse(&text, &rows).map_err(|error| wrong(&error))?;
    let shapes: Vec<_> = catalogue.shapes().collect();
    table.check_coverage(&rows, &shapes).map_err(|error| wrong(&error))?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Tuning { name, table })
}
