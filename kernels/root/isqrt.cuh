// Isqrt: the square root of a row, rounded down, and the remainder.
//
// Blocks of 8 limbs of root as in div/lanes/division.cuh, where the divisor is twice the root so
// far and grows from block to block (P. Zimmermann, "Karatsuba square root", INRIA RR-3805, 1999,
// with blocks of one length and a remainder at every block). In base B = 2^32 let
//     a' = a 2^(2c) < B^(2P),   a' >= B^(2P) / 4,
// so that the root has all of P limbs, and let S be the root so far, whose limbs below p are 0.
// With W = floor((a' - S^2) / B^p), the remainder, and the next 8 limbs u of a', a block is
//     Rh = floor(W / B^(P-9)),  10 limbs     Y = B^9 / (2 sqrt(x)),  x = a' / B^(2P)
//     Q  = floor(Rh Y / B^10) from columns >= 8,   of B^(p-8)
//     W <- W B^8 + u - Q (2S + Q),   S <- S + Q.
// Y is computed once (root/inverse_root.cuh): it is the reciprocal of twice the whole root, not of
// 2S.
//
// Theorem. Let q be the real number with (S + q)^2 = a', in units of the block, at most (1 + 64/B)
// B^8. Then q - 1 - 64/B < Q <= q, so that the same holds for the next block, and W < (2 + 2^-20)
// S. Proof. W B^8 + u = q (2 s - q), s = sqrt(a'), so its quotient by 2s is q - t, t = q^2 / (2s).
// All truncations go down: Rh's fraction costs less than 2/B, Y less than 3 units against Rh < 2.1
// B^9, 7/B, the dropped columns less than 9/B, the floor less than 1. s >= B^(8j) / 2 in units of
// block j, so t < 2 B^-8 for j >= 3. For j = 2, t = f^2 y with f = q / B^8 and y = Y / B^9, up to
// 1; it is added, from the top limbs of both, short by less than 6/B. The first block has S = 0, q
// = s, and takes Rh = floor(2 a' / B^(2P-9)) instead. QED. Q < 2 B^8: its top limb is a carry, and
// 0 except for rare remainders.
//
// The last block ends at the lowest bit of the root, 2^c. If it has fewer than 256 bits, W B^8 + u
// and Q are shifted down by the others. In the end W >= 2S + 2^c in at most one step, which
// increments the root. Root and remainder are S / 2^c and W / 2^c.
//
// A row is processed by T lanes of a warp, T a power of two, with K limbs of W and of 2S each, T K
// = P + 4. Lanes hold the complement of W in registers, to which products are added; 2S is in
// shared memory, its limbs below p zero, so that all columns are computed alike: as many as a
// division with a divisor of P limbs.
#pragma once
#include "core/abi.cuh"
#include "core/group.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/occupancy.cuh"
#include "core/ptx.cuh"
#include "core/rows.cuh"
#include "core/shape.cuh"
#include "div/lanes/columns.cuh"
#include "div/lanes/estimate.cuh"
#include "root/inverse_root.cuh"
#include "tuning/root.cuh"

namespace gpuint {

// in[0] = a; out[0] = the root, out[1] = a - root^2, unless null.
template <class S, class Policy = RootPolicy>
struct Isqrt {
  static constexpr u32 N = ceil_div(S::BITS, 32);
  static constexpr u32 BLOCK_BITS = 32 * SHORT_BLOCK;
  // Limbs of whole blocks, and a word above for the top of W and 2S.
  static constexpr u32 NEEDED = ceil_div(16 * N, BLOCK_BITS) * SHORT_BLOCK + WORD;
  static constexpr u32 LANES = power_of_two_at_least(ceil_div(NEEDED, Policy::MAX_LIMBS_PER_LANE));
  static constexpr u32 K = max_of(16, round_up(ceil_div(NEEDED, LANES), WORD));
  static constexpr u32 LIMBS = LANES * K, P = LIMBS - WORD;
  static_assert(LANES <= 32, "a row takes the lanes of a warp at most");
  static_assert(K >= 13, "the window of an estimate is one lane's");
  using G = Group<LANES>;

  static constexpr u32 THREADS = Policy::THREADS;
  static constexpr u32 WARP_ROWS = 32 / LANES;
  static constexpr u32 ROWS = THREADS / 32 * WARP_ROWS;

