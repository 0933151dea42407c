//! The error type of the plugin.

use std::io;
use std::path::PathBuf;

/// Result of every fallible call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reason why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Encryption, decryption or a sum failed.
    #[error(transparent)]
    Paillier(#[from] gpuint_paillier::Error),

    /// The device cannot be opened.
    #[error(transparent)]
    Device(#[from] gpuint::Error),

    /// An argument of the plugin is unknown or has no such value.
    #[error("argument {argument:?}: {rule}")]
    Argument {
        /// The argument, `NAME=VALUE`.
        argument: String,
        /// The rule that it breaks.
        rule: &'static str,
    },

    /// A file of a key cannot be read.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Reason given by the operating system.
        source: io::Error,
    },

    /// A message of another party is not one of this plugin, or is cut.
    #[error("a message of {bytes} bytes is not one of this plugin: {reason}")]
    Message {
        /// Bytes of the message, with those behind it.
        bytes: usize,
        /// The rule that it breaks.
        reason: &'static str,
    },

    /// Numbers of a call do not fit those of the calls before it.
    #[error("{0}")]
    Sequence(&'static str),

    /// A pointer is null.
    #[error("null pointer: {0}")]
    Null(&'static str),

    /// The function panicked, which is a fault of this library.
    #[error("internal error: {0}")]
    Panic(String),
}
