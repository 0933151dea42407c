//! The shape of a tree: pairs of nodes, by the lengths of the rows.
//!
//! Rows are sorted by length and packed into parts, which hold the bits of their rows and the guard
//! in 2^16 bits: rows of 2048 bits are 31 to a part, so that no width above needs more for the
//! guard (3 % of the rows). Up to 16 parts, a run is cut at a power of two, where every GPU has
//! kernels; longer ones are cut in the middle, in multiples of 16 parts or 2^20 bits. Within a
//! part, and among rows that are longer than one, a run is cut at half of its bits.
//!
//! A level holds nodes of similar length, and children are in lower levels. Rows of very different
//! lengths thus share no level: no row pays for the longest one.

use rayon::prelude::*;
use tracing::debug_span;

use crate::backend::host::{collected, reserved_vec};
use crate::error::Result;
use crate::threads;

/// Guard bits that the cuts leave room for: enough for a height of 61.
const PLANNED_GUARD: u64 = 7;
/// Bits of the rows of a part, unless it is one row.
const PART: u64 = (1 << 16) - PLANNED_GUARD;
/// Parts that are cut at powers of two.
const WIDE: usize = 16;

/// A node: a row of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) level: usize,
    pub(super) row: usize,
}

/// Left or right children of a level that are in one level below.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Children {
    /// Level of the children.
    pub(super) level: usize,
    /// Indices of their parents, in ascending order.
    pub(super) nodes: Vec<usize>,
    /// Their rows.
    pub(super) rows: Vec<usize>,
}

/// Nodes with children, of similar length.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) nodes: Vec<[Place; 2]>,
    /// Left and right children, by their levels.
    pub(super) sides: [Vec<Children>; 2],
    /// Bits of the longest node, at most: the sum of the lengths of its rows.
    pub(super) bits: u64,
}

/// The nodes of a tree over at least one row. Level 0 is the rows.
#[derive(Debug)]
pub(super) struct Layout {
    /// The levels from 1 on: children are in levels below.
    pub(super) levels: Vec<Level>,
    /// Bits of the longest row, at least 1.
    pub(super) longest: u64,
    /// Guard bits of the fractions.
    pub(super) guard: u64,
}

/// A node whose level is not known yet.
#[derive(Clone, Copy, Default)]
struct Node {
    children: [usize; 2],
    bits: u64,
    key: Key,
}

/// Order of the levels: children have lower keys. The first number is half the logarithm of the
/// length, so that nodes of a level differ in length by a factor of 4 at most; the second is the
/// height among nodes of this class.
type Key = (u32, u32);

/// Rows of a run that halves on several threads.
const PARALLEL: usize = 1 << 12;

/// The topmost node of a run.
struct Top {
    /// Its index: below the number of rows it is a row, else a node.
    index: usize,
    /// `None` for a row.
    key: Option<Key>,
    /// Nodes above the deepest row.
    height: u64,
}

/// Makes the nodes above rows.
struct Builder<'a> {
    /// Rows in ascending order of their lengths.
    order: &'a [usize],
    /// Bits of the rows before each one of `order`.
    before: &'a [u64],
    /// Start of each part but the first.
    parts: &'a [usize],
}

