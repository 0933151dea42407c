//! Execution of one instruction for the active lanes of a warp.

mod barrier;
mod bits;
mod carry;
mod convert;
mod float;
mod fused;
mod integer;
mod matrix;
mod meeting;
mod memory;
mod select;
mod sync;

pub(crate) use meeting::Barriers;

use crate::checks::Checks;
use crate::counts::Tally;
use crate::error::FaultKind;
use crate::instr::{ALWAYS, FrameCopy, Instr, Op, Program};
use crate::memory::DeviceMemory;
use crate::shared::SharedMemory;
use crate::types::{lanes, ones};
use crate::warp::{Group, Place, State, Trap, Warp};

/// Everything a running block needs besides its warps.
pub(crate) struct Env<'a> {
    pub program: &'a Program,
    pub memory: &'a mut DeviceMemory,
    pub shared: &'a mut SharedMemory,
    pub params: &'a [u8],
    pub tally: &'a mut Tally,
    pub checks: Checks,
    pub place: Place,
    pub barriers: Barriers,
    /// Warp instructions left before the launch is stopped.
    pub budget: u64,
    pub traced: bool,
}

/// Next place of the group that executed an instruction.
pub(crate) enum Flow {
    /// To the next instruction.
    Next,
    /// All of it to another instruction.
    Jump(u32),
    /// All of it into a function.
    Enter(u32),
    /// It has been split, parked or retired, and is no longer the running group.
    Gone,
}

/// The guard's lanes among those at the instruction.
#[inline(always)]
fn guarded(warp: &Warp, x: &Instr, mask: u32) -> u32 {
    if x.guard == ALWAYS && !x.guard_not { mask } else { mask & warp.pred(x.guard, x.guard_not) }
}

