//! Absurd arguments, and a host without memory: every call returns, with a result or an error, and
//! none panics or aborts.
//!
//! The test kit lists the operations that the macros `faces!`, `residue_faces!` and `signed_faces!`
//! of `src/ops` declare (`testkit/build.rs`).
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};

use std::cmp::Ordering;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering as Access};

use gpuint::num_bigint::{BigInt, BigUint};
use gpuint::{
    Device, DigitKind, DynBatch, DynCrt, DynDivisor, DynFactor, DynFixedBase, DynModulus,
    DynProductTree, DynResidues, DynSignedBatch, Error, HostBatch, Mask, Op, Pool, Result, Shape,
    Strategy, narrowest,
};

use gpuint_testkit::process::alone;

/// Numbers of bits, rows, bases and the like, and indices.
const COUNTS: [usize; 12] = [
    0,
    1,
    7,
    255,
    256,
    257,
    1 << 20,
    (1 << 20) + 1,
    u32::MAX as usize,
    1 << 61,
    isize::MAX as usize,
    usize::MAX,
];

/// Rows of a usual batch.
const ROWS: usize = 5;

/// Allocator of the system, of which all requests from some number on fail.
struct Faulty;

/// Bytes from which on requests are counted: those for data, and not those of threads and lists.
const COUNTED_BYTES: usize = 4096;

/// Counted requests that succeed, until one fails.
static REMAINING: AtomicUsize = AtomicUsize::new(usize::MAX);
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

#[global_allocator]
static ALLOCATOR: Faulty = Faulty;

impl Faulty {
    /// Returns true if a request for this number of bytes fails.
    fn fails(bytes: usize) -> bool {
        let remaining = REMAINING.load(Access::Relaxed);
        if remaining == usize::MAX || bytes < COUNTED_BYTES {
            return false;
        }
        let is_failing = REMAINING
            .fetch_update(Access::Relaxed, Access::Relaxed, |it| it.checked_sub(1))
            .is_err();
        HAS_FAILED.fetch_or(is_failing, Access::Relaxed);
        is_failing
    }
}

