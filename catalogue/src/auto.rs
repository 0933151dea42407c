//! The algorithms that `Auto` selects by a tuning table on a GPU.
//!
//! The library selects kernels by these rules, and the build script embeds the kernels that they
//! can select.

use crate::architecture::{Architecture, BASELINES, GpuRates};
use crate::kernel::Index;
use crate::tuning::Table;
use crate::{Algorithm, Op, Product, Row, Shape};

/// Properties of a GPU that decide which algorithms `Auto` selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// The name of the product.
    pub name: String,
    /// Compute capability: 90 is 9.0.
    pub capability: u32,
    /// Maximum shared memory of a block, in bytes.
    pub shared_memory: u32,
    /// Number of multiprocessors.
    pub multiprocessors: u32,
}

impl Gpu {
    /// Compute capabilities of the GPUs that kernels are built for.
    pub const CAPABILITIES: [u32; Architecture::CHECKED.len()] = Architecture::CHECKED;

    /// Describes a GPU of this compute capability, with the shared memory that all of them have.
    #[must_use]
    pub const fn of_capability(capability: u32) -> Self {
        /// Of GPUs before the first architecture of the table.
        const COMMON_KIB: u32 = 48;
        let shared_kib = match Architecture::find(capability) {
            Some(architecture) => architecture.block_kib,
            None => COMMON_KIB,
        };
        Self {
            name: String::new(),
            capability,
            shared_memory: shared_kib << 10,
            multiprocessors: GpuRates::MEASURED.multiprocessors,
        }
    }

    const fn has_fast_doubles(&self) -> bool {
        matches!(Architecture::find(self.capability), Some(known) if known.has_fast_doubles)
    }

    const fn has_fast_bytes(&self) -> bool {
        matches!(Architecture::find(self.capability), Some(known) if known.has_fast_bytes)
    }

    /// Returns true if the units of the GPU suit the products of an algorithm.
    const fn has_units(&self, algorithm: Algorithm) -> bool {
        match algorithm.product() {
            Some(Product::Fft | Product::Fp64) => self.has_fast_doubles(),
            Some(Product::TensorCore | Product::Fused) => self.has_fast_bytes(),
            _ => true,
        }
    }

    /// Returns true if the units of the GPU suit a batch that does not fill it. A division of few
    /// rows waits for its dependent steps, so that slow matrix products of bytes suffice.
    const fn has_units_for_few_rows(&self, op: Op, algorithm: Algorithm) -> bool {
        let is_division = matches!(op, Op::DivRem | Op::DivRemBy);
        let is_of_bytes = matches!(algorithm.product(), Some(Product::TensorCore | Product::Fused));
        let is_known = Architecture::find(self.capability).is_some();
        self.has_units(algorithm) || is_division && is_of_bytes && is_known
    }

    /// Rows that the GPU divides at a time, one warp per row.
    const fn rows_at_a_time(&self) -> usize {
        const WARPS: usize = 16;
        WARPS * self.multiprocessors as usize
    }
}

/// Shared memory of blocks of a kernel: row of the catalogue, shape, bytes by
/// [`Architecture::BASELINES`].
pub type SharedBytes = (usize, Shape, [u32; BASELINES]);

/// The kernels of a build.
#[derive(Debug, Clone, Copy)]
pub struct Offer<'a> {
    /// The rows of the catalogue.
    pub rows: &'a [Row<'a>],
    /// Index of `rows`.
    pub index: &'a Index,
    /// The built shapes.
    pub shapes: &'a [Shape],
    /// Kernels with more shared memory than every GPU has.
    pub shared: &'a [SharedBytes],
}

