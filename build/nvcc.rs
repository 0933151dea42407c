//! The kernels, compiled by nvcc into fatbins.
//!
//! - `GPUINT_NVCC`: the compiler, or `none`; without it, nvcc is looked for in `CUDA_HOME`,
//!   `CUDA_PATH`, `PATH` and `/usr/local/cuda`
//! - `GPUINT_ARCHS`: content of fatbins, a list of `sm_NN` (code; `sm_NNa`: with the instructions
//!   and limits that only GPUs of this compute capability have) and `compute_NN` (PTX)
//! - `GPUINT_NVCC_FLAGS`: more options

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpuint_catalogue::auto::Gpu;
use gpuint_catalogue::cache::Key;
use gpuint_catalogue::{Architecture, Entry, inputs, translation_unit};

use crate::cache::{Cache, printed};
use crate::images::Image;
use crate::parallel::in_parallel;
use crate::{Build, Result, path_variable, selection, variable, write};

/// Maximum number of kernels per translation unit, all of one header: a unit costs half a second of
/// its own, and units are compiled side by side.
const KERNELS_PER_UNIT: usize = 8;

/// Returns the path of nvcc; `None` where there is none or it is not wanted.
pub(crate) fn find() -> Option<PathBuf> {
    let found = gpuint_catalogue::nvcc::find(path_variable, &[]);
    if found.is_err() && path_variable("GPUINT_NVCC").is_none() {
        watch(&gpuint_catalogue::nvcc::folders(path_variable));
    }
    found.ok()
}

/// Has the build run again when nvcc is installed in one of these folders, or PATH names others.
///
/// Cargo looks at every file of a folder that is watched, before every build, so large ones are
/// left out. A file that does not exist cannot be watched: cargo regards it as changed each time.
fn watch(folders: &[PathBuf]) {
    const MAX_FILES: usize = 5000;
    println!("cargo::rerun-if-env-changed=PATH");
    for folder in folders {
        let files = folder.read_dir().map_or(usize::MAX, |files| files.take(MAX_FILES).count());
        if files < MAX_FILES {
            println!("cargo::rerun-if-changed={}", folder.display());
        }
    }
}

/// Compiles the kernels that are embedded.
pub(crate) fn build(
    nvcc: &Path,
    build: &Build,
    headers: &[(String, String)],
    out: &Path,
) -> Result<Vec<Image>> {
    println!("cargo::rerun-if-changed={}", nvcc.display());
    let targets = targets()?;
    let options = options(&targets);
    let compiler = compiler(nvcc, &options)?;
    let cache = Cache::from_env();
    let mut by_header: BTreeMap<_, Vec<Entry<'_>>> = BTreeMap::new();
    let selected = selection::embedded(build, &capabilities(&targets))?;
    let long = build.catalogue.long_kernels().map(Entry::from);
    for entry in selected.into_iter().map(Entry::from).chain(long) {
        by_header.entry(entry.header).or_default().push(entry);
    }
    let mut chunks: Vec<_> =
        by_header.values().flat_map(|entries| entries.chunks(KERNELS_PER_UNIT)).collect();
    // The widest kernels take longest: they start first.
    chunks.sort_by_key(|chunk| Reverse(chunk.iter().map(|entry| entry.bits).max()));
    let mut units = Vec::new();
    for (unit, entries) in chunks.into_iter().enumerate() {
        let source = format!("cuda_{unit}.cu");
        let text = translation_unit(entries.iter().cloned());
        write(out, &source, &text)?;
        let inputs = inputs(&text, headers).into_iter().map(String::into_bytes);
        let key = Key::new("cuda", compiler.iter().cloned().chain(inputs));
        let path = out.join(format!("cuda_{unit}.fatbin"));
        let kernels = entries.iter().map(|entry| entry.name.clone()).collect();
        units.push((out.join(source), key, Image { path, kernels }));
    }
    in_parallel(&units, |(source, key, image)| {
        cache.or_make(key, &image.path, || compile(nvcc, &options, source, &image.path))
    })?;
    Ok(units.into_iter().map(|(.., image)| image).collect())
}

/// Everything but its own text and its headers that the image of a unit depends on: the compiler
/// and its options.
fn compiler(nvcc: &Path, options: &[String]) -> Result<Vec<Vec<u8>>> {
    let mut texts = vec![run(Command::new(nvcc).arg("--version"))?];
    for name in ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN"] {
        texts.push(path_variable(name).unwrap_or_default().into_encoded_bytes());
    }
    texts.extend(options.iter().map(|option| option.clone().into_bytes()));
    Ok(texts)
}

/// Part of a fatbin.
struct Target {
    /// True for code, false for PTX.
    is_code: bool,
    /// `90a`.
    name: String,
    /// Compute capability: 90 is 9.0.
    capability: u32,
}

/// Default of `GPUINT_ARCHS`: code for the architectures with policies of their own, and PTX for
/// everything newer, which does not have the features specific to the last of them.
fn default_targets() -> String {
    let mut targets: Vec<_> = Architecture::BASELINES.map(|it| it.code.to_owned()).into();
    targets.push(Architecture::ptx_of(Architecture::NEWEST.capability));
    targets.join(",")
}

/// Parses `GPUINT_ARCHS`.
fn targets() -> Result<Vec<Target>> {
    let list = variable("GPUINT_ARCHS").unwrap_or_else(default_targets);
    let parse = |text: &str| {
        let (kind, name) = text.split_once('_')?;
        let is_code = match kind {
            "sm" => true,
            "compute" => false,
            _ => return None,
        };
        let digits = name.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let capability = digits.parse().ok()?;
        Some(Target { is_code, name: name.to_owned(), capability })
    };
    let wrong = |text| format!("GPUINT_ARCHS: \"{text}\" is neither sm_NN nor compute_NN");
    list.split(',').map(str::trim).map(|text| parse(text).ok_or_else(|| wrong(text))).collect()
}

/// Compute capabilities of the GPUs that the fatbins are for: of each target, and, with PTX,
/// of the newer ones.
fn capabilities(targets: &[Target]) -> Vec<u32> {
    let mut capabilities: Vec<u32> = targets.iter().map(|it| it.capability).collect();
    let oldest_ptx = targets.iter().filter(|it| !it.is_code).map(|it| it.capability).min();
    capabilities.extend(
        Gpu::CAPABILITIES.into_iter().filter(|&it| oldest_ptx.is_some_and(|ptx| ptx <= it)),
    );
    capabilities
}

/// The options that do not depend on the unit.
fn options(targets: &[Target]) -> Vec<String> {
    let mut options: Vec<String> =
        ["-fatbin", "-std=c++17", "-Ikernels", "-Xfatbin=-compress-all"].map(String::from).into();
    options.extend(targets.iter().map(|Target { is_code, name, .. }| {
        let kind = if *is_code { "sm" } else { "compute" };
        format!("-gencode=arch=compute_{name},code={kind}_{name}")
    }));
    let more = variable("GPUINT_NVCC_FLAGS").unwrap_or_default();
    options.extend(more.split_whitespace().map(String::from));
    options
}

fn compile(nvcc: &Path, options: &[String], source: &Path, image: &Path) -> Result {
    let mut command = Command::new(nvcc);
    command.args(options).arg("-o").arg(image).arg(source);
    run(&mut command).map(drop)
}

/// [`printed`], with the remedy.
fn run(command: &mut Command) -> Result<Vec<u8>> {
    printed(command)
        .map_err(|error| format!("nvcc failed (GPUINT_NVCC=none builds without nvcc): {error}"))
}
