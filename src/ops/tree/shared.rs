//! Factors that rows share: a base of pairwise coprime numbers for all rows with common divisors.
//!
//! Equal rows are one, so that duplicates are told from common divisors. A common divisor `g` of a
//! number `n` with the product of all others splits it in `g` and `n / g` if `1 < g < n`, and `g =
//! 1` says that it is coprime to all others for good: their parts are divisors of them. Each round
//! computes the divisors of all numbers that remain by a [`DynProductTree`] (D. Bernstein,
//! "Factoring into coprimes in essentially linear time", Journal of Algorithms 54, 2005, for
//! coprime bases).
//!
//! A number with `g = n`, such as a key both of whose primes are in other keys, needs a part of the
//! others: it may share one of its primes only with them. Random parts of density 1/2, 1/4, ..
//! split most of these numbers, and pairs split the rest. A pair always does: `n` has a common
//! divisor `d > 1` with some `m`; if `d < n`, it splits `n`, else `n` divides `m`, and splits it.
//!
//! So the base is exact for every input, also for rows that divide each other and prime powers.
//! Its numbers need not be primes: nobody asked for a factorization.

use std::collections::HashMap;

use num_bigint::BigUint;
use num_traits::One;

use super::DynProductTree;
use crate::backend::host::{check_room, collected, zeroed_vec};
use crate::batch::Batch;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::shape::Kernels;

/// A row that has a common divisor with another row: [`shared_factors`](DynBatch::shared_factors).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SharedFactors {
    /// Index of the row.
    pub row: usize,
    /// Factors of the row in ascending order, with repetition: their product is the row. Factors of
    /// all rows are equal or coprime. A row without a common divisor but with duplicates is its
    /// only factor.
    pub factors: Vec<BigUint>,
    /// Rows of other values that have a common divisor with this row, in ascending order.
    pub partners: Vec<usize>,
    /// Other rows of the same value, in ascending order.
    pub duplicates: Vec<usize>,
}

/// Numbers and their splits.
#[derive(Default)]
struct Base {
    numbers: Vec<BigUint>,
    indices: HashMap<BigUint, usize>,
    /// Both parts of a number that is split.
    parts: Vec<Option<[usize; 2]>>,
}

impl Base {
    /// Returns the index of a number.
    fn index(&mut self, number: BigUint) -> usize {
        let Self { numbers, indices, parts } = self;
        *indices.entry(number).or_insert_with_key(|number| {
            numbers.push(number.clone());
            parts.push(None);
            numbers.len() - 1
        })
    }

    /// Splits a number by a divisor of it; returns true if it is a proper one of a whole number.
    fn split(&mut self, index: usize, divisor: &BigUint) -> bool {
        let number = &self.numbers[index];
        if divisor.is_one() || divisor == number || self.parts[index].is_some() {
            return false;
        }
        let rest = number / divisor;
        let parts = [self.index(divisor.clone()), self.index(rest)];
        self.parts[index] = Some(parts);
        true
    }

    /// Returns the indices of the numbers of which a number is the product, in ascending order of
    /// their values.
    fn factors(&self, index: usize) -> Vec<usize> {
        let (mut whole, mut open) = (Vec::new(), vec![index]);
        while let Some(index) = open.pop() {
            match self.parts[index] {
                Some(parts) => open.extend(parts),
                None => whole.push(index),
            }
        }
        whole.sort_by(|&a, &b| self.numbers[a].cmp(&self.numbers[b]));
        whole
    }

    /// Splits numbers until all of them are coprime.
    fn refine(&mut self, batch: &DynBatch, numbers: Vec<usize>) -> Result<()> {
        let mut open = numbers;
        while open.len() > 1 {
            let rows = self.rows(batch, &open)?;
            let divisors = rows.batch_gcd()?.to_biguints()?;
            let mut has_split = false;
            let mut next = Vec::new();
            for (&index, divisor) in open.iter().zip(&divisors) {
                has_split |= self.split(index, divisor);
                match self.parts[index] {
                    Some(parts) => next.extend(parts),
                    // It is coprime to all others.
                    None if divisor.is_one() => {}
                    None => next.push(index),
                }
            }
            if !has_split && !next.is_empty() {
                self.split_some(batch, &next)?;
                next = collected(next.iter().flat_map(|&index| match self.parts[index] {
                    Some(parts) => parts.to_vec(),
                    None => vec![index],
                }))?;
            }
            next.sort_unstable();
            next.dedup();
            next.retain(|&index| !self.numbers[index].is_one() && self.parts[index].is_none());
            open = next;
        }
        Ok(())
    }

