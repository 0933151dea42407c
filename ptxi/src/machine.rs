//! A device: memory, and launches of a module's kernels on it.

use crate::block::Random;
use crate::checks::Checks;
use crate::counts::{Counts, Tally};
use crate::error::{Error, FaultKind};
use crate::exec::{Barriers, Env};
use crate::instr::Program;
use crate::memory::{DeviceMemory, base};
use crate::module::Module;
use crate::shared::SharedMemory;
use crate::warp::Place;

/// Dynamic plus static shared memory of a block, as on the largest GPUs.
const MAX_SHARED: u64 = 227 * 1024;
/// Content of fresh device memory.
const POISON: u8 = 0xcd;

/// A module loaded onto a device of its own.
#[derive(Debug)]
pub struct Machine<'m> {
    module: &'m Module,
    memory: DeviceMemory,
}

/// A buffer in the memory of one machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Buffer {
    index: usize,
    len: usize,
}

impl Buffer {
    /// The device address of the first byte: what a kernel takes as a pointer.
    #[must_use]
    pub fn address(self) -> u64 {
        base(self.index)
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(self) -> usize {
        self.len
    }

    /// Returns true if the buffer has no bytes.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// Launch configuration of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Launch {
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z; 1024 at most together.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// 0: warps run in order, each until it has to wait. Otherwise the seed of a random
    /// schedule that switches warps every few instructions.
    pub seed: u64,
    /// Warp instructions after which a launch is given up (against endless loops).
    pub limit: u64,
    /// Checks of the launch.
    pub checks: Checks,
    /// True if the launch is traced: 24 bytes for each warp instruction.
    pub traced: bool,
}

impl Launch {
    /// A one-dimensional launch in order, with the default checks and no limit to speak of.
    #[must_use]
    pub fn new(blocks: u32, threads: u32) -> Launch {
        Launch {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            dynamic_shared: 0,
            seed: 0,
            limit: u64::MAX,
            checks: Checks::default(),
            traced: false,
        }
    }

    /// The same with so many bytes of dynamic shared memory.
    #[must_use]
    pub fn dynamic_shared(self, bytes: u32) -> Launch {
        Launch { dynamic_shared: bytes, ..self }
    }

    /// The same with this schedule seed.
    #[must_use]
    pub fn seed(self, seed: u64) -> Launch {
        Launch { seed, ..self }
    }

    /// The same with these checks.
    #[must_use]
    pub fn checks(self, checks: Checks) -> Launch {
        Launch { checks, ..self }
    }

    /// The same with a trace, or without one.
    #[must_use]
    pub fn traced(self, traced: bool) -> Launch {
        Launch { traced, ..self }
    }

    /// The same with this limit of warp instructions.
    #[must_use]
    pub fn limit(self, limit: u64) -> Launch {
        Launch { limit, ..self }
    }
}

impl<'m> Machine<'m> {
    /// A device with the module's variables in their initial state.
    #[must_use]
    pub fn new(module: &'m Module) -> Machine<'m> {
        let mut memory = DeviceMemory::default();
        for global in module.storage() {
            // The parser bounds their size; too many of them fail at their first use.
            let _ = memory.add(global.bytes.clone(), global.constant);
        }
        Machine { module, memory }
    }

    fn add(&mut self, bytes: Vec<u8>) -> Result<Buffer, Error> {
        let len = bytes.len();
        match self.memory.add(bytes, false) {
            Some(index) => Ok(Buffer { index, len }),
            None => Err(Error::launch("too many or too large buffers")),
        }
    }

    /// A new buffer of `len` bytes, filled with a pattern that is not zero.
    ///
    /// # Errors
    /// [`Error::Launch`] beyond 2^20 buffers or 2^36 bytes.
    pub fn alloc(&mut self, len: usize) -> Result<Buffer, Error> {
        self.add(vec![POISON; len])
    }

    /// A new buffer with these contents.
    ///
    /// # Errors
    /// As [`Machine::alloc`].
    pub fn alloc_from(&mut self, bytes: &[u8]) -> Result<Buffer, Error> {
        self.add(bytes.to_vec())
    }

    /// The contents of a buffer; empty for a buffer of another machine.
    #[must_use]
    pub fn read(&self, buffer: Buffer) -> &[u8] {
        self.memory.get(buffer.index).map_or(&[], |s| &s.bytes)
    }

    /// The contents, to change them.
    pub fn write(&mut self, buffer: Buffer) -> &mut [u8] {
        match self.memory.get_mut(buffer.index) {
            Some(s) => &mut s.bytes,
            None => &mut [],
        }
    }

    /// The buffer that holds a `.global` or `.const` variable.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<Buffer> {
        let globals = self.module.storage();
        let index = globals.iter().position(|g| g.name == name)?;
        let len = globals[index].bytes.len();
        Some(Buffer { index, len })
    }

