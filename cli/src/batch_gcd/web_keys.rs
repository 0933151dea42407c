//! JSON web keys (RFC 7517): a key, a set of keys, an array of keys, or several of them in order.

use base64ct::{Base64UrlUnpadded, Encoding};
use serde_json::{Deserializer, Value};

use super::errors::KeyError;
use super::keys::{Kind, Limits, Parsed};
use super::place::Place;

/// Adds the keys of a document.
pub(crate) fn parse(text: &[u8], document: u32, limits: Limits, into: &mut Parsed) {
    let mut place = Place { document, line: 0, entry: 0 };
    for value in Deserializer::from_slice(text).into_iter::<Value>() {
        match value {
            Ok(value) => read_value(&value, &mut place, limits, into),
            Err(error) => {
                let at = Place { line: error.line() as u64, entry: 0, ..place };
                // The message ends with the place, which is shown by itself.
                let message = error.to_string();
                let message = message.split(" at line ").next().unwrap_or_default().to_owned();
                into.reject(at, error.column() as u64, KeyError::Json(message));
                return;
            }
        }
    }
}

/// Adds the keys of a value.
fn read_value(value: &Value, place: &mut Place, limits: Limits, into: &mut Parsed) {
    match (value, value.get("keys")) {
        (Value::Array(keys), _) | (_, Some(Value::Array(keys))) => {
            for key in keys {
                read_entry(key, place, limits, into);
            }
        }
        _ => read_entry(value, place, limits, into),
    }
}

fn read_entry(key: &Value, place: &mut Place, limits: Limits, into: &mut Parsed) {
    place.entry = place.entry.saturating_add(1);
    if let Err(reason) = read_key(key, *place, limits, into) {
        into.reject(*place, 0, reason);
    }
}

fn read_key(key: &Value, place: Place, limits: Limits, into: &mut Parsed) -> Result<(), KeyError> {
    let text = |name| key.get(name).and_then(Value::as_str).ok_or(KeyError::NoMember(name));
    let kind = text("kty")?;
    if kind != "RSA" {
        let kind: String = kind.chars().take(40).collect();
        into.count_unused(&format!("{} key", kind.escape_debug()));
        return Ok(());
    }
    let modulus = Base64UrlUnpadded::decode_vec(text("n")?.trim_end_matches('='))
        .map_err(|error| KeyError::Base64(error.to_string()))?;
    into.push_bytes(&modulus, Kind::WebKey, place, limits)
}
