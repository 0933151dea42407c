// Rows of the operations of Euclid's algorithm: their numbers in shared memory, and linear
// combinations of two numbers.
//
// A row is processed by 1 to 32 lanes of a warp, or by the warps of a block, with a run of
// consecutive limbs per lane in each pass. Negative terms are sums of complements: u a - v b = u a
// + v (B^n - 1 - b) + v modulo B^n, so that all carries are positive and below B. A lane passes its
// carry to the next one, and a ballot detects carries that propagate further.
//
// All runs of a pass have the same 4 k + 1 limbs, so that no lane waits for another one: the first
// limb awaits the carry of the lane below, the others are computed four at a time. The limbs of the
// last run above the number are zero. The limbs of consecutive rows start LANES words modulo 32
// apart, and the length of a run is odd, so that lanes read from different banks.
#pragma once
#include "core/abi.cuh"
#include "core/carry.cuh"
#include "core/group.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/rows.cuh"
#include "core/shape.cuh"
#include "euclid/leading.cuh"

namespace gpuint {

// Limbs of a run of at least `limbs`: the next 4 k + 1.
__host__ __device__ constexpr u32 run_of(u32 limbs) { return (limbs + 2) / 4 * 4 + 1; }

// Numbers of a row in shared memory; PER_LANE limbs of a row per lane.
template <class S, u32 NUMBERS, u32 PER_LANE>
struct EuclidRows {
  static constexpr u32 N = ceil_div(S::BITS, 32);
  static constexpr u32 LANES =
      N <= PER_LANE ? 1 : min_of(1024, power_of_two_at_least(ceil_div(N, PER_LANE)));
  using G = Group<LANES>;
  // Threads that load and store rows together: a warp, or the group.
  static constexpr u32 TEAM = max_of(32, LANES);
  static constexpr u32 TEAM_ROWS = TEAM / LANES;
  static constexpr u32 THREADS = max_of(64, LANES);
  static constexpr u32 TEAMS = THREADS / TEAM;
  static constexpr u32 ROWS = TEAMS * TEAM_ROWS;
  // Limbs of the longest run, 4 k + 1; those above limb N stay zero.
  static constexpr u32 LONGEST_RUN = run_of(ceil_div(N, LANES));
  static constexpr u32 STRIDE = LANES == 1 || LANES >= 32
                                    ? round_up(N, LONGEST_RUN)
                                    : round_up(LANES * (LONGEST_RUN - 1), 32) + LANES;
  static constexpr u32 NUMBER = TEAM_ROWS * STRIDE;  // limbs of one number of all rows of a team
  // Carries between the warps of a group, of two numbers.
  static constexpr u32 CARRY_BYTES = G::IN_WARP ? 0 : 2 * LANES * sizeof(u32);
  static constexpr u32 SHARED =
      round_up(G::SCRATCH_BYTES + CARRY_BYTES, 16) + TEAMS * NUMBERS * NUMBER * sizeof(u32);
  static constexpr u32 SCRATCH = 0;
  // As many as shared memory has room for, up to 28 warps: 72 registers spill nothing.
  static constexpr u32 MIN_BLOCKS =
      max_of(1, min_of(28 * 32 / THREADS, (224 << 10) / (SHARED + 1024)));
  static constexpr u32 PERSISTENT = 0;

  G group;
  u32 rank;      // in the team
  u32* team;     // the team's numbers
  u32* carries;  // of a block's lanes
  u32 own;       // the group's row of the team

  GPUINT_DEVICE explicit EuclidRows(unsigned char* shared)
      : group(shared),
        rank(threadIdx.x % TEAM),
        team(reinterpret_cast<u32*>(shared + round_up(G::SCRATCH_BYTES + CARRY_BYTES, 16)) +
             threadIdx.x / TEAM * NUMBERS * NUMBER),
        carries(reinterpret_cast<u32*>(shared + G::SCRATCH_BYTES)),
        own(rank / LANES) {
    // Groups of a warp proceed together: collectives with a mask for each would separate them.
    if constexpr (G::IN_WARP) group.mask = ~0u;
  }

  // A predicate of any group of the warp; for groups of more than a warp all warps agree on it.
  GPUINT_DEVICE static bool any(bool predicate) {
    if constexpr (G::IN_WARP)
      return __any_sync(~0u, predicate);
    else
      return predicate;
  }

