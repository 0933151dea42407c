//! Kernels as nvcc compiles them, run by the PTX interpreter.
//!
//! nvcc is `GPUINT_NVCC` (or not wanted: `none`), or in `CUDA_HOME`, `CUDA_PATH`, `PATH`,
//! `/usr/local/cuda`, or where `scripts/cuda-toolchain` puts it. PTX is kept in the target folder
//! under the hash of all that it is made of.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

use gpuint::num_bigint::BigUint;
use ptxi::{Buffer, Checks, Counts, Launch, Machine, Module, Params};
use sha2::{Digest, Sha256};

use crate::codegen::{Entry, Task, translation_unit};

/// The newest architecture of the default build: what is measured is code for Hopper.
const VIRTUAL_ARCHITECTURE: &str = "compute_90";
/// Where the scripts, the headers and the catalogue are.
pub(crate) const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What ends a run: words for the user.
pub(crate) type Result<T> = std::result::Result<T, String>;

/// nvcc, or the reason why there is none.
pub(crate) fn nvcc() -> Result<PathBuf> {
    if let Some(nvcc) = env::var_os("GPUINT_NVCC").filter(|nvcc| !nvcc.is_empty()) {
        return if nvcc == "none" { Err("GPUINT_NVCC=none".into()) } else { Ok(nvcc.into()) };
    }
    let mut folders = Vec::new();
    for name in ["CUDA_HOME", "CUDA_PATH"] {
        folders.extend(env::var_os(name).map(|home| Path::new(&home).join("bin")));
    }
    folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    folders.push("/usr/local/cuda/bin".into());
    folders.push(Path::new(ROOT).join("target/cuda-toolchain/nvidia/cu13/bin"));
    let file = format!("nvcc{}", env::consts::EXE_SUFFIX);
    let found = folders.into_iter().map(|folder| folder.join(&file)).find(|path| path.is_file());
    found.ok_or_else(|| {
        "no nvcc in CUDA_HOME, CUDA_PATH, PATH, /usr/local/cuda or target/cuda-toolchain \
         (scripts/cuda-toolchain installs it there)"
            .into()
    })
}

/// The kernels of the catalogue.
pub(crate) fn tasks() -> Result<Vec<Task<'static>>> {
    static CATALOGUE: OnceLock<Result<toml::Table>> = OnceLock::new();
    let read = || {
        let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/catalogue.toml"));
        text.parse().map_err(|error: toml::de::Error| error.to_string())
    };
    let catalogue = CATALOGUE.get_or_init(read).as_ref().map_err(String::clone)?;
    let mut tasks = Vec::new();
    for (operations, per_width) in [("operations", false), ("width_operations", true)] {
        let operations = catalogue.get(operations).and_then(toml::Value::as_table);
        for (name, value) in operations.ok_or("the catalogue has no operations")? {
            let template = value.get("template").unwrap_or(value).as_str();
            let template = template.ok_or_else(|| format!("{name}: not a template"))?;
            let number = |key: &str, otherwise| {
                let number = value.get(key).and_then(toml::Value::as_integer);
                number.map_or(otherwise, |number| number as usize)
            };
            let powers_of_two = value.get("powers_of_two").and_then(toml::Value::as_bool);
            tasks.push(Task {
                name,
                template,
                per_width,
                limbs: number("limbs", 0),
                to_bits: number("to_bits", 0),
                step: number("step", 1),
                powers_of_two: powers_of_two.unwrap_or(false),
            });
        }
    }
    Ok(tasks)
}

/// A compiled translation unit.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// The text, as it is in `path`.
    pub(crate) text: String,
    /// Where it is kept.
    pub(crate) path: PathBuf,
    pub(crate) module: Module,
}

/// Compiles some kernels to PTX by nvcc with more options, or reads what was compiled before from
/// the same text.
pub(crate) fn compile(nvcc: &Path, entries: &[Entry<'_>], options: &[&str]) -> Result<Compiled> {
    let unit = translation_unit(entries.iter().copied());
    let headers = Path::new(ROOT).join("kernels");
    let mut hash = Sha256::new();
    for part in [unit.as_bytes(), nvcc.as_os_str().as_encoded_bytes()] {
        hash.update(part);
    }
    hash.update(options.join(" "));
    let unreadable = |error: std::io::Error| format!("kernels: {error}");
    let mut files = Vec::new();
    let mut folders = vec![headers.clone()];
    while let Some(folder) = folders.pop() {
        for file in fs::read_dir(&folder).map_err(unreadable)? {
            let path = file.map_err(unreadable)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "cuh") {
                files.push(path);
            }
        }
    }
    files.sort();
    for file in files {
        hash.update(fs::read(file).map_err(unreadable)?);
    }
    let hash: String = hash.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{hash}.ptx"));
    if !path.is_file() {
        let source = path.with_extension("cu");
        fs::write(&source, unit).map_err(|error| format!("{}: {error}", source.display()))?;
        let mut command = Command::new(nvcc);
        command.args(["-ptx", "-std=c++17", "-arch", VIRTUAL_ARCHITECTURE, "-DGPUINT_NO_CLUSTERS"]);
        command.arg("-I").arg(headers);
        output_into(command.args(options).arg(source), &path)?;
    }
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let module = Module::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Compiled { text, path, module })
}

