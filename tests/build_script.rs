//! What the build script says to cargo and to the user; it compiles nothing here.
#![cfg(unix)]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use gpuint_testkit::skip::skip;

/// The newest build script of this package beside its output; `None` where the test was carried away
/// from it.
fn build_script() -> Option<PathBuf> {
    let builds = Path::new(env!("OUT_DIR")).parent()?.parent()?;
    let scripts = fs::read_dir(builds).into_iter().flatten().flatten().filter_map(|entry| {
        let name = entry.file_name();
        let own = name.to_str()?.strip_prefix("gpuint-")?;
        let script = entry.path().join("build-script-build");
        // Not those of packages whose names begin the same.
        (!own.contains('-')).then_some(())?;
        Some((script.metadata().ok()?.modified().ok()?, script))
    });
    let newest = scripts.max();
    if newest.is_none() {
        skip("cargo", "the build script is not here");
    }
    Some(newest?.1)
}

/// Runs the build script with these variables: whether it succeeds, and its words.
fn run(variables: &[(&str, &OsStr)]) -> Option<(bool, String)> {
    let out = tempfile::tempdir().unwrap();
    let mut command = Command::new(build_script()?);
    for name in ["GPUINT_NVCC", "CUDA_HOME", "CUDA_PATH", "GPUINT_SHAPES", "GPUINT_CATALOGUE"] {
        command.env_remove(name);
    }
    let output = command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("OUT_DIR", out.path())
        .env("CARGO_CFG_TARGET_FAMILY", "unix")
        .env("CARGO_CFG_TARGET_ARCH", "x86_64")
        // As where documentation is built: without compilers.
        .env("DOCS_RS", "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    Some((output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned()))
}

fn refused(name: &str, value: &[u8], reason: &str) {
    let Some((success, words)) = run(&[(name, OsStr::from_bytes(value))]) else { return };
    assert!(!success && words.contains("cargo::error="), "{words}");
    assert!(words.contains(reason), "{words}");
}

#[test]
fn nvcc_that_is_installed_later_is_noticed() {
    if Path::new("/usr/local/cuda/bin/nvcc").exists() {
        return skip("no toolkit", "/usr/local/cuda has an nvcc");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = env::join_paths([folder.path(), Path::new("relative"), Path::new("")]).unwrap();
    let watched = format!("cargo::rerun-if-changed={}\n", folder.path().display());
    let Some((success, words)) = run(&[("PATH", &path)]) else { return };
    assert!(success && words.contains(&watched), "{words}");
    assert!(words.contains("cargo::rerun-if-env-changed=PATH\n"), "{words}");
    assert!(!words.contains("rerun-if-changed=relative"), "{words}");
    for nothing in words.lines().filter_map(|line| line.strip_prefix("cargo::rerun-if-changed=")) {
        let nothing = Path::new(env!("CARGO_MANIFEST_DIR")).join(nothing);
        assert!(nothing.exists(), "cargo takes {} for changed each time", nothing.display());
    }

    fs::write(folder.path().join("nvcc"), "").unwrap();
    let (success, words) = run(&[("PATH", &path)]).unwrap();
    assert!(success && !words.contains(&watched), "a folder with many programs: {words}");
}

#[test]
fn shape_without_kernels_is_refused() {
    refused("GPUINT_SHAPES", b"1073741824:16384:u64", "BITS is at most 1048576");
    refused("GPUINT_SHAPES", b"65536:4096:u16", "Q is at most 64");
    refused("GPUINT_SHAPES", b"1000:4:u64", "multiple of Q");
}

#[test]
fn variable_that_is_not_text_is_refused() {
    refused("GPUINT_CATALOGUE", b"all\xff", "neither default nor all");
    refused("GPUINT_SHAPES", b"\xff", "BITS:Q:DIGIT");
    refused("GPUINT_TUNING", b"/no/such/\xff", "tuning table /no/such/");
}

#[test]
fn simt_is_refused_in_words_where_it_cannot_run() {
    for (family, arch) in [("unix", "riscv64"), ("windows", "x86_64"), ("wasm", "wasm32")] {
        let variables = [
            ("DOCS_RS", OsStr::new("")),
            ("GPUINT_NVCC", OsStr::new("none")),
            ("CARGO_CFG_TARGET_FAMILY", OsStr::new(family)),
            ("CARGO_CFG_TARGET_ARCH", OsStr::new(arch)),
        ];
        let Some((success, words)) = run(&variables) else { return };
        assert!(!success && words.contains("need x86-64 or aarch64 with mmap"), "{words}");
        assert!(words.contains("build without the feature"), "{words}");
    }
}
