//! The table of cases: for each operation its variants, its operands and its oracle.

use gpuint::num_bigint::BigUint;
use gpuint::{Op, Shape};

use super::draws::Draws;
use super::row::{Expected, Row};
use super::{decimal, division, euclid, linear, modular, primes, products, roots, rows, verify};
use crate::launch::Operands;
use crate::operands::{self, low};
use crate::oracle;

/// Expected results of the rows of a launch.
#[must_use]
pub fn expected(op: Op, shape: Shape, operands: &Operands) -> Vec<Expected> {
    (0..operands.rows).map(|row| expected_row(op, &Row { shape, operands, row })).collect()
}

/// The oracle: results of one row.
fn expected_row(op: Op, x: &Row<'_>) -> Expected {
    let bits = x.bits();
    let params = &x.operands.params;
    match op {
        Op::Add => {
            let (sum, carry) = oracle::add(&x.a(), &x.b(), bits);
            Expected::value(sum).marked(carry)
        }
        Op::Sub => {
            let (difference, borrow) = oracle::sub(&x.a(), &x.b(), bits);
            Expected::value(difference).marked(borrow)
        }
        Op::Shl => Expected::value(oracle::shl(&x.a(), params.distance as usize, bits)),
        Op::Shr => Expected::value(oracle::shr(&x.a(), params.distance as usize)),
        Op::Cmp => Expected::value(linear::byte(oracle::cmp(&x.a(), &x.b()) as i8)),
        Op::EqMask => Expected::none().marked(oracle::cmp(&x.a(), &x.b()).is_eq()),
        Op::LtMask => Expected::none().marked(oracle::cmp(&x.a(), &x.b()).is_lt()),
        Op::IsZeroMask => Expected::none().marked(x.a() == BigUint::ZERO),
        Op::BitLengths => Expected::value(oracle::bits(&x.a()).into()),
        Op::CountOnes => Expected::value(oracle::count_ones(&x.a()).into()),
        Op::TrailingZeros => {
            Expected::value(oracle::trailing_zeros(&x.a()).unwrap_or(bits as u64).into())
        }
        Op::BitMask => Expected::none().marked(x.a().bit(params.distance.into())),
        Op::Bitwise => Expected::value(linear::bitwise(&x.a(), &x.b(), params.table, bits)),
        Op::ShlRows => {
            let distance = x.length(&x.operands.inputs[1]) as usize;
            Expected::value(oracle::shl(&x.a(), distance, bits))
        }
        Op::ShrRows => {
            let distance = x.length(&x.operands.inputs[1]) as usize;
            Expected::value(oracle::shr(&x.a(), distance))
        }
        Op::Gather => Expected::value(rows::gathered(x)),
        Op::Lookup => Expected::value(rows::looked_up(x)),
        Op::Select => Expected::value(if x.bit(2) { x.a() } else { x.b() }),
        Op::Resize => {
            let (a, target) = (x.a(), params.target_bits as usize);
            let is_wide = a.bits() > target as u64;
            Expected::value(low(a, target)).failing(is_wide)
        }
        Op::ToDecimal => Expected::value(decimal::written(x)),
        Op::FromDecimal => decimal::read(x),
        Op::MulLo => Expected::value(oracle::mul(&x.a(), &x.b(), bits).0),
        Op::SquareLo => Expected::value(oracle::square(&x.a(), bits)),
        Op::MulCyclic => Expected::value(oracle::mul_cyclic(&x.a(), &x.b(), bits)),
        Op::MulWide => {
            let (lower, upper) = oracle::mul(&x.a(), &x.b(), bits);
            match params.joined {
                false => Expected::values(lower, upper),
                true => Expected::value(lower + (upper << bits)),
            }
        }
        Op::SumOfProducts => products::sum(x, bits),
        Op::WideSumOfProducts => products::sum(x, 2 * bits),
        Op::DivRem => {
            let (q, r, is_undefined) = oracle::div_rem_masked(&x.a(), &x.b(), bits);
            Expected::values(q, r).marked(is_undefined).failing(is_undefined)
        }
        Op::DivRemDigit => {
            let (q, r) = oracle::div_rem(&x.a(), &params.digit.into());
            Expected::values(q, r)
        }
        Op::DivExact => division::exact(x),
        Op::InverseModPow2 => {
            let inverse = oracle::inverse_mod(&x.a(), &operands::power(bits));
            let is_even = inverse.is_none();
            Expected::value(inverse.unwrap_or_default()).marked(is_even)
        }
        Op::ShiftedInverse => division::shifted_inverse(x),
        Op::Prepare => division::record(x),
        Op::DivRemBy => {
            let (q, r) = oracle::div_rem(&x.a(), &x.divisor());
            Expected::values(q, r)
        }
        Op::MulMod => Expected::value(oracle::mul_mod(&x.a(), &x.b(), &x.divisor())),
        Op::SquareMod => Expected::value(oracle::mul_mod(&x.a(), &x.a(), &x.divisor())),
        Op::PowSecret => Expected::value(modular::secret_power(x)),
        Op::MulAddSecret => Expected::value(modular::secret_sum(x)),
        Op::PowMod => Expected::value(oracle::pow_mod(&x.a(), &x.b(), &x.divisor())),
        Op::PowProductMod => Expected::value(modular::product_of_powers(x)),
        Op::AddMod => Expected::value(oracle::add_mod(&x.a(), &x.b(), &x.divisor())),
        Op::SubMod => Expected::value(oracle::sub_mod(&x.a(), &x.b(), &x.divisor())),
        Op::NegMod => Expected::value(oracle::sub_mod(&BigUint::ZERO, &x.a(), &x.divisor())),
        Op::HalveMod => {
            let (a, v) = (x.a(), x.divisor());
            Expected::value(if a.bit(0) { a + v } else { a } >> 1)
        }
        Op::PrepareOdd => modular::odd_record(x),
        Op::MulResidues => Expected::value(modular::reduced(&(x.a() * x.b()), x)),
        Op::SquareResidues => Expected::value(modular::reduced(&(x.a() * x.a()), x)),
        Op::Fold => Expected::value(modular::folded(x)),
        Op::PowSpecial => Expected::value(modular::special_power(x)),
        Op::PowSpecialBase | Op::PowFermat => modular::power_of_digits(x),
        Op::StrongBase2 => Expected::none().marked(crate::primes::is_strong(&x.a(), &2u32.into())),
        Op::StrongTerms => primes::term(x, false),
        Op::ExtraStrongTerms => primes::term(x, true),
        Op::StrongLucas => primes::lucas(x),
        Op::Gcd | Op::GcdWindowed => Expected::value(oracle::gcd(&x.a(), &x.b())),
        Op::HalfGcd => {
            let (a, b) = (x.a(), x.b());
            Expected::such_that(move |[first, second]| {
                oracle::is_half_gcd(&a, &b, first, second, bits)
            })
        }
        Op::InverseMod | Op::InverseModWindowed => {
            let inverse = oracle::inverse_mod(&x.a(), &x.b());
            let is_none = inverse.is_none();
            Expected::value(inverse.unwrap_or_default()).marked(is_none)
        }
        Op::Jacobi => Expected::value(linear::byte(oracle::kronecker(&x.a(), &x.b()))),
        Op::Rational => {
            let (n, d, is_negative) = oracle::remainder_of(&x.a(), &x.b(), &x.c());
            Expected::values(n, d).marked(is_negative)
        }
        Op::Isqrt => {
            let a = x.a();
            let root = oracle::isqrt(&a);
            let rest = a - &root * &root;
            Expected::values(root, rest)
        }
        Op::RootDividend => Expected::value(roots::dividend(x)),
        Op::RootRemainder => roots::remainder(x),
        Op::RootCorrect => roots::corrected(x),
        Op::CheckEquation => verify::equation(x),
        Op::CheckDivRemBy => {
            let [q, r] = [0, 1].map(|output| x.updated(output, bits));
            let is_right = oracle::is_division(&x.a(), &x.divisor(), &q, &r);
            Expected::values(q, r).failing(!is_right)
        }
        Op::CheckEqual => {
            let row_bytes = params.source_bits as usize / 8;
            Expected::none().failing(x.input(0, row_bytes) != x.input(1, row_bytes))
        }
    }
}

