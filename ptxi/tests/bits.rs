//! Logic, shifts, permutations and bit fields against Rust's.

mod common;
use common::{check, check32, check64};

#[test]
fn logic() {
    check32("and.b32 %x0, %a0, %b0;", |a, b, _| a & b);
    check32("or.b32 %x0, %a0, %b0;", |a, b, _| a | b);
    check32("xor.b32 %x0, %a0, 0xff;", |a, _, _| a ^ 255);
    check32("not.b32 %x0, %a0;", |a, _, _| !a);
    check64("and.b64 %x, %a, -8;", |a, _, _| a & !7);
    check64("not.b64 %x, %a;", |a, _, _| !a);
    check32("xor.b16 %xh, %ah, %bh; cvt.u32.u16 %x0, %xh;", |a, b, _| (a ^ b) & 0xffff);
    check32("not.b16 %xh, %ah; cvt.u32.u16 %x0, %xh;", |a, _, _| !a & 0xffff);
}

#[test]
fn lop3_tables() {
    for table in [0u32, 0x80, 0xfe, 0x96, 0xe8, 0xca, 0x1e, 0x7f, 0xff] {
        check32(&format!("lop3.b32 %x0, %a0, %b0, %c0, {table};"), |a, b, c| {
            (0..32).fold(0, |out, k| {
                let index = (a >> k & 1) << 2 | (b >> k & 1) << 1 | c >> k & 1;
                out | (table >> index & 1) << k
            })
        });
    }
}

#[test]
fn shifts() {
    check32("shl.b32 %x0, %a0, %b0;", |a, n, _| a.checked_shl(n).unwrap_or(0));
    check32("shr.u32 %x0, %a0, %b0;", |a, n, _| a.checked_shr(n).unwrap_or(0));
    check32("shr.s32 %x0, %a0, %b0;", |a, n, _| ((a as i32) >> n.min(31)) as u32);
    check64("shl.b64 %x, %a, %b0;", |a, n, _| a.checked_shl(n as u32).unwrap_or(0));
    check64("shr.u64 %x, %a, %b0;", |a, n, _| a.checked_shr(n as u32).unwrap_or(0));
    check64("shr.s64 %x, %a, %b0;", |a, n, _| ((a as i64) >> (n as u32).min(63)) as u64);
    check32("shl.b16 %xh, %ah, %b0; cvt.u32.u16 %x0, %xh;", |a, n, _| {
        (a as u16).checked_shl(n).unwrap_or(0).into()
    });
    let pair = |a: u32, b: u32| u64::from(b) << 32 | u64::from(a);
    check32("shf.l.wrap.b32 %x0, %a0, %b0, %c0;", |a, b, n| {
        ((pair(a, b) << (n & 31)) >> 32) as u32
    });
    check32("shf.r.wrap.b32 %x0, %a0, %b0, %c0;", |a, b, n| (pair(a, b) >> (n & 31)) as u32);
    check32("shf.l.clamp.b32 %x0, %a0, %b0, %c0;", |a, b, n| {
        if n >= 32 { a } else { ((pair(a, b) << n) >> 32) as u32 }
    });
    check32("shf.r.clamp.b32 %x0, %a0, %b0, %c0;", |a, b, n| (pair(a, b) >> n.min(32)) as u32);
}

#[test]
fn prmt() {
    let bytes = |a: u32, b: u32| [a.to_le_bytes(), b.to_le_bytes()].concat();
    check32("prmt.b32 %x0, %a0, %b0, %c0;", |a, b, c| {
        u32::from_le_bytes(std::array::from_fn(|i| {
            let selector = c >> (4 * i) & 15;
            let byte = bytes(a, b)[selector as usize & 7];
            if selector & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte }
        }))
    });
}

/// Bit by bit, as the ISA words it.
fn bfe(a: u64, start: u64, len: u64, bits: u64, signed: bool) -> u64 {
    let (start, len) = (start & 255, len & 255);
    let sign = if !signed || len == 0 { 0 } else { a >> (start + len - 1).min(bits - 1) & 1 };
    (0..bits).fold(0, |out, k| {
        let bit = if k < len && start + k < bits { a >> (start + k) & 1 } else { sign };
        out | bit << k
    })
}

#[test]
fn bit_fields() {
    check32("bfe.u32 %x0, %a0, %b0, %c0;", |a, b, c| {
        bfe(a.into(), b.into(), c.into(), 32, false) as u32
    });
    check32("bfe.s32 %x0, %a0, %b0, %c0;", |a, b, c| {
        bfe(a.into(), b.into(), c.into(), 32, true) as u32
    });
    check64("bfe.u64 %x, %a, %b0, %c0;", |a, b, c| bfe(a, b, c, 64, false));
    check64("bfe.s64 %x, %a, %b0, %c0;", |a, b, c| bfe(a, b, c, 64, true));
    check("bfi.b64 %x, %a, %b, %c0, %e0;", true, |[a, b, c, e]| {
        let (start, len) = (c & 255, e & 255);
        let places = (0..len).filter(|k| start + k < 64);
        [places.fold(b, |out, k| out & !(1 << (start + k)) | (a >> k & 1) << (start + k)), 0]
    });
    check("bfi.b32 %x0, %a0, %b0, %c0, %e0;", false, |[a, b, c, e]| {
        let (start, len) = (c & 255, e & 255);
        let places = (0..len).filter(|k| start + k < 32);
        let b = b & 0xffff_ffff;
        [places.fold(b, |out, k| out & !(1 << (start + k)) | (a >> k & 1) << (start + k)), 0]
    });
}

#[test]
fn counting() {
    check32("clz.b32 %x0, %a0;", |a, _, _| a.leading_zeros());
    check("clz.b64 %x0, %a; popc.b64 %y0, %a;", false, |[a, ..]| {
        [a.leading_zeros().into(), a.count_ones().into()]
    });
    check32("popc.b32 %x0, %a0;", |a, _, _| a.count_ones());
    check32("brev.b32 %x0, %a0;", |a, _, _| a.reverse_bits());
    check64("brev.b64 %x, %a;", |a, _, _| a.reverse_bits());
    check32("bfind.u32 %x0, %a0;", |a, _, _| a.checked_ilog2().unwrap_or(u32::MAX));
    check32(
        "bfind.shiftamt.u32 %x0, %a0;",
        |a, _, _| {
            if a == 0 { u32::MAX } else { a.leading_zeros() }
        },
    );
    check32("bfind.s32 %x0, %a0;", |a, _, _| {
        let v = if (a as i32) < 0 { !a } else { a };
        v.checked_ilog2().unwrap_or(u32::MAX)
    });
    check("bfind.u64 %x0, %a;", false, |[a, ..]| [a.checked_ilog2().unwrap_or(u32::MAX).into(), 0]);
}

#[test]
fn packing() {
    check64("mov.b64 {%t0, %t1}, %a; mov.b64 %x, {%t1, %t0};", |a, _, _| a.rotate_left(32));
    check32(".reg .b16 %h, %g; mov.b32 {%h, %g}, %a0; mov.b32 %x0, {%g, %h};", |a, _, _| {
        a.rotate_left(16)
    });
    check64("mov.b64 {%t0, _}, %a; cvt.u64.u32 %x, %t0;", |a, _, _| a & 0xffff_ffff);
    check64(
        ".reg .b16 %h<4>; mov.b64 {%h0, %h1, %h2, %h3}, %a; mov.b64 %x, {%h3, %h2, %h1, %h0};",
        |a, _, _| (0..4).fold(0, |out, k| out | (a >> (16 * k) & 0xffff) << (48 - 16 * k)),
    );
}
