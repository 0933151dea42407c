//! Keys, and their generation.

use std::fmt;
use std::ops::RangeInclusive;

use gpuint::{Device, DynBatch};
use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::One;
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::random;

/// Bits of the moduli of keys.
const KEY_BITS: RangeInclusive<u64> = 1024..=8192;
/// Primes that a round of key generation draws at once.
const DRAWN: usize = 4;

/// Public key: the modulus `n`, and a base for short exponents where the key has one.
///
/// Keys are equal if their moduli are.
#[derive(Debug, Clone)]
pub struct PublicKey {
    n: BigUint,
    short_base: Option<BigUint>,
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.n == other.n
    }
}

impl Eq for PublicKey {}

impl PublicKey {
    /// Makes the key of a modulus.
    ///
    /// # Errors
    /// [`KeyBits`](Error::KeyBits) unless it has 1024 to 8192 bits,
    /// [`InvalidKey`](Error::InvalidKey) if it is even.
    pub fn new(n: BigUint) -> Result<Self> {
        if !KEY_BITS.contains(&n.bits()) {
            return Err(Error::KeyBits { bits: n.bits() });
        }
        if n.is_even() {
            return Err(Error::InvalidKey { reason: "the modulus is even" });
        }
        Ok(Self { n, short_base: None })
    }

    /// Adds the base for short exponents that the owner of the key has published: `-x^2 mod n`
    /// for a random `x`.
    ///
    /// # Errors
    /// [`InvalidKey`](Error::InvalidKey) if it is not a unit modulo `n` above 1.
    pub fn with_short_base(self, base: BigUint) -> Result<Self> {
        if base <= BigUint::one() || base >= self.n || !base.gcd(&self.n).is_one() {
            return Err(Error::InvalidKey { reason: "the base for short exponents is no unit" });
        }
        Ok(Self { short_base: Some(base), ..self })
    }

    /// The modulus: plaintexts are in `[0, n)`.
    #[must_use]
    pub fn modulus(&self) -> &BigUint {
        &self.n
    }

    /// The base for short exponents, if the key has one.
    #[must_use]
    pub fn short_base(&self) -> Option<&BigUint> {
        self.short_base.as_ref()
    }

    /// The largest absolute value of a signed number: `floor(n / 3) - 1`, as in `phe`.
    #[must_use]
    pub fn max_int(&self) -> BigUint {
        &self.n / 3u32 - 1u32
    }
}

/// Kind of the primes of a new key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Primes {
    /// Primes `p` and `q` with `p = q = 3 mod 4` and `gcd(p - 1, q - 1) = 2`.
    #[default]
    Blum,
    /// Safe primes: `(p - 1) / 2` and `(q - 1) / 2` are primes, too. Their generation takes about
    /// as many times longer as a prime has bits, divided by ten.
    Safe,
}

/// Private key: the prime factors of the modulus. Their bytes are wiped when the key is dropped;
/// `SECURITY.md` lists the copies that are not.
pub struct PrivateKey {
    public: PublicKey,
    p: Zeroizing<Vec<u8>>,
    q: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateKey").field("public", &self.public).finish_non_exhaustive()
    }
}

impl PrivateKey {
    /// Makes the key of two primes. It has no base for short exponents.
    ///
    /// # Errors
    /// [`KeyBits`](Error::KeyBits) for the length of the product, and
    /// [`InvalidKey`](Error::InvalidKey) if the factors are equal, one is not a probable prime, or
    /// one divides the other less one.
    pub fn new(p: &BigUint, q: &BigUint) -> Result<Self> {
        let public = PublicKey::new(p * q)?;
        if p == q {
            return Err(Error::InvalidKey { reason: "its factors are equal" });
        }
        let primes = DynBatch::fitting(&Device::cpu(), [p, q])?.is_probable_prime()?;
        if primes.count()? != 2 {
            return Err(Error::InvalidKey { reason: "a factor is not prime" });
        }
        if (p % q).is_one() || (q % p).is_one() {
            return Err(Error::InvalidKey { reason: "a factor divides the other less one" });
        }
        let bytes = |number: &BigUint| Zeroizing::new(number.to_bytes_le());
        Ok(Self { public, p: bytes(p), q: bytes(q) })
    }

    /// Generates a key of exactly `bits` bits, with a base for short exponents. Its primes are
    /// drawn on `device` from the randomness of the operating system.
    ///
    /// # Errors
    /// [`KeyBits`](Error::KeyBits) unless `bits` is even and from 1024 to 8192, and what any
    /// operation may return.
    pub fn generate(device: &Device, bits: usize, primes: Primes) -> Result<Self> {
        if !KEY_BITS.contains(&(bits as u64)) || !bits.is_multiple_of(2) {
            return Err(Error::KeyBits { bits: bits as u64 });
        }
        let shape = device.shape_for(bits / 2)?;
        let mut found: Vec<BigUint> = Vec::new();
        loop {
            let drawn = match primes {
                Primes::Blum => DynBatch::random_primes(device, shape, DRAWN, bits / 2)?,
                Primes::Safe => DynBatch::random_safe_primes(device, shape, 2, bits / 2)?,
            };
            for q in drawn.to_biguints()? {
                let is_partner = |p: &&BigUint| {
                    (*p * &q).bits() == bits as u64 && **p != q && has_short_exponents(p, &q)
                };
                if let Some(p) = found.iter().find(is_partner) {
                    return Self::new(p, &q)?.with_short_base();
                }
                found.push(q);
            }
        }
    }

    /// Draws a new base for short exponents.
    ///
    /// # Errors
    /// [`InvalidKey`](Error::InvalidKey) unless `p = q = 3 mod 4` and `gcd(p - 1, q - 1) = 2`,
    /// [`Randomness`](Error::Randomness).
    pub fn with_short_base(self) -> Result<Self> {
        let (p, q) = self.factors();
        if !has_short_exponents(&p, &q) {
            return Err(Error::InvalidKey { reason: "its primes do not allow short exponents" });
        }
        let n = self.public.n.clone();
        let x = random::number(&(&n - 1u32))?;
        let base = &n - &x * &x % &n;
        Ok(Self { public: self.public.clone().with_short_base(base)?, ..self })
    }

    /// Replaces the public key by one of the same modulus, with its base for short exponents.
    pub(crate) fn with_public(self, public: PublicKey) -> Result<Self> {
        if public != self.public {
            return Err(Error::InvalidKey { reason: "its factors are of another modulus" });
        }
        Ok(Self { public, ..self })
    }

    /// The public key.
    #[must_use]
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The bytes of the prime factors, the least significant first.
    pub(crate) fn factor_bytes(&self) -> [&[u8]; 2] {
        [&self.p, &self.q]
    }

    /// The prime factors. They are copies that nothing wipes.
    #[must_use]
    pub fn factors(&self) -> (BigUint, BigUint) {
        (BigUint::from_bytes_le(&self.p), BigUint::from_bytes_le(&self.q))
    }
}

/// Returns true if `-x^2` generates, for nearly all `x`, the numbers with Jacobi symbol 1: the
/// condition of Damgård, Jurik and Nielsen for exponents of half the length.
fn has_short_exponents(p: &BigUint, q: &BigUint) -> bool {
    let is_three = |prime: &BigUint| (prime % 4u32) == BigUint::from(3u32);
    let gcd = (p - 1u32).gcd(&(q - 1u32));
    is_three(p) && is_three(q) && gcd == BigUint::from(2u32)
}
