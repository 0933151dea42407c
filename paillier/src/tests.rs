//! Tests on the CPU with keys of 1024 bits, against the textbook's formulas in `num-bigint`.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use gpuint::Device;
use num_bigint::{BigInt, BigUint};
use num_integer::Integer;
use num_traits::{One, Zero};

use crate::{
    Ciphertexts, Decryptor, EncryptedNumbers, Encryptor, Error, Number, Packing, Primes,
    PrivateKey, PublicKey, numbers, to_f64, to_i64,
};

/// A key with its preparations, which all tests share.
struct Setting {
    key: PrivateKey,
    long: Encryptor,
    short: Encryptor,
    decryptor: Decryptor,
}

fn setting() -> &'static Setting {
    static SETTING: OnceLock<Setting> = OnceLock::new();
    SETTING.get_or_init(|| {
        let device = Device::cpu();
        let key = PrivateKey::generate(&device, 1024, Primes::Blum).unwrap();
        Setting {
            long: Encryptor::new(&device, key.public()).unwrap(),
            short: Encryptor::short(&device, key.public()).unwrap(),
            decryptor: Decryptor::new(&device, &key).unwrap(),
            key,
        }
    })
}

impl Setting {
    fn n(&self) -> &BigUint {
        self.key.public().modulus()
    }

    fn forms(&self) -> [&Encryptor; 2] {
        [&self.long, &self.short]
    }

    /// Decrypts by `L(c^lambda mod n^2) / lambda mod n`.
    fn textbook(&self, ciphertext: &BigUint) -> BigUint {
        let (p, q) = self.key.factors();
        let (n, lambda) = (self.n(), (p - 1u32).lcm(&(q - 1u32)));
        let power = ciphertext.modpow(&lambda, &(n * n));
        (power - 1u32) / n * lambda.modinv(n).unwrap() % n
    }

    fn decrypted(&self, ciphertexts: &Ciphertexts) -> Vec<BigUint> {
        self.decryptor.decrypt(ciphertexts).unwrap()
    }

    fn values(&self, numbers: &EncryptedNumbers) -> Vec<f64> {
        to_f64(&self.decryptor.decrypt_numbers(numbers).unwrap()).unwrap()
    }

    /// Plaintexts at the ends and in the middle of the range.
    fn hostile(&self) -> Vec<BigUint> {
        let n = self.n();
        let half = n / 2u32;
        let max = self.key.public().max_int();
        let mut plaintexts: Vec<BigUint> = vec![0u32.into(), 1u32.into(), 2u32.into()];
        plaintexts.extend([n - 1u32, n - 2u32, half.clone() - 1u32, half.clone(), half + 1u32]);
        plaintexts.extend([n - &max, max.clone() + 1u32, max]);
        let (p, q) = self.key.factors();
        plaintexts.extend([n - &p, p, q]);
        plaintexts
    }
}

fn sum(a: &BigUint, b: &BigUint, n: &BigUint) -> BigUint {
    (a + b) % n
}

#[test]
fn hostile_plaintexts_return_from_both_forms() {
    let setting = setting();
    let plaintexts = setting.hostile();
    for encryptor in setting.forms() {
        let ciphertexts = encryptor.encrypt(&plaintexts).unwrap();
        assert_eq!(setting.decrypted(&ciphertexts), plaintexts);
        for (ciphertext, plaintext) in ciphertexts.to_biguints().unwrap().iter().zip(&plaintexts) {
            assert_eq!(&setting.textbook(ciphertext), plaintext);
        }
    }
}

#[test]
fn equal_plaintexts_have_different_ciphertexts() {
    let setting = setting();
    let plaintexts = vec![BigUint::from(7u32); 8];
    let n = setting.n();
    let square = n * n;
    for encryptor in setting.forms() {
        // Two calls, which have seeds of their own.
        let calls = [(); 2].map(|()| encryptor.encrypt(&plaintexts).unwrap());
        let mut all = BTreeSet::new();
        for ciphertext in calls.iter().flat_map(|call| call.to_biguints().unwrap()) {
            // A reused r would show in the quotient of ciphertexts, too: 1 + (m - m') n.
            assert_ne!(ciphertext.clone() % n, BigUint::one());
            all.insert(ciphertext % &square);
        }
        assert_eq!(all.len(), 16);
        let again = encryptor.rerandomize(&calls[0]).unwrap();
        assert!(again.to_biguints().unwrap().iter().all(|ciphertext| !all.contains(ciphertext)));
        assert_eq!(setting.decrypted(&again), plaintexts);
    }
}

