//! Surroundings of a job: the standard streams of the process, and signals.

use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::sync::atomic::AtomicBool;

use super::signals::{self, STOP};

/// Surroundings of a job.
pub struct Streams<'a> {
    pub stdin: Box<dyn BufRead + Send + 'a>,
    pub stdout: &'a mut dyn Write,
    pub stderr: &'a mut dyn Write,
    /// True if a progress bar may be drawn on the terminal of standard error.
    pub progress: bool,
    /// Set by a signal handler, or after an error: the job stops early.
    pub stop: &'static AtomicBool,
    /// Installs the handler, before the first row: until then a signal ends the process.
    pub watch: &'a mut dyn FnMut(),
}

/// Runs the job `name` with the streams of the process. `has_lines` tells whether it writes lines
/// to standard output, and `ending` says what it does after a signal.
pub fn with_streams<R>(
    name: &'static str,
    ending: &'static str,
    has_lines: bool,
    run: impl FnOnce(Streams<'_>) -> R,
) -> io::Result<R> {
    let stderr = io::stderr();
    Ok(run(Streams {
        stdin: Box::new(BufReader::new(signals::stdin()?)),
        stdout: &mut io::stdout().lock(),
        stderr: &mut &stderr,
        // A bar and result lines on one terminal would write over each other.
        progress: stderr.is_terminal() && !(has_lines && io::stdout().is_terminal()),
        stop: &STOP,
        watch: &mut || signals::watch(name, ending),
    }))
}
