//! The reader of `kernels/catalogue.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::kernel::{self, Kernel, Row};
use crate::{DigitKind, Shape, tuning};

/// Default number of threads per block that kernels aim at.
pub const BLOCK: u32 = 128;

/// Path of the catalogue in the package.
pub const FILE: &str = "kernels/catalogue.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    operations: BTreeMap<String, Offer>,
    width_operations: BTreeMap<String, Offer>,
    shapes: Vec<Shapes>,
}

/// A template, its header and the widths at which it is offered.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Offer {
    header: String,
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
    digit: String,
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

/// Sort key of a shape in the list of shapes.
type Key = (DigitKind, usize, usize);

const fn key(Shape { bits, q, digit }: Shape) -> Key {
    (digit, q, bits)
}

/// Kernels and shapes of a build.
#[derive(Debug)]
pub struct Catalogue {
    /// Rows, and the header and the template of each.
    rows: Vec<(Row<'static>, [String; 2])>,
    /// Threads per block that the kernels of a shape aim at.
    shapes: BTreeMap<Key, u32>,
}

impl Catalogue {
    /// Reads the catalogue of the package in `root`, with the default shapes, with the other shapes
    /// if `all` is set, and with the shapes in `more`, `BITS:Q:DIGIT` separated by commas.
    ///
    /// # Errors
    /// A description of the problem with the file or with `more`.
    pub fn read(root: &Path, all: bool, more: &str) -> Result<Self, String> {
        let path = root.join(FILE);
        let text =
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(&text, all, more)
    }

    /// Parses the text of a catalogue; see [`read`](Self::read).
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(text: &str, all: bool, more: &str) -> Result<Self, String> {
        let wrong = |reason: String| format!("{FILE}: {reason}");
        let file: File = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let mut shapes = BTreeMap::new();
        for list in file.shapes.iter().filter(|list| all || list.set == Set::Default) {
            let digit = DigitKind::parse(&list.digit)
                .ok_or_else(|| wrong(format!("unknown digit \"{}\"", list.digit)))?;
            for &q in &list.q {
                for &bits in &list.bits {
                    let shape = Shape { bits, q, digit }.checked().map_err(wrong)?;
                    shapes.insert(key(shape), list.block.unwrap_or(BLOCK));
                }
            }
        }
        for text in more.split(',').filter(|text| !text.trim().is_empty()) {
            let shape = Shape::parse(text).map_err(|reason| format!("GPUINT_SHAPES: {reason}"))?;
            shapes.entry(key(shape)).or_insert(BLOCK);
        }
        let mut rows = Vec::new();
        for (entries, per_width) in [(file.operations, false), (file.width_operations, true)] {
            for (name, offer) in entries {
                let (op, algorithm) = kernel::parse(&name).ok_or_else(|| {
                    wrong(format!("\"{name}\" is not an operation and one of its algorithms"))
                })?;
                let Offer { header, template, limbs, to_bits, step, powers_of_two } = offer;
                if step == 0 {
                    return Err(wrong(format!("{name}: step is at least 1")));
                }
                let row = Row {
                    op,
                    algorithm,
                    header: "",
                    template: "",
                    per_width,
                    limbs,
                    to_bits,
                    step,
                    powers_of_two,
                };
                rows.push((row, [header, template]));
            }
        }
        Ok(Self { rows, shapes })
    }

    /// The shapes, ordered by digit, Q and width.
    #[must_use]
    pub fn shapes(&self) -> impl ExactSizeIterator<Item = Shape> {
        self.shapes.keys().map(|&(digit, q, bits)| Shape { bits, q, digit })
    }

    /// Returns true if the shape is built.
    #[must_use]
    pub fn contains(&self, shape: Shape) -> bool {
        self.shapes.contains_key(&key(shape))
    }

    /// The rows: kernels for each shape, then kernels for each width.
    #[must_use]
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        self.rows.iter().map(|(row, [header, template])| Row { header, template, ..*row })
    }

    /// Returns the row with this name.
    #[must_use]
    pub fn row(&self, name: &str) -> Option<Row<'_>> {
        let (op, algorithm) = kernel::parse(name)?;
        self.rows().find(|row| (row.op, row.algorithm) == (op, algorithm))
    }

    /// Returns the kernels of some shapes; the kernels that serve all shapes of a width are with
    /// its first shape.
    #[must_use]
    pub fn kernels(&self, shapes: &[Shape], tuning: &tuning::Table) -> Vec<Kernel<'_>> {
        let mut kernels = Vec::new();
        for &shape in shapes {
            let first = self.shapes().find(|other| other.bits == shape.bits) == Some(shape);
            let offered =
                self.rows().filter(|row| row.is_offered(shape) && (!row.per_width || first));
            kernels.extend(offered.map(|row| Kernel {
                row,
                shape,
                block: self.block(&row, shape, tuning),
            }));
        }
        kernels
    }

    /// Threads per block that a kernel aims at, from the tuning table, else from the catalogue.
    /// Kernels of a width choose their own.
    #[must_use]
    pub fn block(&self, row: &Row<'_>, shape: Shape, tuning: &tuning::Table) -> u32 {
        if row.per_width {
            return BLOCK;
        }
        let own = self.shapes.get(&key(shape)).copied().unwrap_or(BLOCK);
        tuning.block(&row.to_string(), shape).unwrap_or(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: &str = "[[shapes]]\nset = \"default\"\ndigit = \"u64\"\nq = [4]\nbits = [1024]\n";

    const ADD: &str = "add = { header = \"a.cuh\", template = \"Add<{shape}>\" }";

    fn parse(operations: &str, shapes: &str, more: &str) -> Result<Catalogue, String> {
        let text = format!("[operations]\n{operations}\n[width_operations]\n{shapes}");
        Catalogue::parse(&text, false, more)
    }

    #[test]
    fn invalid_catalogue_is_rejected_with_its_name() {
        let step = |step| format!("add = {{ header = \"\", template = \"A\", {step} = 0 }}");
        for (operations, shapes, more, words) in [
            (ADD.replace("add", "adds"), SHAPES, "", "\"adds\" is not an operation"),
            (step("step"), SHAPES, "", "add: step is at least 1"),
            (step("steps"), SHAPES, "", "kernels/catalogue.toml"),
            (ADD.replace("header = \"a.cuh\",", ""), SHAPES, "", "missing field `header`"),
            (String::new(), SHAPES, "1000:4:u64", "GPUINT_SHAPES: invalid shape 1000:4:u64"),
            (String::new(), &SHAPES.replace("u64", "i64"), "", "unknown digit \"i64\""),
            (String::new(), &SHAPES.replace("1024", "1000"), "", "invalid shape 1000:4:u64"),
        ] {
            let error = parse(&operations, shapes, more).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn shapes_are_added_to_the_catalogue() {
        let catalogue = parse(ADD, SHAPES, "512:4:u32, 1024:4:u64").unwrap();
        let shapes: Vec<_> = catalogue.shapes().map(|shape| shape.to_string()).collect();
        assert_eq!(shapes, ["b512_q4_u32", "b1024_q4_u64"]);
        assert!(catalogue.row("add").is_some() && catalogue.row("sub").is_none());
    }
}
