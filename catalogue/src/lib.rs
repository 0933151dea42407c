//! The catalogue of gpuint: digits, shapes, operations, algorithms, kernels and tuning tables.
//!
//! The crate holds data, the table of GPU architectures, and the only parsers of
//! `kernels/catalogue.toml` and `tuning/*.toml`. The build script, the library, the tests and the
//! benches use it; it depends on none of them.
//! [`cache`] stores compiled kernels for later runs of the build and the library.

mod algorithm;
pub mod architecture;
pub mod auto;
pub mod cache;
mod digit;
mod file;
mod headers;
pub mod kernel;
pub mod nvcc;
mod op;
mod shape;
pub mod tuning;

pub use algorithm::{Algorithm, Product};
pub use architecture::Architecture;
pub use digit::DigitKind;
pub use file::{Catalogue, FILE};
pub use headers::{closure, headers, inputs};
pub use kernel::{BLOCK, Entry, Kernel, LongKernel, Row, translation_unit};
pub use op::{Equation, Op, Operand, PREPARED, Param, Signature};
pub use shape::{MAX_BITS, MAX_GROUP, MAX_LONG_BITS, MAX_Q, Shape};
