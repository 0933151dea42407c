//! Finds the weak keys of a collection.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use gpuint::{Device, Error, interruptible, threads};
use num_bigint::BigUint;
use rayon::prelude::*;

use super::budget::{Budget, OverBudget};
use super::distinct::Distinct;
use super::keys::Collection;
use super::progress::Stages;
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
    #[error("cannot compute the common divisors of {keys} keys: {source}")]
    Device { keys: usize, source: Error },
    #[error("interrupted while computing")]
    Interrupted,
}

/// Checks of each key by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checks {
    /// Primes up to this limit are tried.
    pub(crate) small_factors: Option<u32>,
    /// Steps of Fermat's method.
    pub(crate) fermat: Option<u64>,
}

/// Keys that were analyzed before.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    /// The first keys of the collection, of this number.
    pub(crate) keys: usize,
    /// Numbers whose product is that of all different moduli among them.
    pub(crate) products: Vec<BigUint>,
}

/// Results of an analysis.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    /// Weak keys, by key.
    pub(crate) findings: Vec<Finding>,
    /// Products of the new keys, whose product is that of all different moduli among them.
    pub(crate) products: Vec<BigUint>,
    /// Time of the stages on the device.
    pub(crate) time: Duration,
}

/// Finds the weak keys among the new keys, and the stored keys that share a factor with them.
pub(crate) fn analyze(
    device: &Device,
    keys: &Collection,
    distinct: &Distinct,
    stored: &Stored,
    checks: Checks,
    budget: &Budget,
    stages: &Stages<'_>,
) -> Result<Analysis, AnalysisError> {
    let split = distinct.first.partition_point(|&key| key < stored.keys);
    let (old, new) = distinct.first.split_at(split);
    let start = Instant::now();
    let classes = shared::widths(keys, new);
    let tree_bytes = shared::tree_bytes(&classes);
    budget.charge("the product trees", tree_bytes)?;
    let compute = || -> gpuint::Result<(Vec<Finding>, Vec<BigUint>)> {
        let mut trees = Vec::new();
        for (bits, indices) in classes {
            stages.begin(&format!("products of {} keys of {bits} bits", indices.len()));
            trees.push(Class::new(device, keys, bits, indices)?);
        }
        let products: Vec<BigUint> = trees.iter().map(Class::product).collect();
        let sharing = sharing(&trees, &products, keys, old, stored, stages)?;
        stages.begin(&format!("factors of {} keys", sharing.len()));
        let mut findings: Vec<Finding> = shared::split(device, keys, &sharing)?
            .into_iter()
            .map(|(key, factors)| Finding { key, weakness: Weakness::SharedFactor, factors })
            .collect();
        if let Some(limit) = checks.small_factors {
            stages.begin("small factors");
            findings.extend(small_factors(&trees, keys, limit)?);
        }
        Ok((findings, products))
    };
    let stopped = || STOP.load(Ordering::Relaxed);
    let computed = interruptible(stopped, compute);
    budget.release(tree_bytes);
    let (mut findings, products) = computed.map_err(|source| match source {
        Error::Interrupted => AnalysisError::Interrupted,
        source => AnalysisError::Device { keys: new.len(), source },
    })?;
    if let Some(steps) = checks.fermat {
        stages.begin("close factors");
        findings.extend(close_factors(keys, new, steps)?);
    }
    findings.sort_by_key(|finding| (finding.key, finding.weakness));
    Ok(Analysis { findings, products, time: start.elapsed() })
}

/// Returns the new keys that share a factor, and the stored keys with which they do.
fn sharing(
    trees: &[Class],
    products: &[BigUint],
    keys: &Collection,
    old: &[usize],
    stored: &Stored,
    stages: &Stages<'_>,
) -> gpuint::Result<BTreeSet<usize>> {
    let mut sharing = BTreeSet::new();
    let mut with_old = Vec::new();
    for (class, tree) in trees.iter().enumerate() {
        stages.begin(&format!("common divisors of {} keys", tree.len()));
        sharing.extend(tree.sharing()?);
        for (_, product) in products.iter().enumerate().filter(|&(other, _)| other != class) {
            sharing.extend(tree.divisors(product)?.into_iter().map(|(key, _)| key));
        }
        for product in &stored.products {
            let found = tree.divisors(product)?;
            sharing.extend(found.iter().map(|&(key, _)| key));
            with_old.extend(found.into_iter().map(|(_, divisor)| divisor));
        }
    }
    if !with_old.is_empty() {
        stages.begin("stored keys that share a factor");
        let product: BigUint = with_old.into_iter().product();
        sharing.extend(shared::sharing_keys(keys, old, &product));
    }
    Ok(sharing)
}

/// Returns the keys with a small factor.
fn small_factors(trees: &[Class], keys: &Collection, limit: u32) -> gpuint::Result<Vec<Finding>> {
    let primes = weak::primes(limit);
    let product = threads::install(|| weak::product(&primes));
    let mut findings = Vec::new();
    for tree in trees {
        for (key, divisor) in tree.divisors(&product)? {
            let factors = weak::small_factors(&keys.modulus(key), &divisor, &primes);
            findings.push(by_itself(key, Weakness::SmallFactor, factors));
        }
    }
    Ok(findings)
}

/// Returns the keys with two close factors.
fn close_factors(
    keys: &Collection,
    new: &[usize],
    steps: u64,
) -> Result<Vec<Finding>, AnalysisError> {
    let find = |&key: &usize| {
        if STOP.load(Ordering::Relaxed) {
            return Some(Err(AnalysisError::Interrupted));
        }
        let factors = weak::close_factors(&keys.modulus(key), steps)?;
        Some(Ok(by_itself(key, Weakness::CloseFactors, factors.to_vec())))
    };
    threads::install(|| new.par_iter().filter_map(find).collect())
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
