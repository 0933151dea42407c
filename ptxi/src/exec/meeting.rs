//! The threads that have arrived at the sixteen barriers of a block.

use crate::shared::Clock;

#[derive(Clone, Copy, Default)]
pub(super) struct Meeting {
    pub(super) arrived: u32,
    /// Threads expected; 0 for all living ones.
    pub(super) expected: u32,
    /// Threads that came, and those among them whose predicate (of `bar.red`) holds.
    pub(super) voters: u32,
    pub(super) set: u32,
    pub(super) clock: Clock,
}

#[derive(Default)]
pub(crate) struct Barriers {
    pub(super) meetings: [Meeting; 16],
}
