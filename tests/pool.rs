//! Pools of several devices: order, speeds, failures, and errors of the data.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gpuint::num_bigint::BigUint;
use gpuint::{
    BackendKind, Batch, Chunk, Device, DynBatch, DynDivisor, Error, GpuUint, Pool, Result, Shape,
    Share, SimtOptions, narrowest,
};

type U1024 = GpuUint<1024>;

fn shape() -> Shape {
    narrowest(1024).unwrap()
}

fn mixed() -> Pool {
    let simt = |seed| Device::simt_with(SimtOptions { seed, ..SimtOptions::default() });
    Pool::of([Device::cpu(), simt(0), simt(3), Device::cpu()]).unwrap()
}

fn is_simt(chunk: &Chunk<'_>) -> bool {
    chunk.device().backend() == BackendKind::Simt
}

/// Computes the number of each row by this closure, which is called before each chunk.
fn numbers(
    pool: &Pool,
    rows: usize,
    before: impl Fn(&Chunk<'_>) -> Result<()> + Sync,
) -> (Vec<u64>, Result<Vec<Share>>) {
    let mut numbers = vec![u64::MAX; 2 * rows];
    let shares = pool.run(
        shape(),
        rows,
        &mut numbers[..],
        |_| Ok(()),
        |(), chunk, numbers| {
            before(chunk)?;
            for (row, numbers) in chunk.rows().zip(numbers.chunks_mut(2)) {
                numbers.copy_from_slice(&[row as u64, !(row as u64)]);
            }
            Ok(())
        },
    );
    (numbers, shares)
}

#[test]
fn batch_gcds_of_mixed_devices_are_those_of_pairs() {
    // Each prime is in two keys at most; most pairs are in parts of different devices.
    let primes = [89u32, 107, 127, 521, 607].map(|e| (BigUint::from(1u32) << e) - 1u32);
    let keys: Vec<BigUint> = (0..9u32)
        .map(|i| if i < 5 { &primes[i as usize] << i } else { &primes[i as usize - 5] * 3u32 })
        .collect();
    let divisors = mixed().batch_gcd(&keys).unwrap();
    for (row, divisor) in divisors.iter().enumerate() {
        let others = keys.iter().enumerate().filter(|&(other, _)| other != row);
        let others: BigUint = others.map(|(_, key)| key).product();
        let key = DynBatch::fitting(&Device::cpu(), [&keys[row], &(others % &keys[row])]).unwrap();
        let expected = key.slice(0..1).unwrap().gcd(&key.slice(1..2).unwrap()).unwrap();
        assert_eq!(*divisor, expected.row(0).unwrap(), "row {row}");
    }
    let zero = [&keys[..], &[BigUint::ZERO]].concat();
    assert_eq!(mixed().batch_gcd(&zero), Err(Error::DivisionByZero { row: 9 }));
}

fn expected(rows: usize) -> Vec<u64> {
    (0..rows as u64).flat_map(|row| [row, !row]).collect()
}

fn total(shares: &[Share]) -> usize {
    shares.iter().map(|share| share.rows).sum()
}

#[test]
fn results_of_any_number_of_rows_are_in_order() {
    let one = BigUint::from(1u32);
    let value = |row: usize| (BigUint::from(row * row + 1) << (row * 37 % 1000)) - &one;
    for (pool, most) in [(mixed(), 257), (Pool::of([Device::cpu()]).unwrap(), 5000)] {
        for rows in [0, 1, 2, 3, 17, most] {
            let u: Vec<BigUint> = (0..rows).map(value).collect();
            let v: Vec<BigUint> = (0..rows).map(|row| (value(7 * row) >> 300) + &one).collect();
            let [q, r] = pool
                .map([&u, &v], |[u, v]: [Batch<U1024>; 2]| {
                    let (q, r) = u.div_rem(&v)?;
                    Ok([q, r])
                })
                .unwrap();
            assert_eq!((q.len(), r.len()), (rows, rows));
            for row in 0..rows {
                assert!(&q[row] * &v[row] + &r[row] == u[row] && r[row] < v[row], "row {row}");
            }
        }
    }
}

#[test]
fn faster_device_computes_more_rows() {
    let pool = mixed();
    let rows = 4000;
    let mut all_shares = Vec::new();
    // Another program may take the processor of a thread meanwhile.
    let is_found = (0..5).any(|_| {
        let (numbers, shares) = numbers(&pool, rows, |chunk| {
            let microseconds = if is_simt(chunk) { 1000 } else { 50 };
            thread::sleep(Duration::from_micros(microseconds * chunk.rows().len() as u64));
            Ok(())
        });
        let shares = shares.unwrap();
        assert_eq!((numbers, total(&shares)), (expected(rows), rows));
        assert!(shares.iter().all(|share| share.error.is_none()));
        let share = |index: usize| shares[index].rows;
        let is_found = share(0).min(share(3)) > 4 * share(1).max(share(2));
        all_shares.push(shares);
        is_found
    });
    assert!(is_found, "{all_shares:?}");
}

#[test]
fn rows_of_a_lost_device_are_computed_by_the_others() {
    let pool = mixed();
    for rows in [1, 600] {
        for lost in [Error::DeviceLost("gone".into()), Error::Driver("no".into())] {
            let calls = AtomicUsize::new(0);
            let (numbers, shares) = numbers(&pool, rows, |chunk| {
                // Others wait, so that the device gets a second chunk.
                let start = Instant::now();
                while rows > 1
                    && !is_simt(chunk)
                    && calls.load(Ordering::Relaxed) < 2
                    && start.elapsed() < Duration::from_secs(10)
                {
                    thread::sleep(Duration::from_millis(1));
                }
                match calls.fetch_add(usize::from(is_simt(chunk)), Ordering::Relaxed) {
                    1.. if is_simt(chunk) => Err(lost.clone()),
                    _ => Ok(()),
                }
            });
            let shares = shares.unwrap();
            assert_eq!((numbers, total(&shares)), (expected(rows), rows));
            if rows > 1 {
                assert_eq!(shares[1].error.as_ref().or(shares[2].error.as_ref()), Some(&lost));
                assert_eq!((&shares[0].error, &shares[3].error), (&None, &None));
            }
        }
    }
}

#[test]
fn loss_of_all_devices_is_an_error() {
    let lost = Error::DeviceLost("gone".into());
    let (_, shares) = numbers(&mixed(), 1000, |chunk| {
        if chunk.rows().contains(&500) { Err(lost.clone()) } else { Ok(()) }
    });
    assert_eq!(shares.unwrap_err(), lost);
    let missing = |_: &Device| {
        Err::<(), _>(Error::KernelMissing { kernel: String::new(), remedy: String::new() })
    };
    let error = mixed().run(shape(), 9, &mut [0; 9][..], missing, |(), _, _| Ok(())).unwrap_err();
    assert!(matches!(error, Error::KernelMissing { .. }));
}

#[test]
fn chunk_that_does_not_fit_is_divided() {
    for (pool, rows) in [(mixed(), 300), (Pool::of([Device::cpu()]).unwrap(), 100)] {
        let full = Error::OutOfMemory { bytes: 7 };
        let check = |most: usize| {
            let full = full.clone();
            move |chunk: &Chunk<'_>| {
                if chunk.rows().len() > most { Err(full.clone()) } else { Ok(()) }
            }
        };
        let (numbers_by_ones, shares) = numbers(&pool, rows, check(1));
        assert_eq!((numbers_by_ones, total(&shares.unwrap())), (expected(rows), rows));
        let (_, shares) = numbers(&pool, rows, check(0));
        assert_eq!(shares.unwrap_err(), full);
    }
}

