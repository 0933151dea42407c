//! Tests candidates in batches: reads, sieves, evaluates, tests, verifies and writes.
//!
//! One thread reads blocks of candidates, sieves a block at a time, and cuts it into batches that
//! take the devices about two seconds. The calling thread tests a batch on all devices by groups of
//! one width, and writes its lines, while the other prepares the next one. The first blocks are
//! small, so that a file of one million candidates is tested while it is read and sieved.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use std::vec;

use gpuint::{Error, Shape, interruptible, narrowest, threads};
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use rayon::prelude::*;

use super::candidate::Candidate;
use super::engine::{Engine, Fermat, Tested};
use super::host;
use super::input::{Input, ReadError};
use super::options::Share;
use super::prepare::{self, Row, State};
use super::verdict::Verdict;

/// Maximum number of candidates of a block, which are sieved together.
const BLOCK_ROWS: usize = 1 << 20;
/// Minimum number of candidates of the first block. Blocks double, so that the first tests begin
/// early, and each block is tested while the next one is read and sieved.
const FIRST_BLOCK_ROWS: usize = 1 << 16;
/// Numbers below the limit of the sieve for each candidate of the first block. The primes below a
/// limit take as long as about `limit / 200` candidates: a sixth of such a block.
const LIMIT_OF_ROW: u64 = 32;
/// Bytes of the candidates' texts in a block.
const BLOCK_BYTES: usize = 1 << 28;
/// Time after which a block ends, so that results of a slow pipe are not held back.
const BLOCK_TIME: Duration = Duration::from_secs(2);
/// Candidates of a batch that are evaluated at first, and at a time: with each step twice as many.
const FIRST_STEP: usize = 16;
const LAST_STEP: usize = 1 << 14;
/// Cost of the batches of wide candidates, which fill the devices, in costs of other batches: a
/// wave of rows of 2^18 bits has 60.
const MAX_COSTS: f64 = 64.0;
/// Tests in waves from which an incomplete wave is a small part of the time.
const MAX_WAVES: usize = 16;

/// Bits of the tests that a wave is counted in: narrower ones have fewer threads each.
const WAVE_BITS: u64 = 1 << 17;

/// Reason why the job stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("cannot write the results: {0}")]
    Write(std::io::Error),
    #[error("interrupted")]
    Interrupted,
    #[error("cannot test {rows} candidates of {bits} bits: {source}")]
    Test { rows: usize, bits: usize, source: Error },
    #[error("cannot sieve: {0}")]
    Sieve(Error),
    #[error(
        "{candidate} (line {line}): the device's result is wrong: num-bigint computes {expected}, \
         the device {found}"
    )]
    Wrong { candidate: String, line: u64, expected: String, found: String },
}

/// Options of a job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) base: u32,
    pub(crate) sieve: u64,
    pub(crate) stop_on_prime: bool,
    pub(crate) verify: Option<Share>,
    /// Cost of a batch, in tests of 1024 bits.
    pub(crate) batch: f64,
    /// Tests of [`WAVE_BITS`] bits that the GPUs compute at once; 0 without GPUs.
    pub(crate) wave: usize,
    /// Maximum number of candidates of a batch; those of one line stay together.
    pub(crate) batch_rows: usize,
}

/// Statistics of a job.
#[derive(Debug, Clone, Default)]
pub(crate) struct Summary {
    pub(crate) candidates: u64,
    pub(crate) primes: u64,
    pub(crate) composites: u64,
    pub(crate) factors: u64,
    pub(crate) untested: u64,
    pub(crate) rejected: u64,
    pub(crate) verified: u64,
    /// Devices that failed, with the error.
    pub(crate) failed: BTreeSet<String>,
    /// Tests on the devices by width.
    pub(crate) widths: BTreeMap<usize, u64>,
    pub(crate) read: Duration,
    pub(crate) sieve: Duration,
    pub(crate) evaluate: Duration,
    pub(crate) test: Duration,
    pub(crate) verify: Duration,
    pub(crate) write: Duration,
    /// True if `--stop-on-prime` ended the job.
    pub(crate) found: bool,
}

/// Candidates that are tested together.
struct Batch {
    rows: Vec<Row>,
    /// Bytes of the input up to the end of the batch.
    bytes: u64,
}

/// Reads, sieves and evaluates candidates.
struct Producer<'a, 'i> {
    input: &'i mut Input<'a>,
    settings: Settings,
    /// Rows of the block that are left.
    block: vec::IntoIter<Row>,
    /// Bytes of the input before and after the block, and its rows.
    bytes: (u64, u64),
    rows: usize,
    /// Candidates of the next block.
    block_rows: usize,
    times: Summary,
}

