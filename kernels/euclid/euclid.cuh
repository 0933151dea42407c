// Euclid's algorithm for rows: the common part of gcd, inverses and Jacobi symbols.
//
// A row's pair (a, b) is in shared memory, with its cofactors if they are wanted. A pass reads the
// leading 64 bits of both and applies the matrix of Lehmer's steps (leading.cuh). If not even one
// step is certain, it subtracts a multiple of b from a instead:
//     a -= q 2^s b,    q = floor(floor(x / 4) / (y + 1)), shifted right where s would be negative,
// with x the leading 64 bits of a and y the leading 32 bits of b, so that q 2^s b <= a; or a -= b
// if q would be 0. Every pass makes a + b smaller, so the loop ends for every operand. Both kinds
// of passes are unimodular, so it ends with b = 0 and a the greatest common divisor.
//
// Cofactors are magnitudes. With a = +-ca v and b = -+cb v modulo n, at the start (a, ca) = (n, 0)
// and (b, cb) = (v, 1), every pass keeps
//     ca b + cb a = n,
// so that ca <= n / b and cb <= n / a: they need no more limbs than n. The lengths of a and b
// shrink while those of ca and cb grow.
//
// A row is processed by 1 to 32 lanes of a warp, or by the warps of a block, with a run of
// consecutive limbs per lane in each pass. Negative terms are sums of complements: u a - v b = u a
// + v (B^n - 1 - b) + v modulo B^n, so that all carries are positive and below B. A lane passes its
// carry to the next one, and a vote resolves the remaining carries.
//
// The limbs of consecutive rows start LANES words modulo 32 apart, and a run has odd length, so
// that lanes read from different banks.
#pragma once
#include "core/abi.cuh"
#include "core/carry.cuh"
#include "core/group.cuh"
#include "core/math.cuh"
#include "core/rows.cuh"
#include "core/shape.cuh"
#include "euclid/leading.cuh"

