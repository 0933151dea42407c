// The estimate of a block of quotient by the lanes of a team (short_block.cuh has the bound).
//
// The team's last lane has Rh in its last registers and sends it to the others. Each lane of a pair
// computes half of Rh Y, which saves a quarter of all products; a single lane computes both halves.
#pragma once
#include "core/ptx.cuh"
#include "div/lanes/layout.cuh"

namespace gpuint {

// Rh, as in the team's last lane.
template <u32 K>
GPUINT_DEVICE void remainder_window(const u32 (&r)[K], const LaneLayout& layout, u32 (&rh)[11]) {
  u32 at[14];
  GPUINT_UNROLL(13)
  for (u32 i = 0; i < 13; ++i) at[i] = r[K - 13 + i];
  at[13] = 0;  // of a remainder that ends below
  GPUINT_UNROLL(12)
  for (u32 i = 0; i < 12; ++i) at[i] = layout.two_limbs_up() ? at[i + 2] : at[i];
  u32 limbs[11];
  GPUINT_UNROLL(11)
  for (u32 i = 0; i < 11; ++i) limbs[i] = layout.one_limb_up() ? at[i + 1] : at[i];
  if (__any_sync(~0u, layout.word_above())) {
    __syncwarp();  // a branch: selections in its place would take time for every window
    GPUINT_UNROLL(11)
    for (u32 i = 0; i < 11; ++i) limbs[i] = layout.word_above() ? r[K - 14 + i] : limbs[i];
  }
  GPUINT_UNROLL(10)
  for (u32 i = 0; i < 10; ++i)
    rh[i] = __funnelshift_r(limbs[i], limbs[i + 1], 31 - layout.bit_shift());
}

// One half of Rh Y: of the odd limbs of Y, with Rh without its lowest limb, or of the even ones.
GPUINT_DEVICE void estimate_half(const u32* inverse, const u32 (&rh)[11], bool odd,
                                 u32 (&sum)[HALF_COLUMNS]) {
  u32 window[10], y[HALF_ROWS];
  GPUINT_UNROLL(10)
  for (u32 i = 0; i < 10; ++i) window[i] = odd ? rh[i + 1] : rh[i];
  GPUINT_UNROLL(5)
  for (u32 i = 0; i < HALF_ROWS; ++i) y[i] = inverse[i];
  half_estimate(window, y, sum);
}

// Adds one half to the other, from column 9 on.
GPUINT_DEVICE void add_half(u32 (&sum)[HALF_COLUMNS], const u32 (&other)[HALF_COLUMNS]) {
  ptx::add_cc(sum[1], other[1]);
  GPUINT_UNROLL(9)
  for (u32 i = 2; i < HALF_COLUMNS; ++i) ptx::addc_cc(sum[i], other[i]);
}

// Q of the remainder whose limbs the lanes hold in r, for all lanes of the team.
// `active`: whether the lane has a row, for assertions.
template <u32 K>
GPUINT_DEVICE void estimate_in_team(const u32 (&r)[K], const u32* record,
                                    [[maybe_unused]] bool active, u32 (&q)[9]) {
  using Lane = LaneRecord<K>;
  const LaneLayout layout(record[Lane::LAYOUT]);
  u32 rh[11] = {}, sum[HALF_COLUMNS];
  remainder_window(r, layout, rh);
  GPUINT_UNROLL(10)
  for (u32 i = 0; i < 10; ++i) rh[i] = __shfl_sync(~0u, rh[i], layout.top());
  estimate_half(record + Lane::INVERSE, rh, layout.odd(), sum);
  u32 other[HALF_COLUMNS];
  if (__all_sync(~0u, layout.alone())) {  // as all lanes or none
    estimate_half(record + Lane::INVERSE + HALF_ROWS, rh, true, other);
    add_half(sum, other);
  } else {
    GPUINT_UNROLL(10)
    for (u32 i = 1; i < HALF_COLUMNS; ++i) other[i] = __shfl_sync(~0u, sum[i], layout.partner());
    add_half(sum, other);
  }
  GPUINT_UNROLL(9)
  for (u32 i = 0; i < 9; ++i) q[i] = sum[i + 2];
  GPUINT_ASSERT(!active || rh[9] <= 3, "R < 2 v B^8");
  GPUINT_ASSERT(!active || q[8] <= 1, "Q < 2 B^8");
}

}  // namespace gpuint
