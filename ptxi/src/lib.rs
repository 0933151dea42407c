//! Executes the PTX that nvcc makes, unmodified, on the CPU: for tests of kernels
//! without a GPU, and for exact dynamic counts.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod ast;
mod block;
mod checks;
mod counts;
mod decode;
mod error;
mod exec;
mod instr;
mod lex;
mod machine;
mod memory;
mod module;
mod order;
mod shared;
mod syntax;
mod types;
mod warp;

pub use checks::Checks;
pub use counts::{Atomics, Class, Counts, Executed, GlobalTraffic, SharedTraffic};
pub use error::{Error, Fault, FaultKind, Race};
pub use machine::{Buffer, Launch, Machine, Params};
pub use module::{Kernel, Module};
pub use types::Space;
