// Levels of Zimmermann's square root ("Karatsuba square root", INRIA RR-3805, 1999), around the
// division and the square of a level: operations that go through a row once.
//
// Let L be the bit length of a row `a`, rounded up to even, so that the top two of its L bits are
// not both zero. A level has the root s' and the remainder r' of the upper 2k of 4k bits, with b =
// 2^k; the lower bits are a1 b + a0:
//     q, u = floor((r' b + a1) / 2) / s'     s = s' b + q     r = (2u + [a1 odd]) b + a0 - q^2.
// s' >= b / 2 because of the top two bits, so r >= -2s + 1: s is at most 1 too large. If r is
// negative, the root is s - 1 and its remainder r + 2s - 1. r' <= 2s', so that half the dividend is
// at most (b - 1) b + b / 2, which fits in 2k bits.
//
// Only halves of remainders are stored, because they are aligned to limbs. Let r = 2h + e and x =
// (2u + [a1 odd]) b + a0. Then
//     h = floor(x / 2) - floor(q^2 / 2) - [x even, q^2 odd],    e = x + q^2 mod 2,
// and floor(x / 2) is u from bit k on and bits 1 .. k + 1 of the lower bits below. Half the next
// dividend, of 4k bits, is h 2^(2k) + e 2^(2k-1) + half of the next part. A correction adds 2s - 1:
//     h + (s - 1) + e,    1 - e.
//
// q <= b, and q = b only if r' = 2s'. Then the upper bits are (s' + 1)^2 - 1, and the root is s - 1
// = s' b + b - 1, because b^2 < 2 (s' + 1) b. The square of q is taken mod 2^(2k), 0 instead of
// b^2: h is too large by 2^(2k-1). All of h is computed mod 2^(2k), and 0 <= h < 2^(2k) in the end.
//
// The last level has 4k bits, the row and 2c zeros below. Its root is s / 2^c rounded down. With t
// = s mod 2^c, the remainder of the row is
//     (r + t (2s - t)) / 2^(2c),
// and 2s - t is 2s with t in its c + 1 lowest bits. For c < 32 this is one pass.
//
// The rows are read in place: a position in a level is one in `a`, which depends on L. Positions
// outside of `a` hold zeros. Rows of zero divide by zero, and are shifted out in the end.
#pragma once
#include "core/abi.cuh"
#include "core/carry.cuh"
#include "core/frame.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/occupancy.cuh"
#include "core/rows.cuh"
#include "core/shape.cuh"
#include "tuning/root.cuh"

namespace gpuint {

// The common part: S holds 2k bits, in 32-bit limbs.
template <class S, u32 REGISTERS = RootLevelPolicy<S>::REGISTERS>
struct RootLevel : Frame<typename RootLevelPolicy<S>::Rows, 0> {
  using Rows = Frame<typename RootLevelPolicy<S>::Rows, 0>;
  using G = typename Rows::G;
  static_assert(S::LIMB_BITS == 32 && S::N % (2 * WORD) == 0, "half a row is whole words");
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(REGISTERS, Rows::THREADS);

  // Clears limbs `from` .. `to`, whole words, of a row.
  GPUINT_DEVICE static void clear_limbs(const G& group, u32* row, u32 from, u32 to) {
    for (u32 k = from + group.rank * WORD; k < to; k += G::THREADS * WORD) clear_word(row + k);
  }

  // The row `a`, by bit position.
  struct Source {
    const u32* row;
    i32 limbs;

    GPUINT_DEVICE Source(const void* rows, u64 index, u32 bits)
        : row(static_cast<const u32*>(rows) + index * (bits / 32)),
          limbs(static_cast<i32>(bits / 32)) {}

    GPUINT_DEVICE u32 limb(i32 i) const { return i >= 0 && i < limbs ? __ldg(row + i) : 0; }

