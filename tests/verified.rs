//! Faults of results on handles of [`Device::verified`]: flipped bits do not get through, and a
//! fault that stays is an error with its row.

use std::fmt::Debug;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gpuint::num_bigint::BigUint;
use gpuint::{
    Device, DigitKind, DynBatch, DynDivisor, DynFixedBase, Error, Faults, Op, Result, Shape,
    SimtOptions, Upset, plan_upset,
};
use gpuint_testkit::forms::{Arg, Call, Columns, Form, Returned, Untyped, untyped};
use gpuint_testkit::operands::{DIVISIONS, Family, PRODUCTS, rows};
use gpuint_testkit::skip::skip;

/// Divisor of one digit, and distance of shifts.
const DIGIT: u64 = 0xfedc_ba98_7654_3211;
const DISTANCE: u64 = 77;

/// Operands of the operations, as bytes.
struct Values {
    shape: Shape,
    a: Vec<u8>,
    b: Vec<u8>,
    v: Vec<u8>,
    odd: Vec<u8>,
    count: usize,
}

/// Operands of the operations on a device.
struct Inputs {
    a: DynBatch,
    b: DynBatch,
    /// Not zero.
    v: DynBatch,
    odd: DynBatch,
    indices: Vec<usize>,
}

impl Values {
    fn new(shape: Shape, count: usize, seed: u64) -> Result<Self> {
        let drawn = |families: &[Family]| rows(seed, families, shape.into(), 0..count);
        let (divisions, products) = (drawn(DIVISIONS), drawn(PRODUCTS));
        let batch = |values: Vec<BigUint>| {
            DynBatch::from_biguints(&Device::cpu(), shape, values)?.to_le_bytes()
        };
        let one = BigUint::from(1u32);
        Ok(Self {
            shape,
            count,
            a: batch(divisions.iter().map(|row| row.a.clone()).collect())?,
            b: batch(products.iter().map(|row| row.b.clone()).collect())?,
            v: batch(divisions.iter().map(|row| row.b.clone().max(one.clone())).collect())?,
            odd: batch(divisions.iter().map(|row| &row.b | &one).collect())?,
        })
    }

    fn on(&self, device: &Device) -> Result<Inputs> {
        let batch = |bytes| DynBatch::from_le_bytes(device, self.shape, bytes);
        Ok(Inputs {
            a: batch(&self.a)?,
            b: batch(&self.b)?,
            v: batch(&self.v)?,
            odd: batch(&self.odd)?,
            indices: (0..self.count).map(|row| (7 * row + 3) % self.count).collect(),
        })
    }
}

impl Inputs {
    fn call(&self, form: &Form<Untyped>) -> Result<Columns<Untyped>> {
        let divisor = form.takes(Arg::Divisor).then(|| self.v.prepare()).transpose()?;
        let b = match form.op {
            Op::DivRem | Op::DivExact => &self.v,
            Op::InverseMod | Op::Jacobi => &self.odd,
            _ => &self.b,
        };
        let n = if form.takes(Arg::Digit) { DIGIT } else { DISTANCE };
        (form.call)(Call { divisor: divisor.as_ref(), ..Call::new(&self.a, b, n)? })
    }
}

/// Values of the results of an operation.
type Results = Vec<Vec<BigUint>>;

fn values(columns: Columns<Untyped>) -> Results {
    columns.into_iter().map(|column| column.values).collect()
}

/// An operation of which every row is checked.
struct Operation {
    name: &'static str,
    compute: Compute,
}

enum Compute {
    Form(Form<Untyped>),
    Other(fn(&Inputs) -> Result<Columns<Untyped>>),
}

macro_rules! operations {
    ($($name:ident: $inputs:ident => $results:expr;)*) => {
        [$(Operation {
            name: stringify!($name),
            compute: Compute::Other(|$inputs| $results.columns()),
        }),*]
    };
}

impl Operation {
    fn run(&self, of: &Inputs) -> Result<Results> {
        match &self.compute {
            Compute::Form(form) => of.call(form).map(values),
            Compute::Other(compute) => compute(of).map(values),
        }
    }
}

