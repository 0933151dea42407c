//! From options to an exit status: reads keys and tables, and computes chunk by chunk.

use std::collections::HashMap;
use std::io::{self, BufRead, BufWriter, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use csv::ByteRecord;
use gpuint::Device;
use gpuint_paillier::{
    Decryptor, EncryptedNumbers, Encryptor, Number, Primes, PrivateKey, PublicKey,
};
use num_bigint::BigInt;
use serde_json::json;

use super::column::{Chunk, Table, replaced, written};
use super::errors::AppError;
use super::keys;
use super::options::{Decrypt, Encrypt, Keygen, Options, Source, Sum, Task};
use crate::job::destination::{Output, written_files};
use crate::job::devices::DeviceOptions;
use crate::job::input::{BUFFER, is_stream, open, refuse_same_file};
use crate::job::output::Format;
use crate::job::progress::progress_bar;
use crate::job::status::STOPPED;
use crate::job::streams::Streams;
use crate::job::units::{Rate, Time};

/// Bits of an integer that is written in decimal digits, at most.
const DECIMAL_BITS: u64 = 1 << 16;

/// End of a job that did not stop with an [`AppError`] (exit status 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Done,
    /// The job was interrupted, or its reader closed the pipe.
    Stopped,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Done => Self::SUCCESS,
            Status::Stopped => Self::from(STOPPED),
        }
    }
}

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

/// Opens the first of the devices.
fn device(options: &DeviceOptions) -> Result<Device, AppError> {
    Ok(options.open()?.devices()[0].clone())
}

fn keygen(options: &Keygen, streams: Streams<'_>) -> Result<Status, AppError> {
    let Streams { stdout, stderr, .. } = streams;
    let start = Instant::now();
    let device = device(&options.devices)?;
    let primes = if options.safe_primes { Primes::Safe } else { Primes::Blum };
    let key = PrivateKey::generate(&device, options.bits, primes)?;
    keys::write(&options.key, &key.to_jwk()?, false)?;
    keys::write(&options.public, &key.public().to_jwk()?, true)?;
    let report = Report { task: "keygen", rows: 1, key: key.public(), device: &device, start };
    report.write(options.json, stdout, stderr)?;
    Ok(Status::Done)
}

/// Facts of a job that is done.
struct Report<'a> {
    task: &'static str,
    rows: u64,
    key: &'a PublicKey,
    device: &'a Device,
    start: Instant,
}

impl Report<'_> {
    /// Writes an object of JSON to standard output, or a line to standard error.
    fn write(
        &self,
        is_json: bool,
        stdout: &mut dyn Write,
        stderr: &mut dyn Write,
    ) -> Result<(), AppError> {
        let Self { task, rows, key, device, start } = self;
        let (time, bits) = (start.elapsed(), key.modulus().bits());
        if is_json {
            let object = json!({
                "task": task, "rows": rows, "key_bits": bits, "device": device.to_string(),
                "seconds": time.as_secs_f64(),
            });
            let written = writeln!(stdout, "{object}").and_then(|()| stdout.flush());
            return written.map_err(|source| AppError::Write { source });
        }
        // Standard error may be closed.
        let _ = writeln!(
            stderr,
            "{task}: {rows} rows on {device}, key of {bits} bits: {}{}",
            Time(time),
            Rate(*rows, time)
        );
        Ok(())
    }
}

fn encrypt(options: &Encrypt, streams: Streams<'_>) -> Result<Status, AppError> {
    let key = keys::public(&options.source.key)?;
    let device = device(&options.source.devices)?;
    let is_short = key.short_base().is_some() && !options.long_exponents;
    let encryptor =
        if is_short { Encryptor::short(&device, &key) } else { Encryptor::new(&device, &key) }?;
    let exponent = options.exponent;
    let text = exponent.map_or("exact".to_owned(), |exponent| exponent.to_string());
    let job = ColumnJob {
        task: "encrypt",
        source: &options.source,
        resume: options.resume,
        settings: vec![("exponent", text)],
        key: &key,
        device: &device,
    };
    job.run(streams, &mut |fields, lines| {
        let number = |(&field, &line): (&&str, &u64)| number(field, exponent, line);
        let numbers: Vec<Number> =
            fields.iter().zip(lines).map(number).collect::<Result<_, _>>()?;
        Ok(encryptor.encrypt_numbers(&numbers).and_then(|numbers| numbers.to_json())?)
    })
}

