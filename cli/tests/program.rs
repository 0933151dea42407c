//! `gpuint info`, `gpuint bench` and `gpuint paillier`, as a user runs them.

use std::fmt::Write;
use std::fs;
use std::process::{Command, Output};
use std::sync::OnceLock;

use num_bigint::BigUint;

fn run(arguments: &[&str]) -> (Output, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_gpuint")).args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    (output, text)
}

#[test]
fn info_names_devices_and_widths() {
    let (output, text) = run(&["info"]);
    assert!(output.status.success());
    for part in ["CPU: cpu (", "GPU", "1024, ", "kernels: ", "features: "] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn info_looks_for_the_compiler_and_the_cache() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("libnvrtc.so");
    let info = |cache: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpuint"));
        command.arg("info").env("GPUINT_NVRTC", &absent).env("GPUINT_CACHE_DIR", cache);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let text = info(folder.path().to_str().unwrap());
    assert!(text.contains("run-time compiler: none (GPUINT_NVRTC: "), "{text}");
    assert!(text.contains(&format!("cache of kernels: {}", folder.path().display())), "{text}");
    assert!(info("off").contains("cache of kernels: none"), "{text}");
}

#[test]
fn every_width_of_info_is_divided() {
    let (_, text) = run(&["info"]);
    let line = text.lines().find_map(|line| line.strip_prefix("widths: ")?.strip_suffix(" bits"));
    let widths: Vec<u64> = line.unwrap().split(", ").map(|bits| bits.parse().unwrap()).collect();
    assert!(widths.is_sorted() && widths.len() > 10, "{widths:?}");
    let one = BigUint::from(1u32);
    let (mut rows, mut expected) = (String::new(), String::new());
    for bits in &widths {
        let u = (&one << bits) - 1u32;
        for v in [BigUint::from(3u32), (&one << (bits / 2)) + 12_345u32, &u - 1u32] {
            writeln!(rows, "{u:#x} {v:#x}").unwrap();
            writeln!(expected, "{:#x} {:#x}", &u / &v, &u % &v).unwrap();
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("rows.txt");
    fs::write(&input, rows).unwrap();
    let (output, results) =
        run(&["divide", "--backend=cpu", "--hex", "--verify", input.to_str().unwrap()]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    let range = format!("rows of {}..{} bits", widths[0], widths.last().unwrap());
    assert!(words.contains(&range), "{words}");
    assert!(results == expected, "a quotient or a remainder is wrong");
}

#[test]
fn bench_prints_a_line_for_each_width_and_a_plot() {
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("plot.svg");
    let path = plot.to_str().unwrap();
    let (output, text) = run(&["bench", "--seconds", "0.2", "--max-bits", "2048", "--plot", path]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for bits in ["1024", "2048"] {
        let line = text.lines().find(|line| line.trim_start().starts_with(bits)).unwrap();
        let rate: f64 = line.split_whitespace().last().unwrap().parse().unwrap();
        assert!(rate > 0.0, "{line}");
    }
    let plot = fs::read_to_string(plot).unwrap();
    assert!(plot.starts_with("<svg ") && plot.contains("<polyline") && !plot.contains("NaN"));
    for bad in ["0", "-1", "nan", "x"] {
        assert_eq!(run(&["bench", "--seconds", bad]).0.status.code(), Some(2), "{bad}");
    }
}

#[test]
fn plot_that_cannot_be_written_is_an_error() {
    let arguments =
        ["bench", "--seconds=0.1", "--max-bits=1024", "--plot=/no/such/folder/plot.svg"];
    let (output, _) = run(&arguments);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.starts_with(b"bench: cannot write /no/such/folder/plot.svg: "));
}

#[cfg(unix)]
#[test]
fn closed_standard_output_is_an_error() {
    for job in ["divide", "info", "bench"] {
        let output = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$1\" >&-", env!("CARGO_BIN_EXE_gpuint"), job])
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{job}: {words}");
        assert!(words.starts_with(&format!("{job}: standard output is closed")), "{words}");
    }
    // Discarded output is not an error.
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpuint"));
    let status = command.arg("info").stdout(std::process::Stdio::null()).status().unwrap();
    assert!(status.success());
}

#[test]
fn log_shows_spans_and_refuses_what_is_no_filter() {
    let log = |filter: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpuint"));
        command.arg("divide").env("GPUINT_LOG", filter).output().unwrap()
    };
    let output = log("gpuint=trace");
    assert!(output.status.success());
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains("TRACE") && words.contains("close"), "{words}");
    let output = log("gpuint=loud");
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.starts_with(b"divide: GPUINT_LOG is not a filter: "));
}

