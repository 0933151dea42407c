//! A host without spare memory or threads: calls return an error and never abort.
#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};
use std::{env, fs, thread};

use gpuint::num_bigint::BigUint;
use gpuint::{
    Batch, Device, Error, FixedBase, GpuUint, Mask, Pool, ProductTree, Result, SignedBatch,
};
use gpuint_testkit::process;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

type U256 = GpuUint<256>;
type U1024 = GpuUint<1024>;

/// Freed memory is returned at once, so that the limit is the remaining memory; few threads.
const VARIABLES: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "1"), ("MALLOC_MMAP_THRESHOLD_", "65536"), ("RAYON_NUM_THREADS", "2")];

/// Runs a test in a separate process, with these variables.
fn alone(variables: &[(&str, &str)], test: impl FnOnce()) {
    let variables = variables.iter().map(|(name, value)| (*name, value.as_ref()));
    process::alone(&variables.collect::<Vec<_>>(), test);
}

/// Bytes of address space in use.
fn used() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').next().unwrap().parse::<u64>().unwrap() * rustix::param::page_size() as u64
}

/// Calls `work` with more and more memory until it succeeds; before that it must report exhausted
/// memory.
fn with_little_memory<R>(what: &str, work: impl Fn() -> Result<R>) {
    /// Room for the small allocations of threads and messages.
    const MIN: u64 = 1 << 20;
    // By night, the limits between powers of two, too.
    let step = if env::var("GPUINT_TEST_ROWS").is_ok_and(|part| part == "1") { 1 } else { 2 };
    let before = getrlimit(Resource::As);
    let mut failures = 0;
    let limits = (20..33).flat_map(|bits| [1u64 << bits, 3 << (bits - 1)]);
    for extra in limits.step_by(step) {
        // Kept memory of earlier work would be room for this.
        Device::cpu().trim().unwrap();
        let limit = Rlimit { current: Some(used() + MIN + extra), ..before };
        setrlimit(Resource::As, limit).unwrap();
        let result = work();
        setrlimit(Resource::As, before).unwrap();
        match result {
            Ok(_) => {
                assert!(failures > 0, "{what} did with {extra} bytes");
                return;
            }
            Err(Error::OutOfMemory { .. }) => failures += 1,
            Err(error) => panic!("{what}: {error}"),
        }
    }
    panic!("{what} had never enough");
}

#[test]
fn exhausted_memory_is_an_error() {
    alone(&VARIABLES, || {
        let device = Device::cpu();
        let batch = |rows| Batch::<U1024>::splat(&device, &BigUint::from(7u32), rows).unwrap();
        // The first use of each operation starts threads.
        let one = batch(1);
        one.div_rem(&one).unwrap();
        // Results of one or eight bytes a row.
        let (a, b) = (batch(1 << 20), batch(1 << 20));
        with_little_memory("cmp", || a.cmp(&b));
        with_little_memory("bit_lengths", || a.bit_lengths());
        let mask = Mask::none(&device, 1 << 26).unwrap();
        with_little_memory("to_bools", || mask.to_bools());
        let mask = Mask::none(&device, 1 << 22).unwrap().not().unwrap();
        with_little_memory("indices", || mask.indices());
        drop((a, b, mask));
        let (a, b) = (batch(1 << 16), batch(1 << 16));
        with_little_memory("div_rem", || a.div_rem(&b));
        with_little_memory("to_le_bytes", || a.to_le_bytes());
        with_little_memory("to_digits", || a.to_digits());
        with_little_memory("try_clone", || a.try_clone());
        with_little_memory("to_biguints", || a.to_biguints());
        with_little_memory("to_decimal", || a.to_decimal());
        with_little_memory("to_hex", || a.to_hex());
        let texts = a.to_hex().unwrap();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        with_little_memory("from_hex", || Batch::<U1024>::from_hex(&device, &texts));
        with_little_memory("from_decimal", || Batch::<U1024>::from_decimal(&device, &texts));
        drop(texts);
        drop((a, b));
    });
}

