//! Operands and results of one launch of a kernel, as bytes.

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

/// The parameters of a kernel: `Params` of kernels/core/abi.cuh.
#[derive(Debug, Clone, Copy, Default)]
pub struct Params {
    /// One-digit divisor.
    pub digit: u64,
    /// Distance of a shift in bits.
    pub distance: u32,
    /// Exponent of the power of two that is inverted.
    pub exponent: u32,
    /// 1: both halves of a wide product side by side.
    pub joined: u32,
    /// 1: one row of divisors for all rows.
    pub broadcast_divisor: u32,
    /// 1: one row of exponents for all rows.
    pub broadcast_exponent: u32,
    /// 1: one row of second operands for all rows.
    pub broadcast_rhs: u32,
    /// Truth table of a bitwise function.
    pub table: u32,
    /// Bits of a row of the result of a change of width.
    pub target_bits: u32,
    /// Bases of a product of powers.
    pub bases: u32,
    /// Bits of a row of a number whose parts are read.
    pub source_bits: u32,
    /// Bits of a part of a number.
    pub part_bits: u32,
    /// Equation of the operands and results of another operation.
    pub equation: u32,
    /// Length of all exponents in bits, of powers that do not depend on them.
    pub exponent_bits: u32,
}

impl Params {
    /// Fields after `digit`, in the order of `Params` of kernels/core/abi.cuh.
    #[must_use]
    pub fn words(self, pairs: usize) -> [u32; 14] {
        [
            self.distance,
            self.exponent,
            self.joined,
            self.broadcast_divisor,
            self.broadcast_exponent,
            self.broadcast_rhs,
            self.table,
            self.target_bits,
            self.bases,
            pairs as u32,
            self.source_bits,
            self.part_bits,
            self.equation,
            self.exponent_bits,
        ]
    }
}

/// Results of a launch.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    pub outputs: [Vec<u8>; 2],
    /// One bit a row; empty if no mask was wanted.
    pub mask: Vec<u8>,
    /// The lowest failed row; all ones if no row failed.
    pub status: u64,
}

impl Outcome {
    /// Bit of a row; false if no mask was wanted.
    #[must_use]
    pub fn is_marked(&self, row: usize) -> bool {
        self.mask.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1)
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
