//! Plugin for XGBoost's federated learning: gradients and histograms encrypted by Paillier's
//! cryptosystem, on NVIDIA GPUs and the CPU, by [`gpuint_paillier`].
//!
//! XGBoost loads the shared library `libgpuint_xgboost.so` and calls the functions of its header
//! `plugin/federated/federated_plugin.h` ([`plugin`] has them as safe Rust, [`interface`] as C).
//! The page `docs/xgboost.md` of the repository describes parties, keys and messages.

pub mod error;
pub mod interface;
pub mod message;
pub mod plugin;
