//! Checks of the results of other operations: the right ones pass, and harmed rows are reported.

use std::collections::BTreeSet;

use gpuint::Op;
use gpuint::num_bigint::BigUint;
use gpuint_catalogue::Equation::{self, *};

use super::division::{divided_by, divisible};
use super::draws::Draws;
use super::row::{Expected, Row};
use crate::launch::Operands;
use crate::operands::{DIVISIONS, PRODUCTS, ROOTS, SUMS, low, ones, power};
use crate::oracle;

/// The equations, in the order of their numbers.
pub(super) const EQUATIONS: [Equation; 7] =
    [Sum, Difference, Product, Quotient, MaskedQuotient, Root, DigitQuotient];
/// Right results; a flipped bit of two of the first results, of the second ones, of the mask; a
/// quotient or root that is one too small.
pub(super) const HARMS: usize = 5;
/// Bits of the prime of the check, `2^61 - 1`.
const PRIME_BITS: usize = 61;
/// The divisor of `DigitQuotient`.
const DIGIT: u64 = 0xfedc_ba98_7654_3211;

pub(super) fn equation(x: &Row<'_>) -> Expected {
    let (bits, params) = (x.bits(), &x.operands.params);
    let (a, b, c) = (x.a(), x.b(), x.updated(0, bits));
    let d = if x.operands.outputs[1] == 0 { BigUint::ZERO } else { x.updated(1, bits) };
    let bit = || if x.bit(2) { power(bits) } else { BigUint::ZERO };
    let is_right = match params.equation {
        Sum => &a + &b == &c + bit(),
        Difference => &a + bit() == &b + &c,
        Product => &a * &b == &c + (&d << bits),
        MaskedQuotient if x.bit(2) != (b == BigUint::ZERO) => false,
        Quotient | MaskedQuotient if b == BigUint::ZERO => c == ones(bits) && d == a,
        Quotient | MaskedQuotient => oracle::is_division(&a, &b, &c, &d),
        Root => a == &c * &c + &d && d <= &c << 1,
        DigitQuotient => oracle::is_division(&a, &params.digit.into(), &c, &x.word(2).into()),
    };
    let expected =
        if x.operands.outputs[1] == 0 { Expected::value(c) } else { Expected::values(c, d) };
    expected.failing(!is_right)
}

pub(super) fn operands(draws: &mut Draws<'_>) -> Operands {
    let variant = draws.variant;
    match draws.op {
        Op::CheckEquation => equations(draws, EQUATIONS[variant / HARMS], variant % HARMS),
        Op::CheckDivRemBy => {
            let is_one = variant % 2 == 1;
            let rows = divisible(draws, is_one);
            let results = rows.iter().map(|row| oracle::div_rem(&row.a, &row.b));
            let (mut q, mut r): (Vec<_>, Vec<_>) = results.unzip();
            match variant / 2 {
                0 => {}
                1 => flip_two(draws, &mut q),
                _ => flip_two(draws, &mut r),
            }
            let launch = with_results(draws.unary(&rows, 2), [&q, &r], draws);
            divided_by(launch, rows.iter().map(|row| &row.b), is_one, draws)
        }
        // Rows of any number of bytes, one of which differs.
        _ => {
            let rows = draws.rows(SUMS);
            let bytes = draws.column(rows.iter().map(|row| &row.a));
            let row_bytes = [1, 2, draws.shape.bytes()][variant / 2];
            let mut launch = draws.launch([bytes.clone(), bytes, vec![]], 0);
            if variant % 2 == 1 {
                let at = draws.random.below(launch.inputs[1].len());
                launch.inputs[1][at] ^= 1 << draws.random.below(8);
            }
            launch.rows = launch.inputs[0].len() / row_bytes;
            launch.params.source_bits = 8 * row_bytes as u32;
            launch
        }
    }
}

/// Makes some numbers the results that a launch reads.
fn with_results(mut launch: Operands, results: [&[BigUint]; 2], draws: &Draws<'_>) -> Operands {
    for (output, results) in results.into_iter().enumerate() {
        if launch.outputs[output] > 0 {
            launch.updated[output] = draws.column(results);
        }
    }
    launch
}

