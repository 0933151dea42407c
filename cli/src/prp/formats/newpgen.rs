//! Files of NewPGen: a header with colons, then lines `k n`.
//!
//! ```text
//! 1000000000:T:2:2:3
//! 33 100
//! ```
//!
//! The header is `LIMIT:TYPE:LENGTH:BASE:MASK`: the limit of the sieve, a letter for the numbers of
//! a line, the length of chains, the base b, and bits that repeat the type and modify it. A mask
//! that contradicts the type is an error, as are types without a meaning here. The mask may be
//! missing for the types P and M.
//!
//! | type | numbers of a line |
//! |---|---|
//! | P, M | k b^n + 1; k b^n - 1 |
//! | T | both, and with bits 0x80 and 0x800 also k b^n + 5 and + 7 |
//! | S, C | k b^n - 1 and 2 k b^n - 1; with + 1 |
//! | B, J, K | both of T and both or one of their doubles (- 1, + 1) |
//! | 1, 2, 3 | chains of LENGTH doubles with - 1, with + 1, with both |
//!
//! In place of doubles, the exponent grows by one, unless the mask has the bit 0x400. The bit 0x40
//! replaces b^n by the primorial n#; with 0x100, the numbers are k# 2^n + 1 or - 1. The bit 0x8000
//! gives b^n + k or b^n - k.

use super::super::candidate::{Candidate, CandidateError};
use super::super::lines::{Line, LineReader, Text};
use super::source::{Source, SourceError, next_line, next_lines};
use super::template::Template;

const PRIMORIAL: u32 = 0x40;
const PLUS_5: u32 = 0x80;
const FIXED_K: u32 = 0x100;
const DOUBLES: u32 = 0x400;
const PLUS_7: u32 = 0x800;
const PLUS_3: u32 = 0x1000;
const DUAL: u32 = 0x8000;
/// Bits of k b^n + 1, k b^n - 1, and of their first two doubles.
const TERMS: u32 = 0x3f;
const KNOWN: u32 = TERMS | PRIMORIAL | PLUS_5 | FIXED_K | DOUBLES | PLUS_7 | PLUS_3 | DUAL;

/// Longest chains of OpenPFGW.
const LONGEST_CHAIN: u32 = 5;

/// A file of NewPGen.
pub(crate) struct NewPGen<'a> {
    lines: LineReader<'a>,
    header: Header,
    last: u64,
}

/// Numbers of a line.
#[derive(Debug)]
struct Header {
    base: u64,
    mask: u32,
    terms: Vec<Term>,
}

/// The number `2^doublings k b^n + c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Term {
    doublings: i32,
    c: i32,
    /// Number of terms back to the one that must be a probable prime.
    needs: usize,
}

impl<'a> NewPGen<'a> {
    /// Returns true if a line starts as a header: digits and a colon.
    pub(crate) fn is_header(text: &str) -> bool {
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < text.len() && rest.starts_with(':')
    }

    pub(crate) fn new(lines: LineReader<'a>, header: &Line) -> Result<Self, SourceError> {
        Ok(Self { lines, header: Header::parse(header)?, last: header.number })
    }
}

impl Header {
    fn parse(line: &Line) -> Result<Self, SourceError> {
        let start = line.text.len() - line.text.trim_start().len();
        let fields: Vec<&str> = line.text.trim().split(':').collect();
        // The column of a field.
        let column = |index: usize| {
            start + fields[..index].iter().map(|field| field.len() + 1).sum::<usize>() + 1
        };
        let fail = |index: usize, reason: String| {
            SourceError::header(line.number, column(index.min(fields.len() - 1)), reason)
        };
        if !(4..=5).contains(&fields.len()) {
            let reason = "expected a header LIMIT:TYPE:LENGTH:BASE:MASK of NewPGen".to_owned();
            return Err(fail(0, reason));
        }
        let number = |index: usize, name: &str| {
            let parsed = fields[index].trim().parse::<u64>();
            parsed.map_err(|_| fail(index, format!("the {name} is no whole number of 64 bits")))
        };
        number(0, "limit")?;
        let length = u32::try_from(number(2, "length")?).unwrap_or(u32::MAX);
        let base = number(3, "base")?;
        let kind = fields[1].trim();
        let mask = match fields.len() {
            5 => u32::try_from(number(4, "mask")?).unwrap_or(u32::MAX),
            _ => match kind {
                "P" => 1,
                "M" => 2,
                _ => return Err(fail(3, format!("the type {kind:?} needs a mask"))),
            },
        };
        if base < 2 && mask & PRIMORIAL == 0 {
            return Err(fail(3, "the base is below 2".to_owned()));
        }
        if mask & !KNOWN != 0 {
            return Err(fail(4, format!("the mask {mask} has bits {:#x}", mask & !KNOWN)));
        }
        let is_chain = matches!(kind, "1" | "2" | "3");
        if is_chain && !(2..=LONGEST_CHAIN).contains(&length) {
            return Err(fail(2, format!("the length of a chain is from 2 to {LONGEST_CHAIN}")));
        }
        let mut terms = terms_of(kind, length)
            .ok_or_else(|| fail(1, format!("the type {kind:?} is not supported")))?;
        let expected = terms
            .iter()
            .fold(0, |bits, term| bits | (if term.c > 0 { 1 } else { 2 }) << (2 * term.doublings));
        if mask & TERMS != expected & TERMS {
            return Err(fail(
                4,
                format!(
                    "the type {kind:?} has the mask bits {:#x}, not {:#x}",
                    expected & TERMS,
                    mask & TERMS
                ),
            ));
        }
        let is_single = matches!(kind, "P" | "M");
        let extra = mask & (PLUS_5 | PLUS_7);
        let is_valid = match mask & (PLUS_3 | DUAL | FIXED_K) {
            PLUS_3 => kind == "P" && mask & PRIMORIAL == 0,
            DUAL => is_single && mask & PRIMORIAL == 0,
            FIXED_K => is_single || mask & PRIMORIAL == 0,
            0 => true,
            bits => bits == DUAL | FIXED_K && is_single && mask & PRIMORIAL == 0,
        };
        if !is_valid || extra != 0 && (kind != "T" || extra == PLUS_7) {
            return Err(fail(4, format!("the mask {mask:#x} has no meaning for type {kind:?}")));
        }
        if mask & PLUS_3 != 0 {
            terms.push(Term { doublings: 1, c: 3, needs: 1 });
        }
        for c in [5, 7].into_iter().take(extra.count_ones() as usize) {
            terms.push(Term { doublings: 0, c, needs: 1 });
        }
        if is_chain && mask & (DOUBLES | PRIMORIAL) == 0 {
            // Chains of exponents start one below.
            terms.iter_mut().for_each(|term| term.doublings -= 1);
        }
        Ok(Self { base, mask, terms })
    }

