//! Decoded instructions.
//!
//! Operands are indices of register rows: immediates, symbol addresses and special
//! registers are rows too, filled once when a warp starts, so that execution never
//! asks what kind an operand is. Predicates live apart, as one 32-bit lane mask each.

use crate::class::Class;
use crate::types::{Space, Type};

/// Row 0 receives unused results (`_`, and the result of `red`).
pub(crate) const SINK: u32 = 0;
/// Predicate 0 is always true: the guard of an unguarded instruction.
pub(crate) const ALWAYS: u32 = 0;
/// Predicate 1 receives unused results.
pub(crate) const PRED_SINK: u32 = 1;

#[derive(Clone, Debug)]
pub(crate) struct Instr {
    pub op: Op,
    /// Guard predicate, [`ALWAYS`] where there is none, and whether it is negated.
    pub guard: u32,
    pub guard_not: bool,
    /// Destination rows, the first `dsts` of them in use.
    pub dst: [u32; 8],
    pub dsts: u8,
    /// Source rows, the first `srcs` of them in use.
    pub src: [u32; 12],
    pub srcs: u8,
    /// Width of the first destination register: results narrower than it are extended.
    pub dst_bits: u8,
    /// Predicate destinations (`p|q`), [`PRED_SINK`] where there are none.
    pub pred_dst: [u32; 2],
    /// Predicate sources and whether each is negated.
    pub pred_src: [u32; 2],
    pub pred_not: [bool; 2],
    /// Constant added to the address in `src[0]`.
    pub offset: i64,
    /// The same for the source address in `src[1]` of an asynchronous copy.
    pub offset2: i64,
    /// Index of the full opcode in [`Program::names`].
    pub name: u32,
    pub class: Class,
    /// Number of the straight-line stretch the instruction stands in.
    pub stretch: u32,
    pub line: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Nop,
    Mov(Type),
    /// Element `n` of the sources at bit `n * bits`.
    Pack {
        bits: u32,
    },
    Unpack {
        bits: u32,
    },
    Pred(PredOp),
    Int(IntOp, Type),
    Bit(BitOp, Type),
    /// Carry chain: whether the flag is read, and whether it is written.
    Carry {
        op: CarryOp,
        ty: Type,
        reads: bool,
        writes: bool,
    },
    Float {
        op: FloatOp,
        double: bool,
        ftz: bool,
        sat: bool,
    },
    Setp {
        cmp: Compare,
        join: Join,
        ty: Type,
        ftz: bool,
    },
    Selp(Type),
    Cvt {
        to: Type,
        from: Type,
        mode: CvtMode,
        sat: bool,
        ftz: bool,
    },
    /// Generic address to address in the space (`to`), or back.
    Cvta {
        space: Space,
        to: bool,
    },
    Load {
        space: Space,
        ty: Type,
        count: u8,
        strong: bool,
    },
    Store {
        space: Space,
        ty: Type,
        count: u8,
        strong: bool,
    },
    Atomic {
        space: Space,
        ty: Type,
        op: AtomicOp,
    },
    /// `cp.async` of so many bytes; with `src[2]` as the bytes really read, if sized.
    CopyAsync {
        bytes: u8,
        sized: bool,
    },
    CopyCommit,
    /// Waits until at most `src[0]` of the latest groups are pending; all with `None` rows.
    CopyWait {
        all: bool,
    },
    Warp(WarpOp),
    ActiveMask,
    Branch {
        target: u32,
    },
    /// Index into [`Program::tables`].
    BranchIndexed {
        table: u32,
    },
    /// Index into [`Program::calls`].
    Call {
        site: u32,
    },
    Return,
    Exit,
    Barrier {
        op: BarrierOp,
        aligned: bool,
        counted: bool,
    },
    Trap,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PredOp {
    Mov,
    Not,
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IntOp {
    Add,
    Sub,
    MulLo,
    MulHi,
    MulWide,
    MadLo,
    MadHi,
    MadWide,
    Div,
    Rem,
    Abs,
    Neg,
    Min,
    Max,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BitOp {
    And,
    Or,
    Xor,
    Not,
    Shl,
    Shr,
    Shf { left: bool, wrap: bool },
    Lop3 { table: u8 },
    Prmt,
    Bfe,
    Bfi,
    Bfind { shift: bool },
    Clz,
    Popc,
    Brev,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CarryOp {
    Add,
    Sub,
    MadLo,
    MadHi,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FloatOp {
    Add,
    Sub,
    Mul,
    Fma(Round),
    Div,
    Rcp,
    Sqrt,
    Neg,
    Abs,
    Min { nan: bool },
    Max { nan: bool },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Ordered comparisons above are false with a NaN, these are true.
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    /// Neither is a NaN; some is.
    Num,
    Nan,
}

/// Combination of a comparison with `pred_src[0]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Join {
    None,
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CvtMode {
    /// No rounding asked: exact, or integer to integer.
    None,
    /// To a floating-point number: nearest even, toward zero, down, up.
    Float(Round),
    /// To an integral value.
    Integer(Round),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Round {
    Nearest,
    Zero,
    Down,
    Up,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AtomicOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exch,
    Cas,
    Inc,
    Dec,
}

/// Instructions that join the lanes named by a member mask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WarpOp {
    Sync,
    Shfl(Shuffle),
    Vote(Vote),
    Redux(AtomicOp, Type),
    /// Integer matrix product m16n8k`k`; signs of a and b.
    Mma {
        k: u8,
        a_signed: bool,
        b_signed: bool,
        sat: bool,
    },
    LdMatrix {
        count: u8,
        transpose: bool,
        space: Space,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Xor,
    Index,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Vote {
    Ballot,
    Any,
    All,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BarrierOp {
    Sync,
    Arrive,
    RedAnd,
    RedOr,
    RedPopc,
}

/// Content of a row when a warp starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum RowInit {
    Value(u64),
    Special(Special),
    /// Address of the dynamic shared memory, behind the static one.
    DynamicShared,
}

/// A special register that stays the same while a thread lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    WarpCount,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    DynamicSharedSize,
    TotalSharedSize,
}

/// A copy between parameter frames: from, to, bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameCopy {
    pub from: u32,
    pub to: u32,
    pub bytes: u32,
}

/// A call instruction: where to go, and which parameters move.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallSite {
    pub target: u32,
    pub arguments: Vec<FrameCopy>,
    pub results: Vec<FrameCopy>,
}

/// For each instruction its number when reached forward, and when reached by a jump
/// back (the same but for loop headers).
pub(crate) type Order = Vec<[u32; 2]>;

/// A kernel with all device functions that it reaches, ready to run.
#[derive(Debug)]
pub(crate) struct Program {
    pub name: String,
    pub code: Vec<Instr>,
    /// Scheduling order of each instruction (`order.rs`).
    pub order: Order,
    pub names: Vec<String>,
    pub rows: u32,
    pub preds: u32,
    pub inits: Vec<(u32, RowInit)>,
    pub pred_inits: Vec<(u32, bool)>,
    pub tables: Vec<Vec<u32>>,
    pub calls: Vec<CallSite>,
    /// Bytes of kernel parameters, static shared, local and frame memory.
    pub param_bytes: u32,
    pub shared_bytes: u32,
    pub local_bytes: u32,
    pub frame_bytes: u32,
    pub max_threads: Option<u64>,
}
