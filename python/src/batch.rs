//! Batches.

use std::ffi::c_void;

use std::cmp::Ordering;

use gpuint::num_bigint::BigUint;
use gpuint::{DynBatch, DynDivisor, DynFactor, DynSignedBatch, Shape};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyList};

use crate::buffer::{Bytes, BytesMut, Distances, RowNumbers};
use crate::device::Device;
use crate::divisor::Divisor;
use crate::error::{byte_array, detached};
use crate::factor::Factor;
use crate::mask::Mask;
use crate::methods::methods;
use crate::number::{Number, Numbers};

/// Integers of one width on a device, one a row.
#[pyclass(module = "gpuint._gpuint", frozen)]
pub(crate) struct Batch(pub(crate) DynBatch);

/// Makes a batch over memory that an object describes by `__cuda_array_interface__`.
#[expect(unsafe_code, reason = "memory of another library")]
fn over_pointer(
    device: &gpuint::Device,
    shape: Shape,
    rows: usize,
    address: u64,
    stream: Option<usize>,
    owner: Py<PyAny>,
) -> gpuint::Result<DynBatch> {
    if let Some(stream) = stream {
        // SAFETY: the protocol requires that the stream exists while the object does.
        unsafe { device.wait_for_stream(stream as *mut c_void) }?;
    }
    // SAFETY: the protocol requires that the memory lives as long as the object. The package
    // documents that it is not written meanwhile, and not shared by two arrays.
    unsafe { DynBatch::from_device_ptr(device, shape, rows, address, owner) }
}

/// Factors of products.
type Pairs<'py> = Vec<(Bound<'py, Batch>, Bound<'py, Batch>)>;

fn with_pairs<T: Send>(
    py: Python<'_>,
    pairs: &Pairs<'_>,
    function: impl FnOnce(&[(&DynBatch, &DynBatch)]) -> gpuint::Result<T> + Send,
) -> PyResult<T> {
    let pairs: Vec<_> = pairs.iter().map(|(a, b)| (&a.get().0, &b.get().0)).collect();
    detached(py, || function(&pairs))
}

#[pymethods]
impl Batch {
    /// Makes a batch of the bytes of its rows, each row least significant byte first.
    #[staticmethod]
    fn from_le_bytes(py: Python<'_>, device: &Device, bits: usize, rows: Bytes) -> PyResult<Self> {
        let (device, rows) = (&device.device, rows.as_slice());
        detached(py, || DynBatch::from_le_bytes(device, device.shape_for(bits)?, rows)).map(Self)
    }

    /// Makes a batch of `rows` rows, all of one value.
    #[staticmethod]
    fn splat(
        py: Python<'_>,
        device: &Device,
        bits: usize,
        value: Number,
        rows: usize,
    ) -> PyResult<Self> {
        let device = &device.device;
        detached(py, || DynBatch::splat(device, device.shape_for(bits)?, &value.0, rows)).map(Self)
    }

    /// Makes a batch of `rows` random primes of exactly `bits` bits.
    #[staticmethod]
    fn random_primes(
        py: Python<'_>,
        device: &Device,
        bits: usize,
        rows: usize,
        safe: bool,
    ) -> PyResult<Self> {
        let device = &device.device;
        let draw = || {
            let shape = device.shape_for(bits)?;
            match safe {
                true => DynBatch::random_safe_primes(device, shape, rows, bits),
                false => DynBatch::random_primes(device, shape, rows, bits),
            }
        };
        detached(py, draw).map(Self)
    }

    /// Returns the rows of batches one after the other.
    #[staticmethod]
    fn concat(py: Python<'_>, parts: &Bound<'_, PyList>) -> PyResult<Self> {
        let parts: Vec<Bound<'_, Self>> =
            parts.iter().map(|part| Ok(part.cast_into()?)).collect::<PyResult<_>>()?;
        let parts: Vec<&DynBatch> = parts.iter().map(|part| &part.get().0).collect();
        detached(py, || DynBatch::concat(&parts)).map(Self)
    }

