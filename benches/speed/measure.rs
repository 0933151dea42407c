//! The operations in turn, at one shape.

use gpuint::{Device, DynBatch, DynDivisor, Error, Mask, Op, Shape, Strategy};
use gpuint_testkit::batches::{Batches, Operands, Times, ways};
use gpuint_testkit::operation::is_right;
use gpuint_testkit::workload::Workload;

use crate::against::{Measured, Time};
use crate::{Options, Result};

/// Bits of the batch that times are stated for.
const BATCH: f64 = (1u64 << 32) as f64;
/// Rows whose results are compared with num-bigint's.
const CHECKED: usize = 8;

/// The measurements at one shape.
pub(crate) struct AtShape<'a> {
    pub(crate) options: &'a Options,
    pub(crate) device: &'a Device,
    pub(crate) operands: &'a mut Operands,
    pub(crate) measured: &'a mut Measured,
}

impl AtShape<'_> {
    pub(crate) fn measure(mut self, shape: Shape) -> Result<()> {
        let mut batches = Batches::new(shape, self.device, self.operands)?;
        self.sums(&mut batches)?;
        self.products(&mut batches)?;
        self.residues(&batches)?;
        self.powers(&batches)?;
        for workload in [Workload::Repo, Workload::Uniform, Workload::Half, Workload::Structured] {
            batches.divide(self.operands, workload)?;
            self.divisions(workload, &mut batches)?;
        }
        Ok(())
    }
}

