//! Signed integers as sign and magnitude.
//!
//! Magnitudes are rows of a batch, so that all operations are on unsigned batches, and signs
//! are a mask; zero has no sign. A sum of magnitudes with different signs is the difference of the
//! larger and the smaller one, with the sign of the larger:
//!
//! ```text
//! a + b = sign(a) (|a| + |b|)   if the signs agree,   else sign(a) (|a| - |b|)
//! ```
//!
//! where a borrow of `|a| - |b|` selects `|b| - |a|` and the other sign. Let `|a| = q |b| + r`. The
//! quotient has the magnitude `q`, or `q + 1` where `r` is not 0 and the rule rounds away from
//! zero; then the remainder has the magnitude `|b| - r`. (D. Leijen, "Division and modulus for
//! computer scientists", 2001, compares the rules.)

use std::cmp::Ordering;
use std::marker::PhantomData;

use gpuint_catalogue::Shape;
use num_bigint::{BigInt, BigUint, Sign};

use super::faces::{dyn_methods, typed_methods};
use super::{View, faces};
use crate::backend::host::collected;
use crate::batch::Batch;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::mask::{Mask, Table};
use crate::shape::{Kernels, Widen};
use crate::typed::{Typed, typed_rows};

/// Signed integers with a run-time width: the [`SignedBatch`] of a [`DynBatch`].
#[derive(Debug)]
pub struct DynSignedBatch {
    magnitude: DynBatch,
    /// Rows below zero.
    negative: Mask,
}

/// # Conversion
impl DynSignedBatch {
    /// Makes a batch of `values`, in order.
    ///
    /// # Errors
    /// [`ShapeMissing`](Error::ShapeMissing) if the shape is not built, and as
    /// [`SignedBatch::from_bigints`].
    pub fn from_bigints(device: &Device, shape: Shape, values: &[BigInt]) -> Result<Self> {
        let magnitudes = values.iter().map(BigInt::magnitude);
        let magnitude = DynBatch::from_biguints(device, shape, magnitudes)?;
        let bits = collected(values.iter().map(|value| value.sign() == Sign::Minus))?;
        Ok(Self { magnitude, negative: Mask::from_bools(device, &bits)? })
    }

    /// Makes a batch of magnitudes and a mask of the rows that are negative. Zeros lose their bit.
    ///
    /// # Errors
    /// As [`SignedBatch::from_parts`].
    pub fn from_parts(magnitude: DynBatch, negative: &Mask) -> Result<Self> {
        magnitude.view().check_mask(negative)?;
        let zero = magnitude.is_zero_mask()?;
        let negative = negative.combine(&zero, Table::AND_NOT)?;
        Ok(Self { magnitude, negative })
    }

    /// Returns the values.
    ///
    /// # Errors
    /// As [`SignedBatch::to_bigints`].
    pub fn to_bigints(&self) -> Result<Vec<BigInt>> {
        let negative = self.negative.to_bools()?;
        let magnitudes = self.magnitude.to_biguints()?;
        collected(negative.into_iter().zip(magnitudes).map(signed))
    }

    /// Returns the value of one row.
    ///
    /// # Errors
    /// As [`SignedBatch::row`].
    pub fn row(&self, row: usize) -> Result<BigInt> {
        let magnitude = self.magnitude.row(row)?;
        Ok(signed((self.negative.row(row)?, magnitude)))
    }

    /// Magnitudes of the rows.
    #[must_use]
    pub fn magnitude(&self) -> &DynBatch {
        &self.magnitude
    }

    /// Mask of the rows that are negative.
    #[must_use]
    pub fn negative(&self) -> &Mask {
        &self.negative
    }

    /// Returns the magnitudes and the mask of the rows that are negative.
    #[must_use]
    pub fn into_parts(self) -> (DynBatch, Mask) {
        (self.magnitude, self.negative)
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.magnitude.len()
    }

