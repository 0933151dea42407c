//! Compiled kernels on disk: what the run-time compiler made is there for the next process.
//!
//! The cache never makes an operation fail: a file that cannot be read, or is not what was written,
//! counts as absent, and a file that cannot be written is not written.
//!
//! An image is code: the GPU runs it with all memory of the process in reach, and a driver crashes on
//! some damaged ones. The hash in a file tells damage, not forgery. So a folder or a file that belongs
//! to another user, or that others may write, is not used (Unix; elsewhere the folder of the user is
//! trusted), and neither is a file that does not have the structure of an image (SECURITY.md).

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
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
        let folder = self.folder.as_ref()?;
        let path = folder.join(&key.0);
        let mut file = match read_own(folder, &path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a cached kernel is not used");
                return None;
            }
        };
        let whole = is_whole(&file);
        file.drain(..HEADER.min(file.len()));
        if !whole || !is_image(&file) {
            tracing::warn!(path = %path.display(), "a cached kernel is damaged: it is made anew");
            return None;
        }
        Some(file)
    }

    /// Keeps an image for later processes, where that can be done.
    pub(super) fn write(&self, key: &Key, image: &[u8]) {
        let Some(folder) = &self.folder else { return };
        let path = folder.join(&key.0);
        // Readers see no file or all of it, however many processes write it.
        let write = || -> io::Result<()> {
            create_folder(folder)?;
            check_own(&fs::metadata(folder)?, folder)?;
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

/// Creates a folder that only its user may use, in folders that exist or are made the same way.
fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The content of a file that nobody else can have written.
fn read_own(folder: &Path, path: &Path) -> io::Result<Vec<u8>> {
    check_own(&fs::metadata(folder)?, folder)?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        // A link may lead anywhere, and a pipe would be waited for.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    let mut file: File = options.open(path)?;
    // Of the file that is open, whatever its name leads to meanwhile.
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    check_own(&metadata, path)?;
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    Ok(content)
}

/// Refuses what another user owns or may write.
#[cfg(unix)]
fn check_own(metadata: &Metadata, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let refuse = |reason: &str| {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{} {reason}", path.display())))
    };
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return refuse("belongs to another user");
    }
    if metadata.mode() & 0o022 != 0 {
        return refuse("may be written by other users");
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_own(_: &Metadata, _: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns true if the bytes have the structure of what NVRTC makes: a cubin, all of whose parts are
/// inside, or PTX with a null byte at its end.
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
    /// `SHT_NOBITS`: a section without bytes in the file.
    const NO_BITS: u64 = 8;
    const SECTION_BYTES: u64 = 64;
    const SEGMENT_BYTES: u64 = 56;

    let number = |at: u64, bytes: usize| {
        let at = usize::try_from(at).ok()?;
        let field = image.get(at..at.checked_add(bytes)?)?;
        Some(field.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    };
    let holds = |start: u64, bytes: u64| {
        start.checked_add(bytes).is_some_and(|end| end <= image.len() as u64)
    };
    if !image.starts_with(&IDENT) || number(18, 2)? != MACHINE {
        return Some(false);
    }
    // (table, entry size, entries, where an entry has its offset and its size)
    let tables: [(u64, u64, Range<u64>, u64, u64); 2] = [
        (number(40, 8)?, SECTION_BYTES, 0..number(60, 2)?, 24, 32),
        (number(32, 8)?, SEGMENT_BYTES, 0..number(56, 2)?, 8, 32),
    ];
    if (number(58, 2)?, tables[0].2.is_empty()) != (SECTION_BYTES, false)
        || number(62, 2)? >= tables[0].2.end
    {
        return Some(false);
    }
    for (index, (table, entry_bytes, entries, offset, size)) in tables.into_iter().enumerate() {
        if !entries.is_empty() && !holds(table, entries.end * entry_bytes) {
            return Some(false);
        }
        for entry in entries {
            let start = table.checked_add(entry * entry_bytes)?;
            let empty = index == 0 && number(start.checked_add(4)?, 4)? == NO_BITS;
            let (offset, size) = (number(start + offset, 8)?, number(start + size, 8)?);
            if !empty && !holds(offset, size) {
                return Some(false);
            }
        }
    }
    Some(true)
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

    /// What NVRTC makes for GPUs that it does not know, as far as the cache looks at it.
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
    fn cache_reads_what_it_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache_in(&folder);
        let (one, other) = (Key::new("k", ["a"]), Key::new("k", ["b"]));
        assert_eq!(cache.read(&one), None);
        cache.write(&one, &ptx("one"));
        cache.write(&other, &cubin());
        assert_eq!(cache.read(&one), Some(ptx("one")));
        assert_eq!(cache.read(&other), Some(cubin()));
        cache.write(&one, &ptx("another"));
        assert_eq!(cache.read(&one), Some(ptx("another")));
        // Nothing is left of the temporary files.
        assert_eq!(fs::read_dir(cache.folder.unwrap()).unwrap().count(), 2);
    }

    #[test]
    fn well_signed_file_without_an_image_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache_in(&folder);
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

    #[cfg(unix)]
    #[test]
    fn cache_that_others_can_write_is_not_used() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let cache = cache_in(&folder);
        let key = Key::new("k", ["a"]);
        cache.write(&key, &ptx("one"));
        let inside = cache.folder.clone().unwrap();
        let path = inside.join(&key.0);
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        assert_eq!(fs::metadata(&inside).unwrap().mode() & 0o777, 0o700);
        for mode in [0o720, 0o702, 0o777] {
            set(&inside, mode);
            assert_eq!(cache.read(&key), None, "{mode:o}");
            cache.write(&Key::new("k", ["b"]), &ptx("two"));
            assert_eq!(fs::read_dir(&inside).unwrap().count(), 1, "{mode:o}");
        }
        set(&inside, 0o755);
        for mode in [0o620, 0o602, 0o666] {
            set(&path, mode);
            assert_eq!(cache.read(&key), None, "{mode:o}");
        }
        set(&path, 0o644);
        assert_eq!(cache.read(&key), Some(ptx("one")));
        // A link, even to a good file; and a folder of another user, where this one may give it away.
        let aside = folder.path().join("aside");
        fs::rename(&path, &aside).unwrap();
        symlink(&aside, &path).unwrap();
        assert_eq!(cache.read(&key), None);
        fs::remove_file(&path).unwrap();
        fs::rename(&aside, &path).unwrap();
        if std::os::unix::fs::chown(&path, Some(65534), None).is_ok() {
            assert_eq!(cache.read(&key), None);
            std::os::unix::fs::chown(&path, Some(0), None).unwrap();
        }
        if std::os::unix::fs::chown(&inside, Some(65534), None).is_ok() {
            assert_eq!(cache.read(&key), None);
        }
    }

    #[test]
    fn damaged_files_are_ignored_and_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache_in(&folder);
        let key = Key::new("k", ["a"]);
        cache.write(&key, &ptx("some image"));
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
        cache.write(&key, &ptx("some image"));
        assert_eq!(cache.read(&key).as_deref(), Some(&*ptx("some image")));
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "in the way").unwrap();
        let key = Key::new("k", ["a"]);
        for cache in [Cache::at(Some(file)), Cache::at(None)] {
            cache.write(&key, &ptx("image"));
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
