//! `gpuint divide`, as modules in this process and as the built program.

use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use clap::{CommandFactory, Parser};
use gpuint::{Device, Error, Pool};
use gpuint_cli::divide::app::{self, AppError};
use gpuint_cli::divide::input::{self, ChunkLimits, Reader};
use gpuint_cli::divide::job::{Devices, Job, JobError, Settings, Summary, is_division};
use gpuint_cli::divide::options::Options;
use gpuint_cli::job::devices::DeviceError;
use gpuint_cli::job::input::InputHash;
use gpuint_cli::job::output::{self, Format, Lines, Names, OutputError, OutputFile};
use gpuint_cli::job::status::Status;
use gpuint_cli::job::streams::Streams;
use gpuint_testkit::random::Random;
use gpuint_testkit::skip::skip;
use indicatif::ProgressBar;
use num_bigint::BigUint;
use num_traits::{One, Zero};

/// The options as a separate program.
#[derive(Debug, Parser)]
#[command(name = "divide")]
struct Program {
    #[command(flatten)]
    options: Options,
}

/// The options of a command line.
fn parse(arguments: &[&str]) -> Result<Options, clap::Error> {
    Program::try_parse_from([&["divide"], arguments].concat()).map(|program| program.options)
}

/// Results of a run.
struct Run {
    result: Result<Status, AppError>,
    stdout: String,
    stderr: String,
}

impl Run {
    fn lines(&self) -> Vec<&str> {
        self.stdout.lines().collect()
    }

    /// Last line on standard error: the closing report.
    fn closing(&self) -> &str {
        self.stderr.lines().last().unwrap()
    }

    fn status(&self) -> Status {
        *self.result.as_ref().unwrap()
    }
}

fn run_with(arguments: &[&str], stdin: &mut (dyn BufRead + Send), stdout: &mut dyn Write) -> Run {
    let options = parse(arguments).unwrap();
    let mut stderr = Vec::new();
    let is_busy = |result: &_| matches!(result, Err(AppError::Output(OutputError::Busy(_))));
    let result = unless_forked(is_busy, || {
        let streams = Streams {
            stdin: Box::new(&mut *stdin),
            stdout: &mut *stdout,
            stderr: &mut stderr,
            progress: false,
            stop: Box::leak(Box::new(AtomicBool::new(false))),
            watch: &mut || (),
        };
        app::run(&options, streams, None)
    });
    Run { result, stdout: String::new(), stderr: String::from_utf8(stderr).unwrap() }
}

/// The format of checkpoints of decimal results.
fn decimal() -> Format {
    parse(&["-"]).unwrap().checkpoints()
}

/// Opens an output file again while it is busy: a process that another test starts holds the locks
/// of this one until it executes its program.
fn unless_forked<R>(is_busy: impl Fn(&R) -> bool, mut open: impl FnMut() -> R) -> R {
    let start = Instant::now();
    loop {
        let result = open();
        if !is_busy(&result) || start.elapsed() > Duration::from_secs(1) {
            return result;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn run(arguments: &[&str], stdin: &[u8]) -> Run {
    let mut stdout = Vec::new();
    let run = run_with(arguments, &mut { stdin }, &mut stdout);
    Run { stdout: String::from_utf8(stdout).unwrap(), ..run }
}

/// Divides standard input on the CPU.
fn divide(stdin: &[u8]) -> Run {
    run(&["-", "--backend", "cpu"], stdin)
}

/// Returns the output line for one input line.
fn divide_line(line: &str) -> String {
    let output = divide(line.as_bytes()).stdout;
    assert_eq!(output.matches('\n').count(), 1, "{output:?}");
    output.trim_end().to_owned()
}

/// Random numbers, the same in every run.
struct Numbers(Random);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.word() % bound
    }

    /// A number of at most `bits` bits; every other one has runs of ones and zeros.
    fn number(&mut self, bits: u64) -> BigUint {
        let mut n = BigUint::zero();
        let runs = self.below(2) == 1;
        while n.bits() < bits {
            n = if runs {
                let length = self.below(200) + 1;
                let ones = self.below(2) == 1;
                (n << length)
                    + if ones { (BigUint::one() << length) - 1u32 } else { BigUint::one() }
            } else {
                (n << 64) + self.0.word()
            };
        }
        let extra = n.bits() - bits;
        n >> extra
    }
}

/// A file in the folder for temporary files, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let folder = if folder.is_dir() { folder } else { std::env::temp_dir() };
        Self(folder.join(format!("divide-{}-{name}", std::process::id())))
    }

    fn with(name: &str, content: &[u8]) -> Self {
        let scratch = Self::new(name);
        fs::write(&scratch.0, content).unwrap();
        scratch
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// The path with a suffix.
    fn beside(&self, suffix: &str) -> PathBuf {
        format!("{}{suffix}", self.path()).into()
    }

    fn content(&self) -> String {
        fs::read_to_string(&self.0).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for suffix in ["", ".partial", ".checkpoint", ".checkpoint.new"] {
            let _ = fs::remove_file(self.beside(suffix));
        }
    }
}

/// Rows of all widths with their results, in hexadecimal or decimal.
fn random_rows(rows: usize, widest: u64) -> (String, Vec<(BigUint, BigUint)>) {
    let mut numbers = Numbers(Random::new(1));
    let mut text = String::new();
    let mut operands = Vec::new();
    for _ in 0..rows {
        let shift = numbers.below(u64::from(widest.ilog2()));
        let mut any_length = || numbers.below(widest >> shift) + 1;
        let (u_bits, v_bits) = (any_length(), any_length());
        let (u, v) = (numbers.number(u_bits), numbers.number(v_bits));
        let v = if v.is_zero() { BigUint::one() } else { v };
        text += &match numbers.below(4) {
            0 => format!("{u} {v}\n"),
            1 => format!("{u:#x}\t{v}\n"),
            2 => format!("  {u} {v:#X}  \r\n"),
            _ => format!("0x{u:x} 0X{v:0>9x} # comment\n"),
        };
        operands.push((u, v));
    }
    (text, operands)
}

/// Asserts that a run printed the quotient and the remainder of each row, in order.
fn assert_divided(run: &Run, operands: &[(BigUint, BigUint)]) {
    assert_eq!(run.status(), Status::Done, "{}", run.stderr);
    let lines = run.lines();
    assert_eq!(lines.len(), operands.len());
    for (line, (u, v)) in lines.iter().zip(operands) {
        let (q, r) = line.split_once(' ').unwrap();
        let (q, r): (BigUint, BigUint) = (q.parse().unwrap(), r.parse().unwrap());
        assert!(is_division(u, v, &q, &r), "{u:#x} / {v:#x} gave {q:#x} {r:#x}");
    }
}

#[test]
fn decimal_and_hexadecimal_rows_are_divided() {
    let run = divide(
        b"100 7\n0xff 16\n340282366920938463463374607431768211457 0xD3ea32DA3D2E1\n0 3\n2 3\n",
    );
    assert_eq!(run.lines()[0..2], ["14 2", "15 15"]);
    assert_eq!(run.lines()[3..], ["0 0", "0 2"]);
    assert_eq!(run.status(), Status::Done);
    assert!(run.closing().starts_with("5 rows of 256 bits divided on cpu"), "{}", run.closing());
    assert_eq!(run.stderr.lines().count(), 1);
}

