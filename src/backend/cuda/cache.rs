//! Compiled kernels on disk: what the run-time compiler made is there for the next process.
//!
//! The cache never makes an operation fail: a file that cannot be read, or is not what was written,
//! counts as absent, and a file that cannot be written is not written.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::{env, fs};

use sha2::{Digest, Sha256};

/// The folder, or [`OFF`].
const VARIABLE: &str = "GPUINT_CACHE_DIR";
/// The value of [`VARIABLE`] that switches the cache off.
const OFF: &str = "off";
/// What a file starts with; the last byte is the version of the format.
const MAGIC: [u8; 8] = *b"gpuint\0\x01";
/// The magic, the length and the hash of the image.
const HEADER: usize = MAGIC.len() + size_of::<u64>() + 32;

/// The name of a file: a hash over everything that the image depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key(String);

impl Key {
    /// The key of a kernel whose image is a function of these texts, in this order. The name of the
    /// kernel is there for people who look into the folder.
    pub(super) fn new<'a>(kernel: &str, texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hash = Sha256::new();
        for text in texts {
            // With its length, so that no two lists of texts are the same bytes.
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
        let mut name = format!("{kernel}-");
        for byte in hash.finalize() {
            // Writing to a string does not fail.
            let _ = write!(name, "{byte:02x}");
        }
        Self(name + ".image")
    }
}

/// A folder of images; or none, where there is no cache.
#[derive(Debug)]
pub(super) struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    /// The cache that the environment asks for.
    pub(super) fn from_env() -> Self {
        Self { folder: folder(|name| env::var_os(name)) }
    }

    /// The cache in a folder, or none.
    #[cfg(test)]
    pub(super) fn at(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    /// The image of this key.
    pub(super) fn read(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.folder.as_ref()?.join(&key.0);
        let mut file = match fs::read(&path) {
            Ok(file) => file,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::debug!(path = %path.display(), %error, "a cached kernel is not readable");
                }
                return None;
            }
        };
        if !is_whole(&file) {
            tracing::warn!(path = %path.display(), "a cached kernel is damaged: it is made anew");
            return None;
        }
        file.drain(..HEADER);
        Some(file)
    }

    /// Keeps an image for later processes, where that can be done.
    pub(super) fn write(&self, key: &Key, image: &[u8]) {
        let Some(folder) = &self.folder else { return };
        let path = folder.join(&key.0);
        // Readers see no file or all of it, however many processes write it.
        let write = || -> io::Result<()> {
            fs::create_dir_all(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(&header(image))?;
            file.write_all(image)?;
            file.persist(&path)?;
            Ok(())
        };
        if let Err(error) = write() {
            tracing::debug!(path = %path.display(), %error, "a kernel is not cached");
        }
    }
}

/// The folder: `GPUINT_CACHE_DIR`, or `gpuint` in the user's folder of caches.
fn folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    if let Some(folder) = set(VARIABLE) {
        return (folder != OFF).then(|| folder.into());
    }
    let absolute = |path: &PathBuf| path.is_absolute();
    let caches = set("XDG_CACHE_HOME").map(PathBuf::from).filter(absolute);
    let home = || set("HOME").map(|home| PathBuf::from(home).join(".cache")).filter(absolute);
    Some(caches.or_else(home)?.join("gpuint"))
}

fn header(image: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    let (magic, rest) = header.split_at_mut(MAGIC.len());
    let (length, hash) = rest.split_at_mut(size_of::<u64>());
    magic.copy_from_slice(&MAGIC);
    length.copy_from_slice(&(image.len() as u64).to_le_bytes());
    hash.copy_from_slice(&Sha256::digest(image));
    header
}

/// Whether a file is an image with its own header.
fn is_whole(file: &[u8]) -> bool {
    file.split_at_checked(HEADER).is_some_and(|(found, image)| found == header(image))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache_in(folder: &tempfile::TempDir) -> Cache {
        Cache::at(Some(folder.path().join("not/there/yet")))
    }

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache_in(&folder);
        let (one, other) = (Key::new("k", ["a"]), Key::new("k", ["b"]));
        assert_eq!(cache.read(&one), None);
        cache.write(&one, b"image");
        cache.write(&other, b"");
        assert_eq!(cache.read(&one).as_deref(), Some(&b"image"[..]));
        assert_eq!(cache.read(&other).as_deref(), Some(&b""[..]));
        cache.write(&one, b"another");
        assert_eq!(cache.read(&one).as_deref(), Some(&b"another"[..]));
        // Nothing is left of the temporary files.
        assert_eq!(fs::read_dir(cache.folder.unwrap()).unwrap().count(), 2);
    }

    #[test]
    fn damaged_files_are_ignored_and_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache_in(&folder);
        let key = Key::new("k", ["a"]);
        cache.write(&key, b"some image");
        let path = cache.folder.as_ref().unwrap().join(&key.0);
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            assert_eq!(cache.read(&key), None, "cut to {cut} bytes");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x40;
            fs::write(&path, &damaged).unwrap();
            assert_eq!(cache.read(&key), None, "byte {at} is wrong");
        }
        fs::write(&path, [&whole[..], b"x"].concat()).unwrap();
        assert_eq!(cache.read(&key), None, "too long");
        cache.write(&key, b"some image");
        assert_eq!(cache.read(&key).as_deref(), Some(&b"some image"[..]));
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "in the way").unwrap();
        let key = Key::new("k", ["a"]);
        for cache in [Cache::at(Some(file)), Cache::at(None)] {
            cache.write(&key, b"image");
            assert_eq!(cache.read(&key), None);
        }
    }

    #[test]
    fn the_environment_says_where() {
        let with = |set: &[(&str, &str)]| {
            folder(|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
            })
        };
        let (own, xdg, home) =
            ((VARIABLE, "/own"), ("XDG_CACHE_HOME", "/xdg"), ("HOME", "/home/me"));
        for (set, expected) in [
            (vec![], None),
            (vec![own, xdg, home], Some("/own")),
            (vec![xdg, home], Some("/xdg/gpuint")),
            (vec![home], Some("/home/me/.cache/gpuint")),
            (vec![(VARIABLE, "relative"), home], Some("relative")),
            (vec![("XDG_CACHE_HOME", "relative"), home], Some("/home/me/.cache/gpuint")),
            (vec![(VARIABLE, ""), home], Some("/home/me/.cache/gpuint")),
            (vec![(VARIABLE, OFF), xdg, home], None),
            (vec![("HOME", "relative")], None),
        ] {
            assert_eq!(with(&set), expected.map(PathBuf::from));
        }
    }

    #[test]
    fn keys_tell_all_texts_apart() {
        let keys = [
            Key::new("k", ["ab", "c"]),
            Key::new("k", ["a", "bc"]),
            Key::new("k", ["abc"]),
            Key::new("k", ["abc", ""]),
            Key::new("k", ["c", "ab"]),
            Key::new("l", ["abc"]),
        ];
        for (index, key) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(key), "{key:?}");
        }
        assert_eq!(Key::new("k", ["ab", "c"]), keys[0]);
    }
}
