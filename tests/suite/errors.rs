//! Bad input returns the matching error before anything runs.

use gpuint::num_bigint::BigUint;
use gpuint::{
    Algorithm, Batch, Device, DynBatch, DynDivisor, Error, JitUint, Kernels, Mask, Op, Product,
    Result, Shape, Strategy, is_offered, shapes,
};
use num_traits::One;

use crate::setting::{Check, Context, Setting, Tally, doubled, is_ordinary, on_every_backend};

/// Result of a call and the memory that it could have written.
type Outcome = (&'static str, Option<Error>);

/// Every call that takes a second batch, with an operand that does not match the first.
fn operands(a: &DynBatch, b: &DynBatch) -> Vec<Outcome> {
    let good = &DynDivisor::of_rows(a).expect("no row is zero");
    let divisor = &DynDivisor::of_rows(b).expect("no row is zero");
    vec![
        ("wrapping_add", a.wrapping_add(b).err()),
        ("overflowing_add", a.overflowing_add(b).err()),
        ("wrapping_sub", a.wrapping_sub(b).err()),
        ("overflowing_sub", a.overflowing_sub(b).err()),
        ("wrapping_mul", a.wrapping_mul(b).err()),
        ("cyclic_mul", a.cyclic_mul(b).err()),
        ("negacyclic_mul", a.negacyclic_mul(b).err()),
        ("mul_lo_hi", a.mul_lo_hi(b).err()),
        ("div_rem", a.div_rem(b).err()),
        ("div", a.div(b).err()),
        ("rem", a.rem(b).err()),
        ("div_rem_masked", a.div_rem_masked(b).err()),
        ("div_rem_by", a.div_rem_by(divisor).err()),
        ("div_by", a.div_by(divisor).err()),
        ("rem_by", a.rem_by(divisor).err()),
        ("mul_mod, divisor", a.mul_mod(a, divisor).err()),
        ("mul_mod, factor", a.mul_mod(b, good).err()),
        ("square_mod", a.square_mod(divisor).err()),
        ("add_mod, divisor", a.add_mod(a, divisor).err()),
        ("add_mod, summand", a.add_mod(b, good).err()),
        ("sub_mod, divisor", a.sub_mod(a, divisor).err()),
        ("sub_mod, subtrahend", a.sub_mod(b, good).err()),
        ("neg_mod", a.neg_mod(divisor).err()),
        ("pow_mod, divisor", a.pow_mod(a, divisor).err()),
        ("pow_mod, exponents", a.pow_mod(b, good).err()),
        ("pow_mod_all", a.pow_mod_all(&BigUint::one(), divisor).err()),
        ("pow_product_mod, divisor", a.pow_product_mod(a, 1, divisor).err()),
        ("pow_product_mod, exponents", a.pow_product_mod(b, 1, good).err()),
        ("cmp", a.cmp(b).err()),
        ("eq_mask", a.eq_mask(b).err()),
        ("lt_mask", a.lt_mask(b).err()),
        ("gcd", a.gcd(b).err()),
        ("div_exact", a.div_exact(b).err()),
        ("div_exact_masked", a.div_exact_masked(b).err()),
        ("inverse_mod", a.inverse_mod(b).err()),
        ("jacobi", a.jacobi(b).err()),
        ("overflowing_lcm", a.overflowing_lcm(b).err()),
        ("and", a.and(b).err()),
        ("or", a.or(b).err()),
        ("xor", a.xor(b).err()),
        ("wrapping_dot", a.wrapping_dot(b).err()),
        ("mul_add, factor", a.mul_add(b, a).err()),
        ("mul_add, summand", a.mul_add(a, b).err()),
    ]
}

/// Every call that writes to a batch or a mask, with an output that does not match the operands.
fn outputs(
    a: &DynBatch,
    good: &mut DynBatch,
    bad: &mut DynBatch,
    mask: &mut Mask,
    bad_mask: &mut Mask,
) -> Vec<Outcome> {
    let divisor = &DynDivisor::of_rows(a).expect("no row is zero");
    vec![
        ("wrapping_add_into", a.wrapping_add_into(a, bad).err()),
        ("overflowing_add_into", a.overflowing_add_into(a, bad, mask).err()),
        ("overflowing_add_into, mask", a.overflowing_add_into(a, good, bad_mask).err()),
        ("wrapping_sub_into", a.wrapping_sub_into(a, bad).err()),
        ("overflowing_sub_into", a.overflowing_sub_into(a, bad, mask).err()),
        ("overflowing_sub_into, mask", a.overflowing_sub_into(a, good, bad_mask).err()),
        ("wrapping_mul_into", a.wrapping_mul_into(a, bad).err()),
        ("wrapping_square_into", a.wrapping_square_into(bad).err()),
        ("cyclic_mul_into", a.cyclic_mul_into(a, bad).err()),
        ("mul_lo_hi_into, low", a.mul_lo_hi_into(a, bad, good).err()),
        ("mul_lo_hi_into, high", a.mul_lo_hi_into(a, good, bad).err()),
        ("div_rem_into, quotient", a.div_rem_into(a, bad, good).err()),
        ("div_rem_into, remainder", a.div_rem_into(a, good, bad).err()),
        ("div_into", a.div_into(a, bad).err()),
        ("rem_into", a.rem_into(a, bad).err()),
        ("div_rem_masked_into", a.div_rem_masked_into(a, bad, good, mask).err()),
        ("div_rem_masked_into, remainder", a.div_rem_masked_into(a, good, bad, mask).err()),
        ("div_exact_into", a.div_exact_into(a, bad).err()),
        ("div_exact_masked_into", a.div_exact_masked_into(a, bad, mask).err()),
        ("div_exact_masked_into, mask", a.div_exact_masked_into(a, good, bad_mask).err()),
        ("inverse_mod_pow2_into", a.inverse_mod_pow2_into(bad, mask).err()),
        ("inverse_mod_pow2_into, mask", a.inverse_mod_pow2_into(good, bad_mask).err()),
        ("div_rem_by_into, quotient", a.div_rem_by_into(divisor, bad, good).err()),
        ("div_rem_by_into, remainder", a.div_rem_by_into(divisor, good, bad).err()),
        ("div_by_into", a.div_by_into(divisor, bad).err()),
        ("rem_by_into", a.rem_by_into(divisor, bad).err()),
        ("mul_mod_into", a.mul_mod_into(a, divisor, bad).err()),
        ("square_mod_into", a.square_mod_into(divisor, bad).err()),
        ("add_mod_into", a.add_mod_into(a, divisor, bad).err()),
        ("sub_mod_into", a.sub_mod_into(a, divisor, bad).err()),
        ("neg_mod_into", a.neg_mod_into(divisor, bad).err()),
        ("pow_mod_into", a.pow_mod_into(a, divisor, bad).err()),
        ("pow_mod_all_into", a.pow_mod_all_into(&BigUint::one(), divisor, bad).err()),
        ("pow_product_mod_into", a.pow_product_mod_into(a, 1, divisor, bad).err()),
        ("div_rem_digit_into", {
            let mut remainders = vec![1; a.len()];
            a.div_rem_digit_into(1, bad, &mut remainders).err()
        }),
        ("div_rem_digit_words_into, quotient", {
            let mut remainders = a.rem_digit_words(1).expect("the divisor is not 0");
            a.div_rem_digit_words_into(1, bad, &mut remainders).err()
        }),
        ("div_rem_digit_words_into, remainders", {
            let mut remainders = bad.rem_digit_words(1).expect("the divisor is not 0");
            a.div_rem_digit_words_into(1, good, &mut remainders).err()
        }),
        ("rem_digit_words_into", {
            let mut remainders = bad.rem_digit_words(1).expect("the divisor is not 0");
            a.rem_digit_words_into(1, &mut remainders).err()
        }),
        ("shl_into", a.shl_into(1, bad).err()),
        ("shr_into", a.shr_into(1, bad).err()),
        ("shl_digits_into", a.shl_digits_into(1, bad).err()),
        ("shr_digits_into", a.shr_digits_into(1, bad).err()),
        ("shifted_inverse_into", a.shifted_inverse_into(1, bad).err()),
        ("eq_mask_into", a.eq_mask_into(a, bad_mask).err()),
        ("lt_mask_into", a.lt_mask_into(a, bad_mask).err()),
        ("is_zero_mask_into", a.is_zero_mask_into(bad_mask).err()),
        ("div_rem_masked_into, mask", {
            let mut other =
                DynBatch::zeros(a.device(), a.shape(), a.len()).expect("rows fit in memory");
            a.div_rem_masked_into(a, good, &mut other, bad_mask).err()
        }),
    ]
}

struct Mismatches;

impl Check for Mismatches {
    const NAME: &str = "mismatched operands";
    const WIDEST: bool = false;

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        // Digits, Q and schedules of the shim make no difference before a launch.
        if !setting.has_width_kernels(shape) {
            return;
        }
        let all = setting.devices();
        for device in if is_ordinary() { &all[..1] } else { all } {
            let what = Context::new(shape, "mismatched operands", device);
            tally.attempt(&what, 1, |tally| mismatches(shape, device, &what, tally));
        }
    }
}

