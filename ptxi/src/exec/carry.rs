//! Carry chains: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc` of 32 and 64 bits.
//!
//! The flag follows the hardware: after an addition it is the carry, after a
//! subtraction it is 1 when there was *no* borrow. PTX leaves open what an `addc`
//! makes of a borrow, so chains that mix the two are an error unless the check is off.

use crate::error::FaultKind;
use crate::instr::{CarryOp, Instr};
use crate::types::{Type, lanes, ones};
use crate::warp::{Trap, Warp};

/// The tag of a flag: the stretch of code that made it, and how.
fn tag(x: &Instr, subtracts: bool) -> u32 {
    x.stretch << 1 | u32::from(subtracts)
}

pub(super) fn check(
    warp: &mut Warp,
    x: &Instr,
    mask: u32,
    op: CarryOp,
    reads: bool,
    writes: bool,
) -> Result<(), Trap> {
    let own = tag(x, op == CarryOp::Sub);
    if reads {
        for lane in lanes(mask) {
            let found = warp.carry_tag[lane];
            if found != own {
                let kind = if found == own ^ 1 {
                    FaultKind::MixedCarry
                } else {
                    FaultKind::UndefinedCarry
                };
                return Err(Trap::new(lane, kind));
            }
        }
    }
    if writes {
        for lane in lanes(mask) {
            warp.carry_tag[lane] = own;
        }
    }
    Ok(())
}

/// Applies `f(a, b, c, carry in) -> (result, carry out)` to the active lanes.
#[inline(always)]
fn chain(
    warp: &mut Warp,
    x: &Instr,
    mask: u32,
    (reads, writes, fresh): (bool, bool, u64),
    f: impl Fn(u64, u64, u64, u64) -> (u64, u64),
) {
    let c = if x.srcs > 2 { *warp.src(x, 2) } else { [0; 32] };
    let (a, b) = (*warp.src(x, 0), *warp.src(x, 1));
    let Warp { rows, carry, .. } = warp;
    let d = &mut rows[x.dst[0] as usize];
    let mut lane = |l: usize| {
        let flag = if reads { carry[l] } else { fresh };
        let (result, out) = f(a[l], b[l], c[l], flag);
        d[l] = result;
        if writes {
            carry[l] = out;
        }
    };
    if mask == !0 {
        (0..32).for_each(&mut lane);
    } else {
        lanes(mask).for_each(&mut lane);
    }
}

pub(super) fn execute(
    warp: &mut Warp,
    x: &Instr,
    mask: u32,
    op: CarryOp,
    ty: Type,
    reads: bool,
    writes: bool,
) {
    // A subtraction without carry in subtracts no borrow: flag 1.
    let mode = (reads, writes, u64::from(op == CarryOp::Sub));
    if ty.bits() == 32 {
        let keep = ones(32);
        let add = |a: u64, b: u64, carry: u64| {
            let s = a + b + carry;
            (s & keep, s >> 32)
        };
        return match op {
            CarryOp::Add => chain(warp, x, mask, mode, |a, b, _, f| add(a & keep, b & keep, f)),
            // a - b - 1 + flag = a + !b + flag, and its carry is the new flag.
            CarryOp::Sub => chain(warp, x, mask, mode, |a, b, _, f| add(a & keep, !b & keep, f)),
            CarryOp::MadLo => {
                chain(warp, x, mask, mode, |a, b, c, f| add(a.wrapping_mul(b) & keep, c & keep, f));
            }
            CarryOp::MadHi if ty.signed() => chain(warp, x, mask, mode, |a, b, c, f| {
                let high = (i64::from(a as i32) * i64::from(b as i32)) >> 32;
                add(high as u64 & keep, c & keep, f)
            }),
            CarryOp::MadHi => chain(warp, x, mask, mode, |a, b, c, f| {
                add(((a & keep) * (b & keep)) >> 32, c & keep, f)
            }),
        };
    }
    let add = |a: u64, b: u64, carry: u64| {
        let s = u128::from(a) + u128::from(b) + u128::from(carry);
        (s as u64, (s >> 64) as u64)
    };
    match op {
        CarryOp::Add => chain(warp, x, mask, mode, |a, b, _, f| add(a, b, f)),
        CarryOp::Sub => chain(warp, x, mask, mode, |a, b, _, f| add(a, !b, f)),
        CarryOp::MadLo => chain(warp, x, mask, mode, |a, b, c, f| add(a.wrapping_mul(b), c, f)),
        CarryOp::MadHi if ty.signed() => chain(warp, x, mask, mode, |a, b, c, f| {
            let high = (i128::from(a as i64) * i128::from(b as i64)) >> 64;
            add(high as u64, c, f)
        }),
        CarryOp::MadHi => chain(warp, x, mask, mode, |a, b, c, f| {
            let high = (u128::from(a) * u128::from(b)) >> 64;
            add(high as u64, c, f)
        }),
    }
}
