//! The matrix: every form of every operation at every shape, by every strategy, for row counts from
//! none to more than one grid.
//!
//! The other modules check kernels on many rows. Here the forms that share a kernel must agree on
//! few rows: with and without `_into`, with and without a strategy, as an operator, with one
//! operand twice, with only one of two results.

use gpuint::num_bigint::BigUint;
use gpuint::{
    BackendKind, Device, DynBatch, DynDivisor, Error, Mask, Product, Result, Shape, Strategy,
};
use num_traits::{One, Zero};

use crate::setting::{
    Check, Context, Setting, Tally, doubled, first, is_thorough, on_every_backend, second, seed,
    zip,
};
use gpuint_testkit::operands::{DIVISIONS, Family, PRODUCTS, Row, SUMS, ones, rows};
use gpuint_testkit::oracle;

const BLOCKED: Strategy = Strategy::Blocked(Some(Product::Classical));
const INVERSE: Strategy = Strategy::ShiftedInverse(Some(Product::Classical));

/// A form of an operation on two batches.
type Form = (&'static str, fn(&DynBatch, &DynBatch) -> Result<DynBatch>);
/// A form of an operation that returns one bit a row.
type Test = (&'static str, fn(&DynBatch, &DynBatch) -> Result<Mask>);

/// Writes into memory that held other values.
fn into(a: &DynBatch, write: impl FnOnce(&mut DynBatch) -> Result<()>) -> Result<DynBatch> {
    let mut out = DynBatch::splat(a.device(), a.shape(), &ones(a.shape().bits), a.len())?;
    write(&mut out)?;
    Ok(out)
}

/// Writes only one of the results, into memory that held other values.
fn into_two(
    a: &DynBatch,
    write: impl FnOnce(&mut DynBatch, &mut DynBatch) -> Result<()>,
) -> Result<(DynBatch, DynBatch)> {
    let mut first = DynBatch::splat(a.device(), a.shape(), &ones(a.shape().bits), a.len())?;
    let second = into(a, |second| write(&mut first, second))?;
    Ok((first, second))
}

/// Writes into a mask that had all bits set.
fn into_mask(a: &DynBatch, write: impl FnOnce(&mut Mask) -> Result<()>) -> Result<Mask> {
    let mut mask = a.eq_mask(a)?;
    write(&mut mask)?;
    Ok(mask)
}

/// An assigning form.
fn assigned(a: &DynBatch, assign: impl FnOnce(&mut DynBatch)) -> Result<DynBatch> {
    let mut a = a.try_clone()?;
    assign(&mut a);
    Ok(a)
}

fn add() -> Vec<Form> {
    vec![
        ("wrapping_add", |a, b| a.wrapping_add(b)),
        ("wrapping_add_into", |a, b| into(a, |out| a.wrapping_add_into(b, out))),
        ("overflowing_add", |a, b| Ok(a.overflowing_add(b)?.0)),
        ("a + b", |a, b| Ok(a + b)),
        ("a += b", |a, b| assigned(a, |a| *a += b)),
        ("wrapping_add_assign", |a, b| {
            let mut sum = a.try_clone()?;
            sum.wrapping_add_assign(b)?;
            Ok(sum)
        }),
    ]
}

fn sub() -> Vec<Form> {
    vec![
        ("wrapping_sub", |a, b| a.wrapping_sub(b)),
        ("wrapping_sub_into", |a, b| into(a, |out| a.wrapping_sub_into(b, out))),
        ("overflowing_sub", |a, b| Ok(a.overflowing_sub(b)?.0)),
        ("a - b", |a, b| Ok(a - b)),
        ("a -= b", |a, b| assigned(a, |a| *a -= b)),
    ]
}

fn low_product() -> Vec<Form> {
    vec![
        ("wrapping_mul", |a, b| a.wrapping_mul(b)),
        ("wrapping_mul_into", |a, b| into(a, |out| a.wrapping_mul_into(b, out))),
        ("wrapping_mul_with", |a, b| {
            a.using(Strategy::Product(Product::Classical)).wrapping_mul(b)
        }),
        ("mul_lo_hi, low", |a, b| Ok(a.mul_lo_hi(b)?.0)),
        ("a * b", |a, b| Ok(a * b)),
        ("a *= b", |a, b| assigned(a, |a| *a *= b)),
    ]
}

fn cyclic_product() -> Vec<Form> {
    vec![
        ("cyclic_mul", |a, b| a.cyclic_mul(b)),
        ("cyclic_mul_with", |a, b| a.using(Strategy::Product(Product::Classical)).cyclic_mul(b)),
        ("cyclic_mul_into", |a, b| into(a, |out| a.cyclic_mul_into(b, out))),
    ]
}

fn high_product() -> Vec<Form> {
    vec![
        ("mul_lo_hi", |a, b| Ok(a.mul_lo_hi(b)?.1)),
        ("mul_lo_hi_with", |a, b| {
            Ok(a.using(Strategy::Product(Product::Classical)).mul_lo_hi(b)?.1)
        }),
        ("mul_lo_hi_into", |a, b| Ok(into_two(a, |l, h| a.mul_lo_hi_into(b, l, h))?.1)),
    ]
}

fn square() -> Vec<Form> {
    vec![
        ("wrapping_square", |a, _| a.wrapping_square()),
        ("wrapping_square_with", |a, _| {
            a.using(Strategy::Product(Product::Classical)).wrapping_square()
        }),
        ("wrapping_square_into", |a, _| into(a, |out| a.wrapping_square_into(out))),
        ("wrapping_mul of one batch", |a, _| a.wrapping_mul(a)),
    ]
}

fn quotient() -> Vec<Form> {
    let mut forms: Vec<Form> = vec![
        ("div", |u, v| u.div(v)),
        ("div_into", |u, v| into(u, |q| u.div_into(v, q))),
        ("div_rem, quotient", |u, v| Ok(u.div_rem(v)?.0)),
        ("div_rem_masked, quotient", |u, v| Ok(u.div_rem_masked(v)?.0)),
        ("u / v", |u, v| Ok(u / v)),
        ("u /= v", |u, v| assigned(u, |u| *u /= v)),
    ];
    forms.extend::<[Form; 4]>([
        ("div_by", |u, v| u.div_by(&DynDivisor::of_rows(v)?)),
        ("div_by_into", |u, v| into(u, |q| u.div_by_into(&DynDivisor::of_rows(v)?, q))),
        ("div_rem_by, quotient", |u, v| Ok(u.div_rem_by(&DynDivisor::of_rows(v)?)?.0)),
        ("div_rem_by_into, quotient", |u, v| {
            Ok(into_two(u, |q, r| u.div_rem_by_into(&DynDivisor::of_rows(v)?, q, r))?.0)
        }),
    ]);
    forms.extend::<[Form; 4]>([
        ("div by Blocked", |u, v| u.using(BLOCKED).div(v)),
        ("div by ShiftedInverse", |u, v| u.using(INVERSE).div(v)),
        ("div_rem_into by Blocked, quotient", |u, v| {
            Ok(into_two(u, |q, r| u.using(BLOCKED).div_rem_into(v, q, r))?.0)
        }),
        ("div_rem_into by ShiftedInverse, quotient", |u, v| {
            Ok(into_two(u, |q, r| u.using(INVERSE).div_rem_into(v, q, r))?.0)
        }),
    ]);
    forms
}

fn remainder() -> Vec<Form> {
    let mut forms: Vec<Form> = vec![
        ("rem", |u, v| u.rem(v)),
        ("rem_into", |u, v| into(u, |r| u.rem_into(v, r))),
        ("div_rem_into, remainder", |u, v| Ok(into_two(u, |q, r| u.div_rem_into(v, q, r))?.1)),
        ("div_rem_masked_into, remainder", |u, v| {
            let mut zero = u.eq_mask(u)?;
            Ok(into_two(u, |q, r| u.div_rem_masked_into(v, q, r, &mut zero))?.1)
        }),
        ("u % v", |u, v| Ok(u % v)),
        ("u %= v", |u, v| assigned(u, |u| *u %= v)),
    ];
    forms.extend::<[Form; 5]>([
        ("rem_by, prepared with a mask", |u, v| u.rem_by(&v.prepare_masked()?.0)),
        ("rem_by", |u, v| u.rem_by(&DynDivisor::of_rows(v)?)),
        ("rem_by_into", |u, v| into(u, |r| u.rem_by_into(&DynDivisor::of_rows(v)?, r))),
        ("div_rem_by, remainder", |u, v| Ok(u.div_rem_by(&DynDivisor::of_rows(v)?)?.1)),
        ("div_rem_by_into, remainder", |u, v| {
            Ok(into_two(u, |q, r| u.div_rem_by_into(&DynDivisor::of_rows(v)?, q, r))?.1)
        }),
    ]);
    forms.extend::<[Form; 4]>([
        ("rem_into by Blocked", |u, v| into(u, |r| u.using(BLOCKED).rem_into(v, r))),
        ("rem_into by ShiftedInverse", |u, v| into(u, |r| u.using(INVERSE).rem_into(v, r))),
        ("div_rem by Blocked, remainder", |u, v| Ok(u.using(BLOCKED).div_rem(v)?.1)),
        ("div_rem by ShiftedInverse, remainder", |u, v| Ok(u.using(INVERSE).div_rem(v)?.1)),
    ]);
    forms
}

/// Squares modulo the second operand.
fn square_mod() -> Vec<Form> {
    vec![
        ("square_mod", |a, v| a.square_mod(&DynDivisor::of_rows(v)?)),
        ("square_mod_into", |a, v| into(a, |out| a.square_mod_into(&DynDivisor::of_rows(v)?, out))),
        ("mul_mod", |a, v| a.mul_mod(a, &DynDivisor::of_rows(v)?)),
        ("mul_mod_into", |a, v| into(a, |out| a.mul_mod_into(a, &DynDivisor::of_rows(v)?, out))),
        ("pow_mod", |a, v| {
            let two = DynBatch::splat(a.device(), a.shape(), &BigUint::from(2u32), a.len())?;
            a.pow_mod(&two, &DynDivisor::of_rows(v)?)
        }),
        ("pow_mod_into", |a, v| {
            let two = DynBatch::splat(a.device(), a.shape(), &BigUint::from(2u32), a.len())?;
            into(a, |out| a.pow_mod_into(&two, &DynDivisor::of_rows(v)?, out))
        }),
        ("pow_mod_all", |a, v| a.pow_mod_all(&BigUint::from(2u32), &DynDivisor::of_rows(v)?)),
        ("pow_mod_all_into", |a, v| {
            into(a, |out| a.pow_mod_all_into(&BigUint::from(2u32), &DynDivisor::of_rows(v)?, out))
        }),
        ("pow_mod_rows", |a, v| {
            a.pow_mod_rows(&vec![BigUint::from(2u32); a.len()], &DynDivisor::of_rows(v)?)
        }),
        ("pow_mod_rows_into", |a, v| {
            let twos = vec![BigUint::from(2u32); a.len()];
            into(a, |out| a.pow_mod_rows_into(&twos, &DynDivisor::of_rows(v)?, out))
        }),
        ("square_mod_repeatedly", |a, v| a.square_mod_repeatedly(1, &DynDivisor::of_rows(v)?)),
        ("square_mod_repeatedly_into", |a, v| {
            into(a, |out| a.square_mod_repeatedly_into(1, &DynDivisor::of_rows(v)?, out))
        }),
    ]
}

/// Quotients by ten.
fn tenth() -> Vec<Form> {
    vec![
        ("div_rem_digit", |u, _| Ok(u.div_rem_digit(10)?.0)),
        ("div_rem_digit_into", |u, _| {
            let mut remainders = vec![10; u.len()];
            into(u, |q| u.div_rem_digit_into(10, q, &mut remainders))
        }),
        ("div_by one divisor", |u, _| {
            u.div_by(&DynDivisor::splat(u.device(), u.shape(), &BigUint::from(10u32))?)
        }),
    ]
}

fn shl() -> Vec<Form> {
    vec![
        ("shl", |a, _| a.shl(a.shape().digit.bits())),
        ("shl_into", |a, _| into(a, |out| a.shl_into(a.shape().digit.bits(), out))),
        ("shl_digits", |a, _| a.shl_digits(1)),
        ("shl_digits_into", |a, _| into(a, |out| a.shl_digits_into(1, out))),
    ]
}

fn shr() -> Vec<Form> {
    vec![
        ("shr", |a, _| a.shr(a.shape().digit.bits())),
        ("shr_into", |a, _| into(a, |out| a.shr_into(a.shape().digit.bits(), out))),
        ("shr_digits", |a, _| a.shr_digits(1)),
        ("shr_digits_into", |a, _| into(a, |out| a.shr_digits_into(1, out))),
    ]
}

fn inverse() -> Vec<Form> {
    vec![
        ("shifted_inverse", |_, v| v.shifted_inverse(v.shape().digits() - 1)),
        ("shifted_inverse_into", |_, v| {
            into(v, |w| v.shifted_inverse_into(v.shape().digits() - 1, w))
        }),
        ("shifted_inverse_with", |_, v| {
            v.using(Strategy::Product(Product::Classical)).shifted_inverse(v.shape().digits() - 1)
        }),
    ]
}

fn carry() -> Vec<Test> {
    vec![
        ("overflowing_add, carry", |a, b| Ok(a.overflowing_add(b)?.1)),
        ("overflowing_add_into, carry", |a, b| {
            into_mask(a, |carry| into(a, |sum| a.overflowing_add_into(b, sum, carry)).map(drop))
        }),
    ]
}

fn borrow() -> Vec<Test> {
    vec![
        ("overflowing_sub, borrow", |a, b| Ok(a.overflowing_sub(b)?.1)),
        ("lt_mask", |a, b| a.lt_mask(b)),
        ("lt_mask_into", |a, b| into_mask(a, |less| a.lt_mask_into(b, less))),
    ]
}

fn equal() -> Vec<Test> {
    vec![
        ("eq_mask", |a, b| a.eq_mask(b)),
        ("eq_mask_into", |a, b| into_mask(a, |equal| a.eq_mask_into(b, equal))),
    ]
}

fn zero() -> Vec<Test> {
    vec![
        ("is_zero_mask", |_, b| b.is_zero_mask()),
        ("is_zero_mask_into", |_, b| into_mask(b, |zero| b.is_zero_mask_into(zero))),
        ("div_rem_masked, mask", |a, b| Ok(a.div_rem_masked(b)?.2)),
    ]
}

/// Rows on a device, with a counter of results.
struct Forms<'a> {
    device: &'a Device,
    rows: Vec<Row>,
    a: DynBatch,
    b: DynBatch,
}

impl<'a> Forms<'a> {
    fn new(shape: Shape, device: &'a Device, rows: Vec<Row>) -> Result<Self> {
        let a = DynBatch::from_biguints(device, shape, &first(&rows))?;
        let b = DynBatch::from_biguints(device, shape, &second(&rows))?;
        Ok(Self { device, rows, a, b })
    }

    fn check(
        &self,
        tally: &mut Tally,
        forms: Vec<Form>,
        expected: impl Fn(&BigUint, &BigUint) -> BigUint,
    ) {
        let expected: Vec<_> = self.rows.iter().map(|row| expected(&row.a, &row.b)).collect();
        for (name, form) in forms {
            let what = Context::new(self.a.shape(), name, self.device);
            tally.attempt(&what, self.rows.len(), |tally| {
                let got = form(&self.a, &self.b)?.to_biguints()?;
                tally.values(&what, &self.rows, &got, &expected);
                Ok(())
            });
        }
    }

    fn check_masks(
        &self,
        tally: &mut Tally,
        forms: Vec<Test>,
        expected: impl Fn(&BigUint, &BigUint) -> bool,
    ) {
        let expected: Vec<_> = self.rows.iter().map(|row| expected(&row.a, &row.b)).collect();
        let count = expected.iter().filter(|yes| **yes).count();
        for (name, form) in forms {
            let what = Context::new(self.a.shape(), name, self.device);
            tally.attempt(&what, self.rows.len(), |tally| {
                let got = form(&self.a, &self.b)?;
                let right = got.count()? == count
                    && got.any()? == (count > 0)
                    && got.len() == self.rows.len()
                    && got.is_empty() == self.rows.is_empty()
                    && got.device() == self.device;
                tally.row(right, || format!("{what}: the mask has another count, {count} rows"));
                tally.values(&what, &self.rows, &got.to_bools()?, &expected);
                Ok(())
            });
        }
    }
}

/// Full product in rows of twice the width.
fn wide([shape, wide]: [Shape; 2], device: &Device, rows: &[Row], tally: &mut Tally) {
    let what = Context::new(shape, "widening_mul", device);
    let expected: Vec<_> = rows
        .iter()
        .map(|row| {
            let (low, high) = oracle::mul(&row.a, &row.b, shape.bits);
            low + (high << shape.bits)
        })
        .collect();
    tally.attempt(&what, rows.len(), |tally| {
        let a = DynBatch::from_biguints(device, shape, &first(rows))?;
        let b = DynBatch::from_biguints(device, shape, &second(rows))?;
        let mut out = DynBatch::splat(device, wide, &ones(wide.bits), rows.len())?;
        a.widening_mul_into(&b, &mut out)?;
        tally.values(&what, rows, &out.to_biguints()?, &expected);
        let out = a.widening_mul(&b)?;
        tally.values(&what, rows, &out.to_biguints()?, &expected);
        let out = a.using(Product::Classical).widening_mul(&b)?;
        tally.values(&what, rows, &out.to_biguints()?, &expected);
        Ok(())
    });
}

/// Row counts: none, one, and an odd number greater than a small grid processes at a time.
fn counts(shape: Shape) -> [usize; 5] {
    let at_a_time = 3 * 128usize.div_ceil(shape.threads());
    [0, 1, 2, 3, at_a_time + 1 + at_a_time % 2 + 1]
}

struct EveryForm;

impl Check for EveryForm {
    const NAME: &str = "forms of operations";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let devices = setting.devices();
        for (turn, count) in counts(shape).into_iter().enumerate() {
            for (schedule, device) in devices.iter().enumerate() {
                // Wide rows take long, so each count has one schedule, and in an ordinary run all
                // rows do.
                let simt = setting.backend == BackendKind::Simt;
                let is_shared = shape.bits > 2048 || !is_thorough();
                if simt && is_shared && schedule != turn % devices.len() {
                    continue;
                }
                if simt && shape.bits > 65536 && count > 1 {
                    continue;
                }
                let what = Context::new(shape, "forms", device);
                tally.attempt(&what, count, |tally| forms(shape, device, turn, count, tally));
            }
        }
    }
}

