//! A warp: 32 threads as a struct of arrays, and the groups they have split into.

use crate::error::FaultKind;
use crate::instr::{Instr, Program, RowInit, Special};
use crate::types::{lanes, ones};

/// One register of all 32 lanes, each value zero-extended to 64 bits.
pub(crate) type Row = [u64; 32];

/// A fault and its lane.
pub(crate) struct Trap {
    pub lane: u32,
    pub kind: FaultKind,
}

impl Trap {
    pub(crate) fn new(lane: usize, kind: FaultKind) -> Trap {
        Trap { lane: lane as u32, kind }
    }
}

/// State of a group of lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Ready,
    /// Waits for the other lanes of `need` at the same kind of instruction.
    Sync {
        name: u32,
        need: u32,
    },
    /// Waits at a block barrier.
    Barrier(u8),
}

/// Lanes that stand at the same instruction with the same call depth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub pc: u32,
    pub depth: u32,
    pub mask: u32,
    /// Scheduling key: deepest call first, then [`crate::order`].
    pub key: u64,
    pub state: State,
}

/// Pending `cp.async` of one lane: where to, where from, bytes copied, bytes filled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub to: u64,
    pub from: u64,
    pub bytes: u32,
    pub size: u32,
}

#[derive(Default)]
pub(crate) struct Copies {
    pub open: Vec<Copy>,
    pub committed: std::collections::VecDeque<Vec<Copy>>,
}

pub(crate) struct Warp {
    pub id: usize,
    pub rows: Vec<Row>,
    pub preds: Vec<u32>,
    /// Carry flag of each lane, and the stretch and kind that made it.
    pub carry: Row,
    pub carry_tag: [u32; 32],
    /// Lanes that have not exited.
    pub alive: u32,
    pub groups: Vec<Group>,
    /// Call instructions to return behind.
    pub stacks: Vec<Vec<u32>>,
    /// Local memory and parameter frames, lane after lane.
    pub local: Vec<u8>,
    pub frames: Vec<u8>,
    pub copies: Vec<Copies>,
    /// Lanes in which a row or predicate was written (for the register check).
    pub defined: Vec<u32>,
    pub pred_defined: Vec<u32>,
    pub executed: u64,
}

/// Dimensions of a launch and the place of a block in it.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub index: [u32; 3],
    pub dynamic_shared: u32,
}

impl Place {
    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Index of a thread from its linear number.
    pub(crate) fn thread(&self, linear: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [linear % x, linear / x % y, linear / x / y]
    }
}

const LOCAL_POISON: u8 = 0xa5;
const ROW_POISON: u64 = 0xdead_beef_dead_beef;

impl Warp {
    pub(crate) fn new(program: &Program, id: usize, place: &Place, check_registers: bool) -> Warp {
        let threads = place.threads() as usize - id * 32;
        let alive = ones(threads.min(32) as u32) as u32;
        let mut warp = Warp {
            id,
            rows: vec![[ROW_POISON; 32]; program.rows as usize],
            preds: vec![0; program.preds as usize],
            carry: [0; 32],
            carry_tag: [0; 32],
            alive,
            groups: vec![Group { pc: 0, depth: 0, mask: alive, key: 0, state: State::Ready }],
            stacks: vec![Vec::new(); 32],
            local: vec![LOCAL_POISON; program.local_bytes as usize * 32],
            frames: vec![LOCAL_POISON; program.frame_bytes as usize * 32],
            copies: Vec::new(),
            defined: Vec::new(),
            pred_defined: Vec::new(),
            executed: 0,
        };
        for &(row, init) in &program.inits {
            let values = &mut warp.rows[row as usize];
            match init {
                RowInit::Value(v) => values.fill(v),
                // Resolved when the program was built.
                RowInit::DynamicShared => values.fill(program.shared_bytes.into()),
                RowInit::Special(special) => {
                    for (lane, value) in values.iter_mut().enumerate() {
                        *value = special_value(special, program, place, id, lane).into();
                    }
                }
            }
        }
        for &(pred, value) in &program.pred_inits {
            warp.preds[pred as usize] = if value { !0 } else { 0 };
        }
        if check_registers {
            warp.defined = vec![0; program.rows as usize];
            warp.pred_defined = vec![0; program.preds as usize];
            for (row, _) in &program.inits {
                warp.defined[*row as usize] = !0;
            }
            for (pred, _) in &program.pred_inits {
                warp.pred_defined[*pred as usize] = !0;
            }
        }
        warp
    }

