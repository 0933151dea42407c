//! Whole rows: parts, joins, selections and changes of width (`kernels/rows`).

use std::ops::Range;

use gpuint_catalogue::{Op, Shape};

use super::{View, faces};
use crate::backend::host::zeroed_vec;
use crate::backend::{Buffer, Operands, Params, SKIPPED_ROW, Span};
use crate::batch::Batch;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::mask::Mask;
use crate::shape::{Kernels, Widen};
use crate::strategy::Strategy;

impl View<'_> {
    pub(crate) fn slice(&self, rows: Range<usize>) -> Result<DynBatch> {
        if rows.end > self.len() {
            return Err(Error::NoSuchRow { row: rows.end - 1, rows: self.len() });
        }
        let mut out = DynBatch::alloc(self.device(), self.shape(), rows.len())?;
        self.copy_rows(rows, &mut out, 0)?;
        Ok(out)
    }

    /// Copies a range of rows to the rows of `out` from `first` on. Both ranges must exist.
    pub(super) fn copy_rows(
        &self,
        rows: Range<usize>,
        out: &mut DynBatch,
        first: usize,
    ) -> Result<()> {
        let bytes = |rows: usize| rows as u64 * self.shape().bytes() as u64;
        if rows.is_empty() {
            return Ok(());
        }
        let (from, to) = (bytes(rows.start), bytes(first));
        let source = self.batch.buffer();
        self.device().memory().copy(out.buffer_mut(), to, source, from, bytes(rows.len()))
    }

    pub(crate) fn gather(&self, rows: &[usize]) -> Result<DynBatch> {
        let mut out = DynBatch::alloc(self.device(), self.shape(), rows.len())?;
        self.gather_into(rows, &mut out)?;
        Ok(out)
    }

    pub(crate) fn gather_into(&self, rows: &[usize], out: &mut DynBatch) -> Result<()> {
        if rows.len() != out.len() {
            return Err(Error::LengthMismatch { left: rows.len(), right: out.len() });
        }
        // One pass checks the indices and copies them: a caller's slice is read once.
        let count = self.len();
        self.move_rows(rows.iter().map(|&row| checked(row, count)), out)
    }

    pub(crate) fn scatter_into(&self, rows: &[usize], out: &mut DynBatch) -> Result<()> {
        if rows.len() != self.len() {
            return Err(Error::LengthMismatch { left: self.len(), right: rows.len() });
        }
        let mut sources: Vec<u64> = zeroed_vec(out.len())?;
        sources.fill(SKIPPED_ROW);
        for (source, &row) in rows.iter().enumerate() {
            checked(row, out.len())?;
            sources[row] = source as u64;
        }
        self.move_rows(sources.into_iter().map(Ok), out)
    }

    pub(crate) fn reverse(&self) -> Result<DynBatch> {
        self.produce(|out| self.move_rows((0..self.len() as u64).rev().map(Ok), out))
    }

    pub(crate) fn filter(&self, mask: &Mask) -> Result<DynBatch> {
        self.check_mask(mask)?;
        self.gather(&mask.indices()?)
    }

    pub(crate) fn select(&self, mask: &Mask, other: &DynBatch) -> Result<DynBatch> {
        self.produce(|out| self.select_into(mask, other, out))
    }

    pub(crate) fn select_into(
        &self,
        mask: &Mask,
        other: &DynBatch,
        out: &mut DynBatch,
    ) -> Result<()> {
        self.check_mask(mask)?;
        let mut operands = self.operands_with(other)?;
        self.check(out)?;
        operands.ins[2] = Some(mask.buffer());
        self.launch(Op::Select, Operands { outs: [Some(out.buffer_mut()), None], ..operands })
    }

    pub(crate) fn swap(&self, mask: &Mask, other: &DynBatch) -> Result<(DynBatch, DynBatch)> {
        let second = self.select(mask, other)?;
        let View { batch, strategy } = *self;
        Ok((View { batch: other, strategy }.select(mask, batch)?, second))
    }

    pub(crate) fn is_equal(&self, other: &DynBatch) -> Result<bool> {
        self.check_operand(other.device(), self.len())?;
        Ok(self.len() == other.len() && self.eq_mask(other)?.count()? == self.len())
    }

    /// Copies the values into rows of another shape.
    fn resized_into(&self, out: &mut DynBatch) -> Result<()> {
        self.check_operand(out.device(), out.len())?;
        let (bits, width) = (self.shape().bits, out.shape().bits);
        let operands = self.resizing(out);
        if width >= bits {
            return self.launch(Op::Resize, operands);
        }
        match self.launch_checked(Op::Resize, operands)? {
            None => Ok(()),
            Some(row) => Err(Error::TooWide { row, bits: self.batch.row(row)?.bits(), width }),
        }
    }

    /// Returns the rows modulo the width of another shape, which must be built.
    pub(super) fn truncated(&self, shape: Shape) -> Result<DynBatch> {
        let mut out = DynBatch::alloc(self.device(), shape, self.len())?;
        self.truncated_into(&mut out)?;
        Ok(out)
    }

    /// Computes [`truncated`](Self::truncated) into an existing batch.
    pub(super) fn truncated_into(&self, out: &mut DynBatch) -> Result<()> {
        self.launch(Op::Resize, self.resizing(out))
    }

    /// Collects the operands of a change of width.
    pub(super) fn resizing<'b>(&'b self, out: &'b mut DynBatch) -> Operands<'b> {
        // Shapes have at most 2^31 bits.
        let params = Params { target_bits: out.shape().bits as u32, ..Params::default() };
        Operands { outs: [Some(out.buffer_mut()), None], params, ..self.operands() }
    }

    /// Returns the rows in another shape, which must be built.
    pub(super) fn resized(&self, shape: Shape) -> Result<DynBatch> {
        let mut out = DynBatch::alloc(self.device(), shape, self.len())?;
        self.resized_into(&mut out)?;
        Ok(out)
    }

    /// Returns rows of twice the width, in a built shape: `self + 2^BITS * high`.
    pub(super) fn join(&self, high: &DynBatch, wide: Shape) -> Result<DynBatch> {
        self.check(high)?;
        let mut out = DynBatch::alloc(self.device(), wide, self.len())?;
        for (half, rows) in [self.batch, high].into_iter().enumerate() {
            let sources = (0..2 * self.len())
                .map(|row| if row % 2 == half { row as u64 / 2 } else { SKIPPED_ROW });
            let indices = Indices::new(self.device(), sources, 2 * self.len())?;
            gather(self.device(), self.shape(), rows.buffer(), &indices, out.buffer_mut())?;
        }
        Ok(out)
    }

    /// Returns the low and the high halves of the rows, in a built shape.
    fn split(&self, narrow: Shape) -> Result<(DynBatch, DynBatch)> {
        let half = |half: usize| {
            let mut out = DynBatch::alloc(self.device(), narrow, self.len())?;
            let sources = (0..self.len()).map(|row| (2 * row + half) as u64);
            let indices = Indices::new(self.device(), sources, self.len())?;
            gather(self.device(), narrow, self.batch.buffer(), &indices, out.buffer_mut())?;
            Ok(out)
        };
        Ok((half(0)?, half(1)?))
    }

    /// Writes the rows with these indices to `out`; the index [`SKIPPED_ROW`] leaves a row of `out`
    /// unchanged. Fails with the first error among the indices.
    pub(super) fn move_rows(
        &self,
        sources: impl Iterator<Item = Result<u64>>,
        out: &mut DynBatch,
    ) -> Result<()> {
        self.check_operand(out.device(), self.len())?;
        if self.shape() != out.shape() {
            return Err(Error::ShapeMismatch { left: self.shape(), right: out.shape() });
        }
        let indices = Indices::try_new(self.device(), sources, out.len())?;
        gather(self.device(), self.shape(), self.batch.buffer(), &indices, out.buffer_mut())
    }
}

