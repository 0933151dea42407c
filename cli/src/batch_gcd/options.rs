//! The command line.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use super::analysis::Checks;
use super::table::Table;
use super::weak::LARGEST_LIMIT;
use crate::job::column::Column;
use crate::job::devices::DeviceOptions;
use crate::job::digits::Radix;

/// Finds RSA keys that share a prime factor with others, by product trees on an NVIDIA GPU or on
/// the CPU.
#[derive(Debug, clap::Args)]
#[command(after_long_help = FORMATS, after_help = SHORT)]
pub(crate) struct Options {
    /// Files, folders and archives of keys; `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Write the results to FILE, which is replaced when they are complete; `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Continue a job that was interrupted or killed, with the same keys, store and output
    #[arg(long, requires = "output")]
    pub(crate) resume: bool,

    /// Save intermediate results beside the output at least SECONDS after the ones before; 0 for
    /// all of them [default: 10, and at most a twentieth of the time]
    #[arg(long, value_name = "SECONDS", requires = "output")]
    pub(crate) checkpoint: Option<u32>,

    /// Write one JSON object a line for each weak key
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,

    /// Write one row of comma-separated values for each factor of a weak key
    #[arg(long)]
    pub(crate) csv: bool,

    /// Also list keys of the same modulus, which are no weakness by themselves
    #[arg(long)]
    pub(crate) duplicates: bool,

    /// Also find keys with a prime factor up to LIMIT
    #[arg(
        long,
        value_name = "LIMIT",
        value_parser = clap::value_parser!(u32).range(2..=i64::from(LARGEST_LIMIT))
    )]
    pub(crate) small_factors: Option<u32>,

    /// Also find keys with two close factors, by STEPS steps of Fermat's method
    #[arg(long, value_name = "STEPS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) fermat: Option<u64>,

    /// Compare with the keys of STORE, too, which are not compared with each other again
    #[arg(long, value_name = "STORE")]
    pub(crate) against: Option<PathBuf>,

    /// Write the keys, and those of --against, to STORE
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<PathBuf>,

    /// Read tables of comma-separated values, with the modulus in this column: its name in the
    /// first row, or its number from 1
    #[arg(long, value_name = "NAME|N")]
    pub(crate) column: Option<Column>,

    /// Character between the columns
    #[arg(
        long,
        value_name = "C",
        default_value = ",",
        requires = "column",
        value_parser = delimiter
    )]
    pub(crate) delimiter: u8,

    /// Radix of digits without 0x. auto: hexadecimal if the first number of the document has a
    /// letter, else decimal
    #[arg(long, value_enum, default_value_t = RadixChoice::Auto)]
    pub(crate) radix: RadixChoice,

    /// Count entries that are no keys, instead of ending at the first one
    #[arg(long)]
    pub(crate) skip_invalid: bool,

    /// Maximum memory of the host, in MiB [default: three quarters of the available memory]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(16..=1 << 40))]
    pub(crate) memory: Option<u64>,

    /// Maximum size to which archives may expand, all together, in MiB
    #[arg(
        long,
        value_name = "MIB",
        default_value = "65536",
        value_parser = clap::value_parser!(u64).range(1..=1 << 40)
    )]
    pub(crate) max_expanded: u64,

    /// Write a line for each stage to standard error, where that is no terminal, and for long
    /// stages their part and the time left every 10 seconds; with --json an object a line, every
    /// second
    #[arg(long)]
    pub(crate) progress: bool,

    #[command(flatten)]
    pub(crate) devices: DeviceOptions,
}

impl Options {
    /// Returns true if the job shows the work of its stages.
    pub(crate) fn shows_progress(&self) -> bool {
        self.progress || io::stderr().is_terminal()
    }

    /// Returns the least time between two checkpoints, if it is not the default.
    pub(crate) fn interval(&self) -> Option<Duration> {
        self.checkpoint.map(|seconds| Duration::from_secs(seconds.into()))
    }

    /// Returns the checks of each key by itself.
    pub(crate) fn checks(&self) -> Checks {
        Checks { small_factors: self.small_factors, fermat: self.fermat }
    }

    /// Returns the form of the tables that are read, if they are.
    pub(crate) fn table(&self) -> Option<Table> {
        let column = self.column.clone()?;
        Some(Table { column, delimiter: self.delimiter, radix: self.radix.radix() })
    }
}

/// The radices by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RadixChoice {
    /// That of the first number of each document.
    Auto,
    /// Decimal.
    Dec,
    /// Hexadecimal.
    Hex,
}

impl RadixChoice {
    /// Returns the radix; `None` for that of each document.
    pub(crate) fn radix(self) -> Option<Radix> {
        match self {
            Self::Auto => None,
            Self::Dec => Some(Radix::Decimal),
            Self::Hex => Some(Radix::Hexadecimal),
        }
    }
}

/// Parses a delimiter: one character of ASCII, or `\t`.
fn delimiter(text: &str) -> Result<u8, &'static str> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [b'"' | b'\n' | b'\r'] => Err("quotes and line ends have their own meaning"),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("expected one character of ASCII"),
    }
}

const SHORT: &str = "--help describes the formats and the exit status.";

const FORMATS: &str = "\
Input: every document is recognized by its content.

  numbers   a modulus a line, hexadecimal (0x..., or Modulus=... as OpenSSL prints) or decimal; the
            format of fastgcd, hexadecimal lines without 0x, too; # starts a comment
  tables    comma-separated values, with --column
  PEM       certificates, certificate requests, public and private keys of PKCS#1 and PKCS#8, keys
            of OpenSSH and RFC 4716; other text between the blocks is skipped
  DER       the same certificates, requests and keys, one a file
  OpenSSH   lines of authorized_keys, known_hosts, *.pub and ssh-keyscan
  JSON      web keys: a key, a set or an array of keys

Folders are read with all folders in them, in the order of the names; symbolic links in them are not
followed. Archives (tar, gzip, zip, and those in each other, 4 deep) are read without being written
to the disk. Of a private key only the modulus is used, and nothing else of it is ever written.
Encrypted keys and keys that are not RSA are counted.

Output: for each weak key its number in the input, width, kind and source (file:line, or file#entry
of a JSON web key set; archive!file in archives), its factors in hexadecimal, and the keys that each
factor divides too. Keys of the same modulus are one key with several sources. A factor is as a
greatest common divisor gives it; keys that share both primes with others are split.

All devices share the keys of a width. --memory bounds the memory of the host: the keys, and the
trees of the CPU backend; the memory of a GPU is checked by itself.

--store writes the keys and their product to a file, which is replaced as a whole when it is
complete, and --against compares new keys with it: name one file by both to extend it. The format
has checksums, and docs/batch-gcd.md describes it. A job that is killed leaves the old store and the
old output; --resume continues it. Intermediate results are in the folder OUTPUT.trees until then. A
signal (Ctrl-C) ends the job early, a second one at once.

Exit status: 0, no weak key was found; 1, weak keys were found; 2, the job could not be done
(arguments, files, entries that are no keys, device, memory); 3, it ended early: interrupted, or
nobody reads the results.";