#[test]
fn expressions_are_divided() {
    let run = divide(b"2^100+7 2^50\n10!/6! (2+5)*3\n0x10*3-1 7!3\n");
    assert_eq!(run.lines(), ["1125899906842624 7", "240 0", "1 19"]);
    let faults = [
        (
            "2^ 3",
            "the dividend is no expression: column 3: expected a number or \"(\", found the end",
        ),
        ("7 5/2", "the divisor has no value: column 4: the division has a remainder"),
        ("1-2 3", "the dividend has no value: column 1: the value is negative"),
        ("1 2-2", "the divisor is zero"),
        ("2^1048576 3", "the dividend (1048577 bits) is wider than the widest built shape"),
        ("2^99999999 3", "the dividend has no value: column 2: the value may have more than"),
    ];
    for (line, fault) in faults {
        let found = divide_line(line);
        let reason = found.strip_prefix("error: line 1: ");
        assert!(reason.is_some_and(|reason| reason.starts_with(fault)), "{line}: {found}");
    }
}

#[test]
fn results_are_written_in_hexadecimal() {
    let run = run(&["-", "--hex", "--backend=cpu"], b"1000 3\n0x123456789abcdef0 0x10\n5 9\n");
    assert_eq!(run.lines(), ["0x14d 0x1", "0x123456789abcdef 0x0", "0x0 0x5"]);
}

#[test]
fn hexadecimal_of_every_length_is_read_and_written() {
    let (mut text, mut expected) = (String::new(), String::new());
    for digits in 1..70u32 {
        let power = BigUint::one() << (4 * digits - 1);
        // Words of zeros, words with leading zeros, and ones.
        for n in [power.clone(), &power + 0x10u32, (power << 1) - 1u32] {
            text += &format!("{n:#X} 1\n0x0000{n:x} {:#x}\n", &n + 1u32);
            expected += &format!("{n:#x} 0x0\n0x0 {n:#x}\n");
        }
    }
    let run = run(&["-", "--hex", "--backend=cpu", "--chunk-rows=100"], text.as_bytes());
    assert_eq!(run.stdout, expected);
    // A second prefix is no digit, wherever it is.
    for zeros in 0..20 {
        let line = divide_line(&format!("0x{}x{} 3", "0".repeat(zeros), "1".repeat(23 - zeros)));
        let place = format!("has 'x' in column {}, which is not a hexadecimal digit", zeros + 3);
        assert!(line.contains(&place), "{line}");
    }
}

#[test]
fn blank_lines_and_comments_are_skipped() {
    let input =
        b"\xef\xbb\xbf# title\n\n9 2\r\n \t \n   # indented\n11\t4   # trailing # twice\n#\n7 7";
    let run = divide(input);
    assert_eq!(run.lines(), ["4 1", "2 3", "1 0"]);
    assert_eq!(divide(b"\xef\xbb\xbf9 2\n").stdout, "4 1\n");
    assert_eq!(divide(b"").stdout, "");
    assert_eq!(divide(b"# nothing\n\n").status(), Status::Done);
    assert!(divide(b"").closing().starts_with("0 rows divided on cpu"));
}

#[test]
fn bad_lines_keep_their_place() {
    let input = "10 3\n-4 2\n4 -2\n5\n1 2 3\n7 0\n7 0x00\n12a 5\n0x 4\n4 0xfg\n1_000 3\n+5 2\n1,2\n\
                 ten 2\n3.5 2\n1e9 2\n\u{fffd}9 2\n8 \u{2212}2\n22 7\n";
    let run = divide(input.as_bytes());
    let expected = [
        "3 1",
        "error: line 2: the dividend is negative",
        "error: line 3: the divisor is negative",
        "error: line 4: expected a dividend and a divisor, found 1 field",
        "error: line 5: expected a dividend and a divisor, found 3 fields",
        "error: line 6: the divisor is zero",
        "error: line 7: the divisor is zero",
        "error: line 8: the dividend has 'a' in column 3, which is not a decimal digit",
        "error: line 9: the dividend has no digits after 0x",
        "error: line 10: the divisor has 'g' in column 6, which is not a hexadecimal digit",
        "error: line 11: the dividend has '_' in column 2, which is not a decimal digit",
        "error: line 12: the dividend has '+' in column 1, which is not a decimal digit",
        "error: line 13: expected a dividend and a divisor, found 1 field",
        "error: line 14: the dividend has 't' in column 1, which is not a decimal digit",
        "error: line 15: the dividend has '.' in column 2, which is not a decimal digit",
        "error: line 16: the dividend has 'e' in column 2, which is not a decimal digit",
        "error: line 17: the dividend has '\u{fffd}' in column 1, which is not a decimal digit",
        "error: line 18: the divisor has '\u{2212}' in column 3, which is not a decimal digit",
        "3 1",
    ];
    assert_eq!(run.lines(), expected);
    assert_eq!(run.status(), Status::RowsRejected);
    let reported: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(reported[..reported.len() - 1], expected[1..18]);
    assert!(run.closing().ends_with("0 verified, 17 rejected"), "{}", run.closing());
}

#[test]
fn blanks_and_digits_are_told_apart_in_long_fields() {
    for length in [1, 31, 32, 33, 63, 64, 65, 100] {
        let nines = "9".repeat(length);
        for (before, between, after) in
            [("", " ", ""), ("\t ", "\t", " "), (" ", " \x0c\t", "\t"), ("", " ", "\r")]
        {
            let line = |u: &str, v: &str| format!("{before}{u}{between}{v}{after}\n");
            assert_eq!(divide_line(&line(&nines, &nines)), "1 0");
            assert_eq!(divide_line(&line(&format!("{nines}+0"), &nines)), "1 0");
            let column = before.len() + length + between.len() + length + 1;
            let error = |character, column, radix| {
                format!(
                    "error: line 1: the divisor has '{character}' in column {column}, which is \
                     not a {radix} digit"
                )
            };
            let divisor = format!("{nines}\0");
            assert_eq!(divide_line(&line(&nines, &divisor)), error("\\0", column, "decimal"));
            let (divisor, column) = (format!("0x{nines}x"), column + 2);
            assert_eq!(divide_line(&line(&nines, &divisor)), error("x", column, "hexadecimal"));
        }
    }
}

#[test]
fn invalid_utf8_is_rejected() {
    let run = divide(b"\xff\xfe1 2\n1\x000 2\n9 4\n");
    assert!(run.lines()[0].starts_with("error: line 1: the dividend has '\u{fffd}' in column 1"));
    assert!(run.lines()[1].starts_with("error: line 2: the dividend has '\\0' in column 2"));
    assert_eq!(run.lines()[2], "2 1");
}

#[test]
fn rows_wider_than_the_widest_shape_are_rejected() {
    let widest = gpuint::widths().last().unwrap().bits;
    let most = (BigUint::one() << widest) - 1u32;
    let zeros = "0".repeat(100_000);
    let input = format!(
        "{most} 1\n{most:#x} {most}\n{} 3\n3 {:#x}\n{zeros}9 0x{zeros}4\n",
        &most + 1u32,
        &most + 1u32
    );
    let run = divide(input.as_bytes());
    let digits = most.to_string().len();
    assert_eq!(run.lines()[0], format!("{most} 0"));
    assert_eq!(run.lines()[1], "1 0");
    let wider = format!("is wider than the widest built shape, {widest} bits");
    assert_eq!(
        run.lines()[2],
        format!("error: line 3: the dividend ({digits} decimal digits) {wider}")
    );
    assert_eq!(
        run.lines()[3],
        format!("error: line 4: the divisor ({} hexadecimal digits) {wider}", widest / 4 + 1)
    );
    assert_eq!(run.lines()[4], "2 1");
    // Hopeless lengths are rejected without parsing.
    assert!(
        divide_line(&format!("{} 1", "7".repeat(1_000_000))).contains("1000000 decimal digits")
    );
}

