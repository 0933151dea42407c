//! Decodes what computes in registers: integers, carries, bits, floating point,
//! comparisons, conversions, moves.

use super::builder::Builder;
use super::modifiers::{Modifiers, operand_count};
use crate::ast::{Operand, Raw};
use crate::error::Error;
use crate::instr::{
    BitOp, CarryOp, Compare, CvtMode, FloatOp, Instr, IntOp, Join, Op, PredOp, Round,
};
use crate::types::Type;

type Done = Result<(), Error>;

const INTEGER: [(&str, IntOp); 6] = [
    ("div", IntOp::Div),
    ("rem", IntOp::Rem),
    ("abs", IntOp::Abs),
    ("neg", IntOp::Neg),
    ("min", IntOp::Min),
    ("max", IntOp::Max),
];

const FLOAT: [(&str, FloatOp); 10] = [
    ("add", FloatOp::Add),
    ("sub", FloatOp::Sub),
    ("mul", FloatOp::Mul),
    ("fma", FloatOp::Fma(Round::Nearest)),
    ("mad", FloatOp::Fma(Round::Nearest)),
    ("div", FloatOp::Div),
    ("rcp", FloatOp::Rcp),
    ("sqrt", FloatOp::Sqrt),
    ("neg", FloatOp::Neg),
    ("abs", FloatOp::Abs),
];

const COMPARE: [(&str, Compare); 18] = [
    ("eq", Compare::Eq),
    ("ne", Compare::Ne),
    ("lt", Compare::Lt),
    ("le", Compare::Le),
    ("gt", Compare::Gt),
    ("ge", Compare::Ge),
    ("lo", Compare::Lt),
    ("ls", Compare::Le),
    ("hi", Compare::Gt),
    ("hs", Compare::Ge),
    ("equ", Compare::Equ),
    ("neu", Compare::Neu),
    ("ltu", Compare::Ltu),
    ("leu", Compare::Leu),
    ("gtu", Compare::Gtu),
    ("geu", Compare::Geu),
    ("num", Compare::Num),
    ("nan", Compare::Nan),
];

const JOIN: [(&str, Join); 3] = [("and", Join::And), ("or", Join::Or), ("xor", Join::Xor)];

/// Decodes the instruction into `x`; false where the opcode is not of this group.
pub(super) fn decode<'a>(
    b: &mut Builder<'_, 'a>,
    raw: &Raw<'a>,
    m: &mut Modifiers<'_, 'a>,
    x: &mut Instr,
) -> Result<bool, Error> {
    let ops = &raw.operands;
    match raw.head {
        "add" | "sub" | "addc" | "subc" => add_sub(b, raw, m, x)?,
        "mul" | "mad" | "madc" => multiply(b, raw, m, x)?,
        "div" | "rem" | "abs" | "neg" | "min" | "max" => {
            let ty = m.ty()?;
            if ty.float() {
                float(b, raw, m, x, ty)?;
            } else {
                let ty = checked(m, ty)?;
                let op = INTEGER.iter().find(|(word, _)| *word == raw.head);
                x.op = Op::Int(op.ok_or_else(|| m.unsupported())?.1, ty);
                let arity = 1 + usize::from(!matches!(raw.head, "abs" | "neg"));
                simple(b, raw, x, ty.bits(), &[ty; 2][..arity])?;
            }
        }
        "fma" | "rcp" | "sqrt" => {
            let ty = m.ty()?;
            float(b, raw, m, x, ty)?;
        }
        "and" | "or" | "xor" | "not" => logic(b, raw, m, x)?,
        "shl" | "shr" | "clz" | "popc" | "brev" | "bfe" | "bfi" | "bfind" | "shf" | "lop3"
        | "prmt" => bits(b, raw, m, x)?,
        "setp" => {
            let (cmp, join, ty) = comparison(m)?;
            let ftz = m.take("ftz");
            x.op = Op::Setp { cmp, join, ty, ftz };
            let [d, rest @ ..] = ops.as_slice() else {
                return Err(operand_count(raw));
            };
            match d {
                Operand::Pair(p, q) => {
                    b.pred_dst(x, 0, p)?;
                    b.pred_dst(x, 1, q)?;
                }
                p => b.pred_dst(x, 0, p)?,
            }
            compared(b, raw, x, rest, join, ty)?;
        }
        "selp" => {
            let ty = m.ty()?;
            x.op = Op::Selp(ty);
            let [d, a, c, p] = ops.as_slice() else {
                return Err(operand_count(raw));
            };
            b.dst(x, d, ty.bits())?;
            b.src(x, a, ty)?;
            b.src(x, c, ty)?;
            b.pred_src(x, 0, p)?;
        }
        "cvt" => convert(b, raw, m, x)?,
        "mov" => mov(b, raw, m, x)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// `d, a, b..` with the given source types.
fn simple<'a>(
    b: &mut Builder<'_, 'a>,
    raw: &Raw<'a>,
    x: &mut Instr,
    bits: u32,
    types: &[Type],
) -> Done {
    let [d, sources @ ..] = raw.operands.as_slice() else {
        return Err(operand_count(raw));
    };
    if sources.len() != types.len() {
        return Err(operand_count(raw));
    }
    b.dst(x, d, bits)?;
    for (operand, ty) in sources.iter().zip(types) {
        b.src(x, operand, *ty)?;
    }
    Ok(())
}

/// Integer arithmetic exists in 16, 32 and 64 bits.
fn checked(m: &Modifiers<'_, '_>, ty: Type) -> Result<Type, Error> {
    if ty.bits() < 16 || ty.float() {
        return Err(m.unsupported());
    }
    Ok(ty)
}

fn add_sub<'a>(
    b: &mut Builder<'_, 'a>,
    raw: &Raw<'a>,
    m: &mut Modifiers<'_, 'a>,
    x: &mut Instr,
) -> Done {
    let ty = m.ty()?;
    if ty.float() {
        return float(b, raw, m, x, ty);
    }
    let ty = checked(m, ty)?;
    let (writes, reads) = (m.take("cc"), raw.head.ends_with('c'));
    let sub = raw.head.starts_with("sub");
    if reads || writes {
        if ty.bits() < 32 {
            return Err(m.unsupported());
        }
        let op = if sub { CarryOp::Sub } else { CarryOp::Add };
        x.op = Op::Carry { op, ty, reads, writes };
    } else {
        x.op = Op::Int(if sub { IntOp::Sub } else { IntOp::Add }, ty);
    }
    simple(b, raw, x, ty.bits(), &[ty; 2])
}

