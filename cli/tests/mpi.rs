//! `gpuint divide --mpi` and `gpuint prp --mpi` under `mpirun`.
#![cfg(feature = "mpi")]

use std::fmt::Write;
use std::fs;
use std::process::{Command, Output};

use num_bigint::BigUint;

/// Divides on as many ranks of each backend.
fn divide(backends: &[(&str, usize)], arguments: &[&str]) -> Output {
    command("divide", backends, arguments).output().unwrap()
}

/// Runs a job of the program on as many ranks of each backend.
fn command(job: &str, backends: &[(&str, usize)], arguments: &[&str]) -> Command {
    let mut mpirun = Command::new("mpirun");
    mpirun.args(["--oversubscribe", "--bind-to", "none"]);
    for (backend, ranks) in backends {
        mpirun
            .args(["-n", &ranks.to_string(), env!("CARGO_BIN_EXE_gpuint"), job, "--mpi"])
            .args(["--backend", backend])
            .args(arguments)
            .arg(":");
    }
    mpirun.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    mpirun
}

#[test]
fn ranks_divide_a_file_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (input, output) = (path("rows.txt"), path("results.txt"));
    let (mut rows, mut expected) = (String::new(), String::new());
    for row in 1..=1000u32 {
        let u = BigUint::from(row).pow(row % 90 + 1);
        let v = BigUint::from(row).pow(row % 40) + row;
        writeln!(rows, "{u} {v}").unwrap();
        writeln!(expected, "{} {}", &u / &v, &u % &v).unwrap();
    }
    rows.push_str("7 0\n");
    fs::write(&input, rows).unwrap();
    for (ranks, chunk_rows) in [(1, "5000"), (4, "5000"), (4, "7")] {
        let run = divide(
            &[("cpu", ranks)],
            &[&input, "--output", &output, "--verify", "--chunk-rows", chunk_rows],
        );
        let stderr = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(&format!("{ranks} ranks, the first on cpu")), "{stderr}");
        assert!(stderr.contains("1000 verified, 1 rejected"), "{stderr}");
        let lines = fs::read_to_string(&output).unwrap();
        let last = lines.lines().last().unwrap();
        assert!(last.starts_with("error: line 1001: "), "{last}");
        assert_eq!(lines.lines().count(), 1001);
        assert!(lines.lines().zip(expected.lines()).take(1000).all(|(line, row)| line == row));
    }
}

#[test]
fn other_ranks_end_where_rank_0_fails() {
    let run = divide(&[("cpu", 4)], &["/absent/rows.txt"]);
    assert_eq!(run.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert_eq!(stderr.matches("cannot open /absent/rows.txt").count(), 1, "{stderr}");
}

#[cfg(feature = "simt")]
#[test]
fn rows_of_a_rank_without_kernels_are_divided_by_rank_0() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (input, output) = (path("rows.txt"), path("results.txt"));
    let u = (BigUint::from(1u32) << 65_536) - 1u32;
    fs::write(&input, format!("{u:#x} 0x7\n7 2\n").repeat(4)).unwrap();
    let arguments = [&input, "--output", &output, "--verify", "--hex"];
    // The shim has no kernels without a compiler.
    let mut run = command("divide", &[("cpu", 1), ("simt", 1)], &arguments);
    let run = run.env("CXX", "/absent/c++").output().unwrap();
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert!(stderr.contains("warning: others divided rows of rank 1: "), "{stderr}");
    assert!(stderr.contains("8 verified, 0 rejected"), "{stderr}");
    let expected = format!("{:#x} {:#x}\n0x3 0x1\n", &u / 7u32, &u % 7u32).repeat(4);
    assert!(fs::read_to_string(&output).unwrap() == expected);
}

/// Twins of several widths, and a line that gives no candidate.
fn candidates() -> String {
    let mut text = "ABC $a*2^$b+1 & $a*2^$b-1\n".to_owned();
    for k in 1..400 {
        writeln!(text, "{k} {}", 60 + 17 * (k % 40)).unwrap();
    }
    text + "3\n5 2\n"
}

#[test]
fn ranks_test_a_file_of_candidates_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (input, output) = (path("candidates.txt"), path("results.txt"));
    fs::write(&input, candidates()).unwrap();
    let alone = Command::new(env!("CARGO_BIN_EXE_gpuint"))
        .args(["prp", &input, "--backend", "cpu", "--sieve", "0"])
        .output()
        .unwrap();
    let expected = String::from_utf8(alone.stdout).unwrap();
    assert_eq!(expected.lines().count(), 2 * 399 + 1 + 2);
    assert!(expected.contains(" (BPSW)") && expected.contains(" is composite: RES64: ["));
    let arguments = [&input[..], "--output", &output, "--sieve", "0"];
    for (ranks, more) in [(1, &[][..]), (4, &["--verify", "100%"]), (4, &["--batch-rows", "7"])] {
        let _ = fs::remove_file(&output);
        let arguments = [&arguments[..], more].concat();
        let run = command("prp", &[("cpu", ranks)], &arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(&format!("{ranks} ranks, the first on cpu")), "{stderr}");
        let text = fs::read_to_string(&output).unwrap();
        assert!(text.split_once('\n').unwrap().1 == expected, "{ranks} {more:?}");
    }
    // A job of one process goes on with ranks.
    let whole = fs::read(&output).unwrap();
    fs::write(&output, &whole[..whole.len() / 2]).unwrap();
    let again = [&arguments[..], &["--resume"]].concat();
    let run = command("prp", &[("cpu", 3)], &again).output().unwrap();
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert!(stderr.contains("resuming after "), "{stderr}");
    assert!(fs::read(&output).unwrap() == whole);
}

#[cfg(feature = "simt")]
#[test]
fn candidates_of_a_rank_without_kernels_are_tested_by_rank_0() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("candidates.txt").display().to_string();
    fs::write(&input, "2^521-1\n2^521+1\n2^127-1\n2^607-1\n").unwrap();
    // The shim has no kernels without a compiler.
    let arguments = [&input[..], "--sieve", "0", "--verify", "100%"];
    let mut run = command("prp", &[("cpu", 1), ("simt", 1)], &arguments);
    let run = run.env("CXX", "/absent/c++").output().unwrap();
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("warning: others tested candidates of rank 1: "), "{stderr}");
    let lines = String::from_utf8(run.stdout).unwrap();
    assert_eq!(lines.matches(" is 3-PRP! (BPSW)\n").count(), 3, "{lines}");
}
