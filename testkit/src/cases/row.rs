//! Rows of the operands of a launch, and their expected results.

use gpuint::Shape;
use gpuint::num_bigint::BigUint;

use crate::launch::Operands;

/// Condition of both results of a row.
pub type Condition = Box<dyn Fn([&BigUint; 2]) -> bool>;

/// Expected results of a row.
#[derive(Default)]
pub struct Expected {
    /// Results; `None` if the operation has none, or one that is not determined.
    pub results: [Option<BigUint>; 2],
    /// Bit of the mask; `None` if it is not determined.
    pub mark: Option<bool>,
    /// True if the row fails.
    pub fails: bool,
    /// Condition of results that are not unique.
    pub condition: Option<Condition>,
}

impl Expected {
    pub(super) fn none() -> Self {
        Self { mark: Some(false), ..Self::default() }
    }

    pub(super) fn value(value: BigUint) -> Self {
        Self { results: [Some(value), None], ..Self::none() }
    }

    pub(super) fn values(first: BigUint, second: BigUint) -> Self {
        Self { results: [Some(first), Some(second)], ..Self::none() }
    }

    /// A row whose results satisfy a condition.
    pub(super) fn such_that(condition: impl Fn([&BigUint; 2]) -> bool + 'static) -> Self {
        Self { condition: Some(Box::new(condition)), ..Self::none() }
    }

    pub(super) fn marked(self, mark: bool) -> Self {
        Self { mark: Some(mark), ..self }
    }

    pub(super) fn failing(self, fails: bool) -> Self {
        Self { fails, ..self }
    }
}

/// A value of one row of some bytes.
pub(super) fn value_of(bytes: &[u8], row: usize, row_bytes: usize) -> BigUint {
    BigUint::from_bytes_le(&bytes[row * row_bytes..(row + 1) * row_bytes])
}

/// One row of the operands of a launch.
pub(super) struct Row<'a> {
    pub(super) shape: Shape,
    pub(super) operands: &'a Operands,
    pub(super) row: usize,
}

impl Row<'_> {
    pub(super) fn bits(&self) -> usize {
        self.shape.bits
    }

    /// Value of an input whose rows have some bytes.
    pub(super) fn input(&self, input: usize, row_bytes: usize) -> BigUint {
        value_of(&self.operands.inputs[input], self.row, row_bytes)
    }

    pub(super) fn a(&self) -> BigUint {
        self.input(0, self.shape.bytes())
    }

    /// The second operand, which may be one for all rows.
    pub(super) fn b(&self) -> BigUint {
        let params = &self.operands.params;
        let is_one = params.broadcast_rhs || params.broadcast_exponent;
        value_of(&self.operands.inputs[1], if is_one { 0 } else { self.row }, self.shape.bytes())
    }

    pub(super) fn c(&self) -> BigUint {
        self.input(2, self.shape.bytes())
    }

    /// Row of the third input or of the divisors.
    pub(super) fn divisor_row(&self) -> usize {
        if self.operands.params.broadcast_divisor { 0 } else { self.row }
    }

    /// The divisor or the modulus.
    pub(super) fn divisor(&self) -> BigUint {
        value_of(&self.operands.divisors, self.divisor_row(), self.shape.bytes())
    }

    /// A word of 64 bits of an input.
    pub(super) fn word(&self, input: usize) -> u64 {
        let bytes = self.operands.inputs[input][8 * self.row..].first_chunk();
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// A number of 32 bits of some bytes.
    pub(super) fn length(&self, bytes: &[u8]) -> u32 {
        bytes[4 * self.row..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// Bit of a mask among the inputs.
    pub(super) fn bit(&self, input: usize) -> bool {
        self.operands.inputs[input][self.row / 8] >> (self.row % 8) & 1 == 1
    }

    /// Initial value of a result, whose rows have some bits.
    pub(super) fn updated(&self, output: usize, bits: usize) -> BigUint {
        value_of(&self.operands.updated[output], self.row, bits / 8)
    }

    /// Factors of all products of a sum.
    pub(super) fn pairs(&self) -> impl Iterator<Item = [BigUint; 2]> {
        let of = |factor: &Vec<u8>| value_of(factor, self.row, self.shape.bytes());
        self.operands.pairs.iter().map(move |pair| pair.each_ref().map(of))
    }
}
