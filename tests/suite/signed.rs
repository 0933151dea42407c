//! Signed batches, and cofactors with signs.

use gpuint::num_bigint::{BigInt, BigUint, Sign};
use gpuint::{Device, DynBatch, DynSignedBatch, Error, Mask, Result, Shape, shapes};
use num_traits::{One, Zero};

use crate::setting::{
    Check, Context, Hex, Rows, Setting, Tally, doubled, first, on_every_backend, second, zip,
};
use gpuint_testkit::operands::{DIVISIONS, EUCLID, Row, SUMS};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 4_000, least: 22 };

impl Hex for BigInt {
    fn hex(&self) -> String {
        format!("{self:#x}")
    }
}

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

fn read((rows, mask): (DynSignedBatch, Mask)) -> Result<Vec<(BigInt, bool)>> {
    Ok(zip(rows.to_bigints()?, mask.to_bools()?))
}

struct Sums;

impl Check for Sums {
    const NAME: &str = "signed sums";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        for (_, device, rows) in setting.parts(shape, SUMS, setting.count(ROWS, shape)) {
            let what = Context::new(shape, "signed sums", device);
            tally.attempt(&what, rows.len(), |tally| sums(shape, device, &rows, tally));
        }
    }
}

fn sums(shape: Shape, device: &Device, rows: &[Row], tally: &mut Tally) -> Result<()> {
    let what = |name| Context::new(shape, name, device);
    let [x, y] = operands(rows);
    let [a, b] = [&x, &y].map(|values| DynSignedBatch::from_bigints(device, shape, values));
    let (a, b) = (a?, b?);
    tally.values(&what("to_bigints"), rows, &a.to_bigints()?, &x);
    for row in (0..rows.len()).step_by(rows.len().div_ceil(8).max(1)) {
        tally.row(a.row(row)? == x[row], || what("row").to_string());
    }
    let pairs = || x.iter().zip(&y);
    let expected: Vec<_> =
        pairs().map(|(x, y)| wrapped(&oracle::signed_sum(x, y), shape.bits)).collect();
    tally.values(&what("overflowing_add"), rows, &read(a.overflowing_add(&b)?)?, &expected);
    let expected: Vec<_> =
        pairs().map(|(x, y)| wrapped(&oracle::signed_sum(x, &-y), shape.bits)).collect();
    tally.values(&what("overflowing_sub"), rows, &read(a.overflowing_sub(&b)?)?, &expected);
    let expected: Vec<_> = x.iter().map(|x| -x).collect();
    tally.values(&what("neg"), rows, &a.neg()?.to_bigints()?, &expected);
    let none = a.overflowing_sub(&a)?.0;
    let is_zero = none.magnitude().is_zero_mask()?.count()? == rows.len();
    tally.row(is_zero && !none.negative().any()?, || what("a - a").to_string());

    let orders: Vec<_> = pairs().map(|(x, y)| oracle::signed_cmp(x, y)).collect();
    tally.values(&what("cmp"), rows, &a.cmp(&b)?, &orders);
    let expected: Vec<_> = orders.iter().map(|order| order.is_lt()).collect();
    tally.values(&what("lt_mask"), rows, &a.lt_mask(&b)?.to_bools()?, &expected);
    let expected: Vec<_> = orders.iter().map(|order| order.is_eq()).collect();
    tally.values(&what("eq_mask"), rows, &a.eq_mask(&b)?.to_bools()?, &expected);
    let all = a.eq_mask(&a)?.count()? == rows.len();
    tally.row(all, || what("eq_mask").to_string());
    Ok(())
}

struct Quotients;

impl Check for Quotients {
    const NAME: &str = "signed products and quotients";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        for (_, device, rows) in setting.parts(shape, DIVISIONS, setting.count(ROWS, shape)) {
            let what = Context::new(shape, "signed quotients", device);
            tally.attempt(&what, rows.len(), |tally| quotients(shape, device, &rows, tally));
        }
    }
}

fn quotients(shape: Shape, device: &Device, rows: &[Row], tally: &mut Tally) -> Result<()> {
    let what = |name| Context::new(shape, name, device);
    let [x, mut y] = operands(rows);
    let [a, b] = [&x, &y].map(|values| DynSignedBatch::from_bigints(device, shape, values));
    let (a, b) = (a?, b?);
    let products: Vec<_> = x.iter().zip(&y).map(|(x, y)| oracle::signed_product(x, y)).collect();
    let expected: Vec<_> = products.iter().map(|value| wrapped(value, shape.bits)).collect();
    tally.values(&what("overflowing_mul"), rows, &read(a.overflowing_mul(&b)?)?, &expected);
    if doubled(shape).is_some() {
        tally.values(&what("widening_mul"), rows, &a.widening_mul(&b)?.to_bigints()?, &products);
    }
    let zero = y.iter().position(Zero::is_zero);
    if let Some(row) = zero {
        let error = Some(Error::DivisionByZero { row });
        tally.row(a.div_rem(&b).err() == error, || what("div_rem").to_string());
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
        let got = zip(q.to_bigints()?, r.to_bigints()?);
        let expected: Vec<_> = x.iter().zip(&y).map(|(x, y)| expected(x, y)).collect();
        tally.values(&what(name), rows, &got, &expected);
        let zeros = [&q, &r].map(|batch| {
            DynSignedBatch::from_parts(batch.magnitude().try_clone()?, batch.negative())
        });
        for (batch, canonical) in [&q, &r].into_iter().zip(zeros) {
            let negative = batch.negative().to_bools()?;
            let is_canonical = canonical?.negative().to_bools()? == negative;
            tally.row(is_canonical, || format!("{}: -0", what(name)));
        }
    }
    Ok(())
}

struct Cofactors;

impl Check for Cofactors {
    const NAME: &str = "cofactors with signs";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape).div_ceil(4);
        for (_, device, rows) in setting.parts(shape, EUCLID, count) {
            let what = Context::new(shape, "xgcd_signed", device);
            tally.attempt(&what, rows.len(), |tally| {
                let [a, b] = [first(&rows), second(&rows)];
                let [a, b] = [a, b].map(|rows| DynBatch::from_biguints(device, shape, &rows));
                let (gcd, x, y) = a?.xgcd_signed(&b?)?;
                let cofactors = zip(x.to_bigints()?, y.to_bigints()?);
                for (row, (g, (x, y))) in rows.iter().zip(zip(gcd.to_biguints()?, cofactors)) {
                    let [a, b] = [&row.a, &row.b].map(|value| BigInt::from(value.clone()));
                    let sum = oracle::signed_sum(
                        &oracle::signed_product(&a, &x),
                        &oracle::signed_product(&b, &y),
                    );
                    let is_right = g == oracle::gcd(&row.a, &row.b) && sum == BigInt::from(g);
                    tally.row(is_right, || format!("{}: {x:#x}, {y:#x}", what.row(row)));
                }
                Ok(())
            });
        }
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