    /// Prepares each row as the factor of the same row of other batches.
    fn prepare_factor(&self, py: Python<'_>) -> PyResult<Factor> {
        detached(py, || DynFactor::of_rows(&self.0)).map(Factor)
    }

    /// Returns the sums of products of pairs of batches, modulo the power of the width.
    #[staticmethod]
    fn wrapping_sum_of_products(py: Python<'_>, pairs: Pairs<'_>) -> PyResult<Self> {
        with_pairs(py, &pairs, DynBatch::wrapping_sum_of_products).map(Self)
    }

    /// Returns the same in rows of twice the width, and a mask of the rows that overflowed.
    #[staticmethod]
    fn widening_sum_of_products(py: Python<'_>, pairs: Pairs<'_>) -> PyResult<(Self, Mask)> {
        let (sum, overflow) = with_pairs(py, &pairs, DynBatch::widening_sum_of_products)?;
        Ok((Self(sum), Mask(overflow)))
    }

    /// Returns the bytes of the rows, each row least significant byte first.
    fn to_le_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        let batch = &self.0;
        let size = batch.len() * batch.shape().bytes();
        byte_array(py, size, |bytes| detached(py, || batch.read_le_bytes(0, bytes)))
    }

    /// Writes the bytes of the rows, each row least significant byte first.
    fn read_le_bytes(&self, py: Python<'_>, mut rows: BytesMut) -> PyResult<()> {
        let (batch, rows) = (&self.0, rows.as_mut_slice());
        detached(py, || batch.read_le_bytes(0, rows))
    }

    /// Makes a batch over rows of another library on the GPU, in order with the work on its stream.
    /// The batch keeps `owner`, which has the memory.
    #[staticmethod]
    fn from_device_pointer(
        py: Python<'_>,
        device: &Device,
        bits: usize,
        rows: usize,
        address: u64,
        stream: Option<usize>,
        owner: Py<PyAny>,
    ) -> PyResult<Self> {
        let device = &device.device;
        detached(py, || over_pointer(device, device.shape_for(bits)?, rows, address, stream, owner))
            .map(Self)
    }

    /// Returns the address of the rows on the GPU.
    fn device_pointer(&self, py: Python<'_>) -> PyResult<u64> {
        detached(py, || self.0.device_ptr())
    }

    /// Returns the values in rows of the narrowest width that holds `bits` bits.
    fn resized(&self, py: Python<'_>, bits: usize) -> PyResult<Self> {
        let device = self.0.device();
        // The width of an operand that lives on the device with `jit` is not rounded: the error for
        // a device without it then has the remedy.
        let exact = device.narrowest(bits).filter(|shape| shape.bits == bits);
        let shape = || exact.map_or_else(|| device.with_jit().shape_for(bits), Ok);
        detached(py, || self.0.resized(shape()?)).map(Self)
    }

    /// Returns the rows from `start` to `stop - 1`.
    fn slice(&self, py: Python<'_>, start: usize, stop: usize) -> PyResult<Self> {
        detached(py, || self.0.slice(start..stop)).map(Self)
    }

    /// Returns the rows of these numbers, of which negative ones count from the end.
    fn gather(&self, py: Python<'_>, rows: RowNumbers) -> PyResult<Self> {
        let rows = rows.among(py, self.0.len())?;
        detached(py, || self.0.gather(&rows)).map(Self)
    }

    /// Returns a copy in which the rows of these numbers, of which negative ones count from the
    /// end, are those of `values`.
    fn scatter(
        &self,
        py: Python<'_>,
        rows: RowNumbers,
        values: &Bound<'_, Self>,
    ) -> PyResult<Self> {
        let rows = rows.among(py, self.0.len())?;
        let values = &values.get().0;
        detached(py, || {
            let mut out = self.0.try_clone()?;
            values.scatter_into(&rows, &mut out)?;
            Ok(out)
        })
        .map(Self)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[getter]
    fn bits(&self) -> usize {
        self.0.shape().bits
    }

    #[getter]
    fn digit_bits(&self) -> usize {
        self.0.shape().digit.bits()
    }
}

