//! The algorithms that [`Auto`](crate::Auto) selects, decided for each operation and shape when a
//! device is opened.
//!
//! A GPU uses the first of these tuning tables that exists:
//! 1. the table that `GPUINT_TUNING` names at run time;
//! 2. the table measured on this GPU, found by its name;
//! 3. a table measured on another GPU of its compute capability;
//! 4. the table of the build, adapted to the rates of the GPU: no Fourier transforms where double
//!    precision is slow, no tensor cores where their integer products are slow, and no kernel that
//!    needs more shared memory than the GPU has.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, RwLock};
use std::{env, fs};

pub use gpuint_catalogue::auto::Gpu;
use gpuint_catalogue::auto::{Rules, Selection};
use gpuint_catalogue::tuning::Table;
use gpuint_catalogue::{Op, Shape};
use once_cell::race::OnceBox;

use crate::error::{Error, Result};
use crate::kernel::{KernelId, OFFER, ROWS};
use crate::shape::SHAPES;

/// Written by the build script.
mod embedded {
    include!(concat!(env!("OUT_DIR"), "/tuning.rs"));
}

/// Variable that names the tuning table for opened GPUs: a built-in table or a file.
const VARIABLE: &str = "GPUINT_TUNING";

/// The relation of a device to its tuning table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TuningFit {
    /// The table was measured on this GPU.
    Measured,
    /// The table was measured on another GPU of the same compute capability.
    SameCapability,
    /// No table fits the GPU: the table of another GPU is adapted to the rates and the shared
    /// memory of this one.
    Rates,
    /// `GPUINT_TUNING` names the table.
    Named,
}

/// The tuning table by which [`Auto`](crate::Auto) chooses on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tuning {
    /// The name of the table, or its file.
    pub table: String,
    /// The GPU that was measured for the table.
    pub gpu: String,
    /// The relation of the device to that GPU.
    pub fit: TuningFit,
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, gpu, fit } = self;
        match fit {
            TuningFit::Measured => write!(f, "table {table}, measured on this GPU"),
            TuningFit::SameCapability => write!(f, "table {table}, measured on {gpu}"),
            TuningFit::Rates => write!(f, "table {table} of {gpu}, adapted to this GPU's rates"),
            TuningFit::Named => write!(f, "table {table} of {gpu}, named by {VARIABLE}"),
        }
    }
}

/// The kernels that `Auto` chooses on a device.
#[derive(Debug)]
pub(crate) struct Choices {
    pub(crate) tuning: Tuning,
    /// At the shapes that are built, in order.
    built: Vec<(Shape, Selection)>,
    /// At the other shapes that were asked for.
    others: RwLock<HashMap<Shape, Selection>>,
    rules: Rules,
}

impl Choices {
    /// Returns the choices of the build's table, for devices that are not GPUs.
    pub(crate) fn of_the_build() -> Arc<Self> {
        static CHOICES: OnceBox<Arc<Choices>> = OnceBox::new();
        let choices = CHOICES.get_or_init(|| {
            let (name, table) = &tables()[0];
            let fit = TuningFit::Rates;
            Box::new(Arc::new(Choices::new(name.to_string(), table, fit, None)))
        });
        Arc::clone(choices)
    }

    /// Returns the choices for a GPU: by the table that `GPUINT_TUNING` names, else by the best
    /// built-in table.
    pub(crate) fn of(gpu: &Gpu) -> Result<Self> {
        match env::var(VARIABLE) {
            Ok(name) if !name.is_empty() => Self::named(gpu, &name),
            _ => Ok(Self::embedded(gpu)),
        }
    }

    fn named(gpu: &Gpu, name: &str) -> Result<Self> {
        if let Some((_, table)) = tables().iter().find(|(known, _)| *known == name) {
            return Ok(Self::new(name.to_owned(), table, TuningFit::Named, Some(gpu)));
        }
        let wrong = |reason: String| Error::Tuning { table: name.to_owned(), reason };
        let text = fs::read_to_string(name).map_err(|error| wrong(error.to_string()))?;
        let table = Table::parse(&text, ROWS).map_err(wrong)?;
        table.check_coverage(ROWS, SHAPES).map_err(wrong)?;
        Ok(Self::new(name.to_owned(), &table, TuningFit::Named, Some(gpu)))
    }

