//! Input for which a job waits until a signal stops it.

use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::AtomicBool;

/// A file, pipe or terminal. On Unix a read fails soon after the job is stopped.
#[derive(Debug)]
pub struct Awaited<'a> {
    file: File,
    stop: &'a AtomicBool,
}

impl<'a> Awaited<'a> {
    pub fn new(file: File, stop: &'a AtomicBool) -> Self {
        Self { file, stop }
    }
}

impl Read for Awaited<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        system::wait(&self.file, self.stop)?;
        self.file.read(buffer)
    }
}

#[cfg(unix)]
mod system {
    use std::fs::File;
    use std::io;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;

    /// Time between two looks at the flag.
    const INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

    /// Waits until a read does not wait.
    pub(super) fn wait(file: &File, stop: &AtomicBool) -> io::Result<()> {
        let mut files = [PollFd::new(file, PollFlags::IN)];
        while !stop.load(Ordering::Relaxed) {
            match poll(&mut files, Some(&INTERVAL)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::other("the job is stopped"))
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::File;
    use std::io;
    use std::sync::atomic::AtomicBool;

    pub(super) fn wait(_: &File, _: &AtomicBool) -> io::Result<()> {
        Ok(())
    }
}