/// A form of each operation with one, and other operations. Not every power is checked.
fn checked() -> Vec<Operation> {
    let mut forms = untyped();
    forms.retain(|form| !matches!(form.op, Op::PowMod | Op::PowProductMod));
    forms.dedup_by_key(|form| (form.op, form.results));
    let forms = forms.into_iter();
    let forms = forms.map(|form| Operation { name: form.name, compute: Compute::Form(form) });
    let others = operations! {
        wrapping_add_all: of => of.a.wrapping_add_all(12345)?;
        sum_of_products: of =>
            DynBatch::wrapping_sum_of_products(&[(&of.a, &of.b), (&of.b, &of.v)])?;
        wide_sum: of => DynBatch::widening_sum_of_products(&[(&of.a, &of.b), (&of.b, &of.v)])?;
        masked_zeros: of => of.a.div_rem_masked(&of.a.wrapping_sub(&of.a)?)?;
        rem_all: of => of.a.rem_all(1_000_003)?;
        shifted_inverse: of => of.v.or_all(1)?.shifted_inverse(of.v.shape().bits / 64 - 1)?;
        gather: of => of.a.gather(&of.indices)?;
        select: of => of.a.select(&of.a.lt_mask(&of.b)?, &of.b)?;
    };
    forms.chain(others).collect()
}

fn shape(bits: usize) -> Shape {
    Shape { bits, q: 4, digit: DigitKind::U64 }
}

/// Injects a fault into `trials` computations of each operation at a shape, and compares with the
/// results without faults. Returns the number of flipped bits, and the number of computations that
/// are wrong on a handle without checks.
fn inject(device: &Device, shape: Shape, count: usize, trials: u64) -> (u64, u64) {
    let (mut flips, mut unchecked) = (0, 0);
    let values = Values::new(shape, count, 5).unwrap();
    for (index, operation) in checked().iter().enumerate() {
        let what = format!("{} at {shape} on {device}", operation.name);
        let expected = operation.run(&values.on(device).unwrap()).unwrap();
        let none = Faults::new(0, 0, 0, None);
        let inputs = values.on(&device.with_faults(&none)).unwrap();
        let before = none.launches();
        assert_eq!(operation.run(&inputs).unwrap(), expected, "{what}");
        let launches = none.launches() - before;
        assert!(launches > 0, "{what}");
        for trial in 0..trials {
            let seed = trial << 8 | index as u64;
            let faults = Faults::new(seed, before + trial % launches, 1, None);
            let harmed = device.with_faults(&faults);
            let inputs = values.on(&harmed.verified()).unwrap();
            let results = operation.run(&inputs);
            assert_eq!(results.as_ref(), Ok(&expected), "{what}, trial {trial}");
            flips += faults.flips();
            // A harmed intermediate result may end the process or run for hours without checks.
            if launches == 1 && trial < trials.div_ceil(10) {
                let faults = Faults::new(seed, before + trial % launches, 1, None);
                let inputs = values.on(&device.with_faults(&faults)).unwrap();
                unchecked += u64::from(operation.run(&inputs) != Ok(expected.clone()));
            }
        }
    }
    (flips, unchecked)
}

#[test]
fn flipped_bits_do_not_get_through_on_the_cpu() {
    let (mut flips, mut unchecked) = (0, 0);
    for (bits, count, trials) in [(256, 3, 140), (512, 4, 80), (256, 33, 45)] {
        let (more, wrong) = inject(&Device::cpu(), shape(bits), count, trials);
        println!("{bits} bits, {count} rows: {more} flipped bits");
        flips += more;
        unchecked += wrong;
    }
    println!("{flips} flipped bits, none got through; without checks {unchecked} of a tenth did");
    assert!(flips >= 10_000, "{flips}");
    assert!(unchecked > flips / 40, "{unchecked} of a tenth of {flips}");
}

/// Flipped bits of kernels are those of the process: tests on the shim take turns.
static SHIM: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    SHIM.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn upsets_in_kernels_do_not_get_through() {
    const TRIALS: u64 = 60;
    const HARMED: [&str; 9] = [
        "overflowing_add",
        "wrapping_mul",
        "mul_lo_hi",
        "div_rem",
        "div_rem_by",
        "div_rem_digit",
        "mul_mod",
        "isqrt_rem",
        "add_mod",
    ];
    let _alone = alone();
    let device = Device::simt_with(SimtOptions { host_threads: 1, ..SimtOptions::default() });
    let shape = shape(2048);
    let values = Values::new(shape, 3, 5).unwrap();
    for kind in [Upset::SharedMemory, Upset::Register] {
        let (mut flips, mut stopped, mut unchecked) = (0, 0, 0);
        for operation in checked().iter().filter(|operation| HARMED.contains(&operation.name)) {
            let name = operation.name;
            let expected = operation.run(&values.on(&device).unwrap()).unwrap();
            for is_verified in [true, false] {
                let device = if is_verified { device.verified() } else { device.clone() };
                let inputs = values.on(&device).unwrap();
                plan_upset(kind, u64::MAX, 0).unwrap();
                assert_eq!(operation.run(&inputs).unwrap(), expected, "{name}");
                let (_, events) = plan_upset(Upset::None, 0, 0).unwrap();
                for trial in 0..TRIALS.min(events) {
                    plan_upset(kind, trial * events / TRIALS, trial).unwrap();
                    let results = operation.run(&inputs);
                    let (flipped, _) = plan_upset(Upset::None, 0, 0).unwrap();
                    match (results, is_verified) {
                        (Ok(results), false) => unchecked += u64::from(results != expected),
                        (_, false) => {}
                        // A false assertion of the shim.
                        (Err(Error::Driver(_)), true) => stopped += flipped,
                        (results, true) => {
                            assert_eq!(
                                results.as_ref(),
                                Ok(&expected),
                                "{name}, {trial}: {kind:?}"
                            );
                            flips += flipped;
                        }
                    }
                }
            }
        }
        println!(
            "{kind:?}: {flips} flipped bits, none got through; {stopped} stopped the shim; \
             without checks {unchecked} got through"
        );
        assert!(flips > 50 && unchecked > 0, "{kind:?}: {flips}, {unchecked}");
    }
}

