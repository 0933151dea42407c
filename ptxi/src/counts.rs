//! Exact dynamic counts.
//!
//! A *warp instruction* is one issue of an instruction to the lanes of a warp that
//! stand at it; a *thread instruction* is one lane of it whose guard is true. A warp
//! that diverges issues an instruction once for each group of lanes, as the hardware
//! does, so its warp count grows and its thread count stays.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

use crate::class::Class;
use crate::instr::Program;
use crate::trace::Trace;

/// Dynamic executions of one opcode or class.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Executed {
    /// Warp instructions.
    pub warp: u64,
    /// Thread instructions.
    pub thread: u64,
}

impl Executed {
    fn add(&mut self, more: Executed) {
        self.warp += more.warp;
        self.thread += more.thread;
    }
}

/// Traffic of the block's shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SharedTraffic {
    /// Loads, in warp instructions.
    pub loads: u64,
    /// Stores, in warp instructions.
    pub stores: u64,
    /// Cycles of the 32 banks for the loads: 1 per conflict-free access of up to 32 x 4 bytes.
    pub load_wavefronts: u64,
    /// The same for the stores.
    pub store_wavefronts: u64,
}

/// Traffic of device memory, before any cache.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct GlobalTraffic {
    /// Loads, in warp instructions.
    pub loads: u64,
    /// Stores, in warp instructions.
    pub stores: u64,
    /// Distinct 32-byte sectors over the lanes of each load, summed.
    pub sectors_read: u64,
    /// The same for the stores.
    pub sectors_written: u64,
}

/// Atomics in one space.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Atomics {
    /// Warp instructions.
    pub warp: u64,
    /// Single updates (one per active lane).
    pub thread: u64,
}

/// Everything that one launch executed. Equal launches give equal counts, except that
/// a thread-schedule seed may change what racing code does.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Blocks run.
    pub blocks: u64,
    /// Warps started.
    pub warps: u64,
    /// All executions.
    pub total: Executed,
    /// Warp instructions issued to less than the living lanes of their warp.
    pub divergent: u64,
    /// Executions by full opcode, e.g. `mad.lo.cc.u32`.
    pub opcodes: BTreeMap<String, Executed>,
    /// Executions by class.
    pub classes: BTreeMap<Class, Executed>,
    /// Executions by line of the PTX text, from 1.
    pub lines: BTreeMap<u32, Executed>,
    /// Block barriers completed, all blocks together.
    pub barriers: u64,
    /// The most barriers completed in one block.
    pub max_barriers_per_block: u64,
    /// Shared-memory traffic.
    pub shared: SharedTraffic,
    /// Global-memory traffic.
    pub global: GlobalTraffic,
    /// Atomics on global memory.
    pub global_atomics: Atomics,
    /// Atomics on shared memory.
    pub shared_atomics: Atomics,
    /// The trace of a launch with [`Launch::traced`](crate::Launch::traced), else empty.
    pub trace: Trace,
}

/// Sums up launches; the most barriers of a block are the most of any launch.
impl AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        self.blocks += more.blocks;
        self.warps += more.warps;
        self.total.add(more.total);
        self.divergent += more.divergent;
        for (opcode, executed) in more.opcodes {
            self.opcodes.entry(opcode).or_default().add(executed);
        }
        for (class, executed) in more.classes {
            self.classes.entry(class).or_default().add(executed);
        }
        for (line, executed) in more.lines {
            self.lines.entry(line).or_default().add(executed);
        }
        self.barriers += more.barriers;
        self.max_barriers_per_block = self.max_barriers_per_block.max(more.max_barriers_per_block);
        self.shared.loads += more.shared.loads;
        self.shared.stores += more.shared.stores;
        self.shared.load_wavefronts += more.shared.load_wavefronts;
        self.shared.store_wavefronts += more.shared.store_wavefronts;
        self.global.loads += more.global.loads;
        self.global.stores += more.global.stores;
        self.global.sectors_read += more.global.sectors_read;
        self.global.sectors_written += more.global.sectors_written;
        for (sum, more) in [
            (&mut self.global_atomics, more.global_atomics),
            (&mut self.shared_atomics, more.shared_atomics),
        ] {
            sum.warp += more.warp;
            sum.thread += more.thread;
        }
        self.trace.append(more.trace);
    }
}

impl Counts {
    /// Executions of one full opcode; zero where it did not occur.
    #[must_use]
    pub fn opcode(&self, name: &str) -> Executed {
        self.opcodes.get(name).copied().unwrap_or_default()
    }

    /// Executions of a class.
    #[must_use]
    pub fn class(&self, class: Class) -> Executed {
        self.classes.get(&class).copied().unwrap_or_default()
    }

    /// Executions of all opcodes that start with the words of `prefix` (`"mad.lo"` counts
    /// `mad.lo.u32` and `mad.lo.cc.u32`, not `mad.lower`).
    #[must_use]
    pub fn matching(&self, prefix: &str) -> Executed {
        let mut sum = Executed::default();
        for (name, n) in &self.opcodes {
            let rest = name.strip_prefix(prefix);
            if rest.is_some_and(|r| r.is_empty() || r.starts_with('.')) {
                sum.add(*n);
            }
        }
        sum
    }
}

