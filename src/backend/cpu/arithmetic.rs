//! Products, divisions, residues, common divisors, inverses and roots.

use num_bigint::BigUint;

use super::half_gcd::{self, Matrix};
use super::limbs::{
    LIMB_BITS, add_assign, assign, bit, shift_left, shift_right, sub_from_assign, trimmed,
};
use super::prepared::{self, Prepared};
use super::rows::{Failed, Outcome, Row, Rows};
use super::{division, euclid, product, residues, sqrt};
use crate::backend::host::zeroed_vec;
use crate::error::Result;

pub(super) fn read(limbs: &[u64]) -> BigUint {
    BigUint::from_slice(bytemuck::cast_slice(trimmed(limbs)))
}

pub(super) fn mul_lo(rows: Rows<'_>) -> Result<Failed> {
    let scratch = product::scratch_limbs(rows.limbs());
    rows.each(scratch, |Row { ins: [a, b, _], outs: [out, _], .. }, scratch| {
        product::multiply_low(out, a, b, scratch);
        Outcome::default()
    })
}

/// The product modulo `2^bits - 1`.
pub(super) fn mul_cyclic(rows: Rows<'_>) -> Result<Failed> {
    let (bits, n) = (rows.bits, rows.limbs());
    let scratch = 2 * n + product::scratch_limbs(n);
    rows.each(scratch, |Row { ins: [a, b, _], outs: [out, _], .. }, scratch| {
        product::multiply_cyclic(out, a, b, bits, scratch);
        Outcome::default()
    })
}

/// Adds a product to the sum of the products before it.
pub(super) fn sum_of_products(rows: Rows<'_>) -> Result<Failed> {
    if !rows.is_added {
        return mul_lo(rows);
    }
    let n = rows.limbs();
    rows.each(n + product::scratch_limbs(n), |row, scratch| {
        let Row { ins: [a, b, _], outs: [sum, _], .. } = row;
        let (product, scratch) = scratch.split_at_mut(n);
        product::multiply_low(product, a, b, scratch);
        add_assign(sum, product);
        Outcome::default()
    })
}

/// The same for full products; rows that overflow are flagged.
pub(super) fn wide_sum_of_products(rows: Rows<'_>) -> Result<Failed> {
    let (bits, n, is_added) = (2 * rows.bits, rows.limbs(), rows.is_added);
    let has_whole_limbs = bits.is_multiple_of(LIMB_BITS);
    rows.each(2 * n + product::scratch_limbs(n), |row, scratch| {
        let Row { ins: [a, b, _], outs: [sum, _], .. } = row;
        let (product, scratch) = scratch.split_at_mut(2 * n);
        product::multiply(product, a, b, scratch);
        if !is_added {
            assign(sum, product);
            return Outcome::default();
        }
        // The limbs above the sum's are zero. Where its width is no whole number of limbs, the
        // carry is the bit above.
        let carry = add_assign(sum, &product[..sum.len()]);
        (if has_whole_limbs { carry } else { bit(sum, bits) }).into()
    })
}

pub(super) fn square_lo(rows: Rows<'_>) -> Result<Failed> {
    let n = rows.limbs();
    rows.each(
        2 * n + product::scratch_limbs(n),
        |Row { ins: [a, ..], outs: [out, _], .. }, scratch| {
            product::square_low(out, a, scratch);
            Outcome::default()
        },
    )
}

pub(super) fn mul_wide(rows: Rows<'_>) -> Result<Failed> {
    let (bits, n, joined) = (rows.bits, rows.limbs(), rows.params.joined);
    rows.each(2 * n + product::scratch_limbs(n), |row, scratch| {
        let Row { ins: [a, b, _], outs: [low, high], .. } = row;
        let (product, scratch) = scratch.split_at_mut(2 * n);
        if joined && low.len() == product.len() {
            product::multiply(low, a, b, scratch);
            return Outcome::default();
        }
        product::multiply(product, a, b, scratch);
        assign(low, product);
        if !joined {
            shift_right(high, product, bits);
        }
        Outcome::default()
    })
}

