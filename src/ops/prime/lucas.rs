//! Strong and extra strong Lucas probable primes (R. Baillie and S. S. Wagstaff, "Lucas
//! pseudoprimes", Math. Comp. 35, 1980).
//!
//! Let `a` and `b` be the roots of `x^2 - P x + Q`, `D = P^2 - 4 Q` with `(D | n) = -1`,
//! `U_k = (a^k - b^k) / (a - b)`, `V_k = a^k + b^k`, and `n + 1 = d 2^s` with an odd `d`. A prime
//! `n` passes the strong test:
//!
//! ```text
//! U_d = 0,   or   V_(d 2^r) = 0 for some 0 <= r < s.
//! ```
//!
//! For `Q` and `D` coprime to `n` let `c = a / b`, a root of `x^2 - T x + 1` with
//! `T = P^2 / Q - 2`. Then `U_d = 0` is `c^d = 1`, and `V_k = 0` is `c^k = -1`. With the terms
//! `v_k = c^k + c^-k` of the chain with `P = T`, `Q = 1`, and `d = 2 m + 1`:
//!
//! ```text
//! c^d = 1 or -1:   v_m = v_(m+1) or -v_(m+1), as
//!     v_(m+1) - v_m = c^-(m+1) (c^d - 1) (c - 1),   v_(m+1) + v_m = c^-(m+1) (c^d + 1) (c + 1)
//! c^(d 2^r) = -1 for 1 <= r < s:   v_(d 2^(r-1)) = 0, as c^k + c^-k = 0 is c^2k = -1.
//! ```
//!
//! `c - 1` and `c + 1` are units, as `(c - 1)^2 (c + 1)^2` is `c^2 (T^2 - 4)` and `T^2 - 4` is `D`
//! times units: the condition is exact for composite `n` as well.
//!
//! The extra strong test is this condition for `T = P` and `Q = 1`, so that one chain serves both:
//! from `v_0 = 2`, `v_1 = T`, for each bit of `d` from the top one square and one product,
//!
//! ```text
//! v_2k = v_k^2 - 2,   v_(2k+1) = v_k v_(k+1) - T.
//! ```
//!
//! One kernel computes the chain of a row (`kernels/prime/lucas.cuh`) where there are kernels for
//! powers of the same arithmetic. Else it is a sequence of operations on residues.

use gpuint_catalogue::Op;
use num_bigint::BigUint;

use super::{faces, picked, set_rows};
use crate::backend::host::{collected, reserved_vec, zeroed_vec};
use crate::backend::{Buffer, Operands};
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::mask::Mask;
use crate::ops::View;
use crate::ops::residues::{DynModulus, DynResidues};
use crate::ops::rows::{self, Indices};
use crate::selfridge::{self, Method, Parameter};

/// Last terms of a sequence that are compared with 0: one prime in 2^16 has its zero before them.
const CHECKED_SQUARES: usize = 16;

