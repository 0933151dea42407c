//! The CUDA backend over a stand-in for the driver and NVRTC: faults, full memory, foreign contexts
//! and files. None of the tests needs a GPU.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

mod child;

use std::ffi::{CStr, c_void};
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use std::{env, fs, ptr, thread};

use child::in_child;
use gpuint::num_bigint::BigUint;
use gpuint::{
    Batch, Device, DigitKind, Divisor, DynBatch, Error, GpuUint, HostBatch, JitUint, Mask, Pool,
    SecretBatch, SecretExponents, SecretFactor, SecretModulus, Shape, Share, interruptible,
};
use gpuint_testkit::process::alone;
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
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = env::var_os(VARIABLE).map(PathBuf::from);
    let Some(folder) = folder.or_else(|| FOLDER.get_or_init(build).clone()) else {
        skip("cxx", "no C++ compiler");
        return;
    };
    let (path, cache) = (folder.join("libcuda.so.1"), tempfile::tempdir().unwrap());
    let variables = [
        (VARIABLE, folder.as_os_str()),
        ("LD_LIBRARY_PATH", folder.as_os_str()),
        ("GPUINT_NVRTC", path.as_os_str()),
        ("GPUINT_CACHE_DIR", cache.path().as_os_str()),
    ];
    alone(&variables, || {
        // SAFETY: the initialisers of the stand-in have no preconditions.
        let library = unsafe { Library::new(&path) }.unwrap();
        test(&StandIn { library, cache: env::var_os("GPUINT_CACHE_DIR").unwrap().into() });
    });
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

/// The stand-in aborts a fork that calls it, as a driver may wait forever.
#[test]
fn fork_gets_an_error_and_calls_no_driver() {
    over_stand_in(|_| {
        // The child may use GPUs as long as its parent has not.
        in_child(|| assert_eq!(ones(&Device::cuda(0).unwrap(), 3).len(), 3));
        let device = Device::cuda(0).unwrap();
        let (mut a, b) = (ones(&device, 10).into_dyn(), ones(&device, 10).into_dyn());
        let divisor = Divisor::<U1024>::splat(&device, 7).unwrap();
        let mut host = HostBatch::new(&device, a.shape(), 10).unwrap();
        let (mask, event) = (a.eq_mask(&b).unwrap(), device.record().unwrap());
        let address = b.device_ptr().unwrap();
        let dropped = Arc::new(AtomicUsize::new(0));
        let owner = Owner(Arc::clone(&dropped));
        // SAFETY: the stand-in has the memory, and its work is done when it is queued.
        let foreign = unsafe { DynBatch::from_device_ptr(&device, b.shape(), 10, address, owner) };
        let foreign = foreign.unwrap();
        in_child(|| {
            let shape = a.shape();
            for error in [
                Device::new().err(),
                Device::cuda(1).err(),
                Device::cuda_count().err(),
                Pool::new().err(),
                DynBatch::zeros(&device, shape, 1).err(),
                HostBatch::new(&device, shape, 1).err(),
                a.wrapping_add(&b).err(),
                a.div_rem(&b).err(),
                a.bit_lengths().err(),
                a.to_biguints().err(),
                a.try_clone().err(),
                a.device_ptr().err(),
                mask.count().err(),
                a.rem_by(divisor.as_dyn()).err(),
                host.as_bytes().err(),
                a.upload(0, &mut host).err(),
                a.download(0, &mut host).err(),
                device.synchronize().err(),
                device.trim().err(),
                device.record().err(),
                device.queue().err(),
                device.time(|| Ok(())).err(),
                device.wait_for(&event).err(),
                event.ready().err(),
                event.wait().err(),
            ] {
                assert_eq!(error, Some(Error::Forked));
            }
            let mut future = pin!(event.clone().into_future());
            let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert_eq!(polled, Poll::Ready(Err(Error::Forked)));
            // Calls that need no driver work.
            assert_eq!((device.name(), device.stream()), ("Stand-in".to_owned(), None));
            let pool = Pool::of([device.clone(), Device::cpu()]).unwrap();
            let values = vec![BigUint::from(3u32); 100];
            let square = |[a]: [Batch<U1024>; 1]| Ok([a.wrapping_square()?]);
            assert_eq!(pool.map([&values], square).unwrap(), [vec![BigUint::from(9u32); 100]]);
        });
        in_child(move || {
            drop((foreign, a, b, divisor, host, mask, event, device));
            assert_eq!(dropped.load(Ordering::SeqCst), 0, "the owner would call the driver");
        });
    });
}

