//! Decimal numbers by divide and conquer on the device.
//!
//! A number below `10^d` is `high 10^e + low` with `e = d / 2` rounded up: both parts are below
//! `10^e`, in about half the bits. One division by a prepared divisor splits all rows of a batch,
//! and the quotients and the remainders are the rows of the next batch, in the narrowest shape that
//! holds them. A kernel writes the text of narrow rows and of parts of at most [`PART_DIGITS`]
//! digits ([`Digits`]), and the cores of the host copy it.
//! Parsing goes the other way, by a product and a sum a level (D. Knuth, "The Art of Computer
//! Programming", volume 2, section 4.4; R. Brent and P. Zimmermann, "Modern Computer Arithmetic",
//! section 1.7).
//!
//! With `n` digits of 64 bits, classical products and divisions of two products each, all levels
//! take `n^2 / 2 + n^2 / 4 + .. < n^2` digit products, and a logarithm of products of `n` digits
//! where those are by transforms. Digits divided off one at a time take `n^2 / 2` divisions of two
//! words by one, one after the other.
//!
//! `2^b` is no power of ten: halves of a full row of `2b` bits need slightly more than `b` bits,
//! and so the next wider shape on all levels. Dividing by one digit first, in linear time, leaves
//! numbers whose parts fit on all levels with rows of 2^12 bits or more (up to 2^20 bits, checked
//! by `parts_of_wide_rows_fit_in_half_the_width`).

use std::iter;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use gpuint_catalogue::{DigitKind, Shape};
use num_bigint::BigUint;
use rayon::prelude::*;

use super::decimal_digits::Digits;
use super::pairs::product;
use super::{in_shape, shape_of};
use crate::backend::BackendKind;
use crate::backend::cpu::decimal::{
    Reader, Writer, bit_length_of_row, bits_of_digits, digits_of_bits, read_short, write_digits,
};
use crate::backend::host::{reserved_pages, write_rows, zeroed_vec};
use crate::device::Device;
use crate::digits::{is_decimal, is_hex};
use crate::divisor::DynDivisor;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::interrupt::{Stop, on_pool};
use crate::rows::write_checked;
use crate::texts::Texts;

/// Maximum number of digits of a part: a part fits in 1024 bits, the maximum width of the kernels
/// for text.
const PART_DIGITS: usize = 308;
/// Minimum size, in bits, of a batch that is converted by the device: below it, the launches of all
/// levels take longer than the host.
const MIN_BATCH: usize = 1 << 20;
/// Maximum size, in bits, of rows that are converted at a time. The device holds about six times as
/// much.
const MAX_AT_A_TIME: usize = 1 << 29;
/// Minimum number of narrow rows that a thread converts at a time.
const GRAIN: usize = 8;
/// Minimum size, in bytes, of the rows that a thread converts at a time where they are fewer: a
/// copied chunk has a few tens of the widest rows.
const GRAIN_BYTES: usize = 1 << 12;

/// Returns the number of decimal digits that a digit of the shape holds.
fn digits_of_kind(digit: DigitKind) -> usize {
    digits_of_bits(digit.bits()) - 1
}

fn power_of_ten(digits: usize) -> BigUint {
    // Rows have less than 2^32 bits.
    BigUint::from(10u32).pow(digits as u32)
}

/// Returns the number of digits of the low parts of numbers of `digits` digits and of their parts,
/// the longest first, with their powers of ten: each is the square of the next one, or a tenth of
/// it.
fn powers_of_parts(digits: usize) -> Vec<(usize, BigUint)> {
    let half = |longest: &usize| (*longest > PART_DIGITS).then(|| longest.div_ceil(2));
    let lengths: Vec<_> = iter::successors(Some(digits), half).skip(1).collect();
    let mut powers: Vec<(usize, BigUint)> = Vec::with_capacity(lengths.len());
    for low in lengths.into_iter().rev() {
        let power = match powers.last() {
            None => power_of_ten(low),
            Some((half, below)) if low == 2 * half => below * below,
            Some((_, below)) => below * below / 10u32,
        };
        powers.push((low, power));
    }
    powers.reverse();
    powers
}

