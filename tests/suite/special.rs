//! Residues modulo special moduli `k 2^n + c`, against `BigUint` and published primes.

use gpuint::num_bigint::BigUint;
use gpuint::{
    BackendKind, Device, DigitKind, DynBatch, DynModulus, DynResidues, Error, Result, Shape,
    SpecialModulus, narrowest,
};
use num_traits::One;

use crate::setting::{
    Check, Context, Setting, Tally, devices, in_turn, is_thorough, on_every_backend, seed,
};
use gpuint_testkit::oracle;
use gpuint_testkit::random::Random;

/// Special moduli of at most `bits` bits: the ends of the ranges of `k`, `n` and `c`, and others.
fn moduli(bits: usize, count: usize) -> Vec<SpecialModulus> {
    let max_k = (1u32 << 31) - 1;
    let top = bits as u32;
    let mut all = vec![
        SpecialModulus::new(1, top, -1),
        SpecialModulus::new(1, top, -8191),
        SpecialModulus::new(1, top - 1, 1),
        SpecialModulus::new(1, 128, 8192),
        SpecialModulus::new(max_k, top - 31, 1),
        SpecialModulus::new(max_k, top - 31, -8192),
        SpecialModulus::new(max_k, 128, 8191),
        SpecialModulus::new(3, 160, 1),
        SpecialModulus::new(10, top - 8, -3),
        SpecialModulus::new(9, top - 7, 14),
    ];
    let mut random = Random::new(seed() ^ bits as u64);
    while all.len() < count {
        let k = (random.word() as u32 >> (1 + random.below(31))) | 1;
        let n = random.between(128, bits - 32) as u32;
        let c = (random.word() & 0xfff) as i32 >> random.below(13);
        let c = c + 1;
        if num_integer::gcd(i64::from(k), i64::from(c)) == 1 {
            all.push(SpecialModulus::new(k, n, if random.one_in(2) { c } else { -c }));
        }
    }
    all
}

/// Numbers below moduli, some near their ends and some with long runs of bits.
fn numbers(moduli: &[BigUint], random: &mut Random) -> Vec<BigUint> {
    let number = |n: &BigUint| match random.below(6) {
        0 => n - 1u32,
        1 => n - 1u32 - random.word(),
        2 => BigUint::from(random.word()),
        3 => (n >> 1usize) + random.below(3),
        4 => BigUint::one() << random.below(n.bits() as usize),
        _ => random.bits(n.bits() as usize + 3),
    };
    moduli.iter().map(number).zip(moduli).map(|(x, n)| x % n).collect()
}

struct Rings;

impl Check for Rings {
    const NAME: &str = "special moduli";
    const WIDEST: bool = false;

    fn takes(shape: Shape, backend: BackendKind) -> bool {
        let is_usual = match backend {
            BackendKind::Simt => matches!(shape.bits, 256 | 1024),
            _ => shape.bits <= 1024,
        };
        let is_usual = is_usual && shape.digit == DigitKind::U64;
        shape.bits >= 256 && (is_usual || is_thorough())
    }

    fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
        let count = if setting.backend == BackendKind::Simt { 12 } else { 40 };
        for device in setting.devices() {
            let what = Context::new(shape, "special moduli", device);
            tally.attempt(&what, count, |tally| {
                let moduli = moduli(shape.bits, count);
                let modulus = DynModulus::of_special(device, shape, &moduli)?;
                tally.row(modulus.is_special(), || format!("{what}: {modulus:?}"));
                let values: Vec<_> = moduli.iter().filter_map(|modulus| modulus.value()).collect();
                ring(&what, &modulus, &values, tally)?;
                let one = moduli[seed() as usize % 9];
                let modulus = DynModulus::splat_special(device, shape, one)?;
                tally.row(modulus.is_special(), || format!("{what}: {modulus:?}"));
                let values = vec![one.value().unwrap_or_default(); 5];
                ring(&what, &modulus, &values, tally)
            });
        }
    }
}

