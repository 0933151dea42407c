//! Paillier's cryptosystem for columns of numbers, on NVIDIA GPUs and the CPU, by [`gpuint`].
//!
//! Whoever has the [`PublicKey`] encrypts, adds encrypted numbers, and multiplies them by known
//! ones. Only the [`PrivateKey`] decrypts. A call works on a whole column.
//!
//! ```
//! use gpuint::Device;
//! use gpuint_paillier::{Decryptor, Encryptor, Number, Primes, PrivateKey, numbers, to_f64};
//!
//! let device = Device::new()?; // the first GPU, else the CPU
//! let key = PrivateKey::generate(&device, 1024, Primes::Blum)?; // 2048 or more for real data
//! let encryptor = Encryptor::short(&device, key.public())?;
//! let decryptor = Decryptor::new(&device, &key)?;
//!
//! let gradients = numbers(&[0.5, -0.25, 1.75], Some(-8))?; // multiples of 16^-8
//! let encrypted = encryptor.encrypt_numbers(&gradients)?;
//! let histogram = encrypted.sum_by(&[1, 0, 1], 2)?;
//! assert_eq!(to_f64(&decryptor.decrypt_numbers(&histogram)?)?, [-0.25, 2.25]);
//!
//! let scaled = encrypted.mul_plain(&[Number::from(3), Number::from(-4), Number::from(0)])?;
//! assert_eq!(to_f64(&decryptor.decrypt_numbers(&scaled)?)?, [1.5, 1.0, 0.0]);
//! # Ok::<(), gpuint_paillier::Error>(())
//! ```
//!
//! [`Encryptor::new`] encrypts with powers `r^n`, and [`Encryptor::short`] faster with short
//! exponents. [`Ciphertexts`] encrypt integers modulo `n`, and [`EncryptedNumbers`] signed
//! fixed-point numbers. [`Packing`] puts vectors into one plaintext. Keys and numbers go to the
//! Python package `phe` and back by [`to_jwk`](PrivateKey::to_jwk),
//! [`to_json`](EncryptedNumbers::to_json) and [`numbers_from_json`](Encryptor::numbers_from_json).
//!
//! # Secrets
//!
//! Instructions, branches and addresses of decryption do not depend on secret values. Those of
//! encryption and key generation do. The section "Paillier" of the repository's `SECURITY.md`
//! states who can learn what.

mod ciphertexts;
mod decryptor;
mod encryptor;
mod error;
mod exchange;
mod groups;
mod key;
mod number;
mod numbers;
mod packing;
mod prepared;
mod random;
#[cfg(test)]
mod tests;

pub use ciphertexts::Ciphertexts;
pub use decryptor::Decryptor;
pub use encryptor::Encryptor;
pub use error::{Error, Result};
pub use key::{Primes, PrivateKey, PublicKey};
pub use number::Number;
pub use numbers::{EncryptedNumbers, numbers, to_f64, to_i64};
pub use packing::Packing;
