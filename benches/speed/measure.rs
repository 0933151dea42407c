//! Measures all operations at one shape.

use gpuint::{Device, Error, Mask, Op, Shape, Strategy, algorithms};
use gpuint_testkit::batches::{Batches, Operands, Times, WIDEST_POWERS, ways};
use gpuint_testkit::workload::Workload;

use crate::against::{Measured, Time};
use crate::{Options, Result};

/// Bits of the batch for which times are stated.
const BATCH: f64 = (1u64 << 32) as f64;
/// Number of checked rows.
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
        self.residues(&mut batches)?;
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
        for op in [Op::MulLo, Op::MulWide, Op::SquareLo] {
            self.way(op, "", batches)?;
        }
        Ok(())
    }

    /// Modulo the second operand; the factors are random, not reduced.
    fn residues(&mut self, batches: &mut Batches) -> Result<()> {
        self.way(Op::Prepare, "full", batches)?;
        if is_offered(Op::Prepare, batches.u.shape()) {
            batches.prepare()?;
        }
        for op in [Op::MulMod, Op::SquareMod] {
            self.way(op, "full", batches)?;
        }
        Ok(())
    }

    /// Powers of full length.
    fn powers(&mut self, batches: &Batches) -> Result<()> {
        let shape = batches.u.shape();
        let is_timed = shape.bits <= WIDEST_POWERS && is_offered(Op::PowMod, shape);
        if is_timed && self.is_asked(Op::PowMod) {
            let mut powers = batches.for_powers()?;
            powers.prepare()?;
            self.way(Op::PowMod, "odd", &mut powers)?;
        }
        Ok(())
    }

    fn divisions(&mut self, workload: Workload, batches: &mut Batches) -> Result<()> {
        let name = workload.name();
        self.way(Op::DivRem, name, batches)?;
        if workload == Workload::Uniform {
            self.way(Op::ShiftedInverse, name, batches)?;
        }
        if is_offered(Op::DivRemBy, batches.u.shape()) && self.is_asked(Op::DivRemBy) {
            batches.prepare()?;
            self.way(Op::DivRemBy, name, batches)?;
        }
        Ok(())
    }

    /// Times and checks the algorithm of `Auto` for an operation, if it is requested and offered.
    fn way(&mut self, op: Op, operands: &str, batches: &mut Batches) -> Result<()> {
        let (shape, rows) = (batches.u.shape(), batches.u.len());
        let way = ways(shape, rows, self.device, op).into_iter().find(|way| way.is_auto);
        let Some(way) = way else { return Ok(()) };
        if self.time(shape, rows, op, operands, || way.run(batches))? {
            batches.check(op, CHECKED)?;
        }
        Ok(())
    }

    fn is_asked(&self, op: Op) -> bool {
        self.options.ops.is_empty() || self.options.ops.iter().any(|name| name == op.name())
    }

    /// Times an operation; returns false if it is not requested or has no kernel at the width.
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
}

fn is_offered(op: Op, shape: Shape) -> bool {
    algorithms(op, shape).next().is_some()
}
