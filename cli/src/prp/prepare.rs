//! Parses, sieves and evaluates candidates.
//!
//! Candidates of a form `k t / d + c` share sieves if they differ in k only, in the exponent of
//! t = b^n only, or in c only. A candidate belongs to the largest of its families in the block.

use gpuint::sieve::{self, Exponents, Progression};
use gpuint::{threads, widths};
use num_bigint::{BigInt, BigUint};
use num_traits::ToPrimitive;
use rayon::prelude::*;

use super::candidate::{Candidate, CandidateError};
use super::verdict::Verdict;
use crate::expression::form::{Form, Large};
use crate::expression::syntax::Expression;
use crate::expression::value::Evaluator;

/// Candidates that have a sieve of their own, at least.
const FEWEST: usize = 16;
/// Primes by which candidates without a family are divided are below this.
const MAX_TRIALS: u64 = 1 << 16;

/// A candidate with its result or its way there.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) candidate: Candidate,
    pub(crate) state: State,
}

#[derive(Debug)]
pub(crate) enum State {
    Decided(Verdict),
    Parsed {
        /// `None` for a text whose form was scanned: most of them are sieved out.
        expression: Option<Box<Expression>>,
        form: Option<Form>,
        /// True if the candidate was sieved with others.
        is_sieved: bool,
    },
    Number(BigUint),
}

impl Row {
    /// The result, if there is one.
    pub(crate) fn verdict(&self) -> Option<&Verdict> {
        match &self.state {
            State::Decided(verdict) => Some(verdict),
            State::Parsed { .. } | State::Number(_) => None,
        }
    }

    /// Parses a candidate.
    fn parse(mut candidate: Candidate, widest: usize) -> Self {
        let state = match (candidate.recorded, candidate.fault.take()) {
            (Some(is_prime), _) => State::Decided(Verdict::Recorded { is_prime }),
            (None, Some(fault)) => State::Decided(Verdict::Rejected(*fault)),
            (None, None) => match Form::scan(&candidate.text) {
                None => match expression(&candidate, widest) {
                    Ok(expression) => {
                        let form = Form::of(&expression);
                        State::Parsed { expression: Some(expression), form, is_sieved: false }
                    }
                    Err(fault) => State::Decided(Verdict::Rejected(fault)),
                },
                form => State::Parsed { expression: None, form, is_sieved: false },
            },
        };
        Self { candidate, state }
    }

    /// Evaluates a parsed candidate.
    fn evaluate(&mut self, evaluator: &mut Evaluator, widest: usize) {
        let State::Parsed { expression: parsed, .. } = &mut self.state else { return };
        let parsed = parsed.take().map_or_else(|| expression(&self.candidate, widest), Ok);
        let shift = self.candidate.shift();
        let evaluated = parsed.and_then(|expression| {
            evaluator.evaluate(&expression).map_err(|error| error.shifted(shift).into())
        });
        self.state = match evaluated {
            Err(fault) => State::Decided(Verdict::Rejected(fault)),
            Ok(number) if number.bits() > widest as u64 => {
                let fault = CandidateError::TooWide { bits: number.bits(), widest };
                State::Decided(Verdict::Rejected(fault))
            }
            Ok(number) => match number.to_u64() {
                Some(0 | 1) => State::Decided(Verdict::Unit),
                Some(2) => State::Decided(Verdict::Prime { number }),
                _ if !number.bit(0) => State::Decided(Verdict::Factor(2)),
                _ => State::Number(number),
            },
        };
    }
}

/// Parses the text of a candidate.
fn expression(candidate: &Candidate, widest: usize) -> Result<Box<Expression>, CandidateError> {
    let parsed = Expression::parse(&candidate.text, intermediate(widest));
    parsed.map(Box::new).map_err(|error| error.shifted(candidate.shift()).into())
}

/// Maximum bits of intermediate values: numerators of quotients, arguments of differences.
fn intermediate(widest: usize) -> usize {
    2 * widest
}

/// Width of the widest shape of the build.
pub(crate) fn widest() -> usize {
    widths().last().map_or(0, |shape| shape.bits)
}

