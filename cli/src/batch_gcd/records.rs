//! Records of a job's intermediate results, with which a job that was killed is continued.
//!
//! They are files of the folder `OUTPUT.trees`, which a job makes for its first record and removes
//! when its output is complete. The lock of the output covers the folder. A file is
//!
//! | bytes | content |
//! |---|---|
//! | 16 | [`MAGIC`] |
//! | 32 | SHA-256 of the keys, of the store's products and of the options that change the work |
//! | | the record |
//! | 32 | SHA-256 of all of these |
//!
//! It is replaced as a whole by a renaming. A file of another length or hash is no record, and its
//! work is done again.

use std::fs;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gpuint::{Checkpoint, threads};
use num_bigint::BigUint;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::keys::{Collection, Stored};
use crate::job::files::{self, Refusal};
use crate::job::input::BUFFER;

/// First bytes of a record; the number is the version of the format.
const MAGIC: &[u8; 16] = b"gpuint trees 1\n\0";
const HASH_BYTES: usize = 32;
/// Ends of the names of records, and of their successors until they are complete.
const RECORD: &str = ".record";
const NEW: &str = ".new";

/// A key, and a divisor of it that was found.
pub(crate) type Divided = (usize, BigUint);

/// Work on classes or keys in order, whose results are divisors of keys.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stage {
    /// Name of its record.
    name: &'static str,
    /// Option on which the results depend, or 0.
    parameter: u64,
}

impl Stage {
    /// Common divisors of new keys, by classes.
    pub(crate) const DIVISORS: Self = Self { name: "divisors", parameter: 0 };
    /// Stored keys that share a factor with new ones.
    pub(crate) const STORED: Self = Self { name: "stored", parameter: 0 };

    /// Factors up to a limit.
    pub(crate) fn small_factors(limit: u32) -> Self {
        Self { name: "small", parameter: limit.into() }
    }

    /// Factors found by steps of Fermat's method.
    pub(crate) fn close_factors(steps: u64) -> Self {
        Self { name: "close", parameter: steps }
    }
}

/// Least time between two records by default.
const INTERVAL: Duration = Duration::from_secs(10);
/// Part of the time of a job that records take by default, at most.
const SHARE: u32 = 20;

/// Reason why a job does not use the records of another one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordsError {
    #[error("cannot use {}: {source}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("cannot resume from {}: the keys, the store or --store differ", .0.display())]
    OtherKeys(PathBuf),
}

/// Hash of the work of a job.
pub(crate) type Work = [u8; HASH_BYTES];

/// Records of a job.
#[derive(Debug)]
pub(crate) struct Records {
    folder: PathBuf,
    work: Work,
    /// Least time between two records; `None` for the default.
    interval: Option<Duration>,
    start: Instant,
    saved: Mutex<Saved>,
}

#[derive(Debug)]
struct Saved {
    last: Instant,
    /// Time of all records.
    time: Duration,
    /// False after an error: the disk may be full.
    is_usable: bool,
}

/// Hash of the work of a job: of the keys, of the products of a store, and of `is_stored`, true if
/// the products of the keys are wanted.
pub(crate) fn hash_of_work(keys: &Collection, stored: &Stored, is_stored: bool) -> Work {
    let Stored { keys: first, products } = stored;
    hashes_of_work(keys, *first..keys.len(), products, is_stored)[products.len()]
}

/// Hashes of the work on `new` keys, and on those before, with each number of the first products of
/// a store.
pub(crate) fn hashes_of_work(
    keys: &Collection,
    new: Range<usize>,
    products: &[BigUint],
    is_stored: bool,
) -> Vec<Work> {
    /// Keys of a hash of a thread.
    const PART: usize = 1 << 14;
    let of_part = |part: usize| {
        let (mut hash, mut bytes) = (Sha256::new(), Vec::new());
        for key in part..new.end.min(part + PART) {
            let words = keys.words(key);
            bytes.clear();
            bytes.extend((words.len() as u64).to_le_bytes());
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            hash.update(&bytes);
        }
        hash.finalize()
    };
    let parts: Vec<_> = threads::install(|| {
        let parts = (0..new.end).into_par_iter().step_by(PART);
        parts.map(of_part).collect()
    });
    let mut hash = Sha256::new();
    hash.update([u8::from(is_stored)]);
    hash.update((new.start as u64).to_le_bytes());
    parts.iter().for_each(|part| hash.update(part));
    let mut hashes = vec![hash.clone().finalize().into()];
    for product in products {
        hash.update(product.bits().to_le_bytes());
        product.iter_u64_digits().for_each(|word| hash.update(word.to_le_bytes()));
        hashes.push(hash.clone().finalize().into());
    }
    hashes
}

/// End of the name of the folder with the records of an output.
pub(crate) const FOLDER: &str = ".trees";