  // Shared memory of a row. The operand's place also takes the dividend of the last block with
  // zeros above, and Q with zeros above. Rows are an odd number of limbs apart, and the places of
  // 2S so that lanes read words from different banks.
  static constexpr u32 DIGITS = LIMBS + 2 * SHORT_BLOCK;  // of Q
  static constexpr u32 A_STRIDE = max_of(N, DIGITS + 2 * SHORT_BLOCK) | 1;
  static constexpr u32 BELOW = 3 * WORD;  // zeros below 2S
  __host__ __device__ static constexpr u32 words_apart() {
    u32 words = (BELOW + LIMBS) / WORD;
    while (LANES < 8 && words % (2 * LANES) != LANES) ++words;
    return words;
  }
  static constexpr u32 V_STRIDE = words_apart() * WORD;
  static constexpr u32 SHIFT = 2 * HALF_ROWS;  // c, behind both halves of Y
  static constexpr u32 Y_STRIDE = SHIFT + 1;
  static constexpr u32 WARP_LIMBS =
      WARP_ROWS * V_STRIDE + round_up(WARP_ROWS * (A_STRIDE + Y_STRIDE), WORD);
  static constexpr u32 SHARED = THREADS / 32 * WARP_LIMBS * sizeof(u32);
  static constexpr u32 SCRATCH = 0;
  static constexpr u32 PERSISTENT = 0;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(Policy::REGISTERS, THREADS);

  static __device__ void run(const Operands& o, unsigned char* shared) {
    u32* const warp = reinterpret_cast<u32*>(shared) + threadIdx.x / 32 * WARP_LIMBS;
    for (u64 base = u64(blockIdx.x) * ROWS; base < o.rows; base += u64(gridDim.x) * ROWS) {
      const u64 first = base + threadIdx.x / 32 * WARP_ROWS;
      const u64 left = first < o.rows ? o.rows - first : 0;
      const u32 count = left < WARP_ROWS ? static_cast<u32>(left) : WARP_ROWS;
      load(o, first, count, warp);
      __syncwarp();
      Row row(warp);
      row.extract();
      __syncwarp();
      store(o, first, count, warp);
      __syncwarp();
    }
  }

 private:
  GPUINT_DEVICE static u32* doubled_root(u32* warp, u32 row) {
    return warp + row * V_STRIDE + BELOW;
  }
  GPUINT_DEVICE static u32* operand(u32* warp, u32 row) {
    return warp + WARP_ROWS * V_STRIDE + row * A_STRIDE;
  }
  GPUINT_DEVICE static u32* inverse(u32* warp, u32 row) {
    return warp + WARP_ROWS * (V_STRIDE + A_STRIDE) + row * Y_STRIDE;
  }

  // Copies the rows of a warp; missing rows are zero. Clears the places of the roots.
  GPUINT_DEVICE static void load(const Operands& o, u64 first, u32 count, u32* warp) {
    GPUINT_UNROLL(8)
    for (u32 i = threadIdx.x % 32; i < WARP_ROWS * N; i += 32) {
      const u32 row = i / N, k = i % N;
      operand(warp, row)[k] = row < count ? limb_of_32<S>(input_row<S>(o, 0, first + row), k) : 0;
    }
    for (u32 i = threadIdx.x % 32 * WORD; i < WARP_ROWS * V_STRIDE; i += 32 * WORD)
      clear_word(warp + i);
  }

  // Writes 2S / 2^(c + 1) and W / 2^c.
  GPUINT_DEVICE static void store(const Operands& o, u64 first, u32 count, u32* warp) {
    GPUINT_UNROLL(4)
    for (u32 i = threadIdx.x % 32; i < WARP_ROWS * N; i += 32) {
      const u32 row = i / N, k = i % N;
      if (row >= count) continue;
      const u32 shift = inverse(warp, row)[SHIFT];
      if (o.out[0] != nullptr)
        write_limb_of_32<S>(output_row<S>(o, 0, first + row), k,
                            shifted_down(doubled_root(warp, row), k, shift + 1));
      if (o.out[1] != nullptr)
        write_limb_of_32<S>(output_row<S>(o, 1, first + row), k,
                            shifted_down(operand(warp, row), k, shift));
    }
  }

  // Limb k of a number of LIMBS limbs, shifted down by some bits.
  GPUINT_DEVICE static u32 shifted_down(const u32* number, u32 k, u32 bits) {
    const u32 i = k + bits / 32;
    return __funnelshift_r(i < LIMBS ? number[i] : 0, i + 1 < LIMBS ? number[i + 1] : 0, bits % 32);
  }