  // Runs work(first, count) for the rows of each team in turn.
  template <class Work>
  GPUINT_DEVICE void for_rows(u64 rows, Work work) const {
    for (u64 base = u64(blockIdx.x) * ROWS; base < rows; base += u64(gridDim.x) * ROWS) {
      const u64 first = base + threadIdx.x / TEAM * TEAM_ROWS;
      const u64 left = first < rows ? rows - first : 0;
      work(first, left < TEAM_ROWS ? static_cast<u32>(left) : TEAM_ROWS);
      team_sync();
    }
  }

  GPUINT_DEVICE void team_sync(GPUINT_SITE) const {
    if constexpr (G::IN_WARP)
      __syncwarp(~0u);
    else
      __syncthreads(GPUINT_PASS_SITE);
  }

  GPUINT_DEVICE u32* number(u32 index, u32 row) const {
    return team + index * NUMBER + row * STRIDE;
  }
  GPUINT_DEVICE u32* number(u32 index) const { return number(index, own); }

  // Loads rows of an operand into a number; missing rows are zero.
  GPUINT_DEVICE void load(const void* operand, u64 first, u32 count, u32 index) const {
    const auto* const from = static_cast<const typename S::Limb*>(operand) + first * S::N;
    GPUINT_UNROLL(4)
    for (u32 i = rank; i < NUMBER; i += TEAM) {
      const u32 row = i / STRIDE, k = i % STRIDE;
      number(index, row)[k] = row < count && k < N ? limb_of_32<S>(from + row * S::N, k) : 0;
    }
  }

  GPUINT_DEVICE void store(void* operand, u64 first, u32 count, u32 index) const {
    auto* const to = static_cast<typename S::Limb*>(operand) + first * S::N;
    GPUINT_UNROLL(4)
    for (u32 i = rank; i < TEAM_ROWS * N; i += TEAM) {
      const u32 row = i / N, k = i % N;
      if (row < count) write_limb_of_32<S>(to + row * S::N, k, number(index, row)[k]);
    }
  }

  // Loads rows of two operands as numbers 0 and 1.
  GPUINT_DEVICE void load_pair(const void* a, const void* b, u64 first, u32 count) const {
    load(a, first, count, 0);
    load(b, first, count, 1);
  }

  // Loads rows of two operands as numbers 0 and 1, with the cofactors 0 and 1 as numbers 2 and 3.
  GPUINT_DEVICE void load_with_cofactors(const void* a, const void* b, u64 first, u32 count) const {
    load_pair(a, b, first, count);
    const u32 one = 1;
    put(2, &one, 0);
    put(3, &one, 1);
  }

  // Writes x, padded with zeros, to a number of the group's row.
  GPUINT_DEVICE void put(u32 index, const u32* x, u32 length) const {
    u32* const to = number(index);
    for (u32 k = group.rank; k < STRIDE; k += LANES) to[k] = k < length ? x[k] : 0;
  }

  // Limbs [from, to) of a lane: 4 k + 1, the same number in all lanes that have any.
  struct Run {
    u32 from, to;
  };
  GPUINT_DEVICE Run run(u32 length) const {
    const u32 limbs = run_of(ceil_div(length, LANES)), from = group.rank * limbs;
    return {from, from < length ? from + limbs : from};
  }

  // A number being computed: the first limb of the lane's run, the AND of those above it, and the
  // carry out of the run.
  struct Chain {
    u32 carry;
    u32 above = ~0u;
    u32 first = 0;
  };

