//! Measures all operations at one shape.

use std::cell::RefCell;

use gpuint::num_bigint::BigUint;
use gpuint::{
    Device, DynBatch, DynDivisor, DynModulus, DynResidues, Error, Mask, Op, SecretBatch,
    SecretExponents, SecretFactor, SecretModulus, Shape, Strategy, Texts, algorithms,
};
use gpuint_benches::batches::{Batches, Operands, SHORT_EXPONENTS, Times, WIDEST_POWERS, ways};
use gpuint_benches::workload::Workload;
use gpuint_testkit::cases;
use gpuint_testkit::launch::{Operands as Launch, Params, bytes_of};
use gpuint_testkit::{oracle, primes};

use crate::against::{Measured, Time};
use crate::{Options, Result};

/// Bits of the batch for which times are stated.
const BATCH: f64 = (1u64 << 32) as f64;
/// Number of checked rows.
const CHECKED: usize = 8;
/// Maximum size, in bits, of batches of operations that take tens of times as long as a product.
const SLOW_BATCH: usize = 1 << 30;
/// Name of the test of Baillie and Wagstaff in the tables, and the widest primes that take it.
const PROBABLE_PRIME: &str = "is_probable_prime";
const WIDEST_PRIME: usize = 4096;
/// Maximum size, in bits, of batches that become text.
const TEXT_BATCH: usize = 1 << 30;

/// The measurements at one shape.
pub(crate) struct AtShape<'a> {
    pub(crate) options: &'a Options,
    pub(crate) device: &'a Device,
    pub(crate) operands: &'a mut Operands,
    pub(crate) measured: &'a mut Measured,
}

impl AtShape<'_> {
    pub(crate) fn measure(mut self, shape: Shape) -> Result<()> {
        let mut batches = Batches::new(shape, self.device, self.operands)?;
        self.sums(&mut batches)?;
        self.products(&mut batches)?;
        self.residues(&mut batches)?;
        self.powers(&batches)?;
        self.secrets(&batches)?;
        self.primes(&batches)?;
        self.exact(&batches)?;
        self.number_theory(&batches)?;
        self.texts(&batches)?;
        for workload in [Workload::Repo, Workload::Uniform, Workload::Half, Workload::Structured] {
            batches.divide(self.operands, workload)?;
            self.divisions(workload, &mut batches)?;
        }
        Ok(())
    }
}

