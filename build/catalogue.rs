//! The catalogue: what `kernels/catalogue.toml` and the environment ask for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

use serde::Deserialize;

use crate::Result;
use crate::codegen::{Entry, Task};
use crate::tuning::Table;

/// Adds a line to a text.
macro_rules! line {
    ($text:expr, $($arguments:tt)*) => {{
        // Writing to a string does not fail.
        let _ = writeln!($text, $($arguments)*);
    }};
}

const FILE: &str = "kernels/catalogue.toml";
/// The tuning table where GPUINT_TUNING names no other: of the only GPU that was measured.
const TUNING: &str = "tuning/h200.toml";
/// Threads per block where the catalogue says nothing.
const BLOCK: u32 = 128;
/// The most threads that work on one integer; `MAX_GROUP` of `src/shape.rs`.
const MAX_GROUP: usize = 1024;
/// Far beyond what a thread block can hold; numbers of bits and bytes fit in 32 bits.
const MAX_BITS: usize = 1 << 30;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    operations: BTreeMap<String, Operation>,
    width_operations: BTreeMap<String, Operation>,
    shapes: Vec<Shapes>,
}

/// A template, and the widths at which it is offered.
#[derive(Deserialize)]
#[serde(untagged)]
enum Operation {
    Everywhere(String),
    At(Offer),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Offer {
    template: String,
    #[serde(default)]
    limbs: usize,
    #[serde(default)]
    to_bits: usize,
    #[serde(default = "one")]
    step: usize,
    #[serde(default)]
    powers_of_two: bool,
}

const fn one() -> usize {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shapes {
    set: Set,
    digit: Digit,
    q: Vec<usize>,
    bits: Vec<usize>,
    block: Option<u32>,
}

#[derive(Deserialize, PartialEq, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Set {
    Default,
    All,
}

/// A machine word.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Digit {
    U16,
    U32,
    U64,
}

impl Digit {
    const ALL: [Self; 3] = [Self::U16, Self::U32, Self::U64];

    fn bits(self) -> usize {
        match self {
            Self::U16 => 16,
            Self::U32 => 32,
            Self::U64 => 64,
        }
    }

    /// The Rust and C++ name.
    fn name(self) -> &'static str {
        match self {
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
        }
    }

    /// The variant of `DigitKind`.
    fn kind(self) -> &'static str {
        match self {
            Self::U16 => "U16",
            Self::U32 => "U32",
            Self::U64 => "U64",
        }
    }
}

/// The key of a shape, in the order in which shapes are listed.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) digit: Digit,
    pub(crate) q: usize,
    pub(crate) bits: usize,
}

impl Shape {
    fn new(bits: usize, q: usize, digit: Digit) -> Result<Self> {
        let per_thread = q.saturating_mul(digit.bits());
        if bits > MAX_BITS {
            return Err(format!(
                "the shape {bits}:{q}:{} is not valid: BITS is at most {MAX_BITS}",
                digit.name()
            ));
        }
        if per_thread == 0 || bits == 0 || !bits.is_multiple_of(per_thread) {
            return Err(format!(
                "the shape {bits}:{q}:{} is not valid: BITS must be a positive multiple of Q times the bits of a digit",
                digit.name()
            ));
        }
        let threads = bits / per_thread;
        if threads > MAX_GROUP {
            return Err(format!(
                "the shape {bits}:{q}:{} is not valid: it needs {threads} threads (BITS / digit bits / Q), at most {MAX_GROUP} can work on one integer",
                digit.name()
            ));
        }
        Ok(Self { digit, q, bits })
    }

    /// `BITS:Q:DIGIT`.
    fn parse(text: &str) -> Result<Self> {
        let malformed =
            || format!("GPUINT_SHAPES: \"{text}\" is not BITS:Q:DIGIT, for example 12288:4:u64");
        let mut parts = text.split(':').map(str::trim);
        let (Some(bits), Some(q), Some(digit), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(malformed());
        };
        let bits = bits.parse().map_err(|_| malformed())?;
        let q = q.parse().map_err(|_| malformed())?;
        let digit =
            Digit::ALL.into_iter().find(|known| known.name() == digit).ok_or_else(malformed)?;
        Self::new(bits, q, digit)
    }
}

/// Everything that is built.
pub(crate) struct Catalogue {
    /// The kernels; first those of each shape, then those of each width.
    operations: Vec<(String, Operation, bool)>,
    /// Shape to threads per block.
    shapes: BTreeMap<Shape, u32>,
    pub(crate) tuning: Tuning,
}

/// The tuning table, as text, too.
pub(crate) struct Tuning {
    pub(crate) text: String,
    pub(crate) table: Table,
}

impl Tuning {
    /// Reads the table that the environment names; `kernels` are those of the catalogue.
    fn load(kernels: &[&str]) -> Result<Self> {
        let file = crate::variable("GPUINT_TUNING").unwrap_or_else(|| TUNING.to_owned());
        println!("cargo::rerun-if-changed={file}");
        let wrong = |error: &dyn std::fmt::Display| format!("tuning table {file}: {error}");
        let text = fs::read_to_string(&file).map_err(|error| wrong(&error))?;
        let table = Table::parse(&text, kernels).map_err(|error| wrong(&error))?;
        Ok(Self { text, table })
    }
}

