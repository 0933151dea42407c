// Complex transforms of P points by P / 16 threads, in three passes of up to four levels, and the
// products of their nodes. P is 4096 in a product, whose part has m = P points, and down to 64 in a
// division.
//
// Transforms. t^m - e(theta) = (t^(m/2) - e(theta/2)) (t^(m/2) + e(theta/2)): a level of splitting
// takes
//     a, b -> a + b e(theta/2), a - b e(theta/2)
// to polynomials modulo t^(m/2) - e(theta/2) and t^(m/2) - e(theta/2 + 1/2); after 11 levels there
// are m/2 nodes, pairs modulo t^2 - w with w = e((theta + r) 2 / m), r in bit-reversed order. They
// are multiplied as they are,
//     (a0 + a1 t) (b0 + b1 t) = a0 b0 + w a1 b1 + (a0 b1 + a1 b0) t,
// because a twelfth level in both directions would take more, and w is the rotation of the level
// before. Four levels are done in registers at a time: first columns P / 16 points apart, then P /
// 256 apart, then 16 in a row. The third pass splits nodes of P / 256 points (16 of 4096, where it
// has three levels); below 512 points there is no second pass. Only the first of the two exchanges
// involves all threads. The inverse, of even and of odd points each, is that of the ordinary
// transform (J. W. Cooley and J. W. Tukey, 1965) from bit-reversed order, then a rotation of points
// 2 j and 2 j + 1 by -2 j theta / m.
//
// Exactness. Let eps = 2^-53. A complex rounding is a factor 1 + d, |d| <= eps, since it is one in
// each component. A product with a rotation is cos (1 + d) of (u, v) with tan (1 + d), and one
// rounding: |error| <= 3 eps |b|; a constant turn after it has another tangent (exact for an
// eighth), cosine and product of cosines: 4 eps more; the addition rounds once. So a level changes
// a path from an input to an output by a factor 1 + d with |d| <= 4 eps, or 8 eps where there is a
// constant turn. In a forward transform that bounds the error's Euclidean norm. A node's product
// has coefficients of at most |A| |B|, the norms of its pairs, and errors of 9 eps times that: two
// roundings in a1 b1, 6 eps for w with an eighth turn, one addition; or four in a sum of two
// products. In the inverse, where a sum over all nodes with |A| |B| <= m/2 |a| |b| in total is
// left, each number is bounded (the method of R. Brent, C. Percival and P. Zimmermann, Math. Comp.
// 76, 2007, who have 4 eps for a level). `worst_error` adds up all factors, those for parts and
// weights too, and multiplies by |a| |b| <= 2^30 (n + 3). It is below 0.43 at 2^18 bits, so that
// rounding to the nearest integer is right for every operand.
#pragma once
#include "core/math.cuh"
#include "core/ptx.cuh"
#include "transform/common.cuh"
#include "transform/fft/twiddles.cuh"

