//! Traces of the kernels that have secret operands: equal for all secrets of one length.

use std::num::NonZeroU32;

use gpuint::num_bigint::BigUint;
use gpuint::{Algorithm, Op, Product};
use gpuint_testkit::cases::{secret_factor_records, secret_records};
use gpuint_testkit::launch::{Operands, Params, bytes_of};
use gpuint_testkit::operands::{ones, power};
use gpuint_testkit::oracle;
use gpuint_testkit::ptx::{self, How, Run, UNWRITTEN};
use gpuint_testkit::random::Random;
use ptxi::{Checks, Counts, Module};

use super::{NEWEST, OF_NEWER_GENERATOR, SEED, compiled, plain};

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
            broadcast_divisor: true,
            exponent_bits: exponent_bits.map_or(0, NonZeroU32::get),
            ..Params::default()
        },
        without_status: true,
        ..Operands::default()
    }
}

fn secret_power(
    (module, by): (&Module, Product),
    secret: &Secret,
    (bits, exponent_bits): (usize, usize),
    rows: usize,
    traced: bool,
) -> Counts {
    let records = secret_records(std::slice::from_ref(&secret.modulus), bits);
    let length = NonZeroU32::new(exponent_bits as u32);
    let given = launch(secret, bits, rows, records, length);
    let run = run(module, &format!("gpuint_pow_secret_{}_b{bits}", by.name()), &given, traced);
    let expected = oracle::pow_mod(&secret.base, &secret.exponent, &secret.modulus);
    let expected = bytes_of(std::iter::repeat_n(&expected, rows), bits);
    assert!(run.outcome.outputs[0] == expected, "{bits} bits, {}: a wrong power", secret.name);
    let is_wiped = |&byte: &u8| byte == 0 || byte == UNWRITTEN;
    assert!(run.scratch.contains(&0) && run.scratch.iter().all(is_wiped), "powers are left");
    run.counts
}

/// The record of a divisor for the kernels whose time may depend on operands.
fn prepared(module: &Module, divisor: &BigUint, bits: usize) -> Vec<u8> {
    let preparing = Operands {
        inputs: [bytes_of(std::iter::once(divisor), bits), vec![], vec![]],
        outputs: [plain(bits).prepared_bytes(), 0],
        rows: 1,
        ..Operands::default()
    };
    let prepared = run(module, &format!("gpuint_prepare_classical_b{bits}"), &preparing, false);
    let [records, _] = prepared.outcome.outputs;
    records
}

/// The same power by the kernel whose time may depend on operands.
fn fast_power(
    (module, by): (&Module, Product),
    secret: &Secret,
    bits: usize,
    rows: usize,
    traced: bool,
) -> Counts {
    let given = launch(secret, bits, rows, prepared(module, &secret.modulus, bits), None);
    run(module, &format!("gpuint_pow_mod_{}_b{bits}", by.name()), &given, traced).counts
}

fn module(capability: u32, bits: usize, product: Product) -> Option<Module> {
    let is_of_powers = |op, by: Algorithm| match op {
        Op::PowSecret | Op::PowMod => by.product() == Some(product),
        Op::Prepare => by.product() == Some(Product::Classical),
        _ => false,
    };
    compiled(capability, plain(bits), &[], is_of_powers).map(|(_, module)| module)
}

/// Compares the traces of a kernel for all secrets with that for the first one.
fn differences<S: Named>(secrets: &[S], mut trace: impl FnMut(&S) -> ptxi::Trace) -> Vec<String> {
    let first = trace(&secrets[0]);
    assert!(!first.is_empty());
    let difference = |secret: &S| {
        let found = first.difference(&trace(secret))?;
        Some(format!("{}: {found:?}", secret.name()))
    };
    secrets[1..].iter().filter_map(difference).collect()
}

trait Named {
    fn name(&self) -> &str;
}

impl Named for Secret {
    fn name(&self) -> &str {
        self.name
    }
}

impl Named for Sum {
    fn name(&self) -> &str {
        self.name
    }
}

/// Asserts that a kernel has no instructions whose time depends on values.
fn check_instructions(counts: &Counts) {
    for slow in ["div", "rem", "sqrt", "rcp", "call"] {
        assert_eq!(counts.matching(slow).warp, 0, "{slow}");
    }
}

fn check_traces(capability: u32, by: Product, bits: usize, exponent_bits: usize) {
    let Some(module) = module(capability, bits, by) else { return };
    let secrets = secrets(bits, exponent_bits);
    let found = differences(&secrets, |secret| {
        let counts = secret_power((&module, by), secret, (bits, exponent_bits), ROWS, true);
        check_instructions(&counts);
        counts.trace
    });
    assert!(found.is_empty(), "{bits} bits depend on secrets:\n{}", found.join("\n"));
}

