//! What is timed, and on what: operations on batches of random integers.

use std::error::Error;
use std::time::{Duration, Instant};

use crate::random::Random;
use crate::workload::{self, DIGIT, Workload};
use gpuint::num_bigint::BigUint;
use gpuint::{
    Algorithm, Auto, BackendKind, Batch, Blocked, Classical, Device, Division, Error as GpuError,
    Fft, Karatsuba, Kernels, Mask, Mult, Ntt, Op, Product, ShiftedInverse, Strategy, TensorCore,
    is_offered,
};

/// The operands of an operation, and where its results go: all on the device.
#[derive(Debug)]
pub struct Batches<T: Kernels> {
    pub u: Batch<T>,
    pub v: Batch<T>,
    pub out: [Batch<T>; 2],
    zero: Mask,
}

impl<T: Kernels> Batches<T> {
    /// Whole rows of full-width operands.
    pub fn new(device: &Device, operands: &Operands) -> gpuint::Result<Self> {
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
    pub fn divide_by(&mut self, divisors: &[u64]) -> gpuint::Result<()> {
        self.v = upload(self.u.device(), divisors)?;
        Ok(())
    }

    /// Replaces the second operands by divisors of a workload; for structured ones the first
    /// operands, too, which then stay.
    pub fn divide(&mut self, operands: &mut Operands, workload: Workload) -> gpuint::Result<()> {
        if workload != Workload::Structured {
            return self.divide_by(&operands.divisors::<T>(workload));
        }
        let [dividends, divisors] = operands.structured::<T>();
        self.u = upload(self.u.device(), &dividends)?;
        self.divide_by(&divisors)
    }

    /// That the outputs are quotients and remainders, in some of the rows.
    pub fn check_division(&self) -> Result<(), Box<dyn Error>> {
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
    pub fn check_product(&self) -> Result<(), Box<dyn Error>> {
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
pub struct Operands {
    random: Random,
    pub left: Vec<u64>,
    pub right: Vec<u64>,
}

impl Operands {
    /// Two operands of so many bits in all.
    pub fn new(bits: usize) -> Self {
        let mut random = Random::new(1);
        let [left, right] = [0, 1].map(|_| (0..bits / DIGIT).map(|_| random.word()).collect());
        Self { random, left, right }
    }

    /// The second operands cut to the lengths of a workload, drawn at random.
    pub fn divisors<T: Kernels>(&mut self, workload: Workload) -> Vec<u64> {
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
pub struct Way<T: Kernels> {
    op: Op,
    /// The algorithm; on the CPU the name of its library.
    pub name: String,
    /// Returns true if `Auto` chooses it.
    pub is_auto: bool,
    run: fn(Op, &mut Batches<T>) -> gpuint::Result<()>,
}

impl<T: Kernels> Way<T> {
    /// Queues the operation.
    pub fn run(&self, batches: &mut Batches<T>) -> gpuint::Result<()> {
        (self.run)(self.op, batches)
    }
}

/// The ways to do an operation on a shape that differ; the CPU has one algorithm, num-bigint's.
pub fn ways<T: Kernels>(device: &Device, op: Op) -> Vec<Way<T>> {
    if device.backend() == BackendKind::Cpu {
        let name = "num-bigint".to_owned();
        return vec![Way { op, name, is_auto: true, run: run::<T, Auto, Auto> }];
    }
    let auto = device.algorithm(op, Strategy::Auto, T::SHAPE, usize::MAX).ok();
    let way = |algorithm: Algorithm, run| {
        is_offered(op, algorithm, T::SHAPE).then(|| Way {
            op,
            name: algorithm.to_string(),
            is_auto: auto == Some(algorithm),
            run,
        })
    };
    use Algorithm::{Blocked as B, By, Only, ShiftedInverse as S};
    use Product::{Classical as C, Fft as F, Karatsuba as K, Ntt as N, TensorCore as T_};
    [
        way(Only, run::<T, Auto, Auto>),
        way(By(C), run::<T, Classical, Auto>),
        way(By(K), run::<T, Karatsuba, Auto>),
        way(By(T_), run::<T, TensorCore, Auto>),
        way(By(F), run::<T, Fft, Auto>),
        way(By(N), run::<T, Ntt, Auto>),
        way(B(C), run::<T, Auto, Blocked<Classical>>),
        way(B(K), run::<T, Auto, Blocked<Karatsuba>>),
        way(B(T_), run::<T, Auto, Blocked<TensorCore>>),
        way(B(F), run::<T, Auto, Blocked<Fft>>),
        way(S(C), run::<T, Auto, ShiftedInverse<Classical>>),
        way(S(K), run::<T, Auto, ShiftedInverse<Karatsuba>>),
        way(S(T_), run::<T, Auto, ShiftedInverse<TensorCore>>),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn run<T: Kernels, M: Mult<T>, D: Division<T>>(
    op: Op,
    batches: &mut Batches<T>,
) -> gpuint::Result<()> {
    let Batches { u, v, out: [first, second], zero } = batches;
    match op {
        Op::Add => u.wrapping_add_into(v, first),
        Op::MulLo => u.wrapping_mul_with_into::<M>(v, first),
        Op::MulWide => u.mul_lo_hi_with_into::<M>(v, first, second),
        Op::SquareLo => u.wrapping_square_with_into::<M>(first),
        // The masked form, since the other one waits for the device.
        Op::DivRem => u.div_rem_masked_with_into::<D>(v, first, second, zero),
        Op::ShiftedInverse => v.shifted_inverse_with_into::<M>(T::DIGITS, first),
        _ => Err(GpuError::Driver(format!("{op} is not timed"))),
    }
}

/// Times of one piece of work, sorted.
#[derive(Debug, Clone)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Does the work once, which loads its kernel, and then so many times, or until so many seconds
    /// are over, but three times at least.
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
