//! The kernels, compiled by nvcc into fatbins.
//!
//! - `GPUINT_NVCC`: the compiler, or `none`; without it, nvcc is looked for in `CUDA_HOME`,
//!   `CUDA_PATH`, `PATH` and `/usr/local/cuda`
//! - `GPUINT_ARCHS`: what fatbins hold, a list of `sm_NN` (code; `sm_90a`: with the instructions that
//!   only GPUs of compute capability 9.0 have) and `compute_NN` (PTX)
//! - `GPUINT_NVCC_FLAGS`: more options

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use gpuint_catalogue::{Kernel, translation_unit};

use crate::images::Image;
use crate::{Build, Result, path_variable, variable, write};

/// Shapes per translation unit: a unit costs half a second of its own, and units are compiled side
/// by side.
const SHAPES_PER_UNIT: usize = 2;
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
/// Cargo looks at every file of a folder that is watched, before every build, so large ones are left
/// out; a file that does not exist cannot be watched, as cargo takes it for changed each time.
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
pub(crate) fn build(nvcc: &Path, build: &Build, out: &Path) -> Result<Vec<Image>> {
    println!("cargo::rerun-if-changed={}", nvcc.display());
    let options = options()?;
    let shapes: Vec<_> = build.catalogue.shapes().collect();
    let mut units = Vec::new();
    for (unit, shapes) in shapes.chunks(SHAPES_PER_UNIT).enumerate() {
        let entries = build.kernels(shapes);
        let source = format!("cuda_{unit}.cu");
        write(out, &source, &translation_unit(entries.iter().copied()))?;
        let path = out.join(format!("cuda_{unit}.fatbin"));
        let kernels = entries.iter().map(Kernel::name).collect();
        units.push((out.join(source), Image { path, kernels }));
    }
    // The widest shapes, whose kernels take longest, are last: they start first.
    units.reverse();
    in_parallel(&units, |(source, image)| compile(nvcc, &options, source, &image.path))?;
    Ok(units.into_iter().map(|(_, image)| image).collect())
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
    let output = command.output().map_err(|error| {
        format!("{}: {error} (GPUINT_NVCC=none builds without nvcc)", nvcc.display())
    })?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "nvcc failed ({}; GPUINT_NVCC=none builds without nvcc):\n{command:?}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    ))
}

/// Does a job for every item, as many at a time as cargo allows; the first failure is returned.
fn in_parallel<I: Sync>(items: &[I], job: impl Fn(&I) -> Result + Sync) -> Result {
    let workers =
        env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(1).min(items.len());
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(reason) = job(item) {
                next.store(items.len(), Ordering::Relaxed);
                return Err(reason);
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| "a build thread panicked")?)
    })
}