#[test]
fn fork_waits_for_no_thread_of_its_parent() {
    over_stand_in(|_| {
        let device = Device::cuda(0).unwrap();
        let (a, b) = (ones(&device, 10), ones(&device, 10));
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let device = device.queue().unwrap();
                    while !is_over.load(Ordering::Relaxed) {
                        ones(&device, 10).wrapping_add(&b).unwrap().div_rem(&b).unwrap();
                        a.to_biguints().unwrap();
                    }
                });
            }
            for _ in 0..40 {
                in_child(|| {
                    assert_eq!(a.wrapping_add(&b).unwrap_err(), Error::Forked);
                    assert_eq!(a.to_biguints().unwrap_err(), Error::Forked);
                    assert_eq!(Device::cuda(0).unwrap_err(), Error::Forked);
                });
            }
            is_over.store(true, Ordering::Relaxed);
        });
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
        let waits = stand_in.get::<i32>("stand_in_waits");
        let bytes = vec![7u8; 1024 * 128];
        let large = Batch::<U1024>::from_le_bytes(&device, &bytes).unwrap();
        assert_eq!(large.to_le_bytes().unwrap(), bytes);
        assert_eq!(stand_in.get::<i32>("stand_in_waits"), waits + 1);
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
        let one_after_the_other = Duration::from_millis(MS as u64) * 2 * CALLS * THREADS;
        let time = || {
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
            start.elapsed()
        };
        // Another program may take the processor meanwhile.
        let times: Vec<_> = (0..5).map(|_| time()).collect();
        let is_short = |&time: &Duration| time < one_after_the_other / 3;
        assert!(times.iter().any(is_short), "{times:?} of {one_after_the_other:?}");
    });
}

/// Bytes of a chunk of pinned memory.
const CHUNK: usize = 4 << 20;

/// Bytes of `rows` rows, each different.
fn bytes(rows: usize) -> Vec<u8> {
    (0..rows * 128).map(|index| (index * 31 + index / 977) as u8).collect()
}

#[test]
fn only_reads_wait() {
    over_stand_in(|stand_in| {
        let device = Device::cuda(0).unwrap();
        let (a, b) = (ones(&device, 100), ones(&device, 100));
        let shape = a.as_dyn().shape();
        let mut host = HostBatch::new(&device, shape, 100).unwrap();
        let waits = || stand_in.get::<i32>("stand_in_waits");
        let before = waits();
        // The GPU is behind: nothing that was queued has ended.
        stand_in.set("stand_in_hold", 1);
        for _ in 0..15 {
            let (quotient, remainder, zero) = a.div_rem_masked(&b).unwrap();
            drop(b.prepare_masked().unwrap());
            let (sum, carries) = quotient.overflowing_add(&remainder).unwrap();
            let mut product = sum.wrapping_mul(&a).unwrap();
            product.wrapping_add_assign(&a).unwrap();
            drop((product.eq_mask(&a).unwrap(), product.try_clone().unwrap(), zero, carries));
            ones(&device, 3).write_le_bytes(1, &bytes(2)).unwrap();
        }
        // Three chunks: none is used twice.
        let large = Batch::<U1024>::from_le_bytes(&device, &bytes(3 * CHUNK / 128)).unwrap();
        let mut batch = large.on(&device.queue().unwrap()).unwrap();
        batch.upload(7, &mut host).unwrap();
        let copied = batch.download(7, &mut host).unwrap();
        device.wait_for(&copied).unwrap();
        assert_eq!(copied.ready(), Ok(false));
        assert_eq!(device.record().unwrap().ready(), Ok(false));
        assert_eq!(waits(), before);
        stand_in.set("stand_in_hold", 0);
        assert_eq!(copied.ready(), Ok(true));
        host.as_bytes().unwrap();
        assert_eq!(waits(), before + 1);
        a.div_rem(&b).unwrap();
        assert_eq!(waits(), before + 2);
    });
}

