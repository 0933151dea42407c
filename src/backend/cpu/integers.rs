//! Remainders of single integers of any length.

use num_bigint::BigUint;

use super::arithmetic::read;
use super::division;
use crate::backend::host::{check_room, collected, zeroed_vec};
use crate::error::Result;

/// Computes `u mod v`, where `v` is not zero.
pub(crate) fn remainder(u: &BigUint, v: &BigUint) -> Result<BigUint> {
    let (u, v) = (collected(u.iter_u64_digits())?, collected(v.iter_u64_digits())?);
    if u.len() < v.len() {
        return integer(&u);
    }
    let mut quotient = zeroed_vec(u.len())?;
    let mut out = zeroed_vec(v.len())?;
    let mut scratch = zeroed_vec(division::scratch_limbs(u.len()))?;
    division::divide(&mut quotient, &mut out, &u, &v, &mut scratch);
    integer(&out)
}

fn integer(limbs: &[u64]) -> Result<BigUint> {
    check_room(1, size_of_val(limbs))?;
    Ok(read(limbs))
}
