//! Modular arithmetic: prepared divisors, odd moduli, special moduli.

use gpuint::num_bigint::BigUint;
use gpuint::{Op, Shape, SpecialModulus};

use super::division::{divided_by, divisible};
use super::draws::Draws;
use super::row::{Expected, Row, value_of};
use crate::launch::Operands;
use crate::operands::{low, ones, power};
use crate::oracle;

/// Distance of the bit of the exponent that `fold` reads, and the digit of its factor.
const FOLD_BIT: u32 = 37;
const FOLD_DIGIT: u64 = 3;
/// Bits from there on that `pow_special` reads.
const POWER_BITS: u32 = 3;
/// Rows of wide powers, which take a slow machine seconds each.
const LONG_POWERS: usize = 5;

pub(super) fn has_long_powers(shape: Shape) -> bool {
    shape.bits > 4096
}

fn rest(a: &BigUint, v: &BigUint) -> BigUint {
    oracle::div_rem(a, v).1
}

pub(super) fn product_of_powers(x: &Row<'_>) -> BigUint {
    let (bases, v) = (x.operands.params.bases, x.divisor());
    let one = rest(&1u32.into(), &v);
    (x.row * bases..(x.row + 1) * bases).fold(one, |product, index| {
        let [a, e] =
            [0, 1].map(|input| value_of(&x.operands.inputs[input], index, x.shape.bytes()));
        oracle::mul_mod(&product, &oracle::pow_mod(&a, &e, &v), &v)
    })
}

/// Bytes of records of secret odd moduli: each modulus `n`, and `2^(2 BITS) mod n`.
#[must_use]
pub fn secret_records(moduli: &[BigUint], bits: usize) -> Vec<u8> {
    let square = |n| rest(&power(2 * bits), n);
    let records: Vec<_> = moduli.iter().flat_map(|n| [n.clone(), square(n)]).collect();
    crate::launch::bytes_of(records.iter(), bits)
}

/// Records of secret factors modulo secret moduli: `n`, `2^(2 BITS) mod n` and
/// `f 2^(2 BITS) mod n`.
#[must_use]
pub fn secret_factor_records(pairs: &[[BigUint; 2]], bits: usize) -> Vec<u8> {
    let record = |[f, n]: &[BigUint; 2]| {
        let square = power(2 * bits);
        [n.clone(), rest(&square, n), rest(&(f * square), n)]
    };
    let records: Vec<_> = pairs.iter().flat_map(record).collect();
    crate::launch::bytes_of(records.iter(), bits)
}

/// `a f + c mod n` by the record of `f` and `n`.
pub(super) fn secret_sum(x: &Row<'_>) -> BigUint {
    let part =
        |index| value_of(&x.operands.inputs[2], 3 * x.divisor_row() + index, x.shape.bytes());
    let (n, bits) = (part(0), x.bits());
    let inverse = oracle::inverse_mod(&power(bits), &n).expect("the modulus is odd");
    let factor = part(2) * &inverse * &inverse;
    rest(&(x.a() * factor + x.b()), &n)
}

/// `a^e mod n` by the record of `n`.
pub(super) fn secret_power(x: &Row<'_>) -> BigUint {
    let n = value_of(&x.operands.inputs[2], 2 * x.divisor_row(), x.shape.bytes());
    oracle::pow_mod(&x.a(), &x.b(), &n)
}

/// The record of an odd modulus: the modulus, and `-1 / n mod 2^BITS` or zeros.
pub(super) fn odd_record(x: &Row<'_>) -> Expected {
    let (n, bits) = (x.a(), x.bits());
    if !n.bit(0) {
        return Expected::none().failing(true);
    }
    Expected::such_that(move |[record, _]| {
        let inverse = record >> bits;
        let product = low(&inverse * &n, bits);
        low(record.clone(), bits) == n && (inverse == BigUint::ZERO || product == ones(bits))
    })
}

