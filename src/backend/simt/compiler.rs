//! The host's C++ compiler: makes a shared object of a translation unit, at its first use on a
//! machine.
//!
//! `CXX` names the compiler, with options if need be (`ccache g++`); by default it is `c++`. An
//! object is kept in the folder `simt` of the cache ([`gpuint_catalogue::cache`]), by a hash of the
//! unit, of the code of the headers that it includes, of the shim, of the options and of the
//! compiler's version. Processes that need the same unit take turns, so that one compiles it.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use gpuint_catalogue::cache::{Cache, Key};
use gpuint_catalogue::{closure, inputs};

use crate::backend::images::HEADERS;
use crate::error::{Error, Result};

/// The variable that names the compiler.
const VARIABLE: &str = "CXX";
/// The compiler of systems without [`VARIABLE`].
const DEFAULT: &str = "c++";
/// Maximum bytes of kept objects, most recently used first: some ten states of the kernels.
const MAX_BYTES: u64 = 1 << 30;
/// The running thread is a variable of the shim that kernels read without a call (`initial-exec`).
const OPTIONS: &[&str] = &[
    "-std=c++17",
    "-w",
    "-fPIC",
    "-pthread",
    "-ftls-model=initial-exec",
    "-fno-semantic-interposition",
    "-fvisibility-inlines-hidden",
    "-DGPUINT_SIMT",
    "-Ikernels",
];
const UNIT: &[&str] = &["-shared", "-Wl,-s", "-o", "unit.so", "unit.cpp"];

/// Level of the shim, which all kernels run through.
pub(super) const SHIM_LEVEL: &[&str] = &["-O2"];
/// Level of kernels. Most are launched on few rows: at `-O2` their compilation takes twice as long,
/// and saves less time than that.
pub(super) const KERNEL_LEVEL: &[&str] = &["-Og", "-ftree-sra"];

/// Lists files of `kernels/simt` with their texts.
macro_rules! shim {
    ($($name:literal)*) => {
        &[$((
            concat!("simt/", $name),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/simt/", $name)),
        )),*]
    };
}

/// The shim, without its own test.
static SHIM: &[(&str, &str)] = shim!(
    "abi.h" "arithmetic.h" "block.cpp" "block.h" "collective.h" "fiber.cpp" "fiber.h" "launch.cpp"
    "launch.h" "memory.h" "rare.h" "registry.h" "shared.cpp" "shared.h" "simt.cpp" "simt.h"
    "thread.h" "types.h" "upset.h"
);

/// The unit of the shim: all its sources, after the header of the kernels that they include.
pub(super) fn shim_unit() -> String {
    let sources = SHIM.iter().map(|(name, _)| *name).filter(|name| name.ends_with(".cpp"));
    let names = ["core/abi.cuh"].into_iter().chain(sources);
    names.map(|name| format!("#include \"{name}\"\n")).collect()
}

/// The compiler of this process.
#[derive(Debug)]
pub(super) struct Compiler {
    /// The program and its first arguments.
    words: Vec<String>,
    /// The key of all that objects depend on besides their units and headers.
    key: Key,
    cache: Cache,
}

impl Compiler {
    /// The compiler that the environment asks for.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn from_env() -> Result<Self, String> {
        let variable = env::var_os(VARIABLE).unwrap_or_default();
        let cache = Cache::from_env(|name| env::var_os(name)).below("simt");
        Self::new(&variable, cache)
    }

    fn new(variable: &OsStr, cache: Cache) -> Result<Self, String> {
        let variable = variable.to_string_lossy();
        let mut words: Vec<_> = variable.split_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            words.push(DEFAULT.to_owned());
        }
        let version = run(&words, Path::new("."), &["--version"])?;
        let texts = words.iter().map(String::as_bytes).chain([&*version]);
        let options = OPTIONS.iter().map(|option| option.as_bytes());
        let shim = SHIM.iter().flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()]);
        let key = Key::new("compiler", texts.chain(options).chain(shim));
        Ok(Self { words, key, cache })
    }

    /// The object of a unit at a level of optimization, from the cache or compiled.
    pub(super) fn object(&self, name: &str, unit: &str, level: &[&str]) -> Result<Vec<u8>> {
        let inputs = inputs(unit, HEADERS);
        let texts = inputs.iter().map(String::as_bytes);
        let options = level.iter().map(|option| option.as_bytes());
        let key = Key::new(name, [self.key.as_ref()].into_iter().chain(options).chain(texts));
        let report = |path: &Path, error| {
            tracing::warn!(path = %path.display(), %error, "a unit is not cached");
        };
        self.cache.or_make(&key, MAX_BYTES, report, || {
            let span = tracing::info_span!("compile", unit = name);
            span.in_scope(|| self.compile(unit, level))
        })
    }

    /// Writes a unit, its headers and the shim, and returns the object that the compiler makes.
    fn compile(&self, unit: &str, level: &[&str]) -> Result<Vec<u8>> {
        let failed = |log: String| Error::Compile { log };
        let unwritten = |error: io::Error| failed(format!("temporary folder: {error}"));
        let folder = tempfile::tempdir().map_err(unwritten)?;
        let folder = folder.path();
        write_sources(folder, unit).map_err(unwritten)?;
        run(&self.words, folder, &[OPTIONS, level, UNIT].concat()).map_err(failed)?;
        fs::read(folder.join("unit.so")).map_err(unwritten)
    }
}

