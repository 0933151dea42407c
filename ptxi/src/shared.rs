//! Shared memory of a block, with a shadow that finds unwritten reads and races.
//!
//! Every warp carries a vector clock: what it knows of the progress of each other
//! warp. Arriving at a barrier publishes it, leaving takes over that of all who
//! arrived. Each byte remembers its last write and its last read, as warp and clock
//! (a *tag*); an access whose predecessor is not known to its own warp races with it.
//! Several concurrent readers are remembered as "many, in this epoch", epochs being
//! what whole-block barriers separate. In an epoch with barriers of part of the block
//! such reads no longer count, so nothing is reported that is not a race.

use crate::error::{FaultKind, Race};
use crate::instr::Program;

/// Tag layout: who (6 bits), atomic (1 bit), clock.
const WHO: u32 = 0x3f;
const MANY: u32 = 32;
const ATOMIC: u32 = 0x40;
const CLOCK_SHIFT: u32 = 7;

pub(crate) type Clock = [u32; 32];

/// Kind of an access to shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    Plain,
    /// Volatile or with a memory order: never a race by itself.
    Strong,
}

#[derive(Default)]
pub(crate) struct SharedMemory {
    pub bytes: Vec<u8>,
    /// Tag of the last write; 0: never written.
    writes: Vec<u32>,
    /// Tag of the last read since.
    reads: Vec<u32>,
    clocks: Vec<Clock>,
    epoch: u32,
    /// A barrier of part of the block was used in this epoch.
    partial: bool,
    check_init: bool,
    check_races: bool,
}

/// Content of unwritten shared memory.
const POISON: u8 = 0xa5;

impl SharedMemory {
    /// Empties the memory for a new block.
    pub(crate) fn reset(
        &mut self,
        bytes: usize,
        warps: usize,
        check_init: bool,
        check_races: bool,
    ) {
        self.bytes.clear();
        self.bytes.resize(bytes, POISON);
        for shadow in [&mut self.writes, &mut self.reads] {
            shadow.clear();
            shadow.resize(bytes, 0);
        }
        self.clocks.clear();
        self.clocks.resize(warps, [0; 32]);
        for (w, clock) in self.clocks.iter_mut().enumerate() {
            clock[w % 32] = 1;
        }
        self.epoch = 1;
        self.partial = false;
        (self.check_init, self.check_races) = (check_init, check_races);
    }

    /// Total bytes for a program with so much dynamic memory.
    pub(crate) fn size(program: &Program, dynamic: u32) -> usize {
        program.shared_bytes as usize + dynamic as usize
    }

    fn own_tag(&self, warp: usize) -> u32 {
        self.clocks[warp][warp] << CLOCK_SHIFT | warp as u32
    }

    /// Returns true if the access of the tag may be concurrent with `warp` now.
    fn concurrent(&self, tag: u32, warp: usize) -> bool {
        let (who, clock) = (tag & WHO, tag >> CLOCK_SHIFT);
        if who == MANY {
            return clock == self.epoch && !self.partial;
        }
        who as usize != warp && clock > self.clocks[warp][who as usize]
    }

    fn race(offset: usize, race: Race, tag: u32) -> FaultKind {
        FaultKind::SharedRace {
            offset: offset as u64,
            race,
            other: (tag & WHO != MANY).then_some(tag & WHO),
        }
    }

    /// Checks and notes a read of `offset..offset + n`, which lies in bounds.
    pub(crate) fn note_read(
        &mut self,
        warp: usize,
        offset: usize,
        n: usize,
        access: Access,
    ) -> Result<(), FaultKind> {
        let mut fine = 0;
        for at in offset..offset + n {
            let tag = self.writes[at];
            if tag == fine && tag != 0 {
                continue;
            }
            if tag == 0 {
                if self.check_init {
                    return Err(FaultKind::UninitialisedShared { offset: at as u64 });
                }
            } else if self.check_races && access == Access::Plain && self.concurrent(tag, warp) {
                let race = match tag & ATOMIC {
                    0 => Race::ReadAfterWrite,
                    _ => Race::PlainAfterAtomic,
                };
                return Err(Self::race(at, race, tag));
            }
            fine = tag;
        }
        if self.check_races && access == Access::Plain {
            let own = self.own_tag(warp);
            for at in offset..offset + n {
                let tag = self.reads[at];
                if tag != own {
                    self.reads[at] = if tag != 0 && self.concurrent(tag, warp) {
                        self.epoch << CLOCK_SHIFT | MANY
                    } else {
                        own
                    };
                }
            }
        }
        Ok(())
    }

    /// Checks and notes a write.
    pub(crate) fn note_write(
        &mut self,
        warp: usize,
        offset: usize,
        n: usize,
        access: Access,
    ) -> Result<(), FaultKind> {
        let mut own = self.own_tag(warp);
        if access == Access::Strong {
            own |= ATOMIC;
        }
        for at in offset..offset + n {
            if self.check_races {
                let tag = self.writes[at];
                let both_strong = tag & own & ATOMIC != 0;
                if tag != own && tag != 0 && !both_strong && self.concurrent(tag, warp) {
                    let race = match tag & ATOMIC {
                        0 => Race::WriteAfterWrite,
                        _ => Race::PlainAfterAtomic,
                    };
                    return Err(Self::race(at, race, tag));
                }
                let tag = self.reads[at];
                if tag != 0 && self.concurrent(tag, warp) {
                    return Err(Self::race(at, Race::WriteAfterRead, tag));
                }
                // A plain write stays on record behind an atomic of its own warp.
                if self.writes[at] == own & !ATOMIC {
                    continue;
                }
                if both_strong && self.concurrent(self.writes[at], warp) {
                    self.writes[at] = self.epoch << CLOCK_SHIFT | ATOMIC | MANY;
                    continue;
                }
            }
            self.writes[at] = own;
        }
        Ok(())
    }

    /// An atomic reads and writes; atomics do not race with each other.
    pub(crate) fn note_atomic(
        &mut self,
        warp: usize,
        offset: usize,
        n: usize,
    ) -> Result<(), FaultKind> {
        let unwritten = (offset..offset + n).find(|&at| self.writes[at] == 0);
        if let (true, Some(at)) = (self.check_init, unwritten) {
            return Err(FaultKind::UninitialisedShared { offset: at as u64 });
        }
        self.note_write(warp, offset, n, Access::Strong)
    }

    /// Publishes the clock of a warp that arrives at a barrier.
    pub(crate) fn arrive(&mut self, warp: usize, meeting: &mut Clock) {
        let clock = &mut self.clocks[warp];
        for (m, c) in meeting.iter_mut().zip(clock.iter()) {
            *m = (*m).max(*c);
        }
        clock[warp] += 1;
    }

    /// A warp leaves a barrier where everyone's knowledge has met.
    pub(crate) fn leave(&mut self, warp: usize, meeting: &Clock) {
        for (c, m) in self.clocks[warp].iter_mut().zip(meeting) {
            *c = (*c).max(*m);
        }
    }

    /// A whole-block barrier was passed.
    pub(crate) fn next_epoch(&mut self) {
        self.epoch += 1;
        self.partial = false;
    }

    /// A barrier of part of the block is in use.
    pub(crate) fn set_partial(&mut self) {
        self.partial = true;
    }
}
