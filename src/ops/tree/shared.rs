//! Factors that rows share: a base of pairwise coprime numbers for all rows with common divisors.
//!
//! Equal rows are one, so that duplicates are told from common divisors. A common divisor `g` of a
//! number `n` with the product of all others splits it in `g` and `n / g` if `1 < g < n`, and `g =
//! 1` says that it is coprime to all others for good: their parts are divisors of them. Each round
//! computes the divisors of all numbers that remain by a [`DynProductTree`] (D. Bernstein,
//! "Factoring into coprimes in essentially linear time", Journal of Algorithms 54, 2005, for
//! coprime bases).
//!
//! Numbers with a random small factor each, such as damaged keys, share all small primes: a random
//! number has the prime p with probability 1/p, and of `m` numbers about m^2 / (2 L ln L) pairs
//! share a prime above L. So the primes up to `m` are split off first, which leaves about one
//! number in 2 ln m. They divide the common divisors, and a remainder tree finds their part of
//! each.
//!
//! A number with `g = n`, such as a key both of whose primes are in other keys, needs a part of the
//! others: it may share one of its primes only with them. Random parts of density 1/2, 1/4, ..
//! split most of these numbers, and pairs split the rest. A pair always does: `n` has a common
//! divisor `d > 1` with some `m`; if `d < n`, it splits `n`, else `n` divides `m`, and splits it.
//!
//! So the base is exact for every input, also for rows that divide each other and prime powers.
//! Its numbers need not be primes: nobody asked for a factorization.
//!
//! # Records
//! With a checkpoint, the record `base` has the numbers, their parts and the open ones between two
//! steps: the divisors of all open numbers, or one random partition. A call that goes on from it
//! first computes the divisors of the open numbers again. In words of 8 bytes with the lowest byte
//! first, it has the number of partitions, the number of the latest ones without a split, the
//! number of numbers and of open ones, and the open ones. For each number follow its length in
//! bytes, the number of its parts, these parts and the bytes.

use std::collections::HashMap;
use std::io::{self, Read, Write};

use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};

use super::DynProductTree;
use super::checkpoint::{Checkpoint, other, read_words, write_words};
use super::parts::{MAX_PART_BITS, cut};
use crate::backend::host::{check_room, collected, zeroed_vec};
use crate::batch::Batch;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::interrupt::{self, on_all_cores};
use crate::shape::Kernels;
use crate::sieve::primes;

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
    /// Numbers of which a number that is split is the product; none of a whole number.
    parts: Vec<Vec<usize>>,
    /// Number of random partitions so far.
    rounds: u64,
    /// Number of partitions that split nothing since the last split.
    failed: u32,
}

impl Base {
    /// Returns the index of a number.
    fn index(&mut self, number: BigUint) -> usize {
        let Self { numbers, indices, parts, .. } = self;
        *indices.entry(number).or_insert_with_key(|number| {
            numbers.push(number.clone());
            parts.push(Vec::new());
            numbers.len() - 1
        })
    }

    /// Splits a number by a divisor of it; returns true if it is a proper one of a whole number.
    fn split(&mut self, index: usize, divisor: &BigUint) -> bool {
        let number = &self.numbers[index];
        if divisor.is_one() || divisor == number || !self.is_whole(index) {
            return false;
        }
        let rest = number / divisor;
        self.parts[index] = vec![self.index(divisor.clone()), self.index(rest)];
        true
    }

    /// Returns true if a number is not split.
    fn is_whole(&self, index: usize) -> bool {
        self.parts[index].is_empty()
    }

    /// Returns the parts of a number, or the number itself.
    fn parts_of(&self, index: usize) -> Vec<usize> {
        if self.is_whole(index) { vec![index] } else { self.parts[index].clone() }
    }

    /// Returns the indices of the numbers of which a number is the product, in ascending order of
    /// their values.
    fn factors(&self, index: usize) -> Vec<usize> {
        let (mut whole, mut open) = (Vec::new(), vec![index]);
        while let Some(index) = open.pop() {
            match self.is_whole(index) {
                true => whole.push(index),
                false => open.extend(&self.parts[index]),
            }
        }
        whole.sort_by(|&a, &b| self.numbers[a].cmp(&self.numbers[b]));
        whole
    }

    /// Returns the numbers of these indices.
    fn values(&self, indices: &[usize]) -> Vec<BigUint> {
        indices.iter().map(|&index| self.numbers[index].clone()).collect()
    }