impl AtShape<'_> {
    fn sums(&mut self, batches: &mut Batches) -> Result<()> {
        let shape = batches.u.shape();
        let rows = batches.u.len();
        let mut mask = Mask::none(self.device, rows)?;
        let Batches { u, v, out: [out, _], .. } = batches;
        // Neither whole words nor whole limbs.
        let distance = shape.bits / 3 + 1;
        let digit = u64::MAX >> (64 - shape.digit.bits());
        let mut remainders = vec![digit; rows];
        self.time(shape, rows, Op::Add, "", || u.wrapping_add_into(v, out))?;
        self.time(shape, rows, Op::Sub, "", || u.wrapping_sub_into(v, out))?;
        self.time(shape, rows, Op::Shl, "", || u.shl_into(distance, out))?;
        self.time(shape, rows, Op::Shr, "", || u.shr_into(distance, out))?;
        self.time(shape, rows, Op::EqMask, "", || u.eq_mask_into(u, &mut mask))?;
        self.time(shape, rows, Op::LtMask, "", || u.lt_mask_into(v, &mut mask))?;
        self.time(shape, rows, Op::IsZeroMask, "", || u.is_zero_mask_into(&mut mask))?;
        self.time(shape, rows, Op::DivRemDigit, "", || {
            u.div_rem_digit_into(digit, out, &mut remainders)
        })?;
        Ok(())
    }

    fn products(&mut self, batches: &mut Batches) -> Result<()> {
        let shape = batches.u.shape();
        for op in [Op::MulLo, Op::MulWide, Op::SquareLo] {
            if !self.is_asked(op) {
                continue;
            }
            let rows = batches.u.len();
            let way = ways(shape, rows, self.device, op).into_iter().find(|way| way.is_auto);
            let way = way.ok_or("Auto has no product")?;
            self.time(shape, rows, op, "", || way.run(batches))?;
            self.check(rows, |row| {
                let [first, second] = [batches.out[0].row(row)?, batches.out[1].row(row)?];
                let operands = [batches.u.row(row)?, batches.v.row(row)?];
                Ok(is_right(op, shape.bits, &operands, &[first, second]))
            })?;
        }
        Ok(())
    }

    /// Modulo the second operand; the factors are below it or not, as they come.
    fn residues(&mut self, batches: &Batches) -> Result<()> {
        let shape = batches.u.shape();
        // The products of before are random factors.
        let Batches { u, v, out: [factor, _], .. } = batches;
        let rows = u.len();
        self.time(shape, rows, Op::Prepare, "full", || DynDivisor::of_rows(v).map(drop))?;
        if ![Op::MulMod, Op::SquareMod].iter().any(|&op| self.is_asked(op)) {
            return Ok(());
        }
        let prepared = match DynDivisor::of_rows(v) {
            Ok(prepared) => prepared,
            Err(Error::KernelMissing { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let mut out = DynBatch::zeros(self.device, shape, rows)?;
        if self
            .time(shape, rows, Op::MulMod, "full", || u.mul_mod_into(factor, &prepared, &mut out))?
        {
            self.check(rows, |row| {
                Ok(out.row(row)? == u.row(row)? * factor.row(row)? % v.row(row)?)
            })?;
        }
        self.time(shape, rows, Op::SquareMod, "full", || u.square_mod_into(&prepared, &mut out))?;
        Ok(())
    }

    /// Powers of full length, of as many rows as fill a GPU for some tenths of a second.
    fn powers(&mut self, batches: &Batches) -> Result<()> {
        let shape = batches.u.shape();
        const MOST_BITS: usize = 1 << 16;
        if shape.bits > MOST_BITS || !self.is_asked(Op::PowMod) {
            return Ok(());
        }
        let filled = ((1 << 39) / shape.bits / shape.bits).max((1 << 25) / shape.bits).max(264);
        let rows = batches.u.len().min(filled);
        let first = |batch: &DynBatch, set: u8| -> Result<DynBatch> {
            let mut bytes = batch.to_le_bytes()?;
            bytes.truncate(rows * shape.bits / 8);
            bytes.iter_mut().step_by(shape.bits / 8).for_each(|byte| *byte |= set);
            Ok(DynBatch::from_le_bytes(self.device, shape, &bytes)?)
        };
        let (u, e, v) = (first(&batches.u, 0)?, first(&batches.u, 0)?, first(&batches.v, 1)?);
        let prepared = match DynDivisor::of_rows(&v) {
            Ok(prepared) => prepared,
            Err(Error::KernelMissing { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let mut out = DynBatch::zeros(self.device, shape, rows)?;
        if self.time(shape, rows, Op::PowMod, "odd", || u.pow_mod_into(&e, &prepared, &mut out))? {
            let (u, e, v) = (u.row(rows - 1)?, e.row(rows - 1)?, v.row(rows - 1)?);
            if shape.bits <= 1 << 14 && out.row(rows - 1)? != u.modpow(&e, &v) {
                return Err(format!("pow_mod of {shape} is wrong").into());
            }
        }
        Ok(())
    }

    fn divisions(&mut self, workload: Workload, batches: &mut Batches) -> Result<()> {
        let shape = batches.u.shape();
        let rows = batches.u.len();
        let name = workload.name();
        let operations: &[Op] = match workload {
            Workload::Uniform => &[Op::DivRem, Op::ShiftedInverse],
            _ => &[Op::DivRem],
        };
        for &op in operations {
            if !self.is_asked(op) {
                continue;
            }
            let way = ways(shape, rows, self.device, op).into_iter().find(|way| way.is_auto);
            // Widths without a division have none.
            let Some(way) = way else { continue };
            if self.time(shape, rows, op, name, || way.run(batches))? {
                self.check(rows, |row| {
                    let operands = [batches.u.row(row)?, batches.v.row(row)?];
                    let results = [batches.out[0].row(row)?, batches.out[1].row(row)?];
                    Ok(is_right(op, shape.bits, &operands, &results))
                })?;
            }
        }
        if !self.is_asked(Op::DivRemBy) {
            return Ok(());
        }
        let Batches { u, v, out: [quotient, remainder], .. } = batches;
        let prepared = match DynDivisor::of_rows(v) {
            Ok(prepared) => prepared,
            Err(Error::KernelMissing { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        self.time(shape, rows, Op::DivRemBy, name, || {
            u.div_rem_by_into(&prepared, quotient, remainder)
        })?;
        Ok(())
    }

    fn is_asked(&self, op: Op) -> bool {
        self.options.ops.is_empty() || self.options.ops.iter().any(|name| name == op.name())
    }

    /// Times an operation; returns false if it is not asked for or has no kernel at the width.
    fn time(
        &mut self,
        shape: Shape,
        rows: usize,
        op: Op,
        operands: &str,
        mut work: impl FnMut() -> gpuint::Result<()>,
    ) -> Result<bool> {
        if !self.is_asked(op) {
            return Ok(false);
        }
        let Options { runs, seconds, .. } = *self.options;
        let times = Times::of(runs, seconds, || self.device.time(&mut work).map(|((), time)| time));
        let times = match times {
            Ok(times) => times,
            Err(Error::KernelMissing { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let ms = times.median().as_secs_f64() * 1e3 * BATCH / (rows * shape.bits) as f64;
        let algorithm = self.device.algorithm(op, Strategy::Auto, shape, rows)?;
        let time = Time { algorithm: algorithm.to_string(), ms };
        self.measured.add(op.name(), operands, shape.bits, time);
        Ok(true)
    }

    /// Checks some rows.
    fn check(&self, rows: usize, is_right: impl Fn(usize) -> Result<bool>) -> Result<()> {
        for row in (0..rows).step_by(rows.div_ceil(CHECKED).max(1)) {
            if !is_right(row)? {
                return Err(format!("row {row} is wrong").into());
            }
        }
        Ok(())
    }
}