#[test]
fn interrupted_call_does_not_wait_for_the_gpu() {
    over_stand_in(|stand_in| {
        let device = Device::cuda(0).unwrap();
        let rows = 5 * CHUNK / 128;
        let a = Batch::<U1024>::from_le_bytes(&device, &bytes(rows)).unwrap();
        let mut host = HostBatch::new(&device, a.as_dyn().shape(), 1).unwrap();
        let ends_early = |what: &str, work: &mut dyn FnMut() -> gpuint::Result<()>| {
            // The GPU is behind: nothing that was queued ends.
            stand_in.set("stand_in_hold", 1);
            let waits = stand_in.get::<i32>("stand_in_waits");
            let start = Instant::now();
            let should_stop = move || start.elapsed() > Duration::from_millis(60);
            assert_eq!(interruptible(should_stop, work), Err(Error::Interrupted), "{what}");
            assert!(start.elapsed() < Duration::from_secs(10), "{what}: {:?}", start.elapsed());
            assert_eq!(stand_in.get::<i32>("stand_in_waits"), waits, "{what}");
            stand_in.set("stand_in_hold", 0);
        };
        ends_early("synchronize", &mut || device.synchronize());
        ends_early("a download", &mut || a.to_le_bytes().map(drop));
        ends_early("a checked division", &mut || a.div_rem(&a).map(drop));
        ends_early("an event", &mut || device.record()?.wait());
        ends_early("a time", &mut || device.time(|| a.wrapping_add(&a)).map(drop));
        ends_early("a copy", &mut || {
            a.download(0, &mut host)?;
            host.as_bytes().map(drop)
        });
        assert_eq!(a.to_le_bytes().unwrap(), bytes(rows));
        device.synchronize().unwrap();
    });
}

#[test]
fn queued_forms_make_few_driver_calls() {
    over_stand_in(|stand_in| {
        let device = Device::cuda(0).unwrap();
        let (a, b) = (ones(&device, 100), ones(&device, 100));
        let divisor = Divisor::new(&b).unwrap();
        let (mut out, mut other) = (ones(&device, 100), ones(&device, 100));
        let mut mask = Mask::none(&device, 100).unwrap();
        // In the first call the kernel is loaded.
        let calls = |work: &mut dyn FnMut() -> gpuint::Result<()>| {
            work().unwrap();
            let before = stand_in.get::<i32>("stand_in_calls");
            work().unwrap();
            stand_in.get::<i32>("stand_in_calls") - before
        };
        assert_eq!(calls(&mut || a.wrapping_mul_into(&b, &mut out)), 1, "the launch");
        assert_eq!(calls(&mut || a.div_rem_by_into(&divisor, &mut out, &mut other)), 1);
        assert_eq!(calls(&mut || a.mul_mod_into(&b, &divisor, &mut out)), 1);
        let masked = calls(&mut || a.div_rem_masked_into(&b, &mut out, &mut other, &mut mask));
        assert_eq!(masked, 2, "the mask is cleared");
        assert_eq!(calls(&mut || a.div_exact_masked_into(&b, &mut out, &mut mask)), 2);
        assert_eq!(calls(&mut || a.inverse_mod_pow2_into(&mut out, &mut mask)), 2);
        assert_eq!(calls(&mut || a.wrapping_mul(&b).map(drop)), 3, "and memory of a batch");
        assert_eq!(calls(&mut || a.div_rem_masked(&b).map(drop)), 8, "and of two and a mask");
        assert_eq!(calls(&mut || a.overflowing_add(&b).map(drop)), 6);
        // Memory of the sum and of a table of addresses, and the copy to it.
        let pairs = [(&a, &b), (&b, &b), (&a, &a)];
        assert_eq!(calls(&mut || Batch::wrapping_sum_of_products(&pairs).map(drop)), 6);
        // The device computes functions of masks.
        assert_eq!(calls(&mut || mask.and(&mask).map(drop)), 3);
    });
}