/// `a / 2^BITS mod n`.
pub(super) fn reduced(a: &BigUint, x: &Row<'_>) -> BigUint {
    let n = x.divisor();
    let inverse = oracle::inverse_mod(&power(x.bits()), &n).expect("the modulus is odd");
    oracle::mul_mod(a, &inverse, &n)
}

/// `k a mod n` for `n = k 2^e + c`, `k digit a mod n` where a bit of the exponent is set.
pub(super) fn folded(x: &Row<'_>) -> BigUint {
    let a = x.input(0, 2 * x.shape.bytes());
    let (modulus, n) = special_modulus(x);
    let params = &x.operands.params;
    let factor = if x.b().bit(params.distance.into()) { params.digit } else { 1 };
    rest(&(a * modulus.k() * factor), &n)
}

/// The fold of the square for each bit of an exponent, from the highest one on.
pub(super) fn special_power(x: &Row<'_>) -> BigUint {
    let (modulus, n) = special_modulus(x);
    let (params, exponent) = (&x.operands.params, x.b());
    let bits = params.distance..params.distance + params.exponent_bits;
    bits.rev().fold(x.a(), |power, bit| {
        let factor = if exponent.bit(bit.into()) { params.digit } else { 1 };
        rest(&(&power * &power * modulus.k() * factor), &n)
    })
}

/// Checks digits of a power modulo `k t^q + c`, or a generalized Fermat number: the square times
/// `k` for each bit of an exponent.
pub(super) fn power_of_digits(x: &Row<'_>) -> Expected {
    let (modulus, n) = special_modulus(x);
    let params = &x.operands.params;
    let (exponent, bits) = (x.b(), params.distance..params.distance + params.exponent_bits);
    let count = x.bits() / 16;
    let power = bits.rev().fold(value_of_digits(&x.a(), count, modulus, &n), |power, bit| {
        let factor = if exponent.bit(bit.into()) { params.digit } else { 1 };
        rest(&(&power * &power * modulus.k() * factor), &n)
    });
    Expected::such_that(move |[digits, _]| {
        let most = (modulus.base() / 2 + 1) as u16;
        halves(digits, count).all(|half| half.unsigned_abs() <= most)
            && value_of_digits(digits, count, modulus, &n) == power
    })
}

/// The signed digits of a row.
fn halves(digits: &BigUint, count: usize) -> impl DoubleEndedIterator<Item = i16> {
    let mut bytes = digits.to_bytes_le();
    bytes.resize(2 * count, 0);
    let halves: Vec<_> =
        bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
    halves.into_iter()
}

/// The value of the digits modulo the modulus `n`, by Horner's rule.
fn value_of_digits(
    digits: &BigUint,
    count: usize,
    modulus: SpecialModulus,
    n: &BigUint,
) -> BigUint {
    let base = modulus.base();
    // Digits with 2^15 added, and the same number of digits 2^15.
    let (mut value, mut added) = (BigUint::ZERO, BigUint::ZERO);
    for half in halves(digits, count).rev() {
        value = value * base + (i32::from(half) + 0x8000) as u32;
        added = added * base + 0x8000u32;
    }
    oracle::sub_mod(&rest(&value, n), &rest(&added, n), n)
}

/// The special modulus of a row, and its value.
fn special_modulus(x: &Row<'_>) -> (SpecialModulus, BigUint) {
    let record = &x.operands.inputs[2][16 * x.divisor_row()..];
    let word = |index: usize| {
        let bytes = record[4 * index..].first_chunk();
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    };
    let modulus = SpecialModulus::with_base(word(0), word(3), word(1), word(2) as i32);
    (modulus, modulus.value().expect("the modulus is special"))
}

/// Divisors, one of which may be such that residues are longer than it. All may have nearly the
/// whole width: some kernels take another path where those of a warp do.
fn moduli(draws: &mut Draws<'_>, is_one: bool) -> Vec<BigUint> {
    let bits = draws.bits();
    let rows = divisible(draws, is_one);
    let mut divisors: Vec<_> = rows.into_iter().map(|row| row.b).collect();
    if draws.random.one_in(3) {
        for v in &mut divisors {
            let top = bits - 1 - draws.random.below(18);
            *v = low(std::mem::take(v), top) + power(top);
        }
    }
    if draws.random.one_in(3) {
        let length = 32 * (1 + draws.random.below(bits / 32));
        divisors[0] = power(length) - 1u32 - draws.random.below(3);
    }
    if is_one {
        let first = divisors[0].clone();
        divisors.fill(first);
    }
    divisors
}

