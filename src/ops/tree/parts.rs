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
//! A product modulo `N_j` takes five products of the length of the part, two of them for the
//! product itself and three for its remainder. Parts are multiplied in pairs, once for all others:
//! the remainder of a pair takes three products, and the product with it five. So two parts take 8
//! instead of 10. The reciprocal and the fraction take twelve, and part `j` `4 m + 10` products for
//! `m` parts, or `4 m + 10` times the length `B` of all rows together. The levels above the parts
//! of one tree would take `5 log2(m) B`, and its root `6 B`.
//!
//! # Memory
//! Some trees of each device are kept. The others are computed again before their descents: one
//! product more a level, six instead of five. Without room for that, no tree is kept, and without
//! room for the tree of one part, parts are halved.
//!
//! # Records
//! With a checkpoint, a part records its root and nodes of its tree (`checkpoint.rs`): between
//! levels when the checkpoint asks for it, and at the end of a part that has records. A call that
//! goes on from a level down the tree computes the products below that level alone.
//!
//! # Devices
//! A device computes its parts by itself, and reads the products of the other ones: each product
//! goes to every other device, `B` bits to each in all.

use std::ops::Range;
use std::sync::Arc;
use std::thread;

use gpuint_catalogue::Shape;
use num_bigint::BigUint;
use num_traits::One;
use once_cell::sync::OnceCell;
use rayon::prelude::*;
use tracing::{debug_span, dispatcher};

use super::checkpoint::{Checkpoint, Reached, Records, Stage};
use super::fractions;
use super::layout::Layout;
use super::nodes::{Nodes, home, moved, returned, sent};
use super::nonempty::Tree;
use super::progress::{self, levels_resumed, plan_levels, plan_root, root_done, root_resumed};
use super::root::{Root, Wide, modulus_bits};
use crate::backend::BackendKind;
use crate::backend::host::{check_room, collected, reserved_vec};
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::interrupt::{Stop, on_pool};

/// Bits of the rows of a part, unless it is one row: GPUs have wide products of rows of 2^30 bits,
/// which hold the guard, and reciprocals have 64 bits less (`root.rs`).
pub(super) const MAX_PART_BITS: u64 = (1 << 30) - 128;

/// Most parts that rows are cut into for lack of memory. The levels of more parts need less memory
/// than the rows.
const MAX_CUTS: u64 = 64;

/// Most trees that a device keeps: 3 GB each on a GPU. The system may grant host memory without
/// having it, so the CPU keeps fewer.
const fn max_trees(backend: BackendKind) -> usize {
    match backend {
        BackendKind::Cuda => 8,
        BackendKind::Cpu | BackendKind::Simt => 2,
    }
}

/// The root of the tree of a part.
struct PartRoot {
    /// The product of the rows, and its length.
    product: DynBatch,
    length: u64,
    /// The product on the other devices.
    copies: Vec<DynBatch>,
    /// Bits of a fraction of the product.
    fraction_bits: u64,
    /// The sum of the cofactors.
    sum: DynBatch,
}

/// Rows that devices make of ranges.
struct Source<'a, F> {
    checkpoint: Option<&'a dyn Checkpoint>,
    devices: &'a [Device],
    lengths: &'a [u64],
    /// Makes rows of a range on a device.
    rows: F,
}

/// Computes the product of all other rows and of `numbers` modulo each row. Parts have at most
/// `most` bits, or one row.
///
/// # Errors
/// `DivisionByZero` with the lowest row that is zero.
pub(super) fn cofactors(
    rows: &DynBatch,
    numbers: &[BigUint],
    most: u64,
    checkpoint: Option<&dyn Checkpoint>,
) -> Result<DynBatch> {
    let source = Source {
        checkpoint,
        devices: std::slice::from_ref(rows.device()),
        lengths: &rows.bit_lengths()?,
        rows: |_: &Device, range: Range<usize>| match range.len() == rows.len() {
            true => rows.try_clone(),
            false => rows.slice(range),
        },
    };
    let mut cofactors = source.compute(numbers, most, |_, cofactors| Ok(cofactors))?;
    match cofactors.len() {
        0 => rows.try_clone(),
        1 => Ok(cofactors.remove(0)),
        _ => DynBatch::concat(&cofactors.iter().collect::<Vec<_>>()),
    }
}

