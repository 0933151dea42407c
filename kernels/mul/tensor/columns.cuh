// Any range of columns of a product of two numbers in shared memory by the tensor cores: the
// products inside a division.
//
// Columns and digits (bytes) have the places of an mma as in toeplitz.cuh, with tiles of 128
// columns counted from column `lo`:
//     c[k] = sum over s of A[row][s] * B[s][col],   k = 4 lo + 128 tile + row + col,
//     row = 16g + 2f,   A[row][s] = a[4 lo + 128 tile + row - s],
//     col = 4x + e,     B[s][col] = b[s + col],     s >= -13,
// and block m has s = 128m - 13 + 0..128. Lengths are known only at run time: a group of NT tiles
// processes the blocks of b that meet it. The memory around the operands is in use, so predicates
// replace digits outside of them by zeros. Lengths and `lo` are whole words, so a vector of a is
// entirely inside or outside. The shorter operand is used as b, since its blocks meet every tile of
// the other.
//
// In a stripe of STEPS mma, byte j of register i = 2 step + h of lane (g, t) of A, or (2x + e, t)
// of B, holds
//     s = 128m + 32 STEPS stripe + 8 STEPS t + 4i + j - 13.
// A lane's digits are then one run of 2 STEPS limbs and a neighbour: of a with its bytes reversed
// (f = 1) or reversed and two lower (f = 0), of b shifted by one byte (e = 1) or by a limb (e = 0).
//
// If both factors are surrounded by zeros (PADDED: a word below, two above), these zeros are read
// instead of digits outside: a place is cut off at the zeros above, and places below, being
// unsigned, wrap to there too. Reads are then cheap enough to be done a block ahead.
//
// The first columns from 0 on are short, so their tiles end with the highest column, and the lowest
// tile or group of tiles is incomplete. Columns of a high half begin with a whole tile. Either way
// the long columns fill their groups.
//
// A warp resolves each of its tiles by itself (lookahead.cuh) and stores the carry beyond the tile
// as its overflow: the result is `Columns` of tiles of 32 limbs. Products with few limbs or columns
// are classical, because they do not have tiles for all warps.
//
// Exactness: a sum has at most as many products of at most 255^2 as the shorter operand has digits,
// so it is below 2^32 up to 2^16 digits. Columns of bytes below `lo` are left out, which loses less
// than the columns of limbs that the bounds of division allow for.
#pragma once
#include "core/digits.cuh"
#include "core/limbs.cuh"
#include "core/lookahead.cuh"
#include "core/math.cuh"
#include "core/ptx.cuh"
#include "core/strategies.cuh"
#include "mul/columns.cuh"
#include "mul/tensor/toeplitz.cuh"

namespace gpuint {

// NT tiles of the product at a time. PADDED: a word of zeros stands below each operand and two
// above.
template <u32 NT, bool PADDED>
struct ToeplitzRange {
  static constexpr u32 STEPS = 2;        // of a stripe: with two, a run of a is one vector
  static constexpr u32 RUN = 2 * STEPS;  // limbs of a lane's run
  static constexpr u32 STRIPES = 4 / STEPS;
  static constexpr u32 STRIPE_LIMBS = 4 * RUN;

  using Run = u32[RUN + 1];
  using Rows = u32[NT][STEPS][4];
  using Sums = u32[NT][4];

  const u32 *a, *b;
  u32 a_limbs, b_limbs;
  i32 lo;  // column of tile 0; below 0 where the tiles end at the highest column
  u32 lane;

  // This lane's run of a for the tile at limb `tile` of a, from the limb below on. Limbs outside
  // are read from the zeros above (places below wrap), or suppressed by a predicate: branches would
  // prevent the compiler from moving reads ahead of products.
  GPUINT_DEVICE void read_a(i32 tile, Run& run) const {
    const u32 at = static_cast<u32>(tile) + 4 * (lane / 4) + 4 - RUN * (lane % 4 + 1);
    if constexpr (PADDED) {
      const u32* const from = a + min_of(at, a_limbs + WORD);
      run[0] = *(from - 1);
      load_word(from, run + 1);
    } else {
      run[0] = at - 1 < a_limbs ? *(a + at - 1) : 0;
      run[1] = run[2] = run[3] = run[4] = 0;
      if (at < a_limbs) load_word(a + at, run + 1);
    }
  }

