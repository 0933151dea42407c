//! Programs: steps on a pool of batches, each compared with its expected results.

use std::fmt::Write as _;
use std::panic;

use gpuint::num_bigint::BigUint;
use gpuint::{Batch, Device, Divisor, Error, Op, Result, Widen};
use gpuint_testkit::cases;
use gpuint_testkit::compositions::{Batches, Composition, compositions, is_expected, number};
use gpuint_testkit::forms::{self, Arg, Call, Column, Columns, Form, Pick, Typed};
use gpuint_testkit::launch::{Operands, bytes_of};
use gpuint_testkit::operands::{self, DIVISIONS, EUCLID, EXACT, Family, PRODUCTS, ROOTS, SUMS};
use gpuint_testkit::oracle;
use gpuint_testkit::random::Random;
use num_traits::Zero;

/// Maximum number of batches in the pool.
const POOL: usize = 10;
/// Name of the step that makes batches from new values.
pub(crate) const MAKE: &str = "make";
/// Families of new values.
const FAMILIES: [&[Family]; 6] = [SUMS, PRODUCTS, DIVISIONS, EXACT, EUCLID, ROOTS];
/// Bits of exponents: powers take long.
const EXPONENT_BITS: usize = 9;

/// Expected columns, or some errors of which one is expected.
type Expected = std::result::Result<Vec<Vec<BigUint>>, Vec<Error>>;

/// A step of a program; the seed determines its operands.
#[derive(Clone, PartialEq)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) seed: u64,
}

/// An operation of programs.
pub(crate) enum Operation<T: Widen> {
    Form(Form<Typed<T>>),
    Composition(Composition),
}

/// All operations of programs.
pub(crate) fn operations<T: Widen>() -> Vec<Operation<T>> {
    let forms = forms::typed().into_iter().map(Operation::Form);
    forms.chain(compositions().into_iter().map(Operation::Composition)).collect()
}

impl<T: Widen> Operation<T> {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Form(form) => form.name,
            Self::Composition(composition) => composition.name,
        }
    }

    fn takes(&self, arg: Arg) -> bool {
        match self {
            Self::Form(form) => form.takes(arg),
            Self::Composition(composition) => composition.takes(arg),
        }
    }

    fn is_power(&self) -> bool {
        matches!(self, Self::Form(Form { op: Op::PowMod | Op::PowProductMod, .. }))
    }

    fn call(&self, call: Call<'_, Typed<T>>) -> Result<Columns<Typed<T>>> {
        match self {
            Self::Form(form) => (form.call)(call),
            Self::Composition(composition) => {
                let columns = (composition.call)(Call {
                    a: call.a.as_dyn(),
                    b: call.b.as_dyn(),
                    divisor: None,
                    n: call.n,
                    all: call.all,
                    each: call.each,
                    distances: call.distances,
                    out: call.out.into_dyn(),
                    out2: call.out2.into_dyn(),
                    mask: call.mask,
                    words: call.words,
                    orders: call.orders,
                })?;
                // Batches of other widths are not kept.
                let batch = |batch| Batch::try_from(batch).ok();
                let column = |Column { values, batch: found }: Column<_>| Column {
                    values,
                    batch: found.and_then(batch),
                };
                Ok(columns.into_iter().map(column).collect())
            }
        }
    }
}

/// A batch and its expected values.
struct Value<T: Widen> {
    batch: Batch<T>,
    model: Vec<BigUint>,
}

/// Places of the operands of a step in the pool, and its number.
struct Places {
    a: usize,
    b: usize,
    divisors: usize,
    outs: [usize; 3],
    n: u64,
    /// True if one divisor divides all rows.
    is_one_divisor: bool,
}

/// A pool of batches and the steps on them.
struct World<'a, T: Widen> {
    devices: &'a [Device],
    operations: &'a [Operation<T>],
    pool: Vec<Value<T>>,
}