    /// Returns true if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.magnitude.is_empty()
    }

    /// Shape of the magnitudes.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.magnitude.shape()
    }

    /// Device of the rows.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.magnitude.device()
    }

    /// Computes `self * rhs` in rows of twice the width.
    ///
    /// # Errors
    /// [`WidthMissing`](Error::WidthMissing) above 2^30 bits,
    /// [`ShapeMissing`](Error::ShapeMissing) if twice the width is not built, and as
    /// [`overflowing_mul`](Self::overflowing_mul).
    pub fn widening_mul(&self, rhs: &Self) -> Result<Self> {
        let product = self.magnitude.widening_mul(&rhs.magnitude)?;
        Self::from_parts(product, &self.negative.xor(&rhs.negative)?)
    }

    fn signed(&self) -> Signed<'_> {
        Signed(self)
    }
}

fn signed((is_negative, magnitude): (bool, BigUint)) -> BigInt {
    // Zero has no sign in either type.
    BigInt::from_biguint(if is_negative { Sign::Minus } else { Sign::Plus }, magnitude)
}

/// Direction in which quotients are rounded.
#[derive(Clone, Copy)]
enum Rounding {
    ToZero,
    Down,
    /// So that remainders are not negative.
    Euclid,
}

/// The operations, each implemented once for all faces.
struct Signed<'a>(&'a DynSignedBatch);

impl Signed<'_> {
    fn overflowing_add(&self, rhs: &DynSignedBatch) -> Result<(DynSignedBatch, Mask)> {
        self.sum(rhs, Table::XOR)
    }

    fn overflowing_sub(&self, rhs: &DynSignedBatch) -> Result<(DynSignedBatch, Mask)> {
        self.sum(rhs, Table::EQUAL)
    }

    /// Adds `rhs`, or subtracts it; `differ` is the function of the signs that is true where the
    /// magnitudes are subtracted.
    fn sum(&self, rhs: &DynSignedBatch, differ: Table) -> Result<(DynSignedBatch, Mask)> {
        let (a, b) = (&self.0.magnitude, &rhs.magnitude);
        let (sum, carry) = a.overflowing_add(b)?;
        let (difference, borrow) = a.overflowing_sub(b)?;
        let difference = b.wrapping_sub(a)?.select(&borrow, &difference)?;
        let differ = self.0.negative.combine(&rhs.negative, differ)?;
        let negative = self.0.negative.xor(&differ.and(&borrow)?)?;
        let overflow = carry.combine(&differ, Table::AND_NOT)?;
        let magnitude = difference.select(&differ, &sum)?;
        Ok((DynSignedBatch::from_parts(magnitude, &negative)?, overflow))
    }

    fn overflowing_mul(&self, rhs: &DynSignedBatch) -> Result<(DynSignedBatch, Mask)> {
        let (low, high) = self.0.magnitude.mul_lo_hi(&rhs.magnitude)?;
        let negative = self.0.negative.xor(&rhs.negative)?;
        Ok((DynSignedBatch::from_parts(low, &negative)?, high.is_zero_mask()?.not()?))
    }

    fn neg(&self) -> Result<DynSignedBatch> {
        DynSignedBatch::from_parts(self.0.magnitude.try_clone()?, &self.0.negative.not()?)
    }

    fn div_rem(&self, rhs: &DynSignedBatch) -> Result<(DynSignedBatch, DynSignedBatch)> {
        self.divide(rhs, Rounding::ToZero)
    }

    fn div_rem_floor(&self, rhs: &DynSignedBatch) -> Result<(DynSignedBatch, DynSignedBatch)> {
        self.divide(rhs, Rounding::Down)
    }

    fn div_rem_euclid(&self, rhs: &DynSignedBatch) -> Result<(DynSignedBatch, DynSignedBatch)> {
        self.divide(rhs, Rounding::Euclid)
    }

    fn divide(
        &self,
        rhs: &DynSignedBatch,
        rounding: Rounding,
    ) -> Result<(DynSignedBatch, DynSignedBatch)> {
        let (quotient, remainder) = self.0.magnitude.div_rem(&rhs.magnitude)?;
        let (a, b) = (&self.0.negative, &rhs.negative);
        let of_quotient = a.xor(b)?;
        // Rows that are rounded away from zero if they are not exact, and signs of remainders.
        let (away, of_remainder) = match rounding {
            Rounding::ToZero => {
                let quotient = DynSignedBatch::from_parts(quotient, &of_quotient)?;
                return Ok((quotient, DynSignedBatch::from_parts(remainder, a)?));
            }
            Rounding::Down => (&of_quotient, b),
            Rounding::Euclid => (a, &Mask::none(a.device(), a.len())?),
        };
        let away = away.combine(&remainder.is_zero_mask()?, Table::AND_NOT)?;
        // The quotient of an inexact division is at most half of the dividend: it does not
        // overflow.
        let next = quotient.wrapping_add_all(1)?;
        let other = rhs.magnitude.wrapping_sub(&remainder)?;
        let quotient = next.select(&away, &quotient)?;
        let remainder = other.select(&away, &remainder)?;
        let quotient = DynSignedBatch::from_parts(quotient, &of_quotient)?;
        Ok((quotient, DynSignedBatch::from_parts(remainder, of_remainder)?))
    }

    fn cmp(&self, rhs: &DynSignedBatch) -> Result<Vec<Ordering>> {
        let orders = self.0.magnitude.cmp(&rhs.magnitude)?;
        let signs = self.0.negative.to_bools()?.into_iter().zip(rhs.negative.to_bools()?);
        let order = |(order, signs): (Ordering, (bool, bool))| match signs {
            (false, false) => order,
            (true, true) => order.reverse(),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        };
        collected(orders.into_iter().zip(signs).map(order))
    }

    fn eq_mask(&self, rhs: &DynSignedBatch) -> Result<Mask> {
        let equal = self.0.magnitude.eq_mask(&rhs.magnitude)?;
        equal.and(&self.0.negative.combine(&rhs.negative, Table::EQUAL)?)
    }

    fn lt_mask(&self, rhs: &DynSignedBatch) -> Result<Mask> {
        let less = self.0.magnitude.lt_mask(&rhs.magnitude)?;
        let greater = rhs.magnitude.lt_mask(&self.0.magnitude)?;
        let (a, b) = (&self.0.negative, &rhs.negative);
        // Magnitudes order rows of equal signs; of different signs, the negative row is less.
        let agreeing = less.combine(a, Table::AND_NOT)?.or(&greater.and(a)?)?;
        let differ = a.xor(b)?;
        agreeing.combine(&differ, Table::AND_NOT)?.or(&a.and(&differ)?)
    }
}

