//! Products of the rows of each group modulo one number.
//!
//! A step multiplies neighbours of each group, in all groups at once. A group of `L` rows is left
//! with `ceil(L / 2)`: all groups take `ceil(log2 L)` steps of the longest one, and `rows - groups`
//! products. A group that is down to one row leaves the steps. The host computes indices only.

use gpuint::{DynBatch, DynDivisor};

use crate::error::{Error, Result};

/// A group that has not left the steps.
struct Group {
    number: usize,
    /// Indices of its factors.
    rows: Vec<usize>,
}

/// Computes the product of the rows of each of `groups` groups. Row `i` is in group `group[i]`, and
/// the product of no rows is 1.
pub(crate) fn products(
    rows: &DynBatch,
    group: &[usize],
    groups: usize,
    divisor: &DynDivisor,
) -> Result<DynBatch> {
    if let Some(row) = group.iter().position(|&group| group >= groups) {
        return Err(Error::NoSuchGroup { row, group: group[row], groups });
    }
    let mut products = DynBatch::splat(rows.device(), rows.shape(), 1, groups)?;
    let mut order: Vec<usize> = (0..group.len()).collect();
    order.sort_by_key(|&row| group[row]);
    let mut active: Vec<Group> = order
        .chunk_by(|&a, &b| group[a] == group[b])
        .map(|rows| Group { number: group[rows[0]], rows: rows.to_vec() })
        .collect();
    let mut level: Option<DynBatch> = None;
    while !active.is_empty() {
        let current = level.as_ref().unwrap_or(rows);
        let (done, mut others): (Vec<_>, Vec<_>) =
            active.into_iter().partition(|group| group.rows.len() == 1);
        if !done.is_empty() {
            let from: Vec<usize> = done.iter().map(|group| group.rows[0]).collect();
            let to: Vec<usize> = done.iter().map(|group| group.number).collect();
            current.gather(&from)?.scatter_into(&to, &mut products)?;
        }
        if !others.is_empty() {
            level = Some(step(current, &mut others, divisor)?);
        }
        active = others;
    }
    Ok(products)
}

/// Multiplies the factors of each group in pairs. A factor without a partner is copied.
fn step(current: &DynBatch, groups: &mut [Group], divisor: &DynDivisor) -> Result<DynBatch> {
    let (mut left, mut right, mut single) = (Vec::new(), Vec::new(), Vec::new());
    for group in groups.iter() {
        let pairs = group.rows.chunks_exact(2);
        single.extend_from_slice(pairs.remainder());
        for pair in pairs {
            left.push(pair[0]);
            right.push(pair[1]);
        }
    }
    let (mut next, mut next_single) = (0, left.len());
    for group in groups {
        let pairs = group.rows.len() / 2;
        let is_odd = group.rows.len() % 2 == 1;
        group.rows.clear();
        group.rows.extend(next..next + pairs);
        next += pairs;
        if is_odd {
            group.rows.push(next_single);
            next_single += 1;
        }
    }
    let products = current.gather(&left)?.mul_mod(&current.gather(&right)?, divisor)?;
    if single.is_empty() {
        return Ok(products);
    }
    Ok(DynBatch::concat(&[&products, &current.gather(&single)?])?)
}
