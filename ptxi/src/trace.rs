//! Traces: all that a run does besides computing values.
//!
//! A step is one warp instruction: its place in the program, the lanes that execute it, and the
//! addresses of its accesses to memory. Branches, predicates, numbers of instructions, bank
//! conflicts and sectors follow from the steps, so that two runs with equal traces agree in all of
//! them. Values are in no step.

use crate::instr::{Instr, Op, WarpOp};
use crate::types::lanes;
use crate::warp::{Group, Warp};

/// The steps of one or several launches, in the order of execution.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Trace(Vec<Step>);

/// A warp instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Step {
    /// Index of the instruction, and its line in the PTX text, from 1.
    pc: u32,
    line: u32,
    /// Lanes that stand at the instruction, and lanes that execute it.
    at: u32,
    lanes: u32,
    /// Hash of the addresses of these lanes.
    addresses: u64,
}

/// A step in which two traces differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Index of the step.
    pub step: usize,
    /// Lines of the PTX text in the two traces, from 1; 0 where a trace has ended.
    pub lines: [u32; 2],
    /// Lanes that execute the instruction.
    pub lanes: [u32; 2],
}

impl Trace {
    /// Number of warp instructions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if nothing was executed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the first step in which the traces differ; `None` if they are equal.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<Difference> {
        let (a, b) = (&self.0, &other.0);
        let common = a.iter().zip(b).position(|(a, b)| a != b);
        let step = common.or((a.len() != b.len()).then_some(a.len().min(b.len())))?;
        let of = |steps: &[Step]| steps.get(step).map_or((0, 0), |step| (step.line, step.lanes));
        let ((first, first_lanes), (second, second_lanes)) = (of(a), of(b));
        Some(Difference { step, lines: [first, second], lanes: [first_lanes, second_lanes] })
    }

    /// Appends the steps of a later launch.
    pub(crate) fn append(&mut self, mut later: Self) {
        self.0.append(&mut later.0);
    }

    /// Notes an instruction before it is executed.
    pub(crate) fn note(&mut self, warp: &Warp, x: &Instr, group: &Group, mask: u32) {
        let address_sources = match x.op {
            Op::Load { .. } | Op::Store { .. } | Op::Atomic { .. } => 1,
            Op::Warp(WarpOp::LdMatrix { .. }) => 1,
            Op::CopyAsync { .. } => 2,
            _ => 0,
        };
        // FNV-1a over words: equal addresses have equal hashes.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for source in 0..address_sources {
            for lane in lanes(mask) {
                hash = (hash ^ warp.src(x, source)[lane]).wrapping_mul(0x0100_0000_01b3);
            }
        }
        let Group { pc, mask: at, .. } = *group;
        self.0.push(Step { pc, line: x.line, at, lanes: mask, addresses: hash });
    }
}
