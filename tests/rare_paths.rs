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

fn add_modulo(shape: Shape, device: &Device, count: usize) -> Result<()> {
    let mut rows = drawn(shape, DIVISIONS, count);
    for row in rows.iter_mut().filter(|row| row.b.is_zero()) {
        row.b = BigUint::one();
    }
    let [u, v] = upload(shape, device, &rows)?;
    u.add_mod(&u, &DynDivisor::of_rows(&v)?)?;
    Ok(())
}

/// Products of powers of `rows` rows by one exponent, for each of them.
fn products_of_power(shape: Shape, by: Strategy, exponent: u32, rows: usize) -> u64 {
    let device = Device::simt();
    let count = || counts()["PowerProduct"];
    let before = count();
    let a = DynBatch::splat(&device, shape, &BigUint::from(3u32), rows).unwrap();
    let v = DynDivisor::splat(&device, shape, &BigUint::from(1_000_003u32)).unwrap();
    a.using(by).pow_mod_all(&BigUint::from(exponent), &v).unwrap();
    let products = count() - before;
    assert_eq!(products % rows as u64, 0, "rows take the same products");
    products / rows as u64
}

/// Products of powers of `bases` bases by one exponent, for each of `rows` rows.
fn products_of_power_product(bits: usize, exponent: u32, bases: usize, rows: usize) -> u64 {
    let (device, shape) = (Device::simt(), shape(bits, 4, DigitKind::U64));
    let splat =
        |value| DynBatch::splat(&device, shape, &BigUint::from(value), rows * bases).unwrap();
    let v = DynDivisor::splat(&device, shape, &BigUint::from(1_000_003u32)).unwrap();
    let (a, e) = (splat(3u32), splat(exponent));
    let before = counts()["PowerProduct"];
    a.pow_product_mod(&e, bases, &v).unwrap();
    let products = counts()["PowerProduct"] - before;
    assert_eq!(products % rows as u64, 0, "rows take the same products");
    products / rows as u64
}

