//! Logic, shifts, permutations, bit fields and counts.

use crate::instr::{BitOp, Instr};
use crate::types::{Type, ones, sign_extend};
use crate::warp::Warp;

pub(super) fn execute(warp: &mut Warp, x: &Instr, mask: u32, op: BitOp, ty: Type) {
    let (bits, keep, signed) = (ty.bits(), ones(ty.bits()), ty.signed());
    match op {
        BitOp::And => warp.map2(x, mask, |a, b| a & b & keep),
        BitOp::Or => warp.map2(x, mask, |a, b| (a | b) & keep),
        BitOp::Xor => warp.map2(x, mask, |a, b| (a ^ b) & keep),
        BitOp::Not => warp.map1(x, mask, |a| !a & keep),
        // The count is a u32; from the width on nothing is left.
        BitOp::Shl => warp.map2(x, mask, |a, n| {
            let n = n as u32;
            if n < bits { a << n & keep } else { 0 }
        }),
        BitOp::Shr if signed => warp
            .map2(x, mask, |a, n| (sign_extend(a, bits) >> (n as u32).min(bits - 1)) as u64 & keep),
        BitOp::Shr => warp.map2(x, mask, |a, n| {
            let n = n as u32;
            if n < bits { (a & keep) >> n } else { 0 }
        }),
        BitOp::Shf { left, wrap } => warp.map3(x, mask, |low, high, n| {
            let n = if wrap { n as u32 & 31 } else { (n as u32).min(32) };
            let v = high << 32 | low & ones(32);
            // Left: the high word of v << n; right: the low word of v >> n.
            (if left { v >> (32 - n) } else { v >> n }) & ones(32)
        }),
        BitOp::Lop3 { table } => lop3(warp, x, mask, table),
        BitOp::Prmt => warp.map3(x, mask, prmt),
        BitOp::Bfe => warp.map3(x, mask, |a, start, len| {
            bfe(a & keep, start as u32 & 255, len as u32 & 255, bits, signed)
        }),
        BitOp::Bfi => warp.map4(x, mask, |a, b, start, len| {
            let (start, len) = (start as u32 & 255, len as u32 & 255);
            if start >= bits {
                return b & keep;
            }
            let field = ones(len.min(bits - start)) << start;
            (b & !field | a << start & field) & keep
        }),
        BitOp::Bfind { shift } => warp.map1(x, mask, |a| {
            let mut v = a & keep;
            if signed && v >> (bits - 1) == 1 {
                v = !v & keep;
            }
            match v {
                0 => ones(32),
                _ if shift => u64::from(v.leading_zeros() - (64 - bits)),
                _ => u64::from(63 - v.leading_zeros()),
            }
        }),
        BitOp::Clz => warp.map1(x, mask, |a| u64::from((a & keep).leading_zeros() - (64 - bits))),
        BitOp::Popc => warp.map1(x, mask, |a| u64::from((a & keep).count_ones())),
        BitOp::Brev => warp.map1(x, mask, |a| a.reverse_bits() >> (64 - bits)),
    }
}

/// Any function of three bits, from its truth table: bit `4a + 2b + c`.
fn lop3(warp: &mut Warp, x: &Instr, mask: u32, table: u8) {
    let term = |k: u32| if table >> k & 1 == 1 { !0u64 } else { 0 };
    let t: [u64; 8] = std::array::from_fn(|k| term(k as u32));
    let pick = |s: u64, one: u64, zero: u64| s & one | !s & zero;
    warp.map3(x, mask, |a, b, c| {
        let high = pick(b, pick(c, t[7], t[6]), pick(c, t[5], t[4]));
        let low = pick(b, pick(c, t[3], t[2]), pick(c, t[1], t[0]));
        pick(a, high, low) & ones(32)
    });
}

fn prmt(a: u64, b: u64, c: u64) -> u64 {
    let v = b << 32 | a & ones(32);
    let byte = |selector: u64| {
        let byte = v >> (8 * (selector & 7)) & 255;
        match selector & 8 {
            0 => byte,
            // The sign bit, in all places.
            _ => (byte >> 7) * 255,
        }
    };
    (0..4).fold(0, |out, i| out | byte(c >> (4 * i) & 15) << (8 * i))
}

fn bfe(a: u64, start: u32, len: u32, bits: u32, signed: bool) -> u64 {
    if len == 0 {
        return 0;
    }
    // Bits beyond the register are its sign, or zero.
    let extended = if signed { sign_extend(a, bits) } else { a as i64 };
    let shifted = match (start < 64, signed) {
        (true, true) => extended >> start,
        (true, false) => (a >> start) as i64,
        (false, true) => extended >> 63,
        (false, false) => 0,
    } as u64;
    let field = match (len < 64, signed) {
        (true, true) => sign_extend(shifted, len) as u64,
        (true, false) => shifted & ones(len),
        (false, _) => shifted,
    };
    field & ones(bits)
}