/// Runs a command that writes a file; the file is there only if the command succeeds.
pub(crate) fn output_into(command: &mut Command, file: &Path) -> Result<()> {
    let unfinished = file.with_extension(format!("{}.new", std::process::id()));
    let output = command.arg("-o").arg(&unfinished).output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{command:?}: {}\n{words}", output.status));
    }
    fs::rename(&unfinished, file).map_err(|error| format!("{}: {error}", file.display()))
}

/// The constants beside a kernel: `Facts` of kernels/core/abi.cuh.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    /// Threads of a block.
    pub(crate) threads: u32,
    shared_bytes: u32,
    /// Rows that a block takes at a time.
    pub(crate) rows_per_block: u32,
    scratch_bytes: u32,
}

impl Facts {
    pub(crate) fn read(module: &Module, kernel: &str) -> Result<Self> {
        let bytes = module.global(&format!("{kernel}_facts"));
        let bytes = bytes.ok_or_else(|| format!("{kernel}: has no facts"))?;
        let word = |index: usize| -> Result<u32> {
            let word = bytes.get(4 * index..).and_then(<[u8]>::first_chunk);
            word.map(|word| u32::from_le_bytes(*word)).ok_or(format!("{kernel}: short facts"))
        };
        Ok(Self {
            threads: word(0)?,
            shared_bytes: word(1)?,
            rows_per_block: word(2)?,
            scratch_bytes: word(3)?,
        })
    }
}

/// Rows of numbers.
pub(crate) fn bytes_of<'a>(values: impl Iterator<Item = &'a BigUint>, bits: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        let end = bytes.len() + bits / 8;
        bytes.extend(value.to_bytes_le());
        bytes.resize(end, 0);
    }
    bytes
}

/// What a kernel is given, in bytes: `Operands` of kernels/core/abi.cuh.
#[derive(Debug, Clone, Default)]
pub(crate) struct Operands {
    /// Rows, or nothing where the pointer is null.
    pub(crate) inputs: [Vec<u8>; 3],
    /// Bytes of the results; 0 where the pointer is null.
    pub(crate) outputs: [usize; 2],
    pub(crate) rows: usize,
    /// Whether one bit a row is wanted.
    pub(crate) mask: bool,
    pub(crate) scalar: i64,
}

/// What it leaves.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) outputs: [Vec<u8>; 2],
    mask: Vec<u8>,
    /// The lowest row that failed; all ones if none did.
    pub(crate) status: u64,
    pub(crate) counts: Counts,
}

impl Outcome {
    /// The bit of a row; false where no mask was wanted.
    pub(crate) fn is_marked(&self, row: usize) -> bool {
        self.mask.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1)
    }
}

/// How a kernel is launched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct How {
    /// Blocks at most.
    pub(crate) max_grid: u32,
    /// 0: warps in order; else the seed of their order.
    pub(crate) seed: u64,
    pub(crate) checks: Checks,
}

/// Launches a kernel on memory of its own.
pub(crate) fn run(module: &Module, kernel: &str, given: &Operands, how: How) -> Result<Outcome> {
    let facts = Facts::read(module, kernel)?;
    let blocks = given.rows.div_ceil(facts.rows_per_block as usize);
    let grid = u32::try_from(blocks).unwrap_or(u32::MAX).clamp(1, how.max_grid);
    let launch = Launch::new(grid, facts.threads)
        .dynamic_shared(facts.shared_bytes)
        .seed(how.seed)
        .checks(how.checks);
    let scratch = grid as usize * facts.scratch_bytes as usize;
    launched(module, kernel, given, &launch, scratch).map_err(|error| format!("{kernel}: {error}"))
}

fn launched(
    module: &Module,
    kernel: &str,
    given: &Operands,
    launch: &Launch,
    scratch: usize,
) -> std::result::Result<Outcome, ptxi::Error> {
    let mut machine = Machine::new(module);
    let mut params = Params::new();
    let pointer = |buffer: Option<Buffer>| buffer.map_or(0, Buffer::address);
    for input in &given.inputs {
        let buffer = if input.is_empty() { None } else { Some(machine.alloc_from(input)?) };
        params = params.u64(pointer(buffer));
    }
    let mut outputs = [None; 2];
    for (output, &bytes) in outputs.iter_mut().zip(&given.outputs) {
        *output = if bytes == 0 { None } else { Some(machine.alloc(bytes)?) };
        params = params.u64(pointer(*output));
    }
    let mask_bytes = if given.mask { 4 * given.rows.div_ceil(32) } else { 0 };
    let mask = if given.mask { Some(machine.alloc_from(&vec![0; mask_bytes])?) } else { None };
    let status = machine.alloc_from(&[0xff; 8])?;
    params = params.u64(given.rows as u64).u64(pointer(mask)).buffer(status);
    let scratch = if scratch == 0 { None } else { Some(machine.alloc(scratch)?) };
    params = params.u64(given.scalar as u64).u64(pointer(scratch));
    let counts = machine.run(kernel, launch, params.as_bytes())?;
    let bytes = |buffer: Option<Buffer>| {
        buffer.map_or_else(Vec::new, |buffer| machine.read(buffer).to_vec())
    };
    let status = machine.read(status).first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    Ok(Outcome { outputs: outputs.map(bytes), mask: bytes(mask), status, counts })
}
