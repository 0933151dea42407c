//! The table of kernel images and the texts of the headers, `OUT_DIR/images.rs`.

use std::fmt::Write;
use std::path::PathBuf;

/// A compiled translation unit.
pub(crate) struct Image {
    pub(crate) path: PathBuf,
    pub(crate) kernels: Vec<String>,
}

/// The text of `OUT_DIR/images.rs`.
pub(crate) fn rust<'a>(headers: impl Iterator<Item = &'a str>, images: &[Image]) -> String {
    let mut text = String::from("// Written by the build script.\n");
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
            "    ({name:?}, \
             include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/kernels/{name}\"))),"
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
