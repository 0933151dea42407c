//! `gpuint divide --mpi` under `mpirun`.
#![cfg(feature = "mpi")]

use std::fmt::Write;
use std::fs;
use std::process::{Command, Output};

use num_bigint::BigUint;

/// Runs the program on as many ranks of each backend.
fn divide(backends: &[(&str, usize)], arguments: &[&str]) -> Output {
    command(backends, arguments).output().unwrap()
}

fn command(backends: &[(&str, usize)], arguments: &[&str]) -> Command {
    let mut mpirun = Command::new("mpirun");
    mpirun.args(["--oversubscribe", "--bind-to", "none"]);
    for (backend, ranks) in backends {
        mpirun
            .args(["-n", &ranks.to_string(), env!("CARGO_BIN_EXE_gpuint"), "divide", "--mpi"])
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
    let mut run = command(&[("cpu", 1), ("simt", 1)], &arguments);
    let run = run.env("CXX", "/absent/c++").output().unwrap();
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert!(stderr.contains("warning: others divided rows of rank 1: "), "{stderr}");
    assert!(stderr.contains("8 verified, 0 rejected"), "{stderr}");
    let expected = format!("{:#x} {:#x}\n0x3 0x1\n", &u / 7u32, &u % 7u32).repeat(4);
    assert!(fs::read_to_string(&output).unwrap() == expected);
}