namespace gpuint::fft {

// a + z i^quarters
GPUINT_DEVICE Complex sum(Complex a, Turned z, u32 quarters) {
  const double cos = quarters % 4 < 2 ? z.cos : -z.cos;
  return quarters % 2 == 0 ? Complex{fma(cos, z.u, a.re), fma(cos, z.v, a.im)}
                           : Complex{fma(-cos, z.v, a.re), fma(cos, z.u, a.im)};
}

// a, b = a + z i^quarters, a - z i^quarters
GPUINT_DEVICE void butterfly(Complex& a, Complex& b, Turned z, u32 quarters) {
  const Complex c = a;
  a = sum(c, z, quarters);
  b = sum(c, z, quarters + 2);
}

// Sixteenths of a turn from a level's first node to node 2 (NODE / 2).
template <u32 LEVEL, u32 NODE>
constexpr u32 SIXTEENTHS = bit_reversed(NODE & ~1u, LEVEL) << (LEVELS - 1 - LEVEL);

// A node and all nodes below it to LEVELS levels, depth first: few rotations are needed at a time.
template <u32 LEVEL, u32 NODE, u32 LEVELS, class Turn>
GPUINT_DEVICE void split(Complex (&x)[RADIX], const Turn& turn) {
  constexpr u32 HALF = RADIX >> (LEVEL + 1), FIRST = NODE * 2 * HALF;
  GPUINT_UNROLL(8)
  for (u32 i = FIRST; i < FIRST + HALF; ++i)
    butterfly(x[i], x[i + HALF],
              turn(Direction::Forward, LEVEL, SIXTEENTHS<LEVEL, NODE>, x[i + HALF]), NODE % 2);
  if constexpr (LEVEL + 1 < LEVELS)
    split<LEVEL + 1, 2 * NODE, LEVELS>(x, turn), split<LEVEL + 1, 2 * NODE + 1, LEVELS>(x, turn);
}

// The inverse of the splitting, complete or (STEP = TAIL) down to nodes of TAIL points.
template <u32 LEVEL, u32 NODE, u32 STEP, class Turn>
GPUINT_DEVICE void join(Complex (&x)[RADIX], const Turn& turn) {
  constexpr u32 HALF = 1 << LEVEL, QUARTER = max_of(HALF / 2, 1), FIRST = NODE * 2 * HALF;
  if constexpr (HALF > STEP)
    join<LEVEL - 1, 2 * NODE, STEP>(x, turn), join<LEVEL - 1, 2 * NODE + 1, STEP>(x, turn);
  GPUINT_UNROLL(8)
  for (u32 i = 0; i < HALF; ++i) {
    const u32 first = i / STEP * STEP;
    butterfly(x[FIRST + i], x[FIRST + i + HALF],
              turn(Direction::Inverse, LEVEL, first % QUARTER * (8 / HALF), x[FIRST + i + HALF]),
              first < QUARTER ? 0 : 3);
  }
}

// The first level over real points.
GPUINT_DEVICE void split_real(Complex (&x)[RADIX], const FirstPass& turn) {
  const Rotation by = turn.at[0][0];
  const double sin = by.cos * by.tan;
  GPUINT_UNROLL(8)
  for (u32 i = 0; i < RADIX / 2; ++i) {
    const double a = x[i].re, b = x[i + RADIX / 2].re;
    x[i] = {fma(by.cos, b, a), sin * b};
    x[i + RADIX / 2] = {fma(-by.cos, b, a), -sin * b};
  }
}

// The points of a part in shared memory, where 16-byte accesses of eight neighbouring threads reach
// all banks in each of the three orders. P / 16 threads have 16 points each.
//
// PARTS_OF_BLOCK parts are in consecutive memory, one for each P / 16 threads of the block.
//
// The word just below is 0. Places that depend on the thread are computed again for every
// transform: ptxas would keep those of one transform for the next, in local memory.
template <u32 P, u32 PARTS_OF_BLOCK = 1>
struct Exchange {
  static constexpr u32 THREADS = P / RADIX;
  // Points of a sixteenth that are THREADS / 16 apart; 1 where there is no second pass.
  static constexpr u32 ROWS = max_of(P / 256, 1);

  Complex* at;
  u32 thread;

  GPUINT_DEVICE static u32* zero(unsigned char* bytes) { return reinterpret_cast<u32*>(bytes) - 1; }

  GPUINT_DEVICE static u32 rematerialized_zero(unsigned char* bytes) {
    return *static_cast<volatile u32*>(zero(bytes));
  }

  GPUINT_DEVICE explicit Exchange(unsigned char* bytes)
      : at(reinterpret_cast<Complex*>(bytes) +
           (PARTS_OF_BLOCK > 1 ? threadIdx.x / THREADS * P : 0)),
        thread(threadIdx.x % THREADS + rematerialized_zero(bytes)) {}

