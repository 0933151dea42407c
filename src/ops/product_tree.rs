//! Product trees: the product of all rows, remainders modulo all rows, and common divisors of each
//! row with all others.
//!
//! The leaves of the tree are the rows `n_i` of a batch. A node is the product of its two children,
//! so a level is a batch of half as many rows of about twice the width, and the root is the product
//! `P` of all rows. Down the tree, `x mod n_i` takes one division a node:
//!
//! ```text
//! x mod left  = (x mod node) mod left
//! ```
//!
//! (D. Bernstein, "Fast multiplication and its applications", MSRI Publications 44, 2008, sections
//! 12 and 18). A common divisor of `n_i` with any other row is one of `n_i` and `P / n_i`. The tree
//! that is usually descended for it has the squares of the nodes (N. Heninger, Z. Durumeric,
//! E. Wustrow and J. Halderman, "Mining your Ps and Qs", USENIX Security 2012). Here each node `N`
//! takes its *cofactor*, `P / N mod N`, from its parent, in half the width:
//!
//! ```text
//! P / left = (P / node) right,   so   c(left) = c(node) right mod left,   c(root) = 1
//! ```
//!
//! A level has the narrowest shape that holds the products of the level below. Levels beyond the
//! widest shape are products and divisions of single integers on the CPU, on all cores.

use std::fmt;
use std::marker::PhantomData;

use gpuint_catalogue::Shape;
use num_bigint::BigUint;
use num_traits::One;
use rayon::prelude::*;

use super::{View, faces};
use crate::backend::cpu::integers::{multiply, remainder};
use crate::backend::host::{check_room, collected, reserved_vec};
use crate::batch::Batch;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::interrupt::{self, Stop};
use crate::shape::{Kernels, narrowest};
use crate::value::Value;

/// A product tree with a run-time width: the [`ProductTree`] of a [`DynBatch`].
pub struct DynProductTree {
    /// Shape of the rows, and of results for rows.
    shape: Shape,
    /// The rows, their products in pairs, and so on, as long as a shape holds them.
    levels: Vec<DynBatch>,
    /// The last of `levels`, the products of its rows in pairs, and so on to the root.
    top: Vec<Vec<BigUint>>,
    /// The lowest row that is zero.
    zero: Option<usize>,
}

impl DynProductTree {
    /// Computes the tree over the rows of a batch.
    ///
    /// # Errors
    /// As [`ProductTree::new`].
    pub fn new(rows: &DynBatch) -> Result<Self> {
        let zero = rows.is_zero_mask()?.indices()?.first().copied();
        let longest = rows.bit_lengths()?.into_iter().max().unwrap_or(0);
        let leaves = rows.resized(shape_of(longest).unwrap_or(rows.shape()))?;
        let mut levels = vec![leaves];
        while let Some(above) = level_above(&levels[levels.len() - 1])? {
            levels.push(above);
        }
        let mut top = vec![levels[levels.len() - 1].to_biguints()?];
        while top[top.len() - 1].len() > 1 {
            let nodes = &top[top.len() - 1];
            let above = on_all_cores(nodes.len().div_ceil(2), 0, |parent| {
                match &nodes[2 * parent..nodes.len().min(2 * parent + 2)] {
                    [left, right] => multiply(left, right),
                    lone => copied(&lone[0]),
                }
            })?;
            top.push(above);
        }
        Ok(Self { shape: rows.shape(), levels, top, zero })
    }

    /// Returns the product of all rows, which may be wider than any shape; 1 for an empty batch.
    #[must_use]
    pub fn root(&self) -> BigUint {
        let root = self.top.last().and_then(|nodes| nodes.first());
        root.cloned().unwrap_or_else(BigUint::one)
    }

    /// Computes `value` modulo each row.
    ///
    /// # Errors
    /// As [`ProductTree::remainders`].
    pub fn remainders(&self, value: impl Value) -> Result<DynBatch> {
        self.check_nonzero()?;
        let mut values = vec![copied(&value.integer())?];
        for nodes in self.top.iter().rev() {
            values = on_all_cores(nodes.len(), 0, |i| remainder(&values[i / 2], &nodes[i]))?;
        }
        let values = DynBatch::from_biguints(self.device(), self.widest(), &values)?;
        self.descend(values, 1, |rests, _, _| Ok(rests))
    }

    /// Computes the product of all other rows, modulo each row.
    ///
    /// # Errors
    /// As [`ProductTree::cofactors`].
    pub fn cofactors(&self) -> Result<DynBatch> {
        self.check_nonzero()?;
        let mut values = vec![BigUint::one()];
        for nodes in self.top.iter().rev() {
            values = on_all_cores(nodes.len(), 0, |i| {
                let rest = remainder(&values[i / 2], &nodes[i])?;
                match nodes.get(i ^ 1) {
                    Some(sibling) => remainder(&multiply(&rest, sibling)?, &nodes[i]),
                    None => Ok(rest),
                }
            })?;
        }
        let values = DynBatch::from_biguints(self.device(), self.widest(), &values)?;
        self.descend(values, 1, |rests, level, nodes| {
            let siblings = siblings(level)?.resized(rests.shape())?;
            rests.wrapping_mul(&siblings)?.rem(nodes)
        })
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.levels[0].len()
    }