/// Number of variants of the launches of an operation at a shape.
#[must_use]
pub fn variants(op: Op, shape: Shape, is_slow: bool) -> usize {
    match op {
        Op::Add | Op::Sub | Op::DivExact | Op::DivRem | Op::MulResidues => 3,
        Op::Shl | Op::Shr => linear::distances(shape).len(),
        Op::BitMask => linear::places(shape).len(),
        Op::Bitwise => 15,
        Op::Cmp | Op::EqMask | Op::LtMask | Op::Gather | Op::Isqrt => 2,
        Op::Lookup => rows::tables(shape),
        Op::Resize => rows::targets(shape).len(),
        Op::MulWide
        | Op::AddMod
        | Op::SubMod
        | Op::PowSecret
        | Op::MulAddSecret
        | Op::PowProductMod => 4,
        Op::SumOfProducts => products::counts(is_slow).len(),
        Op::WideSumOfProducts => 2 * products::counts(is_slow).len(),
        Op::DivRemDigit => 2 * division::DIGITS,
        Op::ShiftedInverse => division::exponents(shape).len(),
        Op::DivRemBy | Op::CheckDivRemBy | Op::CheckEqual => 6,
        Op::ToDecimal | Op::FromDecimal => decimal::places(shape).len(),
        Op::MulMod | Op::SquareMod | Op::NegMod | Op::HalveMod => 2,
        Op::PowMod if is_slow && modular::has_long_powers(shape) => 2,
        Op::PowMod => 4,
        Op::SquareResidues
        | Op::Fold
        | Op::PowSpecial
        | Op::PowSpecialBase
        | Op::PowFermat
        | Op::RootRemainder
        | Op::RootCorrect => 2,
        Op::CheckEquation => verify::EQUATIONS.len() * verify::HARMS,
        Op::IsZeroMask
        | Op::BitLengths
        | Op::CountOnes
        | Op::TrailingZeros
        | Op::ShlRows
        | Op::ShrRows
        | Op::Select
        | Op::MulLo
        | Op::SquareLo
        | Op::MulCyclic
        | Op::InverseModPow2
        | Op::Prepare
        | Op::PrepareOdd
        | Op::StrongBase2
        | Op::StrongTerms
        | Op::ExtraStrongTerms
        | Op::StrongLucas
        | Op::Gcd
        | Op::GcdWindowed
        | Op::HalfGcd
        | Op::InverseMod
        | Op::InverseModWindowed
        | Op::Jacobi
        | Op::Rational
        | Op::RootDividend => 1,
    }
}