  // Point thread + THREADS i.
  GPUINT_DEVICE Complex& column(u32 i) const { return at[slot(thread + THREADS * i)]; }
  // Point THREADS group + ROWS i + lane, for the groups of ROWS threads.
  GPUINT_DEVICE Complex& strided(u32 i) const {
    return at[slot(thread / ROWS * THREADS + ROWS * i + thread % ROWS)];
  }
  // Point 16 thread + i.
  GPUINT_DEVICE Complex& row(u32 i) const { return at[slot(RADIX * thread + i)]; }

  // Orders the threads of a part, or of all parts of a warp.
  GPUINT_DEVICE static void sync(GPUINT_SITE) {
    if constexpr (THREADS > 32)
      __syncthreads(GPUINT_PASS_SITE);
    else
      __syncwarp();
  }

 private:
  GPUINT_DEVICE static u32 slot(u32 j) { return j ^ (j / RADIX % 8); }
};

using Last = Rotations<LEVELS - TAIL_LEVELS>;

// Points of a node when the last pass begins, and the level of that pass at which it is split.
template <u32 P>
constexpr u32 LAST_NODE = P >= 512 ? P / 256 : P / RADIX;
template <u32 P>
constexpr u32 LAST_LEVEL = LEVELS - log2_of(LAST_NODE<P>);

template <u32 LEVEL, u32 NODE>
GPUINT_DEVICE void split_nodes(Complex (&x)[RADIX], const Last& turn) {
  if constexpr (LEVEL < LEVELS - TAIL_LEVELS) {
    split<LEVEL, NODE, LEVELS - TAIL_LEVELS>(x, turn);
    if constexpr (NODE + 1 < 1u << LEVEL) split_nodes<LEVEL, NODE + 1>(x, turn);
  }
}
template <u32 SIZE, u32 NODE>
GPUINT_DEVICE void join_nodes(Complex (&x)[RADIX]) {
  if constexpr (SIZE > TAIL) {
    join<log2_of(SIZE) - 1, NODE, TAIL>(x, Constant{});
    if constexpr ((NODE + 1) * SIZE < RADIX) join_nodes<SIZE, NODE + 1>(x);
  }
}

// Splits points thread + THREADS i of a part, into nodes of TAIL points, points 16 thread + i, with
// the rotations of the last pass. `first` does the first level. Calls `then` when this thread has
// read everything from the exchange.
template <u32 P, u32 PARTS, u32 PARTS_OF_BLOCK = 1, class First, class Then>
GPUINT_DEVICE Last transform(Complex (&x)[RADIX], u32 k, unsigned char* bytes, First first,
                             Then then) {
  const Exchange<P, PARTS_OF_BLOCK> exchange(bytes);
  const PartTables<P, PARTS>& tables = TABLES<P, PARTS>.part[k];
  const FirstPass& turn = CONSTANTS<PARTS>.part[k].first;
  first(x, turn);
  split<1, 0, LEVELS>(x, turn), split<1, 1, LEVELS>(x, turn);
  exchange.sync();  // nobody reads any more what was there
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) exchange.column(i) = x[i];
  if constexpr (P >= 512) {
    const Rotations<LEVELS> second(tables.second, exchange.thread / exchange.ROWS);
    exchange.sync();
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < RADIX; ++i) x[i] = exchange.strided(i);
    split<0, 0, LEVELS>(x, second);
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < RADIX; ++i) exchange.strided(i) = x[i];
  }
  const Last third(tables.third, exchange.thread);
  __syncwarp();
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) x[i] = exchange.row(i);
  then();
  split_nodes<LAST_LEVEL<P>, 0>(x, third);
  return third;
}

GPUINT_DEVICE Complex add_product(Complex sum, Complex a, Complex b) {
  return {fma(-a.im, b.im, fma(a.re, b.re, sum.re)), fma(a.im, b.re, fma(a.re, b.im, sum.im))};
}

