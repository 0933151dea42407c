//! Images on disk: results of the run-time compiler, kept for later processes.
//!
//! The cache never makes an operation fail: a file that cannot be read, or that is damaged,
//! counts as absent, and a file that cannot be written is not written.
//!
//! An image is code: the GPU runs it with all memory of the process in reach, and a driver crashes
//! on some damaged ones. [`gpuint_catalogue::cache`] refuses files that others could have written;
//! here, a file without the structure of an image is refused (SECURITY.md).

use std::env;
use std::io;
#[cfg(test)]
use std::path::PathBuf;

use gpuint_catalogue::cache;
pub(super) use gpuint_catalogue::cache::Key;

/// A folder of images; or none, where there is no cache.
#[derive(Debug)]
pub(super) struct Cache(cache::Cache);

impl Cache {
    /// The cache that the environment asks for.
    pub(super) fn from_env() -> Self {
        Self(cache::Cache::from_env(|name| env::var_os(name)))
    }

    /// The cache in a folder, or none.
    #[cfg(test)]
    pub(super) fn at(folder: Option<PathBuf>) -> Self {
        Self(cache::Cache::at(folder))
    }

    /// The image of this key.
    pub(super) fn read(&self, key: &Key) -> Option<Vec<u8>> {
        let image = self.0.read(key).and_then(|image| match image {
            Some(image) if !is_image(&image) => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "it is not an image"))
            }
            image => Ok(image),
        });
        image.unwrap_or_else(|error| {
            let path = self.0.path(key).unwrap_or_default();
            tracing::warn!(path = %path.display(), %error, "a cached kernel is not used");
            None
        })
    }

    /// Keeps an image for later processes, where that can be done.
    pub(super) fn write(&self, key: &Key, image: &[u8]) {
        if let Err(error) = self.0.write(key, image) {
            let path = self.0.path(key).unwrap_or_default();
            tracing::debug!(path = %path.display(), %error, "a kernel is not cached");
        }
    }
}

/// Returns true if the bytes have the structure of what NVRTC makes: a cubin, all of whose parts
/// are inside, or PTX with a null byte at its end.
fn is_image(image: &[u8]) -> bool {
    is_ptx(image) || is_cubin(image).unwrap_or(false)
}

fn is_ptx(image: &[u8]) -> bool {
    let Some((0, text)) = image.split_last() else { return false };
    let has = |word: &[u8]| text.windows(word.len()).any(|part| part == word);
    text.is_ascii() && !text.contains(&0) && has(b".version") && has(b".target")
}

/// Checks the header and the tables of an ELF file; `None` where it is too short for one of them.
fn is_cubin(image: &[u8]) -> Option<bool> {
    /// 64 bits, little-endian, version 1.
    const IDENT: [u8; 7] = *b"\x7fELF\x02\x01\x01";
    /// `EM_CUDA`.
    const MACHINE: u64 = 190;

    let elf = Elf(image);
    if !image.starts_with(&IDENT) || elf.number(18, 2)? != MACHINE {
        return Some(false);
    }
    let sections = Table { start: elf.number(40, 8)?, entries: elf.number(60, 2)?, ..SECTIONS };
    let segments = Table { start: elf.number(32, 8)?, entries: elf.number(56, 2)?, ..SEGMENTS };
    let has_names = elf.number(62, 2)? < sections.entries;
    if elf.number(58, 2)? != sections.entry_bytes || !has_names {
        return Some(false);
    }
    Some(elf.holds_entries(&sections)? && elf.holds_entries(&segments)?)
}

/// A table of an ELF file, whose entries are places of parts.
struct Table {
    start: u64,
    entries: u64,
    entry_bytes: u64,
    /// Offsets in an entry: of the part's offset, its size, and its type if it may have no bytes.
    offset: u64,
    size: u64,
    kind: Option<u64>,
}

const SECTIONS: Table =
    Table { start: 0, entries: 0, entry_bytes: 64, offset: 24, size: 32, kind: Some(4) };
