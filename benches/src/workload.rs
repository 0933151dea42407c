//! Named workloads, the same on every machine: operands of counts, and lengths of divisors.
//!
//! For counts, the lengths of divisors are spread evenly over their distribution instead of drawn,
//! so that few rows have the mean of many. For times they are drawn.

use gpuint::num_bigint::BigUint;
use num_traits::One;

use gpuint_testkit::random::Random;

/// Bits of the digits in which lengths are counted, for kernels of all digits.
pub const DIGIT: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Divisors of 2 to M/2 digits, uniformly.
    Uniform,
    /// Divisors as the generator of the published code makes them: it draws the bound of its loop
    /// again before every digit.
    Repo,
    /// Divisors of M/2 digits.
    Half,
    /// The square of a residue of M/2 digits by its modulus; for products, both factors the same.
    Square,
    /// Powers of the base and their neighbours, runs of ones; divisors of 2 to M/2 digits.
    Structured,
}

impl Workload {
    pub const ALL: [Self; 5] =
        [Self::Uniform, Self::Repo, Self::Half, Self::Square, Self::Structured];

    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Repo => "repo",
            Self::Half => "half",
            Self::Square => "square",
            Self::Structured => "structured",
        }
    }

    /// Length of a divisor in digits, at a place from 0 to 1 of its distribution; `half` is M/2
    /// digits.
    pub fn divisor_digits(self, half: usize, place: f64) -> usize {
        match self {
            Self::Uniform | Self::Structured => 2 + ((half - 1) as f64 * place) as usize,
            Self::Repo => redrawn(half, place),
            Self::Half | Self::Square => half,
        }
    }

    /// Dividends and divisors.
    pub fn divisions(self, bits: usize, rows: usize) -> Vec<[BigUint; 2]> {
        let half = bits / DIGIT / 2;
        let mut random = Random::new(0x776f_726b ^ bits as u64);
        let division = |row: usize| {
            // Neighbouring rows differ, as in a batch.
            let place = (bit_reversed(row, rows) as f64 + 0.5) / rows as f64;
            let digits = self.divisor_digits(half, place);
            match self {
                Self::Uniform | Self::Repo | Self::Half => {
                    [random.full(bits), random.full(digits * DIGIT)]
                }
                Self::Square => {
                    let v = random.full(digits * DIGIT);
                    let x = random.full(digits * DIGIT).min(&v - 1u32);
                    [&x * &x, v]
                }
                Self::Structured => structured(row, digits, bits),
            }
        };
        (0..rows).map(division).collect()
    }

    /// Factors, and terms of sums.
    pub fn pairs(self, bits: usize, rows: usize) -> Vec<[BigUint; 2]> {
        let mut random = Random::new(0x6661_6374 ^ bits as u64);
        let pair = |row: usize| match self {
            Self::Square => {
                let a = random.full(bits);
                [a.clone(), a]
            }
            Self::Structured => structured(row, bits / DIGIT / 2, bits),
            Self::Uniform | Self::Repo | Self::Half => [random.full(bits), random.full(bits)],
        };
        (0..rows).map(pair).collect()
    }
}

/// Rows with long carries and borrows, on which published divisions need more corrections than they
/// make. For a dividend that is a multiple of the divisor, the estimated quotient is one too small,
/// and the added 1 here runs over the whole quotient.
pub fn structured(row: usize, digits: usize, bits: usize) -> [BigUint; 2] {
    let power = |exponent: usize| BigUint::one() << exponent;
    let ones = power(bits) - 1u32;
    match row % 6 {
        0 => {
            let v: BigUint = (power((digits - 1) * DIGIT) << 1) - 1u32;
            [&v << (bits - v.bits() as usize), v]
        }
        1 => [ones, power(digits * DIGIT) - 1u32],
        2 => [ones, power((digits - 1) * DIGIT)],
        3 => [power(bits - 1), power(digits * DIGIT - 1)],
        4 => {
            let v = power(digits * DIGIT) - 1u32;
            [&v << (bits - digits * DIGIT), v]
        }
        _ => {
            let v = power(digits * DIGIT - 1) + power(digits * DIGIT / 2) - 1u32;
            [power(bits) - power(bits / 3), v]
        }
    }
}

/// Length at this place, from 0 to 1, of the distribution of the published generator: its loop
/// continues while the index is below a bound that is drawn again each time, uniformly from 2 to
/// `half`.
fn redrawn(half: usize, place: f64) -> usize {
    let mut longer = 1.0;
    for length in 1..half {
        let chance = if length < 2 { 1.0 } else { (half - length) as f64 / (half - 1) as f64 };
        longer *= chance;
        if longer <= place {
            return length.max(2);
        }
    }
    half
}

/// Permutes the rows so that neighbours are far apart.
fn bit_reversed(row: usize, rows: usize) -> usize {
    let bits = rows.next_power_of_two().trailing_zeros();
    if rows.is_power_of_two() && bits > 0 {
        return row.reverse_bits() >> (usize::BITS - bits);
    }
    row
}
