//! Cases of every operation: operands of launches, and the one oracle of their results.
//!
//! [`operands()`] draws the operands of one launch. [`expected`] computes its results from these
//! operands alone, so that it serves for operands from elsewhere too. [`check`] runs a kernel on a
//! [`Machine`] and compares. Operands and oracle know nothing of each other, and nothing of the
//! machine.
//!
//! A launch of an operation has a variant: its parameters, its broadcast operands, and the results
//! that are wanted. [`variants`] is their number, which a complete check runs through.

mod decimal;
mod division;
mod draws;
mod euclid;
mod linear;
mod long;
mod machine;
mod modular;
mod primes;
mod products;
mod rare;
mod roots;
mod row;
mod rows;
mod run;
mod sieves;
mod table;
mod verify;

pub use draws::Draws;
pub use machine::Machine;
pub use modular::{secret_factor_records, secret_records};
pub use rare::{RARE, Rare};
pub use row::{Condition, Expected};
pub use run::{Task, check, check_grids, check_operands, wrong};
pub use table::{expected, operands, variants};
