//! Tests in processes of their own.

use std::ffi::OsStr;
use std::process::Command;
use std::{env, thread};

/// Set in the process of a test that runs alone.
const VARIABLE: &str = "GPUINT_TEST_ALONE";
/// Lines of the output that are shown.
const SHOWN: usize = 40;

/// Runs the test of this thread in a separate process, with these environment variables.
///
/// # Panics
/// If it fails there, with the last lines of its output.
pub fn alone(variables: &[(&str, &OsStr)], test: impl FnOnce()) {
    if env::var_os(VARIABLE).is_some() {
        return test();
    }
    let output = Command::new(env::current_exe().expect("the path of the test"))
        .args(["--exact", thread::current().name().expect("the name of the test")])
        .args(["--nocapture", "--test-threads=1"])
        .env(VARIABLE, "1")
        .envs(variables.iter().copied())
        .output()
        .expect("the process of the test");
    let words = [output.stdout, output.stderr].concat();
    let words = String::from_utf8_lossy(&words);
    let lines: Vec<_> = words.lines().collect();
    let last = lines[lines.len().saturating_sub(SHOWN)..].join("\n");
    assert!(output.status.success() && words.contains("1 passed"), "{last}");
    println!("{last}");
}
