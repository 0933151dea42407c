//! Operations that are compared: operands, and the calls of this library.

use gpuint::{DynBatch, DynDivisor, Mask, Result};

macro_rules! operations {
    ($($operation:ident = $name:literal, $operands:literal, $results:literal;)*) => {
        /// An operation that is compared, by its name in the library.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
        pub(crate) enum Operation {
            $(#[value(name = $name)] $operation),*
        }

        impl Operation {
            /// Name in the protocol of the drivers.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$operation => $name),* }
            }

            /// Number of integers that a row reads.
            pub(crate) fn operands(self) -> usize {
                match self { $(Self::$operation => $operands),* }
            }

            /// Number of integers that a row writes.
            pub(crate) fn results(self) -> usize {
                match self { $(Self::$operation => $results),* }
            }
        }
    };
}

operations! {
    Add = "add", 2, 1;
    Sub = "sub", 2, 1;
    And = "and", 2, 1;
    MulLo = "mul_lo", 2, 1;
    SquareLo = "square_lo", 1, 1;
    MulWide = "mul_wide", 2, 2;
    DivRem = "div_rem", 2, 2;
    IsqrtRem = "isqrt_rem", 1, 2;
    Gcd = "gcd", 2, 1;
    MulMod = "mul_mod", 3, 1;
    InverseMod = "inverse_mod", 2, 1;
    InverseModPow2 = "inverse_mod_pow2", 1, 1;
    PowMod = "pow_mod", 3, 1;
}

impl Operation {
    /// Logarithm of the bits of a full batch: on a GPU, or on the CPU.
    pub(crate) fn log_batch(self, gpu: bool) -> u32 {
        let slow = matches!(self, Self::Gcd | Self::InverseMod | Self::PowMod);
        match (gpu, slow) {
            (true, false) => 30,
            (true, true) => 28,
            (false, false) => 24,
            (false, true) => 18,
        }
    }

    /// Draws the operands, each of `rows` integers of `bits` bits, lowest byte first.
    ///
    /// Integers are uniform with these exceptions. Divisors have lengths drawn evenly from two
    /// 64-bit digits to half the width, as in the paper's tables. Moduli are odd
    /// with the highest bit, and values modulo them are below it: BN_mod_exp_mont and CGBN need
    /// reduced values, and Montgomery's form odd moduli. An inverse modulo 2^bits needs an odd
    /// value.
    pub(crate) fn draw(self, bits: usize, rows: usize) -> Vec<Vec<u8>> {
        let bytes = bits / 8;
        let mut random = SplitMix(bits as u64);
        let mut operands: Vec<Vec<u8>> =
            (0..self.operands()).map(|_| random.bytes(bytes * rows)).collect();
        let mut rows_of = |operand: usize, change: &dyn Fn(&mut [u8])| {
            operands[operand].chunks_exact_mut(bytes).for_each(change);
        };
        let reduced = |row: &mut [u8]| row[bytes - 1] &= 0x7f;
        let modulus = |row: &mut [u8]| {
            row[0] |= 1;
            row[bytes - 1] |= 0x80;
        };
        match self {
            Self::DivRem => rows_of(1, &|row| {
                // The lowest digit is as good as a draw of its own.
                let word = usize::from(u16::from_le_bytes([row[0], row[1]]));
                let length = 8 * (2 + word % (bytes / 16 - 1));
                row[length..].fill(0);
                row[length - 1] |= 0x80;
            }),
            Self::InverseModPow2 => rows_of(0, &|row| row[0] |= 1),
            Self::InverseMod => {
                rows_of(0, &reduced);
                rows_of(1, &modulus);
            }
            Self::MulMod => {
                rows_of(0, &reduced);
                rows_of(1, &reduced);
                rows_of(2, &modulus);
            }
            Self::PowMod => {
                rows_of(0, &reduced);
                rows_of(2, &modulus);
            }
            Self::Add
            | Self::Sub
            | Self::And
            | Self::MulLo
            | Self::SquareLo
            | Self::MulWide
            | Self::IsqrtRem
            | Self::Gcd => {}
        }
        operands
    }

    /// Computes the results of all rows. Rows without an inverse become zero.
    ///
    /// # Errors
    /// Those of the operation.
    pub(crate) fn compute(self, operands: &[DynBatch], results: &mut [DynBatch]) -> Result<()> {
        let a = &operands[0];
        let none = || Mask::none(a.device(), a.len());
        match (self, results) {
            (Self::Add, [sum]) => a.wrapping_add_into(&operands[1], sum),
            (Self::Sub, [difference]) => a.wrapping_sub_into(&operands[1], difference),
            (Self::And, [bits]) => a.and_into(&operands[1], bits),
            (Self::MulLo, [low]) => a.wrapping_mul_into(&operands[1], low),
            (Self::SquareLo, [low]) => a.wrapping_square_into(low),
            (Self::MulWide, [low, high]) => a.mul_lo_hi_into(&operands[1], low, high),
            (Self::DivRem, [quotient, remainder]) => {
                a.div_rem_into(&operands[1], quotient, remainder)
            }
            (Self::IsqrtRem, [root, remainder]) => {
                (*root, *remainder) = a.isqrt_rem()?;
                Ok(())
            }
            (Self::Gcd, [gcd]) => a.gcd_into(&operands[1], gcd),
            (Self::MulMod, [product]) => {
                a.mul_mod_into(&operands[1], &DynDivisor::of_rows(&operands[2])?, product)
            }
            (Self::InverseMod, [inverse]) => {
                a.inverse_mod_into(&operands[1], inverse, &mut none()?)
            }
            (Self::InverseModPow2, [inverse]) => a.inverse_mod_pow2_into(inverse, &mut none()?),
            (Self::PowMod, [power]) => {
                a.pow_mod_into(&operands[1], &DynDivisor::of_rows(&operands[2])?, power)
            }
            (_, results) => unreachable!("{} of {} results", self.name(), results.len()),
        }
    }
}

/// The generator SplitMix64 (Steele, Lea, Flood 2014): the same operands in every run.
#[derive(Debug)]
struct SplitMix(u64);

impl SplitMix {
    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(count.next_multiple_of(8));
        while bytes.len() < count {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = self.0;
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            bytes.extend((word ^ (word >> 31)).to_le_bytes());
        }
        bytes.truncate(count);
        bytes
    }
}
