//! Integer arithmetic against Rust's, on edge values.

mod common;
use common::{check, check32, check64};

#[test]
fn add_sub_neg_abs() {
    check32("add.u32 %x0, %a0, %b0;", |a, b, _| a.wrapping_add(b));
    check32("add.s32 %x0, %a0, -7;", |a, _, _| a.wrapping_sub(7));
    check32("sub.s32 %x0, %a0, %b0;", |a, b, _| a.wrapping_sub(b));
    check32("neg.s32 %x0, %a0;", |a, _, _| a.wrapping_neg());
    check32("abs.s32 %x0, %a0;", |a, _, _| (a as i32).wrapping_abs() as u32);
    check64("add.u64 %x, %a, %b;", |a, b, _| a.wrapping_add(b));
    check64("sub.s64 %x, %a, %b;", |a, b, _| a.wrapping_sub(b));
    check64("neg.s64 %x, %a;", |a, _, _| a.wrapping_neg());
    check64("abs.s64 %x, %a;", |a, _, _| (a as i64).wrapping_abs() as u64);
    check32("add.u16 %xh, %ah, %bh; cvt.u32.u16 %x0, %xh;", |a, b, _| {
        (a as u16).wrapping_add(b as u16).into()
    });
    check32("sub.s16 %xh, %ah, %bh; cvt.s32.s16 %x0, %xh;", |a, b, _| {
        (a as i16).wrapping_sub(b as i16) as u32
    });
}

#[test]
fn products() {
    check32("mul.lo.u32 %x0, %a0, %b0;", |a, b, _| a.wrapping_mul(b));
    check32("mul.hi.u32 %x0, %a0, %b0;", |a, b, _| ((u64::from(a) * u64::from(b)) >> 32) as u32);
    check32("mul.hi.s32 %x0, %a0, %b0;", |a, b, _| {
        ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32
    });
    check64("mul.lo.s64 %x, %a, %b;", |a, b, _| a.wrapping_mul(b));
    check64("mul.hi.u64 %x, %a, %b;", |a, b, _| ((u128::from(a) * u128::from(b)) >> 64) as u64);
    check64("mul.hi.s64 %x, %a, %b;", |a, b, _| {
        ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
    });
    check64("mul.wide.u32 %x, %a0, %b0;", |a, b, _| u64::from(a as u32) * u64::from(b as u32));
    check64("mul.wide.s32 %x, %a0, %b0;", |a, b, _| {
        (i64::from(a as i32) * i64::from(b as i32)) as u64
    });
    check32("mul.wide.u16 %x0, %ah, %bh;", |a, b, _| (a & 0xffff).wrapping_mul(b & 0xffff));
    check32("mul.wide.s16 %x0, %ah, %bh;", |a, b, _| {
        (i32::from(a as i16) * i32::from(b as i16)) as u32
    });
    check32("mul.hi.u16 %xh, %ah, %bh; cvt.u32.u16 %x0, %xh;", |a, b, _| {
        ((a & 0xffff) * (b & 0xffff)) >> 16
    });
}