faces! {
    "Rows";

    /// Returns a copy of a range of rows; a range that ends before it starts is empty.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let values: Vec<_> = (0..5u32).map(BigUint::from).collect();
    /// let batch = Batch::<GpuUint<1024>>::from_biguints(&device, &values)?;
    /// assert_eq!(batch.slice(1..3)?.to_biguints()?, values[1..3]);
    /// assert_eq!(batch.gather(&[4, 0, 4])?.row(2)?, values[4]);
    /// let both = Batch::concat(&[&batch.slice(3..5)?, &batch.slice(0..3)?])?;
    /// assert_eq!(both.row(0)?, values[3]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`NoSuchRow`](crate::Error::NoSuchRow) if the range ends beyond the batch, and what any
    /// operation may return: [`OutOfMemory`](crate::Error::OutOfMemory),
    /// [`KernelMissing`](crate::Error::KernelMissing), [`Compile`](crate::Error::Compile),
    /// [`Driver`](crate::Error::Driver).
    fn slice(rows: RowRange) -> New;

    /// Returns the rows with these indices, in this order; indices may repeat.
    ///
    /// # Errors
    /// [`NoSuchRow`](crate::Error::NoSuchRow) with the first index beyond the batch, and as
    /// [`slice`](Self::slice).
    fn gather(rows: Counts) -> New;

    /// Computes [`gather`](Self::gather) into a batch with as many rows as there are indices.
    /// (During the call the device holds eight bytes a row.)
    ///
    /// # Errors
    /// As [`gather`](Self::gather), [`LengthMismatch`](crate::Error::LengthMismatch),
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch).
    fn gather_into(rows: Counts, out: Out) -> Nothing;

    /// Writes each row to the row of `out` with its index. If indices repeat, the last of their
    /// rows is written. The other rows of `out` are unchanged.
    ///
    /// # Errors
    /// [`LengthMismatch`](crate::Error::LengthMismatch) if there is not one index for each row,
    /// [`NoSuchRow`](crate::Error::NoSuchRow) with the first index beyond `out`,
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch), and as [`slice`](Self::slice).
    fn scatter_into(rows: Counts, out: Out) -> Nothing;

    /// Returns the rows in reverse order.
    ///
    /// # Errors
    /// As [`slice`](Self::slice).
    fn reverse() -> New;

    /// Returns the rows whose bit in the mask is set, in order.
    ///
    /// # Errors
    /// [`LengthMismatch`](crate::Error::LengthMismatch),
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch), and as [`slice`](Self::slice).
    fn filter(mask: InMask) -> New;

    /// Returns the rows of `self` whose bit in the mask is set, and the rows of `other` elsewhere.
    ///
    /// # Errors
    /// As [`filter`](Self::filter).
    fn select(mask: InMask, other: Rows) -> New;

    /// Computes [`select`](Self::select) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`filter`](Self::filter).
    fn select_into(mask: InMask, other: Rows, out: Out) -> Nothing;

    /// Returns both batches, `self` first, with the rows exchanged whose bit in the mask is set.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let batch = |rows: [u32; 2]| {
    ///     Batch::<GpuUint<1024>>::from_biguints(&device, &rows.map(BigUint::from))
    /// };
    /// let (a, b) = (batch([5, 6])?, batch([7, 1])?);
    /// let (larger, smaller) = a.swap(&a.lt_mask(&b)?, &b)?;
    /// assert!(larger.is_equal(&batch([7, 6])?)? && smaller.is_equal(&batch([5, 1])?)?);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`filter`](Self::filter).
    fn swap(mask: InMask, other: Rows) -> NewPair;

    /// Returns true if both batches have the same number of rows and the same values.
    ///
    /// # Errors
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch), and as [`slice`](Self::slice).
    fn is_equal(other: Rows) -> IsTrue;
}

