//! Reports of the job.

use std::fmt;
use std::time::Duration;

use super::job::Summary;
use crate::job::units::{Rate, Time};

/// The table of `--summary`: a line for each family.
#[derive(Debug)]
pub struct Table<'a> {
    pub summary: &'a Summary,
    pub names: &'a [String],
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HEADER: &str = "family";
        const UNNAMED: &str = "(no family)";
        let families: Vec<_> = self
            .names
            .iter()
            .map(|name| if name.is_empty() { UNNAMED } else { name })
            .zip(&self.summary.families)
            .filter(|(_, tally)| tally.rows + tally.rejected > 0)
            .collect();
        let width = families
            .iter()
            .map(|(name, _)| name.chars().count())
            .chain([HEADER.len()])
            .max()
            .unwrap_or_default();

        writeln!(
            f,
            "{HEADER:width$} {:>8} {:>16} {:>8} {:>9} {:>9}",
            "rows", "dividend bits", "r = 0", "verified", "rejected"
        )?;
        for (name, tally) in families {
            let bits = tally.bits.map_or(String::new(), |(least, most)| format!("{least}..{most}"));
            writeln!(
                f,
                "{name:width$} {:>8} {bits:>16} {:>8} {:>9} {:>9}",
                tally.rows, tally.exact, tally.verified, tally.rejected
            )?;
        }
        Ok(())
    }
}

/// The closing line.
#[derive(Debug)]
pub struct Closing<'a> {
    pub summary: &'a Summary,
    pub device: &'a str,
    pub total: Duration,
}

impl fmt::Display for Closing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { summary, device, total } = *self;
        let times = &summary.times;
        let rows = summary.rows();
        write!(f, "{rows} {}", if rows == 1 { "row" } else { "rows" })?;
        match (summary.widths.keys().next(), summary.widths.keys().last()) {
            (Some(least), Some(most)) if least == most => write!(f, " of {least} bits")?,
            (Some(least), Some(most)) => write!(f, " of {least}..{most} bits")?,
            _ => {}
        }
        write!(f, " divided on {device} in {}{}", Time(times.divide), Rate(rows, times.divide))?;
        f.write_str("; with")?;
        let stages = [
            ("setup", times.setup),
            ("copy", times.copy),
            ("read", times.read),
            ("parse", times.parse),
            ("format", times.format),
            ("write", times.write),
            ("verify", times.verify),
        ];
        for (name, time) in stages.into_iter().filter(|(_, time)| !time.is_zero()) {
            write!(f, " {name} {},", Time(time))?;
        }
        write!(f, " {} in all{}", Time(total), Rate(rows, total))?;
        write!(f, "; {} verified, {} rejected", summary.verified(), summary.rejected())
    }
}
