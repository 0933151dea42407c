//! Parquet files of results.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use gpuint_paillier::PublicKey;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use super::cells::{array, ciphertext_bytes, encrypted_type, text_array};
use super::decode::Batches;
use super::errors::ParquetError;
use crate::job::input::BUFFER;
use crate::paillier::errors::AppError;

/// Name of the key in the metadata of a file.
pub(super) const KEY: &str = "gpuint.paillier.key";

/// Rows of a row group, which the writer holds in memory.
const GROUP_ROWS: usize = 1 << 16;

/// Returns the schema of a table whose column is encrypted.
pub(super) fn encrypted_schema(
    schema: &Schema,
    index: usize,
    key: &PublicKey,
) -> Result<SchemaRef, AppError> {
    let mut metadata = schema.metadata().clone();
    metadata.insert(KEY.to_owned(), key.to_jwk()?);
    let schema = replaced(schema, index, encrypted_type(key));
    Ok(Arc::new(schema.with_metadata(metadata)))
}

/// Returns the schema of a table whose column is text.
pub(super) fn text_schema(schema: &Schema, index: usize) -> SchemaRef {
    Arc::new(replaced(schema, index, DataType::Utf8))
}

fn replaced(schema: &Schema, index: usize, of: DataType) -> Schema {
    let mut fields = schema.fields().to_vec();
    fields[index] = Arc::new(Field::new(fields[index].name(), of, fields[index].is_nullable()));
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

/// Starts a file.
pub(super) fn writer<W: Write + Send>(
    to: W,
    schema: &SchemaRef,
) -> Result<ArrowWriter<W>, ParquetError> {
    let metadata = schema.metadata().iter();
    let metadata = metadata.map(|(name, text)| KeyValue::new(name.clone(), text.clone())).collect();
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_key_value_metadata(Some(metadata));
    for field in schema.fields() {
        if super::cells::is_encrypted(field.data_type()) {
            // Ciphertexts differ.
            let path = ColumnPath::new(vec![field.name().clone(), "ciphertext".to_owned()]);
            properties = properties.set_column_dictionary_enabled(path, false);
        }
    }
    ArrowWriter::try_new(to, schema.clone(), Some(properties.build())).map_err(ParquetError::Write)
}

/// Writes a table of one batch.
pub(super) fn table(schema: &SchemaRef, columns: Vec<ArrayRef>) -> Result<Vec<u8>, ParquetError> {
    let batch = RecordBatch::try_new(schema.clone(), columns).map_err(ParquetError::Batch)?;
    let mut bytes = Vec::new();
    let mut writer = writer(&mut bytes, schema)?;
    writer.write(&batch).map_err(ParquetError::Write)?;
    writer.close().map_err(ParquetError::Write)?;
    Ok(bytes)
}

/// Results that a job has written, in the order of the rows.
pub(super) enum Stored<'a> {
    Numbers { file: BufReader<&'a File>, bytes: usize },
    Texts(BufReader<&'a File>),
}

impl<'a> Stored<'a> {
    pub(super) fn numbers(file: &'a File, key: &PublicKey) -> Self {
        Self::Numbers { file: BufReader::with_capacity(BUFFER, file), bytes: ciphertext_bytes(key) }
    }

    pub(super) fn texts(file: &'a File) -> Self {
        Self::Texts(BufReader::with_capacity(BUFFER, file))
    }

    /// Reads the results of the next rows.
    fn column(&mut self, rows: usize) -> Result<ArrayRef, AppError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::UnexpectedEof => ParquetError::Changed.into(),
            _ => AppError::Read { source },
        };
        match self {
            Self::Numbers { file, bytes } => {
                let mut records = vec![0; rows * (*bytes + 4)];
                file.read_exact(&mut records).map_err(failed)?;
                Ok(array(&records, *bytes).map_err(ParquetError::Batch)?)
            }
            Self::Texts(file) => {
                let texts: Vec<String> =
                    file.lines().take(rows).collect::<Result<_, _>>().map_err(failed)?;
                if texts.len() < rows {
                    return Err(ParquetError::Changed.into());
                }
                Ok(text_array(texts))
            }
        }
    }

    fn is_at_end(&mut self) -> io::Result<bool> {
        let (Self::Numbers { file, .. } | Self::Texts(file)) = self;
        Ok(file.fill_buf()?.is_empty())
    }
}

/// Writes the rows of a table with the stored results as the column `index` of `schema`. `others`
/// has the other columns.
pub(super) fn assemble(
    mut others: Batches,
    index: usize,
    mut stored: Stored<'_>,
    schema: &SchemaRef,
    to: &File,
    stop: &AtomicBool,
) -> Result<(), AppError> {
    let mut writer = writer(BufWriter::with_capacity(BUFFER, to), schema)?;
    while let Some(batch) = others.next()? {
        if stop.load(Ordering::Relaxed) {
            return Err(AppError::Read { source: io::ErrorKind::Interrupted.into() });
        }
        let mut columns = batch.columns().to_vec();
        columns.insert(index, stored.column(batch.num_rows())?);
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(schema.clone(), columns, &options)
            .map_err(ParquetError::Batch)?;
        writer.write(&batch).map_err(ParquetError::Write)?;
    }
    if !stored.is_at_end().map_err(|source| AppError::Read { source })? {
        return Err(ParquetError::Changed.into());
    }
    writer.close().map_err(ParquetError::Write)?;
    Ok(())
}
