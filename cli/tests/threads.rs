//! The program on a host where no thread can start.

use std::io::Write;
use std::process::{Command, Stdio};

/// Runs the program on an input, with a stack for each thread that no host has.
fn output(arguments: &[&str], input: &str) -> (String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_gpuint"))
        .args(arguments)
        .env("RUST_MIN_STACK", "100000000000000")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    (stdout, stderr)
}

#[test]
fn program_divides_without_threads() {
    let rows = 5000;
    let input: String = (0..rows).map(|row| format!("{} 7\n", 7 * row + 3)).collect();
    let expected: String = (0..rows).map(|row| format!("{row} 3\n")).collect();
    let (stdout, stderr) = output(&["divide", "--backend", "cpu", "--verify", "-"], &input);
    assert_eq!(stdout, expected);
    assert!(stderr.contains("1 thread"), "{stderr}");
    let (stdout, _) = output(&["info"], "");
    assert!(stdout.contains("1 thread"), "{stdout}");
}