impl<T: Widen> World<'_, T> {
    /// Executes a step.
    fn step(&mut self, step: &Step) -> std::result::Result<(), String> {
        let mut random = Random::new(step.seed);
        if self.pool.is_empty() || step.name == MAKE {
            return self.make(&mut random).map_err(|error| format!("{MAKE}: {error}"));
        }
        let operation = self.operations.iter().find(|operation| operation.name() == step.name);
        let operation = operation.ok_or_else(|| format!("unknown operation \"{}\"", step.name))?;
        self.check(operation, &mut random).map_err(|error| format!("{}: {error}", step.name))
    }

    /// Makes two batches of hostile pairs, with small values among them.
    fn make(&mut self, random: &mut Random) -> Result<()> {
        let device = &self.devices[random.below(self.devices.len())];
        let count = random.pick(&[0, 1, 2, 5, 31, 32, 33, 65]);
        let (families, start) = (random.pick(&FAMILIES), random.below(1 << 16));
        let rows = operands::rows(random.word(), families, T::SHAPE.into(), start..start + count);
        let (a, b): (Vec<_>, Vec<_>) = rows.into_iter().map(|row| (row.a, row.b)).unzip();
        for mut model in [a, b] {
            for value in &mut model {
                if random.one_in(4) {
                    *value = (random.word() % 9).into();
                }
            }
            let batch = match model.first() {
                Some(first) if random.one_in(3) => Batch::splat(device, first, count),
                _ => Batch::from_biguints(device, &model),
            }?;
            let model = batch.to_biguints()?;
            self.keep(random, Value { batch, model });
        }
        Ok(())
    }

    fn keep(&mut self, random: &mut Random, value: Value<T>) {
        if self.pool.len() < POOL {
            self.pool.push(value);
        } else {
            self.pool[random.below(POOL)] = value;
        }
    }

    /// A batch that usually matches another one: same device, same number of rows.
    fn partner(&self, a: usize, random: &mut Random) -> usize {
        if random.one_in(12) {
            return random.below(self.pool.len());
        }
        let matches = |&at: &usize| {
            let (a, b) = (&self.pool[a].batch, &self.pool[at].batch);
            a.device() == b.device() && a.len() == b.len()
        };
        let partners: Vec<usize> = (0..self.pool.len()).filter(matches).collect();
        random.pick(&partners)
    }

    fn places(&self, operation: &Operation<T>, random: &mut Random) -> Places {
        let a = random.below(self.pool.len());
        let [b, divisors, first, second, mask] = [(); 5].map(|()| self.partner(a, random));
        let n = number(random, T::BITS);
        let n = match operation {
            _ if operation.is_power() => n % 999,
            _ if operation.takes(Arg::Digit) => n & (u64::MAX >> (64 - T::DIGIT_BITS)),
            _ => n,
        };
        let is_one_divisor = random.one_in(2);
        Places { a, b, divisors, outs: [first, second, mask], n, is_one_divisor }
    }

    /// Compares the results of an operation with the expected ones, and keeps them.
    fn check(
        &mut self,
        operation: &Operation<T>,
        random: &mut Random,
    ) -> std::result::Result<(), String> {
        let at = self.places(operation, random);
        let expected = self.expected(operation, &at);
        match (self.call(operation, &at), expected) {
            (Err(error), Err(errors))
                if errors.iter().any(|expected| is_expected(&error, expected)) =>
            {
                Ok(())
            }
            (Err(error), Err(errors)) => Err(format!("{error:?} instead of one of {errors:?}")),
            (Err(error), Ok(_)) => Err(format!("{error:?} instead of results")),
            (Ok(_), Err(errors)) => Err(format!("results instead of one of {errors:?}")),
            (Ok(columns), Ok(mut expected)) => {
                // Operations on no rows have empty columns.
                if expected.is_empty() {
                    expected.resize_with(columns.len(), Vec::new);
                }
                if columns.len() != expected.len() {
                    return Err(format!("{} results, not {}", columns.len(), expected.len()));
                }
                for (index, (column, model)) in columns.into_iter().zip(expected).enumerate() {
                    difference(&column.values, &model)
                        .map_err(|error| format!("result {index} of {error}; n = {}", at.n))?;
                    if let Some(batch) = column.batch {
                        self.keep(random, Value { batch, model });
                    }
                }
                Ok(())
            }
        }
    }

    /// Calls an operation. Batches for results hold old values.
    fn call(&self, operation: &Operation<T>, at: &Places) -> Result<Columns<Typed<T>>> {
        let [a, b, divisors] = [at.a, at.b, at.divisors].map(|at| &self.pool[at]);
        let [out, out2, mask] = at.outs.map(|at| &self.pool[at].batch);
        let exponents = match operation.is_power() {
            true => Some(b.batch.shr(T::BITS - EXPONENT_BITS)?),
            false => None,
        };
        let divisor = match () {
            () if !operation.takes(Arg::Divisor) => None,
            () if at.is_one_divisor => {
                Some(Divisor::splat(a.batch.device(), &one_of(&divisors.model))?)
            }
            () => Some(Divisor::new(&divisors.batch)?),
        };
        let rows = a.batch.len();
        operation.call(Call {
            a: &a.batch,
            b: exponents.as_ref().unwrap_or(&b.batch),
            divisor: divisor.as_ref(),
            n: at.n,
            all: at.n.into(),
            each: vec![at.n.into(); rows],
            distances: vec![at.n as usize; rows],
            out: out.try_clone()?,
            out2: out2.try_clone()?,
            mask: mask.is_zero_mask()?,
            words: vec![u64::MAX; rows],
            orders: vec![std::cmp::Ordering::Less; rows],
        })
    }

    /// Divisors of an operation: one for all rows, or one for each.
    fn divisors(&self, operation: &Operation<T>, at: &Places) -> Vec<BigUint> {
        if operation.takes(Arg::AllDivisor) {
            return vec![at.n.into()];
        }
        match operation.takes(Arg::Divisor) {
            true if at.is_one_divisor => vec![one_of(&self.pool[at.divisors].model)],
            true => self.pool[at.divisors].model.clone(),
            false => Vec::new(),
        }
    }

    fn expected(&self, operation: &Operation<T>, at: &Places) -> Expected {
        let divisors = self.divisors(operation, at);
        // Divisors are prepared first, and a zero digit is rejected before the rows are read.
        let zero = divisors.iter().position(Zero::is_zero);
        let zero = zero.or((operation.takes(Arg::Digit) && at.n == 0).then_some(0));
        if let Some(row) = zero {
            return Err(vec![Error::DivisionByZero { row }]);
        }
        let errors = self.mismatches(operation, at);
        if !errors.is_empty() {
            return Err(errors);
        }
        let [a, b] = [at.a, at.b].map(|at| &self.pool[at].model[..]);
        match operation {
            Operation::Form(form) => {
                let operands = operands_of::<T>(form, [a, b], &divisors, at);
                let rows = cases::expected(form.op, T::SHAPE, &operands);
                match rows.iter().position(|row| row.fails) {
                    Some(row) if !form.results.contains(&Pick::Mask) => {
                        Err(vec![Error::DivisionByZero { row }])
                    }
                    _ => Ok(form.columns(&rows)),
                }
            }
            Operation::Composition(composition) => {
                let operands = Batches { a, b, n: at.n, shape: T::SHAPE };
                composition.expected(&operands).map_err(|error| vec![error])
            }
        }
    }

    /// Errors of operands that do not match the first one.
    fn mismatches(&self, operation: &Operation<T>, at: &Places) -> Vec<Error> {
        let a = &self.pool[at.a].batch;
        let others = [
            (operation.takes(Arg::B), at.b),
            (operation.takes(Arg::Divisor) && !at.is_one_divisor, at.divisors),
            (operation.takes(Arg::Out), at.outs[0]),
            (operation.takes(Arg::Out2), at.outs[1]),
            (operation.takes(Arg::OutMask), at.outs[2]),
        ];
        let others = others.into_iter().filter(|(is_used, _)| *is_used);
        let error = |other: &Batch<T>| {
            if other.device() != a.device() {
                return Some(Error::DeviceMismatch);
            }
            let (left, right) = (a.len(), other.len());
            (left != right).then_some(Error::LengthMismatch { left, right })
        };
        others.filter_map(|(_, at)| error(&self.pool[at].batch)).collect()
    }
}

