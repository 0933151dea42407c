//! The rows of a table, in chunks, with one column to read or to replace.

use std::io::{self, Read};

use csv::{ByteRecord, Reader, ReaderBuilder, Writer, WriterBuilder};
use sha2::{Digest, Sha256};

use super::errors::AppError;
use crate::job::column::Column;
use crate::job::output::Position;

/// A table that is read in order.
pub(super) struct Table<R> {
    reader: Reader<R>,
    /// The first row, if it has names.
    names: Option<ByteRecord>,
    /// Hash of the rows so far, each field with its length.
    hash: Sha256,
    rows: u64,
}

/// Rows of a table, and the line of each.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) rows: Vec<ByteRecord>,
    pub(super) lines: Vec<u64>,
}

impl Chunk {
    /// Returns a field of each row as text.
    ///
    /// # Errors
    /// [`AppError::Field`] with the line of a row that lacks the field, or whose field is no text.
    pub(super) fn fields(&self, index: usize) -> Result<Vec<&str>, AppError> {
        let mut fields = Vec::with_capacity(self.rows.len());
        for (row, &line) in self.rows.iter().zip(&self.lines) {
            let failed = |reason| AppError::Field { line, reason };
            let field =
                row.get(index).ok_or_else(|| failed(format!("has no column {}", index + 1)))?;
            let text = std::str::from_utf8(field).map_err(|_| failed("is not UTF-8".to_owned()))?;
            fields.push(text.trim());
        }
        Ok(fields)
    }
}

impl<R: Read> Table<R> {
    /// Starts to read: the names, if the column has a name.
    pub(super) fn new(input: R, column: &Column) -> Result<Self, AppError> {
        let reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(input);
        let mut table = Self { reader, names: None, hash: Sha256::new(), rows: 0 };
        if let Column::Name(name) = column {
            let names = table.next()?.ok_or_else(|| AppError::NoColumn(name.clone()))?;
            table.names = Some(names.0);
        }
        Ok(table)
    }

    /// The names of the columns.
    pub(super) fn names(&self) -> Option<&ByteRecord> {
        self.names.as_ref()
    }

    /// Returns the index of a column.
    pub(super) fn index(&self, column: &Column) -> Result<usize, AppError> {
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
            self.hash.update((field.len() as u64).to_le_bytes());
            self.hash.update(field);
        }
        // No field has this length.
        self.hash.update(u64::MAX.to_le_bytes());
        self.rows += 1;
        let line = record.position().map_or(0, csv::Position::line);
        Ok(Some((record, line)))
    }

    /// Reads at most `rows` rows; none at the end.
    pub(super) fn chunk(&mut self, rows: usize) -> Result<Chunk, AppError> {
        let mut chunk = Chunk::default();
        while chunk.rows.len() < rows
            && let Some((row, line)) = self.next()?
        {
            chunk.rows.push(row);
            chunk.lines.push(line);
        }
        Ok(chunk)
    }

    /// Place after the last row that was read.
    pub(super) fn position(&self) -> Position {
        let hash = self.hash.clone().finalize();
        let hash = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        Position { bytes: self.reader.position().byte(), line: self.rows, hash }
    }

    /// Reads the rows before a position; returns true if they are those of the position.
    pub(super) fn skip(&mut self, position: &Position) -> Result<bool, AppError> {
        while self.rows < position.line {
            if self.next()?.is_none() {
                return Ok(false);
            }
        }
        Ok(self.position() == *position)
    }
}

/// Returns rows as comma-separated values.
pub(super) fn written<'a>(
    rows: impl IntoIterator<Item = &'a ByteRecord>,
) -> Result<Vec<u8>, AppError> {
    let mut writer: Writer<Vec<u8>> = WriterBuilder::new().flexible(true).from_writer(Vec::new());
    let failed = |error: csv::Error| AppError::Write { source: io::Error::other(error) };
    for row in rows {
        writer.write_byte_record(row).map_err(failed)?;
    }
    writer.into_inner().map_err(|error| AppError::Write { source: error.into_error() })
}

/// Returns a row with another field.
pub(super) fn replaced(row: &ByteRecord, index: usize, field: &str) -> ByteRecord {
    let fields = row.iter().enumerate();
    fields.map(|(at, old)| if at == index { field.as_bytes() } else { old }).collect()
}
