//! The functions that XGBoost calls (`plugin/federated/federated_plugin.h`), with its names.
//!
//! All return 0, or 1 with the reason in [`FederatedPluginErrorMsg`]. Buffers that a function
//! returns stay valid until the next call of the function with the handle.

#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::plugin::Plugin;

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// A party, with the buffers that its functions returned.
#[derive(Debug)]
struct Handle {
    plugin: Plugin,
    gradients: Vec<u8>,
    encrypted: Vec<u8>,
    clear: Vec<f64>,
}

/// Records a failure; a panic is one.
fn guarded<T>(body: impl FnOnce() -> Result<T>) -> Option<T> {
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        Err(Error::Panic(text.unwrap_or("a panic without a message").to_owned()))
    });
    result.map_err(record).ok()
}

#[expect(clippy::needless_pass_by_value)]
fn record(error: Error) {
    let message = error.to_string().replace('\0', " ");
    let message = CString::new(message).unwrap_or_default();
    MESSAGE.with_borrow_mut(|last| *last = message);
}

/// Calls `body` with the party of a handle.
///
/// # Safety
/// The handle is null or of [`FederatedPluginCreate`], and not closed.
unsafe fn with(handle: *mut c_void, body: impl FnOnce(&mut Handle) -> Result<()>) -> c_int {
    let result = guarded(|| {
        let handle = handle.cast::<Mutex<Handle>>();
        // SAFETY: the caller passes a handle that is null or open.
        let handle = unsafe { handle.as_ref() }.ok_or(Error::Null("the handle"))?;
        body(&mut handle.lock().unwrap_or_else(PoisonError::into_inner))
    });
    c_int::from(result.is_none())
}

/// The elements at a pointer, which may be null if there are none.
///
/// # Safety
/// `data` is null or points to `len` elements that nothing changes during the call.
unsafe fn slice<'a, T>(data: *const T, len: usize, name: &'static str) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Error::Null(name));
    }
    // SAFETY: the caller promises `len` elements there.
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}

/// Writes the address and length of a buffer of the handle.
///
/// # Safety
/// `data` and `len` are null or may be written.
unsafe fn give<T>(buffer: &mut [T], data: *mut *mut T, len: *mut usize) -> Result<()> {
    if data.is_null() || len.is_null() {
        return Err(Error::Null("an output"));
    }
    // SAFETY: it is not null, and the caller promises that it may be written.
    unsafe { data.write(buffer.as_mut_ptr()) };
    // SAFETY: as above.
    unsafe { len.write(buffer.len()) };
    Ok(())
}

/// Makes a party of `count` arguments `NAME=VALUE` ([`Plugin::new`]); null if it fails. The reason
/// goes to the error output, too: XGBoost does not ask for the reason of a failed creation.
///
/// # Safety
/// `arguments` points to `count` strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn FederatedPluginCreate(
    count: c_int,
    arguments: *const *const c_char,
) -> *mut c_void {
    let handle = guarded(|| {
        // SAFETY: the caller promises that many pointers.
        let arguments =
            unsafe { slice(arguments, usize::try_from(count).unwrap_or(0), "the arguments") }?;
        let mut texts = Vec::new();
        for &argument in arguments {
            if argument.is_null() {
                return Err(Error::Null("an argument"));
            }
            // SAFETY: it is not null, and the caller promises a string there.
            texts.push(unsafe { CStr::from_ptr(argument) }.to_string_lossy());
        }
        let plugin = Plugin::new(texts.iter().map(AsRef::as_ref))?;
        let (gradients, encrypted, clear) = Default::default();
        Ok(Box::new(Mutex::new(Handle { plugin, gradients, encrypted, clear })))
    });
    let Some(handle) = handle else {
        MESSAGE.with_borrow(|message| eprintln!("gpuint: {}", message.to_string_lossy()));
        return ptr::null_mut();
    };
    Box::into_raw(handle).cast()
}

/// Frees a party and its buffers.
///
/// # Safety
/// The handle is null or of [`FederatedPluginCreate`], and no other call uses it from now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn FederatedPluginClose(handle: *mut c_void) -> c_int {
    let result = guarded(|| {
        if handle.is_null() {
            return Err(Error::Null("the handle"));
        }
        // SAFETY: the caller gives up the handle, which `FederatedPluginCreate` made of a box.
        drop(unsafe { Box::from_raw(handle.cast::<Mutex<Handle>>()) });
        Ok(())
    });
    c_int::from(result.is_none())
}

/// The reason why the last call of this thread failed; valid until the next failure.
#[unsafe(no_mangle)]
pub extern "C" fn FederatedPluginErrorMsg() -> *const c_char {
    MESSAGE.with_borrow(|message| message.as_ptr())
}

/// Encrypts the pairs of gradients of the active party ([`Plugin::encrypt_gradients`]).
///
/// # Safety
/// The handle is open, `pairs` points to `len` numbers, and the outputs may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn FederatedPluginEncryptGPairs(
    handle: *mut c_void,
    pairs: *const f32,
    len: usize,
    out: *mut *mut u8,
    out_len: *mut usize,
) -> c_int {
    let body = |handle: &mut Handle| {
        // SAFETY: the caller promises `len` numbers.
        let pairs = unsafe { slice(pairs, len, "the gradients") }?;
        handle.gradients = handle.plugin.encrypt_gradients(pairs)?;
        // SAFETY: the caller promises that the outputs may be written.
        unsafe { give(&mut handle.gradients, out, out_len) }
    };
    // SAFETY: the caller promises an open handle.
    unsafe { with(handle, body) }
}

