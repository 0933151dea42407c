//! `gpuint batch-gcd`, as a user runs it.
//!
//! `tests/keys` has two RSA keys that share a prime, made for these tests by OpenSSL and OpenSSH:
//! the first in every format, the second as a certificate. `numbers.txt` there has their primes.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use gpuint_testkit::random::Random;
use num_bigint::BigUint;
use serde_json::Value;
use tempfile::TempDir;

/// Primes of the factored challenge numbers RSA-100, RSA-110, RSA-120, RSA-129, RSA-130, RSA-140
/// and RSA-155.
const PRIMES: [&str; 14] = [
    "37975227936943673922808872755445627854565536638199",
    "40094690950920881030683735292761468389214899724061",
    "6122421090493547576937037317561418841225758554253106999",
    "5846418214406154678836553182979162384198610505601062333",
    "327414555693498015751146303749141488063642403240171463406883",
    "693342667110830181197325401899700641361965863127336680673013",
    "3490529510847650949147849619903898133417764638493387843990820577",
    "32769132993266709549961988190834461413177642967992942539798288533",
    "39685999459597454290161126162883786067576449112810064832555157243",
    "45534498646735972188403686897274408864356301263205069600999044599",
    "3398717423028438554530123627613875835633986495969597423490929302771479",
    "6264200187401285096151654948264442219302037178623509019111660653946049",
    "102639592829741105772054196573991675900716567808038066803341933521790711307779",
    "106603488380168454820927220360012878679207958575989291522270608237193062808643",
];

fn prime(index: usize) -> BigUint {
    PRIMES[index].parse().unwrap()
}

/// The product of two primes.
fn modulus(a: usize, b: usize) -> BigUint {
    prime(a) * prime(b)
}

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpuint"));
    command.args(["batch-gcd", "--backend", "cpu"]);
    command
}

/// Result of a run.
struct Run {
    status: i32,
    stdout: String,
    stderr: String,
}

