//! Remainders modulo all rows, by fractions down a tree (D. Bernstein, "Scaled remainder trees",
//! 2004, for the idea; the bounds are derived here).
//!
//! Let a node `N` have the children `L` and `R`, and `D` be a number modulo `N`. Then `D modulo L`
//! is known by the fraction
//!
//! ```text
//! (D mod L) / L = (D / N) R   modulo 1.
//! ```
//!
//! A level has rows of `F` bits, and `X` stands for the fraction `X / 2^F`. A step multiplies `X`
//! by the sibling modulo `2^F - 1`, and keeps the upper bits, as many as rows of the child have:
//! two wrapped products a level, where division takes twelve.
//!
//! # Bounds
//! Let `|n|` be a length in bits, `g` the guard and `f_N = |N| + g` with the sums of the lengths of
//! the rows for `|N|`, so that `f_N >= f_L + |R|`, and `F >= f_N` for all nodes of a level. The
//! error
//!
//! ```text
//! E_N = 2^f_N (D / N - X / 2^F)   modulo 2^f_N, as a signed number
//! ```
//!
//! is at the depth `j` below the root
//!
//! ```text
//! -j <= E < 3 + j   for products modulo 2^F - 1,     0 <= E < 3 + j   modulo 2^F.             (1)
//! ```
//!
//! Root (`root.rs`): with `v = |P|` and the reciprocal `Y` (`reciprocal.rs`), `X = floor(D Y /
//! 2^v)` for any `D < 2^v` is below `2^F D / P` by less than `2 D / 2^v + 1 < 3`. (A reciprocal of
//! a power of two is 1 less, and exact otherwise: its error is 1.) A reciprocal of a precision `p`
//! with `f_P <= p < F` has the same error in units of `2^-p`. Dropping `s > 0` lower bits of `X`
//! leaves `3 / 2^s + 1 < 3`.
//!
//! Step: let `X R = high 2^F + low`, where `high <= max(0, R - 1)`. The error of `X` grows by `R <=
//! 2^(f_N - f_L)` and is at most the same in units of `2^-f_L`. The wrapped product is `low + high
//! - s (2^F - 1)`, where `s` is 0 or 1, and 1 only with a positive `high`. Divided by `2^F` it
//!   exceeds the fraction modulo 1 by `(high + s) / 2^F < 2^(|R| - F) <= 2^-f_L`. Keeping upper
//!   bits loses less than `2^-f_L`. So a step adds a number in `(-1, 1)`, and one modulo `2^F` a
//!   number in `[0, 1)`.
//!
//! Row: `c = floor(n X / 2^F + 1/2)` is `D mod n`, or `n` instead of 0, if `2^g >= 2 (h + 3)` for a
//! tree of height `h`: `n X / 2^F` differs from `D mod n` by `|E| n 2^-f < (h + 3) 2^-g <= 1/2`.
//!
//! There is no condition on the rows but `n >= 1`.

use std::cmp::Ordering;

use gpuint_catalogue::Shape;

use super::layout::Layout;
use super::nodes::{Nodes, fitted, home, moved, tiled};
use super::products::{halves, times};
use super::progress::{self, level_done};
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::ops::wrapped::is_wrapped;

/// Returns nodes with the fractions of the root, one for each number.
pub(super) fn of_root(layout: &Layout, root: &DynBatch, device: &Device) -> Result<Nodes> {
    let top = layout.levels.len();
    let mut fractions = Nodes::new(root.len(), top + 1);
    let (home, shape) = home(device, layout.fraction_bits(top))?;
    fractions.levels[top] = Some(moved(scaled(root, shape)?, &home, shape)?);
    Ok(fractions)
}

/// Reduces the fractions of nodes of the levels up to `top` modulo all rows, number by number.
/// `products` are the nodes below that level, the rows at the level 0, in shapes of their
/// fractions. `passed(level, fractions)` is called with the highest level left after each one.
pub(super) fn remainders(
    layout: &Layout,
    products: &Nodes,
    mut fractions: Nodes,
    top: usize,
    device: &Device,
    mut passed: impl FnMut(usize, &Nodes) -> Result<()>,
) -> Result<DynBatch> {
    for level in (1..=top).rev() {
        step(layout, products, &mut fractions, level, device)?;
        level_done(layout, level - 1, progress::REMAINDERS * fractions.numbers as u64);
        passed(level - 1, &fractions)?;
    }
    of_rows(&fractions.take(0)?, products.level(0)?)
}

