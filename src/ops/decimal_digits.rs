//! Decimal digits of narrow rows on a device (`kernels/rows/decimal.cuh`).

use gpuint_catalogue::{Op, Shape};

use crate::backend::{Buffer, Operands, Params, Span};
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::kernel::algorithms;
use crate::strategy::Strategy;

/// Digits that a kernel reads or writes at a time.
const GROUP: usize = 8;

/// ASCII digits of rows, in a place of whole groups a row, with leading zeros.
pub(super) struct Digits {
    device: Device,
    digits: Buffer,
    rows: usize,
    /// Bytes of a place.
    place: usize,
}

impl Digits {
    /// Returns true if the catalogue has kernels for rows of a shape.
    pub(super) fn are_offered(shape: Shape) -> bool {
        let is_offered = |op| !shape.is_long() && algorithms(op, shape).next().is_some();
        is_offered(Op::ToDecimal) && is_offered(Op::FromDecimal)
    }

    /// Allocates places of at least `digits` digits, uninitialized.
    fn alloc(device: &Device, rows: usize, digits: usize) -> Result<Self> {
        let place = digits.max(1).next_multiple_of(GROUP);
        let digits = device.alloc_rows(rows, place)?;
        Ok(Self { device: device.clone(), digits, rows, place })
    }

    /// Computes the digits of rows, which are below the power of ten of `digits`.
    pub(super) fn of(rows: &DynBatch, digits: usize) -> Result<Self> {
        let mut of_rows = Self::alloc(rows.device(), rows.len(), digits)?;
        let (view, params) =
            (rows.view(), Params { target_bits: of_rows.bits(), ..Params::default() });
        let outs = [Some(&mut of_rows.digits), None];
        view.launch(Op::ToDecimal, Operands { outs, params, ..view.operands() })?;
        Ok(of_rows)
    }

    /// Copies places of at least `digits` digits from the host: `write(row, bytes, place)` writes
    /// parts of them in order, `place` bytes a row.
    pub(super) fn write(
        device: &Device,
        rows: usize,
        digits: usize,
        mut write: impl FnMut(usize, &mut [u8], usize) -> Result<()>,
    ) -> Result<Self> {
        let mut written = Self::alloc(device, rows, digits)?;
        let (place, span) = (written.place, written.span(1));
        if rows > 0 {
            device.memory().upload_parts(&mut written.digits, span, &mut |start, bytes| {
                write(start / place, bytes, place)
            })?;
        }
        Ok(written)
    }

    /// Copies the places to the host, `columns` at a time or a multiple of it: `read(row, bytes)`
    /// reads parts of them in order.
    pub(super) fn read(
        &self,
        columns: usize,
        mut read: impl FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let span = self.span(columns);
        if self.rows == 0 {
            return Ok(());
        }
        let memory = self.device.memory();
        memory
            .download_parts(&self.digits, span, &mut |start, bytes| read(start / span.unit, bytes))
    }

    /// Returns the numbers in a shape; `None` if one does not fit.
    pub(super) fn to_rows(&self, shape: Shape) -> Result<Option<DynBatch>> {
        let mut numbers = DynBatch::alloc(&self.device, shape, self.rows)?;
        let kernel = self.device.kernel(Op::FromDecimal, Strategy::Auto, shape, self.rows)?;
        let operands = Operands {
            ins: [Some(&self.digits), None, None],
            outs: [Some(numbers.buffer_mut()), None],
            rows: self.rows,
            params: Params { source_bits: self.bits(), ..Params::default() },
            ..Operands::default()
        };
        let failed = self.device.launch_checked(kernel, operands)?;
        Ok(failed.is_none().then_some(numbers))
    }

    /// Bytes of a place.
    pub(super) fn place(&self) -> usize {
        self.place
    }

    /// Bits of a place, which has a few hundred digits.
    fn bits(&self) -> u32 {
        8 * self.place as u32
    }

    fn span(&self, columns: usize) -> Span {
        Span { offset: 0, bytes: self.rows * self.place, unit: columns * self.place }
    }
}
