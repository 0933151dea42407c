//! GMP with rayon, on limbs in place.
#![allow(unsafe_code)]

/// The functions that the cpu backend takes, too.
#[path = "../../src/backend/cpu/gmp.rs"]
#[allow(dead_code, reason = "the version is the backend's to display")]
mod gmp;

use std::ffi::{c_int, c_long, c_uint, c_ulong};

use gpuint::num_bigint::BigUint;
use gpuint_testkit::gmp_functions;
use rayon::prelude::*;

use crate::Result;
use crate::numbers::{DIGIT, DISTANCE, Operands, Operation};
use gmp::Gmp;

type Sum = unsafe extern "C" fn(*mut u64, *const u64, *const u64, c_long) -> u64;
type Shift = unsafe extern "C" fn(*mut u64, *const u64, c_long, c_uint) -> u64;
type DivideByLimb = unsafe extern "C" fn(*mut u64, c_long, *const u64, c_long, u64) -> u64;
type Compare = unsafe extern "C" fn(*const u64, *const u64, c_long) -> c_int;
type Reserve = unsafe extern "C" fn(*mut Integer, c_ulong);
type Clear = unsafe extern "C" fn(*mut Integer);
type IsStrongLucas = unsafe extern "C" fn(*const Integer, *mut Integer, *mut Integer) -> c_int;
type IsProbablePrime = unsafe extern "C" fn(*const Integer, c_int) -> c_int;

/// Rounds of `mpz_probab_prime_p` that its test of Baillie and Wagstaff counts for.
const ROUNDS: c_int = 24;

/// `mpz_t` of gmp.h.
#[repr(C)]
struct Integer {
    alloc: c_int,
    size: c_int,
    limbs: *const u64,
}

gmp_functions! {
    /// Tests of primes, for which the backend has its own code.
    #[derive(Debug)]
    struct Tests {
        reserve: Reserve = c"__gmpz_init2",
        clear: Clear = c"__gmpz_clear",
        is_strong_lucas: IsStrongLucas = c"__gmpz_stronglucas",
        is_probable_prime: IsProbablePrime = c"__gmpz_probab_prime_p",
    }
}

impl Tests {
    fn view(n: &[u64]) -> Integer {
        Integer { alloc: 0, size: n.len() as c_int, limbs: n.as_ptr() }
    }

    fn is_probable_prime(&self, n: &[u64]) -> bool {
        // SAFETY: the integer is read only.
        unsafe { (self.is_probable_prime)(&Self::view(n), ROUNDS) != 0 }
    }

    fn is_strong_lucas(&self, n: &[u64]) -> bool {
        let mut terms = [Self::view(&[]), Self::view(&[])];
        let [v, q] = &mut terms;
        // Of twice the length, as in millerrabin.c: the function does not lengthen them.
        let bits = (2 * n.len() + 1) as c_ulong * 64;
        for term in [&mut *v, &mut *q] {
            // SAFETY: the function overwrites the integer, which owns no memory.
            unsafe { (self.reserve)(term, bits) };
        }
        // SAFETY: the function writes two integers that have room, and reads the first one.
        let passes = unsafe { (self.is_strong_lucas)(&Self::view(n), v, q) != 0 };
        for term in [v, q] {
            // SAFETY: the integer owns the memory that was reserved.
            unsafe { (self.clear)(term) };
        }
        passes
    }
}

gmp_functions! {
    /// Functions in linear time, for which the backend has its own loops.
    #[derive(Debug)]
    struct Linear {
        add: Sum = c"__gmpn_add_n",
        sub: Sum = c"__gmpn_sub_n",
        and: Sum = c"__gmpn_and_n",
        shift: Shift = c"__gmpn_lshift",
        divide_by_limb: DivideByLimb = c"__gmpn_divrem_1",
        compare: Compare = c"__gmpn_cmp",
    }
}

/// Rows of limbs.
#[derive(Debug)]
pub(crate) struct Rows {
    gmp: &'static Gmp,
    linear: Linear,
    tests: Tests,
    operation: Operation,
    /// Limbs of a row.
    n: usize,
    /// Limbs of a divisor.
    v_limbs: usize,
    a: Vec<u64>,
    b: Vec<u64>,
    v: Vec<u64>,
    /// Results, and products to be reduced.
    out: Vec<u64>,
}

