//! From options to an exit status: reads keys and tables, and computes chunk by chunk.

use std::time::Instant;

use gpuint_paillier::{Decryptor, Encryptor, Number, Primes, PrivateKey};
use num_bigint::BigInt;

use super::chunk::Results;
use super::errors::AppError;
use super::job::ColumnJob;
use super::keys;
use super::options::{Decrypt, Encrypt, Keygen, Options, Task, first_device};
use super::report::Report;
use super::status::Status;
use super::sums::sum;
use super::table::Kind;
use crate::job::streams::Streams;

/// Bits of an integer that is written in decimal digits, at most.
const DECIMAL_BITS: u64 = 1 << 16;

/// Runs the job that the options describe.
///
/// # Errors
/// [`AppError`] for arguments, files, keys, devices and fields that are no numbers.
pub(crate) fn run(options: &Options, streams: Streams<'_>) -> Result<Status, AppError> {
    match &options.task {
        Task::Keygen(options) => keygen(options, streams),
        Task::Encrypt(options) => encrypt(options, streams),
        Task::Decrypt(options) => decrypt(options, streams),
        Task::Sum(options) => sum(options, streams),
    }
}

fn keygen(options: &Keygen, streams: Streams<'_>) -> Result<Status, AppError> {
    let Streams { stdout, stderr, .. } = streams;
    let start = Instant::now();
    let device = first_device(&options.devices)?;
    let primes = if options.safe_primes { Primes::Safe } else { Primes::Blum };
    let key = PrivateKey::generate(&device, options.bits, primes)?;
    keys::write(&options.key, &key.to_jwk()?, false)?;
    keys::write(&options.public, &key.public().to_jwk()?, true)?;
    let report = Report { task: "keygen", rows: 1, key: key.public(), device: &device, start };
    report.write(options.json, stdout, stderr)?;
    Ok(Status::Done)
}

fn encrypt(options: &Encrypt, streams: Streams<'_>) -> Result<Status, AppError> {
    let key = keys::public(&options.source.key)?;
    let device = first_device(&options.source.devices)?;
    let is_short = key.short_base().is_some() && !options.long_exponents;
    let encryptor =
        if is_short { Encryptor::short(&device, &key) } else { Encryptor::new(&device, &key) }?;
    let exponent = options.exponent;
    let text = exponent.map_or("exact".to_owned(), |exponent| exponent.to_string());
    let job = ColumnJob {
        task: "encrypt",
        source: &options.source,
        kind: Kind::Numbers,
        resume: options.resume,
        settings: vec![("exponent", text)],
        key: &key,
        device: &device,
    };
    job.run(streams, &mut |chunk| {
        let numbers = chunk.texts()?.iter().enumerate().map(|(row, text)| {
            number(text, exponent).map_err(|reason| chunk.error(row, format!("{text:?} {reason}")))
        });
        let numbers: Vec<Number> = numbers.collect::<Result<_, _>>()?;
        Ok(Results::Numbers(chunk.placed(encryptor.encrypt_numbers(&numbers))?))
    })
}

fn decrypt(options: &Decrypt, streams: Streams<'_>) -> Result<Status, AppError> {
    let path = &options.source.key;
    if keys::is_open_to_others(path) {
        let path = path.display();
        let _ = writeln!(streams.stderr, "warning: others can read {path}: chmod 600");
    }
    let key = keys::private(path)?;
    let device = first_device(&options.source.devices)?;
    let encryptor = Encryptor::new(&device, key.public())?;
    let decryptor = Decryptor::new(&device, &key)?;
    let job = ColumnJob {
        task: "decrypt",
        source: &options.source,
        kind: Kind::Texts,
        resume: options.resume,
        settings: Vec::new(),
        key: key.public(),
        device: &device,
    };
    job.run(streams, &mut |chunk| {
        let encrypted = chunk.encrypted(&encryptor)?;
        let numbers = chunk.placed(decryptor.decrypt_numbers(&encrypted))?;
        let texts = numbers.iter().enumerate().map(|(row, number)| {
            decimal(number).ok_or_else(|| chunk.error(row, "the number is out of range"))
        });
        Ok(Results::Texts(texts.collect::<Result<_, _>>()?))
    })
}

/// Reads an integer or a decimal number; fails with the reason.
fn number(text: &str, exponent: Option<i32>) -> Result<Number, &'static str> {
    let text = text.trim();
    let Ok(integer) = text.parse::<BigInt>() else {
        let value: f64 = text.parse().map_err(|_| "is not a number")?;
        let number = match exponent {
            Some(exponent) => Number::rounded(value, exponent),
            None => Number::exact(value),
        };
        return number.ok_or("is out of range");
    };
    // An integer has no digits below 1.
    let exponent = exponent.unwrap_or(0).min(0);
    let shift = u64::from(exponent.unsigned_abs()) * 4;
    if shift > DECIMAL_BITS {
        return Err("is out of range");
    }
    Ok(Number::new(integer << shift, exponent))
}

/// Returns an integer where the exponent is not negative, and the nearest `f64` elsewhere; `None`
/// for a number out of range.
fn decimal(number: &Number) -> Option<String> {
    if number.exponent() < 0 {
        return number.to_f64().map(|value| format!("{value:?}"));
    }
    let integer = number.to_integer().filter(|integer| integer.bits() <= DECIMAL_BITS)?;
    Some(integer.to_string())
}
