//! The reader of `kernels/resources.toml`: the shared memory of kernels.

use std::fs;

use gpuint_catalogue::architecture::BASELINES;
use gpuint_catalogue::{Architecture, Row, Shape};

use crate::Result;

const FILE: &str = "kernels/resources.toml";

/// Shared memory of the kernels of the default catalogue, as nvcc compiled them last.
pub(crate) struct Resources([toml::Table; BASELINES]);

impl Resources {
    pub(crate) fn read() -> Result<Self> {
        let wrong = |error: &dyn std::fmt::Display| format!("{FILE}: {error}");
        let text = fs::read_to_string(FILE).map_err(|error| wrong(&error))?;
        let file: toml::Table = text.parse().map_err(|error: toml::de::Error| wrong(&error))?;
        let section = |baseline: &Architecture| file.get("shared")?.get(baseline.code)?.as_table();
        let sections = Architecture::BASELINES.map(section);
        if let Some(missing) = sections.iter().position(Option::is_none) {
            return Err(wrong(&format!("no shared.{}", Architecture::BASELINES[missing].code)));
        }
        Ok(Self(sections.map(|section| section.cloned().unwrap_or_default())))
    }

    /// Shared memory of a block in bytes, by baseline; 0 where it is small or not recorded.
    pub(crate) fn shared_bytes(&self, row: &Row<'_>, shape: Shape) -> [u32; BASELINES] {
        let name = row.to_string();
        let first = self.0[0].get(&name);
        // Sections list the rows that differ from the first one.
        let entries = self.0.each_ref().map(|section| section.get(&name).or(first));
        entries.map(|entry| entry.and_then(|entry| bytes(entry, row, shape)).unwrap_or(0))
    }
}

/// Returns the bytes of the kernel at a shape: a number of all kernels of the row, or numbers with
/// their kernels.
fn bytes(entry: &toml::Value, row: &Row<'_>, shape: Shape) -> Option<u32> {
    if let Some(bytes) = entry.as_integer() {
        return u32::try_from(bytes).ok();
    }
    let has = |places: &toml::Value| places.as_str().is_some_and(|text| lists(text, row, shape));
    entry.as_table()?.iter().find(|(_, places)| has(places))?.0.parse().ok()
}

/// Returns true if a text lists the kernel at a shape: `q3_u16 q3_u32 1536; q4_u16 2048`, or widths
/// where digits and Q make no difference.
fn lists(text: &str, row: &Row<'_>, Shape { bits, q, digit }: Shape) -> bool {
    let (digits, bits) = (format!("q{q}_{digit}"), bits.to_string());
    text.split("; ").any(|part| {
        let has = |wanted: &str| part.split(' ').any(|word| word == wanted);
        has(&bits) && (row.per_width || has(&digits))
    })
}
