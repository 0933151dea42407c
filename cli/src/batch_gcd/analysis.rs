//! Finds the weak keys of a collection.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use gpuint::{Device, Error, Pool, interruptible, threads};
use num_bigint::BigUint;
use rayon::prelude::*;

use super::budget::{Budget, OverBudget};
use super::distinct::Distinct;
use super::keys::{Collection, Stored};
use super::progress::{Phase, Stages};
use super::records::{Divided, Records, Stage};
use super::shared::{self, Class, Factor};
use super::weak;
use crate::job::signals::STOP;

/// Reason why a key is weak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weakness {
    SharedFactor,
    SmallFactor,
    CloseFactors,
}

impl Weakness {
    /// Returns the name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SharedFactor => "shared factor",
            Self::SmallFactor => "small factor",
            Self::CloseFactors => "close factors",
        }
    }

    /// Returns the name after "keys with".
    pub(crate) fn names(self) -> &'static str {
        match self {
            Self::SharedFactor => "shared factors",
            Self::SmallFactor => "small factors",
            Self::CloseFactors => "close factors",
        }
    }
}

/// A weak key.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    /// The first key of the modulus.
    pub(crate) key: usize,
    pub(crate) weakness: Weakness,
    /// Factors of the modulus, ascending, whose product it is. There is one, the modulus, if it was
    /// not split: it divides keys as a whole, or its divisors divide the same keys.
    pub(crate) factors: Vec<Factor>,
}

/// Reason why the analysis ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AnalysisError {
    #[error(transparent)]
    Memory(#[from] OverBudget),
    #[error("cannot compute the common divisors of the keys: {0}")]
    Device(Error),
    #[error("interrupted while computing")]
    Interrupted,
}

impl From<Error> for AnalysisError {
    fn from(error: Error) -> Self {
        match error {
            Error::Interrupted => Self::Interrupted,
            error => Self::Device(error),
        }
    }
}

/// Checks of each key by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checks {
    /// Primes up to this limit are tried.
    pub(crate) small_factors: Option<u32>,
    /// Steps of Fermat's method.
    pub(crate) fermat: Option<u64>,
}

/// Results of an analysis.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    /// Weak keys, by key.
    pub(crate) findings: Vec<Finding>,
    /// Products of the new keys, whose product is that of all different moduli among them. They are
    /// empty if no store is written.
    pub(crate) products: Vec<BigUint>,
}

/// An analysis of new keys, and of the stored ones before them.
pub(crate) struct Analyzer<'a, 's> {
    pub(crate) pool: &'a Pool,
    /// The first of the pool, for work that is not shared.
    pub(crate) device: &'a Device,
    pub(crate) keys: &'a Collection,
    pub(crate) stored: &'a Stored,
    pub(crate) checks: Checks,
    /// The products of the new keys are wanted.
    pub(crate) is_stored: bool,
    /// Records of intermediate results, if the job has any.
    pub(crate) records: Option<&'a Records>,
    pub(crate) budget: &'a Budget,
    pub(crate) stages: &'a Stages<'s>,
}

impl Analyzer<'_, '_> {
    /// Finds the weak keys among the new keys, and the stored keys that share a factor with them.
    pub(crate) fn run(&self, distinct: &Distinct) -> Result<Analysis, AnalysisError> {
        let split = distinct.first.partition_point(|&key| key < self.stored.keys);
        let (old, new) = distinct.first.split_at(split);
        let stopped = || STOP.load(Ordering::Relaxed);
        let mut found = interruptible(stopped, || self.compute(old, new))?;
        if let Some(steps) = self.checks.fermat {
            found.findings.extend(self.close_factors(new, steps)?);
        }
        found.findings.sort_by_key(|finding| (finding.key, finding.weakness));
        Ok(found)
    }

    fn compute(&self, old: &[usize], new: &[usize]) -> Result<Analysis, AnalysisError> {
        let Self { device, keys, stages, .. } = *self;
        let classes = Class::all(keys, new);
        let tree_bytes = classes.iter().map(|class| class.bytes(device)).sum();
        self.budget.charge("the product trees", tree_bytes)?;
        let (mut divisors, products) = self.sharing(&classes)?;
        self.budget.release(tree_bytes);
        if !divisors.is_empty() && !old.is_empty() {
            let product = product_of(divisors.iter().map(|found| &found.1));
            let text = "stored keys that share a factor";
            divisors.extend(self.against(old, &product, (Phase::Divisors, text), Stage::STORED)?);
        }
        stages.begin(Phase::Factors, &format!("factors of {} keys", divisors.len()));
        let sharing: BTreeSet<usize> = divisors.into_iter().map(|found| found.0).collect();
        let sharing: Vec<usize> = sharing.into_iter().collect();
        let mut findings: Vec<Finding> = shared::split(device, keys, &sharing, self.records)?
            .into_iter()
            .map(|(key, factors)| Finding { key, weakness: Weakness::SharedFactor, factors })
            .collect();
        if let Some(limit) = self.checks.small_factors {
            findings.extend(self.small_factors(new, limit)?);
        }
        Ok(Analysis { findings, products })
    }