impl View<'_> {
    fn xgcd_signed(&self, rhs: &DynBatch) -> Result<(DynBatch, DynSignedBatch, DynSignedBatch)> {
        let (gcd, x, y, is_negative) = self.xgcd(rhs)?;
        let y = DynSignedBatch::from_parts(y, &is_negative.not()?)?;
        Ok((gcd, DynSignedBatch::from_parts(x, &is_negative)?, y))
    }
}

/// Signed integers of one width on a device, one a row: a magnitude below `2^BITS` and a sign.
///
/// ```
/// use gpuint::{Device, GpuUint, SignedBatch};
/// use gpuint::num_bigint::BigInt;
///
/// let device = Device::cpu();
/// let batch = |rows: [i32; 3]| {
///     SignedBatch::<GpuUint<1024>>::from_bigints(&device, &rows.map(BigInt::from))
/// };
/// let (a, b) = (batch([7, -7, 5])?, batch([2, 2, -8])?);
/// let (sum, overflow) = a.overflowing_add(&b)?;
/// assert!(!overflow.any()?);
/// assert_eq!(sum.to_bigints()?, [9, -5, -3].map(BigInt::from));
/// let (q, r) = a.div_rem_floor(&b)?;
/// assert_eq!(q.to_bigints()?, [3, -4, -1].map(BigInt::from));
/// assert_eq!(r.to_bigints()?, [1, 1, -3].map(BigInt::from));
/// # Ok::<(), gpuint::Error>(())
/// ```
#[derive(Debug)]
pub struct SignedBatch<T: Kernels> {
    inner: DynSignedBatch,
    shape: PhantomData<T>,
}

