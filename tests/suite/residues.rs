//! Residues, in Montgomery's form and without it, and powers of a fixed base.
//!
//! Moduli are those of the divisions, made odd, and among even ones; one for each row and one for
//! all.

use gpuint::num_bigint::BigUint;
use gpuint::{
    BackendKind, DynBatch, DynFixedBase, DynModulus, DynResidues, Error, Mask, Op, Result, Shape,
    algorithms,
};
use num_traits::{One, Zero};

use crate::modular::power_of;
use crate::setting::{
    Check, Part, Rows, Setting, Tally, first, is_thorough, on_every_backend, seed,
};
use gpuint_testkit::operands::{DIVISIONS, Row, power};
use gpuint_testkit::oracle;
use gpuint_testkit::random::Random;

const ROWS: Rows = Rows { threads: 15_000, least: 9 };

struct Chains;

impl Check for Chains {
    const NAME: &str = "residues";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        setting.each_part(shape, DIVISIONS, count, tally, |mut part| {
            part.rows.iter_mut().for_each(|row| row.b.set_bit(0, true));
            let modulus = DynModulus::of_rows(&part.b()?)?;
            // A GPU may have no engine for the form; the others have the one of the table.
            let is_offered = algorithms(Op::MulResidues, shape).next().is_some();
            let is_right = match part.device.gpu() {
                None => modulus.is_montgomery() == is_offered,
                Some(_) => is_offered || !modulus.is_montgomery(),
            };
            part.row(is_right, || format!("{}: {modulus:?}", part.what("residues")));
            chain(&part, &modulus)?;

            let one = part.one_divisor();
            chain(&part, &DynModulus::splat(part.device, shape, &one)?)?;

            for row in part.rows.iter_mut().skip(1).step_by(3) {
                row.b = if row.b.is_one() { BigUint::from(2u32) } else { &row.b - 1u32 };
            }
            chain(&part, &DynModulus::of_rows(&part.b()?)?)
        });
    }
}

/// Every operation on the residues of `a`, and of `a` turned by a row.
fn chain(part: &Part<'_>, modulus: &DynModulus) -> Result<()> {
    let rows = &part.rows;
    let mut turned = first(rows);
    turned.rotate_left(1);
    let x = DynResidues::new(&part.a()?, modulus)?;
    let y = DynResidues::new(&part.batch(&turned)?, modulus)?;
    let mut out = x.try_clone()?;
    type Expected<'a> = &'a dyn Fn(&BigUint, &BigUint, &BigUint) -> BigUint;
    let check = |name: &str, got: &DynResidues, of: Expected<'_>| {
        part.each_with(name, got, &turned, |row, b| of(&row.a, b, &row.b))
    };
    let negative = |a: &BigUint, n: &BigUint| oracle::sub_mod(&BigUint::zero(), a, n);
    check("new", &x, &|a, _, n| oracle::div_rem(a, n).1)?;
    x.mul_into(&y, &mut out)?;
    check("mul", &out, &oracle::mul_mod)?;
    x.square_into(&mut out)?;
    check("square", &out, &|a, _, n| oracle::mul_mod(a, a, n))?;
    x.add_into(&y, &mut out)?;
    check("add", &out, &oracle::add_mod)?;
    x.sub_into(&y, &mut out)?;
    check("sub", &out, &oracle::sub_mod)?;
    x.neg_into(&mut out)?;
    check("neg", &out, &|a, _, n| negative(a, n))?;
    check("double", &x.double()?, &|a, _, n| oracle::add_mod(a, a, n))?;
    // Without a conversion in between: (x - y)^2 + 4 x y = (x + y)^2.
    let square = x.sub(&y)?.square()?.add(&x.mul(&y)?.double()?.double()?)?;
    let sum = x.add(&y)?.square()?;
    part.each("eq_mask", square.eq_mask(&sum)?, |_| true)?;
    check("square of a sum", &sum, &|a, b, n| {
        let sum = oracle::add_mod(a, b, n);
        oracle::mul_mod(&sum, &sum, n)
    })?;
    check("pow_all", &x.pow_all(5)?, &|a, _, n| oracle::pow_mod(a, &5u32.into(), n))?;
    let chosen = x.eq_mask(&y)?.not()?.xor(&Mask::none(part.device, rows.len())?)?;
    check("select", &x.select(&chosen, &y.neg()?)?, &|a, b, n| {
        let differ = oracle::sub_mod(a, b, n) != BigUint::zero();
        if differ { oracle::div_rem(a, n).1 } else { negative(b, n) }
    })?;
    let random = Random::new(seed() ^ rows[0].index as u64).word();
    let exponent = |row| BigUint::from((random >> (row % 64)) % 300);
    let exponents: Vec<_> = (0..rows.len()).map(exponent).collect();
    part.each_with("pow", x.pow(&part.batch(&exponents)?)?, &exponents, power_of)?;
    part.each("is_zero_mask", x.is_zero_mask()?, |row| {
        oracle::div_rem(&row.a, &row.b).1.is_zero()
    })?;

    match rows.iter().position(|row| !row.b.bit(0)) {
        Some(row) => {
            part.expect("halve", x.halve().err(), Some(Error::EvenModulus { row }));
            part.expect("halve", modulus.is_montgomery(), false);
        }
        None => {
            let half = x.halve()?;
            part.expect("halve", half.double()?.eq_mask(&x)?.count()?, rows.len());
            let half = half.to_batch()?.to_biguints()?;
            let is_below = |(half, row): (&BigUint, &Row)| *half < row.b;
            part.expect("halve", half.iter().zip(rows).all(is_below), true);
        }
    }
    Ok(())
}