/// The first of some values, or 1.
fn one_of(values: &[BigUint]) -> BigUint {
    values.first().cloned().unwrap_or(1u32.into())
}

/// The launch that a form stands for.
fn operands_of<T: Widen>(
    form: &Form<Typed<T>>,
    [a, b]: [&[BigUint]; 2],
    divisors: &[BigUint],
    at: &Places,
) -> Operands {
    let bytes = |values: &[BigUint]| bytes_of(values.iter(), T::BITS);
    let n = u32::try_from(at.n).unwrap_or(u32::MAX);
    let mut launch = Operands { rows: a.len(), mask: true, ..Operands::default() };
    launch.inputs[0] = bytes(a);
    launch.divisors = bytes(divisors);
    launch.params.broadcast_divisor = divisors.len() == 1;
    launch.params.bases = usize::from(form.op == Op::PowProductMod);
    form.select(&mut launch.params);
    for arg in form.args {
        match arg {
            Arg::B if form.op == Op::PowMod || form.op == Op::PowProductMod => {
                let exponents = b.iter().map(|b| oracle::shr(b, T::BITS - EXPONENT_BITS));
                launch.inputs[1] = bytes(&exponents.collect::<Vec<_>>());
            }
            Arg::B => launch.inputs[1] = bytes(b),
            Arg::Each => launch.inputs[1] = bytes(&vec![at.n.into(); a.len()]),
            Arg::All => {
                launch.inputs[1] = bytes(&[at.n.into()]);
                launch.params.broadcast_exponent = form.op == Op::PowMod;
                launch.params.broadcast_rhs = form.op != Op::PowMod;
            }
            Arg::Distance => launch.params.distance = n,
            Arg::Digits => launch.params.distance = n.saturating_mul(T::DIGIT_BITS as u32),
            Arg::Distances => launch.inputs[1] = n.to_le_bytes().repeat(a.len()),
            Arg::Digit => launch.params.digit = at.n,
            Arg::Divisor | Arg::AllDivisor | Arg::Number => {}
            Arg::Out | Arg::Out2 | Arg::OutMask | Arg::OutWords | Arg::OutOrders => {}
        }
    }
    if form.results.contains(&Pick::Not) {
        launch.inputs[1] = bytes(&[BigUint::ZERO]);
        launch.params.broadcast_rhs = true;
    }
    launch
}

