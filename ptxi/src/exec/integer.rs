//! Integer arithmetic of 16, 32 and 64 bits. All of it wraps; division by zero gives
//! all ones and the remainder the dividend, as the hardware does.

use crate::instr::{Instr, IntOp};
use crate::types::{Type, ones, sign_extend};
use crate::warp::Warp;

/// One function per type: `$t` computes, `$u` is its unsigned twin (for the
/// zero-extended result), `$w` and `$wu` are twice as wide.
macro_rules! width {
    ($name:ident, $t:ty, $u:ty, $w:ty, $wu:ty) => {
        fn $name(warp: &mut Warp, x: &Instr, mask: u32, op: IntOp) {
            const BITS: u32 = <$t>::BITS;
            let high = |a: u64, b: u64| ((a as $t as $w).wrapping_mul(b as $t as $w) >> BITS) as $t;
            let wide = |a: u64, b: u64| (a as $t as $w).wrapping_mul(b as $t as $w);
            match op {
                IntOp::Add => warp.map2(x, mask, |a, b| (a as $u).wrapping_add(b as $u).into()),
                IntOp::AddSat => {
                    warp.map2(x, mask, |a, b| (a as $t).saturating_add(b as $t) as $u as u64)
                }
                IntOp::Sub => warp.map2(x, mask, |a, b| (a as $u).wrapping_sub(b as $u).into()),
                IntOp::SubSat => {
                    warp.map2(x, mask, |a, b| (a as $t).saturating_sub(b as $t) as $u as u64)
                }
                IntOp::MulLo => warp.map2(x, mask, |a, b| (a as $u).wrapping_mul(b as $u).into()),
                IntOp::MulHi => warp.map2(x, mask, |a, b| high(a, b) as $u as u64),
                IntOp::MulWide => warp.map2(x, mask, |a, b| wide(a, b) as $wu as u64),
                IntOp::MadLo => warp.map3(x, mask, |a, b, c| {
                    (a as $u).wrapping_mul(b as $u).wrapping_add(c as $u).into()
                }),
                IntOp::MadHi => {
                    warp.map3(x, mask, |a, b, c| high(a, b).wrapping_add(c as $t) as $u as u64)
                }
                IntOp::MadHiSat => {
                    warp.map3(x, mask, |a, b, c| high(a, b).saturating_add(c as $t) as $u as u64)
                }
                IntOp::MadWide => {
                    warp.map3(x, mask, |a, b, c| wide(a, b).wrapping_add(c as $w) as $wu as u64)
                }
                IntOp::Sad => warp.map3(x, mask, |a, b, c| {
                    (a as $t).abs_diff(b as $t).wrapping_add(c as $u).into()
                }),
                IntOp::Div => warp.map2(x, mask, |a, b| match b as $t {
                    0 => <$u>::MAX.into(),
                    b => (a as $t).wrapping_div(b) as $u as u64,
                }),
                IntOp::Rem => warp.map2(x, mask, |a, b| match b as $t {
                    0 => (a as $u).into(),
                    b => (a as $t).wrapping_rem(b) as $u as u64,
                }),
                IntOp::Neg => warp.map1(x, mask, |a| (a as $u).wrapping_neg().into()),
                IntOp::Min => warp.map2(x, mask, |a, b| (a as $t).min(b as $t) as $u as u64),
                IntOp::Max => warp.map2(x, mask, |a, b| (a as $t).max(b as $t) as $u as u64),
                _ => special(warp, x, mask, op, <$t>::MIN != 0),
            }
        }
    };
}

width!(u16_ops, u16, u16, u32, u32);
width!(u32_ops, u32, u32, u64, u64);
width!(u64_ops, u64, u64, u128, u128);
width!(s16_ops, i16, u16, i32, u32);
width!(s32_ops, i32, u32, i64, u64);
width!(s64_ops, i64, u64, i128, u128);

pub(super) fn execute(warp: &mut Warp, x: &Instr, mask: u32, op: IntOp, ty: Type) {
    if op == IntOp::Abs {
        let (bits, keep) = (ty.bits(), ones(ty.bits()));
        return warp.map1(x, mask, |a| sign_extend(a, bits).wrapping_abs() as u64 & keep);
    }
    match ty {
        Type::U16 => u16_ops(warp, x, mask, op),
        Type::U32 => u32_ops(warp, x, mask, op),
        Type::S16 => s16_ops(warp, x, mask, op),
        Type::S32 => s32_ops(warp, x, mask, op),
        Type::S64 => s64_ops(warp, x, mask, op),
        // The decoder lets no other type through.
        _ => u64_ops(warp, x, mask, op),
    }
}

/// 24-bit products and dot products: 32 bits only.
fn special(warp: &mut Warp, x: &Instr, mask: u32, op: IntOp, signed: bool) {
    let mul24 = |a: u64, b: u64| {
        let part = |v: u64| if signed { sign_extend(v, 24) } else { (v & 0xff_ffff) as i64 };
        part(a).wrapping_mul(part(b))
    };
    let low = |v: i64| u64::from(v as u32);
    match op {
        IntOp::Mul24Lo => warp.map2(x, mask, |a, b| low(mul24(a, b))),
        IntOp::Mul24Hi => warp.map2(x, mask, |a, b| low(mul24(a, b) >> 16)),
        IntOp::Mad24Lo => {
            warp.map3(x, mask, |a, b, c| low(mul24(a, b).wrapping_add(c as i64)));
        }
        IntOp::Mad24Hi => {
            warp.map3(x, mask, |a, b, c| low((mul24(a, b) >> 16).wrapping_add(c as i64)));
        }
        IntOp::Dp4a { a_signed, b_signed } => warp.map3(x, mask, |a, b, c| {
            let term = |k| part(a, k, 8, a_signed) * part(b, k, 8, b_signed);
            low((0..4).map(term).sum::<i64>().wrapping_add(c as i64))
        }),
        IntOp::Dp2a { a_signed, b_signed, high } => warp.map3(x, mask, |a, b, c| {
            let first = if high { 2 } else { 0 };
            let term = |k| part(a, k, 16, a_signed) * part(b, first + k, 8, b_signed);
            low((term(0) + term(1)).wrapping_add(c as i64))
        }),
        _ => {}
    }
}

/// Element `k` of a packed word.
fn part(word: u64, k: u32, bits: u32, signed: bool) -> i64 {
    let v = word >> (k * bits);
    if signed { sign_extend(v, bits) } else { (v & ones(bits)) as i64 }
}
