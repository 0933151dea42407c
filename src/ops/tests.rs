//! Every operation against `num-bigint`'s addition, multiplication, shifts and comparison, on the
//! devices of this machine.

use std::cmp::Ordering;

use num_bigint::BigUint;
use num_traits::{One, Zero};

use crate::{
    Algorithm, Auto, Batch, Blocked, Classical, Device, Division, Double, Error, GpuUint, JitUint,
    Kernels, Op, Product, ShiftedInverse, Widen, is_offered,
};

type U1024 = GpuUint<1024>;

/// The devices, and the widest shape to test on each.
fn devices() -> Vec<(Device, usize)> {
    let mut devices = vec![(Device::cpu(), usize::MAX)];
    #[cfg(feature = "simt")]
    match crate::rare_paths() {
        Err(error @ Error::KernelMissing { .. }) => gpuint_skip::skip("cxx", error),
        _ => devices.push((Device::simt(), 2048)),
    }
    devices
}

/// Runs a check on every device at narrow shapes of every digit and at one that is not built, and
/// on the CPU at a wide one and at more that are not built.
macro_rules! everywhere {
    ($check:ident) => {
        for (device, widest) in devices() {
            $check::<GpuUint<1024>>(&device);
            $check::<GpuUint<1024, 2, u32>>(&device);
            $check::<GpuUint<1024, 1, u16>>(&device);
            $check::<GpuUint<1536, 3, u64>>(&device);
            $check::<GpuUint<2048, 4, u16>>(&device);
            $check::<JitUint<1040, 5, u16>>(&device);
            if widest >= 32768 {
                $check::<GpuUint<32768>>(&device);
                $check::<JitUint<96, 3, u32>>(&device);
                $check::<JitUint<1280>>(&device);
                $check::<JitUint<20480>>(&device);
            }
        }
    };
}

fn power(exponent: usize) -> BigUint {
    BigUint::one() << exponent
}

/// Values of all lengths: the ends of the range, powers of two and their neighbours, and irregular
/// digits.
fn values(bits: usize) -> Vec<BigUint> {
    let mut values = vec![BigUint::zero(), BigUint::one(), power(bits) - 1u32];
    let exponents = [15, 16, 31, 63, 64, 65, bits / 2, bits.saturating_sub(64), bits - 1];
    for exponent in exponents.into_iter().filter(|&exponent| exponent > 0 && exponent < bits) {
        values.extend([power(exponent) - 1u32, power(exponent), power(exponent) + 1u32]);
    }
    let mut digits = BigUint::from(0x9e37_79b9_7f4a_7c15u64);
    while values.len() < 45 {
        digits = (&digits * &digits + values.len()) % power(bits);
        values.push(&digits >> (values.len() * 37 % (bits - 1)));
    }
    values
}

/// Pairs every value of [`values`] with a rotation of them.
fn pairs(bits: usize, rotation: usize) -> (Vec<BigUint>, Vec<BigUint>) {
    let left = values(bits);
    let mut right = left.clone();
    right.rotate_left(rotation);
    (left, right)
}

const ROTATIONS: [usize; 4] = [0, 1, 7, 20];

/// Checks the operations of one shape.
struct Check<'a>(&'a Device);

