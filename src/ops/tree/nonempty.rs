//! The tree over at least one row.

use std::sync::Arc;

use tracing::debug_span;

use super::fractions;
use super::layout::Layout;
use super::nodes::{Nodes, home, moved};
use super::products::times;
use super::progress::{self, level_done};
use super::root::Root;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::Result;

/// The nodes of a tree over at least one row.
pub(super) struct Tree {
    pub(super) layout: Arc<Layout>,
    /// The rows, and the products of the levels above, in shapes of their fractions.
    pub(super) products: Nodes,
    /// Number of rows.
    rows: usize,
    /// Length of the shortest row.
    shortest: u64,
}

impl Tree {
    /// Computes the tree over rows of these lengths in bits.
    pub(super) fn new(rows: &DynBatch, lengths: &[u64]) -> Result<Self> {
        let layout = Layout::new(lengths)?;
        let levels = layout.levels.len();
        Self::over(rows, lengths, layout.into(), levels)
    }

    /// Computes the lowest `levels` levels above rows of these lengths in bits, with their layout.
    pub(super) fn over(
        rows: &DynBatch,
        lengths: &[u64],
        layout: Arc<Layout>,
        levels: usize,
    ) -> Result<Self> {
        let _span = debug_span!("products", rows = rows.len()).entered();
        let mut products = Nodes::new(1, layout.levels.len() + 1);
        let (device, shape) = home(rows.device(), layout.fraction_bits(0))?;
        products.levels[0] = Some(moved(rows.try_clone()?, &device, shape)?);
        for (index, level) in layout.levels.iter().enumerate().take(levels) {
            let (device, shape) = home(rows.device(), layout.fraction_bits(index + 1))?;
            let child = |side| products.children(level, side, &device, shape);
            let nodes = times(&child(0)?, &child(1)?)?;
            products.levels[index + 1] = Some(nodes);
            level_done(&layout, index, progress::PRODUCTS);
        }
        let shortest = lengths.iter().copied().min().unwrap_or(0);
        Ok(Self { layout, products, rows: rows.len(), shortest })
    }

    /// The product of all rows.
    pub(super) fn root(&self) -> Result<&DynBatch> {
        self.products.level(self.layout.levels.len())
    }

    /// Computes the length of the root. Waits for the device.
    pub(super) fn length(&self) -> Result<u64> {
        Ok(self.root()?.bit_lengths()?[0])
    }

    /// Sum of the lengths of the rows.
    pub(super) fn bits(&self) -> u64 {
        self.layout.levels.last().map_or(self.layout.longest, |top| top.bits)
    }

    /// Prepares the root for products modulo it.
    pub(super) fn prepared_root(&self) -> Result<Root> {
        Root::new(self.root()?, self.length()?, self.fraction_bits())
    }

    /// Bits of a fraction of the root.
    pub(super) fn fraction_bits(&self) -> u64 {
        self.layout.root_bits()
    }

    /// Computes the sum of all cofactors, which is below the root or equal to it.
    pub(super) fn cofactor_sum(&self) -> Result<DynBatch> {
        let sums = self.cofactors_of_rows()?;
        self.cofactor_sum_from(sums, 0, |_, _| Ok(()))
    }

    /// Returns the cofactors of the nodes that are rows.
    pub(super) fn cofactors_of_rows(&self) -> Result<Nodes> {
        let rows = self.products.level(0)?;
        let zero = DynBatch::zeros(rows.device(), rows.shape(), self.rows)?;
        let mut sums = Nodes::new(1, self.layout.levels.len() + 1);
        sums.levels[0] = Some(zero.select(&rows.eq_mask_all(1)?, &zero.with_bit(0)?)?);
        Ok(sums)
    }

    /// Computes the sum of all cofactors from the sums below the level after the `first` lowest
    /// ones above the rows. `passed(level, sums)` is called before each further level.
    pub(super) fn cofactor_sum_from(
        &self,
        sums: Nodes,
        first: usize,
        passed: impl FnMut(usize, &Nodes) -> Result<()>,
    ) -> Result<DynBatch> {
        let _span = debug_span!("cofactor_sum", rows = self.rows).entered();
        // The sum of 1 / n is below 1: cofactors of each node sum to less than it.
        let is_short =
            self.shortest <= u64::from(usize::BITS) && self.rows >> (self.shortest - 1) > 0;
        fractions::combined(&self.layout, &self.products, sums, first, is_short, passed)
    }

    /// Reduces the numbers with these fractions of the root modulo all rows, number by number.
    pub(super) fn descend(&self, fractions: &DynBatch, device: &Device) -> Result<DynBatch> {
        let fractions = fractions::of_root(&self.layout, fractions, device)?;
        self.descend_from(fractions, self.layout.levels.len(), device, |_, _| Ok(()))
    }

    /// Reduces the numbers with these fractions of nodes of the `top` lowest levels above the rows
    /// modulo all rows. `passed(level, fractions)` is called with the number of levels left after
    /// each of them.
    pub(super) fn descend_from(
        &self,
        fractions: Nodes,
        top: usize,
        device: &Device,
        passed: impl FnMut(usize, &Nodes) -> Result<()>,
    ) -> Result<DynBatch> {
        let _span = debug_span!("remainders", rows = self.rows).entered();
        fractions::remainders(&self.layout, &self.products, fractions, top, device, passed)
    }
}
