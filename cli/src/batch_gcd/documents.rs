//! Documents: files, and files in folders and archives, cut into blocks that are parsed at once.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;
use indicatif::ProgressBar;
use memchr::memchr_iter;
use walkdir::WalkDir;
use zip::ZipArchive;
use zip::result::ZipError;

use super::budget::{Budget, MIB};
use super::errors::{Invalid, KeyError, ReadError};
use super::format::{Content, Format, detect};
use super::keys::Skipped;
use super::place::Place;
use super::settings::Settings;
use crate::job::awaited::Awaited;
use crate::job::files;
use crate::job::input::is_stream;
use crate::job::signals;

/// Bytes by which the format of a document is recognized.
const HEAD: usize = 1 << 16;

/// Bytes of a block of a document that is read in parts.
pub(crate) const BLOCK: usize = 1 << 20;

/// Files of a folder up to this size are read by the threads that parse them.
const SMALL: u64 = 1 << 18;

/// Maximum number of archives around a document.
const DEEPEST: usize = 4;

/// Part of a document: whole lines, whole blocks of PEM, or the whole document.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) document: String,
    pub(crate) format: Format,
    pub(crate) bytes: Vec<u8>,
    /// Number of the first line.
    pub(crate) first_line: u64,
    /// Bytes of the budget that are returned when the block is parsed.
    pub(crate) charged: u64,
}

/// Work of a thread that parses.
#[derive(Debug)]
pub(crate) enum Work {
    Block(Block),
    /// A small file of a folder.
    File(PathBuf),
    /// A document, or the rest of it, that cannot be read as keys.
    Invalid(Invalid),
}

/// Reads documents, and passes their blocks on in order.
pub(crate) struct Documents<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) budget: &'a Budget,
    /// Bytes that archives expanded to.
    pub(crate) expanded: &'a AtomicU64,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) bar: &'a ProgressBar,
    pub(crate) sink: &'a mut dyn FnMut(Work) -> Result<(), ReadError>,
    pub(crate) skipped: Skipped,
}

/// Bytes of a document.
enum Input<'a> {
    /// A file, and the bar that counts its bytes.
    File(File, ProgressBar),
    Stream(&'a mut dyn Read),
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file, bar) => file.read(buffer).inspect(|&read| bar.inc(read as u64)),
            Self::Stream(stream) => stream.read(buffer),
        }
    }
}

/// Reason why a document is not read further.
enum Failure {
    /// The document is no archive or text as it should be.
    Invalid(KeyError),
    Fatal(ReadError),
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::Fatal(error)
    }
}

