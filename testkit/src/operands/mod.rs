//! Generator of all operands: structured, seeded, and the same on every machine.
//!
//! Uniform operands find almost none of the known defects of big-integer code. Carries over many
//! digits, extreme quotient digits and lengths at a boundary have probability 2^-word or less. So a
//! row is drawn from a named *family*. Most families build their operands from runs of ones and
//! zeros, powers of two and extreme digits, whose lengths are swept over the whole range
//! independently of each other.
//!
//! Row `i` of a list is a function of (seed, list, shape, `i`) alone. A failure names these, so
//! that the row can be drawn again. `num-bigint` adds, subtracts, multiplies, shifts and compares
//! here, but never divides.

use gpuint::num_bigint::BigUint;

use crate::random::Random;

mod arithmetic;
mod divisions;
mod draw;
mod family;
mod numbers;
mod products;
mod sums;

pub use arithmetic::{low, ones, power};
pub use divisions::{DIVISIONS, EXACT, INVERSES};
pub use draw::{Draw, Sizes};
pub use family::{FULL_WIDTH, Family};
pub use numbers::{EUCLID, FRACTIONS, POWERS, ROOTS};
pub use products::PRODUCTS;
pub use sums::SUMS;

/// One row of a list.
#[derive(Debug, Clone)]
pub struct Row {
    /// Index in the list.
    pub index: usize,
    pub a: BigUint,
    pub b: BigUint,
    family: &'static str,
    kinds: Vec<&'static str>,
}

impl Row {
    /// The family, with the kinds of its values.
    pub fn family(&self) -> String {
        match &self.kinds[..] {
            [] => self.family.to_owned(),
            kinds => format!("{} [{}]", self.family, kinds.join(", ")),
        }
    }
}

/// A row that is given, not drawn.
pub fn row(family: &'static str, index: usize, a: BigUint, b: BigUint) -> Row {
    Row { index, a, b, family, kinds: Vec::new() }
}

/// Returns these rows of the list of some families.
pub fn rows(
    seed: u64,
    families: &[Family],
    sizes: Sizes,
    range: impl IntoIterator<Item = usize>,
) -> Vec<Row> {
    let bases = bases(sizes);
    range
        .into_iter()
        .map(|index| {
            let (family, draw) = families[index % families.len()];
            let turn = index / families.len();
            let random = random(seed, family, sizes, index);
            let (base, note) = bases[turn % bases.len()];
            let mut drawing = Draw {
                random,
                sizes: Sizes { word: base, ..sizes },
                turn: turn / bases.len(),
                kinds: note.into_iter().collect(),
            };
            let [a, b] = draw(&mut drawing);
            assert!(
                a.bits().max(b.bits()) <= sizes.bits as u64,
                "family \"{family}\" at row {index} is too wide for {sizes:?}"
            );
            Row { index, a, b, family, kinds: drawing.kinds }
        })
        .collect()
}

/// Bases of rows, in turn: the base of the digits, and the base of four machine words of the
/// multiplier (16 bits for 16-bit digits, else 32), in which the kernels work.
fn bases(sizes: Sizes) -> Vec<(usize, Option<&'static str>)> {
    let four_limbs = 4 * sizes.word.min(32);
    let mut bases = vec![(sizes.word, None)];
    if four_limbs <= sizes.bits / 2 {
        bases.push((four_limbs, Some("base of four limbs")));
    }
    bases
}

/// Generator of one row: all lists, shapes and rows have different ones.
fn random(seed: u64, family: &str, sizes: Sizes, index: usize) -> Random {
    let mut random = Random::new(seed);
    let name = family.bytes().fold(0u64, |name, byte| name.wrapping_mul(257) + u64::from(byte));
    for part in [name, sizes.bits as u64, sizes.word as u64, sizes.q as u64, index as u64] {
        random = Random::new(random.word() ^ part);
    }
    random
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::draw::KINDS;
    use super::*;

    const SIZES: [Sizes; 4] = [
        Sizes { bits: 64, word: 64, q: 1 },
        Sizes { bits: 192, word: 16, q: 3 },
        Sizes { bits: 512, word: 32, q: 2 },
        Sizes { bits: 1024, word: 64, q: 4 },
    ];

    fn draw(sizes: Sizes, turn: usize) -> Draw {
        Draw { random: Random::new(turn as u64), sizes, turn, kinds: Vec::new() }
    }

    #[test]
    fn values_of_every_kind_fit_and_most_are_as_long_as_asked() {
        let (mut values, mut long) = (0, 0);
        for sizes in SIZES {
            for bits in 1..=sizes.bits {
                for &kind in KINDS {
                    let (name, _) = kind;
                    let length = draw(sizes, bits).value_of_kind(bits, kind).bits();
                    assert!(length <= bits as u64, "{name}: {length} of {bits} bits");
                    values += 1;
                    long += usize::from(length == bits as u64);
                }
            }
        }
        assert!(long * 4 > values * 3, "{long} of {values}");
    }

    #[test]
    fn rows_fit_and_are_the_same_every_time() {
        for families in [DIVISIONS, EXACT, PRODUCTS, SUMS, INVERSES] {
            for sizes in SIZES {
                let once = rows(7, families, sizes, 0..2000);
                let again = rows(7, families, sizes, (0..2000).rev());
                let other = rows(8, families, sizes, 0..2000);
                let values = |row: &Row| (row.a.clone(), row.b.clone());
                assert!(once.iter().map(values).eq(again.iter().rev().map(values)));
                assert!(once.iter().map(values).ne(other.iter().map(values)));
            }
        }
    }

    #[test]
    fn every_pair_of_lengths_is_swept() {
        let sizes = Sizes { bits: 512, word: 32, q: 1 };
        let pairs: BTreeSet<_> = (0..256).map(|turn| draw(sizes, turn).digit_counts()).collect();
        assert_eq!(pairs.len(), 256);
        let lengths: BTreeSet<_> = rows(1, DIVISIONS, sizes, 0..60_000)
            .iter()
            .map(|row| (row.a.bits().div_ceil(32), row.b.bits().div_ceil(32)))
            .collect();
        assert_eq!(lengths.len(), 17 * 17, "0 to 16 digits each");
    }

    /// The rows on which the published algorithm needs more corrections than it makes.
    #[test]
    fn published_counterexamples_are_drawn() {
        for word in [16, 32, 64] {
            let sizes = Sizes { bits: 16 * word, word, q: 1 };
            let drawn: BTreeSet<_> = rows(1, DIVISIONS, sizes, 0..40_000)
                .into_iter()
                .map(|row| (row.a, row.b))
                .collect();
            for k in 1..15 {
                let v: BigUint = (power(k * word) << 1) - 1u32;
                assert!(drawn.contains(&(&v << (word - 1), v.clone())), "v*B/2, {word}, {k}");
                assert!(drawn.contains(&(ones((k + 1) * word), v.clone())), "B^k - 1, {word}, {k}");
                let near = (0..=k).any(|j| {
                    let v = power(k * word + word - 1) + power(j * word) - 1u32;
                    drawn.contains(&(&v * 3u32 - 1u32, v))
                });
                assert!(near, "3v - 1, {word}, {k}");
            }
        }
    }
}
