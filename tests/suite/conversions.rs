//! Values survive every conversion into a batch and out of it.

use gpuint::num_bigint::BigUint;
use gpuint::{Device, DynBatch, Error, HostBatch, Result, Shape};
use num_traits::One;
use rand::SeedableRng;

use crate::setting::{Check, Context, Rows, Setting, Tally, first, on_every_backend, seed};
use gpuint_testkit::operands::{SUMS, power, rows};

const ROWS: Rows = Rows { threads: 20_000, least: 13 };

/// The bytes of values, `bytes` for each value, least significant first.
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

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        for (_, device, rows) in setting.parts(shape, SUMS, setting.count(ROWS, shape)) {
            let values = first(&rows);
            let what = Context::new(shape, "conversions", device);
            tally.attempt(&what, values.len(), |tally| round_trips(shape, device, &values, tally));
        }
        for device in setting.devices() {
            let what = Context::new(shape, "construction", device);
            tally.attempt(&what, 1, |tally| constructors(shape, device, tally));
        }
    }
}

fn round_trips(shape: Shape, device: &Device, values: &[BigUint], tally: &mut Tally) -> Result<()> {
    let row_bytes = shape.bits / 8;
    let little = bytes(values, row_bytes);
    let mut big = little.clone();
    big.chunks_mut(row_bytes).for_each(<[u8]>::reverse);
    let queue = device.queue()?;
    let mut host = HostBatch::new(device, shape, values.len())?;
    host.set_biguints(values)?;
    let mut uploaded = DynBatch::zeros(device, shape, values.len())?.on(&queue)?;
    uploaded.upload(0, &mut host)?.wait()?;
    let mut written = DynBatch::zeros(device, shape, values.len())?;
    let middle = values.len() / 2;
    written.write_le_bytes(middle, &little[middle * row_bytes..])?;
    written.write_le_bytes(0, &little[..middle * row_bytes])?;
    host.set_len(values.len() - middle)?;
    written.download(middle, &mut host)?;
    let what = Context::new(shape, "download", device);
    tally.row(host.to_biguints()? == values[middle..], || format!("{what}: rows differ"));
    let batches = [
        ("upload", uploaded.on(device)?),
        ("write_le_bytes", written),
        ("from_biguints", DynBatch::from_biguints(device, shape, values)?),
        ("from_le_bytes", DynBatch::from_le_bytes(device, shape, &little)?),
        ("from_be_bytes", DynBatch::from_be_bytes(device, shape, &big)?),
        ("try_clone", DynBatch::from_biguints(device, shape, values)?.try_clone()?),
    ];
    for (name, batch) in batches {
        let what = Context::new(shape, name, device);
        let lengths = batch.len() == values.len() && batch.is_empty() == values.is_empty();
        let right = lengths
            && batch.device() == device
            && batch.to_le_bytes()? == little
            && batch.to_be_bytes()? == big;
        tally.row(right, || format!("{what}: bytes differ"));
        let got = batch.to_biguints()?;
        for (row, value) in values.iter().enumerate() {
            let right = got[row] == *value && batch.row(row)? == *value;
            tally.row(right, || format!("{what}: row {row}: {:#x}, expected {value:#x}", got[row]));
        }
    }
    Ok(())
}

fn constructors(shape: Shape, device: &Device, tally: &mut Tally) -> Result<()> {
    let what = Context::new(shape, "construction", device);
    let value = rows(seed(), SUMS, shape.into(), [1]).remove(0).a;
    for count in [0, 1, 2, 33] {
        let splat = DynBatch::splat(device, shape, &value, count)?;
        let zeros = DynBatch::zeros(device, shape, count)?;
        let right = splat.to_biguints()? == vec![value.clone(); count]
            && zeros.to_biguints()? == vec![BigUint::ZERO; count]
            && (splat.len(), zeros.len()) == (count, count);
        tally.row(right, || format!("{what}: splat or zeros of {count} rows"));
    }

    let random = |seed| {
        DynBatch::random(device, shape, 40, &mut rand::rngs::SmallRng::seed_from_u64(seed))?
            .to_biguints()
    };
    let drawn = random(1)?;
    let longest = drawn.iter().map(BigUint::bits).max();
    let right =
        drawn == random(1)? && drawn != random(2)? && longest > Some(shape.bits as u64 - 20);
    tally.row(right, || format!("{what}: random"));

    let width = shape.bits;
    let too_wide = |row, bits| Some(Error::TooWide { row, bits, width });
    let wide = [BigUint::one(), power(width), power(width + 5)];
    let batch = DynBatch::from_biguints(device, shape, &wide);
    tally.row(batch.err() == too_wide(1, width as u64 + 1), || format!("{what}: too wide"));
    let splat = DynBatch::splat(device, shape, &power(width + 5), 2);
    tally.row(splat.err() == too_wide(0, width as u64 + 6), || format!("{what}: too wide splat"));

    let row_bytes = width / 8;
    for bytes in [1, row_bytes + 1] {
        let error = Some(Error::PartialRow { len: bytes, row: row_bytes });
        let bytes = vec![0; bytes];
        let right = DynBatch::from_le_bytes(device, shape, &bytes).err() == error
            && DynBatch::from_be_bytes(device, shape, &bytes).err() == error;
        tally.row(right, || format!("{what}: {} bytes", bytes.len()));
    }

    for count in [0, 3] {
        let batch = DynBatch::zeros(device, shape, count)?;
        for row in [count, usize::MAX] {
            let error = Some(Error::NoSuchRow { row, rows: count });
            tally.row(batch.row(row).err() == error, || format!("{what}: row {row} of {count}"));
        }
    }
    Ok(())
}

on_every_backend! { round_trips: RoundTrips, }
