//! Carry chains against u128 arithmetic, and what may not be chained.

mod common;
use common::{check, operands, try_each};
use ptxi::{Error, FaultKind};

fn split(v: u128) -> [u64; 2] {
    [v as u64, (v >> 64) as u64]
}

fn join(low: u64, high: u64) -> u128 {
    u128::from(low) | u128::from(high) << 64
}

#[test]
fn additions() {
    check("add.cc.u64 %x, %a, %c; addc.u64 %y, %b, %e;", true, |[a, b, c, e]| {
        split(join(a, b).wrapping_add(join(c, e)))
    });
    // The same number in four 32-bit limbs.
    check(
        "mov.b64 {%t0, %t1}, %a; mov.b64 {%t2, %t3}, %b; mov.b64 {%t4, %t5}, %c; \
         mov.b64 {%t6, %t7}, %e;
         add.cc.u32 %t8, %t0, %t4; addc.cc.u32 %t9, %t1, %t5; addc.cc.s32 %t10, %t2, %t6; \
         addc.u32 %t11, %t3, %t7;
         mov.b64 %x, {%t8, %t9}; mov.b64 %y, {%t10, %t11};",
        true,
        |[a, b, c, e]| split(join(a, b).wrapping_add(join(c, e))),
    );
    check("add.cc.u32 %x0, %a0, %b0; addc.u32 %y0, 0, 0;", false, |[a, b, ..]| {
        let (sum, carry) = (a as u32).overflowing_add(b as u32);
        [sum.into(), carry.into()]
    });
}

#[test]
fn subtractions() {
    check("sub.cc.u64 %x, %a, %c; subc.u64 %y, %b, %e;", true, |[a, b, c, e]| {
        split(join(a, b).wrapping_sub(join(c, e)))
    });
    check(
        "mov.b64 {%t0, %t1}, %a; mov.b64 {%t2, %t3}, %b;
         sub.cc.u32 %t0, %t0, %t2; subc.cc.u32 %t1, %t1, %t3; subc.u32 %y0, 0, 0;
         mov.b64 %x, {%t0, %t1}; cvt.u64.u32 %y, %y0;",
        true,
        |[a, b, ..]| [a.wrapping_sub(b), if a < b { 0xffff_ffff } else { 0 }],
    );
}

#[test]
fn multiply_adds() {
    // 64 x 64 bits and a 128-bit addend, by 64-bit limbs.
    check("mad.lo.cc.u64 %x, %a, %b, %c; madc.hi.u64 %y, %a, %b, %e;", true, |[a, b, c, e]| {
        split((u128::from(a) * u128::from(b)).wrapping_add(join(c, e)))
    });
    // The same by 32-bit limbs: the columns of the schoolbook.
    check(
        "mov.b64 {%t0, %t1}, %a; mov.b64 {%t2, %t3}, %b; mov.b64 {%t4, %t5}, %c; \
         mov.b64 {%t6, %t7}, %e;
         mad.lo.cc.u32 %t4, %t0, %t2, %t4;
         madc.hi.cc.u32 %t5, %t0, %t2, %t5;
         madc.lo.cc.u32 %t6, %t1, %t3, %t6;
         madc.hi.u32 %t7, %t1, %t3, %t7;
         mad.lo.cc.u32 %t5, %t0, %t3, %t5;
         madc.hi.cc.u32 %t6, %t0, %t3, %t6;
         addc.u32 %t7, %t7, 0;
         mad.lo.cc.u32 %t5, %t1, %t2, %t5;
         madc.hi.cc.u32 %t6, %t1, %t2, %t6;
         addc.u32 %t7, %t7, 0;
         mov.b64 %x, {%t4, %t5}; mov.b64 %y, {%t6, %t7};",
        true,
        |[a, b, c, e]| split((u128::from(a) * u128::from(b)).wrapping_add(join(c, e))),
    );
    check("mad.hi.cc.s32 %x0, %a0, %b0, %c0; addc.u32 %y0, 0, 0;", false, |[a, b, c, _]| {
        let high = ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32;
        let (sum, carry) = high.overflowing_add(c as u32);
        [sum.into(), carry.into()]
    });
    check("mad.hi.cc.s64 %x, %a, %b, %c; addc.u64 %y, 0, 0;", true, |[a, b, c, _]| {
        let high = ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64;
        let (sum, carry) = high.overflowing_add(c);
        [sum, carry.into()]
    });
}

#[test]
fn guards_leave_flags_of_other_lanes() {
    check(
        "setp.lt.u32 %p, %a0, %b0; add.cc.u32 %t0, 0xffffffff, 1;
         @%p add.cc.u32 %t0, 0, 0; addc.u32 %x0, 0, 0;",
        false,
        |[a, b, ..]| [u64::from((a as u32) >= b as u32), 0],
    );
}

fn fault(body: &str) -> FaultKind {
    match try_each(body, false, &operands()[..40]) {
        Err(Error::Fault(fault)) => fault.kind,
        other => panic!("no fault: {other:?}"),
    }
}

#[test]
fn mixed_chains_are_faults() {
    assert_eq!(fault("sub.cc.u32 %x0, %a0, %b0; addc.u32 %y0, 0, 0;"), FaultKind::MixedCarry);
    assert_eq!(fault("add.cc.u32 %x0, %a0, %b0; subc.u32 %y0, 0, 0;"), FaultKind::MixedCarry);
    assert_eq!(fault("sub.cc.u32 %x0, %a0, %b0; madc.lo.u32 %y0, 1, 1, 0;"), FaultKind::MixedCarry);
}

#[test]
fn carries_do_not_cross_labels() {
    assert_eq!(fault("addc.u32 %x0, 0, 0;"), FaultKind::UndefinedCarry);
    assert_eq!(
        fault("add.cc.u32 %x0, %a0, %b0; L: addc.u32 %y0, 0, 0;"),
        FaultKind::UndefinedCarry
    );
    // Only some lanes made a carry.
    let some = "setp.lt.u32 %p, %a0, %b0; @%p add.cc.u32 %x0, %a0, %b0; addc.u32 %y0, 0, 0;";
    assert_eq!(fault(some), FaultKind::UndefinedCarry);
}
