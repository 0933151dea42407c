//! Keys as JWK and numbers as JSON, in the forms of the Python package `phe` (`pheutil`).
//!
//! A key has the type `DAJ`, and its integers are base64url without padding, most significant byte
//! first. The member `h`, which `phe` ignores, is the base for short exponents. A number is
//! `{"v": CIPHERTEXT, "e": EXPONENT}`, with the ciphertext as decimal text.

use base64ct::{Base64UrlUnpadded, Encoding};
use num_bigint::BigUint;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, Zeroizing};

use crate::encryptor::Encryptor;
use crate::error::{Error, Result};
use crate::key::{PrivateKey, PublicKey};
use crate::numbers::EncryptedNumbers;

/// Type of keys.
const KEY_TYPE: &str = "DAJ";
/// Algorithm of public keys.
const ALGORITHM: &str = "PAI-GN1";

#[derive(Debug, Serialize, Deserialize)]
struct PublicJwk {
    kty: String,
    alg: String,
    #[serde(default)]
    key_ops: Vec<String>,
    n: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    h: Option<String>,
    #[serde(default)]
    kid: String,
}

#[derive(Serialize, Deserialize)]
struct PrivateJwk {
    kty: String,
    #[serde(default)]
    key_ops: Vec<String>,
    p: Zeroizing<String>,
    q: Zeroizing<String>,
    #[serde(rename = "pub")]
    public: PublicJwk,
    #[serde(default)]
    kid: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct JsonNumber {
    v: String,
    e: i32,
}

/// Reads JSON. Its text may be secret, so the error has the place only.
fn parsed<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let kind = match error.classify() {
            serde_json::error::Category::Data => "wrong or missing members",
            _ => "no JSON",
        };
        Error::Format(format!("{kind} at line {line}, column {column}"))
    })
}

fn text(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::Format(error.to_string()))
}

fn encoded(number: &BigUint) -> String {
    let mut bytes = number.to_bytes_be();
    let text = Base64UrlUnpadded::encode_string(&bytes);
    bytes.zeroize();
    text
}

fn decoded(text: &str, member: &str) -> Result<BigUint> {
    let no_text = |_| Error::Format(format!("member {member:?} is not base64url"));
    let bytes = Base64UrlUnpadded::decode_vec(text.trim_end_matches('=')).map_err(no_text)?;
    Ok(BigUint::from_bytes_be(&Zeroizing::new(bytes)))
}

fn check(member: &str, value: &str, expected: &str) -> Result<()> {
    if value == expected {
        return Ok(());
    }
    Err(Error::Format(format!("member {member:?} is {value:?}, not {expected:?}")))
}

impl PublicJwk {
    fn new(key: &PublicKey) -> Self {
        Self {
            kty: KEY_TYPE.to_owned(),
            alg: ALGORITHM.to_owned(),
            key_ops: vec!["encrypt".to_owned()],
            n: encoded(key.modulus()),
            h: key.short_base().map(encoded),
            kid: "Paillier public key".to_owned(),
        }
    }

    fn key(&self) -> Result<PublicKey> {
        check("kty", &self.kty, KEY_TYPE)?;
        check("alg", &self.alg, ALGORITHM)?;
        let key = PublicKey::new(decoded(&self.n, "n")?)?;
        match &self.h {
            Some(base) => key.with_short_base(decoded(base, "h")?),
            None => Ok(key),
        }
    }
}

impl PublicKey {
    /// Returns the key as the JWK that `pheutil extract` writes.
    ///
    /// # Errors
    /// [`Format`](Error::Format).
    pub fn to_jwk(&self) -> Result<String> {
        text(&PublicJwk::new(self))
    }

    /// Reads a JWK.
    ///
    /// # Errors
    /// [`Format`](Error::Format), and as [`PublicKey::new`].
    pub fn from_jwk(text: &str) -> Result<Self> {
        parsed::<PublicJwk>(text)?.key()
    }
}

impl PrivateKey {
    /// Returns the key as the JWK that `pheutil genpkey` writes. The text is wiped when it is
    /// dropped.
    ///
    /// # Errors
    /// [`Format`](Error::Format).
    pub fn to_jwk(&self) -> Result<Zeroizing<String>> {
        let (p, q) = self.factors();
        let jwk = PrivateJwk {
            kty: KEY_TYPE.to_owned(),
            key_ops: vec!["decrypt".to_owned()],
            p: Zeroizing::new(encoded(&p)),
            q: Zeroizing::new(encoded(&q)),
            public: PublicJwk::new(self.public()),
            kid: "Paillier private key".to_owned(),
        };
        text(&jwk).map(Zeroizing::new)
    }

    /// Reads a JWK.
    ///
    /// # Errors
    /// [`Format`](Error::Format), [`InvalidKey`](Error::InvalidKey) if the modulus is not the
    /// product of the factors, and as [`PrivateKey::new`].
    pub fn from_jwk(text: &str) -> Result<Self> {
        let jwk: PrivateJwk = parsed(text)?;
        check("kty", &jwk.kty, KEY_TYPE)?;
        let public = jwk.public.key()?;
        let key = Self::new(&decoded(&jwk.p, "p")?, &decoded(&jwk.q, "q")?)?;
        key.with_public(public)
    }
}

impl EncryptedNumbers {
    /// Returns each number as the JSON that `pheutil encrypt` writes.
    ///
    /// # Errors
    /// The errors of any operation.
    pub fn to_json(&self) -> Result<Vec<String>> {
        let ciphertexts = self.ciphertexts().rows().to_decimal()?;
        let numbers = ciphertexts.into_iter().zip(self.exponents());
        numbers.map(|(v, &e)| text(&JsonNumber { v, e })).collect()
    }
}

impl Encryptor {
    /// Reads numbers of this key, each as the JSON that `pheutil encrypt` writes.
    ///
    /// # Errors
    /// [`NotANumber`](Error::NotANumber), [`NotACiphertext`](Error::NotACiphertext), and what any
    /// operation may return.
    pub fn numbers_from_json<T: AsRef<str>>(&self, texts: &[T]) -> Result<EncryptedNumbers> {
        let (mut ciphertexts, mut exponents) = (Vec::new(), Vec::new());
        for (row, text) in texts.iter().enumerate() {
            let failed = |reason: &str| Error::NotANumber { row, reason: reason.to_owned() };
            let number: JsonNumber = match parsed(text.as_ref()) {
                Ok(number) => number,
                Err(error) => return Err(failed(&error.to_string())),
            };
            let is_decimal = number.v.bytes().all(|byte| byte.is_ascii_digit());
            let value = number.v.parse().ok().filter(|_| is_decimal);
            ciphertexts.push(value.ok_or_else(|| failed("\"v\" is not a decimal number"))?);
            exponents.push(number.e);
        }
        EncryptedNumbers::new(self.ciphertexts(&ciphertexts)?, exponents)
    }
}
