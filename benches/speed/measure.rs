//! The operations in turn, at one shape.

use gpuint::{Batch, Device, Divisor, Error, Kernels, Mask, Op, ShapeVisitor, Strategy};
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

impl ShapeVisitor for AtShape<'_> {
    type Output = Result<()>;

    fn visit<T: Kernels>(mut self) -> Result<()> {
        let mut batches = Batches::<T>::new(self.device, self.operands)?;
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
    fn sums<T: Kernels>(&mut self, batches: &mut Batches<T>) -> Result<()> {
        let rows = batches.u.len();
        let mut mask = Mask::none(self.device, rows)?;
        let Batches { u, v, out: [out, _], .. } = batches;
        // Neither whole words nor whole limbs.
        let distance = T::BITS / 3 + 1;
        let digit = <T::Digit as num_traits::Bounded>::max_value();
        let mut remainders = vec![digit; rows];
        self.time::<T>(Op::Add, "", rows, || u.wrapping_add_into(v, out))?;
        self.time::<T>(Op::Sub, "", rows, || u.wrapping_sub_into(v, out))?;
        self.time::<T>(Op::Shl, "", rows, || u.shl_into(distance, out))?;
        self.time::<T>(Op::Shr, "", rows, || u.shr_into(distance, out))?;
        self.time::<T>(Op::EqMask, "", rows, || u.eq_mask_into(u, &mut mask))?;
        self.time::<T>(Op::LtMask, "", rows, || u.lt_mask_into(v, &mut mask))?;
        self.time::<T>(Op::IsZeroMask, "", rows, || u.is_zero_mask_into(&mut mask))?;
        self.time::<T>(Op::DivRemDigit, "", rows, || {
            u.div_rem_digit_into(digit, out, &mut remainders)
        })?;
        Ok(())
    }

    fn products<T: Kernels>(&mut self, batches: &mut Batches<T>) -> Result<()> {
        for op in [Op::MulLo, Op::MulWide, Op::SquareLo] {
            if !self.is_asked(op) {
                continue;
            }
            let rows = batches.u.len();
            let way = ways::<T>(self.device, op).into_iter().find(|way| way.is_auto);
            let way = way.ok_or("Auto has no product")?;
            self.time::<T>(op, "", rows, || way.run(batches))?;
            self.check(rows, |row| {
                let [first, second] = [batches.out[0].row(row)?, batches.out[1].row(row)?];
                let operands = [batches.u.row(row)?, batches.v.row(row)?];
                Ok(is_right(op, T::BITS, &operands, &[first, second]))
            })?;
        }
        Ok(())
    }

    /// Modulo the second operand; the factors are below it or not, as they come.
    fn residues<T: Kernels>(&mut self, batches: &Batches<T>) -> Result<()> {
        // The products of before are random factors.
        let Batches { u, v, out: [factor, _], .. } = batches;
        let rows = u.len();
        self.time::<T>(Op::Prepare, "full", rows, || Divisor::new(v).map(drop))?;
        if ![Op::MulMod, Op::SquareMod].iter().any(|&op| self.is_asked(op)) {
            return Ok(());
        }
        let prepared = match Divisor::new(v) {
            Ok(prepared) => prepared,
            Err(Error::KernelMissing { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let mut out = Batch::zeros(self.device, rows)?;
        if self
            .time::<T>(Op::MulMod, "full", rows, || u.mul_mod_into(factor, &prepared, &mut out))?
        {
            self.check(rows, |row| {
                Ok(out.row(row)? == u.row(row)? * factor.row(row)? % v.row(row)?)
            })?;
        }
        self.time::<T>(Op::SquareMod, "full", rows, || u.square_mod_into(&prepared, &mut out))?;
        Ok(())
    }

    /// Powers of full length, of as many rows as fill a GPU for some tenths of a second.
    fn powers<T: Kernels>(&mut self, batches: &Batches<T>) -> Result<()> {
        const MOST_BITS: usize = 1 << 16;
        if T::BITS > MOST_BITS || !self.is_asked(Op::PowMod) {
            return Ok(());
        }
        let filled = ((1 << 39) / T::BITS / T::BITS).max((1 << 25) / T::BITS).max(264);
        let rows = batches.u.len().min(filled);
        let first = |batch: &Batch<T>, set: u8| -> Result<Batch<T>> {
            let mut bytes = batch.to_le_bytes()?;
            bytes.truncate(rows * T::BITS / 8);
            bytes.iter_mut().step_by(T::BITS / 8).for_each(|byte| *byte |= set);
            Ok(Batch::from_le_bytes(self.device, &bytes)?)
        };
        let (u, e, v) = (first(&batches.u, 0)?, first(&batches.u, 0)?, first(&batches.v, 1)?);
        let prepared = match Divisor::new(&v) {
            Ok(prepared) => prepared,
            Err(Error::KernelMissing { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let mut out = Batch::zeros(self.device, rows)?;
        if self.time::<T>(Op::PowMod, "odd", rows, || u.pow_mod_into(&e, &prepared, &mut out))? {
            let (u, e, v) = (u.row(rows - 1)?, e.row(rows - 1)?, v.row(rows - 1)?);
            if T::BITS <= 1 << 14 && out.row(rows - 1)? != u.modpow(&e, &v) {
                return Err(format!("pow_mod of {} is wrong", T::SHAPE).into());
            }
        }
        Ok(())
    }

    fn divisions<T: Kernels>(
        &mut self,
        workload: Workload,
        batches: &mut Batches<T>,
    ) -> Result<()> {
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
            let way = ways::<T>(self.device, op).into_iter().find(|way| way.is_auto);
            // Widths without a division have none.
            let Some(way) = way else { continue };
            if self.time::<T>(op, name, rows, || way.run(batches))? {
                self.check(rows, |row| {
                    let operands = [batches.u.row(row)?, batches.v.row(row)?];
                    let results = [batches.out[0].row(row)?, batches.out[1].row(row)?];
                    Ok(is_right(op, T::BITS, &operands, &results))
                })?;
            }
        }
        if !self.is_asked(Op::DivRemBy) {
            return Ok(());
        }
        let Batches { u, v, out: [quotient, remainder], .. } = batches;
        let prepared = match Divisor::new(v) {
            Ok(prepared) => prepared,
            Err(Error::KernelMissing { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        self.time::<T>(Op::DivRemBy, name, rows, || {
            u.div_rem_by_into(&prepared, quotient, remainder)
        })?;
        Ok(())
    }

    fn is_asked(&self, op: Op) -> bool {
        self.options.ops.is_empty() || self.options.ops.iter().any(|name| name == op.name())
    }

    /// Times an operation; returns false if it is not asked for or has no kernel at the width.
    fn time<T: Kernels>(
        &mut self,
        op: Op,
        operands: &str,
        rows: usize,
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
        let ms = times.median().as_secs_f64() * 1e3 * BATCH / (rows * T::BITS) as f64;
        let algorithm = self.device.algorithm(op, Strategy::Auto, T::SHAPE, usize::MAX)?;
        let time = Time { algorithm: algorithm.to_string(), ms };
        self.measured.add(op.name(), operands, T::BITS, time);
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