fn multiply<'a>(
    b: &mut Builder<'_, 'a>,
    raw: &Raw<'a>,
    m: &mut Modifiers<'_, 'a>,
    x: &mut Instr,
) -> Done {
    let ty = m.ty()?;
    if ty.float() {
        return float(b, raw, m, x, ty);
    }
    let ty = checked(m, ty)?;
    let add = raw.head.starts_with("mad");
    let part = m.need(&[("lo", 0), ("hi", 1), ("wide", 2)])?;
    let (writes, reads) = (m.take("cc"), raw.head == "madc");
    let mut out = ty;
    x.op = if reads || writes {
        if ty.bits() < 32 || part == 2 || !add {
            return Err(m.unsupported());
        }
        let op = if part == 0 { CarryOp::MadLo } else { CarryOp::MadHi };
        Op::Carry { op, ty, reads, writes }
    } else {
        if part == 2 {
            out = match ty {
                Type::U16 => Type::U32,
                Type::S16 => Type::S32,
                Type::U32 => Type::U64,
                Type::S32 => Type::S64,
                _ => return Err(m.unsupported()),
            };
        }
        let ops = [
            [IntOp::MulLo, IntOp::MulHi, IntOp::MulWide],
            [IntOp::MadLo, IntOp::MadHi, IntOp::MadWide],
        ];
        Op::Int(ops[usize::from(add)][part], ty)
    };
    simple(b, raw, x, out.bits(), &[ty, ty, out][..2 + usize::from(add)])
}

fn float<'a>(
    b: &mut Builder<'_, 'a>,
    raw: &Raw<'a>,
    m: &mut Modifiers<'_, 'a>,
    x: &mut Instr,
    ty: Type,
) -> Done {
    if !ty.float() {
        return Err(m.unsupported());
    }
    // `.approx` and `.full` are computed correctly rounded; other roundings than to
    // nearest, but for `fma`, are left in the list and refused there.
    m.ignore(&["rn", "approx", "full"]);
    let (ftz, sat) = (m.take("ftz"), m.take("sat"));
    let nan = matches!(raw.head, "min" | "max") && m.take("NaN");
    let directed = [("rz", Round::Zero), ("rm", Round::Down), ("rp", Round::Up)];
    let op = match raw.head {
        "fma" | "mad" => FloatOp::Fma(m.choose(&directed).unwrap_or(Round::Nearest)),
        "min" => FloatOp::Min { nan },
        "max" => FloatOp::Max { nan },
        head => match FLOAT.iter().find(|(word, _)| *word == head) {
            Some((_, op)) => *op,
            None => return Err(m.unsupported()),
        },
    };
    let arity = match op {
        FloatOp::Fma(_) => 3,
        FloatOp::Add | FloatOp::Sub | FloatOp::Mul | FloatOp::Div => 2,
        FloatOp::Min { .. } | FloatOp::Max { .. } => 2,
        _ => 1,
    };
    let double = ty == Type::F64;
    x.op = Op::Float { op, double, ftz, sat };
    simple(b, raw, x, ty.bits(), &[ty; 3][..arity])
}