fn mismatches(shape: Shape, device: &Device, what: &Context<'_>, tally: &mut Tally) -> Result<()> {
    let mut expect = |outcomes: Vec<Outcome>, expected: &Error| {
        for (call, error) in outcomes {
            tally.row(error.as_ref() == Some(expected), || {
                format!("{what}: {call}: {error:?}, expected {expected:?}")
            });
        }
    };
    let one = BigUint::one();
    let a = DynBatch::splat(device, shape, &one, 3)?;
    let mut good = DynBatch::splat(device, shape, &one, 3)?;
    let mut mask = Mask::none(device, 3)?;

    for rows in [0, 2, 4] {
        let mut other = DynBatch::splat(device, shape, &one, rows)?;
        let mut other_mask = Mask::none(device, rows)?;
        let error = Error::LengthMismatch { left: 3, right: rows };
        expect(operands(&a, &other), &error);
        expect(outputs(&a, &mut good, &mut other, &mut mask, &mut other_mask), &error);
        let mut order = vec![std::cmp::Ordering::Equal; rows];
        let mut lengths = vec![0; rows];
        expect(vec![("cmp_into", a.cmp_into(&a, &mut order).err())], &error);
        expect(vec![("bit_lengths_into", a.bit_lengths_into(&mut lengths).err())], &error);
        let (two, mut remainders) = (2, vec![1; rows]);
        expect(
            vec![("rem_digit_into", a.div_rem_digit_into(two, &mut good, &mut remainders).err())],
            &error,
        );
        let error_of_digits = a.div_rem_digit_into(two, &mut good, &mut remainders).err();
        expect(vec![("div_rem_digit_into, remainders", error_of_digits)], &error);
        expect(wide_mismatches(shape, device, rows)?, &error);
    }

    // A separate device, also if it is of the same kind.
    let elsewhere = Device::simt_with(gpuint::SimtOptions::default());
    if shapes().contains(&shape) {
        let mut other = DynBatch::splat(&elsewhere, shape, &one, 3)?;
        let mut other_mask = Mask::none(&elsewhere, 3)?;
        expect(operands(&a, &other), &Error::DeviceMismatch);
        let outcomes = outputs(&a, &mut good, &mut other, &mut mask, &mut other_mask);
        expect(outcomes, &Error::DeviceMismatch);
    }

    // The operands are unchanged.
    let untouched = a.to_biguints()? == vec![one; 3];
    tally.row(untouched, || format!("{what}: an operand has changed"));
    Ok(())
}

