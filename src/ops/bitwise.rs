//! Bitwise functions of rows (`kernels/linear/bitwise.cuh`).

use gpuint_catalogue::Op;
use num_bigint::BigUint;

use super::{View, faces};
use crate::backend::{Operands, Params};
use crate::dyn_batch::DynBatch;
use crate::error::Result;

/// Truth tables: bit `2a + b` is the value at the bits `a` and `b`.
const AND: u32 = 0b1000;
const OR: u32 = 0b1110;
const XOR: u32 = 0b0110;
const NOT: u32 = 0b0011;
const AND_NOT: u32 = 0b0100;
const SECOND: u32 = 0b1010;

impl View<'_> {
    pub(crate) fn and(&self, rhs: &DynBatch) -> Result<DynBatch> {
        self.produce(|out| self.and_into(rhs, out))
    }

    pub(crate) fn and_into(&self, rhs: &DynBatch, out: &mut DynBatch) -> Result<()> {
        self.bitwise(AND, self.operands_with(rhs)?, out)
    }

    pub(crate) fn and_all(&self, value: &BigUint) -> Result<DynBatch> {
        self.bitwise_all(AND, value)
    }

    pub(crate) fn or(&self, rhs: &DynBatch) -> Result<DynBatch> {
        self.produce(|out| self.or_into(rhs, out))
    }

    pub(crate) fn or_into(&self, rhs: &DynBatch, out: &mut DynBatch) -> Result<()> {
        self.bitwise(OR, self.operands_with(rhs)?, out)
    }

    pub(crate) fn or_all(&self, value: &BigUint) -> Result<DynBatch> {
        self.bitwise_all(OR, value)
    }

    pub(crate) fn xor(&self, rhs: &DynBatch) -> Result<DynBatch> {
        self.produce(|out| self.xor_into(rhs, out))
    }

    pub(crate) fn xor_into(&self, rhs: &DynBatch, out: &mut DynBatch) -> Result<()> {
        self.bitwise(XOR, self.operands_with(rhs)?, out)
    }

    pub(crate) fn xor_all(&self, value: &BigUint) -> Result<DynBatch> {
        self.bitwise_all(XOR, value)
    }

    pub(crate) fn not(&self) -> Result<DynBatch> {
        self.produce(|out| self.not_into(out))
    }

    pub(crate) fn not_into(&self, out: &mut DynBatch) -> Result<()> {
        self.bitwise(NOT, self.operands_with(self.batch)?, out)
    }

    pub(crate) fn low_bits(&self, bits: usize) -> Result<DynBatch> {
        self.bitwise_all(AND, &(self.power_of_two(bits) - 1u32))
    }

    pub(crate) fn with_bit(&self, bit: usize) -> Result<DynBatch> {
        self.bitwise_power(OR, bit)
    }

    pub(crate) fn without_bit(&self, bit: usize) -> Result<DynBatch> {
        self.bitwise_power(AND_NOT, bit)
    }

    /// Computes a function of each row and a power of two.
    fn bitwise_power(&self, table: u32, bit: usize) -> Result<DynBatch> {
        if !self.shape().is_long() || bit >= self.shape().bits {
            return self.bitwise_all(table, &self.power_of_two(bit));
        }
        let power = DynBatch::power_of_two(self.device(), self.shape(), bit)?;
        self.produce(|out| self.bitwise(table, self.operands_with_all(&power), out))
    }

    /// Returns copies of a row, as many as this batch has rows.
    pub(super) fn copies_of(&self, row: &DynBatch) -> Result<DynBatch> {
        self.produce(|out| self.bitwise(SECOND, self.operands_with_all(row), out))
    }

    /// `2^bit`, or `2^BITS` if that is less.
    fn power_of_two(&self, bit: usize) -> BigUint {
        BigUint::from(1u32) << bit.min(self.shape().bits)
    }

    fn bitwise_all(&self, table: u32, value: &BigUint) -> Result<DynBatch> {
        let value = self.row_of(value)?;
        self.produce(|out| self.bitwise(table, self.operands_with_all(&value), out))
    }

    fn bitwise(&self, table: u32, operands: Operands<'_>, out: &mut DynBatch) -> Result<()> {
        self.check(out)?;
        let params = Params { table, ..operands.params };
        self.launch(
            Op::Bitwise,
            Operands { outs: [Some(out.buffer_mut()), None], params, ..operands },
        )
    }
}

faces! {
    "Bits and logic";

    /// Computes the bitwise AND of each row and the same row of `rhs`.
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
    fn and(rhs: Rows) -> New;

    /// Computes [`and`](Self::and) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    fn and_into(rhs: Rows, out: Out) -> Nothing;

    /// Computes the bitwise OR of each row and the same row of `rhs`.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    fn or(rhs: Rows) -> New;

    /// Computes [`or`](Self::or) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    fn or_into(rhs: Rows, out: Out) -> Nothing;

    /// Computes the bitwise XOR of each row and the same row of `rhs`.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    fn xor(rhs: Rows) -> New;

    /// Computes [`xor`](Self::xor) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    fn xor_into(rhs: Rows, out: Out) -> Nothing;

    /// Computes the bitwise complement, `2^BITS - 1 - self`.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    fn not() -> New;

    /// Computes [`not`](Self::not) into an existing batch, without allocating.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    fn not_into(out: Out) -> Nothing;

    /// Computes `self mod 2^bits`, for any number of bits.
    ///
    /// # Errors
    /// As [`and`](Self::and).
    fn low_bits(bits: Count) -> New;

    /// Returns the rows with the given bit set.
    ///
    /// # Errors
    /// [`TooWide`](crate::Error::TooWide) if the index of the bit is `BITS` or more, and as
    /// [`and`](Self::and).
    fn with_bit(bit: Count) -> New;

    /// Returns the rows with the given bit cleared.
    ///
    /// # Errors
    /// As [`with_bit`](Self::with_bit).
    fn without_bit(bit: Count) -> New;

    /// Computes the bitwise AND of each row and `value`.
    ///
    /// # Errors
    /// [`TooWide`](crate::Error::TooWide) where the value needs more than `BITS` bits (row 0), and
    /// as [`and`](Self::and).
    fn and_all(value: Number) -> New;

    /// Computes the bitwise OR of each row and `value`.
    ///
    /// # Errors
    /// As [`and_all`](Self::and_all).
    fn or_all(value: Number) -> New;

    /// Computes the bitwise XOR of each row and `value`.
    ///
    /// # Errors
    /// As [`and_all`](Self::and_all).
    fn xor_all(value: Number) -> New;
}
