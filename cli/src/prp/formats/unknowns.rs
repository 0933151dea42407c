//! Files of unknowns of prime-gap searches.
//!
//! A search for gaps around m P#/D sieves an interval around each m, and writes the distances that
//! it leaves: `m : -3 +2 | -6 -10 -28 | +4 +18` for three below and two above. Run lengths have two
//! characters a distance, the quotient and the remainder of its difference from the one before by
//! 128, both from `0` on: `m : -3 +2 | 06040B | 040>`. P, D and the range
//! of m are in the name of the file, `P_D_START_COUNT_sLENGTH_lLIMITM.txt`. The first number of a
//! line is m, or its distance from START: the first line shows which, as it belongs to the first m
//! of the range that is coprime to D.

use num_integer::Integer;

use super::super::candidate::{Candidate, CandidateError};
use super::super::lines::{Line, LineReader, has_unknowns};
use super::source::{Source, SourceError, next_line};
use super::template::Template;

/// A file of unknowns.
pub(crate) struct Unknowns<'a> {
    lines: LineReader<'a>,
    first: Option<Line>,
    name: Name,
    /// m of a line is its first number plus this.
    shift: u64,
    last: u64,
}

/// Numbers of a file's name.
#[derive(Debug, Clone, Copy)]
struct Name {
    p: u64,
    d: u64,
    start: u64,
    count: u64,
}

impl Name {
    fn parse(name: &str) -> Option<Self> {
        let mut fields = name.split('_');
        let mut number = || fields.next()?.parse::<u64>().ok();
        let name = Self { p: number()?, d: number()?, start: number()?, count: number()? };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
        let length = fields.next()?.strip_prefix('s')?;
        let (limit, _) = fields.next()?.strip_prefix('l')?.split_once('M')?;
        let is_valid = is_number(length) && is_number(limit) && fields.next().is_none();
        (is_valid && name.p > 1 && name.d > 0).then_some(name)
    }

    /// The first m of the range that is coprime to D.
    fn first(self) -> Option<u64> {
        let end = self.start.checked_add(self.count)?;
        (self.start..end).find(|m| m.gcd(&self.d) == 1)
    }
}

impl<'a> Unknowns<'a> {
    /// Returns true if a line starts as one of unknowns: `m : -`.
    pub(crate) fn is_entry(text: &str) -> bool {
        has_unknowns(text.as_bytes())
    }

    pub(crate) fn new(lines: LineReader<'a>, first: Line, name: &str) -> Result<Self, SourceError> {
        let fail = |reason: String| SourceError::header(first.number, 1, reason);
        let parsed = Name::parse(name).ok_or_else(|| {
            fail(format!(
                "unknowns of a prime-gap search need a file named \
                 P_D_START_COUNT_sLENGTH_lLIMITM.txt, not {name:?}"
            ))
        })?;
        let number = first.text.trim().split(' ').next().and_then(|it| it.parse::<u64>().ok());
        let shift = match (number, parsed.first()) {
            (Some(number), Some(first)) if number == first => 0,
            (Some(number), Some(first)) if number == first - parsed.start => parsed.start,
            (_, expected) => {
                return Err(fail(format!(
                    "the first line belongs to no m = {}, the first of the range in the file's \
                     name, {name:?}",
                    expected.map_or("?".to_owned(), |m| m.to_string())
                )));
            }
        };
        let last = first.number;
        Ok(Self { lines, first: Some(first), name: parsed, shift, last })
    }

