//! Strategies: types that select how products and quotients are computed.
//!
//! A strategy is a type. The [`Algorithm`] that it selects for a shape is a value and identifies
//! the kernel. Only [`Auto`] selects by the operation, the shape and the device.

use gpuint_catalogue::{Algorithm, Op, Product, Shape};

use crate::auto::Choices;
use crate::backend::long::on_cpu;
use crate::error::{Error, Result};
use crate::kernel::{KernelId, algorithms};
use crate::shape::{Kernels, SHAPES};

pub(crate) mod sealed {
    use super::Strategy;

    pub trait Sealed {
        /// The strategy as a value.
        const STRATEGY: Strategy;
    }
}

/// A strategy as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// [`Auto`].
    Auto,
    /// Products by one algorithm.
    Product(Product),
    /// [`ShiftedInverse`], with products by one algorithm or by [`Auto`] (`None`).
    ShiftedInverse(Option<Product>),
    /// [`Blocked`], with products by one algorithm or by [`Auto`] (`None`).
    Blocked(Option<Product>),
    /// Products by the kernels of long rows, in which many blocks share a row: for few rows.
    Long,
}

impl From<Product> for Strategy {
    fn from(product: Product) -> Self {
        Self::Product(product)
    }
}

impl From<Algorithm> for Strategy {
    fn from(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::By(product) => Self::Product(product),
            Algorithm::ShiftedInverse(product) => Self::ShiftedInverse(Some(product)),
            Algorithm::Blocked(product) => Self::Blocked(Some(product)),
            Algorithm::Only => Self::Auto,
            Algorithm::Long => Self::Long,
        }
    }
}

impl Strategy {
    /// The products of a strategy that multiplies; `None` for [`Auto`].
    const fn product(self) -> Option<Product> {
        match self {
            Self::Product(product) => Some(product),
            _ => None,
        }
    }

    /// Selects the kernel of an operation on a batch: the requested algorithm, or the same with
    /// classical products if the catalogue does not offer it. Long shapes have one algorithm.
    pub(crate) fn kernel(
        self,
        op: Op,
        shape: Shape,
        rows: usize,
        choices: &Choices,
    ) -> Result<KernelId> {
        if shape.is_long() {
            let long = KernelId::find(op, Algorithm::Long, shape);
            return long.ok_or_else(|| missing(op, Algorithm::Long, shape));
        }
        let auto = || choices.kernel(op, shape, rows);
        let or_auto = |product: Option<Product>| {
            let auto = || auto()?.row().algorithm.product();
            product.or_else(auto).unwrap_or(Product::Classical)
        };
        let asked = match self {
            Self::Auto => {
                let long = || on_cpu::is_above_kernels(op).then(|| KernelId::long(op, shape));
                return auto().or_else(long).ok_or_else(|| missing(op, Algorithm::Only, shape));
            }
            Self::Product(product) => Algorithm::By(product),
            Self::ShiftedInverse(product) => Algorithm::ShiftedInverse(or_auto(product)),
            Self::Blocked(product) => Algorithm::Blocked(or_auto(product)),
            Self::Long => Algorithm::Long,
        };
        KernelId::find(op, asked, shape)
            .or_else(|| KernelId::find(op, asked.with_product(Product::Classical), shape))
            .ok_or_else(|| missing(op, asked, shape))
    }
}

fn missing(op: Op, algorithm: Algorithm, shape: Shape) -> Error {
    let name = gpuint_catalogue::kernel::name(op, algorithm);
    let bits = shape.bits;
    let others: Vec<String> = algorithms(op, shape).map(|other| other.to_string()).collect();
    let remedy = if others.is_empty() {
        let has = |shape: &&Shape| algorithms(op, **shape).next().is_some();
        let widest = SHAPES.iter().filter(has).map(|shape| shape.bits).max().unwrap_or(0);
        format!("{op} is not offered at {bits} bits; it is up to {widest} bits")
    } else {
        format!("at {bits} bits {op} is offered by {}", others.join(", "))
    };
    Error::KernelMissing { kernel: format!("gpuint_{name}_{shape}"), remedy }
}

/// A multiplication strategy: [`Classical`], [`Karatsuba`], [`TensorCore`], [`Fft`], [`Ntt`],
/// [`Fp64`], [`Imad`], [`Fused`] or [`Auto`]. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a way to multiply `{T}`",
    label = "use Classical, Karatsuba, TensorCore, Fft, Ntt, Fp64, Imad, Fused or Auto"
)]
pub trait Mult<T: Kernels>: sealed::Sealed {}

