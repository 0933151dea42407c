//! Code shared by the tests, the benches and the examples of gpuint: operands and their oracle,
//! workloads, measurements, and the PTX interpreter's runs of compiled kernels.

pub mod batches;
pub mod choose;
pub mod count;
pub mod device;
pub mod floor;
pub mod machine;
pub mod operands;
pub mod operation;
pub mod oracle;
pub mod plot;
pub mod ptx;
pub mod random;
pub mod roofline;
pub mod sass;
pub mod workload;

pub use gpuint_skip as skip;