/// Returns the number of candidates of the first block.
fn first_block_rows(limit: u64) -> usize {
    let rows = usize::try_from(limit / LIMIT_OF_ROW).unwrap_or(BLOCK_ROWS);
    rows.clamp(FIRST_BLOCK_ROWS, BLOCK_ROWS)
}

impl<'a, 'i> Producer<'a, 'i> {
    fn new(input: &'i mut Input<'a>, settings: Settings) -> Self {
        Self {
            input,
            settings,
            block: Vec::new().into_iter(),
            bytes: (0, 0),
            rows: 0,
            block_rows: first_block_rows(settings.sieve),
            times: Summary::default(),
        }
    }

    /// Prepares the next batch; `None` at the end.
    ///
    /// A batch of few tests has whole waves: 206 rows take a GPU as long as 264.
    fn next(&mut self) -> Result<Option<Batch>, JobError> {
        if self.block.len() == 0 && !self.read()? {
            return Ok(None);
        }
        let (mut count, mut tests, mut cost, mut step) = (0, 0, 0.0, FIRST_STEP);
        let Settings { batch, batch_rows, sieve, .. } = self.settings;
        let (mut widest, mut wave) = (0, self.settings.wave);
        let block = self.block.as_mut_slice();
        while (cost < batch || tests < wave && cost < MAX_COSTS * batch)
            && count < batch_rows
            && count < block.len()
        {
            let end = block.len().min(batch_rows).min(count + step);
            let is_needing = |row: &&Row| row.candidate.needs > 0;
            let end = end + block[end..].iter().take_while(is_needing).count();
            step = LAST_STEP.min(2 * step);
            let new = &mut block[count..end];
            let start = Instant::now();
            let result = prepare::evaluate(new, sieve);
            self.times.evaluate += start.elapsed();
            result.map_err(sieve_error)?;
            cost += new.iter().map(Row::cost).sum::<f64>();
            tests += new.iter().filter(|row| row.is_tested()).count();
            widest = new.iter().map(Row::bits).fold(widest, u64::max);
            wave = wave_of(self.settings.wave, widest);
            count = end;
        }
        if (wave..MAX_WAVES * wave).contains(&tests) {
            count = rows_with_tests(&block[..count], tests / wave * wave);
        }
        // A whole block is moved as one.
        let rows = match count < self.block.len() {
            true => self.block.by_ref().take(count).collect(),
            false => std::mem::take(&mut self.block).collect(),
        };
        let (first, last) = self.bytes;
        let share = 1.0 - self.block.len() as f64 / self.rows.max(1) as f64;
        let bytes = first + ((last - first) as f64 * share) as u64;
        Ok(Some(Batch { rows, bytes }))
    }

    /// Reads and sieves a block; returns false at the end.
    fn read(&mut self) -> Result<bool, JobError> {
        let start = Instant::now();
        let first = self.input.bytes();
        let (mut candidates, mut bytes) = (Vec::<Candidate>::new(), 0);
        while candidates.len() < self.block_rows
            && bytes < BLOCK_BYTES
            && (candidates.is_empty() || start.elapsed() < BLOCK_TIME)
        {
            let first = candidates.len();
            if !self.input.next(&mut candidates)? {
                break;
            }
            bytes += candidates[first..].iter().map(|it| it.text.len()).sum::<usize>();
        }
        self.bytes = (first, self.input.bytes());
        self.rows = candidates.len();
        self.block_rows = BLOCK_ROWS.min(2 * self.block_rows);
        self.times.read += start.elapsed();
        if candidates.is_empty() {
            return Ok(false);
        }
        let start = Instant::now();
        let rows = prepare::parse_and_sieve(candidates, self.settings.sieve);
        self.block = rows.map_err(sieve_error)?.into_iter();
        self.times.sieve += start.elapsed();
        Ok(true)
    }
}

/// Returns the number of tests of `bits` bits that the GPUs compute at once. `wave` is this number
/// for tests of [`WAVE_BITS`] bits.
fn wave_of(wave: usize, bits: u64) -> usize {
    wave * (WAVE_BITS / bits.clamp(1, WAVE_BITS).next_power_of_two()) as usize
}