#[test]
fn sums_and_products_are_those_of_the_plaintexts() {
    let setting = setting();
    let (n, a) = (setting.n(), setting.hostile());
    let mut b = a.clone();
    b.rotate_left(3);
    let encrypted = setting.short.encrypt(&a).unwrap();
    let other = setting.short.encrypt(&b).unwrap();
    let expected = |f: &dyn Fn(&BigUint, &BigUint) -> BigUint| -> Vec<BigUint> {
        a.iter().zip(&b).map(|(a, b)| f(a, b)).collect()
    };
    let check = |found: Ciphertexts, f: &dyn Fn(&BigUint, &BigUint) -> BigUint| {
        assert_eq!(setting.decrypted(&found), expected(f));
    };
    check(encrypted.add(&other).unwrap(), &|a, b| sum(a, b, n));
    check(encrypted.add_plain(&b).unwrap(), &|a, b| sum(a, b, n));
    check(encrypted.sub(&other).unwrap(), &|a, b| (a + n - b) % n);
    check(encrypted.mul_plain(&b).unwrap(), &|a, b| a * b % n);
}

#[test]
fn sums_by_group_have_every_row_once() {
    let setting = setting();
    let plaintexts: Vec<BigUint> = (0..23u32).map(|row| BigUint::one() << (10 * row)).collect();
    let encrypted = setting.short.encrypt(&plaintexts).unwrap();
    // Groups of 0, 1, 2, 3, 4 and 13 rows, in no order.
    let group: Vec<usize> =
        [5, 1, 5, 2, 5, 3, 5, 4, 5, 2, 5, 3, 5, 4, 5, 3, 5, 4, 5, 4, 5, 5, 5].into_iter().collect();
    let mut expected = vec![BigUint::zero(); 6];
    for (plaintext, &group) in plaintexts.iter().zip(&group) {
        expected[group] += plaintext;
    }
    assert_eq!(setting.decrypted(&encrypted.sum_by(&group, 6).unwrap()), expected);
    let total: BigUint = plaintexts.iter().sum();
    assert_eq!(setting.decrypted(&encrypted.sum().unwrap()), [total]);
    let error = encrypted.sum_by(&group, 5).unwrap_err();
    assert_eq!(error, Error::NoSuchGroup { row: 0, group: 5, groups: 5 });
    let error = encrypted.sum_by(&group, usize::MAX).unwrap_err();
    assert!(matches!(error, Error::Library(gpuint::Error::OutOfMemory { .. })), "{error}");
}

#[test]
fn columns_without_rows_are_columns() {
    let setting = setting();
    let empty = setting.short.encrypt(&[]).unwrap();
    assert!(setting.decrypted(&empty.add(&empty).unwrap()).is_empty());
    assert!(setting.decrypted(&empty.mul_plain(&[]).unwrap().neg().unwrap()).is_empty());
    assert_eq!(setting.decrypted(&empty.sum_by(&[], 2).unwrap()), [BigUint::zero(), Zero::zero()]);
    assert!(setting.long.encrypt(&[]).unwrap().sum_by(&[], 0).unwrap().is_empty());
}