#[test]
fn exhausted_memory_of_compositions_is_an_error() {
    alone(&VARIABLES, || {
        let device = Device::cpu();
        let value = BigUint::from(7u32).pow(9);
        let batch = |rows| Batch::<U256>::splat(&device, &value, rows).unwrap();
        let one = batch(1);
        one.div_rem(&one).unwrap();
        let a = batch(1 << 15);
        with_little_memory("product tree", || ProductTree::new(&a));
        let tree = ProductTree::new(&a).unwrap();
        with_little_memory("remainders", || tree.remainders(&tree.root()));
        with_little_memory("batch_gcd", || a.batch_gcd());
        drop(tree);
        drop(a);
        let rows = 1 << 21;
        let none = Mask::none(&device, rows).unwrap();
        let signed = SignedBatch::from_parts(batch(rows), &none).unwrap();
        with_little_memory("cmp of signed rows", || signed.cmp(&signed));
        with_little_memory("to_bigints", || signed.to_bigints());
        let values = signed.to_bigints().unwrap();
        with_little_memory("from_bigints", || SignedBatch::<U256>::from_bigints(&device, &values));
        let (base, modulus) = (BigUint::from(3u32), (BigUint::from(1u32) << 1023u32) - 1u32);
        with_little_memory("fixed base", || {
            FixedBase::<U1024>::new(&device, &base, &modulus, 1024)
        });
    });
}

#[test]
fn threads_run_when_their_pool_is_made() {
    alone(&[("RAYON_NUM_THREADS", "32")], || {
        assert_eq!(Device::cpu().to_string(), "cpu (32 threads)");
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).unwrap();
        // A thread sets its name when it starts.
        let started =
            tasks.map(|task| name(task.unwrap())).filter(|name| name.starts_with("gpuint-"));
        assert_eq!(started.count(), 32);
    });
}

#[test]
fn table_beyond_all_memory_is_refused_at_once() {
    let (base, modulus) = (BigUint::from(3u32), BigUint::from(1009u32));
    let start = Instant::now();
    let table = |bits| FixedBase::<GpuUint<1_048_576>>::new(&Device::cpu(), &base, &modulus, bits);
    // 256 rows for each byte of an exponent.
    let bytes = (1 << 17) * 256 * (1 << 17);
    assert_eq!(table(1 << 20).unwrap_err(), Error::OutOfMemory { bytes });
    assert_eq!(table(usize::MAX).unwrap_err(), Error::OutOfMemory { bytes: u64::MAX });
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn host_without_threads_computes() {
    // No thread can get a stack of this size.
    alone(&[("RUST_MIN_STACK", "100000000000000")], || {
        assert!(thread::Builder::new().spawn(|| {}).is_err(), "threads can be started");
        let device = Device::cpu();
        assert!(device.to_string().starts_with("cpu (1 thread"), "{device}");
        let values: Vec<BigUint> = (0..40_000u32).map(BigUint::from).collect();
        let a = Batch::<U1024>::from_biguints(&device, &values).unwrap();
        let (sum, carries) = a.overflowing_add(&a).unwrap();
        assert_eq!(carries.count().unwrap(), 0);
        assert_eq!(sum.row(39_999).unwrap(), BigUint::from(79_998u32));
        assert_eq!(sum.div_rem(&a).unwrap_err(), Error::DivisionByZero { row: 0 });
        assert_eq!(a.reverse().unwrap().sort().unwrap().to_biguints().unwrap(), values);
        assert_eq!(a.to_decimal().unwrap()[39_999], "39999");
        let tree = ProductTree::new(&a.slice(1..3000).unwrap()).unwrap();
        assert_eq!(tree.remainders(10).unwrap().row(6).unwrap(), BigUint::from(3u32));
        for pool in [Pool::of([device]).unwrap(), Pool::of([Device::cpu(), Device::cpu()]).unwrap()]
        {
            let double = |[a]: [Batch<U1024>; 1]| Ok([a.wrapping_add(&a)?]);
            let [doubled] = pool.map([&values], double).unwrap();
            assert_eq!(doubled[39_999], BigUint::from(79_998u32));
        }
        Pool::new().unwrap();
    });
}

#[test]
fn blocks_of_rows_keep_their_places() {
    let device = Device::cpu();
    let rows = (1 << 14) + 77;
    let ones = |row: usize| {
        (BigUint::from(1u32) << 1024u32) - BigUint::from(u32::from(row.is_multiple_of(3)) + 1)
    };
    let values: Vec<BigUint> = (0..rows).map(ones).collect();
    let a = Batch::<U1024>::from_biguints(&device, &values).unwrap();
    let two = Batch::<U1024>::splat(&device, &BigUint::from(1u32), rows).unwrap();
    let carries = a.overflowing_add(&two).unwrap().1.to_bools().unwrap();
    assert!(carries.iter().enumerate().all(|(row, &carry)| carry == (row % 3 != 0)));
    let mut divisors = vec![BigUint::from(1u32); rows];
    divisors[rows - 5] = BigUint::ZERO;
    let divisors = Batch::from_biguints(&device, &divisors).unwrap();
    assert_eq!(a.div_rem(&divisors).unwrap_err(), Error::DivisionByZero { row: rows - 5 });
}