/// # Concatenation and changes of width
impl DynBatch {
    /// Returns the rows of all batches, one batch after another.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch) if there are no batches, since no device is then
    /// known; [`DeviceMismatch`](Error::DeviceMismatch), and as [`slice`](Self::slice).
    pub fn concat(parts: &[&Self]) -> Result<Self> {
        let Some(first) = parts.first() else {
            return Err(Error::LengthMismatch { left: 0, right: 1 });
        };
        for part in parts {
            if !part.device().shares_memory_with(first.device()) {
                return Err(Error::DeviceMismatch);
            }
            if part.shape() != first.shape() {
                return Err(Error::ShapeMismatch { left: first.shape(), right: part.shape() });
            }
        }
        let rows = parts.iter().fold(0usize, |rows, part| rows.saturating_add(part.len()));
        let mut out = Self::alloc(first.device(), first.shape(), rows)?;
        let mut row = 0;
        for part in parts {
            part.view().copy_rows(0..part.len(), &mut out, row)?;
            row += part.len();
        }
        Ok(out)
    }

    /// Returns the values in rows of another shape.
    ///
    /// # Errors
    /// [`ShapeMissing`](Error::ShapeMissing) if the shape is not built, [`TooWide`](Error::TooWide)
    /// with the lowest row that needs more bits than the shape has, and as [`slice`](Self::slice).
    pub fn resized(&self, shape: Shape) -> Result<Self> {
        self.device().check_shape(shape)?;
        self.view().resized(shape)
    }

