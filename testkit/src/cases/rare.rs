//! Tags of cases: the rare paths of the kernels (`kernels/simt/rare.h`) that they take.

/// Cases of a kernel that take rare paths.
#[derive(Debug)]
pub struct Rare {
    /// Name of the kernel.
    pub kernel: &'static str,
    /// Rows of all variants.
    pub rows: usize,
    /// True if one block has all rows: there are enough for it to have lanes divide the short ones.
    pub in_one_block: bool,
    /// The paths, and how often the cases take them at least.
    pub paths: &'static [Path],
}

/// A rare path and a number of times.
type Path = (&'static str, u64);

const fn cases(kernel: &'static str, rows: usize, paths: &'static [Path]) -> Rare {
    Rare { kernel, rows, in_one_block: false, paths }
}

const fn in_one_block(kernel: &'static str, rows: usize, paths: &'static [Path]) -> Rare {
    Rare { in_one_block: true, ..cases(kernel, rows, paths) }
}

const BY_LANES: &[Path] = &[
    ("LaneFullLimb", 100),
    ("LaneQuotientCarry", 100),
    ("LaneLastSubtraction", 100),
    ("LaneCarry", 100),
    ("IncrementBeyondLimb", 100),
];
const BY_A_GROUP: &[Path] = &[
    ("CarryIntoRound", 40),
    ("CarryThroughWarp", 10),
    ("BorrowBeyondTile", 10),
    ("SeedOfOnes", 10),
    ("SeedDigitOfOnes", 100),
    ("SeedSecondAddBack", 1),
    ("NoResidual", 10),
    ("LastSubtraction", 100),
    ("IncrementBeyondLimb", 100),
    ("WholeQuotientCarry", 10),
];
const BY_TRANSFORMS: &[Path] = &[
    ("FftSeedAddBack", 100),
    ("FftSeedBorrow", 1),
    ("FftCarryRuns", 100),
    ("FftCompared", 10),
    ("FftNoQuotient", 1),
    ("FftFinalSubtraction", 10),
];
const SHORT_DIVISORS: &[Path] = &[("ShortByLanes", 1), ("LaneLastSubtraction", 10)];
const BY_CLASS: &[Path] =
    &[("ShortByLanes", 1), ("LaneLastSubtraction", 10), ("FusedClassApart", 5)];

/// The tagged cases: some for each path.
pub const RARE: &[Rare] = &[
    cases("gpuint_add_b8192_q1_u16", 500, &[("CarryThroughWarp", 300)]),
    cases("gpuint_sub_b8192_q1_u16", 500, &[("CarryThroughWarp", 300)]),
    cases(
        "gpuint_mul_wide_ntt_b131072",
        100,
        &[("TransformCarry", 1000), ("CarryThroughWarp", 10)],
    ),
    cases("gpuint_mul_wide_tensor_b4096", 1000, &[("TileCarries", 500)]),
    cases("gpuint_mul_wide_tensor_b16384", 100, &[("TileCarries", 50)]),
    cases("gpuint_div_rem_blocked_classical_b1024", 10_000, BY_LANES),
    cases("gpuint_div_rem_blocked_classical_b8192", 2000, BY_LANES),
    cases("gpuint_div_rem_blocked_classical_b32768", 1000, BY_LANES),
    cases(
        "gpuint_div_rem_blocked_classical_b65536",
        600,
        &[("QuotientCarry", 10), ("BorrowBeyondTile", 10), ("LastSubtraction", 100)],
    ),
    cases("gpuint_div_rem_blocked_fft_b32768", 2000, BY_TRANSFORMS),
    cases("gpuint_div_rem_blocked_fused_b32768", 300, &[("FusedQuotientInDoubt", 10)]),
    cases("gpuint_div_rem_shifted_inverse_classical_b1024_q4_u16", 10_000, BY_A_GROUP),
    cases("gpuint_div_rem_shifted_inverse_classical_b8192_q4_u16", 2000, BY_A_GROUP),
    in_one_block("gpuint_div_rem_blocked_fused_b32768", 600, BY_CLASS),
    in_one_block("gpuint_div_rem_blocked_fft_b32768", 600, SHORT_DIVISORS),
    in_one_block("gpuint_div_rem_blocked_tensor_b65536", 600, SHORT_DIVISORS),
    in_one_block("gpuint_div_rem_by_tensor_b32768", 600, &[("ShortByLanes", 1)]),
    in_one_block("gpuint_div_rem_by_tensor_b65536", 200, &[("ShortByLanes", 1)]),
    cases("gpuint_add_mod_b1024", 2000, &[("OperandBeyondModulus", 500)]),
    cases(
        "gpuint_mul_mod_classical_b4096",
        1000,
        &[("ResidueBeyondWords", 1), ("QuotientCarry", 10), ("LastSubtraction", 10)],
    ),
    cases(
        "gpuint_mul_mod_tensor_b16384",
        100,
        &[("FusedCarries", 10), ("FusedLongOperands", 2), ("FusedQuotientInDoubt", 10)],
    ),
    cases("gpuint_mul_mod_tensor_b32768", 150, &[("FusedQuotientInDoubt", 10)]),
    cases("gpuint_square_mod_fft_b32768", 150, &[("FftLongFactors", 10)]),
    cases("gpuint_pow_mod_fft_b32768", 20, &[("FftLongResidue", 1), ("FftLastSubtraction", 2)]),
    cases("gpuint_fold_b1024", 100, &[("FoldIsNegative", 4)]),
    cases("gpuint_gcd_b256", 1000, &[("WrongComparison", 10)]),
    cases("gpuint_gcd_b2048", 500, &[("EuclidSubtraction", 1000)]),
    cases("gpuint_half_gcd_b1024", 500, &[("HalfGcdSubtraction", 100)]),
    cases("gpuint_gcd_windowed_b8192", 100, &[("WindowSubtraction", 100), ("WindowDifference", 5)]),
    cases("gpuint_inverse_mod_windowed_b8192", 100, &[("WindowSubtraction", 100)]),
    cases(
        "gpuint_isqrt_b4096",
        1000,
        &[("RootQuotientCarry", 20), ("RootLaneCarry", 10), ("RootLastSubtraction", 50)],
    ),
    cases("gpuint_root_correct_b4096", 50, &[("RootFullQuotient", 1)]),
    cases("gpuint_check_equation_b1024", 1400, &[("SecondPrime", 50)]),
    cases("gpuint_add_long_b4194304", 3, &[("LongCarryThroughWarp", 1), ("LongCarryLooksBack", 1)]),
];
