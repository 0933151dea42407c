//! `gpuint info` and `gpuint bench`, as a user runs them.

use std::fmt::Write;
use std::fs;
use std::process::{Command, Output};

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