impl Offer<'_> {
    /// Returns the number of the row of an operation by an algorithm, if it is offered at the
    /// shape. [`Algorithm::Long`] has the numbers after those of the catalogue.
    fn find(&self, op: Op, algorithm: Algorithm, shape: Shape) -> Option<usize> {
        let number = match algorithm {
            Algorithm::Long => self.rows.len() + op as usize,
            _ => self.index.find(op, algorithm)?,
        };
        self.row(number).is_offered(shape).then_some(number)
    }

    /// Returns the row of a number.
    fn row(&self, number: usize) -> Row<'_> {
        match number.checked_sub(self.rows.len()) {
            Some(op) => Row::long(Op::ALL[op]),
            None => self.rows[number],
        }
    }

    /// Returns the rows of an operation that are offered at a shape.
    fn algorithms(&self, op: Op, shape: Shape) -> impl Iterator<Item = usize> {
        let of_op = move |row: &Row<'_>| row.op == op && row.is_offered(shape);
        (0..self.rows.len()).filter(move |&row| of_op(&self.rows[row]))
    }

    /// Returns the shared memory of a block on GPUs of a compute capability, in bytes, from the
    /// recorded resources, at other widths of the next wider one; 0 if it is small or not recorded.
    #[must_use]
    pub fn shared_bytes(&self, row: usize, shape: Shape, capability: u32) -> u32 {
        let per_width = self.row(row).per_width;
        let same = |other: &Shape| per_width || Shape { bits: shape.bits, ..*other } == shape;
        let wider = self.shapes.iter().filter(|other| same(other) && other.bits >= shape.bits);
        let Some(measured) = wider.min_by_key(|other| other.bits) else { return 0 };
        let is_it = |(other, shape, _): &&SharedBytes| {
            *other == row
                && match per_width {
                    true => shape.bits == measured.bits,
                    false => shape == measured,
                }
        };
        let found = self.shared.iter().find(is_it);
        let bytes = found.map_or([0; BASELINES], |entry| entry.2);
        if capability > Architecture::NEWEST.capability {
            // Newer GPUs run code without the features specific to the newest baseline.
            return bytes.into_iter().max().unwrap_or(0);
        }
        let known = Architecture::BASELINES.partition_point(|it| it.capability <= capability);
        bytes[known.saturating_sub(1)]
    }

    /// Returns true if a block of the kernel has enough shared memory.
    fn fits(&self, row: usize, shape: Shape, gpu: &Gpu) -> bool {
        self.shared_bytes(row, shape, gpu.capability) <= gpu.shared_memory
    }

    /// Returns true if the kernel suits the GPU.
    #[must_use]
    pub fn suits(&self, row: usize, shape: Shape, gpu: &Gpu) -> bool {
        gpu.has_units(self.row(row).algorithm) && self.fits(row, shape, gpu)
    }

    /// Returns true if the kernel suits the GPU for a batch that does not fill it.
    fn suits_few_rows(&self, row: usize, shape: Shape, gpu: &Gpu) -> bool {
        let Row { op, algorithm, .. } = self.row(row);
        gpu.has_units_for_few_rows(op, algorithm) && self.fits(row, shape, gpu)
    }

    /// Returns the algorithm of the table if it is offered and suits the GPU, else the first
    /// algorithm that does. (A choice of a table covers a range of widths, and its algorithm may be
    /// offered at only some of them.) If no algorithm suits, returns the first that is offered: its
    /// launch reports the missing resource.
    fn first_suitable(
        &self,
        op: Op,
        shape: Shape,
        tuned: Option<Algorithm>,
        gpu: Option<&Gpu>,
    ) -> Option<usize> {
        // Without double precision transforms, number-theoretic transforms come next from 2^18 bits
        // on, and from 2^17 on without tensor cores.
        let products = match shape.bits {
            ..0x2_0000 => [Product::TensorCore, Product::Classical, Product::Ntt],
            0x2_0000..0x4_0000 => [Product::TensorCore, Product::Ntt, Product::Classical],
            _ => [Product::Ntt, Product::TensorCore, Product::Classical],
        };
        // Integer multipliers come first for the narrow modular operations that have them.
        let others = [Product::Imad].into_iter().chain(products).flat_map(|product| match tuned {
            // Divisions by prepared divisors are in blocks by one product only.
            Some(tuned) => [tuned.with_product(product), Algorithm::By(product)],
            None => [Algorithm::Blocked(product), Algorithm::By(product)],
        });
        let candidates: Vec<usize> = tuned
            .into_iter()
            .chain([Algorithm::Only])
            .chain(others)
            .filter_map(|algorithm| self.find(op, algorithm, shape))
            .chain(self.algorithms(op, shape))
            .chain(self.find(op, Algorithm::Long, shape))
            .collect();
        let suits = |&&row: &&usize| gpu.is_none_or(|gpu| self.suits(row, shape, gpu));
        candidates.iter().find(suits).or(candidates.first()).copied()
    }
}

