//! Residues, in Montgomery's form and without it, and powers of a fixed base.
//!
//! Moduli are those of the divisions, made odd, and among even ones; one for each row and one for
//! all.

use gpuint::num_bigint::BigUint;
use gpuint::{
    BackendKind, Device, DynBatch, DynFixedBase, DynModulus, DynResidues, Error, Mask, Op, Result,
    Shape, algorithms,
};
use num_traits::{One, Zero};

use crate::setting::{
    Check, Context, Rows, Setting, Tally, first, is_thorough, on_every_backend, second, seed,
};
use gpuint_testkit::operands::{DIVISIONS, Row, power};
use gpuint_testkit::oracle;
use gpuint_testkit::random::Random;

const ROWS: Rows = Rows { threads: 15_000, least: 9 };

struct Chains;

impl Check for Chains {
    const NAME: &str = "residues";
    const WIDEST: bool = false;
    const EVERY_SHAPE: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        for (part, device, mut rows) in setting.parts(shape, DIVISIONS, setting.count(ROWS, shape))
        {
            for row in &mut rows {
                row.b.set_bit(0, true);
            }
            let what = Context::new(shape, "residues", device);
            tally.attempt(&what, rows.len(), |tally| {
                let moduli = DynBatch::from_biguints(device, shape, &second(&rows))?;
                let modulus = DynModulus::of_rows(&moduli)?;
                // A GPU may have no engine for the form; the others have the one of the table.
                let is_offered = algorithms(Op::MulResidues, shape).next().is_some();
                let is_right = match device.gpu() {
                    None => modulus.is_montgomery() == is_offered,
                    Some(_) => is_offered || !modulus.is_montgomery(),
                };
                tally.row(is_right, || format!("{what}: {modulus:?}"));
                chain(&what, &rows, &modulus, tally)?;

                let one = rows[part * 7 % rows.len()].b.clone();
                for row in &mut rows {
                    row.b.clone_from(&one);
                }
                chain(&what, &rows, &DynModulus::splat(device, shape, &one)?, tally)?;

                for row in rows.iter_mut().skip(1).step_by(3) {
                    row.b = if row.b.is_one() { BigUint::from(2u32) } else { &row.b - 1u32 };
                }
                let moduli = DynBatch::from_biguints(device, shape, &second(&rows))?;
                chain(&what, &rows, &DynModulus::of_rows(&moduli)?, tally)
            });
        }
    }
}