    /// Splits some of distinct numbers, of which each divides the product of the others.
    fn split_some(&mut self, batch: &DynBatch, open: &[usize]) -> Result<()> {
        let rounds = 2 * u64::from(open.len().ilog2()) + 2;
        for round in 0..rounds {
            interrupt::check()?;
            let density = round / 2 + 1;
            let is_chosen = |index: usize| hash(round, index as u64) >> (64 - density) == 0;
            let (chosen, others): (Vec<usize>, Vec<usize>) =
                open.iter().copied().partition(|&index| is_chosen(index));
            if chosen.is_empty() || others.is_empty() {
                continue;
            }
            let (a, b) = (self.rows(batch, &chosen)?, self.rows(batch, &others)?);
            let (a_tree, b_tree) = (DynProductTree::new(&a)?, DynProductTree::new(&b)?);
            let of_a = a_tree.remainders(&b_tree.root())?.gcd(&a)?.to_biguints()?;
            let of_b = b_tree.remainders(&a_tree.root())?.gcd(&b)?.to_biguints()?;
            let mut has_split = false;
            for (&index, divisor) in chosen.iter().chain(&others).zip(of_a.iter().chain(&of_b)) {
                has_split |= self.split(index, divisor);
            }
            if has_split {
                return Ok(());
            }
        }
        for &index in open {
            let number = self.numbers[index].clone();
            let rows = self.rows(batch, open)?;
            let all = DynBatch::splat(rows.device(), rows.shape(), &number, rows.len())?;
            let mut has_split = false;
            for (&other, divisor) in open.iter().zip(rows.gcd(&all)?.to_biguints()?) {
                if other != index {
                    has_split |= self.split(index, &divisor);
                    has_split |= self.split(other, &divisor);
                }
            }
            if has_split {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns numbers as rows like those of a batch.
    fn rows(&self, batch: &DynBatch, indices: &[usize]) -> Result<DynBatch> {
        let numbers = collected(indices.iter().map(|&index| &self.numbers[index]))?;
        DynBatch::from_biguints(batch.device(), batch.shape(), numbers)
    }
}

/// A hash of two numbers (splitmix64: G. Steele, D. Lea and C. Flood, OOPSLA 2014).
fn hash(round: u64, index: u64) -> u64 {
    let mut word = (round << 32 ^ index).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// Rows of each value above 1, values in the order of their first rows.
fn distinct(batch: &DynBatch) -> Result<Vec<(BigUint, Vec<usize>)>> {
    let mut values: Vec<(BigUint, Vec<usize>)> = Vec::new();
    let mut indices: HashMap<BigUint, usize> = HashMap::new();
    for (row, value) in batch.to_biguints()?.into_iter().enumerate() {
        if value == BigUint::ZERO {
            return Err(Error::DivisionByZero { row });
        }
        if value.is_one() {
            continue;
        }
        let index = *indices.entry(value).or_insert_with_key(|value| {
            values.push((value.clone(), Vec::new()));
            values.len() - 1
        });
        values[index].1.push(row);
    }
    Ok(values)
}

impl DynBatch {
    /// Returns the rows that have a common divisor above 1 with another row, with their factors, in
    /// ascending order of the rows. It is [`batch_gcd`](Self::batch_gcd) of the rows without their
    /// duplicates, and then of the rows that it finds, until their factors are coprime.
    ///
    /// ```
    /// use gpuint::{Device, DynBatch};
    /// use num_bigint::BigUint;
    ///
    /// let keys = [101u32 * 103, 107 * 109, 101 * 113, 103 * 113].map(BigUint::from);
    /// let found = DynBatch::fitting(&Device::cpu(), &keys)?.shared_factors()?;
    /// assert_eq!(found.len(), 3);
    /// assert_eq!(found[1].row, 2);
    /// assert_eq!(found[1].factors, [101u32, 113].map(BigUint::from));
    /// assert_eq!(found[1].partners, [0, 3]);
    /// assert!(found[1].duplicates.is_empty());
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`batch_gcd`](Self::batch_gcd).
    pub fn shared_factors(&self) -> Result<Vec<SharedFactors>> {
        // Values are in a list and in a table.
        check_room(self.len().saturating_mul(3), self.shape().bytes() + size_of::<[usize; 8]>())?;
        let values = distinct(self)?;
        let rows =
            DynBatch::from_biguints(self.device(), self.shape(), values.iter().map(|v| &v.0))?;
        let divisors = rows.batch_gcd()?.to_biguints()?;
        drop(rows);
        let mut base = Base::default();
        let mut indices = Vec::new();
        for ((value, _), divisor) in values.iter().zip(&divisors) {
            indices.push((!divisor.is_one()).then(|| base.index(value.clone())));
        }
        base.refine(self, collected(indices.iter().flatten().copied())?)?;
        let mut of_factor: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut factors = Vec::new();
        for (value, index) in indices.iter().enumerate() {
            let of_value = index.map(|index| base.factors(index)).unwrap_or_default();
            for (place, &factor) in of_value.iter().enumerate() {
                if place == 0 || of_value[place - 1] != factor {
                    of_factor.entry(factor).or_default().push(value);
                }
            }
            factors.push(of_value);
        }
        let mut found = Vec::new();
        let mut is_partner: Vec<bool> = zeroed_vec(values.len())?;
        for (index, (value, of_value)) in values.iter().zip(&factors).enumerate() {
            let mut others = Vec::new();
            for &other in of_value.iter().flat_map(|factor| &of_factor[factor]) {
                if other != index && !std::mem::replace(&mut is_partner[other], true) {
                    others.push(other);
                }
            }
            others.iter().for_each(|&other| is_partner[other] = false);
            let (value, rows) = value;
            if others.is_empty() && rows.len() == 1 {
                continue;
            }
            let mut partners = collected(others.iter().flat_map(|&other| &values[other].1))?;
            partners.sort_unstable();
            let partners: Vec<usize> = partners.into_iter().copied().collect();
            let factors = match of_value.as_slice() {
                [] => vec![value.clone()],
                factors => factors.iter().map(|&factor| base.numbers[factor].clone()).collect(),
            };
            for &row in rows {
                let duplicates = rows.iter().copied().filter(|&other| other != row).collect();
                let (factors, partners) = (factors.clone(), partners.clone());
                found.push(SharedFactors { row, factors, partners, duplicates });
            }
        }
        found.sort_by_key(|shared| shared.row);
        Ok(found)
    }
}

impl<T: Kernels> Batch<T> {
    /// Returns the rows that have a common divisor above 1 with another row, with their factors, in
    /// ascending order of the rows: [`DynBatch::shared_factors`].
    ///
    /// # Errors
    /// As [`batch_gcd`](Self::batch_gcd).
    pub fn shared_factors(&self) -> Result<Vec<SharedFactors>> {
        self.as_dyn().shared_factors()
    }
}
