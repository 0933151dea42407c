//! Events with the work of trees, for programs that show the progress of a call.
//!
//! Work is counted in products of a bit. A level of a tree over `B` bits of rows takes `B` for its
//! products, `2 B` for its sums of cofactors and `2 B` for its remainders. An event `planned` adds
//! to the work of a call, an event `done` tells that a part of it is queued or computed, and an
//! event `resumed` that a planned part of it is left out. Without a subscriber none is computed.

use std::ops::Range;

use num_bigint::BigUint;
use tracing::Level;

use super::layout::{self, Layout};

/// Target of the events.
const TARGET: &str = "gpuint::progress";

/// Products of a bit that one product takes in each level.
pub(super) const PRODUCTS: u64 = 1;
pub(super) const SUMS: u64 = 2;
pub(super) const REMAINDERS: u64 = 2;

/// Products for the reciprocal of a root and a fraction.
const ROOT: u64 = 12;
/// Products for a product modulo a root, and for one with the product of two parts.
const PRODUCT: u64 = 5;
const PAIR: u64 = 8;
/// Products for each piece of a long number.
const PIECE: u64 = 4;

/// Returns true if a subscriber takes the events.
fn is_shown() -> bool {
    tracing::enabled!(target: TARGET, Level::TRACE)
}

/// Returns the work of one product in each level of a tree over `rows` rows of `bits` bits in all.
fn of_levels(bits: u64, rows: usize) -> u64 {
    bits.saturating_mul(u64::from(rows.next_power_of_two().ilog2()))
}

/// Returns the work at the root of a tree over `bits` bits, for products with the roots of `others`
/// trees and with `numbers`.
fn of_root(bits: u64, others: usize, numbers: &[BigUint]) -> u64 {
    let pairs = others.saturating_sub(1) / 2;
    let products = (others - 2 * pairs + numbers.len()) as u64;
    let products = ROOT + PAIR * pairs as u64 + PRODUCT * products;
    let pieces = numbers.iter().map(BigUint::bits).sum::<u64>();
    bits.saturating_mul(products).saturating_add(pieces.saturating_mul(PIECE))
}

/// Plans `products` products in each level of a tree over `rows` rows of `bits` bits in all.
pub(super) fn plan_levels(bits: u64, rows: usize, products: u64) {
    if is_shown() {
        tracing::trace!(target: TARGET, planned = of_levels(bits, rows).saturating_mul(products));
    }
}

/// Plans the work at a root.
pub(super) fn plan_root(bits: u64, others: usize, numbers: &[BigUint]) {
    if is_shown() {
        tracing::trace!(target: TARGET, planned = of_root(bits, others, numbers));
    }
}

/// Returns the work of `products` products in a level. Levels share the work that was planned by
/// the bits of their nodes.
fn of_level(layout: &Layout, level: usize, products: u64) -> u64 {
    let of_level =
        |level: &layout::Level| u128::from(level.bits).saturating_mul(level.nodes.len() as u128);
    let all: u128 = layout.levels.iter().map(of_level).sum();
    let rows = layout.levels.iter().map(|level| level.nodes.len()).sum::<usize>() + 1;
    let bits = layout.levels.last().map_or(0, |level| level.bits);
    let planned = u128::from(of_levels(bits, rows).saturating_mul(products));
    let work = planned.saturating_mul(of_level(&layout.levels[level])) / all.max(1);
    u64::try_from(work).unwrap_or(u64::MAX)
}

/// Tells that `products` products of a level are done.
pub(super) fn level_done(layout: &Layout, level: usize, products: u64) {
    if is_shown() {
        tracing::trace!(target: TARGET, done = of_level(layout, level, products));
    }
}

/// Tells that `products` products of some levels are left out.
pub(super) fn levels_resumed(layout: &Layout, levels: Range<usize>, products: u64) {
    if is_shown() && products > 0 {
        let work: u64 = levels.map(|level| of_level(layout, level, products)).sum();
        tracing::trace!(target: TARGET, resumed = work);
    }
}

/// Tells that the work at a root is left out.
pub(super) fn root_resumed(bits: u64, others: usize, numbers: &[BigUint]) {
    if is_shown() {
        tracing::trace!(target: TARGET, resumed = of_root(bits, others, numbers));
    }
}

/// Tells that the work at a root is done.
pub(super) fn root_done(bits: u64, others: usize, numbers: &[BigUint]) {
    if is_shown() {
        tracing::trace!(target: TARGET, done = of_root(bits, others, numbers));
    }
}