/// Computes the greatest common divisor of each value and the product of all others and of
/// `numbers`, with at least a part for each device.
///
/// # Errors
/// As [`cofactors`], and `WidthMissing`.
pub(super) fn divisors(
    devices: &[Device],
    values: &[BigUint],
    numbers: &[BigUint],
    most: u64,
    checkpoint: Option<&dyn Checkpoint>,
) -> Result<Vec<BigUint>> {
    let mut lengths = reserved_vec(values.len())?;
    on_pool(|| values.par_iter().map(BigUint::bits).collect_into_vec(&mut lengths));
    let bits = lengths.iter().copied().max().unwrap_or(0);
    let bits = usize::try_from(bits).unwrap_or(usize::MAX);
    let source = Source {
        checkpoint,
        devices,
        lengths: &lengths,
        rows: |device: &Device, range: Range<usize>| {
            let _span = debug_span!("rows", rows = range.len()).entered();
            DynBatch::from_biguints(device, device.shape_for(bits)?, &values[range])
        },
    };
    let share = lengths.iter().sum::<u64>().div_ceil(devices.len() as u64);
    let divisors = source.compute(numbers, most.min(share), |rows, cofactors| {
        debug_span!("divisors", rows = rows.len()).in_scope(|| integers(&rows.gcd(&cofactors)?))
    })?;
    let mut all = reserved_vec(values.len())?;
    divisors.into_iter().for_each(|part| all.extend(part));
    Ok(all)
}

/// Returns the values of rows, most of which are 1.
fn integers(rows: &DynBatch) -> Result<Vec<BigUint>> {
    let lengths = rows.bit_lengths()?;
    let others = collected((0..rows.len()).filter(|&row| lengths[row] > 1))?;
    let values = rows.gather(&others)?.to_biguints()?;
    check_room(rows.len(), size_of::<u64>())?;
    let mut all = reserved_vec(rows.len())?;
    // Allocations of many threads wait for each other.
    const PART: usize = 1 << 15;
    let ones = lengths.par_iter().with_min_len(PART).map(|_| BigUint::one());
    on_pool(|| ones.collect_into_vec(&mut all));
    others.into_iter().zip(values).for_each(|(row, value)| all[row] = value);
    Ok(all)
}