/// Parses the candidates of a block, and sieves them by the primes below `limit`.
///
/// # Errors
/// [`Interrupted`](gpuint::Error::Interrupted).
pub(crate) fn parse_and_sieve(candidates: Vec<Candidate>, limit: u64) -> gpuint::Result<Vec<Row>> {
    let widest = widest();
    let mut rows: Vec<Row> = threads::install(|| {
        candidates.into_par_iter().map(|candidate| Row::parse(candidate, widest)).collect()
    });
    if limit > 2 {
        for (family, members) in families(&rows) {
            family.sieve(&mut rows, &members, limit)?;
        }
    }
    Ok(rows)
}

/// Evaluates the rows that are not decided; those without a family are divided by small primes.
///
/// # Errors
/// [`Interrupted`](gpuint::Error::Interrupted).
pub(crate) fn evaluate(rows: &mut [Row], limit: u64) -> gpuint::Result<()> {
    let widest = widest();
    let is_divided: Vec<bool> = rows
        .iter()
        .map(|row| matches!(row.state, State::Parsed { is_sieved: false, .. }) && limit > 2)
        .collect();
    threads::install(|| {
        rows.par_iter_mut().for_each_init(
            || Evaluator::new(intermediate(widest) as u64),
            |evaluator, row| row.evaluate(evaluator, widest),
        );
    });
    let mut divided = Vec::new();
    let mut numbers = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        if let (true, State::Number(number)) = (is_divided[index], &row.state) {
            divided.push(index);
            numbers.push(number.clone());
        }
    }
    if numbers.is_empty() {
        return Ok(());
    }
    let factors = sieve::smallest_factors(&numbers, limit.min(MAX_TRIALS) as u32)?;
    for (index, factor) in divided.into_iter().zip(factors) {
        rows[index].record(factor);
    }
    Ok(())
}

impl Row {
    /// Records the smallest factor; 0 for none.
    fn record(&mut self, factor: u64) {
        if factor > 0 {
            self.state = State::Decided(Verdict::Factor(factor));
        }
    }
}

/// Candidates that one sieve serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Family {
    /// k t / d + c, with different k.
    Multiples { large: Large, divisor: u64, c: i64 },
    /// k t / d + c, with different c.
    Distances { k: u64, large: Large, divisor: u64 },
    /// k b^n + c, with different n.
    Exponents { k: u64, base: u64, c: i64 },
}

impl Family {
    /// The families of a form.
    fn of(form: Form) -> impl Iterator<Item = Self> {
        let Form { k, large, divisor, c } = form;
        let exponents = match large {
            Large::Power { base, .. } if divisor == 1 => Some(Self::Exponents { k, base, c }),
            _ => None,
        };
        let multiples = Self::Multiples { large, divisor, c };
        [multiples, Self::Distances { k, large, divisor }].into_iter().chain(exponents)
    }

    /// Sieves the members.
    fn sieve(self, rows: &mut [Row], members: &[usize], limit: u64) -> gpuint::Result<()> {
        // A number of each member.
        let of = |number: &(dyn Fn(Form) -> u64 + Sync)| -> Vec<u64> {
            let forms = members.par_iter().filter_map(|&index| rows[index].form());
            threads::install(|| forms.map(number).collect())
        };
        let k = |form: Form| form.k;
        let mut evaluator = Evaluator::new(intermediate(widest()) as u64);
        let factors = match self {
            Self::Multiples { large: Large::Power { base, exponent }, divisor: 1, c } => {
                Progression::of_power(base, exponent, c).smallest_factors(&of(&k), limit)?
            }
            Self::Multiples { large, divisor, c } => {
                // Rows whose quotient is not exact are found when they are evaluated.
                let Some(factor) = quotient(&mut evaluator, 1, large, divisor) else {
                    return Ok(());
                };
                Progression::new(factor, c).smallest_factors(&of(&k), limit)?
            }
            Self::Distances { k, large, divisor } => {
                let Some(centre) = quotient(&mut evaluator, k, large, divisor) else {
                    return Ok(());
                };
                let forms = members.iter().filter_map(|&index| rows[index].form());
                let least = forms.map(|form| form.c).min().unwrap_or(0);
                let terms = of(&|form| form.c.abs_diff(least));
                let first = BigInt::from(centre) + least;
                Progression::new(BigUint::from(1u32), first).smallest_factors(&terms, limit)?
            }
            Self::Exponents { k, base, c } => {
                let exponents = of(&|form| match form.large {
                    Large::Power { exponent, .. } => exponent,
                    Large::Factorial { n, .. } | Large::Primorial { n } => n,
                });
                Exponents::new(k, base, c).smallest_factors(&exponents, limit)?
            }
        };
        for (&index, factor) in members.iter().zip(factors) {
            if let State::Parsed { is_sieved, .. } = &mut rows[index].state {
                *is_sieved = true;
            }
            rows[index].record(factor);
        }
        Ok(())
    }
}

