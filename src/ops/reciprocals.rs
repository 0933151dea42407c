//! Residues by kept reciprocals, at widths without kernels for prepared divisors.
//!
//! Let `B = 2^BITS`, and `V = 2^s v` a divisor whose top bit is set. Its kept reciprocal is
//!
//! ```text
//! Y = floor((B^2 - 1) / V) - B,    0 <= Y < B.
//! ```
//!
//! A number `h B + l` with `h < V` takes two products (N. Möller and T. Granlund, "Improved
//! division by invariant integers", IEEE Transactions on Computers 60, 2011, with a row in the
//! place of their word):
//!
//! ```text
//! q B + f = (Y + B) h + l,    r = h B + l - q V.
//! ```
//!
//! By their theorem 1, `r - V` is at least `max(B - V, f + 1) - B`, which is not below `-V`, and
//! below `max(B - V, f)`. So `0 <= r < 2B - 2`, and `r - V < B <= 2V`.
//!
//! Modulo `B`, `r - V` is above `f` if it is negative. Otherwise it is at most `f`, or `r < B`. So
//! `r` is taken where `r - V mod B > f`, else `r - V`. One subtraction of `V` follows where the
//! result is not below `V`.
//!
//! A cyclic product gives `d = h + l - q V mod B - 1`, which is `r` or `r - (B - 1)`. As `B - 1` is
//! odd, the lowest bit of `l - q V` tells which. In the second case `r >= V`, and `r - V = d - 1 -
//! V mod B`.
//!
//! `d = B - 1` stands for a multiple of `B - 1` that is not 0: sums and products of numbers that
//! are not 0 have it in the place of 0, and their differences are 0 then. It is a result only for
//! `q V = 0`, where `r = h B + l` with `h = 0`, and `r = d`.
//!
//! For residues `a < v` and factors `b < B`, `2^s a b < B V`, so that `a b mod v` takes three
//! products: `a b`, `h Y` and `q V`. A square takes a square and two products.

use std::ops::Deref;

use gpuint_catalogue::Op;
use once_cell::race::OnceBox;

use super::transform::Transform;
use super::wrapped::{is_wrapped, wrapped_difference, wrapped_sum};
use super::{View, long_division};
use crate::backend::host::collected;
use crate::dyn_batch::DynBatch;
use crate::error::Result;

/// Most bytes of the transforms of reciprocals, and of those of divisors.
const MAX_TRANSFORM_BYTES: u64 = 1 << 30;

/// Divisors, and their reciprocals from the first use on.
pub(crate) struct KeptDivisors {
    divisors: DynBatch,
    /// One divisor for all rows.
    is_broadcast: bool,
    reciprocals: OnceBox<Reciprocals>,
}

impl KeptDivisors {
    pub(crate) fn new(divisors: DynBatch, is_broadcast: bool) -> Self {
        Self { divisors, is_broadcast, reciprocals: OnceBox::new() }
    }

    /// Returns the divisors with these indices.
    pub(crate) fn gather(&self, rows: &[usize]) -> Result<Self> {
        let gathered = Self::new(self.divisors.gather(rows)?, self.is_broadcast);
        if let Some(known) = self.reciprocals.get() {
            let known = || known.gather(rows, &gathered.divisors).map(Box::new);
            gathered.reciprocals.get_or_try_init(known)?;
        }
        Ok(gathered)
    }