#[test]
fn floats_return_with_their_exponents() {
    let setting = setting();
    let tiny = f64::from_bits(1);
    let values = [0.0, 1.0, -1.0, 0.1, -2.5e10, 1e-100, f64::MIN_POSITIVE, tiny, 3e-320, -1e60];
    let exact = numbers(&values, None).unwrap();
    let exponents: Vec<i32> = exact.iter().map(Number::exponent).collect();
    assert_eq!(exponents, [-14, -13, -13, -14, -5, -97, -269, -282, -279, 36]);
    let encrypted = setting.short.encrypt_numbers(&exact).unwrap();
    assert_eq!(setting.values(&encrypted), values);
    // Ties go to even mantissas.
    let halves = numbers(&[0.5, 1.5, -0.5, -2.5, 2.500_001, 1e-300], Some(0)).unwrap();
    let mantissas: Vec<BigInt> = halves.iter().map(|number| number.mantissa().clone()).collect();
    assert_eq!(mantissas, [0, 2, 0, -2, 3, 0].map(BigInt::from));
    assert_eq!(numbers(&[1.0, f64::NAN], None), Err(Error::NotFinite { row: 1 }));
    let too_long = numbers(&[0.0, 1.0], Some(i32::MIN));
    assert_eq!(too_long, Err(Error::PlaintextRange { row: 1 }));
    assert_eq!(numbers(&[1e308], Some(i32::MAX)).unwrap(), [Number::new(0.into(), i32::MAX)]);
    assert_eq!(to_f64(&[Number::new(1.into(), i32::MAX)]), Err(Error::Overflow { row: 0 }));
    assert_eq!(to_f64(&[Number::new(1.into(), i32::MIN)]), Ok(vec![0.0]));
}

#[test]
fn integers_of_64_bits_return() {
    let values = [0, 1, -1, i64::MAX, i64::MIN].map(|value| Number::from(BigInt::from(value)));
    assert_eq!(to_i64(&values), Ok(vec![0, 1, -1, i64::MAX, i64::MIN]));
    let of = |mantissa: i64, exponent| Number::new(mantissa.into(), exponent);
    assert_eq!(to_i64(&[of(-7, 2), of(-7 << 8, -2)]), Ok(vec![-7 << 8, -7]));
    assert_eq!(to_i64(&[of(0, i32::MAX), of(0, i32::MIN)]), Ok(vec![0, 0]));
    let others = [of(1, 16), of(1 << 7, -2), of(1, i32::MAX), of(-1, i32::MIN)];
    for other in others {
        assert_eq!(to_i64(&[of(1, 0), other]), Err(Error::NotAnInteger { row: 1 }));
    }
}

/// Doubles against their own arithmetic: quotients of integers by powers of two are rounded once.
#[test]
fn nearest_doubles_are_rounded_once() {
    for bits in [1u64, (1 << 53) - 1, (1 << 54) + 1, (1 << 54) + 2, (1 << 54) + 6, u64::MAX] {
        let number = Number::from(bits);
        assert_eq!(number.to_f64(), Some(bits as f64));
        assert_eq!(Number::new(bits.into(), -3).to_f64(), Some(bits as f64 / 4096.0));
    }
    // Halfway between 0 and the least double, and just above.
    assert_eq!(Number::new((1 << 1).into(), -269).to_f64(), Some(0.0));
    assert_eq!(Number::new(3.into(), -269).to_f64(), Some(f64::from_bits(1)));
    let max = Number::exact(f64::MAX).unwrap();
    assert_eq!(max.to_f64(), Some(f64::MAX));
    // Its unit in the last place is 8 here.
    assert_eq!(Number::new(max.mantissa() + 3, max.exponent()).to_f64(), Some(f64::MAX));
    assert_eq!(Number::new(max.mantissa() + 4, max.exponent()).to_f64(), None);
}

#[test]
fn numbers_of_different_exponents_are_aligned() {
    let setting = setting();
    let a = numbers(&[1.5, -2.0, 1e10, 0.0], None).unwrap();
    let b = numbers(&[0.25, 1e-9, -3.0, 7.0], Some(-10)).unwrap();
    let encrypted = setting.short.encrypt_numbers(&a).unwrap();
    let other = setting.short.encrypt_numbers(&b).unwrap();
    let (x, y) = (to_f64(&a).unwrap(), to_f64(&b).unwrap());
    let expected =
        |f: fn(f64, f64) -> f64| -> Vec<f64> { x.iter().zip(&y).map(|(&x, &y)| f(x, y)).collect() };
    assert_eq!(setting.values(&encrypted.add(&other).unwrap()), expected(|x, y| x + y));
    assert_eq!(setting.values(&encrypted.sub(&other).unwrap()), expected(|x, y| x - y));
    assert_eq!(setting.values(&encrypted.add_plain(&b).unwrap()), expected(|x, y| x + y));
    assert_eq!(setting.values(&encrypted.mul_plain(&b).unwrap()), expected(|x, y| x * y));
    let sums = encrypted.sum_by(&[1, 1, 0, 1], 2).unwrap();
    assert_eq!(setting.values(&sums), [1e10, -0.5]);
    assert_eq!(setting.values(&encrypted.gather(&[3, 0]).unwrap()), [0.0, 1.5]);
    let both = encrypted.concat(&other).unwrap();
    assert_eq!(setting.values(&both), [x.clone(), y.clone()].concat());
    let far = |exponent| setting.short.encrypt_numbers(&[Number::new(1.into(), exponent)]).unwrap();
    let error = far(i32::MAX).add(&far(i32::MIN)).unwrap_err();
    assert_eq!(error, Error::ExponentRange { row: 0 });
    let error = far(i32::MAX).mul_plain(&[Number::new(1.into(), 1)]).unwrap_err();
    assert_eq!(error, Error::ExponentRange { row: 0 });
    let error = far(0).add_plain(&[Number::new(1.into(), i32::MAX)]).unwrap_err();
    assert_eq!(error, Error::ExponentRange { row: 0 });
}

