//! Blocks of base64 between `-----BEGIN LABEL-----` and `-----END LABEL-----`.
//!
//! Text outside the blocks is skipped, as OpenSSL writes some before a certificate. The headers of
//! RFC 1421, which old private keys have, are read as far as they tell that a key is encrypted.

use base64ct::{Base64, Encoding};
use ssh_key::{PrivateKey, PublicKey};

use super::der::{self, Found, Structure};
use super::errors::KeyError;
use super::keys::{Kind, Limits, Parsed};
use super::lines::numbered_lines;
use super::place::Place;
use super::ssh;

/// Maximum bytes of a block.
pub(crate) const LONGEST_BLOCK: usize = 1 << 20;

/// Dashes of the boundary lines of PEM, and of RFC 4716, whose blocks are keys of SSH.
const DASHES: [(&str, &str); 2] = [("-----", "-----"), ("---- ", " ----")];

/// A block that is being read.
struct Open {
    label: String,
    place: Place,
    base64: String,
    /// True from a header line that goes on in the next one.
    header_goes_on: bool,
    is_encrypted: bool,
    is_too_long: bool,
}

/// Returns the label of a boundary line: `word` is BEGIN or END.
fn label<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    DASHES.iter().find_map(|(before, after)| {
        line.trim().strip_prefix(before)?.strip_prefix(word)?.strip_prefix(' ')?.strip_suffix(after)
    })
}

/// Returns true if the line ends a block.
pub(crate) fn ends_block(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|line| label(line, "END").is_some())
}

/// Returns true if the text has a line that begins a block.
pub(crate) fn has_block(text: &[u8]) -> bool {
    numbered_lines(text, 1).any(|(_, line)| {
        line.trim_ascii_start().starts_with(b"----")
            && std::str::from_utf8(line).is_ok_and(|line| label(line, "BEGIN").is_some())
    })
}

/// Adds the keys of whole blocks of a document, whose first line has the number `first`.
pub(crate) fn parse(text: &[u8], document: u32, first: u64, limits: Limits, into: &mut Parsed) {
    let mut open: Option<Open> = None;
    for (line, bytes) in numbered_lines(text, first) {
        let place = Place { document, line, entry: 0 };
        // A boundary is text; other text may be anything.
        let text = std::str::from_utf8(bytes).ok();
        if let Some(begun) = text.and_then(|text| label(text, "BEGIN")) {
            if let Some(unfinished) = open.take() {
                into.reject(unfinished.place, 0, KeyError::NoEnd(unfinished.label));
            }
            open = Some(Open::new(begun, place));
            continue;
        }
        let Some(block) = &mut open else { continue };
        match text {
            Some(text) if label(text, "END").is_some() => {
                let ended = label(text, "END").unwrap_or_default().to_owned();
                let Some(block) = open.take() else { continue };
                let read = block.read(&ended, limits, into);
                if let Err(reason) = read {
                    into.reject(block.place, 0, reason);
                }
            }
            Some(text) => block.push(text),
            None => {
                into.reject(place, 0, KeyError::NotText);
                open = None;
            }
        }
    }
    if let Some(unfinished) = open {
        into.reject(unfinished.place, 0, KeyError::NoEnd(unfinished.label));
    }
}

impl Open {
    fn new(label: &str, place: Place) -> Self {
        Self {
            label: label.to_owned(),
            place,
            base64: String::new(),
            header_goes_on: false,
            is_encrypted: false,
            is_too_long: false,
        }
    }

    /// Adds a line between the boundaries.
    fn push(&mut self, line: &str) {
        if line.contains(':') || self.header_goes_on {
            self.is_encrypted |= line.starts_with("Proc-Type:") && line.contains("ENCRYPTED");
            self.header_goes_on = line.ends_with('\\');
            return;
        }
        if self.base64.len() + line.len() > LONGEST_BLOCK {
            self.is_too_long = true;
            return;
        }
        self.base64.extend(line.split_ascii_whitespace());
    }

    /// Adds the key of the block, which ended with the label `ended`.
    fn read(&self, ended: &str, limits: Limits, into: &mut Parsed) -> Result<(), KeyError> {
        if ended != self.label {
            return Err(KeyError::OtherEnd(self.label.clone()));
        }
        if self.is_too_long {
            return Err(KeyError::TooLong { unit: "block", longest: LONGEST_BLOCK });
        }
        match self.find()? {
            Found::Rsa { modulus, kind } => into.push_bytes(&modulus, kind, self.place, limits),
            Found::Unused(reason) => {
                into.count_unused(&reason);
                Ok(())
            }
        }
    }

    fn find(&self) -> Result<Found, KeyError> {
        let structure = match self.label.as_str() {
            "CERTIFICATE" | "X509 CERTIFICATE" => Structure::Certificate,
            "TRUSTED CERTIFICATE" => Structure::TrustedCertificate,
            "CERTIFICATE REQUEST" | "NEW CERTIFICATE REQUEST" => Structure::Request,
            "PUBLIC KEY" => Structure::PublicKey,
            "RSA PUBLIC KEY" => Structure::RsaPublicKey,
            "ENCRYPTED PRIVATE KEY" => return Ok(der::encrypted()),
            _ if self.is_encrypted => return Ok(der::encrypted()),
            "PRIVATE KEY" => Structure::PrivateKey,
            "RSA PRIVATE KEY" => Structure::RsaPrivateKey,
            "OPENSSH PRIVATE KEY" => {
                let key = PrivateKey::from_bytes(&self.decode()?)
                    .map_err(|error| ssh::damaged("OpenSSH private key", &error))?;
                return Ok(ssh::found(key.public_key().key_data(), Kind::PrivateKey));
            }
            "SSH2 PUBLIC KEY" => {
                let key = PublicKey::from_bytes(&self.decode()?)
                    .map_err(|error| ssh::damaged("SSH key", &error))?;
                return Ok(ssh::found(key.key_data(), Kind::SshKey));
            }
            "EC PRIVATE KEY" => return Ok(Found::Unused("EC key".to_owned())),
            "DSA PRIVATE KEY" => return Ok(Found::Unused("DSA key".to_owned())),
            // As long as a label should be: it is shown.
            label => {
                let label: String = label.chars().take(40).collect();
                return Ok(Found::Unused(format!("block {label:?}")));
            }
        };
        der::read(&self.decode()?, structure)
    }

    fn decode(&self) -> Result<Vec<u8>, KeyError> {
        Base64::decode_vec(&self.base64).map_err(|error| KeyError::Base64(error.to_string()))
    }
}
