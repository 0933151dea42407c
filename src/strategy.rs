//! How products and quotients are computed: type parameters of the operations that need one.
//!
//! A strategy is a type; what it selects for a shape is a value, a [`Product`] or a [`Quotient`],
//! which names the kernel. `Auto` is the only strategy whose choice depends on the shape.

use std::fmt;

use crate::backend::{Kernel, Op};
use crate::shape::{Kernels, Shape};

mod sealed {
    pub trait Sealed {}
}

/// A way to multiply: [`Classical`], [`Karatsuba`], [`TensorCore`], [`Fft`], [`Ntt`] or [`Auto`].
/// Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a way to multiply `{T}`",
    label = "use Classical, Karatsuba, TensorCore, Fft, Ntt or Auto"
)]
pub trait Mult<T: Kernels>: sealed::Sealed {
    /// The algorithm that this strategy asks for.
    fn product(op: Op) -> Product;
}

/// A way to divide: [`ShiftedInverse`], [`Blocked`] or [`Auto`]. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a way to divide `{T}`",
    label = "use ShiftedInverse<M>, Blocked<M> or Auto, where M is a way to multiply"
)]
pub trait Division<T: Kernels>: sealed::Sealed {
    /// The algorithm that this strategy asks for.
    fn quotient(op: Op) -> Quotient;
}

/// Takes what was fastest for the operation at the width, by the tuning table of the build.
///
/// By default that is what was measured on an H200; docs/tuning.md of the repository tells how to tune
/// for another GPU.
#[derive(Debug, Clone, Copy)]
pub struct Auto;

/// Multiplies digit by digit: the columns of the product are shared out evenly among the threads.
///
/// From `Q = 3` on, one thread multiplies a whole row where it has registers for it: multiples of 128
/// bits up to 2048.
#[derive(Debug, Clone, Copy)]
pub struct Classical;

/// Multiplies numbers of n digits by three products of n / 2 digits, two or three levels deep.
///
/// A full product takes 0.75, 0.56 or 0.42 of the digit products from 128, 256 and 512 limbs on (of
/// 16 bits for `u16` digits, of 32 bits for others); a low product or square 0.88, 0.78 or 0.71 from
/// 256, 512 and 1024 on. Where halving does not pay or does not fit, it is [`Classical`]: at shorter
/// widths, in the parts of a product that are not square, and in kernels that would need more than
/// 163 KB of shared memory or have groups of more than 512 threads. Results are the same.
///
/// A. Karatsuba and Yu. Ofman, "Multiplication of many-digital numbers by automatic computers"
/// (1962), in the form with differences.
#[derive(Debug, Clone, Copy)]
pub struct Karatsuba;

/// Multiplies by the matrix units of the GPU, byte by byte, exactly.
///
/// The bytes of an operand are its digits, arranged as matrices that are constant along their
/// diagonals, so that a product of matrices is a range of columns of the product of integers. Offered
/// for [`wrapping_mul`](crate::Batch::wrapping_mul), [`mul_lo_hi`](crate::Batch::mul_lo_hi),
/// [`widening_mul`](crate::Batch::widening_mul) and
/// [`wrapping_square`](crate::Batch::wrapping_square) at multiples of 1024 bits from 2048 to 262144 (the
/// widest take half a byte of shared memory a bit, 133 KB at 262144), and at multiples of 128 bits,
/// whatever the digits and `Q`, for [`shifted_inverse`](crate::Batch::shifted_inverse) and division by
/// it ([`ShiftedInverse`]) from 16384 on and for division in blocks ([`Blocked`]) from 32768 on.
/// Elsewhere it is [`Classical`]. Results are the same.
///
/// Operations with a prepared [`Divisor`](crate::Divisor), which take no strategy, use it where the
/// tuning table says so: products, squares and powers modulo it at multiples of 128 bits from 8192 on,
/// divisions by it from 24576 on, its preparation from 16384 on.
#[derive(Debug, Clone, Copy)]
pub struct TensorCore;

/// Multiplies by Fourier transforms in double precision, exactly.
///
/// Operands are polynomials in balanced digits of 16 bits; the columns of their product come out of the
/// transforms with an error that is proven to be below 0.43 for every operand, so that they round to the right
/// integers (`kernels/transform/fft/product.cuh` of the repository; the method of R. Brent, C. Percival and P. Zimmermann,
/// 2007). Offered for [`wrapping_mul`](crate::Batch::wrapping_mul),
/// [`mul_lo_hi`](crate::Batch::mul_lo_hi), [`widening_mul`](crate::Batch::widening_mul) and
/// [`wrapping_square`](crate::Batch::wrapping_square) at multiples of 65536 bits up to 262144, whatever
/// the digits and `Q`; it needs a GPU with fast double precision to pay (A100, H100, H200). Elsewhere it is
/// [`Classical`]. Results are the same.
#[derive(Debug, Clone, Copy)]
pub struct Fft;

