// Products by the tensor cores: low (mod 2^BITS), wide (2 * BITS) and the low square, a warp to an instance.
//
// A warp copies the next instance to shared memory while it computes this one (cp.async into one of DEPTH buffers in turn), adds
// up the columns of the product NT tiles at a time (toeplitz.cuh) and resolves their carries upwards, tile by tile: a lane has
// four columns of base 256, which it makes one limb of 32 bits and what goes beyond it, hands the latter to the next lane, and
// finds the remaining carries by the ballots of carry.cuh. Warps meet no barrier but their own.
//
// A square is the product of a number with itself. Using each pair of digits once would save half of the mma, but blocks of s are
// not symmetric in the two operands (toeplitz.cuh), so that half of what is left would be masked rows: it does not pay. It
// saves the copy of an operand.
#pragma once
#include "abi.cuh"
#include "shape.cuh"
#include "toeplitz.cuh"

namespace gpuint {

// The strategy: whole products of rows that are 4 to 16 tiles or groups of them. There is no product of parts of rows.
struct TensorCore {};

// How a product of rows of TILES tiles is worked on: NT tiles at a time in STEPS (toeplitz.cuh), DEPTH buffers per warp, WARPS to a
// block, and at least so many warps to a multiprocessor, which bounds the registers of a thread.
template <u32 NT_, u32 STEPS_, u32 DEPTH_, u32 WARPS_, u32 RESIDENT_>
struct Tuning {
  static constexpr u32 NT = NT_, STEPS = STEPS_, DEPTH = DEPTH_, WARPS = WARPS_, RESIDENT = RESIDENT_;
};

__host__ __device__ constexpr u32 tiles_at_a_time(u32 tiles) {
  for (u32 nt = 16; nt > 1; --nt)
    if (tiles % nt == 0) return nt;
  return 1;
}

template <u32 TILES, u32 NT = tiles_at_a_time(TILES)>
using DefaultTuning = Tuning<NT, NT <= 4 ? 4 : NT <= 8 ? 2 : 1, TILES <= 32 ? 2 : 1, 1, 12>;

// What is computed of a product.
enum class Extent { Low, Wide };

template <class S, Extent E, u32 OPERANDS, class T>
struct TensorProduct {
  static constexpr u32 LIMBS = S::BITS / 32;
  static constexpr u32 TILES = LIMBS / TILE_LIMBS;
  static_assert(S::BITS % (8 * TILE_DIGITS) == 0 && TILES <= 256, "whole tiles, whose sums stay below 2^31");
  using Engine = Toeplitz<TILES, T::NT, T::STEPS>;

  // A buffer: zeros, a, zeros, b, zeros; the last where high columns are wanted.
  static constexpr u32 ZEROS_ABOVE = E == Extent::Wide ? ZEROS_AROUND : 0;
  static constexpr u32 A_AT = ZEROS_AROUND;
  static constexpr u32 B_AT = OPERANDS == 1 ? A_AT : A_AT + LIMBS + max_of(ZEROS_ABOVE, ZEROS_BELOW_B);
  static constexpr u32 BUFFER = B_AT + LIMBS + ZEROS_ABOVE;
  static constexpr u32 ARENA = T::DEPTH * BUFFER;  // of a warp

  static constexpr u32 THREADS = 32 * T::WARPS;
  static constexpr u32 SHARED = T::WARPS * ARENA * sizeof(u32);
  static constexpr u32 ROWS = T::WARPS;
  static constexpr u32 MIN_BLOCKS = T::RESIDENT / T::WARPS;
  static constexpr u32 PERSISTENT = 1;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const u32 lane = threadIdx.x % 32;
    u32* const arena = reinterpret_cast<u32*>(shared) + threadIdx.x / 32 * ARENA;
    GPUINT_UNROLL(1)
    for (u32 i = 0; i < T::DEPTH; ++i) clear_zeros(arena + i * BUFFER, lane);
    const u64 stride = u64(gridDim.x) * ROWS;
    const u64 first = u64(blockIdx.x) * ROWS + threadIdx.x / 32;
    u64 ahead = first;
    u32 filling = 0, reading = 0;
    const auto copy_next = [&] {
      if (ahead < o.rows) copy_in(o, ahead, arena + filling * BUFFER, lane);
      ptx::commit_copies();
      ahead += stride;
      filling = filling + 1 == T::DEPTH ? 0 : filling + 1;
    };
    GPUINT_UNROLL(1)
    for (u32 i = 1; i < T::DEPTH; ++i) copy_next();
    GPUINT_UNROLL(1)
    for (u64 row = first; row < o.rows; row += stride) {
      copy_next();
      ptx::wait_for_copies<T::DEPTH - 1>();
      __syncwarp();
      const u32* const buffer = arena + reading * BUFFER;
      reading = reading + 1 == T::DEPTH ? 0 : reading + 1;
      multiply(o, row, Engine(buffer + A_AT, buffer + B_AT, lane), lane);
      __syncwarp();
    }
  }

