//! Every operation, at every shape that is built, by every strategy, on every backend.
//!
//! `gpuint_testkit` makes the rows and the expected results, `setting` says where and on how much a
//! check runs. Each of the other modules is a group of checks.

mod bits;
mod broadcast;
mod conversions;
mod division;
mod errors;
mod euclid;
mod inverses;
mod matrix;
mod modular;
mod order;
mod products;
mod properties;
mod regressions;
mod residues;
mod rows;
mod setting;
mod shifts;
mod sums;
mod text;