/// Every operation that depends on the form of residues.
fn ring(
    what: &Context<'_>,
    modulus: &DynModulus,
    values: &[BigUint],
    tally: &mut Tally,
) -> Result<()> {
    let (device, shape) = (modulus.device(), modulus.shape());
    let mut random = Random::new(seed());
    let (a, b) = (numbers(values, &mut random), numbers(values, &mut random));
    let x = DynResidues::new(&DynBatch::from_biguints(device, shape, &a)?, modulus)?;
    let y = DynResidues::new(&DynBatch::from_biguints(device, shape, &b)?, modulus)?;
    let mut check = |name: &str, got: &DynResidues, of: &dyn Fn(usize) -> BigUint| {
        let got = got.to_batch()?.to_biguints()?;
        for (row, got) in got.iter().enumerate() {
            let expected = of(row) % &values[row];
            tally.row(*got == expected, || {
                let (a, b, n) = (&a[row], &b[row], &values[row]);
                format!("{what}: {name}, row {row}\n  {a:#x}\n  {b:#x}\n  mod {n:#x}\n  {got:#x}")
            });
        }
        Ok(())
    };
    check("residue", &x, &|row| a[row].clone())?;
    check("product", &x.mul(&y)?, &|row| &a[row] * &b[row])?;
    check("square", &x.square()?, &|row| &a[row] * &a[row])?;
    check("sum", &x.add(&y)?.square()?, &|row| (&a[row] + &b[row]).pow(2))?;
    let difference = x.sub(&y)?.mul(&x.add(&y)?)?;
    check("difference", &difference, &|row| {
        let n = &values[row];
        oracle::sub_mod(&(&a[row] * &a[row] % n), &(&b[row] * &b[row] % n), n)
    })?;
    let exponent = BigUint::from(0b1011_1110_0000_0001u32);
    check("power", &x.pow_all(&exponent)?, &|row| a[row].modpow(&exponent, &values[row]))?;
    check("power 0", &x.pow_all(&BigUint::ZERO)?, &|_| BigUint::one())?;
    let exponents: Vec<_> =
        (0..values.len()).map(|row| BigUint::from(random.word() >> (row * 5 % 64))).collect();
    let power = |row: usize| a[row].modpow(&exponents[row], &values[row]);
    check("powers", &x.pow_rows(&exponents)?, &power)?;
    let batch = DynBatch::from_biguints(device, shape, &exponents)?;
    check("powers", &x.pow(&batch)?, &power)?;
    let squares = BigUint::one() << 5usize;
    check("squares", &x.square_repeatedly(5)?, &|row| a[row].modpow(&squares, &values[row]))?;
    for base in [0, 1, 3, 8000, u32::MAX] {
        let power = DynResidues::powers_of(base, &batch, modulus)?;
        check("powers of a base", &power, &|row| {
            BigUint::from(base).modpow(&exponents[row], &values[row])
        })?;
    }
    Ok(())
}

on_every_backend! {
    rings: Rings,
}

#[test]
fn special_rows_of_wide_batches_are_recognized() {
    for device in devices(BackendKind::Cpu) {
        let shape = narrowest(32768).unwrap();
        let number = |k, n, c| SpecialModulus::new(k, n, c).value().unwrap();
        let rows = [number(3, 32000, 1), number(1, 32768, -1)];
        let batch = DynBatch::from_biguints(&device, shape, &rows).unwrap();
        let modulus = DynModulus::of_rows(&batch).unwrap();
        assert!(modulus.is_special());
        assert!(DynModulus::splat(&device, shape, &rows[0]).unwrap().is_special());
        let x = DynResidues::splat(&(BigUint::one() << 32001usize), 2, &modulus).unwrap();
        let square = x.square().unwrap().to_batch().unwrap().to_biguints().unwrap();
        assert_eq!(square[0], (BigUint::one() << 64002usize) % &rows[0]);
        assert_eq!(square[1], BigUint::one() << (64002 - 32768));
        let rows = [number(3, 32000, 1), number(1, 32000, -1) / 3u32];
        let batch = DynBatch::from_biguints(&device, shape, &rows).unwrap();
        assert!(!DynModulus::of_rows(&batch).unwrap().is_special());
    }
}