    /// Splits off the primes up to the number of `flagged`: numbers that have a common divisor with
    /// the product of all others, which is beside them. Returns the parts with other common
    /// divisors.
    fn split_small(
        &mut self,
        device: &Device,
        flagged: &[(usize, &BigUint)],
    ) -> Result<Vec<usize>> {
        if flagged.is_empty() {
            return Ok(Vec::new());
        }
        let primes: Vec<u32> = primes(2..flagged.len() as u64 + 1).map(|p| p as u32).collect();
        let divisors = collected(flagged.iter().map(|&(_, divisor)| divisor))?;
        let smooth = smooth_parts(device, &divisors, &primes)?;
        let split = on_all_cores(flagged.len(), 0, |place| {
            let (index, divisor) = flagged[place];
            let (mut rest, mut left) = (self.numbers[index].clone(), divisor.clone());
            let mut factors = Vec::new();
            for prime in prime_factors(smooth[place].clone(), &primes) {
                while (&left % prime).is_zero() {
                    left /= prime;
                }
                while (&rest % prime).is_zero() {
                    rest /= prime;
                    factors.push(prime);
                }
            }
            Ok((factors, rest, left))
        })?;
        let mut open = Vec::new();
        for (&(index, _), (factors, rest, left)) in flagged.iter().zip(split) {
            let mut parts = collected(factors.into_iter().map(|prime| self.index(prime.into())))?;
            let rest = self.index(rest);
            if !self.numbers[rest].is_one() {
                parts.push(rest);
            }
            if parts != [index] {
                self.parts[index] = parts;
            }
            if !left.is_one() {
                self.split(rest, &left);
                open.extend(self.parts_of(rest));
            }
        }
        Ok(open)
    }

    /// Splits numbers until all of them are coprime, by trees of at most `most` bits.
    fn refine(
        &mut self,
        device: &Device,
        numbers: Vec<usize>,
        most: u64,
        checkpoint: Option<&dyn Checkpoint>,
    ) -> Result<()> {
        let mut open = self.opened(numbers);
        while open.len() > 1 {
            let rows = self.rows(device, &open)?;
            let divisors = rows.batch_gcd()?.to_biguints()?;
            let mut has_split = false;
            let mut next = Vec::new();
            for (&index, divisor) in open.iter().zip(&divisors) {
                has_split |= self.split(index, divisor);
                // A divisor of 1 is that of a number coprime to all others.
                if !divisor.is_one() {
                    next.extend(self.parts_of(index));
                }
            }
            if !has_split && !next.is_empty() {
                next = self.split_some(device, &next, most, checkpoint)?;
            }
            open = self.opened(next);
            self.save_if_due(checkpoint, &open);
        }
        Ok(())
    }

    /// Returns the different whole numbers of `numbers`, but 1.
    fn opened(&self, mut numbers: Vec<usize>) -> Vec<usize> {
        numbers.sort_unstable();
        numbers.dedup();
        numbers.retain(|&index| !self.numbers[index].is_one() && self.is_whole(index));
        numbers
    }

    /// Splits some of distinct numbers, of which each divides the product of the others. Returns
    /// their parts. Trees have at most `most` bits, or one number.
    ///
    /// A density that splits numbers is likely to split their parts: several rounds follow each
    /// other before the divisors of all numbers are computed again.
    fn split_some(
        &mut self,
        device: &Device,
        open: &[usize],
        most: u64,
        checkpoint: Option<&dyn Checkpoint>,
    ) -> Result<Vec<usize>> {
        const MAX_SPLITS: u32 = 8;
        let tries = 2 * open.len().ilog2() + 2;
        let mut parts = collected(open.iter().copied())?;
        let (mut failed, mut splits) = (self.failed, 0);
        while failed < tries && splits < MAX_SPLITS && (failed == 0 || splits == 0) {
            interrupt::check()?;
            // Another partition in each round: numbers that stay whole are not tried with it again.
            self.rounds += 1;
            let (round, density) = (self.rounds, failed / 2 + 1);
            let is_chosen = |index: usize| hash(round, index as u64) >> (64 - density) == 0;
            let (chosen, others): (Vec<usize>, Vec<usize>) =
                parts.iter().copied().partition(|&index| is_chosen(index));
            let divisors = match chosen.is_empty() || others.is_empty() {
                true => [const { Vec::new() }; 2],
                false => self.divisors_across(device, [&chosen, &others], most)?,
            };
            let mut has_split = false;
            let numbers = chosen.iter().chain(&others);
            for (&index, divisor) in numbers.zip(divisors.iter().flatten()) {
                has_split |= self.split(index, divisor);
            }
            match has_split {
                true => splits += 1,
                false => failed += 1,
            }
            parts = self.whole_parts(&parts)?;
            // A call that goes on has as many densities left.
            self.failed = if has_split { 0 } else { failed };
            self.save_if_due(checkpoint, &parts);
        }
        self.failed = 0;
        if splits == 0 {
            self.split_by_pairs(device, open)?;
            parts = self.whole_parts(open)?;
        }
        Ok(parts)
    }

