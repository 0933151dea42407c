//! GMP as this host has it: loaded at run time, so that nothing of it is needed to build.
//!
//! Products, quotients and roots work on the limbs of rows in place (`mpn`). Powers, greatest
//! common divisors, inverses and symbols use its integers (`mpz`), which read limbs in place.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_long, c_ulong};

use libloading::Library;
use once_cell::race::OnceBox;

/// Names of the library in distributions.
const NAMES: [&str; 3] = ["libgmp.so.10", "libgmp.10.dylib", "libgmp.so"];

/// `mpz_t` of gmp.h.
#[derive(Debug)]
#[repr(C)]
struct Integer {
    alloc: c_int,
    size: c_int,
    limbs: *mut u64,
}

type MpnMul = unsafe extern "C" fn(*mut u64, *const u64, c_long, *const u64, c_long) -> u64;
/// Product, its length, both factors, and scratch.
type MpnMulCyclic =
    unsafe extern "C" fn(*mut u64, c_long, *const u64, c_long, *const u64, c_long, *mut u64);
type MpnSqr = unsafe extern "C" fn(*mut u64, *const u64, c_long);
type MpnDivide =
    unsafe extern "C" fn(*mut u64, *mut u64, c_long, *const u64, c_long, *const u64, c_long);
type MpzManage = unsafe extern "C" fn(*mut Integer);
type MpzPower = unsafe extern "C" fn(*mut Integer, *const Integer, *const Integer, *const Integer);
type MpzGcd = unsafe extern "C" fn(*mut Integer, *const Integer, *const Integer);
type MpzInvert = unsafe extern "C" fn(*mut Integer, *const Integer, *const Integer) -> c_int;
/// Power, base, exponent and its bits, modulus, and scratch.
type MpnSecretPower = unsafe extern "C" fn(
    *mut u64,
    *const u64,
    c_long,
    *const u64,
    c_ulong,
    *const u64,
    c_long,
    *mut u64,
);
type MpnSecretPowerScratch = unsafe extern "C" fn(c_long, c_ulong, c_long) -> c_long;
type MpnRoot = unsafe extern "C" fn(*mut u64, *mut u64, *const u64, c_long) -> c_long;
type MpzSymbol = unsafe extern "C" fn(*const Integer, *const Integer) -> c_int;

/// The functions of the library.
#[derive(Debug)]
pub(crate) struct Gmp {
    /// Version of the library.
    pub(crate) version: String,
    mul: MpnMul,
    /// A function that gmp.h does not declare: a library may lack it.
    mul_cyclic: Option<MpnMulCyclic>,
    sqr: MpnSqr,
    divide: MpnDivide,
    init: MpzManage,
    clear: MpzManage,
    power: MpzPower,
    secret_power: MpnSecretPower,
    secret_power_scratch: MpnSecretPowerScratch,
    gcd: MpzGcd,
    invert: MpzInvert,
    symbol: MpzSymbol,
    root: MpnRoot,
    /// Unloading it would take the functions away.
    _library: Library,
}

/// Returns the library of this host; `None` without a suitable one.
pub(crate) fn gmp() -> Option<&'static Gmp> {
    static GMP: OnceBox<Option<Gmp>> = OnceBox::new();
    let found = GMP.get_or_init(|| {
        let warn = |reason: &String| tracing::warn!(reason, "no GMP: the CPU computes without it");
        Box::new(Gmp::load().inspect_err(warn).ok())
    });
    found.as_ref()
}

impl Gmp {
    /// Loads the library.
    ///
    /// # Errors
    /// The reason for a missing library.
    pub(crate) fn load() -> Result<Self, String> {
        // SAFETY: GMP has no initialisers.
        let found = NAMES.into_iter().find_map(|name| unsafe { Library::new(name) }.ok());
        let library = found.ok_or_else(|| format!("none of {} loads", NAMES.join(", ")))?;
        let words = |error: libloading::Error| error.to_string();
        // SAFETY: a constant of gmp.h of that type.
        let limb = unsafe { library.get::<*const c_int>(c"__gmp_bits_per_limb") }.map_err(words)?;
        // SAFETY: it is the address of the constant.
        if unsafe { **limb } != 64 {
            return Err("its limbs are not of 64 bits".to_owned());
        }
        // SAFETY: a constant of gmp.h of that type.
        let version =
            unsafe { library.get::<*const *const c_char>(c"__gmp_version") }.map_err(words)?;
        // SAFETY: it is the address of the constant.
        let version = unsafe { **version };
        // SAFETY: it is a string that is part of the library.
        let version = unsafe { CStr::from_ptr(version) }.to_string_lossy().into_owned();
        macro_rules! function {
            ($symbol:literal) => {
                // SAFETY: the type of the field is that of the function in gmp.h.
                *unsafe { library.get($symbol) }.map_err(words)?
            };
        }
        Ok(Self {
            version,
            mul: function!(c"__gmpn_mul"),
            // SAFETY: the type of the field is that of the function in gmp-impl.h since GMP 5.0.
            mul_cyclic: unsafe { library.get(c"__gmpn_mulmod_bnm1") }.ok().map(|symbol| *symbol),
            sqr: function!(c"__gmpn_sqr"),
            divide: function!(c"__gmpn_tdiv_qr"),
            init: function!(c"__gmpz_init"),
            clear: function!(c"__gmpz_clear"),
            power: function!(c"__gmpz_powm"),
            secret_power: function!(c"__gmpn_sec_powm"),
            secret_power_scratch: function!(c"__gmpn_sec_powm_itch"),
            gcd: function!(c"__gmpz_gcd"),
            invert: function!(c"__gmpz_invert"),
            symbol: function!(c"__gmpz_jacobi"),
            root: function!(c"__gmpn_sqrtrem"),
            _library: library,
        })
    }

