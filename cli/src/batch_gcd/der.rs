//! Keys in DER: certificates, certificate requests, and keys of PKCS#1 and PKCS#8.
//!
//! Of a private key only the modulus is used, which is public.

use der::asn1::{AnyRef, ObjectIdentifier, UintRef};
use der::{Decode, ErrorKind, Header, SliceReader, Tag};
use pkcs1::{RsaPrivateKey, RsaPublicKey};
use pkcs8::{EncryptedPrivateKeyInfoRef, PrivateKeyInfoRef};
use spki::SubjectPublicKeyInfoRef;
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::request::CertReq;

use super::errors::KeyError;
use super::keys::Kind;

/// Algorithms whose keys are RSA keys of PKCS#1: rsaEncryption, id-RSAES-OAEP, id-RSASSA-PSS, and
/// the id-ea-rsa of X.509 of 1988.
const RSA: [ObjectIdentifier; 4] = [
    ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1"),
    ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.7"),
    ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.10"),
    ObjectIdentifier::new_unwrap("2.5.8.1.1"),
];

/// Content of a structure.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Bytes of the modulus of an RSA key, the highest first.
    Rsa { modulus: Vec<u8>, kind: Kind },
    /// A structure without a modulus that can be used, for this reason.
    Unused(String),
}

/// Structures by the type of their first element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Structure {
    Certificate,
    /// A certificate with trust settings of OpenSSL behind it.
    TrustedCertificate,
    Request,
    PublicKey,
    RsaPublicKey,
    PrivateKey,
    RsaPrivateKey,
}

/// Returns the key in a structure of an unknown type.
pub(crate) fn find(data: &[u8]) -> Result<Found, KeyError> {
    check_length(data)?;
    const ORDER: [Structure; 6] = [
        Structure::Certificate,
        Structure::Request,
        Structure::PublicKey,
        Structure::RsaPublicKey,
        Structure::PrivateKey,
        Structure::RsaPrivateKey,
    ];
    if let Some(found) = ORDER.into_iter().find_map(|structure| read(data, structure).ok()) {
        return Ok(found);
    }
    match EncryptedPrivateKeyInfoRef::from_der(data) {
        Ok(_) => Ok(encrypted()),
        Err(_) => Err(KeyError::UnknownDer),
    }
}

/// Returns the key in a structure.
pub(crate) fn read(data: &[u8], structure: Structure) -> Result<Found, KeyError> {
    match structure {
        Structure::Certificate => {
            let damaged = damaged("certificate");
            let certificate = CertificateInner::<Raw>::from_der(data).map_err(&damaged)?;
            of_certificate(&certificate)
        }
        Structure::TrustedCertificate => {
            let damaged = damaged("certificate");
            let mut reader = SliceReader::new(data).map_err(&damaged)?;
            of_certificate(&CertificateInner::decode(&mut reader).map_err(&damaged)?)
        }
        Structure::Request => {
            let request = CertReq::from_der(data).map_err(damaged("certificate request"))?;
            let key = &request.info.public_key;
            public_key(key.algorithm.oid, key.subject_public_key.as_bytes(), Kind::Request)
        }
        Structure::PublicKey => {
            let key = SubjectPublicKeyInfoRef::from_der(data).map_err(damaged("public key"))?;
            public_key(key.algorithm.oid, key.subject_public_key.as_bytes(), Kind::PublicKey)
        }
        Structure::RsaPublicKey => rsa_public_key(data, Kind::PublicKey),
        Structure::PrivateKey => {
            let key = PrivateKeyInfoRef::from_der(data).map_err(damaged("private key"))?;
            match RSA.contains(&key.algorithm.oid) {
                true => rsa_private_key(key.private_key.as_bytes()),
                false => Ok(not_rsa(key.algorithm.oid)),
            }
        }
        Structure::RsaPrivateKey => rsa_private_key(data),
    }
}

/// An encrypted private key.
pub(crate) fn encrypted() -> Found {
    Found::Unused("encrypted private key".to_owned())
}

fn of_certificate(certificate: &CertificateInner<Raw>) -> Result<Found, KeyError> {
    let key = certificate.tbs_certificate().subject_public_key_info();
    public_key(key.algorithm.oid, key.subject_public_key.as_bytes(), Kind::Certificate)
}

/// Returns the key of an algorithm; `None` for bits that are not whole bytes.
fn public_key(
    algorithm: ObjectIdentifier,
    key: Option<&[u8]>,
    kind: Kind,
) -> Result<Found, KeyError> {
    match key {
        _ if !RSA.contains(&algorithm) => Ok(not_rsa(algorithm)),
        Some(key) => rsa_public_key(key, kind),
        None => Err(damaged("public key")(Tag::BitString.value_error().into())),
    }
}

fn rsa_public_key(data: &[u8], kind: Kind) -> Result<Found, KeyError> {
    let key = RsaPublicKey::<UintRef<'_>>::from_der(data).map_err(damaged("RSA public key"))?;
    Ok(Found::Rsa { modulus: key.modulus.as_bytes().to_vec(), kind })
}

fn rsa_private_key(data: &[u8]) -> Result<Found, KeyError> {
    let key = RsaPrivateKey::<UintRef<'_>>::from_der(data).map_err(damaged("RSA private key"))?;
    Ok(Found::Rsa { modulus: key.modulus.as_bytes().to_vec(), kind: Kind::PrivateKey })
}

/// Names the algorithm of a key that is no RSA key.
fn not_rsa(algorithm: ObjectIdentifier) -> Found {
    let name = match algorithm.to_string().as_str() {
        "1.2.840.10045.2.1" => "EC".to_owned(),
        "1.2.840.10040.4.1" => "DSA".to_owned(),
        "1.2.840.10046.2.1" | "1.2.840.113549.1.3.1" => "Diffie-Hellman".to_owned(),
        "1.3.101.110" => "X25519".to_owned(),
        "1.3.101.111" => "X448".to_owned(),
        "1.3.101.112" => "Ed25519".to_owned(),
        "1.3.101.113" => "Ed448".to_owned(),
        other => format!("algorithm {other}"),
    };
    Found::Unused(format!("{name} key"))
}

/// Checks that the data are one element of their length.
fn check_length(data: &[u8]) -> Result<(), KeyError> {
    let damaged = damaged("DER structure");
    let mut reader = SliceReader::new(data).map_err(&damaged)?;
    let header = Header::decode(&mut reader).map_err(&damaged)?;
    header.tag().assert_eq(Tag::Sequence).map_err(&damaged)?;
    AnyRef::from_der(data).map_err(damaged)?;
    Ok(())
}

/// Makes the error for a structure that is not as it must be.
fn damaged(what: &'static str) -> impl Fn(der::Error) -> KeyError {
    move |error| {
        let reason = match error.kind() {
            ErrorKind::Incomplete { expected_len, actual_len } => {
                format!("it has {actual_len} bytes of {expected_len}")
            }
            ErrorKind::TrailingData { remaining, .. } => {
                format!("{remaining} bytes follow it")
            }
            _ => error.to_string(),
        };
        KeyError::Damaged { what, reason }
    }
}
