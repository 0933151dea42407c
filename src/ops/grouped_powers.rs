//! Powers of many rows, of one exponent or one base, modulo one divisor, on handles that verify
//! their results.
//!
//! Powers are multiplicative. The results `y_r = x_r^e mod n` of a group of `k` rows satisfy
//!
//! ```text
//! (x_1 x_2 .. x_k)^e = y_1 y_2 .. y_k    (mod n),
//! ```
//!
//! so that one more power and `2 (k - 1)` products check `k` powers (M. Bellare, J. Garay and
//! T. Rabin, "Fast batch verification for modular exponentiation and digital signatures",
//! EUROCRYPT '98). With results `d_r y_r` a group passes only if the product of its `d_r` is 1:
//! if all `x_r` are coprime to `n`, one wrong row of a group never passes. Wrong rows of one group
//! pass if their `d_r` cancel. The groups are drawn anew for each check, so that a GPU that always
//! fails in the same way does not choose them.
//!
//! The product of all `x_r` and a common divisor on the host show that the rows are coprime to
//! `n`. Otherwise a row that is 0 modulo `n` would hide its group, and the caller checks the rows
//! as those of several divisors.
//!
//! Powers of one base by several exponents satisfy `x^(e_1 + e_2 + .. + e_k) = y_1 y_2 .. y_k`.

use std::hash::{BuildHasher, RandomState};

use gpuint_catalogue::Shape;
use num_bigint::BigUint;
use num_traits::One;

use super::View;
use crate::device::Device;
use crate::divisor::DynDivisor;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::shape::narrowest;
use crate::strategy::Strategy;

/// Rows of a group: its check costs one power.
const GROUP: usize = 16;

/// Computations of the powers before the device counts as faulty.
const ATTEMPTS: usize = 2;

impl View<'_> {
    /// Computes powers by one exponent of any length modulo one divisor for all rows, and checks
    /// them. Returns false, without a result, if a row has a common divisor with the modulus.
    pub(super) fn grouped_powers(
        &self,
        exponent: &BigUint,
        divisor: &DynDivisor,
        out: &mut DynBatch,
    ) -> Result<bool> {
        let View { strategy, .. } = *self;
        let bases = self.batch.try_clone()?.on(&self.device().with_verifier(None))?;
        let groups = Groups::new(self.device(), strategy, divisor)?;
        let power = |rows: &DynBatch| View { batch: rows, strategy }.pow_mod_all(exponent, divisor);
        let all = groups.products(&bases, &Order::new(1))?.row(0)?;
        if !is_coprime(&all, &groups.modulus, self.shape())? {
            return Ok(false);
        }
        let of_groups = |order: &Order| power(&groups.products(&bases, order)?);
        let powers = groups.checked(self.len(), || power(&bases), of_groups, "pow_mod")?;
        powers.view().copy_rows(0..self.len(), out, 0)?;
        Ok(true)
    }
}

/// Returns true if two numbers of at most the bits of the shape have no common divisor.
pub(super) fn is_coprime(a: &BigUint, b: &BigUint, shape: Shape) -> Result<bool> {
    let shape = narrowest(shape.bits).unwrap_or(shape);
    let row = |value: &BigUint| DynBatch::splat(&Device::cpu(), shape, value, 1);
    Ok(row(a)?.gcd(&row(b)?)?.row(0)?.is_one())
}

/// Halvings of the rows to groups: the upper half of the rows left, rotated by a random distance,
/// joins the lower half.
pub(super) struct Order {
    groups: usize,
    seed: RandomState,
}

impl Order {
    fn new(groups: usize) -> Self {
        Self { groups, seed: RandomState::new() }
    }

    /// The next halving of `rows` rows: the first row of the upper half, and the distance.
    fn halving(&self, rows: usize) -> Option<(usize, usize)> {
        (rows > self.groups).then(|| {
            let half = rows.div_ceil(2).max(self.groups);
            (half, self.seed.hash_one(rows) as usize % (rows - half))
        })
    }

    /// The sums of the groups of these exponents.
    pub(super) fn sums(&self, mut exponents: Vec<BigUint>) -> Vec<BigUint> {
        while let Some((half, distance)) = self.halving(exponents.len()) {
            let (lower, upper) = exponents.split_at_mut(half);
            upper.rotate_left(distance);
            for (sum, summand) in lower.iter_mut().zip(upper) {
                *sum += &*summand;
            }
            exponents.truncate(half);
        }
        exponents
    }
}

/// Groups of rows modulo one divisor, of the results of a handle that verifies.
pub(super) struct Groups<'a> {
    device: &'a Device,
    strategy: Strategy,
    divisor: &'a DynDivisor,
    modulus: BigUint,
}

impl<'a> Groups<'a> {
    pub(super) fn new(
        device: &'a Device,
        strategy: Strategy,
        divisor: &'a DynDivisor,
    ) -> Result<Self> {
        let one = DynBatch::splat(device, divisor.shape(), 1, 1)?;
        let modulus = one.view().neg_mod(divisor)?.row(0)? + 1u32;
        Ok(Self { device, strategy, divisor, modulus })
    }

    /// Computes `rows` powers, below the modulus, until the products of groups are the powers that
    /// `of_groups` computes. Both compute without checks.
    pub(super) fn checked(
        &self,
        rows: usize,
        compute: impl Fn() -> Result<DynBatch>,
        of_groups: impl Fn(&Order) -> Result<DynBatch>,
        operation: &'static str,
    ) -> Result<DynBatch> {
        let (mut lowest, mut before) = (0, None);
        for _ in 0..ATTEMPTS {
            let order = Order::new(rows.div_ceil(GROUP));
            let expected = of_groups(&order)?;
            let results = compute()?;
            let Some(group) = self.failing_group(&expected, &results, &order)? else {
                return results.on(self.device);
            };
            // The first row of a group has the number of the group.
            lowest = match &before {
                Some(before) => self.unequal(before, &results)?.unwrap_or(group),
                None => group,
            };
            before = Some(results);
        }
        Err(Error::FaultyDevice { row: lowest, operation })
    }

    /// The products of the groups of rows.
    fn products(&self, rows: &DynBatch, order: &Order) -> Result<DynBatch> {
        let mut products = rows.try_clone()?;
        while let Some((half, distance)) = order.halving(products.len()) {
            let (pairs, split) = (products.len() - half, half + distance);
            let upper = [&products.slice(split..half + pairs)?, &products.slice(half..split)?];
            let upper = DynBatch::concat(&upper)?;
            let lower = products.slice(0..pairs)?;
            let lower = View { batch: &lower, strategy: self.strategy };
            let joined = lower.mul_mod(&upper, self.divisor)?;
            products = DynBatch::concat(&[&joined, &products.slice(pairs..half)?])?;
        }
        Ok(products)
    }

    /// The lowest group whose results fail the check.
    fn failing_group(
        &self,
        expected: &DynBatch,
        results: &DynBatch,
        order: &Order,
    ) -> Result<Option<usize>> {
        // Products hide a multiple of the modulus that is added to a row.
        let checked = results.try_clone()?.on(self.device)?;
        let below = checked.view().lt_mask_all(&self.modulus)?;
        if let Some(&row) = below.not()?.indices()?.first() {
            return Ok(Some(row));
        }
        self.unequal(expected, &self.products(results, order)?)
    }

    /// The lowest row in which two batches differ. The comparison is checked itself.
    fn unequal(&self, a: &DynBatch, b: &DynBatch) -> Result<Option<usize>> {
        let checked = a.try_clone()?.on(self.device)?;
        Ok(checked.view().eq_mask(b)?.not()?.indices()?.first().copied())
    }
}
