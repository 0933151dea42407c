//! Text to tokens. Comments, `.loc`/`.file` lines and DWARF lines vanish here.

use crate::error::Error;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Token<'a> {
    /// `add`, `%r1`, `$L__BB0_1`, `_Z1fi`.
    Name(&'a str),
    /// `.u32`, `.shared::cta`; without the leading dot.
    Dot(&'a str),
    Int(u64),
    /// `0f3F800000`: the bits of an f32.
    F32(u32),
    /// `0d3FF0000000000000`: the bits of an f64.
    F64(u64),
    /// A decimal floating-point literal.
    Decimal(f64),
    /// A string, without its quotes.
    Text(&'a str),
    /// Any other character.
    Mark(u8),
    End,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Spanned<'a> {
    pub token: Token<'a>,
    pub line: u32,
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
}

fn name_char(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$')
}

/// All tokens of a text, closed by [`Token::End`].
pub(crate) fn lex(text: &str) -> Result<Vec<Spanned<'_>>, Error> {
    let mut lexer = Lexer { text, bytes: text.as_bytes(), at: 0, line: 1 };
    let mut out = Vec::with_capacity(text.len() / 4);
    loop {
        lexer.skip_blank()?;
        let line = lexer.line;
        let token = lexer.token()?;
        match token {
            // Line-terminated directives carry nothing that is executed.
            Token::Dot("loc" | "file") => lexer.skip_line(),
            Token::Mark(b'@') if lexer.peek(0) == b'@' => lexer.skip_line(),
            _ => {
                out.push(Spanned { token, line });
                if token == Token::End {
                    return Ok(out);
                }
            }
        }
    }
}

impl<'a> Lexer<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_line(&mut self) {
        while self.at < self.bytes.len() && self.peek(0) != b'\n' {
            self.at += 1;
        }
    }

    fn skip_blank(&mut self) -> Result<(), Error> {
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'\n', _) => {
                    self.line += 1;
                    self.at += 1;
                }
                (b'/', b'/') => self.skip_line(),
                (b'/', b'*') => {
                    let start = self.line;
                    self.at += 2;
                    while (self.peek(0), self.peek(1)) != (b'*', b'/') {
                        if self.at >= self.bytes.len() {
                            return Err(Error::parse(start, "comment without end"));
                        }
                        self.line += u32::from(self.peek(0) == b'\n');
                        self.at += 1;
                    }
                    self.at += 2;
                }
                (c, _) if c.is_ascii_whitespace() || c == 0 => self.at += 1,
                _ => break,
            }
        }
        Ok(())
    }

    /// Advances over bytes that satisfy `keep` and returns them. All such bytes are ASCII.
    fn run(&mut self, keep: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        while self.at < self.bytes.len() && keep(self.peek(0)) {
            self.at += 1;
        }
        self.text.get(start..self.at).unwrap_or("")
    }

    fn token(&mut self) -> Result<Token<'a>, Error> {
        if self.at >= self.bytes.len() {
            return Ok(Token::End);
        }
        let c = self.peek(0);
        Ok(match c {
            b'%' | b'_' | b'$' | b'a'..=b'z' | b'A'..=b'Z' => {
                let start = self.at;
                self.at += 1;
                self.run(name_char);
                Token::Name(self.text.get(start..self.at).unwrap_or(""))
            }
            b'.' if name_char(self.peek(1)) => {
                self.at += 1;
                let start = self.at;
                self.run(name_char);
                while self.peek(0) == b':' && self.peek(1) == b':' {
                    self.at += 2;
                    self.run(name_char);
                }
                Token::Dot(self.text.get(start..self.at).unwrap_or(""))
            }
            b'0'..=b'9' => self.number()?,
            b'"' => {
                self.at += 1;
                let start = self.at;
                while self.at < self.bytes.len() && !matches!(self.peek(0), b'"' | b'\n') {
                    self.at += 1;
                }
                let text = self.text.get(start..self.at).unwrap_or("");
                if self.peek(0) != b'"' {
                    return Err(Error::parse(self.line, "string without end"));
                }
                self.at += 1;
                Token::Text(text)
            }
            _ if !c.is_ascii() => {
                return Err(Error::parse(self.line, "character outside ASCII"));
            }
            _ => {
                self.at += 1;
                Token::Mark(c)
            }
        })
    }

    fn number(&mut self) -> Result<Token<'a>, Error> {
        let line = self.line;
        let bad = |text: &str| Error::parse(line, format!("bad number `{text}`"));
        if self.peek(0) == b'0' && matches!(self.peek(1), b'f' | b'F' | b'd' | b'D') {
            let double = matches!(self.peek(1), b'd' | b'D');
            self.at += 2;
            let digits = self.run(|c| c.is_ascii_hexdigit());
            if digits.len() != if double { 16 } else { 8 } {
                return Err(bad(digits));
            }
            let bits = u64::from_str_radix(digits, 16).map_err(|_| bad(digits))?;
            return Ok(if double { Token::F64(bits) } else { Token::F32(bits as u32) });
        }
        let start = self.at;
        let word = self.run(|c| c.is_ascii_alphanumeric());
        if self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
            self.at += 1;
            self.run(|c| c.is_ascii_alphanumeric());
            if matches!(self.peek(0), b'+' | b'-')
                && matches!(self.bytes.get(self.at - 1), Some(b'e' | b'E'))
            {
                self.at += 1;
                self.run(|c| c.is_ascii_digit());
            }
            let text = self.text.get(start..self.at).unwrap_or("");
            return text.parse().map(Token::Decimal).map_err(|_| bad(text));
        }
        let digits = word.trim_end_matches('U');
        let (digits, radix) = match digits.as_bytes() {
            [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
            [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
            [b'0', _, ..] => (&digits[1..], 8),
            _ => (digits, 10),
        };
        u64::from_str_radix(digits, radix).map(Token::Int).map_err(|_| bad(word))
    }
}
