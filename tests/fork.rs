//! Children made by `fork`: the CPU computes, other devices return an error at once.
#![cfg(unix)]
#![allow(unsafe_code)]

mod child;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use child::in_child;
use gpuint::num_bigint::BigUint;
use gpuint::{
    BackendKind, Batch, Device, DigitKind, DynBatch, Error, GpuUint, HostBatch, Pool, ProductTree,
    Shape, narrowest,
};
use gpuint_testkit::skip::skip;

type U1024 = GpuUint<1024>;

/// Rows enough for several threads.
const ROWS: usize = 20_000;

fn rows(device: &Device) -> Batch<U1024> {
    let values = (1..=ROWS).map(|row| BigUint::from(row as u64).pow(3));
    Batch::from_biguints(device, values).unwrap()
}

/// Checks operations of every kind that works on several threads.
fn compute(device: &Device, a: &Batch<U1024>) {
    assert_eq!(a.wrapping_mul(a).unwrap().row(99).unwrap(), BigUint::from(10u32).pow(12));
    let roots = a.nth_root(3).unwrap().to_decimal().unwrap();
    assert_eq!((&*roots[0], &*roots[ROWS - 1]), ("1", "20000"));
    assert_eq!(
        a.reverse().unwrap().sort().unwrap().to_biguints().unwrap(),
        rows(device).to_biguints().unwrap()
    );
    let texts: Vec<String> = (0..ROWS).map(|row| row.to_string()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let parsed = Batch::<U1024>::from_decimal(device, &texts).unwrap();
    assert_eq!(parsed.row(ROWS - 1).unwrap(), BigUint::from(ROWS - 1));
    assert_eq!(a.div_rem(&parsed).unwrap_err(), Error::DivisionByZero { row: 0 });
    let tree = ProductTree::new(&a.slice(0..3000).unwrap()).unwrap();
    assert_eq!(tree.remainders(9).unwrap().row(1).unwrap(), BigUint::from(1u32));
    let mut host = HostBatch::new(device, narrowest(1024).unwrap(), ROWS).unwrap();
    a.as_dyn().download(0, &mut host).unwrap().wait().unwrap();
    assert_eq!(host.to_biguints().unwrap()[1], BigUint::from(8u32));
    let values = host.to_biguints().unwrap();
    let square = |[a]: [Batch<U1024>; 1]| Ok([a.wrapping_square()?]);
    let [squares] = Pool::of([device.clone()]).unwrap().map([&values], square).unwrap();
    assert_eq!(squares[1], BigUint::from(64u32));
}

#[test]
fn child_computes_on_the_cpu() {
    // Before the first use of the threads, and after it.
    in_child(|| compute(&Device::cpu(), &rows(&Device::cpu())));
    let device = Device::cpu();
    let a = rows(&device);
    compute(&device, &a);
    in_child(|| {
        assert_eq!(Device::cpu(), device);
        compute(&device, &a);
        in_child(|| compute(&device, &a));
        compute(&device, &a);
    });
    compute(&device, &a);
    in_child(move || drop((device, a)));
}

#[test]
fn child_gets_the_cpu_or_an_error() {
    let device = Device::new().unwrap();
    in_child(|| match device.backend() {
        BackendKind::Cpu => {
            assert_eq!(Device::cuda_count(), Ok(0));
            assert_eq!(Device::new().unwrap(), device);
            assert_eq!(Pool::new().unwrap().devices(), [Device::cpu()]);
        }
        _ => {
            assert_eq!(Device::cuda_count(), Err(Error::Forked));
            assert_eq!(Device::new().unwrap_err(), Error::Forked);
            assert_eq!(device.synchronize(), Err(Error::Forked));
            drop(device);
        }
    });
}

#[test]
fn child_waits_for_no_thread_of_its_parent() {
    let device = Device::cpu().with_jit();
    let is_over = AtomicBool::new(false);
    let work = |number: usize| {
        let mut bits = 256;
        while !is_over.load(Ordering::Relaxed) {
            // The choices at a width that is not built, status words and spare memory.
            bits = if bits < 200_000 { bits + 256 } else { 256 * (number + 1) };
            let Some(shape) = device.narrowest(bits) else { continue };
            let mut a = DynBatch::splat(&device, shape, 7, 2).unwrap();
            a.div_rem(&a).unwrap();
            let b = a.try_clone().unwrap();
            a.wrapping_add_assign(&b).unwrap();
        }
    };
    thread::scope(|scope| {
        for number in 0..3 {
            scope.spawn(move || work(number));
        }
        for fork in 0..40 {
            in_child(|| {
                let shape = Shape { bits: 1280 + 256 * fork, q: 4, digit: DigitKind::U64 };
                let mut a = DynBatch::splat(&device, shape, 7, ROWS / 10).unwrap();
                let (quotient, _) = a.div_rem(&a).unwrap();
                a.wrapping_add_assign(&quotient).unwrap();
                assert_eq!(a.row(5).unwrap(), BigUint::from(8u32));
            });
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn shim_returns_an_error_in_a_child() {
    let device = Device::simt();
    let a = Batch::<GpuUint<256>>::splat(&device, 7, 3).unwrap();
    match a.wrapping_add(&a) {
        Err(Error::KernelMissing { remedy, .. }) => return skip("cxx", remedy),
        sum => assert_eq!(sum.unwrap().row(2).unwrap(), BigUint::from(14u32)),
    }
    in_child(|| {
        assert_eq!(a.wrapping_add(&a).unwrap_err(), Error::Forked);
        assert_eq!(a.wrapping_mul(&a).unwrap_err(), Error::Forked);
        // The rows are the child's, too.
        assert_eq!(a.row(2).unwrap(), BigUint::from(7u32));
    });
    a.wrapping_add(&a).unwrap();
}