#[test]
fn copies_of_any_length_are_whole_and_pinned() {
    over_stand_in(|stand_in| {
        let device = Device::cuda(0).unwrap();
        let whole = CHUNK / 128;
        for rows in [0, 1, 512, 513, whole - 1, whole, whole + 1, 4 * whole + 1, 9 * whole + 5] {
            let expected = bytes(rows);
            let mut batch = Batch::<U1024>::from_le_bytes(&device, &expected).unwrap();
            assert_eq!(batch.to_le_bytes().unwrap(), expected, "{rows}");
            let values = batch.to_biguints().unwrap();
            let again = Batch::<U1024>::from_biguints(&device, &values).unwrap();
            assert_eq!(again.to_le_bytes().unwrap(), expected, "{rows}");
            // The last rows, by pinned memory of the user.
            let part = rows.min(700);
            let mut host = HostBatch::new(&device, batch.as_dyn().shape(), part).unwrap();
            again.download(rows - part, &mut host).unwrap();
            assert_eq!(host.as_bytes().unwrap(), &expected[(rows - part) * 128..]);
            batch.upload(0, &mut host).unwrap();
            let mut read = vec![0; part * 128];
            batch.read_le_bytes(0, &mut read).unwrap();
            assert_eq!(read, &expected[(rows - part) * 128..]);
        }
        assert_eq!(stand_in.get::<i32>("stand_in_pageable"), 0);
        assert!(stand_in.get::<usize>("stand_in_pinned") >= 4 * CHUNK, "chunks are kept");
        device.trim().unwrap();
        assert_eq!(stand_in.get::<usize>("stand_in_pinned"), 0);
    });
}

/// Bytes that the stand-in looks for in memory that is given back.
const MARK: &[u8] = b"secret operand";

#[test]
fn memory_of_secrets_is_overwritten_before_it_is_freed() {
    over_stand_in(|stand_in| {
        let device = Device::cuda(0).unwrap();
        let shape = device.shape_for(1024).unwrap();
        let mut row = MARK.repeat(9);
        row.resize(shape.bits / 8, 1);
        let rows = row.repeat(3);
        let work = || {
            let secret = SecretBatch::from_le_bytes(&device, shape, &rows)?;
            assert_eq!(*secret.to_le_bytes()?, rows);
            // More than a part of a copy.
            let long = row.repeat(CHUNK / row.len() + 5);
            let secrets = SecretBatch::from_le_bytes(&device, shape, &long)?;
            assert!(*secrets.to_le_bytes()? == long);
            let value = BigUint::from_bytes_le(&row);
            assert!(secrets.to_biguints()?.iter().all(|found| *found == value));
            let modulus = SecretModulus::splat(&device, shape, &row)?;
            let exponents = SecretExponents::of_rows(&device, shape, 1024, &rows)?;
            let powers = secret.pow_secret(&exponents, &modulus)?;
            let factor = SecretFactor::splat(&device, shape, &row, &row)?;
            let concealed = SecretBatch::from(secret.reveal()?);
            concealed.mul_add_secret(&factor, &powers)?.to_le_bytes()
        };
        work().unwrap();
        device.synchronize().unwrap();
        device.trim().unwrap();
        assert_eq!(stand_in.get::<usize>("stand_in_used"), 0);
        assert_eq!(stand_in.get::<i32>("stand_in_marked"), 0);
        // The memory of other batches is not: the stand-in finds the mark in it.
        drop(DynBatch::from_le_bytes(&device, shape, &rows).unwrap());
        device.trim().unwrap();
        assert_eq!(stand_in.get::<i32>("stand_in_marked"), 2, "the batch, and a pinned chunk");
    });
}

#[test]
fn rows_longer_than_a_chunk_are_copied_whole() {
    over_stand_in(|stand_in| {
        let device = Device::cuda(0).unwrap();
        let shape = device.shape_for(8 * (2 * CHUNK + 8)).unwrap();
        let values: Vec<_> = (1..4u32).map(|row| BigUint::from(row) << (shape.bits - 3)).collect();
        let mut batch = DynBatch::from_biguints(&device, shape, &values).unwrap();
        assert!(batch.to_biguints().unwrap() == values);
        assert!(batch.row(2).unwrap() == values[2]);
        let all = batch.to_le_bytes().unwrap();
        batch.write_le_bytes(0, &all).unwrap();
        assert!(batch.to_le_bytes().unwrap() == all);
        assert_eq!(stand_in.get::<i32>("stand_in_pageable"), 0);
    });
}

