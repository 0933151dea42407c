//! Intermediate results of common divisors, with which another process continues a call.
//!
//! The records of a part of the rows are
//!
//! - `FIRST-END root`: the product of the part and the sum of its cofactors;
//! - `FIRST-END levels`: the values of nodes on the way up, the sums of cofactors, or on the way
//!   down, the fractions. A later record replaces an earlier one.
//!
//! Products of a tree are not recorded. A call that continues computes the missing ones again: one
//! of the five products of a level. A record has, in words of 8 bytes with the lowest byte
//! first, the stage and the next level, then for each batch the level, the bits and the number of
//! its rows, and the rows. It is of no use on a device with rows of other widths, which computes
//! the part again.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gpuint_catalogue::Shape;

use super::layout::Layout;
use super::nodes::{Nodes, home};
use crate::backend::Span;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};

/// Storage of intermediate results, with which another process continues a call that was killed.
///
/// It belongs to one call: to its rows and numbers. Methods are called by several threads, if
/// several devices compute.
pub trait Checkpoint: Sync {
    /// Returns true if the next intermediate result is to be saved.
    fn is_due(&self) -> bool;

    /// Saves a record, which replaces the record of the same name. `write` writes its content, and
    /// fails if the device does. A record that cannot be saved is lost, and the call goes on.
    fn save(&self, name: &str, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>);

    /// Reads the content of a record by `read`. Returns true if the record exists, `read`
    /// succeeded, and the content is the one that was saved.
    fn load(&self, name: &str, read: &mut dyn FnMut(&mut dyn Read) -> io::Result<()>) -> bool;
}

/// Part of the work on a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Sums of cofactors, up the tree.
    Sums,
    /// Remainders, down the tree.
    Remainders,
}

impl Stage {
    fn word(self) -> u64 {
        match self {
            Self::Sums => 0,
            Self::Remainders => 1,
        }
    }
}

/// Nodes from which the work on a tree goes on.
pub(super) struct Reached {
    pub(super) stage: Stage,
    /// The next level whose values are computed on the way up, or taken apart on the way down.
    pub(super) level: usize,
    pub(super) nodes: Nodes,
}

/// Records of a part of the rows.
pub(super) struct Records<'c> {
    checkpoint: Option<&'c dyn Checkpoint>,
    name: String,
    has_root: AtomicBool,
    has_levels: AtomicBool,
}

impl<'c> Records<'c> {
    pub(super) fn new(checkpoint: Option<&'c dyn Checkpoint>, rows: &Range<usize>) -> Self {
        let name = format!("{}-{}", rows.start, rows.end);
        Self { checkpoint, name, has_root: false.into(), has_levels: false.into() }
    }

    /// Returns true if an intermediate result is to be saved.
    pub(super) fn is_due(&self) -> bool {
        self.checkpoint.is_some_and(Checkpoint::is_due)
    }

    /// Returns true if there is a record of levels.
    pub(super) fn has_levels(&self) -> bool {
        self.has_levels.load(Ordering::Relaxed)
    }

    /// Saves the product of the part and the sum of its cofactors, unless they are saved.
    pub(super) fn save_root(&self, product: &DynBatch, sum: &DynBatch) -> Result<()> {
        if self.has_root.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        self.save("root", &[0, 0], &[(0, product), (0, sum)])
    }

    /// Returns the product of the part and the sum of its cofactors, if they are recorded.
    pub(super) fn load_root(
        &self,
        device: &Device,
        layout: impl Fn() -> Result<Arc<Layout>>,
    ) -> Result<Option<[DynBatch; 2]>> {
        let mut rows = Vec::new();
        let is_read = self.load("root", &mut |source| {
            let place = layout().and_then(|layout| home(device, layout.root_bits()));
            let (home, shape) = place.map_err(|error| source.failed(error))?;
            source.words::<2>()?;
            while let Some([_, bits, count]) = source.next_batch()? {
                rows.push(source.rows(&home, shape, [bits, count], 1)?);
            }
            Ok(())
        })?;
        let root = <[DynBatch; 2]>::try_from(rows).ok().filter(|_| is_read);
        self.has_root.store(root.is_some(), Ordering::Relaxed);
        Ok(root)
    }

