//! Operations that the library composes from those of the catalogue, and their expected results.

use gpuint::num_bigint::{BigInt, BigUint, Sign};
use gpuint::{
    Batch, Crt, Error, FixedBase, Modulus, ProductTree, Residues, Result, SignedBatch, Widen,
};
use gpuint_testkit::forms::{Arg, Call, Columns, Returned, Typed};
use gpuint_testkit::{oracle, primes};
use num_traits::{One, Zero};

use crate::program::ANY;

/// Bits of exponents: powers take long.
const EXPONENT_BITS: usize = 9;
/// Leaves of a product tree: their product fits in twice the width.
const LEAVES: usize = 2;

/// The call of an operation.
type Method<T> = fn(Call<'_, Typed<T>>) -> Result<Columns<Typed<T>>>;

/// An operation, with its own expected results.
pub(crate) struct Composition<T: Widen> {
    pub(crate) name: &'static str,
    pub(crate) args: &'static [Arg],
    pub(crate) call: Method<T>,
    pub(crate) model: Model,
}

/// Expected results.
#[derive(Clone, Copy)]
pub(crate) enum Model {
    /// By row.
    Row(fn(&Row<'_>) -> Outcome),
    /// Of whole batches.
    All(fn(&Batches<'_>) -> Result<Vec<Vec<BigUint>>>),
}

/// Row of the operands.
pub(crate) struct Row<'a> {
    pub(crate) a: &'a BigUint,
    pub(crate) b: &'a BigUint,
    pub(crate) n: u64,
    pub(crate) bits: usize,
    pub(crate) digit_bits: usize,
}

/// The operands.
pub(crate) struct Batches<'a> {
    pub(crate) a: &'a [BigUint],
    pub(crate) b: &'a [BigUint],
    pub(crate) n: u64,
    pub(crate) bits: usize,
}

/// Reason why a row has no result.
pub(crate) enum Fail {
    ZeroDivisor,
    /// Bits of the result; [`ANY`] if they are not computed.
    TooWide(u64),
}

pub(crate) type Outcome = std::result::Result<Vec<BigUint>, Fail>;

impl Row<'_> {
    fn exponent(&self) -> BigUint {
        oracle::shr(self.b, self.bits - EXPONENT_BITS)
    }

    /// A value cut to the width, and a flag of values that are wider.
    fn cut(&self, value: &BigUint) -> [BigUint; 2] {
        [oracle::shl(value, 0, self.bits), flag(value.bits() > self.bits as u64)]
    }
}

impl<'a> Batches<'a> {
    /// The leaves and their product.
    fn leaves(&self) -> (&'a [BigUint], BigUint) {
        let leaves = &self.a[..self.a.len().min(LEAVES)];
        (leaves, oracle::product(leaves))
    }

    /// The leaves and their product, if no leaf is zero.
    fn positive_leaves(&self) -> Result<(&'a [BigUint], BigUint)> {
        match self.a.iter().take(LEAVES).position(Zero::is_zero) {
            Some(row) => Err(Error::DivisionByZero { row }),
            None => Ok(self.leaves()),
        }
    }

    fn sorted(&self) -> Vec<BigUint> {
        let mut rows = self.a.to_vec();
        rows.sort_by(oracle::cmp);
        rows
    }
}

/// The leaves of a call.
fn leaves<T: Widen>(x: &Call<'_, Typed<T>>) -> Result<Batch<T>> {
    x.a.slice(0..x.a.len().min(LEAVES))
}

/// Short exponents of a call.
fn exponents<T: Widen>(x: &Call<'_, Typed<T>>) -> Result<Batch<T>> {
    x.b.shr(T::BITS - EXPONENT_BITS)
}

/// Signed operands of a call: a low bit of a row is its sign.
fn signed_operands<T: Widen>(x: &Call<'_, Typed<T>>) -> Result<[SignedBatch<T>; 2]> {
    let a = SignedBatch::from_parts(x.a.try_clone()?, &x.a.bit_mask(0)?)?;
    Ok([a, SignedBatch::from_parts(x.b.try_clone()?, &x.b.bit_mask(1)?)?])
}

/// The same for the model.
fn signed(x: &Row<'_>) -> [BigInt; 2] {
    [(x.a, 0), (x.b, 1)].map(|(value, bit)| {
        let sign = if value.bit(bit) { Sign::Minus } else { Sign::Plus };
        BigInt::from_biguint(sign, value.clone())
    })
}

/// Magnitude and sign.
fn parts(value: &BigInt) -> [BigUint; 2] {
    [value.magnitude().clone(), flag(value.sign() == Sign::Minus)]
}

/// `(a / v, a mod v)`.
fn quotient(a: &BigUint, v: &BigUint) -> std::result::Result<(BigUint, BigUint), Fail> {
    if v.is_zero() { Err(Fail::ZeroDivisor) } else { Ok(oracle::div_rem(a, v)) }
}

/// A number for all rows, not 0.
fn positive<T: Widen>(x: &Call<'_, Typed<T>>) -> u64 {
    x.n.max(1)
}

fn flag(bit: bool) -> BigUint {
    u64::from(bit).into()
}

fn same(x: &Row<'_>) -> Outcome {
    Ok(vec![x.a.clone()])
}

/// `floor(B^n / a)`.
fn inverse(x: &Row<'_>) -> Outcome {
    if x.a.is_zero() {
        return Err(Fail::ZeroDivisor);
    }
    let distance = usize::try_from(x.n).unwrap_or(usize::MAX).saturating_mul(x.digit_bits);
    // Beyond this width no result fits, and no memory holds a power of two of that size.
    let inverse = oracle::inverse(x.a, distance.min(2 * x.bits));
    let bits = if distance > 2 * x.bits { ANY } else { inverse.bits() };
    if bits > x.bits as u64 { Err(Fail::TooWide(bits)) } else { Ok(vec![inverse]) }
}

fn inverse_modulo(x: &Row<'_>) -> Outcome {
    let inverse = oracle::inverse_mod(x.a, &x.n.into());
    let without = flag(inverse.is_none());
    Ok(vec![inverse.unwrap_or_default(), without])
}

fn rotated_left(x: &Row<'_>) -> Outcome {
    let bits = (x.n % x.bits as u64) as usize;
    Ok(vec![oracle::shl(x.a, bits, x.bits) + oracle::shr(x.a, x.bits - bits)])
}

fn fraction(x: &Row<'_>) -> Outcome {
    let bound = oracle::shr(x.b, x.bits / 2);
    let u = oracle::div_rem_masked(x.a, x.b, x.bits).1;
    let (n, d, is_negative) = oracle::remainder_of(&u, x.b, &bound);
    let is_fraction = !x.b.is_zero() && d <= bound && oracle::gcd(&n, &d).is_one() && !d.is_zero();
    Ok(match is_fraction {
        true => vec![n, d, flag(is_negative), flag(false)],
        false => vec![BigUint::zero(), BigUint::zero(), flag(false), flag(true)],
    })
}

fn signed_results(x: &Row<'_>) -> Outcome {
    let [a, b] = signed(x);
    let sums = [oracle::signed_sum(&a, &b), oracle::signed_sum(&a, &-&b)];
    let results = sums.into_iter().chain([oracle::signed_product(&a, &b)]);
    let columns = results.flat_map(|value| {
        let [magnitude, overflows] = x.cut(value.magnitude());
        let negative = value.sign() == Sign::Minus && !magnitude.is_zero();
        [magnitude, flag(negative), overflows, flag(a < b)]
    });
    Ok(columns.collect())
}

fn signed_quotients(x: &Row<'_>) -> Outcome {
    let [a, b] = signed(x);
    if b.is_zero() {
        return Err(Fail::ZeroDivisor);
    }
    let rules = [oracle::div_rem_to_zero, oracle::div_rem_down, oracle::div_rem_euclid];
    let results = rules.iter().map(|divide| divide(&a, &b));
    Ok(results.flat_map(|(q, r)| [parts(&q), parts(&r)]).flatten().collect())
}

/// Declares a room of compositions: a name, the arguments, the call, and the expected rows or
/// (`all`) columns.
macro_rules! room {
    (
        $room:ident;
        $($name:literal($($arg:ident),*) = |$x:ident| $result:expr, $model:tt $of:expr;)*
    ) => {
        fn $room<T: Widen>(all: &mut Vec<Composition<T>>) {
            $(all.push(Composition {
                name: $name,
                args: &[$(Arg::$arg),*],
                call: |$x| {
                    let returned: Result<_> = $result;
                    returned?.columns()
                },
                model: room!(@ $model $of),
            });)*
        }
    };
    (@ row $of:expr) => { Model::Row($of) };
    (@ all $of:expr) => { Model::All($of) };
}

/// Every composition.
pub(crate) fn compositions<T: Widen>() -> Vec<Composition<T>> {
    let rooms: [fn(&mut Vec<Composition<T>>); 10] =
        [quotients, modular, sums, bits, divisors, roots, signs, trees, order, conversions];
    let mut all = Vec::new();
    rooms.iter().for_each(|room| room(&mut all));
    all
}

room! { quotients;
    "div_exact"(B) = |x| x.a.div(x.b)?.wrapping_mul(x.b)?.div_exact(x.b),
        row |x| quotient(x.a, x.b).map(|(q, _)| vec![q]);
    "div_exact_into"(B, Out) = |x| {
        let mut x = x;
        x.a.div(x.b)?.wrapping_mul(x.b)?.div_exact_into(x.b, &mut x.out)?;
        Ok(x.out)
    }, row |x| quotient(x.a, x.b).map(|(q, _)| vec![q]);
    "div_exact_all"() = |x| {
        let n = positive(&x);
        x.a.div_all(n)?.wrapping_mul_all(n)?.div_exact_all(n)
    }, row |x| quotient(x.a, &x.n.max(1).into()).map(|(q, _)| vec![q]);
    "div_rem_wide"(B) = |x| {
        let (q, r) = x.a.div_rem_wide::<T::Wide>(x.b, x.b)?;
        Ok((q.to_biguints()?, r))
    }, row |x| quotient(&(x.a + (x.b << x.bits)), x.b).map(|(q, r)| vec![q, r]);
    "shifted_inverse"() = |x| x.a.shifted_inverse(x.n as usize), row inverse;
    "shifted_inverse_into"(Out) = |x| {
        let mut x = x;
        x.a.shifted_inverse_into(x.n as usize, &mut x.out)?;
        Ok(x.out)
    }, row inverse;
}

room! { modular;
    "residues"(B) = |x| {
        x.a.wrapping_add(x.b)?;
        let modulus = match x.n & 2 {
            0 => Modulus::splat(x.a.device(), positive(&x))?,
            _ => Modulus::new(x.b)?,
        };
        let (a, b) = (Residues::new(x.a, &modulus)?, Residues::new(&x.a.not()?, &modulus)?);
        a.mul(&b)?.add(&a.square()?)?.sub(&b.neg()?)?.to_batch()
    }, row |x| {
        let modulus = if x.n & 2 == 0 { x.n.max(1).into() } else { x.b.clone() };
        let b = (BigUint::one() << x.bits) - 1u32 - x.a;
        quotient(&(x.a * &b + x.a * x.a + &b), &modulus).map(|(_, r)| vec![r])
    };
    "residues of an odd modulus"(B) = |x| {
        let modulus = Modulus::splat(x.a.device(), x.n | 1)?;
        let (a, b) = (Residues::new(x.a, &modulus)?, Residues::new(x.b, &modulus)?);
        let same = a.halve()?.double()?;
        let greater = a.select(&a.eq_mask(&same)?, &b)?;
        greater.pow(&exponents(&x)?)?.mul(&b.pow_all(5)?)?.to_batch()
    }, row |x| {
        let modulus = BigUint::from(x.n | 1);
        let power = oracle::pow_mod(x.a, &x.exponent(), &modulus);
        let other = oracle::pow_mod(x.b, &5u32.into(), &modulus);
        Ok(vec![oracle::mul_mod(&power, &other, &modulus)])
    };
    "fixed base"(B) = |x| {
        let (base, modulus) = (x.n % 1000, (x.n >> 10) | 1);
        let base = FixedBase::new(x.a.device(), &base.into(), &modulus.into(), EXPONENT_BITS)?;
        x.a.wrapping_add(&base.pow(&exponents(&x)?)?)
    }, row |x| {
        let (base, modulus) = (BigUint::from(x.n % 1000), BigUint::from((x.n >> 10) | 1));
        let power = oracle::pow_mod(&base, &x.exponent(), &modulus);
        Ok(vec![oracle::add(&power, x.a, x.bits).0])
    };
    "inverse_mod_all"() = |x| x.a.inverse_mod_all(x.n), row inverse_modulo;
}

room! { sums;
    "mul_add"(B) = |x| x.a.mul_add(x.b, x.b),
        row |x| Ok(vec![oracle::shl(&(x.a * x.b + x.b), 0, x.bits)]);
    "mul_sub"(B) = |x| x.a.mul_sub(x.b, x.a), row |x| {
        let product = oracle::mul(x.a, x.b, x.bits).0;
        Ok(vec![oracle::sub(&product, x.a, x.bits).0])
    };
    "negacyclic_mul"(B) = |x| x.a.negacyclic_mul(x.b), row |x| {
        let (product, is_minus_one) = oracle::mul_negacyclic(x.a, x.b, x.bits);
        Ok(vec![product, flag(is_minus_one)])
    };
    "sums of products"(B) = |x| {
        let pairs = [(x.a, x.b), (x.b, x.b), (x.a, x.a)];
        let low = Batch::wrapping_sum_of_products(&pairs)?;
        let (wide, overflow) = Batch::widening_sum_of_products::<T::Wide>(&pairs)?;
        Ok((low, wide.to_biguints()?, overflow))
    }, row |x| {
        let sum = x.a * x.b + x.b * x.b + x.a * x.a;
        let overflows = flag(sum.bits() > 2 * x.bits as u64);
        Ok(vec![oracle::shl(&sum, 0, x.bits), oracle::shl(&sum, 0, 2 * x.bits), overflows])
    };
    "wrapping_sum"() = |x| Ok(vec![x.a.wrapping_sum()?]),
        all |x| Ok(vec![vec![oracle::shl(&x.a.iter().sum(), 0, x.bits)]]);
    "wrapping_dot"(B) = |x| Ok(vec![x.a.wrapping_dot(x.b)?]), all |x| {
        let dot = x.a.iter().zip(x.b).fold(BigUint::zero(), |dot, (a, b)| dot + a * b);
        Ok(vec![vec![oracle::shl(&dot, 0, x.bits)]])
    };
    "wrapping_polynomial"() = |x| {
        x.a.wrapping_polynomial(&[x.n, 3, x.n >> 7].map(BigUint::from))
    }, row |x| {
        let value = BigUint::from(x.n) + x.a * 3u32 + x.a * x.a * (x.n >> 7);
        Ok(vec![oracle::shl(&value, 0, x.bits)])
    };
}

room! { bits;
    "rotate_left"() = |x| x.a.rotate_left(x.n as usize), row rotated_left;
    "rotate_left_rows"() = |x| x.a.rotate_left_rows(&x.distances), row rotated_left;
    "rotate_right"() = |x| {
        let right = x.a.rotate_right_rows(&x.distances)?;
        assert!(right.is_equal(&x.a.rotate_right(x.n as usize)?)?);
        right.rotate_left(x.n as usize)
    }, row same;
    "with_bit, without_bit, low_bits"() = |x| {
        let bit = x.n as usize % T::BITS;
        Ok((x.a.with_bit(bit)?, x.a.without_bit(bit)?, x.a.low_bits(bit)?))
    }, row |x| {
        let bit = x.n % x.bits as u64;
        let [with, without] = [true, false].map(|is_set| {
            let mut value = x.a.clone();
            value.set_bit(bit, is_set);
            value
        });
        Ok(vec![with, without, oracle::shl(x.a, 0, bit as usize)])
    };
    "leading_zeros"() = |x| x.a.leading_zeros(),
        row |x| Ok(vec![(x.bits as u64 - oracle::bits(x.a)).into()]);
    "select, select_into"(B, Out) = |x| {
        let mut x = x;
        let is_less = x.a.lt_mask(x.b)?;
        x.a.select_into(&is_less, x.b, &mut x.out)?;
        Ok((x.a.select(&is_less, x.b)?, x.out))
    }, row |x| Ok(vec![x.a.min(x.b).clone(), x.a.min(x.b).clone()]);
    "swap"(B) = |x| x.a.swap(&x.a.lt_mask(x.b)?, x.b),
        row |x| Ok(vec![x.a.max(x.b).clone(), x.a.min(x.b).clone()]);
}

room! { divisors;
    "overflowing_lcm"(B) = |x| x.a.overflowing_lcm(x.b),
        row |x| Ok(x.cut(&oracle::lcm(x.a, x.b)).to_vec());
    "xgcd"(B) = |x| {
        let (gcd, by_a, by_b, is_negative) = x.a.xgcd(x.b)?;
        let pairs = x.a.to_biguints()?.into_iter().zip(x.b.to_biguints()?);
        let cofactors = by_a.to_biguints()?.into_iter().zip(by_b.to_biguints()?);
        let results = gcd.to_biguints()?.into_iter().zip(is_negative.to_bools()?);
        let are_right = pairs.zip(cofactors).zip(results).map(|(((a, b), (s, t)), (g, is))| {
            flag(oracle::are_cofactors(&a, &b, &g, &s, &t, is))
        });
        let are_right: Vec<_> = are_right.collect();
        Ok((gcd, are_right))
    }, row |x| Ok(vec![oracle::gcd(x.a, x.b), flag(true)]);
    "rational_reconstruction"(B) = |x| {
        let bound = x.b.shr(T::BITS / 2)?;
        let u = x.a.div_rem_masked(x.b)?.1;
        let (n, d, is_negative, without) = u.rational_reconstruction(x.b, &bound, &bound)?;
        Ok(((n, d), (is_negative, without)))
    }, row fraction;
}

room! { roots;
    "nth_root_rem"() = |x| x.a.nth_root_rem((x.n % 99) as usize + 1), row |x| {
        let root = oracle::nth_root(x.a, x.n % 99 + 1);
        let remainder = x.a - root.pow((x.n % 99) as u32 + 1);
        Ok(vec![root, remainder])
    };
    "perfect_powers"() = |x| x.a.shr(T::BITS - 90)?.perfect_powers(), row |x| {
        let (base, exponent) = oracle::perfect_power(&oracle::shr(x.a, x.bits - 90));
        Ok(vec![base, exponent.into()])
    };
    "overflowing_pow"() = |x| {
        let (powers, overflowed) = x.a.overflowing_pow((x.n % 9) as usize)?;
        assert!(powers.is_equal(&x.a.wrapping_pow((x.n % 9) as usize)?)?);
        Ok((powers, overflowed))
    }, row |x| Ok(x.cut(&x.a.pow((x.n % 9) as u32)).to_vec());
    "is_probable_prime"() = |x| x.a.is_probable_prime(), row |x| {
        let is_prime = primes::is_strong(x.a, &2u32.into()) && primes::is_strong_lucas(x.a);
        Ok(vec![flag(is_prime)])
    };
    "is_strong_probable_prime_rows"(B) = |x| x.a.is_strong_probable_prime_rows(x.b),
        row |x| Ok(vec![flag(primes::is_strong(x.a, x.b))]);
    "is_square"() = |x| x.a.is_square(), row |x| {
        let root = oracle::isqrt(x.a);
        Ok(vec![flag(&root * &root == *x.a)])
    };
}

room! { signs;
    "signed sums and products"(B) = |x| {
        let [a, b] = signed_operands(&x)?;
        let with_order = |(rows, overflow): (SignedBatch<T>, _)| {
            Ok((rows.into_parts(), (overflow, a.lt_mask(&b)?)))
        };
        let sum = with_order(a.overflowing_add(&b)?)?;
        let difference = with_order(a.overflowing_sub(&b)?)?;
        Ok((sum, difference, with_order(a.overflowing_mul(&b)?)?))
    }, row signed_results;
    "signed divisions"(B) = |x| {
        let [a, b] = signed_operands(&x)?;
        let parts = |(q, r): (SignedBatch<T>, SignedBatch<T>)| (q.into_parts(), r.into_parts());
        let truncated = parts(a.div_rem(&b)?);
        Ok((truncated, parts(a.div_rem_floor(&b)?), parts(a.div_rem_euclid(&b)?)))
    }, row signed_quotients;
}

room! { trees;
    "product tree"() = |x| {
        let tree = ProductTree::new(&leaves(&x)?)?;
        Ok((tree.remainders(x.n)?, vec![tree.root()]))
    }, all |x| {
        let (leaves, root) = x.positive_leaves()?;
        let rests = leaves.iter().map(|leaf| oracle::div_rem(&x.n.into(), leaf).1).collect();
        Ok(vec![rests, vec![root]])
    };
    "batch_gcd"() = |x| leaves(&x)?.batch_gcd(), all |x| {
        let (leaves, root) = x.positive_leaves()?;
        let others = |leaf| oracle::div_rem(&root, leaf).0;
        Ok(vec![leaves.iter().map(|leaf| oracle::gcd(leaf, &others(leaf))).collect()])
    };
    "crt"() = |x| {
        let crt = Crt::new(&leaves(&x)?)?;
        crt.combine(&crt.residues(x.a.as_dyn())?)?.to_biguints()
    }, all |x| {
        let (leaves, root) = x.positive_leaves()?;
        match leaves {
            [] => Err(Error::LengthMismatch { left: 0, right: 1 }),
            [a, b] if !oracle::gcd(a, b).is_one() => Err(Error::CommonDivisor { row: 0 }),
            _ => Ok(vec![x.a.iter().map(|a| oracle::div_rem(a, &root).1).collect()]),
        }
    };
}

room! { order;
    "sort"() = |x| x.a.sort(), all |x| Ok(vec![x.sorted()]);
    "unique"() = |x| x.a.unique(), all |x| {
        let mut rows = x.sorted();
        rows.dedup();
        Ok(vec![rows])
    };
    "reverse"() = |x| x.a.reverse(), all |x| Ok(vec![x.a.iter().rev().cloned().collect()]);
    "sort_indices, gather, scatter_into"() = |x| {
        let order = x.a.sort_indices()?;
        let sorted = x.a.gather(&order)?;
        let mut again = x.a.not()?;
        sorted.scatter_into(&order, &mut again)?;
        Ok((sorted, again))
    }, all |x| Ok(vec![x.sorted(), x.a.to_vec()]);
    "gather_into"() = |x| {
        let rows: Vec<usize> = (0..x.a.len()).map(|row| row / 2).collect();
        let mut out = x.a.not()?;
        x.a.gather_into(&rows, &mut out)?;
        Ok(out)
    }, all |x| Ok(vec![(0..x.a.len()).map(|row| x.a[row / 2].clone()).collect()]);
    "slice, concat"() = |x| {
        let middle = x.a.len() / 2;
        let halves = [x.a.slice(middle..x.a.len())?, x.a.slice(0..middle)?];
        Batch::concat(&[&halves[0], &halves[1]])
    }, all |x| {
        let (first, second) = x.a.split_at(x.a.len() / 2);
        Ok(vec![[second, first].concat()])
    };
    "filter"(B) = |x| x.a.filter(&x.a.lt_mask(x.b)?), all |x| {
        let rows = x.a.iter().zip(x.b).filter(|(a, b)| a < b);
        Ok(vec![rows.map(|(a, _)| a.clone()).collect()])
    };
}

room! { conversions;
    "try_clone"() = |x| x.a.try_clone(), row same;
    "digits"() = |x| Batch::from_digits(x.a.device(), &x.a.to_digits()?), row same;
    "decimal, hex"() = |x| {
        let (decimal, hex) = (x.a.to_decimal()?, x.a.to_hex()?);
        let [decimal, hex] =
            [&decimal, &hex].map(|rows| rows.iter().map(String::as_str).collect::<Vec<_>>());
        let device = x.a.device();
        Ok((Batch::from_decimal(device, &decimal)?, Batch::from_hex(device, &hex)?))
    }, row |x| Ok(vec![x.a.clone(), x.a.clone()]);
    "widen, narrow"() = |x| x.a.widen::<T::Wide>()?.narrow::<T>(), row same;
    "join, split"(B) = |x| x.a.join::<T::Wide>(x.b)?.split::<T>(),
        row |x| Ok(vec![x.a.clone(), x.b.clone()]);
    "le_bytes"() = |x| Batch::from_le_bytes(x.a.device(), &x.a.to_le_bytes()?), row same;
    "be_bytes"() = |x| Batch::from_be_bytes(x.a.device(), &x.a.to_be_bytes()?), row same;
    "row"() = |x| {
        let rows = x.a.len();
        assert_eq!(x.a.row(rows).unwrap_err(), Error::NoSuchRow { row: rows, rows });
        (0..rows).map(|row| x.a.row(row)).collect::<Result<Vec<_>>>()
    }, row same;
    "zeros"() = |x| Batch::zeros(x.a.device(), x.a.len()), row |_| Ok(vec![BigUint::zero()]);
}
