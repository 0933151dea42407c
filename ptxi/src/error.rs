//! Errors: text that is not supported PTX
//! ([`Error::Parse`], [`Error::Unsupported`]), a launch that does not fit its
//! kernel ([`Error::Launch`]) and a fault of the running kernel ([`Fault`]).

use std::fmt;

use crate::types::Space;

/// Reason why a module could not be read, or a launch could not be started or finished.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The text is not well-formed PTX, or names something that is not there.
    Parse {
        /// Line of the PTX text, from 1.
        line: u32,
        /// The unexpected or missing text.
        what: String,
    },
    /// Well-formed, but an instruction, qualifier or directive outside the supported subset.
    Unsupported {
        /// Line of the PTX text, from 1.
        line: u32,
        /// The full opcode or directive.
        what: String,
    },
    /// No kernel of this name in the module.
    UnknownKernel {
        /// The name asked for.
        name: String,
    },
    /// The launch does not fit the kernel (parameter bytes, block size, buffers).
    Launch {
        /// The mismatch.
        what: String,
    },
    /// The kernel ran into one of the checks.
    Fault(Box<Fault>),
}

/// A fault of a running kernel, with the place where it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Kind of the fault.
    pub kind: FaultKind,
    /// Kernel name.
    pub kernel: String,
    /// Block index (x, y, z).
    pub block: [u32; 3],
    /// Thread index in the block (x, y, z): the lowest thread concerned.
    pub thread: [u32; 3],
    /// Line of the PTX text, from 1.
    pub line: u32,
    /// Full name of the instruction.
    pub opcode: String,
}

/// The kinds of faults.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access outside every buffer, or outside shared, local or parameter memory.
    OutOfBounds {
        /// State space of the access (generic addresses are resolved first).
        space: Space,
        /// Address in that space.
        address: u64,
        /// Bytes accessed.
        bytes: u32,
    },
    /// An address that is not a multiple of the size of the access.
    Misaligned {
        /// State space of the access.
        space: Space,
        /// Address in that space.
        address: u64,
        /// Bytes accessed (all elements of a vector).
        bytes: u32,
    },
    /// A store to constant or kernel parameter memory.
    ReadOnly {
        /// State space of the access.
        space: Space,
        /// Address in that space.
        address: u64,
    },
    /// A thread executes a `.sync` instruction whose member mask does not name it.
    LaneNotInMask {
        /// The member mask.
        mask: u32,
        /// The lane.
        lane: u32,
    },
    /// A shuffle reads from a lane that does not take part in it.
    InactiveSource {
        /// The lane read.
        source: u32,
        /// The lanes that take part.
        active: u32,
    },
    /// A whole-warp (`.aligned`) instruction is executed by part of the warp.
    NotConverged {
        /// The lanes that execute it.
        active: u32,
    },
    /// An aligned barrier is executed by part of the living threads of a warp.
    DivergentBarrier {
        /// The lanes at the barrier.
        active: u32,
        /// The lanes of the warp that have not exited.
        alive: u32,
    },
    /// A barrier number above 15, or a thread count that is no multiple of 32 or differs from that
    /// of others at the barrier.
    BadBarrier {
        /// Barrier number.
        barrier: u64,
        /// Thread count, 0 for the whole block.
        count: u64,
    },
    /// Threads wait for each other and none can go on.
    Deadlock {
        /// The waiting threads and their places.
        waiting: String,
    },
    /// A read of shared memory that no thread of this block has written.
    UninitialisedShared {
        /// Byte offset in the block's shared memory.
        offset: u64,
    },
    /// Two warps access the same shared byte, one of them writes, no barrier between.
    SharedRace {
        /// Byte offset in the block's shared memory.
        offset: u64,
        /// Order of the two accesses.
        race: Race,
        /// The other warp, where one is known (several readers are not told apart).
        other: Option<u32>,
    },
    /// A carry made by an addition is consumed by a subtraction, or the reverse.
    MixedCarry,
    /// A carry is consumed that no instruction of the same straight-line code has made.
    UndefinedCarry,
    /// A register is read before it was written (only with [`crate::Checks::registers`]).
    UndefinedRegister,
    /// `brx.idx` with an index outside its list.
    BranchIndex {
        /// The index.
        index: u32,
        /// Length of the list.
        targets: u32,
    },
    /// `trap` or `brkpt` was executed.
    Trap,
    /// The launch used up its [`crate::Launch::limit`].
    InstructionLimit {
        /// The limit in warp instructions.
        limit: u64,
    },
}

