// AddMod, SubMod, NegMod, HalveMod: a + b, a - b, -a and a / 2 modulo the v of prepared divisors;
// results are in [0, v).
//
// Of operands below v a sum is corrected once, and the carries of both additions decide by what
// (TAOCP 2, 4.3.1, exercise 18 does the same for signed numbers):
//     a + b:  S = a + b, D = S - v;   D if S >= v, which is where S carries or D does not borrow
//     a - b:  D = a - b, S = D + v;   S if D borrows
// -a is 0 - a. Half of a is a / 2 for even a, else (a + v) / 2 = floor(a / 2) + floor(v / 2) + 1
// for odd v.
//
// Operands may be any numbers below 2^BITS. The corrected number x is the result exactly where 0 <=
// x < v, which is compared; a difference is negative after its correction where S does not carry.
// Elsewhere the sum, or the difference without its sign, is reduced as below: a path for operands
// that are beyond v, at the speed of a simple long division.
//
// Reduction. Let v have n bits and x have m > n; V = floor(v / 2^(n-32)) has 32 bits, X =
// floor(x / 2^(m-63)) has 63. Then
//     q = floor(X / (V + 1)) < 2^32,     q v 2^(m-n-31) < X / (V + 1) (V + 1) 2^(m-63) <= x
// and x - q v 2^(m-n-31) >= 0. By X >= 2^62 and V >= 2^31, q 2^(m-n-31) is below x / v by a
// relative error of less than 2^-29: a step removes at least 28 bits of x. Where m < n + 31, q is
// shifted down instead, and is at least 1 as long as m > n. At m = n is x < 2v, and one comparison
// ends it. (Numbers shorter than V and X are shifted up.)
#pragma once
#include "core/abi.cuh"
#include "core/carry.cuh"
#include "core/frame.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/occupancy.cuh"
#include "core/rows.cuh"
#include "core/record.cuh"
#include "linear/compare.cuh"
#include "tuning/linear.cuh"

namespace gpuint {

// A number of S::N limbs in the registers of a group, K limbs to a thread; zeros in threads beyond
// the number.
template <class S, class G>
struct GroupNumber {
  using Limb = typename S::Limb;
  static constexpr u32 K = S::K;
  static_assert(S::THREADS * K >= S::N && S::N % K == 0, "whole chunks, one to a thread");

  Limb x[K] = {};

  GPUINT_DEVICE static bool is_owner(const G& group) { return group.rank < S::OWNERS; }

  GPUINT_DEVICE void read(const G& group, const Limb* row) {
    if (is_owner(group)) read_limbs<S>(row, group.rank * K, x);
  }
  GPUINT_DEVICE void write(const G& group, Limb* row) const {
    if (is_owner(group)) write_limbs<S>(row, group.rank * K, x);
  }

  // Sets this number to left + right or left - right mod 2^BITS, where right(i) is limb i of this
  // thread's chunk; returns the carry or borrow, known to all threads.
  template <Sign SIGN, class Right>
  GPUINT_DEVICE u32 sum(G& group, const GroupNumber& left, Right right) {
    return resolve<SIGN, LocalCarry::Binary, Limb, K>(
        group, S::N,
        [&](u32, Limb(&to)[K]) {
          u32 carry = 0;
          GPUINT_UNROLL(K)
          for (u32 i = 0; i < K; ++i)
            to[i] = SIGN == Sign::Plus ? add_carry<Limb>(left.x[i], right(i), carry)
                                       : sub_borrow<Limb>(left.x[i], right(i), carry);
          return carry;
        },
        [&](u32, Limb(&from)[K]) {
          GPUINT_UNROLL(K)
          for (u32 i = 0; i < K; ++i) x[i] = from[i];
        });
  }
  template <Sign SIGN>
  GPUINT_DEVICE u32 sum(G& group, const GroupNumber& left, const GroupNumber& right) {
    return sum<SIGN>(group, left, [&](u32 i) { return right.x[i]; });
  }

  GPUINT_DEVICE bool is_below(G& group, const GroupNumber& other) const {
    bool less = false, more = false;
    GPUINT_UNROLL(K)
    for (u32 i = 0; i < K; ++i) {
      if (x[i] < other.x[i]) less = true, more = false;
      if (x[i] > other.x[i]) more = true, less = false;
    }
    return compare_group(group, less, more) < 0;
  }

