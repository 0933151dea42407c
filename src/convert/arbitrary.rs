//! Strategies of `proptest`: integers and batches for property tests.
//!
//! Uniform integers hardly ever reach the hard paths of multi-precision arithmetic. A third of the
//! integers here are uniform, with uniform lengths; the others have long runs of equal bits, or
//! are neighbours of powers of two. All shrink to shorter and simpler integers.
//!
//! ```
//! use gpuint::{Device, GpuUint, arbitrary};
//! use proptest::prelude::*;
//!
//! let device = Device::cpu();
//! let rows = || arbitrary::batches::<GpuUint<256>, _>(&device, 5);
//! proptest!(ProptestConfig::with_cases(20), |(a in rows(), b in rows())| {
//!     prop_assert!((&(&a + &b) - &b).is_equal(&a)?);
//! });
//! # Ok::<(), gpuint::Error>(())
//! ```

use gpuint_catalogue::Shape;
use num_bigint::BigUint;
use num_traits::One;
use proptest::collection::{SizeRange, vec};
use proptest::prelude::{Strategy, any, prop_oneof};

use crate::batch::Batch;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::shape::Kernels;

/// Longest run of equal bits, where runs are drawn.
const LONGEST_RUN: usize = 600;

/// Generates integers of at most `bits` bits.
pub fn integers(bits: usize) -> impl Strategy<Value = BigUint> {
    let modulus = BigUint::one() << bits;
    let below = move |value: BigUint| value % &modulus;
    let words = vec(any::<u32>(), 0..=bits.div_ceil(32)).prop_map(BigUint::new);
    let runs = vec(1..=LONGEST_RUN, 0..=bits.div_ceil(64)).prop_map(|runs| {
        runs.chunks(2).fold(BigUint::ZERO, |value, run| {
            let ones = (BigUint::one() << run[0]) - 1u32;
            let zeros = run.get(1).copied().unwrap_or(0);
            ((value << run[0]) | ones) << zeros
        })
    });
    let near_powers = (0..=bits, 0u32..=4).prop_map(|(exponent, offset)| {
        let value = (BigUint::one() << exponent) + offset;
        if value > BigUint::from(2u32) { value - 2u32 } else { value }
    });
    prop_oneof![words, runs, near_powers].prop_map(below)
}

/// Generates batches of a shape on a device: `batches::<T, _>(&device, rows)`, where `rows` is the
/// number of rows or a range.
///
/// A batch that cannot be made, because the device does not have the shape or no memory, is
/// rejected with the reason.
pub fn batches<T: Kernels, R: Into<SizeRange>>(
    device: &Device,
    rows: R,
) -> impl Strategy<Value = Batch<T>> + use<T, R> {
    dyn_batches(&device.of::<T>(), T::SHAPE, rows).prop_map(Batch::typed)
}

/// Generates batches with a run-time shape, as [`batches`].
pub fn dyn_batches<R: Into<SizeRange>>(
    device: &Device,
    shape: Shape,
    rows: R,
) -> impl Strategy<Value = DynBatch> + use<R> {
    let device = device.clone();
    vec(integers(shape.bits), rows)
        .prop_filter_map("the device cannot hold the batch", move |rows| {
            DynBatch::from_biguints(&device, shape, rows).ok()
        })
}
