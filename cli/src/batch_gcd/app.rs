//! From options to an exit status: reads the keys, finds the weak ones and reports them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use gpuint::Pool;

use super::analysis::{AnalysisError, Analyzer, Weakness, counts};
use super::budget::{Budget, MIB, OverBudget};
use super::distinct::Distinct;
use super::errors::ReadError;
use super::keys::{Collection, Limits, Stored};
use super::options::Options;
use super::progress::{Phase, Stages};
use super::reading;
use super::records::{FOLDER, Records, RecordsError, hash_of_work, recorded_work};
use super::report::{Form, Report};
use super::resumption::{has_moduli_of, undo_extension};
use super::settings::Settings;
use super::store::{self, StoreError};
use crate::job::destination::{Output, written_files};
use crate::job::devices::DeviceError;
use crate::job::event::LineForm;
use crate::job::input::{InputError, is_stream, refuse_same_file};
use crate::job::output::{Format, Names, OutputError, OutputFile};
use crate::job::progress::progress_bar;
use crate::job::signals::{self, STOP};
use crate::job::status::STOPPED;
use crate::job::units::Time;

/// Reason why a job has no results.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Records(#[from] RecordsError),
    #[error(transparent)]
    Memory(#[from] OverBudget),
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    #[error("this build of gpuint has no widths")]
    NoShapes,
    #[error("cannot write the results: {0}")]
    Write(io::Error),
}

/// End of a job that did not stop with an [`AppError`] (exit status 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// No weak key was found.
    NoneFound,
    /// Weak keys were found.
    Found,
    /// The job was interrupted, or its reader closed the pipe.
    Stopped,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::NoneFound => Self::SUCCESS,
            Status::Found => Self::from(1),
            Status::Stopped => Self::from(STOPPED),
        }
    }
}

/// Runs the job that the options describe, with the standard streams.
pub(crate) fn run(options: &Options) -> Result<Status, AppError> {
    let result = find(options);
    let reason = match result {
        Err(AppError::Read(ReadError::Interrupted)) => "interrupted while reading",
        Err(AppError::Analysis(AnalysisError::Interrupted)) => "interrupted while computing",
        Err(AppError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            "stopped: nobody reads the results"
        }
        result => return result,
    };
    let hint = if has_records(options) { "; --resume continues the job" } else { "" };
    let _ = writeln!(io::stderr(), "batch-gcd: {reason}{hint}");
    Ok(Status::Stopped)
}

fn find(options: &Options) -> Result<Status, AppError> {
    let widest = gpuint::widths().last().ok_or(AppError::NoShapes)?.bits;
    let limits = Limits { widest };
    let budget = Budget::new(options.memory.unwrap_or_else(default_memory));
    refuse_written_inputs(options)?;
    let start = Instant::now();
    let pool = options.devices.open()?;
    let setup = start.elapsed();
    // Both files are locked before the store is read, so that no other job extends it meanwhile.
    let mut output = open_output(options)?;
    let mut new_store = None;
    let mut lines = io::stderr();
    let on_terminal = lines.is_terminal();
    let shows_lines = options.progress && !on_terminal;
    let form = if options.json { LineForm::Json } else { LineForm::Text };
    let stages = Stages::new(on_terminal, shows_lines.then_some((form, &mut lines as _)));
    stages.add(Phase::Setup, setup);
    let result = open_store(options, &mut new_store).and_then(|()| {
        let status = compute(options, limits, &pool, &budget, &stages, &mut output, &mut new_store);
        stages.end();
        status
    });
    if result.is_err() {
        if let Output::File(file) = &mut output {
            file.discard();
        }
        if let Some(file) = &mut new_store {
            file.discard();
        }
    }
    result
}