  // Bits without leading zeros, known to all threads.
  GPUINT_DEVICE u32 bits(G& group) const {
    u32 bits = 0;
    GPUINT_UNROLL(K)
    for (u32 i = 0; i < K; ++i)
      if (x[i] != 0) bits = (group.rank * K + i + 1) * S::LIMB_BITS - leading_zeros(x[i]);
    return group.max(bits);
  }

  // The 64 bits from bit `from` on, known to all threads; zeros outside of the number.
  GPUINT_DEVICE u64 bits_at(G& group, i32 from) const {
    u64 own = 0;
    GPUINT_UNROLL(K)
    for (u32 i = 0; i < K; ++i) {
      const i32 up = static_cast<i32>((group.rank * K + i) * S::LIMB_BITS) - from;
      if (up > -static_cast<i32>(S::LIMB_BITS) && up < 64)
        own |= up >= 0 ? u64(x[i]) << up : u64(x[i]) >> -up;
    }
    // Bits of different threads are disjoint, so sums of 32-bit halves do not carry.
    const u32 low = group.sum(static_cast<u32>(own));
    return u64(group.sum(static_cast<u32>(own >> 32))) << 32 | low;
  }
};

// Long division by v: leaves the remainder (see above).
template <class S, class G>
struct LongRemainder {
  using Limb = typename S::Limb;
  using Number = GroupNumber<S, G>;
  G& group;
  const Limb* const v_row;
  const Number& v;
  const u32 v_bits;

  // x + carry 2^BITS modulo v, in place of x.
  GPUINT_DEVICE void reduce(Number& x, u32 carry) const {
    // v 2^(BITS - n) >= 2^BITS / 2 goes into the number at most twice before the carry is gone.
    while (carry != 0) carry -= subtract(x, 1, S::BITS - v_bits);
    const u64 divisor = (v.bits_at(group, static_cast<i32>(v_bits) - 64) >> 32) + 1;
    for (u32 bits = x.bits(group); bits > v_bits; bits = x.bits(group)) {
      const u64 top = x.bits_at(group, static_cast<i32>(bits) - 64) >> 1;
      const u32 q = static_cast<u32>(top / divisor), above = bits - v_bits;
      if (above >= 31)
        subtract(x, q, above - 31);
      else
        subtract(x, q >> (31 - above), 0);
    }
    if (!x.is_below(group, v)) subtract(x, 1, 0);
  }

