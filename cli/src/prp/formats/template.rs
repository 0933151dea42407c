//! Templates of the ABC formats: expressions with variables `$a` to `$z`.
//!
//! Values replace the variables as text, as OpenPFGW and PRST do it: `$a*2^$b$c` with the values 5,
//! 100 and -1 is `5*2^100-1`. Two variables without a sign between them need a signed second value.
//!
//! A header may have several expressions. After `&`, the next one is tested only if the one before
//! is a probable prime; after `|`, it is tested in any case.

use std::sync::Arc;

use super::super::candidate::{Candidate, CandidateError, Quota};
use super::super::lines::Line;
use super::source::SourceError;

/// Expressions of a header.
#[derive(Debug)]
pub(crate) struct Template {
    expressions: Vec<Parts>,
    /// Number of values: the index of the last variable plus 1.
    pub(crate) variables: usize,
    quota: Option<QuotaRule>,
}

/// An expression of a template.
#[derive(Debug)]
struct Parts {
    /// True if the candidate before must be a probable prime.
    needs_previous: bool,
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Variable(u8),
}

/// The quota `{number_primes,$a,1}` of a comment.
#[derive(Debug)]
struct QuotaRule {
    variable: u8,
    primes: u64,
}

impl Template {
    /// Parses the part of a header line from byte `start` to byte `end`, and its comment.
    ///
    /// # Errors
    /// [`SourceError::Header`] with the column.
    pub(crate) fn parse(line: &Line, start: usize, end: usize) -> Result<Self, SourceError> {
        let fail = |at: usize, reason: &str| SourceError::header(line.number, at + 1, reason);
        let mut expressions = Vec::new();
        let mut variables = 0;
        let mut current = Parts { needs_previous: false, parts: Vec::new() };
        let mut text = String::new();
        let mut characters = line.text[start..end].char_indices().map(|(at, c)| (start + at, c));
        let mut first = start;
        let complete = |parts: &mut Parts, text: &mut String, at: usize| {
            let rest = std::mem::take(text);
            if !rest.trim().is_empty() {
                parts.parts.push(Part::Text(rest));
            }
            match parts.parts.is_empty() {
                true => Err(fail(at, "expected an expression")),
                false => Ok(()),
            }
        };
        while let Some((at, character)) = characters.next() {
            match character {
                '$' => {
                    let letter = characters.next().map(|(_, c)| c.to_ascii_lowercase());
                    let Some(letter @ 'a'..='z') = letter else {
                        return Err(fail(at, "expected a variable from $a to $z"));
                    };
                    let index = letter as u8 - b'a';
                    variables = variables.max(usize::from(index) + 1);
                    if !text.is_empty() {
                        current.parts.push(Part::Text(std::mem::take(&mut text)));
                    }
                    current.parts.push(Part::Variable(index));
                }
                '&' | '|' => {
                    complete(&mut current, &mut text, first)?;
                    let next = Parts { needs_previous: character == '&', parts: Vec::new() };
                    expressions.push(std::mem::replace(&mut current, next));
                    first = at + 1;
                }
                ' ' | '\t' => {}
                _ => text.push(character),
            }
        }
        complete(&mut current, &mut text, first)?;
        expressions.push(current);
        if variables == 0 {
            return Err(fail(start, "the header has no variable such as $a"));
        }
        Ok(Self { expressions, variables, quota: QuotaRule::of(line, variables)? })
    }

    /// Appends the candidates with these values, one for each variable.
    pub(crate) fn expand(&self, line: u64, values: &[&str], candidates: &mut Vec<Candidate>) {
        let quota = self.quota.as_ref().map(|rule| {
            let value = values[usize::from(rule.variable)];
            let key = format!("${} = {value}", letter(rule.variable)).into();
            Arc::new(Quota { key, primes: rule.primes })
        });
        for expression in &self.expressions {
            let (text, fault) = expression.expand(values);
            candidates.push(Candidate {
                needs: expression.needs_previous.into(),
                quota: quota.clone(),
                fault,
                ..Candidate::new(line, text)
            });
        }
    }

    /// Appends one candidate that is not tested.
    pub(crate) fn reject(
        line: u64,
        text: &str,
        fault: CandidateError,
        candidates: &mut Vec<Candidate>,
    ) {
        let fault = Some(Box::new(fault));
        candidates.push(Candidate { fault, ..Candidate::new(line, text.trim()) });
    }
}

impl Parts {
    fn expand(&self, values: &[&str]) -> (Arc<str>, Option<Box<CandidateError>>) {
        let mut text = String::new();
        let mut fault = None;
        let mut previous = None;
        for part in &self.parts {
            match *part {
                Part::Text(ref part) => {
                    text += part;
                    previous = None;
                }
                Part::Variable(second) => {
                    let value = values[usize::from(second)];
                    if let Some(first) = previous
                        && !value.starts_with(['+', '-'])
                    {
                        let (first, second) = (letter(first), letter(second));
                        let value = value.to_owned();
                        let run_together = CandidateError::RunTogether { first, second, value };
                        fault = Some(Box::new(run_together));
                    }
                    text += value;
                    previous = Some(second);
                }
            }
        }
        (text.into(), fault)
    }
}

impl QuotaRule {
    /// Reads the quota of a header's comment.
    fn of(line: &Line, variables: usize) -> Result<Option<Self>, SourceError> {
        let Some(comment) = &line.comment else { return Ok(None) };
        let column = |at: usize| line.text.len() + "//".len() + at + 1;
        if let Some(at) = comment.find("{number_comps") {
            let reason = "quotas of composites are not supported; remove {number_comps,...}";
            return Err(SourceError::header(line.number, column(at), reason));
        }
        let Some(at) = comment.find("{number_primes") else { return Ok(None) };
        let rule = comment[at + 1..].split_once('}').and_then(|(rule, _)| {
            let mut fields = rule.split(',').skip(1);
            let variable = fields.next()?.trim().strip_prefix('$')?;
            let [variable @ b'a'..=b'z'] = variable.as_bytes() else { return None };
            let variable = variable - b'a';
            let primes = fields.next()?.trim().parse().ok().filter(|&primes| primes > 0)?;
            let is_valid = fields.next().is_none() && usize::from(variable) < variables;
            is_valid.then_some(Self { variable, primes })
        });
        let reason = "expected {number_primes,$a,N} with a variable of the header and N > 0";
        rule.map(Some).ok_or_else(|| SourceError::header(line.number, column(at), reason))
    }
}

fn letter(variable: u8) -> char {
    char::from(b'a' + variable)
}
