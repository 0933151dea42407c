//! Products: transforms, point products, Chinese remainders and carries.
#![allow(unsafe_code)]

use std::sync::Arc;

use bytemuck::Zeroable;
use gpuint_catalogue::Op;

use crate::backend::launch;
use crate::backend::long::arguments::{Carrying, EDGE_BYTES, Parts, Source, Tables, Transform};
use crate::backend::long::grids::{Grids, PlanTables, kernel, launch as launch_kernel, workspace};
use crate::backend::long::plan::{MIN_LOG_POINTS, Plan, WIDEST_FACTOR};
use crate::backend::long::sum::Sum;
use crate::error::{Error, Result};
use crate::kernel::LongKernelId;

/// Products of the rows of two batches, or squares.
#[derive(Debug, Clone, Copy)]
pub(super) struct Product {
    /// Addresses of the factors; equal for squares.
    pub(super) factors: [u64; 2],
    /// Limbs of a row of a factor.
    pub(super) limbs: u64,
    /// Addresses of the rows of each part of the result, or 0, and the limbs of a row of it. The
    /// limbs beyond are dropped.
    pub(super) parts: [(u64, u64); 2],
    /// The result is modulo 2^(32 `limbs`) - 1, for a power of two `limbs`.
    pub(super) is_cyclic: bool,
    /// Transforms in the place of the second factors.
    pub(super) kept: Option<Kept>,
}

/// Forward transforms before the last pass, of rows of factors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    pub(super) address: u64,
    /// Number of rows: one for each product, or one for all.
    pub(super) rows: u64,
}

/// Points of products of rows of `limbs` limbs, at least.
fn points(limbs: u64, is_cyclic: bool) -> u64 {
    if is_cyclic { limbs } else { 2 * limbs }
}

/// Bytes of the residues of a row of `points` points.
fn residues_bytes(points: u64) -> u64 {
    3 * 4 * points
}

/// Returns the bytes of a [kept](Kept) row of `limbs` limbs; `None` without such transforms.
pub(super) fn kept_bytes(limbs: u64, is_cyclic: bool) -> Option<u64> {
    if is_cyclic && !wraps(limbs) {
        return None;
    }
    Plan::of_limbs(points(limbs, is_cyclic)).map(|plan| residues_bytes(plan.points()))
}

/// Kernels of a plan.
struct Kernels {
    /// Forward and inverse, of each pass but the last.
    strided: Vec<[LongKernelId; 2]>,
    products: LongKernelId,
    remainders: LongKernelId,
    carries: LongKernelId,
}

impl Kernels {
    fn of(plan: &Plan) -> Result<Self> {
        let primes = plan.primes.name();
        let (last, strided) = plan.levels.split_last().unwrap_or((&0, &[]));
        let pass = |(index, levels): (usize, &u32)| {
            let pass = if index == 0 { "first" } else { "second" };
            let name = |direction| format!("{pass}_{direction}_{primes}_{levels}");
            Ok([kernel(&name("forward"))?, kernel(&name("inverse"))?])
        };
        Ok(Self {
            strided: strided.iter().enumerate().map(pass).collect::<Result<_>>()?,
            products: kernel(&format!("products_{primes}_{last}"))?,
            remainders: kernel(&format!("remainders_{primes}"))?,
            carries: kernel("carries")?,
        })
    }
}

impl Product {
    /// Queues the products of `rows` rows, for an operation of that name.
    ///
    /// # Safety
    /// That of [`run`](super::run): the factors and the parts have `rows` rows.
    pub(super) unsafe fn queue<G: Grids>(&self, grids: &G, op: Op, rows: usize) -> Result<()> {
        let plan = grids.plan(points(self.limbs, self.is_cyclic)).ok_or(Error::WidthMissing {
            operation: op.name(),
            bits: 32 * self.limbs as usize,
            widest: WIDEST_FACTOR,
        })?;
        // SAFETY: the caller's.
        unsafe { self.queue_by(grids, &plan, rows) }
    }

