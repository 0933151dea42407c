// Second phase: reciprocals of 64 digits of 16 bits, one guard digit and a bit, limb by limb.
//
// X = floor(2^16 B^67 / D) - 2, B = 2^32, D the top 35 limbs of V: with nu = V / B^n that is
// 2^(16 + 1024) / nu - e, 2 <= e < 3 + 2^-20, since D B^(n - 35) > V - B^(n - 35).
//
// Schoolbook division: a limb q of quotient by the remainder's and the divisor's top three limbs as
// doubles. The ratio is known to 2^-51 of 2^32, a tenth of the 3e-5 that is subtracted, so q is
// never too large and the remainder stays below (1 + 1e-4) D. If the next ratio is 2^32 + 1 or
// more, the remainder is D or more: D is subtracted once and 1 added to the limbs computed so far.
// A ratio between 2^32 and that gives the limb 2^32 - 1.
#pragma once
#include "core/lookahead.cuh"
#include "div/fft/plan.cuh"

namespace gpuint::fft_division {

// Eight lanes a row, five limbs each.
template <class Plan>
struct Seed {
  using S = typename Plan::S;
  static constexpr u32 LANES = 8, OWN = 5;
  static constexpr u32 LIMBS = 35, STEPS = 33, TOP_LANE = (LIMBS - 1) / OWN;
  static_assert(TOP_LANE * OWN + OWN - 1 == LIMBS - 1 && TOP_LANE + 1 < LANES,
                "the top lane's last limb is the highest, and there is a lane above");

  static constexpr u32 THREADS = 128, ROWS = THREADS / LANES, SLOT = STEPS + 4;
  static constexpr u32 SHARED = ROWS * SLOT * 4, SCRATCH = 0;
  static constexpr u32 MIN_BLOCKS = 4, PERSISTENT = 0, ROW_BYTES = Plan::ROW_BYTES;

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    const Plan plan(o);
    u32* const quotient = reinterpret_cast<u32*>(shared) + threadIdx.x / LANES * SLOT;
    const u32 total = plan.rows_from(Plan::FIRST);
    GPUINT_UNROLL(1)
    for (u32 first = blockIdx.x * ROWS; first < total; first += gridDim.x * ROWS) {
      const u32 index = first + threadIdx.x / LANES;
      divide(plan, quotient, plan.row_from_top(min_of(index, total - 1)), index < total);
    }
  }

 private:
  // All lanes of a warp.
  GPUINT_DEVICE static void divide(const Plan& plan, u32* quotient, u32 row, bool wanted) {
    constexpr double BASE = 4294967296.0;
    const u32 lane = threadIdx.x % LANES;
    const Shifted v(plan.divisor(row), S::N, 32 * S::N - plan.divisor_bits(row));
    u32 d[OWN], r[OWN];
    GPUINT_UNROLL(5)
    for (u32 i = 0; i < OWN; ++i) {
      const u32 l = OWN * lane + i;
      d[i] = l < LIMBS ? v[S::N - LIMBS + l] : 0;
      r[i] = l == LIMBS - 1 ? 1u << 16 : 0;
    }
    const double inverse = 1.0 / (v[S::N - 1] * BASE + v[S::N - 2] + v[S::N - 3] / BASE);
    i32 step = wanted ? i32(STEPS) - 1 : -1;
    while (__any_sync(~0u, step >= 0)) {
      // The limb above the top one is 0 or 1.
      const u32 above = __shfl_sync(~0u, r[0], TOP_LANE + 1, LANES);
      const double high = (above * BASE + r[4]) * BASE + r[3] + r[2] / BASE;
      const double ratio = __shfl_sync(~0u, high * inverse, TOP_LANE, LANES) * BASE;
      const bool again = ratio >= BASE + 1;
      const double limb = fmin(fmax(ratio - 3e-5, 0.0), BASE - 1);
      const u32 q = step < 0 ? 0 : again ? 1 : static_cast<u32>(limb);
      const u32 carried = __shfl_up_sync(~0u, r[4], 1, LANES);
      u32 s[OWN];
      GPUINT_UNROLL(5)
      for (u32 i = 0; i < OWN; ++i)
        s[i] = again ? r[i] : i > 0 ? r[i - 1] : lane == 0 ? 0 : carried;
      const u32 less = subtract_multiple(s, q, d);
      subtract_from_below(lane, s, less, r);
      if (step >= 0 && lane == 0) write_limb(quotient, step, q, again);
      if (!again) --step;
    }
    if (lane == 0 && wanted) subtract_two(quotient);
    __syncwarp();
    u32* const to = plan.inverse(row, STEPS - 1);
    if (wanted)
      for (u32 l = lane; l < STEPS; l += LANES) to[l] = quotient[l];
    __syncwarp();
  }

  // Computes s -= q d in the limbs of a lane; returns the limb to subtract from the lane above.
  GPUINT_DEVICE static u32 subtract_multiple(u32 (&s)[OWN], u32 q, const u32 (&d)[OWN]) {
    u64 less = 0;
    GPUINT_UNROLL(5)
    for (u32 i = 0; i < OWN; ++i) {
      less += u64(q) * d[i];
      const u32 old = s[i], low = static_cast<u32>(less);
      s[i] = old - low;
      less = (less >> 32) + (old < low);
    }
    return static_cast<u32>(less);
  }

  // Computes r = s minus the limbs from the lanes below, with borrows through lanes of zeros.
  GPUINT_DEVICE static void subtract_from_below(u32 lane, u32 (&s)[OWN], u32 less, u32 (&r)[OWN]) {
    u32 below = __shfl_up_sync(~0u, less, 1, LANES);
    if (lane == 0) below = 0;
    u32 borrow = 0;
    s[0] = sub_borrow<u32>(s[0], below, borrow);
    u32 any = s[0];
    GPUINT_UNROLL(5)
    for (u32 i = 1; i < OWN; ++i) s[i] = sub_borrow<u32>(s[i], 0, borrow), any |= s[i];
    const u32 row_lanes = threadIdx.x % 32 / LANES * LANES;
    const u32 g = __ballot_sync(~0u, borrow != 0) >> row_lanes & 255;
    const u32 p = __ballot_sync(~0u, any == 0) >> row_lanes & 255 & ~g;
    borrow = CarryLookahead(g, p).into(lane);
    GPUINT_UNROLL(5)
    for (u32 i = 0; i < OWN; ++i) r[i] = sub_borrow<u32>(s[i], 0, borrow);
  }

  // Stores a limb of quotient, or adds 1 to the limbs above it.
  GPUINT_DEVICE static void write_limb(u32* quotient, i32 step, u32 q, bool again) {
    if (again) {
      GPUINT_RARE(FftSeedAddBack);
      u32 at = step + 1;
      while (++quotient[at] == 0) ++at;
    } else {
      quotient[step] = q;
    }
  }

  GPUINT_DEVICE static void subtract_two(u32* quotient) {
    const u32 old = quotient[0];
    quotient[0] = old - 2;
    if (old < 2) {
      GPUINT_RARE(FftSeedBorrow);
      u32 at = 1;
      while (quotient[at]-- == 0) ++at;
    }
  }
};

}  // namespace gpuint::fft_division
