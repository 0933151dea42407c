//! Tables of comma-separated values.

use std::io::{self, Read};

use csv::{ByteRecord, Reader, ReaderBuilder, Writer, WriterBuilder};
use gpuint_paillier::EncryptedNumbers;

use super::chunk::{Cells, Chunk, Results};
use super::errors::AppError;
use super::place::Place;
use super::table::Table;
use crate::job::column::Column;
use crate::job::input::InputHash;
use crate::job::output::{OutputFile, Position};

/// A table that is read in order.
pub(super) struct CsvTable<'a> {
    reader: Reader<Box<dyn Read + 'a>>,
    size: Option<u64>,
    /// The first row, if it has names.
    names: Option<ByteRecord>,
    /// The names of the columns in the results of `sum`.
    sum_names: Option<Vec<String>>,
    index: usize,
    by: Option<usize>,
    /// The rows of the latest chunk.
    chunk: Vec<ByteRecord>,
    /// Hash of the rows so far, each field with its length.
    hash: InputHash,
    rows: u64,
}

impl<'a> CsvTable<'a> {
    /// Starts to read: the names, if the column has a name. `by` is the column of groups.
    pub(super) fn new(
        input: Box<dyn Read + 'a>,
        size: Option<u64>,
        column: &Column,
        by: Option<&Column>,
    ) -> Result<Self, AppError> {
        let reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(input);
        let mut table = Self {
            reader,
            size,
            names: None,
            sum_names: None,
            index: 0,
            by: None,
            chunk: Vec::new(),
            hash: InputHash::default(),
            rows: 0,
        };
        if let Column::Name(name) = column {
            let names = table.next()?.ok_or_else(|| AppError::NoColumn(name.clone()))?;
            table.names = Some(names.0);
            table.sum_names = Some(by.into_iter().chain([column]).map(Column::to_string).collect());
        }
        table.index = table.find(column)?;
        table.by = by.map(|by| table.find(by)).transpose()?;
        Ok(table)
    }

    /// Returns the index of a column.
    fn find(&self, column: &Column) -> Result<usize, AppError> {
        match (column, &self.names) {
            (Column::Number(number), _) => Ok(number - 1),
            (Column::Name(name), Some(names)) => names
                .iter()
                .position(|field| field.trim_ascii() == name.as_bytes())
                .ok_or_else(|| AppError::NoColumn(name.clone())),
            (Column::Name(name), None) => Err(AppError::NoColumn(name.clone())),
        }
    }

    fn next(&mut self) -> Result<Option<(ByteRecord, u64)>, AppError> {
        let mut record = ByteRecord::new();
        if !self.reader.read_byte_record(&mut record).map_err(|error| match error.into_kind() {
            csv::ErrorKind::Io(source) => AppError::Read { source },
            kind => AppError::Read { source: io::Error::other(format!("{kind:?}")) },
        })? {
            return Ok(None);
        }
        for field in &record {
            self.hash.update(&(field.len() as u64).to_le_bytes());
            self.hash.update(field);
        }
        // No field has this length.
        self.hash.update(&u64::MAX.to_le_bytes());
        self.rows += 1;
        let line = record.position().map_or(0, csv::Position::line);
        Ok(Some((record, line)))
    }
}

/// Returns the text of a field.
fn field(row: &ByteRecord, index: usize, place: Place) -> Result<String, AppError> {
    let failed = |reason| AppError::Field { place, reason };
    let field = row.get(index).ok_or_else(|| failed(format!("has no column {}", index + 1)))?;
    let text = std::str::from_utf8(field).map_err(|_| failed("is not UTF-8".to_owned()))?;
    Ok(text.trim().to_owned())
}

impl Table for CsvTable<'_> {
    fn chunk(&mut self, rows: usize) -> Result<Chunk, AppError> {
        self.chunk.clear();
        let (mut texts, mut groups, mut places) = (Vec::new(), Vec::new(), Vec::new());
        while self.chunk.len() < rows
            && let Some((row, number)) = self.next()?
        {
            places.push(Place { unit: "line", number });
            self.chunk.push(row);
        }
        for (row, &place) in self.chunk.iter().zip(&places) {
            texts.push(field(row, self.index, place)?);
            if let Some(by) = self.by {
                groups.push(field(row, by, place)?);
            }
        }
        Ok(Chunk { cells: Cells::Texts(texts), groups, places })
    }

    fn position(&self) -> Position {
        Position { bytes: self.reader.position().byte(), line: self.rows, hash: self.hash.text() }
    }

    fn skip(&mut self, position: &Position) -> Result<bool, AppError> {
        while self.rows < position.line {
            if self.next()?.is_none() {
                return Ok(false);
            }
        }
        Ok(self.position() == *position)
    }

    fn size(&self) -> Option<u64> {
        self.size
    }

    fn passed(&self) -> u64 {
        self.reader.position().byte()
    }

    fn head(&self) -> Result<Vec<u8>, AppError> {
        written(&self.names)
    }

    fn written(&self, results: Results) -> Result<Vec<u8>, AppError> {
        let results = results.texts()?;
        let rows = self.chunk.iter().zip(&results);
        let all: Vec<_> = rows.map(|(row, field)| replaced(row, self.index, field)).collect();
        written(&all)
    }

    fn sums(&mut self, groups: &[String], totals: EncryptedNumbers) -> Result<Vec<u8>, AppError> {
        let mut records: Vec<ByteRecord> = Vec::new();
        records.extend(self.sum_names.clone().map(ByteRecord::from));
        for (group, sum) in groups.iter().zip(Results::Numbers(totals).texts()?) {
            let fields = if self.by.is_some() { vec![group, &sum] } else { vec![&sum] };
            records.push(ByteRecord::from(fields));
        }
        written(&records)
    }

    fn finish(&mut self, output: &mut OutputFile) -> Result<(), AppError> {
        Ok(output.finish()?)
    }
}

/// Returns rows as comma-separated values.
fn written<'a>(rows: impl IntoIterator<Item = &'a ByteRecord>) -> Result<Vec<u8>, AppError> {
    let mut writer: Writer<Vec<u8>> = WriterBuilder::new().flexible(true).from_writer(Vec::new());
    let failed = |error: csv::Error| AppError::Write { source: io::Error::other(error) };
    for row in rows {
        writer.write_byte_record(row).map_err(failed)?;
    }
    writer.into_inner().map_err(|error| AppError::Write { source: error.into_error() })
}

/// Returns a row with another field.
fn replaced(row: &ByteRecord, index: usize, field: &str) -> ByteRecord {
    let fields = row.iter().enumerate();
    fields.map(|(at, old)| if at == index { field.as_bytes() } else { old }).collect()
}
