//! Conversions of rows from and to data of other libraries and formats.

#[cfg(feature = "proptest")]
pub mod arbitrary;
#[cfg(feature = "arrow")]
mod arrow;
pub(crate) mod integers;
mod interop;
mod numbers;
#[cfg(feature = "serde")]
pub(crate) mod serialize;
mod text;
