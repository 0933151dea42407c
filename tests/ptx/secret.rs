//! Traces of the kernels that have secret operands: equal for all secrets of one length.

use std::num::NonZeroU32;

use gpuint::num_bigint::BigUint;
use gpuint::{Algorithm, Op, Product};
use gpuint_testkit::cases::secret_records;
use gpuint_testkit::launch::{Operands, Params, bytes_of};
use gpuint_testkit::operands::{ones, power};
use gpuint_testkit::oracle;
use gpuint_testkit::ptx::{self, How, Run, UNWRITTEN};
use gpuint_testkit::random::Random;
use ptxi::{Checks, Counts, Module};

use super::{SEED, compiled, plain};

/// One row more than a block has, so that a warp computes two rows one after the other.
const ROWS: usize = 5;

/// Secret operands of a row.
#[derive(Clone)]
struct Secret {
    name: &'static str,
    base: BigUint,
    exponent: BigUint,
    modulus: BigUint,
}

fn random_below(random: &mut Random, bits: usize) -> BigUint {
    let bytes: Vec<u8> = (0..bits / 8).map(|_| random.word() as u8).collect();
    BigUint::from_bytes_le(&bytes)
}

/// Exponents and moduli of one length with extreme values, and bases of any kind.
fn secrets(bits: usize, exponent_bits: usize) -> Vec<Secret> {
    let mut random = Random::new(SEED);
    let modulus = random_below(&mut random, bits) | power(bits - 1) | BigUint::from(1u32);
    let base = random_below(&mut random, bits);
    let drawn = random_below(&mut random, exponent_bits);
    let with = |name, base: &BigUint, exponent: BigUint, modulus: &BigUint| Secret {
        name,
        base: base.clone(),
        exponent,
        modulus: modulus.clone(),
    };
    let all_ones = ones(bits);
    vec![
        with("random", &base, drawn.clone(), &modulus),
        with("exponent 0", &base, BigUint::ZERO, &modulus),
        with("exponent 1", &base, 1u32.into(), &modulus),
        with("exponent of ones", &base, ones(exponent_bits), &modulus),
        with("exponent with the top bit only", &base, power(exponent_bits - 1), &modulus),
        with("modulus of ones", &base, drawn.clone(), &all_ones),
        with("modulus above a power of two", &base, drawn.clone(), &(power(bits - 1) + 1u32)),
        with("short modulus", &base, drawn.clone(), &(power(bits / 3) + 1u32)),
        with("modulus 1", &base, drawn.clone(), &1u32.into()),
        with("base 0", &BigUint::ZERO, drawn.clone(), &modulus),
        with("base of ones", &all_ones, drawn.clone(), &all_ones),
        with("base below the modulus", &(&modulus - 1u32), drawn, &modulus),
    ]
}

fn run(module: &Module, kernel: &str, given: &Operands, traced: bool) -> Run {
    let how = How { max_grid: 1, seed: 0, checks: Checks::default(), traced };
    ptx::run(module, kernel, given, how).unwrap_or_else(|error| panic!("{error}"))
}

/// Operands of some equal rows. `records` are those of the modulus; without a length the kernel
/// finds it in the exponents.
fn launch(
    secret: &Secret,
    bits: usize,
    rows: usize,
    records: Vec<u8>,
    exponent_bits: Option<NonZeroU32>,
) -> Operands {
    let column = |value: &BigUint| bytes_of(std::iter::repeat_n(value, rows), bits);
    Operands {
        inputs: [column(&secret.base), column(&secret.exponent), records],
        outputs: [rows * bits / 8, 0],
        rows,
        params: Params {
            broadcast_divisor: 1,
            exponent_bits: exponent_bits.map_or(0, NonZeroU32::get),
            ..Params::default()
        },
        without_status: true,
        ..Operands::default()
    }
}

fn secret_power(
    module: &Module,
    secret: &Secret,
    (bits, exponent_bits): (usize, usize),
    rows: usize,
    traced: bool,
) -> Counts {
    let records = secret_records(std::slice::from_ref(&secret.modulus), bits);
    let length = NonZeroU32::new(exponent_bits as u32);
    let given = launch(secret, bits, rows, records, length);
    let run = run(module, &format!("gpuint_pow_secret_b{bits}"), &given, traced);
    let expected = oracle::pow_mod(&secret.base, &secret.exponent, &secret.modulus);
    let expected = bytes_of(std::iter::repeat_n(&expected, rows), bits);
    assert!(run.outcome.outputs[0] == expected, "{bits} bits, {}: a wrong power", secret.name);
    let is_wiped = |&byte: &u8| byte == 0 || byte == UNWRITTEN;
    assert!(run.scratch.contains(&0) && run.scratch.iter().all(is_wiped), "powers are left");
    run.counts
}

