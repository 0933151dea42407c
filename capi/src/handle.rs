//! Handles: keys of objects in one table.
//!
//! A handle looks like a pointer to an incomplete type, so that C compilers tell the kinds apart.
//! Its value is a number that the table assigns to the object: odd, and never used again. The
//! look-up rejects NULL, addresses, freed handles and handles of another kind; nothing is read
//! through them.

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::c_char;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::status::{Failure, Result};

type Object = Arc<dyn Any + Send + Sync>;

type Table = BTreeMap<usize, Object>;

static OBJECTS: RwLock<Table> = RwLock::new(BTreeMap::new());

fn read() -> RwLockReadGuard<'static, Table> {
    OBJECTS.read().unwrap_or_else(PoisonError::into_inner)
}

fn write() -> RwLockWriteGuard<'static, Table> {
    OBJECTS.write().unwrap_or_else(PoisonError::into_inner)
}

/// Forks without another thread in the table, whose lock the child could not get otherwise.
#[cfg(unix)]
mod fork {
    #![allow(unsafe_code)]

    use std::cell::RefCell;
    use std::sync::RwLockWriteGuard;
    use std::sync::atomic::{AtomicBool, Ordering};

    thread_local! {
        static HELD: RefCell<Option<RwLockWriteGuard<'static, super::Table>>> =
            const { RefCell::new(None) };
    }

    extern "C" fn lock() {
        let _ = HELD.try_with(|held| held.replace(Some(super::write())));
    }

    extern "C" fn unlock() {
        let _ = HELD.try_with(|held| drop(held.take()));
    }

    /// Registers the functions, once a process.
    pub(super) fn prepare() {
        static IS_PREPARED: AtomicBool = AtomicBool::new(false);
        if !IS_PREPARED.swap(true, Ordering::Relaxed) {
            // SAFETY: the functions are there as long as the library. Without memory for them the
            // call fails, and forks are as without it.
            unsafe { libc::pthread_atfork(Some(lock), Some(unlock), Some(unlock)) };
        }
    }
}

/// A kind of handles.
pub(crate) trait Handle: 'static {
    /// The objects of the kind.
    type Object: Any + Send + Sync;
    /// Name of the type in C.
    const NAME: &'static str;
}

macro_rules! handles {
    ($($(#[$meta:meta])* $handle:ident($object:ty) = $name:literal;)*) => {
        $(impl Handle for $handle {
            type Object = $object;
            const NAME: &'static str = $name;
        })*
    };
}
handles! {
    Device(gpuint::Device) = "gpuint_device";
    Batch(gpuint::DynBatch) = "gpuint_batch";
    Mask(gpuint::Mask) = "gpuint_mask";
    Words(gpuint::Words) = "gpuint_words";
    Divisor(gpuint::DynDivisor) = "gpuint_divisor";
    Factor(gpuint::DynFactor) = "gpuint_factor";
    Modulus(gpuint::DynModulus) = "gpuint_modulus";
    Signed(gpuint::DynSignedBatch) = "gpuint_signed";
    Residues(gpuint::DynResidues) = "gpuint_residues";
    FixedBase(gpuint::DynFixedBase) = "gpuint_fixed_base";
    ProductTree(gpuint::DynProductTree) = "gpuint_product_tree";
    Crt(gpuint::DynCrt) = "gpuint_crt";
    Family(gpuint::sieve::Family) = "gpuint_family";
    Secret(gpuint::SecretBatch) = "gpuint_secret";
    SecretExponents(gpuint::SecretExponents) = "gpuint_secret_exponents";
    SecretModulus(gpuint::SecretModulus) = "gpuint_secret_modulus";
    SecretFactor(gpuint::SecretFactor) = "gpuint_secret_factor";
}

/// A `uint8_t` of an array. It is not `u8`, which `c_char`, the type of texts, is on some targets.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Byte(pub u8);

/// A character of the text of an integer, which may start with `-`.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Integer(pub c_char);

/// A GPU with a queue of work, or the CPU.
#[derive(Debug)]
pub struct Device(());

/// Unsigned integers of one width on a device, one a row.
#[derive(Debug)]
pub struct Batch(());

/// One bit a row, on a device.
#[derive(Debug)]
pub struct Mask(());

/// One word of 64 bits a row, on a device.
#[derive(Debug)]
pub struct Words(());

/// Prepared divisors: one for all rows, or one a row.
#[derive(Debug)]
pub struct Divisor(());

/// Prepared factors: one for all rows, or one a row.
#[derive(Debug)]
pub struct Factor(());

/// Prepared moduli of residues: one for all rows, or one a row.
#[derive(Debug)]
pub struct Modulus(());

/// Signed integers on a device, one a row: a sign and a magnitude of one width.
#[derive(Debug)]
pub struct Signed(());

/// Residues modulo a `gpuint_modulus`, one a row, in the form with the fastest products.
#[derive(Debug)]
pub struct Residues(());

/// Powers of one base modulo one number, prepared for many exponents.
#[derive(Debug)]
pub struct FixedBase(());

/// The product of all rows of a batch, and remainders modulo all of them.
#[derive(Debug)]
pub struct ProductTree(());

/// Pairwise coprime moduli, prepared for Chinese remaindering.
#[derive(Debug)]
pub struct Crt(());

/// Numbers for the indices 0, 1, 2, .. of a sieve.
#[derive(Debug)]
pub struct Family(());

/// Integers of one width on a device, one a row, whose memory is overwritten before it is freed.
#[derive(Debug)]
pub struct Secret(());

/// Secret exponents of a public length: one for all rows, or one a row.
#[derive(Debug)]
pub struct SecretExponents(());

/// Prepared secret odd moduli: one for all rows, or one a row.
#[derive(Debug)]
pub struct SecretModulus(());

/// Prepared secret factors and their secret odd moduli: one of both for all rows, or one a row.
#[derive(Debug)]
pub struct SecretFactor(());

/// Enters an object into the table.
pub(crate) fn insert<H: Handle>(object: H::Object) -> *mut H {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    #[cfg(unix)]
    fork::prepare();
    let key = NEXT.fetch_add(2, Ordering::Relaxed);
    write().insert(key, Arc::new(object));
    ptr::without_provenance_mut(key)
}

/// Returns the object of a handle. A call that holds it goes on if another thread frees the handle.
pub(crate) fn get<H: Handle>(handle: *const H, argument: &'static str) -> Result<Arc<H::Object>> {
    if handle.is_null() {
        return Err(Failure::Null { argument });
    }
    let object = read().get(&handle.addr()).cloned();
    object
        .and_then(|object| object.downcast().ok())
        .ok_or(Failure::Handle { argument, kind: H::NAME })
}

/// Frees a handle. NULL is allowed.
pub(crate) fn remove<H: Handle>(handle: *mut H, argument: &'static str) -> Result<()> {
    if handle.is_null() {
        return Ok(());
    }
    drop(get(handle.cast_const(), argument)?);
    let object = write().remove(&handle.addr());
    // Outside the lock: the object may wait for its device and call `release` of its owner.
    drop(object);
    Ok(())
}