    /// Saves the values of nodes before the work on a level.
    pub(super) fn save_levels(&self, stage: Stage, level: usize, nodes: &Nodes) -> Result<()> {
        let batches = nodes.levels.iter().enumerate();
        let batches: Vec<_> = batches.filter_map(|(it, rows)| Some((it, rows.as_ref()?))).collect();
        self.has_levels.store(true, Ordering::Relaxed);
        self.save("levels", &[stage.word(), level as u64], &batches)
    }

    /// Returns the nodes from which the work on the part goes on, if they are recorded. There are
    /// `rows` rows.
    pub(super) fn load_levels(
        &self,
        device: &Device,
        layout: &Layout,
        rows: usize,
    ) -> Result<Option<Reached>> {
        let mut reached = None;
        let is_read = self.load("levels", &mut |source| {
            let [stage, level] = source.words()?;
            let stages = [Stage::Sums, Stage::Remainders];
            let stage = stages.into_iter().find(|it| it.word() == stage).ok_or_else(other)?;
            let level = usize::try_from(level).map_err(|_| other())?;
            let mut nodes = Nodes::new(1, layout.levels.len() + 1);
            while let Some([at, bits, count]) = source.next_batch()? {
                let at = usize::try_from(at).ok().filter(|&at| at <= layout.levels.len());
                let at = at.ok_or_else(other)?;
                let (home, shape) =
                    home(device, layout.fraction_bits(at)).map_err(|error| source.failed(error))?;
                let batch = source.rows(&home, shape, [bits, count], layout.count(at, rows))?;
                nodes.levels[at] = Some(batch);
            }
            reached = Some(Reached { stage, level, nodes });
            Ok(())
        })?;
        let reached = reached.filter(|it| is_read && it.level <= layout.levels.len());
        self.has_levels.store(reached.is_some(), Ordering::Relaxed);
        Ok(reached)
    }

    fn save(&self, kind: &str, head: &[u64], batches: &[(usize, &DynBatch)]) -> Result<()> {
        let Some(checkpoint) = self.checkpoint else { return Ok(()) };
        let mut result = Ok(());
        checkpoint.save(&format!("{} {kind}", self.name), &mut |out| {
            write_words(out, head)?;
            for &(level, rows) in batches {
                let shape = rows.shape();
                write_words(out, &[level as u64, shape.bits as u64, rows.len() as u64])?;
                let span = Span { offset: 0, bytes: rows.len() * shape.bytes(), unit: 1 };
                let mut written = Ok(());
                let copied =
                    rows.device().memory().download_parts(rows.buffer(), span, &mut |_, part| {
                        if written.is_ok() {
                            written = out.write_all(part);
                        }
                        Ok(())
                    });
                written?;
                copied.map_err(|error| kept(&mut result, error))?;
            }
            Ok(())
        });
        result
    }

    fn load(
        &self,
        kind: &str,
        read: &mut dyn FnMut(&mut Source<'_>) -> io::Result<()>,
    ) -> Result<bool> {
        let Some(checkpoint) = self.checkpoint else { return Ok(false) };
        let mut result = Ok(());
        let is_read = checkpoint.load(&format!("{} {kind}", self.name), &mut |content| {
            read(&mut Source { content, result: &mut result })
        });
        result.map(|()| is_read)
    }
}

pub(super) fn write_words(out: &mut dyn Write, words: &[u64]) -> io::Result<()> {
    words.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))
}

/// Reads words of a record.
pub(super) fn read_words<const N: usize>(content: &mut dyn Read) -> io::Result<[u64; N]> {
    let mut words = [0; N];
    for word in &mut words {
        let mut bytes = [0; 8];
        content.read_exact(&mut bytes)?;
        *word = u64::from_le_bytes(bytes);
    }
    Ok(words)
}

