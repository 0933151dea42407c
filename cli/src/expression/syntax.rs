//! The grammar of expressions, with the precedence of OpenPFGW.
//!
//! ```text
//! sum     = product (("+" | "-") product)*
//! product = signed (("*" | "/" | "%") signed)*
//! signed  = "-" signed | power
//! power   = postfix ("^" postfix)*         from left to right: 2^3^4 = (2^3)^4
//! postfix = primary ("!" digits? | "#")?
//! primary = digits | "0x" hexadecimal digits | "(" sum ")"
//! ```
//!
//! `n!k` is the multifactorial n (n - k) (n - 2k) ..., and `n#` the product of the primes up to n.
//! Blanks separate tokens and have no meaning. Expressions that programs read in different ways are
//! errors: `2^3!`, `7!!`.

use num_bigint::BigUint;
use winnow::error::{ErrMode, ParserError};
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Location, Stateful};
use winnow::token::{any, literal, take_while};

use crate::job::digits::Radix;

/// Maximum depth of parentheses and signs, so that the stack suffices.
const DEEPEST: usize = 100;

/// A parsed expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expression {
    Number(BigUint),
    Negative(Box<Expression>),
    /// Terms that are added or subtracted; the first one is added.
    Sum(Vec<Term>),
    /// A factor, and operands that follow it.
    Product(Box<Expression>, Vec<Operand>),
    /// A base, and exponents that are applied one after the other.
    Power(Box<Expression>, Vec<At<Expression>>),
    /// The factors n, n - step, n - 2 step, ...
    Factorial {
        of: Box<At<Expression>>,
        step: u64,
    },
    Primorial(Box<At<Expression>>),
}

/// A term of a sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    pub is_subtracted: bool,
    pub value: Expression,
}

/// A right operand of a product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operand {
    pub operator: Operator,
    pub value: At<Expression>,
}

/// An operator of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Multiply,
    Divide,
    Remainder,
}

/// A value and the column of its operator, counted from 1 in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At<T> {
    pub column: usize,
    pub value: T,
}

/// Reason why a text is not an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {reason}")]
pub struct SyntaxError {
    pub column: usize,
    pub reason: Reason,
}

/// Kind of a [`SyntaxError`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("expected a number or \"(\", found {0}")]
    NoNumber(Found),
    #[error("expected an operator or the end, found {0}")]
    NoOperator(Found),
    #[error("expected \")\", found {0}")]
    NoParenthesis(Found),
    #[error("expected hexadecimal digits after 0x, found {0}")]
    NoDigits(Found),
    #[error("the number has more than {limit} bits")]
    TooLong { limit: usize },
    #[error("{0} after a power has two meanings; write (a^b){0} or a^(b{0})")]
    AfterPower(char),
    #[error("{first}{second} has two meanings; write (n{first}){second}, or n!2 for n (n-2) ...")]
    Twice { first: char, second: char },
    #[error("the step of a multifactorial is a number from 1 to 2^64 - 1")]
    Step,
    #[error("more than {DEEPEST} parentheses and signs inside each other")]
    Depth,
}

/// Unexpected text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Found {
    #[error("{0:?}")]
    Character(char),
    #[error("the end")]
    End,
}

impl SyntaxError {
    /// Moves the column, for a text that starts `columns` after the first one of its line.
    pub fn shifted(self, columns: usize) -> Self {
        Self { column: self.column + columns, ..self }
    }
}

type Input<'t> = Stateful<LocatingSlice<&'t str>, State>;
/// State of the parser at a position.
#[derive(Debug, Clone, Copy)]
struct State {
    /// Parentheses and signs around the current position.
    depth: usize,
    /// Maximum number of bits of a number.
    limit: usize,
}

type Parsed<T> = Result<T, ErrMode<SyntaxError>>;

impl<'t> ParserError<Input<'t>> for SyntaxError {
    type Inner = Self;

    fn from_input(input: &Input<'t>) -> Self {
        Self { column: column(input), reason: Reason::NoOperator(found(input)) }
    }

    fn into_inner(self) -> Result<Self, Self> {
        Ok(self)
    }
}

impl Expression {
    /// Parses a text whose numbers have at most about `limit` bits.
    ///
    /// # Errors
    /// [`SyntaxError`] with the column of the first character that does not fit.
    pub fn parse(text: &str, limit: usize) -> Result<Self, SyntaxError> {
        let state = State { depth: 0, limit };
        let mut input = Stateful { input: LocatingSlice::new(text), state };
        match sum(&mut input) {
            Ok(expression) if input.is_empty() => Ok(expression),
            Ok(_) => Err(SyntaxError::from_input(&input)),
            Err(ErrMode::Backtrack(error) | ErrMode::Cut(error)) => Err(error),
            Err(ErrMode::Incomplete(_)) => Err(SyntaxError::from_input(&input)),
        }
    }
}

fn sum(input: &mut Input<'_>) -> Parsed<Expression> {
    let first = product(input)?;
    let mut terms = Vec::new();
    while let Some(operator) = operator(input, ['+', '-'])? {
        let value = product(input)?;
        terms.push(Term { is_subtracted: operator.value == '-', value });
    }
    if terms.is_empty() {
        return Ok(first);
    }
    terms.insert(0, Term { is_subtracted: false, value: first });
    Ok(Expression::Sum(terms))
}

