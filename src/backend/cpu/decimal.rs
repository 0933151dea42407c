//! Decimal numbers of the host, one at a time.
//!
//! A number below `10^d` is `high 10^e + low` with `e = d / 2` rounded up, and so are its parts,
//! down to short ones. All numbers of a call have the same `e`, so that powers of ten and their
//! reciprocals are computed once, and a division is two products (`prepared`). With products of `n`
//! limbs in time `M(n)`, writing takes `2 M(n/2) + 4 M(n/4) + ..` and reading half of it
//! (R. Brent and P. Zimmermann, "Modern Computer Arithmetic", algorithms 1.25 and 1.26).
//!
//! Short numbers are written and read by products with `10^19`, the largest power of ten in a limb:
//! in time quadratic in their length.

use num_bigint::BigUint;
use once_cell::race::OnceBox;

use super::limbs::{
    LIMB_BITS, add_assign, add_limb, add_product, bit_length, shift_left, shift_right, trimmed,
};
use super::prepared::{self, Prepared};
use super::product;
use crate::backend::host::{collected, zeroed_vec};
use crate::error::{Error, Result};

const LIMB_BYTES: usize = size_of::<u64>();
/// Number of digits of the largest power of ten in a limb.
const LIMB_DIGITS: usize = 19;
const POWER: u64 = 10u64.pow(LIMB_DIGITS as u32);
/// Maximum number of limbs of 19 digits of numbers that are written as fractions.
const MAX_LIMBS: usize = 64;
/// Maximum number of digits of a number that is written in quadratic time (measured on Intel
/// Sapphire Rapids).
const MAX_WRITTEN: usize = MAX_LIMBS * LIMB_DIGITS;
/// The same for a number that is read, without a division.
const MAX_READ: usize = 100 * LIMB_DIGITS;

/// Returns an upper bound of the number of decimal digits of numbers of `bits` bits, by `log10(2)`
/// rounded up.
pub(crate) fn digits_of_bits(bits: usize) -> usize {
    (bits as u64 * 30_103 / 100_000 + 1) as usize
}

/// Returns an upper bound of the bit length of numbers of `digits` decimal digits, by `log2(10)`
/// rounded up.
#[must_use]
pub fn bits_of_digits(digits: usize) -> usize {
    (digits as u64).saturating_mul(3_321_929) as usize / 1_000_000 + 1
}

/// Returns the number of limbs that hold any number of `digits` digits.
fn limbs_of_digits(digits: usize) -> usize {
    bits_of_digits(digits).div_ceil(LIMB_BITS)
}

/// A split of numbers into parts, by `10^e = 5^e 2^e`: products and divisions are by `5^e`, which
/// has seven tenths of the limbs, and shifts do the rest.
#[derive(Debug)]
struct Level {
    /// Number of digits of the low part, `e`.
    digits: usize,
    /// `5^e`; for a writer its record (`prepared`).
    power: Vec<u64>,
}

/// Returns the levels of numbers of `digits` digits, the widest first; parts of at most `most`
/// digits are not split.
fn levels(digits: usize, most: usize) -> Result<Vec<Level>> {
    let mut levels = Vec::new();
    let mut longest = digits;
    while longest > most {
        let digits = longest.div_ceil(2);
        // Texts have less than 2^32 digits.
        let power = BigUint::from(5u32).pow(digits as u32);
        levels.push(Level { digits, power: collected(power.iter_u64_digits())? });
        longest = digits;
    }
    Ok(levels)
}

/// Writes numbers in decimal; the default one writes those of at most 2500 bits.
#[derive(Debug, Default)]
pub struct Writer {
    levels: Vec<Level>,
}

