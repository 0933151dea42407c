//! The names of one `{ }`.

use std::collections::HashMap;

use crate::instr::RowInit;
use crate::types::Type;

/// A register's place.
#[derive(Clone, Copy)]
pub(crate) enum Reg {
    /// Row and width in bits.
    Row(u32, u32),
    Pred(u32),
}

#[derive(Default)]
pub(crate) struct Scope<'a> {
    pub parent: Option<usize>,
    pub registers: HashMap<&'a str, Reg>,
    /// `%r<9>`: prefix, count, type.
    pub ranges: Vec<(&'a str, u64, Type)>,
    /// Addresses of `.local`, `.shared` and `.param` variables.
    pub variables: HashMap<&'a str, RowInit>,
    /// Frame offset and size of `.param` variables, for calls.
    pub frames: HashMap<&'a str, (u32, u32)>,
    pub labels: HashMap<&'a str, u32>,
    /// `.branchtargets` lists.
    pub targets: HashMap<&'a str, Vec<&'a str>>,
}

impl Scope<'_> {
    /// The type of `%r7`, where `%r<9>` is declared here.
    pub(super) fn in_range(&self, name: &str) -> Option<Type> {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        // A prefix may itself end in digits (`%x1<4>` declares `%x10`..`%x13`).
        self.ranges.iter().find_map(|&(start, count, ty)| {
            let digits = name.strip_prefix(start)?;
            let canonical = digits == "0" || !digits.starts_with('0');
            let fits = prefix.len() <= start.len() && canonical;
            (fits && digits.parse::<u64>().is_ok_and(|n| n < count)).then_some(ty)
        })
    }
}