fn decrypt(options: &Decrypt, streams: Streams<'_>) -> Result<Status, AppError> {
    let path = &options.source.key;
    if keys::is_open_to_others(path) {
        let path = path.display();
        let _ = writeln!(streams.stderr, "warning: others can read {path}: chmod 600");
    }
    let key = keys::private(path)?;
    let device = device(&options.source.devices)?;
    let encryptor = Encryptor::new(&device, key.public())?;
    let decryptor = Decryptor::new(&device, &key)?;
    let job = ColumnJob {
        task: "decrypt",
        source: &options.source,
        resume: options.resume,
        settings: Vec::new(),
        key: key.public(),
        device: &device,
    };
    job.run(streams, &mut |fields, lines| {
        let numbers = decryptor.decrypt_numbers(&encryptor.numbers_from_json(fields)?)?;
        numbers.iter().zip(lines).map(|(number, &line)| decimal(number, line)).collect()
    })
}

/// Reads an integer or a decimal number.
fn number(field: &str, exponent: Option<i32>, line: u64) -> Result<Number, AppError> {
    let failed = |reason: &str| AppError::Field { line, reason: format!("{field:?} {reason}") };
    let Ok(integer) = field.parse::<BigInt>() else {
        let value: f64 = field.parse().map_err(|_| failed("is not a number"))?;
        let number = match exponent {
            Some(exponent) => Number::rounded(value, exponent),
            None => Number::exact(value),
        };
        return number.ok_or_else(|| failed("is out of range"));
    };
    // An integer has no digits below 1.
    let exponent = exponent.unwrap_or(0).min(0);
    let shift = u64::from(exponent.unsigned_abs()) * 4;
    if shift > DECIMAL_BITS {
        return Err(failed("is out of range"));
    }
    Ok(Number::new(integer << shift, exponent))
}

/// Returns an integer where the exponent is not negative, and the nearest `f64` elsewhere.
fn decimal(number: &Number, line: u64) -> Result<String, AppError> {
    let failed = || AppError::Field { line, reason: "the number is out of range".to_owned() };
    if number.exponent() < 0 {
        return number.to_f64().map(|value| format!("{value:?}")).ok_or_else(failed);
    }
    let integer = number.to_integer().filter(|integer| integer.bits() <= DECIMAL_BITS);
    integer.map(|integer| integer.to_string()).ok_or_else(failed)
}

/// Replaces the fields of a column, which are on these lines.
type Replace<'a> = dyn FnMut(&[&str], &[u64]) -> Result<Vec<String>, AppError> + 'a;

/// A job that replaces the fields of a column.
struct ColumnJob<'a> {
    task: &'static str,
    source: &'a Source,
    resume: bool,
    /// Options on which the results depend.
    settings: Vec<(&'static str, String)>,
    key: &'a PublicKey,
    device: &'a Device,
}

