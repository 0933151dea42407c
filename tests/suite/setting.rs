//! Devices and sizes of the checks, and their final report.
//!
//! Environment: `GPUINT_TEST_BACKENDS` lists the backends to run (`cpu`, `simt`, `cuda`; by default
//! all, and cuda only if there is a GPU), `GPUINT_TEST_ROWS` multiplies the numbers of rows
//! (0.05 by default, for a run of minutes; 1 nightly),
//! `GPUINT_TEST_TURN` is the turn of an ordinary run, which has every other width and one shape of
//! each (the number of the day),
//! `GPUINT_TEST_MIN_BITS` and `GPUINT_TEST_MAX_BITS` leave narrower and wider shapes out, and
//! `GPUINT_TEST_SEED` draws other rows and other thread schedules.
//! `GPUINT_TEST_JIT=BITS:Q:DIGIT,...` selects shapes that need not be built, on devices that
//! compile kernels at first use. `GPUINT_TEST_VERIFIED=1` checks all results on the devices, too
//! (`Device::verified`).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::ops::Range;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use gpuint::num_bigint::BigUint;
use gpuint::{
    Algorithm, BackendKind, Device, DigitKind, DynBatch, DynResidues, Error, Mask, Op, Product,
    Result, Shape, SimtOptions, is_offered, rare_paths, shapes,
};

use gpuint_testkit::operands::{self, Family, Row, ones};
use gpuint_testkit::skip::skip;
pub(crate) use gpuint_testkit::turns::{
    half_in_turn, in_turn, is_ordinary, is_thorough, say, times, turn,
};
use gpuint_testkit::turns::{number, variable};

/// The seed of all operands.
pub(crate) fn seed() -> u64 {
    number("GPUINT_TEST_SEED", 1)
}

/// Shapes that need not be built, tested instead of the built ones; empty if there are none.
static JIT: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let list = variable("GPUINT_TEST_JIT").unwrap_or_default();
    let parse =
        |text| Shape::parse(text).unwrap_or_else(|error| panic!("GPUINT_TEST_JIT: {error}"));
    list.split(',').filter(|text| !text.is_empty()).map(parse).collect()
});

/// Returns true if the devices have the shape.
pub(crate) fn has_shape(shape: Shape) -> bool {
    shapes().contains(&shape) || !JIT.is_empty() && shape.checked().is_ok()
}

/// Returns the device, with shapes that are not built and with checks if they are asked for.
fn as_asked(device: &Device) -> Device {
    let device = if JIT.is_empty() { device.clone() } else { device.with_jit() };
    if number("GPUINT_TEST_VERIFIED", 0) == 0 { device } else { device.verified() }
}

/// Width of the widest shape that is tested.
pub(crate) fn widest() -> usize {
    number("GPUINT_TEST_MAX_BITS", usize::MAX)
}

/// Devices of a backend; none if it is not to be tested, after printing the reason.
pub(crate) fn devices(backend: BackendKind) -> Vec<Device> {
    let asked = variable("GPUINT_TEST_BACKENDS");
    if let Some(asked) = &asked
        && !asked.split(',').any(|name| name.trim() == backend.name())
    {
        skip(backend.name(), format_args!("GPUINT_TEST_BACKENDS={asked}"));
        return Vec::new();
    }
    match backend {
        BackendKind::Cpu => vec![as_asked(&Device::cpu())],
        BackendKind::Simt => {
            if let Err(error @ Error::KernelMissing { .. }) = rare_paths() {
                skip("cxx", error);
                return Vec::new();
            }
            let seed = seed();
            // In order with a block for each group of rows, and two schedules in which few blocks
            // stride over the rows.
            let schedules = [(0, 0), (2 * seed, 2), (2 * seed + 1, 1)];
            schedules
                .map(|(seed, max_grid)| {
                    let options = SimtOptions { seed, max_grid, ..SimtOptions::default() };
                    as_asked(&Device::simt_with(options))
                })
                .into()
        }
        _ => match &*CUDA {
            Ok(device) => vec![as_asked(device)],
            Err(error @ Error::NoDevice) if asked.is_none() => {
                skip("gpu", error);
                Vec::new()
            }
            Err(error) => panic!("cuda: {error}"),
        },
    }
}

