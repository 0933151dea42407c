//! Skips tests whose requirements are missing: `.ci/run` counts them as skipped, and they fail if
//! `GPUINT_REQUIRE` lists the requirement.

use std::fmt::Display;
use std::io::{Write, stderr};
use std::{env, thread};

/// Reports that the running test is skipped for lack of `what`: `nvcc`, `nvrtc`, `gpu`, ...
///
/// # Panics
/// If `GPUINT_REQUIRE`, a comma-separated list, contains `what`.
pub fn skip(what: &str, reason: impl Display) {
    assert!(!is_required(what), "GPUINT_REQUIRE has {what}: {reason}");
    let thread = thread::current();
    // Written directly to standard error, since the test harness captures the output of passing
    // tests. A closed log is not a failure.
    let name = thread.name().unwrap_or_default();
    let _ = writeln!(stderr().lock(), "skipped: {name}: {reason}");
}

/// Returns true if `GPUINT_REQUIRE` contains `what`: tests that lack it then fail.
#[must_use]
pub fn is_required(what: &str) -> bool {
    let required = env::var_os("GPUINT_REQUIRE").unwrap_or_default();
    required.to_string_lossy().split(',').any(|name| name.trim() == what)
}
