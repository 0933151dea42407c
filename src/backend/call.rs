//! Calls: a kernel and its operands, checked against the signature of the operation.

use gpuint_catalogue::{Equation, Operand, Param};

use crate::backend::Buffer;
use crate::error::{Error, Result};
use crate::kernel::KernelId;

/// The operands of a call, in the order of the operation's signature; what an operation does not
/// use stays empty.
#[derive(Debug, Default)]
pub(crate) struct Operands<'a> {
    pub(crate) ins: [Option<&'a Buffer>; 3],
    /// The factors of the products of a sum: `params.pairs` of them, or none.
    pub(crate) pairs: &'a [[&'a Buffer; 2]],
    pub(crate) outs: [Option<&'a mut Buffer>; 2],
    pub(crate) rows: usize,
    /// One bit a row, in 32-bit words; zeroed by the caller.
    pub(crate) mask: Option<&'a mut Buffer>,
    /// A 64-bit word, set to [`NO_ROW`] by the caller: the lowest row that failed.
    pub(crate) status: Option<&'a mut Buffer>,
    pub(crate) params: Params,
}

impl Operands<'_> {
    /// Borrows the operands, for one of several launches.
    pub(crate) fn reborrow(&mut self) -> Operands<'_> {
        let Operands { ins, pairs, outs, rows, mask, status, params } = self;
        Operands {
            ins: *ins,
            pairs,
            outs: outs.each_mut().map(Option::as_deref_mut),
            rows: *rows,
            mask: mask.as_deref_mut(),
            status: status.as_deref_mut(),
            params: *params,
        }
    }
}

/// The parameters of a call, the same for all rows. An operation ignores the default values of
/// parameters that it does not have.
#[derive(Debug, Clone, Copy, Default)]
pub struct Params {
    /// One-digit divisor, not zero.
    pub digit: u64,
    /// Distance of a shift in bits, at most the width.
    pub distance: u32,
    /// Exponent of the power of two that is inverted, below twice the width.
    pub exponent: u32,
    /// Both halves of a wide product side by side in the first output.
    pub joined: bool,
    /// One row of prepared divisors for all rows.
    pub broadcast_divisor: bool,
    /// One row of exponents for all rows.
    pub broadcast_exponent: bool,
    /// One row of second operands for all rows.
    pub broadcast_rhs: bool,
    /// Truth table of a bitwise function.
    pub table: u32,
    /// Bits of a row of the result of a change of width.
    pub target_bits: u32,
    /// Bases of a product of powers.
    pub bases: usize,
    /// Products of a sum.
    pub pairs: usize,
    /// Bits of a row of the number whose parts are read.
    pub source_bits: u32,
    /// Bits of a part of a number.
    pub part_bits: u32,
    /// Equation that the rows of another operation satisfy.
    pub equation: Equation,
    /// Length of all exponents in bits, for powers that do not depend on them.
    pub exponent_bits: u32,
}

impl Params {
    /// The parameters that are not their default.
    fn given(&self) -> impl Iterator<Item = Param> {
        let Self {
            digit,
            distance,
            exponent,
            joined,
            broadcast_divisor,
            broadcast_exponent,
            broadcast_rhs,
            table,
            target_bits,
            bases,
            pairs,
            source_bits,
            part_bits,
            equation,
            exponent_bits,
        } = *self;
        [
            (Param::Digit, digit != 0),
            (Param::Distance, distance != 0),
            (Param::Exponent, exponent != 0),
            (Param::Joined, joined),
            (Param::BroadcastDivisor, broadcast_divisor),
            (Param::BroadcastExponent, broadcast_exponent),
            (Param::BroadcastRhs, broadcast_rhs),
            (Param::Table, table != 0),
            (Param::TargetBits, target_bits != 0),
            (Param::Bases, bases != 0),
            (Param::Pairs, pairs != 0),
            (Param::SourceBits, source_bits != 0),
            (Param::PartBits, part_bits != 0),
            (Param::Equation, equation != Equation::default()),
            (Param::ExponentBits, exponent_bits != 0),
        ]
        .into_iter()
        .filter_map(|(param, is_given)| is_given.then_some(param))
    }
}

/// The status word of a call in which no row failed.
pub(crate) const NO_ROW: u64 = u64::MAX;

/// Index that leaves a gathered row unchanged (`kernels/rows/gather.cuh`).
pub(crate) const SKIPPED_ROW: u64 = u64::MAX;

/// A kernel and its operands: the work of a device. There is at least one row.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) kernel: KernelId,
    pub(crate) operands: Operands<'a>,
}

