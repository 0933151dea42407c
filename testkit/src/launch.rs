//! Operands and results of launches of kernels, as bytes.

pub use gpuint::direct::{Outcome, Params};
use gpuint::num_bigint::BigUint;

/// Inputs and outputs of a kernel, in bytes: `Operands` of kernels/core/abi.cuh.
#[derive(Debug, Clone, Default)]
pub struct Operands {
    /// Rows of each input; empty for a null pointer.
    pub inputs: [Vec<u8>; 3],
    /// Divisors or odd moduli, integers of the shape: their records become the third input.
    pub divisors: Vec<u8>,
    /// Rows of the factors of each product of a sum.
    pub pairs: Vec<[Vec<u8>; 2]>,
    /// Bytes of each result; 0 for a null pointer.
    pub outputs: [usize; 2],
    /// Initial bytes of a result that the kernel updates; empty for others.
    pub updated: [Vec<u8>; 2],
    pub rows: usize,
    /// True if the mask is wanted.
    pub mask: bool,
    /// True if the lowest failed row is not wanted.
    pub without_status: bool,
    pub params: Params,
}

impl Operands {
    /// The bytes of the parameters: `Params` of kernels/core/abi.cuh.
    #[must_use]
    pub fn params(&self) -> [u8; 64] {
        Params { pairs: self.pairs.len(), ..self.params }.to_bytes()
    }
}

/// Launches of kernels with arguments of their own, in order, on common memory.
#[derive(Debug, Default)]
pub struct Grids {
    pub memory: Vec<Memory>,
    pub launches: Vec<Grid>,
}

/// A block of memory.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    pub bytes: usize,
    /// Initial bytes; empty for uninitialized memory.
    pub content: Vec<u8>,
    /// True if the bytes after the last launch are wanted.
    pub is_result: bool,
}

/// One launch of a kernel with arguments of its own.
#[derive(Debug, Clone)]
pub struct Grid {
    pub kernel: String,
    /// Words of 64 bits, among them addresses by [`address`].
    pub arguments: Vec<u8>,
    pub blocks: u32,
}

/// Upper bits of addresses in arguments.
const TAG: u64 = 0xa5c3;
/// Bits of an offset.
const OFFSET_BITS: u32 = 40;

/// Address of a block of memory, in arguments.
#[must_use]
pub const fn address(block: usize) -> u64 {
    TAG << 48 | (block as u64) << OFFSET_BITS
}

impl Memory {
    /// Memory with these bytes.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        Self { bytes: content.len(), content: content.to_vec(), is_result: false }
    }

    /// Memory with these initial bytes whose last ones are wanted.
    #[must_use]
    pub fn result_of(content: &[u8]) -> Self {
        Self { is_result: true, ..Self::of(content) }
    }
}

impl Grids {
    /// Adds memory and returns its address; 0 for none.
    pub fn add(&mut self, memory: Memory) -> u64 {
        if memory.bytes == 0 {
            return 0;
        }
        self.memory.push(memory);
        address(self.memory.len() - 1)
    }
}

impl Grid {
    /// The arguments, with the addresses of blocks that begin at `start` of their index.
    #[must_use]
    pub fn arguments_at(&self, start: impl Fn(usize) -> u64) -> Vec<u8> {
        let relocated = |word: &[u8; 8]| {
            let word = u64::from_le_bytes(*word);
            if word >> 48 != TAG {
                return word;
            }
            let block = word >> OFFSET_BITS & 0xff;
            start(block as usize) + (word & ((1 << OFFSET_BITS) - 1))
        };
        let (words, _) = self.arguments.as_chunks();
        words.iter().map(relocated).flat_map(u64::to_le_bytes).collect()
    }
}

/// Bytes of numbers, in rows of `bits` bits.
pub fn bytes_of<'a>(values: impl Iterator<Item = &'a BigUint>, bits: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        let end = bytes.len() + bits / 8;
        bytes.extend(value.to_bytes_le());
        bytes.resize(end, 0);
    }
    bytes
}