#[test]
fn line_longer_than_the_limit_is_rejected() {
    let limit = input::LONGEST_LINE;
    let mut text = format!("{} 3\n10 3\n", "7".repeat(3 * limit)).into_bytes();
    text.extend(format!("# {}\n", "x".repeat(2 * limit)).bytes()); // comments may be long
    text.extend(format!("11 3 # {}\n", "x".repeat(2 * limit)).bytes());
    text.extend(format!("{}12 3\n", " ".repeat(limit - 5)).bytes()); // as long as may be
    text.extend(format!("{}1 0", " ".repeat(2 * limit)).bytes());
    let run = divide(&text);
    let too_long = format!("the line is longer than {limit} bytes");
    assert_eq!(
        run.lines(),
        [
            &format!("error: line 1: {too_long}"),
            "3 1",
            "3 2",
            "4 0",
            &format!("error: line 6: {too_long}")
        ]
    );
}

#[test]
fn rows_of_all_widths_stay_in_order() {
    let (text, operands) = random_rows(600, 65536);
    let run = divide(text.as_bytes());
    assert_divided(&run, &operands);
    assert!(run.closing().starts_with("600 rows of 256..65536 bits"), "{}", run.closing());
}

#[test]
fn one_huge_row_leaves_the_others_small() {
    let run = divide(format!("7 2\n{:#x} 3\n9 2\n", BigUint::one() << 20_000).as_bytes());
    assert_eq!(run.lines()[0], "3 1");
    assert_eq!(run.lines()[2], "4 1");
    assert!(run.closing().starts_with("3 rows of 256..32768 bits"), "{}", run.closing());
}

#[test]
fn chunks_do_not_change_the_output() {
    let (mut text, _) = random_rows(40, 4096);
    text.insert_str(text.len() / 2, "\n\n# in between\n5 0\n");
    let whole = divide(text.as_bytes());
    for rows in ["1", "2", "7", "41", "1000"] {
        let run = run(&["-", "--backend=cpu", "--chunk-rows", rows, "--verify"], text.as_bytes());
        assert_eq!(run.stdout, whole.stdout, "{rows} rows at a time");
    }
    // Two lines of about a megabyte make a chunk of 1 MiB.
    let long = format!("{}1 {}\n", "0".repeat(700_000), 7).repeat(5);
    let run = run(&["-", "--backend=cpu", "--chunk-mib=1"], long.as_bytes());
    assert_eq!(run.stdout, "0 1\n".repeat(5));
}

/// Divides chunks of `rows` rows, several at a time, as on GPUs; returns the statistics and the
/// lines without result.
fn side_by_side(
    chunks: usize,
    rows: usize,
    input: impl BufRead + Send,
    lines: &mut dyn Lines,
) -> (Result<Summary, JobError>, Vec<u64>) {
    let pool = Pool::of([Device::cpu(), Device::cpu()]).unwrap();
    let mut reader = Reader::new(input, ChunkLimits { rows, bytes: 1 << 20 }, false);
    let mut rejected = Vec::new();
    let devices = Devices::SideBySide(&pool, chunks);
    let stop = AtomicBool::new(false);
    let result = Job::new(devices, Settings { hex: false, verify: true }, &stop).run(
        &mut reader,
        Some(lines),
        &mut |rows| rejected.extend(rows.iter().map(|(line, _)| line)),
        &ProgressBar::hidden(),
    );
    (result, rejected)
}

#[test]
fn concurrent_chunks_stay_in_order() {
    let (mut text, _) = random_rows(40, 4096);
    text.push_str("5 0\n");
    let whole = divide(text.as_bytes());
    for (chunks, rows) in [(2, 1), (2, 7), (3, 2), (2, 41), (2, 1000)] {
        let mut lines = BufWriter::new(Vec::new());
        let (result, rejected) = side_by_side(chunks, rows, text.as_bytes(), &mut lines);
        let summary = result.unwrap();
        assert_eq!(
            String::from_utf8(lines.into_inner().unwrap()).unwrap(),
            whole.stdout,
            "{chunks}, {rows}"
        );
        assert_eq!((summary.rows(), summary.verified(), summary.rejected()), (40, 40, 1));
        assert_eq!(rejected, [41]);
    }
}

#[test]
fn error_ends_concurrent_chunks() {
    for rows in [1, 2, 100] {
        let mut lines = BufWriter::new(Vec::new());
        let torn = BufReader::with_capacity(4, Torn(b"17 5\n9 2\n10"));
        let (result, _) = side_by_side(2, rows, torn, &mut lines);
        assert_eq!(result.unwrap_err().to_string(), "cannot read after line 2: the disk is gone");
        assert_eq!(lines.into_inner().unwrap(), b"3 2\n4 1\n");

        let mut full = BufWriter::new(Shut(io::ErrorKind::StorageFull));
        let many = "1 1\n".repeat(500);
        let (result, _) = side_by_side(2, rows, many.as_bytes(), &mut full);
        assert!(matches!(result, Err(JobError::Write { .. })), "{rows}");
    }
}

#[cfg(feature = "simt")]
#[test]
fn simt_divides_like_cpu() {
    let (text, operands) = random_rows(60, 2048);
    assert_divided(&run(&["-", "--backend", "simt", "--verify"], text.as_bytes()), &operands);
}

#[cfg(feature = "simt")]
#[test]
fn simt_without_compiler_is_reported() {
    let mut command = program();
    let command = command.args(["-", "--backend", "simt"]).env("CXX", "/absent/c++");
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"7 2\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{words}");
    for part in ["kernel gpuint_", "is missing", "C++17 compiler", "/absent/c++", "set CXX"] {
        assert!(words.contains(part), "{part}: {words}");
    }
}

#[test]
fn gpu_divides_like_cpu() {
    let (text, operands) = random_rows(2000, 65536);
    let run = run(&["-", "--backend", "cuda", "--devices", "0", "--verify"], text.as_bytes());
    if let Err(AppError::Device(DeviceError::Open { source: Error::NoDevice, .. })) = &run.result {
        skip("gpu", "no GPU");
        return;
    }
    assert_divided(&run, &operands);
    assert!(run.closing().contains("on cuda"), "{}", run.closing());
    let all = self::run(&["-", "--backend", "cuda"], text.as_bytes());
    assert_eq!(all.stdout, run.stdout);
}

#[test]
fn devices_are_found() {
    let run = run(&["-"], b"7 2\n");
    assert_eq!(run.stdout, "3 1\n");
    let pool = Pool::new().unwrap();
    assert!(run.closing().contains(&pool.devices()[0].to_string()), "{}", run.closing());
}

#[test]
fn files_in_and_out() {
    let input = Scratch::with("in.txt", b"17 5\nx 1\n0x20 3\n");
    let output = Scratch::new("out.txt");
    let expected = "3 2\nerror: line 2: the dividend has 'x' in column 1, which is not a decimal \
                    digit\n10 2\n";

    let to_stdout = run(&[input.path(), "-bcpu"], b"");
    assert_eq!(to_stdout.stdout, expected);

    let to_file = run(&[input.path(), "-bcpu", "-o", output.path()], b"");
    assert_eq!(to_file.stdout, "");
    assert_eq!(output.content(), expected);
    assert_eq!(to_file.status(), Status::RowsRejected);

    let both = run(&[input.path(), "-bcpu", "--output", output.path(), "--summary", "-x"], b"");
    assert!(both.stdout.starts_with("family"));
    assert!(output.content().starts_with("0x3 0x2\nerror: line 2"));

    let dash = run(&[input.path(), "-bcpu", "--summary", "-o-"], b"");
    assert_eq!(dash.stdout, expected);
    assert!(dash.stderr.contains("family"), "the table goes where the lines do not");
}