    fn expand(&self, line: &Line, candidates: &mut Vec<Candidate>) -> Result<(), CandidateError> {
        if let Some(fault) = line.fault {
            return Err(fault.into());
        }
        let text = &line.text[..];
        let fail = |at: &str, reason| {
            let column = at.as_ptr() as usize - text.as_ptr() as usize + 1;
            CandidateError::Unknowns { column, reason }
        };
        let expected = "expected m : -COUNT +COUNT | -DISTANCES | +DISTANCES";
        let (head, rest) = text.split_once('|').ok_or_else(|| fail(text, expected))?;
        let head: Vec<&str> = head.split_whitespace().collect();
        let counts = |word: &str, sign| word.strip_prefix(sign)?.parse::<usize>().ok();
        let [number, ":", low, high] = head[..] else {
            return Err(fail(text, "expected m : -COUNT +COUNT"));
        };
        let m = number.parse::<u64>().ok().and_then(|number| number.checked_add(self.shift));
        let end = self.name.start.saturating_add(self.name.count);
        let m = m.filter(|m| (self.name.start..end).contains(m));
        let m = m.ok_or_else(|| fail(number, "m is not in the range of the file's name"))?;
        let count = |word, sign| counts(word, sign).ok_or_else(|| fail(word, "expected a count"));
        let counts = [count(low, '-')?, count(high, '+')?];
        let Name { p, d, .. } = self.name;
        let mut push = |sign: char, distance: u64| {
            let text = format!("{m}*{p}#/{d}{sign}{distance}");
            candidates.push(Candidate::new(line.number, text));
        };
        if let Some(runs) = Runs::of(rest, counts) {
            for (sign, characters) in [('-', runs.below), ('+', runs.above)] {
                let mut distance = 0;
                for pair in characters.chunks_exact(2) {
                    let difference = 128 * run(pair[0]) + run(pair[1]);
                    if difference == 0 {
                        return Err(fail(rest, "a run length is 0"));
                    }
                    distance += difference;
                    push(sign, distance);
                }
            }
            return Ok(());
        }
        let parts = rest.split_once('|').filter(|(_, above)| !above.contains('|'));
        let (below, above) = parts.ok_or_else(|| fail(text, expected))?;
        for (part, sign, expected) in [(below, '-', counts[0]), (above, '+', counts[1])] {
            let mut found = 0;
            for word in part.split_whitespace() {
                let distance = word.strip_prefix(sign).and_then(|digits| digits.parse().ok());
                let distance: u64 = distance.filter(|&distance| distance > 0).ok_or_else(|| {
                    fail(word, "expected a distance with its sign, or two characters a distance")
                })?;
                push(sign, distance);
                found += 1;
            }
            if found != expected {
                return Err(fail(part, "the number of distances differs from the count"));
            }
        }
        Ok(())
    }
}

/// Characters of run lengths, two a distance.
struct Runs {
    below: Vec<char>,
    above: Vec<char>,
}

impl Runs {
    /// Returns the characters of a line behind its counts; `None` for distances with signs.
    fn of(rest: &str, counts: [usize; 2]) -> Option<Self> {
        let [low, high] = counts.map(|count| count.checked_mul(2));
        let mut below: Vec<char> = rest.strip_prefix(' ')?.chars().collect();
        if below.len() != low?.checked_add(3)?.checked_add(high?)? {
            return None;
        }
        let rest = below.split_off(low?);
        let above = rest.strip_prefix(&[' ', '|', ' '])?.to_vec();
        let is_run = |character: &char| ('0'..='\u{af}').contains(character);
        below.iter().chain(&above).all(is_run).then_some(Self { below, above })
    }
}

/// Value of a character of a run length.
fn run(character: char) -> u64 {
    u64::from(character) - u64::from('0')
}

impl Source for Unknowns<'_> {
    fn next(&mut self, candidates: &mut Vec<Candidate>) -> Result<bool, SourceError> {
        let line = match self.first.take() {
            Some(line) => line,
            None => match next_line(&mut self.lines, &mut self.last)? {
                Some(line) => line,
                None => return Ok(false),
            },
        };
        let start = candidates.len();
        if let Err(fault) = self.expand(&line, candidates) {
            candidates.truncate(start);
            Template::reject(line.number, &line.text, fault, candidates);
        }
        Ok(true)
    }

    fn bytes(&self) -> u64 {
        self.lines.bytes()
    }
}