    /// Appends the candidates of a line.
    fn expand(&self, line: u64, k: u64, n: u64, candidates: &mut Vec<Candidate>) {
        for term in &self.terms {
            candidates.push(Candidate {
                needs: term.needs,
                ..Candidate::new(line, self.text(k, n, *term))
            });
        }
    }

    fn text(&self, k: u64, n: u64, term: Term) -> String {
        let Self { base, mask, .. } = *self;
        let Term { doublings, c, .. } = term;
        if mask & DUAL != 0 {
            return format!("{base}^{n}{}{k}", if c > 0 { '+' } else { '-' });
        }
        let factor = match doublings {
            1.. => format!("{}*", 1 << doublings),
            _ => String::new(),
        };
        if mask & (PRIMORIAL | FIXED_K) == PRIMORIAL | FIXED_K {
            return format!("{k}#*2^{n}{c:+}");
        }
        if mask & PRIMORIAL != 0 {
            let divisor = match mask & (PLUS_5 | PLUS_7) {
                0 => "",
                PLUS_5 => "/5",
                _ => "/35",
            };
            return format!("{factor}{k}*{n}#{divisor}{c:+}");
        }
        match doublings {
            0 => format!("{k}*{base}^{n}{c:+}"),
            _ if mask & (DOUBLES | PLUS_3) != 0 => format!("{factor}{k}*{base}^{n}{c:+}"),
            _ => format!("{k}*{base}^({n}{doublings:+}){c:+}"),
        }
    }
}

/// The numbers of a type; their order is that of the tests.
fn terms_of(kind: &str, length: u32) -> Option<Vec<Term>> {
    let term = |doublings: u32, c, needs| Term { doublings: doublings as i32, c, needs };
    let chain = |cs: &[i32]| {
        let all = (0..length).flat_map(|i| cs.iter().map(move |&c| (i, c)));
        all.enumerate().map(|(index, (i, c))| term(i, c, index.min(1))).collect()
    };
    Some(match kind {
        "P" => vec![term(0, 1, 0)],
        "M" => vec![term(0, -1, 0)],
        "T" => vec![term(0, 1, 0), term(0, -1, 1)],
        "S" => vec![term(0, -1, 0), term(1, -1, 1)],
        "C" => vec![term(0, 1, 0), term(1, 1, 1)],
        "B" => vec![term(0, 1, 0), term(0, -1, 1), term(1, 1, 1), term(1, -1, 1)],
        // The double needs the first number only.
        "J" => vec![term(0, -1, 0), term(0, 1, 1), term(1, -1, 2)],
        "K" => vec![term(0, 1, 0), term(0, -1, 1), term(1, 1, 2)],
        "1" => chain(&[-1]),
        "2" => chain(&[1]),
        "3" => chain(&[1, -1]),
        _ => return None,
    })
}

impl Source for NewPGen<'_> {
    fn next(&mut self, candidates: &mut Vec<Candidate>) -> Result<bool, SourceError> {
        let Self { lines, header, last } = self;
        let push = |line: Text<'_>, candidates: &mut Vec<Candidate>| header.push(line, candidates);
        if next_lines(lines, last, Some(b':'), candidates, push)? {
            return Ok(true);
        }
        let Some(line) = next_line(lines, last)? else { return Ok(false) };
        if line.fault.is_none() && Self::is_header(line.text.trim_start()) {
            *header = Header::parse(&line)?;
        } else {
            header.push(line.as_text(), candidates);
        }
        Ok(true)
    }

    fn bytes(&self) -> u64 {
        self.lines.bytes()
    }
}

impl Header {
    /// Appends the candidates of a line `k n`.
    fn push(&self, line: Text<'_>, candidates: &mut Vec<Candidate>) {
        let text = line.text;
        let fields: Vec<&str> = text.split_whitespace().collect();
        let parse = |word: &&str| {
            let column = word.as_ptr() as usize - text.as_ptr() as usize + 1;
            word.parse().map_err(|_| CandidateError::Number { column, text: (*word).to_owned() })
        };
        let numbers: Result<Vec<u64>, CandidateError> = fields.iter().map(parse).collect();
        let fault = match (line.fault, numbers) {
            (Some(fault), _) => fault.into(),
            (None, Err(fault)) => fault,
            (None, Ok(numbers)) => match numbers[..] {
                [k, n] => {
                    self.expand(line.number, k, n, candidates);
                    return;
                }
                _ => CandidateError::Values { expected: 2, found: numbers.len() },
            },
        };
        Template::reject(line.number, text, fault, candidates);
    }
}
