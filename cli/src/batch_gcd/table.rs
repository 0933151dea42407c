//! Moduli in a column of a table of comma-separated values (RFC 4180).

use csv::{ByteRecord, ReaderBuilder};

use super::errors::KeyError;
use super::keys::{Limits, Parsed};
use super::lines::{parse_modulus, radix_of_digits};
use super::place::Place;
use crate::job::column::Column;
use crate::job::digits::Radix;

/// Form of a table.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) column: Column,
    pub(crate) delimiter: u8,
    /// Radix of digits without prefix; by default that of the first row, as in lines.
    pub(crate) radix: Option<Radix>,
}

/// Adds the moduli of a document.
pub(crate) fn parse(text: &[u8], document: u32, table: &Table, limits: Limits, into: &mut Parsed) {
    let mut reader = ReaderBuilder::new()
        .delimiter(table.delimiter)
        .has_headers(false)
        .flexible(true)
        .from_reader(text);
    let mut record = ByteRecord::new();
    let mut radix = table.radix;
    let mut index = match table.column {
        Column::Number(number) => Some(number - 1),
        Column::Name(_) => None,
    };
    let mut is_first = true;
    loop {
        let line = reader.position().line();
        let place = |line| Place { document, line, entry: 0 };
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                return into.reject(place(line), 0, KeyError::Table(error.to_string()));
            }
        }
        // Blank lines come before the record.
        let place = place(record.position().map_or(line, csv::Position::line));
        let starts = std::mem::take(&mut is_first);
        let index = match (index, &table.column) {
            (Some(index), _) => index,
            (None, column) => match named(&record, &column.to_string()) {
                Ok(found) => {
                    index = Some(found);
                    continue;
                }
                Err(reason) => return into.reject(place, 0, reason),
            },
        };
        let Some(field) = record.get(index) else {
            into.reject(place, 0, KeyError::ShortRow(index + 1));
            continue;
        };
        let digits = field.trim_ascii();
        let radix_here = radix.unwrap_or_else(|| radix_of_digits(digits));
        match parse_modulus(digits, radix_here, place, limits, into) {
            // The names of the columns.
            Err((_, KeyError::BadDigit { .. })) if starts => continue,
            Err((_, reason)) => into.reject(place, 0, reason),
            Ok(()) => {}
        }
        radix = Some(radix_here);
    }
}

/// Returns the index of a column by its name.
fn named(names: &ByteRecord, name: &str) -> Result<usize, KeyError> {
    names.iter().position(|field| field.trim_ascii() == name.as_bytes()).ok_or_else(|| {
        let names: Vec<_> = names.iter().take(20).map(String::from_utf8_lossy).collect();
        let names: String = names.join(", ").chars().take(200).collect();
        KeyError::NoColumn(name.to_owned(), names.escape_debug().to_string())
    })
}