impl Layout {
    /// Pairs rows of these lengths in bits, of which there is at least one.
    pub(super) fn new(lengths: &[u64]) -> Result<Self> {
        let _span = debug_span!("layout", rows = lengths.len()).entered();
        let count = lengths.len();
        // A row of zero has no use for bits, but its node has a width.
        let length = |row: usize| lengths[row].max(1);
        let mut order = collected(0..count)?;
        // A stable sort would allocate.
        threads::install(|| order.par_sort_unstable_by_key(|&row| (length(row), row)));
        let mut before = collected((0..=count).map(|_| 0))?;
        for (index, &row) in order.iter().enumerate() {
            before[index + 1] = before[index] + length(row);
        }
        let mut parts = reserved_vec(count)?;
        let mut part = 0;
        for index in 1..count {
            if before[index + 1] - before[part] > PART {
                part = index;
                parts.push(part);
            }
        }
        // Recursion allocates nothing: there is a node less than rows.
        let mut nodes = collected((1..count).map(|_| Node::default()))?;
        let builder = Builder { order: &order, before: &before, parts: &parts };
        let depth = threads::install(|| builder.pair(&mut nodes, 0, 0, count)).height;
        // Numbers of nodes by class and height, then their levels.
        let mut levels: Vec<Vec<usize>> = Vec::new();
        for &Node { key: (class, height), .. } in &nodes {
            let (class, height) = (class as usize, height as usize);
            levels.resize_with(levels.len().max(class + 1), Vec::new);
            let heights = &mut levels[class];
            heights.resize(heights.len().max(height + 1), 0);
            heights[height] += 1;
        }
        let mut built = Vec::new();
        for level in levels.iter_mut().flatten().filter(|level| **level > 0) {
            built.push(Level { nodes: reserved_vec(*level)?, sides: [vec![], vec![]], bits: 0 });
            *level = built.len();
        }
        let mut places = reserved_vec(nodes.len())?;
        for Node { children, bits, key: (class, height) } in &nodes {
            let level = levels[*class as usize][*height as usize];
            let place = |child: usize| match child.checked_sub(count) {
                Some(node) => places[node],
                None => Place { level: 0, row: child },
            };
            let children = children.map(place);
            let Level { nodes, bits: longest, .. } = &mut built[level - 1];
            places.push(Place { level, row: nodes.len() });
            nodes.push(children);
            *longest = (*longest).max(*bits);
        }
        threads::install(|| {
            built.par_iter_mut().enumerate().try_for_each(|(below, level)| {
                let Level { nodes, sides, .. } = level;
                sides.par_iter_mut().enumerate().try_for_each(|(side, children)| {
                    *children = children_by_level(nodes, side, below + 1)?;
                    Ok(())
                })
            })
        })?;
        let longest = order.last().map_or(1, |&row| length(row));
        Ok(Self { levels: built, longest, guard: guard(depth) })
    }

    /// Bits of a fraction of a level, at least.
    pub(super) fn fraction_bits(&self, level: usize) -> u64 {
        let bits = level.checked_sub(1).map_or(self.longest, |above| self.levels[above].bits);
        bits + self.guard
    }

    /// Bits of a fraction of the root, at least.
    pub(super) fn root_bits(&self) -> u64 {
        self.fraction_bits(self.levels.len())
    }

    /// Number of nodes of a level; `rows` of the level 0.
    pub(super) fn count(&self, level: usize, rows: usize) -> usize {
        level.checked_sub(1).map_or(rows, |above| self.levels[above].nodes.len())
    }
}

/// Groups the left or right children of nodes by their levels, of which there are `levels`.
fn children_by_level(nodes: &[[Place; 2]], side: usize, levels: usize) -> Result<Vec<Children>> {
    let mut counts = vec![0; levels];
    nodes.iter().for_each(|children| counts[children[side].level] += 1);
    let mut found = Vec::new();
    for (level, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
        let (mut parents, mut rows) = (reserved_vec(count)?, reserved_vec(count)?);
        for (node, children) in nodes.iter().enumerate() {
            let child = children[side];
            if child.level == level {
                parents.push(node);
                rows.push(child.row);
            }
        }
        found.push(Children { level, nodes: parents, rows });
    }
    Ok(found)
}

/// Returns the least `g` with `2^g >= 2 (h + 3)` for a tree of height `h`, and at least the planned
/// one.
fn guard(height: u64) -> u64 {
    let least = (2 * (height + 3)).next_power_of_two().trailing_zeros();
    u64::from(least).max(PLANNED_GUARD)
}

