//! Expands `kernels/catalogue.toml` and the tuning tables: the Rust implementations of `Kernels`,
//! the tables of the library, the translation units, and, where nvcc is there, the kernels
//! themselves.
//!
//! - `GPUINT_CATALOGUE`: `default` or `all` shapes of the catalogue
//! - `GPUINT_KERNELS`: `auto` or `all` kernels are compiled by nvcc (build/selection.rs)
//! - `GPUINT_SHAPES`: more shapes, `BITS:Q:DIGIT` separated by commas

mod cache;
mod images;
mod library;
mod nvcc;
mod parallel;
mod resources;
mod selection;
mod tuning;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use gpuint_catalogue::auto::SharedBytes;
use gpuint_catalogue::{Catalogue, Entry, headers, translation_unit};

/// The reason why a build ends, for the user.
type Result<T = ()> = std::result::Result<T, String>;

/// Inputs and settings of the build.
struct Build {
    catalogue: Catalogue,
    /// The tables, the one of the build first.
    tables: Vec<tuning::Tuning>,
    resources: resources::Resources,
}

impl Build {
    fn load() -> Result<Self> {
        let all = match variable("GPUINT_CATALOGUE").as_deref() {
            None | Some("default") => false,
            Some("all") => true,
            Some(other) => {
                return Err(format!("GPUINT_CATALOGUE: \"{other}\" is neither default nor all"));
            }
        };
        let more = variable("GPUINT_SHAPES").unwrap_or_default();
        let mut catalogue = Catalogue::read(Path::new("."), all, &more)?;
        let tables = tuning::load(&catalogue)?;
        catalogue.set_blocks(&tables[0].table);
        Ok(Self { catalogue, tables, resources: resources::Resources::read()? })
    }

    /// Shared memory of the blocks that have more than every GPU has.
    fn shared_bytes(&self) -> Vec<SharedBytes> {
        const COMMON: u32 = 48 << 10;
        let mut shared = Vec::new();
        for (index, row) in self.catalogue.rows().enumerate() {
            for shape in self.catalogue.shapes().filter(|&shape| row.is_offered(shape)) {
                let bytes = self.resources.shared_bytes(&row, shape);
                if bytes.iter().any(|&bytes| bytes > COMMON) {
                    shared.push((index, shape, bytes));
                }
            }
        }
        shared
    }

    /// The kernels of the shapes and those of long rows.
    fn entries(&self) -> Vec<Entry<'_>> {
        let kernels = self.catalogue.kernels().map(Entry::from);
        kernels.chain(self.catalogue.long_kernels().map(Entry::from)).collect()
    }
}

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
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=kernels");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let build = Build::load()?;
    write(&out, "shapes.rs", &library::shapes(&build.catalogue))?;
    write(&out, "catalogue.rs", &library::catalogue(&build))?;
    write(&out, "tuning.rs", &library::tuning(&build.tables))?;
    // For the checks of kernels by themselves: tests/sanitize.
    write(&out, "kernels.cu", &translation_unit(build.entries()))?;

    // A documentation build has no compilers.
    let documentation = variable("DOCS_RS").is_some();
    let headers = headers(Path::new("kernels"))?;
    let images = match nvcc::find() {
        Some(nvcc) if !documentation => nvcc::build(&nvcc, &build, &headers, &out)?,
        _ => {
            println!(
                "cargo::warning=nvcc was not found or is switched off: CUDA kernels will be \
                 compiled at run time, which needs NVRTC"
            );
            Vec::new()
        }
    };
    write(&out, "images.rs", &images::rust(headers.iter().map(|(name, _)| &**name), &images))
}

/// Writes a generated file.
fn write(out: &Path, name: &str, text: &str) -> Result {
    let path = out.join(name);
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// An environment variable that changes the build; `None` where it is unset or empty.
fn variable(name: &str) -> Option<String> {
    // Text that is not UTF-8 is refused by whoever parses it, and not taken for unset.
    path_variable(name).map(|value| value.to_string_lossy().into_owned())
}

/// [`variable`], of any characters.
fn path_variable(name: &str) -> Option<OsString> {
    println!("cargo::rerun-if-env-changed={name}");
    env::var_os(name).filter(|value| !value.is_empty())
}
