//! Values of the nodes of a tree: a batch for each level, several numbers one after the other.

use gpuint_catalogue::{MAX_BITS, Shape};

use super::layout::{Children, Level};
use crate::backend::host::{self, collected, reserved_vec};
use crate::backend::{BackendKind, Span};
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};

/// Returns the device of the rows of `bits` bits of a tree, and their shape there: the narrowest
/// one whose products modulo `2^BITS - 1` are fast. Rows beyond the widest of a device are on the
/// CPU.
///
/// Transforms of a GPU have a power of two of points, and a wrapped product of another width is a
/// full one: long rows have powers of two. The CPU has transforms of 1/64 of a power of two, and
/// needs no kernels.
pub(super) fn home(device: &Device, bits: u64) -> Result<(Device, Shape)> {
    let bits = usize::try_from(bits).unwrap_or(usize::MAX);
    let is_long = bits > MAX_BITS;
    let device = match is_long && !device.memory().has_long_rows() {
        true => Device::cpu(),
        false => device.clone(),
    };
    let is_cpu = device.backend() == BackendKind::Cpu;
    let power = bits.checked_next_power_of_two().unwrap_or(bits);
    let bits = match (is_cpu, is_long) {
        (true, _) => bits.checked_next_multiple_of((power / 64).max(256)).unwrap_or(bits),
        (false, true) => power,
        (false, false) => bits,
    };
    let device = device.with_jit_if(is_cpu);
    let shape = device.shape_for(bits)?;
    Ok((device, shape))
}

/// Returns rows on a device, in a shape that holds them.
pub(super) fn moved(rows: DynBatch, device: &Device, shape: Shape) -> Result<DynBatch> {
    match rows.device().shares_memory_with(device) {
        true => fitted(rows.on(device)?, shape),
        false => sent(&rows, device, shape),
    }
}

/// Copies rows to a device with other memory, in a shape that holds them.
pub(super) fn sent(rows: &DynBatch, device: &Device, shape: Shape) -> Result<DynBatch> {
    // The narrower shape goes over the bus.
    match rows.shape().bits > shape.bits {
        true => copied(&rows.view().truncated(shape)?, device),
        false => fitted(copied(rows, device)?, shape),
    }
}

/// Copies rows to a device with other memory: by one copy from or to memory of the host, or between
/// GPUs by parts through pinned memory of both.
fn copied(rows: &DynBatch, device: &Device) -> Result<DynBatch> {
    let is_host = |device: &Device| device.backend() != BackendKind::Cuda;
    let (from, to) = (rows.device(), device);
    let mut out = DynBatch::alloc(to, rows.shape(), rows.len())?;
    match (is_host(from), is_host(to)) {
        (_, true) => {
            from.memory().download(rows.buffer(), 0, host::bytes_mut(out.buffer_mut())?)?;
        }
        (true, false) => to.memory().upload(out.buffer_mut(), 0, host::bytes(rows.buffer())?)?,
        (false, false) => {
            let span = Span { offset: 0, bytes: rows.len() * rows.shape().bytes(), unit: 1 };
            from.memory().download_parts(rows.buffer(), span, &mut |start, part| {
                to.memory().upload(out.buffer_mut(), start as u64, part)
            })?;
        }
    }
    Ok(out)
}

/// Returns rows in a shape that holds them, without a copy if they have it.
pub(super) fn fitted(rows: DynBatch, shape: Shape) -> Result<DynBatch> {
    if rows.shape() == shape { Ok(rows) } else { rows.view().truncated(shape) }
}

/// Returns rows of a node in a shape that holds their values, on the handle of a device.
pub(super) fn returned(rows: DynBatch, device: &Device, shape: Shape) -> Result<DynBatch> {
    let rows = moved(rows, device, shape)?;
    let mut out = DynBatch::alloc(device, shape, rows.len())?;
    rows.view().truncated_into(&mut out)?;
    Ok(out)
}

/// Returns the rows of a batch `times` times, one copy after the other.
pub(in crate::ops) fn tiled(batch: &DynBatch, times: usize) -> Result<DynBatch> {
    let count = batch.len();
    batch.gather(&collected((0..times * count).map(|row| row % count))?)
}

/// Returns the indices of some rows of each number, of `count` rows a number.
fn of_numbers(rows: &[usize], count: usize, numbers: usize) -> Result<Vec<usize>> {
    let mut all = reserved_vec(numbers.saturating_mul(rows.len()))?;
    all.extend((0..numbers).flat_map(|number| rows.iter().map(move |row| number * count + row)));
    Ok(all)
}

/// The values of the nodes of a tree, level by level: `numbers` values a node, number by number. A
/// level is `None` before its values are there, or after their last use.
pub(super) struct Nodes {
    pub(super) numbers: usize,
    pub(super) levels: Vec<Option<DynBatch>>,
}

impl Nodes {
    pub(super) fn new(numbers: usize, levels: usize) -> Self {
        Self { numbers, levels: (0..levels).map(|_| None).collect() }
    }

    /// Returns the values of a level.
    pub(super) fn level(&self, level: usize) -> Result<&DynBatch> {
        self.levels[level].as_ref().ok_or_else(missing)
    }

    /// Takes the values of a level out.
    pub(super) fn take(&mut self, level: usize) -> Result<DynBatch> {
        self.levels[level].take().ok_or_else(missing)
    }

    /// Returns the values of the left or right children of a level, on a device in a shape that
    /// holds them.
    pub(super) fn children(
        &self,
        level: &Level,
        side: usize,
        device: &Device,
        shape: Shape,
    ) -> Result<DynBatch> {
        let gathered = |children: &Children| {
            let values = self.level(children.level)?;
            let count = values.len() / self.numbers;
            let rows = of_numbers(&children.rows, count, self.numbers)?;
            moved(values.gather(&rows)?, device, shape)
        };
        if let [children] = level.sides[side].as_slice() {
            return gathered(children);
        }
        let count = level.nodes.len();
        let mut out = DynBatch::alloc(device, shape, self.numbers * count)?;
        for children in &level.sides[side] {
            let rows = of_numbers(&children.nodes, count, self.numbers)?;
            gathered(children)?.scatter_into(&rows, &mut out)?;
        }
        Ok(out)
    }

    /// Writes values of the left or right children of a level to their places. `child(level)`
    /// returns device, shape and number of nodes of a level, and `convert` changes values of the
    /// level to values of a child.
    pub(super) fn set_children(
        &mut self,
        level: &Level,
        side: usize,
        values: &DynBatch,
        child: impl Fn(usize) -> Result<(Device, Shape, usize)>,
        convert: impl Fn(&DynBatch, Shape) -> Result<DynBatch>,
    ) -> Result<()> {
        let sides = &level.sides[side];
        for children in sides {
            let (device, shape, count) = child(children.level)?;
            let part = match sides.len() {
                1 => None,
                _ => {
                    let nodes = of_numbers(&children.nodes, level.nodes.len(), self.numbers)?;
                    Some(values.gather(&nodes)?)
                }
            };
            let converted = convert(part.as_ref().unwrap_or(values), shape)?;
            let converted = moved(converted, &device, shape)?;
            let slot = &mut self.levels[children.level];
            if slot.is_none() {
                *slot = Some(DynBatch::alloc(&device, shape, self.numbers * count)?);
            }
            let rows = of_numbers(&children.rows, count, self.numbers)?;
            if let Some(out) = slot {
                converted.scatter_into(&rows, out)?;
            }
        }
        Ok(())
    }
}

fn missing() -> Error {
    Error::Driver("a level of a tree has no values".to_owned())
}