#[test]
fn traces_of_secret_powers_are_equal_at_1024_bits() {
    check_traces(NEWEST, Product::TensorCore, 1024, 48);
}

#[test]
fn traces_of_secret_powers_are_equal_at_2048_bits() {
    check_traces(NEWEST, Product::TensorCore, 2048, 40);
}

#[test]
fn traces_of_secret_powers_are_equal_at_4096_bits() {
    check_traces(NEWEST, Product::TensorCore, 4096, 16);
}

#[test]
fn traces_of_secret_powers_by_threads_are_equal() {
    check_traces(NEWEST, Product::Fp64, 1024, 48);
}

#[test]
fn traces_of_secret_powers_by_the_newer_generator_are_equal() {
    check_traces(OF_NEWER_GENERATOR, Product::TensorCore, 2048, 40);
    check_traces(OF_NEWER_GENERATOR, Product::Fp64, 1024, 48);
}

/// The fast kernels are leaks: the comparison that finds none above finds them.
#[test]
fn traces_of_fast_powers_differ() {
    for (by, leaks) in [
        (Product::TensorCore, ["exponent 1", "exponent of ones", "short modulus"]),
        (Product::Fp64, ["exponent 0", "exponent 1", "exponent of ones"]),
    ] {
        let Some(module) = module(NEWEST, 1024, by) else { return };
        let found = differences(&secrets(1024, 48), |secret| {
            fast_power((&module, by), secret, 1024, ROWS, true).trace
        });
        let names: Vec<_> = found.iter().filter_map(|text| text.split_once(':')).collect();
        for leak in leaks {
            assert!(names.iter().any(|(name, _)| *name == leak), "{leak} is not found: {found:?}");
        }
    }
}

/// Secrets cost at most 1.28 of the instructions and 1.07 of the products of other powers with
/// exponents of 512 bits, whose windows slide over zeros. (At 1024 bits by tensor cores, PTX has an
/// addition for each address of a column, which ptxas makes a part of the load.)
#[test]
fn secret_powers_cost_little_more_than_fast_ones() {
    let mut dear = Vec::new();
    for (by, bits, limit) in [
        (Product::TensorCore, 1024, 1.34),
        (Product::TensorCore, 2048, 1.28),
        (Product::TensorCore, 4096, 1.28),
        (Product::Fp64, 1024, 1.28),
    ] {
        let exponent_bits = 512;
        let Some(module) = module(NEWEST, bits, by) else { return };
        let secret = &secrets(bits, exponent_bits)[0];
        let kept = secret_power((&module, by), secret, (bits, exponent_bits), 1, false);
        let fast = fast_power((&module, by), secret, bits, 1, false);
        let ratio = |of: fn(&Counts) -> u64| of(&kept) as f64 / of(&fast) as f64;
        let instructions = ratio(|counts| counts.total.warp);
        let of_products = match by {
            Product::Fp64 => |counts: &Counts| counts.matching("fma").warp,
            _ => |counts: &Counts| counts.matching("mma").warp,
        };
        let products = ratio(of_products);
        let words = format!(
            "{bits} bits by {}, exponents of {exponent_bits}: {instructions:.3} of the \
             instructions, {products:.3} of the products",
            by.name()
        );
        println!("{words}");
        if instructions > limit || products > 1.07 {
            dear.push(words);
        }
    }
    assert!(dear.is_empty(), "{}", dear.join("\n"));
}

/// Secret operands of a sum `a factor + addend mod modulus`.
struct Sum {
    name: &'static str,
    a: BigUint,
    factor: BigUint,
    addend: BigUint,
    modulus: BigUint,
}

/// Operands with extreme values.
fn sums(bits: usize) -> Vec<Sum> {
    let mut random = Random::new(SEED);
    let modulus = random_below(&mut random, bits) | power(bits - 1) | BigUint::from(1u32);
    let [a, factor, addend] = [(); 3].map(|()| random_below(&mut random, bits));
    let with = |name, values: [&BigUint; 4]| {
        let [a, factor, addend, modulus] = values.map(Clone::clone);
        Sum { name, a, factor, addend, modulus }
    };
    let (zero, one, all) = (BigUint::ZERO, BigUint::from(1u32), ones(bits));
    let above = power(bits - 1) + 1u32;
    let short = power(bits / 3) + 1u32;
    let last = &modulus - 1u32;
    vec![
        with("random", [&a, &factor, &addend, &modulus]),
        with("row 0", [&zero, &factor, &addend, &modulus]),
        with("row of ones", [&all, &factor, &addend, &modulus]),
        with("factor 0", [&a, &zero, &addend, &modulus]),
        with("factor 1", [&a, &one, &addend, &modulus]),
        with("addend 0", [&a, &factor, &zero, &modulus]),
        with("addend of ones", [&a, &factor, &all, &modulus]),
        with("sum 0", [&zero, &factor, &zero, &modulus]),
        with("all of ones", [&all, &all, &all, &all]),
        with("all below the modulus", [&last, &last, &last, &modulus]),
        with("modulus above a power of two", [&a, &factor, &all, &above]),
        with("short modulus", [&a, &factor, &addend, &short]),
        with("modulus 1", [&a, &factor, &addend, &one]),
    ]
}