fn forms(
    shape: Shape,
    device: &Device,
    turn: usize,
    count: usize,
    tally: &mut Tally,
) -> Result<()> {
    let bits = shape.bits;
    let first = 1 + 7 * turn;
    let list = |families: &[Family]| rows(seed(), families, shape.into(), first..first + count);

    let sums = Forms::new(shape, device, list(SUMS))?;
    sums.check(tally, add(), |a, b| oracle::add(a, b, bits).0);
    sums.check(tally, sub(), |a, b| oracle::sub(a, b, bits).0);
    sums.check(tally, shl(), |a, _| oracle::shl(a, shape.digit.bits(), bits));
    sums.check(tally, shr(), |a, _| oracle::shr(a, shape.digit.bits()));
    sums.check_masks(tally, carry(), |a, b| oracle::add(a, b, bits).1);
    sums.check_masks(tally, borrow(), |a, b| oracle::sub(a, b, bits).1);
    sums.check_masks(tally, equal(), |a, b| oracle::cmp(a, b).is_eq());
    sums.check_masks(tally, zero(), |_, b| b.is_zero());
    let what = Context::new(shape, "cmp_into, bit_lengths_into", device);
    let mut order = vec![std::cmp::Ordering::Less; count];
    let mut lengths = vec![u64::MAX; count];
    sums.a.cmp_into(&sums.b, &mut order)?;
    sums.a.bit_lengths_into(&mut lengths)?;
    let orders: Vec<_> = sums.rows.iter().map(|row| oracle::cmp(&row.a, &row.b)).collect();
    let bit_lengths: Vec<_> = sums.rows.iter().map(|row| oracle::bits(&row.a)).collect();
    tally.values(&what, &sums.rows, &order, &orders);
    tally.values(&what, &sums.rows, &lengths, &bit_lengths);

    let products = Forms::new(shape, device, list(PRODUCTS))?;
    products.check(tally, low_product(), |a, b| oracle::mul(a, b, bits).0);
    products.check(tally, high_product(), |a, b| oracle::mul(a, b, bits).1);
    products.check(tally, cyclic_product(), |a, b| oracle::mul_cyclic(a, b, bits));
    products.check(tally, square(), |a, _| oracle::square(a, bits));
    if let Some(doubled) = doubled(shape) {
        wide([shape, doubled], device, &products.rows, tally);
    }

    let mut divisions = list(DIVISIONS);
    for row in divisions.iter_mut().filter(|row| row.b.is_zero()) {
        row.b = BigUint::one();
    }
    let divisions = Forms::new(shape, device, divisions)?;
    divisions.check(tally, quotient(), |u, v| oracle::div_rem(u, v).0);
    divisions.check(tally, remainder(), |u, v| oracle::div_rem(u, v).1);
    divisions.check(tally, square_mod(), |a, v| oracle::mul_mod(a, a, v));
    divisions.check(tally, tenth(), |u, _| oracle::div_rem(u, &BigUint::from(10u32)).0);
    let what = Context::new(shape, "rem_digit", device);
    let digits = divisions.a.rem_digit(10)?;
    let tenths = divisions.rows.iter().map(|row| oracle::div_rem(&row.a, &BigUint::from(10u32)).1);
    let tenths: Vec<u64> = tenths.map(|r| r.iter_u64_digits().sum()).collect();
    tally.values(&what, &divisions.rows, &digits, &tenths);
    divisions.check(tally, inverse(), |_, v| oracle::inverse(v, bits - shape.digit.bits()));
    divisions.check(tally, vec![("u / u of one batch", |_, v| v.div(v))], |_, _| BigUint::one());
    Ok(())
}

