//! Operations on batches of random integers, for measurements.

use std::error::Error;
use std::time::{Duration, Instant};

use crate::operation;
use crate::workload::{self, DIGIT, Workload};
use gpuint::{
    Algorithm, BackendKind, Device, DynBatch, DynDivisor, Mask, Op, Shape, Strategy, algorithms,
};
use gpuint_testkit::random::Random;
use num_traits::Zero;

/// The operations that are timed: addition and those with several algorithms.
pub const TIMED: [Op; 11] = [
    Op::Add,
    Op::MulLo,
    Op::MulWide,
    Op::SquareLo,
    Op::DivRem,
    Op::ShiftedInverse,
    Op::Prepare,
    Op::DivRemBy,
    Op::MulMod,
    Op::SquareMod,
    Op::PowMod,
];

/// Maximum width of powers that are timed with exponents of full length.
pub const WIDEST_POWERS: usize = 1 << 16;

/// Bits of the exponents of wider powers: with full length, a batch would take a minute.
pub const SHORT_EXPONENTS: usize = 4096;

/// Maximum width of powers of random numbers: num-bigint takes seconds to compute wider ones.
const WIDEST_RANDOM_POWERS: usize = 1 << 14;

/// Operands of an operation and memory for its results, all on the device.
#[derive(Debug)]
pub struct Batches {
    pub u: DynBatch,
    pub v: DynBatch,
    pub out: [DynBatch; 2],
    zero: Mask,
    /// The second operands as prepared divisors, once they are needed.
    prepared: Option<DynDivisor>,
}

impl Batches {
    /// Whole rows of full-width operands.
    pub fn new(shape: Shape, device: &Device, operands: &Operands) -> gpuint::Result<Self> {
        let u = upload(shape, device, &operands.left)?;
        let rows = u.len();
        Ok(Self {
            v: upload(shape, device, &operands.right)?,
            out: [DynBatch::zeros(device, shape, rows)?, DynBatch::zeros(device, shape, rows)?],
            zero: Mask::none(device, rows)?,
            prepared: None,
            u,
        })
    }

    /// Makes the operands of one of the [`TIMED`] operations: uniform divisors, random moduli of
    /// full width, and for powers as many odd moduli as fill a GPU for some tenths of a second.
    pub fn of(
        op: Op,
        shape: Shape,
        device: &Device,
        operands: &mut Operands,
    ) -> gpuint::Result<Self> {
        let mut batches = Self::new(shape, device, operands)?;
        match op {
            Op::DivRem | Op::ShiftedInverse | Op::DivRemBy => {
                batches.divide_by(&operands.divisors(shape, Workload::Uniform))?;
            }
            Op::PowMod => return batches.for_powers(false),
            _ => {}
        }
        if matches!(op, Op::DivRemBy | Op::MulMod | Op::SquareMod) {
            batches.prepare()?;
        }
        Ok(batches)
    }

    /// Prepares the second operands as divisors and moduli. The second factors of modular products
    /// are the second outputs, which become random numbers.
    pub fn prepare(&mut self) -> gpuint::Result<()> {
        self.prepared = Some(DynDivisor::of_rows(&self.v)?);
        self.u.wrapping_mul_into(&self.v, &mut self.out[1])
    }

    /// Makes powers modulo odd numbers, one a row or one for all, for as many rows as fill a GPU
    /// for some tenths of a second. The second outputs are the exponents, of full length or, above
    /// [`WIDEST_POWERS`], of [`SHORT_EXPONENTS`].
    ///
    /// Wide powers have bases `1 + n x` modulo `n^2`, for random `n` and `x`: by the binomial
    /// theorem `(1 + n x)^e = 1 + n x e`.
    pub fn for_powers(&self, is_one_modulus: bool) -> gpuint::Result<Self> {
        let (device, shape) = (self.u.device(), self.u.shape());
        let bits = shape.bits;
        let filling = ((1 << 39) / bits / bits).max((1 << 25) / bits).max(264);
        let rows = self.u.len().min(filling);
        let mut u = self.u.slice(0..rows)?;
        let exponents = match bits {
            ..=WIDEST_POWERS => u.try_clone()?,
            _ => u.low_bits(SHORT_EXPONENTS)?,
        };
        let mut v = match is_one_modulus {
            true => self.v.gather(&vec![0; rows])?,
            false => self.v.slice(0..rows)?,
        };
        v = v.with_bit(0)?;
        if bits > WIDEST_RANDOM_POWERS {
            let n = v.shr(bits / 2)?.with_bit(0)?.with_bit(bits / 2 - 1)?;
            // An even x, so that n x + 1 has no carry.
            let x = u.shr(bits / 2 + 1)?.shl(1)?;
            u = n.wrapping_mul(&x)?.with_bit(0)?;
            v = n.wrapping_square()?;
        }
        let prepared = match is_one_modulus {
            true => DynDivisor::splat(device, shape, &v.row(0)?)?,
            false => DynDivisor::of_rows(&v)?,
        };
        Ok(Self {
            out: [v.try_clone()?, exponents],
            zero: Mask::none(device, rows)?,
            prepared: Some(prepared),
            u,
            v,
        })
    }

