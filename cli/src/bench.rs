//! `gpuint bench`: the GPU of this machine beside its CPU, in about a minute; by `--peers`, beside
//! other libraries.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use gpuint::{Device, DynBatch, Shape};
use num_bigint::BigUint;

/// Times products and divisions at every width on the first GPU and on the CPU.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Seconds for all measurements together [default: 60, with --peers 300]
    #[arg(long, value_parser = seconds)]
    seconds: Option<f64>,

    /// Widest integers
    #[arg(long, value_name = "BITS", default_value_t = 65536, conflicts_with = "peers")]
    max_bits: usize,

    /// Write a plot of the divisions to FILE, as SVG
    #[arg(long, value_name = "FILE", conflicts_with = "peers")]
    plot: Option<PathBuf>,

    #[command(flatten)]
    peers: crate::peers::options::PeerOptions,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    let valid = seconds.is_finite() && seconds > 0.0;
    valid.then_some(seconds).ok_or_else(|| "not a positive number".to_owned())
}

/// Rows a second of one width on one device.
#[derive(Debug, Clone, Copy)]
struct Rates {
    product: f64,
    division: f64,
}

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    if options.peers.peers {
        // The power of a GPU needs runs of 0.2 s.
        return crate::peers::app::run(&options.peers, options.seconds.unwrap_or(300.0), out);
    }
    let devices = match Device::cuda(0) {
        Ok(gpu) => vec![gpu, Device::cpu()],
        Err(gpuint::Error::NoDevice) => vec![Device::cpu()],
        Err(error) => return Err(error.into()),
    };
    for device in &devices {
        writeln!(out, "{}: {device}", device.backend())?;
    }
    let shapes: Vec<Shape> = shapes(options.max_bits).collect();
    let measurements = (2 * shapes.len() * devices.len()).max(1);
    let limit = Duration::from_secs_f64(options.seconds.unwrap_or(60.0) / measurements as f64);

    writeln!(out, "\nrows a second")?;
    write!(out, "{:>8}", "bits")?;
    for operation in ["product", "division"] {
        for device in &devices {
            write!(out, " {:>16}", format!("{operation} {}", device.backend()))?;
        }
        if devices.len() > 1 {
            write!(out, " {:>6}", "ratio")?;
        }
    }
    writeln!(out)?;
    let mut table = Vec::new();
    for shape in shapes {
        let rates = devices.iter().map(|device| measure(device, shape, limit));
        let rates: Vec<Rates> = rates.collect::<gpuint::Result<_>>()?;
        write!(out, "{:>8}", shape.bits)?;
        for rate in [|rates: &Rates| rates.product, |rates: &Rates| rates.division] {
            for rates in &rates {
                write!(out, " {:>16.0}", rate(rates))?;
            }
            if let [gpu, cpu] = &rates[..] {
                write!(out, " {:>6.1}", rate(gpu) / rate(cpu))?;
            }
        }
        writeln!(out)?;
        out.flush()?;
        table.push((shape.bits, rates));
    }
    if let Some(path) = &options.plot {
        let names: Vec<&str> = devices.iter().map(|device| device.backend().name()).collect();
        fs::write(path, svg(&names, &table))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        writeln!(out, "plot of the divisions: {}", path.display())?;
    }
    Ok(())
}

/// Shapes of at most `max_bits` bits, narrowest first.
fn shapes(max_bits: usize) -> impl Iterator<Item = Shape> {
    gpuint::widths().take_while(move |shape| shape.bits <= max_bits)
}