/// One device for all tests, so that compiled and loaded kernels are kept.
static CUDA: LazyLock<Result<Device>> = LazyLock::new(|| {
    let device = Device::cuda(0);
    if let Ok(device) = &device {
        say(format_args!("cuda: {device}"));
    }
    device
});

/// Place of a test: the devices of one backend and the shapes of one digit.
pub(crate) struct Setting {
    pub(crate) backend: BackendKind,
    digit: DigitKind,
    devices: Vec<Device>,
}

/// Number of rows of a test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    /// Total number of threads of 1024-bit rows: the simt backend takes about the same time for
    /// each thread.
    pub(crate) threads: usize,
    /// Minimum number of rows for wide rows.
    pub(crate) least: usize,
}

impl Setting {
    fn new(backend: BackendKind, digit: DigitKind) -> Option<Self> {
        let devices = devices(backend);
        (!devices.is_empty()).then_some(Self { backend, digit, devices })
    }

    pub(crate) fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The shapes of this digit that are tested, of which an ordinary run takes turns.
    fn shapes(&self) -> Vec<Shape> {
        let tested = number("GPUINT_TEST_MIN_BITS", 0)..=widest();
        let is_tested = |shape: &&Shape| shape.digit == self.digit && tested.contains(&shape.bits);
        if !JIT.is_empty() {
            return JIT.iter().filter(is_tested).copied().collect();
        }
        shapes().iter().filter(is_tested).copied().collect()
    }

    /// Number of rows for a shape: fewer if the shape is wide or many threads share a row. It
    /// includes the multiplier of the environment.
    pub(crate) fn count(&self, rows: Rows, shape: Shape) -> usize {
        let share = match shape.bits {
            ..=1024 => 1,
            1025..=2048 => 2,
            2049..=4096 => 6,
            _ => 8,
        };
        // Rows of fewer threads cost the host as much as rows of four.
        let count = rows.threads / share / shape.threads().max(4);
        // The many threads of 16-bit digits are cheap.
        let count = if shape.digit == DigitKind::U16 { 2 * count } else { count };
        // The simt backend takes a second for each of the widest rows.
        let least = if shape.bits > 65536 { rows.least.div_ceil(4) } else { rows.least };
        (count.max(least) as f64 * times()).ceil() as usize
    }

    /// Divides the rows into parts of odd length and gives each part to a device in turn.
    pub(crate) fn parts(
        &self,
        shape: Shape,
        families: &'static [Family],
        count: usize,
    ) -> impl Iterator<Item = (usize, &Device, Vec<Row>)> {
        let turns = self.devices.len();
        let part = (count.div_ceil(turns) | 1).min(1023);
        let starts: Vec<Range<usize>> =
            (0..count).step_by(part).map(|start| start..(start + part).min(count)).collect();
        starts.into_iter().enumerate().map(move |(index, range)| {
            let rows = operands::rows(seed(), families, shape.into(), range);
            (index, &self.devices[index % turns], rows)
        })
    }
}

impl Setting {
    /// Runs a check of each part of the rows.
    pub(crate) fn each_part(
        &self,
        shape: Shape,
        families: &'static [Family],
        count: usize,
        tally: &mut Tally,
        check: impl Fn(Part<'_>) -> Result<()>,
    ) {
        for (turn, device, rows) in self.parts(shape, families, count) {
            Part::run(shape, device, turn, rows, tally, &check);
        }
    }
}

/// Rows of a check, on one device.
pub(crate) struct Part<'a> {
    pub(crate) shape: Shape,
    pub(crate) device: &'a Device,
    /// Number of the part.
    pub(crate) turn: usize,
    pub(crate) rows: Vec<Row>,
    tally: RefCell<&'a mut Tally>,
}