impl Run {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Self {
            status: output.status.code().unwrap(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    fn json(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    /// Asserts that the run ended with an error that contains `reason`.
    fn assert_error(&self, reason: &str) {
        assert_eq!((self.status, self.stdout.as_str()), (2, ""), "{}", self.stderr);
        assert!(self.stderr.contains(reason), "expected {reason:?}, got {:?}", self.stderr);
    }
}

fn run(arguments: &[&str]) -> Run {
    Run::of(&program().args(arguments).stdin(Stdio::null()).output().unwrap())
}

/// Runs with an input on standard input.
fn run_on(input: &[u8], arguments: &[&str]) -> Run {
    let mut job = program();
    job.arg("-").args(arguments);
    job.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut job = job.spawn().unwrap();
    let mut stdin = job.stdin.take().unwrap();
    let input = input.to_vec();
    // The job may end before it read everything.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = job.wait_with_output().unwrap();
    writer.join().unwrap();
    Run::of(&output)
}

/// A folder for the files of a test.
struct Scratch(TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, content: &[u8]) -> String {
        fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    fn names(&self) -> BTreeSet<String> {
        let names = fs::read_dir(self.0.path()).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

/// The path of a key of `tests/keys`.
fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/keys");
    folder.join(name).to_str().unwrap().to_owned()
}

/// The primes of the keys of `tests/keys`: that of both, and the other one of each.
fn fixture_primes() -> [BigUint; 3] {
    let text = fs::read_to_string(fixture("numbers.txt")).unwrap();
    let numbers = text.lines().filter_map(|line| line.strip_prefix("0x"));
    let numbers: Vec<BigUint> =
        numbers.map(|digits| BigUint::parse_bytes(digits.as_bytes(), 16).unwrap()).collect();
    numbers.try_into().unwrap()
}

fn hex(number: &BigUint) -> String {
    format!("{number:#x}")
}

/// The factors of a finding, with the numbers of the keys that each divides too.
fn factors(finding: &Value) -> Vec<(String, Vec<u64>)> {
    let keys = |factor: &Value| {
        let keys = factor["shared_with"].as_array().unwrap();
        keys.iter().map(|key| key["key"].as_u64().unwrap()).collect()
    };
    let factors = finding["factors"].as_array().unwrap();
    factors.iter().map(|it| (it["value"].as_str().unwrap().to_owned(), keys(it))).collect()
}

#[test]
fn keys_without_common_factor_have_status_0() {
    let lines = format!("{}\n{}\n{}\n", modulus(0, 1), modulus(2, 3), modulus(4, 5));
    let run = run_on(lines.as_bytes(), &[]);
    assert_eq!((run.status, run.stdout.as_str()), (0, ""), "{}", run.stderr);
    let closing = run.stderr.lines().last().unwrap();
    assert!(closing.starts_with("3 keys of 330..397 bits, 0 duplicates; no weak key"), "{closing}");
    for nothing in ["", "\n", "# nothing\n\n"] {
        assert_eq!(run_on(nothing.as_bytes(), &[]).status, 0);
    }
}

#[test]
fn shared_primes_are_found_in_every_width_and_notation() {
    let keys = [(0, 1), (2, 3), (0, 13), (4, 5), (12, 13), (3, 6)];
    let mut lines = String::from("# moduli\n");
    for (index, &(a, b)) in keys.iter().enumerate() {
        let number = modulus(a, b);
        lines += &match index % 3 {
            0 => format!("{number}\n"),
            1 => format!("  {number:#X} # comment\r\n"),
            _ => format!("Modulus={number:X}\n"),
        };
    }
    let run = run_on(lines.as_bytes(), &["--json"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let findings = run.json();
    let keys_found: Vec<u64> = findings.iter().map(|it| it["key"].as_u64().unwrap()).collect();
    assert_eq!(keys_found, [1, 2, 3, 5, 6]);
    for finding in &findings {
        let number = finding["key"].as_u64().unwrap();
        let (a, b) = keys[number as usize - 1];
        let sharing = |prime: usize| {
            let others = (1..).zip(keys).filter(|&(other, _)| other != number);
            others.filter(|(_, (a, b))| *a == prime || *b == prime).map(|it| it.0).collect()
        };
        let mut expected: Vec<(BigUint, Vec<u64>)> =
            vec![(prime(a), sharing(a)), (prime(b), sharing(b))];
        expected.sort();
        let expected: Vec<_> = expected.iter().map(|(p, keys)| (hex(p), keys.clone())).collect();
        assert_eq!(factors(finding), expected, "key {number}");
        assert_eq!(finding["modulus"], hex(&modulus(a, b)));
        assert_eq!(finding["finding"], "shared factor");
        assert_eq!(finding["line"], number + 1);
        assert_eq!(finding["bits"], modulus(a, b).bits());
    }
}

#[test]
fn keys_that_share_both_primes_are_split() {
    // A triangle: every key is a divisor of the product of the others.
    let lines = format!("{}\n{}\n{}\n", modulus(0, 1), modulus(1, 2), modulus(0, 2));
    let run = run_on(lines.as_bytes(), &["--json"]);
    let found: Vec<_> = run.json().iter().map(factors).collect();
    let factor = |index: usize, key: u64| (hex(&prime(index)), vec![key]);
    let expected = [
        vec![factor(0, 3), factor(1, 2)],
        vec![factor(1, 1), factor(2, 3)],
        vec![factor(0, 1), factor(2, 2)],
    ];
    assert_eq!(found, expected);
}

#[test]
fn duplicates_are_told_from_shared_primes() {
    let (copied, other) = (modulus(0, 1), modulus(0, 2));
    let twice = format!("{copied}\n{copied}\n{copied:#x}\n");
    let run = run_on(twice.as_bytes(), &[]);
    assert_eq!((run.status, run.stdout.as_str()), (0, ""), "{}", run.stderr);
    assert!(run.stderr.contains("3 keys of 330 bits, 2 duplicates; no weak key"), "{}", run.stderr);
    let run = run_on(format!("{twice}{other}\n").as_bytes(), &["--json", "--duplicates"]);
    assert_eq!(run.status, 1);
    let found = run.json();
    let names: Vec<_> = found.iter().map(|it| it["finding"].as_str().unwrap()).collect();
    assert_eq!(names, ["shared factor", "shared factor", "duplicate"]);
    assert_eq!(factors(&found[0])[0], (hex(&prime(0)), vec![4]));
    for finding in [&found[0], &found[2]] {
        let copies = finding["copies"].as_array().unwrap();
        let lines: Vec<_> = copies.iter().map(|copy| copy["line"].as_u64().unwrap()).collect();
        assert_eq!(lines, [2, 3]);
    }
}

#[test]
fn text_is_aligned() {
    let run = run_on(b"# small numbers\n15\n0x23\n35\n77\n", &["--duplicates"]);
    let expected = "\
key 1, standard input:2: shared factor
  kind      number of 4 bits
  modulus   0xf
  factor    0x3
  shared    0x5
  with      key 2, standard input:3
key 2, standard input:3: shared factor
  kind      number of 6 bits
  copy      key 3, standard input:4
  modulus   0x23
  shared    0x5
  with      key 1, standard input:2
  shared    0x7
  with      key 4, standard input:5
key 4, standard input:5: shared factor
  kind      number of 7 bits
  modulus   0x4d
  shared    0x7
  with      key 2, standard input:3
  factor    0xb
key 2, standard input:3: duplicate
  kind      number of 6 bits
  copy      key 3, standard input:4
  modulus   0x23
";
    assert_eq!(run.stdout, expected);
    assert_eq!(run.status, 1);
}

#[test]
fn csv_has_a_row_for_each_factor_and_copy() {
    let run = run_on(b"15\n35\n35\n", &["--csv", "--duplicates"]);
    let mut table = csv::Reader::from_reader(run.stdout.as_bytes());
    let rows: Vec<Vec<String>> =
        table.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
    let column = |index: usize| rows.iter().map(|row| row[index].as_str()).collect::<Vec<_>>();
    assert_eq!(column(1), ["1", "1", "2", "3", "2", "3", "3"]);
    assert_eq!(column(3), ["1", "1", "2", "3", "2", "3", "3"]);
    assert_eq!(column(8), ["0x3", "0x5", "0x5", "0x5", "0x7", "0x7", ""]);
    assert_eq!(column(9), ["", "2", "1", "1", "", "", "2"]);
    assert_eq!(rows[6][0], "duplicate");
}

#[test]
fn key_is_read_from_every_format() {
    let kinds = [
        ("certificate.pem", "certificate"),
        ("certificate.der", "certificate"),
        ("certificate-text.pem", "certificate"),
        ("certificate-trusted.pem", "certificate"),
        ("request.pem", "certificate request"),
        ("request.der", "certificate request"),
        ("public.pem", "public key"),
        ("public.der", "public key"),
        ("public-pkcs1.pem", "public key"),
        ("public-pkcs1.der", "public key"),
        ("rsa-pkcs1.pem", "private key"),
        ("rsa-pkcs1.der", "private key"),
        ("rsa-pkcs8.pem", "private key"),
        ("rsa-pkcs8.der", "private key"),
        ("openssh.key", "private key"),
        ("openssh-encrypted.key", "private key"),
        ("openssh.pub", "SSH key"),
        ("openssh-cert.pub", "SSH key"),
        ("rfc4716.pub", "SSH key"),
        ("authorized_keys", "SSH key"),
        ("key.json", "JSON web key"),
        ("set.json", "JSON web key"),
        ("modulus.txt", "number"),
    ];
    let [shared, other, _] = fixture_primes();
    let second = fixture("second.pem");
    for (name, kind) in kinds {
        let run = run(&[&fixture(name), &second, "--json"]);
        assert_eq!(run.status, 1, "{name}: {}", run.stderr);
        let found = run.json();
        assert_eq!(found[0]["modulus"], hex(&(&shared * &other)), "{name}");
        assert_eq!(found[0]["kind"], kind, "{name}");
        assert_eq!(found[0]["document"], fixture(name));
        let values: BTreeSet<String> =
            factors(&found[0]).into_iter().map(|(value, _)| value).collect();
        assert_eq!(values, BTreeSet::from([hex(&shared), hex(&other)]), "{name}");
    }
}

#[test]
fn lines_and_entries_of_keys_are_reported() {
    let second = fixture("second.pem");
    let first = |name: &str| run(&[&fixture(name), &second, "--json"]).json().remove(0);
    let text = fs::read_to_string(fixture("certificate-text.pem")).unwrap();
    let begin = text.lines().position(|line| line == "-----BEGIN CERTIFICATE-----").unwrap();
    assert_eq!(first("certificate-text.pem")["line"], begin + 1);
    assert_eq!(first("authorized_keys")["line"], 2);
    assert_eq!(first("authorized_keys")["copies"][0]["line"], 5);
    assert_eq!(first("set.json")["entry"], 2);
    assert_eq!(first("set.json")["line"], Value::Null);
    assert_eq!(first("certificate.der")["line"], Value::Null);
}

#[test]
fn keys_that_are_not_rsa_are_counted() {
    for (name, reason) in [
        ("ec.pem", "1 unused (EC key)"),
        ("ec-sec1.pem", "1 unused (EC key)"),
        ("ed25519.pem", "1 unused (Ed25519 key)"),
        ("ed25519.der", "1 unused (Ed25519 key)"),
        ("encrypted-pkcs1.pem", "1 unused (encrypted private key)"),
        ("encrypted-pkcs8.pem", "1 unused (encrypted private key)"),
        ("encrypted-pkcs8.der", "1 unused (encrypted private key)"),
        ("authorized_keys", "1 unused (ssh-ed25519 key)"),
        ("set.json", "1 unused (EC key)"),
    ] {
        let run = run(&[&fixture(name)]);
        assert_eq!(run.status, 0, "{name}: {}", run.stderr);
        assert!(run.stderr.contains(reason), "{name}: {}", run.stderr);
    }
}

#[test]
fn private_parts_are_never_written() {
    let [shared, other, _] = fixture_primes();
    for form in ["--json", "--csv", "--progress"] {
        let (a, b) = (fixture("rsa-pkcs1.pem"), fixture("rsa-pkcs8.der"));
        let run = run(&[&a, &b, "--duplicates", form]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        assert!(run.stdout.contains(&hex(&(&shared * &other))));
        for secret in [&shared, &other] {
            assert!(!run.stdout.contains(&format!("{secret:x}")));
        }
    }
}

#[test]
fn folder_is_read_in_order_without_links() {
    let folder = Scratch::new();
    fs::create_dir(folder.path("b")).unwrap();
    folder.write("b/second.pem", &fs::read(fixture("second.pem")).unwrap());
    folder.write("a.der", &fs::read(fixture("certificate.der")).unwrap());
    // A document that is read in blocks, not as a small file.
    folder.write("c.txt", format!("{}\n", modulus(0, 1)).repeat(3000).as_bytes());
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(fixture("certificate.pem"), folder.path("link.pem")).unwrap();
        std::os::unix::fs::symlink("/", folder.path("root")).unwrap();
        assert!(Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
    }
    let run = run(&[&folder.path("")[..folder.path("").len() - 1], "--json"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let documents: Vec<_> =
        run.json().iter().map(|it| it["document"].as_str().unwrap().to_owned()).collect();
    assert_eq!(documents, [folder.path("a.der"), folder.path("b/second.pem")]);
    assert!(run.stderr.contains("3002 keys"), "{}", run.stderr);
    if cfg!(unix) {
        let skipped = "2 skipped links, 1 skipped device or pipe";
        assert!(run.stderr.contains(skipped), "{}", run.stderr);
    }
}

/// A tar archive with files.
fn tar_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for &(name, content) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, content).unwrap();
    }
    archive.into_inner().unwrap()
}

fn gzip_of(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for &(name, content) in files {
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn archives_are_read_in_every_nesting() {
    let folder = Scratch::new();
    let (a, b) =
        (fs::read(fixture("certificate.der")).unwrap(), fs::read(fixture("second.pem")).unwrap());
    let files = [("x/a.der", &a[..]), ("b.pem", &b[..])];
    let (tar, zip) = (tar_of(&files), zip_of(&files));
    let inner = ["!x/a.der", "!b.pem"];
    let nested = ["!in.tar!x/a.der", "!in.tar!b.pem"];
    for (name, content, suffixes) in [
        ("keys.tar", tar.clone(), inner),
        ("keys.tar.gz", gzip_of(&tar), inner),
        ("keys.zip", zip.clone(), inner),
        ("keys.zip.gz", gzip_of(&zip), inner),
        ("nested.zip", zip_of(&[("in.tar", &tar)]), nested),
        ("nested.tar", tar_of(&[("in.tar", &gzip_of(&tar))]), nested),
    ] {
        let path = folder.write(name, &content);
        let expected = suffixes.map(|suffix| format!("{path}{suffix}"));
        let run = run(&[&path, "--json"]);
        assert_eq!(run.status, 1, "{name}: {}", run.stderr);
        let found: Vec<_> =
            run.json().iter().map(|it| it["document"].as_str().unwrap().to_owned()).collect();
        assert_eq!(found, expected, "{name}");
        // On standard input, too.
        let piped = run_on(&content, &["--json"]);
        assert_eq!((piped.status, piped.json().len()), (1, 2), "{name}: {}", piped.stderr);
    }
    // Small archives in a folder.
    let run = run(&[&folder.path("")]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stderr.contains("12 keys of 1024 bits, 10 duplicates"), "{}", run.stderr);
}

#[test]
fn links_in_archives_are_skipped() {
    let folder = Scratch::new();
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    archive.append_link(&mut header, "passwd", "/etc/passwd").unwrap();
    let path = folder.write("links.tar", &archive.into_inner().unwrap());
    let run = run(&[&path]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stderr.contains("1 skipped link;"), "{}", run.stderr);
}

#[test]
fn hostile_archives_are_rejected() {
    let folder = Scratch::new();
    let bomb = gzip_of(&vec![b'\n'; 20 << 20]);
    assert!(bomb.len() < 1 << 20);
    let limit = "archives expand to more than 1 MiB (--max-expanded)";
    let path = folder.write("bomb.gz", &bomb);
    run(&[&path, "--max-expanded", "1"]).assert_error(limit);
    assert_eq!(run(&[&path]).status, 0);
    let path = folder.write("bomb.zip", &zip_of(&[("zeros", &vec![b'\n'; 20 << 20])]));
    run(&[&path, "--max-expanded", "1"]).assert_error(limit);
    let tar = tar_of(&[("a.txt", &b"15\n".repeat(1000))]);
    let damaged = "the archive is damaged";
    let path = folder.write("cut.tar", &tar[..512 + 1500]);
    run(&[&path]).assert_error("cut.tar!a.txt: the archive is damaged: it is cut short");
    let gzip = gzip_of(&tar);
    let path = folder.write("cut.gz", &gzip[..gzip.len() / 2]);
    run(&[&path]).assert_error(damaged);
    let zip = zip_of(&[("a.pem", &fs::read(fixture("second.pem")).unwrap())]);
    let path = folder.write("cut.zip", &zip[..zip.len() - 30]);
    run(&[&path]).assert_error(damaged);
    let deep = (0..6).fold(b"15\n".to_vec(), |content, _| gzip_of(&content));
    let path = folder.write("deep.gz", &deep);
    run(&[&path]).assert_error("nested more than 4 deep");
    // Names of files cannot write to the terminal.
    let path = folder.write("name.tar", &tar_of(&[("a\x1b[31m\n.txt", b"1\n")]));
    run(&[&path]).assert_error("!a\\u{1b}[31m\\n.txt:1:1: the modulus is less than 2");
}

#[test]
fn malformed_lines_have_their_place() {
    for (input, expected) in [
        (&b"15\n -4\n"[..], "standard input:2:2: the modulus is negative"),
        (b"15\n0x\n", "standard input:2:3: the modulus has no digits"),
        (b"15\n\n12 13\n", "standard input:3:3: expected one modulus a line"),
        (
            b"15\n12a4\n",
            "standard input:2:3: the modulus has 'a', which is not a decimal digit (--radix",
        ),
        (
            b"15\n0xfg\n",
            "standard input:2:4: the modulus has 'g', which is not a hexadecimal digit",
        ),
        (b"15\n1\x005\n", "standard input:2:2: the modulus has '\\0'"),
        (b"15\n\xff\xfe\n", "standard input:2:1: the modulus has '\u{fffd}'"),
        (b"0\n", "standard input:1:1: the modulus is less than 2"),
        (b"0x0001\n", "standard input:1:3: the modulus is less than 2"),
        (b"hello world\n", "standard input:1:1: the modulus has 'h'"),
        (
            b"-----BEGIN CERTIFICATE-----\nAAAA\n",
            "standard input:1: -----END CERTIFICATE----- is missing",
        ),
        (
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END X-----\n",
            "standard input:1: the label of the END line is not CERTIFICATE",
        ),
        (
            b"x\n-----BEGIN PUBLIC KEY-----\nA*AA\n-----END PUBLIC KEY-----\n",
            "standard input:2: the text is not base64",
        ),
        (
            b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
            "standard input:1: the public key is damaged",
        ),
        (b"ssh-rsa AAAA\n", "standard input:1:9: the SSH key is damaged"),
        (b"ssh-rsa\n", "standard input:1:1: expected a key of OpenSSH"),
        (b"ssh-rsa A?AA\n", "standard input:1:9: the text is not base64"),
        (b"{\"kty\":\"RSA\",\n\"n\":}", "standard input:2:5: expected value"),
        (b"{\"kty\":\"RSA\"}", "standard input#1: the JSON web key has no member \"n\""),
        (
            b"{\"keys\":[{\"kty\":\"EC\"},{\"n\":\"AA\"}]}",
            "standard input#2: the JSON web key has no member \"kty\"",
        ),
        (b"{\"kty\":\"RSA\",\"n\":\"A A\"}", "standard input#1: the text is not base64"),
    ] {
        run_on(input, &[]).assert_error(expected);
    }
    let deep = "[".repeat(100_000);
    run_on(deep.as_bytes(), &[]).assert_error("standard input:1:");
    let endless = vec![b'7'; 5 << 20];
    run_on(&endless, &[]).assert_error("standard input:1: the line has no end in 1048576 bytes");
    let wide = format!("15\n0x1{}\n", "0".repeat(1 << 19));
    run_on(wide.as_bytes(), &[]).assert_error("standard input:2:3: the modulus is wider than");
}

#[test]
fn text_may_have_marks_and_any_line_ends() {
    let expected = run_on(b"15\n35\n", &["--json"]).stdout;
    for input in
        [&b"\xef\xbb\xbf15\r\n35\r\n"[..], b"15\n35", b"  15\t\n\t35 #x\n\n", b"0xF\n0x0000023\n"]
    {
        assert_eq!(run_on(input, &["--json"]).stdout, expected);
    }
    let certificate = fs::read_to_string(fixture("second.pem")).unwrap();
    let windows = format!("\u{feff}{}", certificate.replace('\n', "\r\n"));
    let run = run_on(windows.as_bytes(), &[]);
    assert_eq!(run.status, 0);
    assert!(run.stderr.contains("1 key of 1024 bits"), "{}", run.stderr);
}

#[test]
fn damaged_der_is_rejected() {
    let folder = Scratch::new();
    for name in
        ["certificate.der", "request.der", "public.der", "public-pkcs1.der", "rsa-pkcs8.der"]
    {
        let whole = fs::read(fixture(name)).unwrap();
        for length in [2, 3, 4, 10, whole.len() / 2, whole.len() - 1] {
            let path = folder.write("cut.der", &whole[..length]);
            run(&[&path]).assert_error("cut.der: ");
        }
        let path = folder.write("more.der", &[&whole[..], b"\0"].concat());
        run(&[&path]).assert_error("more.der: the DER structure is damaged: 1 bytes follow it");
    }
    for (content, reason) in [
        (&b"\x30\x84\xff\xff\xff\xff\x00"[..], "the DER structure is damaged"),
        (b"\x30\x88\xff\xff\xff\xff\xff\xff\xff\xff", "the DER structure is damaged"),
        (b"\x30\x80\x00\x00", "the DER structure is damaged"),
        (b"\x30\x03\x02\x01\x05", "no certificate, certificate request or key in DER"),
    ] {
        let path = folder.write("hostile.der", content);
        run(&[&path]).assert_error(reason);
    }
}

#[test]
fn flipped_bytes_of_keys_do_not_crash() {
    let folder = Scratch::new();
    let mut random = Random::new(3);
    for name in ["certificate.der", "openssh.key", "set.json", "authorized_keys"] {
        let whole = fs::read(fixture(name)).unwrap();
        for _ in 0..8 {
            let mut content = whole.clone();
            for _ in 0..3 {
                let at = random.below(content.len());
                content[at] ^= 1 << random.below(8);
            }
            let path = folder.write("flipped", &content);
            let run = run(&[&path]);
            assert!(run.status == 0 || run.status == 2, "{name}: {}", run.stderr);
            assert!(!run.stderr.contains("panicked"), "{name}: {}", run.stderr);
        }
    }
}

#[test]
fn invalid_entries_are_counted_on_request() {
    let folder = Scratch::new();
    let numbers = folder.write("numbers.txt", b"15\nx\n35\n1\n");
    let cut = folder.write("cut.der", &fs::read(fixture("public.der")).unwrap()[..50]);
    run(&[&numbers, &cut]).assert_error("numbers.txt:2:1: ");
    let run = run(&[&numbers, &cut, "--skip-invalid"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stderr.contains("3 invalid entries;"), "{}", run.stderr);
    assert_eq!(run.stderr.matches("skipped: ").count(), 3);
}

#[test]
fn lines_of_fastgcd_are_hexadecimal() {
    let (a, b) = (modulus(0, 1), modulus(0, 2));
    let run = run_on(format!("{a:x}\n{b:X}\n12\n").as_bytes(), &["--json"]);
    assert_eq!((run.status, run.json().len()), (1, 2), "{}", run.stderr);
    // Digits only: decimal, unless the radix is given.
    let run = run_on(b"10\n30\n", &["--json", "--radix", "hex"]);
    assert_eq!(run.json()[0]["modulus"], "0x10");
    run_on(b"12\n1f\n", &[]).assert_error("(--radix hex reads hexadecimal)");
    assert_eq!(run_on(b"12\n1f\n", &["--radix", "hex"]).status, 0);
    run_on(b"1f\n", &["--radix", "dec"]).assert_error("not a decimal digit");
}

#[test]
fn tables_are_read_by_column() {
    let table = "name,modulus,\"x,y\"\na,15,1\n\"b\nc\",0x23,2\n";
    for column in ["modulus", "2"] {
        let run = run_on(table.as_bytes(), &["--column", column, "--json"]);
        assert_eq!(run.status, 1, "{}", run.stderr);
        let lines: Vec<_> = run.json().iter().map(|it| it["line"].as_u64().unwrap()).collect();
        assert_eq!(lines, [2, 3]);
    }
    let tabs = table.replace(',', "\t");
    assert_eq!(run_on(tabs.as_bytes(), &["--column=modulus", "--delimiter=\\t"]).status, 1);
    run_on(table.as_bytes(), &["--column", "n"]).assert_error("no column \"n\"");
    run_on(b"a,b\n1\n", &["--column", "b"])
        .assert_error("standard input:2: the row has no column 2");
    run_on(b"n\n15\nzz\n", &["--column", "n"])
        .assert_error("standard input:3: the modulus has 'z'");
    assert_eq!(run(&["x", "--column", "0"]).status, 2);
    assert_eq!(run(&["x", "--delimiter", ";"]).status, 2);
}

#[test]
fn small_factors_are_found_with_their_multiplicity() {
    let (big, good) = (prime(13), modulus(4, 5));
    let lines = format!("{}\n{good}\n{}\n{}\n", &big * 1009u32, &prime(12) * 1013u32, &big * 45u32);
    let run = run_on(lines.as_bytes(), &["--small-factors", "1009", "--json"]);
    assert_eq!(run.status, 1);
    let found: Vec<_> =
        run.json().into_iter().filter(|it| it["finding"] == "small factor").collect();
    let values = |index: usize| -> Vec<_> {
        factors(&found[index]).into_iter().map(|(value, _)| value).collect()
    };
    assert_eq!(found.len(), 2);
    assert_eq!((found[0]["line"].as_u64(), values(0)), (Some(1), vec!["0x3f1".into(), hex(&big)]));
    let expected = ["0x3", "0x3", "0x5"].map(str::to_owned).into_iter().chain([hex(&big)]);
    assert_eq!((found[1]["line"].as_u64(), values(1)), (Some(4), expected.collect()));
    // Too many primes for divisions by the host.
    let wider = run_on(lines.as_bytes(), &["--small-factors=300000", "--json"]).json();
    let small = wider.iter().filter(|it| it["finding"] == "small factor");
    let named: Vec<_> = small.map(|it| (it["line"].as_u64(), factors(it).len())).collect();
    assert_eq!(named, [(Some(1), 2), (Some(3), 2), (Some(4), 4)]);
    for limit in ["1", "10000001", "x"] {
        assert_eq!(run_on(b"15\n", &["--small-factors", limit]).status, 2);
    }
}

#[test]
fn close_factors_are_found_by_fermat() {
    let p = prime(12);
    // a = sqrt(n) + (q - p)^2 / (8 sqrt(n)).
    let q = &p + (BigUint::from(1u32) << 130);
    let lines = format!("{}\n{}\n{}\n", &p * &q, &p * &p, modulus(12, 13));
    let run = run_on(lines.as_bytes(), &["--fermat", "100", "--json"]);
    let found: Vec<_> =
        run.json().into_iter().filter(|it| it["finding"] == "close factors").collect();
    let values: Vec<Vec<_>> =
        found.iter().map(|it| factors(it).into_iter().map(|factor| factor.0).collect()).collect();
    assert_eq!(values, [[hex(&p), hex(&q)], [hex(&p), hex(&p)]]);
    let far = run_on(format!("{}\n", modulus(12, 13)).as_bytes(), &["--fermat", "1000"]);
    assert_eq!(far.status, 0);
    assert_eq!(run_on(b"15\n", &["--fermat", "0"]).status, 2);
}

#[test]
fn output_is_replaced_when_it_is_complete() {
    let folder = Scratch::new();
    let (input, output) = (folder.write("in.txt", b"15\n35\n"), folder.write("out.json", b"old"));
    let run = run(&[&input, "--json", "-o", &output]);
    assert_eq!((run.status, run.stdout.as_str()), (1, ""), "{}", run.stderr);
    assert_eq!(fs::read_to_string(&output).unwrap(), run_on_file(&input));
    assert_eq!(folder.names().len(), 2);
    // The old output stays after an error.
    let bad = folder.write("bad.txt", b"x\n");
    assert_eq!(self::run(&[&bad, "-o", &output, "--store", &folder.path("new.store")]).status, 2);
    assert_eq!(folder.names().len(), 3, "{:?}", folder.names());
    assert_eq!(fs::read_to_string(&output).unwrap(), run_on_file(&input));
    for arguments in [[&input, "-o", &input], [&input, "--store", &input]] {
        let run = self::run(&arguments);
        assert_eq!(run.status, 2);
        assert!(run.stderr.contains("would write over it"), "{}", run.stderr);
    }
    assert_eq!(fs::read(&input).unwrap(), b"15\n35\n");
}

fn run_on_file(input: &str) -> String {
    run(&[input, "--json"]).stdout
}

#[test]
fn unusable_files_are_reported() {
    let folder = Scratch::new();
    run(&[&folder.path("missing")]).assert_error("cannot open");
    run(&["-", "--against", &folder.path("missing")]).assert_error("cannot open the store");
    let folder_output = run(&["-", "-o", &folder.path("")]);
    assert_eq!(folder_output.status, 2);
    assert_eq!(run(&[]).status, 2);
    assert_eq!(run(&["-", "--json", "--csv"]).status, 2);
}

#[test]
fn memory_beyond_the_limit_is_an_error() {
    let folder = Scratch::new();
    let mut random = Random::new(5);
    let mut lines = String::new();
    for _ in 0..20_000 {
        for _ in 0..32 {
            lines += &format!("{:016x}", random.word() | 1 << 63);
        }
        lines.push('\n');
    }
    let path = folder.write("many.txt", lines.as_bytes());
    run(&[&path, "--radix=hex", "--memory=16"]).assert_error("more than --memory 16");
    // Keys fit, but their trees do not.
    let threads = std::thread::available_parallelism().unwrap().get();
    let limit = format!("--memory={}", 20 + 4 * threads);
    run(&[&path, "--radix=hex", &limit]).assert_error("more than --memory");
}

#[test]
fn errors_in_large_files_have_their_line() {
    let line = format!("{}\n", modulus(0, 1));
    let mut lines = line.repeat(50_000);
    lines += "x\n";
    lines += &line.repeat(20_000);
    lines += "y\n";
    run_on(lines.as_bytes(), &[]).assert_error("standard input:50001:1: the modulus has 'x'");
}

/// Writes three documents to a store.
fn stored(folder: &Scratch) -> String {
    let store = folder.path("keys.store");
    let old = folder.write(
        "old.txt",
        format!("{}\n{}\n{}\n", modulus(0, 1), modulus(2, 3), modulus(2, 4)).as_bytes(),
    );
    let run = run(&[&old, &fixture("certificate.pem"), &fixture("set.json"), "--store", &store]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    store
}

#[test]
fn new_keys_are_compared_with_stored_ones() {
    let folder = Scratch::new();
    let store = stored(&folder);
    let before = fs::read(&store).unwrap();
    let new = folder.write("new.txt", format!("{}\n{}\n", modulus(5, 0), modulus(6, 7)).as_bytes());
    let second = fixture("second.pem");
    let run = run(&[&new, &second, "--against", &store, "--json"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let found = run.json();
    let named: Vec<_> =
        found.iter().map(|it| (it["key"].as_u64().unwrap(), it["stored"] == true)).collect();
    // Keys 2 and 3 share a factor with each other: that was reported before.
    assert_eq!(named, [(1, true), (4, true), (6, false), (8, false)]);
    assert_eq!(found[0]["document"], folder.path("old.txt"));
    assert_eq!(found[1]["line"], 1);
    assert_eq!(found[1]["copies"][0]["entry"], 2);
    assert_eq!(factors(&found[2])[0], (hex(&prime(0)), vec![1]));
    assert_eq!(fs::read(&store).unwrap(), before);
    // A stored key again is a duplicate.
    let again = folder.write("again.txt", format!("{}\n", modulus(2, 3)).as_bytes());
    let run = self::run(&[&again, "--against", &store]);
    assert_eq!(run.status, 0, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stderr.contains("1 key of 330..1024 bits against 5 stored keys, 2 duplicates"),
        "{}",
        run.stderr
    );
}

#[test]
fn extended_store_has_all_keys() {
    let folder = Scratch::new();
    let store = stored(&folder);
    let new = folder.write("new.txt", format!("{}\n", modulus(5, 6)).as_bytes());
    let run = run(&[&new, "--against", &store, "--store", &store]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let third =
        folder.write("third.txt", format!("{}\n{}\n", modulus(6, 7), modulus(8, 1)).as_bytes());
    let run = self::run(&[&third, "--against", &store, "--json"]);
    let keys: Vec<_> = run.json().iter().map(|it| it["key"].as_u64().unwrap()).collect();
    assert_eq!(keys, [1, 6, 7, 8]);
    assert!(folder.names().iter().all(|name| !name.contains("partial")));
    // A store is not replaced by accident.
    let before = fs::read(&store).unwrap();
    self::run(&[&third, "--store", &store]).assert_error("name it by --against, too");
    assert!(folder.names().iter().all(|name| !name.contains("partial")));
    assert_eq!(fs::read(&store).unwrap(), before);
}

#[test]
fn damaged_store_is_rejected() {
    let folder = Scratch::new();
    let store = stored(&folder);
    let whole = fs::read(&store).unwrap();
    let damaged = folder.path("damaged.store");
    let new = folder.write("new.txt", b"15\n");
    let check = |content: &[u8], what: &str| {
        fs::write(&damaged, content).unwrap();
        let run = run(&[&new, "--against", &damaged, "--store", &damaged]);
        assert_eq!(run.status, 2, "{what}: {}", run.stderr);
        assert!(run.stderr.contains("is damaged"), "{what}: {}", run.stderr);
        assert_eq!(fs::read(&damaged).unwrap(), content, "{what}: the store is left alone");
    };
    for at in (0..whole.len()).step_by(61) {
        let mut content = whole.clone();
        content[at] ^= 0x10;
        check(&content, &format!("byte {at}"));
    }
    for length in [0, 15, 16, 30, whole.len() / 3, whole.len() - 48, whole.len() - 1] {
        check(&whole[..length], &format!("{length} bytes"));
    }
    check(&[&whole[..], b"x"].concat(), "a byte more");
    // A length of a section that no file has.
    let mut content = whole.clone();
    content[24..32].copy_from_slice(&u64::MAX.to_le_bytes());
    check(&content, "huge section");
}

/// Starts a job that waits for more input.
fn waiting(folder: &Scratch, store: &str) -> (Child, PathBuf) {
    let output = PathBuf::from(folder.write("out.txt", b"old results"));
    let mut job = program();
    job.args(["-", "--against", store, "--store", store, "-o"]).arg(&output);
    job.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut job = job.spawn().unwrap();
    job.stdin.as_mut().unwrap().write_all(format!("{}\n", modulus(0, 9)).as_bytes()).unwrap();
    // The files of the job are made before the input is read.
    let partial = folder.path("keys.store.partial");
    while !Path::new(&partial).exists() {
        assert!(job.try_wait().unwrap().is_none(), "the job ended");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    (job, output)
}

#[test]
fn killed_job_leaves_store_and_output() {
    let folder = Scratch::new();
    let store = stored(&folder);
    let before = fs::read(&store).unwrap();
    let (mut job, output) = waiting(&folder, &store);
    job.kill().unwrap();
    job.wait().unwrap();
    assert_eq!(fs::read(&store).unwrap(), before);
    assert_eq!(fs::read(&output).unwrap(), b"old results");
    // The next job does the work.
    let new = folder.write("new.txt", format!("{}\n", modulus(0, 9)).as_bytes());
    let output = output.to_str().unwrap();
    let run = run(&[&new, "--against", &store, "--store", &store, "-o", output]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(fs::read_to_string(output).unwrap().starts_with("key 1, "));
    assert!(fs::read(&store).unwrap().len() > before.len());
    assert!(folder.names().iter().all(|name| !name.contains("partial")));
}

/// Hexadecimal keys of two widths, four of which share a factor.
fn hexadecimal_keys(count: usize) -> String {
    let mut random = Random::new(11);
    // Numbers that are 1 modulo the smallest primes share none of them.
    let primes = (2..600u32).filter(|n| (2..*n).all(|it| n % it > 0));
    let primorial: BigUint = primes.map(BigUint::from).product();
    let mut key = |words: usize| {
        let number = (0..words).fold(BigUint::ZERO, |n, _| n << 64 | BigUint::from(random.word()));
        number * &primorial + 1u32
    };
    let shared = key(2);
    let mut lines = String::new();
    for index in 0..count {
        let number = key(if index % 3 == 0 { 1 } else { 13 });
        let number = if index % (count / 4) == 5 { number * &shared } else { number };
        lines += &format!("{number:x}\n");
    }
    lines
}

/// Names and heads of the records in a folder: stages and levels of trees.
fn records(folder: &str) -> BTreeSet<(String, Vec<u8>)> {
    let Ok(files) = fs::read_dir(folder) else { return BTreeSet::new() };
    let head = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.strip_suffix(".record")?.to_owned();
        let mut head = [0; 64];
        fs::File::open(&path).and_then(|mut file| file.read_exact(&mut head)).ok()?;
        Some((name, head[48..].to_vec()))
    };
    files.filter_map(|file| head(file.ok()?.path())).collect()
}

#[test]
fn job_that_is_killed_at_its_records_goes_on_from_them() {
    let folder = Scratch::new();
    let input = folder.write("keys.txt", hexadecimal_keys(280).as_bytes());
    let [output, store] = [folder.path("out.json"), folder.path("keys.store")];
    let trees = folder.path("out.json.trees");
    let options = [&input, "--json", "-o", &output, "--store", &store, "--checkpoint=0"];
    let expected = run(&[&input, "--json", "--store", &folder.path("whole.store")]);
    assert_eq!(expected.status, 1, "{}", expected.stderr);
    let (mut seen, mut kills, mut is_late) = (BTreeSet::new(), 0, false);
    // New records since no record was changed.
    let mut passed = BTreeSet::new();
    loop {
        let (known, mut before) = (passed.len(), records(&trees));
        let mut job = program();
        job.args(options).arg("--resume").stdin(Stdio::null()).stderr(Stdio::piped());
        let mut job = job.spawn().unwrap();
        // The record before the kill is one of three by turns.
        let mut left = 1 + kills % 3;
        while left > 0 && job.try_wait().unwrap().is_none() {
            let now = records(&trees);
            left -= usize::from(now != before);
            passed.extend(now.difference(&before).cloned());
            seen.extend(now.iter().cloned());
            before = now;
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        job.kill().unwrap();
        let ended = job.wait_with_output().unwrap();
        if let Some(status) = ended.status.code() {
            assert_eq!(status, 1, "{}", String::from_utf8_lossy(&ended.stderr));
            break;
        }
        kills += 1;
        if Path::new(&store).exists() {
            // The kill came after the end, before the records were removed.
            is_late = true;
            break;
        }
        // A job goes on from its records until its store is replaced, and writes none again.
        assert!(passed.len() > known, "kill {kills}: {before:?} is nothing new");
        if kills == 4 {
            passed.clear();
            // A record that was changed is not used.
            for (name, _) in records(&trees) {
                let path = format!("{trees}/{name}.record");
                let mut content = fs::read(&path).unwrap();
                let last = content.len() - 40;
                content[last] ^= 1;
                fs::write(path, content).unwrap();
            }
        }
    }
    assert_eq!(fs::read_to_string(&output).unwrap(), expected.stdout);
    assert_eq!(fs::read(&store).unwrap(), fs::read(folder.path("whole.store")).unwrap());
    let is_left = folder.names().iter().any(|name| name.starts_with("out.json."));
    assert!(!is_left || is_late, "{:?}", folder.names());
    // Products of classes, sums and remainders of both, and roots.
    let stages = |end: &str, stage: u64| {
        let stage = stage.to_le_bytes();
        seen.iter().filter(|(name, head)| name.ends_with(end) && head.starts_with(&stage)).count()
    };
    let counts = [stages("-levels", 0), stages("-levels", 1), stages("-root", 0)];
    assert!(kills > 8 && counts[0] > 3 && counts[1] > 3 && counts[2] > 0, "{kills}, {counts:?}");
    for name in ["products", "divisors", "factors-base"] {
        assert!(seen.iter().any(|it| it.0 == name), "{name}: {seen:?}");
    }
}

#[test]
fn job_that_cannot_replace_its_store_keeps_its_records() {
    let folder = Scratch::new();
    let keys = hexadecimal_keys(280);
    let [output, store] = [folder.path("out.json"), folder.path("keys.store")];
    let trees = folder.path("out.json.trees");
    let options = ["--json", "-o", &output, "--store", &store, "--checkpoint=0"];
    let mut job = program();
    job.arg("-").args(options).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut job = job.spawn().unwrap();
    // This file is made after the lock.
    while !Path::new(&folder.path("keys.store.checkpoint")).exists() {
        assert!(job.try_wait().unwrap().is_none(), "the job ended");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    fs::remove_file(folder.path("keys.store.partial")).unwrap();
    fs::write(folder.path("keys.store.partial"), b"").unwrap();
    job.stdin.take().unwrap().write_all(keys.as_bytes()).unwrap();
    let ended = Run::of(&job.wait_with_output().unwrap());
    ended.assert_error("was replaced by another program");
    let kept: BTreeSet<String> = records(&trees).into_iter().map(|record| record.0).collect();
    assert!(kept.contains("divisors") && kept.contains("factors-base"), "{kept:?}");
    let results = fs::read(&output).unwrap();
    let run = run_on(keys.as_bytes(), &[&options[..], &["--resume"]].concat());
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert_eq!(fs::read(&output).unwrap(), results);
    assert!(Path::new(&store).exists() && !Path::new(&trees).exists());
}

/// Runs a job to its end, and leaves the records of a moment before beside its results,
/// as a kill at its end does. Returns the arguments of the job and its records.
fn killed_at_its_end(folder: &Scratch, stores: &[&str]) -> (Vec<String>, String) {
    let input = folder.write("keys.txt", hexadecimal_keys(40).as_bytes());
    let [output, trees, kept] =
        ["out.json", "out.json.trees", "kept"].map(|name| folder.path(name));
    let options = [&[&input, "--json", "-o", &output, "--checkpoint=0"], stores].concat();
    let mut job = program();
    let mut job = job.args(&options).stderr(Stdio::null()).spawn().unwrap();
    while !records(&trees).iter().any(|(name, _)| name == "products") {
        assert!(job.try_wait().unwrap().is_none(), "the job ended before a record");
    }
    job.kill().unwrap();
    job.wait().unwrap();
    fs::create_dir(&kept).unwrap();
    for file in fs::read_dir(&trees).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), Path::new(&kept).join(file.file_name())).unwrap();
    }
    let run = run(&[&options[..], &["--resume"]].concat());
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(!Path::new(&trees).exists());
    fs::rename(&kept, &trees).unwrap();
    (options.iter().map(|&option| option.to_owned()).collect(), trees)
}

#[test]
fn job_that_is_killed_after_its_store_was_replaced_is_resumed() {
    let folder = Scratch::new();
    let [new_store, other] = ["new.store", "other.store"].map(|name| folder.path(name));
    let old_store = stored(&folder);
    fs::copy(&old_store, &other).unwrap();
    for stores in [
        &["--store", &new_store][..],
        &["--against", &old_store, "--store", &old_store],
        &["--against", &other, "--store", &folder.path("both.store")],
    ] {
        let (options, trees) = killed_at_its_end(&folder, stores);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let written = [&folder.path("out.json"), stores[stores.len() - 1]];
        let read = || written.map(|path| fs::read(path).unwrap());
        let results = read();
        let run = run(&[&options[..], &["--resume"]].concat());
        assert_eq!(run.status, 1, "{stores:?}: {}", run.stderr);
        assert!(read() == results, "{stores:?}");
        assert!(!Path::new(&trees).exists());
        fs::remove_file(written[0]).unwrap();
    }
}

#[test]
fn store_of_other_keys_is_not_replaced_by_a_resumed_job() {
    let folder = Scratch::new();
    let store = folder.path("new.store");
    let (options, trees) = killed_at_its_end(&folder, &["--store", &store]);
    let options: Vec<&str> = options.iter().map(String::as_str).chain(["--resume"]).collect();
    fs::rename(stored(&folder), &store).unwrap();
    let before = fs::read(&store).unwrap();
    run(&options).assert_error("name it by --against, too");
    assert_eq!(fs::read(&store).unwrap(), before);
    assert!(Path::new(&trees).exists());
}

#[test]
fn results_of_stored_keys_are_not_lost_by_another_run() {
    let folder = Scratch::new();
    let store = stored(&folder);
    let new = folder.write("new.txt", format!("{}\n", modulus(0, 9)).as_bytes());
    let output = folder.path("out.txt");
    let options = [&new[..], "--against", &store, "--store", &store, "-o", &output];
    let first = run(&options);
    assert_eq!(first.status, 1, "{}", first.stderr);
    let before = [&output, &store].map(|path| fs::read(path).unwrap());
    for resume in [&[][..], &["--resume"]] {
        run(&[&options[..], resume].concat()).assert_error("would be lost; name another --output");
        assert_eq!([&output, &store].map(|path| fs::read(path).unwrap()), before);
    }
    // Without results, there are none to lose.
    fs::remove_file(&output).unwrap();
    let again = run(&options);
    assert_eq!(again.status, 0, "{}", again.stderr);
}

#[test]
fn checks_of_each_key_go_on_from_their_records() {
    let folder = Scratch::new();
    let numbers = (0..300u32).map(|it| format!("{}\n", BigUint::from(2 * it + 3).pow(90)));
    let input = folder.write("keys.txt", numbers.collect::<String>().as_bytes());
    let [output, trees] = ["out.txt", "out.txt.trees"].map(|name| folder.path(name));
    let checks = ["--small-factors=40", "--fermat=3"];
    let expected = run(&[&[&input[..]], &checks[..]].concat());
    assert_eq!(expected.status, 1, "{}", expected.stderr);
    let options =
        [&[&input[..], "-o", &output, "--checkpoint=0", "--resume"], &checks[..]].concat();
    let of_checks = || {
        let mut found = records(&trees);
        found.retain(|(name, _)| ["small", "close"].contains(&name.as_str()));
        found
    };
    let mut seen = BTreeSet::new();
    loop {
        let known = of_checks();
        let mut job = program();
        let mut job = job.args(&options).stderr(Stdio::null()).spawn().unwrap();
        while of_checks() == known && job.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        job.kill().unwrap();
        job.wait().unwrap();
        if Path::new(&output).exists() {
            break;
        }
        let before = seen.len();
        seen.extend(of_checks());
        assert!(seen.len() > before, "{seen:?}");
    }
    assert_eq!(fs::read_to_string(&output).unwrap(), expected.stdout);
    // Checks with their parameters.
    for (name, parameter) in [("small", 40), ("close", 3)] {
        let is_of = |(at, head): &(String, Vec<u8>)| at == name && head[0] == parameter;
        assert!(seen.iter().any(is_of), "{name}: {seen:?}");
    }
}

#[test]
fn records_of_other_work_are_refused() {
    let folder = Scratch::new();
    let input = folder.write("keys.txt", hexadecimal_keys(280).as_bytes());
    let output = folder.path("out.txt");
    let trees = folder.path("out.txt.trees");
    let start = || {
        let mut job = program();
        job.args([&input, "-o", &output, "--checkpoint=0"]).stderr(Stdio::null());
        let mut job = job.spawn().unwrap();
        while records(&trees).is_empty() {
            assert!(job.try_wait().unwrap().is_none(), "the job ended before a record");
        }
        job.kill().unwrap();
        job.wait().unwrap();
    };
    start();
    let other = folder.write("other.txt", b"15\n35\n");
    run(&[&other, "-o", &output, "--resume"]).assert_error("--store differ");
    let store = folder.path("new.store");
    run(&[&input, "-o", &output, "--store", &store, "--resume"]).assert_error("--store differ");
    // Files of others stay, and end the job.
    fs::write(format!("{trees}/mine"), b"text").unwrap();
    run(&[&other, "-o", &output]).assert_error("is no record of this command");
    fs::remove_file(format!("{trees}/mine")).unwrap();
    // A new job removes the records.
    let run = run(&[&other, "-o", &output]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(!Path::new(&trees).exists());
    assert_eq!(self::run(&[&input, "--resume"]).status, 2);
}

#[cfg(unix)]
#[test]
fn records_that_cannot_be_written_end_no_job() {
    let folder = Scratch::new();
    let (input, target) =
        (folder.write("keys.txt", hexadecimal_keys(280).as_bytes()), folder.path("target"));
    let output = folder.path("out.txt");
    fs::create_dir(&target).unwrap();
    std::os::unix::fs::symlink(&target, folder.path("out.txt.trees")).unwrap();
    run(&[&input, "-o", &output, "--checkpoint=0"]).assert_error("is not a folder");
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
    fs::remove_file(folder.path("out.txt.trees")).unwrap();
    // A record that cannot be written: the job goes on without.
    let (trees, store) = (folder.path("out.txt.trees"), folder.path("keys.store"));
    fs::create_dir_all(format!("{trees}/products.new")).unwrap();
    let options = [&input, "-o", &output, "--store", &store, "--checkpoint=0", "--resume"];
    let run = run(&options);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stderr.contains("no further records in"), "{}", run.stderr);
    assert!(run.stderr.contains("cannot use"), "{}", run.stderr);
    assert!(Path::new(&output).exists() && Path::new(&store).exists());
}

#[test]
fn store_of_a_running_job_is_busy() {
    let folder = Scratch::new();
    let store = stored(&folder);
    let (mut job, _) = waiting(&folder, &store);
    // The lock follows the making of the file.
    std::thread::sleep(std::time::Duration::from_millis(1000));
    let new = folder.write("new.txt", b"15\n");
    run(&[&new, "--against", &store, "--store", &store]).assert_error("another job is writing");
    drop(job.stdin.take());
    assert_eq!(job.wait().unwrap().code(), Some(1));
}

#[cfg(unix)]
#[test]
fn signal_ends_the_wait_for_input() {
    let folder = Scratch::new();
    let store = stored(&folder);
    let before = fs::read(&store).unwrap();
    let (mut job, output) = waiting(&folder, &store);
    // The input does not end.
    let _stdin = job.stdin.take();
    // The handler is set after the files are made.
    std::thread::sleep(std::time::Duration::from_millis(1000));
    let pid = job.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ended = job.wait_with_output().unwrap();
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("interrupted while reading"), "{stderr}");
    assert_eq!(fs::read(&store).unwrap(), before);
    assert_eq!(fs::read(output).unwrap(), b"old results");
}

#[cfg(unix)]
#[test]
fn job_without_reader_is_stopped() {
    let folder = Scratch::new();
    let input = folder.write("in.txt", b"15\n35\n");
    let mut job = program();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = job.arg(&input).stdout(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn progress_lines_name_the_stages() {
    let folder = Scratch::new();
    let input = folder.write("in.txt", b"15\n35\n");
    let run = run(&[&input, "--progress", "--small-factors=10", "--fermat=3"]);
    for stage in [
        "reading 2 keys: ",
        "products of",
        "common divisors of",
        "small factors: ",
        "close factors: ",
    ] {
        assert!(run.stderr.contains(stage), "{stage}: {}", run.stderr);
    }
    let closing = run.stderr.lines().last().unwrap();
    for phase in ["setup", "read", "distinct", "products", "divisors", "factors", "write"] {
        assert!(closing.contains(&format!(" {phase} ")), "{phase}: {closing}");
    }
}

#[test]
fn progress_in_json_is_an_object_for_each_stage() {
    let folder = Scratch::new();
    let input = folder.write("in.txt", b"15\n35\n");
    let run = run(&[&input, "--progress", "--json", "--small-factors=10", "--fermat=3"]);
    let objects = run.stderr.lines().filter(|line| line.starts_with('{'));
    let objects: Vec<serde_json::Value> =
        objects.map(|line| serde_json::from_str(line).unwrap()).collect();
    let phases: Vec<_> = objects.iter().map(|it| it["phase"].as_str().unwrap()).collect();
    for phase in ["read", "distinct", "products", "divisors", "factors", "write"] {
        assert!(phases.contains(&phase), "{phase}: {}", run.stderr);
    }
    for object in &objects {
        assert!(object["stage"].is_string() && object["seconds"].is_number(), "{object}");
        assert_eq!(
            (object["done"].as_f64(), object["seconds_left"].as_f64()),
            (Some(1.0), Some(0.0))
        );
    }
    // The findings are on standard output alone.
    assert_eq!(run.json().len(), 6);
}

#[test]
fn random_numbers_are_split_by_their_small_primes() {
    let mut random = Random::new(11);
    let numbers: Vec<BigUint> = (0..400)
        .map(|_| {
            (0..4).fold(BigUint::ZERO, |number, _| number << 64 | BigUint::from(random.word()))
                | BigUint::from(1u32)
        })
        .collect();
    let lines: String = numbers.iter().map(|number| format!("{number:#x}\n")).collect();
    let run = run_on(lines.as_bytes(), &["--json"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let found = run.json();
    assert!(found.len() > 250, "{} weak keys", found.len());
    for finding in &found {
        let number = &numbers[finding["key"].as_u64().unwrap() as usize - 1];
        let others = |prime: u32| numbers.iter().filter(|it| *it % prime == BigUint::ZERO).count();
        for prime in [3u32, 5, 7, 11, 13, 17, 19].into_iter().filter(|&it| others(it) > 1) {
            let is_factor = factors(finding).iter().any(|it| it.0 == format!("{prime:#x}"));
            assert_eq!(is_factor, number % prime == BigUint::ZERO, "{prime}: {finding}");
        }
    }
}

#[test]
fn random_collections_have_the_factors_of_pairs() {
    let mut random = Random::new(7);
    for _ in 0..4 {
        let keys: Vec<(usize, usize)> = (0..12)
            .map(|_| {
                let a = random.below(PRIMES.len());
                (a, (a + 1 + random.below(PRIMES.len() - 1)) % PRIMES.len())
            })
            .collect();
        let lines: String = keys.iter().map(|&(a, b)| format!("{:#x}\n", modulus(a, b))).collect();
        let run = run_on(lines.as_bytes(), &["--json"]);
        let moduli: Vec<BigUint> = keys.iter().map(|&(a, b)| modulus(a, b)).collect();
        let found = run.json();
        for (index, &(a, b)) in keys.iter().enumerate() {
            if moduli[..index].contains(&moduli[index]) {
                continue;
            }
            let shares = |p: usize| {
                keys.iter()
                    .zip(&moduli)
                    .any(|(&(c, d), other)| *other != moduli[index] && (c == p || d == p))
            };
            let finding = found.iter().find(|it| it["key"] == index + 1);
            assert_eq!(finding.is_some(), shares(a) || shares(b), "{keys:?}");
            if let Some(finding) = finding {
                let values: BTreeSet<_> = factors(finding).into_iter().map(|it| it.0).collect();
                assert_eq!(values, BTreeSet::from([hex(&prime(a)), hex(&prime(b))]), "{keys:?}");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn closed_standard_output_is_refused() {
    let output = Command::new("sh")
        .args(["-c", "\"$0\" batch-gcd -bcpu - </dev/null >&-", env!("CARGO_BIN_EXE_gpuint")])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("standard output is closed"));
}
