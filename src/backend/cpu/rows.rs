//! Rows of a call, as limbs in place, and their distribution over threads.

use std::mem;
use std::slice::{self, ChunksExactMut};

use gpuint_catalogue::Operand;

use super::prepared;
use crate::backend::host::{self, zeroed_vec};
use crate::backend::{Buffer, Call, Operands, Params, SKIPPED_ROW};
use crate::error::{Error, Result};
use crate::interrupt::{self, Stop};

/// Bytes of a limb.
const LIMB_BYTES: usize = size_of::<u64>();

/// Result of a row besides its outputs.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Its bit of the mask.
    pub(super) flag: bool,
    /// Counts for the status.
    pub(super) failed: bool,
}

impl From<bool> for Outcome {
    fn from(flag: bool) -> Self {
        Self { flag, failed: false }
    }
}

/// Operands of a row.
#[derive(Debug)]
pub(super) struct Row<'a> {
    /// Inputs, with zeros above the width where that is not a whole number of limbs.
    pub(super) ins: [&'a [u64]; 3],
    /// Outputs; only the bits of the width are kept.
    pub(super) outs: [&'a mut [u64]; 2],
    /// The bytes of all rows of the inputs.
    pub(super) all: [&'a [u8]; 3],
    /// Index of the row.
    pub(super) index: usize,
}

/// Consecutive rows of a call. A leaf of the distribution is computed by one thread.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    pub(super) bits: usize,
    pub(super) params: Params,
    /// A product and its flags are added to the outputs and flags of the pairs before.
    pub(super) is_added: bool,
    first: usize,
    count: usize,
    ins: [Input<'a>; 3],
    outs: [Output<'a>; 2],
    /// A byte a row, or none where the call has no mask.
    flags: &'a mut [u8],
}

/// An input; without bytes where it is unused.
#[derive(Debug, Clone, Copy, Default)]
struct Input<'a> {
    bytes: &'a [u8],
    row_bytes: usize,
    share: Share,
}

/// The bytes of an input that a row reads.
#[derive(Debug, Clone, Copy, Default)]
enum Share {
    /// Operands of the same row.
    #[default]
    Own,
    /// Operands of the first row: the operand is broadcast.
    First,
    /// All of them.
    All,
}

impl<'a> Input<'a> {
    fn row(self, row: usize) -> &'a [u8] {
        let row = match self.share {
            Share::Own => row,
            Share::First => 0,
            Share::All => return &[],
        };
        self.bytes.get(row * self.row_bytes..(row + 1) * self.row_bytes).unwrap_or_default()
    }

    /// Checks the lengths of the prepared divisors of `count` rows: other operations index by them.
    fn check_records(self, count: usize, bits: usize) -> Result<()> {
        let records = match self.share {
            Share::Own => count,
            Share::First | Share::All => 1,
        };
        let is_damaged =
            |&row: &usize| !prepared::is_record(bytemuck::cast_slice(self.row(row)), bits);
        match (0..records).find(is_damaged) {
            Some(row) => {
                Err(Error::Driver(format!("the prepared divisor of row {row} is damaged")))
            }
            None => Ok(()),
        }
    }
}

/// An output; without bytes where the call leaves it out.
#[derive(Debug)]
struct Output<'a> {
    bytes: &'a mut [u8],
    row_bytes: usize,
}

impl<'a> Output<'a> {
    fn new(buffer: Option<&'a mut Buffer>, row_bytes: usize, rows: usize) -> Result<Self> {
        let bytes = buffer.map_or(Ok(&mut [][..]), host::bytes_mut)?;
        let len = bytes.len().min(rows * row_bytes);
        Ok(Self { bytes: &mut bytes[..len], row_bytes })
    }

    /// Halves the rows.
    fn split(self, half: usize) -> (Self, Self) {
        let Self { bytes, row_bytes } = self;
        let (low, high) = bytes.split_at_mut((half * row_bytes).min(bytes.len()));
        (Self { bytes: low, row_bytes }, Self { bytes: high, row_bytes })
    }
}

/// Lowest row that failed, if any.
pub(super) type Failed = Option<usize>;