/// A level of the tree of parts.
struct Level {
    /// `10^e`, the divisor of the level above.
    power: BigUint,
    /// Shape of the parts.
    shape: Shape,
}

/// Parts of decimal numbers.
struct Parts {
    /// Number of digits without those of the tail.
    digits: usize,
    /// Number of digits that are split off first.
    tail: usize,
    /// From the whole down.
    levels: Vec<Level>,
    /// Digits of the parts of a number, by their index in the last level.
    ranges: Vec<Range<usize>>,
}

impl Parts {
    /// Splits numbers of `digits` digits in rows of a shape, unless a kernel converts the shape.
    /// Levels end where no built shape has at most three quarters of the width above.
    fn new(digits: usize, shape: Shape) -> Self {
        let is_whole = Digits::are_offered(shape);
        let tail = if is_whole { 0 } else { digits_of_kind(shape.digit) };
        let digits = digits.saturating_sub(tail);
        let whole = 0..digits;
        let mut parts = Self { digits, tail, levels: Vec::new(), ranges: vec![whole] };
        if is_whole {
            return parts;
        }
        let mut above = shape;
        for (low, power) in powers_of_parts(digits) {
            let shape = shape_of(power.bits() as usize, shape);
            if 4 * shape.bits > 3 * above.bits {
                break;
            }
            // High parts come first, as in `split`.
            let (high, low_parts): (Vec<_>, Vec<_>) = parts
                .ranges
                .iter()
                .map(|range| (range.start..range.end - low, range.end - low..range.end))
                .unzip();
            parts.ranges = [high, low_parts].concat();
            parts.levels.push(Level { power, shape });
            above = shape;
        }
        parts
    }

    /// Length of the text of a number.
    fn len(&self) -> usize {
        self.digits + self.tail
    }

    /// Number of digits of the longest part.
    fn longest(&self) -> usize {
        self.ranges.iter().map(Range::len).max().unwrap_or(0)
    }

    /// Returns the shape of the parts of the last level.
    fn last_shape(&self, whole: Shape) -> Shape {
        self.levels.last().map_or(whole, |level| level.shape)
    }
}

/// Returns true if `rows` numbers of `bits` bits are converted by the device. The CPU converts
/// numbers one at a time, in its caches.
fn is_for_device(device: &Device, rows: usize, bits: usize) -> bool {
    device.backend() != BackendKind::Cpu && rows.saturating_mul(bits) >= MIN_BATCH
}

/// Writes the digits of rows that were copied to the host.
trait RowWriter: Sync {
    /// Returns an upper bound of the number of digits of a row, at least 1.
    fn digits(&self, bytes: &[u8]) -> usize;

    /// Writes a row to a place of this many digits, with leading zeros.
    fn write(&self, row: usize, bytes: &[u8], place: &mut [u8]) -> Result<()>;
}

impl RowWriter for Writer {
    fn digits(&self, bytes: &[u8]) -> usize {
        digits_of_bits(bit_length_of_row(bytes))
    }

    fn write(&self, _row: usize, bytes: &[u8], place: &mut [u8]) -> Result<()> {
        Self::write(self, bytes, place)
    }
}

/// Rows of a copy to the host.
struct Chunk<'a> {
    /// Index of the first row in the batch.
    first: usize,
    bytes: &'a [u8],
    row_bytes: usize,
    /// Maximum number of digits of the rows of the call.
    most: usize,
    writer: &'a dyn RowWriter,
}