impl Part<'_> {
    /// Runs a check of some rows, and counts them as lost if the device returns an error.
    pub(crate) fn run(
        shape: Shape,
        device: &Device,
        turn: usize,
        rows: Vec<Row>,
        tally: &mut Tally,
        check: impl FnOnce(Part<'_>) -> Result<()>,
    ) {
        let count = rows.len();
        let name = tally.name.clone();
        tally.attempt(&Context::new(shape, &name, device), count, |tally| {
            check(Part { shape, device, turn, rows, tally: RefCell::new(tally) })
        });
    }

    pub(crate) fn what<'b>(&'b self, name: &'b str) -> Context<'b> {
        Context::new(self.shape, name, self.device)
    }

    pub(crate) fn batch(&self, values: &[BigUint]) -> Result<DynBatch> {
        DynBatch::from_biguints(self.device, self.shape, values)
    }

    /// A batch of a value for each row.
    pub(crate) fn column(&self, value: impl FnMut(&Row) -> BigUint) -> Result<DynBatch> {
        self.batch(&self.rows.iter().map(value).collect::<Vec<_>>())
    }

    /// The first operands.
    pub(crate) fn a(&self) -> Result<DynBatch> {
        self.column(|row| row.a.clone())
    }

    /// The second operands.
    pub(crate) fn b(&self) -> Result<DynBatch> {
        self.column(|row| row.b.clone())
    }

    /// Memory that held other values.
    pub(crate) fn old(&self) -> Result<DynBatch> {
        DynBatch::splat(self.device, self.shape, &ones(self.shape.bits), self.rows.len())
    }

    /// Makes the second operands one number.
    pub(crate) fn set_b(&mut self, b: &BigUint) {
        self.rows.iter_mut().for_each(|row| row.b.clone_from(b));
    }

    /// Makes divisors of 0 divisors of 1.
    pub(crate) fn divisible(mut self) -> Self {
        let zeros = self.rows.iter_mut().filter(|row| row.b == BigUint::ZERO);
        zeros.for_each(|row| row.b.set_bit(0, true));
        self
    }

    /// Makes one of the divisors that of all rows, and returns it.
    pub(crate) fn one_divisor(&mut self) -> BigUint {
        let one = self.rows[self.turn * 7 % self.rows.len()].b.clone();
        self.set_b(&one);
        one
    }

    /// Counts a row, or another fact.
    pub(crate) fn row(&self, is_right: bool, describe: impl FnOnce() -> String) {
        self.tally.borrow_mut().row(is_right, describe);
    }

    /// Counts a result that is not one value a row.
    #[expect(clippy::needless_pass_by_value, reason = "the values are made for the comparison")]
    pub(crate) fn expect<V: PartialEq + Debug>(&self, name: &str, got: V, expected: V) {
        let what = self.what(name);
        self.row(got == expected, || format!("{what}: {got:x?}, expected {expected:x?}"));
    }

    /// Compares results with those of a function of the row.
    pub(crate) fn each<C: Column>(
        &self,
        name: &str,
        got: C,
        expected: impl FnMut(&Row) -> C::Value,
    ) -> Result<()> {
        self.compare(name, got, &self.rows.iter().map(expected).collect::<Vec<_>>())
    }

    /// Compares results with those of a function of the row and of a value for each row.
    pub(crate) fn each_with<C: Column, V>(
        &self,
        name: &str,
        got: C,
        values: &[V],
        expected: impl Fn(&Row, &V) -> C::Value,
    ) -> Result<()> {
        let mut values = values.iter();
        self.each(name, got, |row| expected(row, values.next().expect("a value for each row")))
    }

    /// Compares results.
    pub(crate) fn compare<C: Column>(
        &self,
        name: &str,
        got: C,
        expected: &[C::Value],
    ) -> Result<()> {
        let (got, rows) = (got.values()?, &self.rows[..expected.len()]);
        self.tally.borrow_mut().values(&self.what(name), rows, &got, expected);
        Ok(())
    }
}

