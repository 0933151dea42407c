//! Functions of bits, numbers of bits, and shifts by a distance for each row.

use gpuint::num_bigint::BigUint;
use gpuint::{DynBatch, Error, Shape};
use num_traits::Zero;

use crate::setting::{Check, Context, Rows, Setting, Tally, first, on_every_backend, second, seed};
use gpuint_testkit::operands::{SUMS, ones, power};
use gpuint_testkit::oracle;
use gpuint_testkit::random::Random;

const ROWS: Rows = Rows { threads: 40_000, least: 39 };

struct Functions;

impl Check for Functions {
    const NAME: &str = "and, or, xor, not";
    const EVERY_SHAPE: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        for (part, device, rows) in setting.parts(shape, SUMS, count) {
            let what = |name| Context::new(shape, name, device);
            tally.attempt(&what("and"), rows.len(), |tally| {
                let a = DynBatch::from_biguints(device, shape, &first(&rows))?;
                let b = DynBatch::from_biguints(device, shape, &second(&rows))?;
                let mut out = DynBatch::splat(device, shape, &ones(shape.bits), rows.len())?;
                let expected = |index: usize, all: Option<&BigUint>| -> Vec<BigUint> {
                    let of = |b| all.unwrap_or(b);
                    let function = |a, b| oracle::bitwise(a, of(b))[index].clone();
                    rows.iter().map(|row| function(&row.a, &row.b)).collect()
                };
                a.and_into(&b, &mut out)?;
                tally.values(&what("and"), &rows, &out.to_biguints()?, &expected(0, None));
                a.or_into(&b, &mut out)?;
                tally.values(&what("or"), &rows, &out.to_biguints()?, &expected(1, None));
                a.xor_into(&b, &mut out)?;
                tally.values(&what("xor"), &rows, &out.to_biguints()?, &expected(2, None));
                let not: Vec<_> = rows
                    .iter()
                    .map(|row| oracle::sub(&ones(shape.bits), &row.a, shape.bits).0)
                    .collect();
                a.not_into(&mut out)?;
                tally.values(&what("not"), &rows, &out.to_biguints()?, &not);

                let value = &rows[part * 5 % rows.len()].b;
                let all = [a.and_all(value)?, a.or_all(value)?, a.xor_all(value)?];
                for (index, got) in all.into_iter().enumerate() {
                    let expected = expected(index, Some(value));
                    tally.values(&what("and_all .."), &rows, &got.to_biguints()?, &expected);
                }

                let bits: Vec<usize> = [0, 1, shape.bits / 2 + part, shape.bits - 1].into();
                for bit in bits {
                    let mask = a.bit_mask(bit)?.to_bools()?;
                    let set: Vec<_> = rows.iter().map(|row| row.a.bit(bit as u64)).collect();
                    tally.values(&what("bit_mask"), &rows, &mask, &set);
                    let changed = |value: bool| -> Vec<BigUint> {
                        let mut values = first(&rows);
                        values.iter_mut().for_each(|row| row.set_bit(bit as u64, value));
                        values
                    };
                    let got = a.with_bit(bit)?.to_biguints()?;
                    tally.values(&what("with_bit"), &rows, &got, &changed(true));
                    let got = a.without_bit(bit)?.to_biguints()?;
                    tally.values(&what("without_bit"), &rows, &got, &changed(false));
                    let low: Vec<_> =
                        rows.iter().map(|row| oracle::shl(&row.a, 0, bit.max(1))).collect();
                    let got = a.low_bits(bit.max(1))?.to_biguints()?;
                    tally.values(&what("low_bits"), &rows, &got, &low);
                }
                let none = !a.bit_mask(shape.bits)?.any()?
                    && a.low_bits(0)?.is_zero_mask()?.count()? == rows.len();
                let all = a.low_bits(usize::MAX)?.is_equal(&a)?;
                let wide =
                    Error::TooWide { row: 0, bits: shape.bits as u64 + 1, width: shape.bits };
                let errors = [
                    a.with_bit(shape.bits).err(),
                    a.without_bit(usize::MAX).err(),
                    a.and_all(&power(shape.bits)).err(),
                ];
                let right = none && all && errors.iter().all(|error| error.as_ref() == Some(&wide));
                tally.row(right, || format!("{}: bits beyond the width: {errors:?}", what("bits")));
                Ok(())
            });
        }
    }
}

struct Numbers;

impl Check for Numbers {
    const NAME: &str = "count_ones, trailing_zeros, shifts by row";
    const EVERY_SHAPE: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        for (part, device, rows) in setting.parts(shape, SUMS, count) {
            let what = |name| Context::new(shape, name, device);
            tally.attempt(&what("count_ones"), rows.len(), |tally| {
                let a = DynBatch::from_biguints(device, shape, &first(&rows))?;
                let width = shape.bits as u64;
                let ones_of: Vec<_> = rows.iter().map(|row| oracle::count_ones(&row.a)).collect();
                tally.values(&what("count_ones"), &rows, &a.count_ones()?, &ones_of);
                let trailing: Vec<_> = rows
                    .iter()
                    .map(|row| oracle::trailing_zeros(&row.a).unwrap_or(width))
                    .collect();
                tally.values(&what("trailing_zeros"), &rows, &a.trailing_zeros()?, &trailing);
                let leading: Vec<_> = rows.iter().map(|row| width - oracle::bits(&row.a)).collect();
                tally.values(&what("leading_zeros"), &rows, &a.leading_zeros()?, &leading);

                let mut random = Random::new(seed() ^ part as u64);
                let ends = [0, 1, shape.digit.bits(), shape.bits - 1, shape.bits, usize::MAX];
                let distances: Vec<usize> = rows
                    .iter()
                    .map(|row| match ends.get(row.index % 12) {
                        Some(&distance) => distance,
                        None => random.below(shape.bits),
                    })
                    .collect();
                let mut out = DynBatch::splat(device, shape, &ones(shape.bits), rows.len())?;
                let by = |shift: fn(&BigUint, usize, usize) -> BigUint| -> Vec<BigUint> {
                    let rows = rows.iter().zip(&distances);
                    rows.map(|(row, &distance)| shift(&row.a, distance, shape.bits)).collect()
                };
                a.shl_rows_into(&distances, &mut out)?;
                tally.values(&what("shl_rows"), &rows, &out.to_biguints()?, &by(oracle::shl));
                a.shr_rows_into(&distances, &mut out)?;
                let right =
                    by(
                        |a, distance, bits| {
                            if distance >= bits {
                                BigUint::zero()
                            } else {
                                oracle::shr(a, distance)
                            }
                        },
                    );
                tally.values(&what("shr_rows"), &rows, &out.to_biguints()?, &right);
                let error = a.shl_rows(&distances[1..]).err();
                let expected = Error::LengthMismatch { left: rows.len(), right: rows.len() - 1 };
                tally.row(error == Some(expected), || format!("{}: {error:?}", what("shl_rows")));
                Ok(())
            });
        }
    }
}

on_every_backend! { functions: Functions, numbers: Numbers, }