    fn embedded(gpu: &Gpu) -> Self {
        let find = |is_wanted: &dyn Fn(&Table) -> bool| tables().iter().find(|(_, t)| is_wanted(t));
        let by_name = find(&|table| table.gpu == gpu.name);
        let by_capability = || find(&|table| table.capability == gpu.capability);
        let ((name, table), fit) = match (by_name, by_capability()) {
            (Some(table), _) => (table, TuningFit::Measured),
            (None, Some(table)) => (table, TuningFit::SameCapability),
            (None, None) => (&tables()[0], TuningFit::Rates),
        };
        Self::new(name.to_string(), table, fit, Some(gpu))
    }

    fn new(name: String, table: &Table, fit: TuningFit, gpu: Option<&Gpu>) -> Self {
        let rules = Rules::new(table, gpu);
        let mut built: Vec<_> =
            SHAPES.iter().map(|&shape| (shape, rules.at(shape, &OFFER))).collect();
        built.sort_unstable_by_key(|entry| entry.0);
        let tuning = Tuning { table: name, gpu: table.gpu.clone(), fit };
        Self { tuning, built, others: RwLock::default(), rules }
    }

    /// Returns the kernel for an operation on a batch; `None` if the catalogue offers none.
    pub(crate) fn kernel(&self, op: Op, shape: Shape, rows: usize) -> Option<KernelId> {
        let kernel = |selection: &Selection| Some(KernelId::of(selection.row(op, rows)?, shape));
        if let Ok(index) = self.built.binary_search_by_key(&shape, |entry| entry.0) {
            return kernel(&self.built[index].1);
        }
        // Only tried: a thread of the parent of this process may have held the lock at a fork.
        let known = self.others.try_read().ok();
        if let Some(selection) = known.as_ref().and_then(|known| known.get(&shape)) {
            return kernel(selection);
        }
        drop(known);
        let selection = self.rules.at(shape, &OFFER);
        let kernel = kernel(&selection);
        if let Ok(mut known) = self.others.try_write() {
            known.insert(shape, selection);
        }
        kernel
    }
}

