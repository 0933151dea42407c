//! The whole shifted inverse, `shinv_h(v) = floor(B^h / v)`: what Newton's iteration finds without
//! ever leaving the integers (Watt, "Efficient Generic Quotients Using Exact Arithmetic";
//! `kernels/div/shinv.cuh`).

use num_traits::Zero;

use gpuint_catalogue::Op;

use crate::backend::{Operands, Params};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::shape::Kernels;
use crate::strategy::{Auto, Mult};

impl<T: Kernels> Batch<T> {
    /// `floor(B^h / self)`, exactly, where `B` is the base of the digits: a result that does not
    /// fit in `BITS` bits is an error, it never wraps.
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
    /// For the lowest row that has no result: [`DivisionByZero`](Error::DivisionByZero) where it
    /// is zero, [`TooWide`](Error::TooWide) where its inverse needs more than `BITS` bits.
    /// [`DeviceMismatch`](Error::DeviceMismatch), [`LengthMismatch`](Error::LengthMismatch), and
    /// what any operation may return: [`OutOfMemory`](Error::OutOfMemory),
    /// [`KernelMissing`](Error::KernelMissing), [`Compile`](Error::Compile),
    /// [`Driver`](Error::Driver).
    pub fn shifted_inverse(&self, h: usize) -> Result<Self> {
        self.shifted_inverse_with::<Auto>(h)
    }

    /// [`shifted_inverse`](Self::shifted_inverse) by a strategy of the caller's choice.
    ///
    /// # Errors
    /// As [`shifted_inverse`](Self::shifted_inverse).
    pub fn shifted_inverse_with<M: Mult<T>>(&self, h: usize) -> Result<Self> {
        self.produce(|out| self.shifted_inverse_with_into::<M>(h, out))
    }

    /// [`shifted_inverse`](Self::shifted_inverse) into a batch that exists, without allocating.
    ///
    /// After an error for a row, the contents of `out` are not specified.
    ///
    /// # Errors
    /// As [`shifted_inverse`](Self::shifted_inverse).
    pub fn shifted_inverse_into(&self, h: usize, out: &mut Self) -> Result<()> {
        self.shifted_inverse_with_into::<Auto>(h, out)
    }

    /// [`shifted_inverse_into`](Self::shifted_inverse_into) by a strategy of the caller's choice.
    ///
    /// # Errors
    /// As [`shifted_inverse`](Self::shifted_inverse).
    pub fn shifted_inverse_with_into<M: Mult<T>>(&self, h: usize, out: &mut Self) -> Result<()> {
        self.check(out)?;
        if self.is_empty() {
            return Ok(());
        }
        let bits = h.saturating_mul(T::DIGIT_BITS);
        // From here on B^h / v has more than BITS bits for every v: kernels never see such an h.
        if bits >= 2 * T::BITS {
            return Err(self.no_inverse(bits, 0));
        }
        let operands = Operands {
            ins: [Some(self.buffer()), None, None],
            outs: [Some(out.buffer_mut()), None],
            params: Params { exponent: bits as u32, ..Params::default() },
            ..self.operands()
        };
        let kernel = self.kernel(Op::ShiftedInverse, M::STRATEGY)?;
        match self.device().launch_checked(kernel, operands)? {
            None => Ok(()),
            Some(row) => Err(self.no_inverse(bits, row)),
        }
    }

    /// Why `floor(2^bits / v)` is not in range for a row.
    fn no_inverse(&self, bits: usize, row: usize) -> Error {
        let v = match self.row(row) {
            Ok(v) => v,
            Err(error) => return error,
        };
        if v.is_zero() {
            return Error::DivisionByZero { row };
        }
        // 2^(n-1) <= v < 2^n, so 2^bits / v has bits - n + 1 bits, and one more where it meets
        // 2^(bits-n+1), which is where v is a power of two.
        let power_of_two = v.trailing_zeros() == Some(v.bits() - 1);
        let inverse = (bits as u64 - v.bits()).saturating_add(1 + u64::from(power_of_two));
        Error::TooWide { row, bits: inverse, width: T::BITS }
    }
}