/// Measures both operations at a width on a device, each for `limit`.
fn measure(device: &Device, shape: Shape, limit: Duration) -> gpuint::Result<Rates> {
    // Enough rows to fill the device, but little memory.
    let bits = if device.backend() == gpuint::BackendKind::Cuda { 1 << 30 } else { 1 << 24 };
    let rows = (bits / shape.bits).clamp(16, 1 << 20);
    let ones = (BigUint::from(1u32) << shape.bits) - 1u32;
    let dividends: Vec<BigUint> = (0..rows).map(|row| &ones / (2 * row + 1)).collect();
    let divisors: Vec<BigUint> = dividends.iter().map(|u| (u >> (shape.bits / 2)) + 1u32).collect();
    let u = DynBatch::from_biguints(device, shape, &dividends)?;
    let v = DynBatch::from_biguints(device, shape, &divisors)?;
    let (mut q, mut r) =
        (DynBatch::zeros(device, shape, rows)?, DynBatch::zeros(device, shape, rows)?);
    let product = rate(device, rows, limit, || u.wrapping_mul_into(&v, &mut q))?;
    let division = rate(device, rows, limit, || u.div_rem_into(&v, &mut q, &mut r))?;
    Ok(Rates { product, division })
}

/// Rows a second of `work`, by its fastest run within `limit`; the first run loads the kernel.
fn rate(
    device: &Device,
    rows: usize,
    limit: Duration,
    mut work: impl FnMut() -> gpuint::Result<()>,
) -> gpuint::Result<f64> {
    work()?;
    let start = Instant::now();
    let mut best = Duration::MAX;
    loop {
        let ((), time) = device.time(&mut work)?;
        best = best.min(time);
        if start.elapsed() >= limit {
            return Ok(rows as f64 / best.as_secs_f64().max(1e-9));
        }
    }
}

/// Plot of the divisions: rows a second over the width, both logarithmic, one line for each device.
fn svg(names: &[&str], table: &[(usize, Vec<Rates>)]) -> String {
    const WIDTH: f64 = 640.0;
    const HEIGHT: f64 = 400.0;
    const MARGIN: f64 = 60.0;
    const COLOURS: [&str; 2] = ["#1b7837", "#762a83"];
    let rates = || table.iter().flat_map(|(_, rates)| rates).map(|rates| rates.division.log10());
    let (low, high) = (
        rates().fold(f64::INFINITY, f64::min).floor(),
        rates().fold(f64::NEG_INFINITY, f64::max).ceil(),
    );
    let place = |index: usize| {
        MARGIN + (WIDTH - 2.0 * MARGIN) * index as f64 / (table.len() - 1).max(1) as f64
    };
    let height = |rate: f64| {
        HEIGHT - MARGIN - (HEIGHT - 2.0 * MARGIN) * (rate - low) / (high - low).max(1.0)
    };
    // Writing to a string does not fail.
    let mut text = String::new();
    let _ = writeln!(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{MARGIN}\" y=\"30\">divisions a second over bits</text>"
    );
    for power in low as i32..=high as i32 {
        let y = height(power.into());
        let end = WIDTH - MARGIN;
        let _ = writeln!(
            text,
            "<path d=\"M{MARGIN} {y:.1}H{end}\" stroke=\"#ddd\"/>\
             <text x=\"15\" y=\"{:.1}\">1e{power}</text>",
            y + 4.0
        );
    }
    for (index, (bits, _)) in table.iter().enumerate() {
        let (x, y) = (place(index), HEIGHT - MARGIN + 20.0);
        let _ = writeln!(text, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{bits}</text>");
    }
    for (line, (name, colour)) in names.iter().zip(COLOURS).enumerate() {
        let points: Vec<String> = table
            .iter()
            .enumerate()
            .map(|(index, (_, rates))| {
                format!("{:.1},{:.1}", place(index), height(rates[line].division.log10()))
            })
            .collect();
        let (points, x) = (points.join(" "), WIDTH - MARGIN - 60.0);
        let y = 30 + 16 * line;
        let _ = writeln!(
            text,
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <text x=\"{x}\" y=\"{y}\" fill=\"{colour}\">{name}</text>"
        );
    }
    text + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widest_width_is_measured() {
        let widest = gpuint::shapes().iter().map(|shape| shape.bits).max();
        assert_eq!(shapes(usize::MAX).last().map(|shape| shape.bits), widest);
        assert_eq!(shapes(2048).last().map(|shape| shape.bits), Some(2048));
    }
}
