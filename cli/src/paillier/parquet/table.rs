//! Tables in Parquet files.
//!
//! A Parquet file ends with its footer and cannot be continued. A job writes its results to the
//! partial output as records, and makes the file of them and of the other columns at the end.

use std::fs::File;
use std::path::Path;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array, new_empty_array};
use arrow_schema::{DataType, Schema};
use arrow_select::concat::concat;
use arrow_select::take::take;
use gpuint_paillier::{EncryptedNumbers, PublicKey};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;

use super::cells::{self, ciphertext_bytes, encrypted, is_encrypted, null, records};
use super::decode::{self, Batches};
use super::errors::ParquetError;
use super::output::{self, KEY, Stored, assemble, encrypted_schema, text_schema};
use crate::job::column::Column;
use crate::job::input::{InputHash, is_stream, refuse_same_file};
use crate::job::output::{Names, OutputFile, Position};
use crate::paillier::chunk::{Cells, Chunk, Results};
use crate::paillier::errors::AppError;
use crate::paillier::place::Place;
use crate::paillier::table::{Kind, Request, Table};

const NUMBERS: &str = "integers, floats, decimals or strings";
const ENCRYPTED: &str = "encrypted numbers, or strings with the JSON of phe";

/// Opens a table of `size` bytes in a file.
///
/// # Errors
/// [`AppError`] for a table that is damaged, or without the columns.
pub(in crate::paillier) fn open<'a>(
    request: Request<'_>,
    size: Option<u64>,
    stop: &'a AtomicBool,
) -> Result<Box<dyn Table + 'a>, AppError> {
    let Request { source, by, key, kind, resume } = request;
    let size = size.filter(|_| !is_stream(&source.input)).ok_or(ParquetError::NoFile)?;
    let to = source.output.as_deref().filter(|path| !is_stream(path) && !is_special(path));
    let assembled = Names::of(to.ok_or(ParquetError::NoOutput)?)?.assembled();
    for input in [&source.input, &source.key] {
        refuse_same_file(input, slice::from_ref(&assembled))?;
    }
    if !resume && assembled.metadata().is_ok_and(|metadata| metadata.len() > 0) {
        return Err(ParquetError::Assembled(assembled).into());
    }
    let file = File::open(&source.input).map_err(ParquetError::Open)?;
    let metadata = decode::metadata(&file)?;
    let schema = metadata.schema();
    check_key(schema, key)?;
    let index = find(schema, &source.column)?;
    check_type(schema, index, kind)?;
    let by = by.map(|by| find(schema, by)).transpose()?;
    if let Some(by) = by {
        expect(schema, by, NUMBERS, is_text)?;
    }
    let columns: Vec<usize> = by.into_iter().chain([index]).collect();
    let batches = Batches::new(&file, &metadata, &columns, source.chunk_rows.get())?;
    let mut hash = InputHash::default();
    hash.update(b"parquet");
    Ok(Box::new(ParquetTable {
        file,
        size,
        metadata,
        stop,
        key: key.clone(),
        kind,
        index,
        by,
        chunk_rows: source.chunk_rows.get(),
        batches,
        pending: None,
        latest: None,
        groups: Vec::new(),
        hash,
        hashed: 0,
        rows: 0,
    }))
}

/// Returns true for a device or a pipe.
fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Refuses a table with numbers of another key.
fn check_key(schema: &Schema, key: &PublicKey) -> Result<(), ParquetError> {
    let Some(text) = schema.metadata().get(KEY) else { return Ok(()) };
    let found = PublicKey::from_jwk(text).map_err(ParquetError::Key)?;
    if found.modulus() == key.modulus() { Ok(()) } else { Err(ParquetError::OtherKey) }
}

fn find(schema: &Schema, column: &Column) -> Result<usize, ParquetError> {
    let found = match column {
        Column::Number(number) => Some(number - 1).filter(|&index| index < schema.fields().len()),
        Column::Name(name) => schema.fields().iter().position(|field| field.name() == name),
    };
    found.ok_or_else(|| ParquetError::NoColumn(column.to_string()))
}

