//! Limb arithmetic against num-bigint's products and sums, at lengths on both sides of every
//! threshold, on operands whose carries go through all limbs.

use gpuint_catalogue::Op;
use malachite_base::num::arithmetic::traits::KroneckerSymbol;
use malachite_nz::natural::Natural;
use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::One;

use super::half_gcd::{self, Matrix};
use super::prepared::{self, Prepared};
use super::{division, euclid, limbs, product, residues, transform};

/// Lengths in limbs.
const LENGTHS: [usize; 14] = [1, 2, 3, 7, 8, 9, 31, 40, 41, 63, 64, 65, 97, 200];

fn big(limbs: &[u64]) -> BigUint {
    BigUint::from_slice(bytemuck::cast_slice(limbs))
}

/// Integers of one length: edges, runs of equal bits, sparse ones and random ones.
struct Operands(u64);

impl Operands {
    /// Xorshift (G. Marsaglia, 2003).
    fn limb(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn random(&mut self, n: usize) -> Vec<u64> {
        (0..n).map(|_| self.limb()).collect()
    }

    /// Long runs of zeros and ones.
    fn striped(&mut self, n: usize) -> Vec<u64> {
        let mut limbs = vec![0; n];
        let mut value = u64::MAX;
        let mut index = 0;
        while index < n {
            let end = (index + 1 + self.limb() as usize % 7).min(n);
            limbs[index..end].fill(value);
            limbs[end - 1] ^= u64::MAX >> (self.limb() % 64);
            value = !value;
            index = end;
        }
        limbs
    }

    fn all(&mut self, n: usize) -> Vec<Vec<u64>> {
        let mut one = vec![0; n];
        one[0] = 1;
        let mut top = vec![0; n];
        top[n - 1] = 1 << 63;
        let mut top_and_one = top.clone();
        top_and_one[0] |= 1;
        let mut below_top = vec![u64::MAX; n];
        below_top[n - 1] = u64::MAX >> 1;
        let mut equal_top = vec![0; n];
        equal_top[n - 1] = u64::MAX;
        let mut all = vec![vec![0; n], one, top, top_and_one, below_top, equal_top];
        all.push(vec![u64::MAX; n]);
        all.push(self.striped(n));
        all.push(self.striped(n));
        all.push(self.random(n));
        all
    }

    /// One of [`all`](Self::all).
    fn some(&mut self, n: usize) -> Vec<u64> {
        let mut all = self.all(n);
        let index = self.limb() as usize % all.len();
        all.swap_remove(index)
    }
}

fn scratch(n: usize) -> Vec<u64> {
    // Whatever the row before left.
    vec![0xdead_beef_dead_beef; n]
}

#[test]
fn sums_and_shifts_carry_through_all_limbs() {
    let mut operands = Operands(1);
    for n in LENGTHS {
        let modulus = BigUint::one() << (64 * n);
        for a in operands.all(n) {
            let b = operands.some(n);
            let mut out = vec![7; n];
            let carry = limbs::add(&mut out, &a, &b);
            assert_eq!(big(&out) + BigUint::from(carry) * &modulus, big(&a) + big(&b));
            let borrow = limbs::sub(&mut out, &a, &b);
            assert_eq!(big(&out) + big(&b), big(&a) + BigUint::from(borrow) * &modulus);
            assert_eq!(limbs::compare(&a, &b), big(&a).cmp(&big(&b)));
            assert_eq!(limbs::bit_length(&a) as u64, big(&a).bits());
            let limb = operands.limb();
            let mut out = b.clone();
            let above = limbs::add_product(&mut out, &a, limb);
            let expected = big(&b) + big(&a) * limb;
            assert_eq!(big(&out) + BigUint::from(above) * &modulus, expected);
            let above = limbs::sub_product(&mut out, &a, limb);
            assert_eq!(out, b);
            assert_eq!(BigUint::from(above), (big(&b) + big(&a) * limb) >> (64 * n));
            for distance in [0, 1, 63, 64, 65, 64 * n - 1, 64 * n, 64 * n + 70] {
                limbs::shift_left(&mut out, &a, distance);
                assert_eq!(big(&out), (big(&a) << distance) % &modulus, "{n} << {distance}");
                limbs::shift_right(&mut out, &a, distance);
                assert_eq!(big(&out), big(&a) >> distance, "{n} >> {distance}");
                let mut wide = vec![7; n + 1];
                limbs::shift_left(&mut wide, &a, distance % 64);
                assert_eq!(big(&wide), big(&a) << (distance % 64));
            }
        }
    }
}

#[test]
fn products_agree_at_every_length() {
    let mut operands = Operands(2);
    for n in LENGTHS {
        for a in operands.all(n) {
            for m in [1, n.div_ceil(3), n / 2 + 1, n] {
                let b = operands.some(m);
                let expected = big(&a) * big(&b);
                let mut scratch = scratch(product::scratch_limbs(n));
                let mut out = vec![7; n + m];
                product::multiply(&mut out, &a, &b, &mut scratch);
                assert_eq!(big(&out), expected, "{n} by {m}");
                product::multiply(&mut out, &b, &a, &mut scratch);
                assert_eq!(big(&out), expected, "{m} by {n}");
                for len in [n, n + 1, n.div_ceil(2)] {
                    let mut low = vec![7; len];
                    product::multiply_low(&mut low, &a, &b, &mut scratch);
                    assert_eq!(big(&low), &expected % (BigUint::one() << (64 * len)), "{n}, {m}");
                }
            }
            let b = operands.some(n);
            let mut scratch = scratch(2 * n + product::scratch_limbs(n));
            let mut high = vec![7; n];
            product::multiply_high(&mut high, &a, &b, &mut scratch);
            let expected = (big(&a) * big(&b)) >> (64 * n);
            assert!(big(&high) == expected || big(&high) + 1u32 == expected, "high, {n}");
            let mut out = vec![7; 2 * n];
            product::square(&mut out, &a, &mut scratch);
            assert_eq!(big(&out), big(&a) * big(&a), "square, {n}");
            product::square_low(&mut high, &a, &mut scratch);
            assert_eq!(high, out[..n], "low square, {n}");
        }
    }
}

/// Dividends and divisors: of all lengths, and built from a quotient and a remainder.
fn divisions(mut check: impl FnMut(&[u64], &[u64])) {
    let mut operands = Operands(3);
    for n in LENGTHS {
        for v in operands.all(n) {
            let v_big = big(&v);
            if v_big == BigUint::ZERO {
                continue;
            }
            for m in [n, n + 1, n + n.div_ceil(2), 2 * n, 2 * n + n / 2 + 1, 3 * n + 1] {
                check(&operands.some(m), &v);
                let bound = BigUint::one() << (64 * m);
                let q = big(&operands.some(m + 1 - n));
                for r in [BigUint::ZERO, &v_big - 1u32] {
                    let u = &q * &v_big + r;
                    if u < bound {
                        let mut limbs = u.to_u64_digits();
                        limbs.resize(m, 0);
                        check(&limbs, &v);
                    }
                }
            }
        }
    }
}

#[test]
fn divisions_return_quotient_and_remainder() {
    divisions(|u, v| {
        let m = u.len();
        let (mut q, mut r) = (vec![7; m], vec![7; m]);
        division::divide(&mut q, &mut r, u, v, &mut scratch(division::scratch_limbs(m)));
        assert!(big(&r) < big(v), "{u:x?} mod {v:x?}");
        assert_eq!(big(&q) * big(v) + big(&r), big(u), "{u:x?} / {v:x?}");
    });
}

#[test]
fn dividends_that_begin_with_the_divisor_saturate() {
    let mut operands = Operands(4);
    for n in LENGTHS.into_iter().filter(|&n| n > 1) {
        for mut v in operands.all(n) {
            v[n - 1] |= 1 << 63;
            let v_big = big(&v);
            for t in [1, n / 2 + 1, n, 2 * n + 1] {
                // (v - 1) B^t + B^t - 1 has the quotient B^t - 1 and the remainder v - 1.
                let u = (&v_big << (64 * t)) - 1u32;
                let mut a = u.to_u64_digits();
                a.resize(n + t, 0);
                let mut q = vec![7; t];
                let mut scratch = scratch(division::block_scratch_limbs(n));
                division::divide_normalized(&mut q, &mut a, &v, &mut scratch);
                assert_eq!(q, vec![u64::MAX; t]);
                assert_eq!(big(&a), &v_big - 1u32);
            }
        }
    }
}

fn record(v: &[u64], width: usize) -> Vec<u64> {
    let mut record = vec![7; 2 * width + 8];
    prepared::prepare(&mut record, v, &mut scratch(prepared::prepare_scratch_limbs(width)));
    record
}

#[test]
fn prepared_divisors_divide() {
    divisions(|u, v| {
        let m = u.len();
        let record = record(v, m);
        let (mut q, mut r) = (vec![7; m], vec![7; m]);
        let mut scratch = scratch(prepared::scratch_limbs(m));
        Prepared::new(&record).divide(&mut q, &mut r, u, &mut scratch);
        assert!(big(&r) < big(v), "{u:x?} mod {v:x?}");
        assert_eq!(big(&q) * big(v) + big(&r), big(u), "{u:x?} / {v:x?}");
        let mut product = vec![7; m];
        Prepared::new(&record).multiply(&mut product, u, Some(&q), &mut scratch);
        let expected = (big(&r) * big(&q)) % big(v);
        assert_eq!(big(&product), expected, "{u:x?} * {q:x?} mod {v:x?}");
        Prepared::new(&record).multiply(&mut product, u, None, &mut scratch);
        assert_eq!(big(&product), (big(&r) * big(&r)) % big(v), "{u:x?}^2 mod {v:x?}");
    });
}

#[test]
fn powers_agree_for_odd_and_even_moduli() {
    let mut operands = Operands(5);
    for n in [1, 2, 3, 9, 33] {
        for v in operands.all(n) {
            if big(&v) == BigUint::ZERO {
                continue;
            }
            let record = record(&v, n);
            for exponent in [
                vec![0; n],
                operands.some(n),
                [vec![operands.limb() >> 40], vec![0; n - 1]].concat(),
                [vec![1], vec![0; n - 1]].concat(),
            ] {
                let a = operands.some(n);
                let mut out = vec![7; n];
                let mut scratch = scratch(prepared::power_scratch_limbs(n, 1));
                Prepared::new(&record).power(&mut out, &a, &exponent, 1, &mut scratch);
                let expected = big(&a).modpow(&big(&exponent), &big(&v));
                assert_eq!(big(&out), expected, "{a:x?} ^ {exponent:x?} mod {v:x?}");
            }
        }
    }
}

#[test]
fn products_of_powers_agree_for_odd_and_even_moduli() {
    let mut operands = Operands(7);
    for (n, count) in [(1, 2), (2, 3), (9, 2)] {
        for v in operands.all(n) {
            if big(&v) == BigUint::ZERO {
                continue;
            }
            let short = |limb: u64| [vec![limb], vec![0; n - 1]].concat();
            let a: Vec<_> = (0..count).map(|_| operands.some(n)).collect();
            // Windows that begin together, and apart; exponents of 0.
            for e in [
                (0..count).map(|_| operands.some(n)).collect::<Vec<_>>(),
                (0..count).map(|i| short(operands.limb() >> (8 * i))).collect(),
                (0..count as u64).map(short).collect(),
                vec![vec![0; n]; count],
            ] {
                let mut out = vec![7; n];
                let mut scratch = scratch(prepared::power_scratch_limbs(n, count));
                let record = record(&v, n);
                let divisor = Prepared::new(&record);
                divisor.power(&mut out, &a.concat(), &e.concat(), count, &mut scratch);
                let expected = a.iter().zip(&e).fold(BigUint::from(1u32), |product, (a, e)| {
                    product * big(a).modpow(&big(e), &big(&v))
                });
                assert_eq!(big(&out), expected % big(&v), "{a:x?} ^ {e:x?} mod {v:x?}");
            }
        }
    }
}

#[test]
fn wide_odd_moduli_take_the_other_engine() {
    let mut operands = Operands(6);
    for n in [160, 161] {
        let mut v = operands.striped(n);
        v[0] |= 1;
        let (a, exponent) = (operands.random(n), vec![0x1_0001]);
        let mut out = vec![7; n];
        let mut scratch = scratch(prepared::power_scratch_limbs(n, 1));
        Prepared::new(&record(&v, n)).power(&mut out, &a, &exponent, 1, &mut scratch);
        assert_eq!(big(&out), big(&a).modpow(&big(&exponent), &big(&v)));
    }
}

#[test]
fn division_by_a_limb_agrees() {
    let mut operands = Operands(7);
    let check = |u: &[u64], d: u64| {
        let mut q = vec![7; u.len()];
        let r = division::divide_by_limb(&mut q, u, d);
        assert!(r < d);
        assert_eq!(big(&q) * d + r, big(u), "{u:x?} / {d:x}");
    };
    for n in LENGTHS {
        for number in operands.all(n) {
            for d in [1, 2, 3, u64::MAX, 1 << 63, (1 << 63) + 1, operands.limb() | 1] {
                check(&number, d);
                // Quotients with long carries.
                for r in [0, d - 1] {
                    let mut u = (big(&number) * d + r).to_u64_digits();
                    u.resize(n + 1, 0);
                    check(&u, d);
                }
            }
        }
    }
}

/// Lengths of which some pairs are reduced by half-gcds of halves, too.
const EUCLID_LENGTHS: [usize; 9] = [1, 2, 3, 4, 9, 64, 97, 193, 450];

/// Pairs of integers of `n` limbs: of all kinds, with a common divisor of half the length, and with
/// the longest rows of quotients, and with quotients of every size.
fn pairs(operands: &mut Operands, n: usize) -> Vec<[Vec<u64>; 2]> {
    let limbs = |value: BigUint| {
        let mut limbs = value.to_u64_digits();
        limbs.resize(n + 1, 0);
        limbs.truncate(n);
        limbs
    };
    let mut pairs = Vec::new();
    for a in operands.all(n) {
        for _ in 0..4 {
            pairs.push([a.clone(), operands.some(n)]);
            let half = n.div_ceil(2);
            let divisor = big(&operands.some(half));
            pairs.push([(); 2].map(|()| limbs(big(&operands.some(n - half + 1)) * &divisor)));
        }
    }
    // Euclid's algorithm backwards. Quotients of 1 make neighbours in Fibonacci's sequence.
    for quotient_bits in [1, 2, 31, 33, 40, 62, 64, 65, 130, 700] {
        let (mut x, mut y) = (BigUint::from(operands.limb() | 1), BigUint::one());
        loop {
            let mask = (BigUint::one() << quotient_bits) - 1u32;
            let quotient = (big(&operands.random(11)) & mask) | BigUint::one();
            let next: BigUint = &x * quotient + &y;
            if next.bits() > 64 * n as u64 {
                break;
            }
            (x, y) = (next, x);
        }
        pairs.push([limbs(x), limbs(y)]);
    }
    for [a, b] in pairs.clone() {
        pairs.push([b, a]);
    }
    pairs
}

#[test]
fn greatest_common_divisors_and_symbols_agree() {
    let mut operands = Operands(8);
    for n in EUCLID_LENGTHS {
        for [a, b] in pairs(&mut operands, n) {
            let mut out = vec![7; n];
            let mut scratch = scratch(euclid::scratch_limbs(n));
            euclid::gcd(&mut out, &a, &b, &mut scratch);
            assert_eq!(big(&out), big(&a).gcd(&big(&b)), "{a:x?}, {b:x?}");
            let odd = [&[b[0] | 1], &b[1..]].concat();
            for n in [b, odd] {
                let symbol = euclid::jacobi(&a, &n, &mut scratch);
                let [a, n] = [&a, &n].map(|limbs| Natural::from_limbs_asc(limbs));
                assert_eq!(symbol, (&a).kronecker_symbol(&n), "{a}, {n}");
            }
        }
    }
}

/// Symbols of all small pairs: every state meets every step.
#[test]
fn symbols_of_small_numbers_agree() {
    for a in 0..200 {
        for n in 0..200 {
            for n in [n, n << 61] {
                let symbol = euclid::jacobi(&[a], &[n], &mut scratch(euclid::scratch_limbs(1)));
                assert_eq!(symbol, a.kronecker_symbol(n), "{a}, {n}");
            }
        }
    }
}

#[test]
fn half_gcds_are_within_their_bounds() {
    let mut operands = Operands(10);
    let mut reduced = 0;
    for n in EUCLID_LENGTHS {
        for [a, b] in pairs(&mut operands, n) {
            let (mut x, mut y) = (a.clone(), b.clone());
            let mut entries = scratch(4 * Matrix::entry_limbs(n));
            let mut scratch = scratch(half_gcd::scratch_limbs(n));
            let (mut matrix, _) = Matrix::identity(n, &mut entries);
            if !half_gcd::half_gcd(&mut x, &mut y, &mut matrix, &mut (), &mut scratch) {
                assert_eq!((&x, &y), (&a, &b));
                continue;
            }
            reduced += 1;
            let (a, b, x, y) = (big(&a), big(&b), big(&x), big(&y));
            let least = BigUint::one() << (32 * n + 1);
            assert!(x >= least && y >= least);
            let Matrix { u0, v0, u1, v1 } = matrix;
            let [u0, v0, u1, v1] = [u0, v0, u1, v1].map(|entry| big(entry));
            assert_eq!(&u0 * &v1, &v0 * &u1 + 1u32);
            assert_eq!((&u0 * &a, &v1 * &b), (x + &v0 * &b, y + &u1 * &a));
            assert!([u0, v0, u1, v1].iter().all(|entry| entry.bits() < 32 * n as u64));
        }
    }
    assert!(reduced > 300, "{reduced}");
}

#[test]
fn inverses_agree() {
    let mut operands = Operands(9);
    let check = |v: &[u64], modulus: &[u64]| {
        if big(modulus) <= BigUint::one() {
            return;
        }
        let n = modulus.len();
        let mut out = vec![7; n];
        let mut scratch = scratch(euclid::invert_scratch_limbs(n));
        let exists = euclid::invert(&mut out, v, modulus, &mut scratch);
        assert_eq!(exists, big(v).gcd(&big(modulus)).is_one(), "{v:x?}, {modulus:x?}");
        if exists {
            assert!(big(&out) < big(modulus));
            let product = big(&out) * big(v) % big(modulus);
            assert_eq!(product, BigUint::one(), "{v:x?}, {modulus:x?}");
        } else {
            assert_eq!(big(&out), BigUint::ZERO);
        }
    };
    for n in LENGTHS {
        for modulus in operands.all(n) {
            operands.all(n).iter().for_each(|v| check(v, &modulus));
        }
    }
    for n in EUCLID_LENGTHS {
        pairs(&mut operands, n).iter().for_each(|[v, modulus]| check(v, modulus));
    }
}

/// Fractions of all lengths come back from their image: a step beyond the bound would lose them.
#[test]
fn fractions_come_back_from_their_image() {
    let mut operands = Operands(12);
    let mut found = 0;
    for n in EUCLID_LENGTHS {
        for turn in 0..40 {
            let modulus = [&[operands.limb() | 1], &operands.random(n)[1..]].concat();
            let bound = BigUint::sqrt(&(big(&modulus) >> 1));
            let mut part = |turn: u64| (big(&operands.random(n)) % &bound) >> (turn % 7 * 4);
            let (numerator, denominator) = (part(turn), part(turn / 7) + 1u32);
            let Some(inverse) = denominator.modinv(&big(&modulus)) else { continue };
            if !numerator.gcd(&denominator).is_one() {
                continue;
            }
            let image = &numerator * inverse % big(&modulus);
            let is_negative = turn % 2 == 1 && numerator != BigUint::ZERO;
            let image = if is_negative { big(&modulus) - image } else { image };
            let limbs = |value: &BigUint| {
                let mut limbs = value.to_u64_digits();
                limbs.resize(n, 0);
                limbs
            };
            let (mut x, mut y) = (vec![7; n], vec![7; n]);
            let mut scratch = scratch(euclid::invert_scratch_limbs(n));
            let (image, bound) = (limbs(&image), limbs(&bound));
            let sign = euclid::reconstruct(&mut x, &mut y, &image, &modulus, &bound, &mut scratch);
            assert_eq!((big(&x), big(&y), sign), (numerator, denominator, is_negative), "{n}");
            found += 1;
        }
    }
    assert!(found > 150, "{found}");
}

#[test]
fn residues_agree_at_whole_limbs_and_others() {
    let mut operands = Operands(10);
    for (n, bits) in LENGTHS.into_iter().flat_map(|n| [(n, 64 * n), (n, 64 * n - 16)]) {
        let modulus = BigUint::one() << bits;
        let cut = |mut limbs: Vec<u64>| {
            limbs[n - 1] &= u64::MAX >> (64 * n - bits);
            limbs
        };
        for v in operands.all(n) {
            let mut v = cut(v);
            v[0] |= 1;
            let mut record = vec![7; (2 * bits).div_ceil(64)];
            let mut scratch =
                scratch(residues::prepare_scratch_limbs(n).max(residues::scratch_limbs(n)));
            residues::prepare(&mut record, &v, bits, &mut scratch);
            let inverse = big(&record) >> bits;
            assert_eq!(big(&record) % &modulus, big(&v));
            assert_eq!((&inverse * big(&v) + 1u32) % &modulus, BigUint::ZERO, "{bits}");
            let below = |limbs: &[u64]| {
                let mut limbs = (big(limbs) % big(&v)).to_u64_digits();
                limbs.resize(n, 0);
                limbs
            };
            for a in operands.all(n) {
                let (a, b) = (cut(a), below(&operands.some(n)));
                let mut out = vec![7; n];
                residues::reduce_product(&mut out, &a, Some(&b), &record, bits, &mut scratch);
                assert!(big(&out) < big(&v));
                let expected = big(&a) * big(&b) % big(&v);
                assert_eq!((big(&out) << bits) % big(&v), expected, "{bits}");
                residues::reduce_product(&mut out, &b, None, &record, bits, &mut scratch);
                assert_eq!((big(&out) << bits) % big(&v), big(&b) * big(&b) % big(&v), "{bits}");
            }
        }
    }
}

#[test]
fn modular_sums_agree() {
    let mut operands = Operands(11);
    for n in LENGTHS {
        for v in operands.all(n).into_iter().chain([[vec![5], vec![0; n - 1]].concat()]) {
            let v_big = big(&v);
            if v_big == BigUint::ZERO {
                continue;
            }
            let record = record(&v, n);
            let divisor = Prepared::new(&record);
            let mut scratch = scratch(prepared::sum_scratch_limbs(n));
            for a in operands.all(n) {
                let b = operands.some(n);
                let (a_residue, b_residue) = (big(&a) % &v_big, big(&b) % &v_big);
                let mut out = vec![7; n];
                divisor.add(&mut out, &a, &b, &mut scratch);
                assert_eq!(big(&out), (&a_residue + &b_residue) % &v_big);
                divisor.sub(&mut out, &a, &b, &mut scratch);
                assert_eq!(big(&out), (&a_residue + &v_big - b_residue) % &v_big);
                divisor.negate(&mut out, &a, &mut scratch);
                assert_eq!(big(&out), (&v_big - &a_residue) % &v_big);
                if v[0] & 1 == 1 {
                    let mut below = a_residue.to_u64_digits();
                    below.resize(n, 0);
                    divisor.halve(&mut out, &below, &mut scratch);
                    assert_eq!((big(&out) * 2u32) % &v_big, a_residue);
                    assert!(big(&out) < v_big);
                }
            }
        }
    }
}

/// The function of an operation has the name of the operation.
#[test]
fn functions_have_the_names_of_their_operations() {
    let table = include_str!("mod.rs");
    for op in Op::ALL {
        let row = format!("Op::{op:?} => (");
        let (_, rest) = table.split_once(&row).unwrap();
        let (path, _) = rest.split_once([',', ')']).unwrap();
        let (_, function) = path.rsplit_once("::").unwrap();
        assert_eq!(function.trim(), op.signature().name, "{op:?}");
    }
}

/// Lengths of factors on both sides of the parts of transforms, of `2^k` and `3 2^k` points.
#[test]
fn transforms_multiply() {
    let mut operands = Operands(17);
    for (n, m) in [(1, 1), (2, 1), (3, 2), (5, 5), (64, 64), (65, 3), (192, 190), (700, 600)] {
        for (a, b) in operands.all(n).iter().zip(operands.all(m).iter().rev()) {
            let mut out = vec![7; n + m];
            assert!(transform::multiply(&mut out, a, Some(b)));
            assert_eq!(big(&out), big(a) * big(b), "{n} by {m} limbs");
            let mut out = vec![7; 2 * n];
            assert!(transform::multiply(&mut out, a, None));
            assert_eq!(big(&out), big(a) * big(a), "{n} limbs");
        }
    }
}

#[test]
fn transforms_multiply_modulo_a_power_of_two_minus_1() {
    let mut operands = Operands(18);
    for n in [1, 2, 3, 4, 6, 16, 24, 48, 512, 768, 1024] {
        assert!(transform::wraps(n), "{n} limbs");
        let modulus = (BigUint::one() << (64 * n)) - 1u32;
        for (a, b) in operands.all(n).iter().zip(operands.all(n).iter().rev()) {
            let mut out = vec![7; n];
            let above = transform::multiply_cyclic(&mut out, a, b).unwrap();
            let number = (BigUint::from(above) << (64 * n)) + big(&out);
            assert_eq!(number % &modulus, big(a) * big(b) % &modulus, "{n} limbs");
        }
    }
    assert!(![5, 7, 9, 10, 18, 20].into_iter().any(transform::wraps));
}

/// Factors of the widths from which on products are by transforms.
#[test]
fn wide_products_agree_with_their_parts() {
    let mut operands = Operands(19);
    let n = 8192;
    let (a, b) = (operands.striped(n), operands.random(n));
    let mut scratch = vec![0; product::scratch_limbs(n)];
    let mut whole = vec![0; 2 * n];
    product::multiply(&mut whole, &a, &b, &mut scratch);
    let expected = big(&a) * big(&b);
    assert_eq!(big(&whole), expected);
    let mut square = vec![0; 2 * n];
    product::square(&mut square, &a, &mut scratch);
    assert_eq!(big(&square), big(&a) * big(&a));
    let mut low = vec![0; n];
    product::multiply_low(&mut low, &a, &b, &mut scratch);
    assert_eq!(low, whole[..n]);
    let ones = vec![u64::MAX; n];
    for (a, b, bits) in [(&a, &b, 64 * n), (&ones, &b, 64 * n), (&ones, &ones, 64 * n)] {
        let mut cyclic = vec![0; n];
        product::multiply_cyclic(&mut cyclic, a, b, bits, &mut scratch);
        let modulus = (BigUint::one() << bits) - 1u32;
        let expected = big(a) * big(b) % &modulus;
        let zero = expected == BigUint::ZERO;
        assert_eq!(big(&cyclic), if zero { modulus } else { expected });
    }
}
