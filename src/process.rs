//! State of one process.
//!
//! A child made by `fork` has a copy of the memory of its parent, but only one of its threads: the
//! threads of a pool are gone, a lock that another thread held stays locked, and drivers refuse
//! the child. Nothing here locks, so that no call of the child waits for a thread of its parent.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use once_cell::race::OnceBox;

use crate::error::{Error, Result};

/// A value for each process, made at its first use there.
#[derive(Debug)]
pub(crate) struct PerProcess<T>(OnceBox<Entry<T>>);

/// Entry of a list: the values of the ancestors of a process, the oldest first, and its own.
#[derive(Debug)]
struct Entry<T> {
    process: u32,
    value: T,
    next: OnceBox<Entry<T>>,
}

impl<T: Default> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        Self(OnceBox::new())
    }

    /// Returns the value of this process. Those of its ancestors are never dropped.
    pub(crate) fn get(&self) -> &T {
        self.of(process::id())
    }

    fn of(&self, process: u32) -> &T {
        let mut place = &self.0;
        loop {
            let make = || Entry { process, value: T::default(), next: OnceBox::new() };
            let entry = place.get_or_init(|| Box::new(make()));
            // A process has the last entry; its number may have been that of an ancestor before.
            if entry.process == process && entry.next.get().is_none() {
                return &entry.value;
            }
            place = &entry.next;
        }
    }
}

/// The process that uses a library that does not survive a fork.
#[derive(Debug)]
pub(crate) struct Owner(AtomicU32);

/// No process has this number.
const NOBODY: u32 = 0;

impl Owner {
    pub(crate) const fn nobody() -> Self {
        Self(AtomicU32::new(NOBODY))
    }

    /// Makes this process the owner.
    ///
    /// # Errors
    /// [`Forked`](Error::Forked) if an ancestor of this process is the owner.
    pub(crate) fn claim(&self) -> Result<()> {
        let process = process::id();
        match self.0.compare_exchange(NOBODY, process, Ordering::Relaxed, Ordering::Relaxed) {
            Err(owner) if owner != process => Err(Error::Forked),
            _ => Ok(()),
        }
    }

    /// Returns true if this process is the owner.
    pub(crate) fn is_this_process(&self) -> bool {
        self.0.load(Ordering::Relaxed) == process::id()
    }

    /// Ends the ownership of this process.
    pub(crate) fn release(&self) {
        self.0.store(NOBODY, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_its_own_value() {
        let values = PerProcess::<AtomicU32>::new();
        values.of(1).store(11, Ordering::Relaxed);
        assert_eq!(values.of(1).load(Ordering::Relaxed), 11);
        // A child, and its child, which has the number of the first process again.
        values.of(2).store(12, Ordering::Relaxed);
        assert_eq!(values.of(2).load(Ordering::Relaxed), 12);
        assert_eq!(values.of(1).load(Ordering::Relaxed), 0);
    }

    #[test]
    fn child_is_not_the_owner() {
        let owner = Owner::nobody();
        assert!(!owner.is_this_process());
        assert_eq!((owner.claim(), owner.claim()), (Ok(()), Ok(())));
        assert!(owner.is_this_process());
        let parent = Owner(AtomicU32::new(process::id() + 1));
        assert_eq!(parent.claim(), Err(Error::Forked));
        assert!(!parent.is_this_process());
        owner.release();
        assert!(!owner.is_this_process());
    }
}
