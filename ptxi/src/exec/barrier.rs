//! The sixteen barriers of a block.
//!
//! A barrier without a thread count waits for every living thread of the block; one
//! with a count for so many (a warp counts 32 threads at an aligned barrier, however
//! many live in it).

use super::meeting::Meeting;
use super::{Env, Flow};
use crate::error::FaultKind;
use crate::instr::{BarrierOp, Instr, Op};
use crate::types::lanes;
use crate::warp::{Group, State, Trap, Warp};

impl Env<'_> {
    pub(super) fn barrier(
        &mut self,
        warp: &mut Warp,
        group: &mut Group,
        x: &Instr,
        mask: u32,
        (op, aligned, counted): (BarrierOp, bool, bool),
    ) -> Result<Flow, Trap> {
        let first = mask.trailing_zeros() as usize;
        let trap = |kind| Err(Trap::new(first, kind));
        if aligned && self.checks.divergent_barriers && mask != warp.alive {
            return trap(FaultKind::DivergentBarrier { active: mask, alive: warp.alive });
        }
        let barrier = warp.src(x, 0)[first];
        let count = if counted { warp.src(x, 1)[first] } else { 0 };
        let differ = |row: &[u64; 32], v: u64| lanes(mask).any(|l| row[l] != v);
        let uneven = differ(warp.src(x, 0), barrier) || counted && differ(warp.src(x, 1), count);
        let bad = barrier > 15 || counted && (count == 0 || count % 32 != 0 || count > 1024);
        if bad || uneven {
            return trap(FaultKind::BadBarrier { barrier, count });
        }
        let m = &mut self.barriers.meetings[barrier as usize];
        if m.arrived > 0 && u64::from(m.expected) != count {
            return trap(FaultKind::BadBarrier { barrier, count });
        }
        m.expected = count as u32;
        m.arrived += if aligned && counted { 32 } else { mask.count_ones() };
        m.voters += mask.count_ones();
        m.set += (mask & warp.pred(x.pred_src[0], x.pred_not[0])).count_ones();
        self.shared.arrive(warp.id, &mut m.clock);
        if counted {
            self.shared.set_partial();
            if m.arrived > m.expected {
                return trap(FaultKind::BadBarrier { barrier, count });
            }
        }
        if op == BarrierOp::Arrive {
            return Ok(Flow::Next);
        }
        let rest = group.mask & !mask;
        if rest != 0 {
            warp.insert(self.ready(group.pc, group.pc + 1, group.depth, rest));
        }
        warp.insert(Group { mask, state: State::Barrier(barrier as u8), ..*group });
        Ok(Flow::Gone)
    }

    /// Opens every barrier at which all expected threads have arrived; whether there was one.
    pub(crate) fn open_barriers(&mut self, warps: &mut [Warp]) -> bool {
        let living: u32 = warps.iter().map(|w| w.alive.count_ones()).sum();
        let mut opened = false;
        for id in 0..16 {
            let m = self.barriers.meetings[id];
            let expected = if m.expected == 0 { living } else { m.expected };
            if m.arrived == 0 || m.arrived < expected {
                continue;
            }
            self.barriers.meetings[id] = Meeting::default();
            self.tally.barriers_in_block += 1;
            opened = true;
            for warp in warps.iter_mut() {
                self.leave(warp, id as u8, &m);
            }
            if m.expected == 0 {
                self.shared.next_epoch();
            }
        }
        opened
    }

    /// Lets the threads of a warp that wait at a barrier go on.
    fn leave(&mut self, warp: &mut Warp, id: u8, m: &Meeting) {
        let waits = |g: &Group| g.state == State::Barrier(id);
        while let Some(at) = warp.groups.iter().position(waits) {
            let g = warp.groups.swap_remove(at);
            let x = &self.program.code[g.pc as usize];
            if let Op::Barrier { op, .. } = x.op {
                let all = if m.set == m.voters { !0 } else { 0 };
                let any = if m.set > 0 { !0 } else { 0 };
                match op {
                    BarrierOp::RedAnd => warp.set_pred(x.pred_dst[0], g.mask, all),
                    BarrierOp::RedOr => warp.set_pred(x.pred_dst[0], g.mask, any),
                    BarrierOp::RedPopc => warp.write(x.dst[0], g.mask, |_| m.set.into()),
                    BarrierOp::Sync | BarrierOp::Arrive => {}
                }
            }
            self.shared.leave(warp.id, &m.clock);
            warp.insert(self.ready(g.pc, g.pc + 1, g.depth, g.mask));
        }
    }
}
