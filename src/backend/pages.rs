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
const LEAST: usize = 2 * LARGE;
/// Minimum number of bytes whose pages are made by all threads.
const LEAST_TOUCHED: usize = 16 * LARGE;

/// Requests large pages for new memory, which are made at the first writes. `bytes` are zeros that
/// nothing has read or written.
pub(super) fn advise(bytes: &mut [u8]) {
    requested(bytes, LEAST);
}

/// Requests large pages for new memory, and makes them by all threads. `bytes` are zeros that
/// nothing has read or written.
pub(super) fn touch(bytes: &mut [u8]) {
    if let Some(bytes) = requested(bytes, LEAST_TOUCHED) {
        threads::install(|| bytes.par_chunks_mut(LARGE).for_each(|page| page[0] = 0));
    }
}

/// Requests large pages for memory of at least `least` bytes; returns the part that may have them.
fn requested(bytes: &mut [u8], least: usize) -> Option<&mut [u8]> {
    if bytes.len() < least {
        return None;
    }
    let start = bytes.as_ptr().align_offset(LARGE);
    let whole = bytes.len().saturating_sub(start) / LARGE * LARGE;
    let bytes = bytes.get_mut(start..start + whole)?;
    are_requested(bytes).then_some(bytes)
}

/// Requests large pages; returns true if the system may provide them.
#[cfg(target_os = "linux")]
fn are_requested(bytes: &mut [u8]) -> bool {
    use rustix::mm::{Advice, madvise};
    // SAFETY: the advice keeps the contents of the memory, which is borrowed mutably.
    unsafe { madvise(bytes.as_mut_ptr().cast(), bytes.len(), Advice::LinuxHugepage) }.is_ok()
}

#[cfg(not(target_os = "linux"))]
fn are_requested(_bytes: &mut [u8]) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::backend::host::{HostMemory, zeroed_pages};

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
        let memory = HostMemory::zeroed(3 * LEAST as u64).unwrap();
        let values: Vec<u8> = zeroed_pages(2 * LEAST_TOUCHED).unwrap();
        for bytes in [memory.as_bytes(), &values] {
            assert!(is_advised(bytes));
            assert!(bytes.iter().all(|&byte| byte == 0));
        }
    }
}