impl Writer {
    /// Prepares the powers of ten for numbers of at most `bits` bits.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new(bits: usize) -> Result<Self> {
        let mut levels = levels(digits_of_bits(bits), MAX_WRITTEN)?;
        for level in &mut levels {
            let n = level.power.len();
            let mut record = zeroed_vec(prepared::record_limbs(n))?;
            let mut scratch = zeroed_vec(prepared::prepare_scratch_limbs(n))?;
            prepared::prepare(&mut record, &level.power, &mut scratch);
            level.power = record;
        }
        Ok(Self { levels })
    }

    /// Appends the number of a row, least significant byte first, without leading zeros.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory).
    pub fn push(&self, row: &[u8], text: &mut Vec<u8>) -> Result<()> {
        let start = text.len();
        grow(text, digits_of_bits(bit_length_of_row(row)))?;
        self.write(row, &mut text[start..])?;
        let digits = text.len() - start;
        let zeros = text[start..].iter().take_while(|&&digit| digit == b'0').count();
        text.drain(start..start + zeros.min(digits - 1));
        Ok(())
    }

    /// Writes all digits of the number of a row, which is below the power of ten of the length of
    /// its place.
    pub(crate) fn write(&self, row: &[u8], place: &mut [u8]) -> Result<()> {
        let (words, rest) = row.as_chunks();
        let mut top = [0; LIMB_BYTES];
        top[..rest.len()].copy_from_slice(rest);
        let limbs = words.iter().chain([&top]).map(|word| u64::from_le_bytes(*word));
        if place.len() <= MAX_WRITTEN {
            write_short(limbs, place);
            return Ok(());
        }
        let (len, levels) = (words.len() + 1, self.levels.len());
        // The parts of a level sum to the number, with three limbs more. A division of all of it
        // comes on top, with the dividend and the remainder.
        let scratch = 4 * (len + 2 * levels) + prepared::scratch_limbs(len + 1);
        let mut memory = zeroed_vec(len + scratch)?;
        let (number, scratch) = memory.split_at_mut(len);
        number.iter_mut().zip(limbs).for_each(|(place, limb)| *place = limb);
        write_part(&self.levels, number, place, scratch);
        Ok(())
    }
}

/// Returns the bit length of the number of a row, least significant byte first.
pub(crate) fn bit_length_of_row(row: &[u8]) -> usize {
    let top = row.iter().rposition(|&byte| byte != 0);
    top.map_or(0, |top| 8 * (top + 1) - row[top].leading_zeros() as usize)
}

/// Appends `more` zeros.
fn grow<D: Copy + Default>(values: &mut Vec<D>, more: usize) -> Result<()> {
    let bytes = (more as u64).saturating_mul(size_of::<D>() as u64);
    values.try_reserve(more).map_err(|_| Error::OutOfMemory { bytes })?;
    values.resize(values.len() + more, D::default());
    Ok(())
}

/// Writes all digits of a number, which is below the power of ten of the length of its place.
fn write_part(levels: &[Level], number: &mut [u64], place: &mut [u8], scratch: &mut [u64]) {
    let len = trimmed(number).len();
    let number = &mut number[..len];
    let Some((level, below)) = levels.split_first() else {
        return write_short(number.iter().copied(), place);
    };
    let Some(high_digits) = place.len().checked_sub(level.digits) else {
        return write_part(below, number, place, scratch);
    };
    let (high_place, low_place) = place.split_at_mut(high_digits);
    let (power, shift) = (Prepared::new(&level.power), level.digits);
    let (low, scratch) = scratch.split_at_mut(limbs_of_digits(level.digits));
    let shifted_limbs = len.saturating_sub(shift / LIMB_BITS);
    let (high, scratch) = scratch.split_at_mut((shifted_limbs + 1).saturating_sub(power.limbs()));
    // The number is (high 5^e + remainder) 2^e, plus its low e bits.
    let (shifted, unused) = scratch.split_at_mut(shifted_limbs);
    let (remainder, unused) = unused.split_at_mut(power.limbs());
    shift_right(shifted, number, shift);
    power.divide(high, remainder, shifted, unused);
    shift_left(low, remainder, shift);
    for (low, limb) in low.iter_mut().zip(low_bits(number, shift)) {
        *low |= limb;
    }
    write_part(below, high, high_place, scratch);
    write_part(below, low, low_place, scratch);
}

/// Returns the limbs of the low `bits` bits of a number.
fn low_bits(number: &[u64], bits: usize) -> impl Iterator<Item = u64> {
    let (limbs, bits) = (bits / LIMB_BITS, bits % LIMB_BITS);
    let partial = number.get(limbs).map(|limb| limb & ((1 << bits) - 1));
    number.iter().take(limbs).copied().chain(partial)
}

