//! Decryption by the prime factors, with secret operands.
//!
//! With `x = c^(p - 1) mod p^2`, which is 1 modulo `p` by Fermat's theorem, a ciphertext `c` of `m`
//! has
//!
//! ```text
//! m mod p = (x - 1) / p * h mod p   for   h = (-q)^-1 mod p
//! ```
//!
//! as `(1 + n)^(p - 1) = 1 + (p - 1) p q mod p^2` (P. Paillier, EUROCRYPT '99, section 7). The same
//! holds modulo `q`. Exponents and moduli are half as long as those of `n^2`.
//!
//! Everything is a power or a sum `a f + b` modulo an odd number, in the form whose instructions do
//! not depend on values ([`DynBatch::pow_secret`], [`DynBatch::mul_add_secret`]). `R = 2^BITS` is
//! above `p^2`, `q^2` and `n`.
//!
//! - `c = c_1 R + c_0` is reduced as `c_1 (R mod p^2) + c_0 mod p^2`.
//! - The quotient `(x - 1) / p` is exact and below `p`. It is `x / p - 1 / p` modulo any odd `M >=
//!   p` that `p` does not divide: the largest such number below `R`.
//! - The remainder theorem gives `m = e_p (x_p - 1) / p + e_q (x_q - 1) / q mod n`, where `e_p` is
//!   `h` modulo `p` and 0 modulo `q`: `e_p = q (p - (q^-1)^2 mod p)`.
//!
//! The rows that are no units are public: they are the error. Lengths are public, too.

use std::fmt;

use crypto_bigint::{BoxedUint, Odd};
use gpuint::{Device, DynBatch, SecretBatch, SecretExponents, SecretFactor, SecretModulus, Shape};
use num_bigint::{BigInt, BigUint};
use zeroize::Zeroizing;

use crate::ciphertexts::Ciphertexts;
use crate::error::{Error, Result};
use crate::key::{PrivateKey, PublicKey};
use crate::number::Number;
use crate::numbers::EncryptedNumbers;

/// Widths of secret operands are multiples of this number of bits.
const WIDTH_STEP: usize = 1024;
/// Bits of the widest secret operands.
const MAX_WIDTH: usize = 8192;

/// A private key prepared on a device, where its memory is overwritten before it is freed. Neither
/// the time of its preparation nor that of decryption depends on the factors: `SECURITY.md`.
pub struct Decryptor {
    key: PublicKey,
    /// Shape of the squares of the primes and of plaintexts.
    narrow: Shape,
    /// Shape of twice the width.
    wide: Shape,
    factors: [Factor; 2],
    zero: SecretBatch,
}

/// A prime factor `p`, and the decryption modulo it.
struct Factor {
    /// `R` modulo `p^2`.
    radix: SecretFactor,
    /// `p - 1`.
    exponent: SecretExponents,
    square: SecretModulus,
    /// `p^-1` modulo `M`.
    inverse: SecretFactor,
    /// `-p^-1 mod M`.
    less: SecretBatch,
    /// `e_p` modulo `n`.
    part: SecretFactor,
}

type Secret = Zeroizing<BoxedUint>;

impl Factor {
    fn new(device: &Device, shape: Shape, prime: &[u8], other: &[u8]) -> Result<Self> {
        let bits = shape.bits as u32;
        let secret = |bytes| Zeroizing::new(BoxedUint::from_le_slice_truncated(bytes, bits));
        let bytes = |value: &BoxedUint| Zeroizing::new(value.to_le_bytes());
        let (p, q) = (secret(prime), secret(other));
        let square = Secret::new(p.wrapping_square());
        let n = bytes(&Secret::new(p.wrapping_mul(&*q)));
        let above = Secret::new(p.wrapping_sub(BoxedUint::one_with_precision(bits)));

        // The loop ends in the first round but for divisors of `R - 1`.
        let mut modulus = BoxedUint::max(bits);
        let inverse = loop {
            let odd = Odd::new(modulus.clone()).expect("an odd number");
            if let Some(inverse) = Option::from(p.invert_odd_mod(&odd)) {
                break Secret::new(inverse);
            }
            modulus.wrapping_sub_assign(BoxedUint::from(2u8));
        };
        let less = Secret::new(modulus.wrapping_sub(&*inverse));

        let invalid = Error::InvalidKey { reason: "its factors are not coprime" };
        let odd =
            Zeroizing::new(Odd::new(BoxedUint::clone(&p)).expect("a factor of an odd number"));
        let rest = Secret::new(q.rem(odd.as_nz_ref()));
        let of_other: Option<_> = rest.invert_odd_mod(&odd).into();
        let of_other = Secret::new(of_other.ok_or(invalid)?);
        let part = Secret::new(p.wrapping_sub(of_other.square_mod(odd.as_nz_ref())));
        let part = Secret::new(q.wrapping_mul(&*part));

        let factor = |factor: &BoxedUint, modulus: &[u8]| {
            SecretFactor::splat(device, shape, &bytes(factor), modulus)
        };
        let square_bytes = bytes(&square);
        let modulus = bytes(&modulus);
        Ok(Self {
            radix: factor(&Secret::new(square.wrapping_neg()), &square_bytes)?,
            exponent: SecretExponents::splat(device, shape, 8 * prime.len(), &bytes(&above))?,
            square: SecretModulus::splat(device, shape, &square_bytes)?,
            inverse: factor(&inverse, &modulus)?,
            less: SecretBatch::from_le_bytes(device, shape, &bytes(&less))?,
            part: factor(&part, &n)?,
        })
    }