/// The same power by the kernel whose time may depend on operands.
fn fast_power(module: &Module, secret: &Secret, bits: usize, rows: usize, traced: bool) -> Counts {
    let preparing = Operands {
        inputs: [bytes_of(std::iter::once(&secret.modulus), bits), vec![], vec![]],
        outputs: [plain(bits).prepared_bytes(), 0],
        rows: 1,
        ..Operands::default()
    };
    let prepared = run(module, &format!("gpuint_prepare_classical_b{bits}"), &preparing, false);
    let [records, _] = prepared.outcome.outputs;
    let given = launch(secret, bits, rows, records, None);
    run(module, &format!("gpuint_pow_mod_tensor_b{bits}"), &given, traced).counts
}

fn module(bits: usize) -> Option<Module> {
    let is_of_powers = |op, by: Algorithm| match op {
        Op::PowSecret => true,
        Op::PowMod => by.product() == Some(Product::TensorCore),
        Op::Prepare => by.product() == Some(Product::Classical),
        _ => false,
    };
    compiled(plain(bits), &[], is_of_powers).map(|(_, module)| module)
}

/// Compares the traces of a kernel for all secrets with that for the first one.
fn differences(secrets: &[Secret], mut trace: impl FnMut(&Secret) -> ptxi::Trace) -> Vec<String> {
    let first = trace(&secrets[0]);
    assert!(!first.is_empty());
    let difference = |secret: &Secret| {
        let found = first.difference(&trace(secret))?;
        Some(format!("{}: {found:?}", secret.name))
    };
    secrets[1..].iter().filter_map(difference).collect()
}

fn check_traces(bits: usize, exponent_bits: usize) {
    let Some(module) = module(bits) else { return };
    let secrets = secrets(bits, exponent_bits);
    let found = differences(&secrets, |secret| {
        let counts = secret_power(&module, secret, (bits, exponent_bits), ROWS, true);
        // Instructions whose time depends on values.
        for slow in ["div", "rem", "sqrt", "rcp", "call"] {
            assert_eq!(counts.matching(slow).warp, 0, "{slow}");
        }
        counts.trace
    });
    assert!(found.is_empty(), "{bits} bits depend on secrets:\n{}", found.join("\n"));
}

#[test]
fn traces_of_secret_powers_are_equal_at_1024_bits() {
    check_traces(1024, 48);
}

#[test]
fn traces_of_secret_powers_are_equal_at_2048_bits() {
    check_traces(2048, 40);
}

#[test]
fn traces_of_secret_powers_are_equal_at_4096_bits() {
    check_traces(4096, 16);
}

/// The fast kernel is a leak: the comparison that finds none above finds it.
#[test]
fn traces_of_fast_powers_differ() {
    let Some(module) = module(1024) else { return };
    let secrets = secrets(1024, 48);
    let found = differences(&secrets, |secret| fast_power(&module, secret, 1024, ROWS, true).trace);
    let names: Vec<_> = found.iter().filter_map(|text| text.split_once(':')).collect();
    for leak in ["exponent 1", "exponent of ones", "short modulus"] {
        assert!(names.iter().any(|(name, _)| *name == leak), "{leak} is not found: {found:?}");
    }
}

/// Secrets cost at most a quarter more instructions, and as many matrix products but for digits
/// that are 0.
#[test]
fn secret_powers_cost_little_more_than_fast_ones() {
    let mut dear = Vec::new();
    for (bits, exponent_bits) in [(1024, 512), (2048, 512), (4096, 512)] {
        let Some(module) = module(bits) else { return };
        let secret = &secrets(bits, exponent_bits)[0];
        let kept = secret_power(&module, secret, (bits, exponent_bits), 1, false);
        let fast = fast_power(&module, secret, bits, 1, false);
        let ratio = |of: fn(&Counts) -> u64| of(&kept) as f64 / of(&fast) as f64;
        let instructions = ratio(|counts| counts.total.warp);
        let products = ratio(|counts| counts.matching("mma").warp);
        let words = format!(
            "{bits} bits, exponents of {exponent_bits}: {instructions:.3} of the instructions, \
             {products:.3} of the matrix products"
        );
        println!("{words}");
        if instructions > 1.25 || products > 1.05 {
            dear.push(words);
        }
    }
    assert!(dear.is_empty(), "{}", dear.join("\n"));
}
