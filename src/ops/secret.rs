//! Operands that are secret.
//!
//! Powers and products of these types take the same instructions, branches and addresses for all
//! exponents, factors and moduli of a stated length, and for all bases and summands. `tests/ptx`
//! proves it for the kernels as nvcc compiles them; the CPU computes by the crate `crypto-bigint`,
//! and powers by GMP's `mpn_sec_powm` with the feature `gmp`. `SECURITY.md` lists what the promise
//! covers.
//!
//! **Lengths.** The number of rows, the shape, the length of exponents in bits and the choice of
//! one operand for all rows are public. Exponents are padded to the stated length by zeros, which
//! take the time of other digits.
//!
//! **Memory.** Rows are overwritten before the device gets their memory back. Copies from and to
//! the host pass through page-locked memory of their own, which is overwritten, too, and never
//! through the chunks that other copies share. Kernels overwrite their tables and shared memory.
//! Host bytes that a method returns are in `Zeroizing`; the caller wipes its arguments.
//!
//! **Constants.** A modulus is prepared on the host, in constant time. The kernel computes the
//! inverse that Montgomery's products need by itself, likewise.

use std::fmt;
use std::hint::black_box;

use gpuint_catalogue::{Op, Shape};
use num_bigint::BigUint;
use zeroize::{Zeroize, Zeroizing};

use crate::backend::cpu::secret::write_record;
use crate::backend::host::{
    PART_BYTES, check_room, copy_bytes, parts, read_integer, read_rows, reserved_vec, zeroed_vec,
};
use crate::backend::{HostBuffer, Operands, Params};
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::mask::Mask;
use crate::rows::whole_rows;
use crate::strategy::Strategy;

/// Integers on a device whose memory is overwritten before it is freed.
///
/// ```
/// use gpuint::{Device, DynBatch, SecretExponents, SecretModulus, narrowest};
/// use num_bigint::BigUint;
///
/// let device = Device::cpu();
/// let shape = narrowest(1024).unwrap();
/// let row = |value: u8| [vec![value], vec![0; shape.bits / 8 - 1]].concat();
/// let bases = DynBatch::from_biguints(&device, shape, [3u32, 4].map(BigUint::from))?;
/// let exponents = SecretExponents::splat(&device, shape, 7, &row(100))?;
/// let modulus = SecretModulus::splat(&device, shape, &row(101))?; // a prime: 3^100 = 1 (Fermat)
/// let powers = bases.pow_secret(&exponents, &modulus)?;
/// assert_eq!(powers.reveal()?.to_biguints()?, [1u32, 1].map(BigUint::from));
/// # Ok::<(), gpuint::Error>(())
/// ```
pub struct SecretBatch(DynBatch);

impl SecretBatch {
    /// Makes a batch of the bytes of its rows one after the other, `BITS / 8` a row, each row least
    /// significant byte first. The caller wipes `bytes`.
    ///
    /// # Errors
    /// As [`DynBatch::from_le_bytes`].
    pub fn from_le_bytes(device: &Device, shape: Shape, bytes: &[u8]) -> Result<Self> {
        device.check_shape(shape)?;
        let rows = whole_rows(bytes.len(), shape.bytes())?;
        let mut secret = Self(DynBatch::alloc(device, shape, rows)?);
        let target = secret.0.buffer_mut();
        each_part(device, bytes.len(), shape.bytes(), |staged, start, len| {
            copy_bytes(&bytes[start..start + len], &mut staged.bytes_mut()?[..len]);
            device.memory().upload_from(target, start as u64, staged, 0..len)
        })?;
        Ok(secret)
    }