/// Divisors of sums: of every length, and just below a power of two.
fn moduli_of_sums(draws: &mut Draws<'_>, is_one: bool, is_odd: bool) -> Vec<BigUint> {
    let bits = draws.bits();
    let rows = divisible(draws, is_one);
    let mut divisors: Vec<_> = rows.into_iter().map(|row| row.b).collect();
    for v in &mut divisors {
        let length = if draws.random.one_in(2) { bits } else { 2 + draws.random.below(bits - 1) };
        if draws.random.one_in(4) {
            *v = power(length) - 1u32 - draws.random.below(3);
        }
        v.set_bit(0, v.bit(0) || is_odd);
    }
    if is_one {
        let first = divisors[0].clone();
        divisors.fill(first);
    }
    divisors
}

/// A factor or base: of any length, below the divisor, or as far below it as can be.
fn factor(draws: &mut Draws<'_>, v: &BigUint) -> BigUint {
    let a = draws.value(draws.bits());
    match draws.random.below(6) {
        0 | 1 => a,
        2 => v - 1u32,
        3 => v.clone(),
        _ => rest(&a, v),
    }
}

/// A number below the modulus.
fn residue(draws: &mut Draws<'_>, n: &BigUint) -> BigUint {
    let value = factor(draws, n);
    if draws.random.one_in(4) { n - 1u32 } else { rest(&value, n) }
}

/// An exponent of one of the first `kinds` lengths: each window but the widest ones, which would
/// take too long here.
fn exponent(draws: &mut Draws<'_>, kinds: usize) -> BigUint {
    let bits = [0, 1, 2, 15, 17, 49, 141][draws.random.below(kinds)];
    draws.value(bits)
}

/// An odd modulus: of any length, nearly the whole width, 1.
fn odd_modulus(draws: &mut Draws<'_>) -> BigUint {
    let bits = draws.bits();
    let length = if draws.random.one_in(3) { bits } else { 1 + draws.random.below(bits) };
    let mut n = draws.value(length);
    if draws.random.one_in(4) {
        n = ones(bits) - 2 * draws.random.below(3);
    }
    n.set_bit(0, true);
    n
}

pub(super) fn operands(draws: &mut Draws<'_>) -> Operands {
    let (op, variant) = (draws.op, draws.variant);
    let is_one = variant % 2 == 1;
    let launch = match op {
        Op::MulMod | Op::SquareMod | Op::PowMod => products(draws, is_one, variant >= 2),
        Op::PowProductMod => power_products(draws, is_one, [1, 3][variant / 2]),
        Op::PrepareOdd => {
            let mut moduli: Vec<_> = (0..draws.count).map(|_| odd_modulus(draws)).collect();
            for n in &mut moduli {
                let is_even = draws.random.one_in(4);
                n.set_bit(0, !is_even);
            }
            let mut preparation = draws.launch([draws.column(&moduli), vec![], vec![]], 1);
            preparation.outputs[0] *= 2;
            return preparation;
        }
        Op::MulResidues | Op::SquareResidues => residues(draws, variant >= 1, variant == 2),
        Op::Fold | Op::PowSpecial => special(draws, is_one),
        Op::PowSpecialBase => base_powers(draws, is_one),
        Op::PowFermat => fermat_powers(draws, is_one),
        Op::PowSecret => secret_powers(draws, is_one, variant >= 2),
        Op::MulAddSecret => secret_sums(draws, is_one, variant >= 2),
        // Sums and halves.
        _ => sums(draws, is_one, variant >= 2),
    };
    Operands { without_status: true, ..launch }
}

