//! The table as Markdown, CSV and a plot.

use std::fmt::Write;

use crate::libraries::LibraryTimes;
use crate::peers::{self, MEASURED, PEERS};
use crate::{Algorithms, Cell, DIVISORS, Line};
use gpuint_benches::batches::Times;
use gpuint_benches::machine::Machine;
use gpuint_benches::plot::{self, Figure, Panel};
use gpuint_benches::workload::Workload;

/// Index in [`DIVISORS`] of the divisors that are plotted.
const PLOTTED: usize = 1;

/// The measurements and their machine.
#[derive(Debug)]
pub(crate) struct Report {
    machine: Machine,
    /// Bits of a batch, as a power of two.
    batch: u32,
    pub(crate) lines: Vec<Line>,
    pub(crate) libraries: Vec<LibraryTimes>,
    /// Reason why GMP is not among the libraries.
    pub(crate) missing: Option<String>,
}

/// The cells of a row.
struct Row(Vec<String>);

impl Row {
    fn of<const N: usize>(cells: [&str; N]) -> Self {
        Self(cells.map(str::to_owned).to_vec())
    }

    fn markdown(&self, text: &mut String) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "| {} |", self.0.join(" | "));
    }

    fn rule(&self, text: &mut String) {
        let _ = writeln!(text, "|{}", "---|".repeat(self.0.len()));
    }
}

fn table(text: &mut String, heading: &Row, rows: impl IntoIterator<Item = Row>) {
    heading.markdown(text);
    heading.rule(text);
    for row in rows {
        row.markdown(text);
    }
    text.push('\n');
}

impl Report {
    pub(crate) fn new(machine: Machine, batch: u32) -> Self {
        Self { machine, batch, lines: Vec::new(), libraries: Vec::new(), missing: None }
    }

    pub(crate) fn markdown(&self) -> String {
        let mut text = String::from("# Products and divisions: the paper's table\n\n");
        let Machine { device, driver, processor, date, commit, .. } = &self.machine;
        let _ = write!(
            text,
            "- device: {device}\n- NVIDIA driver: {driver}\n- processor: {processor}\n- {date}, \
             commit {commit}\n\n"
        );
        for algorithms in [Algorithms::Auto, Algorithms::Papers] {
            self.own(algorithms, &mut text);
        }
        if !self.machine.is_gpu() {
            text.push_str(
                "Nothing above was measured on a GPU: none of it compares with the next tables, \
                 but for the times of one operation of the libraries.\n\n",
            );
        }
        self.peers(&mut text);
        self.processor(&mut text);
        text
    }

    /// Table of this library.
    fn own(&self, algorithms: Algorithms, text: &mut String) {
        let lines: Vec<_> =
            self.lines.iter().filter(|line| line.algorithms == algorithms).collect();
        if lines.is_empty() {
            return;
        }
        let name = match algorithms {
            Algorithms::Auto => "what is taken where nothing is said",
            Algorithms::Papers => "the paper's algorithms",
        };
        let reduced = if self.batch < 32 { " (the paper: 2^32)" } else { "" };
        let _ = writeln!(
            text,
            "## gpuint, {name}\n\nMilliseconds for a batch of 2^{}{reduced} bits on {}, medians \
             of the runs; \
             `div_rem` by kinds of divisors, and its ratio to `mul low`.\n",
            self.batch, self.machine.backend
        );
        let mut heading = Row::of(["bits", "M", "instances", "runs", "mul low"]);
        for workload in DIVISORS {
            heading.0.extend([format!("div_rem, {}", workload.name()), "ratio".to_owned()]);
        }
        heading.0.extend(["product", "division"].map(str::to_owned));
        table(
            text,
            &heading,
            lines.into_iter().map(|line| {
                let mut row = Row(vec![
                    line.bits.to_string(),
                    (line.bits / 64).to_string(),
                    line.rows.to_string(),
                    line.cells()
                        .map(|cell| cell.times.runs())
                        .min()
                        .unwrap_or_default()
                        .to_string(),
                    decimal(milliseconds(&line.mul.times)),
                ]);
                for cell in &line.div {
                    let ratio = milliseconds(&cell.times) / milliseconds(&line.mul.times);
                    row.0.extend([decimal(milliseconds(&cell.times)), format!("{ratio:.2}")]);
                }
                let division = line.div.first().map(|cell| cell.algorithm.clone());
                row.0.extend([line.mul.algorithm.clone(), division.unwrap_or_default()]);
                row
            }),
        );
    }

