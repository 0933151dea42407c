//! The part of the library that is generated from the catalogue: `OUT_DIR/shapes.rs`, included by
//! `src/shape.rs`, `OUT_DIR/catalogue.rs` by `src/kernel.rs`, and `OUT_DIR/tuning.rs` by
//! `src/auto.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::iter;

use gpuint_catalogue::{Catalogue, DigitKind, Shape};

use crate::Build;
use crate::tuning::Tuning;

/// Adds a line to a text.
macro_rules! line {
    ($text:expr, $($arguments:tt)*) => {{
        // Writing to a string does not fail.
        let _ = writeln!($text, $($arguments)*);
    }};
}

/// Returns the shapes that types name, each with its built shape: the shapes of the catalogue, and
/// `Q = 4` at widths for which four digits per thread need too many threads.
fn named(catalogue: &Catalogue) -> BTreeMap<Shape, Shape> {
    let by_default = |shape| Shape { q: 4, ..shape };
    let names = catalogue.shapes().flat_map(|shape| [shape, by_default(shape)]);
    let selected = |shape: Shape| Some((shape, shape.select(catalogue.shapes())?));
    names.filter_map(selected).collect()
}

/// `OUT_DIR/shapes.rs`: the shapes that have kernels.
pub(crate) fn shapes(catalogue: &Catalogue) -> String {
    let mut text = String::from("// Expanded from kernels/catalogue.toml by the build script.\n");
    let named = named(catalogue);
    for (&shape, selected) in &named {
        let Shape { digit, q, bits } = shape;
        let count = type_number(shape.digits());
        line!(text, "built!({bits}, {q}, {digit}, {count}, {});", selected.q);
    }
    for &Shape { bits, q, digit } in named.keys() {
        let wide = 2 * bits;
        if named.contains_key(&Shape { bits: wide, q, digit }) {
            line!(text, "widened!({bits} => {wide}, {q}, {digit});");
        }
    }
    notes(catalogue, &mut text);
    line!(text, "use gpuint_catalogue::{{DigitKind, Shape}};\n");
    line!(text, "pub(crate) static SHAPES: &[Shape] = &[");
    for shape in catalogue.shapes() {
        line!(text, "    {},", value(shape));
    }
    line!(text, "];\n");
    line!(text, "/// The shape that `narrowest` selects for each width, narrowest first.");
    line!(text, "pub(super) static WIDTHS: &[Shape] = &[");
    let narrowest = |bits| Shape::narrowest(bits, catalogue.shapes());
    for shape in iter::successors(narrowest(0), |shape| narrowest(shape.bits + 1)) {
        line!(text, "    {},", value(shape));
    }
    line!(text, "];");
    text
}

/// `OUT_DIR/tuning.rs`: the tables without their measurements, the one of the build first.
pub(crate) fn tuning(tables: &[Tuning]) -> String {
    let mut text = String::from("// Written by the build script from tuning/.\n");
    line!(text, "pub(super) static TABLES: &[(&str, &str)] = &[");
    for Tuning { name, table } in tables {
        let table = gpuint_catalogue::tuning::Table { rows: Vec::new(), ..table.clone() };
        line!(text, "    ({name:?}, {:?}),", table.to_string());
    }
    line!(text, "];");
    text
}

/// The macro that puts the list of what is built into the compiler's message.
fn notes(catalogue: &Catalogue, text: &mut String) {
    line!(text, "\nmacro_rules! with_catalogue_notes {{ ($item:item) => {{");
    line!(text, "#[diagnostic::on_unimplemented(");
    line!(text, "    message = \"no kernels are built for `{{Self}}`\",");
    line!(
        text,
        "    label = \"this shape is not built; a type parameter needs the bound `Kernels`\","
    );
    let mut widths: BTreeMap<(DigitKind, Vec<usize>), BTreeSet<usize>> = BTreeMap::new();
    for digit in DigitKind::ALL {
        let mut by_q: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for shape in named(catalogue).into_keys().filter(|shape| shape.digit == digit) {
            by_q.entry(shape.q).or_default().push(shape.bits);
        }
        for (q, bits) in by_q {
            widths.entry((digit, bits)).or_default().insert(q);
        }
    }
    for ((digit, bits), q) in widths {
        let (bits, q) = (list(bits), list(q));
        line!(text, "    note = \"built for {digit} digits, Q = {q}: BITS = {bits}\",");
    }
    line!(
        text,
        "    note = \"to build others, set GPUINT_SHAPES=\\\"BITS:Q:DIGIT,...\\\" where gpuint is \
         compiled, for example in the [env] table of .cargo/config.toml\","
    );
    line!(
        text,
        "    note = \"`gpu_uint!(type N = at least BITS bits)` declares the next wider built \
         width, and `BITS bits, jit` a width whose kernels are compiled at first use\","
    );
    line!(text, ")]\n$item\n}} }}\npub(crate) use with_catalogue_notes;\n");
}

/// `OUT_DIR/catalogue.rs`: the kernels.
pub(crate) fn catalogue(build: &Build) -> String {
    let catalogue = &build.catalogue;
    let mut text = String::from("// Expanded from kernels/catalogue.toml by the build script.\n");
    line!(
        text,
        "use gpuint_catalogue::auto::SharedBytes;\n\
         use gpuint_catalogue::{{Algorithm, DigitKind, LongKernel, Op, Product, Row, Shape}};\n"
    );
    line!(text, "/// The rows of the catalogue.");
    line!(text, "pub(crate) static ROWS: &[Row<'static>] = &[");
    for row in catalogue.rows() {
        // The types print as the expressions that make them.
        let row = format!("{row:?}").replace("op: ", "op: Op::");
        let row = row.replace("algorithm: ", "algorithm: Algorithm::");
        let has_product = !row.contains("algorithm: Algorithm::Only");
        let row = row.replacen('(', "(Product::", usize::from(has_product));
        let row = row.replace("digit: ", "digit: DigitKind::").replace("blocks: [", "blocks: &[");
        line!(text, "    {row},");
    }
    line!(text, "];\n");
    line!(text, "/// The kernels of long rows, ordered by name.");
    line!(text, "pub(crate) static LONG_KERNELS: &[LongKernel<'static>] = &[");
    for kernel in catalogue.long_kernels() {
        line!(text, "    {kernel:?},");
    }
    line!(text, "];\n");
    line!(text, "/// Shared memory of blocks with more than every GPU has.");
    line!(text, "pub(crate) static SHARED_BYTES: &[SharedBytes] = &[");
    for (row, shape, bytes) in build.shared_bytes() {
        line!(text, "    ({row}, {}, {bytes:?}),", value(shape));
    }
    line!(text, "];");
    text
}

/// A shape as a Rust expression.
fn value(Shape { bits, q, digit }: Shape) -> String {
    format!("Shape {{ bits: {bits}, q: {q}, digit: DigitKind::{digit:?} }}")
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
