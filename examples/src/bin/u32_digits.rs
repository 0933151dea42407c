//! Integers of 4096 bits in 32-bit digits: every operation on a batch, each result checked.
//!
//! `cargo run --release --package gpuint-examples --bin u32_digits -- --help`

use gpuint_examples::tour;

gpuint::gpu_uint!(type Integer = 4096 bits, Q = 4, u32);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tour::run::<Integer>()
}