  // The row of a lane's team.
  struct Row {
    G group;
    u32* a;        // operand
    u32* v;        // 2S
    u32* inverse;  // both halves of Y, and c
    u32 shift;     // c
    u32 r[K];      // complement of W

    GPUINT_DEVICE explicit Row(u32* warp)
        : group(nullptr),
          a(operand(warp, group.lane / LANES)),
          v(doubled_root(warp, group.lane / LANES)),
          inverse(Isqrt::inverse(warp, group.lane / LANES)) {
      group.mask = ~0u;  // teams proceed together
    }

    GPUINT_DEVICE Team team() const { return {LANES, group.lane - group.rank, group.rank}; }
    GPUINT_DEVICE bool lowest() const { return group.rank == 0; }
    GPUINT_DEVICE u32 blocks() const { return ceil_div(32 * P - shift, BLOCK_BITS); }
    // Bits of the last block below the root.
    GPUINT_DEVICE u32 spare() const { return (shift - 32 * P % BLOCK_BITS) % BLOCK_BITS; }

    GPUINT_DEVICE void extract() {
      normalize();
      prepare();
      const u32 most = __reduce_max_sync(~0u, blocks());
      GPUINT_UNROLL(1)
      for (u32 block = 0; block < most; ++block) append(block);
      correct();
    }

    // Finds the scale of the operand.
    GPUINT_DEVICE void normalize() {
      u32 bits = 0;
      for (u32 end = round_up(N, LANES); end > 0; end -= LANES) {
        const u32 i = end - 1 - group.rank;
        const u32 limb = i < N ? a[i] : 0;
        const u32 found = group.vote(limb != 0);
        const u32 rank = found == 0 ? 0 : static_cast<u32>(__ffs(static_cast<int>(found))) - 1;
        const u32 top = __shfl_sync(~0u, limb, static_cast<int>(group.lane - group.rank + rank));
        if (bits == 0 && found != 0)
          bits = 32 * (end - rank) - static_cast<u32>(__clz(static_cast<int>(top)));
        if (__all_sync(~0u, bits != 0)) break;
      }
      shift = 32 * P - (bits + 1) / 2;
      if (lowest()) inverse[SHIFT] = shift;
    }

    GPUINT_DEVICE u32 limb(i32 i) const { return static_cast<u32>(i) < N ? a[i] : 0; }
    // Limb i of a'.
    GPUINT_DEVICE u32 scaled(u32 i) const {
      const i32 at = static_cast<i32>(i) - static_cast<i32>(2 * shift / 32);
      return __funnelshift_l(limb(at - 1), limb(at), 2 * shift % 32);
    }

    // Y, and the remainder above the first block.
    GPUINT_DEVICE void prepare() {
      {
        u32 x[INVERSE_LIMBS + 1], y[INVERSE_LIMBS];
        GPUINT_UNROLL(10)
        for (u32 i = 0; i <= INVERSE_LIMBS; ++i) x[i] = scaled(2 * P - INVERSE_LIMBS - 1 + i);
        x[INVERSE_LIMBS] = max_of(x[INVERSE_LIMBS], 1u << 30);  // rows of zero
        inverse_root(x, y);
        if (lowest()) {
          GPUINT_UNROLL(5)
          for (u32 i = 0; i < HALF_ROWS; ++i) {
            inverse[i] = y[8 - 2 * i];
            inverse[HALF_ROWS + i] = i < 4 ? y[7 - 2 * i] : 0;
          }
        }
      }
      GPUINT_UNROLL(K)
      for (u32 i = 0; i < K; ++i) r[i] = ~scaled(P + group.rank * K + i);
      __syncwarp();
    }