/// Multiplies by number-theoretic transforms: in integers only.
///
/// Operands are polynomials in digits of 32 bits; the columns of their product are found modulo three
/// primes of 27 bits and put together by the Chinese remainder theorem (`kernels/transform/ntt/product.cuh` of the
/// repository). Offered for [`wrapping_mul`](crate::Batch::wrapping_mul),
/// [`mul_lo_hi`](crate::Batch::mul_lo_hi), [`widening_mul`](crate::Batch::widening_mul) and
/// [`wrapping_square`](crate::Batch::wrapping_square) at 2^17, 2^18, 2^19 and 2^20 bits, whatever the
/// digits and `Q`. At 2^19 and 2^20 bits it is the only way to multiply; below, it is for GPUs whose
/// double precision is slow, where [`Fft`] does not pay. Elsewhere it is [`Classical`]. Results are the
/// same. It takes an eighth of a byte of shared memory a bit: 133 KB at 2^20.
#[derive(Debug, Clone, Copy)]
pub struct Ntt;

/// Divides by the whole shifted inverse of the divisor, found by Newton's iteration, with
/// products by `M`.
#[derive(Debug, Clone, Copy)]
pub struct ShiftedInverse<M = Auto>(std::marker::PhantomData<M>);

/// Divides block by block of quotient digits, by a reciprocal as long as a block, with products
/// by `M`.
#[derive(Debug, Clone, Copy)]
pub struct Blocked<M = Auto>(std::marker::PhantomData<M>);

impl sealed::Sealed for Auto {}
impl sealed::Sealed for Classical {}
impl sealed::Sealed for Karatsuba {}
impl sealed::Sealed for TensorCore {}
impl sealed::Sealed for Fft {}
impl sealed::Sealed for Ntt {}
impl<M> sealed::Sealed for ShiftedInverse<M> {}
impl<M> sealed::Sealed for Blocked<M> {}

/// A multiplication algorithm, as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Product {
    /// [`Classical`].
    Classical,
    /// [`Karatsuba`].
    Karatsuba,
    /// [`TensorCore`].
    TensorCore,
    /// [`Fft`].
    Fft,
    /// [`Ntt`].
    Ntt,
}

/// A division algorithm and the multiplication inside it, as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Quotient {
    /// [`ShiftedInverse`].
    ShiftedInverse(Product),
    /// [`Blocked`].
    Blocked(Product),
}

impl Product {
    /// This one where the catalogue has a kernel of it for the operation and the shape, else
    /// [`Classical`](Self::Classical): what runs when a strategy asks for this one.
    ///
    /// ```
    /// use gpuint::{Karatsuba, Kernels, Mult, Op, Product, GpuUint};
    ///
    /// type Narrow = GpuUint<1024>;
    /// let asked = <Karatsuba as Mult<Narrow>>::product(Op::MulLow);
    /// assert_eq!(asked, Product::Karatsuba);
    /// assert_eq!(asked.offered(Op::MulLow, Narrow::SHAPE), Product::Classical);
    /// ```
    #[must_use]
    pub fn offered(self, op: Op, shape: Shape) -> Self {
        if self.is_offered(op, shape) { self } else { Self::Classical }
    }

    /// Whether the catalogue has a kernel of this one for the operation and the shape.
    ///
    /// Not even [`Classical`](Self::Classical) is offered at every width: rows of 2^19 bits or
    /// more have products by [`Ntt`](Self::Ntt) only, and no divisions. What is not offered is
    /// [`KernelMissing`](crate::Error::KernelMissing) on devices that run kernels.
    #[must_use]
    pub fn is_offered(self, op: Op, shape: Shape) -> bool {
        Kernel { op, strategy: Strategy::Product(self), shape }.entry().is_some()
    }

    /// This one where it is offered, else the first that is: what [`Auto`] takes, since a row of the
    /// tuning table speaks of a range of widths, of which a strategy may have some.
    fn or_another(self, op: Op, shape: Shape) -> Self {
        let ways = [self, Self::TensorCore, Self::Classical, Self::Ntt];
        ways.into_iter().find(|way| way.is_offered(op, shape)).unwrap_or(self)
    }
}

impl Quotient {
    /// This one where the catalogue has a kernel of it for the operation and the shape, else the
    /// same with [`Classical`](Product::Classical) products: what runs when a strategy asks for
    /// this one.
    #[must_use]
    pub fn offered(self, op: Op, shape: Shape) -> Self {
        if self.is_offered(op, shape) {
            return self;
        }
        match self {
            Self::ShiftedInverse(_) => Self::ShiftedInverse(Product::Classical),
            Self::Blocked(_) => Self::Blocked(Product::Classical),
        }
    }

    /// Whether the catalogue has a kernel of this one for the operation and the shape: see
    /// [`Product::is_offered`].
    #[must_use]
    pub fn is_offered(self, op: Op, shape: Shape) -> bool {
        Kernel { op, strategy: Strategy::Quotient(self), shape }.entry().is_some()
    }
}

/// The strategy's part of a kernel name.
impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Classical => "classical",
            Self::Karatsuba => "karatsuba",
            Self::TensorCore => "tensor",
            Self::Fft => "fft",
            Self::Ntt => "ntt",
        })
    }
}

