//! Forms that many candidates share: `k t / d + c`, with a power, factorial or primorial t.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::syntax::{At, Expression, Operator};

/// The large part t of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Large {
    Power {
        base: u64,
        exponent: u64,
    },
    /// n (n - step) ...
    Factorial {
        n: u64,
        step: u64,
    },
    Primorial {
        n: u64,
    },
}

/// The value `k t / d + c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    pub k: u64,
    pub large: Large,
    /// The product is divisible by it.
    pub divisor: u64,
    pub c: i64,
}

impl Form {
    /// Returns the form of an expression that is written as one.
    pub fn of(expression: &Expression) -> Option<Self> {
        let Expression::Sum(terms) = expression else { return Self::of_product(expression) };
        let mut form: Option<Self> = None;
        let mut c = 0i64;
        for term in terms {
            match small(&term.value) {
                Some(value) if term.is_subtracted => c = c.checked_sub(value)?,
                Some(value) => c = c.checked_add(value)?,
                None if term.is_subtracted || form.is_some() => return None,
                None => form = Some(Self::of_product(&term.value)?),
            }
        }
        form.map(|form| Self { c, ..form })
    }

    /// Returns the form of a text without blanks: k*b^n/d+c, k*n!/d+c or k*n#/d+c with decimal
    /// numbers, of which k, d and c may be missing. It is that of the text's expression, which need
    /// not be made.
    pub fn scan(text: &str) -> Option<Self> {
        let mut rest = text.as_bytes();
        let mut operand = number(&mut rest)?;
        let mut k = 1;
        if skip(&mut rest, b'*') {
            k = std::mem::replace(&mut operand, number(&mut rest)?);
        }
        let (&operator, after) = rest.split_first()?;
        rest = after;
        let large = match operator {
            b'^' => Large::Power { base: operand, exponent: number(&mut rest)? },
            b'!' => Large::Factorial { n: operand, step: 1 },
            b'#' => Large::Primorial { n: operand },
            _ => return None,
        };
        let mut divisor = 1;
        if skip(&mut rest, b'/') {
            divisor = number(&mut rest).filter(|&divisor| divisor > 0)?;
        }
        let mut c = 0;
        if let Some((&sign @ (b'+' | b'-'), after)) = rest.split_first() {
            rest = after;
            c = i64::try_from(number(&mut rest)?).ok()?;
            c = if sign == b'-' { -c } else { c };
        }
        rest.is_empty().then_some(Self { k, large, divisor, c })
    }

    /// Returns true if the value surely exceeds 2^64: t >= 2^130, and k, d and c have 64 bits.
    pub fn is_large(self) -> bool {
        self.k > 0
            && match self.large {
                Large::Power { base, exponent } => {
                    let bits = base.checked_ilog2().unwrap_or(0);
                    u64::from(bits).saturating_mul(exponent) >= 130
                }
                // At least 64!.
                Large::Factorial { n, step } => n / step >= 64,
                // 127# > 2^160.
                Large::Primorial { n } => n >= 127,
            }
    }

    fn of_product(expression: &Expression) -> Option<Self> {
        let Expression::Product(first, operands) = expression else {
            let large = Large::of(expression)?;
            return Some(Self { k: 1, large, divisor: 1, c: 0 });
        };
        let (mut k, mut divisor, mut large) = (1u64, 1u64, None);
        let factors = operands.iter().map(|operand| (operand.operator, &operand.value.value));
        for (operator, value) in [(Operator::Multiply, &**first)].into_iter().chain(factors) {
            match (operator, unsigned(value)) {
                // A quotient before the large part need not be exact.
                (Operator::Multiply, Some(value)) if divisor == 1 => k = k.checked_mul(value)?,
                (Operator::Divide, Some(value)) if value > 0 => {
                    large?;
                    divisor = divisor.checked_mul(value)?;
                }
                (Operator::Multiply, None) if large.is_none() && divisor == 1 => {
                    large = Some(Large::of(value)?);
                }
                _ => return None,
            }
        }
        Some(Self { k, large: large?, divisor, c: 0 })
    }
}