  // This lane's run of b for the stripe at limb `stripe` of b, from the limb below on.
  GPUINT_DEVICE void read_b(u32 stripe, Run& run) const {
    const u32 at = stripe + lane / 8 + RUN * (lane % 4);  // and a word lower
    if constexpr (PADDED) {
      const u32* const from = b - WORD + min_of(at, b_limbs + WORD);
      GPUINT_UNROLL(5)
      for (u32 i = 0; i < RUN + 1; ++i) run[i] = from[i];
    } else {
      GPUINT_UNROLL(5)
      for (u32 i = 0; i < RUN + 1; ++i)
        run[i] = at + i - WORD < b_limbs ? *(b + (at + i - WORD)) : 0;
    }
  }

  GPUINT_DEVICE static void make_rows(const Run& run, u32 (&rows)[STEPS][4]) {
    GPUINT_UNROLL(2)
    for (u32 step = 0; step < STEPS; ++step) {
      GPUINT_UNROLL(2)
      for (u32 i = 0; i < 2; ++i) {
        const u32 limb = run[RUN - 2 * step - i];
        rows[step][2 * i] = __byte_perm(limb, run[RUN - 2 * step - i - 1], 0x6701);
        rows[step][2 * i + 1] = __byte_perm(limb, 0, 0x0123);
      }
    }
  }

  // The columns of tiles first .. first + NT.
  GPUINT_DEVICE void columns(i32 first, Sums& sums) const {
    const u32 selector = lane / 4 % 2 == 0 ? 0x6543 : 0x7654;
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < NT; ++tile)
      sums[tile][0] = sums[tile][1] = sums[tile][2] = sums[tile][3] = 0;
    const i32 lowest = lo + first * static_cast<i32>(TILE_LIMBS);
    const i32 above = lowest + static_cast<i32>(NT * TILE_LIMBS);
    if (above <= 0) return;
    // Limbs of b that meet these tiles.
    const u32 from = lowest > static_cast<i32>(a_limbs) ? static_cast<u32>(lowest) - a_limbs : 0;
    const u32 to = min_of(b_limbs, static_cast<u32>(above));
    if (from >= to) return;
    GPUINT_UNROLL(1)
    for (u32 stripe = 0; stripe < STRIPES; ++stripe) {
      // Blocks whose places in this stripe meet them: a stripe begins 13 digits below its position.
      const u32 first_block = (from + TILE_LIMBS - STRIPE_LIMBS * (stripe + 1)) / TILE_LIMBS;
      const u32 blocks =
          to + 3 < STRIPE_LIMBS * stripe ? 0 : (to + 3 - STRIPE_LIMBS * stripe) / TILE_LIMBS + 1;
      if (first_block >= blocks) continue;
      // Of the stripe, limb by limb, so that few registers are live in the loop.
      u32 stripe_limb = stripe * STRIPE_LIMBS + first_block * TILE_LIMBS;
      const u32 end = stripe * STRIPE_LIMBS + blocks * TILE_LIMBS;
      const auto tile_limb = [&] { return lowest - static_cast<i32>(stripe_limb); };
      Rows rows;
      GPUINT_UNROLL(16)
      for (u32 tile = 1; tile < NT; ++tile) {
        Run run;
        read_a(tile_limb() + static_cast<i32>(tile * TILE_LIMBS), run);
        make_rows(run, rows[tile]);
      }
      // With cheap reads, one block ahead; the last one is not used.
      Run a_run, b_run;
      if constexpr (PADDED) {
        read_a(tile_limb(), a_run);
        read_b(stripe_limb, b_run);
      }
      GPUINT_UNROLL(1)
      while (true) {
        GPUINT_UNROLL(16)
        for (u32 turn = 0; turn < NT; ++turn) {
          u32 column[STEPS][2];
          if constexpr (!PADDED) {
            read_a(tile_limb(), a_run);
            read_b(stripe_limb, b_run);
          }
          make_rows(a_run, rows[(NT - turn) % NT]);
          GPUINT_UNROLL(2)
          for (u32 step = 0; step < STEPS; ++step) {
            GPUINT_UNROLL(2)
            for (u32 i = 0; i < 2; ++i)
              column[step][i] = __byte_perm(b_run[2 * step + i], b_run[2 * step + i + 1], selector);
          }
          stripe_limb += TILE_LIMBS;
          if constexpr (PADDED) {
            read_a(tile_limb(), a_run);
            read_b(stripe_limb, b_run);
          }
          GPUINT_UNROLL(2)
          for (u32 step = 0; step < STEPS; ++step) {
            GPUINT_UNROLL(16)
            for (u32 tile = NT; tile-- > 0;)
              ptx::mma(sums[tile], rows[(tile + NT - turn) % NT][step], column[step]);
          }
          if (stripe_limb == end) break;
        }
        if (stripe_limb == end) break;
      }
    }
  }
};

