//! Jacobi symbols by the quotients of Euclid's algorithm (R. P. Brent and P. Zimmermann, "An O(M(n)
//! log n) algorithm for the Jacobi symbol", ANTS-IX, 2010; N. Möller, "Efficient computation of the
//! Jacobi symbol", arXiv:1907.07795).
//!
//! For positive numbers with an odd denominator, `(x | y) = (x - q y | y)`. A step `x - q y` under
//! the denominator `x` first turns the symbol over, if `y` is odd:
//!
//! ```text
//! (y | x) = (x | y)   or, if x = y = 3 mod 4,   -(x | y).
//! ```
//!
//! If `y` is even, `x` stays odd and stays the denominator. Modulo `4 y'`, `y'` the odd part of
//! `y`, and modulo 8 it sets the signs of `(y' | x)` and of `(2 | x)`. So nothing changes if `4 |
//! y`. For `y = 2 y'` reciprocity, and `(2 | x) = (-1)^((x^2 - 1)/8)`, give
//!
//! ```text
//! (y | x - q y) = (-1)^e (y | x),   e = q/2   or, for odd q,   e = (x - 1)/2 + (q - 1)/2.
//! ```
//!
//! So `x`, `y` and `q` modulo 4 decide about every step, and no number is divided by powers of two:
//! the symbol goes along with any reduction of the pair.

use super::half_gcd::Observer;

/// A symbol of two numbers on their way to their greatest common divisor.
#[derive(Debug, Clone, Copy)]
pub(super) struct Symbol {
    /// Bits 0 and 1: `x` modulo 4; bits 2 and 3: `y` modulo 4; bit 4: set if `x` is the
    /// denominator.
    state: u8,
    is_negative: bool,
}

/// Bit of a table's entry: the symbol changes its sign.
const FLIPS: u8 = 1 << 7;

/// The state after a step `x - q y`, by state and `q` modulo 4.
const REDUCED_X: [u8; 128] = table(false);
/// The same of a step `y - q x`.
const REDUCED_Y: [u8; 128] = table(true);

const fn table(is_of_y: bool) -> [u8; 128] {
    let mut table = [0; 128];
    let mut index = 0;
    while index < 128 {
        let (state, q) = (index as u8 & 31, index as u8 >> 5);
        let state = if is_of_y { swapped(state) } else { state };
        let next = reduced_x(state, q);
        table[index] = if is_of_y { swapped(next & 31) | next & FLIPS } else { next };
        index += 1;
    }
    table
}

/// Exchanges `x` and `y`.
const fn swapped(state: u8) -> u8 {
    (state & 3) << 2 | state >> 2 & 3 | (state & 16 ^ 16)
}

const fn reduced_x(state: u8, q: u8) -> u8 {
    let (x, y, mut is_x_below) = (state & 3, state >> 2 & 3, state >> 4);
    let mut flips = 0;
    if is_x_below == 1 {
        if y & 1 == 1 {
            flips = (x & y) >> 1;
            is_x_below = 0;
        } else if y == 2 {
            flips = if q & 1 == 0 { q >> 1 } else { (x ^ q) >> 1 };
        }
    }
    let x = x.wrapping_sub(q * y) & 3;
    x | y << 2 | is_x_below << 4 | flips << 7
}

impl Symbol {
    /// The symbol `(x | y)` of odd `y`, times -1 if `is_negative`.
    pub(super) fn new(x: u64, y: u64, is_negative: bool) -> Self {
        debug_assert!(y & 1 == 1);
        Self { state: (x & 3 | (y & 3) << 2) as u8, is_negative }
    }

    #[inline(always)]
    fn step(&mut self, table: &[u8; 128], q: u64) {
        let next = table[usize::from(self.state | (q as u8 & 3) << 5)];
        self.is_negative ^= next & FLIPS != 0;
        self.state = next & 31;
    }

    /// Returns the symbol of numbers whose greatest common divisor is 1, one of which is 0 now.
    pub(super) fn sign(self) -> i8 {
        if self.is_negative { -1 } else { 1 }
    }
}

impl Observer for Symbol {
    #[inline(always)]
    fn reduced_x(&mut self, q: u64) {
        self.step(&REDUCED_X, q);
    }

    #[inline(always)]
    fn reduced_y(&mut self, q: u64) {
        self.step(&REDUCED_Y, q);
    }
}
