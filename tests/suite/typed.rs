//! Types with a shape return what the same types without one return.

use gpuint::num_bigint::{BigInt, BigUint};
use gpuint::{
    Batch, Crt, Device, DynBatch, FixedBase, GpuUint, Modulus, ProductTree, Residues, Result,
    SignedBatch, Widen,
};
use gpuint_testkit::operands::{SUMS, rows};

fn check<T: Widen>() -> Result<()> {
    let device = &Device::cpu();
    let values: Vec<BigUint> =
        rows(1, SUMS, T::SHAPE.into(), 0..40).into_iter().map(|row| row.a).collect();
    let a = Batch::<T>::from_biguints(device, &values)?;
    let (decimal, hex) = (a.to_decimal()?, a.to_hex()?);
    let [decimal, hex] = [&decimal, &hex].map(|rows| rows.iter().map(String::as_str));
    for same in [
        Batch::from_digits(device, &a.to_digits()?)?,
        Batch::from_le_bytes(device, &a.to_le_bytes()?)?,
        Batch::from_be_bytes(device, &a.to_be_bytes()?)?,
        Batch::from_decimal(device, &decimal.collect::<Vec<_>>())?,
        Batch::from_hex(device, &hex.collect::<Vec<_>>())?,
        a.widen::<T::Wide>()?.narrow::<T>()?,
        a.join::<T::Wide>(&a.not()?)?.split::<T>()?.0,
        Batch::concat(&[&a.slice(0..7)?, &a.slice(7..40)?])?,
    ] {
        assert_eq!(same.to_biguints()?, values);
    }
    assert_eq!(a.row(39)?, values[39]);
    assert!(Batch::<T>::zeros(device, 3)?.is_zero_mask()?.to_bools()?.into_iter().all(|is| is));

    let (b, same) = (a.or_all(1)?, |typed: &Batch<T>, untyped: &DynBatch| {
        assert_eq!(typed.to_biguints(), untyped.to_biguints());
    });
    let (q, r) = a.div_rem_wide::<T::Wide>(&a.not()?, &b)?;
    let untyped = a.as_dyn().div_rem_wide(a.not()?.as_dyn(), b.as_dyn())?;
    assert_eq!(q.to_biguints()?, untyped.0.to_biguints()?);
    same(&r, &untyped.1);
    let pairs = [(&a, &b), (&b, &b)];
    let untyped = pairs.map(|(a, b)| (a.as_dyn(), b.as_dyn()));
    same(&Batch::wrapping_sum_of_products(&pairs)?, &DynBatch::wrapping_sum_of_products(&untyped)?);
    let (sum, overflow) = Batch::widening_sum_of_products::<T::Wide>(&pairs)?;
    let (untyped, expected) = DynBatch::widening_sum_of_products(&untyped)?;
    assert_eq!(sum.to_biguints()?, untyped.to_biguints()?);
    assert_eq!(overflow.to_bools()?, expected.to_bools()?);

    for modulus in [Modulus::new(&b)?, Modulus::splat(device, 1_000_003)?] {
        let square = Residues::new(&a, &modulus)?.square()?.to_batch()?;
        let divisors = modulus.as_dyn().divisor();
        same(&square, &a.as_dyn().square_mod(divisors)?);
    }
    let [base, modulus] = [3u32, 1009].map(BigUint::from);
    let fixed = FixedBase::<T>::new(device, &base, &modulus, T::BITS)?;
    same(&fixed.pow(&a)?, &fixed.as_dyn().pow(a.as_dyn())?);
    let leaves = b.slice(0..2)?;
    let tree = ProductTree::new(&leaves)?;
    same(&tree.remainders(&values[0])?, &tree.as_dyn().remainders(&values[0])?);
    assert_eq!(tree.root(), tree.as_dyn().root());
    let primes = Batch::<T>::from_biguints(device, [1009u32, 1013].map(BigUint::from))?;
    let crt = Crt::new(&primes)?;
    let numbers = crt.combine(&crt.residues(a.as_dyn())?)?.to_biguints()?;
    assert_eq!(numbers, values.iter().map(|a| a % (1009u32 * 1013)).collect::<Vec<_>>());

    let integers: Vec<_> = values.iter().map(|a| -BigInt::from(a.clone())).collect();
    let signed = SignedBatch::<T>::from_bigints(device, &integers)?;
    assert_eq!(signed.to_bigints()?, integers);
    let square = signed.widening_mul::<T::Wide>(&signed)?.to_bigints()?;
    assert_eq!(square, integers.iter().map(|a| a * a).collect::<Vec<_>>());
    let (magnitude, negative) = signed.into_parts();
    same(&magnitude, a.as_dyn());
    assert_eq!(SignedBatch::from_parts(magnitude, &negative)?.to_bigints()?, integers);
    Ok(())
}

#[test]
fn typed_and_untyped_results_are_equal() {
    check::<GpuUint<1024, 4, u64>>().unwrap();
    check::<GpuUint<1024, 4, u32>>().unwrap();
    check::<GpuUint<1024, 2, u16>>().unwrap();
    check::<GpuUint<2048, 4, u64>>().unwrap();
}