#[test]
fn unusable_files_are_rejected() {
    let input = Scratch::with("kept.txt", b"17 5\n");
    let failure = |arguments: &[&str]| run(arguments, b"").result.unwrap_err().to_string();
    assert!(failure(&["/no/such/file"]).starts_with("cannot open /no/such/file: "));
    assert!(failure(&["/"]).starts_with("cannot open /: "));
    let unwritable = failure(&[input.path(), "-bcpu", "-o", "/no/such/folder/out"]);
    assert!(unwritable.starts_with("cannot create /no/such/folder/out: "));
    let same = failure(&[input.path(), "-bcpu", "-o", input.path()]);
    assert!(same.ends_with(": the job would write over it"), "{same}");
    assert_eq!(input.content(), "17 5\n");
}

#[test]
fn contradictory_options_are_rejected() {
    let number = run(&["-", "--backend=cpu", "--devices=0"], b"").result.unwrap_err();
    assert!(matches!(number, AppError::Device(DeviceError::Number)));
    let absent = run(&["-", "--backend=cuda", "--devices=0,4095"], b"").result.unwrap_err();
    assert!(absent.to_string().starts_with("cannot use --backend cuda: "), "{absent}");
    for bad in [["-", "--backend=gpu"], ["-", "--chunk-rows=0"], ["-", "--chunk-mib=0"]] {
        assert!(parse(&bad).is_err(), "{bad:?}");
    }
    #[cfg(feature = "mpi")]
    {
        assert!(parse(&["-", "--mpi"]).unwrap().mpi);
        assert!(parse(&["-", "--mpi", "--backend=cuda", "--devices=0"]).is_err());
    }
    Program::command().debug_assert();
}

#[test]
fn help_describes_the_formats() {
    let help = Program::command().render_long_help().to_string();
    for part in ["error: line N: REASON", "Exit status", "0x", "# family: NAME", "bundled"] {
        assert!(help.contains(part), "{part}");
    }
}

/// Gives its text, then an error.
struct Torn<'a>(&'a [u8]);

impl Read for Torn<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::other("the disk is gone")),
            read => Ok(read),
        }
    }
}

#[test]
fn rows_before_a_read_error_are_written() {
    let mut stdout = Vec::new();
    let mut stdin = BufReader::with_capacity(4, Torn(b"17 5\n9 2\n10"));
    let run = run_with(&["-", "--backend=cpu"], &mut stdin, &mut stdout);
    let error = run.result.unwrap_err();
    assert_eq!(error.to_string(), "cannot read after line 2: the disk is gone");
    assert_eq!(String::from_utf8(stdout).unwrap(), "3 2\n4 1\n");
}

/// Fails on every write.
struct Shut(io::ErrorKind);

impl Write for Shut {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(self.0.into())
    }
}

#[test]
fn output_that_fails() {
    let input = b"1 1\n2 0\n";
    let pipe = run_with(&["-", "-bcpu"], &mut &input[..], &mut Shut(io::ErrorKind::BrokenPipe));
    assert_eq!(pipe.status(), Status::Stopped);
    assert!(pipe.closing().ends_with("nobody reads the results"), "{}", pipe.closing());
    let table = run_with(&["-bcpu"], &mut io::empty(), &mut Shut(io::ErrorKind::BrokenPipe));
    assert_eq!(table.status(), Status::Stopped);
    for arguments in [&["-", "-bcpu"][..], &["-", "-bcpu", "--summary"]] {
        let full = run_with(arguments, &mut &input[..], &mut Shut(io::ErrorKind::StorageFull));
        assert!(matches!(full.result, Err(AppError::Job(JobError::Write { .. }))), "{arguments:?}");
    }
}

#[test]
fn verification_finds_wrong_rows() {
    let n = |n: u32| BigUint::from(n);
    assert!(is_division(&n(17), &n(5), &n(3), &n(2)));
    assert!(is_division(&n(0), &n(5), &n(0), &n(0)));
    for (q, r) in [(3, 3), (2, 7), (4, 0), (3, 1), (0, 17)] {
        assert!(!is_division(&n(17), &n(5), &n(q), &n(r)), "{q} {r}");
    }
    assert!(!is_division(&n(17), &n(0), &n(0), &n(17)));
}

#[test]
fn families_are_counted() {
    let input =
        b"8 2\n# family: odd ones\n9 2\n9 3\nx\n# family: none\n#family: no\n# family: last\n1 0\n";
    let run = run(&["-", "-bcpu", "--summary", "--verify"], input);
    let table: Vec<Vec<&str>> = run
        .stdout
        .lines()
        .map(|line| line.split("  ").filter(|s| !s.is_empty()).collect())
        .collect();
    assert_eq!(table.len(), 4);
    let cells = |row: usize| table[row].iter().map(|cell| cell.trim()).collect::<Vec<_>>();
    assert_eq!(cells(0), ["family", "rows", "dividend bits", "r = 0", "verified", "rejected"]);
    assert_eq!(cells(1), ["(no family)", "1", "4..4", "1", "1", "0"]);
    assert_eq!(cells(2), ["odd ones", "2", "4..4", "1", "2", "1"]);
    assert_eq!(cells(3), ["last", "0", "0", "0", "1"]);
    assert!(run.closing().ends_with("3 verified, 2 rejected"), "{}", run.closing());
}

#[test]
fn bundled_rows_are_divided_correctly() {
    let run = run(&["--backend", "cpu"], b"");
    assert_eq!(run.status(), Status::Done);
    let rows = include_str!("../data/divide.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .count();
    assert!(rows >= 200, "{rows}");
    let closing = run.closing();
    assert!(closing.starts_with(&format!("{rows} rows of 256..32768 bits")), "{closing}");
    assert!(closing.ends_with(&format!("{rows} verified, 0 rejected")), "{closing}");
    assert!(run.lines().len() > 10, "a line for each family");
}

#[test]
fn every_bundled_family_has_a_description() {
    let text = include_str!("../data/divide.txt");
    let lines: Vec<&str> = text.lines().collect();
    let families: Vec<usize> =
        (0..lines.len()).filter(|&i| lines[i].starts_with("# family: ")).collect();
    assert!(families.len() > 10);
    for &i in &families {
        let source = lines[i + 1];
        assert!(source.starts_with("# ") && source.len() > 40, "{}", lines[i]);
    }
    assert!(text.is_ascii());
    assert!(text.len() < 3_000_000);
}

/// The program that cargo built for this test.
fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpuint"));
    command.arg("divide");
    command
}

