//! The smallest factor found so far of each number, and primes shared between threads.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::primes::{Primes, base_of};
use crate::error::Result;
use crate::interrupt::{self, Stop};

/// Numbers of a block, whose primes one thread takes.
const BLOCK: u64 = 1 << 16;

/// Largest limit: [`Field`](super::montgomery::Field) has moduli below 2^63.
pub(super) const LARGEST: u64 = 1 << 62;

/// Smallest factors, as threads find them.
#[derive(Debug)]
pub(super) struct Factors(Vec<AtomicU64>);

impl Factors {
    pub(super) fn new(count: usize) -> Self {
        Self((0..count).map(|_| AtomicU64::new(u64::MAX)).collect())
    }

    /// Records that `prime` divides the number with this index.
    pub(super) fn record(&self, index: usize, prime: u64) {
        // Most factors come in ascending order.
        if self.0[index].load(Ordering::Relaxed) > prime {
            self.0[index].fetch_min(prime, Ordering::Relaxed);
        }
    }

    /// The smallest factors; 0 for numbers without one.
    pub(super) fn finish(self) -> Vec<u64> {
        let factor = |it: AtomicU64| Some(it.into_inner()).filter(|&it| it < u64::MAX).unwrap_or(0);
        self.0.into_iter().map(factor).collect()
    }
}

/// Calls `sieve` with the primes of a range in blocks, on all threads; `make` makes the state of a
/// thread.
pub(super) fn for_primes<S>(
    range: Range<u64>,
    make: impl Fn() -> S + Sync + Send,
    sieve: impl Fn(&mut S, Primes) + Sync + Send,
) -> Result<()> {
    let limit = range.end.min(LARGEST);
    let base: Arc<[u32]> = base_of(limit);
    let stop = Stop::current();
    interrupt::on_pool(|| {
        let blocks = range.start / BLOCK..limit.div_ceil(BLOCK);
        blocks.into_par_iter().try_for_each_init(&make, |state, block| {
            stop.during(|| {
                let start = block * BLOCK;
                let end = limit.min(start.saturating_add(BLOCK));
                sieve(state, Primes::with_base(&base, start.max(range.start)..end));
                Ok(())
            })
        })
    })
}
