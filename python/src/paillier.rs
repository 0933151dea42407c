//! Paillier's cryptosystem, of the crate `gpuint-paillier`.

use gpuint::num_bigint::BigInt;
use gpuint_paillier::{
    Decryptor, EncryptedNumbers, Encryptor, Error, Number as FixedPoint, Packing, Primes,
    PrivateKey, PublicKey, numbers, to_f64, to_i64,
};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use crate::buffer::{Distances, Elements, Integers, RowNumbers};
use crate::device::Device;
use crate::error::{detached_as, exception, exception_of};
use crate::methods::bytes_of;
use crate::number::{Number, Numbers, Signed};

/// Runs `work` without the interpreter's lock.
fn detached<R: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<R, Error> + Send,
) -> PyResult<R> {
    detached_as(py, work, exception_of_paillier)
}

/// The exception of an error: a class of `gpuint.errors`, with the message and the row.
fn exception_of_paillier(py: Python<'_>, error: &Error) -> PyErr {
    let (class, row) = match error {
        Error::Library(error) => return exception(py, error),
        Error::PlaintextRange { row }
        | Error::NotFinite { row }
        | Error::Overflow { row }
        | Error::NotAnInteger { row }
        | Error::ExponentRange { row }
        | Error::NotACiphertext { row }
        | Error::NoSuchGroup { row, .. } => ("RangeError", Some(*row)),
        Error::KeyBits { .. } | Error::SlotBits { .. } => ("RangeError", None),
        Error::KeyMismatch
        | Error::LengthMismatch { .. }
        | Error::InvalidKey { .. }
        | Error::NoShortBase => ("MismatchError", None),
        Error::Format(_) => ("ParseError", None),
        Error::NotANumber { row, .. } => ("ParseError", Some(*row)),
        Error::Randomness(_) => ("DeviceError", None),
        _ => ("GpuintError", None),
    };
    exception_of(py, class, &error.to_string(), row.and_then(|row| i64::try_from(row).ok()))
}

/// A public key.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct PaillierPublicKey(PublicKey);

#[pymethods]
impl PaillierPublicKey {
    /// Makes the key of a modulus and, unless it is `None`, a base for short exponents.
    #[staticmethod]
    fn of_modulus(py: Python<'_>, n: Number, base: Option<Number>) -> PyResult<Self> {
        let key = detached(py, || {
            let key = PublicKey::new(n.0)?;
            base.map_or(Ok(key.clone()), |base| key.with_short_base(base.0))
        });
        key.map(Self)
    }

    /// Reads a JWK.
    #[staticmethod]
    fn from_jwk(py: Python<'_>, text: &str) -> PyResult<Self> {
        detached(py, || PublicKey::from_jwk(text)).map(Self)
    }

    fn to_jwk(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || self.0.to_jwk())
    }

    #[getter]
    fn n(&self) -> Number {
        Number(self.0.modulus().clone())
    }

    #[getter]
    fn short_base(&self) -> Option<Number> {
        self.0.short_base().cloned().map(Number)
    }
}

/// A private key.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct PaillierPrivateKey(PrivateKey);

#[pymethods]
impl PaillierPrivateKey {
    /// Generates a key.
    #[staticmethod]
    fn generate(py: Python<'_>, device: &Device, bits: usize, safe: bool) -> PyResult<Self> {
        let primes = if safe { Primes::Safe } else { Primes::Blum };
        detached(py, || PrivateKey::generate(&device.device, bits, primes)).map(Self)
    }

    /// Makes the key of two primes.
    #[staticmethod]
    fn of_factors(py: Python<'_>, p: Number, q: Number) -> PyResult<Self> {
        detached(py, || PrivateKey::new(&p.0, &q.0)).map(Self)
    }

    /// Reads a JWK.
    #[staticmethod]
    fn from_jwk(py: Python<'_>, text: &str) -> PyResult<Self> {
        detached(py, || PrivateKey::from_jwk(text)).map(Self)
    }

    fn to_jwk(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || self.0.to_jwk()).map(|text| text.to_string())
    }

    fn public(&self) -> PaillierPublicKey {
        PaillierPublicKey(self.0.public().clone())
    }

    fn factors(&self) -> (Number, Number) {
        let (p, q) = self.0.factors();
        (Number(p), Number(q))
    }
}

/// Returns the mantissas and the exponents of fixed-point numbers.
fn parts(numbers: Vec<FixedPoint>) -> (Vec<Signed>, Vec<i32>) {
    let part = |number: FixedPoint| (Signed(number.mantissa().clone()), number.exponent());
    numbers.into_iter().map(part).unzip()
}

