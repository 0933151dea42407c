//! Memory of the host, as the cpu and simt backends use it.

use std::mem::{self, MaybeUninit};
use std::sync::Arc;
use std::task::Waker;

use bytemuck::allocation::try_zeroed_slice_box;
use num_bigint::BigUint;
use rayon::prelude::*;

use gpuint_catalogue::MAX_BITS;

use crate::backend::freed::{self, Block};
use crate::backend::{Buffer, HostBuffer, Mark, Memory, pages};
use crate::error::{Error, Result};
use crate::threads;

/// Longest part of a copy, in bytes: long enough that the latency of a copy does not count, and
/// short enough for the cache of the host.
pub(crate) const PART_BYTES: usize = 4 << 20;
// Parts are whole rows: a longer row is a part.
static_assertions::const_assert!(MAX_BITS / 8 <= PART_BYTES);

/// Start and length of the parts of a copy of `bytes` bytes: whole units, at most `most` bytes.
pub(crate) fn parts(
    bytes: usize,
    unit: usize,
    most: usize,
) -> impl Iterator<Item = (usize, usize)> {
    let part = (most / unit).max(1) * unit;
    (0..bytes).step_by(part).map(move |start| (start, part.min(bytes - start)))
}

/// Bytes that a thread works on at a time, where several do: starting it takes microseconds.
const GRAIN_BYTES: usize = 1 << 17;

fn is_for_threads(bytes: usize) -> bool {
    bytes > 2 * GRAIN_BYTES
}

/// Copies `source` to `target`, which has the same length, on all cores.
pub(crate) fn copy_bytes(source: &[u8], target: &mut [u8]) {
    if !is_for_threads(source.len()) {
        return target.copy_from_slice(source);
    }
    let sources = source.par_chunks(GRAIN_BYTES);
    let targets = target.par_chunks_mut(GRAIN_BYTES);
    let copy = || sources.zip(targets).for_each(|(source, target)| target.copy_from_slice(source));
    threads::install(copy);
}

/// Writes the rows of `bytes` on all cores: `write(row, bytes)`.
pub(crate) fn write_rows(
    bytes: &mut [u8],
    row_bytes: usize,
    write: impl Fn(usize, &mut [u8]) + Sync,
) {
    if !is_for_threads(bytes.len()) {
        let rows = bytes.chunks_exact_mut(row_bytes);
        return rows.enumerate().for_each(|(row, bytes)| write(row, bytes));
    }
    let rows = bytes.par_chunks_exact_mut(row_bytes).enumerate();
    let rows = rows.with_min_len(GRAIN_BYTES / row_bytes);
    threads::install(|| rows.for_each(|(row, bytes)| write(row, bytes)));
}

/// Appends the values of the rows of `bytes`, made on all cores: `read(bytes)`.
pub(crate) fn read_rows<V: Send>(
    bytes: &[u8],
    row_bytes: usize,
    read: impl Fn(&[u8]) -> V + Send + Sync,
    values: &mut Vec<V>,
) {
    if !is_for_threads(bytes.len()) {
        return values.extend(bytes.chunks_exact(row_bytes).map(read));
    }
    let rows = bytes.par_chunks_exact(row_bytes).with_min_len(GRAIN_BYTES / row_bytes);
    threads::install(|| values.par_extend(rows.map(read)));
}

/// A point in the queue of a device whose calls end before they return.
#[derive(Debug)]
pub(crate) struct Passed;

impl Mark for Passed {
    fn has_passed(&self) -> Result<bool> {
        Ok(true)
    }

    fn wait(&self) -> Result<()> {
        Ok(())
    }

    fn wake(&self, waker: Waker) -> Result<()> {
        waker.wake();
        Ok(())
    }
}

/// Bytes that start at a 16-byte boundary.
#[derive(Debug)]
pub(crate) struct HostMemory {
    blocks: Box<[Block]>,
    bytes: usize,
}

impl Memory for HostMemory {
    fn bytes(&self) -> u64 {
        self.bytes as u64
    }
}

impl HostMemory {
    /// Returns `bytes` zeros.
    pub(crate) fn zeroed(bytes: u64) -> Result<Self> {
        let out_of_memory = Error::OutOfMemory { bytes };
        let Ok(bytes) = usize::try_from(bytes) else { return Err(out_of_memory) };
        let len = bytes.div_ceil(size_of::<Block>());
        let blocks = with_all_memory(|| try_zeroed_slice_box(len)).map_err(|()| out_of_memory)?;
        Ok(Self::of(blocks, bytes))
    }

