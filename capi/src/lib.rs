//! The C library `libgpuint`: devices, batches, masks, divisors and residues of the crate `gpuint`
//! as C functions.
//!
//! `include/gpuint.h` is the interface and its documentation. cbindgen makes it of these files (see
//! the module `header`, whose test fails if it is stale).
//!
//! Handles are keys of one table ([`handle`]), so that no value of a handle causes undefined
//! behaviour. `unsafe` code remains for arrays and texts of the caller (`memory`).

pub mod batch;
mod call;
pub mod device;
pub mod divisor;
pub mod factor;
pub mod handle;
#[cfg(test)]
mod header;
pub mod interrupt;
pub mod mask;
mod memory;
pub mod operations;
pub mod residues;
pub mod secret;
pub mod sieve;
pub mod signed;
pub mod status;
pub mod trees;
pub mod words;