fn products(draws: &mut Draws<'_>, is_one: bool, is_one_exponent: bool) -> Operands {
    let op = draws.op;
    let is_long = op == Op::PowMod && has_long_powers(draws.shape);
    let mut is_one_exponent = is_one_exponent;
    if is_long {
        draws.count = draws.count.min(LONG_POWERS);
        // Forms of one kernel differ in the addresses of operands only.
        is_one_exponent |= draws.is_slow && is_one;
    }
    let divisors = moduli(draws, is_one);
    let kinds = match draws.bits() {
        ..=1024 => 7,
        _ if is_long => 4,
        _ => 5,
    };
    let a: Vec<_> = divisors.iter().map(|v| factor(draws, v)).collect();
    let second = |v: &BigUint| match op {
        Op::PowMod => exponent(draws, kinds),
        _ => factor(draws, v),
    };
    let b: Vec<_> = divisors.iter().map(second).collect();
    let mut inputs = [draws.column(&a), draws.column(&b), vec![]];
    if op == Op::SquareMod {
        inputs[1].clear();
    }
    let mut launch = draws.launch(inputs, 1);
    if is_one_exponent {
        launch.params.broadcast_exponent = true;
        launch.inputs[1].truncate(draws.shape.bytes());
    }
    divided_by(launch, &divisors, is_one, draws)
}

/// In some rows the exponents of all or of some bases are zero.
fn power_products(draws: &mut Draws<'_>, is_one: bool, bases: usize) -> Operands {
    if has_long_powers(draws.shape) {
        draws.count = draws.count.min(LONG_POWERS);
    }
    let divisors = moduli(draws, is_one);
    let (mut a, mut e) = (Vec::new(), Vec::new());
    for v in &divisors {
        let zeros = draws.random.below(4); // of four exponents
        for _ in 0..bases {
            a.push(factor(draws, v));
            let is_zero = draws.random.below(4) < zeros;
            e.push(if is_zero { BigUint::ZERO } else { exponent(draws, 5) });
        }
    }
    let mut launch = draws.launch([draws.column(&a), draws.column(&e), vec![]], 1);
    launch.params.bases = bases;
    divided_by(launch, &divisors, is_one, draws)
}

/// Operands of any length but for halves.
fn sums(draws: &mut Draws<'_>, is_one: bool, is_one_rhs: bool) -> Operands {
    let op = draws.op;
    let is_half = op == Op::HalveMod;
    let divisors = moduli_of_sums(draws, is_one, is_half);
    let mut drawn = |v: &BigUint| {
        let value = factor(draws, v);
        if is_half { rest(&value, v) } else { value }
    };
    let a: Vec<_> = divisors.iter().map(&mut drawn).collect();
    let mut b: Vec<_> = divisors.iter().map(&mut drawn).collect();
    for (a, b) in a.iter().zip(&mut b).skip(1) {
        if draws.random.one_in(5) {
            *b = a.clone();
        }
    }
    let mut inputs = [draws.column(&a), draws.column(&b), vec![]];
    if matches!(op, Op::HalveMod | Op::NegMod) {
        inputs[1].clear();
    }
    let launch = draws.launch(inputs, 1);
    let launch = draws.broadcast_rhs(launch, is_one_rhs);
    divided_by(launch, &divisors, is_one, draws)
}

/// Montgomery's products. One of two factors may be any number; a factor for all rows is below the
/// one modulus.
fn residues(draws: &mut Draws<'_>, is_one: bool, is_one_rhs: bool) -> Operands {
    let is_square = draws.op == Op::SquareResidues;
    let mut moduli: Vec<_> = (0..draws.count).map(|_| odd_modulus(draws)).collect();
    if is_one {
        let first = moduli[0].clone();
        moduli.fill(first);
    }
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for n in &moduli {
        let mut pair = [residue(draws, n), residue(draws, n)];
        if !is_square && draws.random.one_in(2) {
            let any = draws.value(draws.bits());
            let any = if draws.random.one_in(3) { ones(draws.bits()) } else { any };
            let side = if is_one_rhs { 0 } else { draws.random.below(2) };
            pair[side] = any;
        }
        let [first, second] = pair;
        a.push(first);
        b.push(second);
    }
    let mut inputs = [draws.column(&a), draws.column(&b), vec![]];
    if is_square {
        inputs[1].clear();
    }
    let launch = draws.launch(inputs, 1);
    let launch = draws.broadcast_rhs(launch, is_one_rhs);
    divided_by(launch, &moduli, is_one, draws)
}