    /// Makes a group runnable or waiting, joined with one in the same state and place.
    pub(crate) fn insert(&mut self, group: Group) {
        let twin = self.groups.iter_mut().find(|g| {
            (g.pc, g.depth, g.key, g.state) == (group.pc, group.depth, group.key, group.state)
        });
        match twin {
            Some(twin) => twin.mask |= group.mask,
            None => self.groups.push(group),
        }
    }

    /// Lanes whose predicate holds.
    #[inline(always)]
    pub(crate) fn pred(&self, pred: u32, negated: bool) -> u32 {
        self.preds[pred as usize] ^ if negated { !0 } else { 0 }
    }

    #[inline(always)]
    pub(crate) fn set_pred(&mut self, pred: u32, mask: u32, value: u32) {
        let p = &mut self.preds[pred as usize];
        *p = *p & !mask | value & mask;
    }

    #[inline(always)]
    pub(crate) fn src(&self, x: &Instr, k: usize) -> &Row {
        &self.rows[x.src[k] as usize]
    }

    /// Writes the active lanes of a row.
    #[inline(always)]
    pub(crate) fn write(&mut self, row: u32, mask: u32, f: impl Fn(usize) -> u64) {
        let d = &mut self.rows[row as usize];
        if mask == !0 {
            for (lane, d) in d.iter_mut().enumerate() {
                *d = f(lane);
            }
        } else {
            for lane in lanes(mask) {
                d[lane] = f(lane);
            }
        }
    }

    #[inline(always)]
    pub(crate) fn map1(&mut self, x: &Instr, mask: u32, f: impl Fn(u64) -> u64) {
        let a = *self.src(x, 0);
        self.write(x.dst[0], mask, |l| f(a[l]));
    }

    #[inline(always)]
    pub(crate) fn map2(&mut self, x: &Instr, mask: u32, f: impl Fn(u64, u64) -> u64) {
        let (a, b) = (*self.src(x, 0), *self.src(x, 1));
        self.write(x.dst[0], mask, |l| f(a[l], b[l]));
    }

    #[inline(always)]
    pub(crate) fn map3(&mut self, x: &Instr, mask: u32, f: impl Fn(u64, u64, u64) -> u64) {
        let (a, b, c) = (*self.src(x, 0), *self.src(x, 1), *self.src(x, 2));
        self.write(x.dst[0], mask, |l| f(a[l], b[l], c[l]));
    }

    #[inline(always)]
    pub(crate) fn map4(&mut self, x: &Instr, mask: u32, f: impl Fn(u64, u64, u64, u64) -> u64) {
        let (a, b, c, e) = (*self.src(x, 0), *self.src(x, 1), *self.src(x, 2), *self.src(x, 3));
        self.write(x.dst[0], mask, |l| f(a[l], b[l], c[l], e[l]));
    }

    /// One row of each lane's own local memory or frame.
    pub(crate) fn private(
        memory: &mut [u8],
        lane: usize,
        offset: u64,
        n: usize,
    ) -> Option<&mut [u8]> {
        let per_lane = memory.len() / 32;
        let offset = usize::try_from(offset).ok()?;
        let end = offset.checked_add(n)?;
        memory[lane * per_lane..(lane + 1) * per_lane].get_mut(offset..end)
    }
}

fn special_value(
    special: Special,
    program: &Program,
    place: &Place,
    warp: usize,
    lane: usize,
) -> u32 {
    let bit = 1u32 << lane;
    let axis = |values: [u32; 3], k: u8| values[usize::from(k.min(2))];
    match special {
        Special::Tid(k) => axis(place.thread((warp * 32 + lane) as u32), k),
        Special::Ntid(k) => axis(place.block, k),
        Special::Ctaid(k) => axis(place.index, k),
        Special::Nctaid(k) => axis(place.grid, k),
        Special::LaneId => lane as u32,
        Special::WarpId => warp as u32,
        Special::WarpCount => place.threads().div_ceil(32),
        Special::LaneMaskEq => bit,
        Special::LaneMaskLt => bit - 1,
        Special::LaneMaskLe => bit | (bit - 1),
        Special::LaneMaskGe => !(bit - 1),
        Special::LaneMaskGt => !(bit | (bit - 1)),
        Special::DynamicSharedSize => place.dynamic_shared,
        Special::TotalSharedSize => program.shared_bytes + place.dynamic_shared,
    }
}
