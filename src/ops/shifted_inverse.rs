//! The whole shifted inverse, `shinv_h(v) = floor(B^h / v)`, by Newton's iteration in integers
//! (Watt, "Efficient Generic Quotients Using Exact Arithmetic"; `kernels/div/shifted_inverse.cuh`).

use gpuint_catalogue::Op;
use num_traits::Zero;

use super::{View, faces};
use crate::backend::{Operands, Params};
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};

impl View<'_> {
    pub(crate) fn shifted_inverse(&self, h: usize) -> Result<DynBatch> {
        self.produce(|out| self.shifted_inverse_into(h, out))
    }

    pub(crate) fn shifted_inverse_into(&self, h: usize, out: &mut DynBatch) -> Result<()> {
        self.check(out)?;
        if self.batch.is_empty() {
            return Ok(());
        }
        let bits = h.saturating_mul(self.shape().digit.bits());
        // From here on B^h / v has more than BITS bits for every v, so kernels never get such an h.
        if bits >= 2 * self.shape().bits {
            return Err(self.no_inverse(bits, 0));
        }
        if !self.has_kernel(Op::ShiftedInverse) {
            return self.divide_power(bits, out);
        }
        let operands = Operands {
            outs: [Some(out.buffer_mut()), None],
            params: Params { exponent: bits as u32, ..Params::default() },
            ..self.operands()
        };
        match self.launch_checked(Op::ShiftedInverse, operands)? {
            None => Ok(()),
            Some(row) => Err(self.no_inverse(bits, row)),
        }
    }

    /// Divides `2^bits` by the rows, in rows of twice the width if it does not fit.
    fn divide_power(&self, bits: usize, out: &mut DynBatch) -> Result<()> {
        let power = |shape| DynBatch::zeros(self.device(), shape, self.len())?.with_bit(bits);
        if bits < self.shape().bits {
            return power(self.shape())?.div_into(self.batch, out);
        }
        let wide = self.doubled("shifted inverses beyond the width")?;
        // The quotient by 0 is too wide, too.
        let (quotient, _, _) = power(wide)?.div_rem_masked(&self.resized(wide)?)?;
        match quotient.view().launch_checked(Op::Resize, quotient.view().resizing(out))? {
            None => Ok(()),
            Some(row) => Err(self.no_inverse(bits, row)),
        }
    }

    /// Returns the error for a row whose `floor(2^bits / v)` is out of range.
    fn no_inverse(&self, bits: usize, row: usize) -> Error {
        let v = match self.batch.row(row) {
            Ok(v) => v,
            Err(error) => return error,
        };
        if v.is_zero() {
            return Error::DivisionByZero { row };
        }
        // 2^(n-1) <= v < 2^n, so 2^bits / v has bits - n + 1 bits, and one more if it reaches
        // 2^(bits-n+1), that is if v is a power of two.
        let power_of_two = v.trailing_zeros() == Some(v.bits() - 1);
        let inverse = (bits as u64 - v.bits()).saturating_add(1 + u64::from(power_of_two));
        Error::TooWide { row, bits: inverse, width: self.shape().bits }
    }
}

faces! {
    by Mult, "Shifted inverses";

    /// Computes `floor(B^h / self)` exactly, where `B` is the base of the digits. A result that
    /// does not fit in `BITS` bits is an error. From 2^19 bits on it is a division, of rows of
    /// twice the width if `B^h` does not fit: the widest shape returns
    /// [`ShapeMissing`](crate::Error::ShapeMissing) for such an `h`.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let v = Batch::<GpuUint<1024>>::splat(&device, &BigUint::from(3u32), 1)?;
    /// let third = v.shifted_inverse(2)?; // B = 2^64
    /// assert_eq!(third.row(0)?, BigUint::from(u128::MAX / 3));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// For the lowest row without a result: [`DivisionByZero`](crate::Error::DivisionByZero) if the
    /// row is zero, [`TooWide`](crate::Error::TooWide) if its inverse needs more than `BITS` bits.
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`LengthMismatch`](crate::Error::LengthMismatch), and what any operation may return:
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`KernelMissing`](crate::Error::KernelMissing),
    /// [`Compile`](crate::Error::Compile), [`Driver`](crate::Error::Driver).
    fn shifted_inverse(h: Count) -> New;

    /// Computes [`shifted_inverse`](Self::shifted_inverse) into an existing batch, without
    /// allocating.
    ///
    /// After an error for a row, the contents of `out` are unspecified.
    ///
    /// # Errors
    /// As [`shifted_inverse`](Self::shifted_inverse).
    fn shifted_inverse_into(h: Count, out: Out) -> Nothing;
}
