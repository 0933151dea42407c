//! Files that a job reads.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use same_file::Handle;
use xxhash_rust::xxh3::Xxh3Default;

use super::awaited::Awaited;

/// Bytes of a buffer of a file that is read or written in order.
pub const BUFFER: usize = 1 << 20;

/// Reason why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("cannot open {}: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("{written} is the input {input}: the job would write over it")]
    SameFile { input: String, written: String },
}

/// Hash of the input that a job has read, by which a resumed job finds a changed input: XXH3 with
/// 128 bits, which takes a few percent of the time of reading. It is no defence against an author
/// of the input.
#[derive(Clone, Default)]
pub struct InputHash(Xxh3Default);

impl InputHash {
    /// Adds bytes after those before.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the hash in hexadecimal.
    pub fn text(&self) -> String {
        format!("{:032x}", self.0.digest128())
    }
}

impl fmt::Debug for InputHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// Returns true if a path means standard input or output.
pub fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Opens an input file, and returns its length if it is a regular file.
pub fn open<'a>(
    path: &Path,
    stop: &'a AtomicBool,
) -> Result<(BufReader<Awaited<'a>>, Option<u64>), InputError> {
    let failed = |source| InputError::Open { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    let size = metadata.is_file().then_some(metadata.len());
    Ok((BufReader::with_capacity(BUFFER, Awaited::new(file, stop)), size))
}

/// Refuses an input that the job would write over: a standard stream or one of the files
/// `written`, under any name. `-` is standard input.
pub fn refuse_same_file(input: &Path, written: &[PathBuf]) -> Result<(), InputError> {
    let (name, handle) = match is_stream(input) {
        true => ("on standard input".to_owned(), Handle::stdin()),
        false => (input.display().to_string(), file_handle(input)),
    };
    // All streams may well be one terminal.
    let is_file = |handle: &Handle| handle.as_file().metadata().is_ok_and(|data| data.is_file());
    let Some(handle) = handle.ok().filter(is_file) else { return Ok(()) };
    let streams = [
        ("standard output".to_owned(), Handle::stdout()),
        ("standard error".to_owned(), Handle::stderr()),
    ];
    let files = written.iter().map(|path| (path.display().to_string(), file_handle(path)));
    let mut all = streams.into_iter().chain(files);
    match all.find(|(_, other)| other.as_ref().is_ok_and(|other| *other == handle)) {
        Some((written, _)) => Err(InputError::SameFile { input: name, written }),
        None => Ok(()),
    }
}

/// Opens a regular file for comparisons; opening a pipe would wait for its other end.
fn file_handle(path: &Path) -> io::Result<Handle> {
    if path.is_file() { Handle::from_path(path) } else { Err(io::ErrorKind::InvalidInput.into()) }
}
