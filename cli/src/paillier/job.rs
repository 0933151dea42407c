//! Jobs that replace the fields of a column.

use std::io::{self, BufWriter};
use std::sync::atomic::Ordering;
use std::time::Instant;

use gpuint::Device;
use gpuint_paillier::PublicKey;

use super::chunk::{Chunk, Results};
use super::errors::AppError;
use super::meter::Meter;
use super::opening::{open_output, open_table};
use super::options::Source;
use super::report::Report;
use super::status::{Status, stopped};
use super::table::{Kind, Request};
use crate::job::destination::Output;
use crate::job::input::BUFFER;
use crate::job::output::{Format, OutputError};
use crate::job::streams::Streams;

/// Computes the results of rows.
type Replace<'a> = dyn FnMut(&Chunk) -> Result<Results, AppError> + 'a;

/// A job that replaces the fields of a column.
pub(super) struct ColumnJob<'a> {
    pub(super) task: &'static str,
    pub(super) source: &'a Source,
    pub(super) kind: Kind,
    pub(super) resume: bool,
    /// Options on which the results depend.
    pub(super) settings: Vec<(&'static str, String)>,
    pub(super) key: &'a PublicKey,
    pub(super) device: &'a Device,
}

impl ColumnJob<'_> {
    pub(super) fn run(
        self,
        streams: Streams<'_>,
        replace: &mut Replace<'_>,
    ) -> Result<Status, AppError> {
        let Streams { mut stdin, stdout, stderr, progress, stop, watch } = streams;
        let start = Instant::now();
        let source = self.source;
        let Self { kind, key, resume, .. } = self;
        let request = Request { source, by: None, key, kind, resume };
        let mut table = open_table(request, &mut *stdin, stop)?;
        let mut output = open_output(source, self.format(), resume)?;
        let mut stdout = BufWriter::with_capacity(BUFFER, stdout);
        let mut is_new = true;
        if let Output::File(file) = &mut output
            && let Some(progress) = file.resumed().cloned()
        {
            let mut is_same = table.skip(&progress.position)?;
            if is_same && file.is_complete() {
                is_same = table.chunk(1)?.is_empty();
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
            let _ = writeln!(stderr, "resuming after row {}", progress.position.line);
        } else if self.resume {
            let _ = writeln!(stderr, "nothing to resume: starting at the first row");
        }
        watch();
        let mut meter = Meter::new(self.task, source, progress, &*table);
        let mut rows = 0;
        let result = output.lines(&mut stdout).map_or(Ok(()), |lines| {
            let failed = |source| AppError::Write { source };
            if is_new {
                lines.write_all(&table.head()?).map_err(failed)?;
            }
            while !stop.load(Ordering::Relaxed) {
                let chunk = table.chunk(source.chunk_rows.get())?;
                if chunk.is_empty() {
                    return Ok(());
                }
                let results = table.written(replace(&chunk)?)?;
                lines.write_all(&results).and_then(|()| lines.flush()).map_err(failed)?;
                lines.passed(&table.position(), 0).map_err(failed)?;
                rows += chunk.len() as u64;
                meter.passed(rows, &*table, stderr);
            }
            Err(AppError::Read { source: io::ErrorKind::Interrupted.into() })
        });
        meter.clear();
        let result = result.and_then(|()| match &mut output {
            Output::File(file) => table.finish(file),
            _ => Ok(()),
        });
        if let Err(error) = result {
            // The error of the last step names the file with the results.
            let is_finishing = matches!(&error, AppError::Output(OutputError::Finish { .. }));
            if let Output::File(file) = &mut output
                && !is_finishing
                && file.suspend()
            {
                let _ = writeln!(stderr, "the results so far are kept: --resume goes on");
            }
            return stopped(error, stop, stderr);
        }
        meter.ended(rows, stderr);
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