    /// Runs a kernel to its end and returns what it executed. `params` are the bytes of
    /// the parameters as the kernel declares them, one behind the other at their alignments.
    ///
    /// Blocks run one after the other, x fastest, so a block that waits for a later one
    /// waits for ever (until [`Launch::limit`]).
    ///
    /// # Errors
    /// [`Error::UnknownKernel`], [`Error::Launch`] where the launch does not fit the
    /// kernel, [`Error::Fault`] where the kernel fails a check. Memory then holds what the
    /// kernel had written until there.
    pub fn run(&mut self, kernel: &str, launch: &Launch, params: &[u8]) -> Result<Counts, Error> {
        let program = self.module.program(kernel)?;
        validate(program, launch, params)?;
        let mut shared = SharedMemory::default();
        let mut tally = Tally::new(program.code.len());
        let mut random = (launch.seed != 0).then_some(Random(launch.seed));
        let mut env = Env {
            program,
            memory: &mut self.memory,
            shared: &mut shared,
            params,
            tally: &mut tally,
            checks: launch.checks,
            place: Place {
                grid: launch.grid,
                block: launch.block,
                index: [0; 3],
                dynamic_shared: launch.dynamic_shared,
            },
            barriers: Barriers::default(),
            budget: launch.limit,
            traced: launch.traced,
        };
        let [x, y, z] = launch.grid;
        for k in 0..z {
            for j in 0..y {
                for i in 0..x {
                    env.place.index = [i, j, k];
                    let result = env.run_block(random.as_mut());
                    result.map_err(|e| with_limit(e, launch.limit))?;
                }
            }
        }
        Ok(tally.finish(program))
    }
}

/// Fills in the limit, which the running warp does not know.
fn with_limit(mut error: Error, full: u64) -> Error {
    if let Error::Fault(fault) = &mut error
        && let FaultKind::InstructionLimit { limit } = &mut fault.kind
    {
        *limit = full;
    }
    error
}

fn validate(program: &Program, launch: &Launch, params: &[u8]) -> Result<(), Error> {
    let want = program.param_bytes as usize;
    if params.len() != want {
        let what = format!("{} bytes of parameters, the kernel takes {want}", params.len());
        return Err(Error::launch(what));
    }
    if launch.grid.contains(&0) || launch.block.contains(&0) {
        return Err(Error::launch("an empty grid or block"));
    }
    let threads = launch.block.iter().fold(1u64, |product, &n| product.saturating_mul(n.into()));
    let most = program.max_threads.unwrap_or(1024).min(1024);
    if launch.block.iter().any(|&n| n > 1024) || threads > most {
        let what = format!("{threads} threads per block, at most {most}");
        return Err(Error::launch(what));
    }
    let shared = u64::from(program.shared_bytes) + u64::from(launch.dynamic_shared);
    if shared > MAX_SHARED {
        let what = format!("{shared} bytes of shared memory, at most {MAX_SHARED}");
        return Err(Error::launch(what));
    }
    Ok(())
}

/// Builds parameter bytes one value after the other, each at its natural alignment.
#[derive(Clone, Default, Debug)]
pub struct Params {
    bytes: Vec<u8>,
}

impl Params {
    /// No parameters yet.
    #[must_use]
    pub fn new() -> Params {
        Params::default()
    }

    /// Appends bytes at a multiple of `align`.
    #[must_use]
    pub fn bytes(mut self, align: usize, bytes: &[u8]) -> Params {
        let at = self.bytes.len().next_multiple_of(align.max(1));
        self.bytes.resize(at, 0);
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Appends a `u32`.
    #[must_use]
    pub fn u32(self, value: u32) -> Params {
        self.bytes(4, &value.to_le_bytes())
    }

    /// Appends a `u64`.
    #[must_use]
    pub fn u64(self, value: u64) -> Params {
        self.bytes(8, &value.to_le_bytes())
    }

    /// Appends a pointer to a buffer.
    #[must_use]
    pub fn buffer(self, buffer: Buffer) -> Params {
        self.u64(buffer.address())
    }

    /// The bytes so far.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}