#[test]
fn flipped_bits_do_not_get_through_on_the_kernels() {
    let _alone = alone();
    let device = Device::simt();
    for (bits, count) in [(256, 3), (1024, 5)] {
        let (flips, unchecked) = inject(&device, shape(bits), count, 3);
        println!("{bits} bits: {flips} flipped bits, none got through; {unchecked} without checks");
        assert!(flips >= checked().len() as u64 && unchecked > 0);
    }
}

#[test]
fn flipped_bits_do_not_get_through_on_a_gpu() {
    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(error) => return skip("gpu", error),
    };
    let mut flips = 0;
    for (bits, count, trials) in [(256, 200, 120), (2048, 100, 90), (16384, 20, 60)] {
        let (more, unchecked) = inject(&device, shape(bits), count, trials);
        println!("{bits} bits: {more} flipped bits, none got through; {unchecked} without checks");
        flips += more;
    }
    assert!(flips >= 10_000, "{flips}");
}

#[test]
fn fault_that_stays_is_an_error_with_its_row() {
    let _alone = alone();
    for device in [Device::cpu(), Device::simt()] {
        for operation in &checked() {
            let name = operation.name;
            let faults = Faults::new(1, 0, u64::MAX, Some(2));
            let harmed = device.with_faults(&faults).verified();
            let inputs = Values::new(shape(256), 4, 9).unwrap().on(&harmed).unwrap();
            match operation.run(&inputs) {
                Err(Error::FaultyDevice { row, .. }) => {
                    // The first launch of `rem_all` prepares one row: the divisor.
                    assert_eq!(row, if name == "rem_all" { 0 } else { 2 }, "{name}");
                }
                other => panic!("{name} on {device}: {other:?}"),
            }
        }
    }
    let faults = Faults::new(1, 0, u64::MAX, Some(3));
    let device = Device::cpu().with_faults(&faults).verified();
    let inputs = Values::new(shape(1024), 5, 9).unwrap().on(&device).unwrap();
    let error = inputs.a.div_rem(&inputs.v).unwrap_err();
    assert_eq!(error, Error::FaultyDevice { row: 3, operation: "div_rem" });
    assert!(error.to_string().contains("row 3 of div_rem"), "{error}");
}

/// A handle without checks returns wrong rows or an error, and neither panics nor hangs.
#[test]
fn damaged_prepared_divisor_does_not_panic() {
    let damaged_by = operations! {
        div_rem_by: of => of.a.div_rem_by(&of.v.prepare()?)?;
        mul_mod: of => of.a.mul_mod(&of.b, &of.v.prepare()?)?;
        square_mod: of => of.a.square_mod(&of.v.prepare()?)?;
        sub_mod: of => of.a.sub_mod(&of.b, &of.v.prepare()?)?;
        pow_mod: of => of.a.pow_mod_all(&BigUint::from(5u32), &of.v.prepare()?)?;
        rem_all: of => of.a.rem_all((1 << 61) - 1)?;
    };
    let values = Values::new(shape(1024), 3, 9).unwrap();
    let mut damaged = 0;
    for operation in &damaged_by {
        let name = operation.name;
        for trial in 0..400 {
            let faults = Faults::new(trial, 0, 1, None);
            let inputs = values.on(&Device::cpu().with_faults(&faults)).unwrap();
            match operation.run(&inputs) {
                Ok(_) => {}
                Err(Error::Driver(text)) => {
                    assert!(text.starts_with("the prepared divisor of row "), "{name}: {text}");
                    damaged += 1;
                }
                Err(error) => panic!("{name}, trial {trial}: {error}"),
            }
            assert_eq!(faults.flips(), 1, "{name}");
        }
    }
    // A record has a word of 64 bits for its length.
    assert!(damaged > 20, "{damaged}");
}

