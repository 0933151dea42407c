//! The CUDA backend over a stand-in for the driver and NVRTC: faults, full memory, foreign contexts
//! and files. None of the tests needs a GPU.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use std::{env, fs, ptr, thread};

use gpuint::num_bigint::BigUint;
use gpuint::{Batch, Device, Error, GpuUint};
use gpuint_testkit::skip::skip;
use libloading::Library;
use sha2::{Digest, Sha256};

type U1024 = GpuUint<1024>;

/// Folder of the stand-in; set in the process that uses it.
const VARIABLE: &str = "GPUINT_TEST_STAND_IN";

/// The loaded stand-in.
struct StandIn {
    library: Library,
    cache: PathBuf,
}

impl StandIn {
    /// Calls a function without arguments.
    fn get<R>(&self, name: &str) -> R {
        // SAFETY: the requested functions of stand_in.cpp have this type.
        let function = unsafe { self.library.get::<unsafe extern "C" fn() -> R>(name) }.unwrap();
        // SAFETY: they have no preconditions.
        unsafe { function() }
    }

    /// Calls a function with a number or a pointer.
    fn set<A>(&self, name: &str, value: A) {
        // SAFETY: the requested functions of stand_in.cpp have this type.
        let function = unsafe { self.library.get::<unsafe extern "C" fn(A)>(name) }.unwrap();
        // SAFETY: they have no preconditions.
        unsafe { function(value) }
    }
}

/// Compiles the stand-in; `None` without a C++ compiler.
fn build() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("stand-in");
    fs::create_dir_all(&folder).unwrap();
    let compiler = env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let mut words = compiler.split_whitespace();
    let new = folder.join(format!("new-{}", std::process::id()));
    let output = Command::new(words.next()?)
        .args(words)
        .args(["-std=c++17", "-O1", "-shared", "-fPIC", "-o"])
        .arg(&new)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/driver/stand_in.cpp"))
        .output()
        .ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::rename(new, folder.join("libcuda.so.1")).unwrap();
    Some(folder)
}

/// Runs a test in a separate process, whose CUDA driver is the stand-in.
fn over_stand_in(test: impl FnOnce(&StandIn)) {
    if let Some(folder) = env::var_os(VARIABLE) {
        let path = PathBuf::from(folder).join("libcuda.so.1");
        // SAFETY: the initialisers of the stand-in have no preconditions.
        let library = unsafe { Library::new(path) }.unwrap();
        return test(&StandIn { library, cache: env::var_os("GPUINT_CACHE_DIR").unwrap().into() });
    }
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let Some(folder) = FOLDER.get_or_init(build) else {
        skip("cxx", "no C++ compiler");
        return;
    };
    let name = thread::current().name().unwrap().to_owned();
    let cache = tempfile::tempdir().unwrap();
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture"])
        .env(VARIABLE, folder)
        .env("LD_LIBRARY_PATH", folder)
        .env("GPUINT_NVRTC", folder.join("libcuda.so.1"))
        .env("GPUINT_CACHE_DIR", cache.path())
        .output()
        .unwrap();
    let words = [output.stdout, output.stderr].concat();
    let words = String::from_utf8_lossy(&words);
    assert!(output.status.success() && words.contains("1 passed"), "{words}");
}

fn ones(device: &Device, rows: usize) -> Batch<U1024> {
    Batch::splat(device, &BigUint::from(1u32), rows).unwrap()
}

#[test]
fn stand_in_is_used() {
    over_stand_in(|_| {
        let device = Device::new().unwrap();
        assert_eq!(device.name(), "Stand-in");
        assert_eq!(ones(&device, 3).to_biguints().unwrap(), vec![BigUint::from(1u32); 3]);
        ones(&device, 3).wrapping_add(&ones(&device, 3)).unwrap();
        let (_, time) = device.time(|| ones(&device, 3).wrapping_add(&ones(&device, 3))).unwrap();
        assert_eq!(time, Duration::from_millis(1));
        assert_eq!(Device::cuda(2).unwrap_err(), Error::NoDevice);
    });
}

