//! Progress of product trees, by the library's events.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer};

use crate::job::event::{Event as Line, LineForm, State};
use crate::job::units::Time;

/// The work of the stage in progress.
pub(crate) static WORK: Work = Work::new();

/// Work of a stage in the library's units.
pub(crate) struct Work {
    planned: AtomicU64,
    done: AtomicU64,
    lines: Mutex<Option<Lines>>,
}

/// Lines of a stage on standard error.
struct Lines {
    form: LineForm,
    phase: &'static str,
    stage: String,
    start: Instant,
    last: Instant,
}

impl Work {
    const fn new() -> Self {
        Self { planned: AtomicU64::new(0), done: AtomicU64::new(0), lines: Mutex::new(None) }
    }

    /// Begins a stage, with lines on standard error if they have a form.
    pub(crate) fn begin(&self, phase: &'static str, stage: &str, form: Option<LineForm>) {
        self.planned.store(0, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
        let now = Instant::now();
        let stage = stage.to_owned();
        let lines = form.map(|form| Lines { form, phase, stage, start: now, last: now });
        *self.lines.lock().unwrap_or_else(PoisonError::into_inner) = lines;
    }

    /// Returns the part of the work that is done, after `elapsed` time.
    pub(crate) fn part(&self, elapsed: Duration) -> Part {
        let [planned, done] = [&self.planned, &self.done].map(|it| it.load(Ordering::Relaxed));
        Part { planned, done, elapsed }
    }

    /// Writes a line if the last one is older than `interval`, by default that of the form.
    fn report(&self, interval: Option<Duration>, out: &mut dyn io::Write) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Lines { form, phase, stage, start, last }) = &mut *lines else { return };
        if last.elapsed() < interval.unwrap_or(form.interval()) {
            return;
        }
        let elapsed = start.elapsed();
        if let Some((done, left)) = self.part(elapsed).done_and_left() {
            *last = Instant::now();
            let state = State::Running { done, left };
            // Standard error may be closed.
            let _ = Line { phase, stage, elapsed, state }.write(*form, out);
        }
    }
}

/// Part of a stage that is done: `, N %, T left`, and nothing before the first work is done.
pub(crate) struct Part {
    planned: u64,
    done: u64,
    elapsed: Duration,
}

impl Part {
    /// Returns the part of the work that is done, and the time left; `None` before the first work.
    fn done_and_left(&self) -> Option<(f64, Duration)> {
        // Work that is repeated for lack of memory was not planned.
        let done = self.done.min(self.planned);
        let share = done as f64 / self.planned as f64;
        let left = self.elapsed.as_secs_f64() * (1.0 / share - 1.0);
        Some((share, Duration::try_from_secs_f64(left).ok()?)).filter(|_| done > 0)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((done, left)) = self.done_and_left() else { return Ok(()) };
        write!(f, ", {:.0} %, {} left", (100.0 * done).floor(), Time(left))
    }
}

/// Layer that adds up the work of events.
pub(crate) struct Counter(&'static Work);

/// Returns a layer for the work of stages.
pub(crate) fn layer<S>() -> impl Layer<S>
where
    S: Subscriber + for<'s> tracing_subscriber::registry::LookupSpan<'s>,
{
    Counter(&WORK).with_filter(Targets::new().with_target("gpuint::progress", Level::TRACE))
}

impl<S: Subscriber> Layer<S> for Counter {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        event.record(&mut Sum(self.0));
        self.0.report(None, &mut io::stderr());
    }
}