    /// Computes [`resized`](Self::resized) into an existing batch, without allocating. After
    /// [`TooWide`](Error::TooWide) it holds the values modulo `2^BITS`.
    ///
    /// # Errors
    /// As [`resized`](Self::resized), [`LengthMismatch`](Error::LengthMismatch),
    /// [`DeviceMismatch`](Error::DeviceMismatch).
    pub fn resized_into(&self, out: &mut Self) -> Result<()> {
        self.view().resized_into(out)
    }

    /// Returns rows of twice the width: `self + 2^BITS * high`.
    ///
    /// # Errors
    /// [`WidthMissing`](Error::WidthMissing) above 2^30 bits, [`ShapeMissing`](Error::ShapeMissing)
    /// if twice the width is not built, [`ShapeMismatch`](Error::ShapeMismatch),
    /// [`LengthMismatch`](Error::LengthMismatch), [`DeviceMismatch`](Error::DeviceMismatch), and as
    /// [`slice`](Self::slice).
    pub fn join(&self, high: &Self) -> Result<Self> {
        let view = self.view();
        view.join(high, view.doubled("joins of rows")?)
    }

    /// Returns the low and high halves of the rows: `self = low + 2^half * high`, where `half` is
    /// half of `BITS`. The halves have the same `Q` if this shape is built, else the nearest one.
    ///
    /// # Errors
    /// [`ShapeMissing`](Error::ShapeMissing) if half the width is not built, and as
    /// [`slice`](Self::slice).
    pub fn split(&self) -> Result<(Self, Self)> {
        self.view().split(self.device().halved(self.shape())?)
    }
}

/// # Concatenation and changes of width
impl<T: Kernels> Batch<T> {
    /// Returns the rows of all batches, one batch after another.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch) if there are no batches, since no device is then
    /// known; [`DeviceMismatch`](Error::DeviceMismatch), and as [`slice`](Self::slice).
    pub fn concat(parts: &[&Self]) -> Result<Self> {
        let parts: Vec<&DynBatch> = parts.iter().map(|part| part.as_dyn()).collect();
        DynBatch::concat(&parts).map(Self::typed)
    }

