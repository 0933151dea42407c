//! Signed batches, and cofactors with signs.

use gpuint::num_bigint::{BigInt, BigUint, Sign};
use gpuint::{Device, DynBatch, DynSignedBatch, Error, Mask, Result, Shape, shapes};
use num_traits::{One, Zero};

use crate::setting::{
    Check, Part, Rows, Setting, Tally, doubled, first, on_every_backend, second, zip,
};
use gpuint_testkit::operands::{DIVISIONS, EUCLID, Row, SUMS};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 4_000, least: 22 };

/// Operands with the signs in turn.
fn operands(rows: &[Row]) -> [Vec<BigInt>; 2] {
    let signed = |index: usize, bit: usize, value: &BigUint| {
        let sign = if index >> bit & 1 == 1 { Sign::Minus } else { Sign::Plus };
        BigInt::from_biguint(sign, value.clone())
    };
    let column = |bit, values: Vec<BigUint>| {
        values.iter().enumerate().map(|(index, value)| signed(index, bit, value)).collect()
    };
    [column(0, first(rows)), column(1, second(rows))]
}

/// A value with the magnitude modulo `2^bits`, and true if that is another value.
fn wrapped(value: &BigInt, bits: usize) -> (BigInt, bool) {
    let magnitude = oracle::shl(value.magnitude(), 0, bits);
    let overflows = magnitude != *value.magnitude();
    (BigInt::from_biguint(value.sign(), magnitude), overflows)
}

struct Sums;

impl Check for Sums {
    const NAME: &str = "signed sums";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        setting.each_part(shape, SUMS, setting.count(ROWS, shape), tally, |part| sums(&part));
    }
}

fn sums(part: &Part<'_>) -> Result<()> {
    let [x, y] = operands(&part.rows);
    let [a, b] = [&x, &y].map(|it| DynSignedBatch::from_bigints(part.device, part.shape, it));
    let (a, b, bits) = (a?, b?, part.shape.bits);
    part.compare("to_bigints", a.to_bigints()?, &x)?;
    for row in (0..x.len()).step_by(x.len().div_ceil(8).max(1)) {
        part.expect("row", &a.row(row)?, &x[row]);
    }
    fn of<V>(x: &[BigInt], y: &[BigInt], of: impl Fn(&BigInt, &BigInt) -> V) -> Vec<V> {
        x.iter().zip(y).map(|(x, y)| of(x, y)).collect()
    }
    let sums = of(&x, &y, |x, y| wrapped(&oracle::signed_sum(x, y), bits));
    part.compare("overflowing_add", a.overflowing_add(&b)?, &sums)?;
    let differences = of(&x, &y, |x, y| wrapped(&oracle::signed_sum(x, &-y), bits));
    part.compare("overflowing_sub", a.overflowing_sub(&b)?, &differences)?;
    part.compare("neg", a.neg()?, &of(&x, &y, |x, _| -x))?;
    let none = a.overflowing_sub(&a)?.0;
    part.expect("a - a", none.magnitude().is_zero_mask()?.count()?, x.len());
    part.expect("a - a", none.negative().any()?, false);

    let orders = of(&x, &y, oracle::signed_cmp);
    part.compare("cmp", a.cmp(&b)?, &orders)?;
    part.compare("lt_mask", a.lt_mask(&b)?, &of(&x, &y, |x, y| oracle::signed_cmp(x, y).is_lt()))?;
    part.compare("eq_mask", a.eq_mask(&b)?, &of(&x, &y, |x, y| oracle::signed_cmp(x, y).is_eq()))?;
    part.expect("eq_mask", a.eq_mask(&a)?.count()?, x.len());
    Ok(())
}

struct Quotients;

impl Check for Quotients {
    const NAME: &str = "signed products and quotients";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        setting.each_part(shape, DIVISIONS, count, tally, |part| quotients(&part));
    }
}

