//! Plans of transforms: the number of points, the primes, and the levels of each pass.
//!
//! `kernels/long/transform.cuh` has the mathematics. The tables of a plan are computed here once
//! for each queue of a device.

use crate::backend::long::arguments::Tables;

/// A set of three primes of `kernels/long/primes.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Primes {
    Small,
    Large,
}

impl Primes {
    const fn values(self) -> [u32; 3] {
        match self {
            Self::Small => [880_803_841, 897_581_057, 998_244_353],
            Self::Large => [469_762_049, 1_811_939_329, 2_013_265_921],
        }
    }

    /// Part of the names of kernels.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
        }
    }
}

/// Transforms of `2^log_points` points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Plan {
    pub(super) primes: Primes,
    /// Levels of each pass; the last one has the point products.
    pub(super) levels: &'static [u32],
}

/// Logarithms of the fewest and of the most points.
pub(super) const MIN_LOG_POINTS: u32 = 16;
pub(super) const MAX_LOG_POINTS: u32 = 26;

/// Widest rows, in bits, of products that do not wrap: a result has the points of the longest plan.
pub(crate) const WIDEST_FACTOR: usize = 32 << (MAX_LOG_POINTS - 1);

/// The plans, from the fewest points on.
static PLANS: [Plan; 11] = [
    Plan { primes: Primes::Small, levels: &[8, 8] },
    Plan { primes: Primes::Small, levels: &[9, 8] },
    Plan { primes: Primes::Small, levels: &[10, 8] },
    Plan { primes: Primes::Small, levels: &[10, 9] },
    Plan { primes: Primes::Small, levels: &[10, 10] },
    Plan { primes: Primes::Small, levels: &[7, 7, 7] },
    Plan { primes: Primes::Small, levels: &[8, 7, 7] },
    Plan { primes: Primes::Small, levels: &[8, 8, 7] },
    Plan { primes: Primes::Large, levels: &[8, 8, 8] },
    Plan { primes: Primes::Large, levels: &[9, 8, 8] },
    Plan { primes: Primes::Large, levels: &[9, 9, 8] },
];

impl Plan {
    /// Returns the plan of products of at most `limbs` limbs; `None` if there are too many.
    pub(super) fn of_limbs(limbs: u64) -> Option<Self> {
        let log = limbs.max(1).next_power_of_two().ilog2().max(MIN_LOG_POINTS);
        PLANS.get((log - MIN_LOG_POINTS) as usize).copied()
    }

    pub(super) fn log_points(&self) -> u32 {
        self.levels.iter().sum()
    }

    pub(super) fn points(&self) -> u64 {
        1 << self.log_points()
    }

    /// Levels of the pass of that index, and of the passes before it.
    pub(super) fn pass(&self, index: usize) -> (u32, u32) {
        (self.levels[index], self.levels[..index].iter().sum())
    }

    /// Logarithm of the entries of the lower table of powers.
    pub(super) fn low_bits(&self) -> u32 {
        self.log_points() / 2
    }

    /// The tables of all primes as bytes, and where each of them begins.
    pub(super) fn tables(&self) -> (Vec<u8>, [Tables; 3]) {
        let mut bytes = Vec::new();
        let tables =
            self.primes.values().map(|p| self.tables_of(Field { p: p.into() }, &mut bytes));
        (bytes, tables)
    }

    /// Appends the tables of a prime.
    fn tables_of(&self, field: Field, bytes: &mut Vec<u8>) -> Tables {
        let (mut twist, mut inner) = ([0; 2], [[0; 3]; 2]);
        for direction in 0..2 {
            let root = |log_order| match direction {
                0 => field.root(log_order),
                _ => field.inverse(field.root(log_order)),
            };
            for (pass, &levels) in self.levels.iter().enumerate() {
                let log_first = levels / 2;
                let mut powers = vec![0; 1 << levels];
                for a in 0..1usize << log_first {
                    let step = field.power(root(levels), reversed(a, log_first));
                    let column = field.powers(1, step, 1 << (levels - log_first));
                    for (b, power) in column.enumerate() {
                        powers[(b << log_first) + a] = power;
                    }
                }
                // The last pass has a table of its own, also as the second of two.
                let place = if pass + 1 == self.levels.len() { 2 } else { pass };
                inner[direction][place] = append_factors(bytes, field, powers);
            }
            if let &[first, second, _] = self.levels {
                let powers = (0..1usize << first).flat_map(|j| {
                    let step = field.power(root(first + second), reversed(j, first));
                    field.powers(1, step, 1 << second)
                });
                twist[direction] = append_factors(bytes, field, powers);
            }
        }
        let (root, low_bits) = (field.root(self.log_points()), self.low_bits());
        let one = (1 << 32) % field.p;
        let step = field.power(root, 1 << low_bits);
        let low = append_words(bytes, field.powers(one, root, 1 << low_bits));
        let high =
            append_words(bytes, field.powers(one, step, 1 << (self.log_points() - low_bits)));
        let scale = one * field.inverse(self.points() % field.p) % field.p;
        Tables { twist, inner, high, low, scale: scale as u32, padding: 0 }
    }
}

