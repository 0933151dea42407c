//! The text of CUDA translation units. Shared by `build.rs` (nvcc, the host compiler) and by the
//! run-time compiler, so that a kernel is the same wherever it is compiled.

/// One kernel of a translation unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    /// What is computed and how: `mul_lo_classical`.
    pub(crate) task: &'a str,
    /// The template that computes it: `MulLow<{shape}, Classical>`.
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

    /// The template with its shape filled in.
    fn instance(&self) -> String {
        let Self { bits, q, digit, block, .. } = self;
        self.template.replace("{shape}", &format!("Shape<{digit}, {bits}, {q}, {block}>"))
    }
}

/// The translation unit that holds these kernels.
pub(crate) fn translation_unit<'a>(entries: impl IntoIterator<Item = Entry<'a>>) -> String {
    let mut text = String::from("#include \"kernels.cuh\"\n\nusing namespace gpuint;\n\n");
    for entry in entries {
        text += &format!("GPUINT_KERNEL({}, {})\n", entry.name(), entry.instance());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_instances_of_their_templates() {
        let add = Entry {
            task: "add",
            template: "Add<{shape}>",
            bits: 1024,
            q: 4,
            digit: "u64",
            block: 128,
        };
        let product = Entry {
            task: "mul_lo_classical",
            template: "MulLow<{shape}, Classical>",
            bits: 2048,
            q: 1,
            digit: "u16",
            block: 64,
        };
        assert_eq!(
            translation_unit([add, product]),
            "#include \"kernels.cuh\"\n\nusing namespace gpuint;\n\n\
             GPUINT_KERNEL(gpuint_add_b1024_q4_u64, Add<Shape<u64, 1024, 4, 128>>)\n\
             GPUINT_KERNEL(gpuint_mul_lo_classical_b2048_q1_u16, \
             MulLow<Shape<u16, 2048, 1, 64>, Classical>)\n"
        );
    }
}