impl Check<'_> {
    fn batch<T: Kernels>(&self, values: &[BigUint]) -> Batch<T> {
        Batch::from_biguints(self.0, values).unwrap()
    }

    fn arithmetic<T: Kernels>(&self, left: &[BigUint], right: &[BigUint]) {
        let (a, b) = (self.batch::<T>(left), self.batch::<T>(right));
        let modulus = power(T::BITS);
        let (sum, carry) = a.overflowing_add(&b).unwrap();
        let (difference, borrow) = a.overflowing_sub(&b).unwrap();
        let (low, high) = a.mul_lo_hi(&b).unwrap();
        let square = a.wrapping_square().unwrap().to_biguints().unwrap();
        let product = a.wrapping_mul(&b).unwrap().to_biguints().unwrap();
        let order = a.cmp(&b).unwrap();
        let equal = a.eq_mask(&b).unwrap().to_bools().unwrap();
        let less = a.lt_mask(&b).unwrap().to_bools().unwrap();
        let zero = a.is_zero_mask().unwrap().to_bools().unwrap();
        let lengths = a.bit_lengths().unwrap();
        let (sum, carry) = (sum.to_biguints().unwrap(), carry.to_bools().unwrap());
        let (difference, borrow) = (difference.to_biguints().unwrap(), borrow.to_bools().unwrap());
        let (low, high) = (low.to_biguints().unwrap(), high.to_biguints().unwrap());
        assert_eq!(a.wrapping_add(&b).unwrap().to_biguints().unwrap(), sum);
        assert_eq!(a.wrapping_sub(&b).unwrap().to_biguints().unwrap(), difference);
        for (row, (x, y)) in left.iter().zip(right).enumerate() {
            let context = || format!("{} row {row}: {x:#x}, {y:#x}", T::SHAPE);
            assert_eq!(sum[row], (x + y) % &modulus, "sum, {}", context());
            assert_eq!(carry[row], x + y >= modulus, "carry, {}", context());
            assert_eq!(
                &difference[row] + y,
                x + power(T::BITS) * u32::from(x < y),
                "{}",
                context()
            );
            assert_eq!(borrow[row], x < y, "borrow, {}", context());
            assert_eq!(&low[row] + &high[row] * &modulus, x * y, "wide product, {}", context());
            assert_eq!(product[row], low[row], "product, {}", context());
            assert_eq!(square[row], x * x % &modulus, "square, {}", context());
            assert_eq!(order[row], x.cmp(y), "order, {}", context());
            assert_eq!(equal[row], x == y, "equality, {}", context());
            assert_eq!(less[row], x < y, "less, {}", context());
            assert_eq!(zero[row], x.is_zero(), "zero, {}", context());
            assert_eq!(lengths[row], x.bits(), "bit length, {}", context());
        }
    }

    fn division<T: Kernels, S: Division<T>>(&self, left: &[BigUint], right: &[BigUint]) {
        let (u, v) = (self.batch::<T>(left), self.batch::<T>(right));
        let (q, r, zero) = u.using::<S>().div_rem_masked(&v).unwrap();
        let (q, r) = (q.to_biguints().unwrap(), r.to_biguints().unwrap());
        let zero = zero.to_bools().unwrap();
        for (row, (u, v)) in left.iter().zip(right).enumerate() {
            let context = format!("{} row {row}: {u:#x} / {v:#x}", T::SHAPE);
            assert_eq!(zero[row], v.is_zero(), "{context}");
            if v.is_zero() {
                assert_eq!((&q[row], &r[row]), (&(power(T::BITS) - 1u32), u), "{context}");
            } else {
                assert!(r[row] < *v, "{context}");
                assert_eq!(&q[row] * v + &r[row], *u, "{context}");
            }
        }
        let divided = u.using::<S>().div_rem(&v);
        match right.iter().position(Zero::is_zero) {
            Some(row) => assert_eq!(divided.unwrap_err(), Error::DivisionByZero { row }),
            None => {
                let (quotient, remainder) = divided.unwrap();
                assert_eq!(quotient.to_biguints().unwrap(), q);
                assert_eq!(remainder.to_biguints().unwrap(), r);
                assert_eq!(u.using::<S>().div(&v).unwrap().to_biguints().unwrap(), q);
                assert_eq!(u.using::<S>().rem(&v).unwrap().to_biguints().unwrap(), r);
            }
        }
    }

    fn shifts<T: Kernels>(&self, numbers: &[BigUint]) {
        let a = self.batch::<T>(numbers);
        let modulus = power(T::BITS);
        let word = T::DIGIT_BITS;
        for bits in [0, 1, word - 1, word, word + 1, T::BITS / 2 + 3, T::BITS - 1, T::BITS] {
            let left = a.shl(bits).unwrap().to_biguints().unwrap();
            let right = a.shr(bits).unwrap().to_biguints().unwrap();
            for (row, x) in numbers.iter().enumerate() {
                assert_eq!(left[row], (x << bits) % &modulus, "{} {x:#x} << {bits}", T::SHAPE);
                assert_eq!(right[row], x >> bits, "{} {x:#x} >> {bits}", T::SHAPE);
            }
        }
        let nothing = vec![BigUint::zero(); numbers.len()];
        for bits in [T::BITS + 1, usize::MAX] {
            assert_eq!(a.shl(bits).unwrap().to_biguints().unwrap(), nothing);
            assert_eq!(a.shr(bits).unwrap().to_biguints().unwrap(), nothing);
            assert_eq!(a.shl_digits(bits).unwrap().to_biguints().unwrap(), nothing);
            assert_eq!(a.shr_digits(bits).unwrap().to_biguints().unwrap(), nothing);
        }
        let digit = a.shl_digits(1).unwrap().shr_digits(1).unwrap().to_biguints().unwrap();
        for (row, x) in numbers.iter().enumerate() {
            assert_eq!(digit[row], x % power(T::BITS - word));
        }
    }

    fn inverses<T: Kernels>(&self, numbers: &[BigUint]) {
        for h in
            [0, 1, 2, T::DIGITS / 2, T::DIGITS - 1, T::DIGITS, T::DIGITS + 1, 2 * T::DIGITS - 1]
        {
            let numerator = power(h * T::DIGIT_BITS);
            let fits = |v: &BigUint| !v.is_zero() && (&numerator / v).bits() <= T::BITS as u64;
            let (good, bad): (Vec<_>, Vec<_>) = numbers.iter().cloned().partition(|v| fits(v));
            let inverses = self.batch::<T>(&good).shifted_inverse(h).unwrap();
            for (v, w) in good.iter().zip(inverses.to_biguints().unwrap()) {
                let context = format!("{} h = {h}, {v:#x}", T::SHAPE);
                assert!(&w * v <= numerator && (&w + 1u32) * v > numerator, "{context}");
            }
            for v in bad {
                let error = self
                    .batch::<T>(&[BigUint::one() << (T::BITS - 1), v.clone()])
                    .shifted_inverse(h)
                    .unwrap_err();
                // B^h over the first row fits only up to twice the width.
                if h * T::DIGIT_BITS < 2 * T::BITS - 1 {
                    let expected = if v.is_zero() {
                        Error::DivisionByZero { row: 1 }
                    } else {
                        Error::TooWide { row: 1, bits: (&numerator / &v).bits(), width: T::BITS }
                    };
                    assert_eq!(error, expected, "{} h = {h}, {v:#x}", T::SHAPE);
                }
            }
        }
        let error = self.batch::<T>(&[power(8)]).shifted_inverse(usize::MAX).unwrap_err();
        assert!(matches!(error, Error::TooWide { row: 0, .. }));
    }
}

