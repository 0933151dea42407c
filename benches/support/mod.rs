//! What is timed, and on what: operations on batches of random integers.

pub(crate) mod operation;
pub(crate) mod random;
pub(crate) mod workload;

use std::error::Error;
use std::time::{Duration, Instant};

use gpuint::num_bigint::BigUint;
use gpuint::{
    Auto, BackendKind, Batch, Blocked, Classical, Device, Division, Fft, Karatsuba, Kernels, Mask,
    Mult, Ntt, ShiftedInverse, TensorCore,
};
use operation::Operation;
use random::Random;
use workload::{DIGIT, Workload};

/// The operands of an operation, and where its results go: all on the device.
#[derive(Debug)]
pub(crate) struct Batches<T: Kernels> {
    pub(crate) u: Batch<T>,
    pub(crate) v: Batch<T>,
    pub(crate) out: [Batch<T>; 2],
    zero: Mask,
}

impl<T: Kernels> Batches<T> {
    /// Whole rows of full-width operands.
    pub(crate) fn new(device: &Device, operands: &Operands) -> gpuint::Result<Self> {
        let u = upload::<T>(device, &operands.left)?;
        let rows = u.len();
        Ok(Self {
            v: upload(device, &operands.right)?,
            out: [Batch::zeros(device, rows)?, Batch::zeros(device, rows)?],
            zero: Mask::none(device, rows)?,
            u,
        })
    }

    /// Replaces the second operands by divisors.
    pub(crate) fn divide_by(&mut self, divisors: &[u64]) -> gpuint::Result<()> {
        self.v = upload(self.u.device(), divisors)?;
        Ok(())
    }

    /// Replaces the second operands by divisors of a workload; for structured ones the first
    /// operands, too, which then stay.
    pub(crate) fn divide(
        &mut self,
        operands: &mut Operands,
        workload: Workload,
    ) -> gpuint::Result<()> {
        if workload != Workload::Structured {
            return self.divide_by(&operands.divisors::<T>(workload));
        }
        let [dividends, divisors] = operands.structured::<T>();
        self.u = upload(self.u.device(), &dividends)?;
        self.divide_by(&divisors)
    }

    /// That the outputs are quotients and remainders, in some of the rows.
    pub(crate) fn check_division(&self) -> Result<(), Box<dyn Error>> {
        let rows = self.u.len();
        for row in (0..rows).step_by(rows.div_ceil(16).max(1)) {
            let (u, v) = (self.u.row(row)?, self.v.row(row)?);
            let (q, r) = (self.out[0].row(row)?, self.out[1].row(row)?);
            if r >= v || q * v + r != u {
                return Err(format!("row {row} of {} is wrong", T::SHAPE).into());
            }
        }
        Ok(())
    }

    /// That the first output is the low halves of the products, in some of the rows.
    pub(crate) fn check_product(&self) -> Result<(), Box<dyn Error>> {
        let rows = self.u.len();
        let modulus = BigUint::from(1u32) << T::BITS;
        for row in (0..rows).step_by(rows.div_ceil(16).max(1)) {
            if self.u.row(row)? * self.v.row(row)? % &modulus != self.out[0].row(row)? {
                return Err(format!("row {row} of {} is wrong", T::SHAPE).into());
            }
        }
        Ok(())
    }
}

/// The rows that these digits hold, without a part of a row at the end.
fn upload<T: Kernels>(device: &Device, words: &[u64]) -> gpuint::Result<Batch<T>> {
    let row = T::BITS / DIGIT;
    Batch::from_le_bytes(device, bytemuck::cast_slice(&words[..words.len() / row * row]))
}

/// Random digits of 64 bits on the host, for batches of any shape.
#[derive(Debug)]
pub(crate) struct Operands {
    random: Random,
    pub(crate) left: Vec<u64>,
    pub(crate) right: Vec<u64>,
}

impl Operands {
    /// Two operands of so many bits in all.
    pub(crate) fn new(bits: usize) -> Self {
        let mut random = Random::new(1);
        let [left, right] = [0, 1].map(|_| (0..bits / DIGIT).map(|_| random.next()).collect());
        Self { random, left, right }
    }

    /// The second operands cut to the lengths of a workload, drawn at random.
    pub(crate) fn divisors<T: Kernels>(&mut self, workload: Workload) -> Vec<u64> {
        let digits = T::BITS / DIGIT;
        let mut words = self.right.clone();
        for row in words.chunks_exact_mut(digits) {
            let length = workload.divisor_digits(digits / 2, self.random.place());
            row[length..].fill(0);
            // The leading digit is not zero.
            row[length - 1] |= 1;
        }
        words
    }