fn check_type(schema: &Schema, index: usize, kind: Kind) -> Result<(), AppError> {
    match kind {
        Kind::Numbers if is_encrypted(schema.field(index).data_type()) => Err(AppError::Encrypted),
        Kind::Numbers => Ok(expect(schema, index, NUMBERS, is_text)?),
        Kind::Texts | Kind::Sums => {
            Ok(expect(schema, index, ENCRYPTED, |of| is_encrypted(of) || is_text(of))?)
        }
    }
}

fn expect(
    schema: &Schema,
    index: usize,
    expected: &'static str,
    is_expected: impl Fn(&DataType) -> bool,
) -> Result<(), ParquetError> {
    let (column, found) = (schema.field(index).name().clone(), schema.field(index).data_type());
    if is_expected(found) {
        return Ok(());
    }
    Err(ParquetError::ColumnType { column, found: found.clone(), expected })
}

/// Returns true if fields of a type are texts for [`cells::texts`].
fn is_text(of: &DataType) -> bool {
    cells::texts(&new_empty_array(of)).is_some()
}

struct ParquetTable<'a> {
    file: File,
    size: u64,
    metadata: ArrowReaderMetadata,
    stop: &'a AtomicBool,
    key: PublicKey,
    kind: Kind,
    index: usize,
    by: Option<usize>,
    chunk_rows: usize,
    batches: Batches,
    /// Rows that were decoded and not read.
    pending: Option<RecordBatch>,
    /// The groups of the rows of the latest chunk.
    latest: Option<ArrayRef>,
    /// The first row of each group.
    groups: Vec<ArrayRef>,
    /// Hash of the fields of the column so far, each with its length.
    hash: InputHash,
    hashed: u64,
    rows: u64,
}

impl ParquetTable<'_> {
    /// Returns at most `rows` rows; `None` at the end.
    fn next(&mut self, rows: usize) -> Result<Option<RecordBatch>, ParquetError> {
        let batch = match self.pending.take() {
            Some(batch) => batch,
            None => match self.batches.next()? {
                Some(batch) => batch,
                None => return Ok(None),
            },
        };
        if batch.num_rows() <= rows {
            return Ok(Some(batch));
        }
        self.pending = Some(batch.slice(rows, batch.num_rows() - rows));
        Ok(Some(batch.slice(0, rows)))
    }

    fn update(&mut self, field: &[u8]) {
        self.hash.update(&(field.len() as u64).to_le_bytes());
        self.hash.update(field);
        self.hashed += field.len() as u64;
    }
}

/// Returns the texts of a column that [`expect`] has accepted, without nulls.
fn texts(array: &dyn Array) -> Vec<String> {
    cells::texts(array).map_or(Vec::new(), |text| (0..array.len()).map(text).collect())
}

/// Fails at the first row that is null.
fn check_nulls(array: &dyn Array, places: &[Place]) -> Result<(), AppError> {
    let failed = |row: usize| AppError::Field { place: places[row], reason: "is null".to_owned() };
    null(array).map_or(Ok(()), |row| Err(failed(row)))
}