/// Unverified handles of the CPU compute such roots without operations on batches.
#[test]
fn roots_of_any_degree_are_checked() {
    let faults = Faults::new(1, 0, u64::MAX, Some(2));
    let device = Device::cpu().with_faults(&faults).verified();
    let inputs = Values::new(shape(1024), 4, 9).unwrap().on(&device).unwrap();
    let error = inputs.a.nth_root(3).unwrap_err();
    assert!(matches!(error, Error::FaultyDevice { .. }), "{error}");
}

/// Runs work on a verified handle once for each of `trials` flipped bits, in the launch that
/// `place` selects by the trial and the number of launches. Returns the number of runs with right
/// results.
fn survived<R: PartialEq + Debug>(
    device: &Device,
    trials: u64,
    place: impl Fn(u64, u64) -> u64,
    run: impl Fn(&Device) -> Result<R>,
) -> u64 {
    let expected = run(device).unwrap();
    let none = Faults::new(0, 0, 0, None);
    assert_eq!(run(&device.with_faults(&none).verified()).unwrap(), expected);
    let is_right = |&trial: &u64| {
        let faults = Faults::new(trial, place(trial, none.launches()), 1, None);
        let results = run(&device.with_faults(&faults).verified()).unwrap();
        assert_eq!(faults.flips(), 1);
        results == expected
    };
    (0..trials).filter(is_right).count() as u64
}

#[test]
fn one_part_of_the_powers_is_computed_twice() {
    const TRIALS: u64 = 600;
    // A part is one row.
    for (count, least, most) in [(1, TRIALS, TRIALS), (8, 40, 110)] {
        let values = Values::new(shape(256), count, 3).unwrap();
        let found = survived(
            &Device::cpu(),
            TRIALS,
            |_, _| 1,
            |device| {
                let of = values.on(device)?;
                of.a.pow_mod_all(65537, &of.odd.prepare()?)?.to_le_bytes()
            },
        );
        println!("{count} rows: {found} of {TRIALS} flipped bits found");
        assert!((least..=most).contains(&found), "{count} rows: {found}");
    }
}

/// Powers of these odd rows by one exponent modulo one divisor.
fn powers_modulo_one(device: &Device, rows: &[BigUint], modulus: &BigUint) -> Result<Vec<u8>> {
    let divisor = DynDivisor::splat(&Device::cpu(), shape(256), modulus)?;
    let rows = DynBatch::from_biguints(device, shape(256), rows)?;
    rows.pow_mod_all(65_537, &divisor)?.to_le_bytes()
}

#[test]
fn flipped_bits_of_powers_modulo_one_divisor_do_not_get_through() {
    let power_of_two = |exponent: u32| BigUint::from(1u32) << exponent;
    let odd = |row: u32| (power_of_two(255) / (2 * row + 3)) | BigUint::from(1u32);
    // Modulo a power of two, flips of the bits above it are multiples of the modulus.
    for modulus in [power_of_two(127) - 1u32, power_of_two(200), BigUint::from(1u32)] {
        for count in [1, 2, 16, 37, 100] {
            let rows: Vec<_> = (0..count).map(odd).collect();
            let right = survived(
                &Device::cpu(),
                30,
                |trial, launches| trial % launches,
                |device| powers_modulo_one(device, &rows, &modulus),
            );
            assert_eq!(right, 30, "{modulus}, {count}");
        }
    }
}

#[test]
fn flipped_bits_of_fixed_bases_do_not_get_through() {
    let modulus = (BigUint::from(1u32) << 127) - 1u32;
    for (bits, count) in [(16, 1), (256, 5), (300, 37)] {
        // Their sums are longer than the exponents.
        let top = (BigUint::from(1u32) << bits) - 1u32;
        let exponents: Vec<_> = (0..count).map(|row: u32| &top - row).collect();
        let place = |trial, launches| launches * (2 * trial + 1) / 24;
        let right = survived(&Device::cpu(), 12, place, |device| {
            let table = DynFixedBase::new(device, shape(256), &3u32.into(), &modulus, bits)?;
            table.pow_rows(&exponents)?.to_le_bytes()
        });
        assert_eq!(right, 12, "{bits}, {count}");
    }
}