struct ZeroDivisors;

impl Check for ZeroDivisors {
    const NAME: &str = "zero divisors";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        for device in setting.devices() {
            zero_divisors(shape, Strategy::Auto, "Auto", device, tally);
            if setting.backend != BackendKind::Cpu && shape.bits <= 4096 {
                zero_divisors(
                    shape,
                    Strategy::Blocked(Some(Product::Classical)),
                    "Blocked",
                    device,
                    tally,
                );
                zero_divisors(
                    shape,
                    Strategy::ShiftedInverse(Some(Product::Classical)),
                    "ShiftedInverse",
                    device,
                    tally,
                );
            }
        }
    }
}

/// The error names the lowest row, wherever there are others. The memory then holds the results of
/// the masked form, which are right on all rows.
fn zero_divisors(shape: Shape, by: Strategy, strategy: &str, device: &Device, tally: &mut Tally) {
    let count = counts(shape)[4];
    let places: [&[usize]; 5] =
        [&[count - 1, 0], &[1, 2, 3], &[0], &[count - 1], &[count / 2, count - 2]];
    let is_slow = device.backend() == BackendKind::Simt && shape.bits > 65536 && !is_thorough();
    let most = if is_slow { 2 } else { places.len() };
    for (turn, places) in places.into_iter().take(most).enumerate() {
        let first_row = 1 + 7 * turn;
        let mut rows = rows(seed(), DIVISIONS, shape.into(), first_row..first_row + count);
        for (index, row) in rows.iter_mut().enumerate() {
            if places.contains(&index) {
                row.b = BigUint::zero();
            } else if row.b.is_zero() {
                row.b = BigUint::one();
            }
        }
        let name = format!("div_rem by {strategy} with zeros at {places:?}");
        let what = Context::new(shape, &name, device);
        tally.attempt(&what, count, |tally| {
            let u = DynBatch::from_biguints(device, shape, &first(&rows))?;
            let v = DynBatch::from_biguints(device, shape, &second(&rows))?;
            let lowest = places.iter().min().copied().unwrap_or(usize::MAX);
            let error = Some(Error::DivisionByZero { row: lowest });

            let mut out = None;
            let found = into_two(&u, |q, r| {
                let found = u.using(by).div_rem_into(&v, q, r).err();
                out = Some((q.to_biguints()?, r.to_biguints()?));
                tally.row(found == error, || format!("{what}: {found:?}"));
                Ok(())
            });
            found?;
            for found in [
                u.using(by).div_rem(&v).err(),
                u.using(by).div(&v).err(),
                u.using(by).rem(&v).err(),
            ] {
                tally.row(found == error, || format!("{what}: {found:?}"));
            }

            let expected: Vec<_> =
                rows.iter().map(|row| oracle::div_rem_masked(&row.a, &row.b, shape.bits)).collect();
            let (q, r, zero) = u.using(by).div_rem_masked(&v)?;
            let (q, r, zero) = (q.to_biguints()?, r.to_biguints()?, zero.to_bools()?);
            let left = out.unwrap_or_default();
            tally.row(left == (q.clone(), r.clone()), || format!("{what}: what is left in memory"));
            let got: Vec<_> = q.into_iter().zip(r).zip(zero).map(|((q, r), z)| (q, r, z)).collect();
            tally.values(&what, &rows, &got, &expected);
            Ok(())
        });
    }
}

