//! The program on a host where no thread can start, or without memory.

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

/// The C library may abort by itself, which no program can prevent: it starts a thread and has no
/// memory for its local data.
#[cfg(target_os = "linux")]
#[test]
fn program_without_memory_ends_with_a_message() {
    use std::os::unix::process::ExitStatusExt;
    let folder = tempfile::tempdir().unwrap();
    let [input, output] = ["in.txt", "out.txt"].map(|name| folder.path().join(name));
    let dividend = "123456789".repeat(60);
    let rows: String = (0..20_000).map(|row| format!("{dividend}{row} {}\n", row + 7)).collect();
    std::fs::write(&input, rows).unwrap();
    let mut failed = 0;
    for kilobytes in [100_000, 200_000, 300_000, 4_000_000] {
        for threads in ["1", "8", "16"] {
            let job = Command::new("sh")
                .args(["-c", "ulimit -c 0; ulimit -v \"$0\"; exec \"$@\""])
                .args([&kilobytes.to_string(), env!("CARGO_BIN_EXE_gpuint")])
                .args(["divide", "--backend", "cpu", "--output"])
                .args([&output, &input])
                .env("RAYON_NUM_THREADS", threads)
                .output()
                .unwrap();
            let words = String::from_utf8_lossy(&job.stderr);
            let case = format!("{kilobytes} KiB, {threads} threads: {} {words}", job.status);
            match job.status.code() {
                Some(0) => {
                    assert_eq!(std::fs::read_to_string(&output).unwrap().lines().count(), 20_000);
                }
                Some(2) => assert!(!words.is_empty(), "{case}"),
                _ => {
                    assert!(job.status.signal().is_some(), "{case}");
                    assert!(words.contains("Fatal glibc error"), "{case}");
                }
            }
            failed += u32::from(job.status.code() != Some(0));
            assert!(kilobytes < 4_000_000 || job.status.success(), "{case}");
        }
    }
    assert!(failed > 0, "memory sufficed");
}
