//! Cases of every operation: operands of launches, and the one oracle of their results.
//!
//! [`operands()`] draws the operands of one launch. [`expected`] computes its results from these
//! operands alone, so that it serves for operands from elsewhere too. [`check`] runs a kernel on a
//! [`Machine`] and compares. Operands and oracle know nothing of each other, and nothing of the
//! machine.
//!
//! A launch of an operation has a variant: its parameters, its broadcast operands, and the results
//! that are wanted. [`variants`] is their number, which a complete check runs through.

mod division;
mod euclid;
mod linear;
mod long;
mod modular;
mod primes;
mod products;
mod roots;
mod rows;
mod run;
mod sieves;
mod verify;

use gpuint::num_bigint::BigUint;
use gpuint::{Op, Shape};

use crate::launch::Operands;
use crate::operands::{self, Family, Sizes, low};
use crate::oracle;
use crate::random::Random;

pub use modular::secret_records;
pub use run::{Machine, Task, check, check_grids, wrong};

/// Condition of both results of a row.
pub type Condition = Box<dyn Fn([&BigUint; 2]) -> bool>;

/// Expected results of a row.
#[derive(Default)]
pub struct Expected {
    /// Results; `None` if the operation has none, or one that is not determined.
    pub results: [Option<BigUint>; 2],
    /// Bit of the mask; `None` if it is not determined.
    pub mark: Option<bool>,
    /// True if the row fails.
    pub fails: bool,
    /// Condition of results that are not unique.
    pub condition: Option<Condition>,
}

impl Expected {
    fn none() -> Self {
        Self { mark: Some(false), ..Self::default() }
    }

    fn value(value: BigUint) -> Self {
        Self { results: [Some(value), None], ..Self::none() }
    }

    fn values(first: BigUint, second: BigUint) -> Self {
        Self { results: [Some(first), Some(second)], ..Self::none() }
    }

    /// A row whose results satisfy a condition.
    fn such_that(condition: impl Fn([&BigUint; 2]) -> bool + 'static) -> Self {
        Self { condition: Some(Box::new(condition)), ..Self::none() }
    }

    fn marked(self, mark: bool) -> Self {
        Self { mark: Some(mark), ..self }
    }

    fn failing(self, fails: bool) -> Self {
        Self { fails, ..self }
    }
}

/// A value of one row of some bytes.
pub(crate) fn value_of(bytes: &[u8], row: usize, row_bytes: usize) -> BigUint {
    BigUint::from_bytes_le(&bytes[row * row_bytes..(row + 1) * row_bytes])
}

/// One row of the operands of a launch.
struct Row<'a> {
    shape: Shape,
    operands: &'a Operands,
    row: usize,
}

