//! Candidates, as formats of files give them.

use std::sync::Arc;

use super::lines::LineFault;
use crate::expression::syntax::SyntaxError;
use crate::expression::value::ValueError;

/// A candidate of a file, not yet parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Name of the file if there are several.
    pub(crate) file: Option<Arc<str>>,
    /// Line of the file, counted from 1.
    pub(crate) line: u64,
    /// The expression, or the line that gives none.
    pub(crate) text: Arc<str>,
    /// Column of the text in the line; `None` for a text made from a template.
    pub(crate) column: Option<usize>,
    /// Number of candidates back to the one that must be a probable prime, else this one is not
    /// tested; 0 for none.
    pub(crate) needs: usize,
    /// The candidates of a quota are tested until some of them are probable primes.
    pub(crate) quota: Option<Arc<Quota>>,
    /// Reason why the line gives no expression.
    pub(crate) fault: Option<Box<CandidateError>>,
    /// Result of an earlier job: true for a prime.
    pub(crate) recorded: Option<bool>,
}

impl Candidate {
    /// Bytes of the line before the text; 0 for a text made from a template.
    pub(crate) fn shift(&self) -> usize {
        self.column.map_or(0, |column| column - 1)
    }

    /// Makes a candidate that depends on no other.
    pub(crate) fn new(line: u64, text: impl Into<Arc<str>>) -> Self {
        Self {
            file: None,
            line,
            text: text.into(),
            column: None,
            needs: 0,
            quota: None,
            fault: None,
            recorded: None,
        }
    }
}

/// Candidates of which a number of probable primes is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Quota {
    /// The variable and its value, such as `$a = 13`.
    pub(crate) key: Arc<str>,
    pub(crate) primes: u64,
}

/// Reason why a candidate is not tested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CandidateError {
    #[error(transparent)]
    Line(#[from] LineFault),
    #[error("expected {expected} value{}, found {found}", if *expected == 1 { "" } else { "s" })]
    Values { expected: usize, found: usize },
    #[error("column {column}: {text:?} is no whole number of 64 bits")]
    Number { column: usize, text: String },
    #[error("${second} = {value} would continue the digits of ${first}; it needs a sign")]
    RunTogether { first: char, second: char, value: String },
    #[error("the sum of the differences exceeds 64 bits")]
    Overflow,
    #[error("column {column}: {reason}")]
    Unknowns { column: usize, reason: &'static str },
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    #[error(transparent)]
    Value(#[from] ValueError),
    #[error("the value has {bits} bits, more than the widest built width, {widest} bits")]
    TooWide { bits: u64, widest: usize },
}
