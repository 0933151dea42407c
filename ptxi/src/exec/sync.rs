//! Instructions that join the lanes of a warp: `bar.warp.sync`, shuffles, votes,
//! matches, reductions, elections, matrix products.
//!
//! Lanes wait until every living lane of their member mask has come to an instruction
//! of the same full name with the same mask. The lanes may stand at different copies
//! of it in the code, and disjoint masks may wait at different places; so an operation
//! is done for *parts*, each some lanes at their own instruction.

use super::{Env, Flow};
use crate::error::FaultKind;
use crate::instr::{AtomicOp, Instr, Op, Program, Shuffle, Vote, WarpOp};
use crate::types::{Type, lanes, ones, sign_extend};
use crate::warp::{Group, Row, State, Trap, Warp};

/// Some lanes and the instruction that they stand at.
pub(super) type Part = (u32, u32);

/// Source row `k`, or the last but `-k`, each lane's from its own instruction.
fn gather(warp: &Warp, program: &Program, parts: &[Part], k: usize) -> Row {
    let mut out = [0; 32];
    for &(pc, mask) in parts {
        let row = warp.src(&program.code[pc as usize], k);
        for lane in lanes(mask) {
            out[lane] = row[lane];
        }
    }
    out
}

fn gather_pred(warp: &Warp, program: &Program, parts: &[Part]) -> u32 {
    parts.iter().fold(0, |out, &(pc, mask)| {
        let x = &program.code[pc as usize];
        out | mask & warp.pred(x.pred_src[0], x.pred_not[0])
    })
}

fn scatter(warp: &mut Warp, program: &Program, parts: &[Part], value: &Row) {
    for &(pc, mask) in parts {
        warp.write(program.code[pc as usize].dst[0], mask, |l| value[l]);
    }
}

fn scatter_pred(warp: &mut Warp, program: &Program, parts: &[Part], value: u32) {
    for &(pc, mask) in parts {
        warp.set_pred(program.code[pc as usize].pred_dst[0], mask, value);
    }
}