impl AtShape<'_> {
    fn sums(&mut self, batches: &mut Batches) -> Result<()> {
        let shape = batches.u.shape();
        let rows = batches.u.len();
        let mut mask = Mask::none(self.device, rows)?;
        let Batches { u, v, out: [out, _], .. } = batches;
        // Neither whole words nor whole limbs.
        let distance = shape.bits / 3 + 1;
        let digit = u64::MAX >> (64 - shape.digit.bits());
        let mut remainders = u.rem_digit_words(digit)?;
        let both = Checked::new(shape, [Some(u), Some(v)]);
        let one = Checked::new(shape, [Some(u), None]);
        let shift = Params { distance: distance as u32, ..Params::default() };
        if self.time(shape, rows, Op::Add, "", || u.wrapping_add_into(v, out))? {
            both.check(Op::Add, [Some(out), None], None)?;
        }
        if self.time(shape, rows, Op::Sub, "", || u.wrapping_sub_into(v, out))? {
            both.check(Op::Sub, [Some(out), None], None)?;
        }
        if self.time(shape, rows, Op::Shl, "", || u.shl_into(distance, out))? {
            Checked { params: shift, ..one }.check(Op::Shl, [Some(out), None], None)?;
        }
        if self.time(shape, rows, Op::Shr, "", || u.shr_into(distance, out))? {
            Checked { params: shift, ..one }.check(Op::Shr, [Some(out), None], None)?;
        }
        if self.time(shape, rows, Op::EqMask, "", || u.eq_mask_into(u, &mut mask))? {
            let same = Checked { inputs: [Some(u), Some(u)], ..both };
            same.check(Op::EqMask, [None; 2], Some(&mask))?;
        }
        if self.time(shape, rows, Op::LtMask, "", || u.lt_mask_into(v, &mut mask))? {
            both.check(Op::LtMask, [None; 2], Some(&mask))?;
        }
        if self.time(shape, rows, Op::IsZeroMask, "", || u.is_zero_mask_into(&mut mask))? {
            one.check(Op::IsZeroMask, [None; 2], Some(&mask))?;
        }
        let is_timed = self.time(shape, rows, Op::DivRemDigit, "", || {
            u.div_rem_digit_words_into(digit, out, &mut remainders)
        })?;
        if is_timed {
            let params = Params { digit, ..Params::default() };
            Checked { params, ..one }.check(Op::DivRemDigit, [Some(out), None], None)?;
        }
        Ok(())
    }

    fn products(&mut self, batches: &mut Batches) -> Result<()> {
        for op in [Op::MulLo, Op::MulWide, Op::SquareLo] {
            self.way(op, "", batches)?;
        }
        self.sums_of_products(batches)
    }

    /// Sums of two products of four batches.
    fn sums_of_products(&mut self, batches: &mut Batches) -> Result<()> {
        let Batches { u, v, out: [x, y], .. } = batches;
        let (shape, rows) = (u.shape(), u.len());
        let what = "2 pairs";
        v.wrapping_sub_into(u, x)?;
        u.wrapping_sub_into(v, y)?;
        let pairs = &[(&*u, &*v), (&*x, &*y)];
        let sums = Checked { pairs, ..Checked::new(shape, [None; 2]) };
        let mut sum = None;
        if has_kernel(Op::SumOfProducts, shape) {
            self.time(shape, rows, Op::SumOfProducts, what, || {
                sum = Some(DynBatch::wrapping_sum_of_products(pairs)?);
                Ok(())
            })?;
        }
        if let Some(sum) = &sum {
            sums.check(Op::SumOfProducts, [Some(sum), None], None)?;
        }
        let mut wide = None;
        if has_kernel(Op::WideSumOfProducts, shape) {
            self.time(shape, rows, Op::WideSumOfProducts, what, || {
                wide = Some(DynBatch::widening_sum_of_products(pairs)?);
                Ok(())
            })?;
        }
        let Some((sum, overflow)) = wide else { return Ok(()) };
        sums.check(Op::WideSumOfProducts, [Some(&sum), None], Some(&overflow))
    }

    /// Modulo the second operand; the factors are random, not reduced.
    fn residues(&mut self, batches: &mut Batches) -> Result<()> {
        self.way(Op::Prepare, "full", batches)?;
        if has_kernel(Op::Prepare, batches.u.shape()) {
            batches.prepare()?;
        }
        for op in [Op::MulMod, Op::SquareMod] {
            self.way(op, "full", batches)?;
        }
        self.montgomery(batches)
    }

    /// Products in Montgomery's form, modulo odd numbers.
    fn montgomery(&mut self, batches: &Batches) -> Result<()> {
        let (shape, rows) = (batches.u.shape(), batches.u.len());
        let op = Op::MulResidues;
        if !has_kernel(op, shape) || !self.is_asked(op.name()) {
            return Ok(());
        }
        let moduli = batches.v.with_bit(0)?;
        let modulus = DynModulus::of_rows(&moduli)?;
        let a = DynResidues::new(&batches.u, &modulus)?;
        let b = DynResidues::new(&batches.v, &modulus)?;
        let mut product = a.try_clone()?;
        if !self.time(shape, rows, op, "odd", || a.mul_into(&b, &mut product))? {
            return Ok(());
        }
        let inputs = [Some(&batches.u), Some(&batches.v)];
        let products = Checked { divisors: Some(&moduli), ..Checked::new(shape, inputs) };
        products.check(Op::MulMod, [Some(&product.to_batch()?), None], None)
    }

    /// Powers of full length, modulo one number a row and one for all rows.
    fn powers(&mut self, batches: &Batches) -> Result<()> {
        let shape = batches.u.shape();
        if !has_kernel(Op::PowMod, shape) || !self.is_asked(Op::PowMod.name()) {
            return Ok(());
        }
        if shape.bits > WIDEST_POWERS {
            let operands = format!("odd with exponents of {SHORT_EXPONENTS} bits");
            return self.way(Op::PowMod, &operands, &mut batches.for_powers(false)?);
        }
        for (operands, is_one) in [("odd", false), ("one odd modulus", true)] {
            self.way(Op::PowMod, operands, &mut batches.for_powers(is_one)?)?;
        }
        Ok(())
    }

    /// Powers and sums with secret operands, modulo one number for all rows.
    fn secrets(&mut self, batches: &Batches) -> Result<()> {
        let shape = batches.u.shape();
        let is_asked = |op: &Op| has_kernel(*op, shape) && self.is_asked(op.name());
        if ![Op::PowSecret, Op::MulAddSecret].iter().any(is_asked) {
            return Ok(());
        }
        let powers = batches.for_powers(true)?;
        let (bases, rows) = (&powers.u, powers.u.len());
        let [_, exponents] = &powers.out;
        let modulus = powers.v.row(0)?;
        let one = bytes_of(std::iter::once(&modulus), shape.bits);
        let secret = SecretModulus::splat(self.device, shape, &one)?;
        let bytes = exponents.to_le_bytes()?;
        let secrets = SecretExponents::of_rows(self.device, shape, shape.bits, &bytes)?;
        let mut power = None;
        self.time(shape, rows, Op::PowSecret, "one odd modulus", || {
            power = Some(bases.pow_secret(&secrets, &secret)?);
            Ok(())
        })?;
        check_secret(Op::PowSecret, power, |row| {
            Ok(oracle::pow_mod(&bases.row(row)?, &exponents.row(row)?, &modulus))
        })?;

        let factor = exponents.row(0)?;
        let secret = SecretFactor::splat(self.device, shape, &bytes[..shape.bits / 8], &one)?;
        let addends = SecretBatch::from_le_bytes(self.device, shape, &bytes)?;
        let mut sum = None;
        self.time(shape, rows, Op::MulAddSecret, "one odd modulus", || {
            sum = Some(bases.mul_add_secret(&secret, &addends)?);
            Ok(())
        })?;
        check_secret(Op::MulAddSecret, sum, |row| {
            Ok((bases.row(row)? * &factor + exponents.row(row)?) % &modulus)
        })
    }

    /// Tests of odd numbers of full length for probable primes, with the search for the parameters
    /// of Lucas tests, and of primes.
    fn primes(&mut self, batches: &Batches) -> Result<()> {
        let shape = batches.u.shape();
        let is_asked = |op: &Op| has_kernel(*op, shape) && self.is_asked(op.name());
        let has_both = self.is_asked(PROBABLE_PRIME) && shape.bits <= WIDEST_PRIME;
        if !has_both && ![Op::StrongBase2, Op::StrongLucas].iter().any(is_asked) {
            return Ok(());
        }
        let n = batches.for_powers(false)?.v;
        let mut passes = Mask::none(self.device, n.len())?;
        let is_timed = self.time(shape, n.len(), Op::StrongBase2, "odd", || {
            passes = n.is_strong_probable_prime(2)?;
            Ok(())
        })?;
        if is_timed {
            let odd = Checked::new(shape, [Some(&n), None]);
            odd.check(Op::StrongBase2, [None; 2], Some(&passes))?;
        }
        let is_timed = self.time(shape, n.len(), Op::StrongLucas, "odd", || {
            passes = n.is_strong_lucas_probable_prime()?;
            Ok(())
        })?;
        check_some(Op::StrongLucas.name(), shape, if is_timed { n.len() } else { 0 }, |row| {
            Ok(passes.row(row)? == primes::is_strong_lucas(&n.row(row)?))
        })?;
        if has_both { self.probable_primes(shape, n.len()) } else { Ok(()) }
    }

    /// The test of Baillie and Wagstaff of primes of full length, which both of its tests pass.
    fn probable_primes(&mut self, shape: Shape, rows: usize) -> Result<()> {
        let count = WIDEST_PRIME.div_ceil(shape.bits);
        let few = DynBatch::random_primes(self.device, shape, count, shape.bits)?;
        let indices: Vec<_> = (0..rows).map(|row| row % few.len()).collect();
        let primes = few.gather(&indices)?;
        let mut passes = Mask::none(self.device, rows)?;
        let is_timed = self.time_named(shape, rows, PROBABLE_PRIME, "primes", || {
            passes = primes.is_probable_prime()?;
            Ok(())
        })?;
        check(PROBABLE_PRIME, shape, !is_timed || passes.count()? == rows)
    }

    /// Quotients without remainder, of half the width.
    fn exact(&mut self, batches: &Batches) -> Result<()> {
        let (shape, rows) = (batches.u.shape(), batches.u.len());
        let half = |batch: &DynBatch| batch.shr(shape.bits / 2);
        let (wanted, divisors) = (half(&batches.u)?, half(&batches.v)?.with_bit(0)?);
        let dividends = wanted.wrapping_mul(&divisors)?;
        let (mut out, mut mask) = (wanted.try_clone()?, Mask::none(self.device, rows)?);
        // The masked form is timed, because the other one waits for the device.
        let is_timed = self.time(shape, rows, Op::DivExact, "half", || {
            dividends.div_exact_masked_into(&divisors, &mut out, &mut mask)
        })?;
        check(Op::DivExact.name(), shape, !is_timed || out.is_equal(&wanted)?)?;
        let is_timed = self.time(shape, rows, Op::InverseModPow2, "", || {
            divisors.inverse_mod_pow2_into(&mut out, &mut mask)
        })?;
        let is_right = !is_timed || divisors.wrapping_mul(&out)?.eq_mask_all(1)?.count()? == rows;
        check(Op::InverseModPow2.name(), shape, is_right)?;
        let mut root = None;
        let is_timed = self.time(shape, rows, Op::Isqrt, "", || {
            root = Some(batches.u.isqrt_rem()?);
            Ok(())
        })?;
        if let (true, Some((root, remainder))) = (is_timed, root) {
            let square = root.wrapping_square()?.wrapping_add(&remainder)?;
            let is_least = root.shl(1)?.lt_mask(&remainder)?.count()? == 0;
            let is_root = root.shr(shape.bits / 2)?.is_zero_mask()?.count()? == rows;
            let is_right = square.is_equal(&batches.u)? && is_least && is_root;
            check(Op::Isqrt.name(), shape, is_right)?;
        }
        Ok(())
    }

    /// Common divisors, inverses and fractions of full width, modulo odd numbers.
    fn number_theory(&mut self, batches: &Batches) -> Result<()> {
        let shape = batches.u.shape();
        let rows = batches.u.len().min(SLOW_BATCH / shape.bits);
        let (u, n) = (batches.u.slice(0..rows)?, batches.v.slice(0..rows)?.with_bit(0)?);
        let (mut out, mut mask) = (u.try_clone()?, Mask::none(self.device, rows)?);
        let is_timed = self.time(shape, rows, Op::Gcd, "", || u.gcd_into(&n, &mut out))?;
        let pairs = Checked::new(shape, [Some(&u), Some(&n)]);
        if is_timed {
            pairs.check(Op::Gcd, [Some(&out), None], None)?;
        }
        let is_timed = self.time(shape, rows, Op::InverseMod, "odd", || {
            u.inverse_mod_into(&n, &mut out, &mut mask)
        })?;
        if is_timed {
            pairs.check(Op::InverseMod, [Some(&out), None], Some(&mask))?;
        }
        if shape.bits > WIDEST_POWERS {
            return Ok(());
        }
        let bound = n.shr(shape.bits / 2 + 1)?;
        let mut fractions = None;
        self.time(shape, rows, Op::Rational, "odd", || {
            fractions = Some(u.rational_reconstruction(&n, &bound, &bound)?);
            Ok(())
        })?;
        if let Some((numerators, denominators, is_negative, without)) = fractions {
            let (is_negative, without) = (is_negative.to_bools()?, without.to_bools()?);
            check_some(Op::Rational.name(), shape, rows, |row| {
                let most = &bound.row(row)?;
                let expected = oracle::fraction(&u.row(row)?, &n.row(row)?, [most, most]);
                let got = (numerators.row(row)?, denominators.row(row)?, is_negative[row]);
                Ok(without[row] == expected.is_none() && got == expected.unwrap_or_default())
            })?;
        }
        if !has_kernel(Op::PowProductMod, shape) || !self.is_asked(Op::PowProductMod.name()) {
            return Ok(());
        }
        // Products of two powers: as many bases as rows of powers.
        let powers = batches.for_powers(false)?;
        let rows = powers.u.len() / 2;
        let bases = powers.u.slice(0..2 * rows)?;
        let moduli = powers.v.slice(0..rows)?;
        let n = DynDivisor::of_rows(&moduli)?;
        let mut out = bases.slice(0..rows)?;
        let is_timed = self.time(shape, rows, Op::PowProductMod, "2 bases", || {
            bases.pow_product_mod_into(&bases, 2, &n, &mut out)
        })?;
        check_some(Op::PowProductMod.name(), shape, if is_timed { rows } else { 0 }, |row| {
            let modulus = moduli.row(row)?;
            let [a, b] = [bases.row(2 * row)?, bases.row(2 * row + 1)?]
                .map(|base| oracle::pow_mod(&base, &base, &modulus));
            Ok(out.row(row)? == oracle::mul_mod(&a, &b, &modulus))
        })
    }

    /// Decimal text: the time includes the host's.
    fn texts(&mut self, batches: &Batches) -> Result<()> {
        let shape = batches.u.shape();
        let rows = batches.u.len().min(TEXT_BATCH / shape.bits);
        let batch = batches.u.slice(0..rows)?;
        let mut reused = Texts::new();
        self.time_named(shape, rows, "to_decimal_into", "", || batch.to_decimal_into(&mut reused))?;
        // The texts of the run before are freed outside of the time.
        let texts = RefCell::new(Vec::new());
        self.time_after(
            || drop(texts.take()),
            shape,
            rows,
            "to_decimal",
            "",
            || {
                texts.replace(batch.to_decimal()?);
                Ok(())
            },
        )?;
        let mut texts = texts.into_inner();
        // num-bigint writes decimals in quadratic time: seconds for the widest rows.
        let most = if shape.bits > 1 << 17 { 1 } else { CHECKED };
        check_some("to_decimal_into", shape, reused.len().min(most), |row| {
            Ok(reused.get(row) == Some(&batch.row(row)?.to_string()))
        })?;
        drop(reused);
        check_some("to_decimal", shape, texts.len().min(most), |row| {
            Ok(texts[row] == batch.row(row)?.to_string())
        })?;
        if !self.is_asked("from_decimal") {
            return Ok(());
        }
        if texts.is_empty() {
            texts = batch.to_decimal()?;
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut again = None;
        self.time_named(shape, rows, "from_decimal", "", || {
            again = Some(DynBatch::from_decimal(self.device, shape, &texts)?);
            Ok(())
        })?;
        let is_right = again.map(|again| again.is_equal(&batch)).transpose()?;
        check("from_decimal", shape, is_right != Some(false))
    }

    fn divisions(&mut self, workload: Workload, batches: &mut Batches) -> Result<()> {
        let name = workload.name();
        self.way(Op::DivRem, name, batches)?;
        if workload == Workload::Uniform {
            self.shifted_inverses(name, batches)?;
        }
        if has_kernel(Op::DivRemBy, batches.u.shape()) && self.is_asked(Op::DivRemBy.name()) {
            batches.prepare()?;
            self.way(Op::DivRemBy, name, batches)?;
        }
        Ok(())
    }

    /// Times and checks `floor(2^BITS / v)`: by a division, unless the kernels of `Auto` iterate.
    fn shifted_inverses(&mut self, operands: &str, batches: &mut Batches) -> Result<()> {
        let Batches { u, v, out: [inverse, _], .. } = batches;
        let (shape, rows) = (u.shape(), u.len());
        let h = shape.digits();
        let name = Op::ShiftedInverse.name();
        if self.time_named(shape, rows, name, operands, || v.shifted_inverse_into(h, inverse))? {
            batches.check(Op::ShiftedInverse, CHECKED)?;
        }
        Ok(())
    }

    /// Times and checks the algorithm of `Auto` for an operation, if it is requested and offered.
    fn way(&mut self, op: Op, operands: &str, batches: &mut Batches) -> Result<()> {
        let (shape, rows) = (batches.u.shape(), batches.u.len());
        let way = ways(shape, rows, self.device, op).into_iter().find(|way| way.is_auto);
        let Some(way) = way else { return Ok(()) };
        if self.time(shape, rows, op, operands, || way.run(batches))? {
            batches.check(op, CHECKED)?;
        }
        Ok(())
    }

    fn is_asked(&self, operation: &str) -> bool {
        self.options.ops.is_empty() || self.options.ops.iter().any(|name| name == operation)
    }

    /// Times an operation; returns false if it is not requested, or if it has no kernel or no shape
    /// for its results at the width.
    fn time(
        &mut self,
        shape: Shape,
        rows: usize,
        op: Op,
        operands: &str,
        work: impl FnMut() -> gpuint::Result<()>,
    ) -> Result<bool> {
        self.time_named(shape, rows, op.name(), operands, work)
    }

    /// As [`time`](Self::time), for an operation that may have no kernel of this name.
    fn time_named(
        &mut self,
        shape: Shape,
        rows: usize,
        name: &str,
        operands: &str,
        work: impl FnMut() -> gpuint::Result<()>,
    ) -> Result<bool> {
        self.time_after(|| (), shape, rows, name, operands, work)
    }

    /// As [`time_named`](Self::time_named); `before` runs before each call of `work`, outside of
    /// the time.
    fn time_after(
        &mut self,
        before: impl Fn(),
        shape: Shape,
        rows: usize,
        name: &str,
        operands: &str,
        mut work: impl FnMut() -> gpuint::Result<()>,
    ) -> Result<bool> {
        if !self.is_asked(name) {
            return Ok(false);
        }
        let Options { runs, seconds, .. } = *self.options;
        let times = Times::of(runs, seconds, || {
            before();
            self.device.time(&mut work).map(|((), time)| time)
        });
        let times = match times {
            Ok(times) => times,
            Err(Error::KernelMissing { .. } | Error::ShapeMissing { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let ms = times.median().as_secs_f64() * 1e3 * BATCH / (rows * shape.bits) as f64;
        let op = Op::ALL.iter().find(|op| op.name() == name && **op != Op::ShiftedInverse);
        let auto = |&op| self.device.algorithm(op, Strategy::Auto, shape, rows).ok();
        // Without a kernel the operation is composed of others. So is an inverse by a division.
        let algorithm = op.and_then(auto).map_or(String::new(), |algorithm| algorithm.to_string());
        self.measured.add(name, operands, shape.bits, Time { algorithm, ms });
        Ok(true)
    }
}

/// Operands of a timed launch.
#[derive(Clone, Copy)]
struct Checked<'a> {
    shape: Shape,
    inputs: [Option<&'a DynBatch>; 2],
    divisors: Option<&'a DynBatch>,
    pairs: &'a [(&'a DynBatch, &'a DynBatch)],
    params: Params,
}

impl<'a> Checked<'a> {
    fn new(shape: Shape, inputs: [Option<&'a DynBatch>; 2]) -> Self {
        Self { shape, inputs, divisors: None, pairs: &[], params: Params::default() }
    }

    /// Compares at most [`CHECKED`] rows of results with the expected ones.
    fn check(self, op: Op, results: [Option<&DynBatch>; 2], mask: Option<&Mask>) -> Result<()> {
        let Self { shape, inputs: [a, b], divisors, pairs, params } = self;
        let first = pairs.first().map(|pair| pair.0);
        let rows = a.or(first).map_or(0, DynBatch::len);
        check_some(op.name(), shape, rows, |row| {
            let bytes = |batch: &DynBatch| -> gpuint::Result<Vec<u8>> {
                Ok(bytes_of([&batch.row(row)?].into_iter(), shape.bits))
            };
            let column = |batch: Option<&DynBatch>| batch.map_or(Ok(Vec::new()), bytes);
            let pair = |&(a, b): &(&DynBatch, &DynBatch)| Ok([bytes(a)?, bytes(b)?]);
            let launch = Launch {
                inputs: [column(a)?, column(b)?, Vec::new()],
                divisors: column(divisors)?,
                pairs: pairs.iter().map(pair).collect::<gpuint::Result<_>>()?,
                rows: 1,
                mask: mask.is_some(),
                params,
                ..Launch::default()
            };
            let expected = cases::expected(op, shape, &launch);
            let mut is_right = true;
            for (result, wanted) in results.iter().zip(&expected[0].results) {
                if let Some(result) = result {
                    is_right &= Some(result.row(row)?) == *wanted;
                }
            }
            if let Some(mask) = mask {
                is_right &= Some(mask.row(row)?) == expected[0].mark;
            }
            Ok(is_right)
        })
    }
}

/// Returns an error if results are wrong.
fn check(name: &str, shape: Shape, is_right: bool) -> Result<()> {
    if is_right { Ok(()) } else { Err(format!("rows of {name} of {shape} are wrong").into()) }
}

/// Checks at most [`CHECKED`] of `rows` rows.
fn check_some(
    name: &str,
    shape: Shape,
    rows: usize,
    mut is_right: impl FnMut(usize) -> gpuint::Result<bool>,
) -> Result<()> {
    let mut checked = (0..rows).step_by(rows.div_ceil(CHECKED).max(1));
    checked.try_for_each(|row| check(name, shape, is_right(row)?))
}

/// Checks some rows of a secret result, if it was computed.
fn check_secret(
    op: Op,
    found: Option<SecretBatch>,
    mut expected: impl FnMut(usize) -> gpuint::Result<BigUint>,
) -> Result<()> {
    let Some(found) = found else { return Ok(()) };
    let found = found.reveal()?;
    check_some(op.name(), found.shape(), found.len(), |row| Ok(found.row(row)? == expected(row)?))
}

fn has_kernel(op: Op, shape: Shape) -> bool {
    algorithms(op, shape).next().is_some()
}