/// A width above 2^20 bits, by kernels: one pass over a row by many blocks.
#[test]
fn long_rows_are_squared() {
    let mut tally = Tally::new("special moduli of long rows".to_owned());
    let shape = Shape::long((1 << 20) + 64).unwrap();
    let top = shape.bits as u32;
    let moduli = [
        SpecialModulus::new(1, top, -1),
        SpecialModulus::new(0x1555_5555, top - 40, 2729),
        SpecialModulus::new(3, top - 2, -1),
    ];
    let values: Vec<_> = moduli.iter().filter_map(|modulus| modulus.value()).collect();
    let backends = [BackendKind::Simt, BackendKind::Cuda].map(devices);
    if backends.iter().all(Vec::is_empty) {
        return;
    }
    for devices in backends {
        for device in devices.into_iter().take(1) {
            let what = Context::new(shape, "special moduli", &device);
            tally.attempt(&what, values.len(), |tally| {
                let modulus = DynModulus::of_special(&device, shape, &moduli)?;
                tally.row(modulus.is_special(), || format!("{what}: {modulus:?}"));
                // -1 and -3 have the squares 1 and 9, and the second row is any number.
                let mut numbers: Vec<_> = values.iter().map(|n| n - 1u32).collect();
                numbers[1] = Random::new(seed()).bits(shape.bits) % &values[1];
                numbers[2] -= 2u32;
                let batch = DynBatch::from_biguints(&device, shape, &numbers)?;
                let square = DynResidues::new(&batch, &modulus)?.square()?.to_batch()?;
                for (row, got) in square.to_biguints()?.iter().enumerate() {
                    let expected = &numbers[row] * &numbers[row] % &values[row];
                    tally.row(*got == expected, || format!("{what}: row {row}"));
                }
                Ok(())
            });
        }
    }
    tally.finish();
}

/// Widths whose squares and folds are one kernel, with one part and two parts of transforms, moduli
/// that the kernel takes, those of other bases, others, and exponents of more bits than a launch
/// reads.
#[test]
fn powers_of_small_base_are_computed_by_one_kernel() {
    let mut tally = Tally::new("powers modulo wide special moduli".to_owned());
    for &(bits, exponent_bits) in in_turn(&[(32768, 14), (131_072, 4)]) {
        let shape = narrowest(bits).unwrap();
        let top = shape.bits as u32;
        let by_launches = [
            SpecialModulus::new(1, top, -1),
            SpecialModulus::new(0x1555_5555, top - 40, 2729),
            SpecialModulus::new(0x2aaa_aaaa, top - 30, -2729),
            SpecialModulus::new(3, top - 500, 1),
            SpecialModulus::new(7, 130, -1),
        ];
        let by_one_kernel = [
            SpecialModulus::new(1, top - 1, -1),
            SpecialModulus::new(0x1555_5555, top - 32, 2729),
            SpecialModulus::new(0x2aaa, top - 15, -2729),
            SpecialModulus::new(3, top - 500, 1),
            SpecialModulus::new(7, 130, -1),
        ];
        let devices = [BackendKind::Cpu, BackendKind::Simt, BackendKind::Cuda].map(devices);
        let devices = devices.iter().flat_map(|devices| devices.first());
        // Numbers of other bases, whose digits take the width or twice as much.
        let of_base = SpecialModulus::with_base;
        let by_digits = [
            of_base(1, 3, top * 5 / 8, 1),
            of_base(0x15_5555, 10, top * 3 / 11, -7),
            of_base(6, 97, top / 7, 5003),
            of_base(1, 65532, top / 16 - 1, -1),
            of_base(3, 257, 500, 1),
        ];
        // The shim takes long for launches of the wider products and digits.
        let lists: &[_] =
            if bits == 32768 { &[by_one_kernel, by_digits, by_launches] } else { &[by_one_kernel] };
        for (device, moduli) in devices.flat_map(|device| lists.iter().map(move |it| (device, it)))
        {
            let what = Context::new(shape, "powers of a base", device);
            tally.attempt(&what, moduli.len(), |tally| {
                let modulus = DynModulus::of_special(device, shape, moduli)?;
                let of_moduli = powers_of(&modulus, moduli.len(), exponent_bits)?;
                let modulus = DynModulus::splat_special(device, shape, moduli[1])?;
                let of_one = powers_of(&modulus, moduli.len(), exponent_bits)?;
                let values = moduli.iter().filter_map(|modulus| modulus.value());
                for (row, n) in values.enumerate() {
                    let right = of_moduli(row, &n);
                    tally.row(right, || format!("{what}: row {row}"));
                    let right = of_one(row, &moduli[1].value().unwrap_or_default());
                    tally.row(right, || format!("{what}: one modulus, row {row}"));
                }
                if device.backend() != BackendKind::Simt && bits == 32768 {
                    let power = powers_of(&modulus, 1, 1030)?;
                    let right = power(0, &moduli[1].value().unwrap_or_default());
                    tally.row(right, || format!("{what}: several launches"));
                }
                Ok(())
            });
        }
    }
    tally.finish();
}

