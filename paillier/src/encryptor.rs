//! Encryption.
//!
//! The ciphertext of a plaintext `m` is `(1 + m n) r^n mod n^2`, with a new `r` for each row
//! (P. Paillier, "Public-key cryptosystems based on composite degree residuosity classes",
//! EUROCRYPT '99, with the generator `1 + n`, of which the power `m` is `1 + m n mod n^2`).
//!
//! The numbers `r` are uniform in `[1, n)`. One that is no unit would be a multiple of a prime
//! factor of `n`: for factors of equal length its probability is below `4 / sqrt(n)`.
//!
//! The short form replaces `r` by a power `h^a` of the key's base `h = -x^2 mod n` (I. Damgård,
//! M. Jurik and J. Nielsen, "A generalization of Paillier's public-key system with applications to
//! electronic voting", Int. J. Inf. Secur. 9, 2010, section 4.2): with `H = h^n mod n^2`,
//!
//! ```text
//! c = (1 + m n) H^a mod n^2,      0 < a < 2^ceil(k / 2),      k the bits of n.
//! ```
//!
//! `H` is the same for all rows, so that its powers come from a table: `ceil(k / 16)` products a
//! row, and no squares ([`DynFixedBase`]). The table takes 256 times as many products as a row,
//! `16 k`, and a power without it `k / 2` squares and a tenth as many products. So the first
//! [`WITHOUT_TABLE`] rows do without.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use gpuint::{Device, DynBatch, DynFixedBase};
use num_bigint::BigUint;
use num_traits::One;

use crate::ciphertexts::Ciphertexts;
use crate::error::{Error, Result};
use crate::key::PublicKey;
use crate::number::{Number, residues};
use crate::numbers::EncryptedNumbers;
use crate::prepared::PreparedKey;
use crate::random;

/// Number of rows whose powers take as long as the table: `16 k / (0.55 k - k / 16)`.
const WITHOUT_TABLE: usize = 32;

/// A public key prepared on a device for encryption.
#[derive(Debug)]
pub struct Encryptor {
    key: Arc<PreparedKey>,
    short: Option<ShortPowers>,
}

/// Powers with short exponents.
#[derive(Debug)]
struct ShortPowers {
    /// `h^n mod n^2`.
    base: BigUint,
    /// Bits of an exponent.
    bits: usize,
    table: OnceLock<DynFixedBase>,
    /// Number of rows that were computed without the table.
    rows: AtomicUsize,
}

impl ShortPowers {
    fn new(key: &PreparedKey) -> Result<Self> {
        let (h, n) = (key.key.short_base().ok_or(Error::NoShortBase)?, key.key.modulus());
        let power = DynBatch::splat(&key.device, key.wide, h, 1)?.pow_mod_all(n, &key.divisor)?;
        let bits = n.bits().div_ceil(2) as usize;
        let (table, rows) = (OnceLock::new(), AtomicUsize::new(0));
        Ok(Self { base: power.row(0)?, bits, table, rows })
    }

    /// Computes the powers with these exponents.
    fn pow(&self, exponents: &DynBatch, key: &PreparedKey) -> Result<DynBatch> {
        let PreparedKey { device, wide, square, divisor, .. } = key;
        if let Some(table) = self.table.get() {
            return Ok(table.pow(exponents)?);
        }
        let before = self.rows.fetch_add(exponents.len(), Ordering::Relaxed);
        if before.saturating_add(exponents.len()) <= WITHOUT_TABLE {
            let bases = DynBatch::splat(device, *wide, &self.base, exponents.len())?;
            return Ok(bases.pow_mod(exponents, divisor)?);
        }
        // Another thread may make one, too.
        let table = DynFixedBase::new(device, *wide, &self.base, square, self.bits)?;
        Ok(self.table.get_or_init(|| table).pow(exponents)?)
    }
}

impl Encryptor {
    /// Prepares encryption with powers `r^n`.
    ///
    /// # Errors
    /// The errors of any operation.
    pub fn new(device: &Device, key: &PublicKey) -> Result<Self> {
        Ok(Self { key: Arc::new(PreparedKey::new(device, key)?), short: None })
    }

