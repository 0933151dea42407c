//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::job::devices::DeviceOptions;
use crate::job::output::Format;

/// Divides big unsigned integers in batches, exactly, on an NVIDIA GPU or on the CPU.
#[derive(Debug, clap::Args)]
#[command(after_long_help = FORMATS, after_help = SHORT)]
pub struct Options {
    /// File of pairs `dividend divisor`, one a line; `-` for standard input. Without it, the
    /// bundled file of real numbers, with --verify and --summary
    pub input: Option<PathBuf>,

    /// Write the result lines to FILE, which is replaced when they are complete; `-` for standard
    /// output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Continue an interrupted job with the same input and output
    #[arg(long, requires = "output")]
    pub resume: bool,

    #[command(flatten)]
    pub devices: DeviceOptions,

    /// Divide on all ranks that mpirun started, each with one GPU of its machine, or the CPU
    #[cfg(feature = "mpi")]
    #[arg(long, conflicts_with = "devices")]
    pub mpi: bool,

    /// Write results in hexadecimal (0x...) instead of decimal
    #[arg(short = 'x', long)]
    pub hex: bool,

    /// Check every row on the CPU: u = q v + r and r < v
    #[arg(long)]
    pub verify: bool,

    /// Print a table of what was divided; result lines are then written only with --output
    #[arg(long)]
    pub summary: bool,

    /// Maximum number of rows that are read, divided and written at a time; up to four times as
    /// many are in progress [default: 65536, on the CPU 4096]
    #[arg(long, value_name = "ROWS")]
    pub chunk_rows: Option<NonZeroUsize>,

    /// Maximum input that is read, divided and written at a time, in MiB (at least one line)
    #[arg(
        long,
        value_name = "MIB",
        default_value = "64",
        value_parser = clap::value_parser!(u32).range(1..=65536)
    )]
    pub chunk_mib: u32,
}

impl Options {
    /// Returns true if the input is the bundled file.
    pub fn bundled(&self) -> bool {
        self.input.is_none()
    }

    /// Returns true if every row is checked.
    pub fn verifies(&self) -> bool {
        self.verify || self.bundled()
    }

    /// Returns true if the table is printed.
    pub fn summarizes(&self) -> bool {
        self.summary || self.bundled()
    }

    /// Returns the format of the job's checkpoints.
    pub fn checkpoints(&self) -> Format {
        let header = "gpuint divide checkpoint 1";
        Format { header, options: vec![("hex", self.hex.to_string())] }
    }

    /// Returns true if standard output carries the result lines.
    pub fn lines_to_stdout(&self) -> bool {
        match &self.output {
            Some(path) => path.as_os_str() == "-",
            None => !self.summarizes(),
        }
    }
}

const SHORT: &str = "--help describes the formats and the exit status.";

const FORMATS: &str = "\
Input: two unsigned integers a line, separated by blanks or tabs: decimal, hexadecimal (0x...), or
expressions without blanks, such as 2^521-1 and 100!/50! (see `gpuint prp --help`).
A # starts a comment; blank lines and comments give no output. Rows after a comment line
`# family: NAME` are counted under that name in the table of --summary.

Output: one line a row, in the order of the input: `quotient remainder`. A row that cannot be
divided (not two fields, a sign, a character that is no digit, divisor 0, more bits than the widest
width of `gpuint info`) keeps its place as the line

    error: line N: REASON

with N its line number in the input; the same line goes to standard error. All other rows are
divided. Rows are divided in batches of the narrowest built width that holds both operands.

Standard error ends with one line: rows, widths, devices, the time of the divisions themselves, and
that of each other stage: setup (opening the devices, and a first division in each width used, where
kernels are loaded or compiled), copy (to the devices and back), read, parse, format, write, verify.
The stages of several chunks run side by side, and their times add up to more than the whole.
All GPUs divide together; if one fails, the others divide its rows, after a line `warning: ...`.

--output FILE collects the results in FILE.partial and renames it at the end, so that FILE is either
what it was before or complete. A job that was interrupted goes on with --resume: FILE.checkpoint
records every two seconds how far it came, and that the input is the same is checked by its hash.
--resume starts at the first line if there is nothing to resume, and says so. A job never writes
over its input, and leaves a FILE.partial or FILE.checkpoint alone that is a link, a pipe, or a file
of another user or under a further name, and a FILE.partial with content and no FILE.checkpoint.
FILE may be a link to a file, which is then replaced.
A signal (Ctrl-C) ends the job after the rows under way, a second one at once.

GPUINT_LOG=gpuint=trace shows every copy and launch of the library on standard error, with its time;
GPUINT_LOG=info what it compiles.

Exit status: 0, every row was divided; 1, some rows were not; 2, the job could not be done
(arguments, files, device, memory); 3, it ended early: interrupted, or nobody reads the results.";