#[test]
fn queues_share_batches_in_order() {
    over_stand_in(|stand_in| {
        let device = Device::cuda(0).unwrap();
        let orders = || stand_in.get::<i32>("stand_in_orders");
        let mut one = ones(&device, 600);
        let divisor = Divisor::new(&one).unwrap();
        one.wrapping_mul(&one).unwrap().div_rem_by(&divisor).unwrap();
        assert_eq!(orders(), 0, "one queue waits for none");

        let queues = [device.queue().unwrap(), device.queue().unwrap(), device.clone()];
        assert!(queues[0] != device && queues[0].shares_memory_with(&queues[1]));
        let mut host = HostBatch::new(&device, one.as_dyn().shape(), 600).unwrap();
        let mut batches: Vec<_> = queues.iter().map(|queue| ones(queue, 600)).collect();
        let mut mask = Mask::none(&device, 600).unwrap();
        // Every pair of uses by every pair of queues.
        let mut random = 1u32;
        for round in 0..4000 {
            // Nothing that was queued has ended, in three of four stretches.
            stand_in.set("stand_in_hold", i32::from(round / 250 % 4 != 0));
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let pick = |shift: u32| (random >> shift) as usize % 3;
            let (mut a, b) = (batches.remove(pick(8)), pick(10) % 2);
            a = a.on(&queues[pick(12)]).unwrap();
            let b = &mut batches[b];
            match random >> 28 {
                0 | 1 => a.wrapping_mul_into(&one, b).unwrap(),
                2 | 3 => a.wrapping_add_into(b, &mut one).unwrap(),
                4 => a.lt_mask_into(b, &mut mask).unwrap(),
                5 => drop(a.upload(0, &mut host).unwrap()),
                6 => drop(b.download(0, &mut host).unwrap()),
                7 => drop(a.wrapping_add(b).unwrap()),
                8 => {
                    let copy = a.try_clone().unwrap().on(&queues[pick(14)]).unwrap();
                    copy.wrapping_add(b).unwrap();
                }
                9 => drop(a.div_rem_by(&divisor).unwrap()),
                10 => b.write_le_bytes(5, &bytes(2)).unwrap(),
                11 => drop(b.row(3).unwrap()),
                12 => a = a.try_clone().unwrap(),
                13 => queues[pick(14)].wait_for(&queues[pick(16)].record().unwrap()).unwrap(),
                14 => drop(ones(&queues[pick(14)], 5)),
                _ => a.wrapping_add_assign(b).unwrap(),
            }
            batches.push(a);
        }
        stand_in.set("stand_in_hold", 0);
        assert!(orders() > 100);
        assert_eq!(stand_in.get::<i32>("stand_in_races"), 0);
        // Reads of one batch by several queues do not wait for each other.
        for queue in &queues {
            one = one.on(queue).unwrap();
            one.wrapping_add(&one).unwrap();
        }
        let before = orders();
        for queue in queues.iter().cycle().take(30) {
            one = one.on(queue).unwrap();
            one.wrapping_add(&one).unwrap();
        }
        assert_eq!(orders(), before);
        // Queues that are closed, and memory that outlives them.
        drop((queues, batches, mask, host));
        one.to_le_bytes().unwrap();
        drop((one, divisor));
        device.trim().unwrap();
        assert_eq!(stand_in.get::<i32>("stand_in_races"), 0);
        assert_eq!(stand_in.get::<usize>("stand_in_used"), 8, "the status word of the device");
    });
}

#[test]
fn batches_of_another_gpu_are_refused() {
    over_stand_in(|_| {
        let (device, other) = (Device::cuda(0).unwrap(), Device::cuda(1).unwrap());
        let (mut a, b) = (ones(&device, 3), ones(&other, 3));
        assert!(!device.shares_memory_with(&other));
        assert_eq!(a.wrapping_add(&b).unwrap_err(), Error::DeviceMismatch);
        let mut host = HostBatch::new(&other, a.as_dyn().shape(), 3).unwrap();
        assert_eq!(a.upload(0, &mut host).unwrap_err(), Error::DeviceMismatch);
        assert_eq!(a.download(0, &mut host).unwrap_err(), Error::DeviceMismatch);
        assert_eq!(a.on(&other).unwrap_err(), Error::DeviceMismatch);
        // Points in the queues of other devices can be waited for.
        device.wait_for(&other.record().unwrap()).unwrap();
        device.wait_for(&Device::cpu().record().unwrap()).unwrap();
        Device::cpu().wait_for(&device.record().unwrap()).unwrap();
    });
}

/// Copies rows on all devices of a pool, launching a kernel beside, and compares the results.
fn copy_by(pool: &Pool, rows: usize) -> Result<Vec<Share>, Error> {
    let source = bytes(rows);
    let mut copy = vec![0; source.len()];
    let shape = ones(&Device::cpu(), 1).as_dyn().shape();
    let shares = pool.run(
        shape,
        rows,
        &mut copy[..],
        |_| Ok(()),
        |(), chunk, copy| {
            let batch = DynBatch::from_le_bytes(chunk.device(), shape, chunk.part(&source)?)?;
            batch.wrapping_add(&batch)?;
            batch.try_clone()?.read_le_bytes(0, copy)
        },
    )?;
    assert_eq!(shares.iter().map(|share| share.rows).sum::<usize>(), rows);
    assert!(copy == source);
    Ok(shares)
}