const SEGMENTS: Table =
    Table { start: 0, entries: 0, entry_bytes: 56, offset: 8, size: 32, kind: None };

/// Bytes of an ELF file.
struct Elf<'a>(&'a [u8]);

impl Elf<'_> {
    /// Returns a field of `bytes` bytes, little-endian.
    fn number(&self, at: u64, bytes: usize) -> Option<u64> {
        let at = usize::try_from(at).ok()?;
        let field = self.0.get(at..at.checked_add(bytes)?)?;
        Some(field.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// Returns true if a part is inside the file.
    fn holds(&self, start: u64, bytes: u64) -> bool {
        start.checked_add(bytes).is_some_and(|end| end <= self.0.len() as u64)
    }

    /// Returns true if a table and the parts of all its entries are inside the file.
    fn holds_entries(&self, table: &Table) -> Option<bool> {
        /// `SHT_NOBITS`: a section without bytes in the file.
        const NO_BITS: u64 = 8;

        if table.entries > 0 && !self.holds(table.start, table.entries * table.entry_bytes) {
            return Some(false);
        }
        for index in 0..table.entries {
            let entry = table.start.checked_add(index * table.entry_bytes)?;
            let is_empty = match table.kind {
                Some(kind) => self.number(entry.checked_add(kind)?, 4)? == NO_BITS,
                None => false,
            };
            let offset = self.number(entry.checked_add(table.offset)?, 8)?;
            let size = self.number(entry.checked_add(table.size)?, 8)?;
            if !is_empty && !self.holds(offset, size) {
                return Some(false);
            }
        }
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PTX fixture with the fields that the cache validates.
    fn ptx(body: &str) -> Vec<u8> {
        format!(".version 9.0\n.target sm_90\n{body}\0").into_bytes()
    }

    /// A cubin with a section of 16 bytes and one without bytes in the file.
    fn cubin() -> Vec<u8> {
        let mut image = b"\x7fELF\x02\x01\x01".to_vec();
        image.resize(64, 0);
        image.extend([0xaa; 16]);
        let table = image.len() as u64;
        image[18] = 190;
        image[40..48].copy_from_slice(&table.to_le_bytes());
        image[58..64].copy_from_slice(&[64, 0, 3, 0, 1, 0]);
        for (kind, offset, size) in [(0u32, 0u64, 0u64), (1, 64, 16), (8, 80, 1 << 40)] {
            let mut section = [0; 64];
            section[4..8].copy_from_slice(&kind.to_le_bytes());
            section[24..32].copy_from_slice(&offset.to_le_bytes());
            section[32..40].copy_from_slice(&size.to_le_bytes());
            image.extend(section);
        }
        image
    }

    #[test]
    fn well_signed_file_without_an_image_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(Some(folder.path().to_owned()));
        let key = Key::new("k", ["a"]);
        let mut refused = vec![
            vec![],
            b"another image".to_vec(),
            ptx("x")[..20].to_vec(),
            ptx("x\0y"),
            ptx("\u{e9}"),
            cubin()[..63].to_vec(),
            cubin()[..cubin().len() - 1].to_vec(),
        ];
        // Fields of the header, of the section's entry: machine, table, entry size, entries, names,
        // offset, size.
        for at in [18, 41, 47, 58, 60, 62, 80 + 64 + 25, 80 + 64 + 31, 80 + 64 + 33, 80 + 64 + 39] {
            let mut image = cubin();
            image[at] ^= 0x80;
            refused.push(image);
        }
        for image in refused {
            cache.write(&key, &image);
            assert_eq!(cache.read(&key), None, "{:?}", String::from_utf8_lossy(&image));
        }
        cache.write(&key, &cubin());
        assert_eq!(cache.read(&key), Some(cubin()));
    }

    #[test]
    fn folder_that_cannot_be_written_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "in the way").unwrap();
        let key = Key::new("k", ["a"]);
        let cache = Cache::at(Some(file));
        cache.write(&key, &ptx("image"));
        assert_eq!(cache.read(&key), None);
    }
}
