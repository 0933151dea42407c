//! Vectors of small integers in one plaintext.
//!
//! A vector `v` becomes the signed integer `sum of v_i 2^(s i)` for slots of `s` bits. Sums of such
//! integers are those of the vectors as long as each `v_i` of the sum is in
//! `[-2^(s - 1), 2^(s - 1))`: the digits of base `2^s` in this range are unique.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{ToPrimitive, Zero};

use crate::error::{Error, Result};
use crate::key::PublicKey;
use crate::number::Number;

/// Slots of a plaintext for vectors of `i64`.
///
/// ```
/// use gpuint::Device;
/// use gpuint_paillier::{Decryptor, Encryptor, Packing, Primes, PrivateKey};
///
/// let device = Device::cpu();
/// let key = PrivateKey::generate(&device, 1024, Primes::Blum)?;
/// let encryptor = Encryptor::short(&device, key.public())?;
/// // Gradients of 20 bits, and sums of up to 1000 of them.
/// let packing = Packing::new(key.public(), 20, 1000)?;
/// let rows = packing.pack(&[-500_000, 7, 1, 3], 2)?;
/// let sum = encryptor.encrypt_numbers(&rows)?.sum()?;
/// let sum = Decryptor::new(&device, &key)?.decrypt_numbers(&sum)?;
/// assert_eq!(packing.unpack(&sum, 2)?, [-499_999, 10]);
/// # Ok::<(), gpuint_paillier::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packing {
    value_bits: usize,
    slot_bits: usize,
    slots: usize,
}

impl Packing {
    /// Makes slots for values in `-2^value_bits .. 2^value_bits`, and for sums of up to `terms` of
    /// them.
    ///
    /// # Errors
    /// [`SlotBits`](Error::SlotBits) if a slot has more than 63 bits: its sums would not be `i64`.
    pub fn new(key: &PublicKey, value_bits: usize, terms: usize) -> Result<Self> {
        let growth = usize::BITS - terms.max(1).saturating_sub(1).leading_zeros();
        let bits = value_bits.saturating_add(growth as usize).saturating_add(1);
        if bits > 63 {
            return Err(Error::SlotBits { bits });
        }
        // Below 2^(bits - 1) <= max_int.
        let slots = (key.max_int().bits() as usize - 1) / bits;
        Ok(Self { value_bits, slot_bits: bits, slots })
    }

    /// Number of slots.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Packs vectors of `len` values, one vector after another, one a row.
    ///
    /// # Errors
    /// [`SlotBits`](Error::SlotBits) if a plaintext has fewer than `len` slots,
    /// [`LengthMismatch`](Error::LengthMismatch) if the values are not a whole number of vectors,
    /// [`PlaintextRange`](Error::PlaintextRange) with the lowest row with a value out of range.
    pub fn pack(&self, values: &[i64], len: usize) -> Result<Vec<Number>> {
        self.check(len)?;
        let rows = values.len() / len;
        if rows * len != values.len() {
            return Err(Error::LengthMismatch { left: values.len(), right: rows * len });
        }
        let range = -(1i64 << self.value_bits)..1i64 << self.value_bits;
        let row = |(row, vector): (usize, &[i64])| {
            if !vector.iter().all(|value| range.contains(value)) {
                return Err(Error::PlaintextRange { row });
            }
            let add = |sum: BigInt, &value: &i64| (sum << self.slot_bits) + value;
            Ok(vector.iter().rev().fold(BigInt::zero(), add).into())
        };
        values.chunks_exact(len).enumerate().map(row).collect()
    }

    /// Unpacks vectors of `len` values from decrypted integers.
    ///
    /// # Errors
    /// [`SlotBits`](Error::SlotBits) as [`pack`](Self::pack), [`Overflow`](Error::Overflow) for a
    /// row that is not of exponent 0 or has bits above its slots.
    pub fn unpack(&self, numbers: &[Number], len: usize) -> Result<Vec<i64>> {
        self.check(len)?;
        let mut values = Vec::with_capacity(numbers.len().saturating_mul(len));
        let half = BigInt::from(1u64 << (self.slot_bits - 1));
        let base = &half << 1;
        for (row, number) in numbers.iter().enumerate() {
            let mut rest = number.mantissa().clone();
            for _ in 0..len {
                let (quotient, digit) = (&rest + &half).div_mod_floor(&base);
                values.push((digit - &half).to_i64().ok_or(Error::Overflow { row })?);
                rest = quotient;
            }
            if !rest.is_zero() || number.exponent() != 0 {
                return Err(Error::Overflow { row });
            }
        }
        Ok(values)
    }

    fn check(&self, len: usize) -> Result<()> {
        if (1..=self.slots).contains(&len) {
            return Ok(());
        }
        Err(Error::SlotBits { bits: self.slot_bits.saturating_mul(len) })
    }
}
