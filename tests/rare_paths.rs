//! Structured operands take the rare paths of the kernels, which the SIMT shim counts
//! (`kernels/simt/rare.h`). This is a separate program, since the counts are per process.

use std::collections::BTreeMap;

use gpuint::num_bigint::BigUint;
use gpuint::{
    Device, DigitKind, DynBatch, DynDivisor, DynModulus, DynResidues, Product, Result, Shape,
    SimtOptions, SpecialModulus, Strategy, rare_paths,
};
use gpuint_testkit::operands::{DIVISIONS, EUCLID, Family, PRODUCTS, ROOTS, Row, SUMS, rows};
use gpuint_testkit::oracle;
use num_traits::{One, Zero};

use DigitKind::{U16, U64};
use Product::{Classical, Fft, Fp64, Fused, Imad, Ntt, TensorCore};

/// Paths of half-gcds, which have no public function, and of windows, which batches of 2^28 bits
/// take.
const OF_UNIT_TESTS: [&str; 3] = ["HalfGcdSubtraction", "WindowSubtraction", "WindowDifference"];

/// Number of times that this process has taken each path, by name.
fn counts() -> BTreeMap<&'static str, u64> {
    rare_paths().unwrap().into_iter().collect()
}

/// Does some work and checks that it takes each of these paths at least this often.
fn takes(what: &str, expected: &[(&str, u64)], work: impl FnOnce(&Device) -> Result<()>) {
    let before = counts();
    work(&Device::simt()).unwrap();
    let mut taken = counts();
    for (path, count) in &mut taken {
        *count -= before[path];
    }
    let all = taken.iter().filter(|(_, count)| **count > 0);
    let all: Vec<_> = all.map(|(path, count)| format!("{path} {count}")).collect();
    println!("{what}: {}", all.join(", "));
    for (path, least) in expected {
        assert!(taken[path] >= *least, "{what}: {path} was taken {} times", taken[path]);
    }
}

fn drawn(shape: Shape, families: &[Family], count: usize) -> Vec<Row> {
    rows(1, families, shape.into(), 0..count)
}

/// Operands of rows on a device.
fn upload(shape: Shape, device: &Device, rows: &[Row]) -> Result<[DynBatch; 2]> {
    let column = |of: fn(&Row) -> &BigUint| -> Result<DynBatch> {
        let values: Vec<_> = rows.iter().map(|row| of(row).clone()).collect();
        DynBatch::from_biguints(device, shape, &values)
    };
    Ok([column(|row| &row.a)?, column(|row| &row.b)?])
}

/// Products near the ends of their range: their quotients are one too large.
fn multiply_by_minus_one(shape: Shape, device: &Device) -> Result<()> {
    let moduli = [(1, -1), (1, 1), (3, 1), (0x7fff_ffff, -8191)]
        .map(|(k, c)| SpecialModulus::new(k, shape.bits as u32 - 33, c));
    let modulus = DynModulus::of_special(device, shape, &moduli)?;
    let minus_one = moduli.iter().filter_map(|n| n.value()).map(|n| n - 1u32);
    let minus_one = DynBatch::from_biguints(device, shape, minus_one)?;
    let x = DynResidues::new(&minus_one, &modulus)?;
    let cube = x.square()?.mul(&x)?;
    assert_eq!(cube.to_batch()?.to_biguints()?, minus_one.to_biguints()?);
    Ok(())
}

fn add_and_subtract(shape: Shape, device: &Device, count: usize) -> Result<()> {
    let [a, b] = upload(shape, device, &drawn(shape, SUMS, count))?;
    a.wrapping_add(&b)?;
    a.wrapping_sub(&b)?;
    Ok(())
}

fn multiply(shape: Shape, by: Strategy, device: &Device, count: usize) -> Result<()> {
    let [a, b] = upload(shape, device, &drawn(shape, PRODUCTS, count))?;
    a.using(by).wrapping_mul(&b)?;
    a.using(by).mul_lo_hi(&b)?;
    Ok(())
}