#[test]
fn callers_context_is_restored() {
    over_stand_in(|stand_in| {
        let mine = 0x1234 as *mut c_void;
        let current = || {
            let mut context: *mut c_void = ptr::null_mut();
            stand_in.set("cuCtxGetCurrent", &raw mut context);
            context
        };
        let work = || {
            let device = Device::cuda(0).unwrap();
            let sum = ones(&device, 1000).wrapping_add(&ones(&device, 1000)).unwrap();
            sum.div_rem(&sum).unwrap();
            sum.to_biguints().unwrap();
            device.time(|| sum.try_clone()).unwrap();
            device.trim().unwrap();
            ones(&device, 1 << 20);
        };
        work();
        assert!(current().is_null());
        stand_in.set("cuCtxSetCurrent", mine);
        work();
        assert_eq!(current(), mine);
        // Also after an error.
        stand_in.set("stand_in_limit", 0usize);
        Batch::<U1024>::zeros(&Device::cuda(0).unwrap(), 1).unwrap_err();
        assert_eq!(current(), mine);
    });
}

#[test]
fn freed_memory_goes_back_when_trimmed() {
    over_stand_in(|stand_in| {
        let device = Device::cuda(0).unwrap();
        let reserved = || stand_in.get::<usize>("stand_in_reserved");
        let kept = ones(&device, 8);
        drop(ones(&device, 1000));
        assert!(reserved() >= 1000 * 128, "it stays for the next batch");
        device.trim().unwrap();
        assert_eq!(reserved(), stand_in.get::<usize>("stand_in_used"));
        assert_eq!(reserved(), 8 * 128);
        drop(kept);
        device.trim().unwrap();
        assert_eq!(reserved(), 0);
        Device::cpu().trim().unwrap();
    });
}

#[test]
fn full_memory_is_an_error_of_every_operation() {
    over_stand_in(|stand_in| {
        let device = Device::cuda(0).unwrap();
        let (a, b) = (ones(&device, 100), ones(&device, 100));
        a.div_rem(&b).unwrap();
        let full = |what: &str, error: Option<Error>| {
            assert!(matches!(error, Some(Error::OutOfMemory { .. })), "{what}: {error:?}");
        };
        stand_in.set("stand_in_limit", stand_in.get::<usize>("stand_in_used"));
        full("add", a.wrapping_add(&b).err());
        full("mul", a.wrapping_mul(&b).err());
        full("div", a.div_rem(&b).err());
        full("cmp", a.cmp(&b).err());
        full("mask", a.eq_mask(&b).err());
        full("bits", a.bit_lengths().err());
        full("clone", a.try_clone().err());
        // Existing batches can still be read, and operations work again when memory is free.
        assert_eq!(a.to_biguints().unwrap().len(), 100);
        stand_in.set("stand_in_limit", 1usize << 40);
        a.div_rem(&b).unwrap();
    });
}

#[test]
fn kernel_fault_returns_device_lost() {
    over_stand_in(|stand_in| {
        let device = Device::cuda(0).unwrap();
        let (a, b) = (ones(&device, 10), ones(&device, 10));
        stand_in.set("stand_in_fault_at_launch", 700);
        // The launch itself succeeds: the GPU works asynchronously.
        let sum = a.wrapping_add(&b).unwrap();
        for error in [
            sum.to_biguints().unwrap_err(),
            device.synchronize().unwrap_err(),
            Batch::<U1024>::zeros(&device, 1).unwrap_err(),
            a.wrapping_mul(&b).unwrap_err(),
            Device::cuda(0).unwrap_err(),
        ] {
            let Error::DeviceLost(words) = &error else { panic!("{error:?}") };
            assert!(words.contains("illegal memory access"), "{words}");
            assert!(error.to_string().contains("start a new process"), "{error}");
        }
        // Other backends still work.
        ones(&Device::cpu(), 3).to_biguints().unwrap();
    });
}

#[test]
fn error_of_another_call_neither_ends_a_copy_nor_stays() {
    over_stand_in(|stand_in| {
        let device = Device::cuda(0).unwrap();
        let batch = ones(&device, 10);
        stand_in.set("stand_in_fail_frees", 1);
        thread::scope(|scope| {
            scope.spawn(|| drop(batch));
        });
        // 128 KiB: a copy that borrows the caller's memory.
        let waits = stand_in.get::<i32>("stand_in_waits");
        let bytes = vec![7u8; 1024 * 128];
        let large = Batch::<U1024>::from_le_bytes(&device, &bytes).unwrap();
        assert_eq!(stand_in.get::<i32>("stand_in_waits"), waits + 1);
        assert_eq!(large.to_le_bytes().unwrap(), bytes);
        assert_eq!(stand_in.get::<i32>("stand_in_waits"), waits + 2);
    });
}

