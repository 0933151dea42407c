//! Text of durations and rates.

use std::fmt;
use std::time::Duration;

/// Formats `(N rows/s)`; empty if no row or no time passed.
pub struct Rate(pub u64, pub Duration);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(rows, time) = *self;
        if rows == 0 || time.is_zero() {
            return Ok(());
        }
        match rows as f64 / time.as_secs_f64() {
            rate @ 100.0.. => write!(f, " ({rate:.0} rows/s)"),
            rate => write!(f, " ({} rows/s)", three_digits(rate)),
        }
    }
}

/// A duration to three digits.
pub struct Time(pub Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        let (scaled, unit) = match seconds {
            1.0.. => (seconds, "s"),
            1e-3.. => (seconds * 1e3, "ms"),
            0.0 => return f.write_str("0 s"),
            _ => (seconds * 1e6, "us"),
        };
        write!(f, "{} {unit}", three_digits(scaled))
    }
}

fn three_digits(value: f64) -> String {
    match value {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
