//! Recognition of the format of a table, and the files of a job.

use std::io::BufRead;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::csv_table::CsvTable;
use super::errors::AppError;
use super::options::Source;
use super::table::{Request, Table};
use crate::job::destination::{Output, written_files};
use crate::job::input::{is_stream, open, refuse_same_file};
use crate::job::output::Format;

/// Opens the table of a job.
///
/// # Errors
/// [`AppError`] for a table that cannot be read, without the columns, or over which the job would
/// write.
pub(super) fn open_table<'a>(
    request: Request<'_>,
    stdin: &'a mut (dyn BufRead + Send),
    stop: &'a AtomicBool,
) -> Result<Box<dyn Table + 'a>, AppError> {
    let Source { input, output, key, column, .. } = request.source;
    let written = written_files(output.as_deref())?;
    refuse_same_file(input, &written)?;
    refuse_same_file(key, &written)?;
    let (mut reader, size): (Box<dyn BufRead + 'a>, _) = if is_stream(input) {
        (Box::new(stdin), None)
    } else {
        let (reader, size) = open(input, stop)?;
        (Box::new(reader), size)
    };
    if is_parquet(reader.fill_buf().map_err(|source| AppError::Read { source })?) {
        #[cfg(not(feature = "parquet"))]
        return Err(AppError::NoParquet);
        #[cfg(feature = "parquet")]
        return super::parquet::table::open(request, size, stop);
    }
    Ok(Box::new(CsvTable::new(Box::new(reader), size, column, request.by)?))
}

/// Returns true for the first bytes of a Parquet file. The magic number alone may be text; a file
/// goes on with a control character.
fn is_parquet(bytes: &[u8]) -> bool {
    matches!(bytes, [b'P', b'A', b'R', b'1', 0..=8 | 14..=31, ..])
}

/// Opens the output of a job.
pub(super) fn open_output(
    source: &Source,
    format: Format,
    resume: bool,
) -> Result<Output, AppError> {
    let path: Option<&Path> = source.output.as_deref().filter(|path| !is_stream(path));
    Ok(match path {
        Some(path) => Output::open(path, format, resume)?,
        None => Output::Stdout,
    })
}
