//! Power of the first GPU, from its energy over time.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

/// Time between samples; the driver updates its counter less often.
const PERIOD: Duration = Duration::from_millis(10);
/// Shortest span with a power: shorter ones have too few updates of the counter.
const SHORTEST: f64 = 0.2;

/// Time, and millijoules since the driver was loaded.
type Sample = (SystemTime, u64);

/// Reads the energy counter.
type Counter = Box<dyn Fn() -> Result<u64, String> + Send>;

/// Energy of the GPU, sampled by a thread until the value is dropped.
#[derive(Debug)]
pub(crate) struct Meter {
    samples: Arc<Mutex<Vec<Sample>>>,
}

impl Meter {
    /// Starts the thread.
    ///
    /// # Errors
    /// A sentence about a missing NVML, or a GPU without the counter.
    pub(crate) fn start() -> Result<Self, String> {
        let counter = counter()?;
        counter()?;
        let samples = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::downgrade(&samples);
        thread::spawn(move || {
            while let (Some(samples), Ok(energy)) = (shared.upgrade(), counter()) {
                let sample = (SystemTime::now(), energy);
                samples.lock().unwrap_or_else(PoisonError::into_inner).push(sample);
                drop(samples);
                thread::sleep(PERIOD);
            }
        });
        Ok(Self { samples })
    }

    /// Returns the mean power of a span; `None` for a span too short to measure.
    pub(crate) fn watts(&self, span: (SystemTime, SystemTime)) -> Option<f64> {
        watts(&self.samples.lock().unwrap_or_else(PoisonError::into_inner), span)
    }
}

/// Opens the counter of the first GPU by NVML.
#[cfg(feature = "nvml")]
fn counter() -> Result<Counter, String> {
    use std::ffi::OsStr;

    use nvml_wrapper::Nvml;

    // A driver without its development files has only the second name.
    let other = || Nvml::builder().lib_path(OsStr::new("libnvidia-ml.so.1")).init();
    let nvml = Nvml::init().or_else(|_| other()).map_err(|error| error.to_string())?;
    Ok(Box::new(move || {
        let energy = nvml.device_by_index(0).and_then(|device| device.total_energy_consumption());
        energy.map_err(|error| error.to_string())
    }))
}

/// Returns the reason for the missing counter.
#[cfg(not(feature = "nvml"))]
fn counter() -> Result<Counter, String> {
    Err("the program is built without the feature `nvml`".to_owned())
}

/// Mean power between the first and the last sample of a span.
fn watts(samples: &[Sample], (begin, end): (SystemTime, SystemTime)) -> Option<f64> {
    let within = |sample: &&Sample| (begin..=end).contains(&sample.0);
    let first = samples.iter().find(within)?;
    let last = samples.iter().rfind(within)?;
    let seconds = last.0.duration_since(first.0).ok()?.as_secs_f64();
    (seconds >= SHORTEST).then(|| last.1.saturating_sub(first.1) as f64 * 1e-3 / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watts_are_those_of_the_span() {
        let time = |milliseconds| SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds);
        // 100 W for a second, then 300 W.
        let samples: Vec<Sample> = (0..=20u64)
            .map(|tenth| (time(100 * tenth), 10_000 * tenth + 20_000 * tenth.saturating_sub(10)))
            .collect();
        let mean = |begin, end| watts(&samples, (time(begin), time(end))).map(f64::round);
        assert_eq!(mean(0, 1000), Some(100.0));
        assert_eq!(mean(950, 2050), Some(300.0));
        assert_eq!(mean(500, 1500), Some(200.0));
        assert_eq!(mean(500, 650), None);
        assert_eq!(mean(3000, 4000), None);
    }
}
