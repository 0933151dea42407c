//! Tells whether standard output was closed when the process started (`gpuint divide >&-`).
//!
//! Rust's runtime opens /dev/null in the place of a closed standard stream, so that results would
//! be lost without an error. The state is recorded before the runtime starts.

#[cfg(unix)]
mod recorded {
    use std::sync::atomic::{AtomicBool, Ordering};

    static IS_CLOSED: AtomicBool = AtomicBool::new(false);

    ctor::declarative::ctor! {
        /// Makes one system call, which needs no part of the runtime.
        #[ctor(unsafe)]
        fn record() {
            let flags = rustix::io::fcntl_getfd(rustix::stdio::stdout());
            IS_CLOSED.store(flags == Err(rustix::io::Errno::BADF), Ordering::Relaxed);
        }
    }

    pub(crate) fn is_closed() -> bool {
        IS_CLOSED.load(Ordering::Relaxed)
    }
}

#[cfg(unix)]
pub(crate) use recorded::is_closed;

/// Elsewhere a write to a closed standard output fails.
#[cfg(not(unix))]
pub(crate) fn is_closed() -> bool {
    false
}
