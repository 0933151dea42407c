//! Kernels, and the text of CUDA translation units.
//!
//! The build script (for nvcc and for the host compiler), the run-time compiler and the tests share
//! this text, so that all of them compile the same kernel.

use std::collections::BTreeSet;
use std::fmt;

use crate::{Algorithm, DigitKind, Op, Shape};

/// Number of threads per block that kernels aim at, unless a tuning table has another one.
pub const BLOCK: u32 = 128;

/// Row of `kernels/catalogue.toml`: an operation by an algorithm, and the widths at which it is
/// offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    /// The operation.
    pub op: Op,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The header that a unit with the kernel includes: `dispatch/mul/classical.cuh`.
    pub header: &'a str,
    /// The C++ template: `MulLo<{shape}, Classical>`.
    pub template: &'a str,
    /// True if one kernel serves all shapes of a width, because digits and Q make no difference.
    pub per_width: bool,
    /// Minimum number of limbs (16 bits for 16-bit digits, else 32).
    pub limbs: usize,
    /// Maximum number of bits; 0 for no limit.
    pub to_bits: usize,
    /// Widths are multiples of this number of limbs.
    pub step: usize,
    /// True if widths must be powers of two.
    pub powers_of_two: bool,
    /// Shapes at which the kernel aims at another number of threads per block than [`BLOCK`].
    pub blocks: &'a [(Shape, u32)],
}

impl Row<'static> {
    /// Returns the row of an operation by [`Algorithm::Long`], which has no template: it is
    /// composed of the kernels of long rows.
    #[must_use]
    pub const fn long(op: Op) -> Self {
        Self {
            op,
            algorithm: Algorithm::Long,
            header: "",
            template: "",
            per_width: true,
            limbs: 0,
            to_bits: 0,
            step: 1,
            powers_of_two: false,
            blocks: &[],
        }
    }
}

impl<'a> Row<'a> {
    /// Returns true if the kernel is offered at a shape.
    #[must_use]
    pub const fn is_offered(&self, shape: Shape) -> bool {
        if matches!(self.algorithm, Algorithm::Long) {
            const MIN_BITS: usize = 1 << 19;
            let has_words = shape.bits >= MIN_BITS && shape.bits.is_multiple_of(64);
            return match shape.is_long() {
                true => shape.is_valid(),
                false => is_product_of_few(self.op) && has_words,
            };
        }
        let bits = shape.bits;
        let has_wide_limbs = self.per_width && bits.is_multiple_of(32);
        let limb = match shape.digit {
            DigitKind::U16 if !has_wide_limbs => 16,
            _ => 32,
        };
        bits >= self.limbs * limb
            && (self.to_bits == 0 || bits <= self.to_bits)
            && bits.is_multiple_of(self.step * limb)
            && (!self.powers_of_two || bits.is_power_of_two())
    }

    /// Returns the kernel at a shape.
    #[must_use]
    pub fn at(self, shape: Shape) -> Kernel<'a> {
        let block = self.blocks.iter().find(|other| other.0 == shape);
        Kernel { row: self, shape, block: block.map_or(BLOCK, |other| other.1) }
    }
}

/// Returns true for the products that [`Algorithm::Long`] offers also at shapes that have kernels
/// of their own: a block for each row leaves most of a GPU idle where a batch has few rows.
pub(crate) const fn is_product_of_few(op: Op) -> bool {
    matches!(op, Op::MulLo | Op::MulWide | Op::SquareLo)
}

/// Key of the row in the catalogue: `mul_lo_classical`, `add`.
impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&name(self.op, self.algorithm))
    }
}

/// Name of an operation by an algorithm: `mul_lo_classical`, `add`.
#[must_use]
pub fn name(op: Op, algorithm: Algorithm) -> String {
    match algorithm {
        Algorithm::Only => op.name().to_owned(),
        _ => format!("{op}_{algorithm}"),
    }
}

