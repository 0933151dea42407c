//! Decodes loads, stores, atomics, address conversions and asynchronous copies.

use super::builder::Builder;
use super::modifiers::{Modifiers, operand_count};
use super::names::ATOMICS;
use crate::ast::{Operand, Raw};
use crate::error::Error;
use crate::instr::{AtomicOp, Instr, Op};
use crate::types::{Space, Type};

const SPACES: [(&str, Space); 8] = [
    ("global", Space::Global),
    ("shared", Space::Shared),
    ("shared::cta", Space::Shared),
    ("local", Space::Local),
    ("param", Space::Param),
    ("param::entry", Space::Param),
    ("param::func", Space::Param),
    ("const", Space::Const),
];

/// Orders and scopes of memory operations. Warps run one instruction at a time over
/// one memory, so every order is kept anyway.
const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];

/// Hints to the second-level cache. `L2::cache_hint` is not among them: it brings an
/// operand of its own.
const PREFETCHES: [&str; 6] =
    ["L2::64B", "L2::128B", "L2::256B", "L2::evict_first", "L2::evict_last", "L2::evict_normal"];

/// Decodes the instruction into `x`; false where the opcode is not of this group.
pub(super) fn decode<'a>(
    b: &mut Builder<'_, 'a>,
    raw: &Raw<'a>,
    m: &mut Modifiers<'_, 'a>,
    x: &mut Instr,
) -> Result<bool, Error> {
    match (raw.head, raw.operands.as_slice()) {
        ("ld", [d, a]) => {
            let (space, ty, count, strong) = access(m)?;
            x.op = Op::Load { space, ty, count, strong };
            b.dsts(x, d, ty.bits())?;
            x.offset = b.address(x, a)?;
            if x.dsts != count {
                return Err(operand_count(raw));
            }
        }
        ("st", [a, s]) => {
            let (space, ty, count, strong) = access(m)?;
            x.op = Op::Store { space, ty, count, strong };
            x.offset = b.address(x, a)?;
            b.srcs(x, s, ty)?;
            if x.srcs != count + 1 {
                return Err(operand_count(raw));
            }
        }
        ("atom", [d, a, values @ ..]) => atomic(b, m, x, Some(d), a, values)?,
        ("red", [a, values @ ..]) => atomic(b, m, x, None, a, values)?,
        ("cvta", [d, s]) => {
            let to = m.take("to");
            let space = m.need(&SPACES)?;
            if m.ty()? != Type::U64 {
                return Err(m.unsupported());
            }
            x.op = Op::Cvta { space, to };
            b.dst(x, d, 64)?;
            b.src(x, s, Type::U64)?;
        }
        ("cp", operands) => return copy(b, raw, m, x, operands),
        ("ld" | "st" | "atom" | "red" | "cvta", _) => {
            return Err(operand_count(raw));
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn access(m: &mut Modifiers<'_, '_>) -> Result<(Space, Type, u8, bool), Error> {
    let space = m.choose(&SPACES).unwrap_or(Space::Generic);
    let mut strong = m.take("volatile");
    for word in ["relaxed", "acquire", "release", "mmio"] {
        strong |= m.take(word);
    }
    m.ignore(&SCOPES);
    m.ignore(&["weak", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt"]);
    m.ignore_prefix("L1::");
    m.ignore(&PREFETCHES);
    let count = m.choose(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
    let ty = m.ty()?;
    if ty == Type::Pred || ty.bytes() * u32::from(count) > 32 {
        return Err(m.unsupported());
    }
    Ok((space, ty, count, strong))
}

fn atomic<'a>(
    b: &mut Builder<'_, 'a>,
    m: &mut Modifiers<'_, 'a>,
    x: &mut Instr,
    d: Option<&Operand<'a>>,
    a: &Operand<'a>,
    values: &[Operand<'a>],
) -> Result<(), Error> {
    let space = m.choose(&SPACES).unwrap_or(Space::Generic);
    m.ignore(&["relaxed", "acquire", "release", "acq_rel"]);
    m.ignore(&SCOPES);
    let op = m.need(&ATOMICS)?;
    let ty = m.ty()?;
    let float = ty.float() && op != AtomicOp::Add;
    let narrow = ty.bits() < 32 && !(op == AtomicOp::Cas && ty.bits() == 16);
    let wrapping = matches!(op, AtomicOp::Inc | AtomicOp::Dec) && ty != Type::U32;
    let place = !matches!(space, Space::Global | Space::Shared | Space::Generic);
    if float || narrow || wrapping || place {
        return Err(m.unsupported());
    }
    if values.len() != 1 + usize::from(op == AtomicOp::Cas) {
        return Err(Error::parse(x.line, "wrong number of operands for an atomic"));
    }
    x.op = Op::Atomic { space, ty, op };
    if let Some(d) = d {
        b.dst(x, d, ty.bits())?;
    }
    x.offset = b.address(x, a)?;
    values.iter().try_for_each(|v| b.src(x, v, ty))
}

fn copy<'a>(
    b: &mut Builder<'_, 'a>,
    raw: &Raw<'a>,
    m: &mut Modifiers<'_, 'a>,
    x: &mut Instr,
    operands: &[Operand<'a>],
) -> Result<bool, Error> {
    if !m.take("async") {
        return Ok(false);
    }
    if m.take("commit_group") {
        x.op = Op::CopyCommit;
        return if operands.is_empty() { Ok(true) } else { Err(operand_count(raw)) };
    }
    if m.take("wait_all") {
        x.op = Op::CopyWait { all: true };
        return if operands.is_empty() { Ok(true) } else { Err(operand_count(raw)) };
    }
    if m.take("wait_group") {
        x.op = Op::CopyWait { all: false };
        let [n] = operands else {
            return Err(operand_count(raw));
        };
        b.src(x, n, Type::U32)?;
        return Ok(true);
    }
    let by_ca = m.need(&[("ca", true), ("cg", false)])?;
    if !(m.take("shared") || m.take("shared::cta")) || !m.take("global") {
        return Err(m.unsupported());
    }
    m.ignore(&PREFETCHES);
    let (d, s, Operand::Int(bytes), size) = (match operands {
        [d, s, bytes] => (d, s, bytes, None),
        [d, s, bytes, size] => (d, s, bytes, Some(size)),
        _ => return Err(operand_count(raw)),
    }) else {
        return Err(operand_count(raw));
    };
    if !(*bytes == 16 || by_ca && matches!(bytes, 4 | 8)) {
        return Err(m.unsupported());
    }
    x.op = Op::CopyAsync { bytes: *bytes as u8, sized: size.is_some() };
    x.offset = b.address(x, d)?;
    x.offset2 = b.address(x, s)?;
    if let Some(size) = size {
        b.src(x, size, Type::U32)?;
    }
    Ok(true)
}
