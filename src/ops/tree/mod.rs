//! Product trees: the product of all rows, remainders modulo all rows, and common divisors of each
//! row with all others.
//!
//! The leaves of the tree are the rows `n_i` of a batch, and a node is the product of its two
//! children. `layout.rs` pairs the nodes, and levels of similar nodes are batches (`nodes.rs`). The
//! root is the product `P` of all rows.
//!
//! A common divisor of `n_i` with any other row is one of `n_i` and `P / n_i`. The derivative of
//! the product, `D = sum of P / n_i`, has the remainder `P / n_i` modulo `n_i`, because `n_i`
//! divides all other terms (D. Bernstein, "How to find smooth parts of integers", 2004; N.
//! Heninger, Z. Durumeric, E. Wustrow and J. Halderman, "Mining your Ps and Qs", USENIX Security
//! 2012, descend with `P` modulo squares). It is computed up the tree beside the products, by two
//! products a node, and its remainders go down the tree as fractions (`fractions.rs`), by two more:
//! five products of the length of all rows a level, and twelve at the root (`parts.rs`).
//!
//! A level has the narrowest shape that holds its nodes and the guard of the fractions, on the
//! device of the rows; above 2^20 bits on the CPU, where the device has no products of long rows.

pub(crate) mod checkpoint;
mod fractions;
mod layout;
pub(super) mod nodes;
mod nonempty;
mod parts;
mod products;
mod progress;
mod reciprocal;
mod root;
pub(crate) mod shared;

use std::fmt;
use std::marker::PhantomData;

use gpuint_catalogue::Shape;
use num_bigint::BigUint;
use num_traits::One;
use tracing::debug_span;

use self::checkpoint::Checkpoint;
use self::nodes::{Nodes, moved, returned};
use self::nonempty::Tree;
use self::parts::MAX_PART_BITS;
use super::{View, faces};
use crate::batch::Batch;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::shape::{Kernels, narrowest};
use crate::value::Value;

/// A product tree with a run-time width: the [`ProductTree`] of a [`DynBatch`].
pub struct DynProductTree {
    /// Shape and device of the rows, and of results for rows.
    shape: Shape,
    device: Device,
    rows: usize,
    /// `None` without rows.
    tree: Option<Tree>,
    root: BigUint,
    /// The lowest row that is zero.
    zero: Option<usize>,
}

impl DynProductTree {
    /// Computes the tree over the rows of a batch.
    ///
    /// # Errors
    /// As [`ProductTree::new`].
    pub fn new(rows: &DynBatch) -> Result<Self> {
        let lengths = rows.bit_lengths()?;
        let zero = lengths.iter().position(|&bits| bits == 0);
        progress::plan_levels(lengths.iter().sum(), rows.len(), progress::PRODUCTS);
        let tree = if rows.is_empty() { None } else { Some(Tree::new(rows, &lengths)?) };
        let root = tree.as_ref().map_or(Ok(BigUint::one()), |tree| tree.root()?.row(0))?;
        let (shape, device) = (rows.shape(), rows.device().clone());
        Ok(Self { shape, device, rows: rows.len(), tree, root, zero })
    }

    /// Returns the product of all rows, which may be wider than any row; 1 for an empty batch.
    #[must_use]
    pub fn root(&self) -> BigUint {
        self.root.clone()
    }

    /// Computes `value` modulo each row.
    ///
    /// # Errors
    /// As [`ProductTree::remainders`].
    pub fn remainders(&self, value: impl Value) -> Result<DynBatch> {
        self.check_nonzero()?;
        let Some(tree) = &self.tree else { return self.empty() };
        let value = value.integer();
        if value.bits() <= tree.length()? {
            let (device, shape) = (tree.root()?.device(), tree.root()?.shape());
            return self.descend(DynBatch::single(device, shape, &value)?);
        }
        self.remainders_of_product(std::slice::from_ref(&*value))
    }