    /// Replaces the second operands by divisors.
    pub fn divide_by(&mut self, divisors: &[u64]) -> gpuint::Result<()> {
        self.v = upload(self.u.shape(), self.u.device(), divisors)?;
        Ok(())
    }

    /// Replaces the second operands by divisors of a workload. For structured divisors it also
    /// replaces the first operands, and later calls keep those.
    pub fn divide(&mut self, operands: &mut Operands, workload: Workload) -> gpuint::Result<()> {
        if workload != Workload::Structured {
            return self.divide_by(&operands.divisors(self.u.shape(), workload));
        }
        let [dividends, divisors] = operands.structured(self.u.shape());
        self.u = upload(self.u.shape(), self.u.device(), &dividends)?;
        self.divide_by(&divisors)
    }

    /// Returns true if a row of the results is right.
    pub fn is_right(&self, op: Op, row: usize) -> gpuint::Result<bool> {
        let (u, v) = (self.u.row(row)?, self.v.row(row)?);
        let [first, second] = [self.out[0].row(row)?, self.out[1].row(row)?];
        Ok(match op {
            Op::Prepare => match &self.prepared {
                Some(prepared) => self.u.rem_by(prepared)?.row(row)? == u % v,
                None => false,
            },
            Op::DivRemBy => operation::is_right(Op::DivRem, self.bits(), &[u, v], &[first, second]),
            Op::MulMod => first == u * second % v,
            Op::SquareMod => first == &u * &u % v,
            Op::PowMod if self.bits() > WIDEST_RANDOM_POWERS => {
                let multiple = u - 1u32;
                (&multiple * &multiple % &v).is_zero() && first == (multiple * second + 1u32) % v
            }
            Op::PowMod => first == u.modpow(&second, &v),
            _ => operation::is_right(op, self.bits(), &[u, v], &[first, second]),
        })
    }

    /// Checks some rows of the results of an operation.
    pub fn check(&self, op: Op, rows: usize) -> Result<(), Box<dyn Error>> {
        let step = self.u.len().div_ceil(rows).max(1);
        for row in (0..self.u.len()).step_by(step) {
            if !self.is_right(op, row)? {
                return Err(format!("row {row} of {op} of {} is wrong", self.u.shape()).into());
            }
        }
        Ok(())
    }

    fn bits(&self) -> usize {
        self.u.shape().bits
    }
}

/// Returns the whole rows in these digits.
fn upload(shape: Shape, device: &Device, words: &[u64]) -> gpuint::Result<DynBatch> {
    let row = shape.bits / DIGIT;
    DynBatch::from_le_bytes(device, shape, bytemuck::cast_slice(&words[..words.len() / row * row]))
}

/// Random digits of 64 bits on the host, for batches of any shape.
#[derive(Debug)]
pub struct Operands {
    random: Random,
    pub left: Vec<u64>,
    pub right: Vec<u64>,
}

impl Operands {
    /// Makes two operands of `bits` bits in total.
    pub fn new(bits: usize) -> Self {
        let mut random = Random::new(1);
        let [left, right] = [0, 1].map(|_| (0..bits / DIGIT).map(|_| random.word()).collect());
        Self { random, left, right }
    }

    /// Cuts the second operands to the lengths of a workload, drawn at random.
    pub fn divisors(&mut self, shape: Shape, workload: Workload) -> Vec<u64> {
        let digits = shape.bits / DIGIT;
        let mut words = self.right.clone();
        for row in words.chunks_exact_mut(digits) {
            let length = workload.divisor_digits(digits / 2, self.random.place());
            row[length..].fill(0);
            // The leading digit is not zero.
            row[length - 1] |= 1;
        }
        words
    }

    /// Makes dividends and divisors with long carries and borrows, by divisors of random lengths.
    fn structured(&mut self, shape: Shape) -> [Vec<u64>; 2] {
        let digits = shape.bits / DIGIT;
        let mut columns = [&self.left, &self.right].map(|words| vec![0; words.len()]);
        for row in 0..self.left.len() / digits {
            let length = Workload::Structured.divisor_digits(digits / 2, self.random.place());
            let values = workload::structured(row, length, shape.bits);
            for (column, value) in columns.iter_mut().zip(values) {
                let words = value.to_u64_digits();
                column[row * digits..][..words.len()].copy_from_slice(&words);
            }
        }
        columns
    }
}

/// One way to compute an operation at a shape.
pub struct Way {
    op: Op,
    strategy: Strategy,
    /// The algorithm; on the CPU, the name of its library.
    pub name: String,
    /// Returns true if `Auto` chooses it.
    pub is_auto: bool,
}

