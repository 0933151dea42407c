//! Names of special registers and atomic operations, and the counting class of an operation.

use crate::class::Class;
use crate::instr::{AtomicOp, IntOp, Op, RowInit, Special, WarpOp};
use crate::types::Space;

/// A special register that is constant for a thread.
pub(crate) fn special(name: &str, part: Option<&str>) -> Option<RowInit> {
    let axis = match part {
        Some("x") => 0,
        Some("y") => 1,
        Some("z") => 2,
        Some(_) => return None,
        None => 3,
    };
    if axis < 3 {
        return Some(RowInit::Special(match name {
            "%tid" => Special::Tid(axis),
            "%ntid" => Special::Ntid(axis),
            "%ctaid" => Special::Ctaid(axis),
            "%nctaid" => Special::Nctaid(axis),
            // Without clusters every block is a cluster of its own.
            "%clusterid" => Special::Ctaid(axis),
            "%nclusterid" => Special::Nctaid(axis),
            "%cluster_ctaid" => return Some(RowInit::Value(0)),
            "%cluster_nctaid" => return Some(RowInit::Value(1)),
            _ => return None,
        }));
    }
    Some(RowInit::Special(match name {
        "%laneid" => Special::LaneId,
        "%warpid" => Special::WarpId,
        "%nwarpid" => Special::WarpCount,
        "%lanemask_eq" => Special::LaneMaskEq,
        "%lanemask_le" => Special::LaneMaskLe,
        "%lanemask_lt" => Special::LaneMaskLt,
        "%lanemask_ge" => Special::LaneMaskGe,
        "%lanemask_gt" => Special::LaneMaskGt,
        "%dynamic_smem_size" => Special::DynamicSharedSize,
        "%total_smem_size" => Special::TotalSharedSize,
        "WARP_SZ" => return Some(RowInit::Value(32)),
        "%smid" | "%gridid" | "%cluster_ctarank" | "%is_explicit_cluster" => {
            return Some(RowInit::Value(0));
        }
        "%nsmid" | "%cluster_nctarank" => return Some(RowInit::Value(1)),
        _ => return None,
    }))
}

fn load(space: Space) -> Class {
    match space {
        Space::Global => Class::GlobalLoad,
        Space::Shared => Class::SharedLoad,
        Space::Local => Class::LocalLoad,
        Space::Param | Space::Const => Class::Param,
        Space::Generic => Class::Generic,
    }
}

fn store(space: Space) -> Class {
    match space {
        Space::Global => Class::GlobalStore,
        Space::Shared => Class::SharedStore,
        Space::Local => Class::LocalStore,
        Space::Param | Space::Const => Class::Param,
        Space::Generic => Class::Generic,
    }
}

/// The class an operation is counted in.
pub(crate) fn class(op: &Op) -> Class {
    match op {
        Op::Nop | Op::Trap => Class::Other,
        Op::Mov(_) | Op::Pack { .. } | Op::Unpack { .. } | Op::Cvta { .. } => Class::Move,
        Op::Pred(_) | Op::Setp { .. } | Op::Selp(_) => Class::Compare,
        Op::Int(op, _) => match op {
            IntOp::Div | IntOp::Rem => Class::IntDiv,
            IntOp::Add | IntOp::Sub => Class::IntAdd,
            IntOp::Abs | IntOp::Neg | IntOp::Min | IntOp::Max => Class::IntAdd,
            _ => Class::IntMul,
        },
        Op::Carry { op, .. } => match op {
            crate::instr::CarryOp::Add | crate::instr::CarryOp::Sub => Class::IntAdd,
            _ => Class::IntMul,
        },
        Op::Bit(..) => Class::Bits,
        Op::Float { double: false, .. } => Class::Float32,
        Op::Float { double: true, .. } => Class::Float64,
        Op::Cvt { .. } => Class::Convert,
        Op::Load { space, .. } => load(*space),
        Op::Store { space, .. } => store(*space),
        Op::Atomic { .. } => Class::Atomic,
        Op::CopyAsync { .. } | Op::CopyCommit | Op::CopyWait { .. } => Class::AsyncCopy,
        Op::Warp(op) => match op {
            WarpOp::Sync => Class::WarpSync,
            WarpOp::Shfl(_) => Class::Shuffle,
            WarpOp::Mma { .. } => Class::Matrix,
            WarpOp::LdMatrix { space, .. } => load(*space),
            _ => Class::Vote,
        },
        Op::ActiveMask => Class::Vote,
        Op::Branch { .. } | Op::BranchIndexed { .. } | Op::Call { .. } | Op::Return | Op::Exit => {
            Class::Branch
        }
        Op::Barrier { .. } => Class::Barrier,
    }
}

pub(super) const ATOMICS: [(&str, AtomicOp); 10] = [
    ("add", AtomicOp::Add),
    ("min", AtomicOp::Min),
    ("max", AtomicOp::Max),
    ("and", AtomicOp::And),
    ("or", AtomicOp::Or),
    ("xor", AtomicOp::Xor),
    ("exch", AtomicOp::Exch),
    ("cas", AtomicOp::Cas),
    ("inc", AtomicOp::Inc),
    ("dec", AtomicOp::Dec),
];
