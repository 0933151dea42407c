//! Code shared by the tests and the benches of gpuint: operands and their oracle,
//! workloads, measurements, and the PTX interpreter's runs of compiled kernels.

pub mod batches;
pub mod choose;
pub mod count;
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

pub use gpuint_examples as device;
pub use gpuint_skip as skip;