    /// Prepares encryption with short exponents, of half as many bits as the key has.
    ///
    /// Its security also rests on this assumption: powers of the base with short exponents cannot
    /// be told from those with long ones. The exponents have at least 512 bits. For a key of 1024
    /// bits that is 256 bits of security against a search by collisions, more than the key has.
    ///
    /// # Errors
    /// [`NoShortBase`](Error::NoShortBase), and what any operation may return.
    pub fn short(device: &Device, key: &PublicKey) -> Result<Self> {
        let key = PreparedKey::new(device, key)?;
        let short = ShortPowers::new(&key)?;
        Ok(Self { key: Arc::new(key), short: Some(short) })
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &PublicKey {
        &self.key.key
    }

    /// Encrypts plaintexts in `[0, n)`, each with randomness of its own.
    ///
    /// # Errors
    /// [`PlaintextRange`](Error::PlaintextRange), [`Randomness`](Error::Randomness), and what any
    /// operation may return.
    pub fn encrypt(&self, plaintexts: &[BigUint]) -> Result<Ciphertexts> {
        let bare = self.key.bare(plaintexts)?;
        self.randomized(&bare)
    }

    /// Encrypts signed numbers with their exponents, which remain readable.
    ///
    /// # Errors
    /// [`PlaintextRange`](Error::PlaintextRange) if an absolute mantissa exceeds
    /// [`max_int`](PublicKey::max_int), and as [`encrypt`](Self::encrypt).
    pub fn encrypt_numbers(&self, numbers: &[Number]) -> Result<EncryptedNumbers> {
        let ciphertexts = self.encrypt(&residues(self.key(), numbers)?)?;
        let exponents = numbers.iter().map(Number::exponent).collect();
        EncryptedNumbers::new(ciphertexts, exponents)
    }

    /// Multiplies ciphertexts with new encryptions of 0: the same plaintexts in ciphertexts that
    /// nobody can link to the old ones.
    ///
    /// # Errors
    /// [`KeyMismatch`](Error::KeyMismatch), and as [`encrypt`](Self::encrypt).
    pub fn rerandomize(&self, ciphertexts: &Ciphertexts) -> Result<Ciphertexts> {
        ciphertexts.check_key(self.key())?;
        self.randomized(ciphertexts.rows())
    }

    /// Makes ciphertexts of numbers that were computed elsewhere.
    ///
    /// # Errors
    /// [`NotACiphertext`](Error::NotACiphertext) for a number that is 0 or not below `n^2`, and
    /// what any operation may return. Other numbers that are no units are found when they are
    /// decrypted.
    pub fn ciphertexts(&self, numbers: &[BigUint]) -> Result<Ciphertexts> {
        let range = BigUint::one()..self.key.square.clone();
        if let Some(row) = numbers.iter().position(|number| !range.contains(number)) {
            return Err(Error::NotACiphertext { row });
        }
        let rows = DynBatch::from_biguints(&self.key.device, self.key.wide, numbers)?;
        Ok(Ciphertexts::new(rows, self.key.clone()))
    }

    fn randomized(&self, rows: &DynBatch) -> Result<Ciphertexts> {
        let masks = self.masks(rows.len())?;
        Ok(Ciphertexts::new(rows.mul_mod(&masks, &self.key.divisor)?, self.key.clone()))
    }

    /// Draws encryptions of 0.
    fn masks(&self, rows: usize) -> Result<DynBatch> {
        let PreparedKey { device, narrow, wide, divisor, key, .. } = &*self.key;
        let n = key.modulus();
        let largest = match &self.short {
            None => n - 1u32,
            Some(powers) => (BigUint::one() << powers.bits) - 1u32,
        };
        let bytes = random::numbers(&largest, rows, narrow.bytes())?;
        let drawn = DynBatch::from_le_bytes(device, *narrow, &bytes)?.resized(*wide)?;
        Ok(match &self.short {
            None => drawn.pow_mod_all(n, divisor)?,
            Some(powers) => powers.pow(&drawn, &self.key)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decryptor, Primes, PrivateKey};

    #[test]
    fn table_is_made_for_many_rows_alone() {
        let device = Device::cpu();
        let key = PrivateKey::generate(&device, 1024, Primes::Blum).unwrap();
        let encryptor = Encryptor::short(&device, key.public()).unwrap();
        let decryptor = Decryptor::new(&device, &key).unwrap();
        for (rows, has_table) in [(WITHOUT_TABLE - 1, false), (1, false), (1, true), (9, true)] {
            let plaintexts: Vec<BigUint> = (0..rows).map(BigUint::from).collect();
            let ciphertexts = encryptor.encrypt(&plaintexts).unwrap();
            assert_eq!(decryptor.decrypt(&ciphertexts).unwrap(), plaintexts);
            let table = encryptor.short.as_ref().and_then(|short| short.table.get());
            assert_eq!(table.is_some(), has_table, "{rows} rows");
        }
    }
}