    /// Returns the different parts of numbers that are split or whole, but 1.
    fn whole_parts(&self, numbers: &[usize]) -> Result<Vec<usize>> {
        let mut parts = collected(numbers.iter().flat_map(|&index| self.factors(index)))?;
        parts.sort_unstable();
        parts.dedup();
        parts.retain(|&index| !self.numbers[index].is_one());
        Ok(parts)
    }

    /// Computes the greatest common divisor of each number of a side and the product of the other
    /// side.
    fn divisors_across(
        &self,
        device: &Device,
        sides: [&[usize]; 2],
        most: u64,
    ) -> Result<[Vec<BigUint>; 2]> {
        let (mut roots, mut trees) = ([const { Vec::new() }; 2], [const { Vec::new() }; 2]);
        for (side, indices) in sides.into_iter().enumerate() {
            let lengths = collected(indices.iter().map(|&index| self.numbers[index].bits()))?;
            let parts = cut(&lengths, most);
            for part in &parts {
                let rows = self.rows(device, &indices[part.clone()])?;
                let tree = DynProductTree::new(&rows)?;
                roots[side].push(tree.root());
                // Several trees at once may need more memory than there is.
                trees[side].push((rows, (parts.len() == 1).then_some(tree)));
            }
        }
        let mut divisors = [const { Vec::new() }; 2];
        for (side, trees) in trees.into_iter().enumerate() {
            for (rows, tree) in trees {
                let tree = tree.map_or_else(|| DynProductTree::new(&rows), Ok)?;
                let rests = tree.remainders_of_product(&roots[1 - side])?;
                divisors[side].extend(rows.gcd(&rests)?.to_biguints()?);
            }
        }
        Ok(divisors)
    }

