//! Rows of a call, as limbs in place, and their distribution over threads.

use std::error::Error as _;
use std::sync::LazyLock;

use gpuint_catalogue::Operand;

use crate::backend::host::{self, zeroed_vec};
use crate::backend::{Call, Params};
use crate::error::Result;

/// Bytes of a limb.
const LIMB_BYTES: usize = size_of::<u64>();

/// True if rayon has its threads. Where none can be started, rayon panics at every use, so the
/// calling thread does the work.
pub(super) static HAS_THREADS: LazyLock<bool> = LazyLock::new(|| {
    match rayon::ThreadPoolBuilder::new().build_global() {
        Ok(()) => true,
        // Without a cause, the threads are there already.
        Err(error) if error.source().is_none() => true,
        Err(error) => {
            tracing::warn!(%error, "rows run one after the other");
            false
        }
    }
});

/// Result of a row besides its outputs.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Its bit of the mask.
    pub(super) flag: bool,
    /// Counts for the status.
    pub(super) failed: bool,
}

impl From<bool> for Outcome {
    fn from(flag: bool) -> Self {
        Self { flag, failed: false }
    }
}

/// Operands of a row.
#[derive(Debug)]
pub(super) struct Row<'a> {
    /// Inputs, with zeros above the width where that is not a whole number of limbs.
    pub(super) ins: [&'a [u64]; 3],
    /// Outputs, of which only the bits of the width are kept.
    pub(super) outs: [&'a mut [u64]; 2],
    /// The inputs as bytes.
    pub(super) bytes: [&'a [u8]; 3],
    /// Index of the row.
    pub(super) index: usize,
}

/// Consecutive rows of a call. A leaf of the distribution is computed by one thread.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    pub(super) bits: usize,
    pub(super) params: Params,
    first: usize,
    count: usize,
    ins: [Input<'a>; 3],
    outs: [Output<'a>; 2],
    /// A byte a row, or none where the call has no mask.
    flags: &'a mut [u8],
}

/// An input; without bytes where it is unused.
#[derive(Debug, Clone, Copy, Default)]
struct Input<'a> {
    bytes: &'a [u8],
    row_bytes: usize,
    share: Share,
}

/// The bytes of an input that a row reads.
#[derive(Debug, Clone, Copy, Default)]
enum Share {
    /// Those of the same row.
    #[default]
    Own,
    /// Those of the first row: the operand is broadcast.
    First,
    /// All of them.
    All,
}

impl<'a> Input<'a> {
    fn row(self, row: usize) -> &'a [u8] {
        let row = match self.share {
            Share::Own => row,
            Share::First => 0,
            Share::All => return self.bytes,
        };
        self.bytes.get(row * self.row_bytes..(row + 1) * self.row_bytes).unwrap_or_default()
    }

    /// Room for a copy of a row that is no whole limbs.
    fn copy(self) -> Result<Vec<u64>> {
        let is_copied =
            !matches!(self.share, Share::All) && !self.row_bytes.is_multiple_of(LIMB_BYTES);
        zeroed_vec(if is_copied { self.row_bytes.div_ceil(LIMB_BYTES) } else { 0 })
    }
}

/// An output; without bytes where the call leaves it out.
#[derive(Debug)]
struct Output<'a> {
    bytes: &'a mut [u8],
    row_bytes: usize,
    /// Rows are written in place.
    is_direct: bool,
}

impl Output<'_> {
    /// Room for a row that is not written in place.
    fn spare(&self) -> Result<Vec<u64>> {
        zeroed_vec(if self.is_direct { 0 } else { self.row_bytes.div_ceil(LIMB_BYTES) })
    }

    /// Halves the rows.
    fn split(self, half: usize) -> (Self, Self) {
        let Self { bytes, row_bytes, is_direct } = self;
        let (low, high) = bytes.split_at_mut((half * row_bytes).min(bytes.len()));
        (Self { bytes: low, row_bytes, is_direct }, Self { bytes: high, row_bytes, is_direct })
    }
}

/// Lowest row that failed, if any.
pub(super) type Failed = Option<usize>;

