//! Decimal numbers by divide and conquer on the device.
//!
//! A number below `10^d` is `high 10^e + low` with `e = d / 2` rounded up: both parts are below
//! `10^e`, in about half the bits. One division by a prepared divisor splits all rows of a batch,
//! and the quotients and the remainders are the rows of the next batch, in the narrowest shape that
//! holds them. Parts of at most [`PART_DIGITS`] digits become text on the cores of the host.
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

use std::ops::Range;

use gpuint_catalogue::{DigitKind, Shape};
use num_bigint::BigUint;

use super::pairs::product;
use super::shape_of;
use crate::backend::BackendKind;
use crate::backend::cpu::decimal::{
    Reader, Writer, bits_of_digits, digits_of_bits, read_digits, read_short, write_digits,
};
use crate::backend::host::{collected, reserved_vec, write_rows, zeroed_vec};
use crate::device::Device;
use crate::divisor::DynDivisor;
use crate::dyn_batch::DynBatch;
use crate::error::{Error, Result};
use crate::interrupt::{Stop, on_all_cores};
use crate::rows::write_checked;

/// Maximum number of digits of a part: the host takes time quadratic in it, and the device less
/// for wider rows.
const PART_DIGITS: usize = 160;
/// Minimum width, in bits, of rows that are split on the device.
const MIN_SPLIT: usize = 4096;
/// Minimum width, in bits, of rows that are joined on the device: the host reads a digit in less
/// time than it writes one.
const MIN_JOINED: usize = 32768;
/// Minimum size, in bits, of a batch that is split on the device: below it, the launches of all
/// levels take longer than the host.
const MIN_BATCH: usize = 1 << 20;
/// Maximum size, in bits, of rows that are converted at a time. The device holds about six times as
/// much, and the host twice as much.
const MAX_AT_A_TIME: usize = 1 << 31;

/// Returns the number of decimal digits that a digit of the shape holds.
fn digits_of_kind(digit: DigitKind) -> usize {
    digits_of_bits(digit.bits()) - 1
}

fn power_of_ten(digits: usize) -> BigUint {
    // Rows have less than 2^32 bits.
    BigUint::from(10u32).pow(digits as u32)
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
    /// Splits numbers of `digits` digits in rows of a shape. Levels end where no built shape has at
    /// most three quarters of the width above.
    fn new(digits: usize, shape: Shape) -> Self {
        let tail = digits_of_kind(shape.digit);
        let digits = digits.saturating_sub(tail);
        let whole = 0..digits;
        let mut parts = Self { digits, tail, levels: Vec::new(), ranges: vec![whole] };
        let (mut longest, mut above) = (digits, shape);
        while longest > PART_DIGITS {
            let low = longest.div_ceil(2);
            let power = power_of_ten(low);
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
            (longest, above) = (low, shape);
        }
        parts
    }

    /// Length of the text of a number.
    fn len(&self) -> usize {
        self.digits + self.tail
    }

    /// Returns the shape of the parts of the last level.
    fn last_shape(&self, whole: Shape) -> Shape {
        self.levels.last().map_or(whole, |level| level.shape)
    }
}

/// Returns true if `rows` numbers of `bits` bits are converted by the device, which takes numbers
/// of at least `least` bits. The CPU converts numbers one at a time, in its caches.
fn is_for_device(device: &Device, rows: usize, bits: usize, least: usize) -> bool {
    device.backend() != BackendKind::Cpu && bits >= least && rows.saturating_mul(bits) >= MIN_BATCH
}

/// Returns the rows in decimal: by the device, or by the host where that takes less time, or the
/// device has no kernels.
pub(crate) fn to_decimal(batch: &DynBatch) -> Result<Vec<String>> {
    let bits = batch.shape().bits;
    if is_for_device(batch.device(), batch.len(), bits, MIN_SPLIT) {
        let longest = batch.bit_lengths()?.into_iter().max().unwrap_or(0) as usize;
        if is_for_device(batch.device(), batch.len(), longest, MIN_SPLIT)
            && let Some(texts) = without_missing(split(batch, longest))?
        {
            return Ok(texts);
        }
    }
    let bytes = batch.to_le_bytes()?;
    let row_bytes = batch.shape().bytes();
    let writer = Writer::new(bits)?;
    on_all_cores(batch.len(), 0, |row| {
        let mut text = Vec::new();
        writer.push(&bytes[row * row_bytes..][..row_bytes], &mut text)?;
        // Digits are ASCII.
        Ok(String::from_utf8(text).unwrap_or_default())
    })
}

/// Returns numbers, given by their digits without leading zeros: by the device, or by the host.
///
/// # Errors
/// [`TooWide`](Error::TooWide) with the lowest row that does not fit.
pub(crate) fn from_decimal(device: &Device, shape: Shape, texts: &[&[u8]]) -> Result<DynBatch> {
    device.check_shape(shape)?;
    let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0);
    if is_for_device(device, texts.len(), bits_of_digits(longest), MIN_JOINED)
        && longest <= digits_of_bits(shape.bits)
        && let Some(batch) = without_missing(join(device, shape, texts, longest))?.flatten()
    {
        return Ok(batch);
    }
    let reader = Reader::new(longest)?;
    let stop = Stop::current();
    DynBatch::from_parts(device, shape, texts.len(), |first, part| {
        write_checked(part, shape.bytes(), first, |row, bytes| {
            match stop.during(|| reader.read(texts[row], bytes))? {
                None => Ok(()),
                Some(bits) => Err(Error::TooWide { row, bits, width: shape.bits }),
            }
        })
    })
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