/// Every operation on the residues of `a`, and of `a` turned by a row.
fn chain(what: &Context<'_>, rows: &[Row], modulus: &DynModulus, tally: &mut Tally) -> Result<()> {
    let (device, shape) = (modulus.device(), modulus.shape());
    let mut turned = first(rows);
    turned.rotate_left(1);
    let x = DynResidues::new(&DynBatch::from_biguints(device, shape, &first(rows))?, modulus)?;
    let y = DynResidues::new(&DynBatch::from_biguints(device, shape, &turned)?, modulus)?;
    let mut out = x.try_clone()?;
    let mut check = |got: &DynResidues, of: &dyn Fn(&BigUint, &BigUint, &BigUint) -> BigUint| {
        let each = rows.iter().zip(&turned);
        let expected: Vec<_> = each.map(|(row, b)| of(&row.a, b, &row.b)).collect();
        tally.values(what, rows, &got.to_batch()?.to_biguints()?, &expected);
        Ok(())
    };
    check(&x, &|a, _, n| oracle::div_rem(a, n).1)?;
    x.mul_into(&y, &mut out)?;
    check(&out, &oracle::mul_mod)?;
    x.square_into(&mut out)?;
    check(&out, &|a, _, n| oracle::mul_mod(a, a, n))?;
    x.add_into(&y, &mut out)?;
    check(&out, &oracle::add_mod)?;
    x.sub_into(&y, &mut out)?;
    check(&out, &oracle::sub_mod)?;
    x.neg_into(&mut out)?;
    check(&out, &|a, _, n| oracle::sub_mod(&BigUint::zero(), a, n))?;
    check(&x.double()?, &|a, _, n| oracle::add_mod(a, a, n))?;
    // Without a conversion in between: (x - y)^2 + 4 x y = (x + y)^2.
    let square = x.sub(&y)?.square()?.add(&x.mul(&y)?.double()?.double()?)?;
    let sum = x.add(&y)?.square()?;
    let equal = square.eq_mask(&sum)?;
    check(&sum, &|a, b, n| {
        let sum = oracle::add_mod(a, b, n);
        oracle::mul_mod(&sum, &sum, n)
    })?;
    check(&x.pow_all(&BigUint::from(5u32))?, &|a, _, n| oracle::pow_mod(a, &5u32.into(), n))?;
    let random = Random::new(seed() ^ rows[0].index as u64).word();
    let chosen = x.eq_mask(&y)?.not()?.xor(&Mask::none(device, rows.len())?)?;
    let selected = x.select(&chosen, &y.neg()?)?;
    check(&selected, &|a, b, n| {
        let differ = oracle::sub_mod(a, b, n) != BigUint::zero();
        if differ { oracle::div_rem(a, n).1 } else { oracle::sub_mod(&BigUint::zero(), b, n) }
    })?;
    let exponents: Vec<_> =
        (0..rows.len()).map(|row| BigUint::from(random >> (row % 64))).collect();
    let exponents: Vec<_> = exponents.iter().map(|e| e % 300u32).collect();
    let powers = x.pow(&DynBatch::from_biguints(device, shape, &exponents)?)?;
    let expected: Vec<_> =
        rows.iter().zip(&exponents).map(|(row, e)| oracle::pow_mod(&row.a, e, &row.b)).collect();
    tally.values(what, rows, &powers.to_batch()?.to_biguints()?, &expected);
    tally.values(what, rows, &equal.to_bools()?, &vec![true; rows.len()]);
    let zero = rows.iter().map(|row| oracle::div_rem(&row.a, &row.b).1.is_zero());
    tally.values(what, rows, &x.is_zero_mask()?.to_bools()?, &zero.collect::<Vec<_>>());

    let even = rows.iter().position(|row| !row.b.bit(0));
    match even {
        Some(row) => {
            let error = x.halve().err();
            let right = error == Some(Error::EvenModulus { row }) && !modulus.is_montgomery();
            tally.row(right, || format!("{what}: {error:?}, row {row} is even"));
        }
        None => {
            let half = x.halve()?;
            let right = half.double()?.eq_mask(&x)?.count()? == rows.len();
            let below = half.to_batch()?.to_biguints()?;
            let right = right && below.iter().zip(rows).all(|(half, row)| *half < row.b);
            tally.row(right, || format!("{what}: halves"));
        }
    }
    Ok(())
}

struct FixedBases;