    fn of(blocks: Box<[Block]>, bytes: usize) -> Self {
        freed::count(&blocks);
        Self { blocks, bytes }
    }

    /// Returns `bytes` bytes of any value, as a GPU does. In debug builds they are not zeros, so
    /// that tests see what is read before it is written; larger memory is not touched before it is
    /// used.
    pub(crate) fn unspecified(bytes: u64) -> Result<Self> {
        let kept = usize::try_from(bytes).ok().and_then(|bytes| {
            Some(Self::of(freed::take(bytes.div_ceil(size_of::<Block>()))?, bytes))
        });
        let mut memory = kept.map_or_else(|| Self::zeroed(bytes), Ok)?;
        if cfg!(debug_assertions) && bytes <= 1 << 24 {
            memory.as_bytes_mut().fill(0xa5);
        }
        Ok(memory)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.blocks)[..self.bytes]
    }

    pub(crate) fn as_bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.blocks)[..self.bytes]
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        freed::put(mem::take(&mut self.blocks));
    }
}

impl HostBuffer for HostMemory {
    fn bytes(&self) -> Result<&[u8]> {
        Ok(self.as_bytes())
    }

    fn bytes_mut(&mut self) -> Result<&mut [u8]> {
        Ok(self.as_bytes_mut())
    }

    fn last_copy(&self) -> Option<Arc<dyn Mark>> {
        None
    }
}

/// Returns kept memory of dropped buffers to the system.
pub(crate) fn trim() {
    freed::clear();
}

/// The bytes of a buffer in host memory.
pub(crate) fn bytes(buffer: &Buffer) -> Result<&[u8]> {
    Ok(buffer.memory::<HostMemory>()?.as_bytes())
}

/// The bytes of a buffer in host memory.
pub(crate) fn bytes_mut(buffer: &mut Buffer) -> Result<&mut [u8]> {
    Ok(buffer.memory_mut::<HostMemory>()?.as_bytes_mut())
}

/// The methods of [`Backend`](crate::backend::Backend) that are the same for every backend whose
/// memory is the host's and whose calls end before they return.
macro_rules! host_memory_methods {
    () => {
        fn alloc(&self, bytes: u64) -> Result<Buffer> {
            Ok(Buffer::new($crate::backend::host::HostMemory::unspecified(bytes)?))
        }

        fn alloc_zeroed(&self, bytes: u64) -> Result<Buffer> {
            Ok(Buffer::new($crate::backend::host::HostMemory::zeroed(bytes)?))
        }

        fn fill(&self, target: &mut Buffer, byte: u8) -> Result<()> {
            $crate::backend::host::bytes_mut(target)?.fill(byte);
            Ok(())
        }

        fn upload_parts(
            &self,
            target: &mut Buffer,
            span: $crate::backend::Span,
            fill: &mut dyn FnMut(usize, &mut [u8]) -> Result<()>,
        ) -> Result<()> {
            use $crate::backend::host;
            let $crate::backend::Span { offset, bytes, unit } = span;
            let target = host::part_mut(host::bytes_mut(target)?, offset, bytes)?;
            host::parts(bytes, unit, host::PART_BYTES)
                .try_for_each(|(start, len)| fill(start, &mut target[start..start + len]))
        }

        fn download_parts(
            &self,
            source: &Buffer,
            span: $crate::backend::Span,
            read: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
        ) -> Result<()> {
            use $crate::backend::host;
            let $crate::backend::Span { offset, bytes, unit } = span;
            let source = host::part(host::bytes(source)?, offset, bytes)?;
            host::parts(bytes, unit, host::PART_BYTES)
                .try_for_each(|(start, len)| read(start, &source[start..start + len]))
        }

        fn alloc_host(&self, bytes: usize) -> Result<Box<dyn $crate::backend::HostBuffer>> {
            Ok(Box::new($crate::backend::host::HostMemory::zeroed(bytes as u64)?))
        }

        fn upload_from(
            &self,
            target: &mut Buffer,
            offset: u64,
            source: &mut dyn $crate::backend::HostBuffer,
            part: std::ops::Range<usize>,
        ) -> Result<()> {
            let source = source.bytes()?;
            let source = $crate::backend::host::part(source, part.start as u64, part.len())?;
            self.upload(target, offset, source)
        }

        fn download_to(
            &self,
            source: &Buffer,
            offset: u64,
            target: &mut dyn $crate::backend::HostBuffer,
            part: std::ops::Range<usize>,
        ) -> Result<()> {
            let target = target.bytes_mut()?;
            let target = $crate::backend::host::part_mut(target, part.start as u64, part.len())?;
            self.download(source, offset, target)
        }

        fn record(&self) -> Result<std::sync::Arc<dyn $crate::backend::Mark>> {
            Ok(std::sync::Arc::new($crate::backend::host::Passed))
        }

        fn wait_for(&self, mark: &dyn $crate::backend::Mark) -> Result<()> {
            mark.wait()
        }

        fn queue(&self) -> Result<Option<Box<dyn Backend>>> {
            Ok(None)
        }

        fn memory_id(&self) -> Option<usize> {
            None
        }

        fn copy(
            &self,
            target: &mut Buffer,
            to: u64,
            source: &Buffer,
            from: u64,
            bytes: u64,
        ) -> Result<()> {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            let source = $crate::backend::host::bytes(source)?;
            self.upload(target, to, $crate::backend::host::part(source, from, bytes)?)
        }

        fn synchronize(&self) -> Result<()> {
            Ok(())
        }

        fn trim(&self) -> Result<()> {
            $crate::backend::host::trim();
            Ok(())
        }
    };
}
pub(crate) use host_memory_methods;