impl Chunk<'_> {
    /// Number of rows.
    fn len(&self) -> usize {
        self.bytes.len() / self.row_bytes
    }

    /// Returns the text of a row of the chunk.
    fn text(&self, row: usize) -> Result<String> {
        let bytes = &self.bytes[row * self.row_bytes..][..self.row_bytes];
        let mut text: Vec<u8> = zeroed_vec(self.writer.digits(bytes))?;
        self.writer.write(self.first + row, bytes, &mut text)?;
        text.drain(..leading_zeros(&text));
        // Digits are ASCII.
        Ok(String::from_utf8(text).unwrap_or_default())
    }

    /// Appends the texts of the rows to a list with room for them.
    fn append(&self, texts: &mut Vec<String>) -> Result<()> {
        let stop = Stop::current();
        let failed = OnceLock::new();
        let text = |row| {
            stop.during(|| self.text(row)).unwrap_or_else(|error| {
                // Any error of the call: texts fail for want of memory, or by an interruption.
                let _ = failed.set(error);
                String::new()
            })
        };
        let rows = (0..self.len()).into_par_iter().with_min_len(self.grain());
        on_pool(|| texts.par_extend(rows.map(text)));
        failed.into_inner().map_or(Ok(()), Err)
    }

    /// Minimum number of rows that a thread converts at a time.
    fn grain(&self) -> usize {
        (GRAIN_BYTES / self.row_bytes).clamp(1, GRAIN)
    }

    /// Writes the rows to their places.
    fn write(&self, texts: &mut Texts) -> Result<()> {
        let stop = Stop::current();
        let rows = self.bytes.par_chunks_exact(self.row_bytes).enumerate();
        let places = texts.places(self.first..self.first + self.len());
        let write = |row: usize, bytes: &[u8], place: &mut [u8]| {
            let unused = place.len() - self.writer.digits(bytes);
            let place = &mut place[unused..];
            stop.during(|| self.writer.write(self.first + row, bytes, place))?;
            // Texts have less than 2^32 digits.
            Ok((unused + leading_zeros(place)) as u32)
        };
        let written = rows.zip(places).with_min_len(self.grain());
        on_pool(|| {
            written.try_for_each(|((row, bytes), (place, start))| {
                *start = write(row, bytes, place)?;
                Ok(())
            })
        })
    }
}

/// Returns the number of zeros before the number of these digits.
fn leading_zeros(digits: &[u8]) -> usize {
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    zeros.min(digits.len() - 1)
}

/// Returns the rows in decimal: by the device, or by the host where that takes less time, or the
/// device has no kernels.
pub(crate) fn to_decimal(batch: &DynBatch) -> Result<Vec<String>> {
    let mut texts = reserved_pages(batch.len())?;
    each_chunk(batch, &mut |chunk| chunk.append(&mut texts))?;
    Ok(texts)
}

/// Writes the rows in decimal to memory that is reused; after an error there are no texts.
pub(crate) fn to_decimal_into(batch: &DynBatch, texts: &mut Texts) -> Result<()> {
    texts.clear();
    let written = each_chunk(batch, &mut |chunk| {
        if chunk.first == 0 {
            texts.set_places(batch.len(), chunk.most)?;
        }
        chunk.write(texts)
    });
    if written.is_err() {
        texts.clear();
    }
    written
}