/// Takes the encrypted gradients of the active party ([`Plugin::take_gradients`]), and returns
/// them.
///
/// # Safety
/// The handle is open, `message` points to `len` bytes, and the outputs may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn FederatedPluginSyncEncryptedGPairs(
    handle: *mut c_void,
    message: *const u8,
    len: usize,
    out: *mut *mut u8,
    out_len: *mut usize,
) -> c_int {
    let body = |handle: &mut Handle| {
        // SAFETY: the caller promises `len` bytes.
        let message = unsafe { slice(message, len, "the message") }?;
        handle.plugin.take_gradients(message)?;
        handle.gradients = message.to_vec();
        // SAFETY: the caller promises that the outputs may be written.
        unsafe { give(&mut handle.gradients, out, out_len) }
    };
    // SAFETY: the caller promises an open handle.
    unsafe { with(handle, body) }
}

/// Takes the bins of features and rows ([`Plugin::take_bins`]).
///
/// # Safety
/// The handle is open, `starts` points to `features` numbers and `bins` to `len`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn FederatedPluginResetHistContextVert(
    handle: *mut c_void,
    starts: *const u32,
    features: usize,
    bins: *const i32,
    len: usize,
) -> c_int {
    let body = |handle: &mut Handle| {
        // SAFETY: the caller promises that many numbers.
        let starts = unsafe { slice(starts, features, "the starts of the features") }?;
        // SAFETY: the caller promises `len` numbers.
        let bins = unsafe { slice(bins, len, "the bins") }?;
        handle.plugin.take_bins(starts, bins)
    };
    // SAFETY: the caller promises an open handle.
    unsafe { with(handle, body) }
}

/// Adds the gradients of the rows of nodes ([`Plugin::sum_nodes`]). The numbers of the nodes are
/// not used.
///
/// # Safety
/// The handle is open, `rows` and `sizes` point to `nodes` elements, `rows[i]` points to `sizes[i]`
/// indices, and the outputs may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn FederatedPluginBuildEncryptedHistVert(
    handle: *mut c_void,
    rows: *const *const u64,
    sizes: *const usize,
    _numbers: *const i32,
    nodes: usize,
    out: *mut *mut u8,
    out_len: *mut usize,
) -> c_int {
    let body = |handle: &mut Handle| {
        // SAFETY: the caller promises `nodes` pointers.
        let rows = unsafe { slice(rows, nodes, "the rows of the nodes") }?;
        // SAFETY: the caller promises `nodes` sizes.
        let sizes = unsafe { slice(sizes, nodes, "the sizes of the nodes") }?;
        let mut parts = Vec::new();
        for (&rows, &size) in rows.iter().zip(sizes) {
            // SAFETY: the caller promises `size` indices.
            parts.push(unsafe { slice(rows, size, "the rows of a node") }?);
        }
        handle.encrypted = handle.plugin.sum_nodes(&parts)?;
        // SAFETY: the caller promises that the outputs may be written.
        unsafe { give(&mut handle.encrypted, out, out_len) }
    };
    // SAFETY: the caller promises an open handle.
    unsafe { with(handle, body) }
}

/// Adds and decrypts the histograms of all parties ([`Plugin::decrypt_nodes`]).
///
/// # Safety
/// The handle is open, `messages` points to `len` bytes, and the outputs may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn FederatedPluginSyncEncryptedHistVert(
    handle: *mut c_void,
    messages: *mut u8,
    len: usize,
    out: *mut *mut f64,
    out_len: *mut usize,
) -> c_int {
    let body = |handle: &mut Handle| {
        // SAFETY: the caller promises `len` bytes.
        let messages = unsafe { slice(messages.cast_const(), len, "the messages") }?;
        handle.clear = handle.plugin.decrypt_nodes(messages)?;
        // SAFETY: the caller promises that the outputs may be written.
        unsafe { give(&mut handle.clear, out, out_len) }
    };
    // SAFETY: the caller promises an open handle.
    unsafe { with(handle, body) }
}

/// Encrypts a histogram ([`Plugin::encrypt_histogram`]).
///
/// # Safety
/// The handle is open, `histogram` points to `len` numbers, and the outputs may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn FederatedPluginBuildEncryptedHistHori(
    handle: *mut c_void,
    histogram: *const f64,
    len: usize,
    out: *mut *mut u8,
    out_len: *mut usize,
) -> c_int {
    let body = |handle: &mut Handle| {
        // SAFETY: the caller promises `len` numbers.
        let histogram = unsafe { slice(histogram, len, "the histogram") }?;
        handle.encrypted = handle.plugin.encrypt_histogram(histogram)?;
        // SAFETY: the caller promises that the outputs may be written.
        unsafe { give(&mut handle.encrypted, out, out_len) }
    };
    // SAFETY: the caller promises an open handle.
    unsafe { with(handle, body) }
}

/// Adds and decrypts histograms ([`Plugin::decrypt_histograms`]).
///
/// # Safety
/// The handle is open, `messages` points to `len` bytes, and the outputs may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn FederatedPluginSyncEncryptedHistHori(
    handle: *mut c_void,
    messages: *const u8,
    len: usize,
    out: *mut *mut f64,
    out_len: *mut usize,
) -> c_int {
    let body = |handle: &mut Handle| {
        // SAFETY: the caller promises `len` bytes.
        let messages = unsafe { slice(messages, len, "the messages") }?;
        handle.clear = handle.plugin.decrypt_histograms(messages)?;
        // SAFETY: the caller promises that the outputs may be written.
        unsafe { give(&mut handle.clear, out, out_len) }
    };
    // SAFETY: the caller promises an open handle.
    unsafe { with(handle, body) }
}
