//! Compiled units for all target folders of the user: a unit is compiled once on a machine.
//!
//! A key covers the text of the unit with all that it includes, the options, and the version text
//! of the compiler. [`gpuint_catalogue::cache`] names the folder (`GPUINT_CACHE_DIR`) and refuses
//! files that others could have written. A cache that cannot be read or written makes no build
//! fail.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use gpuint_catalogue::cache::{self, Key};

use crate::Result;

/// Maximum bytes of kept files, most recently used first: some twenty states of the kernels.
const MAX_BYTES: u64 = 2 << 30;

/// The folder of compiled units.
pub(crate) struct Cache(cache::Cache);

impl Cache {
    pub(crate) fn from_env() -> Self {
        // A build script runs in the folder of the package: a relative folder would be inside of
        // it.
        let variable = |name: &str| {
            env::var_os(name).filter(|value| {
                value.is_empty() || value == "off" || Path::new(value).is_absolute()
            })
        };
        Self(cache::Cache::from_env(variable).below("build"))
    }

    /// Writes the file `made` from the cache, or calls `make`, which writes it, and keeps it.
    pub(crate) fn or_make(&self, key: &Key, made: &Path, make: impl FnOnce() -> Result) -> Result {
        let failed = |error| format!("{}: {error}", made.display());
        let make = || {
            make()?;
            fs::read(made).map_err(failed)
        };
        // A refused or damaged file is compiled again and replaced, if it can be written.
        let content = self.0.or_make(key, MAX_BYTES, |_, _| {}, make)?;
        fs::write(made, content).map_err(failed)
    }
}

/// Runs a compiler and returns its output.
pub(crate) fn printed(command: &mut Command) -> Result<Vec<u8>> {
    let output = command
        .output()
        .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(format!(
        "{}\n{command:?}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    ))
}
