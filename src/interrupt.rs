//! Computations that end early on request.
//!
//! A request belongs to the thread that makes the calls. Threads of the pool that compute for it
//! share its flag by a [`Stop`]. Functions without a result of their own return early, with limbs
//! of any value; the call then returns [`Interrupted`](Error::Interrupted) for them.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::backend::host::{check_room, reserved_vec};
use crate::error::{Error, Result};
use crate::threads;

/// Time between two calls of `should_stop`.
pub(crate) const INTERVAL: Duration = Duration::from_millis(20);

/// Runs `work`, whose calls of this crate return [`Interrupted`](Error::Interrupted) soon after
/// `should_stop` returns true.
///
/// `should_stop` is called by the calling thread, about every 20 ms during long calls. Once it
/// returns true, it is not called again, and every later call of `work` that computes fails, too.
///
/// After `Interrupted`, inputs are whole. Outputs of the forms `x_into` and batches that `x_assign`
/// changes have rows of any value.
/// Batches, devices and [`Pool`](crate::Pool)s can be used again. The CPU stops within a power, a
/// common divisor, an inverse or a symbol, and before the next rows of other operations. A GPU
/// completes kernels that are queued, but the call does not wait for them. An operation by GMP on a
/// row, the compilation of a kernel, and a product or division of long rows on the CPU complete
/// first.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use std::time::Duration;
///
/// use gpuint::{Batch, Device, Error, GpuUint, interruptible};
/// use num_bigint::BigUint;
///
/// let device = Device::cpu();
/// let odd = (BigUint::from(1u32) << 8192) - 1u32;
/// let a = Batch::<GpuUint<8192>>::splat(&device, &(&odd / 3u32), 10_000)?;
///
/// let is_cancelled = Arc::new(AtomicBool::new(false));
/// let flag = Arc::clone(&is_cancelled);
/// std::thread::spawn(move || {
///     std::thread::sleep(Duration::from_millis(100));
///     flag.store(true, Ordering::Relaxed);
/// });
/// // 10,000 powers take minutes.
/// let powers = interruptible(
///     move || is_cancelled.load(Ordering::Relaxed),
///     || a.pow_mod_all(&odd, &a.wrapping_add_all(2)?.prepare()?),
/// );
/// assert_eq!(powers.unwrap_err(), Error::Interrupted);
/// # Ok::<(), Error>(())
/// ```
pub fn interruptible<R>(should_stop: impl Fn() -> bool + 'static, work: impl FnOnce() -> R) -> R {
    let hook = Hook { should_stop: Box::new(should_stop), asked: Cell::new(Instant::now()) };
    under(Some(Watch { is_stopped: Arc::default(), hook: Some(Rc::new(hook)) }), work)
}

struct Hook {
    should_stop: Box<dyn Fn() -> bool>,
    /// Time of the last call.
    asked: Cell<Instant>,
}

impl Hook {
    fn is_due(&self) -> bool {
        self.asked.get().elapsed() >= INTERVAL
    }
}

/// The request that ends calls of a thread.
#[derive(Clone)]
struct Watch {
    is_stopped: Arc<AtomicBool>,
    /// `None` on other threads than the one of the request.
    hook: Option<Rc<Hook>>,
}

