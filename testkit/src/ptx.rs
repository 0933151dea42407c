//! Runs kernels, as nvcc compiles them, in the PTX interpreter.
//!
//! nvcc is `GPUINT_NVCC` (`none` disables it), or is found in `CUDA_HOME`, `CUDA_PATH`, `PATH` or
//! `/usr/local/cuda`, or in the folder of `scripts/cuda-toolchain`. PTX is kept under the hash of
//! its inputs in the folder `ptx` of the cache, for all target folders.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

use ptxi::{Buffer, Checks, Counts, Launch, Machine, Module};

use crate::launch::{Grids, Operands, Outcome};
use crate::skip::is_required;
use gpuint_catalogue::cache::{Cache, Key};
use gpuint_catalogue::{Architecture, Catalogue, Entry, translation_unit};

/// Options of every unit, beside the architecture.
const OPTIONS: &[&str] = &["-ptx", "-std=c++17", "-DGPUINT_NO_CLUSTERS"];
/// Maximum bytes of kept PTX.
const MAX_BYTES: u64 = 1 << 29;
/// Root of the package, with the scripts, the headers and the catalogue.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Folder for files of tests and benches, in the target folder of the running program.
pub fn scratch() -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    // target/PROFILE/deps/PROGRAM
    let target = program.ancestors().nth(3).map_or_else(env::temp_dir, Path::to_owned);
    target.join("tmp")
}

/// Reason why a run ended, as a message.
pub type Result<T> = std::result::Result<T, String>;

/// nvcc, or the reason why there is none.
pub fn nvcc() -> Result<PathBuf> {
    let variable = |name: &str| {
        let value = env::var_os(name).filter(|value| !value.is_empty());
        // The library is built without nvcc; if the tests of PTX are required, they use another
        // one.
        value.filter(|value| name != "GPUINT_NVCC" || value != "none" || !is_required("nvcc"))
    };
    let installed = Path::new(ROOT).join("target/cuda-toolchain/nvidia/cu13/bin");
    gpuint_catalogue::nvcc::find(variable, &[installed])
        .map_err(|reason| format!("{reason} (scripts/cuda-toolchain installs it)"))
}

/// The catalogue of the package.
pub fn catalogue() -> Result<&'static Catalogue> {
    static CATALOGUE: OnceLock<Result<Catalogue>> = OnceLock::new();
    let read = || Catalogue::read(Path::new(ROOT), false, "");
    CATALOGUE.get_or_init(read).as_ref().map_err(String::clone)
}

/// A compiled translation unit.
#[derive(Debug)]
pub struct Compiled {
    /// Text of the PTX, as in `path`.
    pub text: String,
    /// File of the PTX.
    pub path: PathBuf,
    pub module: Module,
}

/// Compiles some kernels to PTX for a compute capability by nvcc with further options, or reads the
/// result of an earlier compilation of the same text.
pub fn compile<'a>(
    nvcc: &Path,
    capability: u32,
    kernels: impl IntoIterator<Item: Into<Entry<'a>>>,
    options: &[&str],
) -> Result<Compiled> {
    let unit = translation_unit(kernels);
    let headers = Path::new(ROOT).join("kernels");
    let version = output(Command::new(nvcc).arg("--version"))?;
    let architecture = format!("-arch={}", Architecture::ptx_of(capability));
    let options = [OPTIONS, &[architecture.as_str()], options].concat();
    let mut texts = vec![version];
    texts.extend(options.iter().map(|&option| option.into()));
    let inputs = gpuint_catalogue::inputs(&unit, &gpuint_catalogue::headers(&headers)?);
    texts.extend(inputs.into_iter().map(String::into_bytes));
    let key = Key::new("ptx", texts);
    let folder = scratch();
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let name = String::from_utf8_lossy(key.as_ref()).into_owned();
    let path = folder.join(name).with_extension("ptx");
    let failed = |error| format!("{}: {error}", path.display());
    let cache = Cache::from_env(|name| env::var_os(name)).below("ptx");
    let make = || {
        let source = path.with_extension("cu");
        fs::write(&source, unit).map_err(|error| format!("{}: {error}", source.display()))?;
        let mut command = Command::new(nvcc);
        command.args(options).arg("-I").arg(headers).arg(source);
        output_into(&mut command, &path)?;
        fs::read(&path).map_err(failed)
    };
    // A cache that cannot be read or written fails no test.
    let content = cache.or_make(&key, MAX_BYTES, |_, _| {}, make)?;
    if !path.is_file() {
        let unfinished = unfinished(&path);
        fs::write(&unfinished, &content).map_err(failed)?;
        fs::rename(&unfinished, &path).map_err(failed)?;
    }
    let text =
        String::from_utf8(content).map_err(|error| format!("{}: {error}", path.display()))?;
    let module = Module::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Compiled { text, path, module })
}