impl Large {
    /// The expression of this form.
    pub fn expression(self) -> Expression {
        let number = |n: u64| Expression::Number(n.into());
        let at = |value| At { column: 1, value };
        match self {
            Self::Power { base, exponent } => {
                Expression::Power(Box::new(number(base)), vec![at(number(exponent))])
            }
            Self::Factorial { n, step } => {
                Expression::Factorial { of: Box::new(at(number(n))), step }
            }
            Self::Primorial { n } => Expression::Primorial(Box::new(at(number(n)))),
        }
    }

    fn of(expression: &Expression) -> Option<Self> {
        match expression {
            Expression::Power(base, exponents) => {
                let [exponent] = &exponents[..] else { return None };
                let (base, exponent) = (unsigned(base)?, unsigned(&exponent.value)?);
                Some(Self::Power { base, exponent })
            }
            Expression::Factorial { of, step } => {
                Some(Self::Factorial { n: unsigned(&of.value)?, step: *step })
            }
            Expression::Primorial(of) => Some(Self::Primorial { n: unsigned(&of.value)? }),
            _ => None,
        }
    }
}

/// Reads the digits of a number of 64 bits.
fn number(text: &mut &[u8]) -> Option<u64> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(length);
    *text = rest;
    let push =
        |number: u64, digit: &u8| number.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
    if digits.is_empty() { None } else { digits.iter().try_fold(0, push) }
}

/// Skips a byte; returns false if the text starts with another one.
fn skip(text: &mut &[u8], byte: u8) -> bool {
    let rest = text.strip_prefix(&[byte]);
    *text = rest.unwrap_or(text);
    rest.is_some()
}

fn unsigned(expression: &Expression) -> Option<u64> {
    match expression {
        Expression::Number(number) => number.to_u64(),
        _ => u64::try_from(small(expression)?).ok(),
    }
}

/// The value of a sum of small numbers.
fn small(expression: &Expression) -> Option<i64> {
    match expression {
        Expression::Number(number) => BigInt::from(number.clone()).to_i64(),
        Expression::Negative(value) => small(value)?.checked_neg(),
        Expression::Sum(terms) => terms.iter().try_fold(0i64, |sum, term| {
            let value = small(&term.value)?;
            if term.is_subtracted { sum.checked_sub(value) } else { sum.checked_add(value) }
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scanned_forms_are_those_of_expressions() {
        let numbers = ["0", "1", "007", "13", "9223372036854775808", "18446744073709551615"];
        let larges = ["2^100", "10^7", "0^0", "77!", "0!", "127#"];
        let mut count = 0;
        for large in larges {
            let factors = numbers.iter().map(|k| format!("{k}*{large}")).chain([large.to_owned()]);
            let quotients = |product: String| {
                let divided = numbers.map(|d| format!("{product}/{d}"));
                divided.into_iter().chain([product])
            };
            for quotient in factors.flat_map(quotients) {
                let sums = numbers.iter().flat_map(|c| ["+", "-"].map(|sign| format!("{sign}{c}")));
                for sum in sums.chain([String::new()]) {
                    let text = format!("{quotient}{sum}");
                    let expected = Form::of(&Expression::parse(&text, 1000).unwrap());
                    assert_eq!(Form::scan(&text), expected, "{text}");
                    count += usize::from(expected.is_some());
                }
            }
        }
        assert_eq!(count, 6 * 7 * 6 * 9);
    }

    #[test]
    fn other_texts_are_not_scanned() {
        let texts = [
            "",
            "7",
            "2*3*5^7",
            "5^7*2",
            "2^3^4",
            "2^3!",
            "7!!",
            "7!2+1",
            "0x10^5",
            "2^0x10",
            "3/5^7",
            "-2^7",
            "(2)^7",
            "2 ^7",
            "2^7+1 ",
            "2^7+1+1",
            "2^7%5",
            "18446744073709551616*2^7",
            "2^",
            "^7",
            "*2^7",
            "2^7+",
            "2^7/",
            "2^7/2/2",
            "2^7+2*3",
        ];
        for text in texts {
            assert_eq!(Form::scan(text), None, "{text}");
        }
    }
}