#[test]
fn error_of_the_data_has_its_lowest_row() {
    let pool = mixed();
    let u = vec![BigUint::from(7u32); 900];
    let divide = |u: &[BigUint], v: &[BigUint]| {
        pool.map([u, v], |[u, v]: [Batch<U1024>; 2]| Ok([u.div(&v)?]))
    };
    for _ in 0..20 {
        let mut v = u.clone();
        v[890] = BigUint::ZERO;
        v[411] = BigUint::ZERO;
        assert_eq!(divide(&u, &v), Err(Error::DivisionByZero { row: 411 }));
        v[137] = BigUint::from(1u32) << 1024;
        assert_eq!(divide(&u, &v), Err(Error::TooWide { row: 137, bits: 1025, width: 1024 }));
    }
    let lengths = Error::LengthMismatch { left: 900, right: 899 };
    assert_eq!(divide(&u, &u[1..]), Err(lengths));
    assert_eq!(divide(&u, &u), Ok([vec![BigUint::from(1u32); 900]]));
}

#[test]
fn wrong_calls_are_errors() {
    assert_eq!(Pool::of([]).unwrap_err(), Error::NoDevice);
    let pool = mixed();
    let run = |shape, rows, memory: &mut [u8]| {
        pool.run(shape, rows, memory, |_| Ok(()), |(), chunk, _| chunk.part(&[0; 7]).map(drop))
    };
    let uneven = |right| Error::LengthMismatch { left: 3, right };
    assert_eq!(run(shape(), 3, &mut [0; 8]).unwrap_err(), uneven(8));
    assert_eq!(run(shape(), 3, &mut [0; 9]).unwrap_err(), uneven(7));
    assert!(run(shape(), 0, &mut [0; 8]).is_err());
    assert_eq!(total(&run(shape(), 7, &mut []).unwrap()), 7);
    let missing = Shape { bits: 1088, ..shape() };
    assert_eq!(run(missing, 3, &mut []).unwrap_err(), Error::ShapeMissing { shape: missing });
    let short = pool
        .map([&vec![BigUint::ZERO; 9]], |[a]: [Batch<U1024>; 1]| Ok([a.slice(0..a.len() - 1)?]));
    assert!(matches!(short, Err(Error::LengthMismatch { .. })), "{short:?}");
}

