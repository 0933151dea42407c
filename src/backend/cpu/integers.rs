//! Products and remainders of single integers of any length.

use num_bigint::BigUint;

use super::arithmetic::read;
use super::{division, product};
use crate::backend::host::zeroed_vec;
use crate::error::Result;

/// Computes `a b`.
pub(crate) fn multiply(a: &BigUint, b: &BigUint) -> Result<BigUint> {
    let (a, b) = (a.to_u64_digits(), b.to_u64_digits());
    let mut out = zeroed_vec(a.len() + b.len())?;
    let mut scratch = zeroed_vec(product::scratch_limbs(a.len().min(b.len())))?;
    product::multiply(&mut out, &a, &b, &mut scratch);
    Ok(read(&out))
}

/// Computes `u mod v`, where `v` is not zero.
pub(crate) fn remainder(u: &BigUint, v: &BigUint) -> Result<BigUint> {
    let (u, v) = (u.to_u64_digits(), v.to_u64_digits());
    if u.len() < v.len() {
        return Ok(read(&u));
    }
    let mut quotient = zeroed_vec(u.len())?;
    let mut out = zeroed_vec(v.len())?;
    let mut scratch = zeroed_vec(division::scratch_limbs(u.len()))?;
    division::divide(&mut quotient, &mut out, &u, &v, &mut scratch);
    Ok(read(&out))
}