    /// Sets `out`, as long as both factors, to `a b`, both with limbs, `a` no shorter than `b`.
    pub(crate) fn multiply(&self, out: &mut [u64], a: &[u64], b: &[u64]) {
        assert!(!b.is_empty() && a.len() >= b.len() && out.len() == a.len() + b.len(), "mpn_mul");
        // SAFETY: the lengths meet the requirements of gmp.h.
        unsafe {
            (self.mul)(out.as_mut_ptr(), a.as_ptr(), size(a), b.as_ptr(), size(b));
        }
    }

    /// Sets `out`, of `n` limbs, to `a b` modulo `B^n - 1`, from 1 to `B^n - 1`, for factors that
    /// are not zero, `a` no shorter than `b` and no longer than `out`, which is shorter than both
    /// together. Needs `2n + 4` limbs of `scratch`. Returns false, with `out` unchanged, if the
    /// library has no such function.
    pub(crate) fn multiply_cyclic(
        &self,
        out: &mut [u64],
        a: &[u64],
        b: &[u64],
        scratch: &mut [u64],
    ) -> bool {
        let Some(mul_cyclic) = self.mul_cyclic else { return false };
        let n = out.len();
        assert!(
            !b.is_empty()
                && a.len() >= b.len()
                && n >= a.len()
                && a.len() + b.len() > n
                && scratch.len() >= 2 * n + 4,
            "mpn_mulmod_bnm1"
        );
        let scratch = scratch.as_mut_ptr();
        // SAFETY: the lengths meet the requirements of mulmod_bnm1.c.
        unsafe {
            mul_cyclic(
                out.as_mut_ptr(),
                size(out),
                a.as_ptr(),
                size(a),
                b.as_ptr(),
                size(b),
                scratch,
            );
        }
        true
    }

    /// Sets `out`, twice as long as the factor, to `a^2`.
    pub(crate) fn square(&self, out: &mut [u64], a: &[u64]) {
        assert!(!a.is_empty() && out.len() == 2 * a.len(), "mpn_sqr");
        // SAFETY: the lengths meet the requirements of gmp.h.
        unsafe {
            (self.sqr)(out.as_mut_ptr(), a.as_ptr(), size(a));
        }
    }

    /// Sets `q`, of `u.len() - v.len() + 1` limbs, to `u / v`, rounded down, and `r`, as long as
    /// `v`, to `u mod v`; `u` is no shorter than `v`, whose top limb is not zero.
    pub(crate) fn divide(&self, q: &mut [u64], r: &mut [u64], u: &[u64], v: &[u64]) {
        let is_divisor = v.last().is_some_and(|&limb| limb != 0);
        assert!(
            is_divisor && q.len() + v.len() == u.len() + 1 && r.len() == v.len(),
            "mpn_tdiv_qr"
        );
        // SAFETY: the lengths meet the requirements of gmp.h, and the top limb of the divisor is
        // not zero.
        unsafe {
            (self.divide)(
                q.as_mut_ptr(),
                r.as_mut_ptr(),
                0,
                u.as_ptr(),
                size(u),
                v.as_ptr(),
                size(v),
            );
        }
    }

    /// Sets `out` to `a^e mod v`, with zeros above; `v` is not zero.
    pub(crate) fn power(&self, out: &mut [u64], a: &[u64], e: &[u64], v: &[u64]) {
        assert!(v.iter().any(|&limb| limb != 0), "mpz_powm");
        let mut result = Number::new(self);
        // SAFETY: the modulus is not zero, and the exponent is not negative.
        unsafe {
            (self.power)(&raw mut result.integer, &view(a), &view(e), &view(v));
        }
        result.write(out);
    }

    /// Limbs of scratch of [`power_secret`](Self::power_secret).
    pub(crate) fn secret_scratch_limbs(&self, limbs: usize, bits: usize) -> usize {
        let (len, bits) = (limbs as c_long, bits as c_ulong);
        // SAFETY: it computes a number of limbs for any lengths.
        unsafe { (self.secret_power_scratch)(len, bits, len) as usize }
    }

