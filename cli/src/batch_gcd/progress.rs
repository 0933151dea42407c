//! Progress of a job by stages.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io::Write;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::work::WORK;
use crate::job::event::{Event, LineForm, State};

/// Part of a job with a time of its own in the closing line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The device is opened.
    Setup,
    /// A store is read.
    Store,
    /// Documents are read and parsed.
    Read,
    /// Keys of one modulus are found.
    Distinct,
    /// Products of the keys are computed.
    Products,
    /// Common divisors are computed.
    Divisors,
    /// Weak keys are split, and keys are checked by themselves.
    Factors,
    /// Results and a store are written.
    Write,
}

impl Phase {
    /// All phases, in their order.
    pub(crate) const ALL: [Self; 8] = [
        Self::Setup,
        Self::Store,
        Self::Read,
        Self::Distinct,
        Self::Products,
        Self::Divisors,
        Self::Factors,
        Self::Write,
    ];

    /// Returns the name in the closing line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Store => "store",
            Self::Read => "read",
            Self::Distinct => "distinct",
            Self::Products => "products",
            Self::Divisors => "divisors",
            Self::Factors => "factors",
            Self::Write => "write",
        }
    }
}

/// Writes the part of the stage that is done, and the time left.
fn write_work(state: &ProgressState, out: &mut dyn fmt::Write) {
    // A bar has no other place for its text.
    let _ = write!(out, "{}", WORK.part(state.elapsed()));
}

/// Shows the stage of a job: on a terminal with its time, else as a line if lines are wanted.
pub(crate) struct Stages<'a> {
    bar: ProgressBar,
    lines: Option<(LineForm, RefCell<&'a mut dyn Write>)>,
    stage: RefCell<Option<(Phase, String, Instant)>>,
    /// Times of the phases, in the order of [`Phase::ALL`].
    times: [Cell<Duration>; Phase::ALL.len()],
}

impl<'a> Stages<'a> {
    /// Makes stages of a job; `lines` takes a line of this form for each.
    pub(crate) fn new(on_terminal: bool, lines: Option<(LineForm, &'a mut dyn Write)>) -> Self {
        let bar = if on_terminal { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        let bar = match ProgressStyle::with_template("{spinner} {msg}, {elapsed}{work}") {
            Ok(style) => bar.with_style(style.with_key("work", write_work)),
            Err(_) => bar,
        };
        Self {
            bar,
            lines: lines.map(|(form, lines)| (form, RefCell::new(lines))),
            stage: RefCell::new(None),
            times: Default::default(),
        }
    }

    /// Ends the stage before, and begins one.
    pub(crate) fn begin(&self, phase: Phase, stage: &str) {
        self.end();
        WORK.begin(phase.name(), stage, self.lines.as_ref().map(|lines| lines.0));
        self.bar.reset_elapsed();
        self.bar.set_message(stage.to_owned());
        self.bar.enable_steady_tick(Duration::from_millis(200));
        *self.stage.borrow_mut() = Some((phase, stage.to_owned(), Instant::now()));
    }

    /// Ends the last stage.
    pub(crate) fn end(&self) {
        let Some((phase, stage, start)) = self.stage.take() else { return };
        self.ended(phase, &stage, start.elapsed());
        self.bar.disable_steady_tick();
        self.bar.finish_and_clear();
    }

    /// Adds a stage that has ended, with its line.
    pub(crate) fn ended(&self, phase: Phase, stage: &str, elapsed: Duration) {
        self.add(phase, elapsed);
        if let Some((form, lines)) = &self.lines {
            let event = Event { phase: phase.name(), stage, elapsed, state: State::Ended };
            // Standard error may be closed.
            let _ = event.write(*form, &mut *lines.borrow_mut());
        }
    }

    /// Adds time of a phase.
    pub(crate) fn add(&self, phase: Phase, time: Duration) {
        let total = &self.times[phase as usize];
        total.set(total.get() + time);
    }

    /// Time of a phase so far.
    pub(crate) fn time(&self, phase: Phase) -> Duration {
        self.times[phase as usize].get()
    }
}