// SAFETY: null, or the result of the system's allocator.
unsafe impl GlobalAlloc for Faulty {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as required of the caller.
        if Self::fails(layout.size()) { ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if Self::fails(layout.size()) {
            return ptr::null_mut();
        }
        // SAFETY: as required of the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if bytes > layout.size() && Self::fails(bytes) {
            return ptr::null_mut();
        }
        // SAFETY: as required of the caller.
        unsafe { System.realloc(memory, layout, bytes) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as required of the caller.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Arguments of all kinds, the usual ones first.
struct Arguments {
    /// Rows of a usual batch.
    rows: usize,
    batches: Vec<DynBatch>,
    residues: Vec<DynResidues>,
    signed: Vec<DynSignedBatch>,
    divisors: Vec<DynDivisor>,
    factors: Vec<DynFactor>,
    masks: Vec<Mask>,
    numbers: Vec<BigUint>,
    lists: Vec<Vec<usize>>,
}

fn shape(bits: usize) -> Shape {
    narrowest(bits).unwrap()
}

impl Arguments {
    fn new(device: &Device, bits: usize, rows: usize) -> Self {
        let own = shape(bits);
        let ones = |bits: usize| (BigUint::from(1u32) << bits) - 1u32;
        let values = [0u32, 1, 2, 97].map(BigUint::from).into_iter().chain([ones(bits)]);
        let values = values.cycle().take(rows);
        let usual = DynBatch::from_biguints(device, own, values).unwrap();
        let odd = DynBatch::splat(device, own, 9, rows).unwrap();
        let empty = DynBatch::zeros(device, own, 0).unwrap();
        let one = DynBatch::splat(device, own, 3, 1).unwrap();
        let wide = DynBatch::splat(device, shape(4 * bits), &ones(4 * bits), rows).unwrap();
        let other = Shape { bits, q: 1, digit: DigitKind::U64 };
        let other = DynBatch::splat(&device.with_jit(), other, 5, rows).unwrap();
        let elsewhere = DynBatch::zeros(&Device::simt(), own, rows).unwrap();
        let divisors = [&odd, &one, &wide].map(|rows| rows.prepare().unwrap());
        let splat = DynDivisor::splat(device, own, 7).unwrap();
        let factors = [&odd, &one, &wide].map(|rows| DynFactor::of_rows(rows).unwrap());
        let seven = DynFactor::splat(device, own, 7).unwrap();
        let mask = |device, rows| Mask::from_bools(device, &vec![true; rows]).unwrap();
        let of = |modulus: &DynModulus, rows| {
            DynResidues::splat(&BigUint::from(5u32), rows, modulus).unwrap()
        };
        let modulus = |number: u64| DynModulus::splat(device, own, number).unwrap();
        let (each, nine) = (DynModulus::of_rows(&odd).unwrap(), modulus(9));
        let residues = vec![
            of(&each, rows),
            of(&nine, rows),
            of(&nine, 0),
            of(&nine, 1),
            of(&modulus(10), rows),
        ];
        let negative = |batch: &DynBatch| {
            let signs = Mask::from_bools(batch.device(), &vec![true; batch.len()]).unwrap();
            DynSignedBatch::from_parts(batch.try_clone().unwrap(), &signs).unwrap()
        };
        let signed = [&usual, &odd, &empty, &one, &wide, &other, &elsewhere].map(negative).into();
        let masks = vec![
            mask(device, rows),
            mask(device, 0),
            mask(device, 1),
            mask(device, 1000),
            mask(&Device::simt(), rows),
        ];
        let numbers = vec![
            BigUint::from(3u32),
            BigUint::ZERO,
            BigUint::from(1u32),
            ones(bits),
            ones(bits + 1),
            ones(9000),
        ];
        let lists = COUNTS.map(|count| vec![count; rows]).into_iter();
        let lists = lists.chain([vec![], vec![0], vec![4, 3, 2, 1, 0], vec![0; 4000]]).collect();
        Self {
            rows,
            residues,
            signed,
            batches: vec![usual, odd, empty, one, wide, other, elsewhere],
            divisors: divisors.into_iter().chain([splat]).collect(),
            factors: factors.into_iter().chain([seven]).collect(),
            masks,
            numbers,
            lists,
        }
    }

    /// Number of the last absurd choice of any kind.
    const MAX: usize = 16;

    /// The batches but the last one, whose device would compile kernels.
    fn receivers(&self) -> &[DynBatch] {
        &self.batches[..self.batches.len() - 1]
    }

    fn signed_receivers(&self) -> &[DynSignedBatch] {
        &self.signed[..self.signed.len() - 1]
    }
}

/// Returns the element of a list with this number, from the first one on again after the last.
fn nth<T>(list: &[T], number: usize) -> &T {
    &list[number % list.len()]
}

/// A declared operation of a receiver.
struct Operation<R: 'static> {
    name: &'static str,
    /// Kinds of its arguments.
    kinds: &'static [&'static str],
    /// Calls it with the arguments of these numbers.
    call: fn(&Arguments, &R, &[usize; 4]) -> Result<()>,
}

