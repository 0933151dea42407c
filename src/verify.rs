//! Checks of results on the device that computed them, for handles of
//! [`Device::verified`](crate::Device::verified).
//!
//! Every launch passes one seam, [`Device::launch`]; a handle that verifies comes here. [`check`]
//! names the check of each operation, as data:
//!
//! - **An equation.** A kernel evaluates an equation of the operands and results of each row modulo
//!   `2^61 - 1` (`kernels/verify/equation.cuh`), in the time of reading them once. A flipped bit of
//!   a result is always found, but for a bit of a quotient whose divisor is a multiple of
//!   `2^61 - 1`; any other error with probability `1 - 2^-60`.
//! - **A second computation** of all rows, compared bit by bit, or of a part of the rows that is
//!   drawn anew for each launch.
//!
//! Rows that fail are computed again, with the whole launch, since a fault seldom comes alone. If
//! the results fail again, the launch fails with [`FaultyDevice`](Error::FaultyDevice). The status
//! of a check is read at once: calls of such a handle wait for the device.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use gpuint_catalogue::{Algorithm, Equation, Op, Shape};

use crate::backend::host::zeroed_vec;
use crate::backend::{BackendKind, Buffer, Call, NO_ROW, Operands, Params};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::kernel::{KernelId, algorithms};
use crate::mask::Mask;
use crate::strategy::Strategy;

/// Computations of a launch before its device counts as faulty.
const ATTEMPTS: usize = 2;

/// Parts of the rows, one of which is computed again where all would take too long.
const PARTS: usize = 8;

/// The check of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Check {
    /// An equation of each row.
    Equation(Equation),
    /// The equation of the wide product, whose low half is the result.
    LowProduct,
    /// The equation of a division by prepared divisors.
    PreparedQuotient,
    /// A second computation by the same kernel.
    Twice,
    /// As [`Twice`](Self::Twice), of results that the operation updates.
    TwiceUpdated,
    /// A second computation, by another algorithm where the catalogue has one.
    OtherAlgorithm,
    /// A second computation of one of [`PARTS`] parts of the rows.
    Part,
    /// No check: the operation is one.
    None,
}

/// The check of each operation.
const fn check(op: Op) -> Check {
    match op {
        Op::Add => Check::Equation(Equation::Sum),
        Op::Sub => Check::Equation(Equation::Difference),
        Op::MulLo | Op::SquareLo => Check::LowProduct,
        Op::MulWide => Check::Equation(Equation::Product),
        Op::DivRem => Check::Equation(Equation::Quotient),
        Op::DivRemBy => Check::PreparedQuotient,
        Op::DivRemDigit => Check::Equation(Equation::DigitQuotient),
        Op::Isqrt => Check::Equation(Equation::Root),
        Op::MulMod | Op::SquareMod | Op::SumOfProducts | Op::WideSumOfProducts => {
            Check::OtherAlgorithm
        }
        Op::PowMod | Op::PowProductMod => Check::Part,
        // Rows that stay, half dividends and lengths.
        Op::Gather | Op::RootRemainder | Op::RootCorrect => Check::TwiceUpdated,
        Op::CheckEquation | Op::CheckDivRemBy | Op::CheckEqual => Check::None,
        // It serves for any operation that does not read its outputs.
        _ => Check::Twice,
    }
}

/// The check of an operation at a shape: of results of long rows a second computation, where the
/// device has no kernels of equations for them.
fn check_on(device: &Device, op: Op, shape: Shape) -> Check {
    match check(op) {
        Check::Equation(_)
        | Check::LowProduct
        | Check::PreparedQuotient
        | Check::OtherAlgorithm
            if shape.is_long() && device.backend() != BackendKind::Cpu =>
        {
            Check::Twice
        }
        check => check,
    }
}

