//! Lower bound for the time of a product by any kernel: the larger of its arithmetic at the peak
//! rate of the strategy's pipe, and of its operands and result at the rate of the device memory.

use gpuint::{Algorithm, Op, Product};

use crate::roofline::Roofline;

/// Peak multiply-adds of a multiprocessor per cycle: 64-bit digits by four products of 32 bits
/// each, bytes by `wgmma` (half as many by `mma.sync`), doubles.
const DIGITS: f64 = 8.0;
const BYTES: f64 = 4096.0;
const DOUBLES: f64 = 64.0;
/// Butterflies of residues of 30 bits: two products by a known factor (V. Shoup) each, measured in
/// a loop without other work.
const BUTTERFLIES: f64 = 13.7;

/// Cycles of a multiprocessor for the arithmetic of a row of `bits` bits; `None` for other
/// operations and for strategies without such a floor.
fn cycles(op: Op, algorithm: Algorithm, bits: usize) -> Option<f64> {
    let bits = bits as f64;
    let products = |digit: f64, rate: f64, of_square: f64| {
        let all = (bits / digit) * (bits / digit) / rate;
        match op {
            Op::MulWide => Some(all),
            Op::MulLo => Some(all / 2.0),
            Op::SquareLo => Some(all / 2.0 * of_square),
            _ => None,
        }
    };
    // One transform of each operand and one inverse transform of this number of points; low and
    // wide products have the same.
    let transforms = |points: f64, butterfly: f64| {
        let each = points / 2.0 * points.log2() * butterfly;
        match op {
            Op::MulLo | Op::MulWide => Some(3.0 * each),
            Op::SquareLo => Some(2.0 * each),
            _ => None,
        }
    };
    match algorithm {
        Algorithm::By(Product::Classical) => products(64.0, DIGITS, 0.5),
        // Squares are products (kernels/mul/tensor/product.cuh).
        Algorithm::By(Product::TensorCore) => products(8.0, BYTES, 1.0),
        // Digits of 16 bits, both halves at once; a butterfly takes six multiply-adds.
        Algorithm::By(Product::Fft) => transforms(bits / 16.0, 6.0 / DOUBLES),
        // Digits of 32 bits, three primes.
        Algorithm::By(Product::Ntt) => transforms(2.0 * bits / 32.0, 3.0 / BUTTERFLIES),
        _ => None,
    }
}

/// Milliseconds for a batch; `row_sectors` is the number of 32-byte sectors of a row's operands and
/// results.
pub fn floor(
    gpu: &Roofline,
    op: Op,
    algorithm: Algorithm,
    bits: usize,
    row_sectors: f64,
) -> Option<f64> {
    let memory = gpu.transfer(bits, row_sectors);
    match op {
        Op::Add => Some(memory),
        _ => Some(memory.max(gpu.busy(bits, cycles(op, algorithm, bits)?))),
    }
}
