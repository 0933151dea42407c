//! Functions of bits that are made of others, and errors of bits.

use gpuint::num_bigint::BigUint;
use gpuint::{DynBatch, Error, Shape};

use crate::setting::{Check, Context, Rows, Setting, Tally, first, on_every_backend};
use gpuint_testkit::operands::{SUMS, power};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 40_000, least: 39 };

struct Functions;

impl Check for Functions {
    const NAME: &str = "with_bit, without_bit, low_bits, leading_zeros";
    const EVERY_SHAPE: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        for (part, device, rows) in setting.parts(shape, SUMS, count) {
            let what = |name| Context::new(shape, name, device);
            tally.attempt(&what("with_bit"), rows.len(), |tally| {
                let a = DynBatch::from_biguints(device, shape, &first(&rows))?;
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

                let width = shape.bits as u64;
                let leading: Vec<_> = rows.iter().map(|row| width - oracle::bits(&row.a)).collect();
                tally.values(&what("leading_zeros"), &rows, &a.leading_zeros()?, &leading);
                let distances = vec![1; rows.len() - 1];
                let error = a.shl_rows(&distances).err();
                let expected = Error::LengthMismatch { left: rows.len(), right: rows.len() - 1 };
                tally.row(error == Some(expected), || format!("{}: {error:?}", what("shl_rows")));
                Ok(())
            });
        }
    }
}

on_every_backend! { functions: Functions, }