/// Binds an argument of a declared kind for the rest of a call.
macro_rules! argument {
    (Rows, $all:ident, $number:expr) => {
        nth(&$all.batches, $number)
    };
    (Residue, $all:ident, $number:expr) => {
        nth(&$all.residues, $number)
    };
    (OutResidues, $all:ident, $number:expr) => {
        &mut nth(&$all.residues, $number).try_clone()?
    };
    (SignedRows, $all:ident, $number:expr) => {
        nth(&$all.signed, $number)
    };
    (Out, $all:ident, $number:expr) => {
        &mut nth(&$all.batches, $number).try_clone()?
    };
    (Divisor, $all:ident, $number:expr) => {
        nth(&$all.divisors, $number)
    };
    (Factor, $all:ident, $number:expr) => {
        nth(&$all.factors, $number)
    };
    (Count, $all:ident, $number:expr) => {
        *nth(&COUNTS, $number)
    };
    (Word, $all:ident, $number:expr) => {
        *nth(&COUNTS, $number) as u64
    };
    // Of steps that are all taken: the others would take years.
    (Steps, $all:ident, $number:expr) => {
        *nth(&COUNTS[..6], $number)
    };
    (Counts, $all:ident, $number:expr) => {
        nth(&$all.lists, $number).as_slice()
    };
    (RowRange, $all:ident, $number:expr) => {
        *nth(&COUNTS, $number)..*nth(&COUNTS, $number / 2 + 1)
    };
    (Number, $all:ident, $number:expr) => {
        nth(&$all.numbers, $number)
    };
    (Numbers, $all:ident, $number:expr) => {
        &$all.numbers[..$number % ($all.numbers.len() + 1)]
    };
    (InMask, $all:ident, $number:expr) => {
        nth(&$all.masks, $number)
    };
    (OutMask, $all:ident, $number:expr) => {
        &mut Mask::none(nth(&$all.masks, $number).device(), nth(&$all.masks, $number).len())?
    };
    (OutWords, $all:ident, $number:expr) => {
        &mut collected($all.rows + 4, 0)?[..($all.rows + $number) % ($all.rows + 5)]
    };
    (OutRemainders, $all:ident, $number:expr) => {
        &mut nth(&$all.batches, $number).rem_digit_words(3)?
    };
    (OutOrders, $all:ident, $number:expr) => {
        &mut collected($all.rows + 4, Ordering::Equal)?[..($all.rows + $number) % ($all.rows + 5)]
    };
}

/// Makes a call out of a declaration, with the arguments of its kinds one after the other.
macro_rules! call {
    ($name:ident, $all:ident, $rows:ident, $numbers:ident, $place:expr, [$($arg:expr),*]) => {
        $rows.$name($($arg),*)
    };
    (
        $name:ident, $all:ident, $rows:ident, $numbers:ident, $place:expr, [$($arg:expr),*]
        $kind:ident $($more:ident)*
    ) => {
        call!(
            $name, $all, $rows, $numbers, $place + 1,
            [$($arg,)* argument!($kind, $all, $numbers[$place])] $($more)*
        )
    };
}

macro_rules! operations {
    ($list:ident of $receiver:ident; $(fn $name:ident($($kind:ident),*);)*) => {
        const $list: &[Operation<$receiver>] = &[$(Operation {
            name: stringify!($name),
            kinds: &[$(stringify!($kind)),*],
            call: |_all, rows, _numbers| {
                call!($name, _all, rows, _numbers, 0, [] $($kind)*).map(drop)
            },
        }),*];
    };
}

gpuint_testkit::residue_faces! { operations OF_RESIDUES of DynResidues; }
gpuint_testkit::signed_faces! { operations OF_SIGNED of DynSignedBatch; }
gpuint_testkit::faces! { operations OPERATIONS of DynBatch; }

/// Calls `work`, and notes a panic under `name`.
fn check<R>(name: impl Display, panics: &mut Vec<String>, work: impl FnOnce() -> Result<R>) {
    let Err(panic) = catch_unwind(AssertUnwindSafe(|| work().map(drop))) else { return };
    let words = panic.downcast_ref::<String>().map_or("", String::as_str);
    panics.push(format!("{name}: {words}"));
}

#[test]
fn operations_do_not_panic() {
    let all = Arguments::new(&Device::cpu(), 256, ROWS);
    let mut panics = Vec::new();
    check_all(&all, OPERATIONS, all.receivers(), &mut panics);
    check_all(&all, OF_RESIDUES, &all.residues, &mut panics);
    check_all(&all, OF_SIGNED, all.signed_receivers(), &mut panics);
    assert!(panics.is_empty(), "{} panics: {:#?}", panics.len(), &panics[..panics.len().min(40)]);
}

