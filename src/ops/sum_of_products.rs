//! Sums of products over several pairs of batches: the entries of a matrix product.
//!
//! One launch adds the products of up to [`MAX_PAIRS`] pairs column by column and resolves the
//! carries of their sum once (`kernels/mul/sum_of_products.cuh`): it reads two rows a pair and
//! writes one. The sums of more pairs are added. At widths at which the catalogue has no kernel for
//! it, each pair costs a product and an addition, and the device holds three batches of the
//! result's shape.
//!
//! A widening sum of `k` products has up to `log2(k)` bits more than `2 BITS`. No partial sum
//! exceeds the whole sum, so the whole sum overflows if and only if a partial one does or at least
//! one addition carries.

use gpuint_catalogue::{Op, Shape};

use crate::backend::{Operands, Params};
use crate::batch::Batch;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::kernel::algorithms;
use crate::mask::Mask;
use crate::shape::{Kernels, Widen};

/// The factors of a product.
type Pair<'a> = (&'a DynBatch, &'a DynBatch);

/// Checks that all batches match, and returns the first one.
fn first_factor<'a>(pairs: &[Pair<'a>]) -> Result<&'a DynBatch> {
    let Some(&(first, _)) = pairs.first() else {
        return Err(Error::LengthMismatch { left: 0, right: 1 });
    };
    for (a, b) in pairs {
        first.view().check(a)?;
        first.view().check(b)?;
    }
    Ok(first)
}

/// Maximum number of pairs of a launch (`kernels/tuning/mul.cuh`).
const MAX_PAIRS: usize = 32;