pub(super) fn div_rem(rows: Rows<'_>) -> Result<Failed> {
    let scratch = division::scratch_limbs(rows.limbs());
    rows.each(scratch, |Row { ins: [u, v, _], outs: [q, r], .. }, scratch| {
        let failed = trimmed(v).is_empty();
        if failed {
            q.fill(u64::MAX);
            r.copy_from_slice(u);
        } else {
            division::divide(q, r, u, v, scratch);
        }
        Outcome { flag: failed, failed }
    })
}

pub(super) fn div_exact(rows: Rows<'_>) -> Result<Failed> {
    let n = rows.limbs();
    let scratch = n + division::scratch_limbs(n);
    rows.each(scratch, |Row { ins: [u, v, _], outs: [q, _], .. }, scratch| {
        let failed = trimmed(v).is_empty();
        let (r, scratch) = scratch.split_at_mut(n);
        if !failed {
            division::divide(q, r, u, v, scratch);
        }
        let flag = failed || !trimmed(r).is_empty();
        if flag {
            q.fill(0);
        }
        Outcome { flag, failed }
    })
}

pub(super) fn inverse_mod_pow2(rows: Rows<'_>) -> Result<Failed> {
    let n = rows.limbs();
    let zero: Vec<u64> = zeroed_vec(n)?;
    let scratch = residues::inverse_scratch_limbs(n);
    rows.each(scratch, |Row { ins: [v, ..], outs: [out, _], .. }, scratch| {
        let is_even = !bit(v, 0);
        if is_even {
            out.fill(0);
        } else {
            residues::negative_inverse(out, v, scratch);
            sub_from_assign(out, &zero);
        }
        is_even.into()
    })
}

pub(super) fn shifted_inverse(rows: Rows<'_>) -> Result<Failed> {
    let (bits, exponent) = (rows.bits, rows.params.exponent as usize);
    let limbs = exponent / LIMB_BITS + 1;
    let scratch = 2 * limbs + rows.limbs() + division::scratch_limbs(limbs);
    rows.each(scratch, |Row { ins: [v, ..], outs: [out, _], .. }, scratch| {
        let is_zero = trimmed(v).is_empty();
        if is_zero {
            out.fill(0);
        }
        let failed = is_zero || !division::shifted_inverse(out, v, exponent, bits, scratch);
        Outcome { flag: false, failed }
    })
}

pub(super) fn prepare(rows: Rows<'_>) -> Result<Failed> {
    let scratch = prepared::prepare_scratch_limbs(rows.limbs());
    rows.each(scratch, |Row { ins: [v, ..], outs: [record, _], .. }, scratch| {
        let failed = trimmed(v).is_empty();
        if !failed {
            prepared::prepare(record, v, scratch);
        }
        Outcome { flag: false, failed }
    })
}

pub(super) fn div_rem_by(rows: Rows<'_>) -> Result<Failed> {
    let scratch = prepared::scratch_limbs(rows.limbs());
    rows.each(scratch, |Row { ins: [u, _, record], outs: [q, r], .. }, scratch| {
        Prepared::new(record).divide(q, r, u, scratch);
        Outcome::default()
    })
}

pub(super) fn mul_mod(rows: Rows<'_>) -> Result<Failed> {
    let scratch = prepared::scratch_limbs(rows.limbs());
    rows.each(scratch, |Row { ins: [a, b, record], outs: [out, _], .. }, scratch| {
        Prepared::new(record).multiply(out, a, Some(b), scratch);
        Outcome::default()
    })
}

pub(super) fn square_mod(rows: Rows<'_>) -> Result<Failed> {
    let scratch = prepared::scratch_limbs(rows.limbs());
    rows.each(scratch, |Row { ins: [a, _, record], outs: [out, _], .. }, scratch| {
        Prepared::new(record).multiply(out, a, None, scratch);
        Outcome::default()
    })
}

