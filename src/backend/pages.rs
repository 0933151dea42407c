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
/// Minimum number of bytes for which large pages are requested.
const LEAST: usize = 16 * LARGE;

/// Requests large pages for new memory, and makes them by all threads. `bytes` are zeros that
/// nothing has read or written.
pub(super) fn touch(bytes: &mut [u8]) {
    if bytes.len() < LEAST {
        return;
    }
    let start = bytes.as_ptr().align_offset(LARGE);
    let whole = (bytes.len() - start) / LARGE * LARGE;
    let bytes = &mut bytes[start..start + whole];
    if are_requested(bytes) {
        threads::install(|| bytes.par_chunks_mut(LARGE).for_each(|page| page[0] = 0));
    }
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