/// # Conversion
impl<T: Kernels> SignedBatch<T> {
    /// Makes a batch of `values`, in order.
    ///
    /// # Errors
    /// [`TooWide`](Error::TooWide) with the lowest row whose magnitude needs more than `BITS` bits,
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn from_bigints(device: &Device, values: &[BigInt]) -> Result<Self> {
        DynSignedBatch::from_bigints(&device.of::<T>(), T::SHAPE, values).map(Typed::typed)
    }

    /// Makes a batch of magnitudes and a mask of the rows that are negative. Zeros lose their bit.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch), [`DeviceMismatch`](Error::DeviceMismatch), and
    /// what any operation may return: [`OutOfMemory`](Error::OutOfMemory),
    /// [`KernelMissing`](Error::KernelMissing), [`Compile`](Error::Compile),
    /// [`Driver`](Error::Driver).
    pub fn from_parts(magnitude: Batch<T>, negative: &Mask) -> Result<Self> {
        DynSignedBatch::from_parts(magnitude.into_dyn(), negative).map(Typed::typed)
    }

    /// Returns the values.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_bigints(&self) -> Result<Vec<BigInt>> {
        self.inner.to_bigints()
    }

    /// Returns the value of one row.
    ///
    /// # Errors
    /// [`NoSuchRow`](Error::NoSuchRow), [`OutOfMemory`](Error::OutOfMemory),
    /// [`Driver`](Error::Driver).
    pub fn row(&self, row: usize) -> Result<BigInt> {
        self.inner.row(row)
    }

    /// Returns the magnitudes and the mask of the rows that are negative.
    #[must_use]
    pub fn into_parts(self) -> (Batch<T>, Mask) {
        let (magnitude, negative) = self.inner.into_parts();
        (Batch::typed(magnitude), negative)
    }

    /// Mask of the rows that are negative.
    #[must_use]
    pub fn negative(&self) -> &Mask {
        self.inner.negative()
    }

    /// Computes `self * rhs` in rows of twice the width.
    ///
    /// # Errors
    /// As [`overflowing_mul`](Self::overflowing_mul).
    pub fn widening_mul<W: Kernels>(&self, rhs: &Self) -> Result<SignedBatch<W>>
    where
        T: Widen<Wide = W>,
    {
        self.inner.widening_mul(&rhs.inner).map(Typed::typed)
    }

    fn signed(&self) -> Signed<'_> {
        self.inner.signed()
    }
}

typed_rows!(SignedBatch, DynSignedBatch);

impl<T: Kernels> Typed<DynSignedBatch> for SignedBatch<T> {
    fn typed(inner: DynSignedBatch) -> Self {
        Self { inner, shape: PhantomData }
    }
}

impl<T: Kernels> Typed<(DynSignedBatch, Mask)> for (SignedBatch<T>, Mask) {
    fn typed((rows, mask): (DynSignedBatch, Mask)) -> Self {
        (Typed::typed(rows), mask)
    }
}

impl<T: Kernels> Typed<(DynSignedBatch, DynSignedBatch)> for (SignedBatch<T>, SignedBatch<T>) {
    fn typed((first, second): (DynSignedBatch, DynSignedBatch)) -> Self {
        (Typed::typed(first), Typed::typed(second))
    }
}

impl<T: Kernels> Typed<(DynBatch, DynSignedBatch, DynSignedBatch)>
    for (Batch<T>, SignedBatch<T>, SignedBatch<T>)
{
    fn typed((gcd, x, y): (DynBatch, DynSignedBatch, DynSignedBatch)) -> Self {
        (Batch::typed(gcd), Typed::typed(x), Typed::typed(y))
    }
}

/// Declares methods of signed batches, as [`faces`] does those of batches.
macro_rules! signed_faces {
    ($title:literal; $($methods:tt)*) => {
        #[doc = concat!("# ", $title)]
        impl DynSignedBatch {
            dyn_methods! { signed; $($methods)* }
        }

        #[doc = concat!("# ", $title)]
        impl<T: Kernels> SignedBatch<T> {
            typed_methods! { signed, []; $($methods)* }
        }
    };
}