#[test]
fn threads_that_share_a_device_wait_side_by_side() {
    over_stand_in(|stand_in| {
        const THREADS: u32 = 8;
        const CALLS: u32 = 10;
        const MS: i32 = 5;
        let device = Device::cuda(0).unwrap();
        let batch = ones(&device, 4);
        batch.div_rem(&batch).unwrap();
        stand_in.set("stand_in_delay", MS);
        let start = Instant::now();
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..CALLS {
                        batch.to_le_bytes().unwrap();
                        batch.div_rem(&batch).unwrap();
                    }
                });
            }
        });
        let one_after_the_other = Duration::from_millis(MS as u64) * 2 * CALLS * THREADS;
        let taken = start.elapsed();
        assert!(taken < one_after_the_other / 3, "{taken:?} of {one_after_the_other:?}");
    });
}

/// Makes a cache file with this image, in the format of src/backend/cuda/cache.rs.
fn signed(image: &[u8]) -> Vec<u8> {
    let mut file = b"gpuint\0\x01".to_vec();
    file.extend((image.len() as u64).to_le_bytes());
    file.extend(Sha256::digest(image));
    file.extend(image);
    file
}

#[test]
fn cached_image_rejected_by_driver_is_replaced() {
    over_stand_in(|stand_in| {
        let device = Device::cuda(0).unwrap();
        let a = ones(&device, 3);
        a.wrapping_add(&a).unwrap();
        let compiled = stand_in.get::<i32>("stand_in_compilations");
        let files: Vec<_> = fs::read_dir(&stand_in.cache).unwrap().collect();
        let [file] = &files[..] else { panic!("{files:?}") };
        let path = file.as_ref().unwrap().path();
        let good = fs::read(&path).unwrap();
        assert_eq!(good, signed(&good[48..]), "the format of the test is that of the cache");
        let mut refused = good[48..].to_vec();
        refused[100..107].copy_from_slice(b"REFUSED");
        fs::write(&path, signed(&refused)).unwrap();

        // In a separate process, since functions stay loaded.
        let again = Command::new(env::current_exe().unwrap())
            .args(["--exact", "stand_in_is_used", "--nocapture"])
            .output()
            .unwrap();
        assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stdout));
        assert_eq!(fs::read(&path).unwrap(), good);
        assert!(compiled >= 1);
    });
}

#[test]
fn cached_image_is_used_without_compiling() {
    over_stand_in(|stand_in| {
        let add = || {
            let a = ones(&Device::cuda(0).unwrap(), 3);
            a.wrapping_add(&a).unwrap();
        };
        let compilations = || stand_in.get::<i32>("stand_in_compilations");
        if env::var_os("GPUINT_TEST_AGAIN").is_some() {
            add();
            // A process reads the version text of the compiler's build once.
            assert_eq!(compilations(), 1);
            return;
        }
        add();
        assert_eq!(compilations(), 2);
        let again = Command::new(env::current_exe().unwrap())
            .args(["--exact", "cached_image_is_used_without_compiling"])
            .env("GPUINT_TEST_AGAIN", "1")
            .output()
            .unwrap();
        assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stdout));
    });
}

#[test]
fn working_folder_is_not_searched_for_libraries() {
    over_stand_in(|stand_in| {
        if env::var_os("GPUINT_TEST_AGAIN").is_some() {
            let device = Device::cuda(0).unwrap();
            // There may be a toolkit in /usr/local/cuda.
            let _ = ones(&device, 1).wrapping_add(&ones(&device, 1));
            let here = env::current_dir().unwrap().display().to_string();
            let mapped = fs::read_to_string("/proc/self/maps").unwrap();
            assert!(!mapped.contains(&here), "{mapped}");
            return;
        }
        let library = PathBuf::from(env::var_os("GPUINT_NVRTC").unwrap());
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("lib64")).unwrap();
        fs::copy(library, folder.path().join("lib64/libnvrtc.so")).unwrap();
        for value in ["", ".", "./"] {
            let again = Command::new(env::current_exe().unwrap())
                .args(["--exact", "working_folder_is_not_searched_for_libraries", "--nocapture"])
                .current_dir(folder.path())
                .env("GPUINT_TEST_AGAIN", "1")
                .env("GPUINT_NVRTC", "")
                .env("CUDA_HOME", value)
                .env("CUDA_PATH", value)
                .env("GPUINT_CACHE_DIR", "off")
                .output()
                .unwrap();
            let words = String::from_utf8_lossy(&again.stdout);
            assert!(again.status.success(), "{value:?}: {words}");
        }
        assert!(stand_in.cache.exists());
    });
}
