//! The table of kernel images and the texts of the headers, `OUT_DIR/images.rs`.

use std::fmt::Write;
use std::fs;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use crate::Result;

/// A compiled translation unit.
pub(crate) struct Image {
    pub(crate) path: PathBuf,
    pub(crate) kernels: Vec<String>,
}

/// The headers below `kernels/`, by their paths from there, sorted.
pub(crate) fn headers() -> Result<Vec<String>> {
    let root = Path::new("kernels");
    let mut names = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let unreadable = |error: std::io::Error| format!("{}: {error}", folder.display());
        for file in fs::read_dir(&folder).map_err(unreadable)? {
            let path = file.map_err(unreadable)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "cuh") {
                let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
                names.push(name.replace(MAIN_SEPARATOR, "/"));
            }
        }
    }
    names.sort();
    Ok(names)
}

/// The text of `OUT_DIR/images.rs`.
pub(crate) fn rust(headers: &[String], images: &[Image]) -> String {
    let mut text = String::from("// Written by build.rs.\n");
    let mut kernels: Vec<(&str, usize)> = Vec::new();
    for (index, image) in images.iter().enumerate() {
        kernels.extend(image.kernels.iter().map(|kernel| (kernel.as_str(), index)));
    }
    kernels.sort_unstable();
    // Writing to a string does not fail.
    let _ = writeln!(text, "pub(crate) static HEADERS: &[(&str, &str)] = &[");
    for name in headers {
        let _ = writeln!(
            text,
            "    ({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/kernels/{name}\"))),"
        );
    }
    let _ = writeln!(text, "];\npub(crate) static IMAGES: &[&[u8]] = &[");
    for image in images {
        let _ = writeln!(text, "    include_bytes!({:?}),", image.path);
    }
    let _ = writeln!(text, "];\npub(crate) static KERNELS: &[(&str, usize)] = &[");
    for (kernel, image) in kernels {
        let _ = writeln!(text, "    ({kernel:?}, {image}),");
    }
    let _ = writeln!(text, "];");
    text
}
