//! A parsed module: its kernels and its initialised variables.

use std::collections::HashMap;

use crate::ast::{Init, Source, Variable};
use crate::decode::{Symbol, build};
use crate::error::Error;
use crate::instr::Program;
use crate::memory::base;
use crate::types::{Space, Type};

/// PTX text, parsed, checked and decoded.
#[derive(Debug)]
pub struct Module {
    kernels: Vec<Program>,
    globals: Vec<Global>,
}

/// A `.global` or `.const` variable.
#[derive(Debug)]
pub(crate) struct Global {
    pub name: String,
    pub bytes: Vec<u8>,
    pub constant: bool,
}

/// Properties of a kernel that a launch needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kernel<'m> {
    program: &'m Program,
}

impl PartialEq for Program {
    /// Kernels of a module have different names.
    fn eq(&self, other: &Program) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Program {}

impl<'m> Kernel<'m> {
    /// The name after `.entry`.
    #[must_use]
    pub fn name(&self) -> &'m str {
        &self.program.name
    }

    /// Bytes of all parameters together, with the gaps that their alignment leaves.
    #[must_use]
    pub fn param_bytes(&self) -> usize {
        self.program.param_bytes as usize
    }

    /// Bytes of static shared memory (a multiple of 16; dynamic shared memory follows).
    #[must_use]
    pub fn static_shared_bytes(&self) -> usize {
        self.program.shared_bytes as usize
    }

    /// Bytes of local memory of a thread.
    #[must_use]
    pub fn local_bytes(&self) -> usize {
        self.program.local_bytes as usize
    }

    /// Static number of instructions, device functions included.
    #[must_use]
    pub fn instructions(&self) -> usize {
        self.program.code.len()
    }

    /// Threads a block may have, where the text bounds them (`.maxntid`, `.reqntid`).
    #[must_use]
    pub fn max_threads(&self) -> Option<u64> {
        self.program.max_threads
    }
}

impl Module {
    /// Parses PTX text and decodes every kernel in it, with the functions they call.
    ///
    /// # Errors
    /// [`Error::Parse`] for malformed text, [`Error::Unsupported`] for what is outside the subset.
    pub fn parse(text: &str) -> Result<Module, Error> {
        let source = Source::parse(text)?;
        let mut functions = HashMap::new();
        for (index, f) in source.functions.iter().enumerate() {
            // A declaration may come before or after its definition.
            if f.body.is_some() || !functions.contains_key(f.name) {
                functions.insert(f.name, index);
            }
        }
        let mut symbols = HashMap::new();
        let mut variables: Vec<&Variable<'_>> = Vec::new();
        for v in &source.variables {
            let symbol = match (v.space, v.external) {
                (Space::Shared, true) => Symbol::DynamicShared,
                (Space::Shared, false) => Symbol::Shared { align: v.align, bytes: v.bytes },
                (_, true) => Symbol::Undefined,
                (_, false) => {
                    variables.push(v);
                    Symbol::Address(base(variables.len() - 1))
                }
            };
            symbols.insert(v.name, symbol);
        }
        let globals = variables
            .into_iter()
            .map(|v| {
                Ok(Global {
                    name: v.name.to_string(),
                    bytes: initial_bytes(v, &symbols)?,
                    constant: v.space == Space::Const,
                })
            })
            .collect::<Result<_, Error>>()?;
        let kernels = (0..source.functions.len())
            .filter(|&i| source.functions[i].entry && source.functions[i].body.is_some())
            .map(|i| build(&source, &symbols, &functions, i))
            .collect::<Result<_, Error>>()?;
        Ok(Module { kernels, globals })
    }

    /// The kernels, in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = Kernel<'_>> {
        self.kernels.iter().map(|program| Kernel { program })
    }

    /// The kernel of this name.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<Kernel<'_>> {
        self.kernels().find(|k| k.name() == name)
    }

    /// Initial contents of a `.global` or `.const` variable.
    #[must_use]
    pub fn global(&self, name: &str) -> Option<&[u8]> {
        let global = self.globals.iter().find(|g| g.name == name)?;
        Some(&global.bytes)
    }

    /// Names of all `.global` and `.const` variables, in the order of the text.
    pub fn globals(&self) -> impl Iterator<Item = &str> {
        self.globals.iter().map(|g| g.name.as_str())
    }

    pub(crate) fn program(&self, name: &str) -> Result<&Program, Error> {
        let found = self.kernels.iter().find(|p| p.name == name);
        found.ok_or_else(|| Error::UnknownKernel { name: name.into() })
    }

    pub(crate) fn storage(&self) -> &[Global] {
        &self.globals
    }
}

/// The bytes of a variable: its initialiser, then zeros.
fn initial_bytes(v: &Variable<'_>, symbols: &HashMap<&str, Symbol>) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; v.bytes as usize];
    let size = v.ty.bytes() as usize;
    for (k, init) in v.init.iter().enumerate() {
        let value = match *init {
            Init::Bits(bits) => bits,
            Init::Decimal(x) if v.ty == Type::F32 => (x as f32).to_bits().into(),
            Init::Decimal(x) => x.to_bits(),
            Init::Address { name, offset } => match symbols.get(name) {
                Some(Symbol::Address(a)) if size == 8 => a.wrapping_add_signed(offset),
                _ => {
                    let what = format!("initial value {name}");
                    return Err(Error::unsupported(v.line, what));
                }
            },
        };
        let Some(slot) = bytes.get_mut(k * size..(k + 1) * size) else {
            return Err(Error::parse(v.line, "more initial values than elements"));
        };
        slot.copy_from_slice(&value.to_le_bytes()[..size]);
    }
    Ok(bytes)
}
