//! Calls that end early on request.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_void;

/// A function of the caller, and its argument.
type Hook = (unsafe extern "C" fn(*mut c_void) -> bool, *mut c_void);

thread_local! {
    static HOOK: Cell<Option<Hook>> = const { Cell::new(None) };
}

/// Installs a function that ends long calls of this thread; NULL removes it.
///
/// This thread calls `should_stop(data)` about every 20 ms during a long call. After it returns
/// true, the call fails with GPUINT_STATUS_INTERRUPTED and its results are lost. Operands and
/// devices can be used again. `should_stop` may read a flag that a handler of a signal sets.
///
/// # Safety
/// `should_stop(data)` may be called by this thread until another function is installed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpuint_set_interrupt(
    should_stop: Option<unsafe extern "C" fn(data: *mut c_void) -> bool>,
    data: *mut c_void,
) {
    HOOK.set(should_stop.map(|should_stop| (should_stop, data)));
}

/// Runs the body of a call, which the function of this thread may end.
pub(crate) fn interruptible<R>(body: impl FnOnce() -> R) -> R {
    let Some((should_stop, data)) = HOOK.get() else { return body() };
    // SAFETY: the caller of `gpuint_set_interrupt` permits it.
    let should_stop = move || unsafe { should_stop(data) };
    gpuint::interruptible(should_stop, body)
}