/// Runs the built program.
fn run_built(arguments: &[&str], stdin: &[u8]) -> Output {
    let mut child = program()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let stdin = stdin.to_owned();
    // A program that ends early closes the pipe.
    let writer = std::thread::spawn(move || drop(pipe.write_all(&stdin)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

#[test]
fn built_program_divides() {
    let good = run_built(&["-", "--backend", "cpu"], b"10 3\n0xff 0x10\n");
    assert_eq!(good.status.code(), Some(0));
    assert_eq!(good.stdout, b"3 1\n15 15\n");

    let rejected = run_built(&["-", "--backend", "cpu"], b"10 3\n1 0\n20 3\n");
    assert_eq!(rejected.status.code(), Some(1));
    assert_eq!(rejected.stdout, b"3 1\nerror: line 2: the divisor is zero\n6 2\n");

    let failed = run_built(&["/no/such/file"], b"");
    assert_eq!(failed.status.code(), Some(2));
    assert!(failed.stderr.starts_with(b"divide: cannot open /no/such/file: "));

    let usage = run_built(&["--no-such-option"], b"");
    assert_eq!(usage.status.code(), Some(2));

    let help = run_built(&["--help"], b"");
    assert_eq!(help.status.code(), Some(0));
    assert!(String::from_utf8(help.stdout).unwrap().contains("error: line N: REASON"));
}

#[test]
fn built_program_survives_a_closed_pipe() {
    let mut child = program()
        .args(["-", "--backend", "cpu", "--chunk-rows", "10"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdin.write_all(&b"100 7\n".repeat(10)).unwrap();
    stdout.read_line(&mut first).unwrap();
    assert_eq!(first, "14 2\n");
    drop(stdout);
    let _ = stdin.write_all(&b"100 7\n".repeat(100_000));
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let reason = String::from_utf8(output.stderr).unwrap();
    assert!(reason.ends_with(": nobody reads the results\n"), "{reason}");
}

#[cfg(unix)]
#[test]
fn built_program_ends_without_a_reader_while_it_waits_for_input() {
    let mut child = program()
        .args(["-", "--backend=cpu", "--chunk-rows=1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdin.write_all(b"100 7\n").unwrap();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "14 2\n");
    drop(stdout);
    stdin.write_all(b"100 7\n").unwrap();
    assert_eq!(ended(&mut child).code(), Some(3));
}

/// Asserts that a job refused to start and left its input as it was.
fn assert_same_file(output: &Output, input: &Path, content: &str) {
    let reason = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{reason}");
    assert!(reason.ends_with(": the job would write over it\n"), "{reason}");
    assert_eq!(fs::read_to_string(input).unwrap(), content);
}

#[test]
fn output_that_is_the_input_is_rejected_under_every_name() {
    let input = Scratch::with("same.txt", b"17 5\n");
    let (hard, soft) = (Scratch::new("hard.txt"), Scratch::new("soft.txt"));
    fs::hard_link(&input.0, &hard.0).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&input.0, &soft.0).unwrap();
    let job = |arguments: &[&str]| {
        let mut command = program();
        command.args(arguments).arg("-bcpu");
        command
    };
    let append = |path: &Path| fs::File::options().append(true).open(path).unwrap();
    for name in [&input, &hard, &soft] {
        let output = job(&[input.path(), "-o", name.path()]).output().unwrap();
        assert_same_file(&output, &input.0, "17 5\n");
        let stdin = fs::File::open(&input.0).unwrap();
        let output = job(&["-", "-o", name.path()]).stdin(stdin).output().unwrap();
        assert_same_file(&output, &input.0, "17 5\n");
        let output = job(&[input.path()]).stdout(append(&name.0)).output().unwrap();
        assert_same_file(&output, &input.0, "17 5\n");
        let table = ["--summary", "-o", &format!("{}.other", name.path()), input.path()];
        let output = job(&table).stdout(append(&name.0)).output().unwrap();
        assert_same_file(&output, &input.0, "17 5\n");
        let output = job(&[input.path()]).stderr(append(&name.0)).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(input.content().starts_with("17 5\ndivide: standard error is the input "));
        fs::write(&input.0, "17 5\n").unwrap();
    }
}

#[cfg(unix)]
#[test]
fn input_that_is_a_file_of_the_job_is_rejected() {
    use std::os::unix::fs::symlink;
    type Alias = fn(&Path, &Path) -> io::Result<()>;
    let aliases: [Alias; 3] = [
        |from, to| fs::rename(from, to),
        |from, to| fs::hard_link(from, to),
        |from, to| symlink(from, to),
    ];
    for suffix in ["", ".partial", ".checkpoint", ".checkpoint.new"] {
        for (kind, alias) in aliases.into_iter().enumerate() {
            for (resume, on_stdin) in [(false, false), (false, true), (true, false), (true, true)] {
                let folder = tempfile::tempdir().unwrap();
                let (input, data) = (folder.path().join("in.txt"), folder.path().join("data"));
                fs::write(&input, "17 5\n").unwrap();
                let own = format!("{}{suffix}", data.display());
                alias(&input, Path::new(&own)).unwrap();
                let input = if kind == 0 { Path::new(&own) } else { &input };
                let mut job = program();
                job.arg("-bcpu").arg("-o").arg(&data);
                job.args(resume.then_some("--resume"));
                if on_stdin {
                    job.arg("-").stdin(fs::File::open(input).unwrap());
                } else {
                    job.arg(input);
                }
                let before = names_in(folder.path());
                let output = job.output().unwrap();
                assert_same_file(&output, input, "17 5\n");
                let reason = String::from_utf8_lossy(&output.stderr);
                let names =
                    [if on_stdin { "on standard input" } else { input.to_str().unwrap() }, "data"];
                assert!(names.iter().all(|name| reason.contains(name)), "{reason}");
                assert_eq!(names_in(folder.path()), before, "{own}: nothing is made");
            }
        }
    }
}

/// Names of the files in a folder.
fn names_in(folder: &Path) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

#[cfg(unix)]
#[test]
fn files_that_are_not_of_the_job_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let refuse = |suffix: &str, reason: &str| {
        for resume in [false, true] {
            let mut job = program();
            job.args(["-", "-bcpu", "-o"]).arg(&data).args(resume.then_some("--resume"));
            let output = job.stdin(Stdio::null()).output().unwrap();
            let words = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{suffix}: {words}");
            let expected = format!("{}{suffix} {reason}", data.display());
            assert!(words.contains(&expected), "{suffix}: {words}");
            assert!(!data.exists());
        }
    };
    let other = folder.path().join("other");
    fs::write(&other, "a file of the user").unwrap();
    for suffix in [".partial", ".checkpoint", ".checkpoint.new"] {
        let own = PathBuf::from(format!("{}{suffix}", data.display()));
        std::os::unix::fs::symlink(&other, &own).unwrap();
        refuse(suffix, "is a symbolic link");
        fs::remove_file(&own).unwrap();
        std::os::unix::fs::symlink("nowhere", &own).unwrap();
        refuse(suffix, "is a symbolic link");
        fs::remove_file(&own).unwrap();
        fs::hard_link(&other, &own).unwrap();
        refuse(suffix, "has a further name");
        fs::remove_file(&own).unwrap();
        // Opening a pipe would wait for its other end.
        assert!(Command::new("mkfifo").arg(&own).status().unwrap().success());
        refuse(suffix, "is not a regular file");
        fs::remove_file(&own).unwrap();
        fs::write(&own, "").unwrap();
        match std::os::unix::fs::chown(&own, Some(1), None) {
            Ok(()) => refuse(suffix, "belongs to another user"),
            Err(_) => skip("root", "only root makes files of other users"),
        }
        fs::remove_file(&own).unwrap();
        fs::write(&own, "weights of a model").unwrap();
        refuse(
            suffix,
            match suffix {
                ".partial" => "has content and no checkpoint of this command",
                _ => "is no checkpoint of this command",
            },
        );
        assert_eq!(fs::read_to_string(&own).unwrap(), "weights of a model");
        fs::remove_file(&own).unwrap();
    }
    assert_eq!(fs::read_to_string(&other).unwrap(), "a file of the user");
    assert!(!folder.path().join("nowhere").exists());
}

#[cfg(unix)]
#[test]
fn link_to_no_file_is_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let (link, absent) = (folder.path().join("link"), folder.path().join("absent"));
    std::os::unix::fs::symlink(&absent, &link).unwrap();
    let arguments = ["-", "-bcpu", "-o", link.to_str().unwrap()];
    let error = run(&arguments, b"7 2\n").result.unwrap_err().to_string();
    assert!(error.ends_with("link is a symbolic link that leads to no file"), "{error}");
    assert!(link.is_symlink() && !absent.exists());
    fs::write(&absent, "").unwrap();
    assert_eq!(run(&arguments, b"7 2\n").status(), Status::Done);
    assert!(link.is_symlink(), "the link stays");
    assert_eq!(fs::read_to_string(&absent).unwrap(), "3 1\n");
}

#[cfg(unix)]
#[test]
fn unfinished_files_are_as_private_as_the_output() {
    use std::os::unix::fs::PermissionsExt;
    let output = Scratch::with("private.txt", b"old");
    let mode =
        |suffix: &str| fs::metadata(output.beside(suffix)).unwrap().permissions().mode() & 0o777;
    let interrupt = || {
        let mut torn = BufReader::with_capacity(4, Torn(b"17 5\n9 2\n10"));
        let failed = run_with(&["-", "-bcpu", "-o", output.path()], &mut torn, &mut Vec::new());
        assert!(failed.result.is_err());
    };
    // The owner can go on with a job whose output is read-only.
    for (bits, partial) in [(0o600, 0o600), (0o640, 0o640), (0o440, 0o640)] {
        fs::set_permissions(&output.0, fs::Permissions::from_mode(bits)).unwrap();
        interrupt();
        assert_eq!([mode(".partial"), mode(".checkpoint")], [partial; 2], "{bits:o}");
    }
    // A file that was there is closed to others before it gets a result.
    fs::set_permissions(&output.0, fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(output.beside(".partial"), fs::Permissions::from_mode(0o666)).unwrap();
    interrupt();
    assert_eq!(mode(".partial"), 0o600);
    let resumed = run(&["-", "-bcpu", "-o", output.path(), "--resume"], b"17 5\n9 2\n10 3\n");
    assert_eq!(resumed.status(), Status::Done);
    assert_eq!((mode(""), output.content().as_str()), (0o600, "3 2\n4 1\n3 1\n"));
}

#[test]
fn lock_on_an_output_that_another_job_completed_does_not_count() {
    let output = Scratch::new("renamed.txt");
    let partial = output.beside(".partial");
    let file = fs::File::create(&partial).unwrap();
    assert!(output::lock(&file, &partial).unwrap());
    // Another job renames the file between its opening and its lock.
    fs::rename(&partial, &output.0).unwrap();
    assert!(!output::lock(&file, &partial).unwrap());
    fs::write(&partial, "a third job").unwrap();
    assert!(!output::lock(&file, &partial).unwrap());
}

#[test]
fn output_that_was_replaced_is_not_renamed() {
    let output = Scratch::new("swapped.txt");
    let names = Names::of(&output.0).unwrap();
    let mut file = OutputFile::open(&names, decimal(), false).unwrap();
    file.write_all(b"3 1\n").unwrap();
    fs::remove_file(output.beside(".partial")).unwrap();
    fs::write(output.beside(".partial"), "another file").unwrap();
    let error = file.finish().unwrap_err().to_string();
    assert!(error.contains("was replaced by another program"), "{error}");
    assert!(!output.0.exists());
}

#[test]
fn job_that_was_killed_before_its_first_checkpoint_starts_again() {
    let output = Scratch::new("early.txt");
    let names = Names::of(&output.0).unwrap();
    let is_busy = |result: &Result<_, _>| matches!(result, Err(OutputError::Busy(_)));
    for resume in [false, true] {
        let mut killed =
            unless_forked(is_busy, || OutputFile::open(&names, decimal(), resume)).unwrap();
        assert_eq!(killed.resumed(), None);
        killed.write_all(b"3 1\n").unwrap();
        killed.flush().unwrap();
    }
    assert_eq!(fs::read(output.beside(".partial")).unwrap(), b"3 1\n");
    let resumed = run(&["-", "-bcpu", "-o", output.path(), "--resume"], b"9 2\n");
    assert!(resumed.stderr.starts_with("nothing to resume: "), "{}", resumed.stderr);
    assert_eq!(output.content(), "4 1\n");
    assert!(!output.beside(".partial").exists() && !output.beside(".checkpoint").exists());
}

#[test]
fn positions_are_those_of_the_lines_before_them() {
    let limit = input::LONGEST_LINE;
    let mut text = b"7 2\n\n# no row\n9 2 # two\n   \n".to_vec();
    for length in [limit - 1, limit, limit + 1, 2 * limit] {
        text.extend(format!("{}1 1\n8 3\n", " ".repeat(length - 3)).bytes());
    }
    text.extend(b"11 3");
    let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    for (rows, capacity) in [(1, 64), (3, 1000), (2, 1 << 20), (100, 1 << 13)] {
        let limits = ChunkLimits { rows, bytes: 1 << 20 };
        let reader = || Reader::new(BufReader::with_capacity(capacity, &text[..]), limits, true);
        let (mut chunks, mut chunk) = (reader(), input::Chunk::default());
        let mut read = Vec::new();
        while {
            let more = chunks.read(&mut chunk).unwrap();
            read.extend(chunk.lines.iter().map(|line| line.number));
            let before: Vec<u8> = lines[..chunk.end.line as usize].concat();
            let mut hash = InputHash::default();
            hash.update(&before);
            assert_eq!(chunk.end.bytes, before.len() as u64, "{rows} rows, {capacity} bytes");
            assert_eq!(chunk.end.hash, hash.text(), "{rows} rows, {capacity} bytes");
            let mut rest = reader();
            assert!(rest.skip(&chunk.end).unwrap());
            let mut next = input::Chunk::default();
            rest.read(&mut next).unwrap();
            assert!(next.lines.first().is_none_or(|line| line.number > chunk.end.line));
            more
        } {}
        assert_eq!(read, [1, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14], "{rows} rows, {capacity} bytes");
    }
}

/// Leaves the files of a job that was killed after the renaming of its output.
fn kill_after_renaming(output: &Scratch, input: &[u8]) {
    let half = input.len() / 2;
    let mut torn = BufReader::with_capacity(4, Torn(&input[..half]));
    let failed = run_with(&["-", "-bcpu", "-o", output.path()], &mut torn, &mut Vec::new());
    assert!(failed.result.is_err());
    let names = Names::of(&output.0).unwrap();
    let is_busy = |result: &Result<_, _>| matches!(result, Err(OutputError::Busy(_)));
    let mut file = unless_forked(is_busy, || OutputFile::open(&names, decimal(), true)).unwrap();
    let position = file.resumed().unwrap().position.clone();
    let mut reader = Reader::new(input, ChunkLimits { rows: 100, bytes: 1 << 20 }, true);
    let mut chunk = input::Chunk::default();
    assert!(reader.skip(&position).unwrap());
    reader.read(&mut chunk).unwrap();
    let parser = input::Parser::new(&chunk, 64);
    for line in &chunk.lines {
        let mut numbers = Vec::new();
        let operands = chunk.parse(line, &parser, &mut numbers).unwrap();
        let [u, v] = [operands.u, operands.v].map(|it| BigUint::from_bytes_le(&numbers[it.bytes]));
        writeln!(file, "{} {}", &u / &v, &u % &v).unwrap();
    }
    file.flush().unwrap();
    file.passed(&chunk.end, 0).unwrap();
    file.publish().unwrap();
    assert!(output.beside(".checkpoint").exists() && !output.beside(".partial").exists());
}

#[test]
fn job_that_was_killed_after_the_renaming_is_complete() {
    let output = Scratch::with("complete.txt", b"old");
    let input = b"17 5\n9 2\n10 3\n11 3\n";
    let resume = |input: &[u8]| run(&["-", "-bcpu", "-o", output.path(), "--resume"], input);
    let results = "3 2\n4 1\n3 1\n3 2\n";

    kill_after_renaming(&output, input);
    let resumed = resume(input);
    assert_eq!(resumed.status(), Status::Done);
    assert!(resumed.stderr.starts_with("the output is complete: "), "{}", resumed.stderr);
    assert_eq!(output.content(), results);
    assert!(!output.beside(".partial").exists() && !output.beside(".checkpoint").exists());

    // Neither another input, nor another file of the same size.
    kill_after_renaming(&output, input);
    for other in [&b"17 5\n9 2\n10 3\n12 3\n"[..], b"17 5\n9 2\n10 3\n11 3\n7 2\n"] {
        let error = resume(other).result.unwrap_err().to_string();
        assert!(error.contains("the input does not consist of the lines"), "{error}");
    }
    std::thread::sleep(Duration::from_millis(20));
    fs::write(&output.0, "x".repeat(results.len())).unwrap();
    let error = resume(input).result.unwrap_err().to_string();
    assert!(error.contains("has 0 bytes instead of 16"), "{error}");
}

#[test]
fn resume_without_an_interrupted_job_says_so() {
    let output = Scratch::new("fresh.txt");
    for target in [output.path(), "-"] {
        let run = run(&["-", "-bcpu", "-o", target, "--resume"], b"7 2\n");
        assert_eq!(run.status(), Status::Done);
        assert!(run.stderr.starts_with("nothing to resume: "), "{}", run.stderr);
    }
    assert_eq!(output.content(), "3 1\n");
    assert!(!run(&["-", "-bcpu", "-o", output.path()], b"7 2\n").stderr.contains("resume"));
}

#[test]
fn output_keeps_its_old_content_until_it_is_complete() {
    let old = "what was there\n";
    let output = Scratch::with("old.txt", old.as_bytes());
    let mut torn = BufReader::with_capacity(4, Torn(b"17 5\n9 2\n10"));
    let arguments = ["-", "-bcpu", "-o", output.path()];
    let failed = run_with(&arguments, &mut torn, &mut Vec::new());
    assert!(matches!(failed.result, Err(AppError::Job(JobError::Read { line: 2, .. }))));
    assert_eq!(output.content(), old);
    assert_eq!(fs::read(output.beside(".partial")).unwrap(), b"3 2\n4 1\n");
    assert!(failed.closing().ends_with("--resume goes on"), "{}", failed.closing());

    let resumed = run(&["-", "-bcpu", "-o", output.path(), "--resume"], b"17 5\n9 2\n10 3\n");
    assert_eq!(resumed.status(), Status::Done);
    assert!(resumed.stderr.starts_with("resuming after line 2\n"), "{}", resumed.stderr);
    assert_eq!(output.content(), "3 2\n4 1\n3 1\n");
    assert!(!output.beside(".partial").exists() && !output.beside(".checkpoint").exists());
}

#[test]
fn output_resumes_only_a_matching_job() {
    let output = Scratch::new("mixed.txt");
    let start = || {
        let mut torn = BufReader::with_capacity(4, Torn(b"17 5\n9 2\n10"));
        let failed = run_with(&["-", "-bcpu", "-o", output.path()], &mut torn, &mut Vec::new());
        assert!(failed.result.is_err());
    };
    let resume = |more: &[&str], input: &[u8]| {
        run(&[&["-", "-bcpu", "-o", output.path(), "--resume"], more].concat(), input)
    };
    let refused = |run: &Run, reason: &str| {
        let error = run.result.as_ref().unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        assert!(!output.0.exists());
    };
    start();
    refused(&resume(&[], b"17 5\n9 3\n10 3\n"), "does not begin with the lines");
    refused(&resume(&[], b"17 5\n"), "does not begin with the lines");
    refused(&resume(&["--hex"], b"17 5\n9 2\n10 3\n"), "--hex was not the same");
    fs::write(output.beside(".partial"), "3").unwrap();
    refused(&resume(&[], b"17 5\n9 2\n10 3\n"), "has 1 bytes instead of 8");
    let checkpoint = fs::read_to_string(output.beside(".checkpoint")).unwrap();
    fs::write(output.beside(".checkpoint"), checkpoint.replace("lines 2", "lines two")).unwrap();
    refused(&resume(&[], b"17 5\n9 2\n10 3\n"), "damaged");
    fs::write(output.beside(".checkpoint"), checkpoint).unwrap();
    fs::write(output.beside(".partial"), "3 2\n4 1\nmore").unwrap();
    let rest = resume(&["--chunk-rows=1"], b"17 5\n9 2\n1 0\n10 3\n");
    assert_eq!(rest.status(), Status::RowsRejected);
    assert_eq!(output.content(), "3 2\n4 1\nerror: line 3: the divisor is zero\n3 1\n");
    // Without --resume, or without an interrupted job, a job starts from the first row.
    assert_eq!(run(&["-", "-bcpu", "-o", output.path()], b"7 2\n").status(), Status::Done);
    assert_eq!(output.content(), "3 1\n");
    assert_eq!(resume(&[], b"8 2\n").status(), Status::Done);
    assert_eq!(output.content(), "4 0\n");
    assert!(parse(&["-", "--resume"]).is_err(), "needs an output");
}

#[test]
fn resumed_job_remembers_rejected_rows() {
    let output = Scratch::new("rejected.txt");
    let mut torn = BufReader::with_capacity(4, Torn(b"17 0\n9 2\n10"));
    let failed = run_with(&["-", "-bcpu", "-o", output.path()], &mut torn, &mut Vec::new());
    assert!(failed.result.is_err());
    let resumed = run(&["-", "-bcpu", "-o", output.path(), "--resume"], b"17 0\n9 2\n10 3\n");
    assert_eq!(resumed.status(), Status::RowsRejected);
}

/// Both ends of a terminal: that of its user, and that of the program.
#[cfg(target_os = "linux")]
fn terminal() -> (fs::File, fs::File) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&user).unwrap();
    unlockpt(&user).unwrap();
    let name = ptsname(&user, Vec::new()).unwrap().into_string().unwrap();
    (user.into(), fs::File::options().read(true).write(true).open(name).unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn progress_bar_of_a_resumed_job_starts_at_its_rows() {
    let rows = b"1234 7\n".repeat(1000);
    let (input, output) = (Scratch::with("half.txt", &rows), Scratch::new("bar.txt"));
    let mut torn = BufReader::with_capacity(7 * 100, Torn(&rows[..7 * 500]));
    let failed = run_with(&["-", "-bcpu", "-o", output.path()], &mut torn, &mut Vec::new());
    assert!(failed.result.is_err());
    let (mut user, stderr) = terminal();
    let mut job = program();
    job.args([input.path(), "-bcpu", "--chunk-rows=100", "-o", output.path(), "--resume"]);
    assert!(job.stderr(stderr).status().unwrap().success());
    drop(job);
    let mut drawn = Vec::new();
    // A terminal without a program ends with an error.
    let _ = user.read_to_end(&mut drawn);
    let drawn = String::from_utf8_lossy(&drawn);
    let first = drawn.find(" of 6.84 KiB").expect(&drawn);
    assert!(drawn[..first].ends_with("3.42 KiB"), "{drawn}");
}

#[test]
fn output_of_a_running_job_is_rejected() {
    let output = Scratch::new("busy.txt");
    let lock = fs::File::create(output.beside(".partial")).unwrap();
    lock.lock().unwrap();
    let busy = run(&["-", "-bcpu", "-o", output.path()], b"7 2\n");
    let error = busy.result.unwrap_err().to_string();
    assert!(error.starts_with("another job is writing "), "{error}");
}

#[test]
fn output_may_be_a_device() {
    let run = run(&["-", "-bcpu", "-o", "/dev/null"], b"7 2\n");
    assert_eq!(run.status(), Status::Done);
    assert!(!Path::new("/dev/null.partial").exists());
}

#[test]
fn job_stops_on_request() {
    let output = Scratch::new("stopped.txt");
    let arguments = ["-", "-bcpu", "--chunk-rows=2", "-o", output.path()];
    let mut stderr = Vec::new();
    let streams = Streams {
        stdin: Box::new(&b"7 2\n8 2\n9 2\n"[..]),
        stdout: &mut io::sink(),
        stderr: &mut stderr,
        progress: false,
        stop: Box::leak(Box::new(AtomicBool::new(true))),
        watch: &mut || (),
    };
    let status = app::run(&parse(&arguments).unwrap(), streams, None).unwrap();
    assert_eq!(status, Status::Stopped);
    let text = String::from_utf8(stderr).unwrap();
    assert!(text.ends_with("divide: interrupted after line 2\n"), "{text}");
    assert!(!output.0.exists());
    assert_eq!(fs::read(output.beside(".partial")).unwrap(), b"3 1\n4 0\n");
}

#[test]
fn families_beyond_a_thousand_share_a_line() {
    let mut text = String::new();
    for family in 0..1500 {
        text += &format!("# family: {}{family}\n7 2\n", "x".repeat(100));
    }
    for family in 0..2500 {
        text += &format!("# family: f{}\n7 2\n", family % 1250);
    }
    let mut reader =
        Reader::new(text.as_bytes(), ChunkLimits { rows: 10_000, bytes: 1 << 20 }, false);
    reader.read(&mut input::Chunk::default()).unwrap();
    assert_eq!(reader.families.len(), 1001);
    assert_eq!(reader.families[1], "x".repeat(80), "names are cut");
    assert_eq!(reader.families[2], "f0");
    assert_eq!(reader.families[1000], "(other families)");
}

/// Waits for the end of a program, whose standard input stays open, and kills it after a minute.
#[cfg(unix)]
fn ended(child: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(unix)]
fn send(signal: &str, child: &Child) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

/// A job of the program whose input comes from the test.
#[cfg(unix)]
struct Fed {
    child: Child,
    output: Scratch,
}

#[cfg(unix)]
impl Fed {
    /// Starts a job with chunks of 100 rows and feeds it the first 200.
    fn start(name: &str) -> Self {
        let output = Scratch::with(name, b"old\n");
        let mut child = program()
            .args(["-", "-bcpu", "--chunk-rows=100", "-o", output.path()])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.as_mut().unwrap().write_all(&Self::input()[..200 * 6]).unwrap();
        Self { child, output }
    }

    /// 1000 rows of 6 bytes.
    fn input() -> Vec<u8> {
        (0..1000).map(|row| format!("{:03} 7\n", row % 1000)).collect::<String>().into_bytes()
    }

    /// Feeds 100 more rows.
    fn feed(&mut self) {
        let _ = self.child.stdin.as_mut().unwrap().write_all(&Self::input()[200 * 6..300 * 6]);
    }

    /// Waits until a file beside the output holds something; a checkpoint, some progress.
    fn wait_for(&self, suffix: &str) {
        let start = Instant::now();
        let is_ready = |text: String| !text.is_empty() && !text.contains("input bytes 0\n");
        while !fs::read_to_string(self.output.beside(suffix)).is_ok_and(is_ready) {
            assert!(start.elapsed() < Duration::from_secs(60), "no {suffix}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Finishes the job with `--resume`; the output equals that of an uninterrupted job.
    fn resume(output: &Scratch) {
        assert_eq!(output.content(), "old\n");
        let resumed = run_built(&["-", "-bcpu", "-o", output.path(), "--resume"], &Self::input());
        assert_eq!(resumed.status.code(), Some(0));
        assert!(resumed.stderr.starts_with(b"resuming after line "), "it started anew");
        let expected: String = (0..1000).map(|u| format!("{} {}\n", u / 7, u % 7)).collect();
        assert_eq!(output.content(), expected);
    }
}

#[cfg(unix)]
#[test]
fn built_program_resumes_after_an_interrupt() {
    for signal in ["-INT", "-TERM"] {
        let mut job = Fed::start(&format!("signal{signal}.txt"));
        job.wait_for(".partial");
        send(signal, &job.child);
        let mut said = String::new();
        let mut stderr = BufReader::new(job.child.stderr.take().unwrap());
        stderr.read_line(&mut said).unwrap();
        assert!(said.starts_with("divide: finishing the rows under way"), "{said}");
        // It waits for more rows, which do not come.
        assert_eq!(ended(&mut job.child).code(), Some(3));
        stderr.read_to_string(&mut said).unwrap();
        assert!(said.contains("divide: interrupted after line "), "{said}");
        Fed::resume(&job.output);
    }
}

#[cfg(unix)]
#[test]
fn built_program_stops_at_once_at_the_second_signal() {
    let input = Scratch::with("unread.txt", &b"1234567890 7\n".repeat(50_000));
    // The job waits for a reader of its results.
    let mut child = program()
        .args([input.path(), "-bcpu", "--chunk-rows=1000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    send("-INT", &child);
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.starts_with("divide: finishing the rows under way"), "{said}");
    send("-INT", &child);
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[cfg(unix)]
#[test]
fn signal_ends_the_wait_for_a_pipe() {
    use std::os::unix::process::ExitStatusExt;
    let pipe = Scratch::new("pipe");
    assert!(Command::new("mkfifo").arg(&pipe.0).status().unwrap().success());
    for arguments in [[pipe.path(), "-o-"], ["-", "-o"]] {
        let mut job = program();
        job.args(arguments).args((arguments[1] == "-o").then_some(pipe.path())).arg("-bcpu");
        let mut child = job.stdin(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(300));
        assert!(child.try_wait().unwrap().is_none(), "it waits for the other end");
        send("-INT", &child);
        assert_eq!(ended(&mut child).signal(), Some(2));
    }
}

#[cfg(unix)]
#[test]
fn built_program_resumes_after_a_kill() {
    let mut job = Fed::start("killed.txt");
    job.wait_for(".partial");
    // Checkpoints are two seconds apart.
    std::thread::sleep(Duration::from_millis(2100));
    job.feed();
    job.wait_for(".checkpoint");
    send("-KILL", &job.child);
    assert_eq!(job.child.wait().unwrap().code(), None);
    Fed::resume(&job.output);
}

#[cfg(unix)]
#[test]
fn built_program_keeps_the_old_output_on_a_full_disk() {
    let input = Scratch::with("much.txt", &b"1234567890 7\n".repeat(20_000));
    let output = Scratch::with("full.txt", b"old\n");
    // Files of at most 64 blocks: a write beyond fails as on a full disk.
    let limited = format!(
        "trap '' XFSZ; ulimit -f 64; exec '{}' divide '{}' -bcpu --chunk-rows=1000 -o '{}'",
        env!("CARGO_BIN_EXE_gpuint"),
        input.path(),
        output.path()
    );
    let failed = Command::new("sh").args(["-c", &limited]).output().unwrap();
    let reason = String::from_utf8_lossy(&failed.stderr);
    assert_eq!(failed.status.code(), Some(2), "{reason}");
    assert!(reason.contains("cannot write the results after line "), "{reason}");
    assert_eq!(output.content(), "old\n");
    let resumed = run_built(&[input.path(), "-bcpu", "-o", output.path(), "--resume"], b"");
    assert_eq!(resumed.status.code(), Some(0));
    assert_eq!(output.content(), "176366841 3\n".repeat(20_000));
}