/// Widening products of operands and outputs that do not match.
fn wide_mismatches(shape: Shape, device: &Device, rows: usize) -> Result<Vec<Outcome>> {
    let a = DynBatch::zeros(device, shape, 3)?;
    let b = DynBatch::zeros(device, shape, rows)?;
    let Some(wide) = doubled(shape) else { return Ok(Vec::new()) };
    let mut out = DynBatch::zeros(device, wide, rows)?;
    Ok(vec![
        ("widening_mul", a.widening_mul(&b).err()),
        ("widening_mul_into", a.widening_mul_into(&a, &mut out).err()),
    ])
}

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
            for (call, error) in [
                (
                    "wrapping_mul_with",
                    a.using(Strategy::Product(Product::Classical)).wrapping_mul(&a).err(),
                ),
                (
                    "wrapping_square_with",
                    a.using(Strategy::Product(Product::Karatsuba)).wrapping_square().err(),
                ),
                (
                    "mul_lo_hi_with",
                    a.using(Strategy::Product(Product::TensorCore)).mul_lo_hi(&a).err(),
                ),
                (
                    "wrapping_mul_with",
                    a.using(Strategy::Product(Product::Fft)).wrapping_mul(&a).err(),
                ),
                (
                    "div_rem_with",
                    a.using(Strategy::ShiftedInverse(Some(Product::Classical))).div_rem(&a).err(),
                ),
            ] {
                let right = match &error {
                    // The message names another algorithm.
                    Some(Error::KernelMissing { remedy, .. }) => match call {
                        "div_rem_with" => remedy.contains("offered by blocked_fft"),
                        _ => remedy.contains("offered by ntt"),
                    },
                    _ => false,
                };
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

on_every_backend! { mismatches: Mismatches, too_large: TooLarge, not_offered: NotOffered, }

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
