//! Digits: the machine words of a shape.

use std::fmt;

/// The machine word of a shape, as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DigitKind {
    /// 16-bit digits.
    U16,
    /// 32-bit digits.
    U32,
    /// 64-bit digits.
    U64,
}

impl DigitKind {
    /// Every digit, from narrow to wide.
    pub const ALL: [Self; 3] = [Self::U16, Self::U32, Self::U64];

    /// Number of bits of a digit.
    #[must_use]
    pub const fn bits(self) -> usize {
        match self {
            Self::U16 => 16,
            Self::U32 => 32,
            Self::U64 => 64,
        }
    }

    /// Name of the type in Rust and CUDA: `u16`, `u32` or `u64`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
        }
    }

    /// Returns the digit with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|digit| digit.name() == name)
    }
}

impl fmt::Display for DigitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