/// Content of a record.
struct Source<'a> {
    content: &'a mut dyn Read,
    /// The error of the device that ended the reading.
    result: &'a mut Result<()>,
}

impl Source<'_> {
    fn words<const N: usize>(&mut self) -> io::Result<[u64; N]> {
        read_words(self.content)
    }

    /// Returns level, bits and number of rows of the next batch; `None` at the end.
    fn next_batch(&mut self) -> io::Result<Option<[u64; 3]>> {
        match self.words() {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            head => head.map(Some),
        }
    }

    /// Reads rows, if their bits and their number are those of `count` rows of a shape.
    fn rows(
        &mut self,
        device: &Device,
        shape: Shape,
        found: [u64; 2],
        count: usize,
    ) -> io::Result<DynBatch> {
        if found != [shape.bits as u64, count as u64] {
            return Err(other());
        }
        let mut rows = DynBatch::alloc(device, shape, count).map_err(|error| self.failed(error))?;
        let span = Span { offset: 0, bytes: count * shape.bytes(), unit: 1 };
        let mut filled = Ok(());
        let copied = device.memory().upload_parts(rows.buffer_mut(), span, &mut |_, part| {
            if filled.is_ok() {
                filled = self.content.read_exact(part);
            }
            Ok(())
        });
        filled?;
        copied.map_err(|error| self.failed(error))?;
        Ok(rows)
    }

    /// Keeps an error of the device.
    fn failed(&mut self, error: Error) -> io::Error {
        kept(self.result, error)
    }
}

/// Keeps an error of the device, and returns one that ends the reading or writing.
fn kept(result: &mut Result<()>, error: Error) -> io::Error {
    *result = Err(error);
    io::Error::other("the device failed")
}

/// The error for a record of rows of other widths, or of other rows.
pub(super) fn other() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::HashMap;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::{Mutex, MutexGuard};

    use super::*;

    /// Records in memory, each of which ends its call by a panic.
    #[derive(Default)]
    pub(in crate::ops::tree) struct Ending {
        records: Mutex<HashMap<String, Vec<u8>>>,
        /// Names of the records at which calls ended.
        ends: Mutex<Vec<String>>,
    }

    impl Ending {
        /// Repeats a call until it ends without a record. Returns its result and the number of
        /// calls that ended at a record.
        pub(in crate::ops::tree) fn calls_to_the_end<R>(
            &self,
            call: impl Fn(&Self) -> R,
        ) -> (R, usize) {
            let before = self.ends().len();
            loop {
                if let Ok(result) = catch_unwind(AssertUnwindSafe(|| call(self))) {
                    return (result, self.ends().len() - before);
                }
            }
        }

        pub(in crate::ops::tree) fn ends(&self) -> MutexGuard<'_, Vec<String>> {
            self.ends.lock().unwrap()
        }

        /// Removes the last byte of every record.
        pub(in crate::ops::tree) fn cut_short(&self) {
            for record in self.records.lock().unwrap().values_mut() {
                record.pop();
            }
        }
    }

    impl Checkpoint for Ending {
        fn is_due(&self) -> bool {
            true
        }

        fn save(&self, name: &str, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) {
            let mut record = Vec::new();
            write(&mut record).unwrap();
            self.records.lock().unwrap().insert(name.to_owned(), record);
            self.ends().push(name.to_owned());
            resume_unwind(Box::new(name.to_owned()));
        }

        fn load(&self, name: &str, read: &mut dyn FnMut(&mut dyn Read) -> io::Result<()>) -> bool {
            let record = self.records.lock().unwrap().get(name).cloned();
            record.is_some_and(|record| {
                let mut content = record.as_slice();
                read(&mut content).is_ok() && content.is_empty()
            })
        }
    }
}
