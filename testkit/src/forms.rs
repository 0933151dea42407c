//! Forms of operations: the public methods that compute an operation of the catalogue, as data.
//!
//! A form names its arguments and the results that it returns. The table is expanded for batches of
//! a typed shape and for batches whose shape is a value.

use std::cmp::Ordering;
use std::marker::PhantomData;

use gpuint::num_bigint::BigUint;
use gpuint::{
    Auto, Batch, Blocked, Classical, Divisor, DynBatch, DynDivisor, DynFactor, Factor, Fft,
    Karatsuba, Kernels, Mask, Ntt, Op, Product, Result, ShiftedInverse, Strategy, TensorCore,
    Widen, Words,
};

use crate::cases::Expected;
use crate::launch::Params;
use crate::operands::ones;

/// Types of an interface.
pub trait Face: Sized + 'static {
    type Rows;
    type Divisor;
    type Digit: num_traits::NumCast + Copy;
    type Factor;

    fn factor(rows: &Self::Rows) -> Result<Self::Factor>;
    fn values(rows: &Self::Rows) -> Result<Vec<BigUint>>;
    fn try_clone(rows: &Self::Rows) -> Result<Self::Rows>;
    fn widening_mul(a: &Self::Rows, b: &Self::Rows) -> Result<Vec<BigUint>>;
    fn widening_mul_into(a: &Self::Rows, b: &Self::Rows) -> Result<Vec<BigUint>>;
}

/// [`Batch`] of a shape.
#[derive(Debug)]
pub struct Typed<T>(PhantomData<T>);

/// [`DynBatch`].
#[derive(Debug)]
pub struct Untyped;

impl<T: Kernels + Widen> Face for Typed<T> {
    type Rows = Batch<T>;
    type Divisor = Divisor<T>;
    type Digit = T::Digit;
    type Factor = Factor<T>;

    fn factor(rows: &Batch<T>) -> Result<Factor<T>> {
        Factor::new(rows)
    }

    fn values(rows: &Batch<T>) -> Result<Vec<BigUint>> {
        rows.to_biguints()
    }

    fn try_clone(rows: &Batch<T>) -> Result<Batch<T>> {
        rows.try_clone()
    }

    fn widening_mul(a: &Batch<T>, b: &Batch<T>) -> Result<Vec<BigUint>> {
        a.widening_mul::<T::Wide>(b)?.to_biguints()
    }

    fn widening_mul_into(a: &Batch<T>, b: &Batch<T>) -> Result<Vec<BigUint>> {
        let mut out = Batch::<T::Wide>::splat(a.device(), 3, a.len())?;
        a.widening_mul_into(b, &mut out)?;
        out.to_biguints()
    }
}

impl Face for Untyped {
    type Rows = DynBatch;
    type Divisor = DynDivisor;
    type Digit = u64;
    type Factor = DynFactor;

    fn factor(rows: &DynBatch) -> Result<DynFactor> {
        DynFactor::of_rows(rows)
    }

    fn values(rows: &DynBatch) -> Result<Vec<BigUint>> {
        rows.to_biguints()
    }

    fn try_clone(rows: &DynBatch) -> Result<DynBatch> {
        rows.try_clone()
    }

    fn widening_mul(a: &DynBatch, b: &DynBatch) -> Result<Vec<BigUint>> {
        a.widening_mul(b)?.to_biguints()
    }

    fn widening_mul_into(a: &DynBatch, b: &DynBatch) -> Result<Vec<BigUint>> {
        let mut out = a.widening_mul(b)?.not()?;
        a.widening_mul_into(b, &mut out)?;
        out.to_biguints()
    }
}

/// Values of a result, one for each row, and their batch if it is one of the width.
#[derive(Debug)]
pub struct Column<F: Face> {
    pub values: Vec<BigUint>,
    pub batch: Option<F::Rows>,
}

/// The results of a call.
pub type Columns<F> = Vec<Column<F>>;

