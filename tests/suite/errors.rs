//! Bad input returns the matching error before anything runs.

use gpuint::num_bigint::BigUint;
use gpuint::{
    Algorithm, Batch, Device, DynBatch, Error, JitUint, Kernels, Mask, Op, Product, Shape,
    Strategy, is_offered, narrowest, shapes,
};
use num_traits::One;

use crate::setting::{Check, Context, Setting, Tally, doubled, on_every_backend};

struct TooLarge;

impl Check for TooLarge {
    const NAME: &str = "batches that no memory holds";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        for device in setting.devices() {
            let what = Context::new(shape, "a batch that no memory holds", device);
            // More than an address space, and more than 2^64 bytes.
            for rows in [(1usize << 50).div_ceil(shape.bits / 8), usize::MAX / 8, usize::MAX] {
                for error in [
                    DynBatch::zeros(device, shape, rows).err(),
                    DynBatch::splat(device, shape, &BigUint::one(), rows).err(),
                ] {
                    let right =
                        matches!(error, Some(Error::OutOfMemory { bytes }) if bytes >= 1 << 50);
                    tally.row(right, || format!("{what}: {rows} rows: {error:?}"));
                }
            }
            let error = Mask::none(device, usize::MAX).err();
            let right = matches!(error, Some(Error::OutOfMemory { .. }));
            tally.row(right, || format!("{what}: a mask: {error:?}"));
        }
    }
}

struct NotOffered;

impl Check for NotOffered {
    const NAME: &str = "what a shape does not have";

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let device = &setting.devices()[0];
        let what = Context::new(shape, "what a shape does not have", device);
        tally.attempt(&what, 1, |tally| {
            let a = DynBatch::splat(device, shape, &BigUint::from(3u32), 2)?;
            let product = a.wrapping_mul(&a)?;
            let right = product.row(1)? == BigUint::from(9u32);
            tally.row(right, || format!("{what}: a product by default"));
            if is_offered(Op::MulLo, Algorithm::By(Product::Classical), shape) {
                return Ok(());
            }
            let by = |product| a.using(Strategy::Product(product));
            let inverse = Strategy::ShiftedInverse(Some(Product::Classical));
            for (call, error, offered) in [
                ("wrapping_mul", by(Product::Classical).wrapping_mul(&a).err(), "ntt"),
                ("wrapping_square", by(Product::Karatsuba).wrapping_square().err(), "ntt"),
                ("mul_lo_hi", by(Product::TensorCore).mul_lo_hi(&a).err(), "ntt"),
                ("wrapping_mul", by(Product::Fft).wrapping_mul(&a).err(), "ntt"),
                ("div_rem", a.using(inverse).div_rem(&a).err(), "blocked_fft"),
            ] {
                // The message names another algorithm.
                let right = matches!(&error, Some(Error::KernelMissing { remedy, .. })
                    if remedy.contains(&format!("offered by {offered}")));
                tally.row(right, || format!("{what}: {call}: {error:?}"));
            }
            // These widths are divided by transforms only.
            let right = a.div_rem(&a)?.0.row(1)? == BigUint::one();
            tally.row(right, || format!("{what}: a division by default"));
            // Without a kernel: the CPU computes them.
            let all = |value: u32| DynBatch::splat(device, shape, &BigUint::from(value), 2);
            let right = a.jacobi(&all(5)?)? == [-1, -1];
            tally.row(right, || format!("{what}: 3 is no square modulo 5"));
            let (n, d, _, without) =
                all(41)?.rational_reconstruction(&all(101)?, &all(3)?, &all(5)?)?;
            let right = n.is_equal(&all(3)?)? && d.is_equal(&all(5)?)? && !without.any()?;
            tally.row(right, || format!("{what}: 3 / 5 is 41 modulo 101"));
            Ok(())
        });
    }
}

on_every_backend! { too_large: TooLarge, not_offered: NotOffered, }

fn check_jit<T: Kernels>() {
    let shape = T::SHAPE;
    for device in [Device::cpu(), Device::simt()] {
        let jit = device.with_jit();
        assert_eq!(device, jit);
        assert_eq!(DynBatch::zeros(&device, shape, 1).err(), Some(Error::ShapeMissing { shape }));
        assert_eq!(DynBatch::zeros(&jit, shape, 1).err(), None);
        assert_eq!(Batch::<T>::zeros(&device, 1).err(), None);
        // A built shape by this type has the built kernels.
        let seven = Batch::<JitUint<1024>>::splat(&device, 7, 2).unwrap();
        assert_eq!(seven.wrapping_square().unwrap().row(1).unwrap(), BigUint::from(49u32));
        assert_eq!(seven.narrow::<T>().err(), None);
    }
}

