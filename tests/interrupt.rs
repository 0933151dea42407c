//! Long calls end early on request, and leave operands and devices usable.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gpuint::num_bigint::BigUint;
use gpuint::{Batch, Device, Divisor, Error, GpuUint, Pool, ProductTree, Result, interruptible};

type U4096 = GpuUint<4096>;

/// Time until a request, and the longest time from it to the end of the call, in the best of
/// [`ATTEMPTS`]: another program may take the processor meanwhile.
const DELAY: Duration = Duration::from_millis(100);
const MAX: Duration = Duration::from_millis(1000);
const ATTEMPTS: usize = 5;

fn odd(bits: u32) -> BigUint {
    (BigUint::from(1u32) << bits) - 1u32
}

/// A batch of different rows of almost 4096 bits.
fn batch(device: &Device, rows: u32) -> Batch<U4096> {
    let values = (0..rows).map(|row| odd(4095) / (2 * row + 3));
    Batch::from_biguints(device, values).unwrap()
}

/// Interrupts a call that would take much longer.
fn ends_early<R>(what: &str, mut work: impl FnMut() -> Result<R>) {
    let times = attempts(DELAY + MAX, || {
        let start = Instant::now();
        let result = interruptible(move || start.elapsed() >= DELAY, &mut work);
        let time = start.elapsed();
        assert_eq!(result.err(), Some(Error::Interrupted), "{what}");
        assert!(time >= DELAY, "{what}: {time:?}");
        time
    });
    assert!(times.last() < Some(&(DELAY + MAX)), "{what}: {times:?}");
}

/// Repeats an attempt until its time is below a limit, and returns the times.
fn attempts(limit: Duration, mut attempt: impl FnMut() -> Duration) -> Vec<Duration> {
    let mut times = Vec::new();
    while times.len() < ATTEMPTS && times.last().is_none_or(|&time| time >= limit) {
        times.push(attempt());
    }
    times
}

#[test]
fn long_calls_end_early_and_leave_operands_whole() {
    let device = Device::cpu();
    let a = batch(&device, 2000);
    let before = a.to_le_bytes().unwrap();
    let moduli = Divisor::<U4096>::splat(&device, &odd(4096)).unwrap();
    let small = Divisor::<U4096>::splat(&device, &odd(600)).unwrap();

    ends_early("pow_mod", || a.pow_mod(&a, &moduli));
    ends_early("pow_mod_all", || a.pow_mod_all(&odd(4096), &moduli));
    ends_early("pow_mod of one row", || {
        let row = Batch::<GpuUint<32768>>::splat(&device, &odd(32768), 1)?;
        row.pow_mod(&row, &Divisor::splat(&device, &(odd(32768) - 2u32))?)
    });
    ends_early("perfect_powers", || (0..).try_for_each(|_| a.perfect_powers().map(drop)));
    ends_early("nth_root", || (3..).try_for_each(|n| a.nth_root(n).map(drop)));
    ends_early("product tree", || {
        (0..).try_for_each(|_| ProductTree::new(&a)?.cofactors().map(drop))
    });
    ends_early("to_decimal", || (0..).try_for_each(|_| a.to_decimal().map(drop)));
    ends_early("to_biguints", || (0..).try_for_each(|_| a.to_biguints().map(drop)));
    let mut out = a.try_clone().unwrap();
    ends_early("pow_mod_into", || a.pow_mod_into(&a, &moduli, &mut out));
    let mut in_place = a.try_clone().unwrap();
    ends_early("an assignment", || (0..).try_for_each(|_| in_place.wrapping_mul_assign(&a)));

    assert_eq!(a.to_le_bytes().unwrap(), before);
    // The target of an interrupted call is a batch as before.
    let remainders = a.rem_by(&small).unwrap();
    let expected: Vec<_> = (0..2000u32).map(|row| odd(4095) / (2 * row + 3) % odd(600)).collect();
    assert_eq!(remainders.to_biguints().unwrap(), expected);
    out.wrapping_sub_assign(&out.try_clone().unwrap()).unwrap();
    assert!(out.is_zero_mask().unwrap().count().unwrap() == 2000);
}

