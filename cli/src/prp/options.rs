//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;

use crate::job::devices::DeviceOptions;

/// Tests candidates for primality: a sieve, a Fermat test, and the test of Baillie and Wagstaff.
#[derive(Debug, clap::Args)]
#[command(after_long_help = FORMATS, after_help = SHORT)]
pub(crate) struct Options {
    /// Files of candidates: expressions, ABC, ABC2, ABCD, NewPGen, or unknowns of a prime-gap
    /// search; `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Append the result lines to RESULTS, a new file, instead of standard output
    #[arg(short, long, value_name = "RESULTS")]
    pub(crate) output: Option<PathBuf>,

    /// Continue RESULTS after its last complete line
    #[arg(long, requires = "output")]
    pub(crate) resume: bool,

    #[command(flatten)]
    pub(crate) devices: DeviceOptions,

    /// Test on all ranks that mpirun started, each with one GPU of its machine, or the CPU
    #[cfg(feature = "mpi")]
    #[arg(long, conflicts_with = "devices")]
    pub(crate) mpi: bool,

    /// Base of the Fermat test
    #[arg(
        long,
        value_name = "B",
        default_value = "3",
        value_parser = clap::value_parser!(u32).range(2..)
    )]
    pub(crate) base: u32,

    /// Sieve by the primes below LIMIT, at most 2^32; 0: test all candidates
    #[arg(
        long,
        value_name = "LIMIT",
        default_value = "1000",
        value_parser = clap::value_parser!(u64).range(..=1 << 32)
    )]
    pub(crate) sieve: u64,

    /// Maximum number of candidates that are tested before their lines are written [default: as
    /// many as take about two seconds]
    #[arg(long, value_name = "ROWS")]
    pub(crate) batch_rows: Option<NonZeroUsize>,

    /// Format of the result lines
    #[arg(long, value_enum, default_value_t = Format::Pfgw)]
    pub(crate) format: Format,

    /// Write a JSON object a line: --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,

    /// Write a line with the part of the candidates that is done and the time left to standard
    /// error every 10 seconds, where that is no terminal; with --json an object, every second
    #[arg(long)]
    pub(crate) progress: bool,

    /// End after the first prime or probable prime
    #[arg(long)]
    pub(crate) stop_on_prime: bool,

    /// Compute a share of the results again by other code on the CPU, such as 1% or 0.01
    #[arg(long, value_name = "SHARE")]
    pub(crate) verify: Option<Share>,
}

impl Options {
    /// The format of the result lines.
    pub(crate) fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

/// Formats of result lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Lines as OpenPFGW prints them, without times.
    Pfgw,
    /// Lines as LLR prints them, without times.
    Llr,
    /// Objects of JSON.
    Json,
}

/// A part of the results, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share(pub(crate) f64);

impl FromStr for Share {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, scale) = match text.strip_suffix('%') {
            Some(number) => (number, 100.0),
            None => (text, 1.0),
        };
        let share = number.trim().parse::<f64>().ok().map(|number| number / scale);
        let share = share.filter(|share| (0.0..=1.0).contains(share));
        share.map(Self).ok_or("expected a share from 0% to 100%, or from 0 to 1")
    }
}

const SHORT: &str = "--help describes the formats and the exit status.";

const FORMATS: &str = "\
Expressions: decimal and hexadecimal (0x...) numbers, + - * / % ^, n! and n!k (multifactorial), n#
(primorial), parentheses. ^ is computed from left to right, and - before a number has a lower
precedence than ^. A division that has a remainder is an error, as are expressions that programs
read in different ways (2^3!, 7!!). // starts a comment, a \\ at the end of a line goes on in the
next one, and lines that start with # are comments.

Formats: the first line of a file tells its format. ABC, ABC2 and ABCD start with this word, NewPGen
with digits and a colon, and unknowns of a prime-gap search with `m : -`; all others are one
expression a line. A header that is not understood ends the job with its line and column.
`docs/prp.md` describes each.

Output: one line a candidate, in the order of the input, as OpenPFGW prints it without times:

    2^127-1 is 3-PRP! (BPSW)           passes the Fermat test and that of Baillie and Wagstaff
    2^61-1 is prime!                   below 2^64, where the latter has no exception
    2^67-1 is composite: RES64: [HEX]  HEX are the low 64 bits of 3^(n-1) modulo n
    91 is composite: RES64: [HEX] (fails BPSW)     a pseudoprime
    2^11-1 has factors: 23             the smallest factor below the limit of --sieve
    8 * 3!-1 is not tested: ...        a partner is composite, or enough primes were found
    error: line N: REASON              the line gives no candidate

The sieve solves one congruence a prime for candidates of a common form: k b^n + c with different k,
n or c, and k n! / d + c and k n# / d + c with different k or c. Other candidates are divided by the
primes below LIMIT and below 2^16.

--output RESULTS appends lines to a new file, and syncs it every two seconds. Its first line has the
options. --resume compares its lines with the candidates, removes an incomplete last line, and goes
on: no candidate is lost or tested twice, whatever ended the job before. A signal (Ctrl-C) ends the
job at once, and the candidates in progress are tested again.

--verify computes residues and verdicts of a share again by num-bigint on the CPU. A difference ends
the job with status 2; lines before it are kept.

Standard error ends with one line: candidates by result, devices, and the time of each stage.
GPUINT_LOG=gpuint=trace shows every copy and launch of the library on standard error.

Exit status: 0, every candidate has a result; 1, some lines give no candidate; 2, the job could not
be done (arguments, files, device, --verify); 3, it ended early: interrupted, or nobody reads the
results.";
