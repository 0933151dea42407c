//! Stores of keys: files with the keys of earlier jobs and the products of their moduli.
//!
//! All numbers are little-endian. A store begins with [`MAGIC`]. Sections follow, each of a name
//! of 8 bytes, the length of its content in 8 bytes, the content, and the SHA-256 of all three:
//!
//! | name | content |
//! |---|---|
//! | `names` | number of documents (8 bytes); of each, length of its name (4 bytes) and the name |
//! | `keys` | of each, 32 bytes: document (4), entry (4), line (8), words (4), kind (1), zeros |
//! | `moduli` | the words of the moduli, 8 bytes each, the lowest first, in the order of the keys |
//! | `product` | the words of a product of moduli; there may be several of these sections |
//! | `end` | nothing |
//!
//! The products of all sections together are the product of all different moduli. A key of a
//! document has its line, or its entry, or neither (both zero).

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use num_bigint::BigUint;
use sha2::{Digest, Sha256};

use super::budget::{Budget, OverBudget};
use super::errors::KeyError;
use super::keys::{Collection, Kind, Limits, Parsed, Stored};
use super::place::Place;
use crate::job::input::BUFFER;

/// First bytes of a store; the number is the version of the format.
const MAGIC: &[u8; 16] = b"gpuint keys 1\n\0\0";

const NAMES: &[u8; 8] = b"names\0\0\0";
const KEYS: &[u8; 8] = b"keys\0\0\0\0";
const MODULI: &[u8; 8] = b"moduli\0\0";
const PRODUCT: &[u8; 8] = b"product\0";
const END: &[u8; 8] = b"end\0\0\0\0\0";

/// Bytes of a key in a store.
const KEY_BYTES: usize = 32;
const HASH_BYTES: u64 = 32;

/// Reason why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("cannot open the store {}: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("the store {} is damaged: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error(transparent)]
    Memory(#[from] OverBudget),
    #[error("the store {} exists: name it by --against, too, to extend it", .0.display())]
    Exists(PathBuf),
    #[error(
        "the store {} has all keys: the results in {} would be lost; name another --output",
        store.display(),
        output.display()
    )]
    NothingNew { store: PathBuf, output: PathBuf },
    #[error("cannot write the store {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Reads a store as the first keys of a collection.
pub(crate) fn read(
    path: &Path,
    limits: Limits,
    budget: &Budget,
) -> Result<(Collection, Stored), StoreError> {
    let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
    let (metadata, file) =
        opened.map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
    let mut reader = SectionReader {
        path,
        file: BufReader::with_capacity(BUFFER, file),
        left: metadata.len(),
        budget,
    };
    let mut magic = [0; MAGIC.len()];
    let read = reader.fill(&mut magic);
    if !metadata.is_file() || read.is_err() || magic != *MAGIC {
        return Err(reader.damaged("it does not begin as a store of gpuint"));
    }
    let mut parsed = Parsed::default();
    let names = reader.section(NAMES)?;
    let documents = read_names(&names).ok_or_else(|| reader.damaged("a name is cut short"))?;
    let keys = reader.section(KEYS)?;
    let moduli = reader.section(MODULI)?;
    let count = keys.len() / KEY_BYTES;
    let bad_key = |index: usize, reason: &str| format!("key {}: {reason}", index + 1);
    let mut words = moduli.chunks_exact(8);
    let first: Vec<u32> = documents.iter().map(|name| parsed.add_document(name)).collect();
    for (index, key) in keys.chunks_exact(KEY_BYTES).enumerate() {
        let number = |at: usize, bytes: usize| {
            key[at..at + bytes].iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte))
        };
        let (name, entry, line) = (number(0, 4) as usize, number(4, 4) as u32, number(8, 8));
        let length = number(16, 4) as usize;
        let kind = Kind::ALL.get(usize::from(key[20]));
        let (Some(&document), Some(&kind)) = (first.get(name), kind) else {
            return Err(reader.damaged(&bad_key(index, "unknown document or kind")));
        };
        let place = Place { document, line, entry };
        let read = parsed.push_words(words.by_ref().take(length).map(word), kind, place, limits);
        if read.is_err() || parsed.last_words() != length {
            let reason = read.err().unwrap_or(KeyError::NoDigits).to_string();
            return Err(reader.damaged(&bad_key(index, &reason)));
        }
    }
    if keys.len() % KEY_BYTES > 0 || words.next().is_some() || moduli.len() % 8 > 0 {
        return Err(reader.damaged("the keys are not as many as the moduli"));
    }
    let mut products = Vec::new();
    loop {
        let (name, content) = reader.any_section()?;
        match &name {
            PRODUCT if content.len() % 8 == 0 => products.push(BigUint::from_bytes_le(&content)),
            END if content.is_empty() && reader.left == 0 => break,
            _ => return Err(reader.damaged("a section has no place here")),
        }
    }
    if products.iter().any(|product| product.bits() == 0) {
        return Err(reader.damaged("a product is zero"));
    }
    let mut collection = Collection::default();
    collection.append(parsed);
    Ok((collection, Stored { keys: count, products }))
}

