//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use gpuint::Device;

use crate::job::column::Column;
use crate::job::devices::{DeviceError, DeviceOptions};
use crate::job::input::is_stream;

/// Encrypts, adds and decrypts columns of numbers by Paillier's cryptosystem.
#[derive(Debug, clap::Args)]
#[command(after_long_help = FORMATS, after_help = SHORT)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) task: Task,
}

impl Options {
    /// Returns true if results are written to standard output.
    pub(crate) fn lines_to_stdout(&self) -> bool {
        let source = match &self.task {
            Task::Keygen(_) => return false,
            Task::Encrypt(options) => &options.source,
            Task::Decrypt(options) => &options.source,
            Task::Sum(options) => &options.source,
        };
        source.output.as_deref().is_none_or(is_stream)
    }
}

/// Tasks of the command.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Task {
    Keygen(Keygen),
    Encrypt(Encrypt),
    Decrypt(Decrypt),
    Sum(Sum),
}

/// Generates a key.
#[derive(Debug, clap::Args)]
pub(crate) struct Keygen {
    /// New file of the private key, which only its owner can read
    #[arg(value_name = "KEY")]
    pub(crate) key: PathBuf,

    /// New file of the public key
    #[arg(long, value_name = "FILE")]
    pub(crate) public: PathBuf,

    /// Bits of the modulus: an even number from 1024 to 8192
    #[arg(long, value_name = "BITS", default_value = "2048")]
    pub(crate) bits: usize,

    /// Take safe primes, which need more time
    #[arg(long)]
    pub(crate) safe_primes: bool,

    /// Write the report as a JSON object to standard output
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) devices: DeviceOptions,
}

/// A table and one of its columns.
#[derive(Debug, clap::Args)]
pub(crate) struct Source {
    /// Table: comma-separated values, or a Parquet file; `-` for standard input
    #[arg(value_name = "TABLE")]
    pub(crate) input: PathBuf,

    /// File of the key
    #[arg(short, long, value_name = "KEY")]
    pub(crate) key: PathBuf,

    /// Column: its name, in the first row of comma-separated values, or its number from 1, in a
    /// table without names
    #[arg(short, long, value_name = "NAME|N")]
    pub(crate) column: Column,

    /// Write to FILE, which is replaced when the results are complete [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write the report as a JSON object to standard output
    #[arg(long, requires = "output")]
    pub(crate) json: bool,

    /// Write a line with the part of the table that is done and the time left to standard error
    /// every 10 seconds, where that is no terminal; with --json an object, every second
    #[arg(long)]
    pub(crate) progress: bool,

    /// Rows that are computed at once
    #[arg(long, value_name = "ROWS", default_value = "16384")]
    pub(crate) chunk_rows: NonZeroUsize,

    #[command(flatten)]
    pub(crate) devices: DeviceOptions,
}

/// Encrypts the numbers of a column.
#[derive(Debug, clap::Args)]
pub(crate) struct Encrypt {
    #[command(flatten)]
    pub(crate) source: Source,

    /// Round numbers to multiples of 16^E [default: exact, with exponents that tell the sizes of
    /// the numbers]
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(crate) exponent: Option<i32>,

    /// Encrypt by powers r^n, also where the key has a base for short exponents
    #[arg(long)]
    pub(crate) long_exponents: bool,

    /// Continue a job that ended early
    #[arg(long, requires = "output")]
    pub(crate) resume: bool,
}

/// Decrypts the numbers of a column.
#[derive(Debug, clap::Args)]
pub(crate) struct Decrypt {
    #[command(flatten)]
    pub(crate) source: Source,

    /// Continue a job that ended early
    #[arg(long, requires = "output")]
    pub(crate) resume: bool,
}

/// Adds the encrypted numbers of a column, all of them or by group.
#[derive(Debug, clap::Args)]
pub(crate) struct Sum {
    #[command(flatten)]
    pub(crate) source: Source,

    /// Column of the groups
    #[arg(long, value_name = "NAME|N")]
    pub(crate) by: Option<Column>,
}

/// Opens the first of the devices.
pub(super) fn first_device(options: &DeviceOptions) -> Result<Device, DeviceError> {
    Ok(options.open()?.devices()[0].clone())
}

const SHORT: &str = "--help describes the files and the exit status.";

const FORMATS: &str = "\
Keys are JWK files of the Python package phe (pheutil genpkey, pheutil extract). KEY is the public
key for encrypt and sum, and the private key for decrypt. A private key is accepted for all three.

encrypt replaces each integer or decimal number of the column by a JSON object of phe, {\"v\": the
ciphertext in decimal, \"e\": the exponent of 16}, and decrypt replaces it by the number. All other
columns are copied. sum writes a table with the groups in the order of their first rows.

A table in a Parquet file is recognized by its first bytes, by programs that were built with
--features parquet. Its results are a Parquet file, which needs --output. Its numbers are integers,
floats, decimals and strings. Other columns keep their types. An encrypted number is a struct of
ciphertext and exponent, as gpuint.paillier.write_parquet of Python writes it, and decrypted numbers
are strings. decrypt and sum also read strings with the JSON of phe. FILE.assembled is the Parquet
file until it is complete.

The ciphertexts that sum writes depend on its input alone: who has the input can compute them.

encrypt and decrypt continue an interrupted job with --resume: its table must begin with the rows
that were read before. A signal (Ctrl-C) ends the job after the rows under way.

Times depend on secrets: SECURITY.md of the repository states who can learn what.

Exit status: 0, done; 2, the job could not be done (arguments, files, keys, device, a field that is
no number); 3, it ended early: interrupted, or nobody reads the results.";