fn logic<'a>(
    b: &mut Builder<'_, 'a>,
    raw: &Raw<'a>,
    m: &mut Modifiers<'_, 'a>,
    x: &mut Instr,
) -> Done {
    let ty = m.ty()?;
    let ops = &raw.operands;
    if ty == Type::Pred {
        let (op, [d, sources @ ..]) = (
            match raw.head {
                "and" => PredOp::And,
                "or" => PredOp::Or,
                "xor" => PredOp::Xor,
                _ => PredOp::Not,
            },
            ops.as_slice(),
        ) else {
            return Err(operand_count(raw));
        };
        if sources.len() != 1 + usize::from(op != PredOp::Not) {
            return Err(operand_count(raw));
        }
        x.op = Op::Pred(op);
        b.pred_dst(x, 0, d)?;
        return sources.iter().enumerate().try_for_each(|(slot, p)| b.pred_src(x, slot, p));
    }
    let ty = checked(m, ty)?;
    let op = match raw.head {
        "and" => BitOp::And,
        "or" => BitOp::Or,
        "xor" => BitOp::Xor,
        _ => BitOp::Not,
    };
    x.op = Op::Bit(op, ty);
    simple(b, raw, x, ty.bits(), &[ty; 2][..1 + usize::from(op != BitOp::Not)])
}

fn bits<'a>(
    b: &mut Builder<'_, 'a>,
    raw: &Raw<'a>,
    m: &mut Modifiers<'_, 'a>,
    x: &mut Instr,
) -> Done {
    const N: Type = Type::U32;
    let wide = |ty: Type, m: &Modifiers<'_, 'a>| {
        if ty.bits() < 32 { Err(m.unsupported()) } else { Ok(ty) }
    };
    let ty;
    let (op, out, types): (BitOp, u32, &[Type]) = match raw.head {
        "shl" | "shr" => {
            ty = m.int()?;
            let op = if raw.head == "shl" { BitOp::Shl } else { BitOp::Shr };
            (op, ty.bits(), &[ty, N])
        }
        "clz" | "popc" => {
            ty = wide(m.int()?, m)?;
            let op = if raw.head == "clz" { BitOp::Clz } else { BitOp::Popc };
            (op, 32, &[ty])
        }
        "brev" => {
            ty = wide(m.int()?, m)?;
            (BitOp::Brev, ty.bits(), &[ty])
        }
        "bfind" => {
            let shift = m.take("shiftamt");
            ty = wide(m.int()?, m)?;
            (BitOp::Bfind { shift }, 32, &[ty])
        }
        "bfe" => {
            ty = wide(m.int()?, m)?;
            (BitOp::Bfe, ty.bits(), &[ty, N, N])
        }
        "bfi" => {
            ty = wide(m.int()?, m)?;
            (BitOp::Bfi, ty.bits(), &[ty, ty, N, N])
        }
        "shf" => {
            let left = m.need(&[("l", true), ("r", false)])?;
            let wrap = m.need(&[("wrap", true), ("clamp", false)])?;
            ty = m.int32()?;
            (BitOp::Shf { left, wrap }, 32, &[ty, ty, N])
        }
        "lop3" => {
            ty = m.int32()?;
            let [d, a, c, e, Operand::Int(table @ 0..=255)] = raw.operands.as_slice() else {
                return Err(operand_count(raw));
            };
            x.op = Op::Bit(BitOp::Lop3 { table: *table as u8 }, ty);
            b.dst(x, d, 32)?;
            return [a, c, e].into_iter().try_for_each(|o| b.src(x, o, ty));
        }
        _ => {
            ty = m.int32()?;
            (BitOp::Prmt, 32, &[ty, ty, N])
        }
    };
    x.op = Op::Bit(op, ty);
    simple(b, raw, x, out, types)
}