fn arithmetic_of<T: Kernels>(device: &Device) {
    let check = Check(device);
    for rotation in ROTATIONS {
        let (left, right) = pairs(T::BITS, rotation);
        check.arithmetic::<T>(&left, &right);
    }
    check.shifts::<T>(&values(T::BITS));
}

fn divisions_of<T: Kernels>(device: &Device) {
    let check = Check(device);
    let rotations = if T::BITS > 8192 { &ROTATIONS[1..2] } else { &ROTATIONS[..] };
    for &rotation in rotations {
        let (left, right) = pairs(T::BITS, rotation);
        check.division::<T, Auto>(&left, &right);
        // The widest rows are divided by transforms only.
        if is_offered(Op::DivRem, Algorithm::Blocked(Product::Classical), T::SHAPE) {
            check.division::<T, Blocked<Classical>>(&left, &right);
            check.division::<T, ShiftedInverse<Classical>>(&left, &right);
        }
        let (left, right): (Vec<_>, Vec<_>) =
            left.into_iter().zip(right).filter(|(_, v)| !v.is_zero()).unzip();
        check.division::<T, Auto>(&left, &right);
    }
}

fn inverses_of<T: Kernels>(device: &Device) {
    let check = Check(device);
    check.inverses::<T>(&values(T::BITS));
}

fn widening_of<T: Widen>(device: &Device) {
    let check = Check(device);
    let (left, right) = pairs(T::BITS, 7);
    let (a, b) = (check.batch::<T>(&left), check.batch::<T>(&right));
    let product = a.widening_mul(&b).unwrap().to_biguints().unwrap();
    for ((x, y), product) in left.iter().zip(&right).zip(product) {
        assert_eq!(product, x * y, "{}", T::SHAPE);
    }
}

#[test]
fn arithmetic_is_right() {
    everywhere!(arithmetic_of);
}

#[test]
fn divisions_are_exact() {
    everywhere!(divisions_of);
}