/// Draws the operands of one launch.
#[must_use]
pub fn operands(draws: &mut Draws<'_>) -> Operands {
    match draws.op {
        Op::Add
        | Op::Sub
        | Op::Shl
        | Op::Shr
        | Op::Cmp
        | Op::EqMask
        | Op::LtMask
        | Op::IsZeroMask
        | Op::BitLengths
        | Op::CountOnes
        | Op::TrailingZeros
        | Op::BitMask
        | Op::Bitwise => linear::operands(draws),
        Op::ShlRows | Op::ShrRows | Op::Gather | Op::Lookup | Op::Select | Op::Resize => {
            rows::operands(draws)
        }
        Op::ToDecimal | Op::FromDecimal => decimal::operands(draws),
        Op::MulLo
        | Op::MulWide
        | Op::SquareLo
        | Op::MulCyclic
        | Op::SumOfProducts
        | Op::WideSumOfProducts => products::operands(draws),
        Op::DivRem
        | Op::DivExact
        | Op::DivRemDigit
        | Op::InverseModPow2
        | Op::ShiftedInverse
        | Op::Prepare
        | Op::DivRemBy => division::operands(draws),
        Op::MulMod
        | Op::SquareMod
        | Op::PowMod
        | Op::PowSecret
        | Op::MulAddSecret
        | Op::PowProductMod
        | Op::AddMod
        | Op::SubMod
        | Op::NegMod
        | Op::HalveMod
        | Op::PrepareOdd
        | Op::MulResidues
        | Op::SquareResidues
        | Op::Fold
        | Op::PowSpecial
        | Op::PowSpecialBase
        | Op::PowFermat => modular::operands(draws),
        Op::StrongBase2 | Op::StrongTerms | Op::ExtraStrongTerms | Op::StrongLucas => {
            primes::operands(draws)
        }
        Op::Gcd
        | Op::GcdWindowed
        | Op::HalfGcd
        | Op::InverseMod
        | Op::InverseModWindowed
        | Op::Jacobi
        | Op::Rational => euclid::operands(draws),
        Op::Isqrt | Op::RootDividend | Op::RootRemainder | Op::RootCorrect => {
            roots::operands(draws)
        }
        Op::CheckEquation | Op::CheckDivRemBy | Op::CheckEqual => verify::operands(draws),
    }
}
