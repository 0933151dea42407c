//! Integers of 2048 bits in 16-bit digits: every operation on a batch, each result checked.
//!
//! `cargo run --release --example u16_digits -- --help`

mod tour;

gpuint::gpu_uint!(type Integer = 2048 bits, Q = 2, u16);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tour::run::<Integer>()
}