impl<F: Fn(&Device, Range<usize>) -> Result<DynBatch> + Sync> Source<'_, F> {
    /// Computes results from the rows and cofactors of each part, in order.
    fn compute<R: Send>(
        &self,
        numbers: &[BigUint],
        most: u64,
        result: impl Fn(DynBatch, DynBatch) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        if let Some(row) = self.lengths.iter().position(|&bits| bits == 0) {
            return Err(Error::DivisionByZero { row });
        }
        let total: u64 = self.lengths.iter().sum();
        let mut most = most;
        loop {
            let ranges = cut(self.lengths, most);
            let several = ranges.iter().filter(|part| part.len() > 1);
            let longest = several.map(|part| self.lengths[part.clone()].iter().sum::<u64>()).max();
            let half = longest.map(|bits| bits.div_ceil(2));
            let half = half.filter(|&half| half >= total / MAX_CUTS);
            for is_kept in [true, false] {
                match (self.compute_parts(&ranges, is_kept, numbers, &result), half) {
                    (Err(Error::OutOfMemory { .. }), _) if is_kept => {}
                    (Err(Error::OutOfMemory { .. }), Some(half)) => most = half,
                    (results, _) => return results,
                }
            }
        }
    }

    /// Computes the results of these parts. With `is_kept` each device keeps its first trees until
    /// their descents; others are computed twice.
    fn compute_parts<R: Send>(
        &self,
        ranges: &[Range<usize>],
        is_kept: bool,
        numbers: &[BigUint],
        result: impl Fn(DynBatch, DynBatch) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let layouts = Layouts::new(self.lengths, ranges);
        let records: Vec<Records<'_>> =
            ranges.iter().map(|rows| Records::new(self.checkpoint, rows)).collect();
        let bits = |index: usize| self.lengths[ranges[index].clone()].iter().sum();
        // Integers of the host are converted once for a tree that is kept.
        let tree = |device: &Device, index: usize, levels: Option<usize>| {
            let range = &ranges[index];
            let rows = (self.rows)(device, range.clone())?;
            let layout = layouts.of(index)?;
            let levels = levels.unwrap_or(layout.levels.len());
            let tree = Tree::over(&rows, &self.lengths[range.clone()], layout, levels)?;
            Ok((rows, tree))
        };
        let devices = self.devices.len();
        let is_kept = |index: usize, device: &Device| {
            is_kept && index / devices < max_trees(device.backend())
        };
        for (index, range) in ranges.iter().enumerate() {
            let again = !is_kept(index, &self.devices[index % devices]);
            let trees = 1 + u64::from(again);
            let products = trees * progress::PRODUCTS + progress::SUMS + progress::REMAINDERS;
            plan_levels(bits(index), range.len(), products);
            plan_root(bits(index), ranges.len() - 1, numbers);
        }
        let parts = (0..ranges.len()).collect();
        let nothing = |_: &Device| Ok(());
        let tree_and_root = |device: &Device, (): &(), index: usize| {
            let (is_kept, records) = (is_kept(index, device), &records[index]);
            if let Some([product, sum]) = records.load_root(device, || layouts.of(index))? {
                let layout = layouts.of(index)?;
                let products = progress::SUMS + if is_kept { 0 } else { progress::PRODUCTS };
                levels_resumed(&layout, 0..layout.levels.len(), products);
                let (length, fraction_bits) = (product.bit_lengths()?[0], layout.root_bits());
                let copies = copies(&product, self.devices, fraction_bits)?;
                return Ok((None, PartRoot { product, length, copies, fraction_bits, sum }));
            }
            let (rows, tree) = tree(device, index, None)?;
            let (root, fraction_bits) = (tree.root()?, tree.fraction_bits());
            // Copies to other devices run beside the sum of cofactors.
            let queue = match self.devices.len() {
                1 => root.device().clone(),
                _ => root.device().queue()?,
            };
            let (product, length) = (root.clone_on(&queue)?, tree.length()?);
            let sum = cofactor_sum(&tree, records, device, rows.len())?;
            let copies = copies(&product, self.devices, fraction_bits)?;
            let product = product.on(root.device())?;
            if records.has_levels() || records.is_due() {
                records.save_root(&product, &sum)?;
            }
            let root = PartRoot { product, length, copies, fraction_bits, sum };
            Ok((is_kept.then_some((rows, tree)), root))
        };
        let parts = thread::scope(|scope| {
            layouts.begin(scope);
            on_devices(self.devices, parts, nothing, tree_and_root)
        })?;
        let (trees, roots): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let most_bits = roots.iter().map(|root| root.fraction_bits).max().unwrap_or(0);
        let trees = trees.into_iter().enumerate().collect();
        let pairs = |device: &Device| pairs(&roots, most_bits, device);
        let save = |index: usize, level, fractions: &Nodes| {
            // The roots, too: without the record of its root, a part is computed again.
            for (records, root) in records.iter().zip(&roots) {
                records.save_root(&root.product, &root.sum)?;
            }
            records[index].save_levels(Stage::Remainders, level, fractions)
        };
        on_devices(self.devices, trees, pairs, |device, pairs, (index, kept)| {
            let (range, records) = (&ranges[index], &records[index]);
            let layout = match &kept {
                Some((_, tree)) => Arc::clone(&tree.layout),
                None => layouts.of(index)?,
            };
            let passed = |level: usize, fractions: &Nodes| {
                let is_end = level == 0 && records.has_levels();
                if is_end || records.is_due() { save(index, level, fractions) } else { Ok(()) }
            };
            let reached = records.load_levels(device, &layout, range.len())?;
            let levels = layout.levels.len();
            let (fractions, top) = match reached {
                Some(Reached { stage: Stage::Remainders, level, nodes }) => {
                    root_resumed(bits(index), ranges.len() - 1, numbers);
                    levels_resumed(&layout, level..levels, progress::REMAINDERS);
                    (nodes, level)
                }
                _ => {
                    let fraction = fraction(&roots, pairs, index, most_bits, device, numbers)?;
                    root_done(bits(index), ranges.len() - 1, numbers);
                    let fractions = fractions::of_root(&layout, &fraction, device)?;
                    drop(fraction);
                    passed(levels, &fractions)?;
                    (fractions, levels)
                }
            };
            // Ends the memory of a tree with its descent.
            let (rows, tree) = match kept {
                Some(kept) => kept,
                None => {
                    // The products above are not used.
                    let used = top.saturating_sub(1);
                    levels_resumed(&layout, used..levels, progress::PRODUCTS);
                    tree(device, index, Some(used))?
                }
            };
            let rests = tree.descend_from(fractions, top, device, passed)?;
            drop(tree);
            let cofactors = returned(rests, device, rows.shape())?;
            result(rows, cofactors)
        })
    }
}

