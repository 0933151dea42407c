//! Decodes branches, calls, barriers and the instructions that join lanes of a warp.

use super::builder::{Builder, Fixup, Target};
use super::modifiers::{Modifiers, operand_count};
use super::names::ATOMICS;
use crate::ast::{Operand, Raw};
use crate::error::Error;
use crate::instr::{AtomicOp, BarrierOp, CallSite, FrameCopy, Instr, Op, Shuffle, Vote, WarpOp};
use crate::types::{Space, Type};

const U32: Type = Type::U32;

/// Decodes the instruction into `x`; false where the opcode is not of this group.
pub(super) fn decode<'a>(
    b: &mut Builder<'_, 'a>,
    raw: &Raw<'a>,
    m: &mut Modifiers<'_, 'a>,
    x: &mut Instr,
) -> Result<bool, Error> {
    match (raw.head, raw.operands.as_slice()) {
        ("bra", [Operand::Name(label, 0)]) => {
            m.take("uni");
            let at = Target::Branch(b.program.code.len());
            b.fix(at, label, raw.line);
            // The target is filled in when all labels are known.
            x.op = Op::Branch { target: 0 };
        }
        ("brx", [index, Operand::Name(list, 0)]) if m.take("idx") => {
            m.take("uni");
            let targets = b.branch_targets(list, raw.line)?;
            let table = b.program.tables.len();
            b.program.tables.push(vec![0; targets.len()]);
            for (slot, label) in targets.into_iter().enumerate() {
                b.fix(Target::Table(table, slot), label, raw.line);
            }
            x.op = Op::BranchIndexed { table: table as u32 };
            b.src(x, index, U32)?;
        }
        ("call", operands) => {
            m.take("uni");
            call(b, raw, x, operands)?;
        }
        ("ret", []) => {
            m.take("uni");
            x.op = Op::Return;
        }
        ("exit", []) => x.op = Op::Exit,
        ("trap", []) => x.op = Op::Trap,
        ("bar", [mask]) if m.take("warp") => {
            if !m.take("sync") {
                return Err(m.unsupported());
            }
            x.op = Op::Warp(WarpOp::Sync);
            b.src(x, mask, U32)?;
        }
        ("bar" | "barrier", operands) => barrier(b, raw, m, x, operands)?,
        ("activemask", [d]) => {
            m.int32()?;
            x.op = Op::ActiveMask;
            b.dst(x, d, 32)?;
        }
        ("shfl" | "vote" | "redux" | "mma" | "ldmatrix", _) => {
            warp(b, raw, m, x)?;
        }
        // Nothing here is cached or reordered, so hints and fences do nothing.
        ("membar" | "fence" | "prefetch", _) => {
            m.ignore_all();
            x.op = Op::Nop;
        }
        ("bra" | "brx" | "ret" | "exit" | "trap" | "activemask", _) => {
            return Err(operand_count(raw));
        }
        _ => return Ok(false),
    }
    Ok(true)
}

impl<'a> Builder<'_, 'a> {
    fn fix(&mut self, at: Target, label: &'a str, line: u32) {
        self.fixups.push(Fixup { at, scope: self.scope, label, line });
    }

    fn branch_targets(&self, list: &str, line: u32) -> Result<Vec<&'a str>, Error> {
        let mut at = Some(self.scope);
        while let Some(scope) = at {
            if let Some(targets) = self.scopes[scope].targets.get(list) {
                return Ok(targets.clone());
            }
            at = self.scopes[scope].parent;
        }
        Err(Error::parse(line, format!("no .branchtargets {list}")))
    }

    /// Frame place of a `.param` variable of this body.
    fn frame(&self, operand: &Operand<'a>, line: u32) -> Result<(u32, u32), Error> {
        let Operand::Name(name, 0) = operand else {
            return Err(Error::unsupported(line, "call parameter that is no .param"));
        };
        let mut at = Some(self.scope);
        while let Some(scope) = at {
            if let Some(&place) = self.scopes[scope].frames.get(name) {
                return Ok(place);
            }
            at = self.scopes[scope].parent;
        }
        Err(Error::unsupported(line, format!("call parameter {name}")))
    }

    fn frame_list(
        &self,
        list: &[Operand<'a>],
        formal: &[(u32, u32)],
        line: u32,
        into_callee: bool,
    ) -> Result<Vec<FrameCopy>, Error> {
        if list.len() != formal.len() {
            return Err(Error::parse(line, "parameters of call and function differ"));
        }
        let mut out = Vec::new();
        for (operand, &(inner, bytes)) in list.iter().zip(formal) {
            let (outer, size) = self.frame(operand, line)?;
            if size != bytes {
                return Err(Error::parse(line, "parameters of call and function differ"));
            }
            let (from, to) = if into_callee { (outer, inner) } else { (inner, outer) };
            out.push(FrameCopy { from, to, bytes });
        }
        Ok(out)
    }
}

