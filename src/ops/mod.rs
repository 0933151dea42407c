//! The operations, one file each.
//!
//! Each operation is implemented once, on a [`View`]: a batch whose shape is a value, and a
//! strategy. It checks its operands and passes a [`Call`](crate::backend::Call) to the device. The
//! macro `faces` declares the public methods of [`DynBatch`](crate::DynBatch) and
//! [`Batch`](crate::Batch). If the operation has several algorithms, the macro also declares the
//! methods of [`DynUsing`](crate::DynUsing) and [`Using`](crate::Using).
//! docs/adding.md describes how to add an operation.

mod add;
mod all;
mod bits;
mod bitwise;
mod compare;
pub(crate) mod crt;
mod cyclic;
pub(crate) mod decimal;
mod decimal_digits;
mod div;
mod div_by;
mod div_digit;
mod exact;
mod exponents;
pub(crate) mod faces;
pub(crate) mod fixed_base;
mod gcd;
mod generalized_fermat;
mod gerbicz;
mod grouped_powers;
mod half_gcd;
mod inverse_all;
mod long_division;
mod long_root;
mod modular;
mod mul;
mod mul_by;
mod negacyclic;
mod operators;
mod pairs;
mod perfect_power;
mod pow_product;
mod prime;
mod products;
mod rational;
pub(crate) mod reciprocals;
pub(crate) mod residues;
mod root;
mod rows;
pub(crate) mod secret;
mod shift;
mod shifted_inverse;
pub(crate) mod signed;
mod signed_digits;
mod sliding;
mod sort;
mod special;
mod special_base;
mod sqrt;
mod sum_of_products;
#[cfg(test)]
mod tests;
pub(crate) mod transform;
pub(crate) mod tree;
mod unprepared;
pub(crate) mod using;
pub(crate) mod view;
mod wrapped;
mod xgcd;

pub(crate) use view::View;

use faces::faces;
use view::{in_shape, shape_of};