/// Copies the rows, or their parts, to the host; calls `take` for chunks of them in order.
fn each_chunk(batch: &DynBatch, take: &mut dyn FnMut(&Chunk<'_>) -> Result<()>) -> Result<()> {
    let Shape { bits, .. } = batch.shape();
    if is_for_device(batch.device(), batch.len(), bits) {
        let (shape, parts) = parts_of(batch)?;
        // Kernels of all portions are those of the first one.
        if is_for_device(batch.device(), batch.len(), shape.bits)
            && Digits::are_offered(parts.last_shape(shape))
            && without_missing(split(batch, shape, &parts, take))?.is_some()
        {
            return Ok(());
        }
    }
    let (writer, row_bytes) = (Writer::new(bits)?, batch.shape().bytes());
    let most = digits_of_bits(bits);
    batch.read_parts(0, batch.len(), |first, bytes| {
        take(&Chunk { first, bytes, row_bytes, most, writer: &writer })
    })
}

/// Returns the narrowest shape of the rows of a batch, and their parts in it.
fn parts_of(batch: &DynBatch) -> Result<(Shape, Parts)> {
    let shape = batch.shape();
    let (longest, shape) = if Digits::are_offered(shape) {
        (shape.bits, shape)
    } else {
        let longest = batch.bit_lengths()?.into_iter().max().unwrap_or(0) as usize;
        (longest, shape_of(longest, shape))
    };
    Ok((shape, Parts::new(digits_of_bits(longest), shape)))
}

/// Returns numbers, given by their digits: by the device, or by the host.
///
/// # Errors
/// [`Parse`](Error::Parse) with the lowest row that is not a number, else
/// [`TooWide`](Error::TooWide) with the lowest row that does not fit.
pub(crate) fn from_decimal(device: &Device, shape: Shape, texts: &[&str]) -> Result<DynBatch> {
    let longest = longest_of(texts, 10)?;
    device.check_shape(shape)?;
    if is_for_device(device, texts.len(), bits_of_digits(longest))
        && longest <= digits_of_bits(shape.bits)
        && let Some(batch) = without_missing(join(device, shape, texts, longest))?.flatten()
    {
        return Ok(batch);
    }
    let reader = Reader::new(longest)?;
    let stop = Stop::current();
    DynBatch::from_parts(device, shape, texts.len(), |first, part| {
        write_checked(part, shape.bytes(), first, |row, bytes| {
            match stop.during(|| reader.read(significant(texts[row], 10), bytes))? {
                None => Ok(()),
                Some(bits) => Err(Error::TooWide { row, bits, width: shape.bits }),
            }
        })
    })
}

/// Checks that all texts are numbers; returns the maximum number of digits without leading zeros.
///
/// # Errors
/// [`Parse`](Error::Parse) with the lowest row that is not a number.
pub(crate) fn longest_of(texts: &[&str], base: u32) -> Result<usize> {
    let stop = Stop::current();
    let failed = AtomicUsize::new(usize::MAX);
    let longest = |(row, text): (usize, &&str)| {
        let checked = stop.during(|| check_digits(row, text, base));
        if checked.is_err() {
            failed.fetch_min(row, Ordering::Relaxed);
        }
        significant(text, base).len()
    };
    let rows = texts.par_iter().enumerate().with_min_len(GRAIN);
    let longest = on_pool(|| rows.map(longest).max());
    match failed.into_inner() {
        usize::MAX => Ok(longest.unwrap_or(0)),
        row => stop.during(|| check_digits(row, texts[row], base)).map(|()| 0),
    }
}

/// Returns the digits of a number of base 16 or 10 without its prefix.
fn digits_of(text: &str, base: u32) -> &str {
    match base {
        16 => text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text),
        _ => text,
    }
}

/// Returns the digits of a number without prefix and leading zeros.
pub(crate) fn significant(text: &str, base: u32) -> &[u8] {
    let digits = digits_of(text, base).as_bytes();
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    &digits[zeros..]
}

/// Checks that a text is a number.
fn check_digits(row: usize, text: &str, base: u32) -> Result<()> {
    let digits = digits_of(text, base);
    let is_number = match base {
        10 => is_decimal(digits.as_bytes()),
        _ => is_hex(digits.as_bytes()),
    };
    if is_number && !digits.is_empty() {
        return Ok(());
    }
    let is_other = |byte: u8| !char::from(byte).is_digit(base);
    let column = digits.bytes().position(is_other).unwrap_or(0);
    Err(Error::Parse { row, column: text.len() - digits.len() + column, base })
}

