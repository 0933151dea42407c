//! Integer arithmetic of 16, 32 and 64 bits. All of it wraps; division by zero gives
//! all ones and the remainder the dividend, as the hardware does.

use crate::instr::{Instr, IntOp};
use crate::types::{Type, sign_extend};
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
                IntOp::Sub => warp.map2(x, mask, |a, b| (a as $u).wrapping_sub(b as $u).into()),
                IntOp::MulLo => warp.map2(x, mask, |a, b| (a as $u).wrapping_mul(b as $u).into()),
                IntOp::MulHi => warp.map2(x, mask, |a, b| high(a, b) as $u as u64),
                IntOp::MulWide => warp.map2(x, mask, |a, b| wide(a, b) as $wu as u64),
                IntOp::MadLo => warp.map3(x, mask, |a, b, c| {
                    (a as $u).wrapping_mul(b as $u).wrapping_add(c as $u).into()
                }),
                IntOp::MadHi => {
                    warp.map3(x, mask, |a, b, c| high(a, b).wrapping_add(c as $t) as $u as u64)
                }
                IntOp::MadWide => {
                    warp.map3(x, mask, |a, b, c| wide(a, b).wrapping_add(c as $w) as $wu as u64)
                }
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
                IntOp::Abs => {
                    warp.map1(x, mask, |a| sign_extend(a, BITS).wrapping_abs() as $u as u64)
                }
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
