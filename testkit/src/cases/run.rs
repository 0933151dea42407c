//! Runs kernels on a machine and compares their results with the expected ones.

use gpuint::num_bigint::BigUint;
use gpuint::{Algorithm, DigitKind, MAX_BITS, Op, Product, Shape};
use gpuint_catalogue::{Operand, PREPARED, kernel};

use super::draws::Draws;
use super::long::{self, Plan};
use super::machine::Machine;
use super::row::{Expected, value_of};
use super::sieves;
use super::table::{expected, operands, variants};
use crate::launch::{Operands, Outcome};
use crate::random::Random;

/// A kernel, by its name `gpuint_{operation}[_{algorithm}]_b{bits}[_q{q}_u{digit}]`.
#[derive(Debug, Clone)]
pub struct Task {
    pub kernel: String,
    pub op: Op,
    pub shape: Shape,
    by: By,
}

/// Kernels of a task.
#[derive(Debug, Clone)]
enum By {
    /// The kernel of the task, by this algorithm.
    Kernel(Algorithm),
    /// Those of long rows that the library launches for the operation, with this plan of products.
    Grids(Option<Plan>),
}

impl Task {
    /// Returns the task of the kernel of an operation by an algorithm at a shape.
    #[must_use]
    pub fn new(op: Op, algorithm: Algorithm, shape: Shape) -> Self {
        let kernel = format!("gpuint_{}_{shape}", kernel::name(op, algorithm));
        Self { kernel, op, shape, by: By::Kernel(algorithm) }
    }

    /// Returns the task of a kernel; `None` for a name of another form.
    #[must_use]
    pub fn parse(kernel: &str) -> Option<Self> {
        let name = kernel.strip_prefix("gpuint_")?;
        let (name, shape) = name.rsplit_once("_b")?;
        let mut parts = shape.split('_');
        let bits = parts.next()?.parse().ok()?;
        let q = parts.next().map_or(Some(1), |q| q.strip_prefix('q')?.parse().ok())?;
        let digit = match parts.next() {
            Some(name) => DigitKind::parse(name)?,
            None => DigitKind::U32,
        };
        let (op, algorithm) = kernel::parse(name)?;
        let shape = if bits > MAX_BITS { Shape::long(bits)? } else { Shape { bits, q, digit } };
        Some(Self { kernel: kernel.to_owned(), op, shape, by: By::Kernel(algorithm) })
    }

    /// Returns the operation, the algorithm and the shape of a kernel with operands of rows; `None`
    /// for one of long rows.
    #[must_use]
    pub fn id(&self) -> Option<(Op, Algorithm, Shape)> {
        match self.by {
            By::Kernel(algorithm) => Some((self.op, algorithm, self.shape)),
            By::Grids(_) => None,
        }
    }

    /// Returns the operation by kernels of long rows, `kernel` among them.
    fn long(kernel: &str, op: Op, bits: usize, plan: Option<Plan>) -> Self {
        let shape = Shape { bits, q: 4, digit: DigitKind::U64 };
        Self { kernel: kernel.to_owned(), op, shape, by: By::Grids(plan) }
    }

    /// Runs the kernels of the task.
    fn launch(
        &self,
        machine: &mut impl Machine,
        operands: &Operands,
        turn: usize,
    ) -> Result<Outcome, String> {
        match self.by {
            By::Kernel(_) => machine.launch(&self.kernel, operands, turn),
            By::Grids(plan) => {
                let grids = long::grids(machine, self.op, self.shape, plan, operands)
                    .map_err(|error| format!("{}: {error}", self.kernel))?;
                long::launch(machine, &grids, operands, turn)
            }
        }
    }

    /// Name of the kernel that prepares the divisors of this one: that of its algorithm, or the
    /// classical one if its algorithm has none.
    fn preparation(&self, machine: &mut impl Machine) -> Option<String> {
        let By::Kernel(algorithm) = self.by else { return None };
        let op = match self.op.signature().inputs[PREPARED] {
            Some(Operand::Prepared) => Op::Prepare,
            Some(Operand::OddModulus) => Op::PrepareOdd,
            _ => return None,
        };
        let named = |product: Product| {
            let name = kernel::name(op, Algorithm::By(product));
            self.kernel.rsplit_once("_b").map(|(_, shape)| format!("gpuint_{name}_b{shape}"))
        };
        let own = algorithm.product().and_then(named).filter(|own| machine.has_kernel(own));
        own.or_else(|| named(Product::Classical))
    }
}

/// Runs all variants of a kernel on `count` rows in each of `turns` schedules. Returns the number
/// of rows.
///
/// # Errors
///
/// The faults, and the first wrong rows of each launch.
pub fn check(
    machine: &mut impl Machine,
    task: &Task,
    count: impl Fn(usize) -> usize,
    turns: std::ops::Range<usize>,
    is_slow: bool,
    random: &mut Random,
) -> Result<usize, Vec<String>> {
    let Task { op, shape, .. } = *task;
    let (mut rows, mut wrong) = (0, Vec::new());
    let all = variants(op, shape, is_slow);
    let is_long = matches!(task.by, By::Grids(_));
    for variant in (0..all).filter(|&variant| !is_long || long::has_variant(op, shape, variant)) {
        let count = count(all);
        let given = operands(&mut Draws { op, shape, count, variant, is_slow, random });
        match check_operands(machine, task, &given, turns.clone()) {
            Ok(checked) => rows += checked,
            Err(errors) => {
                wrong.extend(errors.iter().map(|error| format!("{error} (variant {variant})")));
            }
        }
    }
    if wrong.is_empty() { Ok(rows) } else { Err(wrong) }
}