    /// Returns the divisor of each row of a view.
    pub(super) fn of_rows(&self, view: &View<'_>) -> Result<Rows<'_>> {
        self.spread(&self.divisors, view)
    }

    /// Returns the divisors of the rows of a view with their reciprocals.
    pub(super) fn reduction(&self, view: &View<'_>) -> Result<Reduction<'_>> {
        let init = || Reciprocals::of(&self.divisors).map(Box::new);
        let Reciprocals { normalized, inverses, shifts, transforms } =
            self.reciprocals.get_or_try_init(init)?;
        let normalized = normalized.as_ref();
        Ok(Reduction {
            divisors: self.of_rows(view)?,
            normalized: normalized.map(|rows| self.spread(rows, view)).transpose()?,
            inverses: self.spread(inverses, view)?,
            transforms,
            is_wrapped: is_wrapped(view.device(), view.shape()),
            shifts: if self.is_broadcast { vec![shifts[0]; view.len()] } else { shifts.clone() },
        })
    }

    /// Returns one of these rows for each row of a view.
    fn spread<'a>(&self, rows: &'a DynBatch, view: &View<'_>) -> Result<Rows<'a>> {
        if self.is_broadcast && view.len() != 1 {
            return view.copies_of(rows).map(Rows::New);
        }
        Ok(Rows::Kept(rows))
    }
}

/// Rows that exist, or new ones.
pub(super) enum Rows<'a> {
    Kept(&'a DynBatch),
    New(DynBatch),
}

impl Deref for Rows<'_> {
    type Target = DynBatch;

    fn deref(&self) -> &DynBatch {
        match self {
            Self::Kept(rows) => rows,
            Self::New(rows) => rows,
        }
    }
}

/// Kept reciprocals of divisors.
struct Reciprocals {
    /// `2^s v`; `None` if the top bit of all divisors is set.
    normalized: Option<DynBatch>,
    /// `floor((B^2 - 1) / (2^s v)) - B`.
    inverses: DynBatch,
    /// `s` of each divisor.
    shifts: Vec<usize>,
    /// Transforms of the reciprocals and of the normalized divisors.
    transforms: [Option<Transform>; 2],
}

impl Reciprocals {
    /// Computes the reciprocals of divisors that are not zero. Waits for their lengths.
    fn of(divisors: &DynBatch) -> Result<Self> {
        let shifts = long_division::shifts_to_top(divisors)?;
        let is_shifted = shifts.iter().any(|&shift| shift > 0);
        let normalized = is_shifted.then(|| divisors.shl_rows(&shifts)).transpose()?;
        let top = normalized.as_ref().unwrap_or(divisors);
        let inverses = long_division::reciprocals(top)?;
        // B^2 - 1 - (Y + B) V, less than 2V, as a number of two rows.
        let (low, high) = inverses.mul_lo_hi(top)?;
        let rest = top.not()?.wrapping_sub(&high)?;
        let is_exact = low.not()?.lt_mask(top)?.and(&rest.is_zero_mask()?)?;
        let inverses = inverses.select(&is_exact, &inverses.wrapping_add_all(1)?)?;
        Self { normalized, inverses, shifts, transforms: [None, None] }.transformed(divisors)
    }

    /// Keeps the transforms.
    fn transformed(self, divisors: &DynBatch) -> Result<Self> {
        let top = self.normalized.as_ref().unwrap_or(divisors);
        let inverses = Transform::wide(&self.inverses, MAX_TRANSFORM_BYTES)?;
        let divisors = Transform::cyclic(top, MAX_TRANSFORM_BYTES)?;
        Ok(Self { transforms: [inverses, divisors], ..self })
    }

    /// Returns the reciprocals of the divisors with these indices.
    fn gather(&self, rows: &[usize], divisors: &DynBatch) -> Result<Self> {
        let normalized = self.normalized.as_ref();
        let gathered = Self {
            normalized: normalized.map(|divisors| divisors.gather(rows)).transpose()?,
            inverses: self.inverses.gather(rows)?,
            shifts: collected(rows.iter().map(|&row| self.shifts[row]))?,
            transforms: [None, None],
        };
        gathered.transformed(divisors)
    }
}

/// Divisors and their reciprocals, one for each row of a batch.
pub(super) struct Reduction<'a> {
    divisors: Rows<'a>,
    normalized: Option<Rows<'a>>,
    inverses: Rows<'a>,
    transforms: &'a [Option<Transform>; 2],
    /// Cyclic products are the fastest ones.
    is_wrapped: bool,
    shifts: Vec<usize>,
}

