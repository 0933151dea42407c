// Strategies: the types that select an algorithm. Those that multiply inside of other kernels
// (Classical, Karatsuba, TensorColumns) are defined where their products are.
#pragma once
#include "core/platform.cuh"

namespace gpuint {

// Extent of a product: mod 2^BITS, or 2 * BITS.
enum class Extent { Low, Wide };

// Classical products (mul/columns.cuh).
template <u32 WIDEST>
struct ClassicalTiles;
using Classical = ClassicalTiles<4>;
// Karatsuba's products (mul/karatsuba.cuh).
struct Karatsuba;
// Products inside of other kernels by tensor cores (mul/tensor/columns.cuh).
template <u32 NT, u32 MIN_COLUMNS, bool PADDED = false>
struct TensorColumns;
// Tensor-core products with zeros around both factors, for one warp per row: no product is too
// short.
template <u32 NT>
using PaddedTensorColumns = TensorColumns<NT, 0, true>;

// Tensor cores.
struct TensorCore {};
// Fourier transforms.
struct Fft {};
// Number-theoretic transforms.
struct Ntt {};
// Tensor cores, one warp per row.
struct Fused {};
// FP64 multipliers, digits of 52 bits, a row to a thread.
struct Fp64 {};
// Integer multipliers, limbs of 32 bits, a row to a thread.
struct Imad {};

// Divisions by whole shifted inverses, and in blocks of the quotient (div/div.cuh).
template <class M>
struct ByShiftedInverse;
template <class M>
struct Blocked;

}  // namespace gpuint