#[test]
fn panic_of_the_work_ends_all_devices() {
    let pool = mixed();
    let chunks = AtomicUsize::new(0);
    let work = || {
        numbers(&pool, 100_000, |chunk| {
            chunks.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(2));
            // Without the message of a panic on standard error.
            if chunk.rows().end < 50 { Ok(()) } else { resume_unwind(Box::new("these rows")) }
        })
    };
    let panic = catch_unwind(AssertUnwindSafe(work)).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"these rows"));
    assert!(chunks.into_inner() < 60);
}

#[test]
fn each_device_prepares_once() {
    let pool = mixed();
    let prepared = AtomicUsize::new(0);
    let rows = 300;
    let u: Vec<u8> = (0..rows * 128).map(|index| (index * 31 % 251) as u8).collect();
    let (mut q, mut r) = (vec![0; u.len()], vec![0; u.len()]);
    let mut small = vec![false; rows];
    let prepare = |device: &Device| {
        prepared.fetch_add(1, Ordering::Relaxed);
        DynDivisor::splat(device, shape(), 1u64 << 63)
    };
    let memory = ([&mut q[..], &mut r[..]], &mut small[..]);
    let shares = pool.run(shape(), rows, memory, prepare, |divisor, chunk, ([q, r], small)| {
        let u = DynBatch::from_le_bytes(chunk.device(), shape(), chunk.part(&u)?)?;
        let (quotients, remainders) = u.div_rem_by(divisor)?;
        small.copy_from_slice(&remainders.lt_mask(&quotients)?.to_bools()?);
        quotients.read_le_bytes(0, q)?;
        remainders.read_le_bytes(0, r)
    });
    let shares = shares.unwrap();
    let used = shares.iter().filter(|share| share.rows > 0).count();
    assert_eq!((prepared.into_inner(), total(&shares)), (used, rows));
    for (row, is_small) in small.into_iter().enumerate() {
        let integer = |bytes: &[u8]| BigUint::from_bytes_le(&bytes[row * 128..][..128]);
        let (u, q, r) = (integer(&u), integer(&q), integer(&r));
        assert_eq!((&u >> 63u32, &u - (&q << 63u32), is_small), (q.clone(), r.clone(), r < q));
    }
}