impl Records {
    /// Returns the records in a folder of the work with this hash. Without `resume`, earlier ones
    /// are removed.
    ///
    /// # Errors
    /// [`RecordsError`] for a folder of another program or user and, with `resume`, for records of
    /// other work.
    pub(crate) fn open(
        folder: PathBuf,
        work: Work,
        interval: Option<Duration>,
        resume: bool,
    ) -> Result<Self, RecordsError> {
        let now = Instant::now();
        let saved = Saved { last: now, time: Duration::ZERO, is_usable: true }.into();
        let records = Self { folder, work, interval, start: now, saved };
        if !resume {
            records.remove()?;
        }
        if recorded_work(&records.folder)?.is_some_and(|recorded| recorded != work) {
            return Err(RecordsError::OtherKeys(records.folder));
        }
        Ok(records)
    }

    /// Removes the records.
    ///
    /// # Errors
    /// [`RecordsError::Folder`].
    pub(crate) fn remove(&self) -> Result<(), RecordsError> {
        let remove = |files: Vec<PathBuf>| {
            files.iter().try_for_each(fs::remove_file)?;
            match fs::remove_dir(&self.folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        };
        let path = &self.folder;
        remove(files_in(path)?)
            .map_err(|source| RecordsError::Folder { path: path.clone(), source })
    }

    /// Returns the records of trees, whose names begin with a word.
    pub(crate) fn of_trees(&self, word: impl Into<String>) -> TreeRecords<'_> {
        TreeRecords { records: self, word: word.into() }
    }

    /// Saves the products of classes, if a record is due.
    pub(crate) fn save_products_if_due(&self, products: &[Vec<BigUint>]) {
        if !self.is_due() {
            return;
        }
        self.save("products", &mut |out| {
            for products in products {
                write_words(out, [products.len() as u64])?;
                products.iter().try_for_each(|product| write_number(out, product))?;
            }
            Ok(())
        });
    }

    /// Returns the products of classes that are recorded.
    pub(crate) fn products(&self) -> Vec<Vec<BigUint>> {
        let mut products = Vec::new();
        let is_read = self.load("products", &mut |content| {
            products = Vec::new();
            while let Some(count) = next_word(content)? {
                products.push((0..count).map(|_| read_number(content)).collect::<io::Result<_>>()?);
            }
            Ok(())
        });
        if is_read { products } else { Vec::new() }
    }

    /// Saves the divisors found in the first `done` classes or keys of a stage, if a record is due.
    pub(crate) fn save_found_if_due(&self, stage: Stage, done: usize, found: &[Divided]) {
        if !self.is_due() {
            return;
        }
        self.save(stage.name, &mut |out| {
            write_words(out, [stage.parameter, done as u64])?;
            for (key, divisor) in found {
                write_words(out, [*key as u64])?;
                write_number(out, divisor)?;
            }
            Ok(())
        });
    }

    /// Returns the number of classes or keys of a stage that are recorded, and the divisors found
    /// in them.
    pub(crate) fn found(&self, stage: Stage) -> (usize, Vec<Divided>) {
        let (mut done, mut found) = (0, Vec::new());
        let is_read = self.load(stage.name, &mut |content| {
            if next_word(content)? != Some(stage.parameter) {
                return Err(io::ErrorKind::InvalidData.into());
            }
            done = next_word(content)?.unwrap_or(0) as usize;
            while let Some(key) = next_word(content)? {
                found.push((key as usize, read_number(content)?));
            }
            Ok(())
        });
        if is_read { (done, found) } else { (0, Vec::new()) }
    }

    /// Returns true if the next intermediate result is to be saved.
    pub(crate) fn is_due(&self) -> bool {
        let saved = self.saved();
        let is_after = saved.last.elapsed() >= self.interval.unwrap_or(INTERVAL);
        let is_cheap = self.interval.is_some() || saved.time * SHARE <= self.start.elapsed();
        saved.is_usable && is_after && is_cheap
    }

