//! Conversions from and to other crates, and strategies of proptest: the features `arrow`,
//! `crypto-bigint`, `malachite`, `proptest`, `rug` and `ruint`.

use std::fmt::Debug;

use arrow_array::{Array, FixedSizeBinaryArray};
use gpuint::num_bigint::BigUint;
use gpuint::{
    Batch, Device, DynBatch, Error, GpuUint, Integer, JitUint, Kernels, arbitrary, narrowest,
};
use malachite_base::num::basic::traits::One as _;
use malachite_nz::natural::Natural;
use num_traits::One;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// Values of all lengths up to `bits` bits.
fn values(bits: usize) -> Vec<BigUint> {
    let ones = (BigUint::one() << bits) - 1u32;
    let lengths = [0, 1, 8, 63, 64, 65, 127, 128, bits / 2, bits - 1, bits];
    let mut values: Vec<_> = lengths.map(|length| &ones >> (bits - length)).into();
    values.extend(lengths.map(|length| (&ones / 3u32) >> (bits - length)));
    values
}

/// Reads values of a type back, into rows of several widths, and as decimal text.
fn round_trip<N: Integer + PartialEq + Debug>(bits: usize, parse: impl Fn(&str) -> N) {
    let device = Device::cpu();
    let expected = values(bits);
    let numbers: Vec<N> = expected.iter().map(|value| parse(&value.to_string())).collect();
    for shape in [bits, bits + 300, 4096].map(|bits| narrowest(bits).unwrap()) {
        let batch = DynBatch::from_integers(&device, shape, &numbers).unwrap();
        assert_eq!(batch.to_biguints().unwrap(), expected, "{shape}");
        assert_eq!(batch.to_integers::<N>().unwrap(), numbers, "{shape}");
    }
    assert!(
        DynBatch::from_integers::<N>(&device, narrowest(bits).unwrap(), &[]).unwrap().is_empty()
    );
    // Rows of 16-bit digits that are not whole limbs.
    let odd = Batch::<JitUint<1040, 5, u16>>::from_integers(&device, &numbers).unwrap();
    assert_eq!(odd.to_integers::<N>().unwrap(), numbers);

    // The lowest of the rows that do not fit, on both sides.
    let Some(width) = N::BITS else { return };
    let mut wide = expected.clone();
    wide.extend([BigUint::one() << width, BigUint::one() << 2000]);
    let batch = Batch::<GpuUint<4096>>::from_biguints(&device, &wide).unwrap();
    let error = batch.to_integers::<N>().unwrap_err();
    assert_eq!(error, Error::TooWide { row: expected.len(), bits: width as u64 + 1, width });
}

#[test]
fn integers_of_crypto_bigint_are_read_back() {
    use crypto_bigint::{U256, U1024, Uint};
    fn parse<const LIMBS: usize>(text: &str) -> Uint<LIMBS> {
        Uint::from_str_radix_vartime(text, 10).unwrap()
    }
    round_trip::<U256>(256, parse);
    round_trip::<U1024>(1024, parse);
    round_trip::<Uint<3>>(192, parse);
    let wide = [U1024::ONE, U1024::MAX];
    let error = Batch::<GpuUint<256>>::from_integers(&Device::cpu(), &wide).unwrap_err();
    assert_eq!(error, Error::TooWide { row: 1, bits: 1024, width: 256 });
}

#[test]
fn integers_of_ruint_are_read_back() {
    use ruint::Uint;
    round_trip::<Uint<256, 4>>(256, |text| text.parse().unwrap());
    round_trip::<Uint<521, 9>>(521, |text| text.parse().unwrap());
    // Values of fewer bits than the type.
    round_trip::<Uint<1000, 16>>(1000, |text| text.parse().unwrap());
}

#[test]
fn integers_of_rug_are_read_back() {
    round_trip::<rug::Integer>(1024, |text| text.parse().unwrap());
    let values = [rug::Integer::from(1) << 256, rug::Integer::from(-5)];
    let read = |values: &[_]| Batch::<GpuUint<256>>::from_integers(&Device::cpu(), values);
    let error = read(&values).unwrap_err();
    assert_eq!(error, Error::TooWide { row: 0, bits: 257, width: 256 });
    let values = [rug::Integer::from(5), -values[0].clone(), rug::Integer::from(-1)];
    assert_eq!(read(&values).unwrap_err(), Error::Negative { row: 1 });
}

#[test]
fn integers_of_malachite_are_read_back() {
    round_trip::<Natural>(1024, |text| text.parse().unwrap());
    let wide = [Natural::ONE, Natural::ONE << 256u64];
    let error = Batch::<GpuUint<256>>::from_integers(&Device::cpu(), &wide).unwrap_err();
    assert_eq!(error, Error::TooWide { row: 1, bits: 257, width: 256 });
}

