//! Power of the first GPU, by NVML: the feature `nvml`.

use std::time::SystemTime;

/// Energy of the GPU over time, sampled by a thread until the value is dropped.
#[cfg(feature = "nvml")]
#[derive(Debug)]
pub(crate) struct Meter {
    samples: std::sync::Arc<std::sync::Mutex<Vec<Sample>>>,
}

/// Time, and millijoules since the driver was loaded.
#[cfg(feature = "nvml")]
type Sample = (SystemTime, u64);

#[cfg(feature = "nvml")]
impl Meter {
    /// Starts the thread.
    ///
    /// # Errors
    /// A sentence about a missing NVML, or a GPU without the counter.
    pub(crate) fn start() -> Result<Self, String> {
        use std::ffi::OsStr;
        use std::sync::{Arc, Mutex, PoisonError};
        use std::thread;
        use std::time::Duration;

        use nvml_wrapper::Nvml;
        use nvml_wrapper::error::NvmlError;

        /// The driver updates its counter less often than that.
        const PERIOD: Duration = Duration::from_millis(10);

        let words = |error: NvmlError| error.to_string();
        // A driver without its development files has only the second name.
        let other = || Nvml::builder().lib_path(OsStr::new("libnvidia-ml.so.1")).init();
        let nvml = Nvml::init().or_else(|_| other()).map_err(words)?;
        let energy = move || {
            let device = nvml.device_by_index(0)?;
            Ok((SystemTime::now(), device.total_energy_consumption()?))
        };
        let first = energy().map_err(words)?;
        let samples = Arc::new(Mutex::new(vec![first]));
        let shared = Arc::downgrade(&samples);
        thread::spawn(move || {
            while let (Some(samples), Ok(sample)) = (shared.upgrade(), energy()) {
                samples.lock().unwrap_or_else(PoisonError::into_inner).push(sample);
                drop(samples);
                thread::sleep(PERIOD);
            }
        });
        Ok(Self { samples })
    }

    /// Returns the mean power of a span; `None` for a span too short to measure.
    pub(crate) fn watts(&self, span: (SystemTime, SystemTime)) -> Option<f64> {
        let samples = self.samples.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        watts(&samples, span)
    }
}

/// Mean power between the first and the last sample of a span.
#[cfg(feature = "nvml")]
fn watts(samples: &[Sample], (begin, end): (SystemTime, SystemTime)) -> Option<f64> {
    /// Shorter spans have too few updates of the driver's counter.
    const SHORTEST: f64 = 0.2;
    let within = |sample: &&Sample| (begin..=end).contains(&sample.0);
    let first = samples.iter().find(within)?;
    let last = samples.iter().rfind(within)?;
    let seconds = last.0.duration_since(first.0).ok()?.as_secs_f64();
    (seconds >= SHORTEST).then(|| last.1.saturating_sub(first.1) as f64 * 1e-3 / seconds)
}

/// No meter.
#[cfg(not(feature = "nvml"))]
#[derive(Debug)]
pub(crate) enum Meter {}

#[cfg(not(feature = "nvml"))]
impl Meter {
    /// Returns the reason for having no meter.
    ///
    /// # Errors
    /// Always.
    pub(crate) fn start() -> Result<Self, String> {
        Err("the program is built without the feature `nvml`".to_owned())
    }

    pub(crate) fn watts(&self, _: (SystemTime, SystemTime)) -> Option<f64> {
        match *self {}
    }
}

#[cfg(all(test, feature = "nvml"))]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn watts_are_those_of_the_span() {
        let time = |milliseconds| SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds);
        // 100 W for a second, then 300 W.
        let samples: Vec<Sample> = (0..=20)
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