fn outside(offset: u64, len: usize, bytes: usize) -> Error {
    Error::Driver(format!("{len} bytes at {offset} are outside a buffer of {bytes} bytes"))
}

/// Returns `len` bytes starting at `offset`.
pub(crate) fn part(bytes: &[u8], offset: u64, len: usize) -> Result<&[u8]> {
    let error = outside(offset, len, bytes.len());
    usize::try_from(offset)
        .ok()
        .and_then(|start| bytes.get(start..start.checked_add(len)?))
        .ok_or(error)
}

/// Returns `len` mutable bytes starting at `offset`.
pub(crate) fn part_mut(bytes: &mut [u8], offset: u64, len: usize) -> Result<&mut [u8]> {
    let error = outside(offset, len, bytes.len());
    usize::try_from(offset)
        .ok()
        .and_then(|start| bytes.get_mut(start..start.checked_add(len)?))
        .ok_or(error)
}

/// Allocates memory, and tries again without kept memory of dropped buffers where that fails.
fn with_all_memory<R, E>(
    mut allocate: impl FnMut() -> std::result::Result<R, E>,
) -> std::result::Result<R, E> {
    allocate().or_else(|_| {
        freed::clear();
        allocate()
    })
}

/// An empty vector with room for `len` values, or [`OutOfMemory`](Error::OutOfMemory).
pub(crate) fn reserved_vec<D>(len: usize) -> Result<Vec<D>> {
    let bytes = (len as u64).saturating_mul(size_of::<D>() as u64);
    let mut values = Vec::new();
    with_all_memory(|| values.try_reserve_exact(len)).map_err(|_| Error::OutOfMemory { bytes })?;
    Ok(values)
}

/// Collects the items of an iterator.
pub(crate) fn collected<V>(values: impl IntoIterator<Item = V>) -> Result<Vec<V>> {
    let mut values = values.into_iter();
    let (least, _) = values.size_hint();
    let mut items = reserved_vec(least)?;
    // These have room: no check of each.
    items.extend(values.by_ref().take(least));
    for value in values {
        push(&mut items, value)?;
    }
    Ok(items)
}

/// Appends a value, or returns [`OutOfMemory`](Error::OutOfMemory).
pub(crate) fn push<V>(items: &mut Vec<V>, value: V) -> Result<()> {
    if items.len() == items.capacity() {
        let bytes = (items.len() as u64).saturating_mul(2 * size_of::<V>() as u64);
        with_all_memory(|| items.try_reserve(1)).map_err(|_| Error::OutOfMemory { bytes })?;
    }
    items.push(value);
    Ok(())
}

/// Checks that the allocator has room for `count` integers of `row_bytes` each.
///
/// An integer allocates by itself and cannot report a failure, which would end the process. The
/// memory is free again when this returns: another thread may take it.
pub(crate) fn check_room(count: usize, row_bytes: usize) -> Result<()> {
    /// Bytes that an allocator adds to each allocation, at most.
    const OVERHEAD: usize = 32;
    /// Room that remains for small allocations, of other threads, too.
    const REST: usize = 1 << 16;
    let bytes = count.saturating_mul(row_bytes.saturating_add(OVERHEAD));
    reserved_vec::<u8>(bytes.saturating_add(REST)).map(drop)
}

