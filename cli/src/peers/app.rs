//! `gpuint bench --peers`: this library beside others, on the same operands in the same run.

use std::error::Error;
use std::io::Write;
use std::time::Duration;

use gpuint::{BackendKind, Device};

use super::driver::{FLINT, Folder, GMP, OPENSSL, compile_cgbn};
use super::operation::Operation;
use super::options::PeerOptions;
use super::ours::{self, Measured};
use super::power::Meter;
use super::table::{Line, Prices, write_header, write_line};

/// Factor between the numbers of rows of a curve.
const STEP: usize = 16;

pub(crate) fn run(
    options: &PeerOptions,
    seconds: f64,
    out: &mut dyn Write,
) -> Result<(), Box<dyn Error>> {
    let device = Device::new()?;
    writeln!(out, "gpuint {}: {device}", device.backend())?;
    let gpu = device.backend() == BackendKind::Cuda;
    let meter = if gpu {
        match Meter::start() {
            Ok(meter) => Some(meter),
            Err(reason) => {
                writeln!(out, "watts: none: {reason}")?;
                None
            }
        }
    } else {
        None
    };
    if options.cgbn.is_some() && !gpu {
        writeln!(out, "CGBN: left out: no GPU")?;
    }
    let folder = Folder::new()?;
    let mut drivers = Vec::new();
    let libraries = [(GMP, &options.gmp), (FLINT, &options.flint), (OPENSSL, &options.openssl)];
    for (library, prefix) in libraries {
        match library.compile(&folder, prefix.as_deref()) {
            Ok(driver) => drivers.push(driver),
            Err(reason) => writeln!(out, "{}: left out: {reason}", library.name)?,
        }
    }

    let curves: Vec<(Operation, usize, Vec<usize>)> = options
        .operations
        .iter()
        .flat_map(|&operation| options.bits.iter().map(move |&bits| (operation, bits)))
        .map(|(operation, bits)| {
            let full = (1 << operation.log_batch(gpu)) / bits;
            (operation, bits, row_counts(options.rows.unwrap_or(full.clamp(16, 1 << 20))))
        })
        .collect();
    let points: usize = curves.iter().map(|(_, _, rows)| rows.len()).sum();
    let limit = Duration::from_secs_f64(
        seconds
            / (points * (1 + drivers.len() + usize::from(gpu && options.cgbn.is_some()))).max(1)
                as f64,
    );

    let prices = Prices { gpu: options.price, cpu: options.cpu_price };
    let mut wrong = Vec::new();
    for (operation, bits, counts) in curves {
        let shape = device.shape_for(bits)?;
        if shape.bits != bits {
            return Err(format!("no width of {bits} bits; the next is {}", shape.bits).into());
        }
        write_header(out, operation, bits)?;
        let full = counts.last().copied().unwrap_or_default();
        let operands = operation.draw(bits, full);
        let mut cgbn = None;
        if let Some(include) = options.cgbn.as_deref().filter(|_| gpu) {
            match compile_cgbn(&folder, include, operation, bits) {
                Ok(driver) => cgbn = Some(driver),
                Err(reason) => writeln!(out, "CGBN: left out: {reason}")?,
            }
        }
        for rows in counts {
            let input: Vec<&[u8]> =
                operands.iter().map(|operand| &operand[..bits / 8 * rows]).collect();
            let input = folder.write("operands", &input.concat())?;
            let ours = ours::measure(&device, operation, shape, &operands, rows, limit)?;
            let mut write = |name: &str, measured: &Measured| {
                let watts = meter.as_ref().zip(measured.span).and_then(|(it, span)| it.watts(span));
                write_line(out, &Line { rows, name, measured, ours: &ours, watts }, &prices)
            };
            write(&format!("gpuint {}", device.backend()), &ours)?;
            for driver in drivers.iter_mut().chain(&mut cgbn) {
                let theirs = driver.measure(&folder, operation, bits, rows, &input, limit)?;
                let Some(theirs) = theirs else { continue };
                write(&driver.name, &theirs)?;
                if let Some(row) = first_difference(&ours, &theirs, bits / 8) {
                    let name = operation.name();
                    wrong.push(format!("{name}, {bits} bits: row {row} of {}", driver.name));
                }
            }
            out.flush()?;
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("results differ: {}", wrong.join("; ")).into())
    }
}

/// Numbers of rows from 1 to `full`.
fn row_counts(full: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = std::iter::successors(Some(1), |rows| Some(rows * STEP))
        .take_while(|&rows| rows < full)
        .collect();
    counts.push(full);
    counts
}

/// Returns the first row that both have and whose results differ; `bytes` is the size of an
/// integer.
fn first_difference(ours: &Measured, theirs: &Measured, bytes: usize) -> Option<usize> {
    let rows = ours.rows.min(theirs.rows);
    // One integer of each result, in the layout of the files.
    let row = |measured: &Measured, row: usize| -> Vec<u8> {
        let results = measured.results.chunks_exact(measured.rows * bytes);
        results.flat_map(|result| result[bytes * row..][..bytes].to_vec()).collect()
    };
    (0..rows).find(|&index| row(ours, index) != row(theirs, index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(rows: usize, results: &[u8]) -> Measured {
        Measured { rows, results: results.to_vec(), ..Measured::default() }
    }

    #[test]
    fn row_counts_end_with_the_full_batch() {
        assert_eq!(row_counts(1), [1]);
        assert_eq!(row_counts(256), [1, 16, 256]);
        assert_eq!(row_counts(300), [1, 16, 256, 300]);
    }

    #[test]
    fn wrong_result_is_found_in_the_rows_of_both() {
        // Two results of three and of two rows, two bytes each.
        let ours = measured(3, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        let theirs = measured(2, &[1, 2, 3, 4, 7, 8, 9, 10]);
        assert_eq!(first_difference(&ours, &theirs, 2), None);
        let wrong = measured(2, &[1, 2, 3, 4, 7, 8, 9, 11]);
        assert_eq!(first_difference(&ours, &wrong, 2), Some(1));
        let none = measured(2, &[]);
        assert_eq!(first_difference(&ours, &none, 2), Some(0));
    }
}