/// A key of 1024 bits and tables, in a folder of their own.
struct Paillier(tempfile::TempDir);

impl Paillier {
    /// Both tests have one key, as its generation takes longer than the rest.
    fn new() -> Self {
        static KEYS: OnceLock<[String; 2]> = OnceLock::new();
        let files = Self(tempfile::tempdir().unwrap());
        let names = ["public", "key"];
        let keys = KEYS.get_or_init(|| {
            let [public, key] = names.map(|name| files.path(name));
            let (output, _) =
                run(&["paillier", "keygen", &key, "--public", &public, "--bits=1024", "-bcpu"]);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;

                let mode = fs::metadata(&key).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600);
            }
            [public, key].map(|path| fs::read_to_string(path).unwrap())
        });
        for (name, key) in names.iter().zip(keys) {
            files.write(name, key);
        }
        files
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, content: &str) -> String {
        fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    /// Runs a task on the CPU; returns its status, results and messages.
    fn run(&self, task: &str, key: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
        let key = self.path(key);
        let all = [&["paillier", task, "-bcpu", "--key", &key], arguments].concat();
        let (output, text) = run(&all);
        let messages = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), text, messages)
    }
}

#[test]
fn columns_are_encrypted_added_and_decrypted() {
    let files = Paillier::new();
    let table =
        "name,\"a, b\",amount\nx,1,0.5\ny,\"2, 3\",-7\nx,4,1e-3\nz,5,100000000000000000000\n";
    let input = files.write("table.csv", table);
    let encrypted = files.path("encrypted.csv");
    let arguments = [&input, "-camount", "-o", &encrypted, "--json"];
    let (status, report, messages) = files.run("encrypt", "public", &arguments);
    assert_eq!(status, Some(0), "{messages}");
    for part in ["\"task\":\"encrypt\"", "\"rows\":4", "\"key_bits\":1024"] {
        assert!(report.contains(part), "{report}");
    }
    assert!(!messages.contains("seconds_left"), "{messages}");
    let content = fs::read_to_string(&encrypted).unwrap();
    assert!(content.starts_with("name,\"a, b\",amount\nx,1,\"{\"\"v\"\":\"\""), "{content}");
    let (status, decrypted, _) = files.run("decrypt", "key", &[&encrypted, "-camount"]);
    assert_eq!((status, decrypted), (Some(0), table.replace("1e-3", "0.001")));

    let by_name = [&encrypted, "-camount", "--by", "name", "--chunk-rows=2", "--progress"];
    let (status, sums, messages) = files.run("sum", "public", &by_name);
    assert_eq!(status, Some(0), "{messages}");
    assert!(messages.starts_with("4 rows: "), "{messages}");
    let sums = files.write("sums.csv", &sums);
    let (_, decrypted, _) = files.run("decrypt", "key", &[&sums, "-camount"]);
    assert_eq!(decrypted, "name,amount\nx,0.501\ny,-7.0\nz,1e20\n");

    let again = files.path("again.csv");
    let arguments = [&input, "-camount", "-o", &again, "--json", "--progress"];
    let (status, _, messages) = files.run("encrypt", "public", &arguments);
    assert_eq!(status, Some(0), "{messages}");
    let line = messages.lines().next().unwrap();
    let object: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!((&object["phase"], &object["stage"]), (&"encrypt".into(), &"4 rows".into()));
    assert_eq!(object["seconds_left"], 0.0);

    // A table without names, by another form and with one exponent.
    let input = files.write("rows.csv", "1\n2.26\n-3\n");
    let arguments = [&input, "-c1", "--exponent", "-1"];
    let (_, text, _) = files.run("encrypt", "public", &arguments);
    assert_eq!(text.matches("\"\"e\"\":-1").count(), 3, "{text}");
    let rows = files.write("encrypted-rows.csv", &text);
    let (_, total, _) = files.run("sum", "public", &[&rows, "-c1"]);
    let total = files.write("total.csv", &total);
    let (_, decrypted, _) = files.run("decrypt", "key", &[&total, "-c1"]);
    assert_eq!(decrypted, "0.25\n");

    // A table whose first name begins like a Parquet file, and such a file.
    let input = files.write("magic.csv", "PAR1,n\na,1\n");
    let (status, _, messages) = files.run("encrypt", "public", &[&input, "-cn"]);
    assert_eq!(status, Some(0), "{messages}");
    if cfg!(not(feature = "parquet")) {
        let input = files.write("table.parquet", "PAR1\u{15}\u{0}PAR1");
        let (status, _, messages) = files.run("encrypt", "public", &[&input, "-cn"]);
        assert!(status == Some(2) && messages.contains("--features parquet"), "{messages}");
    }

    // Errors name the line; nothing replaces a key.
    let wrong = files.write("wrong.csv", "n\n1\ntwo\n");
    let (status, _, messages) = files.run("encrypt", "public", &[&wrong, "-cn"]);
    assert!(status == Some(2) && messages.contains("line 3: \"two\""), "{messages}");
    let (status, _, messages) = files.run("encrypt", "public", &[&wrong, "-cm"]);
    assert!(status == Some(2) && messages.contains("no column \"m\""), "{messages}");
    let (status, _, messages) = files.run("decrypt", "key", &[&wrong, "-cn"]);
    assert!(status == Some(2) && messages.contains("line 2: "), "{messages}");
    let (status, _, messages) = files.run("decrypt", "public", &[&rows, "-c1"]);
    assert!(status == Some(2) && messages.contains("not of the format"), "{messages}");
    let arguments = [&wrong, "-cn", "-o", &files.path("key")];
    let (status, _, messages) = files.run("encrypt", "key", &arguments);
    assert!(status == Some(2) && messages.contains("would write over it"), "{messages}");
    let again = ["paillier", "keygen", &files.path("key"), "--public", &files.path("p"), "-bcpu"];
    let (output, _) = run(&[&again[..], &["--bits=1024"]].concat());
    assert_eq!(output.status.code(), Some(2));

    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;

        fs::set_permissions(files.path("key"), fs::Permissions::from_mode(0o644)).unwrap();
        let (_, _, messages) = files.run("decrypt", "key", &[&rows, "-c1"]);
        assert!(messages.starts_with("warning: others can read"), "{messages}");
    }
}

