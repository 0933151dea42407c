//! Messages between the parties: a column of ciphertexts, with the public key and the exponent.
//!
//! All numbers are little-endian. Parties may get several messages one behind the other.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `GPUINTX1` |
//! | 4 | exponent of 16 of all numbers, signed |
//! | 4 | b, bytes of the modulus n; 0 in an empty message, which ends with the header |
//! | 4 | bytes of the base of the short form, 0 without one |
//! | 4 | number of bins that are named |
//! | 8 | number of ciphertexts |
//! | b | modulus |
//! | .. | base of the short form |
//! | 4 each | bins |
//! | 2 b each | ciphertexts |

use gpuint::num_bigint::BigUint;
use gpuint_paillier::{EncryptedNumbers, Encryptor, PublicKey};

use crate::error::{Error, Result};

const MAGIC: &[u8; 8] = b"GPUINTX1";
const HEADER_BYTES: usize = 32;

/// A message that was read.
#[derive(Debug, Clone)]
pub struct Message {
    /// Exponent of 16 of all numbers.
    pub exponent: i32,
    /// Public key, where the message is not empty.
    pub key: Option<PublicKey>,
    /// Bins whose sums the ciphertexts are; none where they are gradients or all bins.
    pub bins: Vec<u32>,
    /// Ciphertexts as integers.
    pub ciphertexts: Vec<BigUint>,
}

/// Returns a message without ciphertexts.
#[must_use]
pub fn empty() -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.resize(HEADER_BYTES, 0);
    bytes
}

/// Writes ciphertexts of one exponent.
///
/// # Errors
/// As [`Ciphertexts::to_biguints`](gpuint_paillier::Ciphertexts::to_biguints).
pub fn write(
    key: &PublicKey,
    exponent: i32,
    bins: &[u32],
    rows: &[EncryptedNumbers],
) -> Result<Vec<u8>> {
    let modulus = key.modulus().to_bytes_le();
    let base = key.short_base().map_or_else(Vec::new, BigUint::to_bytes_le);
    let unit = 2 * modulus.len();
    let count: usize = rows.iter().map(EncryptedNumbers::len).sum();
    let length =
        |bytes: usize| u32::try_from(bytes).expect("keys and bins are short").to_le_bytes();

    let mut bytes = MAGIC.to_vec();
    bytes.extend(exponent.to_le_bytes());
    for part in [modulus.len(), base.len(), bins.len()] {
        bytes.extend(length(part));
    }
    bytes.extend((count as u64).to_le_bytes());
    bytes.extend(&modulus);
    bytes.extend(base);
    bytes.extend(bins.iter().flat_map(|bin| bin.to_le_bytes()));
    bytes.reserve(count * unit);
    for rows in rows {
        for ciphertext in rows.ciphertexts().to_biguints()? {
            let end = bytes.len() + unit;
            bytes.extend(ciphertext.to_bytes_le());
            bytes.resize(end, 0);
        }
    }
    Ok(bytes)
}

/// Reads all messages of a buffer.
///
/// # Errors
/// [`Message`](Error::Message), and as [`PublicKey::new`].
pub fn read_all(mut bytes: &[u8]) -> Result<Vec<Message>> {
    let mut messages = Vec::new();
    while !bytes.is_empty() {
        let (message, rest) = read(bytes)?;
        messages.push(message);
        bytes = rest;
    }
    Ok(messages)
}

fn read(bytes: &[u8]) -> Result<(Message, &[u8])> {
    let all = bytes.len();
    let mut reader = Reader { bytes, all };
    if reader.take(MAGIC.len())? != MAGIC {
        return Err(Error::Message { bytes: all, reason: "its first bytes are others" });
    }
    let exponent = reader.word()? as i32;
    let (modulus, base, bins) = (reader.word()?, reader.word()?, reader.word()?);
    let count = u64::from(reader.word()?) | u64::from(reader.word()?) << 32;
    if modulus == 0 {
        let message = Message { exponent, key: None, bins: Vec::new(), ciphertexts: Vec::new() };
        return Ok((message, reader.bytes));
    }
    let mut key = PublicKey::new(BigUint::from_bytes_le(reader.take(modulus as usize)?))?;
    let base = reader.take(base as usize)?;
    if !base.is_empty() {
        key = key.with_short_base(BigUint::from_bytes_le(base))?;
    }
    let bins = reader.take((bins as usize).saturating_mul(4))?;
    let bins = bins.as_chunks::<4>().0.iter().copied().map(u32::from_le_bytes).collect();
    let unit = 2 * modulus as usize;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let rows = reader.take(count.saturating_mul(unit))?;
    let ciphertexts = rows.chunks_exact(unit).map(BigUint::from_bytes_le).collect();
    Ok((Message { exponent, key: Some(key), bins, ciphertexts }, reader.bytes))
}

struct Reader<'a> {
    bytes: &'a [u8],
    all: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let cut = Error::Message { bytes: self.all, reason: "it is cut" };
        let (part, rest) = self.bytes.split_at_checked(len).ok_or(cut)?;
        self.bytes = rest;
        Ok(part)
    }

    fn word(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("4 bytes")))
    }
}

impl Message {
    /// Uploads the ciphertexts.
    ///
    /// # Errors
    /// As [`Encryptor::ciphertexts`].
    pub fn numbers(&self, encryptor: &Encryptor) -> Result<EncryptedNumbers> {
        let ciphertexts = encryptor.ciphertexts(&self.ciphertexts)?;
        Ok(EncryptedNumbers::new(ciphertexts, vec![self.exponent; self.ciphertexts.len()])?)
    }
}