    /// Dividends and divisors on which carries and borrows run far, divisors of lengths drawn at
    /// random.
    fn structured<T: Kernels>(&mut self) -> [Vec<u64>; 2] {
        let digits = T::BITS / DIGIT;
        let mut columns = [&self.left, &self.right].map(|words| vec![0; words.len()]);
        for row in 0..self.left.len() / digits {
            let length = Workload::Structured.divisor_digits(digits / 2, self.random.place());
            let values = workload::structured(row, length, T::BITS);
            for (column, value) in columns.iter_mut().zip(values) {
                let words = value.to_u64_digits();
                column[row * digits..][..words.len()].copy_from_slice(&words);
            }
        }
        columns
    }
}

/// A way to do an operation on a shape.
pub(crate) struct Way<T: Kernels> {
    operation: Operation,
    /// The algorithm, `blocked_tensor`; empty where there is one only.
    pub(crate) name: String,
    /// Whether it is what `Auto` takes.
    pub(crate) is_auto: bool,
    run: fn(Operation, &mut Batches<T>) -> gpuint::Result<()>,
}

impl<T: Kernels> Way<T> {
    /// Queues the operation.
    pub(crate) fn run(&self, batches: &mut Batches<T>) -> gpuint::Result<()> {
        (self.run)(self.operation, batches)
    }
}

/// The ways to do an operation on a shape that differ; the processor has one algorithm, num-bigint's.
pub(crate) fn ways<T: Kernels>(device: &Device, operation: Operation) -> Vec<Way<T>> {
    let one = |name: &str| vec![way::<T, Auto, Auto>(operation, name.to_owned(), true)];
    match operation {
        _ if device.backend() == BackendKind::Cpu => one("num-bigint"),
        Operation::Add => one(""),
        Operation::DivRem => [
            quotient::<T, Blocked<Classical>>(operation),
            quotient::<T, Blocked<Karatsuba>>(operation),
            quotient::<T, Blocked<TensorCore>>(operation),
            quotient::<T, ShiftedInverse<Classical>>(operation),
            quotient::<T, ShiftedInverse<Karatsuba>>(operation),
            quotient::<T, ShiftedInverse<TensorCore>>(operation),
        ]
        .into_iter()
        .flatten()
        .collect(),
        _ => [
            product::<T, Classical>(operation),
            product::<T, Karatsuba>(operation),
            product::<T, TensorCore>(operation),
            product::<T, Fft>(operation),
            product::<T, Ntt>(operation),
        ]
        .into_iter()
        .flatten()
        .collect(),
    }
}

/// By this product, where it has kernels of its own.
fn product<T: Kernels, M: Mult<T>>(operation: Operation) -> Option<Way<T>> {
    let op = operation.op();
    let chosen = M::product(op);
    let auto = <Auto as Mult<T>>::product(op).offered(op, T::SHAPE);
    chosen
        .is_offered(op, T::SHAPE)
        .then(|| way::<T, M, Auto>(operation, chosen.to_string(), chosen == auto))
}

/// By this quotient, where it has kernels of its own.
fn quotient<T: Kernels, D: Division<T>>(operation: Operation) -> Option<Way<T>> {
    let op = operation.op();
    let chosen = D::quotient(op);
    let auto = <Auto as Division<T>>::quotient(op).offered(op, T::SHAPE);
    chosen
        .is_offered(op, T::SHAPE)
        .then(|| way::<T, Auto, D>(operation, chosen.to_string(), chosen == auto))
}

fn way<T: Kernels, M: Mult<T>, D: Division<T>>(
    operation: Operation,
    name: String,
    is_auto: bool,
) -> Way<T> {
    Way { operation, name, is_auto, run: run::<T, M, D> }
}

fn run<T: Kernels, M: Mult<T>, D: Division<T>>(
    operation: Operation,
    batches: &mut Batches<T>,
) -> gpuint::Result<()> {
    let Batches { u, v, out: [first, second], zero } = batches;
    match operation {
        Operation::Add => u.wrapping_add_into(v, first),
        Operation::MulLow => u.wrapping_mul_with_into::<M>(v, first),
        Operation::MulWide => u.mul_lo_hi_with_into::<M>(v, first, second),
        Operation::Square => u.wrapping_square_with_into::<M>(first),
        // The masked form, since the other one waits for the device.
        Operation::DivRem => u.div_rem_masked_with_into::<D>(v, first, second, zero),
        Operation::ShiftedInverse => v.shifted_inverse_with_into::<M>(T::DIGITS, first),
    }
}

/// Times of one piece of work, sorted.
#[derive(Debug, Clone)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    /// Does the work once, which loads its kernel, and then so many times, or until so many seconds
    /// are over, but three times at least.
    pub(crate) fn of<E>(
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

    pub(crate) fn runs(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn median(&self) -> Duration {
        self.0[self.0.len() / 2]
    }

    pub(crate) fn least(&self) -> Duration {
        self.0[0]
    }
}
