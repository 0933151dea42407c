//! The kernels that nvcc compiles into the crate.
//!
//! - `GPUINT_KERNELS`: `auto` (default) or `all`. `auto` embeds the kernels that `Auto` selects on
//!   GPUs of `GPUINT_ARCHS` at the usual shape of each width and at those of `GPUINT_SHAPES`, and,
//!   for every digit and Q, those of the paper: division by the shifted inverse, and the classical
//!   product. NVRTC compiles the others at their first use.

use std::collections::BTreeSet;

use gpuint_catalogue::auto::{Gpu, Offer, Rules};
use gpuint_catalogue::kernel::Index;
use gpuint_catalogue::{Algorithm, Kernel, Op, Product, Row};

use crate::{Build, Result, variable};

/// Selects the kernels that are embedded.
pub(crate) fn embedded<'a>(build: &'a Build, capabilities: &[u32]) -> Result<Vec<Kernel<'a>>> {
    match variable("GPUINT_KERNELS").as_deref() {
        None | Some("auto") => Ok(by_auto(build, capabilities)),
        Some("all") => Ok(build.catalogue.kernels().collect()),
        Some(other) => Err(format!("GPUINT_KERNELS: \"{other}\" is neither auto nor all")),
    }
}

/// Selects the kernels of `Auto` by every tuning table on GPUs of these compute capabilities, and
/// the paper's own.
fn by_auto<'a>(build: &'a Build, capabilities: &[u32]) -> Vec<Kernel<'a>> {
    let rows: Vec<_> = build.catalogue.rows().collect();
    let shapes: Vec<_> = build.catalogue.shapes().collect();
    let (index, shared) = (Index::new(&rows), build.shared_bytes());
    let offer = Offer { rows: &rows, index: &index, shapes: &shapes, shared: &shared };
    let mut names = BTreeSet::new();
    for gpu in capabilities.iter().map(|&capability| Gpu::of_capability(capability)) {
        for rules in build.tables.iter().map(|table| Rules::new(&table.table, Some(&gpu))) {
            for shape in build.catalogue.usual_shapes() {
                let selection = rules.at(shape, &offer);
                // Kernels of long rows are embedded at any rate.
                let known = selection.rows().filter_map(|row| rows.get(row));
                names.extend(known.map(|row| row.at(shape).name()));
            }
        }
    }
    let is_embedded =
        |kernel: &Kernel<'_>| is_of_the_paper(&kernel.row) || names.contains(&kernel.name());
    build.catalogue.kernels().filter(is_embedded).collect()
}

/// Returns true for the paper's division, with the shifted inverse as a result of its own, and for
/// its product.
const fn is_of_the_paper(row: &Row<'_>) -> bool {
    match (row.op, row.algorithm) {
        (Op::DivRem, Algorithm::ShiftedInverse(product))
        | (Op::ShiftedInverse, Algorithm::By(product)) => !matches!(product, Product::Karatsuba),
        (Op::MulLo, Algorithm::By(product)) => matches!(product, Product::Classical),
        // `Auto` divides by it, whatever the table.
        (Op::ShiftedInverse, Algorithm::Blocked(_)) => true,
        _ => false,
    }
}