#[test]
fn plaintexts_out_of_range_name_their_row() {
    let setting = setting();
    let (n, max) = (setting.n().clone(), setting.key.public().max_int());
    let out = Error::PlaintextRange { row: 1 };
    assert_eq!(setting.short.encrypt(&[One::one(), n.clone()]).unwrap_err(), out);
    let largest = BigInt::from(max.clone());
    let ends = [Number::from(largest.clone()), Number::from(-largest.clone())];
    let encrypted = setting.short.encrypt_numbers(&ends).unwrap();
    assert_eq!(setting.decryptor.decrypt_numbers(&encrypted).unwrap(), ends);
    for above in [largest.clone() + 1, -largest - 1] {
        let above = [Number::from(0), Number::from(above)];
        assert_eq!(setting.short.encrypt_numbers(&above).unwrap_err(), out);
    }
    // Sums beyond the range are found.
    let sum = encrypted.gather(&[1, 0]).unwrap().add(&encrypted.gather(&[0, 0]).unwrap()).unwrap();
    let error = setting.decryptor.decrypt_numbers(&sum).unwrap_err();
    assert_eq!(error, Error::Overflow { row: 1 });
    let encrypted = setting.short.encrypt(&[One::one(), One::one()]).unwrap();
    assert_eq!(encrypted.mul_plain(&[One::one(), n]).unwrap_err(), out);
    let error = encrypted.add_plain(&[One::one()]).unwrap_err();
    assert_eq!(error, Error::LengthMismatch { left: 2, right: 1 });
}

#[test]
fn numbers_that_are_no_ciphertexts_name_their_row() {
    let setting = setting();
    let n = setting.n();
    let (p, q) = setting.key.factors();
    let refused = Error::NotACiphertext { row: 1 };
    for number in [BigUint::zero(), n * n] {
        let error = setting.long.ciphertexts(&[One::one(), number]).unwrap_err();
        assert_eq!(error, refused);
    }
    for number in [p.clone(), &q * &q * 3u32, n.clone()] {
        let ciphertexts = setting.long.ciphertexts(&[One::one(), number]).unwrap();
        assert_eq!(setting.decryptor.decrypt(&ciphertexts).unwrap_err(), refused);
        assert_eq!(ciphertexts.neg().unwrap_err(), refused);
        let error = ciphertexts.mul_plain(&[One::one(), n - 1u32]).unwrap_err();
        assert_eq!(error, refused);
    }
}