impl<'a> Documents<'a> {
    /// Reads a path of the command line.
    pub(crate) fn read_path(&mut self, path: &Path) -> Result<(), ReadError> {
        let failed = |source| ReadError::Open { path: path.to_owned(), source };
        if is_stream(path) {
            let mut stdin = signals::stdin().map_err(failed)?;
            return self.read("standard input", Input::Stream(&mut stdin));
        }
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return self.read_folder(path);
        }
        let name = name_of(&path.to_string_lossy());
        if metadata.is_file() {
            return self.read(&name, Input::File(file, self.bar.clone()));
        }
        self.read(&name, Input::Stream(&mut Awaited::new(file, self.stop)))
    }

    /// Reads the files of a folder in the order of their names; links are not followed.
    fn read_folder(&mut self, folder: &Path) -> Result<(), ReadError> {
        for entry in WalkDir::new(folder).sort_by_file_name() {
            self.check_stopped()?;
            let entry = entry.map_err(|error| {
                let path = error.path().unwrap_or(folder).to_owned();
                ReadError::Open { path, source: error.into() }
            })?;
            let path = entry.path();
            let kind = entry.file_type();
            if kind.is_symlink() {
                self.skipped.links += 1;
            } else if kind.is_file() {
                let size = entry.metadata().map_or(u64::MAX, |metadata| metadata.len());
                if size <= SMALL {
                    (self.sink)(Work::File(path.to_owned()))?;
                } else {
                    self.read_found_file(path)?;
                }
            } else if !kind.is_dir() {
                self.skipped.others += 1;
            }
        }
        Ok(())
    }

    /// Reads a file that was found in a folder.
    pub(crate) fn read_found_file(&mut self, path: &Path) -> Result<(), ReadError> {
        let file = files::open_to_read(path)
            .map_err(|source| ReadError::Open { path: path.to_owned(), source })?;
        self.read(&name_of(&path.to_string_lossy()), Input::File(file, self.bar.clone()))
    }

    fn check_stopped(&self) -> Result<(), ReadError> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(ReadError::Interrupted),
            false => Ok(()),
        }
    }

    /// Reads a document of the command line or of a folder.
    fn read(&mut self, name: &str, input: Input<'_>) -> Result<(), ReadError> {
        match self.expand(name, input, 0) {
            Ok(()) => Ok(()),
            Err(Failure::Fatal(error)) => Err(error),
            Err(Failure::Invalid(reason)) => {
                let place = Place { document: 0, line: 0, entry: 0 };
                let document = name.to_owned();
                (self.sink)(Work::Invalid(Invalid { document, place, column: 0, reason }))
            }
        }
    }

    /// Reads a document inside of `depth` archives, or the documents of an archive.
    fn expand(&mut self, name: &str, mut input: Input<'_>, depth: usize) -> Result<(), Failure> {
        let mut head = Vec::with_capacity(HEAD);
        (&mut input)
            .take(HEAD as u64)
            .read_to_end(&mut head)
            .map_err(|error| self.failure(name, error))?;
        let content = detect(&head, self.settings);
        if depth == DEEPEST && !matches!(content, Content::Keys(_)) {
            return Err(Failure::Invalid(KeyError::Nested(DEEPEST)));
        }
        match content {
            Content::Keys(format) => self.cut(name, &format, head, input),
            Content::Gzip => {
                let decoder = MultiGzDecoder::new(Cursor::new(head).chain(input));
                let mut bounded = self.bounded(decoder);
                self.expand(name, Input::Stream(&mut bounded), depth + 1)
            }
            Content::Tar => self.read_tar(name, Cursor::new(head).chain(input), depth),
            Content::Zip => match input {
                Input::File(mut file, _) => {
                    file.rewind().map_err(|error| self.failure(name, error))?;
                    self.read_zip(name, BufReader::new(file), depth)
                }
                Input::Stream(_) => {
                    let (bytes, charged) = self.whole(name, head, input)?;
                    let read = self.read_zip(name, Cursor::new(bytes), depth);
                    self.budget.release(charged);
                    read
                }
            },
        }
    }

    fn read_tar(&mut self, name: &str, input: impl Read, depth: usize) -> Result<(), Failure> {
        let mut archive = tar::Archive::new(input);
        let entries = archive.entries().map_err(|error| self.failure(name, error))?;
        for entry in entries {
            self.check_stopped()?;
            let entry = entry.map_err(|error| self.failure(name, error))?;
            let kind = entry.header().entry_type();
            if kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse() {
                let inner = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
                self.read_entry(name, &inner, entry.size(), entry, depth)?;
            } else if kind.is_symlink() || kind.is_hard_link() {
                self.skipped.links += 1;
            } else if !kind.is_dir() {
                self.skipped.others += 1;
            }
        }
        Ok(())
    }

    fn read_zip(
        &mut self,
        name: &str,
        input: impl Read + Seek,
        depth: usize,
    ) -> Result<(), Failure> {
        let failure = |documents: &Self, error| match error {
            ZipError::Io(error) => documents.failure(name, error),
            error => Failure::Invalid(KeyError::Archive(error.to_string())),
        };
        let mut archive = ZipArchive::new(input).map_err(|error| failure(self, error))?;
        for index in 0..archive.len() {
            self.check_stopped()?;
            let entry = archive.by_index(index).map_err(|error| failure(self, error))?;
            if entry.is_symlink() {
                self.skipped.links += 1;
            } else if entry.is_file() {
                let inner = String::from_utf8_lossy(entry.name_raw()).into_owned();
                self.read_entry(name, &inner, entry.size(), entry, depth)?;
            }
        }
        Ok(())
    }

    /// Reads a document of an archive, of `size` bytes as the archive says.
    fn read_entry(
        &mut self,
        archive: &str,
        entry: &str,
        size: u64,
        content: impl Read,
        depth: usize,
    ) -> Result<(), Failure> {
        let name = format!("{archive}!{}", name_of(entry));
        let mut bounded = self.bounded(content);
        let expanded = self.expand(&name, Input::Stream(&mut bounded), depth + 1);
        let whole = expanded.and_then(|()| {
            // An archive in the archive may have bytes behind its end.
            io::copy(&mut bounded, &mut io::sink()).map_err(|error| self.failure(&name, error))?;
            if bounded.read < size {
                return Err(Failure::Invalid(KeyError::Archive("it is cut short".to_owned())));
            }
            Ok(())
        });
        whole.or_else(|failure| self.reject(&name, failure))
    }

    /// Passes on that a document in an archive is invalid; the archive goes on.
    fn reject(&mut self, name: &str, failure: Failure) -> Result<(), Failure> {
        match failure {
            // The limit is of all archives together.
            Failure::Invalid(reason) if !matches!(reason, KeyError::Expanded(_)) => {
                let place = Place { document: 0, line: 0, entry: 0 };
                let document = name.to_owned();
                (self.sink)(Work::Invalid(Invalid { document, place, column: 0, reason }))?;
                Ok(())
            }
            failure => Err(failure),
        }
    }

    fn bounded<R: Read>(&self, source: R) -> Bounded<'a, R> {
        Bounded { source, read: 0, expanded: self.expanded, limit: self.settings.max_expanded }
    }

    /// Classifies an error of reading a document.
    fn failure(&self, name: &str, error: io::Error) -> Failure {
        if self.stop.load(Ordering::Relaxed) {
            Failure::Fatal(ReadError::Interrupted)
        } else if self.expanded.load(Ordering::Relaxed) > self.settings.max_expanded {
            Failure::Invalid(KeyError::Expanded(self.settings.max_expanded / MIB))
        } else if error.raw_os_error().is_some() {
            Failure::Fatal(ReadError::Read { document: name.to_owned(), source: error })
        } else {
            Failure::Invalid(KeyError::Archive(error.to_string()))
        }
    }

    /// Passes on the blocks of a document whose first bytes are `head`.
    fn cut(
        &mut self,
        name: &str,
        format: &Format,
        head: Vec<u8>,
        mut input: Input<'_>,
    ) -> Result<(), Failure> {
        let block = |bytes, first_line, charged| {
            let (document, format) = (name.to_owned(), format.clone());
            Work::Block(Block { document, format, bytes, first_line, charged })
        };
        let Some(unit) = format.unit() else {
            let (bytes, charged) = self.whole(name, head, input)?;
            return Ok((self.sink)(block(bytes, 1, charged))?);
        };
        let mut bytes = head;
        let mut first_line = 1;
        let mut size = BLOCK;
        loop {
            self.check_stopped()?;
            let missing = size.saturating_sub(bytes.len());
            bytes.reserve_exact(missing);
            let read = (&mut input).take(missing as u64).read_to_end(&mut bytes);
            let read = read.map_err(|error| self.failure(name, error))?;
            if read < missing {
                return Ok((self.sink)(block(bytes, first_line, 0))?);
            }
            let Some(end) = unit.last_end(&bytes) else {
                size += BLOCK;
                // The longest unit ends in the second block.
                if size > 2 * BLOCK {
                    let place = Place { document: 0, line: first_line, entry: 0 };
                    let reason = KeyError::Endless { unit: unit.name(), longest: BLOCK };
                    let document = name.to_owned();
                    let invalid = Invalid { document, place, column: 0, reason };
                    return Ok((self.sink)(Work::Invalid(invalid))?);
                }
                continue;
            };
            let rest = bytes[end..].to_vec();
            bytes.truncate(end);
            let lines = memchr_iter(b'\n', &bytes).count() as u64;
            (self.sink)(block(std::mem::replace(&mut bytes, rest), first_line, 0))?;
            first_line += lines;
            size = BLOCK;
        }
    }

    /// Reads the rest of a document; returns its bytes, of which there are as many in the budget.
    fn whole(
        &self,
        name: &str,
        head: Vec<u8>,
        mut input: Input<'_>,
    ) -> Result<(Vec<u8>, u64), Failure> {
        let mut bytes = head;
        let mut charged = 0;
        loop {
            self.check_stopped()?;
            // The vector at most doubles.
            let needed = 2 * (bytes.len() + BLOCK) as u64;
            let purpose = "documents that are read as a whole";
            self.budget.charge(purpose, needed - charged).map_err(ReadError::Memory)?;
            charged = needed;
            let read = (&mut input).take(BLOCK as u64).read_to_end(&mut bytes);
            if read.map_err(|error| self.failure(name, error))? == 0 {
                return Ok((bytes, charged));
            }
        }
    }
}

/// Bytes that come out of an archive, as many as all archives may expand to.
struct Bounded<'a, R> {
    source: R,
    /// Bytes read so far.
    read: u64,
    expanded: &'a AtomicU64,
    limit: u64,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.source.read(buffer)?;
        self.read += length as u64;
        let before = self.expanded.fetch_add(length as u64, Ordering::Relaxed);
        if before + length as u64 > self.limit {
            return Err(io::Error::other("archives expand to more than the limit"));
        }
        Ok(length)
    }
}

/// Returns a name of a file for reports: control characters are escaped.
fn name_of(path: &str) -> String {
    let mut name = String::with_capacity(path.len());
    for character in path.chars() {
        match character.is_control() {
            true => name.extend(character.escape_default()),
            false => name.push(character),
        }
    }
    name
}