/// Choice for batches of few rows.
#[derive(Debug)]
struct Few {
    op: Op,
    /// Maximum number of rows of a batch.
    rows: usize,
    /// Row of the catalogue.
    row: usize,
}

/// A tuning table on a device: the rules that select the kernels of every shape.
#[derive(Debug)]
pub struct Rules {
    /// By operation: algorithms, each with the last width at which it is chosen.
    ranges: [Vec<(usize, Algorithm)>; Op::COUNT],
    /// For few rows: operation, widths, maximum number of rows, algorithm.
    few: Vec<(Op, [usize; 2], usize, Algorithm)>,
    gpu: Option<Gpu>,
}

impl Rules {
    /// Derives the rules of a table, for a GPU or for devices that are not GPUs.
    #[must_use]
    pub fn new(table: &Table, gpu: Option<&Gpu>) -> Self {
        let mut ranges = [const { Vec::new() }; Op::COUNT];
        for &op in Op::ALL {
            ranges[op as usize] = table.everywhere(op);
        }
        // A GPU with more multiprocessors needs more rows to be full.
        let scale = |rows: usize| match gpu {
            Some(gpu) if table.multiprocessors > 0 => {
                rows * gpu.multiprocessors as usize / table.multiprocessors as usize
            }
            _ => rows,
        };
        let few =
            table.few_rows().map(|(op, bits, rows, algorithm)| (op, bits, scale(rows), algorithm));
        Self { ranges, few: few.collect(), gpu: gpu.cloned() }
    }

    /// Returns the kernels at a shape, measured or not: the rules are ranges of widths.
    #[must_use]
    pub fn at(&self, shape: Shape, offer: &Offer<'_>) -> Selection {
        let gpu = self.gpu.as_ref();
        let (mut kernels, mut few) = ([None; Op::COUNT], Vec::new());
        for &op in Op::ALL {
            let ranges = &self.ranges[op as usize];
            let index = ranges.partition_point(|range| range.0 < shape.bits);
            let tuned = ranges.get(index).map(|range| range.1);
            kernels[op as usize] = offer.first_suitable(op, shape, tuned, gpu);
            let (Some(gpu), Some(algorithm)) = (gpu, tuned) else { continue };
            let row = offer.find(op, algorithm, shape).filter(|&row| {
                !offer.suits(row, shape, gpu) && offer.suits_few_rows(row, shape, gpu)
            });
            few.extend(row.map(|row| Few { op, rows: gpu.rows_at_a_time(), row }));
        }
        for &(op, [from, to], rows, algorithm) in &self.few {
            if !(from..=to).contains(&shape.bits) {
                continue;
            }
            let suits = |&row: &usize| gpu.is_none_or(|gpu| offer.suits_few_rows(row, shape, gpu));
            let row = offer.find(op, algorithm, shape).filter(suits);
            few.extend(row.map(|row| Few { op, rows, row }));
        }
        few.sort_by_key(|few| few.rows);
        Selection { kernels, few }
    }
}

/// Rows of the catalogue that `Auto` selects at a shape.
#[derive(Debug)]
pub struct Selection {
    /// By operation; `None` where the catalogue offers none.
    kernels: [Option<usize>; Op::COUNT],
    /// In ascending order of `rows`.
    few: Vec<Few>,
}

impl Selection {
    /// Returns the number of the row for an operation on a batch; `None` if the catalogue offers
    /// none.
    #[must_use]
    pub fn row(&self, op: Op, rows: usize) -> Option<usize> {
        let few = self.few.iter().find(|few| few.op == op && rows <= few.rows);
        few.map_or(self.kernels[op as usize], |few| Some(few.row))
    }

    /// Returns the rows for batches of any size, with those of [`Algorithm::Long`] after the
    /// catalogue's.
    pub fn rows(&self) -> impl Iterator<Item = usize> {
        let few = self.few.iter().map(|few| few.row);
        self.kernels.iter().flatten().copied().chain(few)
    }
}