    /// Sets `out` to `a^e mod v`, by instructions and addresses that depend on lengths only. All
    /// have as many limbs; `v` is odd, its top limb is not zero, and `e` has at most `bits` bits,
    /// at least one.
    pub(crate) fn power_secret(
        &self,
        out: &mut [u64],
        a: &[u64],
        (e, bits): (&[u64], usize),
        v: &[u64],
        scratch: &mut [u64],
    ) {
        let n = v.len();
        let is_modulus = v[0] & 1 == 1 && v[n - 1] != 0;
        assert!(
            is_modulus
                && [out.len(), a.len(), e.len()] == [n; 3]
                && (1..=64 * n).contains(&bits)
                && scratch.len() >= self.secret_scratch_limbs(n, bits),
            "mpn_sec_powm"
        );
        // SAFETY: the lengths and the modulus meet the requirements of gmp.h.
        unsafe {
            (self.secret_power)(
                out.as_mut_ptr(),
                a.as_ptr(),
                size(a),
                e.as_ptr(),
                bits as c_ulong,
                v.as_ptr(),
                size(v),
                scratch.as_mut_ptr(),
            );
        }
    }

    /// Sets `out` to the greatest common divisor, with zeros above.
    pub(crate) fn gcd(&self, out: &mut [u64], a: &[u64], b: &[u64]) {
        let mut result = Number::new(self);
        // SAFETY: every pair of integers has one.
        unsafe {
            (self.gcd)(&raw mut result.integer, &view(a), &view(b));
        }
        result.write(out);
    }

    /// Sets `out` to the inverse of `v` modulo `n`, which is not zero, with zeros above; returns
    /// false where there is none.
    pub(crate) fn invert(&self, out: &mut [u64], v: &[u64], n: &[u64]) -> bool {
        assert!(n.iter().any(|&limb| limb != 0), "mpz_invert");
        let mut result = Number::new(self);
        // SAFETY: the modulus is not zero.
        let exists = unsafe { (self.invert)(&raw mut result.integer, &view(v), &view(n)) } != 0;
        if exists {
            result.write(out);
        }
        exists
    }

    /// Sets `root` to the square root of `a`, rounded down, and `remainder` to `a - root^2`, with
    /// zeros above; the top limb of `a` is not zero.
    pub(crate) fn root(&self, root: &mut [u64], remainder: &mut [u64], a: &[u64]) {
        assert!(a.last().is_some_and(|&top| top != 0), "mpn_sqrtrem");
        assert!(root.len() >= a.len() && remainder.len() >= a.len(), "mpn_sqrtrem");
        root.fill(0);
        // SAFETY: the top limb of the operand is not zero, and the outputs have room for as many
        // limbs.
        let len =
            unsafe { (self.root)(root.as_mut_ptr(), remainder.as_mut_ptr(), a.as_ptr(), size(a)) };
        remainder[len as usize..].fill(0);
    }

    /// The Jacobi symbol, Kronecker's for even `n`.
    pub(crate) fn symbol(&self, a: &[u64], n: &[u64]) -> i8 {
        // SAFETY: the function is defined for every pair of integers.
        let symbol = unsafe { (self.symbol)(&view(a), &view(n)) };
        symbol.signum() as i8
    }
}

/// Limbs of a number in memory; their number fits a `c_long`.
fn size(limbs: &[u64]) -> c_long {
    limbs.len() as c_long
}

/// An integer to be read only, whose limbs stay where they are (`mpz_roinit_n`).
fn view(limbs: &[u64]) -> Integer {
    let len = limbs.iter().rposition(|&limb| limb != 0).map_or(0, |top| top + 1);
    Integer { alloc: 0, size: len as c_int, limbs: limbs.as_ptr().cast_mut() }
}

/// A result with memory of the library.
struct Number<'a> {
    gmp: &'a Gmp,
    integer: Integer,
}

impl<'a> Number<'a> {
    fn new(gmp: &'a Gmp) -> Self {
        let mut integer = Integer { alloc: 0, size: 0, limbs: std::ptr::null_mut() };
        // SAFETY: this writes the fields.
        unsafe {
            (gmp.init)(&raw mut integer);
        }
        Self { gmp, integer }
    }

    /// Copies the number, which is not negative, to `out`, with zeros above.
    fn write(&self, out: &mut [u64]) {
        let len = self.integer.size.unsigned_abs() as usize;
        let (low, zeros) = out.split_at_mut(len);
        zeros.fill(0);
        if len > 0 {
            // SAFETY: an integer has as many limbs as its size says.
            low.copy_from_slice(unsafe { std::slice::from_raw_parts(self.integer.limbs, len) });
        }
    }
}

impl Drop for Number<'_> {
    fn drop(&mut self) {
        // SAFETY: the integer was initialised and is not used any more.
        unsafe {
            (self.gmp.clear)(&raw mut self.integer);
        }
    }
}