    /// Returns true if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Shape of the rows.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Device of the tree.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.levels[0].device()
    }

    /// The levels on the device, from the rows up.
    pub(super) fn levels(&self) -> &[DynBatch] {
        &self.levels
    }

    /// Shape of the highest level on the device.
    pub(super) fn widest(&self) -> Shape {
        self.levels[self.levels.len() - 1].shape()
    }

    /// Checks that no row is zero.
    pub(super) fn check_nonzero(&self) -> Result<()> {
        self.zero.map_or(Ok(()), |row| Err(Error::DivisionByZero { row }))
    }

    /// Reduces numbers modulo the rows. `values` has a row for each number and node of the highest
    /// level on the device, number by number, and so has the result for the rows of the tree.
    ///
    /// `step` maps the remainders modulo the nodes of a level, in the shape of the level above, to
    /// the values that are reduced further. Its other arguments are the level and its nodes in that
    /// shape.
    pub(super) fn descend(
        &self,
        values: DynBatch,
        numbers: usize,
        step: impl Fn(DynBatch, &DynBatch, &DynBatch) -> Result<DynBatch>,
    ) -> Result<DynBatch> {
        let mut values = values;
        for level in self.levels.iter().rev().skip(1) {
            let count = level.len();
            let above = count.div_ceil(2);
            let parent = |row: usize| row / count * above + row % count / 2;
            let values_above = gathered(&values, numbers * count, parent)?;
            let nodes = tiled(level, numbers)?.resized(values.shape())?;
            let rests = step(values_above.rem(&nodes)?, level, &nodes)?;
            values = rests.resized(level.shape())?;
        }
        values.resized(self.shape)
    }
}

impl fmt::Debug for DynProductTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProductTree")
            .field("shape", &format_args!("{}", self.shape))
            .field("rows", &self.len())
            .field("bits", &self.root().bits())
            .field("device", self.device())
            .finish()
    }
}

/// Returns the narrowest shape for numbers of at most `bits` bits.
fn shape_of(bits: u64) -> Option<Shape> {
    usize::try_from(bits).ok().and_then(narrowest)
}

/// Computes the products of the nodes in pairs; `None` for a root, or if no shape holds them.
fn level_above(level: &DynBatch) -> Result<Option<DynBatch>> {
    let lengths = level.bit_lengths()?;
    let longest = lengths.chunks(2).map(|pair| pair.iter().sum()).max().unwrap_or(0);
    match shape_of(longest) {
        Some(shape) if level.len() > 1 => {
            let (left, right) = children(level, level.len(), 1)?;
            product(&left, &right, shape).map(Some)
        }
        _ => Ok(None),
    }
}

/// Copies an integer of any length.
fn copied(value: &BigUint) -> Result<BigUint> {
    check_room(1, usize::try_from(value.bits() / 8).unwrap_or(usize::MAX))?;
    Ok(value.clone())
}

/// Computes products that fit in rows of a shape.
pub(super) fn product(a: &DynBatch, b: &DynBatch, shape: Shape) -> Result<DynBatch> {
    if shape == (Shape { bits: 2 * a.shape().bits, ..a.shape() }) {
        return a.widening_mul(b);
    }
    a.resized(shape)?.wrapping_mul(&b.resized(shape)?)
}

/// Returns the left and right children of nodes. `level` has groups of `count` children. The last
/// node of an odd group has no right child: it gets the value `missing`.
pub(super) fn children(
    level: &DynBatch,
    count: usize,
    missing: u64,
) -> Result<(DynBatch, DynBatch)> {
    let (above, groups) = (count.div_ceil(2), level.len() / count.max(1));
    let padded = padded(level, count, missing)?;
    let child = |side: usize| {
        move |row: usize| match 2 * (row % above) + side {
            node if node < count => row / above * count + node,
            _ => groups * count,
        }
    };
    let side = |side| gathered(&padded, groups * above, child(side));
    Ok((side(0)?, side(1)?))
}

/// Returns the sibling of each node of a level; 1 for a node without one.
fn siblings(level: &DynBatch) -> Result<DynBatch> {
    let count = level.len();
    gathered(&padded(level, count, 1)?, count, |node| (node ^ 1).min(count))
}

/// Returns a level with one more row of this value if its groups of `count` nodes are odd.
fn padded(level: &DynBatch, count: usize, value: u64) -> Result<DynBatch> {
    if count.is_multiple_of(2) {
        return level.try_clone();
    }
    DynBatch::concat(&[level, &DynBatch::splat(level.device(), level.shape(), value, 1)?])
}