/// Makes fixed-point numbers of mantissas and exponents of 16.
fn fixed_points(mantissas: Vec<Signed>, exponents: &[i32]) -> Result<Vec<FixedPoint>, Error> {
    if mantissas.len() != exponents.len() {
        return Err(Error::LengthMismatch { left: mantissas.len(), right: exponents.len() });
    }
    let parts = mantissas.into_iter().zip(exponents);
    Ok(parts.map(|(mantissa, &exponent)| FixedPoint::new(mantissa.0, exponent)).collect())
}

/// A public key on a device.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct PaillierEncryptor(Encryptor);

#[pymethods]
impl PaillierEncryptor {
    /// Prepares a key.
    #[staticmethod]
    fn prepare(
        py: Python<'_>,
        device: &Device,
        key: &PaillierPublicKey,
        short: bool,
    ) -> PyResult<Self> {
        let (device, key) = (&device.device, &key.0);
        let prepared = detached(py, || {
            if short { Encryptor::short(device, key) } else { Encryptor::new(device, key) }
        });
        prepared.map(Self)
    }

    /// Encrypts `mantissas[i] * 16**exponents[i]`.
    fn encrypt(
        &self,
        py: Python<'_>,
        mantissas: Vec<Signed>,
        exponents: Vec<i32>,
    ) -> PyResult<PaillierNumbers> {
        let numbers =
            detached(py, || self.0.encrypt_numbers(&fixed_points(mantissas, &exponents)?));
        numbers.map(PaillierNumbers)
    }

    /// Encrypts multiples of `16**exponent`, or exact values with their own exponents.
    fn encrypt_floats(
        &self,
        py: Python<'_>,
        values: Elements<f64>,
        exponent: Option<i32>,
    ) -> PyResult<PaillierNumbers> {
        let values = values.as_slice();
        let encrypted = detached(py, || self.0.encrypt_numbers(&numbers(values, exponent)?));
        encrypted.map(PaillierNumbers)
    }

    /// Encrypts integers as multiples of `16**exponent`, which is at most 0.
    fn encrypt_integers(
        &self,
        py: Python<'_>,
        values: Integers,
        exponent: i32,
    ) -> PyResult<PaillierNumbers> {
        let values = values.as_slice();
        let shift = 4 * u64::from(exponent.unsigned_abs());
        let number = |&value| FixedPoint::new(BigInt::from(value) << shift, exponent);
        let encrypted = detached(py, || {
            let numbers: Vec<FixedPoint> = values.iter().map(number).collect();
            self.0.encrypt_numbers(&numbers)
        });
        encrypted.map(PaillierNumbers)
    }

    /// Makes numbers of ciphertexts that were computed elsewhere.
    fn of_ciphertexts(
        &self,
        py: Python<'_>,
        ciphertexts: Numbers,
        exponents: Vec<i32>,
    ) -> PyResult<PaillierNumbers> {
        let numbers =
            detached(py, || EncryptedNumbers::new(self.0.ciphertexts(&ciphertexts.0)?, exponents));
        numbers.map(PaillierNumbers)
    }

    /// Reads numbers, each as the JSON of `phe`.
    fn of_json(&self, py: Python<'_>, texts: Vec<String>) -> PyResult<PaillierNumbers> {
        detached(py, || self.0.numbers_from_json(&texts)).map(PaillierNumbers)
    }

    /// Multiplies by new encryptions of 0.
    fn rerandomize(&self, py: Python<'_>, numbers: &PaillierNumbers) -> PyResult<PaillierNumbers> {
        let numbers = &numbers.0;
        let again = detached(py, || {
            let ciphertexts = self.0.rerandomize(numbers.ciphertexts())?;
            EncryptedNumbers::new(ciphertexts, numbers.exponents().to_vec())
        });
        again.map(PaillierNumbers)
    }
}

/// Encrypted numbers on a device.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct PaillierNumbers(EncryptedNumbers);

#[pymethods]
impl PaillierNumbers {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn ciphertexts(&self, py: Python<'_>) -> PyResult<Vec<Number>> {
        let ciphertexts = detached(py, || self.0.ciphertexts().to_biguints())?;
        Ok(ciphertexts.into_iter().map(Number).collect())
    }

    fn exponents(&self) -> Vec<i32> {
        self.0.exponents().to_vec()
    }

    fn to_json(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        detached(py, || self.0.to_json())
    }

    fn add(&self, py: Python<'_>, rhs: &Self) -> PyResult<Self> {
        detached(py, || self.0.add(&rhs.0)).map(Self)
    }