#[test]
fn shifted_inverses_are_exact() {
    everywhere!(inverses_of);
}

#[test]
fn widening_products_are_exact() {
    for (device, widest) in devices() {
        widening_of::<GpuUint<1024>>(&device);
        widening_of::<GpuUint<1024, 2, u32>>(&device);
        widening_of::<GpuUint<1024, 1, u16>>(&device);
        widening_of::<JitUint<1040, 5, u16>>(&device);
        widening_of::<Double<JitUint<96, 3, u32>>>(&device);
        if widest >= 65536 {
            widening_of::<GpuUint<32768>>(&device);
        }
        if widest >= 1 << 20 {
            widening_of::<GpuUint<262144>>(&device);
            widening_of::<GpuUint<524288>>(&device);
            // Too many threads with the factors' Q.
            widening_of::<JitUint<262144>>(&device);
        }
    }
}

#[test]
fn batches_may_have_any_number_of_rows() {
    for (device, _) in devices() {
        for rows in [0, 1, 2, 31, 32, 33, 1000] {
            let five = Batch::<U1024>::splat(&device, &BigUint::from(5u32), rows).unwrap();
            let two = Batch::<U1024>::splat(&device, &BigUint::from(2u32), rows).unwrap();
            let (q, r) = five.div_rem(&two).unwrap();
            assert_eq!(q.to_biguints().unwrap(), vec![BigUint::from(2u32); rows]);
            assert_eq!(r.to_biguints().unwrap(), vec![BigUint::from(1u32); rows]);
            assert_eq!(five.lt_mask(&two).unwrap().count().unwrap(), 0);
            assert_eq!(two.lt_mask(&five).unwrap().count().unwrap(), rows);
            assert_eq!(two.lt_mask(&five).unwrap().any().unwrap(), rows > 0);
            assert_eq!(five.cmp(&two).unwrap(), vec![Ordering::Greater; rows]);
            assert_eq!(five.bit_lengths().unwrap(), vec![3; rows]);
            assert_eq!(
                five.overflowing_sub(&two).unwrap().1.to_bools().unwrap(),
                vec![false; rows]
            );
            assert_eq!(
                five.widening_mul(&two).unwrap().to_biguints().unwrap(),
                vec![BigUint::from(10u32); rows]
            );
            let copy = five.try_clone().unwrap();
            assert_eq!(five.eq_mask(&copy).unwrap().count().unwrap(), rows);
            assert_eq!(
                five.shifted_inverse(0).unwrap().is_zero_mask().unwrap().count().unwrap(),
                rows
            );
        }
    }
}

#[test]
fn operators_are_the_methods() {
    let (left, right) = pairs(1024, 7);
    let device = Device::cpu();
    let a = Batch::<U1024>::from_biguints(&device, &left).unwrap();
    let b = Batch::<U1024>::from_biguints(&device, &right).unwrap();
    let b = &b
        + &b.is_zero_mask()
            .map(|_| Batch::splat(&device, &BigUint::one(), b.len()))
            .unwrap()
            .unwrap();
    let right: Vec<BigUint> = b.to_biguints().unwrap();
    let modulus = power(1024);
    type Operator = fn(&Batch<U1024>, &Batch<U1024>) -> Batch<U1024>;
    type Assign = fn(&mut Batch<U1024>, &Batch<U1024>);
    type Expected<'a> = Box<dyn Fn(&BigUint, &BigUint) -> BigUint + 'a>;
    let cases: [(Operator, Assign, Expected<'_>); 3] = [
        (|a, b| a + b, |a, b| *a += b, Box::new(|x, y| (x + y) % &modulus)),
        (|a, b| a - b, |a, b| *a -= b, Box::new(|x, y| (x + &modulus - y) % &modulus)),
        (|a, b| a * b, |a, b| *a *= b, Box::new(|x, y| x * y % &modulus)),
    ];
    for (operator, assign, expected) in cases {
        let expected: Vec<BigUint> = left.iter().zip(&right).map(|(x, y)| expected(x, y)).collect();
        assert_eq!(operator(&a, &b).to_biguints().unwrap(), expected);
        let mut c = a.try_clone().unwrap();
        assign(&mut c, &b);
        assert_eq!(c.to_biguints().unwrap(), expected);
    }
}
