//! Signed batches of parts and of integers.

use gpuint::num_bigint::BigInt;
use gpuint::{Device, DynBatch, DynSignedBatch, Error, Mask, shapes};
use num_traits::{One, Zero};

#[test]
fn parts_that_do_not_match_are_rejected() {
    let device = Device::cpu();
    let shape = shapes()[0];
    let zeros = |rows| DynBatch::zeros(&device, shape, rows).unwrap();
    let minus = Mask::from_bools(&device, &[true, true]).unwrap();
    let error = DynSignedBatch::from_parts(zeros(3), &minus).err();
    assert_eq!(error, Some(Error::LengthMismatch { left: 3, right: 2 }));
    let none = DynSignedBatch::from_parts(zeros(2), &minus).unwrap();
    assert!(!none.negative().any().unwrap());
    assert_eq!(none.row(2).err(), Some(Error::NoSuchRow { row: 2, rows: 2 }));
    let one = DynSignedBatch::from_bigints(&device, shape, &[-BigInt::one()]).unwrap();
    let error = Some(Error::LengthMismatch { left: 2, right: 1 });
    assert_eq!(none.overflowing_add(&one).err(), error);
    assert_eq!(none.cmp(&one).err(), error);
    let wide = [BigInt::zero(), -(BigInt::one() << shape.bits)];
    let error = DynSignedBatch::from_bigints(&device, shape, &wide).err();
    let bits = shape.bits as u64 + 1;
    assert_eq!(error, Some(Error::TooWide { row: 1, bits, width: shape.bits }));
    assert!(DynSignedBatch::from_bigints(&device, shape, &[]).unwrap().is_empty());
    let long: BigInt = BigInt::one() << 200;
    let values = [long.clone(), BigInt::zero(), -long, -BigInt::one()];
    let batch = DynSignedBatch::from_bigints(&device, shape, &values).unwrap();
    assert_eq!(batch.to_bigints().unwrap(), values);
    assert_eq!(batch.row(2).as_ref(), Ok(&values[2]));
}