#[test]
fn multiply_add() {
    check32("mad.lo.s32 %x0, %a0, %b0, %c0;", |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    check32("mad.hi.u32 %x0, %a0, %b0, %c0;", |a, b, c| {
        (((u64::from(a) * u64::from(b)) >> 32) as u32).wrapping_add(c)
    });
    check64("mad.lo.u64 %x, %a, %b, %c;", |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    check64("mad.hi.s64 %x, %a, %b, %c;", |a, b, c| {
        (((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64).wrapping_add(c)
    });
    check64("mad.wide.u32 %x, %a0, %b0, %c;", |a, b, c| {
        (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c)
    });
    check64("mad.wide.s32 %x, %a0, %b0, %c;", |a, b, c| {
        ((i64::from(a as i32) * i64::from(b as i32)) as u64).wrapping_add(c)
    });
}

#[test]
fn division() {
    let all = u32::MAX;
    check32("div.u32 %x0, %a0, %b0;", |a, b, _| a.checked_div(b).unwrap_or(all));
    check32("rem.u32 %x0, %a0, %b0;", |a, b, _| a.checked_rem(b).unwrap_or(a));
    check32("div.s32 %x0, %a0, %b0;", |a, b, _| match b as i32 {
        0 => all,
        b => (a as i32).wrapping_div(b) as u32,
    });
    check32("rem.s32 %x0, %a0, %b0;", |a, b, _| match b as i32 {
        0 => a,
        b => (a as i32).wrapping_rem(b) as u32,
    });
    check64("div.u64 %x, %a, %b;", |a, b, _| a.checked_div(b).unwrap_or(u64::MAX));
    check64("rem.s64 %x, %a, %b;", |a, b, _| match b as i64 {
        0 => a,
        b => (a as i64).wrapping_rem(b) as u64,
    });
}

#[test]
fn extrema() {
    check32("min.u32 %x0, %a0, %b0;", |a, b, _| a.min(b));
    check32("max.s32 %x0, %a0, %b0;", |a, b, _| (a as i32).max(b as i32) as u32);
    check64("min.s64 %x, %a, %b;", |a, b, _| (a as i64).min(b as i64) as u64);
    check64("max.u64 %x, %a, %b;", |a, b, _| a.max(b));
    check32("min.s16 %xh, %ah, %bh; cvt.u32.u16 %x0, %xh;", |a, b, _| {
        (a as i16).min(b as i16) as u16 as u32
    });
}

#[test]
fn comparison_and_selection() {
    type Relation = (&'static str, fn(i128, i128) -> bool);
    let relations: [Relation; 6] = [
        ("eq", |a, b| a == b),
        ("ne", |a, b| a != b),
        ("lt", |a, b| a < b),
        ("le", |a, b| a <= b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
    ];
    for (word, holds) in relations {
        check32(&format!("setp.{word}.u32 %p, %a0, %b0; selp.b32 %x0, 1, 0, %p;"), |a, b, _| {
            holds(a.into(), b.into()).into()
        });
        check32(&format!("setp.{word}.s32 %p, %a0, %b0; selp.b32 %x0, 1, 0, %p;"), |a, b, _| {
            holds((a as i32).into(), (b as i32).into()).into()
        });
        check32(&format!("setp.{word}.s16 %p, %ah, %bh; selp.b32 %x0, 1, 0, %p;"), |a, b, _| {
            holds((a as i16).into(), (b as i16).into()).into()
        });
        check64(&format!("setp.{word}.s64 %p, %a, %b; selp.b64 %x, %c, 5, %p;"), |a, b, c| {
            if holds((a as i64).into(), (b as i64).into()) { c } else { 5 }
        });
    }
}

#[test]
fn joined_comparison() {
    check(
        "setp.eq.u32 %r, %c0, %e0; setp.lt.and.u32 %p|%q, %a0, %b0, !%r;
         selp.b32 %x0, 1, 0, %p; selp.b32 %y0, 1, 0, %q;",
        false,
        |[a, b, c, e]| {
            let less = (a as u32) < b as u32;
            let other = c as u32 != e as u32;
            [(less && other).into(), (!less && other).into()]
        },
    );
    check(
        "setp.gt.u64 %r, %c, %e; setp.ge.xor.s64 %p|%q, %a, %b, %r;
         selp.b32 %x0, 1, 0, %p; selp.b32 %y0, 1, 0, %q;",
        false,
        |[a, b, c, e]| {
            let (ge, other) = (a as i64 >= b as i64, c > e);
            [(ge ^ other).into(), (!ge ^ other).into()]
        },
    );
}

#[test]
fn predicate_logic() {
    check(
        "setp.lt.u32 %p, %a0, %b0; setp.lt.u32 %q, %b0, %c0; not.pred %r, %p; or.pred %r, %r, %q;
         xor.pred %s, %p, %q; and.pred %s, %s, %r; mov.pred %q, %s;
         selp.b32 %x0, 1, 0, %r; selp.b32 %y0, 1, 0, %q;",
        false,
        |[a, b, c, _]| {
            let (p, q) = ((a as u32) < b as u32, (b as u32) < c as u32);
            let r = !p || q;
            [r.into(), ((p ^ q) && r).into()]
        },
    );
}
