//! Places of keys in documents.

use std::fmt;

/// Place of a key in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Index of the document.
    pub(crate) document: u32,
    /// Line of the document, counted from 1; 0 where the document is no text.
    pub(crate) line: u64,
    /// Entry of a set of JSON web keys, counted from 1; 0 elsewhere.
    pub(crate) entry: u32,
}

/// Displays a place with the name of its document: `keys.txt:3`, `set.json#2`, `key.der`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) document: &'a str,
    pub(crate) place: Place,
}

impl fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.document)?;
        match self.place {
            Place { entry: entry @ 1.., .. } => write!(f, "#{entry}"),
            Place { line: line @ 1.., .. } => write!(f, ":{line}"),
            _ => Ok(()),
        }
    }
}