/// Maps missing kernels to `None`, with a line in the log: the host needs none.
fn without_missing<V>(result: Result<V>) -> Result<Option<V>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error @ (Error::KernelMissing { .. } | Error::WidthMissing { .. })) => {
            tracing::warn!(%error, "the host alone converts decimal text");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns ranges of rows whose batches of this width are converted at a time.
fn portions(rows: usize, bits: usize) -> impl Iterator<Item = Range<usize>> {
    let step = (MAX_AT_A_TIME / bits).max(1);
    (0..rows).step_by(step).map(move |start| start..rows.min(start + step))
}

/// Splits the rows on the device; calls `take` for chunks of the digits of their parts.
fn split(
    batch: &DynBatch,
    shape: Shape,
    parts: &Parts,
    take: &mut dyn FnMut(&Chunk<'_>) -> Result<()>,
) -> Result<()> {
    let mut above = shape;
    let mut divisors = Vec::new();
    for level in &parts.levels {
        divisors.push(DynDivisor::splat(batch.device(), above, &level.power)?);
        above = level.shape;
    }
    let columns = parts.ranges.len();
    for rows in portions(batch.len(), shape.bits) {
        let (start, len) = (rows.start, rows.len());
        let mut numbers = in_shape(batch.slice(rows)?, shape)?;
        let mut tails = Vec::new();
        if parts.tail > 0 {
            // A power of ten that fits in a digit.
            (numbers, tails) = numbers.div_rem_digit(10u64.pow(parts.tail as u32))?;
        }
        for (level, divisor) in parts.levels.iter().zip(&divisors) {
            let (high, low) = numbers.div_rem_by(divisor)?;
            let [high, low] = [high, low].map(|part| part.view().truncated(level.shape));
            numbers = DynBatch::concat(&[&high?, &low?])?;
        }
        // The parts of a row side by side.
        let digits = Digits::of(&transposed(numbers, columns, len)?, parts.longest())?;
        let writer = PartWriter { parts, place: digits.place(), tails: &tails, start };
        let row_bytes = columns * digits.place();
        digits.read(columns, |first, bytes| {
            let first = start + first;
            take(&Chunk { first, bytes, row_bytes, most: parts.len(), writer: &writer })
        })?;
    }
    Ok(())
}

/// Transposes a matrix of `rows` rows and `columns` columns, whose columns follow each other.
fn transposed(matrix: DynBatch, columns: usize, rows: usize) -> Result<DynBatch> {
    if columns == 1 || rows == 1 {
        return Ok(matrix);
    }
    let index = move |row| (0..columns).map(move |column| (column * rows + row) as u64);
    matrix.view().produce(|out| matrix.view().move_rows((0..rows).flat_map(index).map(Ok), out))
}

/// Writes rows from the digits of their parts.
struct PartWriter<'a> {
    parts: &'a Parts,
    /// Bytes of the place of a part.
    place: usize,
    /// Digits that were split off first, from row `start` on.
    tails: &'a [u64],
    start: usize,
}

impl RowWriter for PartWriter<'_> {
    fn digits(&self, bytes: &[u8]) -> usize {
        let first = &bytes[..self.place][self.place - self.parts.ranges[0].len()..];
        let zeros = first.iter().take_while(|&&digit| digit == b'0').count();
        (self.parts.len() - zeros).max(1)
    }

    fn write(&self, row: usize, bytes: &[u8], place: &mut [u8]) -> Result<()> {
        // Leading zeros of the first part have no place.
        let missing = self.parts.len() - place.len();
        let (numbers, tail) = place.split_at_mut(self.parts.digits - missing);
        for (digits, range) in bytes.chunks_exact(self.place).zip(&self.parts.ranges) {
            let place = &mut numbers[range.start.saturating_sub(missing)..range.end - missing];
            place.copy_from_slice(&digits[self.place - place.len()..]);
        }
        if self.parts.tail > 0 {
            write_digits(self.tails[row - self.start], tail);
        }
        Ok(())
    }
}

