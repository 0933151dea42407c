//! Tests of numbers of one width on all devices of a pool.

use gpuint::{Chunk, Device, DynBatch, Pool, Result, Shape};
use num_bigint::BigUint;
use num_traits::One;

use crate::job::devices::{failures, names};

/// Least width at which a test takes so much longer than the copies of its row that chunks on
/// several queues of a device only share it.
const MIN_WHOLE_BITS: usize = 4096;

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

/// Results of numbers.
#[derive(Debug)]
pub(crate) struct Tested<R> {
    pub(crate) results: Vec<R>,
    /// Devices that failed, with the error; others tested their numbers.
    pub(crate) failed: Vec<String>,
}

/// Devices that test numbers.
pub(crate) trait Engine {
    /// Computes the Fermat tests of odd numbers.
    fn fermat(&self, shape: Shape, numbers: &[BigUint], base: u32) -> Result<Tested<Fermat>>;

    /// Returns which numbers pass the test of R. Baillie and S. Wagstaff.
    fn probable_primes(&self, shape: Shape, numbers: &[BigUint]) -> Result<Tested<bool>>;

    /// Devices of this process.
    fn pool(&self) -> &Pool;

    /// Number of processes, each with such devices.
    fn processes(&self) -> usize;

    /// Names of the devices.
    fn name(&self) -> String;
}

impl Engine for Pool {
    fn fermat(&self, shape: Shape, numbers: &[BigUint], base: u32) -> Result<Tested<Fermat>> {
        compute(self, shape, numbers.len(), |chunk, results: &mut [Fermat]| {
            let numbers = chunk.part(numbers)?;
            let rows = DynBatch::from_biguints(chunk.device(), shape, numbers)?;
            let (residues, res64) = rows.fermat_residues(u64::from(base))?;
            for (result, &res64) in results.iter_mut().zip(&res64) {
                *result = Fermat { res64, is_passed: false };
            }
            // Few residues end as 1 does: only those are copied.
            let ones: Vec<usize> = (0..res64.len()).filter(|&row| res64[row] == 1).collect();
            let residues = residues.gather(&ones)?.to_biguints()?;
            for (row, residue) in ones.into_iter().zip(residues) {
                results[row] = Fermat::of(&residue);
            }
            Ok(())
        })
    }

    fn probable_primes(&self, shape: Shape, numbers: &[BigUint]) -> Result<Tested<bool>> {
        compute(self, shape, numbers.len(), |chunk, results: &mut [bool]| {
            let rows = DynBatch::from_biguints(chunk.device(), shape, chunk.part(numbers)?)?;
            for row in rows.is_probable_prime()?.indices()? {
                results[row] = true;
            }
            Ok(())
        })
    }

    fn pool(&self) -> &Pool {
        self
    }

    fn processes(&self) -> usize {
        1
    }

    fn name(&self) -> String {
        names(self)
    }
}

/// Computes a result for each row.
fn compute<R: Clone + Default + Send>(
    pool: &Pool,
    shape: Shape,
    rows: usize,
    work: impl Fn(&Chunk<'_>, &mut [R]) -> Result<()> + Sync,
) -> Result<Tested<R>> {
    let mut results = vec![R::default(); rows];
    let prepare = |_: &Device| Ok(());
    let work = |(): &(), chunk: &Chunk<'_>, results: &mut &mut [R]| work(chunk, results);
    let shares = if shape.bits < MIN_WHOLE_BITS {
        pool.run(shape, rows, &mut results[..], prepare, work)?
    } else {
        pool.run_whole(shape, rows, &mut results[..], prepare, work)?
    };
    Ok(Tested { results, failed: failures(shares).collect() })
}