/// Returns the distinct ways to compute an operation on a batch; the CPU has one algorithm.
pub fn ways(shape: Shape, rows: usize, device: &Device, op: Op) -> Vec<Way> {
    let auto = device.algorithm(op, Strategy::Auto, shape, rows).ok();
    if device.backend() == BackendKind::Cpu {
        let name = "num-bigint".to_owned();
        let way = Way { op, strategy: Strategy::Auto, name, is_auto: true };
        return auto.map(|_| way).into_iter().collect();
    }
    let way = |algorithm: Algorithm| Way {
        op,
        strategy: algorithm.into(),
        name: algorithm.to_string(),
        is_auto: auto == Some(algorithm),
    };
    algorithms(op, shape).map(way).collect()
}

impl Way {
    /// Queues the operation.
    pub fn run(&self, batches: &mut Batches) -> gpuint::Result<()> {
        let Batches { u, v, out: [first, second], zero, prepared } = batches;
        let (u_by, v_by) = (u.using(self.strategy), v.using(self.strategy));
        if self.op == Op::Prepare {
            *prepared = Some(v_by.prepare()?);
            return Ok(());
        }
        if let Some(prepared) = prepared {
            match self.op {
                Op::DivRemBy => return u_by.div_rem_by_into(prepared, first, second),
                Op::MulMod => return u_by.mul_mod_into(second, prepared, first),
                Op::SquareMod => return u_by.square_mod_into(prepared, first),
                Op::PowMod => return u_by.pow_mod_into(second, prepared, first),
                _ => {}
            }
        }
        match self.op {
            Op::Add => u.wrapping_add_into(v, first),
            Op::MulLo => u_by.wrapping_mul_into(v, first),
            Op::MulWide => u_by.mul_lo_hi_into(v, first, second),
            Op::SquareLo => u_by.wrapping_square_into(first),
            // The masked form is timed, because the other one waits for the device.
            Op::DivRem => u_by.div_rem_masked_into(v, first, second, zero),
            Op::ShiftedInverse => v_by.shifted_inverse_into(v.shape().digits(), first),
            _ => Err(gpuint::Error::Driver(format!("{} is not timed", self.op))),
        }
    }
}

/// Times of one piece of work, sorted.
#[derive(Debug, Clone)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Runs the work once to load its kernel, then `runs` times or until `seconds` have passed, but
    /// at least three times.
    pub fn of<E>(
        runs: u32,
        seconds: f64,
        mut work: impl FnMut() -> Result<Duration, E>,
    ) -> Result<Self, E> {
        work()?;
        let start = Instant::now();
        let mut times = Vec::new();
        while times.len() < runs as usize
            && (times.len() < 3 || start.elapsed().as_secs_f64() < seconds)
        {
            times.push(work()?);
        }
        times.sort_unstable();
        Ok(Self(times))
    }

    pub fn runs(&self) -> usize {
        self.0.len()
    }

    pub fn median(&self) -> Duration {
        self.0[self.0.len() / 2]
    }

    pub fn least(&self) -> Duration {
        self.0[0]
    }
}

#[cfg(test)]
mod tests {
    use gpuint::num_bigint::BigUint;
    use gpuint::shapes;

    use super::*;

    /// The power of each row by a short exponent is right, and no other number is.
    #[test]
    fn wide_powers_are_checked() {
        let device = Device::cpu();
        let bits = 2 * WIDEST_RANDOM_POWERS;
        let shape = shapes().iter().copied().find(|shape| shape.bits == bits).unwrap();
        let batches = Batches::new(shape, &device, &Operands::new(3 * shape.bits)).unwrap();
        for is_one_modulus in [false, true] {
            let mut powers = batches.for_powers(is_one_modulus).unwrap();
            assert_eq!(powers.v.row(0).unwrap() == powers.v.row(1).unwrap(), is_one_modulus);
            let exponents = [0, 1, 0xffff_ffff_u32].map(BigUint::from);
            powers.out[1] = DynBatch::from_biguints(&device, shape, &exponents).unwrap();
            let results = |change: u32| {
                let power = |row: usize| {
                    let (u, v) = (powers.u.row(row).unwrap(), powers.v.row(row).unwrap());
                    u.modpow(&exponents[row], &v) + change
                };
                let values: Vec<_> = (0..3).map(power).collect();
                DynBatch::from_biguints(&device, shape, &values).unwrap()
            };
            let [right, wrong] = [results(0), results(1)];
            powers.out[0] = right;
            powers.check(Op::PowMod, 3).unwrap();
            powers.out[0] = wrong;
            for row in 0..3 {
                assert!(!powers.is_right(Op::PowMod, row).unwrap(), "row {row}");
            }
        }
    }
}