/// Result of a method.
pub trait Returned<F: Face> {
    fn columns(self) -> Result<Columns<F>>;
}

/// A column of numbers on the host.
pub fn host<F: Face, N: Into<BigUint>>(numbers: impl IntoIterator<Item = N>) -> Columns<F> {
    vec![Column { values: numbers.into_iter().map(Into::into).collect(), batch: None }]
}

fn rows<F: Face>(batch: F::Rows) -> Result<Columns<F>> {
    Ok(vec![Column { values: F::values(&batch)?, batch: Some(batch) }])
}

impl<T: Kernels + Widen> Returned<Typed<T>> for Batch<T> {
    fn columns(self) -> Result<Columns<Typed<T>>> {
        rows(self)
    }
}

impl Returned<Untyped> for DynBatch {
    fn columns(self) -> Result<Columns<Untyped>> {
        rows(self)
    }
}

impl<F: Face> Returned<F> for () {
    fn columns(self) -> Result<Columns<F>> {
        Ok(Vec::new())
    }
}

impl<F: Face> Returned<F> for Mask {
    fn columns(self) -> Result<Columns<F>> {
        let bools = self.to_bools()?;
        assert_eq!(self.any()?, bools.contains(&true));
        assert_eq!(self.count()?, bools.iter().filter(|&&bit| bit).count());
        Ok(host(bools.into_iter().map(u64::from)))
    }
}

impl<F: Face> Returned<F> for Vec<Ordering> {
    /// Signed bytes.
    fn columns(self) -> Result<Columns<F>> {
        Ok(host(self.into_iter().map(|order| order as i8 as u8)))
    }
}

impl<F: Face> Returned<F> for Vec<i8> {
    /// Signed bytes.
    fn columns(self) -> Result<Columns<F>> {
        Ok(host(self.into_iter().map(|sign| sign as u8)))
    }
}

impl<F: Face> Returned<F> for Words {
    fn columns(self) -> Result<Columns<F>> {
        Ok(host(self.to_vec()?))
    }
}

impl<F: Face> Returned<F> for Vec<u64> {
    fn columns(self) -> Result<Columns<F>> {
        Ok(host(self))
    }
}

impl<F: Face> Returned<F> for Vec<BigUint> {
    fn columns(self) -> Result<Columns<F>> {
        Ok(host(self))
    }
}

impl<F: Face, A: Returned<F>, B: Returned<F>> Returned<F> for (A, B) {
    fn columns(self) -> Result<Columns<F>> {
        let mut columns = self.0.columns()?;
        columns.extend(self.1.columns()?);
        Ok(columns)
    }
}

impl<F: Face, A: Returned<F>, B: Returned<F>, C: Returned<F>> Returned<F> for (A, B, C) {
    fn columns(self) -> Result<Columns<F>> {
        ((self.0, self.1), self.2).columns()
    }
}

/// Kind of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arg {
    /// A second batch.
    B,
    /// A number for all rows instead.
    All,
    /// A prepared divisor.
    Divisor,
    /// A number for all rows instead.
    AllDivisor,
    /// A number for each row instead of a second batch.
    Each,
    /// A distance in bits.
    Distance,
    /// A distance in digits.
    Digits,
    /// A distance for each row.
    Distances,
    /// A divisor of one digit.
    Digit,
    /// Any number.
    Number,
    /// A batch for the first result, with old values.
    Out,
    /// A batch for the second result, with old values.
    Out2,
    /// A mask with old bits.
    OutMask,
    /// Words with old values.
    OutWords,
    /// Orders with old values.
    OutOrders,
}

/// A result of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    First,
    Second,
    /// Both halves of a product side by side.
    Joined,
    /// Bitwise functions.
    And,
    Or,
    Xor,
    Not,
    Mask,
}