fn comparison(m: &mut Modifiers<'_, '_>) -> Result<(Compare, Join, Type), Error> {
    let cmp = m.need(&COMPARE)?;
    let join = m.choose(&JOIN).unwrap_or(Join::None);
    Ok((cmp, join, m.ty()?))
}

fn compared<'a>(
    b: &mut Builder<'_, 'a>,
    raw: &Raw<'a>,
    x: &mut Instr,
    operands: &[Operand<'a>],
    join: Join,
    ty: Type,
) -> Done {
    if ty.bits() < 16 {
        return Err(Error::unsupported(raw.line, raw.opcode()));
    }
    match (operands, join) {
        ([a, c], Join::None) => {
            b.src(x, a, ty)?;
            b.src(x, c, ty)
        }
        ([_, _, _], Join::None) | ([_, _], _) => Err(operand_count(raw)),
        ([a, c, p], _) => {
            b.src(x, a, ty)?;
            b.src(x, c, ty)?;
            b.pred_src(x, 0, p)
        }
        _ => Err(operand_count(raw)),
    }
}

fn convert<'a>(
    b: &mut Builder<'_, 'a>,
    raw: &Raw<'a>,
    m: &mut Modifiers<'_, 'a>,
    x: &mut Instr,
) -> Done {
    let mode = m.choose(&[
        ("rn", CvtMode::Float(Round::Nearest)),
        ("rz", CvtMode::Float(Round::Zero)),
        ("rm", CvtMode::Float(Round::Down)),
        ("rp", CvtMode::Float(Round::Up)),
        ("rni", CvtMode::Integer(Round::Nearest)),
        ("rzi", CvtMode::Integer(Round::Zero)),
        ("rmi", CvtMode::Integer(Round::Down)),
        ("rpi", CvtMode::Integer(Round::Up)),
    ]);
    let mode = mode.unwrap_or(CvtMode::None);
    let (ftz, sat) = (m.take("ftz"), m.take("sat"));
    let (to, from) = (m.ty()?, m.ty()?);
    let rounds = match (to.float(), from.float()) {
        (false, false) => mode == CvtMode::None,
        (false, true) => matches!(mode, CvtMode::Integer(_)),
        (true, false) => matches!(mode, CvtMode::Float(_)),
        // f64 to f32 rounds; to the same or a wider type only to an integral value.
        (true, true) if to.bits() < from.bits() => matches!(mode, CvtMode::Float(_)),
        (true, true) => !matches!(mode, CvtMode::Float(_)),
    };
    if !rounds || to == Type::Pred || from == Type::Pred {
        return Err(m.unsupported());
    }
    x.op = Op::Cvt { to, from, mode, sat, ftz };
    simple(b, raw, x, to.bits(), &[from])
}

fn mov<'a>(
    b: &mut Builder<'_, 'a>,
    raw: &Raw<'a>,
    m: &mut Modifiers<'_, 'a>,
    x: &mut Instr,
) -> Done {
    let ty = m.ty()?;
    let [d, s] = raw.operands.as_slice() else {
        return Err(operand_count(raw));
    };
    match (d, s) {
        _ if ty == Type::Pred => {
            x.op = Op::Pred(PredOp::Mov);
            b.pred_dst(x, 0, d)?;
            b.pred_src(x, 0, s)
        }
        (Operand::Vector(list), s) => {
            let bits = part_bits(ty, list.len(), m)?;
            x.op = Op::Unpack { bits };
            b.dsts(x, d, bits)?;
            b.src(x, s, ty)
        }
        (d, Operand::Vector(list)) => {
            let bits = part_bits(ty, list.len(), m)?;
            x.op = Op::Pack { bits };
            b.dst(x, d, ty.bits())?;
            list.iter().try_for_each(|o| b.src(x, o, part_type(bits)))
        }
        (d, s) => {
            x.op = Op::Mov(ty);
            b.dst(x, d, ty.bits())?;
            b.src(x, s, ty)
        }
    }
}

fn part_bits(ty: Type, parts: usize, m: &Modifiers<'_, '_>) -> Result<u32, Error> {
    match (ty.bits(), parts) {
        (bits @ (16 | 32 | 64), 2) => Ok(bits / 2),
        (bits @ (32 | 64), 4) => Ok(bits / 4),
        _ => Err(m.unsupported()),
    }
}

fn part_type(bits: u32) -> Type {
    match bits {
        8 => Type::U8,
        16 => Type::U16,
        _ => Type::U32,
    }
}