impl Reduction<'_> {
    /// Computes quotients and remainders of rows.
    pub(super) fn div_rem(&self, rows: &DynBatch) -> Result<(DynBatch, DynBatch)> {
        long_division::divide(rows, &self.divisors, &self.inverses, &self.shifts)
    }

    /// Computes `a b mod v`, for `a` below the divisors.
    pub(super) fn product(&self, a: &DynBatch, b: &DynBatch) -> Result<DynBatch> {
        let (low, high) = match self.normalized {
            None => a.mul_lo_hi(b)?,
            Some(_) => shifted(a, Op::ShlRows, &self.shifts)?.mul_lo_hi(b)?,
        };
        self.reduce(&low, &high)
    }

    /// Computes `a^2 mod v`, for `a` below the divisors.
    pub(super) fn square(&self, a: &DynBatch) -> Result<DynBatch> {
        let (mut low, mut high) = a.mul_lo_hi(a)?;
        if self.normalized.is_some() {
            let bits = a.shape().bits;
            let rest = collected(self.shifts.iter().map(|shift| bits - shift))?;
            high = shifted(&high, Op::ShlRows, &self.shifts)?;
            high = high.or(&shifted(&low, Op::ShrRows, &rest)?)?;
            low = shifted(&low, Op::ShlRows, &self.shifts)?;
        }
        self.reduce(&low, &high)
    }

    /// Returns `r` or `r - V` from `h + l` and `l`, by a cyclic product.
    fn wrapped_rest(
        &self,
        sum: &DynBatch,
        low: &DynBatch,
        quotient: &DynBatch,
        divisors: &DynBatch,
    ) -> Result<DynBatch> {
        let product = match &self.transforms[1] {
            Some(transform) => transform.cyclic_mul(quotient)?,
            None => quotient.cyclic_mul(divisors)?,
        };
        let rest = wrapped_difference(sum, &product)?;
        drop(product);
        let is_odd = quotient.bit_mask(0)?.and(&divisors.bit_mask(0)?)?.xor(&low.bit_mask(0)?)?;
        let is_above = is_odd.xor(&rest.bit_mask(0)?)?;
        rest.wrapping_sub(divisors)?.wrapping_sub_all(1)?.select(&is_above, &rest)
    }

    /// Computes `(high B + low) / 2^s mod v`, for `high` below the normalized divisors and a
    /// number that `2^s` divides.
    fn reduce(&self, low: &DynBatch, high: &DynBatch) -> Result<DynBatch> {
        let divisors = self.normalized.as_ref().unwrap_or(&self.divisors);
        let (fraction, product) = match &self.transforms[0] {
            Some(transform) => transform.mul_lo_hi(high)?,
            None => high.mul_lo_hi(&self.inverses)?,
        };
        let (fraction, carry) = fraction.overflowing_add(low)?;
        let quotient = product.wrapping_add(high)?;
        drop(product);
        let quotient = quotient.wrapping_add_all(1)?.select(&carry, &quotient)?;
        let rest = match self.is_wrapped {
            true => self.wrapped_rest(&wrapped_sum(low, high)?, low, &quotient, divisors)?,
            false => {
                let rest = low.wrapping_sub(&quotient.wrapping_mul(divisors)?)?;
                let less = rest.wrapping_sub(divisors)?;
                rest.select(&fraction.lt_mask(&less)?, &less)?
            }
        };
        let is_less = rest.lt_mask(divisors)?;
        let rest = rest.select(&is_less, &rest.wrapping_sub(divisors)?)?;
        match self.normalized {
            None => Ok(rest),
            Some(_) => shifted(&rest, Op::ShrRows, &self.shifts),
        }
    }
}