// The products of a division, NT tiles at a time. Products with fewer columns than MIN_COLUMNS are
// classical, and up to four times as many if an operand has fewer limbs: they do not have tiles for
// all warps of a block.
template <u32 NT, u32 MIN_COLUMNS, bool PADDED_>
struct TensorColumns {
  static constexpr bool PADDED = PADDED_;
  static constexpr u32 MAX_CLASSICAL = 4 * MIN_COLUMNS;

  __host__ __device__ static constexpr u32 overflow_limbs(u32 width) {
    const u32 tiles = 2 * ceil_div(width, TILE_LIMBS);
    return MIN_COLUMNS == 0 ? tiles
                            : max_of(gpuint::overflow_limbs(min_of(width, MAX_CLASSICAL)), tiles);
  }

  template <class S>
  __host__ __device__ static constexpr u32 scratch_limbs(u32, u32, u32) {
    return 0;
  }

  template <class Limb, class G, class Scratch>
  GPUINT_DEVICE static Columns<Limb> multiply(G& group, const Factors<Limb>& f, Limb* out,
                                              Limb* overflow, u32 overflow_capacity,
                                              const Scratch& scratch) {
    if constexpr (MIN_COLUMNS > 0)
      if (is_small(f))
        return Classical::multiply<Limb>(group, f, out, overflow, overflow_capacity, scratch);
    return run(group, f, false, out, overflow);
  }

  template <class Limb, class G, class Scratch>
  GPUINT_DEVICE static Columns<Limb> subtract(G& group, const Factors<Limb>& f, Limb* out,
                                              Limb* overflow, u32 overflow_capacity,
                                              const Scratch& scratch) {
    if constexpr (MIN_COLUMNS > 0)
      if (is_small(f))
        return Classical::subtract<Limb>(group, f, out, overflow, overflow_capacity, scratch);
    return run(group, f, true, out, overflow);
  }

  // Columns lo .. hi of a * a; b is not used. The product of a number with itself
  // (mul/tensor/product.cuh).
  template <class Limb, class G, class Scratch>
  GPUINT_DEVICE static Columns<Limb> square(G& group, const Factors<Limb>& f, Limb* out,
                                            Limb* overflow, const Scratch& scratch) {
    const Factors<Limb> product{f.a, f.a_limbs, f.a, f.a_limbs, f.lo, f.hi};
    if constexpr (MIN_COLUMNS > 0)
      if (is_small(product)) return Classical::square<Limb>(group, f, out, overflow, scratch);
    return run(group, product, false, out, overflow);
  }

 private:
  GPUINT_DEVICE static bool is_small(const Factors<u32>& f) {
    const u32 width = f.hi - f.lo;
    return width < MIN_COLUMNS ||
           (width <= MAX_CLASSICAL && min_of(f.a_limbs, f.b_limbs) < MIN_COLUMNS);
  }

  template <class G>
  GPUINT_DEVICE static Columns<u32> run(G& group, const Factors<u32>& f, bool subtract, u32* out,
                                        u32* overflow) {
    static_assert(G::THREADS % 32 == 0, "whole warps");
    const bool swap = f.a_limbs < f.b_limbs;
    const u32 *const a = swap ? f.b : f.a, *const b = swap ? f.a : f.b;
    const u32 a_limbs = max_of(f.a_limbs, f.b_limbs), b_limbs = min_of(f.a_limbs, f.b_limbs);
    const u32 width = f.hi - f.lo;
    deal_tiles<G::WARPS>(shared_place(a), a_limbs, shared_place(b), b_limbs, f.lo, width, subtract,
                         shared_place(out), shared_place(overflow));
    group.renew();
    return {out, overflow, width, 5, skipped(f.lo, width)};
  }

