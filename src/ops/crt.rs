//! Chinese remaindering: numbers to residues modulo many moduli, and back.
//!
//! With pairwise coprime moduli `n_j`, their product `N`, and `s_j = (N / n_j)^-1 mod n_j`, the
//! number below `N` with the residues `x_j` is
//!
//! ```text
//! x = sum of (x_j s_j mod n_j) N / n_j mod N
//! ```
//!
//! The sum is computed up a product tree: a node with the children `left` and `right` has the value
//! `y(left) right + y(right) left`, reduced by one subtraction of the node. Residues go down the
//! same tree (J. von zur Gathen and J. Gerhard, "Modern Computer Algebra", 3rd edition, 2013,
//! algorithms 10.18 and 10.22). The `s_j` are the inverses of the cofactors of the tree.

use std::fmt;
use std::marker::PhantomData;

use gpuint_catalogue::Shape;
use num_bigint::BigUint;

use super::tree::DynProductTree;
use super::tree::nodes::tiled;
use crate::batch::Batch;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::shape::Kernels;

/// Moduli for Chinese remaindering with a run-time width: the [`Crt`] of a [`DynBatch`].
pub struct DynCrt {
    tree: DynProductTree,
    moduli: DynBatch,
    /// Inverse of the cofactor of each modulus.
    inverses: DynBatch,
}

impl DynCrt {
    /// Prepares the rows of a batch as moduli.
    ///
    /// # Errors
    /// As [`Crt::new`].
    pub fn new(moduli: &DynBatch) -> Result<Self> {
        if moduli.is_empty() {
            return Err(Error::LengthMismatch { left: 0, right: 1 });
        }
        let tree = DynProductTree::new(moduli)?;
        tree.check_nonzero()?;
        let (inverses, without) = tree.cofactors()?.inverse_mod(moduli)?;
        match without.indices()?.first() {
            Some(&row) => Err(Error::CommonDivisor { row }),
            None => Ok(Self { tree, moduli: moduli.try_clone()?, inverses }),
        }
    }

    /// Computes the numbers below the product of the moduli that have these residues.
    ///
    /// # Errors
    /// As [`Crt::combine`].
    pub fn combine(&self, residues: &DynBatch) -> Result<DynBatch> {
        let count = self.len();
        let numbers = residues.len().div_ceil(count);
        if residues.len() != numbers * count {
            return Err(Error::LengthMismatch { left: numbers * count, right: residues.len() });
        }
        let moduli = tiled(&self.moduli, numbers)?;
        let inverses = tiled(&self.inverses, numbers)?;
        let terms = residues.mul_mod(&inverses, &moduli.prepare()?)?;
        self.tree.combine(terms, numbers)
    }

    /// Computes the residues of each number modulo all moduli.
    ///
    /// # Errors
    /// As [`Crt::residues`].
    pub fn residues(&self, numbers: &DynBatch) -> Result<DynBatch> {
        if !numbers.device().shares_memory_with(self.tree.device()) {
            return Err(Error::DeviceMismatch);
        }
        let root = self.tree.root();
        let longest = numbers.bit_lengths()?.into_iter().max().unwrap_or(0);
        if longest <= root.bits() {
            return self.tree.descend(numbers.try_clone()?);
        }
        let width = |shape: &Shape| shape.bits;
        let shapes = [self.shape(), numbers.shape()];
        let wide = shapes.into_iter().max_by_key(width).unwrap_or(shapes[0]);
        self.tree.descend(numbers.resized(wide)?.rem_all(&root)?)
    }

    /// Returns the product of the moduli.
    #[must_use]
    pub fn product(&self) -> BigUint {
        self.tree.root()
    }

    /// Number of moduli.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "there is at least one modulus")]
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// Shape of the numbers: the narrowest that holds the product of the moduli.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.tree.root_shape()
    }
}

impl fmt::Debug for DynCrt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crt").field("moduli", &self.tree).finish()
    }
}

/// Pairwise coprime moduli, prepared for Chinese remaindering.
///
/// [`residues`](Self::residues) reduces numbers modulo all moduli and [`combine`](Self::combine)
/// returns to the numbers. Residues are one a row: all residues of the first number, in the order
/// of the moduli, then those of the second, and so on. The width of the numbers follows from the
/// product of the moduli, so they are a [`DynBatch`].
///
/// ```
/// use gpuint::{Batch, Crt, Device, DynBatch, GpuUint};
/// use num_bigint::BigUint;
///
/// let device = Device::cpu();
/// let moduli = Batch::<GpuUint<256>>::from_biguints(&device, &[3u32, 5, 7].map(BigUint::from))?;
/// let crt = Crt::new(&moduli)?;
/// let numbers = DynBatch::from_biguints(&device, crt.shape(), &[23u32, 104].map(BigUint::from))?;
/// let residues = crt.residues(&numbers)?;
/// assert_eq!(residues.to_biguints()?, [2u32, 3, 2, 2, 4, 6].map(BigUint::from));
/// assert!(crt.combine(&residues)?.is_equal(&numbers)?);
/// # Ok::<(), gpuint::Error>(())
/// ```
#[derive(Debug)]
pub struct Crt<T: Kernels> {
    inner: DynCrt,
    shape: PhantomData<T>,
}

impl<T: Kernels> Crt<T> {
    /// Prepares the rows of a batch as moduli.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch) if there are no moduli,
    /// [`DivisionByZero`](Error::DivisionByZero) with the lowest modulus that is zero,
    /// [`CommonDivisor`](Error::CommonDivisor) with the lowest modulus that is not coprime to all
    /// others, [`WidthMissing`](Error::WidthMissing) if the moduli have more than 2^31 bits
    /// together, and what any operation may return: [`OutOfMemory`](Error::OutOfMemory),
    /// [`KernelMissing`](Error::KernelMissing), [`Compile`](Error::Compile),
    /// [`Driver`](Error::Driver).
    pub fn new(moduli: &Batch<T>) -> Result<Self> {
        Ok(Self { inner: DynCrt::new(moduli.as_dyn())?, shape: PhantomData })
    }

    /// Computes the numbers below the product of the moduli that have these residues. Residues may
    /// exceed their modulus.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch) if the residues are not a whole number of groups
    /// of [`len`](Self::len) rows, [`DeviceMismatch`](Error::DeviceMismatch), and what any
    /// operation may return.
    pub fn combine(&self, residues: &Batch<T>) -> Result<DynBatch> {
        self.inner.combine(residues.as_dyn())
    }

    /// Computes the residues of each number modulo all moduli. The numbers may have any shape and
    /// exceed the product of the moduli.
    ///
    /// # Errors
    /// [`DeviceMismatch`](Error::DeviceMismatch), and what any operation may return.
    pub fn residues(&self, numbers: &DynBatch) -> Result<Batch<T>> {
        self.inner.residues(numbers).map(Batch::typed)
    }

    /// Returns the product of the moduli.
    #[must_use]
    pub fn product(&self) -> BigUint {
        self.inner.product()
    }

    /// Number of moduli.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "there is at least one modulus")]
    pub fn len(&self) -> usize {
        self.inner.len()
    }

    /// Shape of the numbers: the narrowest that holds the product of the moduli.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.inner.shape()
    }

    /// Returns the moduli as a [`DynCrt`], whose shape is a value.
    #[must_use]
    pub fn as_dyn(&self) -> &DynCrt {
        &self.inner
    }
}
