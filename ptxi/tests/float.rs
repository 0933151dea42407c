//! Floating point and conversions, bit for bit against Rust's correctly rounded ones.

use std::cmp::Ordering;

mod common;
use common::{check, check32, check64, try_each};

/// All NaNs are one.
fn canon32(v: f32) -> u32 {
    if v.is_nan() { 0x7fff_ffff } else { v.to_bits() }
}

fn canon64(v: f64) -> u64 {
    if v.is_nan() { 0x7fff_ffff_ffff_ffff } else { v.to_bits() }
}

#[track_caller]
fn check_f32(instruction: &str, expect: impl Fn(f32, f32, f32) -> f32) {
    let body = format!(
        "{instruction} mov.b32 %x0, %fx; setp.nan.f32 %p, %fx, %fx; \
         selp.b32 %x0, 0x7fffffff, %x0, %p;"
    );
    check32(&body, |a, b, c| {
        canon32(expect(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c)))
    });
}

#[track_caller]
fn check_f64(instruction: &str, expect: impl Fn(f64, f64, f64) -> f64) {
    let body = format!(
        "{instruction} mov.b64 %x, %dx; setp.nan.f64 %p, %dx, %dx;
         selp.b64 %x, 0x7fffffffffffffff, %x, %p;"
    );
    check64(&body, |a, b, c| {
        canon64(expect(f64::from_bits(a), f64::from_bits(b), f64::from_bits(c)))
    });
}

/// Bit patterns are a poor choice of numbers: also numbers near one.
fn near_one() -> Vec<[u64; 4]> {
    let mut random = common::Random(3);
    let mut value = || ((random.next() >> 11) as f64 / 2f64.powi(52) - 1.0).to_bits();
    (0..500).map(|_| [value(), value(), value(), value()]).collect()
}

#[test]
fn double_arithmetic() {
    check_f64("add.rn.f64 %dx, %da, %db;", |a, b, _| a + b);
    check_f64("sub.f64 %dx, %da, %db;", |a, b, _| a - b);
    check_f64("mul.rn.f64 %dx, %da, %db;", |a, b, _| a * b);
    check_f64("fma.rn.f64 %dx, %da, %db, %dc;", f64::mul_add);
    check_f64("div.rn.f64 %dx, %da, %db;", |a, b, _| a / b);
    check_f64("rcp.rn.f64 %dx, %da;", |a, _, _| 1.0 / a);
    check_f64("sqrt.rn.f64 %dx, %da;", |a, _, _| a.sqrt());
    check_f64("neg.f64 %dx, %da;", |a, _, _| -a);
    check_f64("abs.f64 %dx, %da;", |a, _, _| a.abs());
    check_f64("fma.rn.f64 %dx, %da, 0d3FF8000000000000, 0d4000000000000000;", |a, _, _| {
        a.mul_add(1.5, 2.0)
    });
    let rows = near_one();
    let out = try_each("fma.rn.f64 %dx, %da, %db, %dc; mov.b64 %x, %dx;", true, &rows).unwrap();
    for (row, out) in rows.iter().zip(out) {
        let [a, b, c, _] = row.map(f64::from_bits);
        assert_eq!(out[0], a.mul_add(b, c).to_bits());
    }
}

#[test]
fn single_arithmetic() {
    check_f32("add.f32 %fx, %fa, %fb;", |a, b, _| a + b);
    check_f32("sub.rn.f32 %fx, %fa, %fb;", |a, b, _| a - b);
    check_f32("mul.f32 %fx, %fa, %fb;", |a, b, _| a * b);
    check_f32("fma.rn.f32 %fx, %fa, %fb, %fc;", f32::mul_add);
    check_f32("div.rn.f32 %fx, %fa, %fb;", |a, b, _| a / b);
    check_f32("rcp.rn.f32 %fx, %fa;", |a, _, _| 1.0 / a);
    check_f32("sqrt.rn.f32 %fx, %fa;", |a, _, _| a.sqrt());
    check_f32("mul.f32 %fx, %fa, 0f40400000;", |a, _, _| a * 3.0);
    check_f32("mul.f32 %fx, %fa, 1.5;", |a, _, _| a * 1.5);
    let flush = |v: f32| if v.is_subnormal() { 0f32.copysign(v) } else { v };
    check_f32("add.ftz.f32 %fx, %fa, %fb;", |a, b, _| flush(flush(a) + flush(b)));
    check_f32("mul.sat.f32 %fx, %fa, %fb;", |a, b, _| {
        let r = a * b;
        if r > 0.0 { r.min(1.0) } else { 0.0 }
    });
}