/// Built-in tables; the table of the build comes first.
fn tables() -> &'static [(&'static str, Table)] {
    static TABLES: OnceBox<Vec<(&'static str, Table)>> = OnceBox::new();
    let parse = |&(name, text): &(&'static str, &str)| {
        // The build script has checked the text.
        Table::parse(text, ROWS).ok().map(|table| (name, table))
    };
    TABLES.get_or_init(|| Box::new(embedded::TABLES.iter().filter_map(parse).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuint_catalogue::{Algorithm, DigitKind, Product};

    fn gpu(name: &str, capability: u32, shared_memory: u32) -> Gpu {
        Gpu { name: name.to_owned(), capability, shared_memory, multiprocessors: 132 }
    }

    /// GPUs and the maximum shared memory of a block.
    fn gpus() -> [Gpu; 7] {
        [
            gpu("NVIDIA A100-SXM4-80GB", 80, 166_912),
            gpu("NVIDIA GeForce RTX 3090", 86, 101_376),
            gpu("NVIDIA L40S", 89, 101_376),
            gpu("NVIDIA H200", 90, 232_448),
            gpu("NVIDIA B200", 100, 232_448),
            gpu("NVIDIA B300", 103, 232_448),
            gpu("NVIDIA GeForce RTX 5090", 120, 101_376),
        ]
    }

    /// Returns the kernels that are chosen for many rows, over all operations and shapes.
    fn selected(choices: &Choices) -> impl Iterator<Item = KernelId> {
        let all = SHAPES.iter().flat_map(|&shape| Op::ALL.iter().map(move |&op| (op, shape)));
        all.filter_map(|(op, shape)| choices.kernel(op, shape, usize::MAX))
    }

    fn suits(gpu: &Gpu, kernel: KernelId) -> bool {
        OFFER.suits(kernel.row_number(), kernel.shape(), gpu)
    }

    fn shared_bytes(kernel: KernelId, capability: u32) -> u32 {
        OFFER.shared_bytes(kernel.row_number(), kernel.shape(), capability)
    }

    fn uses(kernels: &[KernelId], product: Product) -> bool {
        kernels.iter().any(|kernel| kernel.row().algorithm.product() == Some(product))
    }

    #[test]
    fn gpu_of_a_capability_has_the_limits_of_its_products() {
        for gpu in gpus() {
            let Gpu { name, capability, .. } = gpu.clone();
            assert_eq!(gpu, Gpu { name, ..Gpu::of_capability(capability) });
            assert!(Gpu::CAPABILITIES.contains(&capability));
        }
    }

    #[test]
    fn gpu_uses_table_of_its_name_or_capability() {
        let [a100, .., rtx] = gpus();
        let [h200, h100] =
            ["NVIDIA H200", "NVIDIA H100 80GB HBM3"].map(|name| gpu(name, 90, 232_448));
        let fit = |gpu: &Gpu| Choices::embedded(gpu).tuning;
        assert_eq!(fit(&h200).fit, TuningFit::Measured);
        assert_eq!(
            (fit(&h100).fit, fit(&h100).table.as_str()),
            (TuningFit::SameCapability, "h200")
        );
        assert_eq!([fit(&a100).fit, fit(&rtx).fit], [TuningFit::Rates; 2]);
        assert_eq!(fit(&h200).to_string(), "table h200, measured on this GPU");
    }

    #[test]
    fn shared_memory_of_wide_kernels_is_known() {
        let shape = SHAPES.iter().copied().max_by_key(|shape| shape.bits).unwrap();
        let product = KernelId::find(Op::MulLo, Algorithm::By(Product::Ntt), shape).unwrap();
        assert!(shared_bytes(product, 86) > 101_376, "{product}");
        let choices = Choices::embedded(&gpu("NVIDIA L40S", 89, 101_376));
        let other = choices.kernel(Op::MulLo, shape, usize::MAX).unwrap();
        assert!(other.is_long(), "{other}");
    }

    #[test]
    fn every_gpu_has_the_algorithms_that_suit_it() {
        for gpu in gpus() {
            let kernels: Vec<_> = selected(&Choices::embedded(&gpu)).collect();
            // An unsuitable kernel is chosen only where no kernel suits.
            for kernel in &kernels {
                let others = crate::algorithms(kernel.op(), kernel.shape());
                let mut others = others
                    .filter_map(|algorithm| KernelId::find(kernel.op(), algorithm, kernel.shape()));
                let is_best = suits(&gpu, *kernel) || !others.any(|other| suits(&gpu, other));
                assert!(is_best, "{kernel} on {gpu:?}");
            }
            let products: Vec<_> =
                kernels.iter().copied().filter(|kernel| kernel.op() == Op::MulLo).collect();
            let fast_doubles = matches!(gpu.capability, 80 | 90 | 100);
            assert_eq!(uses(&products, Product::Fft), fast_doubles, "{gpu:?}");
            assert_eq!(uses(&products, Product::TensorCore), gpu.capability != 103, "{gpu:?}");
            for kernel in kernels {
                let (op, shape) = (kernel.op(), kernel.shape());
                if crate::is_offered(op, Algorithm::By(Product::Imad), shape) && !fast_doubles {
                    assert_eq!(kernel.row().algorithm, Algorithm::By(Product::Imad), "{kernel}");
                }
            }
        }
    }

    #[test]
    fn prepared_divisors_divide_in_blocks_where_these_are_fast() {
        let wide = SHAPES.iter().copied().find(|shape| shape.bits == 131_072).unwrap();
        let chosen = |gpu: &Gpu, rows| {
            let kernel = Choices::embedded(gpu).kernel(Op::DivRemBy, wide, rows).unwrap();
            kernel.row().algorithm
        };
        let [_, rtx, _, h200, ..] = gpus();
        assert_eq!(chosen(&h200, 100_000), Algorithm::Blocked(Product::Fft));
        // Phases take longer than one block a row, which the table has for few rows.
        assert_eq!(chosen(&h200, 1), Algorithm::By(Product::Fft));
        // Without fast doubles, the blocks have no other products.
        assert_eq!(chosen(&rtx, 100_000), Algorithm::By(Product::TensorCore));
    }

    /// Lanes divide a row in many dependent blocks of quotient, up to 2^14 bits by either strategy.
    #[test]
    fn divisions_of_few_rows_are_by_groups() {
        let lanes = [Algorithm::By(Product::Classical), Algorithm::Blocked(Product::Classical)];
        for gpu in gpus() {
            let choices = Choices::embedded(&gpu);
            for &shape in SHAPES.iter().filter(|shape| shape.bits <= 16384) {
                for (op, rows) in [Op::DivRem, Op::DivRemBy]
                    .into_iter()
                    .flat_map(|op| [1, 33, 132, 528, 2112].map(|rows| (op, rows)))
                {
                    let chosen = choices.kernel(op, shape, rows).unwrap().row().algorithm;
                    assert!(!lanes.contains(&chosen), "{op} of {rows} rows at {shape} on {gpu:?}");
                }
            }
        }
    }

    #[test]
    fn primes_of_few_rows_are_tested_by_warps() {
        let choices = Choices::embedded(&gpu("NVIDIA H200", 90, 232_448));
        let shape = Shape { bits: 1024, q: 4, digit: DigitKind::U64 };
        for op in [Op::StrongBase2, Op::StrongLucas] {
            let at = |rows| choices.kernel(op, shape, rows).unwrap().row().algorithm;
            assert_eq!(at(84), Algorithm::By(Product::TensorCore), "{op}");
            assert_eq!(at(1 << 20), Algorithm::By(Product::Fp64), "{op}");
        }
    }

    #[test]
    fn every_operation_has_a_kernel_where_one_is_offered() {
        // The last one is of the CPU, which refuses the same widths as GPUs.
        let of_gpus = gpus().map(|gpu| Arc::new(Choices::embedded(&gpu)));
        for choices in of_gpus.into_iter().chain([Choices::of_the_build()]) {
            for &op in Op::ALL {
                for &shape in SHAPES {
                    let is_offered = crate::algorithms(op, shape).next().is_some();
                    let kernel = choices.kernel(op, shape, 1000);
                    assert_eq!(
                        kernel.is_some(),
                        is_offered,
                        "{op} at {shape}: {:?}",
                        choices.tuning
                    );
                }
            }
        }
    }

    #[test]
    fn choices_of_the_measured_gpu_are_those_of_its_table() {
        let (_, table) = tables().iter().find(|(name, _)| *name == "h200").unwrap();
        let choices = Choices::embedded(&gpu("NVIDIA H200", 90, 232_448));
        for &op in Op::ALL {
            for &shape in SHAPES {
                let ranges = table.everywhere(op);
                let tuned = ranges.iter().find(|range| shape.bits <= range.0);
                let Some(&(_, algorithm)) = tuned else { continue };
                if crate::is_offered(op, algorithm, shape) {
                    let kernel = choices.kernel(op, shape, usize::MAX).unwrap();
                    assert_eq!(kernel.row().algorithm, algorithm, "{op} at {shape}");
                }
            }
        }
    }

    #[test]
    fn few_rows_have_separate_choices() {
        let text = "gpu = \"A GPU\"\ncapability = 90\nmultiprocessors = 66\nchoices = [
            { op = \"mul_lo\", bits = [1024, 8192], strategy = \"tensor\" },
            { op = \"mul_lo\", bits = [4096, 4096], rows = 50, strategy = \"classical\" },
            { op = \"mul_lo\", bits = [4096, 4096], rows = 10, strategy = \"karatsuba\" },
        ]";
        let table = Table::parse(text, ROWS).unwrap();
        // Twice the multiprocessors of the table.
        let gpu = gpu("Another GPU", 90, 232_448);
        let choices = Choices::new(String::new(), &table, TuningFit::Rates, Some(&gpu));
        let shape = |bits| Shape { bits, q: 4, digit: gpuint_catalogue::DigitKind::U64 };
        let chosen = |bits, rows| {
            let kernel = choices.kernel(Op::MulLo, shape(bits), rows).unwrap();
            kernel.row().algorithm.to_string()
        };
        assert_eq!(chosen(4096, 101), "tensor");
        assert_eq!(chosen(4096, 100), "classical");
        assert_eq!(chosen(8192, 1), "tensor");
        // Not offered at this width: the next bound counts.
        let expected =
            if crate::is_offered(Op::MulLo, Algorithm::By(Product::Karatsuba), shape(4096)) {
                "karatsuba"
            } else {
                "classical"
            };
        assert_eq!(chosen(4096, 20), expected);
    }

    #[test]
    fn unbuilt_shape_has_the_choices_of_the_widths_next_to_it() {
        for gpu in gpus() {
            let choices = Choices::embedded(&gpu);
            for (bits, next) in [(1280, 1536), (5120, 6144), (20480, 32768)] {
                let [shape, next] =
                    [bits, next].map(|bits| Shape { bits, q: 4, digit: DigitKind::U64 });
                assert!(!SHAPES.contains(&shape) && SHAPES.contains(&next));
                for &op in Op::ALL {
                    for rows in [1, 100, usize::MAX] {
                        let kernel = choices.kernel(op, shape, rows);
                        let is_offered = crate::algorithms(op, shape).next().is_some();
                        assert_eq!(kernel.is_some(), is_offered, "{op} at {shape}");
                        assert_eq!(kernel, choices.kernel(op, shape, rows));
                        let Some(kernel) = kernel else { continue };
                        let algorithm = kernel.row().algorithm;
                        let suitable = crate::algorithms(op, shape).any(|algorithm| {
                            KernelId::find(op, algorithm, shape).is_some_and(|k| suits(&gpu, k))
                        });
                        assert!(suits(&gpu, kernel) || !suitable, "{op} at {shape} by {algorithm}");
                    }
                }
            }
            let shape = |bits| Shape { bits, q: 4, digit: DigitKind::U64 };
            // The ranges of the table are the same: 1025 to 1536 bits.
            for op in [Op::MulMod, Op::DivRem, Op::MulLo] {
                let algorithm =
                    |bits| choices.kernel(op, shape(bits), 9999).unwrap().row().algorithm;
                assert_eq!(algorithm(1280), algorithm(1536), "{op} on {gpu:?}");
            }
        }
    }

    #[test]
    fn named_table_is_used_or_rejected() {
        let gpu = gpu("NVIDIA L40S", 89, 101_376);
        let choices = Choices::named(&gpu, "h200").unwrap();
        assert_eq!(choices.tuning.fit, TuningFit::Named);
        assert!(!selected(&choices).any(|kernel| !suits(&gpu, kernel)
            && crate::algorithms(kernel.op(), kernel.shape()).count() > 1
            && shared_bytes(kernel, 89) <= gpu.shared_memory));
        match Choices::named(&gpu, "no/such/table.toml") {
            Err(Error::Tuning { table, .. }) => assert_eq!(table, "no/such/table.toml"),
            other => panic!("{other:?}"),
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("short.toml");
        fs::write(&file, "gpu = \"A GPU\"\ncapability = 90\nmultiprocessors = 1\nchoices = []")
            .unwrap();
        match Choices::named(&gpu, file.to_str().unwrap()) {
            Err(Error::Tuning { reason, .. }) => assert!(reason.contains("no choice"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
}
