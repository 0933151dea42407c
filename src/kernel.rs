//! Kernels as data: an operation, an algorithm and a shape identify a kernel.
//!
//! `build.rs` writes the rows. An index from operation and algorithm to row makes a lookup take two
//! array accesses. The name of a kernel is formatted only to load or show it.

use std::fmt;

use gpuint_catalogue::auto::Offer;
use gpuint_catalogue::kernel::Index;
use gpuint_catalogue::{Algorithm, Kernel, LongKernel, MAX_BITS, Op, Row, Shape, translation_unit};

use crate::error::Error;
use crate::shape::{LONG_KERNELS, ROWS, SHAPES, SHARED_BYTES};

static INDEX: Index = Index::new(ROWS);

/// The kernels of this build.
pub(crate) static OFFER: Offer<'static> =
    Offer { rows: ROWS, index: &INDEX, shapes: SHAPES, shared: SHARED_BYTES };

/// A kernel that the catalogue offers: a row of [`ROWS`] and a shape. Or an operation by
/// [`Algorithm::Long`], which has a row of [`LONG_ROWS`] and no template: backends compute it by
/// means of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct KernelId {
    /// Index in [`ROWS`], or their number more than an index in [`LONG_ROWS`].
    row: u8,
    shape: Shape,
}

/// Rows of operations on long shapes, in the order of the operations.
static LONG_ROWS: [Row<'static>; Op::COUNT] = {
    let mut rows = [Row {
        op: Op::Add,
        algorithm: Algorithm::Long,
        header: "",
        template: "",
        per_width: true,
        limbs: 0,
        to_bits: 0,
        step: 1,
        powers_of_two: false,
        blocks: &[],
    }; Op::COUNT];
    let mut index = 0;
    while index < Op::COUNT {
        rows[index].op = Op::ALL[index];
        index += 1;
    }
    rows
};
const _: () = assert!(ROWS.len() + LONG_ROWS.len() <= u8::MAX as usize);

impl KernelId {
    /// Returns the kernel of an operation by an algorithm; `None` where the catalogue does not
    /// offer it at the shape. Long shapes have [`Algorithm::Long`] only.
    pub(crate) const fn find(op: Op, algorithm: Algorithm, shape: Shape) -> Option<Self> {
        match algorithm {
            Algorithm::Long if shape.is_long() && shape.is_valid() => {
                return Some(Self::long(op, shape));
            }
            _ if shape.is_long() => return None,
            _ => {}
        }
        match INDEX.find(op, algorithm) {
            Some(row) if ROWS[row].is_offered(shape) => Some(Self::of(row, shape)),
            _ => None,
        }
    }

    /// Returns an operation by [`Algorithm::Long`], which the CPU has at every width.
    pub(crate) const fn long(op: Op, shape: Shape) -> Self {
        Self { row: (ROWS.len() + op as usize) as u8, shape }
    }

    /// Returns the kernel of a row that is offered at the shape.
    pub(crate) const fn of(row: usize, shape: Shape) -> Self {
        Self { row: row as u8, shape }
    }

    /// Row of the catalogue, or of the operations on long shapes.
    pub(crate) const fn row(self) -> &'static Row<'static> {
        match (self.row as usize).checked_sub(ROWS.len()) {
            Some(op) => &LONG_ROWS[op],
            None => &ROWS[self.row as usize],
        }
    }

    /// Checks that the kernel is one of the catalogue.
    ///
    /// # Errors
    /// [`WidthMissing`](Error::WidthMissing) with the operation and its widest built shape.
    pub(crate) fn check_catalogue(self) -> Result<(), Error> {
        let Row { op, algorithm, .. } = *self.row();
        if algorithm != Algorithm::Long {
            return Ok(());
        }
        let offered = SHAPES.iter().filter(|shape| algorithms(op, **shape).next().is_some());
        let widest = offered.map(|shape| shape.bits).max().unwrap_or(MAX_BITS);
        Err(Error::WidthMissing { operation: op.name(), bits: self.shape.bits, widest })
    }

    /// Number of the row.
    #[cfg(test)]
    pub(crate) const fn row_number(self) -> usize {
        self.row as usize
    }

    pub(crate) const fn op(self) -> Op {
        self.row().op
    }

    pub(crate) const fn shape(self) -> Shape {
        self.shape
    }

    /// Returns the kernels that are compiled together: those of one header.
    #[cfg(feature = "simt")]
    pub(crate) fn unit(self) -> impl Iterator<Item = Self> {
        let group = |row: &Row<'static>| (row.per_width, row.header);
        let rows = ROWS.iter().filter(move |row| group(row) == group(self.row()));
        rows.filter_map(move |row| Self::find(row.op, row.algorithm, self.shape))
    }

    /// The kernel in a translation unit, with the block of the build or another one.
    pub(crate) fn source(self, block: Option<u32>) -> Kernel<'static> {
        let own = self.row().at(self.shape);
        Kernel { block: block.unwrap_or(own.block), ..own }
    }
}

/// Name of the kernel's entry point: `gpuint_mul_lo_classical_b8192_q4_u64`.
impl fmt::Display for KernelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source(None).name())
    }
}

/// A kernel of long rows: an index of [`LONG_KERNELS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LongKernelId(u8);