    /// Table of other GPU code.
    fn peers(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "## Others on a GPU\n\nThese were not measured by this program, but {MEASURED}. \
             Milliseconds for a batch of 2^32 bits; \
             divisions: {}.\n",
            peers::DIVISORS.map(Workload::name).join(" / ")
        );
        let heading = Row::of([
            "bits",
            "M",
            "instances",
            "paper: mul low",
            "prior paper: mul low",
            "CGBN: mul low",
            "paper: div_rem",
            "paper: ratio",
            "CGBN: div_rem",
        ]);
        let one = |time: Option<f64>| time.map_or("-".to_owned(), |time| time.to_string());
        let three = |times: Option<[f64; 3]>| {
            times.map_or("-".to_owned(), |times| times.map(|time| time.to_string()).join(" / "))
        };
        table(
            text,
            &heading,
            PEERS.iter().map(|peers| {
                let ratio = peers
                    .paper_div
                    .zip(peers.paper_mul)
                    .map(|(div, mul)| div.map(|time| format!("{:.1}", time / mul)).join(" / "));
                Row(vec![
                    peers.bits.to_string(),
                    (peers.bits / 64).to_string(),
                    (peers::BATCH / peers.bits as u64).to_string(),
                    one(peers.paper_mul),
                    one(peers.prior_mul),
                    one(peers.cgbn_mul),
                    three(peers.paper_div),
                    ratio.unwrap_or("-".to_owned()),
                    three(peers.cgbn_div),
                ])
            }),
        );
    }

    /// Table of CPU libraries.
    fn processor(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "## Libraries of the processor\n\nNanoseconds for one operation on one core, medians; \
             `mul` gives both halves of a product."
        );
        if let Some(reason) = &self.missing {
            let _ = writeln!(text, "GMP was not timed: {reason}.");
        }
        text.push('\n');
        let mut heading = Row::of(["bits", "library", "mul"]);
        for workload in DIVISORS {
            heading.0.extend([format!("div_rem, {}", workload.name()), "ratio".to_owned()]);
        }
        heading.0.push(format!("gpuint on {}: mul low / div_rem", self.machine.backend));
        table(
            text,
            &heading,
            self.libraries.iter().map(|times| {
                let mut row = Row(vec![
                    times.bits.to_string(),
                    times.library.clone(),
                    format!("{:.0}", times.mul),
                ]);
                for div in times.div {
                    row.0.extend([format!("{div:.0}"), format!("{:.2}", div / times.mul)]);
                }
                let own = self
                    .lines
                    .iter()
                    .find(|line| (line.algorithms, line.bits) == (Algorithms::Auto, times.bits));
                row.0.push(own.map_or(String::new(), |line| {
                    let div = line.div.iter().map(|cell| decimal(line.nanoseconds(cell)));
                    let div: Vec<_> = div.collect();
                    format!("{} / {}", decimal(line.nanoseconds(&line.mul)), div.join(" / "))
                }));
                row
            }),
        );
    }

    /// One line for every number.
    pub(crate) fn csv(&self) -> String {
        let Machine { device, driver, processor, date, commit, .. } = &self.machine;
        let mut text = format!(
            "# {device}; NVIDIA driver {driver}; {processor}; {date}; commit {commit}\n\
             # others on a GPU: {MEASURED}\n\
             who,operation,divisor,bits,instances,algorithm,runs,\
             median_ms,least_ms,ns_per_operation\n"
        );
        let mut line = |cells: [String; 10]| {
            let _ = writeln!(text, "{}", cells.join(","));
        };
        let none = String::new;
        for own in &self.lines {
            let who = match own.algorithms {
                Algorithms::Auto => "gpuint",
                Algorithms::Papers => "gpuint by the paper's algorithms",
            };
            for (cell, (operation, divisor)) in own.cells().zip(operations()) {
                line([
                    who.to_owned(),
                    operation.to_owned(),
                    divisor.to_owned(),
                    own.bits.to_string(),
                    own.rows.to_string(),
                    cell.algorithm.clone(),
                    cell.times.runs().to_string(),
                    milliseconds(&cell.times).to_string(),
                    (cell.times.least().as_secs_f64() * 1e3).to_string(),
                    own.nanoseconds(cell).to_string(),
                ]);
            }
        }
        for peers in &PEERS {
            let all = |mul: Option<f64>, div: Option<[f64; 3]>| {
                [mul, div.map(|d| d[0]), div.map(|d| d[1]), div.map(|d| d[2])]
            };
            for (who, times) in [
                ("paper", all(peers.paper_mul, peers.paper_div)),
                ("prior paper", all(peers.prior_mul, None)),
                ("CGBN", all(peers.cgbn_mul, peers.cgbn_div)),
            ] {
                for (time, (operation, divisor)) in times.into_iter().zip(operations()) {
                    let Some(time) = time else { continue };
                    line([
                        who.to_owned(),
                        operation.to_owned(),
                        divisor.to_owned(),
                        peers.bits.to_string(),
                        (peers::BATCH / peers.bits as u64).to_string(),
                        none(),
                        none(),
                        time.to_string(),
                        none(),
                        peers::nanoseconds(time, peers.bits).to_string(),
                    ]);
                }
            }
        }
        for library in &self.libraries {
            let divisions = DIVISORS.iter().zip(library.div);
            let times = std::iter::once(("mul", "", library.mul))
                .chain(divisions.map(|(divisor, time)| ("div_rem", divisor.name(), time)));
            for (operation, divisor, time) in times {
                line([
                    library.library.clone(),
                    operation.to_owned(),
                    divisor.to_owned(),
                    library.bits.to_string(),
                    "1".to_owned(),
                    none(),
                    none(),
                    none(),
                    none(),
                    time.to_string(),
                ]);
            }
        }
        text
    }

    /// Plot of times over widths.
    pub(crate) fn figure(&self) -> Figure {
        let Machine { device, date, .. } = &self.machine;
        let panel = |title: String, lines| Panel {
            title,
            x_label: "bits".to_owned(),
            y_label: "ns for one operation".to_owned(),
            lines,
        };
        let divisors = DIVISORS[PLOTTED].name();
        Figure {
            title: format!("gpuint on {device}, {date}"),
            panels: vec![
                panel(
                    "Products".to_owned(),
                    self.plotted(
                        |line| &line.mul,
                        |peers| [peers.paper_mul, peers.prior_mul, peers.cgbn_mul],
                        |library| library.mul,
                    ),
                ),
                panel(
                    format!("Divisions, divisors {divisors}"),
                    self.plotted(
                        |line| &line.div[PLOTTED],
                        |peers| {
                            [peers.paper_div, None, peers.cgbn_div]
                                .map(|times| times.map(|t| t[PLOTTED]))
                        },
                        |library| library.div[PLOTTED],
                    ),
                ),
            ],
        }
    }

    fn plotted(
        &self,
        own: impl Fn(&Line) -> &Cell,
        peers: impl Fn(&peers::Peers) -> [Option<f64>; 3],
        library: impl Fn(&LibraryTimes) -> f64,
    ) -> Vec<plot::Line> {
        let mut lines = Vec::new();
        let mut add = |name: String, own: bool, points: Vec<(f64, f64)>| {
            lines.push(plot::Line { name, own, points });
        };
        let own_lines = [
            (Algorithms::Auto, "gpuint"),
            (Algorithms::Papers, "gpuint by the paper's algorithms"),
        ];
        for (algorithms, words) in own_lines {
            let point = |line: &Line| (line.bits as f64, line.nanoseconds(own(line)));
            let of_set = self.lines.iter().filter(|line| line.algorithms == algorithms);
            add(format!("{words}, {}", self.machine.backend), true, of_set.map(point).collect());
        }
        // Only widths that were measured here.
        let widths = || self.lines.iter().map(|line| line.bits);
        let is_shown = |bits: usize| widths().min() <= Some(bits) && Some(bits) <= widths().max();
        for (place, words) in ["the paper", "the prior paper", "CGBN"].into_iter().enumerate() {
            let shown = PEERS.iter().filter(|row| is_shown(row.bits));
            let points = shown.filter_map(|row| {
                Some((row.bits as f64, peers::nanoseconds(peers(row)[place]?, row.bits)))
            });
            add(format!("{words}, H200"), false, points.collect());
        }
        let mut names: Vec<_> = self.libraries.iter().map(|times| times.library.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let times = self.libraries.iter().filter(|times| times.library == name);
            let points = times.map(|times| (times.bits as f64, library(times)));
            add(format!("{name}, one core"), false, points.collect());
        }
        lines
    }
}

impl Line {
    /// In the order of [`operations`].
    fn cells(&self) -> impl Iterator<Item = &Cell> {
        std::iter::once(&self.mul).chain(&self.div)
    }

    /// The time of one operation.
    fn nanoseconds(&self, cell: &Cell) -> f64 {
        milliseconds(&cell.times) * 1e6 / self.rows as f64
    }
}

/// The operations at each width, and their divisors.
fn operations() -> impl Iterator<Item = (&'static str, &'static str)> {
    let divisions = DIVISORS.iter().map(|workload| ("div_rem", workload.name()));
    std::iter::once(("mul low", "")).chain(divisions)
}

/// The median.
fn milliseconds(times: &Times) -> f64 {
    times.median().as_secs_f64() * 1e3
}

/// Formats at least four digits.
fn decimal(value: f64) -> String {
    let places = (3.0 - value.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.places$}")
}
