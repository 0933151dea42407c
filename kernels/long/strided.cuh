// The passes along a stride: L levels of a transform of points that are `stride` apart, in place.
//
// A block transforms a tile: C neighbouring columns of 2^L points. Thread (t, lane) holds points a
// R2 + t + g R1 of column `lane` for all a < R1 and g < R2 / R1, and after the exchange points t R2
// + b for all b < R2. Rows of the exchange have one column more, so that both accesses reach all
// banks.
//
// The first pass has no twist. It reads the operand, modulo each prime: the three primes of a tile
// are neighbouring blocks, so that two of them find the operand in the L2 cache. If the upper half
// of the points is zero, the first level only copies. Other passes go prime by prime.
#pragma once
#include "core/abi.cuh"
#include "core/math.cuh"
#include "core/occupancy.cuh"
#include "long/grid_kernel.cuh"
#include "long/registers.cuh"
#include "long/transform.cuh"
#include "transform/common.cuh"
#include "tuning/long.cuh"

namespace gpuint::long_rows {

// Place of a block and of a thread in a strided pass, and its part of shared memory.
template <u32 L, bool IS_FIRST>
struct Tile {
  static constexpr u32 LOG_R1 = log_first_radix(L), R1 = 1u << LOG_R1, R2 = 1u << (L - LOG_R1);
  static constexpr u32 COLUMNS = StridedPassPolicy::columns(L), THREADS = COLUMNS * R1;
  static constexpr u32 GROUPS = R2 / R1;  // transforms of R1 points of a thread
  static constexpr u32 TABLE_BYTES = sizeof(Factor) << L;
  static constexpr u32 SHARED =
      (IS_FIRST ? 1 : 2) * TABLE_BYTES + COLUMNS * R1 * (R2 + 1) * sizeof(u32);

  u32 stride, factor, column, lane, t;
  Factor *inner, *twist;
  u32* exchange;

  GPUINT_DEVICE Tile(const Transform& o, u32 index, unsigned char* shared) {
    stride = 1u << (o.log_points - o.depth - L);
    lane = threadIdx.x % COLUMNS, t = threadIdx.x / COLUMNS;
    const u32 tiles = stride / COLUMNS;
    factor = index / tiles, column = (index & (tiles - 1)) * COLUMNS + lane;
    inner = reinterpret_cast<Factor*>(shared);
    twist = inner + (1u << L);
    exchange = reinterpret_cast<u32*>(shared + (IS_FIRST ? 1 : 2) * TABLE_BYTES);
  }

  GPUINT_DEVICE u32& at(u32 a, u32 b) const {
    return exchange[(a * (R2 + 1) + b) * COLUMNS + lane];
  }

