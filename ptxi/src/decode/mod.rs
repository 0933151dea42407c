//! From the syntax tree to a [`Program`]: one kernel with every device function it
//! reaches. Names become rows, predicates, addresses and code positions; opcodes are
//! decoded in [`ops`], [`memory`] and [`control`].
//!
//! Registers get their row at their first use, so what nvcc declares and never uses
//! costs nothing. Device functions are decoded once per kernel, into rows and local
//! memory of their own: every lane is in a function at most once, because recursion
//! is refused.

mod control;
mod memory;
mod modifiers;
mod names;
mod ops;
mod scope;

use std::collections::HashMap;

use crate::ast::{Function, Kind, Operand, Raw, Source, Variable};
use crate::class::Class;
use crate::error::Error;
use crate::instr::{ALWAYS, CallSite, Instr, Op, PRED_SINK, Program, RowInit, SINK};
use crate::memory::FRAME_BASE;
use crate::order;
use crate::types::{Space, Type, ones};
use modifiers::Modifiers;
use scope::{Reg, Scope};

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
struct Placed {
    entry: u32,
    params: Vec<(u32, u32)>,
    returns: Vec<(u32, u32)>,
}

struct Fixup<'a> {
    at: Target,
    scope: usize,
    label: &'a str,
    line: u32,
}

enum Target {
    Branch(usize),
    Table(usize, usize),
}

pub(crate) struct Builder<'s, 'a> {
    source: &'s Source<'a>,
    symbols: &'s HashMap<&'a str, Symbol>,
    functions: &'s HashMap<&'a str, usize>,
    program: Program,
    names: HashMap<String, u32>,
    row_cache: HashMap<RowInit, u32>,
    pred_cache: [Option<u32>; 2],
    shared_at: HashMap<&'a str, u64>,
    scopes: Vec<Scope<'a>>,
    scope: usize,
    stretch: u32,
    fixups: Vec<Fixup<'a>>,
    placed: HashMap<usize, Placed>,
    /// Functions referenced and not decoded yet.
    queue: Vec<usize>,
    /// The function being decoded, and who calls whom.
    current: usize,
    edges: Vec<(usize, usize)>,
    /// Call site -> function called.
    callees: Vec<usize>,
    /// First instruction of each function, in the order of the code.
    starts: Vec<u32>,
}

/// Decodes the kernel `source.functions[index]`.
pub(crate) fn build<'s, 'a>(
    source: &'s Source<'a>,
    symbols: &'s HashMap<&'a str, Symbol>,
    functions: &'s HashMap<&'a str, usize>,
    index: usize,
) -> Result<Program, Error> {
    let function = &source.functions[index];
    let program = Program {
        name: function.name.to_string(),
        code: Vec::new(),
        order: Vec::new(),
        names: Vec::new(),
        rows: SINK + 1,
        preds: PRED_SINK + 1,
        inits: Vec::new(),
        pred_inits: vec![(ALWAYS, true)],
        tables: Vec::new(),
        calls: Vec::new(),
        param_bytes: 0,
        shared_bytes: 0,
        local_bytes: 0,
        frame_bytes: 0,
        max_threads: function.max_threads,
    };
    let builder = Builder {
        source,
        symbols,
        functions,
        program,
        names: HashMap::new(),
        row_cache: HashMap::new(),
        pred_cache: [None, Some(ALWAYS)],
        shared_at: HashMap::new(),
        scopes: Vec::new(),
        scope: 0,
        stretch: 0,
        fixups: Vec::new(),
        placed: HashMap::new(),
        queue: vec![index],
        current: index,
        edges: Vec::new(),
        callees: Vec::new(),
        starts: Vec::new(),
    };
    builder.run()
}

/// Places `bytes` at the next multiple of `align` (a power of two) behind `end`.
fn place(end: &mut u32, align: u64, bytes: u64, line: u32) -> Result<u32, Error> {
    let at = u64::from(*end).next_multiple_of(align.max(1));
    let next = at.saturating_add(bytes);
    if next > MAX_BYTES {
        return Err(Error::parse(line, "too much local, shared or parameter memory"));
    }
    *end = next as u32;
    Ok(at as u32)
}