/// Writes all digits of a number of `n` limbs, which is below the power of ten of the length of its
/// place, at most [`MAX_WRITTEN`] digits: as a fraction, from the first digits to the last.
///
/// The place has `k` limbs of 19 digits. Let `D = 10^19k`, `m = k + 1` and `R` the
/// [`reciprocal_of_power`]: `D R = B^(2m-1) + e`, `0 <= e < D < B^(m-1)`. The number `x < D` is
/// about `D f / B^m` with
///
/// ```text
/// f = floor(x R / B^(m-1)) + G,   G = 2^62
/// ```
///
/// Products of `f` by `10^19` move 19 digits at a time above the point. They are those of `x` if
/// `D f / B^m` stays in `[x, x + 1)`. It is at most `x + x e / B^(2m-1) + G D / B^m`, which is less
/// than `x + 1/B + 1/4`, and products only lose. Count the losses in units of the last limb of `f`:
///
/// - Products of limbs in the columns below `m - 2` of `x R` are left out: less than `n + 1` units,
///   by `n` products below `B^2` a column; the rounding is another.
/// - A product by `10^19` has 64 bits more above the point, and as many fewer below it count: a
///   limb is dropped after each. After `j` products a dropped limb counts less than
///   `(B / 10^19)^j < 1.845^j` units, and all sum to less than `1.845^k / 0.845 < 2^57` for
///   `k <= 64`.
///
/// Both together are below `G`. A division by `10^19` a limb would wait for the limb above it;
/// these products do not.
fn write_short(number: impl Iterator<Item = u64>, place: &mut [u8]) {
    if place.is_empty() {
        return;
    }
    let k = place.len().div_ceil(LIMB_DIGITS);
    let reciprocal = reciprocal_of_power(k);
    // Limbs of the number above `10^19k` are zero.
    let mut product = [0; 2 * MAX_LIMBS + 2];
    for (i, limb) in number.take(k).enumerate() {
        let skipped = k.saturating_sub(1 + i);
        let columns = i + skipped..i + reciprocal.len();
        product[i + reciprocal.len()] =
            add_product(&mut product[columns], &reciprocal[skipped..], limb);
    }
    let mut fraction = &mut product[k..2 * k + 1];
    add_limb(fraction, 1 << 62);
    let (first, rest) = place.split_at_mut(place.len() - (k - 1) * LIMB_DIGITS);
    for place in std::iter::once(first).chain(rest.chunks_exact_mut(LIMB_DIGITS)) {
        write_digits(multiply_by_limb(fraction, POWER), place);
        fraction = &mut fraction[1..];
    }
}

/// Returns `B^(2k+1) / 10^19k`, rounded up: `k + 2` limbs, since `B^(k-1) < 10^19k <= B^k` for
/// `k <= 72`.
fn reciprocal_of_power(k: usize) -> &'static [u64] {
    static RECIPROCALS: [OnceBox<Vec<u64>>; MAX_LIMBS + 1] =
        [const { OnceBox::new() }; MAX_LIMBS + 1];
    // Threads that meet here compute it twice, and wait for nobody.
    RECIPROCALS[k].get_or_init(|| {
        let power = BigUint::from(POWER).pow(k as u32);
        let one = BigUint::from(1u32) << ((2 * k + 1) * LIMB_BITS);
        Box::new(((one + &power - 1u32) / power).to_u64_digits())
    })
}

/// Multiplies a number by a limb; returns the limb above it.
fn multiply_by_limb(number: &mut [u64], limb: u64) -> u64 {
    number.iter_mut().fold(0, |carry, place| {
        let product = u128::from(*place) * u128::from(limb) + u128::from(carry);
        *place = product as u64;
        (product >> u64::BITS) as u64
    })
}