fn call<'a>(
    b: &mut Builder<'_, 'a>,
    raw: &Raw<'a>,
    x: &mut Instr,
    operands: &[Operand<'a>],
) -> Result<(), Error> {
    let (results, name, arguments): (&[_], _, &[_]) = match operands {
        [Operand::Name(f, 0)] => (&[], f, &[]),
        [Operand::Name(f, 0), Operand::List(a)] => (&[], f, a),
        [Operand::List(r), Operand::Name(f, 0)] => (r, f, &[]),
        [Operand::List(r), Operand::Name(f, 0), Operand::List(a)] => (r, f, a),
        _ => return Err(Error::unsupported(raw.line, "indirect call")),
    };
    let Some(&callee) = b.functions.get(name) else {
        return Err(Error::unsupported(raw.line, format!("call of {name}")));
    };
    let function = &b.source.functions[callee];
    if function.entry || function.body.is_none() {
        let what = format!("call of {name}, which has no body here");
        return Err(Error::unsupported(raw.line, what));
    }
    b.declare(callee)?;
    let placed = &b.placed[&callee];
    let site = CallSite {
        target: 0,
        arguments: b.frame_list(arguments, &placed.params, raw.line, true)?,
        results: b.frame_list(results, &placed.returns, raw.line, false)?,
    };
    x.op = Op::Call { site: b.add_call(callee, site) };
    Ok(())
}

fn barrier<'a>(
    b: &mut Builder<'_, 'a>,
    raw: &Raw<'a>,
    m: &mut Modifiers<'_, 'a>,
    x: &mut Instr,
    operands: &[Operand<'a>],
) -> Result<(), Error> {
    m.take("cta");
    // `bar` is the older name of `barrier.cta` with `.aligned`.
    let aligned = m.take("aligned") || raw.head == "bar";
    let op = if m.take("red") {
        m.need(&[
            ("and", BarrierOp::RedAnd),
            ("or", BarrierOp::RedOr),
            ("popc", BarrierOp::RedPopc),
        ])?
    } else {
        m.need(&[("sync", BarrierOp::Sync), ("arrive", BarrierOp::Arrive)])?
    };
    // `barrier.cluster` is another instruction, with other operands.
    if matches!(op, BarrierOp::Sync | BarrierOp::Arrive) {
        m.finish()?;
    }
    let operands = match (op, operands) {
        (BarrierOp::Sync | BarrierOp::Arrive, all) => all,
        (_, [d, places @ .., p]) => {
            if op == BarrierOp::RedPopc {
                m.int32()?;
                b.dst(x, d, 32)?;
            } else {
                m.take("pred");
                b.pred_dst(x, 0, d)?;
            }
            b.pred_src(x, 0, p)?;
            places
        }
        _ => return Err(operand_count(raw)),
    };
    let counted = operands.len() == 2;
    if operands.is_empty() || operands.len() > 2 || (op == BarrierOp::Arrive && !counted) {
        return Err(operand_count(raw));
    }
    operands.iter().try_for_each(|o| b.src(x, o, U32))?;
    x.op = Op::Barrier { op, aligned, counted };
    Ok(())
}