fn split(batch: &DynBatch, longest: usize) -> Result<Vec<String>> {
    let shape = shape_of(longest, batch.shape());
    let parts = Parts::new(digits_of_bits(longest), shape);
    let mut above = shape;
    let mut divisors = Vec::new();
    for level in &parts.levels {
        divisors.push(DynDivisor::splat(batch.device(), above, &level.power)?);
        above = level.shape;
    }
    // A power of ten that fits in a digit.
    let tail = 10u64.pow(parts.tail as u32);
    let mut texts = reserved_vec(batch.len())?;
    for rows in portions(batch.len(), shape.bits) {
        let portion = batch.slice(rows)?.resized(shape)?;
        let (mut numbers, tails) = portion.div_rem_digit(tail)?;
        drop(portion);
        for (level, divisor) in parts.levels.iter().zip(&divisors) {
            let (high, low) = numbers.div_rem_by(divisor)?;
            let [high, low] = [high, low].map(|part| part.view().truncated(level.shape));
            numbers = DynBatch::concat(&[&high?, &low?])?;
        }
        texts.extend(written(&numbers, &tails, &parts)?);
    }
    Ok(texts)
}

/// Writes numbers from the last level of their parts.
fn written(numbers: &DynBatch, tails: &[u64], parts: &Parts) -> Result<Vec<String>> {
    let bytes = numbers.to_le_bytes()?;
    let row_bytes = numbers.shape().bytes();
    let rows = tails.len();
    let writer = Writer::new(numbers.shape().bits)?;
    on_all_cores(rows, 0, |row| {
        let mut text: Vec<u8> = zeroed_vec(parts.len())?;
        for (index, range) in parts.ranges.iter().enumerate() {
            let number = &bytes[(index * rows + row) * row_bytes..][..row_bytes];
            writer.write(number, &mut text[range.clone()])?;
        }
        write_digits(tails[row], &mut text[parts.digits..]);
        let zeros = text.iter().take_while(|&&digit| digit == b'0').count();
        text.drain(..zeros.min(parts.len() - 1));
        // Digits are ASCII.
        Ok(String::from_utf8(text).unwrap_or_default())
    })
}

fn join(
    device: &Device,
    shape: Shape,
    texts: &[&[u8]],
    longest: usize,
) -> Result<Option<DynBatch>> {
    let bits = bits_of_digits(longest);
    let whole = if bits > shape.bits { shape } else { shape_of(bits, shape) };
    let parts = Parts::new(longest, whole);
    let mut batches = Vec::new();
    for rows in portions(texts.len(), whole.bits) {
        let texts = &texts[rows];
        let numbers = read_parts(device, parts.last_shape(whole), texts, &parts)?;
        let Some(numbers) = joined(numbers, texts, whole, &parts)? else { return Ok(None) };
        batches.push(numbers.resized(shape)?);
    }
    DynBatch::concat(&batches.iter().collect::<Vec<_>>()).map(Some)
}

/// Reads the last level of the parts of numbers.
fn read_parts(device: &Device, shape: Shape, texts: &[&[u8]], parts: &Parts) -> Result<DynBatch> {
    let rows = parts.ranges.len() * texts.len();
    DynBatch::from_parts(device, shape, rows, |first, bytes| {
        write_rows(bytes, shape.bytes(), |row, out| {
            let (index, row) = ((first + row) / texts.len(), (first + row) % texts.len());
            let digits = part(texts[row], parts.ranges[index].clone(), parts.len());
            read_short(digits, out);
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
    texts: &[&[u8]],
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
    let tail = |text: &&[u8]| read_digits(part(text, parts.digits..parts.len(), parts.len()));
    let tails: Vec<u64> = collected(texts.iter().map(tail))?;
    let tails = DynBatch::from_numbers(numbers.device(), whole, &tails)?;
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
        let (device, shape) = (Device::cpu(), narrowest(32768).unwrap());
        let value = (BigUint::from(1u32) << 32768) - 1u32;
        let batch = DynBatch::splat(&device, shape, &value, 33).unwrap();
        let texts = split(&batch, shape.bits).unwrap();
        assert_eq!(texts, vec![value.to_string(); 33]);
        assert_eq!(to_decimal(&batch).unwrap(), texts);
        let digits: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        for again in [
            join(&device, shape, &digits, digits[0].len()).unwrap().unwrap(),
            from_decimal(&device, shape, &digits).unwrap(),
        ] {
            assert!(again.is_equal(&batch).unwrap());
        }
    }

    #[test]
    fn digits_of_a_digit_are_those_of_the_largest_power_of_ten() {
        let kinds = [DigitKind::U16, DigitKind::U32, DigitKind::U64];
        assert_eq!(kinds.map(digits_of_kind), [4, 9, 19]);
    }
}