impl Builder<'_> {
    /// Makes the nodes over a run of the sorted rows, children first; returns the topmost one.
    /// A run has a node less than rows, and there are `before` nodes of other runs before them.
    fn pair(&self, nodes: &mut [Node], before: usize, first: usize, end: usize) -> Top {
        if end - first == 1 {
            return Top { index: self.order[first], key: None, height: 0 };
        }
        let cut = self.cut(first, end);
        let (left, rest) = nodes.split_at_mut(cut - first - 1);
        let (right, own) = rest.split_at_mut(end - cut - 1);
        let before_right = before + left.len();
        let mut left = || self.pair(left, before, first, cut);
        let mut right = || self.pair(right, before_right, cut, end);
        let children = match end - first >= PARALLEL {
            true => rayon::join(left, right).into(),
            false => [left(), right()],
        };
        let bits = self.before[end] - self.before[first];
        let class = bits.ilog2() / 2;
        let above = |child: &Top| match child.key {
            Some((below, height)) if below == class => height + 1,
            _ => 0,
        };
        let key = (class, children.iter().map(above).max().unwrap_or(0));
        let height = 1 + children.iter().map(|child| child.height).max().unwrap_or(0);
        own[0] = Node { children: children.map(|child| child.index), bits, key };
        Top { index: self.order.len() + before + end - first - 2, key: Some(key), height }
    }

    /// Returns where the right child of a run of at least two rows begins.
    fn cut(&self, first: usize, end: usize) -> usize {
        if end - first == 2 {
            return first + 1;
        }
        let after = &self.parts[self.parts.partition_point(|&part| part <= first)..];
        // Most runs are within a part.
        let inner = match after.first() {
            Some(&part) if part < end => &after[..after.partition_point(|&part| part < end)],
            _ => &[],
        };
        let is_long = self.before[end] - self.before[end - 1] > PART;
        if !is_long && !inner.is_empty() {
            let parts = inner.len() + 1;
            let left = match parts {
                ..=WIDE => 1 << (parts - 1).ilog2(),
                _ => WIDE * parts.div_ceil(WIDE).div_ceil(2),
            };
            return inner[left - 1];
        }
        let half = self.before[first] + (self.before[end] - self.before[first]) / 2;
        let fitting = self.before[first + 1..end].partition_point(|&before| before <= half);
        (first + fitting).clamp(first + 1, end - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that every row is in the tree once, and that levels hold their nodes.
    fn check(lengths: &[u64]) -> Layout {
        let layout = Layout::new(lengths).unwrap();
        let mut bits: Vec<Vec<u64>> = vec![lengths.iter().map(|&bits| bits.max(1)).collect()];
        let mut depths = vec![vec![0; lengths.len()]];
        for (index, level) in layout.levels.iter().enumerate() {
            for child in level.nodes.as_flattened() {
                assert!(child.level <= index && child.row < bits[child.level].len());
            }
            let sum = |[left, right]: &[Place; 2]| {
                let [left, right] = [left, right]
                    .map(|child| std::mem::replace(&mut bits[child.level][child.row], 0));
                assert!(left > 0 && right > 0, "a child is in two nodes");
                left + right
            };
            let sums: Vec<u64> = level.nodes.iter().map(sum).collect();
            assert!(sums.iter().all(|&sum| sum <= level.bits && 4 * sum > level.bits));
            let depth = |[left, right]: &[Place; 2]| {
                1 + [left, right]
                    .map(|child| depths[child.level][child.row])
                    .into_iter()
                    .max()
                    .unwrap()
            };
            depths.push(level.nodes.iter().map(depth).collect());
            bits.push(sums);
        }
        // The root is the one node of the highest level.
        let root = Place { level: layout.levels.len(), row: 0 };
        assert_eq!(bits[root.level], [lengths.iter().map(|&bits| bits.max(1)).sum::<u64>()]);
        assert_eq!(bits.iter().flatten().filter(|&&bits| bits > 0).count(), 1);
        let height: u64 = depths[root.level][root.row];
        assert!(1u64 << layout.guard >= 2 * (height + 3));
        layout
    }

    #[test]
    fn layout_has_every_row_once() {
        for count in [1, 2, 3, 5, 6, 7, 8, 9, 31, 33, 1000, 4097] {
            check(&vec![2048; count]);
            check(&(0..count as u64).map(|row| row % 97).collect::<Vec<_>>());
            check(&(0..count as u64).map(|row| 1 << (row % 21)).collect::<Vec<_>>());
        }
        let mut mixed = vec![64; 3000];
        mixed.extend([20_000; 5]);
        let layout = check(&mixed);
        // Short rows share no level with long ones until they are as long.
        assert!(layout.levels[0].bits < 512);
    }

    #[test]
    fn parts_of_rows_fit_in_powers_of_two_with_their_guard() {
        let layout = check(&vec![2048; 10_000]);
        for level in (1..=layout.levels.len()).filter(|&level| layout.count(level, 0) > 8) {
            let bits = layout.fraction_bits(level);
            if (40_000..=1 << 20).contains(&bits) {
                let power = bits.next_power_of_two();
                assert!(power - bits < power / 16, "{bits} bits at level {level}");
            }
        }
        assert!(layout.levels.len() < 40, "{} levels", layout.levels.len());
    }

    #[test]
    fn guard_grows_with_the_height() {
        assert_eq!([0, 61, 62, 125, 126].map(guard), [7, 7, 8, 8, 9]);
    }
}
