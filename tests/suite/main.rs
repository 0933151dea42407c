//! Every operation, at every built shape, by every strategy, on every backend.
//!
//! `gpuint_testkit` makes the rows and the expected results, and `setting` selects the devices and
//! the numbers of rows. Each of the other modules is a group of checks.

mod algorithms;
mod compositions;
mod conversions;
mod division;
mod errors;
mod euclid;
mod exponents;
mod forms;
mod inverses;
mod long;
mod long_kernels;
mod matrix;
mod modular;
mod primes;
mod regressions;
mod residues;
mod roots;
mod rows;
mod secret;
mod serialized;
mod setting;
mod shifts;
mod sieves;
mod signed;
mod special;
mod text;
mod trees;
mod typed;
mod unprepared;
