#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod backend;
mod codegen;
mod device;
mod digit;
mod error;
mod shape;
mod strategy;

pub use backend::{BackendKind, Op};
pub use device::Device;
pub use digit::{Digit, DigitKind};
pub use error::{Error, Result};
pub use shape::{
    GpuUint, Kernels, MAX_GROUP, Shape, ShapeVisitor, Widen, WideningVisitor, shapes,
};
pub use strategy::{Auto, Blocked, Classical, Division, Mult, Product, Quotient, ShiftedInverse};
