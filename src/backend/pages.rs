//! Large pages for new memory of the host.
//!
//! The system clears a page at the first write to it. With pages of 4 KiB this takes most of the
//! time of a copy to new memory. Large pages are few, but threads that write to the same one at
//! first each clear all of it: a page is touched by one thread, before any other writes.
#![allow(unsafe_code)]

use rayon::prelude::*;

use crate::threads;

/// Bytes of a large page.
const LARGE: usize = 2 << 20;
/// Minimum number of bytes that have large pages.
const MIN_BYTES: usize = 16 * LARGE;

/// Requests large pages for new memory, and makes them by all threads: each writes a value of
/// `zero` to a page. Nothing has written to the memory.
pub(super) fn touch<V: Send>(values: &mut [V], zero: impl Fn() -> V + Sync) {
    if size_of_val(values) < MIN_BYTES || !are_requested(values) {
        return;
    }
    // No two parts begin in the same page.
    let parts = values.par_chunks_mut(LARGE.div_ceil(size_of::<V>()));
    threads::install(|| parts.for_each(|part| part[0] = zero()));
}

/// Requests large pages; returns true if the system may provide them.
#[cfg(target_os = "linux")]
fn are_requested<V>(values: &mut [V]) -> bool {
    use rustix::mm::{Advice, madvise};
    let start = values.as_mut_ptr().cast::<u8>();
    let unused = start.align_offset(LARGE);
    let bytes = size_of_val(values).saturating_sub(unused) / LARGE * LARGE;
    let start = start.wrapping_add(unused).cast();
    // SAFETY: the advice keeps the contents of the memory, which is a part of `values`.
    unsafe { madvise(start, bytes, Advice::LinuxHugepage) }.is_ok()
}

#[cfg(not(target_os = "linux"))]
fn are_requested<V>(_values: &mut [V]) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::backend::host::zeroed_pages;

    /// Returns true if the mapping of an address has the advice, by the flags of `smaps`.
    fn is_advised(bytes: &[u8]) -> bool {
        let address = bytes[bytes.len() / 2..].as_ptr() as usize;
        let maps = fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_inside = false;
        for line in maps.lines() {
            let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
            if let Some((first, end)) = range {
                let bound = |text| usize::from_str_radix(text, 16);
                if let (Ok(first), Ok(end)) = (bound(first), bound(end)) {
                    is_inside = (first..end).contains(&address);
                }
            } else if is_inside && line.starts_with("VmFlags:") {
                return line.split_whitespace().any(|flag| flag == "hg");
            }
        }
        false
    }

    #[test]
    fn large_memory_has_large_pages() {
        if !Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            return gpuint_skip::skip("huge pages", "the kernel has none");
        }
        let bytes: Vec<u8> = zeroed_pages(2 * MIN_BYTES).unwrap();
        assert!(is_advised(&bytes));
        assert!(bytes.iter().all(|&byte| byte == 0));
    }
}
