//! Tokens to the syntax tree of [`crate::ast`].

use crate::ast::{Function, Init, Kind, Operand, Raw, Source, Statement, Variable};
use crate::error::Error;
use crate::lex::{Spanned, Token, lex};
use crate::types::{Space, Type};

/// The part of a declaration before the name.
struct Head {
    space: Space,
    ty: Type,
    align: u64,
    /// Bytes of one element (all components of a vector).
    bytes: u64,
}

struct Parser<'a> {
    tokens: Vec<Spanned<'a>>,
    at: usize,
}

/// Nested `{` in operands or scopes; deeper text is no PTX of a compiler.
const DEPTH: u32 = 64;
/// Bytes of one variable.
const MAX_VARIABLE: u64 = 1 << 30;

impl<'a> Source<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Source<'a>, Error> {
        let mut p = Parser { tokens: lex(text)?, at: 0 };
        let mut source = Source::default();
        loop {
            match p.peek() {
                Token::End => return Ok(source),
                Token::Mark(b';') => p.bump(),
                Token::Dot("version" | "target" | "address_size") => p.skip_header()?,
                Token::Dot("section") => p.skip_section()?,
                Token::Dot("pragma") => p.skip_statement()?,
                Token::Dot(_) => p.item(&mut source)?,
                _ => return p.fail("a directive"),
            }
        }
    }
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens.get(self.at).map_or(Token::End, |t| t.token)
    }

    fn peek_next(&self) -> Token<'a> {
        self.tokens.get(self.at + 1).map_or(Token::End, |t| t.token)
    }

    fn line(&self) -> u32 {
        let last = self.tokens.len().saturating_sub(1);
        self.tokens.get(self.at.min(last)).map_or(1, |t| t.line)
    }

    fn bump(&mut self) {
        self.at += 1;
    }

    fn fail<T>(&self, wanted: &str) -> Result<T, Error> {
        let found = match self.peek() {
            Token::Name(s) => format!("`{s}`"),
            Token::Dot(s) => format!("`.{s}`"),
            Token::Mark(c) => format!("`{}`", c as char),
            Token::End => "the end".into(),
            other => format!("{other:?}"),
        };
        Err(Error::parse(self.line(), format!("expected {wanted}, found {found}")))
    }

    fn eat(&mut self, mark: u8) -> bool {
        let hit = self.peek() == Token::Mark(mark);
        self.at += usize::from(hit);
        hit
    }

    fn expect(&mut self, mark: u8) -> Result<(), Error> {
        if self.eat(mark) { Ok(()) } else { self.fail(&format!("`{}`", mark as char)) }
    }

    fn name(&mut self) -> Result<&'a str, Error> {
        match self.peek() {
            Token::Name(s) => {
                self.bump();
                Ok(s)
            }
            _ => self.fail("a name"),
        }
    }

    fn int(&mut self) -> Result<u64, Error> {
        match self.peek() {
            Token::Int(v) => {
                self.bump();
                Ok(v)
            }
            _ => self.fail("an integer"),
        }
    }

    /// `.version 9.0`, `.target sm_90, debug`, `.address_size 64`.
    fn skip_header(&mut self) -> Result<(), Error> {
        self.bump();
        loop {
            match self.peek() {
                Token::Decimal(_) | Token::Int(_) | Token::Name(_) => self.bump(),
                _ => return self.fail("a version, target or size"),
            }
            if !self.eat(b',') {
                return Ok(());
            }
        }
    }

    fn skip_statement(&mut self) -> Result<(), Error> {
        while !self.eat(b';') {
            if self.peek() == Token::End {
                return self.fail("`;`");
            }
            self.bump();
        }
        Ok(())
    }

    fn skip_section(&mut self) -> Result<(), Error> {
        while self.peek() != Token::Mark(b'{') {
            if self.peek() == Token::End {
                return self.fail("`{`");
            }
            self.bump();
        }
        let mut depth = 0u32;
        loop {
            match self.peek() {
                Token::Mark(b'{') => depth += 1,
                Token::Mark(b'}') => depth -= 1,
                Token::End => return self.fail("`}`"),
                _ => {}
            }
            self.bump();
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// A variable or function at module level.
    fn item(&mut self, source: &mut Source<'a>) -> Result<(), Error> {
        let mut external = false;
        loop {
            match self.peek() {
                Token::Dot("visible" | "weak" | "common") => self.bump(),
                Token::Dot("extern") => {
                    external = true;
                    self.bump();
                }
                Token::Dot("entry") => {
                    self.bump();
                    let f = self.function(true)?;
                    source.functions.push(f);
                    return Ok(());
                }
                Token::Dot("func") => {
                    self.bump();
                    let f = self.function(false)?;
                    source.functions.push(f);
                    return Ok(());
                }
                Token::Dot("global" | "const" | "shared") => {
                    self.variables(external, |v| source.variables.push(v))?;
                    return Ok(());
                }
                Token::Dot(other) => {
                    return Err(Error::unsupported(self.line(), format!(".{other}")));
                }
                _ => return self.fail("a directive"),
            }
        }
    }

    /// The state space, attributes and type before a name.
    fn variable_head(&mut self) -> Result<Head, Error> {
        let (mut space, mut ty, mut align, mut width) = (None, None, None, 1);
        while let Token::Dot(word) = self.peek() {
            self.bump();
            match word {
                "global" => space = Some(Space::Global),
                "const" => space = Some(Space::Const),
                "shared" => space = Some(Space::Shared),
                "local" => space = Some(Space::Local),
                "param" => space = Some(Space::Param),
                "ptr" => self.pointee()?,
                "align" => align = Some(self.int()?),
                "v2" => width = 2,
                "v4" => width = 4,
                "attribute" => {
                    while !self.eat(b')') {
                        if self.peek() == Token::End {
                            return self.fail("`)`");
                        }
                        self.bump();
                    }
                }
                _ => match Type::parse(word) {
                    Some(t) if t != Type::Pred => ty = Some(t),
                    _ => {
                        let what = format!(".{word} variable");
                        return Err(Error::unsupported(self.line(), what));
                    }
                },
            }
        }
        let (Some(space), Some(ty)) = (space, ty) else {
            return self.fail("a state space and a type");
        };
        let bytes = u64::from(ty.bytes()) * width;
        let align = align.unwrap_or(bytes);
        if !align.is_power_of_two() || align > 1 << 16 {
            return self.fail("an alignment that is a small power of two");
        }
        Ok(Head { space, ty, align, bytes })
    }

    /// `.ptr .global .align 4` says what a pointer parameter points to; nothing here needs it.
    fn pointee(&mut self) -> Result<(), Error> {
        while let Token::Dot(word) = self.peek() {
            self.bump();
            if word == "align" {
                self.int()?;
            }
        }
        Ok(())
    }

    /// `name[4][2] = {..}`: the part of a declaration after its type.
    fn variable_tail(&mut self, head: &Head, external: bool) -> Result<Variable<'a>, Error> {
        let line = self.line();
        let name = self.name()?;
        let mut bytes = head.bytes;
        while self.eat(b'[') {
            let count = if self.peek() == Token::Mark(b']') { 0 } else { self.int()? };
            self.expect(b']')?;
            bytes = bytes
                .checked_mul(count)
                .filter(|&b| b <= MAX_VARIABLE)
                .ok_or_else(|| Error::parse(line, "variable too large"))?;
        }
        let mut init = Vec::new();
        if self.eat(b'=') {
            self.initialiser(&mut init, 0)?;
        }
        Ok(Variable {
            space: head.space,
            name,
            ty: head.ty,
            align: head.align,
            bytes,
            external,
            init,
            line,
        })
    }

    /// One declaration statement: a type and one or more names.
    fn variables(
        &mut self,
        external: bool,
        mut sink: impl FnMut(Variable<'a>),
    ) -> Result<(), Error> {
        let head = self.variable_head()?;
        loop {
            sink(self.variable_tail(&head, external)?);
            if !self.eat(b',') {
                return self.expect(b';');
            }
        }
    }

    fn initialiser(&mut self, out: &mut Vec<Init<'a>>, depth: u32) -> Result<(), Error> {
        if depth > DEPTH {
            return self.fail("a flatter initialiser");
        }
        if self.eat(b'{') {
            while !self.eat(b'}') {
                self.initialiser(out, depth + 1)?;
                if !self.eat(b',') {
                    self.expect(b'}')?;
                    break;
                }
            }
            return Ok(());
        }
        let negative = self.eat(b'-');
        let token = self.peek();
        let element = match token {
            Token::Int(v) => Init::Bits(if negative { v.wrapping_neg() } else { v }),
            Token::F32(v) => Init::Bits(v.into()),
            Token::F64(v) => Init::Bits(v),
            Token::Decimal(v) => Init::Decimal(if negative { -v } else { v }),
            Token::Name(name) => {
                self.bump();
                let mut name = name;
                if name == "generic" && self.eat(b'(') {
                    name = self.name()?;
                    self.expect(b')')?;
                }
                let offset = self.offset()?;
                out.push(Init::Address { name, offset });
                return Ok(());
            }
            _ => return self.fail("a constant"),
        };
        self.bump();
        out.push(element);
        Ok(())
    }

    /// `+16`, `-4` or nothing. A sum in an address may also be written `+-4`.
    fn offset(&mut self) -> Result<i64, Error> {
        let negative = match (self.eat(b'+'), self.eat(b'-')) {
            (false, false) => return Ok(0),
            (_, minus) => minus,
        };
        let value = self.int()? as i64;
        Ok(if negative { value.wrapping_neg() } else { value })
    }

    fn params(&mut self) -> Result<Vec<Variable<'a>>, Error> {
        let mut out = Vec::new();
        if !self.eat(b'(') {
            return Ok(out);
        }
        while !self.eat(b')') {
            if self.peek() == Token::Dot("reg") {
                return Err(Error::unsupported(self.line(), ".reg parameter"));
            }
            let head = self.variable_head()?;
            out.push(self.variable_tail(&head, false)?);
            if !self.eat(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(out)
    }

    fn function(&mut self, entry: bool) -> Result<Function<'a>, Error> {
        let line = self.line();
        let returns = self.params()?;
        let name = self.name()?;
        let params = self.params()?;
        let mut max_threads = None;
        loop {
            match self.peek() {
                Token::Mark(b';') => {
                    self.bump();
                    return Ok(Function {
                        entry,
                        name,
                        returns,
                        params,
                        body: None,
                        max_threads,
                        line,
                    });
                }
                Token::Mark(b'{') => break,
                Token::Dot("maxntid" | "reqntid") => {
                    self.bump();
                    let mut threads = self.int()?;
                    while self.eat(b',') {
                        threads = threads.saturating_mul(self.int()?);
                    }
                    max_threads = Some(threads);
                }
                Token::Dot("pragma") => self.skip_statement()?,
                // Performance hints: `.minnctapersm 2`, `.noreturn`, ...
                Token::Dot(_) | Token::Int(_) | Token::Mark(b',') => self.bump(),
                _ => return self.fail("a function body"),
            }
        }
        let body = Some(self.body()?);
        Ok(Function { entry, name, returns, params, body, max_threads, line })
    }

    fn body(&mut self) -> Result<Vec<Statement<'a>>, Error> {
        let mut out = Vec::new();
        let mut depth = 0;
        self.expect(b'{')?;
        loop {
            let line = self.line();
            let mut push = |kind| out.push(Statement { line, kind });
            match self.peek() {
                Token::Mark(b'{') => {
                    depth += 1;
                    if depth > DEPTH {
                        return self.fail("fewer nested scopes");
                    }
                    push(Kind::Open);
                    self.bump();
                }
                Token::Mark(b'}') => {
                    self.bump();
                    if depth == 0 {
                        return Ok(out);
                    }
                    depth -= 1;
                    push(Kind::Close);
                }
                Token::Mark(b';') => self.bump(),
                Token::Dot("reg") => {
                    self.bump();
                    self.registers(push)?;
                }
                Token::Dot("local" | "shared" | "param") => {
                    self.variables(false, |v| push(Kind::Variable(v)))?;
                }
                Token::Dot("pragma") => self.skip_statement()?,
                Token::Dot(other) => return Err(Error::unsupported(line, format!(".{other}"))),
                Token::Name(name) if self.peek_next() == Token::Mark(b':') => {
                    self.bump();
                    self.bump();
                    match self.peek() {
                        Token::Dot("branchtargets") => {
                            self.bump();
                            let targets = self.targets()?;
                            push(Kind::Targets { name, targets });
                        }
                        Token::Dot("callprototype" | "calltargets") => {
                            return Err(Error::unsupported(line, "indirect call"));
                        }
                        _ => push(Kind::Label(name)),
                    }
                }
                Token::Name(_) | Token::Mark(b'@') => push(Kind::Instruction(self.instruction()?)),
                _ => return self.fail("a statement"),
            }
        }
    }

    fn targets(&mut self) -> Result<Vec<&'a str>, Error> {
        let mut out = vec![self.name()?];
        while self.eat(b',') {
            out.push(self.name()?);
        }
        self.expect(b';')?;
        Ok(out)
    }

    fn registers(&mut self, mut push: impl FnMut(Kind<'a>)) -> Result<(), Error> {
        let line = self.line();
        let Token::Dot(word) = self.peek() else {
            return self.fail("a register type");
        };
        let Some(ty) = Type::parse(word) else {
            return Err(Error::unsupported(line, format!(".{word} register")));
        };
        self.bump();
        loop {
            let name = self.name()?;
            let count = if self.eat(b'<') {
                let count = self.int()?;
                self.expect(b'>')?;
                Some(count)
            } else {
                None
            };
            push(Kind::Register { ty, name, count });
            if !self.eat(b',') {
                return self.expect(b';');
            }
        }
    }

    fn instruction(&mut self) -> Result<Raw<'a>, Error> {
        let mut guard = None;
        if self.eat(b'@') {
            let negated = self.eat(b'!');
            guard = Some((self.name()?, negated));
        }
        let line = self.line();
        let head = self.name()?;
        let mut modifiers = Vec::new();
        while let Token::Dot(word) = self.peek() {
            modifiers.push(word);
            self.bump();
        }
        let mut operands = Vec::new();
        if !self.eat(b';') {
            loop {
                operands.push(self.operand(0)?);
                if !self.eat(b',') {
                    self.expect(b';')?;
                    break;
                }
            }
        }
        Ok(Raw { line, guard, head, modifiers, operands })
    }

    fn operand(&mut self, depth: u32) -> Result<Operand<'a>, Error> {
        let first = self.simple(depth)?;
        if self.eat(b'|') {
            let second = self.simple(depth)?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    fn simple(&mut self, depth: u32) -> Result<Operand<'a>, Error> {
        if depth > DEPTH {
            return self.fail("a flatter operand");
        }
        let token = self.peek();
        self.bump();
        Ok(match token {
            Token::Name("_") => Operand::Sink,
            Token::Name(name) => match self.peek() {
                Token::Dot(part @ ("x" | "y" | "z" | "w")) => {
                    self.bump();
                    Operand::Component(name, part)
                }
                _ => Operand::Name(name, self.offset()?),
            },
            Token::Int(v) => Operand::Int(v),
            Token::F32(v) => Operand::F32(v),
            Token::F64(v) => Operand::F64(v),
            Token::Decimal(v) => Operand::Decimal(v),
            Token::Mark(b'-') => match self.peek() {
                Token::Int(v) => {
                    self.bump();
                    Operand::Int(v.wrapping_neg())
                }
                Token::Decimal(v) => {
                    self.bump();
                    Operand::Decimal(-v)
                }
                _ => return self.fail("a number"),
            },
            Token::Mark(b'!') => Operand::Not(Box::new(self.simple(depth + 1)?)),
            Token::Mark(b'{') => Operand::Vector(self.list(b'}', depth)?),
            Token::Mark(b'(') => Operand::List(self.list(b')', depth)?),
            Token::Mark(b'[') => {
                let address = match self.peek() {
                    Token::Name(name) => {
                        self.bump();
                        Operand::Address(Some(name), self.offset()?)
                    }
                    _ => Operand::Address(None, self.int()? as i64),
                };
                self.expect(b']')?;
                address
            }
            _ => {
                self.at -= 1;
                return self.fail("an operand");
            }
        })
    }

    fn list(&mut self, close: u8, depth: u32) -> Result<Vec<Operand<'a>>, Error> {
        let mut out = Vec::new();
        while !self.eat(close) {
            out.push(self.operand(depth + 1)?);
            if !self.eat(b',') {
                self.expect(close)?;
                break;
            }
        }
        Ok(out)
    }
}