impl Env<'_> {
    /// Brings lanes to a joining instruction; executes it for those that are complete.
    pub(super) fn join(
        &mut self,
        warp: &mut Warp,
        group: &mut Group,
        x: &Instr,
        mask: u32,
        op: WarpOp,
    ) -> Result<Flow, Trap> {
        let first = mask.trailing_zeros() as usize;
        if matches!(op, WarpOp::Mma { .. } | WarpOp::LdMatrix { .. }) {
            if mask != !0 {
                let kind = FaultKind::NotConverged { active: mask };
                return Err(Trap::new(first, kind));
            }
            match op {
                WarpOp::LdMatrix { .. } => self.load_matrix(warp, x, op)?,
                _ => super::matrix::multiply(warp, x, op),
            }
            return Ok(Flow::Next);
        }
        let masks = *warp.src(x, usize::from(x.srcs) - 1);
        let need = masks[first] as u32;
        let same = lanes(mask).all(|l| masks[l] as u32 == need);
        if same && need & warp.alive == mask {
            self.joined(warp, &[(group.pc, mask)], op)?;
            return Ok(Flow::Next);
        }
        // Lanes with a false guard pass.
        let rest = group.mask & !mask;
        if rest != 0 {
            warp.insert(self.ready(group.pc, group.pc + 1, group.depth, rest));
        }
        let mut left = mask;
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            let need = masks[lane] as u32;
            let part = lanes(left).filter(|&l| masks[l] as u32 == need).fold(0, |m, l| m | 1 << l);
            left &= !part;
            let outside = part & !need;
            let mut need = need;
            if outside != 0 {
                if self.checks.lane_masks {
                    let lane = outside.trailing_zeros();
                    let kind = FaultKind::LaneNotInMask { mask: need, lane };
                    return Err(Trap::new(lane as usize, kind));
                }
                need |= outside;
            }
            warp.insert(Group { mask: part, state: State::Sync { name: x.name, need }, ..*group });
        }
        self.release_joined(warp)?;
        Ok(Flow::Gone)
    }

    /// Lets those waiting groups go on whose lanes are all there.
    pub(super) fn release_joined(&mut self, warp: &mut Warp) -> Result<(), Trap> {
        loop {
            let complete = warp.groups.iter().find_map(|g| match g.state {
                State::Sync { name, need } => {
                    let state = State::Sync { name, need };
                    let here = warp.groups.iter().filter(|h| h.state == state);
                    let lanes = here.fold(0, |m, h| m | h.mask);
                    (need & warp.alive & !lanes == 0).then_some(state)
                }
                _ => None,
            });
            let Some(state) = complete else {
                return Ok(());
            };
            let (going, staying): (Vec<Group>, Vec<Group>) =
                warp.groups.drain(..).partition(|g| g.state == state);
            warp.groups = staying;
            let parts: Vec<Part> = going.iter().map(|g| (g.pc, g.mask)).collect();
            if let Op::Warp(op) = self.program.code[going[0].pc as usize].op {
                self.joined(warp, &parts, op)?;
            }
            for g in going {
                warp.insert(self.ready(g.pc, g.pc + 1, g.depth, g.mask));
            }
        }
    }

    /// Executes the operation for the lanes of all parts together.
    fn joined(&mut self, warp: &mut Warp, parts: &[Part], op: WarpOp) -> Result<(), Trap> {
        let program = self.program;
        let mask = parts.iter().fold(0, |m, p| m | p.1);
        match op {
            WarpOp::Sync | WarpOp::Mma { .. } | WarpOp::LdMatrix { .. } => {}
            WarpOp::Shfl(mode) => self.shuffle(warp, parts, mask, mode)?,
            WarpOp::Vote(vote) => {
                let set = gather_pred(warp, program, parts);
                let value = match vote {
                    Vote::Ballot => {
                        scatter(warp, program, parts, &[set.into(); 32]);
                        return Ok(());
                    }
                    Vote::Any => set != 0,
                    Vote::All => set == mask,
                };
                scatter_pred(warp, program, parts, if value { !0 } else { 0 });
            }
            WarpOp::Redux(op, ty) => {
                let a = gather(warp, program, parts, 0);
                let sum = lanes(mask).map(|l| a[l]).reduce(|x, y| reduce(op, ty, x, y));
                let sum = sum.unwrap_or(0) & ones(32);
                scatter(warp, program, parts, &[sum; 32]);
            }
        }
        Ok(())
    }

    fn shuffle(
        &mut self,
        warp: &mut Warp,
        parts: &[Part],
        mask: u32,
        mode: Shuffle,
    ) -> Result<(), Trap> {
        let program = self.program;
        let [a, b, c] = [0, 1, 2].map(|k| gather(warp, program, parts, k));
        let (mut out, mut valid) = ([0; 32], 0u32);
        for lane in lanes(mask) {
            // The clamp holds the last lane of a segment, and which bits name the segment.
            let (by, clamp, segment) =
                (b[lane] as i32 & 31, c[lane] as i32 & 31, (c[lane] >> 8) as i32 & 31);
            let own = lane as i32;
            let (last, base) = ((own & segment) | (clamp & !segment), own & segment);
            let (from, inside) = match mode {
                // Upward the clamp is the first lane.
                Shuffle::Up => (own - by, own - by >= last),
                Shuffle::Down => (own + by, own + by <= last),
                Shuffle::Xor => (own ^ by, (own ^ by) <= last),
                Shuffle::Index => (base | (by & !segment), (base | (by & !segment)) <= last),
            };
            let source = if inside { from as usize & 31 } else { lane };
            if self.checks.lane_masks && mask >> source & 1 == 0 {
                let kind = FaultKind::InactiveSource { source: source as u32, active: mask };
                return Err(Trap::new(lane, kind));
            }
            let row = warp.src(&program.code[part_of(parts, source)], 0);
            out[lane] = if mask >> source & 1 == 1 { a[source] } else { row[source] } & ones(32);
            valid |= u32::from(inside) << lane;
        }
        scatter(warp, program, parts, &out);
        scatter_pred(warp, program, parts, valid);
        Ok(())
    }
}

/// The instruction of the part that a lane belongs to, or the first part's.
fn part_of(parts: &[Part], lane: usize) -> usize {
    let own = parts.iter().find(|p| p.1 >> lane & 1 == 1);
    own.or(parts.first()).map_or(0, |p| p.0 as usize)
}

fn reduce(op: AtomicOp, ty: Type, a: u64, b: u64) -> u64 {
    let less = match ty.signed() {
        true => sign_extend(a, 32) < sign_extend(b, 32),
        false => a < b,
    };
    match op {
        AtomicOp::Min => {
            if less {
                a
            } else {
                b
            }
        }
        AtomicOp::Max => {
            if less {
                b
            } else {
                a
            }
        }
        AtomicOp::And => a & b,
        AtomicOp::Or => a | b,
        AtomicOp::Xor => a ^ b,
        _ => a.wrapping_add(b) & ones(32),
    }
}
