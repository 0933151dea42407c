//! Derives a tuning table from measurements.

use std::collections::BTreeMap;

use gpuint::{Shape, shapes, tuning};
use gpuint_catalogue::tuning::{Block, Choice, Row, Table};
use gpuint_catalogue::{Algorithm, BLOCK, kernel};

/// Minimum speed-up for which another block size is selected.
const GAIN: f64 = 1.03;

/// Bits of the batches whose times have no number of rows.
const BATCH_BITS: usize = 1 << 32;

/// Returns true if strategies are compared at this row's shape.
fn is_usual(row: &Row) -> bool {
    matches!((row.digit.as_deref(), row.q), (None, _) | (Some("u64"), Some(4)))
}

/// Merges rows: a new row replaces the old row of the same variant.
pub fn merged(before: Vec<Row>, now: Vec<Row>) -> Vec<Row> {
    let key = |row: &Row| {
        let Row { kernel, bits, digit, q, block, rows, gpu, .. } = row.clone();
        (kernel, bits, digit, q, block, rows, gpu)
    };
    let rows: BTreeMap<_, _> = before.into_iter().chain(now).map(|row| (key(&row), row)).collect();
    rows.into_values().collect()
}

/// Derives the choices for batches of few rows from times of such batches. Operations and widths
/// without a time keep the choices of `before`.
///
/// The fastest strategy of one number of rows applies up to the number at which the fastest one of
/// the next is as fast, if the times of both are linear in between. So does that of the last number
/// of rows up to the strategy of large batches, where both have a time of a large batch.
fn of_few_rows(gpu: &str, before: &[Choice], times: &[Row]) -> Vec<Choice> {
    /// Times by rows and strategy.
    type Times = BTreeMap<usize, BTreeMap<String, f64>>;
    let mut by_width: BTreeMap<(&str, usize), Times> = BTreeMap::new();
    for row in times.iter().filter(|row| row.gpu == gpu && is_usual(row)) {
        if let Some((op, algorithm)) = kernel::parse(&row.kernel) {
            let of_width = by_width.entry((op.name(), row.bits)).or_default();
            let of_rows = of_width.entry(row.rows.unwrap_or(BATCH_BITS / row.bits)).or_default();
            of_rows.insert(algorithm.to_string(), row.ms);
        }
    }
    by_width.retain(|_, by_rows| by_rows.len() > 1);
    let mut choices = before.to_vec();
    choices.retain(|choice| {
        let is_known = choice.bits[0] == choice.bits[1];
        let is_new = is_known && by_width.contains_key(&(choice.op.as_str(), choice.bits[0]));
        choice.rows.is_some() && !is_new
    });
    for ((op, bits), by_rows) in by_width {
        let mut fastest: Vec<(usize, &str)> = Vec::new();
        for (&rows, strategies) in &by_rows {
            let best = strategies.iter().min_by(|a, b| a.1.total_cmp(b.1));
            let Some((strategy, _)) = best else { continue };
            match fastest.last_mut() {
                Some(last) if last.1 == strategy => last.0 = rows,
                Some(last) => {
                    // Milliseconds that `other` takes more than `than`.
                    let slower = |rows: usize, than: &str, other: &str| {
                        let ms = |name| by_rows[&rows].get(name).copied();
                        Some((ms(other)? - ms(than)?).max(0.0))
                    };
                    let (from, before) = *last;
                    // Without a time of `before`, `strategy` starts at the next number of rows; at
                    // large batches, which may be far away, it starts at once.
                    let unknown = if rows < BATCH_BITS / bits { 0.0 } else { f64::INFINITY };
                    let here = slower(from, before, strategy).unwrap_or(0.0);
                    let there = slower(rows, strategy, before).unwrap_or(unknown);
                    let share = if here > 0.0 { here / (here + there) } else { 0.0 };
                    last.0 = from + ((rows - from) as f64 * share) as usize;
                    fastest.push((rows, strategy));
                }
                None => fastest.push((rows, strategy)),
            }
        }
        // Large batches have the usual choice.
        fastest.pop_if(|last| last.0 >= BATCH_BITS / bits);
        choices.extend(fastest.into_iter().map(|(rows, strategy)| Choice {
            op: op.to_owned(),
            bits: [bits; 2],
            strategy: strategy.to_owned(),
            rows: Some(rows),
        }));
    }
    choices
}