/// Returns the rows of a batch `times` times, one copy after the other.
pub(super) fn tiled(batch: &DynBatch, times: usize) -> Result<DynBatch> {
    let count = batch.len();
    gathered(batch, times * count, |row| row % count)
}

/// Returns the rows of a batch with the indices `index(0)`, .., `index(count - 1)`.
fn gathered(batch: &DynBatch, count: usize, index: impl Fn(usize) -> usize) -> Result<DynBatch> {
    batch.gather(&collected((0..count).map(index))?)
}

/// Computes values on all cores; returns the error of the lowest index. A value allocates
/// `value_bytes` at most without a check of its own.
pub(crate) fn on_all_cores<V: Send>(
    count: usize,
    value_bytes: usize,
    compute: impl Fn(usize) -> Result<V> + Send + Sync,
) -> Result<Vec<V>> {
    let stop = Stop::current();
    let compute = |index| stop.during(|| compute(index));
    let (mut results, mut values) = (reserved_vec(count)?, reserved_vec(count)?);
    check_room(count, value_bytes)?;
    let computed = (0..count).into_par_iter().map(compute);
    interrupt::on_pool(|| computed.collect_into_vec(&mut results));
    for result in results {
        values.push(result?);
    }
    Ok(values)
}

/// A product tree over the rows of a batch: their product, and remainders modulo all of them.
///
/// The tree has about `log2(rows)` times the memory of the batch. Its levels are on the device as
/// long as a shape holds them, and on the host above.
///
/// ```
/// use gpuint::{Batch, Device, GpuUint, ProductTree};
/// use num_bigint::BigUint;
///
/// let device = Device::cpu();
/// let rows = [15u32, 7, 11, 21].map(BigUint::from);
/// let tree = ProductTree::new(&Batch::<GpuUint<256>>::from_biguints(&device, &rows)?)?;
/// assert_eq!(tree.root(), BigUint::from(15u32 * 7 * 11 * 21));
/// assert_eq!(tree.remainders(1000)?.to_biguints()?, [10u32, 6, 10, 13].map(BigUint::from));
/// assert_eq!(tree.cofactors()?.row(2)?, BigUint::from(15u32 * 7 * 21 % 11));
/// # Ok::<(), gpuint::Error>(())
/// ```
#[derive(Debug)]
pub struct ProductTree<T: Kernels> {
    inner: DynProductTree,
    shape: PhantomData<T>,
}

impl<T: Kernels> ProductTree<T> {
    /// Computes the tree over the rows of a batch.
    ///
    /// # Errors
    /// Errors of any operation: [`OutOfMemory`](Error::OutOfMemory),
    /// [`KernelMissing`](Error::KernelMissing), [`Compile`](Error::Compile),
    /// [`Driver`](Error::Driver).
    pub fn new(rows: &Batch<T>) -> Result<Self> {
        Ok(Self { inner: DynProductTree::new(rows.as_dyn())?, shape: PhantomData })
    }

    /// Returns the product of all rows, which may be wider than any shape; 1 for an empty batch.
    #[must_use]
    pub fn root(&self) -> BigUint {
        self.inner.root()
    }

    /// Computes `value` modulo each row, for a value of any length.
    ///
    /// # Errors
    /// [`DivisionByZero`](Error::DivisionByZero) with the lowest row that is zero, and as
    /// [`new`](Self::new).
    pub fn remainders(&self, value: impl Value) -> Result<Batch<T>> {
        self.inner.remainders(value).map(Batch::typed)
    }

    /// Computes the product of all other rows, modulo each row.
    ///
    /// # Errors
    /// As [`remainders`](Self::remainders).
    pub fn cofactors(&self) -> Result<Batch<T>> {
        self.inner.cofactors().map(Batch::typed)
    }

    /// Returns the tree as a [`DynProductTree`], whose shape is a value.
    #[must_use]
    pub fn as_dyn(&self) -> &DynProductTree {
        &self.inner
    }
}

impl View<'_> {
    pub(crate) fn batch_gcd(&self) -> Result<DynBatch> {
        self.gcd(&DynProductTree::new(self.batch)?.cofactors()?)
    }
}

faces! {
    "Common divisors of all rows";

    /// Computes the greatest common divisor of each row and the product of all other rows, by a
    /// [`ProductTree`](crate::ProductTree). It is 1 for a row that has no common divisor with any
    /// other row, and the row itself if the row divides the product of the others.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let moduli = [101u32 * 103, 107 * 109, 101 * 113].map(BigUint::from);
    /// let moduli = Batch::<GpuUint<1024>>::from_biguints(&device, &moduli)?;
    /// assert_eq!(moduli.batch_gcd()?.to_biguints()?, [101u32, 1, 101].map(BigUint::from));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DivisionByZero`](crate::Error::DivisionByZero) with the lowest row that is zero, and what
    /// any operation may return: [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`KernelMissing`](crate::Error::KernelMissing), [`Compile`](crate::Error::Compile),
    /// [`Driver`](crate::Error::Driver).
    fn batch_gcd() -> New;
}
