//! Files found by a hash of everything that they were made from: compiled kernels.
//!
//! The folder is `GPUINT_CACHE_DIR` (`off`: no cache), else `gpuint` in `XDG_CACHE_HOME` or
//! `~/.cache`. NVRTC's images are there, in its folder `simt` the units compiled by the host
//! compiler, in `build` the units that the build script compiled by nvcc, and in `ptx` those of
//! tests, for all target folders of the user.
//!
//! A file holds code. Its hash tells damage, not forgery. So a folder or a file that belongs to
//! another user, or that others may write, is refused (Unix; elsewhere the folder of the user is
//! trusted): SECURITY.md.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

/// The folder, or [`OFF`].
const VARIABLE: &str = "GPUINT_CACHE_DIR";
/// The value of [`VARIABLE`] that switches the cache off.
const OFF: &str = "off";
/// The first bytes of a file; the last one is the version of the format.
const MAGIC: [u8; 8] = *b"gpuint\0\x01";
/// The magic, the length and the hash of the content.
const HEADER: usize = MAGIC.len() + size_of::<u64>() + 32;

/// The name of a file: a hash over everything that the content depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// The key of a content that is a function of these texts, in this order. The label is for
    /// people who look into the folder.
    pub fn new<T: AsRef<[u8]>>(label: &str, texts: impl IntoIterator<Item = T>) -> Self {
        let mut hash = Sha256::new();
        for text in texts {
            let text = text.as_ref();
            // With its length, so that no two lists of texts are the same bytes.
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
        let mut name = format!("{label}-");
        for byte in hash.finalize() {
            // Writing to a string does not fail.
            let _ = write!(name, "{byte:02x}");
        }
        Self(name + ".image")
    }
}

/// The name of the file: a key stands for the texts of its content in other keys.
impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// A folder of files; or none, where there is no cache.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    /// The cache that the environment asks for; `variable` reads an environment variable.
    #[must_use]
    pub fn from_env(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        Self { folder: folder(variable) }
    }

    /// The cache in a folder, or none.
    #[must_use]
    pub fn at(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    /// The cache in a folder of this one.
    #[must_use]
    pub fn below(&self, name: &str) -> Self {
        Self { folder: self.folder.as_ref().map(|folder| folder.join(name)) }
    }

    /// Returns the folder; `None` where there is no cache.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Path of the file of a key.
    #[must_use]
    pub fn path(&self, key: &Key) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(&key.0))
    }

    /// Returns the content of a key; `None` where there is none.
    ///
    /// # Errors
    /// A file that cannot be read, that others could have written, or that is damaged.
    pub fn read(&self, key: &Key) -> io::Result<Option<Vec<u8>>> {
        let (Some(folder), Some(path)) = (&self.folder, self.path(key)) else { return Ok(None) };
        let mut content = match read_own(folder, &path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            content => content?,
        };
        if !is_whole(&content) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is damaged"));
        }
        content.drain(..HEADER);
        Ok(Some(content))
    }

    /// Keeps a content for later processes. Readers see no file or all of it, however many
    /// processes write it.
    ///
    /// # Errors
    /// A folder that cannot be written, or that others can write.
    pub fn write(&self, key: &Key, content: &[u8]) -> io::Result<()> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let (Some(folder), Some(path)) = (&self.folder, self.path(key)) else { return Ok(()) };
        create_folder(folder)?;
        check_own(&fs::metadata(folder)?, folder)?;
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!("{}.{}-{number}", key.0, process::id()));
        let write = || -> io::Result<()> {
            // A process that had the same number may have left the file.
            let mut file = match create_own(&temporary) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    fs::remove_file(&temporary)?;
                    create_own(&temporary)?
                }
                file => file?,
            };
            file.write_all(&header(content))?;
            file.write_all(content)?;
            fs::rename(&temporary, &path)
        };
        write().inspect_err(|_| {
            // Nothing is left where that can be helped.
            let _ = fs::remove_file(&temporary);
        })
    }

    /// Returns the content of a key, or makes it and keeps it. Processes and threads with the same
    /// key take turns, so that one makes it. The files that were used least recently are removed
    /// beyond `max_bytes`.
    ///
    /// No error of the cache is an error of the content: `report` gets it, with the path of the
    /// file. A file that cannot be read, or that others could have written, counts as absent.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn or_make<E>(
        &self,
        key: &Key,
        max_bytes: u64,
        report: impl Fn(&Path, io::Error),
        make: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Vec<u8>, E> {
        let path = self.path(key).unwrap_or_default();
        let read = || self.read(key).map_err(|error| report(&path, error)).ok().flatten();
        if let Some(content) = read() {
            return Ok(content);
        }
        let _lock = self.lock(key);
        if let Some(content) = read() {
            return Ok(content);
        }
        let content = make()?;
        if let Err(error) = self.write(key, &content).and_then(|()| self.trim(max_bytes)) {
            report(&path, error);
        }
        Ok(content)
    }

    /// Waits until nobody else holds the lock of a key, so that processes that make the same
    /// content take turns; the lock is held until the value is dropped. `None` where there is no
    /// cache.
    ///
    /// # Errors
    /// A folder that cannot be written, or that others can write.
    pub fn lock(&self, key: &Key) -> io::Result<Option<Lock>> {
        let (Some(folder), Some(path)) = (&self.folder, self.path(key)) else { return Ok(None) };
        create_folder(folder)?;
        check_own(&fs::metadata(folder)?, folder)?;
        let path = path.with_extension("lock");
        let file = open_own(&path)?;
        file.lock()?;
        Ok(Some(Lock { path, _file: file }))
    }

    /// Removes the files that were used least recently until the others take at most `bytes`.
    ///
    /// # Errors
    /// A folder that cannot be read or written.
    pub fn trim(&self, bytes: u64) -> io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let mut files = Vec::new();
        for entry in folder.read_dir()? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_file() {
                files.push((metadata.modified()?, metadata.len(), entry.path()));
            }
        }
        files.sort_by(|one, other| other.cmp(one));
        let mut total = 0;
        for (_, size, path) in files {
            total += size;
            if total > bytes {
                match fs::remove_file(path) {
                    // Another process has trimmed the same folder.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    removed => removed?,
                }
            }
        }
        Ok(())
    }
}

