//! Plots, as SVG and PNG: the time of each strategy over the width, and of each shape and block at
//! one width.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use gpuint_benches::batches::TIMED;
use gpuint_benches::plot::{self, FONT, Figure, Line, Panel, Picture};
use gpuint_catalogue::kernel;
use gpuint_catalogue::tuning::Row;
use gpuint_testkit::ptx::Result;

const MAP: (u32, u32) = (960, 600);
const WHAT: &str = "ms for a batch of 2^32 bits";

/// Draws all plots for the rows of one GPU into a folder, without batches of few rows; returns the
/// files.
pub(crate) fn draw(folder: &Path, name: &str, gpu: &str, rows: &[Row]) -> Result<Vec<PathBuf>> {
    let mut by_op: BTreeMap<&str, Vec<(&str, &Row)>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.rows.is_none()) {
        let op = kernel::parse(&row.kernel).map(|(op, _)| op);
        if let Some(op) = op.filter(|op| TIMED.contains(op)) {
            let strategy = row.kernel[op.name().len()..].trim_start_matches('_');
            by_op.entry(op.name()).or_default().push((strategy, row));
        }
    }
    let mut files = Vec::new();
    for (op, rows) in by_op {
        files.extend(both(&folder.join(format!("{name}-{op}")), &lines(op, gpu, &rows))?);
        if let Some(map) = Map::new(op, gpu, &rows) {
            files.extend(both(&folder.join(format!("{name}-{op}-blocks")), &map)?);
        }
    }
    Ok(files)
}

/// Writes both files of a picture.
fn both(path: &Path, picture: &impl Picture) -> Result<[PathBuf; 2]> {
    let files = ["svg", "png"].map(|kind| path.with_extension(kind));
    let [svg, png] = &files;
    plot::save(picture, svg, png).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(files)
}

/// The best time of each strategy at each width.
fn lines(op: &str, gpu: &str, rows: &[(&str, &Row)]) -> Figure {
    let mut by_strategy: BTreeMap<&str, BTreeMap<usize, f64>> = BTreeMap::new();
    for (strategy, row) in rows {
        let best = by_strategy.entry(strategy).or_default().entry(row.bits).or_insert(f64::MAX);
        *best = best.min(row.ms);
    }
    let line = |(strategy, line): (&str, BTreeMap<usize, f64>)| Line {
        name: if strategy.is_empty() { op.to_owned() } else { strategy.to_owned() },
        own: true,
        points: line.into_iter().map(|(bits, ms)| (bits as f64, ms)).collect(),
    };
    let panel = Panel {
        title: WHAT.to_owned(),
        x_label: "bits".to_owned(),
        y_label: "ms".to_owned(),
        lines: by_strategy.into_iter().map(line).collect(),
    };
    Figure { title: format!("{op} on {gpu}"), panels: vec![panel] }
}

/// Formats a width, as a power of two if it is one.
fn width(bits: usize) -> String {
    if bits.is_power_of_two() { format!("2^{}", bits.trailing_zeros()) } else { bits.to_string() }
}

/// The times of one kernel at one width, by shape and block.
struct Map {
    title: String,
    /// Labels from the top.
    shapes: Vec<String>,
    blocks: Vec<u32>,
    /// By indices into the two lists above.
    cells: Vec<(usize, usize, f64)>,
}

impl Map {
    /// Selects the kernel and the width with the most cells, and of those the widest; `None` if
    /// there is nothing to compare.
    fn new(op: &str, gpu: &str, rows: &[(&str, &Row)]) -> Option<Self> {
        type Cell<'a> = ((&'a str, usize), u32, f64);
        let mut by_kernel: BTreeMap<(usize, &str), Vec<Cell<'_>>> = BTreeMap::new();
        for &(strategy, row) in rows {
            if let (Some(digit), Some(q), Some(block)) = (&row.digit, row.q, row.block) {
                let cells = by_kernel.entry((row.bits, strategy)).or_default();
                cells.push(((digit.as_str(), q), block, row.ms));
            }
        }
        let ((bits, strategy), cells) =
            by_kernel.into_iter().max_by_key(|(_, cells)| cells.len())?;
        let shapes: BTreeSet<_> = cells.iter().map(|cell| cell.0).collect();
        let blocks: BTreeSet<_> = cells.iter().map(|cell| cell.1).collect();
        if blocks.len() < 2 {
            return None;
        }
        let (shapes, blocks): (Vec<_>, Vec<_>) =
            (shapes.into_iter().collect(), blocks.into_iter().collect());
        let place = |(shape, block, ms): Cell<'_>| {
            Some((shapes.binary_search(&shape).ok()?, blocks.binary_search(&block).ok()?, ms))
        };
        Some(Self {
            title: if strategy.is_empty() {
                format!("{op} at {} bits on {gpu}: {WHAT}", width(bits))
            } else {
                format!("{op} {strategy} at {} bits on {gpu}: {WHAT}", width(bits))
            },
            cells: cells.into_iter().filter_map(place).collect(),
            shapes: shapes.iter().map(|(digit, q)| format!("{digit}, Q = {q}")).collect(),
            blocks,
        })
    }
}

impl Picture for Map {
    fn size(&self) -> plot::Result<(u32, u32)> {
        Ok(MAP)
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> plot::Result<()>
    where
        B::ErrorType: 'static,
    {
        area.fill(&WHITE)?;
        let area = area.titled(&self.title, (FONT, 22))?;
        let (width, height) = area.dim_in_pixel();
        let (left, bottom, edge) = (130, 60, 12);
        let (columns, rows) = (self.blocks.len() as i32, self.shapes.len() as i32);
        let across = (width as i32 - left - edge) / columns;
        let down = (height as i32 - bottom - edge) / rows;
        let times = || self.cells.iter().map(|cell| cell.2);
        let (least, most) = (times().fold(f64::MAX, f64::min), times().fold(0.0, f64::max));
        let text = |size: u32| {
            (FONT, size).into_font().color(&BLACK).pos(Pos::new(HPos::Center, VPos::Center))
        };
        for &(row, column, ms) in &self.cells {
            let (x, y) = (left + column as i32 * across, edge + row as i32 * down);
            // From green for the shortest time to red for the longest, by ratio.
            let share = if most > least { (ms / least).ln() / (most / least).ln() } else { 0.0 };
            let color = HSLColor((1.0 - share) / 3.0, 0.65, 0.7);
            let corners = [(x + 1, y + 1), (x + across - 1, y + down - 1)];
            area.draw(&Rectangle::new(corners, color.filled()))?;
            let middle = (x + across / 2, y + down / 2);
            area.draw(&Text::new(format!("{ms:.3}"), middle, text(16)))?;
        }
        for (row, shape) in self.shapes.iter().enumerate() {
            let middle = (left / 2, edge + row as i32 * down + down / 2);
            area.draw(&Text::new(shape.as_str(), middle, text(16)))?;
        }
        let below = edge + rows * down;
        for (column, block) in self.blocks.iter().enumerate() {
            let middle = (left + column as i32 * across + across / 2, below + 16);
            area.draw(&Text::new(block.to_string(), middle, text(16)))?;
        }
        let middle = (left + columns * across / 2, below + 40);
        area.draw(&Text::new("threads per block", middle, text(16)))?;
        area.present()?;
        Ok(())
    }
}
