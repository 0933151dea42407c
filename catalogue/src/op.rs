//! The table of operations: the operands of each, the bytes of their rows, the mask, the status
//! and the parameters.
//!
//! The name of an operation is the same in the catalogue, the tuning tables, the names of kernels,
//! the tests and the benches, and close to that of the method of a batch.

use std::fmt;

use crate::Shape;

/// Content of one row of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// An integer of the shape.
    Integer,
    /// An exponent: an integer of the shape for each row, or one for all rows.
    Exponent,
    /// A prepared divisor (`kernels/div/prepare.cuh`).
    Prepared,
    /// A prepared odd modulus (`kernels/modular/odd_modulus.cuh`).
    OddModulus,
    /// A secret odd modulus (`kernels/modular/tensor/regular.cuh`).
    SecretModulus,
    /// A secret factor modulo a secret odd modulus (`kernels/modular/tensor/regular.cuh`).
    SecretFactor,
    /// A modulus `k b^n + c` (`kernels/modular/special.cuh`): `k` and `n` as `u32`, `c` as `i32`,
    /// `b` as `u32`.
    SpecialModulus,
    /// An `i8`.
    Sign,
    /// A `u32`.
    Length,
    /// A `u64`.
    Word,
    /// A second operand: an integer of the shape for each row, or one for all rows.
    Rhs,
    /// Any number of integers of the shape; the caller checks the indices.
    Indexed,
    /// As many integers of the shape as [`Param::Bases`].
    Group,
    /// Two batches of integers of the shape for each of [`Param::Pairs`], by their addresses.
    Factors,
    /// An integer of twice the width.
    Double,
    /// A mask: one bit a row.
    Bits,
    /// An integer of another width, given by [`Param::TargetBits`].
    Resized,
    /// An integer of another width, given by [`Param::SourceBits`].
    Source,
}

impl Operand {
    /// Bytes of a row at a shape; of each integer of a group.
    #[must_use]
    pub const fn row_bytes(self, shape: Shape) -> usize {
        match self {
            Self::Integer
            | Self::Exponent
            | Self::Rhs
            | Self::Indexed
            | Self::Group
            | Self::Factors => shape.bytes(),
            Self::Double => 2 * shape.bytes(),
            Self::Prepared => shape.prepared_bytes(),
            Self::OddModulus | Self::SecretModulus => 2 * shape.bytes(),
            Self::SecretFactor => 3 * shape.bytes(),
            Self::SpecialModulus => 16,
            Self::Sign => size_of::<i8>(),
            Self::Length | Self::Bits => size_of::<u32>(),
            Self::Resized | Self::Source => 0,
            Self::Word => size_of::<u64>(),
        }
    }
}

/// Parameter of an operation, the same for all rows: a field of `Params` in `kernels/core/abi.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Param {
    /// Distance of a shift in bits, at most the width.
    Distance,
    /// Exponent of the power of two that is inverted, below twice the width.
    Exponent,
    /// One-digit divisor, not zero.
    Digit,
    /// Writes both halves of a wide product side by side in the first output.
    Joined,
    /// Uses one row of prepared divisors for all rows.
    BroadcastDivisor,
    /// Uses one row of exponents for all rows.
    BroadcastExponent,
    /// Uses one row of second operands for all rows.
    BroadcastRhs,
    /// Length of all exponents in bits, at least 1 and at most the width.
    ExponentBits,
    /// Truth table of a bitwise function: bit `2a + b` is its value at `a` and `b`.
    Table,
    /// Bits of a row of the result.
    TargetBits,
    /// Bases of a product of powers.
    Bases,
    /// Products of a sum.
    Pairs,
    /// Bits of a row of a [`Operand::Source`].
    SourceBits,
    /// Bits of a part of a number.
    PartBits,
    /// Equation that the rows of another operation satisfy.
    Equation,
}