fn quotients(part: &Part<'_>) -> Result<()> {
    let (device, shape) = (part.device, part.shape);
    let [x, mut y] = operands(&part.rows);
    let [a, b] = [&x, &y].map(|values| DynSignedBatch::from_bigints(device, shape, values));
    let (a, b) = (a?, b?);
    let products: Vec<_> = x.iter().zip(&y).map(|(x, y)| oracle::signed_product(x, y)).collect();
    let expected: Vec<_> = products.iter().map(|value| wrapped(value, shape.bits)).collect();
    part.compare("overflowing_mul", a.overflowing_mul(&b)?, &expected)?;
    if doubled(shape).is_some() {
        part.compare("widening_mul", a.widening_mul(&b)?, &products)?;
    }
    if let Some(row) = y.iter().position(Zero::is_zero) {
        part.expect("div_rem", a.div_rem(&b).err(), Some(Error::DivisionByZero { row }));
    }
    y.iter_mut().filter(|y| y.is_zero()).for_each(|y| *y = -BigInt::one());
    let b = DynSignedBatch::from_bigints(device, shape, &y)?;
    type Divide = fn(&DynSignedBatch, &DynSignedBatch) -> Result<(DynSignedBatch, DynSignedBatch)>;
    type Expected = fn(&BigInt, &BigInt) -> (BigInt, BigInt);
    let rules: [(_, Divide, Expected); 3] = [
        ("div_rem", DynSignedBatch::div_rem, oracle::div_rem_to_zero),
        ("div_rem_floor", DynSignedBatch::div_rem_floor, oracle::div_rem_down),
        ("div_rem_euclid", DynSignedBatch::div_rem_euclid, oracle::div_rem_euclid),
    ];
    for (name, divide, expected) in rules {
        let (q, r) = divide(&a, &b)?;
        let expected: Vec<_> = x.iter().zip(&y).map(|(x, y)| expected(x, y)).collect();
        for batch in [&q, &r] {
            let magnitude = batch.magnitude().try_clone()?;
            let canonical = DynSignedBatch::from_parts(magnitude, batch.negative())?;
            let [negative, canonical] = [batch, &canonical].map(|rows| rows.negative().to_bools());
            part.expect("no -0", negative?, canonical?);
        }
        part.compare(name, (q, r), &expected)?;
    }
    Ok(())
}

struct Cofactors;

impl Check for Cofactors {
    const NAME: &str = "cofactors with signs";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape).div_ceil(4);
        setting.each_part(shape, EUCLID, count, tally, |part| {
            let (gcd, x, y) = part.a()?.xgcd_signed(&part.b()?)?;
            let cofactors = zip(x.to_bigints()?, y.to_bigints()?);
            for (row, (g, (x, y))) in part.rows.iter().zip(zip(gcd.to_biguints()?, cofactors)) {
                let [a, b] = [&row.a, &row.b].map(|value| BigInt::from(value.clone()));
                let sum = oracle::signed_sum(
                    &oracle::signed_product(&a, &x),
                    &oracle::signed_product(&b, &y),
                );
                let is_right = g == oracle::gcd(&row.a, &row.b) && sum == BigInt::from(g);
                let what = part.what("xgcd_signed");
                part.row(is_right, || format!("{}: {x:#x}, {y:#x}", what.row(row)));
            }
            Ok(())
        });
    }
}

on_every_backend! { sums_of_signed: Sums, quotients_of_signed: Quotients, cofactors: Cofactors, }

#[test]
fn parts_that_do_not_match_are_rejected() {
    let device = Device::cpu();
    let shape = shapes()[0];
    let zeros = |rows| DynBatch::zeros(&device, shape, rows).unwrap();
    let minus = Mask::from_bools(&device, &[true, true]).unwrap();
    let error = DynSignedBatch::from_parts(zeros(3), &minus).err();
    assert_eq!(error, Some(Error::LengthMismatch { left: 3, right: 2 }));
    let none = DynSignedBatch::from_parts(zeros(2), &minus).unwrap();
    assert!(!none.negative().any().unwrap());
    assert_eq!(none.row(2).err(), Some(Error::NoSuchRow { row: 2, rows: 2 }));
    let one = DynSignedBatch::from_bigints(&device, shape, &[-BigInt::one()]).unwrap();
    let error = Some(Error::LengthMismatch { left: 2, right: 1 });
    assert_eq!(none.overflowing_add(&one).err(), error);
    assert_eq!(none.cmp(&one).err(), error);
    let wide = [BigInt::zero(), -(BigInt::one() << shape.bits)];
    let error = DynSignedBatch::from_bigints(&device, shape, &wide).err();
    let bits = shape.bits as u64 + 1;
    assert_eq!(error, Some(Error::TooWide { row: 1, bits, width: shape.bits }));
    assert!(DynSignedBatch::from_bigints(&device, shape, &[]).unwrap().is_empty());
}