    /// Returns the bytes of the rows one after the other, each row least significant byte first.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_le_bytes(&self) -> Result<Zeroizing<Vec<u8>>> {
        let mut bytes = Zeroizing::new(zeroed_vec(self.len() * self.shape().bytes())?);
        let mut copied = 0;
        self.read_parts(|part| {
            copy_bytes(part, &mut bytes[copied..copied + part.len()]);
            copied += part.len();
            Ok(())
        })?;
        Ok(bytes)
    }

    /// Returns the values, which are the caller's to wipe.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn to_biguints(&self) -> Result<Vec<BigUint>> {
        let mut values = reserved_vec(self.len())?;
        let row_bytes = self.shape().bytes();
        self.read_parts(|part| {
            check_room(part.len() / row_bytes, row_bytes)?;
            read_rows(part, row_bytes, read_integer, &mut values);
            Ok(())
        })?;
        Ok(values)
    }

    /// Reads the rows in parts, in their order.
    fn read_parts(&self, mut read: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let (device, row_bytes) = (self.device(), self.shape().bytes());
        each_part(device, self.len() * row_bytes, row_bytes, |staged, start, len| {
            device.memory().download_to(self.0.buffer(), start as u64, staged, 0..len)?;
            read(&staged.bytes()?[..len])
        })
    }

    /// Copies the rows on their device to a batch that is not secret.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn reveal(&self) -> Result<DynBatch> {
        self.0.try_clone()
    }

    /// Returns the mask of the rows that are 0. It is not secret; the rest of the rows stays so.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn is_zero_mask(&self) -> Result<Mask> {
        self.0.is_zero_mask()
    }

    /// Computes [`pow_secret`](DynBatch::pow_secret) of secret bases.
    ///
    /// # Errors
    /// As [`pow_secret`](DynBatch::pow_secret).
    pub fn pow_secret(&self, exponents: &SecretExponents, modulus: &SecretModulus) -> Result<Self> {
        self.0.pow_secret(exponents, modulus)
    }

    /// Computes [`mul_add_secret`](DynBatch::mul_add_secret) of secret rows.
    ///
    /// # Errors
    /// As [`mul_add_secret`](DynBatch::mul_add_secret).
    pub fn mul_add_secret(&self, factor: &SecretFactor, addend: &Self) -> Result<Self> {
        self.0.mul_add_secret(factor, addend)
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The shape of the rows.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.0.shape()
    }

    /// The device that the rows live on.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.0.device()
    }
}

/// The rows are secret from here on: copies that were made before are not overwritten.
impl From<DynBatch> for SecretBatch {
    fn from(rows: DynBatch) -> Self {
        Self(rows)
    }
}

impl Drop for SecretBatch {
    fn drop(&mut self) {
        let device = self.0.device().clone();
        // Fails if the device is lost, with its memory.
        let _ = device.memory().fill(self.0.buffer_mut(), 0);
        // The writes to host memory are used.
        black_box(self.0.buffer());
    }
}

impl fmt::Debug for SecretBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretBatch")
            .field("shape", &format_args!("{}", self.shape()))
            .field("rows", &self.len())
            .finish_non_exhaustive()
    }
}

/// Calls `copy(staged, start, len)` for the parts of a copy of whole rows, with page-locked memory
/// that no other copy uses. It is overwritten after the last copy, also of a call that fails.
fn each_part(
    device: &Device,
    bytes: usize,
    row_bytes: usize,
    mut copy: impl FnMut(&mut dyn HostBuffer, usize, usize) -> Result<()>,
) -> Result<()> {
    let mut parts = parts(bytes, row_bytes, PART_BYTES).peekable();
    let Some(&(_, longest)) = parts.peek() else { return Ok(()) };
    let mut staged = device.memory().alloc_host(longest)?;
    let copied = parts.try_for_each(|(start, len)| copy(&mut *staged, start, len));
    let wiped = staged.bytes_mut().map(Zeroize::zeroize);
    copied.and(wiped)
}

/// Secret exponents of a public length: one for each row, or one for all rows.
#[derive(Debug)]
pub struct SecretExponents {
    rows: SecretBatch,
    bits: usize,
    is_broadcast: bool,
}

impl SecretExponents {
    /// Makes exponents of at most `bits` bits, one for each row, of the bytes of the rows as in
    /// [`SecretBatch::from_le_bytes`].
    ///
    /// # Errors
    /// [`TooWide`](Error::TooWide) with the lowest row whose exponent is longer, if `bits` is
    /// larger than the width, or if it is 0; as the length of a secret, the error names the width.
    /// [`PartialRow`](Error::PartialRow), [`ShapeMissing`](Error::ShapeMissing),
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn of_rows(device: &Device, shape: Shape, bits: usize, bytes: &[u8]) -> Result<Self> {
        let too_wide = |row| Error::TooWide { row, bits: shape.bits as u64, width: bits };
        if bits == 0 || bits > shape.bits {
            return Err(too_wide(0));
        }
        // All bytes of all rows are read before the result is looked at.
        let above = |row: &[u8]| {
            let byte = |(index, byte): (usize, &u8)| match (8 * index).checked_sub(bits) {
                Some(_) => *byte,
                None => byte.checked_shr((bits - 8 * index) as u32).unwrap_or(0),
            };
            row.iter().enumerate().map(byte).fold(0, |any, byte| black_box(any | byte))
        };
        let aboves: Vec<u8> = bytes.chunks(shape.bytes()).map(above).collect();
        if let Some(row) = aboves.iter().position(|&above| above != 0) {
            return Err(too_wide(row));
        }
        let rows = SecretBatch::from_le_bytes(device, shape, bytes)?;
        Ok(Self { rows, bits, is_broadcast: false })
    }

