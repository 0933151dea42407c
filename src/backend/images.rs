//! Kernels as bytes and as text: the images that the build script embedded, and the sources that
//! the run-time compiler starts from.

/// Written by the build script.
mod embedded {
    include!(concat!(env!("OUT_DIR"), "/images.rs"));
}
/// The headers of `kernels/`, by file name.
pub(crate) use embedded::HEADERS;

/// The fatbin that has this kernel, where one was built.
pub(crate) fn embedded(kernel: &str) -> Option<&'static [u8]> {
    let found = embedded::KERNELS.binary_search_by_key(&kernel, |&(name, _)| name).ok()?;
    Some(embedded::IMAGES[embedded::KERNELS[found].1])
}