/// One after the other, since counts are of the process.
#[test]
fn structured_operands_take_rare_paths() {
    for (bits, product) in [
        (1024, Product::Fp64),
        (1024, Product::Imad),
        (2048, Product::TensorCore),
        (1024, Product::Classical),
    ] {
        let shape = shape(bits, 4, DigitKind::U64);
        // A product for each square and each digit but the top one, in windows of 1 and 2 bits.
        for (exponent, products) in [(1, 0), (2, 1), (3, 2), (17, 5), (65537, 17), (0xffff, 23)] {
            let taken = products_of_power(shape, Strategy::Product(product), exponent, 5);
            assert_eq!(taken, products, "{exponent} at {bits} bits by {product}");
        }
    }
    // The squares of one power, and the other products of each base; the top digits' are one less.
    for bits in [1024, 2048] {
        for (exponent, bases, products) in
            [(1, 2, 1), (65537, 1, 17), (65537, 3, 21), (0xffff, 2, 33)]
        {
            let taken = products_of_power_product(bits, exponent, bases, 5);
            assert_eq!(taken, products, "{bases} bases by {exponent} at {bits} bits");
        }
    }
    takes("add_mod, 1024 bits", &[("OperandBeyondModulus", 1000)], |device| {
        add_modulo(shape(1024, 4, DigitKind::U64), device, 2000)
    });
    takes("add and sub, 8192 bits, u16", &[("CarryThroughWarp", 1000)], |device| {
        add_and_subtract(shape(8192, 1, DigitKind::U16), device, 1000)
    });
    let by_lanes = [
        ("LaneFullLimb", 100),
        ("LaneQuotientCarry", 100),
        ("LaneLastSubtraction", 100),
        ("LaneCarry", 100),
        ("IncrementBeyondLimb", 100),
    ];
    takes("Blocked, 1024 bits", &by_lanes, |device| {
        divide(
            shape(1024, 4, DigitKind::U64),
            Strategy::Blocked(Some(Product::Classical)),
            device,
            10_000,
        )
    });
    takes("Blocked, 8192 bits", &by_lanes, |device| {
        divide(
            shape(8192, 4, DigitKind::U64),
            Strategy::Blocked(Some(Product::Classical)),
            device,
            2000,
        )
    });
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
    takes("Blocked, 32768 bits", &by_lanes, |device| {
        divide(
            shape(32768, 4, DigitKind::U64),
            Strategy::Blocked(Some(Product::Classical)),
            device,
            1000,
        )
    });
    takes("Blocked, 65536 bits", &with("QuotientCarry"), |device| {
        divide(
            shape(65536, 4, DigitKind::U64),
            Strategy::Blocked(Some(Product::Classical)),
            device,
            600,
        )
    });
    let by_transforms = [
        ("FftSeedAddBack", 100),
        ("FftSeedBorrow", 1),
        ("FftCarryRuns", 100),
        ("FftCompared", 10),
        ("FftNoQuotient", 1),
        ("FftFinalSubtraction", 10),
    ];
    takes("Blocked<Fft>, 32768 bits", &by_transforms, |device| {
        divide(shape(32768, 4, DigitKind::U64), Strategy::Blocked(Some(Product::Fft)), device, 2000)
    });
    takes("Blocked<Fused>, 32768 bits", &[("FusedQuotientInDoubt", 10)], |device| {
        let by = Strategy::Blocked(Some(Product::Fused));
        divide(shape(32768, 4, DigitKind::U64), by, device, 300)
    });
    let short_divisors = [("ShortByLanes", 1), ("LaneLastSubtraction", 1)];
    let by_class = [&short_divisors[..], &[("FusedClassApart", 1)]].concat();
    takes("divisions by Blocked<Fused>, 32768 bits, in one block", &by_class, |_| {
        let by = Strategy::Blocked(Some(Product::Fused));
        divide_in_one_block(shape(32768, 4, DigitKind::U64), by, 200)
    });
    for (bits, by) in [
        (32768, Strategy::Blocked(Some(Product::Fft))),
        (65536, Strategy::Blocked(Some(Product::TensorCore))),
        (32768, Strategy::Product(Product::TensorCore)),
        (65536, Strategy::Product(Product::TensorCore)),
    ] {
        takes(&format!("divisions by {by:?}, {bits} bits, in one block"), &short_divisors, |_| {
            divide_in_one_block(shape(bits, 4, DigitKind::U64), by, 200)
        });
    }
    takes("ShiftedInverse, 1024 bits, u16", &with("WholeQuotientCarry"), |device| {
        divide(
            shape(1024, 4, DigitKind::U16),
            Strategy::ShiftedInverse(Some(Product::Classical)),
            device,
            10_000,
        )
    });
    takes("ShiftedInverse, 8192 bits", &with("WholeQuotientCarry"), |device| {
        divide(
            shape(8192, 4, DigitKind::U64),
            Strategy::ShiftedInverse(Some(Product::Classical)),
            device,
            2000,
        )
    });
    let transforms = [("TransformCarry", 1000), ("CarryThroughWarp", 10)];
    takes("products by Ntt, 131072 bits", &transforms, |device| {
        multiply(shape(131_072, 4, DigitKind::U64), Strategy::Product(Product::Ntt), device, 100)
    });
    takes("products by TensorCore, 4096 bits", &[("TileCarries", 500)], |device| {
        multiply(
            shape(4096, 4, DigitKind::U64),
            Strategy::Product(Product::TensorCore),
            device,
            1000,
        )
    });
    takes("products by TensorCore, 16384 bits", &[("TileCarries", 50)], |device| {
        multiply(
            shape(16384, 4, DigitKind::U64),
            Strategy::Product(Product::TensorCore),
            device,
            100,
        )
    });
    let modular = [("ResidueBeyondWords", 1), ("QuotientCarry", 10), ("LastSubtraction", 10)];
    takes("mul_mod, 4096 bits", &modular, |device| {
        let by = Strategy::Product(Product::Classical);
        multiply_modulo(shape(4096, 4, DigitKind::U64), by, device, 1000)
    });
    let phases = [("FftLongFactors", 10), ("FusedQuotientInDoubt", 10)];
    takes("mul_mod by TensorCore, 32768 bits", &phases, |device| {
        let by = Strategy::Product(Product::TensorCore);
        multiply_modulo(shape(32768, 4, DigitKind::U64), by, device, 150)
    });
    takes("mul_mod by Fft, 32768 bits", &[("FftLongFactors", 10)], |device| {
        let by = Strategy::Product(Product::Fft);
        multiply_modulo(shape(32768, 4, DigitKind::U64), by, device, 150)
    });
    let by_transforms = [("FftLongResidue", 1), ("FftLastSubtraction", 10)];
    takes("pow_mod by Fft, 32768 bits", &by_transforms, |device| {
        let by = Strategy::Product(Product::Fft);
        square_by_powers(shape(32768, 4, DigitKind::U64), by, device, 150)
    });
    let fused = [("FusedCarries", 10), ("FusedLongOperands", 10), ("FusedQuotientInDoubt", 10)];
    takes("mul_mod, 16384 bits", &fused, |device| {
        multiply_modulo(shape(16384, 4, DigitKind::U64), Strategy::Auto, device, 100)
    });
    takes("special moduli, 1024 bits", &[("FoldIsNegative", 4)], |device| {
        multiply_by_minus_one(shape(1024, 4, DigitKind::U64), device)
    });
    takes("gcd, 1024 bits", &[("EuclidSubtraction", 1000)], |device| {
        common_divisors(shape(1024, 4, DigitKind::U64), device, 1000)
    });
    let roots = [("RootQuotientCarry", 20), ("RootLaneCarry", 10), ("RootLastSubtraction", 50)];
    takes("isqrt, 4096 bits", &roots, |device| {
        extract_roots(shape(4096, 4, DigitKind::U64), device, 1000)
    });
    takes("isqrt, 32768 bits", &[("RootFullQuotient", 1)], |device| {
        extract_roots(shape(32768, 4, DigitKind::U64), device, 18)
    });
    takes("verified div_rem, 1024 bits", &[("SecondPrime", 100)], |device| {
        divide_by_multiples(shape(1024, 4, DigitKind::U64), device, 100)
    });
    let long = [("LongCarryThroughWarp", 1), ("LongCarryLooksBack", 1)];
    takes("sums, 4194304 bits", &long, carry_over_long_row);
    let is_left = |path, count| count == 0 && !OF_UNIT_TESTS.contains(&path);
    let left = counts().into_iter().filter(|&(path, count)| is_left(path, count));
    assert_eq!(left.collect::<Vec<_>>(), [], "paths without rows that take them");
}