impl Device {
    /// Returns a handle to the same device and queue whose results are checked on the device:
    /// those of every operation whose receiver is on this handle, or that makes rows on it.
    ///
    /// For long searches on hardware that may be faulty. Sums, differences, products, quotients and
    /// square roots satisfy an equation, which is evaluated modulo `2^61 - 1` for each row. No
    /// flipped bit of a result passes, unless it is a bit of a quotient by a multiple of
    /// `2^61 - 1`; another error passes with a probability below `2^-60`. Powers
    /// by one exponent modulo one number are checked by products of groups of rows. An eighth of
    /// the rows of other modular powers, drawn anew each time, is computed twice. All other results
    /// are computed twice and compared. `docs/verified.md` lists the check and the cost of each
    /// operation.
    ///
    /// A launch whose results fail is computed once more. Calls wait for the device. Copies from
    /// and to the host are not checked.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu().verified();
    /// let u = Batch::<GpuUint<1024>>::splat(&device, &(BigUint::from(7u32) << 900), 3)?;
    /// let v = Batch::splat(&device, &BigUint::from(1_000_003u32), 3)?;
    /// let (q, r) = u.div_rem(&v)?; // q v + r = u and r < v, checked
    /// assert_eq!(q.row(2)? * 1_000_003u32 + r.row(2)?, u.row(2)?);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// Operations on such a handle also return [`FaultyDevice`](Error::FaultyDevice), with the
    /// lowest row that fails twice.
    #[must_use]
    pub fn verified(&self) -> Self {
        self.with_verifier(Some(launch))
    }
}

/// Runs a call that has been checked, and checks its results.
///
/// # Errors
/// [`FaultyDevice`](Error::FaultyDevice) with the lowest row that fails twice, and those of the
/// call.
fn launch(device: &Device, call: Call<'_>) -> Result<()> {
    let op = call.kernel.op();
    let plain = device.with_verifier(None);
    let mut launch = Launch::new(&plain, call)?;
    let mut lowest = 0;
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            launch.reset()?;
        }
        match launch.attempt()? {
            None => return launch.finish(device),
            Some(row) => {
                tracing::warn!(device = %device, %op, row, "a result failed its check");
                lowest = row;
            }
        }
    }
    Err(Error::FaultyDevice { row: lowest, operation: op.name() })
}

/// A call and the memory of its checks.
struct Launch<'a> {
    /// A handle that does not verify.
    device: &'a Device,
    kernel: KernelId,
    operands: Operands<'a>,
    check: Check,
    /// Results that an equation needs and the call leaves out.
    added: [Option<Buffer>; 2],
    /// Contents of results that the operation updates.
    before: [Option<Buffer>; 2],
    /// The mask of this call alone: that of the caller may have bits of earlier calls.
    mask: Option<Mask>,
}

impl<'a> Launch<'a> {
    fn new(device: &'a Device, call: Call<'a>) -> Result<Self> {
        let (op, shape, rows) = (call.kernel.op(), call.kernel.shape(), call.operands.rows);
        let mut launch = Self {
            device,
            kernel: call.kernel,
            check: check_on(device, op, shape),
            added: [None, None],
            before: [None, None],
            mask: None,
            operands: call.operands,
        };
        if launch.check == Check::LowProduct {
            match launch.wide_kernel() {
                Some(kernel) => {
                    launch.kernel = kernel;
                    let [a, b, _] = launch.operands.ins;
                    launch.operands.ins = [a, b.or(a), None];
                    launch.check = Check::Equation(Equation::Product);
                }
                None => launch.check = Check::Twice,
            }
        }
        let has_equation = matches!(launch.check, Check::Equation(_) | Check::PreparedQuotient);
        let is_joined = launch.operands.params.joined;
        let needs_mask =
            matches!(launch.check, Check::Equation(Equation::Sum | Equation::Difference));
        if launch.operands.mask.is_some() || needs_mask {
            launch.mask = Some(Mask::none(device, rows)?);
        }
        for index in 0..2 {
            let bytes = launch.out_row_bytes(index);
            let is_added = bytes > 0 && !(is_joined && index == 1);
            match &launch.operands.outs[index] {
                None if has_equation && is_added => {
                    launch.added[index] = Some(device.alloc_rows(rows, bytes)?);
                }
                Some(out) if launch.check == Check::TwiceUpdated => {
                    let mut copy = device.alloc_rows(rows, bytes)?;
                    device.memory().copy(&mut copy, 0, out, 0, (rows * bytes) as u64)?;
                    launch.before[index] = Some(copy);
                }
                _ => {}
            }
        }
        debug_assert!(shape == launch.kernel.shape());
        Ok(launch)
    }

    /// The kernel of the wide product at the shape, by the algorithm of the call or another one.
    fn wide_kernel(&self) -> Option<KernelId> {
        let (shape, rows) = (self.kernel.shape(), self.operands.rows);
        KernelId::find(Op::MulWide, self.kernel.row().algorithm, shape)
            .or_else(|| self.device.kernel(Op::MulWide, Strategy::Auto, shape, rows).ok())
    }

