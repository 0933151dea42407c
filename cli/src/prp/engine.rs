//! Tests of numbers of one width on all devices of a pool.

use gpuint::{DynBatch, Pool, Result, Shape};
use num_bigint::BigUint;
use num_traits::One;

use super::host;

/// Result of a Fermat test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fermat {
    /// Low 64 bits of b^(n - 1) modulo n.
    pub(crate) res64: u64,
    /// True if the residue is 1.
    pub(crate) is_passed: bool,
}

impl Fermat {
    /// Result with this residue.
    pub(crate) fn of(residue: &BigUint) -> Self {
        let res64 = residue.iter_u64_digits().next().unwrap_or(0);
        Self { res64, is_passed: residue.is_one() }
    }
}

/// Computes the Fermat tests of odd numbers.
pub(crate) fn fermat(
    pool: &Pool,
    shape: Shape,
    numbers: &[BigUint],
    base: u32,
) -> Result<Vec<Fermat>> {
    let mut results = vec![Fermat::default(); numbers.len()];
    let prepare = |_: &gpuint::Device| Ok(());
    pool.run(shape, numbers.len(), &mut results[..], prepare, |(), chunk, results| {
        let numbers = chunk.part(numbers)?;
        let moduli = DynBatch::from_biguints(chunk.device(), shape, numbers)?;
        let exponents = moduli.wrapping_sub_all(1)?;
        let bases = DynBatch::splat(chunk.device(), shape, u64::from(base), numbers.len())?;
        let residues = bases.pow_mod(&exponents, &moduli.prepare()?)?.to_biguints()?;
        let residues = residues.iter().map(Fermat::of);
        results.iter_mut().zip(residues).for_each(|(result, residue)| *result = residue);
        Ok(())
    })?;
    Ok(results)
}

/// Returns which numbers pass the test of R. Baillie and S. Wagstaff.
pub(crate) fn probable_primes(_: &Pool, _: Shape, numbers: &[BigUint]) -> Result<Vec<bool>> {
    use rayon::prelude::*;
    Ok(gpuint::threads::install(|| numbers.par_iter().map(host::is_probable_prime).collect()))
}
