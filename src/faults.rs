//! Faults of results, for tests of the checks of `verify`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gpuint_catalogue::Op;

use crate::backend::{Backend, Call, Operands};
use crate::error::Result;
use crate::kernel::KernelId;

/// Returns true if the operation checks results of others.
const fn is_check(op: Op) -> bool {
    matches!(op, Op::CheckEquation | Op::CheckDivRemBy | Op::CheckEqual)
}

/// Faults for tests of checks: bits of results that flip after a kernel has written them.
///
/// A handle of [`Device::with_faults`](crate::Device::with_faults) has them, on every backend.
#[derive(Debug, Default)]
pub struct Faults {
    /// Launches that remain whole before the first fault.
    skipped: AtomicU64,
    /// Launches whose results are harmed after those.
    harmed: AtomicU64,
    /// Row of all faults; `None` for one that is drawn each time.
    row: Option<usize>,
    seed: AtomicU64,
    launches: AtomicU64,
    flips: AtomicU64,
}

impl Faults {
    /// Harms the results of `count` launches after the first `skipped` ones: one bit of one result,
    /// drawn by `seed`, in this row or in any.
    #[must_use]
    pub fn new(seed: u64, skipped: u64, count: u64, row: Option<usize>) -> Arc<Self> {
        Arc::new(Self {
            skipped: skipped.into(),
            harmed: count.into(),
            row,
            seed: seed.into(),
            ..Self::default()
        })
    }

    /// Number of launches so far, those of checks not counted.
    #[must_use]
    pub fn launches(&self) -> u64 {
        self.launches.load(Ordering::Relaxed)
    }

    /// Number of bits that have flipped.
    #[must_use]
    pub fn flips(&self) -> u64 {
        self.flips.load(Ordering::Relaxed)
    }

    /// Draws a number below `bound` by splitmix64 (G. Steele, D. Lea and C. Flood, OOPSLA 2014).
    fn draw(&self, bound: usize) -> usize {
        const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.seed.fetch_add(GAMMA, Ordering::Relaxed).wrapping_add(GAMMA);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) as usize % bound.max(1)
    }

    /// Returns true if the results of this launch are harmed.
    fn is_due(&self) -> bool {
        let take = |left: &AtomicU64| {
            let lessened = |count: u64| count.checked_sub(1);
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, lessened).is_ok()
        };
        self.launches.fetch_add(1, Ordering::Relaxed);
        !take(&self.skipped) && take(&self.harmed)
    }

    /// Flips a bit of the results of a launch, if it is due.
    pub(crate) fn strike(
        &self,
        memory: &dyn Backend,
        kernel: KernelId,
        operands: &mut Operands<'_>,
    ) -> Result<()> {
        if is_check(kernel.op()) || !self.is_due() {
            return Ok(());
        }
        let params = operands.params;
        let call = Call { kernel, operands: Operands { params, ..Operands::default() } };
        let row_bits = [0, 1].map(|index| 8 * call.out_row_bytes(index));
        let Operands { outs: [c, d], mask, rows, .. } = operands.reborrow();
        let results = [(c, row_bits[0]), (d, row_bits[1]), (mask, 1)];
        let mut results: Vec<_> =
            results.into_iter().filter_map(|(out, bits)| Some((out?, bits))).collect();
        let row = self.row.unwrap_or_else(|| self.draw(rows)).min(rows - 1);
        let index = self.draw(results.len());
        let Some((out, row_bits)) = results.get_mut(index) else { return Ok(()) };
        let bit = row * *row_bits + self.draw(*row_bits);
        let mut byte = [0];
        memory.download(out, bit as u64 / 8, &mut byte)?;
        byte[0] ^= 1 << (bit % 8);
        memory.upload(out, bit as u64 / 8, &byte)?;
        self.flips.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}
