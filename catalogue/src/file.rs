//! The reader of `kernels/catalogue.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::kernel::{self, Kernel, LongKernel, Row};
use crate::tuning::Table;
use crate::{DigitKind, Shape};

/// Path of the catalogue in the package.
pub const FILE: &str = "kernels/catalogue.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    operations: BTreeMap<String, Offer>,
    width_operations: BTreeMap<String, Offer>,
    #[serde(default)]
    long_kernels: BTreeMap<String, LongOffer>,
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

/// A kernel of long rows and its header.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LongOffer {
    header: String,
    operation: String,
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

/// Row with the texts and lists that it refers to.
#[derive(Debug)]
struct OwnedRow {
    row: Row<'static>,
    header: String,
    template: String,
    blocks: Vec<(Shape, u32)>,
}

/// Kernels and shapes of a build.
#[derive(Debug)]
pub struct Catalogue {
    rows: Vec<OwnedRow>,
    /// Kernels of long rows by name, each with its header and its operation.
    long_kernels: BTreeMap<String, [String; 2]>,
    shapes: BTreeSet<Key>,
    /// Shapes that were added to those of the file.
    more: Vec<Shape>,
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
        let mut shapes = BTreeSet::new();
        for list in file.shapes.iter().filter(|list| all || list.set == Set::Default) {
            let digit = DigitKind::parse(&list.digit)
                .ok_or_else(|| wrong(format!("unknown digit \"{}\"", list.digit)))?;
            for &q in &list.q {
                for &bits in &list.bits {
                    let shape = Shape { bits, q, digit }.checked().map_err(wrong)?;
                    shapes.insert(key(shape));
                }
            }
        }
        let texts = more.split(',').filter(|text| !text.trim().is_empty());
        let parse = |text| Shape::parse(text).map_err(|reason| format!("GPUINT_SHAPES: {reason}"));
        let more = texts.map(parse).collect::<Result<Vec<_>, _>>()?;
        shapes.extend(more.iter().copied().map(key));
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
                    blocks: &[],
                };
                rows.push(OwnedRow { row, header, template, blocks: Vec::new() });
            }
        }
        let by_name = |(name, LongOffer { header, operation })| (name, [header, operation]);
        let long_kernels = file.long_kernels.into_iter().map(by_name).collect();
        Ok(Self { rows, long_kernels, shapes, more })
    }

    /// The shapes, ordered by digit, Q and width.
    #[must_use]
    pub fn shapes(&self) -> impl ExactSizeIterator<Item = Shape> {
        self.shapes.iter().map(|&(digit, q, bits)| Shape { bits, q, digit })
    }

    /// The shapes of users who name no digit and Q, one for each width, and the shapes added to the
    /// file.
    pub fn usual_shapes(&self) -> impl Iterator<Item = Shape> {
        let widths: BTreeSet<_> = self.shapes().map(|shape| shape.bits).collect();
        let of_width = |bits| Shape::narrowest(bits, self.shapes());
        widths.into_iter().filter_map(of_width).chain(self.more.iter().copied())
    }

    /// Returns true if the shape is built.
    #[must_use]
    pub fn contains(&self, shape: Shape) -> bool {
        self.shapes.contains(&key(shape))
    }

    /// The rows: kernels for each shape, then kernels for each width.
    #[must_use]
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        self.rows.iter().map(|OwnedRow { row, header, template, blocks }| Row {
            header,
            template,
            blocks,
            ..*row
        })
    }

    /// Takes the numbers of threads per block from a tuning table.
    pub fn set_blocks(&mut self, table: &Table) {
        // Kernels of a width choose their own.
        for OwnedRow { row, blocks, .. } in self.rows.iter_mut().filter(|row| !row.row.per_width) {
            *blocks = table.blocks_of(&row.to_string()).collect();
        }
    }

    /// The kernels of long rows, ordered by name.
    #[must_use]
    pub fn long_kernels(&self) -> impl ExactSizeIterator<Item = LongKernel<'_>> {
        let kernels = self.long_kernels.iter();
        kernels.map(|(name, [header, operation])| LongKernel { name, header, operation })
    }

    /// Returns the row with this name.
    #[must_use]
    pub fn row(&self, name: &str) -> Option<Row<'_>> {
        let (op, algorithm) = kernel::parse(name)?;
        self.rows().find(|row| (row.op, row.algorithm) == (op, algorithm))
    }

    /// Returns the kernels of all shapes; a kernel that serves all shapes of a width is with the
    /// first of them.
    pub fn kernels(&self) -> impl Iterator<Item = Kernel<'_>> {
        self.shapes().flat_map(|shape| {
            let first = self.shapes().find(|other| other.bits == shape.bits) == Some(shape);
            let is_of = move |row: &Row<'_>| row.is_offered(shape) && (!row.per_width || first);
            self.rows().filter(is_of).map(move |row| row.at(shape))
        })
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
        let catalogue = parse(ADD, SHAPES, "1024:1:u64").unwrap();
        let usual: Vec<_> = catalogue.usual_shapes().map(|shape| shape.to_string()).collect();
        assert_eq!(usual, ["b1024_q4_u64", "b1024_q1_u64"]);
        assert!(catalogue.row("add").is_some() && catalogue.row("sub").is_none());
    }
}
