//! Running the warps of one block: which warp next, barriers, deadlock.

use crate::error::{Error, Fault, FaultKind};
use crate::exec::{Barriers, Env};
use crate::shared::SharedMemory;
use crate::types::lanes;
use crate::warp::{State, Trap, Warp};

/// Warp instructions per turn without a seed: until the warp has to wait, mostly.
const IN_ORDER_QUANTUM: u64 = 1 << 16;
/// The most warp instructions per turn with a seed.
const RANDOM_QUANTUM: u64 = 200;

/// A small random number generator (splitmix64) for schedules.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

impl Env<'_> {
    /// Runs a whole block. Without `random` the warps go in order, each until it waits.
    pub(crate) fn run_block(&mut self, mut random: Option<&mut Random>) -> Result<(), Error> {
        let count = self.place.threads().div_ceil(32) as usize;
        let bytes = SharedMemory::size(self.program, self.place.dynamic_shared);
        let (init, races) = (self.checks.uninitialised_shared, self.checks.shared_races);
        self.shared.reset(bytes, count, init, races);
        self.barriers = Barriers::default();
        self.tally.barriers_in_block = 0;
        let mut warps: Vec<Warp> = (0..count)
            .map(|id| Warp::new(self.program, id, &self.place, self.checks.registers))
            .collect();
        let mut order: Vec<usize> = (0..count).collect();
        while warps.iter().any(|w| w.alive != 0) {
            if let Some(random) = random.as_deref_mut() {
                for i in (1..order.len()).rev() {
                    order.swap(i, random.below(i as u64 + 1) as usize);
                }
            }
            let mut progress = false;
            for &w in &order {
                let quantum = match random.as_deref_mut() {
                    Some(random) => 1 + random.below(RANDOM_QUANTUM),
                    None => IN_ORDER_QUANTUM,
                };
                let done = self.run(&mut warps[w], quantum);
                let done = done.map_err(|(pc, trap)| self.fault(w, pc, trap))?;
                progress |= done > 0;
            }
            progress |= self.open_barriers(&mut warps);
            if !progress {
                return Err(self.deadlock(&warps));
            }
        }
        let counts = &mut self.tally.counts;
        counts.blocks += 1;
        counts.warps += count as u64;
        counts.barriers += self.tally.barriers_in_block;
        let most = &mut counts.max_barriers_per_block;
        *most = (*most).max(self.tally.barriers_in_block);
        Ok(())
    }

    fn fault(&self, warp: usize, pc: u32, trap: Trap) -> Error {
        let x = &self.program.code[pc as usize];
        let thread = warp as u32 * 32 + trap.lane;
        Error::Fault(Box::new(Fault {
            kind: trap.kind,
            kernel: self.program.name.clone(),
            block: self.place.index,
            thread: self.place.thread(thread),
            line: x.line,
            opcode: self.program.names[x.name as usize].clone(),
        }))
    }

    fn deadlock(&self, warps: &[Warp]) -> Error {
        let mut waiting = String::new();
        let mut first = None;
        for warp in warps {
            for g in &warp.groups {
                first.get_or_insert((warp.id, g.pc, g.mask));
                let line = self.program.code[g.pc as usize].line;
                let what = match g.state {
                    State::Sync { need, .. } => format!("for lanes {need:#010x}"),
                    State::Barrier(id) => format!("at barrier {id}"),
                    State::Ready => "ready".into(),
                };
                // Enough to see the pattern; a block has up to 1024 threads.
                if waiting.len() < 500 {
                    let (id, mask) = (warp.id, g.mask);
                    waiting +=
                        &format!("warp {id} lanes {mask:#010x} wait in line {line} {what}; ");
                }
            }
        }
        let waiting = waiting.trim_end_matches("; ").to_string();
        let (warp, pc, mask) = first.unwrap_or((0, 0, 1));
        let lane = lanes(mask).next().unwrap_or(0);
        self.fault(warp, pc, Trap::new(lane, FaultKind::Deadlock { waiting }))
    }
}
