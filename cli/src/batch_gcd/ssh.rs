//! Keys of OpenSSH: lines of `authorized_keys`, `known_hosts`, `*.pub` and `ssh-keyscan`.
//!
//! A line has a type such as `ssh-rsa` and the key in base64 behind it. Options or host names may
//! precede the type, a comment may follow the key.

use base64ct::{Base64, Encoding};
use ssh_encoding::Decode;
use ssh_key::PublicKey;
use ssh_key::public::{KeyData, RsaPublicKey};

use super::der::Found;
use super::errors::KeyError;
use super::keys::{Kind, Limits, Parsed};
use super::lines::{LONGEST_LINE, numbered_lines};
use super::place::Place;

/// End of the types of certificates of OpenSSH.
const CERTIFICATE: &str = "-cert-v01@openssh.com";

/// Adds the keys of some lines of a document, of which the first has the number `first`.
pub(crate) fn parse(text: &[u8], document: u32, first: u64, limits: Limits, into: &mut Parsed) {
    for (line, bytes) in numbered_lines(text, first) {
        let place = Place { document, line, entry: 0 };
        let content = bytes.trim_ascii();
        if content.is_empty() || content.starts_with(b"#") {
            continue;
        }
        let read = if bytes.len() > LONGEST_LINE {
            Err((0, KeyError::TooLong { unit: "line", longest: LONGEST_LINE }))
        } else {
            read_line(bytes, place, limits, into)
        };
        if let Err((column, reason)) = read {
            into.reject(place, column as u64, reason);
        }
    }
}

/// Returns true if a line of a text has the type of a key of OpenSSH.
pub(crate) fn has_key(text: &[u8]) -> bool {
    numbered_lines(text, 1).any(|(_, line)| {
        let comment = line.trim_ascii_start().starts_with(b"#");
        !comment && fields(line).any(|(_, field)| is_type(field))
    })
}

/// Returns true for the name of a type of keys.
fn is_type(field: &[u8]) -> bool {
    const TYPES: [&[u8]; 4] = [b"ssh-", b"ecdsa-sha2-", b"sk-ssh-", b"sk-ecdsa-"];
    TYPES.iter().any(|start| field.starts_with(start))
}

/// Returns the fields of a line with their columns, counted from 1. Blanks between double quotes
/// are no separators, as in the options of `authorized_keys`.
fn fields(line: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        rest += line[rest..].iter().position(|byte| !byte.is_ascii_whitespace())?;
        let start = rest;
        let (mut is_quoted, mut is_escaped) = (false, false);
        let end = line[start..].iter().position(|&byte| {
            let ends = byte.is_ascii_whitespace() && !is_quoted;
            is_quoted ^= byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            ends
        });
        rest = end.map_or(line.len(), |length| start + length);
        Some((start + 1, &line[start..rest]))
    })
}

/// Adds the key of a line; an error has its column.
fn read_line(
    line: &[u8],
    place: Place,
    limits: Limits,
    into: &mut Parsed,
) -> Result<(), (usize, KeyError)> {
    let mut fields = fields(line);
    let (column, name) = fields.find(|(_, field)| is_type(field)).ok_or((1, KeyError::NoSshKey))?;
    let (key_column, key) = fields.next().ok_or((column, KeyError::NoSshKey))?;
    let text = |bytes| std::str::from_utf8(bytes).map_err(|_| (column, KeyError::NotText));
    let (name, key) = (text(name)?, text(key)?);
    let at_key = |reason| (key_column, reason);
    let data =
        Base64::decode_vec(key).map_err(|error| at_key(KeyError::Base64(error.to_string())))?;
    let damaged = |error: &ssh_key::Error| at_key(damaged("SSH key", error));
    let found = if name == format!("ssh-rsa{CERTIFICATE}") {
        certified(&data).map_err(|error| damaged(&error))?
    } else if name == "ssh-rsa" {
        found(
            PublicKey::from_bytes(&data).map_err(|error| damaged(&error))?.key_data(),
            Kind::SshKey,
        )
    } else {
        // The type of a key that is not read.
        Found::Unused(format!("{} key", name.chars().take(60).collect::<String>().escape_debug()))
    };
    match found {
        Found::Rsa { modulus, kind } => {
            into.push_bytes(&modulus, kind, place, limits).map_err(at_key)
        }
        Found::Unused(reason) => {
            into.count_unused(&reason);
            Ok(())
        }
    }
}

/// Returns the key of a certificate, whose type and random bytes precede it (PROTOCOL.certkeys of
/// OpenSSH). What follows it is not read.
fn certified(mut data: &[u8]) -> ssh_key::Result<Found> {
    let name = String::decode(&mut data)?;
    if name != format!("ssh-rsa{CERTIFICATE}") {
        return Ok(Found::Unused(format!("{} key", name.escape_debug())));
    }
    let _nonce = Vec::<u8>::decode(&mut data)?;
    let key = RsaPublicKey::decode(&mut data)?;
    Ok(found(&KeyData::Rsa(key), Kind::SshKey))
}

/// Returns the content of a key.
pub(crate) fn found(key: &KeyData, kind: Kind) -> Found {
    match key.rsa().and_then(|rsa| rsa.n.as_positive_bytes()) {
        Some(modulus) => Found::Rsa { modulus: modulus.to_vec(), kind },
        None => Found::Unused(format!("{} key", key.algorithm())),
    }
}

/// Makes the error for a key that is not as it must be.
pub(crate) fn damaged(what: &'static str, error: &ssh_key::Error) -> KeyError {
    KeyError::Damaged { what, reason: error.to_string() }
}
