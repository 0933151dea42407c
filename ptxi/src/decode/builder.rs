//! The state of decoding a kernel: rows, predicates and addresses of names, and the instructions so
//! far.

use std::collections::HashMap;

use super::names;
use super::scope::{Reg, Scope};
use crate::ast::{Operand, Source, Variable};
use crate::class::Class;
use crate::error::Error;
use crate::instr::{ALWAYS, CallSite, Instr, Op, PRED_SINK, Program, RowInit, SINK};
use crate::memory::FRAME_BASE;
use crate::types::{Space, Type, ones};

/// Rows of one kernel: 256 bytes each, per warp.
const MAX_ROWS: u32 = 1 << 20;
/// Bytes of local or frame memory of one thread, and of static shared memory.
const MAX_BYTES: u64 = 1 << 24;

/// Meaning of a module-level name.
#[derive(Clone, Copy)]
pub(crate) enum Symbol {
    /// A `.global` or `.const` variable at this address.
    Address(u64),
    /// A static `.shared` variable: placed where a kernel uses it.
    Shared { align: u64, bytes: u64 },
    /// `.extern .shared`.
    DynamicShared,
    /// `.extern .global` without a definition.
    Undefined,
}

/// Frame places of a function's parameters, and its first instruction.
#[derive(Default)]
pub(super) struct Placed {
    pub(super) entry: u32,
    pub(super) params: Vec<(u32, u32)>,
    pub(super) returns: Vec<(u32, u32)>,
}

pub(super) struct Fixup<'a> {
    pub(super) at: Target,
    pub(super) scope: usize,
    pub(super) label: &'a str,
    pub(super) line: u32,
}

pub(super) enum Target {
    Branch(usize),
    Table(usize, usize),
}

pub(crate) struct Builder<'s, 'a> {
    pub(super) source: &'s Source<'a>,
    pub(super) symbols: &'s HashMap<&'a str, Symbol>,
    pub(super) functions: &'s HashMap<&'a str, usize>,
    pub(super) program: Program,
    pub(super) names: HashMap<String, u32>,
    pub(super) row_cache: HashMap<RowInit, u32>,
    pub(super) pred_cache: [Option<u32>; 2],
    pub(super) shared_at: HashMap<&'a str, u64>,
    pub(super) scopes: Vec<Scope<'a>>,
    pub(super) scope: usize,
    pub(super) stretch: u32,
    pub(super) fixups: Vec<Fixup<'a>>,
    pub(super) placed: HashMap<usize, Placed>,
    /// Functions referenced and not decoded yet.
    pub(super) queue: Vec<usize>,
    /// The function being decoded, and who calls whom.
    pub(super) current: usize,
    pub(super) edges: Vec<(usize, usize)>,
    /// Call site -> function called.
    pub(super) callees: Vec<usize>,
    /// First instruction of each function, in the order of the code.
    pub(super) starts: Vec<u32>,
}

/// Places `bytes` at the next multiple of `align` (a power of two) behind `end`.
pub(super) fn place(end: &mut u32, align: u64, bytes: u64, line: u32) -> Result<u32, Error> {
    let at = u64::from(*end).next_multiple_of(align.max(1));
    let next = at.saturating_add(bytes);
    if next > MAX_BYTES {
        return Err(Error::parse(line, "too much local, shared or parameter memory"));
    }
    *end = next as u32;
    Ok(at as u32)
}

