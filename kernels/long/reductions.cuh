// One number for each long row: order of two rows, bit counts, and their masks.
//
// A block reduces a tile of a row to a word, and adds it to the word of the row by an atomic
// maximum or sum. A second kernel, one thread per row, turns words into results.
#pragma once
#include "core/abi.cuh"
#include "core/math.cuh"
#include "long/grid_kernel.cuh"
#include "long/transform.cuh"
#include "tuning/long.cuh"

namespace gpuint::long_rows {

// Arguments. src/backend/long/arguments.rs has the Rust version.
struct Reducing {
  const u32* in[2];  // rows
  u32* words;        // one for each row, zero at first
  void* out;         // an i8 or a u32 for each row
  u32* mask;         // one bit a row
  u64* status;       // lowest failed row
  u64 limbs;         // of a row, an even number
  u32 rows;
  u32 tiles;      // of a row
  u32 broadcast;  // 1: in[1] has one row for all rows
  u32 distance;   // of BitOfRow, below the bits of a row; of TooLong, the most bits
};

// Reduction::of_limbs(o, row, k, x, y) is the word of two limbs from k on. Words are added if
// Reduction::IS_SUM, else the largest counts. Work: limbs of all tiles.
template <class Reduction>
struct Reductions : GridKernel {
  using Arguments = Reducing;
  static constexpr u32 THREADS = MovePolicy::THREADS, SHARED = THREADS / 32 * sizeof(u32);
  static constexpr u32 MIN_BLOCKS = 1, ROWS = THREADS * MovePolicy::LIMBS;

  GPUINT_DEVICE static void run(const Reducing& o, unsigned char* shared) {
    const u32 tile = blockIdx.x % o.tiles;
    const u64 row = blockIdx.x / o.tiles;
    u32 word = 0;
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < MovePolicy::LIMBS; i += 2) {
      const u64 k = u64{tile} * ROWS + i * THREADS + 2 * threadIdx.x;
      if (k >= o.limbs) break;
      const uint2 a = *reinterpret_cast<const uint2*>(o.in[0] + row * o.limbs + k);
      uint2 b = make_uint2(0, 0);
      if constexpr (Reduction::OPERANDS == 2) {
        const u32* const other = o.in[1] + (o.broadcast != 0 ? 0 : row * o.limbs);
        b = *reinterpret_cast<const uint2*>(other + k);
      }
      word = combined(word, Reduction::of_limbs(o, static_cast<u32>(k), a, b));
    }
    u32* const words = reinterpret_cast<u32*>(shared);
    word = of_warp(word);
    if (threadIdx.x % 32 == 0) words[threadIdx.x / 32] = word;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    word = of_warp(threadIdx.x < THREADS / 32 ? words[threadIdx.x] : 0);
    if (threadIdx.x != 0 || word == 0) return;
    if constexpr (Reduction::IS_SUM)
      atomicAdd(o.words + row, word);
    else
      atomicMax(o.words + row, word);
  }

 private:
  GPUINT_DEVICE static u32 combined(u32 a, u32 b) {
    return Reduction::IS_SUM ? a + b : max_of(a, b);
  }
  GPUINT_DEVICE static u32 of_warp(u32 word) {
    if constexpr (Reduction::IS_SUM)
      return __reduce_add_sync(~0u, word);
    else
      return __reduce_max_sync(~0u, word);
  }
};

// 2 (k + 1) for the highest limb k in which the rows differ, plus 1 if that of a is greater.
struct Difference {
  static constexpr u32 OPERANDS = 2;
  static constexpr bool IS_SUM = false;

  GPUINT_DEVICE static u32 of_limbs(const Reducing&, u32 k, uint2 a, uint2 b) {
    if (a.y != b.y) return 2 * (k + 2) + (a.y > b.y);
    return a.x != b.x ? 2 * (k + 1) + (a.x > b.x) : 0;
  }
};