impl Call<'_> {
    /// The bytes of a row of an output.
    pub(crate) fn out_row_bytes(&self, index: usize) -> usize {
        let operand = self.kernel.op().signature().outputs[index];
        let bytes = operand.map_or(0, |operand| operand.row_bytes(self.kernel.shape()));
        let Params { joined, target_bits, .. } = self.operands.params;
        match operand {
            Some(Operand::Resized) => target_bits as usize / 8,
            _ if joined => 2 * bytes,
            _ => bytes,
        }
    }

    /// The bytes of a row of an input.
    pub(crate) fn in_row_bytes(&self, index: usize) -> usize {
        let operand = self.kernel.op().signature().inputs[index];
        let bytes = operand.map_or(0, |operand| operand.row_bytes(self.kernel.shape()));
        match operand {
            Some(Operand::Group) => bytes.saturating_mul(self.operands.params.bases),
            Some(Operand::Source) => self.operands.params.source_bits as usize / 8,
            _ => bytes,
        }
    }

    /// Returns true if one row of an input serves all rows.
    pub(crate) fn is_broadcast(&self, index: usize) -> bool {
        let Params { broadcast_divisor, broadcast_exponent, broadcast_rhs, .. } =
            self.operands.params;
        match self.kernel.op().signature().inputs[index] {
            Some(
                Operand::Prepared
                | Operand::OddModulus
                | Operand::SecretModulus
                | Operand::SecretFactor
                | Operand::SpecialModulus,
            ) => broadcast_divisor,
            Some(Operand::Exponent) => broadcast_exponent,
            Some(Operand::Rhs) => broadcast_rhs,
            _ => false,
        }
    }

    /// Bytes from row to row of the operands; `None` if the rows cannot be processed in parts.
    pub(crate) fn strides(&self) -> Option<Strides> {
        let Operands { ins, mask, status, pairs, .. } = &self.operands;
        let inputs = self.kernel.op().signature().inputs;
        let is_by_rows =
            |operand: &Option<Operand>| !matches!(operand, Some(Operand::Indexed | Operand::Bits));
        let in_stride = |index| match ins[index] {
            Some(_) if !self.is_broadcast(index) => self.in_row_bytes(index),
            _ => 0,
        };
        let has_rows_only = mask.is_none() && status.is_none() && pairs.is_empty();
        (has_rows_only && inputs.iter().all(is_by_rows)).then(|| Strides {
            ins: [0, 1, 2].map(in_stride),
            outs: [0, 1].map(|index| self.out_row_bytes(index)),
        })
    }

    /// Rows of an input that a kernel may read; none of an indexed one, whose indices the caller
    /// has checked.
    fn in_rows(&self, index: usize) -> usize {
        let rows = self.operands.rows;
        match self.kernel.op().signature().inputs[index] {
            Some(Operand::Indexed) => 0,
            Some(Operand::Bits) => rows.div_ceil(32),
            _ if self.is_broadcast(index) => 1,
            _ => rows,
        }
    }

    /// Checks the operands against the signature of the operation, and that every buffer holds what
    /// the kernel reads and writes: the bound that the kernels rely on.
    pub(crate) fn check(&self) -> Result<()> {
        let Operands { ins, pairs, outs, rows, mask, status, params } = &self.operands;
        let signature = self.kernel.op().signature();
        let is_given = |i: usize| match signature.inputs[i] {
            Some(Operand::Factors) => ins[i].is_none(),
            operand => ins[i].is_some() == operand.is_some(),
        };
        let has_pairs = signature.inputs.contains(&Some(Operand::Factors));
        let is_signed = (0..ins.len()).all(is_given)
            && has_pairs != pairs.is_empty()
            && pairs.len() == params.pairs
            && (0..outs.len()).all(|i| outs[i].is_none() || signature.outputs[i].is_some())
            && (mask.is_none() || signature.mask)
            && (status.is_none() || signature.status)
            && params.given().all(|param| signature.params.contains(&param));
        if !is_signed {
            let reason = "the operands are not those of the operation";
            return Err(Error::Driver(format!("{}: {reason}", self.kernel)));
        }
        let holds = |buffer: Option<&Buffer>, units: usize, unit_bytes: usize| {
            buffer.is_none_or(|buffer| {
                (units as u64)
                    .checked_mul(unit_bytes as u64)
                    .is_some_and(|bytes| bytes <= buffer.bytes())
            })
        };
        let fits = (0..ins.len())
            .all(|index| holds(ins[index], self.in_rows(index), self.in_row_bytes(index)))
            && pairs
                .as_flattened()
                .iter()
                .all(|factor| holds(Some(factor), *rows, self.kernel.shape().bytes()))
            && (0..outs.len())
                .all(|index| holds(outs[index].as_deref(), *rows, self.out_row_bytes(index)))
            && holds(mask.as_deref(), rows.div_ceil(32), size_of::<u32>())
            && holds(status.as_deref(), 1, size_of::<u64>());
        if fits {
            return Ok(());
        }
        Err(Error::Driver(format!("{}: a buffer is shorter than its {rows} rows", self.kernel)))
    }
}

/// Bytes from row to row of the operands; 0 if one row serves all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Strides {
    pub(crate) ins: [usize; 3],
    pub(crate) outs: [usize; 2],
}
