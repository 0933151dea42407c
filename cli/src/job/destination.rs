//! Destinations of result lines.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::input::{BUFFER, is_stream};
use super::output::{Format, Lines, Names, OutputError, OutputFile};

/// Destination of the result lines.
pub enum Output {
    None,
    Stdout,
    /// A device or a pipe, which cannot be replaced.
    Stream(BufWriter<File>),
    File(Box<OutputFile>),
}

impl Output {
    /// Opens a path: a file is replaced at the end, or continued with `resume`.
    pub fn open(path: &Path, format: Format, resume: bool) -> Result<Self, OutputError> {
        let failed = |source| OutputError::Create { path: path.to_owned(), source };
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Err(failed(io::ErrorKind::IsADirectory.into())),
            Ok(metadata) if !metadata.is_file() => {
                let file = File::options().write(true).open(path).map_err(failed)?;
                Ok(Self::Stream(BufWriter::with_capacity(BUFFER, file)))
            }
            _ => {
                let names = Names::of(path)?;
                let file = OutputFile::open(&names, format, resume)?;
                Ok(Self::File(Box::new(file)))
            }
        }
    }

    /// Returns the writer of the result lines; `stdout` for standard output.
    pub fn lines<'a, W: Write>(
        &'a mut self,
        stdout: &'a mut BufWriter<W>,
    ) -> Option<&'a mut dyn Lines> {
        match self {
            Self::None => None,
            Self::Stdout => Some(stdout),
            Self::Stream(file) => Some(file),
            Self::File(file) => Some(&mut **file),
        }
    }
}

/// Returns the names of the files that a job with this output writes.
pub fn written_files(output: Option<&Path>) -> Result<Vec<PathBuf>, OutputError> {
    let Some(path) = output.filter(|path| !is_stream(path)) else { return Ok(Vec::new()) };
    let names = Names::of(path)?;
    Ok([path].into_iter().chain(names.beside()).map(Path::to_owned).collect())
}