#[test]
fn euclid_ends_within_a_row() {
    type Wide = GpuUint<262_144>;
    let device = Device::cpu();
    let row = |base: u32, exponent| {
        Batch::<Wide>::splat(&device, &BigUint::from(base).pow(exponent), 1).unwrap()
    };
    let (a, n) = (row(7, 93_000), row(5, 112_000));
    let calls: [(&str, &dyn Fn() -> Result<()>); 3] = [
        ("gcd", &|| a.gcd(&n).map(drop)),
        ("inverse_mod", &|| a.inverse_mod(&n).map(drop)),
        ("jacobi", &|| a.jacobi(&n).map(drop)),
    ];
    for (name, call) in calls {
        let start = Instant::now();
        call().unwrap();
        let whole = start.elapsed();
        // A request is seen after 20 ms.
        let limit = whole / 2 + DELAY / 2;
        let times = attempts(limit, || {
            let start = Instant::now();
            let result = interruptible(|| true, call);
            assert!(whole <= DELAY || result == Err(Error::Interrupted), "{name}: {result:?}");
            start.elapsed()
        });
        assert!(whole <= DELAY || times.last() < Some(&limit), "{name}: {times:?} of {whole:?}");
        println!("{name}: interrupted after {times:?} of {whole:?}");
    }
}

#[test]
fn request_ends_all_later_calls_of_its_work_and_no_others() {
    let device = Device::cpu();
    let a = batch(&device, 100);
    let (is_cancelled, calls) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(0)));
    let (flag, counted) = (Rc::clone(&is_cancelled), Rc::clone(&calls));
    let should_stop = move || {
        counted.set(counted.get() + 1);
        flag.get()
    };
    interruptible(should_stop, || {
        while calls.get() == 0 {
            a.wrapping_mul(&a).unwrap();
        }
        is_cancelled.set(true);
        while a.wrapping_mul(&a).is_ok() {}
        let before = calls.get();
        for _ in 0..3 {
            assert_eq!(a.wrapping_mul(&a).unwrap_err(), Error::Interrupted);
            assert_eq!(a.to_biguints().unwrap_err(), Error::Interrupted);
        }
        assert_eq!(calls.get(), before);
        // The request of inner work is its own.
        interruptible(|| false, || a.wrapping_mul(&a)).unwrap();
        // So are those of other threads.
        thread::scope(|scope| scope.spawn(|| a.wrapping_mul(&a).unwrap()).join()).unwrap();
    });
    a.wrapping_mul(&a).unwrap();
}

#[test]
fn hook_is_called_by_the_calling_thread_and_changes_no_result() {
    let device = Device::cpu();
    let a = batch(&device, 8);
    let divisor = Divisor::<U4096>::splat(&device, &odd(4096)).unwrap();
    let expected = a.pow_mod_all(&odd(300), &divisor).unwrap();
    let caller = thread::current().id();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let hook = move || {
        assert_eq!(thread::current().id(), caller);
        // A hook may use the device, and install another hook.
        let one = Batch::<U4096>::splat(&Device::cpu(), 1, 1).unwrap();
        interruptible(|| false, || one.wrapping_add(&one)).unwrap();
        counted.fetch_add(1, Ordering::Relaxed);
        false
    };
    let powers = interruptible(hook, || a.pow_mod_all(&odd(300), &divisor)).unwrap();
    assert!(powers.is_equal(&expected).unwrap());
    assert!(calls.load(Ordering::Relaxed) > 0);
}

#[test]
fn panic_leaves_no_request_behind() {
    let device = Device::cpu();
    let a = batch(&device, 10);
    let work = || {
        interruptible(
            || true,
            || {
                while a.wrapping_mul(&a).is_ok() {}
                panic!("of a test");
            },
        )
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err());
    a.wrapping_mul(&a).unwrap();
}

#[test]
fn request_ends_all_devices_of_a_pool() {
    let pool = Pool::of([Device::cpu(), Device::cpu(), Device::cpu()]).unwrap();
    let values: Vec<BigUint> = (0..3000u32).map(|row| odd(4095) / (2 * row + 3)).collect();
    let is_cancelled = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_cancelled);
    let start = Instant::now();
    let timer = thread::spawn(move || {
        thread::sleep(DELAY);
        flag.store(true, Ordering::Relaxed);
    });
    let should_stop = move || is_cancelled.load(Ordering::Relaxed);
    let result = interruptible(should_stop, || {
        pool.map([&values], |[a]: [Batch<U4096>; 1]| {
            let divisor = Divisor::splat(a.device(), &odd(4096))?;
            Ok([a.pow_mod(&a, &divisor)?])
        })
    });
    assert_eq!(result.unwrap_err(), Error::Interrupted);
    assert!(start.elapsed() < DELAY + MAX, "{:?}", start.elapsed());
    timer.join().unwrap();
    let squares = pool.map([&values], |[a]: [Batch<U4096>; 1]| Ok([a.shr(4000)?])).unwrap();
    assert_eq!(squares[0][7], &values[7] >> 4000);
}
