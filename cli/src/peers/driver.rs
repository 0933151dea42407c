//! Drivers of the peers: programs that are compiled here and run on operands in files.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, process};

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
    program: PathBuf,
}

/// The answer of a driver: `cli/peers/job.h`.
#[derive(Debug, Deserialize)]
struct Answer {
    name: String,
    rows: Option<usize>,
    host_seconds: Option<f64>,
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
        Ok(Driver { name: self.name.to_owned(), program })
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
        let mut command = Command::new(&self.program);
        command.args([operation.name(), &bits.to_string(), &rows.to_string()]);
        command.arg(limit.as_secs_f64().to_string()).arg(input).arg(&output);
        let about = |error: String| format!("driver of {}: {error}", self.name);
        let answer = run(&mut command).map_err(about)?;
        let answer: Answer =
            serde_json::from_slice(&answer).map_err(|error| about(error.to_string()))?;
        let measured = match (answer.rows, answer.host_seconds) {
            (Some(rows), Some(host)) => {
                let results = fs::read(&output).map_err(|error| about(error.to_string()))?;
                Some(Measured { rows, host, results, ..Measured::default() })
            }
            _ => None,
        };
        self.name = answer.name;
        Ok(measured)
    }
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