    fn saved(&self) -> MutexGuard<'_, Saved> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, name: &str, end: &str) -> PathBuf {
        self.folder.join(format!("{}{end}", name.replace(' ', "-")))
    }

    fn save(&self, name: &str, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) {
        let start = Instant::now();
        let result = self.write(name, write);
        let mut saved = self.saved();
        saved.last = Instant::now();
        saved.time += start.elapsed();
        if let Err(error) = result
            && std::mem::replace(&mut saved.is_usable, false)
        {
            let folder = self.folder.display();
            // Standard error may be closed.
            let _ = writeln!(io::stderr(), "batch-gcd: no further records in {folder}: {error}");
        }
    }

    fn write(
        &self,
        name: &str,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        files::make_own_folder(&self.folder)?;
        let (path, new) = (self.path(name, RECORD), self.path(name, NEW));
        let file = files::open_or_make(&new, None)?;
        file.set_len(0)?;
        let mut out = Hashed { inner: BufWriter::with_capacity(BUFFER, file), hash: Sha256::new() };
        out.write_all(MAGIC)?;
        out.write_all(&self.work)?;
        write(&mut out)?;
        let Hashed { mut inner, hash } = out;
        inner.write_all(&hash.finalize())?;
        inner.flush()?;
        inner.get_ref().sync_data()?;
        fs::rename(&new, &path)
    }

    fn load(&self, name: &str, read: &mut dyn FnMut(&mut dyn Read) -> io::Result<()>) -> bool {
        files::is_own_folder(&self.folder)
            .and_then(|is_there| Ok(is_there && self.read(name, read)?))
            .unwrap_or(false)
    }

    /// Reads a record; returns true if it is whole.
    fn read(
        &self,
        name: &str,
        read: &mut dyn FnMut(&mut dyn Read) -> io::Result<()>,
    ) -> io::Result<bool> {
        let file = files::open(&self.path(name, RECORD))?;
        let length = file.metadata()?.len().checked_sub(HASH_BYTES as u64);
        let mut file = BufReader::with_capacity(BUFFER, file);
        let content = (&mut file).take(length.ok_or(io::ErrorKind::UnexpectedEof)?);
        let mut content = Hashed { inner: content, hash: Sha256::new() };
        let mut head = [0; MAGIC.len() + HASH_BYTES];
        content.read_exact(&mut head)?;
        if head[..MAGIC.len()] != *MAGIC || head[MAGIC.len()..] != self.work {
            return Ok(false);
        }
        read(&mut content)?;
        let is_end = content.inner.limit() == 0;
        let computed = content.hash.finalize();
        let mut hash = [0; HASH_BYTES];
        file.read_exact(&mut hash)?;
        Ok(is_end && computed[..] == hash)
    }
}

/// Returns the work of the records in a folder, all of one job; `None` if there is none.
///
/// # Errors
/// [`RecordsError::Folder`].
pub(crate) fn recorded_work(folder: &Path) -> Result<Option<Work>, RecordsError> {
    let files = files_in(folder)?;
    let mut records = files.iter().filter(|path| path.to_string_lossy().ends_with(RECORD));
    Ok(records.find_map(|path| work_of(path)))
}

/// Returns the work of a record; `None` if the file is cut short or no record.
fn work_of(record: &Path) -> Option<Work> {
    let (mut magic, mut work) = ([0; MAGIC.len()], [0; HASH_BYTES]);
    let mut file = files::open(record).ok()?;
    file.read_exact(&mut magic).and_then(|()| file.read_exact(&mut work)).ok()?;
    (magic == *MAGIC).then_some(work)
}

/// Returns the files of a folder, which is missing before the first record.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, RecordsError> {
    let read = || {
        if !files::is_own_folder(folder)? {
            return Ok(Vec::new());
        }
        let mut files = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.to_string_lossy();
            if !name.ends_with(RECORD) && !name.ends_with(NEW) {
                return Err(Refusal::new(&path, "is no record of this command").into());
            }
            files.push(path);
        }
        Ok(files)
    };
    read().map_err(|source| RecordsError::Folder { path: folder.to_owned(), source })
}

/// Records of trees.
pub(crate) struct TreeRecords<'r> {
    records: &'r Records,
    /// The first word of the names.
    word: String,
}

impl Checkpoint for TreeRecords<'_> {
    fn is_due(&self) -> bool {
        self.records.is_due()
    }

    fn save(&self, name: &str, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) {
        self.records.save(&format!("{} {name}", self.word), write);
    }

    fn load(&self, name: &str, read: &mut dyn FnMut(&mut dyn Read) -> io::Result<()>) -> bool {
        self.records.load(&format!("{} {name}", self.word), read)
    }
}

/// Reads or writes bytes, and computes their hash.
struct Hashed<I> {
    inner: I,
    hash: Sha256,
}

impl<I: Write> Write for Hashed<I> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<I: Read> Read for Hashed<I> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.hash.update(&bytes[..read]);
        Ok(read)
    }
}

fn write_words<const N: usize>(out: &mut dyn Write, words: [u64; N]) -> io::Result<()> {
    words.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))
}

fn write_number(out: &mut dyn Write, number: &BigUint) -> io::Result<()> {
    write_words(out, [number.bits().div_ceil(64)])?;
    number.iter_u64_digits().try_for_each(|word| write_words(out, [word]))
}

/// Reads a word; `None` at the end.
fn next_word(content: &mut dyn Read) -> io::Result<Option<u64>> {
    let mut word = [0; 8];
    match content.read_exact(&mut word) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        read => read.map(|()| Some(u64::from_le_bytes(word))),
    }
}

fn read_number(content: &mut dyn Read) -> io::Result<BigUint> {
    let words = next_word(content)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let mut bytes = Vec::new();
    content.take(words.saturating_mul(8)).read_to_end(&mut bytes)?;
    Ok(BigUint::from_bytes_le(&bytes))
}