impl Row {
    /// The form, if the value is surely positive and no prime of the sieve.
    fn form(&self) -> Option<Form> {
        match self.state {
            State::Parsed { form, .. } => form.filter(|form| form.is_large()),
            _ => None,
        }
    }
}

/// k t / d, if it is exact and not too large.
fn quotient(evaluator: &mut Evaluator, k: u64, large: Large, divisor: u64) -> Option<BigUint> {
    let number = evaluator.evaluate(&large.expression()).ok()? * k;
    (&number % divisor == BigUint::ZERO).then(|| number / divisor)
}

/// Returns the family that has all rows with a form: that of the last kind, if there are several.
fn common_family(rows: &[Row]) -> Option<Family> {
    let families = Family::of(rows.iter().find_map(Row::form)?);
    let is_common = |&(kind, family): &(usize, Family)| {
        let is_member = |form| Family::of(form).nth(kind) == Some(family);
        threads::install(|| rows.par_iter().all(|row| row.form().is_none_or(is_member)))
    };
    families.enumerate().filter(is_common).last().map(|(_, family)| family)
}

/// Returns families with enough members, and the indices of their rows.
///
/// For each kind of family, rows are sorted by their families of this kind: a map of all of them
/// would have two entries a row that no other row shares.
fn families(rows: &[Row]) -> Vec<(Family, Vec<usize>)> {
    if let Some(family) = common_family(rows) {
        let members = threads::install(|| {
            let rows = rows.par_iter().enumerate();
            rows.filter_map(|(index, row)| row.form().map(|_| index)).collect::<Vec<_>>()
        });
        return if members.len() < FEWEST { Vec::new() } else { vec![(family, members)] };
    }
    let forms: Vec<(usize, Form)> = threads::install(|| {
        let rows = rows.par_iter().enumerate();
        rows.filter_map(|(index, row)| Some((index, row.form()?))).collect()
    });
    let kinds = [0, 1, 2].map(|kind| {
        let family = |&(index, form)| Some((Family::of(form).nth(kind)?, index));
        threads::install(|| {
            let mut sorted: Vec<(Family, usize)> = forms.par_iter().filter_map(family).collect();
            sorted.par_sort_unstable();
            sorted
        })
    });
    let runs = |kind: usize| kinds[kind].chunk_by(|a, b| a.0 == b.0);
    // Members of the largest family of each row, and its kind.
    let mut largest = vec![(0, 0); rows.len()];
    for kind in 0..kinds.len() {
        for run in runs(kind) {
            for &(_, index) in run {
                largest[index] = largest[index].max((run.len(), kind));
            }
        }
    }
    let mut families = Vec::new();
    for kind in 0..kinds.len() {
        for run in runs(kind).filter(|run| run.len() >= FEWEST) {
            let indices = run.iter().map(|&(_, index)| index);
            let members: Vec<usize> = indices.filter(|&index| largest[index].1 == kind).collect();
            if let (Some(&(family, _)), false) = (run.first(), members.is_empty()) {
                families.push((family, members));
            }
        }
    }
    families
}