impl ColumnJob<'_> {
    fn run(self, streams: Streams<'_>, replace: &mut Replace<'_>) -> Result<Status, AppError> {
        let Streams { mut stdin, stdout, stderr, progress, stop, watch } = streams;
        let start = Instant::now();
        let source = self.source;
        let mut reading = Reading::open(source, &mut *stdin, stop)?;
        let mut table = Table::new(&mut reading.input, &source.column)?;
        let index = table.index(&source.column)?;
        let mut output = opened(source, self.format(), self.resume)?;
        let mut stdout = BufWriter::with_capacity(BUFFER, stdout);
        let mut done = 0;
        let mut is_new = true;
        if let Output::File(file) = &mut output
            && let Some(progress) = file.resumed().cloned()
        {
            let mut is_same = table.skip(&progress.position)?;
            if is_same && file.is_complete() {
                is_same = table.chunk(1)?.rows.is_empty();
            }
            if !is_same {
                return Err(file.other_input().into());
            }
            if file.is_complete() {
                file.finish()?;
                let _ = writeln!(stderr, "the output is complete: no row is left");
                return Ok(Status::Done);
            }
            is_new = false;
            done = progress.position.bytes;
            let _ = writeln!(stderr, "resuming after row {}", progress.position.line);
        } else if self.resume {
            let _ = writeln!(stderr, "nothing to resume: starting at the first row");
        }
        watch();
        let bar = progress_bar(progress, reading.size, done);
        let mut rows = 0;
        let result = output.lines(&mut stdout).map_or(Ok(()), |lines| {
            let failed = |source| AppError::Write { source };
            if is_new {
                lines.write_all(&written(table.names())?).map_err(failed)?;
            }
            while !stop.load(Ordering::Relaxed) {
                let chunk = table.chunk(source.chunk_rows.get())?;
                if chunk.rows.is_empty() {
                    return Ok(());
                }
                let results = on_lines(&chunk, replace(&chunk.fields(index)?, &chunk.lines))?;
                let all: Vec<ByteRecord> = chunk
                    .rows
                    .iter()
                    .zip(&results)
                    .map(|(row, field)| replaced(row, index, field))
                    .collect();
                lines.write_all(&written(&all)?).and_then(|()| lines.flush()).map_err(failed)?;
                lines.passed(&table.position(), 0).map_err(failed)?;
                rows += all.len() as u64;
                bar.set_position(table.position().bytes);
            }
            Err(AppError::Read { source: io::ErrorKind::Interrupted.into() })
        });
        bar.finish_and_clear();
        if let Err(error) = result {
            if let Output::File(file) = &mut output
                && file.suspend()
            {
                let _ = writeln!(stderr, "the results so far are kept: --resume goes on");
            }
            return stopped(error, stop, stderr);
        }
        if let Output::File(file) = &mut output {
            file.finish()?;
        }
        let (task, key, device) = (self.task, self.key, self.device);
        Report { task, rows, key, device, start }.write(source.json, &mut stdout, stderr)?;
        Ok(Status::Done)
    }

    fn format(&self) -> Format {
        let modulus = self.key.modulus().to_str_radix(16);
        let column = self.source.column.to_string().escape_debug().to_string();
        let own = [("task", self.task.to_owned()), ("column", column), ("key", modulus)];
        let options = own.into_iter().chain(self.settings.iter().cloned()).collect();
        Format { header: "gpuint paillier 1", options }
    }
}

/// Names the line of an error of a row.
fn on_lines<T>(chunk: &Chunk, result: Result<T, AppError>) -> Result<T, AppError> {
    use gpuint_paillier::Error;

    let at = |row: usize, reason: String| match chunk.lines.get(row) {
        Some(&line) => AppError::Field { line, reason },
        None => AppError::Field { line: 0, reason },
    };
    result.map_err(|error| match error {
        AppError::Paillier(
            error @ (Error::PlaintextRange { row }
            | Error::NotFinite { row }
            | Error::Overflow { row }
            | Error::ExponentRange { row }
            | Error::NotACiphertext { row }
            | Error::NotANumber { row, .. }),
        ) => at(row, error.to_string()),
        error => error,
    })
}

/// Result of a job that stopped early: its status, or the error.
fn stopped(error: AppError, stop: &AtomicBool, stderr: &mut dyn Write) -> Result<Status, AppError> {
    let reason = match error {
        AppError::Write { source } if source.kind() == io::ErrorKind::BrokenPipe => {
            "nobody reads the results"
        }
        AppError::Read { .. } if stop.load(Ordering::Relaxed) => "interrupted",
        error => return Err(error),
    };
    let _ = writeln!(stderr, "paillier: {reason}");
    Ok(Status::Stopped)
}

/// An open table.
struct Reading<'a> {
    input: Box<dyn Read + 'a>,
    size: Option<u64>,
}

impl<'a> Reading<'a> {
    fn open(
        source: &Source,
        stdin: &'a mut (dyn BufRead + Send),
        stop: &'a AtomicBool,
    ) -> Result<Self, AppError> {
        refuse_same_file(&source.input, &written_files(source.output.as_deref())?)?;
        refuse_same_file(&source.key, &written_files(source.output.as_deref())?)?;
        if is_stream(&source.input) {
            return Ok(Self { input: Box::new(stdin), size: None });
        }
        let (input, size) = open(&source.input, stop)?;
        Ok(Self { input: Box::new(input), size })
    }
}