/// A row with a common divisor would hide the other rows of its group.
#[test]
fn powers_of_rows_that_are_not_coprime_are_checked_in_parts() {
    let modulus = (BigUint::from(1u32) << 127) - 1u32;
    let rows: Vec<_> = [0u32, 2, 3, 4, 5, 6, 7, 8].map(BigUint::from).into();
    // The last launch computes the powers.
    let found = survived(
        &Device::cpu(),
        600,
        |_, launches| launches - 1,
        |device| powers_modulo_one(device, &rows, &modulus),
    );
    assert!((40..=110).contains(&found), "{found}");
}

#[test]
fn flipped_bits_of_repeated_squares_do_not_get_through() {
    let device = Device::cpu();
    let values = Values::new(shape(256), 3, 3).unwrap();
    let divisor = values.on(&device).unwrap().a.or_all(1).unwrap().prepare().unwrap();
    // A prime, which divides none of the divisors.
    let base = (BigUint::from(1u32) << 89) - 1u32;
    // Steps have 240 squares.
    for count in [0, 5, 240, 3 * 240, 70 * 240 + 17] {
        let square = |device: &Device| {
            let base = DynBatch::splat(device, shape(256), &base, 3)?;
            base.square_mod_repeatedly(count, &divisor)?.to_le_bytes()
        };
        let right = survived(&device, 60, |trial, launches| trial % launches, square);
        assert_eq!(right, 60, "{count}");
        let faults = Faults::new(1, 0, u64::MAX, Some(1));
        let error = square(&device.with_faults(&faults).verified()).unwrap_err();
        assert!(matches!(error, Error::FaultyDevice { .. }), "{count}: {error}");
    }
}

/// Numbers of a special form are multiples of the prime of the checks, 2^61 - 1.
#[test]
fn multiples_of_the_prime_hide_no_flipped_bit() {
    let _alone = alone();
    let shape = shape(1024);
    let one = || BigUint::from(1u32);
    let divisors: Vec<BigUint> = [61, 122, 244, 610].map(|bits| (one() << bits) - 1u32).into();
    let dividends: Vec<BigUint> = (0..4).map(|row| (one() << (1020 - row)) / 3u32).collect();
    // A root whose square changes by a multiple of the prime if bit 61 flips.
    let root: BigUint = (one() << 60) - 1u32;
    let squares: Vec<BigUint> = (0..4u32).map(|row| root.pow(2) + row).collect();
    for (device, trials) in [(Device::cpu(), 1500), (Device::simt(), 40)] {
        let run = |device: &Device| {
            let batch = |values: &[BigUint]| DynBatch::from_biguints(device, shape, values);
            let quotients = batch(&dividends)?.div_rem(&batch(&divisors)?)?;
            let by_digit = batch(&dividends)?.div_rem_digit((1 << 61) - 1)?;
            Ok(values((quotients, by_digit, batch(&squares)?.isqrt_rem()?).columns()?))
        };
        let right = survived(&device, trials, |trial, _| trial % 3, run);
        assert_eq!(right, trials, "{device}");
    }
}

#[test]
fn masks_keep_bits_of_earlier_calls() {
    // Sums of more pairs than one launch takes add up the mask of their overflows.
    let device = Device::cpu();
    let ones = (BigUint::from(1u32) << 256) - 1u32;
    for device in [device.clone(), device.verified()] {
        let a = DynBatch::from_biguints(&device, shape(256), [&ones, &BigUint::ZERO]).unwrap();
        let pairs = vec![(&a, &a); 40];
        let (_, overflow) = DynBatch::widening_sum_of_products(&pairs).unwrap();
        assert_eq!(overflow.to_bools().unwrap(), [true, false]);
    }
}

#[test]
fn zero_divisors_stay_errors_of_their_row() {
    let device = Device::cpu().verified();
    let batch = |values: [u32; 4]| {
        let values = values.map(BigUint::from);
        DynBatch::from_biguints(&device, shape(256), values).unwrap()
    };
    let (u, v) = (batch([9, 8, 7, 6]), batch([2, 5, 0, 0]));
    assert_eq!(u.div_rem(&v).unwrap_err(), Error::DivisionByZero { row: 2 });
    let (q, r, zero) = u.div_rem_masked(&v).unwrap();
    assert_eq!(zero.to_bools().unwrap(), [false, false, true, true]);
    assert_eq!(q.row(1).unwrap(), BigUint::from(1u32));
    assert_eq!(r.row(3).unwrap(), BigUint::from(6u32));
    assert_eq!(v.prepare().unwrap_err(), Error::DivisionByZero { row: 2 });
    assert!(device.is_verified() && q.device().is_verified());
    assert!(device.with_jit().is_verified() && !Device::cpu().is_verified());
}