/// Returns the number of rows up to the test after `tests` tests. A row that needs another one is
/// not the first one after them.
fn rows_with_tests(rows: &[Row], tests: usize) -> usize {
    let mut tested = rows.iter().enumerate().filter(|(_, row)| row.is_tested());
    let end = tested.nth(tests).map_or(rows.len(), |(index, _)| index);
    let is_first = |&index: &usize| rows.get(index).is_none_or(|row| row.candidate.needs == 0);
    (1..=end).rev().find(is_first).unwrap_or(rows.len())
}

fn sieve_error(error: Error) -> JobError {
    match error {
        Error::Interrupted => JobError::Interrupted,
        error => JobError::Sieve(error),
    }
}

impl Row {
    fn is_tested(&self) -> bool {
        matches!(self.state, State::Number(_))
    }

    /// Bits of the number that is tested; 0 for none.
    fn bits(&self) -> u64 {
        match &self.state {
            State::Number(number) => number.bits(),
            State::Decided(_) | State::Parsed { .. } => 0,
        }
    }

    /// Time of the tests in units of one of 1024 bits: the products of n bits take about n^1.6
    /// bit operations at these sizes, and there are n of them.
    fn cost(&self) -> f64 {
        if self.is_tested() { (self.bits() as f64 / 1024.0).powf(2.6).max(0.01) } else { 0.0 }
    }
}

/// Tests all candidates of the input, and passes those of a batch to `write`, in order, with the
/// bytes of the input so far. `found` has the primes of quotas in earlier results.
pub(crate) fn run(
    devices: &dyn Engine,
    settings: Settings,
    input: &mut Input<'_>,
    stop: &'static AtomicBool,
    found: HashMap<Arc<str>, u64>,
    mut write: impl FnMut(&[Row], u64) -> std::io::Result<()>,
) -> Result<Summary, JobError> {
    let should_stop = move || stop.load(Ordering::Relaxed);
    let mut producer = Producer::new(input, settings);
    let mut tester = Tester { devices, settings, found, summary: Summary::default() };
    let mut take = |mut batch: Batch| {
        tester.test(&mut batch)?;
        let start = Instant::now();
        write(&batch.rows, batch.bytes).map_err(JobError::Write)?;
        tester.summary.write += start.elapsed();
        Ok::<bool, JobError>(!tester.summary.found)
    };
    let mut produce = move || match interruptible(should_stop, || producer.next()) {
        Ok(Some(batch)) => (Ok(Some(batch)), Summary::default()),
        last => (last, std::mem::take(&mut producer.times)),
    };
    let times = interruptible(should_stop, || {
        thread::scope(|scope| {
            let (sender, batches) = mpsc::sync_channel(1);
            // On a host without threads, batches are made when they are wanted.
            let mut alone = None;
            if starts_threads() {
                scope.spawn(move || {
                    loop {
                        let (batch, times) = produce();
                        let is_last = !matches!(batch, Ok(Some(_)));
                        if sender.send((batch, times)).is_err() || is_last {
                            break;
                        }
                    }
                });
            } else {
                alone = Some(produce);
            }
            loop {
                let next = match &mut alone {
                    Some(produce) => produce(),
                    // The thread ends after its last message.
                    None => batches.recv().unwrap_or((Ok(None), Summary::default())),
                };
                match next {
                    (Ok(Some(batch)), _) => {
                        if !take(batch)? {
                            return Ok(Summary::default());
                        }
                    }
                    (Ok(None), times) => return Ok(times),
                    (Err(_), _) if should_stop() => return Err(JobError::Interrupted),
                    (Err(error), _) => return Err(error),
                }
            }
        })
    })?;
    let mut summary = tester.summary;
    (summary.read, summary.sieve, summary.evaluate) = (times.read, times.sieve, times.evaluate);
    Ok(summary)
}

/// Returns true if this host starts threads.
fn starts_threads() -> bool {
    thread::Builder::new().spawn(|| ()).is_ok()
}

/// Returns true for a prime that this job found.
fn is_new_prime(verdict: &Verdict) -> bool {
    verdict.is_prime() && !matches!(verdict, Verdict::Recorded { .. })
}

/// Tests batches.
struct Tester<'p> {
    devices: &'p dyn Engine,
    settings: Settings,
    /// Primes of each quota.
    found: HashMap<Arc<str>, u64>,
    summary: Summary,
}