    // Q of a block.
    GPUINT_DEVICE void estimate(u32 block, u32 (&q)[9]) const {
      u32 rh[11] = {}, sum[HALF_COLUMNS], other[HALF_COLUMNS];
      const int top = static_cast<int>(group.lane | (LANES - 1));
      GPUINT_UNROLL(10)
      for (u32 i = 0; i < 10; ++i) rh[i] = ~__shfl_sync(~0u, r[K - 13 + i], top);
      if (block == 0) {
        GPUINT_UNROLL(10)
        for (u32 i = 9; i > 0; --i) rh[i] = __funnelshift_l(rh[i - 1], rh[i], 1);
        rh[0] <<= 1;
      }
      if constexpr (LANES == 1) {
        estimate_half(inverse, rh, false, sum);
        estimate_half(inverse + HALF_ROWS, rh, true, other);
      } else {
        const bool odd = group.rank % 2 != 0;
        estimate_half(odd ? inverse + HALF_ROWS : inverse, rh, odd, sum);
        GPUINT_UNROLL(11)
        for (u32 i = 0; i < HALF_COLUMNS; ++i) other[i] = __shfl_xor_sync(~0u, sum[i], 1);
      }
      ptx::add_cc(sum[0], other[0]);
      GPUINT_UNROLL(10)
      for (u32 i = 1; i < HALF_COLUMNS; ++i) ptx::addc_cc(sum[i], other[i]);
      if (block == 1) {
        const u64 part = sum[10] != 0 ? ~0u : sum[9];  // f
        const u64 square = part * part >> 32;
        ptx::add_cc(sum[1], static_cast<u32>(square * inverse[0] >> 32));
        GPUINT_UNROLL(10)
        for (u32 i = 2; i < HALF_COLUMNS; ++i) ptx::addc_cc(sum[i], 0);
      }
      GPUINT_UNROLL(9)
      for (u32 i = 0; i < 9; ++i) q[i] = sum[i + 2];
      GPUINT_ASSERT(block >= blocks() || rh[9] <= 3, "W < 4 S");
      GPUINT_ASSERT(block >= blocks() || q[8] <= 1, "Q < 2 B^8");
    }

    // The limbs of W below the lane's: those of the lane `from`, or the next ones of the operand.
    GPUINT_DEVICE void take_from_below(const u32 (&next)[SHORT_BLOCK], int from,
                                       u32 (&low)[SHORT_BLOCK]) const {
      GPUINT_UNROLL(8)
      for (u32 i = 0; i < SHORT_BLOCK; ++i) {
        low[i] = __shfl_sync(~0u, r[K - SHORT_BLOCK + i], from);
        if (lowest()) low[i] = ~next[i];
      }
    }

    // Appends a block to the root, and stores the remainder of the last one.
    GPUINT_DEVICE void append(u32 block) {
      const bool active = block < blocks();
      const bool part = block + 1 == blocks() && spare() != 0;
      const u32 p = active ? P - SHORT_BLOCK * (block + 1) : 0;
      u32 q[9], next[SHORT_BLOCK];
      estimate(block, q);
      GPUINT_UNROLL(8)
      for (u32 i = 0; i < SHORT_BLOCK; ++i) next[i] = scaled(p + i);
      if (lowest() && active) {
        store_word(v + p, q);
        store_word(v + p + WORD, q + WORD);
      }
      if (__any_sync(~0u, part)) shift_last(part, p, q, next);
      u32 low[SHORT_BLOCK];
      const int from = static_cast<int>(lowest() ? group.lane : group.lane - 1);
      take_from_below(next, from, low);
      __syncwarp();
      u32 carry_out[2], beyond[TILES<K, Policy::TILE>];
      add_columns<K, Policy::TILE>(r, low, v + group.rank * K - SHORT_BLOCK, q, carry_out, beyond);
      __syncwarp();
      if (lowest() && active) double_block(p);
      if constexpr (LANES > 1)
        carry_out[0] = __shfl_sync(~0u, carry_out[0], from),
        carry_out[1] = __shfl_sync(~0u, carry_out[1], from);
      if (lowest()) carry_out[0] = carry_out[1] = 0;
      const bool is_left = add_carry_out(r, carry_out, beyond);
      if (is_left) GPUINT_RARE(RootLaneCarry);
      const bool carry = active && q[8] != 0;
      if (carry && lowest()) GPUINT_RARE(RootQuotientCarry);
      if (__any_sync(~0u, is_left || carry)) {
        resolve_carries(team(), r, add_carries<Policy::TILE>(r, beyond));
        // Q + B^8: W - Q (2S + Q) - B^8 (2 (S + Q) + B^8).
        if (carry && lowest()) increment_root(p + SHORT_BLOCK, 1);
        __syncwarp();
        resolve_carries(team(), r,
                        add_root(r, part ? BLOCK_BITS - spare() : BLOCK_BITS, carry) != 0);
        __syncwarp();
        if (carry && lowest()) increment_root(p + SHORT_BLOCK, 1);
      }
      if (block + 1 == blocks()) store_remainder();
    }

    // Stores W at the operand's place. The registers of a row with fewer blocks than others of its
    // warp then hold no number.
    GPUINT_DEVICE void store_remainder() const {
      GPUINT_UNROLL(K)
      for (u32 i = 0; i < K; ++i) a[group.rank * K + i] = ~r[i];
    }

