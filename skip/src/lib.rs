//! Tests that cannot run here: counted as skipped by `.ci/run`, or failed where `GPUINT_REQUIRE` asks
//! for what they need.

use std::fmt::Display;
use std::io::{Write, stderr};
use std::{env, thread};

/// Says that the running test is skipped for want of `what`: `nvcc`, `nvrtc`, `gpu`, ...
///
/// # Panics
/// If `GPUINT_REQUIRE`, a list with commas, has `what`.
pub fn skip(what: &str, reason: impl Display) {
    assert!(!is_required(what), "GPUINT_REQUIRE has {what}: {reason}");
    let thread = thread::current();
    // Past the test harness, which keeps what passing tests print to itself. A closed log is no
    // failure.
    let name = thread.name().unwrap_or_default();
    let _ = writeln!(stderr().lock(), "skipped: {name}: {reason}");
}

/// Returns true if `GPUINT_REQUIRE` has `what`: tests for want of `what` fail.
#[must_use]
pub fn is_required(what: &str) -> bool {
    let required = env::var_os("GPUINT_REQUIRE").unwrap_or_default();
    required.to_string_lossy().split(',').any(|name| name.trim() == what)
}
