//! `cvt` between integers, f32 and f64, in all four roundings.

use crate::instr::{CvtMode, Instr, Round};
use crate::types::{Type, ones, sign_extend};
use crate::warp::Warp;

use super::float::{flush32, values32, values64};

pub(super) fn execute(
    warp: &mut Warp,
    x: &Instr,
    mask: u32,
    (to, from): (Type, Type),
    mode: CvtMode,
    sat: bool,
    ftz: bool,
) {
    // The result is extended to the width of its register, with its sign if it has one.
    let register = ones(u32::from(x.dst_bits));
    let extend = move |v: u64| {
        let v = if to.signed() { sign_extend(v, to.bits()) as u64 } else { v & ones(to.bits()) };
        v & register
    };
    let round = match mode {
        CvtMode::Float(r) | CvtMode::Integer(r) => r,
        CvtMode::None => Round::Nearest,
    };
    match (to.float(), from.float()) {
        (false, false) if sat => warp.map1(x, mask, |a| extend(clamp(integer(a, from), to))),
        (false, false) if from.signed() => {
            warp.map1(x, mask, |a| extend(sign_extend(a, from.bits()) as u64));
        }
        (false, false) => {
            let keep = ones(from.bits());
            warp.map1(x, mask, |a| extend(a & keep));
        }
        (true, false) => warp.map1(x, mask, |a| from_integer(integer(a, from), to, round, sat)),
        (false, true) => warp.map1(x, mask, |a| extend(to_integer(a, from, to, round, ftz))),
        (true, true) => warp.map1(x, mask, |a| between_floats(a, (to, from), mode, sat, ftz)),
    }
}

fn integer(v: u64, ty: Type) -> i128 {
    if ty.signed() { sign_extend(v, ty.bits()).into() } else { (v & ones(ty.bits())).into() }
}

/// Least and greatest value of an integer type.
fn range(ty: Type) -> (i128, i128) {
    match ty.signed() {
        true => (-(1 << (ty.bits() - 1)), (1 << (ty.bits() - 1)) - 1),
        false => (0, (1 << ty.bits()) - 1),
    }
}

fn clamp(v: i128, ty: Type) -> u64 {
    let (least, greatest) = range(ty);
    v.clamp(least, greatest) as u64
}

/// Both widths of the same correction.
macro_rules! rounded {
    ($name:ident, $t:ty) => {
        /// `nearest` corrected to a directed rounding; `error` is the sign of exact - nearest.
        fn $name(nearest: $t, error: std::cmp::Ordering, round: Round) -> $t {
            let up = match round {
                Round::Nearest => return nearest,
                Round::Zero => nearest < 0.0,
                Round::Down => false,
                Round::Up => true,
            };
            match (error.is_gt(), error.is_lt()) {
                (true, _) if up => nearest.next_up(),
                (_, true) if !up => nearest.next_down(),
                _ => nearest,
            }
        }
    };
}

rounded!(directed32, f32);
rounded!(directed64, f64);

fn from_integer(v: i128, to: Type, round: Round, sat: bool) -> u64 {
    if to == Type::F32 {
        let nearest = v as f32;
        let r = directed32(nearest, v.cmp(&(nearest as i128)), round);
        return u64::from(if sat { r.clamp(0.0, 1.0) } else { r }.to_bits());
    }
    let nearest = v as f64;
    let r = directed64(nearest, v.cmp(&(nearest as i128)), round);
    if sat { r.clamp(0.0, 1.0) } else { r }.to_bits()
}

fn integral(v: f64, round: Round) -> f64 {
    match round {
        Round::Nearest => v.round_ties_even(),
        Round::Zero => v.trunc(),
        Round::Down => v.floor(),
        Round::Up => v.ceil(),
    }
}

/// Saturates; a NaN becomes 0, or the top bit alone where source or result has 64 bits.
fn to_integer(bits: u64, from: Type, to: Type, round: Round, ftz: bool) -> u64 {
    let v = match from {
        Type::F32 => f64::from(flush32(values32(bits), ftz)),
        _ => values64(bits),
    };
    if v.is_nan() {
        let wide = from == Type::F64 || to.bits() == 64;
        return if wide { 1 << (to.bits() - 1) } else { 0 };
    }
    clamp(integral(v, round) as i128, to)
}

fn between_floats(bits: u64, (to, from): (Type, Type), mode: CvtMode, sat: bool, ftz: bool) -> u64 {
    let mut v = match from {
        Type::F32 => f64::from(flush32(values32(bits), ftz)),
        _ => values64(bits),
    };
    if let CvtMode::Integer(round) = mode {
        v = integral(v, round);
    }
    if sat {
        v = if v > 0.0 { v.min(1.0) } else { 0.0 };
    }
    if to == Type::F64 {
        return v.to_bits();
    }
    let nearest = v as f32;
    let round = match mode {
        CvtMode::Float(round) => round,
        _ => Round::Nearest,
    };
    let error = v.partial_cmp(&f64::from(nearest));
    let r = error.map_or(nearest, |e| directed32(nearest, e, round));
    u64::from(flush32(r, ftz).to_bits())
}
