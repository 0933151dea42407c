//! Drivers of the peers: programs that are compiled here and run on operands in files.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use std::{env, process};

use gpuint_catalogue::nvcc;
use rayon::prelude::*;
use serde::Deserialize;

use super::operation::Operation;
use super::ours::Measured;

/// Sources that drivers share.
const SHARED: [(&str, &str); 2] =
    [("job.h", include_str!("../../peers/job.h")), ("rows.h", include_str!("../../peers/rows.h"))];

/// A library of the CPU.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) name: &'static str,
    file: &'static str,
    source: &'static str,
    /// Arguments of the linker.
    link: &'static [&'static str],
    /// Origin of the library, for the message of a missing one.
    origin: &'static str,
}

pub(crate) const GMP: Library = Library {
    name: "GMP",
    file: "gmp.c",
    source: include_str!("../../peers/gmp.c"),
    link: &["-lgmp"],
    origin: "Debian: libgmp-dev; or --gmp PREFIX",
};

pub(crate) const FLINT: Library = Library {
    name: "FLINT",
    file: "flint.c",
    source: include_str!("../../peers/flint.c"),
    link: &["-lflint"],
    origin: "Debian: libflint-dev; or --flint PREFIX",
};

pub(crate) const OPENSSL: Library = Library {
    name: "OpenSSL",
    file: "openssl.c",
    source: include_str!("../../peers/openssl.c"),
    link: &["-lcrypto"],
    origin: "Debian: libssl-dev; or --openssl PREFIX",
};

/// A folder of this run, for its user alone; removed at the end.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Creates the folder with the shared sources.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub(crate) fn new() -> Result<Self, String> {
        let path = env::temp_dir().join(format!("gpuint-peers-{}", process::id()));
        let mut builder = DirBuilder::new();
        builder.recursive(false);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        // Fails where another user has a folder of this name.
        let words = |error| format!("cannot create {}: {error}", path.display());
        builder.create(&path).map_err(words)?;
        let folder = Self(path);
        for (name, text) in SHARED {
            folder.write(name, text.as_bytes())?;
        }
        Ok(folder)
    }

    /// Writes a file.
    ///
    /// # Errors
    /// A full disk, or the like.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, String> {
        let path = self.0.join(name);
        let words = |error| format!("cannot write {}: {error}", path.display());
        fs::write(&path, content).map_err(words)?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It lies in the system's folder of temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A compiled driver.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) name: String,
    /// One program, or those of which the fastest counts.
    programs: Vec<PathBuf>,
}

/// The answer of a driver: `cli/peers/job.h`.
#[derive(Debug, Deserialize)]
struct Answer {
    name: String,
    rows: Option<usize>,
    host_seconds: Option<f64>,
    device_seconds: Option<f64>,
    /// Seconds since 1970.
    begin: Option<f64>,
    end: Option<f64>,
}

impl Answer {
    /// Returns the times with the results in a file; `None` for an operation that the peer lacks.
    fn measured(&self, results: &Path) -> Result<Option<Measured>, String> {
        let (Some(rows), Some(host)) = (self.rows, self.host_seconds) else { return Ok(None) };
        let results = fs::read(results).map_err(|error| error.to_string())?;
        let date = |seconds: f64| {
            Duration::try_from_secs_f64(seconds).ok().map(|since| SystemTime::UNIX_EPOCH + since)
        };
        let span = self.begin.and_then(date).zip(self.end.and_then(date));
        Ok(Some(Measured { rows, device: self.device_seconds, host, results, span }))
    }
}

impl Library {
    /// Compiles the driver, with the library in `prefix` or of the system.
    ///
    /// # Errors
    /// A sentence about a missing compiler or library.
    pub(crate) fn compile(&self, folder: &Folder, prefix: Option<&Path>) -> Result<Driver, String> {
        let source = folder.write(self.file, self.source.as_bytes())?;
        let program = source.with_extension("");
        let mut command = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
        command.args(["-O3", "-march=native", "-fopenmp", "-std=gnu11", "-o"]);
        command.arg(&program).arg(&source);
        if let Some(prefix) = prefix {
            command.arg("-I").arg(prefix.join("include"));
            let lib = prefix.join("lib");
            for folder in [lib.join(format!("{}-linux-gnu", env::consts::ARCH)), lib] {
                let mut run_path = OsString::from("-Wl,-rpath,");
                run_path.push(&folder);
                command.arg("-L").arg(folder).arg(run_path);
            }
        }
        command.args(self.link);
        run(&mut command).map_err(|error| format!("{error} ({})", self.origin))?;
        Ok(Driver { name: self.name.to_owned(), programs: vec![program] })
    }
}

