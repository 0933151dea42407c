//! Parties in one process, by the C functions as XGBoost calls them.

#![allow(unsafe_code)]

use std::collections::HashSet;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

use gpuint::Device;
use gpuint_paillier::{Primes, PrivateKey};
use gpuint_xgboost::interface::*;
use gpuint_xgboost::message;
use tempfile::TempDir;

/// A party by its handle.
struct Party(*mut c_void);

impl Party {
    fn try_new(arguments: &[&str]) -> Result<Self, String> {
        let texts: Vec<CString> =
            arguments.iter().map(|&text| CString::new(text).unwrap()).collect();
        let pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
        // SAFETY: the strings live during the call.
        let handle = unsafe { FederatedPluginCreate(pointers.len() as c_int, pointers.as_ptr()) };
        if handle.is_null() { Err(reason()) } else { Ok(Self(handle)) }
    }

    fn passive() -> Self {
        Self::try_new(&["device=cpu"]).unwrap()
    }

    fn active() -> Self {
        Self::try_new(&[&format!("key={}", key_file().display()), "device=cpu"]).unwrap()
    }

    fn encrypt(&self, pairs: &[f32]) -> Result<Vec<u8>, String> {
        // SAFETY: the slice and the outputs live during the call.
        copied(|out, len| unsafe {
            FederatedPluginEncryptGPairs(self.0, pairs.as_ptr(), pairs.len(), out, len)
        })
    }

    fn take(&self, message: &[u8]) -> Result<Vec<u8>, String> {
        // SAFETY: as above.
        copied(|out, len| unsafe {
            FederatedPluginSyncEncryptedGPairs(self.0, message.as_ptr(), message.len(), out, len)
        })
    }

    fn reset(&self, starts: &[u32], bins: &[i32]) -> Result<(), String> {
        // SAFETY: as above.
        let status = unsafe {
            FederatedPluginResetHistContextVert(
                self.0,
                starts.as_ptr(),
                starts.len(),
                bins.as_ptr(),
                bins.len(),
            )
        };
        if status == 0 { Ok(()) } else { Err(reason()) }
    }

    fn sums(&self, nodes: &[&[u64]]) -> Result<Vec<u8>, String> {
        let rows: Vec<*const u64> = nodes.iter().map(|node| node.as_ptr()).collect();
        let sizes: Vec<usize> = nodes.iter().map(|node| node.len()).collect();
        let numbers = vec![0; nodes.len()];
        // SAFETY: as above.
        copied(|out, len| unsafe {
            FederatedPluginBuildEncryptedHistVert(
                self.0,
                rows.as_ptr(),
                sizes.as_ptr(),
                numbers.as_ptr(),
                nodes.len(),
                out,
                len,
            )
        })
    }

    fn decrypt(&self, messages: &[u8]) -> Result<Vec<f64>, String> {
        let mut messages = messages.to_vec();
        // SAFETY: as above.
        copied(|out, len| unsafe {
            let (data, bytes) = (messages.as_mut_ptr(), messages.len());
            FederatedPluginSyncEncryptedHistVert(self.0, data, bytes, out, len)
        })
    }

    fn encrypt_histogram(&self, histogram: &[f64]) -> Result<Vec<u8>, String> {
        let (data, numbers) = (histogram.as_ptr(), histogram.len());
        // SAFETY: as above.
        copied(|out, len| unsafe {
            FederatedPluginBuildEncryptedHistHori(self.0, data, numbers, out, len)
        })
    }

    fn decrypt_histograms(&self, messages: &[u8]) -> Result<Vec<f64>, String> {
        // SAFETY: as above.
        copied(|out, len| unsafe {
            FederatedPluginSyncEncryptedHistHori(
                self.0,
                messages.as_ptr(),
                messages.len(),
                out,
                len,
            )
        })
    }
}

impl Drop for Party {
    fn drop(&mut self) {
        // SAFETY: the handle is open, and nothing uses it from now on.
        assert_eq!(unsafe { FederatedPluginClose(self.0) }, 0);
    }
}

fn reason() -> String {
    // SAFETY: the message is a string until the next failure of this thread.
    unsafe { CStr::from_ptr(FederatedPluginErrorMsg()) }.to_str().unwrap().to_owned()
}