impl Check for FixedBases {
    const NAME: &str = "powers of a fixed base";
    const WIDEST: bool = false;
    const EVERY_SHAPE: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        // Wide rows are slow: each shape has one device, modulus and length, and the shim none of
        // the widest.
        let is_shared = shape.bits > 2048 && !is_thorough();
        if is_shared && shape.bits > 65536 && setting.backend == BackendKind::Simt {
            return;
        }
        let turn = shape.bits.ilog2() as usize;
        let turns = setting.devices().len();
        let count = if shape.bits > 8192 { 3 } else { 21 };
        for (part, device, mut rows) in setting.parts(shape, DIVISIONS, count) {
            if is_shared && part != turn % turns {
                continue;
            }
            let part = if is_shared { turn % 2 } else { part };
            let what = Context::new(shape, "powers of a fixed base", device);
            tally.attempt(&what, rows.len(), |tally| {
                // Odd and even moduli, 1 among them.
                let modulus = match part % 3 {
                    0 => &rows[0].b | BigUint::one(),
                    1 => (&rows[0].b >> 1) + 2u32,
                    _ => BigUint::one(),
                };
                // A byte of the exponent takes 256 products.
                let longest = match shape.bits {
                    _ if !is_shared => 24,
                    ..=65536 => 9,
                    _ => 3,
                };
                let exponent_bits = [17, 8, 1, 24][part % 4].min(longest);
                let mut random = Random::new(seed() ^ part as u64);
                let base = rows[0].a.clone();
                let exponents: Vec<_> = (0..rows.len())
                    .map(|row| match row % 4 {
                        0 => power(exponent_bits) - 1u32,
                        1 => BigUint::from(row % 3) >> (3 - exponent_bits.min(3)),
                        _ => random.bits(exponent_bits),
                    })
                    .collect();
                let powers = DynFixedBase::new(device, shape, &base, &modulus, exponent_bits)?;
                let batch = DynBatch::from_biguints(device, shape, &exponents)?;
                for row in &mut rows {
                    (row.a, row.b) = (base.clone(), modulus.clone());
                }
                let expected: Vec<_> =
                    exponents.iter().map(|e| oracle::pow_mod(&base, e, &modulus)).collect();
                tally.values(&what, &rows, &powers.pow(&batch)?.to_biguints()?, &expected);

                let long = DynBatch::splat(device, shape, &power(exponent_bits), 2)?;
                let bits = exponent_bits as u64 + 1;
                let expected = Error::TooWide { row: 0, bits, width: exponent_bits };
                let error = powers.pow(&long).err();
                tally.row(error.as_ref() == Some(&expected), || format!("{what}: {error:?}"));
                Ok(())
            });
        }
    }
}

struct Errors;

impl Check for Errors {
    const NAME: &str = "residues that do not go together";
    const WIDEST: bool = false;
    const EVERY_SHAPE: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        for device in setting.devices() {
            let what = Context::new(shape, "residues that do not go together", device);
            tally.attempt(&what, 1, |tally| errors(shape, device, &what, tally));
        }
    }
}

fn errors(shape: Shape, device: &Device, what: &Context<'_>, tally: &mut Tally) -> Result<()> {
    let mut expect = |call: &str, got: Option<Error>, expected: Error| {
        let right = got.as_ref() == Some(&expected);
        tally.row(right, || format!("{what}: {call}: {got:?}, expected {expected:?}"));
    };
    let seven = BigUint::from(7u32);
    let modulus = DynModulus::splat(device, shape, &seven)?;
    let (x, y) =
        (DynResidues::splat(&seven, 3, &modulus)?, DynResidues::splat(&seven, 2, &modulus)?);
    let lengths = Error::LengthMismatch { left: 3, right: 2 };
    expect("mul", x.mul(&y).err(), lengths.clone());
    expect("square_into", x.square_into(&mut y.try_clone()?).err(), lengths.clone());
    let other = DynResidues::splat(&seven, 3, &DynModulus::splat(device, shape, &seven)?)?;
    expect("add", x.add(&other).err(), Error::ModulusMismatch);
    expect("neg_into", x.neg_into(&mut other.try_clone()?).err(), Error::ModulusMismatch);
    let zero = DynModulus::splat(device, shape, &BigUint::zero()).err();
    expect("a modulus of 0", zero, Error::DivisionByZero { row: 0 });
    let rows = DynModulus::of_rows(&DynBatch::splat(device, shape, &seven, 2)?)?;
    expect("new", DynResidues::splat(&seven, 3, &rows).err(), lengths);
    let empty = DynResidues::splat(&seven, 0, &modulus)?;
    tally.row(empty.is_empty() && empty.square()?.is_empty(), || format!("{what}: no rows"));
    Ok(())
}

on_every_backend! {
    chains: Chains,
    fixed_bases: FixedBases,
    errors: Errors,
}