// Bit length.
struct Length {
  static constexpr u32 OPERANDS = 1;
  static constexpr bool IS_SUM = false;

  GPUINT_DEVICE static u32 of_limbs(const Reducing&, u32 k, uint2 a, uint2) {
    if (a.y != 0) return 32 * (k + 2) - static_cast<u32>(__clz(static_cast<int>(a.y)));
    return a.x != 0 ? 32 * (k + 1) - static_cast<u32>(__clz(static_cast<int>(a.x))) : 0;
  }
};

struct Ones {
  static constexpr u32 OPERANDS = 1;
  static constexpr bool IS_SUM = true;

  GPUINT_DEVICE static u32 of_limbs(const Reducing&, u32, uint2 a, uint2) {
    return static_cast<u32>(__popc(a.x) + __popc(a.y));
  }
};

// Bits from the lowest one to the top.
struct BitsFromLowest {
  static constexpr u32 OPERANDS = 1;
  static constexpr bool IS_SUM = false;

  GPUINT_DEVICE static u32 of_limbs(const Reducing& o, u32 k, uint2 a, uint2) {
    const u32 above = static_cast<u32>(o.limbs - k) * 32;
    if (a.x != 0) return above + 1 - static_cast<u32>(__ffs(static_cast<int>(a.x)));
    return a.y != 0 ? above - 31 - static_cast<u32>(__ffs(static_cast<int>(a.y))) : 0;
  }
};

// Result::store(o, row, word) stores the result of a row. Work: rows.
template <class Result>
struct Results : GridKernel {
  using Arguments = Reducing;
  static constexpr u32 THREADS = MovePolicy::THREADS, SHARED = 0, MIN_BLOCKS = 1, ROWS = THREADS;

  GPUINT_DEVICE static void run(const Reducing& o, unsigned char*) {
    const u32 row = blockIdx.x * THREADS + threadIdx.x;
    if (row < o.rows) Result::store(o, row, o.words[row]);
  }
};

// -1, 0 or 1, by Difference.
struct Order {
  GPUINT_DEVICE static void store(const Reducing& o, u32 row, u32 word) {
    static_cast<i8*>(o.out)[row] = static_cast<i8>(word == 0 ? 0 : word % 2 != 0 ? 1 : -1);
  }
};

// A mask of the rows whose word is zero: equal rows, or zeros.
struct NoWord {
  GPUINT_DEVICE static void store(const Reducing& o, u32 row, u32 word) {
    if (word == 0) set_mask(o.mask, row);
  }
};

// A mask of the rows with a < b, by Difference.
struct IsLess {
  GPUINT_DEVICE static void store(const Reducing& o, u32 row, u32 word) {
    if (word != 0 && word % 2 == 0) set_mask(o.mask, row);
  }
};

struct Word {
  GPUINT_DEVICE static void store(const Reducing& o, u32 row, u32 word) {
    static_cast<u32*>(o.out)[row] = word;
  }
};

// Zeros below the lowest one, by BitsFromLowest.
struct ZerosBelow {
  GPUINT_DEVICE static void store(const Reducing& o, u32 row, u32 word) {
    static_cast<u32*>(o.out)[row] = static_cast<u32>(o.limbs * 32) - word;
  }
};

// A mask of the rows whose bit `distance` is set; the words are not used.
struct BitOfRow {
  GPUINT_DEVICE static void store(const Reducing& o, u32 row, u32) {
    const u32 limb = __ldg(o.in[0] + row * o.limbs + o.distance / 32);
    if ((limb >> (o.distance % 32) & 1) != 0) set_mask(o.mask, row);
  }
};

// Fails the rows of more than `distance` bits, by Length.
struct TooLong {
  GPUINT_DEVICE static void store(const Reducing& o, u32 row, u32 word) {
    if (word > o.distance) set_status(o.status, row);
  }
};

}  // namespace gpuint::long_rows
