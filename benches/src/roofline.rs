//! Derives lower bounds for the time on a GPU from counts.

use gpuint_catalogue::architecture::GpuRates;

use crate::sass::Pipes;

/// Bits of a batch.
const BATCH: f64 = 4_294_967_296.0;
const SECTOR_BYTES: f64 = 32.0;

/// Work of one row.
#[derive(Debug)]
pub struct Load {
    /// Of the row.
    pub bits: usize,
    pub pipes: Pipes,
    pub wavefronts: f64,
    /// Sectors that loads and stores request.
    pub sectors: f64,
    /// Sectors of the operands and results; further requests are served by a cache.
    pub row_sectors: f64,
}

/// Roofline of a GPU.
#[derive(Debug)]
pub struct Roofline(GpuRates);

pub const H200: Roofline = Roofline(*GpuRates::MEASURED);
pub const A100: Roofline = Roofline(*GpuRates::of_capability(80));

/// Cycles of a multiprocessor for the instructions of a warp: 32 products, 64 other integer
/// instructions or 4 x 32 of any kind take one. The times of products and other integers are added.
/// Nearly half of the others are `IMAD` (moves, carries, shifts), which use the pipe of the
/// products, and barriers separate passes of products from passes of carries. The sum is within 30
/// % of the times measured on an H200 for products and divisions of 2^15 bits and more, by
/// classical and by Karatsuba's products. For the latter, the larger of the two times is little
/// more than half of the measured one.
const WIDE_CYCLES: f64 = 1.0;
const INTEGER_CYCLES: f64 = 0.5;
const ISSUE_CYCLES: f64 = 0.25;
/// 128 bytes per cycle, for shared memory and the cache that shares its wires.
const SECTOR_CYCLES: f64 = 0.25;

impl Roofline {
    /// Milliseconds for a batch of rows that each take `cycles` cycles of a multiprocessor.
    pub fn busy(&self, bits: usize, cycles: f64) -> f64 {
        cycles * (BATCH / bits as f64) / (f64::from(self.0.multiprocessors) * self.0.clock) * 1e3
    }

    /// Milliseconds for a batch of rows that each move `sectors` sectors of device memory.
    pub fn transfer(&self, bits: usize, sectors: f64) -> f64 {
        sectors * SECTOR_BYTES * (BATCH / bits as f64) / self.0.bandwidth * 1e3
    }

    /// Milliseconds for a batch, and the pipe that limits it.
    pub fn time(&self, load: &Load) -> (f64, &'static str) {
        let Load { bits, pipes, .. } = *load;
        let arithmetic = pipes.wide * WIDE_CYCLES + pipes.integer * INTEGER_CYCLES;
        let times = [
            (self.busy(bits, arithmetic), "arithmetic"),
            (self.busy(bits, pipes.tensor * self.0.tensor_cycles), "tensor"),
            (self.busy(bits, pipes.double * self.0.double_cycles), "double"),
            (self.busy(bits, pipes.issued() * ISSUE_CYCLES), "issue"),
            (self.busy(bits, load.wavefronts + load.sectors * SECTOR_CYCLES), "shared"),
            (self.transfer(bits, load.sectors.min(load.row_sectors)), "global"),
        ];
        times.into_iter().fold((0.0, ""), |a, b| if b.0 > a.0 { b } else { a })
    }
}
