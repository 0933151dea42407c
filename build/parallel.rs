//! Compilers side by side.

use std::env;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::Result;

/// Does a job for every item, as many at a time as cargo allows; the first failure is returned.
pub(crate) fn in_parallel<I: Sync>(items: &[I], job: impl Fn(&I) -> Result + Sync) -> Result {
    let workers =
        env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(1).min(items.len());
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(reason) = job(item) {
                next.store(items.len(), Ordering::Relaxed);
                return Err(reason);
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| "a build thread panicked")?)
    })
}