/// The strategy's part of a kernel name.
impl fmt::Display for Quotient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ShiftedInverse(product) => write!(f, "shinv_{product}"),
            Self::Blocked(product) => write!(f, "blocked_{product}"),
        }
    }
}

/// What [`Auto`] takes for an operation on a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Choice {
    product: Product,
    quotient: Quotient,
}

/// What the tuning table says, in the words of this module.
mod tuned {
    use super::{Op, Product, Quotient, Strategy};

    include!(concat!(env!("OUT_DIR"), "/tuning.rs"));
}

/// The one place where [`Auto`] decides: by the tuning table that the crate was built with
/// (`GPUINT_TUNING`, docs/tuning.md), whatever the device. It does not ask for the GPU that it runs
/// on, since the kernels have the table's block sizes, too, and are built before there is a device.
/// For operations that nobody tuned it takes classical products.
const fn auto(op: Op, shape: Shape) -> Choice {
    match tuned::tuned(op, shape.bits) {
        Strategy::Product(product) => Choice { product, quotient: Quotient::Blocked(product) },
        Strategy::Quotient(quotient) => {
            let (Quotient::ShiftedInverse(product) | Quotient::Blocked(product)) = quotient;
            Choice { product, quotient }
        }
        Strategy::None => {
            Choice { product: Product::Classical, quotient: Quotient::Blocked(Product::Classical) }
        }
    }
}

impl<T: Kernels> Mult<T> for Auto {
    fn product(op: Op) -> Product {
        auto(op, T::SHAPE).product.or_another(op, T::SHAPE)
    }
}

impl<T: Kernels> Mult<T> for Classical {
    fn product(_op: Op) -> Product {
        Product::Classical
    }
}

impl<T: Kernels> Mult<T> for Karatsuba {
    fn product(_op: Op) -> Product {
        Product::Karatsuba
    }
}

impl<T: Kernels> Mult<T> for TensorCore {
    fn product(_op: Op) -> Product {
        Product::TensorCore
    }
}

impl<T: Kernels> Mult<T> for Fft {
    fn product(_op: Op) -> Product {
        Product::Fft
    }
}

impl<T: Kernels> Mult<T> for Ntt {
    fn product(_op: Op) -> Product {
        Product::Ntt
    }
}

impl<T: Kernels> Division<T> for Auto {
    fn quotient(op: Op) -> Quotient {
        auto(op, T::SHAPE).quotient
    }
}

impl<T: Kernels, M: Mult<T>> Division<T> for ShiftedInverse<M> {
    fn quotient(op: Op) -> Quotient {
        Quotient::ShiftedInverse(M::product(op))
    }
}

impl<T: Kernels, M: Mult<T>> Division<T> for Blocked<M> {
    fn quotient(op: Op) -> Quotient {
        Quotient::Blocked(M::product(op))
    }
}

/// How a kernel does its operation, where there is more than one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Strategy {
    None,
    Product(Product),
    Quotient(Quotient),
}

impl Strategy {
    /// What a way to multiply selects for an operation on its shape.
    pub(crate) fn product<T: Kernels, M: Mult<T>>(op: Op) -> Self {
        Self::Product(M::product(op).offered(op, T::SHAPE))
    }

    /// What a way to divide selects for an operation on its shape.
    pub(crate) fn quotient<T: Kernels, D: Division<T>>(op: Op) -> Self {
        Self::Quotient(D::quotient(op).offered(op, T::SHAPE))
    }
}

/// The strategy's part of a kernel name; empty where there is one way only.
impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Product(product) => product.fmt(f),
            Self::Quotient(quotient) => quotient.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::TASKS;
    use crate::shapes;
    use crate::tuning_table::Table;

    /// The strategy of an operation at a width, in the table's words.
    fn taken(table: &Table, op: Op, bits: usize) -> Option<&str> {
        let ranges = table.everywhere(op.name());
        ranges.into_iter().find(|range| bits <= range.0).map(|range| range.1)
    }

    fn of_the_build() -> Table {
        let kernels: Vec<_> = TASKS.iter().map(|task| task.name).collect();
        Table::parse(include_str!(concat!(env!("OUT_DIR"), "/tuning.toml")), &kernels).unwrap()
    }

    #[test]
    fn auto_takes_what_the_table_says() {
        let table = of_the_build();
        for &shape in shapes() {
            for op in [
                Op::MulLow,
                Op::MulWide,
                Op::SquareLow,
                Op::ShiftedInverse,
                Op::Prepare,
                Op::DivRemBy,
                Op::MulMod,
                Op::SquareMod,
                Op::PowMod,
            ] {
                let said = taken(&table, op, shape.bits).unwrap_or("classical");
                assert_eq!(auto(op, shape).product.to_string(), said, "{op:?} at {shape}");
            }
            let said = taken(&table, Op::DivRem, shape.bits).unwrap_or("blocked_classical");
            let Choice { product, quotient } = auto(Op::DivRem, shape);
            assert_eq!(quotient.to_string(), said, "{shape}");
            assert!(said.ends_with(&product.to_string()), "{said}");
        }
    }
}
