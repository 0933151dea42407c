//! The text of CUDA translation units. Shared by `build.rs` (nvcc, the host compiler) and by the
//! run-time compiler, so that a kernel is the same wherever it is compiled.

/// One kernel of a translation unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    /// What is computed and how: `mul_lo_classical`.
    pub(crate) task: &'a str,
    /// The template that computes it: `MulLow<S, Classical>`, where `S` is the shape.
    pub(crate) template: &'a str,
    /// The width of an integer.
    pub(crate) bits: usize,
    /// Digits per thread.
    pub(crate) q: usize,
    /// `u16`, `u32` or `u64`.
    pub(crate) digit: &'a str,
    /// The threads per block that the kernel aims at.
    pub(crate) block: u32,
}

impl Entry<'_> {
    /// The name of the entry point.
    pub(crate) fn name(&self) -> String {
        let Self { task, bits, q, digit, .. } = self;
        format!("gpuint_{task}_b{bits}_q{q}_{digit}")
    }

    /// The template with its shape filled in, every name qualified.
    fn instance(&self) -> String {
        let Self { bits, q, digit, block, .. } = self;
        let mut text = String::new();
        let mut rest = self.template;
        while !rest.is_empty() {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            match &rest[..end] {
                "" => {}
                "S" => {
                    text += &format!("gpuint::Shape<gpuint::{digit}, {bits}, {q}, {block}>");
                }
                name => text += &format!("gpuint::{name}"),
            }
            let next = rest[end..]
                .find(|c: char| c.is_ascii_alphanumeric())
                .map_or(rest.len(), |skip| end + skip);
            text += &rest[end..next];
            rest = &rest[next..];
        }
        text
    }
}

/// The translation unit that holds these kernels.
pub(crate) fn translation_unit<'a>(entries: impl IntoIterator<Item = Entry<'a>>) -> String {
    let mut text = String::from("#include \"kernels.cuh\"\n\n");
    for entry in entries {
        text += &format!("GPUINT_KERNEL({}, {})\n", entry.name(), entry.instance());
    }
    text
}
