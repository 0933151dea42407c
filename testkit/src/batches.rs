//! What is timed, and on what: operations on batches of random integers.

use std::error::Error;
use std::time::{Duration, Instant};

use crate::random::Random;
use crate::workload::{self, DIGIT, Workload};
use gpuint::num_bigint::BigUint;
use gpuint::{Algorithm, BackendKind, Device, DynBatch, Mask, Op, Shape, Strategy, algorithms};

/// The operands of an operation, and where its results go: all on the device.
#[derive(Debug)]
pub struct Batches {
    pub u: DynBatch,
    pub v: DynBatch,
    pub out: [DynBatch; 2],
    zero: Mask,
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
            u,
        })
    }

    /// Replaces the second operands by divisors.
    pub fn divide_by(&mut self, divisors: &[u64]) -> gpuint::Result<()> {
        self.v = upload(self.u.shape(), self.u.device(), divisors)?;
        Ok(())
    }

    /// Replaces the second operands by divisors of a workload; for structured ones the first
    /// operands, too, which then stay.
    pub fn divide(&mut self, operands: &mut Operands, workload: Workload) -> gpuint::Result<()> {
        if workload != Workload::Structured {
            return self.divide_by(&operands.divisors(self.u.shape(), workload));
        }
        let [dividends, divisors] = operands.structured(self.u.shape());
        self.u = upload(self.u.shape(), self.u.device(), &dividends)?;
        self.divide_by(&divisors)
    }

    /// That the outputs are quotients and remainders, in some of the rows.
    pub fn check_division(&self) -> Result<(), Box<dyn Error>> {
        let rows = self.u.len();
        for row in (0..rows).step_by(rows.div_ceil(16).max(1)) {
            let (u, v) = (self.u.row(row)?, self.v.row(row)?);
            let (q, r) = (self.out[0].row(row)?, self.out[1].row(row)?);
            if r >= v || q * v + r != u {
                return Err(format!("row {row} of {} is wrong", self.u.shape()).into());
            }
        }
        Ok(())
    }

    /// That the first output is the low halves of the products, in some of the rows.
    pub fn check_product(&self) -> Result<(), Box<dyn Error>> {
        let rows = self.u.len();
        let modulus = BigUint::from(1u32) << self.u.shape().bits;
        for row in (0..rows).step_by(rows.div_ceil(16).max(1)) {
            if self.u.row(row)? * self.v.row(row)? % &modulus != self.out[0].row(row)? {
                return Err(format!("row {row} of {} is wrong", self.u.shape()).into());
            }
        }
        Ok(())
    }
}

/// The rows that these digits hold, without a part of a row at the end.
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
    /// Two operands of so many bits in all.
    pub fn new(bits: usize) -> Self {
        let mut random = Random::new(1);
        let [left, right] = [0, 1].map(|_| (0..bits / DIGIT).map(|_| random.word()).collect());
        Self { random, left, right }
    }

    /// The second operands cut to the lengths of a workload, drawn at random.
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

    /// Dividends and divisors on which carries and borrows run far, divisors of lengths drawn at
    /// random.
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

/// A way to do an operation on a shape.
pub struct Way {
    op: Op,
    strategy: Strategy,
    /// The algorithm; on the CPU the name of its library.
    pub name: String,
    /// Returns true if `Auto` chooses it.
    pub is_auto: bool,
}

/// The ways to do an operation on a batch that differ; the CPU has one algorithm, num-bigint's.
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
        let Batches { u, v, out: [first, second], zero } = batches;
        let (u_by, v_by) = (u.using(self.strategy), v.using(self.strategy));
        match self.op {
            Op::Add => u.wrapping_add_into(v, first),
            Op::MulLo => u_by.wrapping_mul_into(v, first),
            Op::MulWide => u_by.mul_lo_hi_into(v, first, second),
            Op::SquareLo => u_by.wrapping_square_into(first),
            // The masked form, since the other one waits for the device.
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
