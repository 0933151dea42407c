//! Files that a job makes beside its output.
//!
//! Their names are predictable, and their folder may be open to others. They are opened without
//! following links, and only regular files of this user with one name are used.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::path::{Path, PathBuf};

use same_file::Handle;

/// Reason why a job does not use a file.
#[derive(Debug, thiserror::Error)]
#[error("{} {reason}", path.display())]
pub struct Refusal {
    path: PathBuf,
    reason: &'static str,
}

impl Refusal {
    pub fn new(path: &Path, reason: &'static str) -> Self {
        Self { path: path.to_owned(), reason }
    }
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        Self::other(refusal)
    }
}

/// Opens a file for reading and writing, or makes it. Nobody gets access beyond `permissions` but
/// the owner, who can write.
pub fn open_or_make(path: &Path, permissions: Option<&Permissions>) -> io::Result<File> {
    loop {
        let mut options = OpenOptions::new();
        system::create_with(&mut options, permissions);
        match options.read(true).write(true).create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made,
        }
        match open(path) {
            // Removed in the meantime.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => {
                let file = opened?;
                system::restrict(&file, permissions)?;
                return Ok(file);
            }
        }
    }
}

/// Opens an existing file for reading and writing.
pub fn open(path: &Path) -> io::Result<File> {
    check(path, &fs::symlink_metadata(path)?)?;
    let mut options = OpenOptions::new();
    system::follow_no_link(&mut options);
    let file = options.read(true).write(true).open(path)?;
    // The name may denote another file by now.
    check(path, &file.metadata()?)?;
    Ok(file)
}

/// Opens a regular file of anybody for reading, without following links.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    system::follow_no_link(&mut options);
    let file = options.read(true).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(Refusal::new(path, "is not a regular file").into());
    }
    Ok(file)
}

/// Refuses a name of a file that [`open`] refuses.
pub fn check_name(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(check(path, &metadata)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns true if `path` is a name of the open file, and no link to it.
pub fn is_named(file: &File, path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => {
            Ok(Handle::from_path(path)? == Handle::from_file(file.try_clone()?)?)
        }
        Ok(_) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns true if a folder exists, and refuses links, other files and folders of other users.
pub fn is_own_folder(path: &Path) -> io::Result<bool> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        metadata => metadata?,
    };
    match system::other_owner(&metadata) {
        _ if !metadata.is_dir() => Err(Refusal::new(path, "is not a folder").into()),
        Some(reason) => Err(Refusal::new(path, reason).into()),
        None => Ok(true),
    }
}

/// Makes a folder for this user alone, unless [`is_own_folder`] returns true.
pub fn make_own_folder(path: &Path) -> io::Result<()> {
    match system::make_folder(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => is_own_folder(path).map(drop),
        made => made,
    }
}

fn check(path: &Path, metadata: &Metadata) -> Result<(), Refusal> {
    let reason = if metadata.is_symlink() {
        Some("is a symbolic link")
    } else if !metadata.is_file() {
        Some("is not a regular file")
    } else {
        system::owner_or_links(metadata)
    };
    reason.map_or(Ok(()), |reason| Err(Refusal::new(path, reason)))
}

#[cfg(unix)]
mod system {
    use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
    use std::path::Path;

    use rustix::fs::OFlags;
    use rustix::process::geteuid;

    /// The bits of `permissions`, and those with which the owner can read and write.
    fn mode(permissions: &Permissions) -> u32 {
        permissions.mode() & 0o777 | 0o600
    }

    pub(super) fn create_with(options: &mut OpenOptions, permissions: Option<&Permissions>) {
        if let Some(permissions) = permissions {
            options.mode(mode(permissions));
        }
    }

    pub(super) fn restrict(file: &File, permissions: Option<&Permissions>) -> io::Result<()> {
        let Some(permissions) = permissions else { return Ok(()) };
        file.set_permissions(Permissions::from_mode(mode(permissions)))
    }

    /// Makes opening a link fail, and that of a pipe not wait for its other end.
    pub(super) fn follow_no_link(options: &mut OpenOptions) {
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    }

    pub(super) fn make_folder(path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(path)
    }

    pub(super) fn other_owner(metadata: &Metadata) -> Option<&'static str> {
        (metadata.uid() != geteuid().as_raw()).then_some("belongs to another user")
    }

    pub(super) fn owner_or_links(metadata: &Metadata) -> Option<&'static str> {
        let has_links = || (metadata.nlink() > 1).then_some("has a further name (a hard link)");
        other_owner(metadata).or_else(has_links)
    }
}

/// Windows: a new file inherits the access rights of its folder.
#[cfg(windows)]
mod system {
    use std::fs::{self, File, Metadata, OpenOptions, Permissions};
    use std::io;
    use std::os::windows::fs::OpenOptionsExt;
    use std::path::Path;

    const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;

    pub(super) fn create_with(_: &mut OpenOptions, _: Option<&Permissions>) {}

    pub(super) fn restrict(_: &File, _: Option<&Permissions>) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn follow_no_link(options: &mut OpenOptions) {
        options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
    }

    pub(super) fn make_folder(path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    pub(super) fn other_owner(_: &Metadata) -> Option<&'static str> {
        None
    }

    pub(super) fn owner_or_links(_: &Metadata) -> Option<&'static str> {
        None
    }
}