 private:
  // x -= q v 2^shift; returns the borrow. Low and high halves of the products of limbs in turn, so
  // that a chunk borrows at most 1.
  GPUINT_DEVICE u32 subtract(Number& x, u32 q, u32 shift) const {
    const auto limb = [&](i32 i) { return limb_or_zero<S>(v_row, i); };
    const Distance<Limb> distance(shift);
    u32 borrow = 0;
    // A factor wider than a limb goes limb by limb.
    GPUINT_UNROLL(1)
    for (u32 part = 0; part < 32; part += S::LIMB_BITS) {
      const Limb factor = static_cast<Limb>(q >> part);
      GPUINT_UNROLL(1)
      for (i32 half = 0; half < 2; ++half) {
        borrow += x.template sum<Sign::Minus>(group, x, [&](u32 i) {
          const i32 k = static_cast<i32>(group.rank * S::K + i) - half -
                        static_cast<i32>(part / S::LIMB_BITS);
          using Wide = typename LimbTraits<Limb>::Wide;
          const Wide product = Wide(shifted_limb(limb, k, distance)) * factor;
          return static_cast<Limb>(half == 0 ? product : product >> S::LIMB_BITS);
        });
      }
    }
    return borrow;
  }
};

enum class LinearMod { Add, Sub, Neg };

// in[0] = a, in[1] = b unless it is Neg, in[2] = records, out[0] = a + b, a - b or -a mod v.
template <class Policy, LinearMod KIND>
struct SumMod : Frame<typename Policy::Rows, 0> {
  using S = typename Policy::Rows;
  using Base = Frame<S, 0>;
  using G = typename Base::G;
  using Number = GroupNumber<S, G>;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(Policy::REGISTERS, Base::THREADS);
  // The first sum, and the correction by v.
  static constexpr Sign FIRST = KIND == LinearMod::Add ? Sign::Plus : Sign::Minus;
  static constexpr Sign CORRECTION = KIND == LinearMod::Add ? Sign::Minus : Sign::Plus;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Base::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      const Prepared<S> prepared(o, row);
      Number a, b, v;
      if (KIND == LinearMod::Neg) {
        b.read(group, input_row<S>(o, 0, row));
      } else {
        a.read(group, input_row<S>(o, 0, row));
        b.read(group, rhs_row<S>(o, row));
      }
      v.read(group, prepared.v());
      Number first, second;
      const u32 carry = first.template sum<FIRST>(group, a, b);
      const u32 correction = second.template sum<CORRECTION>(group, first, v);
      const bool is_corrected = KIND == LinearMod::Add ? carry != 0 || correction == 0 : carry != 0;
      if (is_corrected) {
        // A carry is made up for by a borrow, and a borrow by a carry; a negative number that
        // becomes positive is below v.
        if (carry == correction && (KIND != LinearMod::Add || second.is_below(group, v))) {
          second.write(group, output_row<S>(o, 0, row));
          return;
        }
      } else if (first.is_below(group, v)) {
        first.write(group, output_row<S>(o, 0, row));
        return;
      }
      if (group.rank == 0) GPUINT_RARE(OperandBeyondModulus);
      const Number zero;
      const bool is_negative = FIRST == Sign::Minus && carry != 0;
      if (is_negative) first.template sum<Sign::Minus>(group, zero, first);
      LongRemainder<S, G>{group, prepared.v(), v, prepared.bits()}.reduce(first,
                                                                          is_negative ? 0 : carry);
      // v - x, and 0 for 0.
      if (is_negative && first.bits(group) != 0) first.template sum<Sign::Minus>(group, v, first);
      first.write(group, output_row<S>(o, 0, row));
    });
  }
};

template <class S>
using AddMod = SumMod<ModularSumPolicy<S>, LinearMod::Add>;
template <class S>
using SubMod = SumMod<ModularSumPolicy<S>, LinearMod::Sub>;
template <class S>
using NegMod = SumMod<ModularSumPolicy<S>, LinearMod::Neg>;

// in[0] = a < v, in[2] = records of odd v, out[0] = a / 2 mod v.
template <class Rows>
struct HalveMod : Frame<typename ModularSumPolicy<Rows>::Rows, 0> {
  using S = typename ModularSumPolicy<Rows>::Rows;
  using Limb = typename S::Limb;
  using Base = Frame<S, 0>;
  using G = typename Base::G;
  using Number = GroupNumber<S, G>;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Base::run(o, shared, [&](G& group, u64 row, unsigned char*) {
      const Limb* const a_row = input_row<S>(o, 0, row);
      const bool is_odd = (__ldg(a_row) & 1) != 0;
      Number a = half(group, a_row);
      if (is_odd) {
        Number v = half(group, Prepared<S>(o, row).v());
        // floor(v / 2) + 1 does not carry: its lowest bit is v's second one, and v < 2^BITS.
        Number one;
        if (group.rank == 0) one.x[0] = 1;
        v.template sum<Sign::Plus>(group, v, one);
        a.template sum<Sign::Plus>(group, a, v);
      }
      a.write(group, output_row<S>(o, 0, row));
    });
  }

 private:
  // floor(x / 2).
  GPUINT_DEVICE static Number half(const G& group, const Limb* row) {
    Number x;
    x.read(group, row);
    const Limb above = limb_or_zero<S>(row, static_cast<i32>((group.rank + 1) * S::K));
    GPUINT_UNROLL(S::K)
    for (u32 i = 0; i < S::K; ++i) {
      const Limb next = i + 1 < S::K ? x.x[i + 1 < S::K ? i + 1 : 0] : above;
      x.x[i] = static_cast<Limb>(x.x[i] >> 1 | next << (S::LIMB_BITS - 1));
    }
    return x;
  }
};

}  // namespace gpuint