/// Calls operations of all receivers with absurd arguments.
fn check_all<R>(
    all: &Arguments,
    operations: &[Operation<R>],
    receivers: &[R],
    panics: &mut Vec<String>,
) {
    for &Operation { name, kinds, call } in operations {
        for (receiver, rows) in receivers.iter().enumerate() {
            // Each argument is absurd while the others are usual, and then all of them are.
            let alone = (0..kinds.len()).flat_map(|place| {
                (1..Arguments::MAX).map(move |number| {
                    let mut numbers = [0; 4];
                    numbers[place] = number;
                    numbers
                })
            });
            let together = (0..Arguments::MAX).map(|number| [number; 4]);
            for numbers in alone.chain(together) {
                check(format_args!("{name} of {receiver} {numbers:?}"), panics, || {
                    call(all, rows, &numbers)
                });
            }
        }
    }
}

/// Numbers of the arguments of a kind that do not match a usual receiver, with the errors.
fn mismatches(kind: &str) -> Vec<(usize, Error)> {
    let length = |number, right| (number, Error::LengthMismatch { left: ROWS, right });
    let device = |number| (number, Error::DeviceMismatch);
    match kind {
        "Rows" | "Out" | "SignedRows" => vec![length(2, 0), length(3, 1), device(6)],
        "OutRemainders" | "Residue" | "OutResidues" => vec![length(2, 0), length(3, 1)],
        "Divisor" | "Factor" => vec![length(1, 1)],
        "InMask" | "OutMask" => vec![length(1, 0), length(2, 1), length(3, 1000), device(4)],
        "OutWords" | "OutOrders" => vec![length(1, ROWS + 1), length(9, ROWS - 1)],
        _ => Vec::new(),
    }
}

/// Calls operations with one argument that does not match the receiver.
///
/// Returns the number of calls.
fn check_mismatches<R>(all: &Arguments, operations: &[Operation<R>], receiver: &R) -> usize {
    let mut calls = 0;
    for Operation { name, kinds, call } in operations {
        // Rows that are elsewhere, of any number, are other rows.
        let takes_any = |place| matches!((*name, place), ("is_equal", 0) | ("scatter_into", 1));
        // One step, base, bit or number for each row.
        let usual = |kind: &&str| match *kind {
            "Numbers" => ROWS,
            "Count" | "Word" | "Steps" | "Residue" | "OutResidues" => 1,
            _ => 0,
        };
        for (place, kind) in kinds.iter().enumerate().filter(|&(place, _)| !takes_any(place)) {
            for (number, error) in mismatches(kind) {
                let mut numbers = [0; 4];
                numbers.iter_mut().zip(*kinds).for_each(|(number, kind)| *number = usual(kind));
                numbers[place] = number;
                assert_eq!(call(all, receiver, &numbers), Err(error), "{name} {numbers:?}");
                calls += 1;
            }
        }
    }
    calls
}

#[test]
fn mismatched_operands_are_rejected() {
    for bits in [256, 4096, 65536] {
        let all = Arguments::new(&Device::cpu(), bits, ROWS);
        let [receiver, residues] = [&all.batches[0], &all.residues[1].to_batch().unwrap()];
        let before = [receiver, residues].map(|rows| rows.to_biguints().unwrap());
        let calls = check_mismatches(&all, OPERATIONS, receiver);
        assert!(calls > 2 * OPERATIONS.len(), "{calls}");
        assert!(check_mismatches(&all, OF_RESIDUES, &all.residues[1]) > OF_RESIDUES.len());
        assert!(check_mismatches(&all, OF_SIGNED, &all.signed[0]) > OF_SIGNED.len());
        let residues = &all.residues[1].to_batch().unwrap();
        assert_eq!([receiver, residues].map(|rows| rows.to_biguints().unwrap()), before);
    }
}

/// Makes a list of one value, or returns an error.
fn collected<V: Clone>(len: usize, value: V) -> Result<Vec<V>> {
    let mut list = Vec::new();
    let bytes = (len * size_of::<V>()) as u64;
    list.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes })?;
    list.resize(len, value);
    Ok(list)
}

/// Calls an operation while the first, the second, ... request for memory and all after it fail,
/// until no request is left. Returns the number of calls that failed.
fn starve<R>(all: &Arguments, operation: &Operation<R>, receiver: &R) -> usize {
    // Batches of the same shape; then degrees and indices of 7 and 255, and divisors without zeros.
    let call = |number| move |all: &_| (operation.call)(all, receiver, &[number; 4]);
    [0, 14, 435].map(|number| starve_with(all, operation.name, call(number))).iter().sum()
}

