//! Errors of reading keys.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::budget::OverBudget;
use super::place::{Place, Source};
use crate::job::digits::Radix;

/// Reason why an entry of a document is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyError {
    #[error("expected one modulus a line, found a further field")]
    FurtherField,
    #[error("the modulus is negative")]
    Negative,
    #[error("the modulus has no digits")]
    NoDigits,
    #[error(
        "the modulus has {character:?}, which is not a {radix} digit{}",
        hint(*radix, *character)
    )]
    BadDigit { radix: Radix, character: char },
    #[error("the modulus is less than 2")]
    TooSmall,
    #[error("the modulus is wider than the widest built shape, {widest} bits")]
    TooWide { widest: usize },
    #[error("the {unit} is longer than {longest} bytes")]
    TooLong { unit: &'static str, longest: usize },
    #[error("the {unit} has no end in {longest} bytes; the rest of the document is not read")]
    Endless { unit: &'static str, longest: usize },
    #[error("the text is not UTF-8")]
    NotText,
    #[error("-----END {0}----- is missing")]
    NoEnd(String),
    #[error("the label of the END line is not {0}, as that of the BEGIN line is")]
    OtherEnd(String),
    #[error("the text is not base64: {0}")]
    Base64(String),
    #[error("the {what} is damaged: {reason}")]
    Damaged { what: &'static str, reason: String },
    #[error("the data are no certificate, certificate request or key in DER")]
    UnknownDer,
    #[error("expected a key of OpenSSH: type and base64")]
    NoSshKey,
    #[error("{0}")]
    Json(String),
    #[error("the JSON web key has no member \"{0}\"")]
    NoMember(&'static str),
    #[error("the table is damaged: {0}")]
    Table(String),
    #[error("the table has no column {0:?}; its columns are {1}")]
    NoColumn(String, String),
    #[error("the row has no column {0}")]
    ShortRow(usize),
    #[error("the archive is damaged: {0}")]
    Archive(String),
    #[error("the archive is nested more than {0} deep")]
    Nested(usize),
    #[error("archives expand to more than {0} MiB (--max-expanded)")]
    Expanded(u64),
}

/// Names the option by which a decimal file is read as hexadecimal.
fn hint(radix: Radix, character: char) -> &'static str {
    match radix {
        Radix::Decimal if character.is_ascii_hexdigit() => " (--radix hex reads hexadecimal)",
        _ => "",
    }
}

/// An entry of a document that is no key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invalid {
    pub(crate) document: String,
    pub(crate) place: Place,
    /// Column of the line, counted from 1 in bytes; 0 where it is not known.
    pub(crate) column: u64,
    pub(crate) reason: KeyError,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Source { document: &self.document, place: self.place })?;
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// Reason why the keys cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("cannot open {}: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("cannot read {document}: {source}")]
    Read { document: String, source: io::Error },
    #[error("{0}")]
    Invalid(Box<Invalid>),
    #[error(transparent)]
    Memory(#[from] OverBudget),
    #[error("no thread starts: {0}")]
    Thread(io::Error),
    #[error("interrupted while reading")]
    Interrupted,
}