/// Computes the sum of the cofactors of a part, from its records if there are any.
fn cofactor_sum(
    tree: &Tree,
    records: &Records<'_>,
    device: &Device,
    rows: usize,
) -> Result<DynBatch> {
    let (sums, first) = match records.load_levels(device, &tree.layout, rows)? {
        Some(Reached { stage: Stage::Sums, level, nodes }) => {
            levels_resumed(&tree.layout, 0..level, progress::SUMS);
            (nodes, level)
        }
        _ => (tree.cofactors_of_rows()?, 0),
    };
    tree.cofactor_sum_from(sums, first, |level, sums| match records.is_due() {
        true => records.save_levels(Stage::Sums, level, sums),
        false => Ok(()),
    })
}

/// Layouts of parts. Neighbours of equal lengths share one: most collections are of equal rows.
struct Layouts<'l> {
    /// Lengths of the rows of each part.
    lengths: Vec<&'l [u64]>,
    /// The first of the parts that share the layout of each part.
    first: Vec<usize>,
    shared: Vec<OnceCell<Arc<Layout>>>,
}

impl<'l> Layouts<'l> {
    fn new(lengths: &'l [u64], ranges: &[Range<usize>]) -> Self {
        let lengths: Vec<&[u64]> = ranges.iter().map(|range| &lengths[range.clone()]).collect();
        let mut first: Vec<usize> = (0..lengths.len()).collect();
        for part in 1..lengths.len() {
            if lengths[part] == lengths[part - 1] {
                first[part] = first[part - 1];
            }
        }
        let shared = lengths.iter().map(|_| OnceCell::new()).collect();
        Self { lengths, first, shared }
    }

    /// Begins the layout of the first part on a thread, if other parts have it: devices make their
    /// rows meanwhile.
    fn begin<'s>(&'s self, scope: &'s thread::Scope<'s, '_>) {
        if self.is_shared(0) {
            let log = dispatcher::get_default(Clone::clone);
            // Without a thread, and after an error, the layout is made at its use.
            let _ = thread::Builder::new().spawn_scoped(scope, move || {
                dispatcher::with_default(&log, || self.of(0).map(drop))
            });
        }
    }

    /// Returns true if other parts have the layout of a first part.
    fn is_shared(&self, first: usize) -> bool {
        self.first.get(first + 1) == Some(&first)
    }

    /// Returns the layout of a part. It is kept if several parts have it.
    fn of(&self, part: usize) -> Result<Arc<Layout>> {
        let first = self.first[part];
        let layout = || Layout::new(self.lengths[first]).map(Arc::new);
        match self.is_shared(first) {
            true => self.shared[first].get_or_try_init(layout).cloned(),
            false => layout(),
        }
    }
}

