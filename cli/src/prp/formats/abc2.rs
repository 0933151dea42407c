//! ABC2 files: a template and the values of each variable.
//!
//! ```text
//! ABC2 $a*2^$b+1
//! a: from 1 to 99 step 2
//! b: primes from 100 to 200
//! ```
//!
//! Values are `from X to Y [step S]`, `from X downto Y [step -S]`, `primes from X to Y` and
//! `in { X Y ... }`. The candidates are all combinations; the values of `$a` change first, as in
//! OpenPFGW.

use gpuint::sieve;

use super::super::candidate::Candidate;
use super::super::lines::{Line, LineReader};
use super::abc::after_word;
use super::source::{Source, SourceError, next_line};
use super::template::Template;

/// Maximum length of a range of primes, whose primes are kept.
const LONGEST_PRIMES: u64 = 100_000_000;

/// An ABC2 file.
pub(crate) struct Abc2<'a> {
    lines: LineReader<'a>,
    template: Template,
    header: u64,
    values: Vec<Values>,
    /// Index of the next value of each variable; `None` at the end.
    next: Option<Vec<u64>>,
}

/// Values of a variable.
#[derive(Debug)]
enum Values {
    /// `first + i step`.
    Range {
        first: i64,
        step: i64,
        count: u64,
    },
    List(Vec<String>),
    Primes(Vec<u64>),
}

impl Values {
    fn count(&self) -> u64 {
        match self {
            Self::Range { count, .. } => *count,
            Self::List(list) => list.len() as u64,
            Self::Primes(primes) => primes.len() as u64,
        }
    }

    fn get(&self, index: u64) -> String {
        match self {
            // Within the range.
            Self::Range { first, step, .. } => {
                (i128::from(*first) + i128::from(*step) * i128::from(index)).to_string()
            }
            Self::List(list) => list[index as usize].clone(),
            Self::Primes(primes) => primes[index as usize].to_string(),
        }
    }

    /// Parses the line of the variable with this letter.
    fn parse(line: &Line, letter: char) -> Result<Self, SourceError> {
        let mut words = Words { line, at: 0 };
        if let Some(fault) = line.fault {
            return Err(words.fail(0, fault.to_string()));
        }
        words.expect_variable(letter)?;
        let word = words.next();
        let values = match word.map(|word| word.1) {
            Some("from") => {
                let (_, first) = words.number()?;
                let direction = words.next();
                let is_down = match direction.map(|word| word.1) {
                    Some("to") => false,
                    Some("downto") => true,
                    _ => return Err(words.unexpected(direction, "to or downto")),
                };
                let (_, last) = words.number()?;
                let mut step = if is_down { -1 } else { 1 };
                if words.peek() == Some("step") {
                    words.next();
                    let (at, number) = words.number()?;
                    if number == 0 || (number < 0) != is_down {
                        let sign = if is_down { "below" } else { "above" };
                        return Err(words.fail(at, format!("the step must be {sign} 0")));
                    }
                    step = number;
                }
                let span = i128::from(last) - i128::from(first);
                let steps = span / i128::from(step);
                let is_empty = if is_down { span > 0 } else { span < 0 };
                let count = if is_empty { 0 } else { steps as u64 + 1 };
                Self::Range { first, step, count }
            }
            Some("primes") => {
                let from = words.next();
                if from.map(|word| word.1) != Some("from") {
                    return Err(words.unexpected(from, "from"));
                }
                let (at, first) = words.number()?;
                let to = words.next();
                if to.map(|word| word.1) != Some("to") {
                    return Err(words.unexpected(to, "to"));
                }
                let (_, last) = words.number()?;
                let (first, last) = (first.max(0) as u64, last.max(0) as u64);
                if last.saturating_sub(first) > LONGEST_PRIMES {
                    let reason = format!("a range of primes has at most {LONGEST_PRIMES} numbers");
                    return Err(words.fail(at, reason));
                }
                Self::Primes(sieve::primes(first..last.saturating_add(1)).collect())
            }
            Some(word) if word.starts_with("in") => return words.list(),
            _ => return Err(words.unexpected(word, "from, primes or in")),
        };
        match words.next() {
            None => Ok(values),
            word => Err(words.unexpected(word, "the end of the line")),
        }
    }
}

/// Words of a line with their places.
struct Words<'l> {
    line: &'l Line,
    at: usize,
}

