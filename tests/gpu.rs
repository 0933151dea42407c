//! Behaviour that needs a GPU: other users of its context and memory, faults, two GPUs, kernels by
//! NVRTC. Skipped, with the reason, without a GPU.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::time::{Duration, Instant};
use std::{ptr, thread};

use gpuint::num_bigint::BigUint;
use gpuint::{Batch, Device, Divisor, DynBatch, DynDivisor, Error, GpuUint, HostBatch, Pool};
use gpuint_testkit::process;
use gpuint_testkit::skip::skip;
use libloading::Library;

type U1024 = GpuUint<1024>;

/// Opens a GPU; `None`, with the reason on standard error, if there is none.
fn gpu(ordinal: usize) -> Option<Device> {
    match Device::cuda(ordinal) {
        Ok(device) => Some(device),
        Err(Error::NoDevice) => {
            skip("gpu", format_args!("no GPU {ordinal}"));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The driver, as another library in the process would use it.
struct Driver(Library);

impl Driver {
    fn load() -> Self {
        // SAFETY: the initialisers of the driver have no preconditions.
        Self(unsafe { Library::new("libcuda.so.1") }.unwrap())
    }

    /// A function of the driver.
    ///
    /// # Safety
    /// Its type is `F`.
    unsafe fn get<F: Copy>(&self, name: &CStr) -> F {
        // SAFETY: as above.
        *unsafe { self.0.get::<F>(name) }.unwrap()
    }

    fn current(&self) -> *mut c_void {
        type Get = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
        // SAFETY: the type is that of cuda.h.
        let get = unsafe { self.get::<Get>(c"cuCtxGetCurrent") };
        let mut context = ptr::null_mut();
        // SAFETY: the pointer is valid for a write.
        assert_eq!(unsafe { get(&raw mut context) }, 0);
        context
    }

    /// Makes the primary context of GPU 0 current for this thread.
    fn bind(&self) {
        type Retain = unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int;
        type Set = unsafe extern "C" fn(*mut c_void) -> c_int;
        // SAFETY: the types are those of cuda.h.
        let retain = unsafe { self.get::<Retain>(c"cuDevicePrimaryCtxRetain") };
        // SAFETY: as above.
        let set = unsafe { self.get::<Set>(c"cuCtxSetCurrent") };
        let mut context = ptr::null_mut();
        // SAFETY: the pointer is valid for a write.
        assert_eq!(unsafe { retain(&raw mut context, 0) }, 0);
        // SAFETY: the context is there.
        assert_eq!(unsafe { set(context) }, 0);
    }

    /// Free bytes of the GPU. The context must be current.
    fn free_bytes(&self) -> usize {
        type Info = unsafe extern "C" fn(*mut usize, *mut usize) -> c_int;
        // SAFETY: the type is that of cuda.h.
        let info = unsafe { self.get::<Info>(c"cuMemGetInfo_v2") };
        let (mut free, mut total) = (0, 0);
        // SAFETY: the pointers are valid for a write.
        assert_eq!(unsafe { info(&raw mut free, &raw mut total) }, 0);
        free
    }

    /// Allocates memory and never frees it.
    fn take(&self, bytes: usize) -> bool {
        type Alloc = unsafe extern "C" fn(*mut u64, usize) -> c_int;
        // SAFETY: the type is that of cuda.h.
        let alloc = unsafe { self.get::<Alloc>(c"cuMemAlloc_v2") };
        let mut address = 0;
        // SAFETY: the pointer is valid for a write.
        unsafe { alloc(&raw mut address, bytes) == 0 }
    }

    /// Launches a kernel that faults.
    #[allow(clippy::multiple_unsafe_ops_per_block)]
    fn fault(&self) {
        type Load = unsafe extern "C" fn(*mut *mut c_void, *const c_void) -> c_int;
        type Get = unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const i8) -> c_int;
        type Launch = unsafe extern "C" fn(
            *mut c_void,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            *mut c_void,
            *mut *mut c_void,
            *mut *mut c_void,
        ) -> c_int;
        let ptx = c".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry \
                    fault()\n{\n.reg .u64 %a;\nmov.u64 %a, 64;\nst.global.u64 [%a], %a;\nret;\n}\n";
        let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the types are those of cuda.h; the image is PTX with a null byte; the kernel has
        // no arguments, and its fault is intended.
        unsafe {
            let load = self.get::<Load>(c"cuModuleLoadData");
            assert_eq!(load(&raw mut module, ptx.as_ptr().cast()), 0);
            let get = self.get::<Get>(c"cuModuleGetFunction");
            assert_eq!(get(&raw mut function, module, c"fault".as_ptr()), 0);
            let launch = self.get::<Launch>(c"cuLaunchKernel");
            let none = ptr::null_mut();
            assert_eq!(launch(function, 1, 1, 1, 1, 1, 1, 0, none, none.cast(), none.cast()), 0);
        }
    }
}

/// Runs a test in a separate process, since it may ruin the process.
fn alone(test: impl FnOnce(Device)) {
    let Some(device) = gpu(0) else { return };
    process::alone(&[], || test(device));
}

fn values(rows: u32) -> Vec<BigUint> {
    (0..rows).map(|row| (BigUint::from(row) << 900u32) + row + 1u32).collect()
}

fn batch(device: &Device, rows: u32) -> Batch<U1024> {
    Batch::from_biguints(device, &values(rows)).unwrap()
}

/// Divides, and checks the results.
fn divide(device: &Device) {
    let (u, v) = (batch(device, 100), Batch::splat(device, &BigUint::from(7u32), 100).unwrap());
    let (q, r) = u.div_rem(&v).unwrap();
    let (q, r) = (q.to_biguints().unwrap(), r.to_biguints().unwrap());
    for ((u, q), r) in values(100).iter().zip(&q).zip(&r) {
        assert_eq!((q * 7u32 + r == *u, r < &BigUint::from(7u32)), (true, true));
    }
}

#[test]
fn callers_context_is_restored() {
    let Some(device) = gpu(0) else { return };
    let driver = Driver::load();
    divide(&device);
    drop(device);
    assert!(driver.current().is_null());
    driver.bind();
    let mine = driver.current();
    divide(&Device::cuda(0).unwrap());
    assert_eq!(driver.current(), mine);
}

#[test]
fn freed_memory_goes_back_when_trimmed() {
    alone(|device| {
        let driver = Driver::load();
        driver.bind();
        let bytes = 1usize << 30;
        // The page with the status word of the device stays.
        let page = 2 << 20;
        // Tests beside this one take memory of the same GPU: they spoil an attempt, not all.
        let goes_back = || {
            drop(Batch::<U1024>::zeros(&device, bytes / 128).unwrap());
            device.synchronize().unwrap();
            let before = driver.free_bytes();
            device.trim().unwrap();
            let after = driver.free_bytes();
            println!("free: {before} bytes, after trim {after}");
            after + page >= before + bytes
        };
        assert!((0..20).any(|_| goes_back()));
    });
}

#[test]
fn full_gpu_is_an_error_of_every_operation() {
    alone(|device| {
        let rows = 1usize << 20; // 128 MiB
        let (a, b) = (
            Batch::<U1024>::splat(&device, &BigUint::from(9u32), rows).unwrap(),
            Batch::<U1024>::splat(&device, &BigUint::from(7u32), rows).unwrap(),
        );
        divide(&device);
        let small = batch(&device, 10);
        let driver = Driver::load();
        driver.bind();
        device.trim().unwrap();
        for bytes in [1 << 30, 64 << 20] {
            while driver.free_bytes() > bytes + (32 << 20) && driver.take(bytes) {}
        }
        println!("free: {} bytes", driver.free_bytes());
        let full = |what: &str, error: Option<Error>| {
            assert!(matches!(error, Some(Error::OutOfMemory { .. })), "{what}: {error:?}");
        };
        full("add", a.wrapping_add(&b).err());
        full("mul", a.wrapping_mul(&b).err());
        full("div", a.div_rem(&b).err());
        full("clone", a.try_clone().err());
        full("zeros", Batch::<U1024>::zeros(&device, rows).err());
        // Small operations still work, and existing batches can be read.
        assert_eq!(small.wrapping_add(&small).unwrap().len(), 10);
        assert_eq!(a.row(rows - 1).unwrap(), BigUint::from(9u32));
    });
}

#[test]
fn kernel_fault_returns_device_lost() {
    alone(|device| {
        divide(&device);
        let batch = batch(&device, 10);
        let driver = Driver::load();
        driver.bind();
        driver.fault();
        thread::sleep(Duration::from_millis(200));
        for error in [
            batch.to_biguints().unwrap_err(),
            batch.wrapping_add(&batch).map(|_| ()).unwrap_err(),
            device.synchronize().unwrap_err(),
            Batch::<U1024>::zeros(&device, 1).map(|_| ()).unwrap_err(),
        ] {
            println!("{error}");
            assert!(matches!(error, Error::DeviceLost(_)), "{error:?}");
        }
    });
}

#[test]
fn threads_that_share_a_device_keep_pace() {
    let Some(device) = gpu(0) else { return };
    let a = batch(&device, 4);
    a.div_rem(&a).unwrap();
    let calls = 2000;
    let work = || {
        for _ in 0..calls {
            a.div_rem(&a).unwrap();
        }
    };
    let rate = |threads: u32| {
        let start = Instant::now();
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
        f64::from(threads * calls) / start.elapsed().as_secs_f64()
    };
    rate(1);
    let (one, eight) = (rate(1), rate(8));
    println!("small divisions a second: {one:.0} by one thread, {eight:.0} by eight");
    // One thread nearly reaches the rate of the driver, eight 0.74 to 0.96 of it (H100). Threads
    // that wait for each other's calls would share a fraction of it.
    assert!(eight > 0.6 * one, "{one} {eight}");
}

/// Every GPU of the machine; fewer than two are none, with the reason on standard error.
fn all_gpus() -> Vec<Device> {
    let open = |ordinal| match Device::cuda(ordinal) {
        Ok(device) => Some(device),
        Err(Error::NoDevice) => None,
        Err(error) => panic!("GPU {ordinal}: {error}"),
    };
    let gpus: Vec<Device> = (0..).map_while(open).collect();
    if gpus.len() < 2 {
        skip("two GPUs", format_args!("this machine has {}", gpus.len()));
        return Vec::new();
    }
    gpus
}

#[test]
fn all_gpus_give_the_same_results_side_by_side() {
    let gpus = all_gpus();
    let Some(first) = gpus.first() else { return };
    // Two threads for each GPU, so that each changes the context of its thread while others work.
    thread::scope(|scope| {
        for device in gpus.iter().chain(&gpus) {
            scope.spawn(|| divide(device));
        }
    });
    let results = |device: &Device| {
        let (a, b) = (batch(device, 1000), Batch::splat(device, &values(9)[8], 1000).unwrap());
        let (q, r) = (&a * &a).div_rem(&b).unwrap();
        let shifted = (&q + &r).shl(77).unwrap();
        [q, r, shifted].map(|column| column.to_biguints().unwrap())
    };
    let expected = results(first);
    for device in &gpus[1..] {
        assert!(results(device) == expected, "{device}");
        let (a, b) = (batch(first, 10), batch(device, 10));
        assert_eq!(a.wrapping_add(&b).map(|_| ()), Err(Error::DeviceMismatch));
        // A copy by way of the host.
        let copy = Batch::from_biguints(device, &a.to_biguints().unwrap()).unwrap();
        assert!(copy.is_equal(&b).unwrap());
    }
    println!("{} GPUs", gpus.len());
}

/// Powers of these rows, in memory of the caller, by a pool.
fn powers(pool: &Pool, bases: &[u8]) -> gpuint::Result<(Vec<u8>, Vec<gpuint::Share>)> {
    let shape = batch(&Device::cpu(), 1).as_dyn().shape();
    let mut powers = vec![0; bases.len()];
    let rows = bases.len() / shape.bytes();
    let prepare = |device: &Device| DynDivisor::splat(device, shape, &values(9)[8]);
    let shares = pool.run(shape, rows, &mut powers[..], prepare, |modulus, chunk, powers| {
        let bases = DynBatch::from_le_bytes(chunk.device(), shape, chunk.part(bases)?)?;
        bases.pow_mod(&bases, modulus)?.read_le_bytes(0, powers)
    })?;
    Ok((powers, shares))
}

#[test]
fn pool_of_all_gpus_computes_what_one_does() {
    let gpus = all_gpus();
    let Some(first) = gpus.first() else { return };
    let all = Pool::new().unwrap();
    assert_eq!(all.devices().len(), gpus.len());
    for rows in [1, 1001, 300_001] {
        let bases = batch(first, rows).to_le_bytes().unwrap();
        let (by_one, _) = powers(&Pool::of([first.clone()]).unwrap(), &bases).unwrap();
        let (by_all, shares) = powers(&all, &bases).unwrap();
        assert!(by_one == by_all, "{rows}");
        println!("{rows}: {shares:?}");
        assert!(shares.iter().all(|share| share.error.is_none()));
        assert!(rows < 100_000 || shares.iter().all(|share| share.rows > 0), "{shares:?}");
    }
}

#[test]
fn pool_of_all_gpus_finds_the_common_divisors_of_one() {
    let gpus = all_gpus();
    let Some(first) = gpus.first() else { return };
    // Parts of more than 2^20 bits, whose products go from GPU to GPU.
    let keys: Vec<BigUint> = (0..4000 * gpus.len() as u32)
        .map(|row| (BigUint::from(1u32) << (2040 - row % 5)) - 2 * row - 1u32)
        .collect();
    let by_one = Pool::of([first.clone()]).unwrap().batch_gcd(&keys).unwrap();
    assert!(Pool::of(gpus).unwrap().batch_gcd(&keys).unwrap() == by_one);
    assert!(by_one.iter().any(|divisor| divisor.bits() > 1));
}

#[test]
fn rows_go_from_gpu_to_gpu_by_pinned_memory() {
    let gpus = all_gpus();
    let [first, second, ..] = &gpus[..] else { return };
    let source = batch(first, 1001);
    let shape = source.as_dyn().shape();
    let (mut from, mut to) =
        (HostBatch::new(first, shape, 1001).unwrap(), HostBatch::new(second, shape, 1001).unwrap());
    let mut target = Batch::<U1024>::zeros(second, 1001).unwrap();
    source.download(0, &mut from).unwrap();
    to.as_bytes_mut().unwrap().copy_from_slice(from.as_bytes().unwrap());
    target.upload(0, &mut to).unwrap();
    assert!(target.to_le_bytes().unwrap() == source.to_le_bytes().unwrap());
    // Memory that is pinned for one GPU does not serve another.
    assert_eq!(target.upload(0, &mut from).unwrap_err(), Error::DeviceMismatch);
}

#[test]
fn pool_reports_a_lost_gpu() {
    alone(|device| {
        if all_gpus().is_empty() {
            return;
        }
        let pool = Pool::new().unwrap();
        let bases = batch(&device, 200_001).to_le_bytes().unwrap();
        let (expected, _) = powers(&pool, &bases).unwrap();
        let driver = Driver::load();
        driver.bind();
        driver.fault();
        match powers(&pool, &bases) {
            Ok((powers, shares)) => {
                assert!(powers == expected);
                assert!(matches!(shares[0].error, Some(Error::DeviceLost(_))), "{shares:?}");
                assert_eq!(shares[1].error, None);
            }
            // After a fault of a kernel the driver may refuse the other GPUs, too.
            Err(error) => assert!(matches!(error, Error::DeviceLost(_)), "{error}"),
        }
    });
}

/// Many wide rows are by other kernels than few.
#[test]
fn common_divisors_and_inverses_of_many_rows_equal_those_of_few() {
    const DISTINCT: u32 = 64;
    type Rows = Batch<GpuUint<16384>>;
    let Some(device) = gpu(0) else { return };
    let batch = |seed: u32| {
        let numbers = (0..DISTINCT).map(|row| {
            let common = BigUint::from(1_000_003 + row).pow(10 * (row % 40));
            common * BigUint::from(1_000_000_007 + seed + 2 * row).pow(270)
        });
        Rows::from_biguints(&device, numbers).unwrap()
    };
    let (a, b) = (batch(1), batch(100));
    let rows: Vec<_> = (0..1 << 14).map(|row| row % DISTINCT as usize).collect();
    let many = |few: &Rows| few.gather(&rows).unwrap();
    let divisors = many(&a).gcd(&many(&b)).unwrap();
    assert!(divisors.is_equal(&many(&a.gcd(&b).unwrap())).unwrap());
    let (inverses, without) = many(&a).inverse_mod(&many(&b)).unwrap();
    let few = a.inverse_mod(&b).unwrap();
    assert!(inverses.is_equal(&many(&few.0)).unwrap());
    let (without, few) = (without.to_bools().unwrap(), few.1.to_bools().unwrap());
    assert!(rows.iter().zip(without).all(|(&row, without)| without == few[row]));
}

#[test]
fn kernels_that_nvrtc_makes_divide_the_same() {
    if gpu(0).is_none() {
        return;
    }
    // A block size that no kernel of the build has.
    let device = gpuint::tuning::device_with_block(0, 96).unwrap();
    match batch(&device, 1).wrapping_add(&batch(&device, 1)) {
        Err(Error::KernelMissing { remedy, .. }) => skip("nvrtc", remedy),
        _ => divide(&device),
    }
}

#[test]
fn batches_of_an_unbuilt_shape_compute_the_same_as_on_the_cpu() {
    if gpu(0).is_none() {
        return;
    }
    type U1280 = gpuint::JitUint<1280>;
    let compute = |device: &Device| -> gpuint::Result<Vec<Vec<BigUint>>> {
        let values = |seed: u32| (1..200u32).map(move |n| BigUint::from(n + seed).pow(n % 120));
        let a = Batch::<U1280>::from_biguints(device, values(9))?;
        let b = Batch::from_biguints(device, values(5))?;
        let (q, r) = a.div_rem(&b)?;
        let power = a.pow_mod(&b, &Divisor::new(&b)?)?;
        let product = a.as_dyn().widening_mul(b.as_dyn())?;
        let others = [product.to_biguints()?, a.isqrt()?.to_biguints()?];
        let batches = [a.wrapping_mul(&b)?, q, r, power, a.gcd(&b)?];
        let batches = batches.iter().map(Batch::to_biguints).collect::<gpuint::Result<Vec<_>>>()?;
        Ok(others.into_iter().chain(batches).collect())
    };
    match compute(&Device::cuda(0).unwrap()) {
        Err(Error::KernelMissing { remedy, .. }) => skip("nvrtc", remedy),
        results => assert!(results.unwrap() == compute(&Device::cpu()).unwrap()),
    }
}