/// Parses the name of an operation by an algorithm.
#[must_use]
pub fn parse(name: &str) -> Option<(Op, Algorithm)> {
    Op::ALL.iter().find_map(|&op| {
        let rest = name.strip_prefix(op.name())?;
        let algorithm = if rest.is_empty() { rest } else { rest.strip_prefix('_')? };
        if algorithm.is_empty() != rest.is_empty() {
            return None;
        }
        Algorithm::parse(algorithm).map(|algorithm| (op, algorithm))
    })
}

/// Rows of a catalogue by operation and algorithm: the number of the row plus 1, or 0.
#[derive(Debug)]
pub struct Index([[u8; Algorithm::COUNT]; Op::COUNT]);

impl Index {
    /// Numbers the rows.
    ///
    /// # Panics
    /// If there are more than 255 rows.
    #[must_use]
    pub const fn new(rows: &[Row<'_>]) -> Self {
        assert!(rows.len() < 256, "a row has a number of 8 bits");
        let mut numbers = [[0; Algorithm::COUNT]; Op::COUNT];
        let mut row = 0;
        while row < rows.len() {
            numbers[rows[row].op as usize][rows[row].algorithm.index()] = row as u8 + 1;
            row += 1;
        }
        Self(numbers)
    }

    /// Returns the number of the row of an operation by an algorithm.
    #[must_use]
    pub const fn find(&self, op: Op, algorithm: Algorithm) -> Option<usize> {
        match self.0[op as usize][algorithm.index()] {
            0 => None,
            number => Some(number as usize - 1),
        }
    }
}

/// A kernel in a translation unit.
#[derive(Debug, Clone, Copy)]
pub struct Kernel<'a> {
    /// The row of the catalogue.
    pub row: Row<'a>,
    /// The shape.
    pub shape: Shape,
    /// Threads per block that the kernel aims at.
    pub block: u32,
}

impl Kernel<'_> {
    /// Name of the entry point: `gpuint_mul_lo_classical_b8192_q4_u64`.
    #[must_use]
    pub fn name(&self) -> String {
        let Self { row, shape, .. } = self;
        if row.per_width {
            format!("gpuint_{row}_b{}", shape.bits)
        } else {
            format!("gpuint_{row}_{shape}")
        }
    }

    /// Returns the template with its shape filled in.
    fn instance(&self) -> String {
        let Self { row, shape: Shape { bits, q, digit }, block } = self;
        let shape = if row.per_width {
            format!("Width<{bits}>")
        } else {
            format!("Shape<{digit}, {bits}, {q}, {block}>")
        };
        row.template.replace("{shape}", &shape)
    }
}

/// A kernel of long rows: its launches have arguments and grids of their own, and no shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongKernel<'a> {
    /// Key of the kernel in the catalogue: `carries`.
    pub name: &'a str,
    /// The header that a unit with the kernel includes: `long/carries.cuh`.
    pub header: &'a str,
    /// The C++ type: `long_rows::Carries`.
    pub operation: &'a str,
}

/// Name of the entry point: `gpuint_long_carries`.
impl fmt::Display for LongKernel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gpuint_long_{}", self.name)
    }
}

/// An entry point of a translation unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Name of the kernel.
    pub name: String,
    /// The header that a unit with the kernel includes.
    pub header: &'a str,
    /// The C++ type of the operation.
    pub operation: String,
    /// Width of its rows; `usize::MAX` for long rows.
    pub bits: usize,
}

impl<'a> From<Kernel<'a>> for Entry<'a> {
    fn from(kernel: Kernel<'a>) -> Self {
        Self {
            name: kernel.name(),
            header: kernel.row.header,
            operation: kernel.instance(),
            bits: kernel.shape.bits,
        }
    }
}

impl<'a> From<LongKernel<'a>> for Entry<'a> {
    fn from(kernel: LongKernel<'a>) -> Self {
        let LongKernel { header, operation, .. } = kernel;
        let name = kernel.to_string();
        Self { name, header, operation: operation.to_owned(), bits: usize::MAX }
    }
}

/// Headers with the names that every unit uses: `GPUINT_KERNEL`, and `Shape` and `Width`.
const OF_ALL_UNITS: [&str; 2] = ["core/abi.cuh", "core/shape.cuh"];