  // Copies the tables of the pass to shared memory.
  GPUINT_DEVICE void stage(const Tables& tables, Direction direction) const {
    const u32 d = static_cast<u32>(direction);
    for (u32 i = threadIdx.x; i < 1u << L; i += THREADS) {
      inner[i] = tables.inner[d][IS_FIRST ? 0 : 1][i];
      if constexpr (!IS_FIRST) twist[i] = tables.twist[d][(factor << L) + i];
    }
  }
};

// Forward pass of a tile of `row`, which is the operand of the first pass.
template <class F, u32 L, bool IS_FIRST>
GPUINT_DEVICE void strided_forward(const Transform& o, u32* residues, const Source& source, u32 row,
                                   const Tables& tables, u32 index, unsigned char* shared) {
  using T = Tile<L, IS_FIRST>;
  constexpr u32 R1 = T::R1, R2 = T::R2;
  const T tile(o, index, shared);
  u32* const base = residues + (u64{tile.factor} << (o.log_points - o.depth)) + tile.column;
  u32 x[R2];
  [[maybe_unused]] bool is_half = false;
  if constexpr (IS_FIRST) {
    const u32* const from = source.limbs + u64{row} * source.count;
    is_half = source.count <= 1u << (o.log_points - 1);
    GPUINT_UNROLL(4)
    for (u32 g = 0; g < T::GROUPS; ++g) {
      GPUINT_UNROLL(32)
      for (u32 a = 0; a < R1; ++a) {
        const u32 at = (a * R2 + tile.t + g * R1) * tile.stride + tile.column;
        if (a < R1 / 2 || !is_half) x[g * R1 + a] = at < source.count ? from[at] : 0;
      }
    }
  } else {
    GPUINT_UNROLL(4)
    for (u32 g = 0; g < T::GROUPS; ++g) {
      GPUINT_UNROLL(32)
      for (u32 a = 0; a < R1; ++a)
        x[g * R1 + a] = base[u64{a * R2 + tile.t + g * R1} * tile.stride];
    }
  }
  tile.stage(tables, Direction::Forward);
  if constexpr (!IS_FIRST) __syncthreads();
  GPUINT_UNROLL(4)
  for (u32 g = 0; g < T::GROUPS; ++g) {
    const u32 b = tile.t + g * R1;
    u32* const v = x + g * R1;
    if constexpr (IS_FIRST) {
      GPUINT_UNROLL(16)
      for (u32 a = 0; a < R1 / 2; ++a) v[a] = F::reduced(v[a]);
      if (is_half) {
        GPUINT_UNROLL(16)
        for (u32 a = 0; a < R1 / 2; ++a) v[R1 / 2 + a] = v[a];
      } else {
        GPUINT_UNROLL(16)
        for (u32 a = R1 / 2; a < R1; ++a) v[a] = F::reduced(v[a]);
        forward<F, R1, 0, 1>(v);
      }
      forward<F, R1, 1>(v);
    } else {
      GPUINT_UNROLL(32)
      for (u32 a = 0; a < R1; ++a) v[a] = F::times(tile.twist[a * R2 + b], v[a]);
      forward<F, R1>(v);
    }
    GPUINT_UNROLL(32)
    for (u32 a = 0; a < R1; ++a) tile.at(a, b) = v[a];
  }
  __syncthreads();
  GPUINT_UNROLL(32)
  for (u32 b = 0; b < R2; ++b) x[b] = tile.at(tile.t, b);
  GPUINT_UNROLL(32)
  for (u32 b = 1; b < R2; ++b) x[b] = F::times(tile.inner[b * R1 + tile.t], x[b]);
  forward<F, R2>(x);
  GPUINT_UNROLL(32)
  for (u32 b = 0; b < R2; ++b) base[u64{tile.t * R2 + b} * tile.stride] = x[b];
}

template <class F, u32 L, bool IS_FIRST>
GPUINT_DEVICE void strided_inverse(const Transform& o, u32* residues, const Tables& tables,
                                   u32 index, unsigned char* shared) {
  using T = Tile<L, IS_FIRST>;
  constexpr u32 R1 = T::R1, R2 = T::R2;
  const T tile(o, index, shared);
  u32* const base = residues + (u64{tile.factor} << (o.log_points - o.depth)) + tile.column;
  u32 x[R2];
  GPUINT_UNROLL(32)
  for (u32 b = 0; b < R2; ++b) x[b] = base[u64{tile.t * R2 + b} * tile.stride];
  tile.stage(tables, Direction::Inverse);
  __syncthreads();
  inverse<F, R2>(x);
  GPUINT_UNROLL(32)
  for (u32 b = 1; b < R2; ++b) x[b] = F::times(tile.inner[b * R1 + tile.t], x[b]);
  GPUINT_UNROLL(32)
  for (u32 b = 0; b < R2; ++b) tile.at(tile.t, b) = x[b];
  __syncthreads();
  GPUINT_UNROLL(4)
  for (u32 g = 0; g < T::GROUPS; ++g) {
    const u32 b = tile.t + g * R1;
    u32* const v = x + g * R1;
    GPUINT_UNROLL(32)
    for (u32 a = 0; a < R1; ++a) v[a] = tile.at(a, b);
    inverse<F, R1>(v);
    GPUINT_UNROLL(32)
    for (u32 a = 0; a < R1; ++a) {
      const u32 c = a * R2 + b;
      base[u64{c} * tile.stride] = IS_FIRST ? v[a] : F::times(tile.twist[c], v[a]);
    }
  }
}

// A strided pass of L levels. Work: points of all planes and primes.
template <class P, u32 L, bool IS_FIRST, Direction DIRECTION>
struct StridedPass : GridKernel {
  using Arguments = Transform;
  using T = Tile<L, IS_FIRST>;
  static constexpr u32 THREADS = T::THREADS, SHARED = T::SHARED, ROWS = T::COLUMNS << L;
  static constexpr u32 MIN_BLOCKS = StridedPassPolicy::resident_threads(L) / THREADS;

  GPUINT_DEVICE static void run(const Transform& o, unsigned char* shared) {
    // Without the columns of a tile.
    const u32 log_tiles = o.log_points - L - log_of(T::COLUMNS);
    u32 index = blockIdx.x, prime, plane;
    if constexpr (IS_FIRST && DIRECTION == Direction::Forward) {
      prime = index % PRIMES;
      index /= PRIMES;
      plane = index >> log_tiles;
    } else {
      const u32 planes = DIRECTION == Direction::Forward ? o.planes : o.rows;
      prime = (index >> log_tiles) / planes;
      plane = (index >> log_tiles) - prime * planes;
    }
    index &= (1u << log_tiles) - 1;
    if (prime == 0)
      run_modulo<typename P::F0, 0>(o, plane, index, shared);
    else if (prime == 1)
      run_modulo<typename P::F1, 1>(o, plane, index, shared);
    else
      run_modulo<typename P::F2, 2>(o, plane, index, shared);
  }

 private:
  template <class F, u32 PRIME>
  GPUINT_DEVICE static void run_modulo(const Transform& o, u32 plane, u32 index,
                                       unsigned char* shared) {
    u32* const residues = o.residues + ((u64{PRIME} * o.planes + plane) << o.log_points);
    const Tables& tables = o.tables[PRIME];
    if constexpr (DIRECTION == Direction::Forward) {
      const bool is_second = plane >= o.rows;
      strided_forward<F, L, IS_FIRST>(o, residues, o.source[is_second],
                                      is_second ? plane - o.rows : plane, tables, index, shared);
    } else {
      strided_inverse<F, L, IS_FIRST>(o, residues, tables, index, shared);
    }
  }
};

template <class P, u32 L>
using FirstForward = StridedPass<P, L, true, Direction::Forward>;
template <class P, u32 L>
using FirstInverse = StridedPass<P, L, true, Direction::Inverse>;
template <class P, u32 L>
using SecondForward = StridedPass<P, L, false, Direction::Forward>;
template <class P, u32 L>
using SecondInverse = StridedPass<P, L, false, Direction::Inverse>;

}  // namespace gpuint::long_rows