/// More rows than a grid has blocks for in one of its smaller dimensions, and than the memory
/// through which integers are converted holds.
const MANY: usize = 140_001;

struct ManyRows;

impl Check for ManyRows {
    const NAME: &str = "many rows";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        if shape.bits > 1024 || shape.q != 4 {
            return;
        }
        let device = &setting.devices()[0];
        let what = Context::new(shape, "many rows", device);
        tally.attempt(&what, MANY, |tally| {
            // Row i holds i, then i + 2^BITS - 1: all but row 0 carry.
            let values: Vec<_> = (0..MANY).map(BigUint::from).collect();
            let a = DynBatch::from_biguints(device, shape, &values)?;
            let b = DynBatch::splat(device, shape, &ones(shape.bits), MANY)?;
            let (sum, carry) = a.overflowing_add(&b)?;
            let carry = carry.to_bools()?;
            let sum = sum.to_biguints()?;
            for row in 0..MANY {
                let expected = oracle::add(&values[row], &ones(shape.bits), shape.bits);
                let right = expected.0 == sum[row] && expected.1 == carry[row];
                tally.row(right, || format!("{what}: row {row} of {MANY}"));
            }
            let less = a.lt_mask(&DynBatch::splat(device, shape, &values[MANY - 1], MANY)?)?;
            let last = a.row(MANY - 1)?;
            tally.row(less.count()? == MANY - 1 && last == values[MANY - 1], || {
                format!("{what}: the last row")
            });
            Ok(())
        });
    }
}

/// One device and its batches, used by several threads at a time.
struct Threads;

impl Check for Threads {
    const NAME: &str = "threads of the host";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        if shape.bits > 2048 {
            return;
        }
        let device = &setting.devices()[0];
        let what = Context::new(shape, "div_rem on four threads", device);
        let rows = rows(seed(), &DIVISIONS[..20], shape.into(), 0..23);
        tally.attempt(&what, rows.len(), |tally| {
            let u = DynBatch::from_biguints(device, shape, &first(&rows))?;
            let v = DynBatch::from_biguints(device, shape, &second(&rows))?;
            let divide = || {
                let (q, r) = u.div_rem(&v)?;
                Ok((q.to_biguints()?, r.to_biguints()?))
            };
            let results: Vec<Result<_>> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(divide)).collect();
                threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
            });
            let expected: Vec<_> = rows.iter().map(|row| oracle::div_rem(&row.a, &row.b)).collect();
            for result in results {
                let (q, r) = result?;
                tally.values(&what, &rows, &zip(q, r), &expected);
            }
            Ok(())
        });
    }
}

on_every_backend! {
many_rows: ManyRows,
threads: Threads,
every_form: EveryForm, zero_divisors: ZeroDivisors, }
