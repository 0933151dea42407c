//! The qualifiers of an opcode. Every one must be taken by somebody: what is left
//! over is something we do not know, and an error.

use crate::ast::Raw;
use crate::error::Error;
use crate::types::Type;

pub(crate) struct Modifiers<'r, 'a> {
    raw: &'r Raw<'a>,
    /// One bit a modifier that nobody took yet.
    left: u32,
}

impl<'r, 'a> Modifiers<'r, 'a> {
    pub(super) fn new(raw: &'r Raw<'a>) -> Result<Self, Error> {
        let m =
            Modifiers { raw, left: crate::types::ones(raw.modifiers.len().min(32) as u32) as u32 };
        if raw.modifiers.len() > 32 {
            return Err(m.unsupported());
        }
        Ok(m)
    }

    pub(super) fn unsupported(&self) -> Error {
        Error::unsupported(self.raw.line, self.raw.opcode())
    }

    fn untaken(&self) -> impl Iterator<Item = (u32, &'a str)> + '_ {
        let words = self.raw.modifiers.iter().enumerate();
        words.map(|(i, w)| (1u32 << i, *w)).filter(|(bit, _)| self.left & bit != 0)
    }

    /// Returns true and removes the word if it is present.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let hit = self.untaken().find(|(_, w)| *w == word);
        self.left &= !hit.map_or(0, |(bit, _)| bit);
        hit.is_some()
    }

    /// Takes any of words that change nothing here.
    pub(super) fn ignore(&mut self, words: &[&str]) {
        for word in words {
            self.take(word);
        }
    }

    /// Takes all words with this prefix (`L2::`).
    pub(super) fn ignore_prefix(&mut self, prefix: &str) {
        let bits: u32 =
            self.untaken().filter(|(_, w)| w.starts_with(prefix)).map(|(bit, _)| bit).sum();
        self.left &= !bits;
    }

    /// The first word of the table that is there.
    pub(super) fn choose<T: Copy>(&mut self, table: &[(&str, T)]) -> Option<T> {
        table.iter().find_map(|&(word, value)| self.take(word).then_some(value))
    }

    pub(super) fn need<T: Copy>(&mut self, table: &[(&str, T)]) -> Result<T, Error> {
        self.choose(table).ok_or_else(|| self.unsupported())
    }

    /// The next type among the words.
    pub(super) fn ty(&mut self) -> Result<Type, Error> {
        let hit = self.untaken().find_map(|(bit, w)| Some((bit, Type::parse(w)?)));
        match hit {
            Some((bit, ty)) => {
                self.left &= !bit;
                Ok(ty)
            }
            None => Err(self.unsupported()),
        }
    }

    /// The next type, which must be one of 16, 32 or 64 integer bits.
    pub(super) fn int(&mut self) -> Result<Type, Error> {
        match self.ty()? {
            ty if ty.bits() >= 16 && !ty.float() => Ok(ty),
            _ => Err(self.unsupported()),
        }
    }

    /// The next type, which must be of 32 bits.
    pub(super) fn int32(&mut self) -> Result<Type, Error> {
        match self.ty()? {
            ty if ty.bits() == 32 && !ty.float() => Ok(ty),
            _ => Err(self.unsupported()),
        }
    }

    /// The next type, which must be of 32 bits of any kind.
    pub(super) fn int32_or_float(&mut self) -> Result<(), Error> {
        match self.ty()? {
            ty if ty.bits() == 32 => Ok(()),
            _ => Err(self.unsupported()),
        }
    }

    /// Takes everything: for hints whose qualifiers change nothing.
    pub(super) fn ignore_all(&mut self) {
        self.left = 0;
    }

    pub(super) fn finish(&self) -> Result<(), Error> {
        if self.left == 0 { Ok(()) } else { Err(self.unsupported()) }
    }
}

pub(super) fn operand_count(raw: &Raw<'_>) -> Error {
    Error::parse(raw.line, format!("wrong number of operands for {}", raw.opcode()))
}
