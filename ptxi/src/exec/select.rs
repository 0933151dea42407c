//! Comparisons, selections, predicate logic, packing and address conversion.

use std::cmp::Ordering;

use crate::instr::{Compare, Instr, Join, Op, PredOp};
use crate::memory::generic_base;
use crate::types::{Type, ones, sign_extend};
use crate::warp::{Row, Warp};

use super::float::{flush32, values32, values64};

pub(super) fn execute(warp: &mut Warp, x: &Instr, mask: u32) {
    match x.op {
        Op::Pred(op) => {
            let a = warp.pred(x.pred_src[0], x.pred_not[0]);
            let b = warp.pred(x.pred_src[1], x.pred_not[1]);
            let value = match op {
                PredOp::Mov => a,
                PredOp::Not => !a,
                PredOp::And => a & b,
                PredOp::Or => a | b,
                PredOp::Xor => a ^ b,
            };
            warp.set_pred(x.pred_dst[0], mask, value);
        }
        Op::Setp { cmp, join, ty, ftz } => {
            let raw = compare(warp.src(x, 0), warp.src(x, 1), cmp, ty, ftz);
            let other = warp.pred(x.pred_src[0], x.pred_not[0]);
            warp.set_pred(x.pred_dst[0], mask, joined(raw, other, join));
            warp.set_pred(x.pred_dst[1], mask, joined(!raw, other, join));
        }
        Op::Selp(ty) => {
            let p = warp.pred(x.pred_src[0], x.pred_not[0]);
            let (a, b, keep) = (*warp.src(x, 0), *warp.src(x, 1), ones(ty.bits()));
            warp.write(x.dst[0], mask, |l| if p >> l & 1 == 1 { a[l] } else { b[l] } & keep);
        }
        Op::Pack { bits } => {
            let mut out = [0; 32];
            for k in 0..usize::from(x.srcs) {
                let part = warp.src(x, k);
                for l in 0..32 {
                    out[l] |= (part[l] & ones(bits)) << (bits * k as u32);
                }
            }
            warp.write(x.dst[0], mask, |l| out[l]);
        }
        Op::Unpack { bits } => {
            let a = *warp.src(x, 0);
            for k in 0..usize::from(x.dsts) {
                warp.write(x.dst[k], mask, |l| a[l] >> (bits * k as u32) & ones(bits));
            }
        }
        Op::Cvta { space, to } => {
            let base = generic_base(space);
            let add = if to { base.wrapping_neg() } else { base };
            warp.map1(x, mask, |a| a.wrapping_add(add));
        }
        // Everything else has a module of its own.
        _ => {}
    }
}

fn joined(raw: u32, other: u32, join: Join) -> u32 {
    match join {
        Join::None => raw,
        Join::And => raw & other,
        Join::Or => raw | other,
        Join::Xor => raw ^ other,
    }
}

/// One bit a lane where `f` holds.
#[inline(always)]
fn bits(a: &Row, b: &Row, f: impl Fn(u64, u64) -> bool) -> u32 {
    let mut out = 0;
    for l in 0..32 {
        out |= u32::from(f(a[l], b[l])) << l;
    }
    out
}

fn compare(a: &Row, b: &Row, cmp: Compare, ty: Type, ftz: bool) -> u32 {
    if ty.float() {
        return compare_float(a, b, cmp, ty, ftz);
    }
    // Integers of any type in the order of i64.
    let (width, signed, keep) = (ty.bits(), ty.signed(), ones(ty.bits()));
    let flip = 1u64 << 63;
    let v = |a: u64| match signed {
        true => sign_extend(a, width),
        false => (a & keep ^ flip) as i64,
    };
    match cmp {
        Compare::Eq => bits(a, b, |a, b| (a ^ b) & keep == 0),
        Compare::Ne => bits(a, b, |a, b| (a ^ b) & keep != 0),
        Compare::Lt => bits(a, b, |a, b| v(a) < v(b)),
        Compare::Le => bits(a, b, |a, b| v(a) <= v(b)),
        Compare::Gt => bits(a, b, |a, b| v(a) > v(b)),
        Compare::Ge => bits(a, b, |a, b| v(a) >= v(b)),
        // Unordered comparisons do not exist on integers.
        _ => 0,
    }
}

fn compare_float(a: &Row, b: &Row, cmp: Compare, ty: Type, ftz: bool) -> u32 {
    let widen = |v: u64| match ty {
        Type::F32 => f64::from(flush32(values32(v), ftz)),
        _ => values64(v),
    };
    bits(a, b, |a, b| {
        let order = widen(a).partial_cmp(&widen(b));
        let unordered = order.is_none();
        match cmp {
            Compare::Eq => order.is_some_and(Ordering::is_eq),
            Compare::Ne => order.is_some_and(Ordering::is_ne),
            Compare::Lt => order.is_some_and(Ordering::is_lt),
            Compare::Le => order.is_some_and(Ordering::is_le),
            Compare::Gt => order.is_some_and(Ordering::is_gt),
            Compare::Ge => order.is_some_and(Ordering::is_ge),
            Compare::Equ => unordered || order.is_some_and(Ordering::is_eq),
            Compare::Neu => unordered || order.is_some_and(Ordering::is_ne),
            Compare::Ltu => unordered || order.is_some_and(Ordering::is_lt),
            Compare::Leu => unordered || order.is_some_and(Ordering::is_le),
            Compare::Gtu => unordered || order.is_some_and(Ordering::is_gt),
            Compare::Geu => unordered || order.is_some_and(Ordering::is_ge),
            Compare::Num => !unordered,
            Compare::Nan => unordered,
        }
    })
}