/// Finds the weak keys, and writes the results and the store.
fn compute(
    options: &Options,
    limits: Limits,
    pool: &Pool,
    budget: &Budget,
    stages: &Stages<'_>,
    output: &mut Output,
    new_store: &mut Option<OutputFile>,
) -> Result<Status, AppError> {
    let start = Instant::now();
    let device = &pool.devices()[0];
    let mut stderr = io::stderr();
    signals::watch("batch-gcd", "ending the job");
    let on_terminal = stderr.is_terminal();

    let (mut keys, mut stored) = match &options.against {
        Some(path) => {
            stages.begin(Phase::Store, "stored keys");
            let read = store::read(path, limits, budget)?;
            stages.end();
            read
        }
        None => (Collection::default(), Stored::default()),
    };
    let settings = Settings {
        radix: options.radix.radix(),
        table: options.table(),
        skip_invalid: options.skip_invalid,
        max_expanded: options.max_expanded.saturating_mul(MIB),
        limits,
    };
    let documents = keys.documents().len();
    let reading = Instant::now();
    let bar = progress_bar(on_terminal, size(&options.inputs), 0);
    let read = reading::read(&options.inputs, &settings, budget, &STOP, &bar, &mut keys);
    bar.finish_and_clear();
    read?;
    let reading = reading.elapsed();

    let folder = records_folder(options)?.filter(|_| matches!(output, Output::File(_)));
    let recorded = match &folder {
        Some(folder) if options.resume => recorded_work(folder)?,
        _ => None,
    };
    if let Some(recorded) = recorded {
        undo_extension(&mut keys, &mut stored, documents, recorded);
    }
    stages.ended(Phase::Read, &format!("reading {} keys", keys.len()), reading);
    stages.begin(Phase::Distinct, "keys of one modulus");
    budget.charge("the keys", Distinct::BYTES * keys.len() as u64)?;
    let distinct = Distinct::of(&keys);
    if folder.is_some() && distinct.first.last().is_some_and(|&last| last < stored.keys) {
        refuse_lost_results(options)?;
    }
    let is_stored = new_store.is_some();
    let opened = |folder| {
        let work = hash_of_work(&keys, &stored, is_stored);
        if let Some(path) = made_store(options) {
            let is_complete = recorded == Some(work)
                && has_moduli_of(&store::read(path, limits, budget)?.0, &keys);
            if !is_complete {
                return Err(StoreError::Exists(path.to_owned()).into());
            }
        }
        Ok::<_, AppError>(Records::open(folder, work, options.interval(), options.resume)?)
    };
    let records = folder.map(opened).transpose()?;
    let analyzer = Analyzer {
        pool,
        device,
        keys: &keys,
        stored: &stored,
        checks: options.checks(),
        is_stored,
        records: records.as_ref(),
        budget,
        stages,
    };
    let found = analyzer.run(&distinct)?;
    stages.begin(Phase::Write, "writing");

    let form = match (options.json, options.csv) {
        (true, _) => Form::Json,
        (_, true) => Form::Csv,
        _ => Form::Text,
    };
    let report = Report { keys: &keys, distinct: &distinct, stored: stored.keys };
    let stdout = io::stdout();
    let mut stdout = BufWriter::new(stdout.lock());
    if let Some(out) = output.lines(&mut stdout) {
        report.write(form, &found.findings, options.duplicates, out).map_err(AppError::Write)?;
    }
    if let Output::File(file) = output {
        file.finish()?;
    }
    if let (Some(file), Some(path)) = (&mut *new_store, &options.store) {
        let products = stored.products.iter().chain(&found.products);
        store::write(file, &keys, products)
            .and_then(|()| file.flush())
            .map_err(|source| StoreError::Write { path: path.clone(), source })?;
        file.finish()?;
    }
    // A job that is killed before its store is replaced goes on from the records.
    if let Some(error) = records.and_then(|records| records.remove().err()) {
        let _ = writeln!(stderr, "batch-gcd: {error}");
    }
    stages.end();
    for invalid in keys.take_invalid() {
        let _ = writeln!(stderr, "skipped: {invalid}");
    }
    let memory = budget.most_mib();
    let closing = Closing { keys: &keys, distinct: &distinct, stored: stored.keys, memory };
    let weak = counts(&found.findings);
    let total = stages.time(Phase::Setup) + start.elapsed();
    let name = match pool.devices() {
        [device] => device.to_string(),
        devices => format!("{} devices, the first {device}", devices.len()),
    };
    let _ = writeln!(stderr, "{}", closing.line(&weak, &name, stages, total));
    Ok(if found.findings.is_empty() { Status::NoneFound } else { Status::Found })
}

/// Refuses inputs that the job would write over.
fn refuse_written_inputs(options: &Options) -> Result<(), AppError> {
    let mut written = written_files(options.output.as_deref())?;
    let stores = written_files(options.store.as_deref())?;
    for path in options.inputs.iter().chain(&options.against) {
        refuse_same_file(path, &written)?;
    }
    if let Some(output) = options.output.as_deref().filter(|path| !is_stream(path)) {
        refuse_same_file(output, &stores)?;
    }
    written.extend(stores);
    for path in &options.inputs {
        refuse_same_file(path, &written)?;
    }
    Ok(())
}

/// Returns the folder of the records of the job.
fn records_folder(options: &Options) -> Result<Option<PathBuf>, OutputError> {
    let output = options.output.as_deref().filter(|path| !is_stream(path));
    output.map(|path| Ok(Names::of(path)?.with_end(FOLDER))).transpose()
}

/// Returns true if the job can be continued.
fn has_records(options: &Options) -> bool {
    records_folder(options).is_ok_and(|folder| folder.is_some_and(|folder| folder.exists()))
}

