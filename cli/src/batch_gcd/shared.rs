//! Keys that share a factor with others, by product trees.
//!
//! Keys are in classes of one width. The library compares the keys of a class with each other and
//! with the products of other classes. It cuts classes that are too long for one tree.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use gpuint::{BackendKind, Device, DynBatch, DynProductTree, Error, Pool, Result, threads};
use num_bigint::BigUint;
use num_traits::One;
use rayon::prelude::*;

use super::keys::Collection;
use super::records::{Divided, Records};
use crate::job::signals::STOP;

/// Keys whose width is at most twice their length.
pub(crate) struct Class {
    bits: u64,
    /// Indices of the keys.
    keys: Vec<usize>,
}

/// A factor of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Factor {
    pub(crate) value: BigUint,
    /// Keys that it divides, ascending, if it was found by comparing keys.
    pub(crate) keys: Arc<[usize]>,
}

/// Maximum bits of the keys of a product tree on a GPU.
const MAX_TREE_BITS: u64 = (1 << 30) - 128;

impl Class {
    /// Cuts keys into classes by their width, the class of the most bits first.
    pub(crate) fn all(keys: &Collection, indices: &[usize]) -> Vec<Self> {
        let mut widths: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for &index in indices {
            widths.entry(keys.bits(index).next_power_of_two()).or_default().push(index);
        }
        let mut classes: Vec<_> =
            widths.into_iter().map(|(bits, keys)| Self { bits, keys }).collect();
        classes.sort_by_key(|class| std::cmp::Reverse(class.bits * class.keys.len() as u64));
        classes
    }

    /// Cuts the class into parts of at most `most` bits, or one key.
    fn parts(&self, most: u64) -> impl Iterator<Item = &[usize]> {
        let most = (most / self.bits).max(1) as usize;
        let parts = self.keys.len().div_ceil(most).max(1);
        self.keys.chunks(self.keys.len().div_ceil(parts).max(1))
    }

    /// Bytes of host memory of the trees over this class.
    pub(crate) fn bytes(&self, device: &Device) -> u64 {
        tree_bytes(device, self.bits, self.keys.len() as u64)
    }

    /// Number of keys.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the width.
    pub(crate) fn bits(&self) -> u64 {
        self.bits
    }

    /// Returns numbers whose product is that of all keys.
    pub(crate) fn products(&self, device: &Device, keys: &Collection) -> Result<Vec<BigUint>> {
        let product =
            |part: &[usize]| Ok(DynProductTree::new(&rows(device, keys, self.bits, part)?)?.root());
        self.parts(MAX_TREE_BITS).map(product).collect()
    }

    /// Returns the keys that share a factor with other keys of the class or with `numbers`, and
    /// their greatest common divisors with the product of all of these. All devices of the pool
    /// compute, and go on from the records if there are any.
    pub(crate) fn sharing(
        &self,
        pool: &Pool,
        keys: &Collection,
        numbers: &[BigUint],
        records: Option<&Records>,
    ) -> Result<Vec<Divided>> {
        let records = records.map(|records| records.of_trees(self.bits.to_string()));
        if let [device] = pool.devices() {
            let rows = rows(device, keys, self.bits, &self.keys)?;
            let divisors = match &records {
                Some(records) => rows.resumable_batch_gcd(numbers, records)?,
                None => rows.batch_gcd_against(numbers)?,
            };
            return divided(&self.keys, &divisors);
        }
        let modulus = |&key: &usize| keys.modulus(key);
        let moduli: Vec<_> = threads::install(|| self.keys.par_iter().map(modulus).collect());
        let divisors = match &records {
            Some(records) => pool.resumable_batch_gcd(&moduli, numbers, records)?,
            None => pool.batch_gcd_against(&moduli, numbers)?,
        };
        Ok(self.keys.iter().copied().zip(divisors).filter(|(_, it)| !it.is_one()).collect())
    }
}

/// Bytes of host memory of a tree over keys.
fn tree_bytes(device: &Device, bits: u64, keys: u64) -> u64 {
    let copies = match device.backend() {
        // The rows, and the bytes and words of their product.
        BackendKind::Cuda => 3,
        // The levels, and the values, quotients and copies of the widest ones on the way down.
        _ => 12 + u64::from(keys.max(2).next_power_of_two().ilog2()),
    };
    copies * keys * bits.max(256).next_power_of_two() / 8
}

/// Returns the keys of the rows with a divisor other than 1, and these divisors.
fn divided(keys: &[usize], divisors: &DynBatch) -> Result<Vec<Divided>> {
    let lengths = divisors.bit_lengths()?;
    let found: Vec<usize> = (0..keys.len()).filter(|&row| lengths[row] > 1).collect();
    let values = divisors.gather(&found)?.to_biguints()?;
    Ok(found.into_iter().map(|row| keys[row]).zip(values).collect())
}

/// Cuts keys into parts that are compared with a number: each with its width and the bytes of host
/// memory that it takes.
pub(crate) fn parts_against<'c>(
    device: &Device,
    classes: &'c [Class],
    number: &BigUint,
) -> Vec<(u64, u64, &'c [usize])> {
    let most = match is_divided(device, number) || device.backend() == BackendKind::Cuda {
        true => MAX_TREE_BITS,
        // Trees of that length reduce the number without a division.
        false => number.bits().min(MAX_TREE_BITS),
    };
    let parts = classes.iter().flat_map(|class| class.parts(most).map(|part| (class.bits, part)));
    let with_bytes = |(bits, part): (u64, &'c [usize])| {
        (bits, tree_bytes(device, bits, part.len() as u64), part)
    };
    parts.map(with_bytes).collect()
}

