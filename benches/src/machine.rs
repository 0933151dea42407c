//! Machine, commit and date of a measurement.

use std::fs;
use std::num::NonZeroUsize;
use std::process::Command;
use std::thread;

use gpuint::{BackendKind, Device};
use jiff::Timestamp;

/// Description of the device.
#[derive(Debug)]
pub struct Machine {
    pub device: String,
    pub backend: BackendKind,
    /// Version of NVIDIA's driver.
    pub driver: String,
    pub processor: String,
    pub date: String,
    pub commit: String,
}

impl Machine {
    pub fn of(device: &Device, commit: Option<String>) -> Self {
        Self {
            device: device.to_string(),
            backend: device.backend(),
            driver: driver().unwrap_or_else(|| "none".to_owned()),
            processor: processor(),
            date: Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string(),
            commit: commit.or_else(described).unwrap_or_else(|| "unknown".to_owned()),
        }
    }

    pub fn is_gpu(&self) -> bool {
        self.backend == BackendKind::Cuda
    }
}

/// First version number in the kernel module's text.
fn driver() -> Option<String> {
    let text = fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let is_version =
        |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    text.split_whitespace().find(is_version).map(str::to_owned)
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("a processor of an unknown model", |(_, name)| name.trim());
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    format!("{model}, {cores} cores")
}

/// Commit of the sources.
fn described() -> Option<String> {
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--dirty"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = git.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