// x = a x in all nodes from NODE on: products of polynomials modulo t^TAIL - w, w a rotation of the
// last level. Point i of a is other(i).
template <u32 NODE, class Other>
GPUINT_DEVICE void multiply(Complex (&x)[RADIX], const Last& turn, const Other& other) {
  constexpr u32 LEVEL = LEVELS - TAIL_LEVELS - 1, FIRST = NODE * TAIL;
  Complex a[TAIL], b[TAIL];
  GPUINT_UNROLL(4)
  for (u32 i = 0; i < TAIL; ++i) a[i] = other(FIRST + i), b[i] = x[FIRST + i];
  GPUINT_UNROLL(4)
  for (u32 k = 0; k < TAIL; ++k) {
    Complex low{0, 0}, high{0, 0};
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < TAIL; ++i) {
      if (i <= k)
        low = add_product(low, a[i], b[k - i]);
      else
        high = add_product(high, a[i], b[k + TAIL - i]);
    }
    x[FIRST + k] = low;
    if (k + 1 < TAIL)
      x[FIRST + k] = sum(low, turn(Direction::Forward, LEVEL, SIXTEENTHS<LEVEL, NODE / 2>, high),
                         NODE / 2 % 2 + NODE % 2 * 2);
  }
  if constexpr (FIRST + TAIL < RADIX) multiply<NODE + 1>(x, turn, other);
}

// The inverse, except for the weights.
template <u32 P, u32 PARTS, u32 PARTS_OF_BLOCK = 1>
GPUINT_DEVICE void inverse(Complex (&x)[RADIX], unsigned char* bytes) {
  const Exchange<P, PARTS_OF_BLOCK> exchange(bytes);
  join_nodes<LAST_NODE<P>, 0>(x);
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) exchange.row(i) = x[i];
  if constexpr (P >= 512) {
    const Rotations<LEVELS> second(TABLES<P, PARTS>.second, exchange.thread % exchange.ROWS / TAIL);
    __syncwarp();
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < RADIX; ++i) x[i] = exchange.strided(i);
    join<LEVELS - 1, 0, 1>(x, second);
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < RADIX; ++i) exchange.strided(i) = x[i];
  }
  const Rotations<LEVELS> third(TABLES<P, PARTS>.third, exchange.thread / TAIL);
  exchange.sync();
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) x[i] = exchange.column(i);
  join<LEVELS - 1, 0, 1>(x, third);
}

// Point j = thread + THREADS i times e(-j' theta / P) TAIL / P, j' being j rounded down to a
// multiple of TAIL.
template <u32 P, u32 PARTS>
GPUINT_DEVICE void weigh(u32 k, u32 thread, Complex (&x)[RADIX]) {
  Rotation fine = TABLES<P, PARTS>.part[ptx::rematerialize(k)].weights[thread / TAIL];
  fine.tan = -fine.tan;
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) {
    const Turned z = turn(fine, x[i]);
    const Complex coarse = CONSTANTS<PARTS>.part[k].coarse[i];
    x[i] = {z.cos * fma(-coarse.im, z.v, coarse.re * z.u),
            z.cos * fma(coarse.im, z.u, coarse.re * z.v)};
  }
}

// Maximum difference between a column and its integer before rounding, relative to |a| |b|.
__host__ __device__ constexpr double relative_error(u32 parts) {
  const double pass = 4 + 4 + 7 + 8, last_pass = 4 + 4 + 7, first_inverse_pass = 1 + 1 + 3,
               weights = 7, products = 9;
  const double forward_sums = parts == 1 ? 0 : 2.0 * parts,
               inverse_sums = parts == 1 ? 0 : 3.0 * parts;
  const double forward = 2 * pass + last_pass + forward_sums,
               inverse = first_inverse_pass + 2 * pass + weights + inverse_sums;
  const double relative = (2 * forward + products + inverse) / (1ull << 53);
  return relative * (1 + relative);
}

// The same for a product's columns.
__host__ __device__ constexpr double worst_error(u32 parts) {
  return (1 << 30) * (POINTS * parts + 3.0) * relative_error(parts);
}

}  // namespace gpuint::fft