/// Shifts rows by these distances: without a copy of them to the device if all are the same.
fn shifted(rows: &DynBatch, op: Op, distances: &[usize]) -> Result<DynBatch> {
    let same = distances.first().filter(|&first| distances.iter().all(|other| other == first));
    match (op, same) {
        (Op::ShlRows, Some(&distance)) => rows.shl(distance),
        (Op::ShlRows, None) => rows.shl_rows(distances),
        (_, Some(&distance)) => rows.shr(distance),
        (_, None) => rows.shr_rows(distances),
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;
    use num_traits::One;

    use super::*;
    use crate::device::Device;

    /// Numbers at powers of two, at both ends of the width and between.
    fn hostile(bits: usize) -> Vec<BigUint> {
        let power = |exponent: usize| BigUint::one() << exponent;
        let ones = power(bits) - 1u32;
        let uneven = (power(bits) / 3u32) ^ (power(bits / 2) / 7u32);
        let near = |center: BigUint| [&center - 1u32, center.clone(), center + 1u32];
        let mut values: Vec<BigUint> = [1, 63, 64, bits / 2, bits - 2, bits - 1]
            .into_iter()
            .flat_map(|k| near(power(k)))
            .collect();
        values.extend([1usize, 5, bits / 3, bits / 2, bits - 70].map(|k| &uneven >> k));
        values.extend([&ones - 1u32, &ones - power(bits / 2), &ones / 3u32 * 2u32, ones]);
        values.extend([uneven]);
        values
    }

    /// All pairs of a hostile divisor and a hostile factor, and residues at both ends.
    #[test]
    fn products_and_quotients_of_hostile_rows_are_exact() {
        let device = Device::cpu();
        for bits in [4096, 6144] {
            let shape = device.shape_for(bits).unwrap();
            assert_eq!(shape.bits, bits);
            let values = hostile(bits);
            let pairs: Vec<_> = values
                .iter()
                .flat_map(|v| values.iter().map(move |b| (v.clone(), b.clone())))
                .collect();
            let (v, b): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            let residue = |row: usize| match row % 3 {
                0 => &v[row] - 1u32,
                1 => &values[row % values.len()] % &v[row],
                _ => (&v[row] - 1u32) >> 1usize,
            };
            let a: Vec<_> = (0..v.len()).map(residue).collect();
            let batch = |rows: &[BigUint]| DynBatch::from_biguints(&device, shape, rows).unwrap();
            let (x, y) = (batch(&a), batch(&b));
            let kept = KeptDivisors::new(batch(&v), false);
            let mut reduction = kept.reduction(&x.view()).unwrap();
            let numbers = |rows: Result<DynBatch>| rows.unwrap().to_biguints().unwrap();
            assert!(reduction.is_wrapped);
            let product = numbers(reduction.product(&x, &y));
            let square = numbers(reduction.square(&x));
            reduction.is_wrapped = false;
            assert_eq!(numbers(reduction.product(&x, &y)), product);
            assert_eq!(numbers(reduction.square(&x)), square);
            let (quotient, rest) = reduction.div_rem(&y).unwrap();
            let [quotient, rest] = [quotient, rest].map(|rows| rows.to_biguints().unwrap());
            let top = (BigUint::one() << (2 * bits)) - 1u32;
            let inverses = reduction.inverses.to_biguints().unwrap();
            for row in 0..v.len() {
                let (a, b, v) = (&a[row], &b[row], &v[row]);
                let normalized = v << (bits - v.bits() as usize);
                let inverse = &top / normalized - (BigUint::one() << bits);
                assert_eq!(inverses[row], inverse, "{bits} bits, reciprocal of {v:x}");
                assert_eq!(product[row], a * b % v, "{bits} bits, {a:x} {b:x} mod {v:x}");
                assert_eq!(square[row], a * a % v, "{bits} bits, {a:x}^2 mod {v:x}");
                assert_eq!(quotient[row], b / v, "{bits} bits, {b:x} / {v:x}");
                assert_eq!(rest[row], b % v, "{bits} bits, {b:x} mod {v:x}");
            }
        }
    }

    /// One divisor of all rows, with its top bit set and below.
    #[test]
    fn one_divisor_serves_all_rows() {
        let device = Device::cpu();
        let (bits, count) = (4096, 5);
        let shape = device.shape_for(bits).unwrap();
        for v in [(BigUint::one() << bits) - 5u32, (BigUint::one() << 2900usize) + 3u32] {
            let divisor = DynBatch::splat(&device, shape, &v, 1).unwrap();
            let kept = KeptDivisors::new(divisor, true);
            let a: Vec<BigUint> =
                (1..=count).map(|row| &v - BigUint::from(7u32).pow(40 * row)).collect();
            let x = DynBatch::from_biguints(&device, shape, &a).unwrap();
            let square = kept.reduction(&x.view()).unwrap().square(&x).unwrap();
            let expected: Vec<_> = a.iter().map(|a| a * a % &v).collect();
            assert_eq!(square.to_biguints().unwrap(), expected);
        }
    }
}
