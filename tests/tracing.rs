//! Output of a tracing subscriber. This is a separate program, because other subscribers affect
//! which spans exist.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpuint::num_bigint::BigUint;
use gpuint::{Batch, Classical, Device, DynBatch, DynDivisor, DynProductTree, GpuUint, Pool};
use tracing::{Dispatch, Level};
use tracing_subscriber::fmt::format::FmtSpan;

/// A log in memory.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The tests take turns: see above.
static TURN: Mutex<()> = Mutex::new(());

/// Waits for the other tests.
fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the lines that a subscriber writes during `work`.
fn traced(work: impl FnOnce()) -> String {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(Level::TRACE)
        .with_span_events(FmtSpan::NEW | FmtSpan::CLOSE)
        .without_time()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    // With one subscriber alone, spans do not exist if a thread without it reaches them first.
    let _other = Dispatch::new(tracing_subscriber::registry());
    tracing::subscriber::with_default(subscriber, work);
    String::from_utf8(log.bytes().clone()).unwrap()
}

#[test]
fn work_is_spans_with_sizes() {
    let _turn = turn();
    let work = || {
        let values = [3u32, 5, 7].map(BigUint::from);
        let device = Device::cpu();
        let a = Batch::<GpuUint<1024>>::from_biguints(&device, &values).unwrap();
        let squares = a.using::<Classical>().wrapping_mul(&a.try_clone().unwrap()).unwrap();
        device.synchronize().unwrap();
        assert_eq!(squares.to_biguints().unwrap(), [9u32, 25, 49].map(BigUint::from));
    };
    let log = traced(work);
    for span in [
        "alloc{bytes=384}",
        "copy{from=\"host\" to=\"device\" bytes=384}",
        "copy{from=\"device\" to=\"device\" bytes=384}",
        "launch{backend=cpu kernel=gpuint_mul_lo_classical_b1024_q4_u64 rows=3}",
        "copy{from=\"device\" to=\"host\" bytes=384}",
        "synchronize",
    ] {
        for event in ["new", "close"] {
            let is_there = |line: &str| line.contains(span) && line.contains(event);
            assert!(log.lines().any(is_there), "{span} {event} is not in\n{log}");
        }
    }
}

/// Returns the number of products in a log.
fn products_of(log: &str) -> usize {
    let is_product = |line: &&str| {
        line.contains("new") && (line.contains("kernel=gpuint_mul_") || line.contains("_square_"))
    };
    log.lines().filter(is_product).count()
}

/// A division by a divisor with a reciprocal, a square and a power modulo it, by their products.
#[test]
fn reductions_take_three_products() {
    let _turn = turn();
    let device = Device::cpu();
    let bits = 1 << 19;
    let shape = device.shape_for(bits).unwrap();
    let modulus = (BigUint::from(1u32) << (bits - 9)) - 69u32;
    let divisor = DynDivisor::splat(&device, shape, &modulus).unwrap();
    let values = [BigUint::from(3u32), BigUint::from(5u32) << 1000usize];
    let a = DynBatch::from_biguints(&device, shape, &values).unwrap();
    // The first product computes the reciprocal.
    let once = a.square_mod(&divisor).unwrap();
    let products = |work: &dyn Fn() -> DynBatch| {
        let log = traced(|| drop(work()));
        products_of(&log)
    };
    assert_eq!(products(&|| a.mul_mod(&once, &divisor).unwrap()), 3);
    assert_eq!(products(&|| once.square_mod(&divisor).unwrap()), 3);
    assert_eq!(products(&|| a.square_mod_repeatedly(4, &divisor).unwrap()), 4 * 3);
    // 5 = 0b101: two squares and a product.
    assert_eq!(products(&|| a.pow_mod_all(5, &divisor).unwrap()), 3 * 3);
    // Ten windows of three ones: a table by a square and three products, 27 squares, 9 products.
    let ones = (1u64 << 30) - 1;
    assert_eq!(products(&|| a.pow_mod_all(ones, &divisor).unwrap()), (4 + 27 + 9) * 3);
}

