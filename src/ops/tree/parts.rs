//! Cofactors of rows whose product is too long for one tree.
//!
//! Rows are cut into `m` parts with a tree each. Let `N_j` be the product of part `j`, and `D_j`
//! the sum of its cofactors. For a row `n` of the part, the product of all other rows is
//!
//! ```text
//! D_j * product of N_i for i != j    modulo n,
//! ```
//!
//! since `D_j` is the product of the other rows of the part modulo `n`. So each part multiplies
//! `D_j` by the other products modulo `N_j` (`root.rs`), and descends its own tree with the result.
//! No number is longer than the product of a part. Equal rows and rows that divide the product of
//! others have the same cofactors in every cut: the equation holds for all rows `n >= 1`.
//!
//! # Products
//! A product modulo `N_j` takes six products of the length of the part, and the reciprocal and the
//! fraction six more: `6 m` for each part, or `6 m` times the length `B` of all rows together. The
//! levels above the parts of one tree would take `5 log2(m) B`, and its root `6 B`. For two parts it
//! is 12 instead of 11.
//!
//! # Memory
//! The trees of all parts are kept, so that they are computed once. Without room for that, trees are
//! dropped, and each is computed again before its descent: one product more a level, six instead of
//! five. Without room for the tree of one part, parts are halved.

use std::ops::Range;

use gpuint_catalogue::Shape;
use num_bigint::BigUint;
use tracing::debug_span;

use super::nodes::{home, moved};
use super::root::Root;
use super::{Tree, returned};
use crate::backend::BackendKind;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};

/// Bits of the rows of a part, unless it is one row: GPUs have wide products of rows of 2^30 bits,
/// which hold the guard, too.
pub(super) const MOST_PART_BITS: u64 = (1 << 30) - 64;

/// Most parts that rows are cut into for lack of memory. The levels of more parts need less memory
/// than the rows.
const MOST_CUTS: u64 = 64;

/// Most trees that are kept in host memory, which the system may grant without having it.
const HOST_TREES: usize = 2;

/// Consecutive rows.
struct Part {
    rows: Range<usize>,
    /// `None` if it is computed again for its descent.
    tree: Option<Tree>,
    /// The product of the rows, and its length.
    product: DynBatch,
    length: u64,
    /// Bits of a fraction of the product.
    fraction_bits: u64,
    /// The sum of the cofactors.
    sum: DynBatch,
}

/// Computes the product of all other rows and of `numbers` modulo each row. Parts have at most
/// `most` bits, or one row.
///
/// # Errors
/// `DivisionByZero` with the lowest row that is zero.
pub(super) fn cofactors(rows: &DynBatch, numbers: &[BigUint], most: u64) -> Result<DynBatch> {
    let lengths = rows.bit_lengths()?;
    if let Some(row) = lengths.iter().position(|&bits| bits == 0) {
        return Err(Error::DivisionByZero { row });
    }
    let total: u64 = lengths.iter().sum();
    let mut most = most;
    loop {
        let ranges = cut(&lengths, most);
        let longest = ranges.iter().map(|part| lengths[part.clone()].iter().sum()).max();
        let half: u64 = longest.unwrap_or(0u64).div_ceil(2);
        let is_last = ranges.iter().all(|part| part.len() <= 1) || half < total / MOST_CUTS;
        match of_parts(rows, &lengths, ranges, numbers) {
            Err(Error::OutOfMemory { .. }) if !is_last => most = half,
            cofactors => return cofactors,
        }
    }
}

/// Cuts rows of these lengths into parts of similar length, with at most `most` bits or one row.
fn cut(lengths: &[u64], most: u64) -> Vec<Range<usize>> {
    let total: u64 = lengths.iter().sum();
    let wanted = total.div_ceil(total.div_ceil(most.max(1)).max(1));
    let mut parts = Vec::new();
    let (mut first, mut bits) = (0, 0);
    for (row, &length) in lengths.iter().enumerate() {
        if row > first && (bits >= wanted || bits + length > most) {
            parts.push(first..row);
            (first, bits) = (row, 0);
        }
        bits += length;
    }
    if first < lengths.len() {
        parts.push(first..lengths.len());
    }
    parts
}

