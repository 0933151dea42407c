//! Tests numbers on the ranks of MPI.

use gpuint::{Pool, Result, Shape};
use num_bigint::BigUint;

use super::engine::{Engine, Fermat, Tested};
use crate::job::ranks::{Cluster, Order};

/// Detail of an order in place of a base: the test of R. Baillie and S. Wagstaff.
const BAILLIE_PSW: u32 = 0;

/// Bytes of a result: the low 64 bits of the residue, and 1 for a test that is passed.
const RESULT_BYTES: usize = 9;

/// Tests this rank's share of the numbers that rank 0 ordered. The detail of the order is a base.
pub(crate) fn serve(cluster: &Cluster, order: Order) -> Result<()> {
    test_share(cluster, order, &[], &mut []).map(|_| ())
}

/// Tests this rank's share of the numbers; rank 0 has the bytes of `all`. Returns the message of
/// each rank at rank 0.
fn test_share(
    cluster: &Cluster,
    order: Order,
    all: &[u8],
    results: &mut [u8],
) -> Result<Vec<String>> {
    let Order { shape, rows, detail } = order;
    let (ranks, row) = (&cluster.ranks, shape.bytes());
    let mut part = cluster.share(order)?;
    ranks.scatter(rows, row, all, part.as_bytes_mut()?)?;
    let numbers: Vec<BigUint> =
        part.as_bytes()?.chunks_exact(row).map(BigUint::from_bytes_le).collect();
    let (mut bytes, mut message) = (vec![0; numbers.len() * RESULT_BYTES], String::new());
    match test(&cluster.pool, shape, &numbers, detail as u32) {
        Ok(tested) => {
            for (bytes, result) in bytes.chunks_exact_mut(RESULT_BYTES).zip(tested.results) {
                let (res64, is_passed) = bytes.split_at_mut(size_of::<u64>());
                res64.copy_from_slice(&result.res64.to_le_bytes());
                is_passed[0] = result.is_passed.into();
            }
        }
        Err(error) => message = error.to_string(),
    }
    ranks.gather(rows, RESULT_BYTES, &bytes, results)?;
    Ok(cluster.gather_messages(&message))
}

/// Computes the Fermat tests to a base, or the test of Baillie and Wagstaff.
fn test(pool: &Pool, shape: Shape, numbers: &[BigUint], base: u32) -> Result<Tested<Fermat>> {
    if base != BAILLIE_PSW {
        return pool.fermat(shape, numbers, base);
    }
    let Tested { results, failed } = pool.probable_primes(shape, numbers)?;
    let result = |is_passed| Fermat { res64: 0, is_passed };
    Ok(Tested { results: results.into_iter().map(result).collect(), failed })
}

/// At rank 0, tests numbers on all ranks.
fn test_on_ranks(
    cluster: &Cluster,
    shape: Shape,
    numbers: &[BigUint],
    base: u32,
) -> Result<Tested<Fermat>> {
    let order = Order { shape, rows: numbers.len(), detail: base.into() };
    let mut all = vec![0; numbers.len() * shape.bytes()];
    for (row, number) in all.chunks_exact_mut(shape.bytes()).zip(numbers) {
        let bytes = number.to_bytes_le();
        row[..bytes.len()].copy_from_slice(&bytes);
    }
    let mut bytes = vec![0; numbers.len() * RESULT_BYTES];
    cluster.order(order);
    let messages = test_share(cluster, order, &all, &mut bytes)?;
    let result = |bytes: &[u8]| {
        let (&is_passed, res64) = bytes.split_last()?;
        Some(Fermat { res64: u64::from_le_bytes(res64.try_into().ok()?), is_passed: is_passed > 0 })
    };
    let mut results: Vec<Fermat> = bytes.chunks_exact(RESULT_BYTES).filter_map(result).collect();
    let failed = cluster.repeat_failed(numbers.len(), &messages, |share| {
        let again = test(&cluster.pool, shape, &numbers[share.clone()], base)?;
        results[share].copy_from_slice(&again.results);
        Ok(())
    })?;
    Ok(Tested { results, failed })
}

impl Engine for Cluster {
    fn fermat(&self, shape: Shape, numbers: &[BigUint], base: u32) -> Result<Tested<Fermat>> {
        test_on_ranks(self, shape, numbers, base)
    }

    fn probable_primes(&self, shape: Shape, numbers: &[BigUint]) -> Result<Tested<bool>> {
        let Tested { results, failed } = test_on_ranks(self, shape, numbers, BAILLIE_PSW)?;
        Ok(Tested { results: results.iter().map(|result| result.is_passed).collect(), failed })
    }

    fn pool(&self) -> &Pool {
        &self.pool
    }

    fn processes(&self) -> usize {
        self.ranks.count()
    }

    fn name(&self) -> String {
        self.names()
    }
}
