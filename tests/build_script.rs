//! Messages of the build script to cargo and to the user. Nothing is compiled here.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use gpuint_testkit::skip::skip;

/// Returns the newest build script of a package, from the file `main`, that contains this text;
/// `None` if the test runs without them. Builds with other features leave theirs in the same
/// folder.
fn build_script(package: &str, main: &str, text: &str) -> Option<PathBuf> {
    let builds = Path::new(env!("OUT_DIR")).parent()?.parent()?;
    let scripts = fs::read_dir(builds).into_iter().flatten().flatten().filter_map(|entry| {
        let name = entry.file_name();
        let own = name.to_str()?.strip_prefix(package)?.strip_prefix('-')?;
        let script = entry.path().join(format!("build-script-{main}"));
        // Skips packages whose names begin the same.
        (!own.contains('-')).then_some(())?;
        let content = fs::read(&script).ok()?;
        content.windows(text.len()).any(|part| part == text.as_bytes()).then_some(())?;
        Some((script.metadata().ok()?.modified().ok()?, script))
    });
    let newest = scripts.max();
    if newest.is_none() {
        skip("cargo", "the build script is not here");
    }
    Some(newest?.1)
}

/// Runs the build script with these variables; returns whether it succeeds, and its output.
fn run(variables: &[(&str, &OsStr)]) -> Option<(bool, String)> {
    run_into(&tempfile::tempdir().unwrap(), variables)
}