fn starve_with(all: &Arguments, name: &str, call: impl Fn(&Arguments) -> Result<()>) -> usize {
    let (mut failures, mut succeeding) = (0, 0);
    loop {
        // An abort of the process leaves this line as its last one.
        println!("{name}: {succeeding} requests for memory succeed");
        HAS_FAILED.store(false, Access::Relaxed);
        REMAINING.store(succeeding, Access::Relaxed);
        let result = call(all);
        REMAINING.store(usize::MAX, Access::Relaxed);
        if !HAS_FAILED.load(Access::Relaxed) {
            return failures;
        }
        if let Err(error) = result {
            assert!(matches!(error, Error::OutOfMemory { .. }), "{name}: {error}");
            failures += 1;
        }
        // Some operations make hundreds of batches.
        succeeding += 1 + succeeding / 8;
    }
}

#[test]
fn operations_without_memory_return_errors() {
    // In a separate process: other tests need memory.
    alone(&[("RAYON_NUM_THREADS", "2".as_ref())], || {
        // A list of words has a counted length.
        let all = Arguments::new(&Device::cpu(), 256, COUNTED_BYTES / 8 + 8);
        let mut failures = 0;
        for operation in OPERATIONS {
            failures += starve(&all, operation, &all.batches[0]);
        }
        for operation in OF_RESIDUES {
            failures += starve(&all, operation, &all.residues[0]);
        }
        for operation in OF_SIGNED {
            failures += starve(&all, operation, &all.signed[0]);
        }
        assert!(failures > 2 * OPERATIONS.len(), "{failures}");
    });
}

/// Shapes that are not valid, or not built.
fn shapes() -> impl Iterator<Item = Shape> {
    let digits = [DigitKind::U16, DigitKind::U32, DigitKind::U64];
    let shapes = COUNTS.into_iter().flat_map(move |bits| {
        let of_digit = move |digit| COUNTS.map(|q| Shape { bits, q, digit });
        digits.into_iter().flat_map(of_digit)
    });
    shapes.filter(|shape| shape.checked().is_err())
}

#[test]
fn shapes_that_are_not_valid_are_errors() {
    let mut panics = Vec::new();
    for device in [Device::cpu(), Device::cpu().with_jit()] {
        let rows = DynBatch::splat(&device, shape(256), 7, 2).unwrap();
        for shape in shapes() {
            let mut refused = |name: &str, call: &dyn Fn() -> Result<()>| {
                check(format_args!("{name} {shape:?}"), &mut panics, || {
                    let error = call().unwrap_err();
                    assert_eq!(error, Error::ShapeMissing { shape }, "{name}");
                    Ok(())
                });
            };
            refused("zeros", &|| DynBatch::zeros(&device, shape, 0).map(drop));
            refused("splat", &|| DynBatch::splat(&device, shape, 1, 1).map(drop));
            refused("biguints", &|| {
                DynBatch::from_biguints(&device, shape, [BigUint::ZERO]).map(drop)
            });
            refused("bytes", &|| DynBatch::from_le_bytes(&device, shape, &[0; 8]).map(drop));
            refused("be bytes", &|| DynBatch::from_be_bytes(&device, shape, &[0; 8]).map(drop));
            refused("decimal", &|| DynBatch::from_decimal(&device, shape, &["1"]).map(drop));
            refused("hex", &|| DynBatch::from_hex(&device, shape, &["1"]).map(drop));
            refused("numbers", &|| DynBatch::from_numbers(&device, shape, &[1u64]).map(drop));
            refused("host", &|| HostBatch::new(&device, shape, 3).map(drop));
            refused("divisor", &|| DynDivisor::splat(&device, shape, 3).map(drop));
            refused("modulus", &|| DynModulus::splat(&device, shape, 3).map(drop));
            refused("resized", &|| rows.resized(shape).map(drop));
            refused("base", &|| {
                let [base, modulus] = [2u32, 9].map(BigUint::from);
                DynFixedBase::new(&device, shape, &base, &modulus, 8).map(drop)
            });
            refused("signed", &|| {
                DynSignedBatch::from_bigints(&device, shape, &[BigInt::from(-1)]).map(drop)
            });
            refused("pool", &|| {
                let pool = Pool::of([device.clone()])?;
                pool.run(shape, 1, [&mut [0u8][..]], |_| Ok(()), |(), _, _| Ok(())).map(drop)
            });
            for count in COUNTS {
                check(format_args!("algorithm {shape:?}"), &mut panics, || {
                    device.algorithm(Op::MulLo, Strategy::Auto, shape, count)
                });
            }
        }
        for bits in COUNTS {
            check("narrowest", &mut panics, || Ok((device.narrowest(bits), narrowest(bits))));
        }
    }
    assert!(panics.is_empty(), "{} panics: {:#?}", panics.len(), &panics[..panics.len().min(40)]);
}

