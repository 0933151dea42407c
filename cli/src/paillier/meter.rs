//! Progress of a task: a bar on a terminal, else lines on standard error.

use std::io::Write;

use indicatif::ProgressBar;

use super::options::Source;
use super::table::Table;
use crate::job::event::{LineForm, Reports};
use crate::job::progress::progress_bar;

/// Progress of a task.
pub(super) struct Meter {
    bar: ProgressBar,
    /// `None` unless lines are asked for and the table has a size.
    reports: Option<Reports>,
}

impl Meter {
    /// Begins at the place of a table; `has_bar` is true for a terminal.
    pub(super) fn new(
        task: &'static str,
        source: &Source,
        has_bar: bool,
        table: &dyn Table,
    ) -> Self {
        let form = if source.json { LineForm::Json } else { LineForm::Text };
        let size = table.size().filter(|_| source.progress && !has_bar);
        Self {
            bar: progress_bar(has_bar, table.size(), table.passed()),
            reports: size.map(|size| Reports::new(form, task, [table.passed(), size])),
        }
    }

    /// Shows the rows of this run and the place of the table.
    pub(super) fn passed(&mut self, rows: u64, table: &dyn Table, stderr: &mut dyn Write) {
        self.bar.set_position(table.passed());
        if let Some(reports) = &mut self.reports {
            reports.passed(table.passed(), &stage(rows), None, stderr);
        }
    }

    /// Removes the bar.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Writes the line of the end.
    pub(super) fn ended(&self, rows: u64, stderr: &mut dyn Write) {
        if let Some(reports) = &self.reports {
            reports.ended(&stage(rows), stderr);
        }
    }
}

fn stage(rows: u64) -> String {
    format!("{rows} rows")
}