/// Visitor of the fields of an event.
struct Sum(&'static Work);

impl Visit for Sum {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "planned" => self.0.planned.fetch_add(value, Ordering::Relaxed),
            "done" => self.0.done.fetch_add(value, Ordering::Relaxed),
            "resumed" => self.0.planned.fetch_sub(value, Ordering::Relaxed),
            _ => return,
        };
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashMap;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use gpuint::num_bigint::BigUint;
    use gpuint::{Checkpoint, Device, DynBatch};
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    /// Held by tests that emit events of trees: an event that is first emitted without a subscriber
    /// beside the start of one may be off for both.
    pub(crate) static EVENTS: Mutex<()> = Mutex::new(());

    #[test]
    fn part_has_time_left_after_the_first_work() {
        let elapsed = Duration::from_secs(30);
        let text = |done, planned| Part { planned, done, elapsed }.to_string();
        assert_eq!(text(0, 100), "");
        assert_eq!(text(60, 100), ", 60 %, 20.0 s left");
        assert_eq!(text(100, 100), ", 100 %, 0 s left");
        assert_eq!(text(150, 100), ", 100 %, 0 s left");
        assert_eq!(text(5, 0), "");
    }

    #[test]
    fn work_of_trees_is_what_was_planned() {
        let _events = EVENTS.lock().unwrap_or_else(PoisonError::into_inner);
        let work: &'static Work = Box::leak(Box::new(Work::new()));
        work.begin("divisors", "common divisors", Some(LineForm::Text));
        let subscriber = tracing_subscriber::registry().with(Counter(work));
        tracing::subscriber::with_default(subscriber, || {
            let rows: Vec<BigUint> = (0..90u32).map(|it| BigUint::from(2 * it + 3)).collect();
            let rows = DynBatch::fitting(&Device::cpu(), &rows).unwrap();
            rows.batch_gcd_against(&[BigUint::from(7u32) << 3000u32]).unwrap();
        });
        let Part { planned, done, .. } = work.part(Duration::ZERO);
        // Levels round their shares down.
        assert!(done <= planned && done > planned - planned / 20, "{done} of {planned}");
        let line = |interval: Duration| {
            let mut out = Vec::new();
            work.report(Some(interval), &mut out);
            String::from_utf8(out).unwrap()
        };
        let text = line(Duration::ZERO);
        assert!(text.starts_with("common divisors, 9") && text.ends_with(" left\n"), "{text}");
        assert_eq!(line(Duration::from_secs(3600)), "");
        // Also in JSON, without the work of another stage.
        let lines = || work.lines.lock().unwrap();
        lines().as_mut().unwrap().form = LineForm::Json;
        let object: serde_json::Value = serde_json::from_str(&line(Duration::ZERO)).unwrap();
        assert_eq!(
            (&object["phase"], &object["stage"]),
            (&"divisors".into(), &"common divisors".into())
        );
        assert!(object["done"].as_f64().unwrap() > 0.9, "{object}");
        assert!(object["seconds_left"].as_f64() < object["seconds"].as_f64(), "{object}");
        work.begin("divisors", "others", Some(LineForm::Json));
        assert_eq!(line(Duration::ZERO), "");
    }

    /// Records in memory; the last one of `left` ends its call by a panic.
    struct Ending {
        records: Mutex<HashMap<String, Vec<u8>>>,
        left: AtomicU64,
    }

    impl Checkpoint for Ending {
        fn is_due(&self) -> bool {
            true
        }

        fn save(&self, name: &str, write: &mut dyn FnMut(&mut dyn io::Write) -> io::Result<()>) {
            let mut record = Vec::new();
            write(&mut record).unwrap();
            self.records.lock().unwrap().insert(name.to_owned(), record);
            if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
                resume_unwind(Box::new("a record"));
            }
        }

        fn load(
            &self,
            name: &str,
            read: &mut dyn FnMut(&mut dyn io::Read) -> io::Result<()>,
        ) -> bool {
            let record = self.records.lock().unwrap().get(name).cloned();
            record.is_some_and(|record| read(&mut record.as_slice()).is_ok())
        }
    }

    #[test]
    fn a_call_that_ends_at_a_record_repeats_a_fifth_of_the_work_at_most() {
        let _events = EVENTS.lock().unwrap_or_else(PoisonError::into_inner);
        let rows: Vec<BigUint> = (0..90u32).map(|it| BigUint::from(2 * it + 3).pow(40)).collect();
        let rows = DynBatch::fitting(&Device::cpu(), &rows).unwrap();
        let done_by = |checkpoint: &Ending| {
            let work: &'static Work = Box::leak(Box::new(Work::new()));
            let subscriber = tracing_subscriber::registry().with(Counter(work));
            let call = || rows.resumable_batch_gcd(&[], checkpoint).unwrap();
            let call = || tracing::subscriber::with_default(subscriber, call);
            let is_whole = catch_unwind(AssertUnwindSafe(call)).is_ok();
            let Part { planned, done, .. } = work.part(Duration::ZERO);
            // Levels round their shares down.
            assert!(!is_whole || done <= planned && planned - done < 100, "{done} of {planned}");
            (is_whole, done)
        };
        let ending = |left| Ending { records: Mutex::default(), left: AtomicU64::new(left) };
        let (_, whole) = done_by(&ending(u64::MAX));
        let mut least = whole;
        for records in 1.. {
            let checkpoint = ending(records);
            let (is_whole, first) = done_by(&checkpoint);
            if is_whole {
                assert!(records > 12 && least < whole / 20, "{records}, {least} of {whole}");
                break;
            }
            let (_, second) = done_by(&checkpoint);
            least = least.min(second);
            assert!(first + second <= whole / 5 * 6, "{records}: {first}, {second} of {whole}");
        }
    }
}
