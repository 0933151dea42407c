// Products of short rows, one row per lane: low (mod 2^BITS), wide (2 * BITS) and the low square,
// for up to 64 limbs.
//
// A lane keeps the second factor b and the sums of the columns in registers and adds a[i] b row by
// row (operand scanning), with all loops unrolled. As in columns.cuh there are two chains, of even
// and of odd columns, so that a product is one IMAD.WIDE with carry. No carries are counted. In a
// low product each chain ends at the top of the number, where its carry is dropped. In a wide one,
// row i has a chain of b[1], b[3] .. that ends at columns i + N - 1 and i + N, which no earlier row
// has reached, so that its upper column is at most 2^32 - 2. That leaves room for the carry of the
// chain of b[0], b[2] .., which ends below. So there are ten products per addition of carries; the
// rest of the kernel loads and stores rows.
//
// In a low square, the products of different limbs are added once and doubled, then those of equal
// limbs are added: N (N + 2) / 4 products instead of the N (N + 1) / 2 of a low product.
//
// Rows pass through shared memory, 32 of a warp at a time, so that global memory is accessed a line
// at a time. Rows are an odd number of words apart, so that the lanes of a quarter of a warp reach
// all banks.
#pragma once
#include "core/abi.cuh"
#include "core/digits.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/occupancy.cuh"
#include "core/ptx.cuh"
#include "mul/product_rows.cuh"
#include "tuning/mul.cuh"

namespace gpuint {

// REGIONS_ places of a row for each lane: of the factors; each half of the result overwrites one of
// them. WARPS_ warps of a block.
template <class S, Extent E, u32 OPERANDS, u32 REGIONS_ = E == Extent::Wide ? 2 : OPERANDS,
          u32 WARPS_ = LaneProductPolicy::WARPS>
struct LaneProduct {
  static constexpr u32 N = S::N;
  static_assert(S::LIMB_BITS == 32 && N % WORD == 0 && N <= LaneProductPolicy::MAX_LIMBS,
                "rows that fit a lane's registers");

  static constexpr u32 WARPS = WARPS_;
  static constexpr u32 THREADS = 32 * WARPS;
  static constexpr u32 ROWS = THREADS;
  static constexpr u32 STRIDE = N / WORD % 2 == 0 ? N + WORD : N;  // limbs
  static constexpr u32 REGION = 32 * STRIDE;                       // rows of a warp
  static constexpr u32 REGIONS = REGIONS_;
  static constexpr u32 SHARED = WARPS * REGIONS * REGION * sizeof(u32);
  static constexpr u32 SCRATCH = 0;
  static constexpr u32 PERSISTENT = 0;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(LaneProductPolicy::registers(N), THREADS);

  static __device__ void run(const Operands& o, unsigned char* shared) {
    GPUINT_UNROLL(1)
    for (u64 of_block = u64(blockIdx.x) * ROWS; of_block < o.rows;
         of_block += u64(gridDim.x) * ROWS) {
      const u64 first = of_block + ptx::thread() / 32 * 32;
      const u32 rows = rows_from(o.rows, first);
      GPUINT_UNROLL(2)
      for (u32 i = 0; i < OPERANDS; ++i)
        bring(static_cast<const u32*>(o.in[i]) + first * N, rows, region(shared) + i * REGION);
      __syncwarp();
      u32* const own = region(shared) + ptx::thread() % 32 * STRIDE;
      if constexpr (OPERANDS == 1)
        square(own);
      else if constexpr (E == Extent::Low)
        low(own, own + REGION);
      else
        wide(own, own + REGION);
      __syncwarp();
      GPUINT_UNROLL(2)
      for (u32 half = 0; half < (E == Extent::Wide ? 2 : 1); ++half) {
        u32* const to = half_of_product<E>(o, first, half, N);
        if (to != nullptr)
          take(region(shared) + half * REGION, rows, to,
               E == Extent::Wide && o.params.joined == 1 ? 2 * N : N);
      }
      // A lane writes the next rows' words to the place from which it has just read.
    }
  }

 protected:
  static constexpr u32 WORDS = N / WORD;

  // The places of a warp's rows.
  GPUINT_DEVICE static u32* region(unsigned char* shared) {
    return reinterpret_cast<u32*>(shared) + ptx::thread() / 32 * REGIONS * REGION;
  }

  // Number of existing rows of the warp.
  GPUINT_DEVICE static u32 rows_from(u64 rows, u64 first) {
    if (first >= rows) return 0;
    return rows - first < 32 ? static_cast<u32>(rows - first) : 32;
  }

  // Copies consecutive rows to their places; missing rows are zero.
  GPUINT_DEVICE static void bring(const u32* from, u32 rows, u32* to) {
    const u32 lane = threadIdx.x % 32;
    uint4 word[WORDS];
    GPUINT_UNROLL()
    for (u32 i = 0; i < WORDS; ++i) {
      const u32 k = 32 * i + lane;
      word[i] = k / WORDS < rows ? __ldg(reinterpret_cast<const uint4*>(from) + k)
                                 : make_uint4(0, 0, 0, 0);
    }
    GPUINT_UNROLL()
    for (u32 i = 0; i < WORDS; ++i) {
      const u32 k = 32 * i + lane;
      *reinterpret_cast<uint4*>(to + k / WORDS * STRIDE + k % WORDS * WORD) = word[i];
    }
  }

