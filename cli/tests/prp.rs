//! `gpuint prp`, as the built program.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use gpuint_testkit::random::Random;
use num_bigint::{BigInt, BigUint};

/// A folder for the files of a test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let folder = folder.join(format!("prp-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.0.join(name), content).unwrap();
        self.path(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Results of a run.
struct Run {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Run {
    fn lines(&self) -> Vec<&str> {
        self.stdout.lines().collect()
    }

    /// The candidates with a line that has this text.
    fn with(&self, text: &str) -> Vec<&str> {
        let lines = self.stdout.lines().filter(|line| line.contains(text));
        lines.map(|line| line.split(" is ").next().unwrap()).collect()
    }

    fn primes(&self) -> Vec<&str> {
        let lines = self.stdout.lines();
        let primes = lines.filter(|line| line.contains("-PRP!") || line.contains(" is prime!"));
        primes.map(|line| line.split(" is ").next().unwrap()).collect()
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpuint"));
    command.arg("prp").args(arguments).args(["--backend", "cpu"]);
    command
}

fn run(arguments: &[&str], stdin: &str) -> Run {
    let mut command = command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A job that ends early does not read all.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    of(child.wait_with_output().unwrap())
}

fn of(output: Output) -> Run {
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    Run { status: output.status.code(), stdout, stderr }
}

/// Tests the lines of standard input without a sieve.
fn test(stdin: &str) -> Run {
    run(&["-", "--sieve", "0"], stdin)
}

/// Low 64 bits of b^(n - 1) modulo n, by num-bigint.
fn res64(n: &BigUint, base: u32) -> String {
    let residue = BigUint::from(base).modpow(&(n - 1u32), n);
    format!("{:016X}", residue.iter_u64_digits().next().unwrap_or(0))
}

/// The expected composite line.
fn composite(text: &str, n: &BigUint) -> String {
    format!("{text} is composite: RES64: [{}]", res64(n, 3))
}

#[test]
fn decimal_and_hexadecimal_candidates_are_tested() {
    let m127: BigUint = (BigUint::from(1u32) << 127) - 1u32;
    let m67: BigUint = (BigUint::from(1u32) << 67) - 1u32;
    let input = format!("{m127}\n0x{m127:X} // the same\n\n  {m67}\r\n# comment\n2\n0\n1\n4\n9\n");
    let run = test(&input);
    assert_eq!(
        run.lines(),
        [
            format!("{m127} is 3-PRP! (BPSW)"),
            format!("0x{m127:X} is 3-PRP! (BPSW)"),
            composite(&m67.to_string(), &m67),
            "2 is prime!".to_owned(),
            "0 is neither prime nor composite".to_owned(),
            "1 is neither prime nor composite".to_owned(),
            "4 has factors: 2".to_owned(),
            composite("9", &9u32.into()),
        ]
    );
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(run.stderr.starts_with("8 candidates on cpu"), "{}", run.stderr);
}

#[test]
fn generalized_fermat_numbers_are_tested() {
    let run = test("ABC $a^512+1\n44\n46\n48\n");
    let number = |base: u32| BigUint::from(base).pow(512) + 1u32;
    assert_eq!(
        run.lines(),
        [
            composite("44^512+1", &number(44)),
            "46^512+1 is 3-PRP! (BPSW)".to_owned(),
            composite("48^512+1", &number(48)),
        ]
    );
    assert_eq!(run.status, Some(0), "{}", run.stderr);
}

/// A first block of 65536 candidates is tested while the next one is read.
#[test]
fn first_candidates_are_tested_before_the_last_ones_are_read() {
    let mut command = command(&["-", "--sieve", "0"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let (sender, lines) = mpsc::channel();
    let reader = thread::spawn(move || {
        for line in stdout.lines() {
            sender.send(line.unwrap()).unwrap();
        }
    });
    const EVEN: usize = 70_000;
    let text: String = (1..=EVEN).map(|i| format!("{}\n", 4 * i)).collect();
    stdin.write_all(text.as_bytes()).unwrap();
    stdin.flush().unwrap();
    // The input is open: a program that reads on first has no line.
    let first = lines.recv_timeout(Duration::from_secs(120));
    drop(stdin);
    assert_eq!(first.as_deref(), Ok("4 has factors: 2"));
    assert!(child.wait().unwrap().success());
    reader.join().unwrap();
    let rest: Vec<String> = lines.iter().collect();
    assert_eq!(rest.len(), EVEN - 1);
    assert_eq!(rest[EVEN - 2], format!("{} has factors: 2", 4 * EVEN));
}

/// Candidates and errors of files that several threads read: all numbers are even.
#[test]
fn long_files_keep_the_order_and_the_numbers_of_lines() {
    let folder = Folder::new("long");
    let check = |name: &str, text: &[u8], expected: &[String]| {
        let file = folder.write(name, text);
        let run = run(&[&file, "--sieve", "0"], "");
        assert_eq!(run.lines(), expected, "{name}");
        assert_eq!(run.status, Some(1), "{}", run.stderr);
    };
    let even = |text: String| format!("{text} has factors: 2");

    let (mut text, mut expected) = (Vec::new(), Vec::new());
    for line in 1..=20_000 {
        match line % 5000 {
            1 => text.extend(b"  # a comment"),
            2 => text.extend(b"\t"),
            3 => {
                text.extend(b"4+\\");
                expected.push(even("4+2".to_owned()));
            }
            4 => text.extend(b"2 // the rest"),
            5 => {
                text.extend(b"7*");
                let reason = "column 3: expected a number or \"(\", found the end";
                expected.push(format!("error: line {line}: {reason}"));
            }
            6 => {
                text.extend(b"1\xff");
                let reason = "the line is not UTF-8 text from column 2 on";
                expected.push(format!("error: line {line}: {reason}"));
            }
            _ => {
                text.extend(format!(" {line}*2^9 // {line}\r").bytes());
                expected.push(even(format!("{line}*2^9")));
            }
        }
        text.push(b'\n');
    }
    check("plain", &text, &expected);

    let (mut text, mut expected) = ("ABC $a*3^$b+1 | $a*3^$b-1\n".to_owned(), Vec::new());
    for line in 2..=10_000 {
        if line % 3000 == 0 {
            text += "5\n";
            expected.push(format!("error: line {line}: expected 2 values, found 1"));
        } else {
            text += &format!("{} 9\n", 2 * line + 1);
            let sign = |sign| even(format!("{}*3^9{sign}1", 2 * line + 1));
            expected.extend(["+", "-"].map(sign));
        }
    }
    check("abc", text.as_bytes(), &expected);

    let (mut text, mut expected) = ("0:P:1:3:1\n".to_owned(), Vec::new());
    for line in 2..=10_000 {
        match line {
            4000 => text += "0:M:1:3:2\n",
            7000 => {
                text += "5\n";
                expected.push(format!("error: line {line}: expected 2 values, found 1"));
            }
            _ => {
                text += &format!("{} 9\n", 2 * line + 1);
                let sign = if line < 4000 { '+' } else { '-' };
                expected.push(even(format!("{}*3^9{sign}1", 2 * line + 1)));
            }
        }
    }
    check("newpgen", text.as_bytes(), &expected);
}

#[test]
fn residues_equal_those_of_openpfgw() {
    // Printed by OpenPFGW 4.0.1 (sethtroisi/prime-gap, primesearch/OpenPFGW).
    let published = [
        ("503# -641", "D52471BF5F4DADE0"),
        ("503# -647", "E4A9DD931E0AAB3E"),
        ("503# +599", "28E9B7BC9318BC48"),
        ("503# +601", "6CCB12306CFFF317"),
        ("1009# -2749", "856DCF1302B477F2"),
        ("1009# -2753", "93EDEECF6F4C7B91"),
        ("1009# +1259", "EF953107D1674167"),
        ("1009# +1283", "767F6CDDD78B79A6"),
        ("10^700+3", "44B46CC0948A0831"),
    ];
    let input: String = published.iter().map(|(text, _)| format!("{text}\n")).collect();
    let run = test(&(input + "503# -659\n503# +631\n10^700+7\n"));
    for ((text, residue), line) in published.iter().zip(run.lines()) {
        assert_eq!(line, format!("{text} is composite: RES64: [{residue}]"));
    }
    assert_eq!(run.primes(), ["503# -659", "503# +631", "10^700+7"]);
}

/// PRST prints `3^(n - 1)` for numbers that are not of Proth's form, as LLR does.
#[test]
fn residues_equal_those_of_prst() {
    // Of its own test (patnashev/prst, src/test.data).
    let published = [
        ("3*2^106-1", "4119195AAC289097"),
        ("3*2^270-1", "0001926F4620499E"),
        ("3*2^515-1", "B154E5381007A863"),
        ("3*2^1055-1", "14479365AF6925CC"),
        ("3*2^1500-1", "1EC3697C791B80B3"),
        ("3*2^2046-1", "D1B5BDB185ED6D31"),
        ("3*2^2990-1", "5A82A4B09195D977"),
        ("3*2^3627-1", "AA9946B6A0DCAEA8"),
        ("2*5^132-1", "63D3175F5FE79BAF"),
        ("2*5^276-1", "780B7AC0DF27A6F9"),
        ("2*5^502-1", "7FD7F3C996B24B0C"),
        ("2*5^888-1", "BFCB29F2F6CB6DB6"),
        ("2*5^1294-1", "F9740C6C8CB57AE8"),
        ("2*5^1798-1", "9CD9D46B145BEF98"),
    ];
    let primes = ["3*2^391-1", "3*2^1274-1", "3*2^3276-1", "2*5^274-1", "2*5^1332-1"];
    let mut input: String = published.iter().map(|(text, _)| format!("{text}\n")).collect();
    input.extend(primes.map(|text| format!("{text}\n")));
    let run = test(&input);
    for ((text, residue), line) in published.iter().zip(run.lines()) {
        assert_eq!(line, format!("{text} is composite: RES64: [{residue}]"));
    }
    assert_eq!(run.primes(), primes);
}

#[test]
fn other_bases_have_other_residues() {
    let run = run(&["-", "--sieve=0", "--base=2"], "341\n2^67-1\n3*2^67+1\n7\n2^127-1\n");
    let proth: BigUint = (BigUint::from(3u32) << 67) + 1u32;
    assert_eq!(
        run.lines(),
        [
            "341 is composite: RES64: [0000000000000001] (fails BPSW)".to_owned(),
            "2^67-1 is composite: RES64: [0000000000000001] (fails BPSW)".to_owned(),
            format!("3*2^67+1 is composite: RES64: [{}]", res64(&proth, 2)),
            "7 is prime!".to_owned(),
            "2^127-1 is 2-PRP! (BPSW)".to_owned(),
        ]
    );
    let wrong = run_error(&["-", "--base=1"]);
    assert!(wrong.contains("--base"), "{wrong}");
}

fn run_error(arguments: &[&str]) -> String {
    let run = run(arguments, "7\n");
    assert_eq!(run.status, Some(2), "{} {}", run.stdout, run.stderr);
    run.stderr
}

#[test]
fn small_numbers_agree_with_a_sieve() {
    let numbers: String = (0..3000).map(|n| format!("{n}\n")).collect();
    let expected: Vec<String> = gpuint::sieve::primes(0..3000).map(|p| p.to_string()).collect();
    for sieve in ["0", "10", "1000"] {
        for base in ["2", "3", "15"] {
            let run = run(&["-", "--sieve", sieve, "--base", base], &numbers);
            assert_eq!(run.primes(), expected, "--sieve {sieve} --base {base}");
            assert_eq!(run.lines().len(), 3000);
        }
    }
}

#[test]
fn pseudoprimes_are_composite() {
    // Strong pseudoprimes to bases 2, 2 and 3, ... (G. Jaeschke), Carmichael numbers, and strong
    // Lucas pseudoprimes (OEIS A217255).
    let hostile = "2047\n1373653\n25326001\n3215031751\n2152302898747\n3474749660383\n561\n1729\n\
                   3825123056546413051\n318665857834031151167461\n5459\n5777\n10877\n16109\n\
                   18971\n3317044064679887385961981\n";
    for base in ["2", "3", "5"] {
        let run = run(&["-", "--sieve", "0", "--base", base], hostile);
        assert_eq!(run.primes(), [""; 0], "--base {base}");
        assert_eq!(run.with(" is composite: ").len(), hostile.lines().count());
    }
}

#[test]
fn expressions_have_the_precedence_of_openpfgw() {
    let values = [
        ("2+3*4", 14),
        ("(2+3)*4", 20),
        ("2*3^2", 18),
        ("2^3^2", 64),
        ("-2^2+11", 7),
        ("3*-2+13", 7),
        ("20/4/5", 1),
        ("7%4*5", 15),
        ("-7%4", 1),
        ("5!", 120),
        ("7!2", 105),
        ("10!3", 280),
        ("0!", 1),
        ("7#", 210),
        ("10#", 210),
        ("0#", 1),
        ("3!^2", 36),
        ("(3#)^2+1", 37),
        ("2^(3!)", 64),
        ("(5^4-1)/(5-1)", 156),
        ("0x1F+0xa", 41),
        (" 1 + 2 ", 3),
        ("007", 7),
        ("0^0", 1),
        ("(-3)^3+40", 13),
        ("6/-3+9", 7),
    ];
    // The value v is that of 10^60 v + 1, whose residue is known.
    let scale = BigUint::from(10u32).pow(60);
    let input: String = values.iter().map(|(text, _)| format!("({text})*10^60+1\n")).collect();
    let run = test(&input);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    for ((text, value), line) in values.iter().zip(run.lines()) {
        let n = &scale * (*value as u32) + 1u32;
        let text = format!("({text})*10^60+1");
        let expected = composite(&text, &n);
        assert!(line == expected || line == format!("{text} is 3-PRP! (BPSW)"), "{line}");
    }
}

#[test]
fn faulty_expressions_are_rejected_with_line_and_column() {
    let faults = [
        ("12a", "column 3: expected an operator or the end, found 'a'"),
        ("  2^", "column 5: expected a number or \"(\", found the end"),
        ("(2+3", "column 5: expected \")\", found the end"),
        ("2+3)", "column 4: expected an operator or the end, found ')'"),
        ("0x", "column 3: expected hexadecimal digits after 0x, found the end"),
        ("0xg", "column 3: expected hexadecimal digits after 0x, found 'g'"),
        ("2^3!", "column 4: ! after a power has two meanings; write (a^b)! or a^(b!)"),
        ("2^3#", "column 4: # after a power has two meanings; write (a^b)# or a^(b#)"),
        ("7!!", "column 3: !! has two meanings; write (n!)!, or n!2 for n (n-2) ..."),
        ("7!0", "column 3: the step of a multifactorial is a number from 1 to 2^64 - 1"),
        ("7/2", "column 2: the division has a remainder"),
        ("  8/(3-3)", "column 4: the divisor is zero"),
        ("2^-1", "column 3: expected a number or \"(\", found '-'"),
        ("2^(1-2)", "column 2: the exponent is negative"),
        ("(1-3)!", "column 6: the number before ! is negative"),
        ("3-5", "column 1: the value is negative"),
        ("2^10000000000", "column 2: the value may have more than"),
        ("10^(10^10)", "column 3: the value may have more than"),
        ("99999999999#", "column 12: the value may have more than"),
        ("(10^9)!", "column 7: the value may have more than"),
        ("3*2^1048576+1", "the value has 1048578 bits, more than the widest built width"),
        ("3.5", "column 2: expected an operator or the end, found '.'"),
        ("p(5)", "unknown format"),
        ("2**3", "column 3: expected a number or \"(\", found '*'"),
    ];
    for (text, reason) in faults {
        let run = test(&format!("7\n\n{text}\n11\n"));
        if reason == "unknown format" {
            let error = "error: line 3: column 1: expected a number or \"(\", found 'p'";
            assert_eq!(run.lines()[1], error);
            continue;
        }
        let lines = run.lines();
        assert_eq!((lines[0], lines[2]), ("7 is prime!", "11 is prime!"), "{text}");
        let error = lines[1].strip_prefix("error: line 3: ");
        assert!(error.is_some_and(|error| error.starts_with(reason)), "{text}: {}", lines[1]);
        assert_eq!(run.status, Some(1));
        assert!(run.stderr.starts_with(lines[1]), "{}", run.stderr);
    }
}

#[test]
fn hostile_lines_are_rejected() {
    let deep = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
    let signs = format!("{}1", "-".repeat(5000));
    let long = "1+".repeat(300_000) + "1";
    let digits = "9".repeat(1_000_000);
    let endless = "7".repeat((1 << 20) + 100);
    let run = test(&format!("7\n{deep}\n{signs}\n{long}\n{digits}\n{endless}\n11\n"));
    let lines = run.lines();
    assert_eq!(lines.len(), 7, "{}", run.stderr.len());
    assert!(lines[1].contains("more than 100 parentheses and signs"), "{}", lines[1]);
    assert!(lines[2].contains("more than 100 parentheses and signs"), "{}", lines[2]);
    // 300001 = 13 47 491.
    assert!(lines[3].contains(" is composite: "), "{}", &lines[3][lines[3].len() - 100..]);
    assert!(lines[4].contains("the number has more than"), "{}", &lines[4][..100]);
    assert!(lines[5].contains("the line is longer than 1048576 bytes"), "{}", lines[5]);
    assert_eq!(lines[6], "11 is prime!");

    let folder = Folder::new("bytes");
    let file = folder.write("bytes", b"7\n12\xff\n1\x003\n\xef\xbb\xbf5\n");
    let run = self::run(&[&file, "--sieve=0"], "");
    let lines = run.lines();
    assert_eq!(lines[1], "error: line 2: the line is not UTF-8 text from column 3 on");
    assert!(lines[2].starts_with("error: line 3: column 2: expected an operator"), "{}", lines[2]);
    assert!(lines[3].starts_with("error: line 4: column 1: expected a number"), "{}", lines[3]);
    let marked = folder.write("marked", b"\xef\xbb\xbf5\n12\\\n34567\n");
    let run = self::run(&[&marked], "");
    assert_eq!(run.lines(), ["5 is prime!", "1234567 has factors: 127"]);
}

#[test]
fn known_lists_are_reproduced() {
    // OEIS A000043, A002981, A005234 and A002253: Mersenne, factorial, primorial, Proth.
    let lists: [(&str, &str, &[u32]); 4] = [
        (
            "ABC2 2^$a-1\na: from 2 to 1300\n",
            "2^{}-1",
            &[2, 3, 5, 7, 13, 17, 19, 31, 61, 89, 107, 127, 521, 607, 1279],
        ),
        ("ABC2 $a!+1\na: from 1 to 160\n", "{}!+1", &[1, 2, 3, 11, 27, 37, 41, 73, 77, 116, 154]),
        ("ABC2 $a#+1\na: primes from 2 to 400\n", "{}#+1", &[2, 3, 5, 7, 11, 31, 379]),
        (
            "ABC2 3*2^$a+1\na: from 1 to 560\n",
            "3*2^{}+1",
            &[1, 2, 5, 6, 8, 12, 18, 30, 36, 41, 66, 189, 201, 209, 276, 353, 408, 438, 534],
        ),
    ];
    for (file, form, expected) in lists {
        let expected: Vec<String> =
            expected.iter().map(|n| form.replace("{}", &n.to_string())).collect();
        let run = run(&["-", "--sieve", "100000", "--verify", "5%"], file);
        assert_eq!(run.status, Some(0), "{}", run.stderr);
        assert_eq!(run.primes(), expected, "{file}");
    }
}

#[test]
fn sieves_find_the_smallest_factors_only() {
    let folder = Folder::new("sieve");
    let ks: String = (1..600).map(|k| format!("{k} 90\n")).collect();
    let offsets: String = (1..600).map(|c| format!("{}\n", 2 * c - 601)).collect();
    let exponents: String = (1..600).map(|n| format!("{n}\n")).collect();
    let files = [
        folder.write("ks", format!("ABC $a*10^$b-7\n{ks}")),
        folder.write("offsets", format!("ABC 211#/6+$a\n{offsets}")),
        folder.write("exponents", format!("ABC 5*6^$a+1\n{exponents}")),
        folder.write("factorials", format!("ABC $a*300!3+1\n{exponents}")),
        folder.write("plain", (1..600).map(|n| format!("{}\n", n * 7919 + 2)).collect::<String>()),
    ];
    let power = |b: u32, n: u32| BigInt::from(b).pow(n);
    let primorial: BigInt = gpuint::sieve::primes(0..212).map(BigInt::from).product();
    let factorial: BigInt = (0..100).map(|i| BigInt::from(300 - 3 * i)).product();
    for (index, file) in files.iter().enumerate() {
        let plain = run(&[file, "--sieve=0"], "");
        let sieved = run(&[file, "--sieve=2000"], "");
        assert_eq!(plain.primes(), sieved.primes());
        let mut factors = 0;
        for (i, line) in (1u32..600).zip(sieved.lines()) {
            let n = match index {
                0 => power(10, 90) * i - 7,
                1 => &primorial / 6 + (2 * i as i32 - 601),
                2 => power(6, i) * 5 + 1,
                3 => &factorial * i + 1,
                _ => BigInt::from(i * 7919 + 2),
            };
            let divides = |p: &u64| (&n % *p) == BigInt::ZERO && n != BigInt::from(*p);
            let factor = gpuint::sieve::primes(0..2000).find(divides);
            let found = line.split_once(" has factors: ").map(|(_, p)| p.parse().unwrap());
            assert_eq!(found, factor, "{line}");
            factors += usize::from(factor.is_some());
        }
        assert!(factors > 200, "{factors}");
    }
}

#[test]
fn abc_files_are_read() {
    let run =
        test("ABC $a*2^$b$c // Sieved to 1000\n3 2 +1\n\n5 1 -1\n5 3 1\n2 3\n1 2 3 4\nx 1 -1\n");
    let lines = run.lines();
    assert_eq!(
        lines[..2],
        ["3*2^2+1 is prime!", "5*2^1-1 is composite: RES64: [0000000000000000]"]
    );
    assert_eq!(
        lines[2..5],
        [
            "error: line 5: $c = 1 would continue the digits of $b; it needs a sign",
            "error: line 6: expected 3 values, found 2",
            "error: line 7: expected 3 values, found 4",
        ]
    );
    assert!(
        lines[5].starts_with("error: line 8: x*2^1-1: column 1: expected a number"),
        "{lines:?}"
    );
    assert_eq!(run.status, Some(1));
    // Blanks of templates have no meaning, letters none between upper and lower case.
    assert_eq!(test("abc ( $A ^ 3 - 1 ) / ($a-1)\n5\n").lines(), ["(5^3-1)/(5-1) is prime!"]);
}

#[test]
fn faulty_headers_end_the_job() {
    let headers = [
        ("ABC\n5\n", "line 1, column 4: expected an expression"),
        ("ABC 2^100\n5\n", "line 1, column 4: the header has no variable such as $a"),
        ("ABC $a*2^$+1\n5\n", "line 1, column 10: expected a variable from $a to $z"),
        ("ABC $a+1 & \n5\n", "line 1, column 11: expected an expression"),
        ("ABC $a+1 // {number_primes,$b,1}\n", "column 13: expected {number_primes,$a,N}"),
        ("ABC $a+1 // {number_comps,$a,1}\n", "column 13: quotas of composites"),
        ("ABC2 $a+1\n", "line 1, column 1: the file ends before the values of $a"),
        ("ABC2 $a+1\nb: from 1 to 2\n", "line 2, column 1: expected the values of $a, a: ..."),
        ("ABC2 $a+1\na: from 1\n", "line 2, column 10: expected to or downto"),
        ("ABC2 $a+1\na: from x to 2\n", "line 2, column 9: expected a whole number of 64 bits"),
        ("ABC2 $a+1\na: from 1 to 9 step -1\n", "line 2, column 21: the step must be above 0"),
        ("ABC2 $a+1\na: from 1 to 9 by 2\n", "column 16: expected the end of the line"),
        ("ABC2 $a+1\na: in { 1 2\n", "line 2, column 12: expected } after the values"),
        ("ABC2 $a+1\na: in { }\n", "line 2, column 8: expected values"),
        ("ABC2 $a+1\na: primes from 1 to 999999999999\n", "a range of primes has at most"),
        ("ABC2 $a+1\na: from 1 to 2\nb: from 1 to 2\n", "line 3, column 1: expected the end"),
        ("ABCD $a+1\n", "line 1, column 10: expected the first values in brackets, [...]"),
        ("ABCD $a+$b [5]\n", "line 1, column 12: expected 2 values, found 1"),
        ("ABCD $a+1 [5] 7\n", "line 1, column 14: expected the end of the header after ]"),
        ("ABCD $a+1 [5]\n2 3\n", "line 2, column 1: expected 1 value, found 2"),
        ("ABCD $a+1 [5]\n9223372036854775807\n", "the sum of the differences exceeds 64 bits"),
        ("ABCX $a\n", "line 1, column 1: unknown format \"ABCX\""),
        ("SCRIPT\n", "line 1, column 1: unknown format \"SCRIPT\""),
        ("100:P\n", "line 1, column 1: expected a header LIMIT:TYPE:LENGTH:BASE:MASK"),
        ("100:Q:1:2:1\n", "line 1, column 5: the type \"Q\" is not supported"),
        ("100:P:1:2:2\n", "line 1, column 11: the type \"P\" has the mask bits 0x1, not 0x2"),
        ("100:T:2:2\n", "line 1, column 9: the type \"T\" needs a mask"),
        ("100:P:1:1:1\n", "line 1, column 9: the base is below 2"),
        ("100:P:1:2:513\n", "line 1, column 11: the mask 513 has bits 0x200"),
        ("100:1:9:2:42\n", "line 1, column 7: the length of a chain is from 2 to 5"),
        ("1 : -1 +0 | -2 | \n", "unknowns of a prime-gap search need a file named"),
    ];
    for (file, reason) in headers {
        let run = test(file);
        assert_eq!(run.status, Some(2), "{file:?} {} {}", run.stdout, run.stderr);
        assert!(run.stderr.starts_with("prp: -: line "), "{}", run.stderr);
        assert!(run.stderr.contains(reason), "{file:?}: {}", run.stderr);
    }
}

#[test]
fn sets_of_candidates_depend_on_each_other() {
    let run = test("ABC $a*3!+1 & $a*3!-1\n1\n4\n5\n");
    assert_eq!(
        run.lines(),
        [
            "1*3!+1 is prime!",
            "1*3!-1 is prime!",
            "4*3!+1 is composite: RES64: [0000000000000006]",
            "4*3!-1 is not tested: 4*3!+1 is composite",
            "5*3!+1 is prime!",
            "5*3!-1 is prime!",
        ]
    );
    let run = test("ABC $a*3!+1 | $a*3!-1\n4\n");
    assert!(run.lines()[1].ends_with(" is prime!"), "{:?}", run.lines());
}

#[test]
fn quotas_end_the_tests_of_a_value() {
    let run = test("ABC $a*210+$b // {number_primes,$a,2}\n1 1\n1 13\n1 17\n1 19\n2 1\n2 11\n");
    assert_eq!(run.status, Some(0));
    // Those of a batch are tested together; none is lost.
    assert_eq!(run.lines().len(), 6);
    assert_eq!(run.lines()[4], "2*210+1 is prime!");
}

#[test]
fn abc2_files_are_read() {
    let run = test("ABC2 $a*2^$b+1\na: from 5 to 1 step 1\nb: from 1 to 2\n");
    assert_eq!((run.status, run.stdout.as_str()), (Some(0), ""));
    let file =
        "ABC2 $a*10^$b+$c\na: from 3 downto 1 step -2\nb: in { 5 7}\nc: primes from 3 to 8\n";
    let candidates = |run: &Run| -> Vec<String> {
        let first = |line: &str| line.split(' ').next().unwrap().to_owned();
        run.stdout.lines().map(first).collect()
    };
    let expected = [
        "3*10^5+3", "1*10^5+3", "3*10^7+3", "1*10^7+3", "3*10^5+5", "1*10^5+5", "3*10^7+5",
        "1*10^7+5", "3*10^5+7", "1*10^5+7", "3*10^7+7", "1*10^7+7",
    ];
    assert_eq!(candidates(&test(file)), expected);
}

#[test]
fn abcd_files_are_read() {
    let run = test("ABCD $a*2^$b+1 [5 3] // Sieved\n2 0\n-4 1\nABCD $a*2^7-1  [3]\n2\n");
    let first: Vec<&str> = run.lines().iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(first, ["5*2^3+1", "7*2^3+1", "3*2^4+1", "3*2^7-1", "5*2^7-1"]);
}

#[test]
fn newpgen_files_are_read() {
    let cases: [(&str, &[&str]); 16] = [
        ("1000:P:1:2:1\n5 7\n", &["5*2^7+1"]),
        ("1000:M:1:2:258\n5 7\n6 8\n", &["5*2^7-1", "6*2^8-1"]),
        ("1000:M:1:3\n5 7\n", &["5*3^7-1"]),
        ("1000:T:2:2:3\n3 1\n", &["3*2^1+1", "3*2^1-1"]),
        ("1000:T:4:2:2179\n3 1\n", &["3*2^1+1", "3*2^1-1", "3*2^1+5", "3*2^1+7"]),
        ("1000:S:2:2:10\n3 1\n", &["3*2^1-1", "3*2^(1+1)-1"]),
        ("1000:S:2:3:1034\n2 1\n", &["2*3^1-1", "2*2*3^1-1"]),
        ("1000:C:2:2:5\n1 1\n", &["1*2^1+1", "1*2^(1+1)+1"]),
        ("1000:B:2:2:15\n3 1\n", &["3*2^1+1", "3*2^1-1", "3*2^(1+1)+1", "3*2^(1+1)-1"]),
        ("1000:J:3:2:11\n3 1\n", &["3*2^1-1", "3*2^1+1", "3*2^(1+1)-1"]),
        ("1000:1:3:2:42\n3 2\n", &["3*2^(2-1)-1", "3*2^2-1", "3*2^(2+1)-1"]),
        ("1000:2:3:2:1045\n1 1\n", &["1*2^1+1", "2*1*2^1+1", "4*1*2^1+1"]),
        ("1000:P:1:2:65\n1 7\n", &["1*7#+1"]),
        ("1000:T:3:2:195\n1 7\n", &["1*7#/5+1", "1*7#/5-1", "1*7#/5+5"]),
        ("1000:M:1:2:322\n7 3\n", &["7#*2^3-1"]),
        ("1000:P:1:2:32769\n9 5\n1000:M:1:2:32770\n9 5\n", &["2^5+9", "2^5-9"]),
    ];
    for (file, expected) in cases {
        let run = test(file);
        let first: Vec<&str> =
            run.lines().iter().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(first, expected, "{file:?}");
        assert_eq!(run.status, Some(0), "{}", run.stderr);
    }
    let run = test("1000:P:1:2:1\n5 7\n5\n5 x\n-5 7\n");
    assert_eq!(run.status, Some(1));
    assert_eq!(run.lines()[1], "error: line 3: expected 2 values, found 1");
    assert_eq!(run.lines()[2], "error: line 4: column 3: \"x\" is no whole number of 64 bits");
    assert_eq!(run.lines()[3], "error: line 5: column 1: \"-5\" is no whole number of 64 bits");
}

#[test]
fn unknowns_of_prime_gap_searches_are_read() {
    let folder = Folder::new("unknowns");
    let name = "11_6_5_4_s100_l1M.txt";
    // m = 5 and 7 are coprime to 6: absolute, and relative to 5.
    for (first, second) in [(5, 7), (0, 2)] {
        let file = format!("{first} : -1 +2 | -2 | +4 +6\n{second} : -0 +1 | | +2\n");
        let run = run(&[&folder.write(name, file), "--sieve=0"], "");
        let first: Vec<&str> =
            run.lines().iter().map(|line| line.split(' ').next().unwrap()).collect();
        let expected = ["5*11#/6-2", "5*11#/6+4", "5*11#/6+6", "7*11#/6+2"];
        assert_eq!(first, expected, "{}", run.stderr);
    }
    let faults = [
        ("5 : -1 +1 | -2 | +4 +6\n", "the number of distances differs from the count"),
        ("5 : -1 +1 | 2 | +4\n", "column 13: expected a distance with its sign"),
        ("5 : -1 +1 | 02 | 00\n", "a run length is 0"),
        ("5 : -1 +1 | -2\n", "expected m : -COUNT +COUNT | -DISTANCES | +DISTANCES"),
        ("5 : -1 +1 | -1 | +1\n9 : -1 +1 | -2 | +4\n", "m is not in the range"),
    ];
    for (file, reason) in faults {
        let run = run(&[&folder.write(name, file)], "");
        assert_eq!(run.status, Some(1), "{}", run.stderr);
        assert!(run.stdout.contains(reason), "{}", run.stdout);
    }
    // Run lengths: 2 and 300 below, 4, 80 and 80 + 44 above, which ends with a backslash; bytes
    // above 127, and a first distance that looks like the end of a part.
    let runs = [&b"5 : -2 +3 | 022Z | 040|0\\\n"[..], b"7 : -2 +1 | 0|0\xaf | 2\x85\n"].concat();
    let run_lengths = run(&[&folder.write(name, runs), "--sieve=0"], "");
    let expected = [
        "5*11#/6-2",
        "5*11#/6-300",
        "5*11#/6+4",
        "5*11#/6+80",
        "5*11#/6+124",
        "7*11#/6-76",
        "7*11#/6-203",
        "7*11#/6+341",
    ];
    let first: Vec<&str> =
        run_lengths.lines().iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(first, expected, "{}", run_lengths.stderr);
    for name in ["11_6_5_s100_l1M.txt", "gaps.txt"] {
        let run = run(&[&folder.write(name, "5 : -1 +1 | -2 | +4\n")], "");
        assert_eq!(run.status, Some(2));
        assert!(run.stderr.contains("P_D_START_COUNT_sLENGTH_lLIMITM.txt"), "{}", run.stderr);
    }
    let run = run(&[&folder.write(name, "6 : -1 +1 | -2 | +4\n")], "");
    assert_eq!(run.status, Some(2));
    assert!(run.stderr.contains("belongs to no m = 5"), "{}", run.stderr);
}

#[test]
fn several_files_are_named() {
    let folder = Folder::new("files");
    let files = [folder.write("one", "7\nx"), folder.write("two", "ABC 2^$a-1\n3\n")];
    let run = run(&[&files[0], &files[1], "-"], "5\n");
    assert_eq!(run.status, Some(1));
    let lines = run.lines();
    assert_eq!((lines[0], lines[2], lines[3]), ("7 is prime!", "2^3-1 is prime!", "5 is prime!"));
    let place = format!("error: {}: line 2: column 1: ", files[0]);
    assert!(lines[1].starts_with(&place), "{}", lines[1]);
    assert!(run_error(&["/nonexistent/file"]).contains("cannot open /nonexistent/file"));
    assert!(run_error(&[folder.0.to_str().unwrap()]).contains("cannot open"));
}

#[test]
fn json_and_llr_lines_are_written() {
    let input = "2^127-1\n2^61-1\n2^67-1\n91\n35\n1\nx\n";
    let run_json = run(&["-", "--json", "--sieve=6"], input);
    let objects: Vec<serde_json::Value> =
        run_json.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let results: Vec<&str> = objects.iter().map(|it| it["result"].as_str().unwrap()).collect();
    let expected =
        ["probable prime", "prime", "composite", "pseudoprime", "composite", "unit", "error"];
    assert_eq!(results, expected);
    assert_eq!(objects[2]["candidate"], "2^67-1");
    assert_eq!((&objects[2]["line"], &objects[2]["base"]), (&3.into(), &3.into()));
    let m67: BigUint = (BigUint::from(1u32) << 67) - 1u32;
    assert_eq!(objects[2]["res64"], res64(&m67, 3));
    assert_eq!(objects[4]["factor"], 5);
    let run_llr = run(&["-", "--format=llr", "--sieve=6"], input);
    assert_eq!(
        run_llr.lines()[..5],
        [
            "2^127-1 is base 3-Fermat PRP! (39 decimal digits)".to_owned(),
            "2^61-1 is prime! (19 decimal digits)".to_owned(),
            format!("2^67-1 is not prime.  RES64: {}", res64(&m67, 3)),
            "91 is not prime.  RES64: 0000000000000001  (fails BPSW)".to_owned(),
            "35 has a small factor : 5".to_owned(),
        ]
    );
}

#[test]
fn job_ends_after_the_first_prime() {
    let folder = Folder::new("stop");
    let file = folder.write("file", "ABC2 2^$a-1\na: from 520 to 700\n");
    let results = folder.path("results");
    let arguments = [&file[..], "--stop-on-prime", "-o", &results];
    assert_eq!(run(&arguments, "").status, Some(0));
    let text = folder.read("results");
    assert!(text.ends_with("2^520-1 has factors: 3\n2^521-1 is 3-PRP! (BPSW)\n"), "{text}");
    let again = [&arguments[..], &["--resume"]].concat();
    assert_eq!(run(&again, "").status, Some(0));
    let text = folder.read("results");
    assert!(text.ends_with("\n2^607-1 is 3-PRP! (BPSW)\n"), "{text}");
    assert_eq!(text.lines().count(), 1 + 607 - 519);
}

#[test]
fn results_are_continued_after_any_end() {
    let folder = Folder::new("resume");
    let mut file = "ABC $a*2^$b+1 & $a*2^$b-1\n".to_owned();
    (1..40).for_each(|k| file += &format!("{k} {}\n", 100 + k));
    file += "bad line\n3 5\n";
    let file = folder.write("file", file);
    let plain = run(&[&file], "");
    let results = folder.path("results");
    for format in ["pfgw", "llr", "json"] {
        let arguments = [&file[..], "--format", format, "-o", &results];
        let _ = fs::remove_file(&results);
        assert_eq!(run(&arguments, "").status, Some(1));
        let whole = folder.read("results");
        if format == "pfgw" {
            let rest = whole.split_once('\n').unwrap().1;
            assert_eq!(rest, plain.stdout);
        }
        assert!(run(&arguments, "").stderr.contains("exists; --resume continues it"));
        let again = [&arguments[..], &["--resume"]].concat();
        // Cut anywhere, also within the first line and within a set.
        for cut in (0..whole.len()).step_by(whole.len() / 23) {
            fs::write(&results, &whole[..cut]).unwrap();
            let run = run(&again, "");
            assert_eq!(folder.read("results"), whole, "cut at {cut}: {}", run.stderr);
            assert_eq!(run.status, Some(1));
        }
        let run_again = run(&again, "");
        assert!(run_again.stderr.contains("resuming after 82 candidates"), "{}", run_again.stderr);
        assert_eq!(folder.read("results"), whole);
    }
    // Results of other options or candidates.
    let json = folder.read("results");
    let other = [&file[..], "--json", "--base=2", "-o", &results, "--resume"];
    assert!(run_error(&other).contains("cannot resume"));
    let changed = folder.write("changed", "ABC $a*2^$b+1 & $a*2^$b-1\n2 101\n");
    let changed = [&changed[..], "--json", "-o", &results, "--resume"];
    assert!(run_error(&changed).contains("is no result of the candidate"));
    let shorter = folder.write("shorter", "ABC $a*2^$b+1 & $a*2^$b-1\n1 101\n");
    let shorter = [&shorter[..], "--json", "-o", &results, "--resume"];
    assert!(run_error(&shorter).contains("follows the last candidate"));
    assert_eq!(folder.read("results"), json);
    // Files of others are left alone.
    let notes = folder.write("notes", "my notes");
    for arguments in [&["-", "-o", &notes][..], &["-", "-o", &notes, "--resume"]] {
        run_error(arguments);
    }
    assert_eq!(folder.read("notes"), "my notes");
    let same = [&file[..], "-o", &file];
    assert!(run_error(&same).contains("would write over it"));
}

#[test]
fn progress_is_a_line_or_an_object_on_standard_error() {
    let folder = Folder::new("progress");
    let file = folder.write("file", "2^127-1\n2^61-1\n2^67-1\n");
    let text = run(&[&file, "--progress"], "").stderr;
    assert!(text.starts_with("3 candidates: "), "{text}");
    let json = run(&[&file, "--progress", "--json"], "");
    let first = json.stderr.lines().next().unwrap();
    let object: serde_json::Value = serde_json::from_str(first).unwrap();
    assert_eq!((&object["phase"], &object["stage"]), (&"tests".into(), &"3 candidates".into()));
    assert_eq!((object["done"].as_f64(), object["seconds_left"].as_f64()), (Some(1.0), Some(0.0)));
    assert_eq!(json.lines().len(), 3);
}

#[cfg(unix)]
#[test]
fn killed_job_loses_nothing_and_repeats_nothing() {
    let folder = Folder::new("kill");
    let file = folder.write("file", "ABC2 $a*2^200+1\na: from 1 to 3000\n");
    let results = folder.path("results");
    let expected = run(&[&file], "").stdout;
    let arguments = [&file[..], "--batch-rows=64", "-o", &results];
    let mut kills = 0;
    for round in 0.. {
        let again =
            if round == 0 { arguments.to_vec() } else { [&arguments[..], &["--resume"]].concat() };
        let mut child =
            command(&again).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let length = || fs::metadata(&results).map_or(0, |metadata| metadata.len());
        let (start, before) = (Instant::now(), length());
        // Kill -9 after some results.
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if length() > before.max(100) && kills < 3 || start.elapsed() > Duration::from_secs(120)
            {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        match status {
            Some(status) => {
                assert!(status.success());
                break;
            }
            None => kills += 1,
        }
        assert!(round < 10, "the job does not end");
    }
    // The job may end before a slow test sees its results.
    assert!(kills > 0);
    let text = folder.read("results");
    assert_eq!(text.split_once('\n').unwrap().1, expected);
}

#[cfg(unix)]
#[test]
fn interrupted_job_ends_in_order() {
    let folder = Folder::new("interrupt");
    let file = folder.write("file", "ABC2 $a*2^30000+1\na: from 1 to 99999 step 2\n");
    let results = folder.path("results");
    let mut command = command(&[&file, "--sieve=0", "-o", &results]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    while !Path::new(&results).exists() {
        assert!(child.try_wait().unwrap().is_none(), "the job ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    // The handler is set after the file is made.
    std::thread::sleep(Duration::from_millis(1000));
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let start = Instant::now();
    let run = of(child.wait_with_output().unwrap());
    assert_eq!(run.status, Some(3), "{}", run.stderr);
    assert!(run.stderr.contains("interrupted after"), "{}", run.stderr);
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn mixed_widths_agree_with_integers() {
    let mut random = Random::new(3);
    let mut numbers = BTreeSet::new();
    while numbers.len() < 3000 {
        let bits = 2 + random.word() % 700;
        let mut n = BigUint::from(0u32);
        while n.bits() < bits {
            n = (n << 64u32) + random.word();
        }
        let extra = n.bits() - bits;
        numbers.insert((random.word() % 1000, (n >> extra) | BigUint::from(1u32)));
    }
    let numbers: Vec<BigUint> = numbers.into_iter().map(|pair| pair.1).collect();
    let input: String = numbers.iter().map(|n| format!("{n}\n")).collect();
    let run = run(&["-", "--sieve=0", "--verify=100%"], &input);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert_eq!(run.lines().len(), numbers.len());
    for (n, line) in numbers.iter().zip(run.lines()) {
        if line.contains(" is composite: RES64: ") {
            assert!(line.starts_with(&composite(&n.to_string(), n)), "{line}");
        } else if *n > BigUint::from(3u32) {
            assert_eq!(res64(n, 3), "0000000000000001", "{line}");
        }
    }
}

#[test]
fn shares_are_checked() {
    for share in ["-1", "101%", "x", "2", "NaN"] {
        let run = run(&["-", &format!("--verify={share}")], "7\n");
        assert_eq!(run.status, Some(2), "{share}");
    }
    let input = "ABC2 $a*2^200+1\na: from 1 to 400\n";
    let run = run(&["-", "--sieve=0", "--verify=50%"], input);
    let verified = run.stderr.split(" verified").next().unwrap().rsplit(' ').next().unwrap();
    let verified: usize = verified.parse().unwrap();
    assert!((140..260).contains(&verified), "{}", run.stderr);
}

#[test]
fn closed_reader_stops_the_job() {
    let folder = Folder::new("pipe");
    let file = folder.write("file", "ABC2 $a*2^500+1\na: from 1 to 3000\n");
    let mut child =
        command(&[&file]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = of(child.wait_with_output().unwrap());
    assert_eq!(output.status, Some(3), "{}", output.stderr);
    assert!(Path::new(&file).exists());
}