signed_faces! {
    "Arithmetic";

    /// Computes `self + rhs` with the magnitude modulo `2^BITS`, and a mask of the rows that
    /// overflowed.
    ///
    /// # Errors
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`LengthMismatch`](crate::Error::LengthMismatch), and what any operation may return:
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`KernelMissing`](crate::Error::KernelMissing),
    /// [`Compile`](crate::Error::Compile), [`Driver`](crate::Error::Driver).
    fn overflowing_add(rhs: SignedRows) -> NewSignedAndMask;

    /// Computes `self - rhs` with the magnitude modulo `2^BITS`, and a mask of the rows that
    /// overflowed.
    ///
    /// # Errors
    /// As [`overflowing_add`](Self::overflowing_add).
    fn overflowing_sub(rhs: SignedRows) -> NewSignedAndMask;

    /// Computes `self * rhs` with the magnitude modulo `2^BITS`, and a mask of the rows that
    /// overflowed.
    ///
    /// # Errors
    /// As [`overflowing_add`](Self::overflowing_add).
    fn overflowing_mul(rhs: SignedRows) -> NewSignedAndMask;

    /// Computes `-self`.
    ///
    /// # Errors
    /// As [`overflowing_add`](Self::overflowing_add).
    fn neg() -> NewSigned;

    /// Computes the quotient rounded to zero, and the remainder, which has the sign of `self`.
    ///
    /// # Errors
    /// [`DivisionByZero`](crate::Error::DivisionByZero) with the lowest row whose divisor is zero,
    /// and as [`overflowing_add`](Self::overflowing_add).
    fn div_rem(rhs: SignedRows) -> NewSignedPair;

    /// Computes the quotient rounded down, and the remainder, which has the sign of `rhs`.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem).
    fn div_rem_floor(rhs: SignedRows) -> NewSignedPair;

    /// Computes the quotient and the remainder of Euclidean division: the remainder is at least 0
    /// and below the magnitude of `rhs`.
    ///
    /// # Errors
    /// As [`div_rem`](Self::div_rem).
    fn div_rem_euclid(rhs: SignedRows) -> NewSignedPair;

    /// Compares each row with the same row of `rhs`.
    ///
    /// # Errors
    /// As [`overflowing_add`](Self::overflowing_add).
    #[expect(clippy::should_implement_trait, reason = "one order a row, and it may fail")]
    fn cmp(rhs: SignedRows) -> Orders;

    /// Returns a mask of the rows with `self = rhs`.
    ///
    /// # Errors
    /// As [`overflowing_add`](Self::overflowing_add).
    fn eq_mask(rhs: SignedRows) -> NewMask;

    /// Returns a mask of the rows with `self < rhs`.
    ///
    /// # Errors
    /// As [`overflowing_add`](Self::overflowing_add).
    fn lt_mask(rhs: SignedRows) -> NewMask;
}

faces! {
    "Extended common divisors with signs";

    /// Computes `(g, x, y)` for each row `a` and the same row `b` of `rhs`: `g = gcd(a, b) =
    /// a x + b y`, with the cofactors of [`xgcd`](Self::xgcd).
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use gpuint::num_bigint::{BigInt, BigUint};
    ///
    /// let number = |n: u32| BigUint::from(n);
    /// let a = Batch::<GpuUint<1024>>::from_biguints(&Device::cpu(), &[number(240)])?;
    /// let b = Batch::from_biguints(&Device::cpu(), &[number(46)])?;
    /// let (g, x, y) = a.xgcd_signed(&b)?;
    /// assert_eq!(g.row(0)?, number(2)); // 2 = 240 * -9 + 46 * 47
    /// assert_eq!([x.row(0)?, y.row(0)?], [-9, 47].map(BigInt::from));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`gcd`](Self::gcd).
    fn xgcd_signed(rhs: Rows) -> NewAndSignedPair;
}
