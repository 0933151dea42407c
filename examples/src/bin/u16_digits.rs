//! Integers of 2048 bits in 16-bit digits: every operation on a batch, each result checked.
//!
//! `cargo run --release --package gpuint-examples --bin u16_digits -- --help`

use gpuint_examples::tour;

gpuint::gpu_uint!(type Integer = 2048 bits, Q = 2, u16);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tour::run::<Integer>()
}
