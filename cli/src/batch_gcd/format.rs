//! Formats of documents, recognized by their first bytes.

use memchr::memrchr;

use super::lines::radix_of;
use super::pem::{ends_block, has_block};
use super::settings::Settings;
use super::ssh::has_key;
use super::table::Table;
use crate::job::digits::Radix;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Content of a document.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    Keys(Format),
    Gzip,
    Tar,
    Zip,
}

/// Format of keys.
#[derive(Debug, Clone)]
pub(crate) enum Format {
    Numbers(Radix),
    Table(Table),
    Pem,
    Ssh,
    WebKeys,
    Der,
}

/// Smallest part of a document that is parsed by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unit {
    Line,
    Pem,
}

impl Format {
    /// Returns the unit at whose end a document may be cut; `None` if it is read as a whole.
    pub(crate) fn unit(&self) -> Option<Unit> {
        match self {
            Self::Numbers(_) | Self::Ssh => Some(Unit::Line),
            Self::Pem => Some(Unit::Pem),
            Self::Table(_) | Self::WebKeys | Self::Der => None,
        }
    }
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Pem => "block",
        }
    }

    /// Returns the end of the last whole unit.
    pub(crate) fn last_end(self, text: &[u8]) -> Option<usize> {
        let last_line = memrchr(b'\n', text)? + 1;
        match self {
            Self::Line => Some(last_line),
            Self::Pem => {
                let mut end = last_line;
                while end > 0 {
                    let start = memrchr(b'\n', &text[..end - 1]).map_or(0, |at| at + 1);
                    if ends_block(&text[start..end]) {
                        return Some(end);
                    }
                    end = start;
                }
                // Text between blocks may be long.
                (!has_block(text)).then_some(last_line)
            }
        }
    }
}

/// Recognizes a document by its first bytes.
pub(crate) fn detect(head: &[u8], settings: &Settings) -> Content {
    /// Place of the magic number of a tar archive.
    const USTAR: usize = 257;
    match head {
        [0x1f, 0x8b, ..] => return Content::Gzip,
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => return Content::Zip,
        _ if head.get(USTAR..).is_some_and(|rest| rest.starts_with(b"ustar")) => {
            return Content::Tar;
        }
        _ => {}
    }
    let text = without_mark(head);
    Content::Keys(if let Some(table) = &settings.table {
        Format::Table(table.clone())
    } else if is_der(head) {
        Format::Der
    } else if has_block(text) {
        Format::Pem
    } else if matches!(text.trim_ascii_start(), [b'{' | b'[', ..]) {
        Format::WebKeys
    } else if has_key(text) {
        Format::Ssh
    } else {
        let radix = settings.radix.or_else(|| radix_of(text));
        Format::Numbers(radix.unwrap_or(Radix::Decimal))
    })
}

/// Returns a text without its byte order mark.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// Returns true for a sequence of DER. It starts with the byte of the digit 0, so its length, or
/// what follows that, must not be text.
fn is_der(head: &[u8]) -> bool {
    let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..0x7f);
    head.first() == Some(&0x30) && !head.iter().take(32).all(is_text)
}