/// Operands of equal rows. `records` are those of the factor, or of the modulus for a product
/// without a factor.
fn launch_sum(sum: &Sum, bits: usize, records: Vec<u8>) -> Operands {
    let column = |value: &BigUint| bytes_of(std::iter::repeat_n(value, ROWS), bits);
    Operands {
        inputs: [column(&sum.a), column(&sum.addend), records],
        outputs: [ROWS * bits / 8, 0],
        rows: ROWS,
        params: Params { broadcast_divisor: true, ..Params::default() },
        without_status: true,
        ..Operands::default()
    }
}

/// Traces of sums are equal for all operands, at all widths of the paths through registers.
#[test]
fn traces_of_secret_sums_are_equal() {
    let newest = [1024, 2048, 3072, 4096, 8192].map(|bits| (NEWEST, bits));
    for (capability, bits) in newest.into_iter().chain([(OF_NEWER_GENERATOR, 4096)]) {
        let is_of_sums = |op, _| op == Op::MulAddSecret;
        let Some((_, module)) = compiled(capability, plain(bits), &[], is_of_sums) else { return };
        let found = differences(&sums(bits), |sum| {
            let pair = [sum.factor.clone(), sum.modulus.clone()];
            let given = launch_sum(sum, bits, secret_factor_records(&[pair], bits));
            let run = run(&module, &format!("gpuint_mul_add_secret_b{bits}"), &given, true);
            let expected = (&sum.a * &sum.factor + &sum.addend) % &sum.modulus;
            let expected = bytes_of(std::iter::repeat_n(&expected, ROWS), bits);
            assert!(run.outcome.outputs[0] == expected, "{bits} bits, {}: a wrong sum", sum.name);
            check_instructions(&run.counts);
            run.counts.trace
        });
        assert!(found.is_empty(), "{bits} bits depend on secrets:\n{}", found.join("\n"));
    }
}

/// The fast kernel of products is a leak: the comparison that finds none above finds it.
#[test]
fn traces_of_fast_products_differ() {
    let bits = 2048;
    let is_of_products = |op, by: Algorithm| match op {
        Op::MulMod => by.product() == Some(Product::TensorCore),
        Op::Prepare => by.product() == Some(Product::Classical),
        _ => false,
    };
    let Some((_, module)) = compiled(NEWEST, plain(bits), &[], is_of_products) else { return };
    let found = differences(&sums(bits), |sum| {
        let records = prepared(&module, &sum.modulus, bits);
        let given = launch_sum(sum, bits, records);
        run(&module, &format!("gpuint_mul_mod_tensor_b{bits}"), &given, true).counts.trace
    });
    let names: Vec<_> = found.iter().filter_map(|text| text.split_once(':')).collect();
    for leak in ["short modulus", "modulus 1"] {
        assert!(names.iter().any(|(name, _)| *name == leak), "{leak} is not found: {found:?}");
    }
}

/// The kernel that finds rows that are 0 has one trace for all others.
#[test]
fn traces_of_numbers_other_than_0_are_equal() {
    for bits in [1024, 2048, 4096, 8192] {
        let Some((_, module)) = compiled(NEWEST, plain(bits), &[], |op, _| op == Op::IsZeroMask)
        else {
            return;
        };
        let trace = |value: &BigUint| {
            let given = Operands {
                inputs: [bytes_of(std::iter::repeat_n(value, ROWS), bits), vec![], vec![]],
                rows: ROWS,
                mask: true,
                without_status: true,
                ..Operands::default()
            };
            run(&module, &format!("gpuint_is_zero_mask_b{bits}"), &given, true).counts.trace
        };
        let random = random_below(&mut Random::new(SEED), bits);
        let first = trace(&random);
        for value in [1u32.into(), power(bits / 2), power(bits - 1), ones(bits)] {
            let difference = first.difference(&trace(&value));
            assert!(difference.is_none(), "{bits} bits, {value:x}: {difference:?}");
        }
        assert!(first.difference(&trace(&BigUint::ZERO)).is_some(), "{bits} bits: a mask is kept");
    }
}