/// Returns the translation unit of these kernels, which includes their headers.
#[must_use]
pub fn translation_unit<'a>(kernels: impl IntoIterator<Item: Into<Entry<'a>>>) -> String {
    let mut headers = BTreeSet::from(OF_ALL_UNITS);
    let mut lines = String::new();
    for kernel in kernels {
        let Entry { name, header, operation, .. } = kernel.into();
        headers.insert(header);
        lines += &format!("GPUINT_KERNEL({name}, {operation})\n");
    }
    let includes: String =
        headers.iter().map(|header| format!("#include \"{header}\"\n")).collect();
    format!("{includes}\nusing namespace gpuint;\n\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Product;

    const ADD: Row<'_> = Row {
        op: Op::Add,
        algorithm: Algorithm::Only,
        header: "linear/add.cuh",
        template: "Add<{shape}>",
        per_width: false,
        limbs: 0,
        to_bits: 0,
        step: 1,
        powers_of_two: false,
        blocks: &[],
    };

    fn shape(bits: usize, q: usize, digit: DigitKind) -> Shape {
        Shape { bits, q, digit }
    }

    #[test]
    fn kernels_are_instances_of_their_templates() {
        const NARROW: Shape = Shape { bits: 2048, q: 1, digit: DigitKind::U16 };
        let product = Row {
            op: Op::MulLo,
            algorithm: Algorithm::By(Product::Classical),
            header: "dispatch/mul/classical.cuh",
            template: "MulLo<{shape}, Classical>",
            blocks: &[(NARROW, 64)],
            ..ADD
        };
        let zero =
            Row { op: Op::IsZeroMask, template: "IsZeroMask<{shape}>", per_width: true, ..ADD };
        assert_eq!(
            translation_unit([
                ADD.at(shape(1024, 4, DigitKind::U64)),
                product.at(NARROW),
                zero.at(NARROW),
            ]),
            "#include \"core/abi.cuh\"\n#include \"core/shape.cuh\"\n\
             #include \"dispatch/mul/classical.cuh\"\n#include \"linear/add.cuh\"\n\n\
             using namespace gpuint;\n\n\
             GPUINT_KERNEL(gpuint_add_b1024_q4_u64, Add<Shape<u64, 1024, 4, 128>>)\n\
             GPUINT_KERNEL(gpuint_mul_lo_classical_b2048_q1_u16, MulLo<Shape<u16, 2048, 1, 64>, \
             Classical>)\n\
             GPUINT_KERNEL(gpuint_is_zero_mask_b2048, IsZeroMask<Width<2048>>)\n"
        );
    }

    #[test]
    fn kernels_are_offered_at_their_limbs() {
        let [u16, u32, u64] = DigitKind::ALL;
        let offers = |row: &Row<'_>, bits, digit| row.is_offered(shape(bits, 1, digit));
        let row = Row { limbs: 64, ..ADD };
        assert!(offers(&row, 1024, u16) && !offers(&row, 1008, u16));
        assert!(offers(&row, 2048, u64) && !offers(&row, 2016, u32));
        let row = Row { per_width: true, ..row };
        assert!(offers(&row, 2048, u16) && !offers(&row, 1024, u16));
        let row = Row { to_bits: 6144, step: 64, ..row };
        assert!(offers(&row, 4096, u64) && offers(&row, 6144, u64));
        assert!(!offers(&row, 3072, u64) && !offers(&row, 8192, u64));
        let row = Row { powers_of_two: true, ..row };
        assert!(offers(&row, 4096, u64) && !offers(&row, 6144, u64));
    }

    #[test]
    fn names_are_parsed_into_operation_and_algorithm() {
        for &op in Op::ALL {
            for algorithm in [Algorithm::Only, Algorithm::Blocked(Product::Ntt)] {
                assert_eq!(parse(&name(op, algorithm)), Some((op, algorithm)));
            }
        }
        for unknown in ["adds", "add_", "div_rem_by_digit", "mul_lo_fast", ""] {
            assert_eq!(parse(unknown), None, "{unknown}");
        }
    }
}