impl Driver {
    /// Runs an operation on the operands of a file. Returns `None` if the peer does not have it.
    ///
    /// # Errors
    /// A driver that fails, or whose answer breaks the protocol.
    pub(crate) fn measure(
        &mut self,
        folder: &Folder,
        operation: Operation,
        bits: usize,
        rows: usize,
        input: &Path,
        limit: Duration,
    ) -> Result<Option<Measured>, String> {
        let output = folder.0.join("results");
        let limit = limit.as_secs_f64() / self.programs.len() as f64;
        let mut best: Option<(Answer, Measured)> = None;
        for program in &self.programs {
            let mut command = Command::new(program);
            command.args([operation.name(), &bits.to_string(), &rows.to_string()]);
            command.arg(limit.to_string()).arg(input).arg(&output);
            command
                .args([operation.operands(), operation.results()].map(|count| count.to_string()));
            let about = |error: String| format!("driver of {}: {error}", self.name);
            let answer = run(&mut command).map_err(about)?;
            let answer: Answer =
                serde_json::from_slice(&answer).map_err(|error| about(error.to_string()))?;
            let Some(measured) = answer.measured(&output).map_err(about)? else { continue };
            let bytes = measured.rows.saturating_mul(bits / 8 * operation.results());
            if !(1..=rows).contains(&measured.rows) || measured.results.len() != bytes {
                let length = measured.results.len();
                return Err(about(format!("{length} bytes of results for {} rows", measured.rows)));
            }
            let seconds = |it: &Measured| it.device.unwrap_or(it.host);
            if best.as_ref().is_none_or(|(_, best)| seconds(&measured) < seconds(best)) {
                best = Some((answer, measured));
            }
        }
        Ok(best.map(|(answer, measured)| {
            self.name = answer.name;
            measured
        }))
    }
}

/// Compiles the driver of CGBN for an operation and width, once for each number of threads of a row
/// that CGBN has there.
///
/// # Errors
/// A sentence about a missing compiler, missing headers, or a width that is too wide.
pub(crate) fn compile_cgbn(
    folder: &Folder,
    include: &Path,
    operation: Operation,
    bits: usize,
) -> Result<Driver, String> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let nvcc = nvcc::find(set, &[])?;
    let source = folder.write("cgbn.cu", include_str!("../../peers/cgbn.cu").as_bytes())?;
    // A thread has a limb at least, and divisions need at most the square of the threads in limbs.
    let fits = |threads: &usize| (32 * threads..=32 * threads * threads).contains(&bits);
    let threads: Vec<usize> = [4, 8, 16, 32].into_iter().filter(fits).collect();
    if threads.is_empty() {
        return Err(format!("no integers of {bits} bits"));
    }
    let compile = |threads: &usize| {
        let program = source.with_file_name(format!("cgbn-{threads}"));
        let mut command = Command::new(&nvcc);
        command.args(["-O3", "-std=c++17", "-arch=native", "-o"]).arg(&program).arg(&source);
        command.arg("-I").arg(include).arg("-lgmp");
        command.arg(format!("-DOPERATION=op_{}", operation.name()));
        command.arg(format!("-DBITS={bits}")).arg(format!("-DTHREADS={threads}"));
        run(&mut command)?;
        Ok(program)
    };
    let programs = threads.par_iter().map(compile).collect::<Result<_, String>>()?;
    Ok(Driver { name: "CGBN".to_owned(), programs })
}

/// Runs a command and returns its output, or the first lines of its complaint.
fn run(command: &mut Command) -> Result<Vec<u8>, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("cannot run {program}: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let line = words.lines().find(|line| line.contains("error") || line.contains("cannot find"));
    let line = line.or_else(|| words.lines().next()).unwrap_or_default();
    Err(format!("{program}: {}: {line}", output.status))
}