    fn out_row_bytes(&self, index: usize) -> usize {
        let operands = Operands { params: self.operands.params, ..Operands::default() };
        Call { kernel: self.kernel, operands }.out_row_bytes(index)
    }

    /// The operands with the results that were added and the mask of this call.
    fn complete(&mut self) -> Operands<'_> {
        let Self { operands, added, mask, .. } = self;
        let mut all = operands.reborrow();
        for (out, added) in all.outs.iter_mut().zip(added) {
            if let Some(added) = added {
                *out = Some(added);
            }
        }
        all.mask = mask.as_mut().map(Mask::buffer_mut);
        all
    }

    /// Prepares the results for another computation.
    fn reset(&mut self) -> Result<()> {
        let Self { device, operands, before, mask, .. } = self;
        if let Some(mask) = mask {
            mask.cleared()?;
        }
        if let Some(status) = &mut operands.status {
            device.memory().fill(status, u8::MAX)?;
        }
        for (out, before) in operands.outs.iter_mut().zip(before) {
            if let (Some(out), Some(before)) = (out, before) {
                device.memory().copy(out, 0, before, 0, before.bytes())?;
            }
        }
        Ok(())
    }

    /// Computes the results; returns the lowest row that fails its check.
    fn attempt(&mut self) -> Result<Option<usize>> {
        if matches!(self.check, Check::Twice | Check::OtherAlgorithm) {
            self.clear_unwritten()?;
        }
        let (device, kernel) = (self.device, self.kernel);
        device.launch(kernel, self.complete())?;
        match self.check {
            Check::Equation(equation) => self.check_equation(equation),
            Check::PreparedQuotient => self.check_prepared_quotient(),
            Check::Part => self.check_part(),
            Check::Twice | Check::TwiceUpdated => self.check_again(kernel),
            Check::OtherAlgorithm => match self.check_again(other_kernel(kernel)) {
                Err(Error::KernelMissing { .. } | Error::SharedMemory { .. }) => {
                    self.check_again(kernel)
                }
                checked => checked,
            },
            Check::LowProduct | Check::None => Ok(None),
        }
    }

    /// Adds the mask of this call to that of the caller.
    fn finish(self, device: &Device) -> Result<()> {
        match (self.mask, self.operands.mask) {
            (Some(own), Some(mask)) => own.add_to(mask, device),
            _ => Ok(()),
        }
    }

    /// The status word of the call.
    fn status(&self) -> Result<u64> {
        self.operands.status.as_deref().map_or(Ok(NO_ROW), |status| word_of(self.device, status))
    }

    fn check_equation(&mut self, equation: Equation) -> Result<Option<usize>> {
        let (device, shape) = (self.device, self.kernel.shape());
        let lowest_zero = self.status()?;
        let has_mask = self.mask.is_some();
        let Self { mask, operands, added, .. } = self;
        let Operands { ins, outs, rows, params, .. } = operands.reborrow();
        let Params { broadcast_rhs, joined, digit, .. } = params;
        let [c, d] = outs;
        let [added_c, added_d] = added;
        let (mut c, mut d) = (c.or(added_c.as_mut()), d.or(added_d.as_mut()));
        let [a, b, _] = ins;
        // Operands that an equation does not have are not read: any buffer is in their place.
        let mut ins = [a, b.or(a), mask.as_ref().map(Mask::buffer).or(a)];
        let mut params = Params { broadcast_rhs, joined, digit, equation, ..Params::default() };
        match equation {
            Equation::Quotient if has_mask => params.equation = Equation::MaskedQuotient,
            Equation::Quotient => params.digit = lowest_zero,
            Equation::DigitQuotient => ins[2] = d.take().map(|words| &*words),
            _ => {}
        }
        let outs = [c.take(), d.take()];
        let operands = Operands { ins, outs, rows, params, ..Operands::default() };
        let kernel = device.kernel(Op::CheckEquation, Strategy::Auto, shape, rows)?;
        device.launch_checked(kernel, operands)
    }

    fn check_prepared_quotient(&mut self) -> Result<Option<usize>> {
        let (device, shape) = (self.device, self.kernel.shape());
        let operands = Operands { mask: None, ..self.complete() };
        let kernel = device.kernel(Op::CheckDivRemBy, Strategy::Auto, shape, operands.rows)?;
        device.launch_checked(kernel, operands)
    }

    /// Clears results of which a kernel may leave bytes unwritten: records, and failed rows.
    fn clear_unwritten(&mut self) -> Result<()> {
        let is_partial = self.operands.status.is_some()
            || matches!(self.kernel.op(), Op::Prepare | Op::PrepareOdd);
        if is_partial {
            for out in self.operands.outs.iter_mut().flatten() {
                self.device.memory().fill(out, 0)?;
            }
        }
        Ok(())
    }

    /// Computes all rows again, and compares.
    fn check_again(&mut self, kernel: KernelId) -> Result<Option<usize>> {
        let device = self.device;
        let memory = device.memory();
        let rows = self.operands.rows;
        let row_bytes = [0, 1].map(|index| self.out_row_bytes(index));
        let mut seconds = [None, None];
        for (index, second) in seconds.iter_mut().enumerate() {
            if self.operands.outs[index].is_none() {
                continue;
            }
            let mut buffer = device.alloc_rows(rows, row_bytes[index])?;
            match &self.before[index] {
                Some(before) => memory.copy(&mut buffer, 0, before, 0, before.bytes())?,
                None => memory.fill(&mut buffer, 0)?,
            }
            *second = Some(buffer);
        }
        let mut mask = self.mask.is_some().then(|| Mask::none(device, rows)).transpose()?;
        let mut status = None;
        if self.operands.status.is_some() {
            let mut word = memory.alloc(size_of::<u64>() as u64)?;
            memory.fill(&mut word, u8::MAX)?;
            status = Some(word);
        }
        let Operands { ins, pairs, params, .. } = self.operands.reborrow();
        let again = Operands {
            ins,
            pairs,
            outs: seconds.each_mut().map(Option::as_mut),
            rows,
            mask: mask.as_mut().map(Mask::buffer_mut),
            status: status.as_mut(),
            params,
        };
        device.launch_unharmed(kernel, again)?;
        let mut lowest = None;
        for index in 0..2 {
            if let (Some(first), Some(second)) = (&self.operands.outs[index], &seconds[index]) {
                let row =
                    differing(device, kernel.shape(), [first, second], rows, row_bytes[index])?;
                lowest = least(lowest, row);
            }
        }
        if let (Some(first), Some(second)) = (&self.mask, &mask) {
            lowest = least(lowest, differing_bit(device, kernel.shape(), [first, second], rows)?);
        }
        if let Some(second) = &status {
            let words = [self.status()?, word_of(device, second)?];
            if words[0] != words[1] {
                let row = usize::try_from(words[0].min(words[1])).unwrap_or(0);
                lowest = least(lowest, Some(row));
            }
        }
        Ok(lowest)
    }

    /// Computes a part of the rows again, and compares.
    fn check_part(&mut self) -> Result<Option<usize>> {
        let device = self.device;
        let (kernel, rows) = (self.kernel, self.operands.rows);
        let row_bytes = self.out_row_bytes(0);
        let Operands { ins, params, .. } = self.operands.reborrow();
        let operands = Operands { ins, rows, params, ..Operands::default() };
        let strides = Call { kernel, operands }.strides();
        let (Some(strides), Some(out)) = (strides, self.operands.outs[0].as_deref()) else {
            return self.check_again(kernel);
        };
        let part = random_part(rows);
        let ins = self.operands.ins;
        let mut copies = [const { None }; 3];
        for (index, copy) in copies.iter_mut().enumerate() {
            if let Some(input) = ins[index]
                && strides.ins[index] > 0
            {
                *copy = Some(part_of(device, input, &part, strides.ins[index])?);
            }
        }
        let first = part_of(device, out, &part, row_bytes)?;
        let mut second = device.alloc_rows(part.len(), row_bytes)?;
        let again = Operands {
            ins: [0, 1, 2].map(|index| copies[index].as_ref().or(ins[index])),
            outs: [Some(&mut second), None],
            rows: part.len(),
            params: self.operands.params,
            ..Operands::default()
        };
        device.launch_unharmed(kernel, again)?;
        let pair = [&first, &second];
        let row = differing(device, kernel.shape(), pair, part.len(), row_bytes)?;
        Ok(row.map(|row| part.start + row))
    }
}

