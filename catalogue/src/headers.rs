//! The list of kernel headers.

use std::fs;
use std::path::{MAIN_SEPARATOR, Path};

/// Returns the headers (`*.cuh`) below the folder `kernels`, as sorted paths relative to it.
///
/// # Errors
/// The folder that cannot be read.
pub fn headers(kernels: &Path) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    let mut folders = vec![kernels.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let unreadable = |error: std::io::Error| format!("{}: {error}", folder.display());
        for file in fs::read_dir(&folder).map_err(unreadable)? {
            let path = file.map_err(unreadable)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "cuh") {
                let name = path.strip_prefix(kernels).unwrap_or(&path).to_string_lossy();
                names.push(name.replace(MAIN_SEPARATOR, "/"));
            }
        }
    }
    names.sort();
    Ok(names)
}