impl Catalogue {
    /// Reads the file and the environment.
    pub(crate) fn load() -> Result<Self> {
        let text = fs::read_to_string(FILE).map_err(|error| format!("{FILE}: {error}"))?;
        let file: File = toml::from_str(&text).map_err(|error| format!("{FILE}: {error}"))?;
        let all = match crate::variable("GPUINT_CATALOGUE").as_deref() {
            None | Some("default") => false,
            Some("all") => true,
            Some(other) => {
                return Err(format!("GPUINT_CATALOGUE: \"{other}\" is neither default nor all"));
            }
        };
        let mut shapes = BTreeMap::new();
        for list in file.shapes.iter().filter(|list| all || list.set == Set::Default) {
            for &q in &list.q {
                for &bits in &list.bits {
                    let shape = Shape::new(bits, q, list.digit)
                        .map_err(|reason| format!("{FILE}: {reason}"))?;
                    shapes.insert(shape, list.block.unwrap_or(BLOCK));
                }
            }
        }
        let added = crate::variable("GPUINT_SHAPES").unwrap_or_default();
        for text in added.split(',').filter(|text| !text.trim().is_empty()) {
            shapes.entry(Shape::parse(text)?).or_insert(BLOCK);
        }
        let each = |operations: BTreeMap<String, Operation>, per_width| {
            operations.into_iter().map(move |(name, operation)| (name, operation, per_width))
        };
        let operations: Vec<_> =
            each(file.operations, false).chain(each(file.width_operations, true)).collect();
        let kernels: Vec<_> = operations.iter().map(|(name, ..)| name.as_str()).collect();
        let tuning = Tuning::load(&kernels)?;
        Ok(Self { operations, shapes, tuning })
    }

    /// The shapes, in the order in which they are listed.
    pub(crate) fn shapes(&self) -> impl ExactSizeIterator<Item = Shape> {
        self.shapes.keys().copied()
    }

