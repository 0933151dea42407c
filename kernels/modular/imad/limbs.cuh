// Numbers of N limbs of 32 bits in the registers of a thread, and their products by the 32-bit
// multipliers.
//
// A product of two limbs is added to two limbs of a sum with a carry in and a carry out by one
// instruction (IMAD.WIDE.U32.X, core/ptx.cuh), if these limbs are an aligned pair of registers.
// Hence two sums:
//
//     sum = even_0 + even_1 B + .. + even_(N-1) B^(N-1)
//         + odd_1 + odd_2 B + .. + odd_(N-1) B^(N-2) + top B^N.
//
// Limbs of x with even index go to the pairs of `even`, the others to those of `odd`: a row x b
// takes N instructions in two chains. To divide the sum by B exactly, or to drop its lowest limb,
// the two change their names.
//
// Columns of a square, and the parts of products that are not whole rows, are added one by one to
// three limbs, with an instruction more for the carry.
#pragma once
#include "modular/by_thread/stage.cuh"

namespace gpuint::imad {

using namespace by_thread;

// A row in shared memory, in the column of its thread (stage.cuh).
struct Place {
  u32* at;
  GPUINT_DEVICE u32& operator[](u32 i) const { return at[i * STAGE_STRIDE]; }
  // For functions that take the limbs of a number as limb(i).
  GPUINT_DEVICE u32 operator()(u32 i) const { return at[i * STAGE_STRIDE]; }
};

template <u32 N>
GPUINT_DEVICE void load_limbs(const Place& from, u32 (&x)[N]) {
  GPUINT_UNROLL()
  for (u32 j = 0; j < N; ++j) x[j] = from[j];
}
template <u32 N>
GPUINT_DEVICE void store_limbs(const u32 (&x)[N], const Place& to) {
  GPUINT_UNROLL()
  for (u32 j = 0; j < N; ++j) to[j] = x[j];
}

// Limb i < COUNT of x >> distance, x of COUNT limbs.
template <u32 COUNT>
GPUINT_DEVICE u32 shifted_down(const Place& x, u32 distance, u32 i) {
  const u32 at = i + distance / 32;
  const u32 low = at < COUNT ? x[at] : 0, high = at + 1 < COUNT ? x[at + 1] : 0;
  return __funnelshift_r(low, high, distance % 32);
}
// x >> distance.
template <u32 N>
GPUINT_DEVICE void shift_down(const Place& from, u32 distance, u32 (&x)[N]) {
  const u32 by = ptx::rematerialize(distance);
  GPUINT_UNROLL()
  for (u32 j = 0; j < N; ++j) x[j] = shifted_down<N>(from, by, j);
}

// even <- even + b times the even limbs of x. The carry is left to the next addition.
template <u32 N>
GPUINT_DEVICE void add_even_products(u32 (&even)[N], const u32 (&x)[N], u32 b) {
  GPUINT_UNROLL()
  for (u32 j = 0; j < N; j += 2) {
    if (j == 0)
      ptx::mad_lo_cc(even[0], x[0], b);
    else
      ptx::madc_lo_cc(even[j], x[j], b);
    ptx::madc_hi_cc(even[j + 1], x[j], b);
  }
}

// sum <- sum / B + x b, where the lowest limb of the sum has been taken: `odd` is the sum's `even`,
// `even` its `odd`. Requires sum / B + x b < 2 B^(N+1).
template <u32 N>
GPUINT_DEVICE void add_row_shifted(u32 (&even)[N], u32 (&odd)[N], u32& top, const u32 (&x)[N],
                                   u32 b) {
  ptx::add_cc(even[0], odd[1]);
  GPUINT_UNROLL()
  for (u32 j = 1; j < N; j += 2) {
    odd[j - 1] = j + 1 < N ? odd[j + 1] : 0;
    ptx::madc_lo_cc(odd[j - 1], x[j], b);
    odd[j] = j + 2 < N ? odd[j + 2] : top;
    ptx::madc_hi_cc(odd[j], x[j], b);
  }
  add_even_products(even, x, b);
  ptx::addc_cc(odd[N - 1], 0);
  top = 0;
  ptx::addc(top, 0);
}

// sum <- sum + x b after add_row_shifted; the limbs of `odd` are a place higher.
template <u32 N>
GPUINT_DEVICE void add_row(u32 (&even)[N], u32 (&odd)[N], u32& top, const u32 (&x)[N], u32 b) {
  GPUINT_UNROLL()
  for (u32 j = 1; j < N; j += 2) {
    if (j == 1)
      ptx::mad_lo_cc(odd[0], x[1], b);
    else
      ptx::madc_lo_cc(odd[j - 1], x[j], b);
    ptx::madc_hi_cc(odd[j], x[j], b);
  }
  ptx::addc(top, 0);
  add_even_products(even, x, b);
  ptx::addc_cc(odd[N - 1], 0);
  ptx::addc(top, 0);
}

// x <- the sum without top B^N; top becomes limb N of the sum.
template <u32 N>
GPUINT_DEVICE void resolve(const u32 (&even)[N], const u32 (&odd)[N], u32& top, u32 (&x)[N]) {
  GPUINT_UNROLL()
  for (u32 j = 0; j < N; ++j) x[j] = even[j];
  ptx::add_cc(x[0], odd[1]);
  GPUINT_UNROLL()
  for (u32 j = 1; j < N; ++j) ptx::addc_cc(x[j], j + 1 < N ? odd[j + 1] : 0);
  ptx::addc(top, 0);
}

// The column of products that is being added, and the carry into those above.
struct Column {
  u32 limb = 0, above = 0, beyond = 0;