/// Powers of 3 by exponents of at most `exponent_bits` bits; returns their check against a modulus.
fn powers_of(
    modulus: &DynModulus,
    rows: usize,
    exponent_bits: usize,
) -> Result<impl Fn(usize, &BigUint) -> bool> {
    let mut random = Random::new(seed());
    let mut exponents: Vec<_> = (0..rows).map(|_| random.bits(exponent_bits)).collect();
    exponents[0].set_bit(exponent_bits as u64 - 1, true);
    let batch = DynBatch::from_biguints(modulus.device(), modulus.shape(), &exponents)?;
    let powers = DynResidues::powers_of(3, &batch, modulus)?.to_batch()?.to_biguints()?;
    Ok(move |row: usize, n: &BigUint| powers[row] == BigUint::from(3u32).modpow(&exponents[row], n))
}

/// Checks that Fermat's test to base 3 passes for the primes among special numbers alone, and that
/// residues equal the powers of `BigUint`.
fn passes(name: &str, numbers: &[SpecialModulus], is_prime: impl Fn(u32) -> bool) {
    let mut tally = Tally::new(name.to_owned());
    for device in devices(BackendKind::Cpu) {
        let what = Context::new(narrowest(0).unwrap(), name, &device);
        tally.attempt(&what, numbers.len(), |tally| fermat(&device, numbers, &is_prime, tally));
    }
    if !devices(BackendKind::Cpu).is_empty() {
        tally.finish();
    }
}

fn fermat(
    device: &Device,
    numbers: &[SpecialModulus],
    is_prime: impl Fn(u32) -> bool,
    tally: &mut Tally,
) -> Result<()> {
    for group in numbers.chunk_by(|left, right| shape_of(*left) == shape_of(*right)) {
        let values: Vec<_> = group.iter().filter_map(|number| number.value()).collect();
        let batch = DynBatch::from_biguints(device, shape_of(group[0]), &values)?;
        let (residues, words) = batch.fermat_residues(3)?;
        for (index, residue) in residues.to_biguints()?.iter().enumerate() {
            let (form, value) = (group[index], &values[index]);
            tally.row(residue.is_one() == is_prime(form.n()), || format!("{form:?}"));
            let low = residue.iter_u64_digits().next().unwrap_or(0);
            tally.row(low == words[index], || format!("{form:?}: RES64 {:x}", words[index]));
            if value.bits() <= 2048 {
                let expected = BigUint::from(3u32).modpow(&(value - 1u32), value);
                tally.row(*residue == expected, || format!("{form:?}: {residue:x}"));
            }
        }
    }
    Ok(())
}

fn shape_of(number: SpecialModulus) -> Shape {
    narrowest(number.value().unwrap().bits() as usize).unwrap()
}

/// Numbers `k 2^n + c` for the exponents.
fn forms(k: u32, c: i32, exponents: impl Iterator<Item = u32>) -> Vec<SpecialModulus> {
    exponents.map(|n| SpecialModulus::new(k, n, c)).collect()
}

#[test]
fn mersenne_primes_pass_and_others_do_not() {
    // OEIS A000043; 2^n - 1 is composite for composite n.
    const PRIMES: [u32; 7] = [521, 607, 1279, 2203, 2281, 3217, 4423];
    let exponents = (513..=611).step_by(2).chain([1277, 1279, 2203, 4421, 4423]);
    passes("Mersenne numbers", &forms(1, -1, exponents), |n| PRIMES.contains(&n));
}

#[test]
fn proth_primes_pass_and_others_do_not() {
    // OEIS A002253: 3 2^n + 1.
    const PRIMES: [u32; 4] = [534, 2208, 2816, 3168];
    let exponents = (510..=560).chain([2207, 2208, 2209, 2816]);
    passes("Proth numbers", &forms(3, 1, exponents), |n| PRIMES.contains(&n));
}

#[test]
fn riesel_primes_pass_and_others_do_not() {
    // OEIS A002235: 3 2^n - 1.
    const PRIMES: [u32; 6] = [827, 1274, 3276, 4204, 5134, 7559];
    let exponents = (800..=850).chain([1273, 1274, 3276]);
    passes("Riesel numbers", &forms(3, -1, exponents), |n| PRIMES.contains(&n));
}

#[test]
fn fermat_numbers_do_not_pass() {
    passes("Fermat numbers", &forms(1, 1, (9..=12).map(|m| 1 << m)), |_| false);
}