/// Flips a bit of one or two rows. A check may miss two flipped bits of one row.
fn flip_two(draws: &mut Draws<'_>, numbers: &mut [BigUint]) {
    let rows = [0, 1].map(|_| draws.random.below(numbers.len()));
    for row in BTreeSet::from(rows) {
        let bit = draws.random.below(draws.bits()) as u64;
        let is_set = numbers[row].bit(bit);
        numbers[row].set_bit(bit, !is_set);
    }
}

fn equations(draws: &mut Draws<'_>, equation: Equation, harm: usize) -> Operands {
    let bits = draws.bits();
    let mut rows = draws.rows(match equation {
        Sum | Difference => SUMS,
        Product => PRODUCTS,
        Quotient | MaskedQuotient | DigitQuotient => DIVISIONS,
        Root => ROOTS,
    });
    let most = (bits / PRIME_BITS).min(10);
    if matches!(equation, Quotient | MaskedQuotient) && most > 0 {
        // Multiples of the prime.
        for row in rows.iter_mut().skip(1).step_by(4) {
            row.b = ones(PRIME_BITS * (1 + draws.random.below(most)));
        }
    }
    let count = rows.len();
    let mut marks = vec![0; 4 * count.div_ceil(32)];
    let (mut words, mut c, mut d) = (Vec::new(), Vec::new(), Vec::new());
    for (index, row) in rows.iter().enumerate() {
        let (a, b) = (&row.a, &row.b);
        let (first, second, is_marked) = match equation {
            Sum | Difference => {
                let oracle = if equation == Sum { oracle::add } else { oracle::sub };
                let (result, carry) = oracle(a, b, bits);
                (result, BigUint::ZERO, carry)
            }
            Product => {
                let (lower, upper) = oracle::mul(a, b, bits);
                (lower, upper, false)
            }
            Quotient | MaskedQuotient => oracle::div_rem_masked(a, b, bits),
            Root => {
                let root = oracle::isqrt(a);
                let rest = a - &root * &root;
                (root, rest, false)
            }
            DigitQuotient => {
                let (q, r) = oracle::div_rem(a, &DIGIT.into());
                words.push(r.iter_u64_digits().next().unwrap_or(0));
                (q, BigUint::ZERO, false)
            }
        };
        marks[index / 8] |= u8::from(is_marked) << (index % 8);
        c.push(first);
        d.push(second);
    }
    let zero = rows.iter().position(|row| row.b == BigUint::ZERO);
    let has_two = matches!(equation, Product | Quotient | MaskedQuotient | Root);
    let has_marks = matches!(equation, Sum | Difference | MaskedQuotient);
    let harmed = draws.random.below(count);
    match harm {
        0 => {}
        2 if has_two => flip_two(draws, &mut d),
        3 if has_marks => marks[harmed / 8] ^= 1 << (harmed % 8),
        4 if equation == DigitQuotient => {
            // A remainder that is too large, beside a quotient that is one too small.
            if c[harmed] != BigUint::ZERO
                && let Some(rest) = words[harmed].checked_add(DIGIT)
            {
                words[harmed] = rest;
                c[harmed] -= 1u32;
            }
        }
        4 if has_two && equation != Product => {
            let b = std::mem::take(&mut rows[harmed].b);
            if c[harmed] != BigUint::ZERO && (equation == Root || b != BigUint::ZERO) {
                c[harmed] -= 1u32;
                let more = if equation == Root { (&c[harmed] << 1) + 1u32 } else { b.clone() };
                let rest = &d[harmed] + more;
                d[harmed] = low(rest, bits);
            }
            rows[harmed].b = b;
        }
        _ => flip_two(draws, &mut c),
    }
    let launch = draws.binary(&rows, if has_two { 2 } else { 1 });
    let mut launch = with_results(launch, [&c, &d], draws);
    launch.inputs[2] = match equation {
        DigitQuotient => words.into_iter().flat_map(u64::to_le_bytes).collect(),
        _ => marks,
    };
    launch.params.equation = equation;
    launch.params.digit = match equation {
        DigitQuotient => DIGIT,
        Quotient => zero.map_or(u64::MAX, |row| row as u64),
        _ => 0,
    };
    launch
}