  GPUINT_DEVICE void add(u32 a, u32 b) {
    ptx::mad_lo_cc(limb, a, b);
    ptx::madc_hi_cc(above, a, b);
    ptx::addc(beyond, 0);
  }
  // Returns the limb of the column and goes on to the next one.
  GPUINT_DEVICE u32 take() {
    const u32 taken = limb;
    limb = above, above = beyond, beyond = 0;
    return taken;
  }
};

// The limbs of x^2 from the lowest on, to sink(k, limb). Products of different limbs are added once
// and their sum is doubled, two limbs at a time, to which the square of a limb is added: N (N + 1)
// / 2 products.
template <u32 N, class Sink>
GPUINT_DEVICE void square_limbs(const u32 (&x)[N], Sink sink) {
  Column column;
  u32 carry = 0, below = 0;
  GPUINT_UNROLL()
  for (u32 j = 0; j < N; ++j) {
    u32 limbs[2];
    GPUINT_UNROLL()
    for (u32 k = 2 * j; k < 2 * j + 2; ++k) {
      GPUINT_UNROLL()
      for (u32 i = 0; i < N; ++i) {
        if (2 * i >= k || i + N <= k) continue;
        column.add(x[i], x[k - i]);
      }
      const u32 limb = column.take();
      limbs[k % 2] = __funnelshift_l(below, limb, 1);
      below = limb;
    }
    ptx::set_carry(carry);
    ptx::madc_lo_cc(limbs[0], x[j], x[j]);
    ptx::madc_hi_cc(limbs[1], x[j], x[j]);
    carry = 0;
    ptx::addc(carry, 0);
    sink(2 * j, limbs[0]);
    sink(2 * j + 1, limbs[1]);
  }
}

// x <- x - n if that is not negative or `above` is not 0: (above B^N + x) mod n for what is below 2
// n.
template <u32 N>
GPUINT_DEVICE void subtract_once(u32 (&x)[N], const u32 (&n)[N], u32 above) {
  u32 difference[N];
  GPUINT_UNROLL()
  for (u32 j = 0; j < N; ++j) {
    difference[j] = x[j];
    if (j == 0)
      ptx::sub_cc(difference[j], n[j]);
    else
      ptx::subc_cc(difference[j], n[j]);
  }
  const bool is_below = ptx::borrow_mask() != 0 && above == 0;
  GPUINT_UNROLL()
  for (u32 j = 0; j < N; ++j) x[j] = is_below ? x[j] : difference[j];
}
// x <- x - n modulo B^N.
template <u32 N>
GPUINT_DEVICE void subtract(u32 (&x)[N], const u32 (&n)[N]) {
  GPUINT_UNROLL()
  for (u32 j = 0; j < N; ++j) {
    if (j == 0)
      ptx::sub_cc(x[j], n[j]);
    else
      ptx::subc_cc(x[j], n[j]);
  }
}

}  // namespace gpuint::imad