/// Runs a command that writes a file; the file is there only if the command succeeds.
pub fn output_into(command: &mut Command, file: &Path) -> Result<()> {
    let unfinished = unfinished(file);
    output(command.arg("-o").arg(&unfinished))?;
    fs::rename(&unfinished, file).map_err(|error| format!("{}: {error}", file.display()))
}

/// The name of a file of this process while it is written.
fn unfinished(file: &Path) -> PathBuf {
    file.with_extension(format!("{}.new", std::process::id()))
}

/// Output of a command that succeeds.
fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{command:?}: {}\n{words}", output.status));
    }
    Ok(output.stdout)
}

/// The constants beside a kernel: `LaunchBounds` of kernels/core/abi.cuh.
#[derive(Debug, Clone, Copy)]
pub struct LaunchBounds {
    /// Threads of a block.
    pub threads: u32,
    shared_bytes: u32,
    /// Rows that a block processes at a time.
    pub rows_per_block: u32,
    scratch_bytes: u32,
    /// Bytes of the workspace for each row.
    row_bytes: u32,
    /// 1: the phase is one of a step.
    repeated: u32,
}

impl LaunchBounds {
    /// Reads the bounds of the first phase of a kernel.
    pub fn read(module: &Module, kernel: &str) -> Result<Self> {
        Ok(Self::of_phases(module, kernel)?[0])
    }

    /// Reads the bounds of all phases of a kernel; there is one at least.
    fn of_phases(module: &Module, kernel: &str) -> Result<Vec<Self>> {
        const WORDS: usize = 8;
        let bytes = module.global(&format!("{kernel}_launch_bounds"));
        let bytes = bytes.ok_or_else(|| format!("{kernel}: has no bounds"))?;
        let phases = bytes.chunks_exact(4 * WORDS);
        if bytes.is_empty() || !phases.remainder().is_empty() {
            return Err(format!("{kernel}: bounds of {} bytes", bytes.len()));
        }
        let bounds = |phase: &[u8]| {
            let words = phase
                .chunks_exact(4)
                .map(|word| u32::from_le_bytes(word.try_into().expect("chunks have four bytes")));
            let words: Vec<u32> = words.collect();
            Self {
                threads: words[0],
                shared_bytes: words[1],
                rows_per_block: words[2],
                scratch_bytes: words[3],
                row_bytes: words[6],
                repeated: words[7],
            }
        };
        Ok(phases.map(bounds).collect())
    }
}

/// A finished launch.
#[derive(Debug)]
pub struct Run {
    pub outcome: Outcome,
    pub counts: Counts,
    /// The scratch memory as the kernel left it; bytes that it did not write are [`UNWRITTEN`].
    pub scratch: Vec<u8>,
}

/// Value of bytes that no kernel has written.
pub const UNWRITTEN: u8 = 0xcd;

/// Launch configuration of a kernel.
#[derive(Debug, Clone, Copy)]
pub struct How {
    /// Maximum number of blocks.
    pub max_grid: u32,
    /// Seed of the order of warps; 0 for ascending order.
    pub seed: u64,
    pub checks: Checks,
    /// True if the run is traced.
    pub traced: bool,
}

/// Launches a kernel on separate memory.
pub fn run(module: &Module, kernel: &str, given: &Operands, how: How) -> Result<Run> {
    let bounds = LaunchBounds::of_phases(module, kernel)?;
    let (mut launches, mut scratch) = (Vec::new(), 0);
    for bounds in &bounds {
        let blocks = given.rows.div_ceil(bounds.rows_per_block as usize);
        let grid = u32::try_from(blocks).unwrap_or(u32::MAX).clamp(1, how.max_grid);
        let launch = Launch::new(grid, bounds.threads)
            .dynamic_shared(bounds.shared_bytes)
            .seed(how.seed)
            .checks(how.checks)
            .traced(how.traced);
        launches.push(launch);
        let bases = given.params.bases.max(1);
        scratch = scratch.max(grid as usize * bounds.scratch_bytes as usize * bases);
    }
    let workspace = bounds[0].row_bytes as usize * given.rows;
    let repeated = bounds.iter().filter(|bounds| bounds.repeated != 0).count();
    let phases = launches.split_at(bounds.len() - repeated);
    launched(module, kernel, given, phases, [scratch, workspace])
        .map_err(|error| format!("{kernel}: {error}"))
}

