//! The syntax tree: variables, functions and their statements. Names are not
//! resolved here, and an opcode is only its words.

use crate::types::{Space, Type};

/// A module's text, structured.
#[derive(Default)]
pub(crate) struct Source<'a> {
    pub variables: Vec<Variable<'a>>,
    pub functions: Vec<Function<'a>>,
}

/// A variable or parameter declaration.
pub(crate) struct Variable<'a> {
    pub space: Space,
    pub name: &'a str,
    pub ty: Type,
    pub align: u64,
    /// Size in bytes; 0 for an array without size.
    pub bytes: u64,
    pub external: bool,
    pub init: Vec<Init<'a>>,
    pub line: u32,
}

/// One element of an initialiser.
pub(crate) enum Init<'a> {
    Bits(u64),
    Decimal(f64),
    Address { name: &'a str, offset: i64 },
}

/// A kernel (`.entry`) or device function (`.func`).
pub(crate) struct Function<'a> {
    pub entry: bool,
    pub name: &'a str,
    pub returns: Vec<Variable<'a>>,
    pub params: Vec<Variable<'a>>,
    /// `None` for a declaration.
    pub body: Option<Vec<Statement<'a>>>,
    /// Threads per block allowed by `.maxntid` or demanded by `.reqntid`.
    pub max_threads: Option<u64>,
    pub line: u32,
}

pub(crate) struct Statement<'a> {
    pub line: u32,
    pub kind: Kind<'a>,
}

pub(crate) enum Kind<'a> {
    Open,
    Close,
    Label(&'a str),
    /// `.reg .b32 %r<9>` (count 9) or `.reg .b32 x` (no count).
    Register {
        ty: Type,
        name: &'a str,
        count: Option<u64>,
    },
    Variable(Variable<'a>),
    /// `label: .branchtargets a, b;`
    Targets {
        name: &'a str,
        targets: Vec<&'a str>,
    },
    Instruction(Raw<'a>),
}

/// An instruction as words and operands.
pub(crate) struct Raw<'a> {
    pub line: u32,
    /// Guard predicate and whether it is negated.
    pub guard: Option<(&'a str, bool)>,
    /// First word of the opcode.
    pub head: &'a str,
    /// Its qualifiers, without dots.
    pub modifiers: Vec<&'a str>,
    pub operands: Vec<Operand<'a>>,
}

impl Raw<'_> {
    /// The full opcode.
    pub(crate) fn opcode(&self) -> String {
        let mut name = String::from(self.head);
        for modifier in &self.modifiers {
            name.push('.');
            name.push_str(modifier);
        }
        name
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand<'a> {
    /// A register, symbol or label, with a constant offset (0 mostly).
    Name(&'a str, i64),
    /// `%tid.x`: a special register with its component.
    Component(&'a str, &'a str),
    Int(u64),
    F32(u32),
    F64(u64),
    Decimal(f64),
    /// `!p`
    Not(Box<Operand<'a>>),
    /// `d|p`
    Pair(Box<Operand<'a>>, Box<Operand<'a>>),
    /// `{a, b}`
    Vector(Vec<Operand<'a>>),
    /// `[base+offset]`; an absolute address has no base.
    Address(Option<&'a str>, i64),
    /// `(a, b)`: the parameter list of a call.
    List(Vec<Operand<'a>>),
    /// `_`
    Sink,
}