/// Cuts rows of these lengths into parts of similar length, with at most `most` bits or one row.
pub(super) fn cut(lengths: &[u64], most: u64) -> Vec<Range<usize>> {
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

/// Does work for each part, every device for the parts of its number modulo the number of devices.
/// Before its first part, a device computes operands of all of its parts by `prepare`. Results are
/// in the order of the parts, and the error is that of the first part that failed.
fn on_devices<P: Send, S, R: Send>(
    devices: &[Device],
    parts: Vec<P>,
    prepare: impl Fn(&Device) -> Result<S> + Sync,
    work: impl Fn(&Device, &S, P) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let mut shares: Vec<Vec<(usize, P)>> = devices.iter().map(|_| Vec::new()).collect();
    for (index, part) in parts.into_iter().enumerate() {
        shares[index % devices.len()].push((index, part));
    }
    let stop = Stop::current();
    let serve = |device: &Device, share: Vec<(usize, P)>| {
        let mut results = Vec::new();
        let mut operands = None;
        for (index, part) in share {
            let result = stop.during(|| {
                let prepared = operands.take().map_or_else(|| prepare(device), Ok)?;
                work(device, operands.insert(prepared), part)
            });
            let has_failed = result.is_err();
            results.push((index, result));
            if has_failed {
                break;
            }
        }
        results
    };
    let mut results = thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut results = Vec::new();
        let mut shares = devices.iter().zip(shares);
        let own = shares.next();
        for (device, share) in shares.filter(|(_, share)| !share.is_empty()) {
            let (first, serve) = (share[0].0, &serve);
            match thread::Builder::new().spawn_scoped(scope, move || serve(device, share)) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    results.push((first, Err(Error::Driver(format!("no thread: {error}")))));
                }
            }
        }
        // One device needs no other thread.
        results.extend(own.into_iter().flat_map(|(device, share)| serve(device, share)));
        for thread in threads {
            let joined = thread.join();
            results.extend(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        results
    });
    results.sort_by_key(|result| result.0);
    results.into_iter().map(|result| result.1).collect()
}

/// Copies a long product to all devices with other memory, on queues of their own.
fn copies(product: &DynBatch, devices: &[Device], bits: u64) -> Result<Vec<DynBatch>> {
    let _span = debug_span!("product_sent", devices = devices.len()).entered();
    let mut copies: Vec<DynBatch> = Vec::new();
    for device in devices {
        let (device, shape) = home(device, bits)?;
        let mut there = std::iter::once(product).chain(&copies).map(DynBatch::device);
        let is_there = there.any(|other| other.shares_memory_with(&device));
        if !is_there && shape.is_long() && product.shape().is_long() {
            copies.push(sent(product, &device.queue()?, shape)?.on(&device)?);
        }
    }
    Ok(copies)
}

/// Returns a row, of which there are `copies`, on a device, in a shape that holds it.
fn carried(row: &DynBatch, copies: &[DynBatch], device: &Device, shape: Shape) -> Result<DynBatch> {
    let mut rows = std::iter::once(row).chain(copies);
    match rows.find(|row| row.device().shares_memory_with(device)) {
        Some(row) => moved(row.try_clone()?, device, shape),
        // The devices may have no short shape in common.
        None => DynBatch::single(device, shape, &row.row(0)?),
    }
}

/// Computes the products of the parts 0 and 1, 2 and 3, and so on, on a device; none for two parts.
fn pairs(parts: &[PartRoot], bits: u64, device: &Device) -> Result<Vec<Wide>> {
    let (device, shape) = home(device, bits)?;
    let _span = debug_span!("pairs", parts = parts.len()).entered();
    let row = |part: &PartRoot| carried(&part.product, &part.copies, &device, shape);
    let pairs = parts.chunks_exact(2).filter(|_| parts.len() > 2);
    let product = |pair: &[PartRoot]| {
        Wide::product(&row(&pair[0])?, &row(&pair[1])?, modulus_bits(shape.bits, bits))
    };
    pairs.map(product).collect()
}

