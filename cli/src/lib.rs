//! The program `gpuint`: the library's main jobs without a line of Rust.
//!
//! A library, so that its tests reach the modules of the jobs; nothing else uses it.

#![allow(
    missing_debug_implementations,
    clippy::must_use_candidate,
    rustdoc::private_intra_doc_links,
    reason = "only the program and its tests use the library"
)]

mod batch_gcd {
    pub(crate) mod analysis;
    pub(crate) mod app;
    pub(crate) mod budget;
    pub(crate) mod der;
    pub(crate) mod distinct;
    pub(crate) mod documents;
    pub(crate) mod errors;
    pub(crate) mod format;
    pub(crate) mod keys;
    pub(crate) mod lines;
    pub(crate) mod options;
    pub(crate) mod pem;
    pub(crate) mod place;
    pub(crate) mod progress;
    pub(crate) mod reading;
    pub(crate) mod records;
    pub(crate) mod report;
    pub(crate) mod resumption;
    pub(crate) mod settings;
    pub(crate) mod shared;
    pub(crate) mod ssh;
    pub(crate) mod store;
    pub(crate) mod table;
    pub(crate) mod weak;
    pub(crate) mod web_keys;
    pub(crate) mod work;
}
mod bench;
#[doc(hidden)]
pub mod divide {
    pub mod app;
    pub mod devices;
    pub mod input;
    pub mod job;
    pub mod options;
    #[cfg(feature = "mpi")]
    pub mod ranks;
    pub mod report;
}
/// Expressions such as `3*2^100+1`.
#[doc(hidden)]
pub mod expression {
    pub mod form;
    pub mod syntax;
    pub mod value;
}
mod info;
/// Files, devices and signals of the commands that read files.
#[doc(hidden)]
pub mod job {
    pub mod awaited;
    pub mod column;
    pub mod destination;
    pub mod devices;
    pub mod digits;
    pub mod event;
    pub mod files;
    pub mod input;
    pub mod output;
    pub mod progress;
    #[cfg(feature = "mpi")]
    pub mod ranks;
    pub mod signals;
    pub mod status;
    pub mod streams;
    pub mod units;
}
mod memory;
mod paillier {
    pub(crate) mod app;
    pub(crate) mod chunk;
    pub(crate) mod csv_table;
    pub(crate) mod errors;
    pub(crate) mod job;
    pub(crate) mod keys;
    pub(crate) mod meter;
    pub(crate) mod opening;
    pub(crate) mod options;
    #[cfg(feature = "parquet")]
    pub(crate) mod parquet {
        pub(crate) mod cells;
        pub(crate) mod decode;
        pub(crate) mod errors;
        pub(crate) mod output;
        pub(crate) mod table;
    }
    pub(crate) mod place;
    pub(crate) mod report;
    pub(crate) mod status;
    pub(crate) mod sums;
    pub(crate) mod table;
}
mod peers {
    pub(crate) mod app;
    pub(crate) mod driver;
    pub(crate) mod operation;
    pub(crate) mod options;
    pub(crate) mod ours;
    pub(crate) mod power;
    pub(crate) mod table;
}
mod prp {
    pub(crate) mod app;
    pub(crate) mod candidate;
    pub(crate) mod engine;
    pub(crate) mod formats {
        pub(crate) mod abc;
        pub(crate) mod abc2;
        pub(crate) mod abcd;
        pub(crate) mod detect;
        pub(crate) mod newpgen;
        pub(crate) mod plain;
        pub(crate) mod source;
        pub(crate) mod template;
        pub(crate) mod unknowns;
    }
    pub(crate) mod host;
    pub(crate) mod input;
    pub(crate) mod job;
    pub(crate) mod journal;
    pub(crate) mod lines;
    pub(crate) mod options;
    pub(crate) mod prepare;
    #[cfg(feature = "mpi")]
    pub(crate) mod ranks;
    pub(crate) mod verdict;
}
mod stdout;

use std::env;
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use divide::{app, devices::Divide, options::Options};
#[cfg(feature = "mpi")]
use job::ranks::run_on_ranks;
use job::status::STOPPED;
use job::streams::{Streams, with_streams};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{self, format::FmtSpan};
use tracing_subscriber::layer::{Layer, SubscriberExt};

/// Arithmetic of big integers in batches, on an NVIDIA GPU or on the CPU.
#[derive(Debug, Parser)]
#[command(name = "gpuint", version)]
struct Program {
    #[command(subcommand)]
    job: Job,
}

#[derive(Debug, Subcommand)]
enum Job {
    // Large: more options than the others have.
    BatchGcd(Box<batch_gcd::options::Options>),
    Divide(Options),
    Paillier(paillier::options::Options),
    Prp(prp::options::Options),
    Info(info::Options),
    Bench(bench::Options),
}