/// The field of `p` elements, p a prime below 2^31.
#[derive(Debug, Clone, Copy)]
struct Field {
    p: u64,
}

impl Field {
    fn power(self, mut base: u64, mut exponent: u64) -> u64 {
        let mut result = 1;
        while exponent != 0 {
            if exponent % 2 == 1 {
                result = result * base % self.p;
            }
            base = base * base % self.p;
            exponent /= 2;
        }
        result
    }

    fn inverse(self, a: u64) -> u64 {
        self.power(a, self.p - 2)
    }

    /// An element of order `2^log_order`: a power of the least number that is not a square, as in
    /// `kernels/transform/ntt/residue.cuh`.
    fn root(self, log_order: u32) -> u64 {
        let is_square = |base: &u64| self.power(*base, (self.p - 1) / 2) == 1;
        let base = (2..).find(|base| !is_square(base)).unwrap_or(2);
        self.power(base, (self.p - 1) >> log_order)
    }

    /// `count` terms of a geometric sequence.
    fn powers(self, first: u64, step: u64, count: usize) -> impl Iterator<Item = u64> {
        std::iter::successors(Some(first), move |power| Some(power * step % self.p)).take(count)
    }
}

/// The lowest `bits` bits of `index` in reverse order.
fn reversed(index: usize, bits: u32) -> u64 {
    if bits == 0 { 0 } else { (index as u64).reverse_bits() >> (64 - bits) }
}

/// Appends factors with their quotients, and returns where they begin.
fn append_factors(bytes: &mut Vec<u8>, field: Field, values: impl IntoIterator<Item = u64>) -> u64 {
    // Below 2^32: a value is below p.
    let pair = |value: u64| [value as u32, ((value << 32) / field.p) as u32];
    append(bytes, values.into_iter().flat_map(pair))
}

/// Appends residues, and returns where they begin.
fn append_words(bytes: &mut Vec<u8>, values: impl IntoIterator<Item = u64>) -> u64 {
    append(bytes, values.into_iter().map(|value| value as u32))
}

fn append(bytes: &mut Vec<u8>, words: impl Iterator<Item = u32>) -> u64 {
    let start = bytes.len() as u64;
    words.for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_have_their_points_and_roots() {
        for (index, plan) in PLANS.iter().enumerate() {
            assert_eq!(plan.log_points(), MIN_LOG_POINTS + index as u32);
            for p in plan.primes.values() {
                let field = Field { p: p.into() };
                let root = field.root(plan.log_points());
                assert_eq!(field.power(root, plan.points() / 2), field.p - 1);
            }
        }
        assert_eq!(PLANS.last().unwrap().log_points(), MAX_LOG_POINTS);
    }

    #[test]
    fn columns_are_below_the_product_of_the_primes() {
        for plan in &PLANS {
            let product: u128 = plan.primes.values().map(u128::from).iter().product();
            assert!(u128::from(plan.points()) << 64 < product, "{plan:?}");
        }
    }

    #[test]
    fn fewest_points_hold_the_limbs() {
        let log = |limbs| Plan::of_limbs(limbs).map(|plan| plan.log_points());
        assert_eq!(log(2), Some(16));
        assert_eq!(log(1 << 16), Some(16));
        assert_eq!(log((1 << 16) + 1), Some(17));
        assert_eq!(log(1 << 26), Some(26));
        assert_eq!(log((1 << 26) + 1), None);
    }
}
