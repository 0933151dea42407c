//! `gpuint bench --peers` with the libraries of this machine, and with drivers that break their
//! word.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use gpuint_testkit::skip::skip;

/// The operations that the program compares, by its help.
fn operations() -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpuint"));
    let help = command.args(["bench", "--help"]).output().unwrap().stdout;
    let help = String::from_utf8(help).unwrap();
    let (_, of_operations) = help.split_once("--operations ").unwrap();
    let (_, values) = of_operations.split_once("[possible values: ").unwrap();
    let (values, _) = values.split_once(']').unwrap();
    values.split(',').map(|name| name.trim().to_owned()).collect()
}

/// Runs a comparison with the C compiler `compiler`. Returns the output and its text.
fn compare(compiler: Option<&str>, operations: &str, rows: &str) -> (Output, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpuint"));
    command.args(["bench", "--peers", "--bits", "1024", "--seconds", "1"]);
    command.args(["--operations", operations, "--rows", rows]);
    // Other tests run beside these, and waiting threads of OpenMP would take their time.
    command.env("OMP_WAIT_POLICY", "passive").env_remove("CC");
    command.envs(compiler.map(|compiler| ("CC", compiler)));
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    (output, text)
}

#[test]
fn results_of_the_libraries_of_this_machine_are_equal() {
    let all = operations();
    assert!(all.len() >= 13, "{all:?}");
    // Odd: OpenSSL computes two powers at once.
    let (output, text) = compare(None, &all.join(","), "17");
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
    // The curve has 1, 16 and 17 rows.
    let lines = |program: &str| text.lines().filter(|line| line.contains(program)).count();
    assert_eq!(lines("  gpuint "), 3 * all.len(), "{text}");
    for (library, operations) in [("GMP", all.len()), ("FLINT", 8), ("OpenSSL", 1)] {
        match text.lines().find(|line| line.starts_with(&format!("{library}: left out: "))) {
            Some(reason) => skip(library, reason),
            None => assert_eq!(lines(&format!("  {library} ")), 3 * operations, "{text}"),
        }
    }
}

/// Compares one sum of 1024 bits with a driver that prints `answer` and writes `bytes` zeros as
/// results. Returns the words of the failed comparison.
fn compare_with_zeros(bytes: usize, answer: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let compiler = folder.path().join("cc");
    let text = format!(
        r#"#!/bin/sh
while [ "$1" != -o ]; do shift; done
cat > "$2" <<'DRIVER'
#!/bin/sh
head -c {bytes} /dev/zero > "$6"
echo '{answer}'
DRIVER
chmod +x "$2"
"#
    );
    fs::write(&compiler, text).unwrap();
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o700)).unwrap();
    let (output, text) = compare(compiler.to_str(), "add", "1");
    assert_eq!(output.status.code(), Some(2), "{text}");
    text + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn wrong_result_of_a_peer_is_an_error() {
    let answer = r#"{"name": "liar", "rows": 1, "host_seconds": 1}"#;
    let words = compare_with_zeros(128, answer);
    assert!(words.contains("  liar\n"), "{words}");
    assert!(words.contains("results differ: add, 1024 bits: row 0 of liar"), "{words}");
}

#[test]
fn missing_results_of_a_peer_are_an_error() {
    for (bytes, rows) in [(64, 1), (0, 0), (256, 2)] {
        let answer = format!(r#"{{"name": "liar", "rows": {rows}, "host_seconds": 1}}"#);
        let words = compare_with_zeros(bytes, &answer);
        let expected = format!("driver of GMP: {bytes} bytes of results for {rows} rows");
        assert!(words.contains(&expected), "{words}");
    }
}

#[test]
fn absent_compiler_leaves_the_peers_out() {
    let (output, text) = compare(Some("/absent/cc"), "add", "1");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for library in ["GMP", "FLINT", "OpenSSL"] {
        let line = format!("{library}: left out: cannot run /absent/cc: ");
        assert!(text.contains(&line), "{text}");
    }
    assert!(text.contains("  gpuint "), "{text}");
}