#[test]
fn integers_of_num_bigint_are_read_back() {
    round_trip::<BigUint>(1024, |text| text.parse().unwrap());
}

/// Longer than a part of a copy, and than the work of one thread.
#[test]
fn many_integers_are_read_back_in_order() {
    let numbers: Vec<_> = (0..100_000u32).map(ruint::Uint::<256, 4>::from).collect();
    let batch = Batch::<GpuUint<512>>::from_integers(&Device::cpu(), &numbers).unwrap();
    assert_eq!(batch.to_integers::<ruint::Uint<256, 4>>().unwrap(), numbers);
    let mut wide: Vec<_> = numbers.into_iter().map(ruint::Uint::<1024, 16>::from).collect();
    for row in [70_003, 99_999] {
        wide[row] = ruint::Uint::MAX;
    }
    let error = Batch::<GpuUint<512>>::from_integers(&Device::cpu(), &wide).unwrap_err();
    assert_eq!(error, Error::TooWide { row: 70_003, bits: 1024, width: 512 });
}

#[test]
fn arrow_arrays_are_read_back() {
    let device = Device::cpu();
    let expected = values(1024);
    let batch = Batch::<GpuUint<1024>>::from_biguints(&device, &expected).unwrap();
    let array = batch.to_arrow().unwrap();
    assert_eq!((array.len(), array.value_length(), array.null_count()), (expected.len(), 128, 0));
    for (row, value) in expected.iter().enumerate() {
        assert_eq!(BigUint::from_bytes_le(array.value(row)), *value);
    }
    let read = |array: &FixedSizeBinaryArray| Batch::<GpuUint<1024>>::from_arrow(&device, array);
    assert_eq!(read(&array).unwrap().to_biguints().unwrap(), expected);
    let part = array.slice(3, 5);
    assert_eq!(read(&part).unwrap().to_biguints().unwrap(), expected[3..8]);
    assert!(read(&array.slice(0, 0)).unwrap().is_empty());

    let narrow = Batch::<GpuUint<256>>::from_arrow(&device, &array).unwrap_err();
    assert_eq!(narrow, Error::PartialRow { len: 128, row: 32 });
    let bytes = [7; 128];
    let with_nulls = [Some(&bytes[..]), Some(&bytes[..]), None, None];
    let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(with_nulls.into_iter(), 128);
    let error = read(&array.unwrap()).unwrap_err();
    assert_eq!(error, Error::NullRow { row: 2 });
    assert_eq!(error.to_string(), "row 2 is null");
}

#[test]
fn strategies_reach_the_ends_of_the_range() {
    let mut runner = TestRunner::deterministic();
    let bits = 256;
    let modulus = BigUint::one() << bits;
    let ones = &modulus - 1u32;
    let drawn: Vec<BigUint> = (0..3000)
        .map(|_| arbitrary::integers(bits).new_tree(&mut runner).unwrap().current())
        .collect();
    assert!(drawn.iter().all(|value| *value < modulus));
    assert!(drawn.contains(&BigUint::ZERO) && drawn.contains(&BigUint::one()));
    assert!(drawn.contains(&ones));
    let full = drawn.iter().filter(|value| value.bits() == 256).count();
    assert!((300..2400).contains(&full), "{full}");
    let has_long_run = |value: &&BigUint| value.trailing_ones() > 64;
    assert!(drawn.iter().filter(has_long_run).count() > 30);
}

#[test]
fn failing_batch_shrinks_to_a_small_one() {
    let device = Device::cpu();
    let strategy = arbitrary::batches::<GpuUint<1024>, _>(&device, 0..40);
    let result = TestRunner::deterministic().run(&strategy, |batch| {
        prop_assert!(batch.to_biguints().unwrap().iter().all(|value| value.bits() < 100));
        Ok(())
    });
    let Err(proptest::test_runner::TestError::Fail(_, batch)) = result else {
        panic!("{result:?}")
    };
    assert_eq!(batch.len(), 1);
    assert!(batch.row(0).unwrap().bits() < 200, "{batch:?}");
}

#[test]
fn batches_have_the_rows_that_were_asked_for() {
    let mut runner = TestRunner::deterministic();
    let jit = arbitrary::batches::<JitUint<1280>, _>(&Device::cpu(), 7);
    let batch = jit.new_tree(&mut runner).unwrap().current();
    assert_eq!((batch.len(), batch.as_dyn().shape()), (7, JitUint::<1280>::SHAPE));
    let missing = arbitrary::dyn_batches(&Device::cpu(), JitUint::<1280>::SHAPE, 1..3);
    assert!(missing.new_tree(&mut runner).is_err());
}