/// The member mask is always the last source.
fn warp<'a>(
    b: &mut Builder<'_, 'a>,
    raw: &Raw<'a>,
    m: &mut Modifiers<'_, 'a>,
    x: &mut Instr,
) -> Result<(), Error> {
    // The forms without `.sync` left the ISA with sm_70.
    if !m.take("sync") {
        return Err(m.unsupported());
    }
    let op = match (raw.head, raw.operands.as_slice()) {
        ("shfl", [d, a, lane, clamp, mask]) => {
            let mode = m.need(&[
                ("up", Shuffle::Up),
                ("down", Shuffle::Down),
                ("bfly", Shuffle::Xor),
                ("idx", Shuffle::Index),
            ])?;
            m.int32_or_float()?;
            b.dst_pair(x, d, 32)?;
            [a, lane, clamp, mask].into_iter().try_for_each(|o| b.src(x, o, U32))?;
            WarpOp::Shfl(mode)
        }
        ("vote", [d, p, mask]) => {
            let vote =
                m.need(&[("ballot", Vote::Ballot), ("any", Vote::Any), ("all", Vote::All)])?;
            m.ty()?;
            if vote == Vote::Ballot {
                b.dst(x, d, 32)?;
            } else {
                b.pred_dst(x, 0, d)?;
            }
            b.pred_src(x, 0, p)?;
            b.src(x, mask, U32)?;
            WarpOp::Vote(vote)
        }
        ("redux", [d, a, mask]) => {
            let op = m.need(&ATOMICS[..6])?;
            let ty = m.int32()?;
            b.dst(x, d, 32)?;
            b.src(x, a, ty)?;
            b.src(x, mask, U32)?;
            WarpOp::Redux(op, ty)
        }
        ("mma", [d, a, c, e]) => mma(b, m, x, [d, a, c, e])?,
        ("ldmatrix", [d, a]) => {
            let count = m.need(&[("x1", 1), ("x2", 2), ("x4", 4)])?;
            let transpose = m.take("trans");
            let known = m.take("aligned") & m.take("m8n8") & m.take("b16");
            let space = m.choose(&[("shared", Space::Shared), ("shared::cta", Space::Shared)]);
            if !known {
                return Err(m.unsupported());
            }
            b.dsts(x, d, 32)?;
            x.offset = b.address(x, a)?;
            if x.dsts != count {
                return Err(operand_count(raw));
            }
            WarpOp::LdMatrix { count, transpose, space: space.unwrap_or(Space::Generic) }
        }
        _ => return Err(operand_count(raw)),
    };
    x.op = Op::Warp(op);
    Ok(())
}

fn mma<'a>(
    b: &mut Builder<'_, 'a>,
    m: &mut Modifiers<'_, 'a>,
    x: &mut Instr,
    [d, a, c, e]: [&Operand<'a>; 4],
) -> Result<WarpOp, Error> {
    let k = m.need(&[("m16n8k32", 32u8), ("m16n8k16", 16)])?;
    let known = m.take("aligned") & m.take("row") & m.take("col");
    let sat = m.take("satfinite");
    let types = [m.ty()?, m.ty()?, m.ty()?, m.ty()?];
    let bytes = types[1].bits() == 8 && types[2].bits() == 8;
    if !known || !bytes || types[0] != Type::S32 || types[3] != Type::S32 {
        return Err(m.unsupported());
    }
    b.dsts(x, d, 32)?;
    for operand in [a, c, e] {
        b.srcs(x, operand, U32)?;
    }
    if x.dsts != 4 || x.srcs != k / 8 + k / 16 + 4 {
        return Err(Error::parse(x.line, "wrong fragment size"));
    }
    Ok(WarpOp::Mma { k, a_signed: types[1].signed(), b_signed: types[2].signed(), sat })
}

/// The operations of `redux.sync`, the first six of the atomics.
const _: () = assert!(matches!(ATOMICS[5].1, AtomicOp::Xor));