    /// The kernels that can be built.
    fn tasks(&self) -> impl Iterator<Item = Task<'_>> {
        self.operations.iter().map(|(name, operation, per_width)| {
            let task = Task {
                name,
                template: "",
                per_width: *per_width,
                limbs: 0,
                to_bits: 0,
                step: 1,
                powers_of_two: false,
            };
            match operation {
                Operation::Everywhere(template) => Task { template, ..task },
                &Operation::At(Offer { ref template, limbs, to_bits, step, powers_of_two }) => {
                    Task { template, limbs, to_bits, step, powers_of_two, ..task }
                }
            }
        })
    }

    /// The kernels of some shapes; those of a width are with its first shape.
    pub(crate) fn entries(&self, shapes: &[Shape]) -> Vec<Entry<'_>> {
        let mut entries = Vec::new();
        for &shape in shapes {
            let first = self.shapes().find(|other| other.bits == shape.bits) == Some(shape);
            let Shape { digit, q, bits } = shape;
            let digit = digit.name();
            let tasks = self
                .tasks()
                .filter(|task| task.is_offered(bits, digit) && (!task.per_width || first));
            entries.extend(tasks.map(|task| {
                let block = self.block(&task, shape);
                Entry { task, bits, q, digit, block }
            }));
        }
        entries
    }

    /// The threads per block that a kernel aims at: the tuning table's, else the catalogue's. Kernels
    /// of a width have their own.
    fn block(&self, task: &Task<'_>, shape: Shape) -> u32 {
        if task.per_width {
            return BLOCK;
        }
        let Shape { digit, q, bits } = shape;
        let tuned = self.tuning.table.block(task.name, digit.name(), q, bits);
        tuned.unwrap_or_else(|| self.shapes[&shape])
    }

    /// The shape of twice the width, where it is built.
    fn double(&self, shape: Shape) -> Option<Shape> {
        let wide = Shape { bits: 2 * shape.bits, ..shape };
        self.shapes.contains_key(&wide).then_some(wide)
    }

    /// `OUT_DIR/catalogue.rs`, included by `src/shape.rs`.
    pub(crate) fn rust(&self) -> String {
        let mut text = String::from("// Expanded from kernels/catalogue.toml by build.rs.\n");
        for shape in self.shapes() {
            let Shape { digit, q, bits } = shape;
            let count = type_number(bits / digit.bits());
            let digit = digit.name();
            line!(text, "built!({bits}, {q}, {digit}, {count});");
        }
        for shape in self.shapes() {
            if let Some(wide) = self.double(shape) {
                let Shape { digit, q, bits } = shape;
                let (wide, digit) = (wide.bits, digit.name());
                line!(text, "widened!({bits} => {wide}, {q}, {digit});");
            }
        }
        self.notes(&mut text);
        self.tables(&mut text);
        text
    }

    /// The macro that puts the list of what is built into the compiler's message.
    fn notes(&self, text: &mut String) {
        line!(text, "\nmacro_rules! with_catalogue_notes {{ ($item:item) => {{");
        line!(text, "#[diagnostic::on_unimplemented(");
        line!(text, "    message = \"no kernels are built for `{{Self}}`\",");
        line!(text, "    label = \"this shape is not built\",");
        let mut widths: BTreeMap<(Digit, Vec<usize>), BTreeSet<usize>> = BTreeMap::new();
        for digit in Digit::ALL {
            let mut by_q: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for shape in self.shapes().filter(|shape| shape.digit == digit) {
                by_q.entry(shape.q).or_default().push(shape.bits);
            }
            for (q, bits) in by_q {
                widths.entry((digit, bits)).or_default().insert(q);
            }
        }
        for ((digit, bits), q) in widths {
            let (bits, q) = (list(bits), list(q));
            let digit = digit.name();
            line!(text, "    note = \"built for {digit} digits, Q = {q}: BITS = {bits}\",");
        }
        line!(
            text,
            "    note = \"to build others, set GPUINT_SHAPES=\\\"BITS:Q:DIGIT,...\\\" where gpuint is compiled, for example in the [env] table of .cargo/config.toml\","
        );
        line!(text, ")]\n$item\n}} }}\npub(crate) use with_catalogue_notes;\n");
    }

    /// The run-time tables.
    fn tables(&self, text: &mut String) {
        line!(text, "use crate::codegen::Task;");
        line!(text, "use crate::digit::DigitKind;");
        line!(text, "use crate::shape::{{Shape, ShapeVisitor, WideningVisitor}};");
        line!(text, "use crate::GpuUint;\n");
        line!(text, "pub(crate) static SHAPES: &[Shape] = &[");
        for Shape { digit, q, bits } in self.shapes() {
            let kind = digit.kind();
            line!(text, "    Shape {{ bits: {bits}, q: {q}, digit: DigitKind::{kind} }},");
        }
        line!(text, "];\n");
        let every: Vec<Shape> = self.shapes().collect();
        let doubled: Vec<Shape> =
            self.shapes().filter(|&shape| self.double(shape).is_some()).collect();
        visitor(text, "visit", "ShapeVisitor", &every);
        visitor(text, "visit_widening", "WideningVisitor", &doubled);
        line!(
            text,
            "/// The threads per block that a kernel aims at where nothing says otherwise."
        );
        line!(text, "pub const CATALOGUE_BLOCK: u32 = {BLOCK};\n");
        line!(text, "/// Kernels that aim at other than {BLOCK} threads per block.");
        line!(text, "static OTHER_BLOCKS: &[(&str, Shape, u32)] = &[");
        for shape in self.shapes() {
            for task in self.tasks() {
                let block = self.block(&task, shape);
                if block != BLOCK {
                    let Shape { digit, q, bits } = shape;
                    let (kind, task) = (digit.kind(), task.name);
                    line!(
                        text,
                        "    ({task:?}, Shape {{ bits: {bits}, q: {q}, digit: DigitKind::{kind} }}, {block}),"
                    );
                }
            }
        }
        line!(text, "];\n");
        line!(text, "/// The threads per block that a kernel aims at on a shape.");
        line!(text, "pub(crate) fn block(task: &str, shape: Shape) -> u32 {{");
        line!(
            text,
            "    let other = OTHER_BLOCKS.iter().find(|other| (other.0, other.1) == (task, shape));"
        );
        line!(text, "    other.map_or(CATALOGUE_BLOCK, |other| other.2)\n}}\n");
        line!(text, "/// What can be built.");
        line!(text, "pub(crate) static TASKS: &[Task<'static>] = &[");
        for task in self.tasks() {
            line!(text, "    {task:?},");
        }
        line!(text, "];");
    }
}

/// A function from shapes as values to shapes as types.
fn visitor(text: &mut String, name: &str, kind: &str, shapes: &[Shape]) {
    line!(
        text,
        "pub(crate) fn {name}<V: {kind}>(shape: Shape, visitor: V) -> Option<V::Output> {{"
    );
    line!(text, "    Some(match (shape.bits, shape.q, shape.digit) {{");
    for Shape { digit, q, bits } in shapes {
        let (name, kind) = (digit.name(), digit.kind());
        line!(
            text,
            "        ({bits}, {q}, DigitKind::{kind}) => visitor.visit::<GpuUint<{bits}, {q}, {name}>>(),"
        );
    }
    line!(text, "        _ => return None,\n    }})\n}}\n");
}

/// A number as a type of `typenum`.
fn type_number(number: usize) -> String {
    if number <= 1024 || number.is_power_of_two() {
        return format!("typenum::consts::U{number}");
    }
    let high = type_number(number / 2);
    format!("typenum::UInt<{high}, typenum::B{}>", number % 2)
}

fn list(numbers: impl IntoIterator<Item = usize>) -> String {
    numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
}