/// Kinds of two accesses that race; the earlier one is last in the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Race {
    /// A read after another warp's write.
    ReadAfterWrite,
    /// A write after another warp's write.
    WriteAfterWrite,
    /// A write after another warp's read.
    WriteAfterRead,
    /// A plain access after another warp's atomic.
    PlainAfterAtomic,
}

impl Error {
    pub(crate) fn parse(line: u32, what: impl Into<String>) -> Error {
        Error::Parse { line, what: what.into() }
    }

    pub(crate) fn unsupported(line: u32, what: impl Into<String>) -> Error {
        Error::Unsupported { line, what: what.into() }
    }

    pub(crate) fn launch(what: impl Into<String>) -> Error {
        Error::Launch { what: what.into() }
    }

    /// The kind of fault, where this is one.
    #[must_use]
    pub fn fault(&self) -> Option<&FaultKind> {
        match self {
            Error::Fault(f) => Some(&f.kind),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Parse { line, what } => write!(f, "PTX line {line}: {what}"),
            Error::Unsupported { line, what } => {
                write!(f, "PTX line {line}: not supported: {what}")
            }
            Error::UnknownKernel { name } => write!(f, "no kernel `{name}` in the module"),
            Error::Launch { what } => write!(f, "launch: {what}"),
            Error::Fault(fault) => fault.fmt(f),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: kernel {}, block {:?}, thread {:?}, PTX line {} ({})",
            self.kind, self.kernel, self.block, self.thread, self.line, self.opcode
        )
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::OutOfBounds { space, address, bytes } => {
                write!(f, "{bytes}-byte access out of bounds at {space} {address:#x}")
            }
            FaultKind::Misaligned { space, address, bytes } => {
                write!(f, "misaligned {bytes}-byte access at {space} {address:#x}")
            }
            FaultKind::ReadOnly { space, address } => {
                write!(f, "store to read-only {space} {address:#x}")
            }
            FaultKind::LaneNotInMask { mask, lane } => {
                write!(f, "lane {lane} is not in its own member mask {mask:#010x}")
            }
            FaultKind::InactiveSource { source, active } => write!(
                f,
                "shuffle reads lane {source}, which is not among its active lanes {active:#010x}"
            ),
            FaultKind::NotConverged { active } => {
                write!(f, "whole-warp instruction executed by lanes {active:#010x}")
            }
            FaultKind::DivergentBarrier { active, alive } => {
                write!(f, "aligned barrier executed by lanes {active:#010x} of {alive:#010x}")
            }
            FaultKind::BadBarrier { barrier, count } => {
                write!(f, "barrier {barrier} with thread count {count}")
            }
            FaultKind::Deadlock { waiting } => write!(f, "deadlock: {waiting}"),
            FaultKind::UninitialisedShared { offset } => {
                write!(f, "read of unwritten shared memory at byte {offset}")
            }
            FaultKind::SharedRace { offset, race, other } => {
                write!(f, "shared-memory race at byte {offset}: {race}")?;
                match other {
                    Some(warp) => write!(f, " of warp {warp}"),
                    None => write!(f, " of other warps"),
                }
            }
            FaultKind::MixedCarry => f.write_str("carry chain mixes additions and subtractions"),
            FaultKind::UndefinedCarry => {
                f.write_str("carry consumed outside the straight-line code that made it")
            }
            FaultKind::UndefinedRegister => {
                f.write_str("read of a register before its first write")
            }
            FaultKind::BranchIndex { index, targets } => {
                write!(f, "branch index {index} in a list of {targets}")
            }
            FaultKind::Trap => f.write_str("trap"),
            FaultKind::InstructionLimit { limit } => {
                write!(f, "limit of {limit} warp instructions reached")
            }
        }
    }
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Race::ReadAfterWrite => "read after write",
            Race::WriteAfterWrite => "write after write",
            Race::WriteAfterRead => "write after read",
            Race::PlainAfterAtomic => "plain access after atomic",
        })
    }
}

impl std::error::Error for Error {}
impl std::error::Error for Fault {}
