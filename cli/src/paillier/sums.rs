//! Sums of a column, of all its rows or by group.

use std::collections::HashMap;
use std::io::{self, BufWriter};
use std::sync::atomic::Ordering;
use std::time::Instant;

use gpuint_paillier::{EncryptedNumbers, Encryptor};

use super::chunk::Chunk;
use super::errors::AppError;
use super::keys;
use super::meter::Meter;
use super::opening::{open_output, open_table};
use super::options::{Sum, first_device};
use super::report::Report;
use super::status::{Status, stopped};
use super::table::{Kind, Request};
use crate::job::destination::Output;
use crate::job::input::BUFFER;
use crate::job::output::Format;
use crate::job::streams::Streams;

/// Writes the sums of a column.
pub(super) fn sum(options: &Sum, streams: Streams<'_>) -> Result<Status, AppError> {
    let Streams { mut stdin, stdout, stderr, progress, stop, watch } = streams;
    let start = Instant::now();
    let source = &options.source;
    let key = keys::public(&source.key)?;
    let device = first_device(&source.devices)?;
    let encryptor = Encryptor::new(&device, &key)?;
    let by = options.by.as_ref();
    let request = Request { source, by, key: &key, kind: Kind::Sums, resume: false };
    let mut table = open_table(request, &mut *stdin, stop)?;
    let mut meter = Meter::new("sum", source, progress, &*table);
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
        if chunk.is_empty() {
            break;
        }
        table.begin_groups(&sums.add(&encryptor, &chunk)?)?;
        rows += chunk.len() as u64;
        meter.passed(rows, &*table, stderr);
    }
    meter.clear();
    meter.ended(rows, stderr);
    let results = table.sums(&sums.names, sums.totals)?;
    let format = Format { header: "gpuint paillier 1", options: vec![("task", "sum".to_owned())] };
    let mut output = open_output(source, format, false)?;
    let mut stdout = BufWriter::with_capacity(BUFFER, stdout);
    if let Some(lines) = output.lines(&mut stdout)
        && let Err(source) = lines.write_all(&results).and_then(|()| lines.flush())
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

    /// Adds the numbers of a chunk; returns the rows that begin groups.
    fn add(&mut self, encryptor: &Encryptor, chunk: &Chunk) -> Result<Vec<usize>, AppError> {
        let mut group = Vec::with_capacity(chunk.len());
        let mut new = Vec::new();
        for row in 0..chunk.len() {
            let name = chunk.groups.get(row).map_or("", String::as_str);
            let number = self.numbers.get(name).copied().unwrap_or_else(|| {
                new.push(row);
                self.numbers.insert(name.to_owned(), self.names.len());
                self.names.push(name.to_owned());
                self.names.len() - 1
            });
            group.push(number);
        }
        // Rows first, so that errors name the rows of the chunk.
        group.extend(0..self.totals.len());
        let all = chunk.encrypted(encryptor)?.concat(&self.totals)?;
        self.totals = chunk.placed(all.sum_by(&group, self.names.len()))?;
        Ok(new)
    }
}