/// Sums of a number and a multiple of any numbers, by factors of any size.
fn secret_sums(draws: &mut Draws<'_>, is_one: bool, is_one_rhs: bool) -> Operands {
    let mut pairs: Vec<_> = (0..draws.count)
        .map(|_| {
            let n = odd_modulus(draws);
            [factor(draws, &n), n]
        })
        .collect();
    if is_one {
        let first = pairs[0].clone();
        pairs.fill(first);
    }
    let mut column = || -> Vec<_> { pairs.iter().map(|[_, n]| factor(draws, n)).collect() };
    let (a, c) = (column(), column());
    let given = if is_one { &pairs[..1] } else { &pairs };
    let records = secret_factor_records(given, draws.bits());
    let mut launch = draws.launch([draws.column(&a), draws.column(&c), records], 1);
    launch.params.broadcast_divisor = is_one;
    draws.broadcast_rhs(launch, is_one_rhs)
}

/// Powers of any numbers, by exponents of at most one length.
fn secret_powers(draws: &mut Draws<'_>, is_one: bool, is_one_exponent: bool) -> Operands {
    if has_long_powers(draws.shape) {
        draws.count = draws.count.min(LONG_POWERS);
    }
    let kinds = if draws.bits() <= 1024 { 5 } else { 4 };
    let exponent_bits = [1, 2, 15, 17, 49][draws.random.below(kinds)];
    let mut moduli: Vec<_> = (0..draws.count).map(|_| odd_modulus(draws)).collect();
    if is_one {
        let first = moduli[0].clone();
        moduli.fill(first);
    }
    let a: Vec<_> = moduli.iter().map(|n| factor(draws, n)).collect();
    let mut exponent = || match draws.random.below(4) {
        0 => BigUint::ZERO,
        1 => ones(exponent_bits),
        _ => draws.value(exponent_bits),
    };
    let e: Vec<_> = (0..moduli.len()).map(|_| exponent()).collect();
    let given = if is_one { &moduli[..1] } else { &moduli };
    let records = secret_records(given, draws.bits());
    let mut launch = draws.launch([draws.column(&a), draws.column(&e), records], 1);
    launch.params.broadcast_divisor = is_one;
    launch.params.exponent_bits = exponent_bits as u32;
    if is_one_exponent {
        launch.params.broadcast_exponent = true;
        launch.inputs[1].truncate(draws.shape.bytes());
    }
    launch
}

/// Draws a modulus `k 2^n + c` with `n` up to `room` bits below the width.
fn drawn_special_modulus(draws: &mut Draws<'_>, room: usize) -> SpecialModulus {
    let most = draws.shape.bits - room - 128;
    let any = draws.random.below(most + 1);
    let n = 128 + if draws.random.one_in(3) { most - draws.random.below(33 - room) } else { any };
    let any = (draws.random.word() as u32 >> (4 + draws.random.below(28))) | 1;
    let k = if draws.random.one_in(4) { 1 } else { any };
    let any = 1 + draws.random.below(2730) as i32;
    let c = if draws.random.one_in(4) { 1 } else { any };
    let c = if draws.random.one_in(2) { -c } else { c };
    SpecialModulus::new(k, n as u32, c)
}

/// Returns true if `pow_special` takes the modulus, within the bounds of
/// `kernels/modular/fft/special_digits.cuh`.
fn fits_digits(modulus: SpecialModulus, bits: usize) -> bool {
    let (k, n) = (u64::from(modulus.k()), modulus.n() as usize);
    let top = n.next_multiple_of(16);
    let c = u64::from(modulus.c().unsigned_abs()) << (top - n);
    let is_within = modulus.value().is_some_and(|value| value.bits() <= bits as u64);
    let k_bits = (u64::BITS - k.leading_zeros()) as usize;
    is_within
        && top < bits
        && top + k_bits <= bits + 4
        && c < 1 << 19
        && k * FOLD_DIGIT * c < 1 << 42
}

