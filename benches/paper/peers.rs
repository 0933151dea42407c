//! Times of other GPU code for the same operations, measured once, separately from this program.

use gpuint_benches::workload::Workload;

/// GPU, software and date of the measurements.
pub(crate) const MEASURED: &str = "on one NVIDIA H200 (driver 580, CUDA 13.0, CUDA events) on \
                                   2026-11-20; \
     results compared with GMP's";

/// Divisors of the measurements: the first ones of this program.
pub(crate) const DIVISORS: [Workload; 3] = [Workload::Repo, Workload::Uniform, Workload::Half];

/// Milliseconds for a batch of 2^32 bits. Three numbers are for the three [`DIVISORS`].
#[derive(Debug)]
pub(crate) struct Peers {
    pub(crate) bits: usize,
    /// The low half of the product, by the code of "On GPU Implementation for Multi-Precision
    /// Integer Division".
    pub(crate) paper_mul: Option<f64>,
    pub(crate) paper_div: Option<[f64; 3]>,
    /// The same product by the code of the earlier paper on addition and multiplication.
    pub(crate) prior_mul: Option<f64>,
    /// NVIDIA's CGBN: divisions of at most 32 Kbit, wider products.
    pub(crate) cgbn_mul: Option<f64>,
    pub(crate) cgbn_div: Option<[f64; 3]>,
}

const fn peers(
    log: u32,
    paper_mul: Option<f64>,
    prior_mul: f64,
    cgbn_mul: f64,
    paper_div: Option<[f64; 3]>,
    cgbn_div: Option<[f64; 3]>,
) -> Peers {
    let (prior_mul, cgbn_mul) = (Some(prior_mul), Some(cgbn_mul));
    Peers { bits: 1 << log, paper_mul, paper_div, prior_mul, cgbn_mul, cgbn_div }
}

pub(crate) const PEERS: [Peers; 9] = [
    peers(10, None, 1.59, 0.86, None, Some([5.50, 5.31, 3.94])),
    peers(11, None, 1.77, 1.30, None, Some([6.43, 6.21, 4.38])),
    peers(12, None, 3.11, 2.41, None, Some([9.45, 8.70, 5.73])),
    peers(13, Some(6.44), 5.96, 4.69, Some([81.4, 123.7, 94.3]), Some([13.9, 11.5, 7.8])),
    peers(14, Some(10.2), 9.60, 9.32, Some([127.0, 164.1, 161.7]), Some([20.5, 17.1, 11.2])),
    peers(15, Some(18.1), 17.1, 19.3, Some([139.0, 162.3, 201.1]), Some([49.3, 50.3, 24.9])),
    peers(16, Some(33.9), 32.0, 38.8, Some([209.5, 244.8, 254.5]), None),
    peers(17, Some(65.6), 62.0, 300.6, Some([390.3, 452.8, 472.6]), None),
    peers(18, Some(130.3), 122.7, 3741.0, Some([785.4, 905.9, 946.2]), None),
];

/// Bits of a batch.
pub(crate) const BATCH: u64 = 1 << 32;

/// Nanoseconds for one integer of a batch.
pub(crate) fn nanoseconds(milliseconds: f64, bits: usize) -> f64 {
    milliseconds * 1e6 * bits as f64 / BATCH as f64
}