  // Adds the carries of the lanes below to the first limbs of the runs of `COUNT` numbers.
  template <u32 COUNT>
  GPUINT_DEVICE void resolve_chains(u32* const (&x)[COUNT], const Chain (&chain)[COUNT], Run run) {
    const bool idle = run.from >= run.to;
    const bool is_long = run.from + 1 < run.to;
    u32 second[COUNT], sum[COUNT];
    bool over[COUNT], generate[COUNT], propagate[COUNT];
    // The barrier of resolve_carries separates these carries from the next ones.
    if constexpr (!G::IN_WARP) {
      GPUINT_UNROLL(COUNT)
      for (u32 n = 0; n < COUNT; ++n) carries[n * LANES + group.rank] = chain[n].carry;
      __syncthreads();
    }
    bool is_settled = true;
    GPUINT_UNROLL(COUNT)
    for (u32 n = 0; n < COUNT; ++n) {
      second[n] = is_long ? x[n][run.from + 1] : 0;
      u32 below = group.from_below(chain[n].carry);
      if constexpr (!G::IN_WARP)
        if (group.lane == 0 && group.rank != 0) below = carries[n * LANES + group.rank - 1];
      if (group.rank == 0) below = 0;
      sum[n] = chain[n].first + below;
      over[n] = sum[n] < below;
      const bool ones = chain[n].above == ~0u && !idle;
      generate[n] = over[n] && ones;
      propagate[n] = sum[n] == ~0u && ones;
      is_settled = is_settled && !generate[n] && !propagate[n];
    }
    // Few numbers have a lane of ones.
    if (!G::IN_WARP || __any_sync(group.mask, !is_settled)) {
      GPUINT_UNROLL(COUNT)
      for (u32 n = 0; n < COUNT; ++n) {
        const u32 carry = resolve_carries(group, generate[n], propagate[n], 0, 0).in;
        sum[n] += carry;
        over[n] = over[n] || sum[n] < carry;
      }
    }
    if (idle) return;
    GPUINT_UNROLL(COUNT)
    for (u32 n = 0; n < COUNT; ++n) {
      x[n][run.from] = sum[n];
      if (over[n] && is_long) {
        x[n][run.from + 1] = ++second[n];
        if (second[n] == 0)
          for (u32 i = run.from + 2; i < run.to && ++x[n][i] == 0;) ++i;
      }
    }
  }

  // (a, b) = (u0 a + v0 b, u1 a + v1 b) modulo a power of 2^32 from 2^(32 length) on; with
  // SUBTRACTS, (u0 a - v0 b, v1 b - u1 a).
  template <bool SUBTRACTS>
  GPUINT_DEVICE void transform(u32* a, u32* b, u32 length, const Cofactors& c) {
    const Run lane = run(length);
    Chain chain[2] = {{SUBTRACTS && group.rank == 0 ? c.v0 : 0},
                      {SUBTRACTS && group.rank == 0 ? c.u1 : 0}};
    const auto limbs = [&](u32 x, u32 y, u32& low, u32& high) {
      constexpr u32 FLIP = SUBTRACTS ? ~0u : 0;
      low = sum_of_products(c.u0, x, c.v0, y ^ FLIP, chain[0].carry);
      high = sum_of_products(c.u1, x ^ FLIP, c.v1, y, chain[1].carry);
    };
    if (lane.from < lane.to) limbs(a[lane.from], b[lane.from], chain[0].first, chain[1].first);
    GPUINT_UNROLL(1)
    for (u32 i = lane.from + 1; i < lane.to; i += 4) {
      u32 x[4], y[4];
      GPUINT_UNROLL(4)
      for (u32 j = 0; j < 4; ++j) x[j] = a[i + j], y[j] = b[i + j];
      GPUINT_UNROLL(4)
      for (u32 j = 0; j < 4; ++j) {
        u32 low, high;
        limbs(x[j], y[j], low, high);
        a[i + j] = low, b[i + j] = high;
        if constexpr (LANES > 1) chain[0].above &= low, chain[1].above &= high;
      }
    }
    store_first({a, b}, chain, lane);
  }

  // a += q 2^(32 limbs + bits) b modulo 2^(32 length); with `flip` (all ones) it subtracts.
  GPUINT_DEVICE void add_shifted(u32* a, const u32* b, u32 length, u32 q, u32 limbs, u32 bits,
                                 u32 flip) {
    const Run lane = run(length);
    Chain chain[1] = {{group.rank == 0 ? flip & q : 0}};
    GPUINT_UNROLL(1)
    for (u32 i = lane.from; i < lane.to; ++i) {
      const u32 high = i >= limbs ? b[i - limbs] : 0;
      const u32 low = i >= limbs + 1 ? b[i - limbs - 1] : 0;
      const u32 sum =
          sum_of_products(q, __funnelshift_l(low, high, bits) ^ flip, 1, a[i], chain[0].carry);
      a[i] = sum;
      if (i == lane.from)
        chain[0].first = sum;
      else
        chain[0].above &= sum;
    }
    store_first({a}, chain, lane);
  }

  // Stores the first limbs of the runs of `COUNT` numbers.
  template <u32 COUNT>
  GPUINT_DEVICE void store_first(u32* const (&x)[COUNT], const Chain (&chain)[COUNT], Run run) {
    if constexpr (LANES > 1) {
      resolve_chains(x, chain, run);
    } else if (run.from < run.to) {
      GPUINT_UNROLL(COUNT)
      for (u32 n = 0; n < COUNT; ++n) x[n][run.from] = chain[n].first;
    }
  }
};

}  // namespace gpuint
