//! The main job: divide a file of big integers in batches.
//!
//! `cargo run --release --example divide` divides and verifies the bundled file of real numbers;
//! `cargo run --release --example divide -- --help` lists what else it does.

mod app;
mod input;
mod job;
mod options;
mod output;
mod report;

use std::io::{self, BufReader, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use gpuint_testkit::device;

/// Set by the first signal that asks the process to end.
static STOP: AtomicBool = AtomicBool::new(false);

/// Ends the job after the rows under way; at the second signal, at once.
fn on_signal() {
    if STOP.swap(true, Ordering::Relaxed) {
        std::process::exit(app::STOPPED.into());
    }
    // Standard error may be closed.
    let _ = writeln!(io::stderr(), "divide: finishing the rows under way; again to stop at once");
}

fn main() -> ExitCode {
    let options = options::Options::parse();
    let stderr = io::stderr();
    if let Err(error) = device::start_log() {
        let _ = writeln!(&stderr, "divide: {error}");
        return ExitCode::from(2);
    }
    if let Err(error) = ctrlc::set_handler(on_signal) {
        let _ = writeln!(&stderr, "divide: signals are not handled: {error}");
    }
    // A bar and result lines on one terminal would write over each other.
    let progress =
        stderr.is_terminal() && !(options.lines_to_stdout() && io::stdout().is_terminal());
    let status = app::run(
        &options,
        app::Streams {
            stdin: &mut BufReader::new(io::stdin()),
            stdout: &mut io::stdout().lock(),
            stderr: &mut &stderr,
            progress,
            stop: &STOP,
        },
    );
    match status {
        Ok(status) => status.into(),
        Err(error) => {
            // Nobody is left to tell if standard error is closed too.
            let _ = writeln!(&stderr, "divide: {error}");
            ExitCode::from(2)
        }
    }
}
