//! Rows as a whole: parts, joins, selections and changes of width (`kernels/rows`).

use std::ops::Range;

use gpuint_catalogue::Op;

use crate::backend::host::zeroed_vec;
use crate::backend::{Buffer, Operands, Params, SKIPPED_ROW};
use crate::batch::Batch;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::mask::Mask;
use crate::shape::{Kernels, Widen};
use crate::strategy::Strategy;

impl<T: Kernels> Batch<T> {
    /// Returns a copy of the rows of a range, which is empty where it ends before it starts.
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
    /// [`NoSuchRow`](Error::NoSuchRow) where the range ends beyond the batch, and what any
    /// operation may return: [`OutOfMemory`](Error::OutOfMemory),
    /// [`KernelMissing`](Error::KernelMissing), [`Compile`](Error::Compile),
    /// [`Driver`](Error::Driver).
    pub fn slice(&self, rows: Range<usize>) -> Result<Self> {
        if rows.end > self.len() {
            return Err(Error::NoSuchRow { row: rows.end - 1, rows: self.len() });
        }
        let mut out = Self::alloc(self.device(), rows.len())?;
        self.copy_rows(rows, &mut out, 0)?;
        Ok(out)
    }

    /// Returns the rows of batches one after the other.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch) where there is no batch: its device would be
    /// unknown; [`DeviceMismatch`](Error::DeviceMismatch), and as [`slice`](Self::slice).
    pub fn concat(parts: &[&Self]) -> Result<Self> {
        let Some(first) = parts.first() else {
            return Err(Error::LengthMismatch { left: 0, right: 1 });
        };
        if parts.iter().any(|part| part.device() != first.device()) {
            return Err(Error::DeviceMismatch);
        }
        let rows = parts.iter().fold(0usize, |rows, part| rows.saturating_add(part.len()));
        let mut out = Self::alloc(first.device(), rows)?;
        let mut row = 0;
        for part in parts {
            part.copy_rows(0..part.len(), &mut out, row)?;
            row += part.len();
        }
        Ok(out)
    }

    /// Copies a range of rows to the rows of `out` from `first` on. Both ranges exist.
    fn copy_rows(&self, rows: Range<usize>, out: &mut Self, first: usize) -> Result<()> {
        let bytes = |rows: usize| rows as u64 * T::SHAPE.bytes() as u64;
        if rows.is_empty() {
            return Ok(());
        }
        let (from, to) = (bytes(rows.start), bytes(first));
        let device = self.device().clone();
        device.memory().copy(out.buffer_mut(), to, self.buffer(), from, bytes(rows.len()))
    }

    /// Returns the rows of these numbers, in this order; a row may come several times.
    ///
    /// # Errors
    /// [`NoSuchRow`](Error::NoSuchRow) with the first number that is none of a row, and as
    /// [`slice`](Self::slice).
    pub fn gather(&self, rows: &[usize]) -> Result<Self> {
        let mut out = Self::alloc(self.device(), rows.len())?;
        self.gather_into(rows, &mut out)?;
        Ok(out)
    }

    /// [`gather`](Self::gather) into a batch of as many rows as there are numbers. (The device holds
    /// eight bytes a row for the time of the call.)
    ///
    /// # Errors
    /// As [`gather`](Self::gather), [`LengthMismatch`](Error::LengthMismatch),
    /// [`DeviceMismatch`](Error::DeviceMismatch).
    pub fn gather_into(&self, rows: &[usize], out: &mut Self) -> Result<()> {
        if rows.len() != out.len() {
            return Err(Error::LengthMismatch { left: rows.len(), right: out.len() });
        }
        check_rows(rows, self.len())?;
        self.move_rows(rows.iter().map(|&row| row as u64), out)
    }

    /// Writes each row to the row of `out` that its number names; where a number comes several
    /// times, its last row is written. The other rows of `out` stay as they are.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch) where there is not one number for each row,
    /// [`NoSuchRow`](Error::NoSuchRow) with the first number that is none of a row of `out`,
    /// [`DeviceMismatch`](Error::DeviceMismatch), and as [`slice`](Self::slice).
    pub fn scatter_into(&self, rows: &[usize], out: &mut Self) -> Result<()> {
        if rows.len() != self.len() {
            return Err(Error::LengthMismatch { left: self.len(), right: rows.len() });
        }
        check_rows(rows, out.len())?;
        let mut sources: Vec<u64> = zeroed_vec(out.len())?;
        sources.fill(SKIPPED_ROW);
        for (source, &row) in rows.iter().enumerate() {
            sources[row] = source as u64;
        }
        self.move_rows(sources.into_iter(), out)
    }

    /// Returns the rows in the opposite order.
    ///
    /// # Errors
    /// As [`slice`](Self::slice).
    pub fn reverse(&self) -> Result<Self> {
        self.produce(|out| self.move_rows((0..self.len() as u64).rev(), out))
    }

    /// Returns the rows whose bit of the mask is set, in their order.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch), [`DeviceMismatch`](Error::DeviceMismatch), and as
    /// [`slice`](Self::slice).
    pub fn filter(&self, mask: &Mask) -> Result<Self> {
        self.check_mask(mask)?;
        self.gather(&mask.indices()?)
    }

    /// Returns the rows of `self` where the bit of the mask is set, and those of `other` elsewhere.
    ///
    /// # Errors
    /// As [`filter`](Self::filter).
    pub fn select(&self, mask: &Mask, other: &Self) -> Result<Self> {
        self.produce(|out| self.select_into(mask, other, out))
    }

