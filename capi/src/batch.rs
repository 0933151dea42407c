//! Batches: conversions and properties.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gpuint::num_bigint::BigUint;
use gpuint::{DynBatch, Error};

use crate::call::functions;
use crate::handle::{Batch, Device, get, remove};
use crate::memory::{array, array_mut};
use crate::status::{Failure, Result};

/// Bytes of a part of rows that is converted at once.
const PART_BYTES: usize = 1 << 22;

/// Rows of the caller: `rows` rows of `limbs_per_row` limbs.
#[derive(Clone, Copy)]
struct Layout {
    rows: usize,
    limbs_per_row: usize,
}

impl Layout {
    fn limbs(self) -> Result<usize> {
        let limbs = self.rows.checked_mul(self.limbs_per_row);
        Ok(limbs.ok_or(Error::OutOfMemory { bytes: u64::MAX })?)
    }

    fn row_bytes(self) -> usize {
        // Without rows, the number of limbs is not checked.
        self.limbs_per_row.saturating_mul(size_of::<u64>())
    }
}

/// Copies a row to a longer or shorter one, whose other bytes become 0.
fn copy_row(row: usize, from: &[u8], to: &mut [u8]) -> Result<()> {
    let common = from.len().min(to.len());
    let beyond = &from[common..];
    if let Some(last) = beyond.iter().rposition(|&byte| byte != 0) {
        let bits = 8 * (common + last + 1) - beyond[last].leading_zeros() as usize;
        return Err(Error::TooWide { row, bits: bits as u64, width: 8 * to.len() }.into());
    }
    to[..common].copy_from_slice(&from[..common]);
    to[common..].fill(0);
    Ok(())
}

/// Calls `part(first, rows)` for parts of `rows` rows in order.
fn in_parts(
    rows: usize,
    row_bytes: usize,
    mut part: impl FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let step = (PART_BYTES / row_bytes).max(1);
    (0..rows).step_by(step).try_for_each(|first| part(first, step.min(rows - first)))
}

fn from_limbs(
    device: &gpuint::Device,
    bits: usize,
    limbs: &[u64],
    layout: Layout,
) -> Result<DynBatch> {
    let shape = device.shape_for(bits)?;
    let (unit, given) = (shape.bytes(), layout.row_bytes());
    let bytes: &[u8] = bytemuck::cast_slice(limbs);
    if unit == given {
        return Ok(DynBatch::from_le_bytes(device, shape, bytes)?);
    }
    let mut batch = DynBatch::zeros(device, shape, layout.rows)?;
    let mut room = Vec::new();
    in_parts(layout.rows, unit.max(given), |first, rows| {
        room.resize(rows * unit, 0);
        for (row, out) in (first..).zip(room.chunks_exact_mut(unit)) {
            copy_row(row, &bytes[row * given..][..given], out)?;
        }
        Ok(batch.write_le_bytes(first, &room)?)
    })?;
    Ok(batch)
}

fn read_limbs(batch: &DynBatch, first: usize, limbs: &mut [u64], layout: Layout) -> Result<()> {
    let (unit, given) = (batch.shape().bytes(), layout.row_bytes());
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(limbs);
    if unit == given {
        return Ok(batch.read_le_bytes(first, bytes)?);
    }
    let missing = first.checked_add(layout.rows).is_none_or(|end| end > batch.len());
    if missing {
        return Err(Error::NoSuchRow { row: first.max(batch.len()), rows: batch.len() }.into());
    }
    let mut room = Vec::new();
    in_parts(layout.rows, unit.max(given), |start, rows| {
        room.resize(rows * unit, 0);
        batch.read_le_bytes(first + start, &mut room)?;
        for (row, row_bytes) in (start..).zip(room.chunks_exact(unit)) {
            copy_row(first + row, row_bytes, &mut bytes[row * given..][..given])?;
        }
        Ok(())
    })
}

/// Memory of the caller on a GPU, with the function that frees it.
struct Owner {
    release: Option<unsafe extern "C" fn(*mut c_void)>,
    context: *mut c_void,
    /// True once a batch is over the memory: before, it is the caller's.
    is_taken: Arc<AtomicBool>,
}

// SAFETY: the header requires that `release` may be called with `context` on any thread.
unsafe impl Send for Owner {}
// SAFETY: a shared owner does nothing.
unsafe impl Sync for Owner {}

impl Drop for Owner {
    fn drop(&mut self) {
        if let (Some(release), true) = (self.release, self.is_taken.load(Ordering::Acquire)) {
            // SAFETY: the header requires that `release` may be called once with `context`.
            unsafe { release(self.context) };
        }
    }
}

