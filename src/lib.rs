#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod backend;
mod batch;
mod codegen;
mod device;
mod digit;
mod divisor;
mod error;
mod mask;
mod ops;
mod shape;
mod strategy;
#[doc(hidden)]
pub mod tuning;
// The build's own reader of tables, for the tests.
#[cfg(test)]
#[path = "../build/tuning.rs"]
mod tuning_table;

#[cfg(feature = "simt")]
#[cfg_attr(docsrs, doc(cfg(feature = "simt")))]
pub use backend::simt::SimtOptions;
pub use backend::{BackendKind, Op};
pub use batch::Batch;
pub use device::Device;
pub use digit::{Digit, DigitKind};
pub use divisor::Divisor;
pub use error::{Error, Result};
pub use mask::Mask;
pub use num_bigint;
pub use shape::{GpuUint, Kernels, MAX_GROUP, Shape, ShapeVisitor, Widen, WideningVisitor, shapes};
pub use strategy::{
    Auto, Blocked, Classical, Division, Fft, Karatsuba, Mult, Ntt, Product, Quotient,
    ShiftedInverse, TensorCore,
};
