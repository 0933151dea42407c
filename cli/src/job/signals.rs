//! Signals, which end jobs in order, and standard input, for which a job waits until a signal.

use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use super::awaited::Awaited;
use super::status::STOPPED;

/// Set by the first signal that asks the process to end.
pub static STOP: AtomicBool = AtomicBool::new(false);

/// Sets [`STOP`] at the first signal that asks the process to end, and says what the job `name`
/// does until then; ends the process at the second signal.
pub fn watch(name: &'static str, until_then: &'static str) {
    let handler = move || {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(STOPPED.into());
        }
        // Standard error may be closed.
        let _ = writeln!(io::stderr(), "{name}: {until_then}; again to stop at once");
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        let _ = writeln!(io::stderr(), "{name}: signals are not handled: {error}");
    }
}

/// Returns standard input. On Unix a read fails soon after [`STOP`] is set.
pub fn stdin() -> io::Result<Awaited<'static>> {
    #[cfg(unix)]
    let stdin = std::os::fd::AsFd::as_fd(&io::stdin()).try_clone_to_owned();
    #[cfg(windows)]
    let stdin = std::os::windows::io::AsHandle::as_handle(&io::stdin()).try_clone_to_owned();
    Ok(Awaited::new(File::from(stdin?), &STOP))
}
