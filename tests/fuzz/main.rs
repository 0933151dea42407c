//! A state machine over the public interface: random programs of operations on a pool of batches,
//! on several devices at once. Every result and every error is compared with independent
//! arithmetic.
//!
//! `GPUINT_FUZZ_SECONDS` is the time for each shape (3), `GPUINT_FUZZ_SEED` the first seed (1), and
//! `GPUINT_FUZZ_CUDA=1` adds the first GPU. A program that fails is shrunk and stored in
//! `tests/fuzz.regressions`, whose programs run first.
//!
//! The operations are the forms of `gpuint_testkit::forms`, whose results `gpuint_testkit::cases`
//! computes, and those of `gpuint_testkit::compositions`.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::time::{Duration, Instant};

use gpuint::num_bigint::BigUint;
use gpuint::{Batch, Device, Error, GpuUint, Op, SimtOptions, Widen};
use gpuint_testkit::forms;
use gpuint_testkit::random::Random;
use gpuint_testkit::skip::skip;

mod program;

use program::{MAKE, Step, operations, run, shrink, text};

/// Programs that failed once: `BITS:Q:DIGIT NAME:SEED NAME:SEED ...`.
const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzz.regressions");
/// Number of operations of a program.
const STEPS: usize = 60;

/// Stored failing programs of a shape.
fn regressions<T: Widen>() -> Vec<Vec<Step>> {
    let kept = fs::read_to_string(REGRESSIONS).unwrap_or_default();
    let lines = kept.lines().filter(|line| !line.starts_with('#'));
    let steps = |line: &str| -> Option<Vec<Step>> {
        let rest = line.strip_prefix(&T::SHAPE.to_string())?.strip_prefix("; ")?;
        let step = |step: &str| {
            let (name, seed) = step.rsplit_once(": ").unwrap();
            Step { name: name.to_owned(), seed: u64::from_str_radix(seed, 16).unwrap() }
        };
        Some(rest.split("; ").map(step).collect())
    };
    lines.filter_map(steps).collect()
}

fn number(name: &str, default: u64) -> u64 {
    let Some(text) = env::var_os(name) else { return default };
    let text = text.to_string_lossy();
    text.parse().unwrap_or_else(|_| panic!("{name}=\"{text}\" is not a number"))
}

/// Devices with kernels for a shape.
fn devices<T: Widen>() -> Vec<Device> {
    let simt = |seed| Device::simt_with(SimtOptions { seed, ..SimtOptions::default() });
    let mut devices = vec![Device::cpu(), simt(0), simt(7)];
    if number("GPUINT_FUZZ_CUDA", 0) == 1 {
        devices.push(Device::cuda(0).unwrap());
        devices.push(Device::cuda(0).unwrap());
    }
    devices.retain(|device| {
        let ones = Batch::<T>::splat(device, &BigUint::from(1u32), 1).unwrap();
        match ones.div_rem(&ones) {
            Err(error @ Error::KernelMissing { .. }) => {
                skip("cxx", error);
                false
            }
            _ => true,
        }
    });
    devices
}

/// Runs the stored programs of a shape and then new ones, until the time is over.
fn fuzz<T: Widen>() {
    let (devices, operations) = (devices::<T>(), operations::<T>());
    let fails = |steps: &[Step]| run(&devices, &operations, steps).is_err();
    let check = |steps: Vec<Step>, is_new: bool| {
        let Err(_) = run(&devices, &operations, &steps) else { return };
        let steps = shrink(steps, fails);
        let error = run(&devices, &operations, &steps).err().unwrap_or_default();
        let line = text::<T>(&steps);
        if is_new
            && let Ok(mut file) = OpenOptions::new().append(true).create(true).open(REGRESSIONS)
        {
            let _ = writeln!(file, "{line}");
        }
        panic!("{error}\n{line}");
    };
    for steps in regressions::<T>() {
        check(steps, false);
    }
    let seconds = number("GPUINT_FUZZ_SECONDS", 3);
    let mut random = Random::new(number("GPUINT_FUZZ_SEED", 1) ^ (T::BITS * T::Q) as u64);
    // The first program is not timed: it waits for kernels of the shim that are not on the disk.
    let mut start = None::<Instant>;
    let mut steps_done = 0;
    while start.is_none_or(|start| start.elapsed() < Duration::from_secs(seconds)) {
        let step = |_| {
            let known = random.below(operations.len() + operations.len() / 8);
            let name = operations.get(known).map_or(MAKE, |operation| operation.name());
            Step { name: name.to_owned(), seed: random.word() }
        };
        let steps: Vec<Step> = (0..STEPS).map(step).collect();
        steps_done += steps.len();
        check(steps, true);
        start.get_or_insert_with(Instant::now);
    }
    println!("{}: {steps_done} operations on {} devices", T::SHAPE, devices.len());
}

#[test]
fn programs_of_1024_bits_in_u64_digits_are_right() {
    fuzz::<GpuUint<1024>>();
}

#[test]
fn programs_of_2048_bits_in_two_u16_digits_are_right() {
    fuzz::<GpuUint<2048, 2, u16>>();
}

#[test]
fn programs_of_1024_bits_in_single_u32_digits_are_right() {
    fuzz::<GpuUint<1024, 1, u32>>();
}

#[test]
fn programs_of_1536_bits_in_three_u64_digits_are_right() {
    fuzz::<GpuUint<1536, 3>>();
}

#[test]
fn programs_of_8192_bits_are_right() {
    fuzz::<GpuUint<8192>>();
}

#[test]
fn shrinking_keeps_failing_steps() {
    let step = |seed| Step { name: MAKE.to_owned(), seed };
    let steps: Vec<Step> = (0..60).map(step).collect();
    let fails = |steps: &[Step]| [7, 31].iter().all(|&seed| steps.contains(&step(seed)));
    assert!(shrink(steps, fails) == [step(7), step(31)]);
}

/// Operations without a form of their own: parts of other operations, or computed by compositions.
const WITHOUT_FORM: [Op; 34] = [
    Op::SumOfProducts,
    Op::WideSumOfProducts,
    Op::ShiftedInverse,
    Op::Prepare,
    Op::PowSecret,
    Op::MulAddSecret,
    Op::HalveMod,
    Op::PrepareOdd,
    Op::MulResidues,
    Op::SquareResidues,
    Op::Fold,
    Op::PowSpecial,
    Op::PowSpecialBase,
    Op::PowFermat,
    Op::StrongBase2,
    Op::StrongTerms,
    Op::ExtraStrongTerms,
    Op::StrongLucas,
    Op::Gather,
    Op::Lookup,
    Op::Select,
    Op::Resize,
    Op::ToDecimal,
    Op::FromDecimal,
    Op::GcdWindowed,
    Op::HalfGcd,
    Op::InverseModWindowed,
    Op::Rational,
    Op::RootDividend,
    Op::RootRemainder,
    Op::RootCorrect,
    Op::CheckEquation,
    Op::CheckDivRemBy,
    Op::CheckEqual,
];

#[test]
fn every_other_operation_has_a_form() {
    let forms = forms::untyped();
    let has_form = |&op: &Op| forms.iter().any(|form| form.op == op);
    let without: Vec<Op> = Op::ALL.iter().copied().filter(|op| !has_form(op)).collect();
    assert_eq!(without, WITHOUT_FORM);
}

#[test]
fn operations_have_different_names() {
    let mut names: Vec<_> =
        operations::<GpuUint<1024>>().iter().map(program::Operation::name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