impl fmt::Display for Counts {
    /// A table, most frequent opcode first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} blocks, {} warps, {} warp instructions ({} divergent), {} thread instructions, {} \
             barriers",
            self.blocks,
            self.warps,
            self.total.warp,
            self.divergent,
            self.total.thread,
            self.barriers
        )?;
        let (s, g) = (&self.shared, &self.global);
        writeln!(
            f,
            "shared: {} loads in {} wavefronts, {} stores in {}; global: {} loads of {} sectors, \
             {} stores of {}; atomics: {} global, {} shared",
            s.loads,
            s.load_wavefronts,
            s.stores,
            s.store_wavefronts,
            g.loads,
            g.sectors_read,
            g.stores,
            g.sectors_written,
            self.global_atomics.thread,
            self.shared_atomics.thread
        )?;
        let mut rows: Vec<_> = self.opcodes.iter().collect();
        rows.sort_by_key(|(name, n)| (std::cmp::Reverse(n.warp), *name));
        for (name, n) in rows {
            writeln!(f, "{:>14} {:>16} {name}", n.warp, n.thread)?;
        }
        Ok(())
    }
}

/// Counters of a running launch, by instruction and place.
#[derive(Default)]
pub(crate) struct Tally {
    /// By index in [`Program::code`].
    pub by_instruction: Vec<Executed>,
    pub counts: Counts,
    pub barriers_in_block: u64,
}

impl Tally {
    pub(crate) fn new(instructions: usize) -> Tally {
        Tally { by_instruction: vec![Executed::default(); instructions], ..Tally::default() }
    }

    /// Closes the books: sums the counts of instructions by opcode, class and line.
    pub(crate) fn finish(mut self, program: &Program) -> Counts {
        let mut by_name = vec![Executed::default(); program.names.len()];
        for (n, instr) in self.by_instruction.iter().zip(&program.code) {
            if n.warp == 0 {
                continue;
            }
            self.counts.total.add(*n);
            by_name[instr.name as usize].add(*n);
            self.counts.classes.entry(instr.class).or_default().add(*n);
            self.counts.lines.entry(instr.line).or_default().add(*n);
        }
        for (n, name) in by_name.into_iter().zip(&program.names) {
            if n.warp > 0 {
                self.counts.opcodes.insert(name.clone(), n);
            }
        }
        self.counts
    }

    /// Bank wavefronts of one shared access. `lane_addresses`: byte address per active
    /// lane; `bytes`: per lane.
    ///
    /// The 32 banks are 4 bytes wide. Accesses of 8 bytes a lane go in half warps, of 16
    /// bytes in quarter warps; within a pass each bank delivers one word, to any number
    /// of lanes.
    pub(crate) fn wavefronts(mask: u32, addresses: &[u64; 32], bytes: u32) -> u64 {
        let (pass, words) = match bytes {
            16.. => (8, 4),
            8..16 => (16, 2),
            _ => (32, 1),
        };
        let mut total = 0;
        for first in (0..32).step_by(pass) {
            let lanes = (mask >> first) & crate::types::ones(pass as u32) as u32;
            if lanes == 0 {
                continue;
            }
            total += pass_wavefronts(lanes, &addresses[first..first + pass], words);
        }
        total
    }

    /// Distinct 32-byte sectors of naturally aligned accesses of at most 32 bytes.
    pub(crate) fn sectors(mask: u32, addresses: &[u64; 32]) -> u64 {
        let (mut seen, mut n, mut top) = ([0u64; 32], 0, None);
        for lane in crate::types::lanes(mask) {
            let sector = addresses[lane] / 32;
            // Mostly the addresses go upward, and a new top cannot have been seen.
            if Some(sector) > top || !seen[..n].contains(&sector) {
                seen[n] = sector;
                n += 1;
                top = top.max(Some(sector));
            }
        }
        n as u64
    }
}

fn pass_wavefronts(lanes: u32, addresses: &[u64], words: u64) -> u64 {
    // At most 32 words: per bank the distinct ones, chained through `next`.
    let (mut head, mut depth) = ([u8::MAX; 32], [0u8; 32]);
    let (mut word, mut next, mut n) = ([0u64; 32], [u8::MAX; 32], 0usize);
    let mut worst = 0;
    for lane in crate::types::lanes(lanes) {
        for k in 0..words {
            let w = addresses[lane] / 4 + k;
            let bank = (w % 32) as usize;
            let mut at = head[bank];
            while at != u8::MAX && word[at as usize] != w {
                at = next[at as usize];
            }
            if at == u8::MAX && n < 32 {
                (word[n], next[n]) = (w, head[bank]);
                head[bank] = n as u8;
                n += 1;
                depth[bank] += 1;
                worst = worst.max(depth[bank]);
            }
        }
    }
    u64::from(worst)
}