/// Derives the table from its rows. Rows of a model are ignored at widths that were measured on the
/// GPU itself. Choices of `before` for few rows stay where no row replaces them.
pub fn table(gpu: &TunedGpu, rows: Vec<Row>, before: &[Choice]) -> Table {
    let TunedGpu { name, capability, multiprocessors } = gpu.clone();
    let few = of_few_rows(&name, before, &rows);
    let (mut choices, blocks) = (choices(&name, &rows), blocks(&name, &rows));
    let few = without_usual(&choices, few);
    choices.extend(few);
    choices.sort_by(|a, b| (&a.op, a.bits, a.rows).cmp(&(&b.op, b.bits, b.rows)));
    Table { gpu: name, capability, multiprocessors, choices, blocks, rows }
}

/// Removes choices for few rows after which larger batches have the same strategy.
fn without_usual(usual: &[Choice], mut few: Vec<Choice>) -> Vec<Choice> {
    few.sort_by(|a, b| (&a.op, a.bits, b.rows).cmp(&(&b.op, b.bits, a.rows)));
    let mut kept: Vec<Choice> = Vec::new();
    for choice in few {
        let is_wide = |wide: &&Choice| {
            wide.op == choice.op && wide.bits[0] <= choice.bits[0] && choice.bits[1] <= wide.bits[1]
        };
        let larger = kept.last().filter(|last| (&last.op, last.bits) == (&choice.op, choice.bits));
        let next = larger.or_else(|| usual.iter().find(is_wide));
        if next.is_none_or(|next| next.strategy != choice.strategy) {
            kept.push(choice);
        }
    }
    kept
}

/// GPU that a tuning table is of.
#[derive(Debug, Clone)]
pub struct TunedGpu {
    /// Name of the GPU, or of its model.
    pub name: String,
    /// Compute capability: 90 is 9.0.
    pub capability: u32,
    pub multiprocessors: u32,
}

/// Selects the fastest strategy of each operation at each width, and joins neighbouring widths with
/// the same strategy.
fn choices(gpu: &str, rows: &[Row]) -> Vec<Choice> {
    let mut by_width: BTreeMap<(&str, usize), Vec<(Algorithm, &Row)>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.rows.is_none()) {
        match kernel::parse(&row.kernel) {
            // Long rows' kernels are for few rows.
            None | Some((_, Algorithm::Only | Algorithm::Long)) => {}
            Some((op, algorithm)) => {
                by_width.entry((op.name(), row.bits)).or_default().push((algorithm, row));
            }
        }
    }
    let mut choices: Vec<Choice> = Vec::new();
    for ((op, bits), mut rows) in by_width {
        for preferred in [|row: &Row, gpu: &str| row.gpu == gpu, |row: &Row, _: &str| is_usual(row)]
        {
            if rows.iter().any(|(_, row)| preferred(row, gpu)) {
                rows.retain(|(_, row)| preferred(row, gpu));
            }
        }
        let fastest = rows.iter().min_by(|a, b| a.1.ms.total_cmp(&b.1.ms));
        let Some((algorithm, _)) = fastest else { continue };
        let strategy = algorithm.to_string();
        match choices.last_mut() {
            Some(last) if last.op == op && last.strategy == strategy => last.bits[1] = bits,
            _ => choices.push(Choice { op: op.to_owned(), bits: [bits; 2], strategy, rows: None }),
        }
    }
    choices
}

/// Selects the fastest block of each kernel if it is not the catalogue's.
fn blocks(gpu: &str, rows: &[Row]) -> Vec<Block> {
    /// Kernel, digit, Q and width.
    type Key<'a> = (&'a str, &'a str, usize, usize);
    let mut by_kernel: BTreeMap<Key<'_>, Vec<(u32, f64)>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.gpu == gpu && row.rows.is_none()) {
        if let (Some(digit), Some(q), Some(block)) = (&row.digit, row.q, row.block) {
            let key = (row.kernel.as_str(), digit.as_str(), q, row.bits);
            by_kernel.entry(key).or_default().push((block, row.ms));
        }
    }
    let mut blocks = Vec::new();
    for ((kernel, digit, q, bits), measured) in by_kernel {
        let is_its = |shape: &&Shape| (shape.digit.name(), shape.q, shape.bits) == (digit, q, bits);
        // Earlier rows may have shapes that this build does not have.
        let Some(&shape) = shapes().iter().find(is_its) else { continue };
        let Some(own) = tuning::block(kernel, shape) else { continue };
        let Some(&(_, own_ms)) = measured.iter().find(|(block, _)| *block == own) else { continue };
        let best = measured.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        let block = match best {
            Some(&(best, ms)) if ms * GAIN < own_ms => best,
            _ => own,
        };
        if block != BLOCK {
            let (kernel, digit) = (kernel.to_owned(), digit.to_owned());
            blocks.push(Block { kernel, digit, q, bits, block });
        }
    }
    blocks
}