functions! {
    /// Makes a batch for `bits` bits (see `gpuint_width`) of `rows` rows of `limbs_per_row` 64-bit
    /// limbs: row after row, each least significant limb first. Rows that are longer than the
    /// width must be zero beyond it, else `GPUINT_STATUS_TOO_WIDE`. `limbs` is free when the call
    /// returns.
    fn gpuint_batch_from_limbs(
        device: *const Device, bits: usize, limbs: *const u64, rows: usize, limbs_per_row: usize;
        out: *mut *mut Batch
    ) = |device, bits, limbs, rows, limbs_per_row| {
        let layout = Layout { rows, limbs_per_row };
        // SAFETY: the header requires that the array has all limbs.
        let limbs = unsafe { array(limbs, layout.limbs()?, "limbs") }?;
        from_limbs(device, bits, limbs, layout)
    };

    /// Makes a batch of `rows` zeros for `bits` bits.
    fn gpuint_batch_zeros(
        device: *const Device, bits: usize, rows: usize; out: *mut *mut Batch
    ) = |device: &gpuint::Device, bits, rows| {
        DynBatch::zeros(device, device.shape_for(bits)?, rows)
    };

    /// Makes a batch of `rows` rows, all of one value, for `bits` bits.
    fn gpuint_batch_splat(
        device: *const Device, bits: usize, value: *const c_char, rows: usize; out: *mut *mut Batch
    ) = |device: &gpuint::Device, bits, value: &BigUint, rows| {
        DynBatch::splat(device, device.shape_for(bits)?, value, rows)
    };

    /// Makes a batch of `rows` probable primes of exactly `bits` bits from the randomness of the
    /// operating system. With `safe`, `(p - 1) / 2` is a probable prime, too. If no prime is that
    /// short, this is `GPUINT_STATUS_WIDTH_MISSING`.
    fn gpuint_batch_random_primes(
        device: *const Device, bits: usize, rows: usize, safe: bool; out: *mut *mut Batch
    ) = |device: &gpuint::Device, bits, rows, safe| {
        let shape = device.shape_for(bits)?;
        match safe {
            true => DynBatch::random_safe_primes(device, shape, rows, bits),
            false => DynBatch::random_primes(device, shape, rows, bits),
        }
    };

    /// Makes a batch over `rows` rows at an address of a GPU, without a copy: row after row, each
    /// least significant byte first, of exactly `bits` bits. The address must be a multiple of 16.
    ///
    /// The memory must stay allocated until `release(context)` is called, once, on any thread,
    /// after the last use; `release` may be NULL. It is not called if this call fails. Other work
    /// on the memory is put in order by `gpuint_device_wait_for_stream` before and
    /// `gpuint_device_hold_stream` after the operations on the batch. No two batches may be over
    /// the same bytes.
    fn gpuint_batch_from_device_ptr(
        device: *const Device, bits: usize, rows: usize, address: u64,
        release: Option<unsafe extern "C" fn(*mut c_void)>, context: *mut c_void;
        out: *mut *mut Batch
    ) = |device: &gpuint::Device, bits, rows, address, release, context| {
        let is_taken = Arc::new(AtomicBool::new(false));
        let owner = Owner { release, context, is_taken: Arc::clone(&is_taken) };
        let shape = device.shape_for(bits)?;
        if shape.bits != bits {
            return Err(Failure::NotBuilt { bits, next: shape.bits });
        }
        // SAFETY: the header requires what `DynBatch::from_device_ptr` does.
        let batch = unsafe { DynBatch::from_device_ptr(device, shape, rows, address, owner) }?;
        is_taken.store(true, Ordering::Release);
        Ok(batch)
    };

    /// Stores the address of the rows on the GPU: row after row, each least significant byte first.
    /// They live as long as the batch. Do not write to them.
    fn gpuint_batch_device_ptr(batch: *const Batch; address: *mut u64) = DynBatch::device_ptr;

    /// Copies `rows` rows from `first` on to `limbs`, `limbs_per_row` 64-bit limbs a row: row
    /// after row, each least significant limb first. Limbs beyond the width become zero. Values
    /// that need more limbs are `GPUINT_STATUS_TOO_WIDE`; rows before it may have been written
    /// then. Waits for the work that makes the rows.
    fn gpuint_batch_read_limbs(
        batch: *const Batch, first: usize, rows: usize, limbs: *mut u64, limbs_per_row: usize
    ) = |batch, first, rows, limbs, limbs_per_row| {
        let layout = Layout { rows, limbs_per_row };
        // SAFETY: the header requires that the array has room for all limbs.
        let limbs = unsafe { array_mut(limbs, layout.limbs()?, "limbs") }?;
        read_limbs(batch, first, limbs, layout)
    };

    /// Stores the value of a row as text.
    fn gpuint_batch_row(
        batch: *const Batch, row: usize;
        base: u32, text: *mut c_char, size: usize, length: *mut usize
    ) = DynBatch::row;

    /// Stores the number of rows.
    fn gpuint_batch_rows(batch: *const Batch; rows: *mut usize) =
        |batch: &DynBatch| Ok::<_, Error>(batch.len());

    /// Stores the width of a row in bits.
    fn gpuint_batch_bits(batch: *const Batch; bits: *mut usize) =
        |batch: &DynBatch| Ok::<_, Error>(batch.shape().bits);

    /// Stores the width of a digit in bits: see `gpuint_shifted_inverse`.
    fn gpuint_batch_digit_bits(batch: *const Batch; bits: *mut usize) =
        |batch: &DynBatch| Ok::<_, Error>(batch.shape().digit.bits());

    /// Copies a batch to a device, by way of the host.
    fn gpuint_batch_to(batch: *const Batch, device: *const Device; out: *mut *mut Batch) =
        |batch: &DynBatch, device| {
            DynBatch::from_le_bytes(device, batch.shape(), &batch.to_le_bytes()?)
        };

    /// Returns the rows of `count` batches, one batch after the other.
    fn gpuint_concat(parts: *const *const Batch, count: usize; out: *mut *mut Batch) =
        |parts, count| {
            // SAFETY: the header requires that the array has `count` handles.
            let parts = unsafe { array(parts, count, "parts") }?;
            let parts: Vec<_> =
                parts.iter().map(|&part| get(part, "parts")).collect::<Result<_>>()?;
            let parts: Vec<&DynBatch> = parts.iter().map(|part| &**part).collect();
            Ok::<_, Failure>(DynBatch::concat(&parts)?)
        };

    /// Frees the handle. NULL is allowed.
    fn gpuint_batch_free(batch: *mut Batch) = |batch| remove(batch, "batch");
}