impl Rows {
    /// The rows, where GMP has the operation.
    pub(crate) fn new(operands: &Operands) -> Result<Option<Self>> {
        let Operands { operation, bits, .. } = *operands;
        let Some(gmp) = gmp::gmp() else {
            return Err(Gmp::load().err().unwrap_or_default().into());
        };
        if operation == Operation::Prepare {
            return Ok(None);
        }
        let n = bits / 64;
        let v_limbs = operands.v[0].bits().div_ceil(64) as usize;
        let limbs = |numbers: &[BigUint], n: usize| -> Vec<u64> {
            let rows = numbers.iter().flat_map(|number| {
                let limbs = number.iter_u64_digits();
                limbs.chain(std::iter::repeat(0)).take(n).collect::<Vec<_>>()
            });
            rows.collect()
        };
        Ok(Some(Self {
            gmp,
            linear: Linear::load()?,
            tests: Tests::load()?,
            operation,
            n,
            v_limbs,
            a: limbs(&operands.a, n),
            b: limbs(&operands.b, n),
            v: limbs(&operands.v, v_limbs),
            out: vec![0; operands.a.len() * (5 * n + 1)],
        }))
    }

    /// Every row by GMP.
    pub(crate) fn compute(&mut self) {
        let Self { gmp, linear, tests, operation, n, v_limbs, a, b, v, out } = self;
        let (n, operation, v_limbs) = (*n, *operation, *v_limbs);
        let rows = a.par_chunks(n).zip(b.par_chunks(n)).zip(v.par_chunks(v_limbs));
        rows.zip(out.par_chunks_mut(5 * n + 1)).for_each(|(((a, b), v), out)| {
            let (product, rest) = out.split_at_mut(2 * n);
            let (q, r) = rest.split_at_mut(2 * n + 1);
            let len = n as c_long;
            let sum = |function: Sum, out: &mut [u64]| {
                // SAFETY: all have n limbs.
                unsafe { function(out.as_mut_ptr(), a.as_ptr(), b.as_ptr(), len) }
            };
            match operation {
                Operation::Add => _ = sum(linear.add, product),
                Operation::Sub => _ = sum(linear.sub, product),
                Operation::And => _ = sum(linear.and, product),
                Operation::Shl => {
                    let limbs = DISTANCE / 64;
                    let out = &mut product[limbs..n];
                    // SAFETY: the result has as many limbs as are read.
                    unsafe {
                        (linear.shift)(
                            out.as_mut_ptr(),
                            a.as_ptr(),
                            (n - limbs) as c_long,
                            (DISTANCE % 64) as c_uint,
                        );
                    }
                }
                Operation::Less => {
                    // SAFETY: both have n limbs.
                    product[0] = unsafe { (linear.compare)(a.as_ptr(), b.as_ptr(), len) } as u64;
                }
                Operation::DivRemDigit => {
                    // SAFETY: the quotient has room for n limbs, and the divisor is not zero.
                    r[0] = unsafe {
                        (linear.divide_by_limb)(product.as_mut_ptr(), 0, a.as_ptr(), len, DIGIT)
                    };
                }
                Operation::MulLo | Operation::MulWide => gmp.multiply(product, a, b),
                Operation::Square => gmp.square(product, a),
                Operation::DivRem | Operation::DivRemBy => {
                    gmp.divide(&mut q[..=n - v_limbs], &mut r[..v_limbs], a, v);
                }
                Operation::MulMod => {
                    gmp.multiply(product, a, b);
                    gmp.divide(&mut q[..=2 * n - v_limbs], &mut r[..v_limbs], product, v);
                }
                Operation::PowModOdd | Operation::PowModEven => gmp.power(r, a, b, v),
                Operation::Gcd => gmp.gcd(r, a, b),
                Operation::InverseMod => _ = gmp.invert(r, a, v),
                Operation::Jacobi => r[0] = gmp.symbol(a, v) as u64,
                Operation::StrongBase2 => {
                    let exponent = &mut q[..v_limbs];
                    exponent.copy_from_slice(v);
                    exponent[0] -= 1;
                    gmp.power(r, &[2], exponent, v);
                }
                Operation::StrongLucas => r[0] = tests.is_strong_lucas(v).into(),
                Operation::ProbablePrime => r[0] = tests.is_probable_prime(v).into(),
                Operation::Prepare => {}
            }
        });
    }
}