    /// Returns the new keys that share a factor with others, new or stored, with their divisors,
    /// and the products of the keys if they are wanted.
    ///
    /// A class is compared with the products of smaller classes. The divisors that this finds have
    /// all that the smaller classes share with it, and are shorter than its product.
    fn sharing(&self, classes: &[Class]) -> Result<(Vec<Divided>, Vec<BigUint>), AnalysisError> {
        let Self { pool, device, keys, records, stages, .. } = *self;
        let mut products = records.map_or_else(Vec::new, Records::products);
        for (index, class) in classes.iter().enumerate().skip(products.len()) {
            products.push(Vec::new());
            if index > 0 || self.is_stored {
                let text = format!("products of {} keys of {} bits", class.len(), class.bits());
                stages.begin(Phase::Products, &text);
                products[index] = class.products(device, keys)?;
                if let Some(records) = records {
                    records.save_products_if_due(&products);
                }
            }
        }
        let (compared, mut found) = self.recorded(Stage::DIVISORS);
        for (index, class) in classes.iter().enumerate().skip(compared) {
            stages.begin(Phase::Divisors, &format!("common divisors of {} keys", class.len()));
            let mut numbers = self.stored.products.clone();
            numbers.extend(products[index + 1..].iter().flatten().cloned());
            if !found.is_empty() {
                numbers.push(product_of(found.iter().map(|(_, divisor)| divisor)));
            }
            found.extend(class.sharing(pool, keys, &numbers, records)?);
            self.record(Stage::DIVISORS, index + 1, &found);
        }
        products.truncate(if self.is_stored { products.len() } else { 0 });
        Ok((found, products.into_iter().flatten().collect()))
    }

    /// Returns the number of classes or keys of a stage that are recorded, and the divisors found
    /// in them.
    fn recorded(&self, stage: Stage) -> (usize, Vec<Divided>) {
        self.records.map_or_else(Default::default, |records| records.found(stage))
    }

    /// Saves the divisors found in the first `done` classes or keys of a stage, if a record is due.
    fn record(&self, stage: Stage, done: usize, found: &[Divided]) {
        if let Some(records) = self.records {
            records.save_found_if_due(stage, done, found);
        }
    }

    /// Returns the keys among `indices` that share a factor with a number, with their divisors.
    fn against(
        &self,
        indices: &[usize],
        number: &BigUint,
        (phase, text): (Phase, &str),
        stage: Stage,
    ) -> Result<Vec<Divided>, AnalysisError> {
        self.stages.begin(phase, text);
        let classes = Class::all(self.keys, indices);
        let parts = shared::parts_against(self.device, &classes, number);
        let (done, mut found) = self.recorded(stage);
        let mut end = 0;
        for (bits, bytes, part) in parts {
            end += part.len();
            // Parts of another device may end elsewhere.
            let left = end.saturating_sub(done).min(part.len());
            if left == 0 {
                continue;
            }
            let part = &part[part.len() - left..];
            self.budget.charge("the product trees", bytes)?;
            found.extend(shared::sharing_with(self.device, self.keys, (bits, part), number)?);
            self.budget.release(bytes);
            self.record(stage, end, &found);
        }
        Ok(found)
    }

    /// Returns the keys with a small factor.
    fn small_factors(&self, new: &[usize], limit: u32) -> Result<Vec<Finding>, AnalysisError> {
        let primes = weak::primes(limit);
        let numbers: Vec<BigUint> = primes.iter().map(|&prime| prime.into()).collect();
        let product = threads::install(|| shared::product(&numbers));
        let phase = (Phase::Factors, "small factors");
        let found = self.against(new, &product, phase, Stage::small_factors(limit))?;
        let finding = |(key, divisor): Divided| {
            let factors = weak::small_factors(&self.keys.modulus(key), &divisor, &primes);
            by_itself(key, Weakness::SmallFactor, factors)
        };
        Ok(threads::install(|| found.into_par_iter().map(finding).collect()))
    }

    /// Returns the keys with two close factors.
    fn close_factors(&self, new: &[usize], steps: u64) -> Result<Vec<Finding>, AnalysisError> {
        /// Keys between two records.
        const PART: usize = 256;
        self.stages.begin(Phase::Factors, "close factors");
        let find = |&key: &usize| {
            if STOP.load(Ordering::Relaxed) {
                return Some(Err(AnalysisError::Interrupted));
            }
            let [factor, _] = weak::close_factors(&self.keys.modulus(key), steps)?;
            Some(Ok((key, factor)))
        };
        let stage = Stage::close_factors(steps);
        let (mut done, mut found) = self.recorded(stage);
        for part in new[done.min(new.len())..].chunks(PART) {
            let in_part = || part.par_iter().filter_map(find).collect::<Result<Vec<_>, _>>();
            found.extend(threads::install(in_part)?);
            done += part.len();
            self.record(stage, done, &found);
        }
        let finding = |(key, factor): Divided| {
            let other = self.keys.modulus(key) / &factor;
            by_itself(key, Weakness::CloseFactors, vec![factor, other])
        };
        Ok(found.into_iter().map(finding).collect())
    }
}

/// Returns the product of the different ones of some divisors.
fn product_of<'d>(divisors: impl Iterator<Item = &'d BigUint>) -> BigUint {
    let different: HashSet<&BigUint> = divisors.collect();
    let different: Vec<BigUint> = different.into_iter().cloned().collect();
    threads::install(|| shared::product(&different))
}

fn by_itself(key: usize, weakness: Weakness, factors: Vec<BigUint>) -> Finding {
    let factors = factors.into_iter().map(|value| Factor { value, keys: Arc::new([]) }).collect();
    Finding { key, weakness, factors }
}

/// Number of different keys with a weakness, by its name.
pub(crate) fn counts(findings: &[Finding]) -> BTreeMap<Weakness, usize> {
    let mut counts = BTreeMap::new();
    for finding in findings {
        *counts.entry(finding.weakness).or_default() += 1;
    }
    counts
}