/// The words of a special modulus.
fn record_of(modulus: SpecialModulus) -> impl Iterator<Item = u8> {
    let words = [modulus.k(), modulus.n(), modulus.c() as u32, modulus.base()];
    words.into_iter().flat_map(u32::to_le_bytes)
}

/// Digits of residues modulo `b^q + 1`: random ones, the ends of their range, and carries through
/// all digits.
fn fermat_powers(draws: &mut Draws<'_>, is_one: bool) -> Operands {
    draws.count = draws.count.min(LONG_POWERS);
    let (shape, q) = (draws.shape, draws.shape.bits / 16);
    let (mut records, mut rows, mut exponents) = (Vec::new(), Vec::new(), Vec::new());
    let mut base = 4;
    for row in 0..draws.count {
        if row == 0 || !is_one {
            base = match draws.random.below(6) {
                0 => 4,
                1 => 6 + 2 * draws.random.below(3) as u32,
                2 => 65532,
                _ => 4 + 2 * draws.random.below(32765) as u32,
            };
            records.extend(record_of(SpecialModulus::with_base(1, base, q as u32, 1)));
        }
        let most = (base / 2) as i32 + 1;
        let family = draws.random.below(6);
        let one_at = draws.random.below(q);
        let digit = |draws: &mut Draws<'_>, place: usize| match family {
            0 => most,
            1 => -most,
            2 => [most, -most][place % 2],
            // A power of the base, or minus one.
            3 if place == one_at => [1, -1][draws.random.below(2)],
            3 => 0,
            _ => draws.random.below(2 * most as usize + 1) as i32 - most,
        };
        let digits: Vec<_> = (0..q).map(|place| digit(draws, place)).collect();
        rows.push(row_of_digits(&digits));
        exponents.push(draws.value(shape.bits));
    }
    powers_in_digits(draws, is_one, [&rows, &exponents], records)
}

/// The row of signed digits.
fn row_of_digits(digits: &[i32]) -> BigUint {
    let halves: Vec<u8> = digits.iter().flat_map(|&digit| (digit as i16).to_le_bytes()).collect();
    BigUint::from_bytes_le(&halves)
}

fn powers_in_digits(
    draws: &mut Draws<'_>,
    is_one: bool,
    columns: [&[BigUint]; 2],
    records: Vec<u8>,
) -> Operands {
    let [rows, exponents] = columns.map(|column| draws.column(column));
    let mut launch = draws.launch([rows, exponents, records], 1);
    launch.params.broadcast_divisor = is_one;
    launch.params.digit = FOLD_DIGIT;
    launch.params.distance = FOLD_BIT;
    launch.params.exponent_bits = POWER_BITS;
    launch
}

/// Draws a modulus `k t^q + c` within the bounds of `kernels/modular/fft/base_digits.cuh`, and the
/// number of digits from q on.
fn drawn_base_modulus(draws: &mut Draws<'_>) -> (SpecialModulus, usize) {
    let random = &mut draws.random;
    let base = match random.below(6) {
        0 => 257,
        1 => 65532,
        2 => [59049, 15625, 10000, 9409, 1000][random.below(5)],
        _ => 257 + random.below(65276) as u32,
    };
    let c = match random.below(3) {
        0 => 1,
        1 => 1 + random.below(8) as u64,
        _ => ((1 << 20) / FOLD_DIGIT) >> random.below(10),
    };
    let most = ((1 << 31) - 1).min((1 << 40) / c).min((1 << 46) / (c * c)) / FOLD_DIGIT;
    let k = match random.below(4) {
        0 => 1,
        1 => (2 + random.below(10) as u64).min(most),
        2 => most,
        _ => (most >> random.below(31)).max(1),
    };
    let tops = (1..).find(|&tops| u64::from(base).pow(tops) > 2 * k + 2).expect("4 suffice");
    let tops = tops as usize;
    let most = draws.shape.bits / 16 - tops;
    let q = if random.one_in(2) { most } else { 16 + random.below(most - 15) };
    let sign = if random.one_in(2) { 1 } else { -1 };
    (SpecialModulus::with_base(k as u32, base, q as u32, sign * c as i32), tops)
}