fn product(input: &mut Input<'_>) -> Parsed<Expression> {
    let first = signed(input)?;
    let mut operands = Vec::new();
    while let Some(At { column, value }) = operator(input, ['*', '/', '%'])? {
        let operator = match value {
            '*' => Operator::Multiply,
            '/' => Operator::Divide,
            _ => Operator::Remainder,
        };
        operands.push(Operand { operator, value: At { column, value: signed(input)? } });
    }
    Ok(match operands.is_empty() {
        true => first,
        false => Expression::Product(Box::new(first), operands),
    })
}

fn signed(input: &mut Input<'_>) -> Parsed<Expression> {
    if operator(input, ['-'])?.is_none() {
        return power(input);
    }
    let value = deeper(input, signed)?;
    Ok(Expression::Negative(Box::new(value)))
}

fn power(input: &mut Input<'_>) -> Parsed<Expression> {
    let (base, _) = postfix(input)?;
    let mut exponents = Vec::new();
    while let Some(At { column, .. }) = operator(input, ['^'])? {
        let (value, sign) = postfix(input)?;
        if let Some(At { column, value: sign }) = sign {
            return fail(column, Reason::AfterPower(sign));
        }
        exponents.push(At { column, value });
    }
    Ok(match exponents.is_empty() {
        true => base,
        false => Expression::Power(Box::new(base), exponents),
    })
}

/// Parses a number or parentheses, and the sign that may follow: `!` or `#`.
fn postfix(input: &mut Input<'_>) -> Parsed<(Expression, Option<At<char>>)> {
    let value = primary(input)?;
    let Some(sign) = operator(input, ['!', '#'])? else { return Ok((value, None)) };
    let of = Box::new(At { column: sign.column, value });
    let expression = match sign.value {
        '!' => Expression::Factorial { of, step: step(input)? },
        _ => Expression::Primorial(of),
    };
    if let Some(At { column, value: second }) = operator(input, ['!', '#'])? {
        return fail(column, Reason::Twice { first: sign.value, second });
    }
    Ok((expression, Some(sign)))
}

/// The digits that follow `!` at once; 1 without digits.
fn step(input: &mut Input<'_>) -> Parsed<u64> {
    let start = column(input);
    let digits: &str = take_while(0.., |c: char| c.is_ascii_digit()).parse_next(input)?;
    if digits.is_empty() {
        return Ok(1);
    }
    match digits.parse() {
        Ok(step) if step > 0 => Ok(step),
        _ => fail(start, Reason::Step),
    }
}

fn primary(input: &mut Input<'_>) -> Parsed<Expression> {
    blanks(input)?;
    if literal::<_, _, ErrMode<SyntaxError>>("(").parse_next(input).is_ok() {
        let inner = deeper(input, sum)?;
        blanks(input)?;
        if literal::<_, _, ErrMode<SyntaxError>>(")").parse_next(input).is_err() {
            return fail(column(input), Reason::NoParenthesis(found(input)));
        }
        return Ok(inner);
    }
    let start = column(input);
    let digits: &str = take_while(0.., |c: char| c.is_ascii_digit()).parse_next(input)?;
    let (radix, digits) = if digits == "0" && input.starts_with(['x', 'X']) {
        any.parse_next(input)?;
        let digits = take_while(0.., |c: char| c.is_ascii_hexdigit()).parse_next(input)?;
        (Radix::Hexadecimal, digits)
    } else {
        (Radix::Decimal, digits)
    };
    if digits.is_empty() {
        let found = found(input);
        let reason = match radix {
            Radix::Decimal => Reason::NoNumber(found),
            Radix::Hexadecimal => Reason::NoDigits(found),
        };
        return fail(column(input), reason);
    }
    let digits = digits.trim_start_matches('0');
    if radix.surely_wider(digits.len(), input.state.limit) {
        return fail(start, Reason::TooLong { limit: input.state.limit });
    }
    // Zero has no digit left.
    Ok(Expression::Number(radix.parse(digits.as_bytes()).unwrap_or_default()))
}

/// Parses by `inner`, one level deeper.
fn deeper<'t>(
    input: &mut Input<'t>,
    inner: fn(&mut Input<'t>) -> Parsed<Expression>,
) -> Parsed<Expression> {
    if input.state.depth == DEEPEST {
        return fail(column(input), Reason::Depth);
    }
    input.state.depth += 1;
    let value = inner(input)?;
    input.state.depth -= 1;
    Ok(value)
}

/// Parses one of the operators after blanks.
fn operator<const N: usize>(
    input: &mut Input<'_>,
    operators: [char; N],
) -> Parsed<Option<At<char>>> {
    blanks(input)?;
    let column = column(input);
    if !input.starts_with(operators) {
        return Ok(None);
    }
    let value = any.parse_next(input)?;
    Ok(Some(At { column, value }))
}

fn blanks(input: &mut Input<'_>) -> Parsed<()> {
    take_while(0.., [' ', '\t']).void().parse_next(input)
}

fn column(input: &Input<'_>) -> usize {
    input.current_token_start() + 1
}

fn found(input: &Input<'_>) -> Found {
    input.chars().next().map_or(Found::End, Found::Character)
}

fn fail<T>(column: usize, reason: Reason) -> Parsed<T> {
    Err(ErrMode::Cut(SyntaxError { column, reason }))
}
