//! A public key prepared on a device.

use gpuint::{Device, DynBatch, DynDivisor, Shape};
use num_bigint::BigUint;

use crate::error::{Error, Result};
use crate::key::PublicKey;

/// Public key with the reciprocal of `n^2` on a device.
#[derive(Debug)]
pub(crate) struct PreparedKey {
    pub(crate) key: PublicKey,
    pub(crate) device: Device,
    /// Shape of plaintexts.
    pub(crate) narrow: Shape,
    /// Shape of ciphertexts.
    pub(crate) wide: Shape,
    pub(crate) square: BigUint,
    pub(crate) divisor: DynDivisor,
}

impl PreparedKey {
    pub(crate) fn new(device: &Device, key: &PublicKey) -> Result<Self> {
        let n = key.modulus();
        let square = n * n;
        let narrow = device.shape_for(n.bits() as usize)?;
        let wide = device.shape_for(square.bits() as usize)?;
        let divisor = DynDivisor::splat(device, wide, &square)?;
        Ok(Self { key: key.clone(), device: device.clone(), narrow, wide, square, divisor })
    }

    /// Computes `1 + m n`, the ciphertexts of plaintexts without randomness. They are below `n^2`.
    pub(crate) fn bare(&self, plaintexts: &[BigUint]) -> Result<DynBatch> {
        let n = self.key.modulus();
        if let Some(row) = plaintexts.iter().position(|m| m >= n) {
            return Err(Error::PlaintextRange { row });
        }
        let rows = DynBatch::from_biguints(&self.device, self.narrow, plaintexts)?;
        Ok(rows.resized(self.wide)?.wrapping_mul_all(n)?.wrapping_add_all(1)?)
    }
}