/// Returns true if the host divides a number by each key, in place of a tree.
fn is_divided(device: &Device, number: &BigUint) -> bool {
    /// Bits below which a division takes less time than a key in a tree on the CPU.
    const MAX_BITS: u64 = 1 << 18;
    device.backend() == BackendKind::Cpu && number.bits() <= MAX_BITS
}

/// Returns the keys of a part that share a factor with a number, with their greatest common
/// divisors.
pub(crate) fn sharing_with(
    device: &Device,
    keys: &Collection,
    (bits, part): (u64, &[usize]),
    number: &BigUint,
) -> Result<Vec<Divided>> {
    let rows = rows(device, keys, bits, part)?;
    let rests = if is_divided(device, number) {
        let rest = |&key: &usize| match STOP.load(Ordering::Relaxed) {
            true => Err(Error::Interrupted),
            false => Ok(number % keys.modulus(key)),
        };
        let rests: Vec<_> = threads::install(|| part.par_iter().map(rest).collect::<Result<_>>())?;
        DynBatch::from_biguints(device, rows.shape(), &rests)?
    } else {
        DynProductTree::new(&rows)?.remainders(number)?
    };
    divided(part, &rows.gcd(&rests)?)
}

/// Makes rows of keys of at most `bits` bits.
fn rows(device: &Device, keys: &Collection, bits: u64, indices: &[usize]) -> Result<DynBatch> {
    let shape = device.shape_for(usize::try_from(bits).unwrap_or(usize::MAX))?;
    let row_bytes = shape.bits / 8;
    let length = indices.len().checked_mul(row_bytes);
    let length = length.ok_or(Error::OutOfMemory { bytes: u64::MAX })?;
    let mut bytes = vec![0; length];
    let filled = bytes.par_chunks_mut(row_bytes).zip(indices);
    threads::install(|| {
        filled.for_each(|(row, &index)| {
            for (bytes, word) in row.chunks_mut(8).zip(keys.words(index)) {
                bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
            }
        });
    });
    DynBatch::from_le_bytes(device, shape, &bytes)
}

/// Splits the keys of a set that share factors: returns the factors of each key, ascending, whose
/// product is the key. It goes on from the records if there are any.
pub(crate) fn split(
    device: &Device,
    keys: &Collection,
    indices: &[usize],
    records: Option<&Records>,
) -> Result<Vec<(usize, Vec<Factor>)>> {
    let Some(bits) = indices.iter().map(|&key| keys.bits(key)).max() else {
        return Ok(Vec::new());
    };
    let rows = rows(device, keys, bits, indices)?;
    let found = match records {
        Some(records) => rows.resumable_coprime_factors(&records.of_trees("factors"))?,
        None => rows.coprime_factors()?,
    };
    let mut divided: HashMap<BigUint, Vec<usize>> = HashMap::new();
    for (row, factors) in &found {
        for factor in factors {
            let keys = divided.entry(factor.clone()).or_default();
            // A square has a factor twice.
            if keys.last() != Some(&indices[*row]) {
                keys.push(indices[*row]);
            }
        }
    }
    let divided: HashMap<BigUint, Arc<[usize]>> =
        divided.into_iter().map(|(factor, keys)| (factor, keys.into())).collect();
    let factor = |value: BigUint| Factor { keys: Arc::clone(&divided[&value]), value };
    let factors = |factors: Vec<BigUint>| factors.into_iter().map(factor).collect();
    Ok(found.into_iter().map(|(row, found)| (indices[row], factors(found))).collect())
}

/// Returns the product of numbers, by halves.
pub(crate) fn product(numbers: &[BigUint]) -> BigUint {
    match numbers {
        [] => BigUint::one(),
        [number] => number.clone(),
        _ => {
            let (low, high) = numbers.split_at(numbers.len() / 2);
            let (low, high) = rayon::join(|| product(low), || product(high));
            low * high
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::PoisonError;

    use super::*;
    use crate::batch_gcd::keys::{Kind, Limits, Parsed};
    use crate::batch_gcd::place::Place;
    use crate::batch_gcd::work::tests::EVENTS;

    #[test]
    fn devices_of_a_pool_find_what_one_does() {
        let _events = EVENTS.lock().unwrap_or_else(PoisonError::into_inner);
        let mut parsed = Parsed::default();
        parsed.document("numbers");
        for key in 0..40u32 {
            let place = Place { document: 0, line: u64::from(key) + 1, entry: 0 };
            let number = BigUint::from(6 * key + 5).pow(9);
            parsed.push_number(&number, Kind::Number, place, Limits { widest: 4096 }).unwrap();
        }
        let mut keys = Collection::default();
        keys.append(parsed);
        let indices: Vec<usize> = (0..keys.len()).collect();
        let numbers = [BigUint::from(7u32 * 13), BigUint::from(257u32)];
        let mut shared = 0;
        for class in Class::all(&keys, &indices) {
            let found = |devices: Vec<Device>| {
                class.sharing(&Pool::of(devices).unwrap(), &keys, &numbers, None).unwrap()
            };
            let by_one = found(vec![Device::cpu()]);
            assert_eq!(found(vec![Device::cpu(); 3]), by_one);
            shared += by_one.len();
        }
        assert!((1..keys.len()).contains(&shared), "{shared} keys");
    }
}
