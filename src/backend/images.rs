//! Kernels as bytes and as text: the images that `build.rs` embedded, and the sources that the
//! run-time compiler starts from.

use crate::backend::Kernel;
use crate::codegen::{self, Entry};
use crate::shape::{OPERATIONS, block};

/// Written by `build.rs`.
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

/// The translation unit of this kernel; `None` where the catalogue has no template for it.
pub(crate) fn source(kernel: &Kernel) -> Option<String> {
    let task = kernel.task();
    let &(task, template) = OPERATIONS.iter().find(|&&(known, _)| known == task)?;
    Some(codegen::translation_unit([Entry {
        task,
        template,
        bits: kernel.shape.bits,
        q: kernel.shape.q,
        digit: kernel.shape.digit.name(),
        block: block(kernel.shape),
    }]))
}