struct FixedBases;

impl Check for FixedBases {
    const NAME: &str = "powers of a fixed base";
    const WIDEST: bool = false;

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
        for (part, device, rows) in setting.parts(shape, DIVISIONS, count) {
            if is_shared && part != turn % turns {
                continue;
            }
            let part = if is_shared { turn % 2 } else { part };
            Part::run(shape, device, part, rows, tally, |part| fixed_base(&part, is_shared));
        }
    }
}

fn fixed_base(part: &Part<'_>, is_shared: bool) -> Result<()> {
    let (shape, device, rows) = (part.shape, part.device, &part.rows);
    // Odd and even moduli, 1 among them.
    let modulus = match part.turn % 3 {
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
    let exponent_bits = [17, 8, 1, 24][part.turn % 4].min(longest);
    let mut random = Random::new(seed() ^ part.turn as u64);
    let base = &rows[0].a;
    let exponents: Vec<_> = (0..rows.len())
        .map(|row| match row % 4 {
            0 => power(exponent_bits) - 1u32,
            1 => BigUint::from(row % 3) >> (3 - exponent_bits.min(3)),
            _ => random.bits(exponent_bits),
        })
        .collect();
    let powers = DynFixedBase::new(device, shape, base, &modulus, exponent_bits)?;
    part.each_with("fixed base", powers.pow(&part.batch(&exponents)?)?, &exponents, |_, e| {
        oracle::pow_mod(base, e, &modulus)
    })?;
    let long = DynBatch::splat(device, shape, &power(exponent_bits), 2)?;
    let error = Error::TooWide { row: 0, bits: exponent_bits as u64 + 1, width: exponent_bits };
    part.expect("fixed base", powers.pow(&long).err(), Some(error));
    Ok(())
}

struct Errors;

impl Check for Errors {
    const NAME: &str = "residues that do not go together";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        for device in setting.devices() {
            Part::run(shape, device, 0, vec![], tally, |part| errors(&part));
        }
    }
}

fn errors(part: &Part<'_>) -> Result<()> {
    let (device, shape, seven) = (part.device, part.shape, BigUint::from(7u32));
    let expect = |call: &str, got: Option<Error>, error| part.expect(call, got, Some(error));
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
    part.expect("no rows", empty.is_empty() && empty.square()?.is_empty(), true);
    Ok(())
}

on_every_backend! {
    chains: Chains,
    fixed_bases: FixedBases,
    errors: Errors,
}