/// Launches kernels with arguments of their own. Returns the bytes of the memory that is a result.
pub fn run_grids(module: &Module, grids: &Grids, how: How) -> Result<Vec<Vec<u8>>> {
    let mut machine = Machine::new(module);
    let allocated = |memory: &crate::launch::Memory| match memory.content.is_empty() {
        true => machine.alloc(memory.bytes),
        false => machine.alloc_from(&memory.content),
    };
    let buffers = grids.memory.iter().map(allocated).collect::<std::result::Result<Vec<_>, _>>();
    let buffers = buffers.map_err(|error| error.to_string())?;
    for grid in &grids.launches {
        let bounds = LaunchBounds::read(module, &grid.kernel)?;
        let launch = Launch::new(grid.blocks, bounds.threads)
            .dynamic_shared(bounds.shared_bytes)
            .seed(how.seed)
            .checks(how.checks);
        let arguments = grid.arguments_at(|block| buffers[block].address());
        machine
            .run(&grid.kernel, &launch, &arguments)
            .map_err(|error| format!("{}: {error}", grid.kernel))?;
    }
    let results = grids.memory.iter().zip(&buffers).filter(|(memory, _)| memory.is_result);
    Ok(results.map(|(_, &buffer)| machine.read(buffer).to_vec()).collect())
}

/// Bytes of the counters of a kernel with several phases.
const COUNTERS: usize = 256;

fn launched(
    module: &Module,
    kernel: &str,
    given: &Operands,
    (first, step): (&[Launch], &[Launch]),
    sizes: [usize; 2],
) -> std::result::Result<Run, ptxi::Error> {
    let mut machine = Machine::new(module);
    let mut params = ptxi::Params::new();
    let pointer = |buffer: Option<Buffer>| buffer.map_or(0, Buffer::address);
    let mut factors = Vec::new();
    for factor in given.pairs.as_flattened() {
        factors.extend(machine.alloc_from(factor)?.address().to_le_bytes());
    }
    for (index, input) in given.inputs.iter().enumerate() {
        let input = if index == 0 && !factors.is_empty() { &factors } else { input };
        let buffer = if input.is_empty() { None } else { Some(machine.alloc_from(input)?) };
        params = params.u64(pointer(buffer));
    }
    let mut outputs = [None; 2];
    for ((output, &bytes), updated) in outputs.iter_mut().zip(&given.outputs).zip(&given.updated) {
        *output = match bytes {
            0 => None,
            _ if !updated.is_empty() => Some(machine.alloc_from(updated)?),
            _ => Some(machine.alloc(bytes)?),
        };
        params = params.u64(pointer(*output));
    }
    let mask_bytes = if given.mask { 4 * given.rows.div_ceil(32) } else { 0 };
    let mask = if given.mask { Some(machine.alloc_from(&vec![0; mask_bytes])?) } else { None };
    let status = machine.alloc_from(&[0xff; 8])?;
    let wanted = if given.without_status { None } else { Some(status) };
    params = params.u64(given.rows as u64).u64(pointer(mask)).u64(pointer(wanted));
    let mut memory = [None; 2];
    for (buffer, bytes) in memory.iter_mut().zip(sizes) {
        *buffer = if bytes == 0 { None } else { Some(machine.alloc(bytes)?) };
    }
    let [scratch, workspace] = memory;
    let counters = machine.alloc_from(&[0; COUNTERS])?;
    for word in given.params().as_chunks().0 {
        params = params.u64(u64::from_le_bytes(*word));
    }
    params = params.u64(pointer(scratch));
    params = params.u64(pointer(workspace)).buffer(counters);
    let mut counts = Counts::default();
    let mut run = |machine: &mut Machine<'_>, launches: &[Launch], phase: usize, step: u64| {
        for (index, launch) in launches.iter().enumerate() {
            let params = params.clone().u64((phase + index) as u64).u64(step);
            counts += machine.run(kernel, launch, params.as_bytes())?;
        }
        Ok(())
    };
    run(&mut machine, first, 0, 0)?;
    let steps = machine.read(counters).first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    for index in 0..if step.is_empty() { 0 } else { steps.into() } {
        run(&mut machine, step, first.len(), index)?;
    }
    let bytes = |buffer: Option<Buffer>| {
        buffer.map_or_else(Vec::new, |buffer| machine.read(buffer).to_vec())
    };
    let status = machine.read(status).first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let scratch = bytes(scratch);
    Ok(Run {
        outcome: Outcome { outputs: outputs.map(bytes), mask: bytes(mask), status },
        counts,
        scratch,
    })
}
