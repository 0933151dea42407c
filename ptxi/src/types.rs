//! Fundamental types and state spaces.
//!
//! A register holds bits; the instruction's type says how they are read. So the
//! untyped `.b32` is the same as `.u32` here, and a register row keeps every value
//! zero-extended to 64 bits.

use std::fmt;

/// An instruction or register type. `.bN` is read as `.uN`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    Pred,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F32,
    F64,
}

impl Type {
    /// From the qualifier without its dot.
    pub(crate) fn parse(name: &str) -> Option<Type> {
        Some(match name {
            "pred" => Type::Pred,
            "u8" | "b8" => Type::U8,
            "u16" | "b16" => Type::U16,
            "u32" | "b32" => Type::U32,
            "u64" | "b64" => Type::U64,
            "s8" => Type::S8,
            "s16" => Type::S16,
            "s32" => Type::S32,
            "s64" => Type::S64,
            "f32" => Type::F32,
            "f64" => Type::F64,
            _ => return None,
        })
    }

    pub(crate) fn bits(self) -> u32 {
        match self {
            Type::Pred => 1,
            Type::U8 | Type::S8 => 8,
            Type::U16 | Type::S16 => 16,
            Type::U32 | Type::S32 | Type::F32 => 32,
            Type::U64 | Type::S64 | Type::F64 => 64,
        }
    }

    pub(crate) fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    pub(crate) fn signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S32 | Type::S64)
    }

    pub(crate) fn float(self) -> bool {
        matches!(self, Type::F32 | Type::F64)
    }
}

/// The low `bits` bits set.
pub(crate) fn ones(bits: u32) -> u64 {
    if bits >= 64 { !0 } else { (1 << bits) - 1 }
}

/// The low `bits` bits of `value`, sign-extended to 64.
pub(crate) fn sign_extend(value: u64, bits: u32) -> i64 {
    let shift = 64 - bits.clamp(1, 64);
    ((value << shift) as i64) >> shift
}

/// The set lanes of a mask, lowest first.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
}

/// State space of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    /// Device memory.
    Global,
    /// Constant memory.
    Const,
    /// Shared memory of the block.
    Shared,
    /// Memory of one thread.
    Local,
    /// Kernel parameters, or parameters of a device function.
    Param,
    /// An address that says itself which space it lies in.
    Generic,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Global => "global",
            Space::Const => "const",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Param => "param",
            Space::Generic => "generic",
        })
    }
}
