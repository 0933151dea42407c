// Operations on long rows in which a limb of the result depends on few limbs of the operands:
// shifts, changes of width, rows by index or by a mask, bitwise functions. All are limited by
// memory.
#pragma once
#include "core/abi.cuh"
#include "core/limbs.cuh"
#include "long/grid_kernel.cuh"
#include "tuning/long.cuh"

namespace gpuint::long_rows {

// Arguments. src/backend/long/arguments.rs has the Rust version.
struct Moving {
  const u32* in[2];  // rows
  u32* out;
  const void* by_row;  // a u32 distance, a u64 index, or one bit of a mask for each row; or null
  u64 source_limbs;    // of a row of in[0]
  u64 limbs;           // of a row of the others, an even number
  u32 tiles;           // of a row of the result
  u32 distance;        // of shifts, at most the bits of a row
  u32 table;           // of bitwise functions: bit 2a + b is the result for bits a and b
  u32 broadcast;       // 1: in[1] has one row for all rows
};

// Two limbs of a row, zero outside of it. `k` is even.
GPUINT_DEVICE uint2 limbs_or_zero(const u32* row, i64 k, u64 limbs) {
  if (k < 0 || static_cast<u64>(k) >= limbs) return make_uint2(0, 0);
  return *reinterpret_cast<const uint2*>(row + k);
}

// Function::apply(o, row, k, out) sets two limbs from k on, or returns false to leave them as they
// are. Work: limbs of all tiles.
template <class Function>
struct Moves : GridKernel {
  using Arguments = Moving;
  static constexpr u32 THREADS = MovePolicy::THREADS, SHARED = 0, MIN_BLOCKS = 1;
  static constexpr u32 ROWS = THREADS * MovePolicy::LIMBS;

  GPUINT_DEVICE static void run(const Moving& o, unsigned char*) {
    const u32 tile = blockIdx.x % o.tiles;
    const u64 row = blockIdx.x / o.tiles;
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < MovePolicy::LIMBS; i += 2) {
      const u64 k = u64{tile} * ROWS + i * THREADS + 2 * threadIdx.x;
      uint2 limbs;
      if (k < o.limbs && Function::apply(o, row, k, limbs))
        *reinterpret_cast<uint2*>(o.out + row * o.limbs + k) = limbs;
    }
  }
};

// a 2^distance mod 2^BITS, or a / 2^distance rounded down.
template <bool LEFT>
struct Shifted {
  GPUINT_DEVICE static bool apply(const Moving& o, u64 row, u64 k, uint2& limbs) {
    const u64 bits = o.limbs * 32;
    u64 distance =
        o.by_row == nullptr ? o.distance : __ldg(static_cast<const u32*>(o.by_row) + row);
    if (distance > bits) distance = bits;
    // A right shift by d is limb N + k of a 2^(BITS - d).
    const u64 left = LEFT ? distance : bits - distance;
    const u32 rest = static_cast<u32>(left % 64);
    const i64 from = static_cast<i64>(k + (LEFT ? 0 : o.limbs)) - static_cast<i64>(left / 64 * 2);
    const u32* const a = o.in[0] + row * o.limbs;
    const uint2 upper = limbs_or_zero(a, from, o.limbs);
    const uint2 lower = rest == 0 ? make_uint2(0, 0) : limbs_or_zero(a, from - 2, o.limbs);
    u64 pair = (u64{upper.y} << 32 | upper.x) << rest;
    if (rest != 0) pair |= (u64{lower.y} << 32 | lower.x) >> (64 - rest);
    limbs = make_uint2(static_cast<u32>(pair), static_cast<u32>(pair >> 32));
    return true;
  }
};

// a modulo 2^(32 limbs).
struct Resized {
  GPUINT_DEVICE static bool apply(const Moving& o, u64 row, u64 k, uint2& limbs) {
    limbs = limbs_or_zero(o.in[0] + row * o.source_limbs, static_cast<i64>(k), o.source_limbs);
    return true;
  }
};

// The row of in[0] with the index of the row; an index of all ones leaves the row unchanged.
struct Gathered {
  GPUINT_DEVICE static bool apply(const Moving& o, u64 row, u64 k, uint2& limbs) {
    const u64 from = __ldg(static_cast<const u64*>(o.by_row) + row);
    if (from == ~0ull) return false;
    limbs = *reinterpret_cast<const uint2*>(o.in[0] + from * o.limbs + k);
    return true;
  }
};

// The row of in[0] where the bit of the mask is set, of in[1] elsewhere.
struct Selected {
  GPUINT_DEVICE static bool apply(const Moving& o, u64 row, u64 k, uint2& limbs) {
    const u32 word = __ldg(static_cast<const u32*>(o.by_row) + row / 32);
    const u32* const from = (word >> (row % 32) & 1) != 0 ? o.in[0] : o.in[1];
    limbs = *reinterpret_cast<const uint2*>(from + row * o.limbs + k);
    return true;
  }
};

// A function of the bits of a and b, by its truth table (linear/bitwise.cuh).
struct Bits {
  GPUINT_DEVICE static bool apply(const Moving& o, u64 row, u64 k, uint2& limbs) {
    const uint2 a = *reinterpret_cast<const uint2*>(o.in[0] + row * o.limbs + k);
    const u32* const other = o.in[1] + (o.broadcast != 0 ? 0 : row * o.limbs);
    const uint2 b = *reinterpret_cast<const uint2*>(other + k);
    limbs = make_uint2(of_limb(o.table, a.x, b.x), of_limb(o.table, a.y, b.y));
    return true;
  }

 private:
  GPUINT_DEVICE static u32 of_limb(u32 table, u32 a, u32 b) {
    const auto value = [&](u32 i) { return 0u - (table >> i & 1); };
    return (((a & value(3)) | (~a & value(1))) & b) | (((a & value(2)) | (~a & value(0))) & ~b);
  }
};

}  // namespace gpuint::long_rows