type Pair = (DynBatch, DynBatch);
type Masked = (DynBatch, gpuint::Mask);

methods! {
    Batch;

    fn wrapping_add(rhs: &Batch) -> DynBatch;
    fn wrapping_sub(rhs: &Batch) -> DynBatch;
    fn wrapping_mul(rhs: &Batch) -> DynBatch;
    fn wrapping_square() -> DynBatch;
    fn cyclic_mul(rhs: &Batch) -> DynBatch;
    fn wrapping_add_all(value: Number) -> DynBatch;
    fn wrapping_sub_all(value: Number) -> DynBatch;
    fn wrapping_mul_all(value: Number) -> DynBatch;
    fn wrapping_sum() -> BigUint;
    fn wrapping_dot(rhs: &Batch) -> BigUint;
    fn wrapping_polynomial(coefficients: Numbers) -> DynBatch;
    fn mul_add(factor: &Batch, summand: &Batch) -> DynBatch;
    fn mul_sub(factor: &Batch, subtrahend: &Batch) -> DynBatch;
    fn negacyclic_mul(rhs: &Batch) -> Masked;
    fn overflowing_add(rhs: &Batch) -> Masked;
    fn overflowing_sub(rhs: &Batch) -> Masked;
    fn mul_lo_hi(rhs: &Batch) -> Pair;
    fn wrapping_mul_by(factor: &Factor) -> DynBatch;
    fn mul_lo_hi_by(factor: &Factor) -> Pair;
    fn cyclic_mul_by(factor: &Factor) -> DynBatch;
    fn widening_mul(rhs: &Batch) -> DynBatch;

    fn div(rhs: &Batch) -> DynBatch;
    fn rem(rhs: &Batch) -> DynBatch;
    fn div_rem(rhs: &Batch) -> Pair;
    fn div_rem_masked(rhs: &Batch) -> (DynBatch, DynBatch, gpuint::Mask);
    fn div_rem_digit(divisor: u64) -> (DynBatch, Vec<u64>);
    fn rem_digit(divisor: u64) -> Vec<u64>;
    fn div_exact(rhs: &Batch) -> DynBatch;
    fn div_exact_masked(rhs: &Batch) -> Masked;
    fn inverse_mod_pow2() -> Masked;
    fn prepare() -> DynDivisor;
    fn div_by(divisor: &Divisor) -> DynBatch;
    fn rem_by(divisor: &Divisor) -> DynBatch;
    fn div_rem_by(divisor: &Divisor) -> Pair;
    fn shifted_inverse(h: usize) -> DynBatch;

    fn add_mod(rhs: &Batch, divisor: &Divisor) -> DynBatch;
    fn sub_mod(rhs: &Batch, divisor: &Divisor) -> DynBatch;
    fn neg_mod(divisor: &Divisor) -> DynBatch;
    fn mul_mod(rhs: &Batch, divisor: &Divisor) -> DynBatch;
    fn square_mod(divisor: &Divisor) -> DynBatch;
    fn square_mod_repeatedly(count: usize, divisor: &Divisor) -> DynBatch;
    fn pow_mod(exponents: &Batch, divisor: &Divisor) -> DynBatch;
    fn pow_mod_rows(exponents: Numbers, divisor: &Divisor) -> DynBatch;
    fn pow_mod_all(exponent: Number, divisor: &Divisor) -> DynBatch;
    fn pow_product_mod(exponents: &Batch, bases: usize, divisor: &Divisor) -> DynBatch;
    fn pow_product_mod_rows(exponents: Numbers, bases: usize, divisor: &Divisor) -> DynBatch;
    fn gcd(rhs: &Batch) -> DynBatch;
    fn xgcd(rhs: &Batch) -> (DynBatch, DynBatch, DynBatch, gpuint::Mask);
    fn xgcd_signed(rhs: &Batch) -> (DynBatch, DynSignedBatch, DynSignedBatch);
    fn overflowing_lcm(rhs: &Batch) -> Masked;
    fn inverse_mod(moduli: &Batch) -> Masked;
    fn inverse_mod_all(modulus: Number) -> Masked;
    fn rational_reconstruction(
        moduli: &Batch,
        numerators: &Batch,
        denominators: &Batch
    ) -> (DynBatch, DynBatch, gpuint::Mask, gpuint::Mask);
    fn batch_gcd() -> DynBatch;
    fn batch_gcd_against(numbers: Numbers) -> DynBatch;
    fn isqrt() -> DynBatch;
    fn isqrt_rem() -> Pair;
    fn is_square() -> gpuint::Mask;
    fn wrapping_pow(exponent: usize) -> DynBatch;
    fn overflowing_pow(exponent: usize) -> Masked;
    fn nth_root(n: usize) -> DynBatch;
    fn nth_root_rem(n: usize) -> Pair;
    fn perfect_powers() -> (DynBatch, Vec<u64>);
    fn is_perfect_power() -> gpuint::Mask;
    fn jacobi(moduli: &Batch) -> Vec<i8>;
    fn is_strong_probable_prime(base: Number) -> gpuint::Mask;
    fn is_strong_probable_prime_rows(bases: &Batch) -> gpuint::Mask;
    fn is_strong_probable_prime_bases(bases: Numbers) -> gpuint::Mask;
    fn is_strong_lucas_probable_prime() -> gpuint::Mask;
    fn is_extra_strong_lucas_probable_prime() -> gpuint::Mask;
    fn is_probable_prime() -> gpuint::Mask;
    fn has_small_factor(limit: usize) -> gpuint::Mask;
    fn next_prime() -> Masked;
    fn fermat_residues(base: Number) -> (DynBatch, Vec<u64>);

    #[pyo3(name = "and_")]
    fn and(rhs: &Batch) -> DynBatch;
    #[pyo3(name = "or_")]
    fn or(rhs: &Batch) -> DynBatch;
    fn xor(rhs: &Batch) -> DynBatch;
    #[pyo3(name = "not_")]
    fn not() -> DynBatch;
    fn and_all(value: Number) -> DynBatch;
    fn or_all(value: Number) -> DynBatch;
    fn xor_all(value: Number) -> DynBatch;
    fn low_bits(bits: usize) -> DynBatch;
    fn with_bit(bit: usize) -> DynBatch;
    fn without_bit(bit: usize) -> DynBatch;
    fn bit_mask(bit: usize) -> gpuint::Mask;
    fn bit_lengths() -> Vec<u64>;
    fn count_ones() -> Vec<u64>;
    fn trailing_zeros() -> Vec<u64>;
    fn leading_zeros() -> Vec<u64>;
    fn is_zero_mask() -> gpuint::Mask;
    fn shl(bits: usize) -> DynBatch;
    fn shr(bits: usize) -> DynBatch;
    fn shl_rows(bits: Distances) -> DynBatch;
    fn shr_rows(bits: Distances) -> DynBatch;
    fn rotate_left_rows(bits: Distances) -> DynBatch;
    fn rotate_left(bits: usize) -> DynBatch;

    fn cmp(rhs: &Batch) -> Vec<Ordering>;
    fn cmp_all(value: Number) -> Vec<Ordering>;
    fn eq_mask(rhs: &Batch) -> gpuint::Mask;
    fn lt_mask(rhs: &Batch) -> gpuint::Mask;
    fn eq_mask_all(value: Number) -> gpuint::Mask;
    fn lt_mask_all(value: Number) -> gpuint::Mask;
    fn is_equal(other: &Batch) -> bool;

    fn row(row: usize) -> BigUint;
    fn select(mask: &Mask, other: &Batch) -> DynBatch;
    fn swap(mask: &Mask, other: &Batch) -> Pair;
    fn sort() -> DynBatch;
    fn sort_indices() -> Vec<usize>;
    fn unique() -> DynBatch;
    fn join(high: &Batch) -> DynBatch;
    fn split() -> Pair;
}
