//! Reading keys: one thread reads documents, and all threads parse their blocks.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

use gpuint::threads;
use indicatif::ProgressBar;
use rayon::prelude::*;

use super::budget::Budget;
use super::der::{self, Found};
use super::documents::{BLOCK, Block, Documents, Work};
use super::errors::{Invalid, ReadError};
use super::format::{Format, without_mark};
use super::keys::{Collection, Limits, Parsed, Skipped};
use super::place::Place;
use super::settings::Settings;
use super::table;
use super::{lines, pem, ssh, web_keys};

/// Reads the keys of all documents, in order, and adds them to a collection.
pub(crate) fn read(
    paths: &[PathBuf],
    settings: &Settings,
    budget: &Budget,
    stop: &AtomicBool,
    bar: &ProgressBar,
    collection: &mut Collection,
) -> Result<(), ReadError> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    // Each thread parses a block, as many wait, one is read; a block is two at most.
    let blocks = 2 * BLOCK as u64 * (2 * threads as u64 + 1);
    budget.charge("blocks of the input", blocks)?;
    let expanded = AtomicU64::new(0);
    let (to_parsers, works) = mpsc::sync_channel(threads);
    let (mut parsed, produced) = thread::scope(|scope| {
        let expanded = &expanded;
        let produce = move || {
            let mut index = 0u64;
            let mut sink = |work| {
                index += 1;
                to_parsers.send((index, work)).map_err(|_| ReadError::Interrupted)
            };
            let skipped = Skipped::default();
            let sink = &mut sink;
            let mut documents = Documents { settings, budget, expanded, stop, bar, sink, skipped };
            for path in paths {
                documents.read_path(path)?;
            }
            Ok::<_, ReadError>(documents.skipped)
        };
        let producer = thread::Builder::new().spawn_scoped(scope, produce);
        let producer = producer.map_err(ReadError::Thread)?;
        let parse = |(index, work)| {
            let parsed = parse(work, settings, budget, expanded, stop, bar);
            if parsed.is_err() {
                // Ends the reading, which may wait for input.
                stop.store(true, Ordering::Relaxed);
            }
            (index, parsed)
        };
        let works = works.into_iter().par_bridge();
        let parsed: Vec<_> = threads::install(|| works.map(parse).collect());
        let produced = producer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok::<_, ReadError>((parsed, produced))
    })?;
    budget.release(blocks);
    parsed.sort_unstable_by_key(|&(index, _)| index);
    let mut is_interrupted = false;
    for (_, part) in parsed {
        match part {
            Ok(part) => collection.append(part),
            // Another part has the error that ended the reading.
            Err(ReadError::Interrupted) => is_interrupted = true,
            Err(error) => return Err(error),
        }
    }
    collection.skipped += produced?;
    // The input may have ended at the same time.
    match is_interrupted || stop.load(Ordering::Relaxed) {
        true => Err(ReadError::Interrupted),
        false => Ok(()),
    }
}

/// Parses a block or a small file.
fn parse(
    work: Work,
    settings: &Settings,
    budget: &Budget,
    expanded: &AtomicU64,
    stop: &AtomicBool,
    bar: &ProgressBar,
) -> Result<Parsed, ReadError> {
    let mut parsed = Parsed::default();
    let mut add = |work| match work {
        Work::Block(block) => {
            let charged = block.charged;
            parse_block(&block, settings.limits, &mut parsed);
            budget.release(charged);
            check(settings, &parsed)
        }
        Work::Invalid(invalid) => {
            reject(invalid, &mut parsed);
            check(settings, &parsed)
        }
        // Only folders have these.
        Work::File(path) => {
            Err(ReadError::Open { path, source: std::io::ErrorKind::InvalidInput.into() })
        }
    };
    match work {
        Work::File(path) => {
            let sink = &mut add;
            let skipped = Skipped::default();
            let mut documents = Documents { settings, budget, expanded, stop, bar, sink, skipped };
            documents.read_found_file(&path)?;
            let skipped = documents.skipped;
            parsed.skipped += skipped;
        }
        work => add(work)?,
    }
    parsed.shrink();
    budget.charge("the keys", parsed.bytes())?;
    Ok(parsed)
}

/// Returns the first error, unless errors are counted.
fn check(settings: &Settings, parsed: &Parsed) -> Result<(), ReadError> {
    match parsed.invalid.first() {
        Some(invalid) if !settings.skip_invalid => {
            Err(ReadError::Invalid(Box::new(invalid.clone())))
        }
        _ => Ok(()),
    }
}

fn reject(invalid: Invalid, into: &mut Parsed) {
    let document = into.document(&invalid.document);
    into.reject(Place { document, ..invalid.place }, invalid.column, invalid.reason);
}

fn parse_block(block: &Block, limits: Limits, into: &mut Parsed) {
    let document = into.document(&block.document);
    let first = block.first_line;
    let bytes = &block.bytes[..];
    let text = if first == 1 { without_mark(bytes) } else { bytes };
    match &block.format {
        Format::Numbers(radix) => lines::parse(text, document, first, *radix, limits, into),
        Format::Table(table) => table::parse(text, document, table, limits, into),
        Format::Pem => pem::parse(text, document, first, limits, into),
        Format::Ssh => ssh::parse(text, document, first, limits, into),
        Format::WebKeys => web_keys::parse(text, document, limits, into),
        Format::Der => {
            let place = Place { document, line: 0, entry: 0 };
            let read = match der::find(bytes) {
                Ok(Found::Rsa { modulus, kind }) => into.push_bytes(&modulus, kind, place, limits),
                Ok(Found::Unused(reason)) => {
                    into.count_unused(&reason);
                    Ok(())
                }
                Err(reason) => Err(reason),
            };
            if let Err(reason) = read {
                into.reject(place, 0, reason);
            }
        }
    }
}
