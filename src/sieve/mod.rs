//! Primes, small prime factors of many numbers, and numbers without small factors.
//!
//! A prime p divides about one number in p, and a sieve finds which: it solves a congruence modulo
//! p, in place of a division of every number. [`Progression`] has numbers k a + c, [`Exponents`]
//! numbers k b^n + c, and [`smallest_factors`] any others. They return factors, and use the threads
//! of the CPU backend.
//!
//! A [`Family`] has a number for each index, and a [`Constellation`] several families. Their sieves
//! return a [`Mask`](crate::Mask) of the indices at which no number has a small factor. A GPU
//! strikes the terms of progressions. All sieves end on request
//! ([`interruptible`](crate::interruptible)).
//!
//! ```
//! use gpuint::sieve::Progression;
//! use num_bigint::BigUint;
//!
//! // k 2^100 + 1 for k = 1, ..., 8: the smallest factors below 100, and 0 where there is none.
//! let numbers = Progression::of_power(2, 100, 1);
//! let terms: Vec<u64> = (1..=8).collect();
//! assert_eq!(numbers.smallest_factors(&terms, 100)?, [17, 3, 7, 5, 3, 97, 0, 3]);
//! # Ok::<(), gpuint::Error>(())
//! ```

mod constellation;
mod exponents;
mod factors;
mod family;
mod montgomery;
mod numbers;
mod primes;
mod progression;
mod strikes;

pub use constellation::Constellation;
pub use exponents::Exponents;
pub use family::Family;
pub use numbers::smallest_factors;
pub use primes::{Primes, primes};
pub use progression::Progression;

pub(crate) use montgomery::Field;