fn join(device: &Device, shape: Shape, texts: &[&str], longest: usize) -> Result<Option<DynBatch>> {
    let bits = bits_of_digits(longest);
    let is_whole = bits > shape.bits || Digits::are_offered(shape);
    let whole = if is_whole { shape } else { shape_of(bits, shape) };
    let parts = Parts::new(longest, whole);
    let last = parts.last_shape(whole);
    if !Digits::are_offered(last) {
        return Ok(None);
    }
    let mut batches = Vec::new();
    for rows in portions(texts.len(), whole.bits) {
        let texts = &texts[rows];
        let Some(numbers) = read_parts(device, last, texts, &parts)? else { return Ok(None) };
        let Some(numbers) = joined(numbers, texts, whole, &parts)? else { return Ok(None) };
        batches.push(in_shape(numbers, shape)?);
    }
    DynBatch::concat(&batches.iter().collect::<Vec<_>>()).map(Some)
}

/// Reads the last level of the parts of numbers, in order of the parts; `None` if one does not fit.
fn read_parts(
    device: &Device,
    shape: Shape,
    texts: &[&str],
    parts: &Parts,
) -> Result<Option<DynBatch>> {
    let columns = parts.ranges.len();
    // The parts of a text one after the other.
    let write = |first: usize, bytes: &mut [u8], place: usize| {
        write_rows(bytes, place, |index, out| {
            let (text, column) = ((first + index) / columns, (first + index) % columns);
            let range = parts.ranges[column].clone();
            let digits = part(significant(texts[text], 10), range, parts.len());
            let (zeros, out) = out.split_at_mut(place - digits.len());
            zeros.fill(b'0');
            out.copy_from_slice(digits);
        });
        Ok(())
    };
    let digits = Digits::write(device, columns * texts.len(), parts.longest(), write)?;
    let numbers = digits.to_rows(shape)?;
    numbers.map(|numbers| transposed(numbers, texts.len(), columns)).transpose()
}

/// Reads the last digits of numbers, which were split off first.
fn read_tails(device: &Device, shape: Shape, texts: &[&str], parts: &Parts) -> Result<DynBatch> {
    DynBatch::from_parts(device, shape, texts.len(), |first, bytes| {
        write_rows(bytes, shape.bytes(), |row, out| {
            let digits = significant(texts[first + row], 10);
            read_short(part(digits, parts.digits..parts.len(), parts.len()), out);
        });
        Ok(())
    })
}

/// Returns the digits of a range of a number that is written with `len` digits.
fn part(text: &[u8], range: Range<usize>, len: usize) -> &[u8] {
    let zeros = len - text.len();
    &text[range.start.saturating_sub(zeros)..range.end.saturating_sub(zeros)]
}

/// Joins parts to numbers; `None` if a number does not fit in the shape.
fn joined(
    numbers: DynBatch,
    texts: &[&str],
    whole: Shape,
    parts: &Parts,
) -> Result<Option<DynBatch>> {
    let mut numbers = numbers;
    for (index, level) in parts.levels.iter().enumerate().rev() {
        let above = index.checked_sub(1).map_or(whole, |above| parts.levels[above].shape);
        let half = numbers.len() / 2;
        let (high, low) = (numbers.slice(0..half)?, numbers.slice(half..2 * half)?);
        let powers = copies(&high, &level.power)?;
        let low = low.resized(above)?;
        numbers = product(&high, &powers, above)?.wrapping_add(&low)?;
    }
    if parts.tail == 0 {
        return Ok(Some(numbers));
    }
    let narrow = shape_of(u64::BITS as usize, whole);
    let tails = read_tails(numbers.device(), narrow, texts, parts)?.resized(whole)?;
    let powers = copies(&numbers, &power_of_ten(parts.tail))?;
    let (low, high) = numbers.mul_lo_hi(&powers)?;
    let (sum, carry) = low.overflowing_add(&tails)?;
    let fits = high.is_zero_mask()?.count()? == high.len() && !carry.any()?;
    Ok(fits.then_some(sum))
}

