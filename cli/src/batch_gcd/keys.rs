//! Moduli of RSA keys, and the places where they were read.

use std::collections::BTreeMap;
use std::mem;
use std::ops::AddAssign;

use num_bigint::BigUint;

use super::errors::{Invalid, KeyError};
use super::place::{Place, Source};

/// Form in which a modulus was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Certificate,
    Request,
    PublicKey,
    PrivateKey,
    SshKey,
    WebKey,
}

impl Kind {
    /// All kinds, in the order of their codes in a store.
    pub(crate) const ALL: [Self; 7] = [
        Self::Number,
        Self::Certificate,
        Self::Request,
        Self::PublicKey,
        Self::PrivateKey,
        Self::SshKey,
        Self::WebKey,
    ];

    /// Returns the name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Certificate => "certificate",
            Self::Request => "certificate request",
            Self::PublicKey => "public key",
            Self::PrivateKey => "private key",
            Self::SshKey => "SSH key",
            Self::WebKey => "JSON web key",
        }
    }
}

/// Limits of a modulus.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Maximum bits of a modulus.
    pub(crate) widest: usize,
}

/// Files of folders and archives that are not read.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Skipped {
    /// Symbolic links, and hard links of archives.
    pub(crate) links: u64,
    /// Devices, pipes and the like.
    pub(crate) others: u64,
}

impl AddAssign for Skipped {
    fn add_assign(&mut self, other: Self) {
        self.links += other.links;
        self.others += other.others;
    }
}

/// Keys of some documents, in order.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    documents: Vec<String>,
    /// Words of the moduli, one after the other, the lowest word of each first.
    words: Vec<u64>,
    keys: Vec<ParsedKey>,
    /// Keys that are not used, counted by the reason.
    pub(crate) unused: BTreeMap<String, u64>,
    /// Entries that are no keys.
    pub(crate) invalid: Vec<Invalid>,
    /// Number of entries that are no keys; `invalid` has the first ones.
    pub(crate) rejected: u64,
    pub(crate) skipped: Skipped,
}

#[derive(Debug)]
struct ParsedKey {
    start: usize,
    kind: Kind,
    place: Place,
}

/// Number of errors of which a job keeps the text.
pub(crate) const KEPT_ERRORS: usize = 20;

impl Parsed {
    /// Returns the index of a document, which is the last one or a new one.
    pub(crate) fn document(&mut self, name: &str) -> u32 {
        match self.documents.last() {
            Some(last) if last == name => (self.documents.len() - 1) as u32,
            _ => self.add_document(name),
        }
    }

    /// Adds a document, also if the last one has the same name; returns its index.
    pub(crate) fn add_document(&mut self, name: &str) -> u32 {
        self.documents.push(name.to_owned());
        (self.documents.len() - 1) as u32
    }

    /// Adds a modulus of these words, the lowest first.
    pub(crate) fn push_words(
        &mut self,
        words: impl Iterator<Item = u64>,
        kind: Kind,
        place: Place,
        limits: Limits,
    ) -> Result<(), KeyError> {
        let start = self.words.len();
        self.words.extend(words);
        self.finish_key(start, kind, place, limits)
    }

    /// Number of words of the last modulus.
    pub(crate) fn last_words(&self) -> usize {
        self.keys.last().map_or(0, |key| self.words.len() - key.start)
    }

    /// Adds a modulus of these bytes, the highest byte first.
    pub(crate) fn push_bytes(
        &mut self,
        bytes: &[u8],
        kind: Kind,
        place: Place,
        limits: Limits,
    ) -> Result<(), KeyError> {
        let word = |bytes: &[u8]| bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
        self.push_words(bytes.rchunks(8).map(word), kind, place, limits)
    }

    /// Adds a modulus.
    pub(crate) fn push_number(
        &mut self,
        number: &BigUint,
        kind: Kind,
        place: Place,
        limits: Limits,
    ) -> Result<(), KeyError> {
        self.push_words(number.iter_u64_digits(), kind, place, limits)
    }

    /// Adds a modulus of hexadecimal digits, the highest first, which are digits.
    pub(crate) fn push_hex(
        &mut self,
        digits: &[u8],
        kind: Kind,
        place: Place,
        limits: Limits,
    ) -> Result<(), KeyError> {
        const DIGITS: usize = 16;
        let start = self.words.len();
        let (head, tail) = digits.split_at(digits.len() % DIGITS);
        let mut bytes = [0; 512];
        // From the lowest digits up, so that the words are in their order.
        for part in tail.rchunks(2 * bytes.len()) {
            let bytes = &mut bytes[..part.len() / 2];
            const_hex::decode_to_slice(part, bytes).map_err(|_| KeyError::NoDigits)?;
            let (words, _) = bytes.as_chunks();
            self.words.extend(words.iter().rev().map(|&word| u64::from_be_bytes(word)));
        }
        if !head.is_empty() {
            let mut first = [b'0'; DIGITS];
            first[DIGITS - head.len()..].copy_from_slice(head);
            let mut word = [0; 8];
            const_hex::decode_to_slice(first, &mut word).map_err(|_| KeyError::NoDigits)?;
            self.words.push(u64::from_be_bytes(word));
        }
        self.finish_key(start, kind, place, limits)
    }