    /// Queues the products by transforms of a plan, which has points for all limbs.
    ///
    /// # Safety
    /// As [`queue`](Self::queue).
    pub(super) unsafe fn queue_by<G: Grids>(
        &self,
        grids: &G,
        plan: &Plan,
        rows: usize,
    ) -> Result<()> {
        let kernels = Kernels::of(plan)?;
        let is_square = self.kept.is_none() && self.factors[0] == self.factors[1];
        let planes = if self.kept.is_some() || is_square { 1 } else { 2 };
        let tile = u64::from(grids.launch_bounds(kernels.remainders)?.rows_per_block);
        let tiles = plan.points() / tile;
        let residues_bytes = planes * residues_bytes(plan.points());
        let tables = tables(grids, plan)?;
        let (mut memory, most) = workspace(grids, residues_bytes + tiles * EDGE_BYTES, rows)?;
        let start = grids.address(&mut memory)?;
        let edges = start + residues_bytes * most as u64;
        for part in launch::parts(rows, most) {
            // Below 2^28: residues of a part have at most MAX_WORKSPACE_BYTES bytes, or one row.
            let (first, rows) = (part.start as u64, part.len() as u32);
            let source = |factor: u64| Source {
                limbs: factor + first * 4 * self.limbs,
                count: self.limbs as u32,
                padding: 0,
            };
            let transform = Transform {
                residues: start,
                source: self.factors.map(source),
                tables: tables.tables,
                log_points: plan.log_points(),
                low_bits: plan.low_bits(),
                rows,
                planes: rows * planes as u32,
                depth: 0,
                second_planes: 0,
                second: 0,
            };
            let row_bytes = 4 * plan.points();
            let (second, second_planes) = match self.kept {
                Some(Kept { address, rows: 1 }) => (address, 1),
                Some(kept) => (kept.address + first * row_bytes, kept.rows as u32),
                None if is_square => (start, transform.planes),
                None => (start + u64::from(rows) * row_bytes, transform.planes),
            };
            let transform = Transform { second, second_planes, ..transform };
            let out = self.parts.map(|(address, limbs)| match address {
                0 => (0, limbs),
                _ => (address + first * 4 * limbs, limbs),
            });
            let carrying = Carrying {
                residues: start,
                out: Parts { rows: out.map(|part| part.0), limbs: out.map(|part| part.1) },
                edges,
                limbs: plan.points(),
                rows,
                tiles: tiles as u32,
                planes: transform.planes,
                log_points: plan.log_points(),
                // A product that does not wrap carries nothing out of its top.
                is_cyclic: 1,
                ..Carrying::zeroed()
            };
            let points = 3 * plan.points() * u64::from(rows);
            let limbs = tiles * tile * u64::from(rows);
            let transformed = |kernel, depth, work| {
                let transform = Transform { depth, ..transform };
                // SAFETY: the workspace has the residues of the part, and the tables are those of
                // the plan; the operands are the caller's.
                unsafe { launch_kernel(grids, kernel, &transform, work) }
            };
            let carried = |kernel| {
                // SAFETY: the workspace has the residues and the edges of the part; the operands
                // are the caller's.
                unsafe { launch_kernel(grids, kernel, &carrying, limbs) }
            };
            for (index, &[forward, _]) in kernels.strided.iter().enumerate() {
                transformed(forward, plan.pass(index).1, planes * points)?;
            }
            transformed(kernels.products, 0, points)?;
            for (index, &[_, inverse]) in kernels.strided.iter().enumerate().rev() {
                transformed(inverse, plan.pass(index).1, points)?;
            }
            carried(kernels.remainders)?;
            carried(kernels.carries)?;
        }
        Ok(())
    }
}

/// Queues products modulo 2^(32 `limbs`) - 1: by transforms that wrap, or by a full product whose
/// halves are added. Zero is the result only where a factor is zero.
///
/// # Safety
/// That of [`run`](super::run).
pub(super) unsafe fn queue_cyclic<G: Grids>(
    grids: &G,
    factors: [u64; 2],
    limbs: u64,
    out: u64,
    rows: usize,
) -> Result<()> {
    if wraps(limbs) {
        let parts = [(out, limbs), (0, 0)];
        let product = Product { factors, limbs, parts, is_cyclic: true, kept: None };
        // SAFETY: the caller's.
        return unsafe { product.queue(grids, Op::MulCyclic, rows) };
    }
    let (mut memory, most) = workspace(grids, 2 * 4 * limbs, rows)?;
    let low = grids.address(&mut memory)?;
    let high = low + 4 * limbs * most as u64;
    launch::parts(rows, most).try_for_each(|part| {
        let skip = |address: u64| address + part.start as u64 * 4 * limbs;
        let (factors, parts) = (factors.map(skip), [(low, limbs), (high, limbs)]);
        let product = Product { factors, limbs, parts, is_cyclic: false, kept: None };
        let sum = Sum { is_cyclic: true, ..Sum::of(low, high, skip(out), limbs) };
        // SAFETY: the workspace has both halves of the part; the factors are the caller's.
        unsafe { product.queue(grids, Op::MulCyclic, part.len()) }?;
        // SAFETY: the workspace has both halves of the part; the result is the caller's.
        unsafe { sum.queue(grids, part.len()) }
    })
}

/// Returns true if transforms of products of rows of `limbs` limbs wrap.
fn wraps(limbs: u64) -> bool {
    limbs.is_power_of_two() && limbs >> MIN_LOG_POINTS != 0
}