#[test]
fn pool_computes_the_rows_of_a_lost_gpu_on_the_other() {
    over_stand_in(|stand_in| {
        let pool = Pool::new().unwrap();
        assert_eq!(pool.devices().len(), 2);
        let rows = 3 * CHUNK / 128 + 5;
        for rows in [0, 1, rows] {
            let shares = copy_by(&pool, rows).unwrap();
            assert!(shares.iter().all(|share| share.error.is_none()), "{shares:?}");
        }
        let used = stand_in.get::<usize>("stand_in_used");
        // One failed call ends one of several threads of a GPU.
        for function in [c"cuStreamCreate", c"cuMemcpyHtoDAsync_v2", c"cuLaunchKernelEx"] {
            stand_in.set("stand_in_fail", function.as_ptr());
            let shares = copy_by(&pool, rows).unwrap();
            let errors: Vec<_> = shares.iter().filter_map(|share| share.error.as_ref()).collect();
            assert!(matches!(errors[..], [Error::Driver(_)]), "{function:?}: {errors:?}");
            assert!(shares.iter().all(|share| share.rows > 0), "{shares:?}");
        }
        assert_eq!(stand_in.get::<usize>("stand_in_used"), used);
        // Less memory than three chunks of 16 MiB on each GPU.
        stand_in.set("stand_in_limit", 20usize << 20);
        let shares = copy_by(&pool, 8 * rows).unwrap();
        assert!(shares.iter().all(|share| share.rows > 0), "{shares:?}");
        stand_in.set("stand_in_limit", 1usize << 40);

        stand_in.set("stand_in_fault_at_launch", 700);
        for _ in 0..2 {
            let shares = copy_by(&pool, rows).unwrap();
            let is_lost = |share: &&Share| matches!(share.error, Some(Error::DeviceLost(_)));
            assert_eq!(shares.iter().filter(is_lost).count(), 1, "{shares:?}");
        }
        stand_in.set("stand_in_fault_at_launch", 700);
        assert!(matches!(copy_by(&pool, rows), Err(Error::DeviceLost(_))));
        let with_cpu = Pool::of(pool.devices().iter().cloned().chain([Device::cpu()])).unwrap();
        assert_eq!(copy_by(&with_cpu, 100).unwrap()[2].rows, 100);
        assert_eq!(stand_in.get::<i32>("stand_in_races"), 0);
    });
}