impl Table for ParquetTable<'_> {
    fn chunk(&mut self, rows: usize) -> Result<Chunk, AppError> {
        let Some(batch) = self.next(rows)? else {
            return Ok(Chunk { cells: Cells::Texts(vec![]), groups: vec![], places: vec![] });
        };
        let rows = batch.num_rows() as u64;
        let place = |number| Place { unit: "row", number };
        let places: Vec<Place> = (self.rows + 1..=self.rows + rows).map(place).collect();
        // Columns have the order of the file.
        let column = batch.column(usize::from(self.by.is_some_and(|by| by < self.index)));
        check_nulls(column, &places)?;
        let cells = match encrypted(column) {
            None => {
                let texts = texts(column);
                texts.iter().for_each(|text| self.update(text.as_bytes()));
                Cells::Texts(texts)
            }
            Some((ciphertexts, exponents)) => {
                for (ciphertext, exponent) in ciphertexts.iter().zip(&exponents) {
                    self.update(&exponent.to_le_bytes());
                    self.update(&ciphertext.to_bytes_be());
                }
                Cells::Numbers { ciphertexts, exponents }
            }
        };
        let mut groups = Vec::new();
        if let Some(by) = self.by {
            let column = batch.column(usize::from(by > self.index));
            check_nulls(column, &places)?;
            groups = texts(column);
            self.latest = Some(column.clone());
        }
        self.rows += rows;
        Ok(Chunk { cells, groups, places })
    }

    fn position(&self) -> Position {
        Position { bytes: self.hashed, line: self.rows, hash: self.hash.text() }
    }

    fn skip(&mut self, position: &Position) -> Result<bool, AppError> {
        while self.rows < position.line {
            let left = usize::try_from(position.line - self.rows).unwrap_or(usize::MAX);
            if self.chunk(left)?.is_empty() {
                return Ok(false);
            }
        }
        Ok(self.position() == *position)
    }

    fn size(&self) -> Option<u64> {
        Some(self.size)
    }

    fn passed(&self) -> u64 {
        let rows = self.metadata.metadata().file_metadata().num_rows().max(1);
        (self.size as f64 * (self.rows as f64 / rows as f64)) as u64
    }

    fn begin_groups(&mut self, rows: &[usize]) -> Result<(), AppError> {
        if let Some(groups) = self.latest.take() {
            let rows = UInt64Array::from_iter_values(rows.iter().map(|&row| row as u64));
            self.groups.push(take(&groups, &rows, None).map_err(ParquetError::Batch)?);
        }
        Ok(())
    }

    fn head(&self) -> Result<Vec<u8>, AppError> {
        Ok(Vec::new())
    }

    fn written(&self, results: Results) -> Result<Vec<u8>, AppError> {
        match results {
            Results::Numbers(numbers) => Ok(records(&numbers, ciphertext_bytes(&self.key))?),
            Results::Texts(texts) => {
                Ok(texts.iter().flat_map(|text| [text.as_bytes(), b"\n"].concat()).collect())
            }
        }
    }

    fn sums(&mut self, _: &[String], totals: EncryptedNumbers) -> Result<Vec<u8>, AppError> {
        let schema = encrypted_schema(self.metadata.schema(), self.index, &self.key)?;
        let columns: Vec<usize> = self.by.into_iter().chain([self.index]).collect();
        let schema = Arc::new(schema.project(&columns).map_err(ParquetError::Batch)?);
        let bytes = ciphertext_bytes(&self.key);
        let totals = cells::array(&records(&totals, bytes)?, bytes).map_err(ParquetError::Batch)?;
        let mut columns = vec![totals];
        if let Some(by) = self.by {
            let empty = new_empty_array(self.metadata.schema().field(by).data_type());
            let groups = [&empty].into_iter().chain(&self.groups).map(AsRef::as_ref);
            let groups: Vec<&dyn Array> = groups.collect();
            columns.insert(0, concat(&groups).map_err(ParquetError::Batch)?);
        }
        Ok(output::table(&schema, columns)?)
    }

    fn finish(&mut self, output: &mut OutputFile) -> Result<(), AppError> {
        let schema = self.metadata.schema();
        let others: Vec<usize> =
            (0..schema.fields().len()).filter(|&index| index != self.index).collect();
        output.assemble(|results, new| {
            let others = Batches::new(&self.file, &self.metadata, &others, self.chunk_rows)?;
            let (stored, schema) = match self.kind {
                Kind::Texts => (Stored::texts(results), text_schema(schema, self.index)),
                Kind::Numbers | Kind::Sums => (
                    Stored::numbers(results, &self.key),
                    encrypted_schema(schema, self.index, &self.key)?,
                ),
            };
            assemble(others, self.index, stored, &schema, new, self.stop)
        })
    }
}