/// A division strategy: [`ShiftedInverse`], [`Blocked`] or [`Auto`]. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a way to divide `{T}`",
    label = "use ShiftedInverse<M>, Blocked<M> or Auto, where M is a way to multiply"
)]
pub trait Division<T: Kernels>: sealed::Sealed {}

/// Selects the fastest algorithm for the operation and the width from a tuning table.
///
/// `docs/tuning.md` of the repository describes how to tune for another GPU.
#[derive(Debug, Clone, Copy)]
pub struct Auto;

/// Multiplies digit by digit, with the columns of the product divided evenly among the threads.
///
/// From `Q = 3` on, one thread multiplies a whole row if its registers hold it: at multiples of 128
/// bits up to 2048.
#[derive(Debug, Clone, Copy)]
pub struct Classical;

/// Multiplies numbers of n digits by three products of n / 2 digits, two or three levels deep.
///
/// A full product takes 0.75, 0.56 or 0.42 of the classical digit products from 128, 256 and 512
/// limbs on (limbs have 16 bits for `u16` digits, else 32). A low product or square takes 0.88,
/// 0.78 or 0.71 from 256, 512 and 1024 limbs on. Elsewhere the product is [`Classical`], with the
/// same results: at shorter widths, in the parts of a product that are not square, and in kernels
/// that would need more than 163 KB of shared memory or groups of more than 512 threads.
///
/// A. Karatsuba and Yu. Ofman, "Multiplication of many-digital numbers by automatic computers"
/// (1962), in the form with differences.
#[derive(Debug, Clone, Copy)]
pub struct Karatsuba;

/// Multiplies by the matrix units of the GPU, byte by byte, exactly.
///
/// The bytes of an operand are its digits, arranged as Toeplitz matrices (constant along their
/// diagonals), so that a product of matrices is a range of columns of the integer product.
///
/// Offered for [`wrapping_mul`](crate::Batch::wrapping_mul),
/// [`mul_lo_hi`](crate::Batch::mul_lo_hi), [`widening_mul`](crate::Batch::widening_mul) and
/// [`wrapping_square`](crate::Batch::wrapping_square) at multiples of 1024 bits from 2048 to
/// 262144. At
/// the widest a block takes 133 KB of shared memory. At multiples of 128 bits it is also offered
/// for division by shifted inverses ([`ShiftedInverse`]), whose short products are classical, for
/// [`shifted_inverse`](crate::Batch::shifted_inverse) from 16384 bits on, and for division in
/// blocks ([`Blocked`]) from 32768 on. Elsewhere the product is [`Classical`], with the same
/// results.
///
/// With a prepared [`Divisor`](crate::Divisor) it is offered at multiples of 128 bits: for the
/// preparation and for products and squares modulo it from 2048 bits on, for powers from 512 on,
/// for divisions by it from 256 on.
#[derive(Debug, Clone, Copy)]
pub struct TensorCore;

/// Multiplies by Fourier transforms in double precision, exactly.
///
/// Operands are polynomials in balanced digits of 16 bits. The transforms give each column of the
/// product with a proven error below 0.43 for every operand, so that rounding gives the exact
/// integer (`kernels/transform/fft/product.cuh` of the repository; the method of R. Brent, C.
/// Percival and P. Zimmermann, 2007).
///
/// Offered for [`wrapping_mul`](crate::Batch::wrapping_mul),
/// [`mul_lo_hi`](crate::Batch::mul_lo_hi), [`widening_mul`](crate::Batch::widening_mul) and
/// [`wrapping_square`](crate::Batch::wrapping_square) at multiples of 65536 bits up to 262144, and
/// for division in blocks ([`Blocked`]) at powers of two from 32768 to 1048576 bits, for all digits
/// and `Q`. With a prepared [`Divisor`](crate::Divisor) it is offered at powers of two from 32768
/// to 262144 bits, for the preparation, for divisions by it and for products, squares and powers
/// modulo it: their time does not depend on the length of the divisor. It pays on GPUs with fast
/// double precision (A100, H100, H200). Elsewhere the product is [`Classical`], with the same
/// results.
#[derive(Debug, Clone, Copy)]
pub struct Fft;

