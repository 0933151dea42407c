//! The CPU: loops over the limbs of rows in place, distributed over threads.
//!
//! `rows` cuts a call into rows of limbs. `linear` and `arithmetic` have a function for each
//! operation, over the integers of `limbs`, `product`, `division`, `prepared`, `residues`, `euclid`
//! and `sqrt`. `fold` reduces modulo special moduli. `checks` evaluates the equations of results.
//! `euclid` reduces pairs by the matrices of `half_gcd`, and `jacobi` follows them. `integers`
//! reduces single integers of any length, `decimal` writes and reads them, and `root` has roots of
//! any degree. With the feature `gmp`, products, divisions, powers, greatest common divisors,
//! inverses and symbols use the GMP of the host, if it has one.

mod arithmetic;
mod checks;
pub(crate) mod decimal;
mod division;
mod euclid;
mod fold;
#[cfg(feature = "gmp")]
mod gmp;
mod half_gcd;
pub(crate) mod integers;
mod jacobi;
mod limbs;
mod linear;
mod prepared;
mod primes;
mod product;
mod residues;
pub(crate) mod root;
mod rows;
mod sqrt;
#[cfg(test)]
mod tests;

use gpuint_catalogue::Op;

use crate::backend::host::host_memory_methods;
use crate::backend::{Backend, BackendKind, Buffer, Call};
use crate::error::Result;
use crate::threads;

use limbs::LEAF_WORK;
use rows::{Failed, Rows};

/// The CPU.
#[derive(Debug)]
pub(crate) struct Cpu;

/// Growth of the time of an operation with the number of limbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cost {
    Linear,
    /// A division for each limb.
    Digit,
    Quadratic,
    /// Quadratic, by steps that are longer than a product of limbs.
    Euclid,
    Cubic,
}

impl Cost {
    /// Rows of `limbs` limbs that one thread computes at least.
    fn leaf(self, limbs: usize) -> usize {
        let work = match self {
            Self::Linear => limbs.saturating_mul(2),
            Self::Digit => limbs.saturating_mul(16),
            Self::Quadratic => limbs.saturating_pow(2),
            Self::Euclid => limbs.saturating_pow(2).saturating_mul(16),
            Self::Cubic => limbs.saturating_pow(3).saturating_mul(64),
        };
        LEAF_WORK / work.max(1)
    }
}

/// The function of an operation, and its cost.
fn function(op: Op) -> (fn(Rows<'_>) -> Result<Failed>, Cost) {
    use Cost::{Cubic, Digit, Euclid, Linear, Quadratic};
    match op {
        Op::Add => (linear::sum, Linear),
        Op::Sub => (linear::difference, Linear),
        Op::MulLo => (arithmetic::low_product, Quadratic),
        Op::MulWide => (arithmetic::wide_product, Quadratic),
        Op::MulCyclic => (arithmetic::cyclic_product, Quadratic),
        Op::SumOfProducts => (arithmetic::low_product_of_sum, Quadratic),
        Op::WideSumOfProducts => (arithmetic::wide_product_of_sum, Quadratic),
        Op::SquareLo => (arithmetic::low_square, Quadratic),
        Op::DivRem => (arithmetic::quotient, Quadratic),
        Op::DivExact => (arithmetic::exact_quotient, Quadratic),
        Op::InverseModPow2 => (arithmetic::inverse_mod_power_of_two, Quadratic),
        Op::ShiftedInverse => (arithmetic::shifted_inverse, Quadratic),
        Op::Prepare => (arithmetic::prepare, Quadratic),
        Op::DivRemBy => (arithmetic::quotient_by_prepared, Quadratic),
        Op::MulMod => (arithmetic::modular_product, Quadratic),
        Op::SquareMod => (arithmetic::modular_square, Quadratic),
        Op::PowMod => (arithmetic::power, Cubic),
        Op::PowProductMod => (arithmetic::power_product, Cubic),
        Op::AddMod => (arithmetic::modular_sum, Linear),
        Op::SubMod => (arithmetic::modular_difference, Linear),
        Op::NegMod => (arithmetic::modular_negative, Linear),
        Op::HalveMod => (arithmetic::modular_half, Linear),
        Op::PrepareOdd => (arithmetic::prepare_odd, Quadratic),
        Op::MulResidues => (arithmetic::residue_product, Quadratic),
        Op::SquareResidues => (arithmetic::residue_square, Quadratic),
        Op::Fold => (fold::fold, Linear),
        Op::StrongBase2 => (primes::strong, Cubic),
        Op::StrongTerms => (primes::strong_terms, Linear),
        Op::ExtraStrongTerms => (primes::extra_strong_terms, Linear),
        Op::StrongLucas => (primes::lucas, Cubic),
        Op::DivRemDigit => (linear::digit_quotient, Digit),
        Op::Shl => (linear::left, Linear),
        Op::Shr => (linear::right, Linear),
        Op::Cmp => (linear::order, Linear),
        Op::EqMask => (linear::equal, Linear),
        Op::LtMask => (linear::less, Linear),
        Op::IsZeroMask => (linear::zero, Linear),
        Op::BitLengths => (linear::lengths, Linear),
        Op::CountOnes => (linear::ones, Linear),
        Op::TrailingZeros => (linear::zeros_below, Linear),
        Op::BitMask => (linear::bits, Linear),
        Op::Bitwise => (linear::bitwise, Linear),
        Op::ShlRows => (linear::left_by_rows, Linear),
        Op::ShrRows => (linear::right_by_rows, Linear),
        Op::Gather => (linear::gather, Linear),
        Op::Lookup => (linear::lookup, Linear),
        Op::Select => (linear::select, Linear),
        Op::Resize => (linear::resize, Linear),
        Op::Gcd => (arithmetic::common_divisor, Euclid),
        Op::HalfGcd => (arithmetic::half_gcd, Euclid),
        Op::InverseMod => (arithmetic::inverse, Euclid),
        Op::Jacobi => (arithmetic::symbol, Euclid),
        Op::Rational => (arithmetic::fraction, Euclid),
        Op::Isqrt => (arithmetic::root, Quadratic),
        Op::RootDividend => (linear::root_dividend, Linear),
        Op::RootRemainder => (linear::root_remainder, Linear),
        Op::RootCorrect => (linear::root_correct, Linear),
        Op::CheckEquation => (checks::equation, Linear),
        Op::CheckDivRemBy => (checks::quotient_by_prepared, Linear),
        Op::CheckEqual => (checks::equality, Linear),
    }
}

impl Backend for Cpu {
    fn kind(&self) -> BackendKind {
        BackendKind::Cpu
    }

    fn describe(&self) -> String {
        let threads = match threads::count() {
            1 => "1 thread".to_owned(),
            threads => format!("{threads} threads"),
        };
        #[cfg(feature = "gmp")]
        if let Some(gmp) = gmp::gmp() {
            return format!("{threads}, GMP {}", gmp.version);
        }
        threads
    }

    host_memory_methods!();

    fn has_long_rows(&self) -> bool {
        true
    }

    fn launch(&self, call: Call<'_>) -> Result<()> {
        let (function, cost) = function(call.kernel.op());
        let limbs = call.kernel.shape().bytes().div_ceil(size_of::<u64>());
        rows::run(call, function, cost.leaf(limbs))
    }
}