/// Keys of primes of Mersenne and of 5, which divides `R - 1`.
#[test]
fn keys_with_factors_of_unequal_lengths_decrypt() {
    let device = Device::cpu();
    let prime = |bits: u32| (BigUint::one() << bits) - 1u32;
    for [p, q] in [[5u32.into(), prime(1279)], [prime(607), prime(521)]] {
        let key = PrivateKey::new(&p, &q).unwrap();
        let (n, decryptor) = (&p * &q, Decryptor::new(&device, &key).unwrap());
        let plaintexts = [BigUint::zero(), BigUint::one(), &n - 1u32, &n / 2u32, p, q];
        let encryptor = Encryptor::new(&device, key.public()).unwrap();
        // A random number may be a multiple of a small factor.
        let (square, random) = (&n * &n, BigUint::from(2u32));
        let blind = random.modpow(&n, &square);
        let numbers = plaintexts.each_ref().map(|m| (m * &n + 1u32) * &blind % &square);
        let ciphertexts = encryptor.ciphertexts(&numbers).unwrap();
        assert_eq!(decryptor.decrypt(&ciphertexts).unwrap(), plaintexts);
    }
    let key = PrivateKey::new(&7u32.into(), &prime(4253)).unwrap();
    let reason = "a factor has more than 4096 bits";
    assert_eq!(Decryptor::new(&device, &key).unwrap_err(), Error::InvalidKey { reason });
}

#[test]
fn keys_of_other_owners_are_refused() {
    let setting = setting();
    let device = Device::cpu();
    let (p, q) = setting.key.factors();
    let other = PrivateKey::new(&p, &next_prime(&q)).unwrap();
    assert_eq!(Encryptor::short(&device, other.public()).unwrap_err(), Error::NoShortBase);
    let encryptor = Encryptor::new(&device, other.public()).unwrap();
    let theirs = encryptor.encrypt(&[One::one()]).unwrap();
    let ours = setting.short.encrypt(&[One::one()]).unwrap();
    assert_eq!(ours.add(&theirs).unwrap_err(), Error::KeyMismatch);
    assert_eq!(setting.decryptor.decrypt(&theirs).unwrap_err(), Error::KeyMismatch);
    assert_eq!(setting.short.rerandomize(&theirs).unwrap_err(), Error::KeyMismatch);
    let theirs = Decryptor::new(&device, &other).unwrap().decrypt(&theirs).unwrap();
    assert_eq!(theirs, [BigUint::one()]);
}

#[test]
fn generated_keys_have_their_form() {
    let key = &setting().key;
    let (p, q) = key.factors();
    assert_eq!((p.bits(), q.bits(), key.public().modulus().bits()), (512, 512, 1024));
    assert_eq!((&p % 4u32, &q % 4u32), (3u32.into(), 3u32.into()));
    assert_eq!((&p - 1u32).gcd(&(&q - 1u32)), 2u32.into());
    // -1 has the symbol 1 modulo n and is no square, so the base is no square either.
    let base = key.public().short_base().unwrap();
    for prime in [&p, &q] {
        assert_eq!(base.modpow(&((prime - 1u32) / 2u32), prime), prime - 1u32);
    }
    assert!(!format!("{key:?}").contains(&p.to_string()));
}

#[test]
fn numbers_that_are_no_keys_are_refused() {
    let device = Device::cpu();
    let (p, q) = setting().key.factors();
    let reason = |key: Result<PrivateKey, Error>| match key.unwrap_err() {
        Error::InvalidKey { reason } => reason,
        other => panic!("{other}"),
    };
    // Moduli with an even number of bits: the square of the larger factor has as many as `p q`.
    let larger = (&p).max(&q);
    assert_eq!(reason(PrivateKey::new(larger, larger)), "its factors are equal");
    let multiples = [3u32, 5].map(|multiplier| &p * multiplier);
    let multiple = multiples.iter().find(|&multiple| (multiple * &q).bits() % 2 == 0).unwrap();
    assert_eq!(reason(PrivateKey::new(multiple, &q)), "a factor is not prime");
    assert_eq!(reason(PrivateKey::new(&One::one(), &(&p * &q))), "a factor is not prime");
    let error = PrivateKey::new(&3u32.into(), &5u32.into()).unwrap_err();
    assert_eq!(error, Error::KeyBits { bits: 4 });
    for bits in [0, 1022, 1025, 8194, usize::MAX] {
        let error = PrivateKey::generate(&device, bits, Primes::Safe).unwrap_err();
        assert_eq!(error, Error::KeyBits { bits: bits as u64 });
    }
    let even = PublicKey::new(BigUint::one() << 1100).unwrap_err();
    assert_eq!(even, Error::InvalidKey { reason: "the modulus is even" });
    let public = setting().key.public();
    for base in [Zero::zero(), One::one(), p, public.modulus().clone()] {
        assert!(public.clone().with_short_base(base).is_err());
    }
}