/// Queues the transforms of `rows` rows of `limbs` limbs, before the last pass, for products of
/// both halves or cyclic ones.
///
/// # Safety
/// That of [`run`](super::run); `out` has [`kept_bytes`] bytes for each row.
pub(super) unsafe fn queue_transforms<G: Grids>(
    grids: &G,
    plan: &Plan,
    source: u64,
    limbs: u64,
    out: u64,
    rows: u32,
) -> Result<()> {
    let source = Source { limbs: source, count: limbs as u32, padding: 0 };
    let tables = tables(grids, plan)?;
    for (index, &[forward, _]) in Kernels::of(plan)?.strided.iter().enumerate() {
        let transform = Transform {
            residues: out,
            source: [source; 2],
            tables: tables.tables,
            log_points: plan.log_points(),
            low_bits: plan.low_bits(),
            rows,
            planes: rows,
            depth: plan.pass(index).1,
            second_planes: 0,
            second: 0,
        };
        let work = 3 * plan.points() * u64::from(rows);
        // SAFETY: the tables are those of the plan; rows and result are the caller's.
        unsafe { launch_kernel(grids, forward, &transform, work) }?;
    }
    Ok(())
}

impl Tables {
    /// The tables in memory that begins at `start`.
    fn after(self, start: u64) -> Self {
        Self {
            twist: self.twist.map(|offset| start + offset),
            inner: self.inner.map(|passes| passes.map(|offset| start + offset)),
            high: start + self.high,
            low: start + self.low,
            ..self
        }
    }
}

/// The tables of a plan, which are computed at the first use.
fn tables<G: Grids>(grids: &G, plan: &Plan) -> Result<Arc<PlanTables<G::Memory>>> {
    grids.tables().0.get_or_try_init(*plan, || {
        let (bytes, offsets) = plan.tables();
        let mut memory = grids.allocate_copy(&bytes)?;
        let start = grids.address(&mut memory)?;
        let tables = offsets.map(|tables| tables.after(start));
        Ok(Arc::new(PlanTables { tables, _memory: memory }))
    })
}

#[cfg(all(test, feature = "simt"))]
mod tests {
    use num_bigint::BigUint;

    use super::*;
    use crate::backend::host::HostMemory;
    use crate::backend::long::plan::Primes;
    use crate::backend::simt::{Simt, SimtOptions};

    /// The product of two rows by transforms of a plan.
    fn multiply(plan: &Plan, a: &BigUint, b: &BigUint, limbs: u64, is_cyclic: bool) -> BigUint {
        let simt = Simt::new(SimtOptions::default());
        let memory = |value: &BigUint| {
            let mut bytes = value.to_bytes_le();
            bytes.resize(4 * limbs as usize, 0);
            simt.allocate_copy(&bytes).unwrap()
        };
        let [mut x, mut y] = [a, b].map(memory);
        let factors = [&mut x, &mut y].map(|memory| simt.address(memory).unwrap());
        let count = if is_cyclic { limbs } else { 2 * limbs };
        let mut out = HostMemory::unspecified(4 * count).unwrap();
        let parts = [(simt.address(&mut out).unwrap(), count), (0, 0)];
        let product = Product { factors, limbs, parts, is_cyclic, kept: None };
        // SAFETY: the factors and the result have one row.
        unsafe { product.queue_by(&simt, plan, 1) }.unwrap();
        let result = BigUint::from_bytes_le(out.as_bytes());
        let mut kept = HostMemory::unspecified(residues_bytes(plan.points())).unwrap();
        let address = simt.address(&mut kept).unwrap();
        out.as_bytes_mut().fill(0);
        // SAFETY: the factor has one row, and there is room for its transforms.
        unsafe { queue_transforms(&simt, plan, factors[1], limbs, address, 1) }.unwrap();
        let product = Product { kept: Some(Kept { address, rows: 1 }), ..product };
        // SAFETY: as above, with the transforms of the second factor.
        unsafe { product.queue_by(&simt, plan, 1) }.unwrap();
        assert!(BigUint::from_bytes_le(out.as_bytes()) == result);
        result
    }

    /// The largest columns of a plan of few points, and a sparse factor.
    #[test]
    fn large_primes_multiply_like_small_ones() {
        let plan = Plan { primes: Primes::Large, levels: &[8, 8] };
        let limbs = plan.points();
        let ones = (BigUint::from(1u32) << (32 * limbs)) - 1u32;
        // -(2^32 - 1) modulo 2^(32 limbs) - 1: all limbs but the lowest are ones.
        let most = &ones - u32::MAX;
        let square = BigUint::from(u32::MAX) * u32::MAX;
        assert!(multiply(&plan, &most, &most, limbs, true) == square);
        let half = limbs / 2;
        let low = &ones >> (32 * half);
        let sparse = (BigUint::from(3u32) << (32 * half - 2)) + 5u32;
        assert!(multiply(&plan, &low, &sparse, half, false) == &low * &sparse);
        assert!(multiply(&plan, &low, &low, half, false) == &low * &low);
    }
}
