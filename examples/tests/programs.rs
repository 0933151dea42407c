//! The examples, run on the CPU.

use std::io::Read;
use std::process::{Command, Output, Stdio};

fn command(path: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(path);
    command.args(arguments).env_remove("GPUINT_LOG");
    command
}

fn run(path: &str, arguments: &[&str]) -> Output {
    command(path, arguments).output().unwrap()
}

/// Runs a program that must succeed, and returns its output and its log.
fn text(path: &str, arguments: &[&str]) -> (String, String) {
    let output = run(path, arguments);
    let [out, log] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success(), "{path} {arguments:?}: {log}");
    (out, log)
}

const PRIMALITY: &str = env!("CARGO_BIN_EXE_primality");

#[test]
fn tours_check_every_row() {
    for tour in [
        env!("CARGO_BIN_EXE_u16_digits"),
        env!("CARGO_BIN_EXE_u32_digits"),
        env!("CARGO_BIN_EXE_u64_digits"),
    ] {
        let (out, _) = text(tour, &["--rows", "9", "--backend", "cpu"]);
        assert_eq!(out.matches("9 rows right").count(), 7, "{out}");
    }
}

#[test]
fn examples_check_their_results() {
    let small = ["--rows", "300", "--backend", "cpu", "--part", "100"];
    text(env!("CARGO_BIN_EXE_overlap"), &small);
    text(env!("CARGO_BIN_EXE_several_gpus"), &["--rows", "200", "--devices", "cpu,cpu"]);
    let (out, _) = text(env!("CARGO_BIN_EXE_batch_gcd"), &[]);
    assert!(out.starts_with("2 of 3 moduli"), "{out}");
    let (out, _) = text(env!("CARGO_BIN_EXE_mersenne"), &[]);
    assert!(out.contains("521, 607"), "{out}");
    let (out, _) = text(env!("CARGO_BIN_EXE_election"), &["--rows", "4", "--backend", "cpu"]);
    assert!(out.contains("changed selections found: [0, 2, 3]"), "{out}");
}

/// Primes of many sizes, and composites that pass weaker tests.
#[test]
fn primes_of_a_file_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("candidates");
    let mersenne = |exponent: usize| {
        format!("0x{}{}", ["", "1", "3", "7"][exponent % 4], "f".repeat(exponent / 4))
    };
    let primes = ["2", "3", "5", "1999", "2003", "4294967311"].map(String::from);
    let primes: Vec<_> = primes.into_iter().chain([61, 127, 521, 1279].map(mersenne)).collect();
    // Products of primes, a Carmichael number, strong pseudoprimes, and 2^p - 1.
    let others = ["0", "1", "4", "9", "561", "1373653", "3215031751", "4006009", "2047"];
    let others = others.map(String::from).into_iter().chain([41, 523].map(mersenne));
    let lines: Vec<_> = primes.iter().cloned().chain(others).collect();
    std::fs::write(&file, lines.join("\n\n  ")).unwrap();
    let path = file.to_str().unwrap();
    for sieve in ["3", "3000"] {
        let (out, log) = text(PRIMALITY, &[path, "--backend", "cpu", "--sieve", sieve]);
        let found: Vec<_> = out.lines().map(parse).collect();
        let expected: Vec<_> = primes.iter().map(|prime| parse(prime)).collect();
        assert_eq!(found, expected, "{log}");
    }
    std::fs::write(&file, "7\n12x").unwrap();
    let output = run(PRIMALITY, &[path]);
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && log.contains("line 2: not a number"), "{log}");
    assert!(!run(PRIMALITY, &["no-such-file"]).status.success());
}

fn parse(text: &str) -> gpuint::num_bigint::BigUint {
    let hexadecimal = text.strip_prefix("0x").map(|digits| (digits, 16));
    let (digits, base) = hexadecimal.unwrap_or((text, 10));
    gpuint::num_bigint::BigUint::parse_bytes(digits.as_bytes(), base).unwrap()
}

#[test]
fn candidates_may_have_any_width() {
    for bits in ["2", "61", "1025", "2050"] {
        let (out, log) = text(PRIMALITY, &["--bits", bits, "--rows", "20", "--backend", "cpu"]);
        assert!(log.contains("are probable primes"), "{log}");
        let bits: u64 = bits.parse().unwrap();
        assert!(out.lines().all(|line| parse(line).bits() == bits), "{out}");
    }
}

#[test]
fn closed_pipe_ends_the_program_quietly() {
    let mut command = command(PRIMALITY, &["--bits", "16", "--rows", "20000", "--backend", "cpu"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(child.wait().unwrap().success() && !log.contains("panicked"), "{log}");
}

#[test]
fn log_has_the_spans_of_the_library() {
    let arguments = ["--bits", "64", "--rows", "3", "--backend", "cpu"];
    let log = |filter: &str| {
        let output = command(PRIMALITY, &arguments).env("GPUINT_LOG", filter).output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let (is_success, spans) = log("gpuint=trace");
    assert!(is_success && spans.contains("launch"), "{spans}");
    let (is_success, message) = log("gpuint=loud");
    assert!(!is_success && message.contains("GPUINT_LOG is not a filter"), "{message}");
}