#[test]
fn keys_and_numbers_return_from_json() {
    let setting = setting();
    let jwk = setting.key.to_jwk().unwrap();
    let key = PrivateKey::from_jwk(&jwk).unwrap();
    assert_eq!(key.factors(), setting.key.factors());
    assert_eq!(key.public().short_base(), setting.key.public().short_base());
    let public = PublicKey::from_jwk(&key.public().to_jwk().unwrap()).unwrap();
    assert_eq!(&public, key.public());

    let values = [-1.5, 1e-20, 3.0];
    let exact = numbers(&values, None).unwrap();
    let json = setting.short.encrypt_numbers(&exact).unwrap().to_json().unwrap();
    let read = setting.long.numbers_from_json(&json).unwrap();
    assert_eq!(setting.values(&read), values);

    let error = |text: &str| PrivateKey::from_jwk(text).unwrap_err().to_string();
    assert!(error("{").contains("no JSON at line 1"));
    assert!(error("{}").contains("wrong or missing members"));
    assert!(error(&jwk.replacen("DAJ", "RSA", 1)).contains("\"kty\""));
    let (p, _) = key.factors();
    let other = PrivateKey::new(&p, &next_prime(&key.factors().1)).unwrap();
    let mixed = jwk.replace(&field(&jwk, "q"), &field(&other.to_jwk().unwrap(), "q"));
    assert!(error(&mixed).contains("another modulus"));
    for (bad, reason) in [
        (r#"{"v": "-5", "e": 0}"#, "decimal"),
        (r#"{"v": "", "e": 0}"#, "decimal"),
        (r#"{"v": "5", "e": 3000000000}"#, "members"),
        (r#"{"v": "5""#, "no JSON"),
    ] {
        let error = setting.long.numbers_from_json(&[json[0].as_str(), bad]).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("row 1") && error.contains(reason), "{error}");
    }
}

/// The text of a member of a JWK.
fn field(jwk: &str, name: &str) -> String {
    let start = jwk.find(&format!("\"{name}\":\"")).unwrap() + name.len() + 4;
    jwk[start..].split('"').next().unwrap().to_owned()
}

fn next_prime(value: &BigUint) -> BigUint {
    let shape = gpuint::narrowest(value.bits() as usize).unwrap();
    let rows = gpuint::DynBatch::from_biguints(&Device::cpu(), shape, [value]).unwrap();
    rows.next_prime().unwrap().0.row(0).unwrap()
}

#[test]
fn vectors_are_packed_and_their_sums_unpacked() {
    let setting = setting();
    let packing = Packing::new(setting.key.public(), 10, 4).unwrap();
    assert_eq!(packing.slots(), 1021 / 13);
    let len = packing.slots();
    let ends: Vec<i64> = (0..len as i64).map(|i| [-1024, 1023, 0, -1][i as usize % 4]).collect();
    let rows =
        packing.pack(&[ends.clone(), ends.clone(), ends.clone(), ends.clone()].concat(), len);
    let sum = setting.short.encrypt_numbers(&rows.unwrap()).unwrap().sum().unwrap();
    let sum = setting.decryptor.decrypt_numbers(&sum).unwrap();
    let expected: Vec<i64> = ends.iter().map(|value| 4 * value).collect();
    assert_eq!(packing.unpack(&sum, len).unwrap(), expected);
    assert_eq!(packing.unpack(&sum, len - 1), Err(Error::Overflow { row: 0 }));
    assert_eq!(packing.pack(&[0, 1024], 1), Err(Error::PlaintextRange { row: 1 }));
    assert_eq!(packing.pack(&[0, -1025], 1), Err(Error::PlaintextRange { row: 1 }));
    assert_eq!(packing.pack(&[0; 3], 2), Err(Error::LengthMismatch { left: 3, right: 2 }));
    for len in [0, len + 1, usize::MAX] {
        assert!(matches!(packing.pack(&[], len), Err(Error::SlotBits { .. })));
    }
    for (bits, terms) in [(63, 1), (50, 1 << 20), (usize::MAX, usize::MAX)] {
        assert!(Packing::new(setting.key.public(), bits, terms).is_err());
    }
}
