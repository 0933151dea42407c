//! C and C++ programs against the library, on the CPU: plain, statically linked, and with the
//! compiler's sanitizers.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use gpuint_skip::skip;
use tempfile::TempDir;

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// The folder of the libraries, which cargo does not build for tests by itself.
static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
    let program = std::env::current_exe().unwrap();
    // target/PROFILE/deps/program
    let [profile, target] = [2, 3].map(|up| program.ancestors().nth(up).unwrap());
    let name = profile.file_name().unwrap().to_str().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "gpuint-capi"]);
    cargo.args(["--profile", if name == "debug" { "dev" } else { name }]);
    let built = cargo.arg("--target-dir").arg(target).current_dir(FOLDER).status().unwrap();
    assert!(built.success());
    profile.to_owned()
});

/// Name of the library for the dynamic linker: `0.x` versions with another `x` are incompatible, as
/// cargo-c has it.
const SONAME: &str =
    concat!("libgpuint.so.", env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));

/// A folder with the library under the name that programs look for.
fn linked_by_soname() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    symlink(LIBRARY.join("libgpuint.so"), folder.path().join(SONAME)).unwrap();
    folder
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    output
}

/// The system's compiler of a source file with the strictest warnings.
fn compiler(source: &Path) -> Command {
    let is_cpp = source.extension().is_some_and(|extension| extension == "cpp");
    let (program, standard) = if is_cpp { ("c++", "-std=c++17") } else { ("cc", "-std=c11") };
    let mut compiler = Command::new(program);
    compiler.args([standard, "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-g"]);
    compiler
}

/// Returns true if the compilers are there and link programs with these flags.
fn is_usable(flags: &[&str], name: &str) -> bool {
    let work = tempfile::tempdir().unwrap();
    ["c", "cpp"].iter().all(|extension| {
        let source = work.path().join("empty").with_extension(extension);
        fs::write(&source, "int main(void) { return 0; }\n").unwrap();
        let program = work.path().join("empty");
        let linked = compiler(&source).args(flags).arg(&source).arg("-o").arg(&program).output();
        let works = linked.is_ok_and(|output| output.status.success())
            && Command::new(&program).output().is_ok_and(|output| output.status.success());
        if !works {
            skip("cxx", format!("cc or c++ does not build programs, {name}"));
        }
        works
    })
}

/// Builds a program, runs it with the shared library of a folder, and returns its output.
fn output(source: &str, name: &str, flags: &[&str], libraries: &[&str], folder: &Path) -> String {
    let source = Path::new(FOLDER).join(source);
    let work = tempfile::tempdir().unwrap();
    let program = work.path().join(name);
    let mut compiler = compiler(&source);
    run(compiler.args(flags).arg(&source).arg("-o").arg(&program).args(libraries));
    let mut program = Command::new(program);
    // Few threads: sanitizers count the memory of each.
    program.env("LD_LIBRARY_PATH", folder).env("RAYON_NUM_THREADS", "4");
    text(&run(&mut program).stdout).to_owned()
}

const SHARED: &[&str] = &["-lgpuint", "-lpthread"];
const STATIC: &[&str] = &["-l:libgpuint.a", "-lpthread", "-ldl", "-lm"];
const SANITIZED: &[&str] = &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

const DIVISION: &str = "14 remainder 2\n\
    2092367245128893587945263141069222138700785148154678170965 remainder 1\n\
    7 remainder 5\n\
    status 12: division by zero in row 0 (row 0)\n";

const PRIMES: &str = "170141183460469231731687303715884105703\n\
    170141183460469231731687303715884105727\n\
    170141183460469231731687303715884105757\n";

const SIGNED: &str = "differences: -14 4\n\
    cofactors: 0 0, 1 1\n\
    quotients: 0 0, remainders: -7 2\n\
    invalid pointer\n";

fn check_programs(name: &str, flags: &[&str], libraries: &[&str]) {
    if !is_usable(flags, name) {
        return;
    }
    let is_sanitized = flags == SANITIZED;
    let include = Path::new(FOLDER).join("include").display().to_string();
    let flags = [&["-I", &include], flags].concat();
    let folder = LIBRARY.display().to_string();
    let libraries = [&["-L", &folder], libraries].concat();
    let named = linked_by_soname();
    let output = |source: &str| output(source, name, &flags, &libraries, named.path());
    assert_eq!(output("examples/rsa.c"), "20 messages, decrypted: yes\n");
    assert_eq!(output("examples/primes.cpp"), PRIMES);
    assert_eq!(output("tests/signed.cpp"), SIGNED);
    assert_eq!(output("tests/interface.c"), "");
    // The address sanitizer of GCC 12 hangs in forks of any program whose threads allocate.
    if !is_sanitized {
        assert_eq!(output("tests/fork.c"), "");
    }
    assert_eq!(output("examples/division.c"), DIVISION);
}

#[test]
fn programs_run_with_the_shared_library() {
    check_programs("shared", &[], SHARED);
}

#[test]
fn programs_run_with_the_static_library() {
    check_programs("static", &[], STATIC);
}

#[test]
fn programs_run_under_the_sanitizers() {
    check_programs("sanitized", SANITIZED, SHARED);
}

/// The library of `cargo build`, linked by its path, is found by its name and not by that path.
#[test]
fn plain_build_has_a_soname() {
    if !is_usable(&[], "soname") {
        return;
    }
    let include = Path::new(FOLDER).join("include").display().to_string();
    let library = LIBRARY.join("libgpuint.so").display().to_string();
    let named = linked_by_soname();
    let linked = |folder: &Path| {
        output("examples/division.c", "soname", &["-I", &include], &[&library], folder)
    };
    assert_eq!(linked(named.path()), DIVISION);
    let bytes = fs::read(library).unwrap();
    let name = [&[0], SONAME.as_bytes(), &[0]].concat();
    assert!(bytes.windows(name.len()).any(|window| window == name));
}

#[test]
fn installed_library_is_found_by_pkg_config() {
    if Command::new("cargo-cinstall").arg("--version").output().is_err() {
        skip("cargo-c", "cargo-c is not installed");
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let target = LIBRARY.parent().unwrap();
    let mut install = Command::new("cargo-cinstall");
    install.args(["cinstall", "--package", "gpuint-capi", "--profile", "dev"]);
    install.args(["--prefix", "/usr", "--libdir", "/usr/lib", "--destdir"]).arg(root);
    run(install.arg("--target-dir").arg(target).current_dir(FOLDER));
    let folder = root.join("usr/lib");
    let mut flags = Command::new("pkg-config");
    flags.env("PKG_CONFIG_PATH", folder.join("pkgconfig")).env("PKG_CONFIG_SYSROOT_DIR", root);
    let flags = run(flags.args(["--cflags", "--libs", "gpuint"])).stdout;
    let flags: Vec<&str> = text(&flags).split_whitespace().collect();
    assert_eq!(output("examples/division.c", "installed", &[], &flags, &folder), DIVISION);
    assert_eq!(output("examples/primes.cpp", "installed", &[], &flags, &folder), PRIMES);
}
