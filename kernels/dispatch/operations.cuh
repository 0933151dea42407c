// Operations that several strategies compute. Each pair of operation and strategy is a
// specialization in a header of this folder, `header` of its row in catalogue.toml: without it, the
// operation is an incomplete type. Nothing else specializes an operation.
#pragma once
#include "core/strategies.cuh"

namespace gpuint {

// c = a * b mod 2^BITS.
template <class S, class M>
struct MulLo;
// Computes a * b in full: the low half to out[0] and the high half to out[1], or, with
// params.joined, both to the row of 2 * BITS in out[0].
template <class S, class M>
struct MulWide;
// c = a * a mod 2^BITS, with half the products.
template <class S, class M>
struct SquareLo;

// The sum of params.pairs products mod 2^BITS. in[0] = addresses of factors, out[0] = sums.
template <class S, class M>
struct SumOfProducts;
// The same mod 2^(2 BITS) in rows of twice the width; mask: rows that overflowed.
template <class S, class M>
struct WideSumOfProducts;

// in[0] = u, in[1] = v; out[0] = q, out[1] = r, either may be null; mask: rows with v = 0.
template <class S, class Strategy>
struct DivRem;
// in[0] = v, out[0] = floor(2^params.exponent / v).
template <class S, class M>
struct ShiftedInverse;

// in[0] = v, out[0] = records.
template <class S, class M>
struct Prepare;
// in[0] = u, in[2] = records; out[0] = q, out[1] = r, either may be null.
template <class S, class Strategy>
struct DivRemBy;
// in[0] = a, in[1] = b, in[2] = records, out[0] = a b mod v.
template <class S, class M>
struct MulMod;
// in[0] = a, in[2] = records, out[0] = a^2 mod v.
template <class S, class M>
struct SquareMod;
// in[0] = a, in[1] = e, in[2] = records, out[0] = a^e mod v.
template <class S, class M>
struct PowMod;
// in[0] = bases, in[1] = exponents, in[2] = records, out[0] = products of powers.
template <class S, class M>
struct PowProductMod;

// in[0] = n, out[0] = records of odd moduli.
template <class S, class M>
struct PrepareOdd;
// a b / 2^BITS mod n, where one of a and b is below n.
template <class S, class M>
struct MulResidues;
// a^2 / 2^BITS mod n for a < n.
template <class S, class M>
struct SquareResidues;

// in[0] = n; mask: strong probable primes to base 2.
template <class S, class M>
struct StrongBase2;
// in[0] = n, in[1] = first terms of the chains; mask: Lucas probable primes.
template <class S, class M>
struct StrongLucas;

}  // namespace gpuint