#[test]
fn residues_of_proth_tests_equal_those_of_prst() {
    // `5^((N - 1) / 2) + 1` for N = 3 2^n + 1: 5 is the least prime for which N is no square (of
    // PRST's own test: patnashev/prst, src/test.data).
    const PUBLISHED: [(u32, u64); 10] = [
        (161, 0x018e_6cde_f6de_6f51),
        (270, 0x610c_8bd9_2115_0b18),
        (545, 0x255f_58bf_a11a_be92),
        (665, 0xb2fb_055d_3d20_c486),
        (1001, 0xa37e_9856_9783_4d08),
        (1473, 0x034e_d799_38ac_f410),
        (2046, 0xaaa8_a445_5c6e_4036),
        (2601, 0x453d_6292_594e_1189),
        (3165, 0x7cd6_24d7_0840_10be),
        (3390, 0x6315_9ee0_8c0b_e9ad),
    ];
    let shape = narrowest(4096).unwrap();
    let numbers = PUBLISHED.map(|(n, _)| SpecialModulus::new(3, n, 1));
    for device in devices(BackendKind::Cpu) {
        let modulus = DynModulus::of_special(&device, shape, &numbers).unwrap();
        let halves = PUBLISHED.map(|(n, _)| BigUint::from(3u32) << (n - 1));
        let halves = DynBatch::from_biguints(&device, shape, &halves).unwrap();
        let powers = DynResidues::powers_of(5, &halves, &modulus).unwrap().to_batch().unwrap();
        for ((n, expected), power) in PUBLISHED.into_iter().zip(powers.to_biguints().unwrap()) {
            let low = (power + 1u32).iter_u64_digits().next().unwrap_or(0);
            assert_eq!(low, expected, "3 2^{n} + 1");
        }
    }
}

#[test]
fn residues_of_lucas_and_lehmer_find_mersenne_primes() {
    for device in devices(BackendKind::Cpu) {
        let exponents = [521u32, 523, 541, 607, 1279, 1283];
        for n in exponents {
            let number = SpecialModulus::new(1, n, -1);
            let modulus = DynModulus::splat_special(&device, shape_of(number), number).unwrap();
            assert!(modulus.is_special());
            let two = DynResidues::splat(&BigUint::from(2u32), 1, &modulus).unwrap();
            let mut s = two.double().unwrap();
            for _ in 2..n {
                s = s.square().unwrap().sub(&two).unwrap();
            }
            let is_prime = s.is_zero_mask().unwrap().count().unwrap() == 1;
            assert_eq!(is_prime, [521, 607, 1279].contains(&n), "2^{n} - 1");
        }
    }
}

#[test]
fn moduli_without_the_form_have_errors_or_another_form() {
    for device in devices(BackendKind::Cpu) {
        let shape = narrowest(256).unwrap();
        let special = |moduli: &[SpecialModulus]| DynModulus::of_special(&device, shape, moduli);
        let good = SpecialModulus::new(3, 200, 1);
        for bad in [(0, 200, 0), (0, 200, -1), (1, 3, -8), (1, 12, i32::MIN)] {
            let bad = SpecialModulus::new(bad.0, bad.1, bad.2);
            let error = special(&[good, bad]).err();
            assert_eq!(error, Some(Error::DivisionByZero { row: 1 }), "{bad:?}");
        }
        let error = special(&[good, SpecialModulus::new(1, 256, 1)]).err();
        assert_eq!(error, Some(Error::TooWide { row: 1, bits: 257, width: 256 }));
        // Computing it would take hours.
        let error = special(&[good, SpecialModulus::with_base(1, 10, u32::MAX, 1)]).err();
        let bits = 3 * u64::from(u32::MAX);
        assert_eq!(error, Some(Error::TooWide { row: 1, bits, width: 256 }));
        for other in [(0, 200, 7), (1, 127, 1), (3, 200, 9), (1, 200, 8193), (1, 200, 0)] {
            let other = SpecialModulus::new(other.0, other.1, other.2);
            let modulus = special(&[good, other]).unwrap();
            assert!(!modulus.is_special(), "{other:?}");
            let x = DynResidues::splat(&BigUint::from(10u32), 2, &modulus).unwrap();
            let square = x.square().unwrap().to_batch().unwrap().to_biguints().unwrap();
            assert_eq!(square[1], BigUint::from(100u32) % other.value().unwrap(), "{other:?}");
        }
        let modulus = special(&[good, good]).unwrap();
        let three = DynBatch::splat(&device, shape, 7, 3).unwrap();
        let error = DynResidues::powers_of(3, &three, &modulus).err();
        assert!(matches!(error, Some(Error::LengthMismatch { .. })), "{error:?}");
    }
}
