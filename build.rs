//! Expands `kernels/catalogue.toml` and a tuning table: the Rust implementations of `Kernels`, what
//! `Auto` takes, the translation units, and, where the compilers are there, the kernels themselves.
//!
//! - `GPUINT_TUNING`: the tuning table, `tuning/h200.toml` by default (docs/tuning.md)

#[path = "build/catalogue.rs"]
mod catalogue;
#[path = "src/codegen.rs"]
mod codegen;
#[path = "build/images.rs"]
mod images;
#[path = "build/nvcc.rs"]
mod nvcc;
#[cfg(feature = "simt")]
#[path = "build/simt.rs"]
mod simt;
#[path = "build/tuning.rs"]
mod tuning;

use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

use catalogue::Catalogue;

/// What ends a build: words for the user.
type Result<T = ()> = std::result::Result<T, String>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            for line in reason.lines() {
                println!("cargo::error={line}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=src/codegen.rs");
    println!("cargo::rerun-if-changed=kernels");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let catalogue = Catalogue::load()?;
    write(&out, "catalogue.rs", &catalogue.rust())?;
    write(&out, "tuning.rs", &catalogue.tuning.table.rust())?;
    // For the tests: what the file above was made of.
    write(&out, "tuning.toml", &catalogue.tuning.text)?;

    // A documentation build has no compilers.
    let documentation = variable("DOCS_RS").is_some();
    let images = match nvcc::find() {
        Some(nvcc) if !documentation => nvcc::build(&nvcc, &catalogue, &out)?,
        _ => {
            println!(
                "cargo::warning=nvcc was not found or is switched off: CUDA kernels will be compiled at run time, which needs NVRTC"
            );
            Vec::new()
        }
    };
    #[cfg(feature = "simt")]
    if !documentation {
        simt::build(&catalogue, &out)?;
    }
    write(&out, "images.rs", &images::rust(&images::headers()?, &images))
}

/// Writes a generated file.
fn write(out: &std::path::Path, name: &str, text: &str) -> Result {
    let path = out.join(name);
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// An environment variable that changes the build; `None` where it is unset or empty.
fn variable(name: &str) -> Option<String> {
    println!("cargo::rerun-if-env-changed={name}");
    env::var(name).ok().filter(|value| !value.is_empty())
}
