//! Work in a child made by `fork`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rustix::process::{Pid, WaitOptions, waitpid};

/// Runs `work` in a fork of this process, which must do it without a panic within a minute.
pub(crate) fn in_child(work: impl FnOnce()) {
    // SAFETY: the child does what is tested, and ends without the destructors of its parent.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // The signal ends a child that hangs.
        // SAFETY: the function has no preconditions.
        unsafe { libc::alarm(60) };
        let is_done = catch_unwind(AssertUnwindSafe(work)).is_ok();
        // SAFETY: the function has no preconditions.
        unsafe { libc::_exit(i32::from(!is_done)) };
    }
    let (_, status) = waitpid(Pid::from_raw(child), WaitOptions::empty()).unwrap().unwrap();
    assert_eq!(status.exit_status(), Some(0), "the child failed or hung: {status:?}");
}