/// Replaces the fractions of a level by those of its children.
fn step(
    layout: &Layout,
    products: &Nodes,
    fractions: &mut Nodes,
    level: usize,
    device: &Device,
) -> Result<()> {
    let x = fractions.take(level)?;
    let (here, shape, numbers) = (x.device().clone(), x.shape(), fractions.numbers);
    let (nodes, rows) = (&layout.levels[level - 1], products.level(0)?.len());
    let sibling = |side: usize| {
        let sibling = products.children(nodes, 1 - side, &here, shape)?;
        if numbers == 1 { Ok(sibling) } else { tiled(&sibling, numbers) }
    };
    // Both products of a node in one batch: a level of few nodes has work for more threads.
    let siblings = DynBatch::concat(&[&sibling(0)?, &sibling(1)?])?;
    let count = x.len();
    let x = DynBatch::concat(&[&x, &x])?;
    let z = if is_wrapped(&here, shape) {
        x.cyclic_mul(&siblings)?
    } else {
        x.wrapping_mul(&siblings)?
    };
    drop((x, siblings));
    let child = |level: usize| {
        let (device, shape) = home(device, layout.fraction_bits(level))?;
        Ok((device, shape, layout.count(level, rows)))
    };
    for side in 0..2 {
        let z = z.slice(side * count..(side + 1) * count)?;
        fractions.set_children(nodes, side, &z, child, scaled)?;
    }
    Ok(())
}

/// Returns fractions in rows of another width: their upper bits, or zeros below.
fn scaled(x: &DynBatch, shape: Shape) -> Result<DynBatch> {
    let (from, to) = (x.shape().bits, shape.bits);
    match from.cmp(&to) {
        Ordering::Equal => fitted(x.try_clone()?, shape),
        Ordering::Greater => fitted(x.shr(from - to)?, shape),
        Ordering::Less => x.view().truncated(shape)?.shl(to - from),
    }
}

/// Returns the remainders of which rows have these fractions.
fn of_rows(x: &DynBatch, rows: &DynBatch) -> Result<DynBatch> {
    let numbers = x.len() / rows.len().max(1);
    let rows = if numbers == 1 { rows.try_clone()? } else { tiled(rows, numbers)? };
    let (low, high) = halves(&rows, x)?;
    let is_above = low.bit_mask(x.shape().bits - 1)?;
    drop(low);
    let rounded = high.wrapping_add_all(1)?.select(&is_above, &high)?;
    let zero = DynBatch::zeros(rows.device(), rows.shape(), rows.len())?;
    zero.select(&rounded.eq_mask(&rows)?, &rounded)
}

/// Computes up the tree, for values `y` below the rows, `y(L) R + y(R) L` modulo each node. With
/// the inverses of cofactors times residues it is the number of these residues; for `y = 1` it is
/// the sum of all cofactors `N / n`, which is `P / n` modulo each row `n`, because `n` divides the
/// others.
///
/// Each `y` is below its node, so that the sum is below twice the node: one subtraction reduces it,
/// if `is_reduced` is set. Sums that are below their nodes need none.
///
/// `sums` are the values of the rows and of the `first` lowest levels above them, as far as levels
/// above use them. `passed(level, sums)` is called before each further level, with the number of
/// levels below it.
pub(super) fn combined(
    layout: &Layout,
    products: &Nodes,
    mut sums: Nodes,
    first: usize,
    is_reduced: bool,
    mut passed: impl FnMut(usize, &Nodes) -> Result<()>,
) -> Result<DynBatch> {
    let numbers = sums.numbers;
    let mut last_use = vec![0; sums.levels.len()];
    for (index, level) in layout.levels.iter().enumerate() {
        level.nodes.as_flattened().iter().for_each(|child| last_use[child.level] = index + 1);
    }
    for (index, level) in layout.levels.iter().enumerate().skip(first) {
        if index > first {
            passed(index, &sums)?;
        }
        let nodes = products.level(index + 1)?;
        let (device, shape) = (nodes.device(), nodes.shape());
        let sum = |side| sums.children(level, side, device, shape);
        let node = |side| {
            let node = products.children(level, side, device, shape)?;
            if numbers == 1 { Ok(node) } else { tiled(&node, numbers) }
        };
        let factors = DynBatch::concat(&[&sum(0)?, &sum(1)?])?;
        let products = times(&factors, &DynBatch::concat(&[&node(1)?, &node(0)?])?)?;
        drop(factors);
        let count = products.len() / 2;
        let sum = products.slice(0..count)?.wrapping_add(&products.slice(count..2 * count)?)?;
        drop(products);
        level_done(layout, index, progress::SUMS * numbers as u64);
        last_use.iter().zip(&mut sums.levels).for_each(|(&last, slot)| {
            if last == index + 1 {
                *slot = None;
            }
        });
        if !is_reduced {
            sums.levels[index + 1] = Some(sum);
            continue;
        }
        let tiles = if numbers == 1 { None } else { Some(tiled(nodes, numbers)?) };
        let (difference, borrow) = sum.overflowing_sub(tiles.as_ref().unwrap_or(nodes))?;
        sums.levels[index + 1] = Some(sum.select(&borrow, &difference)?);
    }
    sums.take(layout.levels.len())
}