#[test]
fn shape_that_is_not_built_needs_with_jit() {
    // GPUINT_SHAPES may build the others.
    let checks: [(Shape, fn()); 3] = [
        (JitUint::<1280>::SHAPE, check_jit::<JitUint<1280>>),
        (JitUint::<1792>::SHAPE, check_jit::<JitUint<1792>>),
        (JitUint::<1472, 1>::SHAPE, check_jit::<JitUint<1472, 1>>),
    ];
    let (_, check) = checks
        .into_iter()
        .find(|(shape, _)| !shapes().contains(shape))
        .expect("a shape that is not built");
    check();
}

#[test]
fn mismatched_results_of_other_shapes_are_rejected() {
    let device = Device::cpu();
    for shape in [256, 8192].map(|bits| narrowest(bits).unwrap()) {
        let wide = doubled(shape).unwrap();
        let zeros = |shape, rows| DynBatch::zeros(&device, shape, rows).unwrap();
        let a = zeros(shape, 3);
        for right in [0, 2, 4] {
            let (b, mut out, mut words) =
                (zeros(shape, right), zeros(shape, right), vec![1; right]);
            for error in [
                a.widening_mul(&b).err(),
                a.widening_mul_into(&a, &mut zeros(wide, right)).err(),
                a.div_rem_wide(&a, &b).err(),
                a.div_rem_digit_into(2, &mut out, &mut [1; 3]).err(),
                a.div_rem_digit_into(2, &mut zeros(shape, 3), &mut words).err(),
            ] {
                assert_eq!(error, Some(Error::LengthMismatch { left: 3, right }));
            }
        }
    }
}

#[test]
fn wide_values_for_all_rows_are_rejected() {
    let device = Device::cpu();
    for &shape in shapes() {
        let a = DynBatch::splat(&device, shape, 1, 2).unwrap();
        let (wide, width) = (BigUint::one() << shape.bits, shape.bits);
        let too_wide = |row| Some(Error::TooWide { row, bits: width as u64 + 1, width });
        assert_eq!(a.cmp_all(&wide).err(), too_wide(0));
        assert_eq!(a.and_all(&wide).err(), too_wide(0));
        assert_eq!(a.wrapping_polynomial(&[BigUint::ZERO, wide]).err(), too_wide(1));
        let error = Some(Error::LengthMismatch { left: 2, right: 1 });
        assert_eq!(a.shl_rows(&[1]).err(), error);
    }
}

#[test]
fn sums_of_products_of_mismatched_batches_are_rejected() {
    let device = Device::cpu();
    let shape = shapes()[0];
    let none = Some(Error::LengthMismatch { left: 0, right: 1 });
    assert_eq!(DynBatch::wrapping_sum_of_products(&[]).err(), none);
    assert_eq!(DynBatch::widening_sum_of_products(&[]).err(), none);
    let [two, three] = [2, 3].map(|rows| DynBatch::zeros(&device, shape, rows).unwrap());
    let error = Some(Error::LengthMismatch { left: 2, right: 3 });
    let pairs = [(&two, &two), (&two, &three)];
    assert_eq!(DynBatch::wrapping_sum_of_products(&pairs).err(), error);
    assert_eq!(DynBatch::widening_sum_of_products(&pairs).err(), error);
    let other = DynBatch::zeros(&device, narrowest(shape.bits + 1).unwrap(), 2).unwrap();
    let error = Some(Error::ShapeMismatch { left: shape, right: other.shape() });
    assert_eq!(DynBatch::wrapping_sum_of_products(&[(&two, &other)]).err(), error);
    assert_eq!(two.mul_sub(&two, &other).err(), error);
}

#[test]
fn operators_panic_with_the_error() {
    type U1024 = gpuint::GpuUint<1024>;
    let device = Device::cpu();
    let a = Batch::<U1024>::zeros(&device, 2).unwrap();
    let b = Batch::<U1024>::zeros(&device, 3).unwrap();
    let message = |call: fn(&Batch<U1024>, &Batch<U1024>) -> Batch<U1024>, b: &Batch<U1024>| {
        let call = std::panic::AssertUnwindSafe(|| call(&a, b));
        let panic = std::panic::catch_unwind(call).expect_err("the operands do not go together");
        panic.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    let lengths = Error::LengthMismatch { left: 2, right: 3 }.to_string();
    assert!(message(|a, b| a + b, &b).ends_with(&lengths));
    assert!(message(|a, b| a - b, &b).ends_with(&lengths));
    assert!(message(|a, b| a * b, &b).ends_with(&lengths));
    let zero = Error::DivisionByZero { row: 0 }.to_string();
    assert!(message(|a, b| a / b, &a).ends_with(&zero));
    assert!(message(|a, b| a % b, &a).ends_with(&zero));
}