impl Tester<'_> {
    /// Decides all rows of a batch; with `--stop-on-prime`, removes those after the first prime.
    fn test(&mut self, batch: &mut Batch) -> Result<(), JobError> {
        let rows = &mut batch.rows;
        let mut open: Vec<usize> = threads::install(|| {
            let is_open = |row: &Row| matches!(row.state, State::Number(_));
            let rows = rows.par_iter().enumerate();
            rows.filter(|(_, row)| is_open(row)).map(|(index, _)| index).collect()
        });
        loop {
            let ready = self.ready(rows, &mut open);
            if ready.is_empty() {
                break;
            }
            let mut groups: BTreeMap<Shape, Vec<usize>> = BTreeMap::new();
            for index in ready {
                if let State::Number(number) = &rows[index].state
                    && let Some(shape) = narrowest(number.bits() as usize)
                {
                    groups.entry(shape).or_default().push(index);
                }
            }
            for (shape, members) in groups {
                self.test_group(rows, shape, &members)?;
            }
        }
        if self.settings.stop_on_prime
            && let Some(first) = rows.iter().position(|row| row.verdict().is_some_and(is_new_prime))
        {
            rows.truncate(first + 1);
            self.summary.found = true;
        }
        for row in rows.iter() {
            self.count(row);
        }
        Ok(())
    }

    /// Decides open rows that need no test, and returns those to test now: rows whose partner is a
    /// probable prime, or that need none. Rows whose partner is open stay open.
    fn ready(&self, rows: &mut [Row], open: &mut Vec<usize>) -> Vec<usize> {
        let mut ready = Vec::new();
        open.retain(|&index| {
            let row = &rows[index];
            let needs = row.candidate.needs;
            let partner = if needs > 0 { index.checked_sub(needs) } else { None };
            let verdict = match partner.map(|partner| (partner, rows[partner].verdict())) {
                None => None,
                Some((_, None)) => return true,
                Some((_, Some(verdict))) if verdict.is_prime() => None,
                Some((partner, Some(_))) => {
                    Some(Verdict::Needless { composite: Arc::clone(&rows[partner].candidate.text) })
                }
            };
            let verdict = verdict.or_else(|| {
                let quota = row.candidate.quota.as_ref()?;
                let is_filled = *self.found.get(&quota.key)? >= quota.primes;
                is_filled
                    .then(|| Verdict::Quota { key: Arc::clone(&quota.key), primes: quota.primes })
            });
            match verdict {
                Some(verdict) => rows[index].state = State::Decided(verdict),
                None => ready.push(index),
            }
            false
        });
        ready
    }

    fn test_group(
        &mut self,
        rows: &mut [Row],
        shape: Shape,
        members: &[usize],
    ) -> Result<(), JobError> {
        let start = Instant::now();
        let failed = |source| match source {
            Error::Interrupted => JobError::Interrupted,
            source => JobError::Test { rows: members.len(), bits: shape.bits, source },
        };
        let number = |&index: &usize| match &rows[index].state {
            State::Number(number) => Some(number.clone()),
            _ => None,
        };
        let numbers: Vec<BigUint> = members.iter().filter_map(number).collect();
        let base = self.settings.base;
        let tested = self.devices.fermat(shape, &numbers, base).map_err(failed)?;
        let Tested { results: fermat, failed: devices } = tested;
        self.summary.failed.extend(devices);
        let passed: Vec<usize> = (0..numbers.len())
            // The test says nothing of a number that divides the base.
            .filter(|&i| {
                let divides = numbers[i].to_u32().is_some_and(|number| base.is_multiple_of(number));
                fermat[i].is_passed || divides
            })
            .collect();
        let left: Vec<BigUint> = passed.iter().map(|&i| numbers[i].clone()).collect();
        let tested = self.devices.probable_primes(shape, &left).map_err(failed)?;
        let Tested { results: probable, failed: devices } = tested;
        self.summary.failed.extend(devices);
        self.summary.test += start.elapsed();
        *self.summary.widths.entry(shape.bits).or_default() += numbers.len() as u64;

        let mut verdicts: Vec<Verdict> =
            fermat.iter().map(|it| Verdict::Composite { res64: it.res64 }).collect();
        for (i, is_probable) in passed.into_iter().zip(probable) {
            let number = &numbers[i];
            verdicts[i] = match is_probable {
                true if number.to_u64().is_some() => Verdict::Prime { number: number.clone() },
                true => Verdict::Probable { number: number.clone() },
                false if fermat[i].is_passed => Verdict::Pseudoprime,
                false => continue,
            };
        }
        self.verify(rows, members, &numbers, &verdicts)?;
        for (&index, verdict) in members.iter().zip(verdicts) {
            rows[index].state = State::Decided(verdict);
        }
        Ok(())
    }

    /// Computes a share of the results again on the CPU.
    fn verify(
        &mut self,
        rows: &[Row],
        members: &[usize],
        numbers: &[BigUint],
        verdicts: &[Verdict],
    ) -> Result<(), JobError> {
        let Some(Share(share)) = self.settings.verify else { return Ok(()) };
        let start = Instant::now();
        let base = self.settings.base;
        let is_chosen = |text: &str| {
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            (hasher.finish() as f64) < share * u64::MAX as f64
        };
        let chosen: Vec<usize> = (0..members.len())
            .filter(|&i| share >= 1.0 || is_chosen(&rows[members[i]].candidate.text))
            .collect();
        let wrong = threads::install(|| {
            chosen.par_iter().find_map_first(|&i| {
                let number = &numbers[i];
                let fermat = Fermat::of(&host::fermat_residue(number, base));
                let is_probable = host::is_probable_prime(number);
                let expected = match is_probable {
                    true if number.to_u64().is_some() => Verdict::Prime { number: number.clone() },
                    true => Verdict::Probable { number: number.clone() },
                    false if fermat.is_passed => Verdict::Pseudoprime,
                    false => Verdict::Composite { res64: fermat.res64 },
                };
                (expected != verdicts[i]).then_some((i, expected))
            })
        });
        self.summary.verify += start.elapsed();
        self.summary.verified += chosen.len() as u64;
        let Some((i, expected)) = wrong else { return Ok(()) };
        let candidate = &rows[members[i]].candidate;
        Err(JobError::Wrong {
            candidate: candidate.text.to_string(),
            line: candidate.line,
            expected: format!("{expected:?}"),
            found: format!("{:?}", verdicts[i]),
        })
    }

    fn count(&mut self, row: &Row) {
        let Some(verdict) = row.verdict() else { return };
        if let Verdict::Recorded { .. } = verdict {
            return;
        }
        let summary = &mut self.summary;
        summary.candidates += 1;
        *match verdict {
            Verdict::Prime { .. } | Verdict::Probable { .. } => &mut summary.primes,
            Verdict::Composite { .. } | Verdict::Pseudoprime | Verdict::Unit => {
                &mut summary.composites
            }
            Verdict::Factor(_) => &mut summary.factors,
            Verdict::Needless { .. } | Verdict::Quota { .. } => &mut summary.untested,
            Verdict::Rejected(_) | Verdict::Recorded { .. } => &mut summary.rejected,
        } += 1;
        if verdict.is_prime()
            && let Some(quota) = &row.candidate.quota
        {
            *self.found.entry(Arc::clone(&quota.key)).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_of_narrow_tests_have_more_of_them() {
        let waves = [0, 1024, 40000, 65536, 65537, 1 << 18].map(|bits| wave_of(264, bits));
        assert_eq!(waves, [264 << 17, 264 << 7, 528, 528, 264, 264]);
        assert_eq!(wave_of(0, 65536), 0);
    }

    #[test]
    fn incomplete_waves_have_a_bounded_cost() {
        static STOP: AtomicBool = AtomicBool::new(false);
        let text = format!("{}\n", (1u64 << 40) + 15).repeat(4096);
        let rows_of_batch = |batch: f64, wave: usize| {
            let settings = Settings {
                base: 3,
                sieve: 0,
                stop_on_prime: false,
                verify: None,
                batch,
                wave,
                batch_rows: usize::MAX,
            };
            let mut input = Input::new(&["-".into()], Box::new(text.as_bytes()), &STOP);
            let mut producer = Producer::new(&mut input, settings);
            producer.next().unwrap().unwrap().rows.len()
        };
        // A test costs 0.01, and a wave has 2048 of them. Batches have 16, 48, 112, 240, ... rows.
        assert_eq!(rows_of_batch(0.02, 0), 16);
        assert_eq!(rows_of_batch(0.02, 1), 240);
        assert_eq!(rows_of_batch(1.0, 1), 2048);
    }

    #[test]
    fn batches_end_before_a_test_that_needs_no_other() {
        let row = |(line, is_tested, needs)| Row {
            candidate: Candidate { needs, ..Candidate::new(line, "7") },
            state: match is_tested {
                true => State::Number(BigUint::from(7u32)),
                false => State::Decided(Verdict::Unit),
            },
        };
        let of = [(1, true, 0), (2, true, 1), (3, false, 0), (4, true, 0), (5, true, 1)];
        let rows: Vec<Row> = of.map(row).into();
        let ends = [1, 2, 3, 4].map(|tests| rows_with_tests(&rows, tests));
        assert_eq!(ends, [5, 3, 3, 5]);
        assert_eq!(rows_with_tests(&rows[..3], 2), 3);
    }
}