fn opened(source: &Source, format: Format, resume: bool) -> Result<Output, AppError> {
    let path: Option<&Path> = source.output.as_deref().filter(|path| !is_stream(path));
    Ok(match path {
        Some(path) => Output::open(path, format, resume)?,
        None => Output::Stdout,
    })
}

fn sum(options: &Sum, streams: Streams<'_>) -> Result<Status, AppError> {
    let Streams { mut stdin, stdout, stderr, progress, stop, watch } = streams;
    let start = Instant::now();
    let source = &options.source;
    let key = keys::public(&source.key)?;
    let device = device(&source.devices)?;
    let encryptor = Encryptor::new(&device, &key)?;
    let mut reading = Reading::open(source, &mut *stdin, stop)?;
    let bar = progress_bar(progress, reading.size, 0);
    let mut table = Table::new(&mut reading.input, &source.column)?;
    let index = table.index(&source.column)?;
    let by = options.by.as_ref().map(|column| table.index(column)).transpose()?;
    watch();
    let mut sums = Sums::new(&encryptor)?;
    let mut rows = 0;
    loop {
        if stop.load(Ordering::Relaxed) {
            let interrupted = AppError::Read { source: io::ErrorKind::Interrupted.into() };
            return stopped(interrupted, stop, stderr);
        }
        let chunk = match table.chunk(source.chunk_rows.get()) {
            Ok(chunk) => chunk,
            Err(error) => return stopped(error, stop, stderr),
        };
        if chunk.rows.is_empty() {
            break;
        }
        let groups = match by {
            Some(by) => chunk.fields(by)?,
            None => vec![""; chunk.rows.len()],
        };
        on_lines(&chunk, sums.add(&encryptor, &groups, &chunk.fields(index)?))?;
        rows += chunk.rows.len() as u64;
        bar.set_position(table.position().bytes);
    }
    bar.finish_and_clear();
    let record = |fields: &[&str]| {
        let keep = if by.is_some() { 0 } else { 1 };
        ByteRecord::from(fields[keep..].to_vec())
    };
    let mut records = Vec::new();
    if table.names().is_some() {
        let name = options.by.as_ref().map_or(String::new(), ToString::to_string);
        records.push(record(&[&name, &source.column.to_string()]));
    }
    for (name, sum) in sums.names.iter().zip(sums.totals.to_json()?) {
        records.push(record(&[name, &sum]));
    }
    let format = Format { header: "gpuint paillier 1", options: vec![("task", "sum".to_owned())] };
    let mut output = opened(source, format, false)?;
    let mut stdout = BufWriter::with_capacity(BUFFER, stdout);
    if let Some(lines) = output.lines(&mut stdout)
        && let Err(source) = lines.write_all(&written(&records)?).and_then(|()| lines.flush())
    {
        return stopped(AppError::Write { source }, stop, stderr);
    }
    if let Output::File(file) = &mut output {
        file.finish()?;
    }
    let report = Report { task: "sum", rows, key: &key, device: &device, start };
    report.write(source.json, &mut stdout, stderr)?;
    Ok(Status::Done)
}

/// Sums of groups, in the order of the first rows of the groups.
struct Sums {
    numbers: HashMap<String, usize>,
    names: Vec<String>,
    totals: EncryptedNumbers,
}

impl Sums {
    fn new(encryptor: &Encryptor) -> Result<Self, AppError> {
        let totals = encryptor.numbers_from_json::<&str>(&[])?;
        Ok(Self { numbers: HashMap::new(), names: Vec::new(), totals })
    }

    /// Adds the numbers of a chunk.
    fn add(
        &mut self,
        encryptor: &Encryptor,
        groups: &[&str],
        fields: &[&str],
    ) -> Result<(), AppError> {
        let mut group = Vec::with_capacity(groups.len());
        for name in groups {
            let number = self.numbers.get(*name).copied().unwrap_or_else(|| {
                self.numbers.insert((*name).to_owned(), self.names.len());
                self.names.push((*name).to_owned());
                self.names.len() - 1
            });
            group.push(number);
        }
        // Rows first, so that errors name the rows of the chunk.
        group.extend(0..self.totals.len());
        let all = encryptor.numbers_from_json(fields)?.concat(&self.totals)?;
        self.totals = all.sum_by(&group, self.names.len())?;
        Ok(())
    }
}