/// Equation of the operands `a`, `b` and the results `c`, `d` of a row (`kernels/verify`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u32)]
pub enum Equation {
    /// `a + b = c + 2^BITS carry`, with the carries in a mask.
    #[default]
    Sum,
    /// `a + 2^BITS borrow = b + c`, with the borrows in a mask.
    Difference,
    /// `a b = c + 2^BITS d`, or with [`Param::Joined`] `a b = c` for `c` of twice the width.
    Product,
    /// `a = b c + d` and `d < b`; where `b = 0`, `c = 2^BITS - 1` and `d = a`. The digit is the
    /// lowest row where `b = 0`, or all ones.
    Quotient,
    /// As [`Quotient`](Self::Quotient), with a mask of the rows where `b = 0` instead of the digit.
    MaskedQuotient,
    /// `a = c^2 + d` and `d <= 2c`.
    Root,
    /// `a = digit c + d` and `d < digit`, with words `d` in the place of a mask.
    DigitQuotient,
}

/// A row of the table of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    /// The name.
    pub name: &'static str,
    /// Inputs, in the order of `Operands::in` in `kernels/core/abi.cuh`; `None` if the operation
    /// does not have the operand.
    pub inputs: [Option<Operand>; 3],
    /// Outputs, in the order of `Operands::out`; a call may omit any of them.
    pub outputs: [Option<Operand>; 2],
    /// True if a call can request one bit a row.
    pub mask: bool,
    /// True if rows can fail: a call can request the lowest failed row.
    pub status: bool,
    /// The parameters.
    pub params: &'static [Param],
}

/// Pads a list of operands with `None`.
const fn operands<const N: usize>(listed: &[Operand]) -> [Option<Operand>; N] {
    let mut all = [None; N];
    let mut index = 0;
    while index < listed.len() {
        all[index] = Some(listed[index]);
        index += 1;
    }
    all
}

