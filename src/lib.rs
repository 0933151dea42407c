//! Exact arithmetic on batches of big unsigned integers, on NVIDIA GPUs.
//!
//! A [`Batch`] holds thousands of integers of one width on a [`Device`]: a GPU, or the CPU of a
//! machine without one. An operation computes all rows at once, and every row is exact. Bad input
//! returns an [`Error`]. The default build has widths of 256 to 2^20 bits; a [`DynBatch`] may have
//! up to 2^31 bits ([`Shape::is_long`]).
//!
//! ```
//! use gpuint::num_bigint::BigUint;
//! use gpuint::{Batch, Device, GpuUint};
//!
//! let device = Device::new()?; // the first GPU, else the CPU
//! let numbers: Vec<BigUint> = (1u32..=1000).map(|n| BigUint::from(n).pow(90)).collect();
//! let u = Batch::<GpuUint<1024>>::from_biguints(&device, &numbers)?;
//! let v = Batch::splat(&device, &BigUint::from(7u32).pow(60), u.len())?;
//! let (q, r) = u.div_rem(&v)?;
//! assert!((&(&q * &v) + &r).is_equal(&u)?);
//! # Ok::<(), gpuint::Error>(())
//! ```
//!
//! # Find your way by task
//!
//! **Make a batch.** Declare a width with [`gpu_uint!`] or write [`GpuUint`]; [`shapes`] lists the
//! widths of the build, and [`JitUint`] compiles the kernels of any other at first use. Fill a
//! batch [from integers](Batch::from_biguints), [primitive ones](Batch::from_numbers) or
//! [those of other crates](Batch::from_integers), from [digits](Batch::from_digits),
//! [bytes](Batch::from_le_bytes), [text](Batch::from_decimal) or [one value](Batch::splat), and
//! read it back with [`to_biguints`](Batch::to_biguints),
//! [`to_digits`](Batch::to_digits), [`to_decimal`](Batch::to_decimal), into memory that is reused
//! [`to_decimal_into`](Batch::to_decimal_into), or [`row`](Batch::row).
//!
//! **Add and subtract.** [`wrapping_add`](Batch::wrapping_add),
//! [`overflowing_sub`](Batch::overflowing_sub) with a mask of the borrows,
//! [`wrapping_sum`](Batch::wrapping_sum) of a batch, and the operators `+`, `-`, `+=`.
//!
//! **Multiply.** [`wrapping_mul`](Batch::wrapping_mul) modulo `2^BITS`,
//! [`widening_mul`](Batch::widening_mul) in rows of twice the width,
//! [`mul_lo_hi`](Batch::mul_lo_hi) in two halves, [`wrapping_square`](Batch::wrapping_square),
//! [`cyclic_mul`](Batch::cyclic_mul) modulo `2^BITS - 1`,
//! [`negacyclic_mul`](Batch::negacyclic_mul) modulo `2^BITS + 1`,
//! [`mul_add`](Batch::mul_add), [`wrapping_polynomial`](Batch::wrapping_polynomial), and
//! [`wrapping_sum_of_products`](Batch::wrapping_sum_of_products) of pairs of batches. A [`Factor`]
//! is prepared for many products.
//!
//! **Divide.** [`div_rem`](Batch::div_rem), [`div`](Batch::div) and [`rem`](Batch::rem);
//! [`div_rem_masked`](Batch::div_rem_masked) where divisors may be zero;
//! [`div_exact`](Batch::div_exact) for rows without remainder;
//! [`div_rem_wide`](Batch::div_rem_wide) for dividends of twice the width;
//! [`div_rem_all`](Batch::div_rem_all) by one value and [`div_rem_digit`](Batch::div_rem_digit) by
//! one digit; [`shifted_inverse`](Batch::shifted_inverse) for reciprocals and
//! [`inverse_mod_pow2`](Batch::inverse_mod_pow2) for inverses modulo `2^BITS`.
//!
//! **Divide often by the same divisor, and compute modulo it.** Prepare a [`Divisor`] once, then
//! use [`div_rem_by`](Batch::div_rem_by), [`mul_mod`](Batch::mul_mod),
//! [`square_mod`](Batch::square_mod), [`pow_mod`](Batch::pow_mod),
//! [`pow_mod_all`](Batch::pow_mod_all), with exponents of any length
//! [`pow_mod_rows`](Batch::pow_mod_rows), for `x^(2^t)`
//! [`square_mod_repeatedly`](Batch::square_mod_repeatedly) and, for products of powers,
//! [`pow_product_mod`](Batch::pow_product_mod). [`Residues`] keep chains of modular operations in
//! the form in which products are fastest, and a [`FixedBase`] computes many powers of one base.
//! A [`SpecialModulus`] `k 2^n + c` reduces products in linear time.
//!
//! **Number theory.** [`gcd`](Batch::gcd), [`xgcd`](Batch::xgcd) with Bézout's cofactors,
//! [`overflowing_lcm`](Batch::overflowing_lcm), [`inverse_mod`](Batch::inverse_mod),
//! [`jacobi`](Batch::jacobi). [`inverse_mod_all`](Batch::inverse_mod_all) has one modulus for all
//! rows. [`isqrt_rem`](Batch::isqrt_rem) and [`nth_root_rem`](Batch::nth_root_rem) compute roots,
//! and [`perfect_powers`](Batch::perfect_powers) finds powers. A [`ProductTree`] multiplies all
//! rows and reduces a number modulo all rows, [`batch_gcd`](Batch::batch_gcd) finds common divisors
//! between rows, [`batch_gcd_against`](Batch::batch_gcd_against) also with older collections, and
//! [`shared_factors`](Batch::shared_factors) the factors and the rows that share them. [`Crt`] goes
//! from numbers to residues and back.
//! [`rational_reconstruction`](Batch::rational_reconstruction) finds fractions from their images
//! modulo a number.
//!
//! **Primes.** [`is_probable_prime`](Batch::is_probable_prime) is exact below `2^64`;
//! [`is_strong_probable_prime`](Batch::is_strong_probable_prime) and
//! [`is_strong_lucas_probable_prime`](Batch::is_strong_lucas_probable_prime) are its parts, and
//! [`fermat_residues`](Batch::fermat_residues) has RES64.
//! [`has_small_factor`](Batch::has_small_factor) divides by small primes,
//! [`next_prime`](Batch::next_prime) searches above the rows, and
//! [`random_primes`](Batch::random_primes) and [`random_safe_primes`](Batch::random_safe_primes)
//! draw from the randomness of the operating system. [`sieve`] has primes, small factors of many
//! numbers, and joint sieves of twins, safe primes and other constellations.
//!
//! **Signed integers.** A [`SignedBatch`] has signs and magnitudes: sums, products, comparisons,
//! and quotients by three rules of rounding. [`xgcd_signed`](Batch::xgcd_signed) returns cofactors.
//!
//! **Compare, and work with whole rows.** [`cmp`](Batch::cmp), [`lt_mask`](Batch::lt_mask) and
//! [`is_equal`](Batch::is_equal) return orders and a [`Mask`];
//! [`filter`](Batch::filter), [`select`](Batch::select), [`slice`](Batch::slice),
//! [`gather`](Batch::gather) and [`concat`](Batch::concat) move rows;
//! [`sort`](Batch::sort) and [`unique`](Batch::unique) order them by value;
//! [`widen`](Batch::widen), [`narrow`](Batch::narrow), [`split`](Batch::split) and
//! [`join`](Batch::join) change their width.
//!
//! **Bits.** [`and`](Batch::and), [`xor`](Batch::xor), [`shl`](Batch::shl),
//! [`shr_rows`](Batch::shr_rows), [`low_bits`](Batch::low_bits),
//! [`bit_lengths`](Batch::bit_lengths), [`count_ones`](Batch::count_ones).
//!
//! **Widths known only at run time.** [`DynBatch`] and [`DynDivisor`] have the same operations;
//! [`widths`] lists the widths, [`narrowest`] finds the one that fits, and [`DynBatch::fitting`]
//! uses it. [`Device::with_jit`] accepts widths that are not built; [`Device::narrowest`] and
//! [`Device::shape_for`] find one. Above 2^20 bits every multiple of 64 up to 2^31 is a width
//! ([`Shape::is_long`]). A GPU has kernels of products, sums, comparisons and moves of such rows,
//! and composes divisions, powers, roots and common divisors of them; docs/wider.md lists the
//! operations that copy the rows to the CPU.
//!
//! **Choose an algorithm.** Operations select the fastest one ([`Auto`]). [`using`](Batch::using)
//! selects another: `u.using::<Blocked<Fft>>().div_rem(&v)?`. Products are by [`Classical`],
//! [`Karatsuba`], [`TensorCore`], [`Fft`], [`Ntt`], [`Fp64`], [`Imad`] or [`Fused`], divisions by
//! [`Blocked`] or [`ShiftedInverse`]; [`is_offered`] and [`algorithms`] list the algorithms of a
//! width.
//!
//! **Reuse memory.** Most operations `x` have a form `x_into` that writes to existing batches, and
//! [`wrapping_add_assign`](Batch::wrapping_add_assign) and its like work in place.
//!
//! **Copy and compute at once.** [`HostBatch`] holds pinned rows with queued
//! [`upload`](Batch::upload) and [`download`](Batch::download); [`Device::queue`] opens another
//! queue on a GPU, and [`Device::record`] returns an [`Event`] to wait for.
//!
//! **Use all GPUs.** A [`Pool`] computes the rows of one operation on several devices, in order and
//! without loss if a GPU fails.
//!
//! **Stop early.** [`interruptible`] ends long calls on request, with [`Error::Interrupted`].
//!
//! **Check results on the device.** [`Device::verified`] finds wrong rows of faulty hardware.
//!
//! **Devices, errors, tuning.** [`Device::new`], [`Device::cuda`] and [`Device::cpu`] open a
//! device; [`Device::time`] measures it; [`Device::tuning`] returns the table that [`Auto`]
//! follows. [`Error`] lists every reason for a failure.
//!
//! # Secrets
//!
//! Times depend on the values: do not use this crate with secret numbers, except as operands of
//! [`DynBatch::pow_secret`] and [`DynBatch::mul_add_secret`].