/// A strong test computes the reciprocals of its rows once, and a square takes three products.
#[test]
fn strong_tests_of_wide_rows_keep_their_reciprocals() {
    let _turn = turn();
    let device = Device::cpu();
    let shape = device.shape_for(1 << 19).unwrap();
    let products = |numbers: &[u32]| {
        let numbers = numbers.iter().copied().map(BigUint::from);
        let n = DynBatch::from_biguints(&device, shape, numbers).unwrap();
        let log = traced(|| {
            assert_eq!(n.is_strong_probable_prime(5).unwrap().count().unwrap(), n.len());
        });
        products_of(&log)
    };
    // 5^3 squared 4 and 5 times is -1 modulo 97 = 3 2^5 + 1 and 193 = 3 2^6 + 1.
    assert_eq!(products(&[193]), products(&[97]) + 3);
    assert_eq!(products(&[97, 193]), products(&[97, 97]) + 3);
}

/// A bit of an exponent takes a square of long rows and two products with kept transforms: 11, 12
/// and 6 passes over the points of a row, 2.64 squares.
#[test]
fn powers_of_long_rows_keep_the_transforms_of_a_modulus() {
    let _turn = turn();
    let device = Device::simt();
    let shape = device.shape_for(1 << 21).unwrap();
    let modulus = (BigUint::from(1u32) << ((1 << 21) - 9)) - 69u32;
    let divisor = DynDivisor::splat(&device, shape, &modulus).unwrap();
    let value = (BigUint::from(1u32) << ((1 << 21) - 10)) + 3u32;
    let a = DynBatch::splat(&device, shape, &value, 1).unwrap();
    // The first product computes the reciprocal.
    let once = a.square_mod(&divisor).unwrap();
    assert!(once.row(0).unwrap() == &value * &value % &modulus);
    let mut twice = None;
    let log = traced(|| twice = Some(once.square_mod(&divisor).unwrap()));
    let expected = once.row(0).unwrap().pow(2) % &modulus;
    assert!(twice.unwrap().row(0).unwrap() == expected);
    let count =
        |span: &str| log.lines().filter(|line| line.contains("new") && line.contains(span)).count();
    let spans = ["kernel=gpuint_mul_", "is_cyclic=false", "is_cyclic=true", "transform{"];
    assert_eq!(spans.map(count), [1, 1, 1, 0]);
}

/// Twice as long a number takes one more step, whatever its length.
#[test]
fn long_numbers_are_reduced_in_logarithmic_steps() {
    let _turn = turn();
    let device = Device::cpu();
    // The host divides by shorter products.
    let row = (BigUint::from(1u32) << 70_001u32) - 5u32;
    let rows = DynBatch::fitting(&device, [&row]).unwrap();
    let tree = DynProductTree::new(&rows).unwrap();
    let launches = |pieces: u32| {
        let number = (BigUint::from(1u32) << (pieces * 70_000)) - 3u32;
        let expected = &number % &row;
        let log =
            traced(|| assert_eq!(tree.remainders(&number).unwrap().row(0).unwrap(), expected));
        log.lines().filter(|line| line.contains("launch{") && line.contains("new")).count()
    };
    let [two, four, eight, sixteen] = [2, 4, 8, 16].map(launches);
    assert!(two < four, "{two} and {four} launches");
    assert_eq!(eight - four, four - two);
    assert_eq!(sixteen - eight, four - two);
}

/// Two more parts cost a part the remainder of their product and a product: 8 products of the
/// length of a part, where two products by themselves would take 10.
#[test]
fn other_parts_are_multiplied_by_pairs() {
    let _turn = turn();
    let products = |parts: usize| {
        let odd = |index: usize| (BigUint::from(1u32) << 700u32) - 2 * index - 1u32;
        let values: Vec<_> = (0..4 * parts).map(odd).collect();
        let expected = DynBatch::fitting(&Device::cpu(), &values).unwrap().batch_gcd().unwrap();
        let pool = Pool::of(vec![Device::cpu(); parts]).unwrap();
        // The first part is computed by this thread.
        let log = traced(|| {
            let divisors = pool.batch_gcd(&values).unwrap();
            assert_eq!(divisors, expected.to_biguints().unwrap());
        });
        let count = |kernel: &str| {
            let is_counted = |line: &&str| {
                line.contains("fraction{") && line.contains("new") && line.contains(kernel)
            };
            log.lines().filter(is_counted).count()
        };
        2 * count("kernel=gpuint_mul_wide") + count("kernel=gpuint_mul_cyclic")
    };
    let [three, four, five, seven] = [3, 4, 5, 7].map(products);
    assert_eq!([four - three, five - three, seven - five], [3, 8, 8]);
}