/// A lock of [`Cache::lock`].
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// Closed after the file is removed. A process that has waited for this file and one that made
    /// a new file both hold a lock then: both find the content that this one has written.
    _file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // `trim` may have removed it.
        let _ = fs::remove_file(&self.path);
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

/// Creates a file that only its user may read and write.
fn create_own(path: &Path) -> io::Result<File> {
    own_file().create_new(true).open(path)
}

/// Opens or creates a file that only its user may read and write.
fn open_own(path: &Path) -> io::Result<File> {
    own_file().create(true).truncate(false).open(path)
}

fn own_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Returns the content of a file that only this user can have written.
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
    // For `trim`; a file system without times of use is no reason to fail.
    let _ = file.set_modified(SystemTime::now());
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    Ok(content)
}

/// Refuses a file or folder that another user owns or may write.
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

fn header(content: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    let (magic, rest) = header.split_at_mut(MAGIC.len());
    let (length, hash) = rest.split_at_mut(size_of::<u64>());
    magic.copy_from_slice(&MAGIC);
    length.copy_from_slice(&(content.len() as u64).to_le_bytes());
    hash.copy_from_slice(&Sha256::digest(content));
    header
}

/// Returns true if a file is a content with its own header.
fn is_whole(file: &[u8]) -> bool {
    file.split_at_checked(HEADER).is_some_and(|(found, content)| found == header(content))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache_in(folder: &tempfile::TempDir) -> Cache {
        Cache::at(Some(folder.path().join("not/there/yet")))
    }

    fn content(cache: &Cache, key: &Key) -> Option<Vec<u8>> {
        cache.read(key).unwrap()
    }

    #[test]
    fn file_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache_in(&folder);
        let (one, other) = (Key::new("k", ["a"]), Key::new("k", ["b"]));
        assert_eq!(content(&cache, &one), None);
        cache.write(&one, b"one").unwrap();
        cache.write(&other, b"").unwrap();
        assert_eq!(content(&cache, &one), Some(b"one".to_vec()));
        assert_eq!(content(&cache, &other), Some(vec![]));
        cache.write(&one, b"another").unwrap();
        assert_eq!(content(&cache, &one), Some(b"another".to_vec()));
        assert_eq!(content(&cache.below("x"), &one), None);
        // Nothing is left of the temporary files.
        assert_eq!(fs::read_dir(cache.folder.unwrap()).unwrap().count(), 2);
    }

    #[test]
    fn trim_keeps_the_files_used_last() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache_in(&folder);
        let keys = ["a", "b", "c"].map(|text| Key::new("k", [text]));
        for (age, key) in keys.iter().enumerate() {
            cache.write(key, &[0; 100]).unwrap();
            let file = File::options().write(true).open(cache.path(key).unwrap()).unwrap();
            let age = std::time::Duration::from_secs(1000 * (3 - age as u64));
            file.set_modified(SystemTime::now() - age).unwrap();
        }
        // The oldest is used again.
        assert!(content(&cache, &keys[0]).is_some());
        cache.trim(2 * (100 + HEADER as u64)).unwrap();
        let left = keys.each_ref().map(|key| content(&cache, key).is_some());
        assert_eq!(left, [true, false, true]);
    }

    #[test]
    fn content_is_made_once_for_all_threads() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache_in(&folder);
        let key = Key::new("k", ["a"]);
        let made = AtomicUsize::new(0);
        let report = |path: &Path, error| panic!("{}: {error}", path.display());
        let make = || {
            let content = cache.or_make(&key, u64::MAX, report, || {
                made.fetch_add(1, Ordering::Relaxed);
                Ok::<_, ()>(b"content".to_vec())
            });
            assert_eq!(content.unwrap(), b"content");
        };
        std::thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(make))));
        assert_eq!(made.into_inner(), 1);
        // No lock is left.
        assert_eq!(fs::read_dir(cache.folder.as_ref().unwrap()).unwrap().count(), 1);
        assert!(Cache::at(None).lock(&key).unwrap().is_none());
    }

    #[test]
    fn content_that_cannot_be_kept_is_made_and_reported() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let key = Key::new("k", ["a"]);
        let reports = AtomicUsize::new(0);
        let report = |_: &Path, _| {
            reports.fetch_add(1, Ordering::Relaxed);
        };
        let cache = Cache::at(Some(file));
        let made = cache.or_make(&key, u64::MAX, report, || Ok::<_, ()>(b"one".to_vec()));
        assert_eq!(made.unwrap(), b"one");
        // Two reads and a write.
        assert_eq!(reports.load(Ordering::Relaxed), 3);
        let failed = cache_in(&folder).or_make(&key, u64::MAX, report, || Err("no"));
        assert_eq!(failed.unwrap_err(), "no");
        assert_eq!(content(&cache_in(&folder), &key), None);
    }

    #[cfg(unix)]
    #[test]
    fn cache_that_others_can_write_is_refused() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let cache = cache_in(&folder);
        let key = Key::new("k", ["a"]);
        cache.write(&key, b"one").unwrap();
        let inside = cache.folder.clone().unwrap();
        let path = cache.path(&key).unwrap();
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        assert_eq!(fs::metadata(&inside).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        for mode in [0o720, 0o702, 0o777] {
            set(&inside, mode);
            cache.read(&key).unwrap_err();
            cache.write(&Key::new("k", ["b"]), b"two").unwrap_err();
            assert_eq!(fs::read_dir(&inside).unwrap().count(), 1, "{mode:o}");
        }
        set(&inside, 0o755);
        for mode in [0o620, 0o602, 0o666] {
            set(&path, mode);
            cache.read(&key).unwrap_err();
        }
        set(&path, 0o644);
        assert_eq!(content(&cache, &key), Some(b"one".to_vec()));
        // A link, even to a good file; and a folder of another user, where this one may give it
        // away.
        let aside = folder.path().join("aside");
        fs::rename(&path, &aside).unwrap();
        symlink(&aside, &path).unwrap();
        cache.read(&key).unwrap_err();
        fs::remove_file(&path).unwrap();
        fs::rename(&aside, &path).unwrap();
        if std::os::unix::fs::chown(&path, Some(65534), None).is_ok() {
            cache.read(&key).unwrap_err();
            std::os::unix::fs::chown(&path, Some(0), None).unwrap();
        }
        if std::os::unix::fs::chown(&inside, Some(65534), None).is_ok() {
            cache.read(&key).unwrap_err();
        }
    }

    #[test]
    fn damaged_file_is_refused_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache_in(&folder);
        let key = Key::new("k", ["a"]);
        cache.write(&key, b"some image").unwrap();
        let path = cache.path(&key).unwrap();
        let whole = fs::read(&path).unwrap();
        let refuse = |file: &[u8]| {
            fs::write(&path, file).unwrap();
            assert_eq!(cache.read(&key).unwrap_err().kind(), io::ErrorKind::InvalidData);
        };
        for cut in 0..whole.len() {
            refuse(&whole[..cut]);
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x40;
            refuse(&damaged);
        }
        refuse(&[&whole[..], b"x"].concat());
        cache.write(&key, b"some image").unwrap();
        assert_eq!(content(&cache, &key), Some(b"some image".to_vec()));
    }

    #[test]
    fn cache_without_a_folder_has_nothing() {
        let key = Key::new("k", ["a"]);
        let cache = Cache::at(None);
        cache.write(&key, b"image").unwrap();
        cache.trim(0).unwrap();
        assert_eq!(content(&cache, &key), None);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "in the way").unwrap();
        let cache = Cache::at(Some(file));
        cache.read(&key).unwrap_err();
        cache.write(&key, b"image").unwrap_err();
    }

    #[test]
    fn folder_is_from_the_environment() {
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
    fn keys_of_different_texts_differ() {
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