    fn sub(&self, py: Python<'_>, rhs: &Self) -> PyResult<Self> {
        detached(py, || self.0.sub(&rhs.0)).map(Self)
    }

    fn add_plain(
        &self,
        py: Python<'_>,
        mantissas: Vec<Signed>,
        exponents: Vec<i32>,
    ) -> PyResult<Self> {
        detached(py, || self.0.add_plain(&fixed_points(mantissas, &exponents)?)).map(Self)
    }

    fn mul_plain(
        &self,
        py: Python<'_>,
        mantissas: Vec<Signed>,
        exponents: Vec<i32>,
    ) -> PyResult<Self> {
        detached(py, || self.0.mul_plain(&fixed_points(mantissas, &exponents)?)).map(Self)
    }

    fn sum_by(&self, py: Python<'_>, group: Distances, groups: usize) -> PyResult<Self> {
        let group = group.as_slice();
        detached(py, || self.0.sum_by(group, groups)).map(Self)
    }

    fn gather(&self, py: Python<'_>, rows: RowNumbers) -> PyResult<Self> {
        let rows = rows.among(py, self.0.len())?;
        detached(py, || self.0.gather(&rows)).map(Self)
    }
}

/// A private key on a device.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct PaillierDecryptor(Decryptor);

#[pymethods]
impl PaillierDecryptor {
    /// Prepares a key.
    #[staticmethod]
    fn prepare(py: Python<'_>, device: &Device, key: &PaillierPrivateKey) -> PyResult<Self> {
        detached(py, || Decryptor::new(&device.device, &key.0)).map(Self)
    }

    /// Decrypts to mantissas and exponents of 16.
    fn decrypt(
        &self,
        py: Python<'_>,
        numbers: &PaillierNumbers,
    ) -> PyResult<(Vec<Signed>, Vec<i32>)> {
        detached(py, || self.0.decrypt_numbers(&numbers.0)).map(parts)
    }

    /// Decrypts to the bytes of the nearest floats.
    fn decrypt_floats<'py>(
        &self,
        py: Python<'py>,
        numbers: &PaillierNumbers,
    ) -> PyResult<Bound<'py, PyByteArray>> {
        let values = detached(py, || to_f64(&self.0.decrypt_numbers(&numbers.0)?))?;
        bytes_of(py, &values, f64::to_ne_bytes)
    }

    /// Decrypts to the bytes of integers of 64 bits.
    fn decrypt_integers<'py>(
        &self,
        py: Python<'py>,
        numbers: &PaillierNumbers,
    ) -> PyResult<Bound<'py, PyByteArray>> {
        let values = detached(py, || to_i64(&self.0.decrypt_numbers(&numbers.0)?))?;
        bytes_of(py, &values, i64::to_ne_bytes)
    }
}

/// Slots of a plaintext for vectors of small integers.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct PaillierPacking(Packing);

#[pymethods]
impl PaillierPacking {
    /// Makes slots for values of `value_bits` bits and a sign, and sums of `terms` of them.
    #[staticmethod]
    fn of_key(
        py: Python<'_>,
        key: &PaillierPublicKey,
        value_bits: usize,
        terms: usize,
    ) -> PyResult<Self> {
        detached(py, || Packing::new(&key.0, value_bits, terms)).map(Self)
    }

    #[getter]
    fn slots(&self) -> usize {
        self.0.slots()
    }

    /// Packs vectors of `len` values.
    fn pack(&self, py: Python<'_>, values: Integers, len: usize) -> PyResult<Vec<Signed>> {
        let values = values.as_slice();
        let rows = detached(py, || self.0.pack(values, len))?;
        Ok(rows.into_iter().map(|row| Signed(row.mantissa().clone())).collect())
    }

    /// Unpacks vectors of `len` values.
    fn unpack<'py>(
        &self,
        py: Python<'py>,
        numbers: Vec<Signed>,
        len: usize,
    ) -> PyResult<Bound<'py, PyByteArray>> {
        let values = detached(py, || {
            let numbers: Vec<FixedPoint> = numbers.into_iter().map(|row| row.0.into()).collect();
            self.0.unpack(&numbers, len)
        })?;
        bytes_of(py, &values, i64::to_ne_bytes)
    }
}

/// Converts floats to mantissas and exponents of 16.
#[pyfunction]
pub(crate) fn paillier_encoded(
    py: Python<'_>,
    values: Elements<f64>,
    exponent: Option<i32>,
) -> PyResult<(Vec<Signed>, Vec<i32>)> {
    let values = values.as_slice();
    detached(py, || numbers(values, exponent)).map(parts)
}