    /// Makes one exponent for all rows.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch) if there is not one row of bytes, and as
    /// [`of_rows`](Self::of_rows).
    pub fn splat(device: &Device, shape: Shape, bits: usize, bytes: &[u8]) -> Result<Self> {
        let exponents = Self::of_rows(device, shape, bits, bytes)?;
        one_row(exponents.rows.len())?;
        Ok(Self { is_broadcast: true, ..exponents })
    }

    /// The public length in bits.
    #[must_use]
    pub fn bits(&self) -> usize {
        self.bits
    }
}

/// Secret odd moduli, prepared on a device: one for each row, or one for all rows.
#[derive(Debug)]
pub struct SecretModulus {
    /// Two rows of each modulus.
    records: SecretBatch,
    is_broadcast: bool,
}

impl SecretModulus {
    /// Prepares a modulus for each row, of the bytes of the rows as in
    /// [`SecretBatch::from_le_bytes`].
    ///
    /// # Errors
    /// [`EvenModulus`](Error::EvenModulus) with the lowest row that is even,
    /// [`KernelMissing`](Error::KernelMissing) where powers of secrets are not offered: their
    /// widths are multiples of 1024 up to 8192 bits. [`ShapeMissing`](Error::ShapeMissing),
    /// [`PartialRow`](Error::PartialRow), [`OutOfMemory`](Error::OutOfMemory),
    /// [`Driver`](Error::Driver).
    pub fn of_rows(device: &Device, shape: Shape, bytes: &[u8]) -> Result<Self> {
        device.kernel(Op::PowSecret, Strategy::Auto, shape, 1)?;
        Ok(Self { records: records(device, shape, bytes, None)?, is_broadcast: false })
    }

    /// Prepares one modulus for all rows.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch) if there is not one row of bytes, and as
    /// [`of_rows`](Self::of_rows).
    pub fn splat(device: &Device, shape: Shape, bytes: &[u8]) -> Result<Self> {
        let modulus = Self::of_rows(device, shape, bytes)?;
        one_row(modulus.records.len() / 2)?;
        Ok(Self { is_broadcast: true, ..modulus })
    }
}

/// Secret factors modulo secret odd moduli, prepared on a device: one for each row, or one for all
/// rows.
#[derive(Debug)]
pub struct SecretFactor {
    /// Three rows of each factor.
    records: SecretBatch,
    is_broadcast: bool,
}

impl SecretFactor {
    /// Prepares a factor and a modulus for each row, of the bytes of the rows as in
    /// [`SecretBatch::from_le_bytes`]. Factors may exceed their moduli.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch) if there are not as many factors as moduli, and
    /// as [`SecretModulus::of_rows`].
    pub fn of_rows(device: &Device, shape: Shape, factors: &[u8], moduli: &[u8]) -> Result<Self> {
        device.kernel(Op::MulAddSecret, Strategy::Auto, shape, 1)?;
        let records = records(device, shape, moduli, Some(factors))?;
        Ok(Self { records, is_broadcast: false })
    }

    /// Prepares one factor and its modulus for all rows.
    ///
    /// # Errors
    /// [`LengthMismatch`](Error::LengthMismatch) if there is not one row of bytes, and as
    /// [`of_rows`](Self::of_rows).
    pub fn splat(device: &Device, shape: Shape, factor: &[u8], modulus: &[u8]) -> Result<Self> {
        let factor = Self::of_rows(device, shape, factor, modulus)?;
        one_row(factor.records.len() / 3)?;
        Ok(Self { is_broadcast: true, ..factor })
    }
}

/// Makes the records of odd moduli, and of a factor for each where there are factors.
fn records(
    device: &Device,
    shape: Shape,
    moduli: &[u8],
    factors: Option<&[u8]>,
) -> Result<SecretBatch> {
    let (row_bytes, limbs) = (shape.bytes(), shape.bits / 64);
    let rows = whole_rows(moduli.len(), row_bytes)?;
    if let Some(factors) = factors {
        let (left, right) = (whole_rows(factors.len(), row_bytes)?, rows);
        if left != right {
            return Err(Error::LengthMismatch { left, right });
        }
    }
    let is_even = |row: &[u8]| row[0] & 1 == 0;
    if let Some(row) = moduli.chunks(row_bytes).position(is_even) {
        return Err(Error::EvenModulus { row });
    }
    let length = if factors.is_some() { 3 * limbs } else { 2 * limbs };
    let mut aligned = [(); 2].map(|()| Zeroizing::new(vec![0_u64; limbs]));
    let [n, f] = &mut aligned;
    let mut records = Zeroizing::new(zeroed_vec::<u64>(length * rows)?);
    for (row, record) in records.chunks_mut(length).enumerate() {
        let at = row * row_bytes..(row + 1) * row_bytes;
        bytemuck::cast_slice_mut(n).copy_from_slice(&moduli[at.clone()]);
        let factor = factors.map(|factors| {
            bytemuck::cast_slice_mut(f).copy_from_slice(&factors[at]);
            f.as_slice()
        });
        write_record(n, factor, record);
    }
    SecretBatch::from_le_bytes(device, shape, bytemuck::cast_slice(&records))
}

