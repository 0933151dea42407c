//! Freed memory of the host, which later buffers get without a request to the system.
//!
//! The system clears a page at the first write to new memory. With pages of 4 KiB this takes more
//! time than an addition that writes its result there. The memory of dropped buffers is kept for
//! new ones: at most as many bytes as other buffers use, so that nothing is kept when all are
//! dropped, and at most [`MAX_BYTES`].

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Minimum number of bytes of memory that is kept. The allocator keeps smaller memory by itself.
const MIN_BYTES: usize = 1 << 20;
/// Maximum number of bytes that are kept.
const MAX_BYTES: usize = 1 << 30;

/// 16 bytes at a 16-byte boundary: the widest load of a kernel.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(16))]
pub(super) struct Block([u64; 2]);

/// Freed memory of all devices of the process.
static FREED: Mutex<Freed> = Mutex::new(Freed::EMPTY);
/// Bytes that buffers use, each of at least [`MIN_BYTES`].
static USED: AtomicUsize = AtomicUsize::new(0);

/// Parts of memory, in the order in which they were freed.
#[derive(Debug)]
struct Freed {
    parts: Vec<Box<[Block]>>,
    bytes: usize,
}

impl Freed {
    const EMPTY: Self = Self { parts: Vec::new(), bytes: 0 };

    /// Returns kept memory of `len` blocks or up to an eighth more.
    fn take(&mut self, len: usize) -> Option<Box<[Block]>> {
        let fits = |kept: usize| len <= kept && kept <= len + len / 8;
        let found = self.parts.iter().enumerate().filter(|(_, part)| fits(part.len()));
        let (index, _) = found.min_by_key(|(_, part)| part.len())?;
        let part = self.parts.remove(index);
        self.bytes -= size_of_val(&*part);
        Some(part)
    }

    /// Keeps memory, and frees what was kept first, so that at most `most` bytes are kept.
    fn put(&mut self, part: Box<[Block]>, most: usize) {
        if self.parts.try_reserve(1).is_err() {
            return;
        }
        self.bytes += size_of_val(&*part);
        self.parts.push(part);
        let mut end = 0;
        while self.bytes > most {
            self.bytes -= size_of_val(&*self.parts[end]);
            end += 1;
        }
        self.parts.drain(..end);
    }
}

/// Does `work` on the kept memory; `None` if another thread uses it. After a fork, that may be a
/// thread of the parent which does not exist in this process.
fn with<R>(work: impl FnOnce(&mut Freed) -> R) -> Option<R> {
    FREED.try_lock().ok().map(|mut freed| work(&mut freed))
}

/// Returns kept memory for a buffer of `len` blocks; `None` if there is none.
pub(super) fn take(len: usize) -> Option<Box<[Block]>> {
    if len < MIN_BYTES / size_of::<Block>() { None } else { with(|freed| freed.take(len))? }
}

/// Counts the memory of a new buffer.
pub(super) fn count(part: &[Block]) {
    if size_of_val(part) >= MIN_BYTES {
        USED.fetch_add(size_of_val(part), Ordering::Relaxed);
    }
}

/// Keeps the memory of a dropped buffer, or frees it.
pub(super) fn put(part: Box<[Block]>) {
    let bytes = size_of_val(&*part);
    if bytes >= MIN_BYTES {
        let used = USED.fetch_sub(bytes, Ordering::Relaxed) - bytes;
        let _ = with(|freed| freed.put(part, used.min(MAX_BYTES)));
    }
}

/// Returns all kept memory to the system.
pub(super) fn clear() {
    let _ = with(|freed| *freed = Freed::EMPTY);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn part(mebibytes: usize) -> Box<[Block]> {
        bytemuck::zeroed_slice_box(mebibytes * MIB / size_of::<Block>())
    }

    #[test]
    fn freed_memory_is_kept_for_its_size_up_to_the_bound() {
        let mut freed = Freed::EMPTY;
        freed.put(part(10), 20 * MIB);
        let len = part(10).len();
        assert!(freed.take(len + 1).is_none());
        assert!(freed.take(len / 2).is_none());
        let again = freed.take(len - len / 10).expect("memory that fits is kept");
        assert_eq!((again.len(), freed.bytes), (len, 0));

        freed.put(again, 20 * MIB);
        freed.put(part(11), 20 * MIB);
        assert_eq!((freed.parts.len(), freed.bytes), (1, 11 * MIB));
        assert!(freed.take(len).is_some());
        assert_eq!((freed.parts.len(), freed.bytes), (0, 0));
        freed.put(part(1), 0);
        assert_eq!((freed.parts.len(), freed.bytes), (0, 0));
    }
}