pub(super) fn pow_mod(rows: Rows<'_>) -> Result<Failed> {
    powers(rows, 1)
}

pub(super) fn pow_product_mod(rows: Rows<'_>) -> Result<Failed> {
    let bases = rows.params.bases;
    powers(rows, bases)
}

fn powers(rows: Rows<'_>, bases: usize) -> Result<Failed> {
    let scratch = prepared::power_scratch_limbs(rows.limbs(), bases);
    rows.each(scratch, |Row { ins: [a, e, record], outs: [out, _], .. }, scratch| {
        Prepared::new(record).power(out, a, e, bases, scratch);
        Outcome::default()
    })
}

pub(super) fn add_mod(rows: Rows<'_>) -> Result<Failed> {
    let scratch = prepared::sum_scratch_limbs(rows.limbs());
    rows.each(scratch, |Row { ins: [a, b, record], outs: [out, _], .. }, scratch| {
        Prepared::new(record).add(out, a, b, scratch);
        Outcome::default()
    })
}

pub(super) fn sub_mod(rows: Rows<'_>) -> Result<Failed> {
    let scratch = prepared::sum_scratch_limbs(rows.limbs());
    rows.each(scratch, |Row { ins: [a, b, record], outs: [out, _], .. }, scratch| {
        Prepared::new(record).sub(out, a, b, scratch);
        Outcome::default()
    })
}

pub(super) fn neg_mod(rows: Rows<'_>) -> Result<Failed> {
    let scratch = prepared::sum_scratch_limbs(rows.limbs());
    rows.each(scratch, |Row { ins: [a, _, record], outs: [out, _], .. }, scratch| {
        Prepared::new(record).negate(out, a, scratch);
        Outcome::default()
    })
}

pub(super) fn halve_mod(rows: Rows<'_>) -> Result<Failed> {
    let scratch = 2 * rows.limbs() + 1;
    rows.each(scratch, |Row { ins: [a, _, record], outs: [out, _], .. }, scratch| {
        Prepared::new(record).halve(out, a, scratch);
        Outcome::default()
    })
}

pub(super) fn prepare_odd(rows: Rows<'_>) -> Result<Failed> {
    let bits = rows.bits;
    let scratch = residues::prepare_scratch_limbs(rows.limbs());
    rows.each(scratch, |Row { ins: [n, ..], outs: [record, _], .. }, scratch| {
        let failed = !bit(n, 0);
        if !failed {
            residues::prepare(record, n, bits, scratch);
        }
        Outcome { flag: false, failed }
    })
}

pub(super) fn mul_residues(rows: Rows<'_>) -> Result<Failed> {
    let bits = rows.bits;
    let scratch = residues::scratch_limbs(rows.limbs());
    rows.each(scratch, |Row { ins: [a, b, record], outs: [out, _], .. }, scratch| {
        residues::reduce_product(out, a, Some(b), record, bits, scratch);
        Outcome::default()
    })
}

pub(super) fn square_residues(rows: Rows<'_>) -> Result<Failed> {
    let bits = rows.bits;
    let scratch = residues::scratch_limbs(rows.limbs());
    rows.each(scratch, |Row { ins: [a, _, record], outs: [out, _], .. }, scratch| {
        residues::reduce_product(out, a, None, record, bits, scratch);
        Outcome::default()
    })
}

pub(super) fn gcd(rows: Rows<'_>) -> Result<Failed> {
    let scratch = euclid::scratch_limbs(rows.limbs());
    rows.each(scratch, |Row { ins: [a, b, _], outs: [out, _], .. }, scratch| {
        #[cfg(feature = "gmp")]
        if let Some(gmp) = super::gmp::gmp() {
            gmp.gcd(out, a, b);
            return Outcome::default();
        }
        euclid::gcd(out, a, b, scratch);
        Outcome::default()
    })
}

