//! GMP as this machine has it: loaded at run time, so that nothing of it is needed to build.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_long};

use libloading::Library;

/// What distributions call it.
const NAMES: [&str; 3] = ["libgmp.so.10", "libgmp.10.dylib", "libgmp.so"];

type Mul = unsafe extern "C" fn(*mut u64, *const u64, c_long, *const u64, c_long) -> u64;
type DivRem =
    unsafe extern "C" fn(*mut u64, *mut u64, c_long, *const u64, c_long, *const u64, c_long);

/// The library.
#[derive(Debug)]
pub(crate) struct Gmp {
    pub(crate) version: String,
    mul: Mul,
    div_rem: DivRem,
    /// Unloading it would take the functions away.
    _library: Library,
}

impl Gmp {
    /// The library of this machine.
    ///
    /// # Errors
    /// Why there is none.
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
        // SAFETY: the type is that of `mpn_mul` in gmp.h.
        let mul = *unsafe { library.get::<Mul>(c"__gmpn_mul") }.map_err(words)?;
        // SAFETY: the type is that of `mpn_tdiv_qr` in gmp.h.
        let div_rem = *unsafe { library.get::<DivRem>(c"__gmpn_tdiv_qr") }.map_err(words)?;
        Ok(Self { version, mul, div_rem, _library: library })
    }

    /// `a b`, both with limbs.
    pub(crate) fn product(&self, a: &[u64], b: &[u64]) -> Vec<u64> {
        let (a, b) = if a.len() < b.len() { (b, a) } else { (a, b) };
        assert!(!b.is_empty(), "mpn_mul takes no zeros");
        let mut product = vec![0; a.len() + b.len()];
        // SAFETY: the first factor has as many limbs as the second or more, none is empty, and the
        // product has room for both.
        unsafe {
            (self.mul)(product.as_mut_ptr(), a.as_ptr(), size(a), b.as_ptr(), size(b));
        }
        product
    }

    /// `u / v` and `u mod v`, `v` no longer than `u` and its leading limb not zero.
    pub(crate) fn quotient_and_remainder(&self, u: &[u64], v: &[u64]) -> (Vec<u64>, Vec<u64>) {
        assert!(v.len() <= u.len() && v.last().is_some_and(|&limb| limb != 0), "mpn_tdiv_qr");
        let mut quotient = vec![0; u.len() - v.len() + 1];
        let mut remainder = vec![0; v.len()];
        // SAFETY: the lengths are those that gmp.h asks for, and the leading limb of the divisor is
        // not zero.
        unsafe {
            (self.div_rem)(
                quotient.as_mut_ptr(),
                remainder.as_mut_ptr(),
                0,
                u.as_ptr(),
                size(u),
                v.as_ptr(),
                size(v),
            );
        }
        (quotient, remainder)
    }
}

/// The limbs of a number in memory, of which there are fewer than a `c_long` counts.
fn size(limbs: &[u64]) -> c_long {
    limbs.len() as c_long
}