/// Returns a batch like `rows` with one value in all rows.
fn copies(rows: &DynBatch, value: &BigUint) -> Result<DynBatch> {
    rows.view().copies_of(&rows.view().row_of(value)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::narrowest;

    #[test]
    fn parts_of_wide_rows_fit_in_half_the_width() {
        for log in 13..=20 {
            let shape = narrowest(1 << log).unwrap();
            let parts = Parts::new(digits_of_bits(shape.bits), shape);
            let fits =
                parts.levels.iter().zip(1..).take_while(|(level, _)| level.shape.bits >= 4096);
            for (level, depth) in fits {
                assert_eq!(level.shape.bits, shape.bits >> depth, "{shape}");
            }
            assert!(parts.last_shape(shape).bits <= 1024, "{shape}");
        }
    }

    #[test]
    fn powers_of_parts_are_powers_of_ten() {
        for digits in [0, 160, 161, 1000, 1001, 19_729] {
            let mut longest = digits;
            for (low, power) in powers_of_parts(digits) {
                assert_eq!((low, power), (longest.div_ceil(2), power_of_ten(low)), "{digits}");
                longest = low;
            }
            assert!(longest <= PART_DIGITS);
        }
    }

    #[test]
    fn digits_of_parts_follow_each_other() {
        let shape = narrowest(1 << 16).unwrap();
        for digits in [19, 20, 180, 999, 1000, 1001, 19_729] {
            let parts = Parts::new(digits, shape);
            let mut ranges = parts.ranges.clone();
            ranges.sort_by_key(|range| range.start);
            let end = ranges.iter().fold(0, |end, range| {
                assert_eq!(range.start, end);
                range.end
            });
            assert_eq!((end, end + parts.tail), (parts.digits, digits));
            assert_eq!(parts.ranges.len(), 1 << parts.levels.len());
        }
    }

    #[test]
    fn splits_and_joins_give_the_texts_of_the_host() {
        let device = Device::cpu();
        for shape in [256, 1024, 1536, 32768].map(|bits| narrowest(bits).unwrap()) {
            let largest = (BigUint::from(1u32) << shape.bits) - 1u32;
            let values = [largest.clone(), largest / 3u32, 0u32.into(), power_of_ten(50)];
            let values: Vec<_> = values.iter().cycle().take(33).cloned().collect();
            let batch = DynBatch::from_biguints(&device, shape, &values).unwrap();
            let expected: Vec<_> = values.iter().map(ToString::to_string).collect();
            let parts = Parts::new(digits_of_bits(shape.bits), shape);
            let (mut texts, mut reused) = (Vec::new(), Texts::new());
            let mut take = |chunk: &Chunk<'_>| {
                reused.set_places(33, chunk.most)?;
                chunk.write(&mut reused)?;
                chunk.append(&mut texts)
            };
            split(&batch, shape, &parts, &mut take).unwrap();
            assert_eq!(texts, expected);
            assert!(reused.iter().eq(&expected));
            assert_eq!(to_decimal(&batch).unwrap(), texts);
            let digits: Vec<&str> = texts.iter().map(String::as_str).collect();
            for again in [
                join(&device, shape, &digits, digits[0].len()).unwrap().unwrap(),
                from_decimal(&device, shape, &digits).unwrap(),
            ] {
                assert!(again.is_equal(&batch).unwrap());
            }
        }
    }

    #[test]
    fn digits_of_a_digit_are_those_of_the_largest_power_of_ten() {
        let kinds = [DigitKind::U16, DigitKind::U32, DigitKind::U64];
        assert_eq!(kinds.map(digits_of_kind), [4, 9, 19]);
    }
}
