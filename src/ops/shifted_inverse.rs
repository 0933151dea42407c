//! The whole shifted inverse, `shinv_h(v) = floor(B^h / v)`, by Newton's iteration in integers
//! (Watt, "Efficient Generic Quotients Using Exact Arithmetic"; `kernels/div/shifted_inverse.cuh`),
//! or by a division.
//!
//! A division takes a third of the time or less, and [`Auto`](crate::Auto) divides on devices with
//! kernels. Up to 4096 bits a kernel of its own divides `2^b`, `b = h log2 B`, without reading it.
//! Above, the dividend is a batch where it has room, `b <= BITS`. For `b = BITS`, `2^b` has no
//! room, but
//!
//! ```text
//! floor(2^b / v) = floor((2^b - v) / v) + 1,     0 <= 2^b - v < 2^b for 0 < v
//! ```
//!
//! and `2^b - v` is `0 - v` modulo `2^BITS`. The last sum has a carry for `v = 1` only, whose
//! inverse has no room.

use std::cmp::Ordering;

use gpuint_catalogue::{Algorithm, Op, Product};
use num_bigint::BigUint;
use num_traits::{One, Zero};

use super::{View, faces};
use crate::backend::{BackendKind, Operands, Params};
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::kernel::KernelId;
use crate::mask::Mask;
use crate::strategy::Strategy;

/// The algorithm of kernels that divide powers of two.
const BLOCKED: Algorithm = Algorithm::Blocked(Product::Classical);

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
        let has_kernel = self.has_kernel(Op::ShiftedInverse);
        if self.strategy == Strategy::Auto && self.is_divided_by_kernel() {
            return Self { strategy: BLOCKED.into(), ..*self }.by_kernel(bits, out);
        }
        if has_kernel && (self.strategy != Strategy::Auto || !self.is_quotient(bits)) {
            return self.by_kernel(bits, out);
        }
        match bits.cmp(&self.shape().bits) {
            Ordering::Less => self.divide_power(bits, out),
            Ordering::Equal => self.divide_negative(out),
            Ordering::Greater => self.divide_wide(bits, out),
        }
    }

    /// Returns true if a kernel divides by blocks of quotient.
    fn is_divided_by_kernel(&self) -> bool {
        self.device().backend() != BackendKind::Cpu
            && KernelId::find(Op::ShiftedInverse, BLOCKED, self.shape()).is_some()
    }

    /// Decides if a division gives the inverses faster than the kernels of Newton's iteration.
    fn is_quotient(&self, bits: usize) -> bool {
        bits <= self.shape().bits && self.device().backend() != BackendKind::Cpu
    }

    fn by_kernel(&self, bits: usize, out: &mut DynBatch) -> Result<()> {
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

    /// Divides `2^bits`, `bits < BITS`, by the rows.
    fn divide_power(&self, bits: usize, out: &mut DynBatch) -> Result<()> {
        out.clear()?;
        out.assign(|zeros, power| zeros.view().add_power(bits, power, None))?;
        out.assign(|power, quotient| power.div_into(self.batch, quotient))
    }

    /// Divides `2^BITS` by the rows.
    fn divide_negative(&self, out: &mut DynBatch) -> Result<()> {
        out.clear()?;
        out.assign(|zeros, negative| zeros.wrapping_sub_into(self.batch, negative))?;
        let divided = out.assign(|negative, quotient| negative.div_into(self.batch, quotient));
        let mut carry = self.alloc_mask()?;
        if divided.is_ok() {
            out.assign(|quotient, inverse| {
                quotient.view().add_power(0, inverse, Some(&mut carry))
            })?;
        }
        match divided {
            Ok(()) if !carry.any()? => Ok(()),
            Ok(()) | Err(Error::DivisionByZero { .. }) => {
                let first = self.lt_mask_all(&2u32.into())?.indices()?.first().copied();
                Err(self.no_inverse(self.shape().bits, first.unwrap_or_default()))
            }
            Err(error) => Err(error),
        }
    }

    /// Computes `self + 2^bits` for `bits < BITS`, with or without the mask of carries.
    fn add_power(&self, bits: usize, out: &mut DynBatch, carry: Option<&mut Mask>) -> Result<()> {
        let power = self.row_of(&(BigUint::one() << bits))?;
        self.sum(Op::Add, self.operands_with_all(&power), out, carry)
    }

    /// Divides `2^bits`, `bits > BITS`, by the rows, in rows of twice the width.
    fn divide_wide(&self, bits: usize, out: &mut DynBatch) -> Result<()> {
        let wide = self.doubled("shifted inverses beyond the width")?;
        let power = DynBatch::zeros(self.device(), wide, self.len())?.with_bit(bits)?;
        // The quotient by 0 is too wide, too.
        let (quotient, _, _) = power.div_rem_masked(&self.resized(wide)?)?;
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
    /// does not fit in `BITS` bits is an error. Up to `B^h = 2^BITS`, and up to 4096 bits for every
    /// `h`, `Auto` divides on a GPU, and strategies iterate. From 2^19 bits on it is always a
    /// division, of rows of twice the width if `B^h` exceeds `2^BITS`: the widest shape returns
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

    /// Computes [`shifted_inverse`](Self::shifted_inverse) into an existing batch. For divisions
    /// the device keeps memory for one batch of the size, so that only the first call allocates it.
    ///
    /// After an error for a row, the contents of `out` are unspecified.
    ///
    /// # Errors
    /// As [`shifted_inverse`](Self::shifted_inverse).
    fn shifted_inverse_into(h: Count, out: Out) -> Nothing;
}
