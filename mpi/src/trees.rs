//! Common divisors of rows on all ranks.
//!
//! Each rank multiplies its rows, and receives the products of the other ranks once: as many bits
//! as their rows have together. It compares its rows with each other and with these products.

use gpuint::num_bigint::BigUint;
use gpuint::{DynBatch, DynProductTree, Result};
use mpi::request::scope;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};

use super::Ranks;

/// Most bits of the rows of one product: GPUs have trees up to this length.
const MAX_TREE_BITS: usize = (1 << 30) - 128;

/// Result of [`Ranks::batch_gcd`] on one rank.
#[derive(Debug)]
#[non_exhaustive]
pub struct RankDivisors {
    /// Divisors of the rank's rows.
    pub divisors: DynBatch,
    /// Bytes that other ranks sent: their products, and 8 bytes for each of at most 2^30 bits.
    pub received_bytes: u64,
}

impl Ranks {
    /// Computes the greatest common divisor of each row of this rank and the product of all other
    /// rows of all ranks, as `DynBatch::batch_gcd` does for one device. All ranks call this, each
    /// with rows of its own, of any number and width.
    ///
    /// # Errors
    /// As `DynBatch::batch_gcd`. Other ranks still wait for the products of a rank that has none
    /// for lack of memory. A row that is zero is an error of its rank alone, after the exchange.
    pub fn batch_gcd(&self, rows: &DynBatch) -> Result<RankDivisors> {
        let others = self.exchanged(&message(&products(rows)?));
        let received_bytes = others.iter().map(|bytes| bytes.len() as u64).sum();
        let others: Vec<BigUint> = others.iter().flat_map(|bytes| integers(bytes)).collect();
        let divisors = rows.batch_gcd_against(&others)?;
        Ok(RankDivisors { divisors, received_bytes })
    }

    /// Sends bytes to all other ranks, and returns theirs in the order of the ranks.
    fn exchanged(&self, own: &[u8]) -> Vec<Vec<u8>> {
        let mut lengths = vec![0u64; self.count()];
        self.world.all_gather_into(&(own.len() as u64), &mut lengths[..]);
        let ranks = (0..self.count()).filter(|&rank| rank != self.rank());
        let mut all: Vec<(usize, Vec<u8>)> =
            ranks.map(|rank| (rank, vec![0; lengths[rank] as usize])).collect();
        scope(|scope| {
            let (mut sent, mut received) = (Vec::new(), Vec::new());
            for (rank, theirs) in &mut all {
                let process = self.world.process_at_rank(*rank as i32);
                let messages = own.chunks(self.message_bytes);
                sent.extend(messages.map(|bytes| process.immediate_send(scope, bytes)));
                let messages = theirs.chunks_mut(self.message_bytes);
                received.extend(messages.map(|it| process.immediate_receive_into(scope, it)));
            }
            sent.into_iter().for_each(|request| _ = request.wait());
            received.into_iter().for_each(|request| _ = request.wait());
        });
        all.into_iter().map(|(_, bytes)| bytes).collect()
    }
}

/// Returns numbers whose product is that of all rows.
fn products(rows: &DynBatch) -> Result<Vec<BigUint>> {
    let most = (MAX_TREE_BITS / rows.shape().bits).max(1);
    let parts = (0..rows.len()).step_by(most);
    parts
        .map(|start| {
            let part = rows.slice(start..rows.len().min(start + most))?;
            Ok(DynProductTree::new(&part)?.root())
        })
        .collect()
}

/// Bytes of the length of a number in a message.
const LENGTH_BYTES: usize = size_of::<u64>();

/// Returns numbers as bytes, each after their number.
fn message(numbers: &[BigUint]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in numbers {
        let number = number.to_bytes_le();
        bytes.extend((number.len() as u64).to_le_bytes());
        bytes.extend(number);
    }
    bytes
}

/// Returns the numbers of a message.
fn integers(mut bytes: &[u8]) -> impl Iterator<Item = BigUint> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
        let (number, rest) = rest.split_at_checked(u64::from_le_bytes(*length) as usize)?;
        bytes = rest;
        Some(BigUint::from_bytes_le(number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_return_their_numbers() {
        let numbers = [1u32, 0, 255, 256, u32::MAX].map(|it| BigUint::from(it).pow(5));
        for count in 0..=numbers.len() {
            let numbers = &numbers[..count];
            assert!(integers(&message(numbers)).eq(numbers.iter().cloned()));
        }
    }
}
