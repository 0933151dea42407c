//! The search space of `kernels/search.toml` over the shapes and kernels of the catalogue.

use std::collections::BTreeMap;
use std::fmt;

use gpuint::{Device, DigitKind, Op, Shape, Strategy, shapes, tuning};
use gpuint_benches::batches::{TIMED, WIDEST_POWERS};
use gpuint_catalogue::{Algorithm, BLOCK, Kernel, Row, translation_unit};
use gpuint_testkit::ptx::{self, Result};
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// The search space, stored beside the kernels.
const SPACE: &str = include_str!("../../kernels/search.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Space {
    /// Threads per block, by operation.
    blocks: BTreeMap<String, Vec<u32>>,
}

/// A kernel with a block size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variant {
    pub(crate) row: Row<'static>,
    pub(crate) shape: Shape,
    pub(crate) block: u32,
    /// Number of rows of the batch, if they are too few to fill the GPU.
    pub(crate) few_rows: Option<usize>,
    /// True if the build has the kernel with this block size.
    pub(crate) is_own_block: bool,
    /// True if `Auto` selects the strategy.
    pub(crate) is_auto: bool,
    /// True if strategies are compared at the shape.
    pub(crate) is_usual_shape: bool,
}

impl Variant {
    pub(crate) fn kernel(&self) -> Kernel<'static> {
        Kernel { row: self.row, shape: self.shape, block: self.block }
    }

    /// Returns true if the variant is the default.
    pub(crate) fn is_default(&self) -> bool {
        self.is_own_block && self.is_auto && self.is_usual_shape
    }

    /// Hash of the kernel's full text, of its compiler, which is the build's or NVRTC, and of the
    /// number of rows.
    pub(crate) fn key(&self) -> String {
        let mut hash = Sha256::new();
        for (name, text) in tuning::headers() {
            hash.update(name);
            hash.update(text);
        }
        hash.update(translation_unit([self.kernel()]));
        let is_of_the_build = self.is_own_block && tuning::is_embedded(&self.kernel().name());
        hash.update([u8::from(is_of_the_build)]);
        if let Some(rows) = self.few_rows {
            hash.update(rows.to_le_bytes());
        }
        hash.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect()
    }

    /// First the strategies at the default shapes, then on few rows, then their block sizes,
    /// then all other shapes.
    fn rank(&self) -> (bool, bool, Option<usize>, usize, &'static str) {
        let Self { shape, few_rows, .. } = *self;
        (!self.is_usual_shape, !self.is_own_block, few_rows, shape.bits, self.row.op.name())
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, shape: Shape { bits, q, digit }, block, few_rows, .. } = self;
        write!(f, "{row} at {bits} bits")?;
        if let Some(rows) = few_rows {
            write!(f, ", {rows} rows")?;
        }
        if row.per_width { Ok(()) } else { write!(f, ", {digit}, Q = {q}, block {block}") }
    }
}

/// Shape at which the strategies of a width are compared: 64-bit digits and, if it is built, Q = 4,
/// which are the defaults.
fn usual(bits: usize) -> Option<Shape> {
    let usual = Shape { bits, q: 4, digit: DigitKind::U64 };
    let mut of_width = shapes().iter().copied().filter(|shape| shape.bits == bits);
    let first = of_width.clone().next_back();
    of_width.find(|shape| *shape == usual).or(first)
}

/// Returns true if several instances share a block, so that its size matters: `Shape::ROWS` of
/// kernels/core/shape.cuh.
fn shares_block(shape: Shape) -> bool {
    shape.threads() <= 32
}

/// Numbers of rows in which strategies are compared, in rows per multiprocessor: a fraction and its
/// denominator.
const FEW_ROWS: [(usize, usize); 6] = [(1, 32), (1, 4), (1, 1), (4, 1), (16, 1), (64, 1)];

/// Maximum bits of a batch of few rows; larger ones fill every GPU.
const FEW_BITS: usize = 1 << 30;

/// Maximum width of powers of few rows: a row of 16384 bits takes seconds.
const WIDEST_FEW_POWERS: usize = 1 << 13;

/// Returns the strategies at the default shapes, for each of [`FEW_ROWS`], where there are several.
fn of_few_rows(variants: &[Variant], device: &Device, multiprocessors: usize) -> Vec<Variant> {
    let usual = |variant: &&Variant| variant.is_usual_shape && variant.is_own_block;
    let usual: Vec<&Variant> = variants.iter().filter(usual).collect();
    let is_of = |a: &Variant, b: &Variant| (a.row.op, a.shape) == (b.row.op, b.shape);
    let mut few = Vec::new();
    for &variant in &usual {
        let Shape { bits, .. } = variant.shape;
        let is_long = variant.row.op == Op::PowMod && bits > WIDEST_FEW_POWERS;
        if is_long || usual.iter().filter(|other| is_of(other, variant)).count() < 2 {
            continue;
        }
        let counts = FEW_ROWS.map(|(times, of)| (multiprocessors * times / of).max(1));
        let counts = counts.into_iter().filter(|rows| rows * bits <= FEW_BITS);
        few.extend(counts.map(|rows| {
            let auto = device.algorithm(variant.row.op, Strategy::Auto, variant.shape, rows);
            let is_auto = auto == Ok(variant.row.algorithm);
            Variant { few_rows: Some(rows), is_auto, ..*variant }
        }));
    }
    few
}

/// Returns all variants of the requested operations and widths (all if none are requested), the
/// most important ones first.
pub(crate) fn variants(ops: &[String], bits: &[usize], device: &Device) -> Result<Vec<Variant>> {
    let space: Space =
        toml::from_str(SPACE).map_err(|error| format!("kernels/search.toml: {error}"))?;
    let catalogue = ptx::catalogue()?;
    let mut variants = Vec::new();
    // Operands are made of 64-bit digits.
    let whole = shapes().iter().copied().filter(|shape| shape.bits.is_multiple_of(64));
    for shape in whole.filter(|shape| bits.is_empty() || bits.contains(&shape.bits)) {
        let is_usual_shape = usual(shape.bits) == Some(shape);
        // The model has no kernels of long rows.
        let long = TIMED.map(Row::long).into_iter().filter(|_| device.gpu().is_some());
        for row in catalogue.rows().filter(|row| TIMED.contains(&row.op)).chain(long) {
            let is_asked = ops.is_empty() || ops.iter().any(|name| name == row.op.name());
            let is_long = row.op == Op::PowMod && shape.bits > WIDEST_POWERS;
            let is_another = row.per_width && !is_usual_shape;
            if !is_asked || !row.is_offered(shape) || is_long || is_another {
                continue;
            }
            let name = row.to_string();
            let own = match row.algorithm {
                Algorithm::Long => BLOCK,
                _ => tuning::block(&name, shape).ok_or_else(|| format!("{name} is not built"))?,
            };
            let mut blocks = vec![own];
            if shares_block(shape) && !row.per_width {
                let declared = space.blocks.get(row.op.name()).into_iter().flatten().copied();
                blocks.extend(declared.filter(|&block| block != own));
            }
            let auto = device.algorithm(row.op, Strategy::Auto, shape, usize::MAX);
            let is_auto = auto == Ok(row.algorithm);
            variants.extend(blocks.into_iter().map(|block| Variant {
                row,
                shape,
                block,
                few_rows: None,
                is_own_block: block == own,
                is_auto,
                is_usual_shape,
            }));
        }
    }
    if let Some(gpu) = device.gpu() {
        variants.extend(of_few_rows(&variants, device, gpu.multiprocessors as usize));
    }
    variants.sort_by_key(Variant::rank);
    Ok(variants)
}
