//! The text of CUDA translation units. Shared by `build.rs` (nvcc, the host compiler) and by the
//! run-time compiler, so that a kernel is the same wherever it is compiled.

/// A kernel of the catalogue, at every shape that it is offered at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Task<'a> {
    /// What is computed and how: `mul_lo_classical`.
    pub(crate) name: &'a str,
    /// The template that computes it: `MulLow<{shape}, Classical>`.
    pub(crate) template: &'a str,
    /// Whether digits and Q make no difference, so that one kernel serves all shapes of a width.
    pub(crate) per_width: bool,
    /// The limbs (of 16 bits for 16-bit digits, else of 32) from which on it is offered.
    pub(crate) limbs: usize,
    /// The bits up to which it is offered; 0 is no end.
    pub(crate) to_bits: usize,
    /// Only multiples of so many limbs are offered.
    pub(crate) step: usize,
    /// Only powers of two are offered.
    pub(crate) powers_of_two: bool,
}

impl Task<'_> {
    /// Whether the kernel is offered at a shape.
    pub(crate) fn is_offered(&self, bits: usize, digit: &str) -> bool {
        let widest = self.per_width && bits.is_multiple_of(32);
        let limb = if digit == "u16" && !widest { 16 } else { 32 };
        bits >= self.limbs * limb
            && (self.to_bits == 0 || bits <= self.to_bits)
            && bits.is_multiple_of(self.step * limb)
            && (!self.powers_of_two || bits.is_power_of_two())
    }
}

/// One kernel of a translation unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) task: Task<'a>,
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
        let Self { task: Task { name, per_width, .. }, bits, q, digit, .. } = self;
        if *per_width {
            format!("gpuint_{name}_b{bits}")
        } else {
            format!("gpuint_{name}_b{bits}_q{q}_{digit}")
        }
    }

    /// The template with its shape filled in.
    fn instance(&self) -> String {
        let Self { task: Task { template, per_width, .. }, bits, q, digit, block } = self;
        let shape = if *per_width {
            format!("Width<{bits}>")
        } else {
            format!("Shape<{digit}, {bits}, {q}, {block}>")
        };
        template.replace("{shape}", &shape)
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
        let task = Task {
            name: "add",
            template: "Add<{shape}>",
            per_width: false,
            limbs: 0,
            to_bits: 0,
            step: 1,
            powers_of_two: false,
        };
        let add = Entry { task, bits: 1024, q: 4, digit: "u64", block: 128 };
        let product = Task { name: "mul_lo", template: "MulLow<{shape}, Classical>", ..task };
        let product = Entry { task: product, bits: 2048, q: 1, digit: "u16", block: 64 };
        let zero = Task { name: "is_zero", template: "IsZero<{shape}>", per_width: true, ..task };
        let zero = Entry { task: zero, ..product };
        assert_eq!(
            translation_unit([add, product, zero]),
            "#include \"kernels.cuh\"\n\nusing namespace gpuint;\n\n\
             GPUINT_KERNEL(gpuint_add_b1024_q4_u64, Add<Shape<u64, 1024, 4, 128>>)\n\
             GPUINT_KERNEL(gpuint_mul_lo_b2048_q1_u16, MulLow<Shape<u16, 2048, 1, 64>, Classical>)\n\
             GPUINT_KERNEL(gpuint_is_zero_b2048, IsZero<Width<2048>>)\n"
        );
    }

    #[test]
    fn kernels_are_offered_at_their_limbs() {
        let task = Task {
            name: "",
            template: "",
            per_width: false,
            limbs: 64,
            to_bits: 0,
            step: 1,
            powers_of_two: false,
        };
        assert!(task.is_offered(1024, "u16") && !task.is_offered(1008, "u16"));
        assert!(task.is_offered(2048, "u64") && !task.is_offered(2016, "u32"));
        let task = Task { per_width: true, ..task };
        assert!(task.is_offered(2048, "u16") && !task.is_offered(1024, "u16"));
        let task = Task { to_bits: 6144, step: 64, ..task };
        assert!(task.is_offered(4096, "u64") && task.is_offered(6144, "u64"));
        assert!(!task.is_offered(3072, "u64") && !task.is_offered(8192, "u64"));
        let task = Task { powers_of_two: true, ..task };
        assert!(task.is_offered(4096, "u64") && !task.is_offered(6144, "u64"));
    }
}
