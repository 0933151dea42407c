// HalfGcd: the matrix of Lehmer's steps that halves the length of two numbers.
//
// For x, y below 2^n the result is a matrix of nonnegative entries with u0 v1 - v0 u1 = 1 and
//     x' = u0 x - v0 y >= 2^(n/2 + 1),    y' = v1 y - u1 x >= 2^(n/2 + 1),
// or the identity if x or y is below 2^(n/2 + 1) from the start. Because x = v1 x' + v0 y' and
// y = u1 x' + u0 y', the entries are below 2^n / 2^(n/2 + 1) = 2^(n/2 - 1).
//
// Therefore the matrix also suits all numbers with the leading bits x and y: for 0 <= a', b' < 2^s,
//     u0 (x 2^s + a') - v0 (y 2^s + b') > 2^s (x' - 2^(n/2 - 1)) > 0,
// and the same holds for the other number. (N. Moller, "On Schonhage's algorithm and subquadratic
// integer gcd computation", Mathematics of Computation 77, 2008, has a similar condition.)
//
// Let the longer number have `bits` bits and S = 2^(bits - 64). No pass leaves a number below S:
// - steps on the leading bits (leading.cuh) leave remainders of at least S;
// - a - (q - 1) 2^s b >= b if q 2^s b <= a, for a multiple of the leading bits (euclid.cuh);
// - a - b > S if the leading 64 bits differ by at least 2.
// The passes end if S < 2^(n/2 + 1), if b is that short, or if none of these conditions holds.
#pragma once
#include "euclid/euclid.cuh"

namespace gpuint {

// Observer that ends at remainders below the bound 2^BITS.
template <u32 BITS>
struct RemainderBound : Unobserved {
  static constexpr bool IS_ORDERED = false, IS_BOUNDED = true;

  // The leading bits of numbers above the bound are never all of them.
  GPUINT_DEVICE static bool is_exact(u32) { return false; }
  GPUINT_DEVICE bool ends(const EuclidNumber& b, u32 top, u32 shift) const {
    return 32 * top < BITS + 64 + shift || b.bits() <= BITS;
  }
  GPUINT_DEVICE static u32 factor(u32 q) { return q >= 2 ? q - 1 : 1; }
  GPUINT_DEVICE static void count_multiple() { GPUINT_RARE(HalfGcdSubtraction); }
  GPUINT_DEVICE static bool is_bounded(u32 q, u64 difference, const EuclidNumber&,
                                       const EuclidNumber&) {
    return q >= 2 || difference >= 2;
  }
};

// in[0] = x, in[1] = y; out[0] = u0 + 2^(BITS / 2) v0, out[1] = u1 + 2^(BITS / 2) v1.
template <class S, u32 PER_LANE = 32>
struct HalfGcd : EuclidRows<S, 2, PER_LANE> {
  using Rows = EuclidRows<S, 2, PER_LANE>;
  using Rows::LANES;
  using Rows::N;
  using Rows::TEAM_ROWS;
  using Rows::TEAMS;
  using Rows::THREADS;
  static_assert(S::BITS % 64 == 0 && Rows::G::IN_WARP, "entries have whole limbs");

  static constexpr u32 ENTRY = N / 2;                 // limbs of an entry
  static constexpr u32 BOUND_BITS = S::BITS / 2 + 1;  // of 2^BOUND_BITS
  static constexpr u32 ENTRY_RUN = run_of(ceil_div(ENTRY, LANES));
  static constexpr u32 ENTRY_STRIDE =
      LANES == 1 || LANES >= 32 ? LANES * ENTRY_RUN : round_up(LANES * (ENTRY_RUN - 1), 32) + LANES;
  static constexpr u32 ENTRIES = TEAM_ROWS * ENTRY_STRIDE;  // limbs of one entry of all rows
  static constexpr u32 SHARED =
      round_up(Rows::SHARED, 16) + TEAMS * 4 * ENTRIES * static_cast<u32>(sizeof(u32));
  static constexpr u32 MIN_BLOCKS =
      max_of(1, min_of(28 * 32 / THREADS, (224 << 10) / (SHARED + 1024)));

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Rows rows(shared);
    u32* const entries = reinterpret_cast<u32*>(shared + round_up(Rows::SHARED, 16)) +
                         threadIdx.x / Rows::TEAM * 4 * ENTRIES;
    rows.for_rows(o.rows, [&](u64 first, u32 count) {
      rows.load_pair(o.in[0], o.in[1], first, count);
      GPUINT_UNROLL(1)
      for (u32 i = rows.rank; i < 4 * ENTRIES; i += Rows::TEAM) {
        const u32 entry = i / ENTRIES;
        entries[i] = i % ENTRIES % ENTRY_STRIDE == 0 && (entry == 0 || entry == 3) ? 1 : 0;
      }
      rows.team_sync();
      // Entries u of both numbers come first, then v.
      u32* const own = entries + rows.own * ENTRY_STRIDE;
      RemainderBound<BOUND_BITS> bound;
      euclid(rows, EuclidCofactors<2, ENTRY, 2 * ENTRIES>{own, own + ENTRIES}, rows.own < count,
             bound);
      rows.team_sync();
      store(rows, o.out[0], first, count, entries);
      store(rows, o.out[1], first, count, entries + ENTRIES);
    });
  }

 private:
  // Stores two entries of each row, 2 ENTRIES apart.
  GPUINT_DEVICE static void store(const Rows& rows, void* operand, u64 first, u32 count,
                                  const u32* entries) {
    auto* const to = static_cast<typename S::Limb*>(operand) + first * S::N;
    GPUINT_UNROLL(4)
    for (u32 i = rows.rank; i < TEAM_ROWS * N; i += Rows::TEAM) {
      const u32 row = i / N, k = i % N;
      const u32* const entry = entries + row * ENTRY_STRIDE + (k < ENTRY ? 0 : 2 * ENTRIES);
      if (row < count) write_limb_of_32<S>(to + row * S::N, k, entry[k % ENTRY]);
    }
  }
};

}  // namespace gpuint
