//! The extension module `gpuint._gpuint`: devices, batches, divisors and masks of the crate
//! `gpuint` as Python objects.
//!
//! The package's Python files choose widths and convert operands. Every method here takes operands
//! of one shape and releases the interpreter's lock while the device works.

#![expect(clippy::needless_pass_by_value, reason = "extracted arguments come by value")]

mod batch;
mod buffer;
mod conversions;
mod device;
mod divisor;
mod dlpack;
mod error;
mod factor;
mod log;
mod mask;
mod methods;
mod number;
mod paillier;
mod progress;
mod residues;
mod secret;
mod sieve;
mod signed;
mod text;
mod trees;

/// Batches of big unsigned integers on a device: the typed core of the package `gpuint`.
#[pyo3::pymodule]
mod _gpuint {
    #[pymodule_export]
    use crate::{
        batch::Batch,
        device::Device,
        divisor::Divisor,
        dlpack::Tensor,
        factor::Factor,
        log::start_log,
        mask::Mask,
        paillier::{
            PaillierDecryptor, PaillierEncryptor, PaillierNumbers, PaillierPacking,
            PaillierPrivateKey, PaillierPublicKey, paillier_encoded,
        },
        progress::set_progress,
        residues::{FixedBase, Modulus, Residues, recognize_special},
        secret::{SecretBatch, SecretExponents, SecretFactor, SecretModulus},
        sieve::{power_factors, primes, progression_factors, smallest_factors, survivors},
        signed::SignedBatch,
        trees::{Crt, ProductTree},
    };
    use pyo3::pyfunction;

    /// Returns the widths that are built, in bits, in increasing order.
    #[pyfunction]
    fn widths() -> Vec<usize> {
        let mut widths: Vec<usize> = gpuint::shapes().iter().map(|shape| shape.bits).collect();
        widths.sort_unstable();
        widths.dedup();
        widths
    }
}