/// Results, one for each row.
pub(crate) trait Column {
    type Value: PartialEq + Hex;

    fn values(self) -> Result<Vec<Self::Value>>;
}

macro_rules! columns {
    ($($rows:ty: $value:ty, |$this:ident| $values:expr;)*) => {$(
        impl Column for $rows {
            type Value = $value;

            fn values(self) -> Result<Vec<$value>> {
                let $this = self;
                $values
            }
        }
    )*};
}
columns! {
    DynBatch: BigUint, |rows| rows.to_biguints();
    &DynBatch: BigUint, |rows| rows.to_biguints();
    DynResidues: BigUint, |rows| rows.to_batch()?.to_biguints();
    &DynResidues: BigUint, |rows| rows.to_batch()?.to_biguints();
    Mask: bool, |mask| mask.to_bools();
    &Mask: bool, |mask| mask.to_bools();
}

impl<V: PartialEq + Hex> Column for Vec<V> {
    type Value = V;

    fn values(self) -> Result<Vec<V>> {
        Ok(self)
    }
}

impl<A: Column, B: Column> Column for (A, B) {
    type Value = (A::Value, B::Value);

    fn values(self) -> Result<Vec<Self::Value>> {
        Ok(zip(self.0.values()?, self.1.values()?))
    }
}

impl<A: Column, B: Column, C: Column> Column for (A, B, C) {
    type Value = (A::Value, B::Value, C::Value);

    fn values(self) -> Result<Vec<Self::Value>> {
        let rows = zip(zip(self.0.values()?, self.1.values()?), self.2.values()?);
        Ok(rows.into_iter().map(|((a, b), c)| (a, b, c)).collect())
    }
}

/// Selects every other width, and one shape of each, with another Q from width to width and from
/// turn to turn.
fn by_turns(shapes: Vec<Shape>, turn: usize) -> Vec<Shape> {
    let mut widths = BTreeMap::<usize, Vec<Shape>>::new();
    for shape in shapes {
        widths.entry(shape.bits).or_default().push(shape);
    }
    let step = if widths.len() > 1 { 2 } else { 1 };
    let widths = widths.values().enumerate().skip(turn % step).step_by(step);
    widths.map(|(index, shapes)| shapes[(index + turn / 2) % shapes.len()]).collect()
}

/// A check that runs at every shape.
pub(crate) trait Check {
    /// Name in the closing line.
    const NAME: &str;
    /// True if the check runs at shapes whose only products are by transforms.
    const WIDEST: bool = true;
    /// Returns false if a shape takes too long on a backend.
    fn takes(_shape: Shape, _backend: BackendKind) -> bool {
        true
    }
    fn check(shape: Shape, setting: &Setting, tally: &mut Tally);
}

/// Runs a check at every shape of a digit on one backend.
pub(crate) fn run<C: Check>(backend: BackendKind, digit: DigitKind) {
    let Some(setting) = Setting::new(backend, digit) else { return };
    let mut tally = Tally::new(format!("{} {backend} {digit}", C::NAME));
    let classical = |shape| is_offered(Op::MulLo, Algorithm::By(Product::Classical), shape);
    let mut shapes: Vec<_> =
        setting.shapes().into_iter().filter(|&shape| C::WIDEST || classical(shape)).collect();
    let is_any = !shapes.is_empty();
    shapes.retain(|&shape| C::takes(shape, backend));
    if is_any && shapes.is_empty() {
        return skip(&tally.name, "every shape takes too long in an ordinary run");
    }
    if is_ordinary() && JIT.is_empty() {
        shapes = by_turns(shapes, turn());
    }
    for shape in shapes {
        let start = Instant::now();
        C::check(shape, &setting, &mut tally);
        tally.longest = tally.longest.max(Some((start.elapsed(), shape)));
    }
    tally.finish();
}

