//! The report of a job.

use std::io::Write;
use std::time::Instant;

use gpuint::Device;
use gpuint_paillier::PublicKey;
use serde_json::json;

use super::errors::AppError;
use crate::job::units::{Rate, Time};

/// Facts of a job that is done.
pub(super) struct Report<'a> {
    pub(super) task: &'static str,
    pub(super) rows: u64,
    pub(super) key: &'a PublicKey,
    pub(super) device: &'a Device,
    pub(super) start: Instant,
}

impl Report<'_> {
    /// Writes an object of JSON to standard output, or a line to standard error.
    pub(super) fn write(
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
