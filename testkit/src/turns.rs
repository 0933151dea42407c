//! Settings of a run of tests by environment variables (tests/suite/setting.rs lists them), and the
//! parts that an ordinary run takes by turns of days.

use std::env;
use std::fmt::Display;
use std::io::{Write, stderr};
use std::str::FromStr;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// Multiplier of an ordinary run.
const ORDINARY: f64 = 0.05;
/// Turns in which [`is_in_turn`] selects each item at least once.
const TURNS: usize = 3;

/// Prints a line directly to standard error, since the test harness captures the output of passing
/// tests.
pub fn say(line: impl Display) {
    // A closed log does not fail a test.
    let _ = writeln!(stderr().lock(), "{line}");
}

/// Returns an environment variable that is set and not empty.
#[must_use]
pub fn variable(name: &str) -> Option<String> {
    // Text that is not UTF-8 is rejected by its parser.
    let value = env::var_os(name)?.to_string_lossy().into_owned();
    Some(value).filter(|value| !value.is_empty())
}

/// Returns an environment variable as a number.
///
/// # Panics
/// If it is no number.
#[must_use]
pub fn number<N: FromStr>(name: &str, default: N) -> N {
    let Some(text) = variable(name) else { return default };
    text.parse().unwrap_or_else(|_| panic!("{name}=\"{text}\" is not a number"))
}

/// Multiplier of all numbers of rows.
#[must_use]
pub fn times() -> f64 {
    number("GPUINT_TEST_ROWS", ORDINARY)
}

/// True for `cargo test`, not for a run of the night.
#[must_use]
pub fn is_ordinary() -> bool {
    times() <= ORDINARY
}

/// True for a run with all rows (nightly), which also repeats what few shapes show.
#[must_use]
pub fn is_thorough() -> bool {
    times() >= 1.0
}

/// Turn of an ordinary run: other shapes from day to day, or as the environment selects.
#[must_use]
pub fn turn() -> usize {
    static TURN: LazyLock<usize> = LazyLock::new(|| {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let turn = number("GPUINT_TEST_TURN", (time.as_secs() / (24 * 3600)) as usize);
        if is_ordinary() {
            say(format_args!("GPUINT_TEST_TURN={turn}"));
        }
        turn
    });
    *TURN
}

/// Selects one of the items in an ordinary run, by turns, and else all.
#[must_use]
pub fn in_turn<T>(items: &[T]) -> &[T] {
    if is_ordinary() { &items[turn() % items.len()..][..1] } else { items }
}

/// Selects every other item in an ordinary run, by turns, and else all.
#[must_use]
pub fn half_in_turn<T>(items: Vec<T>) -> Vec<T> {
    if is_ordinary() { items.into_iter().skip(turn() % 2).step_by(2).collect() } else { items }
}

/// Returns true if an ordinary run takes the item `index` of `count` for the subject `subject`: at
/// least one item of each subject, each in one of three turns. Subjects that follow each other take
/// other items.
#[must_use]
pub fn is_in_turn(subject: usize, index: usize, count: usize) -> bool {
    !is_ordinary() || is_of_turn(turn(), subject, index, count)
}

fn is_of_turn(turn: usize, subject: usize, index: usize, count: usize) -> bool {
    (turn + subject + index).is_multiple_of(count.min(TURNS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_subject_has_an_item_in_each_turn_and_each_item_one_of_three_turns() {
        for count in 1..=7 {
            for subject in 0..4 {
                let is_of = |turn| move |index: &usize| is_of_turn(turn, subject, *index, count);
                for turn in 0..5 {
                    let parts: Vec<usize> = (turn..turn + TURNS)
                        .map(|turn| (0..count).filter(is_of(turn)).count())
                        .collect();
                    assert!(parts.iter().all(|&part| part > 0), "{count} items: {parts:?}");
                    let all = (0..count)
                        .all(|index| (turn..turn + TURNS).any(|turn| is_of(turn)(&index)));
                    assert!(all, "{count} items, turn {turn}");
                }
            }
        }
    }
}