/// A module of tests: a check on every backend and every digit.
macro_rules! on_every_backend {
    ($($module:ident: $check:ident,)*) => {$(
        mod $module {
            use gpuint::{BackendKind, DigitKind};
            $crate::setting::on_every_backend! { @ $check
                cpu_u16: Cpu U16, cpu_u32: Cpu U32, cpu_u64: Cpu U64,
                simt_u16: Simt U16, simt_u32: Simt U32, simt_u64: Simt U64,
                cuda_u16: Cuda U16, cuda_u32: Cuda U32, cuda_u64: Cuda U64,
            }
        }
    )*};
    (@ $check:ident $($name:ident: $backend:ident $digit:ident,)*) => {$(
        #[test]
        fn $name() {
            $crate::setting::run::<super::$check>(BackendKind::$backend, DigitKind::$digit);
        }
    )*};
}
pub(crate) use on_every_backend;

/// Declares checks of operations by a function: name, operations, rows, and if the check runs at
/// the widest shapes.
macro_rules! of_operations {
    (
        $function:ident;
        $($check:ident = $name:literal $ops:expr,
          $threads:literal, $least:literal, $widest:literal;)*
    ) => {$(
        struct $check;

        impl $crate::setting::Check for $check {
            const NAME: &str = $name;
            const WIDEST: bool = $widest;

            fn check(shape: Shape, setting: &Setting, tally: &mut Tally) {
                let rows = Rows { threads: $threads, least: $least };
                $function(&$ops, rows, shape, setting, tally);
            }
        }
    )*};
}
pub(crate) use of_operations;

/// Counts rows, and describes the first wrong ones.
pub(crate) struct Tally {
    name: String,
    start: Instant,
    /// The shape that took longest.
    longest: Option<(Duration, Shape)>,
    rows: u64,
    wrong: u64,
}

/// Wrong rows that are described.
const DESCRIBED: u64 = 3;

impl Tally {
    pub(crate) fn new(name: String) -> Self {
        Self { name, start: Instant::now(), longest: None, rows: 0, wrong: 0 }
    }

    /// Counts a row.
    pub(crate) fn row(&mut self, right: bool, describe: impl FnOnce() -> String) {
        self.rows += 1;
        if !right {
            self.wrong += 1;
            if self.wrong <= DESCRIBED {
                eprintln!("{}: wrong: {}", self.name, describe());
            }
        }
    }

    /// Counts the rows of a launch, or its errors.
    pub(crate) fn launched(
        &mut self,
        rows: std::result::Result<usize, Vec<String>>,
        device: &Device,
    ) {
        match rows {
            Ok(rows) => self.rows += rows as u64,
            Err(errors) => errors.into_iter().for_each(|error| {
                self.row(false, || format!("seed {}, on {device}, {error}", seed()));
            }),
        }
    }

    /// Counts rows that were not computed.
    fn lost(&mut self, rows: usize, reason: &str) {
        for _ in 0..rows.max(1) {
            self.row(false, || format!("{rows} rows lost: {reason}"));
        }
    }

    /// Runs the checks of some rows, and counts them as lost if the device returns an error.
    pub(crate) fn attempt(
        &mut self,
        what: &Context<'_>,
        rows: usize,
        checks: impl FnOnce(&mut Self) -> Result<()>,
    ) {
        if let Err(error) = checks(self) {
            self.lost(rows, &format!("{what}: {error}"));
        }
    }

    /// Counts rows that have one value each, and compares them.
    pub(crate) fn values<V: PartialEq + Hex>(
        &mut self,
        what: &Context<'_>,
        rows: &[Row],
        got: &[V],
        expected: &[V],
    ) {
        if got.len() != rows.len() {
            return self.lost(rows.len(), &format!("{what}: {} results", got.len()));
        }
        for ((row, got), expected) in rows.iter().zip(got).zip(expected) {
            self.row(got == expected, || {
                let (got, expected) = (got.hex(), expected.hex());
                format!("{}\n  result   {got}\n  expected {expected}", what.row(row))
            });
        }
    }

