//! Files of keys.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use gpuint_paillier::{PrivateKey, PublicKey};
use zeroize::Zeroizing;

use super::errors::AppError;

/// Writes a new file that only its owner can read, or everybody if it `is_public`.
pub(super) fn write(path: &Path, text: &str, is_public: bool) -> Result<(), AppError> {
    let written = create(path, is_public).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()
    });
    written.map_err(|source| AppError::WriteKey { path: path.to_owned(), source })
}

#[cfg(unix)]
fn create(path: &Path, is_public: bool) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    let mode = if is_public { 0o644 } else { 0o600 };
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

#[cfg(not(unix))]
fn create(path: &Path, _: bool) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

fn text(path: &Path) -> Result<Zeroizing<String>, AppError> {
    let read = fs::read_to_string(path).map(Zeroizing::new);
    read.map_err(|source| AppError::ReadKey { path: path.to_owned(), source })
}

/// Reads a private key.
pub(super) fn private(path: &Path) -> Result<PrivateKey, AppError> {
    PrivateKey::from_jwk(&text(path)?)
        .map_err(|source| AppError::Key { path: path.to_owned(), source })
}

/// Reads a public key, or that of a private key.
pub(super) fn public(path: &Path) -> Result<PublicKey, AppError> {
    let text = text(path)?;
    let key = match PrivateKey::from_jwk(&text) {
        Ok(key) => Ok(key.public().clone()),
        Err(_) => PublicKey::from_jwk(&text),
    };
    key.map_err(|source| AppError::Key { path: path.to_owned(), source })
}

/// Returns true if others than the owner can read a file.
#[cfg(unix)]
pub(super) fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;

    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
pub(super) fn is_open_to_others(_: &Path) -> bool {
    false
}