    // 32 bits from `position` on.
    GPUINT_DEVICE u32 at(i32 position) const {
      const i32 i = position >> 5;
      return __funnelshift_r(limb(i), limb(i + 1), static_cast<u32>(position) % 32);
    }
    GPUINT_DEVICE void word(i32 position, u32 (&x)[WORD]) const {
      const i32 i = position >> 5;
      u32 low = limb(i);
      GPUINT_UNROLL(4)
      for (u32 j = 0; j < WORD; ++j) {
        const u32 high = limb(i + 1 + static_cast<i32>(j));
        x[j] = __funnelshift_r(low, high, static_cast<u32>(position) % 32);
        low = high;
      }
    }
  };
};

// in[0] = r, the remainder of the upper bits of a row; in[1] = a; in[2] = L; out[0] = floor((r 2^k
// + the k bits below the upper `distance` bits) / 2), where k = part_bits.
template <class S>
struct RootDividend : RootLevel<S, RootLevelPolicy<S>::DIVIDEND_REGISTERS> {
  using G = typename RootLevel<S>::G;
  using Source = typename RootLevel<S>::Source;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const u32 bits = o.params.part_bits - 1;
    RootLevel<S>::Rows::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      const Source a(o.in[1], row, o.params.source_bits);
      const u32 length = __ldg(static_cast<const u32*>(o.in[2]) + row);
      const i32 from = static_cast<i32>(length - o.params.distance - bits);
      const u32* const r = input_row<S>(o, 0, row);
      u32* const out = output_row<S>(o, 0, row);
      const auto remainder = [&](i32 i) { return limb_or_zero<S>(r, i); };
      const Distance<u32> distance(bits);
      for (u32 k = group.rank * WORD; k < S::N; k += G::THREADS * WORD) {
        u32 x[WORD] = {};
        if (32 * k < bits) a.word(from + static_cast<i32>(32 * k), x);
        GPUINT_UNROLL(4)
        for (u32 j = 0; j < WORD; ++j) {
          const u32 i = k + j;
          if (32 * i + 32 > bits) x[j] = 32 * i < bits ? x[j] & ~(~0u << (bits % 32)) : 0;
          x[j] |= shifted_limb<u32>(remainder, static_cast<i32>(i), distance);
        }
        write_word<S>(out, k, x);
      }
    });
  }
};

// in[0] = u; in[1] = q^2; in[2] = a; k = part_bits. out[0] = half the next dividend, before a
// correction, in rows of target_bits bits, unless null. out[1], updated: L + [r < 0], of the level
// before and of this one.
template <class S>
struct RootRemainder : RootLevel<S> {
  using G = typename RootLevel<S>::G;
  using Source = typename RootLevel<S>::Source;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const u32 half = o.params.part_bits / 32, n = 2 * half, target = o.params.target_bits / 32;
    RootLevel<S>::Rows::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      const Source a(o.in[2], row, o.params.source_bits);
      u32* const lengths = static_cast<u32*>(o.out[1]);
      const u32 length = lengths[row] / 2 * 2;
      const i32 from = static_cast<i32>(length - 4 * o.params.part_bits);
      const u32* const u = input_row<S>(o, 0, row);
      const u32* const square = input_row<S>(o, 1, row);
      u32* const next = o.out[0] == nullptr ? nullptr : static_cast<u32*>(o.out[0]) + row * target;
      const u32 even = a.at(from) & 1, odd = __ldg(square) & 1;
      const u32 negative = resolve<Sign::Minus, LocalCarry::Binary, u32, WORD>(
          group, n,
          [&](u32 k, u32(&x)[WORD]) {
            u32 y[WORD];
            read_word<S>(square, k, y);
            const u32 above = k + WORD < n ? __ldg(square + k + WORD) : 0;
            if (k < half)
              a.word(from + 1 + static_cast<i32>(32 * k), x);
            else
              read_word<S>(u, k - half, x);
            u32 borrow = k == 0 ? odd & ~even : 0;
            GPUINT_UNROLL(4)
            for (u32 i = 0; i < WORD; ++i)
              x[i] = sub_borrow(x[i], __funnelshift_r(y[i], i + 1 < WORD ? y[i + 1] : above, 1),
                                borrow);
            return borrow;
          },
          [&](u32 k, u32(&x)[WORD]) {
            if (next != nullptr) store_word(next + n + k, x);
          });
      if (next != nullptr) {
        const i32 below = from - static_cast<i32>(2 * o.params.part_bits);
        for (u32 k = group.rank * WORD; k < n; k += G::THREADS * WORD) {
          u32 x[WORD];
          a.word(below + 1 + static_cast<i32>(32 * k), x);
          if (k + WORD == n) x[WORD - 1] = x[WORD - 1] << 1 >> 1 | (even ^ odd) << 31;
          store_word(next + k, x);
        }
        RootLevel<S>::clear_limbs(group, next, 2 * n, target);
      }
      if (group.rank == 0) lengths[row] = length + negative;
    });
  }
};

