//! Keys of the same modulus.

use std::hash::{BuildHasher, RandomState};

use gpuint::threads;
use rayon::prelude::*;

use super::keys::Collection;

/// The different moduli of a collection.
#[derive(Debug)]
pub(crate) struct Distinct {
    /// The first key of each modulus, ascending.
    pub(crate) first: Vec<usize>,
    /// Keys with the modulus of an earlier one: that one, and the key, ascending.
    copies: Vec<(usize, usize)>,
}

impl Distinct {
    /// Bytes of memory per key while the moduli are compared.
    pub(crate) const BYTES: u64 = 64;

    /// Finds the keys of the same modulus.
    pub(crate) fn of(keys: &Collection) -> Self {
        // Of a random seed, so that nobody can choose moduli of one hash.
        let state = RandomState::new();
        let hash = |key: usize| (state.hash_one(keys.words(key)), key);
        let order: Vec<(u64, usize)> = threads::install(|| {
            let mut order: Vec<_> = (0..keys.len()).into_par_iter().map(hash).collect();
            order.par_sort_unstable();
            order
        });
        let mut copies = Vec::new();
        let hashes = order.chunk_by(|a, b| a.0 == b.0);
        for same_hash in hashes.filter(|same_hash| same_hash.len() > 1) {
            // Few, but different moduli may have one hash.
            let mut firsts: Vec<usize> = Vec::new();
            for &(_, key) in same_hash {
                match firsts.iter().find(|&&first| keys.words(first) == keys.words(key)) {
                    Some(&first) => copies.push((first, key)),
                    None => firsts.push(key),
                }
            }
        }
        copies.sort_unstable();
        let mut is_copy = vec![false; keys.len()];
        for &(_, key) in &copies {
            is_copy[key] = true;
        }
        let first = (0..keys.len()).filter(|&key| !is_copy[key]).collect();
        Self { first, copies }
    }

    /// Number of keys with the modulus of an earlier one.
    pub(crate) fn number_of_copies(&self) -> usize {
        self.copies.len()
    }

    /// Returns the keys with the modulus of this one, which is the first of them.
    pub(crate) fn copies_of(&self, first: usize) -> impl Iterator<Item = usize> {
        let start = self.copies.partition_point(|copy| copy.0 < first);
        self.copies[start..].iter().take_while(move |copy| copy.0 == first).map(|copy| copy.1)
    }

    /// Returns the first key of each modulus that several keys have.
    pub(crate) fn copied(&self) -> impl Iterator<Item = usize> {
        self.copies.chunk_by(|a, b| a.0 == b.0).map(|copies| copies[0].0)
    }
}