/// Returns the lower of two rows, if there are any.
fn least(a: Option<usize>, b: Option<usize>) -> Option<usize> {
    a.into_iter().chain(b).min()
}

/// The kernel of the same operation by another algorithm, or the kernel itself.
fn other_kernel(kernel: KernelId) -> KernelId {
    let (op, shape) = (kernel.op(), kernel.shape());
    let is_other = |algorithm: &Algorithm| *algorithm != kernel.row().algorithm;
    let other = algorithms(op, shape).find(is_other);
    other.and_then(|algorithm| KernelId::find(op, algorithm, shape)).unwrap_or(kernel)
}

/// One of at most [`PARTS`] parts of the rows, each with the same probability.
fn random_part(rows: usize) -> Range<usize> {
    let len = rows.div_ceil(PARTS).max(1);
    let parts = rows.div_ceil(len).max(1);
    let first = RandomState::new().hash_one(rows) as usize % parts * len;
    first..rows.min(first + len)
}

/// Copies a part of the rows of a buffer.
fn part_of(
    device: &Device,
    buffer: &Buffer,
    part: &Range<usize>,
    row_bytes: usize,
) -> Result<Buffer> {
    let mut copy = device.alloc_rows(part.len(), row_bytes)?;
    let bytes = copy.bytes();
    device.memory().copy(&mut copy, 0, buffer, (part.start * row_bytes) as u64, bytes)?;
    Ok(copy)
}