/// Runs a compiler in a folder and returns its output.
fn run(words: &[String], folder: &Path, arguments: &[&str]) -> Result<Vec<u8>, String> {
    let [program, first @ ..] = words else { return Err("no compiler is named".to_owned()) };
    let mut command = Command::new(program);
    let output = command.args(first).args(arguments).current_dir(folder).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let log = String::from_utf8_lossy(&output.stderr);
    Err(format!("{}: {}\n{log}", words.join(" "), output.status))
}

/// Writes a unit, the headers that it includes, and the shim.
fn write_sources(folder: &Path, unit: &str) -> io::Result<()> {
    for (name, text) in closure(unit, HEADERS).iter().chain(SHIM) {
        let path = folder.join("kernels").join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    fs::write(folder.join("unit.cpp"), unit)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::thread;

    use super::*;

    /// A compiler that adds a line to the file `calls` for each unit, and copies the unit.
    fn counting_compiler(folder: &Path, version: &str) -> Compiler {
        let path = folder.join("c++");
        let calls = folder.join("calls");
        let lines = format!(
            "#!/bin/sh\n\
             [ $1 = --version ] && echo {version} && exit\n\
             grep -q wrong unit.cpp && echo is wrong >&2 && exit 1\n\
             echo unit >>'{0}'\n\
             cp unit.cpp unit.so\n",
            calls.display()
        );
        // A process of its own writes the program. Children of other tests would inherit this
        // process's open file, and nobody can run a program that is open for writing.
        let write = r#"printf %s "$1" >"$2" && chmod 755 "$2""#;
        let status = Command::new("sh").args(["-c", write, "sh", &lines]).arg(&path).status();
        assert!(status.unwrap().success());
        Compiler::new(path.as_os_str(), Cache::at(Some(folder.join("cache")))).unwrap()
    }

    #[test]
    fn unit_is_compiled_once_for_all_processes() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let calls = || fs::read_to_string(folder.join("calls")).unwrap_or_default().lines().count();
        let compilers: Vec<_> = (0..4).map(|_| counting_compiler(folder, "1")).collect();
        thread::scope(|scope| {
            for compiler in &compilers {
                scope.spawn(|| assert_eq!(compiler.object("k", "a", &[]).unwrap(), b"a"));
            }
        });
        assert_eq!(calls(), 1);
        assert_eq!(compilers[0].object("k", "b", &[]).unwrap(), b"b");
        assert_eq!(calls(), 2);
        assert_eq!(compilers[0].object("k", "b", &["-O2"]).unwrap(), b"b");
        assert_eq!(calls(), 3);
        // Another compiler; a cache that others can write.
        let other = counting_compiler(folder, "2");
        assert_eq!(other.object("k", "a", &[]).unwrap(), b"a");
        assert_eq!(calls(), 4);
        fs::set_permissions(folder.join("cache"), fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(other.object("k", "a", &[]).unwrap(), b"a");
        assert_eq!(calls(), 5);
    }

    #[test]
    fn unit_is_compiled_beside_the_headers_that_it_includes() {
        let folder = tempfile::tempdir().unwrap();
        write_sources(folder.path(), "#include \"linear/add.cuh\"\n").unwrap();
        let exists = |name| folder.path().join("kernels").join(name).exists();
        for name in ["linear/add.cuh", "core/abi.cuh", "simt/simt.h"] {
            assert!(exists(name), "{name}");
        }
        for name in ["linear/bits.cuh", "mul/columns.cuh", "linear/shift.cuh"] {
            assert!(!exists(name), "{name}");
        }
    }

    #[test]
    fn rejected_unit_is_an_error_with_the_compilers_words() {
        let folder = tempfile::tempdir().unwrap();
        let compiler = counting_compiler(folder.path(), "1");
        let error = compiler.object("k", "wrong", &[]).unwrap_err();
        let Error::Compile { log } = &error else { panic!("{error:?}") };
        assert!(log.contains("is wrong") && log.contains("c++"), "{log}");
    }

    #[test]
    fn absent_compiler_is_named() {
        let folder = PathBuf::from("/absent/c++");
        let error = Compiler::new(folder.as_os_str(), Cache::at(None)).unwrap_err();
        assert!(error.contains("/absent/c++"), "{error}");
    }

    #[test]
    fn shim_lists_every_file() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/simt");
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|file| format!("simt/{}", file.unwrap().file_name().display()))
            .filter(|name| !name.contains("selftest"))
            .collect();
        names.sort();
        assert_eq!(names, SHIM.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }
}
