//! The kernels, compiled by nvcc into fatbins.
//!
//! - `GPUINT_NVCC`: the compiler, or `none`; without it, nvcc is looked for in `CUDA_HOME`,
//!   `CUDA_PATH`, `PATH` and `/usr/local/cuda`
//! - `GPUINT_ARCHS`: what fatbins hold, a list of `sm_NN` (code; `sm_90a`: with the instructions
//!   that only GPUs of compute capability 9.0 have) and `compute_NN` (PTX)
//! - `GPUINT_NVCC_FLAGS`: more options

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpuint_catalogue::cache::Key;
use gpuint_catalogue::{Kernel, inputs, translation_unit};

use crate::cache::{Cache, printed};
use crate::images::Image;
use crate::parallel::in_parallel;
use crate::{Build, Result, path_variable, variable, write};

/// Maximum number of kernels per translation unit, all of one header: a unit costs half a second of
/// its own, and units are compiled side by side.
const KERNELS_PER_UNIT: usize = 8;
/// What fatbins hold where GPUINT_ARCHS says nothing: code for A100 and H100/H200, and PTX for
/// everything newer, which does not have the instructions of `sm_90a`.
const ARCHITECTURES: &str = "sm_80,sm_90a,compute_90";

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
    const MOST_FILES: usize = 5000;
    println!("cargo::rerun-if-env-changed=PATH");
    for folder in folders {
        let files = folder.read_dir().map_or(usize::MAX, |files| files.take(MOST_FILES).count());
        if files < MOST_FILES {
            println!("cargo::rerun-if-changed={}", folder.display());
        }
    }
}

/// Compiles every kernel of the catalogue.
pub(crate) fn build(
    nvcc: &Path,
    build: &Build,
    headers: &[(String, String)],
    out: &Path,
) -> Result<Vec<Image>> {
    println!("cargo::rerun-if-changed={}", nvcc.display());
    let options = options()?;
    let compiler = compiler(nvcc, &options)?;
    let cache = Cache::from_env();
    let shapes: Vec<_> = build.catalogue.shapes().collect();
    let mut by_header: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for kernel in build.kernels(&shapes) {
        by_header.entry(kernel.row.header).or_default().push(kernel);
    }
    let mut chunks: Vec<_> =
        by_header.values().flat_map(|kernels| kernels.chunks(KERNELS_PER_UNIT)).collect();
    // The widest kernels take longest: they start first.
    chunks.sort_by_key(|chunk| Reverse(chunk.iter().map(|kernel| kernel.shape.bits).max()));
    let mut units = Vec::new();
    for (unit, entries) in chunks.into_iter().enumerate() {
        let source = format!("cuda_{unit}.cu");
        let text = translation_unit(entries.iter().copied());
        write(out, &source, &text)?;
        let inputs = inputs(&text, headers).into_iter().map(String::into_bytes);
        let key = Key::new("cuda", compiler.iter().cloned().chain(inputs));
        let path = out.join(format!("cuda_{unit}.fatbin"));
        let kernels = entries.iter().map(Kernel::name).collect();
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

/// The options that do not depend on the unit.
fn options() -> Result<Vec<String>> {
    let mut options: Vec<String> =
        ["-fatbin", "-std=c++17", "-Ikernels", "-Xfatbin=-compress-all"].map(String::from).into();
    let architectures = variable("GPUINT_ARCHS").unwrap_or_else(|| ARCHITECTURES.to_owned());
    for architecture in architectures.split(',').map(str::trim) {
        let virtual_one = match architecture.split_once('_') {
            Some(("sm" | "compute", name)) if name.starts_with(|c: char| c.is_ascii_digit()) => {
                format!("compute_{name}")
            }
            _ => {
                return Err(format!(
                    "GPUINT_ARCHS: \"{architecture}\" is neither sm_NN nor compute_NN"
                ));
            }
        };
        options.push(format!("-gencode=arch={virtual_one},code={architecture}"));
    }
    let more = variable("GPUINT_NVCC_FLAGS").unwrap_or_default();
    options.extend(more.split_whitespace().map(String::from));
    Ok(options)
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
