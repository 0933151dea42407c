//! What goes into a batch comes out of it, by every way in and every way out.

use gpuint::num_bigint::BigUint;
use gpuint::{Batch, Device, Error, Kernels, Result};
use num_traits::{One, ToPrimitive};
use rand::SeedableRng;

use crate::setting::{Check, Context, Rows, Setting, Tally, first, on_every_backend, seed};
use gpuint_testkit::operands::{SUMS, power, rows};

const ROWS: Rows = Rows { threads: 20_000, least: 13 };

/// The bytes of values, each of so many, least significant first.
fn bytes(values: &[BigUint], row_bytes: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (row, value) in values.iter().enumerate() {
        bytes.extend(value.to_bytes_le());
        bytes.resize((row + 1) * row_bytes, 0);
    }
    bytes
}

struct RoundTrips;

impl Check for RoundTrips {
    const NAME: &str = "conversions";

    fn check<T: Kernels>(setting: &Setting, tally: &mut Tally) {
        for (_, device, rows) in setting.parts::<T>(SUMS, setting.count(ROWS, T::SHAPE)) {
            let values = first(&rows);
            let what = Context::new::<T>("conversions", device);
            tally.attempt(&what, values.len(), |tally| round_trips::<T>(device, &values, tally));
        }
        for device in setting.devices() {
            let what = Context::new::<T>("construction", device);
            tally.attempt(&what, 1, |tally| constructors::<T>(device, tally));
        }
    }
}

fn round_trips<T: Kernels>(device: &Device, values: &[BigUint], tally: &mut Tally) -> Result<()> {
    let row_bytes = T::BITS / 8;
    let little = bytes(values, row_bytes);
    let mut big = little.clone();
    big.chunks_mut(row_bytes).for_each(<[u8]>::reverse);
    let digits: Vec<T::Digit> = little
        .chunks(T::DIGIT_BITS / 8)
        .map(|digit| {
            let digit = BigUint::from_bytes_le(digit).to_u64().and_then(num_traits::NumCast::from);
            digit.expect("a digit has at most 64 bits")
        })
        .collect();

    let batches = [
        ("from_biguints", Batch::<T>::from_biguints(device, values)?),
        ("from_digits", Batch::from_digits(device, &digits)?),
        ("from_le_bytes", Batch::from_le_bytes(device, &little)?),
        ("from_be_bytes", Batch::from_be_bytes(device, &big)?),
        ("try_clone", Batch::<T>::from_biguints(device, values)?.try_clone()?),
    ];
    for (name, batch) in batches {
        let what = Context::new::<T>(name, device);
        let lengths = batch.len() == values.len() && batch.is_empty() == values.is_empty();
        let right = lengths
            && batch.device() == device
            && batch.to_le_bytes()? == little
            && batch.to_be_bytes()? == big
            && batch.to_digits()? == digits;
        tally.row(right, || format!("{what}: bytes or digits differ"));
        let got = batch.to_biguints()?;
        for (row, value) in values.iter().enumerate() {
            let right = got[row] == *value && batch.row(row)? == *value;
            tally.row(right, || format!("{what}: row {row}: {:#x}, expected {value:#x}", got[row]));
        }
    }
    Ok(())
}

fn constructors<T: Kernels>(device: &Device, tally: &mut Tally) -> Result<()> {
    let what = Context::new::<T>("construction", device);
    let value = rows(seed(), SUMS, T::SHAPE.into(), [1]).remove(0).a;
    for count in [0, 1, 2, 33] {
        let splat = Batch::<T>::splat(device, &value, count)?;
        let zeros = Batch::<T>::zeros(device, count)?;
        let right = splat.to_biguints()? == vec![value.clone(); count]
            && zeros.to_biguints()? == vec![BigUint::ZERO; count]
            && (splat.len(), zeros.len()) == (count, count);
        tally.row(right, || format!("{what}: splat or zeros of {count} rows"));
    }

    let random = |seed| {
        Batch::<T>::random(device, 40, &mut rand::rngs::SmallRng::seed_from_u64(seed))?
            .to_biguints()
    };
    let drawn = random(1)?;
    let longest = drawn.iter().map(BigUint::bits).max();
    let right = drawn == random(1)? && drawn != random(2)? && longest > Some(T::BITS as u64 - 20);
    tally.row(right, || format!("{what}: random"));

    let width = T::BITS;
    let too_wide = |row, bits| Some(Error::TooWide { row, bits, width });
    let wide = [BigUint::one(), power(width), power(width + 5)];
    let batch = Batch::<T>::from_biguints(device, &wide);
    tally.row(batch.err() == too_wide(1, width as u64 + 1), || format!("{what}: too wide"));
    let splat = Batch::<T>::splat(device, &power(width + 5), 2);
    tally.row(splat.err() == too_wide(0, width as u64 + 6), || format!("{what}: too wide splat"));

    let row_bytes = width / 8;
    for (bytes, next) in [(1, row_bytes), (row_bytes + 1, 2 * row_bytes)] {
        let error = Some(Error::LengthMismatch { left: bytes, right: next });
        let bytes = vec![0; bytes];
        let right = Batch::<T>::from_le_bytes(device, &bytes).err() == error
            && Batch::<T>::from_be_bytes(device, &bytes).err() == error;
        tally.row(right, || format!("{what}: {} bytes", bytes.len()));
    }
    let digits = vec![T::Digit::one(); T::DIGITS + 1];
    let error = Error::LengthMismatch { left: T::DIGITS + 1, right: 2 * T::DIGITS };
    let right = Batch::<T>::from_digits(device, &digits).err() == Some(error);
    tally.row(right, || format!("{what}: {} digits", digits.len()));

    for count in [0, 3] {
        let batch = Batch::<T>::zeros(device, count)?;
        for row in [count, usize::MAX] {
            let error = Some(Error::NoSuchRow { row, rows: count });
            tally.row(batch.row(row).err() == error, || format!("{what}: row {row} of {count}"));
        }
    }
    Ok(())
}

on_every_backend! { round_trips: RoundTrips, }