/// Runs a kernel on operands in each of `turns` schedules. Returns the number of rows.
///
/// # Errors
///
/// The faults, and the first wrong rows of each launch.
pub fn check_operands(
    machine: &mut impl Machine,
    task: &Task,
    given: &Operands,
    turns: std::ops::Range<usize>,
) -> Result<usize, Vec<String>> {
    let expected = expected(task.op, task.shape, given);
    let prepared = prepare(machine, task, given.clone()).map_err(|fault| vec![fault])?;
    let (mut rows, mut wrong) = (0, Vec::new());
    for turn in turns {
        rows += given.rows;
        let errors = match task.launch(machine, &prepared, turn) {
            Ok(outcome) => self::wrong(given, &expected, &outcome),
            Err(fault) => vec![fault],
        };
        let place = format!("{}: schedule {turn}", task.kernel);
        wrong.extend(errors.into_iter().map(|error| format!("{place}: {error}")));
    }
    if wrong.is_empty() { Ok(rows) } else { Err(wrong) }
}

/// Checks a kernel with arguments of its own in each of `turns` schedules: of long rows, by the
/// operations that launch it, or of sieves. Returns the number of rows.
///
/// # Errors
///
/// An unknown kernel, the faults, and the first wrong rows of each launch.
pub fn check_grids(
    machine: &mut impl Machine,
    kernel: &str,
    turns: std::ops::Range<usize>,
    is_slow: bool,
    random: &mut Random,
) -> Result<usize, Vec<String>> {
    if let Some(checked) = sieves::check(machine, kernel, turns.clone(), random) {
        return checked;
    }
    let tasks = long::tasks(kernel, is_slow);
    if tasks.is_empty() {
        return Err(vec![format!("{kernel} has no cases")]);
    }
    let mut rows = 0;
    for (op, bits, plan) in tasks {
        let task = Task::long(kernel, op, bits, plan);
        let count = long::rows(op, bits, is_slow);
        rows += check(machine, &task, |_| count, turns.clone(), is_slow, random)?;
    }
    Ok(rows)
}

/// Operands with the records of their divisors.
fn prepare(
    machine: &mut impl Machine,
    task: &Task,
    mut given: Operands,
) -> Result<Operands, String> {
    if given.divisors.is_empty() {
        return Ok(given);
    }
    let kernel = task.preparation(machine).ok_or("there are no divisors to prepare")?;
    let divisors = std::mem::take(&mut given.divisors);
    let rows = divisors.len() / task.shape.bytes();
    let record = task.op.signature().inputs[PREPARED];
    let record_bytes = record.map_or(0, |record| record.row_bytes(task.shape));
    let preparing = Operands {
        inputs: [divisors, vec![], vec![]],
        outputs: [rows * record_bytes, 0],
        rows,
        ..Operands::default()
    };
    let outcome = machine.launch(&kernel, &preparing, 0)?;
    if outcome.status != u64::MAX {
        return Err(format!("{kernel}: row {} failed", outcome.status));
    }
    let [records, _] = outcome.outputs;
    given.inputs[PREPARED] = records;
    Ok(given)
}

/// Errors of the first wrong rows of a launch.
#[must_use]
pub fn wrong(given: &Operands, expected: &[Expected], outcome: &Outcome) -> Vec<String> {
    const MAX: usize = 3;
    let mut wrong = Vec::new();
    if !given.without_status {
        let lowest = expected.iter().position(|row| row.fails).map_or(u64::MAX, |row| row as u64);
        if outcome.status != lowest {
            wrong.push(format!("the status is {} instead of {lowest}", outcome.status as i64));
        }
    }
    for (row, expected) in expected.iter().enumerate() {
        let result = |output: usize| {
            let row_bytes = given.outputs[output] / given.rows;
            match row_bytes {
                0 => BigUint::ZERO,
                _ => value_of(&outcome.outputs[output], row, row_bytes),
            }
        };
        let got = [0, 1].map(result);
        let mut errors = Vec::new();
        for (output, (value, got)) in expected.results.iter().zip(&got).enumerate() {
            if let Some(value) = value.as_ref()
                && given.outputs[output] > 0
                && value != got
            {
                errors.push(format!("result {output} is {got:x} instead of {value:x}"));
            }
        }
        if let Some(condition) = &expected.condition
            && !condition(got.each_ref())
        {
            let [first, second] = &got;
            errors.push(format!("the results {first:x} and {second:x} are wrong"));
        }
        if let Some(mark) = expected.mark
            && given.mask
            && mark != outcome.is_marked(row)
        {
            errors.push(format!("the bit of the mask is not {mark}"));
        }
        if !errors.is_empty() {
            let inputs = [&given.inputs[0], &given.inputs[1], &given.divisors];
            let shown = inputs.map(|input| show(input, row, given.rows)).join("\n  ");
            wrong.push(format!("row {row}: {}\n  {shown}", errors.join(", ")));
        }
        if wrong.len() == MAX {
            break;
        }
    }
    wrong
}

/// Row of an input in hexadecimal; that of all rows if it is one for all.
fn show(input: &[u8], row: usize, rows: usize) -> String {
    match input.len() / rows {
        _ if input.is_empty() => "-".to_owned(),
        0 => format!("{:x}", BigUint::from_bytes_le(input)),
        bytes => format!("{:x}", value_of(input, row, bytes)),
    }
}
