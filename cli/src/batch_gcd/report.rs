//! Reports of weak keys: aligned text, JSON, or comma-separated values.

use std::io::{self, Write};

use num_bigint::BigUint;
use serde::Serialize;

use super::analysis::Finding;
use super::distinct::Distinct;
use super::keys::Collection;
use super::shared::Factor;
use crate::job::digits::push_hex;

/// Form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
    Csv,
}

/// Keys of a report.
#[derive(Clone, Copy)]
pub(crate) struct Report<'a> {
    pub(crate) keys: &'a Collection,
    pub(crate) distinct: &'a Distinct,
    /// Number of stored keys, which are the first ones.
    pub(crate) stored: usize,
}

/// Maximum number of keys that are named for a factor of a key: a prime of many keys would else be
/// named a number of times that is the square of theirs.
const MAX_NAMED: usize = 100;

/// Finding of keys that have one modulus.
const DUPLICATE: &str = "duplicate";

/// A key and its source.
#[derive(Serialize)]
struct Named<'a> {
    key: usize,
    document: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stored: bool,
}

#[derive(Serialize)]
struct JsonFactor<'a> {
    value: String,
    bits: u64,
    /// Number of other keys that it divides.
    others: usize,
    shared_with: Vec<Named<'a>>,
}

#[derive(Serialize)]
struct JsonFinding<'a> {
    finding: &'a str,
    #[serde(flatten)]
    named: Named<'a>,
    kind: &'a str,
    bits: u64,
    modulus: String,
    factors: Vec<JsonFactor<'a>>,
    copies: Vec<Named<'a>>,
}

impl Report<'_> {
    /// Writes the weak keys, and with `duplicates` the keys of one modulus.
    pub(crate) fn write(
        &self,
        form: Form,
        findings: &[Finding],
        duplicates: bool,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let copied = self.distinct.copied().filter(|_| duplicates);
        match form {
            Form::Text => {
                for finding in findings {
                    self.write_text(finding, out)?;
                }
                for key in copied {
                    self.write_heading(key, DUPLICATE, out)?;
                }
            }
            Form::Json => {
                for finding in findings {
                    self.write_json(finding.key, finding.weakness.name(), Some(finding), out)?;
                }
                for key in copied {
                    self.write_json(key, DUPLICATE, None, out)?;
                }
            }
            Form::Csv => self.write_csv(findings, copied, out)?,
        }
        out.flush()
    }

    fn write_text(&self, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
        self.write_heading(finding.key, finding.weakness.name(), out)?;
        let whole = self.keys.modulus(finding.key);
        for factor in &finding.factors {
            let others = others(factor, finding.key);
            let label = match (factor.value == whole, others) {
                (true, _) => "not split",
                (false, 0) => "factor",
                (false, _) => "shared",
            };
            writeln!(out, "  {label:<10}{}", hex(&factor.value))?;
            for key in named_others(factor, finding.key) {
                writeln!(out, "  {:<10}{}", "with", self.name(key))?;
            }
            if others > MAX_NAMED {
                writeln!(out, "  {:<10}{} more", "with", others - MAX_NAMED)?;
            }
        }
        Ok(())
    }

    /// Writes the key, its sources and its modulus.
    fn write_heading(&self, key: usize, finding: &str, out: &mut dyn Write) -> io::Result<()> {
        let (bits, kind) = (self.keys.bits(key), self.keys.key(key).kind.name());
        writeln!(out, "{}: {finding}", self.name(key))?;
        writeln!(out, "  {:<10}{kind} of {bits} bits", "kind")?;
        for copy in self.distinct.copies_of(key) {
            writeln!(out, "  {:<10}{}", "copy", self.name(copy))?;
        }
        writeln!(out, "  {:<10}{}", "modulus", hex(&self.keys.modulus(key)))
    }

    /// Returns the number and the source of a key.
    fn name(&self, key: usize) -> String {
        let stored = if key < self.stored { " (stored)" } else { "" };
        format!("key {}, {}{stored}", key + 1, self.keys.source(key))
    }

    fn named(&self, key: usize) -> Named<'_> {
        let source = self.keys.source(key);
        let place = source.place;
        Named {
            key: key + 1,
            document: source.document,
            line: (place.line > 0).then_some(place.line),
            entry: (place.entry > 0).then_some(place.entry),
            stored: key < self.stored,
        }
    }

    fn write_json(
        &self,
        key: usize,
        name: &str,
        finding: Option<&Finding>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let factors = finding.map_or(&[][..], |finding| &finding.factors);
        let factor = |factor: &Factor| JsonFactor {
            value: hex(&factor.value),
            bits: factor.value.bits(),
            others: others(factor, key),
            shared_with: named_others(factor, key).map(|key| self.named(key)).collect(),
        };
        let line = JsonFinding {
            finding: name,
            named: self.named(key),
            kind: self.keys.key(key).kind.name(),
            bits: self.keys.bits(key),
            modulus: hex(&self.keys.modulus(key)),
            factors: factors.iter().map(factor).collect(),
            copies: self.distinct.copies_of(key).map(|copy| self.named(copy)).collect(),
        };
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")
    }

    /// Writes a row for each factor of a weak key, and for each copy of a key.
    fn write_csv(
        &self,
        findings: &[Finding],
        copied: impl Iterator<Item = usize>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut table = csv::Writer::from_writer(out);
        table.write_record([
            "finding",
            "key",
            "document",
            "line",
            "entry",
            "kind",
            "bits",
            "modulus",
            "factor",
            "shared_with",
        ])?;
        let row = |key: usize, finding: &str, factor: &str, with: &str| {
            let named = self.named(key);
            let number = |number: Option<u64>| number.map_or_else(String::new, |n| n.to_string());
            [
                finding.to_owned(),
                named.key.to_string(),
                named.document.to_owned(),
                number(named.line),
                number(named.entry.map(u64::from)),
                self.keys.key(key).kind.name().to_owned(),
                self.keys.bits(key).to_string(),
                hex(&self.keys.modulus(key)),
                factor.to_owned(),
                with.to_owned(),
            ]
        };
        for finding in findings {
            let name = finding.weakness.name();
            for factor in &finding.factors {
                let with: Vec<String> =
                    named_others(factor, finding.key).map(|key| (key + 1).to_string()).collect();
                let (factor, with) = (hex(&factor.value), with.join(" "));
                let keys = [finding.key].into_iter().chain(self.distinct.copies_of(finding.key));
                for key in keys {
                    table.write_record(row(key, name, &factor, &with))?;
                }
            }
        }
        for first in copied {
            for copy in self.distinct.copies_of(first) {
                table.write_record(row(copy, DUPLICATE, "", &(first + 1).to_string()))?;
            }
        }
        table.flush()
    }
}

/// Number of the keys beside one that a factor divides.
fn others(factor: &Factor, key: usize) -> usize {
    factor.keys.len() - usize::from(factor.keys.binary_search(&key).is_ok())
}

/// Returns the first keys beside one that a factor divides.
fn named_others(factor: &Factor, key: usize) -> impl Iterator<Item = usize> {
    factor.keys.iter().copied().filter(move |&other| other != key).take(MAX_NAMED)
}

/// Returns a number as `0x...`.
fn hex(number: &BigUint) -> String {
    let mut text = Vec::new();
    push_hex(&mut text, number);
    // Hexadecimal digits are text.
    String::from_utf8(text).unwrap_or_default()
}
