//! Order of rows by value.
//!
//! The host sorts, and the device moves the rows. The host gets a key of each row: as many leading
//! bits, below the top bit of the longest row, as the narrowest shape has. Only rows whose keys are
//! equal are copied in full. So wide rows stay on the device, and no row is copied more than once.

use std::cmp::Ordering;
use std::ops::Range;

use rayon::slice::ParallelSliceMut;

use super::{View, faces};
use crate::backend::host::{collected, reserved_vec};
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::mask::Mask;
use crate::shape::narrowest;
use crate::threads;

impl View<'_> {
    pub(crate) fn sort(&self) -> Result<DynBatch> {
        self.gather(&self.sort_indices()?)
    }

    pub(crate) fn sort_indices(&self) -> Result<Vec<usize>> {
        let longest = self.bit_lengths()?.into_iter().max().unwrap_or(0) as usize;
        let key = narrowest(0).unwrap_or(self.shape());
        let below = longest.saturating_sub(key.bits);
        let keys = Rows { bytes: self.shr(below)?.resized(key)?.to_le_bytes()?, row: key.bytes() };
        let mut order = collected(0..self.len())?;
        sort_by(&mut order, |&a, &b| keys.cmp(a, b).then(a.cmp(&b)));
        if below == 0 {
            return Ok(order);
        }
        let ties = keys.ties(&order)?;
        let mut tied = reserved_vec(ties.iter().map(Range::len).sum())?;
        ties.iter().for_each(|tie| tied.extend_from_slice(&order[tie.clone()]));
        let bytes = self.gather(&tied)?.to_le_bytes()?;
        let rows = Rows { bytes, row: self.shape().bytes() };
        let mut first = 0;
        for tie in ties {
            let mut positions = collected(first..first + tie.len())?;
            first += tie.len();
            sort_by(&mut positions, |&a, &b| rows.cmp(a, b).then(a.cmp(&b)));
            for (row, position) in order[tie].iter_mut().zip(positions) {
                *row = tied[position];
            }
        }
        Ok(order)
    }

    pub(crate) fn unique(&self) -> Result<DynBatch> {
        let sorted = self.sort()?;
        let Some(last) = sorted.len().checked_sub(1) else { return Ok(sorted) };
        let is_repeated = sorted.slice(1..last + 1)?.eq_mask(&sorted.slice(0..last)?)?;
        let is_repeated = is_repeated.to_bools()?;
        let others = is_repeated.iter().map(|is_repeated| !is_repeated);
        let is_kept = collected(std::iter::once(true).chain(others))?;
        sorted.filter(&Mask::from_bools(self.device(), &is_kept)?)
    }
}

/// Sorts on all cores.
fn sort_by(indices: &mut [usize], compare: impl Fn(&usize, &usize) -> Ordering + Sync) {
    /// Most indices that rayon sorts without another thread.
    const SHORT: usize = 2000;
    if indices.len() <= SHORT {
        return indices.sort_unstable_by(compare);
    }
    threads::install(|| indices.par_sort_unstable_by(&compare));
}

/// Rows on the host, least significant byte first.
struct Rows {
    bytes: Vec<u8>,
    row: usize,
}

impl Rows {
    /// The words of a row, the most significant one first.
    fn words(&self, index: usize) -> impl Iterator<Item = u64> {
        self.bytes[index * self.row..][..self.row].rchunks(size_of::<u64>()).map(|chunk| {
            let mut word = [0; size_of::<u64>()];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        })
    }

    fn cmp(&self, a: usize, b: usize) -> Ordering {
        self.words(a).cmp(self.words(b))
    }

    /// The ranges of equal rows, of two or more, in sorted rows.
    fn ties(&self, order: &[usize]) -> Result<Vec<Range<usize>>> {
        let mut start = 0;
        let runs = order.chunk_by(|&a, &b| self.cmp(a, b).is_eq()).map(|run| {
            start += run.len();
            start - run.len()..start
        });
        collected(runs.filter(|run| run.len() > 1))
    }
}

faces! {
    "Order by value";

    /// Returns the rows in ascending order of their values. The host sorts leading bits, and the
    /// device moves the rows.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let rows = [7u32, 5, 7, 0].map(BigUint::from);
    /// let a = Batch::<GpuUint<1024>>::from_biguints(&device, &rows)?;
    /// assert_eq!(a.sort()?.to_biguints()?, [0u32, 5, 7, 7].map(BigUint::from));
    /// assert_eq!(a.sort_indices()?, [3, 1, 0, 2]);
    /// assert_eq!(a.unique()?.to_biguints()?, [0u32, 5, 7].map(BigUint::from));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors of any operation: [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`KernelMissing`](crate::Error::KernelMissing), [`Compile`](crate::Error::Compile),
    /// [`Driver`](crate::Error::Driver).
    fn sort() -> New;

    /// Returns the indices of the rows in ascending order of their values, for
    /// [`gather`](Self::gather). Equal rows keep their order.
    ///
    /// # Errors
    /// As [`sort`](Self::sort).
    fn sort_indices() -> Indices;

    /// Returns the different values of the rows, each once, in ascending order.
    ///
    /// # Errors
    /// As [`sort`](Self::sort).
    fn unique() -> New;
}
