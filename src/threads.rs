//! The threads of the CPU backend and of conversions on the host: a pool of rayon for each process.
//!
//! All parallel work of the crate passes through [`install`], not through rayon's global pool. That
//! pool hangs in a child made by `fork`, and panics on a host where no thread can start.

use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, channel, sync_channel};
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::process::PerProcess;

/// Makes what the threads of all pools share: a device does so when it is opened, before a thread
/// uses it.
///
/// Threads of rayon free their queues by the epochs of crossbeam, and the first thread that needs
/// them makes their collector once for the process. A child forked at that moment would wait for
/// it for ever.
pub(crate) fn prepare() {
    crossbeam_epoch::default_collector();
}

/// Returns the threads of this process; `None` if they cannot be started.
fn pool() -> Option<&'static ThreadPool> {
    static POOL: PerProcess<OnceLock<Option<ThreadPool>>> = PerProcess::new();
    let start = || {
        prepare();
        let (sender, started) = channel();
        let started_one = move |_| {
            // Its entry in the epochs of crossbeam is allocated here.
            drop(crossbeam_epoch::pin());
            // The receiver waits.
            let _ = sender.send(());
        };
        let pool = ThreadPoolBuilder::new()
            .thread_name(|number| format!("gpuint-{number}"))
            .start_handler(started_one)
            .build()
            .inspect_err(|error| tracing::warn!(%error, "work stays on the calling thread"))
            .ok()?;
        // A thread that starts after memory is exhausted aborts the process. (Operations of the
        // pool would do as well, but this may be a thread of another pool of rayon, which works
        // while it waits and could come here again.)
        started.iter().take(pool.current_num_threads()).for_each(drop);
        Some(pool)
    };
    POOL.get().get_or_init(start).as_ref()
}

/// Number of threads that do parallel work.
pub(crate) fn count() -> usize {
    pool().map_or(1, ThreadPool::current_num_threads)
}

/// Runs `work`, whose operations of rayon use the threads of this process. Where no thread can
/// start, the calling thread does all of it.
pub fn install<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let (mut work, mut result) = (Some(work), None);
    run(&mut || result = work.take().map(|work| work()));
    result.unwrap_or_else(|| unreachable!("a panic of the work goes on in `run`"))
}

/// Runs `work` once. A function for all types of work: the code of rayon that hands one over to a
/// pool is long, and took a tenth of this crate's compilation.
fn run(work: &mut (dyn FnMut() + Send)) {
    thread_local! {
        /// A pool of the calling thread alone; `None` in a thread of another pool.
        static ALONE: Option<ThreadPool> =
            ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().ok();
    }
    match pool() {
        Some(pool) => pool.install(work),
        None => ALONE.with(|pool| match pool {
            Some(pool) => pool.install(work),
            None => work(),
        }),
    }
}

/// Runs `work` as [`install`] does. A calling thread that waits for it calls `poll` in intervals.
pub(crate) fn install_polled<R: Send>(
    work: impl FnOnce() -> R + Send,
    interval: Duration,
    mut poll: impl FnMut(),
) -> R {
    let (mut work, mut result) = (Some(work), None);
    run_polled(&mut || result = work.take().map(|work| work()), interval, &mut poll);
    result.unwrap_or_else(|| unreachable!("a panic of the work goes on in `run_polled`"))
}

/// Runs `work` once, as [`install_polled`] does.
fn run_polled(work: &mut (dyn FnMut() + Send), interval: Duration, poll: &mut dyn FnMut()) {
    // A thread of the pool must work: it may be the only one.
    let Some(pool) = pool().filter(|_| rayon::current_thread_index().is_none()) else {
        return run(work);
    };
    let (sender, receiver) = sync_channel(1);
    pool.in_place_scope(|scope| {
        scope.spawn(move |_| {
            work();
            // The receiver waits.
            let _ = sender.send(());
        });
        // A panic of the work drops the sender, and goes on at the end of the scope.
        while receiver.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
            poll();
        }
    });
}