impl<'a> Builder<'_, 'a> {
    fn run(mut self) -> Result<Program, Error> {
        let kernel = self.current;
        while let Some(index) = self.queue.pop() {
            self.function(index, index == kernel)?;
        }
        self.resolve_labels()?;
        self.refuse_recursion(kernel)?;
        for (site, callee) in self.callees.iter().enumerate() {
            self.program.calls[site].target = self.placed.get(callee).map_or(0, |p| p.entry);
        }
        // Dynamic shared memory follows the static one, on a 16-byte boundary.
        self.program.shared_bytes = self.program.shared_bytes.next_multiple_of(16);
        let dynamic = u64::from(self.program.shared_bytes);
        for (_, init) in &mut self.program.inits {
            if *init == RowInit::DynamicShared {
                *init = RowInit::Value(dynamic);
            }
        }
        self.program.order = order::order(&self.program, &self.starts);
        Ok(self.program)
    }

    fn function(&mut self, index: usize, kernel: bool) -> Result<(), Error> {
        let source = self.source;
        let function = &source.functions[index];
        self.current = index;
        self.scope = self.scopes.len();
        self.scopes.push(Scope::default());
        if kernel {
            for p in &function.params {
                let at = place(&mut self.program.param_bytes, p.align, p.bytes, p.line)?;
                self.scopes[self.scope].variables.insert(p.name, RowInit::Value(at.into()));
            }
        } else {
            self.declare(index)?;
            let placed = &self.placed[&index];
            let names = function.params.iter().zip(&placed.params);
            for (p, at) in names.chain(function.returns.iter().zip(&placed.returns)) {
                let address = RowInit::Value(FRAME_BASE + u64::from(at.0));
                self.scopes[self.scope].variables.insert(p.name, address);
            }
        }
        let entry = self.program.code.len() as u32;
        self.starts.push(entry);
        self.placed.entry(index).or_default().entry = entry;
        self.stretch += 1;
        let Some(body) = &function.body else {
            let what = format!("call of {}, which has no body here", function.name);
            return Err(Error::unsupported(function.line, what));
        };
        let mut last = function.line;
        for statement in body {
            last = statement.line;
            self.statement(&statement.kind, statement.line)?;
        }
        // Whoever runs off the end returns.
        let end = self.blank("ret".into(), last);
        self.push(Instr { op: Op::Return, ..end });
        Ok(())
    }

    /// Gives a device function its places in the parameter frame.
    fn declare(&mut self, index: usize) -> Result<(), Error> {
        if self.placed.contains_key(&index) {
            return Ok(());
        }
        let function: &Function<'a> = &self.source.functions[index];
        let mut placed = Placed::default();
        for (list, out) in
            [(&function.params, &mut placed.params), (&function.returns, &mut placed.returns)]
        {
            for p in list {
                let at = place(&mut self.program.frame_bytes, p.align, p.bytes, p.line)?;
                out.push((at, p.bytes as u32));
            }
        }
        self.placed.insert(index, placed);
        self.queue.push(index);
        Ok(())
    }

    fn statement(&mut self, kind: &Kind<'a>, line: u32) -> Result<(), Error> {
        match kind {
            Kind::Open => {
                let parent = Some(self.scope);
                self.scope = self.scopes.len();
                self.scopes.push(Scope { parent, ..Scope::default() });
            }
            Kind::Close => {
                if let Some(parent) = self.scopes[self.scope].parent {
                    self.scope = parent;
                }
            }
            Kind::Label(name) => {
                self.stretch += 1;
                let at = self.program.code.len() as u32;
                if self.scopes[self.scope].labels.insert(name, at).is_some() {
                    return Err(Error::parse(line, format!("label {name} stands twice")));
                }
            }
            Kind::Register { ty, name, count } => {
                let scope = &mut self.scopes[self.scope];
                match count {
                    Some(count) => scope.ranges.push((name, *count, *ty)),
                    None => {
                        let reg = self.new_register(*ty, line)?;
                        self.scopes[self.scope].registers.insert(name, reg);
                    }
                }
            }
            Kind::Variable(variable) => self.variable(variable)?,
            Kind::Targets { name, targets } => {
                let scope = &mut self.scopes[self.scope];
                scope.targets.insert(name, targets.clone());
            }
            Kind::Instruction(raw) => self.instruction(raw)?,
        }
        Ok(())
    }

    fn variable(&mut self, v: &Variable<'a>) -> Result<(), Error> {
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

    fn resolve_labels(&mut self) -> Result<(), Error> {
        for fixup in std::mem::take(&mut self.fixups) {
            let mut scope = Some(fixup.scope);
            let target = loop {
                let Some(at) = scope else {
                    let what = format!("no label {}", fixup.label);
                    return Err(Error::parse(fixup.line, what));
                };
                if let Some(&target) = self.scopes[at].labels.get(fixup.label) {
                    break target;
                }
                scope = self.scopes[at].parent;
            };
            match fixup.at {
                Target::Branch(at) => self.program.code[at].op = Op::Branch { target },
                Target::Table(table, slot) => self.program.tables[table][slot] = target,
            }
        }
        Ok(())
    }

    /// Rows and frames are given out once per function, so no function may be active twice.
    fn refuse_recursion(&self, kernel: usize) -> Result<(), Error> {
        // Kahn's algorithm: what cannot be removed callers-first lies on a cycle.
        let mut callers: HashMap<usize, usize> = HashMap::new();
        for &(_, callee) in &self.edges {
            *callers.entry(callee).or_default() += 1;
        }
        let mut ready = vec![kernel];
        while let Some(f) = ready.pop() {
            for &(_, callee) in self.edges.iter().filter(|e| e.0 == f) {
                let left = callers.entry(callee).or_default();
                *left = left.saturating_sub(1);
                if *left == 0 {
                    ready.push(callee);
                }
            }
        }
        match callers.iter().find(|(_, left)| **left > 0) {
            Some((&f, _)) => {
                let function = &self.source.functions[f];
                let what = format!("recursive call of {}", function.name);
                Err(Error::unsupported(function.line, what))
            }
            None => Ok(()),
        }
    }

    /// An instruction with nothing decided but its name and place.
    fn blank(&mut self, opcode: String, line: u32) -> Instr {
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

    fn push(&mut self, mut x: Instr) {
        x.class = names::class(&x.op);
        if matches!(
            x.op,
            Op::Branch { .. } | Op::BranchIndexed { .. } | Op::Call { .. } | Op::Return | Op::Exit
        ) {
            self.stretch += 1;
        }
        self.program.code.push(x);
    }

    fn instruction(&mut self, raw: &Raw<'a>) -> Result<(), Error> {
        let mut x = self.blank(raw.opcode(), raw.line);
        if let Some((name, negated)) = raw.guard {
            (x.guard, _) = self.predicate(&Operand::Name(name, 0), raw.line)?;
            x.guard_not = negated;
        }
        let mut m = Modifiers::new(raw)?;
        if !ops::decode(self, raw, &mut m, &mut x)?
            && !memory::decode(self, raw, &mut m, &mut x)?
            && !control::decode(self, raw, &mut m, &mut x)?
        {
            return Err(Error::unsupported(raw.line, raw.opcode()));
        }
        m.finish()?;
        self.push(x);
        Ok(())
    }

    fn new_register(&mut self, ty: Type, line: u32) -> Result<Reg, Error> {
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
    fn row(&mut self, operand: &Operand<'a>, ty: Type, line: u32) -> Result<u32, Error> {
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
    fn predicate(&mut self, operand: &Operand<'a>, line: u32) -> Result<(u32, bool), Error> {
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

    fn src(&mut self, x: &mut Instr, operand: &Operand<'a>, ty: Type) -> Result<(), Error> {
        let row = self.row(operand, ty, x.line)?;
        let Some(slot) = x.src.get_mut(usize::from(x.srcs)) else {
            return Err(Error::parse(x.line, "too many operands"));
        };
        *slot = row;
        x.srcs += 1;
        Ok(())
    }

    fn srcs(&mut self, x: &mut Instr, operand: &Operand<'a>, ty: Type) -> Result<(), Error> {
        match operand {
            Operand::Vector(list) => list.iter().try_for_each(|o| self.src(x, o, ty)),
            one => self.src(x, one, ty),
        }
    }

    /// A destination register of at least `bits` bits.
    fn dst(&mut self, x: &mut Instr, operand: &Operand<'a>, bits: u32) -> Result<(), Error> {
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

    fn dsts(&mut self, x: &mut Instr, operand: &Operand<'a>, bits: u32) -> Result<(), Error> {
        match operand {
            Operand::Vector(list) => list.iter().try_for_each(|o| self.dst(x, o, bits)),
            one => self.dst(x, one, bits),
        }
    }

    fn pred_dst(&mut self, x: &mut Instr, slot: usize, operand: &Operand<'a>) -> Result<(), Error> {
        if *operand != Operand::Sink {
            match self.predicate(operand, x.line)? {
                (pred, false) if pred > PRED_SINK => x.pred_dst[slot] = pred,
                _ => return Err(Error::parse(x.line, "predicate cannot be written")),
            }
        }
        Ok(())
    }

    fn pred_src(&mut self, x: &mut Instr, slot: usize, operand: &Operand<'a>) -> Result<(), Error> {
        (x.pred_src[slot], x.pred_not[slot]) = self.predicate(operand, x.line)?;
        Ok(())
    }

    /// `d` or `d|p`.
    fn dst_pair(&mut self, x: &mut Instr, operand: &Operand<'a>, bits: u32) -> Result<(), Error> {
        match operand {
            Operand::Pair(d, p) => {
                self.dst(x, d, bits)?;
                self.pred_dst(x, 0, p)
            }
            one => self.dst(x, one, bits),
        }
    }

    /// An address operand: its row and constant offset.
    fn address(&mut self, x: &mut Instr, operand: &Operand<'a>) -> Result<i64, Error> {
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

    fn add_call(&mut self, callee: usize, site: CallSite) -> u32 {
        self.edges.push((self.current, callee));
        self.callees.push(callee);
        self.program.calls.push(site);
        self.program.calls.len() as u32 - 1
    }
}