/// Directed roundings of a sum that is exact in 128-bit integers, of numbers below 2^26.
#[test]
fn directed_fma() {
    let mut random = common::Random(4);
    let mut value = |scale: i32| {
        let integer = (random.next() >> 38) as i64 - (1 << 25);
        (integer as f64 * 2f64.powi(scale)).to_bits()
    };
    // a b and c are integers times 2^-60; the sum has up to 100 bits.
    let rows: Vec<_> = (0..2000)
        .map(|i| [value(-5), value(-5), value(if i % 2 == 0 { -60 } else { 10 }), 0])
        .collect();
    for (word, round) in [("rz", 0i128), ("rm", -1), ("rp", 1)] {
        let code = format!("fma.{word}.f64 %dx, %da, %db, %dc; mov.b64 %x, %dx;");
        for (row, out) in rows.iter().zip(try_each(&code, true, &rows).unwrap()) {
            let [a, b, c, _] = row.map(f64::from_bits);
            let scaled = |v: f64, by: i32| (v * 2f64.powi(by)) as i128;
            let exact = scaled(a, 5) * scaled(b, 5) * (1 << 50) + scaled(c, 60);
            let got = f64::from_bits(out[0]);
            let rounded = scaled(got, 60);
            let is_right = match round {
                0 => rounded.abs() <= exact.abs(),
                -1 => rounded <= exact,
                _ => rounded >= exact,
            };
            assert!(is_right, "{word}: {a} * {b} + {c} = {got}");
            // No number lies between.
            let next = match round {
                0 if exact > 0 => got.next_up(),
                0 => got.next_down(),
                -1 => got.next_up(),
                _ => got.next_down(),
            };
            let next = scaled(next, 60);
            let is_nearest = match round {
                0 => next.abs() > exact.abs(),
                -1 => next > exact,
                _ => next < exact,
            };
            assert!(is_nearest, "{word}: {a} * {b} + {c} = {got}");
        }
    }
    // Through the whole range of exponents: up is the negative of down of the negatives, and at
    // most one number above it.
    let mut bits = common::Random(5);
    let any: Vec<_> = (0..2000).map(|_| [bits.next(), bits.next(), bits.next(), 0]).collect();
    let negated: Vec<_> =
        any.iter().map(|&[a, b, c, _]| [a ^ 1 << 63, b, c ^ 1 << 63, 0]).collect();
    let up = try_each("fma.rp.f64 %dx, %da, %db, %dc; mov.b64 %x, %dx;", true, &any).unwrap();
    let down = try_each("fma.rm.f64 %dx, %da, %db, %dc; mov.b64 %x, %dx;", true, &negated).unwrap();
    for (row, (up, down)) in any.iter().zip(up.iter().zip(&down)) {
        let [a, b, c, _] = row.map(f64::from_bits);
        let (up, down) = (f64::from_bits(up[0]), -f64::from_bits(down[0]));
        assert_eq!(canon64(up), canon64(down));
        let nearest = a.mul_add(b, c);
        assert!(nearest.is_nan() || up == nearest || up == nearest.next_up());
    }
    check_f32("fma.rm.f32 %fx, %fa, %fb, 0f4B000000;", |a, b, _| {
        // 2^23 added in f64 and rounded down: a b has 48 bits.
        let exact = f64::from(a) * f64::from(b);
        let sum = exact + 8388608.0;
        let mut near = sum as f32;
        let is_above = f64::from(near) > sum || (f64::from(near) == sum && sum - 8388608.0 > exact);
        if is_above && near.is_finite() {
            near = near.next_down();
        }
        if near == f32::INFINITY && exact.is_finite() { f32::MAX } else { near }
    });
}