/// Notes when it is dropped.
#[derive(Debug)]
struct Owner(Arc<AtomicUsize>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn rows_of_other_libraries_are_used_in_place() {
    over_stand_in(|stand_in| {
        let device = Device::cuda(0).unwrap();
        let mut theirs = ones(&device, 4);
        let shape = theirs.as_dyn().shape();
        let address = theirs.as_dyn().device_ptr().unwrap();
        let dropped = Arc::new(AtomicUsize::new(0));
        let over = |device: &Device, address: u64, rows: usize| {
            let owner = Owner(Arc::clone(&dropped));
            // SAFETY: the stand-in has the memory, and its work is done when it is queued.
            unsafe { DynBatch::from_device_ptr(device, shape, rows, address, owner) }
        };
        let queue = device.queue().unwrap();
        let stream = device.stream().unwrap();
        // SAFETY: `device` has the stream.
        unsafe { queue.wait_for_stream(stream) }.unwrap();
        let mut batch = over(&queue, address, 4).unwrap();
        batch.write_le_bytes(1, &bytes(2)).unwrap();
        // In place, too: the stand-in's sum is what its memory holds.
        let place = batch.device_ptr();
        let copy = batch.try_clone().unwrap();
        batch.wrapping_add_assign(&copy).unwrap();
        assert_eq!((batch.device_ptr(), place), (Ok(address), Ok(address)));
        batch.write_le_bytes(0, &ones(&Device::cpu(), 4).to_le_bytes().unwrap()).unwrap();
        batch.write_le_bytes(1, &bytes(2)).unwrap();
        // SAFETY: as above.
        unsafe { queue.hold_stream(stream) }.unwrap();
        let mut expected = ones(&Device::cpu(), 4);
        expected.write_le_bytes(1, &bytes(2)).unwrap();
        assert_eq!(theirs.to_le_bytes().unwrap(), expected.to_le_bytes().unwrap());
        theirs.write_le_bytes(0, &bytes(1)).unwrap();
        let used = stand_in.get::<usize>("stand_in_used");
        let waits = stand_in.get::<i32>("stand_in_waits");
        drop(batch);
        assert_eq!(dropped.load(Ordering::SeqCst), 1);
        assert_eq!(stand_in.get::<usize>("stand_in_used"), used, "it is not freed");
        assert_eq!(stand_in.get::<i32>("stand_in_waits"), waits + 1);
        assert_eq!(stand_in.get::<i32>("stand_in_races"), 0);

        for (address, rows) in [(address + 8, 3), (address, 5), (address + 128, 4), (64, 1)] {
            let error = over(&device, address, rows).unwrap_err();
            assert!(matches!(error, Error::DevicePointer { .. }), "{error}");
        }
        let other = over(&Device::cuda(1).unwrap(), address, 4).unwrap_err();
        assert!(other.to_string().contains("another device"), "{other}");
        assert!(over(&device, 0, 0).unwrap().is_empty());
        assert_eq!(over(&Device::cpu(), address, 4).unwrap_err(), Error::NoDevice);
        let error = over(&device, address, usize::MAX).unwrap_err();
        assert_eq!(error, Error::OutOfMemory { bytes: u64::MAX });
        assert_eq!(Device::cpu().stream(), None);
        assert_eq!(ones(&Device::cpu(), 1).as_dyn().device_ptr(), Err(Error::NoDevice));
    });
}

/// Wakes a thread, and counts how often.
#[derive(Debug)]
struct Thread(thread::Thread, AtomicUsize);

impl Wake for Thread {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.unpark();
    }
}