#[test]
fn numbers_of_rows_are_checked() {
    let device = Device::cpu();
    let shape = shape(256);
    let [base, modulus] = [2u32, 9].map(BigUint::from);
    let (rows, three) = (DynBatch::splat(&device, shape, 7, 3).unwrap(), vec![0u8; 96]);
    let signed = DynSignedBatch::from_bigints(&device, shape, &[BigInt::from(-3)]).unwrap();
    let modulus_of_all = DynModulus::splat(&device, shape, 9).unwrap();
    let residues = DynResidues::new(&rows, &modulus_of_all).unwrap();
    let tree = DynProductTree::new(&rows).unwrap();
    let crt = DynCrt::new(&rows.slice(0..1).unwrap()).unwrap();
    let pool = Pool::of([device.clone()]).unwrap();
    let mut panics = Vec::new();
    for count in COUNTS {
        let is_huge = count > 1 << 32;
        let mut check = |name: &str, call: &mut dyn FnMut() -> Result<()>| {
            check(format_args!("{name} {count}"), &mut panics, call);
        };
        // Memory for fewer rows may be there: no page of it is touched before it is used.
        if count <= 257 || is_huge {
            check("zeros", &mut || DynBatch::zeros(&device, shape, count).map(drop));
            check("splat", &mut || DynBatch::splat(&device, shape, 7, count).map(drop));
            check("mask", &mut || Mask::none(&device, count)?.indices().map(drop));
            check("host", &mut || HostBatch::new(&device, shape, count).map(drop));
            check("residues", &mut || DynResidues::splat(&base, count, &modulus_of_all).map(drop));
            check("base", &mut || {
                DynFixedBase::new(&device, shape, &base, &modulus, count)?.pow(&rows).map(drop)
            });
        }
        check("row", &mut || rows.row(count).map(drop));
        check("signed row", &mut || signed.row(count).map(drop));
        check("read", &mut || rows.read_le_bytes(count, &mut three.clone()));
        check("write", &mut || rows.try_clone()?.write_le_bytes(count, &three));
        check("copies", &mut || {
            let mut host = HostBatch::new(&device, shape, 3)?;
            rows.download(count, &mut host)?;
            rows.try_clone()?.upload(count, &mut host)?;
            host.set_len(count)
        });
        check("pool", &mut || {
            let mut bytes = three.clone();
            let results = [&mut bytes[..]];
            pool.run(shape, count, results, |_| Ok(()), |(), chunk, _| chunk.part(&three).map(drop))
                .map(drop)
        });
        if !is_huge {
            check("pool without results", &mut || {
                let results: [&mut [u8]; 1] = [&mut []];
                pool.run(
                    shape,
                    count,
                    results,
                    |_| Ok(()),
                    |(), chunk, _| chunk.part::<u8>(&[]).map(drop),
                )
                .map(drop)
            });
        }
        let value = BigUint::from(count);
        check("power of residues", &mut || residues.pow_all(&value).map(drop));
        check("remainders", &mut || tree.remainders(&value).map(drop));
        check("crt", &mut || crt.residues(&rows).and_then(|all| crt.combine(&all)).map(drop));
    }
    assert!(panics.is_empty(), "{} panics: {:#?}", panics.len(), &panics[..panics.len().min(40)]);
}
