//! Keys that share a factor with others, by product trees.
//!
//! Keys are in classes of one width each. A key shares a factor with another one of its class if
//! its greatest common divisor with the product of the others is not 1, and with a key of another
//! class or of a store if that with the product of those is not 1.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

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
    /// Keys that it divides, ascending, if it was found by comparing keys.
    pub(crate) keys: Arc<[usize]>,
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
/// product is the key.
pub(crate) fn split(
    device: &Device,
    keys: &Collection,
    sharing: &BTreeSet<usize>,
) -> Result<Vec<(usize, Vec<Factor>)>> {
    let moduli: Vec<BigUint> = sharing.iter().map(|&index| keys.modulus(index)).collect();
    let splits = coprime_parts(device, moduli.iter().cloned().collect())?;
    let parts: Vec<Vec<BigUint>> = moduli.iter().map(|modulus| parts(modulus, &splits)).collect();
    let mut divided: HashMap<&BigUint, Vec<usize>> = HashMap::new();
    for (&index, parts) in sharing.iter().zip(&parts) {
        for part in parts {
            let keys = divided.entry(part).or_default();
            // A square has a part twice.
            if keys.last() != Some(&index) {
                keys.push(index);
            }
        }
    }
    let divided: HashMap<&BigUint, Arc<[usize]>> =
        divided.into_iter().map(|(part, keys)| (part, keys.into())).collect();
    let factor = |part: &BigUint| Factor { value: part.clone(), keys: Arc::clone(&divided[part]) };
    Ok(sharing
        .iter()
        .zip(&parts)
        .map(|(&key, parts)| (key, parts.iter().map(factor).collect()))
        .collect())
}

/// Splits different numbers until all parts are pairwise coprime or equal; returns the parts of
/// each number and part that is split.
///
/// A number that shares a divisor with the product of the others is split at that divisor. Where
/// every number divides the product of the others, one of a pair is split at the divisor of the
/// pair: two different numbers cannot both be their greatest common divisor. Each round splits a
/// number, so that the rounds end.
fn coprime_parts(
    device: &Device,
    numbers: BTreeSet<BigUint>,
) -> Result<HashMap<BigUint, Vec<BigUint>>> {
    let mut splits = HashMap::new();
    let mut open = numbers;
    loop {
        let values: Vec<BigUint> = open.into_iter().collect();
        let divisors = common_divisors(device, &values)?;
        // The others are coprime to all numbers, and so to all later parts.
        let sharing: Vec<(BigUint, BigUint)> =
            values.into_iter().zip(divisors).filter(|(_, divisor)| !divisor.is_one()).collect();
        if sharing.is_empty() {
            return Ok(splits);
        }
        let is_proper = |(value, divisor): &(BigUint, BigUint)| value != divisor;
        let found: Vec<Option<BigUint>> = if sharing.iter().any(is_proper) {
            sharing.iter().map(|pair| is_proper(pair).then(|| pair.1.clone())).collect()
        } else {
            let divisor = |value: &BigUint| {
                let divisors = sharing.iter().map(|(other, _)| gcd(value.clone(), other.clone()));
                divisors.into_iter().find(|divisor| !divisor.is_one() && divisor != value)
            };
            gpuint::threads::install(|| {
                sharing.par_iter().map(|(value, _)| divisor(value)).collect()
            })
        };
        open = BTreeSet::new();
        for ((value, _), divisor) in sharing.into_iter().zip(found) {
            match divisor {
                Some(divisor) => {
                    let parts = refined(&value, &divisor);
                    open.extend(parts.iter().cloned());
                    splits.insert(value, parts);
                }
                None => drop(open.insert(value)),
            }
        }
    }
}

/// Returns the greatest common divisor of each number and the product of the others.
fn common_divisors(device: &Device, numbers: &[BigUint]) -> Result<Vec<BigUint>> {
    let Some(bits) = numbers.iter().map(BigUint::bits).max() else { return Ok(Vec::new()) };
    let shape = device.shape_for(usize::try_from(bits).unwrap_or(usize::MAX))?;
    DynBatch::from_biguints(device, shape, numbers)?.batch_gcd()?.to_biguints()
}

/// Returns the last parts of a number, ascending.
fn parts(number: &BigUint, splits: &HashMap<BigUint, Vec<BigUint>>) -> Vec<BigUint> {
    let mut parts = Vec::new();
    let mut open = vec![number];
    while let Some(number) = open.pop() {
        match splits.get(number) {
            Some(split) => open.extend(split),
            None => parts.push(number.clone()),
        }
    }
    parts.sort();
    parts
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
