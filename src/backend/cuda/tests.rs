//! Tests that need a GPU are skipped, with the reason, if there is none.

use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake};
use std::thread;
use std::time::Duration;

use num_bigint::BigUint;

use crate::{Batch, Device, Error, GpuUint, HostBatch};
use gpuint_skip::skip;

/// A GPU, where there is one.
fn gpu() -> Option<Device> {
    match Device::cuda(0) {
        Ok(device) => Some(device),
        Err(Error::NoDevice) => {
            skip("gpu", "no CUDA driver or GPU");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_gpu_that_is_not_there_is_no_device() {
    assert_eq!(Device::cuda(usize::MAX), Err(Error::NoDevice));
    let device = Device::new().unwrap();
    assert_eq!(device.backend().name() == "cuda", Device::cuda(0).is_ok());
    assert!(!device.name().is_empty());
}

type U1024 = GpuUint<1024>;

fn numbers(count: u32) -> Vec<BigUint> {
    (0..count).map(|n| (BigUint::from(n) << 1000u32) + n).collect()
}

#[test]
fn memory_of_the_gpu_keeps_what_it_is_given() {
    let Some(device) = gpu() else { return };
    println!("{device:?}");
    let backend = device.memory();
    let mut buffer = backend.alloc_zeroed(1000).unwrap();
    let mut read = [1u8; 1000];
    backend.download(&buffer, 0, &mut read).unwrap();
    assert_eq!(read, [0; 1000]);
    backend.upload(&mut buffer, 7, &[5, 6]).unwrap();
    backend.download(&buffer, 6, &mut read[..4]).unwrap();
    assert_eq!(read[..4], [0, 5, 6, 0]);
    let mut copy = backend.alloc(1000).unwrap();
    backend.fill(&mut copy, 0xff).unwrap();
    backend.download(&copy, 0, &mut read).unwrap();
    assert_eq!(read, [0xff; 1000]);
    backend.copy(&mut copy, 0, &buffer, 0, 1000).unwrap();
    backend.download(&copy, 7, &mut read[..2]).unwrap();
    assert_eq!(read[..2], [5, 6]);
    for (offset, len) in [(999, 2), (1001, 0), (u64::MAX, 1)] {
        let part = &mut read[..len];
        assert!(matches!(backend.download(&buffer, offset, part), Err(Error::Driver(_))));
        assert!(matches!(backend.upload(&mut buffer, offset, part), Err(Error::Driver(_))));
        let len = len as u64;
        let read = backend.copy(&mut copy, 0, &buffer, offset, len);
        let written = backend.copy(&mut copy, offset, &buffer, 0, len);
        assert!(matches!((read, written), (Err(Error::Driver(_)), Err(Error::Driver(_)))));
    }
}

#[test]
fn memory_without_bytes_works() {
    let Some(device) = gpu() else { return };
    let backend = device.memory();
    let mut buffer = backend.alloc_zeroed(0).unwrap();
    let other = backend.alloc(0).unwrap();
    backend.fill(&mut buffer, 1).unwrap();
    backend.upload(&mut buffer, 0, &[]).unwrap();
    backend.download(&buffer, 0, &mut []).unwrap();
    backend.copy(&mut buffer, 0, &other, 0, 0).unwrap();
    let empty = Batch::<U1024>::zeros(&device, 0).unwrap();
    assert_eq!(empty.wrapping_add(&empty).unwrap().to_biguints().unwrap(), []);
}

#[test]
fn memory_that_the_gpu_does_not_have_is_an_error() {
    let Some(device) = gpu() else { return };
    for bytes in [1 << 50, u64::MAX] {
        let error = device.memory().alloc(bytes).unwrap_err();
        assert_eq!(error, Error::OutOfMemory { bytes });
    }
    // All that there is, of which some is always in use: the driver refuses this one.
    let bytes = super::context::Context::get(0).unwrap().info.total_memory;
    assert_eq!(device.memory().alloc(bytes).unwrap_err(), Error::OutOfMemory { bytes });
    device.memory().alloc_zeroed(1 << 20).unwrap();
    device.synchronize().unwrap();
}

#[test]
fn queues_of_a_gpu_share_batches() {
    let Some(device) = gpu() else { return };
    let queues: Vec<_> = (0..3).map(|_| device.queue().unwrap()).collect();
    assert!(device != queues[0] && device.shares_memory_with(&queues[0]));
    let numbers = numbers(20_000);
    let two = Batch::<U1024>::splat(&device, &BigUint::from(2u32), numbers.len()).unwrap();
    let mut batch = Batch::<U1024>::from_biguints(&device, &numbers).unwrap();
    let mut expected = numbers;
    for round in 0..30 {
        batch = batch.on(&queues[round % 3]).unwrap().wrapping_add(&two).unwrap();
        expected.iter_mut().for_each(|value| *value += 2u32);
    }
    assert_eq!(batch.to_biguints().unwrap(), expected);
    let event = queues[2].record().unwrap();
    event.wait().unwrap();
    assert_eq!(event.ready(), Ok(true));
}

/// Sends a word when its task is woken.
struct Bell(mpsc::Sender<()>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let _ = self.0.send(());
    }
}

#[test]
fn task_is_woken_when_the_work_has_ended() {
    let Some(device) = gpu() else { return };
    let a = Batch::<U1024>::from_biguints(&device, &numbers(20_000)).unwrap();
    for _ in 0..50 {
        for _ in 0..20 {
            a.wrapping_mul(&a).unwrap();
        }
        let (sender, woken) = mpsc::channel();
        let waker = Arc::new(Bell(sender)).into();
        let mut context = Context::from_waker(&waker);
        let mut finished = pin!(device.record().unwrap().into_future());
        while finished.as_mut().poll(&mut context).map(Result::unwrap).is_pending() {
            woken.recv_timeout(Duration::from_secs(60)).unwrap();
        }
    }
}

#[test]
fn pinned_rows_go_there_and_back() {
    let Some(device) = gpu() else { return };
    let numbers = numbers(50_000);
    let shape = <U1024 as crate::Kernels>::SHAPE;
    let mut host = HostBatch::new(&device, shape, numbers.len()).unwrap();
    host.set_biguints(&numbers).unwrap();
    let mut batch = Batch::<U1024>::zeros(&device, numbers.len()).unwrap();
    batch.upload(0, &mut host).unwrap();
    let double = batch.wrapping_add(&batch).unwrap();
    double.download(0, &mut host).unwrap();
    let expected: Vec<BigUint> = batch.to_biguints().unwrap().iter().map(|v| v << 1u32).collect();
    let modulus = BigUint::from(1u32) << 1024u32;
    let expected: Vec<BigUint> = expected.into_iter().map(|value| value % &modulus).collect();
    assert_eq!(host.to_biguints().unwrap(), expected);
}

#[test]
fn threads_share_a_device() {
    let Some(device) = gpu() else { return };
    thread::scope(|scope| {
        for id in 0..8u32 {
            let device = &device;
            scope.spawn(move || {
                let values = numbers(100 + id);
                for round in 0..20u32 {
                    let a = Batch::<U1024>::from_biguints(device, &values).unwrap();
                    let b = Batch::splat(device, &BigUint::from(round + id), values.len()).unwrap();
                    let sum = a.wrapping_add(&b).unwrap();
                    drop((a, b));
                    let expected: Vec<BigUint> = values.iter().map(|v| v + round + id).collect();
                    assert_eq!(sum.to_biguints().unwrap(), expected);
                }
            });
        }
    });
    // Memory may go on a thread that never used the GPU.
    let batch = Batch::<U1024>::from_biguints(&device, &numbers(10)).unwrap();
    thread::spawn(move || drop(batch)).join().unwrap();
    device.synchronize().unwrap();
}

#[test]
fn devices_do_not_wait_for_the_handle_they_came_from() {
    let Some(device) = gpu() else { return };
    let batch = Batch::<U1024>::from_biguints(&device, &numbers(1000)).unwrap();
    drop(device);
    let double = batch.wrapping_add(&batch).unwrap();
    drop(batch);
    let expected: Vec<BigUint> =
        numbers(1000).iter().map(|v| (v << 1u32) % (BigUint::from(1u32) << 1024u32)).collect();
    assert_eq!(double.to_biguints().unwrap(), expected);
}

#[test]
fn time_is_that_of_the_device() {
    for device in [Some(Device::cpu()), gpu()].into_iter().flatten() {
        let a = Batch::<U1024>::from_biguints(&device, &numbers(2000)).unwrap();
        a.wrapping_mul(&a).unwrap();
        let (product, time) = device.time(|| a.wrapping_mul(&a)).unwrap();
        assert_eq!(product.len(), 2000);
        assert!(time > Duration::ZERO && time < Duration::from_secs(60), "{device}: {time:?}");
        let failed = device.time(|| Err::<(), _>(Error::DeviceMismatch));
        assert_eq!(failed, Err(Error::DeviceMismatch));
    }
}

#[test]
fn kernels_with_other_blocks_compute_the_same() {
    let Some(device) = gpu() else { return };
    let sum = |device: &Device| {
        let a = Batch::<U1024>::from_biguints(device, &numbers(100))?;
        a.wrapping_add(&a)?.to_biguints()
    };
    let expected = sum(&device).unwrap();
    for block in [64, 96, 512] {
        let other = crate::tuning::device_with_block(0, block).unwrap();
        match sum(&other) {
            Err(Error::KernelMissing { remedy, .. }) => skip("nvrtc", remedy),
            got => assert_eq!(got.as_ref(), Ok(&expected), "{block}"),
        }
    }
    let impossible = crate::tuning::device_with_block(0, 2048).unwrap();
    assert!(sum(&impossible).is_err());
}