impl LongKernelId {
    /// Returns the kernel with this name in the catalogue.
    pub(crate) fn find(name: &str) -> Option<Self> {
        let found = LONG_KERNELS.binary_search_by_key(&name, |kernel| kernel.name).ok()?;
        u8::try_from(found).ok().map(Self)
    }

    fn kernel(self) -> LongKernel<'static> {
        LONG_KERNELS[usize::from(self.0)]
    }
}

/// A kernel to compile and load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Instance {
    /// Of an operation, with its own threads per block or others.
    Operation { kernel: KernelId, block: Option<u32> },
    /// Of long rows.
    Long(LongKernelId),
}

impl Instance {
    /// Returns true for the kernel of the catalogue, which images of the build hold.
    pub(crate) const fn is_as_built(self) -> bool {
        !matches!(self, Self::Operation { block: Some(_), .. })
    }

    /// The translation unit of the kernel by itself.
    pub(crate) fn source(self) -> String {
        match self {
            Self::Operation { kernel, block } => translation_unit([kernel.source(block)]),
            Self::Long(kernel) => translation_unit([kernel.kernel()]),
        }
    }
}

impl From<KernelId> for Instance {
    fn from(kernel: KernelId) -> Self {
        Self::Operation { kernel, block: None }
    }
}

/// Name of the entry point.
impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operation { kernel, .. } => kernel.fmt(f),
            Self::Long(kernel) => kernel.kernel().fmt(f),
        }
    }
}

/// Returns the kernels of the built shapes; kernels of a width once for each shape of it.
pub(crate) fn all_kernels() -> impl Iterator<Item = KernelId> {
    let at = |&shape: &Shape| {
        let rows = (0..ROWS.len()).filter(move |&row| ROWS[row].is_offered(shape));
        rows.map(move |row| KernelId::of(row, shape))
    };
    SHAPES.iter().flat_map(at)
}

/// Returns true if the catalogue has a kernel of this algorithm for the operation and the shape.
///
/// [`Product::Classical`](crate::Product::Classical) is not offered at every width: from 2^19 bits
/// on, products are by [`Product::Ntt`](crate::Product::Ntt) and divisions by
/// [`Blocked<Fft>`](crate::Blocked). Every device returns
/// [`KernelMissing`](crate::Error::KernelMissing) for an operation that is not offered.
///
/// ```
/// use gpuint::{Algorithm, GpuUint, Kernels, Op, Product, is_offered};
///
/// let shape = GpuUint::<1024>::SHAPE;
/// assert!(is_offered(Op::MulLo, Algorithm::By(Product::Classical), shape));
/// assert!(!is_offered(Op::MulLo, Algorithm::By(Product::Karatsuba), shape));
/// ```
#[must_use]
pub const fn is_offered(op: Op, algorithm: Algorithm, shape: Shape) -> bool {
    KernelId::find(op, algorithm, shape).is_some()
}

/// The algorithms that the catalogue offers for an operation at a shape: [`Algorithm::Long`] at a
/// long one.
pub fn algorithms(op: Op, shape: Shape) -> impl Iterator<Item = Algorithm> {
    let is_long = shape.is_long();
    let rows = ROWS.iter().filter(move |row| !is_long && row.op == op && row.is_offered(shape));
    let long = (is_long && shape.is_valid()).then_some(Algorithm::Long);
    rows.map(|row| row.algorithm).chain(long)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes;

    #[test]
    fn index_finds_every_row_at_every_shape() {
        for &shape in shapes() {
            for row in ROWS {
                let found = KernelId::find(row.op, row.algorithm, shape);
                assert_eq!(found.is_some(), row.is_offered(shape), "{row} at {shape}");
                assert!(found.is_none_or(|kernel| kernel.row() == row), "{row} at {shape}");
            }
        }
    }

    #[test]
    fn every_operation_has_a_row() {
        for op in Op::ALL {
            // Cyclic products of built shapes are composed.
            let has_row = ROWS.iter().any(|row| row.op == *op);
            assert_eq!(has_row, *op != Op::MulCyclic, "{op}");
        }
    }

    #[test]
    fn long_shape_has_one_algorithm() {
        let shape = Shape::long(1 << 21).unwrap();
        for &op in Op::ALL {
            let kernel = KernelId::find(op, Algorithm::Long, shape).unwrap();
            assert_eq!((kernel.op(), kernel.row().algorithm), (op, Algorithm::Long));
            assert_eq!(algorithms(op, shape).collect::<Vec<_>>(), [Algorithm::Long]);
            let error = kernel.check_catalogue().unwrap_err();
            assert!(matches!(error, Error::WidthMissing { bits: 0x20_0000, .. }), "{error}");
            for row in ROWS {
                assert_eq!(KernelId::find(op, row.algorithm, shape), None, "{row}");
            }
        }
    }

    #[test]
    fn kernel_keeps_its_name_with_another_block() {
        let kernel = KernelId::find(Op::Add, Algorithm::Only, shapes()[0]).unwrap();
        assert_eq!(kernel.source(None).name(), kernel.source(Some(96)).name());
        assert_ne!(kernel.source(None).block, 96);
        assert_eq!(kernel.to_string(), kernel.source(None).name());
    }
}