  // Columns of tile 0 below the lowest one.
  GPUINT_DEVICE static u32 skipped(u32 lo, u32 width) {
    return lo == 0 ? (0 - width) % TILE_LIMBS : 0;
  }

  // Not inlined: a division has four products, whose code together exceeds the instruction caches,
  // and short rows would wait most for instructions.
  template <u32 WARPS>
  GPUINT_NOINLINE static void deal_tiles(SharedPlace a, u32 a_limbs, SharedPlace b, u32 b_limbs,
                                         u32 lo, u32 width, bool subtract, SharedPlace out,
                                         SharedPlace overflow) {
    using Range = ToeplitzRange<NT, PADDED>;
    const u32 groups = ceil_div(width, NT * TILE_LIMBS);
    const u32 lane = threadIdx.x % 32;
    // The first columns from 0 on are short: there the incomplete group of tiles is at the bottom,
    // where it costs nothing; elsewhere it is at the top.
    const u32 below = lo == 0 ? groups * (NT * TILE_LIMBS) - width : 0;
    const i32 bottom = static_cast<i32>(below % TILE_LIMBS);
    const Range range{
        shared_limbs(a), shared_limbs(b), a_limbs, b_limbs, static_cast<i32>(lo) - bottom, lane};
    const u32 warp = WARPS == 1 ? 0 : threadIdx.x / 32 % WARPS;
    GPUINT_UNROLL(1)
    for (u32 base = 0; base < groups; base += WARPS) {
      // Backwards in every second round, since costs rise or fall.
      const u32 i = base + (base / WARPS % 2 == 0 ? warp : WARPS - 1 - warp);
      if (i >= groups) continue;
      const i32 first = static_cast<i32>(i * NT) - static_cast<i32>(below / TILE_LIMBS);
      typename Range::Sums sums;
      range.columns(first, sums);
      GPUINT_UNROLL(16)
      for (u32 j = 0; j < NT; ++j) {
        // Without a branch, so that the tiles are resolved in parallel.
        write_tile(lane, static_cast<u32>(first) + j, static_cast<u32>(bottom), width, subtract,
                   sums[j], shared_limbs(out), shared_limbs(overflow));
      }
    }
  }

  // Resolves the carries of a tile, adds it to or takes it from `out`, and leaves its overflow.
  // Columns outside of the width, below (where `tile` wraps) or above, are not written.
  GPUINT_DEVICE static void write_tile(u32 lane, u32 tile, u32 bottom, u32 width, bool subtract,
                                       const u32 (&sums)[4], u32* out, u32* overflow) {
    const u64 value =
        u64(sums[0]) + (u64(sums[1]) << 8) + (u64(sums[2]) << 16) + (u64(sums[3]) << 24);
    const u32 above = static_cast<u32>(value >> 32);
    const u32 shifted = __shfl_up_sync(~0u, above, 1);
    const u32 from_below = lane == 0 ? 0 : shifted;
    u32 limb = static_cast<u32>(value) + from_below;
    u32 beyond = above + carry_in(limb < from_below, limb == ~0u, lane, limb, 1);
    const u32 at = tile * TILE_LIMBS + lane - bottom;  // wraps below the lowest column
    if (subtract) {
      const u32 old = at < width ? out[at] : 0;
      u32 difference = old - limb;
      beyond += carry_in(old < limb, difference == 0, lane, difference, ~0u);
      limb = difference;
    }
    if (at < width) out[at] = limb;
    if (lane == 31 && tile < ceil_div(width, TILE_LIMBS))
      overflow[2 * tile] = beyond, overflow[2 * tile + 1] = 0;
  }

  // Gives each lane its carry, which it adds to x `unit` times; returns the carry out of the warp.
  GPUINT_DEVICE static u32 carry_in(bool generate, bool propagate, u32 lane, u32& x, u32 unit) {
    const u32 g = __ballot_sync(~0u, generate);
    const u32 p = __ballot_sync(~0u, propagate);
    const CarryLookahead carries(g, p);
    x += carries.into(lane) * unit;
    return carries.out_of(32);
  }
};

}  // namespace gpuint
