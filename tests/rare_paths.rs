//! Tagged cases take the rare paths of the kernels, which the SIMT shim counts
//! (`kernels/simt/rare.h`), with the right results. This is a separate program, since the counts
//! are per process.

use std::collections::BTreeMap;

use gpuint::{
    Device, DynBatch, DynDivisor, Product, Shape, SimtOptions, Strategy, narrowest, rare_paths,
};
use gpuint_testkit::cases::{self, RARE, Rare, Task};
use gpuint_testkit::random::Random;

use Product::{Classical, Fp64, Imad, TensorCore};

const SEED: u64 = 7;

/// Number of times that this process has taken each path, by name.
fn counts() -> BTreeMap<&'static str, u64> {
    rare_paths().unwrap().into_iter().collect()
}

/// Runs cases on the shim and checks their results, and that they take the paths of their tags.
fn check(tagged: &Rare) {
    let Rare { kernel, rows, in_one_block, paths } = *tagged;
    let one_block = SimtOptions { max_grid: 1, max_part: usize::MAX, ..SimtOptions::default() };
    let options = if in_one_block { one_block } else { SimtOptions::default() };
    let mut device = Device::simt_with(options);
    let task = Task::parse(kernel).expect("the name of a kernel");
    let before = counts();
    let of_variant = |variants: usize| rows.div_ceil(variants);
    let checked = cases::check(&mut device, &task, of_variant, 0..1, false, &mut Random::new(SEED));
    let checked = checked.unwrap_or_else(|errors| panic!("{}", errors.join("\n")));
    let mut taken = counts();
    for (path, count) in &mut taken {
        *count -= before[path];
    }
    let all = taken.iter().filter(|(_, count)| **count > 0);
    let all: Vec<_> = all.map(|(path, count)| format!("{path} {count}")).collect();
    println!("{kernel}, {checked} rows: {}", all.join(", "));
    for (path, least) in paths {
        assert!(taken[path] >= *least, "{kernel}: {path} was taken {} times", taken[path]);
    }
}

/// Number of products of powers of `bases` bases by one exponent, for each of some rows; `None`: of
/// a power of one base, by all rows at once.
fn products_of_power(shape: Shape, by: Strategy, exponent: u64, bases: Option<usize>) -> u64 {
    const ROWS: usize = 5;
    let device = Device::simt();
    let splat =
        |value: u64| DynBatch::splat(&device, shape, value, ROWS * bases.unwrap_or(1)).unwrap();
    let v = DynDivisor::splat(&device, shape, 1_000_003).unwrap();
    let (a, e) = (splat(3), splat(exponent));
    let before = counts()["PowerProduct"];
    match bases {
        None => a.using(by).pow_mod_all(exponent, &v).unwrap(),
        Some(bases) => a.pow_product_mod(&e, bases, &v).unwrap(),
    };
    let products = counts()["PowerProduct"] - before;
    assert_eq!(products % ROWS as u64, 0, "rows take the same products");
    products / ROWS as u64
}

/// Numbers of products of powers.
fn powers_take_few_products() {
    let shape = |bits| narrowest(bits).expect("the width is built");
    for (bits, product) in [(1024, Fp64), (1024, Imad), (2048, TensorCore), (1024, Classical)] {
        // A product for each square and each digit but the top one, in windows of 1 and 2 bits.
        for (exponent, products) in [(1, 0), (2, 1), (3, 2), (17, 5), (65537, 17), (0xffff, 23)] {
            let taken = products_of_power(shape(bits), Strategy::Product(product), exponent, None);
            assert_eq!(taken, products, "{exponent} at {bits} bits by {product}");
        }
    }
    // The squares of one power, and the other products of each base; the top digits' are one less.
    for bits in [1024, 2048] {
        for (exponent, bases, products) in
            [(1, 2, 1), (65537, 1, 17), (65537, 3, 21), (0xffff, 2, 33)]
        {
            let taken = products_of_power(shape(bits), Strategy::Auto, exponent, Some(bases));
            assert_eq!(taken, products, "{bases} bases by {exponent} at {bits} bits");
        }
    }
}

/// One after the other, since counts are of the process.
#[test]
fn tagged_cases_take_rare_paths() {
    powers_take_few_products();
    RARE.iter().for_each(check);
    let is_tag = |path: &str| RARE.iter().any(|cases| cases.paths.iter().any(|tag| tag.0 == path));
    // Products of powers are counted, not rare.
    let left = counts().into_keys().filter(|&path| path != "PowerProduct" && !is_tag(path));
    assert_eq!(left.collect::<Vec<_>>(), [""; 0], "paths without tagged cases");
}
