//! Results of candidates, and their lines.

use std::fmt::Write;
use std::sync::Arc;

use num_bigint::BigUint;

use super::candidate::{Candidate, CandidateError};
use super::options::Format;

/// Result of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A prime below 2^64.
    Prime {
        number: BigUint,
    },
    /// Passes the Fermat test and that of Baillie and Wagstaff.
    Probable {
        number: BigUint,
    },
    /// Fails the Fermat test with a residue that has these low bits.
    Composite {
        res64: u64,
    },
    /// Passes the Fermat test only.
    Pseudoprime,
    /// Has a small prime factor.
    Factor(u64),
    /// 0 or 1.
    Unit,
    /// Another candidate is composite.
    Needless {
        composite: Arc<str>,
    },
    /// Enough primes were found.
    Quota {
        key: Arc<str>,
        primes: u64,
    },
    Rejected(CandidateError),
    /// Has a line of an earlier job.
    Recorded {
        is_prime: bool,
    },
}

impl Verdict {
    /// Returns true for primes and probable primes.
    pub(crate) fn is_prime(&self) -> bool {
        matches!(
            self,
            Self::Prime { .. } | Self::Probable { .. } | Self::Recorded { is_prime: true }
        )
    }
}

/// A result line of an earlier job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) is_prime: bool,
    pub(crate) is_rejected: bool,
}

/// Writes result lines, and recognizes them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    pub(crate) format: Format,
    pub(crate) base: u32,
}

/// Marks of probable primes, which no other line has.
const PFGW_PROBABLE: &str = "-PRP! (BPSW)";
const LLR_PROBABLE: &str = "-Fermat PRP!";
const PRIME: &str = " is prime!";

impl Style {
    /// Appends the line of a candidate.
    pub(crate) fn push_line(self, text: &mut String, candidate: &Candidate, verdict: &Verdict) {
        let start = text.len();
        match self.format {
            Format::Json => self.push_json(text, candidate, verdict),
            format => self.push_text(text, candidate, verdict, format),
        }
        debug_assert!(!text[start..].contains('\n'));
        text.push('\n');
    }

    // Writing to a string does not fail.
    fn push_text(
        self,
        text: &mut String,
        candidate: &Candidate,
        verdict: &Verdict,
        format: Format,
    ) {
        let base = self.base;
        if let Verdict::Rejected(fault) = verdict {
            text.push_str(&rejection(candidate, fault));
            return;
        }
        text.push_str(&candidate.text);
        let is_llr = format == Format::Llr;
        let digits = |number: &BigUint| number.to_string().len();
        let _ = match verdict {
            Verdict::Prime { number } if is_llr => {
                write!(text, "{PRIME} ({} decimal digits)", digits(number))
            }
            Verdict::Prime { .. } => write!(text, "{PRIME}"),
            Verdict::Probable { number } if is_llr => {
                write!(text, " is base {base}{LLR_PROBABLE} ({} decimal digits)", digits(number))
            }
            Verdict::Probable { .. } => write!(text, " is {base}{PFGW_PROBABLE}"),
            Verdict::Composite { res64 } if is_llr => {
                write!(text, " is not prime.  RES64: {res64:016X}")
            }
            Verdict::Composite { res64 } => write!(text, " is composite: RES64: [{res64:016X}]"),
            Verdict::Pseudoprime if is_llr => {
                write!(text, " is not prime.  RES64: {:016X}  (fails BPSW)", 1)
            }
            Verdict::Pseudoprime => {
                write!(text, " is composite: RES64: [{:016X}] (fails BPSW)", 1)
            }
            Verdict::Factor(factor) if is_llr => write!(text, " has a small factor : {factor}"),
            Verdict::Factor(factor) => write!(text, " has factors: {factor}"),
            Verdict::Unit => write!(text, " is neither prime nor composite"),
            Verdict::Needless { composite } => {
                write!(text, " is not tested: {composite} is composite")
            }
            Verdict::Quota { key, primes } => {
                write!(text, " is not tested: {primes} of {key} found")
            }
            Verdict::Rejected(_) | Verdict::Recorded { .. } => Ok(()),
        };
    }

    fn push_json(self, text: &mut String, candidate: &Candidate, verdict: &Verdict) {
        let mut object = serde_json::json!({
            "candidate": &*candidate.text,
            "line": candidate.line,
        });
        if let Some(file) = &candidate.file {
            object["file"] = (**file).into();
        }
        let result = match verdict {
            Verdict::Prime { .. } => "prime",
            Verdict::Probable { .. } => "probable prime",
            Verdict::Composite { res64 } => {
                object["base"] = self.base.into();
                object["res64"] = format!("{res64:016X}").into();
                "composite"
            }
            Verdict::Pseudoprime => {
                object["base"] = self.base.into();
                object["res64"] = format!("{:016X}", 1).into();
                "pseudoprime"
            }
            Verdict::Factor(factor) => {
                object["factor"] = (*factor).into();
                "composite"
            }
            Verdict::Unit => "unit",
            Verdict::Needless { composite } => {
                object["composite"] = (**composite).into();
                "not tested"
            }
            Verdict::Quota { key, .. } => {
                object["quota"] = (**key).into();
                "not tested"
            }
            Verdict::Recorded { .. } => return,
            Verdict::Rejected(fault) => {
                object["error"] = fault_text(candidate, fault).into();
                "error"
            }
        };
        object["result"] = result.into();
        text.push_str(&object.to_string());
    }

    /// Returns what a line of an earlier job says of the candidate; `None` if it is the line of
    /// another one.
    pub(crate) fn recognize(self, line: &str, candidate: &Candidate) -> Option<Recorded> {
        if self.format == Format::Json {
            let object: serde_json::Value = serde_json::from_str(line).ok()?;
            let is_same = object["candidate"] == *candidate.text
                && object["line"] == candidate.line
                && object["file"].as_str() == candidate.file.as_deref();
            let result = object["result"].as_str()?;
            return is_same.then_some(Recorded {
                is_prime: matches!(result, "prime" | "probable prime"),
                is_rejected: result == "error",
            });
        }
        if line.starts_with(&place(candidate)) {
            return Some(Recorded { is_prime: false, is_rejected: true });
        }
        let rest = line.strip_prefix(&*candidate.text)?;
        rest.starts_with(' ').then(|| Recorded {
            is_prime: rest.starts_with(PRIME)
                || rest.ends_with(PFGW_PROBABLE)
                || rest.contains(LLR_PROBABLE),
            is_rejected: false,
        })
    }
}

/// Returns the text of a candidate that is not tested because of an error.
pub(crate) fn rejection(candidate: &Candidate, fault: &CandidateError) -> String {
    format!("{}{}", place(candidate), fault_text(candidate, fault))
}

fn place(candidate: &Candidate) -> String {
    match &candidate.file {
        Some(name) => format!("error: {name}: line {}: ", candidate.line),
        None => format!("error: line {}: ", candidate.line),
    }
}

/// Columns are those of the line, or of the expanded expression, which is then shown.
fn fault_text(candidate: &Candidate, fault: &CandidateError) -> String {
    /// Characters of an expression that are shown.
    const SHOWN: usize = 100;
    let is_expanded = candidate.column.is_none()
        && matches!(fault, CandidateError::Syntax(_) | CandidateError::Value(_));
    match is_expanded {
        true if candidate.text.len() <= SHOWN => format!("{}: {fault}", candidate.text),
        true => {
            let text: String = candidate.text.chars().take(SHOWN).collect();
            format!("{text}...: {fault}")
        }
        false => fault.to_string(),
    }
}