impl Row<'_> {
    fn bits(&self) -> usize {
        self.shape.bits
    }

    /// Value of an input whose rows have some bytes.
    fn input(&self, input: usize, row_bytes: usize) -> BigUint {
        value_of(&self.operands.inputs[input], self.row, row_bytes)
    }

    fn a(&self) -> BigUint {
        self.input(0, self.shape.bytes())
    }

    /// The second operand, which may be one for all rows.
    fn b(&self) -> BigUint {
        let params = &self.operands.params;
        let is_one = params.broadcast_rhs | params.broadcast_exponent != 0;
        value_of(&self.operands.inputs[1], if is_one { 0 } else { self.row }, self.shape.bytes())
    }

    fn c(&self) -> BigUint {
        self.input(2, self.shape.bytes())
    }

    /// Row of the third input or of the divisors.
    fn divisor_row(&self) -> usize {
        if self.operands.params.broadcast_divisor != 0 { 0 } else { self.row }
    }

    /// The divisor or the modulus.
    fn divisor(&self) -> BigUint {
        value_of(&self.operands.divisors, self.divisor_row(), self.shape.bytes())
    }

    /// A word of 64 bits of an input.
    fn word(&self, input: usize) -> u64 {
        let bytes = self.operands.inputs[input][8 * self.row..].first_chunk();
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// A number of 32 bits of some bytes.
    fn length(&self, bytes: &[u8]) -> u32 {
        bytes[4 * self.row..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// Bit of a mask among the inputs.
    fn bit(&self, input: usize) -> bool {
        self.operands.inputs[input][self.row / 8] >> (self.row % 8) & 1 == 1
    }

    /// Initial value of a result, whose rows have some bits.
    fn updated(&self, output: usize, bits: usize) -> BigUint {
        value_of(&self.operands.updated[output], self.row, bits / 8)
    }

    /// Factors of all products of a sum.
    fn pairs(&self) -> impl Iterator<Item = [BigUint; 2]> {
        let of = |factor: &Vec<u8>| value_of(factor, self.row, self.shape.bytes());
        self.operands.pairs.iter().map(move |pair| pair.each_ref().map(of))
    }
}

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
        Op::MulLo => Expected::value(oracle::mul(&x.a(), &x.b(), bits).0),
        Op::SquareLo => Expected::value(oracle::square(&x.a(), bits)),
        Op::MulCyclic => Expected::value(oracle::mul_cyclic(&x.a(), &x.b(), bits)),
        Op::MulWide => {
            let (lower, upper) = oracle::mul(&x.a(), &x.b(), bits);
            match params.joined {
                0 => Expected::values(lower, upper),
                _ => Expected::value(lower + (upper << bits)),
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
        Op::PowMod => Expected::value(oracle::pow_mod(&x.a(), &x.b(), &x.divisor())),
        Op::PowSecret => Expected::value(modular::secret_power(x)),
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
        Op::StrongBase2 => Expected::none().marked(crate::primes::is_strong(&x.a(), &2u32.into())),
        Op::StrongTerms => primes::term(x, false),
        Op::ExtraStrongTerms => primes::term(x, true),
        Op::StrongLucas => primes::lucas(x),
        Op::Gcd => Expected::value(oracle::gcd(&x.a(), &x.b())),
        Op::HalfGcd => {
            let (a, b) = (x.a(), x.b());
            Expected::such_that(move |[first, second]| {
                oracle::is_half_gcd(&a, &b, first, second, bits)
            })
        }
        Op::InverseMod => {
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

/// Draws the operands of one launch.
pub struct Draws<'a> {
    pub op: Op,
    pub shape: Shape,
    /// Rows of the launch.
    pub count: usize,
    pub variant: usize,
    /// True for machines on which the longest rows take minutes.
    pub is_slow: bool,
    pub random: &'a mut Random,
}

impl Draws<'_> {
    fn bits(&self) -> usize {
        self.shape.bits
    }

    /// Rows of some families, from a drawn place in their list on.
    fn rows(&mut self, families: &[Family]) -> Vec<operands::Row> {
        let (seed, start) = (self.random.word(), self.random.below(1 << 16));
        operands::rows(seed, families, self.sizes(), start..start + self.count)
    }

    fn sizes(&self) -> Sizes {
        self.shape.into()
    }

    /// A value of any kind and length, or of the full length, of at most `bits` bits.
    fn value(&mut self, bits: usize) -> BigUint {
        if bits == 0 {
            return BigUint::ZERO;
        }
        let word = self.shape.digit.bits();
        let digits = bits.div_ceil(word);
        let length = match self.random.below(4) {
            0 | 1 => bits,
            2 => 1 + self.random.below(bits),
            _ => bits.min(word * (1 + self.random.below(digits))),
        };
        let random = Random::new(self.random.word());
        operands::Draw::new(random, self.sizes()).value(length)
    }

    /// A value of [`value`](Self::value) that is not 0.
    fn positive(&mut self, bits: usize) -> BigUint {
        let value = self.value(bits);
        if value == BigUint::ZERO { 1u32.into() } else { value }
    }

    /// Bytes of integers of the shape.
    fn column<'b>(&self, values: impl IntoIterator<Item = &'b BigUint>) -> Vec<u8> {
        crate::launch::bytes_of(values.into_iter(), self.bits())
    }

    /// A launch with these inputs and `results` integers of the shape as results.
    fn launch(&self, inputs: [Vec<u8>; 3], results: usize) -> Operands {
        let mut outputs = [0; 2];
        outputs[..results].fill(self.count * self.shape.bytes());
        Operands { inputs, outputs, rows: self.count, ..Operands::default() }
    }

    /// A launch on the first numbers of some rows.
    fn unary(&self, rows: &[operands::Row], results: usize) -> Operands {
        self.launch([self.column(rows.iter().map(|row| &row.a)), vec![], vec![]], results)
    }

    /// A launch on both numbers of some rows.
    fn binary(&self, rows: &[operands::Row], results: usize) -> Operands {
        let second = self.column(rows.iter().map(|row| &row.b));
        let Operands { inputs: [first, ..], .. } = self.unary(rows, 0);
        self.launch([first, second, vec![]], results)
    }

    /// Makes the first row of the second operand that of all rows if `is_one`.
    fn broadcast_rhs(&self, mut operands: Operands, is_one: bool) -> Operands {
        if is_one {
            operands.params.broadcast_rhs = 1;
            operands.inputs[1].truncate(self.shape.bytes());
        }
        operands
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
        Op::MulWide | Op::AddMod | Op::SubMod | Op::PowSecret | Op::PowProductMod => 4,
        Op::SumOfProducts => products::counts(is_slow).len(),
        Op::WideSumOfProducts => 2 * products::counts(is_slow).len(),
        Op::DivRemDigit => 2 * division::DIGITS,
        Op::ShiftedInverse => division::exponents(shape).len(),
        Op::DivRemBy | Op::CheckDivRemBy | Op::CheckEqual => 6,
        Op::MulMod | Op::SquareMod | Op::NegMod | Op::HalveMod => 2,
        Op::PowMod if is_slow && modular::has_long_powers(shape) => 2,
        Op::PowMod => 4,
        Op::SquareResidues | Op::Fold | Op::RootRemainder | Op::RootCorrect => 2,
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
        | Op::HalfGcd
        | Op::InverseMod
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
        | Op::PowProductMod
        | Op::AddMod
        | Op::SubMod
        | Op::NegMod
        | Op::HalveMod
        | Op::PrepareOdd
        | Op::MulResidues
        | Op::SquareResidues
        | Op::Fold => modular::operands(draws),
        Op::StrongBase2 | Op::StrongTerms | Op::ExtraStrongTerms | Op::StrongLucas => {
            primes::operands(draws)
        }
        Op::Gcd | Op::HalfGcd | Op::InverseMod | Op::Jacobi | Op::Rational => {
            euclid::operands(draws)
        }
        Op::Isqrt | Op::RootDividend | Op::RootRemainder | Op::RootCorrect => {
            roots::operands(draws)
        }
        Op::CheckEquation | Op::CheckDivRemBy | Op::CheckEqual => verify::operands(draws),
    }
}