    /// Adds the key whose words follow `start`, or removes them.
    fn finish_key(
        &mut self,
        start: usize,
        kind: Kind,
        place: Place,
        limits: Limits,
    ) -> Result<(), KeyError> {
        while self.words.len() > start && self.words.last() == Some(&0) {
            self.words.pop();
        }
        let bits = bits(&self.words[start..]);
        let error = if bits < 2 {
            KeyError::TooSmall
        } else if bits > limits.widest as u64 {
            KeyError::TooWide { widest: limits.widest }
        } else {
            self.keys.push(ParsedKey { start, kind, place });
            return Ok(());
        };
        self.words.truncate(start);
        Err(error)
    }

    /// Counts a key that is not used.
    pub(crate) fn count_unused(&mut self, reason: &str) {
        match self.unused.get_mut(reason) {
            Some(count) => *count += 1,
            None => drop(self.unused.insert(reason.to_owned(), 1)),
        }
    }

    /// Records an entry that is no key.
    pub(crate) fn reject(&mut self, place: Place, column: u64, reason: KeyError) {
        self.rejected += 1;
        if self.invalid.len() < KEPT_ERRORS {
            let document = self.documents[place.document as usize].clone();
            self.invalid.push(Invalid { document, place, column, reason });
        }
    }

    /// Bytes of memory of the keys.
    pub(crate) fn bytes(&self) -> u64 {
        let words = self.words.capacity() * size_of::<u64>();
        // A key has its entry here and, later, in the collection.
        (words + self.keys.capacity() * (size_of::<ParsedKey>() + size_of::<Key>())) as u64
    }

    /// Frees memory that is not used.
    pub(crate) fn shrink(&mut self) {
        self.words.shrink_to_fit();
        self.keys.shrink_to_fit();
    }
}

/// Number of bits of a number without leading zero words.
pub(crate) fn bits(words: &[u64]) -> u64 {
    words.last().map_or(0, |last| 64 * words.len() as u64 - u64::from(last.leading_zeros()))
}

/// A key of a collection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    start: usize,
    part: u32,
    words: u32,
    pub(crate) kind: Kind,
    pub(crate) place: Place,
}

/// Keys that were analyzed before.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    /// The first keys of the collection, of this number.
    pub(crate) keys: usize,
    /// Numbers whose product is that of all different moduli among them.
    pub(crate) products: Vec<BigUint>,
}

/// All keys of a job, in the order of its input.
#[derive(Debug, Default)]
pub(crate) struct Collection {
    documents: Vec<String>,
    parts: Vec<Vec<u64>>,
    keys: Vec<Key>,
    pub(crate) unused: BTreeMap<String, u64>,
    pub(crate) invalid: Vec<Invalid>,
    pub(crate) rejected: u64,
    pub(crate) skipped: Skipped,
}

impl Collection {
    /// Adds the keys that follow in the order of the input.
    pub(crate) fn append(&mut self, parsed: Parsed) {
        let Parsed { mut documents, words, keys, unused, invalid, rejected, skipped } = parsed;
        // A document in several parts has one name.
        let shared = self.documents.last().is_some_and(|last| documents.first() == Some(last));
        let offset = self.documents.len() - usize::from(shared);
        self.documents.extend(documents.drain(usize::from(shared)..));
        let part = self.parts.len() as u32;
        let ends = keys.iter().skip(1).map(|key| key.start).chain([words.len()]);
        self.keys.extend(keys.iter().zip(ends).map(|(key, end)| Key {
            start: key.start,
            part,
            words: (end - key.start) as u32,
            kind: key.kind,
            place: Place { document: key.place.document + offset as u32, ..key.place },
        }));
        self.parts.push(words);
        for (reason, count) in unused {
            *self.unused.entry(reason).or_default() += count;
        }
        self.rejected += rejected;
        self.skipped += skipped;
        let room = KEPT_ERRORS - self.invalid.len().min(KEPT_ERRORS);
        self.invalid.extend(invalid.into_iter().take(room));
    }

    /// Removes all keys and documents but the first ones.
    pub(crate) fn truncate(&mut self, keys: usize, documents: usize) {
        self.keys.truncate(keys);
        self.documents.truncate(documents);
        self.parts.truncate(self.keys.last().map_or(0, |key| key.part as usize + 1));
    }

    /// Number of keys.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns a key.
    pub(crate) fn key(&self, index: usize) -> &Key {
        &self.keys[index]
    }

    /// Names of the documents.
    pub(crate) fn documents(&self) -> &[String] {
        &self.documents
    }

    /// Words of a modulus, the lowest first and the highest not zero.
    pub(crate) fn words(&self, index: usize) -> &[u64] {
        let key = &self.keys[index];
        &self.parts[key.part as usize][key.start..][..key.words as usize]
    }

    /// Number of bits of a modulus.
    pub(crate) fn bits(&self, index: usize) -> u64 {
        bits(self.words(index))
    }

    /// Returns a modulus.
    pub(crate) fn modulus(&self, index: usize) -> BigUint {
        let words = self.words(index).iter();
        let halves = words.flat_map(|&word| [word as u32, (word >> 32) as u32]);
        BigUint::new(halves.collect())
    }

    /// Returns the source of a key.
    pub(crate) fn source(&self, index: usize) -> Source<'_> {
        let place = self.keys[index].place;
        Source { document: &self.documents[place.document as usize], place }
    }

    /// Removes and returns the first errors.
    pub(crate) fn take_invalid(&mut self) -> Vec<Invalid> {
        mem::take(&mut self.invalid)
    }
}
