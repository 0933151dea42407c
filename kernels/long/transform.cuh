// Products of long rows: number-theoretic transforms through device memory.
//
// A row of N limbs is the polynomial with these coefficients at 2^32. The product of two rows
// modulo x^n - 1, n = 2^k at least the limbs of the result, is computed modulo three primes
// (primes.cuh) and combined (remainders.cuh, carries.cuh). With n equal to the limbs of a row the
// same kernels give products modulo 2^(32 n) - 1.
//
// A transform splits x^n - 1 level by level, like the tree of a Chinese remainder computation, and
// a pass does L consecutive levels in place. Before it, x^n - 1 is split into 2^D factors X^(2^L) -
// e(theta_j), where X = x^stride, e(t) is the exponential of 2 pi i t and theta_j = reverse(j) /
// 2^D. With X = z_j Y, z_j = e(theta_j / 2^L), each factor becomes Y^(2^L) - 1: coefficient c is
// multiplied by z_j^c (the twist), and all factors take the same plain transform. Nothing is
// transposed (W. M. Gentleman and G. Sande, "Fast Fourier transforms for fun and profit", 1966; D.
// H. Bailey, "FFTs in external or hierarchical memory", J. Supercomputing 4, 1990).
//
// A plain transform of 2^L = R1 R2 points (index a R2 + b) takes R1 points in registers, a twist by
// w^(reverse(a) b), an exchange through shared memory, and R2 points in registers.
//
// Two passes up to n = 2^20, three above. The last one transforms both operands, multiplies, and
// transforms back (products.cuh); the others run along a stride (strided.cuh). Kernels depend on L,
// the primes and the place of the pass, not on the width of a row.
#pragma once
#include "core/platform.cuh"
#include "long/primes.cuh"
#include "transform/ntt/residue.cuh"

namespace gpuint::long_rows {

// Tables of a prime. The order of pairs is that in which threads read them.
struct Tables {
  const Factor* twist[2];     // by direction, of the second of three passes: [j][c] z_j^(+-c)
  const Factor* inner[2][3];  // by direction and pass: [b][a] w^(+-reverse(a) b), w of order 2^L
  const u32* high;            // w^(i 2^low_bits) 2^32, w of order n
  const u32* low;             // w^i 2^32
  u32 scale;                  // 2^32 / n
  u32 padding;
};

// Rows of an operand, zero from limb `count` on.
struct Source {
  const u32* limbs;
  u32 count;
  u32 padding;
};

// Arguments of the passes. src/backend/long/arguments.rs has the Rust version.
struct Transform {
  u32* residues;  // [prime][plane][point]
  Source source[2];
  Tables tables[PRIMES];
  u32 log_points;
  u32 low_bits;
  u32 rows;           // products
  u32 planes;         // operands: twice the rows, or the rows of squares
  u32 depth;          // levels of the passes before
  u32 second_planes;  // of the second operands; 1 for one operand of all products
  const u32* second;  // residues of the second operands; those of the first ones of squares
};

__host__ __device__ constexpr u32 log_first_radix(u32 levels) { return levels / 2; }

}  // namespace gpuint::long_rows
