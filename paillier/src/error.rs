//! The error type of the crate.

/// Result of every fallible call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reason why a call failed. Rows are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The arithmetic on the device failed.
    #[error(transparent)]
    Library(#[from] gpuint::Error),

    /// The operating system has no randomness.
    #[error("the operating system has no randomness: {0}")]
    Randomness(String),

    /// A key has a length that is not offered.
    #[error("keys have an even number of bits from 1024 to 8192, not {bits}")]
    KeyBits {
        /// Bits of the modulus.
        bits: u64,
    },

    /// Numbers do not form a key.
    #[error("not a key: {reason}")]
    InvalidKey {
        /// The rule that they break.
        reason: &'static str,
    },

    /// The public key has no base for short exponents.
    #[error(
        "the key has no base for short exponents; generate one, or use PrivateKey::with_short_base"
    )]
    NoShortBase,

    /// Ciphertexts, or ciphertexts and a key, belong to different keys.
    #[error("the ciphertexts belong to another key")]
    KeyMismatch,

    /// Two columns have different numbers of rows.
    #[error("the numbers of rows differ: {left} and {right}")]
    LengthMismatch {
        /// Number of rows of the receiver.
        left: usize,
        /// Number of rows of the other column.
        right: usize,
    },

    /// A plaintext is not below the modulus, or a signed one not in `-max ..= max`.
    #[error("the plaintext of row {row} is out of the range of the key")]
    PlaintextRange {
        /// The lowest row that is out of range.
        row: usize,
    },

    /// A number is infinite or not a number.
    #[error("row {row} is not a finite number")]
    NotFinite {
        /// The lowest row that is not finite.
        row: usize,
    },

    /// A decrypted number is in the range between the positive and the negative numbers, or too
    /// large for a `f64`.
    #[error("the number of row {row} has overflowed")]
    Overflow {
        /// The lowest row that has overflowed.
        row: usize,
    },

    /// A number has a fraction, or more than 64 bits.
    #[error("the number of row {row} is not an integer of 64 bits")]
    NotAnInteger {
        /// The lowest row that is not such an integer.
        row: usize,
    },

    /// The exponents of two numbers are too far apart to be added, or their sum is too large.
    #[error("the exponent of row {row} is out of the range of the key")]
    ExponentRange {
        /// The lowest row whose exponent is out of range.
        row: usize,
    },

    /// A number is not a ciphertext of the key: not a unit modulo the square of the modulus.
    #[error("row {row} is not a ciphertext of the key")]
    NotACiphertext {
        /// The lowest row that is not a ciphertext.
        row: usize,
    },

    /// A row belongs to a group that does not exist.
    #[error("row {row} belongs to group {group}, but there are {groups} groups")]
    NoSuchGroup {
        /// The lowest such row.
        row: usize,
        /// Its group.
        group: usize,
        /// Number of groups.
        groups: usize,
    },

    /// Slots do not fit in a plaintext.
    #[error("no slot of {bits} bits fits in a plaintext of the key")]
    SlotBits {
        /// Bits of a slot.
        bits: usize,
    },

    /// A text is not a key of the format.
    #[error("not of the format: {0}")]
    Format(String),

    /// A text is not a number of the format.
    #[error("the text of row {row} is not an encrypted number: {reason}")]
    NotANumber {
        /// The lowest row that is not a number.
        row: usize,
        /// The problem with it.
        reason: String,
    },
}

/// Fails unless two columns have the same number of rows.
pub(crate) fn check_lengths(left: usize, right: usize) -> Result<()> {
    if left == right { Ok(()) } else { Err(Error::LengthMismatch { left, right }) }
}