// in[0] = q; in[1] = s'; in[2] = L + [r < 0]; k = part_bits. out[0] = s, corrected, in rows of
// target_bits bits. out[1], updated: half the next dividend.
// The last level has a distance, its 4k bits: out[0] is the root of the row, and out[1] becomes its
// remainder, unless null. For a remainder, c < 32.
template <class S>
struct RootCorrect : RootLevel<S> {
  using G = typename RootLevel<S>::G;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    const u32 half = o.params.part_bits / 32, n = 2 * half, target = o.params.target_bits / 32;
    RootLevel<S>::Rows::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      const u32* const q = input_row<S>(o, 0, row);
      const u32* const above = input_row<S>(o, 1, row);
      const u32 length = __ldg(static_cast<const u32*>(o.in[2]) + row);
      u32* const s = static_cast<u32*>(o.out[0]) + row * target;
      const bool is_full = (__ldg(q + half) & 1) != 0;  // q = b
      const bool is_corrected = is_full || length % 2 != 0;
      if (is_full && group.rank == 0) GPUINT_RARE(RootFullQuotient);
      resolve<Sign::Minus, LocalCarry::Binary, u32, WORD>(
          group, n,
          [&](u32 k, u32(&x)[WORD]) {
            if (k >= half)
              read_word<S>(above, k - half, x);
            else
              read_word<S>(q, k, x);
            u32 borrow = k == 0 && is_corrected && !is_full ? 1 : 0;
            GPUINT_UNROLL(4)
            for (u32 i = 0; i < WORD; ++i)
              x[i] = k < half && is_full ? ~0u : sub_borrow(x[i], 0u, borrow);
            return borrow;
          },
          [&](u32 k, u32(&x)[WORD]) { store_word(s + k, x); });
      RootLevel<S>::clear_limbs(group, s, n, target);
      u32* const next = o.out[1] == nullptr ? nullptr : static_cast<u32*>(o.out[1]) + row * target;
      if (next != nullptr && is_corrected) correct(group, s, n, next, is_full);
      if (o.params.distance == 0) return;
      const u32 shift = (o.params.distance - length / 2 * 2) / 2;
      if (next != nullptr) {
        restore(group, s, n, shift, next);
        RootLevel<S>::clear_limbs(group, next, n + WORD, target);
        shift_down(group, next, n + WORD, 2 * shift);
      }
      shift_down(group, s, n, shift);
    });
  }

 private:
  // Adds 2s + 1 to the remainder, where s is the corrected root. Each thread reads the limbs of s
  // that it wrote.
  GPUINT_DEVICE static void correct(G& group, const u32* s, u32 n, u32* next, bool is_full) {
    resolve<Sign::Plus, LocalCarry::Binary, u32, WORD>(
        group, n,
        [&](u32 k, u32(&x)[WORD]) {
          u32 y[WORD], carry = k == 0 ? next[n - 1] >> 31 : 0;
          load_word(next + n + k, x);
          load_word(s + k, y);
          GPUINT_UNROLL(4)
          for (u32 i = 0; i < WORD; ++i) x[i] = add_carry(x[i], y[i], carry);
          return carry;
        },
        [&](u32 k, u32(&x)[WORD]) {
          if (is_full && k + WORD == n) x[WORD - 1] ^= 1u << 31;
          store_word(next + n + k, x);
        });
    if (group.rank == 0) next[n - 1] ^= 1u << 31;
  }

  // Replaces half a remainder by r + t (2s - t), of n + WORD limbs. The limbs that it overwrites
  // are read in the same round or an earlier one.
  GPUINT_DEVICE static void restore(G& group, const u32* s, u32 n, u32 shift, u32* next) {
    GPUINT_ASSERT(shift < 32, "the zeros below the row are few");
    group.sync();
    const u32 t = s[0] & ~(~0u << shift);
    // Limb i of 2s - t.
    const auto factor = [&](u32 i) {
      const u32 twice = __funnelshift_l(i > 0 ? s[i - 1] : 0u, i < n ? s[i] : 0u, 1);
      return i == 0 ? (twice & ~1u << shift) | t : twice;
    };
    resolve<Sign::Plus, LocalCarry::Small, u32, WORD>(
        group, n + WORD,
        [&](u32 k, u32(&x)[WORD]) {
          u32 below = k <= n ? next[n + k - 1] : 0;
          u32 high = t != 0 && k > 0 ? __umulhi(t, factor(k - 1)) : 0, carry = 0;
          GPUINT_UNROLL(4)
          for (u32 i = 0; i < WORD; ++i) {
            const u32 half = k < n ? next[n + k + i] : 0;
            const u64 product = t != 0 && k + i <= n ? u64(t) * factor(k + i) : 0;
            const u64 sum =
                u64(__funnelshift_l(below, half, 1)) + static_cast<u32>(product) + high + carry;
            x[i] = static_cast<u32>(sum);
            carry = static_cast<u32>(sum >> 32);
            high = static_cast<u32>(product >> 32);
            below = half;
          }
          return carry;
        },
        [&](u32 k, u32(&x)[WORD]) { store_word(next + k, x); });
  }

  // Shifts s down in place, by rounds of words from the bottom: a round reads no limb that an
  // earlier one wrote.
  GPUINT_DEVICE static void shift_down(G& group, u32* s, u32 n, u32 bits) {
    if (bits == 0) return;
    group.sync();
    for (u32 base = 0; base < n; base += G::THREADS * WORD) {
      const u32 k = base + group.rank * WORD;
      u32 x[WORD];
      if (k < n) {
        const u32 i = k + bits / 32;
        u32 low = i < n ? s[i] : 0;
        GPUINT_UNROLL(4)
        for (u32 j = 0; j < WORD; ++j) {
          const u32 high = i + j + 1 < n ? s[i + j + 1] : 0;
          x[j] = __funnelshift_r(low, high, bits % 32);
          low = high;
        }
      }
      group.sync();
      if (k < n) store_word(s + k, x);
    }
  }
};

}  // namespace gpuint