namespace gpuint {

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
  static constexpr u32 STRIDE = LANES == 1    ? N | 1
                                : LANES >= 32 ? N
                                              : round_up(N - LANES % 32, 32) + LANES;
  static constexpr u32 NUMBER = TEAM_ROWS * STRIDE;  // limbs of one number of all rows of a team
  // Carries between the warps of a group, of two numbers.
  static constexpr u32 CARRY_BYTES = G::IN_WARP ? 0 : 2 * LANES * sizeof(u32);
  static constexpr u32 SHARED =
      round_up(G::SCRATCH_BYTES + CARRY_BYTES, 16) + TEAMS * NUMBERS * NUMBER * sizeof(u32);
  static constexpr u32 SCRATCH = 0;
  static constexpr u32 MIN_BLOCKS = 1;
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
    for (u32 i = rank; i < TEAM_ROWS * N; i += TEAM) {
      const u32 row = i / N, k = i % N;
      number(index, row)[k] = row < count ? limb_of_32<S>(from + row * S::N, k) : 0;
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

  // Writes x, padded with zeros, to a number of the group's row.
  GPUINT_DEVICE void put(u32 index, const u32* x, u32 length) const {
    u32* const to = number(index);
    for (u32 k = group.rank; k < N; k += LANES) to[k] = k < length ? x[k] : 0;
  }

  // Limbs [from, to) of a lane.
  struct Run {
    u32 from, to;
  };
  GPUINT_DEVICE Run run(u32 length) const {
    if constexpr (LANES == 1) return {0, length};
    const u32 limbs = ceil_div(length, LANES) | 1;
    const u32 from = min_of(group.rank * limbs, length);
    return {from, min_of(from + limbs, length)};
  }

  // A number being computed: the carry out of the lane's run, and the AND of the limbs above the
  // first one of the run.
  struct Chain {
    u32 carry;
    u32 above = ~0u;
  };

  // Passes carries from lane to lane; `number` is 0 or 1, the argument of `publish`.
  GPUINT_DEVICE void settle(u32* x, Run run, Chain chain, u32 number) {
    if constexpr (LANES > 1) {
      u32 below = group.from_below(chain.carry);
      if constexpr (!G::IN_WARP)
        if (group.lane == 0 && group.rank != 0) below = carries[number * LANES + group.rank - 1];
      if (group.rank == 0) below = 0;
      const bool idle = run.from >= run.to;
      u64 sum = u64(idle ? 0 : x[run.from]) + below;
      const bool over = sum >> 32 != 0;
      const bool ones = chain.above == ~0u && !idle;
      const bool generate = over && ones;
      const bool propagate = !over && ones && static_cast<u32>(sum) == ~0u;
      sum += resolve_carries(group, generate, propagate, 0, 0).in;
      if (idle) return;
      x[run.from] = static_cast<u32>(sum);
      if (sum >> 32 != 0)
        for (u32 i = run.from + 1; i < run.to && ++x[i] == 0;) ++i;
    }
  }

  // Carries of runs for the warp above. The barrier of resolve_carries separates them from the next
  // ones.
  GPUINT_DEVICE void publish(u32 first, u32 second) const {
    if constexpr (!G::IN_WARP) {
      carries[group.rank] = first;
      carries[LANES + group.rank] = second;
      __syncthreads();
    }
  }

  // (a, b) = (u0 a' + v0 b', u1 a" + v1 b") modulo 2^(32 length), where a' and b" are complements
  // by `flip_a` and b' and a" by `flip_b`; a complemented number stands for its negative.
  GPUINT_DEVICE void transform(u32* a, u32* b, u32 length, const Cofactors& c, u32 flip_a,
                               u32 flip_b) {
    const Run lane = run(length);
    Chain first{group.rank == 0 ? (flip_a & c.u0) | (flip_b & c.v0) : 0};
    Chain second{group.rank == 0 ? (flip_b & c.u1) | (flip_a & c.v1) : 0};
    const auto limb = [&](u32 i, u32 x, u32 y) {
      const u32 low = sum_of_products(c.u0, x ^ flip_a, c.v0, y ^ flip_b, first.carry);
      const u32 high = sum_of_products(c.u1, x ^ flip_b, c.v1, y ^ flip_a, second.carry);
      a[i] = low, b[i] = high;
      if (LANES > 1 && i != lane.from) first.above &= low, second.above &= high;
    };
    u32 i = lane.from;
    GPUINT_UNROLL(1)
    for (; i + 4 <= lane.to; i += 4) {
      u32 x[4], y[4];
      GPUINT_UNROLL(4)
      for (u32 j = 0; j < 4; ++j) x[j] = a[i + j], y[j] = b[i + j];
      GPUINT_UNROLL(4)
      for (u32 j = 0; j < 4; ++j) limb(i + j, x[j], y[j]);
    }
    GPUINT_UNROLL(1)
    for (; i < lane.to; ++i) limb(i, a[i], b[i]);
    publish(first.carry, second.carry);
    settle(a, lane, first, 0);
    settle(b, lane, second, 1);
  }

  // a += q 2^(32 limbs + bits) b modulo 2^(32 length); with `flip` (all ones) it subtracts.
  GPUINT_DEVICE void add_shifted(u32* a, const u32* b, u32 length, u32 q, u32 limbs, u32 bits,
                                 u32 flip) {
    const Run lane = run(length);
    Chain chain{group.rank == 0 ? flip & q : 0};
    GPUINT_UNROLL(1)
    for (u32 i = lane.from; i < lane.to; ++i) {
      const u32 high = i >= limbs ? b[i - limbs] : 0;
      const u32 low = i >= limbs + 1 ? b[i - limbs - 1] : 0;
      const u32 sum =
          sum_of_products(q, __funnelshift_l(low, high, bits) ^ flip, 1, a[i], chain.carry);
      a[i] = sum;
      if (i != lane.from) chain.above &= sum;
    }
    publish(chain.carry, 0);
    settle(a, lane, chain, 0);
  }

  // u x + v y + carry: its low limb; carry becomes its high limb. u + v <= 2^32 - 1.
  GPUINT_DEVICE static u32 sum_of_products(u32 u, u32 x, u32 v, u32 y, u32& carry) {
    u32 low = carry, high = 0;
    ptx::mad_lo_cc(low, u, x);
    ptx::madc_hi_cc(high, u, x);
    ptx::mad_lo_cc(low, v, y);
    ptx::madc_hi_cc(high, v, y);
    carry = high;
    return low;
  }
};

// One number of a pair: its limbs, a bound of its length, and the limbs of its cofactor.
struct EuclidNumber {
  u32* limbs;
  u32 length;
  u32* cofactor;

  GPUINT_DEVICE void trim() {
    while (length > 0 && limbs[length - 1] == 0) --length;
  }
  // Bits 64 .. 1 below bit 32 top - shift.
  GPUINT_DEVICE u64 leading(u32 top, u32 shift) const {
    const u32 high = at(top - 1), middle = at(top - 2), low = at(top - 3);
    return u64(__funnelshift_l(middle, high, shift)) << 32 | __funnelshift_l(low, middle, shift);
  }

 private:
  GPUINT_DEVICE u32 at(u32 i) const { return i < length ? limbs[i] : 0; }
};

// Observer of the quotients that does nothing and stops at b = 0. Jacobi symbols need the
// quotients, rational numbers a remainder.
struct Unobserved {
  GPUINT_DEVICE void begin(const EuclidNumber&, const EuclidNumber&) {}
  GPUINT_DEVICE void swap() {}
  GPUINT_DEVICE void subtract(u32) {}  // a -= q b, q modulo 4
  // True for the remainder b at which the algorithm ends, besides 0.
  GPUINT_DEVICE bool ends(const EuclidNumber&) const { return false; }
  // True if a pass may take several steps on numbers of `top` limbs.
  GPUINT_DEVICE bool allows_steps(u32) const { return true; }
};

// Result of Euclid's algorithm: the greatest common divisor, or the remainder before the last, and
// the sign of its cofactor; the last remainder.
struct EuclidResult {
  EuclidNumber divisor;
  EuclidNumber remainder;
  u32 cofactor_length;  // of both cofactors
  bool negative;

