//! Models and measurements shared by the benches: workloads, operands and times of operations,
//! exact counts of compiled kernels, the roofline and the lower bound of a GPU, choices of a tuning
//! table.

// Used by the benches and tests of this package alone.
#![allow(missing_docs, missing_debug_implementations)]
#![allow(clippy::missing_errors_doc, clippy::must_use_candidate)]

use std::env;
use std::path::Path;

pub mod batches;
pub mod choose;
pub mod count;
pub mod floor;
pub mod machine;
pub mod operation;
pub mod plot;
pub mod roofline;
pub mod sass;
pub mod workload;

pub use gpuint_examples as device;

/// Enters the root of the repository if cargo started this bench, which it does in the folder of
/// the package: paths on its command line are relative to the root.
pub fn enter_root() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    if env::current_dir().is_ok_and(|folder| folder == package) {
        let _ = env::set_current_dir(gpuint_testkit::ptx::ROOT);
    }
}