/// The lowest row in which two results differ.
fn differing(
    device: &Device,
    shape: Shape,
    [first, second]: [&Buffer; 2],
    rows: usize,
    row_bytes: usize,
) -> Result<Option<usize>> {
    let ins = [Some(first), Some(second), None];
    if shape.is_long() && device.backend() != BackendKind::Cpu {
        return differing_long(device, ins, rows, row_bytes);
    }
    let params = Params { source_bits: 8 * row_bytes as u32, ..Params::default() };
    let kernel = device.kernel(Op::CheckEqual, Strategy::Auto, shape, rows)?;
    device.launch_checked(kernel, Operands { ins, rows, params, ..Operands::default() })
}

/// The lowest row in which two results differ, on a device with kernels of long rows: by its
/// comparison for long results, and on the host for results of few bytes a row.
fn differing_long(
    device: &Device,
    ins: [Option<&Buffer>; 3],
    rows: usize,
    row_bytes: usize,
) -> Result<Option<usize>> {
    let shape = Shape::long(8 * row_bytes).filter(|shape| shape.is_long());
    if let Some(shape) = shape.filter(|shape| shape.bytes() == row_bytes) {
        let mut equal = Mask::none(device, rows)?;
        let kernel = device.kernel(Op::EqMask, Strategy::Auto, shape, rows)?;
        let mask = Some(equal.buffer_mut());
        device.launch_unharmed(kernel, Operands { ins, rows, mask, ..Operands::default() })?;
        return Ok(equal.to_bools()?.iter().position(|is_equal| !is_equal));
    }
    let mut bytes = [zeroed_vec(rows * row_bytes)?, zeroed_vec(rows * row_bytes)?];
    for (bytes, input) in bytes.iter_mut().zip(ins) {
        if let Some(buffer) = input {
            device.memory().download(buffer, 0, bytes)?;
        }
    }
    let [first, second] = bytes;
    let mut pairs = first.chunks(row_bytes).zip(second.chunks(row_bytes));
    Ok(pairs.position(|(first, second)| first != second))
}

/// The lowest row in which two masks differ.
fn differing_bit(
    device: &Device,
    shape: Shape,
    [first, second]: [&Mask; 2],
    rows: usize,
) -> Result<Option<usize>> {
    const WORD_BYTES: usize = size_of::<u32>();
    const WORD: usize = u32::BITS as usize;
    let pair = [first.buffer(), second.buffer()];
    let Some(index) = differing(device, shape, pair, rows.div_ceil(WORD), WORD_BYTES)? else {
        return Ok(None);
    };
    let mut words = [0; 2];
    for (word, mask) in words.iter_mut().zip(pair) {
        let mut bytes = [0; WORD_BYTES];
        device.memory().download(mask, (index * WORD_BYTES) as u64, &mut bytes)?;
        *word = u32::from_le_bytes(bytes);
    }
    Ok(Some(index * WORD + (words[0] ^ words[1]).trailing_zeros() as usize))
}

/// The 64-bit word of a buffer.
fn word_of(device: &Device, buffer: &Buffer) -> Result<u64> {
    let mut bytes = [0; size_of::<u64>()];
    device.memory().download(buffer, 0, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}