impl View<'_> {
    pub(crate) fn is_strong_lucas_probable_prime(&self) -> Result<Mask> {
        self.lucas(Op::StrongTerms, Method::Strong)
    }

    pub(crate) fn is_extra_strong_lucas_probable_prime(&self) -> Result<Mask> {
        self.lucas(Op::ExtraStrongTerms, Method::ExtraStrong)
    }

    fn lucas(&self, op: Op, method: Method) -> Result<Mask> {
        let (terms, late) = self.lucas_terms(op)?;
        let passes = if self.has_engine_of_powers(Op::StrongLucas) {
            let mut operands = self.operands();
            operands.ins[1] = Some(&terms);
            self.produce_mask(|mask| self.test(Op::StrongLucas, operands, mask))?
        } else {
            let words = self.words(&terms)?;
            let parameters: Vec<_> = collected(words.into_iter().map(Parameter::of_word))?;
            Mask::from_bools(self.device(), &self.lucas_by_residues(&parameters)?)?
        };
        if late.is_empty() {
            return Ok(passes);
        }
        // Squares and very few other rows: their parameters are found on the host.
        let batch = self.gather(&late)?;
        let rows = View { batch: &batch, strategy: self.strategy };
        let parameters = batch.to_biguints()?;
        let parameters = parameters.iter().map(|n| selfridge::late_parameter(n, method));
        let late_passes = rows.lucas_by_residues(&collected(parameters)?)?;
        let mut all: Vec<bool> = zeroed_vec(self.len())?;
        for (row, passes) in late.into_iter().zip(late_passes) {
            all[row] = passes;
        }
        passes.or(&Mask::from_bools(self.device(), &all)?)
    }

    /// Returns the first terms of the chains, and the rows whose parameter is not among the first
    /// ones.
    fn lucas_terms(&self, op: Op) -> Result<(Buffer, Vec<usize>)> {
        let mut terms = self.device().alloc_rows(self.len(), size_of::<u64>())?;
        let mut late = self.alloc_mask()?;
        let outs = [Some(&mut terms), None];
        let operands = Operands { outs, mask: Some(late.cleared()?), ..self.operands() };
        let is_any_late = self.launch_checked(op, operands)?.is_some();
        Ok((terms, if is_any_late { late.indices()? } else { Vec::new() }))
    }

    fn words(&self, buffer: &Buffer) -> Result<Vec<u64>> {
        let mut words: Vec<u64> = zeroed_vec(self.len())?;
        if !words.is_empty() {
            let bytes = bytemuck::cast_slice_mut(&mut words);
            self.device().memory().download(buffer, 0, bytes)?;
        }
        Ok(words)
    }

    /// Returns the rows that pass, by operations on residues.
    fn lucas_by_residues(&self, parameters: &[Parameter]) -> Result<Vec<bool>> {
        let is_chain = |row: &usize| matches!(parameters[*row], Parameter::Chain { .. });
        let rows: Vec<usize> = collected((0..self.len()).filter(is_chain))?;
        let mut passes: Vec<bool> =
            collected(parameters.iter().map(|parameter| *parameter == Parameter::Prime))?;
        if !rows.is_empty() {
            let moduli = self.gather(&rows)?;
            let terms = moduli.to_biguints()?;
            let terms = { terms }.into_iter().zip(picked(parameters, &rows)?);
            let terms = terms.map(|(n, parameter)| first_term(&n, parameter));
            let terms = DynBatch::from_biguints(self.device(), self.shape(), terms)?;
            for index in set_rows(&chain(&moduli, &terms)?)? {
                passes[rows[index]] = true;
            }
        }
        Ok(passes)
    }
}

/// Returns the first term of a chain modulo `n`.
///
/// `(numerator + k n) / denominator` is whole for one `k` below the denominator.
fn first_term(n: &BigUint, parameter: Parameter) -> BigUint {
    let Parameter::Chain { numerator, denominator } = parameter else { return BigUint::ZERO };
    let size = BigUint::from(numerator.unsigned_abs()) % n;
    let numerator = if numerator < 0 { n - size } else { size };
    let multiples = (0..denominator).map(|k| n * k + &numerator);
    let whole = |multiple: &BigUint| multiple % denominator == BigUint::ZERO;
    multiples.filter(whole).map(|multiple| multiple / denominator).next().unwrap_or(numerator) % n
}

/// Returns the rows that pass with the first terms `v_1`, by operations on residues.
fn chain(moduli: &DynBatch, terms: &DynBatch) -> Result<Vec<bool>> {
    let len = moduli.len();
    let next = moduli.wrapping_add_all(1)?;
    // n + 1 may be 2^BITS: then d = 1 and s = BITS.
    let mut zeros: Vec<usize> = reserved_vec(len)?;
    zeros.extend(next.trailing_zeros()?.into_iter().map(|zeros| zeros as usize));
    let overflowed = next.is_zero_mask()?;
    let odd = next.shr_rows(&zeros)?.wrapping_add_masked(&overflowed)?;

    let (modulus, pairs) = if len == 1 {
        let modulus = DynModulus::splat(moduli.device(), moduli.shape(), &moduli.row(0)?)?;
        (modulus.clone(), modulus)
    } else {
        let twice = DynBatch::concat(&[moduli, moduli])?;
        (DynModulus::of_rows(moduli)?, DynModulus::of_rows(&twice)?)
    };
    let first = DynResidues::new(terms, &modulus)?;
    let [lower, upper] = last_terms(&odd, &first, &pairs)?;
    let is_unit = lower.eq_mask(&upper)?.or(&lower.eq_mask(&upper.neg()?)?)?;
    let mut passes = is_unit.to_bools()?;
    let is_left: Vec<bool> =
        collected(passes.iter().zip(&zeros).map(|(passes, &zeros)| !passes && zeros > 1))?;
    if is_left.contains(&true) {
        let term = lower.mul(&upper)?.sub(&first)?;
        let has_zero = has_zero(CHECKED_SQUARES, &term, &zeros, &is_left)?;
        passes.iter_mut().zip(has_zero).for_each(|(passes, has_zero)| *passes |= has_zero);
    }
    Ok(passes)
}