#[cfg(test)]
mod tests {
    use num_bigint::{BigInt, BigUint};
    use num_traits::One;

    use super::*;
    use crate::ops::tree::layout::Place;
    use crate::ops::tree::nonempty::Tree;

    /// Checks the bound (1) at every node of a tree. Returns 16 times the highest error.
    fn check(values: &[BigUint], device: &Device) -> BigInt {
        let batch = DynBatch::fitting(device, values).unwrap();
        let lengths: Vec<u64> = values.iter().map(BigUint::bits).collect();
        let tree = Tree::new(&batch, &lengths).unwrap();
        let (layout, products) = (&tree.layout, &tree.products);
        let root = tree.root().unwrap();
        let product = root.row(0).unwrap();
        let number = &product - 1u32;
        let numbers = DynBatch::splat(root.device(), root.shape(), &number, 1).unwrap();
        let mut fractions = Nodes::new(1, layout.levels.len() + 1);
        let last = layout.levels.len();
        let root = tree.prepared_root().unwrap();
        fractions.levels[last] = Some(root.fractions(&root.residues(numbers).unwrap()).unwrap());
        let mut depths: Vec<Vec<u32>> =
            (0..=last).map(|level| vec![0; layout.count(level, values.len())]).collect();
        let mut lengths: Vec<Vec<u64>> = vec![values.iter().map(BigUint::bits).collect()];
        for level in &layout.levels {
            let sum = |nodes: &[_; 2]| {
                let length = |child: &Place| lengths[child.level][child.row];
                nodes.iter().map(length).sum()
            };
            lengths.push(level.nodes.iter().map(sum).collect());
        }
        let mut highest = BigInt::ZERO;
        for level in (0..=last).rev() {
            let nodes = products.level(level).unwrap().to_biguints().unwrap();
            let width = fractions.level(level).unwrap().shape().bits;
            let xs = fractions.level(level).unwrap().to_biguints().unwrap();
            for (row, (node, x)) in nodes.iter().zip(&xs).enumerate() {
                let f = lengths[level][row] + layout.guard;
                assert!(f <= width as u64);
                // E 2^(F - f) N = 2^F D - X N, modulo 2^F N.
                let modulus = BigInt::from(node << width);
                let rest = BigInt::from((&number % node) << width) - BigInt::from(x * node);
                let rest = ((rest % &modulus) + &modulus) % &modulus;
                let rest = if &rest << 1 > modulus { rest - &modulus } else { rest };
                let unit = BigInt::from(node << (width as u64 - f));
                let depth = depths[level][row];
                assert!(rest >= &unit * -i64::from(depth), "depth {depth} at level {level}");
                assert!(rest < &unit * (3 + i64::from(depth)), "depth {depth} at level {level}");
                let error = rest * 16 / unit;
                highest = highest.max(error);
            }
            if level > 0 {
                for (row, children) in layout.levels[level - 1].nodes.iter().enumerate() {
                    for child in children {
                        depths[child.level][child.row] = depths[level][row] + 1;
                    }
                }
                step(layout, products, &mut fractions, level, device).unwrap();
            }
        }
        highest
    }

    #[test]
    fn errors_of_fractions_are_within_the_bound_at_every_node() {
        let device = Device::cpu();
        let one = BigUint::one;
        let mut highest = BigInt::ZERO;
        for count in [1usize, 2, 3, 7, 33, 70] {
            for bits in [1u32, 2, 17, 249] {
                let ones = vec![(one() << bits) - 1u32; count];
                let powers = vec![one() << (bits - 1); count];
                let mixed: Vec<_> =
                    (0..count as u32).map(|i| (one() << (bits + i % 9)) - 1u32 - i % 2).collect();
                for values in [ones, powers, mixed] {
                    let values: Vec<_> = values.into_iter().map(|v| v.max(one())).collect();
                    highest = highest.max(check(&values, &device));
                }
            }
        }
        // Rows of 249 bits and the guard fill their width, so that errors are seen.
        assert!(highest >= BigInt::one(), "no error is seen");
        // Rows of 31 whole parts, and beyond.
        check(&vec![(one() << 2048) - 1u32; 65], &device);
    }
}
