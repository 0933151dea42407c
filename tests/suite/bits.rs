//! Functions of bits that are made of others, and errors of bits.

use gpuint::{Error, Shape};

use crate::setting::{Check, Rows, Setting, Tally, on_every_backend};
use gpuint_testkit::operands::{Row, SUMS, power};
use gpuint_testkit::oracle;

const ROWS: Rows = Rows { threads: 40_000, least: 39 };

struct Functions;

impl Check for Functions {
    const NAME: &str = "with_bit, without_bit, low_bits, leading_zeros";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = setting.count(ROWS, shape);
        setting.each_part(shape, SUMS, count, tally, |part| {
            let a = part.a()?;
            for bit in [0, 1, shape.bits / 2 + part.turn, shape.bits - 1] {
                let changed = |row: &Row, value| {
                    let mut changed = row.a.clone();
                    changed.set_bit(bit as u64, value);
                    changed
                };
                part.each("bit_mask", a.bit_mask(bit)?, |row| row.a.bit(bit as u64))?;
                part.each("with_bit", a.with_bit(bit)?, |row| changed(row, true))?;
                part.each("without_bit", a.without_bit(bit)?, |row| changed(row, false))?;
                let bits = bit.max(1);
                part.each("low_bits", a.low_bits(bits)?, |row| oracle::shl(&row.a, 0, bits))?;
            }
            part.expect("bit_mask", a.bit_mask(shape.bits)?.any()?, false);
            part.expect("low_bits", a.low_bits(0)?.is_zero_mask()?.count()?, part.rows.len());
            part.expect("low_bits", a.low_bits(usize::MAX)?.is_equal(&a)?, true);
            let width = shape.bits as u64;
            let wide = Some(Error::TooWide { row: 0, bits: width + 1, width: shape.bits });
            part.expect("with_bit", a.with_bit(shape.bits).err(), wide.clone());
            part.expect("without_bit", a.without_bit(usize::MAX).err(), wide.clone());
            part.expect("and_all", a.and_all(&power(shape.bits)).err(), wide);

            part.each("leading_zeros", a.leading_zeros()?, |row| width - oracle::bits(&row.a))?;
            let (left, right) = (part.rows.len(), part.rows.len() - 1);
            let error = Some(Error::LengthMismatch { left, right });
            part.expect("shl_rows", a.shl_rows(&vec![1; right]).err(), error);
            Ok(())
        });
    }
}

on_every_backend! { functions: Functions, }