  GPUINT_DEVICE bool is_one() const { return divisor.length == 1 && divisor.limbs[0] == 1; }
};

// Returns a < b for equal lengths; each lane compares by itself.
GPUINT_DEVICE bool is_less_from_top(const EuclidNumber& a, const EuclidNumber& b) {
  u32 i = a.length;
  while (i > 0 && a.limbs[i - 1] == b.limbs[i - 1]) --i;
  return i > 0 && a.limbs[i - 1] < b.limbs[i - 1];
}

// Numbers 0 and 1 of the group's row, and with COFACTORS 2 and 3, which start as 0 and 1. `active`
// groups have a row; all threads of a team call it.
template <bool COFACTORS, class R, class Observer>
GPUINT_DEVICE EuclidResult euclid(R& rows, bool active, Observer& observer) {
  EuclidNumber a{rows.number(0), R::N, COFACTORS ? rows.number(2) : nullptr};
  EuclidNumber b{rows.number(1), R::N, COFACTORS ? rows.number(3) : nullptr};
  u32 cofactor_length = 1;
  bool negative = true;  // the cofactor of a
  while (R::any(active)) {
    rows.group.sync();
    Cofactors c;
    u32 top = 0, q = 0, s = 0;
    if (active) {
      a.trim();
      b.trim();
      top = max_of(a.length, b.length);
      u64 x = 0, y = 0;
      u32 shift = 0;
      if (top != 0) {
        shift = static_cast<u32>(__clz(static_cast<int>((a.length == top ? a.limbs[top - 1] : 0) |
                                                        (b.length == top ? b.limbs[top - 1] : 0))));
        x = a.leading(top, shift);
        y = b.leading(top, shift);
      }
      observer.begin(a, b);
      const bool exact = top <= 2;
      if (x < y || (x == y && !exact && is_less_from_top(a, b))) {
        const EuclidNumber third = a;
        a = b, b = third;
        const u64 z = x;
        x = y, y = z;
        negative = !negative;
        observer.swap();
      }
      active = b.length != 0 && !observer.ends(b);
      if (active && observer.allows_steps(top))
        c = leading_steps(x, y, exact, [&](u32 quotient) {
          observer.subtract(quotient);
          observer.swap();
        });
      if (active && c.u1 == 0) {
        if (rows.group.rank == 0) GPUINT_RARE(EuclidSubtraction);
        const u32 shift_b = static_cast<u32>(__clz(static_cast<int>(b.limbs[b.length - 1])));
        const u32 y_high = static_cast<u32>(b.leading(b.length, shift_b) >> 32);
        q = static_cast<u32>((x >> 2) / (u64(y_high) + 1));
        const i32 distance =
            static_cast<i32>(32 * (top - b.length) + shift_b) - static_cast<i32>(shift + 30);
        if (distance < 0) q = max_of(distance > -32 ? q >> -distance : 0, 1);
        s = distance < 0 ? 0 : static_cast<u32>(distance);
        observer.subtract(s > 1 ? 0 : q << s);
      }
    }
    rows.group.sync();
    // Groups that do not take part in a pass use none of its limbs.
    const bool steps = active && c.u1 != 0, subtracts = active && c.u1 == 0;
    if (R::any(steps)) {
      rows.transform(a.limbs, b.limbs, steps ? top : 0, c, c.odd, ~c.odd);
      if constexpr (COFACTORS) {
        const u32 length = min_of(cofactor_length + 1, R::N);
        rows.transform(a.cofactor, b.cofactor, steps ? length : 0, c, 0, 0);
        if (steps) cofactor_length = length;
      }
      if (steps) {
        a.length = b.length = top;
        negative ^= c.odd != 0;
      }
    }
    if (R::any(subtracts)) {
      rows.add_shifted(a.limbs, b.limbs, subtracts ? top : 0, q, s / 32, s % 32, ~0u);
      if constexpr (COFACTORS) {
        const u32 length = min_of(cofactor_length + s / 32 + 2, R::N);
        rows.add_shifted(a.cofactor, b.cofactor, subtracts ? length : 0, q, s / 32, s % 32, 0);
        if (subtracts) cofactor_length = length;
      }
    }
    if constexpr (COFACTORS) {
      rows.group.sync();
      while (cofactor_length > 1 &&
             (a.cofactor[cofactor_length - 1] | b.cofactor[cofactor_length - 1]) == 0)
        --cofactor_length;
    }
  }
  // Lanes of other warps may still read what the caller overwrites.
  if constexpr (!R::G::IN_WARP) rows.group.sync();
  return {a, b, cofactor_length, negative};
}

}  // namespace gpuint