impl Env<'_> {
    /// Scheduling key of lanes that go from one instruction to another.
    fn key(&self, from: u32, to: u32, depth: u32) -> u64 {
        let [at, latch] = self.program.order[to as usize];
        let back = at <= self.program.order[from as usize][0];
        u64::from(u32::MAX - depth) << 32 | u64::from(if back { latch } else { at })
    }

    pub(crate) fn ready(&self, from: u32, to: u32, depth: u32, mask: u32) -> Group {
        Group { pc: to, depth, mask, key: self.key(from, to, depth), state: State::Ready }
    }

    /// Runs a warp for at most `quantum` instructions; returns how many it was.
    /// Stops early when no group can go on. A trap comes with its instruction.
    pub(crate) fn run(&mut self, warp: &mut Warp, quantum: u64) -> Result<u64, (u32, Trap)> {
        let mut done = 0;
        while done < quantum {
            let ready = |g: &&Group| g.state == State::Ready;
            let Some(best) = warp.groups.iter().filter(ready).map(|g| g.key).min() else {
                break;
            };
            let Some(at) =
                warp.groups.iter().position(|g| g.key == best && g.state == State::Ready)
            else {
                break;
            };
            let mut group = warp.groups.swap_remove(at);
            // The group runs on until it reaches the place of another one that is ready.
            let rest = warp.groups.iter().filter(ready).map(|g| g.key).min();
            let limit = rest.unwrap_or(u64::MAX);
            loop {
                let pc = group.pc;
                let flow = self.step(warp, &mut group).map_err(|trap| (pc, trap))?;
                done += 1;
                match flow {
                    Flow::Next => group.pc += 1,
                    Flow::Jump(to) => group.pc = to,
                    Flow::Enter(to) => {
                        group.pc = to;
                        group.depth += 1;
                    }
                    Flow::Gone => break,
                }
                group.key = self.key(pc, group.pc, group.depth);
                if group.key >= limit || done >= quantum {
                    warp.insert(group);
                    break;
                }
            }
        }
        Ok(done)
    }

    fn step(&mut self, warp: &mut Warp, group: &mut Group) -> Result<Flow, Trap> {
        let program = self.program;
        let x = &program.code[group.pc as usize];
        let mask = guarded(warp, x, group.mask);
        let count = &mut self.tally.by_instruction[group.pc as usize];
        count.warp += 1;
        count.thread += u64::from(mask.count_ones());
        self.tally.counts.divergent += u64::from(group.mask != warp.alive);
        if self.traced {
            self.tally.counts.trace.note(warp, x, group, mask);
        }
        warp.executed += 1;
        let lane = group.mask.trailing_zeros() as usize;
        match self.budget.checked_sub(1) {
            Some(left) => self.budget = left,
            None => return Err(Trap::new(lane, FaultKind::InstructionLimit { limit: 0 })),
        }
        if self.checks.registers {
            check_registers(warp, x, group.mask, mask)?;
        }
        if mask == 0 {
            return Ok(Flow::Next);
        }
        match x.op {
            Op::Branch { target } => Ok(self.branch(warp, group, mask, target)),
            Op::BranchIndexed { table } => self.branch_indexed(warp, group, x, mask, table),
            Op::Call { site } => Ok(self.call(warp, group, mask, site)),
            Op::Return if group.depth > 0 => Ok(self.give_back(warp, group, mask)),
            Op::Return | Op::Exit => self.exit(warp, group, mask),
            Op::Barrier { op, aligned, counted } => {
                self.barrier(warp, group, x, mask, (op, aligned, counted))
            }
            Op::Warp(op) => self.join(warp, group, x, mask, op),
            Op::Trap => Err(Trap::new(mask.trailing_zeros() as usize, FaultKind::Trap)),
            _ => {
                self.compute(warp, x, mask)?;
                Ok(Flow::Next)
            }
        }
    }

    /// Everything after which all lanes go on to the next instruction.
    fn compute(&mut self, warp: &mut Warp, x: &Instr, mask: u32) -> Result<(), Trap> {
        match x.op {
            Op::Int(op, ty) => integer::execute(warp, x, mask, op, ty),
            Op::Bit(op, ty) => bits::execute(warp, x, mask, op, ty),
            Op::Carry { op, ty, reads, writes } => {
                if self.checks.carry_chains {
                    carry::check(warp, x, mask, op, reads, writes)?;
                }
                carry::execute(warp, x, mask, op, ty, reads, writes);
            }
            Op::Float { op, double, ftz, sat } => {
                float::execute(warp, x, mask, op, double, ftz, sat);
            }
            Op::Mov(ty) => {
                let keep = ones(ty.bits());
                warp.map1(x, mask, |a| a & keep);
            }
            Op::Load { space, ty, count, strong } => {
                self.load(warp, x, mask, space, ty, count, strong)?;
            }
            Op::Store { space, ty, count, strong } => {
                self.store(warp, x, mask, space, ty, count, strong)?;
            }
            Op::Atomic { space, ty, op } => self.atomic(warp, x, mask, space, ty, op)?,
            Op::Cvt { to, from, mode, sat, ftz } => {
                convert::execute(warp, x, mask, (to, from), mode, sat, ftz);
            }
            Op::CopyAsync { bytes, sized } => self.copy_async(warp, x, mask, bytes, sized),
            Op::CopyCommit => self.copy_commit(warp, mask),
            Op::CopyWait { all } => self.copy_wait(warp, x, mask, all)?,
            Op::ActiveMask => warp.write(x.dst[0], mask, |_| mask.into()),
            _ => select::execute(warp, x, mask),
        }
        Ok(())
    }

    fn branch(&mut self, warp: &mut Warp, group: &Group, mask: u32, target: u32) -> Flow {
        if mask == group.mask {
            return Flow::Jump(target);
        }
        warp.insert(self.ready(group.pc, target, group.depth, mask));
        warp.insert(self.ready(group.pc, group.pc + 1, group.depth, group.mask & !mask));
        Flow::Gone
    }

    fn branch_indexed(
        &mut self,
        warp: &mut Warp,
        group: &Group,
        x: &Instr,
        mask: u32,
        table: u32,
    ) -> Result<Flow, Trap> {
        let targets = &self.program.tables[table as usize];
        for lane in lanes(mask) {
            let index = warp.src(x, 0)[lane] as u32;
            let Some(&target) = targets.get(index as usize) else {
                let targets = targets.len() as u32;
                return Err(Trap::new(lane, FaultKind::BranchIndex { index, targets }));
            };
            warp.insert(self.ready(group.pc, target, group.depth, 1 << lane));
        }
        let rest = group.mask & !mask;
        if rest != 0 {
            warp.insert(self.ready(group.pc, group.pc + 1, group.depth, rest));
        }
        Ok(Flow::Gone)
    }

    fn call(&mut self, warp: &mut Warp, group: &Group, mask: u32, site: u32) -> Flow {
        let site = &self.program.calls[site as usize];
        for lane in lanes(mask) {
            copy_frames(warp, lane, &site.arguments);
            warp.stacks[lane].push(group.pc);
        }
        if mask == group.mask {
            return Flow::Enter(site.target);
        }
        warp.insert(self.ready(group.pc, site.target, group.depth + 1, mask));
        warp.insert(self.ready(group.pc, group.pc + 1, group.depth, group.mask & !mask));
        Flow::Gone
    }

    /// Return from a device function, each lane behind its own call.
    fn give_back(&mut self, warp: &mut Warp, group: &Group, mask: u32) -> Flow {
        for lane in lanes(mask) {
            let Some(call) = warp.stacks[lane].pop() else {
                continue;
            };
            if let Op::Call { site } = self.program.code[call as usize].op {
                copy_frames(warp, lane, &self.program.calls[site as usize].results);
            }
            warp.insert(self.ready(call, call + 1, group.depth - 1, 1 << lane));
        }
        let rest = group.mask & !mask;
        if rest != 0 {
            warp.insert(self.ready(group.pc, group.pc + 1, group.depth, rest));
        }
        Flow::Gone
    }

    fn exit(&mut self, warp: &mut Warp, group: &mut Group, mask: u32) -> Result<Flow, Trap> {
        self.copy_all(warp, mask)?;
        warp.alive &= !mask;
        group.mask &= !mask;
        if group.mask != 0 {
            let rest = self.ready(group.pc, group.pc + 1, group.depth, group.mask);
            warp.insert(rest);
        }
        // Groups that waited for the exited lanes may continue.
        self.release_joined(warp)?;
        Ok(Flow::Gone)
    }
}

fn copy_frames(warp: &mut Warp, lane: usize, copies: &[FrameCopy]) {
    let base = lane * (warp.frames.len() / 32);
    for copy in copies {
        let from = base + copy.from as usize;
        let to = base + copy.to as usize;
        warp.frames.copy_within(from..from + copy.bytes as usize, to);
    }
}

/// The register check: reads must come after writes in every lane.
fn check_registers(warp: &mut Warp, x: &Instr, at: u32, mask: u32) -> Result<(), Trap> {
    let mut missing = at & !warp.pred_defined[x.guard as usize];
    for &row in &x.src[..usize::from(x.srcs)] {
        missing |= mask & !warp.defined[row as usize];
    }
    for &pred in &x.pred_src {
        missing |= mask & !warp.pred_defined[pred as usize];
    }
    if missing != 0 {
        let lane = missing.trailing_zeros() as usize;
        return Err(Trap::new(lane, FaultKind::UndefinedRegister));
    }
    for &row in &x.dst[..usize::from(x.dsts)] {
        warp.defined[row as usize] |= mask;
    }
    for &pred in &x.pred_dst {
        warp.pred_defined[pred as usize] |= mask;
    }
    Ok(())
}