    /// Returns the values in rows of the same or a greater width.
    ///
    /// ```
    /// use gpuint::{Batch, Device, Error, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let values = [BigUint::from(7u32), BigUint::from(1u32) << 1500];
    /// let batch = Batch::<GpuUint<2048>>::from_biguints(&device, &values)?;
    /// assert_eq!(batch.widen::<GpuUint<4096>>()?.to_biguints()?, values);
    /// let error = batch.narrow::<GpuUint<1024>>().unwrap_err();
    /// assert_eq!(error, Error::TooWide { row: 1, bits: 1501, width: 1024 });
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`narrow`](Self::narrow), to which it is equal if `W` is narrower.
    pub fn widen<W: Kernels>(&self) -> Result<Batch<W>> {
        self.narrow()
    }

    /// Returns the values in rows of another width.
    ///
    /// # Errors
    /// [`TooWide`](Error::TooWide) with the lowest row that needs more bits than `W` has, and as
    /// [`slice`](Self::slice).
    pub fn narrow<W: Kernels>(&self) -> Result<Batch<W>> {
        self.device().of::<W>().check_shape(W::SHAPE)?;
        self.view().resized(W::SHAPE).map(Batch::typed)
    }

    /// Computes [`narrow`](Self::narrow) or [`widen`](Self::widen) into an existing batch, without
    /// allocating. After [`TooWide`](Error::TooWide) it holds the values modulo `2^BITS`.
    ///
    /// # Errors
    /// As [`narrow`](Self::narrow), [`LengthMismatch`](Error::LengthMismatch),
    /// [`DeviceMismatch`](Error::DeviceMismatch).
    pub fn narrow_into<W: Kernels>(&self, out: &mut Batch<W>) -> Result<()> {
        self.view().resized_into(out.as_dyn_mut())
    }

    /// Returns rows of twice the width: `self + 2^BITS * high`.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch), [`DeviceMismatch`](Error::DeviceMismatch), and as
    /// [`slice`](Self::slice).
    pub fn join<W: Kernels>(&self, high: &Self) -> Result<Batch<W>>
    where
        T: Widen<Wide = W>,
    {
        self.view().join(high.as_dyn(), W::SHAPE).map(Batch::typed)
    }

    /// Returns the low and high halves of the rows: `self = low + 2^half * high`, where `half` is
    /// the width of `H`.
    ///
    /// # Errors
    /// As [`slice`](Self::slice).
    pub fn split<H: Widen<Wide = T>>(&self) -> Result<(Batch<H>, Batch<H>)> {
        let (low, high) = self.view().split(H::SHAPE)?;
        Ok((Batch::typed(low), Batch::typed(high)))
    }
}

/// Indices of rows on a device; [`SKIPPED_ROW`] leaves a row unchanged.
pub(super) struct Indices {
    buffer: Buffer,
    rows: usize,
}

impl Indices {
    pub(super) fn new(
        device: &Device,
        numbers: impl Iterator<Item = u64>,
        rows: usize,
    ) -> Result<Self> {
        Self::try_new(device, numbers.map(Ok), rows)
    }

    /// Writes the numbers to the memory of the copy. Fails with the first error among them.
    fn try_new(
        device: &Device,
        mut numbers: impl Iterator<Item = Result<u64>>,
        rows: usize,
    ) -> Result<Self> {
        let unit = size_of::<u64>();
        let mut buffer = device.alloc_rows(rows, unit)?;
        let span = Span { offset: 0, bytes: rows * unit, unit };
        device.memory().upload_parts(&mut buffer, span, &mut |_, part| {
            let (words, _) = part.as_chunks_mut();
            for (word, number) in words.iter_mut().zip(&mut numbers) {
                *word = number?.to_ne_bytes();
            }
            Ok(())
        })?;
        Ok(Self { buffer, rows })
    }
}

/// Queues a gather of rows of the shape.
pub(super) fn gather(
    device: &Device,
    shape: Shape,
    source: &Buffer,
    indices: &Indices,
    out: &mut Buffer,
) -> Result<()> {
    let operands = Operands {
        ins: [Some(source), Some(&indices.buffer), None],
        outs: [Some(out), None],
        rows: indices.rows,
        ..Operands::default()
    };
    device.launch(device.kernel(Op::Gather, Strategy::Auto, shape, indices.rows)?, operands)
}

/// Returns the index of a row of `rows`.
fn checked(row: usize, rows: usize) -> Result<u64> {
    if row < rows { Ok(row as u64) } else { Err(Error::NoSuchRow { row, rows }) }
}