/// Computes the cofactors by these parts.
fn of_parts(
    rows: &DynBatch,
    lengths: &[u64],
    ranges: Vec<Range<usize>>,
    numbers: &[BigUint],
) -> Result<DynBatch> {
    let is_kept = rows.device().backend() != BackendKind::Cpu || ranges.len() <= HOST_TREES;
    let mut parts: Vec<Part> = Vec::new();
    for range in ranges {
        let mut part = with_room(&mut parts, |_| Part::new(rows, lengths, range.clone()))?;
        if !is_kept {
            part.tree = None;
        }
        parts.push(part);
    }
    let bits = parts.iter().map(|part| part.fraction_bits).max().unwrap_or(0);
    let mut cofactors = Vec::new();
    for index in 0..parts.len() {
        cofactors.push(with_room(&mut parts, |parts| {
            let part = &parts[index];
            let fraction = fraction(parts, index, home(rows.device(), bits)?, numbers)?;
            let rests = match &part.tree {
                Some(tree) => tree.descend(fraction, rows.device()),
                None => part_tree(rows, lengths, &part.rows)?.descend(fraction, rows.device()),
            };
            returned(rests?, rows.device(), rows.shape())
        })?);
        parts[index].tree = None;
    }
    match cofactors.len() {
        0 => rows.try_clone(),
        1 => Ok(cofactors.remove(0)),
        _ => DynBatch::concat(&cofactors.iter().collect::<Vec<_>>()),
    }
}

/// Does work, and again without the trees of the parts if memory was not enough.
fn with_room<R>(parts: &mut [Part], work: impl Fn(&[Part]) -> Result<R>) -> Result<R> {
    let result = work(parts);
    if !matches!(result, Err(Error::OutOfMemory { .. })) {
        return result;
    }
    let mut has_dropped = false;
    parts.iter_mut().for_each(|part| has_dropped |= part.tree.take().is_some());
    if has_dropped { work(parts) } else { result }
}

/// Computes the tree over a range of rows.
fn part_tree(rows: &DynBatch, lengths: &[u64], part: &Range<usize>) -> Result<Tree> {
    if part.len() == rows.len() {
        return Tree::new(rows, lengths);
    }
    Tree::new(&rows.slice(part.clone())?, &lengths[part.clone()])
}

/// Computes the product of the cofactors of a part, the products of the other parts and `numbers`,
/// as a fraction of the product of the part.
fn fraction(
    parts: &[Part],
    index: usize,
    (device, shape): (Device, Shape),
    numbers: &[BigUint],
) -> Result<DynBatch> {
    let _span = debug_span!("fraction", part = index, parts = parts.len()).entered();
    let row = |row: &DynBatch| moved(row.try_clone()?, &device, shape);
    let part = &parts[index];
    let root = Root::new(row(&part.product)?, part.length)?;
    let mut residue = row(&part.sum)?;
    for (_, other) in parts.iter().enumerate().filter(|&(other, _)| other != index) {
        residue = root.product(&residue, &row(&other.product)?)?;
    }
    for number in numbers {
        residue = root.long_product(&residue, number)?;
    }
    root.fractions(residue)
}

impl Part {
    fn new(rows: &DynBatch, lengths: &[u64], part: Range<usize>) -> Result<Self> {
        let tree = part_tree(rows, lengths, &part)?;
        let (product, sum) = (tree.root()?.try_clone()?, tree.cofactor_sum()?);
        let fraction_bits = tree.layout.fraction_bits(tree.layout.levels.len());
        let length = tree.length;
        Ok(Self { rows: part, tree: Some(tree), product, length, fraction_bits, sum })
    }
}

#[cfg(test)]
mod tests {
    use num_integer::Integer;
    use num_traits::One;

    use super::*;

    /// Checks the cofactors in parts of at most `most` bits against direct products.
    fn check(device: &Device, values: &[BigUint], numbers: &[BigUint], most: u64) -> usize {
        let rows = DynBatch::fitting(device, values).unwrap();
        let lengths: Vec<u64> = values.iter().map(BigUint::bits).collect();
        let parts = cut(&lengths, most);
        assert!(parts.iter().flat_map(Clone::clone).eq(0..values.len()), "{parts:?}");
        for part in &parts {
            let bits: u64 = lengths[part.clone()].iter().sum();
            assert!(!part.is_empty() && (bits <= most || part.len() == 1), "{parts:?}");
        }
        let all: BigUint = values.iter().chain(numbers).product();
        let cofactors = cofactors(&rows, numbers, most).unwrap();
        let divisors = rows.gcd(&cofactors).unwrap().to_biguints().unwrap();
        let cofactors = cofactors.to_biguints().unwrap();
        for (row, value) in values.iter().enumerate() {
            let others = &all / value;
            assert_eq!(cofactors[row], &others % value, "row {row} of {values:?} in {parts:?}");
            assert_eq!(divisors[row], value.gcd(&others), "row {row}");
        }
        parts.len()
    }