/// Returns an error if values are not the expected ones.
fn difference(values: &[BigUint], expected: &[BigUint]) -> std::result::Result<(), String> {
    let rows = 0..values.len().max(expected.len());
    match rows.map(|row| (row, values.get(row), expected.get(row))).find(|row| row.1 != row.2) {
        Some((row, got, wanted)) => Err(format!("row {row} is {got:x?} instead of {wanted:x?}")),
        None => Ok(()),
    }
}

/// Runs a program in a new world; an error is the step's text.
pub(crate) fn run<T: Widen>(
    devices: &[Device],
    operations: &[Operation<T>],
    steps: &[Step],
) -> std::result::Result<(), String> {
    let program = panic::AssertUnwindSafe(|| {
        let mut world = World { devices, operations, pool: Vec::new() };
        steps.iter().try_for_each(|step| world.step(step))
    });
    panic::catch_unwind(program).unwrap_or_else(|_| Err("it panicked".to_owned()))
}

/// Removes steps while the program still fails.
pub(crate) fn shrink(mut steps: Vec<Step>, fails: impl Fn(&[Step]) -> bool) -> Vec<Step> {
    let mut size = steps.len() / 2;
    while size > 0 {
        let mut start = 0;
        while start < steps.len() {
            let end = (start + size).min(steps.len());
            let fewer = [&steps[..start], &steps[end..]].concat();
            if fails(&fewer) {
                steps = fewer;
            } else {
                start = end;
            }
        }
        size /= 2;
    }
    steps
}

/// A program as a line of the file of regressions.
pub(crate) fn text<T: Widen>(steps: &[Step]) -> String {
    let mut text = T::SHAPE.to_string();
    for Step { name, seed } in steps {
        let _ = write!(text, "; {name}: {seed:x}");
    }
    text
}
