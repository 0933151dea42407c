//! Memory of the program. Where the host has no more of it, the program ends with a message and the
//! status of errors: objects of the standard library and of other crates cannot report that they
//! were not made, and would abort.
//!
//! Results so far are in the files of the job, as after any other sudden end: `--resume` goes on.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The allocator of the system, of which no request fails.
struct Checked;

#[global_allocator]
static ALLOCATOR: Checked = Checked;

// SAFETY: the system's allocator does the work, and its results are returned unchanged.
unsafe impl GlobalAlloc for Checked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as required of the caller.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as required of the caller.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as required of the caller; the system's allocator made the memory.
        checked(unsafe { System.realloc(memory, layout, bytes) }, bytes)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as required of the caller; the system's allocator made the memory.
        unsafe { System.dealloc(memory, layout) }
    }
}

fn checked(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() {
        end(bytes);
    }
    memory
}

#[cold]
fn end(bytes: usize) -> ! {
    /// Time for the message of a thread that ends the program already.
    const PATIENCE: Duration = Duration::from_millis(100);
    static IS_ENDING: AtomicBool = AtomicBool::new(false);
    // Other threads run out of memory, too.
    if IS_ENDING.swap(true, Ordering::Relaxed) {
        thread::sleep(PATIENCE);
        exit();
    }
    // The message needs no memory, and is written at once.
    let mut message = io::Cursor::new([0; 96]);
    let _ = writeln!(message, "gpuint: out of memory: an object of {bytes} bytes does not fit");
    let length = message.position() as usize;
    let _ = io::stderr().write_all(&message.get_ref()[..length]);
    exit()
}

/// Ends the program without handlers that may need memory, and enter [`end`] within an exit, which
/// [`std::process::exit`] answers by an abort.
fn exit() -> ! {
    // SAFETY: the function has no condition.
    unsafe { libc::_exit(2) }
}