/// Writes as many digits as the place has, at most [`LIMB_DIGITS`], from the last to the first.
pub(crate) fn write_digits(mut value: u64, place: &mut [u8]) {
    const EIGHT: u64 = 100_000_000;
    let (first, eights) = place.as_rchunks_mut();
    for place in eights.iter_mut().rev() {
        *place = eight_digits(value % EIGHT);
        value /= EIGHT;
    }
    for digit in first.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

/// Returns the eight digits of a value: it is split into two numbers of four digits, those into
/// numbers of two and of one, all at once. The quotients are by reciprocals rounded up, exact below
/// `10^4` and `10^2`: `10486 / 2^20 - 1/100 < 10^-4 / 100` and `103 / 2^10 - 1/10 < 10^-2 / 10`.
fn eight_digits(value: u64) -> [u8; 8] {
    let fours = (value / 10_000) | ((value % 10_000) << 32);
    let high = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = high | (fours - 100 * high) << 16;
    let high = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    let ones = high | (twos - 10 * high) << 8;
    (ones | 0x3030_3030_3030_3030).to_le_bytes()
}

/// Reads decimal numbers.
#[derive(Debug)]
pub struct Reader {
    levels: Vec<Level>,
}

impl Reader {
    /// Prepares the powers of ten for texts of at most `longest` digits.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory).
    pub fn new(longest: usize) -> Result<Self> {
        Ok(Self { levels: levels(longest, MAX_READ)? })
    }

    /// Writes the number of these digits, of at most `longest`, to a row, least significant byte
    /// first. Returns the bit length of the number if the row is shorter.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::Error::OutOfMemory).
    pub fn read(&self, digits: &[u8], row: &mut [u8]) -> Result<Option<u64>> {
        if digits.len() <= MAX_READ && bits_of_digits(digits.len()) <= 8 * row.len() {
            read_short(digits, row);
            return Ok(None);
        }
        let mut number: Vec<u64> = zeroed_vec(limbs_of_digits(digits.len()))?;
        // Two parts, a product and its shift a level, each with a limb more; a product comes on
        // top.
        let parts = 6 * number.len() + 12 * self.levels.len();
        let mut scratch = zeroed_vec(parts + product::scratch_limbs(number.len()))?;
        read_part(&self.levels, digits, &mut number, &mut scratch);
        let bits = bit_length(&number);
        if bits > 8 * row.len() {
            return Ok(Some(bits as u64));
        }
        let bytes: &[u8] = bytemuck::cast_slice(&number);
        let len = bytes.len().min(row.len());
        row[..len].copy_from_slice(&bytes[..len]);
        row[len..].fill(0);
        Ok(None)
    }
}

/// Sets `out`, long enough for any number of that length, to the number of the digits.
fn read_part(levels: &[Level], digits: &[u8], out: &mut [u64], scratch: &mut [u64]) {
    let Some((level, below)) = levels.split_first() else {
        return read_short(digits, bytemuck::cast_slice_mut(out));
    };
    let Some(high_digits) = digits.len().checked_sub(level.digits) else {
        return read_part(below, digits, out, scratch);
    };
    let (high_digits, low_digits) = digits.split_at(high_digits);
    let (high, scratch) = scratch.split_at_mut(limbs_of_digits(high_digits.len()));
    read_part(below, high_digits, high, scratch);
    let (product, scratch) = scratch.split_at_mut(high.len() + level.power.len());
    product::multiply(product, high, &level.power, scratch);
    let (low, scratch) = scratch.split_at_mut(limbs_of_digits(low_digits.len()));
    read_part(below, low_digits, low, scratch);
    shift_left(out, product, level.digits);
    // The sum has no more digits than the text.
    add_assign(out, trimmed(low));
}

/// Writes a number, given by its digits, to a row that holds it, least significant byte first: by
/// products with a power of ten and sums, from the first digits on.
pub(crate) fn read_short(digits: &[u8], row: &mut [u8]) {
    row.fill(0);
    let (limbs, rest) = row.as_chunks_mut::<LIMB_BYTES>();
    let (mut end, mut top) = (0, 0);
    let (first, others) = digits.split_at(digits.len() % LIMB_DIGITS);
    for digits in std::iter::once(first).chain(others.chunks(LIMB_DIGITS)) {
        let mut carry = u128::from(read_digits(digits));
        for limb in &mut limbs[..end] {
            // At most (2^64 - 1) (10^19 + 1), which is below 2^128.
            let value = u128::from(u64::from_le_bytes(*limb)) * u128::from(POWER) + carry;
            *limb = (value as u64).to_le_bytes();
            carry = value >> u64::BITS;
        }
        if let Some(limb) = limbs.get_mut(end) {
            *limb = (carry as u64).to_le_bytes();
            end += usize::from(carry != 0);
        } else {
            // Below a limb, since the row holds the number.
            top = top * u128::from(POWER) + carry;
        }
    }
    rest.copy_from_slice(&(top as u64).to_le_bytes()[..rest.len()]);
}

/// Returns the value of at most [`LIMB_DIGITS`] digits, eight at a time.
pub(crate) fn read_digits(digits: &[u8]) -> u64 {
    let (eights, rest) = digits.as_chunks::<8>();
    let value = eights.iter().fold(0, |value, eight| 100_000_000 * value + value_of_eight(*eight));
    rest.iter().fold(value, |value, digit| 10 * value + u64::from(digit - b'0'))
}

/// Returns the value of eight digits: neighbours are joined to numbers of two, four and eight
/// digits, all at once. A number and its right neighbour, which is above it in the word, fit in the
/// bits of both.
fn value_of_eight(digits: [u8; 8]) -> u64 {
    let ones = u64::from_le_bytes(digits) & 0x0f0f_0f0f_0f0f_0f0f;
    let twos = (10 * ones + (ones >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (100 * twos + (twos >> 16)) & 0x0000_ffff_0000_ffff;
    (10_000 * fours + (fours >> 32)) & 0xffff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    fn power_of_ten(digits: usize) -> BigUint {
        BigUint::from(10u32).pow(digits as u32)
    }

    /// Numbers whose parts are zero, or the largest or the least of their length.
    fn numbers(digits: usize) -> impl Iterator<Item = BigUint> {
        let halves = [1, 2, 3].map(|k| power_of_ten(digits * k / 4));
        let third = (power_of_ten(digits) - 1u32) / 7u32;
        let ends = [BigUint::ZERO, power_of_ten(digits - 1), power_of_ten(digits) - 1u32, third];
        let near = halves.into_iter().flat_map(|half| [&half - 1u32, half]);
        ends.into_iter().chain(near)
    }

    #[test]
    fn numbers_of_several_levels_are_written_and_read() {
        for digits in [1, 19, 1216, 1217, 1521, 1900, 1901, 5000, 12_345, 40_000] {
            let longest = power_of_ten(digits) - 1u32;
            let writer = Writer::new(longest.bits() as usize).unwrap();
            let reader = Reader::new(digits).unwrap();
            for value in numbers(digits) {
                let text = value.to_string();
                let mut written = b"7".to_vec();
                for zeros in [0, 11] {
                    let mut row = value.to_bytes_le();
                    row.resize(row.len() + zeros, 0);
                    written.truncate(1);
                    writer.push(&row, &mut written).unwrap();
                    assert_eq!(&written[1..], text.as_bytes());
                }
                let text = text.trim_start_matches('0').as_bytes();
                for more in [0, 5] {
                    let mut row = vec![0xff; longest.to_bytes_le().len() + more];
                    assert_eq!(reader.read(text, &mut row).unwrap(), None);
                    assert_eq!(BigUint::from_bytes_le(&row), value, "{digits} digits");
                }
                let bytes = value.to_bytes_le().len();
                let too_wide = reader.read(text, &mut vec![0; bytes - 1]).unwrap();
                assert_eq!(too_wide, (value.bits() > 0).then_some(value.bits()));
            }
        }
    }

    #[test]
    fn eight_digits_are_those_of_the_value() {
        for value in (0..100_000_000).step_by(9973).chain([99_999_999]) {
            let text = eight_digits(value);
            assert_eq!(text, format!("{value:08}").as_bytes());
            assert_eq!(value_of_eight(text), value);
        }
    }

    #[test]
    fn fractions_have_the_digits_of_the_number() {
        let lengths = (1..MAX_WRITTEN).step_by(37).chain([18, 19, 20, 38, 57, MAX_WRITTEN]);
        for digits in lengths {
            // The largest number is closest to the next one, in which every digit would differ.
            for value in numbers(digits).chain([power_of_ten(digits) - 2u32, 1u32.into()]) {
                let mut limbs = value.to_u64_digits();
                limbs.push(0);
                let mut text = vec![0; digits];
                write_short(limbs.into_iter(), &mut text);
                assert_eq!(text, format!("{value:0>digits$}").as_bytes());
            }
        }
    }

    #[test]
    fn numbers_are_those_of_their_digits() {
        for digits in [0, 1, 7, 8, 9, 18, 19, 20, 38, 57, 155, 160] {
            for value in [power_of_ten(digits) - 1u32, power_of_ten(digits) / 7u32, BigUint::ZERO] {
                let text = format!("{value:0>digits$}");
                // Rows of whole limbs and of other lengths.
                for bytes in [72, 68, 70] {
                    let mut row = vec![0xff; bytes];
                    read_short(&text.as_bytes()[text.len() - digits..], &mut row);
                    assert_eq!(BigUint::from_bytes_le(&row), value, "{digits} digits");
                }
            }
        }
        assert_eq!(read_digits(b"9876543210123456789"), 9_876_543_210_123_456_789);
    }

    #[test]
    fn bound_of_digits_is_that_of_the_largest_number() {
        for bits in [1, 3, 4, 16, 32, 64, 1000, 4096] {
            let largest = (BigUint::from(1u32) << bits) - 1u32;
            assert_eq!(digits_of_bits(bits), largest.to_string().len(), "{bits}");
        }
    }
}