macro_rules! operations {
    ($(
        $(#[$meta:meta])*
        $op:ident = $name:literal {
            inputs: [$($input:ident),*]$(, prepared: $prepared:ident)?,
            outputs: [$($output:ident),*],
            mask: $mask:literal, status: $status:literal, params: [$($param:ident),*]
        }
    )*) => {
        /// An operation on the rows of batches.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Op {
            $($(#[$meta])* $op,)*
        }

        impl Op {
            /// Every operation.
            pub const ALL: &'static [Self] = &[$(Self::$op),*];

            /// Row of the table for this operation.
            #[must_use]
            pub const fn signature(self) -> &'static Signature {
                match self {
                    $(Self::$op => const {
                        #[allow(unused_mut)]
                        let mut inputs = operands(&[$(Operand::$input),*]);
                        $(inputs[PREPARED] = Some(Operand::$prepared);)?
                        &Signature {
                            name: $name,
                            inputs,
                            outputs: operands(&[$(Operand::$output),*]),
                            mask: $mask,
                            status: $status,
                            params: &[$(Param::$param),*],
                        }
                    })*
                }
            }
        }
    };
}

/// Index of the input that holds prepared divisors.
pub const PREPARED: usize = 2;

operations! {
    /// `a + b mod 2^BITS`, and the carries.
    Add = "add" {
        inputs: [Integer, Rhs], outputs: [Integer],
        mask: true, status: false, params: [BroadcastRhs]
    }
    /// `a - b mod 2^BITS`, and the borrows.
    Sub = "sub" {
        inputs: [Integer, Rhs], outputs: [Integer],
        mask: true, status: false, params: [BroadcastRhs]
    }
    /// `a b mod 2^BITS`.
    MulLo = "mul_lo" {
        inputs: [Integer, Integer], outputs: [Integer], mask: false, status: false, params: []
    }
    /// `a b` in full: the low half and the high half.
    MulWide = "mul_wide" {
        inputs: [Integer, Integer], outputs: [Integer, Integer],
        mask: false, status: false, params: [Joined]
    }
    /// `a^2 mod 2^BITS`.
    SquareLo = "square_lo" {
        inputs: [Integer], outputs: [Integer], mask: false, status: false, params: []
    }
    /// `a b mod 2^BITS - 1`: 0 where a factor is 0, else 1 to `2^BITS - 1`. The catalogue has no
    /// kernel for it: shorter rows multiply and fold.
    MulCyclic = "mul_cyclic" {
        inputs: [Integer, Integer], outputs: [Integer], mask: false, status: false, params: []
    }
    /// The sum of the products of pairs mod `2^BITS`.
    SumOfProducts = "sum_of_products" {
        inputs: [Factors], outputs: [Integer], mask: false, status: false, params: [Pairs]
    }
    /// The sum of the products of pairs mod `2^(2 BITS)`, and a mask of the rows that overflowed.
    WideSumOfProducts = "wide_sum_of_products" {
        inputs: [Factors], outputs: [Double], mask: true, status: false, params: [Pairs]
    }
    /// `u / v` rounded down and `u mod v`. Rows with `v = 0` fail, and have the quotient
    /// `2^BITS - 1` and the remainder `u`.
    DivRem = "div_rem" {
        inputs: [Integer, Integer], outputs: [Integer, Integer],
        mask: true, status: true, params: []
    }
    /// `u / v` for `v` that divides `u`, and a mask of the rows with another `v`, whose result is
    /// zero. Without the mask their result is undefined. Rows with `v = 0` fail, and have the
    /// result 0.
    DivExact = "div_exact" {
        inputs: [Integer, Rhs], outputs: [Integer],
        mask: true, status: true, params: [BroadcastRhs]
    }
    /// The inverse of `v` modulo `2^BITS`, and a mask of the even rows, whose result is 0.
    InverseModPow2 = "inverse_mod_pow2" {
        inputs: [Integer], outputs: [Integer], mask: true, status: false, params: []
    }
    /// `2^exponent / v` rounded down. Rows fail where `v = 0` or the result is too wide.
    ShiftedInverse = "shifted_inverse" {
        inputs: [Integer], outputs: [Integer], mask: false, status: true, params: [Exponent]
    }
    /// The reciprocals of divisors, for the operations that take prepared divisors. Rows with
    /// `v = 0` fail.
    Prepare = "prepare" {
        inputs: [Integer], outputs: [Prepared], mask: false, status: true, params: []
    }
    /// `u / v` rounded down and `u mod v` by prepared divisors.
    DivRemBy = "div_rem_by" {
        inputs: [Integer], prepared: Prepared, outputs: [Integer, Integer],
        mask: false, status: false, params: [BroadcastDivisor]
    }
    /// `a b mod v` by prepared divisors.
    MulMod = "mul_mod" {
        inputs: [Integer, Integer], prepared: Prepared, outputs: [Integer],
        mask: false, status: false, params: [BroadcastDivisor]
    }
    /// `a^2 mod v` by prepared divisors.
    SquareMod = "square_mod" {
        inputs: [Integer], prepared: Prepared, outputs: [Integer],
        mask: false, status: false, params: [BroadcastDivisor]
    }
    /// `a^e mod v` by prepared divisors.
    PowMod = "pow_mod" {
        inputs: [Integer, Exponent], prepared: Prepared, outputs: [Integer],
        mask: false, status: false, params: [BroadcastDivisor, BroadcastExponent]
    }
    /// `a^e mod n` for secret exponents of a stated length, secret odd moduli and any `a`.
    PowSecret = "pow_secret" {
        inputs: [Integer, Exponent], prepared: SecretModulus, outputs: [Integer],
        mask: false, status: false, params: [BroadcastDivisor, BroadcastExponent, ExponentBits]
    }
    /// `a f + c mod n` for secret factors, secret odd moduli and any `a` and `c`.
    MulAddSecret = "mul_add_secret" {
        inputs: [Integer, Rhs], prepared: SecretFactor, outputs: [Integer],
        mask: false, status: false, params: [BroadcastDivisor, BroadcastRhs]
    }
    /// The product of the powers `a_i^(e_i) mod v` of the bases of a row, by prepared divisors.
    PowProductMod = "pow_product_mod" {
        inputs: [Group, Group], prepared: Prepared, outputs: [Integer],
        mask: false, status: false, params: [BroadcastDivisor, Bases]
    }
    /// `a + b mod v` by prepared divisors.
    AddMod = "add_mod" {
        inputs: [Integer, Rhs], prepared: Prepared, outputs: [Integer],
        mask: false, status: false, params: [BroadcastDivisor, BroadcastRhs]
    }
    /// `a - b mod v` by prepared divisors.
    SubMod = "sub_mod" {
        inputs: [Integer, Rhs], prepared: Prepared, outputs: [Integer],
        mask: false, status: false, params: [BroadcastDivisor, BroadcastRhs]
    }
    /// `-a mod v` by prepared divisors.
    NegMod = "neg_mod" {
        inputs: [Integer], prepared: Prepared, outputs: [Integer],
        mask: false, status: false, params: [BroadcastDivisor]
    }
    /// `a / 2 mod v` for `a < v` by prepared divisors that are odd.
    HalveMod = "halve_mod" {
        inputs: [Integer], prepared: Prepared, outputs: [Integer],
        mask: false, status: false, params: [BroadcastDivisor]
    }
    /// The inverses of odd moduli, for the operations on residues. Even rows fail.
    PrepareOdd = "prepare_odd" {
        inputs: [Integer], outputs: [OddModulus], mask: false, status: true, params: []
    }
    /// `a b / 2^BITS mod n` for prepared odd moduli, where `a < n` or `b < n`.
    MulResidues = "mul_residues" {
        inputs: [Integer, Rhs], prepared: OddModulus, outputs: [Integer],
        mask: false, status: false, params: [BroadcastDivisor, BroadcastRhs]
    }
    /// `a^2 / 2^BITS mod n` for prepared odd moduli and `a < n`.
    SquareResidues = "square_residues" {
        inputs: [Integer], prepared: OddModulus, outputs: [Integer],
        mask: false, status: false, params: [BroadcastDivisor]
    }
    /// `k a mod k 2^n + c` for `a` below the square of the special modulus; `k digit a` where bit
    /// `distance` of the exponent is set.
    Fold = "fold" {
        inputs: [Double, Integer], prepared: SpecialModulus, outputs: [Integer],
        mask: false, status: false, params: [BroadcastDivisor, Digit, Distance]
    }
    /// The fold of the square, `exponent_bits` times from `a` below the special modulus on. The
    /// squares are multiplied by `digit` where the bits of the exponent are set that begin at
    /// `distance`, from the highest one on.
    PowSpecial = "pow_special" {
        inputs: [Integer, Integer], prepared: SpecialModulus, outputs: [Integer],
        mask: false, status: false, params: [BroadcastDivisor, Digit, Distance, ExponentBits]
    }
    /// The square times `k` modulo `k t^q + c`, `exponent_bits` times from `a` on, with the factors
    /// of `pow_special`. Rows are signed digits to base `t` of 16 bits each, at most `t / 2 + 1`,
    /// of numbers from -0.6 to 0.6 times the modulus.
    PowSpecialBase = "pow_special_base" {
        inputs: [Integer, Integer], prepared: SpecialModulus, outputs: [Integer],
        mask: false, status: false, params: [BroadcastDivisor, Digit, Distance, ExponentBits]
    }
    /// The square modulo `b^q + 1`, `q = BITS / 16`, `exponent_bits` times from `a` on, with the
    /// factors of `pow_special`. Rows are `q` signed digits to base `b` of 16 bits each, at most
    /// `b / 2 + 1`.
    PowFermat = "pow_fermat" {
        inputs: [Integer, Integer], prepared: SpecialModulus, outputs: [Integer],
        mask: false, status: false, params: [BroadcastDivisor, Digit, Distance, ExponentBits]
    }
    /// A mask of the strong probable primes to base 2.
    StrongBase2 = "strong_base2" {
        inputs: [Integer], outputs: [], mask: true, status: false, params: []
    }
    /// The first terms of chains for strong Lucas tests: a fraction, with the numerator, an `i32`,
    /// above the denominator, a `u32`. The denominator 0 stands for a decided row, with the
    /// numerator 1 if it passes. Rows whose parameter is not among the first ones fail, and are in
    /// the mask.
    StrongTerms = "strong_terms" {
        inputs: [Integer], outputs: [Word], mask: true, status: true, params: []
    }
    /// The same for extra strong Lucas tests.
    ExtraStrongTerms = "extra_strong_terms" {
        inputs: [Integer], outputs: [Word], mask: true, status: true, params: []
    }
    /// A mask of the rows that pass a Lucas test by a chain with `Q = 1` and these first terms.
    StrongLucas = "strong_lucas" {
        inputs: [Integer, Word], outputs: [], mask: true, status: false, params: []
    }
    /// `u / d` rounded down and `u mod d` by one digit.
    DivRemDigit = "div_rem_digit" {
        inputs: [Integer], outputs: [Integer, Word], mask: false, status: false, params: [Digit]
    }
    /// `a 2^distance mod 2^BITS`.
    Shl = "shl" {
        inputs: [Integer], outputs: [Integer], mask: false, status: false, params: [Distance]
    }
    /// `a / 2^distance` rounded down.
    Shr = "shr" {
        inputs: [Integer], outputs: [Integer], mask: false, status: false, params: [Distance]
    }
    /// -1, 0 or 1 as `a` is less than, equal to or greater than `b`.
    Cmp = "cmp" {
        inputs: [Integer, Rhs], outputs: [Sign],
        mask: false, status: false, params: [BroadcastRhs]
    }
    /// A mask of the rows with `a = b`.
    EqMask = "eq_mask" {
        inputs: [Integer, Rhs], outputs: [], mask: true, status: false, params: [BroadcastRhs]
    }
    /// A mask of the rows with `a < b`.
    LtMask = "lt_mask" {
        inputs: [Integer, Rhs], outputs: [], mask: true, status: false, params: [BroadcastRhs]
    }
    /// A mask of the rows with `a = 0`.
    IsZeroMask = "is_zero_mask" {
        inputs: [Integer], outputs: [], mask: true, status: false, params: []
    }
    /// Bits without leading zeros.
    BitLengths = "bit_lengths" {
        inputs: [Integer], outputs: [Length], mask: false, status: false, params: []
    }
    /// Bits that are set.
    CountOnes = "count_ones" {
        inputs: [Integer], outputs: [Length], mask: false, status: false, params: []
    }
    /// Zeros below the lowest bit that is set; `BITS` for zero.
    TrailingZeros = "trailing_zeros" {
        inputs: [Integer], outputs: [Length], mask: false, status: false, params: []
    }
    /// A mask of the rows whose bit `distance` is set.
    BitMask = "bit_mask" {
        inputs: [Integer], outputs: [], mask: true, status: false, params: [Distance]
    }
    /// A function of the bits of `a` and `b`.
    Bitwise = "bitwise" {
        inputs: [Integer, Rhs], outputs: [Integer],
        mask: false, status: false, params: [BroadcastRhs, Table]
    }
    /// `a 2^d mod 2^BITS`, by a distance for each row.
    ShlRows = "shl_rows" {
        inputs: [Integer, Length], outputs: [Integer], mask: false, status: false, params: []
    }
    /// `a / 2^d` rounded down, by a distance for each row.
    ShrRows = "shr_rows" {
        inputs: [Integer, Length], outputs: [Integer], mask: false, status: false, params: []
    }
    /// Rows by index; an index of `u64::MAX` leaves a row of the result unchanged.
    Gather = "gather" {
        inputs: [Indexed, Word], outputs: [Integer], mask: false, status: false, params: []
    }
    /// Rows of a table that has 256 for each byte of a number, by the byte of `a` from bit
    /// `distance` on.
    Lookup = "lookup" {
        inputs: [Indexed, Integer], outputs: [Integer],
        mask: false, status: false, params: [Distance]
    }
    /// Rows of `a` where the bit of a mask is set, of `b` elsewhere.
    Select = "select" {
        inputs: [Integer, Integer, Bits], outputs: [Integer],
        mask: false, status: false, params: []
    }
    /// `a mod 2^target_bits` in rows of that width. Rows that are wider fail.
    Resize = "resize" {
        inputs: [Integer], outputs: [Resized], mask: false, status: true, params: [TargetBits]
    }
    /// The last decimal digits of `a`, as many ASCII digits as `target_bits` has bytes: a multiple
    /// of 8.
    ToDecimal = "to_decimal" {
        inputs: [Integer], outputs: [Resized], mask: false, status: false, params: [TargetBits]
    }
    /// The number of as many ASCII digits as `source_bits` has bytes, a multiple of 8, mod
    /// `2^BITS`. Rows whose number does not fit fail.
    FromDecimal = "from_decimal" {
        inputs: [Source], outputs: [Integer], mask: false, status: true, params: [SourceBits]
    }
    /// The greatest common divisor.
    Gcd = "gcd" {
        inputs: [Integer, Integer], outputs: [Integer], mask: false, status: false, params: []
    }
    /// The same, faster for many wide rows.
    GcdWindowed = "gcd_windowed" {
        inputs: [Integer, Integer], outputs: [Integer], mask: false, status: false, params: []
    }
    /// A matrix of determinant 1 that halves the length of `x` and `y`: the rows `u0`, `v0` and
    /// `u1`, `v1`, two entries in a row of the width, for `u0 x - v0 y` and `v1 y - u1 x`.
    HalfGcd = "half_gcd" {
        inputs: [Integer, Integer], outputs: [Integer, Integer], mask: false, status: false,
        params: []
    }
    /// The inverse of `v` modulo `n`, and a mask of the rows without one, whose result is 0.
    InverseMod = "inverse_mod" {
        inputs: [Integer, Integer], outputs: [Integer], mask: true, status: false, params: []
    }
    /// The same, faster for many wide rows.
    InverseModWindowed = "inverse_mod_windowed" {
        inputs: [Integer, Integer], outputs: [Integer], mask: true, status: false, params: []
    }
    /// The Jacobi symbol `(a | n)`, Kronecker's for even `n`.
    Jacobi = "jacobi" {
        inputs: [Integer, Integer], outputs: [Sign], mask: false, status: false, params: []
    }
    /// The first remainder of Euclid's algorithm on `m` and `u` that is at most `bound`, and the
    /// absolute value of its cofactor of `u`; a mask of the rows whose cofactor is negative.
    Rational = "rational" {
        inputs: [Integer, Integer, Integer], outputs: [Integer, Integer],
        mask: true, status: false, params: []
    }
    /// The square root, rounded down, and the remainder.
    Isqrt = "isqrt" {
        inputs: [Integer], outputs: [Integer, Integer], mask: false, status: false, params: []
    }
    /// Half the dividend of a level of a square root: a remainder and the next part of a number.
    RootDividend = "root_dividend" {
        inputs: [Integer, Source, Length], outputs: [Integer],
        mask: false, status: false, params: [SourceBits, PartBits, Distance]
    }
    /// Half the remainder of a level of a square root, as the upper part of the next dividend, from
    /// the remainder of the division and the square of the quotient. Sets bit 0 of the lengths,
    /// which it updates, in rows with a negative remainder.
    RootRemainder = "root_remainder" {
        inputs: [Integer, Integer, Source], outputs: [Resized, Length],
        mask: false, status: false, params: [SourceBits, PartBits, TargetBits]
    }
    /// The root of a level from the quotient, the root of the level before and the lengths of
    /// `root_remainder`; updates the next dividend. The last level has a distance: root and
    /// remainder are shifted by its difference to the length.
    RootCorrect = "root_correct" {
        inputs: [Integer, Integer, Length], outputs: [Resized, Resized],
        mask: false, status: false, params: [PartBits, TargetBits, Distance]
    }
    /// An equation between the operands and results of another operation, and its mask, modulo
    /// `2^61 - 1`. Rows that do not satisfy it fail. The results are read only.
    CheckEquation = "check_equation" {
        inputs: [Integer, Rhs, Bits], outputs: [Integer, Integer],
        mask: false, status: true, params: [BroadcastRhs, Joined, Digit, Equation]
    }
    /// `u = q v + r` modulo `2^61 - 1` and `r < v` by prepared divisors. Rows that do not satisfy
    /// it fail. `q` and `r` are read only.
    CheckDivRemBy = "check_div_rem_by" {
        inputs: [Integer], prepared: Prepared, outputs: [Integer, Integer],
        mask: false, status: true, params: [BroadcastDivisor]
    }
    /// Rows of `source_bits` bits of two results that differ fail.
    CheckEqual = "check_equal" {
        inputs: [Source, Source], outputs: [], mask: false, status: true, params: [SourceBits]
    }
}

impl Op {
    /// Number of operations.
    pub const COUNT: usize = Self::ALL.len();

    /// Returns the operation whose choices of a tuning table apply to this one: the one that
    /// consists of the same products.
    #[must_use]
    pub const fn tuned_as(self) -> Self {
        match self {
            Self::PowProductMod
            | Self::PowSecret
            | Self::PrepareOdd
            | Self::MulResidues
            | Self::SquareResidues
            | Self::StrongBase2
            | Self::StrongLucas => Self::PowMod,
            Self::SumOfProducts => Self::MulLo,
            Self::WideSumOfProducts => Self::MulWide,
            _ => self,
        }
    }

    /// The operation's part of a kernel name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.signature().name
    }

    /// Returns the operation with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|op| op.name() == name)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