/// Arguments of a call.
#[derive(Debug)]
pub struct Call<'a, F: Face> {
    pub a: &'a F::Rows,
    pub b: &'a F::Rows,
    /// The divisor, if the form has one.
    pub divisor: Option<&'a F::Divisor>,
    /// A distance, a divisor of one digit, or any number.
    pub n: u64,
    /// A number for all rows.
    pub all: BigUint,
    /// A number for each row.
    pub each: Vec<BigUint>,
    pub distances: Vec<usize>,
    pub out: F::Rows,
    pub out2: F::Rows,
    pub mask: Mask,
    pub words: Vec<u64>,
    pub orders: Vec<Ordering>,
}

impl<'a> Call<'a, Untyped> {
    /// Arguments of rows, and a number for all of them. Memory for results holds old values.
    ///
    /// # Errors
    /// Those of new batches.
    pub fn new(a: &'a DynBatch, b: &'a DynBatch, n: u64) -> Result<Self> {
        let (device, shape, rows) = (a.device(), a.shape(), a.len());
        let out = DynBatch::splat(device, shape, &ones(shape.bits), rows)?;
        Ok(Self {
            a,
            b,
            divisor: None,
            n,
            all: n.into(),
            each: vec![n.into(); rows],
            distances: vec![usize::try_from(n).unwrap_or(usize::MAX); rows],
            out2: out.try_clone()?,
            out,
            mask: Mask::from_bools(device, &vec![true; rows])?,
            words: vec![u64::MAX; rows],
            orders: vec![Ordering::Less; rows],
        })
    }
}

/// Result of an assigning form.
fn assigned<F: Face>(
    x: &Call<'_, F>,
    assign: impl FnOnce(&mut F::Rows, &F::Rows) -> Result<()>,
) -> Result<F::Rows> {
    let mut a = F::try_clone(x.a)?;
    assign(&mut a, x.b)?;
    Ok(a)
}

fn widening_mul<F: Face>(x: &Call<'_, F>) -> Result<Vec<BigUint>> {
    F::widening_mul(x.a, x.b)
}

fn widening_mul_into<F: Face>(x: &Call<'_, F>) -> Result<Vec<BigUint>> {
    F::widening_mul_into(x.a, x.b)
}

/// The divisor of a form that has one.
fn divisor<'a, F: Face>(x: &Call<'a, F>) -> &'a F::Divisor {
    x.divisor.expect("the form has a divisor")
}

/// The divisor of one digit.
fn digit<F: Face>(x: &Call<'_, F>) -> F::Digit {
    num_traits::cast(x.n).expect("the digit fits")
}

/// The second operand, prepared.
fn factor<F: Face>(x: &Call<'_, F>) -> Result<F::Factor> {
    F::factor(x.b)
}

/// Remainders by [`digit`].
fn words<F: Face>(_: &Call<'_, F>, digits: Vec<F::Digit>) -> Vec<u64> {
    digits.into_iter().map(|digit| num_traits::cast(digit).expect("digits fit words")).collect()
}

/// A way to compute an operation by the public interface.
#[derive(Debug)]
pub struct Form<F: Face> {
    /// Name of the method, or an expression.
    pub name: &'static str,
    pub op: Op,
    /// Results of the operation that it returns, in order.
    pub results: &'static [Pick],
    pub args: &'static [Arg],
    pub call: fn(Call<'_, F>) -> Result<Columns<F>>,
}

impl<F: Face> Form<F> {
    /// Returns true if it has this argument.
    pub fn takes(&self, arg: Arg) -> bool {
        self.args.contains(&arg)
    }

    /// Sets the parameters that select the results.
    pub fn select(&self, params: &mut Params) {
        params.joined = self.results.contains(&Pick::Joined);
        for result in self.results {
            match result {
                Pick::And => params.table = 0b1000,
                Pick::Or => params.table = 0b1110,
                Pick::Xor => params.table = 0b0110,
                Pick::Not => params.table = 0b0011,
                Pick::First | Pick::Second | Pick::Joined | Pick::Mask => {}
            }
        }
    }

