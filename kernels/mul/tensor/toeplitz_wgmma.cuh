// Sums of byte products by a warpgroup's matrix instructions: the columns of a low product of two
// numbers in shared memory, before carries. toeplitz.cuh has the same sums by mma.sync. A wgmma
// reads one operand directly from shared memory, up to 128 columns at a time, and is one and a half
// times as fast.
//
// The bytes of the operands are digits in base 256. Column k = p + 64 q of a * b, with p < 64 a row
// and q < Q a column of a matrix, is the sum of a[i] * b[k - i]. With i = 64x + p - s, 0 <= s < 64,
// it becomes a sum of products of matrices,
//     c[p + 64 q] = sum over x, s of A_x[p][s] * B_x[s][q],
//     A_x[p][s] = a[64x + p - s],   B_x[s][q] = b[64 (q - x) + s],
// where digits outside of the operands are 0. B_x is b with 64 digits to a column, moved by x
// columns:
// the instruction reads it from an address that is x columns lower. Only A_x is a Toeplitz matrix
// that
// registers must be filled with. Each x takes two instructions of 32 values of s.
//
// Only columns q >= x meet a digit of b. An instruction processes a multiple of 16 columns. For the
// 16 values of x from 16m on it processes the columns from 16m, in all Q (Q + 16) / 2 times 64 x 64
// digit products, of which a fraction 16 / (Q + 16) is wasted on zeros below b: 20 % at Q = 64
// (2^15 bits), 11 % at Q = 128. The values of x descend, so that the number of sums grows.
//
// The values of s may be assigned to places in any order, as long as A and B agree. In byte e of
// register h, lane
// (g, t) of A, s is
//     s = 32 step + 16h + 4t + 3 - e,
// With p = 32f + 8w + g in register f, warp w, the lane's four digits are consecutive: those
// up to digit g mod 4 of limb
//     16x + 8f - 8 step - 4h + (2w + g / 4 - t)   of a.
// `WarpgroupForms` keeps a form of a for each g mod 4, with its digits moved up by 3 to 0 places,
// and b with the bytes of each limb reversed. The eight registers of x are six limbs, 4 apart, of
// which the upper two were the lower two of x + 1, so each x loads four (`Ring`). That matters
// because shared memory is as busy as the matrix units: B takes half of its cycles, and a warp's
// load one of them.
//
// Banks: the lanes of a warp read five limbs in a row of each of the four forms, which begin 8
// banks apart. Of b, the 16 digits of a column that a piece (wgmma.cuh) has are beside those of the
// next columns, in four quarters that begin 8 banks apart, for the lanes that store them.
//
// Exactness: a sum has at most n products of at most 255^2, which is below 2^29 for the n = 2^13
// digits that registers have room for.
#pragma once
#include "core/ptx.cuh"
#include "mul/tensor/wgmma.cuh"

#if defined(GPUINT_WGMMA)
namespace gpuint {

constexpr u32 COLUMN_DIGITS = 64;
constexpr u32 COLUMN_LIMBS = COLUMN_DIGITS / 4;

// The operands in shared memory, LIMBS limbs each.
template <u32 LIMBS>
struct WarpgroupForms {
  static constexpr u32 COLUMNS = LIMBS / COLUMN_LIMBS;
  static constexpr u32 BELOW = 16;                   // zeros: limbs below a, columns below b
  static constexpr u32 A_LIMBS = BELOW + LIMBS + 8;  // from one form of a to the next
  static constexpr u32 B_LIMBS = 4 * (BELOW + COLUMNS) + 8;  // from one quarter of b to the next
  static constexpr u32 TOTAL = 4 * (A_LIMBS + B_LIMBS);

  u32* a;  // limb 0 of form 0
  u32* b;  // column 0 of quarter 0

  GPUINT_DEVICE explicit WarpgroupForms(u32* at) : a(at + BELOW), b(at + 4 * A_LIMBS + 4 * BELOW) {}

  // Zeros below the operands.
  template <class G>
  GPUINT_DEVICE void clear(const G& group) const {
    for (u32 i = group.rank; i < 4 * BELOW; i += G::THREADS) {
      *(a - BELOW + i / BELOW * A_LIMBS + i % BELOW) = 0;
      GPUINT_UNROLL(4)
      for (u32 quarter = 0; quarter < 4; ++quarter) *(b - 4 * BELOW + quarter * B_LIMBS + i) = 0;
    }
  }

  // Limbs k .. k + 4, k a multiple of 4, where `below` is limb k - 1.
  GPUINT_DEVICE void put_a(u32 k, const uint4& limbs, u32 below) const {
    GPUINT_UNROLL(4)
    for (u32 form = 0; form < 4; ++form) {
      const u32 bytes = 0x4321 + form * 0x1111;
      *reinterpret_cast<uint4*>(a + form * A_LIMBS + k) =
          make_uint4(__byte_perm(below, limbs.x, bytes), __byte_perm(limbs.x, limbs.y, bytes),
                     __byte_perm(limbs.y, limbs.z, bytes), __byte_perm(limbs.z, limbs.w, bytes));
    }
  }

  GPUINT_DEVICE void put_b(u32 k, const uint4& limbs) const {
    *reinterpret_cast<uint4*>(b + k / 4 % 4 * B_LIMBS + k / COLUMN_LIMBS * 4) =
        make_uint4(reversed(limbs.x), reversed(limbs.y), reversed(limbs.z), reversed(limbs.w));
  }