/// The CPU has one algorithm for few and for many rows.
pub(super) fn gcd_windowed(rows: Rows<'_>) -> Result<Failed> {
    gcd(rows)
}

/// Matrices of steps that leave both numbers at least `2^(bits / 2 + 1)`.
pub(super) fn half_gcd(rows: Rows<'_>) -> Result<Failed> {
    let (n, half) = (rows.limbs(), rows.bits / 2);
    let scratch = 2 * n + 4 * Matrix::entry_limbs(n) + half_gcd::scratch_limbs(n);
    rows.each(scratch, |Row { ins: [x, y, _], outs: [first, second], .. }, scratch| {
        let (x_left, scratch) = scratch.split_at_mut(n);
        let (y_left, scratch) = scratch.split_at_mut(n);
        x_left.copy_from_slice(x);
        y_left.copy_from_slice(y);
        let (mut matrix, scratch) = Matrix::identity(n, scratch);
        half_gcd::half_gcd(x_left, y_left, &mut matrix, &mut (), scratch);
        let Matrix { u0, v0, u1, v1 } = matrix;
        for (out, low, high) in [(first, u0, v0), (second, u1, v1)] {
            shift_left(out, high, half);
            add_assign(out, trimmed(low));
        }
        Outcome::default()
    })
}

pub(super) fn inverse_mod(rows: Rows<'_>) -> Result<Failed> {
    let scratch = euclid::invert_scratch_limbs(rows.limbs());
    rows.each(scratch, |Row { ins: [v, n, _], outs: [out, _], .. }, scratch| {
        let modulus = trimmed(n);
        // Nothing is invertible modulo 0, and everything modulo 1, where all numbers are 0.
        if modulus.is_empty() || modulus == [1] {
            out.fill(0);
            return modulus.is_empty().into();
        }
        #[cfg(feature = "gmp")]
        if let Some(gmp) = super::gmp::gmp() {
            out.fill(0);
            return (!gmp.invert(out, v, n)).into();
        }
        (!euclid::invert(out, v, n, scratch)).into()
    })
}

/// The CPU has one algorithm for few and for many rows.
pub(super) fn inverse_mod_windowed(rows: Rows<'_>) -> Result<Failed> {
    inverse_mod(rows)
}

pub(super) fn rational(rows: Rows<'_>) -> Result<Failed> {
    let scratch = euclid::invert_scratch_limbs(rows.limbs());
    rows.each(scratch, |Row { ins: [u, m, bound], outs: [n, d], .. }, scratch| {
        euclid::reconstruct(n, d, u, m, bound, scratch).into()
    })
}

pub(super) fn jacobi(rows: Rows<'_>) -> Result<Failed> {
    let scratch = euclid::scratch_limbs(rows.limbs());
    rows.each(scratch, |Row { ins: [a, n, _], outs: [out, _], .. }, scratch| {
        #[cfg(feature = "gmp")]
        if let Some(gmp) = super::gmp::gmp() {
            out[0] = i64::from(gmp.symbol(a, n)) as u64;
            return Outcome::default();
        }
        out[0] = i64::from(euclid::jacobi(a, n, scratch)) as u64;
        Outcome::default()
    })
}

pub(super) fn isqrt(rows: Rows<'_>) -> Result<Failed> {
    let scratch = sqrt::scratch_limbs(rows.limbs());
    rows.each(scratch, |Row { ins: [a, ..], outs: [root, remainder], .. }, scratch| {
        #[cfg(feature = "gmp")]
        if let Some(gmp) = super::gmp::gmp() {
            match trimmed(a) {
                [] => [root, remainder].into_iter().for_each(|out| out.fill(0)),
                a => gmp.root(root, remainder, a),
            }
            return Outcome::default();
        }
        sqrt::root(root, remainder, a, scratch);
        Outcome::default()
    })
}