    /// Computes the product of `values` modulo each row.
    pub(super) fn remainders_of_product(&self, values: &[BigUint]) -> Result<DynBatch> {
        self.check_nonzero()?;
        let Some(tree) = &self.tree else { return self.empty() };
        let (device, shape) = (tree.root()?.device(), tree.root()?.shape());
        progress::plan_root(tree.bits(), 0, values);
        progress::plan_levels(tree.bits(), self.rows, progress::REMAINDERS);
        let root = tree.prepared_root()?;
        let mut residue = root.residues(DynBatch::single(device, shape, &BigUint::one())?)?;
        for value in values {
            residue = root.long_product(&residue, value)?;
        }
        let fractions = root.fractions(&residue)?;
        progress::root_done(tree.bits(), 0, values);
        returned(tree.descend(&fractions, &self.device)?, &self.device, self.shape)
    }

    /// Computes the product of all other rows, modulo each row.
    ///
    /// # Errors
    /// As [`ProductTree::cofactors`].
    pub fn cofactors(&self) -> Result<DynBatch> {
        self.check_nonzero()?;
        let Some(tree) = &self.tree else { return self.empty() };
        progress::plan_levels(tree.bits(), self.rows, progress::SUMS);
        self.descend(tree.cofactor_sum()?)
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
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
        &self.device
    }

    /// Checks that no row is zero.
    pub(super) fn check_nonzero(&self) -> Result<()> {
        self.zero.map_or(Ok(()), |row| Err(Error::DivisionByZero { row }))
    }

    fn empty(&self) -> Result<DynBatch> {
        DynBatch::zeros(&self.device, self.shape, 0)
    }

    /// Reduces numbers of at most as many bits as the root modulo all rows, number by number.
    pub(super) fn descend(&self, numbers: DynBatch) -> Result<DynBatch> {
        match &self.tree {
            Some(tree) if !numbers.is_empty() => {
                let products = progress::REMAINDERS * numbers.len() as u64;
                progress::plan_root(tree.bits(), 0, &[]);
                progress::plan_levels(tree.bits(), self.rows, products);
                let root = tree.prepared_root()?;
                let fractions = root.fractions(&root.residues(numbers)?)?;
                drop(root);
                progress::root_done(tree.bits(), 0, &[]);
                returned(tree.descend(&fractions, &self.device)?, &self.device, self.shape)
            }
            _ => self.empty(),
        }
    }

    /// Computes the numbers `sum of y P / n mod P` for values `y` below the rows, number by number.
    /// They have the narrowest shape of the root.
    pub(super) fn combine(&self, values: DynBatch, numbers: usize) -> Result<DynBatch> {
        let shape = self.root_shape();
        match &self.tree {
            Some(tree) if numbers > 0 => {
                let products = progress::SUMS * numbers as u64;
                progress::plan_levels(tree.bits(), self.rows, products);
                let rows = tree.products.level(0)?;
                let mut sums = Nodes::new(numbers, tree.layout.levels.len() + 1);
                sums.levels[0] = Some(moved(values, rows.device(), rows.shape())?);
                let (layout, products) = (&tree.layout, &tree.products);
                let sums = fractions::combined(layout, products, sums, 0, true, |_, _| Ok(()))?;
                returned(sums, &self.device, shape)
            }
            _ => DynBatch::zeros(&self.device, shape, 0),
        }
    }

    /// The narrowest shape of the root.
    pub(super) fn root_shape(&self) -> Shape {
        let bits = usize::try_from(self.root.bits()).ok();
        bits.and_then(narrowest).unwrap_or(self.shape)
    }
}

impl fmt::Debug for DynProductTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProductTree")
            .field("shape", &format_args!("{}", self.shape))
            .field("rows", &self.len())
            .field("bits", &self.root.bits())
            .field("device", self.device())
            .finish()
    }
}

/// A product tree over the rows of a batch: their product, and remainders modulo all of them.
///
/// The tree has about `log2(rows)` times the memory of the batch, and a call needs that of four
/// levels more. Levels above 2^20 bits are on the CPU, where the device has no long rows.
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
    /// [`WidthMissing`](Error::WidthMissing) if the rows have more than 2^31 bits together, or more
    /// than 2^30 - 128 bits on a GPU, and errors of any operation:
    /// [`OutOfMemory`](Error::OutOfMemory), [`KernelMissing`](Error::KernelMissing),
    /// [`Compile`](Error::Compile), [`Driver`](Error::Driver).
    pub fn new(rows: &Batch<T>) -> Result<Self> {
        Ok(Self { inner: DynProductTree::new(rows.as_dyn())?, shape: PhantomData })
    }

    /// Returns the product of all rows, which may be wider than any row; 1 for an empty batch.
    #[must_use]
    pub fn root(&self) -> BigUint {
        self.inner.root()
    }

    /// Computes `value` modulo each row, for a value of any length. A value that is longer than the
    /// root is reduced on the device in pieces, or by the host for roots of at most 2^16 bits.
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