    // Shifts W B^8 + u and Q of a last block down by its spare bits. r becomes the complement of
    // the limbs from 8 on.
    GPUINT_DEVICE void shift_last(bool part, u32 p, u32 (&q)[9], u32 (&next)[SHORT_BLOCK]) {
      const u32 limbs = spare() / 32, bits = spare() % 32;
      __syncwarp();
      if (part) {
        GPUINT_UNROLL(K)
        for (u32 i = 0; i < K; ++i) a[SHORT_BLOCK + group.rank * K + i] = ~r[i];
      }
      if (part && lowest()) {
        GPUINT_UNROLL(8)
        for (u32 i = 0; i < SHORT_BLOCK; ++i) {
          a[i] = next[i];
          a[SHORT_BLOCK + LIMBS + i] = 0;
          a[DIGITS + i] = q[i];
          a[DIGITS + SHORT_BLOCK + i] = 0;
          v[p + i] = i < limbs ? 0 : i == limbs ? q[i] & ~0u << bits : q[i];
        }
      }
      __syncwarp();
      if (!part) return;
      const u32* const dividend = a + limbs;
      GPUINT_UNROLL(8)
      for (u32 i = 0; i < SHORT_BLOCK; ++i) {
        next[i] = __funnelshift_r(dividend[i], dividend[i + 1], bits);
        q[i] = __funnelshift_r(dividend[DIGITS + i], dividend[DIGITS + i + 1], bits);
      }
      const u32* const own = dividend + SHORT_BLOCK + group.rank * K;
      GPUINT_UNROLL(K)
      for (u32 i = 0; i < K; ++i) r[i] = ~__funnelshift_r(own[i], own[i + 1], bits);
    }

    // 2S + Q becomes 2 (S + Q). The bit above is 0, because the limbs there are doubled.
    GPUINT_DEVICE void double_block(u32 p) const {
      u32 block[SHORT_BLOCK];
      load_word(v + p, block);
      load_word(v + p + WORD, block + WORD);
      v[p + SHORT_BLOCK] |= block[SHORT_BLOCK - 1] >> 31;
      GPUINT_UNROLL(8)
      for (u32 i = SHORT_BLOCK; i-- > 1;) block[i] = __funnelshift_l(block[i - 1], block[i], 1);
      block[0] <<= 1;
      store_word(v + p, block);
      store_word(v + p + WORD, block + WORD);
    }

    // 2S += value B^i, by one lane.
    GPUINT_DEVICE void increment_root(u32 i, u32 value) const {
      for (; (v[i] += value) < value; ++i) value = 1;
    }

    // x += 2^bits 2S if `wanted`; returns the carry out of the lane.
    GPUINT_DEVICE u32 add_root(u32 (&x)[K], u32 bits, bool wanted) const {
      const u32* const below = v + group.rank * K - bits / 32 - 1;
      u32 limbs[K], out = 0;
      GPUINT_UNROLL(K)
      for (u32 i = 0; i < K; ++i)
        limbs[i] = wanted ? __funnelshift_l(below[i], below[i + 1], bits % 32) : 0;
      ptx::add_cc(x[0], limbs[0]);
      GPUINT_UNROLL(K)
      for (u32 i = 1; i < K; ++i) ptx::addc_cc(x[i], limbs[i]);
      ptx::addc(out, 0);
      return out;
    }

    // Increments the root if W >= 2S + 2^c.
    GPUINT_DEVICE void correct() {
      const u32 unit = 1u << (shift % 32);
      if (lowest()) v[shift / 32] |= unit;
      __syncwarp();
      u32 x[K];
      GPUINT_UNROLL(K)
      for (u32 i = 0; i < K; ++i) {
        r[i] = blocks() == 0 ? ~0u : ~a[group.rank * K + i];
        x[i] = r[i];
      }
      const u32 carry = add_root(x, 0, true);
      const bool less = resolve_carries(team(), x, carry != 0);
      __syncwarp();
      if (lowest()) {
        if (!less) GPUINT_RARE(RootLastSubtraction);
        if (less)
          v[shift / 32] ^= unit;
        else
          increment_root(shift / 32, unit);
      }
      GPUINT_UNROLL(K)
      for (u32 i = 0; i < K; ++i) r[i] = less ? r[i] : x[i];
      store_remainder();
    }
  };
};

}  // namespace gpuint
