//! Repeated squares modulo divisors on handles that verify their results.
//!
//! R. Gerbicz's check (mersenneforum.org, 2017; D. Li, "An efficient modular exponentiation proof
//! scheme", arXiv 2209.15623): a chain `y_0, y_1, .., y_k` with `y_(i+1) = y_i^(2^L)` satisfies
//!
//! ```text
//! y_0 (y_0 y_1 .. y_(k-1))^(2^L) = y_0 y_1 .. y_k    (mod n).
//! ```
//!
//! One more step of `L` squares and a product for each step check all `k L` squares. One step with
//! the wrong result `e y_i^(2^L)` makes the right side `e` times the left one. It passes only if
//! `n` divides `e - 1` times that side: never if the rows are coprime to `n`. Rows that are zero
//! modulo `n` stay zero and are not checked. The squares before the first whole step are computed
//! twice.

use std::mem;

use num_bigint::BigUint;

use super::View;
use crate::divisor::DynDivisor;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};

/// Steps that one check covers at most: a failure repeats them.
const MAX_STEPS: usize = 64;

/// Computations of the squares of a check before the device counts as faulty.
const ATTEMPTS: usize = 2;

impl View<'_> {
    /// Squares the rows `count` times in steps of `step` squares, by divisors with reciprocals.
    pub(super) fn square_repeatedly_checked(
        &self,
        count: usize,
        step: usize,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<()> {
        let plain = self.device().with_verifier(None);
        let start = self.batch.try_clone()?.on(&plain)?;
        let chain = Chain { view: *self, step, divisor };
        let rest = count % step;
        let mut power = repeated(|| {
            let (power, again) = (chain.squared(&start, rest)?, chain.squared(&start, rest)?);
            Ok((chain.unequal(&power, &again)?, power))
        })?;
        let mut steps = count / step;
        while steps > 0 {
            // Parts of about the same length: the check of a short one costs as much.
            let length = steps.div_ceil(steps.div_ceil(MAX_STEPS));
            power = repeated(|| chain.steps(&power, length))?;
            steps -= length;
        }
        power.on(self.device())?.view().copy_rows(0..self.len(), out, 0)
    }
}

/// Computes until the check of the result finds no row, at most [`ATTEMPTS`] times.
fn repeated(compute: impl Fn() -> Result<(Option<usize>, DynBatch)>) -> Result<DynBatch> {
    let mut lowest = 0;
    for _ in 0..ATTEMPTS {
        match compute()? {
            (None, power) => return Ok(power),
            (Some(row), _) => lowest = row,
        }
    }
    Err(Error::FaultyDevice { row: lowest, operation: "square_mod_repeatedly" })
}

/// A chain of squares, on a handle without checks of its own.
struct Chain<'a> {
    view: View<'a>,
    /// Squares of a step.
    step: usize,
    divisor: &'a DynDivisor,
}

impl Chain<'_> {
    fn on<'b>(&self, batch: &'b DynBatch) -> View<'b> {
        View { batch, strategy: self.view.strategy }
    }

    /// The rows squared `squares` times.
    fn squared(&self, rows: &DynBatch, squares: usize) -> Result<DynBatch> {
        let exponent = self.on(rows).row_of(&(BigUint::from(1u32) << squares))?;
        self.on(rows).produce(|out| self.on(rows).short_powers_all(&exponent, self.divisor, out))
    }

    fn product(&self, a: &DynBatch, b: &DynBatch) -> Result<DynBatch> {
        self.on(a).mul_mod(b, self.divisor)
    }

    /// The lowest row in which two batches differ. The comparison is checked itself.
    fn unequal(&self, a: &DynBatch, b: &DynBatch) -> Result<Option<usize>> {
        let checked = a.try_clone()?.on(self.view.device())?;
        Ok(checked.view().eq_mask(b)?.not()?.indices()?.first().copied())
    }

    /// The rows after some steps, and the lowest row that fails the check.
    fn steps(&self, first: &DynBatch, count: usize) -> Result<(Option<usize>, DynBatch)> {
        let exponent = self.on(first).row_of(&(BigUint::from(1u32) << self.step))?;
        let mut last = first.try_clone()?;
        let mut next = first.try_clone()?;
        let mut product = first.try_clone()?;
        for index in 0..count {
            if index > 0 {
                product = self.product(&product, &last)?;
            }
            self.on(&last).short_powers_all(&exponent, self.divisor, &mut next)?;
            mem::swap(&mut last, &mut next);
        }
        let left = self.product(first, &self.squared(&product, self.step)?)?;
        let right = self.product(&product, &last)?;
        Ok((self.unequal(&left, &right)?, last))
    }
}