/// Writes the sum of some products, by one launch.
fn launch(op: Op, pairs: &[Pair<'_>], sum: &mut DynBatch, mask: Option<&mut Mask>) -> Result<()> {
    let (first, _) = pairs[0];
    let factors: Vec<_> = pairs.iter().map(|(a, b)| [a.buffer(), b.buffer()]).collect();
    let operands = Operands {
        pairs: &factors,
        outs: [Some(sum.buffer_mut()), None],
        rows: first.len(),
        mask: mask.map(Mask::buffer_mut),
        params: Params { pairs: pairs.len(), ..Params::default() },
        ..Operands::default()
    };
    first.view().launch(op, operands)
}

/// Computes sums in rows of `shape` by `op`, or by products that `multiply` writes. The bits of the
/// rows that overflow are set in `overflow`.
fn sum_of_products(
    op: Op,
    pairs: &[Pair<'_>],
    shape: Shape,
    multiply: impl Fn(&DynBatch, &DynBatch, &mut DynBatch) -> Result<()>,
    mut overflow: Option<&mut Mask>,
) -> Result<DynBatch> {
    let first = first_factor(pairs)?;
    let alloc = || DynBatch::alloc(first.device(), shape, first.len());
    let has_kernel = !first.shape().is_long() && algorithms(op, first.shape()).next().is_some();
    let mut groups = pairs.chunks(if has_kernel { MAX_PAIRS } else { 1 });
    let write =
        |group: Option<&[Pair<'_>]>, sum: &mut DynBatch, mask: Option<&mut Mask>| match group {
            Some(&[(a, b)]) => multiply(a, b, sum),
            Some(group) => launch(op, group, sum, mask),
            None => Ok(()),
        };
    let mut sum = alloc()?;
    write(groups.next(), &mut sum, overflow.as_deref_mut())?;
    if groups.len() == 0 {
        return Ok(sum);
    }
    let (mut part, mut next) = (alloc()?, alloc()?);
    for group in groups {
        write(Some(group), &mut part, overflow.as_deref_mut())?;
        let view = sum.view();
        let outs = [Some(next.buffer_mut()), None];
        let mask = overflow.as_deref_mut().map(Mask::buffer_mut);
        view.launch(Op::Add, Operands { outs, mask, ..view.operands_with(&part)? })?;
        std::mem::swap(&mut sum, &mut next);
    }
    Ok(sum)
}

/// # Sums of products
impl DynBatch {
    /// Computes `a[0] * b[0] + a[1] * b[1] + ..` for each row, modulo `2^BITS`.
    ///
    /// # Errors
    /// As [`Batch::wrapping_sum_of_products`], [`ShapeMismatch`](Error::ShapeMismatch).
    pub fn wrapping_sum_of_products(pairs: &[(&Self, &Self)]) -> Result<Self> {
        let shape = first_factor(pairs)?.shape();
        sum_of_products(Op::SumOfProducts, pairs, shape, Self::wrapping_mul_into, None)
    }

    /// Computes `a[0] * b[0] + a[1] * b[1] + ..` for each row, modulo `2^(2 BITS)` in rows of twice
    /// the width, and a mask of the rows that overflowed.
    ///
    /// # Errors
    /// [`WidthMissing`](Error::WidthMissing) above 2^30 bits,
    /// [`ShapeMissing`](Error::ShapeMissing) if twice the width is not built, and as
    /// [`wrapping_sum_of_products`](Self::wrapping_sum_of_products).
    pub fn widening_sum_of_products(pairs: &[(&Self, &Self)]) -> Result<(Self, Mask)> {
        let first = first_factor(pairs)?;
        let mut overflow = Mask::none(first.device(), first.len())?;
        let multiply = |a: &Self, b: &Self, out: &mut Self| a.widening_mul_into(b, out);
        let wide = first.view().doubled("widening sums of products")?;
        let sum =
            sum_of_products(Op::WideSumOfProducts, pairs, wide, multiply, Some(&mut overflow))?;
        Ok((sum, overflow))
    }
}

/// # Sums of products
impl<T: Kernels> Batch<T> {
    /// Computes `a[0] * b[0] + a[1] * b[1] + ..` for each row, modulo `2^BITS`: an entry of a
    /// matrix product. One launch adds up to 32 products, up to 16384 bits; otherwise it takes a
    /// product and an addition a pair, and memory for three batches.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let batch = |rows: [u32; 2]| {
    ///     Batch::<GpuUint<1024>>::from_biguints(&device, &rows.map(BigUint::from))
    /// };
    /// let [a, b, c, d] = [batch([1, 2])?, batch([3, 4])?, batch([5, 6])?, batch([7, 8])?];
    /// let sum = Batch::wrapping_sum_of_products(&[(&a, &b), (&c, &d)])?;
    /// assert_eq!(sum.to_biguints()?, [38u32, 56].map(BigUint::from));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch) if numbers of rows differ, or if there are no
    /// pairs, since no device is then known; [`DeviceMismatch`](Error::DeviceMismatch), and as
    /// [`wrapping_mul`](Self::wrapping_mul).
    pub fn wrapping_sum_of_products(pairs: &[(&Self, &Self)]) -> Result<Self> {
        DynBatch::wrapping_sum_of_products(&untyped(pairs)).map(Self::typed)
    }

    /// Computes `a[0] * b[0] + a[1] * b[1] + ..` for each row, modulo `2^(2 BITS)` in rows of twice
    /// the width, and a mask of the rows that overflowed. One product never overflows.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let values = [(BigUint::from(1u32) << 1024) - 1u32, BigUint::from(3u32)];
    /// let a = Batch::<GpuUint<1024>>::from_biguints(&device, &values)?;
    /// let (sum, overflow) = Batch::widening_sum_of_products(&[(&a, &a), (&a, &a)])?;
    /// assert_eq!(sum.row(1)?, BigUint::from(18u32)); // a Batch<GpuUint<2048>>
    /// assert_eq!(overflow.to_bools()?, [true, false]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`wrapping_sum_of_products`](Self::wrapping_sum_of_products).
    pub fn widening_sum_of_products<W: Kernels>(
        pairs: &[(&Self, &Self)],
    ) -> Result<(Batch<W>, Mask)>
    where
        T: Widen<Wide = W>,
    {
        let (sum, overflow) = DynBatch::widening_sum_of_products(&untyped(pairs))?;
        Ok((Batch::typed(sum), overflow))
    }
}

fn untyped<'a, T: Kernels>(pairs: &[(&'a Batch<T>, &'a Batch<T>)]) -> Vec<Pair<'a>> {
    pairs.iter().map(|(a, b)| (a.as_dyn(), b.as_dyn())).collect()
}
