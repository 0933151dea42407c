//! Kernels as bytes and as text: the images that `build.rs` embedded, and the sources that the
//! run-time compiler starts from.

use crate::backend::Kernel;
use crate::codegen::{self, Entry};

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

/// The translation unit of this kernel, with its own block or another; `None` where the catalogue has
/// no template for it.
pub(crate) fn source(kernel: &Kernel, block: Option<u32>) -> Option<String> {
    let own = kernel.entry()?;
    Some(codegen::translation_unit([Entry { block: block.unwrap_or(own.block), ..own }]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Op;
    use crate::shape::{TASKS, shapes};
    use crate::strategy::{Product, Quotient, Strategy};

    /// Every pair of an operation and a strategy that an operation can ask for.
    fn tasks() -> Vec<(Op, Strategy)> {
        let mut tasks = Vec::new();
        for product in [Product::Classical, Product::Karatsuba, Product::TensorCore] {
            for op in [Op::MulLow, Op::MulWide, Op::SquareLow, Op::ShiftedInverse] {
                tasks.push((op, Strategy::Product(product)));
            }
            for quotient in [Quotient::ShiftedInverse(product), Quotient::Blocked(product)] {
                tasks.push((Op::DivRem, Strategy::Quotient(quotient)));
            }
        }
        for product in [Product::Classical, Product::TensorCore] {
            for op in [Op::Prepare, Op::DivRemBy, Op::MulMod, Op::SquareMod, Op::PowMod] {
                tasks.push((op, Strategy::Product(product)));
            }
        }
        for op in [Op::MulLow, Op::MulWide, Op::SquareLow] {
            tasks.push((op, Strategy::Product(Product::Fft)));
            tasks.push((op, Strategy::Product(Product::Ntt)));
        }
        for op in [
            Op::DivRemDigit,
            Op::Add,
            Op::Sub,
            Op::ShiftLeft,
            Op::ShiftRight,
            Op::Compare,
            Op::Equal,
            Op::Less,
            Op::IsZero,
            Op::BitLength,
        ] {
            tasks.push((op, Strategy::None));
        }
        tasks
    }

    #[test]
    fn the_catalogue_is_what_operations_ask_for() {
        let shape = shapes()[0];
        let mut asked: Vec<String> = tasks()
            .into_iter()
            .map(|(op, strategy)| Kernel { op, strategy, shape }.task())
            .collect();
        asked.sort();
        let mut built: Vec<&str> = TASKS.iter().map(|task| task.name).collect();
        built.sort_unstable();
        assert_eq!(asked, built);
    }

    #[test]
    fn a_kernel_keeps_its_name_with_another_block() {
        let kernel = Kernel { op: Op::Add, strategy: Strategy::None, shape: shapes()[0] };
        let [own, other] = [None, Some(96)].map(|block| source(&kernel, block).unwrap());
        assert_ne!(own, other);
        assert!(other.contains(&format!("GPUINT_KERNEL({kernel}, ")) && other.contains(", 96>"));
    }

    #[test]
    fn kernels_have_the_names_of_their_sources() {
        for &shape in shapes() {
            for (op, strategy) in tasks() {
                let kernel = Kernel { op, strategy, shape };
                let Some(source) = source(&kernel, None) else { continue };
                assert!(source.contains(&format!("GPUINT_KERNEL({kernel}, ")), "{source}");
            }
        }
    }
}
