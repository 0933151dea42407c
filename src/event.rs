//! Points in the queue of a device, for which threads and tasks can wait.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use crate::backend::Mark;
use crate::error::Result;

/// A point in the queue of a device: after all work that was queued before
/// [`Device::record`](crate::Device::record), or after a copy.
///
/// Dropping an event has no effect. An event can be awaited by any executor:
///
/// ```
/// use gpuint::{Batch, Device, GpuUint, Result};
///
/// async fn square(device: &Device) -> Result<u64> {
///     let a = Batch::<GpuUint<1024>>::splat(device, 7, 1000)?;
///     let squares = a.wrapping_mul(&a)?;
///     device.record()?.await?;
///     // The download does not wait for the multiplication: it has ended.
///     Ok(squares.row(999)?.iter_u64_digits().sum())
/// }
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # let device = Device::cpu();
/// # let mut future = pin!(square(&device));
/// # let Poll::Ready(Ok(49)) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
/// #     panic!()
/// # };
/// ```
#[derive(Debug, Clone)]
pub struct Event(Arc<dyn Mark>);

impl Event {
    pub(crate) fn new(mark: Arc<dyn Mark>) -> Self {
        Self(mark)
    }

    pub(crate) fn mark(&self) -> &dyn Mark {
        &*self.0
    }

    /// Returns true if all work before this point has ended, without waiting.
    ///
    /// # Errors
    /// [`DeviceLost`](crate::Error::DeviceLost) or [`Driver`](crate::Error::Driver) if some of that
    /// work failed.
    pub fn ready(&self) -> Result<bool> {
        self.0.has_passed()
    }

    /// Waits until all work before this point has ended.
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    pub fn wait(&self) -> Result<()> {
        self.0.wait()
    }
}

impl IntoFuture for Event {
    type Output = Result<()>;
    type IntoFuture = Finished;

    fn into_future(self) -> Finished {
        Finished { event: self, task: None }
    }
}

/// Future of an [`Event`], ready when all work before the event has ended.
#[derive(Debug)]
#[must_use = "futures do nothing unless they are polled"]
pub struct Finished {
    event: Event,
    /// The task that the device will wake.
    task: Option<Arc<Task>>,
}

/// The task that polled last.
#[derive(Debug)]
struct Task(Mutex<Waker>);

impl Task {
    fn replace(&self, waker: &Waker) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone_from(waker);
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let waker = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        waker.wake();
    }
}

impl Future for Finished {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let Self { event, task } = &mut *self;
        if event.ready()? {
            return Poll::Ready(Ok(()));
        }
        match task {
            Some(task) => task.replace(context.waker()),
            None => {
                let new = Arc::new(Task(Mutex::new(context.waker().clone())));
                event.0.wake(Arc::clone(&new).into())?;
                *task = Some(new);
            }
        }
        // The device may have woken the task before this one.
        if event.ready()? { Poll::Ready(Ok(())) } else { Poll::Pending }
    }
}

static_assertions::assert_impl_all!(Event: Send, Sync);
static_assertions::assert_impl_all!(Finished: Send, Sync, Unpin);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;
    use crate::error::Error;

    /// A point that the test moves over.
    #[derive(Debug, Default)]
    struct Manual {
        has_passed: AtomicBool,
        is_lost: AtomicBool,
        wakers: Mutex<Vec<Waker>>,
    }

    impl Manual {
        fn pass(&self) {
            self.has_passed.store(true, Ordering::SeqCst);
            self.wakers.lock().unwrap().drain(..).for_each(Waker::wake);
        }
    }

    impl Mark for Manual {
        fn has_passed(&self) -> Result<bool> {
            if self.is_lost.load(Ordering::SeqCst) {
                return Err(Error::DeviceLost("lost".to_owned()));
            }
            Ok(self.has_passed.load(Ordering::SeqCst))
        }

        fn wait(&self) -> Result<()> {
            self.has_passed().map(drop)
        }

        fn wake(&self, waker: Waker) -> Result<()> {
            self.wakers.lock().unwrap().push(waker);
            Ok(())
        }
    }

    /// Counts how often its task is woken.
    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn task_is_woken_once_and_the_last_one() {
        let mark = Arc::new(Manual::default());
        let event = Event::new(Arc::clone(&mark) as Arc<dyn Mark>);
        let mut finished = event.clone().into_future();
        let counters = [Arc::new(Counter::default()), Arc::new(Counter::default())];
        for counter in &counters {
            let waker = Arc::clone(counter).into();
            let polled = Pin::new(&mut finished).poll(&mut Context::from_waker(&waker));
            assert_eq!(polled, Poll::Pending);
        }
        assert_eq!(event.ready(), Ok(false));
        mark.pass();
        let woken = counters.each_ref().map(|counter| counter.0.load(Ordering::SeqCst));
        assert_eq!(woken, [0, 1]);
        let polled = Pin::new(&mut finished).poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(polled, Poll::Ready(Ok(())));
        assert_eq!((event.ready(), event.wait()), (Ok(true), Ok(())));
    }

    #[test]
    fn fault_ends_the_future() {
        let mark = Arc::new(Manual::default());
        let mut finished = Event::new(Arc::clone(&mark) as Arc<dyn Mark>).into_future();
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(Pin::new(&mut finished).poll(&mut context), Poll::Pending);
        mark.is_lost.store(true, Ordering::SeqCst);
        let polled = Pin::new(&mut finished).poll(&mut context);
        assert_eq!(polled, Poll::Ready(Err(Error::DeviceLost("lost".to_owned()))));
    }
}