thread_local! {
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

/// Runs `work`, whose calls this request ends, or none.
fn under<R>(watch: Option<Watch>, work: impl FnOnce() -> R) -> R {
    struct Restore(Option<Watch>);
    impl Drop for Restore {
        fn drop(&mut self) {
            // A hook may use this crate when it is dropped.
            drop(WATCH.replace(self.0.take()));
        }
    }
    let _restore = Restore(WATCH.replace(watch));
    work()
}

/// Returns true if calls of this thread may be told to end.
pub(crate) fn is_watched() -> bool {
    WATCH.with_borrow(Option::is_some)
}

/// Returns true if the calls of this thread shall end; calls `should_stop` if it is due.
pub(crate) fn is_requested() -> bool {
    let due = WATCH.with_borrow(|watch| {
        let Some(watch) = watch else { return Err(false) };
        match &watch.hook {
            _ if watch.is_stopped.load(Ordering::Relaxed) => Err(true),
            Some(hook) if hook.is_due() => Ok((Rc::clone(hook), Arc::clone(&watch.is_stopped))),
            _ => Err(false),
        }
    });
    due.map_or_else(
        |is_stopped| is_stopped,
        |(hook, is_stopped)| {
            // The hook may use this crate.
            let is_requested = under(None, || (hook.should_stop)());
            hook.asked.set(Instant::now());
            is_stopped.fetch_or(is_requested, Ordering::Relaxed) || is_requested
        },
    )
}

/// Returns [`Interrupted`](Error::Interrupted) if the calls of this thread shall end.
pub(crate) fn check() -> Result<()> {
    if is_requested() { Err(Error::Interrupted) } else { Ok(()) }
}

/// Waits until `has_passed` returns true, or the calls of this thread shall end. Without a request
/// `block` waits.
pub(crate) fn wait(
    has_passed: impl Fn() -> Result<bool>,
    block: impl FnOnce() -> Result<()>,
) -> Result<()> {
    /// Time of a busy wait: a sleep takes longer than many kernels.
    const BUSY: Duration = Duration::from_millis(4);
    if !is_watched() {
        return block();
    }
    let start = Instant::now();
    while !has_passed()? {
        check()?;
        let elapsed = start.elapsed();
        if elapsed < BUSY {
            thread::yield_now();
        } else {
            // The wait is at most 1.6 % too long.
            thread::sleep((elapsed / 64).min(INTERVAL));
        }
    }
    Ok(())
}

/// The request that ends the calls of a thread, for other threads that work for it.
#[derive(Clone)]
pub(crate) struct Stop(Option<Arc<AtomicBool>>);

impl Stop {
    /// Returns the request of the calling thread.
    pub(crate) fn current() -> Self {
        Self(WATCH.with_borrow(|watch| watch.as_ref().map(|watch| Arc::clone(&watch.is_stopped))))
    }

    /// Runs a part of the work; returns [`Interrupted`](Error::Interrupted) instead if it shall
    /// end.
    pub(crate) fn during<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let Some(is_stopped) = &self.0 else { return work() };
        let is_current = WATCH.with_borrow(|watch| {
            watch.as_ref().is_some_and(|watch| Arc::ptr_eq(&watch.is_stopped, is_stopped))
        });
        let checked = || {
            check()?;
            work()
        };
        if is_current {
            return checked();
        }
        under(Some(Watch { is_stopped: Arc::clone(is_stopped), hook: None }), checked)
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stop").field(&self.0).finish()
    }
}

/// Runs `work` on the threads of the pool, while the calling thread calls its hook.
pub(crate) fn on_pool<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let has_hook = WATCH.with_borrow(|watch| watch.as_ref().is_some_and(|it| it.hook.is_some()));
    if has_hook {
        threads::install_polled(work, INTERVAL, || {
            is_requested();
        })
    } else {
        threads::install(work)
    }
}

/// Computes values on all cores; returns the error of the lowest index. A value allocates
/// `value_bytes` at most without a check of its own.
pub(crate) fn on_all_cores<V: Send>(
    count: usize,
    value_bytes: usize,
    compute: impl Fn(usize) -> Result<V> + Send + Sync,
) -> Result<Vec<V>> {
    let stop = Stop::current();
    let compute = |index| stop.during(|| compute(index));
    let (mut results, mut values) = (reserved_vec(count)?, reserved_vec(count)?);
    check_room(count, value_bytes)?;
    let computed = (0..count).into_par_iter().map(compute);
    on_pool(|| computed.collect_into_vec(&mut results));
    for result in results {
        values.push(result?);
    }
    Ok(values)
}
