//! Lines of progress on standard error: text, or JSON objects.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

use crate::job::units::Time;

/// Form of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineForm {
    Text,
    Json,
}

impl LineForm {
    /// Least time between two lines of a stage.
    pub(crate) fn interval(self) -> Duration {
        match self {
            Self::Text => Duration::from_secs(10),
            // A program reads them.
            Self::Json => Duration::from_secs(1),
        }
    }
}

/// State of a stage.
#[derive(Debug, Clone, Copy)]
pub(crate) enum State {
    /// A part of the work is done: at most 1, with the time left.
    Running {
        done: f64,
        left: Duration,
    },
    Ended,
}

/// Line of a stage.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event<'s> {
    /// Name of the phase in the closing line.
    pub(crate) phase: &'static str,
    pub(crate) stage: &'s str,
    /// Time since the start of the stage.
    pub(crate) elapsed: Duration,
    pub(crate) state: State,
}

#[derive(Serialize)]
struct JsonEvent<'s> {
    phase: &'static str,
    stage: &'s str,
    seconds: f64,
    done: f64,
    seconds_left: f64,
}

impl Event<'_> {
    /// Writes the line.
    pub(crate) fn write(&self, form: LineForm, out: &mut dyn Write) -> io::Result<()> {
        let Self { phase, stage, elapsed, state } = *self;
        match (form, state) {
            (LineForm::Text, State::Ended) => writeln!(out, "{stage}: {}", Time(elapsed)),
            (LineForm::Text, State::Running { done, left }) => {
                writeln!(out, "{stage}, {:.0} %, {} left", (100.0 * done).floor(), Time(left))
            }
            (LineForm::Json, state) => {
                let (done, left) = match state {
                    State::Running { done, left } => (done, left),
                    State::Ended => (1.0, Duration::ZERO),
                };
                let [seconds, seconds_left] = [elapsed, left].map(|time| time.as_secs_f64());
                let event = JsonEvent { phase, stage, seconds, done, seconds_left };
                serde_json::to_writer(&mut *out, &event)?;
                out.write_all(b"\n")
            }
        }
    }
}
