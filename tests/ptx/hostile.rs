//! Warp instructions of the kernels of Euclid's algorithm on hostile rows: few more than on random
//! ones.

use gpuint::Op;
use gpuint::num_bigint::BigUint;
use gpuint_testkit::launch::{Operands, bytes_of};
use gpuint_testkit::operands::{self, rows};
use gpuint_testkit::ptx::{self, How, LaunchBounds};
use gpuint_testkit::random::Random;
use num_traits::Zero;
use ptxi::Checks;

use crate::{NEWEST, SEED, compiled, plain};

/// Threads of a warp.
const WARP: u32 = 32;

/// Pairs of about `bits` bits with a quotient of many limbs, by name. The second number is the
/// longer one, as a modulus is, so that cofactors grow by the quotient.
fn pairs_of_long_quotients(bits: usize) -> Vec<(String, [BigUint; 2])> {
    let random = &mut Random::new(SEED);
    let [a, b] = &[random.full(bits), random.full(bits)];
    let short = |number: &BigUint| number >> (5 * bits / 8);
    let (mut x, mut y) = (short(a), short(b) >> 1);
    (x, y) = (&x * (b >> (3 * bits / 4)) + y, x);
    for quotient in [1u32, 2, 1, 5, 1, 3].into_iter().cycle() {
        let next = &x * quotient + &y;
        if next.bits() > bits as u64 {
            break;
        }
        (x, y) = (next, x);
    }
    vec![
        ("half the length of the modulus".to_owned(), [a >> (bits / 2), b.clone()]),
        ("a limb".to_owned(), [a >> (bits - 30), b.clone()]),
        ("a quotient of a quarter of the length".to_owned(), [y, x]),
    ]
}

/// Pairs of about `bits` bits that are hard for Euclid's algorithm, by name: quotients of one
/// length throughout, from those of Fibonacci's sequence to ones that no leading bits determine,
/// and runs of equal bits.
fn hostile_pairs(bits: usize) -> Vec<(String, [BigUint; 2])> {
    let (ones, top) = (operands::ones(bits), operands::power(bits - 1));
    let random = rows(SEED, &[operands::FULL_WIDTH], plain(bits).into(), 0..2);
    let random: Vec<_> = random.into_iter().map(|row| row.a).collect();
    let mut pairs = vec![
        ("all ones".to_owned(), [random[0].clone(), ones.clone()]),
        ("a power of two and all ones".to_owned(), [top.clone() + 1u32, ones]),
        ("neighbours".to_owned(), [random[0].clone(), &random[0] - 1u32]),
        ("half the length".to_owned(), [random[1].clone(), &random[0] >> (bits / 2)]),
    ];
    for length in [1, 2, 15, 16, 17, 31, 32, 33, 62, 63, 64, 65, 100] {
        let quotient = if length == 1 { operands::ones(1) } else { operands::power(length) - 3u32 };
        let (mut x, mut y) = (BigUint::from(1u32), BigUint::zero());
        loop {
            let next = &x * &quotient + &y;
            if next.bits() > bits as u64 {
                break;
            }
            (x, y) = (next, x);
        }
        pairs.push((format!("quotients of {length} bits"), [x, y]));
    }
    pairs.extend(pairs_of_long_quotients(bits));
    pairs
}

/// Compares the warp instructions of kernels of Euclid's algorithm for hostile pairs, each kind
/// alone in a warp and all together, with those for random ones. Both fill warps. Other operations
/// of the kind are composed of these and of divisions. Half-gcds make a pass for each quotient that
/// the leading bits do not determine.
fn check_hostile_rows(
    bits: usize,
    ops: &[Op],
    hostile: &[(String, [BigUint; 2])],
    random: &[[BigUint; 2]],
) {
    let Some((kernels, module)) = compiled(NEWEST, plain(bits), &[], |op, _| ops.contains(&op))
    else {
        return;
    };
    assert_eq!(kernels.len(), ops.len());
    for kernel in &kernels {
        let name = kernel.name();
        let op = kernel.row.op;
        let bounds = LaunchBounds::read(&module, &name).unwrap();
        let rows_of_warp = (WARP * bounds.rows_per_block / bounds.threads).max(1) as usize;
        let count = |pairs: &[[BigUint; 2]]| {
            let column = |side: usize| bytes_of(pairs.iter().map(|pair| &pair[side]), bits);
            // Bounds of numerators: 2^(bits / 2), or the next number below u.
            let bound = |[u, _]: &[BigUint; 2]| u.min(&operands::power(bits / 2)) - 1u32;
            let bounds: Vec<_> = match op {
                Op::Rational => pairs.iter().map(bound).collect(),
                _ => Vec::new(),
            };
            let bytes = pairs.len() * if op == Op::Jacobi { 1 } else { bits / 8 };
            let given = Operands {
                inputs: [column(0), column(1), bytes_of(bounds.iter(), bits)],
                outputs: [bytes, if matches!(op, Op::HalfGcd | Op::Rational) { bytes } else { 0 }],
                mask: op.signature().mask,
                rows: pairs.len(),
                ..Operands::default()
            };
            let how = How { max_grid: u32::MAX, seed: 0, checks: Checks::NONE, traced: false };
            ptx::run(&module, &name, &given, how).unwrap().counts.total.warp as f64
        };
        let of_row = |pairs: &[[BigUint; 2]]| count(pairs) / pairs.len() as f64;
        let usual = of_row(random);
        let all = hostile.iter().map(|(_, pair)| pair.clone());
        let mixed = all.cycle().take(hostile.len().max(random.len()));
        let batches =
            hostile.iter().map(|(kind, pair)| (&**kind, vec![pair.clone(); rows_of_warp]));
        for (kind, pairs) in batches.chain([("all of them", mixed.collect())]) {
            let ratio = of_row(&pairs) / usual;
            println!("{name}: {kind}: {ratio:.2} times the instructions of random rows");
            let most = if op == Op::HalfGcd { 3.0 } else { 2.3 };
            assert!(ratio <= most, "{name}, {kind}: {ratio:.2} times random rows");
        }
    }
}

/// Checks kernels for rows that share a warp.
fn check_narrow_hostile_rows(bits: usize, ops: &[Op]) {
    let hostile = hostile_pairs(bits);
    let random = rows(SEED, &[operands::FULL_WIDTH], plain(bits).into(), 0..WARP as usize);
    let random: Vec<_> = random.into_iter().map(|row| [row.a, row.b]).collect();
    check_hostile_rows(bits, ops, &hostile, &random);
}

#[test]
fn hostile_rows_of_narrow_euclid_cost_little_more_than_random_ones() {
    check_narrow_hostile_rows(1024, &[Op::Gcd, Op::InverseMod, Op::Jacobi, Op::HalfGcd]);
}

#[test]
fn hostile_rows_of_wider_euclid_cost_little_more_than_random_ones() {
    check_narrow_hostile_rows(4096, &[Op::Gcd, Op::InverseMod, Op::Jacobi, Op::HalfGcd]);
}

#[test]
fn hostile_rows_of_windows_cost_little_more_than_random_ones() {
    check_narrow_hostile_rows(8192, &[Op::GcdWindowed, Op::InverseModWindowed]);
}

/// Rows of several warps, with cofactors of a thousand limbs.
#[test]
fn long_quotients_of_wide_euclid_cost_little_more_than_random_ones() {
    let (bits, ops) = (65536, [Op::InverseMod, Op::Rational]);
    let random = &mut Random::new(SEED ^ 1);
    let random = [random.full(bits), random.full(bits)];
    check_hostile_rows(bits, &ops, &pairs_of_long_quotients(bits), &[random]);
}