    /// Prints the closing line.
    pub(crate) fn finish(self) {
        let Self { name, start, longest, rows, wrong } = self;
        let seconds = start.elapsed().as_secs_f64();
        let longest = longest.map(|(time, shape)| format!(", {time:.1?} for {shape}"));
        let longest = longest.unwrap_or_default();
        say(format_args!("{name}: {rows} rows, {wrong} wrong ({seconds:.1} s{longest})"));
        assert!(rows > 0, "{name}: nothing was checked");
        assert_eq!(wrong, 0, "{name}: {wrong} of {rows} rows are wrong; seed {}", seed());
    }
}

/// The operation and its device.
pub(crate) struct Context<'a> {
    what: &'a str,
    shape: Shape,
    device: &'a Device,
}

impl<'a> Context<'a> {
    pub(crate) fn new(shape: Shape, what: &'a str, device: &'a Device) -> Self {
        Self { what, shape, device }
    }

    /// The context with a row and its operands.
    pub(crate) fn row(&self, row: &Row) -> String {
        let Row { index, a, b, .. } = row;
        format!(
            "{self}: seed {}, family {}, row {index}\n  operands {a:#x}\n           {b:#x}",
            seed(),
            row.family()
        )
    }
}

impl Display for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { what, shape, device } = self;
        write!(f, "{what} of {shape} on {device}")
    }
}

/// Formats a result.
pub(crate) trait Hex {
    fn hex(&self) -> String;
}

impl Hex for BigUint {
    fn hex(&self) -> String {
        format!("{self:#x}")
    }
}

impl<A: Hex, B: Hex> Hex for (A, B) {
    fn hex(&self) -> String {
        format!("{}, {}", self.0.hex(), self.1.hex())
    }
}

impl<A: Hex, B: Hex, C: Hex> Hex for (A, B, C) {
    fn hex(&self) -> String {
        format!("{}, {}, {}", self.0.hex(), self.1.hex(), self.2.hex())
    }
}

macro_rules! hex_as_debug {
    ($($kind:ty),*) => {$(
        impl Hex for $kind {
            fn hex(&self) -> String {
                format!("{self:?}")
            }
        }
    )*};
}
hex_as_debug!(bool, u64);

/// The shape of twice the width, if the devices have it.
pub(crate) fn doubled(shape: Shape) -> Option<Shape> {
    let double = Shape { bits: 2 * shape.bits, ..shape };
    let select = || double.select(shapes().iter().copied());
    let long = || Shape::long(double.bits).filter(|_| double.is_long() && has_long(shape));
    if has_shape(double) { Some(double) } else { select().or_else(long) }
}

/// True if rows of twice a width above 2^19 bits are long.
fn has_long(shape: Shape) -> bool {
    shape.digit == DigitKind::U64
}

/// The error of an operation with results of twice the width, where the devices do not have it.
pub(crate) fn no_double(shape: Shape, operation: &'static str) -> Error {
    let (bits, widest) = (shape.bits, 1 << 30);
    if bits > widest {
        return Error::WidthMissing { operation, bits, widest };
    }
    Error::ShapeMissing { shape: Shape { bits: 2 * bits, ..shape } }
}

/// The first operands of rows.
pub(crate) fn first(rows: &[Row]) -> Vec<BigUint> {
    rows.iter().map(|row| row.a.clone()).collect()
}

/// The second operands of rows.
pub(crate) fn second(rows: &[Row]) -> Vec<BigUint> {
    rows.iter().map(|row| row.b.clone()).collect()
}

/// A value and false; 0 and true where there is none.
pub(crate) fn masked(value: Option<BigUint>) -> (BigUint, bool) {
    let is_none = value.is_none();
    (value.unwrap_or_default(), is_none)
}

/// `a[i], b[i]`, pair by pair.
pub(crate) fn zip<A, B>(
    a: impl IntoIterator<Item = A>,
    b: impl IntoIterator<Item = B>,
) -> Vec<(A, B)> {
    a.into_iter().zip(b).collect()
}
