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
// carry to the next one, and a vote tells whether a carry goes further.
//
// All runs of a pass have the same 4 k + 1 limbs, so that no lane waits for another one: the first
// limb awaits the carry of the lane below, the others are computed four at a time. The limbs of the
// last run above the number are zero. The limbs of consecutive rows start LANES words modulo 32
// apart, and the length of a run is odd, so that lanes read from different banks.
#pragma once
#include "core/abi.cuh"
#include "core/carry.cuh"
#include "core/group.cuh"
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
  GPUINT_DEVICE void settle(u32* const (&x)[COUNT], const Chain (&chain)[COUNT], Run run) {
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
      settle(x, chain, run);
    } else if (run.from < run.to) {
      GPUINT_UNROLL(COUNT)
      for (u32 n = 0; n < COUNT; ++n) x[n][run.from] = chain[n].first;
    }
  }

  // u x + v y + carry: its low limb; carry becomes its high limb. u + v <= 2^32 - 1.
  GPUINT_DEVICE static u32 sum_of_products(u32 u, u32 x, u32 v, u32 y, u32& carry) {
    // The sum of the products does not wait for the carry.
    u32 low = 0, high = 0;
    ptx::mad_lo_cc(low, u, x);
    ptx::madc_hi_cc(high, u, x);
    ptx::mad_lo_cc(low, v, y);
    ptx::madc_hi_cc(high, v, y);
    ptx::add_cc(low, carry);
    ptx::addc(high, 0);
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
  GPUINT_DEVICE u32 at(u32 i) const { return i < length ? limbs[i] : 0; }
};

// The highest limbs of two numbers, [0] the highest, with 0 above the length of a number.
struct EuclidTop {
  u32 length;  // of the longer number
  u32 a[4], b[4];

  // Trims both numbers. A pass usually clears one limb of both, so a second look at shared memory
  // is rare.
  GPUINT_DEVICE EuclidTop(EuclidNumber& x, EuclidNumber& y) {
    read(x, y);
    if (is_zero()) {
      --length;
      GPUINT_UNROLL(3)
      for (u32 j = 0; j < 3; ++j) a[j] = a[j + 1], b[j] = b[j + 1];
      if (is_zero()) {
        x.trim();
        y.trim();
        read(x, y);
      }
    }
    x.length = min_of(x.length, length);
    y.length = min_of(y.length, length);
    if (a[0] == 0) x.trim();
    if (b[0] == 0) y.trim();
  }

  GPUINT_DEVICE u32 shift() const { return static_cast<u32>(__clz(static_cast<int>(a[0] | b[0]))); }

  // 64 bits of the limbs below `shift` bits.
  GPUINT_DEVICE static u64 leading(const u32 (&x)[4], u32 shift) {
    return u64(__funnelshift_l(x[1], x[0], shift)) << 32 | __funnelshift_l(x[2], x[1], shift);
  }

 private:
  GPUINT_DEVICE bool is_zero() const { return (a[0] | b[0]) == 0; }
  GPUINT_DEVICE void read(const EuclidNumber& x, const EuclidNumber& y) {
    length = max_of(x.length, y.length);
    GPUINT_UNROLL(4)
    for (u32 j = 0; j < 4; ++j) {
      const bool exists = j < length;
      a[j] = exists ? x.limbs[length - 1 - j] : 0, b[j] = exists ? y.limbs[length - 1 - j] : 0;
    }
  }
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

template <class T>
GPUINT_DEVICE void exchange(T& a, T& b) {
  const T old = a;
  a = b, b = old;
}

// A multiple q 2^s b <= a for a >= b > 0, from the leading bits of both.
struct EuclidMultiple {
  u32 q, s;  // q may be 0 if s is

  // x = the leading bits of a, of `top` limbs, from `shift` on.
  GPUINT_DEVICE EuclidMultiple(u64 x, u32 top, u32 shift, const EuclidNumber& b) {
    const u32 highest = b.at(b.length - 1);
    const u32 shift_b = static_cast<u32>(__clz(static_cast<int>(highest)));
    const u32 y = __funnelshift_l(b.at(b.length - 2), highest, shift_b);
    q = static_cast<u32>((x >> 2) / (u64(y) + 1));
    const i32 distance =
        static_cast<i32>(32 * (top - b.length) + shift_b) - static_cast<i32>(shift + 30);
    if (distance < 0) q = distance > -32 ? q >> -distance : 0;
    s = distance < 0 ? 0 : static_cast<u32>(distance);
  }
};

// Numbers 0 and 1 of the group's row, and with COFACTORS 2 and 3, which start as 0 and 1. `active`
// groups have a row; all threads of a team call it. Of the result, the numbers may be overwritten
// at once, its cofactors after a barrier.
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
      const EuclidTop leading(a, b);
      top = leading.length;
      const u32 shift = leading.shift();
      u64 x = EuclidTop::leading(leading.a, shift), y = EuclidTop::leading(leading.b, shift);
      observer.begin(a, b);
      const bool exact = top <= 2;
      if (x < y || (x == y && !exact && is_less_from_top(a, b))) {
        exchange(a, b);
        exchange(x, y);
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
        const EuclidMultiple multiple(x, top, shift, b);
        q = max_of(multiple.q, 1), s = multiple.s;
        observer.subtract(s > 1 ? 0 : q << s);
      }
    }
    rows.group.sync();
    // Groups that do not take part in a pass use none of its limbs.
    const bool steps = active && c.u1 != 0, subtracts = active && c.u1 == 0;
    if (R::any(steps)) {
      // Both combinations of an odd number of steps are negative: each is stored as the other one.
      const bool odd = c.odd != 0;
      const Cofactors m{odd ? c.u1 : c.u0, odd ? c.v1 : c.v0, odd ? c.u0 : c.u1, odd ? c.v0 : c.v1};
      rows.template transform<true>(a.limbs, b.limbs, steps ? top : 0, m);
      if constexpr (COFACTORS) {
        const u32 length = min_of(cofactor_length + 1, R::N);
        rows.template transform<false>(a.cofactor, b.cofactor, steps ? length : 0, m);
        if (steps) cofactor_length = length;
      }
      if (steps) {
        a.length = b.length = top;
        if (odd) {
          exchange(a, b);
          negative = !negative;
        }
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
  return {a, b, cofactor_length, negative};
}

}  // namespace gpuint
