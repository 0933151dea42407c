//! Integers of 16384 bits in 64-bit digits: every operation on a batch, each result checked.
//!
//! `cargo run --release --package gpuint-examples --bin u64_digits -- --help`

use gpuint_examples::tour;

gpuint::gpu_uint!(type Integer = 16384 bits, Q = 4, u64);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tour::run::<Integer>()
}