 private:
  GPUINT_DEVICE static u32 reversed(u32 limb) { return __byte_perm(limb, 0, 0x0123); }
};

template <class Forms>
struct WarpgroupToeplitz {
  static constexpr u32 COLUMNS = Forms::COLUMNS;
  static constexpr u32 STEP = 16;  // columns, and values of x that take the same
  static_assert(COLUMNS % STEP == 0 && COLUMNS <= 128, "whole steps, whose sums fit registers");
  // Sum 4i + 2f + e of lane (g, t) of warp w is that of row 32f + 8w + g and column 8i + 2t + e.
  using Sums = u32[COLUMNS / 2];

  // `zero` is 0, hidden from the optimizer. Otherwise the compiler would merge registers that must
  // stay separate, and then wait after every wgmma (reported only by ptxas -v).
  GPUINT_DEVICE WarpgroupToeplitz(const Forms& forms, u32 warp, u32 lane, u32 zero)
      : a(ptx::shared_address(forms.a + lane / 4 % 4 * Forms::A_LIMBS) +
          LIMB * (2 * warp + lane / 16 - lane % 4)),
        b(ptx::matrix_place(ptx::shared_address(forms.b), LIMB * Forms::B_LIMBS)),
        zero(zero) {}

  // The columns below the operands' length.
  GPUINT_DEVICE void low(Sums& sums) const {
    u32 at = a + (COLUMNS - 1) * COLUMN;
    Ring ring{ptx::load_shared(at + 8 * LIMB), ptx::load_shared(at + 4 * LIMB)};
    Rows rows[2][2];
    read(rows[0], at, ring);
    add_from<0>(at, ring, rows, sums);
  }

 private:
  static constexpr u32 LIMB = sizeof(u32);
  static constexpr u32 COLUMN = COLUMN_LIMBS * LIMB;

  u32 a;  // address of this lane's limb of step 0, h = f = 0, x = 0
  u32 b;  // place of column 0
  u32 zero;

  // The registers of A for an x: of step 0 and of step 1.
  struct Rows {
    u32 lower[4], upper[4];
  };
  // The limbs that the next lower x shares with this one.
  struct Ring {
    u32 high, low;
  };

  // Rows of two values of x, from the upper one down.
  GPUINT_DEVICE void read(Rows (&rows)[2], u32& at, Ring& ring) const {
    GPUINT_UNROLL(2)
    for (u32 i = 0; i < 2; ++i, at -= COLUMN) {
      u32(&lower)[4] = rows[i].lower;
      u32(&upper)[4] = rows[i].upper;
      lower[0] = upper[1] = ptx::load_shared(at);
      lower[2] = upper[3] = ptx::load_shared(at - 4 * LIMB);
      upper[0] = ptx::load_shared(at - 8 * LIMB);
      upper[2] = ptx::load_shared(at - 12 * LIMB);
      lower[1] = ring.high, lower[3] = ring.low;
      ring = {upper[0] + zero, upper[2] + zero};
    }
  }

  template <u32 SUMS>
  GPUINT_DEVICE static void multiply(const Rows (&rows)[2], u32 columns, u32 (&sums)[SUMS]) {
    GPUINT_UNROLL(2)
    for (u32 i = 0; i < 2; ++i) {
      ptx::wgmma(sums, rows[i].lower, columns + i);
      ptx::wgmma(sums, rows[i].upper,
                 columns + i + ptx::matrix_distance(2 * Forms::B_LIMBS * LIMB));
    }
  }

  // Columns FIRST and above, with the products of all x >= FIRST. Uses the rows of the uppermost x
  // and leaves those of the next one below.
  template <u32 FIRST>
  GPUINT_DEVICE void add_from(u32& at, Ring& ring, Rows (&rows)[2][2],
                              u32 (&sums)[(COLUMNS - FIRST) / 2]) const {
    constexpr u32 ABOVE = (COLUMNS - FIRST - STEP) / 2;
    if constexpr (ABOVE > 0) {
      u32 above[ABOVE];
      add_from<FIRST + STEP>(at, ring, rows, above);
      GPUINT_UNROLL(64)
      for (u32 i = 0; i < ABOVE; ++i) sums[STEP / 2 + i] = above[i] + zero;
    }
    GPUINT_UNROLL(8)
    for (u32 i = 0; i < STEP / 2; ++i) sums[i] = 0;
    // The rows of the next two values of x are read during the products of two values.
    constexpr u32 UNROLLED = 8;
    u32 columns = b - (STEP - 1) * ptx::matrix_distance(16);
    GPUINT_UNROLL(1)
    for (u32 x = 0; x < STEP; x += UNROLLED, columns += UNROLLED) {
      GPUINT_UNROLL(4)
      for (u32 pair = 0; pair < UNROLLED / 2; ++pair) {
        ptx::wgmma_fence();
        multiply(rows[pair % 2], columns + 2 * pair, sums);
        ptx::wgmma_commit();
        if (pair > 0) ptx::wgmma_wait<1>();
        read(rows[1 - pair % 2], at, ring);
      }
      ptx::wgmma_wait<0>();
    }
  }
};

}  // namespace gpuint
#endif