/// The rows of a call as the function of a row sees them, and the flags of their mask.
pub(super) fn run(
    call: Call<'_>,
    function: fn(Rows<'_>) -> Result<Failed>,
    leaf: usize,
) -> Result<()> {
    let mut ins = [Input::default(); 3];
    for (index, input) in ins.iter_mut().enumerate() {
        let bytes = call.operands.ins[index].map_or(Ok(&[][..]), host::bytes)?;
        let share = match call.kernel.op().signature().inputs[index] {
            Some(Operand::Indexed | Operand::Bits) => Share::All,
            _ if call.is_broadcast(index) => Share::First,
            _ => Share::Own,
        };
        *input = Input { bytes, row_bytes: call.in_row_bytes(index), share };
        if matches!(call.kernel.op().signature().inputs[index], Some(Operand::Prepared)) {
            input.check_records(call.operands.rows, call.kernel.shape().bits)?;
        }
    }
    let row_bytes = [call.out_row_bytes(0), call.out_row_bytes(1)];
    let shape = call.kernel.shape();
    let Operands { pairs, outs: [mut c, mut d], rows: count, mask, status, params, .. } =
        call.operands;
    let mask = mask.map(host::bytes_mut).transpose()?;
    let mut flags: Vec<u8> = zeroed_vec(if mask.is_some() { count } else { 0 })?;
    let stop = Stop::current();
    let mut compute = |ins, is_added| {
        let outs = [
            Output::new(c.as_deref_mut(), row_bytes[0], count)?,
            Output::new(d.as_deref_mut(), row_bytes[1], count)?,
        ];
        let flags = &mut flags;
        let rows = Rows { bits: shape.bits, params, is_added, first: 0, count, ins, outs, flags };
        let leaf = leaf.max(1);
        if count <= leaf {
            return rows.distribute(function, leaf, &stop);
        }
        interrupt::on_pool(|| rows.distribute(function, leaf, &stop))
    };
    let failed = if pairs.is_empty() {
        compute(ins, false)?
    } else {
        for (index, pair) in pairs.iter().enumerate() {
            for (input, factor) in ins.iter_mut().zip(pair) {
                let bytes = host::bytes(factor)?;
                *input = Input { bytes, row_bytes: shape.bytes(), share: Share::Own };
            }
            compute(ins, index > 0)?;
        }
        None
    };
    // Rows that ended early are wrong.
    interrupt::check()?;
    if let Some(mask) = mask {
        let words: &mut [u32] = bytemuck::cast_slice_mut(mask);
        for (word, flags) in words.iter_mut().zip(flags.chunks(32)) {
            for (bit, &flag) in flags.iter().enumerate() {
                *word |= u32::from(flag) << bit;
            }
        }
    }
    if let (Some(status), Some(row)) = (status, failed) {
        let status: &mut [u64] = bytemuck::cast_slice_mut(host::bytes_mut(status)?);
        status[0] = status[0].min(row as u64);
    }
    Ok(())
}

impl<'a> Rows<'a> {
    /// Halves the rows until there are no more than `leaf`, on the threads of a pool.
    fn distribute(
        self,
        function: fn(Rows<'_>) -> Result<Failed>,
        leaf: usize,
        stop: &Stop,
    ) -> Result<Failed> {
        if self.count <= leaf {
            return stop.during(|| function(self));
        }
        let (low, high) = self.split();
        let low = || low.distribute(function, leaf, stop);
        let high = || high.distribute(function, leaf, stop);
        let (low, high) = rayon::join(low, high);
        let (low, high) = (low?, high?);
        Ok(low.or(high))
    }

    fn split(self) -> (Self, Self) {
        let Self { bits, params, is_added, first, count, ins, outs, flags } = self;
        let half = count / 2;
        let [(c0, c1), (d0, d1)] = outs.map(|output| output.split(half));
        let (flags0, flags1) = flags.split_at_mut(half.min(flags.len()));
        let low =
            Self { bits, params, is_added, first, count: half, ins, outs: [c0, d0], flags: flags0 };
        let high = Self {
            bits,
            params,
            is_added,
            first: first + half,
            count: count - half,
            ins,
            outs: [c1, d1],
            flags: flags1,
        };
        (low, high)
    }

    /// Limbs of a row.
    pub(super) fn limbs(&self) -> usize {
        self.bits.div_ceil(u64::BITS as usize)
    }

    /// Copies rows of the first input, by the row numbers of the second. The loop is shorter than
    /// that of [`each`](Self::each), so that loads of more rows overlap.
    pub(super) fn gather(self) {
        let Self { first, count, ins: [source, numbers, _], outs: [out, _], .. } = self;
        let numbers: &[u64] = &bytemuck::cast_slice(numbers.bytes)[first..first + count];
        let row_bytes = out.row_bytes;
        for (&number, out) in numbers.iter().zip(out.bytes.chunks_exact_mut(row_bytes)) {
            if number != SKIPPED_ROW {
                out.copy_from_slice(&source.bytes[number as usize * row_bytes..][..row_bytes]);
            }
        }
    }

    /// Computes row by row. `work` gets the operands and `scratch` limbs, in which the row before
    /// may have left anything.
    pub(super) fn each(
        self,
        scratch: usize,
        mut work: impl FnMut(Row<'_>, &mut [u64]) -> Outcome,
    ) -> Result<Failed> {
        let mut scratch = zeroed_vec::<u64>(scratch)?;
        let mut cursor = Cursor::new(self)?;
        while let Some(row) = cursor.next() {
            let outcome = work(row, &mut scratch);
            cursor.finish(&outcome);
        }
        Ok(cursor.failed)
    }
}

/// The row that is computed. Its functions are inlined: comparisons of four limbs are twice as slow
/// with calls.
struct Cursor<'a> {
    ins: [Integers<'a>; 3],
    outs: [Results<'a>; 2],
    all: [&'a [u8]; 3],
    flags: slice::IterMut<'a, u8>,
    /// Index of the row, and of the first row after the last.
    index: usize,
    end: usize,
    failed: Failed,
}

impl<'a> Cursor<'a> {
    /// Before the first row.
    fn new(rows: Rows<'a>) -> Result<Self> {
        let Rows { first, count, ins, outs: [c, d], flags, .. } = rows;
        let [in0, in1, in2] = ins.map(Integers::new);
        Ok(Self {
            ins: [in0?, in1?, in2?],
            outs: [Results::new(c)?, Results::new(d)?],
            all: ins.map(|input| input.bytes),
            flags: flags.iter_mut(),
            index: first,
            end: first + count,
            failed: None,
        })
    }

    /// Returns the operands of the next row.
    #[inline(always)]
    fn next(&mut self) -> Option<Row<'_>> {
        if self.index == self.end {
            return None;
        }
        let index = self.index;
        let [in0, in1, in2] = &mut self.ins;
        let [c, d] = &mut self.outs;
        Some(Row {
            ins: [in0.row(index), in1.row(index), in2.row(index)],
            outs: [c.next(), d.next()],
            all: self.all,
            index,
        })
    }

    /// Stores the results of the row.
    #[inline(always)]
    fn finish(&mut self, outcome: &Outcome) {
        let [c, d] = &mut self.outs;
        c.finish();
        d.finish();
        if let Some(flag) = self.flags.next() {
            *flag |= u8::from(outcome.flag);
        }
        if outcome.failed && self.failed.is_none() {
            self.failed = Some(self.index);
        }
        self.index += 1;
    }
}

/// The limbs of an input: in place, or copied row by row where rows are no whole limbs.
struct Integers<'a> {
    input: Input<'a>,
    limbs: &'a [u64],
    /// Limbs from a row to the next; 0 where one serves all.
    stride: usize,
    row_limbs: usize,
    copy: Vec<u64>,
}

impl<'a> Integers<'a> {
    fn new(input: Input<'a>) -> Result<Self> {
        let is_integer = !matches!(input.share, Share::All);
        let row_limbs = if is_integer { input.row_bytes.div_ceil(LIMB_BYTES) } else { 0 };
        let is_copied = is_integer && !input.row_bytes.is_multiple_of(LIMB_BYTES);
        let whole = input.bytes.len() / LIMB_BYTES * LIMB_BYTES;
        Ok(Self {
            input,
            // An empty slice need not be aligned.
            limbs: if whole == 0 { &[] } else { bytemuck::cast_slice(&input.bytes[..whole]) },
            stride: if matches!(input.share, Share::Own) { row_limbs } else { 0 },
            row_limbs: if input.bytes.is_empty() { 0 } else { row_limbs },
            copy: zeroed_vec(if is_copied { row_limbs } else { 0 })?,
        })
    }

    #[inline(always)]
    fn row(&mut self, index: usize) -> &[u64] {
        if self.copy.is_empty() {
            return &self.limbs[index * self.stride..][..self.row_limbs];
        }
        let row = self.input.row(index);
        bytemuck::cast_slice_mut(&mut self.copy)[..row.len()].copy_from_slice(row);
        &self.copy
    }
}

/// The rows of an output: in place, or copied where they are no whole limbs or left out.
struct Results<'a> {
    direct: ChunksExactMut<'a, u64>,
    copied: ChunksExactMut<'a, u8>,
    copy: Vec<u64>,
    /// The current row, where the limbs are a copy.
    bytes: &'a mut [u8],
}

impl<'a> Results<'a> {
    fn new(output: Output<'a>) -> Result<Self> {
        let Output { bytes, row_bytes } = output;
        let row_limbs = row_bytes.div_ceil(LIMB_BYTES);
        let is_direct = !bytes.is_empty() && row_bytes.is_multiple_of(LIMB_BYTES);
        let (direct, copied): (&mut [u64], &mut [u8]) = match is_direct {
            true => (bytemuck::cast_slice_mut(bytes), &mut []),
            false => (&mut [], bytes),
        };
        Ok(Self {
            direct: direct.chunks_exact_mut(row_limbs.max(1)),
            copied: copied.chunks_exact_mut(row_bytes.max(1)),
            copy: zeroed_vec(if is_direct { 0 } else { row_limbs })?,
            bytes: &mut [],
        })
    }

    /// Returns the limbs of the next row.
    #[inline(always)]
    fn next(&mut self) -> &mut [u64] {
        if let Some(limbs) = self.direct.next() {
            return limbs;
        }
        if let Some(bytes) = self.copied.next() {
            // The operation may leave the row unwritten.
            bytemuck::cast_slice_mut(&mut self.copy)[..bytes.len()].copy_from_slice(bytes);
            self.bytes = bytes;
        }
        &mut self.copy
    }

    /// Writes a copy back, without the bytes that do not fit.
    #[inline(always)]
    fn finish(&mut self) {
        let bytes = mem::take(&mut self.bytes);
        if !bytes.is_empty() {
            bytes.copy_from_slice(&bytemuck::cast_slice(&self.copy)[..bytes.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use gpuint_catalogue::{DigitKind, Shape};
    use num_bigint::BigUint;
    use num_traits::One;

    use super::*;
    use crate::backend::cpu::{arithmetic, linear, prepared};

    /// Widths that are no whole number of limbs.
    const WIDTHS: [usize; 5] = [16, 48, 80, 96, 208];

    /// Rows of one width as bytes.
    fn rows(values: &[BigUint], row_bytes: usize) -> Vec<u8> {
        let rows = values.iter().flat_map(|value| {
            let bytes = value.to_bytes_le();
            bytes.into_iter().chain(std::iter::repeat(0)).take(row_bytes).collect::<Vec<_>>()
        });
        rows.collect()
    }

    /// Runs an operation of two inputs in rows of `bits` and, as the third, of `other_bytes`.
    fn compute(
        function: fn(Rows<'_>) -> Result<Failed>,
        params: Params,
        bits: usize,
        ins: [(&[BigUint], usize); 3],
        out_bytes: [usize; 2],
    ) -> ([Vec<BigUint>; 2], Vec<u8>) {
        let count = ins[0].0.len();
        // Records of divisors are whole limbs, and aligned.
        let ins = ins.map(|(values, row_bytes)| (rows(values, row_bytes), row_bytes));
        let aligned = ins.each_ref().map(|(bytes, _)| {
            let mut limbs = vec![0u64; bytes.len().div_ceil(LIMB_BYTES)];
            bytemuck::cast_slice_mut(&mut limbs)[..bytes.len()].copy_from_slice(bytes);
            limbs
        });
        let mut index = 0;
        let inputs = ins.each_ref().map(|(bytes, row_bytes)| {
            index += 1;
            let bytes = &bytemuck::cast_slice(&aligned[index - 1])[..bytes.len()];
            Input { bytes, row_bytes: *row_bytes, share: Share::Own }
        });
        let mut outs = out_bytes.map(|bytes| vec![0u64; (count * bytes).div_ceil(LIMB_BYTES)]);
        let mut flags = vec![0; count];
        let [c, d] = &mut outs;
        let output = |limbs, row_bytes| Output {
            bytes: &mut bytemuck::cast_slice_mut::<u64, u8>(limbs)[..count * row_bytes],
            row_bytes,
        };
        let rows = Rows {
            bits,
            params,
            is_added: false,
            first: 0,
            count,
            ins: inputs,
            outs: [output(c, out_bytes[0]), output(d, out_bytes[1])],
            flags: &mut flags,
        };
        rows.distribute(function, 2, &Stop::current()).unwrap();
        let mut sizes = out_bytes.into_iter();
        let results = outs.map(|limbs| {
            let row_bytes = sizes.next().unwrap();
            let bytes: &[u8] = bytemuck::cast_slice(&limbs);
            let rows = bytes[..count * row_bytes].chunks_exact(row_bytes.max(1));
            rows.map(BigUint::from_bytes_le).collect()
        });
        (results, flags)
    }

    #[test]
    fn records_of_divisors_fit_at_every_shape() {
        let fits = |bits: usize, bytes: usize| {
            prepared::record_limbs(bits.div_ceil(u64::BITS as usize)) * LIMB_BYTES <= bytes
        };
        assert!(crate::shapes().iter().all(|shape| fits(shape.bits, shape.prepared_bytes())));
        assert!(WIDTHS.into_iter().all(|bits| {
            fits(bits, Shape { bits, q: 1, digit: DigitKind::U16 }.prepared_bytes())
        }));
    }

    #[test]
    fn widths_of_no_whole_limbs_wrap_at_their_own_bits() {
        for bits in WIDTHS {
            let bytes = bits / 8;
            let modulus = BigUint::one() << bits;
            let ones = &modulus - 1u32;
            let third = &ones / 3u32;
            let a = [ones.clone(), third.clone(), BigUint::one(), ones.clone(), BigUint::ZERO];
            let b = [BigUint::one(), &third * 2u32, third.clone(), ones.clone(), ones.clone()];
            let pairs = || a.iter().zip(&b);
            let two = [(&a[..], bytes), (&b[..], bytes), (&[][..], 0)];
            let none = Params::default();

            let ([sums, _], carries) = compute(linear::add, none, bits, two, [bytes, 0]);
            let ([differences, _], borrows) = compute(linear::sub, none, bits, two, [bytes, 0]);
            let ([low, high], _) = compute(arithmetic::mul_wide, none, bits, two, [bytes, bytes]);
            let joined = Params { joined: true, ..none };
            let ([wide, _], _) = compute(arithmetic::mul_wide, joined, bits, two, [2 * bytes, 0]);
            let ([product, _], _) = compute(arithmetic::mul_lo, none, bits, two, [bytes, 0]);
            let ([q, r], zero) = compute(arithmetic::div_rem, none, bits, two, [bytes, bytes]);
            let nor = Params { table: 1, ..none };
            let ([nor, _], _) = compute(linear::bitwise, nor, bits, two, [bytes, 0]);
            let shift = Params { distance: 5, ..none };
            let ([left, _], _) = compute(linear::shl, shift, bits, two, [bytes, 0]);
            let ([right, _], _) = compute(linear::shr, shift, bits, two, [bytes, 0]);
            for (i, (a, b)) in pairs().enumerate() {
                assert_eq!(sums[i], (a + b) % &modulus, "{bits}");
                assert_eq!(carries[i] == 1, a + b >= modulus, "{bits}");
                assert_eq!(differences[i], (&modulus + a - b) % &modulus, "{bits}");
                assert_eq!(borrows[i] == 1, a < b, "{bits}");
                assert_eq!(wide[i], a * b, "{bits}");
                assert_eq!(&low[i] + (&high[i] << bits), a * b, "{bits}");
                assert_eq!(product[i], low[i], "{bits}");
                assert_eq!(&q[i] * b + &r[i], *a, "{bits}");
                assert!(r[i] < *b && zero[i] == 0, "{bits}");
                assert_eq!(nor[i], &ones ^ (a | b), "{bits}");
                assert_eq!(left[i], (a << 5) % &modulus, "{bits}");
                assert_eq!(right[i], a >> 5, "{bits}");
            }

            let by_zero = [(&b[..], bytes), (&a[..], bytes), (&[][..], 0)];
            let ([q, r], zero) = compute(arithmetic::div_rem, none, bits, by_zero, [bytes, bytes]);
            assert_eq!((&q[4], &r[4], zero), (&ones, &b[4], vec![0, 0, 0, 0, 1]), "{bits}");

            let record_bytes = (2 * bytes.div_ceil(8) + 4) * 8;
            let ([records, _], _) = compute(
                arithmetic::prepare,
                none,
                bits,
                [two[1], two[2], two[2]],
                [record_bytes, 0],
            );
            let prepared = [two[0], two[0], (&records[..], record_bytes)];
            let ([powers, _], _) = compute(arithmetic::pow_mod, none, bits, prepared, [bytes, 0]);
            let ([squares, _], _) = compute(arithmetic::mul_mod, none, bits, prepared, [bytes, 0]);
            for (i, (a, b)) in pairs().enumerate() {
                assert_eq!(powers[i], a.modpow(a, b), "{bits}");
                assert_eq!(squares[i], a * a % b, "{bits}");
            }
        }
    }
}
