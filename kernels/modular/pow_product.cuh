// PowProductMod: the product of a_i^(e_i) mod v over the bases i of a row by prepared divisors, for
// every a_i, e_i < 2^BITS; results are in [0, v). 0^0 is 1, and everything mod 1 is 0.
//
// The powers are interleaved (E. G. Straus, "Addition chains of vectors", Amer. Math. Monthly 71,
// 1964, 806-808): each base has a table of its powers a_i^1 .. a_i^(2^k - 1), and the walk over the
// digits in base 2^k squares once for all bases, k times a digit, and multiplies by a power of each
// base whose digit is not zero. So m exponents of E bits take about
//     E + m ((1 - 2^-k) E / k + 2^k - 2)
// products, where m powers take m times what they take for one: at E = 1024, k = 5 about 1.23 E for
// each power, 0.72 E for each of two bases and 0.31 E for each of a dozen. The number of tables
// does not change the best k, that of pow_mod.cuh, since tables and products grow with m alike.
//
// Row r has the bases and exponents m r .. m r + m - 1. The tables stand in device memory, so that
// a block takes m times the scratch of its bounds.
#pragma once
#include "core/abi.cuh"

namespace gpuint {

// m, at least 1.
GPUINT_DEVICE u32 bases_of(const Operands& o) { return static_cast<u32>(o.params.bases); }

}  // namespace gpuint
