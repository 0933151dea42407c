//! Tests for probable primes, one file each.
//!
//! A prime passes every test, and so a row that does not pass is composite. The tests differ in the
//! composite rows that they let pass. All of them treat small and even rows alike: 2 passes, and 0,
//! 1 and other even rows do not.

mod baillie_psw;
mod factors;
mod fermat;
mod lucas;
mod next;
mod random;
mod strong;
mod wheel;

use num_bigint::BigUint;

use super::{View, faces};
use crate::backend::host::{collected, zeroed_vec};
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::mask::{Mask, Table};

impl View<'_> {
    /// Returns the mask of a test: `test` gets the odd rows above 1 and returns one bool for each.
    fn tested(&self, test: impl FnOnce(View<'_>, &[usize]) -> Result<Vec<bool>>) -> Result<Mask> {
        let one = self.eq_mask_all(&BigUint::from(1u32))?;
        let odd = self.bit_mask(0)?.combine(&one, Table::AND_NOT)?.indices()?;
        let two = self.eq_mask_all(&BigUint::from(2u32))?;
        if odd.is_empty() {
            return Ok(two);
        }
        if odd.len() == self.len() {
            return Mask::from_bools(self.device(), &test(*self, &odd)?);
        }
        let rows = self.gather(&odd)?;
        let passes = test(View { batch: &rows, strategy: self.strategy }, &odd)?;
        let mut all: Vec<bool> = zeroed_vec(self.len())?;
        for (&row, passes) in odd.iter().zip(passes) {
            all[row] = passes;
        }
        Mask::from_bools(self.device(), &all)?.or(&two)
    }
}

/// Returns the indices of the rows that are set.
fn set_rows(rows: &[bool]) -> Result<Vec<usize>> {
    collected((0..rows.len()).filter(|&row| rows[row]))
}

/// Returns the values at the indices.
fn picked<V: Copy>(values: &[V], rows: &[usize]) -> Result<Vec<V>> {
    collected(rows.iter().map(|&row| values[row]))
}

/// Returns one value modulo each of the rows, which are not zero.
fn residues_of(value: &BigUint, rows: View<'_>) -> Result<DynBatch> {
    let (device, shape) = (rows.device(), rows.shape());
    if value.bits() <= shape.bits as u64 {
        return DynBatch::splat(device, shape, value, rows.len())?.view().rem(rows.batch);
    }
    let residues = rows.batch.to_biguints()?.into_iter().map(|n| value % n);
    DynBatch::from_biguints(device, shape, residues)
}
