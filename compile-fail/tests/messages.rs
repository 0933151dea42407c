//! Programs that must not compile, with the compiler's messages.
//!
//! Programs that must compile are tests (`pass.rs`): a passing case of trybuild would make it
//! generate code for all dependencies once more, and start cargo for each case.

use std::env;
use std::process::Command;

use gpuint_skip::skip;

/// The compilation inside the test needs neither kernels nor debugging, which take long to compile.
const VARIABLES: [(&str, &str); 2] = [("GPUINT_NVCC", "none"), ("CARGO_PROFILE_DEV_DEBUG", "0")];

#[test]
fn compile_errors_match_expected_text() {
    // The messages list the built shapes: those of the catalogue's default set.
    for variable in ["GPUINT_CATALOGUE", "GPUINT_SHAPES"] {
        if env::var_os(variable).is_some() {
            skip("cargo", format_args!("{variable} changes the list of shapes in the messages"));
            return;
        }
    }
    if VARIABLES.iter().any(|&(name, value)| env::var(name).as_deref() != Ok(value)) {
        let itself = env::current_exe().expect("a test has a path");
        let status = Command::new(itself).args(env::args_os().skip(1)).envs(VARIABLES).status();
        assert!(status.expect("a test can be started").success(), "see above");
        return;
    }
    let cases = trybuild::TestCases::new();
    for case in [
        "clone",
        "invalid_double",
        "invalid_jit",
        "mixed_shapes",
        "not_a_digit",
        "not_a_strategy",
        "unbuilt_declaration",
        "unbuilt_double",
        "unbuilt_generic",
        "unbuilt_width",
    ] {
        cases.compile_fail(format!("cases/{case}.rs"));
    }
}