  // Rows from their places, to places `stride` limbs apart.
  GPUINT_DEVICE static void take(const u32* from, u32 rows, u32* to, u32 stride) {
    GPUINT_UNROLL()
    for (u32 i = 0; i < WORDS; ++i) {
      const u32 k = 32 * i + ptx::thread() % 32, row = k / WORDS, at = k % WORDS * WORD;
      if (row >= rows) continue;
      *reinterpret_cast<uint4*>(to + u64(row) * stride + at) =
          *reinterpret_cast<const uint4*>(from + row * STRIDE + at);
    }
  }

  // Adds a b[j] for j = from, from + 2 .. below `to` to the columns column + j and column + j + 1,
  // dropping columns from TOP on.
  template <u32 TOP>
  GPUINT_DEVICE static void add_chain(u32 a, const u32 (&b)[N], u32 from, u32 to, u32 column,
                                      u32 (&sums)[TOP]) {
    GPUINT_UNROLL()
    for (u32 j = from; j < to; j += 2) {
      const u32 c = column + j;
      if (j == from)
        ptx::mad_lo_cc(sums[c], a, b[j]);
      else
        ptx::madc_lo_cc(sums[c], a, b[j]);
      if (c + 1 < TOP) ptx::madc_hi_cc(sums[c + 1], a, b[j]);
    }
  }

  // Columns first .. first + WORD, whose even and odd parts are complete, as limbs.
  template <u32 TOP>
  GPUINT_DEVICE static void finish_word(const u32 (&even)[TOP], const u32 (&odd)[TOP], u32 first,
                                        u32& carry, u32* to) {
    u32 limbs[WORD], above = 0;
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < WORD; ++i) limbs[i] = even[first + i];
    ptx::add_cc(carry, ~0u);
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < WORD; ++i) ptx::addc_cc(limbs[i], odd[first + i]);
    ptx::addc(above, 0);
    carry = above;
    store_word(to, limbs);
  }

  GPUINT_DEVICE static void read(const u32* from, u32 (&limbs)[N]) {
    GPUINT_UNROLL()
    for (u32 i = 0; i < N; i += WORD) load_word(from + i, limbs + i);
  }

  // Adds up the rows of a b below column TOP. If they are complete, the lower N columns overwrite a
  // as limbs; returns their carry out.
  template <u32 TOP, bool COMPLETE = true>
  GPUINT_DEVICE static u32 add_rows(u32* a, const u32* b_row, u32 (&even)[TOP], u32 (&odd)[TOP]) {
    u32 b[N], carry = 0;
    read(b_row, b);
    GPUINT_UNROLL()
    for (u32 k = 0; k < N; k += WORD) {
      u32 word[WORD];
      load_word(a + k, word);
      GPUINT_UNROLL(4)
      for (u32 i = k; i < k + WORD; ++i) {
        const u32 to = min_of(N, TOP - i);
        add_chain(word[i - k], b, 1, to, i, i % 2 == 0 ? odd : even);
        add_chain(word[i - k], b, 0, to, i, i % 2 == 0 ? even : odd);
        if (i + N < TOP) ptx::addc(i % 2 == 0 ? odd[i + N] : even[i + N], 0);
      }
      if constexpr (COMPLETE) finish_word(even, odd, k, carry, a + ptx::rematerialize(k));
      __syncwarp();  // keeps the next words out of registers
    }
    return carry;
  }

  // The low product of two rows, which overwrites a.
  GPUINT_DEVICE static void low(u32* a, const u32* b) {
    u32 even[N] = {}, odd[N] = {};
    add_rows(a, b, even, odd);
  }

  // The product of two rows: the low half overwrites a and the high half b.
  GPUINT_DEVICE static void wide(u32* a, u32* b) {
    u32 even[2 * N] = {}, odd[2 * N] = {};
    u32 carry = add_rows(a, b, even, odd);
    GPUINT_UNROLL()
    for (u32 k = 0; k < N; k += WORD) finish_word(even, odd, N + k, carry, b + k);
  }

  // The low square of a row, which overwrites the row.
  GPUINT_DEVICE static void square(u32* row) {
    u32 a[N], even[N] = {}, odd[N] = {};
    read(row, a);
    GPUINT_UNROLL()
    for (u32 i = 0; i < N / 2; ++i) {
      add_chain(a[i], a, i + 2, N - i, i, even);
      add_chain(a[i], a, i + 1, N - i, i, odd);
    }
    ptx::add_cc(even[1], odd[1]);
    GPUINT_UNROLL()
    for (u32 c = 2; c < N; ++c) ptx::addc_cc(even[c], odd[c]);
    GPUINT_UNROLL()
    for (u32 c = N - 1; c > 0; --c) even[c] = even[c] << 1 | even[c - 1] >> 31;
    ptx::mad_lo_cc(even[0], a[0], a[0]);
    ptx::madc_hi_cc(even[1], a[0], a[0]);
    GPUINT_UNROLL()
    for (u32 i = 1; i < N / 2; ++i) {
      ptx::madc_lo_cc(even[2 * i], a[i], a[i]);
      ptx::madc_hi_cc(even[2 * i + 1], a[i], a[i]);
    }
    GPUINT_UNROLL()
    for (u32 c = 0; c < N; c += WORD) store_word(row + c, even + c);
  }
};

}  // namespace gpuint
