//! From the syntax tree to a [`Program`]: one kernel with every device function it
//! reaches. Names become rows, predicates, addresses and code positions; opcodes are
//! decoded in [`ops`], [`memory`] and [`control`].
//!
//! Registers get their row at their first use, so what nvcc declares and never uses
//! costs nothing. Device functions are decoded once per kernel, into rows and local
//! memory of their own: every lane is in a function at most once, because recursion
//! is refused.

mod builder;
mod control;
mod memory;
mod modifiers;
mod names;
mod ops;
mod scope;

use std::collections::HashMap;

use crate::ast::{Function, Kind, Operand, Raw, Source};
use crate::error::Error;
use crate::instr::{ALWAYS, Instr, Op, PRED_SINK, Program, RowInit, SINK};
use crate::memory::FRAME_BASE;
use crate::order;
use builder::{Builder, Placed, Target, place};
use modifiers::Modifiers;
use scope::Scope;

pub(crate) use builder::Symbol;

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
}