/// Multiplies by number-theoretic transforms, in integers only.
///
/// Operands are polynomials in digits of 32 bits. The columns of their product are computed modulo
/// three primes of 27 bits and combined by the Chinese remainder theorem
/// (`kernels/transform/ntt/product.cuh` of the repository).
///
/// Offered for [`wrapping_mul`](crate::Batch::wrapping_mul),
/// [`mul_lo_hi`](crate::Batch::mul_lo_hi), [`widening_mul`](crate::Batch::widening_mul) and
/// [`wrapping_square`](crate::Batch::wrapping_square) at 2^17, 2^18, 2^19 and 2^20 bits, for all
/// digits and `Q`. At 2^19 and 2^20 bits it is the only multiplication; below, it is for GPUs with
/// slow double precision, on which [`Fft`] does not pay. Elsewhere the product is [`Classical`],
/// with the same results. At 2^20 bits a block takes 133 KB of shared memory.
#[derive(Debug, Clone, Copy)]
pub struct Ntt;

/// Multiplies modulo prepared divisors by the double precision multipliers of the GPU, exactly,
/// with digits of 52 bits and one thread a row.
///
/// Offered for the preparation of a [`Divisor`](crate::Divisor) and for products, squares and
/// powers modulo it, at multiples of 64 bits from 256 to 1536. It pays on GPUs with fast double
/// precision (A100, H100, H200). Elsewhere the product is [`Classical`], with the same results.
///
/// N. Emmart, F. Zheng and C. Weems, "Faster modular exponentiation using double precision floating
/// point arithmetic on the GPU", ARITH 2018.
#[derive(Debug, Clone, Copy)]
pub struct Fp64;

/// Multiplies modulo prepared divisors by the 32-bit integer multipliers of the GPU, with one
/// thread a row and its numbers in registers.
///
/// Offered for products, squares, powers and products of powers modulo a prepared
/// [`Divisor`](crate::Divisor), at multiples of 64 bits from 256 to 1536. Elsewhere the product is
/// [`Classical`], with the same results. [`Auto`] selects it on GPUs with slow double precision, on
/// which [`Fp64`] does not pay.
#[derive(Debug, Clone, Copy)]
pub struct Imad;

/// Multiplies by the matrix units of the GPU, byte by byte, with one warp a row and its numbers in
/// registers.
///
/// Offered for division in blocks ([`Blocked`]) at 16384, 32768 and 65536 bits: rows are sorted
/// into classes by the length of the divisor, and blocks of quotient are at most half as long
/// (`kernels/div/fused.cuh` of the repository). Elsewhere the product is [`Classical`], with the
/// same results. Wider rows divide so by divisors of up to 32768 bits within `Blocked<Fft>`.
#[derive(Debug, Clone, Copy)]
pub struct Fused;

/// Divides by the whole shifted inverse of the divisor, computed by Newton's iteration, with
/// products by `M`.
#[derive(Debug, Clone, Copy)]
pub struct ShiftedInverse<M = Auto>(std::marker::PhantomData<M>);

/// Divides in blocks of quotient digits, with a reciprocal as long as a block and products by `M`.
///
/// [`Auto`] also divides by a prepared [`Divisor`](crate::Divisor) in this way, at the widths at
/// which it is fastest with products by [`Fft`]: a part of the prepared reciprocal is the
/// reciprocal of a block.
#[derive(Debug, Clone, Copy)]
pub struct Blocked<M = Auto>(std::marker::PhantomData<M>);

impl sealed::Sealed for Auto {
    const STRATEGY: Strategy = Strategy::Auto;
}
impl<T: Kernels> Mult<T> for Auto {}
impl<T: Kernels> Division<T> for Auto {}

macro_rules! products {
    ($($name:ident),*) => {$(
        impl sealed::Sealed for $name {
            const STRATEGY: Strategy = Strategy::Product(Product::$name);
        }
        impl<T: Kernels> Mult<T> for $name {}
    )*};
}
products!(Classical, Karatsuba, TensorCore, Fft, Ntt, Fp64, Imad, Fused);

impl<M: sealed::Sealed> sealed::Sealed for ShiftedInverse<M> {
    const STRATEGY: Strategy = Strategy::ShiftedInverse(M::STRATEGY.product());
}
impl<T: Kernels, M: Mult<T>> Division<T> for ShiftedInverse<M> {}

impl<M: sealed::Sealed> sealed::Sealed for Blocked<M> {
    const STRATEGY: Strategy = Strategy::Blocked(M::STRATEGY.product());
}
impl<T: Kernels, M: Mult<T>> Division<T> for Blocked<M> {}