#![cfg_attr(docsrs, feature(doc_cfg))]

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod auto;
mod backend;
mod batch;
mod convert;
mod device;
mod digit;
#[doc(hidden)]
pub mod digits;
#[doc(hidden)]
pub mod direct;
mod divisor;
mod dyn_batch;
mod error;
mod event;
mod factor;
mod faults;
mod host_batch;
mod interrupt;
mod kernel;
mod mask;
mod ops;
mod pool;
mod process;
mod rows;
mod selfridge;
mod shape;
pub mod sieve;
mod special;
mod strategy;
mod texts;
#[doc(hidden)]
pub mod threads;
#[doc(hidden)]
pub mod tuning;
mod typed;
mod value;
mod verify;
mod words;

pub use auto::{Gpu, Tuning, TuningFit};
pub use backend::BackendKind;
#[cfg(feature = "simt")]
#[doc(hidden)]
pub use backend::long::recorded;
#[cfg(feature = "simt")]
#[cfg_attr(docsrs, doc(cfg(feature = "simt")))]
pub use backend::simt::SimtOptions;
#[cfg(feature = "simt")]
#[doc(hidden)]
pub use backend::simt::{Upset, plan_upset, rare_paths};
pub use batch::Batch;
#[cfg(feature = "proptest")]
#[cfg_attr(docsrs, doc(cfg(feature = "proptest")))]
pub use convert::arbitrary;
pub use convert::integers::Integer;
#[cfg(feature = "serde")]
pub use convert::serialize::OnDevice;
pub use device::Device;
pub use digit::Digit;
pub use divisor::{Divisor, DynDivisor};
pub use dyn_batch::DynBatch;
pub use error::{Error, Result};
pub use event::{Event, Finished};
pub use factor::{DynFactor, Factor};
#[doc(hidden)]
pub use faults::Faults;
pub use gpuint_catalogue::{
    Algorithm, DigitKind, MAX_BITS, MAX_GROUP, MAX_LONG_BITS, Op, Product, Shape,
};
pub use host_batch::HostBatch;
pub use interrupt::interruptible;
pub use kernel::{algorithms, is_offered};
pub use mask::Mask;
pub use num_bigint;
pub use ops::crt::{Crt, DynCrt};
pub use ops::fixed_base::{DynFixedBase, FixedBase};
pub use ops::residues::{DynModulus, DynResidues, Modulus, Residues};
pub use ops::secret::{SecretBatch, SecretExponents, SecretFactor, SecretModulus};
pub use ops::signed::{DynSignedBatch, SignedBatch};
pub use ops::tree::checkpoint::Checkpoint;
pub use ops::tree::shared::SharedFactors;
pub use ops::tree::{DynProductTree, ProductTree};
pub use ops::using::{DynUsing, Using};
pub use pool::{Chunk, Pool, RowsMut, Share};
#[doc(hidden)]
pub use shape::{Declared, Named, built_bits};
pub use shape::{Double, GpuUint, JitUint, Kernels, Widen, narrowest, shapes, widths};
pub use special::SpecialModulus;
pub use strategy::{
    Auto, Blocked, Classical, Division, Fft, Fp64, Fused, Imad, Karatsuba, Mult, Ntt,
    ShiftedInverse, Strategy, TensorCore,
};
pub use texts::Texts;
pub use value::Value;
pub use words::Words;