    /// [`select`](Self::select) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`filter`](Self::filter).
    pub fn select_into(&self, mask: &Mask, other: &Self, out: &mut Self) -> Result<()> {
        self.check_mask(mask)?;
        self.check(other)?;
        self.check(out)?;
        let operands = Operands {
            ins: [Some(self.buffer()), Some(other.buffer()), Some(mask.buffer())],
            outs: [Some(out.buffer_mut()), None],
            ..self.operands()
        };
        self.device().launch(self.kernel(Op::Select, Strategy::Auto)?, operands)
    }

    /// Returns the values in rows of at least the same width: nothing wraps.
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
    /// As [`narrow`](Self::narrow), which it is where `W` is narrower.
    pub fn widen<W: Kernels>(&self) -> Result<Batch<W>> {
        self.produce(|out| self.narrow_into(out))
    }

    /// Returns the values in rows of another width: nothing wraps.
    ///
    /// # Errors
    /// [`TooWide`](Error::TooWide) with the lowest row that needs more bits than `W` has, and as
    /// [`slice`](Self::slice).
    pub fn narrow<W: Kernels>(&self) -> Result<Batch<W>> {
        self.produce(|out| self.narrow_into(out))
    }

    /// [`narrow`](Self::narrow) or [`widen`](Self::widen) into a batch that exists, without
    /// allocating. After [`TooWide`](Error::TooWide) it holds the values modulo `2^BITS`.
    ///
    /// # Errors
    /// As [`narrow`](Self::narrow), [`LengthMismatch`](Error::LengthMismatch),
    /// [`DeviceMismatch`](Error::DeviceMismatch).
    pub fn narrow_into<W: Kernels>(&self, out: &mut Batch<W>) -> Result<()> {
        self.check(out)?;
        let operands = Operands {
            ins: [Some(self.buffer()), None, None],
            outs: [Some(out.buffer_mut()), None],
            // build.rs admits no shape of 2^32 bits.
            params: Params { target_bits: W::BITS as u32, ..Params::default() },
            ..self.operands()
        };
        let kernel = self.kernel(Op::Resize, Strategy::Auto)?;
        if W::BITS >= T::BITS {
            return self.device().launch(kernel, operands);
        }
        match self.device().launch_checked(kernel, operands)? {
            None => Ok(()),
            Some(row) => Err(Error::TooWide { row, bits: self.row(row)?.bits(), width: W::BITS }),
        }
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
        self.check(high)?;
        let mut wide = Batch::<W>::alloc(self.device(), self.len())?;
        for (half, rows) in [self, high].into_iter().enumerate() {
            let sources = (0..2 * self.len())
                .map(|row| if row % 2 == half { row as u64 / 2 } else { SKIPPED_ROW });
            gather_rows::<T>(
                self.device(),
                rows.buffer(),
                sources,
                2 * self.len(),
                wide.buffer_mut(),
            )?;
        }
        Ok(wide)
    }

    /// Returns the low and the high halves of the rows: of `self = low + 2^BITS * high`, with the
    /// `BITS` of `H`.
    ///
    /// # Errors
    /// As [`slice`](Self::slice).
    pub fn split<H: Widen<Wide = T>>(&self) -> Result<(Batch<H>, Batch<H>)> {
        let half = |half: usize| {
            self.produce(|out: &mut Batch<H>| {
                let sources = (0..self.len()).map(|row| (2 * row + half) as u64);
                gather_rows::<H>(
                    self.device(),
                    self.buffer(),
                    sources,
                    self.len(),
                    out.buffer_mut(),
                )
            })
        };
        Ok((half(0)?, half(1)?))
    }

    /// Returns true if the batches have the same number of rows, and the same values.
    ///
    /// # Errors
    /// [`DeviceMismatch`](Error::DeviceMismatch), and as [`slice`](Self::slice).
    pub fn is_equal(&self, other: &Self) -> Result<bool> {
        if self.device() != other.device() {
            return Err(Error::DeviceMismatch);
        }
        Ok(self.len() == other.len() && self.eq_mask(other)?.count()? == self.len())
    }

    /// Writes the rows of these numbers to `out`, which stays as it is where one is
    /// [`SKIPPED_ROW`].
    fn move_rows(&self, sources: impl Iterator<Item = u64>, out: &mut Self) -> Result<()> {
        if self.device() != out.device() {
            return Err(Error::DeviceMismatch);
        }
        let rows = out.len();
        gather_rows::<T>(self.device(), self.buffer(), sources, rows, out.buffer_mut())
    }
}

/// Queues a gather of `rows` rows of the shape. The numbers are those of rows of `source`, or
/// [`SKIPPED_ROW`].
fn gather_rows<T: Kernels>(
    device: &Device,
    source: &Buffer,
    numbers: impl Iterator<Item = u64>,
    rows: usize,
    out: &mut Buffer,
) -> Result<()> {
    if rows == 0 {
        return Ok(());
    }
    let mut words: Vec<u64> = zeroed_vec(rows)?;
    words.iter_mut().zip(numbers).for_each(|(word, number)| *word = number);
    let mut indices = device.alloc_rows(rows, size_of::<u64>())?;
    device.memory().upload(&mut indices, 0, bytemuck::cast_slice(&words))?;
    let operands = Operands {
        ins: [Some(source), Some(&indices), None],
        outs: [Some(out), None],
        rows,
        ..Operands::default()
    };
    device.launch(device.kernel(Op::Gather, Strategy::Auto, T::SHAPE, rows)?, operands)
}

/// Checks numbers of rows.
fn check_rows(numbers: &[usize], rows: usize) -> Result<()> {
    match numbers.iter().find(|&&row| row >= rows) {
        Some(&row) => Err(Error::NoSuchRow { row, rows }),
        None => Ok(()),
    }
}