    /// Adds `e_p (x - 1) / p` to numbers modulo `n`, for ciphertexts `high R + low`.
    fn add_part(
        &self,
        high: &DynBatch,
        low: &SecretBatch,
        addend: &SecretBatch,
    ) -> Result<SecretBatch> {
        let reduced = high.mul_add_secret(&self.radix, low)?;
        let power = reduced.pow_secret(&self.exponent, &self.square)?;
        // By Fermat's theorem the power is 1 modulo the prime, or it is 0.
        if let Some(&row) = power.is_zero_mask()?.indices()?.first() {
            return Err(Error::NotACiphertext { row });
        }
        let quotient = power.mul_add_secret(&self.inverse, &self.less)?;
        Ok(quotient.mul_add_secret(&self.part, addend)?)
    }
}

impl fmt::Debug for Decryptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decryptor").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Decryptor {
    /// Prepares decryption on a device.
    ///
    /// # Errors
    /// [`InvalidKey`](Error::InvalidKey) for a factor of more than 4096 bits, and the errors of any
    /// operation.
    pub fn new(device: &Device, key: &PrivateKey) -> Result<Self> {
        let [p, q] = key.factor_bytes();
        let bits = (16 * p.len().max(q.len())).max(key.public().modulus().bits() as usize);
        if bits > MAX_WIDTH {
            return Err(Error::InvalidKey { reason: "a factor has more than 4096 bits" });
        }
        let narrow = device.shape_for(bits.next_multiple_of(WIDTH_STEP))?;
        Ok(Self {
            key: key.public().clone(),
            narrow,
            wide: device.shape_for(2 * narrow.bits)?,
            factors: [Factor::new(device, narrow, p, q)?, Factor::new(device, narrow, q, p)?],
            zero: SecretBatch::from_le_bytes(device, narrow, &vec![0; narrow.bits / 8])?,
        })
    }

    /// Decrypts ciphertexts to plaintexts in `[0, n)`.
    ///
    /// # Errors
    /// [`KeyMismatch`](Error::KeyMismatch), [`NotACiphertext`](Error::NotACiphertext) for a row
    /// that is no unit modulo `n`, and what any operation may return.
    pub fn decrypt(&self, ciphertexts: &Ciphertexts) -> Result<Vec<BigUint>> {
        ciphertexts.check_key(&self.key)?;
        let rows = ciphertexts.rows().resized(self.wide)?;
        let width = self.narrow.bits;
        let high = rows.shr(width)?.resized(self.narrow)?;
        let above = self.wide.bits - width;
        let low = SecretBatch::from(rows.shl(above)?.shr(above)?.resized(self.narrow)?);
        drop(rows);
        let [p, q] = &self.factors;
        let part = q.add_part(&high, &low, &self.zero)?;
        Ok(p.add_part(&high, &low, &part)?.to_biguints()?)
    }

    /// Decrypts signed numbers.
    ///
    /// # Errors
    /// [`Overflow`](Error::Overflow) for a plaintext between `max_int` and `n - max_int`, and as
    /// [`decrypt`](Self::decrypt).
    pub fn decrypt_numbers(&self, numbers: &EncryptedNumbers) -> Result<Vec<Number>> {
        let plaintexts = self.decrypt(numbers.ciphertexts())?;
        let signed = plaintexts.iter().zip(numbers.exponents()).enumerate();
        signed
            .map(|(row, (plaintext, &exponent))| {
                let mantissa = self.signed(plaintext).ok_or(Error::Overflow { row })?;
                Ok(Number::new(mantissa, exponent))
            })
            .collect()
    }

    /// Returns the number of `-max_int ..= max_int` that a plaintext stands for.
    fn signed(&self, plaintext: &BigUint) -> Option<BigInt> {
        let max = self.key.max_int();
        if plaintext <= &max {
            return Some(plaintext.clone().into());
        }
        let magnitude = self.key.modulus() - plaintext;
        (magnitude <= max).then(|| -BigInt::from(magnitude))
    }
}
