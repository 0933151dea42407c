//! Search for nvcc.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Returns the path of nvcc, or the reason why there is none. The path is `GPUINT_NVCC` (`none`
/// disables nvcc), or is found in [`folders`] or in the folders of `more`. `variable` reads an
/// environment variable and returns `None` if it is unset or empty.
///
/// # Errors
/// The folders that were searched.
pub fn find(
    variable: impl Fn(&str) -> Option<OsString>,
    more: &[PathBuf],
) -> Result<PathBuf, String> {
    if let Some(nvcc) = variable("GPUINT_NVCC") {
        return if nvcc == "none" { Err("GPUINT_NVCC=none".into()) } else { Ok(nvcc.into()) };
    }
    let mut folders = folders(variable);
    folders.extend_from_slice(more);
    let file = format!("nvcc{}", env::consts::EXE_SUFFIX);
    let found = folders.into_iter().map(|folder| folder.join(&file)).find(|path| path.is_file());
    found.ok_or_else(|| {
        let more: String = more.iter().map(|folder| format!(", {}", folder.display())).collect();
        format!("no nvcc in CUDA_HOME, CUDA_PATH, PATH, /usr/local/cuda{more}")
    })
}

/// Returns the folders to search: from `CUDA_HOME`, `CUDA_PATH` and `PATH`, and `/usr/local/cuda`.
///
/// Relative folders are left out, because they would depend on the folder of the build.
pub fn folders(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for name in ["CUDA_HOME", "CUDA_PATH"] {
        folders.extend(variable(name).map(|home| Path::new(&home).join("bin")));
    }
    folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    folders.push("/usr/local/cuda/bin".into());
    folders.retain(|folder| folder.is_absolute());
    folders
}
