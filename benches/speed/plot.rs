//! The plot of a measurement: products and divisions over the width, beside other GPU code.

use gpuint_benches::plot::{Figure, Line, Panel};

use crate::against::Measured;
use crate::peers::{self, DIVISORS, PEERS, Peers};

/// Index in [`DIVISORS`] of the divisors that are plotted.
const PLOTTED: usize = 1;

/// Nanoseconds per row by this library and by the peers, at the widths of both.
pub(crate) fn figure(measured: &Measured) -> Figure {
    let divisors = DIVISORS[PLOTTED].name();
    let products = |row: &Peers| [row.paper_mul, row.prior_mul, row.cgbn_mul];
    let divisions = |row: &Peers| {
        [row.paper_div, None, row.cgbn_div].map(|times| times.map(|times| times[PLOTTED]))
    };
    Figure {
        title: format!("Measured on one NVIDIA H200, batches of 2^32 bits; {}", measured.source),
        panels: vec![
            panel("Products modulo 2^bits", measured, ("mul_lo", ""), products),
            panel(
                &format!("Divisions with remainder, divisors of {divisors} length"),
                measured,
                ("div_rem", divisors),
                divisions,
            ),
        ],
    }
}

fn panel(
    title: &str,
    measured: &Measured,
    operation: (&str, &str),
    peers: impl Fn(&Peers) -> [Option<f64>; 3],
) -> Panel {
    let is_plotted = |bits: usize| PEERS.iter().any(|row| row.bits == bits);
    let own = measured.times.iter().filter_map(|((name, operands, bits), time)| {
        let is_of_panel = (name.as_str(), operands.as_str()) == operation && is_plotted(*bits);
        is_of_panel.then(|| (*bits as f64, peers::nanoseconds(time.ms, *bits)))
    });
    // `Measured` is sorted by width.
    let mut lines = vec![Line { name: "gpuint".to_owned(), own: true, points: own.collect() }];
    let names = ["code of the division paper (2026)", "code of the product paper", "CGBN (NVIDIA)"];
    for (index, name) in names.into_iter().enumerate() {
        let points = PEERS.iter().filter_map(|row| {
            Some((row.bits as f64, peers::nanoseconds(peers(row)[index]?, row.bits)))
        });
        lines.push(Line { name: name.to_owned(), own: false, points: points.collect() });
    }
    Panel {
        title: title.to_owned(),
        x_label: "bits of an integer".to_owned(),
        y_label: "ns for one integer".to_owned(),
        lines,
    }
}
