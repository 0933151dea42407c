//! Code shared by the tests and the benches of gpuint: operands and their oracle, and the PTX
//! interpreter's runs of compiled kernels.

pub mod cases;
pub mod compositions;
mod device;
pub mod forms;
pub mod gmp;
pub mod launch;
pub mod operands;
pub mod oracle;
pub mod primes;
pub mod process;
pub mod ptx;
pub mod random;
pub mod shim;
pub mod turns;

pub use gpuint_skip as skip;

include!(concat!(env!("OUT_DIR"), "/methods.rs"));
