//! Progress of a job by stages.

use std::cell::RefCell;
use std::io::Write;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::job::units::Time;

/// Shows the stage of a job: on a terminal with its time, else as a line if lines are wanted.
pub(crate) struct Stages<'a> {
    bar: ProgressBar,
    lines: Option<RefCell<&'a mut dyn Write>>,
    stage: RefCell<Option<(String, Instant)>>,
}

impl<'a> Stages<'a> {
    /// Makes stages of a job; `lines` takes a line for each.
    pub(crate) fn new(on_terminal: bool, lines: Option<&'a mut dyn Write>) -> Self {
        let bar = if on_terminal { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        let bar = match ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        };
        Self { bar, lines: lines.map(RefCell::new), stage: RefCell::new(None) }
    }

    /// Ends the stage before, and begins one.
    pub(crate) fn begin(&self, stage: &str) {
        self.end();
        self.bar.reset_elapsed();
        self.bar.set_message(stage.to_owned());
        self.bar.enable_steady_tick(Duration::from_millis(200));
        *self.stage.borrow_mut() = Some((stage.to_owned(), Instant::now()));
    }

    /// Ends the last stage.
    pub(crate) fn end(&self) {
        let Some((stage, start)) = self.stage.take() else { return };
        if let Some(lines) = &self.lines {
            // Standard error may be closed.
            let _ = writeln!(lines.borrow_mut(), "{stage}: {}", Time(start.elapsed()));
        }
        self.bar.disable_steady_tick();
        self.bar.finish_and_clear();
    }
}
