#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod auto;
mod backend;
mod batch;
mod device;
mod digit;
mod divisor;
mod dyn_batch;
mod error;
mod event;
mod host_batch;
mod interop;
mod kernel;
mod mask;
mod ops;
mod shape;
mod strategy;
mod text;
#[doc(hidden)]
pub mod tuning;
mod value;

pub use auto::{Gpu, Tuning, TuningFit};
pub use backend::BackendKind;
#[cfg(feature = "simt")]
#[cfg_attr(docsrs, doc(cfg(feature = "simt")))]
pub use backend::simt::SimtOptions;
pub use batch::{Batch, Using};
pub use device::Device;
pub use digit::Digit;
pub use divisor::{Divisor, DynDivisor};
pub use dyn_batch::{DynBatch, DynUsing};
pub use error::{Error, Result};
pub use event::{Event, Finished};
pub use gpuint_catalogue::{Algorithm, DigitKind, MAX_GROUP, Op, Product, Shape};
pub use host_batch::HostBatch;
pub use kernel::{algorithms, is_offered};
pub use mask::Mask;
pub use num_bigint;
pub use ops::fixed_base::{DynFixedBase, FixedBase};
pub use ops::residues::{DynModulus, DynResidues, Modulus, Residues};
pub use shape::{GpuUint, Kernels, Widen, narrowest, shapes};
pub use strategy::{
    Auto, Blocked, Classical, Division, Fft, Fp64, Karatsuba, Mult, Ntt, ShiftedInverse, Strategy,
    TensorCore,
};
pub use value::Value;