/// The rows of a call as the function of a row sees them, and the flags of their mask.
pub(super) fn run(
    call: Call<'_>,
    function: fn(Rows<'_>) -> Result<Failed>,
    leaf: usize,
) -> Result<()> {
    let mut ins = [Input::default(); 3];
    for (index, input) in ins.iter_mut().enumerate() {
        let bytes = call.operands.ins[index].map_or(Ok(&[][..]), host::bytes)?;
        let share = match call.kernel.op().signature().inputs[index] {
            Some(Operand::Indexed | Operand::Bits) => Share::All,
            _ if call.is_broadcast(index) => Share::First,
            _ => Share::Own,
        };
        *input = Input { bytes, row_bytes: call.in_row_bytes(index), share };
    }
    let row_bytes = [call.out_row_bytes(0), call.out_row_bytes(1)];
    let bits = call.kernel.shape().bits;
    let operands = call.operands;
    let mut row_bytes = row_bytes.into_iter();
    let outs = operands.outs.map(|buffer| {
        let row_bytes = row_bytes.next().unwrap_or_default();
        let bytes = buffer.map_or(Ok(&mut [][..]), host::bytes_mut)?;
        let is_direct = !bytes.is_empty() && row_bytes.is_multiple_of(LIMB_BYTES);
        let len = bytes.len().min(operands.rows * row_bytes);
        Ok(Output { bytes: &mut bytes[..len], row_bytes, is_direct })
    });
    let [c, d] = outs;
    let mask = operands.mask.map(host::bytes_mut).transpose()?;
    let mut flags: Vec<u8> = zeroed_vec(if mask.is_some() { operands.rows } else { 0 })?;
    let rows = Rows {
        bits,
        params: operands.params,
        first: 0,
        count: operands.rows,
        ins,
        outs: [c?, d?],
        flags: &mut flags,
    };
    let failed = rows.distribute(function, leaf.max(1))?;
    if let Some(mask) = mask {
        let words: &mut [u32] = bytemuck::cast_slice_mut(mask);
        for (word, flags) in words.iter_mut().zip(flags.chunks(32)) {
            for (bit, &flag) in flags.iter().enumerate() {
                *word |= u32::from(flag) << bit;
            }
        }
    }
    if let (Some(status), Some(row)) = (operands.status, failed) {
        let status: &mut [u64] = bytemuck::cast_slice_mut(host::bytes_mut(status)?);
        status[0] = status[0].min(row as u64);
    }
    Ok(())
}

impl<'a> Rows<'a> {
    /// Halves the rows until there are no more than `leaf`.
    fn distribute(self, function: fn(Rows<'_>) -> Result<Failed>, leaf: usize) -> Result<Failed> {
        if self.count <= leaf {
            return function(self);
        }
        let (low, high) = self.split();
        let low = || low.distribute(function, leaf);
        let high = || high.distribute(function, leaf);
        let (low, high) = if *HAS_THREADS { rayon::join(low, high) } else { (low(), high()) };
        let (low, high) = (low?, high?);
        Ok(low.or(high))
    }

    fn split(self) -> (Self, Self) {
        let Self { bits, params, first, count, ins, outs, flags } = self;
        let half = count / 2;
        let [(c0, c1), (d0, d1)] = outs.map(|output| output.split(half));
        let (flags0, flags1) = flags.split_at_mut(half.min(flags.len()));
        let low = Self { bits, params, first, count: half, ins, outs: [c0, d0], flags: flags0 };
        let high = Self {
            bits,
            params,
            first: first + half,
            count: count - half,
            ins,
            outs: [c1, d1],
            flags: flags1,
        };
        (low, high)
    }

    /// Limbs of a row.
    pub(super) fn limbs(&self) -> usize {
        self.bits.div_ceil(u64::BITS as usize)
    }

    /// Computes row by row. `work` gets the operands and `scratch` limbs, in which the row before
    /// may have left anything.
    pub(super) fn each(
        self,
        scratch: usize,
        mut work: impl FnMut(Row<'_>, &mut [u64]) -> Outcome,
    ) -> Result<Failed> {
        let Self { first, count, ins, outs: [c, d], flags, .. } = self;
        let mut scratch = zeroed_vec::<u64>(scratch)?;
        let [copy0, copy1, copy2] = ins.map(Input::copy);
        let (mut copy0, mut copy1, mut copy2) = (copy0?, copy1?, copy2?);
        let (mut spare0, mut spare1) = (c.spare()?, d.spare()?);
        let mut c_rows = c.bytes.chunks_exact_mut(c.row_bytes.max(1));
        let mut d_rows = d.bytes.chunks_exact_mut(d.row_bytes.max(1));
        let mut flags = flags.iter_mut();
        let mut failed = None;
        for index in first..first + count {
            let bytes = ins.map(|input| input.row(index));
            let c_row = c_rows.next().unwrap_or_default();
            let d_row = d_rows.next().unwrap_or_default();
            let row = Row {
                ins: [
                    limbs(bytes[0], &mut copy0),
                    limbs(bytes[1], &mut copy1),
                    limbs(bytes[2], &mut copy2),
                ],
                outs: [
                    limbs_mut(c_row, &mut spare0, c.is_direct),
                    limbs_mut(d_row, &mut spare1, d.is_direct),
                ],
                bytes,
                index,
            };
            let outcome = work(row, &mut scratch);
            if !c.is_direct {
                c_row.copy_from_slice(&bytemuck::cast_slice(&spare0)[..c_row.len()]);
            }
            if !d.is_direct {
                d_row.copy_from_slice(&bytemuck::cast_slice(&spare1)[..d_row.len()]);
            }
            if let Some(flag) = flags.next() {
                *flag = outcome.flag.into();
            }
            if outcome.failed && failed.is_none() {
                failed = Some(index);
            }
        }
        Ok(failed)
    }
}

/// The limbs of a row in place, or copied where it is no whole limbs.
fn limbs<'a>(row: &'a [u8], copy: &'a mut [u64]) -> &'a [u64] {
    if copy.is_empty() {
        return bytemuck::try_cast_slice(row).unwrap_or_default();
    }
    bytemuck::cast_slice_mut(copy)[..row.len()].copy_from_slice(row);
    copy
}

/// The limbs of a row of an output in place, or a copy of them.
fn limbs_mut<'a>(row: &'a mut [u8], spare: &'a mut [u64], is_direct: bool) -> &'a mut [u64] {
    if is_direct {
        return bytemuck::cast_slice_mut(row);
    }
    bytemuck::cast_slice_mut(spare)[..row.len()].copy_from_slice(row);
    spare
}
