//! Classes of instructions.

/// The pipe or unit that an instruction keeps busy, roughly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Class {
    /// Integer additions, minimum, maximum, sign, absolute difference.
    IntAdd,
    /// Integer multiplications and multiply-adds, dot products.
    IntMul,
    /// Integer divisions and remainders (many instructions on the hardware).
    IntDiv,
    /// Logic, shifts, permutations, bit fields and counts.
    Bits,
    /// Comparisons, selections and predicate logic.
    Compare,
    /// Moves, packing, address conversions.
    Move,
    /// Conversions between types.
    Convert,
    /// 32-bit floating point.
    Float32,
    /// 64-bit floating point.
    Float64,
    /// Global loads.
    GlobalLoad,
    /// Global stores.
    GlobalStore,
    /// Shared loads (also `ldmatrix`).
    SharedLoad,
    /// Shared stores.
    SharedStore,
    /// Loads of local memory: spills and addressed arrays.
    LocalLoad,
    /// Stores to local memory.
    LocalStore,
    /// Loads of parameters and constants, stores of call parameters.
    Param,
    /// Loads and stores through generic addresses.
    Generic,
    /// Atomics and reductions in memory.
    Atomic,
    /// Asynchronous copies, their commits and waits.
    AsyncCopy,
    /// Shuffles.
    Shuffle,
    /// Votes, matches, warp reductions, active mask.
    Vote,
    /// Matrix products.
    Matrix,
    /// Block barriers.
    Barrier,
    /// `bar.warp.sync`.
    WarpSync,
    /// Branches, calls, returns.
    Branch,
    /// Fences, hints, traps.
    Other,
}