fn open_output(options: &Options) -> Result<Output, AppError> {
    match options.output.as_deref() {
        Some(path) if !is_stream(path) => {
            let format = Format { header: "gpuint batch-gcd results", options: Vec::new() };
            Ok(Output::open(path, format, false)?)
        }
        _ => Ok(Output::Stdout),
    }
}

/// Opens a new store, or the successor of the one that is extended.
fn open_store(options: &Options, opened: &mut Option<OutputFile>) -> Result<(), AppError> {
    let Some(path) = &options.store else { return Ok(()) };
    let format = Format { header: "gpuint batch-gcd store", options: Vec::new() };
    *opened = Some(OutputFile::open(&Names::of(path)?, format, false)?);
    // Another job may have made the store before the lock.
    match made_store(options) {
        Some(path) if !(options.resume && has_records(options)) => {
            Err(StoreError::Exists(path.to_owned()).into())
        }
        _ => Ok(()),
    }
}

/// Returns the path of the store to write if there is a store, unless the job extends it.
fn made_store(options: &Options) -> Option<&Path> {
    let path = options.store.as_deref()?;
    let is_old = |old: &PathBuf| same_file::is_same_file(old, path).unwrap_or(false);
    let is_made = fs::symlink_metadata(path).is_ok();
    (is_made && !options.against.as_ref().is_some_and(is_old)).then_some(path)
}

/// Refuses a job without new keys if it would write over results, which may be those of the job
/// that stored the keys.
fn refuse_lost_results(options: &Options) -> Result<(), StoreError> {
    match (&options.against, &options.output) {
        (Some(store), Some(output)) if fs::metadata(output).is_ok_and(|data| data.len() > 0) => {
            Err(StoreError::NothingNew { store: store.clone(), output: output.clone() })
        }
        _ => Ok(()),
    }
}

/// Three quarters of the available memory, in MiB.
fn default_memory() -> u64 {
    use sysinfo::{MemoryRefreshKind, RefreshKind, System};
    let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(kind);
    let available = system.cgroup_limits().map_or(u64::MAX, |limits| limits.free_memory);
    available.min(system.available_memory()) / 4 * 3 / MIB
}

/// Total size of the inputs; `None` if one is no regular file.
fn size(inputs: &[PathBuf]) -> Option<u64> {
    let length = |path: &PathBuf| {
        let metadata = fs::metadata(path).ok().filter(|_| !is_stream(path))?;
        metadata.is_file().then_some(metadata.len())
    };
    inputs.iter().map(length).sum()
}

/// The closing report.
struct Closing<'a> {
    keys: &'a Collection,
    distinct: &'a Distinct,
    /// Number of stored keys.
    stored: usize,
    /// Most memory of the host that was counted, in MiB.
    memory: u64,
}

impl Closing<'_> {
    fn line(
        &self,
        weak: &BTreeMap<Weakness, usize>,
        device: &str,
        stages: &Stages<'_>,
        total: Duration,
    ) -> String {
        let Self { keys, distinct, stored, .. } = self;
        let new = keys.len() - stored;
        let mut line = plural(new as u64, "key");
        let bits = (0..keys.len()).map(|key| keys.bits(key));
        match (bits.clone().min(), bits.max()) {
            (Some(least), Some(most)) if least == most => line += &format!(" of {least} bits"),
            (Some(least), Some(most)) => line += &format!(" of {least}..{most} bits"),
            _ => {}
        }
        if *stored > 0 {
            line += &format!(" against {}", plural(*stored as u64, "stored key"));
        }
        line += &format!(", {}", plural(distinct.number_of_copies() as u64, "duplicate"));
        for (reason, count) in &keys.unused {
            line += &format!(", {count} unused ({reason})");
        }
        for (count, name) in [
            (keys.rejected, "invalid entry"),
            (keys.skipped.links, "skipped link"),
            (keys.skipped.others, "skipped device or pipe"),
        ] {
            if count > 0 {
                line += &format!(", {}", plural(count, name));
            }
        }
        line.push(';');
        if weak.is_empty() {
            line += " no weak key found";
        }
        for (index, (weakness, &count)) in weak.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            line += &format!("{comma} {} with {}", plural(count as u64, "key"), weakness.names());
        }
        line += &format!("; computed on {device}: ");
        for phase in Phase::ALL {
            let time = stages.time(phase);
            if !time.is_zero() {
                line += &format!("{} {}, ", phase.name(), Time(time));
            }
        }
        line + &format!("{} in all; {} MiB of memory counted", Time(total), self.memory)
    }
}

/// Returns a number of things.
fn plural(count: u64, name: &str) -> String {
    match (count, name.strip_suffix('y')) {
        (1, _) => format!("1 {name}"),
        (_, Some(stem)) if stem.ends_with('r') => format!("{count} {stem}ies"),
        _ => format!("{count} {name}s"),
    }
}