fn divide(shape: Shape, by: Strategy, device: &Device, count: usize) -> Result<()> {
    let [u, v] = upload(shape, device, &drawn(shape, DIVISIONS, count))?;
    u.using(by).div_rem_masked(&v)?;
    Ok(())
}

/// Divides, with and without prepared divisors, in one block: there are enough rows for it to have
/// lanes divide the short ones.
fn divide_in_one_block(shape: Shape, by: Strategy, count: usize) -> Result<()> {
    let in_one_block = SimtOptions { max_grid: 1, max_part: usize::MAX, ..SimtOptions::default() };
    let device = Device::simt_with(in_one_block);
    let rows = divisible(shape, count);
    let [u, v] = upload(shape, &device, &rows)?;
    let (quotients, remainders) = match by {
        Strategy::Product(_) => u.using(by).div_rem_by(&DynDivisor::of_rows(&v)?)?,
        _ => u.using(by).div_rem(&v)?,
    };
    let got = quotients.to_biguints()?.into_iter().zip(remainders.to_biguints()?);
    for (row, got) in rows.iter().zip(got) {
        assert_eq!(got, oracle::div_rem(&row.a, &row.b), "row {}, {by:?} at {shape}", row.index);
    }
    Ok(())
}

fn multiply_modulo(shape: Shape, by: Strategy, device: &Device, count: usize) -> Result<()> {
    let [u, v] = upload(shape, device, &divisible(shape, count))?;
    u.using(by).mul_mod(&u, &DynDivisor::of_rows(&v)?)?;
    Ok(())
}

/// Powers of 2.
fn square_by_powers(shape: Shape, by: Strategy, device: &Device, count: usize) -> Result<()> {
    let [u, v] = upload(shape, device, &divisible(shape, count))?;
    u.using(by).pow_mod_all(&BigUint::from(2u32), &DynDivisor::of_rows(&v)?)?;
    Ok(())
}

/// Rows of divisions whose divisors of 0 are 1.
fn divisible(shape: Shape, count: usize) -> Vec<Row> {
    let mut rows = drawn(shape, DIVISIONS, count);
    for row in rows.iter_mut().filter(|row| row.b.is_zero()) {
        row.b = BigUint::one();
    }
    rows
}

/// A sum of long rows whose carry runs from the lowest limb over all tiles.
fn carry_over_long_row(device: &Device) -> Result<()> {
    let shape = device.shape_for(1 << 22)?;
    let ones = (BigUint::one() << shape.bits) - 1u32;
    let one = DynBatch::splat(device, shape, 1, 1)?;
    let sum = DynBatch::splat(device, shape, &ones, 1)?.wrapping_add(&one)?;
    assert!(sum.row(0)?.is_zero());
    Ok(())
}

/// Checked quotients by multiples of the prime of their check.
fn divide_by_multiples(shape: Shape, device: &Device, count: usize) -> Result<()> {
    let [u, _] = upload(shape, device, &drawn(shape, DIVISIONS, count))?;
    let u = u.on(&device.verified())?;
    let multiples = (0..count).map(|row| (BigUint::one() << (61 * (row % 10 + 1))) - 1u32);
    u.div_rem(&DynBatch::from_biguints(device, shape, multiples)?)?;
    Ok(())
}

/// Square roots.
fn extract_roots(shape: Shape, device: &Device, count: usize) -> Result<()> {
    let [a, _] = upload(shape, device, &drawn(shape, ROOTS, count))?;
    a.isqrt_rem()?;
    Ok(())
}

fn common_divisors(shape: Shape, device: &Device, count: usize) -> Result<()> {
    let [a, b] = upload(shape, device, &drawn(shape, EUCLID, count))?;
    a.gcd(&b)?;
    Ok(())
}

fn shape(bits: usize, q: usize, digit: DigitKind) -> Shape {
    Shape { bits, q, digit }
}