impl<'a> Builder<'_, 'a> {
    pub(super) fn variable(&mut self, v: &Variable<'a>) -> Result<(), Error> {
        let program = &mut self.program;
        let (end, base) = match v.space {
            Space::Shared => (&mut program.shared_bytes, 0),
            Space::Local => (&mut program.local_bytes, 0),
            _ => (&mut program.frame_bytes, FRAME_BASE),
        };
        let at = place(end, v.align, v.bytes, v.line)?;
        let scope = &mut self.scopes[self.scope];
        let address = RowInit::Value(base + u64::from(at));
        scope.variables.insert(v.name, address);
        if v.space == Space::Param {
            scope.frames.insert(v.name, (at, v.bytes as u32));
        }
        Ok(())
    }

    /// An instruction with nothing decided but its name and place.
    pub(super) fn blank(&mut self, opcode: String, line: u32) -> Instr {
        let next = self.program.names.len() as u32;
        let name = *self.names.entry(opcode).or_insert_with_key(|opcode| {
            self.program.names.push(opcode.clone());
            next
        });
        Instr {
            op: Op::Nop,
            guard: ALWAYS,
            guard_not: false,
            dst: [SINK; 8],
            dsts: 0,
            src: [SINK; 12],
            srcs: 0,
            dst_bits: 64,
            pred_dst: [PRED_SINK; 2],
            pred_src: [ALWAYS; 2],
            pred_not: [false; 2],
            offset: 0,
            offset2: 0,
            name,
            class: Class::Other,
            stretch: self.stretch,
            line,
        }
    }

    pub(super) fn push(&mut self, mut x: Instr) {
        x.class = names::class(&x.op);
        if matches!(
            x.op,
            Op::Branch { .. } | Op::BranchIndexed { .. } | Op::Call { .. } | Op::Return | Op::Exit
        ) {
            self.stretch += 1;
        }
        self.program.code.push(x);
    }

    pub(super) fn new_register(&mut self, ty: Type, line: u32) -> Result<Reg, Error> {
        if ty == Type::Pred {
            self.program.preds += 1;
            return Ok(Reg::Pred(self.program.preds - 1));
        }
        Ok(Reg::Row(self.new_row(line)?, ty.bits()))
    }

    fn new_row(&mut self, line: u32) -> Result<u32, Error> {
        if self.program.rows >= MAX_ROWS {
            return Err(Error::parse(line, "too many registers"));
        }
        self.program.rows += 1;
        Ok(self.program.rows - 1)
    }

    /// The row that holds a constant from the start of the warp on.
    fn constant_row(&mut self, init: RowInit, line: u32) -> Result<u32, Error> {
        if let Some(&row) = self.row_cache.get(&init) {
            return Ok(row);
        }
        let row = self.new_row(line)?;
        self.row_cache.insert(init, row);
        self.program.inits.push((row, init));
        Ok(row)
    }

    fn register(&mut self, name: &'a str, line: u32) -> Result<Option<Reg>, Error> {
        let mut at = Some(self.scope);
        while let Some(scope) = at {
            if let Some(&reg) = self.scopes[scope].registers.get(name) {
                return Ok(Some(reg));
            }
            if let Some(ty) = self.scopes[scope].in_range(name) {
                let reg = self.new_register(ty, line)?;
                self.scopes[scope].registers.insert(name, reg);
                return Ok(Some(reg));
            }
            at = self.scopes[scope].parent;
        }
        Ok(None)
    }

    /// Value of a variable's or symbol's name: its address.
    fn symbol(&mut self, name: &'a str, line: u32) -> Result<Option<RowInit>, Error> {
        let mut at = Some(self.scope);
        while let Some(scope) = at {
            if let Some(&init) = self.scopes[scope].variables.get(name) {
                return Ok(Some(init));
            }
            at = self.scopes[scope].parent;
        }
        Ok(match self.symbols.get(name) {
            None => None,
            Some(Symbol::Undefined) => {
                let what = format!("variable {name} defined elsewhere");
                return Err(Error::unsupported(line, what));
            }
            Some(Symbol::Address(a)) => Some(RowInit::Value(*a)),
            Some(Symbol::DynamicShared) => Some(RowInit::DynamicShared),
            Some(&Symbol::Shared { align, bytes }) => {
                let address = match self.shared_at.get(name) {
                    Some(&a) => a,
                    None => {
                        let end = &mut self.program.shared_bytes;
                        let a = u64::from(place(end, align, bytes, line)?);
                        self.shared_at.insert(name, a);
                        a
                    }
                };
                Some(RowInit::Value(address))
            }
        })
    }

    /// A source operand of the given type, as a row.
    pub(super) fn row(&mut self, operand: &Operand<'a>, ty: Type, line: u32) -> Result<u32, Error> {
        let value = match *operand {
            Operand::Name(name, offset) => match self.register(name, line)? {
                Some(Reg::Row(row, _)) if offset == 0 => return Ok(row),
                Some(_) => return Err(Error::parse(line, format!("{name} is no {ty:?} operand"))),
                None => match self.symbol(name, line)? {
                    Some(RowInit::Value(a)) => a.wrapping_add_signed(offset),
                    Some(init) if offset == 0 => return self.constant_row(init, line),
                    Some(_) => return Err(Error::unsupported(line, format!("{name}+{offset}"))),
                    None => {
                        let special = names::special(name, None).ok_or_else(|| {
                            Error::parse(line, format!("no register or symbol {name}"))
                        })?;
                        return self.constant_row(special, line);
                    }
                },
            },
            Operand::Component(name, part) => {
                let special = names::special(name, Some(part))
                    .ok_or_else(|| Error::parse(line, format!("no register {name}.{part}")))?;
                return self.constant_row(special, line);
            }
            Operand::Int(v) => v,
            Operand::F32(bits) if ty == Type::F64 => f64::from(f32::from_bits(bits)).to_bits(),
            Operand::F32(bits) => bits.into(),
            Operand::F64(bits) if ty == Type::F32 => (f64::from_bits(bits) as f32).to_bits().into(),
            Operand::F64(bits) => bits,
            Operand::Decimal(v) if ty == Type::F32 => (v as f32).to_bits().into(),
            Operand::Decimal(v) => v.to_bits(),
            _ => return Err(Error::parse(line, format!("{operand:?} is no {ty:?} operand"))),
        };
        self.constant_row(RowInit::Value(value & ones(ty.bits())), line)
    }

    /// A predicate operand and whether it is negated.
    pub(super) fn predicate(
        &mut self,
        operand: &Operand<'a>,
        line: u32,
    ) -> Result<(u32, bool), Error> {
        match operand {
            Operand::Not(inner) => {
                let (pred, negated) = self.predicate(inner, line)?;
                Ok((pred, !negated))
            }
            Operand::Int(v) => {
                let value = *v != 0;
                let pred = match self.pred_cache[usize::from(value)] {
                    Some(pred) => pred,
                    None => {
                        self.program.preds += 1;
                        let pred = self.program.preds - 1;
                        self.program.pred_inits.push((pred, value));
                        self.pred_cache[usize::from(value)] = Some(pred);
                        pred
                    }
                };
                Ok((pred, false))
            }
            Operand::Name(name, 0) => match self.register(name, line)? {
                Some(Reg::Pred(pred)) => Ok((pred, false)),
                _ => Err(Error::parse(line, format!("{name} is no predicate"))),
            },
            _ => Err(Error::parse(line, format!("{operand:?} is no predicate"))),
        }
    }

    pub(super) fn src(
        &mut self,
        x: &mut Instr,
        operand: &Operand<'a>,
        ty: Type,
    ) -> Result<(), Error> {
        let row = self.row(operand, ty, x.line)?;
        let Some(slot) = x.src.get_mut(usize::from(x.srcs)) else {
            return Err(Error::parse(x.line, "too many operands"));
        };
        *slot = row;
        x.srcs += 1;
        Ok(())
    }

    pub(super) fn srcs(
        &mut self,
        x: &mut Instr,
        operand: &Operand<'a>,
        ty: Type,
    ) -> Result<(), Error> {
        match operand {
            Operand::Vector(list) => list.iter().try_for_each(|o| self.src(x, o, ty)),
            one => self.src(x, one, ty),
        }
    }

    /// A destination register of at least `bits` bits.
    pub(super) fn dst(
        &mut self,
        x: &mut Instr,
        operand: &Operand<'a>,
        bits: u32,
    ) -> Result<(), Error> {
        let (row, width) = match *operand {
            Operand::Sink => (SINK, 64),
            Operand::Name(name, 0) => match self.register(name, x.line)? {
                Some(Reg::Row(row, width)) => (row, width),
                _ => return Err(Error::parse(x.line, format!("{name} is no register"))),
            },
            _ => return Err(Error::parse(x.line, format!("{operand:?} is no register"))),
        };
        if width < bits {
            return Err(Error::parse(
                x.line,
                format!("{bits}-bit result in a register of {width}"),
            ));
        }
        let Some(slot) = x.dst.get_mut(usize::from(x.dsts)) else {
            return Err(Error::parse(x.line, "too many operands"));
        };
        *slot = row;
        x.dst_bits = if x.dsts == 0 { width as u8 } else { x.dst_bits };
        x.dsts += 1;
        Ok(())
    }

    pub(super) fn dsts(
        &mut self,
        x: &mut Instr,
        operand: &Operand<'a>,
        bits: u32,
    ) -> Result<(), Error> {
        match operand {
            Operand::Vector(list) => list.iter().try_for_each(|o| self.dst(x, o, bits)),
            one => self.dst(x, one, bits),
        }
    }

    pub(super) fn pred_dst(
        &mut self,
        x: &mut Instr,
        slot: usize,
        operand: &Operand<'a>,
    ) -> Result<(), Error> {
        if *operand != Operand::Sink {
            match self.predicate(operand, x.line)? {
                (pred, false) if pred > PRED_SINK => x.pred_dst[slot] = pred,
                _ => return Err(Error::parse(x.line, "predicate cannot be written")),
            }
        }
        Ok(())
    }

    pub(super) fn pred_src(
        &mut self,
        x: &mut Instr,
        slot: usize,
        operand: &Operand<'a>,
    ) -> Result<(), Error> {
        (x.pred_src[slot], x.pred_not[slot]) = self.predicate(operand, x.line)?;
        Ok(())
    }

    /// `d` or `d|p`.
    pub(super) fn dst_pair(
        &mut self,
        x: &mut Instr,
        operand: &Operand<'a>,
        bits: u32,
    ) -> Result<(), Error> {
        match operand {
            Operand::Pair(d, p) => {
                self.dst(x, d, bits)?;
                self.pred_dst(x, 0, p)
            }
            one => self.dst(x, one, bits),
        }
    }

    /// An address operand: its row and constant offset.
    pub(super) fn address(&mut self, x: &mut Instr, operand: &Operand<'a>) -> Result<i64, Error> {
        match *operand {
            Operand::Address(Some(name), offset) => {
                self.src(x, &Operand::Name(name, 0), Type::U64)?;
                Ok(offset)
            }
            Operand::Address(None, at) => {
                self.src(x, &Operand::Int(at as u64), Type::U64)?;
                Ok(0)
            }
            _ => Err(Error::parse(x.line, format!("{operand:?} is no address"))),
        }
    }

    pub(super) fn add_call(&mut self, callee: usize, site: CallSite) -> u32 {
        self.edges.push((self.current, callee));
        self.callees.push(callee);
        self.program.calls.push(site);
        self.program.calls.len() as u32 - 1
    }
}
