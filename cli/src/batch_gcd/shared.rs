//! Keys that share a factor with others, by product trees.
//!
//! Keys are in classes of one width each. A key shares a factor with another one of its class if
//! its greatest common divisor with the product of the others is not 1, and with a key of another
//! class or of a store if that with the product of those is not 1.

use std::collections::{BTreeMap, BTreeSet};

use gpuint::{Device, DynBatch, DynProductTree, Error, Result};
use num_bigint::BigUint;
use num_traits::{One, Zero};
use rayon::prelude::*;

use super::keys::Collection;

/// Keys of one width, with their product tree.
pub(crate) struct Class {
    /// Indices of the keys.
    keys: Vec<usize>,
    rows: DynBatch,
    tree: DynProductTree,
}

/// A factor of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Factor {
    pub(crate) value: BigUint,
    /// Keys that it divides too.
    pub(crate) keys: Vec<usize>,
}

/// Cuts keys into classes whose width is at most twice that of their keys.
pub(crate) fn widths(keys: &Collection, indices: &[usize]) -> BTreeMap<u64, Vec<usize>> {
    let mut classes: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for &index in indices {
        classes.entry(keys.bits(index).next_power_of_two()).or_default().push(index);
    }
    classes
}

/// Bytes of host memory of the trees over classes with this number of keys by width.
pub(crate) fn tree_bytes(classes: &BTreeMap<u64, Vec<usize>>) -> u64 {
    classes.iter().map(|(&bits, keys)| Class::bytes(bits, keys.len() as u64)).sum()
}

impl Class {
    /// Builds the tree over keys of at most `bits` bits.
    pub(crate) fn new(
        device: &Device,
        keys: &Collection,
        bits: u64,
        indices: Vec<usize>,
    ) -> Result<Self> {
        let rows = rows(device, keys, bits, &indices)?;
        let tree = DynProductTree::new(&rows)?;
        Ok(Self { keys: indices, rows, tree })
    }

    /// Bytes of host memory of a class.
    fn bytes(bits: u64, keys: u64) -> u64 {
        let levels = u64::from(keys.max(2).next_power_of_two().ilog2());
        // The levels, and the values, quotients and copies of the widest ones on the way down.
        (levels + 12) * keys * bits.max(256).next_power_of_two() / 8
    }

    /// Number of keys.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the product of all keys.
    pub(crate) fn product(&self) -> BigUint {
        self.tree.root()
    }

    /// Returns the keys that share a factor with others of the class.
    pub(crate) fn sharing(&self) -> Result<Vec<usize>> {
        let divisors = self.rows.gcd(&self.tree.cofactors()?)?;
        Ok(self.divided(&divisors)?.map(|row| self.keys[row]).collect())
    }

    /// Returns the keys that share a factor with a number, with the greatest common divisors.
    pub(crate) fn divisors(&self, number: &BigUint) -> Result<Vec<(usize, BigUint)>> {
        let divisors = self.rows.gcd(&self.tree.remainders(number)?)?;
        let key = |row| Ok((self.keys[row], divisors.row(row)?));
        self.divided(&divisors)?.map(key).collect()
    }

    /// Returns the rows with a divisor other than 1.
    fn divided(&self, divisors: &DynBatch) -> Result<impl Iterator<Item = usize>> {
        let lengths = divisors.bit_lengths()?;
        Ok(lengths.into_iter().enumerate().filter(|&(_, bits)| bits > 1).map(|(row, _)| row))
    }
}

/// Makes rows of keys of at most `bits` bits.
fn rows(device: &Device, keys: &Collection, bits: u64, indices: &[usize]) -> Result<DynBatch> {
    let shape = device.shape_for(usize::try_from(bits).unwrap_or(usize::MAX))?;
    let row_bytes = shape.bits / 8;
    let length = indices.len().checked_mul(row_bytes);
    let length = length.ok_or(Error::OutOfMemory { bytes: u64::MAX })?;
    let mut bytes = vec![0; length];
    let filled = bytes.par_chunks_mut(row_bytes).zip(indices);
    gpuint::threads::install(|| {
        filled.for_each(|(row, &index)| {
            for (bytes, word) in row.chunks_mut(8).zip(keys.words(index)) {
                bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
            }
        });
    });
    DynBatch::from_le_bytes(device, shape, &bytes)
}

/// Returns the keys among `indices` that share a factor with a number.
pub(crate) fn sharing_keys(keys: &Collection, indices: &[usize], number: &BigUint) -> Vec<usize> {
    gpuint::threads::install(|| {
        let shares = |&&index: &&usize| {
            let modulus = keys.modulus(index);
            let rest = number % &modulus;
            !gcd(modulus, rest).is_one()
        };
        indices.par_iter().filter(shares).copied().collect()
    })
}

/// Splits the keys of a set that share factors: returns the factors of each key, ascending, whose
/// product is the key, and the other keys that each divides.
pub(crate) fn split(keys: &Collection, sharing: &BTreeSet<usize>) -> Vec<(usize, Vec<Factor>)> {
    let moduli: Vec<(usize, BigUint)> =
        sharing.iter().map(|&index| (index, keys.modulus(index))).collect();
    gpuint::threads::install(|| {
        moduli
            .par_iter()
            .map(|(index, modulus)| (*index, factors(*index, modulus, &moduli)))
            .collect()
    })
}

/// Returns the factors of a modulus that its greatest common divisors with others make.
fn factors(index: usize, modulus: &BigUint, all: &[(usize, BigUint)]) -> Vec<Factor> {
    let mut parts = vec![modulus.clone()];
    for (_, other) in all.iter().filter(|(other, _)| *other != index) {
        let divisor = gcd(modulus.clone(), other.clone());
        if divisor.is_one() {
            continue;
        }
        parts = parts.iter().flat_map(|part| refined(part, &divisor)).collect();
    }
    parts.sort();
    let shared = |value: &BigUint| {
        let divides =
            all.iter().filter(|(other, modulus)| *other != index && divides(value, modulus));
        divides.map(|(other, _)| *other).collect()
    };
    parts.into_iter().map(|value| Factor { keys: shared(&value), value }).collect()
}

fn divides(value: &BigUint, number: &BigUint) -> bool {
    (number % value).is_zero()
}

/// Splits a number at its greatest common divisor with another one, as often as it can be.
fn refined(part: &BigUint, divisor: &BigUint) -> Vec<BigUint> {
    let common = gcd(part.clone(), divisor.clone());
    if common.is_one() || common == *part {
        return vec![part.clone()];
    }
    let rest = part / &common;
    [refined(&common, &rest), refined(&rest, &common)].concat()
}

/// Returns the greatest common divisor.
fn gcd(mut a: BigUint, mut b: BigUint) -> BigUint {
    while !b.is_zero() {
        (a, b) = (b.clone(), a % b);
    }
    a
}