 private:
  GPUINT_DEVICE static void clear_zeros(u32* buffer, u32 lane) {
    const auto clear = [&](u32 from, u32 limbs) {
      if (lane < limbs) buffer[from + lane] = 0;
    };
    clear(0, ZEROS_AROUND);
    if constexpr (OPERANDS > 1) clear(A_AT + LIMBS, B_AT - (A_AT + LIMBS));
    clear(B_AT + LIMBS, ZEROS_ABOVE);
  }

  GPUINT_DEVICE static void copy_in(const Operands& o, u64 row, u32* buffer, u32 lane) {
    const u32* const a = static_cast<const u32*>(o.in[0]) + row * LIMBS;
    const u32* const b = static_cast<const u32*>(o.in[OPERANDS - 1]) + row * LIMBS;
    GPUINT_UNROLL(4)
    for (u32 i = WORD * lane; i < LIMBS; i += WORD * 32) {
      ptx::copy_async(buffer + A_AT + i, a + i);
      if constexpr (OPERANDS > 1) ptx::copy_async(buffer + B_AT + i, b + i);
    }
  }

  // What a tile hands to the next: what its top columns have above their limb, and a carry.
  struct Carry {
    u32 above = 0, bit = 0;
  };

  GPUINT_DEVICE static u32 resolve(const u32 (&sums)[4], u32 lane, Carry& carry) {
    const u64 value = u64(sums[0]) + (u64(sums[1]) << 8) + (u64(sums[2]) << 16) + (u64(sums[3]) << 24);
    const u32 above = static_cast<u32>(value >> 32);
    // Lane 0 gets the top lane's, which is the next tile's.
    const u32 rotated = __shfl_sync(~0u, above, (lane + 31) % 32);
    const u32 from_below = lane == 0 ? carry.above : rotated;
    carry.above = rotated;
    const u32 limb = static_cast<u32>(value) + from_below;
    const u32 g = __ballot_sync(~0u, limb < from_below);
    const u32 p = __ballot_sync(~0u, limb == ~0u);
    const u64 sum = u64(g | p) + g + carry.bit;
    carry.bit = static_cast<u32>(sum >> 32);
    return limb + ((static_cast<u32>(sum) ^ p) >> lane & 1);
  }

  // Resolves the tiles of a group and writes them to `to`, this lane's place in the first of them.
  GPUINT_DEVICE static void write(const typename Engine::Sums& sums, u32* to, u32 lane, Carry& carry) {
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < T::NT; ++tile) __stcs(to + tile * TILE_LIMBS, resolve(sums[tile], lane, carry));
  }

  GPUINT_DEVICE static void multiply(const Operands& o, u64 row, const Engine& engine, u32 lane) {
    constexpr u32 GROUP_LIMBS = T::NT * TILE_LIMBS;
    const bool side_by_side = E == Extent::Wide && o.scalar == 1;
    typename Engine::Sums sums;
    Carry carry;
    u32* to = static_cast<u32*>(o.out[0]) + (side_by_side ? 2 * row : row) * LIMBS + lane;
    GPUINT_UNROLL(1)
    for (u32 group = 0; group < Engine::GROUPS; ++group, to += GROUP_LIMBS) {
      engine.low(group, sums);
      write(sums, to, lane, carry);
    }
    if constexpr (E == Extent::Wide) {
      if (!side_by_side) to = static_cast<u32*>(o.out[1]) + row * LIMBS + lane;
      GPUINT_UNROLL(1)
      for (u32 group = Engine::GROUPS; group < 2 * Engine::GROUPS; ++group, to += GROUP_LIMBS) {
        engine.high(group, sums);
        write(sums, to, lane, carry);
      }
    }
  }
};

template <class S, class M>
struct MulLow;
template <class S, class M>
struct MulWide;
template <class S, class M>
struct SquareLow;

template <class S>
struct MulLow<S, TensorCore> : TensorProduct<S, Extent::Low, 2, DefaultTuning<S::BITS / (8 * TILE_DIGITS)>> {};
template <class S>
struct MulWide<S, TensorCore> : TensorProduct<S, Extent::Wide, 2, DefaultTuning<S::BITS / (8 * TILE_DIGITS)>> {};
template <class S>
struct SquareLow<S, TensorCore> : TensorProduct<S, Extent::Low, 1, DefaultTuning<S::BITS / (8 * TILE_DIGITS)>> {};

}  // namespace gpuint
