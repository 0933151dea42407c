//! Functions of the bits of rows (`kernels/linear/bitwise.cuh`).

use gpuint_catalogue::Op;
use num_bigint::BigUint;

use crate::backend::{Operands, Params};
use crate::batch::Batch;
use crate::error::Result;
use crate::ops::Rhs;
use crate::shape::Kernels;
use crate::strategy::Strategy;

/// Truth tables: bit `2a + b` is the result for the bits `a` and `b`.
const AND: u32 = 0b1000;
const OR: u32 = 0b1110;
const XOR: u32 = 0b0110;
const NOT: u32 = 0b0011;
const AND_NOT: u32 = 0b0100;

impl<T: Kernels> Batch<T> {
    /// The bits of both rows: nothing wraps.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let splat = |value: u32| Batch::<GpuUint<1024>>::splat(&device, &BigUint::from(value), 2);
    /// let (a, b) = (splat(0b1100)?, splat(0b1010)?);
    /// assert_eq!(a.and(&b)?.row(1)?, BigUint::from(0b1000u32));
    /// assert_eq!(a.xor(&b)?.row(1)?, BigUint::from(0b0110u32));
    /// assert_eq!(a.low_bits(3)?.row(1)?, BigUint::from(0b0100u32));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DeviceMismatch`](crate::Error::DeviceMismatch),
    /// [`LengthMismatch`](crate::Error::LengthMismatch), and what any operation may return:
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`KernelMissing`](crate::Error::KernelMissing),
    /// [`Compile`](crate::Error::Compile), [`Driver`](crate::Error::Driver).
    pub fn and(&self, rhs: &Self) -> Result<Self> {
        self.produce(|out| self.and_into(rhs, out))
    }

    /// [`and`](Self::and) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    pub fn and_into(&self, rhs: &Self, out: &mut Self) -> Result<()> {
        self.check(rhs)?;
        self.bitwise(AND, Rhs::Rows(rhs), out)
    }

    /// The bits of either row: nothing wraps.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    pub fn or(&self, rhs: &Self) -> Result<Self> {
        self.produce(|out| self.or_into(rhs, out))
    }

    /// [`or`](Self::or) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    pub fn or_into(&self, rhs: &Self, out: &mut Self) -> Result<()> {
        self.check(rhs)?;
        self.bitwise(OR, Rhs::Rows(rhs), out)
    }

    /// The bits of one row and not of the other: nothing wraps.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    pub fn xor(&self, rhs: &Self) -> Result<Self> {
        self.produce(|out| self.xor_into(rhs, out))
    }

    /// [`xor`](Self::xor) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    pub fn xor_into(&self, rhs: &Self, out: &mut Self) -> Result<()> {
        self.check(rhs)?;
        self.bitwise(XOR, Rhs::Rows(rhs), out)
    }

    /// The bits that are not set: `2^BITS - 1 - self`.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    pub fn not(&self) -> Result<Self> {
        self.produce(|out| self.not_into(out))
    }

    /// [`not`](Self::not) into a batch that exists, without allocating.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    pub fn not_into(&self, out: &mut Self) -> Result<()> {
        self.bitwise(NOT, Rhs::Rows(self), out)
    }

    /// `self mod 2^bits`: nothing wraps. Any number of bits is right.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    pub fn low_bits(&self, bits: usize) -> Result<Self> {
        let ones = (BigUint::from(1u32) << bits.min(T::BITS)) - 1u32;
        self.bitwise_all(AND, &ones)
    }

    /// The rows with one bit set: nothing wraps.
    ///
    /// # Errors
    /// [`TooWide`](crate::Error::TooWide) where the number of the bit is `BITS` or more, and as
    /// [`and`](Self::and).
    pub fn with_bit(&self, bit: usize) -> Result<Self> {
        self.bitwise_all(OR, &(BigUint::from(1u32) << bit.min(T::BITS)))
    }

    /// The rows with one bit cleared: nothing wraps.
    ///
    /// # Errors
    /// As [`with_bit`](Self::with_bit).
    pub fn without_bit(&self, bit: usize) -> Result<Self> {
        self.bitwise_all(AND_NOT, &(BigUint::from(1u32) << bit.min(T::BITS)))
    }

    /// The bits of both a row and `value`: nothing wraps.
    ///
    /// # Errors
    /// [`TooWide`](crate::Error::TooWide) where the value needs more than `BITS` bits (row 0), and as
    /// [`and`](Self::and).
    pub fn and_all(&self, value: &BigUint) -> Result<Self> {
        self.bitwise_all(AND, value)
    }

    /// The bits of a row or of `value`: nothing wraps.
    ///
    /// # Errors
    /// As [`and_all`](Self::and_all).
    pub fn or_all(&self, value: &BigUint) -> Result<Self> {
        self.bitwise_all(OR, value)
    }

    /// The bits of a row or of `value`, and not of both: nothing wraps.
    ///
    /// # Errors
    /// As [`and_all`](Self::and_all).
    pub fn xor_all(&self, value: &BigUint) -> Result<Self> {
        self.bitwise_all(XOR, value)
    }

    fn bitwise_all(&self, table: u32, value: &BigUint) -> Result<Self> {
        let value = Self::splat(self.device(), value, 1)?;
        self.produce(|out| self.bitwise(table, Rhs::Broadcast(&value), out))
    }

    fn bitwise(&self, table: u32, rhs: Rhs<'_, T>, out: &mut Self) -> Result<()> {
        self.check(out)?;
        let operands = Operands {
            ins: [Some(self.buffer()), Some(rhs.batch().buffer()), None],
            outs: [Some(out.buffer_mut()), None],
            params: Params { table, ..rhs.params() },
            ..self.operands()
        };
        self.device().launch(self.kernel(Op::Bitwise, Strategy::Auto)?, operands)
    }
}