#[test]
fn interrupted_encryption_goes_on() {
    let files = Paillier::new();
    let input = files.write("table.csv", "n\n1\n2\nthree\n4\n");
    let output = files.path("out.csv");
    let arguments = [&input, "-cn", "-o", &output, "--chunk-rows=1", "--long-exponents"];
    let (status, _, messages) = files.run("encrypt", "public", &arguments);
    assert!(status == Some(2) && messages.contains("--resume goes on"), "{messages}");
    assert!(!fs::exists(&output).unwrap());

    files.write("table.csv", "n\n1\n0\n3\n4\n");
    let resumed = [&arguments[..], &["--resume"]].concat();
    let (status, _, messages) = files.run("encrypt", "public", &resumed);
    assert!(status == Some(2) && messages.contains("does not begin with"), "{messages}");
    files.write("table.csv", "n\n1\n2\n3\n4\n");
    let other = [&resumed[..], &["--exponent=-1"]].concat();
    let (status, _, messages) = files.run("encrypt", "public", &other);
    assert!(status == Some(2) && messages.contains("exponent"), "{messages}");
    let (status, _, messages) = files.run("encrypt", "public", &resumed);
    assert_eq!(status, Some(0), "{messages}");
    assert!(messages.starts_with("resuming after row 3\n"), "{messages}");
    let (_, decrypted, _) = files.run("decrypt", "key", &[&output, "-cn"]);
    assert_eq!(decrypted, "n\n1\n2\n3\n4\n");
}