/// The least executor: polls when it is woken.
fn block_on(mut future: Pin<&mut impl Future<Output = gpuint::Result<()>>>) -> gpuint::Result<()> {
    let waker = Arc::new(Thread(thread::current(), AtomicUsize::new(0))).into();
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => return result,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn driver_wakes_the_task_that_waits() {
    over_stand_in(|stand_in| {
        let device = Device::cuda(0).unwrap();
        let a = ones(&device, 3);
        for round in 0..20 {
            stand_in.set("stand_in_hold", 1);
            a.wrapping_add(&a).unwrap();
            let event = device.record().unwrap();
            assert_eq!(event.ready(), Ok(false));
            let mut future = pin!(event.clone().into_future());
            let thread = Arc::new(Thread(thread::current(), AtomicUsize::new(0)));
            let waker = Arc::clone(&thread).into();
            for _ in 0..3 {
                let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
                assert_eq!(polled, Poll::Pending);
            }
            assert_eq!(thread.1.load(Ordering::SeqCst), 0, "{round}");
            stand_in.set("stand_in_hold", 0);
            assert_eq!(block_on(future), Ok(()));
            assert_eq!(event.wait(), Ok(()));
            // Dropped before it is woken.
            stand_in.set("stand_in_hold", 1);
            let mut dropped = Box::pin(device.record().unwrap().into_future());
            let polled = dropped.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert_eq!(polled, Poll::Pending);
            drop(dropped);
            stand_in.set("stand_in_hold", 0);
        }
        // A fault wakes it, too.
        stand_in.set("stand_in_hold", 1);
        let mut future = pin!(device.record().unwrap().into_future());
        let thread = Arc::new(Thread(thread::current(), AtomicUsize::new(0)));
        let waker = Arc::clone(&thread).into();
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        stand_in.set("stand_in_fault_at_launch", 700);
        a.wrapping_add(&a).unwrap();
        stand_in.set("stand_in_hold", 0);
        while thread.1.load(Ordering::SeqCst) == 0 {
            thread::park_timeout(Duration::from_millis(10));
        }
        let result = block_on(future);
        assert!(matches!(result, Err(Error::DeviceLost(_))), "{result:?}");
    });
}

#[test]
fn failure_of_each_call_is_its_error_and_no_more() {
    over_stand_in(|stand_in| {
        let device = Device::cuda(0).unwrap();
        let shape = ones(&device, 1).as_dyn().shape();
        let rows = 2 * CHUNK / 128 + 3;
        let expected = bytes(rows);
        let mut batch = Batch::<U1024>::from_le_bytes(&device, &expected).unwrap();
        device.trim().unwrap();
        let mut attempt = |function: &CStr| {
            stand_in.set("stand_in_fail", function.as_ptr());
            let mut work = || {
                let mut host = HostBatch::new(&device, shape, 100)?;
                batch.write_le_bytes(0, &expected)?;
                batch.download(0, &mut host)?;
                batch.upload(0, &mut host)?;
                host.as_bytes()?;
                let other = device.queue()?;
                other.wait_for(&device.record()?)?;
                batch.wrapping_add(&ones(&other, rows))?;
                other.time(|| batch.try_clone())?;
                batch.to_biguints()?;
                batch.read_le_bytes(0, &mut vec![0; 128 * rows])
            };
            let result = work();
            assert_eq!(stand_in.get::<i32>("stand_in_unfailed"), 0, "{function:?} is not called");
            assert!(matches!(result, Err(Error::Driver(_))), "{function:?}: {result:?}");
            // All is as before.
            device.synchronize().unwrap();
            assert_eq!(work(), Ok(()), "{function:?}");
            assert_eq!(batch.to_le_bytes().unwrap(), expected);
            device.trim().unwrap();
            assert_eq!(stand_in.get::<usize>("stand_in_pinned"), 0, "{function:?}");
        };
        for function in [
            c"cuMemHostAlloc",
            c"cuEventCreate",
            c"cuEventRecord",
            c"cuEventSynchronize",
            c"cuEventElapsedTime",
            c"cuStreamCreate",
            c"cuStreamWaitEvent",
            c"cuMemcpyHtoDAsync_v2",
            c"cuMemcpyDtoHAsync_v2",
            c"cuMemcpyDtoDAsync_v2",
        ] {
            attempt(function);
        }
        // Functions that only futures call.
        for function in [c"cuStreamCreate", c"cuStreamWaitEvent", c"cuStreamAddCallback"] {
            stand_in.set("stand_in_hold", 1);
            let mut future = pin!(device.record().unwrap().into_future());
            stand_in.set("stand_in_fail", function.as_ptr());
            let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert_eq!(stand_in.get::<i32>("stand_in_unfailed"), 0, "{function:?} is not called");
            assert!(matches!(polled, Poll::Ready(Err(Error::Driver(_)))), "{polled:?}");
            stand_in.set("stand_in_hold", 0);
            assert_eq!(block_on(future), Ok(()));
        }
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
fn kernels_of_an_unbuilt_shape_are_compiled_at_first_use() {
    over_stand_in(|stand_in| {
        let device = Device::cuda(0).unwrap();
        let shape = Shape { bits: 1280, q: 4, digit: DigitKind::U64 };
        let missing = Error::ShapeMissing { shape };
        assert_eq!(DynBatch::zeros(&device, shape, 3).unwrap_err(), missing);

        // The version text of the compiler's build, then one compilation for each kernel.
        let compilations = || stand_in.get::<i32>("stand_in_compilations");
        let a = Batch::<JitUint<1280>>::splat(&device, 7, 3).unwrap();
        a.wrapping_add(&a).unwrap();
        assert_eq!(compilations(), 2);
        a.wrapping_add(&a).unwrap();
        assert_eq!(compilations(), 2);
        a.div_rem(&a).unwrap();
        assert_eq!(compilations(), 3);
        let names = fs::read_dir(&stand_in.cache).unwrap().map(|file| file.unwrap().file_name());
        let names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        let has = |part| names.iter().any(|name| name.contains(part));
        assert!(names.len() == 2 && has("gpuint_add_b1280_q4_u64"), "{names:?}");
        assert!(has("gpuint_div_rem_blocked_classical_b1280"), "{names:?}");

        // A batch of the type, on another queue and of twice the width, still has the option.
        let queue = device.queue().unwrap();
        let a = a.into_dyn().on(&queue).unwrap();
        assert_eq!(a.widening_mul(&a).unwrap().shape().bits, 2560);
        let invalid = Shape { bits: 1000, ..shape };
        let error = DynBatch::zeros(&device.with_jit(), invalid, 3).unwrap_err();
        assert_eq!(error, Error::ShapeMissing { shape: invalid });
        assert!(error.to_string().contains("multiple of Q"), "{error}");
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
