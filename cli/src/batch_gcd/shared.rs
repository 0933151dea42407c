//! Keys that share a factor with others, by product trees.
//!
//! Keys are in classes of one width and one product tree each. A key shares a factor with another
//! one of its class if its greatest common divisor with the product of the others is not 1, and
//! with a key of another class or of a store if that with the product of those is not 1.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use gpuint::{Device, DynBatch, DynProductTree, Error, Result, SharedFactors};
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

/// Most bits of the keys of a class: those of a product tree on a GPU.
const MAX_CLASS_BITS: u64 = (1 << 30) - 128;

/// Cuts keys into classes, whose width is at most twice that of their keys.
pub(crate) fn widths(keys: &Collection, indices: &[usize]) -> Vec<(u64, Vec<usize>)> {
    let mut widths: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for &index in indices {
        widths.entry(keys.bits(index).next_power_of_two()).or_default().push(index);
    }
    let mut classes = Vec::new();
    for (bits, keys) in widths {
        let most = (MAX_CLASS_BITS / bits).max(1) as usize;
        let size = keys.len().div_ceil(keys.len().div_ceil(most));
        classes.extend(keys.chunks(size).map(|keys| (bits, keys.to_vec())));
    }
    classes
}

/// Bytes of host memory of the trees over these classes: width and keys.
pub(crate) fn tree_bytes(classes: &[(u64, Vec<usize>)]) -> u64 {
    classes.iter().map(|(bits, keys)| Class::bytes(*bits, keys.len() as u64)).sum()
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
    let indices: Vec<usize> = sharing.iter().copied().collect();
    let Some(bits) = indices.iter().map(|&key| keys.bits(key)).max() else {
        return Ok(Vec::new());
    };
    let found = rows(device, keys, bits, &indices)?.shared_factors()?;
    let mut divided: HashMap<BigUint, Vec<usize>> = HashMap::new();
    for shared in &found {
        for factor in &shared.factors {
            let keys = divided.entry(factor.clone()).or_default();
            // A square has a factor twice.
            if keys.last() != Some(&indices[shared.row]) {
                keys.push(indices[shared.row]);
            }
        }
    }
    let divided: HashMap<BigUint, Arc<[usize]>> =
        divided.into_iter().map(|(factor, keys)| (factor, keys.into())).collect();
    let factor = |value: BigUint| Factor { keys: Arc::clone(&divided[&value]), value };
    let factors = |shared: SharedFactors| shared.factors.into_iter().map(factor).collect();
    Ok(found.into_iter().map(|shared| (indices[shared.row], factors(shared))).collect())
}

/// Returns the greatest common divisor.
fn gcd(mut a: BigUint, mut b: BigUint) -> BigUint {
    while !b.is_zero() {
        (a, b) = (b.clone(), a % b);
    }
    a
}