#[test]
fn extrema() {
    let signed = |a: f64, b: f64, min: bool| match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a == b => {
            if a.is_sign_negative() == min {
                a
            } else {
                b
            }
        }
        _ => {
            if (a < b) == min {
                a
            } else {
                b
            }
        }
    };
    check_f64("min.f64 %dx, %da, %db;", |a, b, _| signed(a, b, true));
    check_f64("max.f64 %dx, %da, %db;", |a, b, _| signed(a, b, false));
    check_f32("min.NaN.f32 %fx, %fa, %fb;", |a, b, _| {
        if a.is_nan() || b.is_nan() { f32::NAN } else { signed(a.into(), b.into(), true) as f32 }
    });
}

#[test]
fn comparisons() {
    type Relation = (&'static str, fn(f64, f64) -> bool);
    let relations: [Relation; 10] = [
        ("eq", |a, b| a == b),
        ("ne", |a, b| a.partial_cmp(&b).is_some_and(Ordering::is_ne)),
        ("lt", |a, b| a < b),
        ("ge", |a, b| a >= b),
        ("equ", |a, b| a == b || a.is_nan() || b.is_nan()),
        ("neu", |a, b| a != b),
        ("ltu", |a, b| !matches!(a.partial_cmp(&b), Some(o) if o.is_ge())),
        ("geu", |a, b| !matches!(a.partial_cmp(&b), Some(o) if o.is_lt())),
        ("num", |a, b| !a.is_nan() && !b.is_nan()),
        ("nan", |a, b| a.is_nan() || b.is_nan()),
    ];
    for (word, holds) in relations {
        check(
            &format!("setp.{word}.f64 %p, %da, %db; selp.b32 %x0, 1, 0, %p;"),
            false,
            |[a, b, ..]| [holds(f64::from_bits(a), f64::from_bits(b)).into(), 0],
        );
        check32(&format!("setp.{word}.f32 %p, %fa, %fb; selp.b32 %x0, 1, 0, %p;"), |a, b, _| {
            holds(f32::from_bits(a).into(), f32::from_bits(b).into()).into()
        });
    }
}

#[test]
fn integers_to_integers() {
    check32("cvt.s32.s8 %x0, %a0;", |a, _, _| a as i8 as u32);
    check32("cvt.u32.u8 %x0, %a0;", |a, _, _| a as u8 as u32);
    check32("cvt.s8.s32 %x0, %a0;", |a, _, _| a as i8 as u32);
    check32("cvt.u16.u32 %xh, %a0; cvt.s32.s16 %x0, %xh;", |a, _, _| a as i16 as u32);
    check64("cvt.s64.s32 %x, %a0;", |a, _, _| a as i32 as u64);
    check64("cvt.u64.u32 %x, %a0;", |a, _, _| a as u32 as u64);
    check64("cvt.u64.s16 %x, %ah;", |a, _, _| a as i16 as u64);
    check32("cvt.sat.s8.s32 %x0, %a0;", |a, _, _| (a as i32).clamp(-128, 127) as u32);
    check32("cvt.sat.u16.s32 %xh, %a0; cvt.u32.u16 %x0, %xh;", |a, _, _| {
        (a as i32).clamp(0, 65535) as u32
    });
    check("cvt.sat.u32.s64 %x0, %a; cvt.u32.u64 %y0, %a;", false, |[a, ..]| {
        [(a as i64).clamp(0, u32::MAX.into()) as u64, a & 0xffff_ffff]
    });
}

#[test]
fn integers_to_floats() {
    check_f64("cvt.rn.f64.u64 %dx, %a;", |a, _, _| a.to_bits() as f64);
    check_f64("cvt.rn.f64.s64 %dx, %a;", |a, _, _| a.to_bits() as i64 as f64);
    check_f64("cvt.rn.f64.u32 %dx, %a0;", |a, _, _| a.to_bits() as u32 as f64);
    check_f32("cvt.rn.f32.s32 %fx, %a0;", |a, _, _| a.to_bits() as i32 as f32);
    // The directed roundings bound the value, and nearest is one of the two.
    let body = "cvt.rm.f64.u64 %dx, %a; mov.b64 %x, %dx; cvt.rp.f64.u64 %dy, %a; mov.b64 %y, %dy;";
    check(body, true, |[a, ..]| {
        let nearest = a as f64;
        let down = if nearest as u128 > a.into() { nearest.next_down() } else { nearest };
        let up = if (nearest as u128) < a.into() { nearest.next_up() } else { nearest };
        [down.to_bits(), up.to_bits()]
    });
    check("cvt.rz.f32.s64 %fx, %a; mov.b32 %x0, %fx;", false, |[a, ..]| {
        let magnitude = (a as i64).unsigned_abs();
        let nearest = magnitude as f32;
        let zero = if nearest as u128 > magnitude.into() { nearest.next_down() } else { nearest };
        let signed = if (a as i64) < 0 { -zero } else { zero };
        [signed.to_bits().into(), 0]
    });
}

#[test]
fn floats_to_integers() {
    check("cvt.rzi.s64.f64 %x, %da; cvt.rni.u64.f64 %y, %da;", true, |[a, ..]| {
        let v = f64::from_bits(a);
        if v.is_nan() { [1 << 63; 2] } else { [v as i64 as u64, v.round_ties_even() as u64] }
    });
    check("cvt.rmi.s32.f32 %x0, %fa; cvt.rpi.u32.f32 %y0, %fa;", false, |[a, ..]| {
        let v = f32::from_bits(a as u32);
        [(v.floor() as i32 as u32).into(), (v.ceil() as u32).into()]
    });
    let rows = near_one();
    let body =
        "mul.f64 %dx, %da, 0d40F0000000000000; cvt.rni.s32.f64 %x0, %dx; cvt.rmi.s32.f64 %y0, %dx;";
    for (row, out) in rows.iter().zip(try_each(body, false, &rows).unwrap()) {
        let v = f64::from_bits(row[0]) * 65536.0;
        let want = [v.round_ties_even(), v.floor()].map(|w| u64::from(w as i32 as u32));
        assert_eq!(out, want);
    }
}

#[test]
fn floats_to_floats() {
    check(
        "cvt.rn.f32.f64 %fx, %da; mov.b32 %x0, %fx; setp.nan.f64 %p, %da, %da; \
         selp.b32 %x0, 0, %x0, %p;",
        false,
        |[a, ..]| {
            let v = f64::from_bits(a);
            [if v.is_nan() { 0 } else { (v as f32).to_bits().into() }, 0]
        },
    );
    check_f64("cvt.f64.f32 %dx, %fa;", |a, _, _| f32::from_bits(a.to_bits() as u32).into());
    check_f64("cvt.rmi.f64.f64 %dx, %da;", |a, _, _| a.floor());
    check_f32("cvt.rni.f32.f32 %fx, %fa;", |a, _, _| a.round_ties_even());
    check_f32("cvt.sat.f32.f32 %fx, %fa;", |a, _, _| if a > 0.0 { a.min(1.0) } else { 0.0 });
    let rows = near_one();
    let body =
        "cvt.rz.f32.f64 %fx, %da; mov.b32 %x0, %fx; cvt.rp.f32.f64 %fy, %da; mov.b32 %y0, %fy;";
    for (row, out) in rows.iter().zip(try_each(body, false, &rows).unwrap()) {
        let v = f64::from_bits(row[0]);
        let [toward, up] = out.map(|b| f64::from(f32::from_bits(b as u32)));
        assert!(toward.abs() <= v.abs() && up >= v);
        assert!((toward - v).abs() < 1e-7 && (up - v).abs() < 1e-7);
    }
}
