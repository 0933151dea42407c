//! Checks of a launch.

/// The checks that can be switched off. Bounds, alignment, writes to constant memory,
/// deadlock and `trap` are always errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checks {
    /// A lane executes a `.sync` instruction whose mask does not name it, or shuffles from a lane
    /// that takes no part.
    pub lane_masks: bool,
    /// An aligned barrier is executed by part of a warp's living threads.
    pub divergent_barriers: bool,
    /// Shared memory is read before any thread of the block wrote it.
    pub uninitialised_shared: bool,
    /// Two warps race for a byte of shared memory.
    pub shared_races: bool,
    /// A carry crosses from additions to subtractions or back, or comes from other straight-line
    /// code.
    pub carry_chains: bool,
    /// A register is read before it was written. Off by default: nvcc may copy undefined registers
    /// that nobody uses.
    pub registers: bool,
}

impl Checks {
    /// Every check, the one on registers included.
    pub const ALL: Checks = Checks {
        lane_masks: true,
        divergent_barriers: true,
        uninitialised_shared: true,
        shared_races: true,
        carry_chains: true,
        registers: true,
    };

    /// No check that can be switched off.
    pub const NONE: Checks = Checks {
        lane_masks: false,
        divergent_barriers: false,
        uninitialised_shared: false,
        shared_races: false,
        carry_chains: false,
        registers: false,
    };
}

impl Default for Checks {
    /// All checks but the one on registers.
    fn default() -> Checks {
        Checks { registers: false, ..Checks::ALL }
    }
}