/// The variable with the filter of the log, as `Targets` of the crate `tracing-subscriber` reads
/// it.
const LOG: &str = "GPUINT_LOG";

/// Runs the program: parses its arguments, runs a job, and returns the exit status.
#[must_use]
pub fn main() -> ExitCode {
    let program = Program::parse();
    let name = match &program.job {
        Job::BatchGcd(_) => "batch-gcd",
        Job::Divide(_) => "divide",
        Job::Paillier(_) => "paillier",
        Job::Prp(_) => "prp",
        Job::Info(_) => "info",
        Job::Bench(_) => "bench",
    };
    let has_work = matches!(&program.job, Job::BatchGcd(options) if options.shows_progress());
    let status = start_log(has_work).and_then(|()| run(program.job));
    status.unwrap_or_else(|error| {
        // Nobody is left to tell if standard error is closed too.
        let _ = writeln!(io::stderr(), "{name}: {error}");
        ExitCode::from(2)
    })
}

fn run(job: Job) -> Result<ExitCode, Box<dyn Error>> {
    if stdout::is_closed() {
        return Err(
            "standard output is closed; redirect it to /dev/null if it is not wanted".into()
        );
    }
    match job {
        Job::BatchGcd(options) => Ok(batch_gcd::app::run(&options)?.into()),
        #[cfg(feature = "mpi")]
        Job::Divide(options) if options.mpi => {
            run_on_ranks("divide", &options.devices, divide::ranks::serve, |cluster| {
                divide(&options, Some(cluster))
            })
        }
        Job::Divide(options) => divide(&options, None),
        Job::Paillier(options) => paillier(&options),
        #[cfg(feature = "mpi")]
        Job::Prp(options) if options.mpi => {
            run_on_ranks("prp", &options.devices, prp::ranks::serve, |cluster| {
                prp(&options, Some(cluster))
            })
        }
        Job::Prp(options) => prp(&options, None),
        Job::Info(options) => Ok(printed(info::run(&options, &mut io::stdout().lock()))?),
        Job::Bench(options) => Ok(printed(bench::run(&options, &mut io::stdout().lock()))?),
    }
}

/// The status of a job that prints: 3 if its reader is gone.
fn printed(result: Result<(), Box<dyn Error>>) -> Result<ExitCode, Box<dyn Error>> {
    let Err(error) = result else { return Ok(ExitCode::SUCCESS) };
    match error.downcast_ref::<io::Error>() {
        Some(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::from(STOPPED)),
        _ => Err(error),
    }
}

fn divide(options: &Options, others: Option<&dyn Divide>) -> Result<ExitCode, Box<dyn Error>> {
    let run = |streams: Streams<'_>| app::run(options, streams, others);
    let has_lines = options.lines_to_stdout();
    Ok(with_streams("divide", "finishing the rows under way", has_lines, run)??.into())
}

fn prp(
    options: &prp::options::Options,
    others: Option<&dyn prp::engine::Engine>,
) -> Result<ExitCode, Box<dyn Error>> {
    let run = |streams: Streams<'_>| prp::app::run(options, streams, others);
    let has_lines = options.output.is_none();
    Ok(with_streams("prp", "ending; tests in progress are lost", has_lines, run)??.into())
}

fn paillier(options: &paillier::options::Options) -> Result<ExitCode, Box<dyn Error>> {
    let run = |streams: Streams<'_>| paillier::app::run(options, streams);
    let has_lines = options.lines_to_stdout();
    Ok(with_streams("paillier", "finishing the rows under way", has_lines, run)??.into())
}

/// Starts a log of the library's work on standard error, if `GPUINT_LOG` asks for one, and counts
/// the work of product trees if `has_work` is set.
fn start_log(has_work: bool) -> Result<(), Box<dyn Error>> {
    let filter = env::var_os(LOG);
    if filter.is_none() && !has_work {
        return Ok(());
    }
    let lines = match filter {
        None => None,
        Some(filter) => {
            let filter = filter.to_str().ok_or_else(|| format!("{LOG} is not text"))?;
            let filter: Targets =
                filter.parse().map_err(|error| format!("{LOG} is not a filter: {error}"))?;
            let lines = fmt::layer().with_span_events(FmtSpan::CLOSE);
            Some(lines.with_writer(io::stderr).with_ansi(false).with_filter(filter))
        }
    };
    let work = has_work.then(batch_gcd::work::layer);
    let log = tracing_subscriber::registry().with(lines).with(work);
    Ok(tracing::subscriber::set_global_default(log)?)
}
