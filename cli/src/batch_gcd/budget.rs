//! Limit of the memory of a job.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a MiB.
pub(crate) const MIB: u64 = 1 << 20;

/// Memory that is counted before it is allocated.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    used: AtomicU64,
    /// Most memory in use at a time.
    most: AtomicU64,
}

/// More memory is needed than the limit.
#[derive(Debug, thiserror::Error)]
#[error(
    "{purpose} need {} MiB of memory with what is in use, more than --memory {}",
    needed.div_ceil(MIB), limit / MIB
)]
pub(crate) struct OverBudget {
    purpose: &'static str,
    needed: u64,
    limit: u64,
}

impl Budget {
    /// Makes a budget of `mib` MiB.
    pub(crate) fn new(mib: u64) -> Self {
        Self { limit: mib.saturating_mul(MIB), used: AtomicU64::new(0), most: AtomicU64::new(0) }
    }

    /// Counts memory that stays in use.
    pub(crate) fn charge(&self, purpose: &'static str, bytes: u64) -> Result<(), OverBudget> {
        let add = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= self.limit);
        let added = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        let over = |used: u64| OverBudget {
            purpose,
            needed: used.saturating_add(bytes),
            limit: self.limit,
        };
        let before = added.map_err(over)?;
        self.most.fetch_max(before + bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the most memory that was counted at a time, in MiB.
    pub(crate) fn most_mib(&self) -> u64 {
        self.most.load(Ordering::Relaxed).div_ceil(MIB)
    }

    /// Returns memory.
    pub(crate) fn release(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_is_the_highest_sum_of_charges_within_the_limit() {
        let budget = Budget::new(10);
        budget.charge("keys", 3 * MIB).unwrap();
        budget.charge("trees", 6 * MIB + 1).unwrap();
        budget.release(6 * MIB + 1);
        assert!(budget.charge("trees", 8 * MIB).is_err());
        budget.charge("trees", 2 * MIB).unwrap();
        assert_eq!(budget.most_mib(), 10);
    }
}