/// Copies the buffer that a function returns.
fn copied<T: Copy>(call: impl FnOnce(*mut *mut T, *mut usize) -> c_int) -> Result<Vec<T>, String> {
    let (mut data, mut len) = (ptr::null_mut(), 0);
    if call(&raw mut data, &raw mut len) != 0 {
        return Err(reason());
    }
    if len == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the function returned `len` elements, valid until the next call.
    Ok(unsafe { std::slice::from_raw_parts(data, len) }.to_vec())
}

fn folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            for name in ["key", "other"] {
                let key = PrivateKey::generate(&Device::cpu(), 1024, Primes::Blum).unwrap();
                fs::write(folder.path().join(name), &*key.to_jwk().unwrap()).unwrap();
            }
            folder
        })
        .path()
}

fn key_file() -> std::path::PathBuf {
    folder().join("key")
}

/// Numbers from -1 to 1 that are multiples of 2^-20, so that sums of them are exact.
fn values(len: usize) -> Vec<f32> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (state >> 43) as i32 - (1 << 20)
    };
    (0..len).map(|_| next() as f32 / (1 << 20) as f32).collect()
}

const ROWS: usize = 23;
/// Bins of five features.
const STARTS: [u32; 6] = [0, 3, 4, 8, 10, 13];

/// Bins of all features of all rows; some are missing.
fn bins() -> Vec<i32> {
    let bin = |place: usize| {
        let (row, feature) = (place / 5, place % 5);
        let width = STARTS[feature + 1] - STARTS[feature];
        let kind = (7 * row + 3 * feature + row * row) as u32;
        if kind.is_multiple_of(11) { -1 } else { (STARTS[feature] + kind % width) as i32 }
    };
    (0..5 * ROWS).map(bin).collect()
}

/// The same with the features of one party only.
fn bins_of(features: &[usize]) -> Vec<i32> {
    let all = bins();
    let bin = |(place, bin): (usize, i32)| if features.contains(&(place % 5)) { bin } else { -1 };
    all.into_iter().enumerate().map(bin).collect()
}

#[test]
fn parties_with_other_features_get_the_sums_of_all_bins() {
    let pairs = values(2 * ROWS);
    let (active, left, right) = (Party::active(), Party::passive(), Party::passive());
    let gradients = active.encrypt(&pairs).unwrap();
    for party in [&active, &left, &right] {
        assert_eq!(party.take(&gradients).unwrap(), gradients);
    }
    active.reset(&STARTS, &bins_of(&[0])).unwrap();
    left.reset(&STARTS, &bins_of(&[1, 2])).unwrap();
    right.reset(&STARTS, &bins_of(&[3, 4])).unwrap();
    let even: Vec<u64> = (0..ROWS as u64).step_by(2).collect();
    let odd: Vec<u64> = (1..ROWS as u64).step_by(2).collect();
    let all: Vec<u64> = (0..ROWS as u64).collect();
    for nodes in [vec![&all[..]], vec![&even[..], &odd[..], &[]]] {
        let messages = [&active, &left, &right].map(|party| party.sums(&nodes).unwrap());
        let together = messages.concat();
        assert!(left.decrypt(&together).unwrap().is_empty());
        let sums = active.decrypt(&together).unwrap();

        let mut expected = vec![0.0; 2 * 13 * nodes.len()];
        for (node, rows) in nodes.iter().enumerate() {
            for &row in *rows {
                for bin in bins().iter().skip(5 * row as usize).take(5).filter(|&&bin| bin >= 0) {
                    for part in 0..2 {
                        expected[2 * (13 * node + *bin as usize) + part] +=
                            f64::from(pairs[2 * row as usize + part]);
                    }
                }
            }
        }
        assert_eq!(sums, expected);
        // Nothing that leaves a party tells which bins are empty: the numbers are new each time.
        let again = left.sums(&nodes).unwrap();
        let rows = |bytes: &[u8]| message::read_all(bytes).unwrap().remove(0).ciphertexts;
        let numbers: HashSet<_> = rows(&messages[1]).into_iter().chain(rows(&again)).collect();
        assert_eq!(numbers.len(), 2 * 2 * (1 + 4) * nodes.len());
    }
}