    /// Splits a number by its common divisors with others, or others by it.
    fn split_by_pairs(&mut self, device: &Device, open: &[usize]) -> Result<()> {
        for &index in open {
            let number = self.numbers[index].clone();
            let rows = self.rows(device, open)?;
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

    /// Returns numbers as rows of the narrowest shape on a device.
    fn rows(&self, device: &Device, indices: &[usize]) -> Result<DynBatch> {
        rows_of(device, indices.iter().map(|&index| &self.numbers[index]))
    }

    /// Saves the base with the indices of its open numbers, if the checkpoint asks for it.
    fn save_if_due(&self, checkpoint: Option<&dyn Checkpoint>, open: &[usize]) {
        if let Some(checkpoint) = checkpoint.filter(|it| it.is_due()) {
            checkpoint.save(RECORD, &mut |out| self.write(open, out));
        }
    }

    fn write(&self, open: &[usize], out: &mut dyn Write) -> io::Result<()> {
        let words = |out: &mut dyn Write, indices: &[usize]| {
            indices.iter().try_for_each(|&index| write_words(out, &[index as u64]))
        };
        write_words(out, &[self.rounds, self.failed.into()])?;
        words(out, &[self.numbers.len(), open.len()])?;
        words(out, open)?;
        for (number, parts) in self.numbers.iter().zip(&self.parts) {
            let bytes = number.to_bytes_le();
            words(out, &[bytes.len(), parts.len()])?;
            words(out, parts)?;
            out.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Returns the base that is recorded, and the indices of its open numbers.
    fn load(checkpoint: Option<&dyn Checkpoint>) -> Option<(Self, Vec<usize>)> {
        let mut found = None;
        let is_read = checkpoint?.load(RECORD, &mut |content| {
            found = Some(Self::read(content)?);
            Ok(())
        });
        found.filter(|_| is_read)
    }

    fn read(content: &mut dyn Read) -> io::Result<(Self, Vec<usize>)> {
        let [rounds, failed, count, open] = read_words(content)?;
        let failed = u32::try_from(failed).map_err(|_| other())?;
        let indices = |content: &mut dyn Read, length: u64| {
            let index = |word: u64| usize::try_from(word).ok().filter(|_| word < count);
            let words = (0..length).map(|_| read_words(content));
            let found = words.map(|it| it.and_then(|[word]| index(word).ok_or_else(other)));
            found.collect::<io::Result<Vec<usize>>>()
        };
        let open = indices(content, open)?;
        let mut base = Self { rounds, failed, ..Self::default() };
        for _ in 0..count {
            let [bytes, parts] = read_words(content)?;
            let parts = indices(content, parts)?;
            let mut number = Vec::new();
            if content.take(bytes).read_to_end(&mut number)? as u64 != bytes {
                return Err(other());
            }
            let index = base.index(BigUint::from_bytes_le(&number));
            base.parts[index] = parts;
        }
        // Numbers are different.
        if base.numbers.len() as u64 == count { Ok((base, open)) } else { Err(other()) }
    }
}

/// Name of the record of a base.
const RECORD: &str = "base";

/// Returns numbers as rows of the narrowest shape on a device.
fn rows_of<'n>(device: &Device, numbers: impl Iterator<Item = &'n BigUint>) -> Result<DynBatch> {
    let numbers = collected(numbers)?;
    let bits = numbers.iter().map(|number| number.bits()).max().unwrap_or(0);
    let shape = device.shape_for(usize::try_from(bits).unwrap_or(usize::MAX))?;
    DynBatch::from_biguints(device, shape, numbers)
}

/// Computes the greatest common divisors of numbers and the product of all primes.
fn smooth_parts(device: &Device, numbers: &[&BigUint], primes: &[u32]) -> Result<Vec<BigUint>> {
    let primes = collected(primes.iter().map(|&prime| BigUint::from(prime)))?;
    let product = DynProductTree::new(&rows_of(device, primes.iter())?)?.root();
    let lengths = collected(numbers.iter().map(|number| number.bits()))?;
    let mut smooth = Vec::new();
    for part in cut(&lengths, MAX_PART_BITS) {
        let rows = rows_of(device, numbers[part].iter().copied())?;
        let rests = DynProductTree::new(&rows)?.remainders(&product)?;
        smooth.extend(rows.gcd(&rests)?.to_biguints()?);
    }
    Ok(smooth)
}

/// Returns the prime factors of a product of different ones of `primes`, which are all primes up to
/// a limit.
fn prime_factors(product: BigUint, primes: &[u32]) -> Vec<u32> {
    let (mut product, mut factors) = (product, Vec::new());
    let mut primes = primes.iter().copied();
    while product.bits() > 64 {
        let Some(prime) = primes.next() else { return factors };
        if (&product % prime).is_zero() {
            product /= prime;
            factors.push(prime);
        }
    }
    let mut rest = product.to_u64().unwrap_or(1);
    for prime in primes {
        let wide = u64::from(prime);
        if wide * wide > rest {
            break;
        }
        if rest.is_multiple_of(wide) {
            rest /= wide;
            factors.push(prime);
        }
    }
    // A number without a factor up to its root is prime.
    factors.extend(u32::try_from(rest).ok().filter(|&rest| rest > 1));
    factors
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

/// The values above 1 of a batch, with their factors.
struct Factored {
    /// Each value once, with its rows.
    values: Vec<(BigUint, Vec<usize>)>,
    base: Base,
    /// Factors of each value in the base, ascending; none of a value that is coprime to all others.
    factors: Vec<Vec<usize>>,
}

impl Factored {
    fn of(batch: &DynBatch, checkpoint: Option<&dyn Checkpoint>) -> Result<Self> {
        // Values are in a list and in a table.
        check_room(batch.len().saturating_mul(3), batch.shape().bytes() + size_of::<[usize; 8]>())?;
        let values = distinct(batch)?;
        let (mut base, open) = match Base::load(checkpoint) {
            Some(loaded) => loaded,
            None => {
                let different = values.iter().map(|value| &value.0);
                let rows = DynBatch::from_biguints(batch.device(), batch.shape(), different)?;
                Self::flagged(&rows, &values, checkpoint)?
            }
        };
        base.refine(batch.device(), open, MAX_PART_BITS, checkpoint)?;
        // A value without an index is coprime to all others.
        let index = |value: &BigUint| base.indices.get(value).copied();
        let factors = values.iter().map(|(value, _)| index(value).map(|it| base.factors(it)));
        let factors = collected(factors.map(Option::unwrap_or_default))?;
        Ok(Self { values, base, factors })
    }

    /// Returns the base of the values that have a common divisor with another one, split by it, and
    /// the indices of its open numbers. `rows` are the values.
    fn flagged(
        rows: &DynBatch,
        values: &[(BigUint, Vec<usize>)],
        checkpoint: Option<&dyn Checkpoint>,
    ) -> Result<(Base, Vec<usize>)> {
        let divisors = rows.view().divisors(&[], checkpoint)?.to_biguints()?;
        let mut base = Base::default();
        let mut flagged = Vec::new();
        for ((value, _), divisor) in values.iter().zip(&divisors).filter(|it| !it.1.is_one()) {
            flagged.push((base.index(value.clone()), divisor));
        }
        let open = base.split_small(rows.device(), &flagged)?;
        base.save_if_due(checkpoint, &open);
        Ok((base, open))
    }
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
        let Factored { values, base, factors } = Factored::of(self, None)?;
        let mut of_factor: HashMap<usize, Vec<usize>> = HashMap::new();
        for (value, of_value) in factors.iter().enumerate() {
            for (place, &factor) in of_value.iter().enumerate() {
                if place == 0 || of_value[place - 1] != factor {
                    of_factor.entry(factor).or_default().push(value);
                }
            }
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
                factors => base.values(factors),
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

    /// Returns the rows that have a common divisor above 1 with a row of another value, in
    /// ascending order, with their factors as [`shared_factors`](Self::shared_factors) has them.
    /// The result is linear in the number of rows; partners are pairs of rows.
    ///
    /// ```
    /// use gpuint::{Device, DynBatch};
    /// use num_bigint::BigUint;
    ///
    /// let keys = [101u32 * 103, 107 * 109, 101 * 113, 107 * 109].map(BigUint::from);
    /// let found = DynBatch::fitting(&Device::cpu(), &keys)?.coprime_factors()?;
    /// assert_eq!(found[0], (0, [101u32, 103].map(BigUint::from).to_vec()));
    /// assert_eq!(found[1], (2, [101u32, 113].map(BigUint::from).to_vec()));
    /// assert_eq!(found.len(), 2);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`batch_gcd`](Self::batch_gcd).
    pub fn coprime_factors(&self) -> Result<Vec<(usize, Vec<BigUint>)>> {
        self.coprime_factors_by(None)
    }

    /// Computes [`coprime_factors`](Self::coprime_factors), and saves intermediate results in a
    /// checkpoint. A call with the records of an earlier one of the same rows goes on from them.
    ///
    /// Records are saved between two levels of the first tree, and then between the steps of the
    /// splitting. A call that goes on computes the step since the last record again, and the common
    /// divisors of the rows that are not split.
    ///
    /// # Errors
    /// As [`batch_gcd`](Self::batch_gcd).
    pub fn resumable_coprime_factors(
        &self,
        checkpoint: &dyn Checkpoint,
    ) -> Result<Vec<(usize, Vec<BigUint>)>> {
        self.coprime_factors_by(Some(checkpoint))
    }

    fn coprime_factors_by(
        &self,
        checkpoint: Option<&dyn Checkpoint>,
    ) -> Result<Vec<(usize, Vec<BigUint>)>> {
        let Factored { values, base, factors } = Factored::of(self, checkpoint)?;
        let mut found = Vec::new();
        for ((_, rows), of_value) in values.iter().zip(&factors) {
            if !of_value.is_empty() {
                found.extend(rows.iter().map(|&row| (row, base.values(of_value))));
            }
        }
        found.sort_by_key(|&(row, _)| row);
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

    /// Returns the rows that have a common divisor above 1 with a row of another value, in
    /// ascending order, with their factors: [`DynBatch::coprime_factors`].
    ///
    /// # Errors
    /// As [`batch_gcd`](Self::batch_gcd).
    pub fn coprime_factors(&self) -> Result<Vec<(usize, Vec<BigUint>)>> {
        self.as_dyn().coprime_factors()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::tree::checkpoint::tests::Ending;

    #[test]
    fn most_random_numbers_are_whole_after_their_small_primes() {
        const COUNT: u64 = 600;
        let numbers: Vec<BigUint> = (0..COUNT)
            .map(|row| {
                (0..4).fold(BigUint::one(), |n, word| n << 64 | BigUint::from(hash(row, word) | 1))
            })
            .collect();
        let batch = DynBatch::fitting(&Device::cpu(), &numbers).unwrap();
        let divisors = batch.batch_gcd().unwrap().to_biguints().unwrap();
        let mut base = Base::default();
        let mut flagged = Vec::new();
        for (number, divisor) in numbers.iter().zip(&divisors).filter(|it| !it.1.is_one()) {
            flagged.push((base.index(number.clone()), divisor));
        }
        let open = base.split_small(&Device::cpu(), &flagged).unwrap();
        assert!(flagged.len() > 400, "{} numbers share a factor", flagged.len());
        assert!(open.len() < flagged.len() / 4, "{} of {}", open.len(), flagged.len());
        for &(index, divisor) in &flagged {
            let factors = base.values(&base.factors(index));
            let product: BigUint = factors.iter().product();
            assert_eq!(product, base.numbers[index]);
            for prime in primes(2..flagged.len() as u64 + 1).map(BigUint::from) {
                let is_split = (divisor % &prime).is_zero();
                let part = factors.iter().filter(|&it| (it % &prime).is_zero());
                assert!(part.clone().all(|it| *it == prime) || !is_split, "{prime}: {factors:?}");
                assert!(!is_split || part.count() > 0);
            }
        }
    }

    #[test]
    fn keys_of_primes_of_many_others_are_split_in_few_rounds() {
        const KEYS: usize = 24;
        const PRIMES: usize = 16;
        let device = Device::cpu();
        let primes: Vec<u64> = primes(1 << 24..(1 << 24) + 8000).take(KEYS * PRIMES).collect();
        assert_eq!(primes.len(), KEYS * PRIMES);
        // Each key has a prime of each of 16 stored numbers, and these have two primes.
        let key =
            |key: usize| (0..PRIMES).map(|it| BigUint::from(primes[it * KEYS + key])).product();
        // Both primes of a stored number are of different keys.
        let half = primes.len() / 2;
        let pair = |it: usize| BigUint::from(primes[it]) * primes[half + (5 * it + 1) % half];
        let values: Vec<BigUint> = (0..KEYS).map(key).chain((0..half).map(pair)).collect();
        for most in [MAX_PART_BITS, 2000] {
            let mut base = Base::default();
            let numbers: Vec<usize> = values.iter().map(|it| base.index(it.clone())).collect();
            base.refine(&device, numbers.clone(), most, None).unwrap();
            for (&number, value) in numbers.iter().zip(&values) {
                let factors = base.values(&base.factors(number));
                assert_eq!(&factors.iter().product::<BigUint>(), value);
                assert!(factors.iter().all(|it| it.bits() == 25), "{factors:?}");
            }
            // Two primes of a number are parted by a round with probability 1/2.
            assert!(base.rounds <= 3 * u64::from(primes.len().ilog2()), "{} rounds", base.rounds);
        }
    }

    #[test]
    fn calls_that_end_at_every_record_have_the_factors_of_one() {
        // Each key has both primes in other keys, and some are their own parts' partners.
        let primes: Vec<u64> = primes(1 << 24..(1 << 24) + 4000).take(48).collect();
        let pair = |a: usize, b: usize| BigUint::from(primes[a]) * primes[b];
        let mut keys: Vec<BigUint> = (0..48).map(|it| pair(it, (5 * it + 1) % 48)).collect();
        keys.extend([BigUint::from(primes[7]), pair(3, 3), BigUint::from(1009u32)]);
        let rows = DynBatch::fitting(&Device::cpu(), &keys).unwrap();
        let expected = rows.coprime_factors().unwrap();
        assert_eq!(expected.len(), 50);
        let checkpoint = Ending::default();
        let found = |checkpoint: &Ending| {
            checkpoint.calls_to_the_end(|checkpoint| rows.resumable_coprime_factors(checkpoint))
        };
        let (factors, calls) = found(&checkpoint);
        assert_eq!(factors.unwrap(), expected);
        let bases = checkpoint.ends().iter().filter(|name| *name == RECORD).count();
        assert!(bases > 2 && calls > bases + 4, "{bases} of {calls}");
        // Records that are cut short are not used.
        checkpoint.cut_short();
        assert_eq!(found(&checkpoint).0.unwrap(), expected);
        assert!(checkpoint.ends().len() >= 2 * calls);
    }

    #[test]
    fn factors_of_products_of_small_primes_are_found() {
        let primes: Vec<u32> = primes(2..100).map(|prime| prime as u32).collect();
        for factors in [&[][..], &[2], &[97], &[2, 97], &[89, 97], &[3, 5, 7, 11], &primes] {
            let product = factors.iter().map(|&prime| BigUint::from(prime)).product();
            assert_eq!(prime_factors(product, &primes), factors);
        }
    }
}