fn one_row(rows: usize) -> Result<()> {
    if rows == 1 { Ok(()) } else { Err(Error::LengthMismatch { left: 1, right: rows }) }
}

/// # Powers and products of secrets
impl DynBatch {
    /// Computes `self^exponents mod modulus`, row by row, for secret exponents and moduli. The rows
    /// may exceed the moduli. The power 0 is 1, and everything is 0 modulo 1.
    ///
    /// Neither branches nor addresses nor the number of instructions depend on the rows, the
    /// exponents and the moduli: see [`SecretBatch`] and `SECURITY.md`. The time grows with the
    /// length of the exponents, not with their bits.
    ///
    /// # Errors
    /// [`ShapeMismatch`](Error::ShapeMismatch), [`LengthMismatch`](Error::LengthMismatch),
    /// [`DeviceMismatch`](Error::DeviceMismatch), [`OutOfMemory`](Error::OutOfMemory),
    /// [`Driver`](Error::Driver).
    pub fn pow_secret(
        &self,
        exponents: &SecretExponents,
        modulus: &SecretModulus,
    ) -> Result<SecretBatch> {
        let view = self.view();
        let records = &modulus.records;
        self.check_secrets([
            (&exponents.rows, exponents.is_broadcast, exponents.rows.len()),
            (records, modulus.is_broadcast, records.len() / 2),
        ])?;
        let mut power = SecretBatch(view.alloc()?);
        let params = Params {
            broadcast_divisor: modulus.is_broadcast,
            broadcast_exponent: exponents.is_broadcast,
            exponent_bits: exponents.bits as u32,
            ..Params::default()
        };
        let operands = Operands {
            ins: [Some(self.buffer()), Some(exponents.rows.0.buffer()), Some(records.0.buffer())],
            outs: [Some(power.0.buffer_mut()), None],
            params,
            ..view.operands()
        };
        view.launch(Op::PowSecret, operands)?;
        Ok(power)
    }

    /// Computes `self factor + addend mod modulus`, row by row, for the secret factors and moduli
    /// of `factor`. `addend` has one row for each row, or one row for all rows. The rows, factors
    /// and addends may exceed the moduli.
    ///
    /// Neither branches nor addresses nor the number of instructions depend on the values.
    ///
    /// ```
    /// use gpuint::{Device, DynBatch, SecretBatch, SecretFactor, narrowest};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// let shape = narrowest(1024).unwrap();
    /// let row = |value: u8| [vec![value], vec![0; shape.bits / 8 - 1]].concat();
    /// let rows = DynBatch::from_biguints(&device, shape, [3u32, 200].map(BigUint::from))?;
    /// let factor = SecretFactor::splat(&device, shape, &row(50), &row(101))?;
    /// let addend = SecretBatch::from_le_bytes(&device, shape, &row(7))?;
    /// let sums = rows.mul_add_secret(&factor, &addend)?;
    /// assert_eq!(sums.reveal()?.to_biguints()?, [56u32, 8].map(BigUint::from));
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`pow_secret`](Self::pow_secret).
    pub fn mul_add_secret(
        &self,
        factor: &SecretFactor,
        addend: &SecretBatch,
    ) -> Result<SecretBatch> {
        let view = self.view();
        let records = &factor.records;
        let is_one = addend.len() == 1;
        let operands =
            [(addend, is_one, addend.len()), (records, factor.is_broadcast, records.len() / 3)];
        self.check_secrets(operands)?;
        let mut sum = SecretBatch(view.alloc()?);
        let params = Params {
            broadcast_divisor: factor.is_broadcast,
            broadcast_rhs: is_one,
            ..Params::default()
        };
        let operands = Operands {
            ins: [Some(self.buffer()), Some(addend.0.buffer()), Some(records.0.buffer())],
            outs: [Some(sum.0.buffer_mut()), None],
            params,
            ..view.operands()
        };
        view.launch(Op::MulAddSecret, operands)?;
        Ok(sum)
    }

    /// Checks operands with their numbers of rows, where one row serves all or not.
    fn check_secrets(&self, operands: [(&SecretBatch, bool, usize); 2]) -> Result<()> {
        for (operand, is_broadcast, rows) in operands {
            if operand.shape() != self.shape() {
                let (left, right) = (self.shape(), operand.shape());
                return Err(Error::ShapeMismatch { left, right });
            }
            let rows = if is_broadcast { self.len() } else { rows };
            self.view().check_operand(operand.device(), rows)?;
        }
        Ok(())
    }
}
