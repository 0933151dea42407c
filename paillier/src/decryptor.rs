//! Decryption by the prime factors.
//!
//! With `L(x) = (x - 1) / p` for the `x = 1 mod p`, a ciphertext `c` of `m` has
//!
//! ```text
//! m mod p = L(c^(p - 1) mod p^2) / L((1 + n)^(p - 1) mod p^2) mod p,
//! ```
//!
//! and the divisor is `-q mod p`, as `(1 + n)^(p - 1) = 1 + (p - 1) p q mod p^2` (P. Paillier,
//! EUROCRYPT '99, section 7). The same holds modulo `q`, and `m` follows by Garner's formula:
//! `m = m_p + p ((m_q - m_p) / p mod q)`. Exponents and moduli are half as long as those of `n^2`.

use std::fmt;

use gpuint::{Device, DynBatch, DynDivisor, Shape};
use num_bigint::{BigInt, BigUint};

use crate::ciphertexts::Ciphertexts;
use crate::error::{Error, Result};
use crate::key::{PrivateKey, PublicKey};
use crate::number::Number;
use crate::numbers::EncryptedNumbers;
use crate::prepared::repeated;

/// A private key prepared on a device. Its times depend on the key: `SECURITY.md`.
pub struct Decryptor {
    device: Device,
    key: PublicKey,
    /// Shape of the primes.
    half: Shape,
    /// Shape of their squares and of plaintexts.
    full: Shape,
    p: Factor,
    q: Factor,
    /// `p^-1 mod q`.
    inverse: BigUint,
}

/// A prime factor, and the decryption modulo it.
struct Factor {
    prime: BigUint,
    /// Divisor of plaintexts.
    modulo: DynDivisor,
    square: DynDivisor,
    /// The square as a divisor of ciphertexts.
    wide_square: DynDivisor,
    /// `(-other)^-1 mod prime`.
    scale: BigUint,
}

impl Factor {
    fn new(device: &Device, shapes: [Shape; 3], prime: &BigUint, other: &BigUint) -> Result<Self> {
        let [half, full, wide] = shapes;
        let square = prime * prime;
        let negative = prime - other % prime;
        let splat = |shape, value| DynDivisor::splat(device, shape, value);
        Ok(Self {
            modulo: splat(half, prime)?,
            square: splat(full, &square)?,
            wide_square: splat(wide, &square)?,
            scale: inverse(&negative, prime)?,
            prime: prime.clone(),
        })
    }

    /// Computes the plaintexts modulo this prime.
    fn decrypt(&self, ciphertexts: &DynBatch, half: Shape, full: Shape) -> Result<DynBatch> {
        let reduced = ciphertexts.rem_by(&self.wide_square)?.resized(full)?;
        let power = reduced.pow_mod_all(&(&self.prime - 1u32), &self.square)?;
        // By Fermat's theorem the power is 1 modulo the prime, or it is 0.
        if let Some(&row) = power.is_zero_mask()?.indices()?.first() {
            return Err(Error::NotACiphertext { row });
        }
        let quotient = power.wrapping_sub_all(1)?.div_exact_all(&self.prime)?.resized(half)?;
        let scale = repeated(power.device(), half, &self.scale, power.len())?;
        Ok(quotient.mul_mod(&scale, &self.modulo)?)
    }
}

fn inverse(value: &BigUint, modulus: &BigUint) -> Result<BigUint> {
    let no_inverse = Error::InvalidKey { reason: "its factors are not coprime" };
    value.modinv(modulus).ok_or(no_inverse)
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
    /// The errors of any operation.
    pub fn new(device: &Device, key: &PrivateKey) -> Result<Self> {
        let (p, q) = key.factors();
        let n = key.public().modulus();
        let longer = p.bits().max(q.bits()) as usize;
        let half = device.shape_for(longer)?;
        let full = device.shape_for((2 * longer).max(n.bits() as usize))?;
        let wide = device.shape_for((n * n).bits() as usize)?;
        let shapes = [half, full, wide];
        Ok(Self {
            device: device.clone(),
            key: key.public().clone(),
            half,
            full,
            p: Factor::new(device, shapes, &p, &q)?,
            q: Factor::new(device, shapes, &q, &p)?,
            inverse: inverse(&p, &q)?,
        })
    }

    /// Decrypts ciphertexts to plaintexts in `[0, n)`.
    ///
    /// # Errors
    /// [`KeyMismatch`](Error::KeyMismatch), [`NotACiphertext`](Error::NotACiphertext) for a row
    /// that is no unit modulo `n`, and what any operation may return.
    pub fn decrypt(&self, ciphertexts: &Ciphertexts) -> Result<Vec<BigUint>> {
        ciphertexts.check_key(&self.key)?;
        let rows = ciphertexts.rows();
        let of_p = self.p.decrypt(rows, self.half, self.full)?;
        let of_q = self.q.decrypt(rows, self.half, self.full)?;
        let modulo = &self.q.modulo;
        let difference = of_q.sub_mod(&of_p.rem_by(modulo)?, modulo)?;
        let inverse = repeated(&self.device, self.half, &self.inverse, rows.len())?;
        let multiple = difference.mul_mod(&inverse, modulo)?.resized(self.full)?;
        let plaintexts = multiple.wrapping_mul_all(&self.p.prime)?;
        Ok(plaintexts.wrapping_add(&of_p.resized(self.full)?)?.to_biguints()?)
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
