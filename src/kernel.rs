//! Kernels as data: an operation, an algorithm and a shape identify a kernel.
//!
//! `build.rs` writes the rows and the index from operation and algorithm to row, so that a lookup
//! takes two array accesses. The name of a kernel is formatted only to load or show it.

use std::fmt;

use gpuint_catalogue::{Algorithm, BLOCK, Kernel, Op, Row, Shape};

use crate::shape::{INDEX, OTHER_BLOCKS, ROWS, SHAPES, SHARED_BYTES};

/// A kernel that the catalogue offers: a row of [`ROWS`] and a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct KernelId {
    row: u8,
    shape: Shape,
}

impl KernelId {
    /// Returns the kernel of an operation by an algorithm; `None` where the catalogue does not
    /// offer it at the shape.
    pub(crate) const fn find(op: Op, algorithm: Algorithm, shape: Shape) -> Option<Self> {
        match INDEX[op as usize][algorithm.index()].checked_sub(1) {
            Some(row) if ROWS[row as usize].is_offered(shape) => Some(Self { row, shape }),
            _ => None,
        }
    }

    /// Row of the catalogue.
    pub(crate) const fn row(self) -> &'static Row<'static> {
        &ROWS[self.row as usize]
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
        let own = || block_of(usize::from(self.row), self.shape);
        self.row().kernel(self.shape, block.unwrap_or_else(own))
    }
}

/// Name of the kernel's entry point: `gpuint_mul_lo_classical_b8192_q4_u64`.
impl fmt::Display for KernelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source(Some(BLOCK)).name())
    }
}

/// Returns the built shape that a shape takes its measured choices from: itself, or the next wider
/// one with the same digits and `Q`.
fn measured(shape: Shape) -> Option<Shape> {
    let same = |other: &Shape| Shape { bits: shape.bits, ..*other } == shape;
    let wider = SHAPES.iter().copied().filter(|other| same(other) && other.bits >= shape.bits);
    wider.min_by_key(|other| other.bits)
}

/// Threads per block that the kernel of a row aims at in this build.
pub(crate) fn block_of(row: usize, shape: Shape) -> u32 {
    let measured = measured(shape);
    let other = OTHER_BLOCKS.iter().find(|other| other.0 == row && Some(other.1) == measured);
    other.map_or(BLOCK, |other| other.2)
}

/// Shared memory of a block of the kernel on GPUs of a compute capability, in bytes, from the
/// recorded resources, at other widths of the next wider one; 0 if it is small or not recorded.
pub(crate) fn shared_bytes(kernel: KernelId, capability: u32) -> u32 {
    let measured = if kernel.row().per_width {
        let wider = SHAPES.iter().copied().filter(|shape| shape.bits >= kernel.shape.bits);
        wider.min_by_key(|shape| shape.bits)
    } else {
        measured(kernel.shape)
    };
    let Some(measured) = measured else { return 0 };
    let is_it = |(row, shape, _): &&(usize, Shape, [u32; 2])| {
        *row == usize::from(kernel.row)
            && match kernel.row().per_width {
                true => shape.bits == measured.bits,
                false => *shape == measured,
            }
    };
    let [on_80, on_90] = SHARED_BYTES.iter().find(is_it).map_or([0; 2], |entry| entry.2);
    match capability {
        ..90 => on_80,
        90 => on_90,
        // Newer GPUs run code without the features specific to 9.0.
        _ => on_80.max(on_90),
    }
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

/// The algorithms that the catalogue offers for an operation at a shape.
pub fn algorithms(op: Op, shape: Shape) -> impl Iterator<Item = Algorithm> {
    ROWS.iter().filter(move |row| row.op == op && row.is_offered(shape)).map(|row| row.algorithm)
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
            assert!(ROWS.iter().any(|row| row.op == *op), "{op}");
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