/// Digits of numbers below 0.6 `k t^q`: random ones, the ends of their range, and carries through
/// all digits.
fn base_powers(draws: &mut Draws<'_>, is_one: bool) -> Operands {
    draws.count = draws.count.min(LONG_POWERS);
    let count = draws.shape.bits / 16;
    let (mut records, mut rows, mut exponents) = (Vec::new(), Vec::new(), Vec::new());
    let (mut modulus, mut tops) = drawn_base_modulus(draws);
    for row in 0..draws.count {
        if row > 0 && !is_one {
            (modulus, tops) = drawn_base_modulus(draws);
        }
        if row == 0 || !is_one {
            records.extend(record_of(modulus));
        }
        let (q, base, half) = (modulus.n() as usize, i64::from(modulus.base()), modulus.k() / 2);
        let most = (base / 2) as i32 + 1;
        let mut digits = vec![0; count];
        let family = draws.random.below(6);
        for digit in &mut digits[..q] {
            *digit = draws.random.below(2 * most as usize + 1) as i32 - most;
        }
        match family {
            0 => digits[..q].fill(most),
            // The number is near half of the modulus.
            1 => digits[..q].fill(-most),
            2 => digits[..q].iter_mut().enumerate().for_each(|(j, x)| *x = [most, -most][j % 2]),
            3 => {
                digits.fill(0);
                digits[draws.random.below(q)] = 1;
            }
            _ => {}
        }
        let mut top = match family {
            0 if half > 1 => i64::from(half),
            1 => i64::from(half) + 1,
            4 | 5 => draws.random.below(half as usize + 1) as i64,
            _ => 0,
        };
        for digit in &mut digits[q..q + tops] {
            let carry = (top + base / 2).div_euclid(base);
            *digit = (top - carry * base) as i32;
            top = carry;
        }
        if draws.random.one_in(2) {
            digits.iter_mut().for_each(|digit| *digit = -*digit);
        }
        rows.push(row_of_digits(&digits));
        exponents.push(draws.value(draws.shape.bits));
    }
    powers_in_digits(draws, is_one, [&rows, &exponents], records)
}

/// Residues modulo `k 2^n + c` or their products, and the ends of their range.
fn special(draws: &mut Draws<'_>, is_one: bool) -> Operands {
    let shape = draws.shape;
    let is_power = draws.op == Op::PowSpecial;
    let (mut records, mut products, mut exponents) = (Vec::new(), Vec::new(), Vec::new());
    let mut modulus = SpecialModulus::new(1, 1, 1);
    for row in 0..draws.count {
        if row == 0 || !is_one {
            modulus = drawn_special_modulus(draws, if is_power { 1 } else { 32 });
            while is_power && !fits_digits(modulus, shape.bits) {
                modulus = drawn_special_modulus(draws, 1);
            }
            records.extend(record_of(modulus));
        }
        let n = modulus.value().expect("the modulus is special");
        let a = residue(draws, &n);
        products.push(if is_power { a } else { a * residue(draws, &n) });
        exponents.push(draws.value(shape.bits));
    }
    let mut launch = draws.launch([vec![], draws.column(&exponents), records], 1);
    let width = if is_power { shape.bits } else { 2 * shape.bits };
    launch.inputs[0] = crate::launch::bytes_of(products.iter(), width);
    launch.params.broadcast_divisor = is_one;
    launch.params.digit = FOLD_DIGIT;
    launch.params.distance = FOLD_BIT;
    if is_power {
        launch.params.exponent_bits = POWER_BITS;
    }
    launch
}