/// Computes the greatest common divisor of each value and the product of all others and of
/// `numbers`, on several devices.
pub(crate) fn batch_gcd_on(
    devices: &[Device],
    values: &[BigUint],
    numbers: &[BigUint],
    checkpoint: Option<&dyn Checkpoint>,
) -> Result<Vec<BigUint>> {
    parts::divisors(devices, values, numbers, MAX_PART_BITS, checkpoint)
}

impl DynBatch {
    /// Computes [`batch_gcd_against`](Self::batch_gcd_against), and saves intermediate results in a
    /// checkpoint. A call with the records of an earlier one, with the same rows and numbers, goes
    /// on from them.
    ///
    /// Records are saved between two levels of a tree. They take about four times the memory of the
    /// rows. A call that goes on computes the work since the last record again, and the product
    /// tree of each part of at most 2^30 bits, a fifth of the work of the part.
    ///
    /// # Errors
    /// As [`batch_gcd`](Self::batch_gcd).
    pub fn resumable_batch_gcd(
        &self,
        numbers: &[BigUint],
        checkpoint: &dyn Checkpoint,
    ) -> Result<DynBatch> {
        self.view().divisors(numbers, Some(checkpoint))
    }
}

impl View<'_> {
    pub(crate) fn batch_gcd(&self) -> Result<DynBatch> {
        self.batch_gcd_against(&[])
    }

    pub(crate) fn batch_gcd_against(&self, numbers: &[BigUint]) -> Result<DynBatch> {
        self.divisors(numbers, None)
    }

    fn divisors(
        &self,
        numbers: &[BigUint],
        checkpoint: Option<&dyn Checkpoint>,
    ) -> Result<DynBatch> {
        let cofactors = parts::cofactors(self.batch, numbers, MAX_PART_BITS, checkpoint)?;
        debug_span!("divisors", rows = self.len()).in_scope(|| self.gcd(&cofactors))
    }
}

faces! {
    "Common divisors of all rows";

    /// Computes the greatest common divisor of each row and the product of all other rows, by a
    /// [`ProductTree`](crate::ProductTree). It is 1 for a row that has no common divisor with any
    /// other row, and the row itself if the row divides the product of the others.
    ///
    /// Any number of rows is allowed. More than 2^30 bits of rows together are cut into parts with
    /// a tree each. The trees are computed twice if memory is not enough for all of them, and parts
    /// are halved if it is not enough for one.
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
    /// [`DivisionByZero`](crate::Error::DivisionByZero) with the lowest row that is zero,
    /// [`WidthMissing`](crate::Error::WidthMissing) if a row has more than 2^30 - 128 bits, and
    /// errors of any operation: [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`KernelMissing`](crate::Error::KernelMissing), [`Compile`](crate::Error::Compile),
    /// [`Driver`](crate::Error::Driver).
    fn batch_gcd() -> New;

    /// Computes the greatest common divisor of each row and the product of all other rows and of
    /// `numbers`: the products of older collections, of any length.
    ///
    /// A collection is kept as its rows and the [`root`](crate::ProductTree::root) of its tree. Its
    /// rows with common divisors have them with the product of the results, too.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint, ProductTree};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let batch = |moduli: [u32; 2]| {
    ///     Batch::<GpuUint<1024>>::from_biguints(&device, &moduli.map(BigUint::from))
    /// };
    /// let old = ProductTree::new(&batch([101 * 103, 107 * 109])?)?;
    /// let new = batch([113 * 127, 101 * 131])?;
    /// let divisors = new.batch_gcd_against(&[old.root()])?;
    /// assert_eq!(divisors.to_biguints()?, [1u32, 101].map(BigUint::from));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`batch_gcd`](Self::batch_gcd).
    fn batch_gcd_against(numbers: Numbers) -> New;
}