/// Writes a collection and the products of its moduli.
pub(crate) fn write<'p>(
    out: &mut dyn Write,
    keys: &Collection,
    products: impl Iterator<Item = &'p BigUint>,
) -> io::Result<()> {
    out.write_all(MAGIC)?;
    let documents = keys.documents();
    let bytes = documents.iter().map(|name| 4 + name.len() as u64).sum::<u64>() + 8;
    let mut section = SectionWriter::begin(out, NAMES, bytes)?;
    section.write(&(documents.len() as u64).to_le_bytes())?;
    for name in documents {
        section.write(&(name.len() as u32).to_le_bytes())?;
        section.write(name.as_bytes())?;
    }
    section.end()?;
    let count = keys.len();
    let mut section = SectionWriter::begin(out, KEYS, (count * KEY_BYTES) as u64)?;
    for index in 0..count {
        let key = keys.key(index);
        let Place { document, line, entry } = key.place;
        let mut bytes = [0; KEY_BYTES];
        bytes[..4].copy_from_slice(&document.to_le_bytes());
        bytes[4..8].copy_from_slice(&entry.to_le_bytes());
        bytes[8..16].copy_from_slice(&line.to_le_bytes());
        bytes[16..20].copy_from_slice(&(keys.words(index).len() as u32).to_le_bytes());
        bytes[20] = Kind::ALL.iter().position(|&kind| kind == key.kind).unwrap_or(0) as u8;
        section.write(&bytes)?;
    }
    section.end()?;
    let words: u64 = (0..count).map(|index| keys.words(index).len() as u64).sum();
    let mut section = SectionWriter::begin(out, MODULI, 8 * words)?;
    let mut bytes = Vec::new();
    for index in 0..count {
        bytes.clear();
        bytes.extend(keys.words(index).iter().flat_map(|word| word.to_le_bytes()));
        section.write(&bytes)?;
    }
    section.end()?;
    for product in products {
        let mut section = SectionWriter::begin(out, PRODUCT, 8 * product.bits().div_ceil(64))?;
        let words: Vec<u64> = product.iter_u64_digits().collect();
        for words in words.chunks(BUFFER / 8) {
            bytes.clear();
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            section.write(&bytes)?;
        }
        section.end()?;
    }
    SectionWriter::begin(out, END, 0)?.end()
}

/// Returns the names of a section; `None` if the section has another length.
fn read_names(content: &[u8]) -> Option<Vec<String>> {
    let (count, mut rest) =
        content.split_first_chunk().map(|(b, r)| (u64::from_le_bytes(*b), r))?;
    let mut names = Vec::new();
    for _ in 0..count {
        let (length, bytes) = rest.split_first_chunk()?;
        let (name, others) = bytes.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        names.push(std::str::from_utf8(name).ok()?.to_owned());
        rest = others;
    }
    rest.is_empty().then_some(names)
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Reads sections, whose memory is counted before.
struct SectionReader<'a> {
    path: &'a Path,
    file: BufReader<File>,
    /// Bytes of the file that follow.
    left: u64,
    budget: &'a Budget,
}

impl SectionReader<'_> {
    fn damaged(&self, reason: &str) -> StoreError {
        StoreError::Damaged { path: self.path.to_owned(), reason: reason.to_owned() }
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), StoreError> {
        self.file.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged("it is cut short"),
            _ => StoreError::Open { path: self.path.to_owned(), source: error },
        })?;
        self.left = self.left.saturating_sub(bytes.len() as u64);
        Ok(())
    }

    /// Reads the next section, which must have this name.
    fn section(&mut self, expected: &[u8; 8]) -> Result<Vec<u8>, StoreError> {
        let (name, content) = self.any_section()?;
        if name != *expected {
            return Err(self.damaged("a section has no place here"));
        }
        Ok(content)
    }

    /// Reads the next section, and checks its hash.
    fn any_section(&mut self) -> Result<([u8; 8], Vec<u8>), StoreError> {
        let (mut name, mut length) = ([0; 8], [0; 8]);
        self.fill(&mut name)?;
        self.fill(&mut length)?;
        let bytes = u64::from_le_bytes(length);
        if self.left.checked_sub(HASH_BYTES).is_none_or(|left| bytes > left) {
            return Err(self.damaged("it is cut short"));
        }
        // The content, and what is made of it.
        self.budget.charge("the keys of the store", 2 * bytes)?;
        let mut content = vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)];
        self.fill(&mut content)?;
        let mut hash = [0; HASH_BYTES as usize];
        self.fill(&mut hash)?;
        let computed = Sha256::new().chain_update(name).chain_update(length).chain_update(&content);
        if computed.finalize()[..] != hash {
            let name =
                String::from_utf8_lossy(&name).trim_end_matches('\0').escape_debug().to_string();
            return Err(self.damaged(&format!("the checksum of the section {name} is wrong")));
        }
        Ok((name, content))
    }
}

/// Writes a section with its hash.
struct SectionWriter<'a> {
    out: &'a mut dyn Write,
    hash: Sha256,
}

impl<'a> SectionWriter<'a> {
    fn begin(out: &'a mut dyn Write, name: &[u8; 8], bytes: u64) -> io::Result<Self> {
        let mut section = Self { out, hash: Sha256::new() };
        section.write(name)?;
        section.write(&bytes.to_le_bytes())?;
        Ok(section)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.out.write_all(bytes)
    }

    fn end(self) -> io::Result<()> {
        self.out.write_all(&self.hash.finalize())
    }
}