/// Computes the product of the cofactors of a part, the products of the other parts and `numbers`,
/// as a fraction of `bits` bits of the product of the part.
fn fraction(
    parts: &[PartRoot],
    pairs: &[Wide],
    index: usize,
    bits: u64,
    device: &Device,
    numbers: &[BigUint],
) -> Result<DynBatch> {
    let (device, shape) = home(device, bits)?;
    let _span = debug_span!("fraction", part = index, parts = parts.len()).entered();
    let own = |row: &DynBatch| carried(row, &[], &device, shape);
    let part = &parts[index];
    let mut root = Root::new(&own(&part.product)?, part.length, bits)?;
    if parts.len() > 2 {
        root = root.with_transforms()?;
    }
    let mut residue = root.residues(own(&part.sum)?)?;
    for (_, wide) in pairs.iter().enumerate().filter(|&(pair, _)| pair != index / 2) {
        residue = root.product(&residue, &root.remainder(wide)?)?;
    }
    // The partner of the part, and a part without one.
    let is_single = |other: usize| other / 2 == index / 2 || other / 2 >= pairs.len();
    for (_, other) in parts.iter().enumerate().filter(|&(o, _)| o != index && is_single(o)) {
        let product = carried(&other.product, &other.copies, &device, shape)?;
        residue = root.product(&residue, &product)?;
    }
    for number in numbers {
        residue = root.long_product(&residue, number)?;
    }
    root.fractions(&residue)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use num_integer::Integer;

    use super::*;
    use crate::ops::tree::checkpoint::tests::Ending;

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
        let cofactors = cofactors(&rows, numbers, most, None).unwrap();
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
        let mut max_parts = 0;
        for values in &cases {
            for most in [1, 34, 40, 66, 100, 200, 1 << 20] {
                max_parts = max_parts.max(check(&device, values, &[], most));
                check(&device, values, &numbers([p * 19, 0x1_0000_0001]), most);
            }
        }
        assert_eq!(max_parts, 7);
    }

    #[test]
    fn parts_of_long_products_have_their_cofactors() {
        let device = Device::cpu();
        let one = BigUint::one;
        // Structured rows of uneven lengths, with a common divisor across parts.
        let shared = (one() << 1279u32) - 1u32;
        let row = |index: u32| match index % 3 {
            0 => (one() << (2000 + 40 * index)) - 1u32 - index,
            1 => &shared * ((one() << (300 + index)) + 1u32),
            _ => (one() << (700 * index)) + 3 * index,
        };
        let values: Vec<BigUint> = (0..20).map(row).collect();
        let old = [(one() << 90_000u32) - 1u32, one(), (one() << 20_000u32) + 7u32];
        for most in [15_000, 50_000] {
            assert!(check(&device, &values, &[], most) > 1);
            check(&device, &values, &old, most);
        }
        // A number of zero, and no rows.
        let rows = DynBatch::fitting(&device, &values).unwrap();
        let divided = cofactors(&rows, &numbers([5, 0]), 30_000, None).unwrap();
        assert!(divided.is_zero_mask().unwrap().count().unwrap() == values.len());
        assert!(cofactors(&rows.slice(0..0).unwrap(), &old, 100, None).unwrap().is_empty());
    }

    #[test]
    fn zero_rows_are_rejected_with_the_lowest_row() {
        let rows = DynBatch::fitting(&Device::cpu(), numbers([5, 7, 0, 9, 0])).unwrap();
        for most in [1, 8, 1 << 20] {
            assert_eq!(
                cofactors(&rows, &[], most, None).err(),
                Some(Error::DivisionByZero { row: 2 })
            );
        }
    }

    #[test]
    fn devices_share_the_parts() {
        let values: Vec<BigUint> = (0..60u32).map(|i| BigUint::from(6 * i + 5).pow(9)).collect();
        let rows = DynBatch::fitting(&Device::cpu(), &values).unwrap();
        let expected = rows.batch_gcd().unwrap().to_biguints().unwrap();
        let old = numbers([7 * 11 * 13, 17 * 257]);
        let against = rows.batch_gcd_against(&old).unwrap().to_biguints().unwrap();
        assert_ne!(against, expected);
        for count in [1, 2, 3, 70] {
            let devices = vec![Device::cpu(); count];
            for most in [1, 400, 1 << 20] {
                let found = divisors(&devices, &values, &[], most, None).unwrap();
                assert_eq!(found, expected, "{count}, {most}");
                let found = divisors(&devices, &values, &old, most, None).unwrap();
                assert_eq!(found, against, "{count}, {most}");
            }
            assert!(divisors(&devices, &[], &old, 1, None).unwrap().is_empty());
            let error = divisors(&devices, &numbers([5, 7, 0]), &[], 1, None).err();
            assert_eq!(error, Some(Error::DivisionByZero { row: 2 }));
        }
    }

    #[test]
    fn calls_that_end_at_every_record_have_the_results_of_one() {
        let values: Vec<BigUint> =
            (0..60u32).map(|i| BigUint::from(6 * i + 5).pow(9 + i % 40)).collect();
        let old = numbers([7 * 11 * 13, 17 * 257]);
        for (count, most, records) in [(1, 1 << 20, 12), (1, 3000, 40), (2, 3000, 20), (3, 1, 40)] {
            let devices = vec![Device::cpu(); count];
            let expected = divisors(&devices, &values, &old, most, None).unwrap();
            let checkpoint = Ending::default();
            let found = || {
                let call = |it: &Ending| divisors(&devices, &values, &old, most, Some(it)).unwrap();
                checkpoint.calls_to_the_end(call).0
            };
            assert_eq!(found(), expected, "{count}, {most}");
            // Records that are cut short are not used.
            checkpoint.cut_short();
            assert_eq!(found(), expected, "{count}, {most}");
            let calls = checkpoint.ends().len();
            assert!(calls >= 2 * records, "{count}, {most}: {calls} calls ended at a record");
        }
    }

    #[test]
    fn rows_of_kept_trees_are_made_once() {
        let values: Vec<BigUint> = (0..40u32).map(|i| BigUint::from(6 * i + 5).pow(9)).collect();
        let lengths: Vec<u64> = values.iter().map(BigUint::bits).collect();
        let devices = [Device::cpu(), Device::cpu()];
        let made = AtomicUsize::new(0);
        let source = Source {
            checkpoint: None,
            devices: &devices,
            lengths: &lengths,
            rows: |device: &Device, range: Range<usize>| {
                made.fetch_add(range.len(), Ordering::Relaxed);
                DynBatch::fitting(device, &values[range])
            },
        };
        let gcds = |rows: DynBatch, cofactors| rows.gcd(&cofactors)?.to_biguints();
        let ranges = cut(&lengths, lengths.iter().sum::<u64>().div_ceil(2));
        let kept = source.compute_parts(&ranges, true, &[], gcds).unwrap();
        assert_eq!(made.swap(0, Ordering::Relaxed), values.len());
        let again = source.compute_parts(&ranges, false, &[], gcds).unwrap();
        assert_eq!(made.load(Ordering::Relaxed), 2 * values.len());
        assert_eq!(kept, again);
    }

    #[test]
    fn neighbours_of_equal_lengths_share_a_layout() {
        let lengths = [5, 6, 5, 6, 5, 6, 7, 7, 7, 7];
        let layouts = Layouts::new(&lengths, &[0..2, 2..4, 4..6, 6..8, 8..9, 9..10]);
        assert_eq!(layouts.first, [0, 0, 0, 3, 4, 4]);
        let of = |part: usize| layouts.of(part).unwrap();
        assert!(Arc::ptr_eq(&of(1), &of(2)) && Arc::ptr_eq(&of(0), &of(1)));
        assert!(Arc::ptr_eq(&of(4), &of(5)) && !Arc::ptr_eq(&of(3), &of(3)));
        assert_eq!([0, 3, 4].map(|part| of(part).longest), [6, 7, 7]);
    }

    #[test]
    fn parts_are_halved_until_their_memory_is_enough() {
        let mut values = numbers([0, 21, 35, 77, 143, 221]);
        // The longest part is a row of its own at first.
        values[0] = BigUint::from(3u32) << 98u32;
        let device = Device::cpu();
        let failures = AtomicUsize::new(0);
        let source = |longest: usize| {
            let failures = &failures;
            let (values, device) = (&values, &device);
            Source {
                checkpoint: None,
                devices: std::slice::from_ref(device),
                lengths: &[100, 5, 6, 7, 8, 8],
                rows: move |device: &Device, range: Range<usize>| {
                    if range.len() > longest {
                        failures.fetch_add(1, Ordering::Relaxed);
                        return Err(Error::OutOfMemory { bytes: 1 });
                    }
                    DynBatch::fitting(device, &values[range])
                },
            }
        };
        let gcds = |rows: DynBatch, cofactors| rows.gcd(&cofactors)?.to_biguints();
        let found = source(2).compute(&[], 1000, gcds).unwrap();
        assert_eq!(found.concat(), numbers([3, 21, 7, 77, 143, 13]));
        assert!(failures.load(Ordering::Relaxed) > 1);
        assert_eq!(source(0).compute(&[], 1000, gcds), Err(Error::OutOfMemory { bytes: 1 }));
    }
}
