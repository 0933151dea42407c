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
//! `v_k = c^k + c^-k` and the terms `u_k` of the chain with `P = T`, `Q = 1`:
//!
//! ```text
//! c^d = 1 or -1:   v_d = 2 or -2, and u_d = 0, that is 2 v_(d+1) = T v_d
//! c^(d 2^r) = -1 for 1 <= r < s:   v_(d 2^(r-1)) = 0, as c^k + c^-k = 0 is c^2k = -1.
//! ```
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
use crate::selfridge::{self, Method, Parameter};

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
    let modulus = DynModulus::of_rows(moduli)?;
    let first = DynResidues::new(terms, &modulus)?;
    let two = DynResidues::splat(&BigUint::from(2u32), len, &modulus)?;
    let next = moduli.wrapping_add_all(1)?;
    // n + 1 may be 2^BITS: then d = 1 and s = BITS.
    let mut zeros: Vec<usize> = reserved_vec(len)?;
    zeros.extend(next.trailing_zeros()?.into_iter().map(|zeros| zeros as usize));
    let overflowed = next.is_zero_mask()?;
    let odd = next.shr_rows(&zeros)?.wrapping_add_masked(&overflowed)?;
    let longest = odd.bit_lengths()?.into_iter().max().unwrap_or(0) as usize;

    let (mut lower, mut upper) = (two.try_clone()?, first.try_clone()?);
    let (mut squared, mut product) = (two.try_clone()?, two.try_clone()?);
    let (mut square, mut mixed) = (two.try_clone()?, two.try_clone()?);
    // The bits of one row select the term to square on the host, without copies of terms.
    let one = if len == 1 { Some(odd.row(0)?) } else { None };
    for bit in (0..longest).rev() {
        if let Some(odd) = &one {
            let is_set = odd.bit(bit as u64);
            let terms = (&mut lower, &mut upper);
            let (other, term) = if is_set { terms } else { (terms.1, terms.0) };
            term.mul_into(other, &mut product)?;
            product.sub_into(&first, other)?;
            term.square_into(&mut product)?;
            product.sub_into(&two, term)?;
            continue;
        }
        let is_set = odd.bit_mask(bit)?;
        upper.select_into(&is_set, &lower, &mut squared)?;
        lower.mul_into(&upper, &mut product)?;
        product.sub_into(&first, &mut mixed)?;
        squared.square_into(&mut product)?;
        product.sub_into(&two, &mut square)?;
        mixed.select_into(&is_set, &square, &mut lower)?;
        square.select_into(&is_set, &mixed, &mut upper)?;
    }

    let is_unit = lower.eq_mask(&two)?.or(&lower.eq_mask(&two.neg()?)?)?;
    let has_zero_u = upper.double()?.eq_mask(&first.mul(&lower)?)?;
    let mut passes = is_unit.and(&has_zero_u)?.to_bools()?;
    for squares in 1.. {
        let is_left = |row: usize| !passes[row] && zeros[row] > squares;
        if !(0..len).any(is_left) {
            break;
        }
        let is_zero = lower.is_zero_mask()?.to_bools()?;
        for row in 0..len {
            passes[row] |= is_zero[row] && zeros[row] > squares;
        }
        lower.square_into(&mut squared)?;
        squared.sub_into(&two, &mut lower)?;
    }
    Ok(passes)
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
