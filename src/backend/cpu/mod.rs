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
mod decimal_rows;
mod digits;
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
pub(crate) mod secret;
mod short;
mod sqrt;
#[cfg(test)]
mod tests;
mod transform;

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
        Op::Add => (linear::add, Linear),
        Op::Sub => (linear::sub, Linear),
        Op::MulLo => (arithmetic::mul_lo, Quadratic),
        Op::MulWide => (arithmetic::mul_wide, Quadratic),
        Op::MulCyclic => (arithmetic::mul_cyclic, Quadratic),
        Op::SumOfProducts => (arithmetic::sum_of_products, Quadratic),
        Op::WideSumOfProducts => (arithmetic::wide_sum_of_products, Quadratic),
        Op::SquareLo => (arithmetic::square_lo, Quadratic),
        Op::DivRem => (arithmetic::div_rem, Quadratic),
        Op::DivExact => (arithmetic::div_exact, Quadratic),
        Op::InverseModPow2 => (arithmetic::inverse_mod_pow2, Quadratic),
        Op::ShiftedInverse => (arithmetic::shifted_inverse, Quadratic),
        Op::Prepare => (arithmetic::prepare, Quadratic),
        Op::DivRemBy => (arithmetic::div_rem_by, Quadratic),
        Op::MulMod => (arithmetic::mul_mod, Quadratic),
        Op::SquareMod => (arithmetic::square_mod, Quadratic),
        Op::PowMod => (arithmetic::pow_mod, Cubic),
        Op::PowSecret => (secret::pow_secret, Cubic),
        Op::MulAddSecret => (secret::mul_add_secret, Quadratic),
        Op::PowProductMod => (arithmetic::pow_product_mod, Cubic),
        Op::AddMod => (arithmetic::add_mod, Linear),
        Op::SubMod => (arithmetic::sub_mod, Linear),
        Op::NegMod => (arithmetic::neg_mod, Linear),
        Op::HalveMod => (arithmetic::halve_mod, Linear),
        Op::PrepareOdd => (arithmetic::prepare_odd, Quadratic),
        Op::MulResidues => (arithmetic::mul_residues, Quadratic),
        Op::SquareResidues => (arithmetic::square_residues, Quadratic),
        Op::Fold => (fold::fold, Linear),
        Op::PowSpecial => (fold::pow_special, Cubic),
        Op::PowFermat => (digits::pow_fermat, Cubic),
        Op::PowSpecialBase => (digits::pow_special_base, Cubic),
        Op::StrongBase2 => (primes::strong_base2, Cubic),
        Op::StrongTerms => (primes::strong_terms, Linear),
        Op::ExtraStrongTerms => (primes::extra_strong_terms, Linear),
        Op::StrongLucas => (primes::strong_lucas, Cubic),
        Op::DivRemDigit => (linear::div_rem_digit, Digit),
        Op::Shl => (linear::shl, Linear),
        Op::Shr => (linear::shr, Linear),
        Op::Cmp => (linear::cmp, Linear),
        Op::EqMask => (linear::eq_mask, Linear),
        Op::LtMask => (linear::lt_mask, Linear),
        Op::IsZeroMask => (linear::is_zero_mask, Linear),
        Op::BitLengths => (linear::bit_lengths, Linear),
        Op::CountOnes => (linear::count_ones, Linear),
        Op::TrailingZeros => (linear::trailing_zeros, Linear),
        Op::BitMask => (linear::bit_mask, Linear),
        Op::Bitwise => (linear::bitwise, Linear),
        Op::ShlRows => (linear::shl_rows, Linear),
        Op::ShrRows => (linear::shr_rows, Linear),
        Op::Gather => (linear::gather, Linear),
        Op::Lookup => (linear::lookup, Linear),
        Op::Select => (linear::select, Linear),
        Op::Resize => (linear::resize, Linear),
        Op::ToDecimal => (decimal_rows::to_decimal, Quadratic),
        Op::FromDecimal => (decimal_rows::from_decimal, Quadratic),
        Op::Gcd => (arithmetic::gcd, Euclid),
        Op::GcdWindowed => (arithmetic::gcd_windowed, Euclid),
        Op::HalfGcd => (arithmetic::half_gcd, Euclid),
        Op::InverseMod => (arithmetic::inverse_mod, Euclid),
        Op::InverseModWindowed => (arithmetic::inverse_mod_windowed, Euclid),
        Op::Jacobi => (arithmetic::jacobi, Euclid),
        Op::Rational => (arithmetic::rational, Euclid),
        Op::Isqrt => (arithmetic::isqrt, Quadratic),
        Op::RootDividend => (linear::root_dividend, Linear),
        Op::RootRemainder => (linear::root_remainder, Linear),
        Op::RootCorrect => (linear::root_correct, Linear),
        Op::CheckEquation => (checks::check_equation, Linear),
        Op::CheckDivRemBy => (checks::check_div_rem_by, Linear),
        Op::CheckEqual => (checks::check_equal, Linear),
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