/// [`run`], which writes to the folder `out`.
fn run_into(out: &tempfile::TempDir, variables: &[(&str, &OsStr)]) -> Option<(bool, String)> {
    let mut command = Command::new(build_script("gpuint", "main", "GPUINT_CATALOGUE")?);
    for (name, _) in env::vars_os() {
        if name.as_bytes().starts_with(b"GPUINT_") || name == "CUDA_HOME" || name == "CUDA_PATH" {
            command.env_remove(name);
        }
    }
    let output = command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("OUT_DIR", out.path())
        // The environment of a documentation build, without nvcc.
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
fn nvcc_installed_later_is_detected() {
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
fn shape_without_kernels_is_rejected() {
    refused("GPUINT_SHAPES", b"1073741824:16384:u64", "BITS is at most 1048576");
    refused("GPUINT_SHAPES", b"65536:4096:u16", "Q is at most 64");
    refused("GPUINT_SHAPES", b"1000:4:u64", "multiple of Q");
}

#[test]
fn non_utf8_variable_is_rejected() {
    refused("GPUINT_CATALOGUE", b"all\xff", "neither default nor all");
    refused("GPUINT_SHAPES", b"\xff", "BITS:Q:DIGIT");
    refused("GPUINT_TUNING", b"/no/such/\xff", "tuning table /no/such/");
}

/// Returns the kernels that a build embeds with these variables.
fn embedded(variables: &[(&str, &str)]) -> Option<BTreeSet<String>> {
    let (folder, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let nvcc = counting_nvcc(folder.path(), "13.0");
    let mut all = vec![
        ("DOCS_RS", OsStr::new("")),
        ("GPUINT_NVCC", nvcc.as_os_str()),
        ("GPUINT_CACHE_DIR", OsStr::new("off")),
    ];
    all.extend(variables.iter().map(|&(name, value)| (name, OsStr::new(value))));
    let (success, words) = run_into(&out, &all)?;
    assert!(success, "{words}");
    let images = fs::read_to_string(out.path().join("images.rs")).unwrap();
    let names = images.lines().filter_map(|line| line.strip_prefix("    (\"gpuint_"));
    Some(names.map(|line| line.split_once('"').unwrap().0.to_owned()).collect())
}

#[test]
fn kernels_that_auto_selects_are_embedded() {
    let Some(auto) = embedded(&[]) else { return };
    let all = embedded(&[("GPUINT_KERNELS", "all")]).unwrap();

    assert!(auto.is_subset(&all) && 2 * auto.len() > all.len() && auto.len() < all.len());
    let has_all =
        |of: &str| all.iter().filter(|name| name.starts_with(of)).all(|name| auto.contains(name));
    // The paper's kernels in every shape, and kernels of one algorithm at the usual ones.
    for name in ["mul_lo_classical_b", "div_rem_shifted_inverse_classical_b", "gcd_b"] {
        assert!(has_all(name), "{name}");
    }
    assert!(auto.contains("add_b1024_q4_u64") && auto.contains("add_b1048576_q16_u64"));
    assert!(!auto.contains("add_b1024_q2_u64") && !auto.contains("add_b1024_q4_u16"));
    assert!(!auto.iter().any(|name| name.contains("karatsuba")));
    // A shape that the user adds is meant for use.
    let more = embedded(&[("GPUINT_SHAPES", "1024:2:u64,1280:4:u64")]).unwrap();
    assert!(auto.is_subset(&more));
    assert!(more.contains("add_b1024_q2_u64") && more.contains("add_b1280_q4_u64"));
    // Every measured choice, for few rows too.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tuning");
    for file in fs::read_dir(folder).unwrap() {
        let table: toml::Table = fs::read_to_string(file.unwrap().path()).unwrap().parse().unwrap();
        for choice in table["choices"].as_array().unwrap() {
            let text = |key: &str| choice[key].as_str().unwrap();
            for bits in
                choice["bits"].as_array().unwrap().iter().filter_map(toml::Value::as_integer)
            {
                let name = format!("{}_{}_b{bits}", text("op"), text("strategy"));
                let of_shape = format!("{name}_q4_u64");
                let is_there = [&name, &of_shape].into_iter().any(|name| auto.contains(name));
                // Beyond 2^18 bits, shapes have another Q.
                assert!(is_there || has_all(&format!("{name}_")), "{name}");
            }
        }
    }
    // GPUs without fast double precision and tensor cores run PTX: transforms modulo primes.
    let ptx = embedded(&[("GPUINT_ARCHS", "sm_90a,compute_90")]).unwrap();
    let code = embedded(&[("GPUINT_ARCHS", "sm_90a")]).unwrap();
    assert!(code.is_subset(&ptx) && ptx.is_subset(&auto));
    println!(
        "embedded: {} kernels of {}; {} for GPUs of 9.0 alone",
        auto.len(),
        all.len(),
        code.len()
    );
    assert!(ptx.contains("mul_lo_ntt_b131072") && !code.contains("mul_lo_ntt_b131072"));
}

#[test]
fn kernels_of_unknown_names_are_rejected() {
    let nvcc = tempfile::tempdir().unwrap();
    let nvcc = counting_nvcc(nvcc.path(), "13.0");
    for (name, value, reason) in [
        ("GPUINT_KERNELS", "most", "\"most\" is neither auto nor all"),
        ("GPUINT_ARCHS", "90", "\"90\" is neither sm_NN nor compute_NN"),
        ("GPUINT_ARCHS", "sm_x", "\"sm_x\" is neither sm_NN nor compute_NN"),
    ] {
        let variables = [("DOCS_RS", ""), (name, value)].map(|(n, v)| (n, OsStr::new(v)));
        let variables = [variables[0], variables[1], ("GPUINT_NVCC", nvcc.as_os_str())];
        let Some((success, words)) = run(&variables) else { return };
        assert!(!success && words.contains(reason), "{words}");
    }
}

/// Writes a shell script.
fn script(path: &Path, lines: &str) {
    fs::write(path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The bindings to the driver are of a fixed version, whatever nvcc is on PATH: cudarc's own build
/// script, with the features of the manifest, fails on versions that it does not list where it asks
/// nvcc.
#[test]
fn driver_bindings_do_not_depend_on_nvcc() {
    let Some(build_script) = build_script("cudarc", "build", "CUDARC_") else { return };
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let manifest: toml::Table = fs::read_to_string(manifest).unwrap().parse().unwrap();
    let features = manifest["dependencies"]["cudarc"]["features"].as_array().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let words = |version: Option<&str>| {
        let nvcc = folder.path().join("nvcc");
        if let Some(version) = version {
            script(
                &nvcc,
                &format!("echo 'Cuda compilation tools, release {version}, V{version}.1'"),
            );
        }
        let mut command = Command::new(&build_script);
        command.env_clear().env("OUT_DIR", folder.path()).env("PATH", folder.path());
        for feature in features {
            let feature = feature.as_str().unwrap().to_uppercase().replace('-', "_");
            command.env(format!("CARGO_FEATURE_{feature}"), "1");
        }
        let output = command.output().unwrap();
        let words = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{version:?}: {output:?}");
        words
    };
    let without = words(None);
    for version in ["11.3", "12.7", "13.0", "14.0"] {
        assert_eq!(words(Some(version)), without, "{version}");
    }
}

/// An nvcc that adds a line to the file `calls` for each unit, with the number of headers that it
/// includes, and copies instead of compiling.
fn counting_nvcc(folder: &Path, version: &str) -> PathBuf {
    let compiler = folder.join("nvcc");
    let calls = folder.join("calls");
    let lines = format!(
        "out= source=\n\
         while [ $# -gt 0 ]; do\n\
         case $1 in --version) echo {version}; exit ;; -o) out=$2; shift ;; -*) ;; *) source=$1 \
         ;; esac\n\
         shift\n\
         done\n\
         echo \"$source $(grep -c '^#include' \"$source\")\" >>'{}'\n\
         cp \"$source\" \"$out\"",
        calls.display()
    );
    script(&compiler, &lines);
    compiler
}

#[test]
fn units_are_compiled_once_for_all_target_folders() {
    let folder = tempfile::tempdir().unwrap();
    let nvcc = counting_nvcc(folder.path(), "13.0");
    let cache = folder.path().join("cache");
    let build = |cache: &OsStr| {
        let _ = fs::remove_file(folder.path().join("calls"));
        let (success, words) = run(&[
            ("DOCS_RS", OsStr::new("")),
            ("GPUINT_NVCC", nvcc.as_os_str()),
            ("GPUINT_CACHE_DIR", cache),
        ])?;
        assert!(success, "{words}");
        let calls = fs::read_to_string(folder.path().join("calls")).unwrap_or_default();
        Some(calls.lines().map(str::to_owned).collect::<Vec<String>>())
    };
    let count = |cache: &OsStr| build(cache).map_or(0, |units| units.len());
    let Some(units) = build(cache.as_os_str()) else { return };
    // Two of the core and one of kernels, so that a unit is compiled anew with this one alone.
    assert!(units.iter().all(|unit| unit.ends_with(" 3")), "{units:?}");
    let units = units.len();
    assert!(units > 10, "{units}");
    assert_eq!(build(cache.as_os_str()), Some(vec![]));
    // Another nvcc; no cache; a cache that others can write.
    counting_nvcc(folder.path(), "13.1");
    assert_eq!(count(cache.as_os_str()), units);
    assert_eq!(count(OsStr::new("off")), units);
    fs::set_permissions(cache.join("build"), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(count(cache.as_os_str()), units);
}