    /// Expected columns from the expected rows of the operation.
    pub fn columns(&self, rows: &[Expected]) -> Vec<Vec<BigUint>> {
        let value = |pick: Pick, row: &Expected| match pick {
            Pick::Mask => row.mark.map(|bit| u64::from(bit).into()),
            Pick::Second => row.results[1].clone(),
            _ => row.results[0].clone(),
        };
        let column = |&pick: &Pick| -> Vec<BigUint> {
            rows.iter().map(|row| value(pick, row).expect("forms return results")).collect()
        };
        self.results.iter().map(column).collect()
    }
}

/// An argument of a kind as an expression.
macro_rules! argument {
    ($x:ident, B) => {
        $x.b
    };
    ($x:ident, All) => {
        &$x.all
    };
    ($x:ident, Divisor) => {
        divisor(&$x)
    };
    ($x:ident, AllDivisor) => {
        &$x.all
    };
    ($x:ident, Each) => {
        &$x.each
    };
    ($x:ident, Distance) => {
        $x.n as usize
    };
    ($x:ident, Digits) => {
        $x.n as usize
    };
    ($x:ident, Distances) => {
        &$x.distances
    };
    ($x:ident, Out) => {
        &mut $x.out
    };
    ($x:ident, Out2) => {
        &mut $x.out2
    };
    ($x:ident, OutMask) => {
        &mut $x.mask
    };
    ($x:ident, OutWords) => {
        &mut $x.words
    };
    ($x:ident, OutOrders) => {
        &mut $x.orders
    };
}

/// Appends the columns of an argument that a call has written.
macro_rules! written {
    ($x:ident, $columns:ident, Out) => {
        $columns.extend($x.out.columns()?)
    };
    ($x:ident, $columns:ident, Out2) => {
        $columns.extend($x.out2.columns()?)
    };
    ($x:ident, $columns:ident, OutMask) => {
        $columns.extend($x.mask.columns()?)
    };
    ($x:ident, $columns:ident, OutWords) => {
        $columns.extend($x.words.columns()?)
    };
    ($x:ident, $columns:ident, OutOrders) => {
        $columns.extend($x.orders.columns()?)
    };
    ($x:ident, $columns:ident, $input:ident) => {};
}

/// Rows by a strategy, in an interface.
macro_rules! by {
    (typed, $rows:expr, $strategy:ty, $value:expr) => {
        $rows.using::<$strategy>()
    };
    (untyped, $rows:expr, $strategy:ty, $value:expr) => {
        $rows.using($value)
    };
}

/// Appends a form of a row of the table: `op [results]`.
macro_rules! form {
    ($all:ident ($op:ident [$($pick:ident),*]) ($($arg:ident),*) $name:expr, $call:expr) => {
        $all.push(Form {
            name: $name,
            op: Op::$op,
            results: &[$(Pick::$pick),*],
            args: &[$(Arg::$arg),*],
            call: $call,
        });
    };
}

/// Appends the form that is a method of some rows.
macro_rules! method {
    ($all:ident $row:tt $name:ident($($arg:ident),*) $text:expr, |$x:ident| $rows:expr) => {
        form! { $all $row ($($arg),*) $text, |mut $x| {
            let rows = $rows;
            let returned = rows.$name($(argument!($x, $arg)),*)?;
            let mut columns = returned.columns()?;
            $(written!($x, columns, $arg);)*
            Ok(columns)
        } }
    };
}

/// Appends the forms of one method by several strategies.
macro_rules! strategies {
    ($all:ident $face:ident $row:tt $name:ident $args:tt by Products) => {
        strategies! { $all $face $row $name $args by OneProduct }
        strategies! { @ $all $face $row $name $args " by Classical", Classical, Product::Classical }
        strategies! {
            @ $all $face $row $name $args " by TensorCore", TensorCore, Product::TensorCore
        }
        strategies! { @ $all $face $row $name $args " by Fft", Fft, Product::Fft }
        strategies! { @ $all $face $row $name $args " by Ntt", Ntt, Product::Ntt }
    };
    ($all:ident $face:ident $row:tt $name:ident $args:tt by OneProduct) => {
        strategies! { @ $all $face $row $name $args " by Karatsuba", Karatsuba, Product::Karatsuba }
    };
    ($all:ident $face:ident $row:tt $name:ident $args:tt by Divisions) => {
        strategies! {
            @ $all $face $row $name $args
            " by ShiftedInverse<Classical>", ShiftedInverse<Classical>,
            Strategy::ShiftedInverse(Some(Product::Classical))
        }
        strategies! {
            @ $all $face $row $name $args " by Blocked", Blocked<Auto>, Strategy::Blocked(None)
        }
        strategies! {
            @ $all $face $row $name $args " by Blocked<Classical>", Blocked<Classical>,
            Strategy::Blocked(Some(Product::Classical))
        }
    };
    (
        @ $all:ident $face:ident $row:tt $name:ident $args:tt
        $text:literal, $strategy:ty, $value:expr
    ) => {
        method! {
            $all $row $name $args concat!(stringify!($name), $text),
            |x| by!($face, x.a, $strategy, $value)
        }
    };
}

/// Appends the forms of a row of the table.
macro_rules! forms_of {
    ($all:ident $face:ident $row:tt;) => {};
    (
        $all:ident $face:ident $row:tt;
        $name:ident $args:tt $(by $strategies:ident)?; $($more:tt)*
    ) => {
        method! { $all $row $name $args stringify!($name), |x| x.a }
        $(strategies! { $all $face $row $name $args by $strategies })?
        forms_of! { $all $face $row; $($more)* }
    };
    (
        $all:ident $face:ident $row:tt;
        $name:literal $args:tt = |$x:ident| $result:expr; $($more:tt)*
    ) => {
        form! { $all $row $args $name, |$x| {
            let returned: Result<_> = $result;
            returned?.columns()
        } }
        forms_of! { $all $face $row; $($more)* }
    };
}

/// Declares the forms of the operations by rooms.
macro_rules! rooms {
    ($($room:ident { $($op:ident $picks:tt { $($forms:tt)* })* })*) => {
        $(mod $room {
            use super::*;

            #[allow(unused_mut)]
            pub(super) fn typed<T: Kernels + Widen>(all: &mut Vec<Form<Typed<T>>>) {
                $(forms_of! { all typed ($op $picks); $($forms)* })*
            }

            #[allow(unused_mut)]
            pub(super) fn untyped(all: &mut Vec<Form<Untyped>>) {
                $(forms_of! { all untyped ($op $picks); $($forms)* })*
            }
        })*

        /// The forms over a typed shape.
        pub fn typed<T: Kernels + Widen>() -> Vec<Form<Typed<T>>> {
            let mut all = Vec::new();
            $($room::typed(&mut all);)*
            all
        }

        /// The forms over a shape that is a value.
        pub fn untyped() -> Vec<Form<Untyped>> {
            let mut all = Vec::new();
            $($room::untyped(&mut all);)*
            all
        }
    };
}

rooms! {
    sums {
        Add [First] {
            wrapping_add(B);
            wrapping_add_into(B, Out);
            wrapping_add_all(All);
            "wrapping_add_assign"(B) = |x| assigned(&x, |a, b| a.wrapping_add_assign(b));
            "a + b"(B) = |x| { x.a.wrapping_add(x.b)?; Ok(x.a + x.b) };
            "a += b"(B) = |x| assigned(&x, |a, b| { a.wrapping_add(b)?; *a += b; Ok(()) });
        }
        Add [First, Mask] { overflowing_add(B); overflowing_add_into(B, Out, OutMask); }
        Sub [First] {
            wrapping_sub(B);
            wrapping_sub_into(B, Out);
            wrapping_sub_all(All);
            "wrapping_sub_assign"(B) = |x| assigned(&x, |a, b| a.wrapping_sub_assign(b));
            "a - b"(B) = |x| { x.a.wrapping_sub(x.b)?; Ok(x.a - x.b) };
            "a -= b"(B) = |x| assigned(&x, |a, b| { a.wrapping_sub(b)?; *a -= b; Ok(()) });
        }
        Sub [First, Mask] { overflowing_sub(B); overflowing_sub_into(B, Out, OutMask); }
    }

    products {
        MulLo [First] {
            wrapping_mul(B) by Products;
            wrapping_mul_into(B, Out);
            wrapping_mul_all(All);
            "wrapping_mul_by"(B) = |x| x.a.wrapping_mul_by(&factor(&x)?);
            "wrapping_mul_assign"(B) = |x| assigned(&x, |a, b| a.wrapping_mul_assign(b));
            "a * b"(B) = |x| { x.a.wrapping_mul(x.b)?; Ok(x.a * x.b) };
            "a *= b"(B) = |x| assigned(&x, |a, b| { a.wrapping_mul(b)?; *a *= b; Ok(()) });
        }
        SquareLo [First] {
            wrapping_square();
            wrapping_square_into(Out);
            "a * a"() = |x| x.a.wrapping_mul(x.a);
        }
        MulCyclic [First] {
            cyclic_mul(B);
            cyclic_mul_into(B, Out);
            "cyclic_mul_by"(B) = |x| x.a.cyclic_mul_by(&factor(&x)?);
        }
        MulWide [First, Second] {
            mul_lo_hi(B);
            mul_lo_hi_into(B, Out, Out2) by OneProduct;
            "mul_lo_hi_by"(B) = |x| x.a.mul_lo_hi_by(&factor(&x)?);
        }
        MulWide [Joined] {
            "widening_mul"(B) = |x| widening_mul(&x);
            "widening_mul_into"(B) = |x| widening_mul_into(&x);
        }
    }

    quotients {
        DivRem [First, Second] {
            div_rem(B) by Divisions;
            div_rem_into(B, Out, Out2) by Divisions;
            "a / b, a % b"(B) = |x| { x.a.div(x.b)?; Ok((x.a / x.b, x.a % x.b)) };
        }
        DivRem [First] {
            div(B) by Divisions;
            div_into(B, Out);
            "div_assign"(B) = |x| assigned(&x, |a, b| a.div_assign(b));
            "a /= b"(B) = |x| assigned(&x, |a, b| { a.div(b)?; *a /= b; Ok(()) });
        }
        DivRem [Second] {
            rem(B);
            rem_into(B, Out) by Divisions;
            "rem_assign"(B) = |x| assigned(&x, |a, b| a.rem_assign(b));
            "a %= b"(B) = |x| assigned(&x, |a, b| { a.rem(b)?; *a %= b; Ok(()) });
        }
        DivRem [First, Second, Mask] {
            div_rem_masked(B);
            div_rem_masked_into(B, Out, Out2, OutMask);
        }
        DivExact [First, Mask] { div_exact_masked(B); div_exact_masked_into(B, Out, OutMask); }
        InverseModPow2 [First, Mask] { inverse_mod_pow2(); inverse_mod_pow2_into(Out, OutMask); }
        DivRemDigit [First, Second] {
            "div_rem_digit"(Digit) = |x| {
                let (quotient, remainders) = x.a.div_rem_digit(digit(&x))?;
                Ok((quotient, words(&x, remainders)))
            };
            "div_rem_digit_into"(Digit, Out) = |x| {
                let mut remainders = vec![digit(&x); x.a.len()];
                let mut x = x;
                x.a.div_rem_digit_into(digit(&x), &mut x.out, &mut remainders)?;
                let remainders = words(&x, remainders);
                Ok((x.out, remainders))
            };
            "div_rem_digit_words"(Digit) = |x| x.a.div_rem_digit_words(x.n);
            "div_rem_digit_words_into"(Digit, Out) = |x| {
                let mut remainders = x.a.rem_digit_words(1)?;
                let mut x = x;
                x.a.div_rem_digit_words_into(x.n, &mut x.out, &mut remainders)?;
                Ok((x.out, remainders))
            };
        }
        DivRemDigit [Second] {
            "rem_digit"(Digit) = |x| Ok(words(&x, x.a.rem_digit(digit(&x))?));
            "rem_digit_words_into"(Digit) = |x| {
                let mut remainders = x.a.rem_digit_words(1)?;
                x.a.rem_digit_words_into(x.n, &mut remainders)?;
                Ok(remainders)
            };
        }
        DivRemBy [First, Second] {
            div_rem_by(Divisor);
            div_rem_by_into(Divisor, Out, Out2);
            div_rem_all(AllDivisor);
        }
        DivRemBy [First] { div_by(Divisor); div_by_into(Divisor, Out); div_all(AllDivisor); }
        DivRemBy [Second] { rem_by(Divisor); rem_by_into(Divisor, Out); rem_all(AllDivisor); }
    }

    modular {
        MulMod [First] { mul_mod(B, Divisor); mul_mod_into(B, Divisor, Out); }
        SquareMod [First] {
            square_mod(Divisor);
            square_mod_into(Divisor, Out);
            "mul_mod of one batch"(Divisor) = |x| x.a.mul_mod(x.a, divisor(&x));
            "square_mod_repeatedly"(Divisor) = |x| x.a.square_mod_repeatedly(1, divisor(&x));
        }
        AddMod [First] { add_mod(B, Divisor); add_mod_into(B, Divisor, Out); }
        SubMod [First] { sub_mod(B, Divisor); sub_mod_into(B, Divisor, Out); }
        NegMod [First] { neg_mod(Divisor); neg_mod_into(Divisor, Out); }
        PowMod [First] {
            pow_mod(B, Divisor);
            pow_mod_into(B, Divisor, Out);
            pow_mod_all(All, Divisor);
            pow_mod_all_into(All, Divisor, Out);
            pow_mod_rows(Each, Divisor);
            pow_mod_rows_into(Each, Divisor, Out);
        }
        PowProductMod [First] {
            "pow_product_mod"(B, Divisor) = |x| x.a.pow_product_mod(x.b, 1, divisor(&x));
        }
    }

    shifts {
        Shl [First] {
            shl(Distance);
            shl_into(Distance, Out);
            shl_digits(Digits);
            shl_digits_into(Digits, Out);
        }
        Shr [First] {
            shr(Distance);
            shr_into(Distance, Out);
            shr_digits(Digits);
            shr_digits_into(Digits, Out);
        }
        ShlRows [First] { shl_rows(Distances); shl_rows_into(Distances, Out); }
        ShrRows [First] { shr_rows(Distances); shr_rows_into(Distances, Out); }
    }

    bits {
        Bitwise [And] { and(B); and_into(B, Out); and_all(All); }
        Bitwise [Or] { or(B); or_into(B, Out); or_all(All); }
        Bitwise [Xor] { xor(B); xor_into(B, Out); xor_all(All); }
        Bitwise [Not] { not(); not_into(Out); }
        BitMask [Mask] { bit_mask(Distance); }
        BitLengths [First] { bit_lengths(); bit_lengths_into(OutWords); }
        CountOnes [First] { count_ones(); }
        TrailingZeros [First] { trailing_zeros(); }
    }

    comparisons {
        Cmp [First] { cmp(B); cmp_into(B, OutOrders); cmp_all(All); }
        EqMask [Mask] { eq_mask(B); eq_mask_into(B, OutMask); eq_mask_all(All); }
        LtMask [Mask] { lt_mask(B); lt_mask_into(B, OutMask); lt_mask_all(All); }
        IsZeroMask [Mask] { is_zero_mask(); is_zero_mask_into(OutMask); }
    }

    divisors {
        Gcd [First] { gcd(B); gcd_into(B, Out); }
        InverseMod [First, Mask] { inverse_mod(B); inverse_mod_into(B, Out, OutMask); }
        Jacobi [First] { jacobi(B); }
    }

    roots {
        Isqrt [First] { isqrt(); }
        Isqrt [First, Second] { isqrt_rem(); }
    }
}
