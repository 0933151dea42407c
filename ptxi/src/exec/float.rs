//! f32 and f64 arithmetic, rounded to nearest even; `fma` also in other directions (`fused`).
//! Rust's `+ - * /`, `sqrt` and `mul_add` are correctly rounded, so these results are those of the
//! hardware bit for bit (but for the payload of a NaN, which PTX does not define). The `.approx`
//! forms are computed correctly rounded too.

use super::fused::{fma32, fma64};
use crate::instr::{FloatOp, Instr, Round};
use crate::warp::Warp;

pub(super) fn values32(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

pub(super) fn values64(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// A subnormal becomes a zero of its sign, if asked.
pub(super) fn flush32(v: f32, ftz: bool) -> f32 {
    if ftz && v.is_subnormal() { 0f32.copysign(v) } else { v }
}

macro_rules! width {
    ($name:ident, $t:ty, $fma:ident) => {
        fn $name(op: FloatOp, a: $t, b: $t, c: $t) -> $t {
            match op {
                FloatOp::Add => a + b,
                FloatOp::Sub => a - b,
                FloatOp::Mul => a * b,
                FloatOp::Fma(round) => $fma(round, a, b, c),
                FloatOp::Div => a / b,
                FloatOp::Rcp => 1.0 / a,
                FloatOp::Sqrt => a.sqrt(),
                FloatOp::Neg => -a,
                FloatOp::Abs => a.abs(),
                FloatOp::Min { nan } if nan && (a.is_nan() || b.is_nan()) => <$t>::NAN,
                FloatOp::Max { nan } if nan && (a.is_nan() || b.is_nan()) => <$t>::NAN,
                // Of two zeros the minimum is -0; of a NaN and a number it is the number.
                FloatOp::Min { .. } if a == b => {
                    if a.is_sign_negative() {
                        a
                    } else {
                        b
                    }
                }
                FloatOp::Max { .. } if a == b => {
                    if a.is_sign_negative() {
                        b
                    } else {
                        a
                    }
                }
                FloatOp::Min { .. } => a.min(b),
                FloatOp::Max { .. } => a.max(b),
            }
        }
    };
}

width!(apply32, f32, fma32);
width!(apply64, f64, fma64);

pub(super) fn execute(
    warp: &mut Warp,
    x: &Instr,
    mask: u32,
    op: FloatOp,
    double: bool,
    ftz: bool,
    sat: bool,
) {
    let arity = usize::from(x.srcs);
    let a = *warp.src(x, 0);
    let b = if arity > 1 { *warp.src(x, 1) } else { [0; 32] };
    let c = if arity > 2 { *warp.src(x, 2) } else { [0; 32] };
    let d = x.dst[0];
    if double {
        let v = values64;
        // The common ones by themselves, so that their loops are free of the choice.
        return match op {
            FloatOp::Add => warp.write(d, mask, |l| (v(a[l]) + v(b[l])).to_bits()),
            FloatOp::Sub => warp.write(d, mask, |l| (v(a[l]) - v(b[l])).to_bits()),
            FloatOp::Mul => warp.write(d, mask, |l| (v(a[l]) * v(b[l])).to_bits()),
            FloatOp::Fma(Round::Nearest) => {
                warp.write(d, mask, |l| v(a[l]).mul_add(v(b[l]), v(c[l])).to_bits());
            }
            _ => warp.write(d, mask, |l| apply64(op, v(a[l]), v(b[l]), v(c[l])).to_bits()),
        };
    }
    let v = |bits| flush32(values32(bits), ftz);
    warp.write(d, mask, |l| {
        let mut r = flush32(apply32(op, v(a[l]), v(b[l]), v(c[l])), ftz);
        if sat {
            // A NaN saturates to zero.
            r = if r > 0.0 { r.min(1.0) } else { 0.0 };
        }
        u64::from(r.to_bits())
    });
}