/// Computes `v_m` and `v_(m+1)` of rows for odd numbers `2 m + 1`; `pairs` has the moduli twice.
///
/// Both terms of all rows are one batch, which is multiplied by the terms that are squared: a step
/// takes one product of twice the rows.
fn last_terms(odd: &DynBatch, first: &DynResidues, pairs: &DynModulus) -> Result<[DynResidues; 2]> {
    let (device, shape, len) = (odd.device(), odd.shape(), odd.len());
    let two = DynResidues::splat(&BigUint::from(2u32), len, first.modulus())?;
    let pair = |terms: [&DynResidues; 2]| {
        let rows = DynBatch::concat(&terms.map(DynResidues::rows))?;
        Ok(DynResidues::of_form(rows, pairs))
    };
    // v_2k + 2 and v_(2k+1) + T, or v_(2k+1) + T and v_(2k+2) + 2.
    let constants = [pair([&two, first])?, pair([first, &two])?];
    let indices = |source: &dyn Fn(usize) -> usize| {
        Indices::new(device, (0..2 * len).map(|row| source(row) as u64), 2 * len)
    };
    let copies = [indices(&|row| row % len)?, indices(&|row| len + row % len)?];
    let mut terms = constants[0].try_clone()?;
    let (mut factor, mut product) = (terms.try_clone()?, terms.try_clone()?);
    let mut sum = terms.try_clone()?;
    let gather = |from: &DynResidues, indices: &Indices, to: &mut DynResidues| {
        rows::gather(device, shape, from.rows().buffer(), indices, to.rows_mut().buffer_mut())
    };
    let odd = odd.to_biguints()?;
    let longest = odd.iter().map(BigUint::bits).max().unwrap_or(0);
    for bit in (1..longest).rev() {
        // The half with the term that is squared.
        let half = |row: usize| usize::from(odd[row % len].bit(bit));
        let mixed;
        let (squared, added) = if (1..len).all(|row| half(row) == half(0)) {
            (&copies[half(0)], &constants[half(0)])
        } else {
            mixed = indices(&|row| row % len + half(row) * len)?;
            let sources = indices(&|row| (row + half(row) * len) % (2 * len))?;
            gather(&constants[0], &sources, &mut sum)?;
            (&mixed, &sum)
        };
        gather(&terms, squared, &mut factor)?;
        terms.mul_into(&factor, &mut product)?;
        product.sub_into(added, &mut terms)?;
    }
    let half = |half: usize| {
        let rows = terms.rows().slice(half * len..(half + 1) * len)?;
        Ok(DynResidues::of_form(rows, first.modulus()))
    };
    Ok([half(0)?, half(1)?])
}

/// Returns the rows of `is_left` with `v_(d 2^r) = 0` for some `r < s - 1`, from `v_d` on; `zeros`
/// has `s`.
///
/// A comparison waits for the device. Nearly all primes have the zero among the last terms, so
/// that the last `count` ones are compared. The terms after a zero are -2, 2, 2, ..: if the first
/// term that is compared is 2 or -2, the row is computed again, and all terms are compared.
fn has_zero(
    count: usize,
    first: &DynResidues,
    zeros: &[usize],
    is_left: &[bool],
) -> Result<Vec<bool>> {
    let (mut has_zero, is_open) = zeros_of_last(count, first, zeros, is_left)?;
    if is_open.contains(&true) {
        let (again, _) = zeros_of_last(usize::MAX, first, zeros, &is_open)?;
        has_zero.iter_mut().zip(again).for_each(|(has_zero, again)| *has_zero |= again);
    }
    Ok(has_zero)
}

/// Returns the rows with a zero among the last `count` terms, and those in which the first one of
/// these is 2 or -2.
fn zeros_of_last(
    count: usize,
    first: &DynResidues,
    zeros: &[usize],
    is_left: &[bool],
) -> Result<(Vec<bool>, Vec<bool>)> {
    let two = DynResidues::splat(&BigUint::from(2u32), zeros.len(), first.modulus())?;
    let minus_two = two.neg()?;
    let (mut term, mut square) = (first.try_clone()?, first.try_clone()?);
    let mut has_zero: Vec<bool> = zeroed_vec(zeros.len())?;
    let mut is_open: Vec<bool> = zeroed_vec(zeros.len())?;
    for index in 0.. {
        // Rows that have terms left, and how many.
        let rest = |row: usize| zeros[row].saturating_sub(index + 1);
        let is_tested = |row: usize| is_left[row] && !has_zero[row] && rest(row) > 0;
        let rests = (0..zeros.len()).filter(|&row| is_tested(row)).map(rest);
        let Some(least) = rests.min() else { break };
        if least <= count {
            let is_zero = term.is_zero_mask()?.to_bools()?;
            let is_first = |row: usize| index > 0 && is_left[row] && rest(row) == count;
            if (0..zeros.len()).any(is_first) {
                let is_two = term.eq_mask(&two)?.or(&term.eq_mask(&minus_two)?)?.to_bools()?;
                (0..zeros.len()).for_each(|row| is_open[row] |= is_first(row) && is_two[row]);
            }
            let passes = |row: usize| has_zero[row] || is_tested(row) && is_zero[row];
            has_zero = collected((0..zeros.len()).map(passes))?;
        }
        term.square_into(&mut square)?;
        square.sub_into(&two, &mut term)?;
    }
    Ok((has_zero, is_open))
}

