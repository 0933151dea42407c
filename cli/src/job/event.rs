//! Lines of progress on standard error: text, or JSON objects.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::units::Time;

/// Form of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineForm {
    Text,
    Json,
}

impl LineForm {
    /// Least time between two lines of a stage.
    pub fn interval(self) -> Duration {
        match self {
            Self::Text => Duration::from_secs(10),
            // A program reads them.
            Self::Json => Duration::from_secs(1),
        }
    }
}

/// State of a stage.
#[derive(Debug, Clone, Copy)]
pub enum State {
    /// A part of the work is done: at most 1, with the time left.
    Running {
        done: f64,
        left: Duration,
    },
    Ended,
}

/// Line of a stage.
#[derive(Debug, Clone, Copy)]
pub struct Event<'s> {
    /// Name of the phase in the closing line.
    pub phase: &'static str,
    pub stage: &'s str,
    /// Time since the start of the stage.
    pub elapsed: Duration,
    pub state: State,
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
    pub fn write(&self, form: LineForm, out: &mut dyn Write) -> io::Result<()> {
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

/// Lines of a stage that passes over an input of known size.
#[derive(Debug)]
pub struct Reports {
    form: LineForm,
    phase: &'static str,
    /// Bytes of the whole input.
    total: u64,
    /// Bytes of the input that were passed before the stage.
    first: u64,
    start: Instant,
    last: Instant,
}

impl Reports {
    pub fn new(form: LineForm, phase: &'static str, [first, total]: [u64; 2]) -> Self {
        let now = Instant::now();
        Self { form, phase, total, first, start: now, last: now }
    }

    /// Writes a line of the stage after the first `bytes` bytes, unless the last line is younger
    /// than `interval`, by default that of the form.
    pub fn passed(
        &mut self,
        bytes: u64,
        stage: &str,
        interval: Option<Duration>,
        out: &mut dyn Write,
    ) {
        let new = bytes.saturating_sub(self.first);
        if new == 0 || self.last.elapsed() < interval.unwrap_or(self.form.interval()) {
            return;
        }
        self.last = Instant::now();
        let elapsed = self.start.elapsed();
        let rest = self.total.saturating_sub(bytes) as f64;
        let left = elapsed.mul_f64(rest / new as f64);
        let done = 1.0 - rest / self.total.max(1) as f64;
        self.write(stage, State::Running { done, left }, out);
    }

    /// Writes the line of the end.
    pub fn ended(&self, stage: &str, out: &mut dyn Write) {
        self.write(stage, State::Ended, out);
    }

    fn write(&self, stage: &str, state: State, out: &mut dyn Write) {
        let event = Event { phase: self.phase, stage, elapsed: self.start.elapsed(), state };
        // Standard error may be closed.
        let _ = event.write(self.form, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passed_bytes_are_a_share_with_time_left() {
        let mut reports = Reports::new(LineForm::Json, "tests", [100, 300]);
        reports.start -= Duration::from_secs(8);
        let mut out = Vec::new();
        for (bytes, interval) in [(100, 0), (150, 3600), (200, 0)] {
            reports.passed(bytes, "5 candidates", Some(Duration::from_secs(interval)), &mut out);
        }
        reports.ended("9 candidates", &mut out);
        let text = String::from_utf8(out).unwrap();
        let objects: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let number = |index: usize, name: &str| objects[index][name].as_f64().unwrap();
        assert_eq!((objects.len(), &objects[0]["stage"]), (2, &"5 candidates".into()));
        assert!((number(0, "done") - 2.0 / 3.0).abs() < 1e-9, "{text}");
        assert!((number(0, "seconds_left") - number(0, "seconds")).abs() < 0.5, "{text}");
        assert_eq!((number(1, "done"), number(1, "seconds_left")), (1.0, 0.0));
    }
}