impl<'l> Words<'l> {
    fn next(&mut self) -> Option<(usize, &'l str)> {
        let rest = &self.line.text[self.at..];
        let word = rest.trim_start();
        let start = self.at + rest.len() - word.len();
        let word = word.split([' ', '\t']).next().filter(|word| !word.is_empty())?;
        self.at = start + word.len();
        Some((start, word))
    }

    fn peek(&self) -> Option<&'l str> {
        Words { line: self.line, at: self.at }.next().map(|word| word.1)
    }

    fn number(&mut self) -> Result<(usize, i64), SourceError> {
        let word = self.next();
        match word.and_then(|(at, word)| Some((at, word.parse().ok()?))) {
            Some(number) => Ok(number),
            None => Err(self.unexpected(word, "a whole number of 64 bits")),
        }
    }

    /// Reads `a:`, with or without blanks before the colon.
    fn expect_variable(&mut self, letter: char) -> Result<(), SourceError> {
        let text = &self.line.text;
        let found = text.split_once(':').filter(|(name, _)| {
            let name = name.trim();
            name.len() == 1 && name.eq_ignore_ascii_case(&letter.to_string())
        });
        let Some((name, _)) = found else {
            let reason = format!("expected the values of ${letter}, {letter}: ...");
            return Err(self.fail(0, reason));
        };
        self.at = name.len() + 1;
        Ok(())
    }

    /// Reads `in { X Y ... }`.
    fn list(mut self) -> Result<Values, SourceError> {
        let text = &self.line.text;
        let start = text.find("in").map_or(0, |at| at + "in".len());
        let open = text[start..].trim_start();
        let Some(inner) = open.strip_prefix('{') else {
            self.at = start;
            let word = self.next();
            return Err(self.unexpected(word, "{ after in"));
        };
        let at = text.len() - inner.len();
        let Some((inner, rest)) = inner.split_once('}') else {
            return Err(self.fail(text.len(), "expected } after the values".to_owned()));
        };
        if !rest.trim().is_empty() {
            let at = text.len() - rest.len();
            return Err(self.fail(at, "expected the end of the line after }".to_owned()));
        }
        let list: Vec<String> = inner.split_whitespace().map(str::to_owned).collect();
        match list.is_empty() {
            true => Err(self.fail(at, "expected values".to_owned())),
            false => Ok(Values::List(list)),
        }
    }

    fn unexpected(&self, word: Option<(usize, &str)>, expected: &str) -> SourceError {
        match word {
            Some((at, word)) => self.fail(at, format!("expected {expected}, found {word:?}")),
            None => self.fail(self.line.text.len(), format!("expected {expected}")),
        }
    }

    fn fail(&self, at: usize, reason: String) -> SourceError {
        SourceError::header(self.line.number, at + 1, reason)
    }
}

impl<'a> Abc2<'a> {
    pub(crate) fn new(mut lines: LineReader<'a>, header: &Line) -> Result<Self, SourceError> {
        let template = Template::parse(header, after_word(header), header.text.len())?;
        let mut last = header.number;
        let mut values = Vec::new();
        for letter in ('a'..='z').take(template.variables) {
            let Some(line) = next_line(&mut lines, &mut last)? else {
                let reason = format!("the file ends before the values of ${letter}");
                return Err(SourceError::header(last, 1, reason));
            };
            values.push(Values::parse(&line, letter)?);
        }
        if let Some(line) = next_line(&mut lines, &mut last)? {
            let reason = "expected the end of the file after the values of the last variable";
            return Err(SourceError::header(line.number, 1, reason));
        }
        let is_empty = values.iter().any(|values| values.count() == 0);
        let next = (!is_empty).then(|| vec![0; values.len()]);
        Ok(Self { lines, template, header: header.number, values, next })
    }
}

impl Source for Abc2<'_> {
    fn next(&mut self, candidates: &mut Vec<Candidate>) -> Result<bool, SourceError> {
        let Some(indices) = &mut self.next else { return Ok(false) };
        let pairs = self.values.iter().zip(&*indices);
        let values: Vec<String> = pairs.map(|(values, &index)| values.get(index)).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        self.template.expand(self.header, &values, candidates);
        // An odometer whose first wheel turns fastest.
        for (index, values) in indices.iter_mut().zip(&self.values) {
            *index += 1;
            if *index < values.count() {
                return Ok(true);
            }
            *index = 0;
        }
        self.next = None;
        Ok(true)
    }

    fn bytes(&self) -> u64 {
        self.lines.bytes()
    }
}