/// Allocates `len` zeros, or fails with [`OutOfMemory`](Error::OutOfMemory).
pub(crate) fn zeroed_vec<D: bytemuck::Zeroable>(len: usize) -> Result<Vec<D>> {
    let bytes = (len as u64).saturating_mul(size_of::<D>() as u64);
    let made = with_all_memory(|| bytemuck::allocation::try_zeroed_vec(len));
    made.map_err(|()| Error::OutOfMemory { bytes })
}

/// As [`zeroed_vec`], in large pages where the system has them: for results of many megabytes that
/// are written at once.
pub(crate) fn zeroed_pages<D: bytemuck::Pod + Send>(len: usize) -> Result<Vec<D>> {
    let mut values = zeroed_vec(len)?;
    pages::touch(&mut values, D::zeroed);
    Ok(values)
}

/// As [`reserved_vec`], in large pages where the system has them.
pub(crate) fn reserved_pages<D: Send>(len: usize) -> Result<Vec<D>> {
    let mut values = reserved_vec(len)?;
    pages::touch(values.spare_capacity_mut(), MaybeUninit::zeroed);
    Ok(values)
}

/// The integer in a row.
pub(crate) fn read_integer(row: &[u8]) -> BigUint {
    // Rows of 16-bit digits need not be whole 32-bit words.
    match bytemuck::try_cast_slice(row) {
        Ok(words) => BigUint::from_slice(words),
        Err(_) => BigUint::from_bytes_le(row),
    }
}

/// Writes an integer to a row, without the bits that do not fit.
pub(crate) fn write_integer(value: &BigUint, row: &mut [u8]) {
    let mut words = value.iter_u64_digits();
    let (whole, rest) = row.as_chunks_mut::<8>();
    for part in whole {
        *part = words.next().unwrap_or(0).to_le_bytes();
    }
    let word = words.next().unwrap_or(0).to_le_bytes();
    rest.copy_from_slice(&word[..rest.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_bytes_in_whole_units() {
        for (bytes, unit, most) in
            [(0, 8, 64), (1, 1, 64), (100, 96, 64), (3 * 64 + 96, 96, 128), (640, 64, 64)]
        {
            let mut end = 0;
            for (start, len) in parts(bytes, unit, most) {
                assert_eq!(start, end);
                assert!(len > 0 && len <= most.max(unit));
                assert!(len % unit == 0 || start + len == bytes);
                end += len;
            }
            assert_eq!(end, bytes);
        }
    }

    #[test]
    fn work_on_all_cores_keeps_its_place() {
        for rows in [0, 3, 4000, 40_009] {
            let mut bytes = vec![0; rows * 12];
            write_rows(&mut bytes, 12, |row, bytes| {
                bytes[..8].copy_from_slice(&(row as u64 * 7919).to_le_bytes());
            });
            let mut copy = vec![1; bytes.len()];
            copy_bytes(&bytes, &mut copy);
            let mut values = Vec::new();
            read_rows(&copy, 12, read_integer, &mut values);
            assert_eq!(values.len(), rows);
            for (row, value) in values.iter().enumerate() {
                assert_eq!(*value, BigUint::from(row as u64 * 7919));
            }
        }
    }

    #[test]
    fn dropped_memory_is_that_of_the_next_buffer_of_the_size() {
        // No other test has buffers of this size.
        const BYTES: u64 = (77 << 20) + 48;
        let _used = HostMemory::zeroed(4 * BYTES).unwrap();
        let is_kept = (0..100).any(|_| {
            freed::clear();
            let first = HostMemory::unspecified(BYTES).unwrap();
            let address = first.as_bytes().as_ptr();
            drop(first);
            // Memory of the allocator while the freed memory is kept.
            let between = HostMemory::zeroed(BYTES).unwrap();
            let next = HostMemory::unspecified(BYTES - 32).unwrap();
            assert_eq!(next.as_bytes().len() as u64, BYTES - 32);
            between.as_bytes().as_ptr() != address && next.as_bytes().as_ptr() == address
        });
        assert!(is_kept);
    }

    #[test]
    fn integers_fill_rows_of_any_length() {
        let value = BigUint::from_bytes_le(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        for len in 0..=24 {
            let mut row = vec![0xff; len];
            write_integer(&value, &mut row);
            let expected: Vec<u8> = (1..=11).chain([0; 20]).take(len).collect();
            assert_eq!(row, expected);
        }
    }
}
