//! Memory of the host, as the cpu and simt backends use it.

use bytemuck::allocation::try_zeroed_slice_box;
use num_bigint::BigUint;

use crate::backend::{Buffer, Memory};
use crate::error::{Error, Result};

/// 16 bytes at a 16-byte boundary: the widest load of a kernel.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(16))]
struct Block([u64; 2]);

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
    /// So many zeros.
    pub(crate) fn zeroed(bytes: u64) -> Result<Self> {
        let out_of_memory = Error::OutOfMemory { bytes };
        let Ok(bytes) = usize::try_from(bytes) else { return Err(out_of_memory) };
        let blocks =
            try_zeroed_slice_box(bytes.div_ceil(size_of::<Block>())).map_err(|()| out_of_memory)?;
        Ok(Self { blocks, bytes })
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.blocks)[..self.bytes]
    }

    pub(crate) fn as_bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.blocks)[..self.bytes]
    }
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
            self.alloc_zeroed(bytes)
        }

        fn alloc_zeroed(&self, bytes: u64) -> Result<Buffer> {
            Ok(Buffer::new($crate::backend::host::HostMemory::zeroed(bytes)?))
        }

        fn fill(&self, target: &mut Buffer, byte: u8) -> Result<()> {
            $crate::backend::host::bytes_mut(target)?.fill(byte);
            Ok(())
        }

        fn upload(&self, target: &mut Buffer, offset: u64, source: &[u8]) -> Result<()> {
            let target = $crate::backend::host::bytes_mut(target)?;
            $crate::backend::host::part_mut(target, offset, source.len())?.copy_from_slice(source);
            Ok(())
        }

        fn download(&self, source: &Buffer, offset: u64, target: &mut [u8]) -> Result<()> {
            let source = $crate::backend::host::bytes(source)?;
            target.copy_from_slice($crate::backend::host::part(source, offset, target.len())?);
            Ok(())
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
    };
}
pub(crate) use host_memory_methods;

fn outside(offset: u64, len: usize, bytes: usize) -> Error {
    Error::Driver(format!("{len} bytes at {offset} are outside a buffer of {bytes} bytes"))
}

/// So many bytes from an offset on.
pub(crate) fn part(bytes: &[u8], offset: u64, len: usize) -> Result<&[u8]> {
    let error = outside(offset, len, bytes.len());
    usize::try_from(offset)
        .ok()
        .and_then(|start| bytes.get(start..start.checked_add(len)?))
        .ok_or(error)
}

/// So many bytes from an offset on.
pub(crate) fn part_mut(bytes: &mut [u8], offset: u64, len: usize) -> Result<&mut [u8]> {
    let error = outside(offset, len, bytes.len());
    usize::try_from(offset)
        .ok()
        .and_then(|start| bytes.get_mut(start..start.checked_add(len)?))
        .ok_or(error)
}

/// An empty vector with room for `len` values, or [`OutOfMemory`](Error::OutOfMemory).
pub(crate) fn reserved_vec<D>(len: usize) -> Result<Vec<D>> {
    let bytes = (len as u64).saturating_mul(size_of::<D>() as u64);
    let mut values = Vec::new();
    values.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes })?;
    Ok(values)
}

/// Checks that the allocator has room for `count` integers of `row_bytes` each.
///
/// An integer allocates by itself and cannot report a failure, which would end the process. The
/// memory is free again when this returns: another thread may take it.
pub(crate) fn check_room(count: usize, row_bytes: usize) -> Result<()> {
    /// Bytes that an allocator adds to each allocation, at most.
    const OVERHEAD: usize = 32;
    reserved_vec::<u8>(count.saturating_mul(row_bytes.saturating_add(OVERHEAD))).map(drop)
}

/// So many zeros, or [`OutOfMemory`](Error::OutOfMemory).
pub(crate) fn zeroed_vec<D: bytemuck::Zeroable>(len: usize) -> Result<Vec<D>> {
    let bytes = (len as u64).saturating_mul(size_of::<D>() as u64);
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| Error::OutOfMemory { bytes })
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
    for part in row.chunks_mut(8) {
        let word = words.next().unwrap_or(0).to_le_bytes();
        part.copy_from_slice(&word[..part.len()]);
    }
}