impl DynBatch {
    /// Adds 1 to the rows of a mask.
    fn wrapping_add_masked(&self, mask: &Mask) -> Result<Self> {
        self.wrapping_add_all(1)?.select(mask, self)
    }
}

faces! {
    by Mult, "Lucas probable primes";

    /// Returns a mask of the strong Lucas probable primes with Selfridge's parameters: `P = 1`,
    /// `Q = (1 - D) / 4` for the first `D` of 5, -7, 9, -11, .. with Jacobi symbol `(D | n) = -1`
    /// (Baillie and Wagstaff's method A).
    ///
    /// Every prime passes; 0, 1, other even rows and squares do not.
    ///
    /// ```
    /// use gpuint::{Batch, Device, GpuUint};
    /// use num_bigint::BigUint;
    ///
    /// let device = Device::cpu();
    /// // 5459 = 53 * 103 is the least composite number that passes.
    /// let rows = [5459u32, 5461, 65537].map(BigUint::from);
    /// let n = Batch::<GpuUint<1024>>::from_biguints(&device, &rows)?;
    /// let passes = n.is_strong_lucas_probable_prime()?;
    /// assert_eq!(passes.to_bools()?, [true, false, true]);
    /// # Ok::<(), gpuint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn is_strong_lucas_probable_prime() -> NewMask;

    /// Returns a mask of the extra strong Lucas probable primes: `Q = 1` and the least `P` from 3
    /// on with Jacobi symbol `(P^2 - 4 | n) = -1`. The least composite number that passes is 989.
    ///
    /// Every prime passes; 0, 1, other even rows and squares do not.
    ///
    /// # Errors
    /// As [`mul_mod`](Self::mul_mod).
    fn is_extra_strong_lucas_probable_prime() -> NewMask;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, narrowest};

    #[test]
    fn zeros_are_found_by_comparisons_of_few_terms() -> Result<()> {
        let (device, shape) = (Device::cpu(), narrowest(256).expect("the width is built"));
        // n = k 2^i - 1, with any number as the term.
        let rows: Vec<(u64, u64)> = (1..9u64)
            .flat_map(|k| (2..9).map(move |i| (k << i) - 1))
            .flat_map(|n| (0..n.min(60)).map(move |term| (n, term)))
            .collect();
        let zeros: Vec<usize> =
            rows.iter().map(|(n, _)| (n + 1).trailing_zeros() as usize).collect();
        let zero_of = |(n, term): (u64, u64), zeros: usize| {
            let square = |term: &u64| Some((term * term + n - 2 % n) % n);
            std::iter::successors(Some(term), square).take(zeros - 1).position(|term| term == 0)
        };
        let found: Vec<_> =
            rows.iter().zip(&zeros).map(|(&row, &zeros)| zero_of(row, zeros)).collect();
        let is_early =
            |(zero, zeros): (&Option<usize>, &usize)| zero.is_some_and(|zero| zero + 3 < *zeros);
        assert!(
            found.iter().zip(&zeros).filter(|&(zero, zeros)| is_early((zero, zeros))).count() > 50
        );
        let column = |of: fn(&(u64, u64)) -> u64| {
            DynBatch::from_biguints(&device, shape, rows.iter().map(of).map(BigUint::from))
        };
        let modulus = DynModulus::of_rows(&column(|row| row.0)?)?;
        let first = DynResidues::new(&column(|row| row.1)?, &modulus)?;
        for count in [1, 2, CHECKED_SQUARES, usize::MAX] {
            let has_zero = has_zero(count, &first, &zeros, &vec![true; rows.len()])?;
            for (row, (has_zero, zero)) in has_zero.into_iter().zip(&found).enumerate() {
                assert_eq!(has_zero, zero.is_some(), "{count} {:?}", rows[row]);
            }
        }
        Ok(())
    }
}