    fn numbers<const N: usize>(values: [u64; N]) -> Vec<BigUint> {
        values.map(BigUint::from).into()
    }

    #[test]
    fn cofactors_are_equal_in_every_cut() {
        let device = Device::cpu();
        let [p, q, r, s] = [65_537u64, 65_539, 65_543, 65_551];
        let cases = [
            // A common divisor in two parts only, and a row in two parts.
            numbers([p * q, r * s, 3 * 5, 7 * 11, p * 13, r * s, 17]),
            // All share everything.
            numbers([p * q, q * r, r * s, s * p]),
            numbers([p, p, p, p * p, 1, 1, p * q * r]),
            numbers([1, 1, 1]),
            numbers([1 << 40, 1 << 3, 1 << 20, 3 << 30, 1 << 40]),
            numbers([u64::MAX, u64::MAX - 1, u64::MAX, 2, 3]),
            numbers([p]),
        ];
        let mut most_parts = 0;
        for values in &cases {
            for most in [1, 34, 40, 66, 100, 200, 1 << 20] {
                most_parts = most_parts.max(check(&device, values, &[], most));
                check(&device, values, &numbers([p * 19, 0x1_0000_0001]), most);
            }
        }
        assert_eq!(most_parts, 7);
    }

    #[test]
    fn parts_of_long_products_have_their_cofactors() {
        let device = Device::cpu();
        let one = BigUint::one;
        // Structured rows of uneven lengths, a common divisor across parts, and the largest factors.
        let shared = (one() << 1279u32) - 1u32;
        let row = |index: u32| match index % 3 {
            0 => (one() << (2000 + 40 * index)) - 1u32 - index,
            1 => &shared * ((one() << (300 + index)) + 1u32),
            _ => (one() << (700 * index)) + 3 * index,
        };
        let values: Vec<BigUint> = (0..20).map(row).collect();
        let old = [(one() << 90_000u32) - 1u32, one(), (one() << 20_000u32) + 7u32];
        for most in [15_000, 30_000, 50_000] {
            assert!(check(&device, &values, &[], most) > 1);
            check(&device, &values, &old, most);
        }
        // A number of zero, and no rows.
        let rows = DynBatch::fitting(&device, &values).unwrap();
        let divided = cofactors(&rows, &numbers([5, 0]), 30_000).unwrap();
        assert!(divided.is_zero_mask().unwrap().count().unwrap() == values.len());
        assert!(cofactors(&rows.slice(0..0).unwrap(), &old, 100).unwrap().is_empty());
    }

    #[test]
    fn zero_rows_are_rejected_with_the_lowest_row() {
        let rows = DynBatch::fitting(&Device::cpu(), numbers([5, 7, 0, 9, 0])).unwrap();
        for most in [1, 8, 1 << 20] {
            assert_eq!(cofactors(&rows, &[], most).err(), Some(Error::DivisionByZero { row: 2 }));
        }
    }

    #[test]
    fn work_is_done_again_without_trees_if_memory_is_not_enough() {
        let rows = DynBatch::fitting(&Device::cpu(), numbers([15, 21, 35])).unwrap();
        let mut parts = vec![Part::new(&rows, &[4, 5, 6], 0..3).unwrap()];
        let full = |parts: &[Part]| match parts[0].tree {
            Some(_) => Err(Error::OutOfMemory { bytes: 1 }),
            None => Ok(()),
        };
        assert_eq!(with_room(&mut parts, full), Ok(()));
        let full = |_: &[Part]| Err::<(), _>(Error::OutOfMemory { bytes: 2 });
        assert_eq!(with_room(&mut parts, full), Err(Error::OutOfMemory { bytes: 2 }));
    }
}
