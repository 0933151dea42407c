//! Draws of the operands of a launch.

use gpuint::num_bigint::BigUint;
use gpuint::{Op, Shape};

use crate::launch::Operands;
use crate::operands::{self, Family, Sizes};
use crate::random::Random;

/// Draws the operands of one launch.
pub struct Draws<'a> {
    pub op: Op,
    pub shape: Shape,
    /// Rows of the launch.
    pub count: usize,
    pub variant: usize,
    /// True for machines on which the longest rows take minutes.
    pub is_slow: bool,
    pub random: &'a mut Random,
}

impl Draws<'_> {
    pub(super) fn bits(&self) -> usize {
        self.shape.bits
    }

    /// Rows of some families, from a drawn place in their list on.
    pub(super) fn rows(&mut self, families: &[Family]) -> Vec<operands::Row> {
        let (seed, start) = (self.random.word(), self.random.below(1 << 16));
        operands::rows(seed, families, self.sizes(), start..start + self.count)
    }

    pub(super) fn sizes(&self) -> Sizes {
        self.shape.into()
    }

    /// A value of any kind and length, or of the full length, of at most `bits` bits.
    pub(super) fn value(&mut self, bits: usize) -> BigUint {
        if bits == 0 {
            return BigUint::ZERO;
        }
        let word = self.shape.digit.bits();
        let digits = bits.div_ceil(word);
        let length = match self.random.below(4) {
            0 | 1 => bits,
            2 => 1 + self.random.below(bits),
            _ => bits.min(word * (1 + self.random.below(digits))),
        };
        let random = Random::new(self.random.word());
        operands::Draw::new(random, self.sizes()).value(length)
    }

    /// A value of [`value`](Self::value) that is not 0.
    pub(super) fn positive(&mut self, bits: usize) -> BigUint {
        let value = self.value(bits);
        if value == BigUint::ZERO { 1u32.into() } else { value }
    }

    /// Bytes of integers of the shape.
    pub(super) fn column<'b>(&self, values: impl IntoIterator<Item = &'b BigUint>) -> Vec<u8> {
        crate::launch::bytes_of(values.into_iter(), self.bits())
    }

    /// A launch with these inputs and `results` integers of the shape as results.
    pub(super) fn launch(&self, inputs: [Vec<u8>; 3], results: usize) -> Operands {
        let mut outputs = [0; 2];
        outputs[..results].fill(self.count * self.shape.bytes());
        Operands { inputs, outputs, rows: self.count, ..Operands::default() }
    }

    /// A launch on the first numbers of some rows.
    pub(super) fn unary(&self, rows: &[operands::Row], results: usize) -> Operands {
        self.launch([self.column(rows.iter().map(|row| &row.a)), vec![], vec![]], results)
    }

    /// A launch on both numbers of some rows.
    pub(super) fn binary(&self, rows: &[operands::Row], results: usize) -> Operands {
        let second = self.column(rows.iter().map(|row| &row.b));
        let Operands { inputs: [first, ..], .. } = self.unary(rows, 0);
        self.launch([first, second, vec![]], results)
    }

    /// Makes the first row of the second operand that of all rows if `is_one`.
    pub(super) fn broadcast_rhs(&self, mut operands: Operands, is_one: bool) -> Operands {
        if is_one {
            operands.params.broadcast_rhs = true;
            operands.inputs[1].truncate(self.shape.bytes());
        }
        operands
    }
}