fn add_modulo(shape: Shape, _: Strategy, device: &Device, count: usize) -> Result<()> {
    let [u, v] = upload(shape, device, &divisible(shape, count))?;
    u.add_mod(&u, &DynDivisor::of_rows(&v)?)?;
    Ok(())
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

fn plain(bits: usize) -> Shape {
    shape(bits, 4, U64)
}

fn blocked(product: Product) -> Strategy {
    Strategy::Blocked(Some(product))
}

/// Numbers of products of powers.
fn powers_take_few_products() {
    for (bits, product) in [(1024, Fp64), (1024, Imad), (2048, TensorCore), (1024, Classical)] {
        // A product for each square and each digit but the top one, in windows of 1 and 2 bits.
        for (exponent, products) in [(1, 0), (2, 1), (3, 2), (17, 5), (65537, 17), (0xffff, 23)] {
            let taken = products_of_power(plain(bits), Strategy::Product(product), exponent, None);
            assert_eq!(taken, products, "{exponent} at {bits} bits by {product}");
        }
    }
    // The squares of one power, and the other products of each base; the top digits' are one less.
    for bits in [1024, 2048] {
        for (exponent, bases, products) in
            [(1, 2, 1), (65537, 1, 17), (65537, 3, 21), (0xffff, 2, 33)]
        {
            let taken = products_of_power(plain(bits), Strategy::Auto, exponent, Some(bases));
            assert_eq!(taken, products, "{bases} bases by {exponent} at {bits} bits");
        }
    }
}

fn sums_and_products_take_rare_paths() {
    takes("add and sub, 8192 bits, u16", &[("CarryThroughWarp", 1000)], |device| {
        add_and_subtract(shape(8192, 1, U16), device, 1000)
    });

    for (bits, product, count, paths) in [
        (131_072, Ntt, 100, &[("TransformCarry", 1000), ("CarryThroughWarp", 10)][..]),
        (4096, TensorCore, 1000, &[("TileCarries", 500)]),
        (16384, TensorCore, 100, &[("TileCarries", 50)]),
    ] {
        takes(&format!("products by {product}, {bits} bits"), paths, |device| {
            multiply(plain(bits), Strategy::Product(product), device, count)
        });
    }
}

fn divisions_take_rare_paths() {
    let inverse = Strategy::ShiftedInverse(Some(Classical));
    let by_lanes = &[
        ("LaneFullLimb", 100),
        ("LaneQuotientCarry", 100),
        ("LaneLastSubtraction", 100),
        ("LaneCarry", 100),
        ("IncrementBeyondLimb", 100),
    ][..];
    let by_a_group = [
        ("CarryIntoRound", 100),
        ("CarryThroughWarp", 10),
        ("BorrowBeyondTile", 10),
        ("SeedOfOnes", 10),
        ("SeedDigitOfOnes", 100),
        ("SeedSecondAddBack", 1),
        ("NoResidual", 10),
        ("LastSubtraction", 100),
        ("IncrementBeyondLimb", 100),
    ];
    let with = |path| [&by_a_group[..], &[(path, 10)]].concat();
    let by_transforms = &[
        ("FftSeedAddBack", 100),
        ("FftSeedBorrow", 1),
        ("FftCarryRuns", 100),
        ("FftCompared", 10),
        ("FftNoQuotient", 1),
        ("FftFinalSubtraction", 10),
    ];
    for (bits, digit, by, count, paths) in [
        (1024, U64, blocked(Classical), 10_000, by_lanes),
        (8192, U64, blocked(Classical), 2000, by_lanes),
        (32768, U64, blocked(Classical), 1000, by_lanes),
        (65536, U64, blocked(Classical), 600, &with("QuotientCarry")),
        (32768, U64, blocked(Fft), 2000, by_transforms),
        (32768, U64, blocked(Fused), 300, &[("FusedQuotientInDoubt", 10)]),
        (1024, U16, inverse, 10_000, &with("WholeQuotientCarry")),
        (8192, U64, inverse, 2000, &with("WholeQuotientCarry")),
    ] {
        takes(&format!("divisions by {by:?}, {bits} bits, {digit}"), paths, |device| {
            divide(shape(bits, 4, digit), by, device, count)
        });
    }
}

/// Divisions of rows of which lanes divide the short ones, by classes of lengths.
fn divisions_by_class_take_rare_paths() {
    let short_divisors = &[("ShortByLanes", 1), ("LaneLastSubtraction", 1)][..];
    let by_class = [short_divisors, &[("FusedClassApart", 1)]].concat();
    for (bits, by, paths) in [
        (32768, blocked(Fused), &by_class[..]),
        (32768, blocked(Fft), short_divisors),
        (65536, blocked(TensorCore), short_divisors),
        (32768, Strategy::Product(TensorCore), short_divisors),
        (65536, Strategy::Product(TensorCore), short_divisors),
    ] {
        takes(&format!("divisions by {by:?}, {bits} bits, in one block"), paths, |_| {
            divide_in_one_block(plain(bits), by, 200)
        });
    }
}

fn modular_arithmetic_takes_rare_paths() {
    type Modular = fn(Shape, Strategy, &Device, usize) -> Result<()>;
    let modular: [(Modular, _, _, _, &[_]); 6] = [
        (add_modulo, 1024, Strategy::Auto, 2000, &[("OperandBeyondModulus", 1000)]),
        (
            multiply_modulo,
            4096,
            Strategy::Product(Classical),
            1000,
            &[("ResidueBeyondWords", 1), ("QuotientCarry", 10), ("LastSubtraction", 10)],
        ),
        (
            multiply_modulo,
            32768,
            Strategy::Product(TensorCore),
            150,
            &[("FftLongFactors", 10), ("FusedQuotientInDoubt", 10)],
        ),
        (multiply_modulo, 32768, Strategy::Product(Fft), 150, &[("FftLongFactors", 10)]),
        (
            square_by_powers,
            32768,
            Strategy::Product(Fft),
            150,
            &[("FftLongResidue", 1), ("FftLastSubtraction", 10)],
        ),
        (
            multiply_modulo,
            16384,
            Strategy::Auto,
            100,
            &[("FusedCarries", 10), ("FusedLongOperands", 10), ("FusedQuotientInDoubt", 10)],
        ),
    ];
    for (work, bits, by, count, paths) in modular {
        takes(&format!("modular arithmetic by {by:?}, {bits} bits"), paths, |device| {
            work(plain(bits), by, device, count)
        });
    }
    takes("special moduli, 1024 bits", &[("FoldIsNegative", 4)], |device| {
        multiply_by_minus_one(plain(1024), device)
    });
}

fn other_operations_take_rare_paths() {
    takes("gcd, 256 bits", &[("WrongComparison", 10)], |device| {
        common_divisors(plain(256), device, 1000)
    });
    takes("gcd, 2048 bits", &[("EuclidSubtraction", 1000)], |device| {
        common_divisors(plain(2048), device, 500)
    });
    let roots = [("RootQuotientCarry", 20), ("RootLaneCarry", 10), ("RootLastSubtraction", 50)];
    takes("isqrt, 4096 bits", &roots, |device| extract_roots(plain(4096), device, 1000));
    takes("isqrt, 32768 bits", &[("RootFullQuotient", 1)], |device| {
        extract_roots(plain(32768), device, 18)
    });
    takes("verified div_rem, 1024 bits", &[("SecondPrime", 100)], |device| {
        divide_by_multiples(plain(1024), device, 100)
    });
    let long = [("LongCarryThroughWarp", 1), ("LongCarryLooksBack", 1)];
    takes("sums, 4194304 bits", &long, carry_over_long_row);
}

/// One after the other, since counts are of the process.
#[test]
fn structured_operands_take_rare_paths() {
    powers_take_few_products();
    sums_and_products_take_rare_paths();
    divisions_take_rare_paths();
    divisions_by_class_take_rare_paths();
    modular_arithmetic_takes_rare_paths();
    other_operations_take_rare_paths();
    let is_left = |path, count| count == 0 && !OF_UNIT_TESTS.contains(&path);
    let left = counts().into_iter().filter(|&(path, count)| is_left(path, count));
    assert_eq!(left.collect::<Vec<_>>(), [], "paths without rows that take them");
}
