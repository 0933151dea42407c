//! Operations on batches.
#![allow(unsafe_code)]

use std::ffi::c_char;

use gpuint::DynBatch;

use crate::call::functions;
use crate::handle::{Batch, Divisor, Mask, get};
use crate::memory::{array, numbers};
use crate::status::{Failure, Result};

/// Passes pairs of batches to `function`.
///
/// # Safety
/// The arrays have `count` handles.
unsafe fn with_pairs<T>(
    a: *const *const Batch,
    b: *const *const Batch,
    count: usize,
    function: impl FnOnce(&[(&DynBatch, &DynBatch)]) -> gpuint::Result<T>,
) -> Result<T> {
    // SAFETY: the caller's.
    let a = unsafe { array(a, count, "a") }?;
    // SAFETY: the caller's.
    let b = unsafe { array(b, count, "b") }?;
    let pairs = a.iter().zip(b).map(|(&a, &b)| Ok((get(a, "a")?, get(b, "b")?)));
    let pairs = pairs.collect::<Result<Vec<_>>>()?;
    let pairs: Vec<_> = pairs.iter().map(|(a, b)| (&**a, &**b)).collect();
    Ok(function(&pairs)?)
}

functions! {
    /// Computes `a + b` modulo `2^bits`.
    fn gpuint_wrapping_add(a: *const Batch, b: *const Batch; sum: *mut *mut Batch) =
        DynBatch::wrapping_add;

    /// Computes `a - b` modulo `2^bits`.
    fn gpuint_wrapping_sub(a: *const Batch, b: *const Batch; difference: *mut *mut Batch) =
        DynBatch::wrapping_sub;

    /// Computes `a * b` modulo `2^bits`.
    fn gpuint_wrapping_mul(a: *const Batch, b: *const Batch; product: *mut *mut Batch) =
        DynBatch::wrapping_mul;

    /// Computes `a^2` modulo `2^bits`.
    fn gpuint_wrapping_square(a: *const Batch; square: *mut *mut Batch) =
        DynBatch::wrapping_square;

    /// Computes `a * b` modulo `2^bits - 1`: 0 only where a factor is 0, else 1 to `2^bits - 1`.
    fn gpuint_cyclic_mul(a: *const Batch, b: *const Batch; product: *mut *mut Batch) =
        DynBatch::cyclic_mul;

    /// Computes `a * b` modulo `2^bits + 1`, and a mask of the rows whose residue is `2^bits`,
    /// which become 0.
    fn gpuint_negacyclic_mul(
        a: *const Batch, b: *const Batch; product: *mut *mut Batch, is_minus_one: *mut *mut Mask
    ) = DynBatch::negacyclic_mul;

    /// Computes `a + value` modulo `2^bits`.
    fn gpuint_wrapping_add_all(a: *const Batch, value: *const c_char; sum: *mut *mut Batch) =
        DynBatch::wrapping_add_all;

    /// Computes `a - value` modulo `2^bits`.
    fn gpuint_wrapping_sub_all(
        a: *const Batch, value: *const c_char; difference: *mut *mut Batch
    ) = DynBatch::wrapping_sub_all;

    /// Computes `a * value` modulo `2^bits`.
    fn gpuint_wrapping_mul_all(a: *const Batch, value: *const c_char; product: *mut *mut Batch) =
        DynBatch::wrapping_mul_all;

    /// Computes the sum of all rows modulo `2^bits`, as text; 0 for no rows.
    fn gpuint_wrapping_sum(
        a: *const Batch; base: u32, text: *mut c_char, size: usize, length: *mut usize
    ) = DynBatch::wrapping_sum;

    /// Computes the sum of the products of the rows modulo `2^bits`, as text; 0 for no rows.
    fn gpuint_wrapping_dot(
        a: *const Batch, b: *const Batch;
        base: u32, text: *mut c_char, size: usize, length: *mut usize
    ) = DynBatch::wrapping_dot;

    /// Computes `c[0] + c[1] a + c[2] a^2 + ..` modulo `2^bits` with `count` coefficients, which
    /// are numbers as text.
    fn gpuint_wrapping_polynomial(
        a: *const Batch, coefficients: *const *const c_char, count: usize; out: *mut *mut Batch
    ) = |a: &DynBatch, coefficients, count| {
        // SAFETY: the header requires that there are `count` texts, which end with NUL.
        let coefficients = unsafe { numbers(coefficients, count, "coefficients") }?;
        Ok::<_, Failure>(a.wrapping_polynomial(&coefficients)?)
    };

    /// Computes `a[0] * b[0] + a[1] * b[1] + ..` for each row modulo `2^bits`, of `count` pairs of
    /// batches; at least one.
    fn gpuint_wrapping_sum_of_products(
        a: *const *const Batch, b: *const *const Batch, count: usize; sum: *mut *mut Batch
    ) = |a, b, count| {
        // SAFETY: the header requires that the arrays have `count` handles.
        unsafe { with_pairs(a, b, count, DynBatch::wrapping_sum_of_products) }
    };

    /// Computes `a[0] * b[0] + a[1] * b[1] + ..` for each row in rows of twice the width, which
    /// must be built, and a mask of the rows that overflowed.
    fn gpuint_widening_sum_of_products(
        a: *const *const Batch, b: *const *const Batch, count: usize;
        sum: *mut *mut Batch, overflow: *mut *mut Mask
    ) = |a, b, count| {
        // SAFETY: the header requires that the arrays have `count` handles.
        unsafe { with_pairs(a, b, count, DynBatch::widening_sum_of_products) }
    };

    /// Computes `a * factor + summand` modulo `2^bits`.
    fn gpuint_mul_add(
        a: *const Batch, factor: *const Batch, summand: *const Batch; out: *mut *mut Batch
    ) = DynBatch::mul_add;

    /// Computes `a * factor - subtrahend` modulo `2^bits`.
    fn gpuint_mul_sub(
        a: *const Batch, factor: *const Batch, subtrahend: *const Batch; out: *mut *mut Batch
    ) = DynBatch::mul_sub;

    /// Computes `a + b` modulo `2^bits`, and a mask of the rows that overflowed.
    fn gpuint_overflowing_add(
        a: *const Batch, b: *const Batch; sum: *mut *mut Batch, carry: *mut *mut Mask
    ) = DynBatch::overflowing_add;

    /// Computes `a - b` modulo `2^bits`, and a mask of the rows with `a < b`.
    fn gpuint_overflowing_sub(
        a: *const Batch, b: *const Batch; difference: *mut *mut Batch, borrow: *mut *mut Mask
    ) = DynBatch::overflowing_sub;

    /// Computes `a * b = low + high * 2^bits`.
    fn gpuint_mul_lo_hi(
        a: *const Batch, b: *const Batch; low: *mut *mut Batch, high: *mut *mut Batch
    ) = DynBatch::mul_lo_hi;

    /// Computes `a * b` in rows of twice the width, which must be built.
    fn gpuint_widening_mul(a: *const Batch, b: *const Batch; product: *mut *mut Batch) =
        DynBatch::widening_mul;

    /// Computes `a / b`, rounded down.
    fn gpuint_div(a: *const Batch, b: *const Batch; quotient: *mut *mut Batch) = DynBatch::div;

    /// Computes `a mod b`.
    fn gpuint_rem(a: *const Batch, b: *const Batch; remainder: *mut *mut Batch) = DynBatch::rem;

    /// Computes `a / b` and `a mod b`, exactly for every nonzero divisor. The lowest row whose
    /// divisor is zero is that of the error.
    fn gpuint_div_rem(
        a: *const Batch, b: *const Batch; quotient: *mut *mut Batch, remainder: *mut *mut Batch
    ) = DynBatch::div_rem;

    /// Computes `a / b`, `a mod b` and a mask of the rows whose divisor is zero. Such a row has the
    /// quotient `2^bits - 1` and the remainder `a`.
    fn gpuint_div_rem_masked(
        a: *const Batch, b: *const Batch;
        quotient: *mut *mut Batch, remainder: *mut *mut Batch, zero: *mut *mut Mask
    ) = DynBatch::div_rem_masked;

    /// Computes `a / b` for rows that `b` divides. The quotients of other rows are unspecified.
    fn gpuint_div_exact(a: *const Batch, b: *const Batch; quotient: *mut *mut Batch) =
        DynBatch::div_exact;

    /// Computes `a / b` and a mask of the rows that `b` does not divide, which become 0.
    fn gpuint_div_exact_masked(
        a: *const Batch, b: *const Batch; quotient: *mut *mut Batch, inexact: *mut *mut Mask
    ) = DynBatch::div_exact_masked;

    /// Computes `a / divisor` by one divisor that divides all rows. The quotients of other rows are
    /// unspecified.
    fn gpuint_div_exact_all(
        a: *const Batch, divisor: *const c_char; quotient: *mut *mut Batch
    ) = DynBatch::div_exact_all;

    /// Computes `a / divisor` and `a mod divisor` by one divisor of all rows.
    fn gpuint_div_rem_all(
        a: *const Batch, divisor: *const c_char;
        quotient: *mut *mut Batch, remainder: *mut *mut Batch
    ) = DynBatch::div_rem_all;

    /// Computes `a / divisor`, rounded down, by one divisor of all rows.
    fn gpuint_div_all(
        a: *const Batch, divisor: *const c_char; quotient: *mut *mut Batch
    ) = DynBatch::div_all;

    /// Computes `a mod divisor` by one divisor of all rows.
    fn gpuint_rem_all(
        a: *const Batch, divisor: *const c_char; remainder: *mut *mut Batch
    ) = DynBatch::rem_all;

    /// Computes the quotient and the remainder of `a + 2^bits * high` by `b`. The quotient has rows
    /// of twice the width.
    fn gpuint_div_rem_wide(
        a: *const Batch, high: *const Batch, b: *const Batch;
        quotient: *mut *mut Batch, remainder: *mut *mut Batch
    ) = DynBatch::div_rem_wide;

    /// Computes the inverses modulo `2^bits`, and a mask of the even rows, which become 0.
    fn gpuint_inverse_mod_pow2(
        a: *const Batch; inverse: *mut *mut Batch, even: *mut *mut Mask
    ) = DynBatch::inverse_mod_pow2;

    /// Computes `a / divisor`, rounded down.
    fn gpuint_div_by(a: *const Batch, divisor: *const Divisor; quotient: *mut *mut Batch) =
        DynBatch::div_by;

    /// Computes `a mod divisor`.
    fn gpuint_rem_by(a: *const Batch, divisor: *const Divisor; remainder: *mut *mut Batch) =
        DynBatch::rem_by;

    /// Computes `a / divisor` and `a mod divisor`.
    fn gpuint_div_rem_by(
        a: *const Batch, divisor: *const Divisor;
        quotient: *mut *mut Batch, remainder: *mut *mut Batch
    ) = DynBatch::div_rem_by;

    /// Computes `floor(2^(digit_bits * h) / a)`, exactly. A result that does not fit the width is
    /// `GPUINT_STATUS_TOO_WIDE`.
    fn gpuint_shifted_inverse(a: *const Batch, h: usize; inverse: *mut *mut Batch) =
        DynBatch::shifted_inverse;

    /// Computes `a + b mod divisor` from the whole sum; the summands may exceed the divisor.
    fn gpuint_add_mod(
        a: *const Batch, b: *const Batch, divisor: *const Divisor; sum: *mut *mut Batch
    ) = DynBatch::add_mod;

    /// Computes `a - b mod divisor`, from 0 to `divisor - 1`.
    fn gpuint_sub_mod(
        a: *const Batch, b: *const Batch, divisor: *const Divisor; difference: *mut *mut Batch
    ) = DynBatch::sub_mod;

    /// Computes `-a mod divisor`, from 0 to `divisor - 1`.
    fn gpuint_neg_mod(a: *const Batch, divisor: *const Divisor; negative: *mut *mut Batch) =
        DynBatch::neg_mod;

    /// Computes `a * b mod divisor` from the whole product.
    fn gpuint_mul_mod(
        a: *const Batch, b: *const Batch, divisor: *const Divisor; product: *mut *mut Batch
    ) = DynBatch::mul_mod;

    /// Computes `a^2 mod divisor` from the whole square.
    fn gpuint_square_mod(a: *const Batch, divisor: *const Divisor; square: *mut *mut Batch) =
        DynBatch::square_mod;

    /// Computes `a^(2^count) mod divisor`: `count` squares one after the other.
    fn gpuint_square_mod_repeatedly(
        a: *const Batch, count: usize, divisor: *const Divisor; power: *mut *mut Batch
    ) = DynBatch::square_mod_repeatedly;

    /// Computes `a^exponents mod divisor`, row by row. The exponents may have another width than
    /// `a`. The time depends on the exponents: do not use it where they are secret.
    fn gpuint_pow_mod(
        a: *const Batch, exponents: *const Batch, divisor: *const Divisor; power: *mut *mut Batch
    ) = DynBatch::pow_mod;

    /// Computes `a^exponents mod divisor` with `count` exponents of any length, one for each row,
    /// which are numbers as text.
    fn gpuint_pow_mod_rows(
        a: *const Batch, exponents: *const *const c_char, count: usize, divisor: *const Divisor;
        power: *mut *mut Batch
    ) = |a: &DynBatch, exponents, count, divisor| {
        // SAFETY: the header requires that there are `count` texts, which end with NUL.
        let exponents = unsafe { numbers(exponents, count, "exponents") }?;
        Ok::<_, Failure>(a.pow_mod_rows(&exponents, divisor)?)
    };

    /// Computes `a^exponent mod divisor`, with one exponent of any length for all rows.
    fn gpuint_pow_mod_all(
        a: *const Batch, exponent: *const c_char, divisor: *const Divisor; power: *mut *mut Batch
    ) = DynBatch::pow_mod_all;

    /// Computes the product of the powers `a^exponents mod divisor` of each group of `bases`
    /// consecutive rows. The exponents may have another width than `a`. The time depends on the
    /// exponents: do not use it where they are secret.
    fn gpuint_pow_product_mod(
        a: *const Batch, exponents: *const Batch, bases: usize, divisor: *const Divisor;
        product: *mut *mut Batch
    ) = DynBatch::pow_product_mod;

    /// Computes the same with `count` exponents of any length, one for each row of `a`, which are
    /// numbers as text.
    fn gpuint_pow_product_mod_rows(
        a: *const Batch, exponents: *const *const c_char, count: usize, bases: usize,
        divisor: *const Divisor;
        product: *mut *mut Batch
    ) = |a: &DynBatch, exponents, count, bases, divisor| {
        // SAFETY: the header requires that there are `count` texts, which end with NUL.
        let exponents = unsafe { numbers(exponents, count, "exponents") }?;
        Ok::<_, Failure>(a.pow_product_mod_rows(&exponents, bases, divisor)?)
    };

    /// Computes the greatest common divisors; that of `a` and 0 is `a`.
    fn gpuint_gcd(a: *const Batch, b: *const Batch; gcd: *mut *mut Batch) = DynBatch::gcd;

    /// Computes `gcd = a x - b y`, or `gcd = b y - a x` for the rows of the mask, with the least
    /// `x` and `y`: at most `b / (2 gcd)` and `a / (2 gcd)`, but 0 and 1 if one of the rows is a
    /// multiple of the other. For `a = b = 0` all are 0.
    fn gpuint_xgcd(
        a: *const Batch, b: *const Batch;
        gcd: *mut *mut Batch, x: *mut *mut Batch, y: *mut *mut Batch, negative: *mut *mut Mask
    ) = DynBatch::xgcd;

    /// Computes the least common multiples modulo `2^bits`, and a mask of the rows that overflowed.
    fn gpuint_overflowing_lcm(
        a: *const Batch, b: *const Batch; lcm: *mut *mut Batch, overflow: *mut *mut Mask
    ) = DynBatch::overflowing_lcm;

    /// Computes the inverses modulo the rows of `moduli`, and a mask of the rows without one, which
    /// become 0.
    fn gpuint_inverse_mod(
        a: *const Batch, moduli: *const Batch; inverse: *mut *mut Batch, without: *mut *mut Mask
    ) = DynBatch::inverse_mod;

    /// Computes the inverses modulo one number, and a mask of the rows without one, which become 0.
    fn gpuint_inverse_mod_all(
        a: *const Batch, modulus: *const c_char; inverse: *mut *mut Batch, without: *mut *mut Mask
    ) = DynBatch::inverse_mod_all;

    /// Computes `n / d = a` modulo the rows of `moduli`, with `|n|` at most the row of `numerators`
    /// and `d` at most that of `denominators`; the mask of negative `n`, and that of the rows
    /// without such a fraction, which become 0. Fractions are found if twice the product of both
    /// bounds is below the modulus.
    fn gpuint_rational_reconstruction(
        a: *const Batch, moduli: *const Batch, numerators: *const Batch,
        denominators: *const Batch;
        n: *mut *mut Batch, d: *mut *mut Batch, negative: *mut *mut Mask, without: *mut *mut Mask
    ) = DynBatch::rational_reconstruction;

    /// Computes the greatest common divisors of each row and the product of all other rows.
    fn gpuint_batch_gcd(a: *const Batch; gcd: *mut *mut Batch) = DynBatch::batch_gcd;

    /// Computes the greatest common divisors of each row and the product of all other rows and of
    /// `count` numbers of any length as text.
    fn gpuint_batch_gcd_against(
        a: *const Batch, others: *const *const c_char, count: usize; gcd: *mut *mut Batch
    ) = |a: &DynBatch, others, count| {
        // SAFETY: the header requires that there are `count` texts, which end with NUL.
        let others = unsafe { numbers(others, count, "others") }?;
        Ok::<_, Failure>(a.batch_gcd_against(&others)?)
    };

    /// Computes the square roots, rounded down.
    fn gpuint_isqrt(a: *const Batch; root: *mut *mut Batch) = DynBatch::isqrt;

    /// Computes the square roots, rounded down, and `a - root^2`.
    fn gpuint_isqrt_rem(
        a: *const Batch; root: *mut *mut Batch, remainder: *mut *mut Batch
    ) = DynBatch::isqrt_rem;

    /// Returns a mask of the rows that are squares.
    fn gpuint_is_square(a: *const Batch; mask: *mut *mut Mask) = DynBatch::is_square;

    /// Computes `a^exponent` modulo `2^bits`.
    fn gpuint_wrapping_pow(a: *const Batch, exponent: usize; power: *mut *mut Batch) =
        DynBatch::wrapping_pow;

    /// Computes `a^exponent` modulo `2^bits`, and a mask of the rows that overflowed.
    fn gpuint_overflowing_pow(
        a: *const Batch, exponent: usize; power: *mut *mut Batch, overflow: *mut *mut Mask
    ) = DynBatch::overflowing_pow;

    /// Computes the roots of degree `n`, rounded down.
    fn gpuint_nth_root(a: *const Batch, n: usize; root: *mut *mut Batch) = DynBatch::nth_root;

    /// Computes the roots of degree `n`, rounded down, and `a - root^n`.
    fn gpuint_nth_root_rem(
        a: *const Batch, n: usize; root: *mut *mut Batch, remainder: *mut *mut Batch
    ) = DynBatch::nth_root_rem;

    /// Computes the bases and the largest exponents with `a = base^exponent`. Rows that are
    /// no perfect powers have the exponent 1, and the rows 0 and 1 have 0.
    fn gpuint_perfect_powers(
        a: *const Batch; base: *mut *mut Batch, exponents: *mut u64, rows: usize
    ) = DynBatch::perfect_powers;

    /// Returns a mask of the rows that are perfect powers.
    fn gpuint_is_perfect_power(a: *const Batch; mask: *mut *mut Mask) = DynBatch::is_perfect_power;

    /// Computes the Jacobi symbols over the rows of `moduli`: -1, 0 or 1; 0 for even moduli.
    fn gpuint_jacobi(a: *const Batch, moduli: *const Batch; symbols: *mut i8, rows: usize) =
        DynBatch::jacobi;

    /// Returns a mask of the strong probable primes to a base, a number as text of any length. 2
    /// passes; 0, 1 and other even rows do not; a base that is 0 modulo an odd row lets it pass.
    fn gpuint_is_strong_probable_prime(
        a: *const Batch, base: *const c_char; mask: *mut *mut Mask
    ) = DynBatch::is_strong_probable_prime;

    /// Returns a mask of the strong probable primes, with a base for each row.
    fn gpuint_is_strong_probable_prime_rows(
        a: *const Batch, bases: *const Batch; mask: *mut *mut Mask
    ) = DynBatch::is_strong_probable_prime_rows;

    /// Returns a mask of the strong probable primes to each of `count` bases, which are numbers as
    /// text.
    fn gpuint_is_strong_probable_prime_bases(
        a: *const Batch, bases: *const *const c_char, count: usize; mask: *mut *mut Mask
    ) = |a: &DynBatch, bases, count| {
        // SAFETY: the header requires that there are `count` texts, which end with NUL.
        let bases = unsafe { numbers(bases, count, "bases") }?;
        Ok::<_, Failure>(a.is_strong_probable_prime_bases(&bases)?)
    };

    /// Returns a mask of the strong Lucas probable primes with Selfridge's parameters.
    fn gpuint_is_strong_lucas_probable_prime(a: *const Batch; mask: *mut *mut Mask) =
        DynBatch::is_strong_lucas_probable_prime;

    /// Returns a mask of the extra strong Lucas probable primes.
    fn gpuint_is_extra_strong_lucas_probable_prime(a: *const Batch; mask: *mut *mut Mask) =
        DynBatch::is_extra_strong_lucas_probable_prime;

    /// Returns a mask of the rows that pass the test of Baillie, Pomerance, Selfridge and Wagstaff:
    /// the primes below 2^64, and above it the primes and no known composite number.
    fn gpuint_is_probable_prime(a: *const Batch; mask: *mut *mut Mask) =
        DynBatch::is_probable_prime;

    /// Returns a mask of the rows that have a prime factor up to `limit`, of at most 20 bits, other
    /// than the row itself; 0 has.
    fn gpuint_has_small_factor(a: *const Batch, limit: usize; mask: *mut *mut Mask) =
        DynBatch::has_small_factor;

    /// Computes the least probable primes above the rows, and a mask of the rows above which there
    /// is none in the width; their result is 0.
    fn gpuint_next_prime(a: *const Batch; prime: *mut *mut Batch, without: *mut *mut Mask) =
        DynBatch::next_prime;

    /// Computes `base^(a - 1) mod a`, and stores the lowest 64 bits of each residue (RES64). Rows
    /// that are 0 or 1 have the residue 0.
    fn gpuint_fermat_residues(
        a: *const Batch, base: *const c_char;
        residues: *mut *mut Batch, words: *mut u64, rows: usize
    ) = DynBatch::fermat_residues;

    /// Computes the bitwise AND.
    fn gpuint_and(a: *const Batch, b: *const Batch; out: *mut *mut Batch) = DynBatch::and;

    /// Computes the bitwise OR.
    fn gpuint_or(a: *const Batch, b: *const Batch; out: *mut *mut Batch) = DynBatch::or;

    /// Computes the bitwise exclusive OR.
    fn gpuint_xor(a: *const Batch, b: *const Batch; out: *mut *mut Batch) = DynBatch::xor;

    /// Computes the bitwise complement, `2^bits - 1 - a`.
    fn gpuint_not(a: *const Batch; out: *mut *mut Batch) = DynBatch::not;

    /// Computes the bitwise AND with one value.
    fn gpuint_and_all(a: *const Batch, value: *const c_char; out: *mut *mut Batch) =
        DynBatch::and_all;

    /// Computes the bitwise OR with one value.
    fn gpuint_or_all(a: *const Batch, value: *const c_char; out: *mut *mut Batch) =
        DynBatch::or_all;

    /// Computes the bitwise exclusive OR with one value.
    fn gpuint_xor_all(a: *const Batch, value: *const c_char; out: *mut *mut Batch) =
        DynBatch::xor_all;

    /// Computes `a mod 2^bits` for any number of bits.
    fn gpuint_low_bits(a: *const Batch, bits: usize; out: *mut *mut Batch) = DynBatch::low_bits;

    /// Returns the rows with a bit set.
    fn gpuint_with_bit(a: *const Batch, bit: usize; out: *mut *mut Batch) = DynBatch::with_bit;

    /// Returns the rows with a bit cleared.
    fn gpuint_without_bit(a: *const Batch, bit: usize; out: *mut *mut Batch) =
        DynBatch::without_bit;

    /// Returns a mask of the rows in which a bit is set.
    fn gpuint_bit_mask(a: *const Batch, bit: usize; mask: *mut *mut Mask) = DynBatch::bit_mask;

    /// Stores the number of bits of each row without leading zeros.
    fn gpuint_bit_lengths(a: *const Batch; lengths: *mut u64, rows: usize) =
        DynBatch::bit_lengths;

    /// Stores the number of ones of each row.
    fn gpuint_count_ones(a: *const Batch; counts: *mut u64, rows: usize) = DynBatch::count_ones;

    /// Stores the number of zeros below the lowest one of each row: the width for zero.
    fn gpuint_trailing_zeros(a: *const Batch; counts: *mut u64, rows: usize) =
        DynBatch::trailing_zeros;

    /// Stores the number of zeros above the highest one of each row: the width for zero.
    fn gpuint_leading_zeros(a: *const Batch; counts: *mut u64, rows: usize) =
        DynBatch::leading_zeros;

    /// Returns a mask of the rows that are zero.
    fn gpuint_is_zero_mask(a: *const Batch; mask: *mut *mut Mask) = DynBatch::is_zero_mask;

    /// Computes `a * 2^bits` modulo the width, for any distance.
    fn gpuint_shl(a: *const Batch, bits: usize; out: *mut *mut Batch) = DynBatch::shl;

    /// Computes `a / 2^bits`, rounded down, for any distance.
    fn gpuint_shr(a: *const Batch, bits: usize; out: *mut *mut Batch) = DynBatch::shr;

    /// Computes `a * 2^(digit_bits * digits)` modulo the width, for any distance.
    fn gpuint_shl_digits(a: *const Batch, digits: usize; out: *mut *mut Batch) =
        DynBatch::shl_digits;

    /// Computes `a / 2^(digit_bits * digits)`, rounded down, for any distance.
    fn gpuint_shr_digits(a: *const Batch, digits: usize; out: *mut *mut Batch) =
        DynBatch::shr_digits;

    /// Computes `a * 2^bits[row]` modulo the width, row by row.
    fn gpuint_shl_rows(a: *const Batch, bits: *const usize, rows: usize; out: *mut *mut Batch) =
        |a: &DynBatch, bits, rows| {
            // SAFETY: the header requires that the array has `rows` elements.
            let bits = unsafe { array(bits, rows, "bits") }?;
            Ok::<_, Failure>(a.shl_rows(bits)?)
        };

    /// Computes `a / 2^bits[row]`, rounded down, row by row.
    fn gpuint_shr_rows(a: *const Batch, bits: *const usize, rows: usize; out: *mut *mut Batch) =
        |a: &DynBatch, bits, rows| {
            // SAFETY: the header requires that the array has `rows` elements.
            let bits = unsafe { array(bits, rows, "bits") }?;
            Ok::<_, Failure>(a.shr_rows(bits)?)
        };

    /// Rotates the bits of each row to the left, for any distance.
    fn gpuint_rotate_left(a: *const Batch, bits: usize; out: *mut *mut Batch) =
        DynBatch::rotate_left;

    /// Rotates the bits of each row to the right, for any distance.
    fn gpuint_rotate_right(a: *const Batch, bits: usize; out: *mut *mut Batch) =
        DynBatch::rotate_right;

    /// Rotates the bits of each row to the left by `bits[row]`.
    fn gpuint_rotate_left_rows(
        a: *const Batch, bits: *const usize, rows: usize; out: *mut *mut Batch
    ) = |a: &DynBatch, bits, rows| {
        // SAFETY: the header requires that the array has `rows` elements.
        let bits = unsafe { array(bits, rows, "bits") }?;
        Ok::<_, Failure>(a.rotate_left_rows(bits)?)
    };

    /// Rotates the bits of each row to the right by `bits[row]`.
    fn gpuint_rotate_right_rows(
        a: *const Batch, bits: *const usize, rows: usize; out: *mut *mut Batch
    ) = |a: &DynBatch, bits, rows| {
        // SAFETY: the header requires that the array has `rows` elements.
        let bits = unsafe { array(bits, rows, "bits") }?;
        Ok::<_, Failure>(a.rotate_right_rows(bits)?)
    };

    /// Compares row by row: stores -1 where `a < b`, 0 where they are equal, 1 where `a > b`.
    fn gpuint_cmp(a: *const Batch, b: *const Batch; orders: *mut i8, rows: usize) =
        DynBatch::cmp;

    /// Compares each row with one value, as `gpuint_cmp` does.
    fn gpuint_cmp_all(a: *const Batch, value: *const c_char; orders: *mut i8, rows: usize) =
        DynBatch::cmp_all;

    /// Returns a mask of the rows with `a = b`.
    fn gpuint_eq_mask(a: *const Batch, b: *const Batch; mask: *mut *mut Mask) =
        DynBatch::eq_mask;

    /// Returns a mask of the rows with `a < b`.
    fn gpuint_lt_mask(a: *const Batch, b: *const Batch; mask: *mut *mut Mask) =
        DynBatch::lt_mask;

    /// Returns a mask of the rows with `a = value`.
    fn gpuint_eq_mask_all(a: *const Batch, value: *const c_char; mask: *mut *mut Mask) =
        DynBatch::eq_mask_all;

    /// Returns a mask of the rows with `a < value`.
    fn gpuint_lt_mask_all(a: *const Batch, value: *const c_char; mask: *mut *mut Mask) =
        DynBatch::lt_mask_all;

    /// Stores true if both batches have the same number of rows and the same values.
    fn gpuint_is_equal(a: *const Batch, b: *const Batch; equal: *mut bool) = DynBatch::is_equal;

    /// Returns the rows from `start` to `stop - 1`.
    fn gpuint_slice(a: *const Batch, start: usize, stop: usize; out: *mut *mut Batch) =
        |a: &DynBatch, start, stop| a.slice(start..stop);

    /// Returns the rows with these indices, in this order; indices may repeat.
    fn gpuint_gather(
        a: *const Batch, indices: *const usize, count: usize; out: *mut *mut Batch
    ) = |a: &DynBatch, indices, count| {
        // SAFETY: the header requires that the array has `count` elements.
        let indices = unsafe { array(indices, count, "indices") }?;
        Ok::<_, Failure>(a.gather(indices)?)
    };

    /// Returns the rows in reverse order.
    fn gpuint_reverse(a: *const Batch; out: *mut *mut Batch) = DynBatch::reverse;

    /// Returns the rows whose bit in the mask is set, in order.
    fn gpuint_filter(a: *const Batch, mask: *const Mask; out: *mut *mut Batch) =
        DynBatch::filter;

    /// Returns the rows of `a` whose bit in the mask is set, and the rows of `b` elsewhere.
    fn gpuint_select(
        a: *const Batch, mask: *const Mask, b: *const Batch; out: *mut *mut Batch
    ) = DynBatch::select;

    /// Returns both batches with the rows exchanged whose bit in the mask is set.
    fn gpuint_swap(
        a: *const Batch, mask: *const Mask, b: *const Batch;
        first: *mut *mut Batch, second: *mut *mut Batch
    ) = DynBatch::swap;

    /// Returns the rows in ascending order of their values.
    fn gpuint_sort(a: *const Batch; out: *mut *mut Batch) = DynBatch::sort;

    /// Stores the indices of the rows in ascending order of their values; equal rows keep their
    /// order.
    fn gpuint_sort_indices(a: *const Batch; indices: *mut usize, rows: usize) =
        DynBatch::sort_indices;

    /// Returns the different values, each once, in ascending order.
    fn gpuint_unique(a: *const Batch; out: *mut *mut Batch) = DynBatch::unique;

    /// Returns the values in rows for `bits` bits (see `gpuint_width`, `gpuint_device_with_jit`). A
    /// value that does not fit is `GPUINT_STATUS_TOO_WIDE` with its row.
    fn gpuint_resized(a: *const Batch, bits: usize; out: *mut *mut Batch) =
        |a: &DynBatch, bits| a.resized(a.device().shape_for(bits)?);

    /// Returns rows of twice the width: `low + high * 2^bits`.
    fn gpuint_join(low: *const Batch, high: *const Batch; out: *mut *mut Batch) = DynBatch::join;

    /// Returns the low and high halves of the rows, in rows of half the width.
    fn gpuint_split(a: *const Batch; low: *mut *mut Batch, high: *mut *mut Batch) =
        DynBatch::split;
}