/// A plugin that takes one random number for all rows makes equal ciphertexts of equal gradients,
/// which tells the labels.
#[test]
fn equal_gradients_have_different_ciphertexts() {
    let message = Party::active().encrypt(&[0.5; 40]).unwrap();
    let ciphertexts = message::read_all(&message).unwrap().remove(0).ciphertexts;
    assert_eq!(ciphertexts.iter().collect::<HashSet<_>>().len(), 40);
}

#[test]
fn parties_with_other_rows_get_the_sum_of_histograms() {
    let parties = [(); 3].map(|()| Party::active());
    let histograms = [0.0, 1.0, 2.0].map(|start| [start, -start / 3.0, 1e6 + start, 0.25]);
    let messages =
        [0, 1, 2].map(|party| parties[party].encrypt_histogram(&histograms[party]).unwrap());
    for party in &parties {
        let sums = party.decrypt_histograms(&messages.concat()).unwrap();
        for (bin, sum) in sums.iter().enumerate() {
            let expected: f64 = histograms.iter().map(|histogram| histogram[bin]).sum();
            assert!((sum - expected).abs() <= 3.0 / f64::from(1u32 << 30), "{sum} {expected}");
        }
        assert_eq!(sums.len(), 4);
    }
}

/// NVIDIA FLARE adds the name of the plugin to the arguments.
#[test]
fn name_of_the_plugin_is_an_argument() {
    assert!(Party::try_new(&["device=cpu", "name=gpuint_xgboost"]).is_ok());
}

#[test]
fn wrong_calls_return_their_reason() {
    let refused = |arguments: &[&str]| Party::try_new(arguments).err().unwrap();
    assert!(refused(&["exponent=3"]).contains("from -64 to 0"));
    assert!(refused(&["keys=a"]).contains("key, device, exponent or name"));
    assert!(refused(&["cpu"]).contains("NAME=VALUE"));
    assert!(refused(&["device=tpu"]).contains("cpu or cuda:K"));
    assert!(refused(&["key=/no/such/file"]).contains("/no/such/file"));

    let (active, passive) = (Party::active(), Party::passive());
    assert!(passive.encrypt(&[1.0]).unwrap_err().contains("no private key"));
    assert!(active.encrypt(&[1.0, f32::NAN]).unwrap_err().contains("row 1"));
    let message = active.encrypt(&values(2 * ROWS)).unwrap();
    assert!(passive.take(&message[..message.len() - 1]).unwrap_err().contains("it is cut"));
    assert!(passive.take(b"something else").unwrap_err().contains("first bytes"));
    assert!(passive.sums(&[&[0]]).unwrap_err().contains("without gradients"));
    passive.take(&message).unwrap();
    assert!(passive.sums(&[&[0]]).unwrap_err().contains("without gradients"));
    assert!(passive.reset(&STARTS, &[0, 3, 4, 8]).unwrap_err().contains("not in order"));
    assert!(passive.reset(&STARTS, &[4, 3, 4, 8, 10]).unwrap_err().contains("another feature"));
    passive.reset(&STARTS, &bins()).unwrap();
    assert!(passive.sums(&[&[ROWS as u64]]).unwrap_err().contains("without gradients"));

    // Sums for another key.
    let path = format!("key={}", folder().join("other").display());
    let other = Party::try_new(&[&path, "device=cpu"]).unwrap();
    other.reset(&STARTS, &bins()).unwrap();
    other.encrypt(&values(2 * ROWS)).unwrap();
    other.sums(&[&[0]]).unwrap();
    let sums = passive.sums(&[&[0]]).unwrap();
    assert!(other.decrypt(&sums).unwrap_err().contains("another key"));
    // Sums of another number of nodes.
    active.reset(&STARTS, &bins_of(&[])).unwrap();
    active.sums(&[&[0], &[1]]).unwrap();
    assert!(active.decrypt(&sums).unwrap_err().contains("other nodes"));

    let (mut data, mut len) = (ptr::null_mut(), 0);
    let (data, len) = (&raw mut data, &raw mut len);
    // SAFETY: null pointers are refused.
    let closed = unsafe { FederatedPluginClose(ptr::null_mut()) };
    // SAFETY: as above.
    let none = unsafe { FederatedPluginEncryptGPairs(active.0, ptr::null(), 3, data, len) };
    assert_eq!((closed, none, reason()), (1, 1, "null pointer: the gradients".to_owned()));
}
